//! One decision: what it reports, and what it is compared by.

use super::budget::POINT;
use super::one_line::one_line;
use super::quote::{count_utf16, first_chars, is_narrower, quote_line};
use super::revisions::{Distance, LaterMessage};
use super::sections::{EARLIER_MARK, OWN_CHOICE_LEAD, comparison_key};
use super::turns::Turn;
use super::words::content_words;
use foldhash::HashSet;

/// What the user said is looked for within a message if it takes at least this many columns.
const SHORTEST_SENTENCE: usize = 20;
/// A message quotes a decision if it has this many of its words of content.
const QUOTED_WORDS: usize = 3;

#[derive(Debug)]
pub(super) struct Decision {
    pub text: String,
    /// The form in which decisions are compared.
    pub key: String,
    /// A shorter text, for when the decision is old.
    pub short_text: String,
    /// The words of content in it, by which a later message that quotes it or names the same is
    /// recognized.
    pub words: HashSet<Box<str>>,
    /// The number of the turn in which it was made, or quoted last.
    pub turn_number: usize,
    /// The number of the turn in which it was made: that of the message, or the one before, if the
    /// message answers or corrects it.
    made_in: usize,
    /// What the user said, as far as it is compared. Empty if it is of a previous summary.
    said: String,
    pub lower_said: String,
    /// What a question proposed that the answer did not take up, in words that name something.
    pub refused_words: HashSet<Box<str>>,
    /// The mark of the last message that takes it back; empty if none does.
    pub later_mark: String,
    /// Whether it names a path that was removed since.
    pub has_path_removed: bool,
}

impl Decision {
    /// Returns a decision made in a turn, as reported now and when it is old. What the user said
    /// for it is set by [`Decision::set_said`]; without that, no later message takes it back.
    pub fn new(text: String, short_text: String, turn_number: usize) -> Decision {
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
            has_path_removed: false,
        }
    }

    pub fn set_said(&mut self, message: &str) {
        self.said = first_chars(message, POINT).to_owned();
        self.lower_said = self.said.to_lowercase();
    }

    /// Whether a message quotes the decision: the message has [`QUOTED_WORDS`] words of content of
    /// the decision, or all of them if they are fewer. `said_words` are the words of the message.
    pub fn is_quoted_in(&self, said_words: &HashSet<&str>) -> bool {
        let mut shared_count = 0;
        for word in &self.words {
            if said_words.contains(&**word) {
                shared_count += 1;
            }
        }
        !self.words.is_empty() && shared_count >= QUOTED_WORDS.min(self.words.len())
    }

    /// Whether the decision quotes a message.
    pub fn quotes(&self, message: &str) -> bool {
        let quotation = quote_line(message, POINT);
        // The decision may quote more than these words, so the quotation marks are not compared.
        let words = quotation.trim_matches('"');
        self.text.contains(words) || self.is_of_message(message)
    }

    /// Returns the choice, if the decision is one that the assistant made itself, and a previous
    /// summary lists it.
    pub fn own_choice(&self) -> Option<&str> {
        let text = self.text.trim_start_matches(EARLIER_MARK);
        text.strip_prefix(OWN_CHOICE_LEAD)
    }

    /// Whether what the user said for the decision is a part of a message.
    pub fn is_said_in(&self, message: &str) -> bool {
        !self.said.is_empty() && message.contains(&self.said)
    }

    /// Whether this message made the decision.
    pub fn is_of_message(&self, message: &str) -> bool {
        first_chars(message, POINT) == self.said
    }

    /// Whether a whole message of a turn made the decision: the answer in the turn or, without one,
    /// its request.
    pub fn is_made_by(&self, turn: &Turn) -> bool {
        let message = if turn.nod.is_empty() {
            &turn.request
        } else {
            &turn.nod
        };
        self.is_near(turn) && self.is_of_message(message)
    }

    /// Whether a turn carried the decision out: a message of the turn made it, or has the sentence
    /// that did. A short sentence such as "yes" could be anywhere, so it does not count.
    pub fn is_carried_out_in(&self, turn: &Turn) -> bool {
        let is_sentence = !is_narrower(&self.said, SHORTEST_SENTENCE);
        let has_sentence = is_sentence && turn.request.contains(&self.said);
        let is_message = self.said == turn.request || self.said == turn.nod;
        self.is_near(turn) && (is_message || has_sentence)
    }

    /// Returns the part of a later message that takes the decision back, compared with what the
    /// user said for the decision. `turn_before` is the turn before the later message. If that turn
    /// carried the decision out, less needs to be in common.
    pub fn part_taking_back<'m>(
        &self,
        later: &LaterMessage<'m>,
        turn_before: Option<&Turn>,
    ) -> Option<&'m str> {
        if !later.may_take_back(&self.lower_said) {
            return None;
        }
        let follows_closely = turn_before.is_some_and(|turn| self.is_carried_out_in(turn));
        let distance = if follows_closely {
            Distance::Next
        } else {
            Distance::Far
        };
        later.part_taking_back(&self.lower_said, distance)
    }

    /// Returns the text of the decision, and what takes it back.
    pub fn describe(&self) -> String {
        format!("{}{}", self.text, self.describe_later())
    }

    /// Returns the shorter text of the decision, and what takes it back.
    pub fn describe_short(&self) -> String {
        format!("{}{}", self.short_text, self.describe_later())
    }

    fn describe_later(&self) -> &str {
        if self.later_mark.is_empty() && self.has_path_removed {
            " (later: the path was removed or renamed)"
        } else {
            &self.later_mark
        }
    }

    /// Whether the decision is of a previous summary, which does not show what the user said for
    /// it.
    pub fn is_of_previous(&self) -> bool {
        self.made_in == 0 && self.said.is_empty()
    }

    /// Returns the number of the last turn whose work may be for it: the one after the turn in
    /// which it was made, if its message began that. `None` if it is of a previous summary, after
    /// which all work came.
    pub fn last_turn_for_it(&self) -> Option<usize> {
        if self.is_of_previous() {
            return None;
        }
        Some(self.made_in + 1)
    }

    pub fn is_taken_back(&self) -> bool {
        !self.later_mark.is_empty()
    }

    /// Whether a turn is the one in which the decision was made, or the next.
    fn is_near(&self, turn: &Turn) -> bool {
        let is_near = turn.number == self.made_in || turn.number == self.made_in + 1;
        is_near && !self.said.is_empty()
    }
}

/// Shortens a decision as a previous summary reports it to about the length of a point. The
/// assistant's reply is left out, and the question is cut rather than the answer:
///
/// `Asked "Shall I … the map?", the user answered "no"; reply: "Left as it is."` becomes `Asked
/// "Shall I…", the user answered "no"`.
pub(super) fn shorten_decision(text: &str) -> String {
    let without_reply = text.split("; reply: ").next().unwrap_or_default();
    // These are the two forms in which a summary reports an answer.
    for verb in [", the user answered ", ", the user decided "] {
        let Some((question, answer)) = without_reply.rsplit_once(verb) else {
            continue;
        };
        let answer = one_line(answer, POINT / 2);
        let room = POINT.saturating_sub(count_utf16(&answer) + verb.len());
        let mut question = one_line(question, room);
        // The closing quotation mark was cut off.
        if question.ends_with('…') {
            question.push('"');
        }
        return format!("{question}{verb}{answer}");
    }
    one_line(without_reply, POINT)
}
