//! What tools did: files changed, commands run, failures that nothing has resolved since.

use super::budget::{COMMAND, LAST_CALLS, OUTPUT, STALE_CALLS, STALE_TURNS, TODO};
use super::message::{Call, End, ToolResult};
use super::quote::{block, clean, clip, line, quoted};
use super::shell;
use std::collections::VecDeque;

/// Files, commands and failures that are kept.
const FILES: usize = 256;
const COMMANDS: usize = 64;
const FAILURES: usize = 24;
/// Tools of both agents that only look. What they do not find is no failure of the work.
const LOOKING: [&str; 8] = ["read", "grep", "find", "glob", "ls", "search", "fetch", "web_search"];

/// A file that was changed, or a command that ran.
#[derive(Debug)]
pub(super) struct Counted {
    pub text: String,
    pub times: u32,
    /// The last run of the command failed.
    pub failed: bool,
}

#[derive(Debug)]
struct Failure {
    /// A path or the name of a command: what a later success is known by.
    target: String,
    /// What failed, how, and the output.
    text: String,
    looking: bool,
    /// It ran again, and a pipe hid how it ended.
    hidden: bool,
    call: u32,
    turn: u32,
}

#[derive(Debug, Default)]
pub(super) struct Work {
    /// Calls of the last reply that have no result.
    pending: Vec<Call>,
    /// Both in the order of their last time.
    pub files: Vec<Counted>,
    pub commands: Vec<Counted>,
    failures: Vec<Failure>,
    /// The last calls and how they ended.
    pub last_calls: VecDeque<String>,
    /// The last report of a tool that keeps a todo list.
    pub todo: String,
    calls: u32,
    turn: u32,
}

impl Work {
    /// Begins a turn: what was called for another is not among its last calls.
    pub fn begin(&mut self) {
        self.turn += 1;
        self.last_calls.clear();
    }

    /// Takes in the calls of a reply.
    pub fn called(&mut self, calls: &[Call]) {
        self.pending = calls.to_vec();
    }

    /// Returns the calls that have no result.
    pub fn unanswered(&self) -> Vec<String> {
        self.pending.iter().take(3).map(described).collect()
    }

    /// Takes in the result of a call, and returns the call and whether it changed its file.
    pub fn returned(&mut self, result: &ToolResult) -> (Call, bool) {
        let at = self.pending.iter().position(|call| call.id == result.id);
        let mut call = at.map(|at| self.pending.remove(at)).unwrap_or_default();
        call.tool = if call.tool.is_empty() { result.tool.clone() } else { call.tool };
        self.ran(&call, result);
        let named = |part: &&str| call.tool.to_lowercase().contains(part);
        let passed = result.end == End::Passed;
        if passed && named(&"todo") {
            self.todo = block(&result.text, TODO);
        }
        let path =
            call.path.clone().filter(|_| passed && ["edit", "write", "patch", "create"].iter().any(named));
        if let Some(path) = &path {
            count(&mut self.files, FILES, line(&path.replace('`', "'"), 160), 1, false);
        }
        let changed = path.is_some();
        (call, changed)
    }

    /// Takes in a call and its result.
    pub fn ran(&mut self, call: &Call, result: &ToolResult) {
        self.calls += 1;
        let what = described(call);
        let how = match &result.end {
            End::Passed => String::new(),
            End::Stopped => " (stopped by the user)".to_owned(),
            End::Failed(status) => format!(" ({})", ending(status)),
        };
        self.last_calls.push_back(format!("{what}{how}"));
        self.last_calls.drain(..self.last_calls.len().saturating_sub(LAST_CALLS));
        let steps = call.command.as_deref().map(shell::steps);
        let looking = steps.as_ref().map(|steps| steps.iter().all(|step| step.looks));
        let looking = looking.unwrap_or_else(|| LOOKING.contains(&&*call.tool));
        let failed = matches!(result.end, End::Failed(_));
        if call.command.is_some() && !looking && result.end != End::Stopped {
            self.command(what.trim_matches('`').to_owned(), 1, failed);
        }
        let steps = steps.into_iter().flatten().map(|step| (step.name, step.piped));
        let mut targets: Vec<_> = steps.chain(call.path.clone().map(|path| (path, false))).collect();
        match &result.end {
            End::Passed => targets.iter().for_each(|(target, piped)| self.succeed(target, *piped)),
            End::Stopped => {}
            End::Failed(status) => {
                // Which of several steps failed is not known: the last is the likeliest.
                let target = targets.pop().map_or_else(|| call.tool.clone(), |(target, _)| target);
                self.fail(target, &what, status, &result.text, looking);
            }
        }
    }

    /// Counts a command. It is known again by its text before a pipe.
    pub fn command(&mut self, text: String, times: u32, failed: bool) {
        count(&mut self.commands, COMMANDS, text, times, failed);
    }

    /// Counts changes of a file.
    pub fn changed(&mut self, path: &str, times: u32) {
        count(&mut self.files, FILES, path.to_owned(), times, false);
    }

    /// A final answer: what was not found on the way there is history.
    pub fn answered(&mut self) {
        self.failures.retain(|failure| !failure.looking);
    }

    /// Takes up a failure of a previous summary. Returns whether it is one of a known target.
    pub fn still_fails(&mut self, point: &str) -> bool {
        let Some((what, _)) = point.split_once("`: ").filter(|_| point.starts_with(|c: char| c != '"'))
        else {
            return false;
        };
        let name = what.rsplit('`').next().unwrap_or_default();
        let command = what.starts_with('`').then(|| shell::steps(name).pop()).flatten();
        let target = command.map_or_else(|| name.to_owned(), |step| step.name);
        let text = point.rsplit_once(" (").map_or(point, |(text, _)| text).to_owned();
        self.failures.push(Failure { target, text, looking: false, hidden: false, call: 0, turn: 0 });
        true
    }

    /// Returns a line for each failure that may still matter, the oldest first.
    pub fn open_failures(&self) -> Vec<String> {
        let matters = |failure: &&Failure| {
            let recent = failure.call + STALE_CALLS > self.calls && failure.turn + STALE_TURNS >= self.turn;
            recent && (!failure.looking || failure.call == self.calls)
        };
        let told = |failure: &Failure| {
            let since = match self.calls - failure.call {
                0 => "the last tool call".to_owned(),
                since => format!("{} before the end, no success seen since", calls(since)),
            };
            let hidden = if failure.hidden { "; run again, its exit code hidden by a pipe" } else { "" };
            format!("{} ({since}{hidden})", failure.text)
        };
        self.failures.iter().filter(matters).map(told).collect()
    }

    /// Notes a success, which settles failures of the same target. A pipe hides how its first command
    /// ended.
    fn succeed(&mut self, target: &str, piped: bool) {
        let same = self.failures.iter_mut().filter(|failure| failure.target == target);
        same.for_each(|failure| failure.hidden |= piped);
        self.failures.retain(|failure| piped || failure.target != target);
    }

    fn fail(&mut self, target: String, what: &str, status: &str, output: &str, looking: bool) {
        let output = telling(output, status);
        // A probe that finds nothing ends so: `which x`, `grep`, `test -f`.
        if output.is_empty() && status == "Command exited with code 1" {
            return;
        }
        self.failures.retain(|failure| failure.target != target);
        self.failures.drain(..(self.failures.len() + 1).saturating_sub(FAILURES));
        let output = if output.is_empty() { output } else { format!(": {}", quoted(&output, OUTPUT)) };
        let text = format!("{what}: {}{output}", ending(status));
        self.failures.push(Failure {
            target,
            text,
            looking,
            hidden: false,
            call: self.calls,
            turn: self.turn,
        });
    }
}

/// Counts something, the newest last, and drops the oldest of too many.
fn count(list: &mut Vec<Counted>, most: usize, text: String, times: u32, failed: bool) {
    let key = |text: &str| text.split(" | ").next().unwrap_or_default().trim_end_matches(" 2>&1").to_owned();
    let known = list.iter().position(|known| key(&known.text) == key(&text)).map(|at| list.remove(at).times);
    list.drain(..(list.len() + 1).saturating_sub(most));
    list.push(Counted { text, times: known.unwrap_or(0).saturating_add(times), failed });
}

/// Returns a call as a reader would name it.
fn described(call: &Call) -> String {
    let tool = line(&call.tool.replace('`', "'"), 60);
    match (&call.command, &call.path) {
        (Some(command), _) => format!("`{}`", shown(command)),
        (None, Some(path)) => format!("{tool} `{}`", line(&path.replace('`', "'"), 160)),
        (None, None) => tool,
    }
}

/// Returns a command on one line; of a document in it (`<<`) only its start.
fn shown(command: &str) -> String {
    let text = clean(command.trim()).replace('`', "'");
    let end = text.find("<<").and_then(|at| Some(at + text[at..].find('\n')?));
    let code = &text[..end.unwrap_or(text.len())];
    let lines: Vec<&str> = code.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let joined = lines.join("; ").replace("; ; ", "; ").replace("do; ", "do ").replace("then; ", "then ");
    clip(&format!("{joined}{}", if end.is_some() { " …" } else { "" }), COMMAND)
}

/// Returns a number of tool calls in words.
pub(super) fn calls(number: u32) -> String {
    format!("{number} tool call{}", if number == 1 { "" } else { "s" })
}

/// Returns the agent's line on how a command ended, as the end of a sentence.
fn ending(status: &str) -> String {
    let status = status.strip_prefix("Command ").unwrap_or(status);
    if status.is_empty() { "failed".to_owned() } else { line(status, 80) }
}

/// Returns the lines of an output that say most of a failure: the last two of the form `what: why` at
/// the start of a line, as programs of any kind write them, and the last of all.
fn telling(output: &str, status: &str) -> String {
    let output = clean(output);
    let says = |line: &&str| !["", "(no output)", status].contains(&line.trim());
    let lines: Vec<&str> = output.lines().filter(says).collect();
    let named = |at: &usize| {
        let why = lines[*at].split_once(": ").or_else(|| lines[*at].split_once('：'));
        !lines[*at].starts_with(char::is_whitespace) && why.is_some_and(|(_, why)| why.trim().len() > 3)
    };
    let mut chosen: Vec<usize> = (0..lines.len()).rev().filter(named).take(2).collect();
    chosen.extend(lines.len().checked_sub(1));
    chosen.sort_unstable();
    chosen.dedup();
    let share = OUTPUT / chosen.len().max(1);
    chosen.into_iter().map(|at| clip(lines[at], share)).collect::<Vec<_>>().join("\n")
}
