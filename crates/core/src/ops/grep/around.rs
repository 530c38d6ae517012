//! The context of matches: the entries before and after them in the conversation.
//!
//! Before a match are the entries above it, after it those that follow: on the path to the leaf if
//! it is on that path, else on the newest branch. Settings and bookkeeping are passed over.

use crate::session::Session;
use crate::session::entry::{EntryIx, KindClass, LineNo};
use crate::session::tree::{Tree, active_mask};
use foldhash::HashSet;

/// An entry to show: a match, or context of one.
#[derive(Clone, Copy, Debug)]
pub struct NearbyEntry {
    /// The entry.
    pub entry: EntryIx,
    /// The index of its match; `None` if it is only context.
    pub match_index: Option<usize>,
    /// Whether it follows, in the conversation, the entry shown before it.
    pub continues: bool,
}

/// Returns the entries that match and the entries around them, in file order and each once. Around
/// each match are up to `most_above` entries above it in the conversation, and up to `most_below`
/// entries below it.
///
/// `lines` are the lines of the matches, in ascending order. A line without an entry, as that of a
/// title, is left out.
pub fn entries_around_matches(
    session: &Session,
    lines: &[LineNo],
    most_above: usize,
    most_below: usize,
) -> Vec<NearbyEntry> {
    let conversation = Conversation {
        session,
        tree: Tree::new(session),
        is_active: active_mask(session, session.leaf),
    };

    let mut matches: Vec<Matched> = Vec::new();
    for (index, &line) in lines.iter().enumerate() {
        if let Some(entry) = session.entry_on_line(line) {
            matches.push(Matched { entry, index });
        }
    }

    let mut shown: HashSet<EntryIx> = HashSet::default();
    for matched in &matches {
        shown.insert(matched.entry);
        shown.extend(conversation.ancestors(matched.entry).take(most_above));
        shown.extend(conversation.descendants(matched.entry).take(most_below));
    }
    let mut in_file_order: Vec<EntryIx> = shown.into_iter().collect();
    in_file_order.sort_unstable_by_key(|ix| ix.index());

    let mut nearby = Vec::with_capacity(in_file_order.len());
    let mut previous = None;
    for entry in in_file_order {
        let continues = previous.is_some() && previous == conversation.ancestors(entry).next();
        previous = Some(entry);
        // Lines ascend, and so do the entries of matches.
        let position =
            matches.binary_search_by_key(&entry.index(), |matched| matched.entry.index());
        let match_index = match position {
            Ok(position) => Some(matches[position].index),
            Err(_) => None,
        };
        nearby.push(NearbyEntry {
            entry,
            match_index,
            continues,
        });
    }
    nearby
}

/// An entry that matches, and the index of its line in the list of the caller.
struct Matched {
    entry: EntryIx,
    index: usize,
}

/// A session as a conversation, without settings and bookkeeping.
struct Conversation<'s> {
    session: &'s Session,
    tree: Tree,
    /// By entry: whether it is on the path to the leaf.
    is_active: Vec<bool>,
}

impl Conversation<'_> {
    /// The ancestors of an entry, the nearest first.
    fn ancestors(&self, ix: EntryIx) -> impl Iterator<Item = EntryIx> {
        self.session
            .ancestors(Some(ix))
            .skip(1)
            .filter(|&ix| self.is_conversation(ix))
    }

    /// The descendants of an entry on the branch that is followed.
    fn descendants(&self, ix: EntryIx) -> impl Iterator<Item = EntryIx> {
        std::iter::successors(self.next_child(ix), |&ix| self.next_child(ix))
            .filter(|&ix| self.is_conversation(ix))
    }

    /// Returns the child at which the conversation is followed further: the one on the path to the
    /// leaf. Without such a child, it is the last one that is conversation, else the last one.
    fn next_child(&self, ix: EntryIx) -> Option<EntryIx> {
        let children = self.tree.children(ix);
        if let Some(&on_path) = children.iter().find(|child| self.is_active[child.index()]) {
            return Some(on_path);
        }
        let last_of_conversation = children.iter().rfind(|child| self.is_conversation(**child));
        last_of_conversation.or(children.last()).copied()
    }

    fn is_conversation(&self, ix: EntryIx) -> bool {
        self.session.entry(ix).kind.schema().class == KindClass::Conversation
    }
}
