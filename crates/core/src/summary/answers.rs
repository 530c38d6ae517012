//! Answers: which sentences of one are quoted, if it has to be cut. Values matter most: what was
//! measured, counted or set.

use super::cut::shorten_gap;
use super::kept_ends::{cut_keeping_value, short_end};
use super::one_line::one_line;
use super::quote::{count_utf16, quote_line, strip_marks};
use super::tables::{find_value_table, is_table_rule};
use super::weights::{count_measurements, find_measurement};
use std::cmp::Reverse;
use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;

/// The least number of units for an answer with a table of values.
const TABLE: usize = 400;

/// Returns the number of units to quote an answer in: `max`, or what a table takes if the answer
/// has one with values. The table is most likely what later work needs.
pub(super) fn size_of_answer(answer: &str, max: usize) -> usize {
    match find_value_table(answer) {
        Some(_) => max.max(TABLE),
        None => max,
    }
}

/// What is between two sentences: a space and, in place of others, an ellipsis with a space.
const GAP_SIZE: usize = 3;

/// Quotes an answer on one line of about `max` UTF-16 units. Of an answer that is longer, the part
/// with the most measured values is quoted, because later work most likely needs these:
///
/// - the first sentence and the rows of a table, if it has one with numbers;
/// - otherwise the first sentence and other sentences with values, with an ellipsis for those
///   between them: `"The search is faster. … Now it takes 31 ms."`;
/// - or its start, if that has as many values.
pub(super) fn quote_answer(answer: &str, max: usize) -> String {
    let answer = &*shorten_gap(answer);
    let start = quote_line(answer, max);
    // An answer that fits may have an ellipsis of its own at its end.
    let is_cut = count_utf16(answer) > max && start.ends_with("…\"");
    if !is_cut {
        return start;
    }

    match find_value_table(answer) {
        Some(table) => quote_table(answer, table, max),
        None => quote_reporting_sentences(answer, start, max),
    }
}

/// Quotes the first sentence of an answer and its table, whose range is given. If they are too
/// long, the rows at the end of the table are left out.
fn quote_table(answer: &str, table: Range<usize>, max: usize) -> String {
    let before_table = &answer[..table.start];
    let first_sentence = before_table.unicode_sentences().next().unwrap_or_default();
    let quoted_sentence = quote_line(first_sentence, max / 3);
    let lead = quoted_sentence.trim_matches('"');
    // `quote_line` cuts between two lines, and a row is a line.
    quote_line(&format!("{lead}\n{}", &answer[table]), max)
}

/// Quotes the sentences of an answer that report more than its quoted `start` does. If there are
/// none, `start` is returned.
fn quote_reporting_sentences(answer: &str, start: String, max: usize) -> String {
    let quotation_marks_size = 2;
    let room = max.saturating_sub(quotation_marks_size);
    let rating_of_start = Rating::of(&start);

    let whole_sentences = pick_sentences(answer, room, TooLong::Skipped);
    let quoted_whole = quote_line(&whole_sentences, max);
    if Rating::of(&quoted_whole) > rating_of_start {
        return quoted_whole;
    }

    // A part of a sentence reads less well, so it has to report what the start does not at all.
    let with_part = pick_sentences(answer, room, TooLong::Cut);
    let quoted_part = quote_line(&with_part, max);
    let rating_of_part = Rating::of(&quoted_part);
    let has_more_values = rating_of_part.values > rating_of_start.values;
    let has_first_code = rating_of_start.code_spans == 0 && rating_of_part.code_spans > 0;
    if has_more_values || has_first_code {
        quoted_part
    } else {
        start
    }
}

/// How much a text reports. Of two texts, the one with more values is greater and, of equals, the
/// one with more code.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rating {
    /// The number of measured values, and of pairs such as `old → new`.
    values: usize,
    /// The number of code spans: names, settings, paths.
    code_spans: usize,
}

impl Rating {
    const NOTHING: Rating = Rating {
        values: 0,
        code_spans: 0,
    };

    fn of(text: &str) -> Rating {
        let arrows = ["→", "->", "=>"];
        let pairs = arrows.map(|arrow| text.matches(arrow).count());
        Rating {
            values: count_measurements(text).max(pairs.iter().sum()),
            code_spans: text.matches('`').count() / 2,
        }
    }
}

/// Returns the sentences of an answer with the most measured values, as many as fit in `max` UTF-16
/// units, in the order of the answer. The first sentence names what the others measure, so it comes
/// first in any case, in at most half of the space.
fn pick_sentences(answer: &str, max: usize, too_long: TooLong) -> String {
    let sentences = list_sentences(answer);
    let Some((first, others)) = sentences.split_first() else {
        return String::new();
    };
    let lead = cut_keeping_value(first, max / 2);
    let room = max.saturating_sub(count_utf16(&lead));
    let picked = pick_by_values(others, room, too_long);
    join_with_gaps(lead, &picked)
}

/// Returns the sentences of an answer without marks of Markdown. Headings, fences and rules of
/// tables are skipped, because they report nothing themselves.
fn list_sentences(answer: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    for line in answer.lines() {
        if line.starts_with('#') || line.starts_with("```") || is_table_rule(line) {
            continue;
        }
        for sentence in line.unicode_sentences() {
            let unmarked = strip_marks(sentence.trim());
            if !unmarked.is_empty() {
                sentences.push(unmarked);
            }
        }
    }
    sentences
}

/// Joins the first sentence and those that were picked of the others. An empty text in `others` is
/// a sentence that was not picked, and `…` replaces it and its neighbours, unless no sentence
/// follows: `The search is faster. … Now it takes 31 ms.`
fn join_with_gaps(first: String, others: &[String]) -> String {
    let mut text = first;
    let mut is_after_gap = false;
    for sentence in others {
        if sentence.is_empty() {
            is_after_gap = true;
            continue;
        }
        // A sentence that was cut ends with an ellipsis already.
        if is_after_gap && !text.ends_with('…') {
            text.push_str(" …");
        }
        text.push(' ');
        text.push_str(sentence);
        is_after_gap = false;
    }
    text
}

/// What becomes of the sentence that reports most, if it does not fit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TooLong {
    Skipped,
    /// It is cut to what it reports.
    Cut,
}

/// A sentence that may be picked, because it reports something.
struct Candidate {
    /// Its index in the sentences of the answer.
    index: usize,
    text: String,
    rating: Rating,
}

impl Candidate {
    /// Returns the number of UTF-16 units that the sentence takes, with the gap before it.
    fn size(&self) -> usize {
        GAP_SIZE + count_utf16(&self.text)
    }
}

/// Picks the sentences that report most, as far as they fit in `room` UTF-16 units. Returns a text
/// for each of the given sentences, in their order. It is empty if the sentence is not picked.
fn pick_by_values(sentences: &[&str], room: usize, too_long: TooLong) -> Vec<String> {
    let mut candidates = list_candidates(sentences);
    let mut room_left = room;
    // Only the best is ever cut: it is picked first, so it has all of the room.
    if too_long == TooLong::Cut
        && let Some(best) = candidates.first_mut()
        && best.size() > room
    {
        best.text = cut_to_report(&best.text, room.saturating_sub(GAP_SIZE));
        // Code at the cut is kept whole, and so may need more room.
        room_left = room.max(best.size());
    }

    let mut picked = vec![String::new(); sentences.len()];
    for candidate in candidates {
        let size = candidate.size();
        // If it does not fit, a shorter one that reports less may.
        if size <= room_left {
            room_left -= size;
            picked[candidate.index] = candidate.text;
        }
    }
    picked
}

/// Returns the sentences that report something. Those that report most come first and, of equals,
/// the first of the answer.
fn list_candidates(sentences: &[&str]) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    for (index, &sentence) in sentences.iter().enumerate() {
        let rating = Rating::of(sentence);
        if rating > Rating::NOTHING {
            candidates.push(Candidate {
                index,
                text: sentence.to_owned(),
                rating,
            });
        }
    }
    // The sort is stable, so equals stay in the order of the answer.
    candidates.sort_by_key(|candidate| Reverse(candidate.rating));
    candidates
}

/// Returns the part of a sentence around its first value or, without one, its first code span, in
/// about `max` UTF-16 units: `…the port is `8081`, from board.toml.` Empty if nothing that
/// reports fits.
fn cut_to_report(sentence: &str, max: usize) -> String {
    let value_start = find_measurement(sentence).or_else(|| sentence.find('→'));
    let Some(report_start) = value_start.or_else(|| sentence.find('`')) else {
        return String::new();
    };
    // A third of the space goes to the words that name what is reported.
    let lead = short_end(&sentence[..report_start], max / 3).trim_start();
    let start = report_start - lead.len();
    let part = one_line(&sentence[start..], max.saturating_sub(1));
    if Rating::of(&part) == Rating::NOTHING {
        return String::new();
    }
    if start == 0 {
        part
    } else {
        format!("…{part}")
    }
}
