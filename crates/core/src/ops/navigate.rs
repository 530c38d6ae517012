//! Plans a move to another position of the tree: the new leaf, the branch that is left, and the
//! text to edit again.
//!
//! The rules are those of `/tree` in both agents. If the target is a user request, its parent
//! becomes the leaf, and the text of the request is returned to be edited.

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
    /// Whether the text of the target is to be edited; then the new leaf is the parent of the
    /// target.
    pub edits_target: bool,
    /// The entries below the common ancestor on the path to the old leaf, from top to bottom.
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

/// Plans the move back to `target`, which was the leaf before: the entry at which the conversation
/// goes on. It becomes the leaf even if it is a user request, which other moves put into the editor
/// again.
///
/// The abandoned branch has the entries from the old leaf up to, but without, the nearest entry
/// that is also on the path to `target`. A compaction does not end the branch: the code of the
/// agents does not stop there, although their documentation says so.
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
    // The walk went upwards from the leaf.
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

/// Returns the last user request on the path to an entry, including the entry itself.
pub fn last_request(session: &Session, end: Option<EntryIx>) -> Option<EntryIx> {
    session
        .ancestors(end)
        .find(|&ix| session.entry(ix).flags.contains(Flags::USER_REQUEST))
}

impl Navigation {
    /// Returns the user request above the abandoned branch, if the branch continues the answer to
    /// it. `None` if the first conversation entry of the branch is not a reply or a tool result.
    pub fn continued_request(&self, session: &Session) -> Option<EntryIx> {
        let mut abandoned = self.abandoned.iter().copied();
        let first = abandoned.find(|&ix| session.is_conversation(ix))?;
        let continues_turn = session.is_message(first, Role::Assistant)
            || session.is_message(first, Role::ToolResult);
        if continues_turn {
            last_request(session, self.common_ancestor.entry())
        } else {
            None
        }
    }
}

/// Whether the text of an entry is to be edited when the entry is the target of a move. This holds
/// for user requests and custom messages, except oh-my-pi's skill prompts that the user did not
/// request.
fn is_draft(session: &Session, ix: EntryIx) -> bool {
    let entry = session.entry(ix);
    entry.flags.contains(Flags::USER_REQUEST)
        || entry.kind == Kind::CustomMessage && session.agent().drafts_custom_message(entry)
}
