//! Documents and pasted text: messages that are mostly not the user's own words.

use super::prose::prose_of_user;

/// Whether a message of several lines has no more lines of the user's own words than others.
pub(super) fn is_mostly_pasted(text: &str) -> bool {
    let line_count = count_filled(text.lines());
    if line_count < PASTED_LINES {
        return false;
    }
    let own_count = count_filled(prose_of_user(text).into_iter());
    let other_count = line_count.saturating_sub(own_count);
    own_count <= other_count
}

/// Returns the number of lines that are not empty.
fn count_filled<'t>(lines: impl Iterator<Item = &'t str>) -> usize {
    lines.filter(|line| !line.trim().is_empty()).count()
}

/// A message of fewer lines is most likely the user's own.
const PASTED_LINES: usize = 4;

/// A message with this many headings is a document: a specification, or the prompt of a command.
const DOCUMENT_HEADINGS: usize = 3;

/// Whether a message is a document, whose sentences are about the work that it describes.
pub(super) fn is_document(text: &str) -> bool {
    let mut headings = text.lines().filter(|line| is_heading(line));
    headings.nth(DOCUMENT_HEADINGS - 1).is_some()
}

/// Returns what a user wrote before a document, or a whole message that is none.
pub(super) fn before_document(text: &str) -> &str {
    if !is_document(text) {
        return text;
    }
    let mut heading_start = 0;
    for line in text.split_inclusive('\n') {
        if is_heading(line) {
            break;
        }
        heading_start += line.len();
    }
    &text[..heading_start]
}

/// Whether a line is a heading in Markdown.
fn is_heading(line: &str) -> bool {
    line.starts_with('#') && line.trim_start_matches('#').starts_with(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_starts_at_its_first_heading() {
        let document = "# Map\n# B\n# C";
        // The text of the heading may be quoted before.
        for before in ["", "draw this:\n\n", "see # Map here\r\n"] {
            assert_eq!(before_document(&format!("{before}{document}")), before);
        }
        assert_eq!(before_document("draw\n# Map"), "draw\n# Map");
    }
}
