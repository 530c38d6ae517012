//! Rules out sources that cannot contain a word, without converting them.

use crate::Origin;
use pisess_core::session::prefilter::Prefilter;
use pisess_core::session::read::line_chunks::read_chunks;
use pisess_store::{PageBuffer, ReadAt};
use std::io;
use std::ops::ControlFlow;

/// Whether the session that a source becomes may contain a word of the prefilter. `false` is
/// certain; `true` is not. If the conversion of the agent can build words that are not in the
/// source, the result is always `true`. The prefilter must be one for converted text.
pub fn may_contain(source: &dyn ReadAt, origin: Origin, words: &Prefilter) -> io::Result<bool> {
    let format = origin.format();
    let Some(added_texts) = format.added_texts() else {
        return Ok(true);
    };
    for text in added_texts {
        if words.may_match(text.as_bytes()) {
            return Ok(true);
        }
    }

    // The chunks are whole lines, and a JSON string has no line break. So no word is divided
    // between two chunks.
    let mut buffer = PageBuffer::default();
    let flow = read_chunks(&mut buffer, source, 0..source.len(), |lines| {
        if words.may_match(lines.bytes) || format.may_join_texts(lines.bytes) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    Ok(flow.is_break())
}
