//! Joining fragments in file order.

use super::LoadError;
use super::fragment::Fragment;
use crate::session::entry::{EntryIx, Slice};

/// The numbers of entries, strings, lines and records before a fragment.
#[derive(Clone, Copy)]
struct Base {
    entries: u32,
    arena: u32,
    lines: u32,
    records: u32,
}

impl Base {
    fn number(self, entry: &mut EntryIx) {
        *entry = entry.moved(self.entries);
    }

    fn slices<'s>(self, slices: impl IntoIterator<Item = &'s mut Slice>) {
        for slice in slices.into_iter().filter(|slice| slice.len > 0) {
            slice.start += self.arena;
        }
    }
}

impl Fragment {
    /// Joins the next fragment of the file, and leaves it empty for reuse.
    ///
    /// # Errors
    /// If the strings of all entries, or their rows, no longer fit (4 GiB).
    pub fn append(&mut self, next: &mut Fragment) -> Result<(), LoadError> {
        let fits = |ours: usize, theirs: usize| ours + theirs <= u32::MAX as usize;
        if !fits(self.arena.len(), next.arena.len())
            || !fits(self.rows.len(), next.rows.len())
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
        next.renumber(base);
        if is_followed {
            next.parent_ids.remove(0);
            next.entries[0].parent = EntryIx::new(self.entries.len()).before();
        }
        self.digest.append(std::mem::take(&mut next.digest), base.entries);
        self.entries.append(&mut next.entries);
        self.arena.append(&mut next.arena);
        self.parent_ids.append(&mut next.parent_ids);
        self.rows.append(&mut next.rows, base.entries as usize);
        self.labels.append(&mut next.labels);
        self.tool_calls.append(&mut next.tool_calls);
        self.tool_results.append(&mut next.tool_results);
        if let Some(next) = &mut next.file_calls {
            self.file_calls.get_or_insert_default().append(next);
        }
        self.other_names.append(&mut next.other_names);
        self.timestamps.append(&mut next.timestamps);
        self.searchable.append(&mut next.searchable);
        self.found.append(&mut next.found);
        self.billed.append(&mut next.billed);
        self.messages.append(&mut next.messages);
        self.problems.append(&mut next.problems);
        self.draft_links.append(&mut next.draft_links);
        self.numbered_targets.append(&mut next.numbered_targets);
        self.given_name = next.given_name.take().or(self.given_name.take());
        self.leaf_record = next.leaf_record.take().or(self.leaf_record);
        self.kinds.extend(std::mem::take(&mut next.kinds));
        self.draft |= std::mem::take(&mut next.draft);
        self.dialect = self.dialect.or(next.dialect.take());
        self.lines += std::mem::take(&mut next.lines);
        self.records += std::mem::take(&mut next.records);
        Ok(())
    }

    /// Whether the parent of the first entry of the next fragment is the last entry here, as usual.
    fn is_followed_by_child(&self, next: &Fragment) -> bool {
        let id = self.entries.last().map_or(&[][..], |last| &self.arena[last.id.range()]);
        let first = next.parent_ids.first().filter(|parent| parent.entry == EntryIx::new(0));
        first.is_some_and(|parent| next.arena[parent.id.range()] == *id)
    }

    /// Renumbers its entries, strings, lines and records to start from `base`.
    fn renumber(&mut self, base: Base) {
        for entry in &mut self.entries {
            base.slices([&mut entry.id]);
            entry.parent.iter_mut().for_each(|parent| base.number(parent));
            entry.line.0 += base.lines;
            entry.record += base.records;
        }
        for parent in &mut self.parent_ids {
            base.number(&mut parent.entry);
            base.slices([&mut parent.id]);
        }
        for label in &mut self.labels {
            base.number(&mut label.entry);
            base.slices([&mut label.target, &mut label.name, &mut label.timestamp]);
        }
        for call in &mut self.tool_calls {
            base.number(&mut call.entry);
            base.slices([&mut call.id, &mut call.name, &mut call.row]);
        }
        for result in &mut self.tool_results {
            base.number(&mut result.entry);
            base.slices([&mut result.call]);
        }
        for call in self.file_calls.iter_mut().flatten() {
            base.number(&mut call.entry);
            base.slices([&mut call.path]);
        }
        for name in &mut self.other_names {
            base.number(&mut name.entry);
            base.slices([&mut name.kind, &mut name.role]);
        }
        self.found.iter_mut().for_each(|(entry, _)| base.number(entry));
        self.billed.iter_mut().for_each(|request| base.number(&mut request.entry));
        base.slices(self.timestamps.iter_mut().chain(&mut self.searchable));
        self.problems.iter_mut().for_each(|problem| problem.line.0 += base.lines);
        self.draft_links.iter_mut().for_each(|link| base.number(&mut link.entry));
        self.numbered_targets.iter_mut().for_each(|(entry, _)| base.number(entry));
        if let Some((entry, target)) = &mut self.leaf_record {
            base.number(entry);
            base.slices([target]);
        }
    }
}
