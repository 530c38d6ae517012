//! A map from ids to entries that does not store the ids again.

use super::entry::EntryIx;
use foldhash::quality::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::hash::BuildHasher;

/// A table from ids to entries; the ids themselves are in the session's arena. The hash has a
/// random key, so that no file can be made to cause collisions. No output depends on the key.
#[derive(Debug, Default)]
pub struct IdIndex {
    table: HashTable<EntryIx>,
    hasher: RandomState,
}

impl IdIndex {
    /// Returns an empty table with room for `entries`.
    pub fn with_capacity(entries: usize) -> Self {
        IdIndex {
            table: HashTable::with_capacity(entries),
            hasher: RandomState::default(),
        }
    }

    /// Maps the id of an entry to the entry, and returns the entry to which the id was mapped
    /// before. An empty id is not mapped.
    ///
    /// The table stores no ids. So `id_of`, which returns the id of an entry, is called for `ix`
    /// and for entries in the table.
    pub fn insert<'a>(
        &mut self,
        ix: EntryIx,
        id_of: impl Fn(EntryIx) -> &'a [u8],
    ) -> Option<EntryIx> {
        let id = id_of(ix);
        if id.is_empty() {
            return None;
        }
        let hash = self.hasher.hash_one(id);
        // Called for each entry when the table grows.
        let hash_of = |&other: &EntryIx| self.hasher.hash_one(id_of(other));
        match self.table.entry(hash, |&other| id_of(other) == id, hash_of) {
            Entry::Occupied(mut occupied) => {
                // As in the agents, the id refers to the last entry that has it.
                let earlier = *occupied.get();
                *occupied.get_mut() = ix;
                Some(earlier)
            }
            Entry::Vacant(vacant) => {
                vacant.insert(ix);
                None
            }
        }
    }

    /// Returns the entry with this id; of several, the one that was inserted last. `id_of` returns
    /// the id of an entry.
    pub fn get<'a>(&self, id: &[u8], id_of: impl Fn(EntryIx) -> &'a [u8]) -> Option<EntryIx> {
        let hash = self.hasher.hash_one(id);
        self.table.find(hash, |&other| id_of(other) == id).copied()
    }
}
