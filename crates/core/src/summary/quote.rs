//! Makes quoted text safe for a summary: it has no escape sequences and no structure of its own,
//! and is cut at lines or between words, never inside a grapheme.
//!
//! A quotation is either one line, or lines that begin with `> `: nothing in it can pass for a
//! heading, a list item or a tag of the summary.

use super::cut::cut_middle;
use super::one_line::{cut_line, one_line};
use super::words::compile_expression;
pub(super) use crate::format::{
    acts_on_terminal, clip, count_fitting, count_utf16, display_width, is_narrower,
    is_printable_ascii,
};
use regex::Regex;
use std::sync::LazyLock;
use unicode_segmentation::UnicodeSegmentation;

/// Matches tags that an agent puts around a summary, or evaluates in one, and a model's control
/// tokens.
const TAGS: &str = r"(?i)<(?<after_bracket>\s*\||\s*/?\s*(?:(?:previous[-_])?summary|conversation|facts|(?:read[-_]|modified[-_])?files|system(?:[-_](?:notice|reminder|prompt))?)\b)";
/// The marks that make a line a heading, a list item or a quotation. A space follows the marks of a
/// heading, but not those of a color (`#708090`).
const MARKS: &str = r"^(\s|[>•|]|([-*+]|#+|\d{1,3}[.)])(\s+|$))+";

/// Returns the text without the marks at its start that make it a heading, a list item or a
/// quotation. A text that would be all marks, such as "+ 1.", is returned as it is.
pub(super) fn strip_marks(text: &str) -> &str {
    static START: LazyLock<Regex> = LazyLock::new(|| compile_expression(MARKS));
    let marks_end = START.find(text).map_or(0, |marks| marks.end());
    let unmarked = text[marks_end..].trim_end();
    if unmarked.is_empty() && text.contains(char::is_alphanumeric) {
        return text.trim();
    }
    unmarked
}

/// Returns the form in which texts are compared: letters and digits, in lower case.
pub(super) fn comparison_form(text: &str) -> String {
    text.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

/// Returns the text without its digits: the form in which items of a series are compared.
pub(super) fn strip_digits(text: &str) -> String {
    text.replace(|c: char| c.is_ascii_digit(), "")
}

/// Returns the first `count` characters of a text.
pub(super) fn first_chars(text: &str, count: usize) -> &str {
    // A character takes at least one byte, so few texts need to be counted.
    if text.len() <= count {
        return text;
    }
    match text.char_indices().nth(count) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

/// Returns the text as [`cut_line`] does, in quotation marks.
pub(super) fn quote_line(text: &str, max: usize) -> String {
    let inner = cut_line(text, max.saturating_sub(2)).replace('"', "'");
    format!("\"{inner}\"")
}

/// Returns the text as [`one_line`] does, in backticks.
pub(super) fn code_span(text: &str, max: usize) -> String {
    format!("`{}`", one_line(&text.replace('`', "'"), max))
}

/// Returns `lead` and, below it, the lines of the text after `> `, cleaned and cut as
/// [`cut_middle`] does.
pub(super) fn format_quotation(lead: &str, text: &str, max: usize) -> String {
    let cleaned = sanitize(text);
    let shown = cut_middle(cleaned.trim_matches('\n').trim_end(), max);
    let mut quotation = lead.to_owned();
    for line in shown.lines() {
        let text = line.trim_end();
        // An empty line has no space after the mark.
        quotation.push_str(if text.is_empty() { "\n>" } else { "\n> " });
        quotation.push_str(text);
    }
    quotation
}

/// Returns the text of a quotation from its lines, without the marks that [`format_quotation`]
/// adds.
pub(super) fn strip_quote_marks<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let mut texts = Vec::new();
    for line in lines {
        let text = line.strip_prefix("> ").or(line.strip_prefix('>'));
        texts.push(text.unwrap_or(line));
    }
    texts.join("\n")
}

/// Returns the text without escape sequences and characters that act on a terminal. Line breaks
/// become newlines. Tags that an agent evaluates, such as `</summary>`, begin with `‹` instead of
/// `<`.
pub(super) fn sanitize(text: &str) -> String {
    static TAG: LazyLock<Regex> = LazyLock::new(|| compile_expression(TAGS));
    // An id, and most words, have nothing to change.
    if is_printable_ascii(text.as_bytes()) && !text.contains('<') {
        return text.to_owned();
    }
    let without_escapes = anstream::adapter::strip_str(text).to_string();
    // The line breaks of Windows, of old Macs, and of Unicode.
    let lines = without_escapes
        .replace("\r\n", "\n")
        .replace(['\r', '\u{2028}', '\u{2029}', '\u{85}'], "\n");
    // A tab acts on a terminal, too.
    let mut plain = lines.replace('\t', "    ");
    plain.retain(|c| c == '\n' || !acts_on_terminal(c));
    TAG.replace_all(&plain, "‹${after_bracket}").into_owned()
}

/// An exclamation of fewer columns only leads over to what follows.
const SHORT_EXCLAMATION: usize = 30;

/// Returns a remark without what only leads over: a short exclamation or "Done." at its start, and
/// the sentence at its end that announces, with a colon, what comes next.
pub(super) fn strip_transitions(remark: &str) -> &str {
    let text = strip_leading_exclamation(remark.trim());
    if !text.ends_with([':', '：']) {
        return text;
    }
    // A sentence ends with its line, so the last one is in the last line.
    let last_line = text.rsplit('\n').next().unwrap_or_default();
    let last_sentence = last_line.split_sentence_bounds().last().unwrap_or_default();
    text[..text.len() - last_sentence.len()].trim()
}

/// Returns a text without a short exclamation at its start ("Great!"), or "Done.": they say nothing
/// of what was done.
fn strip_leading_exclamation(text: &str) -> &str {
    // Few remarks begin so, and to divide the others into sentences would take long.
    let first_line = text.lines().next().unwrap_or_default();
    if !first_line.contains(['!', '！']) && !first_line.starts_with("Done.") {
        return text;
    }
    let first_sentence = text.split_sentence_bounds().next().unwrap_or_default();
    let trimmed = first_sentence.trim();
    let is_exclamation = trimmed.ends_with(['!', '！']);
    let is_short_exclamation = is_exclamation && is_narrower(trimmed, SHORT_EXCLAMATION);
    if is_short_exclamation || trimmed == "Done." {
        &text[first_sentence.len()..]
    } else {
        text
    }
}
