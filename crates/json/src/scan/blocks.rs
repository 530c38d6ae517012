//! The walk over a string, several bytes at a time.

#[cfg(target_arch = "x86_64")]
pub(super) mod x86_64;

use super::{Malformed, Scanner};
use crate::lanes::{LANE, LaneMasks};
use std::ops::Range;

impl Scanner<'_> {
    /// Walks over the rest of a string after its opening quote, and over its closing quote. Returns
    /// whether the string has an escape.
    ///
    /// It is an error if the string has a control character or an invalid escape, or does not end.
    #[inline]
    pub(super) fn skip_string_rest(&mut self) -> Result<bool, Malformed> {
        // Keys, ids and most other strings are short and without escapes, so the first special byte
        // of the first lane is the closing quote. Any other string is walked from its start again,
        // by the function below.
        if let Some(lane) = self
            .bytes
            .get(self.pos..)
            .and_then(|unread| unread.first_chunk::<LANE>())
        {
            let masks = LaneMasks::of(lane);
            // If no byte is special, this is out of bounds, and `get` returns `None`.
            let first_special = masks.special.trailing_zeros() as usize;
            if lane.get(first_special) == Some(&b'"') {
                // The whole lane, although bytes after the quote may be the reason: the range that
                // is noted may be larger than necessary.
                if masks.high != 0 {
                    self.note_non_ascii(self.pos..self.pos + LANE);
                }
                self.pos += first_special + 1;
                return Ok(false);
            }
        }
        self.skip_long_string_rest()
            .ok_or_else(|| self.malformed_here())
    }

    /// Walks over a string of any length, as [`Scanner::skip_string_rest`] does. Returns whether it
    /// has an escape.
    ///
    /// If the string is malformed, returns `None`, and the position is where it is. This is not a
    /// `Result<bool, Malformed>`, which does not fit in a register.
    #[allow(unsafe_code)]
    fn skip_long_string_rest(&mut self) -> Option<bool> {
        #[cfg(target_arch = "x86_64")]
        if self.has_avx2 {
            // SAFETY: the only precondition is that the processor has the instructions. The
            // constructor of the scanner has checked this.
            return unsafe { self.skip_string_rest_avx2() };
        }
        let has_escape = false;
        self.skip_string_rest_in_lanes(has_escape)
    }

    /// Walks over a string as [`Scanner::skip_long_string_rest`] does, a lane of [`LANE`] bytes at
    /// a time. `has_escape` is whether an escape was walked over before.
    fn skip_string_rest_in_lanes(&mut self, mut has_escape: bool) -> Option<bool> {
        while let Some(lane) = self
            .bytes
            .get(self.pos..)
            .and_then(|unread| unread.first_chunk::<LANE>())
        {
            let LaneMasks { mut special, high } = LaneMasks::of(lane);
            if high != 0 {
                self.note_non_ascii(self.pos..self.pos + LANE);
            }
            // The next lane begins after this one, or after an escape that reaches beyond it.
            let mut advance = LANE;
            while special != 0 {
                let index = special.trailing_zeros() as usize;
                match lane[index] {
                    b'"' => {
                        self.pos += index + 1;
                        return Some(has_escape);
                    }
                    b'\\' => {
                        has_escape = true;
                        let Some(escape_end) = self.escape_end(self.pos + index) else {
                            self.pos += index;
                            return None;
                        };
                        let walked = escape_end - self.pos;
                        if walked >= LANE {
                            advance = walked;
                            break;
                        }
                        // Bytes of the escape, such as the quote of `\"`, are no longer special.
                        special &= u32::MAX << walked;
                    }
                    // A control character.
                    _ => {
                        self.pos += index;
                        return None;
                    }
                }
            }
            self.pos += advance;
        }
        self.skip_string_tail(has_escape)
    }

    /// Walks over the end of a string byte by byte, where fewer bytes than a lane are left. Returns
    /// what [`Scanner::skip_long_string_rest`] does. `has_escape` is whether an escape was walked
    /// over before.
    fn skip_string_tail(&mut self, mut has_escape: bool) -> Option<bool> {
        loop {
            match self.bytes.get(self.pos) {
                Some(b'"') => {
                    self.pos += 1;
                    return Some(has_escape);
                }
                Some(b'\\') => {
                    has_escape = true;
                    match self.escape_end(self.pos) {
                        Some(escape_end) => self.pos = escape_end,
                        None => return None,
                    }
                }
                Some(&byte @ 0x20..) => {
                    if byte >= 0x80 {
                        self.note_non_ascii(self.pos..self.pos + 1);
                    }
                    self.pos += 1;
                }
                // A control character, or the end of the bytes.
                _ => return None,
            }
        }
    }

    /// Extends the range of [`Scanner::take_non_ascii`], so that it includes this one.
    fn note_non_ascii(&mut self, range: Range<usize>) {
        self.non_ascii.start = self.non_ascii.start.min(range.start);
        self.non_ascii.end = self.non_ascii.end.max(range.end);
    }

    /// Returns the offset at which the escape ends whose backslash is at the offset `backslash`.
    /// `None` if JSON has no such escape.
    fn escape_end(&self, backslash: usize) -> Option<usize> {
        match self.bytes.get(backslash + 1)? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(backslash + 2),
            // `\u` and four hexadecimal digits.
            b'u' => {
                let digits = self.bytes.get(backslash + 2..backslash + 6)?;
                if digits.iter().all(u8::is_ascii_hexdigit) {
                    Some(backslash + 6)
                } else {
                    None
                }
            }
            _ => None,
        }
    }
}
