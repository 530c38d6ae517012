//! Compares two texts line by line, and changed lines word by word.

use gix_imara_diff::{Algorithm, Diff, InternedInput, Interner};
use std::hash::Hash;
use std::ops::Range;

/// The side of a diff that has a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffSign {
    /// On both sides.
    Common,
    /// Only in the old text.
    Removed,
    /// Only in the new text.
    Added,
}

impl DiffSign {
    /// Returns the character with which such a line begins in a unified diff.
    pub fn as_str(self) -> &'static str {
        match self {
            DiffSign::Common => " ",
            DiffSign::Removed => "-",
            DiffSign::Added => "+",
        }
    }
}

/// Returns the sign of a line in a diff, by its first character. The headers of files, `---` and
/// `+++`, count as common lines.
pub fn classify_diff_line(line: &str) -> DiffSign {
    if line.starts_with('+') && !line.starts_with("+++") {
        DiffSign::Added
    } else if line.starts_with('-') && !line.starts_with("---") {
        DiffSign::Removed
    } else {
        DiffSign::Common
    }
}

/// A change between two lists. One of its ranges may be empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedRanges {
    /// The items of the old list that are removed.
    pub removed: Range<usize>,
    /// The items of the new list that are added in their place.
    pub added: Range<usize>,
}

/// Returns the changes that turn the list `old` into the list `new`, in order. Items between two
/// changes are equal in both lists.
pub fn diff_ranges<T: Eq + Hash>(old: &[T], new: &[T]) -> Vec<ChangedRanges> {
    let interner = Interner::new(old.len() + new.len());
    let mut input = InternedInput {
        before: Vec::new(),
        after: Vec::new(),
        interner,
    };
    input.update_before(old.iter());
    input.update_after(new.iter());
    let mut diff = Diff::compute(Algorithm::Myers, &input);
    // Where several places are possible for a change, moves it to the one that is easiest to read.
    // The heuristic of the library is made for indented lines, and the items here need not be
    // lines, so it is not used.
    diff.postprocess_no_heuristic(&input);

    let mut changes = Vec::new();
    for hunk in diff.hunks() {
        changes.push(ChangedRanges {
            removed: hunk.before.start as usize..hunk.before.end as usize,
            added: hunk.after.start as usize..hunk.after.end as usize,
        });
    }
    changes
}

/// If the texts of an edit have more bytes than this in all, they are not compared, because this
/// could take seconds, but shown one after the other.
const MAX_COMPARED_BYTES: usize = 256 * 1024;

/// Appends a line diff of two texts. Each line has its sign in front, and no line end: `-old`.
/// Texts that are too long to compare are appended in full, first all old lines and then all new
/// ones.
pub fn push_comparison(old: &str, new: &str, lines: &mut Vec<(DiffSign, String)>) {
    if old.len() + new.len() > MAX_COMPARED_BYTES {
        for line in old.lines() {
            lines.push((DiffSign::Removed, format!("-{line}")));
        }
        for line in new.lines() {
            lines.push((DiffSign::Added, format!("+{line}")));
        }
        return;
    }
    for (sign, line) in diff_lines(old, new) {
        let line = line.trim_end_matches(['\n', '\r']);
        lines.push((sign, format!("{}{line}", sign.as_str())));
    }
}

/// Returns the lines of a diff of two texts, with their line ends. Each change has first its
/// removed and then its added lines.
pub fn diff_lines<'t>(old: &'t str, new: &'t str) -> Vec<(DiffSign, &'t str)> {
    let old_lines = split_lines(old);
    let new_lines = split_lines(new);
    let changes = diff_ranges(&old_lines, &new_lines);
    let whole = 0..old_lines.len();
    sign_lines(
        &changes,
        whole,
        |index| old_lines[index],
        |index| new_lines[index],
    )
}

/// Splits a text into lines, each with its line end: `"a\r\nb\rc"` -> `"a\r\n"`, `"b\r"`, `"c"`.
fn split_lines(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut start = 0;
    for (at, _) in text.match_indices(['\n', '\r']) {
        if text[at..].starts_with("\r\n") {
            // The line ends at the line feed, which is the next match.
            continue;
        }
        lines.push(&text[start..=at]);
        start = at + 1;
    }
    if start < text.len() {
        lines.push(&text[start..]);
    }
    lines
}

/// Returns the lines of a diff over a range of the old text: the common lines and, in place of each
/// change, its removed and then its added lines.
///
/// All `changes` must be within the range, and in order. `old_line` and `new_line` return the line
/// at an index of each text.
pub fn sign_lines<'t>(
    changes: &[ChangedRanges],
    range: Range<usize>,
    old_line: impl Fn(usize) -> &'t str,
    new_line: impl Fn(usize) -> &'t str,
) -> Vec<(DiffSign, &'t str)> {
    let mut signed = Vec::new();
    let mut common_start = range.start;
    for ChangedRanges { removed, added } in changes {
        for index in common_start..removed.start {
            signed.push((DiffSign::Common, old_line(index)));
        }
        for index in removed.clone() {
            signed.push((DiffSign::Removed, old_line(index)));
        }
        for index in added.clone() {
            signed.push((DiffSign::Added, new_line(index)));
        }
        common_start = removed.end;
    }
    for index in common_start..range.end {
        signed.push((DiffSign::Common, old_line(index)));
    }
    signed
}

/// The number of unchanged lines around a change in a hunk.
pub const CONTEXT_LINES: usize = 3;

/// Whether two consecutive changes belong to the same hunk, because the context lines around them
/// touch or overlap. `next` must be after `change`.
pub fn share_hunk(change: &ChangedRanges, next: &ChangedRanges) -> bool {
    debug_assert!(next.removed.start >= change.removed.end);
    let lines_between = next.removed.start - change.removed.end;
    lines_between <= 2 * CONTEXT_LINES
}

/// Returns the ranges of lines of the hunk with these changes, on both sides, including up to
/// [`CONTEXT_LINES`] lines before and after. `changes` must not be empty. `old_line_count` is the
/// number of lines of the whole old text.
pub fn hunk_ranges(changes: &[ChangedRanges], old_line_count: usize) -> ChangedRanges {
    let first = &changes[0];
    let last = &changes[changes.len() - 1];
    // The lines before the first change and after the last are the same on both sides, so the old
    // side shows how many there are on either. The subtractions below cannot underflow.
    let before = CONTEXT_LINES.min(first.removed.start);
    let after = CONTEXT_LINES.min(old_line_count - last.removed.end);
    ChangedRanges {
        removed: first.removed.start - before..last.removed.end + after,
        added: first.added.start - before..last.added.end + after,
    }
}

/// Returns the heading of a hunk with these ranges of lines, such as `@@ -1,3 +1,4 @@`.
pub fn hunk_heading(old: &Range<usize>, new: &Range<usize>) -> String {
    format!("@@ -{} +{} @@", format_range(old), format_range(new))
}

/// Formats a range of lines as in a unified diff: `FIRST,COUNT`, with lines counted from 1. An
/// empty range has the number of the line before it.
fn format_range(lines: &Range<usize>) -> String {
    match lines.len() {
        0 => format!("{},0", lines.start),
        1 => format!("{}", lines.start + 1),
        count => format!("{},{count}", lines.start + 1),
    }
}

/// Returns the hunks of a unified diff of two texts, without the headers of the files (`---` and
/// `+++`). Empty if the texts are equal.
pub fn unified_hunks(old: &str, new: &str) -> String {
    let old_lines: Vec<&str> = old.split_inclusive('\n').collect();
    let new_lines: Vec<&str> = new.split_inclusive('\n').collect();
    let changes = diff_ranges(&old_lines, &new_lines);
    let mut out = String::new();
    for changes_of_hunk in changes.chunk_by(share_hunk) {
        let hunk = hunk_ranges(changes_of_hunk, old_lines.len());
        out += &hunk_heading(&hunk.removed, &hunk.added);
        out.push('\n');
        // Lines outside of the changes are the same on both sides, so the range of the old side
        // has all of them.
        let signed_lines = sign_lines(
            changes_of_hunk,
            hunk.removed,
            |index| old_lines[index],
            |index| new_lines[index],
        );
        for (sign, line) in signed_lines {
            out += sign.as_str();
            out += line;
            // `diff` and `git` write the same notice. Only the last line of a text can lack its
            // newline.
            if !line.ends_with('\n') {
                out += "\n\\ No newline at end of file\n";
            }
        }
    }
    out
}

/// A part of a line: consecutive words that all changed, or that all stayed the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinePart<'t> {
    /// Whether the words are only in this text, not in the other.
    pub is_changed: bool,
    /// The text of the part.
    pub text: &'t str,
}

/// The lines of a change on both sides, divided into parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkedLines<'t> {
    /// The removed lines.
    pub old: Vec<Vec<LinePart<'t>>>,
    /// The added lines.
    pub new: Vec<Vec<LinePart<'t>>>,
}

/// Compares the removed lines of a change with the added ones word by word, and marks the words
/// that only one side has. Returns `None` if most words differ, because marks would not help the
/// reader then.
pub fn mark_changed_words<'t>(old: &[&'t str], new: &[&'t str]) -> Option<MarkedLines<'t>> {
    let old_words: Vec<_> = old.iter().flat_map(|line| split_words(line)).collect();
    let new_words: Vec<_> = new.iter().flat_map(|line| split_words(line)).collect();
    let changes = diff_ranges(&old_words, &new_words);

    let mut changed_count = 0;
    for change in &changes {
        changed_count += change.removed.len() + change.added.len();
    }
    let word_count = old_words.len() + new_words.len();
    if 2 * changed_count > word_count {
        return None;
    }

    // One element for each word of a side, over all of its lines.
    let mut is_old_changed = vec![false; old_words.len()];
    let mut is_new_changed = vec![false; new_words.len()];
    for change in changes {
        is_old_changed[change.removed].fill(true);
        is_new_changed[change.added].fill(true);
    }
    Some(MarkedLines {
        old: mark_lines(old, &is_old_changed),
        new: mark_lines(new, &is_new_changed),
    })
}

/// Divides each line into parts. `is_changed` has an element for each word of all lines, in order.
fn mark_lines<'t>(lines: &[&'t str], is_changed: &[bool]) -> Vec<Vec<LinePart<'t>>> {
    let mut marked = Vec::with_capacity(lines.len());
    let mut remaining = is_changed;
    for line in lines {
        let (of_line, of_later_lines) = remaining.split_at(split_words(line).count());
        marked.push(mark_line(line, of_line));
        remaining = of_later_lines;
    }
    marked
}

/// Divides a line into parts: one for each run of words that are all changed, or all unchanged. If
/// only `red` is changed in `the red ferry`, the parts are `the `, `red` and ` ferry`. `is_changed`
/// has an element for each word that [`split_words`] returns for the line.
fn mark_line<'t>(line: &'t str, is_changed: &[bool]) -> Vec<LinePart<'t>> {
    let mut parts: Vec<LinePart> = Vec::new();
    // The offset at which the last part begins.
    let mut part_start = 0;
    let mut word_start = 0;
    for (word, &is_changed) in split_words(line).zip(is_changed) {
        // The words are the whole line, so the next word begins here.
        let word_end = word_start + word.len();
        match parts.last_mut() {
            Some(last) if last.is_changed == is_changed => {
                last.text = &line[part_start..word_end];
            }
            _ => {
                part_start = word_start;
                let text = word;
                parts.push(LinePart { is_changed, text });
            }
        }
        word_start = word_end;
    }
    parts
}

/// Splits a line into words and runs of white space, which alternate: `"a b"` -> `"a"`, `" "`,
/// `"b"`. Joined together, they are the whole line.
fn split_words(line: &str) -> impl Iterator<Item = &str> {
    let mut unsplit = line;
    std::iter::from_fn(move || {
        let is_space = unsplit.chars().next()?.is_whitespace();
        let end = unsplit
            .find(|letter: char| letter.is_whitespace() != is_space)
            .unwrap_or(unsplit.len());
        let (word, after_word) = unsplit.split_at(end);
        unsplit = after_word;
        Some(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text() -> impl Strategy<Value = String> {
        prop::collection::vec(
            prop::sample::select(vec!["a", "b ", "ferry", " ", "\n", "é\n", "\r", "\r\n"]),
            0..40,
        )
        .prop_map(|parts| parts.concat())
    }

    #[test]
    fn hunks_have_three_lines_around_them() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\nend";
        let new = "1\n2\n3\n4\nfive\n6\n7\n8\n9\nend";
        assert_eq!(
            unified_hunks(old, new),
            "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"
        );
        assert_eq!(
            unified_hunks("a\nend", "a\nend\n"),
            "@@ -1,2 +1,2 @@\n a\n-end\n\\ No newline at end of file\n+end\n"
        );
        assert_eq!(unified_hunks("", "a\r\n"), "@@ -0,0 +1 @@\n+a\r\n");
        assert_eq!(unified_hunks(old, old), "");
    }

    proptest! {
        #[test]
        fn both_texts_are_in_their_diff(old in text(), new in text()) {
            let lines = diff_lines(&old, &new);
            for (text, other) in [(&old, DiffSign::Added), (&new, DiffSign::Removed)] {
                let own = lines.iter().filter(|(sign, _)| *sign != other).map(|(_, line)| *line);
                prop_assert_eq!(&own.collect::<String>(), text);
            }
        }

        #[test]
        fn marked_lines_are_the_lines(old in text(), new in text()) {
            let sides = [&old, &new].map(|text| text.lines().collect::<Vec<_>>());
            let Some(marked) = mark_changed_words(&sides[0], &sides[1]) else { return Ok(()) };
            for (marked, lines) in [marked.old, marked.new].iter().zip(sides) {
                let mut joined_lines: Vec<String> = Vec::new();
                for parts in marked {
                    joined_lines.push(parts.iter().map(|part| part.text).collect());
                }
                prop_assert_eq!(joined_lines, lines);
            }
        }
    }

    #[test]
    fn words_that_differ_are_marked() {
        let part = |is_changed, text| LinePart { is_changed, text };
        let marked = mark_changed_words(&["the red ferry"], &["the blue ferry"]).unwrap();
        assert_eq!(
            marked.old,
            [[
                part(false, "the "),
                part(true, "red"),
                part(false, " ferry")
            ]]
        );
        assert_eq!(
            marked.new,
            [[
                part(false, "the "),
                part(true, "blue"),
                part(false, " ferry")
            ]]
        );
        assert_eq!(mark_changed_words(&["one"], &["two"]), None);
    }

    #[test]
    fn of_a_change_the_removed_lines_come_first() {
        let lines = diff_lines("a\nb\nc\n", "a\nd\nc\ne\n");
        let signs: String = lines
            .iter()
            .map(|(sign, line)| format!("{}{line}", sign.as_str()))
            .collect();
        assert_eq!(signs, " a\n-b\n+d\n c\n+e\n");
        assert_eq!(
            split_lines("a\rb\r\nc\n\rd"),
            ["a\r", "b\r\n", "c\n", "\r", "d"]
        );
    }
}
