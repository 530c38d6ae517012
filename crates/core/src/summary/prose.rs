//! Prose: lines without code and quotations, and their sentences; of a request, what the user says
//! in own words, in lines and in sentences. Code, logs, and the mails and reports of others are not
//! the user's words.

use super::documents::before_document;
use super::pasted_lines::{find_closing_words, find_pasted};
use super::quote::{is_narrower, strip_marks};
use super::words::compile_expression;
use memchr::memmem;
use regex::Regex;
use std::sync::LazyLock;
use unicode_segmentation::UnicodeSegmentation;

/// Matches lines that are empty, indented, a quotation, a row of a table, or an input to a shell.
const NO_PROSE: &str = r"^(    |[\t>|$#➜❯%]|\s*(```|$))";

/// Returns the lines of a message that most likely are the user's own words. Lines of a mail or a
/// report that is passed on are left out, and so are pasted lines: see [`find_pasted`]. The last
/// paragraph stays if the user speaks in it.
///
/// Of a document, only what precedes it is taken.
pub(super) fn prose_of_user(text: &str) -> Vec<&str> {
    let prose: Vec<&str> = prose_lines(before_document(text)).collect();
    let are_pasted = find_pasted(&prose);
    let are_passed_on = find_passed_on(&prose);
    let closing_words = if are_pasted.contains(&true) {
        find_closing_words(text)
    } else {
        Vec::new()
    };

    let mut own_lines = Vec::new();
    for (index, &line) in prose.iter().enumerate() {
        if are_passed_on[index] {
            continue;
        }
        // The lines themselves are compared: another line with the same text may be pasted.
        let is_closing = closing_words.iter().any(|own| std::ptr::eq(*own, line));
        if are_pasted[index] && !is_closing {
            continue;
        }
        own_lines.push(line);
    }
    own_lines
}

/// Whether a line is an item of a list: `- `, `* `, `+ `, or a number with a full stop or a
/// parenthesis.
pub(super) fn is_list_item(line: &str) -> bool {
    strip_item_mark(line).len() < line.len()
}

/// Returns the text of an item of a list without its mark, and any other line as it is.
pub(super) fn strip_item_mark(line: &str) -> &str {
    let text = line.trim_start();
    let after_mark = match text.strip_prefix(['-', '*', '+']) {
        Some(rest) => Some(rest),
        None => skip_item_number(text),
    };
    match after_mark {
        Some(rest) if rest.starts_with(char::is_whitespace) => rest.trim_start(),
        _ => line,
    }
}

/// Returns the text after the number of a list item, `1.` or `12)`. `None` if `text` begins with no
/// such number.
fn skip_item_number(text: &str) -> Option<&str> {
    const MOST_DIGITS: usize = 3;
    let after_digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = text.len() - after_digits.len();
    if !(1..=MOST_DIGITS).contains(&digits) {
        return None;
    }
    after_digits.strip_prefix(['.', ')'])
}

/// How a line ends, or begins, that announces what somebody else wrote.
const ANNOUNCES: &str = r"(?ix)
    \b(says?|said|writes?|wrote|reports?|reported|complains|complained|replie[sd]|answered
    | schreibt|schrieb|sagt|sagte|meint|meldet|antwortet|dit|écrit|répond|dice|escribe|scrive
      |пишет)\W*$
    | ^from\ (the|our|my|a|an|\w+:) | ^(i\ )?(just\ )?(got|received)\ (this|that|it|a|an)\b
    | ^j['’]ai\ re[cç]u | ^(ich\ )?(habe?\ )?(das|dies\w*)\ (bekommen|erhalten) | ^(he\ )?recibido";

/// How a mail begins and ends.
const GREETING: &str = r"(?ix)^(dear|hi|hello|hallo|liebe[rs]?|sehr\ geehrte\w*|guten\ (tag|morgen)
      |bonjour
    | ch(er|ère)s?|hola|estimad\w+|gentile|buongiorno)\b[^,.!?]{0,40}[,!]?$";
const CLOSING: &str = r"(?ix)^((best|kind|warm)\ )?(regards|wishes|cheers|sincerely|thanks
    | (viele|liebe|beste|freundliche|mit\ freundlichen)\ grü(ß|ss)e\w?|gru(ß|ss)|mfg|cordialement
      |saludos|un\ saludo
    | (cordiali\ )?saluti)\b.{0,40}$";

/// The least number of lines below an announcement that are passed on. A single line may as well go
/// on with what was said.
const LEAST_LINES: usize = 2;

/// Returns for each line of a message whether somebody else wrote it, and the user only passes it
/// on: the lines of a mail or, without a mail, all lines below a first line that announces them
/// ("the captain wrote:").
fn find_passed_on(lines: &[&str]) -> Vec<bool> {
    static ANNOUNCEMENT: LazyLock<Regex> = LazyLock::new(|| compile_expression(ANNOUNCES));
    if lines.len() <= LEAST_LINES {
        return vec![false; lines.len()];
    }
    let are_in_mail = find_mails(lines);
    if are_in_mail.contains(&true) {
        return are_in_mail;
    }
    let is_announced = ANNOUNCEMENT.is_match(lines[0].trim());
    let mut are_passed_on = vec![is_announced; lines.len()];
    // The announcement is the user's own.
    are_passed_on[0] = false;
    are_passed_on
}

/// Returns for each line of a message whether it is part of a mail: from the greeting to the
/// closing. A greeting in the first line is the user's own.
fn find_mails(lines: &[&str]) -> Vec<bool> {
    static MAIL_START: LazyLock<Regex> = LazyLock::new(|| compile_expression(GREETING));
    static MAIL_END: LazyLock<Regex> = LazyLock::new(|| compile_expression(CLOSING));
    let mut are_in_mail = Vec::with_capacity(lines.len());
    let mut is_in_mail = false;
    for (index, line) in lines.iter().enumerate() {
        let line = line.trim();
        let is_first_line = index == 0;
        if !is_first_line && MAIL_START.is_match(line) {
            is_in_mail = true;
        }
        // The closing is part of the mail, too.
        are_in_mail.push(is_in_mail);
        if is_in_mail && MAIL_END.is_match(line) {
            is_in_mail = false;
        }
    }
    are_in_mail
}

/// Returns the sentences of those lines of prose that `line_pattern` matches, without the marks of
/// Markdown before them. Other lines are skipped, because dividing them into sentences takes long.
pub(super) fn sentences_of_lines<'t>(lines: &[&'t str], line_pattern: &Regex) -> Vec<&'t str> {
    let mut sentences = Vec::new();
    for line in lines {
        if !line_pattern.is_match(line) {
            continue;
        }
        for sentence in split_keeping_restrictions(line) {
            let parts = if is_narrower(sentence, LONG_SENTENCE) {
                vec![sentence]
            } else {
                split_at_full_stops(sentence)
            };
            for part in parts {
                sentences.push(strip_marks(part.trim()));
            }
        }
    }
    sentences
}

/// The words with which a sentence restricts the one before: "ok wind! but only from level 3 on".
const RESTRICTIONS: &str = r"(?i)^(but|though|except|aber|außer|mais|sauf|pero|salvo|ma)[\s,]";

/// Divides a line into sentences. One that restricts the sentence before it, as in "ok wind! but
/// only from level 3 on", is not divided from it if both are short.
fn split_keeping_restrictions(line: &str) -> Vec<&str> {
    static RESTRICTION: LazyLock<Regex> = LazyLock::new(|| compile_expression(RESTRICTIONS));
    let mut sentences: Vec<&str> = Vec::new();
    // The byte range of what is read and not yet pushed: a sentence and its restrictions.
    let mut pending = 0..0;
    for sentence in line.split_sentence_bounds() {
        let joined = pending.start..pending.end + sentence.len();
        let is_restriction = RESTRICTION.is_match(sentence);
        if is_restriction && is_narrower(&line[joined.clone()], LONG_SENTENCE) {
            pending = joined;
        } else {
            sentences.push(&line[pending.clone()]);
            pending = pending.end..joined.end;
        }
    }
    sentences.push(&line[pending]);
    sentences.retain(|sentence| !sentence.trim().is_empty());
    sentences
}

/// Splits a sentence at each full stop that is not part of an abbreviation. By the rules of
/// Unicode, a sentence does not end where a small letter follows, but people write so in haste:
/// "parallel then. but keep the order".
pub(super) fn split_at_full_stops(sentence: &str) -> Vec<&str> {
    const STOP_AND_SPACE: &str = ". ";

    let mut parts = Vec::new();
    let mut part_start = 0;
    for (stop, _) in sentence.match_indices(STOP_AND_SPACE) {
        let before = &sentence[part_start..stop];
        let last_word = before.rsplit(' ').next().unwrap_or_default();
        if is_abbreviation(last_word) {
            continue;
        }
        parts.push(&sentence[part_start..=stop]);
        part_start = stop + STOP_AND_SPACE.len();
    }
    parts.push(&sentence[part_start..]);
    parts
}

/// Whether the full stop after a word is part of it, as in "e.g. this", "J. Smith" and "approx. 3".
fn is_abbreviation(word_before_stop: &str) -> bool {
    let word = word_before_stop.trim_start_matches('(').to_lowercase();
    let is_letter = word.chars().count() == 1;
    is_letter || word.contains('.') || ABBREVIATIONS.contains(&&*word)
}

/// What is written in haste is quoted as a whole if it takes fewer columns.
const LONG_SENTENCE: usize = 100;

/// What is written with a full stop within a sentence, besides single letters and `e.g.`.
const ABBREVIATIONS: [&str; 23] = [
    "etc", "vs", "nr", "fig", "eq", "sec", "ch", "art", "vol", "cf", "al", "approx", "incl", "max",
    "min", "mr", "mrs", "dr", "st", "ca", "bzw", "ggf", "usw",
];

/// Returns the lines of a text that are prose: neither in a fence nor matched by [`NO_PROSE`].
pub(super) fn prose_lines(text: &str) -> impl Iterator<Item = &str> {
    let mut is_fenced = false;
    text.lines().filter(move |line| {
        if line.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
        }
        // The fence that ends a block is no prose by the expression.
        !is_fenced && is_prose_line(line)
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

/// Whether a sentence of prose ends with a question mark, perhaps with an exclamation mark after
/// it.
pub(super) fn is_asking(sentence: &str) -> bool {
    let text = sentence.trim_end_matches(['*', '_', ' ', '!', '！']);
    text.ends_with(['?', '？', '؟', '՞', '⁇', '\u{37e}'])
}
