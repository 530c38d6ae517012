//! Checks each line, and derives the file with its lines repaired.
//!
//! Nearly all lines are plain entries, in which nothing is to be repaired or reported. Workers find the other lines,
//! which are then checked one by one, in order.
//!
//! A line is kept, or its values are split onto separate lines, or it is removed. From a broken line, a value
//! is recovered only if it is an entry beyond doubt; see [`resync::values`].

use super::finding::{Draft, FindingKind as K};
use super::line_repair::{LineRepair, Located, OddIds, named};
use super::patched::Patched;
use super::resync;
use crate::ops::required;
use crate::session::blobs::blobs;
use crate::session::dialect::Dialect;
use crate::session::entry::{Kind, LineNo, Role, Span};
use crate::session::read::header::{Version, is_title_slot, read as read_header, version_number};
use crate::session::read::line_chunks::{ChunkReader, Line, ranges};
use crate::session::read::record::{self, Block, Member, Record, scan, scan_into};
use pisess_json::edit::Edit;
use pisess_json::string::is_utf8;
use pisess_json::{KeyCache, Raw, Scanner};
use pisess_store::ReadAt;
use pisess_store::workers::{Pool, in_order};
use std::io;
use std::ops::{ControlFlow, Range};

/// The length of oh-my-pi's title line in bytes, including its newline.
const TITLE_LINE: usize = 256;

/// The nesting at which pi's `JSON.stringify` runs out of stack.
const DEEP: usize = 3000;

/// Checks all lines; on `workers` threads, finds those that are not plain entries.
pub(super) fn mend<'a>(source: &'a dyn ReadAt, workers: usize) -> io::Result<LineRepair<'a>> {
    let version = read_header(source).ok().map(|preamble| preamble.version);
    let mut mending = LineRepair {
        file: Patched::new(source),
        findings: Vec::new(),
        incomplete: Vec::new(),
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
    // In an older format, each entry is looked at.
    let readers = Pool::new(|| (ChunkReader::default(), record::keys()));
    let may_be_plain = version == Some(Version::Three);
    let look = |range| readers.with(|(reader, keys)| sift(source, range, may_be_plain, reader, keys));
    let (mut number, mut at) = (LineNo(0), 0);
    in_order(ranges(source, 0), workers, look, |part| {
        let part = part?;
        for Odd { before, span, newline } in part.odd {
            mending.pass(number, before, Span { start: at, len: span.start - at });
            number.0 += before + 1;
            let bytes = source.read_range(span.range())?;
            mending.line(number, &Line { span, bytes: &bytes, newline });
            at = span.end() + u64::from(newline);
        }
        let end = part.end.max(at);
        mending.pass(number, part.rest, Span { start: at, len: end - at });
        (number.0, at) = (number.0 + part.rest, end);
        (0..2).for_each(|end| mending.ends[end] |= part.ends[end]);
        Ok::<(), io::Error>(())
    })?;
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

/// What is to be looked at in a range of the file.
#[derive(Default)]
struct Sifted {
    odd: Vec<Odd>,
    /// The number of plain lines after the last odd one.
    rest: u32,
    /// How the plain lines end: with LF, and with CR LF.
    ends: [bool; 2],
    /// The end of the last line that begins in the range; 0 if none does.
    end: u64,
}

/// A line that is not a plain entry.
struct Odd {
    /// The number of plain lines between it and the previous odd one.
    before: u32,
    span: Span,
    newline: bool,
}

/// Finds the lines of a range that are not plain entries; all of them if none may be.
fn sift(
    source: &dyn ReadAt,
    range: Range<u64>,
    may_be_plain: bool,
    reader: &mut ChunkReader,
    keys: &mut KeyCache<Member>,
) -> io::Result<Sifted> {
    let mut sifted = Sifted::default();
    let _: ControlFlow<()> = reader.read(source, range, |chunk| {
        let mut blocks = Vec::new();
        for Line { span, bytes, newline } in chunk.lines() {
            if may_be_plain && newline && is_plain(bytes, keys, &mut blocks) {
                sifted.rest += 1;
                sifted.ends[usize::from(bytes.ends_with(b"\r"))] = true;
            } else {
                let before = std::mem::take(&mut sifted.rest);
                sifted.odd.push(Odd { before, span, newline });
            }
        }
        sifted.end = chunk.start + chunk.bytes.len() as u64;
        ControlFlow::Continue(())
    })?;
    Ok(sifted)
}

/// Whether a line is certainly an entry with nothing to repair or to report.
fn is_plain<'l>(line: &'l [u8], keys: &mut KeyCache<Member>, blocks: &mut Vec<Block<'l>>) -> bool {
    let (mut scanner, mut record) = (Scanner::new(line), Record::default());
    if scanner.at_end() || scan_into(&mut scanner, keys, &mut record, blocks).is_err() || !scanner.at_end() {
        return false;
    }
    let is = |name| record.kind.is_some_and(|kind| kind.is(name));
    let non_ascii = scanner.take_non_ascii();
    record.id.is_some()
        && record.parent_id.is_none_or(|parent| parent.is_string() || parent.is_null())
        && !is("session")
        && !is("title")
        && (!is("message") || record.message.is_some())
        && (non_ascii.is_empty() || is_utf8(&line[non_ascii]))
        && blobs(line).next().is_none()
        && missing(&record).is_empty()
}

/// Returns what an entry lacks, for each agent.
fn missing(record: &Record) -> Vec<(Dialect, String)> {
    let kind = record.kind.map_or(Kind::Missing, |kind| Kind::named(kind.text().as_bytes()));
    let message = record.message.filter(|_| kind == Kind::Message);
    let role = message.and_then(|message| message.role);
    let role = role.map_or(Role::Missing, |role| Role::named(role.text().as_bytes()));
    let message = message.map(|message| Raw::checked(message.bytes));
    required::missing(kind, role, Raw::checked(record.bytes), message)
}

impl LineRepair<'_> {
    /// Keeps plain lines, which follow the line `number`.
    fn pass(&mut self, number: LineNo, lines: u32, span: Span) {
        if lines > 0 {
            self.last = LineNo(number.0 + lines);
            self.map_line(LineNo(number.0 + 1));
            self.made += lines - 1;
            self.file.keep(span);
        }
    }

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
        let non_ascii = !scanner.take_non_ascii().is_empty();
        let located = Located { number, bytes, start, alone: true, newline: line.newline, non_ascii };
        match scanned {
            Ok(record) if scanner.at_end() => self.value(&located, &record),
            _ => self.broken(&located),
        }
    }

    /// Checks a line that is not exactly one value.
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
                    non_ascii: !scanner.take_non_ascii().is_empty(),
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
        self.note_missing(located, record);
        self.note_ids(record);
        self.keep_valid(located, record);
    }

    fn no_entry(&mut self, located: &Located, value: Raw) {
        let draft = if value.is_null() {
            Draft::new(located.number, K::NullLine, "the line is null")
        } else {
            Draft::new(located.number, K::NotAnEntry, "the line is a value that is not an entry")
        };
        if self.by_number && value.is_truthy() {
            self.findings.push(draft);
            return self.keep(located);
        }
        self.findings.push(draft.fix("it is removed"));
        self.take_out(located, 0..located.bytes.len(), false);
    }

    /// Reports a message entry without a message, with which every agent fails; a repair removes it.
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
        let message = if width == TITLE_LINE {
            "the title line has no newline of its own".to_owned()
        } else {
            format!("the title line is {width} bytes wide, not {TITLE_LINE}")
        };
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

    /// Reports references to blobs, and deep nesting, in an entry.
    fn note_body(&mut self, located: &Located, record: &Record) {
        let blobs = blobs(record.bytes).count();
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

    /// Records what an entry lacks, for the agent that the session turns out to belong to.
    fn note_missing(&mut self, located: &Located, record: &Record) {
        for (dialect, what) in missing(record) {
            let draft = named(Draft::new(located.number, K::MissingField, what), record);
            self.incomplete.push((dialect, draft));
        }
    }

    /// Records ids that are not strings, for the line that is kept next.
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
