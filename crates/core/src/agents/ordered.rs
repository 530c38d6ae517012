//! A map like JavaScript's `Map`, and a set like its `Set`: keys are in the order of insertion.

use foldhash::HashMap;
use std::borrow::Borrow;
use std::hash::Hash;

/// A map in which a key keeps its position until it is removed. Without values, it is a set.
#[derive(Clone, Debug)]
pub struct OrderedMap<K, V = ()> {
    by_key: HashMap<K, Slot<V>>,
    /// The position of the next key that is added.
    next_position: usize,
}

/// A value, and the position of its key. Positions only give the order: they may have gaps.
#[derive(Clone, Debug)]
struct Slot<V> {
    position: usize,
    value: V,
}

impl<K, V> Default for OrderedMap<K, V> {
    fn default() -> Self {
        OrderedMap {
            by_key: HashMap::default(),
            next_position: 0,
        }
    }
}

impl<K: Eq + Hash> OrderedMap<K> {
    /// Adds a key to a set. A new key is added at the end; an existing one keeps its position.
    pub fn insert(&mut self, key: K) {
        self.set(key, ());
    }
}

impl<K: Eq + Hash, V> OrderedMap<K, V> {
    /// Sets the value of a key. A new key is added at the end; an existing one keeps its position.
    pub fn set(&mut self, key: K, value: V) {
        let position = match self.by_key.get(&key) {
            Some(slot) => slot.position,
            None => self.next_position,
        };
        self.by_key.insert(key, Slot { position, value });
        self.next_position += 1;
    }

    /// Returns the value of a key. If the key has no value, sets it to `value` first.
    pub fn or_insert(&mut self, key: K, value: V) -> &mut V {
        let new = Slot {
            position: self.next_position,
            value,
        };
        self.next_position += 1;
        &mut self.by_key.entry(key).or_insert(new).value
    }

    /// Removes a key.
    pub fn remove<Q: Eq + Hash + ?Sized>(&mut self, key: &Q)
    where
        K: Borrow<Q>,
    {
        self.by_key.remove(key);
    }

    /// Returns the value of a key; `None` if it has none.
    pub fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.by_key.get(key).map(|slot| &slot.value)
    }

    /// Whether the map has no key.
    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// Iterates over the keys and their values, in order of insertion.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&K, &V)> {
        let mut all: Vec<_> = self.by_key.iter().collect();
        all.sort_unstable_by_key(|(_, slot)| slot.position);
        all.into_iter().map(|(key, slot)| (key, &slot.value))
    }

    /// Iterates over the keys, in order of insertion.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> {
        self.iter().map(|(key, _)| key)
    }
}
