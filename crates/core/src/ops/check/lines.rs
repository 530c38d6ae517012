//! Checks each line, and derives the file with its lines repaired.
//!
//! Nearly all lines are plain entries, in which nothing is to be repaired or reported. Loading the
//! file finds the other lines, which are then checked one by one, in order.
//!
//! A line is kept, or its values are split onto separate lines, or it is removed. From a broken
//! line, a value is recovered only if it is an entry beyond doubt; see [`resync::values`].

use super::finding::{Finding, FindingKind as K};
use super::header::NewHeader;
use super::line_repair::{LineRepair, Located, OddIds, in_record};
use super::missing::missing;
use super::resync::{self, Expected};
use crate::agents::oh_my_pi::title::TITLE_LINE;
use crate::session::blobs::blobs;
use crate::session::collected::{Collected, OddLine};
use crate::session::entry::{LineNo, Span};
use crate::session::read::header::{Preamble, is_title_slot, read as read_header, version_number};
use crate::session::read::line_chunks::{Line, LineChunk, each_line};
use crate::session::read::record::{Block, Member, Record, scan};
use crate::session::{Format, Session};
use pisess_json::edit::Edit;
use pisess_json::{Raw, Scanner};
use pisess_store::ReadAt;
use std::io;

/// The nesting at which pi's `JSON.stringify` runs out of stack.
const DEEP: usize = 3000;

/// Checks the lines of a file that is a `session` of the current version: those that are not plain
/// entries, as it was loaded with [`is_plain`]. Of any other file, checks each line.
pub(super) fn repair(
    source: &dyn ReadAt,
    session: Option<&Session>,
    new_header: Option<NewHeader>,
) -> io::Result<LineRepair> {
    let preamble = read_header(source).ok();
    let format = preamble.as_ref().map(|preamble| preamble.format);
    let mut repair = LineRepair {
        by_number: format == Some(Format::V1),
        old: format.is_some_and(|format| format != Format::V3),
        new_header,
        ..LineRepair::default()
    };
    match (session, preamble) {
        (Some(session), Some(preamble)) if format == Some(Format::V3) => {
            repair.odd_lines(source, &preamble, &session.collected)?;
        }
        _ => {
            let mut number = LineNo(0);
            each_line(source, 0..source.len(), |line| {
                number.0 += 1;
                repair.line(number, &line);
                Ok::<(), io::Error>(())
            })?;
        }
    }
    // The last value decides the leaf.
    let last = repair.last;
    let ends_with = |finding: &&mut Finding| {
        Some(finding.line) == last && matches!(finding.kind, K::NotAnEntry | K::SecondHeader)
    };
    repair
        .findings
        .iter_mut()
        .filter(ends_with)
        .for_each(|finding| finding.grave = true);
    if repair.ends == [true, true] {
        repair.findings.push(Finding::new(
            LineNo(1),
            K::MixedLineEnds,
            "some lines end with CR LF, some with LF",
        ));
    }
    Ok(repair)
}

/// Whether a record that was read without a problem is certainly an entry with nothing to repair or
/// to report.
pub(super) fn is_plain(record: &Record, blocks: &[Block]) -> bool {
    let is = |name| record.kind.is_some_and(|kind| kind.is(name));
    record.id.is_some()
        && record
            .get(Member::ParentId)
            .is_none_or(|parent| parent.is_string() || parent.is_null())
        && !is("session")
        && !is("title")
        && (!is("message") || record.message.is_some())
        && blobs(record.bytes).next().is_none()
        && missing(record, blocks).is_empty()
}

impl LineRepair {
    /// Checks the lines up to the header, and the odd ones after it.
    fn odd_lines(
        &mut self,
        source: &dyn ReadAt,
        preamble: &Preamble,
        collected: &Collected,
    ) -> io::Result<()> {
        let bytes = source.read_range(0..preamble.end)?;
        let (mut number, mut at) = (LineNo(0), preamble.end);
        for line in (LineChunk {
            start: 0,
            bytes: &bytes,
        })
        .lines()
        {
            number.0 += 1;
            self.line(number, &line);
        }
        for &OddLine { line, span } in &collected.odd_lines {
            self.pass(
                number,
                line.0 - number.0 - 1,
                Span {
                    start: at,
                    len: span.start - at,
                },
            );
            let (bytes, newline) = (source.read_range(span.range())?, span.end() < source.len());
            self.line(
                line,
                &Line {
                    span,
                    bytes: &bytes,
                    newline,
                },
            );
            (number, at) = (line, span.end() + u64::from(newline));
        }
        let lines = preamble.lines
            + collected.odd_lines.len() as u32
            + collected.plain_lines.iter().sum::<u32>();
        self.pass(
            number,
            lines - number.0,
            Span {
                start: at,
                len: source.len() - at,
            },
        );
        (0..2).for_each(|end| self.ends[end] |= collected.plain_lines[end] > 0);
        Ok(())
    }

    /// Keeps plain lines, which follow the line `number`.
    fn pass(&mut self, number: LineNo, lines: u32, span: Span) {
        if lines > 0 {
            self.last = Some(LineNo(number.0 + lines));
            self.map_line(LineNo(number.0 + 1));
            self.made += lines - 1;
            self.file.keep(span);
        }
    }

    fn line(&mut self, number: LineNo, line: &Line) {
        let (mut bytes, mut start) = (line.bytes, line.span.start);
        if let Some(rest) = bytes
            .strip_prefix(b"\xef\xbb\xbf")
            .filter(|_| number.0 == 1)
        {
            let finding = Finding::new(
                number,
                K::ByteOrderMark,
                "there is a byte order mark before the first line",
            );
            self.findings.push(finding.fix("it is removed"));
            self.rejected.push(Span { start, len: 3 });
            (bytes, start) = (rest, start + 3);
        }
        if line.newline {
            self.ends[usize::from(bytes.ends_with(b"\r"))] = true;
        }
        let mut scanner = Scanner::new(bytes);
        if scanner.at_end() {
            self.made += u32::from(line.newline);
            return self.file.keep(Span {
                start,
                len: bytes.len() as u64 + u64::from(line.newline),
            });
        }
        self.last = Some(number);
        let mut blocks = Vec::new();
        let scanned = scan(&mut scanner, &mut blocks);
        let non_ascii = !scanner.take_non_ascii().is_empty();
        let located = Located {
            number,
            bytes,
            start,
            alone: true,
            newline: line.newline,
            non_ascii,
        };
        match scanned {
            Ok(record) if scanner.at_end() => self.value(&located, &record, &blocks),
            _ => self.broken(&located),
        }
    }

    /// Checks a line that is not exactly one value.
    fn broken(&mut self, located: &Located) {
        let expected = Expected {
            title: located.number.0 == 1,
            without_ids: self.by_number,
        };
        let values = resync::values(located.bytes, expected);
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
        let finding = Finding::new(located.number, K::FusedLine, message);
        self.findings.push(finding.fix(if junk == 0 {
            "each is put on a separate line"
        } else {
            "entries are put on separate lines, the rest is removed"
        }));
        // Gaps and values in order.
        let mut gaps = between.into_iter().peekable();
        for value in values {
            while let Some(gap) = gaps.next_if(|gap| gap.start < value.start) {
                self.take_out(located, gap, true);
            }
            let bytes = &located.bytes[value.clone()];
            let mut scanner = Scanner::new(bytes);
            let mut blocks = Vec::new();
            if let Ok(record) = scan(&mut scanner, &mut blocks) {
                let part = Located {
                    bytes,
                    start: located.start + value.start as u64,
                    alone: false,
                    non_ascii: !scanner.take_non_ascii().is_empty(),
                    ..*located
                };
                let line = LineNo(self.made + 1);
                self.value(&part, &record, &blocks);
                let is_kept = self.made == line.0;
                if is_kept && !record.has_id && record.get(Member::ParentId).is_none() {
                    self.without_links.push(line);
                }
            }
        }
        gaps.for_each(|gap| self.take_out(located, gap, true));
    }

    /// Checks a line without anything recognizable as an entry.
    fn unreadable(&mut self, located: &Located) {
        let (kind, what) = if located.bytes.contains(&0) {
            (
                K::NulBytes,
                "the line is not JSON: it contains NUL bytes, as after a crash of the machine",
            )
        } else if located.newline {
            (K::MalformedLine, "the line is not JSON")
        } else {
            (
                K::TornTail,
                "the last line is incomplete: its write was interrupted",
            )
        };
        self.take_out(located, 0..located.bytes.len(), true);
        let mut finding = Finding::new(located.number, kind, what).fix("it is removed");
        if let Some(id) = self.gone.last().and_then(|gone| gone.id.clone()) {
            finding = finding.entry(id);
        }
        self.findings.push(finding);
    }

    fn value(&mut self, located: &Located, record: &Record, blocks: &[Block]) {
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
        if !self.has_header
            && let Some(header) = self.new_header.take()
        {
            self.add_header(located, header);
        }
        let is_message = record.kind.is_some_and(|kind| kind.is("message"));
        if is_message && record.message.is_none() && value.get_some("message").is_none() {
            // Every agent fails with it.
            let finding = in_record(
                located,
                record,
                K::NoMessage,
                "the message entry has no message",
            );
            let fix = "it is removed, and its children become children of its parent";
            return self.remove(located, finding, fix);
        }
        self.note_body(located, record);
        // What it lacks counts for the agent that the session turns out to belong to.
        for (dialect, what) in missing(record, blocks) {
            self.incomplete
                .push((dialect, in_record(located, record, K::MissingField, what)));
        }
        self.note_ids(record);
        self.keep_valid(located, record);
    }

    fn no_entry(&mut self, located: &Located, value: Raw) {
        let finding = if value.is_null() {
            Finding::new(located.number, K::NullLine, "the line is null")
        } else {
            Finding::new(
                located.number,
                K::NotAnEntry,
                "the line is a value that is not an entry",
            )
        };
        if self.by_number && value.is_truthy() {
            self.findings.push(finding);
            return self.keep(located);
        }
        self.findings.push(finding.fix("it is removed"));
        self.take_out(located, 0..located.bytes.len(), false);
    }

    fn header(&mut self, located: &Located, record: &Record) {
        if self.moved_header == Some(located.number) {
            return;
        }
        if self.has_header {
            let finding = in_record(located, record, K::SecondHeader, "a second header");
            return self.remove(located, finding, "it is removed");
        }
        self.has_header = true;
        let header = Raw::checked(record.bytes);
        let version = version_number(header);
        self.old |= version < 3.0;
        self.by_number |= version < 2.0;
        if header.get("version").is_none_or(Raw::is_number) {
            return self.keep_valid(located, record);
        }
        let message = "the header's version is not a number";
        let finding = Finding::new(located.number, K::OddVersion, message).grave(self.old);
        if version != 3.0 {
            self.findings.push(finding);
            return self.keep_valid(located, record);
        }
        self.findings.push(finding.fix("it becomes the number 3"));
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
        let finding = Finding::new(located.number, K::TitleWidth, message);
        match padded(&line) {
            Some(padded) => {
                self.findings.push(finding.fix("it is padded"));
                self.make(located, padded);
            }
            None => {
                self.findings.push(finding);
                self.put(located, line);
            }
        }
    }

    /// Reports references to blobs, and deep nesting, in an entry.
    fn note_body(&mut self, located: &Located, record: &Record) {
        let count = blobs(record.bytes).count();
        if count > 0 {
            let message = match count {
                1 => "it refers to a blob outside of the file".to_owned(),
                n => format!("{n} references to blobs outside of the file"),
            };
            self.findings
                .push(in_record(located, record, K::BlobReference, message));
        }
        if self.old && resync::nesting(record.bytes) > DEEP {
            let message = format!("a value is nested more than {DEEP} levels deep");
            self.findings
                .push(in_record(located, record, K::DeepNesting, message));
        }
    }

    /// Records ids that are not strings, for the line that is kept next.
    fn note_ids(&mut self, record: &Record) {
        let parent = record
            .get(Member::ParentId)
            .filter(|parent| !parent.is_string() && !parent.is_null());
        let id = match record.id {
            Some(_) => None,
            None => Raw::checked(record.bytes).get_some("id"),
        };
        if id.is_some() || parent.is_some() {
            let bytes = |value: Option<Raw>| value.map(|value| value.bytes().to_vec());
            self.odd_ids.push(OddIds {
                line: LineNo(self.made + 1),
                id: bytes(id),
                parent: bytes(parent),
            });
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
