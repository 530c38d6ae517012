//! Adds up the entries of sessions.

use crate::ops::stats::session_stats::{CountedEntry, SessionStats};
use crate::session::Session;
use crate::session::collected::CountedCall;
use crate::session::copied_turns::{ResponseTree, with_copied_turns};
use crate::session::entry::{Entry, EntryIx, Role, Slice};
use crate::session::file_calls::FileAction;
use crate::session::list_stats::EntryKey;
use crate::session::usage::UsageSums;
use foldhash::HashSet;
use foldhash::quality::FixedState;
use std::hash::BuildHasher;

/// The entries of the sessions that were counted so far, by keys that are the same in every copy.
#[derive(Default)]
pub struct EarlierEntries {
    /// The keys of entries and of their responses.
    keys: HashSet<u128>,
}

impl EarlierEntries {
    /// Returns, for each counted entry of a file, whether it is a copy of an entry in an earlier
    /// file. It is if an earlier file has its key or its response, or if it was copied together
    /// with such a response.
    ///
    /// An entry that is in one file twice counts twice, as in the agents: [`Self::add_session`] is
    /// called later. A session that was loaded without keys has no copies.
    pub fn find_copies(&self, stats: &SessionStats) -> Vec<bool> {
        let copied_turns = self.find_copied_turns(stats);
        let mut is_copy = Vec::with_capacity(stats.entries.len());
        for entry in &stats.entries {
            let key = entry_key(&stats.session, entry);
            let has_known_key = key.is_some_and(|key| self.keys.contains(&key));
            is_copy.push(has_known_key || copied_turns.contains(&entry.attribution.entry));
        }
        is_copy
    }

    /// Returns the entries with a response that an earlier file has, too, and the entries that were
    /// copied together with them.
    fn find_copied_turns(&self, stats: &SessionStats) -> HashSet<EntryIx> {
        let session = &stats.session;
        let mut copied_responses = HashSet::default();
        for entry in &stats.entries {
            if response_key(session, entry).is_some_and(|key| self.keys.contains(&key)) {
                copied_responses.insert(entry.attribution.entry);
            }
        }
        with_copied_turns(copied_responses, session)
    }

    /// Adds the entries of a file, so that their copies in later files are found.
    pub fn add_session(&mut self, stats: &SessionStats) {
        for entry in &stats.entries {
            self.keys.extend(entry_key(&stats.session, entry));
            // If the entry has no tokens, a later file may have the same response with its tokens,
            // which must not be taken for a copy.
            if entry.usage.is_some_and(|usage| usage.has_tokens()) {
                self.keys.extend(response_key(&stats.session, entry));
            }
        }
    }
}

impl ResponseTree for Session {
    fn entry_count(&self) -> usize {
        self.entries.len()
    }

    fn parent(&self, ix: EntryIx) -> Option<EntryIx> {
        self.entry(ix).parent
    }

    fn is_response(&self, ix: EntryIx) -> bool {
        self.is_message(ix, Role::Assistant)
    }
}

/// Returns the key of the response in an entry. `None` if there is none, or if it was not paid for,
/// as a copy that `pick` made.
fn response_key(session: &Session, entry: &CountedEntry) -> Option<u128> {
    let keys = &session.collected.keys;
    let key = keys.get(entry.attribution.entry.index())?.response;
    if entry.is_billed && key != EntryKey::NONE {
        Some(key)
    } else {
        None
    }
}

/// Returns a key that identifies an entry across files: the key that was collected when the session
/// was loaded; for an entry without an id, which has no such key, a hash of its session, line and
/// time. `None` if the session was loaded without keys.
fn entry_key(session: &Session, entry: &CountedEntry) -> Option<u128> {
    let key = session
        .collected
        .keys
        .get(entry.attribution.entry.index())?
        .key;
    if key != EntryKey::NONE {
        return Some(key);
    }
    let identity = (session.header.id.as_bytes(), entry.line, entry.time_ms);
    Some(u128::from(FixedState::with_seed(0).hash_one(identity)))
}

/// Returns the path of the file that a call wrote or edited; `None` if it only read, or failed.
///
/// In the file lists of a compaction, the agents count only calls of their own tools. Here, the
/// tools of other agents count, too: otherwise, an imported session would have changed no files.
pub fn changed_file(call: &CountedCall) -> Option<Slice> {
    let file = call.file?;
    let changes = matches!(file.tool.action, FileAction::Write | FileAction::Edit);
    if changes && !call.has_failed {
        Some(file.path)
    } else {
        None
    }
}

/// Sums over entries.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// The number of sessions with at least one added entry.
    pub sessions: u64,
    /// All messages.
    pub messages: u64,
    /// User messages.
    pub user_messages: u64,
    /// Assistant messages.
    pub assistant_messages: u64,
    /// Tool results.
    pub tool_results: u64,
    /// Tool calls.
    pub tool_calls: u64,
    /// Calls that read a file and did not fail.
    pub reads: u64,
    /// Calls that wrote or edited a file and did not fail.
    pub writes: u64,
    /// Tool results that are errors; where only calls are added, calls that failed.
    pub tool_failures: u64,
    /// The usage of billed entries.
    pub usage: UsageSums,
    /// The total duration of turns, in milliseconds.
    pub took_ms: i64,
    /// The part of `took_ms` in which tools ran: the sum of the times from the entry before a tool
    /// result to the result.
    pub tools_took_ms: i64,
    /// The time of the earliest entry, in milliseconds since 1970; `None` if no entry has a time.
    pub first_ms: Option<i64>,
    /// The time of the latest entry, in milliseconds since 1970; `None` if no entry has a time.
    pub last_ms: Option<i64>,
    /// Hashes of the absolute paths of the files that were written or edited.
    changed_files: HashSet<u64>,
    /// The number of the session of the entry that was added last.
    last_session: Option<usize>,
}

impl Totals {
    /// Adds an entry of a session, and its tool calls. `number` is the number of the session, which
    /// distinguishes it from others.
    pub fn add_with_calls(&mut self, session: &Session, entry: &CountedEntry, number: usize) {
        self.add_entry(entry, number);
        for call in entry.calls_in(session) {
            self.count_call(session, call);
        }
    }

    /// Adds a tool call without its result. `session` is the number of the session.
    pub fn add_call(&mut self, stats: &SessionStats, call: &CountedCall, session: usize) {
        self.count_session(session);
        self.count_call(&stats.session, call);
    }

    /// Adds a call that names a file. A call counts once for each of its files. A failure is
    /// counted here, because the result of the call is not added.
    pub fn add_file_call(&mut self, stats: &SessionStats, call: &CountedCall, session: usize) {
        self.count_session(session);
        self.tool_calls += 1;
        self.count_file(&stats.session, call);
        if call.has_failed {
            self.tool_failures += 1;
        }
    }

    /// Counts a tool call and its file. A call with several files is counted once, but each of its
    /// files.
    fn count_call(&mut self, session: &Session, call: &CountedCall) {
        if !call.is_further_file {
            self.tool_calls += 1;
        }
        self.count_file(session, call);
    }

    /// Counts the file of a call as read or written, unless the call failed. Also adds it to the
    /// changed files, of which each is counted only once.
    fn count_file(&mut self, session: &Session, call: &CountedCall) {
        let Some(file) = call.file else {
            return;
        };
        if call.has_failed {
            return;
        }
        match file.tool.action {
            FileAction::Read => self.reads += 1,
            FileAction::Write | FileAction::Edit => self.writes += 1,
        }
        if let Some(path) = changed_file(call) {
            // A hash takes less memory than the path. The seed is fixed, so equal paths have equal
            // hashes.
            let path_hash = FixedState::with_seed(0).hash_one(session.bytes(path));
            self.changed_files.insert(path_hash);
        }
    }

    /// Adds an entry without its tool calls: its message, time and usage. `session` is the number
    /// of the session.
    pub fn add_entry(&mut self, entry: &CountedEntry, session: usize) {
        self.count_session(session);
        match entry.role {
            Some(Role::User) => self.user_messages += 1,
            Some(Role::Assistant) => self.assistant_messages += 1,
            Some(Role::ToolResult) => self.tool_results += 1,
            _ => {}
        }
        if entry.role.is_some() {
            self.messages += 1;
        }
        // This is set only for a tool result.
        if entry.has_failed {
            self.tool_failures += 1;
        }
        self.took_ms += entry.took_ms;
        if entry.role == Some(Role::ToolResult) {
            self.tools_took_ms += entry.took_ms;
        }
        self.add_time(entry.time_ms);
        if entry.is_billed {
            self.usage.add(&entry.usage.unwrap_or_default());
        }
    }

    /// Extends the time between the earliest and the latest entry. Entries need not be in the order
    /// of their times.
    fn add_time(&mut self, time_ms: i64) {
        if time_ms == Entry::NO_TIME {
            return;
        }
        let first_ms = self.first_ms.unwrap_or(time_ms);
        self.first_ms = Some(first_ms.min(time_ms));
        self.last_ms = self.last_ms.max(Some(time_ms));
    }

    /// Returns the number of files that were written or edited.
    pub fn changed_file_count(&self) -> usize {
        self.changed_files.len()
    }

    /// Counts a session once. It is enough to compare with the last session, because all entries of
    /// a session are added consecutively.
    fn count_session(&mut self, session: usize) {
        if self.last_session != Some(session) {
            self.last_session = Some(session);
            self.sessions += 1;
        }
    }
}
