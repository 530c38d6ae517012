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
        let follows_last_entry = self.is_followed_by_child(next);
        if follows_last_entry {
            next.parent_ids.remove(0);
        }
        self.entries.append_part(&mut next.entries, preceding);
        if follows_last_entry {
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

    /// Whether the parent of the first entry of the next fragment is the last entry of this one.
    ///
    /// In its own fragment, that entry has no previous entry, so the id of its parent is the first
    /// of `parent_ids`.
    fn is_followed_by_child(&self, next: &Fragment) -> bool {
        let Some(parent) = next.parent_ids.first() else {
            return false;
        };
        let is_of_first_entry = parent.entry == EntryIx::new(0);
        if !is_of_first_entry {
            return false;
        }

        let last_id = match self.entries.last() {
            Some(last) => &self.arena[last.id.range()],
            // No parent has an empty id.
            None => &[],
        };
        next.arena[parent.text.range()] == *last_id
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
