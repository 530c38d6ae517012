//! Where decisions come from, besides answers to replies: answers to the questions of a tool, words
//! in place of letting a call run, suggestions, and messages that put something off.

use super::budget::{ANSWER, FINDING, OLDEST, QUESTION, REFUSAL};
use super::decision::Decision;
use super::decisions::Decisions;
use super::kept_ends::cut_keeping_end;
use super::quote::quote_line;
use super::referents::{ReferentQuotes, quote_referents, quote_request_of};
use super::sections::PUT_OFF_LEAD;
use super::tool_answers::ToolAnswer;
use super::turns::Turn;
use super::user_quotes::quote_user;

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
