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
    /// The lines at which the difference between the number in the source and that in the repaired
    /// file changes, in order.
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
    /// Returns the line of the source from which a line of the repaired file comes.
    pub fn source_line(&self, line: LineNo) -> LineNo {
        let following = self
            .line_map
            .partition_point(|mapped| mapped.repaired <= line.0);
        let nearest = match following.checked_sub(1) {
            Some(index) => self.line_map[index],
            None => MappedLine::FIRST,
        };
        LineNo(line.0 - nearest.repaired + nearest.source)
    }

    /// Keeps the value as a line. Bytes that are not UTF-8 become U+FFFD, as the agents read them,
    /// and are reported.
    pub fn keep_as_utf8(&mut self, located: &LocatedValue, record: &Record) {
        let line = self.report_and_convert_to_utf8(located, record);
        self.keep_or_write(located, line);
    }

    /// Returns the value in UTF-8. If it is not valid UTF-8, reports this, adds the original to the
    /// rejected pieces, and returns a copy in which invalid bytes are U+FFFD.
    pub fn report_and_convert_to_utf8<'l>(
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

    /// Adds a value that [`LineRepair::report_and_convert_to_utf8`] returned: converted text is
    /// stored, and an unconverted value is referred to in the source.
    pub fn keep_or_write(&mut self, located: &LocatedValue, line: Cow<[u8]>) {
        match line {
            Cow::Borrowed(_) => self.keep_value(located),
            Cow::Owned(line) => self.write_line(located, line),
        }
    }

    /// Keeps a value as a line of its own. Its bytes are not copied: the repaired file refers to
    /// them in the source.
    pub fn keep_value(&mut self, located: &LocatedValue) {
        self.count_repaired_line(located.number);
        self.report_missing_newline(located);
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
        self.count_repaired_line(located.number);
        self.report_missing_newline(located);
        line.push(b'\n');
        self.file.push_new_bytes(&line);
    }

    /// Reports that the value is a last line without a newline. In the repaired file, a newline
    /// follows every value. One that shares its line is not reported here: that line is broken, and
    /// is reported as such.
    fn report_missing_newline(&mut self, located: &LocatedValue) {
        let lacks_newline = located.is_alone && !located.has_newline;
        if lacks_newline {
            let message = "the last line has no newline";
            let finding = Finding::new(located.number, K::NoFinalNewline, message);
            self.findings.push(finding.with_fix("it gets one"));
        }
    }

    /// Reports that the file does not begin with a header, and adds the new one before the first
    /// entry. `located` is that entry. The format of the header applies to all entries after it.
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

        self.count_repaired_line(located.number);
        self.file.push_new_bytes(&header.line);
        self.file.push_new_bytes(b"\n");
    }

    /// Counts the next line of the repaired file. The line of the source that it comes from is
    /// recorded, unless it follows from the lines before.
    pub fn count_repaired_line(&mut self, source_line: LineNo) {
        self.repaired_lines += 1;
        let previous = self.line_map.last().copied().unwrap_or(MappedLine::FIRST);
        // As long as the two numbers differ by the same amount, the last line of the map gives the
        // source of all that follow it. Lines may be added and removed, so the amount has a sign.
        let shift = i64::from(source_line.0) - i64::from(self.repaired_lines);
        let known_shift = i64::from(previous.source) - i64::from(previous.repaired);
        if shift != known_shift {
            self.line_map.push(MappedLine {
                repaired: self.repaired_lines,
                source: source_line.0,
            });
        }
    }

    /// Reports an entry and removes it, as `fix` describes. If entries refer to each other by
    /// number, it stays, because every number after it would change.
    pub fn remove_entry(&mut self, located: &LocatedValue, finding: Finding, fix: &str) {
        if self.refers_by_number {
            self.findings.push(finding);
            self.keep_value(located);
            return;
        }
        self.findings.push(finding.with_fix(fix));
        self.reject_entry(located, 0..located.bytes.len());
    }

    /// Leaves a range of the value's bytes out of the repaired file, and adds it to the rejected
    /// pieces.
    pub fn reject_part(&mut self, located: &LocatedValue, part: Range<usize>) {
        self.rejected_spans.push(Span {
            start: located.start + part.start as u64,
            len: part.len() as u64,
        });
    }

    /// Rejects a range of bytes that is, or may have been, an entry. Records what can be read of
    /// its ids, so that its children get another parent.
    pub fn reject_entry(&mut self, located: &LocatedValue, part: Range<usize>) {
        let lost_entry = resync::salvage_ids(&located.bytes[part.clone()], self.repaired_lines);
        self.reject_part(located, part);
        self.lost_entries.push(lost_entry);
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
