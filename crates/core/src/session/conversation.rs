//! The conversation of a session: its entries without settings and bookkeeping. One of them is the
//! current entry.

use crate::session::Session;
use crate::session::entry::{EntryIx, KindClass};
use crate::session::reference::Position;
use crate::session::tree::{Tree, active_mask};

impl Session {
    /// Whether an entry belongs to the conversation: it is neither a setting nor bookkeeping, such
    /// as a label or a mark.
    pub fn is_conversation(&self, ix: EntryIx) -> bool {
        self.entry(ix).kind.schema().class == KindClass::Conversation
    }

    /// Returns the current entry of the conversation, which `@` names: the leaf, or the nearest
    /// entry of the conversation above it. `None` if the conversation is empty.
    ///
    /// New entries are not appended below this entry, but below the leaf: the labels and settings
    /// between the two stay on the path.
    pub fn current_entry(&self) -> Option<EntryIx> {
        self.conversation_end(self.leaf)
    }

    /// Returns the nearest entry of the conversation at or above `leaf`; `None` if there is none.
    pub fn conversation_end(&self, leaf: Option<EntryIx>) -> Option<EntryIx> {
        self.ancestors(leaf).find(|&ix| self.is_conversation(ix))
    }
}

/// Walks through a conversation, up towards the root or down to its end. At a branch point, the way
/// down goes towards the leaf. Where it cannot lead to the leaf, it takes the newest branch.
pub struct Conversation<'s> {
    session: &'s Session,
    tree: Tree,
    /// For each entry, whether it is on the path to the leaf.
    is_active: Vec<bool>,
}

impl<'s> Conversation<'s> {
    /// Prepares the walks through a session.
    pub fn new(session: &'s Session) -> Conversation<'s> {
        Conversation {
            session,
            tree: Tree::new(session),
            is_active: active_mask(session, session.leaf),
        }
    }

    /// Iterates over the entries of the conversation above an entry, the nearest first.
    pub fn ancestors(&self, ix: EntryIx) -> impl Iterator<Item = EntryIx> {
        self.session
            .ancestors(Some(ix))
            .skip(1)
            .filter(|&ix| self.session.is_conversation(ix))
    }

    /// Iterates over the entries of the conversation below an entry, the nearest first. At a branch
    /// point, it follows the branch that [`Conversation`] describes.
    pub fn descendants(&self, ix: EntryIx) -> impl Iterator<Item = EntryIx> {
        std::iter::successors(self.next_child(ix), |&ix| self.next_child(ix))
            .filter(|&ix| self.session.is_conversation(ix))
    }

    /// Returns the entries after a position, the nearest first, also settings and bookkeeping. The
    /// way goes towards the leaf, where the conversation continues. If the position is not on the
    /// path to the leaf, it goes along the newest branch below.
    pub fn entries_after(&self, position: Position) -> Vec<EntryIx> {
        let Position::Entry(start) = position else {
            return self.session.path(self.session.leaf);
        };
        // The rest of the path to the leaf is known without a search for children.
        if self.is_active[start.index()] {
            let mut entries = self.session.path(self.session.leaf);
            if let Some(index) = entries.iter().position(|&ix| ix == start) {
                entries.drain(..=index);
            }
            return entries;
        }
        std::iter::successors(self.next_child(start), |&ix| self.next_child(ix)).collect()
    }

    /// Returns the child that continues the conversation: the child on the path to the leaf, else
    /// the last child that belongs to the conversation, else the last child.
    fn next_child(&self, ix: EntryIx) -> Option<EntryIx> {
        let children = self.tree.children(ix);
        if let Some(&on_path) = children.iter().find(|child| self.is_active[child.index()]) {
            return Some(on_path);
        }
        let last_of_conversation = children
            .iter()
            .rfind(|&&child| self.session.is_conversation(child));
        last_of_conversation.or(children.last()).copied()
    }
}
