//! Outcomes: what the assistant replied to the message that made a decision. Without them, a reader
//! does not know whether the decision was carried out.

use super::SummaryBuilder;
use super::answers::{quote_answer, size_of_answer};
use super::budget::{FINDING, POINT};
use super::choices::doubts_reply;
use super::quote::{count_utf16, quote_line, strip_transitions};
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
        let listed_count = self.earlier_turns.len() - self.turns_under_goal().len();
        let turns = &self.earlier_turns[..listed_count];
        // The texts may lack the oldest decisions, so both are walked from the newest on.
        let newest_first = self.decisions.newest_first();
        for (index, decision) in (0..decisions.len()).rev().zip(newest_first) {
            let Some(turn) = turns.iter().find(|turn| decision.is_made_by(turn)) else {
                continue;
            };
            if decision.is_taken_back() {
                // The reply is out of date.
                outcomes.turn_numbers.insert(turn.number);
                continue;
            }
            let reply = turn.last_words();
            let later_turns = self.earlier_turns.iter().chain([&self.turn]);
            let is_corrected = later_turns
                .filter(|later| later.number == turn.number + 1)
                .any(|later| doubts_reply(&later.request, reply));
            if is_corrected {
                // The correction, a decision as well, quotes the part that it is about.
                outcomes.turn_numbers.insert(turn.number);
                continue;
            }
            // Several decisions of a turn have the same reply.
            if !turn.is_answered() || outcomes.turn_numbers.contains(&turn.number) {
                continue;
            }
            let reply = strip_transitions(turn.last_words());
            if reply.is_empty() || is_quoted(reply, decisions) {
                continue;
            }
            let room_left = room - outcomes.size;
            let mut outcome = describe_outcome(reply, size_of_answer(reply, FINDING));
            if count_utf16(&outcome) > room_left {
                // Without the rest of its table, it may fit.
                outcome = describe_outcome(reply, FINDING);
            }
            let size = count_utf16(&outcome);
            if size > room_left {
                break;
            }
            decisions[index].push_str(&outcome);
            outcomes.size += size;
            outcomes.turn_numbers.insert(turn.number);
        }
        outcomes
    }
}

fn describe_outcome(reply: &str, max: usize) -> String {
    format!("; reply: {}", quote_answer(reply, max))
}

/// Whether a decision quotes a reply: it proposed what was decided.
fn is_quoted(reply: &str, decisions: &[String]) -> bool {
    let quotation = quote_line(reply, POINT);
    let words = quotation.trim_matches('"');
    decisions.iter().any(|decision| decision.contains(words))
}
