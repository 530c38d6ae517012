//! The lines of a file that are known if not all of them are.

use super::operations::{ReadPart, TextEdits};
use super::text_edits::{apply_to_lines, normalize_line_ends};
use crate::session::file_calls::TextReplacement;

/// Runs of known lines, in the order of the file.
///
/// Each run has the number of its first line. The numbers are missing after an edit at an unknown
/// place, unless the edit keeps the number of lines.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct KnownParts {
    parts: Vec<KnownLines>,
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
    /// Returns lines that a tool read.
    pub(super) fn of_read(part: ReadPart) -> KnownLines {
        KnownLines {
            first_line: Some(part.first_line),
            text: part.text,
            is_of_edit: false,
            line_count: part.line_count,
        }
    }

    /// Returns the new text of an edit at an unknown place.
    fn of_edit(replacement: &TextReplacement) -> KnownLines {
        KnownLines {
            first_line: None,
            text: replacement.new.clone(),
            is_of_edit: true,
            line_count: None,
        }
    }

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

    /// Whether a text contains these lines at their line numbers.
    pub(super) fn are_in(&self, text: &str) -> bool {
        let Some(first_line) = self.first_line else {
            return false;
        };
        let mut text_lines = text.split('\n').skip(first_line - 1);
        let mut own_lines = self.text.split('\n');
        own_lines.all(|line| text_lines.next() == Some(line))
    }

    /// Appends those lines of the next part that come after the last line of this part.
    fn append_from(&mut self, next: &KnownLines) {
        let Some(last_line) = self.last_line() else {
            return;
        };
        for line in next.lines_from(last_line + 1) {
            self.text.push('\n');
            self.text.push_str(line);
        }
    }
}

/// The only part that has the texts that an edit replaces.
struct FittingPart {
    index: usize,
    /// The lines of the part after the edit.
    edited_text: String,
}

impl From<KnownLines> for KnownParts {
    fn from(only_part: KnownLines) -> KnownParts {
        KnownParts {
            parts: vec![only_part],
        }
    }
}

impl<'a> IntoIterator for &'a KnownParts {
    type Item = &'a KnownLines;
    type IntoIter = std::slice::Iter<'a, KnownLines>;

    fn into_iter(self) -> Self::IntoIter {
        self.parts.iter()
    }
}

impl KnownParts {
    /// Whether the line numbers of all parts are known.
    pub(super) fn have_numbers(&self) -> bool {
        self.parts.iter().all(|part| part.first_line.is_some())
    }

    /// Returns the whole content of the file, if there is a part that has all of its lines.
    pub(super) fn whole_text(&self) -> Option<&str> {
        let [part] = &self.parts[..] else {
            return None;
        };
        let has_all_lines = part.first_line == Some(1) && part.line_count == Some(part.count());
        if has_all_lines {
            Some(&part.text)
        } else {
            None
        }
    }

    /// Adds lines that were read. All parts must have numbers. If one part contradicts the new
    /// lines, something else has changed the file, so all older parts are dropped.
    pub(super) fn add_read(&mut self, read_lines: KnownLines) {
        let all_agree = self.parts.iter().all(|part| part.agrees_with(&read_lines));
        if !all_agree {
            self.parts.clear();
        }

        // The newest read has the current length of the file.
        for part in &mut self.parts {
            part.line_count = read_lines.line_count;
        }
        self.parts.push(read_lines);
        self.parts.sort_by_key(|part| part.first_line);
        self.join_adjacent();
    }

    /// Joins parts that overlap or touch, such as lines 1 to 5 and 4 to 9. Parts must not
    /// contradict each other: lines that two parts share are equal. Parts without line numbers are
    /// not joined.
    fn join_adjacent(&mut self) {
        let mut joined: Vec<KnownLines> = Vec::new();
        for part in self.parts.drain(..) {
            if let Some(previous) = joined.last_mut()
                && let Some(last_line) = previous.last_line()
                && let Some(first_line) = part.first_line
                && first_line <= last_line + 1
            {
                previous.append_from(&part);
            } else {
                joined.push(part);
            }
        }
        self.parts = joined;
    }

    /// Applies an edit to the only part that has all texts that it replaces. If no part or several
    /// parts do, the place of the edit is not known: its new texts become parts without numbers.
    pub(super) fn apply_edits(&mut self, edits: &TextEdits) {
        if let Some(fitting) = self.find_fitting_part(edits) {
            self.replace_text(fitting);
            return;
        }
        // Lines that the edit has added or removed may have moved the known lines.
        if !keeps_line_count(edits) {
            self.forget_numbers();
        }
        self.parts
            .extend(edits.replacements.iter().map(KnownLines::of_edit));
    }

    /// Returns the only part to which an edit applies; `None` if there are none or several.
    fn find_fitting_part(&self, edits: &TextEdits) -> Option<FittingPart> {
        let mut only_fitting = None;
        for (index, part) in self.parts.iter().enumerate() {
            let Some(edited_text) = apply_to_lines(&part.text, edits) else {
                continue;
            };
            let is_second = only_fitting.is_some();
            if is_second {
                return None;
            }
            only_fitting = Some(FittingPart { index, edited_text });
        }
        only_fitting
    }

    /// Gives a part its text after an edit, and updates the line numbers of all parts.
    fn replace_text(&mut self, edited: FittingPart) {
        let part = &mut self.parts[edited.index];
        let count_before = part.count();
        part.text = edited.edited_text;
        let count_after = part.count();
        let has_number = part.first_line.is_some();
        if count_after == count_before {
            return;
        }

        if has_number {
            // Negative if the edit removed more lines than it added.
            let added_lines = count_after as isize - count_before as isize;
            self.move_lines_behind(edited.index, added_lines);
        } else {
            // The place of the edited part is not known, so it may precede any other part.
            self.forget_numbers();
        }
    }

    /// Updates the line numbers after an edit of the part at `edited_index` has added lines to the
    /// file; a negative number if it has removed some.
    fn move_lines_behind(&mut self, edited_index: usize, added_lines: isize) {
        // Each part stores the length of the whole file, which has changed.
        for part in &mut self.parts {
            if let Some(file_line_count) = &mut part.line_count {
                *file_line_count = file_line_count.saturating_add_signed(added_lines);
            }
        }
        // Only the parts below the edit move. Parts are in the order of their lines, so these are
        // the parts after the edited one.
        for part in &mut self.parts[edited_index + 1..] {
            if let Some(first_line) = &mut part.first_line {
                *first_line = first_line.saturating_add_signed(added_lines);
            }
        }
    }

    /// Forgets the numbers of all lines, which an edit at an unknown place may have moved.
    pub(super) fn forget_numbers(&mut self) {
        for part in &mut self.parts {
            part.first_line = None;
            part.line_count = None;
        }
    }
}

/// Whether each new text of an edit has as many lines as the old one.
fn keeps_line_count(edits: &TextEdits) -> bool {
    edits.replacements.iter().all(|replacement| {
        let old_text = normalize_line_ends(&replacement.old);
        let new_text = normalize_line_ends(&replacement.new);
        old_text.split('\n').count() == new_text.split('\n').count()
    })
}
