//! Attributes the lines of a file to the newest tool calls that wrote exactly this text.
//!
//! A line that an edit kept from the old text is not attributed to that edit. If the new text of an
//! edit occurs several times in the file, it is not attributed, because it could be any of these
//! places. Lines with fewer than three letters and digits, such as `}`, are attributed only
//! together with a longer line beside them.

use crate::format::changes::{ChangedRanges, diff_ranges, push_comparison};
use crate::ops::files::{FileChange, FileOperation};
use crate::session::file_calls::{FileAction, TextReplacement};
use foldhash::HashMap;
use std::borrow::Cow;
use std::ops::Range;

/// The text that a tool call wrote into the file.
#[derive(Debug)]
pub struct WrittenText {
    /// The number by which the user of this module identifies the tool call.
    pub source: usize,
    /// The time of the tool call, in milliseconds since 1970.
    pub time_ms: i64,
    content: WrittenContent,
}

#[derive(Debug)]
enum WrittenContent {
    /// The text of the whole file.
    WholeFile(String),
    /// The replacements of an edit.
    Replacements(Vec<TextReplacement>),
}

impl WrittenText {
    /// Returns the text that a tool call wrote. `source` is a number of the caller's choice for the
    /// call: [`blame_lines`] returns it for each line that the call wrote.
    ///
    /// `None` if no line can be attributed to the call: it only read, or the text that it wrote is
    /// not stored in a known form.
    pub fn new(source: usize, time_ms: i64, change: FileChange) -> Option<WrittenText> {
        let content = match change {
            FileChange::Write(text) => WrittenContent::WholeFile(text),
            FileChange::Edit(edits) => WrittenContent::Replacements(edits.replacements),
            FileChange::Patched(replacements) => WrittenContent::Replacements(replacements),
            FileChange::Recorded(edit) => WrittenContent::Replacements(edit.replacements()),
            FileChange::ReadWhole(_)
            | FileChange::ReadPart(_)
            | FileChange::UnknownChange
            | FileChange::UnknownRead => return None,
        };
        Some(WrittenText {
            source,
            time_ms,
            content,
        })
    }

    /// Returns the replaced and the new lines of an edit as in a unified diff, without headings.
    /// `None` if the call wrote the whole file.
    pub fn diff(&self) -> Option<String> {
        let WrittenContent::Replacements(replacements) = &self.content else {
            return None;
        };
        let mut lines = Vec::new();
        for replacement in replacements {
            let old = terminate_lines(&replacement.old);
            let new = terminate_lines(&replacement.new);
            push_comparison(&old, &new, &mut lines);
        }
        Some(lines.into_iter().map(|(_, line)| line + "\n").collect())
    }

    /// Whether an operation may have written to the file.
    pub fn may_come_from(operation: &FileOperation) -> bool {
        operation.action != FileAction::Read
    }
}

/// Ends each line of a text with `\n`: `"a\r\nb"` -> `"a\nb\n"`. Otherwise, the same line would be
/// different in the middle of a replaced text and at its end, where it may lack the newline.
fn terminate_lines(text: &str) -> Cow<'_, str> {
    let mut text = if text.contains("\r\n") {
        Cow::Owned(text.replace("\r\n", "\n"))
    } else {
        Cow::Borrowed(text)
    };
    if !text.is_empty() && !text.ends_with('\n') {
        text.to_mut().push('\n');
    }
    text
}

/// Consecutive lines that the same call wrote, or that no known call wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlamedLines {
    /// The number of the first line, from 1.
    pub first: usize,
    /// The number of the last line.
    pub last: usize,
    /// The [`WrittenText::source`] of the call; `None` if no known call wrote the lines.
    pub source: Option<usize>,
}

/// Attributes each line of a text to the newest call that wrote it. Returns runs of consecutive
/// lines with the same source, in order.
pub fn blame_lines(text: &str, written: &[WrittenText]) -> Vec<BlamedLines> {
    // The sort is stable, so after the reversal the last of several calls with the same time counts
    // as the newest.
    let mut newest_first: Vec<&WrittenText> = written.iter().rev().collect();
    newest_first.sort_by_key(|call| std::cmp::Reverse(call.time_ms));
    let mut blame = Blame::new(text);
    // A line keeps its first source, so the newest call that wrote it counts.
    for call in newest_first {
        blame.attribute_call(call);
    }
    join_equal_sources(&blame.sources)
}

/// Returns the runs of consecutive lines with the same source, given the source of each line.
fn join_equal_sources(sources: &[Option<usize>]) -> Vec<BlamedLines> {
    let mut runs = Vec::new();
    let mut lines_before = 0;
    for run in sources.chunk_by(|one, next| one == next) {
        runs.push(BlamedLines {
            first: lines_before + 1,
            last: lines_before + run.len(),
            source: run[0],
        });
        lines_before += run.len();
    }
    runs
}

/// The lines of a file, and the calls that they are attributed to so far.
struct Blame<'t> {
    lines: Vec<&'t str>,
    /// For each line, the [`WrittenText::source`] of the call that wrote it.
    sources: Vec<Option<usize>>,
    /// The indexes of all lines with the same text, by this text.
    indexes: HashMap<&'t str, Vec<usize>>,
}

impl<'t> Blame<'t> {
    /// Splits a text into lines, none of which is attributed yet.
    fn new(text: &'t str) -> Blame<'t> {
        let lines: Vec<&str> = text.lines().collect();
        let mut indexes: HashMap<&str, Vec<usize>> = HashMap::default();
        for (index, &line) in lines.iter().enumerate() {
            indexes.entry(line).or_default().push(index);
        }
        Blame {
            sources: vec![None; lines.len()],
            lines,
            indexes,
        }
    }

    /// Attributes to a call the lines that it wrote, except those already attributed to a newer
    /// call.
    fn attribute_call(&mut self, call: &WrittenText) {
        match &call.content {
            WrittenContent::WholeFile(text) => self.attribute_whole_file(text, call.source),
            WrittenContent::Replacements(replacements) => {
                // A later replacement may have changed the text of an earlier one, so the last
                // comes first.
                for replacement in replacements.iter().rev() {
                    self.attribute_replacement(replacement, call.source);
                }
            }
        }
    }

    /// Attributes a line, unless it is already attributed. Calls are processed from the newest to
    /// the oldest, so the earlier attribution is that of a newer call.
    fn attribute(&mut self, index: usize, source: usize) {
        self.sources[index].get_or_insert(source);
    }

    /// Attributes the lines that the file still has of `text`, which a call wrote as the whole
    /// file. A run of lines without a distinctive one, such as a lone `}`, is not attributed,
    /// because it may come from any text.
    fn attribute_whole_file(&mut self, text: &str, source: usize) {
        let written_lines: Vec<&str> = text.lines().collect();
        let changes = diff_ranges(&written_lines, &self.lines);
        for unchanged in unchanged_ranges(&changes, self.lines.len()) {
            if !has_distinctive_line(&self.lines[unchanged.clone()]) {
                continue;
            }
            for index in unchanged {
                self.attribute(index, source);
            }
        }
    }

    /// Attributes the lines that an edit added: the lines of its new text that its old text does
    /// not have.
    ///
    /// If the whole new text occurs exactly once in the file, all of these lines are attributed.
    /// Otherwise, each is looked for by itself, and must be distinctive and occur exactly once.
    fn attribute_replacement(&mut self, replacement: &TextReplacement, source: usize) {
        let old_lines: Vec<&str> = replacement.old.lines().collect();
        let new_lines: Vec<&str> = replacement.new.lines().collect();
        // The indexes of the added lines in the new text.
        let mut added: Vec<usize> = Vec::new();
        for change in diff_ranges(&old_lines, &new_lines) {
            added.extend(change.added);
        }

        if let Some(start) = self.find_only_place(&new_lines) {
            for index in added {
                self.attribute(start + index, source);
            }
            return;
        }
        // A later edit may have changed a part of the new text.
        for index in added {
            if let Some(index_in_file) = self.find_only_line(new_lines[index]) {
                self.attribute(index_in_file, source);
            }
        }
    }

    /// Returns the index in the file of a line, if it occurs there exactly once. Also `None` for a
    /// line that is not distinctive.
    fn find_only_line(&self, line: &str) -> Option<usize> {
        if !is_distinctive(line) {
            return None;
        }
        match self.indexes.get(line)?[..] {
            [only_index] => Some(only_index),
            _ => None,
        }
    }

    /// Returns the index in the file at which these lines begin, if they occur there exactly once.
    /// The first and the last may be parts of a line of the file, because an edit need not replace
    /// whole lines. Also `None` for lines without a distinctive one.
    fn find_only_place(&self, wanted: &[&str]) -> Option<usize> {
        // Lines such as `}` occur once only by chance.
        if !has_distinctive_line(wanted) {
            return None;
        }
        // Most edits replace whole lines.
        let whole_starts = self.find_whole_lines(wanted);
        match whole_starts[..] {
            [only_start] => return Some(only_start),
            [_, _, ..] => return None,
            [] => {}
        }

        self.find_only_place_within_lines(wanted)
    }

    /// Does what [`find_only_place`](Self::find_only_place) does, for lines of which the first
    /// begins within a line of the file.
    fn find_only_place_within_lines(&self, wanted: &[&str]) -> Option<usize> {
        let mut only_start = None;
        for start in 0..self.lines.len() {
            if !self.begins_within_line(start, wanted) {
                continue;
            }
            let is_second = only_start.is_some();
            if is_second {
                return None;
            }
            only_start = Some(start);
        }
        only_start
    }

    /// Returns the indexes in the file at which these lines begin, as whole lines.
    fn find_whole_lines(&self, wanted: &[&str]) -> Vec<usize> {
        let Some((first, rest)) = wanted.split_first() else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for &start in self.indexes.get(first).map_or(&[][..], Vec::as_slice) {
            let following = self.lines.get(start + 1..start + wanted.len());
            if following == Some(rest) {
                found.push(start);
            }
        }
        found
    }

    /// Whether a text with these lines begins somewhere within the line of the file at `start`. Its
    /// last line may end within a line as well. For example, `b) {`, `x`, `}` begins within the
    /// line `fn a(b) {`, before `x` and `} else {`. A text of a single line may be anywhere in a
    /// line.
    fn begins_within_line(&self, start: usize, wanted: &[&str]) -> bool {
        let Some(lines) = self.lines.get(start..start + wanted.len()) else {
            return false;
        };
        match (lines, wanted) {
            ([line], [wanted_line]) => line.contains(wanted_line),
            ([first, middle @ .., last], [wanted_first, wanted_middle @ .., wanted_last]) => {
                first.ends_with(wanted_first)
                    && last.starts_with(wanted_last)
                    && middle == wanted_middle
            }
            // Both have the same length, so this is a text without lines.
            _ => false,
        }
    }
}

/// The smallest number of letters and digits of a distinctive line.
const DISTINCTIVE_CHARS: usize = 3;

/// Whether a line has enough letters and digits to identify the call that wrote it; `}` has not.
fn is_distinctive(line: &str) -> bool {
    let letters = line.chars().filter(|c| c.is_alphanumeric());
    letters.take(DISTINCTIVE_CHARS).count() == DISTINCTIVE_CHARS
}

fn has_distinctive_line(lines: &[&str]) -> bool {
    lines.iter().any(|line| is_distinctive(line))
}

/// Returns the ranges of lines of a new text that are the same in the old one: those between the
/// changes, and before and after them. `new_len` is the number of lines of the new text.
fn unchanged_ranges(changes: &[ChangedRanges], new_len: usize) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut start = 0;
    for change in changes {
        ranges.push(start..change.added.start);
        start = change.added.end;
    }
    ranges.push(start..new_len);
    ranges.retain(|range| !range.is_empty());
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::files::TextEdits;

    fn write(source: usize, text: &str) -> WrittenText {
        let change = FileChange::Write(text.to_owned());
        WrittenText::new(source, source as i64, change).unwrap()
    }

    fn edit(source: usize, old: &str, new: &str) -> WrittenText {
        let replacement = TextReplacement {
            old: old.to_owned(),
            new: new.to_owned(),
            replaces_all: false,
        };
        let change = FileChange::Edit(TextEdits {
            replacements: vec![replacement],
            is_sequential: false,
            patch: None,
        });
        WrittenText::new(source, source as i64, change).unwrap()
    }

    /// The source of each line, `.` for none.
    fn sources(text: &str, written: Vec<WrittenText>) -> String {
        let mut shown = String::new();
        for run in blame_lines(text, &written) {
            let name = run
                .source
                .map_or(".".to_owned(), |source| source.to_string());
            shown += &name.repeat(run.last - run.first + 1);
        }
        shown
    }

    #[test]
    fn the_newest_exact_text_counts() {
        let file = "one\ntwo\nthree new\nfour\n}\nby hand\n";
        let written = || {
            vec![
                write(1, "one\ntwo\nthree\nfour\n}\n"),
                edit(2, "two\nthree\nfour", "two\nthree new\nfour"),
            ]
        };
        assert_eq!(sources(file, written()), "11211.");
        // The order in which sessions are read does not matter.
        let mut reversed = written();
        reversed.reverse();
        assert_eq!(sources(file, reversed), "11211.");
    }

    #[test]
    fn the_diff_of_a_call_has_its_old_and_new_text() {
        let call = edit(1, "one\ntwo\nthree", "one\nzwei\nthree\nfour");
        assert_eq!(call.diff().unwrap(), " one\n-two\n+zwei\n three\n+four\n");
        assert_eq!(edit(1, "gone", "").diff().unwrap(), "-gone\n");
        let crlf = edit(1, "one\r\ntwo", "one\r\ntwo\r\nthree");
        assert_eq!(crlf.diff().unwrap(), " one\n two\n+three\n");
        assert_eq!(write(1, "all of it").diff(), None);
    }

    #[test]
    fn an_edit_within_a_line_and_one_that_was_changed_again() {
        assert_eq!(
            sources("let a = 10;\n", vec![edit(1, "= 9;", "= 10;")]),
            "."
        );
        assert_eq!(
            sources(
                "call(first, second);\n",
                vec![edit(1, "(first)", "(first, second)")]
            ),
            "1"
        );
        let twice = vec![edit(1, "x", "alpha\nbeta\ngamma"), edit(2, "beta", "delta")];
        assert_eq!(sources("alpha\ndelta\ngamma\n", twice), "121");
    }

    #[test]
    fn what_could_be_any_text_is_nobodys() {
        let file = "}\nsame line\nother\nsame line\n";
        assert_eq!(sources(file, vec![edit(1, "a", "same line")]), "....");
        assert_eq!(sources(file, vec![write(1, "}\nnothing\n")]), "....");
    }
}
