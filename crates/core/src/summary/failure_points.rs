//! Points on failures: how an open one is described, and whether it is certainly open.

use super::budget::{COMMAND, OLDEST, POINT, RESULT, STALE_TURNS};
use super::command_step::CommandStep;
use super::failures::FailedStep;
use super::quote::{code_span, quote_line};
use super::reactions::{is_about, is_got_round, reports_failure_of, reports_replacement_of};
use super::tool_calls::{ToolHistory, describe_call};
use super::tool_run::{HIDDEN_EXIT_CODE, ToolRun};
use super::turns::Turn;
use crate::format::format_count;
use std::collections::vec_deque;

/// A failure that no later call settled.
pub(super) struct OpenFailure {
    pub is_of_current_turn: bool,
    pub may_be_over: bool,
    /// Whether the reply or the user certainly spoke of it. Not set for a missing program, which
    /// may have been installed or replaced since.
    pub was_certain: bool,
    /// Whether it is no blocker any more: its turn was answered without a word on it and other work
    /// followed, or the program that was missing was replaced.
    pub is_settled_otherwise: bool,
    /// Whether the last words of the current turn mention it.
    pub is_in_last_words: bool,
    /// Its description.
    pub point: String,
}

/// Who spoke of a failure.
pub(super) struct SpokenOf {
    /// Whether the user spoke of it.
    pub is_remarked_on: bool,
    /// Whether the last reply that speaks of it explains it, and no later call did part of the
    /// failed command.
    pub is_explained: bool,
}

/// After this many calls of other work, a failure that nobody spoke of holds up nothing.
const MUCH_WORK: usize = 20;
/// After this many calls, what only looked holds up nothing, whoever spoke of it.
const SOME_WORK: usize = 10;

impl ToolHistory {
    /// Describes a failed step: `` `make test`: exit code 2: "tide.c:3: error" (not run again
    /// since, in 3 tool calls) ``.
    ///
    /// A failure is certainly open if it is recent (at most [`STALE_TURNS`] turns old), and one of
    /// these holds: the last words of its turn mention it, or name the program that is missing; the
    /// user remarked on it; its turn is the current one, and has no answer yet; or no other work
    /// followed. Any other failure may be over, so little or nothing of its output is quoted.
    ///
    /// A program that was missing in an earlier turn counts as dealt with in two cases, whatever
    /// the user remarked: a later command of that turn passed with all its arguments
    /// ([`is_replaced_in_turn`]), or the reply of that turn does not speak of the failure.
    pub(super) fn describe_failure(
        &self,
        failure: &FailedStep,
        spoken_of: SpokenOf,
    ) -> OpenFailure {
        let FailedStep {
            run, step, turn, ..
        } = *failure;
        let later_runs = &failure.later_runs;
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
        let is_in_last_words = is_of_current_turn && is_mentioned;

        // What only looks is done again in another way, if at all.
        let is_look_old = later_runs.len() >= SOME_WORK && !is_in_last_words;
        let is_look_left = !is_of_current_turn
            && !is_mentioned
            && !is_remarked_on
            && !is_explained
            && !is_last_work;
        let is_look_over = only_looks(run, step) && (is_look_old || is_look_left);
        // Its turn was answered, or the user went on to other work without an answer.
        let is_turn_over = is_answered || !is_of_current_turn && later_runs.len() >= MUCH_WORK;
        let is_passed_over = is_turn_over && !is_known_open && !is_reported;

        let call = describe_call(&run.call);
        let outcome = run.describe_outcome();
        let since = describe_since(failure);
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
            is_settled_otherwise: is_missing_program_settled || is_look_over || is_passed_over,
            is_in_last_words,
            point,
        }
    }
}

/// Whether a failed step only looks, at files or at what a server returns.
fn only_looks(run: &ToolRun, step: &CommandStep) -> bool {
    const PROGRAMS: [&str; 4] = ["curl", "wget", "nc", "ping"];
    let program = step.words.first().map_or("", String::as_str);
    run.command.is_read_only || PROGRAMS.contains(&program)
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
/// tool calls", or "run again since" with the result; then the file that may have repaired it.
fn describe_since(failure: &FailedStep) -> String {
    let since = describe_later_run(failure.step, failure.later_runs.clone());
    match find_changed_file(&failure.run.output, failure.later_runs.clone()) {
        Some(file) => format!("{since}; {} was changed since", code_span(file, COMMAND)),
        None => since,
    }
}

/// Describes the last of the `later_runs` that repeats a failed step, or the number of these runs.
/// None of them settled the step, so one that repeats it has a hidden exit code, and only its
/// output may show whether it passed.
fn describe_later_run(step: &CommandStep, mut later_runs: vec_deque::Iter<ToolRun>) -> String {
    let later_count = later_runs.len();
    if later_count == 0 {
        return "the last tool call".to_owned();
    }
    let Some(last) = later_runs.rfind(|later| later.repeats_step(step)) else {
        let calls = format_count(later_count, "tool call", "tool calls");
        return format!("not run again since, in {calls}");
    };
    let result = if last.output.is_empty() {
        String::new()
    } else {
        format!(": {}", quote_line(&last.output, RESULT))
    };
    format!("run again since, {HIDDEN_EXIT_CODE}{result}")
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
