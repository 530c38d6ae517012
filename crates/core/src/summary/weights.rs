//! Weights: which of the earlier turns the work to come is most likely to need.
//!
//! A summary has room for some of the turns. The newest are not always those that matter most: what
//! was measured at the start may be what is written up in the end. So each turn is weighed by what
//! can be seen of it: measured values and causes, work that was done, and words that it shares with
//! what the session is for.

use super::SummaryBuilder;
use super::budget::POINT;
use super::choices::is_correction;
use super::lasting::may_wish_or_choose;
use super::questions::is_question;
use super::quote::{is_narrower, strip_digits};
use super::turns::Turn;
use super::words::{compile_expression, content_words};
use foldhash::{HashMap, HashSet};
use regex::Regex;
use std::sync::LazyLock;

/// Matches a measured value: a number with a fraction or a unit, a tolerance, a change, a time, or
/// a number of four digits or more. The boundaries of words are those of ASCII: with others,
/// `regex` uses its slow matcher on text that is not ASCII.
const MEASUREMENT: &str = r"(?x) [0-9][.,][0-9] | [0-9]\ ?(%|‰|°|±|→|->|€|\$) | (±|→)\ ?[0-9]
      | [0-9]:[0-9][0-9] | [0-9]{4}
    | [0-9]\ ?(([kMGT]i?)?B | [nµm]?s | min | h | hours? | minutes? | seconds? | [nµmck]?[mgVAW]
      | [kMG]?Hz)(?-u:\b)
    | [0-9]\ (of|von|sur|de|di)\ [0-9]";

/// The words with which a reply gives the cause of something.
const CAUSE: &str = r"(?ix) (^|\W)(because|due\ to|caused\ by|the\ (cause|reason|culprit)
      |turned\ out
    | weil|wegen|liegt\ an|lag\ an|die\ ursache|der\ grund|parce\ que|à\ cause|porque|por\ culpa
      |perché)(\W|$)
    | 因为 | 原因 | 原来 | が原因 | 때문";

/// The greatest number of values, or of shared words, that count.
const MOST_COUNTED: usize = 3;

/// The points for a value or a cause: work and words can be seen of almost every turn.
const FINDING_POINTS: usize = 2;

/// The points for a request with a wish or a choice: it still binds.
const WISH_POINTS: usize = 4;

/// What an earlier turn did.
#[derive(Default)]
struct TurnWork {
    has_changed_files: bool,
    has_run_commands: bool,
    has_failed: bool,
    /// Its commands and paths.
    targets: String,
}

impl SummaryBuilder {
    /// Returns the weight of each turn: how likely the work to come needs it. There are points for
    /// measured values and causes, for work that was done, and for words that the turn shares with
    /// the session's purpose and the current request. `turns` are the first of the earlier ones.
    ///
    /// Turns that repeat a request, or that have the same answer but for numbers and paths, are
    /// routine, and weigh nothing. If the next turn corrects a turn, it gets that turn's weight.
    pub(super) fn weigh_turns(&self, turns: &[Turn]) -> Vec<usize> {
        let topic = format!("{}\n{}", self.purpose.text(), self.turn.request).to_lowercase();
        let topic_words: HashSet<&str> = content_words(&topic).collect();
        let works = self.collect_work();
        let no_work = TurnWork::default();
        let answer_counts = count_answers(turns);

        let mut weights = Vec::new();
        for turn in turns {
            let is_same_answer = answer_counts
                .get(&answer_key(turn))
                .is_some_and(|count| *count > 1);
            let is_routine = is_same_answer || turn.repeats > 0;
            if is_routine {
                weights.push(0);
                continue;
            }
            let work = works.get(&turn.number).unwrap_or(&no_work);
            let finding_count = turn.value_count + usize::from(gives_cause(turn));
            let topic_points = points_for_topic(turn, work, &topic_words);
            let bound_points = if may_wish_or_choose(&turn.request) {
                WISH_POINTS
            } else {
                0
            };
            weights
                .push(FINDING_POINTS * finding_count + work.points() + topic_points + bound_points);
        }
        self.move_weights_to_corrections(&mut weights);
        weights
    }

    /// Moves the weight of each turn that the next one corrects to the next one: the reply that was
    /// corrected is out of date. A correction without an answer gets nothing, because it has no new
    /// reply to show instead.
    ///
    /// `weights` are those of the first earlier turns. The turn after them has no weight to raise,
    /// but may correct the last of them, which then weighs nothing.
    fn move_weights_to_corrections(&self, weights: &mut [usize]) {
        for corrected_index in 0..weights.len() {
            let Some(next) = self.earlier_turns.get(corrected_index + 1) else {
                break;
            };
            if !next.is_answered() || !is_correction(&next.request) {
                continue;
            }
            let moved_weight = std::mem::take(&mut weights[corrected_index]);
            if let Some(weight) = weights.get_mut(corrected_index + 1) {
                *weight = moved_weight.max(*weight);
            }
        }
    }

    /// Collects what the tool calls of each turn did, by the number of the turn.
    fn collect_work(&self) -> HashMap<usize, TurnWork> {
        let mut works: HashMap<usize, TurnWork> = HashMap::default();
        for run in &self.tool_history.runs {
            let work = works.entry(run.turn_number).or_default();
            let is_command = !run.call.command.is_empty();
            work.has_changed_files |= run.changes_file();
            work.has_run_commands |= is_command && !run.command.is_read_only;
            work.has_failed |= run.failed_step().is_some();
            for text in [&run.call.command, &run.call.target] {
                work.targets.push_str(text);
                work.targets.push('\n');
            }
        }
        works
    }
}

/// Counts the turns with each answer, by its [`answer_key`]. Turns without an answer, or whose
/// answer is only a path, are not counted, because they are not alike.
fn count_answers(turns: &[Turn]) -> HashMap<String, usize> {
    let mut counts = HashMap::default();
    for turn in turns {
        let key = answer_key(turn);
        if !key.is_empty() {
            *counts.entry(key).or_default() += 1;
        }
    }
    counts
}

impl TurnWork {
    fn points(&self) -> usize {
        usize::from(self.has_changed_files)
            + usize::from(self.has_run_commands)
            + usize::from(self.has_failed)
    }
}

/// Counts the different measured values in the request and the last words of a turn, up to
/// [`MOST_COUNTED`].
pub(super) fn count_values(turn: &Turn) -> usize {
    // Numbers without units are values, too, if the request has little else.
    if reports_values(&turn.request) {
        return MOST_COUNTED;
    }
    let mut values = HashSet::default();
    for text in [turn.last_words(), &*turn.request] {
        // Far faster than to search for values, of which most texts have none.
        if !has_digit(text) {
            continue;
        }
        for value in measurements().find_iter(text) {
            values.insert(value.as_str());
            if values.len() == MOST_COUNTED {
                return MOST_COUNTED;
            }
        }
    }
    values.len()
}

/// Whether a request is one line of numbers, with few words for each: the user reports what was
/// measured, whatever the units. `base 2.1, +console 655, +adc 78`
pub(super) fn reports_values(request: &str) -> bool {
    /// The most columns for a number and its words.
    const COLUMNS_OF_NUMBER: usize = 24;

    if !has_digit(request) || request.contains('\n') || !is_narrower(request, POINT) {
        return false;
    }
    if is_question(request) {
        return false;
    }
    // The parts of a time or a date are no numbers of their own.
    let words = request.split(|c: char| !c.is_alphanumeric() && !".:-/".contains(c));
    let numbers = words.filter(|word| has_digit(word) && word.parse::<f64>().is_ok());
    let count = numbers.count();
    count >= MOST_COUNTED && is_narrower(request, count * COLUMNS_OF_NUMBER)
}

/// Whether a text has a digit, as every measured value has. There is no early return, so that many
/// bytes are compared at once: much faster than to search for values.
fn has_digit(text: &str) -> bool {
    text.bytes()
        .fold(false, |found, byte| found | byte.is_ascii_digit())
}

/// Whether the last words of a turn give the cause of something.
fn gives_cause(turn: &Turn) -> bool {
    static CAUSES: LazyLock<Regex> = LazyLock::new(|| compile_expression(CAUSE));
    CAUSES.is_match(turn.last_words())
}

/// Returns the number of measured values in a text.
pub(super) fn count_measurements(text: &str) -> usize {
    measurements().find_iter(text).count()
}

/// Returns the byte offset of the first measured value in a text.
pub(super) fn find_measurement(text: &str) -> Option<usize> {
    measurements().find(text).map(|value| value.start())
}

fn measurements() -> &'static Regex {
    static VALUE: LazyLock<Regex> = LazyLock::new(|| compile_expression(MEASUREMENT));
    &VALUE
}

/// Returns a point for each word of content that a turn shares with the topic.
fn points_for_topic(turn: &Turn, work: &TurnWork, topic_words: &HashSet<&str>) -> usize {
    let text = format!("{}\n{}\n{}", turn.request, turn.last_words(), work.targets).to_lowercase();
    let said: HashSet<&str> = content_words(&text).collect();
    said.intersection(topic_words).count().min(MOST_COUNTED)
}

/// Returns the form in which answers are compared: the words without digits, and without paths.
fn answer_key(turn: &Turn) -> String {
    let words = turn.last_words().split_whitespace();
    let plain_words: Vec<&str> = words.filter(|word| !word.contains('/')).collect();
    strip_digits(&plain_words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_numbers_reports_values() {
        assert!(reports_values(
            "base 2.1, +north 655, +east 78, +south 41 (all in ml)"
        ));
        assert!(reports_values("412 188 377"));
        for request in [
            "the ferry of 00:10 is late, that of 23:50 is not",
            "is it 3 or 4 or 5 in the legend?",
            "draw 3 harbours, and 4 islands, and the lines of all ferries between the 2 capes",
            "north 3\neast 4\nsouth 5",
        ] {
            assert!(!reports_values(request), "{request}");
        }
    }
}
