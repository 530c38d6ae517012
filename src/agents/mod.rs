//! The agents: a trait, and a type for each agent.
//!
//! What an agent computes from a session is reached through [`Dialect::agent`]; other code matches on the
//! dialect only to detect, locate, lock, move or convert files. What both agents compute alike is in the callers
//! of the trait; the rest is in [`crate::agents::pi`] and [`crate::agents::oh_my_pi`].

pub mod stores;

pub mod prepare;
pub mod prompt;

mod constants;

pub mod row;

pub mod pi;

pub mod oh_my_pi;

pub mod readable;

pub mod convert;
pub mod request;

pub use constants::{Constants, WirePolicy};
pub use oh_my_pi::agent::OhMyPi;
pub use pi::agent::Pi;

use crate::agents::prepare::{FileLists, FileOps, FirstKept, Preparation};
use crate::agents::prompt::{Instructions, Segment, merge, segments};
use crate::agents::row::search::Query;
use crate::session::column::Parts;
use crate::session::defect::{FindingKind, Severity};
use crate::session::dialect::Dialect;
use crate::session::entry::{Entry, EntryIx, Kind};
use crate::session::read::entry_reader::{Context, EntryReader, Message};
use crate::session::read::record::{Block, MessageFacts, Typed};
use crate::session::tree::Tree;
use crate::session::{Format, Session};
use foldhash::HashMap;
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_json::write::{Object, texts};
use std::io::{self, Write};

impl Dialect {
    /// Returns the agent of these files.
    pub fn agent(self) -> &'static dyn Agent {
        match self {
            Dialect::Pi => &Pi,
            Dialect::OhMyPi => &OhMyPi,
        }
    }
}

impl Session {
    /// Returns the agent of the session.
    pub fn agent(&self) -> &'static dyn Agent {
        self.dialect.agent()
    }
}

/// What an agent computes from its sessions. Methods that read bodies fail if a line cannot be read.
#[allow(clippy::missing_errors_doc)]
pub trait Agent: Sync {
    /// Returns what is always the same.
    fn constants(&self) -> &'static Constants;

    /// Appends the text of an entry's row in the tree; for a tool result, without its call.
    fn push_row(&self, typed: &Typed, row: &mut Vec<u8>) -> Parts;

    /// Returns the text of an entry that the agent's search covers, without the label.
    fn searchable(&self, typed: &Typed) -> Text<'static>;

    /// Returns the row of the result of a tool call.
    fn call_row(&self, name: &Text, arguments: Raw, home: Option<&Text>) -> Text<'static>;

    /// Whether the agent's tree hides this assistant message unless it is the leaf.
    fn is_silent(&self, message: &MessageFacts, blocks: &[Block]) -> bool;

    /// Whether the entry is a request of the user.
    fn is_user_request(&self, typed: &Typed) -> bool;

    /// Whether navigating to a custom message puts its text into the editor.
    fn edits_custom_message(&self, entry: &Entry) -> bool;

    /// Whether an entry of this type may be older than its parent.
    fn backdates(&self, kind: Kind) -> bool;

    /// Returns the name that the agent stores if the user gives this one.
    fn stored_name(&self, given: &str) -> Text<'static>;

    /// Returns the entry that names the session; an empty name clears it. `previous` is the name before.
    fn name_entry(&self, name: &Text, previous: Option<&Text>) -> Object;

    /// Returns the line before the header that holds a name given by the user, if the agent has such a line.
    fn title_line(&self, name: &Text, timestamp: &str) -> Option<Vec<u8>>;

    /// Returns the entry that changes the model.
    fn model_entry(&self, provider: &Text, model: &Text) -> Object;

    /// Returns the entry that changes the thinking level.
    fn thinking_entry(&self, level: &Text) -> Object;

    /// Returns the severity of a defect for this agent, and its consequence. `grave` selects the defect's
    /// most harmful case.
    fn weight(&self, kind: FindingKind, format: Format, grave: bool) -> (Severity, &'static str);

    /// Returns a search for what the user `typed`, if the agent's search is fuzzy.
    fn fuzzy_search(&self, typed: &str) -> Option<Query>;

    /// Returns the context of its model at the end of `path`.
    fn context(&self, session: &Session, path: &[EntryIx], bodies: &dyn EntryReader) -> io::Result<Context>;

    /// Converts messages for the model, and calls `emit` with the JSON of each.
    fn for_model(
        &self,
        messages: &[Message],
        bodies: &dyn EntryReader,
        emit: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()>;

    /// Writes the transcript that its summarizer reads.
    fn transcript(
        &self,
        session: &Session,
        messages: &[Message],
        bodies: &dyn EntryReader,
        out: &mut dyn Write,
    ) -> io::Result<()>;

    /// Returns its estimate of the context at the end of `path`, in tokens, as it stores it in
    /// `tokensBefore`.
    fn tokens(&self, session: &Session, path: &[EntryIx], bodies: &dyn EntryReader) -> io::Result<f64>;

    /// Returns its estimate of one message, in tokens.
    fn message_tokens(&self, message: Raw) -> u64;

    /// Returns the estimate of [`Agent::tokens`] at each of `tips` (and perhaps at other entries), in time proportional
    /// to the size of the file, not of the paths; tips that would take longer are omitted.
    fn sizes(
        &self,
        session: &Session,
        tree: &Tree,
        tips: &[EntryIx],
        bodies: &dyn EntryReader,
    ) -> io::Result<HashMap<EntryIx, f64>>;

    /// Returns what a compaction at the end of `path` would summarize; `None` if there is nothing.
    fn prepare_compaction(
        &self,
        session: &Session,
        path: &[EntryIx],
        bodies: &dyn EntryReader,
        keep_recent_tokens: u64,
        first_kept: Option<FirstKept>,
    ) -> io::Result<Option<Preparation>>;

    /// Returns the entries above a compaction, the last entry of `path`, that contexts below it and the next compaction
    /// use, other than what extensions have stored.
    fn used_above(
        &self,
        session: &Session,
        path: &[EntryIx],
        bodies: &dyn EntryReader,
    ) -> io::Result<Vec<EntryIx>>;

    /// Returns the input for a branch summary of `entries`.
    fn prepare_branch(
        &self,
        session: &Session,
        entries: &[EntryIx],
        bodies: &dyn EntryReader,
    ) -> io::Result<(Vec<Message>, FileOps)>;

    /// Returns the system message for a compaction at the end of `path`, if the agent stores one. Its
    /// timestamp is 0; the caller sets it to that of the compaction.
    fn checkpoint(
        &self,
        session: &Session,
        path: &[EntryIx],
        bodies: &dyn EntryReader,
    ) -> io::Result<Option<Vec<u8>>>;

    /// Returns the files that a summary's `details` list: those that the agent itself lists.
    fn files(&self, ops: &FileOps) -> FileLists;

    /// Returns the text of a compaction as the agent stores it: the summary and the files.
    fn compaction_text(&self, summary: Text<'static>, ops: &FileOps) -> Text<'static>;

    /// Returns the text of a branch summary as the agent stores it: its preamble, the summary and the files.
    fn branch_text(&self, summary: &Text, ops: &FileOps) -> Text<'static> {
        let mut text = Text::from(self.constants().branch_preamble).into_owned();
        text.push(summary);
        self.compaction_text(text, ops)
    }

    /// Returns the text that navigating to the entry puts into the editor.
    fn draft_text(
        &self,
        session: &Session,
        bodies: &dyn EntryReader,
        ix: EntryIx,
    ) -> io::Result<Text<'static>>;

    /// Returns the summary that a new one continues: that of the compaction in effect and, in oh-my-pi, the
    /// text archived with it.
    fn previous_summary(
        &self,
        preparation: &Preparation,
        bodies: &dyn EntryReader,
    ) -> io::Result<Option<Text<'static>>>;
}

/// Returns the prompts of a compaction, in the order in which they are sent: one, or two for a split turn.
///
/// # Errors
/// If a line cannot be read.
pub fn compaction_prompts(
    session: &Session,
    preparation: &Preparation,
    instructions: &Instructions,
    bodies: &dyn EntryReader,
) -> io::Result<Vec<Vec<u8>>> {
    let agent = session.agent();
    let previous = agent.previous_summary(preparation, bodies)?;
    let prompt = |&segment: &Segment| {
        let messages = match segment {
            Segment::History => &preparation.messages_to_summarize,
            Segment::TurnPrefix => &preparation.turn_prefix_messages,
        };
        let transcript = |out: &mut dyn Write| agent.transcript(session, messages, bodies, out);
        let mut bytes = Vec::new();
        agent.constants().requests.compaction(
            segment,
            &transcript,
            previous.as_ref(),
            instructions,
            &mut bytes,
        )?;
        Ok(bytes)
    };
    segments(preparation).iter().map(prompt).collect()
}

/// Returns the prompt of a branch summary.
///
/// # Errors
/// If a line cannot be read.
pub fn branch_prompt(
    session: &Session,
    messages: &[Message],
    instructions: &Instructions,
    bodies: &dyn EntryReader,
) -> io::Result<Vec<u8>> {
    let agent = session.agent();
    let transcript = |out: &mut dyn Write| agent.transcript(session, messages, bodies, out);
    let mut bytes = Vec::new();
    agent.constants().requests.branch(&transcript, instructions, &mut bytes)?;
    Ok(bytes)
}

/// Merges the responses to [`compaction_prompts`] into one summary.
pub fn merged_summary(preparation: &Preparation, answers: Vec<Text<'static>>) -> Text<'static> {
    let (mut history, mut turn_prefix) = (None, None);
    for (part, answer) in segments(preparation).iter().zip(answers) {
        match part {
            Segment::History => history = Some(answer),
            Segment::TurnPrefix => turn_prefix = Some(answer),
        }
    }
    merge(preparation, history, turn_prefix)
}

/// Returns file operations as JSON, as printed for a preparation.
pub fn file_ops_json(ops: &FileOps) -> Vec<u8> {
    Object::new()
        .json("read", &texts(ops.read.iter()))
        .json("written", &texts(ops.written.iter()))
        .json("edited", &texts(ops.edited.iter()))
        .finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::pi::testing::*;

    fn prepared(sample: &Sample) -> Preparation {
        let (path, bodies) = (sample.path(), sample.bodies());
        sample.session.agent().prepare_compaction(&sample.session, &path, &bodies, 1, None).unwrap().unwrap()
    }

    fn prompts(entries: &[String], instructions: &Instructions) -> Vec<String> {
        let made = chain(entries);
        let prompts = compaction_prompts(&made.session, &prepared(&made), instructions, &made.bodies());
        prompts.unwrap().into_iter().map(|prompt| String::from_utf8(prompt).unwrap()).collect()
    }

    #[test]
    fn a_split_turn_has_its_own_prompt() {
        let entries = [user("a"), user("b"), assistant("c"), assistant("d")];
        let prompts = prompts(&entries, &Instructions::default());
        assert!(prompts[0].starts_with("<conversation>\n[User]: a\n</conversation>\n\n"));
        assert!(prompts[1].starts_with("<conversation>\n[User]: b\n\n[Assistant]: c\n</conversation>\n\n"));
        assert!(prompts[1].contains("## Original Request"));
    }

    #[test]
    fn a_previous_summary_is_quoted_and_instructions_are_added() {
        let entries = [user("a"), compacted("e0", ""), user("b")];
        let instructions = Instructions { text: Some("look".into()), replace: false };
        let prompt = &prompts(&entries, &instructions)[0];
        assert!(prompt.contains("</conversation>\n\n<previous-summary>\nS\n</previous-summary>\n\n"));
        assert!(prompt.contains("## Critical Context"));
        assert!(prompt.ends_with("\n\nPay particular attention to this: look"));
        let instructions = Instructions { replace: true, ..instructions };
        assert!(prompts(&entries, &instructions)[0].ends_with("</previous-summary>\n\nlook"));
    }

    #[test]
    fn a_branch_has_its_own_sections() {
        let made = chain(&[user("a")]);
        let (session, bodies) = (&made.session, made.bodies());
        let (messages, _) = session.agent().prepare_branch(session, &made.path(), &bodies).unwrap();
        let prompt = branch_prompt(session, &messages, &Instructions::default(), &bodies).unwrap();
        let prompt = String::from_utf8(prompt).unwrap();
        assert!(prompt.contains("## Next Steps") && !prompt.contains("## Critical Context"));
    }

    #[test]
    fn parts_are_merged_as_pi_does() {
        let made = chain(&[user("a"), assistant("b"), assistant("c")]);
        let mut prepared = prepared(&made);
        assert_eq!(segments(&prepared), [Segment::TurnPrefix]);
        let separator = "\n\n---\n\n**Turn Context (split turn):**\n\n";
        assert_eq!(
            merge(&prepared, None, Some("T".into())),
            format!("No prior history.{separator}T").as_str()
        );
        prepared.previous_summary = Some("P".into());
        assert_eq!(merge(&prepared, None, Some("T".into())), format!("P{separator}T").as_str());
        assert_eq!(merge(&prepared, Some("H".into()), None), "H");
    }
}
