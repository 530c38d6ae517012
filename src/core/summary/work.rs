//! What tools did: one record of each call. Files, commands, failures and the last calls are all read
//! off these records when the summary is written.

use super::budget::*;
use super::message::{Call, End};
use super::quote::{clean, clip, code, line, quoted};
use super::shell::{self, Step};
use std::collections::{HashSet, VecDeque};

/// Tools of both agents that only look. If they find nothing, the work has not failed.
const LOOKING: [&str; 8] = ["read", "grep", "find", "glob", "ls", "search", "fetch", "web_search"];
/// What the names of tools that change files contain.
const CHANGING: [&str; 4] = ["edit", "write", "patch", "create"];
/// How a probe ends that finds nothing: `which x`, `grep`, `test -f`.
const NOTHING_FOUND: &str = "Command exited with code 1";
/// How a call is listed whose end is not known.
const HIDDEN: &str = "its exit code hidden by a pipe or a later step";

/// A tool call that ended.
#[derive(Debug, Default)]
pub(super) struct Deed {
    call: Call,
    end: End,
    /// The programs of its command.
    steps: Vec<Step>,
    /// What it printed: the lines that say most.
    output: String,
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

impl Work {
    /// Takes in the calls of a reply.
    pub fn called(&mut self, calls: &[(String, Call)]) {
        self.pending = calls.to_vec();
    }

    /// Takes in the result of a call, and returns the question that the call asked, if any.
    pub fn returned(&mut self, id: &str, result: Call, end: End, text: &str) -> Option<String> {
        let at = self.pending.iter().position(|(known, _)| known == id);
        let call = at.map_or(result, |at| self.pending.remove(at).1);
        let question = call.question.clone();
        if end == End::Passed && is_todo(&call) {
            text.clone_into(&mut self.todo);
        }
        let steps = call.command.as_deref().map(shell::steps).unwrap_or_default();
        self.deeds.drain(..(self.deeds.len() + 1).saturating_sub(DEEDS));
        let output = telling(text, &end);
        self.deeds.push_back(Deed { call, end, steps, output, turn: self.turn });
        question
    }

    /// Returns the number of calls since the todo list was reported.
    pub fn since_todo(&self) -> usize {
        self.deeds.iter().rev().take_while(|deed| !is_todo(&deed.call)).count()
    }

    /// Returns the last calls of the current turn, in order, series of like ones folded.
    pub fn last_calls(&self) -> Vec<String> {
        let own = self.deeds.iter().rev().take_while(|deed| deed.turn == self.turn);
        let ended = own.map(|deed| (named(&deed.call), format!(": {}", deed.state())));
        let open = self.pending.iter().rev().map(|(_, call)| (named(call), ": no result yet".to_owned()));
        let mut calls = folded(open.chain(ended), 1);
        calls.truncate(LAST_CALLS);
        calls.reverse();
        calls
    }

    /// Returns the changed files, newest first.
    pub fn files(&self) -> Vec<String> {
        listed(self.deeds.iter().rev().filter_map(Deed::changed))
    }

    /// Returns the commands whose last run is known to have passed, newest first.
    pub fn passed(&self) -> Vec<String> {
        let mut seen = HashSet::new();
        let acting = self.deeds.iter().rev().filter(|deed| deed.call.command.is_some() && !deed.looks());
        let last = acting.filter(|deed| seen.insert(deed.call.command.as_deref()));
        listed(last.filter(|deed| deed.is_passed()).map(|deed| named(&deed.call)))
    }

    /// Whether a failure of a previous summary is over: its command or file was tried again.
    pub fn is_over(&self, point: &str) -> bool {
        let Some(failed) = point.split('`').nth(1) else { return false };
        let steps = shell::steps(failed);
        let target = steps.last().map_or(failed, |step| &step.name);
        self.deeds.iter().any(|deed| deed.settles(target) || deed.settles(failed))
    }

    /// Returns the failures that nothing has resolved, the oldest first. What only looked counts if it is
    /// the last call and the turn is not `answered`.
    pub fn failures(&self, answered: bool) -> Vec<String> {
        let mut failures = Vec::new();
        for (at, deed) in self.deeds.iter().enumerate().skip(self.deeds.len().saturating_sub(STALE_CALLS)) {
            let End::Failed(status) = &deed.end else { continue };
            let later: Vec<&Deed> = self.deeds.range(at + 1..).collect();
            let found_nothing = deed.output.is_empty() && (deed.looks() || status == NOTHING_FOUND);
            let is_history =
                deed.turn + STALE_TURNS < self.turn || deed.looks() && (answered || !later.is_empty());
            if !found_nothing && !is_history && !later.iter().any(|later| later.settles(deed.target())) {
                let (what, how, since) = (named(&deed.call), deed.state(), since(deed, &later));
                let output = if deed.output.is_empty() {
                    "no output".to_owned()
                } else {
                    quoted(&deed.output, OUTPUT)
                };
                failures.push(format!("{what}: {how}: {output} ({since})"));
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
        self.steps.iter().any(|step| step.is_hidden)
    }

    /// Whether it is known to have passed.
    fn is_passed(&self) -> bool {
        self.end == End::Passed && !self.is_hidden()
    }

    /// Returns the file that was changed.
    fn changed(&self) -> Option<String> {
        let tool = self.call.tool.to_lowercase();
        let changes = self.end == End::Passed && CHANGING.iter().any(|part| tool.contains(part));
        self.call.path.as_deref().filter(|_| changes).map(|path| code(path, 160))
    }

    fn state(&self) -> String {
        match &self.end {
            End::Passed if self.is_hidden() => format!("ended, {HIDDEN}"),
            End::Passed => "ok".to_owned(),
            End::Stopped => "stopped by the user".to_owned(),
            End::Failed(status) if status.is_empty() => "failed".to_owned(),
            // The agent's line, as the end of a sentence.
            End::Failed(status) => line(status.strip_prefix("Command ").unwrap_or(status), 80),
        }
    }

    /// Returns what a repetition is recognized by. Which of several steps failed is not known: the last
    /// is the likeliest.
    fn target(&self) -> &str {
        let step = self.steps.last().map(|step| &*step.name);
        step.or(self.call.path.as_deref()).unwrap_or(&self.call.tool)
    }

    /// Whether it did that again, and it is known how it ended.
    fn settles(&self, target: &str) -> bool {
        self.repeats(target) && (self.is_passed() || self.end != End::Passed)
    }

    fn repeats(&self, target: &str) -> bool {
        let is_step = self.steps.iter().any(|step| step.name == target);
        self.end != End::Stopped && (is_step || self.call.path.as_deref() == Some(target))
    }
}

/// Returns what happened after a failure, as far as it concerns it.
fn since(failed: &Deed, later: &[&Deed]) -> String {
    if later.is_empty() {
        return "the last tool call".to_owned();
    }
    let again = match later.iter().any(|later| later.repeats(failed.target())) {
        true => format!("run again since, {HIDDEN}"),
        false => format!("not run again since, in {}", calls(later.len())),
    };
    let mut edited = listed(later.iter().rev().filter_map(|deed| deed.changed()));
    edited.truncate(3);
    if edited.is_empty() { again } else { format!("then changed: {}; {again}", edited.join(", ")) }
}

/// Returns names, the newest first, each once, like ones in one item.
fn listed(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = HashSet::new();
    folded(names.filter(|name| seen.insert(name.clone())).map(|name| (name, String::new())), usize::MAX)
}

/// Folds names, the newest first, with what there is to say of each: those that differ in digits alone
/// become one item, if the last `reach` items have one like them.
fn folded(names: impl Iterator<Item = (String, String)>, reach: usize) -> Vec<String> {
    let mut series: Vec<(String, String, Vec<String>)> = Vec::new();
    for (name, state) in names {
        let key: String = format!("{state} {name}").chars().filter(|c| !c.is_ascii_digit()).collect();
        match series.iter_mut().rev().take(reach).find(|(known, ..)| *known == key) {
            Some((_, _, names)) => names.push(name),
            None => series.push((key, state, vec![name])),
        }
    }
    let shown = |(_, state, names): (String, String, Vec<String>)| {
        let (newest, oldest, many) = (&names[0], &names[names.len() - 1], names.len());
        match many {
            1 => format!("{newest}{state}"),
            _ if newest == oldest => format!("{newest} ×{many}{state}"),
            2 => format!("{oldest}, {newest}{state}"),
            _ => format!("{oldest} … {newest} ({many} alike){state}"),
        }
    };
    series.into_iter().map(shown).collect()
}

fn is_todo(call: &Call) -> bool {
    call.tool.to_lowercase().contains("todo")
}

/// Returns a call as a reader would name it; of a document in a command (`<<`) only the start.
fn named(call: &Call) -> String {
    let tool = line(&call.tool.replace('`', "'"), 60);
    match (&call.command, &call.path) {
        (Some(command), _) => match command.split_once("<<") {
            Some((program, _)) => code(&format!("{program}<< …"), COMMAND),
            None => code(command, COMMAND),
        },
        (None, Some(path)) => format!("{tool} {}", code(path, 160)),
        (None, None) => tool,
    }
}

/// Returns a number of tool calls in words.
pub(super) fn calls(number: usize) -> String {
    format!("{number} tool call{}", if number == 1 { "" } else { "s" })
}

/// Returns the lines of an output that say most: the last two of the form `what: why` at the start of a
/// line, as programs of any kind write them, and the last of all.
fn telling(text: &str, end: &End) -> String {
    let status = if let End::Failed(status) = end { status } else { "" };
    let output = clean(text);
    let says = |line: &&str| !["", "(no output)", status].contains(&line.trim());
    let mut lines = output.lines().rev().filter(says);
    let named = |line: &&str| !line.starts_with(' ') && (line.contains(": ") || line.contains('：'));
    let mut telling: Vec<&str> = lines.next().into_iter().chain(lines.filter(named).take(2)).collect();
    telling.reverse();
    let share = OUTPUT / telling.len().max(1);
    telling.iter().map(|line| clip(line, share)).collect::<Vec<_>>().join("\n")
}
