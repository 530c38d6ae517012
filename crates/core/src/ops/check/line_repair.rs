//! The file as it will be with its lines repaired, built line by line.

use super::finding::{Finding, FindingKind as K};
use super::header::NewHeader;
use super::resync::{self, Gone};
use crate::ops::patched::Pieces;
use crate::session::dialect::Dialect;
use crate::session::entry::{LineNo, Span};
use crate::session::read::record::Record;
use pisess_json::string::decode;
use std::borrow::Cow;

/// A value, and whether it is the only one on its line.
#[derive(Clone, Copy)]
pub(super) struct Located<'l> {
    pub number: LineNo,
    /// The value's bytes (including the white space around it if it is alone), and their offset.
    pub bytes: &'l [u8],
    pub start: u64,
    pub alone: bool,
    pub newline: bool,
    /// Whether they may contain bytes that are not UTF-8.
    pub non_ascii: bool,
}

impl Located<'_> {
    fn span(&self) -> Span {
        Span {
            start: self.start,
            len: self.bytes.len() as u64,
        }
    }
}

#[derive(Default)]
pub(super) struct LineRepair {
    pub file: Pieces,
    pub findings: Vec<Finding>,
    /// Findings that count only if the session is one of this agent.
    pub incomplete: Vec<(Dialect, Finding)>,
    /// The pieces removed or converted to UTF-8, in the order of the source.
    pub rejected: Vec<Span>,
    /// Entries that were removed, or cannot be read.
    pub gone: Vec<Gone>,
    pub odd_ids: Vec<OddIds>,
    /// The lines of the repaired file with values that shared a line, and have neither an id nor a
    /// parent.
    pub without_links: Vec<LineNo>,
    /// Line numbers in the repaired file and in the source, wherever their difference changes.
    pub lines: Vec<(u32, u32)>,
    /// The number of lines of the repaired file so far.
    pub made: u32,
    /// Whether entries refer to each other by number, as in version 1: no record that has a number
    /// may be removed.
    pub by_number: bool,
    pub has_header: bool,
    /// The header to put before the first entry.
    pub new_header: Option<NewHeader>,
    /// The line of the source with a header that was put there.
    pub moved_header: Option<LineNo>,
    pub old: bool,
    pub ends: [bool; 2],
    /// The last line that is not blank.
    pub last: Option<LineNo>,
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
        let at = self.lines.partition_point(|&(made, _)| made <= line.0);
        let (made, source) = at.checked_sub(1).map_or((1, 1), |at| self.lines[at]);
        LineNo(line.0 - made + source)
    }

    /// Keeps the value; bytes that are not UTF-8 become U+FFFD, as the agents read them.
    pub fn keep_valid(&mut self, located: &Located, record: &Record) {
        let line = self.valid(located, record);
        self.put(located, line);
    }

    /// Returns the value in UTF-8. If it had to be converted, reports this and keeps the original
    /// among the rejected pieces.
    pub fn valid<'l>(&mut self, located: &Located<'l>, record: &Record) -> Cow<'l, [u8]> {
        if !located.non_ascii || std::str::from_utf8(located.bytes).is_ok() {
            return Cow::Borrowed(located.bytes);
        }
        let message = "the line contains bytes that are not UTF-8";
        let fix = "they become U+FFFD, and the original line is kept in FILE.rejected";
        self.findings
            .push(in_record(located, record, K::InvalidUtf8, message).fix(fix));
        self.rejected.push(located.span());
        Cow::Owned(
            String::from_utf8_lossy(located.bytes)
                .into_owned()
                .into_bytes(),
        )
    }

    pub fn put(&mut self, located: &Located, line: Cow<[u8]>) {
        match line {
            Cow::Borrowed(_) => self.keep(located),
            Cow::Owned(line) => self.make(located, line),
        }
    }

    pub fn keep(&mut self, located: &Located) {
        self.start_line(located);
        let newline = located.alone && located.newline;
        self.file.keep(Span {
            len: located.span().len + u64::from(newline),
            ..located.span()
        });
        if !newline {
            self.file.make(b"\n");
        }
    }

    pub fn make(&mut self, located: &Located, mut line: Vec<u8>) {
        self.start_line(located);
        line.push(b'\n');
        self.file.make(&line);
    }

    /// Begins a line of the repaired file.
    fn start_line(&mut self, located: &Located) {
        self.map_line(located.number);
        if located.alone && !located.newline {
            let finding = Finding::new(
                located.number,
                K::NoFinalNewline,
                "the last line has no newline",
            );
            self.findings.push(finding.fix("it gets one"));
        }
    }

    /// Puts the new header before the first entry.
    pub fn add_header(&mut self, located: &Located, header: NewHeader) {
        let message = match header.from {
            Some(line) => format!(
                "the session header is not at the beginning, but on line {}",
                line.0
            ),
            None => "the file has no session header".to_owned(),
        };
        let finding = Finding::new(located.number, K::MissingHeader, message);
        self.findings.push(finding.fix(header.fix));
        self.has_header = true;
        self.moved_header = header.from;
        self.old |= header.is_version_1;
        self.by_number |= header.is_version_1;

        self.map_line(located.number);
        self.file.make(&header.line);
        self.file.make(b"\n");
    }

    /// Counts the next line of the repaired file, which comes from the line `number` of the source.
    pub fn map_line(&mut self, number: LineNo) {
        self.made += 1;
        let (made, line) = self.lines.last().copied().unwrap_or((1, 1));
        if self.made + line != number.0 + made {
            self.lines.push((self.made, number.0));
        }
    }

    /// Removes an entry, with its finding; if entries refer to each other by number, it stays.
    pub fn remove(&mut self, located: &Located, finding: Finding, fix: &str) {
        if self.by_number {
            self.findings.push(finding);
            return self.keep(located);
        }
        self.findings.push(finding.fix(fix));
        self.take_out(located, 0..located.bytes.len(), true);
    }

    pub fn take_out(&mut self, located: &Located, part: std::ops::Range<usize>, was_entry: bool) {
        let bytes = &located.bytes[part.clone()];
        self.rejected.push(Span {
            start: located.start + part.start as u64,
            len: part.len() as u64,
        });
        if was_entry {
            self.gone.push(resync::salvage(bytes, self.made));
        }
    }
}

/// Returns a finding in a record, with its id.
pub(super) fn in_record(
    located: &Located,
    record: &Record,
    kind: K,
    message: impl Into<String>,
) -> Finding {
    let finding = Finding::new(located.number, kind, message);
    record
        .id
        .map(|id| decode(id.bytes))
        .into_iter()
        .fold(finding, Finding::entry)
}
