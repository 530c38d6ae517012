//! Outcomes: what the assistant replied to the message that made a decision. Without them, a reader
//! does not know whether the decision was carried out.

use super::SummaryBuilder;
use super::answers::{quote_answer, size_of_answer};
use super::budget::{FINDING, POINT};
use super::choices::doubts_reply;
use super::quote::{count_utf16, quote_line, strip_transitions};
use super::turns::Turn;
use foldhash::HashSet;

/// The replies that were added to decisions.
#[derive(Default)]
pub(super) struct Outcomes {
    /// The numbers of their turns.
    pub turn_numbers: HashSet<usize>,
    /// The number of units that they take.
    pub size: usize,
}

impl SummaryBuilder {
    /// Appends to each decision the assistant's reply to the message that made it, so that a reader
    /// knows how it was carried out: `…; reply: "Drawn, in blue."`. The newest decisions get theirs
    /// first, until `room` UTF-16 units are taken. `decisions` are the texts of the newest of
    /// [`SummaryBuilder::decisions`].
    ///
    /// Returns the turns whose replies are quoted, or out of date, and so need not be listed.
    pub(super) fn add_outcomes(&self, decisions: &mut [String], room: usize) -> Outcomes {
        let mut outcomes = Outcomes::default();
        // The other turns are described with their replies under Goal.
        let turns = self.listed_turns();
        // The texts may lack the oldest decisions, so both are walked from the newest on.
        let indexes = (0..decisions.len()).rev();
        for (index, decision) in indexes.zip(self.decisions.newest_first()) {
            let Some(turn) = turns.iter().find(|turn| decision.is_made_by(turn)) else {
                continue;
            };
            if decision.is_taken_back() || self.is_reply_corrected(turn) {
                outcomes.turn_numbers.insert(turn.number);
                continue;
            }
            // Several decisions of a turn have the same reply.
            if outcomes.turn_numbers.contains(&turn.number) {
                continue;
            }
            let Some(reply) = reply_to_add(turn, decisions) else {
                continue;
            };
            let Some(outcome) = describe_fitting_outcome(reply, room - outcomes.size) else {
                break;
            };
            decisions[index].push_str(&outcome);
            outcomes.size += count_utf16(&outcome);
            outcomes.turn_numbers.insert(turn.number);
        }
        outcomes
    }

    /// Whether the user corrected the reply to an earlier turn in the next one. The correction is a
    /// decision as well, which quotes the part of the reply that it is about.
    pub(super) fn is_reply_corrected(&self, turn: &Turn) -> bool {
        let mut later_turns = self.earlier_turns.iter().chain([&self.turn]);
        later_turns.any(|later| {
            let is_next = later.number == turn.number + 1;
            is_next && doubts_reply(&later.request, turn.last_words())
        })
    }
}

/// Returns the reply to a turn, unless it is not complete, says nothing, or is quoted in one of the
/// decisions anyway.
fn reply_to_add<'t>(turn: &'t Turn, decisions: &[String]) -> Option<&'t str> {
    if !turn.is_answered() {
        return None;
    }
    let reply = strip_transitions(turn.last_words());
    if reply.is_empty() || is_quoted(reply, decisions) {
        return None;
    }
    Some(reply)
}

/// Describes a reply in at most `room` UTF-16 units. A reply with a table of values is longer if
/// that fits, and else is cut like any other. `None` if even this does not fit.
fn describe_fitting_outcome(reply: &str, room: usize) -> Option<String> {
    for max in [size_of_answer(reply, FINDING), FINDING] {
        let outcome = format!("; reply: {}", quote_answer(reply, max));
        if count_utf16(&outcome) <= room {
            return Some(outcome);
        }
    }
    None
}

/// Whether a decision quotes a reply: it proposed what was decided.
fn is_quoted(reply: &str, decisions: &[String]) -> bool {
    let quotation = quote_line(reply, POINT);
    let words = quotation.trim_matches('"');
    decisions.iter().any(|decision| decision.contains(words))
}
