//! Joins fragments in file order.

use super::LoadError;
use super::fragment::{DraftLink, Fragment, LeafRecord, NumberedTarget};
use crate::session::collected::{AppendPart, PrecedingCounts, Renumber};
use crate::session::entry::EntryIx;

impl Fragment {
    /// Moves the content of the next fragment of the file to the end of this one. The numbers of
    /// its entries, lines, records and strings become those in the whole. `next` is empty then, and
    /// can be reused.
    ///
    /// # Errors
    /// If the strings of all entries, or their rows, no longer fit into 4 GiB.
    pub fn append(&mut self, next: &mut Fragment) -> Result<(), LoadError> {
        // Offsets and indexes have 32 bits.
        let arena_len = self.arena.len() + next.arena.len();
        let rows_len = self.collected.rows.len() + next.collected.rows.len();
        let entry_count = self.entries.len() + next.entries.len();
        if arena_len.max(rows_len).max(entry_count) > u32::MAX as usize {
            return Err(LoadError::TooLarge);
        }

        let preceding = PrecedingCounts {
            entries: self.entries.len() as u32,
            arena: self.arena.len() as u32,
            lines: self.line_count,
            records: self.record_count,
        };

        // In most files, the parent of each entry is the one before. The first entry of the next
        // fragment is then linked here, and its parent need not be looked up by its id.
        let is_child_of_last = self.is_last_parent_of_first(next);
        if is_child_of_last {
            next.parent_ids.remove(0);
        }
        self.entries.append_part(&mut next.entries, preceding);
        if is_child_of_last {
            let first_joined = EntryIx::new(preceding.entries as usize);
            self.entries[first_joined.index()].parent = first_joined.previous();
        }

        self.collected.append_part(&mut next.collected, preceding);
        self.parent_ids.append_part(&mut next.parent_ids, preceding);
        self.problems.append_part(&mut next.problems, preceding);
        self.draft_links
            .append_part(&mut next.draft_links, preceding);
        self.numbered_targets
            .append_part(&mut next.numbered_targets, preceding);
        // The last `leaf` record of the file counts.
        if let Some(mut leaf_record) = next.leaf_record.take() {
            leaf_record.renumber(preceding);
            self.leaf_record = Some(leaf_record);
        }

        self.arena.append(&mut next.arena);
        self.is_draft |= std::mem::take(&mut next.is_draft);
        self.dialect = self.dialect.or(next.dialect.take());
        self.line_count += std::mem::take(&mut next.line_count);
        self.record_count += std::mem::take(&mut next.record_count);
        Ok(())
    }

    /// Whether the last entry of this fragment is the parent of the first entry of the next one. If
    /// so, the id of that parent is the first of the next fragment's `parent_ids`.
    ///
    /// `parent_ids` has the parents that are not the previous entry, in the order of their
    /// children. The first entry of a fragment has no previous entry there, so its parent, if it
    /// has one, is always listed, and is listed first.
    fn is_last_parent_of_first(&self, next: &Fragment) -> bool {
        let (Some(last), Some(listed)) = (self.entries.last(), next.parent_ids.first()) else {
            return false;
        };
        let is_of_first_entry = listed.entry == EntryIx::new(0);
        // An entry without an id is the parent of no other: listed ids are not empty.
        is_of_first_entry && next.arena[listed.text.range()] == self.arena[last.id.range()]
    }
}

// The record numbers in `DraftLink` and `NumberedTarget` were read from the file, so they are
// numbers in the whole file already.

impl Renumber for DraftLink {
    fn renumber(&mut self, preceding: PrecedingCounts) {
        self.entry.renumber(preceding);
    }
}

impl Renumber for NumberedTarget {
    fn renumber(&mut self, preceding: PrecedingCounts) {
        self.label.renumber(preceding);
    }
}

impl Renumber for LeafRecord {
    fn renumber(&mut self, preceding: PrecedingCounts) {
        self.entry.renumber(preceding);
        self.target_id.renumber(preceding);
    }
}
