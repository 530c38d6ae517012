//! Rows of entries as readers see them: without marks of Markdown and repeated spaces.

use super::commonmark::to_plain_line;
use super::typed::Author;
use pisess_core::format::{is_block_mark, strip_emphasis};
use std::borrow::Cow;

/// Returns the text of a row without marks of Markdown.
///
/// What the user typed is not parsed as Markdown: only backticks, marks of blocks such as `#`, and
/// marks of emphasis around a word are removed from it.
pub fn readable_row(row: &str, author: Author) -> Cow<'_, str> {
    let has_marks = row.contains(['*', '`', '_', '#', '[', '~']) || row.starts_with(['-', '>']);
    if !has_marks && !row.contains("  ") {
        return Cow::Borrowed(row);
    }

    // A number at the start may be the marker of an item, which `to_plain_line` drops. Such a row
    // is not parsed, so that it keeps its number.
    let begins_with_number = row.starts_with(|c: char| c.is_ascii_digit());
    let line = if author == Author::User || begins_with_number {
        row.to_owned()
    } else {
        to_plain_line(row)
    };

    // A row is the beginning of a text, joined to one line. So the parser leaves marks that began a
    // later line, and marks whose counterpart is cut off.
    let mut words = Vec::new();
    for word in line.split_whitespace() {
        if !is_block_mark(word) {
            words.push(strip_emphasis(&word.replace('`', "")));
        }
    }
    Cow::Owned(words.join(" "))
}
