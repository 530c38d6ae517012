//! What was copied with a response, if only the response shows that it was copied.
//!
//! Two imports of a source give its entries different ids. The response of a model keeps its own
//! id. What the user said and what tools returned has no such id: it belongs to the response below
//! it.

use crate::session::entry::EntryIx;
use foldhash::HashSet;

/// The entries of a session, as far as copied turns need them.
pub trait Turns {
    /// Returns the number of entries.
    fn entry_count(&self) -> usize;

    /// Returns the parent of an entry.
    fn parent(&self, ix: EntryIx) -> Option<EntryIx>;

    /// Whether an entry is a message of the model.
    fn is_response(&self, ix: EntryIx) -> bool;
}

/// Returns the copied responses, and what was copied with each: the entries from the response
/// before, if that was copied as well, or from the root.
pub fn with_copied_turns(
    copied_responses: HashSet<EntryIx>,
    turns: &impl Turns,
) -> HashSet<EntryIx> {
    let mut copied = copied_responses.clone();
    for response in copied_responses {
        // The entries between this response and the one before it.
        let mut between = Vec::new();
        let mut above = turns.parent(response);
        while let Some(ix) = above {
            // More steps than entries: the parents form a cycle.
            let is_cycle = between.len() == turns.entry_count();
            if turns.is_response(ix) || copied.contains(&ix) || is_cycle {
                break;
            }
            between.push(ix);
            above = turns.parent(ix);
        }

        let follows_copy = match above {
            Some(ix) => copied.contains(&ix),
            None => true,
        };
        if follows_copy {
            copied.extend(between);
        }
    }
    copied
}
