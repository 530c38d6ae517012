//! Records each tool call. Commands, failures, changed files and the last calls are all derived
//! from these records when the summary is written.

use super::budget::*;
use super::message::SummaryCall;
use super::quote::{clip, code_span, one_line, quote_line, sanitize, strip_digits};
use super::removals::Removals;
use super::shell::{CommandLine, CommandStep, changes_files};
use super::turns::Turn;
use crate::format::format_count;
use crate::session::outcome::Outcome;
use foldhash::HashSet;
use regex::Regex;
use std::collections::{VecDeque, vec_deque};
use std::sync::LazyLock;

/// The status of a call whose outcome is not known.
const HIDDEN_EXIT_CODE: &str = "its exit code hidden by a pipe or a later step";
/// Matches `git commit` with the first line of its message, which may be a here-document.
const COMMIT: &str = r#"git commit[^"']*["'](?:\$\(cat <<\W*\w+\W*\n)?([^"'\n]+)"#;

/// A tool call that ended.
struct ToolRun {
    call: SummaryCall,
    outcome: Outcome,
    command: CommandLine,
    /// The most informative lines of its output, if it failed.
    output: String,
    /// The number of its turn.
    turn_number: usize,
}

/// The tool calls of a session, and the todo list that they keep.
#[derive(Default)]
pub(super) struct ToolHistory {
    /// The calls of the last reply that have no result.
    pub pending: Vec<SummaryCall>,
    /// The newest calls that ended, oldest first.
    runs: VecDeque<ToolRun>,
    /// The last list that a tool that keeps a todo list was given, or else its last report.
    pub todo_list: String,
    /// The number of the current turn.
    pub turn_number: usize,
}

impl ToolHistory {
    /// Removes the call that a result answers from the pending calls, and returns it. `named_call`
    /// is the call as far as the result names it, and is returned if no such call is pending.
    pub fn take_pending(&mut self, named_call: SummaryCall) -> SummaryCall {
        let pending = self
            .pending
            .iter()
            .position(|call| call.id == named_call.id);
        match pending {
            Some(index) => self.pending.remove(index),
            None => named_call,
        }
    }

    /// Records a call that ended with `output`, in place of the oldest one if [`RECENT`] calls are
    /// recorded. The todo list is replaced if the call passed and its tool keeps one.
    pub fn record_run(&mut self, call: SummaryCall, outcome: Outcome, output: &str) {
        if outcome == Outcome::Passed && call.tool.to_lowercase().contains("todo") {
            let list = if call.todo_list.is_empty() {
                output
            } else {
                &call.todo_list
            };
            list.clone_into(&mut self.todo_list);
        }

        let command = if call.command.is_empty() {
            CommandLine::from_tool(&call.tool, &call.target)
        } else {
            CommandLine::parse(&call.command)
        };
        let excess = (self.runs.len() + 1).saturating_sub(RECENT);
        self.runs.drain(..excess);
        self.runs.push_back(ToolRun {
            output: informative_lines(&outcome, output),
            call,
            outcome,
            command,
            turn_number: self.turn_number,
        });
    }

    /// Describes the last calls of the current turn, in order, with their outcomes. A series of
    /// similar calls counts as one of the [`LAST_CALLS`].
    pub fn last_calls(&self) -> Vec<String> {
        let mut newest_first = Vec::new();
        for run in self.runs.iter().rev() {
            if run.turn_number != self.turn_number {
                break;
            }
            newest_first.push(format!(
                "{}: {}",
                describe_call(&run.call),
                run.describe_outcome()
            ));
        }
        let mut calls = fold_series(&newest_first);
        calls.truncate(LAST_CALLS);
        calls.reverse();
        calls
    }

    /// Returns the commands whose last run is known to have passed, newest first. Commits, which
    /// are listed apart, and commands that change nothing are left out.
    pub fn passed_commands(&self) -> Vec<String> {
        let mut seen_steps = HashSet::default();
        let mut passed = Vec::new();
        for run in self.runs.iter().rev() {
            if run.call.command.is_empty() || run.command.is_read_only || run.is_commit() {
                continue;
            }
            let is_last_run = seen_steps.insert(&run.command.steps);
            if is_last_run && run.is_passed() {
                passed.push(describe_call(&run.call));
            }
        }
        fold_series(&passed)
    }

    /// Returns the first lines of the messages of commits, newest first, as far as the command
    /// lines have them.
    pub fn commit_messages(&self) -> Vec<String> {
        static MESSAGE: LazyLock<Regex> = LazyLock::new(|| Regex::new(COMMIT).expect("a constant"));
        let mut messages = Vec::new();
        for run in self.runs.iter().rev() {
            if run.is_commit()
                && let Some(found) = MESSAGE.captures(&run.call.command)
            {
                messages.push(quote_line(&found[1], COMMAND));
            }
        }
        messages
    }

    /// Returns the files changed since the last commit, newest first, without those removed since.
    pub fn changed_files(&self, removals: &Removals) -> Vec<String> {
        let mut seen = HashSet::default();
        let mut files = Vec::new();
        for run in self.runs.iter().rev() {
            if run.is_commit() {
                break;
            }
            let file = &run.call.target;
            let is_change = run.outcome == Outcome::Passed && changes_files(&run.call.tool);
            if !is_change || file.is_empty() || removals.contain(file) {
                continue;
            }
            let is_new = seen.insert(file);
            if is_new {
                files.push(code_span(file, COMMAND));
            }
        }
        fold_series(&files)
    }

    /// Returns the paths that were removed and not written or read since.
    pub fn removals(&self) -> Removals {
        let mut removals = Removals::default();
        for run in &self.runs {
            if run.outcome != Outcome::Passed {
                continue;
            }
            for step in &run.command.steps {
                for path in step.removed_paths() {
                    removals.add(path);
                }
            }
            if run.call.command.is_empty() {
                removals.restore(&run.call.target);
            }
        }
        removals
    }

    /// Whether a failure of a previous summary is over: its command ran again, or its file was
    /// changed. `point` has the form of [`describe_call`]: `` `COMMAND` `` or ``TOOL `TARGET` ``.
    pub fn is_settled(&self, point: &str) -> bool {
        let mut parts = point.split('`');
        let (Some(tool), Some(quoted)) = (parts.next(), parts.next()) else {
            return false;
        };
        let failed = if tool.is_empty() {
            CommandLine::parse(quoted)
        } else {
            CommandLine::from_tool(tool.trim(), quoted)
        };
        let Some(step) = failed.steps.last() else {
            return false;
        };
        self.runs.iter().any(|run| run.settles_step(step))
    }

    /// Describes the failures that no later call settled: first those that the last words of the
    /// current turn mention, then others that are certainly open, then those that may be over. The
    /// newest of each group comes first.
    pub fn describe_failures<'a>(
        &self,
        turns: impl Iterator<Item = &'a Turn> + Clone,
    ) -> OpenFailures {
        let mut failures = Vec::new();
        for (index, run) in self.runs.iter().enumerate().rev() {
            let Some(step) = run.failed_step() else {
                continue;
            };
            let later_runs = self.runs.range(index + 1..);
            if later_runs.clone().any(|later| later.settles_step(step)) {
                continue;
            }
            let turn = turns.clone().find(|turn| turn.number == run.turn_number);
            let failure = self.describe_failure(run, step, turn, later_runs);
            // What only looks whether something is there fails without a consequence.
            let is_answered = turn.is_some_and(Turn::is_answered);
            if !(failure.may_be_over && is_answered && run.is_probe()) {
                failures.push(failure);
            }
        }
        // A stable sort, so the newest stays first in each group.
        failures.sort_by_key(|failure| (failure.may_be_over, !failure.is_in_last_words));
        OpenFailures {
            is_of_current_turn: failures.iter().any(|failure| failure.is_of_current_turn),
            points: failures.into_iter().map(|failure| failure.point).collect(),
        }
    }

    /// Describes a failed step of a run, given the turn of the run and the runs after it.
    ///
    /// A failure is certainly open if it is recent (at most [`STALE_TURNS`] turns old), and either
    /// the last words of its turn mention it, or its turn is the current one and has no answer yet,
    /// or no other work followed. Any other failure may be over, and is described without its
    /// output.
    fn describe_failure(
        &self,
        run: &ToolRun,
        step: &CommandStep,
        turn: Option<&Turn>,
        later_runs: vec_deque::Iter<ToolRun>,
    ) -> OpenFailure {
        let is_of_current_turn = run.turn_number == self.turn_number;
        let is_answered = turn.is_some_and(Turn::is_answered);
        let is_mentioned = turn.is_some_and(|turn| step.is_named_in(turn.last_words()));
        let is_turn_unanswered = is_of_current_turn && !is_answered;
        // Since then, the assistant only looked around or tried again.
        let is_last_work = later_runs
            .clone()
            .all(|later| later.command.is_read_only || later.repeats_step(step));
        let is_recent = run.turn_number + STALE_TURNS >= self.turn_number;
        let is_open = is_recent && (is_mentioned || is_turn_unanswered || is_last_work);

        let call = describe_call(&run.call);
        let state = run.describe_outcome();
        let since = describe_since(step, later_runs);
        let point = if is_open {
            let output = quote_line(&run.output, POINT);
            format!("{call}: {state}: {output} ({since})")
        } else {
            format!("{call}: {state} ({since}; may be over)")
        };
        OpenFailure {
            is_of_current_turn,
            may_be_over: !is_open,
            is_in_last_words: is_of_current_turn && is_mentioned,
            point,
        }
    }
}

/// The failures that no later call settled.
#[derive(Default)]
pub(super) struct OpenFailures {
    /// Their descriptions, in the order in which they matter.
    pub points: Vec<String>,
    /// Whether one of them is of the current turn.
    pub is_of_current_turn: bool,
}

/// A failure that no later call settled.
struct OpenFailure {
    is_of_current_turn: bool,
    may_be_over: bool,
    /// Whether the last words of the current turn mention it.
    is_in_last_words: bool,
    /// Its description.
    point: String,
}

/// Describes what happened since a step failed, given the later runs, none of which settled it. A
/// run that repeats the step and does not settle it has a hidden exit code.
fn describe_since(step: &CommandStep, mut later_runs: vec_deque::Iter<ToolRun>) -> String {
    let later_count = later_runs.len();
    if later_count == 0 {
        "the last tool call".to_owned()
    } else if later_runs.any(|later| later.repeats_step(step)) {
        format!("run again since, {HIDDEN_EXIT_CODE}")
    } else {
        let calls = format_count(later_count, "tool call", "tool calls");
        format!("not run again since, in {calls}")
    }
}

impl ToolRun {
    /// Whether the call is known to have passed.
    fn is_passed(&self) -> bool {
        self.outcome == Outcome::Passed && !self.command.hides_exit_code
    }

    /// Whether the call passed only as far as its exit code says, which hides that of a step.
    fn hides_failure(&self) -> bool {
        self.outcome == Outcome::Passed && self.command.hides_exit_code
    }

    fn is_commit(&self) -> bool {
        let mut steps = self.command.steps.iter();
        self.outcome == Outcome::Passed && steps.any(|step| step.is_one_of("git-commit"))
    }

    /// Returns how the call ended, in words.
    fn describe_outcome(&self) -> String {
        if self.hides_failure() {
            format!("ended, {HIDDEN_EXIT_CODE}")
        } else {
            one_line(&self.outcome.to_string(), 80)
        }
    }

    /// Returns the step that failed, unless the call only looks, as `test -f a && make` also does
    /// if it finds nothing. Which of several steps failed is not known; most likely the last.
    fn failed_step(&self) -> Option<&CommandStep> {
        let has_failed = matches!(self.outcome, Outcome::Failed(_));
        let found_nothing = self.output.is_empty() && self.outcome.exit_code() == Some("1");
        if !has_failed || found_nothing || self.command.is_read_only {
            return None;
        }
        self.command.steps.last()
    }

    /// Whether the call only asks whether a program or an expression works.
    fn is_probe(&self) -> bool {
        let mut words = self.call.command.split_whitespace();
        words.clone().next() == Some("which")
            || self.call.command.contains("command -v ")
            || words.any(|word| matches!(word, "-e" | "--version"))
    }

    /// Whether the call repeats a step, and it is known whether the step passed: then an earlier
    /// failure of the step is over, or is reported by this call.
    fn settles_step(&self, step: &CommandStep) -> bool {
        if !self.repeats_step(step) {
            return false;
        }
        if !self.hides_failure() {
            return true;
        }
        // The exit code that is known may still be that of the last step.
        let last_step = self.command.steps.last();
        let is_last_step = last_step.is_some_and(|last| last.is_like(step));
        is_last_step && !self.command.hides_last_exit_code
    }

    fn repeats_step(&self, step: &CommandStep) -> bool {
        self.outcome != Outcome::Stopped && self.command.steps.iter().any(|own| own.is_like(step))
    }
}

/// Describes a call as it is listed: `` `COMMAND` ``, ``TOOL `TARGET` `` or `TOOL`. A command ends
/// with the `<<` of a here-document, and has no change to an absolute directory at its start.
fn describe_call(call: &SummaryCall) -> String {
    static FOLDER_CHANGE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^cd [/~]\S* *&& *").expect("a constant"));
    if !call.command.is_empty() {
        let command = call
            .command
            .split_inclusive("<<")
            .next()
            .unwrap_or_default();
        return code_span(&FOLDER_CHANGE.replace(command, ""), COMMAND);
    }
    let tool = one_line(&call.tool.replace('`', "'"), COMMAND);
    if call.target.is_empty() {
        return tool;
    }
    format!("{tool} {}", code_span(&call.target, COMMAND))
}

/// Folds items, given newest first: neighbours that differ only in digits become one item, such as
/// `a 1 … a 3 (3 alike)`. Two of them that are not equal are both kept, separated by a comma.
pub(super) fn fold_series(items: &[String]) -> Vec<String> {
    let mut folded = Vec::new();
    for series in items.chunk_by(|one, other| strip_digits(one) == strip_digits(other)) {
        folded.push(match series {
            [newest, .., oldest] if newest == oldest => format!("{newest} (×{})", series.len()),
            [newest, _, .., oldest] => format!("{oldest} … {newest} ({} alike)", series.len()),
            _ => series.join(", "),
        });
    }
    folded
}

/// The maximum number of lines that are quoted of the output of a failed call.
const MOST_INFORMATIVE_LINES: usize = 3;

/// Returns the most informative lines of the output of a failed call: the last line, and before it
/// the last two lines of the form `what: why` that are not indented, as programs of any kind write
/// them. They share the space of a point. Empty lines and `status`, the agent's own line, are
/// skipped.
///
/// Returns an empty text if the call did not fail.
fn informative_lines(outcome: &Outcome, output: &str) -> String {
    let Outcome::Failed(status) = outcome else {
        return String::new();
    };
    let output = sanitize(output);
    let mut lines: Vec<&str> = Vec::new();
    for line in output.lines().rev() {
        if ["", "(no output)", &**status].contains(&line.trim()) {
            continue;
        }
        let is_last_line = lines.is_empty();
        let has_reason = !line.starts_with(' ') && (line.contains(": ") || line.contains('：'));
        if is_last_line || has_reason {
            lines.push(line);
        }
        if lines.len() == MOST_INFORMATIVE_LINES {
            break;
        }
    }
    lines.reverse();

    let room_per_line = POINT / lines.len().max(1);
    let mut clipped = Vec::new();
    for line in lines {
        clipped.push(clip(line.trim(), room_per_line));
    }
    clipped.join("\n")
}
