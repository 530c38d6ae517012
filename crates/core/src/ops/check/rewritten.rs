//! Finds lines that were cut short and then written again as a whole: a program whose write failed
//! tried once more. Such a line looks like a lost entry, but another line has all of it: that of
//! the next entry, or of the last entry with the same id.

use super::finding::{Finding, FindingKind};
use super::line_repair::{BrokenLine, LineRepair};
use crate::session::entry::{EntryIx, LineNo};
use crate::session::read::entry_reader::EntryReader;
use foldhash::HashMap;
use pisess_store::ReadAt;
use std::io;

/// Rewords the finding about each broken line that is the beginning of another line: a write was
/// cut short, and the entry was written again. Nothing is lost then, unless the broken line is the
/// last of the file. `reader` reads the session after the repair of its lines.
pub(super) fn report_rewritten_lines(
    repair: &LineRepair,
    source: &dyn ReadAt,
    reader: &EntryReader,
    findings: &mut [Finding],
) -> io::Result<()> {
    let mut whole_lines = find_whole_lines(repair, source, reader)?;
    for finding in findings {
        let is_of_broken_line = matches!(
            finding.kind,
            FindingKind::MalformedLine | FindingKind::TornTail
        );
        if !is_of_broken_line {
            continue;
        }
        let Some(whole_line) = whole_lines.remove(&finding.line) else {
            continue;
        };
        finding.message = format!(
            "the line is cut short; line {} has the same entry whole",
            whole_line.0
        );
        finding.excerpt.clear();
        // Until a torn last line is removed, an agent may append its next entry to it.
        finding.is_lossless = finding.kind == FindingKind::MalformedLine;
    }
    Ok(())
}

/// Returns, by the number of each broken line that was written again, the number of the line with
/// the whole entry. The first is a line of the source; the second is converted for the message.
fn find_whole_lines(
    repair: &LineRepair,
    source: &dyn ReadAt,
    reader: &EntryReader,
) -> io::Result<HashMap<LineNo, LineNo>> {
    let session = reader.session();
    let mut whole_lines = HashMap::default();
    for broken in &repair.broken_lines {
        let cut_line = source.read_range(broken.span.range())?;
        if let Some(whole) = find_whole_entry(broken, cut_line.trim_ascii(), repair, reader)? {
            let source_line = repair.source_line(session.entry(whole).line);
            whole_lines.insert(broken.number, session.original_line(source_line));
        }
    }
    Ok(whole_lines)
}

/// Returns the entry whose line begins with `cut_line`, the part that was written of the broken
/// line. Only two entries are compared: the next one after the broken line, and the last one with
/// its id.
fn find_whole_entry(
    broken: &BrokenLine,
    cut_line: &[u8],
    repair: &LineRepair,
    reader: &EntryReader,
) -> io::Result<Option<EntryIx>> {
    let session = reader.session();
    let next_index = session
        .entries
        .partition_point(|entry| repair.source_line(entry.line) <= broken.number);
    let mut candidates = Vec::new();
    if next_index < session.entries.len() {
        candidates.push(EntryIx::new(next_index));
    }
    candidates.extend(session.find_entry(&broken.id));
    for candidate in candidates {
        if reader.read_line(candidate)?.starts_with(cut_line) {
            return Ok(Some(candidate));
        }
    }
    Ok(None)
}
