//! Makes quoted text safe for a summary: it has no escape sequences and no structure of its own,
//! and is cut at lines or between words, never inside a grapheme.
//!
//! A quotation is either one line, or lines that begin with `> `: nothing in it can pass for a
//! heading, a list item or a tag of the summary.

pub(super) use crate::format::{acts, clip, columns, fit, fitting, units};
use regex::Regex;
use std::sync::LazyLock;
use unicode_segmentation::UnicodeSegmentation;

/// Matches tags that an agent puts around a summary, or evaluates in one, and a model's control
/// tokens.
const TAGS: &str = r"(?i)<(\s*\||\s*/?\s*(?:(?:previous[-_])?summary|conversation|(?:read[-_]|modified[-_])?files|system(?:[-_](?:notice|reminder|prompt))?)\b)";
/// The marks that make a line a heading, a list item or a quotation. A space follows the marks of a
/// heading, but not those of a color (`#708090`).
const MARKS: &str = r"^(\s|[>•|]|([-*+]|#+|\d{1,3}[.)])(\s+|$))+";
/// Matches lines that are empty, indented, a quotation, a row of a table, or an input to a shell.
const NO_PROSE: &str = r"^(    |[\t>|$#➜❯%]|\s*(```|$))";

/// Returns the text without the marks at its start that make it a heading, a list item or a
/// quotation.
pub(super) fn bare(text: &str) -> &str {
    static START: LazyLock<Regex> = LazyLock::new(|| Regex::new(MARKS).expect("a constant"));
    text[START.find(text).map_or(0, |marks| marks.end())..].trim_end()
}

/// Returns the form in which texts are compared: letters and digits, in lower case.
pub(super) fn folded(text: &str) -> String {
    text.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

/// Returns the text without its digits: the form in which items of a series are compared.
pub(super) fn digitless(text: &str) -> String {
    text.replace(|c: char| c.is_ascii_digit(), "")
}

/// Returns the text on one line of at most `max` units, without list marks at its start.
pub(super) fn line(text: &str, max: usize) -> String {
    // Only the start can matter; most texts are far longer.
    let text = clean(&text.chars().take(16 * max).collect::<String>());
    let lines = text
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    let lines: Vec<String> = lines
        .filter(|line| !line.is_empty() && !line.starts_with("```"))
        .collect();
    clip(bare(&lines.join(" / ")), max)
}

/// Returns the text as [`line`] does, in quotation marks.
pub(super) fn quoted(text: &str, max: usize) -> String {
    format!(
        "\"{}\"",
        line(text, max.saturating_sub(2)).replace('"', "'")
    )
}

/// Returns the text as [`line`] does, in backticks.
pub(super) fn code(text: &str, max: usize) -> String {
    format!("`{}`", line(&text.replace('`', "'"), max))
}

/// Returns `lead` and, below it, the lines of the text after `> `, cleaned and cut as [`ends`]
/// does.
pub(super) fn quotation(lead: &str, text: &str, max: usize) -> String {
    let text = ends(clean(text).trim_matches('\n').trim_end(), max);
    let lines = text
        .lines()
        .map(|line| format!("\n> {}", line.trim_end()).trim_end().to_owned());
    lines.fold(lead.to_owned(), |all, line| all + &line)
}

/// Returns the text of a [`quotation`].
pub(super) fn unquoted<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let text = |line: &'a str| {
        line.strip_prefix("> ")
            .or(line.strip_prefix('>'))
            .unwrap_or(line)
    };
    lines.map(text).collect::<Vec<_>>().join("\n")
}

/// Returns the lines at the start and at the end of a text of more than `max` units, around a line
/// that reports how much is missing. Long lines are cut between words.
pub(super) fn ends(text: &str, max: usize) -> String {
    // A unit takes at least one byte, so few texts need to be counted.
    if text.len() <= max || units(text) <= max {
        return text.to_owned();
    }
    // Leaves room for the line in the middle, so that the result is not cut again.
    let room = max.saturating_sub(50);
    let is_long = text
        .lines()
        .any(|line| line.len() > room / 3 && units(line) > room / 3);
    let pieces: Vec<&str> = if is_long {
        text.split_word_bounds().collect()
    } else {
        text.split_inclusive('\n').collect()
    };
    let head = fitting(pieces.iter().copied(), room * 2 / 3);
    let tail = text.len() - fitting(pieces.iter().rev().copied(), room / 3);
    let start = text[..head].trim_end();
    let end = text[tail..].trim_start();
    let missing = units_of_whole(&text[head..tail]);
    format!("{start}{}{end}", gap(missing))
}

/// Returns the start and the end of a text of more than `most` bytes, around a line that reports
/// how much is missing, so that a long message is not searched, redacted and copied in full.
pub(super) fn shortened(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let head = boundary(text, most / 2);
    let tail = boundary(text, text.len() - most / 2);
    // The end begins with a whole word: half a secret could not be recognized.
    let word = text[tail..].find(char::is_whitespace).unwrap_or(0);
    let missing = units(&text[head..tail + word]);
    format!("{}{}{}", &text[..head], gap(missing), &text[tail + word..])
}

/// Returns the nearest offset from `at` backwards that is between two characters.
fn boundary(text: &str, at: usize) -> usize {
    let mut boundary = at;
    while !text.is_char_boundary(boundary) {
        boundary -= 1;
    }
    boundary
}

/// The marks around the number of characters in the line that stands for them.
const GAP: [&str; 2] = ["\n[… ", " characters left out …]\n"];

fn gap(missing: usize) -> String {
    format!("{}{missing}{}", GAP[0], GAP[1])
}

/// Returns the number of units of a text before [`shortened`] left out a part of it.
fn units_of_whole(text: &str) -> usize {
    let marked = text.split_once(GAP[0]).and_then(|(before, rest)| {
        let (number, behind) = rest.split_once(GAP[1])?;
        let missing: usize = number.parse().ok()?;
        Some(units(before) + missing + units(behind))
    });
    marked.unwrap_or_else(|| units(text))
}

/// Returns the text without escape sequences and characters that act on a terminal, and with the
/// agents' tags disarmed. Line breaks are kept.
pub(super) fn clean(text: &str) -> String {
    static TAG: LazyLock<Regex> = LazyLock::new(|| Regex::new(TAGS).expect("a constant"));
    let stripped = anstream::adapter::strip_str(text).to_string();
    let lines = stripped
        .replace("\r\n", "\n")
        .replace(['\r', '\u{2028}', '\u{2029}', '\u{85}'], "\n");
    let plain: String = lines
        .replace('\t', "    ")
        .chars()
        .filter(|c| *c == '\n' || !acts(*c))
        .collect();
    TAG.replace_all(&plain, "‹$1").into_owned()
}

/// Returns the lines of a text that are prose: not code, quotation or table.
pub(super) fn prose(text: &str) -> impl Iterator<Item = &str> {
    static RULE: LazyLock<Regex> = LazyLock::new(|| Regex::new(NO_PROSE).expect("a constant"));
    let mut is_fenced = false;
    text.lines().filter(move |line| {
        is_fenced ^= line.trim_start().starts_with("```");
        !is_fenced && !RULE.is_match(line)
    })
}

/// Returns the last line of prose.
pub(super) fn last_prose(text: &str) -> &str {
    prose(text)
        .last()
        .unwrap_or_default()
        .trim_end_matches(['*', '_', ' '])
}

/// Whether the prose of the text ends in a question.
pub(super) fn asks(text: &str) -> bool {
    last_prose(text).ends_with(['?', '？', '؟', '՞', '⁇', '\u{37e}'])
}

/// Returns a remark without what only leads over: a short exclamation at its start, and the
/// sentence at its end that announces, with a colon, what comes next.
pub(super) fn substance(remark: &str) -> &str {
    let text = remark.trim();
    let first = text.split_sentence_bounds().next().unwrap_or_default();
    let is_cheer = first.trim_end().ends_with(['!', '！']) && columns(first.trim()) < 30;
    let text = if is_cheer { &text[first.len()..] } else { text };
    // A sentence ends with its line, so the last one is in the last line.
    let last_line = text.rsplit('\n').next().unwrap_or_default();
    let last = last_line.split_sentence_bounds().last().unwrap_or_default();
    if last.ends_with([':', '：']) {
        text[..text.len() - last.len()].trim()
    } else {
        text
    }
}
