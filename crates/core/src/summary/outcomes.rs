//! Outcomes: what the assistant replied to the message that made a decision. Without them, a reader
//! does not know whether the decision was carried out.

use super::SummaryBuilder;
use super::budget::{FINDING, OLDEST, POINT};
use super::quote::{count_utf16, quote_line, strip_transitions};
use super::turns::{Turn, quote_answer};
use foldhash::HashSet;

/// What precedes the reply in a decision.
const REPLY_LEAD: &str = "; reply: ";

/// The replies that were added to decisions.
#[derive(Default)]
pub(super) struct Outcomes {
    /// The numbers of their turns.
    pub turn_numbers: HashSet<usize>,
    /// The number of units that they take.
    pub size: usize,
}

impl SummaryBuilder {
    /// Adds to decisions the replies to the messages that made them, the newest first, as far as
    /// they fit in `room`.
    pub(super) fn add_outcomes(&self, decisions: &mut [String], room: usize) -> Outcomes {
        let mut outcomes = Outcomes::default();
        let listed_count = self.earlier_turns.len() - self.turns_under_goal().len();
        for turn in self.earlier_turns[..listed_count].iter().rev() {
            let reply = strip_transitions(turn.last_words());
            if !turn.is_answered() || reply.is_empty() || is_quoted(reply, decisions) {
                continue;
            }
            let Some(decision) = find_decision(decisions, turn) else {
                continue;
            };
            let outcome = format!("{REPLY_LEAD}{}", quote_answer(reply, FINDING));
            let size = count_utf16(&outcome);
            if outcomes.size + size > room {
                break;
            }
            decision.push_str(&outcome);
            outcomes.size += size;
            outcomes.turn_numbers.insert(turn.number);
        }
        outcomes
    }
}

/// Whether a decision quotes a reply: it proposed what was decided.
fn is_quoted(reply: &str, decisions: &[String]) -> bool {
    let quotation = quote_line(reply, POINT);
    let words = quotation.trim_matches('"');
    decisions.iter().any(|decision| decision.contains(words))
}

/// Returns the newest decision that the request of a turn made, or an answer to its question, and
/// that has no outcome yet.
fn find_decision<'d>(decisions: &'d mut [String], turn: &Turn) -> Option<&'d mut String> {
    let message = if turn.nod.is_empty() {
        &turn.request
    } else {
        &turn.nod
    };
    // An old decision is shorter.
    let quotations = [POINT, OLDEST].map(|max| format!(" {}", quote_line(message, max)));
    let mut newest_first = decisions.iter_mut().rev();
    newest_first.find(|decision| {
        let is_made = quotations.iter().any(|words| decision.contains(words));
        is_made && !decision.contains(REPLY_LEAD)
    })
}
