//! Records each tool call. Commands, failures, changed files and the last calls are all derived
//! from these records when the summary is written.

use super::budget::*;
use super::call::SummaryCall;
use super::failed_output::informative_lines;
use super::quote::{code_span, one_line, quote_line, sanitize, strip_digits};
use super::removals::Removals;
use super::shell::{CommandLine, CommandStep, changes_files};
use super::words::compile_expression;
use crate::session::outcome::Outcome;
use foldhash::HashSet;
use regex::Regex;
use std::collections::VecDeque;
use std::sync::LazyLock;

/// The status of a call whose outcome is not known.
pub(super) const HIDDEN_EXIT_CODE: &str = "its exit code hidden by a pipe or a later step";
/// Matches `git commit` with the first line of its message, which may be a here-document.
const COMMIT: &str = r#"git commit[^"']*["'](?:\$\(cat <<\W*\w+\W*\n)?([^"'\n]+)"#;

/// A tool call that ended.
pub(super) struct ToolRun {
    pub call: SummaryCall,
    pub outcome: Outcome,
    pub command: CommandLine,
    /// The most informative lines of its output, if it failed; the first line, if it is a command
    /// that only looks; else the line that has its result.
    pub output: String,
    /// The number of its turn.
    pub turn_number: usize,
}

/// The tool calls of a session, and the todo list that they keep.
#[derive(Default)]
pub(super) struct ToolHistory {
    /// The calls of the last reply that have no result.
    pub pending: Vec<SummaryCall>,
    /// The newest calls that ended, oldest first.
    pub runs: VecDeque<ToolRun>,
    /// The last list that a tool that keeps a todo list was given, or else its last report.
    pub todo_list: String,
    /// The number of the current turn.
    pub turn_number: usize,
}

/// Files that the newest work changed.
pub(super) struct ChangedFiles {
    /// When or for what they were changed, in words.
    pub occasion: &'static str,
    pub newest_first: Vec<String>,
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
            output: match &outcome {
                Outcome::Failed(status) => informative_lines(status, output),
                _ if command.is_read_only => first_line(output),
                _ => result_line(output),
            },
            call,
            outcome,
            command,
            turn_number: self.turn_number,
        });
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
            if !is_last_run || !run.is_passed() {
                continue;
            }
            let mut command = describe_call(&run.call);
            if !run.output.is_empty() {
                command.push_str(&format!(" ({})", quote_line(&run.output, RESULT)));
            }
            passed.push(command);
        }
        fold_series(&passed)
    }

    /// Returns the first lines of the messages of commits, newest first, as far as the command
    /// lines have them.
    pub fn commit_messages(&self) -> Vec<String> {
        static MESSAGE: LazyLock<Regex> = LazyLock::new(|| compile_expression(COMMIT));
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

    /// Returns the files changed since the last commit or, without one, in the last turn that
    /// changed any, without those removed since.
    pub fn changed_files(&self, removals: &Removals) -> ChangedFiles {
        let has_commits = self.runs.iter().any(ToolRun::is_commit);
        let mut newest_first = self.runs.iter().rev();
        let last_change = newest_first.find(|run| run.changes_file());
        let turn_number = last_change.map_or(self.turn_number, |run| run.turn_number);
        let occasion = if has_commits {
            "since the last `git commit`"
        } else if turn_number == self.turn_number {
            "for the request under Goal"
        } else {
            "for an earlier request"
        };

        let mut seen = HashSet::default();
        let mut files = Vec::new();
        for run in self.runs.iter().rev() {
            let is_earlier = run.turn_number < turn_number;
            if run.is_commit() || (is_earlier && !has_commits) {
                break;
            }
            let file = &run.call.target;
            if !run.changes_file() || file.is_empty() || removals.contain(file) {
                continue;
            }
            let is_new = seen.insert(file);
            if is_new {
                files.push(code_span(file, COMMAND));
            }
        }
        ChangedFiles {
            occasion,
            newest_first: fold_series(&files),
        }
    }

    /// Returns the paths that were removed and not written or read since.
    pub fn removals(&self) -> Removals {
        collect_removals(self.runs.iter())
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
}

impl ToolRun {
    /// Whether the call is known to have passed.
    fn is_passed(&self) -> bool {
        self.outcome == Outcome::Passed && !self.command.hides_exit_code
    }

    /// Whether the call changed a file, other than by a command.
    pub fn changes_file(&self) -> bool {
        self.outcome == Outcome::Passed && changes_files(&self.call.tool)
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
    pub fn describe_outcome(&self) -> String {
        if self.hides_failure() {
            format!("ended, {HIDDEN_EXIT_CODE}")
        } else {
            one_line(&self.outcome.to_string(), 80)
        }
    }

    /// Returns the step that failed, unless the call only looks, as `test -f a && make` also does
    /// if it finds nothing. Which of several steps failed is not known; most likely the last.
    pub fn failed_step(&self) -> Option<&CommandStep> {
        let has_failed = matches!(self.outcome, Outcome::Failed(_));
        let found_nothing = self.output.is_empty() && self.outcome.exit_code() == Some("1");
        if !has_failed || found_nothing || self.command.is_read_only {
            return None;
        }
        self.command.steps.last()
    }

    /// Whether the call only asks whether a program or an expression works.
    pub fn is_probe(&self) -> bool {
        let mut words = self.call.command.split_whitespace();
        words.clone().next() == Some("which")
            || self.call.command.contains("command -v ")
            || words.any(|word| matches!(word, "-e" | "--version"))
    }

    /// Whether the call repeats a step, and it is known whether the step passed: then an earlier
    /// failure of the step is over, or is reported by this call.
    pub fn settles_step(&self, step: &CommandStep) -> bool {
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

    pub fn repeats_step(&self, step: &CommandStep) -> bool {
        self.outcome != Outcome::Stopped && self.command.steps.iter().any(|own| own.is_like(step))
    }
}

/// Returns the first line of an output that is not empty, as far as it can be quoted.
fn first_line(output: &str) -> String {
    let line = output.lines().find(|line| !line.trim().is_empty());
    one_line(line.unwrap_or_default(), RESULT)
}

/// Returns the last line of the output of a command that passed, if it is short and names a number:
/// what was counted or measured. Otherwise an empty text.
fn result_line(output: &str) -> String {
    let last_line = output.trim_end().lines().next_back().unwrap_or_default();
    let is_short = last_line.len() <= 2 * RESULT;
    let mut words = last_line.split_whitespace();
    if is_short && words.any(|word| word.starts_with(|c: char| c.is_ascii_digit())) {
        sanitize(last_line.trim())
    } else {
        String::new()
    }
}

/// Returns the paths that these runs removed, and that no later one of them wrote or read.
pub(super) fn collect_removals<'r>(runs: impl Iterator<Item = &'r ToolRun>) -> Removals {
    let mut removals = Removals::default();
    for run in runs {
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

/// Describes a call as it is listed: `` `COMMAND` ``, ``TOOL `TARGET` `` or `TOOL`. A command ends
/// with the `<<` of a here-document, and has no change to an absolute directory at its start.
pub(super) fn describe_call(call: &SummaryCall) -> String {
    static FOLDER_CHANGE: LazyLock<Regex> =
        LazyLock::new(|| compile_expression(r"^cd [/~]\S* *&& *"));
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
