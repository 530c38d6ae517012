//! Decisions: how users answer questions, and what they correct.

use super::budget::*;
use super::proposals::Proposal;
use super::prose::prose_of_user;
use super::quote::{first_chars, one_line, quote_line};
use super::referents::{is_sequel, points_back, quote_referents, shares_word};
use super::sections::comparison_key;
use super::turns::Turn;
use super::wishes::binding_sentences;
use super::words::content_words;
use foldhash::HashSet;

/// The decisions of a session, oldest first.
#[derive(Debug, Default)]
pub(super) struct Decisions(Vec<Decision>);

#[derive(Debug)]
struct Decision {
    text: String,
    /// The form in which decisions are compared.
    key: String,
    /// A shorter text, for when the decision is old.
    short_text: String,
    /// The words of content in it, by which a message that quotes it is recognized.
    words: HashSet<Box<str>>,
    /// The number of the turn in which it was made, or quoted last.
    turn_number: usize,
    /// The number of the turn in which it was made: that of the message, or the one before, if the
    /// message answers or corrects it.
    made_in: usize,
    /// The message that made it, as it is quoted, and the words of content of what it did not take
    /// up. Empty if the user was not asked.
    answer: String,
    refused_words: HashSet<Box<str>>,
    /// Whether a later decision takes back a part of it.
    is_revised: bool,
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

    /// Adds the answer to a proposal.
    pub fn add_answer(&mut self, proposal: &Proposal, answer: &str, turn_number: usize) {
        let text = proposal.describe_decision(answer, QUESTION, POINT);
        let short_text = proposal.describe_decision(answer, FINDING, OLDEST);
        self.add_texts(text, short_text, turn_number);
        if let Some(decision) = self.0.last_mut() {
            let lower_answer = answer.to_lowercase();
            let taken_up: HashSet<&str> = content_words(&lower_answer).collect();
            decision.answer = quote_line(answer, POINT);
            decision.refused_words = decision.words.clone();
            decision
                .refused_words
                .retain(|word| !taken_up.contains(&**word));
        }
    }

    /// Marks as revised the newest decisions that a choice goes back on: it names what they did not
    /// take up, and has a word such as "then" or "instead".
    pub fn revise_by_choice(&mut self, choice: &str) {
        if !is_sequel(choice) {
            return;
        }
        let lower_choice = choice.to_lowercase();
        for decision in self.0.iter_mut().rev().take(REVISABLE) {
            let mut words = content_words(&lower_choice);
            decision.is_revised |= words.any(|word| decision.refused_words.contains(word));
        }
    }

    /// Adds what the user said unasked, unless a decision quotes it already. `lead` says on what
    /// occasion, `referents` what the words refer to: for the decision, and for its shorter text.
    pub fn add_words(
        &mut self,
        lead: &str,
        words: &str,
        referents: [String; 2],
        turn_number: usize,
    ) {
        let quotation = quote_line(words, POINT);
        // A decision may quote more than these words, so the quotation marks are not compared.
        let quoted_words = quotation.trim_matches('"');
        let mut known_texts = self.0.iter().map(|known| &known.text);
        if known_texts.any(|text| text.contains(quoted_words)) {
            return;
        }
        let [referent, short_referent] = referents;
        let text = format!("{lead}: {quotation}{referent}");
        let short_text = format!("{lead}: {}{short_referent}", quote_line(words, OLDEST));
        self.add_texts(text, short_text, turn_number);
    }

    /// Adds a message that corrects the reply of a turn, and marks as revised the decision that the
    /// turn carried out. What as a whole is a wish is listed as one.
    pub fn add_correction(&mut self, message: &str, turn: &Turn) {
        let answers = [&turn.request, &turn.nod].map(|words| quote_line(words, POINT));
        for decision in &mut self.0 {
            decision.is_revised |= answers.contains(&decision.answer);
        }
        let wishes = binding_sentences(message, &prose_of_user(message));
        if wishes.contains(&quote_line(message, POINT)) {
            return;
        }
        let refers = points_back(message) || shares_word(turn.last_words(), message);
        let referents = if refers {
            quote_referents(turn, message)
        } else {
            Default::default()
        };
        self.add_words("The user corrected", message, referents, turn.number);
    }

    /// Adds a decision, replacing an equal one. Of more than [`MAX_HELD`], the oldest are dropped.
    fn add_texts(&mut self, text: String, short_text: String, turn_number: usize) {
        let key = comparison_key(&text);
        self.0.retain(|known| known.key != key);
        let excess = (self.0.len() + 1).saturating_sub(MAX_HELD);
        self.0.drain(..excess);
        self.0.push(Decision {
            words: content_words(&text.to_lowercase()).map(Box::from).collect(),
            text,
            key,
            short_text,
            turn_number,
            made_in: turn_number,
            answer: String::new(),
            refused_words: HashSet::default(),
            is_revised: false,
        });
    }

    /// Returns the numbers of the turns in which the decisions were made, in their order.
    pub fn turn_numbers(&self) -> impl DoubleEndedIterator<Item = usize> {
        self.0.iter().map(|decision| decision.made_in)
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
            let mut text = if is_old {
                decision.short_text.clone()
            } else {
                decision.text.clone()
            };
            if decision.is_revised {
                text.push_str(REVISED_MARK);
            }
            texts.push(text);
        }
        texts
    }
}

/// What follows a decision that a later one revises. The order shows which one.
const REVISED_MARK: &str = " (but see below)";

/// The number of newest decisions that a choice can go back on.
const REVISABLE: usize = 3;

/// A message quotes a decision if it has this many of its words of content.
const QUOTED_WORDS: usize = 3;
