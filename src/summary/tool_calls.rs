//! Records each tool call. Commands, failures, changed files and the last calls are all derived from these
//! records when the summary is written.

use super::budget::*;
use super::message::{Call, End};
use super::quote::{clean, clip, code, line, quoted};
use super::shell::{self, Command, Step};
use super::turns::Turn;
use crate::format::counted;
use foldhash::HashSet;
use regex::Regex;
use std::collections::VecDeque;
use std::sync::LazyLock;

/// Tools of both agents that only look, and those of them that search. If they find nothing, the work has not failed.
const LOOKING: [&str; 8] = ["read", "ls", "fetch", "web_search", "grep", "find", "glob", "search"];
/// Programs and tools whose output is what was found.
const SEARCHING: [&str; 7] = ["grep", "rg", "find", "fd", "git-grep", "glob", "search"];
/// What the names of tools that change files contain.
const CHANGING: [&str; 4] = ["edit", "write", "patch", "create"];
/// The status of a probe that finds nothing, such as `test -f a && make`.
const NOTHING_FOUND: &str = "Command exited with code 1";
/// The status of a call whose outcome is not known.
const HIDDEN: &str = "its exit code hidden by a pipe or a later step";
/// Matches `git commit` with the first line of its message, which may be a here-document.
const COMMIT: &str = r#"git commit[^"']*["'](?:\$\(cat <<\W*\w+\W*\n)?([^"'\n]+)"#;

/// A tool call that ended.
#[derive(Debug)]
struct ToolRun {
    call: Call,
    end: End,
    command: Command,
    /// The most informative lines of its output, if it failed or searched.
    output: String,
    turn: usize,
}

#[derive(Debug, Default)]
pub(super) struct Work {
    /// The calls of the last reply that have no result.
    pub pending: Vec<Call>,
    runs: VecDeque<ToolRun>,
    /// The last report of a tool that keeps a todo list.
    pub todo: String,
    /// The number of the current turn.
    pub turn: usize,
    /// The session's directory.
    pub home: String,
}

impl Work {
    /// Records the result of a call, and returns the question that the call asked, if any.
    pub fn returned(&mut self, result: Call, end: End, text: &str) -> Option<String> {
        let at = self.pending.iter().position(|call| call.id == result.id);
        let call = at.map_or(result, |at| self.pending.remove(at));
        let question = call.question.clone();
        if end == End::Passed && call.tool.to_lowercase().contains("todo") {
            text.clone_into(&mut self.todo);
        }
        let of_tool = || tool(&call.tool, call.path.as_deref());
        let command = call.command.as_deref().map_or_else(of_tool, shell::read);
        let searches = command.looks && command.steps.iter().any(|step| step.is_one_of(&SEARCHING));
        let output = match &end {
            End::Failed(status) => telling(text, status),
            End::Passed if searches => line(text, POINT),
            _ => String::new(),
        };
        self.runs.drain(..(self.runs.len() + 1).saturating_sub(RECENT));
        self.runs.push_back(ToolRun { call, end, command, output, turn: self.turn });
        question
    }

    /// Returns a text without the session's directory, and without a change to any other absolute one at its start.
    fn near(&self, text: &str) -> String {
        static CHANGE: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r"^cd [/~]\S* *&& *").expect("a constant"));
        let text = CHANGE.replace(text, "");
        if self.home.len() > 1 { text.replace(&format!("{}/", self.home), "") } else { text.into_owned() }
    }

    /// Returns a call in the form in which it is listed. A command with a here-document ends at `<<`.
    fn named(&self, call: &Call) -> String {
        let tool = line(&call.tool.replace('`', "'"), COMMAND);
        match (&call.command, &call.path) {
            (Some(command), _) => {
                code(&self.near(command.split_inclusive("<<").next().unwrap_or_default()), COMMAND)
            }
            (None, Some(path)) => format!("{tool} {}", code(&self.near(path), COMMAND)),
            (None, None) => tool,
        }
    }

    /// Returns the calls of the current turn, newest first.
    fn own(&self) -> impl Iterator<Item = &ToolRun> {
        self.runs.iter().rev().take_while(|run| run.turn == self.turn)
    }

    /// Returns the last calls of the current turn, in order, with series of similar ones folded.
    pub fn last_calls(&self) -> Vec<String> {
        let ended = self.own().map(|run| format!("{}: {}", self.named(&run.call), run.state()));
        let open = self.pending.iter().rev().map(|call| format!("{}: no result yet", self.named(call)));
        let mut calls = series(open.chain(ended));
        calls.truncate(LAST_CALLS);
        calls.reverse();
        calls
    }

    /// Returns what the last search of the current turn printed, of the calls before its last words and with them.
    pub fn found(&self, turn: &Turn) -> Option<String> {
        let since = if turn.words().is_empty() { 0 } else { turn.calls - turn.calls_before_words };
        let mut known = self.own().skip(since.saturating_sub(1));
        let found = known.find(|run| run.end == End::Passed && !run.output.is_empty())?;
        Some(format!("{}: {}", self.named(&found.call), quoted(&found.output, POINT)))
    }

    /// Returns the commands whose last run is known to have passed, newest first, without commits.
    pub fn passed(&self) -> Vec<String> {
        let mut seen = HashSet::default();
        let acts = |run: &&ToolRun| run.call.command.is_some() && !run.command.looks && !run.commits();
        let last = self.runs.iter().rev().filter(acts).filter(|run| seen.insert(&run.command.steps));
        series(last.filter(|run| run.is_passed()).map(|run| self.named(&run.call)))
    }

    /// Returns the first lines of the messages of commits, newest first.
    pub fn commits(&self) -> Vec<String> {
        static MESSAGE: LazyLock<Regex> = LazyLock::new(|| Regex::new(COMMIT).expect("a constant"));
        let message =
            |run: &ToolRun| Some(quoted(&MESSAGE.captures(run.call.command.as_deref()?)?[1], COMMAND));
        self.runs.iter().rev().filter(|run| run.commits()).filter_map(message).collect()
    }

    /// Returns the files changed since the last commit, newest first, and whether there was one.
    pub fn changed(&self) -> (Vec<String>, bool) {
        let last = self.runs.iter().rposition(ToolRun::commits);
        let mut seen = HashSet::default();
        let runs = self.runs.range(last.map_or(0, |at| at + 1)..).rev();
        let runs = runs.filter(|run| run.end == End::Passed && is_changing(&run.call.tool));
        let paths = runs.filter_map(|run| run.call.path.as_ref()).filter(|path| seen.insert(*path));
        (series(paths.map(|path| code(&self.near(path), COMMAND))), last.is_some())
    }

    /// Whether a failure of a previous summary is over: its command ran again, or its file was changed.
    pub fn is_over(&self, point: &str) -> bool {
        let mut parts = point.split('`');
        let (Some(name), Some(failed)) = (parts.next(), parts.next()) else { return false };
        let failed = if name.is_empty() { shell::read(failed) } else { tool(name.trim(), Some(failed)) };
        failed.steps.last().is_some_and(|step| self.runs.iter().any(|run| run.settles(step)))
    }

    /// Returns the failures that nothing settled, in two lists: those that the work is at, or of which the last words
    /// of their turn speak, in full; and the names of the others. First come those of which the last words of all
    /// speak, then the newest.
    pub fn failures(&self, turns: &[Turn]) -> (Vec<String>, Vec<String>) {
        let (mut first, mut open, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for (at, run) in self.runs.iter().enumerate().rev() {
            let Some(step) = run.failed() else { continue };
            let later = || self.runs.range(at + 1..);
            if later().any(|later| later.settles(step)) {
                continue;
            }
            let since = match later().len() {
                0 => "the last tool call".to_owned(),
                _ if later().any(|later| later.repeats(step)) => format!("run again since, {HIDDEN}"),
                number => format!("not run again since, in {}", calls(number)),
            };
            let is_own = run.turn == self.turn;
            let (name, output) = (self.named(&run.call), quoted(&run.output, POINT));
            let point = format!("{name}: {}: {output} ({since})", run.state());
            let turn = turns.iter().rfind(|turn| turn.number == run.turn);
            let is_named = turn.is_some_and(|turn| step.is_named_in(turn.words()));
            let is_at_work = is_own && !turn.is_some_and(Turn::is_answered)
                || later().all(|later| later.command.looks || later.repeats(step));
            match run.turn + STALE_TURNS >= self.turn && (is_named || is_at_work) {
                true if is_named && is_own => first.push(point),
                true => open.push(point),
                false => others.push(name),
            }
        }
        first.append(&mut open);
        (first, series(others.into_iter()))
    }
}

impl ToolRun {
    /// Whether the call is known to have passed.
    fn is_passed(&self) -> bool {
        self.end == End::Passed && !self.command.is_hidden
    }

    fn commits(&self) -> bool {
        self.end == End::Passed && self.command.steps.iter().any(|step| step.is_one_of(&["git-commit"]))
    }

    fn state(&self) -> String {
        match &self.end {
            End::Passed if self.command.is_hidden => format!("ended, {HIDDEN}"),
            End::Passed => "ok".to_owned(),
            End::Stopped => "stopped by the user".to_owned(),
            End::Failed(status) if status.is_empty() => "failed".to_owned(),
            // The agent's line without its subject, to end a sentence.
            End::Failed(status) => line(status.strip_prefix("Command ").unwrap_or(status), 80),
        }
    }

    /// Returns the step that failed, unless the call only looks. Which of several failed is not known; most likely the
    /// last.
    fn failed(&self) -> Option<&Step> {
        let End::Failed(status) = &self.end else { return None };
        let found_nothing = self.output.is_empty() && status == NOTHING_FOUND;
        self.command.steps.last().filter(|_| !found_nothing && !self.command.looks)
    }

    /// Whether the call repeats a step with a known outcome.
    fn settles(&self, step: &Step) -> bool {
        self.repeats(step) && (self.is_passed() || self.end != End::Passed)
    }

    fn repeats(&self, step: &Step) -> bool {
        self.end != End::Stopped && self.command.steps.iter().any(|own| own.is_like(step))
    }
}

/// Returns a call of a tool that is not a shell, as a command.
fn tool(name: &str, path: Option<&str>) -> Command {
    let word = if is_changing(name) { CHANGING[0] } else { name };
    let step = Step { words: vec![word.to_owned()], file: path.map(str::to_owned), folder: None };
    Command { steps: vec![step], looks: LOOKING.contains(&name), is_hidden: false }
}

fn is_changing(tool: &str) -> bool {
    CHANGING.iter().any(|part| tool.to_lowercase().contains(part))
}

/// Folds items, given newest first: neighbours that differ only in digits become one.
pub(super) fn series(items: impl Iterator<Item = String>) -> Vec<String> {
    let key = |item: &str| item.replace(|c: char| c.is_ascii_digit(), "");
    let items: Vec<String> = items.collect();
    let shown = |alike: &[String]| match alike {
        [newest, .., oldest] if newest == oldest => format!("{newest} (×{})", alike.len()),
        [newest, _, .., oldest] => format!("{oldest} … {newest} ({} alike)", alike.len()),
        _ => alike.join(", "),
    };
    items.chunk_by(|one, other| key(one) == key(other)).map(shown).collect()
}

/// Returns a number of tool calls in words.
pub(super) fn calls(number: usize) -> String {
    counted(number, "tool call", "tool calls")
}

/// Returns the most informative lines of the output of a failed call: the last two of the form `what: why` that are
/// not indented, as programs of any kind write them, and the last line.
fn telling(text: &str, status: &str) -> String {
    let output = clean(text);
    let says = |line: &&str| !["", "(no output)", status].contains(&line.trim());
    let mut lines = output.lines().rev().filter(says);
    let named = |line: &&str| !line.starts_with(' ') && (line.contains(": ") || line.contains('：'));
    let mut telling: Vec<&str> = lines.next().into_iter().chain(lines.filter(named).take(2)).collect();
    telling.reverse();
    let share = POINT / telling.len().max(1);
    telling.iter().map(|line| clip(line, share)).collect::<Vec<_>>().join("\n")
}
