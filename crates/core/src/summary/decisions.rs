//! Decisions: how users answer questions, and what they correct.

use super::budget::*;
use super::quote::{
    display_width, ends_in_question, first_chars, last_prose_line, one_line, quote_line,
};
use super::sections::comparison_key;
use super::wishes::sentences_of_lines;
use foldhash::HashSet;
use regex::Regex;
use std::sync::LazyLock;
use unicode_segmentation::UnicodeSegmentation;

/// The decisions of a session, oldest first.
#[derive(Debug, Default)]
pub(super) struct Decisions(Vec<Decision>);

#[derive(Debug)]
struct Decision {
    text: String,
    /// A shorter text, for when the decision is old.
    short_text: String,
    /// The words of content in it, by which a message that quotes it is recognized.
    words: HashSet<Box<str>>,
    /// The number of the turn in which it was made, or quoted last.
    turn_number: usize,
}

impl Decisions {
    /// Takes over the decisions of a previous summary. They age from there on.
    pub fn from_previous(texts: Vec<String>) -> Decisions {
        let mut decisions = Decisions::default();
        for text in texts {
            let short_text = one_line(&text, POINT);
            decisions.add_texts(text, short_text, 0);
        }
        decisions
    }

    /// Adds the answer to a question.
    pub fn add_answer(&mut self, question: &str, answer: &str, turn_number: usize) {
        let text = describe_decision(question, answer, POINT);
        let short_text = describe_decision(question, answer, OLDEST);
        self.add_texts(text, short_text, turn_number);
    }

    /// Adds what the user said unasked, unless a decision quotes it already. `lead` says on what
    /// occasion.
    pub fn add_words(&mut self, lead: &str, words: &str, turn_number: usize) {
        let quotation = quote_line(words, POINT);
        // A decision may quote more than these words, so the quotation marks are not compared.
        let quoted_words = quotation.trim_matches('"');
        let mut known_texts = self.0.iter().map(|known| &known.text);
        if known_texts.any(|text| text.contains(quoted_words)) {
            return;
        }
        let text = format!("{lead}: {quotation}");
        let short_text = format!("{lead}: {}", quote_line(words, OLDEST));
        self.add_texts(text, short_text, turn_number);
    }

    /// Adds a decision, replacing an equal one. Of more than [`MAX_HELD`], the oldest are dropped.
    fn add_texts(&mut self, text: String, short_text: String, turn_number: usize) {
        let key = comparison_key(&text);
        self.0.retain(|known| comparison_key(&known.text) != key);
        let excess = (self.0.len() + 1).saturating_sub(MAX_HELD);
        self.0.drain(..excess);
        self.0.push(Decision {
            words: content_words(&text.to_lowercase()).map(Box::from).collect(),
            text,
            short_text,
            turn_number,
        });
    }

    /// Renews the decisions that a message quotes, so that they age from this turn on.
    pub fn renew_quoted(&mut self, message: &str, turn_number: usize) {
        if self.0.is_empty() {
            return;
        }
        let start = first_chars(message, WHOLE_REQUEST).to_lowercase();
        let said: HashSet<&str> = content_words(&start).collect();
        for decision in &mut self.0 {
            if decision.words.is_empty() {
                continue;
            }
            let quoted_words = decision.words.iter().filter(|word| said.contains(&***word));
            let shared_count = quoted_words.count();
            // A short decision is quoted by all of its words.
            if shared_count >= QUOTED_WORDS.min(decision.words.len()) {
                decision.turn_number = turn_number;
            }
        }
    }

    /// Returns the decisions as they are reported in a turn, oldest first: those of more than
    /// [`DECISION_TURNS`] turns before in short. They are not left out, because what a session
    /// begins with is most often decided for good.
    pub fn describe(&self, turn_number: usize) -> Vec<String> {
        let mut texts = Vec::new();
        for decision in &self.0 {
            let is_old = decision.turn_number + DECISION_TURNS < turn_number;
            texts.push(if is_old {
                decision.short_text.clone()
            } else {
                decision.text.clone()
            });
        }
        texts
    }
}

/// A message quotes a decision if it has this many of its words of content.
const QUOTED_WORDS: usize = 3;

/// Iterates over the words of a text in lower case that are long enough to be of content. A word
/// consists of letters, digits and underscores.
fn content_words(lower: &str) -> impl Iterator<Item = &str> {
    lower
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| word.chars().count() >= CONTENT_WORD)
}

/// The words with which a message answers a question.
const ANSWERS: &str = r"(?i)^\W*(yes|yep|yeah|no|nope|ok|okay|sure|go|do|please|both|neither|none|all|ja|nein|oui|non|s[ií]|não|да|нет|是|不|好|对|可以|はい|いいえ|네|아니|نعم|لا)([^\p{L}]|$)";

/// An answer of fewer columns needs no word in common with the question.
const SHORT_ANSWER: usize = 60;

/// A word of at least this many characters is one of content.
const CONTENT_WORD: usize = 5;

/// Whether a message answers the question before it, and is not simply what came next: it is short,
/// begins as an answer does, names an item of a list, or has a word of the question. Whether the
/// reply before it asks at all is for [`asks`] to say.
pub(super) fn is_answer(question: &str, message: &str) -> bool {
    static ANSWER: LazyLock<Regex> = LazyLock::new(|| Regex::new(ANSWERS).expect("a constant"));
    if ends_in_question(message) {
        return false;
    }
    if display_width(message) < SHORT_ANSWER || ANSWER.is_match(message) {
        return true;
    }
    let first_name = message
        .split(|c: char| !c.is_alphanumeric())
        .next()
        .unwrap_or_default();
    if find_item(question, first_name).is_some() {
        return true;
    }

    let asked = last_sentence(question).to_lowercase();
    let asked_words: HashSet<&str> = content_words(&asked).collect();
    content_words(&message.to_lowercase()).any(|word| asked_words.contains(word))
}

/// Whether a reply asks the user to choose: it ends in a question, or offers two ways ("I can …, or
/// …").
pub(super) fn asks(reply: &str) -> bool {
    static OFFER: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)^(I can|I could|we can|we could|either|you can)\b.*\bor\b")
            .expect("a constant")
    });
    ends_in_question(reply) || OFFER.is_match(last_sentence(reply))
}

/// Returns the last sentence of the last line of prose.
fn last_sentence(text: &str) -> &str {
    let line = last_prose_line(text);
    line.unicode_sentences().last().unwrap_or(line).trim()
}

/// Whether a message corrects what the assistant did or said.
pub(super) fn is_correction(message: &str) -> bool {
    static CORRECTION: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)^\W*(no,|nope,|nah,|not |that.{0,5}s not|actually,? |rather,? |instead,? |i meant )")
            .expect("a constant")
    });
    CORRECTION.is_match(message)
}

/// The words with which people choose one thing over another, or say what something is to be.
const CHOICES: &str = r"(?ix) (^|\W)(
    instead | rather\ than | should\ (be|stay|only|not) | stays? | stick\ (with|to) | (go|going)\ with
    | (we|i)(\ will|[’']?ll)?\ (use|take|keep|drop) | (i|i[’']d|we[’']d)\ prefer
    | let[’']?s\ (use|take|keep|drop|leave|call|not)
    | make\ (it|them|that) | set\ (it|this|that|them|\S+\ to) | switch\ (back\ )?to
    | (remove|undo|revert|drop|kill|scrap)\ (it|that|this|them) | never\ ?mind
    | is\ (enough|plenty) | no\ need | but\ (only|without|not) | only\ (if|when|for|from|in|on) | not\ (as|in|on|the|a)
    )(\W|$)";

/// What begins like a choice, and only hopes.
const NO_CHOICES: &str = r"(?i)should be (good|fine|ok|okay|able|easy|enough)\b";

/// A choice takes at least this many columns: `make it 150`.
const SHORTEST_CHOICE: usize = 8;

/// Returns the sentences of prose in which the user chooses. A question is no choice.
pub(super) fn choices(prose: &[&str]) -> Vec<String> {
    static CHOICE: LazyLock<Regex> = LazyLock::new(|| Regex::new(CHOICES).expect("a constant"));
    static NO_CHOICE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(NO_CHOICES).expect("a constant"));
    let mut sentences = Vec::new();
    for sentence in sentences_of_lines(prose, &CHOICE) {
        let is_quotable = (SHORTEST_CHOICE..POINT).contains(&display_width(sentence));
        let chooses = CHOICE.is_match(sentence) && !NO_CHOICE.is_match(sentence);
        if is_quotable && chooses && !ends_in_question(sentence) {
            sentences.push(sentence.to_owned());
        }
    }
    sentences
}

/// Describes a decision by the last sentence of a question and its answer. If a short answer names
/// items of a list in the question (`2`, `b`), they are added. Question and answer take at most
/// `max` units each.
fn describe_decision(question: &str, answer: &str, max: usize) -> String {
    let asked = quote_line(last_sentence(question), max);
    let answered = quote_line(answer, max);
    let mut decision = format!("Asked {asked}, the user answered {answered}");
    for item in find_named_items(question, answer) {
        decision.push_str("; ");
        decision.push_str(&quote_line(item, max / 2));
    }
    decision
}

/// Returns the items of a list in the question that a short answer names.
fn find_named_items<'q>(question: &'q str, answer: &str) -> Vec<&'q str> {
    let mut items = Vec::new();
    // The words of a longer answer are rarely names of items: `a` is in most sentences.
    if display_width(answer) >= REMARK {
        return items;
    }
    for name in answer.split(|c: char| !c.is_alphanumeric()) {
        if items.len() == MOST_NAMED_ITEMS {
            break;
        }
        if let Some(item) = find_item(question, name) {
            items.push(item);
        }
    }
    items
}

/// The maximum number of items of a list that an answer can name.
const MOST_NAMED_ITEMS: usize = 3;

/// The maximum length of the number or letter of an item, in bytes.
const LONGEST_ITEM_NAME: usize = 2;

/// Returns the first line of a question that is the item of a list with this number or letter.
/// `None` if `name` is empty, or longer than those of items.
fn find_item<'q>(question: &'q str, name: &str) -> Option<&'q str> {
    if name.is_empty() || name.len() > LONGEST_ITEM_NAME {
        return None;
    }
    question.lines().find(|line| {
        let unmarked = line.trim_start_matches([' ', '*', '(', '-', '#']);
        unmarked
            .strip_prefix(name)
            .is_some_and(|rest| rest.starts_with(['.', ')', ':']))
    })
}
