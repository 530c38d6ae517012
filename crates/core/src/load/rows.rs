//! Adds the rows of a few entries to a session that was loaded without rows.

use super::LoadOptions;
use super::fragment::{Fragment, ReadContext};
use crate::agents::row::RowOptions;
use crate::session::collected::{AppendPart, PrecedingCounts};
use crate::session::entry::{EntryIx, Role};
use crate::session::read::entry_reader::EntryReader;
use crate::session::read::record::{ParsedEntry, scan_record};
use crate::session::{Format, Session};
use pisess_json::Scanner;
use pisess_store::ReadAt;
use std::io;

/// Adds the rows of these entries to a session that was loaded without rows. The entries must be in
/// file order.
///
/// Returns `false`, and adds nothing, if all rows have to be loaded instead. There are two such
/// cases: an entry is a tool result, whose row depends on the calls of other entries, or the
/// strings no longer fit into 4 GiB.
pub fn add_rows(
    session: &mut Session,
    source: &dyn ReadAt,
    entries: &[EntryIx],
    rows: &RowOptions,
) -> io::Result<bool> {
    let has_result = entries
        .iter()
        .any(|&ix| session.entry(ix).role == Role::ToolResult);
    if has_result {
        return Ok(false);
    }

    let mut fragment = Fragment::default();
    let reading = ReadContext {
        options: &LoadOptions::default(),
        format: Format::V3,
        agent: session.agent(),
        cwd: session.header.cwd.as_ref(),
    };
    let reader = EntryReader::new(session, source);
    for &ix in entries {
        let entry = session.entry(ix);
        reader.with_stored(entry.span, |line| {
            let mut blocks = Vec::new();
            // The line was valid when the session was loaded. If the file has changed since then,
            // the row is empty.
            let record = scan_record(&mut Scanner::new(line), &mut blocks).unwrap_or_default();
            let parsed = ParsedEntry {
                kind: entry.kind,
                role: entry.role,
                record: &record,
                blocks: &blocks,
            };
            fragment.keep_row(ix, &parsed, rows, &reading);
        })?;
    }

    // Offsets have 32 bits.
    let start = session.arena.len();
    let arena_len = start + fragment.arena.len();
    let rows_len = fragment.collected.rows.len();
    if arena_len.max(rows_len) > u32::MAX as usize {
        return Ok(false); // Loading with rows then fails, and reports it.
    }
    session.arena.append(&mut fragment.arena);
    // Rows are stored under the entries' own indexes, so only the offsets of strings change.
    let preceding = PrecedingCounts {
        arena: start as u32,
        ..PrecedingCounts::default()
    };
    session
        .collected
        .append_part(&mut fragment.collected, preceding);
    Ok(true)
}
