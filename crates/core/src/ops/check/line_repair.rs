//! Builds, line by line, the file with its lines repaired.

use super::finding::{Finding, FindingKind};
use super::header::NewHeader;
use super::resync::{self, LostEntry};
use crate::ops::patched::PieceTable;
use crate::session::dialect::Dialect;
use crate::session::entry::{LineNo, Span};
use crate::session::read::record::{Member, Record};
use pisess_json::Raw;
use pisess_json::string::decode;
use pisess_json::text::Text;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

/// A value, and its place in the source, which is the file before the repair.
#[derive(Clone, Copy)]
pub(super) struct LocatedValue<'l> {
    /// The line of the source.
    pub number: LineNo,
    /// The value's bytes, including the white space around it if it is alone.
    pub bytes: &'l [u8],
    /// The offset of these bytes in the source.
    pub start: u64,
    /// Whether nothing else is on the line of the value.
    pub is_alone: bool,
    /// Whether the line of the value ends with a newline.
    pub has_newline: bool,
    /// Whether a byte is not ASCII: only then, the bytes may be invalid UTF-8.
    pub has_non_ascii: bool,
}

impl LocatedValue<'_> {
    pub fn span(&self) -> Span {
        Span {
            start: self.start,
            len: self.bytes.len() as u64,
        }
    }
}

/// The repaired file and the findings, for the lines that were checked so far.
#[derive(Default)]
pub(super) struct LineRepair {
    /// The repaired file.
    pub file: PieceTable,
    pub findings: Vec<Finding>,
    /// Findings that are reported only if the session is of this agent.
    pub dialect_findings: Vec<(Dialect, Finding)>,
    /// The parts of the source that were removed, or of which a copy was converted to UTF-8. In
    /// order.
    pub rejected_spans: Vec<Span>,
    /// The lines of the source that are the same as an earlier line, and are removed.
    pub repeated_lines: BTreeMap<LineNo, RepeatedLine>,
    /// If lines are repeated: the id of the leaf before any of them is removed.
    pub leaf_id: Option<Text<'static>>,
    /// Entries that were removed, or cannot be read.
    pub lost_entries: Vec<LostEntry>,
    /// The lines that were removed because no entry is recognizable in them.
    pub broken_lines: Vec<BrokenLine>,
    pub odd_ids: Vec<OddIds>,
    /// The lines of the repaired file whose values shared a line of the source, and have neither an
    /// id nor a parent.
    pub unlinked_lines: Vec<LineNo>,
    /// The lines from which on source and repaired file number their lines with a different offset
    /// than before. In order.
    pub line_map: Vec<MappedLine>,
    /// The number of lines of the repaired file so far.
    pub repaired_lines: u32,
    /// Whether entries refer to each other by number, as in version 1. Then no record that counts
    /// may be removed, because this would change all numbers after it.
    pub refers_by_number: bool,
    pub has_header: bool,
    /// The header to put before the first entry.
    pub new_header: Option<NewHeader>,
    /// The line of the source from which `new_header` was moved.
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

/// A line of the source that is the same as an earlier line.
#[derive(Clone, Copy, Debug)]
pub(super) struct RepeatedLine {
    /// The location in the source, without the newline.
    pub span: Span,
    /// The first line that is the same.
    pub first: LineNo,
}

/// The numbers of a line in both files.
#[derive(Clone, Copy)]
pub(super) struct MappedLine {
    /// In the repaired file.
    repaired: u32,
    /// In the source.
    source: u32,
}

impl MappedLine {
    /// The numbers before any line was removed or added.
    const FIRST: MappedLine = MappedLine {
        repaired: 1,
        source: 1,
    };

    /// Returns how much greater the number in the source is. Negative if lines were added.
    fn offset(self) -> i64 {
        i64::from(self.source) - i64::from(self.repaired)
    }
}

/// A line in which no entry is recognizable, but the id of one can be read.
pub(super) struct BrokenLine {
    pub number: LineNo,
    /// The bytes in the source, without the newline.
    pub span: Span,
    pub id: Text<'static>,
}

/// The invalid ids of an entry, as JSON.
#[derive(Clone, Debug)]
pub(super) struct OddIds {
    /// The line of the repaired file.
    pub line: LineNo,
    /// `id`, if it exists and is not a string.
    pub id: Option<Vec<u8>>,
    /// `parentId`, if it exists and is neither a string nor `null`.
    pub parent: Option<Vec<u8>>,
}

impl OddIds {
    /// Returns the invalid ids of an entry, which becomes the line `repaired_line` of the repaired
    /// file. `None` if both ids are valid or missing, as in nearly all entries.
    ///
    /// The children of such an entry name its invalid id, so that they can be found later.
    pub fn of_record(record: &Record, repaired_line: LineNo) -> Option<OddIds> {
        // A valid id was decoded when the line was scanned.
        let odd_id = match record.id {
            Some(_) => None,
            None => Raw::from_checked(record.bytes).get_some("id"),
        };
        let is_valid_parent = |parent: &Raw| parent.is_string() || parent.is_null();
        let parent = record.get(Member::ParentId);
        let odd_parent = parent.filter(|parent| !is_valid_parent(parent));
        if odd_id.is_none() && odd_parent.is_none() {
            return None;
        }
        Some(OddIds {
            line: repaired_line,
            id: odd_id.map(|id| id.bytes().to_vec()),
            parent: odd_parent.map(|parent| parent.bytes().to_vec()),
        })
    }
}

impl LineRepair {
    /// Returns the line of the source that a line of the repaired file comes from.
    pub fn source_line(&self, line: LineNo) -> LineNo {
        // The last mapped line at or before this one. From there on, both files number their lines
        // with the same offset.
        let mapped_before = self
            .line_map
            .partition_point(|mapped| mapped.repaired <= line.0);
        let nearest = match mapped_before.checked_sub(1) {
            Some(index) => self.line_map[index],
            None => MappedLine::FIRST,
        };
        LineNo(line.0 - nearest.repaired + nearest.source)
    }

    /// Adds the value as a line of the repaired file. Bytes that are not UTF-8 are reported, and
    /// become U+FFFD, as which the agents read them.
    pub fn keep_as_utf8(&mut self, located: &LocatedValue, record: &Record) {
        let line = self.report_and_convert_to_utf8(located, record);
        self.keep_or_write(located, line);
    }

    /// Returns the value in UTF-8. If the value is not valid UTF-8, reports this, adds the original
    /// to the rejected spans, and returns a copy in which invalid bytes are U+FFFD.
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
        self.findings.push(
            finding_in_record(located, record, FindingKind::InvalidUtf8, message).with_fix(fix),
        );
        self.rejected_spans.push(located.span());

        let converted = String::from_utf8_lossy(located.bytes).into_owned();
        Cow::Owned(converted.into_bytes())
    }

    /// Adds a line that [`LineRepair::report_and_convert_to_utf8`] returned. A converted copy is
    /// stored; for an unchanged value, the repaired file refers to the source.
    pub fn keep_or_write(&mut self, located: &LocatedValue, line: Cow<[u8]>) {
        match line {
            Cow::Borrowed(_) => self.keep_value(located),
            Cow::Owned(line) => self.write_line(located, line),
        }
    }

    /// Adds a value, unchanged, as a line of its own to the repaired file, which refers to the
    /// bytes in the source. If the value has no newline of its own in the source, it gets one.
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

    /// Adds `line`, which has no newline, in place of the value.
    pub fn write_line(&mut self, located: &LocatedValue, mut line: Vec<u8>) {
        self.count_repaired_line(located.number);
        self.report_missing_newline(located);
        line.push(b'\n');
        self.file.push_new_bytes(&line);
    }

    /// Reports a value that is the last line and has no newline. In the repaired file, a newline
    /// follows every value. A value that shares its line is not reported here, because the whole
    /// line is reported as broken.
    fn report_missing_newline(&mut self, located: &LocatedValue) {
        let lacks_newline = located.is_alone && !located.has_newline;
        if lacks_newline {
            let message = "the last line has no newline";
            let finding = Finding::new(located.number, FindingKind::NoFinalNewline, message);
            self.findings.push(finding.with_fix("it gets one"));
        }
    }

    /// Reports that the file does not begin with a header, and adds `header` to the repaired file.
    /// Must be called before the first entry is checked: the version of the header decides how.
    pub fn add_header(&mut self, first_entry: &LocatedValue, header: NewHeader) {
        let message = match header.source_line {
            Some(line) => format!(
                "the session header is not at the beginning, but on line {}",
                line.0
            ),
            None => "the file has no session header".to_owned(),
        };
        let finding = Finding::new(first_entry.number, FindingKind::MissingHeader, message);
        self.findings.push(finding.with_fix(header.fix));

        self.has_header = true;
        // At its old place, the header is skipped later.
        self.moved_header = header.source_line;
        self.is_old_format |= header.is_version_1;
        self.refers_by_number |= header.is_version_1;

        self.count_repaired_line(first_entry.number);
        self.file.push_new_bytes(&header.line);
        self.file.push_new_bytes(b"\n");
    }

    /// Counts the next line of the repaired file, which comes from `source_line`.
    ///
    /// The line map gets an element only if the numbers in both files differ by another offset than
    /// for the line before. So a long run of unchanged lines needs one element.
    pub fn count_repaired_line(&mut self, source_line: LineNo) {
        self.repaired_lines += 1;
        let mapped = MappedLine {
            repaired: self.repaired_lines,
            source: source_line.0,
        };
        let last_mapped = self.line_map.last().unwrap_or(&MappedLine::FIRST);
        if mapped.offset() != last_mapped.offset() {
            self.line_map.push(mapped);
        }
    }

    /// Reports an entry and removes it; `fix` describes this. If entries refer to each other by
    /// number, the entry is only reported, because every number after it would change.
    pub fn remove_entry(&mut self, located: &LocatedValue, finding: Finding, fix: &str) {
        if self.refers_by_number {
            self.findings.push(finding);
            self.keep_value(located);
            return;
        }
        self.findings.push(finding.with_fix(fix));
        self.reject_entry(located, 0..located.bytes.len());
    }

    /// Reports and removes a line that is the same as the line `first`.
    pub fn remove_repeated_line(&mut self, located: &LocatedValue, record: &Record, first: LineNo) {
        let message = "an earlier line is the same";
        let finding = finding_in_record(located, record, FindingKind::RepeatedLine, message);
        let fix = format!(
            "it is removed, and line {} stays; FILE.rejected keeps it",
            first.0
        );
        self.findings.push(finding.with_fix(fix));
        // It is not rejected as an entry: no id is lost.
        self.reject_part(located, 0..located.bytes.len());
    }

    /// Adds a range of the value's bytes to the rejected spans. The caller does not add them to the
    /// repaired file.
    pub fn reject_part(&mut self, located: &LocatedValue, part: Range<usize>) {
        self.rejected_spans.push(Span {
            start: located.start + part.start as u64,
            len: part.len() as u64,
        });
    }

    /// Rejects a range of the value's bytes that is, or may have been, an entry. Records the ids
    /// that can be read there, so that the children of the entry get another parent.
    pub fn reject_entry(&mut self, located: &LocatedValue, part: Range<usize>) {
        let lost_entry = resync::salvage_ids(&located.bytes[part.clone()], self.repaired_lines);
        self.reject_part(located, part);
        self.lost_entries.push(lost_entry);
    }
}

/// Returns a finding in a record, with the id of the record if it has one.
pub(super) fn finding_in_record(
    located: &LocatedValue,
    record: &Record,
    kind: FindingKind,
    message: impl Into<String>,
) -> Finding {
    let finding = Finding::new(located.number, kind, message);
    match record.id {
        Some(id) => finding.with_entry_id(decode(id.bytes)),
        None => finding,
    }
}
