//! Choices of the assistant: what it settled by itself, because nobody was asked. A reader who does
//! not know them decides again, perhaps in another way.

use super::budget::{MAX_HELD, POINT};
use super::choice_sentences::{OwnChoice, find_certain_choices, find_choices};
use super::decision_lists::find_decision_list;
use super::fitting::{item_size, keep_newest};
use super::given_up::gives_up_in;
use super::quote::quote_line;
use super::sections::{DECISION_LIST_LEAD, OWN_CHOICE_LEAD};
use super::turns::Turn;
use super::words::{compile_expression, naming_words};
use foldhash::HashSet;
use regex::Regex;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use unicode_segmentation::UnicodeSegmentation;

/// A turn with at least this many calls is a long run.
const LONG_RUN: usize = 10;
/// The greatest number of choices that are listed.
const MOST_LISTED: usize = 6;
/// The greatest number of lists of decisions that are kept.
const MOST_LISTS: usize = 2;
/// Two choices with this many words in common, and half of those of the shorter, are about the
/// same. So is a request with this many words of a choice.
const SHARED_WORDS: usize = 3;

/// The choices that the assistant made, oldest first.
#[derive(Default)]
pub(super) struct OwnChoices {
    choices: Vec<OwnChoice>,
    /// The newest lists of decisions, oldest first.
    lists: Vec<String>,
}

impl OwnChoices {
    /// Adds the choices of a turn: those in all remarks of a long run and, if there was less work,
    /// those of the answer that are certain. A later choice about the same replaces an earlier one.
    pub fn add_turn(&mut self, turn: &Turn) {
        for remark in &turn.remarks {
            if let Some(list) = find_decision_list(remark) {
                self.add_list(list);
            }
        }
        let is_long_run = turn.call_count >= LONG_RUN;
        let has_answer_to_work = turn.call_count > 0 && turn.is_answered();
        if is_long_run {
            for remark in &turn.remarks {
                self.add_all(find_choices(remark), turn.number);
            }
        } else if has_answer_to_work {
            self.add_all(find_certain_choices(turn.last_words()), turn.number);
        }
    }

    /// Adds a list of decisions. One that is much the same replaces the one before.
    fn add_list(&mut self, list: String) {
        self.lists.retain(|known| !shares_most_words(known, &list));
        self.lists.push(list);
        let excess = self.lists.len().saturating_sub(MOST_LISTS);
        self.lists.drain(..excess);
    }

    /// Quotes the lists of decisions in at most `max` UTF-16 units, but not what is in
    /// `last_words`, which are quoted as well.
    pub fn describe_lists(&self, max: usize, last_words: &str) -> Vec<String> {
        let quoted_anyway = find_decision_list(last_words);
        let mut points = Vec::new();
        for list in &self.lists {
            if quoted_anyway.as_ref() == Some(list) {
                continue;
            }
            let inner = list.replace('"', "'");
            points.push(format!("{DECISION_LIST_LEAD}\"{inner}\""));
        }
        keep_newest(points, max)
    }

    fn add_all(&mut self, choices: impl IntoIterator<Item = OwnChoice>, turn_number: usize) {
        for mut choice in choices {
            choice.turn_number = turn_number;
            self.add(choice);
        }
    }

    /// Adds a choice in place of those about the same. One that reverses the last choice ("back to
    /// one file"), and has a word of it, replaces it, too. One that only withdraws it is not added.
    fn add(&mut self, choice: OwnChoice) {
        if choice.is_reversal
            && let Some(last) = self.choices.last()
            && !last.words.is_disjoint(&choice.words)
        {
            self.choices.pop();
        }
        if choice.is_withdrawal {
            return;
        }
        self.choices.retain(|known| {
            let shared_count = known.words.intersection(&choice.words).count();
            let fewer_words = known.words.len().min(choice.words.len());
            let is_about_same = shared_count >= SHARED_WORDS && 2 * shared_count >= fewer_words;
            !is_about_same
        });
        let excess = (self.choices.len() + 1).saturating_sub(MAX_HELD);
        self.choices.drain(..excess);
        self.choices.push(choice);
    }

    /// Drops the choices that a later request is about: what it says of them counts. One that does
    /// without something needs to name only that ("we don't need the outlier part"), and one that
    /// undoes the work of the turn before, whose number is given, names nothing of it.
    pub fn drop_those_in(&mut self, request: &str, turn_before: usize) {
        if self.choices.is_empty() {
            return;
        }
        if undoes_work(request) {
            self.choices
                .retain(|choice| choice.turn_number != turn_before);
        }
        let lower = request.to_lowercase();
        let said_words: HashSet<&str> = naming_words(&lower).collect();
        let given_up = names_given_up(&lower);
        self.choices.retain(|choice| {
            let is_given_up = choice
                .words
                .iter()
                .any(|word| given_up.contains(&singular(word)));
            !is_given_up && !is_about_choice(request, &said_words, &choice.text)
        });
    }

    /// Lists the choices that say most, of equals the newest, in their order and in at most `max`
    /// UTF-16 units. Those in `last_words`, which are quoted as well, are left out.
    pub fn describe(&self, max: usize, last_words: &str) -> Vec<String> {
        let mut points = BTreeMap::new();
        let mut room = max;
        for index in self.rank() {
            let text = &self.choices[index].text;
            if last_words.contains(text) {
                continue;
            }
            let point = format!("{OWN_CHOICE_LEAD}{}", quote_line(text, POINT));
            let size = item_size(&point);
            if size > room || points.len() == MOST_LISTED {
                break;
            }
            room -= size;
            points.insert(index, point);
        }
        // By their indexes, which is the order in which the choices were made.
        points.into_values().collect()
    }

    /// Returns the indexes of the choices, that of the choice which says most first; of equals, the
    /// newest first.
    fn rank(&self) -> Vec<usize> {
        let mut newest_first: Vec<usize> = (0..self.choices.len()).rev().collect();
        // A stable sort, so the newest of equals stays first.
        newest_first.sort_by_key(|&index| Reverse(self.choices[index].rating));
        newest_first
    }
}

/// Whether the user undid what the last turn changed, or has it undone: "i undid your changes".
fn undoes_work(request: &str) -> bool {
    static UNDO: LazyLock<Regex> = LazyLock::new(|| {
        compile_expression(
            r"(?ix)\b(i|we)\ (have\ |['’]ve\ |just\ )?(undid|undone|reverted|discarded|rolled\ back)\b
            | ^\W*((please|pls|ok|okay|no|now|just|so|and|then|yes|yeah|you|can|could)\W+){0,3}(undo|revert|roll\ back|discard)\ (it|that|this|your|the|all|my|last|everything)\b
            | rückgängig",
        )
    });
    UNDO.is_match(request)
}

/// Returns the words that name what a request, in lower case, does without, in the singular.
fn names_given_up(lower_request: &str) -> HashSet<&str> {
    let mut names = HashSet::default();
    for sentence in lower_request.lines().flat_map(str::unicode_sentences) {
        if gives_up_in(sentence) {
            names.extend(naming_words(sentence).map(singular));
        }
    }
    names
}

fn singular(word: &str) -> &str {
    word.trim_end_matches('s')
}

/// Whether a request, whose naming words are `said_words`, is about a choice of the assistant.
pub(super) fn is_about_choice(request: &str, said_words: &HashSet<&str>, choice: &str) -> bool {
    let lower = choice.to_lowercase();
    let words: HashSet<&str> = naming_words(&lower).collect();
    words.intersection(said_words).count() >= SHARED_WORDS || names_identifier_of(request, choice)
}

/// Whether two lists have most of the words in common that name something: more than half of those
/// of the list that has fewer.
fn shares_most_words(one: &str, other: &str) -> bool {
    let lower_one = one.to_lowercase();
    let lower_other = other.to_lowercase();
    let words: HashSet<&str> = naming_words(&lower_one).collect();
    let other_words: HashSet<&str> = naming_words(&lower_other).collect();
    let shared_count = words.intersection(&other_words).count();
    2 * shared_count > words.len().min(other_words.len())
}

/// Whether two texts have an identifier in common: a word with a capital letter or an underscore
/// inside, as `setLimit` and `max_size`.
fn names_identifier_of(text: &str, other: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .any(|word| is_identifier(word) && other.contains(word))
}

fn is_identifier(word: &str) -> bool {
    let has_inner_capital = word.chars().skip(1).any(char::is_uppercase);
    let has_small_letter = word.chars().any(char::is_lowercase);
    word.trim_matches('_').contains('_') || has_inner_capital && has_small_letter
}
