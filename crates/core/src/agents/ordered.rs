//! A map as JavaScript's `Map`, and a set as its `Set`: the order of the keys is that of insertion.

use foldhash::HashMap;
use std::borrow::Borrow;
use std::hash::Hash;

/// A map in which a key keeps its place until it is removed; without values, a set.
#[derive(Clone, Debug)]
pub struct Ordered<K, V = ()> {
    by_key: HashMap<K, (usize, V)>,
    next: usize,
}

impl<K, V> Default for Ordered<K, V> {
    fn default() -> Self {
        Ordered {
            by_key: HashMap::default(),
            next: 0,
        }
    }
}

impl<K: Eq + Hash, V> Ordered<K, V> {
    /// Sets the value of a key.
    pub fn set(&mut self, key: K, value: V) {
        let place = self.by_key.get(&key).map_or(self.next, |(place, _)| *place);
        self.by_key.insert(key, (place, value));
        self.next += 1;
    }

    /// Returns the value of a key, after setting it to `value` if there is none.
    pub fn or_insert(&mut self, key: K, value: V) -> &mut V {
        let new = (self.next, value);
        self.next += 1;
        &mut self.by_key.entry(key).or_insert(new).1
    }

    /// Removes a key.
    pub fn remove<Q: Eq + Hash + ?Sized>(&mut self, key: &Q)
    where
        K: Borrow<Q>,
    {
        self.by_key.remove(key);
    }

    /// Returns the value of a key.
    pub fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.by_key.get(key).map(|(_, value)| value)
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// Iterates over the keys and their values.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&K, &V)> {
        let mut all: Vec<_> = self.by_key.iter().collect();
        all.sort_unstable_by_key(|(_, (place, _))| *place);
        all.into_iter().map(|(key, (_, value))| (key, value))
    }

    /// Iterates over the keys.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.iter().map(|(key, _)| key)
    }
}
