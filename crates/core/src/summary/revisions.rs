//! Revisions: which decisions and wishes a later message takes back, and the mark that quotes it.

use super::budget::MARK;
use super::choices::is_correction;
use super::counts::{UNITS, counts_otherwise, find_counts, words_and_numbers};
use super::quote::{is_narrower, quote_line};
use super::values::{is_found_excessive, is_value, sets_color};
use super::words::naming_words;
use foldhash::HashSet;
use unicode_segmentation::UnicodeSegmentation;

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

    /// Returns a message that sets a value, so that it can take back other values, but nothing
    /// else. The reply to it shows what its numbers count: after "make it 48" and the reply "the
    /// limit is 48 hours now", the message counts 48 hours.
    pub fn setting_value(message: &'m str, reply: &str) -> LaterMessage<'m> {
        let mut later = LaterMessage::new(message);
        later.reach = Reach::Values;
        // The numbers are looked for in the message itself, not in what is appended to it.
        let own_words = later.lower.clone();
        for (number, counted) in find_counts(&reply.to_lowercase()) {
            if words_and_numbers(&own_words).any(|word| word == number) {
                later.lower.push_str(&format!(" {number} {counted}"));
                later.names.push(counted.to_owned());
            }
        }
        later
    }

    /// Returns what follows an item that the message takes back. The message may be far below, or
    /// in another section, so it is quoted.
    pub fn mark(&self) -> String {
        mark_with(self.message)
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

    /// Whether it can take back an earlier message, which is in lower case. Most messages name
    /// nothing of the earlier one. This is tested without a table of words.
    pub fn may_take_back(&self, earlier: &str) -> bool {
        self.has_name_in(earlier) || is_value(earlier)
    }

    /// Returns the sentence of the message that takes back an `earlier` one, which is in lower
    /// case; the whole message if that is short, or if it does so in several sentences: "No. The
    /// harbours in blue."
    ///
    /// A long message has many names, and a negation somewhere. So these must be in one sentence,
    /// unless the message goes back on something by its words.
    pub fn part_taking_back(&self, earlier: &str, distance: Distance) -> Option<&'m str> {
        let is_read_as_whole = self.reach == Reach::Values || is_narrower(self.message, MARK);
        if !is_read_as_whole {
            for sentence in self.message.unicode_sentences() {
                let sentence = sentence.trim();
                if LaterMessage::new(sentence).takes_back_as_whole(earlier, distance) {
                    return Some(sentence);
                }
            }
            let goes_back = self.is_reversal() || is_correction(self.message);
            if !goes_back {
                return None;
            }
        }
        let takes_back = self.takes_back_as_whole(earlier, distance);
        takes_back.then_some(self.message)
    }

    /// Whether the message as a whole takes back an `earlier` one, which is in lower case. Both
    /// name the same thing, and one of these holds:
    ///
    /// - They have different numbers of it: "3 slots", and later "4 slots".
    /// - The earlier one names a value only by another thing ("same as the accent"), and the
    ///   message, which comes next, has a color.
    /// - The message has words such as "after all" or "instead".
    /// - They have two names in common, and either only one of them is negated ("no icons of
    ///   ships", and later "use icons for ships"), or the message begins as a correction ("no, …").
    ///
    /// A unit such as "hours" names a thing only if the message comes next. An earlier message that
    /// is only a number is taken back by repeating it: "3 is too loose".
    fn takes_back_as_whole(&self, earlier: &str, distance: Distance) -> bool {
        if self.goes_back_on_value(earlier) {
            return true;
        }

        let shared_count = self.count_shared_names(earlier, distance);
        if shared_count == 0 {
            return false;
        }
        if counts_otherwise(&self.lower, earlier) {
            return true;
        }
        // "the bullets like the accent", and next "8abeb7 is what the bullet is"
        if distance == Distance::Next && is_relative(earlier) && sets_color(&self.lower) {
            return true;
        }
        if self.reach == Reach::Values {
            return false;
        }
        if self.is_reversal() {
            return true;
        }
        let is_only_one_negated = is_negated(&self.lower) != is_negated(earlier);
        let says_otherwise = is_only_one_negated || is_correction(self.message);
        shared_count >= SAME_TOPIC && says_otherwise
    }

    /// Returns the number of names that the message and an `earlier` one have in common.
    fn count_shared_names(&self, earlier: &str, distance: Distance) -> usize {
        let mut shared: HashSet<&str> = naming_words(earlier).collect();
        shared.retain(|name| self.names.iter().any(|own| own == name));
        if distance == Distance::Far {
            shared.retain(|name| !UNITS.contains(name));
        }
        shared.len()
    }

    /// Whether it repeats an answer that is little more than a number, and goes back on it or finds
    /// it too much: "3", and then "3 is too loose, take 2.5".
    fn goes_back_on_value(&self, answer: &str) -> bool {
        if !is_value(answer) {
            return false;
        }
        let own_words: Vec<&str> = words_and_numbers(&self.lower).collect();
        let is_repeated = words_and_numbers(answer).all(|word| own_words.contains(&word));
        is_repeated && (self.is_reversal() || is_found_excessive(answer, &own_words))
    }
}

/// Returns the mark of what a sentence takes back.
pub(super) fn mark_with(sentence: &str) -> String {
    format!(" (later: {})", quote_line(sentence, MARK))
}

/// Whether a decision, in lower case, is made to be tried, or has a condition.
pub(super) fn is_trial(decision: &str) -> bool {
    has_word_of(decision, &TRIALS)
}

/// Whether a decision, in lower case, names a value only by another thing that has it.
fn is_relative(decision: &str) -> bool {
    ["same", "equal", "match", "gleich", "même"]
        .iter()
        .any(|word| decision.contains(word))
}

fn is_negated(lower: &str) -> bool {
    has_word_of(lower, &NEGATIONS)
}

fn has_word_of(lower: &str, list: &[&str]) -> bool {
    let mut words = lower.split(|c: char| !c.is_alphanumeric() && !"'’".contains(c));
    words.any(|word| list.contains(&word))
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
            // Names and negation are in different sentences, or in one.
            (
                "draw icons of ships on the map",
                "The icons look well. The ships leave at noon. The paper does not fit the frame of the office.",
                false,
            ),
            (
                "draw icons of ships on the map",
                "The ships leave at noon, and the paper came. Do not draw icons of ships on the second sheet.",
                true,
            ),
            // What they count is a unit.
            (
                "a link of 6 characters",
                "b. but short, 60 characters",
                false,
            ),
        ] {
            let later = LaterMessage::new(later);
            let is_marked = later.part_taking_back(earlier, Distance::Far).is_some();
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
            let is_marked = later.part_taking_back(earlier, distance).is_some();
            assert_eq!(is_marked, is_taken_back, "{message} {reply}");
        }
    }

    #[test]
    fn a_color_replaces_the_likeness_to_another_thing_only_in_the_next_message() {
        let earlier = "the bullet should be the same as the accent";
        for (message, distance, is_taken_back) in [
            ("8abeb7 is what the bullet is", Distance::Next, true),
            ("8abeb7 is what the bullet is", Distance::Far, false),
            ("8abeb7 is what the border is", Distance::Next, false),
            ("abcdef0 is the commit of the bullet", Distance::Next, false),
        ] {
            let later = LaterMessage::setting_value(message, "");
            let is_marked = later.part_taking_back(earlier, distance).is_some();
            assert_eq!(is_marked, is_taken_back, "{message}");
        }
    }

    #[test]
    fn a_number_that_was_answered_is_taken_back_by_its_repetition() {
        for (answer, message, is_taken_back) in [
            ("3", "3 is too loose, take 2.5", true),
            ("45 min", "45 min ist zu kurz, nimm 90", true),
            ("3", "draw 3 harbours", false),
            ("45", "leg es zu den 45 Karten", false),
            ("3", "3.5 is too loose", false),
            ("yes", "yes, too loose", false),
        ] {
            let later = LaterMessage::new(message);
            let is_marked = later.part_taking_back(answer, Distance::Far).is_some();
            assert_eq!(is_marked, is_taken_back, "{message}");
        }
    }
}
