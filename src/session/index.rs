//! A map from ids to entries that does not store the ids again.

use super::entry::EntryIx;
use foldhash::quality::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::hash::BuildHasher;
use std::hint::black_box;

/// The number of ids whose slots [`may_repeat`] loads before it looks at them.
const BATCH: usize = 64;

/// Whether two ids may be equal; `false` is certain. Examines at most the first `most` ids. Takes a fraction of the time
/// of building an index, and keeps no memory afterwards.
pub fn may_repeat<'a>(most: usize, ids: impl Iterator<Item = &'a [u8]>) -> bool {
    let hasher = RandomState::default();
    // Half of a hash decides where the search for an empty slot begins, the other half is stored there; 0 is empty.
    let mask = (2 * most).next_power_of_two() - 1;
    let mut stored = vec![0_u32; mask + 1];
    let first_slot = |hash: u64| (hash >> 32) as usize & mask;
    let mut hashes = ids.take(most).map(|id| hasher.hash_one(id));
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        batch.clear();
        batch.extend(hashes.by_ref().take(BATCH));
        if batch.is_empty() {
            return false;
        }
        // Loads the slots of the whole batch first, so that the loads overlap: one by one, each would wait for memory.
        // `black_box` keeps the compiler from removing them.
        black_box(batch.iter().fold(0, |all, &hash| all | stored[first_slot(hash)]));
        for &hash in &batch {
            let half = (hash as u32).max(1);
            let mut slot = first_slot(hash);
            while stored[slot] != 0 {
                if stored[slot] == half {
                    return true;
                }
                slot = (slot + 1) & mask;
            }
            stored[slot] = half;
        }
    }
}

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

    /// Maps the id of `ix` to `ix`, unless it is empty. Returns the entry that had the id before, if any. `id_of`
    /// returns the id of an entry.
    pub fn insert<'a>(&mut self, ix: EntryIx, id_of: impl Fn(EntryIx) -> &'a [u8]) -> Option<EntryIx> {
        let id = id_of(ix);
        if id.is_empty() {
            return None;
        }
        let hash = self.hasher.hash_one(id);
        let hash_of = |&other: &EntryIx| self.hasher.hash_one(id_of(other));
        match self.table.entry(hash, |&other| id_of(other) == id, hash_of) {
            Entry::Occupied(mut found) => Some(std::mem::replace(found.get_mut(), ix)),
            Entry::Vacant(place) => {
                place.insert(ix);
                None
            }
        }
    }

    /// Returns the entry with this id.
    pub fn get<'a>(&self, id: &[u8], id_of: impl Fn(EntryIx) -> &'a [u8]) -> Option<EntryIx> {
        let hash = self.hasher.hash_one(id);
        self.table.find(hash, |&other| id_of(other) == id).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_ids_are_noticed() {
        let ids: Vec<_> = (0..5_000).map(|at| format!("{at:08x}")).collect();
        let repeats = |ids: &[String]| may_repeat(ids.len(), ids.iter().map(String::as_bytes));
        assert!(!repeats(&[]));
        assert!(!repeats(&ids[..1]));
        assert!(!repeats(&ids));
        for at in [0, 1, 4_998] {
            let mut again = ids.clone();
            again[at] = ids[4_999].clone();
            assert!(repeats(&again), "{at}");
        }
    }
}
