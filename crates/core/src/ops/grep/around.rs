//! The context of matches: the entries before and after them in the conversation.
//!
//! Before a match are the entries above it, after it those that follow: on the path to the leaf if
//! it is on that path, else on the newest branch. Settings and bookkeeping are passed over.

use crate::session::Session;
use crate::session::conversation::Conversation;
use crate::session::entry::{EntryIx, LineNo};
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
    let conversation = Conversation::new(session);

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
