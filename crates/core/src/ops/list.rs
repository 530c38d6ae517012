//! The data that a list shows of each session, and its order.
//!
//! Fields that are in pi's list, too, have the same meaning: `modified` is the newest time of a
//! user or assistant message, `firstMessage` is the first user message with text, and the name is
//! that of the last `session_info`.

use crate::load::{LoadError, LoadOptions, load, read_header};
use crate::ops::branches::find_branches;
use crate::ops::prune::Restoration;
use crate::session::Header;
use crate::session::defect::FindingKind;
use crate::session::dialect::Dialect;
use crate::session::entry::Span;
use crate::session::labels::Labels;
use crate::session::list_stats::{EntryKey, Opening, Question};
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
    /// Whether it was started or has an entry in the period of the list.
    pub is_in_period: bool,
    /// Whether its last line is incomplete.
    pub is_torn: bool,
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

/// Reads one session by itself, as it is listed, with what its sub-agents cost.
pub fn read_single(
    path: &Path,
    source: &dyn ReadAt,
    modified: i64,
) -> Result<ListedSession, LoadError> {
    let options = LoadOptions {
        workers: 1,
        list_stats: Some(Period::default()),
        usage: true,
        ..LoadOptions::default()
    };
    let agents = SubAgents::default();
    let reading = read_session(path, source, modified, &agents, None, &options)?;
    Ok(reading.listed)
}

/// Reads one session. `modified` is when its content last changed, in milliseconds since 1970. The
/// usage of the sub-agents that are listed as well (`agents`) is that of their own sessions; what
/// was pruned from it was paid for as well. The options must request what a list shows, and usage.
pub fn read_session(
    path: &Path,
    source: &dyn ReadAt,
    modified: i64,
    agents: &SubAgents,
    pruned: Option<&Restoration>,
    options: &LoadOptions,
) -> Result<ReadSession, LoadError> {
    let mut session = load(source, options)?;
    let list_stats = std::mem::take(&mut session.collected.list_stats);
    let mut billed = std::mem::take(&mut session.collected.billed);
    let mut keys = std::mem::take(&mut session.collected.keys);
    if let Some(pruned) = pruned {
        let unpruned = load(&pruned.restored_file(source), options)?;
        billed = unpruned.collected.billed;
        keys = unpruned.collected.keys;
        for (key, entry) in keys.iter_mut().zip(&unpruned.entries) {
            key.is_pruned = pruned.session_line(entry.line).is_none();
        }
    }
    billed.retain(|request| !request.is_counted_elsewhere(path, agents));

    let tree = Tree::new(&session);
    let reader = EntryReader::new(&session, source);
    let context = session
        .agent()
        .estimate_context(&session.path(session.leaf), &reader)?;
    let labels_in_effect = Labels::new(&session);
    let labels = labels_in_effect
        .changes()
        .map(|change| session.text(change.name).into_owned())
        .collect();

    let header = Raw::from_checked(&session.header.bytes);
    let created = session.header.started_ms();
    let modified = match list_stats.last_activity_ms {
        Some(newest_message) if newest_message > 0.0 => newest_message as i64,
        _ => created.unwrap_or(modified),
    };
    let period = options.list_stats.unwrap_or_default();
    let listed = ListedSession {
        path: path.to_owned(),
        owner: None,
        agent: session.dialect,
        version: header.get("version").and_then(Raw::number).unwrap_or(1.0),
        name: session.name(),
        cwd: session.header.cwd.clone().unwrap_or_default(),
        repository: None,
        parent: header.get_text("parentSession").map(Text::into_owned),
        created_ms: created,
        modified_ms: modified,
        entry_count: session.entries.len() as u32,
        message_count: list_stats.message_count,
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
        is_torn: session
            .problems
            .iter()
            .any(|problem| problem.kind == FindingKind::TornTail),
        is_in_period: list_stats.is_in_period || period.contains(created.unwrap_or(modified)),
        id: session.header.id,
    };
    Ok(ReadSession {
        listed,
        keys,
        billed,
    })
}

/// Returns the whole text of the first question, reading it from the file unless the list holds all
/// of it.
///
/// # Errors
/// If it cannot be read, or is no longer there.
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
    /// The largest context first.
    Context,
    /// The most tokens first.
    Tokens,
    /// The most expensive first.
    Cost,
}

/// Sorts a list; sessions that compare equal are sorted newest first, then by path.
pub fn sort_sessions(list: &mut [ListedSession], order: Order) {
    list.sort_by(|a, b| {
        b.modified_ms
            .cmp(&a.modified_ms)
            .then_with(|| a.path.as_os_str().cmp(b.path.as_os_str()))
    });
    match order {
        Order::Modified => {}
        Order::Created => list.sort_by_key(|session| std::cmp::Reverse(session.created_ms)),
        Order::Name => {
            list.sort_by_cached_key(|session| session.title().to_string_lossy().to_lowercase())
        }
        Order::Project => list.sort_by(|a, b| a.cwd.as_bytes().cmp(b.cwd.as_bytes())),
        Order::Messages => list.sort_by_key(|session| std::cmp::Reverse(session.message_count)),
        Order::Context => sort_descending(list, |session| session.context_tokens.unwrap_or(-1.0)),
        Order::Tokens => sort_descending(list, |session| session.usage.total_tokens()),
        Order::Cost => sort_descending(list, |session| session.usage.cost),
    }
}

fn sort_descending(list: &mut [ListedSession], key: impl Fn(&ListedSession) -> f64) {
    list.sort_by(|a, b| key(b).total_cmp(&key(a)));
}

impl ListedSession {
    /// Returns the name, else the title taken from its messages, else an empty text.
    pub fn title(&self) -> Text<'_> {
        if let Some(name) = &self.name {
            return name.as_borrowed();
        }
        match &self.opening {
            Some(opening) => opening.text().as_borrowed(),
            None => Text::default(),
        }
    }

    /// Returns the first question, if the session has no name and is titled by it. A command, and a
    /// message that a chat program forwarded, are not.
    fn titling_question(&self) -> Option<&Question> {
        let Some(Opening::Words(title)) = &self.opening else {
            return None;
        };
        if self.name.is_some() {
            return None;
        }

        let question = self.first_question.as_ref()?;
        let text = question.text.to_string_lossy();
        let title = title.to_string_lossy();
        // The title is the question, shortened.
        let begins_alike = text.split_whitespace().next() == title.split_whitespace().next();
        if begins_alike { Some(question) } else { None }
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

/// The most bytes of a line that is read again for the rest of its message.
const LONGEST_REREAD: u64 = 1 << 20;

/// The most words of a title that can be seen.
const MOST_WORDS: usize = 200;

/// The first message of a session, by which it is titled.
struct TitlingText {
    /// The index of the session in the list.
    at: usize,
    text: String,
}

/// Returns what is shown in place of titles that begin like those of many other rows, by index in
/// the list: what follows the shared start. Only sessions that are titled by their first message
/// are compared. `whole` returns all of a first message; it is called only if its known start is
/// shared in full.
pub fn distinct_titles(
    list: &[ListedSession],
    rows: &[ListRow],
    mut read_first_message: impl FnMut(&ListedSession) -> Option<Text<'static>>,
) -> HashMap<usize, String> {
    let mut texts = Vec::new();
    for row in rows {
        if let Some(question) = list[row.index].titling_question() {
            texts.push(TitlingText {
                at: row.index,
                text: question.text.to_string_lossy().into_owned(),
            });
        }
    }

    let mut starts = find_shared_starts(&texts);
    let mut has_more = false;
    for (titling, start) in texts.iter_mut().zip(&starts) {
        let session = &list[titling.at];
        if start.is_whole_text
            && can_reread_question(session)
            && let Some(text) = read_first_message(session)
        {
            titling.text = text.to_string_lossy().into_owned();
            has_more = true;
        }
    }
    if has_more {
        starts = find_shared_starts(&texts);
    }

    let mut titles = HashMap::default();
    for (titling, start) in texts.iter().zip(&starts) {
        let rest = titling.text[start.length..].split_whitespace();
        let rest: Vec<&str> = rest.take(MOST_WORDS).collect();
        if start.length > 0 && !rest.is_empty() {
            titles.insert(titling.at, format!("… {}", rest.join(" ")));
        }
    }
    titles
}

fn find_shared_starts(texts: &[TitlingText]) -> Vec<SharedStart> {
    let texts: Vec<&str> = texts.iter().map(|titling| &*titling.text).collect();
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

/// A row of a list: a session and its place in the tree of sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListRow {
    /// Its index in the list.
    pub index: usize,
    /// The number of sessions above it in the tree.
    pub depth: usize,
    /// Whether it is the last of its siblings.
    pub is_last: bool,
}

/// Returns the rows of a sorted list, with sub-agents and advisors below their sessions, and forks
/// below their sources if `nests_forks`. A session whose parent is not in the list is at the top
/// level.
pub fn build_rows(list: &[ListedSession], nests_forks: bool) -> Vec<ListRow> {
    let mut children_by_parent: Vec<Vec<usize>> = vec![Vec::new(); list.len()];
    let mut roots = Vec::new();
    for (index, parent) in find_parents(list, nests_forks).into_iter().enumerate() {
        match parent {
            Some(parent) => children_by_parent[parent].push(index),
            None => roots.push(index),
        }
    }

    let mut rows = Vec::with_capacity(list.len());
    // The rows to come, the next one last.
    let mut pending = Vec::new();
    for &at in roots.iter().rev() {
        pending.push(ListRow {
            index: at,
            depth: 0,
            is_last: false,
        });
    }
    while let Some(row) = pending.pop() {
        rows.push(row);
        let mut children = std::mem::take(&mut children_by_parent[row.index]);
        // Sub-agents first, then forks, each by creation time.
        children.sort_by_key(|&at| (list[at].owner.is_none(), list[at].created_ms));
        let last = children.last().copied();
        for &at in children.iter().rev() {
            pending.push(ListRow {
                index: at,
                depth: row.depth + 1,
                is_last: Some(at) == last,
            });
        }
    }
    rows
}

/// Moves the rows of one repository together, to the place of its first; sessions in none come
/// last. What is nested below a session belongs to the repository of that session.
pub fn group_by_repository(
    list: &mut [ListedSession],
    rows: &mut [ListRow],
    mut repository: impl FnMut(&ListedSession) -> Option<PathBuf>,
) {
    let mut ranks: HashMap<Option<PathBuf>, usize> = HashMap::default();
    ranks.insert(None, usize::MAX);
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

/// Returns the parent of each session, such that there are no cycles: the session that a sub-agent
/// works for, or else the source of a fork.
fn find_parents(list: &[ListedSession], nests_forks: bool) -> Vec<Option<usize>> {
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
        if parent.is_none() && nests_forks {
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

/// Whether `ancestor` is `session`, or above it.
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

/// Returns the session of a reading, in which only the entries that no earlier session contains are
/// counted, with their usage. `seen` has the keys of earlier sessions; those of this one are added.
/// Readings must be passed in the order in which the sessions were started.
pub fn count_own_entries(seen: &mut HashSet<u128>, reading: ReadSession) -> ListedSession {
    let mut listed = reading.listed;
    if reading.keys.is_empty() {
        return listed;
    }
    listed.entry_count = 0;
    listed.message_count = 0;
    listed.usage = UsageSums::default();
    let mut billed = reading.billed.iter().peekable();
    for (index, entry) in reading.keys.iter().enumerate() {
        let request = billed.next_if(|request| request.entry.index() == index);
        if entry.key != EntryKey::NONE {
            let is_new = seen.insert(entry.key);
            if !is_new {
                continue;
            }
        }
        if !entry.is_pruned {
            listed.entry_count += 1;
            listed.message_count += u32::from(entry.is_message);
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

/// Returns the files in the order in which their sessions were started. Only headers are read.
/// Files that are not sessions come last.
pub fn sort_by_start(files: Vec<FoundFile>) -> Vec<FamilyFile> {
    let headers: Vec<Option<Header>> = files
        .iter()
        .map(|file| try_read_header(&file.path))
        .collect();
    let sources: HashSet<Vec<u8>> = headers.iter().flatten().filter_map(fork_source).collect();

    let mut order = Vec::new();
    for (file, header) in files.into_iter().zip(headers) {
        let started_ms = header.as_ref().and_then(Header::started_ms);
        let is_related = header.is_some_and(|header| {
            let path = file.path.as_os_str().as_encoded_bytes();
            fork_source(&header).is_some()
                || sources.contains(path)
                || sources.contains(header.id.as_bytes())
        });
        let file = FamilyFile { file, is_related };
        order.push((started_ms.unwrap_or(i64::MAX), file));
    }
    order.sort_by_key(|&(started_ms, _)| started_ms);
    order.into_iter().map(|(_, file)| file).collect()
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
