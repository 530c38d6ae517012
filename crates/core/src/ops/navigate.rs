//! Moving to another position of the tree: the new leaf, the branch that is left, the text to edit
//! again.
//!
//! The rules are those of `/tree` in both agents: if the target is a user request, the new leaf is
//! its parent, and its text is returned to be edited.

use crate::session::Session;
use crate::session::entry::{EntryIx, Flags, Kind, Role};
use crate::session::reference::Position;
use foldhash::HashSet;

/// A move from one position to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Navigation {
    /// The entry that was chosen.
    pub target: Position,
    /// The old leaf.
    pub old_leaf: Position,
    /// The deepest entry on both paths.
    pub common_ancestor: Position,
    /// The new leaf: the target, or its parent.
    pub new_leaf: Position,
    /// Whether the target's text is returned to be edited.
    pub edits_target: bool,
    /// The entries after the common ancestor up to the old leaf, oldest first.
    pub abandoned: Vec<EntryIx>,
}

/// Plans the move from `old_leaf` to `target`, as `/tree` of the agents does. The new leaf is the
/// target or, if its text is to be edited again, the parent of the target.
pub fn navigate(session: &Session, old_leaf: Position, target: Position) -> Navigation {
    let mut navigation = navigate_back(session, old_leaf, target);
    if let Position::Entry(ix) = target
        && is_draft(session, ix)
    {
        navigation.new_leaf = session.entry(ix).parent.into();
        navigation.edits_target = true;
    }
    navigation
}

/// Plans the move back to `target`, which was the leaf before: it becomes the leaf even if it is a
/// user request.
///
/// The abandoned branch reaches up to the deepest entry on both paths. As in the agents, but not in
/// their documentation, a compaction does not end it.
pub fn navigate_back(session: &Session, old_leaf: Position, target: Position) -> Navigation {
    let target_path: HashSet<_> = session.ancestors(target.entry()).collect();
    let mut abandoned = Vec::new();
    let mut common_ancestor = old_leaf;
    while let Position::Entry(ix) = common_ancestor
        && !target_path.contains(&ix)
    {
        abandoned.push(ix);
        common_ancestor = session.entry(ix).parent.into();
    }
    // The walk went from the leaf upwards.
    abandoned.reverse();
    Navigation {
        target,
        old_leaf,
        common_ancestor,
        new_leaf: target,
        edits_target: false,
        abandoned,
    }
}

/// Returns the newest user request on the path to an entry, the entry included.
pub fn last_request(session: &Session, end: Option<EntryIx>) -> Option<EntryIx> {
    session
        .ancestors(end)
        .find(|&ix| session.entry(ix).flags.contains(Flags::USER_REQUEST))
}

impl Navigation {
    /// Returns the user request that the abandoned branch continues to answer, which is above the
    /// branch. `None` if the branch does not begin with a reply or a tool result.
    pub fn continued_request(&self, session: &Session) -> Option<EntryIx> {
        for &ix in &self.abandoned {
            if !session.is_conversation(ix) {
                continue;
            }
            let continues_turn =
                session.is_message(ix, Role::Assistant) || session.is_message(ix, Role::ToolResult);
            return if continues_turn {
                last_request(session, self.common_ancestor.entry())
            } else {
                None
            };
        }
        None
    }
}

/// Whether choosing the entry returns its text. This holds for user requests and custom messages,
/// except oh-my-pi's skill prompts that the user did not request.
fn is_draft(session: &Session, ix: EntryIx) -> bool {
    let entry = session.entry(ix);
    entry.flags.contains(Flags::USER_REQUEST)
        || entry.kind == Kind::CustomMessage && session.agent().drafts_custom_message(entry)
}
