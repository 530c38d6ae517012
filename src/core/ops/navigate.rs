//! Moving to another place of the tree: where one lands, what is left behind, what is edited again.
//!
//! The rules are those of both agents' `/tree`: a request of the person as the target means the
//! place before it, and gives its text back.

use crate::core::entry::{EntryIx, Flags, Kind};
use crate::core::reference::Position;
use crate::core::session::Session;
use std::collections::HashSet;

/// A move from one place to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Navigation {
    /// What was chosen.
    pub target: Position,
    /// Where one stood.
    pub old_leaf: Position,
    /// The deepest entry on both paths.
    pub common_ancestor: Position,
    /// Where one stands after the move: the target, or the place before it.
    pub new_leaf: Position,
    /// Whether the target's text is given back to be edited again.
    pub edits_target: bool,
    /// The entries from behind the common ancestor to the old leaf, oldest first.
    pub abandoned: Vec<EntryIx>,
}

/// Plans the move from `old_leaf` to `target`. What is left does not stop at a compaction (the
/// running agents; one of their documents says otherwise).
pub fn navigate(session: &Session, old_leaf: Position, target: Position) -> Navigation {
    let parent = |ix: EntryIx| session.entry(ix).parent;
    let edits_target = target.is_some_and(|ix| is_draft(session, ix));
    let new_leaf = if edits_target { target.and_then(parent) } else { target };
    let on_target_path: HashSet<_> = session.upwards(target).collect();
    let mut abandoned = Vec::new();
    let mut common_ancestor = old_leaf;
    while let Some(ix) = common_ancestor.filter(|ix| !on_target_path.contains(ix)) {
        abandoned.push(ix);
        common_ancestor = parent(ix);
    }
    abandoned.reverse();
    Navigation { target, old_leaf, common_ancestor, new_leaf, edits_target, abandoned }
}

/// The newest request of the person on the path to the leaf.
pub fn last_request(session: &Session) -> Position {
    session.upwards(session.leaf).find(|&ix| session.entry(ix).flags.has(Flags::USER_REQUEST))
}

/// Whether choosing the entry gives its text back: requests of the person, and custom messages
/// (oh-my-pi: of its skill prompts only the person's).
fn is_draft(session: &Session, ix: EntryIx) -> bool {
    let entry = session.entry(ix);
    entry.flags.has(Flags::USER_REQUEST)
        || entry.kind == Kind::CustomMessage && session.agent().edits_custom_message(entry)
}
