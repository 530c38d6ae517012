//! The scanner: one forward walk that accepts exactly what `JSON.parse` accepts.
//!
//! A newline ends the walk, except in [`Scanner::document`]: so lines are found and checked in one
//! pass. Strings are skipped 16 or 64 bytes at a time. Their escapes are checked, but not their
//! UTF-8, because agents read invalid UTF-8 as U+FFFD.

mod blocks;
mod keys;

pub use keys::KeyCache;

#[cfg(target_arch = "x86_64")]
use self::blocks::x86_64::has_avx2;
use self::keys::KeySlot;
use crate::text::Text;
use std::ops::Range;

/// Bytes that are not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not JSON at byte {at}")]
pub struct Malformed {
    /// Where the walk stopped, in bytes from the start of what was scanned.
    pub at: usize,
}

impl From<Malformed> for std::io::Error {
    fn from(error: Malformed) -> Self {
        std::io::Error::new(std::io::ErrorKind::InvalidData, error)
    }
}

/// A string as it is stored between its quotes. Two are equal if they are stored in the same way:
/// `"a"` and `"\u0061"` are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawString<'a> {
    /// The bytes between the quotes.
    pub bytes: &'a [u8],
    /// Whether it contains an escape.
    pub has_escape: bool,
}

impl<'a> RawString<'a> {
    /// Returns the decoded string.
    pub fn text(&self) -> Text<'a> {
        if self.has_escape {
            super::string::decode(self.bytes)
        } else {
            super::string::decode_plain(self.bytes)
        }
    }

    /// Whether it equals `text` when decoded.
    #[inline]
    pub fn is(&self, text: &str) -> bool {
        if self.has_escape {
            return *super::string::decode(self.bytes).as_bytes() == *text.as_bytes();
        }
        self.bytes == text.as_bytes()
    }
}

/// Iterates over the tokens of a checked value, each with its first byte: brackets, commas, colons,
/// strings (keys included), numbers and literals. White space is skipped.
pub fn tokens(value: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let mut scanner = Scanner::document(value);
    std::iter::from_fn(move || {
        // Skips white space, so the token starts at the position after this.
        let first = scanner.peek();
        let start = scanner.pos;
        match first {
            // The end of the value.
            0 => return None,
            b'{' | b'}' | b'[' | b']' | b',' | b':' => scanner.pos += 1,
            _ => scanner.skip_value().ok()?,
        }
        Some((first, &value[start..scanner.pos]))
    })
}

/// An empty range, to which positions are added: the minimum of the starts and the maximum of the
/// ends give the range of all positions.
const EMPTY_RANGE: Range<usize> = Range {
    start: usize::MAX,
    end: 0,
};

/// A position in bytes that may be JSON.
#[derive(Debug)]
pub struct Scanner<'a> {
    bytes: &'a [u8],
    pos: usize,
    newline_is_space: bool,
    /// Open containers of [`Scanner::skip_value`]; kept for reuse.
    open: Vec<KeySlot>,
    /// See [`Scanner::take_non_ascii`].
    non_ascii: Range<usize>,
    #[cfg(target_arch = "x86_64")]
    has_avx2: bool,
}

impl<'a> Scanner<'a> {
    /// Returns a scanner of a line, or of a buffer of lines: `\n` is not white space.
    pub fn new(bytes: &'a [u8]) -> Self {
        Scanner {
            bytes,
            pos: 0,
            newline_is_space: false,
            open: Vec::new(),
            non_ascii: EMPTY_RANGE,
            #[cfg(target_arch = "x86_64")]
            has_avx2: has_avx2(),
        }
    }

    /// Returns a scanner of one value that may span lines, as in a document from elsewhere (a
    /// hook's reply).
    pub fn document(bytes: &'a [u8]) -> Self {
        Scanner {
            newline_is_space: true,
            ..Self::new(bytes)
        }
    }

    /// Returns the given bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the number of bytes walked so far; after an error, where the bytes are not JSON.
    pub fn pos(&self) -> usize {
        self.pos
    }

    /// Continues from `pos`.
    pub fn seek(&mut self, pos: usize) {
        self.pos = pos;
    }

    /// Returns a range that contains all bytes above 0x7f in the strings walked over since the last
    /// call. Invalid UTF-8 can only be in this range.
    ///
    /// Without such bytes, the range is empty: `usize::MAX..0`, which must not be used as an index.
    /// It starts between characters. It may end after the last string, even in the next line.
    pub fn take_non_ascii(&mut self) -> Range<usize> {
        std::mem::replace(&mut self.non_ascii, EMPTY_RANGE)
    }

    /// Walks over white space, and returns the next byte without walking over it; 0 at the end.
    #[inline]
    pub fn peek(&mut self) -> u8 {
        // Agents write no white space between tokens, so one comparison usually suffices.
        match self.bytes.get(self.pos) {
            Some(&byte) if byte > b' ' => byte,
            _ => self.peek_after_space(),
        }
    }

    /// Does the rest of [`Scanner::peek`] if white space may come first: walks over it, and returns
    /// the byte after it without consuming it; 0 at the end of the bytes.
    ///
    /// It is a function of its own, so that the usual case is small enough to be inlined.
    #[inline(never)]
    fn peek_after_space(&mut self) -> u8 {
        loop {
            match self.bytes.get(self.pos) {
                Some(b' ' | b'\t' | b'\r') => self.pos += 1,
                Some(b'\n') if self.newline_is_space => self.pos += 1,
                Some(&byte) => return byte,
                None => return 0,
            }
        }
    }

    /// Whether only white space is left of the line (or of the document).
    pub fn at_end(&mut self) -> bool {
        let next = self.peek();
        self.pos == self.bytes.len() || (next == b'\n' && !self.newline_is_space)
    }

    /// Walks over one value and returns its bytes.
    #[inline]
    pub fn read_value(&mut self) -> Result<&'a [u8], Malformed> {
        self.read_value_with(&mut KeyCache::disabled(|_| ()))
    }

    /// Walks over one value as [`Scanner::read_value`] does, with a cache of keys.
    #[inline]
    pub fn read_value_with<N: Copy>(
        &mut self,
        keys: &mut KeyCache<N>,
    ) -> Result<&'a [u8], Malformed> {
        self.peek();
        let start = self.pos;
        self.skip_value_with(keys)?;
        Ok(&self.bytes[start..self.pos])
    }

    /// Walks over a string, and returns what is between its quotes. Fails if no string is next.
    #[inline]
    pub fn read_string(&mut self) -> Result<RawString<'a>, Malformed> {
        if self.peek() != b'"' {
            return Err(self.malformed_here());
        }
        self.pos += 1;
        let start = self.pos;
        let has_escape = self.skip_string_rest()?;
        // The scanner is behind the closing quote.
        let end = self.pos - 1;
        Ok(RawString {
            bytes: &self.bytes[start..end],
            has_escape,
        })
    }

    /// Walks over an object. `member` is called at the value of each member, with its key, and must
    /// walk over the value.
    #[inline]
    pub fn walk_object(
        &mut self,
        mut member: impl FnMut(&mut Self, RawString<'a>) -> Result<(), Malformed>,
    ) -> Result<(), Malformed> {
        self.walk_container(b'{', b'}', |scanner| {
            let key = scanner.read_string()?;
            scanner.expect(b':')?;
            member(scanner, key)
        })
    }

    /// Walks over an array. `item` is called at each item, and must walk over it.
    #[inline]
    pub fn walk_array(
        &mut self,
        item: impl FnMut(&mut Self) -> Result<(), Malformed>,
    ) -> Result<(), Malformed> {
        self.walk_container(b'[', b']', item)
    }

    /// Walks over an array or an object. `item` is called at each item or member, and must walk
    /// over it. A comma before `close` is refused, because `item` finds no value there.
    #[inline]
    fn walk_container(
        &mut self,
        open: u8,
        close: u8,
        mut item: impl FnMut(&mut Self) -> Result<(), Malformed>,
    ) -> Result<(), Malformed> {
        self.expect(open)?;
        if self.peek() == close {
            self.pos += 1;
            return Ok(());
        }
        loop {
            item(self)?;
            let next = self.peek();
            if next != b',' && next != close {
                return Err(self.malformed_here());
            }
            self.pos += 1;
            if next == close {
                return Ok(());
            }
        }
    }

    /// Walks over one value of any depth, without recursion.
    #[inline]
    pub fn skip_value(&mut self) -> Result<(), Malformed> {
        self.skip_value_with(&mut KeyCache::disabled(|_| ()))
    }

    /// Walks over one value as [`Scanner::skip_value`] does. Keys that are in `keys` are walked
    /// over without a search for their ends, and others are added to it.
    #[inline]
    pub fn skip_value_with<N: Copy>(&mut self, keys: &mut KeyCache<N>) -> Result<(), Malformed> {
        match self.peek() {
            b'"' => {
                // The opening quote.
                self.pos += 1;
                self.skip_string_rest().map(drop)
            }
            b'{' | b'[' => self.skip_container(keys),
            _ => self.skip_scalar(),
        }
    }

    fn skip_container<N: Copy>(&mut self, keys: &mut KeyCache<N>) -> Result<(), Malformed> {
        let mut open = std::mem::take(&mut self.open);
        open.clear();
        let walked = self.skip_open_containers(&mut open, keys);
        self.open = open;
        walked
    }

    /// Walks over the value at the current position, and to the end of all containers in `open`, of
    /// which the last is the innermost. This is a loop and not a recursion, because a line may be
    /// nested more deeply than the stack allows.
    ///
    /// `open` has a slot for each container. The slot of an object is where the key after its
    /// current one is cached (`is_after`). The slot of an array is where the first keys of its
    /// items are cached.
    fn skip_open_containers<N: Copy>(
        &mut self,
        open: &mut Vec<KeySlot>,
        keys: &mut KeyCache<N>,
    ) -> Result<(), Malformed> {
        // The key whose value is walked over.
        let mut key = keys.current;
        loop {
            // At a value: open it, or walk over it.
            match self.peek() {
                b'{' => {
                    if let Some(first_key) = self.read_first_key(keys, key)? {
                        key = first_key.ix;
                        open.push(KeySlot::after(key));
                        continue;
                    }
                }
                b'[' => {
                    self.pos += 1;
                    if self.peek() != b']' {
                        open.push(KeySlot::inside(key));
                        continue;
                    }
                    self.pos += 1;
                }
                b'"' => {
                    self.pos += 1;
                    self.skip_string_rest()?;
                }
                _ => self.skip_scalar()?,
            }
            // After a value: close the containers that end here. At a comma, the next value of the
            // innermost open one follows.
            loop {
                let Some(innermost) = open.last_mut() else {
                    return Ok(());
                };
                let is_object = innermost.is_after();
                match self.peek() {
                    b',' if is_object => {
                        key = self.read_next_key(keys, innermost.key())?.ix;
                        *innermost = KeySlot::after(key);
                        break;
                    }
                    b',' => {
                        self.pos += 1;
                        key = innermost.key();
                        break;
                    }
                    b'}' if is_object => {
                        self.pos += 1;
                        open.pop();
                    }
                    b']' if !is_object => {
                        self.pos += 1;
                        open.pop();
                    }
                    _ => return Err(self.malformed_here()),
                }
            }
        }
    }

    /// Walks over a number, `true`, `false` or `null`.
    fn skip_scalar(&mut self) -> Result<(), Malformed> {
        match self.peek() {
            b't' => self.skip_literal(b"true"),
            b'f' => self.skip_literal(b"false"),
            b'n' => self.skip_literal(b"null"),
            b'-' | b'0'..=b'9' => self.skip_number(),
            _ => Err(self.malformed_here()),
        }
    }

    fn skip_literal(&mut self, word: &[u8]) -> Result<(), Malformed> {
        if !self.bytes[self.pos..].starts_with(word) {
            return Err(self.malformed_here());
        }
        self.pos += word.len();
        Ok(())
    }

    /// Walks over a number, by the grammar of RFC 8259: `-0.5e+3`, but neither `01` nor `.5` nor
    /// `5.`.
    fn skip_number(&mut self) -> Result<(), Malformed> {
        if self.bytes[self.pos] == b'-' {
            self.pos += 1;
        }

        // A zero is the only digit before the point: what follows it is left to the caller, which
        // refuses other digits.
        if self.bytes.get(self.pos) == Some(&b'0') {
            self.pos += 1;
        } else {
            self.skip_digits()?;
        }

        if self.bytes.get(self.pos) == Some(&b'.') {
            self.pos += 1;
            self.skip_digits()?;
        }

        // The exponent, which may have a sign.
        if let Some(b'e' | b'E') = self.bytes.get(self.pos) {
            self.pos += 1;
            if let Some(b'+' | b'-') = self.bytes.get(self.pos) {
                self.pos += 1;
            }
            self.skip_digits()?;
        }
        Ok(())
    }

    /// Walks over one or more digits.
    fn skip_digits(&mut self) -> Result<(), Malformed> {
        let digits = self.bytes[self.pos..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        self.pos += digits;
        if digits == 0 {
            Err(self.malformed_here())
        } else {
            Ok(())
        }
    }

    #[inline]
    pub(crate) fn expect(&mut self, byte: u8) -> Result<(), Malformed> {
        if self.peek() != byte {
            return Err(self.malformed_here());
        }
        self.pos += 1;
        Ok(())
    }

    fn malformed_here(&self) -> Malformed {
        Malformed { at: self.pos }
    }
}

#[cfg(test)]
mod tests;
