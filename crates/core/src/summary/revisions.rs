//! Revisions: which decisions and wishes a later message takes back, and the mark that quotes it.

use super::budget::REMINDER;
use super::choices::is_correction;
use super::quote::quote_line;
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

/// This many words that name the same things make two messages be about the same.
const SAME_TOPIC: usize = 2;

/// A message that may take back earlier ones: one that chooses, wishes, answers or corrects.
pub(super) struct LaterMessage<'m> {
    pub message: &'m str,
    lower: String,
    /// Its words that name something, in lower case.
    pub names: Vec<String>,
}

impl<'m> LaterMessage<'m> {
    pub fn new(message: &'m str) -> LaterMessage<'m> {
        let lower = message.to_lowercase();
        LaterMessage {
            message,
            names: naming_words(&lower).map(str::to_owned).collect(),
            lower,
        }
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

    /// Whether it takes back an earlier message, which is in lower case: both name the same, and
    /// the later one says so, counts otherwise, or denies what was affirmed.
    pub fn takes_back(&self, earlier: &str) -> bool {
        // Most messages name nothing of the earlier one. This is tested without a table of words.
        if !self.has_name_in(earlier) {
            return false;
        }
        let mut shared: HashSet<&str> = naming_words(earlier).collect();
        shared.retain(|name| self.names.iter().any(|own| own == name));
        let shared_count = shared.len();
        if shared_count == 0 {
            return false;
        }
        if self.is_reversal() || counts_otherwise(&self.lower, earlier) {
            return true;
        }
        let denies = is_negated(&self.lower) != is_negated(earlier);
        shared_count >= SAME_TOPIC && (denies || is_correction(self.message))
    }
}

/// Whether a decision, in lower case, is made to be tried, or has a condition.
pub(super) fn is_trial(decision: &str) -> bool {
    has_word_of(decision, &TRIALS)
}

fn is_negated(lower: &str) -> bool {
    has_word_of(lower, &NEGATIONS)
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

/// Returns the numbers in a text, each with the word of content after it.
fn find_counts(lower: &str) -> Vec<(&str, &str)> {
    let words: Vec<&str> = lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let mut counts = Vec::new();
    for pair in words.windows(2) {
        let is_number = pair[0].bytes().all(|byte| byte.is_ascii_digit());
        if is_number && naming_words(pair[1]).next().is_some() {
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
            assert_eq!(later.takes_back(earlier), is_taken_back, "{earlier}");
        }
    }
}
