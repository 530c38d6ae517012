//! Reconstructs the content of a file from the tool calls of a session.

use super::known_parts::{KnownLines, KnownParts};
use super::operations::{FileChange, ReadPart, RecordedEdit, TextEdits};
use super::text_edits::{apply_diff_to_whole, apply_to_whole};
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
    /// Some of its lines.
    Parts(KnownParts),
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
            Known::Parts(parts) => parts.into_iter().any(|part| part.text.contains('\r')),
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
            FileChange::Patched(_) | FileChange::UnknownChange => self.add_unknown_change(entry),
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
            parts.forget_numbers();
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
        let read_lines = KnownLines::of_read(part);
        match &mut self.known {
            // The lines are known already, and the file has not changed.
            Known::Whole(text) if read_lines.are_in(text) => return,
            Known::Parts(parts) if parts.have_numbers() => parts.add_read(read_lines),
            Known::Nothing | Known::Whole(_) | Known::Parts(_) => {
                self.forget_changes();
                self.known = Known::Parts(KnownParts::from(read_lines));
            }
        }

        self.make_whole_if_complete();
    }

    /// If all lines of the file are among the known lines, its whole content is known from now on.
    fn make_whole_if_complete(&mut self) {
        if let Known::Parts(parts) = &self.known
            && let Some(text) = parts.whole_text()
        {
            self.known = Known::Whole(text.to_owned());
        }
    }

    /// Applies an edit, which contains the texts that it replaces but not their line numbers.
    fn apply_edits(&mut self, edits: &TextEdits) {
        match &mut self.known {
            Known::Nothing => {
                let mut parts = KnownParts::default();
                parts.apply_edits(edits);
                self.known = Known::Parts(parts);
            }
            Known::Whole(text) => match apply_to_whole(text, edits) {
                Some(edited) => *text = edited,
                // The content lacks these texts: something else has changed the file before.
                None => self.unfit_edits += 1,
            },
            Known::Parts(parts) => parts.apply_edits(edits),
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
        let places: Vec<_> = parts.into_iter().map(|part| part.first_line).collect();
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
