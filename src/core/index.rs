//! A map from ids to entries that does not store the ids again.

use super::entry::EntryIx;
use foldhash::quality::RandomState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

/// A table from id to entry index; the ids themselves are in the session's arena. The hash has a random key,
/// so that no file can be constructed to collide; no output depends on it.
#[derive(Debug, Default)]
pub struct IdIndex {
    table: HashTable<EntryIx>,
    hasher: RandomState,
}

impl IdIndex {
    /// Returns an empty table with room for `entries`.
    pub fn with_capacity(entries: usize) -> Self {
        IdIndex { table: HashTable::with_capacity(entries), hasher: RandomState::default() }
    }

    /// Maps `id` to `ix`. Returns the entry that had the id before, if any. `id_of` returns the id of an
    /// entry in the table.
    pub fn insert<'a>(&mut self, ix: EntryIx, id_of: impl Fn(EntryIx) -> &'a [u8]) -> Option<EntryIx> {
        let id = id_of(ix);
        let hash = self.hasher.hash_one(id);
        if let Some(found) = self.table.find_mut(hash, |&other| id_of(other) == id) {
            return Some(std::mem::replace(found, ix));
        }
        self.table.insert_unique(hash, ix, |&other| self.hasher.hash_one(id_of(other)));
        None
    }

    /// Returns the entry with this id.
    pub fn get<'a>(&self, id: &[u8], id_of: impl Fn(EntryIx) -> &'a [u8]) -> Option<EntryIx> {
        let hash = self.hasher.hash_one(id);
        self.table.find(hash, |&other| id_of(other) == id).copied()
    }
}
