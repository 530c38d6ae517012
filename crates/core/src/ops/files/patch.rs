//! Reads and applies the unified diff that an edit recorded.

/// A run of changed lines in a diff, with the lines around it.
#[derive(Default)]
struct Hunk {
    heading: HunkHeading,
    old_lines: Vec<String>,
    new_lines: Vec<String>,
    /// Whether the last line of the old text is in the hunk, and has no line feed.
    old_lacks_newline: bool,
    /// The same for the new text.
    new_lacks_newline: bool,
    /// The sign of the line that was added last.
    last_sign: char,
}

impl Hunk {
    /// Adds the next line of the hunk, which begins with its sign; `None` if it has another form.
    /// An empty line counts as a common line without text, whose sign (a space) was trimmed.
    fn add_line(&mut self, line: &str) -> Option<()> {
        let sign = line.chars().next().unwrap_or(' ');
        let content = line.get(1..).unwrap_or_default();
        match sign {
            ' ' => {
                self.old_lines.push(content.to_owned());
                self.new_lines.push(content.to_owned());
            }
            '-' => self.old_lines.push(content.to_owned()),
            '+' => self.new_lines.push(content.to_owned()),
            // `\ No newline at end of file` follows the line that lacks it: a line of the old text,
            // of the new text, or of both.
            '\\' => {
                let is_in_old_text = self.last_sign != '+';
                let is_in_new_text = self.last_sign != '-';
                self.old_lacks_newline |= is_in_old_text;
                self.new_lacks_newline |= is_in_new_text;
            }
            _ => return None,
        }
        self.last_sign = sign;
        Some(())
    }

    /// Whether the hunk has as many lines as its heading states. If it had more, a program that
    /// applies the diff would take the next line for the start of another diff, perhaps of another
    /// file.
    fn is_complete(&self) -> bool {
        self.old_lines.len() == self.heading.old_count
            && self.new_lines.len() == self.heading.new_count
    }
}

/// The heading of a hunk, such as `@@ -1,3 +1,4 @@`.
#[derive(Default)]
struct HunkHeading {
    /// The number of the hunk's first line in the old text, from 1. If the hunk has no line of the
    /// old text, the number of the line before it; 0 if there is none.
    old_start: usize,
    /// The number of the hunk's lines in the old text.
    old_count: usize,
    /// The number of the hunk's lines in the new text.
    new_count: usize,
}

impl HunkHeading {
    /// Parses the part of a heading after `@@ -`, such as `12,5 +13,6 @@ fn main() {`. A range
    /// without a count has one line.
    fn parse(ranges: &str) -> Option<HunkHeading> {
        // The part after `@@`, often the name of a function, is only for the reader.
        let (both_ranges, _section) = ranges.split_once(" @@")?;
        let (old_range, new_range) = both_ranges.split_once(" +")?;
        let (old_start, old_count) = old_range.split_once(',').unwrap_or((old_range, "1"));
        // The new start is not needed: it follows from the hunks before.
        let (_new_start, new_count) = new_range.split_once(',').unwrap_or((new_range, "1"));
        Some(HunkHeading {
            old_start: old_start.parse().ok()?,
            old_count: old_count.parse().ok()?,
            new_count: new_count.parse().ok()?,
        })
    }

    /// Returns the number of lines of the old text before the hunk.
    fn lines_before(&self) -> usize {
        if self.old_count == 0 {
            self.old_start
        } else {
            self.old_start.saturating_sub(1)
        }
    }
}

/// Applies a unified diff to a text with line feeds only, and returns the new text. `None` if the
/// text does not have the lines that the diff removes or shows around a change.
pub fn apply_patch(text: &str, patch: &str) -> Option<String> {
    let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
    let hunks = parse_hunks(patch)?;
    if hunks.is_empty() {
        return None;
    }
    // The last hunk is applied first, so that the numbers of earlier lines stay the same.
    for hunk in hunks.iter().rev() {
        let start = hunk.heading.lines_before();
        let end = start + hunk.old_lines.len();
        if lines.get(start..end)? != hunk.old_lines {
            return None;
        }
        lines.splice(start..end, hunk.new_lines.iter().cloned());
        // Only a hunk at the end of the file can say that a newline is missing. If the text ends
        // with a newline, the last of `lines` is empty: it is added or removed with the newline.
        if hunk.old_lacks_newline && !hunk.new_lacks_newline {
            lines.push(String::new());
        } else if hunk.new_lacks_newline && !hunk.old_lacks_newline {
            lines.pop();
        }
    }
    Some(lines.join("\n"))
}

/// Returns the hunks of a recorded diff as text, from the first `@@ -` on, so without the lines
/// with the file's name. `None` if there are no hunks, or if the diff is not a valid diff of one
/// file: if it has another form, or a hunk with other numbers of lines than its heading states.
pub fn recorded_hunks(patch: &str) -> Option<String> {
    let first_heading = if patch.starts_with("@@ -") {
        0
    } else {
        patch.find("\n@@ -")? + 1
    };
    let are_complete = parse_hunks(patch)?.iter().all(Hunk::is_complete);
    if !are_complete {
        return None;
    }
    let mut hunks = patch[first_heading..].to_owned();
    if !hunks.ends_with('\n') {
        hunks.push('\n');
    }
    Some(hunks)
}

/// Parses the hunks of a diff of one file; `None` if the diff has another form. Lines before the
/// first hunk, which have the file's name, are skipped.
fn parse_hunks(patch: &str) -> Option<Vec<Hunk>> {
    let mut hunks: Vec<Hunk> = Vec::new();
    for line in patch.lines() {
        if let Some(ranges) = line.strip_prefix("@@ -") {
            hunks.push(Hunk {
                heading: HunkHeading::parse(ranges)?,
                ..Hunk::default()
            });
        } else if let Some(hunk) = hunks.last_mut() {
            hunk.add_line(line)?;
        }
    }
    Some(hunks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_changes_exactly_its_lines() {
        let patch = "--- a\n+++ a\n@@ -1,3 +1,3 @@\n one\n-two\n+zwei\n three\n@@ -5,1 +5,2 @@\n five\n+six\n";
        let text = "one\ntwo\nthree\nfour\nfive\n";
        assert_eq!(
            apply_patch(text, patch).unwrap(),
            "one\nzwei\nthree\nfour\nfive\nsix\n"
        );
        assert_eq!(apply_patch("one\n2\nthree\n", patch), None);
        assert_eq!(apply_patch(text, "no patch"), None);
    }

    /// A heading without old lines names the line before it.
    #[test]
    fn a_patch_without_context_inserts_below_a_line() {
        let patch = "@@ -2,0 +3 @@\n+three\n";
        assert_eq!(
            apply_patch("one\ntwo\nfour\n", patch).unwrap(),
            "one\ntwo\nthree\nfour\n"
        );
        let patch = "@@ -0,0 +1 @@\n+one\n";
        assert_eq!(apply_patch("two\n", patch).unwrap(), "one\ntwo\n");
        assert_eq!(apply_patch("", patch).unwrap(), "one\n");
    }

    #[test]
    fn recorded_hunks_are_of_one_file() {
        let hunks = "@@ -1,2 +1,2 @@ fn a\n one\n-two\n+zwei\n@@ -5 +5,2 @@\n five\n+six\n";
        let patch = format!("--- a\n+++ a\n{hunks}");
        assert_eq!(recorded_hunks(&patch).unwrap(), hunks);
        let other_file = format!("{patch}--- a/.profile\n+++ b/.profile\n@@ -1 +1 @@\n-a\n+b\n");
        assert_eq!(recorded_hunks(&other_file), None);
        assert_eq!(recorded_hunks(&format!("{patch}+seven\n")), None);
    }

    #[test]
    fn a_patch_adds_and_removes_the_last_line_feed() {
        let without = "@@ -1,1 +1,1 @@\n-a\n+b\n\\ No newline at end of file\n";
        assert_eq!(apply_patch("a\n", without).unwrap(), "b");
        let with = "@@ -1,1 +1,1 @@\n-b\n\\ No newline at end of file\n+a\n";
        assert_eq!(apply_patch("b", with).unwrap(), "a\n");
    }
}
