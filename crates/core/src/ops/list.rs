//! Reads the data of each session in a list, and sorts and arranges its rows.
//!
//! Fields that pi's list also has are defined as there: `modified` is the newest time of a user or
//! assistant message, `firstMessage` is the first user message with text, and the name is that of
//! the last `session_info`.

mod copies;
mod lookalikes;
mod order;
mod rows;
mod shared_start;
mod titles;

pub use copies::{CountedKeys, FamilyFile, count_new_entries, sort_and_mark_related};
pub use lookalikes::shared_lengths;
pub use order::{Order, SelectionFacts, SessionFilter, sort_sessions};
pub use rows::{ForkRows, ListRow, build_rows, group_by_repository};
pub use titles::{
    display_cost, display_title, distinct_titles, read_beginning, read_title, session_title,
};

use crate::format::title::title_words;
use crate::load::{LoadError, LoadOptions, load};
use crate::ops::branches::find_branches;
use crate::ops::context_estimate::{PrunedPayloads, estimate_if_wrong};
use crate::ops::prune::Restoration;
use crate::session::Session;
use crate::session::content::content_text;
use crate::session::defect::FindingKind;
use crate::session::dialect::Dialect;
use crate::session::entry::{EntryIx, Span};
use crate::session::labels::Labels;
use crate::session::list_stats::{EntryKey, Opening, Question, is_command};
use crate::session::period::Period;
use crate::session::read::entry_reader::EntryReader;
use crate::session::read::header::version_number;
use crate::session::tree::Tree;
use crate::session::usage::{BilledRequest, SubAgents, UsageSums};
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_store::ReadAt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A session in a list.
#[derive(Clone, Debug)]
pub struct ListedSession {
    /// The session file.
    pub path: PathBuf,
    /// The size of the session in bytes; for an archived session, before compression.
    pub bytes: u64,
    /// The time of the last change of the file, in milliseconds since 1970.
    pub file_modified_ms: i64,
    /// The file of the session that owns this one, if it is of a sub-agent or advisor.
    pub owner: Option<Arc<Path>>,
    /// The id of the session.
    pub id: Text<'static>,
    /// The agent that writes the session.
    pub agent: Dialect,
    /// The name of the program that wrote the session, if it is another agent. The session is then
    /// a converted one of `agent`, and the caller sets the name.
    pub other_agent: Option<&'static str>,
    /// The version in the header, as the agents read it: 1 if there is none, 3 for `"3"`. NaN,
    /// which JSON has as `null`, if it is no number.
    pub version: f64,
    /// The name given by the user or by oh-my-pi.
    pub name: Option<Text<'static>>,
    /// The working directory; empty if the header has none.
    pub cwd: Text<'static>,
    /// The repository of that directory, if the list is grouped by repository.
    pub repository: Option<PathBuf>,
    /// The session that this one was forked from, as stored in the header: a path or an id.
    pub parent: Option<Text<'static>>,
    /// The earlier session of the list with which this one shares its first entries, if that was
    /// determined.
    pub copied_from: Option<PathBuf>,
    /// The start time in the header, in milliseconds since 1970.
    pub created_ms: Option<i64>,
    /// The time of the newest user or assistant message, in milliseconds since 1970. If there is
    /// none, the start time, or else the time of the file.
    pub modified_ms: i64,
    /// The number of entries.
    pub entry_count: u32,
    /// The number of entries that are messages.
    pub message_count: u32,
    /// The number of these that are messages of the user.
    pub user_message_count: u32,
    /// Whether there is no user message, including those that were pruned.
    pub is_empty: bool,
    /// The number of branches, as counted by `branches`.
    pub branch_count: u32,
    /// The first user message with text.
    pub first_question: Option<Question>,
    /// The title taken from the messages, for a session without a name.
    pub opening: Option<Opening>,
    /// The span of the line with the first question.
    pub question_span: Option<Span>,
    /// The models that responded.
    pub models: Vec<Text<'static>>,
    /// The usage of all branches.
    pub usage: UsageSums,
    /// The labels in effect.
    pub labels: Vec<Text<'static>>,
    /// The size of the context at the leaf in tokens, as the agent counts them.
    pub context_tokens: Option<f64>,
    /// The estimate of that size in tokens, if the agent's count is wrong.
    pub context_estimate: Option<f64>,
    /// Whether the session was started, or has an entry, in the period of the list.
    pub is_in_period: bool,
    /// Whether the last line is incomplete.
    pub is_torn: bool,
    /// Whether an agent is running the session. The file does not show this, so the caller sets it.
    pub is_running: bool,
}

/// A session that was read for a list.
#[derive(Debug)]
pub struct ReadSession {
    /// The data that the list shows.
    pub listed: ListedSession,
    /// The keys that identify the entries across sessions, if requested.
    pub keys: Vec<EntryKey>,
    /// The parents of the entries that have keys.
    pub parents: Vec<Option<EntryIx>>,
    /// The requests to providers that the entries record.
    pub billed: Vec<BilledRequest>,
}

/// Reads the data that a list shows of a session, for one session alone. The usage that it reports
/// for its sub-agents is included, because their sessions are not listed with it. For `modified_ms`
/// and `pruned`, see [`read_session`].
pub fn read_single(
    path: &Path,
    source: &dyn ReadAt,
    modified_ms: i64,
    pruned: Option<&Restoration>,
) -> Result<ListedSession, LoadError> {
    let options = LoadOptions {
        workers: 1,
        list_stats: Some(Period::default()),
        usage: true,
        ..LoadOptions::default()
    };
    let no_agents = SubAgents::default();
    let reading = read_session(path, source, modified_ms, &no_agents, pruned, &options)?;
    Ok(reading.listed)
}

/// Reads the data of one session of a list.
///
/// - `modified_ms` is the time of the last change of the file, in milliseconds since 1970.
/// - `agents` are the sub-agents whose sessions are listed as well. Their usage is counted there,
///   so the usage that this session reports for them is left out.
/// - `pruned` restores the entries that were pruned from the session. Their requests were paid for,
///   so their usage is counted.
/// - `options` must request `list_stats` and `usage`.
pub fn read_session(
    path: &Path,
    source: &dyn ReadAt,
    modified_ms: i64,
    agents: &SubAgents,
    pruned: Option<&Restoration>,
    options: &LoadOptions,
) -> Result<ReadSession, LoadError> {
    let mut session = load(source, options)?;
    let mut counted = CountedEntries::take_from(&mut session);
    if let Some(pruned) = pruned {
        let has_user_message = counted.has_user_message;
        counted = CountedEntries::load_before_pruning(source, pruned, options)?;
        // The restored session lacks messages that the user wrote after the prune.
        counted.has_user_message |= has_user_message;
    }
    counted
        .billed
        .retain(|request| !request.is_counted_elsewhere(path, agents));

    let list_stats = std::mem::take(&mut session.collected.list_stats);
    let context_size = measure_context(&session, source, pruned)?;
    let branches = find_branches(&session, &Tree::new(&session));
    let header = Raw::from_checked(&session.header.bytes);
    let is_torn = session
        .problems
        .iter()
        .any(|problem| problem.kind == FindingKind::TornTail);
    let question = list_stats.question.as_ref();
    let question_span = question.map(|question| session.entry(question.entry).span);

    let created_ms = session.header.started_ms();
    let last_message_ms = match list_stats.last_activity_ms {
        Some(active_ms) if active_ms > 0.0 => active_ms as i64,
        // Without messages, the start time counts or, if it is unknown, the time of the file.
        _ => created_ms.unwrap_or(modified_ms),
    };
    let period = options.list_stats.unwrap_or_default();
    let was_created_in_period = period.contains(created_ms.unwrap_or(last_message_ms));

    let listed = ListedSession {
        path: path.to_owned(),
        bytes: source.len(),
        file_modified_ms: modified_ms,
        owner: None,
        agent: session.dialect,
        other_agent: None,
        version: version_number(header),
        name: session.name(),
        cwd: session.header.cwd.clone().unwrap_or_default(),
        repository: None,
        parent: header.get_text("parentSession").map(Text::into_owned),
        copied_from: None,
        created_ms,
        modified_ms: last_message_ms,
        entry_count: session.entries.len() as u32,
        message_count: list_stats.message_count,
        user_message_count: list_stats.user_message_count,
        is_empty: !counted.has_user_message,
        branch_count: branches.len() as u32,
        question_span,
        first_question: list_stats.question,
        opening: list_stats.opening,
        models: list_stats.models,
        usage: counted
            .billed
            .iter()
            .map(|request| &request.usage)
            .collect(),
        labels: labels_in_effect(&session),
        context_tokens: context_size.tokens,
        context_estimate: context_size.estimate,
        is_torn,
        is_running: false,
        is_in_period: list_stats.is_in_period || was_created_in_period,
        id: session.header.id,
    };
    Ok(ReadSession {
        listed,
        keys: counted.keys,
        parents: counted.parents,
        billed: counted.billed,
    })
}

/// The size of the context at the leaf, in tokens.
struct ContextSize {
    /// The count of the agent; `None` if there is none.
    tokens: Option<f64>,
    /// The estimate, if the agent's count is wrong.
    estimate: Option<f64>,
}

/// Returns the size of the context at the leaf: the number of tokens that the provider counted and,
/// if this number is wrong, an estimate. `pruned` is the content that `prune` has moved out of the
/// session: a count from before the prune includes it, and is therefore wrong. See
/// [`estimate_if_wrong`] for other wrong counts.
fn measure_context(
    session: &Session,
    source: &dyn ReadAt,
    pruned: Option<&Restoration>,
) -> io::Result<ContextSize> {
    let reader = EntryReader::new(session, source);
    let active_path = session.path(session.leaf);
    let counted = session.agent().estimate_context(&active_path, &reader)?;
    let payloads = PrunedPayloads::new(pruned, session);
    let estimate = estimate_if_wrong(counted, &active_path, payloads.as_ref(), &reader)?;
    // The agent returns 0 for a context without messages.
    let tokens = if counted > 0.0 { Some(counted) } else { None };
    Ok(ContextSize { tokens, estimate })
}

/// Returns the parents of all entries; empty if the keys of entries were not requested.
fn list_parents(session: &Session) -> Vec<Option<EntryIx>> {
    if session.collected.keys.is_empty() {
        return Vec::new();
    }
    session.entries.iter().map(|entry| entry.parent).collect()
}

/// The facts of a session's entries that a list counts, including entries that were pruned.
struct CountedEntries {
    has_user_message: bool,
    keys: Vec<EntryKey>,
    parents: Vec<Option<EntryIx>>,
    billed: Vec<BilledRequest>,
}

impl CountedEntries {
    /// Moves these facts out of a session that was loaded for a list.
    fn take_from(session: &mut Session) -> CountedEntries {
        CountedEntries {
            has_user_message: session.collected.list_stats.user_message_count > 0,
            parents: list_parents(session),
            keys: std::mem::take(&mut session.collected.keys),
            billed: std::mem::take(&mut session.collected.billed),
        }
    }

    /// Loads a session as it was before `prune`, and returns the facts of its entries. `pruned` has
    /// the content that was moved out, with its places in `source`. Entries that the session no
    /// longer contains are marked with `is_pruned`.
    fn load_before_pruning(
        source: &dyn ReadAt,
        pruned: &Restoration,
        options: &LoadOptions,
    ) -> Result<CountedEntries, LoadError> {
        let mut unpruned = load(&pruned.restored_file(source), options)?;
        let mut counted = CountedEntries::take_from(&mut unpruned);
        // `keys` has one element for each entry, in the same order.
        for (key, entry) in counted.keys.iter_mut().zip(&unpruned.entries) {
            key.is_pruned = pruned.session_line(entry.line).is_none();
        }
        Ok(counted)
    }
}

fn labels_in_effect(session: &Session) -> Vec<Text<'static>> {
    Labels::new(session)
        .changes()
        .map(|change| session.text(change.name).into_owned())
        .collect()
}

/// Returns the whole text of the first question, which is the first message of the user. If there
/// is none, this is `(no messages)`. The file is read only if `listed` has just the start of a long
/// text.
///
/// # Errors
/// If the line cannot be read, or if the file has changed and the line is no longer JSON.
pub fn read_first_question(
    listed: &ListedSession,
    source: &dyn ReadAt,
) -> io::Result<Text<'static>> {
    let (Some(question), Some(span)) = (&listed.first_question, listed.question_span) else {
        return Ok(Text::from("(no messages)"));
    };
    if question.is_whole {
        return Ok(question.text.clone());
    }
    let line = source.read_range(span.range())?;
    let entry = Raw::parse(&line).map_err(|_| io::ErrorKind::InvalidData)?;
    let content = entry
        .get("message")
        .and_then(|message| message.get("content"));
    Ok(content_text(content, " ").into_owned())
}

impl ListedSession {
    /// Returns the facts by which a [`SessionFilter`] accepts the session.
    pub fn selection_facts(&self) -> SelectionFacts {
        SelectionFacts {
            modified_ms: self.modified_ms,
            is_empty: self.is_empty,
            bytes: self.bytes,
        }
    }

    /// Returns the name or, without one, the title taken from the messages. Empty if there is
    /// neither.
    pub fn title(&self) -> Text<'_> {
        titles::choose_title(self.name.as_ref(), self.opening.as_ref())
    }

    /// Returns the first message of the user if the title of the session is taken from it. `None`
    /// if the session has a name, or if that message is a command such as `/mode`.
    fn titling_question(&self) -> Option<&Question> {
        if self.name.is_some() {
            return None;
        }
        // Any other title is the name of a command, or the words of someone else.
        let opens_with_words = matches!(self.opening, Some(Opening::Words(_)));
        if !opens_with_words {
            return None;
        }
        let question = self.first_question.as_ref()?;
        let title = Text::from(title_words(&question.text.to_string_lossy()));
        if title.is_empty() || is_command(&title) {
            return None;
        }
        Some(question)
    }
}
