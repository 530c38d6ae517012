//! The built-in summary: the state of a session, in quotations from it.
//!
//! No model is called. [`extract`] reads the messages in parts, on several threads, and takes them in order. It
//! keeps a bounded part of them, so memory does not grow with the session; then it writes the sections of pi's
//! summaries. The reader must be able to continue the work, so the current request is quoted word for word.
//!
//! Only form counts, not the meaning of words: roles, tool names, flags, exit codes, the agents' own fixed
//! lines, paths, list marks, question and exclamation marks. The summary lists what was observed, and never
//! calls a step done. A section for which nothing was found is `(none)`.
//!
//! ```text
//! message ── message::read ─┬─ turns  requests, replies, how they ended           ┐
//!                           ├─ work   tool calls: files, commands, open failures  ├─ page ── sections::write ── text
//!                           └─ notes  constraints, decisions, context             ┘
//! previous summary ── sections::read ── turns, points ────────────────────────────┘
//! ```
//!
//! All quoted text goes through `quote`, so that it cannot forge a section. The caller adds file lists and
//! the preamble of a branch summary.

mod budget;
mod quote;

mod message;
mod reading;
mod shell;

mod sections;
mod turns;
mod work;

mod page;

#[cfg(test)]
mod tests;

use super::bodies::{self, Bodies};
use super::session::Session;
use super::workers::in_order;
use budget::{NOD, THREADS, TURNS};
use message::{Message, Stop};
use quote::{columns, line};
use reading::{Reading, Use};
use sections::*;
use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use turns::{Notes, Turn};
use work::Work;

/// What a summary is made from.
#[derive(Clone, Copy, Debug)]
pub struct Material<'a> {
    /// The messages to summarize.
    pub messages: &'a [bodies::Message],
    /// The beginning of a turn whose rest stays in the context.
    pub turn_prefix: &'a [bodies::Message],
    /// The previous summary, to be merged.
    pub previous_summary: Option<&'a str>,
    /// What the summary should focus on.
    pub instructions: Option<&'a str>,
}

/// Returns the built-in summary. The newest messages are read in full; of older ones, tool calls and their
/// results are only counted. The messages are read on `workers` threads, which call `bodies`.
///
/// # Errors
/// If a line cannot be read.
pub fn extract<B: Bodies>(
    material: &Material,
    session: &Session,
    workers: usize,
    bodies: impl Fn() -> B + Sync,
) -> io::Result<String> {
    let mut extract = Extract::new(material.previous_summary, material.instructions);
    let messages = material.messages.iter().chain(material.turn_prefix).collect();
    let reading = Reading { session, messages };
    let read = |part: Range<usize>| (part.clone(), reading.read(part, &bodies()));
    in_order(reading.parts(), workers.min(THREADS), read, |(part, read)| {
        let mut read = read?.into_iter();
        for at in part {
            match reading.of(at) {
                Use::Read => {
                    let entry = session.id(reading.messages[at].entry);
                    read.next()
                        .into_iter()
                        .for_each(|message| extract.add(&entry.to_string_lossy(), message));
                }
                Use::Result => extract.pass_over(true),
                Use::Calls => extract.pass_over(false),
            }
        }
        Ok::<(), io::Error>(())
    })?;
    extract.is_split = !material.turn_prefix.is_empty();
    Ok(extract.finish())
}

/// A summary being made.
#[derive(Debug, Default)]
struct Extract {
    previous: Option<Previous>,
    turns: VecDeque<Turn>,
    work: Work,
    notes: Notes,
    /// Whether the last turn continues after the summary.
    is_split: bool,
}

impl Extract {
    fn new(previous: Option<&str>, instructions: Option<&str>) -> Self {
        let mut extract = Extract::default();
        extract.notes.note("Asked of this summary", instructions.unwrap_or_default());
        previous.into_iter().for_each(|summary| extract.go_on_from(summary));
        extract
    }

    /// Adds the next message, with the id of its entry.
    fn add(&mut self, entry: &str, message: Message) {
        match message {
            Message::User(text) => self.user(entry, text.trim()),
            Message::Assistant(text, calls, stop) => {
                self.work.called(calls);
                let mut turn = self.turns.pop_back().unwrap_or_default();
                turn.hear(text, stop);
                self.turns.push_back(turn);
            }
            Message::Result(id, call, end, text) => {
                self.turns.back_mut().into_iter().for_each(|turn| turn.calls += usize::from(!id.is_empty()));
                if let Some(question) = self.work.returned(&id, call, end, &text) {
                    self.notes.decided(&question, &text);
                }
            }
            Message::Extension(kind, text) if !text.trim().is_empty() => self.extension(entry, &kind, &text),
            Message::CompactionSummary(summary) if self.previous.is_none() => self.go_on_from(&summary),
            Message::BranchSummary(summary) => {
                let branch = Previous::read(&summary);
                let points = SECTIONS.iter().flat_map(|(section, ..)| branch.of(*section).map(str::to_owned));
                let request = branch.quoted(REQUEST).map(|(_, text)| text);
                self.notes
                    .note("On another branch", &request.chain(points).take(6).collect::<Vec<_>>().join("; "));
            }
            _ => {}
        }
    }

    /// Counts a message that is not read: the result of a call, or a reply with calls.
    fn pass_over(&mut self, is_result: bool) {
        if let Some(turn) = self.turns.back_mut() {
            turn.calls += usize::from(is_result);
            turn.stop = Some(Stop::ToolUse);
        }
    }

    fn finish(mut self) -> String {
        self.note_unheard();
        self.turns.iter_mut().for_each(Turn::cut);
        page::page(&self)
    }

    /// Restores what a previous summary quotes: the current request, and the one before it.
    fn go_on_from(&mut self, summary: &str) {
        let previous = Previous::read(summary);
        let words = |lead| previous.quoted(lead).map(|(_, text)| text).next().unwrap_or_default();
        if let Some((_, request)) = previous.quoted(BEFORE).next() {
            self.turns.push_back(Turn { request, said: vec![words(WORDS_BEFORE)], ..Turn::default() });
        }
        if let Some((origin, request)) = previous.quoted(REQUEST).next() {
            let said = previous.after(SAID).map(|said| said.trim_matches('"').to_owned());
            let said = said.chain([words(LAST_WORDS)]).collect();
            let stop = previous.after(REPLIED).next().map(|_| Stop::Done);
            self.turns.push_back(Turn { origin, request, said, stop, ..Turn::default() });
        }
        self.previous = Some(previous);
    }

    fn user(&mut self, entry: &str, text: &str) {
        // A single word after a slash is a command to the agent itself.
        if text.is_empty() || text.starts_with('/') && !text.contains(char::is_whitespace) {
            return;
        }
        self.note_unheard();
        let goes_on = |turn: &&mut Turn| {
            let works = turn.stop == Some(Stop::ToolUse) || turn.stop.is_none() && turn.calls > 0;
            works || !turn.is_answered() && columns(text) < NOD
        };
        if let Some(turn) = self.turns.back_mut().filter(goes_on) {
            turn.more(text);
            return;
        }
        self.turns.back().into_iter().for_each(|turn| self.notes.heed(&turn.request));
        self.begin(entry, FROM_USER, text);
    }

    fn begin(&mut self, entry: &str, origin: &str, request: &str) {
        self.work.turn += 1;
        self.turns.back_mut().into_iter().for_each(Turn::end);
        if self.turns.len() == TURNS {
            self.turns.remove(1);
        }
        let origin = format!("{origin} (entry {})", line(entry, 60));
        self.turns.push_back(Turn { origin, request: request.to_owned(), ..Turn::default() });
    }

    /// If no turn is running, begins one with an extension's message, as the agents do if it asks for a
    /// reply. During a turn, the message becomes a note.
    fn extension(&mut self, entry: &str, kind: &str, text: &str) {
        if self.turns.back().is_some_and(|turn| !turn.is_answered()) {
            self.notes.note(&format!("Message of {kind}"), text);
        } else {
            self.begin(entry, &format!("{SENT}{}", line(kind, 60)), text);
        }
    }

    /// Replaces the last turn with a note, if it is an extension's message without a reply.
    fn note_unheard(&mut self) {
        let is_unheard =
            |turn: &&Turn| turn.origin.starts_with(SENT) && turn.stop.is_none() && turn.words().is_empty();
        if self.turns.back().filter(is_unheard).is_some()
            && let Some(turn) = self.turns.pop_back()
        {
            self.turns.back_mut().into_iter().for_each(Turn::cut);
            let sender = turn.origin.trim_start_matches(SENT);
            self.notes.note(&format!("Message of {sender}"), &turn.request);
        }
    }
}
