//! Where decisions come from: answers to replies and to the questions of a tool, words in place of
//! letting a call run, suggestions, and messages that put something off, correct or doubt.

use super::SummaryBuilder;
use super::budget::{ANSWER, FINDING, OLDEST, QUESTION, REFUSAL};
use super::choices::{doubts_reply, is_correction};
use super::decision::Decision;
use super::decisions::Decisions;
use super::kept_ends::cut_keeping_end;
use super::nods::is_nod;
use super::proposals::Proposal;
use super::put_off::is_put_off;
use super::questions::is_question;
use super::quote::quote_line;
use super::referents::{ReferentQuotes, quote_referents, quote_request_of};
use super::revisions::LaterMessage;
use super::sections::PUT_OFF_LEAD;
use super::tool_answers::{ToolAnswer, read_answers};
use super::turns::Turn;
use super::user_quotes::quote_user;

impl SummaryBuilder {
    /// Adds what a message decides on the current turn: it answers a question at the end of the
    /// reply, puts off what the turn is about, or corrects or doubts the reply. Most messages do
    /// nothing of it.
    pub(super) fn add_decision_on_turn(&mut self, message: &str) {
        let turn = &self.turn;
        if let Some(proposal) = turn.proposal()
            && proposal.is_answered_by(message)
        {
            let turn_before = self.earlier_turns.last();
            self.decisions
                .add_answer(&proposal, message, turn, turn_before);
            return;
        }

        let is_ended = turn.is_answered() || turn.is_interrupted();
        // What has no reply yet can be put off as well: "no wait, later".
        if (is_ended || turn.is_passed_over()) && is_put_off(turn, message) {
            self.decisions.add_deferral(message, turn);
            return;
        }
        // Only a reply that has ended can be corrected or doubted.
        if !is_ended {
            return;
        }
        if is_correction(message) {
            let correction = LaterMessage::new(message);
            self.decisions.add_correction(&correction, turn);
            self.points
                .mark_wishes_taken_back(&correction, Some(turn), &[]);
        } else if doubts_reply(message, turn.last_words()) {
            self.decisions.add_doubt(message, turn);
        }
    }

    /// Adds the change of a file that the user refused, with the message that follows: most often,
    /// it gives the reason. A nod gives none.
    pub(super) fn add_refused_edit(&mut self, message: &str) {
        let call = std::mem::take(&mut self.refused_edit);
        if call.is_empty() || is_nod(message) || is_question(message) {
            return;
        }
        let lead = format!("The user refused {call}");
        let no_referents = ReferentQuotes::default();
        self.decisions
            .add_words(&lead, message, no_referents, self.turn.number);
    }

    /// Adds what the user answered to a call that asked. The output has several questions with
    /// their answers or, from some tools, only the answer to the one question.
    pub(super) fn add_answers_of_tool(&mut self, question: &str, output: &str) {
        let answers = read_answers(output);
        if !answers.is_empty() {
            self.decisions.add_tool_answers(&answers, self.turn.number);
        } else if let Some(question) = Proposal::find("", question) {
            let turn_before = self.earlier_turns.last();
            self.decisions
                .add_answer(&question, output, &self.turn, turn_before);
        }
    }
}

impl Decisions {
    /// Adds a message that puts off what the reply of a turn is about or, without a reply, its
    /// request.
    pub fn add_deferral(&mut self, message: &str, turn: &Turn) {
        let referents = if turn.last_words().is_empty() {
            quote_request_of(turn)
        } else {
            quote_referents(turn, message)
        };
        self.add_words(PUT_OFF_LEAD, message, referents, turn.number);
    }

    /// Adds what the user answered to the questions of a call. Each answer is a decision of its
    /// own. They take nothing back: they answer what was asked, not what was said before.
    pub fn add_tool_answers(&mut self, answers: &[ToolAnswer], turn_number: usize) {
        for answered in answers {
            let text = describe_tool_answer(answered, QUESTION, ANSWER);
            let short_text = describe_tool_answer(answered, OLDEST, FINDING);
            let mut decision = Decision::new(text, short_text, turn_number);
            decision.set_said(&answered.answer);
            self.add(decision);
        }
    }

    /// Adds as a decision what the user suggested, and the assistant worked on.
    pub fn add_suggestion(&mut self, words: &str, turn_number: usize) {
        if !self.quotes(words) {
            let no_referents = ReferentQuotes::default();
            self.add_words("The user suggested", words, no_referents, turn_number);
        }
    }

    /// Adds as a decision what the user said in place of letting a call run.
    pub fn add_refusal(&mut self, words: &str, turn_number: usize) {
        let text = format!("The user refused a call: {}", quote_user(words, REFUSAL));
        let short_text = format!("The user refused a call: {}", quote_user(words, ANSWER));
        let mut decision = Decision::new(text, short_text, turn_number);
        decision.set_said(words);
        // The words were searched for choices before. The refusal quotes these choices as well, so
        // they are not listed twice.
        self.0.retain(|known| {
            let is_of_turn = known.turn_number == turn_number;
            !(is_of_turn && known.is_said_in(words))
        });
        self.add(decision);
    }
}

/// Describes an answer in about so many UTF-16 units: `Asked "Which map?", the user answered "the
/// old one"`.
fn describe_tool_answer(answered: &ToolAnswer, question_max: usize, answer_max: usize) -> String {
    let question = cut_keeping_end(&answered.question, question_max);
    let question = quote_line(&question, question_max);
    let answer = quote_user(&answered.answer, answer_max);
    format!("Asked {question}, the user answered {answer}")
}
