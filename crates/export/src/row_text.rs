//! Rows of entries as readers see them: without the marks of Markdown.

use super::commonmark::{Author, to_plain_line};
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

/// Whether a word is the marker of a block: a fence with its language, the `#` of a heading, or the
/// rule below a table's head. Three characters or fewer, such as a dash between words, are no rule.
fn is_block_mark(word: &str) -> bool {
    let is_heading = word.chars().all(|c| c == '#');
    let is_table_rule = word.len() > 3 && word.chars().all(|c| "|-:".contains(c));
    word.starts_with("```") || is_heading || is_table_rule
}

/// Removes the marks of strong emphasis around a word. Marks beside `/`, `*` or `\` are part of a
/// pattern, such as `src/**/*.rs`, and stay.
fn strip_emphasis(word: &str) -> String {
    let is_text = |c: Option<char>| c.is_some_and(|c| !"/*\\".contains(c));
    let word = match word.strip_prefix("**") {
        Some(emphasized) if is_text(emphasized.chars().next()) => emphasized,
        _ => word,
    };
    if let Some((emphasized, suffix)) = word.rsplit_once("**") {
        // Punctuation of the sentence may follow the closing mark.
        let is_punctuation = suffix.chars().all(|c| c.is_ascii_punctuation());
        if is_punctuation && is_text(emphasized.chars().next_back()) {
            return format!("{emphasized}{suffix}");
        }
    }
    word.to_owned()
}
