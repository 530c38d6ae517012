//! Checks each line, and derives the file with its lines repaired.
//!
//! A line is kept, or its values are split onto separate lines, or it is removed. From a broken line, a value
//! is recovered only if it is an entry beyond doubt; see [`resync::values`].

use super::finding::{Draft, FindingKind as K};
use super::mended::Mended;
use super::resync;
use crate::core::entry::{LineNo, Span};
use crate::core::json::edit::Edit;
use crate::core::json::scan::RawString;
use crate::core::json::string::decode;
use crate::core::json::{Raw, Scanner};
use crate::core::lines::{Line, Lines};
use crate::core::load::header::{Version, is_title_slot, read as read_header, version_number};
use crate::core::record::{Record, scan};
use crate::core::store::ReadAt;
use crate::core::text::Text;
use std::borrow::Cow;
use std::io;

/// The length of oh-my-pi's title line in bytes, including its newline.
const TITLE_LINE: usize = 256;

/// The nesting at which pi's `JSON.stringify` runs out of stack.
const DEEP: usize = 3000;

/// The result of checking the lines.
pub(super) struct Mending<'a> {
    /// The file with its lines repaired.
    pub file: Mended<'a>,
    pub findings: Vec<Draft>,
    /// The pieces removed, in the order of the source.
    pub rejected: Vec<Span>,
    /// Entries that were removed, or cannot be read.
    pub gone: Vec<Gone>,
    pub odd_ids: Vec<OddIds>,
    /// Lines of the repaired file with their lines in the source, where the numbering diverges.
    lines: Vec<(u32, u32)>,
    /// The number of lines of the repaired file so far.
    made: u32,
    /// Entries of older formats refer to each other by number: no record that counts may be added or removed.
    by_number: bool,
    has_header: bool,
    old: bool,
    ends: [bool; 2],
    /// The last line that is not blank.
    last: LineNo,
}

/// An entry that no longer exists.
#[derive(Clone, Debug)]
pub(super) struct Gone {
    /// The number of lines of the repaired file before it.
    pub after: u32,
    /// Its id, if that could still be read.
    pub id: Option<Text<'static>>,
    /// Its parent's id; `Some(None)` if it was a root.
    pub parent: Option<Option<Text<'static>>>,
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

impl Mending<'_> {
    /// Whether entries refer to each other by number.
    pub fn is_by_number(&self) -> bool {
        self.by_number
    }

    /// Returns the line of the source for a line of the repaired file.
    pub fn source_line(&self, line: LineNo) -> LineNo {
        let at = self.lines.partition_point(|&(made, _)| made <= line.0);
        let (made, source) = at.checked_sub(1).map_or((1, 1), |at| self.lines[at]);
        LineNo(line.0 - made + source)
    }
}

/// Reads all lines.
pub(super) fn mend<'a>(source: &'a dyn ReadAt) -> io::Result<Mending<'a>> {
    let version = read_header(source).ok().map(|preamble| preamble.version);
    let mut mending = Mending {
        file: Mended::new(source),
        findings: Vec::new(),
        rejected: Vec::new(),
        gone: Vec::new(),
        odd_ids: Vec::new(),
        lines: Vec::new(),
        made: 0,
        by_number: version == Some(Version::One),
        has_header: false,
        old: version.is_some_and(|version| version != Version::Three),
        ends: [false; 2],
        last: LineNo(0),
    };
    let mut lines = Lines::new(source);
    let mut number = LineNo(0);
    while let Some(line) = lines.next_line()? {
        number.0 += 1;
        mending.line(number, &line);
    }
    // The last value decides the leaf.
    let last = mending.last;
    let ends_with =
        |draft: &&mut Draft| draft.line == last && matches!(draft.kind, K::NotAnEntry | K::SecondHeader);
    mending.findings.iter_mut().filter(ends_with).for_each(|draft| draft.grave = true);
    if mending.ends == [true, true] {
        mending.findings.push(Draft::new(
            LineNo(1),
            K::MixedLineEnds,
            "some lines end with CR LF, some with LF",
        ));
    }
    Ok(mending)
}

/// A value, and whether it is the only one on its line.
#[derive(Clone, Copy)]
struct Located<'l> {
    number: LineNo,
    /// The value's bytes (including the white space around it if it is alone), and their offset.
    bytes: &'l [u8],
    start: u64,
    alone: bool,
    newline: bool,
    /// Whether they may contain bytes that are not UTF-8.
    non_ascii: bool,
}

impl Located<'_> {
    fn span(&self) -> Span {
        Span { start: self.start, len: self.bytes.len() as u64 }
    }
}

impl Mending<'_> {
    fn line(&mut self, number: LineNo, line: &Line) {
        let (mut bytes, mut start) = (line.bytes, line.span.start);
        if let Some(rest) = bytes.strip_prefix(b"\xef\xbb\xbf").filter(|_| number.0 == 1) {
            let draft =
                Draft::new(number, K::ByteOrderMark, "there is a byte order mark before the first line");
            self.findings.push(draft.fix("it is removed"));
            self.rejected.push(Span { start, len: 3 });
            (bytes, start) = (rest, start + 3);
        }
        if line.newline {
            self.ends[usize::from(bytes.ends_with(b"\r"))] = true;
        }
        let mut scanner = Scanner::new(bytes);
        if scanner.at_end() {
            self.made += u32::from(line.newline);
            return self.file.keep(Span { start, len: bytes.len() as u64 + u64::from(line.newline) });
        }
        self.last = number;
        let scanned = scan(&mut scanner, &mut Vec::new());
        let non_ascii = scanner.take_non_ascii();
        let located = Located { number, bytes, start, alone: true, newline: line.newline, non_ascii };
        match scanned {
            Ok(record) if scanner.at_end() => self.value(&located, &record),
            _ => self.broken(&located),
        }
    }

    /// Checks a line that is not one value.
    fn broken(&mut self, located: &Located) {
        let values = resync::values(located.bytes, located.number.0 == 1);
        if values.is_empty() {
            return self.unreadable(located);
        }
        let between = resync::gaps(located.bytes, &values);
        let junk: usize = between.iter().map(|gap| gap.len()).sum();
        let message = match (values.len(), junk) {
            (1, _) => format!("an entry and {junk} other bytes are on one line"),
            (n, 0) if located.bytes.contains(&b'\r') && located.number.0 == 1 => {
                format!("lines end with carriage returns only: {n} values are on one line")
            }
            (n, 0) => format!("{n} values are on one line"),
            (n, _) => format!("{n} values and {junk} other bytes are on one line"),
        };
        let draft = Draft::new(located.number, K::FusedLine, message);
        if self.by_number {
            self.findings.push(draft);
            return self.keep(located);
        }
        self.findings.push(draft.fix(if junk == 0 {
            "each is put on a separate line"
        } else {
            "entries are put on separate lines, the rest is removed"
        }));
        // Gaps and values in order.
        let mut at = 0;
        let mut gaps = between.into_iter().peekable();
        for value in values {
            while let Some(gap) = gaps.next_if(|gap| gap.start < value.start) {
                self.take_out(located, gap, true);
            }
            at = at.max(value.end);
            let bytes = &located.bytes[value.clone()];
            let mut scanner = Scanner::new(bytes);
            if let Ok(record) = scan(&mut scanner, &mut Vec::new()) {
                let part = Located {
                    bytes,
                    start: located.start + value.start as u64,
                    alone: false,
                    non_ascii: scanner.take_non_ascii(),
                    ..*located
                };
                self.value(&part, &record);
            }
        }
        gaps.for_each(|gap| self.take_out(located, gap, true));
    }

    /// Checks a line without anything recognizable as an entry.
    fn unreadable(&mut self, located: &Located) {
        let (kind, what) = if located.bytes.contains(&0) {
            (K::NulBytes, "the line is not JSON: it contains NUL bytes, as after a crash of the machine")
        } else if located.newline {
            (K::MalformedLine, "the line is not JSON")
        } else {
            (K::TornTail, "the last line is incomplete: its write was interrupted")
        };
        self.take_out(located, 0..located.bytes.len(), true);
        let mut draft = Draft::new(located.number, kind, what).fix("it is removed");
        if let Some(id) = self.gone.last().and_then(|gone| gone.id.clone()) {
            draft = draft.entry(id);
        }
        self.findings.push(draft);
    }

    /// Checks one value.
    fn value(&mut self, located: &Located, record: &Record) {
        let value = Raw::checked(record.bytes);
        if self.made == 0 && is_title_slot(value) {
            return self.title(located, record);
        }
        let is_entry = record.is_object && (record.kind.is_some() || record.id.is_some());
        if !is_entry {
            return self.no_entry(located, value);
        }
        if record.kind.is_some_and(|kind| kind.is("session")) {
            return self.header(located, record);
        }
        let is_message = record.kind.is_some_and(|kind| kind.is("message"));
        if is_message && record.message.is_none() && value.get_some("message").is_none() {
            return self.no_message(located, record);
        }
        self.note_body(located, record);
        self.note_ids(record);
        self.keep_valid(located, record);
    }

    fn no_entry(&mut self, located: &Located, value: Raw) {
        let draft = match value.is_null() {
            true => Draft::new(located.number, K::NullLine, "the line is null"),
            false => Draft::new(located.number, K::NotAnEntry, "the line is a value that is not an entry"),
        };
        if self.by_number && value.is_truthy() {
            self.findings.push(draft);
            return self.keep(located);
        }
        self.findings.push(draft.fix("it is removed"));
        self.take_out(located, 0..located.bytes.len(), false);
    }

    /// Whether a message entry without content makes every agent fail.
    fn no_message(&mut self, located: &Located, record: &Record) {
        let draft =
            named(Draft::new(located.number, K::NoMessage, "the message entry has no message"), record);
        if self.by_number {
            self.findings.push(draft);
            return self.keep(located);
        }
        self.findings.push(draft.fix("it is removed, and its children become children of its parent"));
        self.take_out(located, 0..located.bytes.len(), true);
    }

    fn header(&mut self, located: &Located, record: &Record) {
        if self.has_header {
            let draft = named(Draft::new(located.number, K::SecondHeader, "a second header"), record);
            if self.by_number {
                self.findings.push(draft);
                return self.keep(located);
            }
            self.findings.push(draft.fix("it is removed"));
            return self.take_out(located, 0..located.bytes.len(), true);
        }
        self.has_header = true;
        let header = Raw::checked(record.bytes);
        let version = version_number(header);
        self.old |= version < 3.0;
        if header.get("version").is_none_or(Raw::is_number) {
            return self.keep_valid(located, record);
        }
        let draft = Draft::new(located.number, K::OddVersion, "the header's version is not a number");
        let draft = draft.grave(self.old);
        if version != 3.0 {
            self.findings.push(draft);
            return self.keep_valid(located, record);
        }
        self.findings.push(draft.fix("it becomes the number 3"));
        let valid = self.valid(located, record);
        match Edit::new(&valid) {
            Ok(mut edit) => {
                edit.set("version", b"3");
                self.make(located, edit.finish());
            }
            Err(_) => self.make(located, valid.into_owned()),
        }
    }

    /// Checks oh-my-pi's title line: exactly 256 bytes with its newline.
    fn title(&mut self, located: &Located, record: &Record) {
        let line = self.valid(located, record);
        let width = line.len() + 1;
        let is_right = width == TITLE_LINE && located.newline && located.alone;
        if is_right {
            return self.put(located, line);
        }
        let message = format!("the title line is {width} bytes wide, not {TITLE_LINE}");
        let draft = Draft::new(located.number, K::TitleWidth, message);
        match padded(&line) {
            Some(padded) => {
                self.findings.push(draft.fix("it is padded"));
                self.make(located, padded);
            }
            None => {
                self.findings.push(draft);
                self.put(located, line);
            }
        }
    }

    /// Checks the bytes of a whole entry.
    fn note_body(&mut self, located: &Located, record: &Record) {
        let blobs = resync::count_blobs(record.bytes);
        if blobs > 0 {
            let message = match blobs {
                1 => "it refers to a blob outside of the file".to_owned(),
                n => format!("{n} references to blobs outside of the file"),
            };
            self.findings.push(named(Draft::new(located.number, K::BlobReference, message), record));
        }
        if self.old && resync::depth(record.bytes) > DEEP {
            let message = format!("a value is nested more than {DEEP} levels deep");
            self.findings.push(named(Draft::new(located.number, K::DeepNesting, message), record));
        }
    }

    /// Records ids that are not strings; the line is about to be kept.
    fn note_ids(&mut self, record: &Record) {
        let parent = record.parent_id.filter(|parent| !parent.is_string() && !parent.is_null());
        let id = match record.id {
            Some(_) => None,
            None => Raw::checked(record.bytes).get_some("id"),
        };
        if id.is_some() || parent.is_some() {
            let bytes = |value: Option<Raw>| value.map(|value| value.bytes().to_vec());
            self.odd_ids.push(OddIds { line: LineNo(self.made + 1), id: bytes(id), parent: bytes(parent) });
        }
    }

    /// Keeps the value; bytes that are not UTF-8 become what the agents read there.
    fn keep_valid(&mut self, located: &Located, record: &Record) {
        let line = self.valid(located, record);
        self.put(located, line);
    }

    /// Returns the value in UTF-8. If it was not, that is recorded, and the original is kept aside.
    fn valid<'l>(&mut self, located: &Located<'l>, record: &Record) -> Cow<'l, [u8]> {
        if !located.non_ascii || std::str::from_utf8(located.bytes).is_ok() {
            return Cow::Borrowed(located.bytes);
        }
        let draft = Draft::new(located.number, K::InvalidUtf8, "the line contains bytes that are not UTF-8");
        let draft =
            named(draft, record).fix("they become U+FFFD, and the original line is kept in FILE.rejected");
        self.findings.push(draft);
        self.rejected.push(located.span());
        Cow::Owned(String::from_utf8_lossy(located.bytes).into_owned().into_bytes())
    }

    fn put(&mut self, located: &Located, line: Cow<[u8]>) {
        match line {
            Cow::Borrowed(_) => self.keep(located),
            Cow::Owned(line) => self.make(located, line),
        }
    }

    fn keep(&mut self, located: &Located) {
        self.start_line(located);
        let newline = located.alone && located.newline;
        self.file.keep(Span { len: located.span().len + u64::from(newline), ..located.span() });
        if !newline {
            self.file.make(*b"\n");
        }
    }

    fn make(&mut self, located: &Located, line: impl Into<Vec<u8>>) {
        self.start_line(located);
        let mut line = line.into();
        line.push(b'\n');
        self.file.make(line);
    }

    /// Records that a line of the repaired file comes from here.
    fn start_line(&mut self, located: &Located) {
        self.made += 1;
        let (made, line) = self.lines.last().copied().unwrap_or((1, 1));
        if self.made + line != located.number.0 + made {
            self.lines.push((self.made, located.number.0));
        }
        if located.alone && !located.newline {
            let draft = Draft::new(located.number, K::NoFinalNewline, "the last line has no newline");
            self.findings.push(draft.fix("it gets one"));
        }
    }

    fn take_out(&mut self, located: &Located, part: std::ops::Range<usize>, was_entry: bool) {
        let bytes = &located.bytes[part.clone()];
        self.rejected.push(Span { start: located.start + part.start as u64, len: part.len() as u64 });
        if was_entry {
            let (id, parent) = resync::salvaged(bytes);
            self.gone.push(Gone { after: self.made, id, parent });
        }
    }
}

/// Adds the record's id.
fn named(draft: Draft, record: &Record) -> Draft {
    let id = record.id.map(|id: RawString| decode(id.bytes));
    id.into_iter().fold(draft, Draft::entry)
}

/// Returns the title line padded to its width; `None` if it is too long.
fn padded(line: &[u8]) -> Option<Vec<u8>> {
    let mut edit = Edit::new(line).ok()?;
    let pad = edit.get("pad")?.raw_string()?;
    let rest = line.len() + 1 - pad.len();
    let spaces = TITLE_LINE.checked_sub(rest)?;
    edit.set("pad", format!("\"{}\"", " ".repeat(spaces)).as_bytes());
    Some(edit.finish())
}
