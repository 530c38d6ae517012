//! Condenses a long request: of a text that does not fit, the lines that bind the work are kept
//! before its prose.
//!
//! ```text
//! New assignment, the brief is in docs/BRIEF.md. …
//! - each folder has solve.rb and README.md …
//! - one question at a time, and pause for my review
//! ```

use super::budget::{MAX_CONDENSED_LEN, RULE};
use super::cut::cut_message;
use super::documents::is_mostly_pasted;
use super::pasted_lines::is_code_line;
use super::prose::{is_list_item, split_at_full_stops, strip_item_mark};
use super::quote::{count_utf16, is_narrower};
use super::wishes::quote_binding_sentences;
use super::words::compile_expression;
use crate::format::fitting_len;
use foldhash::HashSet;
use regex::Regex;
use std::cmp::Reverse;
use std::sync::LazyLock;
use unicode_segmentation::UnicodeSegmentation;

/// The mark behind a part that is followed by omitted ones.
const GAP: &str = " …";

/// A text with fewer parts that bind is not a specification.
const LEAST_BINDING: usize = 4;

/// The least number of columns at the start of a request that are always kept: they name the task.
const START: usize = 60;

/// A line of a request, a sentence of a long line, or some words of a long sentence.
struct Part<'r> {
    text: &'r str,
    /// How much it says of what is to be done; 0 for prose and code.
    points: usize,
    /// Whether it begins a line.
    begins_line: bool,
}

/// The points of a part that binds the work by itself.
const BINDS: usize = 2;

/// Whether a request specifies the work: several of its parts are orders or rules. A log that the
/// user pasted has lists, too.
pub(super) fn is_specification(request: &str) -> bool {
    let request = cut_message(request.to_owned(), MAX_CONDENSED_LEN);
    if is_mostly_pasted(&request) {
        return false;
    }
    let parts = read_parts(&request);
    let binding_parts = parts.iter().filter(|part| part.points >= BINDS);
    binding_parts.count() >= LEAST_BINDING
}

/// A longer line, in UTF-16 units, is speech that was transcribed, or pasted without line breaks.
const LONG_LINE: usize = 1_000;

/// Whether a specification loses less if it is condensed than if its middle is left out: it has no
/// short lines of which the first and last could be kept, or the user pasted it twice.
pub(super) fn gains_by_condensing(request: &str) -> bool {
    let mut known_lines = HashSet::default();
    let mut repeated_count = 0;
    let mut has_long_line = false;
    for line in request.lines().map(str::trim) {
        has_long_line |= !is_narrower(line, LONG_LINE);
        let is_repeated = !known_lines.insert(line);
        if is_repeated && !is_narrower(line, START) {
            repeated_count += 1;
        }
    }
    let is_condensable = has_long_line || repeated_count >= LEAST_BINDING;
    is_condensable && is_specification(request)
}

/// Returns a request in at most about `max` UTF-16 units. Of a longer one, the start is kept, then
/// what binds the work, then other parts, each in its place. A `…` replaces omitted parts.
pub(super) fn condense_request(request: &str, max: usize) -> String {
    if count_utf16(request) <= max {
        return request.to_owned();
    }
    let request = cut_message(request.to_owned(), MAX_CONDENSED_LEN);
    let parts = read_parts(&request);
    let kept = choose_parts(&parts, max);
    join_parts(&parts, &kept)
}

fn read_parts(request: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut is_fenced = false;
    for line in request.lines() {
        let line = line.trim_end();
        let is_fence = line.trim_start().starts_with("```");
        if is_fence {
            is_fenced = !is_fenced;
        }
        let is_item = is_list_item(line);
        let is_drawn = line
            .trim_start()
            .starts_with(['├', '└', '│', '┌', '+', '|']);
        let is_code = is_fenced || is_fence || is_drawn || is_code_line(line) && !is_item;
        for (index, text) in split_line(line).into_iter().enumerate() {
            let points = if is_code {
                0
            } else {
                count_points(text, is_item)
            };
            parts.push(Part {
                text,
                points,
                begins_line: index == 0,
            });
        }
    }
    parts
}

/// Splits a long line into sentences, and a long sentence, as in a transcript of speech, into
/// groups of words of about [`RULE`] UTF-16 units. A line of white space, or of a gap, has no part.
fn split_line(line: &str) -> Vec<&str> {
    if is_narrower(line, RULE / 2) {
        let has_text = line.contains(char::is_alphanumeric);
        return if has_text { vec![line] } else { Vec::new() };
    }
    let mut texts = Vec::new();
    // The number of an item is no sentence of its own.
    let text_start = line.len() - strip_item_mark(line).len();
    for sentence in line[text_start..].split_sentence_bounds() {
        for text in split_at_full_stops(sentence) {
            let mut rest = text.trim_end();
            while count_utf16(rest) > 2 * RULE {
                let head_len = fitting_len(rest.split_inclusive(' '), RULE);
                let head = &rest[..head_len];
                // A single word that long, such as an address, stays whole.
                if head.is_empty() {
                    break;
                }
                texts.push(head.trim_end());
                rest = &rest[head_len..];
            }
            texts.push(rest);
        }
    }
    if let Some(first) = texts.first_mut() {
        *first = &line[..text_start + first.len()];
    }
    texts.retain(|text| text.contains(char::is_alphanumeric));
    texts
}

/// Words of a step that recurs, or holds for each part of the work.
const STANDING: &str = r"one\ \w+\ at\ a\ time|(after|before|for)\ (each|every)|each\ \w+\ (has|gets|needs)
    |(before|until)\ (moving|going|you|i|my)\b|pause\b|wait\ for|(final|last)\ step|at\ the\ end";

/// Words that name what is to be delivered, or how it is judged.
const DELIVERY: &str = r"submit\w*|submission|deliver\w*|deliverables?|hand(ing)?[\ -]in|writes?|output
    |returns?|scor(es?|ed|ing)|grad(es?|ed|ing)|weight\ it|judg(es?|ed|ing)|deadline|abgabe";

/// Words with which a user says what is wanted.
const WANTS: &str = r"(i|we)\ (want|need|would|prefer)|i['’]d|prefer|should|needs?\ to|have\ to|let\ users?
    |give\ (the\ )?users?|users?\ (can|should)|would\ (also\ )?be\ (nice|cool|great)|soll\w*|brauchen?|wollen
    |möchten?|quiero|necesito|il\ faut|je\ veux";

/// Counts what of a part binds the work.
fn count_points(text: &str, is_item: bool) -> usize {
    static ORDER: LazyLock<Regex> =
        LazyLock::new(|| compile_expression(&format!(r"(?ix)\b({DELIVERY}|{WANTS})\b")));
    static STEP: LazyLock<Regex> =
        LazyLock::new(|| compile_expression(&format!(r"(?ix)\b({STANDING})")));
    // A file with its ending, or a path.
    static FILE: LazyLock<Regex> =
        LazyLock::new(|| compile_expression(r"\w\.[a-z]{1,8}\b|\w/(\W|$)|(^|\W)/\w"));

    let mut points = 0;
    if !quote_binding_sentences(text, &[text]).is_empty() {
        points += BINDS;
    }
    if STEP.is_match(text) {
        points += BINDS;
    }
    if ORDER.is_match(text) {
        points += BINDS;
    }
    if is_item {
        points += BINDS;
    }
    // A file or a number alone is a detail of the prose.
    if points == 0 {
        return 0;
    }
    if FILE.is_match(text) {
        points += 1;
    }
    if text.contains(|c: char| c.is_ascii_digit()) {
        points += 1;
    }
    points
}

/// Chooses the parts that fit: whether each is kept.
fn choose_parts(parts: &[Part<'_>], max: usize) -> Vec<bool> {
    let mut kept = vec![false; parts.len()];
    let mut room = max;

    let mut known_texts = HashSet::default();
    let mut start_len = 0;
    for (index, part) in parts.iter().enumerate() {
        if start_len >= START {
            break;
        }
        kept[index] = true;
        known_texts.insert(part.text.trim());
        start_len += part.text.len();
        room = room.saturating_sub(size_of_part(part));
    }

    // Of equals that bind, the shortest come first, because more of them fit. Prose comes last, in
    // its order.
    let mut heaviest_first: Vec<usize> = (0..parts.len()).collect();
    heaviest_first.sort_by_key(|&index| {
        let part = &parts[index];
        let size_of_binding = if part.points == 0 { 0 } else { part.text.len() };
        (Reverse(part.points), size_of_binding, index)
    });
    for index in heaviest_first {
        let size = size_of_part(&parts[index]);
        // Half of a text that was pasted twice repeats the other half.
        if kept[index] || size > room || !known_texts.insert(parts[index].text.trim()) {
            continue;
        }
        kept[index] = true;
        room -= size;
    }
    kept
}

/// Returns the size of a part with the gap, and the ` / ` that separates it on one line.
fn size_of_part(part: &Part<'_>) -> usize {
    const BETWEEN_PARTS: usize = 5;
    count_utf16(part.text) + BETWEEN_PARTS
}

fn join_parts(parts: &[Part<'_>], kept: &[bool]) -> String {
    let mut condensed = String::new();
    let mut follows_gap = false;
    let mut begins_line = false;
    for (part, &is_kept) in parts.iter().zip(kept) {
        begins_line |= part.begins_line;
        if !is_kept {
            follows_gap = true;
            continue;
        }
        if follows_gap && !condensed.ends_with(GAP) {
            condensed.push_str(GAP);
        }
        if !condensed.is_empty() {
            condensed.push(if begins_line { '\n' } else { ' ' });
        }
        condensed.push_str(part.text);
        follows_gap = false;
        begins_line = false;
    }
    if follows_gap && !condensed.ends_with(GAP) {
        condensed.push_str(GAP);
    }
    condensed
}
