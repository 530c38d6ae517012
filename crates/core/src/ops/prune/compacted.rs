//! The entries above compactions to prune: those that no branch needs.
//!
//! ```text
//! a  b  C1  c  d  e  C2  f  g        C2 keeps from e: a, b, C1, c and d leave, except the last model, thinking level
//!                                    and mode, and what extensions and programs that we do not know have stored
//! ```
//!
//! A branch needs everything from its last compaction on, what this compaction keeps and what it
//! refers to, the settings in effect there ([`crate::agents::Agent::entries_used_above`]), and the targets
//! of context edits that stay. A branch without a compaction stays whole.

use super::branch::notes_that_stay;
use crate::ops::branches::branches;
use crate::session::Session;
use crate::session::entry::{EntryIx, Kind};
use crate::session::read::entry_reader::{EntryReader, named};
use crate::session::tree::Tree;
use pisess_store::ReadAt;
use std::collections::BTreeSet;
use std::io;

/// Returns for each entry whether it leaves: it is above a compaction, no branch needs it, and its
/// kind may be pruned.
pub fn above_compactions(session: &Session, source: &dyn ReadAt) -> io::Result<Vec<bool>> {
    let reader = EntryReader::new(session, source);
    let (mut stays, compactions) = below_compactions(session);
    let mut above = vec![false; session.entries.len()];
    for compaction in compactions {
        let path = session.path(Some(compaction));
        let ancestors = &path[..path.len() - 1];
        for ix in ancestors {
            above[ix.at()] = true;
        }
        for ix in session.agent().entries_used_above(&path, &reader)? {
            stays[ix.at()] = true;
        }
    }
    let mut leaves = Vec::with_capacity(session.entries.len());
    for ix in session.all() {
        let may_leave = session.entry(ix).kind.schema().may_be_pruned;
        leaves.push(above[ix.at()] && !stays[ix.at()] && may_leave);
    }

    // The target of a context edit that stays must exist.
    for ix in session.all() {
        let is_edit = session.entry(ix).kind == Kind::ContextEdit;
        if is_edit
            && !leaves[ix.at()]
            && let Some(target) = named(&reader, ix, "targetId")?
        {
            leaves[target.at()] = false;
        }
    }
    for ix in notes_that_stay(session, |ix| leaves[ix.at()]) {
        leaves[ix.at()] = false;
    }
    Ok(leaves)
}

/// Returns for each entry whether it is on a branch from its last compaction on, and these
/// compactions.
fn below_compactions(session: &Session) -> (Vec<bool>, BTreeSet<EntryIx>) {
    let tips = branches(session, &Tree::new(session))
        .into_iter()
        .map(|branch| branch.tip);
    let mut stays = vec![false; session.entries.len()];
    let mut compactions = BTreeSet::new();
    for tip in tips.chain(session.leaf) {
        for ix in session.upwards(Some(tip)) {
            if stays[ix.at()] {
                // Above an entry of another branch, all is decided.
                break;
            }
            stays[ix.at()] = true;
            if session.entry(ix).kind == Kind::Compaction {
                compactions.insert(ix);
                break;
            }
        }
    }
    (stays, compactions)
}
