//! Proposals: what a reply puts to the user, and whether a message decides on it. `proposal_quotes`
//! describes the decision.

use super::deferrals::is_deferral;
use super::documents::is_mostly_pasted;
use super::list_items::{begins_with_item, find_item};
use super::prose::last_prose_line;
use super::questions::{
    ProposalKind, asks_leave, begins_as_answer, classify_sentence, is_question,
    requests_other_work, statement_before_question,
};
use super::quote::is_narrower;
use super::referents::shares_word;
use super::reply_lists::LastList;
use super::words::content_words;
use foldhash::HashSet;
use unicode_segmentation::UnicodeSegmentation;

/// An answer of fewer columns decides on a question, whatever its words. Only such an answer
/// decides on an offer or on advice.
const SHORT_ANSWER: usize = 60;
/// The number of sentences at the end of a reply that can propose something.
const LAST_SENTENCES: usize = 4;

/// What the last line of prose of a reply puts to the user.
pub(super) struct Proposal<'r> {
    /// The request that the reply answers.
    pub request: &'r str,
    pub reply: &'r str,
    /// The last sentences of the reply, in order.
    pub sentences: Vec<&'r str>,
    pub kind: ProposalKind,
    /// The index of the sentence that proposes.
    pub index: usize,
}

impl<'r> Proposal<'r> {
    /// Finds what the reply to a request puts to the user: of the last sentences of its last line
    /// of prose, the one that proposes most clearly. A question is clearer than an offer, and an
    /// offer than a statement. `None` if the reply has no prose.
    pub fn find(request: &'r str, reply: &'r str) -> Option<Proposal<'r>> {
        let mut sentences: Vec<&str> = Vec::new();
        for sentence in last_prose_line(reply).unicode_sentences() {
            sentences.push(sentence.trim());
        }
        sentences.drain(..sentences.len().saturating_sub(LAST_SENTENCES));

        // Of equally clear sentences, `max_by_key` returns the last.
        let kinds = sentences.iter().map(|sentence| classify_sentence(sentence));
        let (index, kind) = kinds.enumerate().max_by_key(|(_, kind)| *kind)?;
        Some(Proposal {
            request,
            reply,
            sentences,
            kind,
            index,
        })
    }

    /// Whether the user is asked, so that a "yes" is an answer.
    pub fn asks(&self) -> bool {
        self.kind != ProposalKind::Statement
    }

    /// Returns the sentence that proposes.
    pub fn sentence(&self) -> &str {
        self.sentences[self.index]
    }

    /// Returns those of the last sentences that say what can be chosen. Others report what was
    /// done: "The role has a timer. Vault, or a file?"
    pub fn proposing_sentences(&self) -> String {
        let mut proposing = self.sentences.clone();
        proposing.retain(|sentence| classify_sentence(sentence) != ProposalKind::Statement);
        proposing.join(" ")
    }

    /// Whether a message decides on the proposal, and is not simply the next request.
    ///
    /// - After a question or a choice, it is short, begins as an answer does ("yes, …"), names an
    ///   item of a list ("b"), or has a word of the last sentences, or of a list of questions.
    /// - After an offer, it is short, and begins as an answer does, postpones it ("later"), or has
    ///   such a word.
    /// - After advice, which is a statement in reply to the user's question, it is short, and has
    ///   such a word.
    /// - After an offer or any statement, it begins with an item of a list that offers a choice:
    ///   "b, and the lamps".
    ///
    /// A message that asks back decides nothing. If it has a statement before its question ("by
    /// month. and which key?"), this must begin as an answer does, or have such a word.
    pub fn is_answered_by(&self, message: &str) -> bool {
        let is_short = is_narrower(message, SHORT_ANSWER);
        // Most messages are long, and follow a statement, so this is tested first.
        if !is_short && matches!(self.kind, ProposalKind::Offer | ProposalKind::Statement) {
            return self.chooses_item(message);
        }
        // What a program printed, or much code, is sent to be looked at.
        if !begins_as_answer(message) && is_mostly_pasted(message) {
            return self.chooses_item(message);
        }

        let statement = statement_before_question(message);
        let only_asks = statement.is_empty();
        if only_asks {
            return false;
        }
        let asks_back = statement.len() < message.len();
        if asks_back {
            let answers_first = begins_as_answer(statement) || self.shares_word(statement);
            return answers_first && self.asks();
        }
        match self.kind {
            ProposalKind::Question | ProposalKind::Choice => {
                self.is_question_answered_by(message, is_short)
            }
            ProposalKind::Offer => {
                let is_reaction = begins_as_answer(message) || is_deferral(message);
                is_reaction || self.shares_word(message) || self.chooses_item(message)
            }
            ProposalKind::Statement => {
                let is_advice = is_question(self.request);
                is_advice && self.shares_word(message) || self.chooses_item(message)
            }
        }
    }

    /// Whether a message that asks nothing answers the question or the choice. A short one does,
    /// whatever its words, unless it requests other work than that for which leave is asked: "Shall
    /// I draw it?", and then "now count all the lamps".
    fn is_question_answered_by(&self, message: &str, is_short: bool) -> bool {
        let requests_other = asks_leave(self.sentence()) && requests_other_work(message);
        if is_short && !requests_other {
            return true;
        }
        begins_as_answer(message)
            || self.names_item(message)
            || self.shares_word(message)
            || self.shares_word_of_questions(message)
    }

    /// Whether the message begins with an item of the last list in the reply. After a statement,
    /// the list must offer a choice: it may as well report what was done.
    pub fn chooses_item(&self, message: &str) -> bool {
        begins_with_item(self.reply, message)
            && (self.asks() || LastList::find(self.reply).offers_choice())
    }

    /// Whether the message begins with the name of an item in the reply.
    fn names_item(&self, message: &str) -> bool {
        let mut words = message.split(|c: char| !c.is_alphanumeric());
        let first_word = words.next().unwrap_or_default();
        find_item(self.reply, first_word).is_some()
    }

    /// Whether the message has a word of content of the last sentences.
    fn shares_word(&self, message: &str) -> bool {
        self.last_sharing(message).is_some()
    }

    /// Whether the reply asks questions in a list, and the message has a word of one.
    fn shares_word_of_questions(&self, message: &str) -> bool {
        let questions = self.final_questions();
        !questions.is_empty() && shares_word(&questions.join(" "), message)
    }

    /// Returns the questions of the last list in the reply, if the last of them is the sentence
    /// that proposes. Otherwise, the reply goes on after the list, and nothing is returned.
    pub fn final_questions(&self) -> Vec<&str> {
        let questions = LastList::find(self.reply).questions();
        match questions.last() {
            Some(last) if last.contains(self.sentence()) => questions,
            _ => Vec::new(),
        }
    }

    /// Returns the index of the last of the sentences that has a word of content of the message.
    pub fn last_sharing(&self, message: &str) -> Option<usize> {
        let message = message.to_lowercase();
        let said: HashSet<&str> = content_words(&message).collect();
        self.sentences.iter().rposition(|sentence| {
            content_words(&sentence.to_lowercase()).any(|word| said.contains(word))
        })
    }
}
