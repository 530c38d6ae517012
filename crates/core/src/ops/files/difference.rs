//! Determines how the tool calls of a range of entries changed one file.

use super::content::FileContent;
use super::operations::FileChange;
use super::patch::recorded_hunks;
use crate::format::changes::unified_hunks;
use crate::session::entry::EntryIx;

/// The difference of a file between the start and the end of a range.
#[derive(Debug, PartialEq, Eq)]
pub enum FileDifference {
    /// The content is the same.
    Unchanged,
    /// The whole content is known on both sides.
    Contents {
        /// The content before; `None` if the file did not exist.
        old: Option<String>,
        /// The content after.
        new: String,
    },
    /// The whole content is not known on both sides, but each edit recorded a diff. The hunks of
    /// these diffs are in order: each applies to the result of the one before.
    Recorded(Vec<String>),
    /// The content before is not known, and not every edit recorded a diff.
    UnknownBefore,
    /// The content after is not known, and not every edit recorded a diff.
    UnknownAfter,
}

impl FileDifference {
    /// Returns the difference as unified diffs without file names, each a text of its hunks. Each
    /// diff applies to the result of the one before. Empty if nothing changed or is known.
    pub fn hunks(&self) -> Vec<String> {
        match self {
            FileDifference::Contents { old, new } => {
                // A new file is compared with an empty one.
                let old = old.as_deref().unwrap_or_default();
                vec![unified_hunks(old, new)]
            }
            FileDifference::Recorded(diffs) => diffs.clone(),
            FileDifference::Unchanged
            | FileDifference::UnknownBefore
            | FileDifference::UnknownAfter => Vec::new(),
        }
    }
}

/// Tracks the content of one file over the calls before a range, and then over the calls in the
/// range.
#[derive(Debug, Default)]
pub struct FileComparison {
    content: FileContent,
    /// Whether a call read the file, which proves that the file existed.
    was_read: bool,
    /// The content before the first change in the range; `None` until there is such a change.
    before: Option<ContentBefore>,
    /// The hunks that each change in the range recorded; `None` for a change that recorded none.
    recorded: Vec<Option<String>>,
}

/// The content of a file before the first change in a range.
#[derive(Debug)]
enum ContentBefore {
    /// No earlier call shows that the file existed, and the first change writes the whole file.
    Missing,
    Whole(String),
    Unknown,
}

impl FileComparison {
    /// Applies the next call on the file, in the order of the conversation. `entry` contains the
    /// call. If `is_in_range` is false, the call is before the compared range, and only shows the
    /// content at its start.
    pub fn apply(&mut self, entry: EntryIx, change: FileChange, is_in_range: bool) {
        let is_read = matches!(
            change,
            FileChange::ReadWhole(_) | FileChange::ReadPart(_) | FileChange::UnknownRead
        );
        if is_read {
            self.was_read = true;
        } else if is_in_range {
            // Recorded before the change is applied, because the content before is needed.
            self.record_change(&change);
        }
        self.content.apply(entry, change);
    }

    /// Keeps the diff that the tool stored for a change in the range. For the first change, also
    /// keeps the content before it. Must be called before the change is applied to the content.
    fn record_change(&mut self, change: &FileChange) {
        if self.before.is_none() {
            self.before = Some(self.content_before(change));
        }
        let hunks = match change {
            FileChange::Edit(edits) => edits.patch.as_deref().and_then(recorded_hunks),
            _ => None,
        };
        // `None` is kept, too: the diffs are of use only if there is one for every change.
        self.recorded.push(hunks);
    }

    /// Returns the content of the file right before `change`, the first change in the range.
    fn content_before(&self, change: &FileChange) -> ContentBefore {
        if let Some(text) = self.content.exact_text() {
            return ContentBefore::Whole(text.to_owned());
        }
        // No earlier call has read, written or edited the file. Then a call that writes the whole
        // file is taken to create it.
        let is_first_use = self.content.is_unknown() && !self.was_read;
        match change {
            FileChange::Write(_) if is_first_use => ContentBefore::Missing,
            // oh-my-pi stores the text before some edits with their results.
            FileChange::Recorded(edit) => match &edit.old_text {
                Some(text) => ContentBefore::Whole(text.clone()),
                None => ContentBefore::Unknown,
            },
            _ => ContentBefore::Unknown,
        }
    }

    /// Returns the difference that the calls of the range made: of the whole contents if both are
    /// known, and otherwise as the tools recorded it.
    pub fn finish(self) -> FileDifference {
        let Some(before) = self.before else {
            // No call of the range changed the file.
            return FileDifference::Unchanged;
        };
        let after = self.content.exact_text().map(str::to_owned);
        let has_carriage_returns = self.content.has_carriage_returns();
        match (before, after) {
            (ContentBefore::Whole(old), Some(new)) => compare_contents(old, new),
            (ContentBefore::Missing, Some(new)) => FileDifference::Contents { old: None, new },
            (ContentBefore::Unknown, _) => recorded_difference(self.recorded, has_carriage_returns)
                .unwrap_or(FileDifference::UnknownBefore),
            (ContentBefore::Whole(_) | ContentBefore::Missing, None) => {
                recorded_difference(self.recorded, has_carriage_returns)
                    .unwrap_or(FileDifference::UnknownAfter)
            }
        }
    }
}

/// Returns the difference as the tools recorded it, given the diff of each change. `None` if a
/// change has no diff, or if the file has carriage returns: the diffs that pi records have none, so
/// they are wrong for such a file.
fn recorded_difference(
    diffs: Vec<Option<String>>,
    has_carriage_returns: bool,
) -> Option<FileDifference> {
    if has_carriage_returns {
        return None;
    }
    let diffs: Option<Vec<String>> = diffs.into_iter().collect();
    Some(FileDifference::Recorded(diffs?))
}

/// Returns the difference of two known contents.
fn compare_contents(old: String, new: String) -> FileDifference {
    if old == new {
        return FileDifference::Unchanged;
    }
    FileDifference::Contents {
        old: Some(old),
        new,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::files::TextEdits;
    use crate::session::file_calls::TextReplacement;

    fn edit(old: &str, new: &str, patch: Option<&str>) -> FileChange {
        FileChange::Edit(TextEdits {
            replacements: vec![TextReplacement {
                old: old.to_owned(),
                new: new.to_owned(),
                replaces_all: false,
            }],
            is_sequential: false,
            patch: patch.map(str::to_owned),
        })
    }

    fn write(text: &str) -> FileChange {
        FileChange::Write(text.to_owned())
    }

    /// Compares a file before and after the changes that are marked as those of the range.
    fn compare(changes: Vec<(FileChange, bool)>) -> FileDifference {
        let mut comparison = FileComparison::default();
        for (change, is_in_range) in changes {
            comparison.apply(EntryIx::new(0), change, is_in_range);
        }
        comparison.finish()
    }

    #[test]
    fn only_the_changes_of_the_range_count() {
        let known = compare(vec![(write("a\n"), false), (edit("a", "b", None), true)]);
        assert_eq!(known.hunks(), ["@@ -1 +1 @@\n-a\n+b\n"]);
        let back = compare(vec![
            (write("a"), false),
            (edit("a", "b", None), true),
            (edit("b", "a", None), true),
        ]);
        assert_eq!(back, FileDifference::Unchanged);
        assert_eq!(
            compare(vec![(write("a"), false)]),
            FileDifference::Unchanged
        );
    }

    #[test]
    fn a_file_that_was_read_is_not_new() {
        let new = FileDifference::Contents {
            old: None,
            new: "a".to_owned(),
        };
        assert_eq!(compare(vec![(write("a"), true)]), new);
        assert_eq!(
            compare(vec![(FileChange::UnknownRead, false), (write("a"), true)]),
            FileDifference::UnknownBefore
        );
    }

    #[test]
    fn recorded_diffs_stand_in_for_an_unknown_content() {
        let patch = "--- a\n+++ a\n@@ -7 +7 @@\n-a\n+b\n";
        assert_eq!(
            compare(vec![(edit("a", "b", Some(patch)), true)]).hunks(),
            ["@@ -7 +7 @@\n-a\n+b\n"]
        );
        assert_eq!(
            compare(vec![
                (edit("a", "b", Some(patch)), true),
                (edit("b", "c", None), true)
            ]),
            FileDifference::UnknownBefore
        );
        assert_eq!(
            compare(vec![(write("a"), true), (FileChange::UnknownChange, true)]),
            FileDifference::UnknownAfter
        );
    }
}
