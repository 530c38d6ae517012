//! Cuts what is too long for a summary: a text in its middle, reporting how much is missing, and a
//! string of a call or a message at its end.

use super::budget::MAX_READ_UNITS;
use crate::format::{count_utf16, display_width, fitting_len};
use pisess_json::Raw;
use std::borrow::Cow;
use unicode_segmentation::UnicodeSegmentation;

/// Leaves out the middle of a text of more than `max` UTF-16 units. A line that reports how much is
/// missing replaces it: `[… 5120 characters left out …]`. The start of the text takes two thirds of
/// the space, the end one third.
pub(super) fn cut_middle(text: &str, max: usize) -> String {
    // A unit takes at least one byte, so few texts need to be counted.
    if text.len() <= max || count_utf16(text) <= max {
        return text.to_owned();
    }
    // The line fits into `max`, too, so that the result is not cut again.
    let room = max.saturating_sub(GAP_LINE_SIZE);
    let tail_room = room / 3;
    let pieces = split_for_cut(text, tail_room);
    let head_len = fitting_len(pieces.iter().copied(), room * 2 / 3);
    let tail_len = fitting_len(pieces.iter().rev().copied(), tail_room);

    let tail_start = text.len() - tail_len;
    let head = text[..head_len].trim_end();
    let middle = &text[head_len..tail_start];
    let tail = text[tail_start..].trim_start();
    format!("{head}{}{tail}", gap_line(units_before_gap(middle)))
}

/// Splits a text into the pieces that a cut keeps whole: lines, or words if a line is longer than
/// `longest_line` UTF-16 units, and so might not fit at all.
fn split_for_cut(text: &str, longest_line: usize) -> Vec<&str> {
    // Few lines have so many bytes, and only these are counted.
    let has_long_line = text
        .lines()
        .any(|line| line.len() > longest_line && count_utf16(line) > longest_line);
    if has_long_line {
        text.split_word_bounds().collect()
    } else {
        text.split_inclusive('\n').collect()
    }
}

/// Leaves out the middle of a message of more than about `max_len` bytes, so that a long one is not
/// searched for secrets and copied in full. A line that reports how much is missing replaces it.
pub(super) fn cut_message(text: String, max_len: usize) -> String {
    if text.len() <= max_len {
        return text;
    }
    // Both parts have only whole words: half a secret could not be recognized. So the start ends
    // at the last space in it, and the end begins at its first space.
    let most_of_start = &text[..char_boundary_before(&text, max_len / 2)];
    let head_end = most_of_start
        .rfind(char::is_whitespace)
        .unwrap_or(most_of_start.len());
    let most_of_end = &text[char_boundary_before(&text, text.len() - max_len / 2)..];
    let space = most_of_end.find(char::is_whitespace).unwrap_or(0);
    let tail_start = text.len() - most_of_end.len() + space;

    let gap = gap_line(count_utf16(&text[head_end..tail_start]));
    format!("{}{gap}{}", &text[..head_end], &text[tail_start..])
}

/// Returns the first [`MAX_READ_UNITS`] units of a string, which is enough for any section.
pub(super) fn string_head(value: Option<Raw>) -> String {
    value
        .and_then(Raw::text)
        .unwrap_or_default()
        .head_whole(MAX_READ_UNITS)
        .into_string_lossy()
}

/// Returns the whole words in the first [`MAX_READ_UNITS`] units of a string: a word that is cut
/// could be half a secret, which could not be recognized.
pub(super) fn string_words(value: Option<Raw>) -> String {
    let mut text = string_head(value);
    if may_be_cut(&text) {
        drop_last_word(&mut text);
    }
    text
}

/// Drops the last word of a text. A text of a single word becomes empty. In a script that is
/// written without spaces, each character is a word.
pub(super) fn drop_last_word(text: &mut String) {
    let is_in_word = |c: char| !c.is_whitespace() && !is_word_alone(c);
    let kept = text.trim_end_matches(is_in_word).trim_end();
    text.truncate(kept.len());
}

/// Whether a character is a letter that takes two columns, as in Chinese and Japanese, where no
/// spaces separate the words. Few secrets have such letters.
fn is_word_alone(c: char) -> bool {
    c.is_alphabetic() && display_width(c.encode_utf8(&mut [0; 4])) == 2
}

/// Returns the whole lines in the first [`MAX_READ_UNITS`] units of a string: a line that is cut
/// could end within a secret. The lines are to be searched for secrets together, because a secret
/// may span several, or its name be on the line before.
pub(super) fn string_lines(value: Option<Raw>) -> String {
    let mut text = string_head(value);
    if may_be_cut(&text) {
        text.truncate(text.rfind('\n').unwrap_or_default());
    }
    text
}

/// Whether the first [`MAX_READ_UNITS`] units of a string may not be all of it. Both units of a
/// character are left out if only one fits.
pub(super) fn may_be_cut(head: &str) -> bool {
    const SHORTEST_CUT: usize = MAX_READ_UNITS - 1;
    head.len() >= SHORTEST_CUT && count_utf16(head) >= SHORTEST_CUT
}

/// Returns the nearest offset from `at` backwards that is between two characters.
fn char_boundary_before(text: &str, at: usize) -> usize {
    let mut boundary = at;
    while !text.is_char_boundary(boundary) {
        boundary -= 1;
    }
    boundary
}

/// What precedes and follows the number of characters in the line that reports a gap.
const GAP_START: &str = "\n[… ";
const GAP_END: &str = " characters left out …]\n";

/// What may be between a text and the line that reports a gap in it: white space, the mark of a
/// quoted line, or the mark between lines that were joined.
const BETWEEN_LINES: [char; 4] = ['\n', ' ', '>', '/'];

/// Whether a text was cut at its end, given what follows it in a summary.
pub(super) fn is_cut_before(rest: &str) -> bool {
    let next_line = rest.trim_start_matches(BETWEEN_LINES);
    rest.starts_with('…') || next_line.starts_with(GAP_START.trim_start())
}

/// Whether a text was cut at its start, given what precedes it in a summary.
pub(super) fn is_cut_after(before: &str) -> bool {
    let line_before = before.trim_end_matches(BETWEEN_LINES);
    line_before.ends_with(GAP_END.trim_end())
}

/// Returns a text that [`cut_middle`] or [`cut_message`] cut with `…` in place of the line that
/// reports the gap.
pub(super) fn shorten_gap(text: &str) -> Cow<'_, str> {
    let Some((before, rest)) = text.split_once(GAP_START) else {
        return Cow::Borrowed(text);
    };
    match rest.split_once(GAP_END) {
        Some((_, after)) => Cow::Owned(format!("{before} …\n{after}")),
        None => Cow::Borrowed(text),
    }
}

/// The number of units to leave for the line that reports a gap, with line breaks and the number.
const GAP_LINE_SIZE: usize = 50;

fn gap_line(missing: usize) -> String {
    format!("{GAP_START}{missing}{GAP_END}")
}

/// Returns the number of units that a text had before [`cut_message`] replaced a part of it by a
/// line that reports the gap. That line has the number of units that it replaced.
fn units_before_gap(text: &str) -> usize {
    if let Some((before, rest)) = text.split_once(GAP_START)
        && let Some((number, after)) = rest.split_once(GAP_END)
        && let Ok(missing) = number.parse::<usize>()
    {
        return count_utf16(before) + missing + count_utf16(after);
    }
    count_utf16(text)
}
