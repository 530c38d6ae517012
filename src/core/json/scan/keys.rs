//! A memory of keys. Most objects have the keys of an earlier object, in the same order.
//!
//! The next key is compared with those that followed the same key before. If it is one of them, its length and name
//! are known: nothing is searched, and the processor walks on without waiting for the comparison. Only keys of
//! printable ASCII without space around them are remembered; all others are walked over as without a memory.

use super::{Result, Scanner};

/// The most bytes of a key that are compared, from the brace or comma before it to its colon.
const ROOM: usize = 24;
/// The most keys that are remembered.
const KEYS: usize = 1024;
/// The most keys that are remembered in one place.
const CHOICES: usize = 8;

type Words = [u64; ROOM / 8];

/// The keys of the objects seen so far, each with a name given by the caller.
///
/// They form a tree. Below a key are those that followed it in an object, and those that began an object in its value.
#[derive(Debug)]
pub struct Keys<N> {
    /// The first one stands for what is outside of all objects. Empty if nothing is to be remembered.
    seen: Vec<Seen<N>>,
    /// Returns the name for a decoded key.
    name: fn(&[u8]) -> N,
    /// The key at whose value the scanner is.
    pub(super) at: KeyIx,
}

/// The index of a remembered key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeyIx(u16);

impl KeyIx {
    const OUTSIDE: KeyIx = KeyIx(0);
    /// A key that is not remembered.
    const NONE: KeyIx = KeyIx(u16::MAX);
}

#[derive(Debug)]
struct Seen<N> {
    /// The key, from the brace or comma before it to its colon, and then zeros.
    text: Words,
    /// Ones for the bytes of the text.
    mask: Words,
    /// The number of bytes of the text.
    len: usize,
    name: N,
    /// A key that followed it in an object.
    next: KeyIx,
    /// A key that began an object in its value.
    inner: KeyIx,
    /// Another key in the same place.
    other: KeyIx,
}

/// Where a key is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// After another key of the same object.
    After(KeyIx),
    /// At the beginning of an object in the value of another key.
    Within(KeyIx),
}

impl<N: Copy> Keys<N> {
    /// Returns an empty memory. `name` gives the name for a decoded key.
    pub fn new(name: fn(&[u8]) -> N) -> Self {
        let mut keys = Self::forgetful(name);
        keys.seen.push(Seen::new(b"", name(b""), KeyIx::NONE));
        keys
    }

    /// Returns a memory that stays empty, for single objects.
    pub fn forgetful(name: fn(&[u8]) -> N) -> Self {
        Keys { seen: Vec::new(), name, at: KeyIx::OUTSIDE }
    }

    /// Begins a new value, outside of all objects.
    pub fn restart(&mut self) {
        self.at = KeyIx::OUTSIDE;
    }

    fn get(&self, key: KeyIx) -> Option<&Seen<N>> {
        self.seen.get(usize::from(key.0))
    }

    /// Returns the last key that was remembered in a place.
    #[inline(always)]
    fn newest(&self, place: Place) -> KeyIx {
        match place {
            Place::After(key) => self.get(key).map_or(KeyIx::NONE, |key| key.next),
            Place::Within(key) => self.get(key).map_or(KeyIx::NONE, |key| key.inner),
        }
    }

    /// Returns the remembered key that the bytes begin with, if there is one.
    #[inline(always)]
    fn find(&self, place: Place, bytes: &[u8]) -> Option<(KeyIx, &Seen<N>)> {
        let words = words(bytes.first_chunk()?);
        let mut at = self.newest(place);
        while let Some(key) = self.get(at) {
            let differs = |word: usize| (words[word] & key.mask[word]) ^ key.text[word];
            if differs(0) | differs(1) | differs(2) == 0 {
                return Some((at, key));
            }
            at = key.other;
        }
        None
    }

    /// Remembers a key, if there is room for it.
    fn learn(&mut self, place: Place, text: &[u8], name: N) -> KeyIx {
        let (Place::After(before) | Place::Within(before)) = place;
        if self.get(before).is_none() || text.len() > ROOM {
            return KeyIx::NONE;
        }
        let newest = self.newest(place);
        let new = Seen::new(text, name, newest);
        let (mut at, mut choices) = (newest, 0);
        while let Some(key) = self.get(at) {
            // Near the end of the bytes, known keys are not found.
            if (key.text, key.len) == (new.text, new.len) {
                return at;
            }
            at = key.other;
            choices += 1;
        }
        if self.seen.len() == KEYS || choices == CHOICES {
            return KeyIx::NONE;
        }
        let ix = KeyIx(self.seen.len() as u16);
        let before = &mut self.seen[usize::from(before.0)];
        match place {
            Place::After(_) => before.next = ix,
            Place::Within(_) => before.inner = ix,
        }
        self.seen.push(new);
        ix
    }
}

impl<N> Seen<N> {
    fn new(text: &[u8], name: N, other: KeyIx) -> Self {
        let (mut padded, mut mask) = ([0; ROOM], [0; ROOM]);
        padded[..text.len()].copy_from_slice(text);
        mask[..text.len()].fill(u8::MAX);
        let (text, mask, len) = (words(&padded), words(&mask), text.len());
        Seen { text, mask, len, name, next: KeyIx::NONE, inner: KeyIx::NONE, other }
    }
}

#[inline]
fn words(bytes: &[u8; ROOM]) -> Words {
    let (words, _) = bytes.as_chunks();
    std::array::from_fn(|at| u64::from_ne_bytes(words[at]))
}

impl Scanner<'_> {
    /// Like [`Scanner::object`], with a memory of keys: `member` is called with the name of the key.
    #[inline]
    pub fn members<N: Copy>(
        &mut self,
        keys: &mut Keys<N>,
        mut member: impl FnMut(&mut Self, &mut Keys<N>, N) -> Result<()>,
    ) -> Result<()> {
        if self.peek() != b'{' {
            return Err(self.malformed());
        }
        let outer = keys.at;
        let Some((mut key, mut name)) = self.first_key(keys, outer)? else { return Ok(()) };
        loop {
            keys.at = key;
            member(self, keys, name)?;
            match self.peek() {
                b',' => (key, name) = self.next_key(keys, key)?,
                b'}' => {
                    self.pos += 1;
                    keys.at = outer;
                    return Ok(());
                }
                _ => return Err(self.malformed()),
            }
        }
    }

    /// Walks from the brace of an object to its first value; if the object is empty, to its end, and returns `None`.
    #[inline(always)]
    pub(super) fn first_key<N: Copy>(
        &mut self,
        keys: &mut Keys<N>,
        outer: KeyIx,
    ) -> Result<Option<(KeyIx, N)>> {
        let place = Place::Within(outer);
        if let Some((key, seen)) = keys.find(place, &self.bytes[self.pos..]) {
            self.pos += seen.len;
            return Ok(Some((key, seen.name)));
        }
        self.new_first_key(keys, place)
    }

    #[inline(never)]
    fn new_first_key<N: Copy>(&mut self, keys: &mut Keys<N>, place: Place) -> Result<Option<(KeyIx, N)>> {
        self.pos += 1;
        if self.peek() == b'}' {
            self.pos += 1;
            return Ok(None);
        }
        self.new_key(keys, place, b'{').map(Some)
    }

    /// Walks from the comma after a member to the value of the next one.
    #[inline(always)]
    pub(super) fn next_key<N: Copy>(&mut self, keys: &mut Keys<N>, before: KeyIx) -> Result<(KeyIx, N)> {
        let place = Place::After(before);
        if let Some((key, seen)) = keys.find(place, &self.bytes[self.pos..]) {
            self.pos += seen.len;
            return Ok((key, seen.name));
        }
        self.pos += 1;
        self.new_key(keys, place, b',')
    }

    /// Walks over a key and its colon, and remembers them if `before` is directly before the key.
    #[inline(never)]
    fn new_key<N: Copy>(&mut self, keys: &mut Keys<N>, place: Place, before: u8) -> Result<(KeyIx, N)> {
        let start = self.pos - 1;
        let key = self.string()?;
        self.expect(b':')?;
        let name = if key.escaped { (keys.name)(key.text().as_bytes()) } else { (keys.name)(key.bytes) };
        let text = &self.bytes[start..self.pos];
        // Around the key are the byte before it, two quotes, and a colon. Bytes above 0x7f must be noted each time.
        let is_plain = || text[0] == before && text.len() == key.bytes.len() + 4 && text.is_ascii();
        let is_new = !keys.seen.is_empty() && is_plain();
        Ok((if is_new { keys.learn(place, text, name) } else { KeyIx::NONE }, name))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::random;
    use super::*;

    /// Walks over an object with a memory. Returns its keys and its end.
    fn walked(line: &[u8], keys: &mut Keys<[u8; 4]>) -> (Vec<[u8; 4]>, Result<usize>) {
        let mut scanner = Scanner::new(line);
        let mut names = Vec::new();
        keys.restart();
        let end = scanner.members(keys, |scanner, keys, name| {
            names.push(name);
            scanner.skip_value_with(keys)
        });
        let non_ascii = scanner.take_non_ascii();
        let is_noted = |(at, byte): (usize, &u8)| byte.is_ascii() || non_ascii.contains(&at);
        let walked = &line[..end.map_or(0, |()| scanner.pos())];
        assert!(walked.iter().enumerate().all(is_noted), "{}", line.escape_ascii());
        (names, end.map(|()| scanner.pos()))
    }

    /// Returns the first bytes of a key as its name.
    fn name(key: &[u8]) -> [u8; 4] {
        std::array::from_fn(|at| key.get(at).copied().unwrap_or(0))
    }

    #[test]
    fn remembered_keys_are_found_again() {
        let mut keys = Keys::new(name);
        let line = br#"{"type":1,"usage":{"input":2,"cost":{"total":3}},"ids":[{"id":4}],"end":5}"#;
        let first = walked(line, &mut keys);
        assert_eq!(first.0, [*b"type", *b"usag", *b"ids\0", *b"end\0"]);
        let seen = keys.seen.len();
        assert_eq!(seen, 1 + 8);
        assert_eq!(walked(line, &mut keys), first);
        assert_eq!(keys.seen.len(), seen);
    }

    #[test]
    fn a_memory_changes_no_result() {
        let keys_and_spaces =
            r#""a":~"b":~"type":~"\u0061":~"é":~"a" :~ "a":~"\"":~"longer than what is compared":"#;
        let values = r#"1~-0.5~"text"~null~{"a":1}~{"b":[{"a":{}}]}~[]"#;
        let others = r#"{~}~[~]~,~:~ ~"~{"a":~,"a":~,"b":"#;
        let [spelled, values, others] =
            [keys_and_spaces, values, others].map(|all| Vec::from_iter(all.split('~')));
        let mut next = random();
        let mut keys = Keys::new(name);
        let mut whole = 0;
        for _ in 0..100_000 {
            let mut line = String::from("{\"type\":1");
            for _ in 0..next(12) {
                match next(16) {
                    0 => line += others[next(others.len())],
                    _ => line += &format!(",{}{}", spelled[next(spelled.len())], values[next(values.len())]),
                }
            }
            line += "}";
            line += &" ".repeat(next(ROOM));
            let expected = walked(line.as_bytes(), &mut Keys::forgetful(name));
            whole += usize::from(expected.1.is_ok());
            assert_eq!(walked(line.as_bytes(), &mut keys), expected, "{line}");
        }
        assert!(whole > 20_000, "{whole}");
        assert!(keys.seen.len() > 100, "{}", keys.seen.len());
    }

    #[test]
    fn the_memory_is_limited() {
        let mut keys = Keys::new(name);
        let space = " ".repeat(ROOM);
        let wide = |at: usize| format!("{{{}\"k{at}\":1}}{space}", "\"a\":1,".repeat(at / (CHOICES - 1)));
        for line in (0..4 * KEYS).map(wide) {
            let expected = walked(line.as_bytes(), &mut Keys::forgetful(name));
            assert_eq!(walked(line.as_bytes(), &mut keys), expected);
        }
        assert_eq!(keys.seen.len(), KEYS);
        let mut keys = Keys::new(name);
        (0..KEYS).for_each(|at| drop(walked(format!("{{\"k{at}\":1}}").as_bytes(), &mut keys)));
        assert_eq!(keys.seen.len(), 1 + CHOICES);
    }
}
