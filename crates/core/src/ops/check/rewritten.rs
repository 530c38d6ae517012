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
    let session = reader.session();
    let finding_indexes = index_findings_by_broken_line(findings);
    for broken in &repair.broken_lines {
        let Some(&finding_index) = finding_indexes.get(&broken.number) else {
            continue;
        };
        let cut_line = source.read_range(broken.span.range())?;
        let whole_entry = find_whole_entry(broken, cut_line.trim_ascii(), repair, reader)?;
        let Some(whole_entry) = whole_entry else {
            continue;
        };

        let source_line = repair.source_line(session.entry(whole_entry).line);
        let whole_number = session.original_line(source_line);
        let finding = &mut findings[finding_index];
        finding.message = format!(
            "the line is cut short; line {} has the same entry whole",
            whole_number.0
        );
        finding.excerpt.clear();
        // Until a torn last line is removed, an agent may append its next entry to it.
        finding.is_lossless = finding.kind == FindingKind::MalformedLine;
    }
    Ok(())
}

/// Returns the index of the finding about each broken line, by the number of the line.
fn index_findings_by_broken_line(findings: &[Finding]) -> HashMap<LineNo, usize> {
    let mut indexes = HashMap::default();
    for (index, finding) in findings.iter().enumerate() {
        let is_broken_line = matches!(
            finding.kind,
            FindingKind::MalformedLine | FindingKind::TornTail
        );
        if is_broken_line {
            indexes.entry(finding.line).or_insert(index);
        }
    }
    indexes
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
