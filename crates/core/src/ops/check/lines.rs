//! Checks each line, and derives the file with its lines repaired.
//!
//! Nearly all lines are plain: entries in which nothing is to be repaired or reported. Loading the
//! file collects the other lines, called odd, which are then checked one by one, in order.
//!
//! A line is kept, or its values are split onto separate lines, or it is removed. From a broken
//! line, a value is recovered only if it is an entry beyond doubt; see [`resync::recover_values`].

use super::excerpt::excerpt_of_line;
use super::finding::{Finding, FindingKind};
use super::header::NewHeader;
use super::line_repair::{BrokenLine, LineRepair, LocatedValue, OddIds, finding_in_record};
use super::missing::find_missing_fields;
use super::repeated::find_repeated_lines;
use super::resync::{self, Expected};
use crate::agents::oh_my_pi::title::TITLE_LINE_BYTES;
use crate::session::blobs::blob_hashes;
use crate::session::collected::{Collected, OddLine};
use crate::session::entry::{LineNo, Span};
use crate::session::read::header::{Preamble, is_title_slot, read_preamble, version_number};
use crate::session::read::line_chunks::{Line, LineChunk, for_each_line};
use crate::session::read::record::{Block, Member, Record, scan_record};
use crate::session::{Format, Session};
use pisess_json::edit::Edit;
use pisess_json::{Raw, Scanner};
use pisess_store::ReadAt;
use std::io;
use std::ops::Range;

/// The number of nested arrays and objects beyond which pi's `JSON.stringify` runs out of stack.
const MAX_NESTING: usize = 3000;

/// U+FEFF in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Checks the lines of a file, and derives the file with its lines repaired.
///
/// `session` is the file as loaded with [`is_plain`] as the test for plain lines; `None` if it
/// could not be loaded. If it has the current version, only its odd lines (those that are not
/// plain) are read again. Otherwise, every line is read and checked.
///
/// `new_header` is the header to add if the file does not begin with one.
pub(super) fn repair_lines(
    source: &dyn ReadAt,
    session: Option<&Session>,
    new_header: Option<NewHeader>,
) -> io::Result<LineRepair> {
    // A file without a header is checked, too.
    let preamble = read_preamble(source).ok();
    let format = preamble.as_ref().map(|preamble| preamble.format);
    let mut repair = LineRepair {
        refers_by_number: format == Some(Format::V1),
        is_old_format: format.is_some_and(|format| format != Format::V3),
        new_header,
        ..LineRepair::default()
    };
    if let Some(session) = session {
        repair.repeated_lines = find_repeated_lines(session, source)?;
    }

    match (session, preamble) {
        (Some(session), Some(preamble)) if preamble.format == Format::V3 => {
            repair.check_odd_lines(source, &preamble, &session.collected)?;
        }
        _ => repair.check_all_lines(source)?,
    }

    repair.raise_severity_of_last_line();
    repair.report_mixed_line_ends();
    Ok(repair)
}

/// Whether a record that was parsed without an error is an entry in which nothing is to be repaired
/// or reported. `blocks` are the blocks of its message.
pub(super) fn is_plain(record: &Record, blocks: &[Block]) -> bool {
    let has_valid_parent = match record.get(Member::ParentId) {
        Some(parent) => parent.is_string() || parent.is_null(),
        None => true,
    };
    if record.id.is_none() || !has_valid_parent {
        return false;
    }
    // A header or a title line after the beginning of the file is reported.
    let is_head = is_of_kind(record, "session") || is_of_kind(record, "title");
    let lacks_message = is_of_kind(record, "message") && record.message.is_none();
    if is_head || lacks_message {
        return false;
    }
    // References to blobs are reported, because a blob may be missing on the disk.
    let has_blobs = blob_hashes(record.bytes).next().is_some();
    !has_blobs && find_missing_fields(record, blocks).is_empty()
}

fn is_of_kind(record: &Record, name: &str) -> bool {
    record.kind.is_some_and(|kind| kind.is(name))
}

impl LineRepair {
    /// Checks every line of a file, in order.
    fn check_all_lines(&mut self, source: &dyn ReadAt) -> io::Result<()> {
        let mut number = LineNo(0);
        for_each_line(source, 0..source.len(), |line| {
            number.0 += 1;
            self.check_line(number, &line);
            Ok(())
        })
    }

    /// Checks the lines up to the header, and the odd and the repeated lines after it, in file
    /// order. The lines in between are plain: they are kept unread.
    fn check_odd_lines(
        &mut self,
        source: &dyn ReadAt,
        preamble: &Preamble,
        collected: &Collected,
    ) -> io::Result<()> {
        let preamble_bytes = source.read_range(0..preamble.end)?;
        let preamble_lines = LineChunk {
            start: 0,
            bytes: &preamble_bytes,
        };
        // The number of the line that was passed last, and the offset after its newline.
        let mut passed_line = LineNo(0);
        let mut passed_end = preamble.end;
        for line in preamble_lines.lines() {
            passed_line.0 += 1;
            self.check_line(passed_line, &line);
        }

        for odd in self.lines_to_check(collected) {
            let plain = Span {
                start: passed_end,
                len: odd.span.start - passed_end,
            };
            let plain_count = odd.line.0 - passed_line.0 - 1;
            self.keep_plain_lines(passed_line, plain_count, plain);

            let bytes = source.read_range(odd.span.range())?;
            // The span of an odd line has no newline: unless the file ends there, one follows.
            let has_newline = odd.span.end() < source.len();
            let line = Line {
                span: odd.span,
                bytes: &bytes,
                has_newline,
            };
            self.check_line(odd.line, &line);
            passed_line = odd.line;
            passed_end = odd.span.end() + u64::from(has_newline);
        }

        let [plain_lf, plain_crlf] = collected.plain_lines;
        let odd_count = collected.odd_lines.len() as u32;
        let line_count = preamble.line_count + odd_count + plain_lf + plain_crlf;
        let plain = Span {
            start: passed_end,
            len: source.len() - passed_end,
        };
        self.keep_plain_lines(passed_line, line_count - passed_line.0, plain);
        self.has_lf |= plain_lf > 0;
        self.has_crlf |= plain_crlf > 0;
        Ok(())
    }

    /// Returns the odd lines and the repeated lines, in file order.
    fn lines_to_check(&self, collected: &Collected) -> Vec<OddLine> {
        let mut lines = collected.odd_lines.clone();
        for (&line, repeated) in &self.repeated_lines {
            let span = repeated.span;
            lines.push(OddLine { line, span });
        }
        lines.sort_by_key(|odd| odd.line);
        // A repeated line may be odd, too.
        lines.dedup_by_key(|odd| odd.line);
        lines
    }

    /// Keeps the `count` plain lines of the source that follow the line `previous`. `span` covers
    /// their bytes, including their newlines.
    fn keep_plain_lines(&mut self, previous: LineNo, count: u32, span: Span) {
        if count == 0 {
            return;
        }
        self.last_line = Some(LineNo(previous.0 + count));
        // All of these lines are kept, so only the first needs to be looked up in the line map. The
        // others are counted at once.
        self.count_repaired_line(LineNo(previous.0 + 1));
        self.repaired_lines += count - 1;
        self.file.push_source(span);
    }

    /// Checks a line of the source, plain or not. A byte order mark before the first line is
    /// removed. A blank line is kept. A line with exactly one value is checked as that value, and
    /// any other line as broken.
    fn check_line(&mut self, number: LineNo, line: &Line) {
        self.note_line_end(line);
        let mut bytes = line.bytes;
        if number.0 == 1
            && let Some(after_mark) = bytes.strip_prefix(BYTE_ORDER_MARK)
        {
            self.remove_byte_order_mark(line.span.start);
            bytes = after_mark;
        }
        let mark_len = line.bytes.len() - bytes.len();
        let start = line.span.start + mark_len as u64;

        let mut scanner = Scanner::new(bytes);
        let is_blank = scanner.at_end();
        if is_blank {
            self.keep_blank_line(start, bytes.len() as u64, line.has_newline);
            return;
        }
        self.last_line = Some(number);
        let mut blocks = Vec::new();
        let scanned = scan_record(&mut scanner, &mut blocks);
        let located = LocatedValue {
            number,
            bytes,
            start,
            is_alone: true,
            has_newline: line.has_newline,
            has_non_ascii: !scanner.take_non_ascii().is_empty(),
        };
        match scanned {
            Ok(record) if scanner.at_end() => self.check_value(&located, &record, &blocks),
            _ => self.check_broken_line(&located),
        }
    }

    /// Notes whether a line ends with LF or with CR LF: both in one file are reported.
    fn note_line_end(&mut self, line: &Line) {
        if !line.has_newline {
            return;
        }
        if line.bytes.ends_with(b"\r") {
            self.has_crlf = true;
        } else {
            self.has_lf = true;
        }
    }

    /// Keeps a line with nothing but white space: `len` bytes at the offset `start`, and its
    /// newline. Without a newline, it is the end of the file. It gets no newline then, and does not
    /// count as a line.
    fn keep_blank_line(&mut self, start: u64, len: u64, has_newline: bool) {
        let newline_len = u64::from(has_newline);
        self.file.push_source(Span {
            start,
            len: len + newline_len,
        });
        self.repaired_lines += u32::from(has_newline);
    }

    /// Reports lines with different ends, on the first line: the finding is about the whole file.
    fn report_mixed_line_ends(&mut self) {
        if self.has_lf && self.has_crlf {
            self.findings.push(Finding::new(
                LineNo(1),
                FindingKind::MixedLineEnds,
                "some lines end with CR LF, some with LF",
            ));
        }
    }

    /// Marks the finding on the last line as the worst case if that line is a value that is not an
    /// entry: the agents continue the conversation at the last line.
    fn raise_severity_of_last_line(&mut self) {
        for finding in &mut self.findings {
            let is_other_value = matches!(
                finding.kind,
                FindingKind::NotAnEntry | FindingKind::SecondHeader
            );
            if is_other_value && Some(finding.line) == self.last_line {
                finding.is_worst_case = true;
            }
        }
    }

    /// Reports a byte order mark at this offset before the first line, and removes it.
    fn remove_byte_order_mark(&mut self, start: u64) {
        let finding = Finding::new(
            LineNo(1),
            FindingKind::ByteOrderMark,
            "there is a byte order mark before the first line",
        );
        self.findings.push(finding.with_fix("it is removed"));
        self.rejected_spans.push(Span {
            start,
            len: BYTE_ORDER_MARK.len() as u64,
        });
    }

    /// Checks a line that is not exactly one value. The entries and headers that it contains are
    /// put on separate lines, and the gaps (the bytes between these values, before and after them)
    /// are removed. Without any such value, the whole line is removed.
    fn check_broken_line(&mut self, located: &LocatedValue) {
        let expected = Expected {
            may_be_title: located.number.0 == 1,
            without_ids: self.refers_by_number,
        };
        let values = resync::recover_values(located.bytes, expected);
        if values.is_empty() {
            self.reject_line(located);
            return;
        }
        let gaps = resync::find_gaps(located.bytes, &values);
        self.report_fused_line(located, &values, &gaps);

        // In the order of the line, because a removed gap is recorded with the number of repaired
        // lines before it.
        for part in parts_in_order(values, gaps) {
            match part {
                LinePart::Value(value) => self.check_fused_value(located, value),
                // A gap may be the rest of a torn entry, so it is rejected as an entry.
                LinePart::Gap(gap) => self.reject_entry(located, gap),
            }
        }
    }

    /// Reports a fused line: one with several values, or with a value and other bytes. `gaps` are
    /// the ranges of the other bytes.
    fn report_fused_line(
        &mut self,
        located: &LocatedValue,
        values: &[Range<usize>],
        gaps: &[Range<usize>],
    ) {
        let count = values.len();
        let junk_len: usize = gaps.iter().map(|gap| gap.len()).sum();
        // If lines end with carriage returns only, the whole file is one line: the first.
        let has_returns_as_ends = located.number.0 == 1 && located.bytes.contains(&b'\r');
        let message = if count == 1 {
            // There are other bytes, because a line with one value alone is not fused.
            format!("an entry and {junk_len} other bytes are on one line")
        } else if junk_len > 0 {
            format!("{count} values and {junk_len} other bytes are on one line")
        } else if has_returns_as_ends {
            format!("lines end with carriage returns only: {count} values are on one line")
        } else {
            format!("{count} values are on one line")
        };
        let fix = if junk_len == 0 {
            "each is put on a separate line"
        } else {
            "entries are put on separate lines, the rest is removed"
        };
        let finding = Finding::new(located.number, FindingKind::FusedLine, message);
        self.findings.push(finding.with_fix(fix));
    }

    /// Checks a value in `range` of a broken line as if it had a line of its own, which it gets if
    /// it is kept.
    ///
    /// If it is kept although it has neither an id nor a parent, its new line is recorded as
    /// unlinked: its place alone shows which entry it follows.
    fn check_fused_value(&mut self, broken_line: &LocatedValue, range: Range<usize>) {
        let start = broken_line.start + range.start as u64;
        let bytes = &broken_line.bytes[range];
        let mut scanner = Scanner::new(bytes);
        let mut blocks = Vec::new();
        let Ok(record) = scan_record(&mut scanner, &mut blocks) else {
            // Not expected: the same bytes were scanned when the value was recovered.
            return;
        };
        let value = LocatedValue {
            bytes,
            start,
            is_alone: false,
            has_non_ascii: !scanner.take_non_ascii().is_empty(),
            ..*broken_line
        };

        // If the check keeps the value, it adds one line to the repaired file.
        let lines_before = self.repaired_lines;
        self.check_value(&value, &record, &blocks);
        let is_kept = self.repaired_lines == lines_before + 1;
        let is_unlinked = !record.has_id && record.get(Member::ParentId).is_none();
        if is_kept && is_unlinked {
            self.unlinked_lines.push(LineNo(self.repaired_lines));
        }
    }

    /// Reports and removes a line in which no entry is recognizable. Records the ids that can still
    /// be read on the line, so that entries that name it as their parent get another.
    fn reject_line(&mut self, located: &LocatedValue) {
        let mut finding = broken_line_finding(located)
            .with_fix("it is removed")
            .with_excerpt(excerpt_of_line(located.bytes));
        let lost_entry = resync::salvage_ids(located.bytes, self.repaired_lines);
        if let Some(id) = &lost_entry.id {
            finding = finding.with_entry_id(id.clone());
            self.broken_lines.push(BrokenLine {
                number: located.number,
                span: located.span(),
                id: id.clone(),
            });
        }
        self.findings.push(finding);
        self.lost_entries.push(lost_entry);
        self.reject_part(located, 0..located.bytes.len());
    }

    /// Checks one value, which is a whole line or was recovered from a broken line. Repairs the
    /// value and adds it to the repaired file, or removes it.
    ///
    /// The order of the cases matters: a title line is not an entry, and a header satisfies the
    /// conditions of an entry.
    fn check_value(&mut self, located: &LocatedValue, record: &Record, blocks: &[Block]) {
        let value = Raw::from_checked(record.bytes);
        let may_be_title = self.repaired_lines == 0;
        if may_be_title && is_title_slot(value) {
            self.check_title(located, record);
            return;
        }
        let is_entry = record.is_object && (record.kind.is_some() || record.id.is_some());
        if !is_entry {
            self.check_other_value(located, value);
            return;
        }
        if is_of_kind(record, "session") {
            self.check_header(located, record);
            return;
        }

        // This is the first entry of a file that does not begin with a header.
        if !self.has_header
            && let Some(header) = self.new_header.take()
        {
            self.add_header(located, header);
        }
        self.check_entry(located, record, blocks);
    }

    /// Checks an entry, and adds it to the repaired file. A message entry without a message is
    /// removed instead, because every agent fails on it.
    fn check_entry(&mut self, located: &LocatedValue, record: &Record, blocks: &[Block]) {
        if let Some(repeated) = self.repeated_lines.get(&located.number) {
            let first = repeated.first;
            self.remove_repeated_line(located, record, first);
            return;
        }
        let value = Raw::from_checked(record.bytes);
        let is_message = is_of_kind(record, "message");
        if is_message && record.message.is_none() && value.get_some("message").is_none() {
            let finding = finding_in_record(
                located,
                record,
                FindingKind::NoMessage,
                "the message entry has no message",
            );
            let fix = "it is removed, and its children become children of its parent";
            self.remove_entry(located, finding, fix);
            return;
        }

        self.report_blobs_and_nesting(located, record);
        // Which of these findings are reported depends on the session's agent, which is known only
        // once the repaired file is loaded.
        for missing in find_missing_fields(record, blocks) {
            let finding =
                finding_in_record(located, record, FindingKind::MissingField, missing.message);
            self.dialect_findings.push((missing.dialect, finding));
        }
        // The record is kept below, as the next line of the repaired file.
        let repaired_line = LineNo(self.repaired_lines + 1);
        if let Some(odd_ids) = OddIds::of_record(record, repaired_line) {
            self.odd_ids.push(odd_ids);
        }
        self.keep_as_utf8(located, record);
    }

    /// Reports a value that is not an entry, and removes it.
    ///
    /// In version 1, entries refer to each other by their numbers, so a value that counts stays: in
    /// the agents, each that is truthy in JavaScript, which `null` is not.
    fn check_other_value(&mut self, located: &LocatedValue, value: Raw) {
        let finding = if value.is_null() {
            Finding::new(located.number, FindingKind::NullLine, "the line is null")
        } else {
            Finding::new(
                located.number,
                FindingKind::NotAnEntry,
                "the line is a value that is not an entry",
            )
        };
        let counts_as_entry = self.refers_by_number && value.is_truthy();
        if counts_as_entry {
            self.findings.push(finding);
            self.keep_value(located);
            return;
        }
        self.findings.push(finding.with_fix("it is removed"));
        self.reject_part(located, 0..located.bytes.len());
    }

    /// Checks the version of the first header, and removes every other header.
    fn check_header(&mut self, located: &LocatedValue, record: &Record) {
        // This header was already added to the repaired file, before the first entry: see
        // [`LineRepair::add_header`].
        let was_moved = self.moved_header == Some(located.number);
        if was_moved {
            return;
        }
        if self.has_header {
            let finding = finding_in_record(
                located,
                record,
                FindingKind::SecondHeader,
                "a second header",
            );
            self.remove_entry(located, finding, "it is removed");
            return;
        }
        self.has_header = true;

        self.check_version(located, record);
    }

    /// Checks the version of the first header, and keeps the header. Also sets the format that the
    /// version stands for, which decides how the entries after it are checked.
    ///
    /// If the version is not a number, but the agents read it as 3, such as `"3"`, it becomes the
    /// number 3.
    fn check_version(&mut self, located: &LocatedValue, record: &Record) {
        let header = Raw::from_checked(record.bytes);
        // As the agents read it: 1 for a header without a version.
        let version = version_number(header);
        self.is_old_format |= version < 3.0;
        self.refers_by_number |= version < 2.0;

        // A header of version 1 has no version.
        let is_valid = header.get("version").is_none_or(Raw::is_number);
        if is_valid {
            self.keep_as_utf8(located, record);
            return;
        }

        // In the worst case, an agent converts the file from an old version that it does not have.
        let message = "the header's version is not a number";
        let finding = Finding::new(located.number, FindingKind::OddVersion, message)
            .worst_case_if(self.is_old_format);
        if version == 3.0 {
            self.findings
                .push(finding.with_fix("it becomes the number 3"));
            self.write_with_version_3(located, record);
        } else {
            self.findings.push(finding);
            self.keep_as_utf8(located, record);
        }
    }

    /// Adds a header to the repaired file, with the number 3 as its version.
    fn write_with_version_3(&mut self, located: &LocatedValue, record: &Record) {
        let line = self.report_and_convert_to_utf8(located, record);
        let repaired = match Edit::new(&line) {
            Ok(mut edit) => {
                edit.set("version", b"3");
                edit.finish()
            }
            // Not expected: the line was scanned as an object.
            Err(_) => line.into_owned(),
        };
        self.write_line(located, repaired);
    }

    /// Checks oh-my-pi's title line. The agent overwrites the line in place, so it must have
    /// exactly 256 bytes including its newline. A shorter line is padded. A longer one is only
    /// reported.
    fn check_title(&mut self, located: &LocatedValue, record: &Record) {
        let line = self.report_and_convert_to_utf8(located, record);
        let width_with_newline = line.len() + 1;
        let has_own_newline = located.has_newline && located.is_alone;
        if width_with_newline == TITLE_LINE_BYTES && has_own_newline {
            self.keep_or_write(located, line);
            return;
        }

        let message = if width_with_newline == TITLE_LINE_BYTES {
            "the title line has no newline of its own".to_owned()
        } else {
            format!("the title line is {width_with_newline} bytes wide, not {TITLE_LINE_BYTES}")
        };
        let finding = Finding::new(located.number, FindingKind::TitleWidth, message);
        // A line that is too long is not repaired, because a part of the title would be lost.
        match pad_title(&line) {
            Some(padded) => {
                self.findings.push(finding.with_fix("it is padded"));
                self.write_line(located, padded);
            }
            None => {
                self.findings.push(finding);
                self.keep_or_write(located, line);
            }
        }
    }

    /// Reports references to blobs in an entry. In a file of an old format, also reports deep
    /// nesting: pi rewrites files of an old format, and would crash at such a value.
    fn report_blobs_and_nesting(&mut self, located: &LocatedValue, record: &Record) {
        let count = blob_hashes(record.bytes).count();
        if count > 0 {
            let message = match count {
                1 => "it refers to a blob outside of the file".to_owned(),
                count => format!("{count} references to blobs outside of the file"),
            };
            self.findings.push(finding_in_record(
                located,
                record,
                FindingKind::BlobReference,
                message,
            ));
        }
        if self.is_old_format && resync::nesting_depth(record.bytes) > MAX_NESTING {
            let message = format!("a value is nested more than {MAX_NESTING} levels deep");
            self.findings.push(finding_in_record(
                located,
                record,
                FindingKind::DeepNesting,
                message,
            ));
        }
    }
}

/// Returns a title line, without its newline, in which the member `pad` fills the line to its
/// required width. `None` if the line has no `pad`, or is too long even with an empty one.
fn pad_title(line: &[u8]) -> Option<Vec<u8>> {
    let mut edit = Edit::new(line).ok()?;
    let pad = edit.get("pad")?.raw_string()?;
    let unpadded_width = line.len() + 1 - pad.len();
    let spaces = TITLE_LINE_BYTES.checked_sub(unpadded_width)?;
    edit.set("pad", format!("\"{}\"", " ".repeat(spaces)).as_bytes());
    Some(edit.finish())
}

/// Returns the finding, without a fix, for a line in which no entry is recognizable.
fn broken_line_finding(located: &LocatedValue) -> Finding {
    let number = located.number;
    if located.bytes.contains(&0) {
        let message =
            "the line is not JSON: it contains NUL bytes, as after a crash of the machine";
        return Finding::new(number, FindingKind::NulBytes, message);
    }
    if !located.has_newline {
        // Each write of an agent ends with a newline.
        let message = "the last line is incomplete: its write was interrupted";
        return Finding::new(number, FindingKind::TornTail, message);
    }
    Finding::new(number, FindingKind::MalformedLine, "the line is not JSON")
}

/// A part of a broken line, as a range of its bytes.
enum LinePart {
    /// A value that was recovered: an entry or a header.
    Value(Range<usize>),
    /// Other bytes.
    Gap(Range<usize>),
}

impl LinePart {
    fn start(&self) -> usize {
        match self {
            LinePart::Value(range) | LinePart::Gap(range) => range.start,
        }
    }
}

/// Returns the values and the gaps of a line in their order.
fn parts_in_order(values: Vec<Range<usize>>, gaps: Vec<Range<usize>>) -> Vec<LinePart> {
    let mut parts: Vec<LinePart> = values.into_iter().map(LinePart::Value).collect();
    parts.extend(gaps.into_iter().map(LinePart::Gap));
    parts.sort_by_key(LinePart::start);
    parts
}
