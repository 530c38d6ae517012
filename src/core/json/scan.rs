//! The scanner: one forward walk that accepts exactly what `JSON.parse` accepts.
//!
//! A newline ends the walk, except in [`Scanner::document`], so that lines are found and checked in one pass.
//! Strings are skipped 16 or 64 bytes at a time; their escapes are checked, their UTF-8 is not (agents read invalid
//! UTF-8 as U+FFFD).

mod blocks;

pub(super) use blocks::plain_len;

#[cfg(target_arch = "x86_64")]
use self::blocks::x86_64::Vectors;
use crate::core::text::Text;
use std::ops::Range;

/// Bytes that are not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not JSON at byte {at}")]
pub struct Malformed {
    /// Where the walk stopped, in bytes from the start of what was scanned.
    pub at: usize,
}

type Result<T> = std::result::Result<T, Malformed>;

/// A string as stored between its quotes.
#[derive(Clone, Copy, Debug)]
pub struct RawString<'a> {
    /// The bytes between the quotes.
    pub bytes: &'a [u8],
    /// Whether it contains an escape.
    pub escaped: bool,
}

impl<'a> RawString<'a> {
    /// Returns the decoded string.
    pub fn text(&self) -> Text<'a> {
        if self.escaped { super::string::decode(self.bytes) } else { super::string::plain(self.bytes) }
    }

    /// Whether it equals `text` when decoded.
    #[inline]
    pub fn is(&self, text: &str) -> bool {
        if self.escaped {
            return *super::string::decode(self.bytes).as_bytes() == *text.as_bytes();
        }
        self.bytes == text.as_bytes()
    }
}

/// An empty range. Adding a position by `min` and `max` gives the range of that position.
const NONE: Range<usize> = Range { start: usize::MAX, end: 0 };

/// A position in bytes that may be JSON.
#[derive(Debug)]
pub struct Scanner<'a> {
    bytes: &'a [u8],
    pos: usize,
    newline_is_space: bool,
    /// Open containers of [`Scanner::skip_value`], `true` for objects; kept for reuse.
    open: Vec<bool>,
    /// See [`Scanner::take_non_ascii`].
    non_ascii: Range<usize>,
    #[cfg(target_arch = "x86_64")]
    vectors: Vectors,
}

impl<'a> Scanner<'a> {
    /// Returns a scanner of a line, or of a buffer of lines: `\n` is not white space.
    pub fn new(bytes: &'a [u8]) -> Self {
        Scanner {
            bytes,
            pos: 0,
            newline_is_space: false,
            open: Vec::new(),
            non_ascii: NONE,
            #[cfg(target_arch = "x86_64")]
            vectors: Vectors::detect(),
        }
    }

    /// Returns a scanner of a document from elsewhere (a hook's reply) that may span lines.
    pub fn document(bytes: &'a [u8]) -> Self {
        Scanner { newline_is_space: true, ..Self::new(bytes) }
    }

    /// Returns the given bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the number of bytes walked so far.
    pub fn pos(&self) -> usize {
        self.pos
    }

    /// Continues from `pos`.
    pub fn seek(&mut self, pos: usize) {
        self.pos = pos;
    }

    /// Returns a range that contains all bytes above 0x7f in the strings since the last call: only there can be invalid
    /// UTF-8. It is empty (`usize::MAX..0`, not an index) if there are none. It starts between characters; it may end
    /// after the last string, even in the next line.
    pub fn take_non_ascii(&mut self) -> Range<usize> {
        std::mem::replace(&mut self.non_ascii, NONE)
    }

    /// Returns the next byte that is not white space, without consuming it; 0 at the end.
    #[inline]
    pub fn peek(&mut self) -> u8 {
        // Agents write no white space between tokens, so one comparison usually suffices.
        match self.bytes.get(self.pos) {
            Some(&byte) if byte > b' ' => byte,
            _ => self.peek_after_space(),
        }
    }

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
    pub fn value(&mut self) -> Result<&'a [u8]> {
        self.peek();
        let start = self.pos;
        self.skip_value()?;
        Ok(&self.bytes[start..self.pos])
    }

    /// Walks over a string.
    #[inline]
    pub fn string(&mut self) -> Result<RawString<'a>> {
        if self.peek() != b'"' {
            return Err(self.malformed());
        }
        self.pos += 1;
        let start = self.pos;
        let escaped = self.string_end()?;
        Ok(RawString { bytes: &self.bytes[start..self.pos - 1], escaped })
    }

    /// Walks over an object; `member` is called at each value and must walk over it.
    #[inline]
    pub fn object(&mut self, mut member: impl FnMut(&mut Self, RawString<'a>) -> Result<()>) -> Result<()> {
        self.expect(b'{')?;
        if self.peek() == b'}' {
            self.pos += 1;
            return Ok(());
        }
        loop {
            let key = self.string()?;
            self.expect(b':')?;
            member(self, key)?;
            match self.peek() {
                b',' => self.pos += 1,
                b'}' => {
                    self.pos += 1;
                    return Ok(());
                }
                _ => return Err(self.malformed()),
            }
        }
    }

    /// Walks over an array; `item` is called at each value and must walk over it.
    #[inline]
    pub fn array(&mut self, mut item: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        self.expect(b'[')?;
        if self.peek() == b']' {
            self.pos += 1;
            return Ok(());
        }
        loop {
            item(self)?;
            match self.peek() {
                b',' => self.pos += 1,
                b']' => {
                    self.pos += 1;
                    return Ok(());
                }
                _ => return Err(self.malformed()),
            }
        }
    }

    /// Walks over one value of any depth, without recursion.
    #[inline]
    pub fn skip_value(&mut self) -> Result<()> {
        match self.peek() {
            b'"' => {
                self.pos += 1;
                self.string_end().map(drop)
            }
            b'{' | b'[' => self.skip_container(),
            _ => self.skip_scalar(),
        }
    }

    fn skip_container(&mut self) -> Result<()> {
        let mut open = std::mem::take(&mut self.open);
        open.clear();
        let walked = self.skip_open(&mut open);
        self.open = open;
        walked
    }

    fn skip_open(&mut self, open: &mut Vec<bool>) -> Result<()> {
        loop {
            // At a value: open it, or walk over it.
            match self.peek() {
                b'{' => {
                    self.pos += 1;
                    if self.peek() != b'}' {
                        open.push(true);
                        self.key()?;
                        continue;
                    }
                    self.pos += 1;
                }
                b'[' => {
                    self.pos += 1;
                    if self.peek() != b']' {
                        open.push(false);
                        continue;
                    }
                    self.pos += 1;
                }
                b'"' => {
                    self.pos += 1;
                    self.string_end()?;
                }
                _ => self.skip_scalar()?,
            }
            // After a value: close what ends here, or continue with the next.
            loop {
                let Some(&in_object) = open.last() else { return Ok(()) };
                match (self.peek(), in_object) {
                    (b',', true) => {
                        self.pos += 1;
                        self.key()?;
                        break;
                    }
                    (b',', false) => {
                        self.pos += 1;
                        break;
                    }
                    (b'}', true) | (b']', false) => {
                        self.pos += 1;
                        open.pop();
                    }
                    _ => return Err(self.malformed()),
                }
            }
        }
    }

    fn key(&mut self) -> Result<()> {
        self.string()?;
        self.expect(b':')
    }

    fn skip_scalar(&mut self) -> Result<()> {
        match self.peek() {
            b't' => self.literal(b"true"),
            b'f' => self.literal(b"false"),
            b'n' => self.literal(b"null"),
            b'-' | b'0'..=b'9' => self.number(),
            _ => Err(self.malformed()),
        }
    }

    fn literal(&mut self, word: &[u8]) -> Result<()> {
        if !self.bytes[self.pos..].starts_with(word) {
            return Err(self.malformed());
        }
        self.pos += word.len();
        Ok(())
    }

    fn number(&mut self) -> Result<()> {
        self.pos += usize::from(self.bytes[self.pos] == b'-');
        if self.bytes.get(self.pos) == Some(&b'0') {
            self.pos += 1;
        } else {
            self.digits()?;
        }
        if self.bytes.get(self.pos) == Some(&b'.') {
            self.pos += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.bytes.get(self.pos) {
            self.pos += 1;
            self.pos += usize::from(matches!(self.bytes.get(self.pos), Some(b'+' | b'-')));
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<()> {
        let rest = &self.bytes[self.pos..];
        let digits = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
        self.pos += digits;
        if digits == 0 { Err(self.malformed()) } else { Ok(()) }
    }

    #[inline]
    fn expect(&mut self, byte: u8) -> Result<()> {
        if self.peek() != byte {
            return Err(self.malformed());
        }
        self.pos += 1;
        Ok(())
    }

    fn malformed(&self) -> Malformed {
        Malformed { at: self.pos }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(text: &str) -> bool {
        let mut scanner = Scanner::new(text.as_bytes());
        scanner.skip_value().is_ok() && scanner.at_end()
    }

    #[test]
    fn it_accepts_what_json_parse_accepts() {
        for text in [
            "null",
            " true ",
            "-0",
            "1e400",
            "1E+5",
            "12345678901234567890",
            "\"\"",
            "[]",
            "{}",
            "[[],{}]",
            r#"{"a":[1,{"b":"\ud83d"}],"a":2}"#,
            "[1.0,-0.5e-3]",
            r#""\u0041\/\"""#,
        ] {
            assert!(accepts(text), "{text}");
        }
    }

    #[test]
    fn it_refuses_what_json_parse_refuses() {
        for text in [
            "",
            "nul",
            "01",
            "1.",
            "-",
            "+1",
            "[1,]",
            "{\"a\":}",
            "{a:1}",
            "{\"a\":1,}",
            "[1 2]",
            "\"",
            "\"\\x\"",
            "\"\\u12g4\"",
            "\"a\tb\"",
            "{} {}",
            "[}",
            "{]",
            "1 2",
            "\u{feff}1",
            "'a'",
        ] {
            assert!(!accepts(text), "{text}");
        }
    }

    /// Walks over a string byte by byte. Returns what the scanner should: the result, the end, and the range of bytes
    /// above 0x7f.
    fn slowly(text: &[u8], from: usize) -> (Result<bool>, usize, Range<usize>) {
        let (mut pos, mut escaped, mut high) = (from, false, NONE);
        loop {
            match text.get(pos) {
                Some(b'"') => return (Ok(escaped), pos + 1, high),
                Some(b'\\') => match text.get(pos + 1) {
                    Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => pos += 2,
                    Some(b'u')
                        if text
                            .get(pos + 2..pos + 6)
                            .is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)) =>
                    {
                        pos += 6;
                    }
                    _ => return (Err(Malformed { at: pos }), 0, NONE),
                },
                Some(0x20..) => {
                    if text[pos] >= 0x80 {
                        high = high.start.min(pos)..pos + 1;
                    }
                    pos += 1;
                    continue;
                }
                _ => return (Err(Malformed { at: pos }), 0, NONE),
            }
            escaped = true;
        }
    }

    /// Returns scanners with the instructions of this processor, and of older ones.
    fn scanners(text: &[u8]) -> Vec<Scanner<'_>> {
        let mut scanners = vec![Scanner::new(text)];
        #[cfg(target_arch = "x86_64")]
        for vectors in [Vectors::Sse2, Vectors::Avx2].into_iter().filter(|older| *older < Vectors::detect()) {
            scanners.push(Scanner { vectors, ..Scanner::new(text) });
        }
        scanners
    }

    /// Every code path for a string gives the same result as a walk byte by byte.
    #[test]
    fn all_ways_through_a_string_agree() {
        let pieces: [&[u8]; 14] = [
            b"\\",
            b"\\\\",
            b"\\\"",
            b"\"",
            b"\\n",
            b"\\u00e9",
            b"\\u12g4",
            b"\\x",
            b"u",
            b"n",
            b"\n",
            "é".as_bytes(),
            b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            b"\xff",
        ];
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random as usize
        };
        for _ in 0..60_000 {
            let mut text = Vec::new();
            for _ in 0..next() % 120 {
                // Bytes that end the walk are rare, so most walks are long.
                let piece = match next() % 61 {
                    at @ 0..=13 => pieces[at],
                    14..=30 => pieces[1],
                    31..=45 => pieces[4],
                    _ => pieces[9],
                };
                text.extend_from_slice(piece);
            }
            for mut scanner in scanners(&text) {
                let mut from = 0;
                while from <= text.len() {
                    scanner.seek(from);
                    let (result, end, high) = slowly(&text, from);
                    let shown = || format!("{} from {from}", text.escape_ascii());
                    assert_eq!(scanner.string_end(), result, "{}", shown());
                    let found = scanner.take_non_ascii();
                    if result.is_ok() {
                        assert_eq!(scanner.pos, end, "{}", shown());
                        // The range may end after the string, and starts within it.
                        assert!(found.start <= high.start && found.end >= high.end, "{}", shown());
                        assert!(found.start >= from, "{}", shown());
                    }
                    from = match result {
                        Ok(_) => end + usize::from(end % 3 == 0),
                        Err(malformed) => malformed.at + 1,
                    };
                }
            }
        }
    }

    #[test]
    fn special_bytes_are_found_wherever_they_stand_in_a_block() {
        for length in 0..100 {
            let plain = "x".repeat(length);
            assert!(accepts(&format!("\"{plain}\"")), "{length}");
            assert!(accepts(&format!("\"{plain}\\n{plain}\\u00e9{plain}\\\\\"")), "{length}");
            assert!(!accepts(&format!("\"{plain}\u{1}{plain}\"")), "{length}");
            assert!(!accepts(&format!("\"{plain}\\\"")), "{length}");
        }
    }

    #[test]
    fn depth_costs_no_stack() {
        let deep = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
        assert!(accepts(&deep));
        assert!(!accepts(&deep[..1_999_999]));
    }

    #[test]
    fn a_newline_ends_a_line_but_not_a_document() {
        assert!(!accepts("[1,\n2]"));
        let mut scanner = Scanner::document(b"[1,\n2]\n");
        assert!(scanner.skip_value().is_ok() && scanner.at_end());
    }
}
