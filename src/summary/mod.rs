//! The built-in summary: the state of a session, in quotations from it.
//!
//! No model is called. [`extract`] reads the messages in parts, on several threads, and takes them in order. It
//! keeps a bounded part of them, so memory does not grow with the session; then it writes the sections of pi's
//! summaries. The reader must be able to continue the work, so the current request is quoted word for word.
//!
//! Only form counts, not the meaning of words: roles, tool names, flags, exit codes, the agents' own fixed
//! lines, paths, list marks, punctuation, and who spoke before whom. The summary lists what was observed, and
//! never calls a step done. A section for which nothing was found is `(none)`.
//!
//! ```text
//! message ── message::read ─┬─ turns  requests, replies, how they ended           ┐
//!                           ├─ work   tool calls: files, commands, open failures  ├─ page ── sections::write ── text
//!                           └─ notes  constraints, decisions, context             ┘
//! previous summary ── sections::read ── turns, points ────────────────────────────┘
//! ```
//!
//! All quoted text goes through `quote`, so that it cannot forge a section, and through `redact`, so that no
//! credential outlives its message. The caller adds file lists and the preamble of a branch summary.

mod budget;
mod quote;

mod message;
mod reading;
mod shell;

mod sections;
mod tool_calls;
mod turns;

mod page;

#[cfg(test)]
mod tests;

use crate::redact::Redactor;
use crate::session::Session;
use crate::session::read::entry_reader::{self, EntryReader};
use budget::{SHORT_REPLY, THREADS, TURNS};
use message::{Kind, Message, Stop};
use pisess_json::text::Text;
use pisess_store::workers::in_order;
use quote::{asks, columns, line};
use reading::Reading;
use sections::*;
use std::collections::VecDeque;
use std::io;
use tool_calls::Work;
use turns::{Notes, Turn};

/// What a summary is made from.
#[derive(Clone, Copy, Debug)]
pub struct Material<'a> {
    /// The messages to summarize.
    pub messages: &'a [entry_reader::Message],
    /// The beginning of a turn whose rest stays in the context.
    pub turn_prefix: &'a [entry_reader::Message],
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
pub fn extract<B: EntryReader>(
    material: &Material,
    session: &Session,
    workers: usize,
    bodies: impl Fn() -> B + Sync,
) -> io::Result<String> {
    let mut extract = Extract::new(material.previous_summary, material.instructions);
    extract.is_split = !material.turn_prefix.is_empty();
    extract.work.home =
        session.header.cwd.as_ref().map(Text::to_string_lossy).unwrap_or_default().into_owned();
    let messages: Vec<_> = material.messages.iter().chain(material.turn_prefix).collect();
    let mut entries = messages.iter().map(|message| session.id(message.entry));
    let reading = Reading { session, messages: messages.clone() };
    in_order(
        reading.parts(),
        workers.min(THREADS),
        |part| reading.read(part, &bodies()),
        |read| {
            for (message, entry) in read?.into_iter().zip(&mut entries) {
                extract.add(&entry.to_string_lossy(), message);
            }
            Ok::<(), io::Error>(())
        },
    )?;
    Ok(extract.finish())
}

/// A summary being made.
#[derive(Default)]
struct Extract {
    previous: Option<Previous>,
    turns: VecDeque<Turn>,
    work: Work,
    notes: Notes,
    redactor: Redactor,
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
    fn add(&mut self, entry: &str, Message { kind, mut text, mut calls }: Message) {
        self.redactor.clean(&mut text);
        let commands = calls.iter_mut().filter_map(|call| call.command.as_mut());
        commands.for_each(|command| self.redactor.clean(command));
        match kind {
            Kind::User => self.user(entry, text.trim()),
            Kind::Assistant(stop) => {
                self.work.pending = calls;
                if self.turns.is_empty() {
                    self.turns.push_back(Turn::default());
                }
                self.turns.back_mut().into_iter().for_each(|turn| turn.hear(&text, stop.clone()));
            }
            Kind::Result(end) => calls.into_iter().for_each(|call| {
                self.turns
                    .back_mut()
                    .into_iter()
                    .for_each(|turn| turn.calls += usize::from(!call.id.is_empty()));
                if let Some(question) = self.work.returned(call, end.clone(), &text) {
                    self.notes.decided(&question, &text);
                }
            }),
            Kind::OldResult | Kind::OldCalls => self.turns.back_mut().into_iter().for_each(|turn| {
                turn.calls += usize::from(matches!(kind, Kind::OldResult));
                turn.stop = Some(Stop::ToolUse);
            }),
            Kind::Extension(name) if !text.trim().is_empty() => {
                self.extension(entry, &line(&name, 60), &text)
            }
            Kind::CompactionSummary if self.previous.is_none() => self.go_on_from(&text),
            Kind::BranchSummary => {
                let branch = Previous::read(&text);
                let points = SECTIONS.iter().flat_map(|(section, ..)| branch.of(*section).map(str::to_owned));
                let request = branch.quoted(REQUEST).map(|(_, text)| text);
                let points: Vec<String> = request.chain(points).take(6).collect();
                self.notes.note("On another branch", &points.join("; "));
            }
            _ => {}
        }
    }

    fn finish(mut self) -> String {
        self.note_unheard();
        self.fold_alike();
        self.work.turn = self.turns.back().map_or(0, |turn| turn.number);
        let mut text = page::page(&self);
        self.redactor.clean(&mut text);
        self.redactor.clean_found(&mut text);
        text
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
        let last = self.turns.back_mut();
        let is_running = last.as_ref().is_some_and(|turn| turn.is_running());
        self.notes.add_binding(
            text,
            is_running || last.as_ref().is_some_and(|turn| turn.stop == Some(Stop::Interrupted)),
        );
        match last {
            Some(turn) if is_running || !turn.is_answered() && columns(text) < SHORT_REPLY => {
                return turn.more(text);
            }
            Some(turn) if turn.stop == Some(Stop::Asks) && !asks(text) => {
                self.notes.decided(turn.words(), text)
            }
            _ => {}
        }
        self.begin(entry, FROM_USER, text);
    }

    fn begin(&mut self, entry: &str, origin: &str, request: &str) {
        self.work.turn += 1;
        self.turns.back_mut().into_iter().for_each(Turn::end);
        self.fold_alike();
        if self.turns.len() == TURNS {
            self.turns.remove(1);
        }
        let origin = format!("{origin} (entry {})", line(entry, 60));
        let request = request.to_owned();
        self.turns.push_back(Turn { number: self.work.turn, origin, request, ..Turn::default() });
    }

    /// If the last turn is like an earlier one, keeps one of them, as the oldest: it is not what is being worked on.
    fn fold_alike(&mut self) {
        let Some(last) = self.turns.pop_back() else { return };
        match self.turns.iter().position(|turn| turn.is_alike(&last)).and_then(|at| self.turns.remove(at)) {
            Some(turn) => self.turns.push_front(Turn { repeats: turn.repeats + 1, ..turn }),
            None => self.turns.push_back(last),
        }
    }

    /// If no turn is running, begins one with an extension's message, as the agents do if it asks for a
    /// reply. During a turn, the message becomes a note.
    fn extension(&mut self, entry: &str, kind: &str, text: &str) {
        if self.turns.back().is_some_and(|turn| !turn.is_answered()) {
            self.notes.note(&format!("Message of {kind}"), text);
        } else {
            self.begin(entry, &format!("{SENT}{kind}"), text);
        }
    }

    /// Replaces the last turn with a note, if it is an extension's message without a reply.
    fn note_unheard(&mut self) {
        if self.turns.back().is_some_and(|turn| turn.is_sent() && turn.stop.is_none())
            && let Some(turn) = self.turns.pop_back()
        {
            let sender = turn.origin.trim_start_matches(SENT);
            self.notes.note(&format!("Message of {sender}"), &turn.request);
        }
    }
}
