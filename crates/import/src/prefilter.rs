//! Rules out sources that cannot contain a word, without converting them.

use crate::Origin;
use pisess_core::session::prefilter::Prefilter;
use pisess_core::session::read::line_chunks::read_chunks;
use pisess_store::{PageBuffer, ReadAt};
use std::io;
use std::ops::ControlFlow;

/// Whether the session that a source becomes may contain a word of the prefilter, which is one for
/// converted text. No word is divided between lines, because a JSON string has no line break.
pub fn may_contain(source: &dyn ReadAt, origin: Origin, words: &Prefilter) -> io::Result<bool> {
    let Some(added_texts) = origin.format().added_texts() else {
        return Ok(true);
    };
    if added_texts
        .iter()
        .any(|text| words.may_match(text.as_bytes()))
    {
        return Ok(true);
    }
    let mut buffer = PageBuffer::default();
    let flow = read_chunks(&mut buffer, source, 0..source.len(), |lines| {
        if words.may_match(lines.bytes) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    Ok(flow.is_break())
}
