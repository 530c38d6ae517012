//! The operations. Those that append to a session or create one return a plan, or the reason for a
//! refusal; the others return what they found, or write to a given output.

pub mod patched;
pub mod plan;

mod chain;
mod required;

pub mod append;
pub mod archive;
pub mod blame;
pub mod branches;
pub mod check;
pub mod context_estimate;
pub mod context_parts;
pub mod convert;
pub mod diff;
pub mod edit;
pub mod extract;
pub mod files;
pub mod fork;
pub mod grep;
pub mod join;
pub mod label;
pub mod list;
pub mod navigate;
pub mod pick;
pub mod prune;
pub mod redact;
pub mod relocate;
pub mod row_notes;
pub mod rows;
pub mod show;
pub mod stats;
pub mod summary;
pub mod switch;
pub mod tree;
pub mod undo;

use crate::session::Session;
use crate::session::entry::EntryIx;
use crate::session::reference::Position;
use foldhash::{HashMap, HashSet};
use pisess_json::text::Text;
use std::io;

/// A source of ids and the current time for new entries. The caller supplies it, because the core
/// has neither a clock nor randomness.
pub struct IdSource<'a> {
    /// The current time, in milliseconds since 1970.
    pub now_ms: i64,
    /// Generates candidates for entry ids, of 8 hex digits each. A candidate may be taken.
    next_candidate: &'a mut dyn FnMut() -> String,
    issued: HashSet<String>,
}

impl<'a> IdSource<'a> {
    /// Returns a source that takes its candidates from a function.
    pub fn new(now_ms: i64, candidates: &'a mut dyn FnMut() -> String) -> Self {
        IdSource {
            now_ms,
            next_candidate: candidates,
            issued: HashSet::default(),
        }
    }

    /// Returns the current time as the agents write it, such as `2026-01-31T12:00:00.000Z`.
    pub fn timestamp(&self) -> String {
        pisess_json::time::iso_string(self.now_ms)
    }

    /// Marks an id as taken, because the session is about to get an entry with this id.
    pub fn reserve_id(&mut self, id: &Text) {
        self.issued.insert(id.to_string_lossy().into_owned());
    }

    /// Returns an id that no entry of the session has and that was not issued before.
    pub fn issue_entry_id(&mut self, session: &Session) -> String {
        self.issue_free_id(session, |_| false)
    }

    /// Returns an id for a new entry: one that no entry of the session has, that was not issued
    /// before, and for which `is_taken` is false. With `is_taken`, a caller excludes ids that are
    /// not in the session yet, such as the ids of a batch.
    pub fn issue_free_id(&mut self, session: &Session, is_taken: impl Fn(&str) -> bool) -> String {
        loop {
            // Candidates are random and short, so one may be in use.
            let id = (self.next_candidate)();
            let is_free = session.find_entry(&Text::from(id.as_str())).is_none()
                && !is_taken(&id)
                && !self.issued.contains(&id);
            if is_free {
                self.issued.insert(id.clone());
                return id;
            }
        }
    }
}

/// The reason why an operation is refused.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// A line cannot be read.
    #[error(transparent)]
    Unreadable(#[from] io::Error),
    /// The operation is not possible.
    #[error("{what}")]
    Impossible {
        /// The reason.
        what: String,
        /// What the user can try instead.
        hint: Option<String>,
    },
}

impl Refusal {
    fn new(what: impl Into<String>) -> Refusal {
        Refusal::Impossible {
            what: what.into(),
            hint: None,
        }
    }

    fn with_hint(what: impl Into<String>, hint: impl Into<String>) -> Refusal {
        Refusal::Impossible {
            what: what.into(),
            hint: Some(hint.into()),
        }
    }
}

/// The maximum number of ids that a message lists.
const MOST_IDS: usize = 16;

/// Returns the ids of entries for a message, such as `a1 b2 and 3 more`: at most `MOST_IDS` are
/// listed.
pub fn list_ids(session: &Session, entries: &[EntryIx]) -> String {
    let first_entries = entries.iter().take(MOST_IDS);
    let ids: Vec<String> = first_entries
        .map(|&ix| session.id(ix).to_string())
        .collect();
    let ids = ids.join(" ");
    let more = entries.len().saturating_sub(MOST_IDS);
    if more == 0 {
        ids
    } else {
        format!("{ids} and {more} more")
    }
}

/// Returns the `parentId` that a child of this position has; `None` at the root.
pub fn parent_id(session: &Session, parent: Position) -> Option<Text<'_>> {
    parent.entry().map(|ix| session.id(ix))
}

/// Finds the nearest entry at or above another for which a predicate is true. The results for all
/// entries that were visited are kept, so that many searches together visit each entry about once.
struct UpwardSearch<'s, P> {
    session: &'s Session,
    is_wanted: P,
    known: HashMap<EntryIx, Option<EntryIx>>,
}

impl<'s, P: Fn(EntryIx) -> bool> UpwardSearch<'s, P> {
    fn new(session: &'s Session, is_wanted: P) -> UpwardSearch<'s, P> {
        UpwardSearch {
            session,
            is_wanted,
            known: HashMap::default(),
        }
    }

    /// Returns the nearest wanted entry at or above `from`; `None` if there is none. The result is
    /// kept for all entries on the way, so that later searches end there.
    fn find(&mut self, from: Option<EntryIx>) -> Option<EntryIx> {
        let mut passed = Vec::new();
        let mut nearest = None;
        for ix in self.session.ancestors(from) {
            if (self.is_wanted)(ix) {
                nearest = Some(ix);
                break;
            }
            // An earlier search visited this entry.
            if let Some(&known) = self.known.get(&ix) {
                nearest = known;
                break;
            }
            passed.push(ix);
        }
        for ix in passed {
            self.known.insert(ix, nearest);
        }
        nearest
    }
}

/// Returns the new first kept entry of a compaction if some entries are left out of a session. A
/// compaction replaces its ancestors by a summary, but keeps the ancestors from this entry on.
/// `stays` returns whether an entry is not left out.
///
/// The new one is the topmost entry that stays, from `old_first_kept` down to the compaction, both
/// included. `None` if no such entry stays, or if `old_first_kept` is not an ancestor of the
/// compaction.
fn first_remaining_kept(
    session: &Session,
    compaction: EntryIx,
    old_first_kept: EntryIx,
    stays: impl Fn(EntryIx) -> bool,
) -> Option<EntryIx> {
    let mut topmost_staying = None;
    // The walk goes upwards, so the last entry that is found is the topmost.
    for ix in session.ancestors(Some(compaction)) {
        if stays(ix) {
            topmost_staying = Some(ix);
        }
        if ix == old_first_kept {
            return topmost_staying;
        }
    }
    None
}
