//! Applies the diffs that oh-my-pi's `edit` records. Each line has a sign, a line number, `|` and
//! the text. The number of an added line is its number in the new text. Other lines have their
//! number in the old text:
//!
//! ```text
//!  1|one
//! -2|two
//! +2|zwei
//!  3|three
//! ```
//!
//! If the tool is in its patch mode, a heading such as `@@ -1,3 +1,3 @@` precedes each hunk.

use crate::session::file_calls::TextReplacement;

/// The change that a line of a diff shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineChange {
    Kept,
    Removed,
    Added,
}

/// A line of a diff.
struct DiffLine<'a> {
    change: LineChange,
    /// The line's number, from 1: in the new text if it is added, otherwise in the old text.
    number: usize,
    text: &'a str,
}

/// Applies a diff to a text with line feeds only, and returns the new text.
///
/// Returns `None` if the diff does not fit the text: if a line differs, or the numbers do not
/// ascend. Also returns `None` if the diff shows the last line of a text that does not end with a
/// line feed, because the diff does not show whether the new text does.
pub fn apply_numbered_diff(text: &str, diff: &str) -> Option<String> {
    let mut patched = PatchedLines::new(text);
    for line in parse_hunks(diff)?.iter().flatten() {
        let index = line.number - 1;
        match line.change {
            LineChange::Kept => {
                patched.copy_lines_before(index)?;
                let kept = patched.take_old_line(line.text)?;
                patched.new_lines.push(kept);
            }
            LineChange::Removed => {
                patched.copy_lines_before(index)?;
                patched.take_old_line(line.text)?;
            }
            LineChange::Added => {
                patched.copy_lines_up_to_new(index)?;
                patched.new_lines.push(line.text);
            }
        }
    }
    patched.finish()
}

/// The lines of a text while a diff is applied to it, from top to bottom.
///
/// A diff may leave out unchanged lines before a line that it shows. They are copied.
struct PatchedLines<'a> {
    /// The lines of the old text. If it ends with a line feed, the last one is empty.
    old_lines: Vec<&'a str>,
    /// The number of old lines that were copied or removed so far: the index of the next one.
    next_old: usize,
    /// The lines of the new text so far.
    new_lines: Vec<&'a str>,
}

impl<'a> PatchedLines<'a> {
    fn new(text: &'a str) -> PatchedLines<'a> {
        PatchedLines {
            old_lines: text.split('\n').collect(),
            next_old: 0,
            new_lines: Vec::new(),
        }
    }

    /// Copies the old lines up to, but without, the one at `end`. `None` if that line was passed
    /// before, or does not exist: then the numbers of the diff do not ascend.
    fn copy_lines_before(&mut self, end: usize) -> Option<()> {
        let copied = self.old_lines.get(self.next_old..end)?;
        self.new_lines.extend(copied);
        self.next_old = end;
        Some(())
    }

    /// Copies old lines until the next line of the new text has this index. `None` if the new text
    /// has more lines already, or the old one has too few.
    fn copy_lines_up_to_new(&mut self, new_index: usize) -> Option<()> {
        let missing_count = new_index.checked_sub(self.new_lines.len())?;
        self.copy_lines_before(self.next_old + missing_count)
    }

    /// Moves past the next old line, and returns it. `None` if it is not `expected`.
    fn take_old_line(&mut self, expected: &str) -> Option<&'a str> {
        let line = *self.old_lines.get(self.next_old)?;
        if line != expected {
            return None;
        }
        self.next_old += 1;
        Some(line)
    }

    /// Copies the rest of the old lines, and returns the new text. `None` if no old line is left.
    fn finish(mut self) -> Option<String> {
        // If the text ends with a line feed, its last line is empty, and no diff shows it. So if
        // none is left, the diff shows the last line of a text without a line feed at its end.
        let rest = &self.old_lines[self.next_old..];
        if rest.is_empty() {
            return None;
        }
        self.new_lines.extend(rest);
        Some(self.new_lines.join("\n"))
    }
}

/// Returns a replacement for each run of changed lines in a diff: of the removed lines by the added
/// ones. A run ends at an unchanged line or at the end of a hunk. Returns none if the diff has
/// another form.
pub fn read_replacements(diff: &str) -> Vec<TextReplacement> {
    let mut replacements = Vec::new();
    for hunk in parse_hunks(diff).unwrap_or_default() {
        for run in hunk.split(|line| line.change == LineChange::Kept) {
            if !run.is_empty() {
                replacements.push(replacement_of_run(run));
            }
        }
    }
    replacements
}

/// Joins the removed lines of a run to the old text of a replacement, and the added lines to the
/// new text.
fn replacement_of_run(run: &[DiffLine]) -> TextReplacement {
    let mut replacement = TextReplacement {
        old: String::new(),
        new: String::new(),
        replaces_all: false,
    };
    for line in run {
        let side = if line.change == LineChange::Removed {
            &mut replacement.old
        } else {
            &mut replacement.new
        };
        side.push_str(line.text);
        side.push('\n');
    }
    replacement
}

/// Splits a diff into hunks, each a list of lines. A heading such as `@@ -1,3 +1,3 @@` begins a
/// hunk, and a diff without headings is one hunk. If the first line is a heading, there is an empty
/// hunk before it, which changes nothing. `None` if a line has another form.
fn parse_hunks(diff: &str) -> Option<Vec<Vec<DiffLine<'_>>>> {
    let mut complete_hunks = Vec::new();
    let mut current_hunk = Vec::new();
    for line in diff.split('\n') {
        let is_heading = line.starts_with("@@ ");
        if is_heading {
            complete_hunks.push(std::mem::take(&mut current_hunk));
        } else {
            current_hunk.push(parse_line(line)?);
        }
    }
    complete_hunks.push(current_hunk);
    Some(complete_hunks)
}

/// Parses a line of a diff, such as `+2|zwei`: sign, line number, text. `None` if it has another
/// form.
fn parse_line(line: &str) -> Option<DiffLine<'_>> {
    let (signed_number, text) = line.split_once('|')?;
    let change = match signed_number.bytes().next()? {
        b' ' => LineChange::Kept,
        b'-' => LineChange::Removed,
        b'+' => LineChange::Added,
        _ => return None,
    };
    let number: usize = signed_number[1..].parse().ok()?;
    // Lines are numbered from 1.
    if number == 0 {
        return None;
    }
    Some(DiffLine {
        change,
        number,
        text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "one\ntwo\nthree\nfour\nfive\n";

    #[test]
    fn a_diff_changes_exactly_its_lines() {
        let diff = "+1|zero\n 1|one\n-2|two\n+3|zwei\n+4|drei\n 3|three\n 5|five\n+8|six";
        assert_eq!(
            apply_numbered_diff(TEXT, diff).unwrap(),
            "zero\none\nzwei\ndrei\nthree\nfour\nfive\nsix\n"
        );
        let with_heading = "@@ -1,2 +1,2 @@\n 1|one\n-2|two\n+2|a|b";
        assert_eq!(
            apply_numbered_diff(TEXT, with_heading).unwrap(),
            "one\na|b\nthree\nfour\nfive\n"
        );
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for diff in [
            "-2|other\n+2|x",
            " 9|nine",
            "+9|nine",
            "no diff",
            "+0|x",
            "",
        ] {
            assert_eq!(apply_numbered_diff(TEXT, diff), None, "{diff}");
        }
        // Whether the new last line has a line feed is not known.
        assert_eq!(apply_numbered_diff("a\nb", " 1|a\n-2|b\n+2|c"), None);
        assert_eq!(apply_numbered_diff("a\nb", "-1|a\n+1|c").unwrap(), "c\nb");
    }

    #[test]
    fn replacements_are_runs_of_changed_lines() {
        let found = read_replacements(" 1|one\n-2|two\n+2|zwei\n 3|three\n+4|more");
        let texts: Vec<_> = found
            .iter()
            .map(|found| (found.old.as_str(), found.new.as_str()))
            .collect();
        assert_eq!(texts, [("two\n", "zwei\n"), ("", "more\n")]);
    }

    #[test]
    fn replacements_of_two_hunks_are_not_joined() {
        let found =
            read_replacements("@@ -2 +2 @@\n-2|two\n+2|zwei\n@@ -4 +4 @@\n-4|four\n+4|vier");
        let texts: Vec<_> = found
            .iter()
            .map(|found| (found.old.as_str(), found.new.as_str()))
            .collect();
        assert_eq!(texts, [("two\n", "zwei\n"), ("four\n", "vier\n")]);
    }
}
