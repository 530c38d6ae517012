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
    /// Returns the state before any entry is added: there are no ends. `links` has the repaired
    /// parents of all entries except orphans.
    pub fn new(session: &'s Session, links: &LinkRepair) -> Ends<'s> {
        Ends {
            session,
            ends: HashSet::default(),
            has_child: vec![false; session.entries.len()],
            // Found now, because a result may come before the results above it in the file.
            owner_links: find_owners(session, links),
        }
    }

    /// Returns the owner of an entry: the nearest entry at or above it that is not a tool result.
    /// If there is none, returns the uppermost tool result.
    fn find_owner(&self, ix: EntryIx) -> EntryIx {
        let mut current = ix;
        // Follows the links up to the owner, which links to itself. Usually, the first link leads
        // there. A tool result that was a root when the links were made is the owner of the results
        // below it, until it gets a parent itself: then it links to its new owner.
        while self.owner_links[current.index()] != current {
            current = self.owner_links[current.index()];
        }
        current
    }

    /// Returns the entry before `ix` in the file, if the conversation so far ends there and nowhere
    /// else. A tool result counts as its owner, the entry that it is a part of.
    ///
    /// All entries before `ix` must have been added. `links` has the repaired parents so far.
    pub fn only_end_before(&self, ix: EntryIx, links: &LinkRepair) -> Option<EntryIx> {
        let before = ix.previous()?;
        let has_other_end = self.ends.len() > 1;
        if has_other_end {
            return None;
        }
        let owner = self.find_owner(before);
        let is_continued = self.has_child[owner.index()];
        if is_continued || !self.is_at_or_below_end(owner, links) {
            return None;
        }
        Some(before)
    }

    /// Whether an owner is an end or a descendant of one.
    ///
    /// An owner that was added and has no child is an end. But a tool result may be before its
    /// owner in the file. The owner is then no end yet: when it is added, it takes the place of the
    /// end above it, as `reply c` does here.
    ///
    /// ```text
    ///   in the file     user a, result b (of c), reply c
    ///   in the tree     user a ── reply c ── result b
    /// ```
    fn is_at_or_below_end(&self, owner: EntryIx, links: &LinkRepair) -> bool {
        let mut next = Some(owner);
        while let Some(current) = next {
            if self.ends.contains(&current) {
                return true;
            }
            let parent = links.repaired_parent(self.session, current);
            next = parent.map(|parent| self.find_owner(parent));
        }
        false
    }

    /// Adds the next entry in file order, and updates the ends (the added entries that have no
    /// added child). `parent` is its parent after the repair, which may come later in the file. A
    /// tool result with a parent changes no end.
    pub fn add_entry(&mut self, ix: EntryIx, parent: Option<EntryIx>) {
        let Some(parent) = parent else {
            self.add_end(ix);
            return;
        };

        let parent_owner = self.find_owner(parent);
        if self.session.is_message(ix, Role::ToolResult) {
            // Neither an end nor a child, but a part of the same entry as its parent.
            self.owner_links[ix.index()] = parent_owner;
            return;
        }
        self.add_end(ix);
        self.has_child[parent_owner.index()] = true;
        self.ends.remove(&parent_owner);
    }

    /// Adds an entry as an end, unless its child came before it in the file.
    fn add_end(&mut self, ix: EntryIx) {
        if !self.has_child[ix.index()] {
            self.ends.insert(ix);
        }
    }
}

/// Returns, for each entry, the entry that it is a part of: for a tool result, its nearest ancestor
/// that is not a tool result, or else the uppermost result; for any other entry, the entry itself.
fn find_owners(session: &Session, links: &LinkRepair) -> Vec<EntryIx> {
    let parent_of = |ix| links.repaired_parent(session, ix);
    let mut owners: Vec<EntryIx> = session.entry_indexes().collect();
    // A parent comes before its children in this order, so its owner is known.
    for ix in Tree::from_parents(&session.entries, parent_of).walk_oldest_first() {
        if session.is_message(ix, Role::ToolResult)
            && let Some(parent) = parent_of(ix)
        {
            owners[ix.index()] = owners[parent.index()];
        }
    }
    owners
}
