//! The built-in summary: what a session is about, in its own words.
//!
//! No model is asked. [`extract`] reads the messages one by one and keeps a bounded part of what it
//! sees, so memory does not grow with the session; then it writes pi's sections. Whoever reads the
//! summary must be able to go on, so the running request is in it word for word.
//!
//! It goes by shape: roles, tool names, flags, exit codes, the agents' own fixed lines, paths, list
//! marks, question and exclamation marks. It knows no natural language. It lists what was seen to
//! happen and calls no step done; where shape says nothing, a section is `(none)`.
//!
//! ```text
//! message ─ message::read ─┬─ turns   requests, replies, how they ended           ┐
//!                          ├─ work    tool calls: files, commands, open failures  ├─ render ─ text
//!                          └─ notes   constraints, decisions, context             ┘
//!                                             previous summary ─ previous ────────┘
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

use super::bodies::{self, Bodies};
use super::entry::Role;
use super::json::Raw;
use super::session::Session;
use budget::{BEFORE, NOD, RECENT, TURNS};
use message::{Assistant, Message, Stop};
use notes::Notes;
use previous::{Previous, SAID, Section};
use quote::{asks, columns, ends};
use std::io;
use turns::Turn;
use work::Work;

/// What the summary is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// It replaces the older part of the conversation.
    #[default]
    Compaction,
    /// It describes a branch that was left.
    Branch,
}

/// What a summary is made from.
#[derive(Clone, Copy, Debug)]
pub struct Material<'a> {
    /// What the summary is for.
    pub kind: Kind,
    /// The messages to summarize.
    pub messages: &'a [bodies::Message],
    /// The beginning of a turn whose rest is kept.
    pub turn_prefix: &'a [bodies::Message],
    /// The previous summary, to be merged.
    pub previous_summary: Option<&'a str>,
    /// What the summary should focus on.
    pub instructions: Option<&'a str>,
}

/// Returns the built-in summary. The newest messages are read in full; of older ones what the user and
/// extensions said, and the final replies to the requests that may be shown.
///
/// # Errors
/// Fails if a line cannot be read.
pub fn extract(material: &Material, session: &Session, bodies: &dyn Bodies) -> io::Result<String> {
    let mut extract = Extract::new(material.kind, material.previous_summary, material.instructions);
    let all: Vec<_> = material.messages.iter().chain(material.turn_prefix).collect();
    let is = |at: usize, role| all.get(at).is_some_and(|message| session.is_message(message.entry, role));
    let old = all.len().saturating_sub(RECENT);
    let requests = (0..old).rev().filter(|&at| is(at, Role::User));
    let unseen = requests.take(TURNS).nth(TURNS - 1).unwrap_or(0);
    for (at, message) in all.iter().enumerate() {
        let is_reply = is(at, Role::Assistant);
        let is_final = is_reply && !is(at + 1, Role::ToolResult);
        if at < old && (is(at, Role::ToolResult) || is_reply && (at < unseen || !is_final)) {
            extract.pass_over(is_reply, is_final);
            continue;
        }
        let entry = session.id(message.entry);
        message.with(bodies, |json| extract.add(&entry.to_string_lossy(), json))?;
    }
    extract.is_split = !material.turn_prefix.is_empty();
    Ok(extract.finish())
}

/// A summary being made.
#[derive(Debug, Default)]
struct Extract {
    kind: Kind,
    previous: Option<Previous>,
    turns: Vec<Turn>,
    dropped: usize,
    work: Work,
    notes: Notes,
    /// The last turn goes on after the summary.
    is_split: bool,
    /// What follows answers a command to the agent itself, or nothing.
    is_aside: bool,
    /// Something was asked or answered since the previous summary.
    has_moved: bool,
}

impl Extract {
    fn new(kind: Kind, previous: Option<&str>, instructions: Option<&str>) -> Self {
        let mut extract = Extract { kind, ..Extract::default() };
        extract.notes.note("Asked of this summary", instructions.unwrap_or_default());
        previous.into_iter().for_each(|summary| extract.go_on_from(summary));
        extract
    }

    /// Takes in the next message: the JSON of an agent's message, and its entry.
    fn add(&mut self, entry: &str, message: Raw) {
        match message::read(message) {
            Message::User(text) => self.user(entry, &text),
            Message::Assistant(said) => self.assistant(said),
            Message::Result(id, call, outcome) => {
                if let Some(question) = self.work.returned(&id, call, &outcome) {
                    self.notes.decided(&question, &outcome.text);
                }
            }
            Message::Extension(kind, text) => self.extension(entry, &kind, &text),
            Message::CompactionSummary(summary) if self.previous.is_none() => self.go_on_from(&summary),
            Message::BranchSummary(summary) => {
                let branch = Previous::parse(&summary);
                let points = [Section::Goal, Section::Done, Section::Blocked, Section::Context];
                let points = points.iter().flat_map(|section| branch.of(*section).take(2));
                let points: Vec<&str> = branch.request.as_deref().into_iter().chain(points).collect();
                self.notes.note("On another branch", &points.join("; "));
            }
            Message::CompactionSummary(_) | Message::Other => {}
        }
    }

    /// Counts a message that is not read: the result of a call, or a reply.
    fn pass_over(&mut self, is_reply: bool, is_final: bool) {
        if let Some(turn) = self.turns.last_mut() {
            turn.calls += usize::from(!is_reply);
            turn.stop = is_final.then_some(Stop::Done);
        }
    }

    fn finish(mut self) -> String {
        if self.turns.len() > 1 {
            self.note_unheard();
        }
        render::render(&self)
    }

    /// Takes up what a previous summary says of the running request and of its failures.
    fn go_on_from(&mut self, summary: &str) {
        let mut previous = Previous::parse(summary);
        if let Some(request) = previous.request.clone() {
            let said = previous.of(Section::InProgress).filter_map(|point| point.strip_prefix(SAID));
            self.turns.push(Turn {
                said: said.map(|said| said.trim_matches('"').to_owned()).collect(),
                request,
                added: previous.added.clone(),
                sender: previous.sender.clone(),
                report: previous.last_words.clone(),
                stop: previous.answered.then_some(Stop::Done),
                ..Turn::default()
            });
        }
        previous.settle(Section::Blocked, |point| self.work.still_fails(point));
        self.previous = Some(previous);
    }

    fn user(&mut self, entry: &str, text: &str) {
        let text = text.trim();
        // One word behind a stroke is a command to the agent itself.
        self.is_aside = text.is_empty() || text.starts_with('/') && !text.contains(char::is_whitespace);
        if self.is_aside {
            return;
        }
        self.note_unheard();
        let is_nod = columns(text) < NOD;
        let goes_on = |turn: &&mut Turn| {
            let works = turn.calls > 0 && matches!(turn.stop, None | Some(Stop::ToolUse));
            !turn.is_answered() && turn.is_begun() && (works || is_nod)
        };
        if let Some(turn) = self.turns.last_mut().filter(goes_on) {
            turn.more(text);
            return;
        }
        if let Some(last) = self.turns.last() {
            self.notes.heed(&last.request);
            let report = last.report.trim();
            if is_nod && last.is_answered() && asks(report) {
                self.notes.decided(report.lines().last().unwrap_or_default(), text);
            }
        }
        self.begin(Turn { entry: entry.to_owned(), request: text.to_owned(), ..Turn::default() });
    }

    fn begin(&mut self, turn: Turn) {
        self.has_moved = true;
        self.work.turn += 1;
        // Of a turn that is over only so much is ever shown.
        if let Some(last) = self.turns.last_mut() {
            last.request = ends(&last.request, 4 * BEFORE);
            last.report = ends(&last.report, 4 * BEFORE);
            last.said.clear();
        }
        if self.turns.len() == TURNS {
            self.turns.remove(1);
            self.dropped += 1;
        }
        self.turns.push(Turn { number: self.work.turn, ..turn });
    }

    fn assistant(&mut self, said: Assistant) {
        self.work.called(&said.calls);
        if self.is_aside {
            return;
        }
        if self.turns.is_empty() {
            self.turns.push(Turn::default());
        }
        self.has_moved |= said.stop == Stop::Done;
        if let Some(turn) = self.turns.last_mut() {
            turn.hear(said);
        }
    }

    /// An extension's message begins a turn if none is running, as the agents do with one that asks for
    /// a reply. In a turn it is material.
    fn extension(&mut self, entry: &str, kind: &str, text: &str) {
        let is_running = self.turns.last().is_some_and(|turn| !turn.is_answered());
        if is_running || text.trim().is_empty() {
            self.notes.note(&format!("Message of {kind}"), text);
            return;
        }
        self.is_aside = false;
        let (entry, request) = (entry.to_owned(), text.to_owned());
        self.begin(Turn { entry, request, sender: Some(kind.to_owned()), ..Turn::default() });
    }

    /// Makes an extension's message that nothing answered material.
    fn note_unheard(&mut self) {
        if let Some(turn) = self.turns.pop_if(|turn| turn.sender.is_some() && !turn.is_begun()) {
            self.notes.note(&format!("Message of {}", turn.sender.unwrap_or_default()), &turn.request);
        }
    }
}
