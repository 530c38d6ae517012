//! Sums over the entries of sessions.

use crate::ops::stats::session_stats::{Counted, SessionStats};
use crate::session::Session;
use crate::session::collected::CountedCall;
use crate::session::entry::Role;
use crate::session::file_calls::FileAct;
use crate::session::list_stats::EntryKey;
use crate::session::usage::UsageSums;
use foldhash::HashSet;
use foldhash::quality::FixedState;
use std::hash::BuildHasher;

/// Returns for each entry of a file whether an earlier file had it, given the keys of their
/// entries, and adds those of this file, if the session was loaded with them. An entry that is in
/// one file twice counts twice, as in the agents.
pub fn copies(earlier: &mut HashSet<u128>, stats: &SessionStats) -> Vec<bool> {
    let session = &stats.session;
    let key = |entry: &Counted| match session.collected.keys.get(entry.by.entry.at())?.key {
        // An entry without an id is identified by session, line and time.
        EntryKey::NONE => {
            let place = (session.header.id.as_bytes(), entry.line, entry.time_ms);
            Some(u128::from(FixedState::with_seed(0).hash_one(place)))
        }
        key => Some(key),
    };
    let keys: Vec<_> = stats.entries.iter().map(key).collect();
    let copies = keys
        .iter()
        .map(|key| key.is_some_and(|key| earlier.contains(&key)))
        .collect();
    earlier.extend(keys.into_iter().flatten());
    copies
}

/// Sums over entries.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Sessions with at least one of the entries.
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
    /// Calls that read a file.
    pub reads: u64,
    /// Calls that write or edit a file.
    pub writes: u64,
    /// Tool results that are errors.
    pub tool_failures: u64,
    /// What the billed entries used.
    pub usage: UsageSums,
    /// The total duration of turns.
    pub took_ms: i64,
    /// The time of the latest entry.
    pub last_ms: Option<i64>,
    /// Hashes of their absolute paths.
    files: HashSet<u64>,
    session: Option<usize>,
}

impl Totals {
    /// Adds an entry with its tool calls; `session` is the number of its file.
    pub fn add(&mut self, stats: &SessionStats, entry: &Counted, session: usize) {
        self.add_entry(entry, session);
        stats
            .calls(entry)
            .iter()
            .for_each(|call| self.count(&stats.session, call));
    }

    /// Adds a tool call alone.
    pub fn add_call(&mut self, stats: &SessionStats, call: &CountedCall, session: usize) {
        self.begin(session);
        self.count(&stats.session, call);
    }

    fn count(&mut self, session: &Session, call: &CountedCall) {
        self.tool_calls += 1;
        let Some(file) = call.file else { return };
        match file.tool.act {
            FileAct::Read => self.reads += 1,
            FileAct::Write | FileAct::Edit => self.writes += 1,
        }
        // The agents list no other files.
        if file.tool.act != FileAct::Read && !file.tool.is_unlisted {
            self.files
                .insert(FixedState::with_seed(0).hash_one(session.bytes(file.path)));
        }
    }

    /// Adds an entry without its tool calls.
    pub fn add_entry(&mut self, entry: &Counted, session: usize) {
        self.begin(session);
        match entry.role {
            Some(Role::User) => self.user_messages += 1,
            Some(Role::Assistant) => self.assistant_messages += 1,
            Some(Role::ToolResult) => self.tool_results += 1,
            _ => {}
        }
        self.tool_failures += u64::from(entry.has_failed);
        self.messages += u64::from(entry.role.is_some());
        self.took_ms += entry.took_ms;
        self.last_ms = self.last_ms.max(Some(entry.time_ms));
        if entry.is_billed {
            self.usage.add(&entry.usage.unwrap_or_default());
        }
    }

    /// Returns the number of files that were written or edited.
    pub fn files(&self) -> usize {
        self.files.len()
    }

    fn begin(&mut self, session: usize) {
        if self.session != Some(session) {
            self.session = Some(session);
            self.sessions += 1;
        }
    }
}
