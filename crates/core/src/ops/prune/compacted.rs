//! Finds the entries above compactions that can be pruned, because no branch needs them.
//!
//! ```text
//! a  b  C1  c  d  e  C2  f  g        C2 keeps from e: a, b, C1, c and d are removed
//! ```
//!
//! The last model, thinking level and mode stay, and so do entries that extensions or unknown
//! programs have written.
//!
//! A branch needs all entries from its last compaction on, the entries that this compaction keeps
//! and refers to, and the settings in effect there ([`crate::agents::Agent::ancestors_in_use`]).
//! The targets of context edits that stay are needed, too. A branch without a compaction is needed
//! as a whole.

use super::branch::find_bookkeeping_to_keep;
use crate::ops::branches::find_branches;
use crate::session::Session;
use crate::session::entry::{EntryIx, Kind};
use crate::session::read::entry_reader::{EntryReader, resolve_member};
use crate::session::tree::Tree;
use pisess_store::ReadAt;
use std::collections::BTreeSet;
use std::io;

/// Returns, for each entry, whether it is to be removed. An entry is removed if a compaction has
/// replaced it by a summary, no branch needs it, and its kind may be pruned.
pub fn find_compacted_entries(session: &Session, source: &dyn ReadAt) -> io::Result<Vec<bool>> {
    let reader = EntryReader::new(session, source);
    let mut is_removed = find_unused_entries(session, &reader)?;
    for ix in session.entry_indexes() {
        let may_be_pruned = session.entry(ix).kind.schema().may_be_pruned;
        is_removed[ix.index()] &= may_be_pruned;
    }
    keep_targets_of_edits(&reader, &mut is_removed)?;
    // This comes last, because which labels are kept depends on which entries stay.
    for ix in find_bookkeeping_to_keep(session, |ix| is_removed[ix.index()]) {
        is_removed[ix.index()] = false;
    }
    Ok(is_removed)
}

/// Returns, for each entry, whether it is above a compaction and no branch needs it. A branch needs
/// the entries from its last compaction on, and those ancestors of the compaction that the agent
/// still reads: the kept entries, and the settings in effect.
fn find_unused_entries(session: &Session, reader: &EntryReader) -> io::Result<Vec<bool>> {
    let uncompacted = find_uncompacted_entries(session);
    let mut is_needed = uncompacted.is_uncompacted;
    let mut is_above_compaction = vec![false; session.entries.len()];
    for compaction in uncompacted.compactions {
        let path = session.path(Some(compaction));
        // The last entry of the path is the compaction itself.
        let ancestors = &path[..path.len() - 1];
        for ix in ancestors {
            is_above_compaction[ix.index()] = true;
        }
        for ix in session.agent().ancestors_in_use(&path, reader)? {
            is_needed[ix.index()] = true;
        }
    }

    let mut is_unused = Vec::with_capacity(session.entries.len());
    for ix in session.entry_indexes() {
        is_unused.push(is_above_compaction[ix.index()] && !is_needed[ix.index()]);
    }
    Ok(is_unused)
}

/// Excludes from the removal the entries that a remaining context edit (pi's `context_edit`)
/// changes: the agent refers to them by id.
fn keep_targets_of_edits(reader: &EntryReader, is_removed: &mut [bool]) -> io::Result<()> {
    let session = reader.session();
    for ix in session.entry_indexes() {
        let is_edit = session.entry(ix).kind == Kind::ContextEdit;
        if is_edit
            && !is_removed[ix.index()]
            && let Some(target) = resolve_member(reader, ix, "targetId")?
        {
            is_removed[target.index()] = false;
        }
    }
    Ok(())
}

/// The entries that some branch contains from its last compaction on.
struct Uncompacted {
    /// For each entry of the session, whether some branch contains it from its last compaction on.
    is_uncompacted: Vec<bool>,
    /// The last compactions of the branches.
    compactions: BTreeSet<EntryIx>,
}

/// Finds the entries that some branch contains from its last compaction on: a model still sees
/// these. Walks upwards from the tip of each branch to its last compaction.
fn find_uncompacted_entries(session: &Session) -> Uncompacted {
    let branches = find_branches(session, &Tree::new(session));
    let mut tips: Vec<EntryIx> = branches.iter().map(|branch| branch.tip).collect();
    // The leaf need not be a tip, because bookkeeping may follow it.
    tips.extend(session.leaf);

    let mut is_uncompacted = vec![false; session.entries.len()];
    let mut compactions = BTreeSet::new();
    for tip in tips {
        for ix in session.ancestors(Some(tip)) {
            // An earlier walk, from the tip of another branch, has passed here. The entries above
            // are the same for both branches, and so is the last compaction among them.
            if is_uncompacted[ix.index()] {
                break;
            }
            is_uncompacted[ix.index()] = true;
            if session.entry(ix).kind == Kind::Compaction {
                compactions.insert(ix);
                break;
            }
        }
    }
    Uncompacted {
        is_uncompacted,
        compactions,
    }
}
