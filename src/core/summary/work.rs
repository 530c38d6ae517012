//! What tools did: one record of each call. Files, commands, failures and the last calls are all read
//! off these records when the summary is written.

use super::budget::*;
use super::message::{Call, End, Outcome};
use super::quote::{block, clean, clip, code, line, quoted};
use super::shell::{self, Step};
use std::collections::{HashSet, VecDeque};

/// Tools of both agents that only look. If they find nothing, the work has not failed.
const LOOKING: [&str; 8] = ["read", "grep", "find", "glob", "ls", "search", "fetch", "web_search"];
/// What the names of tools that change files contain.
const CHANGING: [&str; 4] = ["edit", "write", "patch", "create"];
/// How a probe ends that finds nothing: `which x`, `grep`, `test -f`.
const NOTHING_FOUND: &str = "Command exited with code 1";

/// A tool call that ended.
#[derive(Debug, Default)]
pub(super) struct Deed {
    call: Call,
    end: End,
    /// The programs of its command.
    steps: Vec<Step>,
    /// What a failure printed; of one in a previous summary, its whole point.
    output: String,
    is_carried: bool,
    turn: usize,
}

#[derive(Debug, Default)]
pub(super) struct Work {
    /// Calls of the last reply that have no result, by id.
    pending: Vec<(String, Call)>,
    deeds: VecDeque<Deed>,
    /// The last report of a tool that keeps a todo list.
    pub todo: String,
    /// The number of the current turn.
    pub turn: usize,
}

/// What failed and was not repaired.
#[derive(Debug, Default)]
pub(super) struct Failures {
    pub open: Vec<String>,
    /// Failures noted where the request wants them noted.
    pub noted: Vec<String>,
}

impl Work {
    /// Takes in the calls of a reply.
    pub fn called(&mut self, calls: &[(String, Call)]) {
        self.pending = calls.to_vec();
    }

    /// Returns the calls that have no result.
    pub fn unanswered(&self) -> Vec<String> {
        self.pending.iter().take(3).map(|(_, call)| named(call)).collect()
    }

    /// Takes in the result of a call, and returns the question that the call asked, if any.
    pub fn returned(&mut self, id: &str, result: Call, outcome: &Outcome) -> Option<String> {
        let at = self.pending.iter().position(|(known, _)| known == id);
        let call = at.map_or(result, |at| self.pending.remove(at).1);
        let question = call.question.clone();
        if outcome.end == End::Passed && is_todo(&call) {
            self.todo = block(&outcome.text, TODO);
        }
        self.ran(call, outcome);
        question
    }

    /// Takes in a call and its result.
    pub fn ran(&mut self, call: Call, outcome: &Outcome) {
        let output = match &outcome.end {
            End::Failed(status) => telling(&outcome.text, status),
            _ => String::new(),
        };
        let steps = call.command.as_deref().map(shell::steps).unwrap_or_default();
        self.deeds.drain(..(self.deeds.len() + 1).saturating_sub(DEEDS));
        let end = outcome.end.clone();
        self.deeds.push_back(Deed { call, end, steps, output, turn: self.turn, is_carried: false });
    }

    /// Takes up a failure of a previous summary, if it is one of a command or a file.
    pub fn still_fails(&mut self, point: &str) -> bool {
        let Some((what, _)) = point.split_once("`: ").filter(|_| !point.starts_with('"')) else {
            return false;
        };
        let (tool, name) = what.split_once('`').unwrap_or_default();
        let name = Some(name.to_owned());
        let call = match tool.trim() {
            "" => Call { command: name, ..Call::default() },
            tool => Call { tool: tool.to_owned(), path: name, ..Call::default() },
        };
        let output = point.rsplit_once(" (").filter(|_| point.ends_with(')')).map_or(point, |(text, _)| text);
        self.ran(call, &Outcome { end: End::Failed(String::new()), ..Outcome::default() });
        let deed = self.deeds.back_mut();
        deed.into_iter().for_each(|deed| (deed.output, deed.is_carried) = (output.to_owned(), true));
        true
    }

    /// Returns the number of calls since the todo list was reported.
    pub fn since_todo(&self) -> usize {
        self.deeds.iter().rev().take_while(|deed| !is_todo(&deed.call)).count()
    }

    /// Returns the last calls of the current turn, in order, series of like ones folded.
    pub fn last_calls(&self) -> Vec<String> {
        let own = self.deeds.iter().rev().take_while(|deed| deed.turn == self.turn && !deed.is_carried);
        let mut series: Vec<Series> = Vec::new();
        for deed in own {
            let next = Series::of(named(&deed.call), deed.state());
            if let Some(last) = series.last_mut().filter(|last| last.key == next.key) {
                last.names.extend(next.names);
            } else if series.len() < LAST_CALLS {
                series.push(next);
            } else {
                break;
            }
        }
        series.iter().rev().map(|series| format!("{}: {}", series.shown(), series.state)).collect()
    }

    /// Returns the changed files, newest first; of one turn, or of all.
    pub fn files(&self, turn: Option<usize>) -> Vec<String> {
        let own = self.deeds.iter().rev().filter(|deed| turn.is_none_or(|turn| deed.turn == turn));
        folded(own.filter_map(|deed| Some(code(deed.changed()?, 160))))
    }

    /// Returns the commands whose last run is known to have passed, newest first.
    pub fn passed(&self) -> Vec<String> {
        let mut seen = HashSet::new();
        let acting = self.deeds.iter().rev().filter(|deed| deed.call.command.is_some() && !deed.looks());
        let last = acting.filter(|deed| seen.insert(deed.call.command.as_deref()));
        folded(last.filter(|deed| deed.end == End::Passed && !deed.is_hidden()).map(|deed| named(&deed.call)))
    }

    /// Returns the failures that nothing has resolved, the oldest first. What only looked counts if it is
    /// the last call and the turn is not `answered`.
    pub fn failures(&self, request: &str, answered: bool) -> Failures {
        let mut failures = Failures::default();
        let first = self.deeds.len().saturating_sub(STALE_CALLS);
        for (at, deed) in self.deeds.iter().enumerate().skip(first) {
            let (End::Failed(status), false) = (&deed.end, deed.turn + STALE_TURNS < self.turn) else {
                continue;
            };
            let later: Vec<&Deed> = self.deeds.range(at + 1..).collect();
            let found_nothing = deed.output.is_empty() && (deed.looks() || status == NOTHING_FOUND);
            let is_history = deed.looks() && (answered || !later.is_empty());
            let settles =
                |later: &&Deed| later.repeats(deed) && !(later.end == End::Passed && later.is_hidden());
            if found_nothing || is_history || later.iter().any(settles) {
                continue;
            }
            let shown = deed.failure();
            match later.iter().find_map(|later| later.notes(deed, request)) {
                Some(file) => failures
                    .noted
                    .push(format!("{shown} (noted in {}, as the request names it)", code(&file, 160))),
                None => failures.open.push(format!("{shown} ({})", since(deed, &later))),
            }
        }
        failures
    }
}

impl Deed {
    fn looks(&self) -> bool {
        let by_tool = self.steps.is_empty() && LOOKING.contains(&&*self.call.tool);
        by_tool || !self.steps.is_empty() && self.steps.iter().all(|step| step.looks)
    }

    /// Whether the exit code of a step is lost.
    fn is_hidden(&self) -> bool {
        self.steps.iter().any(|step| step.hidden)
    }

    /// Returns the file that was changed.
    fn changed(&self) -> Option<&str> {
        let tool = self.call.tool.to_lowercase();
        let changes = self.end == End::Passed && CHANGING.iter().any(|part| tool.contains(part));
        self.call.path.as_deref().filter(|_| changes)
    }

    fn state(&self) -> String {
        match &self.end {
            End::Passed if self.is_hidden() => {
                "ended, its exit code hidden by a pipe or a later step".to_owned()
            }
            End::Passed => "ok".to_owned(),
            End::Stopped => "stopped by the user".to_owned(),
            End::Failed(status) => ending(status),
        }
    }

    /// Returns what failed, how, and its output.
    fn failure(&self) -> String {
        let output = if self.output.is_empty() {
            String::new()
        } else {
            format!(": {}", quoted(&self.output, OUTPUT))
        };
        match self.is_carried {
            true => self.output.clone(),
            false => format!("{}: {}{output}", named(&self.call), self.state()),
        }
    }

    /// Returns what a repetition is recognized by. Which of several steps failed is not known: the last
    /// is the likeliest.
    fn target(&self) -> &str {
        let step = self.steps.last().map(|step| &*step.name);
        step.or(self.call.path.as_deref()).unwrap_or(&self.call.tool)
    }

    fn repeats(&self, failed: &Deed) -> bool {
        let target = failed.target();
        self.end != End::Stopped
            && (self.call.path.as_deref() == Some(target)
                || self.steps.iter().any(|step| step.name == target))
    }

    /// Returns the file that the request names and this call wrote, with an argument of the failed
    /// command in it.
    fn notes(&self, failed: &Deed, request: &str) -> Option<String> {
        let command = self.call.command.as_deref().unwrap_or_default();
        let redirected = command.rsplit_once('>').map(|(_, file)| file.trim());
        let file = self.changed().or(redirected.filter(|_| self.end == End::Passed))?;
        let is_named = file.len() > 3 && request.contains(file);
        let arguments = failed.call.command.as_deref()?.split_whitespace().skip(1);
        let mut arguments = arguments.filter(|argument| argument.len() > 2 && !argument.starts_with('-'));
        let said = |argument| command.contains(argument) || self.call.text.contains(argument);
        (is_named && arguments.any(said)).then(|| file.to_owned())
    }
}

/// Returns what happened after a failure, as far as it concerns it.
fn since(failed: &Deed, later: &[&Deed]) -> String {
    if later.is_empty() {
        let last = if failed.is_carried { "open since an earlier summary" } else { "the last tool call" };
        return last.to_owned();
    }
    let again = match later.iter().any(|later| later.repeats(failed)) {
        true => "run again since, its exit code hidden by a pipe or a later step".to_owned(),
        false => format!("not run again since, in {}", calls(later.len())),
    };
    let mut edited = folded(later.iter().rev().filter_map(|deed| Some(code(deed.changed()?, 160))));
    edited.truncate(3);
    let edited =
        if edited.is_empty() { edited.concat() } else { format!("then changed: {}; ", edited.join(", ")) };
    format!("{edited}{again}")
}

/// Calls, files or commands that differ in digits alone.
struct Series {
    key: String,
    state: String,
    /// The newest first.
    names: Vec<String>,
}

impl Series {
    fn of(name: String, state: String) -> Self {
        let mut key = format!("{state} {name}");
        // Each run of digits leaves nothing.
        key.retain(|c| !c.is_ascii_digit());
        Series { key, state, names: vec![name] }
    }

    fn shown(&self) -> String {
        match &*self.names {
            [name, rest @ ..] if rest.iter().all(|other| other == name) => match rest.len() {
                0 => name.clone(),
                more => format!("{name} ×{}", more + 1),
            },
            [newer, older] => format!("{older}, {newer}"),
            [newest, .., oldest] => format!("{oldest} … {newest} ({} alike)", self.names.len()),
            _ => String::new(),
        }
    }
}

/// Folds names, the newest first: each is listed once, and a series of like ones in one item.
fn folded(names: impl Iterator<Item = String>) -> Vec<String> {
    let (mut seen, mut series) = (HashSet::new(), Vec::<Series>::new());
    for name in names.filter(|name| seen.insert(name.clone())) {
        let next = Series::of(name, String::new());
        match series.iter_mut().find(|known| known.key == next.key) {
            Some(known) => known.names.extend(next.names),
            None => series.push(next),
        }
    }
    series.iter().map(Series::shown).collect()
}

fn is_todo(call: &Call) -> bool {
    call.tool.to_lowercase().contains("todo")
}

/// Returns a call as a reader would name it.
fn named(call: &Call) -> String {
    let tool = line(&call.tool.replace('`', "'"), 60);
    match (&call.command, &call.path) {
        (Some(command), _) => format!("`{}`", shown(command)),
        (None, Some(path)) => format!("{tool} {}", code(path, 160)),
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
pub(super) fn calls(number: usize) -> String {
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
