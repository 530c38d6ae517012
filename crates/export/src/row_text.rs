//! Rows of entries as readers see them: without the marks of Markdown.

use super::commonmark::{Author, to_plain_line};
use pisess_core::format::{is_block_mark, strip_emphasis};
use std::borrow::Cow;

/// Returns the text of a row without marks of Markdown. A row that begins with the instructions of
/// a skill becomes `/skill:NAME`, as the user typed it.
pub fn readable_row(row: &str, author: Author) -> Cow<'_, str> {
    if let Some(name) = skill_name(row) {
        return Cow::Owned(format!("/skill:{name}"));
    }
    if !row.contains(['*', '`', '_', '#', '[', '~']) && !row.starts_with(['-', '>']) {
        return Cow::Borrowed(row);
    }

    // A number at the start may be the marker of an item, which `to_plain_line` drops. Such a row
    // is not parsed, so that it keeps its number.
    let begins_with_number = row.starts_with(|c: char| c.is_ascii_digit());
    let line = if begins_with_number {
        row.to_owned()
    } else {
        to_plain_line(row, author)
    };

    // A row is the beginning of a text, joined to one line. Marks that began a later line, and
    // marks whose counterpart is cut off, are therefore still there.
    let mut words = Vec::new();
    for word in line.split_whitespace() {
        if !is_block_mark(word) {
            words.push(strip_emphasis(&word.replace('`', "")));
        }
    }
    Cow::Owned(words.join(" "))
}

/// Returns the name in a row that begins with `<skill name="NAME"`, as agents insert a skill.
fn skill_name(row: &str) -> Option<&str> {
    let attribute = row.strip_prefix("<skill name=\"")?;
    attribute.split('"').next()
}
