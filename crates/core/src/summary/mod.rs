//! The built-in summary: the state of a session, in quotations from it.
//!
//! No model is called. [`extract`] takes the messages in order, and keeps a bounded part of them,
//! so memory does not grow with the session; then it writes the sections of pi's summaries. The
//! reader must be able to continue the work, so the current request is quoted word for word.
//!
//! Form counts, not the meaning of words: roles, tool names, flags, exit codes, the agents' own
//! fixed lines, paths, list marks, punctuation, and who spoke before whom; only for constraints
//! there is a list of words. The summary lists what was observed, and never calls a step done. A
//! section for which nothing was found is `(none)`.
//!
//! ```text
//! message ── message::read ─┬─ turns   requests, replies, how they ended           ┐
//!                           ├─ work    tool calls: files, commands, open failures  ├─ Extract::text ── Sections::write
//!                           └─ points  constraints, decisions, context             ┘
//! previous summary ── Sections::read ── turns, points ─────────────────────────────┘
//! ```
//!
//! All quoted text goes through `quote`, so that it cannot forge a section, and through `redact`,
//! so that no credential outlives its message. The caller adds file lists and the preamble of a
//! branch summary.

mod budget;
mod message;
mod page;
mod quote;
mod sections;
mod shell;
mod tool_calls;
mod turns;

#[cfg(test)]
mod tests;

use crate::agents::readable::{Folders, without_preamble};
use crate::redact::Redactor;
use crate::session::Session;
use crate::session::entry::Role;
use crate::session::read::entry_reader::{self, EntryReader, read_in_order};
use budget::{HELD, NEWEST, RECENT, SHORT_REPLY, WORDS};
use message::{Call, Message, Stop};
use quote::{asks, columns, ends, line, quoted};
use sections::*;
use std::io;
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

/// Returns the built-in summary. Results of tool calls are read in the newest messages only.
/// Secrets get the placeholders of `redactor`.
pub fn extract<'b>(
    material: &Material,
    session: &Session,
    redactor: Redactor,
    workers: usize,
    reader: impl Fn() -> EntryReader<'b> + Sync,
) -> io::Result<String> {
    let folders = Folders {
        cwd: session.header.cwd.as_ref(),
        home: None,
    };
    let mut extract = Extract {
        is_split: !material.turn_prefix.is_empty(),
        redactor,
        ..Extract::default()
    };
    material
        .previous_summary
        .into_iter()
        .for_each(|summary| extract.go_on_from(summary));
    let mut messages: Vec<_> = material
        .messages
        .iter()
        .chain(material.turn_prefix)
        .collect();
    let recent = messages.split_off(messages.len().saturating_sub(RECENT));
    messages.retain(|message| !session.is_message(message.entry, Role::ToolResult));
    messages.extend(recent);
    let take = |entry, message| extract.add(&session.id(entry).to_string_lossy(), message);
    read_in_order(
        &messages,
        workers,
        reader,
        |json| message::read(json, folders),
        take,
    )?;
    extract.note(
        "Asked of this summary",
        material.instructions.unwrap_or_default(),
    );
    Ok(extract.finish())
}

/// A summary being made.
#[derive(Default)]
struct Extract {
    /// What the previous summary and the user say beyond the requests.
    points: Sections,
    /// The current turn. What precedes the first request is a turn, too.
    turn: Turn,
    earlier: Vec<Turn>,
    work: Work,
    /// What failed and is still open, when all is read.
    failures: Vec<String>,
    redactor: Redactor,
    /// Whether the last turn continues after the summary.
    is_split: bool,
    /// Whether the user last gave a command to the agent itself, so that what follows is no reply
    /// to the request.
    is_aside: bool,
}

impl Extract {
    /// Adds the next message, with the id of its entry.
    fn add(&mut self, entry: &str, message: Message) {
        match message {
            Message::User(text) => {
                let text = self.clean(text);
                // A single word after a slash is a command to the agent itself.
                let is_command = text
                    .strip_prefix('/')
                    .is_some_and(|name| !name.contains(['/', ':']))
                    && text.split_whitespace().count() == 1;
                if is_command {
                    self.is_aside = !self.turn.request.is_empty();
                } else if !text.trim().is_empty() {
                    self.is_aside = false;
                    self.user(entry, text.trim());
                }
            }
            Message::Reply { text, stop, calls } => {
                let text = self.clean(text);
                let calls: Vec<_> = calls
                    .into_iter()
                    .map(|call| self.clean_call(call))
                    .collect();
                if !self.is_aside {
                    self.turn.hear(&text, stop);
                    self.turn.calls += calls.len();
                }
                self.work.pending = calls;
            }
            Message::Result {
                call,
                outcome,
                output,
            } => {
                let (output, call) = (self.clean(output), self.clean_call(call));
                let question = self.work.returned(call, outcome, &output);
                if !question.is_empty() {
                    self.points
                        .add(Section::Decisions, turns::decided(&question, &output));
                }
            }
            Message::Extension { kind, text } => {
                let text = self.clean(text);
                self.note(&format!("Message of {kind}"), &text);
            }
            Message::CompactionSummary(text) => {
                let text = self.clean(text);
                self.go_on_from(&text);
            }
            Message::BranchSummary(text) => {
                let branches = Sections::read(without_preamble(&self.clean(text))).of_branches();
                branches
                    .into_iter()
                    .for_each(|branch| self.points.add(Section::Context, branch));
            }
            Message::Other => {}
        }
    }

    /// Returns a text without its secrets.
    fn clean(&mut self, mut text: String) -> String {
        self.redactor.clean(&mut text);
        text
    }

    fn clean_call(&mut self, call: Call) -> Call {
        let [command, target, todo] =
            [call.command, call.target, call.todo].map(|text| self.clean(text));
        Call {
            command,
            target,
            todo,
            ..call
        }
    }

    fn finish(mut self) -> String {
        self.fold_alike();
        self.work.turn = self.turn.number;
        self.failures = self.work.failures(self.earlier.iter().chain([&self.turn]));
        let mut text = self.text();
        self.redactor.clean(&mut text);
        self.redactor.clean_found(&mut text);
        text
    }

    /// Restores the current request as a previous summary quotes it, and takes over its points.
    fn go_on_from(&mut self, summary: &str) {
        let previous = Sections::read(summary);
        if let Some((entry, request)) = previous.quoted(REQUEST) {
            let words = previous.quoted(LAST_WORDS).map(|(_, words)| words);
            let said = previous
                .after(SAID)
                .map(|said| said.trim_matches('"'))
                .chain(words);
            let is_answered = previous.after(REPLIED).next().is_some();
            self.turn = Turn {
                entry: entry.trim_end_matches(')').to_owned(),
                request: request.to_owned(),
                stop: if is_answered {
                    Stop::Done
                } else {
                    Stop::NoReply
                },
                said: said.map(str::to_owned).collect(),
                ..Turn::default()
            };
        }
        self.points = previous.taken_over();
    }

    /// Adds a user message: to the request that is being worked on, or as the next one.
    fn user(&mut self, entry: &str, text: &str) {
        let turn = &mut self.turn;
        let is_running = turn.stop == Stop::ToolUse || turn.stop == Stop::NoReply && turn.calls > 0;
        let is_nod = columns(text) < SHORT_REPLY && !turn.is_answered();
        if !turn.request.is_empty() && (is_running || is_nod) {
            return turn.more(text);
        }
        if turn.is_answered() && asks(turn.words()) && !asks(text) {
            self.points
                .add(Section::Decisions, turns::decided(turn.words(), text));
        }
        // An earlier request is shown short, and what was under way or next does not outlive it.
        turns::binding(&turn.request)
            .into_iter()
            .for_each(|part| self.points.add(Section::Constraints, part));
        turn.request = ends(&turn.request, WORDS);
        turn.said = vec![ends(turn.words(), WORDS)];
        self.points.of(Section::InProgress).clear();
        self.points.of(Section::NextSteps).clear();
        let goals = std::mem::take(self.points.of(Section::Goal));
        self.points.of(Section::Done).splice(..0, goals);
        self.fold_alike();
        self.work.turn += 1;
        let (entry, request) = (line(entry, 60), text.to_owned());
        let next = Turn {
            number: self.work.turn,
            entry,
            request,
            ..Turn::default()
        };
        let ended = std::mem::replace(&mut self.turn, next);
        self.earlier.extend(
            Some(ended).filter(|turn| !turn.request.is_empty() || !turn.words().is_empty()),
        );
        if self.earlier.len() > HELD {
            self.earlier.remove(1);
        }
    }

    /// If the turn is like an earlier one, keeps one of them, as the oldest: it is not what is
    /// being worked on.
    fn fold_alike(&mut self) {
        if let Some(at) = self
            .earlier
            .iter()
            .position(|turn| turn.is_alike(&self.turn))
        {
            self.earlier[at].repeats += 1;
            self.earlier[..=at].rotate_right(1);
            self.turn = self.earlier.pop().unwrap_or_default();
        }
    }

    /// Adds a quotation to the context, replacing an older one from the same source.
    fn note(&mut self, source: &str, text: &str) {
        let start = format!("{}: ", line(source, 80));
        self.points
            .of(Section::Context)
            .retain(|known| !known.starts_with(&start));
        if !text.trim().is_empty() {
            self.points
                .add(Section::Context, format!("{start}{}", quoted(text, NEWEST)));
        }
    }
}
