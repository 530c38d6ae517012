//! The walk over a string, several bytes at a time.

#[cfg(target_arch = "x86_64")]
pub(super) mod x86_64;

use super::{Malformed, Scanner};
use crate::lanes::{LANE, special_masks};
use std::ops::Range;

impl Scanner<'_> {
    /// Walks from after the opening quote to after the closing one. Returns whether there was an
    /// escape.
    #[inline]
    pub(super) fn skip_string_rest(&mut self) -> Result<bool, Malformed> {
        // Keys, ids and most other strings are short and without escapes.
        if let Some(start) = self
            .bytes
            .get(self.pos..)
            .and_then(|rest| rest.first_chunk::<LANE>())
        {
            let (special, high) = special_masks(start);
            let at = special.trailing_zeros() as usize;
            if start.get(at) == Some(&b'"') {
                if high != 0 {
                    self.note_non_ascii(self.pos..self.pos + LANE);
                }
                self.pos += at + 1;
                return Ok(false);
            }
        }
        self.skip_long_string_rest()
            .ok_or_else(|| self.malformed_here())
    }

    /// Does the same, and returns `None` at a control character, an invalid escape, or the end of
    /// the bytes: unlike a `Result<bool>`, that fits in a register.
    #[allow(unsafe_code)]
    fn skip_long_string_rest(&mut self) -> Option<bool> {
        #[cfg(target_arch = "x86_64")]
        if self.has_avx2 {
            // SAFETY: the only precondition is that the processor has the instructions, which was
            // checked.
            return unsafe { self.skip_string_rest_avx2() };
        }
        self.skip_string_rest_in_lanes(false)
    }

    fn skip_string_rest_in_lanes(&mut self, mut escaped: bool) -> Option<bool> {
        while let Some(lane) = self
            .bytes
            .get(self.pos..)
            .and_then(|rest| rest.first_chunk::<LANE>())
        {
            let (mut special, high) = special_masks(lane);
            if high != 0 {
                self.note_non_ascii(self.pos..self.pos + LANE);
            }
            let mut advance = LANE;
            while special != 0 {
                let at = special.trailing_zeros() as usize;
                match lane[at] {
                    b'"' => {
                        self.pos += at + 1;
                        return Some(escaped);
                    }
                    b'\\' => {
                        escaped = true;
                        let Some(end) = self.escape_end(self.pos + at) else {
                            self.pos += at;
                            return None;
                        };
                        let walked = end - self.pos;
                        if walked >= LANE {
                            advance = walked;
                            break;
                        }
                        special &= u32::MAX << walked;
                    }
                    _ => {
                        self.pos += at;
                        return None;
                    }
                }
            }
            self.pos += advance;
        }
        self.skip_string_tail(escaped)
    }

    /// Walks over the last bytes of the buffer, one at a time.
    fn skip_string_tail(&mut self, mut escaped: bool) -> Option<bool> {
        loop {
            match self.bytes.get(self.pos) {
                Some(b'"') => {
                    self.pos += 1;
                    return Some(escaped);
                }
                Some(b'\\') => {
                    escaped = true;
                    match self.escape_end(self.pos) {
                        Some(end) => self.pos = end,
                        None => return None,
                    }
                }
                Some(&byte @ 0x20..) => {
                    if byte >= 0x80 {
                        self.note_non_ascii(self.pos..self.pos + 1);
                    }
                    self.pos += 1;
                }
                _ => return None,
            }
        }
    }

    /// Adds a range to that of [`Scanner::take_non_ascii`].
    fn note_non_ascii(&mut self, range: Range<usize>) {
        self.non_ascii.start = self.non_ascii.start.min(range.start);
        self.non_ascii.end = self.non_ascii.end.max(range.end);
    }

    /// Returns where the escape that starts at `at` ends; `None` if it is not one.
    fn escape_end(&self, at: usize) -> Option<usize> {
        match self.bytes.get(at + 1)? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(at + 2),
            b'u' => {
                let hex = self.bytes.get(at + 2..at + 6)?;
                hex.iter().all(u8::is_ascii_hexdigit).then_some(at + 6)
            }
            _ => None,
        }
    }
}
