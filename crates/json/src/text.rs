//! Strings as in JavaScript.
//!
//! Session files are written by `JSON.stringify`, which keeps lone surrogates (`"\ud83d"`): valid
//! in these files, but not in `str`. [`Text`] holds WTF-8: UTF-8 in which a lone surrogate may
//! occur, encoded in three bytes. Lengths and cuts count UTF-16 units, as pi's do.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

/// A string of a session. It borrows its bytes from the line of the session if they need no
/// decoding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Text<'a>(Cow<'a, [u8]>);

impl<'a> Text<'a> {
    /// Wraps bytes that are WTF-8 already: valid UTF-8, or produced by this module.
    pub fn from_wtf8(bytes: impl Into<Cow<'a, [u8]>>) -> Self {
        Text(bytes.into())
    }

    /// Returns the WTF-8 bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the same text without a borrow.
    pub fn into_owned(self) -> Text<'static> {
        Text(Cow::Owned(self.0.into_owned()))
    }

    /// Returns the WTF-8 bytes, owned.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0.into_owned()
    }

    /// Returns the part in a range of bytes. The range must begin and end between characters.
    pub fn slice(&self, range: std::ops::Range<usize>) -> Text<'a> {
        match &self.0 {
            Cow::Borrowed(bytes) => Text(Cow::Borrowed(&bytes[range])),
            Cow::Owned(bytes) => Text(Cow::Owned(bytes[range].to_vec())),
        }
    }

    /// Returns the same text, borrowed, so that callers need not clone the bytes.
    pub fn as_borrowed(&self) -> Text<'_> {
        Text(Cow::Borrowed(&self.0))
    }

    /// Whether it has no characters.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns its length in UTF-16 units: `length` in JavaScript.
    pub fn utf16_len(&self) -> usize {
        utf16_len(&self.0)
    }

    /// Returns the first `units` UTF-16 units: `slice(0, units)` in JavaScript. A cut inside a
    /// surrogate pair leaves the high surrogate, as in JavaScript.
    pub fn head(&self, units: usize) -> Text<'a> {
        let cut = find_utf16_cut(&self.0, units);
        let mut head = self.slice(0..cut.offset);
        if let Some(code_point) = cut.split_character {
            push_code_point(head.0.to_mut(), high_surrogate(code_point));
        }
        head
    }

    /// Keeps only the first `units` UTF-16 units, as [`Text::head`] does.
    pub fn truncate(&mut self, units: usize) {
        let cut = find_utf16_cut(&self.0, units);
        match &mut self.0 {
            Cow::Borrowed(bytes) => *bytes = &bytes[..cut.offset],
            Cow::Owned(bytes) => bytes.truncate(cut.offset),
        }
        if let Some(code_point) = cut.split_character {
            push_code_point(self.0.to_mut(), high_surrogate(code_point));
        }
    }

    /// Returns the first `units` UTF-16 units, or one fewer if that would split a pair (`sliceHead`
    /// of pi).
    pub fn head_whole(&self, units: usize) -> Text<'a> {
        let cut = find_utf16_cut(&self.0, units);
        self.slice(0..cut.offset)
    }

    /// Removes a high surrogate at the end, as [`Text::head`] leaves it if it splits a pair.
    pub fn drop_high_surrogate(&mut self) {
        drop_high_surrogate(self.0.to_mut());
    }

    /// Appends a text. A high surrogate at the end of this text and a low one at the start of
    /// `other` become one character, as in JavaScript.
    pub fn push(&mut self, other: &Text) {
        let bytes = self.0.to_mut();
        push_wtf8(bytes, &other.0);
    }

    /// Appends a `str`.
    pub fn push_str(&mut self, other: &str) {
        self.0.to_mut().extend_from_slice(other.as_bytes());
    }

    /// Appends texts and `str`s, each as [`Text::push`] does.
    pub fn push_all(&mut self, parts: &[&dyn AsRef<[u8]>]) {
        let bytes = self.0.to_mut();
        for part in parts {
            push_wtf8(bytes, part.as_ref());
        }
    }

    /// Returns the text without the white space that JavaScript's `trim` removes at both ends.
    pub fn trim(&self) -> Text<'_> {
        Text(Cow::Borrowed(trim_end(&self.0[leading_space(&self.0)..])))
    }

    /// Whether nothing remains after `trim`.
    pub fn is_blank(&self) -> bool {
        leading_space(&self.0) == self.0.len()
    }

    /// Iterates over the code points, including lone surrogates.
    pub fn code_points(&self) -> impl Iterator<Item = u32> + '_ {
        let mut rest = &*self.0;
        std::iter::from_fn(move || {
            let first = first_code_point(rest)?;
            rest = &rest[first.width..];
            Some(first.code_point)
        })
    }

    /// Returns the text as a `String`, with U+FFFD for lone surrogates.
    pub fn to_string_lossy(&self) -> Cow<'_, str> {
        match simdutf8::basic::from_utf8(&self.0) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => Cow::Owned(
                self.code_points()
                    .map(|c| char::from_u32(c).unwrap_or('\u{fffd}'))
                    .collect(),
            ),
        }
    }

    /// Returns the text as [`Text::to_string_lossy`] does.
    pub fn into_string_lossy(self) -> String {
        String::from_utf8(self.into_bytes()).unwrap_or_else(|error| {
            Text::from_wtf8(error.into_bytes())
                .to_string_lossy()
                .into_owned()
        })
    }

    /// Iterates over the UTF-16 units.
    pub fn utf16_units(&self) -> impl Iterator<Item = u32> + '_ {
        self.code_points().flat_map(|code_point| {
            // A character of 16 bits is one unit. A larger one is a pair of surrogates, of which
            // the low one has the last ten bits.
            let is_pair = code_point >= 0x1_0000;
            let first_unit = if is_pair {
                high_surrogate(code_point)
            } else {
                code_point
            };
            let low_surrogate = is_pair.then_some(0xdc00 + (code_point & 0x3ff));
            std::iter::once(first_unit).chain(low_surrogate)
        })
    }

    /// Compares as JavaScript does by default, by UTF-16 unit: astral characters sort before
    /// U+E000.
    pub fn cmp_utf16(&self, other: &Text) -> Ordering {
        let own_keys = self.code_points().map(utf16_sort_key);
        let other_keys = other.code_points().map(utf16_sort_key);
        own_keys.cmp(other_keys)
    }
}

impl AsRef<[u8]> for Text<'_> {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Text(Cow::Borrowed(text.as_bytes()))
    }
}

impl From<String> for Text<'_> {
    fn from(text: String) -> Self {
        Text(Cow::Owned(text.into_bytes()))
    }
}

impl PartialEq<str> for Text<'_> {
    fn eq(&self, other: &str) -> bool {
        *self.0 == *other.as_bytes()
    }
}

impl PartialEq<&str> for Text<'_> {
    fn eq(&self, other: &&str) -> bool {
        *self.0 == *other.as_bytes()
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_string_lossy())
    }
}

/// Returns a key that sorts code points in the order of their UTF-16 units. The first unit decides.
/// For the same high surrogate, the code point decides.
fn utf16_sort_key(code_point: u32) -> (u32, u32) {
    if code_point >= 0x1_0000 {
        (high_surrogate(code_point), code_point)
    } else {
        (code_point, 0)
    }
}

/// Returns the length of WTF-8 bytes in UTF-16 units.
pub fn utf16_len(bytes: &[u8]) -> usize {
    // The units of a chunk, at most two for a byte, fit in a `u8`: so the compiler can count many
    // bytes at a time. The length is a multiple of the length of vectors, so that no byte of a
    // chunk is counted on its own.
    const CHUNK: usize = 96;
    const { assert!(2 * CHUNK <= u8::MAX as usize) };

    // The units of the character that a byte begins. Continuation bytes (10xxxxxx) begin none. A
    // character of four bytes, which begins with f0 or more, has two units.
    let units = |&byte: &u8| u8::from(byte & 0xc0 != 0x80) + u8::from(byte >= 0xf0);
    bytes
        .chunks(CHUNK)
        .map(|chunk| usize::from(chunk.iter().map(units).sum::<u8>()))
        .sum()
}

/// Appends a code point, surrogates included.
pub fn push_code_point(out: &mut Vec<u8>, code_point: u32) {
    match char::from_u32(code_point) {
        Some(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        // A surrogate, in the three bytes of its 16 bits: 1110xxxx 10xxxxxx 10xxxxxx.
        None => out.extend_from_slice(&[
            0xe0 | (code_point >> 12) as u8,
            0x80 | (code_point >> 6 & 0x3f) as u8,
            0x80 | (code_point & 0x3f) as u8,
        ]),
    }
}

/// Appends WTF-8 to WTF-8. If `out` ends with the high surrogate of a pair and `more` begins with
/// the low one, joins them to one character, because WTF-8 has no pairs of surrogates.
pub fn push_wtf8(out: &mut Vec<u8>, more: &[u8]) {
    // Each surrogate begins with this byte, and little else does.
    let may_begin_with_surrogate = more.first() == Some(&0xed);
    if !may_begin_with_surrogate {
        out.extend_from_slice(more);
        return;
    }

    if let Some(last) = last_code_point(out)
        && let Some(first) = first_code_point(more)
        && let high @ 0xd800..=0xdbff = last.code_point
        && let low @ 0xdc00..=0xdfff = first.code_point
    {
        out.truncate(out.len() - last.width);
        push_code_point(out, join_surrogates(high, low));
        out.extend_from_slice(&more[first.width..]);
    } else {
        out.extend_from_slice(more);
    }
}

/// Returns the code point of a surrogate pair. Each surrogate has ten bits of it, counted from
/// U+10000.
pub fn join_surrogates(high: u32, low: u32) -> u32 {
    debug_assert!(matches!(high, 0xd800..=0xdbff) && matches!(low, 0xdc00..=0xdfff));
    0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00)
}

/// Returns the text without the white space that JavaScript's `trimEnd` removes.
pub fn trim_end(text: &[u8]) -> &[u8] {
    let mut rest = text;
    while let Some(last) = last_code_point(rest)
        && is_js_space(last.code_point)
    {
        rest = &rest[..rest.len() - last.width];
    }
    rest
}

/// A class of a regular expression that matches the characters for which [`is_js_space`] is true.
pub const JS_SPACE: &str =
    r"(?u:[\t-\r \u{A0}\u{1680}\u{2000}-\u{200A}\u{2028}\u{2029}\u{202F}\u{205F}\u{3000}\u{FEFF}])";

/// Whether JavaScript's `trim` and `\s` treat the character as white space.
pub fn is_js_space(code_point: u32) -> bool {
    matches!(
        code_point,
        0x09..=0x0d | 0x20 | 0xa0 | 0x1680 | 0x2000..=0x200a | 0x2028 | 0x2029 | 0x202f | 0x205f | 0x3000 | 0xfeff
    )
}

/// Returns the first UTF-16 unit of a character beyond 16 bits. It has the bits above the last ten,
/// counted from U+10000.
fn high_surrogate(code_point: u32) -> u32 {
    debug_assert!(code_point >= 0x1_0000, "one unit, so it has no surrogates");
    0xd800 + ((code_point - 0x1_0000) >> 10)
}

/// Returns the number of leading bytes that JavaScript's `trimStart` removes.
pub fn leading_space(bytes: &[u8]) -> usize {
    if bytes.first().is_some_and(u8::is_ascii_graphic) {
        return 0; // Most texts.
    }
    let mut space_len = 0;
    while let Some(next) = first_code_point(&bytes[space_len..])
        && is_js_space(next.code_point)
    {
        space_len += next.width;
    }
    space_len
}

/// Removes a high surrogate at the end of WTF-8 bytes, as [`Text::drop_high_surrogate`] does.
pub fn drop_high_surrogate(bytes: &mut Vec<u8>) {
    if let [.., 0xed, 0xa0..=0xaf, _] = bytes[..] {
        bytes.truncate(bytes.len() - 3);
    }
}

/// The place in a text up to which it has some number of UTF-16 units.
struct Utf16Cut {
    /// The offset in bytes. If the cut splits a character, the offset before it.
    offset: usize,
    /// The code point of the character that the cut splits into its two surrogates.
    split_character: Option<u32>,
}

/// Returns the place after the first `units` UTF-16 units of a text; its end if it is shorter.
fn find_utf16_cut(bytes: &[u8], units: usize) -> Utf16Cut {
    let cut_at = |offset| Utf16Cut {
        offset,
        split_character: None,
    };
    // A unit takes at least one byte.
    if bytes.len() <= units {
        return cut_at(bytes.len());
    }
    // In ASCII, each byte is a unit.
    if bytes[..units].is_ascii() {
        return cut_at(units);
    }

    let mut offset = 0;
    let mut remaining_units = units;
    while remaining_units > 0 {
        let Some(WideCodePoint { code_point, width }) = first_code_point(&bytes[offset..]) else {
            break;
        };
        let unit_count = if code_point >= 0x1_0000 { 2 } else { 1 };
        if unit_count > remaining_units {
            return Utf16Cut {
                offset,
                split_character: Some(code_point),
            };
        }
        remaining_units -= unit_count;
        offset += width;
    }
    cut_at(offset)
}

/// A code point in WTF-8, which may be a surrogate.
struct WideCodePoint {
    code_point: u32,
    /// Its length in bytes.
    width: usize,
}

/// Returns the first code point; `None` if there are no bytes. A byte that begins no valid sequence
/// is returned as U+FFFD. Surrogates are accepted, because WTF-8 stores lone ones.
fn first_code_point(bytes: &[u8]) -> Option<WideCodePoint> {
    let replaced = Some(WideCodePoint {
        code_point: 0xfffd,
        width: 1,
    });
    let lead = *bytes.first()?;
    let (width, lead_bits) = match lead {
        0..=0x7f => (1, 0x7f),
        0xc0..=0xdf => (2, 0x1f),
        0xe0..=0xef => (3, 0x0f),
        0xf0..=0xf7 => (4, 0x07),
        _ => return replaced,
    };
    let Some(continuation) = bytes.get(1..width) else {
        return replaced;
    };
    let mut code_point = u32::from(lead & lead_bits);
    for &byte in continuation {
        // The bytes after the lead are 10xxxxxx.
        if byte & 0xc0 != 0x80 {
            return replaced;
        }
        code_point = code_point << 6 | u32::from(byte & 0x3f);
    }
    Some(WideCodePoint { code_point, width })
}

/// Returns the last code point; `None` if there are no bytes.
fn last_code_point(bytes: &[u8]) -> Option<WideCodePoint> {
    let mut start = bytes.len().checked_sub(1)?;
    if bytes[start].is_ascii() {
        return Some(WideCodePoint {
            code_point: u32::from(bytes[start]),
            width: 1,
        });
    }
    // At most four bytes, of which all but the first are 10xxxxxx.
    while start > 0 && bytes.len() - start < 4 && bytes[start] & 0xc0 == 0x80 {
        start -= 1;
    }
    Some(WideCodePoint {
        // All bytes from the start on count, also if they are no valid sequence.
        width: bytes.len() - start,
        ..first_code_point(&bytes[start..])?
    })
}

/// Returns texts and `str`s, one after the other.
pub fn concat_texts(parts: &[&dyn AsRef<[u8]>]) -> Text<'static> {
    let mut out = Text::default();
    out.push_all(parts);
    out
}

/// Returns texts with a separator between them.
pub fn join_with<'a>(texts: impl IntoIterator<Item = Text<'a>>, separator: &str) -> Text<'static> {
    let mut texts = texts.into_iter();
    let Some(first) = texts.next() else {
        return Text::default();
    };
    // Most often there is only one. If it is owned, it is not copied.
    let mut joined = first.into_owned();
    for text in texts {
        joined.push_str(separator);
        joined.push(&text);
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lone(code_point: u32) -> Text<'static> {
        let mut bytes = Vec::new();
        push_code_point(&mut bytes, code_point);
        Text::from_wtf8(bytes)
    }

    #[test]
    fn space_at_the_end() {
        assert_eq!(
            trim_end("\u{a0} x \r\u{2028}".as_bytes()),
            "\u{a0} x".as_bytes()
        );
        assert_eq!(trim_end(b" \t"), b"");
        assert_eq!(leading_space(" \u{3000}x ".as_bytes()), 4);
    }

    #[test]
    fn lengths_and_cuts_count_utf16_units() {
        let text = Text::from("a😀b");
        assert_eq!(text.utf16_len(), 4);
        assert_eq!(text.head(3), Text::from("a😀"));
        assert_eq!(text.head(2).utf16_len(), 2);
        assert_eq!(text.head(2).to_string_lossy(), "a\u{fffd}");
        assert_eq!(text.head_whole(2), Text::from("a"));
        let mut half = text.head(2);
        half.drop_high_surrogate();
        assert_eq!(half, Text::from("a"));
    }

    #[test]
    fn surrogates_that_meet_become_one_character() {
        let mut text = lone(0xd83d);
        text.push(&lone(0xde00));
        assert_eq!(text, Text::from("😀"));
    }

    #[test]
    fn trim_takes_what_javascript_takes() {
        assert_eq!(Text::from("\u{feff} \n x\u{3000}").trim(), Text::from("x"));
        assert!(Text::from(" \u{2028}\t").is_blank());
        assert!(!Text::from("\u{200b}").is_blank());
    }

    #[test]
    fn order_is_by_utf16_unit() {
        let mut sorted = [
            "b",
            "a",
            "é",
            "\u{e000}",
            "\u{d7ff}",
            "😀",
            "字",
            "字\u{ff5e}",
            "字😀",
            "😁",
            "",
        ];
        sorted.sort_by(|a, b| Text::from(*a).cmp_utf16(&Text::from(*b)));
        let by_units = |text: &&str| text.encode_utf16().collect::<Vec<_>>();
        assert!(sorted.is_sorted_by_key(by_units), "{sorted:?}");
        let high = Text::from_wtf8(b"\xed\xa0\xbd".as_slice());
        assert_eq!(high.cmp_utf16(&Text::from("😀")), Ordering::Less);
        assert_eq!(high.cmp_utf16(&Text::from("\u{ff5e}")), Ordering::Less);
    }
}
