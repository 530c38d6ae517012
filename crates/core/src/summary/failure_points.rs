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
    /// since, in 3 tool calls) ``. Of a failure that may be over, little or nothing of the output
    /// is quoted.
    pub(super) fn describe_failure(
        &self,
        failure: &FailedStep,
        spoken_of: SpokenOf,
    ) -> OpenFailure {
        let evidence = Evidence::collect(failure, spoken_of, self.turn_number);
        let is_missing_program_settled = evidence.is_missing_program_settled();
        let is_certainly_open =
            evidence.is_recent && evidence.is_known_open() && !is_missing_program_settled;
        OpenFailure {
            is_of_current_turn: evidence.is_of_current_turn,
            may_be_over: !is_certainly_open,
            was_certain: evidence.is_spoken_of() && !failure.run.has_missing_program(),
            is_settled_otherwise: is_missing_program_settled
                || evidence.is_look_over()
                || evidence.is_passed_over(),
            is_in_last_words: evidence.is_in_last_words(),
            point: evidence.describe(is_certainly_open),
        }
    }
}

/// What shows whether a failure is still open.
struct Evidence<'f> {
    failure: &'f FailedStep<'f>,
    spoken_of: SpokenOf,
    is_of_current_turn: bool,
    /// Whether it is at most [`STALE_TURNS`] turns old.
    is_recent: bool,
    /// Whether its turn was answered.
    is_answered: bool,
    /// Whether the last words of its turn mention it.
    is_mentioned: bool,
    /// Whether a program was missing, and the last words of its turn name that.
    is_missing_named: bool,
    /// Whether a reply explains it, or the last words of its turn are about it, and do not report
    /// that it was got round.
    is_reported: bool,
    /// Whether no other work followed: the assistant only looked around or tried again.
    is_last_work: bool,
}

impl<'f> Evidence<'f> {
    fn collect(
        failure: &'f FailedStep<'f>,
        spoken_of: SpokenOf,
        current_turn_number: usize,
    ) -> Evidence<'f> {
        let run = failure.run;
        let step = failure.step;
        let reply = failure.turn.map(Turn::last_words);
        let is_of_current_turn = run.turn_number == current_turn_number;

        // An earlier turn may name the command for another reason, so its words must report a
        // failure as well.
        let is_mentioned = reply.is_some_and(|reply| {
            step.is_named_in(reply) && (is_of_current_turn || reports_failure_of(step, reply))
        });
        let is_missing_named =
            run.has_missing_program() && reply.is_some_and(|reply| step.is_program_named_in(reply));
        let is_reply_about_it =
            reply.is_some_and(|reply| is_about(run, reply) && !is_got_round(run, reply));
        let mut later_runs = failure.later_runs.clone();
        let is_last_work =
            later_runs.all(|later| later.command.is_read_only || later.repeats_step(step));
        Evidence {
            failure,
            is_of_current_turn,
            is_recent: run.turn_number + STALE_TURNS >= current_turn_number,
            is_answered: failure.turn.is_some_and(Turn::is_answered),
            is_mentioned,
            is_missing_named,
            is_reported: spoken_of.is_explained || is_reply_about_it,
            is_last_work,
            spoken_of,
        }
    }

    /// Whether something shows that the failure is open: its turn speaks of it, the user remarked
    /// on it, its turn is the current one and has no answer yet, or no other work followed.
    fn is_known_open(&self) -> bool {
        let is_turn_unanswered = self.is_of_current_turn && !self.is_answered;
        self.is_mentioned
            || self.is_missing_named
            || self.spoken_of.is_remarked_on
            || is_turn_unanswered
            || self.is_last_work
    }

    /// Whether a program was missing in an earlier turn, and that was dealt with, whatever the user
    /// remarked: another command or program replaced it, or the reply of the turn does not speak of
    /// the failure.
    fn is_missing_program_settled(&self) -> bool {
        let FailedStep {
            run, step, turn, ..
        } = *self.failure;
        if !run.has_missing_program() || self.is_of_current_turn {
            return false;
        }
        let is_unspoken_of = !self.is_mentioned && !self.is_missing_named && !self.is_reported;
        is_unspoken_of
            || is_replaced_in_turn(run, step, self.failure.later_runs.clone())
            || turn.is_some_and(|turn| reports_replacement_of(step, turn.last_words()))
    }

    /// Whether the user or a reply spoke of it.
    fn is_spoken_of(&self) -> bool {
        self.is_mentioned || self.spoken_of.is_remarked_on || self.spoken_of.is_explained
    }

    fn is_in_last_words(&self) -> bool {
        self.is_of_current_turn && self.is_mentioned
    }

    /// Whether the step only looked, and the work went on without what it would have found. A look
    /// is done again in another way, if at all.
    fn is_look_over(&self) -> bool {
        if !only_looks(self.failure.run, self.failure.step) {
            return false;
        }
        let is_old = self.failure.later_runs.len() >= SOME_WORK && !self.is_in_last_words();
        let is_left_behind = !self.is_of_current_turn && !self.is_spoken_of() && !self.is_last_work;
        is_old || is_left_behind
    }

    /// Whether its turn is over, and nothing in it shows that the failure is open. The turn was
    /// answered, or the user went on to much other work without an answer.
    fn is_passed_over(&self) -> bool {
        let is_left_unanswered =
            !self.is_of_current_turn && self.failure.later_runs.len() >= MUCH_WORK;
        let is_turn_over = self.is_answered || is_left_unanswered;
        is_turn_over && !self.is_known_open() && !self.is_reported
    }

    fn describe(&self, is_certainly_open: bool) -> String {
        let run = self.failure.run;
        let call = describe_call(&run.call);
        let outcome = run.describe_outcome();
        let since = describe_since(self.failure);
        if is_certainly_open {
            let output = quote_line(&run.output, POINT);
            return format!("{call}: {outcome}: {output} ({since})");
        }
        if self.is_recent && !run.output.is_empty() {
            let output = quote_line(&run.output, OLDEST);
            return format!("{call}: {outcome}: {output} ({since}; may be over)");
        }
        format!("{call}: {outcome} ({since}; may be over)")
    }
}

/// Whether a failed step only looks, at files or at what a server returns.
fn only_looks(run: &ToolRun, step: &CommandStep) -> bool {
    const PROGRAMS: [&str; 4] = ["curl", "wget", "nc", "ping"];
    let program = step.words.first().map_or("", String::as_str);
    run.command.is_read_only || PROGRAMS.contains(&program)
}

/// Whether another program most likely did the work of `step`, the step of `run` whose program is
/// missing: one of the `later_runs` in the same turn passed with all arguments of `step`. To look
/// at a file, or to add it to a commit, does not do the work.
fn is_replaced_in_turn(
    run: &ToolRun,
    step: &CommandStep,
    mut later_runs: vec_deque::Iter<ToolRun>,
) -> bool {
    later_runs.any(|later| {
        let is_of_turn = later.turn_number == run.turn_number;
        if !is_of_turn || !later.is_passed() || later.command.is_read_only {
            return false;
        }
        let mut other_steps = later.command.steps.iter();
        other_steps.any(|other| other.words[0] != "git" && other.replaces(step))
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
