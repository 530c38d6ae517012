//! Adds the lines that were appended to a file to its loaded session, without reading the rest
//! again.

use super::fragment::{Fragment, ReadContext};
use super::link;
use super::{LoadError, LoadOptions};
use crate::session::read::line_chunks::{LineChunk, read_chunks};
use crate::session::read::record;
use crate::session::read::whole_lines::WholeLines;
use crate::session::usage::remove_copies;
use crate::session::{Format, Session};
use pisess_store::{PageBuffer, ReadAt};
use std::mem::take;
use std::ops::ControlFlow;

/// Adds the whole lines after the end of a session that was loaded with the same options. Returns
/// `false` if they may change what was loaded before: then it must be loaded again. This is so for
/// older formats, an id or a parent that is not unique, known or above its entry, and the first
/// evidence of the agent.
///
/// # Errors
/// If the file cannot be read, or the strings of all entries no longer fit.
pub fn load_appended(
    session: &mut Session,
    source: &dyn ReadAt,
    options: &LoadOptions,
) -> Result<bool, LoadError> {
    let source = WholeLines::new(source)?;
    if matches!(session.format, Format::V1 | Format::Draft) {
        return Ok(false);
    }
    if source.len() <= session.file_len {
        return Ok(source.len() == session.file_len);
    }
    if !session.ends_with_newline
        && source.read_range(session.file_len..session.file_len + 1)? != b"\n"
    {
        return Ok(false);
    }
    let start = session.file_len + u64::from(!session.ends_with_newline);
    let mut new_lines = Fragment::default();
    let reading = ReadContext {
        options,
        format: session.format,
        agent: session.agent(),
        cwd: session.header.cwd.as_ref(),
    };
    let mut keys = record::new_key_cache();
    let _: ControlFlow<()> = read_chunks(
        &mut PageBuffer::default(),
        &source,
        start..source.len(),
        |LineChunk { start, bytes }| {
            new_lines.read_lines(bytes, start, &reading, &mut keys);
            ControlFlow::Continue(())
        },
    )?;
    if session.title_slot.is_none()
        && new_lines
            .dialect
            .is_some_and(|dialect| dialect != session.dialect)
    {
        return Ok(false);
    }
    let mut whole = Fragment {
        entries: take(&mut session.entries),
        arena: take(&mut session.arena),
        collected: take(&mut session.collected),
        line_count: session.line_count + 1,
        record_count: session.record_count,
        ..Fragment::default()
    };
    let from = whole.entries.len();
    let joined = whole.append(&mut new_lines);
    session.entries = whole.entries;
    session.arena = whole.arena;
    session.collected = whole.collected;
    (session.line_count, session.record_count) = (whole.line_count - 1, whole.record_count);
    joined?;
    session.problems.extend(whole.problems);
    (session.file_len, session.ends_with_newline) =
        (source.len(), link::ends_with_newline(&source)?);
    if !link::link_appended(session, from, &whole.parent_ids) {
        return Ok(false);
    }
    remove_copies(&mut session.collected.billed);
    session.leaf = link::find_leaf(session, whole.leaf_record);
    Ok(true)
}
