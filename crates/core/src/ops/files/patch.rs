//! Reads and applies the unified diff that an edit recorded.

/// A run of changed lines in a diff, with the lines around it.
#[derive(Default)]
struct Hunk {
    /// The number of its first line in the old text, from 1; 0 if the old text is empty.
    old_start: usize,
    old_lines: Vec<String>,
    new_lines: Vec<String>,
    /// Whether the last line of the old text, or of the new one, has no line feed.
    old_lacks_newline: bool,
    new_lacks_newline: bool,
}

/// Returns the text that a unified diff makes of a text with line feeds. `None` if a line of the
/// diff is not that of the text.
pub fn apply_patch(text: &str, patch: &str) -> Option<String> {
    let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
    let hunks = parse_hunks(patch)?;
    if hunks.is_empty() {
        return None;
    }
    // From the end, so that the numbers of earlier lines stay the same.
    for hunk in hunks.iter().rev() {
        let start = hunk.old_start.saturating_sub(1);
        let end = start + hunk.old_lines.len();
        if lines.get(start..end)? != hunk.old_lines {
            return None;
        }
        lines.splice(start..end, hunk.new_lines.iter().cloned());
        if hunk.old_lacks_newline && !hunk.new_lacks_newline {
            lines.push(String::new());
        } else if hunk.new_lacks_newline && !hunk.old_lacks_newline {
            lines.pop();
        }
    }
    Some(lines.join("\n"))
}

/// Returns the hunks of a recorded diff as text, without the names of the file; `None` if it has
/// none, or another form.
pub fn recorded_hunks(patch: &str) -> Option<String> {
    let start = if patch.starts_with("@@ -") {
        0
    } else {
        patch.find("\n@@ -")? + 1
    };
    parse_hunks(patch)?;
    let mut hunks = patch[start..].to_owned();
    if !hunks.ends_with('\n') {
        hunks.push('\n');
    }
    Some(hunks)
}

/// Returns the hunks of a diff of one file; `None` if it has another form.
fn parse_hunks(patch: &str) -> Option<Vec<Hunk>> {
    let mut hunks: Vec<Hunk> = Vec::new();
    let mut last_sign = ' ';
    for line in patch.lines() {
        if let Some(ranges) = line.strip_prefix("@@ -") {
            let digits = ranges.split([',', ' ']).next()?;
            hunks.push(Hunk {
                old_start: digits.parse().ok()?,
                ..Hunk::default()
            });
            continue;
        }
        let Some(hunk) = hunks.last_mut() else {
            // The names of the file.
            continue;
        };
        let sign = line.chars().next().unwrap_or(' ');
        let content = line.get(1..).unwrap_or_default();
        match sign {
            ' ' => {
                hunk.old_lines.push(content.to_owned());
                hunk.new_lines.push(content.to_owned());
            }
            '-' => hunk.old_lines.push(content.to_owned()),
            '+' => hunk.new_lines.push(content.to_owned()),
            // `\ No newline at end of file`
            '\\' => {
                hunk.old_lacks_newline |= last_sign != '+';
                hunk.new_lacks_newline |= last_sign != '-';
            }
            _ => return None,
        }
        last_sign = sign;
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

    #[test]
    fn a_patch_adds_and_removes_the_last_line_feed() {
        let without = "@@ -1,1 +1,1 @@\n-a\n+b\n\\ No newline at end of file\n";
        assert_eq!(apply_patch("a\n", without).unwrap(), "b");
        let with = "@@ -1,1 +1,1 @@\n-b\n\\ No newline at end of file\n+a\n";
        assert_eq!(apply_patch("b", with).unwrap(), "a\n");
    }
}
