//! What differs between the agents: a trait with one implementation per agent, and a table of
//! constants.

use crate::agents::ordered::OrderedMap;
use crate::agents::prepare::{BranchBudget, FileLists, FileOps, FirstKept, Preparation};
use crate::agents::prompt::SummaryRequests;
use crate::agents::row::RowText;
use crate::session::Format;
use crate::session::column::RowShape;
use crate::session::defect::{Assessment, FindingKind};
use crate::session::entry::{Entry, EntryIx, Kind, Role};
use crate::session::read::entry_reader::{Context, ContextMessage, EntryReader};
use crate::session::read::record::{Block, MessageFacts, ParsedEntry, Record, scan_message_facts};
use foldhash::HashMap;
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_json::write::Object;
use std::fmt::Debug;
use std::io::{self, Write};

/// Receives the JSON of a message.
pub type Emit<'a> = dyn FnMut(&[u8]) -> io::Result<()> + 'a;

/// A coding agent whose session files pisess reads and writes.
///
/// Methods that read entries fail if a line cannot be read.
pub trait Agent: Debug + Sync {
    /// Returns the facts about the agent that do not depend on a session.
    fn constants(&self) -> &'static AgentConstants;

    /// Appends the row of an entry in the agent's tree to a buffer of rows, and returns its shape.
    /// The row of a tool result does not show its call; [`Agent::call_row`] does.
    fn push_row(&self, parsed: &ParsedEntry, rows: &mut Vec<u8>) -> RowShape {
        match (parsed.kind, &parsed.record.message) {
            (Kind::Message, Some(message)) => {
                self.push_message_row(parsed.role, message, parsed.blocks, rows)
            }
            (Kind::Message, None) => RowShape::default(),
            (kind, _) => self.entry_row(kind, parsed.record).append_to(rows),
        }
    }

    /// Appends the row of a message in the agent's tree to a buffer of rows, and returns its shape.
    /// The row of a tool result does not show its call.
    fn push_message_row(
        &self,
        role: Role,
        message: &MessageFacts,
        blocks: &[Block],
        rows: &mut Vec<u8>,
    ) -> RowShape;

    /// Returns the row in the agent's tree of an entry that is not a message.
    fn entry_row(&self, kind: Kind, record: &Record) -> RowText<'static>;

    /// Returns the row of a tool result in the agent's tree, which shows the call. Paths below
    /// `home` are shortened.
    fn call_row(&self, name: &Text, arguments: Raw, home: Option<&Text>) -> Text<'static>;

    /// Returns the text of an entry in which the agent's search looks, without the label.
    fn search_text(&self, parsed: &ParsedEntry) -> Text<'static>;

    /// Whether the agent's search is the fuzzy one of [`search`](super::row::search).
    fn has_fuzzy_search(&self) -> bool;

    /// Whether a text of an assistant message says anything. `text` is as stored between its
    /// quotes.
    ///
    /// The agent's tree hides an assistant message without such a text unless it is the leaf,
    /// failed, or ended early.
    fn is_visible_text(&self, text: &[u8]) -> bool;

    /// Whether the agent treats an entry as a request of the user.
    fn is_user_request(&self, parsed: &ParsedEntry) -> bool;

    /// Whether the agent puts the text of a custom message into its editor when the user navigates
    /// to it.
    fn drafts_custom_message(&self, entry: &Entry) -> bool;

    /// Returns the text that the agent puts into its editor when the user navigates to an entry.
    fn draft_text(&self, reader: &EntryReader, ix: EntryIx) -> io::Result<Text<'static>>;

    /// Whether an entry of this type may have an earlier timestamp than its parent.
    fn may_predate_parent(&self, kind: Kind) -> bool;

    /// Returns how bad a defect is for this agent, and its consequence. Some defects have a form or
    /// position that does more harm; `is_worst_case` selects the consequence of that.
    fn assess_defect(&self, kind: FindingKind, format: Format, is_worst_case: bool) -> Assessment;

    /// Returns the name that the agent stores if the user gives `given`.
    fn normalize_name(&self, given: &str) -> Text<'static>;

    /// Returns a new entry that names the session; an empty name clears it. `previous` is the name
    /// until now.
    fn new_name_entry(&self, name: &Text, previous: Option<&Text>) -> Object;

    /// Returns the title line, which contains a name given by the user, and stands before the
    /// header in the file. `None` if the files of the agent have no such line.
    fn title_line(&self, name: &Text, timestamp: &str) -> Option<Vec<u8>>;

    /// Returns a new entry that changes the model.
    fn new_model_entry(&self, provider: &Text, model: &Text) -> Object;

    /// Returns a new entry that changes the thinking level.
    fn new_thinking_entry(&self, level: &Text) -> Object;

    /// Builds the context of the agent's model at the end of `path`.
    fn build_context(&self, path: &[EntryIx], reader: &EntryReader) -> io::Result<Context>;

    /// Converts messages to the form that the model receives, and calls `emit` with each, in order,
    /// as a JSON object with a `role`. A message may become none, or several.
    fn convert_for_model(
        &self,
        messages: &[ContextMessage],
        reader: &EntryReader,
        emit: &mut Emit,
    ) -> io::Result<()>;

    /// Writes the messages as the text that the agent's summarizer reads, such as
    /// `[User]: fix the test`. Parts have a blank line between them.
    fn write_transcript(
        &self,
        messages: &[ContextMessage],
        reader: &EntryReader,
        out: &mut dyn Write,
    ) -> io::Result<()>;

    /// Returns the agent's estimate of one message, in tokens.
    fn estimate_message(&self, message: Raw) -> u64 {
        let mut blocks = Vec::new();
        let facts = scan_message_facts(message, &mut blocks);
        self.estimate_scanned(&facts, &blocks)
    }

    /// Returns the agent's estimate of a message, in tokens, from the members that were collected
    /// of it. `blocks` are the blocks of its content.
    fn estimate_scanned(&self, message: &MessageFacts, blocks: &[Block]) -> u64;

    /// Returns the agent's estimate of the context at the end of `path`, in tokens. The agent
    /// stores this number as `tokensBefore` of a compaction.
    fn estimate_context(&self, path: &[EntryIx], reader: &EntryReader) -> io::Result<f64>;

    /// Returns [`Agent::estimate_context`] at each of `tips`, and perhaps at other entries.
    ///
    /// For some tips, the context must be built to be estimated. This is done one by one until the
    /// budget (`context_build_budget`) is used up. The tips that remain are missing in the result.
    fn estimate_contexts(
        &self,
        tips: &[EntryIx],
        reader: &EntryReader,
    ) -> io::Result<HashMap<EntryIx, f64>>;

    /// Collects the messages that a compaction at the end of `path` would summarize. `from` says
    /// which entry is the first one that the compaction keeps. `None` if there is nothing to
    /// summarize.
    fn prepare_compaction(
        &self,
        path: &[EntryIx],
        reader: &EntryReader,
        from: FirstKept,
    ) -> io::Result<Option<Preparation>>;

    /// Returns the ancestors of a compaction (the last entry of `path`) that are still used: by
    /// contexts below the compaction, or by the next compaction. What extensions have stored is
    /// left out.
    fn ancestors_in_use(&self, path: &[EntryIx], reader: &EntryReader) -> io::Result<Vec<EntryIx>>;

    /// Collects the messages for a summary of the branch with these `entries`, and the files that
    /// they touched.
    fn prepare_branch_summary(
        &self,
        entries: &[EntryIx],
        reader: &EntryReader,
        budget: BranchBudget,
    ) -> io::Result<(Vec<ContextMessage>, FileOps)>;

    /// Returns the system message to store in a compaction at the end of `path`; `None` if the
    /// agent stores none. Its timestamp is 0; the caller sets it to that of the compaction.
    fn system_checkpoint(
        &self,
        path: &[EntryIx],
        reader: &EntryReader,
    ) -> io::Result<Option<Vec<u8>>>;

    /// Returns the text that a compaction has archived; `None` if it has archived none.
    fn archived_text(&self, compaction: Raw) -> Option<Text<'static>>;

    /// Whether the lists of files in summaries include this path.
    fn lists_path(&self, path: &Text) -> bool;

    /// Returns the path of a file, given the path in the arguments of a call that read it. oh-my-pi
    /// allows a selection of lines after the path.
    fn strip_read_selector<'a>(&self, path: Text<'a>) -> Text<'a>;

    /// Appends the lists of files to a summary. `read` are all files that were read, whether
    /// changed or not.
    fn append_file_list(
        &self,
        summary: Text<'static>,
        files: &FileLists,
        read: &OrderedMap<Text>,
    ) -> Text<'static>;

    /// Appends the lists of files to a summary that was made without a model, as briefly as the
    /// agent's form allows.
    fn append_brief_file_list(
        &self,
        summary: Text<'static>,
        files: &FileLists,
        read: &OrderedMap<Text>,
    ) -> Text<'static> {
        self.append_file_list(summary, files, read)
    }
}

/// What is fixed for an agent: names, texts, and rules that need no code of their own.
#[derive(Debug)]
pub struct AgentConstants {
    /// The agent's display name.
    pub name: &'static str,
    /// The name of its program.
    pub program: &'static str,

    // Files.
    /// Whether its files begin with a title line.
    pub has_title_line: bool,
    /// Whether a fork keeps the timestamps of labels, rather than using its own.
    pub keeps_label_times: bool,
    /// The `attribution` of new custom messages; `None` if the agent stores none.
    pub attribution: Option<&'static str>,

    // Context and summaries.
    /// Whether its context applies `context_edit` entries.
    pub applies_context_edits: bool,
    /// Whether the `fromId` of a branch summary is the start of the branch, rather than its end.
    pub from_id_is_branch_start: bool,
    /// The key that marks a summary as one that a hook wrote.
    pub hook_key: &'static str,
    /// Whether the agent stores the usage of the request for a summary.
    pub stores_usage: bool,
    /// The text before a branch summary.
    pub branch_preamble: &'static str,
    /// The requests to a summarizer.
    pub requests: SummaryRequests,
    /// Whether summaries list the files of calls that a tool made itself, which are recorded in its
    /// result.
    pub lists_nested_calls: bool,

    // How it adapts messages before it sends them to a provider.
    /// Whether thinking by another model is left out. If not, it is sent as text that is marked as
    /// thinking.
    pub drops_foreign_thinking: bool,
    /// The replacement for a lone surrogate.
    pub surrogate_replacement: &'static str,
    /// Whether failed assistant messages are left out of requests. (oh-my-pi's context has none.)
    pub drops_failed_turns: bool,
    /// Whether a turn that failed or was cut short is left out if it contains only thinking.
    pub drops_interrupted_thinking: bool,
    /// Whether a late tool result is moved to its call. A result without a call is then quoted as
    /// text of the user.
    pub moves_late_results: bool,
    /// Whether thinking by another model of the same provider keeps its signature (Anthropic's API
    /// only).
    pub shares_thinking_signatures: bool,
    /// Whether thinking without a signature is left out (Anthropic's API only).
    pub drops_unsigned_thinking: bool,
    /// The text of a failed result that has none (Anthropic's API only), if the agent gives it one.
    pub empty_failure_text: Option<&'static str>,
}

/// Returns the budget for building contexts, for [`Agent::estimate_contexts`] in a session with
/// this number of entries. Its unit is that of [`context_build_cost`].
///
/// It is large enough for all contexts of a small session.
pub fn context_build_budget(entries: usize) -> usize {
    32 * entries + 100_000
}

/// Returns the cost of building a context of `messages` messages at the end of a path of `path_len`
/// entries.
///
/// A message of the context costs 1. A step along the path takes only a small part of that time.
pub fn context_build_cost(messages: usize, path_len: usize) -> usize {
    messages + path_len / 32
}
