//! The file as it will be with its lines repaired, built line by line.

use super::finding::{Finding, FindingKind as K};
use super::header::NewHeader;
use super::resync::{self, LostEntry};
use crate::ops::patched::PieceTable;
use crate::session::dialect::Dialect;
use crate::session::entry::{LineNo, Span};
use crate::session::read::record::Record;
use pisess_json::string::decode;
use std::borrow::Cow;
use std::ops::Range;

/// A value, and where it is in the source.
#[derive(Clone, Copy)]
pub(super) struct LocatedValue<'l> {
    /// The line of the source.
    pub number: LineNo,
    /// The value's bytes, including the white space around it if it is alone.
    pub bytes: &'l [u8],
    /// The offset of these bytes in the source.
    pub start: u64,
    /// Whether no other value or other byte is on its line.
    pub is_alone: bool,
    /// Whether its line ends with a newline.
    pub has_newline: bool,
    /// Whether the bytes may contain some that are not UTF-8.
    pub has_non_ascii: bool,
}

impl LocatedValue<'_> {
    fn span(&self) -> Span {
        Span {
            start: self.start,
            len: self.bytes.len() as u64,
        }
    }
}

/// The repaired file as far as its lines were checked, and what was found on them.
#[derive(Default)]
pub(super) struct LineRepair {
    /// The repaired file.
    pub file: PieceTable,
    pub findings: Vec<Finding>,
    /// Findings that count only if the session is one of this agent.
    pub dialect_findings: Vec<(Dialect, Finding)>,
    /// The pieces removed or converted to UTF-8, in the order of the source.
    pub rejected_spans: Vec<Span>,
    /// Entries that were removed, or cannot be read.
    pub lost_entries: Vec<LostEntry>,
    pub odd_ids: Vec<OddIds>,
    /// The lines of the repaired file with values that shared a line, and have neither an id nor a
    /// parent.
    pub unlinked_lines: Vec<LineNo>,
    /// The lines at which the difference between the two line numbers changes, in order.
    pub line_map: Vec<MappedLine>,
    /// The number of lines of the repaired file so far.
    pub repaired_lines: u32,
    /// Whether entries refer to each other by number, as in version 1: no record that has a number
    /// may be removed.
    pub refers_by_number: bool,
    pub has_header: bool,
    /// The header to put before the first entry.
    pub new_header: Option<NewHeader>,
    /// The line of the source with a header that was put there.
    pub moved_header: Option<LineNo>,
    /// Whether the session has an older version than the current one.
    pub is_old_format: bool,
    /// Whether a line of the source ends with LF alone.
    pub has_lf: bool,
    /// Whether a line of the source ends with CR LF.
    pub has_crlf: bool,
    /// The last line of the source that is not blank.
    pub last_line: Option<LineNo>,
}

/// The numbers of one line.
#[derive(Clone, Copy)]
pub(super) struct MappedLine {
    /// In the repaired file.
    repaired: u32,
    /// In the source.
    source: u32,
}

impl MappedLine {
    /// The first line, as long as no line was removed or added before it.
    const FIRST: MappedLine = MappedLine {
        repaired: 1,
        source: 1,
    };
}

/// The ids of an entry as stored, if one is invalid.
#[derive(Clone, Debug)]
pub(super) struct OddIds {
    /// The line of the repaired file.
    pub line: LineNo,
    /// `id`, if it exists and is not a string.
    pub id: Option<Vec<u8>>,
    /// `parentId`, if it exists and is neither a string nor `null`.
    pub parent: Option<Vec<u8>>,
}

impl LineRepair {
    /// Returns the line of the source for a line of the repaired file.
    pub fn source_line(&self, line: LineNo) -> LineNo {
        let following = self
            .line_map
            .partition_point(|mapped| mapped.repaired <= line.0);
        let nearest = match following.checked_sub(1) {
            Some(at) => self.line_map[at],
            None => MappedLine::FIRST,
        };
        LineNo(line.0 - nearest.repaired + nearest.source)
    }

    /// Keeps the value as a line; bytes that are not UTF-8 become U+FFFD, as the agents read them.
    pub fn keep_as_utf8(&mut self, located: &LocatedValue, record: &Record) {
        let line = self.convert_to_utf8(located, record);
        self.keep_or_write(located, line);
    }

    /// Returns the value in UTF-8. If it had to be converted, reports this and keeps the original
    /// among the rejected pieces.
    pub fn convert_to_utf8<'l>(
        &mut self,
        located: &LocatedValue<'l>,
        record: &Record,
    ) -> Cow<'l, [u8]> {
        if !located.has_non_ascii || std::str::from_utf8(located.bytes).is_ok() {
            return Cow::Borrowed(located.bytes);
        }
        let message = "the line contains bytes that are not UTF-8";
        let fix = "they become U+FFFD, and the original line is kept in FILE.rejected";
        self.findings
            .push(finding_in_record(located, record, K::InvalidUtf8, message).with_fix(fix));
        self.rejected_spans.push(located.span());
        let converted = String::from_utf8_lossy(located.bytes).into_owned();
        Cow::Owned(converted.into_bytes())
    }

    /// Adds a value that [`LineRepair::convert_to_utf8`] returned. If it was not converted, its
    /// bytes are read from the source when they are needed.
    pub fn keep_or_write(&mut self, located: &LocatedValue, line: Cow<[u8]>) {
        match line {
            Cow::Borrowed(_) => self.keep_value(located),
            Cow::Owned(line) => self.write_line(located, line),
        }
    }

    /// Adds the value as it is in the source, as a line of its own.
    pub fn keep_value(&mut self, located: &LocatedValue) {
        self.start_line(located);
        let has_own_newline = located.is_alone && located.has_newline;
        let value = located.span();
        self.file.push_source(Span {
            start: value.start,
            len: value.len + u64::from(has_own_newline),
        });
        if !has_own_newline {
            self.file.push_new_bytes(b"\n");
        }
    }

    /// Adds a new line, given without its newline, in place of the value.
    pub fn write_line(&mut self, located: &LocatedValue, mut line: Vec<u8>) {
        self.start_line(located);
        line.push(b'\n');
        self.file.push_new_bytes(&line);
    }

    /// Counts the line that the value becomes, and reports a last line without a newline.
    fn start_line(&mut self, located: &LocatedValue) {
        self.map_line(located.number);
        if located.is_alone && !located.has_newline {
            let finding = Finding::new(
                located.number,
                K::NoFinalNewline,
                "the last line has no newline",
            );
            self.findings.push(finding.with_fix("it gets one"));
        }
    }

    /// Puts the new header before the first entry.
    pub fn add_header(&mut self, located: &LocatedValue, header: NewHeader) {
        let message = match header.source_line {
            Some(line) => format!(
                "the session header is not at the beginning, but on line {}",
                line.0
            ),
            None => "the file has no session header".to_owned(),
        };
        let finding = Finding::new(located.number, K::MissingHeader, message);
        self.findings.push(finding.with_fix(header.fix));
        self.has_header = true;
        self.moved_header = header.source_line;
        self.is_old_format |= header.is_version_1;
        self.refers_by_number |= header.is_version_1;

        self.map_line(located.number);
        self.file.push_new_bytes(&header.line);
        self.file.push_new_bytes(b"\n");
    }

    /// Counts the next line of the repaired file, which comes from the line `number` of the source.
    pub fn map_line(&mut self, number: LineNo) {
        self.repaired_lines += 1;
        let previous = self.line_map.last().copied().unwrap_or(MappedLine::FIRST);
        // The differences of both are compared as sums, because either may be negative.
        if self.repaired_lines + previous.source != number.0 + previous.repaired {
            self.line_map.push(MappedLine {
                repaired: self.repaired_lines,
                source: number.0,
            });
        }
    }

    /// Reports an entry and removes it. If entries refer to each other by number, it stays, and
    /// `fix` does not apply.
    pub fn remove_entry(&mut self, located: &LocatedValue, finding: Finding, fix: &str) {
        if self.refers_by_number {
            self.findings.push(finding);
            self.keep_value(located);
            return;
        }
        self.findings.push(finding.with_fix(fix));
        self.reject_part(located, 0..located.bytes.len(), true);
    }

    /// Leaves a part of the bytes out of the repaired file, and keeps it among the rejected pieces.
    /// If it may have been an entry, its ids are recorded as far as they can be read.
    pub fn reject_part(&mut self, located: &LocatedValue, part: Range<usize>, may_be_entry: bool) {
        self.rejected_spans.push(Span {
            start: located.start + part.start as u64,
            len: part.len() as u64,
        });
        if may_be_entry {
            let gone = resync::salvage_ids(&located.bytes[part], self.repaired_lines);
            self.lost_entries.push(gone);
        }
    }
}

/// Returns a finding in a record, with its id.
pub(super) fn finding_in_record(
    located: &LocatedValue,
    record: &Record,
    kind: K,
    message: impl Into<String>,
) -> Finding {
    let finding = Finding::new(located.number, kind, message);
    match record.id {
        Some(id) => finding.with_entry_id(decode(id.bytes)),
        None => finding,
    }
}
