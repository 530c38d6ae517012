//! Failures: which are still open, and what is known of them.

use super::budget::*;
use super::command_step::CommandStep;
use super::given_up::is_given_up;
use super::put_off::{PutOffFailure, is_put_off};
use super::quote::{code_span, quote_line};
use super::reactions::{
    Reaction, explains_open_failure_of, is_about, is_got_round, is_passed_over, reports_failure_of,
    reports_replacement_of, reports_success,
};
use super::removals::Removals;
use super::reported_failures::reports_open_failure;
use super::sequel::Sequel;
use super::tool_calls::{ToolHistory, describe_call};
use super::tool_run::{HIDDEN_EXIT_CODE, ToolRun};
use super::turns::Turn;
use crate::format::format_count;
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

/// A failure that no later call settled.
struct OpenFailure {
    is_of_current_turn: bool,
    may_be_over: bool,
    /// Whether the reply or the user spoke of it for certain, and no program was missing, which
    /// would have been installed or replaced since.
    was_certain: bool,
    /// Whether it is no blocker any more: its turn was answered without a word on it and other work
    /// followed, or the program that was missing was replaced.
    is_settled_otherwise: bool,
    /// Whether the last words of the current turn mention it.
    is_in_last_words: bool,
    /// Its description.
    point: String,
}

/// Who spoke of a failure.
struct SpokenOf {
    /// Whether the user did.
    is_remarked_on: bool,
    /// Whether the last reply that speaks of it explains it, and no later call did part of the
    /// same.
    is_explained: bool,
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
    ///   that it works
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

    /// Describes the failed `step` of a run: `` `make test`: exit code 2: "tide.c:3: error" (not
    /// run again since, in 3 tool calls) ``. `turn` is the turn of the run, and `later_runs` are
    /// the runs after it.
    ///
    /// A failure is certainly open if it is recent (at most [`STALE_TURNS`] turns old), and one of
    /// these holds: the last words of its turn mention it, or name the program that is missing; the
    /// user remarked on it; its turn is the current one, and has no answer yet; or no other work
    /// followed. Any other failure may be over, so little or nothing of its output is quoted.
    ///
    /// A program that was missing in an earlier turn counts as dealt with in two cases, whatever
    /// the user remarked: a later command of that turn passed with all its arguments
    /// ([`is_replaced_in_turn`]), or the reply of that turn does not speak of the failure.
    fn describe_failure(
        &self,
        run: &ToolRun,
        step: &CommandStep,
        turn: Option<&Turn>,
        spoken_of: SpokenOf,
        later_runs: vec_deque::Iter<ToolRun>,
    ) -> OpenFailure {
        let SpokenOf {
            is_remarked_on,
            is_explained,
        } = spoken_of;
        let is_of_current_turn = run.turn_number == self.turn_number;
        let is_answered = turn.is_some_and(Turn::is_answered);
        let is_mentioned = turn.is_some_and(|turn| {
            let words = turn.last_words();
            step.is_named_in(words) && (is_of_current_turn || reports_failure_of(step, words))
        });
        let is_reported = is_explained
            || turn.is_some_and(|turn| {
                let words = turn.last_words();
                is_about(run, words) && !is_got_round(run, words)
            });
        let is_turn_unanswered = is_of_current_turn && !is_answered;
        // Since then, the assistant only looked around or tried again.
        let is_last_work = later_runs
            .clone()
            .all(|later| later.command.is_read_only || later.repeats_step(step));
        let is_recent = run.turn_number + STALE_TURNS >= self.turn_number;
        let is_missing_named = run.has_missing_program()
            && turn.is_some_and(|turn| step.is_program_named_in(turn.last_words()));
        let is_known_open = is_mentioned
            || is_missing_named
            || is_remarked_on
            || is_turn_unanswered
            || is_last_work;
        let is_missing_program_settled = run.has_missing_program()
            && !is_of_current_turn
            && (is_replaced_in_turn(run, step, later_runs.clone())
                || turn.is_some_and(|turn| reports_replacement_of(step, turn.last_words()))
                || !is_mentioned && !is_missing_named && !is_reported);
        let is_open = is_recent && is_known_open && !is_missing_program_settled;

        let call = describe_call(&run.call);
        let outcome = run.describe_outcome();
        let changed_file = find_changed_file(&run.output, later_runs.clone());
        let mut since = describe_since(step, later_runs);
        if let Some(file) = changed_file {
            since.push_str(&format!("; {} was changed since", code_span(file, COMMAND)));
        }
        let point = if is_open {
            let output = quote_line(&run.output, POINT);
            format!("{call}: {outcome}: {output} ({since})")
        } else if is_recent && !run.output.is_empty() {
            let output = quote_line(&run.output, OLDEST);
            format!("{call}: {outcome}: {output} ({since}; may be over)")
        } else {
            format!("{call}: {outcome} ({since}; may be over)")
        };
        OpenFailure {
            is_of_current_turn,
            may_be_over: !is_open,
            was_certain: !run.has_missing_program()
                && (is_mentioned || is_remarked_on || is_explained),
            is_settled_otherwise: is_missing_program_settled
                || is_answered && !is_known_open && !is_reported,
            is_in_last_words: is_of_current_turn && is_mentioned,
            point,
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

/// Whether one of the `later_runs` in the turn of `run` passed with all arguments of `step`. This
/// is the step of `run` whose program is missing, so another program most likely did its work. To
/// look at a file, or to add it to a commit, does not.
fn is_replaced_in_turn(
    run: &ToolRun,
    step: &CommandStep,
    mut later_runs: vec_deque::Iter<ToolRun>,
) -> bool {
    later_runs.any(|later| {
        let mut steps = later.command.steps.iter();
        later.turn_number == run.turn_number
            && later.is_passed()
            && !later.command.is_read_only
            && steps.any(|own| own.words[0] != "git" && own.replaces(step))
    })
}

/// Describes what happened since a step failed: "the last tool call", "not run again since, in 3
/// tool calls", or "run again since" with the result. `later_runs` are the tool calls after it.
/// None of them settled the step, so one that repeats it has a hidden exit code, and only its
/// output may show whether it passed.
fn describe_since(step: &CommandStep, mut later_runs: vec_deque::Iter<ToolRun>) -> String {
    let later_count = later_runs.len();
    if later_count == 0 {
        "the last tool call".to_owned()
    } else if let Some(last) = later_runs.rfind(|later| later.repeats_step(step)) {
        let result = if last.output.is_empty() {
            String::new()
        } else {
            format!(": {}", quote_line(&last.output, RESULT))
        };
        format!("run again since, {HIDDEN_EXIT_CODE}{result}")
    } else {
        let calls = format_count(later_count, "tool call", "tool calls");
        format!("not run again since, in {calls}")
    }
}

/// Whether a step was run again with a hidden exit code, and most likely passed.
fn seems_to_have_passed(step: &CommandStep, mut later_runs: vec_deque::Iter<ToolRun>) -> bool {
    let last = later_runs.rfind(|later| later.repeats_step(step));
    last.is_some_and(ToolRun::ends_well)
}

/// Returns the first file that a later run changed and that the `output` of a failed one names: the
/// failure may be repaired, although nobody ran the command again.
fn find_changed_file<'r>(
    output: &str,
    later_runs: vec_deque::Iter<'r, ToolRun>,
) -> Option<&'r str> {
    let mut targets = later_runs
        .filter(|run| run.changes_file())
        .map(|run| &*run.call.target);
    targets.find(|target| {
        let name = target.rsplit('/').next().unwrap_or_default();
        !name.is_empty() && output.contains(name)
    })
}
