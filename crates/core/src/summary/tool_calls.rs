//! Records each tool call. Commands, failures, changed files and the last calls are all derived
//! from these records when the summary is written.

use super::budget::*;
use super::message::Call;
use super::quote::{clean, clip, code, digitless, line, quoted};
use super::shell::{Command, Step, is_changing};
use super::turns::Turn;
use crate::format::counted;
use crate::session::outcome::Outcome;
use foldhash::HashSet;
use regex::Regex;
use std::collections::VecDeque;
use std::sync::LazyLock;

/// The status of a call whose outcome is not known.
const HIDDEN: &str = "its exit code hidden by a pipe or a later step";
/// Matches `git commit` with the first line of its message, which may be a here-document.
const COMMIT: &str = r#"git commit[^"']*["'](?:\$\(cat <<\W*\w+\W*\n)?([^"'\n]+)"#;

/// A tool call that ended.
struct ToolRun {
    call: Call,
    outcome: Outcome,
    command: Command,
    /// The most informative lines of its output, if it failed.
    output: String,
    turn: usize,
}

#[derive(Default)]
pub(super) struct Work {
    /// The calls of the last reply that have no result.
    pub pending: Vec<Call>,
    runs: VecDeque<ToolRun>,
    /// The last list that a tool that keeps a todo list was given, or else its last report.
    pub todo: String,
    /// The number of the current turn.
    pub turn: usize,
}

impl Work {
    /// Records the result of a call, and returns the question that the call asked, or nothing.
    pub fn returned(&mut self, result: Call, outcome: Outcome, text: &str) -> String {
        let at = self.pending.iter().position(|call| call.id == result.id);
        let call = at.map_or(result, |at| self.pending.remove(at));
        if outcome == Outcome::Passed && call.tool.to_lowercase().contains("todo") {
            let list = if call.todo.is_empty() {
                text
            } else {
                &call.todo
            };
            list.clone_into(&mut self.todo);
        }
        let command = if call.command.is_empty() {
            Command::of_tool(&call.tool, &call.target)
        } else {
            Command::read(&call.command)
        };
        let output = telling(&outcome, text);
        let question = call.question.clone();
        self.runs
            .drain(..(self.runs.len() + 1).saturating_sub(RECENT));
        self.runs.push_back(ToolRun {
            call,
            outcome,
            command,
            output,
            turn: self.turn,
        });
        question
    }

    /// Returns the last calls of the current turn, in order, with series of similar ones folded.
    pub fn last_calls(&self) -> Vec<String> {
        let own = self
            .runs
            .iter()
            .rev()
            .take_while(|run| run.turn == self.turn);
        let mut calls = series(own.map(|run| format!("{}: {}", named(&run.call), run.state())));
        calls.truncate(LAST_CALLS);
        calls.reverse();
        calls
    }

    /// Returns the commands whose last run is known to have passed, newest first, without commits.
    pub fn passed(&self) -> Vec<String> {
        let mut seen = HashSet::default();
        let acts =
            |run: &&ToolRun| !run.call.command.is_empty() && !run.command.looks && !run.commits();
        let last = self
            .runs
            .iter()
            .rev()
            .filter(acts)
            .filter(|run| seen.insert(&run.command.steps));
        series(
            last.filter(|run| run.is_passed())
                .map(|run| named(&run.call)),
        )
    }

    /// Returns the first lines of the messages of commits, newest first.
    pub fn commits(&self) -> Vec<String> {
        static MESSAGE: LazyLock<Regex> = LazyLock::new(|| Regex::new(COMMIT).expect("a constant"));
        let message =
            |run: &ToolRun| Some(quoted(&MESSAGE.captures(&run.call.command)?[1], COMMAND));
        self.runs
            .iter()
            .rev()
            .filter(|run| run.commits())
            .filter_map(message)
            .collect()
    }

    /// Returns the files changed since the last commit, newest first.
    pub fn changed(&self) -> Vec<String> {
        let last = self.runs.iter().rposition(ToolRun::commits);
        let mut seen = HashSet::default();
        let since = self.runs.range(last.map_or(0, |at| at + 1)..).rev();
        let changes =
            since.filter(|run| run.outcome == Outcome::Passed && is_changing(&run.call.tool));
        let files = changes
            .map(|run| &run.call.target)
            .filter(|file| !file.is_empty() && seen.insert(*file));
        series(files.map(|file| code(file, COMMAND)))
    }

    /// Whether a failure of a previous summary is over: its command ran again, or its file was
    /// changed.
    pub fn is_over(&self, point: &str) -> bool {
        let mut parts = point.split('`');
        let (Some(name), Some(failed)) = (parts.next(), parts.next()) else {
            return false;
        };
        let failed = if name.is_empty() {
            Command::read(failed)
        } else {
            Command::of_tool(name.trim(), failed)
        };
        failed
            .steps
            .last()
            .is_some_and(|step| self.runs.iter().any(|run| run.settles(step)))
    }

    /// Returns the failures that nothing settled: first those that the last words of all mention,
    /// then those that the work is at or that the last words of their turn mention, then those that
    /// may be over; of each, the newest first.
    pub fn failures<'a>(&self, turns: impl Iterator<Item = &'a Turn> + Clone) -> Vec<String> {
        let mut failures = Vec::new();
        for (at, run) in self.runs.iter().enumerate().rev() {
            let Some(step) = run.failed() else { continue };
            let later = || self.runs.range(at + 1..);
            if later().any(|later| later.settles(step)) {
                continue;
            }
            let since = match later().len() {
                0 => "the last tool call".to_owned(),
                _ if later().any(|later| later.repeats(step)) => {
                    format!("run again since, {HIDDEN}")
                }
                number => format!(
                    "not run again since, in {}",
                    counted(number, "tool call", "tool calls")
                ),
            };
            let turn = turns.clone().find(|turn| turn.number == run.turn);
            let is_own = run.turn == self.turn;
            let is_named = turn.is_some_and(|turn| step.is_named_in(turn.words()));
            let is_at_work = is_own && !turn.is_some_and(Turn::is_answered)
                || later().all(|later| later.command.looks || later.repeats(step));
            let is_open = run.turn + STALE_TURNS >= self.turn && (is_named || is_at_work);
            let output = if is_open {
                format!(": {}", quoted(&run.output, POINT))
            } else {
                String::new()
            };
            let doubt = if is_open { "" } else { "; may be over" };
            let point = format!(
                "{}: {}{output} ({since}{doubt})",
                named(&run.call),
                run.state()
            );
            failures.push(((!is_open, !(is_own && is_named)), point));
        }
        failures.sort_by_key(|(order, _)| *order);
        failures.into_iter().map(|(_, point)| point).collect()
    }
}

impl ToolRun {
    /// Whether the call is known to have passed.
    fn is_passed(&self) -> bool {
        self.outcome == Outcome::Passed && !self.command.is_hidden
    }

    fn commits(&self) -> bool {
        self.outcome == Outcome::Passed
            && self
                .command
                .steps
                .iter()
                .any(|step| step.is_one_of("git-commit"))
    }

    fn state(&self) -> String {
        let is_unknown = self.outcome == Outcome::Passed && self.command.is_hidden;
        if is_unknown {
            format!("ended, {HIDDEN}")
        } else {
            line(&self.outcome.to_string(), 80)
        }
    }

    /// Returns the step that failed, unless the call only looks, as `test -f a && make` also does
    /// if it finds nothing. Which of several steps failed is not known; most likely the last.
    fn failed(&self) -> Option<&Step> {
        let found_nothing = self.output.is_empty() && self.outcome.exit_code() == Some("1");
        let is_failure = matches!(self.outcome, Outcome::Failed(_)) && !found_nothing;
        self.command
            .steps
            .last()
            .filter(|_| is_failure && !self.command.looks)
    }

    /// Whether the call repeats a step with a known outcome.
    fn settles(&self, step: &Step) -> bool {
        self.repeats(step) && (self.is_passed() || self.outcome != Outcome::Passed)
    }

    fn repeats(&self, step: &Step) -> bool {
        self.outcome != Outcome::Stopped && self.command.steps.iter().any(|own| own.is_like(step))
    }
}

/// Returns a call in the form in which it is listed: a command ends before a here-document, and has
/// no change to an absolute directory at its start.
fn named(call: &Call) -> String {
    static CHANGE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^cd [/~]\S* *&& *").expect("a constant"));
    if !call.command.is_empty() {
        let command = call
            .command
            .split_inclusive("<<")
            .next()
            .unwrap_or_default();
        return code(&CHANGE.replace(command, ""), COMMAND);
    }
    let tool = line(&call.tool.replace('`', "'"), COMMAND);
    if call.target.is_empty() {
        tool
    } else {
        format!("{tool} {}", code(&call.target, COMMAND))
    }
}

/// Folds items, given newest first: neighbours that differ only in digits become one.
pub(super) fn series(items: impl Iterator<Item = String>) -> Vec<String> {
    let items: Vec<String> = items.collect();
    let shown = |alike: &[String]| match alike {
        [newest, .., oldest] if newest == oldest => format!("{newest} (×{})", alike.len()),
        [newest, _, .., oldest] => format!("{oldest} … {newest} ({} alike)", alike.len()),
        _ => alike.join(", "),
    };
    items
        .chunk_by(|one, other| digitless(one) == digitless(other))
        .map(shown)
        .collect()
}

/// Returns the most informative lines of the output of a failed call: the last two of the form
/// `what: why` that are not indented, as programs of any kind write them, and the last line.
fn telling(outcome: &Outcome, text: &str) -> String {
    let Outcome::Failed(status) = outcome else {
        return String::new();
    };
    let output = clean(text);
    let says = |line: &&str| !["", "(no output)", &**status].contains(&line.trim());
    let mut lines = output.lines().rev().filter(says);
    let named =
        |line: &&str| !line.starts_with(' ') && (line.contains(": ") || line.contains('：'));
    let mut telling: Vec<&str> = lines
        .next()
        .into_iter()
        .chain(lines.filter(named).take(2))
        .collect();
    telling.reverse();
    let share = POINT / telling.len().max(1);
    telling
        .iter()
        .map(|line| clip(line.trim(), share))
        .collect::<Vec<_>>()
        .join("\n")
}
