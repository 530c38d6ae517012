//! Failures: which are still open, and what is known of them.

use super::budget::OLDEST;
use super::command_step::CommandStep;
use super::failure_points::{OpenFailure, SpokenOf};
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
    /// The descriptions of all but those that the user put off, in the order in which they matter.
    pub points: Vec<String>,
    /// The failures that the user put off, newest first. They block nothing.
    pub put_off: Vec<PutOffFailure>,
    /// Whether one of the described failures is of the current turn.
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
        &'a self,
        turns: impl Iterator<Item = &'a Turn>,
        sequel: &Sequel,
        removals: &Removals,
    ) -> OpenFailures {
        let turns: Vec<&Turn> = turns.collect();
        let mut open = Vec::new();
        let mut put_off = Vec::new();
        for index in (0..self.runs.len()).rev() {
            let Some(failure) = self.failed_step_at(index, &turns) else {
                continue;
            };
            let names_removed_path =
                removals.are_named_since(&failure.step.words.join(" "), index + 1);
            if names_removed_path || self.was_settled_since(&failure, sequel) {
                continue;
            }
            let reaction = self.find_reaction(&failure);
            match Verdict::of_user(&failure, reaction.as_ref()) {
                Verdict::PutOff(failure) => put_off.push(failure),
                Verdict::Works => {}
                Verdict::Open => open.extend(self.describe_if_open(&failure, reaction)),
            }
        }
        // A stable sort, so the newest stays first in each group. What the last words mention is
        // always open, so these are three groups.
        open.sort_by_key(|failure| (failure.may_be_over, !failure.is_in_last_words));
        OpenFailures {
            is_of_current_turn: open.iter().any(|failure| failure.is_of_current_turn),
            points: open.into_iter().map(|failure| failure.point).collect(),
            put_off,
        }
    }

    /// Whether a later call, the kept messages or the user settled a failure. What the user says of
    /// it without giving it up is read later.
    fn was_settled_since(&self, failure: &FailedStep, sequel: &Sequel) -> bool {
        failure.is_settled_by_later_run()
            || self.is_settled_in_sequel(failure, sequel)
            || failure.is_given_up()
    }

    /// Returns the failed step of the run at `index`, with what came after it. `None` if no step
    /// failed.
    fn failed_step_at<'a>(&'a self, index: usize, turns: &[&'a Turn]) -> Option<FailedStep<'a>> {
        let run = &self.runs[index];
        let step = run.failed_step()?;
        let is_own = |turn: &&Turn| turn.number == run.turn_number;
        let is_later = |turn: &&Turn| turn.number > run.turn_number;
        Some(FailedStep {
            run,
            step,
            later_runs: self.runs.range(index + 1..),
            turn: turns.iter().copied().find(is_own),
            later_turns: turns.iter().copied().filter(is_later).collect(),
        })
    }

    /// Whether the kept messages settle a failure. Its turn may go on in them.
    fn is_settled_in_sequel(&self, failure: &FailedStep, sequel: &Sequel) -> bool {
        let FailedStep { run, step, .. } = *failure;
        let is_of_current_turn = run.turn_number == self.turn_number;
        sequel.settles(step) || is_of_current_turn && sequel.passes_over(run, step)
    }

    /// Describes a failure with what the user said to it. `None` if it was settled otherwise, or if
    /// it may be over and nobody mentions it any more.
    fn describe_if_open(
        &self,
        failure: &FailedStep,
        reaction: Option<Reaction>,
    ) -> Option<OpenFailure> {
        let spoken_of = SpokenOf {
            is_remarked_on: matches!(reaction, Some(Reaction::Remark(_))),
            is_explained: failure.is_explained(),
        };
        let mut described = self.describe_failure(failure, spoken_of);
        if described.is_settled_otherwise {
            return None;
        }
        let is_doubtful = described.may_be_over && !described.was_certain;
        if is_doubtful && failure.is_forgotten() {
            return None;
        }
        if let Some(reaction) = reaction {
            let quotation = failure.quote_reaction(reaction.words());
            described.point.push_str(&quotation);
        }
        Some(described)
    }
}

/// What the user says of a failure.
enum Verdict {
    /// It is to be repaired later, if at all.
    PutOff(PutOffFailure),
    /// It is none: what seemed to fail works.
    Works,
    /// Nothing, or that it is still there.
    Open,
}

impl Verdict {
    fn of_user(failure: &FailedStep, reaction: Option<&Reaction>) -> Verdict {
        let Some(reaction) = reaction else {
            return Verdict::Open;
        };
        let words = reaction.words();
        if failure.turn.is_some_and(|turn| is_put_off(turn, words)) {
            return Verdict::PutOff(PutOffFailure::new(failure.run, words));
        }
        if reports_success(words) {
            return Verdict::Works;
        }
        Verdict::Open
    }
}

/// A step that failed, and what came after it.
pub(super) struct FailedStep<'a> {
    pub run: &'a ToolRun,
    pub step: &'a CommandStep,
    /// The runs after `run`.
    pub later_runs: vec_deque::Iter<'a, ToolRun>,
    /// The turn of the run; `None` if the builder no longer has it.
    pub turn: Option<&'a Turn>,
    /// The turns after `turn`.
    later_turns: Vec<&'a Turn>,
}

impl<'a> FailedStep<'a> {
    pub fn next_turn(&self) -> Option<&'a Turn> {
        let later_turns = self.later_turns.iter().copied();
        later_turns.min_by_key(|turn| turn.number)
    }

    /// Whether a later run passed, or most likely did: the same step, or all tests.
    fn is_settled_by_later_run(&self) -> bool {
        let settles_step = |later: &ToolRun| later.settles_step(self.step);
        if self.later_runs.clone().any(settles_step) {
            return true;
        }

        // The rest only makes it likely, so a reply that reports the failure as open counts more.
        let reports_failure = |turn: &Turn| reports_open_failure(turn.last_words(), self.step);
        if self.turn.is_some_and(reports_failure) {
            return false;
        }
        let is_answered = self.turn.is_some_and(Turn::is_answered);
        if is_answered && self.seems_to_have_passed() {
            return true;
        }
        let settles_tests = |later: &ToolRun| later.settles_tests_of(self.run, self.step);
        self.later_runs.clone().any(settles_tests)
    }

    /// Whether the step was run again with a hidden exit code, and most likely passed.
    fn seems_to_have_passed(&self) -> bool {
        let mut later_runs = self.later_runs.clone();
        let last = later_runs.rfind(|later| later.repeats_step(self.step));
        last.is_some_and(ToolRun::ends_well)
    }

    /// Whether the user gave up what failed, by its name or in an answer to the turn.
    fn is_given_up(&self) -> bool {
        let later_turns = self.later_turns.iter().copied();
        let turns_from_own = self.turn.into_iter().chain(later_turns);
        if is_given_up_by_name(self.run, self.step, turns_from_own) {
            return true;
        }
        self.turn
            .is_some_and(|turn| is_given_up(turn, self.next_turn()))
    }

    /// Whether the last reply that speaks of the failure explains it, and no later call did part of
    /// the failed command.
    fn is_explained(&self) -> bool {
        let Some(turn) = self.find_speaking_turn().or(self.turn) else {
            return false;
        };
        let did_part = |later: &ToolRun| later.did_part_of(self.run);
        explains_open_failure_of(self.run, turn.last_words())
            && !self.later_runs.clone().any(did_part)
    }

    /// Returns the last of the later turns whose answer is about the failure.
    fn find_speaking_turn(&self) -> Option<&'a Turn> {
        let later_turns = self.later_turns.iter().copied();
        later_turns
            .filter(|turn| turn.is_answered() && is_about(self.run, turn.last_words()))
            .max_by_key(|turn| turn.number)
    }

    /// Whether nothing is known of the failure, or later turns were answered without a word on it.
    fn is_forgotten(&self) -> bool {
        let later_turns = self.later_turns.iter().copied();
        self.run.output.is_empty() || is_passed_over(self.run, self.step, later_turns)
    }

    /// Quotes what the user said to the failure, after an offer of the assistant to which the user
    /// replied.
    fn quote_reaction(&self, words: &str) -> String {
        let quotation = quote_line(words, OLDEST);
        match self.turn.and_then(|turn| turn.quote_offer_before(words)) {
            Some(offer) => format!("; the assistant: {offer}; then the user: {quotation}"),
            None => format!("; then the user: {quotation}"),
        }
    }
}
