//! Makes quoted text safe for a summary: it has no escape sequences and no structure of its own, and is cut
//! at lines or between words, never inside a grapheme.
//!
//! A quotation is either one line, or lines that begin with `> `: nothing in it can pass for a heading, a
//! list item or a tag of the summary.

use pisess_json::text::utf16_len;
use regex::Regex;
use std::sync::LazyLock;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Matches tags that an agent puts around a summary, or evaluates in one, and a model's control tokens.
const TAGS: &str = r"(?i)<(\s*\||\s*/?\s*(?:(?:previous[-_])?summary|conversation|(?:read[-_]|modified[-_])?files|system(?:[-_](?:notice|reminder|prompt))?)\b)";
/// The marks that make a line a heading, a list item or a quotation. A space follows the marks of a heading,
/// but not those of a color (`#708090`).
const MARKS: &str = r"^(\s|[>•|]|([-*+]|#+|\d{1,3}[.)])(\s+|$))+";
/// Matches lines of code, logs, quotations and tables.
const CODE: &str = r"^(    |[\t>|$#➜❯%])|[{};=\\|<>$]|\w\(|:\d|^```|^\w*[a-z][A-Z]\w*:";

/// Returns the length in UTF-16 units, as pi counts it.
pub(super) fn units(text: &str) -> usize {
    utf16_len(text.as_bytes())
}

/// Returns the width in columns, which makes texts of different scripts comparable.
pub(super) fn columns(text: &str) -> usize {
    text.trim().width()
}

/// Returns the text without the marks at its start that make it a heading, a list item or a quotation.
pub(super) fn bare(text: &str) -> &str {
    static START: LazyLock<Regex> = LazyLock::new(|| Regex::new(MARKS).expect("a constant"));
    text[START.find(text).map_or(0, |marks| marks.end())..].trim_end()
}

/// Returns the form in which texts are compared: letters and digits, in lower case.
pub(super) fn folded(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Returns the text on one line of at most `max` units, without list marks at its start.
pub(super) fn line(text: &str, max: usize) -> String {
    // Only the start can matter; most texts are far longer.
    let text = clean(&text.chars().take(16 * max).collect::<String>());
    let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    let lines: Vec<String> = lines.filter(|line| !line.is_empty() && !line.starts_with("```")).collect();
    clip(bare(&lines.join(" / ")), max)
}

/// Returns the text as [`line`] does, in quotation marks.
pub(super) fn quoted(text: &str, max: usize) -> String {
    format!("\"{}\"", line(text, max.saturating_sub(2)).replace('"', "'"))
}

/// Returns the text as [`line`] does, in backticks.
pub(super) fn code(text: &str, max: usize) -> String {
    format!("`{}`", line(&text.replace('`', "'"), max))
}

/// Returns `lead` and, below it, the lines of the text after `> `, cleaned and cut as [`ends`] does. A text
/// of very many lines is cut shorter, because each mark takes two units.
pub(super) fn quotation(lead: &str, text: &str, max: usize) -> String {
    let text = clean(text);
    let text = text.trim_matches('\n').trim_end();
    let marks = 2 * text.lines().count().saturating_sub(max / 20);
    let text = ends(text, max.saturating_sub(marks).max(max / 8));
    let lines = text.lines().map(|line| format!("\n> {}", line.trim_end()).trim_end().to_owned());
    lines.fold(lead.to_owned(), |all, line| all + &line)
}

/// Returns the text of a [`quotation`].
pub(super) fn unquoted<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let text = |line: &'a str| line.strip_prefix("> ").or(line.strip_prefix('>')).unwrap_or(line);
    lines.map(text).collect::<Vec<_>>().join("\n")
}

/// Returns the lines at the start and at the end of a text of more than `max` units, around a line that
/// reports how much is missing. Long lines are cut between words.
pub(super) fn ends(text: &str, max: usize) -> String {
    // A unit takes at least one byte, so few texts need to be counted.
    if text.len() <= max || units(text) <= max {
        return text.to_owned();
    }
    // Leaves room for the line in the middle, so that the result is not cut again.
    let room = max.saturating_sub(50);
    let is_long = text.lines().any(|line| line.len() > room / 3 && units(line) > room / 3);
    let pieces: Vec<&str> =
        if is_long { text.split_word_bounds().collect() } else { text.split_inclusive('\n').collect() };
    let head = fitting(pieces.iter().copied(), room * 2 / 3);
    let tail = text.len() - fitting(pieces.iter().rev().copied(), room / 3);
    let (start, missing, end) =
        (text[..head].trim_end(), units(&text[head..tail]), text[tail..].trim_start());
    format!("{start}\n[… {missing} characters left out …]\n{end}")
}

/// Returns the text cut at `max` units: between words if that keeps enough, and never inside a grapheme. An
/// ellipsis marks the cut. Inline code at the cut, often the word that matters, is kept whole, up to a third further.
pub(super) fn clip(text: &str, max: usize) -> String {
    let text = text.trim();
    if units(text) <= max {
        return text.to_owned();
    }
    let room = max.saturating_sub(2);
    let words = &text[..fitting(text.split_word_bounds(), room)];
    let is_enough = units(words) * 2 > room;
    let kept = if is_enough { words } else { &text[..fitting(text.graphemes(true), room)] };
    let is_in_code = kept.matches('`').count() % 2 == 1;
    let code = text[kept.len()..].find('`').map(|end| &text[..kept.len() + end + 1]);
    if let Some(whole) = code.filter(|whole| is_in_code && units(whole) < max + max / 3) {
        return format!("{whole}…");
    }
    let open = if is_in_code { "`" } else { "" };
    format!("{}…{open}", kept.trim_end_matches(|c: char| c.is_whitespace() || ",;:/([{\"'…".contains(c)))
}

/// Returns how many of these sizes fit into the room together.
pub(super) fn fit(sizes: impl Iterator<Item = usize>, mut room: usize) -> usize {
    sizes.map_while(|size| room.checked_sub(size).inspect(|rest| room = *rest)).count()
}

/// Returns the length in bytes of the first pieces that fit into `room` units.
fn fitting<'a>(pieces: impl Iterator<Item = &'a str> + Clone, room: usize) -> usize {
    pieces.clone().take(fit(pieces.map(units), room)).map(str::len).sum()
}

/// Returns the text without escape sequences, control characters, changes of writing direction and invisible
/// characters, and with the agents' tags disarmed. Line breaks are kept.
pub(super) fn clean(text: &str) -> String {
    static TAG: LazyLock<Regex> = LazyLock::new(|| Regex::new(TAGS).expect("a constant"));
    let plain = anstream::adapter::strip_str(text).to_string();
    let plain = plain.replace("\r\n", "\n").replace(['\r', '\u{2028}', '\u{2029}', '\u{85}'], "\n");
    // Joiners and marks of direction belong to words and emoji.
    let acts = |c: char| match c {
        '\n' | '\u{200c}'..='\u{200f}' => false,
        c => c.is_control() || !c.is_ascii() && c.general_category() == GeneralCategory::Format,
    };
    let plain: String = plain.replace('\t', "    ").chars().filter(|c| !acts(*c)).collect();
    TAG.replace_all(&plain, "‹$1").into_owned()
}

/// Returns the lines of a text that are prose: not code, log, quotation or table.
pub(super) fn prose(text: &str) -> String {
    static IS_CODE: LazyLock<Regex> = LazyLock::new(|| Regex::new(CODE).expect("a constant"));
    let mut is_fenced = false;
    let is_prose = |line: &&str| {
        is_fenced ^= line.trim_start().starts_with("```");
        !is_fenced && !IS_CODE.is_match(line)
    };
    text.lines().filter(is_prose).collect::<Vec<_>>().join("\n")
}

/// Returns a remark without what only leads over: a short exclamation at its start, and the sentence at its end that
/// announces, with a colon, what comes next.
pub(super) fn substance(text: &str) -> &str {
    let text = text.trim();
    let first = text.split_sentence_bounds().next().unwrap_or_default();
    let is_cheer = first.trim_end().ends_with(['!', '！']) && columns(first) < 30;
    let text = if is_cheer { &text[first.len()..] } else { text };
    let last = text.split_sentence_bounds().last().unwrap_or_default();
    if last.ends_with([':', '：']) { text[..text.len() - last.len()].trim() } else { text }
}

/// Returns the last line, unless it is code, a quotation or a table.
pub(super) fn last_prose(text: &str) -> &str {
    let last = text.trim_end().lines().next_back().unwrap_or_default();
    let is_fenced = text.matches("```").count() % 2 == 1;
    let is_code = is_fenced || ["    ", "\t", ">", "|", "$"].iter().any(|mark| last.starts_with(mark));
    if is_code { "" } else { last.trim_end_matches(['*', '_', ' ']) }
}

/// Whether the text ends in a question, and not in an example of use.
pub(super) fn asks(text: &str) -> bool {
    last_prose(text).ends_with(['?', '？', '؟', '՞', '⁇', '\u{37e}'])
}
