//! A cache of keys. Most objects have the keys of an earlier object, in the same order.
//!
//! The next key is compared with the keys that followed the same key before. If it is one of them,
//! its length and name are known without a search. The processor predicts this, and continues
//! without waiting.
//!
//! ```text
//! {"id":1,"usage":{"in":2,"out":3}}
//!
//! outside ─inside→ {"id": ─after→ ,"usage": ─inside→ {"in": ─after→ ,"out":
//! ```
//!
//! Only ASCII keys of at most 20 bytes, without white space around them, are cached. What follows
//! any other key in its object, or is in its value, is walked over as without a cache.

use super::{Malformed, RawString, Scanner};

/// The maximum length of a cached text in bytes: a key with its quotes, its colon, and the brace or
/// comma before it.
const MAX_TEXT_LEN: usize = 24;
/// The maximum number of keys.
const MAX_KEYS: usize = 1024;
/// The maximum number of keys that are cached in one slot.
const MAX_CHOICES: usize = 8;
/// The maximum number of bytes of one character in an escaped key: `\u0061`.
const MAX_ESCAPE_LEN: usize = 6;

/// A cache of the keys of objects, each with a name given by the caller.
#[derive(Debug)]
pub struct KeyCache<N> {
    /// The cached keys. The first one is not a key, but stands for the outside of all objects.
    /// Empty if the cache is off.
    cached: Vec<CachedKey<N>>,
    /// Returns the name for a decoded key.
    name_of: fn(&[u8]) -> N,
    /// The key whose value is being walked over. The first key of an object in this value is
    /// compared with the keys that began an object in the value of the same key before.
    pub(super) current: KeyIx,
}

/// The index of a cached key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeyIx(u16);

impl KeyIx {
    const OUTSIDE: KeyIx = KeyIx(0);
    /// A key that is not cached.
    const NONE: KeyIx = KeyIx(KeySlot::AFTER - 1);
}

/// A key that was walked over.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadKey<N> {
    /// Its index; [`KeyIx::NONE`] if it is not cached.
    pub ix: KeyIx,
    pub name: N,
}

/// A cached key.
#[derive(Debug)]
struct CachedKey<N> {
    /// The key from the brace or comma before it to its colon, and then zeros.
    text: [u64; MAX_TEXT_LEN / 8],
    /// Ones for the bytes of the text.
    mask: [u64; MAX_TEXT_LEN / 8],
    /// The number of bytes of the text.
    len: usize,
    name: N,
    /// Of the keys that followed it in an object, the one that was cached last.
    newest_after: KeyIx,
    /// Of the keys that began an object in its value, the one that was cached last.
    newest_inside: KeyIx,
    /// The key that was cached before this one in the same slot: the next one in the list that
    /// `newest_after` or `newest_inside` of another key begins.
    older: KeyIx,
}

/// Where a key can be: after another key in the same object, or at the beginning of an object in
/// the value of another key. Several keys may have been read in one slot.
///
/// The scanner keeps a slot for each open container. For an object, it is the slot of the key after
/// the current one; for an array, the slot of the first key of an item.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeySlot(u16);

impl KeySlot {
    /// The bit that is set in a slot after a key. The other bits are the index of the key.
    const AFTER: u16 = 1 << 15;

    /// Returns the slot after `key` in the same object.
    pub fn after(key: KeyIx) -> Self {
        KeySlot(Self::AFTER | key.0)
    }

    /// Returns the slot at the beginning of an object in the value of `key`.
    pub fn inside(key: KeyIx) -> Self {
        KeySlot(key.0)
    }

    /// Whether the slot is after a key, and not in its value.
    pub fn is_after(self) -> bool {
        self.0 & Self::AFTER != 0
    }

    /// Returns the key that the slot is after, or in whose value it is.
    pub fn key(self) -> KeyIx {
        KeyIx(self.0 & !Self::AFTER)
    }
}

impl<N: Copy> KeyCache<N> {
    /// Returns an empty cache. `name_of` returns the name for a decoded key. For keys of more than
    /// 24 bytes, it must return the name of the empty key, because such keys are not always
    /// decoded.
    pub fn new(name_of: fn(&[u8]) -> N) -> Self {
        let mut keys = Self::disabled(name_of);
        keys.cached
            .push(CachedKey::new(b"", name_of(b""), KeyIx::NONE));
        keys
    }

    /// Returns a cache that stays empty, for single objects.
    pub fn disabled(name_of: fn(&[u8]) -> N) -> Self {
        KeyCache {
            cached: Vec::new(),
            name_of,
            current: KeyIx::OUTSIDE,
        }
    }

    /// Sets the current key to the outside of all objects. Must be called after an error of a walk.
    pub fn restart(&mut self) {
        self.current = KeyIx::OUTSIDE;
    }

    fn get(&self, key: KeyIx) -> Option<&CachedKey<N>> {
        self.cached.get(usize::from(key.0))
    }

    /// Returns the key that was cached last in a slot, which begins the list of the keys cached
    /// there: `older` of each key is the next one. [`KeyIx::NONE`] if there is none.
    #[inline(always)]
    fn newest_key(&self, slot: KeySlot) -> KeyIx {
        match self.get(slot.key()) {
            Some(key) if slot.is_after() => key.newest_after,
            Some(key) => key.newest_inside,
            None => KeyIx::NONE,
        }
    }

    /// Returns the cached key with which `bytes` begins, and its index. Only the keys of a slot are
    /// compared. The text that is compared is from the brace or comma to the colon, such as
    /// `{"id":` or `,"usage":`.
    ///
    /// `None` if there is no such key, or if `bytes` has fewer than [`MAX_TEXT_LEN`] bytes. So many
    /// bytes are always compared, and a mask excludes the bytes beyond the text of a key.
    ///
    /// Always inlined, like its two callers, because it runs for each member of each object.
    #[inline(always)]
    fn find(&self, slot: KeySlot, bytes: &[u8]) -> Option<(KeyIx, &CachedKey<N>)> {
        let start: &[u8; MAX_TEXT_LEN] = bytes.first_chunk()?;
        let words = to_words(start);
        let mut ix = self.newest_key(slot);
        // The list of a slot ends with `KeyIx::NONE`, which `get` does not find.
        while let Some(key) = self.get(ix) {
            // Not 0 if the bytes of this word differ from the text.
            let difference = |word: usize| (words[word] & key.mask[word]) ^ key.text[word];
            // The differences of all words are joined before the test, so that there is only one
            // branch, which the processor predicts.
            if difference(0) | difference(1) | difference(2) == 0 {
                return Some((ix, key));
            }
            ix = key.older;
        }
        None
    }

    /// Returns the name for a key. A key that is certainly longer than [`MAX_TEXT_LEN`] is not
    /// decoded: it has the name of the empty key, as [`KeyCache::new`] requires.
    fn key_name(&self, key: RawString) -> N {
        if !key.has_escape {
            (self.name_of)(key.bytes)
        } else if key.bytes.len() > MAX_ESCAPE_LEN * MAX_TEXT_LEN {
            (self.name_of)(b"")
        } else {
            (self.name_of)(key.text().as_bytes())
        }
    }

    /// Caches a key in a slot, and returns its index, or the index it has there already. `text` is
    /// the key from the brace or comma before it to its colon, such as `,"usage":`.
    ///
    /// Returns [`KeyIx::NONE`] if there is no room, if the text is too long, or if the key is after
    /// or inside a key that is not cached itself.
    fn insert(&mut self, slot: KeySlot, text: &[u8], name: N) -> KeyIx {
        if self.get(slot.key()).is_none() || text.len() > MAX_TEXT_LEN {
            return KeyIx::NONE;
        }
        let newest = self.newest_key(slot);
        let new_key = CachedKey::new(text, name, newest);

        // The key may be cached already: `find`, which was called before, finds none in the last
        // bytes of a buffer.
        let mut ix = newest;
        let mut choice_count = 0;
        while let Some(key) = self.get(ix) {
            if key.text == new_key.text {
                return ix;
            }
            ix = key.older;
            choice_count += 1;
        }
        if self.cached.len() == MAX_KEYS || choice_count == MAX_CHOICES {
            return KeyIx::NONE;
        }

        // The new key begins the list of its slot, before `newest`. The key that the slot is after
        // or inside has the beginning of the list.
        let new_ix = KeyIx(self.cached.len() as u16);
        let slot_key = &mut self.cached[usize::from(slot.key().0)];
        if slot.is_after() {
            slot_key.newest_after = new_ix;
        } else {
            slot_key.newest_inside = new_ix;
        }
        self.cached.push(new_key);
        new_ix
    }
}

impl<N> CachedKey<N> {
    /// Makes a key after which, and in whose value, no keys are cached yet. `older` is the key that
    /// was cached before it in the same slot.
    ///
    /// # Panics
    /// If `text` has more than [`MAX_TEXT_LEN`] bytes.
    fn new(text: &[u8], name: N, older: KeyIx) -> Self {
        let mut padded = [0; MAX_TEXT_LEN];
        padded[..text.len()].copy_from_slice(text);
        let mut mask = [0; MAX_TEXT_LEN];
        mask[..text.len()].fill(u8::MAX);
        CachedKey {
            text: to_words(&padded),
            mask: to_words(&mask),
            len: text.len(),
            name,
            newest_after: KeyIx::NONE,
            newest_inside: KeyIx::NONE,
            older,
        }
    }
}

/// Returns a text as words, of which three are compared faster than 24 bytes.
#[inline]
fn to_words(bytes: &[u8; MAX_TEXT_LEN]) -> [u64; MAX_TEXT_LEN / 8] {
    let (words, _) = bytes.as_chunks();
    std::array::from_fn(|at| u64::from_ne_bytes(words[at]))
}

impl Scanner<'_> {
    /// Walks over the members of an object with a cache of keys. Calls `walk_value` at the value of
    /// each member, with the name of its key. `walk_value` must walk to the end of the value.
    ///
    /// While `walk_value` runs, `keys.current` is the index of the key of the value, so that
    /// objects in the value find their keys. At the end of the object, `keys.current` is restored.
    /// After an error it is not: see [`KeyCache::restart`].
    #[inline]
    pub fn walk_members<N: Copy>(
        &mut self,
        keys: &mut KeyCache<N>,
        mut walk_value: impl FnMut(&mut Self, &mut KeyCache<N>, N) -> Result<(), Malformed>,
    ) -> Result<(), Malformed> {
        if self.peek() != b'{' {
            return Err(self.malformed_here());
        }
        let outer_ix = keys.current;
        let Some(mut key) = self.read_first_key(keys, outer_ix)? else {
            return Ok(());
        };
        loop {
            keys.current = key.ix;
            walk_value(self, keys, key.name)?;
            match self.peek() {
                // The next key is searched for among the keys that followed this one in earlier
                // objects.
                b',' => key = self.read_next_key(keys, key.ix)?,
                b'}' => {
                    self.pos += 1;
                    keys.current = outer_ix;
                    return Ok(());
                }
                _ => return Err(self.malformed_here()),
            }
        }
    }

    /// Walks from the brace of an object, at the current position, to its first value, and returns
    /// the key before that. If the object is empty, walks to its end, and returns `None`.
    /// `outer_key` is the key whose value contains the object.
    ///
    /// Always inlined, because it runs for each object; what is rare is in a function of its own.
    #[inline(always)]
    pub(super) fn read_first_key<N: Copy>(
        &mut self,
        keys: &mut KeyCache<N>,
        outer_key: KeyIx,
    ) -> Result<Option<ReadKey<N>>, Malformed> {
        debug_assert_eq!(self.bytes.get(self.pos), Some(&b'{'));
        let slot = KeySlot::inside(outer_key);
        if let Some((ix, key)) = keys.find(slot, &self.bytes[self.pos..]) {
            // The cached text is from the brace to the colon.
            self.pos += key.len;
            return Ok(Some(ReadKey { ix, name: key.name }));
        }
        self.read_uncached_first_key(keys, slot)
    }

    /// Does the rest of [`Scanner::read_first_key`] for an object that is empty, or whose first key
    /// is not cached. The scanner is at the brace.
    ///
    /// It is not inlined, because it runs rarely.
    #[inline(never)]
    fn read_uncached_first_key<N: Copy>(
        &mut self,
        keys: &mut KeyCache<N>,
        slot: KeySlot,
    ) -> Result<Option<ReadKey<N>>, Malformed> {
        self.pos += "{".len();
        if self.peek() == b'}' {
            self.pos += "}".len();
            return Ok(None);
        }
        self.read_uncached_key(keys, slot).map(Some)
    }

    /// Walks from the comma after a member, at the current position, to the value of the next
    /// member, and returns the key of the next member. `previous_key` is the key of the member
    /// before the comma.
    ///
    /// Always inlined, because it runs for each member; what is rare is in a function of its own.
    #[inline(always)]
    pub(super) fn read_next_key<N: Copy>(
        &mut self,
        keys: &mut KeyCache<N>,
        previous_key: KeyIx,
    ) -> Result<ReadKey<N>, Malformed> {
        debug_assert_eq!(self.bytes.get(self.pos), Some(&b','));
        let slot = KeySlot::after(previous_key);
        if let Some((ix, key)) = keys.find(slot, &self.bytes[self.pos..]) {
            // The cached text is from the comma to the colon.
            self.pos += key.len;
            return Ok(ReadKey { ix, name: key.name });
        }
        self.pos += ",".len();
        self.read_uncached_key(keys, slot)
    }

    /// Walks over a key and its colon, after a brace or comma, and caches the key if possible, in
    /// the slot where it was searched for.
    #[inline(never)]
    fn read_uncached_key<N: Copy>(
        &mut self,
        keys: &mut KeyCache<N>,
        slot: KeySlot,
    ) -> Result<ReadKey<N>, Malformed> {
        // The text to cache begins with the brace or comma, or with white space after it, which the
        // caller has walked over.
        let text_start = self.pos - 1;
        let key = self.read_string()?;
        self.expect(b':')?;
        let name = keys.key_name(key);
        let text = &self.bytes[text_start..self.pos];

        // Without white space, four bytes are around the key: a brace or comma, two quotes, and a
        // colon.
        let has_space = text[0] <= b' ' || text.len() > key.bytes.len() + 4;
        // A key with bytes above 0x7f is not cached: each time it is read, its position must be
        // added to the range of `Scanner::take_non_ascii`.
        let can_be_cached = !keys.cached.is_empty() && !has_space && text.is_ascii();
        let ix = if can_be_cached {
            keys.insert(slot, text, name)
        } else {
            KeyIx::NONE
        };
        Ok(ReadKey { ix, name })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Malformed;
    use super::super::tests::random;
    use super::*;

    /// Walks over the object at `start`. Returns its keys, and its length or where it breaks.
    fn walked(
        text: &[u8],
        start: usize,
        keys: &mut KeyCache<[u8; 4]>,
    ) -> (Vec<[u8; 4]>, Result<usize, Malformed>) {
        let mut scanner = Scanner::new(text);
        scanner.seek(start);
        keys.restart();
        let mut names = Vec::new();
        let end = scanner.walk_members(keys, |scanner, keys, name| {
            names.push(name);
            scanner.skip_value_with(keys)
        });
        let non_ascii = scanner.take_non_ascii();
        let mut places = start..end.map_or(start, |()| scanner.pos());
        assert!(
            places.all(|at| text[at].is_ascii() || non_ascii.contains(&at)),
            "{}",
            text.escape_ascii()
        );
        let broken = |Malformed { at }| Malformed { at: at - start };
        (names, end.map(|()| scanner.pos() - start).map_err(broken))
    }

    /// Returns the first bytes of a key as its name.
    fn name(key: &[u8]) -> [u8; 4] {
        std::array::from_fn(|at| key.get(at).copied().unwrap_or(0))
    }

    #[test]
    fn cached_keys_are_found_again() {
        let mut keys = KeyCache::new(name);
        let line = br#"{"type":1,"usage":{"input":2,"cost":{"total":3}},"ids":[{"id":4}],"end":5}"#;
        let padded = [&line[..], &[b' '; MAX_TEXT_LEN]].concat();
        let first = walked(&padded, 0, &mut keys);
        assert_eq!(first.0, [*b"type", *b"usag", *b"ids\0", *b"end\0"]);
        let seen = keys.cached.len();
        assert_eq!(seen, 1 + 8);
        assert_eq!(walked(&padded, 0, &mut keys), first);
        // At the end of the bytes, too.
        assert_eq!(walked(line, 0, &mut keys), first);
        assert_eq!(keys.cached.len(), seen);
    }

    #[test]
    fn a_cache_changes_no_result() {
        let keys_and_spaces =
            r#""a":~"b":~"type":~"\u0061":~"é":~"a" :~ "a":~"\"":~"longer than what is compared":"#;
        let values = r#"1~-0.5~"text"~null~{"a":1}~{"b":[{"a":{}}]}~[]"#;
        let others = r#"{~}~[~]~,~:~ ~"~{"a":~,"a":~,"b":"#;
        let [spelled, values, others] =
            [keys_and_spaces, values, others].map(|all| Vec::from_iter(all.split('~')));
        let mut next = random();
        let mut keys = KeyCache::new(name);
        let mut whole = 0;
        for _ in 0..20_000 {
            let mut lines = Vec::new();
            for _ in 0..5 {
                let mut line = String::from("{\"type\":1");
                for _ in 0..next(12) {
                    if next(16) == 0 {
                        line += others[next(others.len())];
                    } else {
                        line += ",";
                        line += spelled[next(spelled.len())];
                        line += values[next(values.len())];
                    }
                }
                lines.push(line + "}");
            }
            let text = lines.join("\n");
            let mut start = 0;
            for line in lines {
                let expected = walked(line.as_bytes(), 0, &mut KeyCache::disabled(name));
                whole += usize::from(expected.1.is_ok());
                assert_eq!(
                    walked(text.as_bytes(), start, &mut keys),
                    expected,
                    "{line}"
                );
                start += line.len() + 1;
            }
        }
        assert!(whole > 20_000, "{whole}");
        assert!(keys.cached.len() > 100, "{}", keys.cached.len());
    }

    #[test]
    fn the_cache_is_limited() {
        let mut keys = KeyCache::new(name);
        let space = " ".repeat(MAX_TEXT_LEN);
        let wide = |at: usize| {
            format!(
                "{{{}\"k{at}\":1}}{space}",
                "\"a\":1,".repeat(at / (MAX_CHOICES - 1))
            )
        };
        for line in (0..4 * MAX_KEYS).map(wide) {
            let expected = walked(line.as_bytes(), 0, &mut KeyCache::disabled(name));
            assert_eq!(walked(line.as_bytes(), 0, &mut keys), expected);
        }
        assert_eq!(keys.cached.len(), MAX_KEYS);
        let mut keys = KeyCache::new(name);
        (0..MAX_KEYS)
            .for_each(|at| drop(walked(format!("{{\"k{at}\":1}}").as_bytes(), 0, &mut keys)));
        assert_eq!(keys.cached.len(), 1 + MAX_CHOICES);
    }
}
