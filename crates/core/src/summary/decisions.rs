//! Decisions: how users answer questions, and what they correct.

use super::budget::*;
use super::proposals::Proposal;
use super::prose::prose_of_user;
use super::quote::{count_utf16, first_chars, is_narrower, one_line, quote_line};
use super::referents::{is_sequel, points_back, quote_referents, shares_word};
use super::revisions::{LaterMessage, is_trial};
use super::sections::comparison_key;
use super::turns::Turn;
use super::wishes::binding_sentences;
use super::words::{content_words, naming_words};
use foldhash::HashSet;

/// The decisions of a session, oldest first.
#[derive(Debug, Default)]
pub(super) struct Decisions(Vec<Decision>);

#[derive(Debug)]
pub(super) struct Decision {
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
    /// What the user said, as far as it is compared. Empty if it is of a previous summary.
    said: String,
    lower_said: String,
    /// What a question proposed that the answer did not take up, in words that name something.
    refused_words: HashSet<Box<str>>,
    /// The mark of the last message that takes it back; empty if none does.
    later_mark: String,
}

impl Decisions {
    /// Takes over the decisions of a previous summary. They age from there on.
    pub fn from_previous(texts: Vec<String>) -> Decisions {
        let mut decisions = Decisions::default();
        for text in texts {
            let text = shorten(&text);
            decisions.add(Decision::new(text.clone(), text, 0));
        }
        decisions
    }

    /// Adds the answer to the proposal in the reply of a turn. If the request of the turn only asked
    /// about the reply of the one before, this is quoted as well.
    pub fn add_answer(
        &mut self,
        proposal: &Proposal,
        answer: &str,
        turn: &Turn,
        turn_before: Option<&Turn>,
    ) {
        self.mark_taken_back(answer, Some(turn));
        let mut text = proposal.describe_decision(answer, QUESTION, POINT);
        let mut short_text = proposal.describe_decision(answer, FINDING, OLDEST);
        if let Some(before) = turn_before
            && proposal.asks_about(before)
        {
            let [referent, short_referent] = quote_referents(before, &turn.request);
            text.push_str(&referent);
            short_text.push_str(&short_referent);
        }
        let lower_answer = answer.to_lowercase();
        let taken_up: HashSet<&str> = content_words(&lower_answer).collect();
        let proposed = proposal.sentences().to_lowercase();
        let refused = naming_words(&proposed).filter(|word| !taken_up.contains(word));

        let mut decision = Decision::new(text, short_text, turn.number);
        decision.set_said(answer);
        decision.refused_words = refused.map(Box::from).collect();
        self.add(decision);
    }

    /// Adds a sentence of a request in which the user chooses. `turn_before` is the one before the
    /// request.
    pub fn add_choice(
        &mut self,
        choice: &str,
        turn_before: Option<&Turn>,
        referents: [String; 2],
        turn_number: usize,
    ) {
        if !self.quotes(choice) {
            self.mark_taken_back(choice, turn_before);
            self.add_words("The user chose", choice, referents, turn_number);
        }
    }

    /// Adds a message that corrects the reply of a turn. First marks the decisions that the message
    /// takes back. Also marks those that the turn carried out, if the message points back to the
    /// reply, names nothing, or has a name in common with the decision.
    ///
    /// A message that is a wish as a whole is not added, because it is listed among the constraints.
    pub fn add_correction(&mut self, message: &str, turn: &Turn) {
        if self.quotes(message) {
            return;
        }
        self.mark_taken_back(message, Some(turn));
        let later = LaterMessage::new(message);
        let is_about_reply = points_back(message) || later.names.is_empty();
        for decision in &mut self.0 {
            let is_carried_out = decision.is_carried_out_in(turn);
            if is_carried_out && (is_about_reply || decision.has_name_of(&later)) {
                decision.later_mark = later.mark();
            }
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

    /// Marks the decisions that a message takes back, however old they are.
    ///
    /// A message that goes on from what was said, with a word such as "then", also marks two kinds
    /// of the newest [`REVISABLE`] decisions: those that refused something that the message names,
    /// and trials that `turn_before` carried out.
    fn mark_taken_back(&mut self, message: &str, turn_before: Option<&Turn>) {
        let later = LaterMessage::new(message);
        let goes_on = is_sequel(message);
        for (age, decision) in self.0.iter_mut().rev().enumerate() {
            let is_next = goes_on && age < REVISABLE;
            let is_refused = is_next && decision.has_refused(&later);
            let was_trial = is_next
                && turn_before.is_some_and(|turn| decision.is_carried_out_in(turn))
                && is_trial(&decision.lower_said);
            if is_refused || was_trial || later.takes_back(&decision.lower_said) {
                decision.later_mark = later.mark();
            }
        }
    }

    /// Whether a decision quotes a message.
    fn quotes(&self, message: &str) -> bool {
        let quotation = quote_line(message, POINT);
        // A decision may quote more than these words, so the quotation marks are not compared.
        let words = quotation.trim_matches('"');
        self.0.iter().any(|known| known.text.contains(words))
    }

    /// Adds what the user said unasked. `lead` says on what occasion, `referents` what the words
    /// refer to: for the decision, and for its shorter text.
    fn add_words(&mut self, lead: &str, words: &str, referents: [String; 2], turn_number: usize) {
        let [referent, short_referent] = referents;
        let text = format!("{lead}: {}{referent}", quote_line(words, POINT));
        let short_text = format!("{lead}: {}{short_referent}", quote_line(words, OLDEST));
        let mut decision = Decision::new(text, short_text, turn_number);
        decision.set_said(words);
        self.add(decision);
    }

    /// Adds a decision, replacing an equal one. Of more than [`MAX_HELD`], the oldest are dropped.
    fn add(&mut self, decision: Decision) {
        self.0.retain(|known| known.key != decision.key);
        let excess = (self.0.len() + 1).saturating_sub(MAX_HELD);
        self.0.drain(..excess);
        self.0.push(decision);
    }

    pub fn newest_first(&self) -> impl Iterator<Item = &Decision> {
        self.0.iter().rev()
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

    /// Returns the texts of the decisions, oldest first, as they are reported in a turn. A decision
    /// that is more than [`DECISION_TURNS`] turns old has its short text. It is not left out,
    /// because what a session begins with is most often decided for good.
    pub fn describe(&self, turn_number: usize) -> Vec<String> {
        let mut texts = Vec::new();
        for decision in &self.0 {
            let is_old = decision.turn_number + DECISION_TURNS < turn_number;
            let mut text = if is_old {
                decision.short_text.clone()
            } else {
                decision.text.clone()
            };
            text.push_str(&decision.later_mark);
            texts.push(text);
        }
        texts
    }
}

impl Decision {
    fn new(text: String, short_text: String, turn_number: usize) -> Decision {
        Decision {
            key: comparison_key(&text),
            words: content_words(&text.to_lowercase()).map(Box::from).collect(),
            text,
            short_text,
            turn_number,
            made_in: turn_number,
            said: String::new(),
            lower_said: String::new(),
            refused_words: HashSet::default(),
            later_mark: String::new(),
        }
    }

    fn set_said(&mut self, message: &str) {
        self.said = first_chars(message, POINT).to_owned();
        self.lower_said = self.said.to_lowercase();
    }

    /// Whether it contains a name that a later message has, too.
    fn has_name_of(&self, later: &LaterMessage) -> bool {
        later.names.iter().any(|name| self.words.contains(&**name))
    }

    /// Whether it refused something that a later message names.
    fn has_refused(&self, later: &LaterMessage) -> bool {
        later
            .names
            .iter()
            .any(|name| self.refused_words.contains(&**name))
    }

    /// Whether a message of a turn made it as a whole: the answer in the turn or, without one, its
    /// request.
    pub fn is_made_by(&self, turn: &Turn) -> bool {
        let message = if turn.nod.is_empty() {
            &turn.request
        } else {
            &turn.nod
        };
        self.is_near(turn) && first_chars(message, POINT) == self.said
    }

    /// Whether a turn carried it out: a message of the turn made it, or has the sentence that did. A
    /// short sentence such as "yes" could be anywhere.
    fn is_carried_out_in(&self, turn: &Turn) -> bool {
        let is_sentence = !is_narrower(&self.said, SHORTEST_SENTENCE);
        let has_sentence = is_sentence && turn.request.contains(&self.said);
        let is_message = self.said == turn.request || self.said == turn.nod;
        self.is_near(turn) && (is_message || has_sentence)
    }

    fn is_near(&self, turn: &Turn) -> bool {
        let is_near = turn.number == self.made_in || turn.number == self.made_in + 1;
        is_near && !self.said.is_empty()
    }

    pub fn is_taken_back(&self) -> bool {
        !self.later_mark.is_empty()
    }
}

/// Shortens a decision of a previous summary to about the length of a point: the reply is left out,
/// and the question is cut rather than the answer.
fn shorten(text: &str) -> String {
    let text = text.split("; reply: ").next().unwrap_or_default();
    for verb in [", the user answered ", ", the user decided "] {
        let Some((question, answer)) = text.rsplit_once(verb) else {
            continue;
        };
        let answer = one_line(answer, POINT / 2);
        let room = POINT.saturating_sub(count_utf16(&answer) + verb.len());
        let mut question = one_line(question, room);
        if question.ends_with('…') {
            question.push('"');
        }
        return format!("{question}{verb}{answer}");
    }
    one_line(text, POINT)
}

/// What the user said is looked for within a message if it takes at least this many columns.
const SHORTEST_SENTENCE: usize = 20;

/// The number of newest decisions that a choice can go back on.
const REVISABLE: usize = 3;

/// A message quotes a decision if it has this many of its words of content.
const QUOTED_WORDS: usize = 3;
