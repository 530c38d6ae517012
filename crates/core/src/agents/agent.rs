//! What differs between the agents: a table of values and functions, filled in by each of them.

use crate::agents::ordered::Ordered;
use crate::agents::prepare::{Budget, FileLists, FileOps, FirstKept, Preparation};
use crate::agents::prompt::Requests;
use crate::agents::row::RowText;
use crate::session::Format;
use crate::session::column::Parts;
use crate::session::defect::{FindingKind, Severity};
use crate::session::entry::{Entry, EntryIx, Kind, Role};
use crate::session::read::entry_reader::{Context, EntryReader, Message};
use crate::session::read::record::{Block, MessageFacts, Record, Typed};
use foldhash::HashMap;
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_json::write::Object;
use std::io::{self, Write};

/// Receives the JSON of a message.
pub type Emit<'a> = dyn FnMut(&[u8]) -> io::Result<()> + 'a;

/// An agent. Functions that read entries fail if a line cannot be read.
#[derive(Debug)]
#[allow(
    clippy::type_complexity,
    reason = "a name for each signature would be used once"
)]
pub struct Agent {
    /// The agent's display name.
    pub name: &'static str,
    /// The name of its program.
    pub program: &'static str,
    /// Whether its context applies `context_edit` entries.
    pub follows_edits: bool,
    /// Whether its files begin with a title line.
    pub has_title_line: bool,
    /// Whether a fork keeps the timestamps of labels, rather than using its own.
    pub keeps_label_times: bool,
    /// Whether `fromId` of a branch summary is the start of the branch, rather than its end.
    pub summarizes_from_start: bool,
    /// The key that marks a summary as written by a hook.
    pub hook_key: &'static str,
    /// Whether it stores the usage of the summary's request.
    pub stores_usage: bool,
    /// The `attribution` of new custom messages, if the agent stores one.
    pub attribution: Option<&'static str>,
    /// The preamble of a branch summary.
    pub branch_preamble: &'static str,
    /// Its requests to a summarizer.
    pub requests: Requests,

    // How it adapts messages before it sends them to a provider.
    /// Whether thinking by another model is left out, rather than sent as text that is marked as
    /// thinking.
    pub drops_foreign_thinking: bool,
    /// The replacement for a lone surrogate.
    pub half_pair: &'static str,
    /// Whether failed assistant messages are left out of requests; oh-my-pi's context omits them
    /// already.
    pub drops_failed: bool,
    /// Whether a turn that failed or was cut short is left out if it contains only thinking.
    pub drops_cut_thoughts: bool,
    /// Whether a late tool result is moved to its call, and one without a call is quoted as user
    /// text.
    pub rescues_results: bool,
    /// Whether thinking by another model of the same provider keeps its signature (Anthropic's API
    /// only).
    pub shares_signatures: bool,
    /// Whether thinking without a signature is left out (Anthropic's API only).
    pub drops_unsigned: bool,

    /// Appends the row of a message in the tree; for a tool result, without its call.
    pub push_message:
        fn(role: Role, message: &MessageFacts, blocks: &[Block], row: &mut Vec<u8>) -> Parts,
    /// Returns the row of another entry.
    pub entry_row: fn(kind: Kind, record: &Record) -> RowText<'static>,
    /// Returns the text of an entry that the agent's search covers, without the label.
    pub searchable: fn(typed: &Typed) -> Text<'static>,
    /// Returns the row of the result of a tool call.
    pub call_row: fn(name: &Text, arguments: Raw, home: Option<&Text>) -> Text<'static>,
    /// Whether a text of an assistant message, given as stored between its quotes, says something.
    /// The agent's tree hides a message without such a text unless it is the leaf, failed, or ended
    /// early.
    pub says_something: fn(text: &[u8]) -> bool,
    /// Whether the entry is a request of the user.
    pub is_user_request: fn(typed: &Typed) -> bool,
    /// Whether navigating to a custom message puts its text into the editor.
    pub edits_custom_message: fn(entry: &Entry) -> bool,
    /// Whether an entry of this type may be older than its parent.
    pub backdates: fn(kind: Kind) -> bool,
    /// Returns the name that the agent stores if the user gives this one.
    pub stored_name: fn(given: &str) -> Text<'static>,
    /// Returns the entry that names the session; an empty name clears it. `previous` is the name
    /// before.
    pub name_entry: fn(name: &Text, previous: Option<&Text>) -> Object,
    /// Returns the line before the header that holds a name given by the user, if the agent has
    /// such a line.
    pub title_line: fn(name: &Text, timestamp: &str) -> Option<Vec<u8>>,
    /// Returns the entry that changes the model.
    pub model_entry: fn(provider: &Text, model: &Text) -> Object,
    /// Returns the entry that changes the thinking level.
    pub thinking_entry: fn(level: &Text) -> Object,
    /// Returns the severity of a defect for this agent, and its consequence. `grave` selects the
    /// defect's most harmful case.
    pub weight: fn(kind: FindingKind, format: Format, grave: bool) -> (Severity, &'static str),
    /// Returns the words of what the user `typed`, to be found by
    /// [`matches`](super::row::search::matches), if the agent's search is fuzzy.
    pub fuzzy_search: fn(typed: &str) -> Option<Vec<Vec<u16>>>,

    /// Returns the context of its model at the end of `path`.
    pub context: fn(path: &[EntryIx], reader: &EntryReader) -> io::Result<Context>,
    /// Converts messages for the model, and calls `emit` with the JSON of each.
    pub for_model:
        fn(messages: &[Message], reader: &EntryReader, emit: &mut Emit) -> io::Result<()>,
    /// Writes the transcript that its summarizer reads.
    pub transcript:
        fn(messages: &[Message], reader: &EntryReader, out: &mut dyn Write) -> io::Result<()>,
    /// Returns its estimate of the context at the end of `path`, in tokens, as it stores it in
    /// `tokensBefore`.
    pub tokens: fn(path: &[EntryIx], reader: &EntryReader) -> io::Result<f64>,
    /// Returns its estimate of one message, in tokens.
    pub message_tokens: fn(message: Raw) -> u64,
    /// Returns the estimate of [`Agent::tokens`] at each of `tips` (and perhaps at other entries).
    /// Where reading each entry once is not enough, contexts are built one by one, up to a limit
    /// (`built_within`); the other tips are omitted.
    pub sizes: fn(tips: &[EntryIx], reader: &EntryReader) -> io::Result<HashMap<EntryIx, f64>>,
    /// Returns what a compaction at the end of `path` would summarize if it keeps what follows
    /// `from`; `None` if there is nothing.
    pub prepare_compaction: fn(
        path: &[EntryIx],
        reader: &EntryReader,
        from: FirstKept,
    ) -> io::Result<Option<Preparation>>,
    /// Returns the entries above a compaction, the last entry of `path`, that contexts below it and
    /// the next compaction use, other than what extensions have stored.
    pub used_above: fn(path: &[EntryIx], reader: &EntryReader) -> io::Result<Vec<EntryIx>>,
    /// Returns the input for a branch summary of `entries`.
    pub prepare_branch: fn(
        entries: &[EntryIx],
        reader: &EntryReader,
        budget: Budget,
    ) -> io::Result<(Vec<Message>, FileOps)>,
    /// Returns the system message for a compaction at the end of `path`, if the agent stores one.
    /// Its timestamp is 0; the caller sets it to that of the compaction.
    pub checkpoint: fn(path: &[EntryIx], reader: &EntryReader) -> io::Result<Option<Vec<u8>>>,
    /// Whether summaries list the files of calls that the result of another call records as nested.
    pub lists_nested_calls: bool,
    /// Whether summaries list a file with this path.
    pub lists_path: fn(path: &Text) -> bool,
    /// Returns the path of the file, given that of a call that read it.
    pub read_path: for<'a> fn(path: Text<'a>) -> Text<'a>,
    /// Returns a summary followed by its files. `read` are all files that were read, whether
    /// changed or not.
    pub with_files:
        fn(summary: Text<'static>, files: &FileLists, read: &Ordered<Text>) -> Text<'static>,
    /// Returns the text that navigating to the entry puts into the editor.
    pub draft_text: fn(reader: &EntryReader, ix: EntryIx) -> io::Result<Text<'static>>,
    /// Returns the text that a compaction has archived, if any.
    pub archived_text: fn(compaction: Raw) -> Option<Text<'static>>,
}

impl Agent {
    /// Appends the text of an entry's row in the tree.
    pub fn push_row(&self, typed: &Typed, row: &mut Vec<u8>) -> Parts {
        match (typed.kind, &typed.record.message) {
            (Kind::Message, Some(message)) => {
                (self.push_message)(typed.role, message, typed.blocks, row)
            }
            (Kind::Message, None) => Parts::default(),
            (kind, _) => (self.entry_row)(kind, typed.record).append_to(row),
        }
    }
}

/// Returns how much [`Agent::sizes`] builds one by one in a session with this number of entries: so
/// many entries of contexts, and steps on the paths to them, each of which takes a small part of
/// the time. Small sessions get all sizes.
pub fn built_within(entries: usize) -> usize {
    32 * entries + 100_000
}

/// Returns what building a context of this length at the end of a path of this length costs.
pub fn built(context: usize, path: usize) -> usize {
    context + path / 32
}
