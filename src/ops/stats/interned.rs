//! Interned names: each distinct name is stored once and has a number.

use foldhash::quality::RandomState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

/// The number of a name; 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Name(u32);

/// The names of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    list: Vec<Box<str>>,
    table: HashTable<u32>,
    hasher: RandomState,
    last: Name,
}

impl Names {
    /// Returns the number of a name.
    pub fn of(&mut self, name: &[u8]) -> Name {
        // Most names are equal to the previous one.
        if self.get(self.last).is_some_and(|last| last.as_bytes() == name) {
            return self.last;
        }
        let shown = String::from_utf8_lossy(name);
        let hash = self.hasher.hash_one(&*shown);
        let found = self.table.find(hash, |&at| *self.list[at as usize] == *shown);
        self.last = match found {
            Some(&at) => Name(at + 1),
            None => {
                let at = self.list.len() as u32;
                self.list.push(shown.as_ref().into());
                self.table.insert_unique(hash, at, |&at| self.hasher.hash_one(&*self.list[at as usize]));
                Name(at + 1)
            }
        };
        self.last
    }

    /// Returns the name with a number.
    pub fn get(&self, name: Name) -> Option<&str> {
        self.list.get((name.0 as usize).checked_sub(1)?).map(|name| &**name)
    }
}
