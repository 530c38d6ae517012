//! What was copied with a response, if only the response shows that it was copied.
//!
//! Two imports of a source give its entries different ids. The response of a model keeps its own
//! id. What the user said and what tools returned has no such id: it is part of the turn that ends
//! with the response below it.

use crate::session::entry::EntryIx;
use foldhash::HashSet;

/// The entries of a session, with the parent of each.
pub trait ResponseTree {
    /// Returns the number of entries.
    fn entry_count(&self) -> usize;

    /// Returns the parent of an entry.
    fn parent(&self, ix: EntryIx) -> Option<EntryIx>;

    /// Whether an entry is a message of the model.
    fn is_response(&self, ix: EntryIx) -> bool;
}

/// Returns the copied responses, with the rest of their turns: the entries between each and the
/// response above it.
///
/// These entries are left out if the response above was not copied: then nothing shows that they
/// were.
pub fn with_copied_turns(
    copied_responses: HashSet<EntryIx>,
    tree: &impl ResponseTree,
) -> HashSet<EntryIx> {
    // Grows below. An entry of an earlier turn in it ends a walk: what is above is in it as well.
    let mut copied = copied_responses.clone();
    for response in copied_responses {
        let mut turn = Vec::new();
        let mut above = tree.parent(response);
        while let Some(ix) = above
            && !tree.is_response(ix)
            && !copied.contains(&ix)
        {
            turn.push(ix);
            above = tree.parent(ix);
            // A malformed file may have a cycle of parents, in which no walk would end. Without one,
            // a path has no more entries than the session.
            if turn.len() > tree.entry_count() {
                break;
            }
        }

        let is_first_turn = above.is_none();
        let follows_copied_turn = above.is_some_and(|ix| copied.contains(&ix));
        if is_first_turn || follows_copied_turn {
            copied.extend(turn);
        }
    }
    copied
}
