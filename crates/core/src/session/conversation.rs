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
        #[cfg(test)]
        tests::CHECKED.set(tests::CHECKED.get() + 1);
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
///
/// The steps are computed once, because thousands of labels may follow each other: a walk that
/// skips them one by one would be slow from each of them.
pub struct Conversation<'s> {
    session: &'s Session,
    /// For each entry, whether it is on the path to the leaf.
    is_active: Vec<bool>,
    /// For each entry, the nearest entry of the conversation above it.
    above: Vec<Option<EntryIx>>,
    /// For each entry, the child that continues the way down.
    next_child: Vec<Option<EntryIx>>,
    /// For each entry, the nearest entry of the conversation on the way down.
    below: Vec<Option<EntryIx>>,
}

impl<'s> Conversation<'s> {
    /// Prepares the walks through a session.
    pub fn new(session: &'s Session) -> Conversation<'s> {
        let tree = Tree::new(session);
        let is_active = active_mask(session, session.leaf);
        let entry_count = session.entries.len();
        let mut conversation = Conversation {
            session,
            is_active,
            above: vec![None; entry_count],
            next_child: vec![None; entry_count],
            below: vec![None; entry_count],
        };

        let parents_first: Vec<EntryIx> = tree.walk_oldest_first().collect();
        for &ix in &parents_first {
            let parent = session.entry(ix).parent;
            conversation.above[ix.index()] = conversation.nearest(parent, &conversation.above);
            conversation.next_child[ix.index()] = conversation.choose_child(tree.children(ix));
        }
        for &ix in parents_first.iter().rev() {
            let child = conversation.next_child[ix.index()];
            conversation.below[ix.index()] = conversation.nearest(child, &conversation.below);
        }
        conversation
    }

    /// Returns the neighbour of an entry if it is in the conversation, else the nearest entry that
    /// is known to be beyond it.
    fn nearest(&self, neighbour: Option<EntryIx>, beyond: &[Option<EntryIx>]) -> Option<EntryIx> {
        let neighbour = neighbour?;
        if self.session.is_conversation(neighbour) {
            Some(neighbour)
        } else {
            beyond[neighbour.index()]
        }
    }

    /// Iterates over the entries of the conversation above an entry, the nearest first.
    pub fn ancestors(&self, ix: EntryIx) -> impl Iterator<Item = EntryIx> {
        std::iter::successors(self.above[ix.index()], |&ix| self.above[ix.index()])
    }

    /// Iterates over the entries of the conversation below an entry, the nearest first. At a branch
    /// point, it follows the branch that [`Conversation`] describes.
    pub fn descendants(&self, ix: EntryIx) -> impl Iterator<Item = EntryIx> {
        std::iter::successors(self.below[ix.index()], |&ix| self.below[ix.index()])
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
        let first = self.next_child[start.index()];
        std::iter::successors(first, |&ix| self.next_child[ix.index()]).collect()
    }

    /// Returns, of the children of an entry, the one that continues the conversation: the child on
    /// the path to the leaf, else the last child that belongs to the conversation, else the last
    /// child.
    fn choose_child(&self, children: &[EntryIx]) -> Option<EntryIx> {
        if let Some(&on_path) = children.iter().find(|child| self.is_active[child.index()]) {
            return Some(on_path);
        }
        let last_of_conversation = children
            .iter()
            .rfind(|&&child| self.session.is_conversation(child));
        last_of_conversation.or(children.last()).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{LoadOptions, load};
    use std::cell::Cell;

    thread_local! {
        /// The number of calls of [`Session::is_conversation`].
        pub(super) static CHECKED: Cell<usize> = const { Cell::new(0) };
    }

    #[test]
    fn labels_are_skipped_in_one_step() {
        const LABELS: usize = 2000;
        let mut text = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}
{"type":"message","id":"q","parentId":null,"message":{"role":"user","content":"q"}}
"#
        .to_owned();
        let mut parent = "q".to_owned();
        for number in 0..LABELS {
            text += &format!(
                "{{\"type\":\"label\",\"id\":\"l{number}\",\"parentId\":\"{parent}\",\"targetId\":\"q\",\"label\":\"x\"}}\n"
            );
            parent = format!("l{number}");
        }
        text += &format!(
            "{{\"type\":\"message\",\"id\":\"a\",\"parentId\":\"{parent}\",\"message\":{{\"role\":\"user\",\"content\":\"a\"}}}}\n"
        );
        let session = load(&text.into_bytes(), &LoadOptions::default()).unwrap();
        let question = EntryIx::new(0);
        let answer = EntryIx::new(1 + LABELS);

        CHECKED.set(0);
        let conversation = Conversation::new(&session);
        for index in 1..=LABELS {
            let label = EntryIx::new(index);
            let above: Vec<_> = conversation.ancestors(label).take(2).collect();
            let below: Vec<_> = conversation.descendants(label).take(2).collect();
            assert_eq!((above, below), (vec![question], vec![answer]));
        }
        // At most three times for each entry: as a parent, and twice as a child.
        assert!(CHECKED.get() <= 3 * session.entries.len());
    }
}
