//! The ends of the conversation of a file whose parents are being repaired.

use super::graph::LinkRepair;
use crate::session::Session;
use crate::session::entry::{EntryIx, Role};
use crate::session::tree::Tree;
use foldhash::HashSet;

/// The ends of the conversation so far, while entries are added in file order. An end is an added
/// entry that has no child among the added entries.
///
/// A tool result is neither an end nor a child: it counts as a part of its owner, the nearest
/// ancestor that is not a tool result. The reason: results are moved to their calls in a later
/// step. If they counted, the moves would change the ends, and a second repair would attach other
/// orphans.
///
/// ```text
///   added             ends
///   user a            a
///   └─ reply b        b
///      └─ result      b      the result is a part of b
///         └─ reply c  c
/// ```
pub(super) struct Ends<'s> {
    session: &'s Session,
    ends: HashSet<EntryIx>,
    /// By entry: whether a child of it was added, before or after the entry itself.
    has_child: Vec<bool>,
    /// By entry: for a tool result, its owner or another result that has the same owner; for any
    /// other entry, the entry itself. See [`find_owner`](Self::find_owner).
    toward_owner: Vec<EntryIx>,
}

impl<'s> Ends<'s> {
    /// Returns a state to which no entry was added. `links` has the repaired parents of all entries
    /// except orphans.
    pub fn new(session: &'s Session, links: &LinkRepair) -> Ends<'s> {
        let parent_of = |ix| links.repaired_parent(session, ix);
        let mut toward_owner: Vec<EntryIx> = session.entry_indexes().collect();
        // A parent comes before its children in this order, so its owner is known.
        for ix in Tree::from_parents(&session.entries, parent_of).walk_oldest_first() {
            if session.is_message(ix, Role::ToolResult)
                && let Some(parent) = parent_of(ix)
            {
                toward_owner[ix.index()] = toward_owner[parent.index()];
            }
        }
        Ends {
            session,
            ends: HashSet::default(),
            has_child: vec![false; session.entries.len()],
            toward_owner,
        }
    }

    /// Returns the nearest entry at or above `ix` that is not a tool result. If there is none,
    /// returns the uppermost tool result.
    fn find_owner(&self, ix: EntryIx) -> EntryIx {
        let mut current = ix;
        // Usually one step leads to the owner. There are more if the uppermost result had no parent
        // until `add_entry` attached it: the results below lead to it, and it leads to the owner.
        loop {
            let next = self.toward_owner[current.index()];
            if next == current {
                return current;
            }
            current = next;
        }
    }

    /// Whether the owner of `ix`, an added entry, is the only end. An owner that comes later in the
    /// file counts as that end until a child of it is added.
    pub fn is_only_end(&self, ix: EntryIx) -> bool {
        self.ends.len() == 1 && !self.has_child[self.find_owner(ix).index()]
    }

    /// Adds the next entry in file order. Its parent must be final; it may come later in the file.
    pub fn add_entry(&mut self, ix: EntryIx, parent: Option<EntryIx>) {
        let parent_owner = parent.map(|parent| self.find_owner(parent));
        if self.session.is_message(ix, Role::ToolResult)
            && let Some(owner) = parent_owner
        {
            self.toward_owner[ix.index()] = owner;
            return;
        }

        // A parent that comes after its child in the file is never an end.
        if !self.has_child[ix.index()] {
            self.ends.insert(ix);
        }
        if let Some(owner) = parent_owner {
            self.has_child[owner.index()] = true;
            self.ends.remove(&owner);
        }
    }
}
