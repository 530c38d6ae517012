//! Finds the entries around matches: those before and after a match in the conversation.
//!
//! The entries before a match are its ancestors. The entries after a match are its descendants on
//! the path to the leaf or, if it is not on that path, on the newest branch. Settings and
//! bookkeeping are left out.

use crate::ops::navigate::last_request;
use crate::session::Session;
use crate::session::conversation::Conversation;
use crate::session::entry::{EntryIx, LineNo};
use std::collections::BTreeSet;

/// Which entries to show besides a match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EntriesAround {
    /// The maximum number of entries above the match.
    pub above: usize,
    /// The maximum number of entries below it.
    pub below: usize,
    /// Whether the last message of the user above the match is shown.
    pub with_prompt: bool,
}

impl EntriesAround {
    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self == EntriesAround::default()
    }
}

/// An entry to show: a match, or an entry near one.
#[derive(Clone, Copy, Debug)]
pub struct NearbyEntry {
    /// The entry.
    pub entry: EntryIx,
    /// The index, in the list of lines, of the match in this entry; `None` if the entry is only
    /// near one.
    pub match_index: Option<usize>,
    /// Whether the entry directly follows, in the conversation, the entry that is shown before it.
    pub continues: bool,
}

/// Returns the entries that match, and the entries around each of them in the conversation. They
/// are in file order, each once.
///
/// `lines` are the lines of the matches, in ascending order. A line that is not an entry, such as a
/// title line, is left out.
pub fn entries_around_matches(
    session: &Session,
    lines: &[LineNo],
    around: EntriesAround,
) -> Vec<NearbyEntry> {
    let conversation = Conversation::new(session);

    // In ascending order of the entries, because lines ascend, and entries are in file order.
    let mut matches: Vec<Matched> = Vec::new();
    for (index, &line) in lines.iter().enumerate() {
        if let Some(entry) = session.entry_on_line(line) {
            matches.push(Matched { entry, index });
        }
    }

    // A set, because an entry may be near several matches. It is in file order.
    let mut shown: BTreeSet<EntryIx> = BTreeSet::new();
    for matched in &matches {
        shown.insert(matched.entry);
        shown.extend(conversation.ancestors(matched.entry).take(around.above));
        shown.extend(conversation.descendants(matched.entry).take(around.below));
        if around.with_prompt {
            shown.extend(last_request(session, Some(matched.entry)));
        }
    }

    let mut nearby = Vec::with_capacity(shown.len());
    let mut previous = None;
    for entry in shown {
        // The parent in the conversation is directly before the entry in the result.
        let continues = previous.is_some() && previous == conversation.ancestors(entry).next();
        previous = Some(entry);
        nearby.push(NearbyEntry {
            entry,
            match_index: find_match_index(&matches, entry),
            continues,
        });
    }
    nearby
}

/// Returns the index of the match in an entry; `None` if the entry does not match. `matches` must
/// be in ascending order of their entries.
fn find_match_index(matches: &[Matched], entry: EntryIx) -> Option<usize> {
    let position = matches
        .binary_search_by_key(&entry.index(), |matched| matched.entry.index())
        .ok()?;
    Some(matches[position].index)
}

/// An entry that matches, and the index of its line in the caller's `lines`.
struct Matched {
    entry: EntryIx,
    index: usize,
}
