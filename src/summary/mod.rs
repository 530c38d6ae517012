//! The built-in summary: the state of a session, in quotations from it.
//!
//! No model is called. [`extract`] reads the messages in parts, on several threads, and takes them in order. It
//! keeps a bounded part of them, so memory does not grow with the session; then it writes the sections of pi's
//! summaries. The reader must be able to continue the work, so the current request is quoted word for word.
//!
//! Form counts, not the meaning of words: roles, tool names, flags, exit codes, the agents' own fixed lines, paths,
//! list marks, punctuation, and who spoke before whom; only for constraints there is a list of words. The summary lists what was observed, and
//! never calls a step done. A section for which nothing was found is `(none)`.
//!
//! ```text
//! message ── message::read ─┬─ turns   requests, replies, how they ended           ┐
//!                           ├─ work    tool calls: files, commands, open failures  ├─ page ── sections::write ── text
//!                           └─ points  constraints, decisions, context             ┘
//! previous summary ── Points::read ── turns, points ───────────────────────────────┘
//! ```
//!
//! All quoted text goes through `quote`, so that it cannot forge a section, and through `redact`, so that no
//! credential outlives its message. The caller adds file lists and the preamble of a branch summary.

mod budget;
mod quote;

mod message;
mod shell;

mod sections;
mod tool_calls;
mod turns;

mod page;

#[cfg(test)]
mod tests;

use crate::redact::Redactor;
use crate::session::Session;
use crate::session::entry::Role;
use crate::session::read::entry_reader::{self, EntryReader};
use budget::{PART, POINT, RECENT, SHORT_REPLY, TURNS};
use message::{Kind, Message, Stop};
use page::Page;
use pisess_json::text::Text;
use pisess_store::workers::in_order;
use quote::{asks, columns, line, quoted};
use sections::*;
use std::io;
use std::ops::Range;
use tool_calls::Work;
use turns::Turn;

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

/// Returns the built-in summary. Results of tool calls are read in the newest messages, and counted in older ones.
/// The messages are read on `workers` threads, which call `bodies`. Secrets get the placeholders of `redactor`.
pub fn extract<B: EntryReader>(
    material: &Material,
    session: &Session,
    redactor: Redactor,
    workers: usize,
    bodies: impl Fn() -> B + Sync,
) -> io::Result<String> {
    let mut extract = Extract::new(material.previous_summary, material.instructions);
    extract.redactor = redactor;
    extract.is_split = !material.turn_prefix.is_empty();
    extract.work.home =
        session.header.cwd.as_ref().map(Text::to_string_lossy).unwrap_or_default().into_owned();
    let messages: Vec<_> = material.messages.iter().chain(material.turn_prefix).collect();
    let is_counted =
        |at: usize| at + RECENT < messages.len() && session.is_message(messages[at].entry, Role::ToolResult);
    let read = |part: Range<usize>| {
        let bodies = bodies();
        let one = |at: usize| {
            if is_counted(at) {
                Ok(Message { kind: Kind::OldResult, ..Message::default() })
            } else {
                messages[at].with(&bodies, message::read)
            }
        };
        part.map(|at| Ok((messages[at].entry, one(at)?))).collect::<io::Result<Vec<_>>>()
    };
    let parts = (0..messages.len()).step_by(PART).map(|at| at..(at + PART).min(messages.len()));
    in_order(parts, workers, read, |part| {
        part?
            .into_iter()
            .for_each(|(entry, message)| extract.add(&session.id(entry).to_string_lossy(), message));
        Ok::<(), io::Error>(())
    })?;
    Ok(extract.finish())
}

/// A summary being made.
#[derive(Default)]
struct Extract {
    /// What the previous summary and the user say beyond the requests.
    points: Points,
    turns: Vec<Turn>,
    work: Work,
    redactor: Redactor,
    /// Whether the last turn continues after the summary.
    is_split: bool,
}

impl Extract {
    fn new(previous: Option<&str>, instructions: Option<&str>) -> Self {
        let mut extract = Extract::default();
        previous.into_iter().for_each(|summary| extract.go_on_from(summary));
        extract.note("Asked of this summary", instructions.unwrap_or_default());
        extract
    }

    /// Adds the next message, with the id of its entry.
    fn add(&mut self, entry: &str, Message { kind, mut text, mut calls }: Message) {
        self.redactor.clean(&mut text);
        let commands = calls.iter_mut().filter_map(|call| call.command.as_mut());
        commands.for_each(|command| self.redactor.clean(command));
        match kind {
            Kind::User => self.user(entry, text.trim()),
            Kind::Extension(name) if !text.trim().is_empty() => {
                self.extension(entry, &line(&name, 60), &text)
            }
            Kind::Assistant(stop) => {
                self.work.pending = calls;
                self.turn().hear(&text, stop);
            }
            Kind::Result(end) => calls.into_iter().for_each(|call| {
                self.turn().calls += usize::from(!call.id.is_empty());
                if let Some(question) = self.work.returned(call, end.clone(), &text) {
                    self.points.add(Section::Decisions, turns::decided(&question, &text));
                }
            }),
            Kind::OldResult => self.turn().calls += 1,
            Kind::CompactionSummary if self.turns.is_empty() => self.go_on_from(&text),
            Kind::BranchSummary => {
                let branch = Points::read(&text);
                let request = branch.quoted(REQUEST).map(|(_, text)| text);
                let points = SECTIONS.iter().flat_map(|(section, ..)| branch.of(*section).map(str::to_owned));
                self.note(
                    "On another branch",
                    &request.into_iter().chain(points).take(6).collect::<Vec<_>>().join("; "),
                );
            }
            _ => {}
        }
    }

    fn finish(mut self) -> String {
        self.note_unheard();
        self.fold_alike();
        self.work.turn = self.turn().number;
        let mut text = Page::new(&self, &self.turns[self.turns.len() - 1]).text();
        self.redactor.clean(&mut text);
        self.redactor.clean_found(&mut text);
        text
    }

    /// Returns the current turn. What precedes the first request is a turn, too.
    fn turn(&mut self) -> &mut Turn {
        if self.turns.is_empty() {
            self.turns.push(Turn::default());
        }
        self.turns.last_mut().expect("it was added if there was none")
    }

    /// Restores what a previous summary quotes: the current request, and the one before it.
    fn go_on_from(&mut self, summary: &str) {
        let previous = Points::read(summary);
        let words = |lead| previous.quoted(lead).map(|(_, text)| text).unwrap_or_default();
        if let Some((_, request)) = previous.quoted(BEFORE) {
            self.turns.push(Turn { request, said: vec![words(WORDS_BEFORE)], ..Turn::default() });
        }
        if let Some((origin, request)) = previous.quoted(REQUEST) {
            let said = previous.after(SAID).map(|said| said.trim_matches('"').to_owned());
            let said = said.chain([words(LAST_WORDS)]).collect();
            let stop = previous.after(REPLIED).next().map(|_| Stop::Done);
            self.turns.push(Turn { origin, request, said, stop, ..Turn::default() });
        }
        self.points.0.splice(..0, previous.taken_over().0);
    }

    fn user(&mut self, entry: &str, text: &str) {
        // A single word after a slash is a command to the agent itself.
        if text.is_empty() || text.starts_with('/') && !text.contains(char::is_whitespace) {
            return;
        }
        self.note_unheard();
        turns::binding(text).into_iter().for_each(|part| self.points.add(Section::Constraints, part));
        match self.turns.last_mut() {
            Some(turn) if turn.is_running() || !turn.is_answered() && columns(text) < SHORT_REPLY => {
                return turn.more(text);
            }
            Some(turn) if turn.stop == Some(Stop::Asks) && !asks(text) => {
                self.points.add(Section::Decisions, turns::decided(turn.words(), text));
            }
            _ => {}
        }
        self.begin(entry, FROM_USER, text);
    }

    /// Begins a turn. What was under way or next before does not outlive it.
    fn begin(&mut self, entry: &str, origin: &str, request: &str) {
        self.work.turn += 1;
        self.points.0.retain(|(section, _)| !matches!(section, Section::InProgress | Section::NextSteps));
        let goals = self.points.0.iter_mut().filter(|(section, _)| *section == Section::Goal);
        goals.for_each(|(section, _)| *section = Section::Done);
        self.turns.last_mut().into_iter().for_each(Turn::end);
        self.fold_alike();
        if self.turns.len() == TURNS {
            self.turns.remove(1);
        }
        let origin = format!("{origin} (entry {})", line(entry, 60));
        let request = request.to_owned();
        self.turns.push(Turn { number: self.work.turn, origin, request, ..Turn::default() });
    }

    /// If the last turn is like an earlier one, keeps one of them, as the oldest: it is not what is being worked on.
    fn fold_alike(&mut self) {
        let Some((last, before)) = self.turns.split_last() else { return };
        if let Some(at) = before.iter().position(|turn| turn.is_alike(last)) {
            self.turns.pop();
            self.turns[at].repeats += 1;
            self.turns[..=at].rotate_right(1);
        }
    }

    /// If no turn is running, begins one with an extension's message, as the agents do if it asks for a
    /// reply. During a turn, the message becomes a note.
    fn extension(&mut self, entry: &str, kind: &str, text: &str) {
        if self.turns.last().is_some_and(|turn| !turn.is_answered()) {
            self.note(&format!("Message of {kind}"), text);
        } else {
            self.begin(entry, &format!("{SENT}{kind}"), text);
        }
    }

    /// Replaces the last turn with a note, if it is an extension's message without a reply.
    fn note_unheard(&mut self) {
        if let Some(turn) = self.turns.pop_if(|turn| turn.is_sent() && turn.stop.is_none()) {
            self.note(&format!("Message of {}", turn.origin.trim_start_matches(SENT)), &turn.request);
        }
    }

    /// Adds a quotation to the context, replacing an older one from the same source.
    fn note(&mut self, source: &str, text: &str) {
        let start = format!("{}: ", line(source, 80));
        self.points.0.retain(|(_, known)| !known.starts_with(&start));
        if !text.trim().is_empty() {
            self.points.add(Section::Context, format!("{start}{}", quoted(text, POINT)));
        }
    }
}
