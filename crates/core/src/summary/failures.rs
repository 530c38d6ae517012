//! Failures: which are still open, and what is known of them.

use super::budget::*;
use super::command_step::CommandStep;
use super::failure_points::SpokenOf;
use super::given_up::{is_given_up, is_given_up_by_name};
use super::put_off::{PutOffFailure, is_put_off};
use super::quote::quote_line;
use super::reactions::{
    Reaction, explains_open_failure_of, is_about, is_passed_over, reports_success,
};
use super::removals::Removals;
use super::reported_failures::reports_open_failure;
use super::sequel::Sequel;
use super::tool_calls::ToolHistory;
use super::tool_run::ToolRun;
use super::turns::Turn;
use std::collections::vec_deque;

/// The failures that no later call settled.
#[derive(Default)]
pub(super) struct OpenFailures {
    /// Their descriptions, in the order in which they matter.
    pub points: Vec<String>,
    /// Those that the user put off, newest first. They block nothing.
    pub put_off: Vec<PutOffFailure>,
    /// Whether one of them is of the current turn.
    pub is_of_current_turn: bool,
}

impl ToolHistory {
    /// Describes the failures whose step was not run again with a known result: first those that
    /// the last words of the current turn mention, then others that are certainly open, then those
    /// that may be over. The newest of each group comes first. What the user said to a failure
    /// follows it, after an offer of the assistant to which the user replied.
    ///
    /// Left out are:
    ///
    /// - a step of an answered turn that was run again with a hidden exit code, if the output then
    ///   ended without a word of failure, and the reply does not say that it still fails
    /// - a step that ran some tests, if all tests passed later in the turn, and the reply does not
    ///   say that it still fails
    /// - a step that names a path which was removed since: it cannot be run again
    /// - the failures of a turn that the user answered with giving up ("never mind"), or by saying
    ///   that it works; what is given up later, by its name ("skip HEIC, nobody has that")
    /// - a failure of an answered turn that nobody spoke of, if other work followed: the work was
    ///   done in another way
    /// - a missing program that was replaced, whoever spoke of it
    /// - a failure that may be over, if nothing is known of it, or later turns were answered
    ///   without a word on it
    /// - what the kept messages settle
    ///
    /// What the user put off is listed apart. `removals` are those of all calls.
    pub fn describe_failures<'a>(
        &self,
        turns: impl Iterator<Item = &'a Turn> + Clone,
        sequel: &Sequel,
        removals: &Removals,
    ) -> OpenFailures {
        let mut failures = Vec::new();
        let mut put_off = Vec::new();
        for (index, run) in self.runs.iter().enumerate().rev() {
            let Some(step) = run.failed_step() else {
                continue;
            };
            let later_runs = self.runs.range(index + 1..);
            if later_runs.clone().any(|later| later.settles_step(step)) {
                continue;
            }
            if removals.are_named_since(&step.words.join(" "), index + 1) {
                continue;
            }
            let is_of_current_turn = run.turn_number == self.turn_number;
            if sequel.settles(step) || is_of_current_turn && sequel.passes_over(run, step) {
                continue;
            }
            let turn = turns.clone().find(|turn| turn.number == run.turn_number);
            let is_answered = turn.is_some_and(Turn::is_answered);
            let still_fails =
                turn.is_some_and(|turn| reports_open_failure(turn.last_words(), step));
            if is_answered && !still_fails && seems_to_have_passed(step, later_runs.clone()) {
                continue;
            }
            let runs_all_tests = |later: &ToolRun| later.settles_tests_of(run, step);
            if !still_fails && later_runs.clone().any(runs_all_tests) {
                continue;
            }
            let later_turns = turns.clone().filter(|turn| turn.number > run.turn_number);
            if is_given_up_by_name(run, step, turn.into_iter().chain(later_turns.clone())) {
                continue;
            }
            let next_turn = later_turns.clone().min_by_key(|turn| turn.number);
            if turn.is_some_and(|turn| is_given_up(turn, next_turn)) {
                continue;
            }
            let reaction = turn.and_then(|turn| self.find_reaction(run, turn, next_turn));
            if let (Some(turn), Some(reaction)) = (turn, &reaction)
                && is_put_off(turn, reaction.words())
            {
                put_off.push(PutOffFailure::new(run, reaction.words()));
                continue;
            }
            if reaction
                .as_ref()
                .is_some_and(|reaction| reports_success(reaction.words()))
            {
                continue;
            }
            let is_remarked_on = matches!(reaction, Some(Reaction::Remark(_)));
            let explaining_turn = find_speaking_turn(run, later_turns.clone()).or(turn);
            let is_explained = explaining_turn
                .is_some_and(|turn| explains_open_failure_of(run, turn.last_words()))
                && !later_runs.clone().any(|later| later.did_part_of(run));
            let spoken_of = SpokenOf {
                is_remarked_on,
                is_explained,
            };
            let mut failure = self.describe_failure(run, step, turn, spoken_of, later_runs);
            let is_forgotten =
                run.output.is_empty() || is_passed_over(run, step, later_turns.clone());
            if failure.may_be_over && !failure.was_certain && is_forgotten {
                continue;
            }
            if let Some(reaction) = reaction {
                let words = reaction.words();
                if let Some(offer) = turn.and_then(|turn| turn.quote_offer_before(words)) {
                    failure.point.push_str(&format!("; the assistant: {offer}"));
                }
                let quotation = quote_line(words, OLDEST);
                failure
                    .point
                    .push_str(&format!("; then the user: {quotation}"));
            }
            if !failure.is_settled_otherwise {
                failures.push(failure);
            }
        }
        // A stable sort, so the newest stays first in each group. What the last words mention is
        // always open, so these are three groups.
        failures.sort_by_key(|failure| (failure.may_be_over, !failure.is_in_last_words));
        OpenFailures {
            is_of_current_turn: failures.iter().any(|failure| failure.is_of_current_turn),
            points: failures.into_iter().map(|failure| failure.point).collect(),
            put_off,
        }
    }
}

/// Returns the last of the `later_turns` whose answer is about the failure of a run.
fn find_speaking_turn<'t>(
    run: &ToolRun,
    later_turns: impl Iterator<Item = &'t Turn>,
) -> Option<&'t Turn> {
    later_turns
        .filter(|turn| turn.is_answered() && is_about(run, turn.last_words()))
        .max_by_key(|turn| turn.number)
}

/// Whether a step was run again with a hidden exit code, and most likely passed.
fn seems_to_have_passed(step: &CommandStep, mut later_runs: vec_deque::Iter<ToolRun>) -> bool {
    let last = later_runs.rfind(|later| later.repeats_step(step));
    last.is_some_and(ToolRun::ends_well)
}
