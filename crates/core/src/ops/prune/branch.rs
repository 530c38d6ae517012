//! Finds the branch to prune: the subtree that begins below the nearest branch point above an
//! entry.

use crate::ops::branches::{Branch, find_branch_start, find_branches};
use crate::session::Session;
use crate::session::entry::{EntryIx, Kind};
use crate::session::reference::Position;
use crate::session::tree::{Ancestry, Tree};

/// A branch that may be pruned.
#[derive(Clone, Debug)]
pub struct PrunableBranch {
    /// The position at which it diverges from others.
    pub branch_point: Position,
    /// The branches whose tips are in the pruned branch, newest first.
    pub tips: Vec<Branch>,
    /// Whether the leaf is in the branch.
    pub is_active: bool,
    /// For each entry of the session, whether pruning removes it.
    pub is_removed: Vec<bool>,
}

/// Returns the branch that contains an entry, with its descendants, so that it can be pruned as a
/// whole; `None` if the session does not branch above the entry.
///
/// The branch begins with the first entry below the nearest branch point above `ix`. It has all
/// descendants of this entry. Of these, labels of entries outside and the name of the session are
/// not removed: see `find_bookkeeping_to_keep`.
pub fn find_prunable_branch(session: &Session, ix: EntryIx) -> Option<PrunableBranch> {
    let tree = Tree::new(session);
    let start = find_branch_start(session, &tree, ix)?;
    let ancestry = Ancestry::new(session);
    let is_in_branch = |ix: EntryIx| ancestry.is_ancestor_or_self(start.first, ix);

    let mut is_removed: Vec<_> = session.entry_indexes().map(is_in_branch).collect();
    for kept in find_bookkeeping_to_keep(session, is_in_branch) {
        is_removed[kept.index()] = false;
    }

    let mut tips = find_branches(session, &tree);
    tips.retain(|branch| is_in_branch(branch.tip));
    Some(PrunableBranch {
        branch_point: start.branch_point,
        tips,
        is_active: session.leaf.is_some_and(is_in_branch),
        is_removed,
    })
}

/// Returns the entries that must stay when others are removed, because the session would lose a
/// label or its name with them: the last label of each entry that stays, and the last name of the
/// session. In no particular order.
pub(super) fn find_bookkeeping_to_keep(
    session: &Session,
    is_removed: impl Fn(EntryIx) -> bool,
) -> Vec<EntryIx> {
    let mut last_labels = foldhash::HashMap::default();
    for change in &session.collected.labels {
        // A later label of the same entry replaces this one.
        last_labels.insert(session.bytes(change.target), change);
    }

    let mut kept = Vec::new();
    for change in last_labels.into_values() {
        let target = session.find_entry(&session.text(change.target));
        if target.is_some_and(|target| !is_removed(target)) {
            kept.push(change.entry);
        }
    }
    // pi and oh-my-pi store the name in different kinds of entries.
    for kind in [Kind::SessionInfo, Kind::TitleChange] {
        let name_change = session
            .entry_indexes()
            .rev()
            .find(|&ix| session.entry(ix).kind == kind);
        kept.extend(name_change);
    }
    kept
}
