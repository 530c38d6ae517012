//! Reconstructs the content of a file from the tool calls of a session.

use super::operations::{FileChange, ReadPart, RecordedEdit, TextEdits};
use super::text_edits::{apply_diff_to_whole, apply_to_lines, apply_to_whole, normalize_line_ends};
use crate::session::entry::EntryIx;

/// The known content of a file, after the operations that were applied so far.
#[derive(Debug, Default)]
pub struct FileContent {
    known: Known,
    /// The number of edits whose old text is not in the known content, because something else
    /// changed the file before.
    pub unfit_edits: usize,
    /// The entry with the first change that is not stored in a form that can be applied.
    pub unknown_from: Option<EntryIx>,
}

/// The known part of a file's content.
#[derive(Debug, Default, PartialEq, Eq)]
pub enum Known {
    /// Nothing.
    #[default]
    Nothing,
    /// All of it.
    Whole(String),
    /// Runs of lines, in order, each with the number of its first line. The numbers are missing
    /// after an edit at an unknown place, unless the edit keeps the number of lines.
    Parts(Vec<KnownLines>),
}

/// Consecutive known lines of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownLines {
    /// The number of the first line, from 1; `None` if it is not known.
    pub first_line: Option<usize>,
    /// The lines, joined by line feeds.
    pub text: String,
    /// Whether the lines are the new text of an edit at an unknown place.
    pub is_of_edit: bool,
    /// The number of lines of the whole file, if it is known.
    line_count: Option<usize>,
}

impl KnownLines {
    /// Returns the number of lines. A line feed at the end begins another, empty line.
    pub fn count(&self) -> usize {
        self.text.split('\n').count()
    }

    /// Returns the number of the last line, from 1; `None` if it is not known.
    pub fn last_line(&self) -> Option<usize> {
        Some(self.first_line? + self.count() - 1)
    }

    /// Returns the lines from the line with this number on. Empty if the lines end before it, or if
    /// their numbers are not known.
    fn lines_from(&self, number: usize) -> impl Iterator<Item = &str> {
        let skipped = match self.first_line {
            Some(first_line) => number.saturating_sub(first_line),
            None => usize::MAX,
        };
        self.text.split('\n').skip(skipped)
    }

    /// Whether two runs of lines can be from the same content of the file. They cannot if they
    /// differ in a line that both contain, or if the file had different lengths when they were
    /// read.
    fn agrees_with(&self, other: &KnownLines) -> bool {
        if let Some(own_count) = self.line_count
            && let Some(other_count) = other.line_count
            && own_count != other_count
        {
            return false;
        }

        let (Some(own_first), Some(other_first)) = (self.first_line, other.first_line) else {
            // Lines without numbers cannot be compared.
            return true;
        };
        // Both runs can have a line only from the later start on. `zip` ends with the shorter run.
        let first_shared = own_first.max(other_first);
        let shared_lines = self
            .lines_from(first_shared)
            .zip(other.lines_from(first_shared));
        for (own_line, other_line) in shared_lines {
            if own_line != other_line {
                return false;
            }
        }
        true
    }
}

impl FileContent {
    /// Returns the known part of the content.
    pub fn known(&self) -> &Known {
        &self.known
    }

    /// Returns the whole content. `None` if a part is not known, or if a change could not be
    /// applied.
    pub fn exact_text(&self) -> Option<&str> {
        match &self.known {
            Known::Whole(text) if self.unfit_edits == 0 && self.unknown_from.is_none() => {
                Some(text)
            }
            _ => None,
        }
    }

    /// Whether nothing of the content is known.
    pub fn is_unknown(&self) -> bool {
        self.known == Known::Nothing
    }

    /// Whether a known line has a carriage return.
    pub fn has_carriage_returns(&self) -> bool {
        match &self.known {
            Known::Nothing => false,
            Known::Whole(text) => text.contains('\r'),
            Known::Parts(parts) => parts.iter().any(|part| part.text.contains('\r')),
        }
    }

    /// Applies the change that the tool call in `entry` made to the file, or the content that it
    /// read. Calls must be applied in the order of the conversation.
    ///
    /// If the change is not stored in a form that can be applied, the content is unknown from this
    /// entry on: see [`Self::unknown_from`].
    pub fn apply(&mut self, entry: EntryIx, change: FileChange) {
        match change {
            FileChange::Write(text) | FileChange::ReadWhole(text) => self.set_whole(text),
            FileChange::ReadPart(part) => self.add_read_lines(part),
            // The arguments of the call contain the old and the new texts.
            FileChange::Edit(edits) => self.apply_edits(&edits),
            // The result contains the new content, or a diff.
            FileChange::Recorded(edit) => self.apply_recorded(entry, edit),
            FileChange::UnknownChange => self.add_unknown_change(entry),
            // A read changes nothing, and the form of what it printed is not known.
            FileChange::UnknownRead => {}
        }
    }

    /// Sets the whole content, which includes all changes before, also those that could not be
    /// applied.
    fn set_whole(&mut self, text: String) {
        self.forget_changes();
        self.known = Known::Whole(text);
    }

    /// Applies an edit for which the tool recorded the new text or a diff. A diff shows only some
    /// lines, so it can be applied only to the exact content before. If that is not known, or the
    /// diff does not fit it, the change counts as unknown.
    fn apply_recorded(&mut self, entry: EntryIx, edit: RecordedEdit) {
        if let Some(text) = edit.new_text {
            self.set_whole(text);
            return;
        }
        let edited = match self.exact_text() {
            Some(text) => apply_diff_to_whole(text, &edit.diff),
            None => None,
        };
        match edited {
            Some(text) => self.known = Known::Whole(text),
            None => self.add_unknown_change(entry),
        }
    }

    /// Records a change that cannot be applied. If only some lines are known, the change may have
    /// moved them, so their numbers are forgotten.
    fn add_unknown_change(&mut self, entry: EntryIx) {
        self.unknown_from = self.unknown_from.or(Some(entry));
        if let Known::Parts(parts) = &mut self.known {
            forget_numbers(parts);
        }
    }

    /// Forgets the changes that could not be applied, because newer content was read or written.
    fn forget_changes(&mut self) {
        self.unfit_edits = 0;
        self.unknown_from = None;
    }

    /// Adds lines that a tool read from the file to the known lines. If they contradict the known
    /// lines, something else has changed the file, and only the new lines remain known. This is
    /// also so if known lines lack numbers, because those cannot be compared.
    fn add_read_lines(&mut self, part: ReadPart) {
        let read_lines = KnownLines {
            first_line: Some(part.first_line),
            text: part.text,
            is_of_edit: false,
            line_count: part.line_count,
        };
        match &mut self.known {
            // The lines are known already, and the file has not changed.
            Known::Whole(text) if contains_lines(text, &read_lines) => return,
            Known::Parts(parts) if have_numbers(parts) => add_to_parts(parts, read_lines),
            Known::Nothing | Known::Whole(_) | Known::Parts(_) => {
                self.forget_changes();
                self.known = Known::Parts(vec![read_lines]);
            }
        }
        self.complete_parts();
    }

    /// If the known lines are all lines of the file, changes `known` to the whole content.
    fn complete_parts(&mut self) {
        if let Known::Parts(parts) = &mut self.known
            && let [part] = &mut parts[..]
            && part.first_line == Some(1)
            && part.line_count == Some(part.count())
        {
            self.known = Known::Whole(std::mem::take(&mut part.text));
        }
    }

    /// Applies an edit, which contains the texts that it replaces but not their line numbers.
    fn apply_edits(&mut self, edits: &TextEdits) {
        match &mut self.known {
            Known::Nothing => self.known = Known::Parts(unplaced_parts(edits)),
            Known::Whole(text) => match apply_to_whole(text, edits) {
                Some(edited) => *text = edited,
                // The content lacks these texts: something else has changed the file before.
                None => self.unfit_edits += 1,
            },
            Known::Parts(parts) => {
                let is_applied = apply_to_only_part(parts, edits);
                if !is_applied {
                    add_edit_elsewhere(parts, edits);
                }
            }
        }
    }
}

/// Adds the new texts of an edit at an unknown place. Unless the edit keeps the number of lines, it
/// may have moved the known lines, so their numbers are forgotten.
fn add_edit_elsewhere(parts: &mut Vec<KnownLines>, edits: &TextEdits) {
    if !keeps_line_count(edits) {
        forget_numbers(parts);
    }
    parts.extend(unplaced_parts(edits));
}

/// Whether the line numbers of all parts are known.
fn have_numbers(parts: &[KnownLines]) -> bool {
    parts.iter().all(|part| part.first_line.is_some())
}

/// Returns the new texts of an edit as known lines without numbers, because their place in the file
/// is not known.
fn unplaced_parts(edits: &TextEdits) -> Vec<KnownLines> {
    let mut parts = Vec::new();
    for replacement in &edits.replacements {
        parts.push(KnownLines {
            first_line: None,
            text: replacement.new.clone(),
            is_of_edit: true,
            line_count: None,
        });
    }
    parts
}

/// Whether a text contains these lines at their line numbers.
fn contains_lines(text: &str, lines: &KnownLines) -> bool {
    let Some(first_line) = lines.first_line else {
        return false;
    };
    let mut text_lines = text.split('\n').skip(first_line - 1);
    lines
        .text
        .split('\n')
        .all(|line| text_lines.next() == Some(line))
}

/// Whether each new text of an edit has as many lines as the old one.
fn keeps_line_count(edits: &TextEdits) -> bool {
    edits.replacements.iter().all(|replacement| {
        let old_text = normalize_line_ends(&replacement.old);
        let new_text = normalize_line_ends(&replacement.new);
        old_text.split('\n').count() == new_text.split('\n').count()
    })
}

/// Forgets the numbers of known lines, which an edit at an unknown place may have moved.
fn forget_numbers(parts: &mut [KnownLines]) {
    for part in parts {
        part.first_line = None;
        part.line_count = None;
    }
}

/// Adds lines that were read to the known parts, all of which must have numbers. If one part
/// contradicts the new lines, something else has changed the file, so all older parts are dropped.
fn add_to_parts(parts: &mut Vec<KnownLines>, read_lines: KnownLines) {
    let all_agree = parts.iter().all(|part| part.agrees_with(&read_lines));
    if !all_agree {
        parts.clear();
    }

    // The newest read has the current length of the file.
    for part in parts.iter_mut() {
        part.line_count = read_lines.line_count;
    }
    parts.push(read_lines);
    parts.sort_by_key(|part| part.first_line);
    *parts = join_parts(std::mem::take(parts));
}

/// Returns the parts, of which those that overlap or touch are joined, such as lines 1 to 5 and 4
/// to 9. The parts must be in the order of their lines, and must not contradict each other: lines
/// that two parts share are equal. Parts without line numbers are not joined.
fn join_parts(parts: Vec<KnownLines>) -> Vec<KnownLines> {
    let mut joined: Vec<KnownLines> = Vec::new();
    for part in parts {
        if let Some(previous) = joined.last_mut()
            && let Some(last_line) = previous.last_line()
            && let Some(first_line) = part.first_line
            && first_line <= last_line + 1
        {
            append_lines(previous, &part);
        } else {
            joined.push(part);
        }
    }
    joined
}

/// Appends those lines of the next part that come after the last line of this part.
fn append_lines(part: &mut KnownLines, next: &KnownLines) {
    let Some(last_line) = part.last_line() else {
        return;
    };
    for line in next.lines_from(last_line + 1) {
        part.text.push('\n');
        part.text.push_str(line);
    }
}

/// Applies an edit to the only part that contains all texts that it replaces. Returns false and
/// changes nothing if no part or several parts do: then the place of the edit is not known.
fn apply_to_only_part(parts: &mut [KnownLines], edits: &TextEdits) -> bool {
    let mut fitting = None;
    for (index, part) in parts.iter().enumerate() {
        let Some(edited_text) = apply_to_lines(&part.text, edits) else {
            continue;
        };
        let is_second = fitting.is_some();
        if is_second {
            return false;
        }
        fitting = Some((index, edited_text));
    }
    let Some((index, edited_text)) = fitting else {
        return false;
    };

    let count_before = parts[index].count();
    parts[index].text = edited_text;
    let count_after = parts[index].count();
    // The lines below the edit have moved by the number of lines that it added or removed.
    let added_lines = count_after as isize - count_before as isize;
    if added_lines != 0 {
        shift_line_numbers(parts, index, added_lines);
    }
    true
}

/// Updates the line numbers of all parts after an edit of the part at `edited_index`. `added_lines`
/// is the number of lines that the edit added; negative if it removed lines.
fn shift_line_numbers(parts: &mut [KnownLines], edited_index: usize, added_lines: isize) {
    // If the place of the edited part is not known, it may precede any other part.
    if parts[edited_index].first_line.is_none() {
        forget_numbers(parts);
        return;
    }

    // Each part stores the length of the whole file, which has changed.
    for part in parts.iter_mut() {
        if let Some(file_line_count) = &mut part.line_count {
            *file_line_count = file_line_count.saturating_add_signed(added_lines);
        }
    }
    // Only the parts below the edit move. Parts are in the order of their lines, so these are the
    // parts after the edited one.
    for part in &mut parts[edited_index + 1..] {
        if let Some(first_line) = &mut part.first_line {
            *first_line = first_line.saturating_add_signed(added_lines);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::file_calls::TextReplacement;

    fn edit(pairs: &[(&str, &str)]) -> FileChange {
        let replacements = pairs.iter().map(|(old, new)| TextReplacement {
            old: (*old).to_owned(),
            new: (*new).to_owned(),
            replaces_all: false,
        });
        FileChange::Edit(TextEdits {
            replacements: replacements.collect(),
            is_sequential: false,
            patch: None,
        })
    }

    fn part(first_line: usize, text: &str, line_count: usize) -> FileChange {
        FileChange::ReadPart(ReadPart {
            first_line,
            text: text.to_owned(),
            line_count: Some(line_count),
        })
    }

    fn content(changes: Vec<FileChange>) -> FileContent {
        let mut content = FileContent::default();
        for change in changes {
            content.apply(EntryIx::new(0), change);
        }
        content
    }

    fn whole(changes: Vec<FileChange>) -> String {
        match content(changes).known {
            Known::Whole(text) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn line_ends_and_the_byte_order_mark_stay() {
        let write = |text: &str| FileChange::Write(text.to_owned());
        assert_eq!(
            whole(vec![
                write("\u{feff}a\r\nb\r\nc\n"),
                edit(&[("b", "x\ny"), ("a\n", "A\n")])
            ]),
            "\u{feff}A\r\nx\r\ny\r\nc\n"
        );
        assert_eq!(
            whole(vec![write("a\rb"), edit(&[("a\nb", "c\nd")])]),
            "c\rd"
        );
    }

    #[test]
    fn parts_join_and_move() {
        assert_eq!(
            whole(vec![
                part(1, "a\nb", 5),
                edit(&[("a", "a\na2")]),
                part(4, "c\nd\n", 6)
            ]),
            "a\na2\nb\nc\nd\n"
        );
        let two = content(vec![
            part(5, "e", 9),
            part(1, "a", 9),
            edit(&[("a", "1\n2")]),
        ]);
        let Known::Parts(parts) = &two.known else {
            panic!("{two:?}");
        };
        let places: Vec<_> = parts.iter().map(|part| part.first_line).collect();
        assert_eq!(places, [Some(1), Some(6)]);
    }

    /// Returns the known parts as `FIRST:text`, with `?` for a number that is not known.
    fn parts(changes: Vec<FileChange>) -> Vec<String> {
        let found = content(changes);
        let Known::Parts(parts) = &found.known else {
            panic!("{found:?}");
        };
        let mut shown = Vec::new();
        for part in parts {
            let first = match part.first_line {
                Some(first) => first.to_string(),
                None => "?".to_owned(),
            };
            shown.push(format!("{first}:{}", part.text));
        }
        shown
    }

    #[test]
    fn parts_that_agree_are_joined() {
        // The same line again, and a part of what is known.
        assert_eq!(
            parts(vec![part(1, "a\nb", 9), part(2, "b\nc", 9)]),
            ["1:a\nb\nc"]
        );
        assert_eq!(
            parts(vec![
                part(7, "g", 9),
                part(1, "a\nb\nc", 9),
                part(2, "b", 9)
            ]),
            ["1:a\nb\nc", "7:g"]
        );
        // The later lines first, and the ones between last.
        assert_eq!(
            whole(vec![part(3, "c\nd", 4), part(1, "a\nb", 4)]),
            "a\nb\nc\nd"
        );
        assert_eq!(
            whole(vec![
                part(1, "a\nb", 6),
                part(5, "e\nf", 6),
                part(2, "b\nc\nd\ne", 6)
            ]),
            "a\nb\nc\nd\ne\nf"
        );
        // Something else changed the file.
        assert_eq!(
            parts(vec![
                part(1, "a", 9),
                part(4, "d\ne", 9),
                part(5, "E\nf", 9)
            ]),
            ["5:E\nf"]
        );
        assert_eq!(
            parts(vec![part(1, "a\nb\nc", 9), part(1, "a\nb", 8)]),
            ["1:a\nb"]
        );
    }

    #[test]
    fn an_edit_elsewhere_may_move_the_lines() {
        assert_eq!(
            parts(vec![part(5, "e", 9), edit(&[("x", "x\ny")])]),
            ["?:e", "?:x\ny"]
        );
        // It does not if it keeps the number of lines.
        assert_eq!(
            parts(vec![part(5, "e", 9), edit(&[("x", "y")])]),
            ["5:e", "?:y"]
        );
        assert_eq!(
            parts(vec![
                part(5, "e", 9),
                edit(&[("x", "y")]),
                edit(&[("y", "y\nz")])
            ]),
            ["?:e", "?:y\nz"]
        );
    }

    #[test]
    fn edits_fit_parts_with_carriage_returns() {
        assert_eq!(
            parts(vec![
                part(3, "c\r\nd\r\ne\r", 9),
                edit(&[("c\nd", "1\n2\n3")]),
                edit(&[("e", "4\n5")])
            ]),
            ["3:1\r\n2\r\n3\r\n4\r\n5\r"]
        );
        // The only line, and one that is joined with the next, which is not known.
        assert_eq!(
            parts(vec![part(3, "c\r", 9), edit(&[("c", "1\n2")])]),
            ["3:1\r\n2\r"]
        );
        assert_eq!(
            parts(vec![part(3, "c\r", 9), edit(&[("c\n", "1")])]),
            ["?:c\r", "?:1"]
        );
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let found = content(vec![FileChange::Write("a".to_owned()), edit(&[("b", "c")])]);
        assert_eq!(found.unfit_edits, 1);
        assert_eq!(found.known, Known::Whole("a".to_owned()));
        let found = content(vec![edit(&[("b", "c")])]);
        assert!(matches!(found.known, Known::Parts(_)));
    }
}
