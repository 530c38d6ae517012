//! Revisions: which decisions and wishes a later message takes back, and the mark that quotes it.

use super::budget::{LONG_REQUEST, REMINDER};
use super::choices::is_correction;
use super::questions::is_question;
use super::quote::{is_narrower, quote_line};
use super::turns::Turn;
use super::words::naming_words;
use foldhash::HashSet;

/// The words with which a message goes back on an earlier one, wherever that is.
const REVERSALS: [&str; 8] = [
    "instead",
    "after all",
    "anyway",
    "stattdessen",
    "doch lieber",
    "finalement",
    "al final",
    "alla fine",
];

/// Words that negate a wish.
const NEGATIONS: [&str; 22] = [
    "no", "not", "never", "without", "stop", "quit", "avoid", "don't", "don’t", "dont", "neither",
    "nicht", "kein", "keine", "keinen", "nie", "ohne", "pas", "jamais", "sans", "nunca", "sin",
];

/// The words with which a decision leaves open whether it is final: it is tried, or has a
/// condition.
const TRIALS: [&str; 10] = [
    "if", "try", "test", "measure", "maybe", "falls", "wenn", "probier", "essaie", "prueba",
];

/// The words with which a message finds that a value goes too far.
const EXCESSES: [&str; 7] = ["too", "zu", "trop", "demasiado", "troppo", "слишком", "太"];

/// Words for units of measure. Two messages that count the same unit need not be about the same:
/// a session has a cache of 5 minutes and a lock of 10 minutes.
const UNITS: [&str; 30] = [
    "seconds", "minutes", "hours", "weeks", "month", "months", "years", "times", "percent",
    "bytes", "pixels", "points", "sekunden", "minuten", "stunden", "tagen", "wochen", "monate",
    "monaten", "jahre", "prozent", "secondes", "heures", "jours", "semaines", "segundos",
    "minutos", "horas", "semanas", "pixel",
];

/// Units that are too short for words of content.
const SHORT_UNITS: [&str; 27] = [
    "ms", "min", "days", "tage", "días", "kwh", "kb", "mb", "gb", "tb", "kib", "mib", "gib", "px",
    "mm", "cm", "km", "kg", "ml", "hz", "khz", "mhz", "eur", "euro", "usd", "rows", "mal",
];

/// This many words that name the same things make two messages be about the same.
const SAME_TOPIC: usize = 2;

/// Which of two messages that say otherwise of the same unit are about the same.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Distance {
    /// The later message follows the reply to the earlier one, so it is about that.
    Next,
    /// The messages must also name the same.
    Far,
}

/// What a message can take back.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    Anything,
    /// Only values: its words choose, wish, answer and correct nothing.
    Values,
}

/// A message that may take back earlier ones: one that chooses, wishes, answers or corrects, or
/// that sets a value.
pub(super) struct LaterMessage<'m> {
    pub message: &'m str,
    reach: Reach,
    lower: String,
    /// Its words that name something, in lower case.
    pub names: Vec<String>,
}

impl<'m> LaterMessage<'m> {
    pub fn new(message: &'m str) -> LaterMessage<'m> {
        let lower = message.to_lowercase();
        LaterMessage {
            message,
            reach: Reach::Anything,
            names: naming_words(&lower).map(str::to_owned).collect(),
            lower,
        }
    }

    /// Returns a message that can take back values. What the reply counts belongs to the numbers in
    /// it: "make it 48", and then "the limit is 48 hours".
    pub fn setting_value(message: &'m str, reply: &str) -> LaterMessage<'m> {
        let mut later = LaterMessage::new(message);
        later.reach = Reach::Values;
        let numbers = later.lower.clone();
        for (number, counted) in find_counts(&reply.to_lowercase()) {
            if words_of(&numbers).any(|word| word == number) {
                later.lower.push_str(&format!(" {number} {counted}"));
                later.names.push(counted.to_owned());
            }
        }
        later
    }

    /// Returns what follows an item that the message takes back. The message may be far below, or
    /// in another section, so it is quoted.
    pub fn mark(&self) -> String {
        format!(" (later: {})", quote_line(self.message, REMINDER))
    }

    /// Whether it goes back on something by its words, such as "after all".
    pub fn is_reversal(&self) -> bool {
        REVERSALS.iter().any(|words| self.lower.contains(words))
    }

    /// Whether one of its names is in an earlier message, which is in lower case.
    pub fn has_name_in(&self, earlier: &str) -> bool {
        self.names.iter().any(|name| earlier.contains(&**name))
    }

    /// Whether one of the words is a name that the message has, too.
    pub fn names_one_of(&self, words: &HashSet<Box<str>>) -> bool {
        self.names.iter().any(|name| words.contains(&**name))
    }

    /// Whether it counts something, or goes back on a number. Most messages with a number only name
    /// something by it: "line 338".
    pub fn may_replace_value(&self) -> bool {
        self.goes_back() || !find_counts(&self.lower).is_empty()
    }

    /// Whether it goes back on something, or finds that something goes too far.
    fn goes_back(&self) -> bool {
        self.is_reversal() || has_word_of(&self.lower, &EXCESSES)
    }

    /// Whether it can take back an earlier message, which is in lower case. Most messages name
    /// nothing of the earlier one. This is tested without a table of words.
    pub fn may_take_back(&self, earlier: &str) -> bool {
        self.has_name_in(earlier) || is_value(earlier)
    }

    /// Whether it takes back an earlier message, which is in lower case: both name the same, and
    /// the later one counts otherwise, says so, or denies what was affirmed. Units of measure name
    /// nothing, unless the later message comes next. A number that was answered names itself.
    pub fn takes_back(&self, earlier: &str, distance: Distance) -> bool {
        if self.goes_back_on_value(earlier) {
            return true;
        }
        let mut shared: HashSet<&str> = naming_words(earlier).collect();
        shared.retain(|name| self.names.iter().any(|own| own == name));
        if distance == Distance::Far {
            shared.retain(|name| !UNITS.contains(name));
        }
        let shared_count = shared.len();
        if shared_count == 0 {
            return false;
        }
        if counts_otherwise(&self.lower, earlier) {
            return true;
        }
        if self.reach == Reach::Values {
            return false;
        }
        let denies = is_negated(&self.lower) != is_negated(earlier);
        let is_about_same = shared_count >= SAME_TOPIC;
        self.is_reversal() || is_about_same && (denies || is_correction(self.message))
    }

    /// Whether it repeats an answer that is little more than a number, and goes back on it or finds
    /// it too much: "3", and then "3 is too loose, take 2.5".
    fn goes_back_on_value(&self, answer: &str) -> bool {
        if !is_value(answer) || !self.goes_back() {
            return false;
        }
        words_of(answer).all(|word| words_of(&self.lower).any(|own| own == word))
    }
}

/// Whether an answer is little more than a number: "3", "45 min".
fn is_value(answer: &str) -> bool {
    /// The most bytes and words of such an answer.
    const LONGEST: usize = 24;
    const MOST_WORDS: usize = 3;

    answer.len() <= LONGEST
        && answer.contains(|c: char| c.is_ascii_digit())
        && words_of(answer).count() <= MOST_WORDS
}

/// Whether a message is short enough to do little more than set a value, and has a number.
pub(super) fn may_set_value(message: &str) -> bool {
    let has_number = message.contains(|c: char| c.is_ascii_digit());
    has_number && is_narrower(message, LONG_REQUEST) && !is_question(message)
}

/// Whether a later turn replaces the value that an earlier one set: requests and replies name the
/// same, and count it otherwise.
pub(super) fn replaces_value(later: &Turn, earlier: &Turn) -> bool {
    if !may_set_value(&later.request) || !may_set_value(&earlier.request) {
        return false;
    }
    let texts = [later, earlier].map(|turn| format!("{} {}", turn.request, turn.last_words()));
    let [later, earlier] = texts.map(|text| text.to_lowercase());
    let names: HashSet<&str> = naming_words(&later).collect();
    let mut shared = naming_words(&earlier).filter(|name| names.contains(name));
    shared.any(|name| !UNITS.contains(&name)) && counts_otherwise(&later, &earlier)
}

/// Whether a decision, in lower case, is made to be tried, or has a condition.
pub(super) fn is_trial(decision: &str) -> bool {
    has_word_of(decision, &TRIALS)
}

fn is_negated(lower: &str) -> bool {
    has_word_of(lower, &NEGATIONS)
}

/// Iterates over the words and numbers of a text, with the fraction of a number.
fn words_of(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split(|c: char| !c.is_alphanumeric() && c != '.');
    parts
        .map(|part| part.trim_matches('.'))
        .filter(|part| !part.is_empty())
}

fn has_word_of(lower: &str, list: &[&str]) -> bool {
    let mut words = lower.split(|c: char| !c.is_alphanumeric() && !"'’".contains(c));
    words.any(|word| list.contains(&word))
}

/// Whether two texts have a different number of the same: "3 slots" and "4 slots". A number after a
/// word may be a name instead: "gauge 7".
fn counts_otherwise(later: &str, earlier: &str) -> bool {
    let later_counts = find_counts(later);
    find_counts(earlier).iter().any(|(number, counted)| {
        let same_counted = later_counts.iter().filter(|(_, other)| other == counted);
        let mut numbers = same_counted
            .map(|(other_number, _)| other_number)
            .peekable();
        numbers.peek().is_some() && numbers.all(|other_number| other_number != number)
    })
}

/// Returns the numbers in a text, each with the word of content or the unit after it.
fn find_counts(lower: &str) -> Vec<(&str, &str)> {
    let words: Vec<&str> = lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let mut counts = Vec::new();
    for pair in words.windows(2) {
        let is_number = pair[0].bytes().all(|byte| byte.is_ascii_digit());
        let is_counted = naming_words(pair[1]).next().is_some() || SHORT_UNITS.contains(&pair[1]);
        if is_number && is_counted {
            counts.push((pair[0], pair[1]));
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_takes_back_what_names_the_same_and_says_otherwise() {
        for (earlier, later, is_taken_back) in [
            (
                "three pots, 3 slots each",
                "actually 4 slots, mine too",
                true,
            ),
            ("no icons of ships on the map", "use icons for ships", true),
            (
                "never call the harbour office",
                "call the harbour after all",
                true,
            ),
            (
                "dash the lines of the ferries",
                "no, the ferries are lines of dots",
                true,
            ),
            // They name different things, or the same and agree.
            ("gauge 7 is the corrected one", "gauge 9 stays out", false),
            (
                "no icons of ships on the map",
                "no icons of ships in the legend",
                false,
            ),
            ("dash the lines", "make the harbours blue instead", false),
            ("the harbours are blue", "never draw a border", false),
        ] {
            let later = LaterMessage::new(later);
            let is_marked = later.takes_back(earlier, Distance::Far);
            assert_eq!(is_marked, is_taken_back, "{earlier}");
        }
    }

    #[test]
    fn the_same_unit_is_the_same_thing_only_in_the_next_message() {
        let earlier = "cancel up to 24 hours before";
        for (message, reply, distance, is_taken_back) in [
            (
                "the boss says 48",
                "It is 48 hours now.",
                Distance::Next,
                true,
            ),
            (
                "the boss says 48",
                "It is 48 hours now.",
                Distance::Far,
                false,
            ),
            (
                "the boss says 48",
                "48 boats, in 24 hours.",
                Distance::Next,
                false,
            ),
            ("tides of 48 hours", "", Distance::Far, false),
            ("cancel up to 48 hours before", "", Distance::Far, true),
        ] {
            let later = LaterMessage::setting_value(message, reply);
            let is_marked = later.takes_back(earlier, distance);
            assert_eq!(is_marked, is_taken_back, "{message} {reply}");
        }
    }

    #[test]
    fn a_value_is_replaced_by_another_of_the_same_thing() {
        let turn = |request: &str, reply: &str| {
            let mut turn = Turn::from_message(1, String::new(), request);
            turn.remarks.push(reply.to_owned());
            turn
        };
        let earlier = turn("the lamp: count 12 kWh a night", "12 kWh for each night.");
        for (request, reply, is_replaced) in [
            ("sorry, it is 18 kWh", "18 kWh for each night now.", true),
            ("a night has 12 kWh and a day 9", "12 kWh by night.", false),
            ("the horn: 3 kWh", "3 kWh for the horn.", false),
            ("is it 18 kWh?", "No, 12 kWh for each night.", false),
        ] {
            let later = turn(request, reply);
            assert_eq!(replaces_value(&later, &earlier), is_replaced, "{request}");
        }
    }

    #[test]
    fn a_number_that_was_answered_is_taken_back_by_its_repetition() {
        for (answer, message, is_taken_back) in [
            ("3", "3 is too loose, take 2.5", true),
            ("45 min", "45 min ist zu kurz, nimm 90", true),
            ("3", "draw 3 harbours", false),
            ("3", "3.5 is too loose", false),
            ("yes", "yes, too loose", false),
        ] {
            let later = LaterMessage::new(message);
            let is_marked = later.takes_back(answer, Distance::Far);
            assert_eq!(is_marked, is_taken_back, "{message}");
        }
    }
}
