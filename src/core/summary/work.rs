//! Records each tool call. Commands, failures, changed files and the last calls are all derived from these
//! records when the summary is written.

use super::budget::*;
use super::message::{Call, End};
use super::quote::{clean, clip, code, line, quoted};
use super::shell::{self, Command};
use std::collections::{HashSet, VecDeque};

/// Tools of both agents that only look. If they find nothing, the work has not failed.
const LOOKING: [&str; 8] = ["read", "grep", "find", "glob", "ls", "search", "fetch", "web_search"];
/// What the names of tools that change files contain.
const CHANGING: [&str; 4] = ["edit", "write", "patch", "create"];
/// The status of a probe that finds nothing, such as `which x`, `grep` or `test -f`.
const NOTHING_FOUND: &str = "Command exited with code 1";
/// The status of a call whose outcome is not known.
const HIDDEN: &str = "its exit code hidden by a pipe or a later step";

/// A tool call that ended.
#[derive(Debug, Default)]
pub(super) struct Deed {
    call: Call,
    end: End,
    command: Command,
    /// The most informative lines of its output.
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
    /// Records the calls of a reply.
    pub fn called(&mut self, calls: Vec<(String, Call)>) {
        self.pending = calls;
    }

    /// Records the result of a call, and returns the question that the call asked, if any.
    pub fn returned(&mut self, id: &str, result: Call, end: End, text: &str) -> Option<String> {
        let at = self.pending.iter().position(|(known, _)| known == id);
        let call = at.map_or(result, |at| self.pending.remove(at).1);
        let question = call.question.clone();
        if end == End::Passed && call.tool.to_lowercase().contains("todo") {
            text.clone_into(&mut self.todo);
        }
        let mut command = call.command.as_deref().map(shell::read).unwrap_or_default();
        command.looks |= LOOKING.contains(&&*call.tool);
        self.deeds.drain(..(self.deeds.len() + 1).saturating_sub(RECENT));
        let output = telling(text, &end);
        self.deeds.push_back(Deed { call, end, command, output, turn: self.turn });
        question
    }

    /// Returns the last calls of the current turn, in order, with series of similar ones folded.
    pub fn last_calls(&self) -> Vec<String> {
        let own = self.deeds.iter().rev().take_while(|deed| deed.turn == self.turn);
        let ended = own.map(|deed| format!("{}: {}", named(&deed.call), deed.state()));
        let open = self.pending.iter().rev().map(|(_, call)| format!("{}: no result yet", named(call)));
        let mut calls = series(open.chain(ended), 1);
        calls.truncate(LAST_CALLS);
        calls.reverse();
        calls
    }

    /// Returns the commands whose last run is known to have passed, newest first.
    pub fn passed(&self) -> Vec<String> {
        let mut seen = HashSet::new();
        let acting =
            self.deeds.iter().rev().filter(|deed| deed.call.command.is_some() && !deed.command.looks);
        let last = acting.filter(|deed| seen.insert(deed.call.command.as_deref()));
        series(last.filter(|deed| deed.is_passed()).map(|deed| named(&deed.call)), usize::MAX)
    }

    /// Whether a failure of a previous summary is over: its command or file was tried again.
    pub fn is_over(&self, point: &str) -> bool {
        let Some(failed) = point.split('`').nth(1) else { return false };
        let steps = shell::read(failed).steps;
        self.deeds
            .iter()
            .any(|deed| steps.last().is_some_and(|step| deed.settles(step)) || deed.settles(failed))
    }

    /// Returns the unresolved failures of the last turns, the oldest first. A call that only looks counts only
    /// if it is the last one and the turn is not `answered`.
    pub fn failures(&self, answered: bool) -> Vec<String> {
        let mut failures = Vec::new();
        for (at, deed) in self.deeds.iter().enumerate() {
            let End::Failed(status) = &deed.end else { continue };
            let (later, looks) = (self.deeds.range(at + 1..), deed.command.looks);
            let found_nothing = deed.output.is_empty() && (looks || status == NOTHING_FOUND);
            let is_old = deed.turn + STALE_TURNS < self.turn || looks && (answered || later.len() > 0);
            if !found_nothing && !is_old && !later.clone().any(|later| later.settles(deed.target())) {
                let (what, how, since) = (named(&deed.call), deed.state(), since(deed, later));
                failures.push(format!("{what}: {how}: {} ({since})", quoted(&deed.output, POINT)));
            }
        }
        failures
    }
}

impl Deed {
    /// Whether the call is known to have passed.
    fn is_passed(&self) -> bool {
        self.end == End::Passed && !self.command.is_hidden
    }

    /// Returns the file that the call changed, if any.
    fn changed(&self) -> Option<String> {
        let tool = self.call.tool.to_lowercase();
        let changes = self.end == End::Passed && CHANGING.iter().any(|part| tool.contains(part));
        self.call.path.as_deref().filter(|_| changes).map(|path| code(path, 160))
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

    /// Returns the name by which a repetition is recognized. Which of several steps failed is not known; most
    /// likely the last.
    fn target(&self) -> &str {
        self.command.steps.last().or(self.call.path.as_ref()).unwrap_or(&self.call.tool)
    }

    /// Whether the call repeats `target` with a known outcome.
    fn settles(&self, target: &str) -> bool {
        self.repeats(target) && (self.is_passed() || self.end != End::Passed)
    }

    fn repeats(&self, target: &str) -> bool {
        let mut names = self.command.steps.iter().chain(&self.call.path);
        self.end != End::Stopped && names.any(|name| name == target)
    }
}

/// Returns what happened after a failure: which files changed, and whether the call was repeated.
fn since<'a>(
    failed: &Deed,
    later: impl DoubleEndedIterator<Item = &'a Deed> + ExactSizeIterator + Clone,
) -> String {
    let again = match later.len() {
        0 => "the last tool call".to_owned(),
        _ if later.clone().any(|later| later.repeats(failed.target())) => {
            format!("run again since, {HIDDEN}")
        }
        number => format!("not run again since, in {}", calls(number)),
    };
    let mut edited = series(later.rev().filter_map(Deed::changed), usize::MAX);
    edited.truncate(3);
    if edited.is_empty() { again } else { format!("then changed: {}; {again}", edited.join(", ")) }
}

/// Folds items, given newest first: an item that differs only in digits from one of the last `reach` becomes
/// one with it.
pub(super) fn series(items: impl Iterator<Item = String>, reach: usize) -> Vec<String> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for item in items {
        let key = item.replace(|c: char| c.is_ascii_digit(), "");
        match found.iter_mut().rev().take(reach).find(|(known, _)| *known == key) {
            Some((_, alike)) => alike.push(item),
            None => found.push((key, vec![item])),
        }
    }
    let shown = |(_, alike): (String, Vec<String>)| match &*alike {
        [newest, oldest] if newest != oldest => format!("{oldest}, {newest}"),
        [newest, .., oldest] if newest == oldest => format!("{newest} (×{})", alike.len()),
        [newest, .., oldest] => format!("{oldest} … {newest} ({} alike)", alike.len()),
        _ => alike.concat(),
    };
    found.into_iter().map(shown).collect()
}

/// Returns a call in the form in which it is listed. A command with a here-document ends at `<<`.
fn named(call: &Call) -> String {
    let tool = line(&call.tool.replace('`', "'"), 60);
    match (&call.command, &call.path) {
        (Some(command), _) => code(command.split_inclusive("<<").next().unwrap_or_default(), COMMAND),
        (None, Some(path)) => format!("{tool} {}", code(path, 160)),
        (None, None) => tool,
    }
}

/// Returns a number of tool calls in words.
pub(super) fn calls(number: usize) -> String {
    format!("{number} tool call{}", if number == 1 { "" } else { "s" })
}

/// Returns the most informative lines of an output: the last two of the form `what: why` that are not
/// indented, as programs of any kind write them, and the last line.
fn telling(text: &str, end: &End) -> String {
    let status = if let End::Failed(status) = end { status } else { "" };
    let output = clean(text);
    let says = |line: &&str| !["", "(no output)", status].contains(&line.trim());
    let mut lines = output.lines().rev().filter(says);
    let named = |line: &&str| !line.starts_with(' ') && (line.contains(": ") || line.contains('：'));
    let mut telling: Vec<&str> = lines.next().into_iter().chain(lines.filter(named).take(2)).collect();
    telling.reverse();
    let share = POINT / telling.len().max(1);
    telling.iter().map(|line| clip(line, share)).collect::<Vec<_>>().join("\n")
}
