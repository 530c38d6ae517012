//! What tools did: files changed, commands run, errors that nothing has resolved since.

use super::clean::{folded, line, visible};
use super::message::{Call, ToolResult};
use super::prose::words;
use super::shell::{self, Step};
use std::collections::VecDeque;

/// Calls that may still get a result.
const PENDING: usize = 256;
/// Files, commands and errors that are kept.
const FILES: usize = 256;
const COMMANDS: usize = 64;
const TROUBLES: usize = 16;
/// Turns after which an error that nobody came back to is history.
const STALE: u32 = 10;

/// A command and how often it ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Command {
    pub step: Step,
    pub runs: u32,
    pub failed: bool,
}

/// An error and where it came from.
#[derive(Debug)]
pub(super) struct Trouble {
    /// A path or the name of a command: what a later success is known by.
    target: String,
    pub what: String,
    pub error: String,
    turn: u32,
    /// It stays when its turn ends with an answer.
    serious: bool,
}

#[derive(Debug, Default)]
pub(super) struct Work {
    pending: VecDeque<Call>,
    pub files: Vec<(String, u32)>,
    pub commands: Vec<Command>,
    troubles: Vec<Trouble>,
    /// What succeeded, newest last.
    succeeded: VecDeque<String>,
}

/// What a result tells about the turn it belongs to.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub edited: Option<String>,
    pub steps: u32,
}

impl Work {
    pub fn called(&mut self, calls: Vec<Call>) {
        self.pending.extend(calls);
        while self.pending.len() > PENDING {
            self.pending.pop_front();
        }
    }

    /// Takes in the result of a call.
    pub fn returned(&mut self, result: &ToolResult, turn: u32) -> Outcome {
        let at = self.pending.iter().rposition(|call| call.id == result.id);
        let call = at.and_then(|at| self.pending.remove(at)).unwrap_or_default();
        let tool = if call.tool.is_empty() { &result.tool } else { &call.tool };
        if let Some(command) = &call.command {
            let steps = self.ran(command, result.is_error, &result.text, turn);
            let steps = steps + u32::from(!result.is_error && shell::changes_files(command));
            return Outcome { edited: None, steps };
        }
        let target = call.path.as_deref().unwrap_or_default();
        let changes =
            ["edit", "write", "patch", "create"].iter().any(|verb| tool.to_lowercase().contains(verb));
        if result.is_error {
            let what = line(&format!("{tool} {target}"), 120);
            self.fail(target, &what, &result.text, turn, changes);
            return Outcome::default();
        }
        self.succeed(target);
        let edited = call.path.filter(|_| changes).map(|path| line(&path.replace('`', "'"), 160));
        if let Some(path) = &edited {
            self.changed(path, 1);
        }
        Outcome { edited, steps: 0 }
    }

    /// Takes in a command that ran; how many of its steps are worth telling.
    pub fn ran(&mut self, command: &str, failed: bool, output: &str, turn: u32) -> u32 {
        let steps = shell::steps(command);
        let count = steps.len();
        let name = steps.last().map_or_else(|| shell::name(command), |step| step.key.clone());
        for (at, step) in steps.into_iter().enumerate() {
            // Which one of several failed is not known: the last is the likeliest, the others are left out.
            if !failed {
                self.succeed(&step.key);
            }
            if !failed || at + 1 == count {
                self.command(Command { step, runs: 1, failed });
            }
        }
        if failed {
            let what = line(&format!("`{}`", name.replace('`', "'")), 120);
            self.fail(&name, &what, output, turn, count > 0);
        } else {
            self.succeed(&shell::name(command));
        }
        count as u32
    }

    /// Counts a command, one known already in its old place unless it leaves a mark each time.
    pub fn command(&mut self, command: Command) {
        if let Some(at) = self.commands.iter().position(|known| known.step.text == command.step.text) {
            let known = self.commands.remove(at);
            self.commands.push(Command { runs: known.runs.saturating_add(command.runs), ..command });
            return;
        }
        if self.commands.len() == COMMANDS {
            let at = self.commands.iter().position(|command| !command.step.lasting).unwrap_or(0);
            self.commands.remove(at);
        }
        self.commands.push(command);
    }

    /// Counts changes of a file.
    pub fn changed(&mut self, path: &str, times: u32) {
        if let Some((_, count)) = self.files.iter_mut().find(|(known, _)| known == path) {
            *count = count.saturating_add(times);
            return;
        }
        if self.files.len() == FILES {
            let rarest = self.files.iter().enumerate().min_by_key(|(_, (_, count))| *count);
            if let Some((at, _)) = rarest {
                self.files.remove(at);
            }
        }
        self.files.push((path.to_owned(), times));
    }

    /// An answer at the end of a turn: what went wrong while looking around is done with.
    pub fn answered(&mut self) {
        self.troubles.retain(|trouble| trouble.serious);
    }

    /// The errors that still stand, oldest first.
    pub fn troubles(&self, turns: u32) -> impl DoubleEndedIterator<Item = &Trouble> {
        self.troubles.iter().filter(move |trouble| trouble.turn + STALE > turns)
    }

    /// Whether a turn left an error that was not only met on the way.
    pub fn left_trouble(&self, turn: u32) -> bool {
        self.troubles.iter().any(|trouble| trouble.serious && trouble.turn == turn)
    }

    /// Whether something that a text names has succeeded since.
    pub fn resolves(&self, text: &str) -> bool {
        self.succeeded.iter().any(|target| text.contains(target.as_str()))
    }

    fn succeed(&mut self, target: &str) {
        if target.is_empty() {
            return;
        }
        self.troubles.retain(|trouble| trouble.target != target);
        if target.len() > 5 && !self.succeeded.iter().any(|known| known == target) {
            self.succeeded.push_back(target.to_owned());
        }
        if self.succeeded.len() > PENDING {
            self.succeeded.pop_front();
        }
    }

    fn fail(&mut self, target: &str, what: &str, output: &str, turn: u32, serious: bool) {
        let Some(error) =
            telling_line(output).or_else(|| serious.then(|| "failed without a message".to_owned()))
        else {
            return;
        };
        self.troubles.retain(|trouble| trouble.target != target);
        if self.troubles.len() == TROUBLES {
            self.troubles.remove(0);
        }
        let (target, what) = (target.to_owned(), what.to_owned());
        self.troubles.push(Trouble { target, what, error, turn, serious });
    }
}

/// The line of an error's output that says most: the first that names an error, else the last.
fn telling_line(output: &str) -> Option<String> {
    const CUES: [&str; 20] = [
        "error",
        "fail",
        "exception",
        "panic",
        "cannot",
        "could not",
        "not found",
        "no such",
        "denied",
        "fatal",
        "错误",
        "失败",
        "エラー",
        "오류",
        "ошибк",
        "erreur",
        "fehler",
        "erro",
        "خطأ",
        "✗",
    ];
    let output = visible(output);
    let lines: Vec<&str> = output.lines().map(str::trim).filter(|line| tells(line)).collect();
    let named = |least: f32| {
        lines.iter().find(|line| {
            let lower = line.to_lowercase();
            words(line) >= least && CUES.iter().any(|cue| lower.contains(cue))
        })
    };
    named(2.5).or_else(|| named(0.0)).or(lines.last()).map(|text| line(text, 200))
}

/// Not what a shell tool adds below every failure, and not an interruption by the user.
fn tells(line: &str) -> bool {
    let boilerplate =
        ["Command exited with code", "Command aborted", "Operation aborted", "Command timed out", "> "];
    folded(line).chars().count() >= 4 && !boilerplate.iter().any(|start| line.starts_with(start))
}
