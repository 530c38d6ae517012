//! The ends of the conversation of a file whose parents are being repaired.

use super::graph::LinkRepair;
use crate::session::Session;
use crate::session::entry::{EntryIx, Role};
use crate::session::tree::Tree;

/// The ends of the conversation so far, while entries are added in file order: entries without a
/// child among those added.
///
/// A tool result counts as a part of its owner: the nearest ancestor that is not a tool result. So
/// a result is not an end, and is not counted as a child. The reason: results are moved to their
/// calls in a later step. If they counted, the moves would change the ends, and a second repair
/// would attach other orphans.
pub(super) struct Ends<'s> {
    session: &'s Session,
    /// By entry: whether a child of it was added.
    has_child: Vec<bool>,
    /// By entry: for a tool result, an ancestor on the way to its owner; for any other entry,
    /// itself. See [`find_owner`](Self::find_owner).
    owners: Vec<EntryIx>,
    /// The number of ends.
    count: usize,
}

impl<'s> Ends<'s> {
    /// Returns a state to which no entry was added. `links` has the repaired parents of all entries
    /// except orphans.
    pub fn new(session: &'s Session, links: &LinkRepair) -> Ends<'s> {
        let parent_of = |ix| links.repaired_parent(session, ix);
        let mut owners: Vec<EntryIx> = session.entry_indexes().collect();
        // A parent comes before its children in this order, so its owner is final.
        for ix in Tree::from_parents(&session.entries, parent_of).walk_oldest_first() {
            if session.is_message(ix, Role::ToolResult)
                && let Some(parent) = parent_of(ix)
            {
                owners[ix.index()] = owners[parent.index()];
            }
        }
        Ends {
            session,
            has_child: vec![false; session.entries.len()],
            owners,
            count: 0,
        }
    }

    /// Returns the nearest entry at or above `ix` that is not a tool result. If there is none,
    /// returns the uppermost tool result.
    fn find_owner(&self, ix: EntryIx) -> EntryIx {
        let mut owner = self.owners[ix.index()];
        // A result without a parent is its own owner at first, and the owner of the results below.
        // Once `add_entry` has attached it, its own owner is the next step upwards.
        while self.owners[owner.index()] != owner {
            owner = self.owners[owner.index()];
        }
        owner
    }

    /// Whether the owner of `ix`, an added entry, is the only end.
    pub fn is_only_end(&self, ix: EntryIx) -> bool {
        self.count == 1 && !self.has_child[self.find_owner(ix).index()]
    }

    /// Adds the next entry in file order, once its parent is final. The entry is an end until a
    /// child of it is added. Its parent may come later in the file; such a parent has a child
    /// already when it is added, and never becomes an end.
    pub fn add_entry(&mut self, ix: EntryIx, parent: Option<EntryIx>) {
        let parent_owner = parent.map(|parent| self.find_owner(parent));
        if self.session.is_message(ix, Role::ToolResult)
            && let Some(owner) = parent_owner
        {
            self.owners[ix.index()] = owner;
            return;
        }

        let is_end = !self.has_child[ix.index()];
        if is_end {
            self.count += 1;
        }
        let Some(parent_owner) = parent_owner else {
            return;
        };
        // Only an entry that was added before can have been counted as an end.
        let was_end = parent_owner < ix && !self.has_child[parent_owner.index()];
        if was_end {
            self.count -= 1;
        }
        self.has_child[parent_owner.index()] = true;
    }
}
