//! The built-in summary: what a session is about, in its own words.
//!
//! No model is asked. [`Extract`] is fed the messages one by one and keeps a bounded part of what it
//! sees, so that memory does not grow with the session; [`Extract::finish`] writes pi's sections.
//! Whoever reads it must be able to go on, so the running request is in it word for word.
//!
//! It goes by shape: roles, tool names, flags, exit codes, the agents' own fixed lines, paths, list
//! marks, question and exclamation marks. It knows no natural language. It lists what was seen to
//! happen and calls no step done; where shape says nothing, a section says `(none)`.
//!
//! ```text
//! message ─ message::read ─┬─ turns   requests, answers, how they ended     ┐
//!                          ├─ work    files, commands, unresolved failures  ├─ render ─ text
//!                          └─ notes   constraints, decisions, context       ┘
//!                                           previous summary ─ previous ────┘
//! ```
//!
//! Other people's text goes through `quote`: nothing quoted can forge a section. File lists and the
//! preamble of a branch are the caller's.

mod budget;
mod quote;

mod message;
mod shell;

mod previous;
mod turns;
mod work;

mod notes;
mod render;

#[cfg(test)]
mod tests;

use super::json::Raw;
use budget::SHORT;
use message::{Assistant, Message};
use notes::Notes;
use previous::{FAILED, FILES, PASSED, Previous, SAID, Section};
use quote::{asks, units, words};
use turns::{State, Turn};
use work::Work;

/// Below this many words, a message cannot be understood without what it answers.
const NOD: f32 = 2.5;
/// Turns that are kept: the first, and the newest of the others.
const TURNS: usize = 64;

/// What the summary is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// It replaces the older part of the conversation.
    #[default]
    Compaction,
    /// It describes a branch that was left.
    Branch,
}

/// What is known beside the messages.
#[derive(Clone, Copy, Debug)]
pub struct Material<'a> {
    /// What the summary is for.
    pub kind: Kind,
    /// The previous summary, to be merged.
    pub previous_summary: Option<&'a str>,
    /// What the summary should pay attention to.
    pub instructions: Option<&'a str>,
}

/// A summary being made.
#[derive(Debug, Default)]
pub struct Extract {
    kind: Kind,
    previous: Option<Previous>,
    turns: Vec<Turn>,
    dropped: usize,
    work: Work,
    notes: Notes,
    /// The last turn goes on after the summary.
    split: bool,
    /// What follows answers a command to the agent itself, or nothing.
    aside: bool,
    /// Something was asked or answered since the previous summary.
    moved: bool,
}

impl Extract {
    /// Begins a summary.
    pub fn new(material: Material) -> Self {
        let mut extract = Extract { kind: material.kind, ..Extract::default() };
        extract.notes.note("Asked of this summary", material.instructions.unwrap_or_default());
        material.previous_summary.into_iter().for_each(|summary| extract.go_on_from(summary));
        extract
    }

    /// Takes in the next message: the JSON of an agent's message.
    pub fn add(&mut self, message: Raw) {
        match message::read(message) {
            Message::User(text) => self.user(&text),
            Message::Assistant(said) => self.assistant(&said),
            Message::Result(result) => {
                let (call, changed) = self.work.returned(&result);
                if let Some(question) = &call.question {
                    self.notes.decided(question, &result.text);
                }
                if let (Some(turn), Some(path), true) = (self.turns.last_mut(), &call.path, changed) {
                    turn.changed(path);
                }
            }
            Message::Ran(call, result) => self.work.ran(&call, &result),
            Message::Extension(kind, text) => self.extension(&kind, &text),
            Message::CompactionSummary(summary) if self.previous.is_none() => self.go_on_from(&summary),
            Message::BranchSummary(summary) => self.notes.explored(&Previous::parse(&summary)),
            Message::CompactionSummary(_) | Message::Other => {}
        }
    }

    /// Marks the messages that follow as the beginning of a turn whose rest is kept.
    pub fn split_turn(&mut self) {
        self.split = true;
    }

    /// Returns the summary.
    pub fn finish(mut self) -> String {
        if self.turns.len() > 1 {
            self.note_unheard();
        }
        render::render(&self)
    }

    /// Takes up what a previous summary says of the running request and of the work so far.
    fn go_on_from(&mut self, summary: &str) {
        let mut previous = Previous::parse(summary);
        if let Some(request) = &previous.request {
            let state = if previous.answered { State::Answered } else { State::Open };
            let (added, sender) = (previous.added.clone(), previous.sender.clone());
            let report = previous.last_words.clone();
            let mut turn = Turn { added, sender, report, state, ..Turn::new(request) };
            let said = previous.of(Section::InProgress).filter_map(|point| point.strip_prefix(SAID));
            said.for_each(|said| turn.remark(said.trim_matches('"')));
            self.turns.push(turn);
        }
        for point in previous.of(Section::Done) {
            let list = |start| point.strip_prefix(start).into_iter().flat_map(items).collect::<Vec<_>>();
            list(FILES).into_iter().rev().for_each(|(path, times)| self.work.changed(path, times));
            for (start, failed) in [(FAILED, true), (PASSED, false)] {
                let commands = list(start).into_iter().rev();
                commands.for_each(|(text, times)| self.work.command(text.to_owned(), times, failed));
            }
        }
        previous.settle(Section::Blocked, |point| self.work.still_fails(point));
        self.previous = Some(previous);
    }

    fn user(&mut self, text: &str) {
        let text = text.trim();
        // One word behind a stroke is a command to the agent itself.
        self.aside = text.is_empty() || text.starts_with('/') && !text.contains(char::is_whitespace);
        if self.aside {
            return;
        }
        self.note_unheard();
        self.notes.addresses(text);
        let nod = words(text) < NOD && units(text) < SHORT;
        let running = self.turns.last_mut().filter(|turn| {
            let works = turn.state == State::Open && turn.calls > 0;
            turn.state != State::Answered && turn.is_begun() && (works || nod)
        });
        if let Some(turn) = running {
            turn.more(text);
            return;
        }
        if let Some(last) = self.turns.last() {
            self.notes.heed(&last.request);
            if nod && last.state == State::Answered && asks(&last.report) {
                let question = last.report.lines().rev().find(|line| !line.trim().is_empty());
                self.notes.decided(question.unwrap_or_default(), text);
            }
        }
        self.begin(Turn::new(text));
    }

    fn begin(&mut self, turn: Turn) {
        self.moved = true;
        self.work.begin();
        if self.turns.len() == TURNS {
            self.turns.remove(1);
            self.dropped += 1;
        }
        self.turns.push(turn);
    }

    fn assistant(&mut self, said: &Assistant) {
        self.work.called(&said.calls);
        if self.aside {
            return;
        }
        if self.turns.is_empty() {
            self.turns.push(Turn::default());
        }
        self.turns.last_mut().into_iter().for_each(|turn| turn.hear(said));
        if self.turns.last().is_some_and(|turn| turn.state == State::Answered) {
            self.moved = true;
            self.work.answered();
        }
    }

    /// An extension's message begins a turn where none is running, as the agents do with one that asks
    /// for a reply. In a turn it is material.
    fn extension(&mut self, kind: &str, text: &str) {
        let running = self.turns.last().is_some_and(|turn| turn.state != State::Answered);
        if running || text.trim().is_empty() {
            self.notes.note(&format!("Message of {kind}"), text);
            return;
        }
        self.aside = false;
        self.begin(Turn { sender: Some(kind.to_owned()), ..Turn::new(text) });
    }

    /// Makes an extension's message that nothing answered material.
    fn note_unheard(&mut self) {
        if let Some(turn) = self.turns.pop_if(|turn| turn.sender.is_some() && !turn.is_begun()) {
            self.notes.note(&format!("Message of {}", turn.sender.unwrap_or_default()), &turn.request);
        }
    }
}

/// Returns the items of a list in a previous summary, each with its count: `` `a` ×2, `b` ``.
fn items(list: &str) -> impl Iterator<Item = (&str, u32)> {
    let mut parts = list.split('`').skip(1);
    std::iter::from_fn(move || {
        let (name, note) = (parts.next()?, parts.next().unwrap_or_default());
        let digits = note.trim_start().strip_prefix('×').unwrap_or_default();
        let digits = digits.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
        Some((name, digits.parse().unwrap_or(1)))
    })
}
