//! Rows of entries as readers see them: without the marks of Markdown.

use super::commonmark::{Author, to_plain_line};
use std::borrow::Cow;

/// Returns a row's text without marks of Markdown; a skill is shown as the user called it.
pub fn readable_row(body: &str, author: Author) -> Cow<'_, str> {
    if let Some(name) = body
        .strip_prefix("<skill name=\"")
        .and_then(|rest| rest.split('"').next())
    {
        return Cow::Owned(format!("/skill:{name}"));
    }
    if !body.contains(['*', '`', '_', '#', '[', '~']) && !body.starts_with(['-', '>']) {
        return Cow::Borrowed(body);
    }
    // The number of an item would be lost.
    let is_item = body.starts_with(|c: char| c.is_ascii_digit());
    let line = if is_item {
        body.to_owned()
    } else {
        to_plain_line(body, author)
    };
    // A row is one line, so marks that begin a line, and those that end behind the row, remain.
    let words = line.split_whitespace().filter(|word| {
        let is_mark = |all: &str| word.chars().all(|c| all.contains(c));
        !(word.starts_with("```") || is_mark("#") || is_mark("|-:") && word.len() > 3)
    });
    let words: Vec<String> = words
        .map(|word| strip_emphasis(&word.replace('`', "")))
        .collect();
    Cow::Owned(words.join(" "))
}

/// Removes the marks of strong emphasis around a word; a pattern such as `src/**/*.rs` keeps
/// its asterisks.
fn strip_emphasis(word: &str) -> String {
    let is_text = |c: Option<char>| c.is_some_and(|c| !"/*\\".contains(c));
    let word = match word.strip_prefix("**") {
        Some(rest) if is_text(rest.chars().next()) => rest,
        _ => word,
    };
    if let Some((inner, end)) = word.rsplit_once("**") {
        // Punctuation may follow the mark at the end.
        let ends_emphasis = end.chars().all(|c| c.is_ascii_punctuation());
        if ends_emphasis && is_text(inner.chars().next_back()) {
            return format!("{inner}{end}");
        }
    }
    word.to_owned()
}
