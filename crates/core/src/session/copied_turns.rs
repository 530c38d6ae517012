//! Finds the turns that were copied into a session together with a response of the model.
//!
//! A turn is a response, and the entries that led to it from the response above: the message of the
//! user, tool results, settings. If a source is imported twice, its entries get different ids, so
//! copies of them cannot be recognized. Only a response keeps an id of its own, which the provider
//! gave it. So the rest of a turn counts as copied if its response is a copy.

use crate::session::entry::EntryIx;
use foldhash::HashSet;

/// Returns copied responses and, with each, the rest of its turn: the entries that led to it from
/// the next response above.
///
/// The rest of a turn counts as copied only if that response is a copy as well, or if there is
/// none. A copied response below one that was not copied may continue another session, whose
/// entries are not copies.
pub fn with_copied_turns(
    copied_responses: HashSet<EntryIx>,
    tree: &impl ResponseTree,
) -> HashSet<EntryIx> {
    let mut copied = copied_responses.clone();
    for response in copied_responses {
        let turn = rest_of_turn(response, &copied, tree);
        let follows_copied_turn = match turn.entry_above {
            Some(above) => copied.contains(&above),
            None => true,
        };
        if follows_copied_turn {
            copied.extend(turn.entries);
        }
    }
    copied
}

/// The part of a turn above its response.
struct RestOfTurn {
    /// The entries, from the response upwards.
    entries: Vec<EntryIx>,
    /// The entry above them; `None` if the session begins with the turn.
    entry_above: Option<EntryIx>,
}

/// Walks from a response upwards to the next response, or to an entry that is known to be copied.
/// Responses may share the upper part of a turn, so an earlier walk may have come to that entry:
/// then all above it in the turn is copied, too.
fn rest_of_turn(
    response: EntryIx,
    copied: &HashSet<EntryIx>,
    tree: &impl ResponseTree,
) -> RestOfTurn {
    // Without a cycle, a path has at most this many entries. In a malformed file, parents may form
    // a cycle, in which a walk would not end. The entry above is then one that is not copied.
    let max_path_len = tree.entry_count();
    let mut entries = Vec::new();
    let mut above = tree.parent(response);
    while let Some(ix) = above
        && !tree.is_response(ix)
        && !copied.contains(&ix)
        && entries.len() <= max_path_len
    {
        entries.push(ix);
        above = tree.parent(ix);
    }
    RestOfTurn {
        entries,
        entry_above: above,
    }
}

/// The entries of a session, as far as turns depend on them.
pub trait ResponseTree {
    /// Returns the number of entries, which no path without a cycle exceeds.
    fn entry_count(&self) -> usize;

    /// Returns the parent of an entry; `None` for a root. The parents of a malformed session may
    /// form a cycle.
    fn parent(&self, ix: EntryIx) -> Option<EntryIx>;

    /// Whether an entry is a message of the model.
    fn is_response(&self, ix: EntryIx) -> bool;
}
