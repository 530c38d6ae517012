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
    owner_links: Vec<EntryIx>,
}

impl<'s> Ends<'s> {
    /// Prepares for adding the entries of a session: there are no ends yet. Finds the owner of each
    /// tool result (the entry that it is a part of) now, because a result may be added before the
    /// results above it.
    ///
    /// `links` has the repaired parents of all entries except orphans.
    pub fn new(session: &'s Session, links: &LinkRepair) -> Ends<'s> {
        let parent_of = |ix| links.repaired_parent(session, ix);
        // Each entry is its own owner, except tool results that have a parent.
        let mut owner_links: Vec<EntryIx> = session.entry_indexes().collect();
        // A parent comes before its children in this order, so its owner is known.
        for ix in Tree::from_parents(&session.entries, parent_of).walk_oldest_first() {
            if session.is_message(ix, Role::ToolResult)
                && let Some(parent) = parent_of(ix)
            {
                owner_links[ix.index()] = owner_links[parent.index()];
            }
        }
        Ends {
            session,
            ends: HashSet::default(),
            has_child: vec![false; session.entries.len()],
            owner_links,
        }
    }

    /// Returns the owner of an entry: the nearest entry at or above it that is not a tool result.
    /// If there is none, returns the uppermost tool result.
    fn find_owner(&self, ix: EntryIx) -> EntryIx {
        let mut current = ix;
        // An owner links to itself. Usually, the first link leads to it. There are two if a tool
        // result was a root until `add_entry` gave it a parent: the results below link to that
        // result, which now links to its new owner.
        loop {
            let next = self.owner_links[current.index()];
            if next == current {
                return current;
            }
            current = next;
        }
    }

    /// Whether the conversation has only one end so far (an entry without a child), and `ix`, an
    /// added entry, is that end. A tool result is if its owner, the entry that it is a part of, is.
    ///
    /// `links` has the repaired parents so far.
    pub fn is_only_end(&self, ix: EntryIx, links: &LinkRepair) -> bool {
        let owner = self.find_owner(ix);
        if self.ends.len() != 1 || self.has_child[owner.index()] {
            return false;
        }

        // Usually, the owner itself is the end. But the owner of a tool result may come later in
        // the file, and is then no end yet. Being a descendant of the end is enough for it.
        let mut above = Some(owner);
        while let Some(entry) = above {
            let part_of = self.find_owner(entry);
            if self.ends.contains(&part_of) {
                return true;
            }
            above = links.repaired_parent(self.session, part_of);
        }
        false
    }

    /// Adds the next entry in file order, and updates the ends (the entries without a child).
    /// `parent` is its parent after the repair, which may come later in the file.
    pub fn add_entry(&mut self, ix: EntryIx, parent: Option<EntryIx>) {
        let parent_owner = parent.map(|parent| self.find_owner(parent));
        // A tool result is neither an end nor a child, but a part of its owner.
        if self.session.is_message(ix, Role::ToolResult)
            && let Some(owner) = parent_owner
        {
            self.owner_links[ix.index()] = owner;
            return;
        }

        // The entry is an end until a child is added, unless its child came before it in the file.
        if !self.has_child[ix.index()] {
            self.ends.insert(ix);
        }
        // Its parent, or the owner of that, now has a child.
        if let Some(owner) = parent_owner {
            self.has_child[owner.index()] = true;
            self.ends.remove(&owner);
        }
    }
}
