//! Answers: which sentences of one are quoted, if it has to be cut. Values matter most: what was
//! measured, counted or set.

use super::cut::shorten_gap;
use super::one_line::{cut_line, one_line};
use super::quote::{count_utf16, quote_line, strip_marks};
use super::tables::{find_value_table, is_table_rule};
use super::weights::{count_measurements, find_measurement};
use std::cmp::Reverse;
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
    let is_cut = start.ends_with("…\"");
    if count_utf16(answer) <= max || !is_cut {
        return start;
    }

    if let Some(table) = find_value_table(answer) {
        let before_table = &answer[..table.start];
        let first_sentence = before_table.unicode_sentences().next().unwrap_or_default();
        let quoted_sentence = quote_line(first_sentence, max / 3);
        let lead = quoted_sentence.trim_matches('"');
        // The quotation is cut between two rows.
        return quote_line(&format!("{lead}\n{}", &answer[table]), max);
    }

    // Without the units of the quotation marks.
    let room = max.saturating_sub(2);
    let reported_by_start = Rating::of(&start);
    let whole = quote_line(&pick_sentences(answer, room, TooLong::Skipped), max);
    if Rating::of(&whole) > reported_by_start {
        return whole;
    }
    // A part of a sentence reads less well, so it has to report what the start does not at all.
    let cut = quote_line(&pick_sentences(answer, room, TooLong::Cut), max);
    let reported = Rating::of(&cut);
    let has_first_code = reported_by_start.code_spans == 0 && reported.code_spans > 0;
    if reported.values > reported_by_start.values || has_first_code {
        cut
    } else {
        start
    }
}

/// Cuts a sentence to one line of about `max` UTF-16 units. Usually the end is cut off. If a
/// measured value is there, the middle is left out instead: `Since the index is sorted… is 47 ms`.
/// The end with the value takes at most half of the space.
pub(super) fn cut_keeping_value(sentence: &str, max: usize) -> String {
    let start = cut_line(sentence, max);
    if !start.ends_with('…') {
        return start;
    }
    let line = one_line(sentence, MOST_TIMES_TOO_LONG * max);
    let has_whole_end = !line.ends_with('…');
    let kept_len = start.len() - '…'.len_utf8();
    let cut_off = line.get(kept_len..).unwrap_or_default();
    if !has_whole_end || count_measurements(cut_off) == 0 {
        return start;
    }

    let end = short_end(&line, max / 2);
    if count_measurements(end) == 0 {
        return start;
    }
    join_start_and_end(&line, end, max)
}

/// Cuts a sentence to one line of about `max` UTF-16 units, in its middle. The end of a question
/// has what can be chosen: "Shall I keep the list of the… or make a new one?"
pub(super) fn cut_keeping_end(sentence: &str, max: usize) -> String {
    let start = cut_line(sentence, max);
    if !start.ends_with('…') {
        return start;
    }
    let line = one_line(sentence, MOST_TIMES_TOO_LONG * max);
    if line.ends_with('…') {
        return start;
    }
    join_start_and_end(&line, short_end(&line, max / 2), max)
}

/// A sentence that is more than this many times too long is only cut at its end.
const MOST_TIMES_TOO_LONG: usize = 4;

/// Returns the end of a line from the first space on from which it takes at most `max` UTF-16
/// units.
fn short_end(line: &str, max: usize) -> &str {
    let mut end_start = line.len();
    for (space, _) in line.rmatch_indices(' ') {
        if count_utf16(&line[space..]) > max {
            break;
        }
        end_start = space;
    }
    &line[end_start..]
}

/// Returns as much of the start of a line as fits before its `end` in `max` UTF-16 units, and the
/// end.
fn join_start_and_end(line: &str, end: &str, max: usize) -> String {
    let before_end = &line[..line.len() - end.len()];
    let head = one_line(before_end, max.saturating_sub(count_utf16(end)));
    format!("{head}{end}")
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
/// first in any case, in at most half of the space. `…` replaces sentences before the last one that
/// is returned: `The search is faster. … Now it takes 31 ms.`
fn pick_sentences(answer: &str, max: usize, too_long: TooLong) -> String {
    let mut sentences = Vec::new();
    for line in answer.lines() {
        // A heading names what follows, and a fence says nothing.
        if line.starts_with('#') || line.starts_with("```") || is_table_rule(line) {
            continue;
        }
        for sentence in line.unicode_sentences() {
            sentences.push(strip_marks(sentence.trim()));
        }
    }
    sentences.retain(|sentence| !sentence.is_empty());
    let Some((first, others)) = sentences.split_first() else {
        return String::new();
    };

    let mut text = cut_keeping_value(first, max / 2);
    let room = max.saturating_sub(count_utf16(&text));
    let picked = pick_by_values(others, room, too_long);
    for index in 0..others.len() {
        let has_picked_left = picked[index..].iter().any(|one| !one.is_empty());
        if !picked[index].is_empty() {
            text.push(' ');
            text.push_str(&picked[index]);
        } else if has_picked_left && !text.ends_with('…') {
            text.push_str(" …");
        }
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
/// for each sentence, which is empty if the sentence is not picked.
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
    let value = find_measurement(sentence).or_else(|| sentence.find('→'));
    let Some(report_start) = value.or_else(|| sentence.find('`')) else {
        return String::new();
    };
    // A third of the space goes to the words that name what is reported.
    let mut start = report_start;
    for (space, _) in sentence[..report_start].rmatch_indices(' ') {
        if count_utf16(&sentence[space..report_start]) > max / 3 {
            break;
        }
        start = space + 1;
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_is_cut_keeps_the_sentences_with_most_values() {
        let long = "The old list was read line by line, as people did it when the island had no \
                    power.";
        let answer = format!(
            "The search is faster. {long} Before, it took 47 ms. {long} Now it is 47 ms -> 31 ms \
             at 1,200 rows. See `search.c`."
        );
        assert_eq!(
            quote_answer(&answer, 150),
            "\"The search is faster. … Before, it took 47 ms. … Now it is 47 ms -> 31 ms at 1,200 \
             rows. See `search.c`.\""
        );
        // The start has the values.
        let answer = format!("It took 47 ms, now it takes 31 ms. {long} {long}");
        assert!(
            quote_answer(&answer, 110).starts_with("\"It took 47 ms, now it takes 31 ms. The old")
        );
        assert_eq!(quote_answer("Done, 3 of 4.", 60), "\"Done, 3 of 4.\"");
    }

    #[test]
    fn a_sentence_is_cut_before_the_value_at_its_end() {
        let sentence = "The lamp is lit for each ferry and put out after it: 78 -> about 3 ml.";
        assert_eq!(
            cut_keeping_value(sentence, 50),
            "The lamp is lit for each… it: 78 -> about 3 ml."
        );
        assert_eq!(cut_keeping_value(sentence, 70), sentence);
        let without = "The lamp is lit for each ferry and put out after it by the harbour master.";
        assert_eq!(cut_keeping_value(without, 50), cut_line(without, 50));
    }

    #[test]
    fn a_table_is_quoted_after_the_first_sentence_and_cut_between_rows() {
        let mut answer =
            "Measured with `fio`. The disks were idle.\n\n| disk | MB/s |\n|---|---:|\n".to_owned();
        for number in 1..=9 {
            answer.push_str(&format!("| north {number} | {number}12 |\n"));
        }
        answer.push_str("\nShall I measure the others, too?");
        assert_eq!(size_of_answer(&answer, 90), 400);
        assert_eq!(
            quote_answer(&answer, 90),
            "\"Measured with `fio`. / disk | MB/s / north 1 | 112 / north 2 | 212 / north 3 | 312 / \
             north 4 | 412…\""
        );
        let whole = quote_answer(&answer, 400);
        assert!(whole.contains(" / north 9 | 912 / Shall I"), "{whole}");
        assert_eq!(size_of_answer("| a | b |\n|---|---|\n| c | d |", 90), 90);
        assert_eq!(size_of_answer("Use `a | b`: 3.", 90), 90);
    }
}
