//! Finds the turns that were copied into a session together with a response of the model.
//!
//! A turn is a response, and the entries that led to it from the response above: the message of the
//! user, tool results, settings. If a source is imported twice, its entries get different ids, so
//! copies of them cannot be recognized. Only a response keeps an id of its own, which the provider
//! gave it. So the rest of a turn counts as copied if its response is a copy.

use crate::session::entry::EntryIx;
use foldhash::HashSet;

/// The entries of a session, as far as turns depend on them.
pub trait ResponseTree {
    /// Returns the number of entries.
    fn entry_count(&self) -> usize;

    /// Returns the parent of an entry; `None` for a root.
    fn parent(&self, ix: EntryIx) -> Option<EntryIx>;

    /// Whether an entry is a message of the model.
    fn is_response(&self, ix: EntryIx) -> bool;
}

/// Returns the copied responses and, with each, the rest of its turn: the entries between the
/// response and the next response above it.
///
/// The rest of a turn is left out if the response above was not copied. Then the copied response
/// may continue another session, whose entries are not copies.
pub fn with_copied_turns(
    copied_responses: HashSet<EntryIx>,
    tree: &impl ResponseTree,
) -> HashSet<EntryIx> {
    // Grows below. A walk also ends at an entry of it, because an earlier walk has added that entry
    // and all above it in the turn.
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
            // Without a cycle, a path has no more entries than the session. A malformed file may
            // have a cycle of parents, in which the walk would not end. Then `above` is neither
            // missing nor copied, so the entries are left out.
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
