//! Joining fragments in file order.

use super::LoadError;
use super::fragment::{DraftLink, Fragment};
use crate::session::collected::{Base, Join, Renumber};
use crate::session::entry::EntryIx;

impl Fragment {
    /// Joins the next fragment of the file, and leaves it empty for reuse.
    ///
    /// # Errors
    /// If the strings of all entries, or their rows, no longer fit (4 GiB).
    pub fn append(&mut self, next: &mut Fragment) -> Result<(), LoadError> {
        // Offsets and indexes have 32 bits.
        let arena_len = self.arena.len() + next.arena.len();
        let rows_len = self.collected.rows.len() + next.collected.rows.len();
        let entry_count = self.entries.len() + next.entries.len();
        if arena_len.max(rows_len).max(entry_count) > u32::MAX as usize {
            return Err(LoadError::TooLarge);
        }

        let base = Base {
            entries: self.entries.len() as u32,
            arena: self.arena.len() as u32,
            lines: self.line_count,
            records: self.record_count,
        };

        // The parent of the first entry is then known here, and need not be looked up by its id.
        let is_followed = self.is_followed_by_child(next);
        if is_followed {
            next.parent_ids.remove(0);
        }
        self.entries.join(&mut next.entries, base);
        if is_followed {
            let first = EntryIx::new(base.entries as usize);
            self.entries[first.index()].parent = first.previous();
        }

        self.collected.join(&mut next.collected, base);
        self.parent_ids.join(&mut next.parent_ids, base);
        self.problems.join(&mut next.problems, base);
        self.draft_links.join(&mut next.draft_links, base);
        self.numbered_targets.join(&mut next.numbered_targets, base);
        if let Some((mut entry, mut target)) = next.leaf_record.take() {
            entry.renumber(base);
            target.renumber(base);
            self.leaf_record = Some((entry, target));
        }

        self.arena.append(&mut next.arena);
        self.is_draft |= std::mem::take(&mut next.is_draft);
        self.dialect = self.dialect.or(next.dialect.take());
        self.line_count += std::mem::take(&mut next.line_count);
        self.record_count += std::mem::take(&mut next.record_count);
        Ok(())
    }

    /// Whether the parent of the first entry of the next fragment is the last entry here, as usual.
    /// Before the first entry, the last id is empty.
    fn is_followed_by_child(&self, next: &Fragment) -> bool {
        let Some(parent) = next.parent_ids.first() else {
            return false;
        };
        if parent.entry != EntryIx::new(0) {
            return false;
        }

        let last_id = match self.entries.last() {
            Some(last) => &self.arena[last.id.range()],
            None => &[],
        };
        next.arena[parent.text.range()] == *last_id
    }
}

impl Renumber for DraftLink {
    fn renumber(&mut self, base: Base) {
        self.entry.renumber(base);
    }
}
