//! Finds lines that are the same as an earlier one: a program, such as one that synchronizes files,
//! has written the end of the file a second time.

use super::line_repair::RepeatedLine;
use crate::session::Session;
use crate::session::entry::{EntryIx, Flags, LineNo};
use foldhash::HashMap;
use pisess_store::ReadAt;
use std::collections::BTreeMap;
use std::io;

/// Returns the lines of entries that are the same, byte for byte, as the line of an earlier entry.
/// They are in file order. `session` is the session in `source`.
///
/// If the lines with an id are not all the same, none of them counts as repeated: the agents
/// resolve the id to the last of them, whatever the others are.
pub(super) fn find_repeated_lines(
    session: &Session,
    source: &dyn ReadAt,
) -> io::Result<BTreeMap<LineNo, RepeatedLine>> {
    let mut repeated = BTreeMap::new();
    for same_id in entries_with_same_id(session) {
        let [first, later @ ..] = &same_id[..] else {
            continue;
        };
        if !are_same_lines(*first, later, session, source)? {
            continue;
        }
        for &ix in later {
            let entry = session.entry(ix);
            let line = RepeatedLine {
                span: entry.span,
                first: session.entry(*first).line,
            };
            repeated.insert(entry.line, line);
        }
    }
    Ok(repeated)
}

/// Returns the entries of each id that several have, in file order. Empty for nearly all files.
fn entries_with_same_id(session: &Session) -> Vec<Vec<EntryIx>> {
    // By the last entry with the id.
    let mut earlier_entries: HashMap<EntryIx, Vec<EntryIx>> = HashMap::default();
    for ix in session.entry_indexes() {
        let has_id_of_later_entry = session.entry(ix).flags.contains(Flags::SUPERSEDED);
        if has_id_of_later_entry && let Some(last) = session.find_entry(&session.id(ix)) {
            earlier_entries.entry(last).or_default().push(ix);
        }
    }
    let mut all = Vec::new();
    for (last, mut entries) in earlier_entries {
        entries.push(last);
        all.push(entries);
    }
    all
}

/// Whether the lines of all `later` entries are the same as that of `first`.
fn are_same_lines(
    first: EntryIx,
    later: &[EntryIx],
    session: &Session,
    source: &dyn ReadAt,
) -> io::Result<bool> {
    let first_span = session.entry(first).span;
    // Lines of different lengths need not be read.
    let have_same_length = later
        .iter()
        .all(|ix| session.entry(*ix).span.len == first_span.len);
    if !have_same_length {
        return Ok(false);
    }
    let first_line = source.read_range(first_span.range())?;
    for &ix in later {
        let line = source.read_range(session.entry(ix).span.range())?;
        if line != first_line {
            return Ok(false);
        }
    }
    Ok(true)
}
