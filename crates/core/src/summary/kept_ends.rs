//! Sentences that are cut, and whose end is kept: it may have a value, or what can be chosen.

use super::one_line::{cut_line, one_line};
use super::quote::count_utf16;
use super::weights::count_measurements;

/// Cuts a sentence to one line of about `max` UTF-16 units. Usually the end is cut off. If a
/// measured value is there, the middle is left out instead: `Since the index is sorted… is 47 ms`.
/// The end with the value takes at most half of the space.
pub(super) fn cut_keeping_value(sentence: &str, max: usize) -> String {
    let start = cut_line(sentence, max);
    if !start.ends_with('…') {
        return start;
    }
    let Some(line) = whole_line(sentence, max) else {
        return start;
    };
    let kept_len = start.len() - '…'.len_utf8();
    let cut_off = line.get(kept_len..).unwrap_or_default();
    let end = short_end(&line, max / 2);
    // The value may also be before the end, in the middle that would be left out, or in the part of
    // the end that the start has, too.
    let loses_value = count_measurements(cut_off) > 0;
    let keeps_value = count_measurements(end) > 0;
    if loses_value && keeps_value {
        join_start_and_end(&line, end, max)
    } else {
        start
    }
}

/// Cuts a sentence to one line of about `max` UTF-16 units, in its middle. The end of a question
/// has what can be chosen: "Shall I keep the list of the… or make a new one?"
pub(super) fn cut_keeping_end(sentence: &str, max: usize) -> String {
    let start = cut_line(sentence, max);
    if !start.ends_with('…') {
        return start;
    }
    match whole_line(sentence, max) {
        Some(line) => join_start_and_end(&line, short_end(&line, max / 2), max),
        None => start,
    }
}

/// Returns a whole sentence on one line. `None` if it takes more than [`MOST_TIMES_TOO_LONG`] times
/// `max` UTF-16 units: its end has little to do with its start then.
fn whole_line(sentence: &str, max: usize) -> Option<String> {
    let line = one_line(sentence, MOST_TIMES_TOO_LONG * max);
    if line.ends_with('…') {
        return None;
    }
    Some(line)
}

/// A sentence that is more than this many times too long is only cut at its end.
const MOST_TIMES_TOO_LONG: usize = 4;

/// Returns the longest end of a line that begins with a space, and takes at most `max` UTF-16
/// units: ` is 47 ms` of `Since the index is sorted, it is 47 ms` for 10 units. Empty if even the
/// last word is too long.
pub(super) fn short_end(line: &str, max: usize) -> &str {
    let mut end_start = line.len();
    for (space, _) in line.rmatch_indices(' ') {
        if count_utf16(&line[space..]) > max {
            break;
        }
        end_start = space;
    }
    &line[end_start..]
}

/// Joins the start of a line, cut with an ellipsis, and its `end`, in `max` UTF-16 units together:
/// `Since the index is sorted… is 47 ms`.
fn join_start_and_end(line: &str, end: &str, max: usize) -> String {
    let before_end = &line[..line.len() - end.len()];
    let head = one_line(before_end, max.saturating_sub(count_utf16(end)));
    format!("{head}{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
