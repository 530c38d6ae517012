//! Outcomes: what the assistant replied to the message that made a decision. Without them, a reader
//! does not know whether the decision was carried out.

use super::SummaryBuilder;
use super::budget::{FINDING, OLDEST, POINT};
use super::quote::{count_utf16, quote_line, strip_transitions};
use super::turns::{Turn, quote_answer};
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
    /// Adds to decisions, which are the newest of [`SummaryBuilder::decisions`], the replies to the
    /// messages that made them: of the newest first, as far as they fit in `room`.
    pub(super) fn add_outcomes(&self, decisions: &mut [String], room: usize) -> Outcomes {
        let mut outcomes = Outcomes::default();
        let listed_count = self.earlier_turns.len() - self.turns_under_goal().len();
        let turns = &self.earlier_turns[..listed_count];
        let numbers = self.decisions.turn_numbers().rev();
        for (index, made_in) in (0..decisions.len()).rev().zip(numbers) {
            let made_decision = |turn: &&Turn| {
                let is_near = turn.number == made_in || turn.number == made_in + 1;
                is_near && quotes_message(&decisions[index], turn)
            };
            let Some(turn) = turns.iter().find(made_decision) else {
                continue;
            };
            let reply = strip_transitions(turn.last_words());
            let is_told = outcomes.turn_numbers.contains(&turn.number);
            if is_told || !turn.is_answered() || reply.is_empty() || is_quoted(reply, decisions) {
                continue;
            }
            let outcome = format!("; reply: {}", quote_answer(reply, FINDING));
            let size = count_utf16(&outcome);
            if outcomes.size + size > room {
                break;
            }
            decisions[index].push_str(&outcome);
            outcomes.size += size;
            outcomes.turn_numbers.insert(turn.number);
        }
        outcomes
    }
}

/// Whether a decision quotes the request of a turn, or the answer to its question.
fn quotes_message(decision: &str, turn: &Turn) -> bool {
    let message = if turn.nod.is_empty() {
        &turn.request
    } else {
        &turn.nod
    };
    // An old decision is shorter.
    let mut quotations = [POINT, OLDEST]
        .into_iter()
        .map(|max| quote_line(message, max));
    quotations.any(|quotation| decision.contains(&quotation))
}

/// Whether a decision quotes a reply: it proposed what was decided.
fn is_quoted(reply: &str, decisions: &[String]) -> bool {
    let quotation = quote_line(reply, POINT);
    let words = quotation.trim_matches('"');
    decisions.iter().any(|decision| decision.contains(words))
}
