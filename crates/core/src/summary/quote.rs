//! Makes quoted text safe for a summary: it has no escape sequences and no structure of its own,
//! and is cut at lines or between words, never inside a grapheme.
//!
//! A quotation is either one line, or lines that begin with `> `: nothing in it can pass for a
//! heading, a list item or a tag of the summary.

use super::cut::cut_middle;
use super::words::compile_expression;
pub(super) use crate::format::{
    acts_on_terminal, clip, count_fitting, count_utf16, display_width, is_narrower,
    is_printable_ascii,
};
use memchr::memmem;
use regex::Regex;
use std::sync::LazyLock;
use unicode_segmentation::UnicodeSegmentation;

/// Matches tags that an agent puts around a summary, or evaluates in one, and a model's control
/// tokens.
const TAGS: &str = r"(?i)<(\s*\||\s*/?\s*(?:(?:previous[-_])?summary|conversation|facts|(?:read[-_]|modified[-_])?files|system(?:[-_](?:notice|reminder|prompt))?)\b)";
/// The marks that make a line a heading, a list item or a quotation. A space follows the marks of a
/// heading, but not those of a color (`#708090`).
const MARKS: &str = r"^(\s|[>•|]|([-*+]|#+|\d{1,3}[.)])(\s+|$))+";
/// Matches lines that are empty, indented, a quotation, a row of a table, or an input to a shell.
const NO_PROSE: &str = r"^(    |[\t>|$#➜❯%]|\s*(```|$))";

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

/// Returns the text on one line of at most `max` units, without list marks at its start. Its lines
/// are separated by ` / `; empty lines and the fences of code are left out.
pub(super) fn one_line(text: &str, max: usize) -> String {
    clip(strip_marks(&join_lines(text, max)), max)
}

/// Returns a text on one line of about `max` UTF-16 units, without list marks at its start. It is
/// cut at the end of a clause if one is near `max`, because half a condition or half a value
/// misleads. So the line may be longer than `max` by a fifth.
pub(super) fn cut_line(text: &str, max: usize) -> String {
    let line = join_lines(text, max);
    let line = strip_marks(&line);
    if count_utf16(line) <= max {
        return line.to_owned();
    }
    match find_clause_end(line, max) {
        Some(end) if end == line.len() => line.to_owned(),
        Some(end) => format!("{}…", line[..end].trim_end_matches([',', ';', ':', '，'])),
        None => clip(line, max),
    }
}

/// Returns the byte offset at which to cut a line to about `max` UTF-16 units. This is the first
/// that exists of these:
///
/// - the end of a clause, at most a fifth beyond `max`;
/// - the end of the line, at most a fifth beyond `max`;
/// - the end of the last clause, at most a quarter before `max`.
///
/// `None` if there is none of them. Within code spans, no clause ends. The ` / ` between two lines
/// of the text ends a clause, so that a table is cut between its rows.
fn find_clause_end(line: &str, max: usize) -> Option<usize> {
    let longest = max + max / 5;
    let shortest = max - max / 4;
    let mut last_end_before_max = None;
    // The size of the line up to and including `c`.
    let mut size = 0;
    let mut is_code = false;
    let mut chars = line.char_indices().peekable();
    while let Some((start, c)) = chars.next() {
        size += c.len_utf16();
        if size > longest {
            return last_end_before_max;
        }
        if c == '`' {
            is_code = !is_code;
        }
        let is_before_space = chars.peek().is_none_or(|(_, next)| next.is_whitespace());
        let is_separator = line[start..].starts_with(LINE_SEPARATOR);
        let is_clause_mark = ".!?;:,".contains(c) && is_before_space || "。！？；，、".contains(c);
        if is_code || size < shortest || !(is_clause_mark || is_separator) {
            continue;
        }
        // The clause has its mark, but not a separator.
        let end = if is_separator {
            start
        } else {
            start + c.len_utf8()
        };
        if size > max {
            return Some(end);
        }
        last_end_before_max = Some(end);
    }
    Some(line.len())
}

/// What is between the lines of a text that is quoted on one line.
const LINE_SEPARATOR: &str = " / ";

/// Joins the lines of a text by ` / `, as many as can matter for `max` UTF-16 units. Fences of code
/// are left out. A table loses its outer bars and its row of dashes:
///
/// `| disk | MB/s |` above `|---|---|` and `| 1 | 112 |` becomes `disk | MB/s / 1 | 112`.
fn join_lines(text: &str, max: usize) -> String {
    /// The number of characters to read for each unit. Most of them may be in escape sequences and
    /// white space, which take no space in a quotation.
    const CHARS_PER_UNIT: usize = 16;

    // Most texts are far longer than what is quoted of them.
    let start = first_chars(text, CHARS_PER_UNIT * max);
    let mut lines = Vec::new();
    for line in sanitize(start).lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        let line = words.join(" ");
        if line.starts_with("```") || is_table_rule(&line) {
            continue;
        }
        let shown = strip_outer_bars(&line);
        if !shown.is_empty() {
            lines.push(shown.to_owned());
        }
    }
    lines.join(LINE_SEPARATOR)
}

/// Whether a line is the one between the head and the rows of a table: `| --- | :-: |`.
fn is_table_rule(line: &str) -> bool {
    is_table_row(line) && line.contains("--") && line.chars().all(|c| "|-: ".contains(c))
}

/// Whether a line is a row of a table in Markdown.
pub(super) fn is_table_row(line: &str) -> bool {
    let row = line.trim();
    row.len() > 1 && row.starts_with('|') && row.ends_with('|')
}

/// Returns a row of a table without the bars at its ends, and any other line as it is.
fn strip_outer_bars(line: &str) -> &str {
    if !is_table_row(line) {
        return line;
    }
    let inner = line.trim_start_matches('|').trim_end_matches('|');
    inner.trim()
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
        // An empty line has no space after the mark.
        let marked = format!("\n> {}", line.trim_end());
        quotation.push_str(marked.trim_end());
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
    let stripped = anstream::adapter::strip_str(text).to_string();
    // The line breaks of other systems and of Unicode become newlines.
    let lines = stripped
        .replace("\r\n", "\n")
        .replace(['\r', '\u{2028}', '\u{2029}', '\u{85}'], "\n");
    // A tab acts on the terminal, too, so it becomes spaces.
    let plain: String = lines
        .replace('\t', "    ")
        .chars()
        .filter(|c| *c == '\n' || !acts_on_terminal(*c))
        .collect();
    TAG.replace_all(&plain, "‹$1").into_owned()
}

/// Returns the lines of a text that are prose: neither in a fence nor matched by [`NO_PROSE`].
pub(super) fn prose_lines(text: &str) -> impl Iterator<Item = &str> {
    let mut lines = text.lines();
    let mut is_fenced = false;
    std::iter::from_fn(move || {
        for line in lines.by_ref() {
            if line.trim_start().starts_with("```") {
                is_fenced = !is_fenced;
            }
            // The fence that ends a block is left out by the expression.
            if !is_fenced && is_prose_line(line) {
                return Some(line);
            }
        }
        None
    })
}

/// Whether a line outside of a fence is prose.
fn is_prose_line(line: &str) -> bool {
    static NO_PROSE_LINE: LazyLock<Regex> = LazyLock::new(|| compile_expression(NO_PROSE));
    !NO_PROSE_LINE.is_match(line)
}

/// Returns the last line of prose.
pub(super) fn last_prose_line(text: &str) -> &str {
    let last_line = if memmem::find(text.as_bytes(), b"```").is_some() {
        prose_lines(text).last()
    } else {
        // Without fences, each line is judged by itself, so the lines before need not be read.
        text.lines().rev().find(|line| is_prose_line(line))
    };
    last_line
        .unwrap_or_default()
        .trim_end_matches(['*', '_', ' '])
}

/// Whether the prose of the text ends in a question.
pub(super) fn ends_in_question(text: &str) -> bool {
    is_asking(last_prose_line(text))
}

/// Whether a sentence of prose ends with a question mark.
pub(super) fn is_asking(sentence: &str) -> bool {
    let text = sentence.trim_end_matches(['*', '_', ' ']);
    text.ends_with(['?', '？', '؟', '՞', '⁇', '\u{37e}'])
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
