//! The data that a list shows of each session, and its order.
//!
//! Fields that are in pi's list, too, have the same meaning: `modified` is the newest time of a
//! user or assistant message, `firstMessage` is the first user message with text, and the name is
//! that of the last `session_info`.

use crate::format::format_dollars;
use crate::format::title::{plain_words, title_words, without_envelope};
use crate::load::{LoadError, LoadOptions, load, read_header};
use crate::ops::branches::find_branches;
use crate::ops::context_estimate::estimate_if_implausible;
use crate::ops::prune::Restoration;
use crate::session::Header;
use crate::session::Session;
use crate::session::defect::FindingKind;
use crate::session::dialect::Dialect;
use crate::session::entry::Span;
use crate::session::labels::Labels;
use crate::session::list_stats::{EntryKey, Opening, Question, is_command};
use crate::session::period::Period;
use crate::session::read::entry_reader::EntryReader;
use crate::session::tree::Tree;
use crate::session::usage::{BilledRequest, SubAgents, UsageSums};
use foldhash::{HashMap, HashSet};
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_store::{FoundFile, Glance, ReadAt};
use shared_start::{SharedStart, measure_shared_starts};
use std::path::{Path, PathBuf};
use std::sync::Arc;

mod shared_start;

/// A session in a list.
#[derive(Clone, Debug)]
pub struct ListedSession {
    /// Its file.
    pub path: PathBuf,
    /// The size of the session in bytes; of an archived session, before compression.
    pub bytes: u64,
    /// When its file last changed, in milliseconds since 1970.
    pub file_modified_ms: i64,
    /// The session that it is a sub-agent or advisor of.
    pub owner: Option<Arc<Path>>,
    /// Its id.
    pub id: Text<'static>,
    /// The agent that it belongs to.
    pub agent: Dialect,
    /// The version in its header; 1 if there is none.
    pub version: f64,
    /// The name given by the user or by oh-my-pi.
    pub name: Option<Text<'static>>,
    /// The working directory; empty if the header has none.
    pub cwd: Text<'static>,
    /// The repository of that directory, if the list is grouped by repository.
    pub repository: Option<PathBuf>,
    /// The session it was forked from, as in its header: a path, or an id.
    pub parent: Option<Text<'static>>,
    /// When it was started, in milliseconds since 1970.
    pub created_ms: Option<i64>,
    /// The time of the last question or answer; if there is none, of the start, or of the file.
    pub modified_ms: i64,
    /// The number of entries.
    pub entry_count: u32,
    /// The number of entries that are messages.
    pub message_count: u32,
    /// The number of these that are messages of the user.
    pub user_message_count: u32,
    /// Whether it has no user message, also among what was pruned from it.
    pub is_empty: bool,
    /// The number of branches, as counted by `branches`.
    pub branch_count: u32,
    /// The first question.
    pub first_question: Option<Question>,
    /// Its title if it has no name.
    pub opening: Option<Opening>,
    /// The location of the line of the first question.
    pub question_span: Option<Span>,
    /// The models that responded.
    pub models: Vec<Text<'static>>,
    /// Its usage, on all branches.
    pub usage: UsageSums,
    /// The labels in effect.
    pub labels: Vec<Text<'static>>,
    /// The size of the context at the leaf in tokens, as the agent counts them.
    pub context_tokens: Option<f64>,
    /// The estimate of that size in tokens, if the agent's count is implausible.
    pub context_estimate: Option<f64>,
    /// Whether it was started or has an entry in the period of the list.
    pub is_in_period: bool,
    /// Whether its last line is incomplete.
    pub is_torn: bool,
    /// Whether an agent works on it. That is not in the file: who lists sessions sets it.
    pub is_running: bool,
}

/// A session that was read for a list.
#[derive(Debug)]
pub struct ReadSession {
    /// The row of the list.
    pub listed: ListedSession,
    /// The keys that identify its entries, if requested.
    pub keys: Vec<EntryKey>,
    /// The requests that its entries record.
    pub billed: Vec<BilledRequest>,
}

/// Reads one session that is listed alone. The usage that it reports for its sub-agents counts as
/// its own, because their sessions are not listed. `modified_ms` and `pruned` are as for
/// [`read_session`].
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

/// Reads one session of a list.
///
/// - `modified_ms` is when its file last changed, in milliseconds since 1970.
/// - `agents` are the sub-agents whose sessions are listed as well. Their usage counts there, so
///   what this session reports for them is left out.
/// - `pruned` restores what was pruned from the session: its requests were paid for, so their usage
///   counts.
/// - `options` must request what a list shows, and usage.
pub fn read_session(
    path: &Path,
    source: &dyn ReadAt,
    modified_ms: i64,
    agents: &SubAgents,
    pruned: Option<&Restoration>,
    options: &LoadOptions,
) -> Result<ReadSession, LoadError> {
    let mut session = load(source, options)?;
    let list_stats = std::mem::take(&mut session.collected.list_stats);
    let mut billed = std::mem::take(&mut session.collected.billed);
    let mut keys = std::mem::take(&mut session.collected.keys);
    let mut is_empty = list_stats.user_message_count == 0;
    if let Some(pruned) = pruned {
        let unpruned = load(&pruned.restored_file(source), options)?;
        is_empty &= unpruned.collected.list_stats.user_message_count == 0;
        billed = unpruned.collected.billed;
        keys = unpruned.collected.keys;
        for (key, entry) in keys.iter_mut().zip(&unpruned.entries) {
            key.is_pruned = pruned.session_line(entry.line).is_none();
        }
    }
    billed.retain(|request| !request.is_counted_elsewhere(path, agents));

    let tree = Tree::new(&session);
    let reader = EntryReader::new(&session, source);
    let active_path = session.path(session.leaf);
    let context = session.agent().estimate_context(&active_path, &reader)?;
    let context_estimate = estimate_if_implausible(context, &active_path, &reader)?;
    let labels_in_effect = Labels::new(&session);
    let labels = labels_in_effect
        .changes()
        .map(|change| session.text(change.name).into_owned())
        .collect();

    let header = Raw::from_checked(&session.header.bytes);
    let created_ms = session.header.started_ms();
    let file_modified_ms = modified_ms;
    let modified_ms = match list_stats.last_activity_ms {
        Some(active_ms) if active_ms > 0.0 => active_ms as i64,
        _ => created_ms.unwrap_or(file_modified_ms),
    };
    let period = options.list_stats.unwrap_or_default();
    let listed = ListedSession {
        path: path.to_owned(),
        bytes: source.len(),
        file_modified_ms,
        owner: None,
        agent: session.dialect,
        version: header.get("version").and_then(Raw::number).unwrap_or(1.0),
        name: session.name(),
        cwd: session.header.cwd.clone().unwrap_or_default(),
        repository: None,
        parent: header.get_text("parentSession").map(Text::into_owned),
        created_ms,
        modified_ms,
        entry_count: session.entries.len() as u32,
        message_count: list_stats.message_count,
        user_message_count: list_stats.user_message_count,
        is_empty,
        branch_count: find_branches(&session, &tree).len() as u32,
        question_span: list_stats
            .question
            .as_ref()
            .map(|question| session.entry(question.entry).span),
        first_question: list_stats.question,
        opening: list_stats.opening,
        models: list_stats.models,
        usage: billed.iter().map(|request| &request.usage).collect(),
        labels,
        context_tokens: if context > 0.0 { Some(context) } else { None },
        context_estimate,
        is_torn: session
            .problems
            .iter()
            .any(|problem| problem.kind == FindingKind::TornTail),
        is_running: false,
        is_in_period: list_stats.is_in_period || period.contains(created_ms.unwrap_or(modified_ms)),
        id: session.header.id,
    };
    Ok(ReadSession {
        listed,
        keys,
        billed,
    })
}

/// Returns the whole text of the first question; `(no messages)` if there is none. The file is read
/// only if the list has no more than the start of the text.
///
/// # Errors
/// If the line cannot be read, or is no longer JSON because the file has changed.
pub fn first_message(
    listed: &ListedSession,
    source: &dyn ReadAt,
) -> std::io::Result<Text<'static>> {
    let (Some(question), Some(span)) = (&listed.first_question, listed.question_span) else {
        return Ok(Text::from("(no messages)"));
    };
    if question.is_whole {
        return Ok(question.text.clone());
    }
    let line = source.read_range(span.range())?;
    let entry = Raw::parse(&line).map_err(|_| std::io::ErrorKind::InvalidData)?;
    let content = entry
        .get("message")
        .and_then(|message| message.get("content"));
    Ok(crate::session::content::content_text(content, " ").into_owned())
}

/// Which sessions to choose; by default, all.
#[derive(Clone, Copy, Debug, Default)]
pub struct SessionFilter {
    /// The time before which the newest message must have been written, in milliseconds since 1970.
    pub before_ms: Option<i64>,
    /// Whether only sessions without user messages are chosen.
    pub only_empty: bool,
    /// The size in bytes that a session must exceed.
    pub larger_than: Option<u64>,
}

/// What decides whether a session is chosen.
#[derive(Clone, Copy, Debug)]
pub struct SelectionFacts {
    /// The time of its newest message, in milliseconds since 1970.
    pub modified_ms: i64,
    /// Whether it has no user message.
    pub is_empty: bool,
    /// Its size.
    pub bytes: u64,
}

impl SessionFilter {
    /// Whether a session is chosen.
    pub fn accepts(self, session: SelectionFacts) -> bool {
        let is_old_enough = self
            .before_ms
            .is_none_or(|before| session.modified_ms < before);
        let is_large_enough = self.larger_than.is_none_or(|limit| session.bytes > limit);
        is_old_enough && is_large_enough && (session.is_empty || !self.only_empty)
    }
}

/// The sort key of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Order {
    /// The newest message first.
    #[value(aliases = ["time", "date"])]
    Modified,
    /// The most recently started first.
    Created,
    /// By name or first user message.
    Name,
    /// By directory, the newest of each first.
    Project,
    /// The most messages first.
    Messages,
    /// The largest file first.
    Size,
    /// The largest context first.
    Context,
    /// The most tokens first.
    Tokens,
    /// The most expensive first.
    Cost,
}

/// Sorts a list. Sessions that are equal in this order are sorted by their last activity, the
/// newest first, then by path.
pub fn sort_sessions(list: &mut [ListedSession], order: Order) {
    list.sort_by(|a, b| {
        b.modified_ms
            .cmp(&a.modified_ms)
            .then_with(|| a.path.as_os_str().cmp(b.path.as_os_str()))
    });
    // These sorts are stable: they keep the order above for equal sessions.
    match order {
        Order::Modified => {}
        Order::Created => list.sort_by_key(|session| std::cmp::Reverse(session.created_ms)),
        Order::Name => {
            list.sort_by_cached_key(|session| session.title().to_string_lossy().to_lowercase())
        }
        Order::Project => list.sort_by(|a, b| a.cwd.as_bytes().cmp(b.cwd.as_bytes())),
        Order::Messages => list.sort_by_key(|session| std::cmp::Reverse(session.message_count)),
        Order::Size => list.sort_by_key(|session| std::cmp::Reverse(session.bytes)),
        Order::Context => sort_descending(list, |session| {
            let size = session.context_estimate.or(session.context_tokens);
            size.unwrap_or(-1.0)
        }),
        Order::Tokens => sort_descending(list, |session| session.usage.total_tokens()),
        Order::Cost => sort_descending(list, |session| session.usage.cost),
    }
}

/// Sorts a list by a number, the greatest first. The sort is stable.
fn sort_descending(list: &mut [ListedSession], key: impl Fn(&ListedSession) -> f64) {
    list.sort_by(|a, b| key(b).total_cmp(&key(a)));
}

impl ListedSession {
    /// Returns what decides whether it is chosen.
    pub fn selection_facts(&self) -> SelectionFacts {
        SelectionFacts {
            modified_ms: self.modified_ms,
            is_empty: self.is_empty,
            bytes: self.bytes,
        }
    }

    /// Returns the name, else the title taken from its messages, else an empty text.
    pub fn title(&self) -> Text<'_> {
        title_of(self.name.as_ref(), self.opening.as_ref())
    }

    /// Returns the first question, if the title of the session is taken from it. That is not so if
    /// the session has a name, or if its first question is a command such as `/mode`.
    fn titling_question(&self) -> Option<&Question> {
        if self.name.is_some() || !matches!(self.opening, Some(Opening::Words(_))) {
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

/// Returns the title of a loaded session as a list shows it. `list_stats` must have been requested.
pub fn session_title(session: &Session) -> String {
    let list_stats = &session.collected.list_stats;
    let name = session.name();
    let title = title_of(name.as_ref(), list_stats.opening.as_ref());
    display_title(&title, list_stats.message_count)
}

/// Returns the name, else the title taken from messages, else an empty text.
fn title_of<'t>(name: Option<&'t Text>, opening: Option<&'t Opening>) -> Text<'t> {
    if let Some(name) = name {
        return name.as_borrowed();
    }
    match opening {
        Some(opening) => opening.text().as_borrowed(),
        None => Text::default(),
    }
}

/// Returns the title of a session with this number of messages; in place of an empty one, why it is
/// empty.
pub fn display_title(title: &Text, messages: u32) -> String {
    if !title.is_empty() {
        title.to_string_lossy().trim().to_owned()
    } else if messages == 0 {
        "(no messages)".to_owned()
    } else {
        "(no text)".to_owned()
    }
}

/// Returns the cost of a session in dollars; `None` if no response has a cost. A `+` follows if only
/// some have.
pub fn display_cost(usage: &UsageSums) -> Option<String> {
    let has_unpriced = usage.unpriced_count > 0;
    if !usage.is_recorded() || has_unpriced && usage.cost <= 0.0 {
        return None;
    }
    let mut cost = format_dollars(usage.cost);
    if has_unpriced {
        cost.push('+');
    }
    Some(cost)
}

/// The maximum length in bytes of a line that is read again for the rest of its message.
const LONGEST_REREAD: u64 = 1 << 20;

/// The first message of a session, by which it is titled.
struct TitlingText {
    /// The index of the session in the list.
    index: usize,
    text: String,
}

/// Returns other titles for sessions whose titles begin like those of many other rows: an ellipsis
/// and the words after the shared start. Keys are indexes in the list. Only sessions whose titles
/// are taken from their first message are compared.
///
/// `read_first_message` returns the whole text of a first message, or `None`. It is called only if
/// all that the list has of the text is shared with other rows.
pub fn distinct_titles(
    list: &[ListedSession],
    rows: &[ListRow],
    mut read_first_message: impl FnMut(&ListedSession) -> Option<Text<'static>>,
) -> HashMap<usize, String> {
    let mut titling_texts = Vec::new();
    for row in rows {
        if let Some(question) = list[row.index].titling_question() {
            let text = question.text.to_string_lossy();
            titling_texts.push(TitlingText {
                index: row.index,
                text: without_envelope(&text).to_owned(),
            });
        }
    }

    let mut starts = find_shared_starts(&titling_texts);
    let mut has_longer_texts = false;
    for (titling, start) in titling_texts.iter_mut().zip(&starts) {
        let session = &list[titling.index];
        if start.is_whole_text
            && can_reread_question(session)
            && let Some(text) = read_first_message(session)
        {
            titling.text = without_envelope(&text.to_string_lossy()).to_owned();
            has_longer_texts = true;
        }
    }
    if has_longer_texts {
        starts = find_shared_starts(&titling_texts);
    }

    let mut titles = HashMap::default();
    for (titling, start) in titling_texts.iter().zip(&starts) {
        if start.length == 0 {
            continue;
        }
        let words = plain_words(&titling.text[start.length..]);
        if !words.is_empty() {
            titles.insert(titling.index, format!("… {words}"));
        }
    }
    titles
}

fn find_shared_starts(titling_texts: &[TitlingText]) -> Vec<SharedStart> {
    let mut texts: Vec<&str> = Vec::with_capacity(titling_texts.len());
    for titling in titling_texts {
        texts.push(&titling.text);
    }
    measure_shared_starts(&texts)
}

/// Whether the list holds only the start of the first message, and its line is short enough to be
/// read again.
fn can_reread_question(session: &ListedSession) -> bool {
    let (Some(question), Some(span)) = (&session.first_question, session.question_span) else {
        return false;
    };
    !question.is_whole && span.len <= LONGEST_REREAD
}

/// Where the rows of forks are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForkRows {
    /// At the top level, as those of other sessions.
    Separate,
    /// Below their sources, in the order in which they were started.
    Nested,
    /// Below their sources. If a fork has a newer message than its source, the fork with the newest
    /// comes last and continues its source at the same level.
    NestedByTrunk,
}

/// A row of a list: a session and its place in the tree of sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListRow {
    /// Its index in the list.
    pub index: usize,
    /// The number of sessions above it in the tree.
    pub depth: usize,
    /// The number of levels that it is indented, at most `depth`.
    pub level: usize,
    /// Whether it is a fork that continues its source at the same level.
    pub continues_source: bool,
    /// Whether it is the last of its siblings.
    pub is_last: bool,
}

/// Returns the rows of a sorted list, from top to bottom, with sub-agents and advisors below the
/// sessions that own them.
///
/// The sessions at the top level have the order of the list; among them is each session whose
/// parent is not in the list. Below a session, sub-agents precede forks, each in the order in which
/// they were started.
pub fn build_rows(list: &[ListedSession], fork_rows: ForkRows) -> Vec<ListRow> {
    let mut children_by_parent: Vec<Vec<usize>> = vec![Vec::new(); list.len()];
    let mut roots = Vec::new();
    let parents = find_parents(list, fork_rows);
    for (index, &parent) in parents.iter().enumerate() {
        match parent {
            Some(parent) => children_by_parent[parent].push(index),
            None => roots.push(index),
        }
    }
    for children in &mut children_by_parent {
        children.sort_by_key(|&child| {
            let is_fork = list[child].owner.is_none();
            (is_fork, list[child].created_ms)
        });
    }

    let continuations = if fork_rows == ForkRows::NestedByTrunk {
        find_continuing_forks(list, &roots, &children_by_parent)
    } else {
        vec![None; list.len()]
    };
    for (children, &continuation) in children_by_parent.iter_mut().zip(&continuations) {
        if let Some(continuation) = continuation {
            children.retain(|&child| child != continuation);
            children.push(continuation);
        }
    }
    stack_rows(&roots, &children_by_parent, &continuations)
}

/// Returns, for each session, the fork that continues it: the fork with the newest message in it or
/// below it, if that message is newer than all messages of the session itself.
fn find_continuing_forks(
    list: &[ListedSession],
    roots: &[usize],
    children_by_parent: &[Vec<usize>],
) -> Vec<Option<usize>> {
    // Parents precede their children.
    let mut order = roots.to_vec();
    let mut visited_count = 0;
    while let Some(&index) = order.get(visited_count) {
        order.extend(&children_by_parent[index]);
        visited_count += 1;
    }

    let mut newest_ms: Vec<i64> = list.iter().map(|session| session.modified_ms).collect();
    let mut continuations = vec![None; list.len()];
    for &index in order.iter().rev() {
        for &child in &children_by_parent[index] {
            let is_fork = list[child].owner.is_none();
            if is_fork && newest_ms[child] > newest_ms[index] {
                newest_ms[index] = newest_ms[child];
                continuations[index] = Some(child);
            }
        }
    }
    continuations
}

/// Returns the rows of sessions and of their children, from top to bottom. A child that is the
/// continuation of its parent is the last of its children.
fn stack_rows(
    roots: &[usize],
    children_by_parent: &[Vec<usize>],
    continuations: &[Option<usize>],
) -> Vec<ListRow> {
    let mut rows = Vec::with_capacity(children_by_parent.len());
    // A stack of the rows to come, the next one on top.
    let mut pending = Vec::new();
    for &index in roots.iter().rev() {
        pending.push(ListRow {
            index,
            depth: 0,
            level: 0,
            continues_source: false,
            is_last: false,
        });
    }
    while let Some(row) = pending.pop() {
        rows.push(row);
        let children = &children_by_parent[row.index];
        let last = children.last().copied();
        for &child in children.iter().rev() {
            let continues_source = continuations[row.index] == Some(child);
            pending.push(ListRow {
                index: child,
                depth: row.depth + 1,
                level: row.level + usize::from(!continues_source),
                continues_source,
                is_last: Some(child) == last,
            });
        }
    }
    rows
}

/// Sorts rows by repository, and sets the repository of each session. Repositories have the order
/// of their first rows; sessions in none come last. Rows of one repository keep their order.
///
/// Rows nested below a session belong to the repository of that session, so that they stay below
/// it. `repository` is called once for each row at the top level.
pub fn group_by_repository(
    list: &mut [ListedSession],
    rows: &mut [ListRow],
    mut repository: impl FnMut(&ListedSession) -> Option<PathBuf>,
) {
    let mut ranks: HashMap<Option<PathBuf>, usize> = HashMap::default();
    ranks.insert(None, usize::MAX);
    // Nested rows follow the row at the top level.
    let mut root_repository = None;
    for row in rows.iter() {
        if row.depth == 0 {
            root_repository = repository(&list[row.index]);
        }
        let next_rank = ranks.len();
        ranks.entry(root_repository.clone()).or_insert(next_rank);
        list[row.index].repository.clone_from(&root_repository);
    }
    rows.sort_by_key(|row| ranks[&list[row.index].repository]);
}

/// Returns the parent of each session as an index in the list: for a sub-agent the session that
/// owns it, for a fork its source. With [`ForkRows::Separate`] forks have no parent.
///
/// A link that would close a cycle is left out: headers can name each other as sources.
fn find_parents(list: &[ListedSession], fork_rows: ForkRows) -> Vec<Option<usize>> {
    let mut by_path: HashMap<&Path, usize> = HashMap::default();
    let mut by_id: HashMap<&[u8], usize> = HashMap::default();
    for (index, session) in list.iter().enumerate() {
        by_path.insert(&session.path, index);
        // Of sessions with the same id, the first in the list.
        by_id.entry(session.id.as_bytes()).or_insert(index);
    }

    let find_owner = |session: &ListedSession| {
        let owner = session.owner.as_deref()?;
        by_path.get(owner).copied()
    };
    let find_source = |session: &ListedSession| {
        let parent = session.parent.as_ref()?;
        let path = parent.to_string_lossy();
        let source = by_path.get(Path::new(&*path));
        source.or_else(|| by_id.get(parent.as_bytes())).copied()
    };

    let mut parents: Vec<Option<usize>> = vec![None; list.len()];
    for (index, session) in list.iter().enumerate() {
        let mut parent = find_owner(session);
        if parent.is_none() && fork_rows != ForkRows::Separate {
            parent = find_source(session);
        }
        if let Some(parent) = parent
            && !is_at_or_above(&parents, index, parent)
        {
            parents[index] = Some(parent);
        }
    }
    parents
}

/// Whether `ancestor` is `session` itself, or above it. `parents` has the parent of each session.
fn is_at_or_above(parents: &[Option<usize>], ancestor: usize, session: usize) -> bool {
    let mut position = Some(session);
    while let Some(current) = position {
        if current == ancestor {
            return true;
        }
        position = parents[current];
    }
    false
}

/// Adds the entries of a session to those counted so far, and returns its row, in which only the
/// entries that were new are counted, with their usage.
///
/// `counted_keys` has the keys of the entries of all earlier sessions. A fork copies entries of its
/// source, so sessions must be passed in the order in which they were started. An entry without a
/// key is not a copy. A session that was loaded without keys stays as it is.
pub fn count_new_entries(counted_keys: &mut HashSet<u128>, reading: ReadSession) -> ListedSession {
    let mut listed = reading.listed;
    if reading.keys.is_empty() {
        return listed;
    }
    listed.entry_count = 0;
    listed.message_count = 0;
    listed.user_message_count = 0;
    listed.usage = UsageSums::default();
    let mut billed = reading.billed.iter().peekable();
    for (index, entry) in reading.keys.iter().enumerate() {
        // Requests are in the order of their entries. That of a copy is passed over.
        let request = billed.next_if(|request| request.entry.index() == index);
        if entry.key != EntryKey::NONE {
            let is_new = counted_keys.insert(entry.key);
            if !is_new {
                continue;
            }
        }
        if !entry.is_pruned {
            listed.entry_count += 1;
            listed.message_count += u32::from(entry.is_message);
            listed.user_message_count += u32::from(entry.is_user_message);
        }
        // What was pruned was paid for as well.
        if let Some(request) = request {
            listed.usage.add(&request.usage);
        }
    }
    listed
}

/// A session file, as its header places it among others.
#[derive(Debug)]
pub struct FamilyFile {
    /// The file.
    pub file: FoundFile,
    /// Whether it is a fork, or the source of one.
    pub is_related: bool,
}

/// Sorts files by the time at which their sessions were started, the oldest first. Files without a
/// known time, such as those that are not sessions, come last. Only headers are read.
pub fn sort_by_start(files: Vec<FoundFile>) -> Vec<FamilyFile> {
    let headers: Vec<Option<Header>> = files
        .iter()
        .map(|file| try_read_header(&file.path))
        .collect();
    // The paths or ids of the sessions that others were forked from.
    let sources: HashSet<Vec<u8>> = headers.iter().flatten().filter_map(fork_source).collect();

    let mut started_files = Vec::new();
    for (file, header) in files.into_iter().zip(headers) {
        let mut started_ms = None;
        let mut is_related = false;
        if let Some(header) = header {
            started_ms = header.started_ms();
            let path = file.path.as_os_str().as_encoded_bytes();
            is_related = fork_source(&header).is_some()
                || sources.contains(path)
                || sources.contains(header.id.as_bytes());
        }
        let family_file = FamilyFile { file, is_related };
        started_files.push((started_ms.unwrap_or(i64::MAX), family_file));
    }
    started_files.sort_by_key(|&(started_ms, _)| started_ms);
    started_files.into_iter().map(|(_, file)| file).collect()
}

/// Returns the header of a session file; `None` if it cannot be read, or is not a session.
fn try_read_header(path: &Path) -> Option<Header> {
    let file = Glance::open(path).ok()?;
    read_header(&file).ok()
}

/// Returns what a fork was made from, as in its header: a path, or an id.
fn fork_source(header: &Header) -> Option<Vec<u8>> {
    let source = Raw::from_checked(&header.bytes).get_text("parentSession")?;
    Some(source.into_bytes())
}
