//! The sequel: what the kept messages, which follow the summary, show of its failures. A failure
//! that they settle is no blocker to whoever reads both. Nothing of them is quoted.

use super::command_step::CommandStep;
use super::message::{ReplyEnd, SummaryMessage, is_agent_command};
use super::reactions::{may_be_about, reports_failure_of, speaks_of_any_failure};
use super::removals::Removals;
use super::reported_failures::reports_open_failure;
use super::tool_calls::ToolHistory;
use super::tool_run::ToolRun;

/// The kept messages that were read.
#[derive(Default)]
pub(super) struct Sequel {
    /// Their calls.
    history: ToolHistory,
    /// The paths that they removed, as far as [`Self::collect_removals`] has read them.
    removals: Removals,
    /// The last words in them on the request whose turn was summarized in part.
    answer: String,
    /// Whether this turn is answered in them.
    is_turn_answered: bool,
    /// Whether the next turn has begun.
    has_request: bool,
}

impl Sequel {
    /// Returns an empty sequel. If the last turn was summarized only in part (`is_split`), the kept
    /// messages go on with it. Otherwise, they begin with the next request.
    pub fn after_cut(is_split: bool) -> Sequel {
        Sequel {
            has_request: !is_split,
            ..Sequel::default()
        }
    }

    /// Adds the next of the kept messages.
    pub fn add(&mut self, message: &SummaryMessage) {
        match message {
            SummaryMessage::User(text) | SummaryMessage::Skill { request: text, .. } => {
                self.has_request |= !text.trim().is_empty() && !is_agent_command(text);
            }
            SummaryMessage::Command(_) | SummaryMessage::KeptRequest(_) => self.has_request = true,
            SummaryMessage::Reply {
                text, stop, calls, ..
            } => {
                // Later replies are not part of the split turn.
                if !self.has_request {
                    text.clone_into(&mut self.answer);
                    self.is_turn_answered = *stop == ReplyEnd::Done;
                }
                self.history.pending.clone_from(calls);
            }
            SummaryMessage::Result {
                call,
                outcome,
                output,
            } => {
                let call = self.history.take_pending(call.clone());
                self.history.record_run(call, outcome.clone(), output);
            }
            _ => {}
        }
    }

    /// Finds the paths that the calls removed, once all messages were added: they are compared with
    /// each failure. `cwd` is the directory of the session.
    pub fn collect_removals(&mut self, cwd: &str) {
        self.removals = self.history.removals(cwd);
    }

    /// Whether a failed step passed later, most likely passed with a hidden exit code, or names a
    /// path that was removed.
    pub fn settles(&self, step: &CommandStep) -> bool {
        self.has_passed_later(step) || self.removals.are_named_in(&step.words.join(" "))
    }

    /// Whether the last run of a step passed or, if its exit code is hidden, most likely did: its
    /// output has no word of failure, and the answer does not report one.
    fn has_passed_later(&self, step: &CommandStep) -> bool {
        let mut newest_first = self.history.runs.iter().rev();
        let last_run = newest_first.find(|run| run.settles_step(step) || run.repeats_step(step));
        let Some(last_run) = last_run else {
            return false;
        };
        if last_run.is_passed() {
            return true;
        }
        last_run.ends_well() && !reports_open_failure(&self.answer, step)
    }

    /// Whether the kept messages answer the request whose turn was summarized in part, without a
    /// word on a failure in that part: the work was done in another way. What was missing may be
    /// named for the reason. An answer that speaks of any failure may mean this one: "I could not
    /// reach the machine".
    pub fn passes_over(&self, run: &ToolRun, step: &CommandStep) -> bool {
        if !self.is_turn_answered {
            return false;
        }
        if run.has_missing_module() {
            return !reports_failure_of(step, &self.answer);
        }
        let may_speak_of_it = step.is_named_in(&self.answer)
            || may_be_about(run, &self.answer)
            || speaks_of_any_failure(&self.answer);
        !may_speak_of_it
    }
}
