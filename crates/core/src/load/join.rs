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
        let fits = |ours: usize, theirs: usize| ours + theirs <= u32::MAX as usize;
        if !fits(self.arena.len(), next.arena.len())
            || !fits(self.collected.rows.len(), next.collected.rows.len())
            || !fits(self.entries.len(), next.entries.len())
        {
            return Err(LoadError::TooLarge);
        }
        let base = Base {
            entries: self.entries.len() as u32,
            arena: self.arena.len() as u32,
            lines: self.lines,
            records: self.records,
        };
        let is_followed = self.is_followed_by_child(next);
        if is_followed {
            next.parent_ids.remove(0);
        }
        self.entries.join(&mut next.entries, base);
        if is_followed {
            let first = EntryIx::new(base.entries as usize);
            self.entries[first.at()].parent = first.before();
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
        self.draft |= std::mem::take(&mut next.draft);
        self.dialect = self.dialect.or(next.dialect.take());
        self.lines += std::mem::take(&mut next.lines);
        self.records += std::mem::take(&mut next.records);
        Ok(())
    }

    /// Whether the parent of the first entry of the next fragment is the last entry here, as usual.
    fn is_followed_by_child(&self, next: &Fragment) -> bool {
        let id = self
            .entries
            .last()
            .map_or(&[][..], |last| &self.arena[last.id.range()]);
        let first = next
            .parent_ids
            .first()
            .filter(|parent| parent.entry == EntryIx::new(0));
        first.is_some_and(|parent| next.arena[parent.text.range()] == *id)
    }
}

impl Renumber for DraftLink {
    fn renumber(&mut self, base: Base) {
        self.entry.renumber(base);
    }
}
