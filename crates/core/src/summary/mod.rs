//! The built-in summary: the state of a session, in quotations from it.
//!
//! No model is called. [`extract_summary`] takes the messages in order, and keeps a bounded part of
//! them, so memory does not grow with the session; then it writes the sections of pi's summaries.
//! The reader must be able to continue the work, so the current request is quoted word for word.
//!
//! Form counts more than the meaning of words: roles, tool names, flags, exit codes, the agents'
//! own fixed lines, paths, list marks, punctuation, and who spoke before whom. Lists of words exist
//! for what has no form: constraints, choices, deferrals and corrections of users, what replies
//! ask, offer, explain and take back, and failures in outputs. A rule by words should rather miss
//! something than report what nobody said. The summary lists what was observed, and never calls a
//! step done. A section for which nothing was found is `(none)`.
//!
//! ```text
//! message ── read_message ─┬─ turns        requests, replies, how they ended           ┐
//!                          ├─ tool_history tool calls: files, commands, open failures  ├─ write_page ── Sections::to_markdown
//!                          └─ points       constraints, decisions, context             ┘
//! previous summary ── Sections::parse ── turns, points ────────────────────────────────┘
//! ```
//!
//! Where to look for a rule:
//!
//! - what a message contains: `message`, `message_reader`, `call`, `called_commands`; what in it is
//!   not the user's: `host_text`, `documents`, `pasted_lines`, `pasted_terminal`, `stack_traces`
//! - what a request says: `prose` (own words), `clauses`, `wishes`, `choices`, `suggestions`,
//!   `deferrals`, `nods`, `rule_lists`, `languages`; to which list its numbers refer: `numbered`;
//!   what is kept of it: `lasting`, `listed_wishes`, and of a skill: `skills`; what takes it back:
//!   `revisions`, `values`, `counts`
//! - what a reply puts to the user: `questions`, `proposals`, `reply_lists`, `list_items`,
//!   `options`; how a decision quotes it: `proposal_quotes`, `referents`, `outcomes`
//! - decisions of the user: `decisions`, `decision_sources`, `tool_answers`, `approved_plans`; of
//!   the assistant: `own_choices`, `choice_sentences`, `choice_words`, `decision_lists`; what it
//!   found to be the cause of something: `causes`
//! - calls: `shell`, `literals`, `command_step`, `probes`, `tool_run`, `removals`, `todo_lists`,
//!   `reported_tasks`; what calls found that only look: `found`, `outlines`, `path_lists`; failures
//!   of calls: `failures`, `failure_points`, `failed_output`; what the user says to a failure:
//!   `reactions`, `put_off`, `given_up`; what the kept messages settle: `sequel`
//! - turns: `turns`, `ended_turns`, `repeats`, `weights`, `earlier`, `request_lengths`,
//!   `quoted_elsewhere`; quotations of them: `announcements`, `endings`, `answers`, `tables`,
//!   `one_line`, `long_paths`, `kept_ends`
//! - a previous summary: `previous`, `model_headings`; the new one: `page`, `sections`, `budget`
//!
//! All quoted text goes through `quote`, so that it cannot forge a section, and through `redact`,
//! so that no credential outlives its message. The caller adds file lists and the preamble of a
//! branch summary.

mod announcements;
mod answers;
mod approved_plans;
mod budget;
mod builder;
mod call;
mod called_commands;
mod causes;
mod choice_sentences;
mod choice_words;
mod choices;
mod clauses;
mod command_step;
mod commits;
mod condense;
mod counts;
mod cut;
mod decision;
mod decision_lists;
mod decision_sources;
mod decisions;
mod deferrals;
mod documents;
mod earlier;
mod ended_turns;
mod endings;
mod failed_output;
mod failure_points;
mod failures;
mod fitting;
mod found;
mod given_up;
mod goal;
mod host_text;
mod input;
mod kept_ends;
mod languages;
mod last_calls;
mod lasting;
mod list_items;
mod listed_wishes;
mod literals;
mod long_paths;
mod message;
mod message_reader;
mod model_headings;
mod nods;
mod numbered;
mod one_line;
mod options;
mod outcomes;
mod outlines;
mod own_choices;
mod page;
mod pasted_lines;
mod pasted_terminal;
mod path_changes;
mod path_lists;
mod previous;
mod probes;
mod progress;
mod proposal_quotes;
mod proposals;
mod prose;
mod purpose;
mod put_off;
mod questions;
mod quote;
mod quoted_elsewhere;
mod reactions;
mod referents;
mod removals;
mod repeats;
mod reply_lists;
mod reported_failures;
mod reported_tasks;
mod request_lengths;
mod revisions;
mod rule_lists;
mod secrets;
mod sections;
mod sequel;
mod shell;
mod skills;
mod stack_traces;
mod suggestions;
mod tables;
mod todo_lists;
mod tool_answers;
mod tool_calls;
mod tool_run;
mod turns;
mod user_quotes;
mod values;
mod weights;
mod wishes;
mod words;
mod written;

#[cfg(test)]
mod tests;

use crate::agents::readable::Folders;
use crate::redact::{Redactor, SecretSearch};
use crate::session::Session;
use crate::session::entry::Role;
use crate::session::read::entry_reader::{ContextMessage, EntryReader, read_in_order};
use budget::RECENT;
use builder::SummaryBuilder;
use call::CallUse;
pub use failed_output::failure_reason;
pub use input::{SummaryExtent, SummaryInput, SummarySubject};
use message::{SummaryMessage, is_agent_command};
use pisess_json::Raw;
pub use removals::Removals;
use sequel::Sequel;
use std::io;

/// A summary, and what else is known of the messages.
#[derive(Clone, Debug)]
pub struct BuiltinSummary {
    /// Its text, in Markdown.
    pub text: String,
    /// The paths that the messages removed.
    pub removals: Removals,
}

/// Returns the built-in summary. Results of tool calls are read in the newest messages only.
/// Secrets get the placeholders of `redactor`.
pub fn extract_summary<'b>(
    input: &SummaryInput,
    session: &Session,
    redactor: Redactor,
    workers: usize,
    reader: impl Fn() -> EntryReader<'b> + Sync,
) -> io::Result<BuiltinSummary> {
    let cwd = session.header.cwd.as_ref();
    let folders = Folders { cwd, home: None };
    let mut builder = begin_summary(input, session, redactor);
    let MessagesToRead {
        messages,
        first_with_calls,
    } = MessagesToRead::choose(input, session);

    // The search for secrets takes most of the time, so the threads that read messages also search
    // them. Placeholders are numbered afterwards, in the order of the messages.
    let rules = SecretSearch::default();
    read_in_order(
        &messages,
        workers,
        &reader,
        |index, json| {
            let call_use = if index < first_with_calls {
                CallUse::Count
            } else {
                CallUse::Show
            };
            let message = message_reader::read_message(json, folders, call_use);
            SearchedMessage::new(message, call_use, &rules)
        },
        |entry, message| builder.add_searched(&session.id(entry).to_string_lossy(), message),
    )?;

    let kept: Vec<&ContextMessage> = input.kept.iter().take(RECENT).collect();
    read_in_order(
        &kept,
        workers,
        reader,
        |_, json| message_reader::read_message(json, folders, CallUse::Show),
        |_, message| builder.sequel.add(message),
    )?;

    builder.add_instructions(input.instructions.unwrap_or_default());
    Ok(builder.finish())
}

/// Returns a builder that has read no message yet, only the previous summary.
fn begin_summary(input: &SummaryInput, session: &Session, redactor: Redactor) -> SummaryBuilder {
    let is_split = !input.turn_prefix.is_empty();
    let cwd = session.header.cwd.as_ref();
    let mut builder = SummaryBuilder {
        is_split,
        sequel: Sequel::after_cut(is_split),
        subject: input.subject,
        extent: input.extent,
        redactor,
        cwd: cwd
            .map(|cwd| cwd.to_string_lossy().into_owned())
            .unwrap_or_default(),
        ..SummaryBuilder::default()
    };
    if let Some(summary) = input.previous_summary {
        builder.add_previous_summary(summary);
    }
    builder
}

/// The messages that a summary reads.
struct MessagesToRead<'m> {
    /// The messages, oldest first.
    messages: Vec<&'m ContextMessage>,
    /// The index in `messages` of the first one whose calls are shown. Calls in messages before it
    /// are only counted.
    first_with_calls: usize,
}

impl<'m> MessagesToRead<'m> {
    /// Chooses which messages of the input to read: all but the results of tool calls that are not
    /// among the newest [`RECENT`] messages. Results are long, and only the newest calls are shown.
    ///
    /// A call is shown with its result. So of the older replies, only the last has calls to show:
    /// its results can be among the newest messages.
    fn choose(input: &SummaryInput<'m>, session: &Session) -> MessagesToRead<'m> {
        let all: Vec<&ContextMessage> = input.messages.iter().chain(input.turn_prefix).collect();
        let (older, newest) = all.split_at(all.len().saturating_sub(RECENT));

        let mut messages = Vec::with_capacity(all.len());
        let mut first_with_calls = 0;
        for &message in older {
            if session.is_message(message.entry, Role::ToolResult) {
                continue;
            }
            if session.is_message(message.entry, Role::Assistant) {
                first_with_calls = messages.len();
            }
            messages.push(message);
        }
        messages.extend(newest);
        MessagesToRead {
            messages,
            first_with_calls,
        }
    }
}

/// A message, and whether the rules find a secret in it.
struct SearchedMessage {
    message: SummaryMessage,
    has_secrets: bool,
}

impl SearchedMessage {
    /// Searches a message for secrets. What the summary does not need of one without secrets is
    /// dropped here: on the thread that read it, because memory that another thread frees makes
    /// both wait for the allocator. A message with secrets is kept whole: the redactor numbers all
    /// of them, in the order of the messages.
    fn new(
        mut message: SummaryMessage,
        call_use: CallUse,
        rules: &SecretSearch,
    ) -> SearchedMessage {
        let has_secrets = message
            .redacted_texts_mut()
            .into_iter()
            .any(|text| rules.search_text(text).is_some());
        if !has_secrets {
            message.drop_transition();
            if call_use == CallUse::Count {
                message.drop_calls();
            }
        }
        SearchedMessage {
            message,
            has_secrets,
        }
    }
}

/// Whether a message is a request of the user: not a command to the agent itself, and not one that
/// the agent wrote.
pub fn is_request(message: Raw) -> bool {
    let no_folders = Folders {
        cwd: None,
        home: None,
    };
    match message_reader::read_message(message, no_folders, CallUse::Count) {
        SummaryMessage::User(text) | SummaryMessage::Skill { request: text, .. } => {
            !text.trim().is_empty() && !is_agent_command(&text)
        }
        SummaryMessage::Command(_) => true,
        _ => false,
    }
}
