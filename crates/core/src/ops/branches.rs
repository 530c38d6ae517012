//! The branches of a session: one for each end of a conversation in the tree.
//!
//! Notes ([`crate::session::entry::Kind::is_bookkeeping`]: labels, marks, records) are not
//! conversation. A branch ends at an entry that has only notes below it, and these belong to the
//! branch. Notes beside a continuing conversation are not a branch, unless the leaf is among them:
//! then the next message begins one there.
//!
//! ```text
//! a ─ b ─ c ─ label ─ label          one branch, its tip is c
//!     ├ label                        none
//!     ├ mark = leaf                  a branch without entries: its tip is the mark, its end is b
//!     └ d ─ e                        another, its tip is e; all three begin at b
//! ```

use crate::session::Session;
use crate::session::entry::{EntryIx, Flags, View};
use crate::session::labels::Labels;
use crate::session::reference::Position;
use crate::session::tree::Tree;

/// A branch of the session.
#[derive(Clone, Copy, Debug)]
pub struct Branch {
    /// Its last entry.
    pub tip: EntryIx,
    /// The entry at which it diverges from others; `None` if it does not, or diverges at the root.
    pub branch_point: Position,
    /// The number of entries after the branch point that are not notes.
    pub entries: u32,
    /// The last user request on the path to its tip.
    pub request: Position,
    /// The entry with the label nearest to its tip, on the branch itself or its notes.
    pub labelled: Position,
    /// Whether the leaf is on it.
    pub active: bool,
}

impl Branch {
    /// Returns the entry that people see as its last: its tip, or if that is a note that the tree
    /// hides, such as the mark of a switch, the nearest other entry above. If there is none,
    /// returns the tip.
    pub fn end(&self, session: &Session) -> EntryIx {
        let is_hidden = |&ix: &EntryIx| {
            let kind = session.entry(ix).kind;
            kind.is_bookkeeping() && kind.view(session.dialect) != View::Shown
        };
        session
            .upwards(Some(self.tip))
            .find(|ix| !is_hidden(ix))
            .unwrap_or(self.tip)
    }
}

/// Returns all branches, newest first.
pub fn branches(session: &Session, tree: &Tree) -> Vec<Branch> {
    let labels = Labels::new(session);
    let order: Vec<EntryIx> = tree.walk(&[]).collect();
    let is_part = parts(session, &order);
    let ways_on = count_ways_on(session, &is_part);
    // The branch as it is at each entry; a note has that of the nearest part above it.
    let mut ways: Vec<Option<Branch>> = vec![None; session.entries.len()];
    let mut named_below = vec![None; session.entries.len()];
    for &ix in &order {
        let entry = session.entry(ix);
        let above = entry.parent.and_then(|parent| ways[parent.at()]);
        let is_named = labels.change(ix).is_some();
        if !is_part[ix.at()] {
            ways[ix.at()] = above;
            if let Some(part) = above.filter(|_| is_named) {
                named_below[part.tip.at()] = Some(ix);
            }
            continue;
        }
        let point = entry.parent.filter(|parent| ways_on[parent.at()] > 1);
        let before = above.filter(|_| point.is_none());
        let is_request = entry.flags.has(Flags::USER_REQUEST);
        ways[ix.at()] = Some(Branch {
            tip: ix,
            branch_point: point.or(before.and_then(|way| way.branch_point)),
            entries: before.map_or(0, |way| way.entries) + u32::from(!entry.kind.is_bookkeeping()),
            request: if is_request {
                Some(ix)
            } else {
                above.and_then(|way| way.request)
            },
            labelled: if is_named {
                Some(ix)
            } else {
                before.and_then(|way| way.labelled)
            },
            active: false,
        });
    }
    let active = session
        .leaf
        .and_then(|leaf| ways[leaf.at()])
        .map(|way| way.tip);
    let tip = |ix: EntryIx| {
        let way = ways[ix.at()]?;
        let labelled = named_below[ix.at()].or(way.labelled);
        Some(Branch {
            labelled,
            active: active == Some(ix),
            ..way
        })
    };
    let is_tip = |ix: &EntryIx| is_part[ix.at()] && (ways_on[ix.at()] == 0 || active == Some(*ix));
    let mut branches: Vec<_> = session.all().filter(is_tip).filter_map(tip).collect();
    // A time that does not parse is older than any other; of equal times, the later entry of the
    // file is newer.
    branches.reverse();
    branches.sort_by_key(|branch| std::cmp::Reverse(session.entry(branch.tip).time_ms));
    branches
}

/// Returns the first entry of the branch that an entry is on, and the entry at which it diverges
/// from others, which may be the root; `None` if the session does not branch above the entry.
pub fn start_of(session: &Session, tree: &Tree, ix: EntryIx) -> Option<(EntryIx, Position)> {
    let order: Vec<EntryIx> = tree.walk(&[]).collect();
    let is_part = parts(session, &order);
    let ways_on = count_ways_on(session, &is_part);
    let roots = tree
        .roots()
        .iter()
        .filter(|root| is_part[root.at()])
        .count();
    let diverges = |above: Position| above.map_or(roots, |above| ways_on[above.at()] as usize) > 1;
    let starts = |&ix: &EntryIx| is_part[ix.at()] && diverges(session.entry(ix).parent);
    session
        .upwards(Some(ix))
        .find(starts)
        .map(|first| (first, session.entry(first).parent))
}

/// Returns for each entry whether it is part of a branch: there is conversation at or below it, or
/// it is one of the notes that lead to the leaf while the conversation continues beside them.
fn parts(session: &Session, order: &[EntryIx]) -> Vec<bool> {
    let mut is_part: Vec<bool> = session
        .entries
        .iter()
        .map(|entry| !entry.kind.is_bookkeeping())
        .collect();
    for &ix in order.iter().rev() {
        if let Some(parent) = session.entry(ix).parent.filter(|_| is_part[ix.at()]) {
            is_part[parent.at()] = true;
        }
    }
    let goes_on = |ix: EntryIx| count_ways_on(session, &is_part)[ix.at()] > 0;
    let notes = notes_at_leaf(session, |ix| is_part[ix.at()], goes_on);
    notes.iter().for_each(|ix| is_part[ix.at()] = true);
    is_part
}

/// Returns the notes that lead to the leaf while the conversation continues beside them, from the
/// leaf upwards. Notes at an end belong to the branch that ends there.
pub(super) fn notes_at_leaf(
    session: &Session,
    is_conversation: impl Fn(EntryIx) -> bool,
    goes_on: impl Fn(EntryIx) -> bool,
) -> Vec<EntryIx> {
    let notes: Vec<_> = session
        .upwards(session.leaf)
        .take_while(|&ix| !is_conversation(ix))
        .collect();
    let above = notes.last().and_then(|&ix| session.entry(ix).parent);
    if above.is_none_or(goes_on) {
        notes
    } else {
        Vec::new()
    }
}

/// Returns the number of ways in which the conversation continues from each entry. If it continues
/// from the leaf, the next message there counts as one more.
fn count_ways_on(session: &Session, is_part: &[bool]) -> Vec<u32> {
    let mut ways = vec![0; session.entries.len()];
    for ix in session.all().filter(|ix| is_part[ix.at()]) {
        if let Some(parent) = session.entry(ix).parent {
            ways[parent.at()] += 1;
        }
    }
    if let Some(leaf) = session.leaf.filter(|leaf| ways[leaf.at()] > 0) {
        ways[leaf.at()] += 1;
    }
    ways
}
