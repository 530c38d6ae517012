//! Finds lines that were cut short and then written again as a whole: a program whose write failed
//! tried once more. Such a line looks like a lost entry, but the next line has all of it.

use super::finding::{Finding, FindingKind};
use super::line_repair::LineRepair;
use crate::session::read::entry_reader::EntryReader;
use pisess_store::ReadAt;
use std::io;

/// Changes the finding about each broken line that is the beginning of another line: the line is
/// cut short, and nothing is lost. `reader` reads the session after the repair of its lines.
pub(super) fn report_rewritten_lines(
    repair: &LineRepair,
    source: &dyn ReadAt,
    reader: &EntryReader,
    findings: &mut [Finding],
) -> io::Result<()> {
    let session = reader.session();
    for broken in &repair.broken_lines {
        let Some(whole_entry) = session.find_entry(&broken.id) else {
            continue;
        };
        let whole_line = reader.read_line(whole_entry)?;
        let cut_line = source.read_range(broken.span.range())?;
        if !whole_line.starts_with(cut_line.trim_ascii()) {
            continue;
        }

        let source_line = repair.source_line(session.entry(whole_entry).line);
        let whole_number = session.original_line(source_line);
        let is_about_cut_line = |finding: &&mut Finding| {
            finding.line == broken.number
                && matches!(
                    finding.kind,
                    FindingKind::MalformedLine | FindingKind::TornTail
                )
        };
        if let Some(finding) = findings.iter_mut().find(is_about_cut_line) {
            finding.message = format!(
                "the line is cut short; line {} has the same entry whole",
                whole_number.0
            );
            finding.is_lossless = true;
        }
    }
    Ok(())
}
