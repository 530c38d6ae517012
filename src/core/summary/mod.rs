//! The built-in summary: what a session was about, taken from its own words.
//!
//! No model is asked. [`Extract`] is fed the messages one by one and keeps a bounded part of what it
//! sees, so that memory does not grow with the session; [`Extract::finish`] writes the summary in
//! pi's section format, about 1,500 tokens at most. A previous summary is merged point by point.
//!
//! Everything that is quoted goes through `clean`: one line, no escapes, no forged headings.
//! File lists and the preamble of a branch are the caller's.
//!
//! ```text
//! message ─ message::read ─┬─ turns   requests, reports, how they ended      ┐
//!                          ├─ work    files, commands, unresolved errors     ├─ render ─ text
//!                          └─ words   what the user demanded, chose and gave ┘
//!                                              previous summary ─ previous ──┘
//! ```

mod clean;
mod cues;
mod prose;
mod shell;

mod message;

mod previous;
mod turns;
mod words;
mod work;

mod render;

#[cfg(test)]
mod tests;

use super::json::Raw;
use message::{Assistant, Message};
use previous::Previous;
use turns::{State, Turn, Turns};
use words::Words;
use work::Work;

/// What the summary is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It replaces the older part of the conversation.
    Compaction,
    /// It tells of a branch that was left.
    Branch,
}

/// What is known beside the messages.
#[derive(Clone, Copy, Debug)]
pub struct Material<'a> {
    /// What the summary is for.
    pub kind: Kind,
    /// The summary before this one, to be merged.
    pub previous_summary: Option<&'a str>,
    /// Files that were read, as the caller will list them.
    pub read_files: &'a [String],
    /// Files that were changed, as the caller will list them.
    pub modified_files: &'a [String],
    /// What the summary should look at above all.
    pub instructions: Option<&'a str>,
}

/// A summary being made.
#[derive(Debug)]
pub struct Extract {
    kind: Kind,
    instructions: Option<String>,
    /// Names of files that stand in several folders, and are told apart by their path.
    ambiguous: Vec<String>,
    previous: Option<Previous>,
    turns: Turns,
    work: Work,
    words: Words,
    /// The messages belong to a turn that goes on after the summary.
    split: bool,
    /// What follows answers a command to the agent's shell, or nothing.
    aside: bool,
}

impl Extract {
    /// Begins a summary.
    pub fn new(material: Material) -> Self {
        let files = material.read_files.iter().chain(material.modified_files);
        Extract {
            kind: material.kind,
            instructions: material
                .instructions
                .map(|text| clean::line(text, 400))
                .filter(|text| !text.is_empty()),
            ambiguous: ambiguous_names(files.map(String::as_str)),
            previous: material.previous_summary.map(Previous::parse),
            turns: Turns::default(),
            work: Work::default(),
            words: Words::default(),
            split: false,
            aside: false,
        }
    }

    /// Takes in the next message: the JSON of an agent's message.
    pub fn add(&mut self, message: Raw) {
        match message::read(message) {
            Message::User(text) => self.user(&text),
            Message::Assistant(said) => self.assistant(said),
            Message::Result(result) => {
                let outcome = self.work.returned(&result, self.turns.current());
                if let Some(turn) = self.turns.last_mut().filter(|_| !self.aside) {
                    turn.steps += outcome.steps;
                    outcome.edited.iter().for_each(|path| turn.edited(path));
                }
            }
            Message::Ran { command, failed, output } => {
                self.work.ran(&command, failed, &output, self.turns.current());
            }
            Message::CompactionSummary(summary) => {
                self.previous.get_or_insert_with(|| Previous::parse(&summary));
            }
            Message::BranchSummary(summary) => self.words.explored(&Previous::parse(&summary)),
            Message::Other => {}
        }
    }

    /// The messages that follow are the beginning of a turn whose rest is kept.
    pub fn split_turn(&mut self) {
        self.split = true;
    }

    /// The summary.
    pub fn finish(self) -> String {
        render::render(&self)
    }

    fn user(&mut self, text: &str) {
        let said = prose::said(text);
        self.aside = said.trim().is_empty() || prose::is_slash_command(text);
        if self.aside {
            return;
        }
        let size = prose::words(&said);
        let before = self.turns.last().map(|turn| (turn.state.clone(), turn.question.clone()));
        let (state, question) = before.unzip();
        let unfinished = state.is_some_and(|state| state != State::Answered);
        if size < 2.5 && unfinished && !prose::gives_values(text) {
            // "continue", "yes", in whatever language: the turn before goes on.
            self.turns.last_mut().into_iter().for_each(|turn| turn.state = State::Open);
            return;
        }
        if size < 2.5 && self.turns.last().is_none() && self.previous.is_some() {
            self.turns.begin(Turn::default());
            return;
        }
        let answers = question.flatten().filter(|_| size < 9.0);
        self.words.listen(text, &said, answers.as_deref(), self.turns.count());
        let in_focus = self.instructions.as_deref().is_some_and(|focus| words::share(focus, &said));
        let request = clean::clip(&said, 700);
        self.turns.begin(Turn { request, answers, in_focus, ..Turn::default() });
    }

    fn assistant(&mut self, mut said: Assistant) {
        let calls = std::mem::take(&mut said.calls);
        let count = calls.len() as u32;
        self.work.called(calls);
        if self.aside {
            return;
        }
        if self.turns.last().is_none() {
            self.turns.begin(Turn::default());
        }
        if let Some(turn) = self.turns.last_mut() {
            turn.hear(&said);
            turn.tools += count;
            if turn.state == State::Answered {
                self.work.answered();
                self.words.conclude(&said.text);
            }
        }
    }
}

/// The file names that several of the paths end with.
fn ambiguous_names<'a>(paths: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut paths: Vec<(&str, &str)> = paths.map(|path| (file_name(path), path)).collect();
    paths.sort_unstable();
    paths.dedup();
    let mut names: Vec<String> =
        paths.windows(2).filter(|pair| pair[0].0 == pair[1].0).map(|pair| pair[0].0.to_owned()).collect();
    names.dedup();
    names
}

fn file_name(path: &str) -> &str {
    path.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or(path)
}
