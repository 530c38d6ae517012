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

/// A source of ids and the time for new entries, passed in: the core has neither clock nor
/// randomness.
pub struct IdSource<'a> {
    /// Milliseconds since 1970.
    pub now_ms: i64,
    /// Returns candidates for entry ids, 8 hex digits each.
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

    /// Returns the time as the agents write it.
    pub fn timestamp(&self) -> String {
        pisess_json::time::iso_string(self.now_ms)
    }

    /// Sets aside the id of an entry that the session gets, so that it is not issued.
    pub fn reserve_id(&mut self, id: &Text) {
        self.issued.insert(id.to_string_lossy().into_owned());
    }

    /// Returns an id that no entry of the session has and that was not issued before.
    pub fn issue_entry_id(&mut self, session: &Session) -> String {
        self.issue_free_id(session, |_| false)
    }

    /// Returns an id like [`IdSource::issue_entry_id`], for which `is_taken` is false as well: it
    /// knows ids that are not in the session yet, such as those of a batch.
    pub fn issue_free_id(&mut self, session: &Session, is_taken: impl Fn(&str) -> bool) -> String {
        loop {
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

/// Why an operation is refused.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// A line cannot be read.
    #[error(transparent)]
    Unreadable(#[from] io::Error),
    /// What is asked for is not possible.
    #[error("{what}")]
    Impossible {
        /// Why not.
        what: String,
        /// What to try.
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

/// The maximum number of ids in a message.
const MOST_IDS: usize = 16;

/// Returns the ids of entries, for a message. At most `MOST_IDS` are listed; the others are only
/// counted.
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

/// Returns the `parentId` of a child of this position; `None` for a root.
pub fn parent_id(session: &Session, parent: Position) -> Option<Text<'_>> {
    parent.entry().map(|ix| session.id(ix))
}

/// Returns the nearest entry at or above `from` for which `is_wanted` is true.
///
/// `known` caches the result for each entry that was passed, so that many calls pass each entry
/// once. It must be used with one predicate only.
fn find_upwards(
    session: &Session,
    from: Option<EntryIx>,
    known: &mut HashMap<EntryIx, Option<EntryIx>>,
    is_wanted: impl Fn(EntryIx) -> bool,
) -> Option<EntryIx> {
    let mut passed = Vec::new();
    let mut found = None;
    for ix in session.ancestors(from) {
        if is_wanted(ix) {
            found = Some(ix);
            break;
        }
        passed.push(ix);
        // An earlier call passed this entry, and knows what is above it.
        if let Some(&cached) = known.get(&ix) {
            found = cached;
            break;
        }
    }
    for ix in passed {
        known.insert(ix, found);
    }
    found
}

/// Returns the new first kept entry of a compaction when entries are left out. `old_first_kept` is
/// its first kept entry so far, and `stays` is whether an entry is not left out.
///
/// The new one is the topmost entry that stays, from `old_first_kept` down to the compaction, both
/// included. `None` if none stays, or if `old_first_kept` is not above the compaction.
fn first_remaining_kept(
    session: &Session,
    compaction: EntryIx,
    old_first_kept: EntryIx,
    stays: impl Fn(EntryIx) -> bool,
) -> Option<EntryIx> {
    let mut topmost_staying = None;
    // The walk goes upwards, so a later entry is nearer to `old_first_kept`.
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
