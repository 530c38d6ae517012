//! Adds lines that were appended to a file to the session that was loaded from it, without reading
//! the rest of the file again.

use super::fragment::{Fragment, ReadContext};
use super::link;
use super::{LoadError, LoadOptions};
use crate::session::read::line_chunks::{LineChunk, read_chunks};
use crate::session::read::record;
use crate::session::read::whole_lines::WholeLines;
use crate::session::usage::remove_copies;
use crate::session::{Format, Session};
use pisess_store::{PageBuffer, ReadAt};
use std::io;
use std::mem::take;
use std::ops::ControlFlow;

/// Adds the whole lines that were appended to the file of a loaded session. `options` must be those
/// with which the session was loaded.
///
/// Returns `false` if the session must be loaded again, because the file shrank or the new lines
/// may change what was loaded before. They may do so in these cases:
///
/// - The format is an older one, in which ids and links depend on the order of lines.
/// - The last line that was loaded had no newline, and was continued.
/// - A new line is the first evidence that the session is of the other agent.
/// - An id is repeated, or a parent is not an entry before its child: see `link_appended`.
///
/// # Errors
/// If the file cannot be read, or the strings of all entries no longer fit into 4 GiB.
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
        let is_unchanged = source.len() == session.file_len;
        return Ok(is_unchanged);
    }
    let Some(start) = find_new_lines(session, &source)? else {
        return Ok(false);
    };

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
    // The first evidence of an agent decides. A title line is such evidence, so no later line can
    // change the agent then.
    let is_of_other_agent = match new_lines.dialect {
        Some(dialect) => dialect != session.dialect,
        None => false,
    };
    if session.title_slot.is_none() && is_of_other_agent {
        return Ok(false);
    }

    let first_new = session.entries.len();
    let ends_with_newline = link::ends_with_newline(&source)?;
    let joined = join_new_lines(session, new_lines)?;
    session.problems.extend(joined.problems);
    session.file_len = source.len();
    session.ends_with_newline = ends_with_newline;
    if !link::link_appended(session, first_new, &joined.parent_ids) {
        return Ok(false);
    }
    remove_copies(&mut session.collected.billed);
    session.leaf = link::find_leaf(session, joined.leaf_record);
    Ok(true)
}

/// Returns the offset of the first new line of a file that has grown. `None` if the last line that
/// was loaded was continued.
fn find_new_lines(session: &Session, source: &dyn ReadAt) -> io::Result<Option<u64>> {
    let loaded_end = session.file_len;
    if session.ends_with_newline {
        return Ok(Some(loaded_end));
    }
    // The line was complete if only its newline was missing.
    let next_byte = source.read_range(loaded_end..loaded_end + 1)?;
    if next_byte == b"\n" {
        Ok(Some(loaded_end + 1))
    } else {
        Ok(None)
    }
}

/// Appends new lines to the entries of a session.
///
/// Returns the fragment of the whole file without what the session now stores: it still has the
/// problems of the new lines, the ids of their parents, and the last record of the leaf.
///
/// # Errors
/// If the strings no longer fit into 4 GiB. The session is then as it was before.
fn join_new_lines(session: &mut Session, mut new_lines: Fragment) -> Result<Fragment, LoadError> {
    // Only a fragment can be appended to.
    let mut whole = take_as_fragment(session);
    let append_result = whole.append(&mut new_lines);
    // Also after an error: appending then has changed nothing, and without its data, the session
    // would be empty.
    put_fragment_back(session, &mut whole);
    append_result?;
    Ok(whole)
}

/// Moves the entries of a session, and what was collected from them, to a fragment that can be
/// appended to. The session is empty until [`put_fragment_back`] is called.
fn take_as_fragment(session: &mut Session) -> Fragment {
    Fragment {
        entries: take(&mut session.entries),
        arena: take(&mut session.arena),
        collected: take(&mut session.collected),
        // In a fragment, this is the number of the next line; in a session, of the last.
        line_count: session.line_count + 1,
        record_count: session.record_count,
        ..Fragment::default()
    }
}

/// Moves to a session what [`take_as_fragment`] moves to a fragment. The rest stays in the
/// fragment.
fn put_fragment_back(session: &mut Session, fragment: &mut Fragment) {
    session.entries = take(&mut fragment.entries);
    session.arena = take(&mut fragment.arena);
    session.collected = take(&mut fragment.collected);
    session.line_count = fragment.line_count - 1;
    session.record_count = fragment.record_count;
}
