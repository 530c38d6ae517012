//! Decisions that are no answer to a reply: through a tool, in place of letting a call run, as a
//! suggestion, or to put something off.

use super::answers::cut_keeping_end;
use super::budget::{ANSWER, FINDING, OLDEST, QUESTION, REFUSAL};
use super::decision::Decision;
use super::decisions::Decisions;
use super::quote::quote_line;
use super::referents::{ReferentQuotes, quote_referents, quote_request_of};
use super::sections::PUT_OFF_LEAD;
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

    /// Adds as a decision what the user answered to a question, both as they are.
    pub fn add_asked(&mut self, question: &str, answer: &str, turn_number: usize) {
        let describe = |question_max, answer_max| {
            let question = quote_line(&cut_keeping_end(question, question_max), question_max);
            format!(
                "Asked {question}, the user answered {}",
                quote_user(answer, answer_max)
            )
        };
        let text = describe(QUESTION, ANSWER);
        let short_text = describe(OLDEST, FINDING);
        let mut decision = Decision::new(text, short_text, turn_number);
        decision.set_said(answer);
        self.add(decision);
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
        let quotation = quote_user(words, REFUSAL);
        let text = format!("The user refused a call: {quotation}");
        let short_text = format!("The user refused a call: {}", quote_user(words, ANSWER));
        let mut decision = Decision::new(text, short_text, turn_number);
        decision.set_said(words);
        // What the words chose is a part of it.
        self.0
            .retain(|known| known.turn_number != turn_number || !known.is_said_in(words));
        self.add(decision);
    }
}
