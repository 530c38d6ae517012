//! Applies the diffs that oh-my-pi's `edit` records. Each line has a sign, a number, `|` and the
//! text; lines that stay or are removed have their old numbers, new lines their new ones:
//!
//! ```text
//!  1|one
//! -2|two
//! +2|zwei
//!  3|three
//! ```

use crate::session::file_calls::TextReplacement;

/// A line of a diff.
struct DiffLine<'a> {
    sign: char,
    /// From 1.
    number: usize,
    text: &'a str,
}

/// Returns the text that a diff makes of a text with line feeds.
///
/// Returns `None` if the diff does not fit the text: a line differs, or the numbers do not ascend.
/// Also if the diff shows the last line and the text has no line feed after it: the diff does not
/// show whether the new text has one.
pub fn apply_numbered_diff(text: &str, diff: &str) -> Option<String> {
    let old_lines: Vec<&str> = text.split('\n').collect();
    let mut new_lines: Vec<&str> = Vec::new();
    // The old lines that were copied or removed so far.
    let mut used_count = 0;
    for line in parse_lines(diff)? {
        if line.sign == '+' {
            // The diff does not show all lines that stay.
            let hidden_count = (line.number - 1).checked_sub(new_lines.len())?;
            let next_count = used_count + hidden_count;
            new_lines.extend(old_lines.get(used_count..next_count)?);
            used_count = next_count;
            new_lines.push(line.text);
            continue;
        }

        // There is no such range if the numbers do not ascend.
        new_lines.extend(old_lines.get(used_count..line.number - 1)?);
        if old_lines.get(line.number - 1) != Some(&line.text) {
            return None;
        }
        if line.sign == ' ' {
            new_lines.push(line.text);
        }
        used_count = line.number;
    }

    // After a line feed at the end, there is an empty line that no diff shows.
    let rest = old_lines.get(used_count..)?;
    if rest.is_empty() {
        return None;
    }
    new_lines.extend(rest);
    Some(new_lines.join("\n"))
}

/// Returns the changed runs of lines of a diff, each with what it replaces; empty if the diff has
/// another form.
pub fn read_replacements(diff: &str) -> Vec<TextReplacement> {
    let mut replacements: Vec<TextReplacement> = Vec::new();
    let mut is_in_run = false;
    for line in parse_lines(diff).unwrap_or_default() {
        if line.sign == ' ' {
            is_in_run = false;
            continue;
        }
        if !is_in_run {
            replacements.push(TextReplacement {
                old: String::new(),
                new: String::new(),
                replaces_all: false,
            });
            is_in_run = true;
        }
        if let Some(replacement) = replacements.last_mut() {
            let side = if line.sign == '-' {
                &mut replacement.old
            } else {
                &mut replacement.new
            };
            side.push_str(line.text);
            side.push('\n');
        }
    }
    replacements
}

/// Returns the lines of a diff, without the headings of hunks that the patch mode adds; `None` if one
/// has another form.
fn parse_lines(diff: &str) -> Option<Vec<DiffLine<'_>>> {
    let mut lines = Vec::new();
    for line in diff.split('\n') {
        if line.starts_with("@@ ") {
            continue;
        }
        let (numbered, text) = line.split_once('|')?;
        let sign = numbered
            .chars()
            .next()
            .filter(|sign| " +-".contains(*sign))?;
        let number: usize = numbered[1..].parse().ok()?;
        if number == 0 {
            return None;
        }
        lines.push(DiffLine { sign, number, text });
    }
    Some(lines)
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
}
