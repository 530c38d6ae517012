//! The agents: a trait, and a type for each agent.
//!
//! [`Dialect::agent`] is the one place that depends on the dialect. Computations that are the same in both
//! agents are in the users of the trait; all others are in [`crate::core::pi`] and [`crate::core::omp`].

mod omp;
mod pi;

pub use omp::OhMyPi;
pub use pi::Pi;

use super::bodies::{Bodies, Context, Message};
use super::defect::{FindingKind, Severity};
use super::dialect::Dialect;
use super::entry::{Entry, EntryIx, Kind};
use super::json::Raw;
use super::json::write::{Object, texts};
use super::pi::prompt::{self, Instructions, Segment};
use super::prepare::{FileLists, FileOps, FirstKept, Preparation};
use super::record::{Block, MessageFacts, Typed};
use super::row::search::Query;
use super::session::{Format, Session};
use super::shape::Shapes;
use super::text::Text;
use super::tree::Tree;
use std::collections::HashMap;
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

/// Instructions that the user adds to a prompt.
pub type Prompt<'a> = Instructions<'a>;

/// The computations of an agent. Methods that read bodies fail if a line cannot be read.
#[allow(clippy::missing_errors_doc)]
pub trait Agent: Sync {
    /// Returns the agent's name for people.
    fn name(&self) -> &'static str;

    /// Returns the row of an entry; for a tool result, its row without the call.
    fn row(&self, typed: &Typed) -> Text<'static>;

    /// Returns the text of an entry that its search covers, without the label.
    fn searchable(&self, typed: &Typed) -> Text<'static>;

    /// Returns the row of the result of a tool call.
    fn call_row(&self, name: &Text, arguments: Raw, home: Option<&Text>) -> Text<'static>;

    /// Whether its tree hides an assistant message that is not the leaf.
    fn is_silent(&self, message: &MessageFacts, blocks: &[Block]) -> bool;

    /// Whether the entry is a request of the user.
    fn is_user_request(&self, typed: &Typed) -> bool;

    /// Whether choosing a custom message returns its text for editing.
    fn edits_custom_message(&self, entry: &Entry) -> bool;

    /// Whether such an entry may be older than its parent.
    fn backdates(&self, kind: Kind) -> bool;

    /// Whether its context applies `context_edit` entries.
    fn heeds_edits(&self) -> bool;

    /// Whether its files begin with a title line.
    fn has_title_line(&self) -> bool;

    /// Whether a fork keeps the time of a label, rather than that of the fork.
    fn keeps_label_times(&self) -> bool;

    /// Whether `fromId` of a branch summary is the start of the branch, rather than its end.
    fn summarizes_from_start(&self) -> bool;

    /// Returns the key that marks the summary of a hook.
    fn hook_key(&self) -> &'static str;

    /// Whether it stores the cost of a summary.
    fn stores_usage(&self) -> bool;

    /// Returns the entry that names the session, unless the agent has no such entry.
    fn name_entry(&self, name: &Text) -> Option<Object>;

    /// Returns the entry that changes the model.
    fn model_entry(&self, provider: &Text, model: &Text) -> Object;

    /// Returns the entry that changes the thinking level.
    fn thinking_entry(&self, level: &Text) -> Object;

    /// Returns the tables of what only this agent writes.
    fn shapes(&self) -> &'static Shapes;

    /// Whether its default view hides such entries, besides those that both agents hide.
    fn is_bookkeeping(&self, kind: Kind) -> bool;

    /// Whether every view of its tree hides such entries.
    fn never_shows(&self, kind: Kind) -> bool;

    /// Returns the severity of a defect for this agent, and its consequence. `grave`: it is where it does
    /// most harm.
    fn weight(&self, kind: FindingKind, format: Format, grave: bool) -> (Severity, &'static str);

    /// Returns its search for what the user `typed`, if that is fuzzy.
    fn fuzzy_search(&self, typed: &str) -> Option<Query>;

    /// Returns the attribution of a custom message, if the agent stores one.
    fn attribution(&self) -> Option<&'static str>;

    /// Returns the context of its model at the end of `path`.
    fn context(&self, session: &Session, path: &[EntryIx], bodies: &dyn Bodies) -> io::Result<Context>;

    /// Calls `emit` with each message in the form of a model's API.
    fn for_model(
        &self,
        messages: &[Message],
        bodies: &dyn Bodies,
        emit: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()>;

    /// Writes the transcript that its summarizer reads.
    fn transcript(
        &self,
        session: &Session,
        messages: &[Message],
        bodies: &dyn Bodies,
        out: &mut dyn Write,
    ) -> io::Result<()>;

    /// Returns its estimate of the context at the end of `path`, in tokens: its `tokensBefore`.
    fn tokens(&self, session: &Session, path: &[EntryIx], bodies: &dyn Bodies) -> io::Result<f64>;

    /// Returns its estimate of one message, in tokens.
    fn message_tokens(&self, message: Raw) -> u64;

    /// Returns the estimate of [`Agent::tokens`] at each of `tips`, in time proportional to the size of the
    /// file, not of the paths; tips that would take longer are omitted.
    fn sizes(
        &self,
        session: &Session,
        tree: &Tree,
        tips: &[EntryIx],
        bodies: &dyn Bodies,
    ) -> io::Result<HashMap<EntryIx, f64>>;

    /// Returns what a compaction at the end of `path` would summarize; `None` if there is nothing.
    fn prepare_compaction(
        &self,
        session: &Session,
        path: &[EntryIx],
        bodies: &dyn Bodies,
        keep_recent_tokens: u64,
        first_kept: Option<FirstKept>,
    ) -> io::Result<Option<Preparation>>;

    /// Returns the input for a branch summary of `entries`.
    fn prepare_branch(
        &self,
        session: &Session,
        entries: &[EntryIx],
        bodies: &dyn Bodies,
    ) -> io::Result<(Vec<Message>, FileOps)>;

    /// Returns the system message for a compaction at the end of `path`, if the agent stores one; its time is
    /// that of the compaction and not set yet.
    fn checkpoint(
        &self,
        session: &Session,
        path: &[EntryIx],
        bodies: &dyn Bodies,
    ) -> io::Result<Option<Vec<u8>>>;

    /// Returns the files that a summary's `details` list.
    fn files(&self, ops: &FileOps) -> FileLists;

    /// Returns the preamble of a branch summary.
    fn branch_preamble(&self) -> &'static str;

    /// Returns the text of a compaction as the agent stores it: the summary and the files.
    fn compaction_text(&self, summary: Text<'static>, ops: &FileOps) -> Text<'static>;

    /// Returns the text of a branch summary as the agent stores it: its preamble, the summary and the files.
    fn branch_text(&self, summary: &Text, ops: &FileOps) -> Text<'static> {
        let mut text = Text::from(self.branch_preamble()).into_owned();
        text.push(summary);
        self.compaction_text(text, ops)
    }

    /// Returns the text for editing when the entry is chosen.
    fn draft_text(&self, session: &Session, bodies: &dyn Bodies, ix: EntryIx) -> io::Result<Text<'static>>;

    /// Returns the previous summary for a new one: that of the compaction in effect, with what the agent
    /// keeps of it elsewhere.
    fn previous_summary(
        &self,
        preparation: &Preparation,
        bodies: &dyn Bodies,
    ) -> io::Result<Option<Text<'static>>>;

    /// Writes the prompt of one part of a compaction.
    fn compaction_prompt(
        &self,
        session: &Session,
        preparation: &Preparation,
        segment: Segment,
        instructions: &Prompt,
        bodies: &dyn Bodies,
        out: &mut dyn Write,
    ) -> io::Result<()>;

    /// Writes the prompt of a branch summary.
    fn branch_prompt(
        &self,
        session: &Session,
        messages: &[Message],
        instructions: &Prompt,
        bodies: &dyn Bodies,
        out: &mut dyn Write,
    ) -> io::Result<()>;
}

/// Returns the prompts of a compaction, in the order in which they are sent: one, or two for a split turn.
///
/// # Errors
/// If a line cannot be read.
pub fn compaction_prompts(
    session: &Session,
    preparation: &Preparation,
    instructions: &Prompt,
    bodies: &dyn Bodies,
) -> io::Result<Vec<Vec<u8>>> {
    let prompt = |&segment: &Segment| {
        let mut bytes = Vec::new();
        session.agent().compaction_prompt(session, preparation, segment, instructions, bodies, &mut bytes)?;
        Ok(bytes)
    };
    prompt::segments(preparation).iter().map(prompt).collect()
}

/// Returns one text from the responses to [`compaction_prompts`].
pub fn merged_summary(preparation: &Preparation, answers: Vec<Text<'static>>) -> Text<'static> {
    let (mut history, mut turn_prefix) = (None, None);
    for (part, answer) in prompt::segments(preparation).iter().zip(answers) {
        match part {
            Segment::History => history = Some(answer),
            Segment::TurnPrefix => turn_prefix = Some(answer),
        }
    }
    prompt::merge(preparation, history, turn_prefix)
}

/// Returns file operations as in the preparation's JSON.
pub fn file_ops_json(ops: &FileOps) -> Vec<u8> {
    Object::new()
        .json("read", &texts(ops.read.iter()))
        .json("written", &texts(ops.written.iter()))
        .json("edited", &texts(ops.edited.iter()))
        .finish()
}
