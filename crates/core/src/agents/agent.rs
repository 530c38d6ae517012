//! What differs between the agents: a trait with one implementation per agent, and a table of
//! constants.

use crate::agents::ordered::OrderedMap;
use crate::agents::prepare::{BranchBudget, FileLists, FileOps, FirstKept, Preparation};
use crate::agents::prompt::SummaryRequests;
use crate::agents::row::RowText;
use crate::session::Format;
use crate::session::column::RowShape;
use crate::session::defect::{FindingKind, Severity};
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
    /// What is fixed for this agent.
    fn constants(&self) -> &'static AgentConstants;

    /// Appends the row of an entry in the agent's tree to `row`. The row of a tool result does not
    /// show its call: see [`Agent::call_row`].
    fn push_row(&self, parsed: &ParsedEntry, row: &mut Vec<u8>) -> RowShape {
        match (parsed.kind, &parsed.record.message) {
            (Kind::Message, Some(message)) => {
                self.push_message_row(parsed.role, message, parsed.blocks, row)
            }
            (Kind::Message, None) => RowShape::default(),
            (kind, _) => self.entry_row(kind, parsed.record).append_to(row),
        }
    }

    /// Appends the row of a message in the tree; for a tool result, without its call.
    fn push_message_row(
        &self,
        role: Role,
        message: &MessageFacts,
        blocks: &[Block],
        row: &mut Vec<u8>,
    ) -> RowShape;

    /// The row in the tree of an entry that is not a message.
    fn entry_row(&self, kind: Kind, record: &Record) -> RowText<'static>;

    /// The row of the result of a tool call, which shows the call. Paths below `home` are
    /// shortened.
    fn call_row(&self, name: &Text, arguments: Raw, home: Option<&Text>) -> Text<'static>;

    /// The text of an entry that the agent's search covers, without the label.
    fn search_text(&self, parsed: &ParsedEntry) -> Text<'static>;

    /// Whether the agent's search is the fuzzy one of [`search`](super::row::search).
    fn has_fuzzy_search(&self) -> bool;

    /// Whether a text of an assistant message, given as stored between its quotes, says something.
    /// The agent's tree hides a message without such a text unless it is the leaf, failed, or ended
    /// early.
    fn is_visible_text(&self, text: &[u8]) -> bool;

    /// Whether the entry is a request of the user.
    fn is_user_request(&self, parsed: &ParsedEntry) -> bool;

    /// Whether navigating to a custom message puts its text into the editor.
    fn drafts_custom_message(&self, entry: &Entry) -> bool;

    /// The text that navigating to the entry puts into the editor.
    fn draft_text(&self, reader: &EntryReader, ix: EntryIx) -> io::Result<Text<'static>>;

    /// Whether an entry of this type may have an earlier timestamp than its parent.
    fn may_predate_parent(&self, kind: Kind) -> bool;

    /// The severity of a defect for this agent, and its consequence. `is_worst_case` selects the
    /// defect's most harmful case.
    fn assess_defect(
        &self,
        kind: FindingKind,
        format: Format,
        is_worst_case: bool,
    ) -> (Severity, &'static str);

    /// The name that the agent stores if the user gives this one.
    fn normalize_name(&self, given: &str) -> Text<'static>;

    /// A new entry that names the session; an empty name clears it. `previous` is the name before.
    fn new_name_entry(&self, name: &Text, previous: Option<&Text>) -> Object;

    /// The line before the header that holds a name given by the user, if the agent has such a
    /// line.
    fn title_line(&self, name: &Text, timestamp: &str) -> Option<Vec<u8>>;

    /// A new entry that changes the model.
    fn new_model_entry(&self, provider: &Text, model: &Text) -> Object;

    /// A new entry that changes the thinking level.
    fn new_thinking_entry(&self, level: &Text) -> Object;

    /// Builds the context of the agent's model at the end of `path`.
    fn build_context(&self, path: &[EntryIx], reader: &EntryReader) -> io::Result<Context>;

    /// Converts messages for the model, and calls `emit` with the JSON of each.
    fn convert_for_model(
        &self,
        messages: &[ContextMessage],
        reader: &EntryReader,
        emit: &mut Emit,
    ) -> io::Result<()>;

    /// Writes the transcript that the agent's summarizer reads.
    fn write_transcript(
        &self,
        messages: &[ContextMessage],
        reader: &EntryReader,
        out: &mut dyn Write,
    ) -> io::Result<()>;

    /// The agent's estimate of one message, in tokens.
    fn estimate_message(&self, message: Raw) -> u64 {
        let mut blocks = Vec::new();
        let facts = scan_message_facts(message, &mut blocks);
        self.estimate_scanned(&facts, &blocks)
    }

    /// The agent's estimate of a message that was walked over before, in tokens. `blocks` are those
    /// of its content.
    fn estimate_scanned(&self, message: &MessageFacts, blocks: &[Block]) -> u64;

    /// The agent's estimate of the context at the end of `path`, in tokens, as it stores it in
    /// `tokensBefore`.
    fn estimate_context(&self, path: &[EntryIx], reader: &EntryReader) -> io::Result<f64>;

    /// Gives [`Agent::estimate_context`] at each of `tips`, and perhaps at other entries.
    ///
    /// Where reading each entry once is not enough, contexts are built one by one until the budget
    /// (`context_build_budget`) is used up; the tips that remain are missing in the result.
    fn estimate_contexts(
        &self,
        tips: &[EntryIx],
        reader: &EntryReader,
    ) -> io::Result<HashMap<EntryIx, f64>>;

    /// Collects what a compaction at the end of `path` would summarize; `from` decides what it
    /// keeps. `None` if there is nothing to summarize.
    fn prepare_compaction(
        &self,
        path: &[EntryIx],
        reader: &EntryReader,
        from: FirstKept,
    ) -> io::Result<Option<Preparation>>;

    /// The ancestors of a compaction (the last entry of `path`) that the contexts of its
    /// descendants and the next compaction use, except what extensions have stored.
    fn ancestors_in_use(&self, path: &[EntryIx], reader: &EntryReader) -> io::Result<Vec<EntryIx>>;

    /// Collects the input for a branch summary of `entries`.
    fn prepare_branch_summary(
        &self,
        entries: &[EntryIx],
        reader: &EntryReader,
        budget: BranchBudget,
    ) -> io::Result<(Vec<ContextMessage>, FileOps)>;

    /// The system message for a compaction at the end of `path`, if the agent stores one. Its
    /// timestamp is 0; the caller sets it to that of the compaction.
    fn system_checkpoint(
        &self,
        path: &[EntryIx],
        reader: &EntryReader,
    ) -> io::Result<Option<Vec<u8>>>;

    /// The text that a compaction has archived, if any.
    fn archived_text(&self, compaction: Raw) -> Option<Text<'static>>;

    /// Whether summaries list a file with this path.
    fn lists_path(&self, path: &Text) -> bool;

    /// The path of the file, given the path in the arguments of a call that read it.
    fn strip_read_selector<'a>(&self, path: Text<'a>) -> Text<'a>;

    /// Appends the files to a summary. `read` are all files that were read, whether changed or not.
    fn append_file_list(
        &self,
        summary: Text<'static>,
        files: &FileLists,
        read: &OrderedMap<Text>,
    ) -> Text<'static>;
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
    /// The `attribution` of new custom messages, if the agent stores one.
    pub attribution: Option<&'static str>,

    // Context and summaries.
    /// Whether its context applies `context_edit` entries.
    pub applies_context_edits: bool,
    /// Whether `fromId` of a branch summary is the start of the branch, rather than its end.
    pub from_id_is_branch_start: bool,
    /// The key that marks a summary as written by a hook.
    pub hook_key: &'static str,
    /// Whether it stores the usage of the summary's request.
    pub stores_usage: bool,
    /// The preamble of a branch summary.
    pub branch_preamble: &'static str,
    /// Its requests to a summarizer.
    pub requests: SummaryRequests,
    /// Whether summaries list the files of calls that the result of another call records as nested.
    pub lists_nested_calls: bool,

    // How it adapts messages before it sends them to a provider.
    /// Whether thinking by another model is left out, rather than sent as text that is marked as
    /// thinking.
    pub drops_foreign_thinking: bool,
    /// The replacement for a lone surrogate.
    pub surrogate_replacement: &'static str,
    /// Whether failed assistant messages are left out of requests; oh-my-pi's context omits them
    /// already.
    pub drops_failed_turns: bool,
    /// Whether a turn that failed or was cut short is left out if it contains only thinking.
    pub drops_interrupted_thinking: bool,
    /// Whether a late tool result is moved to its call, and one without a call is quoted as user
    /// text.
    pub moves_late_results: bool,
    /// Whether thinking by another model of the same provider keeps its signature (Anthropic's API
    /// only).
    pub shares_thinking_signatures: bool,
    /// Whether thinking without a signature is left out (Anthropic's API only).
    pub drops_unsigned_thinking: bool,
    /// The text of a failed result that has none (Anthropic's API only), if the agent gives it one.
    pub empty_failure_text: Option<&'static str>,
}

/// The budget for building contexts one by one, as for [`Agent::estimate_contexts`], in a session
/// with this number of entries; in the unit of [`context_build_cost`].
///
/// It is large enough for all contexts of a small session.
pub fn context_build_budget(entries: usize) -> usize {
    32 * entries + 100_000
}

/// The cost of building a context of `messages` messages at the end of a path of `path_len`
/// entries.
///
/// A message of the context costs 1; a step along the path takes a small part of that time.
pub fn context_build_cost(messages: usize, path_len: usize) -> usize {
    messages + path_len / 32
}
