//! Access to a checked value.
//!
//! Each lookup walks over the whole value. So lookups are for values of known shape: an entry, its
//! message, a content block. For any other value, use [`super::scan`].

use super::scan::{RawString, Scanner};
use super::string;
use crate::text::Text;
use std::ops::Range;

/// The bytes of one checked JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raw<'a>(&'a [u8]);

impl<'a> Raw<'a> {
    /// `null`, for a missing value.
    pub const NULL: Raw<'static> = Raw(b"null");

    /// Wraps bytes that are known to be one value, because a [`Scanner`] has walked over them.
    /// Nothing is checked.
    pub fn from_checked(bytes: &'a [u8]) -> Self {
        Raw(bytes)
    }

    /// Checks that a document is one JSON value. The white space around the value is dropped.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, super::Malformed> {
        let mut scanner = Scanner::document(bytes);
        let value = scanner.read_value()?;
        if !scanner.at_end() {
            return Err(super::Malformed { at: scanner.pos() });
        }
        Ok(Raw(value))
    }

    /// Returns the bytes unchanged.
    pub fn bytes(self) -> &'a [u8] {
        self.0
    }

    fn first(self) -> u8 {
        self.0.first().copied().unwrap_or(0)
    }

    /// Whether it is `null`.
    pub fn is_null(self) -> bool {
        self.first() == b'n'
    }

    /// Whether it is an object.
    pub fn is_object(self) -> bool {
        self.first() == b'{'
    }

    /// Whether it is an array.
    pub fn is_array(self) -> bool {
        self.first() == b'['
    }

    /// Whether it is a string.
    pub fn is_string(self) -> bool {
        self.first() == b'"'
    }

    /// Whether it is a number.
    pub fn is_number(self) -> bool {
        matches!(self.first(), b'-' | b'0'..=b'9')
    }

    /// Whether it is truthy in JavaScript.
    pub fn is_truthy(self) -> bool {
        match self.first() {
            b't' | b'{' | b'[' => true,
            // A string that is not empty has more than its quotes.
            b'"' => self.0.len() > "\"\"".len(),
            b'n' | b'f' => false,
            _ => self.number().is_some_and(|n| n != 0.0),
        }
    }

    /// Returns `true` or `false`, if it is either.
    pub fn bool(self) -> Option<bool> {
        match self.first() {
            b't' => Some(true),
            b'f' => Some(false),
            _ => None,
        }
    }

    /// Returns the number, as JavaScript reads it, if it is one.
    pub fn number(self) -> Option<f64> {
        // Fast path for token counts and times in milliseconds, which are exact as integers and as
        // floats.
        let digits = self.0;
        let has_few_digits = (1..=MOST_EXACT_DIGITS).contains(&digits.len());
        if has_few_digits && digits.iter().all(u8::is_ascii_digit) {
            let mut number = 0_u64;
            for digit in digits {
                number = number * 10 + u64::from(digit - b'0');
            }
            return Some(number as f64);
        }
        if !self.is_number() {
            return None;
        }
        std::str::from_utf8(self.0).ok()?.parse().ok()
    }

    /// Returns the number as an index. `None` unless it is a whole number from 0 to below 9e15.
    pub fn as_index(self) -> Option<usize> {
        let number = self.number()?;
        if number.fract() != 0.0 || !(0.0..INDEX_LIMIT).contains(&number) {
            return None;
        }
        Some(number as usize)
    }

    /// Returns the decoded string, if it is one.
    pub fn text(self) -> Option<Text<'a>> {
        self.raw_string().map(string::decode)
    }

    /// Returns what is between the quotes, if it is a string.
    pub fn raw_string(self) -> Option<&'a [u8]> {
        if !self.is_string() {
            return None;
        }
        Some(&self.0[1..self.0.len() - 1])
    }

    /// Whether it is the string `text`.
    pub fn is(self, text: &str) -> bool {
        let Some(raw) = self.raw_string() else {
            return false;
        };
        // Without decoding as far as possible: `text` is a short name, and most strings differ from
        // it in the first byte.
        for (&stored, &wanted) in raw.iter().zip(text.as_bytes()) {
            // An escape, or bytes that may not be UTF-8.
            let needs_decoding = stored == b'\\' || !stored.is_ascii();
            if needs_decoding {
                return string::decode(raw).as_bytes() == text.as_bytes();
            }
            if stored != wanted {
                return false;
            }
        }
        // One begins with the other.
        raw.len() == text.len()
    }

    /// Returns the value of the member `key` of an object; `None` if it has no such member. If the
    /// key repeats, the last value counts, as in `JSON.parse`.
    pub fn get(self, key: &str) -> Option<Raw<'a>> {
        self.members()
            .filter(|(name, _)| name.is(key))
            .last()
            .map(|(_, value)| value)
    }

    /// Returns the member `key`, unless it is missing or `null`.
    pub fn get_some(self, key: &str) -> Option<Raw<'a>> {
        self.get(key).filter(|value| !value.is_null())
    }

    /// Returns the member `key`, if it is a string.
    pub fn get_text(self, key: &str) -> Option<Text<'a>> {
        self.get(key)?.text()
    }

    /// Iterates over the members in file order, including duplicates; none unless it is an object.
    pub fn members(self) -> impl Iterator<Item = (RawString<'a>, Raw<'a>)> {
        walk_children(self, b'{', |scanner| {
            let key = scanner.read_string().ok()?;
            scanner.expect(b':').ok()?;
            Some((key, Raw(scanner.read_value().ok()?)))
        })
    }

    /// Iterates over the items of an array; none unless it is one.
    pub fn items(self) -> impl Iterator<Item = Raw<'a>> {
        walk_children(self, b'[', |scanner| scanner.read_value().ok().map(Raw))
    }
}

/// The number of digits up to which every integer is exact as a float.
const MOST_EXACT_DIGITS: usize = 15;

/// The limit of the numbers that [`Raw::as_index`] returns. It is below 2^53, up to which all whole
/// numbers are exact as floats.
const INDEX_LIMIT: f64 = 9e15;

/// Returns the range of `part` in `whole`. `part` must be a slice of `whole`, such as a value that
/// was found in a line: the range follows from the addresses.
pub fn range_in(part: &[u8], whole: &[u8]) -> Range<usize> {
    let start = part.as_ptr().addr() - whole.as_ptr().addr();
    let range = start..start + part.len();
    debug_assert!(range.end <= whole.len(), "not a part of the whole");
    range
}

/// Iterates over the members of an object or the items of an array: over the children of a value
/// that begins with the bracket `open`. Yields nothing for any other value.
///
/// `read` is called at the start of each child, with its key if it is a member. It must walk to the
/// end of the child. If it returns `None`, the iteration ends.
fn walk_children<'a, T>(
    value: Raw<'a>,
    open: u8,
    mut read: impl FnMut(&mut Scanner<'a>) -> Option<T>,
) -> impl Iterator<Item = T> {
    let is_container = value.first() == open;
    let mut scanner = Scanner::document(value.0);
    if is_container {
        // After the opening bracket.
        scanner.seek(1);
    }
    let mut is_over = !is_container;
    std::iter::from_fn(move || {
        if is_over {
            return None;
        }
        // The comma after the child before.
        if scanner.peek() == b',' {
            scanner.seek(scanner.pos() + 1);
        }
        // The closing bracket, or the end of the bytes, which is 0.
        is_over = matches!(scanner.peek(), b'}' | b']' | 0);
        if is_over {
            return None;
        }
        read(&mut scanner)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_and_items() {
        let value =
            Raw::parse(br#" {"a": 1, "b" :[ true, null ,"x"], "\u0061":"two","o":{}} "#).unwrap();
        assert_eq!(value.get_text("a").unwrap(), "two");
        assert_eq!(value.members().count(), 4);
        let items: Vec<_> = value
            .get("b")
            .unwrap()
            .items()
            .map(|item| item.bytes().to_vec())
            .collect();
        assert_eq!(items, [&b"true"[..], b"null", b"\"x\""]);
        assert_eq!(value.get("o").unwrap().members().count(), 0);
        assert_eq!(Raw::parse(b"[[],[]]").unwrap().items().count(), 2);
        assert_eq!(value.get("b").unwrap().get("a"), None);
    }

    #[test]
    fn a_string_is_compared_as_decoded() {
        for (stored, text, is_same) in [
            (&b"\"text\""[..], "text", true),
            (b"\"text\"", "tex", false),
            (b"\"text\"", "texts", false),
            (b"\"te\\u0078t\"", "text", true),
            (b"\"te\\u0078t\"", "te\\u0078t", false),
            (b"\"na\xc3\xafve\"", "na\u{ef}ve", true),
            (b"\"na\\u00efve\"", "na\u{ef}ve", true),
            (b"\"a\xffb\"", "a\u{fffd}b", true),
            (b"\"\"", "", true),
            (b"\"\"", "a", false),
            (b"text", "text", false),
        ] {
            let value = Raw::from_checked(stored);
            assert_eq!(value.is(text), is_same, "{value:?} {text}");
        }
    }

    #[test]
    fn numbers_are_javascripts() {
        let number = |text: &'static str| Raw::from_checked(text.as_bytes()).number();
        assert_eq!(number("12345678901234567890"), Some(12345678901234567000.0));
        assert_eq!(number("1e400"), Some(f64::INFINITY));
        assert_eq!(number("999999999999999"), Some(999_999_999_999_999.0));
        assert_eq!(number("0"), Some(0.0));
        assert_eq!(number("-0").map(f64::is_sign_negative), Some(true));
        assert_eq!(number("\"1\""), None);
        assert_eq!(Raw::from_checked(b"2.0").as_index(), Some(2));
        assert_eq!(Raw::from_checked(b"2.5").as_index(), None);
    }
}
