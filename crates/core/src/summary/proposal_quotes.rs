//! How a decision quotes the proposal on which the user decided, with as much around it as a reader
//! needs to understand it.

use super::budget::{REMARK, SHORT_REQUEST, TOPIC};
use super::kept_ends::{cut_keeping_end, cut_keeping_value};
use super::list_items::{find_named_items, keep_number, quote_items};
use super::options::keep_chosen_options;
use super::proposals::Proposal;
use super::questions::{ProposalKind, asks_which, is_question};
use super::quote::{count_utf16, is_narrower, quote_line};
use super::referents::points_back;
use super::reply_lists::LastList;
use super::turns::Turn;
use super::user_quotes::quote_user;
use super::weights::reports_values;
use super::words::naming_words;

/// A question of fewer columns depends on the sentence before it: "Do you want it anyway?".
const SHORT_QUESTION: usize = 60;
/// A part of the sentences before a question that has fewer units says nothing.
const SHORTEST_CONTEXT: usize = 40;
/// A word of a request that has this many characters may name what it is about, unless it is one of
/// [`TOPICLESS_WORDS`].
const TOPIC_WORD: usize = 3;
const TOPICLESS_WORDS: [&str; 23] = [
    "the", "and", "for", "can", "you", "how", "why", "what", "now", "are", "was", "did", "not",
    "its", "with", "und", "der", "die", "das", "wie", "les", "des", "est",
];

impl Proposal<'_> {
    /// Describes what the user decided by quoting the proposal and the answer, in at most
    /// `proposal_max` and `answer_max` UTF-16 units:
    ///
    /// - `Asked "Shall I draw the harbours, too?", the user answered "yes"`.
    /// - `Asked "Which one?", the user answered "b"; "b) the harbours"`: the answer names an item
    ///   of a list, which is quoted in at most half of `answer_max`.
    /// - `Advised "A table is faster here.", the user decided "use the table"`: of advice, the last
    ///   sentence is quoted that has a word of the answer.
    /// - `Asked "(1) How wide? / (2) In which colors?", the user answered "3 m, and blue"`: the
    ///   reply asks several questions in a list. They take up to half as much again.
    /// - `Asked "a) the map / b) the legend", the user answered "b, but small"`: the reply lists
    ///   what can be chosen, and does not end in the question.
    ///
    /// The request is quoted before them if only it names what they are about.
    pub fn describe_decision(
        &self,
        answer: &str,
        proposal_max: usize,
        answer_max: usize,
    ) -> String {
        let answered = quote_user(&keep_number(answer), answer_max);
        if self.kind < ProposalKind::Choice && self.chooses_item(answer) {
            let list = LastList::find(self.reply);
            let asked = quote_items(&list.items, list_max(proposal_max));
            return format!("Asked {asked}, the user answered {answered}");
        }
        if !self.asks() {
            let index = self.last_sharing(answer).unwrap_or(self.index);
            let advised = self.with_topic(self.quote_with_sentences_before(index, proposal_max));
            return format!("Advised{advised}, the user decided {answered}");
        }

        let items = self.find_answered_items(answer);
        if let Some(asked) = self.quote_listed_questions(&items, answer, proposal_max) {
            return format!("Asked{asked}, the user answered {answered}");
        }
        let sentence = if items.is_empty() {
            self.quote_with_context(proposal_max)
        } else {
            quote_line(self.sentence(), proposal_max)
        };
        let asked = self.with_topic(sentence);
        let mut decision = format!("Asked{asked}, the user answered {answered}");
        for item in items {
            let quotation = quote_line(item, answer_max / 2);
            // The last option of a list may be the question: "2. Or both?"
            if asked.contains(quotation.trim_matches(['"', '…'])) {
                continue;
            }
            decision.push_str("; ");
            decision.push_str(&quotation);
        }
        decision
    }

    /// Quotes the questions that the reply asks in a list, after a space or the topic: those of the
    /// `items` that the answer names if the proposing sentence is one of them, as in "A) Keep it?
    /// B) Or both?", or else all questions of the list. `None` if it asks no such questions, or if
    /// the answer names a single item of another list.
    fn quote_listed_questions(&self, items: &[&str], answer: &str, max: usize) -> Option<String> {
        let are_questions = items.iter().any(|item| self.sentence().contains(item));
        if are_questions {
            return Some(self.with_topic(quote_line(&items.join(" "), max)));
        }
        let questions = self.final_questions();
        if questions.len() < 2 || items.len() == 1 {
            return None;
        }
        let asked = quote_questions(&questions, answer, list_max(max));
        Some(format!(" {asked}"))
    }

    /// Returns the items of the reply that an answer such as "b" names. An item that is part of the
    /// proposing sentence is only returned if it is a question. Of "(1) the map, (2) the legend, or
    /// (3) both?", it is not: the sentence is quoted with all items.
    fn find_answered_items(&self, answer: &str) -> Vec<&str> {
        let mut items = find_named_items(self.reply, answer);
        items.retain(|item| item.ends_with('?') || !self.sentence().contains(item));
        items
    }

    /// Returns what was asked or advised after a space and, if a reader needs it to understand
    /// this, after the first line of the request: ` on "draw the harbours": "Which ones?"`.
    ///
    /// A request that reports values is always quoted. Any other is only quoted if `asked` depends
    /// on it, and if it names a topic that `asked` does not name.
    fn with_topic(&self, asked: String) -> String {
        // What was added to the request is below its first line.
        let request_line = self.request.lines().next().unwrap_or_default();
        let is_needed = self.depends_on_request(&asked) && names_other_topic(request_line, &asked);
        if is_needed || reports_values(self.request) {
            let topic = quote_line(request_line, TOPIC);
            return format!(" on {topic}: {asked}");
        }
        format!(" {asked}")
    }

    /// Whether `asked`, what was asked or advised, most likely means little without the request:
    ///
    /// - The request is a short question, so that what was asked or advised belongs to its answer.
    /// - The request is short, and a single sentence refers to it by a word such as "it".
    /// - A single short question only asks which: "Which one?"
    fn depends_on_request(&self, asked: &str) -> bool {
        let is_single = self.sentences.len() == 1;
        let refers_back = is_single && points_back(asked);
        let has_short_request = is_narrower(self.request, REMARK);
        if has_short_request && (is_question(self.request) || refers_back) {
            return true;
        }
        let is_short = is_narrower(self.sentence(), SHORT_REQUEST);
        is_single && is_short && asks_which(self.sentence())
    }

    /// Whether the request asks about what the reply of the turn before said, and names nothing
    /// else: "why 1000?"
    pub fn asks_about(&self, turn_before: &Turn) -> bool {
        if !is_narrower(self.request, SHORT_REQUEST) || !is_question(self.request) {
            return false;
        }
        let request = self.request.to_lowercase();
        let reply = turn_before.last_words().to_lowercase();
        let names_nothing = naming_words(&request).next().is_none();
        names_nothing && topic_words(&request).any(|word| reply.contains(word))
    }

    /// Quotes a sentence with as many of those before it as fit.
    fn quote_with_sentences_before(&self, index: usize, max: usize) -> String {
        let first = self.find_first_fitting(index, max);
        quote_line(&self.sentences[first..=index].join(" "), max)
    }

    /// Returns the index of the first of as many successive sentences as fit in a quotation of
    /// `max` UTF-16 units. The last of them is the one at `index`, which is returned if no other
    /// fits.
    fn find_first_fitting(&self, index: usize, max: usize) -> usize {
        const QUOTATION_MARKS_LEN: usize = 2;
        const SPACE_LEN: usize = 1;

        let mut first = index;
        let mut size = count_utf16(self.sentences[index]) + QUOTATION_MARKS_LEN;
        while first > 0 {
            let before = first - 1;
            size += count_utf16(self.sentences[before]) + SPACE_LEN;
            if size > max {
                break;
            }
            first = before;
        }
        first
    }

    /// Quotes the sentence that proposes with as many of the sentences before it as fit in `max`
    /// UTF-16 units. If none fits, but the sentence means little alone ("Do you want it anyway?"),
    /// the ones before it are cut.
    fn quote_with_context(&self, max: usize) -> String {
        /// The quotation marks, and the space before the sentence.
        const MARKS_AND_SPACE_LEN: usize = 3;

        let sentence = self.sentence();
        if self.index == 0 && self.is_short_question() {
            // What it is about may follow: "How many? 3 reach 99 % of the islands, 5 reach all."
            return quote_line(&self.sentences.join(" "), max);
        }

        let before = self.sentences[self.find_context_start(max)..self.index].join(" ");
        let room = max.saturating_sub(count_utf16(sentence) + MARKS_AND_SPACE_LEN);
        if before.is_empty() || room < SHORTEST_CONTEXT.min(count_utf16(&before)) {
            // Without the quotation marks, and not cut again.
            return quote_line(&cut_keeping_end(sentence, max - 2), max);
        }
        let shown_before = cut_keeping_value(&before, room);
        quote_line(&format!("{shown_before} {sentence}"), max)
    }

    /// Whether the sentence that proposes is a short question, which depends on the sentences
    /// around it.
    fn is_short_question(&self) -> bool {
        self.kind == ProposalKind::Question && is_narrower(self.sentence(), SHORT_QUESTION)
    }

    /// Returns the index of the first sentence to quote with the one that proposes, in `max` UTF-16
    /// units. If no other fits, it is that of the proposing sentence itself. If this means little
    /// alone, it is that of the one before it, or of the first in a row of sentences that point
    /// back.
    fn find_context_start(&self, max: usize) -> usize {
        let first_fitting = self.find_first_fitting(self.index, max);
        let depends_on_context = self.is_short_question() || points_back(self.sentence());
        if first_fitting < self.index || !depends_on_context {
            return first_fitting;
        }
        let mut start = self.index.saturating_sub(1);
        while start > 0 && points_back(self.sentences[start]) {
            start -= 1;
        }
        start
    }
}

/// Returns the number of UTF-16 units for a list in place of a sentence that may take `max`.
fn list_max(max: usize) -> usize {
    max + max / 2
}

/// Quotes several questions with their numbers. If they take more than `max` UTF-16 units, options
/// that the answer did not choose are left out.
fn quote_questions(questions: &[&str], answer: &str, max: usize) -> String {
    let size: usize = questions.iter().map(|question| count_utf16(question)).sum();
    if size <= max {
        return quote_items(questions, max);
    }
    let shortened = keep_chosen_options(questions, answer);
    let shortened: Vec<&str> = shortened.iter().map(String::as_str).collect();
    quote_items(&shortened, max)
}

/// Whether a request has words that may name what it is about, none of which is in `asked`.
///
/// "Draw the harbours" names another topic than "Which ones?", but the same as "All harbours?". A
/// request without such words, as "and now?", names no topic at all.
fn names_other_topic(request: &str, asked: &str) -> bool {
    let request = request.to_lowercase();
    let asked = asked.to_lowercase();
    let mut names_topic = false;
    for word in topic_words(&request) {
        if asked.contains(word) {
            return false;
        }
        names_topic = true;
    }
    names_topic
}

/// Iterates over the words of a request in lower case that may name what it is about.
fn topic_words(request: &str) -> impl Iterator<Item = &str> {
    request
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.chars().count() >= TOPIC_WORD && !TOPICLESS_WORDS.contains(word))
}
