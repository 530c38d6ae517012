//! Decisions: how users answer questions, and what they correct.

use super::budget::*;
use super::decision::{Decision, shorten_decision};
use super::fitting::items_size;
use super::one_line::one_line;
use super::own_choices::is_about_choice;
use super::proposals::Proposal;
use super::prose::prose_of_user;
use super::quote::{first_chars, is_narrower, quote_line};
use super::referents::{ReferentQuotes, is_sequel, points_back, quote_corrected, quote_referents};
use super::removals::Removals;
use super::revisions::{LaterMessage, is_trial, mark_with};
use super::tool_calls::ToolHistory;
use super::turns::Turn;
use super::user_quotes::quote_user;
use super::wishes::quote_binding_sentences;
use super::words::{content_words, naming_words};
use foldhash::HashSet;

/// The number of newest decisions that a choice can go back on.
const REVISABLE: usize = 3;

/// The decisions of a session, oldest first.
#[derive(Debug, Default)]
pub(super) struct Decisions(pub(super) Vec<Decision>);

impl Decisions {
    /// Takes over the decisions of a previous summary. They age from there on.
    pub fn from_previous(texts: Vec<String>) -> Decisions {
        let mut decisions = Decisions::default();
        for text in texts {
            let text = shorten_decision(&text);
            // The words of a model are cut once they are old. A quotation is not: its end, the
            // answer of the user, matters most.
            let has_quotation = text.contains('"');
            let short_text = if has_quotation {
                text.clone()
            } else {
                one_line(&text, REFERENT)
            };
            decisions.add(Decision::new(text, short_text, 0));
        }
        decisions
    }

    /// Adds as a decision what the user answered to the proposal in the reply of a turn. If the
    /// request of the turn only asked back ("why 1000?"), the reply that it asked about is quoted
    /// as well: that of `turn_before`.
    pub fn add_answer(
        &mut self,
        proposal: &Proposal,
        answer: &str,
        turn: &Turn,
        turn_before: Option<&Turn>,
    ) {
        // This comes before the answer is added, which would otherwise take itself back.
        self.mark_taken_back(&LaterMessage::new(answer), Some(turn));

        let mut text = proposal.describe_decision(answer, QUESTION, ANSWER);
        let mut short_text = proposal.describe_decision(answer, OLD_QUESTION, FINDING);
        if let Some(before) = turn_before
            && proposal.asks_about(before)
        {
            let referents = quote_referents(before, &turn.request);
            text.push_str(&referents.full);
            short_text.push_str(&referents.short);
        }

        let mut decision = Decision::new(text, short_text, turn.number);
        decision.set_said(answer);
        decision.refused_words = refused_words(&proposal.proposing_sentences(), answer);
        self.add(decision);
    }

    /// Adds as a decision a sentence of a request in which the user chooses, unless a decision
    /// quotes it already. `referents` quote what its words refer to.
    /// `turn_before` is the turn before the request.
    pub fn add_choice(
        &mut self,
        choice: &LaterMessage,
        turn_before: Option<&Turn>,
        referents: ReferentQuotes,
        turn_number: usize,
    ) {
        if !self.quotes(choice.message) {
            self.mark_taken_back(choice, turn_before);
            self.add_words("The user chose", choice.message, referents, turn_number);
        }
    }

    /// Adds as a decision a message that corrects the reply of a turn, with what it corrects. Marks
    /// the decisions that it takes back, and those that the turn carried out in the wrong way.
    pub fn add_correction(&mut self, correction: &LaterMessage, turn: &Turn) {
        let message = correction.message;
        if self.quotes(message) {
            return;
        }
        self.mark_taken_back(correction, Some(turn));
        // "No, make it blue" corrects all that the reply did, "no, the harbours in blue" only the
        // decision that names harbours.
        let is_about_reply = points_back(message) || correction.names.is_empty();
        for decision in &mut self.0 {
            let is_corrected = is_about_reply || correction.names_one_of(&decision.words);
            if is_corrected && decision.is_carried_out_in(turn) {
                decision.later_mark = correction.mark();
            }
        }

        self.add_corrected(message, turn);
    }

    /// Adds as a decision a message that doubts the reply of a turn. What it takes back, if
    /// anything, is not known, so no decision is marked.
    pub fn add_doubt(&mut self, message: &str, turn: &Turn) {
        if !self.quotes(message) {
            self.add_corrected(message, turn);
        }
    }

    /// Adds a message with what it corrects of the reply of a turn.
    fn add_corrected(&mut self, message: &str, turn: &Turn) {
        // A message that is a wish as a whole is listed among the constraints.
        let wishes = quote_binding_sentences(message, &prose_of_user(message));
        if wishes.contains(&quote_line(message, POINT)) {
            return;
        }
        // What was answered to a question does not name what the reply is about.
        let is_about_answer = is_narrower(message, LONG_REQUEST) && self.has_answer(&turn.request);
        let corrected = if is_about_answer {
            quote_referents(turn, message)
        } else {
            quote_corrected(turn, message)
        };
        self.add_words("The user corrected", message, corrected, turn.number);
    }

    /// Marks the decisions that a later message takes back. `turn_before` is the turn before the
    /// message. A decision is marked in one of these cases:
    ///
    /// - The message contradicts what the user said for it: [`Decision::part_taking_back`].
    /// - The message names what the decision refused, with words such as "after all": "use Redis
    ///   after all".
    /// - The message goes on with a word such as "then", the decision is one of the newest
    ///   [`REVISABLE`], and the message names only what it refused: "then use Redis".
    /// - The message goes on in the same way, and the decision is a trial that `turn_before`
    ///   carried out: "try it", "then without".
    fn mark_taken_back(&mut self, later: &LaterMessage, turn_before: Option<&Turn>) {
        let goes_on = is_sequel(later.message);
        for (age, decision) in self.0.iter_mut().rev().enumerate() {
            let may_revise = goes_on && age < REVISABLE;
            let revises_trial = may_revise && ends_trial(decision, turn_before);
            if revises_trial || chooses_refused(later, decision, may_revise) {
                decision.later_mark = later.mark();
            } else if let Some(part) = decision.part_taking_back(later, turn_before) {
                decision.later_mark = mark_with(part);
            }
        }
    }

    /// Returns the words that the newest [`REVISABLE`] decisions refused.
    pub fn refused_lately(&self) -> String {
        let newest = self.newest_first().take(REVISABLE);
        let words: Vec<&str> = newest
            .flat_map(|decision| decision.refused_words.iter().map(|word| &**word))
            .collect();
        words.join(" ")
    }

    /// Marks the decisions with a value that a message replaces, and that it did not make itself.
    pub fn mark_replaced_values(&mut self, later: &LaterMessage, turn_before: Option<&Turn>) {
        for decision in &mut self.0 {
            if let Some(part) = decision.part_taking_back(later, turn_before)
                && !decision.is_of_message(later.message)
            {
                decision.later_mark = mark_with(part);
            }
        }
    }

    /// Judges the decisions that name a path which was removed since. One of a previous summary is
    /// dropped. Any other is marked: its words still say what the user wants. A removal in the turn
    /// of the decision or in the next does not count, because it may be what was decided.
    /// `removals` are those of all calls.
    pub fn judge_removed_paths(&mut self, history: &ToolHistory, removals: &Removals) {
        self.0.retain_mut(|decision| {
            let first_run = history.first_run_after(decision.last_turn_for_it());
            decision.has_path_removed = removals.are_named_since(&decision.text, first_run);
            !(decision.has_path_removed && decision.is_of_previous())
        });
    }

    /// Drops the choices of the assistant that a previous summary lists, if a later request is
    /// about them: what it says of them counts.
    pub fn drop_own_choices_in(&mut self, request: &str) {
        // Most summaries list none, and then the words of the request are not needed.
        let mut decisions = self.0.iter();
        if !decisions.any(|decision| decision.own_choice().is_some()) {
            return;
        }
        let lower = request.to_lowercase();
        let said_words: HashSet<&str> = naming_words(&lower).collect();
        self.0.retain(|decision| match decision.own_choice() {
            Some(choice) => !is_about_choice(request, &said_words, choice),
            None => true,
        });
    }

    /// Whether a decision quotes a message.
    pub fn quotes(&self, message: &str) -> bool {
        self.0.iter().any(|known| known.quotes(message))
    }

    /// Whether a message answered a question.
    fn has_answer(&self, message: &str) -> bool {
        let mut decisions = self.0.iter();
        decisions.any(|known| known.text.starts_with("Asked ") && known.is_of_message(message))
    }

    /// Adds what the user said unasked. `lead` says on what occasion, `referents` what the words
    /// refer to.
    pub(super) fn add_words(
        &mut self,
        lead: &str,
        words: &str,
        referents: ReferentQuotes,
        turn_number: usize,
    ) {
        let ReferentQuotes { full, short } = referents;
        let text = format!("{lead}: {}{full}", quote_user(words, ANSWER));
        let short_text = format!("{lead}: {}{short}", quote_user(words, FINDING));
        let mut decision = Decision::new(text, short_text, turn_number);
        decision.set_said(words);
        self.add(decision);
    }

    /// Adds a decision, replacing an equal one. Of more than [`MAX_HELD`], the oldest are dropped.
    pub(super) fn add(&mut self, decision: Decision) {
        self.0.retain(|known| known.key != decision.key);
        let excess = (self.0.len() + 1).saturating_sub(MAX_HELD);
        self.0.drain(..excess);
        self.0.push(decision);
    }

    pub fn newest_first(&self) -> impl Iterator<Item = &Decision> {
        self.0.iter().rev()
    }

    /// Renews the decisions that a message quotes: they are still in use, so they age from this
    /// turn on.
    pub fn renew_quoted(&mut self, message: &str, turn_number: usize) {
        if self.0.is_empty() {
            return;
        }
        let start = first_chars(message, WHOLE_REQUEST).to_lowercase();
        let said: HashSet<&str> = content_words(&start).collect();
        for decision in &mut self.0 {
            if decision.is_quoted_in(&said) {
                decision.turn_number = turn_number;
            }
        }
    }

    /// Returns the texts of the decisions, oldest first, as they are reported in a turn. A decision
    /// that is more than [`DECISION_TURNS`] turns old has its short text, and so have the oldest
    /// others if all together would take more than `max` UTF-16 units. None is left out, because
    /// what a session begins with is most often decided for good.
    pub fn describe(&self, turn_number: usize, max: usize) -> Vec<String> {
        let mut texts = Vec::new();
        for decision in &self.0 {
            let is_old = decision.turn_number + DECISION_TURNS < turn_number;
            if is_old {
                texts.push(decision.describe_short());
            } else {
                texts.push(decision.describe());
            }
        }
        // From the oldest on, until all fit.
        for (index, decision) in self.0.iter().enumerate() {
            if items_size(&texts) <= max {
                break;
            }
            texts[index] = decision.describe_short();
        }
        texts
    }
}

/// Returns the words that name something in a proposal, and that the answer does not take up: the
/// answer refused what they name. Of "Redis or a file?", the answer "a file" refuses "redis".
fn refused_words(proposal: &str, answer: &str) -> HashSet<Box<str>> {
    let lower_answer = answer.to_lowercase();
    let taken_up: HashSet<&str> = content_words(&lower_answer).collect();
    let mut refused = HashSet::default();
    for word in naming_words(&proposal.to_lowercase()) {
        if !taken_up.contains(word) {
            refused.insert(Box::from(word));
        }
    }
    refused
}

/// Whether a message chooses what a decision refused: "use Redis after all", or only "then use
/// Redis", if it may revise the decision and does not name what was chosen.
fn chooses_refused(later: &LaterMessage, decision: &Decision, may_revise: bool) -> bool {
    if !later.names_one_of(&decision.refused_words) {
        return false;
    }
    later.is_reversal() || may_revise && !later.has_name_in(&decision.lower_said)
}

/// Whether a decision is a trial that the turn before a message carried out: after "try it", the
/// message "then without" ends that.
fn ends_trial(decision: &Decision, turn_before: Option<&Turn>) -> bool {
    let is_carried_out = turn_before.is_some_and(|turn| decision.is_carried_out_in(turn));
    is_carried_out && is_trial(&decision.lower_said)
}
