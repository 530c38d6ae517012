//! Merges the lines of a session with the entries that were removed from between them.

use super::lines::RestoredLine;
use crate::ops::prune::side::PrunedRecord;
use foldhash::{HashMap, HashSet};
use pisess_json::text::Text;
use std::collections::VecDeque;

/// A line behind which entries were removed.
#[derive(PartialEq, Eq, Hash)]
pub(super) enum Anchor {
    /// The header.
    Header,
    /// The entry with this id.
    Entry(Text<'static>),
}

/// A removed entry that is to be put back behind its anchor.
pub(super) struct RemovedEntry<'a> {
    pub record: &'a PrunedRecord,
    /// The index of the record in the operation.
    pub index: usize,
    /// The number of lines by which the entry was below its anchor: 1 for the next line.
    pub distance: usize,
}

/// The entries that an operation removed.
#[derive(Default)]
pub(super) struct RemovedEntries<'a> {
    /// The entries to put back, by anchor, in file order.
    pub behind: HashMap<Anchor, VecDeque<RemovedEntry<'a>>>,
    /// The entries that the session contains already.
    pub present: Vec<RemovedEntry<'a>>,
}

impl<'a> RemovedEntries<'a> {
    /// Returns the ids of the entries that the session contains already.
    pub fn present_ids(&self) -> HashSet<&'a Text<'static>> {
        self.present.iter().map(|entry| &entry.record.id).collect()
    }
}

/// Merges the lines of a session with its removed entries. Each entry is put back at its distance
/// behind its anchor: `x`, at the distance 2, becomes the second line after `a`.
///
/// ```text
/// session      a, blank, b
/// merged       a, blank, x, b
/// ```
///
/// A prune removes only entries. So blank and malformed lines behind an anchor are still there, and
/// count.
pub(super) struct LineMerger<'a> {
    /// The merged lines so far. A new list, because each insertion into a long list would move the
    /// rest of it.
    lines: Vec<RestoredLine<'a>>,
    /// The index of the last anchor in `lines`.
    anchor_index: usize,
    /// The entries behind that anchor that are not inserted yet, in file order.
    pending: VecDeque<RemovedEntry<'a>>,
    /// The indexes of the records of the inserted entries.
    inserted: Vec<usize>,
}

/// The result of a [`LineMerger`].
pub(super) struct MergedLines<'a> {
    pub lines: Vec<RestoredLine<'a>>,
    /// The indexes of the records of the inserted entries.
    pub inserted: Vec<usize>,
}

impl<'a> LineMerger<'a> {
    pub fn with_capacity(line_count: usize) -> LineMerger<'a> {
        LineMerger {
            lines: Vec::with_capacity(line_count),
            anchor_index: 0,
            pending: VecDeque::new(),
            inserted: Vec::new(),
        }
    }

    /// Adds the next line of the session, behind which these entries were `removed`.
    pub fn push_anchor(&mut self, anchor: RestoredLine<'a>, removed: VecDeque<RemovedEntry<'a>>) {
        // Entries of the last anchor are still pending if fewer lines follow it than their
        // distance.
        self.insert_all_pending();
        self.anchor_index = self.lines.len();
        self.lines.push(anchor);
        self.pending = removed;
    }

    /// Adds the next line of the session, which is not an anchor. Removed entries that belong above
    /// it are inserted first.
    pub fn push_other_line(&mut self, line: RestoredLine<'a>) {
        while self.is_pending_before_next_line() {
            self.insert_next_pending();
        }
        self.lines.push(line);
    }

    /// Whether an entry is pending whose place is that of the next line, or above it.
    fn is_pending_before_next_line(&self) -> bool {
        let Some(entry) = self.pending.front() else {
            return false;
        };
        // Both distances are from the anchor: 1 for the line directly behind it.
        let distance_of_next_line = self.lines.len() - self.anchor_index;
        entry.distance <= distance_of_next_line
    }

    /// Returns the merged lines. Entries that are still pending come last.
    pub fn finish(mut self) -> MergedLines<'a> {
        self.insert_all_pending();
        MergedLines {
            lines: self.lines,
            inserted: self.inserted,
        }
    }

    /// Inserts the entries that are still pending behind the last anchor.
    fn insert_all_pending(&mut self) {
        while !self.pending.is_empty() {
            self.insert_next_pending();
        }
    }

    fn insert_next_pending(&mut self) {
        let Some(entry) = self.pending.pop_front() else {
            return;
        };
        // Its anchor precedes it, so there is a line before it.
        let line_before = self.lines[self.lines.len() - 1];
        self.lines
            .push(RestoredLine::of_removed(entry.record, line_before));
        self.inserted.push(entry.index);
    }
}
