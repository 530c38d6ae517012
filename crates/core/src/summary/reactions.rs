//! Reactions: what the user said to a reply in which a call failed.

use super::questions::statement_before_question;
use super::quote::is_asking;
use super::referents::{follows_on, shares_word};
use super::tool_calls::ToolHistory;
use super::tool_run::ToolRun;
use super::turns::Turn;

/// What the user said after a reply in which a call failed.
pub(super) enum Reaction<'t> {
    /// A message that called for no work, so it is most likely about the failure.
    Remark(&'t str),
    /// The next request, after a reply that reported the failure.
    Request(&'t str),
}

impl<'t> Reaction<'t> {
    pub fn words(&self) -> &'t str {
        match self {
            Reaction::Remark(words) | Reaction::Request(words) => words,
        }
    }
}

impl ToolHistory {
    /// Returns what the user said to the reply of a turn in which a run failed, without a question
    /// at its end. `None` if that answers a question about something else, or is the current
    /// request, which is quoted elsewhere.
    pub fn find_reaction<'t>(
        &self,
        run: &ToolRun,
        turn: &'t Turn,
        next_turn: Option<&'t Turn>,
    ) -> Option<Reaction<'t>> {
        if let Some(nod) = turn.unworked_nod() {
            return Some(Reaction::Remark(nod));
        }
        let next_turn = next_turn?;
        let words = statement_before_question(&next_turn.request);
        let is_current = next_turn.number == self.turn_number;
        if is_current || words.is_empty() || answers_other_question(run, turn, words) {
            return None;
        }
        if next_turn.call_count == 0 {
            return Some(Reaction::Remark(words));
        }
        let is_reported = turn.is_answered() && is_about(run, turn.last_words());
        is_reported.then_some(Reaction::Request(words))
    }
}

/// Whether a message answers a question at the end of a reply that has nothing to do with a failed
/// run. A question that names nothing, such as "Can you make one?", is about what was said before.
fn answers_other_question(run: &ToolRun, turn: &Turn, message: &str) -> bool {
    let Some(proposal) = turn.proposal() else {
        return false;
    };
    let question = proposal.sentence();
    is_asking(question)
        && proposal.is_answered_by(message)
        && !follows_on(question)
        && !is_about(run, question)
}

/// Whether a text names the step of a run that failed, or has a word of its output.
fn is_about(run: &ToolRun, text: &str) -> bool {
    let is_named = run.failed_step().is_some_and(|step| step.is_named_in(text));
    is_named || shares_word(&run.output, text)
}
