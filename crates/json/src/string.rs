//! Converts JSON strings to [`Text`] and back.
//!
//! Decoding expects bytes that [`super::scan`] has accepted. Invalid UTF-8 becomes U+FFFD, one for
//! each maximal part of a sequence, as in the decoders of both agents.

use super::lanes::{SpecialBytes, is_plain, plain_len};
use crate::text::{self, Text, join_surrogates, push_code_point, push_wtf8};
use memchr::{memchr, memchr_iter};
use std::borrow::Cow;

/// Decodes the bytes between the quotes of a string. If they have neither escapes nor invalid
/// UTF-8, the text borrows them.
pub fn decode(raw: &[u8]) -> Text<'_> {
    // A call of `memchr` takes longer than a loop over few bytes.
    let has_escape = if raw.len() < SHORT {
        raw.contains(&b'\\')
    } else {
        memchr(b'\\', raw).is_some()
    };
    if !has_escape {
        return decode_plain(raw);
    }

    let raw = &*repair_utf8(raw);
    let mut out = Vec::with_capacity(raw.len());
    let mut decoded_end = 0;
    for escape in Escapes::new(raw) {
        out.extend_from_slice(&raw[decoded_end..escape.start]);
        if escape.code_point < 0x80 {
            out.push(escape.code_point as u8);
        } else {
            push_wtf8(&mut out, &wtf8_bytes(escape.code_point));
        }
        decoded_end = escape.end;
    }
    out.extend_from_slice(&raw[decoded_end..]);
    Text::from_wtf8(out)
}

/// An escape in the bytes between the quotes.
struct Escape {
    /// The offset of its backslash.
    start: usize,
    /// The offset after its last byte.
    end: usize,
    code_point: u32,
}

/// Iterates over the escapes in the bytes between the quotes. Escapes are often close to each
/// other, so a search by `memchr` for each of them would be slow.
struct Escapes<'a> {
    raw: &'a [u8],
    special_bytes: SpecialBytes<'a>,
    /// The offset at which the previous escape ended. A backslash before it is part of that escape.
    previous_end: usize,
}

impl<'a> Escapes<'a> {
    fn new(raw: &'a [u8]) -> Self {
        Escapes {
            raw,
            special_bytes: SpecialBytes::new(raw),
            previous_end: 0,
        }
    }
}

impl Iterator for Escapes<'_> {
    type Item = Escape;

    /// Returns the next escape; two escapes that form a surrogate pair are one. An invalid escape
    /// is returned as well, without its backslash.
    #[inline]
    fn next(&mut self) -> Option<Escape> {
        loop {
            let start = self.special_bytes.next()?;
            // The other special bytes, quotes and control characters, begin no escape.
            if self.raw[start] != b'\\' {
                continue;
            }
            // The second backslash of `\\` belongs to the escape before it.
            if start < self.previous_end {
                continue;
            }
            let decoded = decode_escape_lossy(&self.raw[start..]);
            self.previous_end = start + decoded.len;
            return Some(Escape {
                start,
                end: self.previous_end,
                code_point: decoded.code_point,
            });
        }
    }
}

/// Returns a code point, which may be a surrogate, in WTF-8.
fn wtf8_bytes(code_point: u32) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(4);
    push_code_point(&mut bytes, code_point);
    bytes
}

/// Decodes bytes that contain no escape.
pub fn decode_plain(raw: &[u8]) -> Text<'_> {
    Text::from_wtf8(repair_utf8(raw))
}

/// Appends the first `units` UTF-16 units of the decoded string to `out`. Returns how many units
/// are missing, because the string is shorter: 0 if it is not.
///
/// Reads no more of a long string than needed. A cut inside a surrogate pair keeps the high
/// surrogate.
pub fn decode_head(raw: &[u8], units: usize, out: &mut Vec<u8>) -> usize {
    out.reserve(raw.len().min(units));
    let mut units_left = units;
    let mut unread = raw;
    loop {
        // First, the bytes up to an escape or a character outside ASCII. Each of them is a unit, so
        // they can be copied, and no more of them than units.
        let max_plain_len = unread.len().min(units_left);
        let plain = &unread[..plain_len(&unread[..max_plain_len])];
        out.extend_from_slice(plain);
        units_left -= plain.len();
        unread = &unread[plain.len()..];
        if units_left == 0 || unread.is_empty() {
            return units_left;
        }

        // What follows may have to be joined to a surrogate at the end of `out`, and may have more
        // units than are left: `push_head` treats both.
        if unread[0] == b'\\' {
            let DecodedEscape { code_point, len } = decode_escape_lossy(unread);
            if code_point < 0x80 {
                out.push(code_point as u8);
                units_left -= 1;
            } else {
                let pushed = push_head(wtf8_bytes(code_point).into(), units_left, out);
                units_left -= pushed;
            }
            unread = &unread[len..];
        } else {
            let run = non_ascii_run(unread, units_left);
            let pushed = push_head(repair_utf8(run), units_left, out);
            units_left -= pushed;
            unread = &unread[run.len()..];
        }
    }
}

/// Returns the characters outside ASCII with which `raw` begins: all of them, or enough for `units`
/// UTF-16 units. Returns at least one byte, which in accepted strings is above 0x7f.
fn non_ascii_run(raw: &[u8], units: usize) -> &[u8] {
    // A UTF-16 unit takes at most three bytes. With four more bytes, only a character that is not
    // needed can be cut off at the end of the window.
    let max_len = units.saturating_mul(3).saturating_add(4);
    let window = &raw[..raw.len().min(max_len)];
    let len = window.iter().position(u8::is_ascii).unwrap_or(window.len());
    // Without the minimum, a byte that no accepted string has would stop `decode_head` forever.
    &raw[..len.max(1)]
}

/// Appends at most `units` UTF-16 units of a decoded text. Returns how many there were.
fn push_head(decoded: Cow<[u8]>, units: usize, out: &mut Vec<u8>) -> usize {
    let head = Text::from_wtf8(decoded).head(units);
    push_wtf8(out, head.as_bytes());
    head.utf16_len()
}

/// Returns the length of the decoded string in UTF-16 units, without decoding it.
pub fn utf16_len(raw: &[u8]) -> usize {
    if !is_utf8(raw) {
        return decode(raw).utf16_len();
    }
    sum_units(raw, |code_point| if code_point > 0xffff { 2 } else { 1 })
}

/// Returns the length in UTF-16 units of the string as [`encode`] would write it, including the
/// quotes. `raw` has the bytes between the quotes of the stored string.
pub fn encoded_utf16_len(raw: &[u8]) -> usize {
    if !is_utf8(raw) {
        return Text::from_wtf8(encode_to_vec(&decode(raw))).utf16_len();
    }
    2 + sum_units(raw, encoded_units)
}

/// Returns the number of UTF-16 units in which [`encode`] writes a code point that was stored as an
/// escape: 2 for `\n`, 6 for `\u0001`, 1 for an `é` that was stored as `\u00e9`.
fn encoded_units(code_point: u32) -> usize {
    match code_point {
        0x08 | 0x09 | 0x0a | 0x0c | 0x0d | 0x22 | 0x5c => 2,
        0..0x20 | 0xd800..=0xdfff => 6,
        0..=0xffff => 1,
        _ => 2,
    }
}

/// Returns the length of a string in UTF-16 units. Its bytes must be valid UTF-8. An escape counts
/// as many units as `escape_units` returns for its code point.
fn sum_units(raw: &[u8], escape_units: impl Fn(u32) -> usize) -> usize {
    let mut units = text::utf16_len(raw);
    for escape in Escapes::new(raw) {
        units -= escape.end - escape.start;
        units += escape_units(escape.code_point);
    }
    units
}

/// Divides the bytes between the quotes into parts of about `most` bytes. The decoded parts
/// together are the decoded string: no escape, character or pair of surrogates is divided. If a
/// part has a line break, it ends after one.
pub fn split_parts(raw: &[u8], most: usize) -> impl Iterator<Item = &[u8]> {
    let mut rest = raw;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (part, more) = rest.split_at(part_len(rest, most));
        rest = more;
        Some(part)
    })
}

/// Returns the length of the first part of `raw`, for [`split_parts`]. `raw` has the bytes between
/// the quotes of a string, so that a line break is the escape `\n`.
///
/// The part ends after the last line break that begins in the first `most` bytes. Without a line
/// break, it has `most` bytes, and the rest of an escape or character that would be divided there.
fn part_len(raw: &[u8], most: usize) -> usize {
    if raw.len() <= most {
        return raw.len();
    }
    // In this window, an escape that begins in the first `most` bytes is complete.
    let window_len = raw.len().min(most + LONGEST_ESCAPE);
    let mut part_end = most;
    let mut last_line_end = None;
    for escape in Escapes::new(&raw[..window_len]) {
        if escape.start >= most {
            break;
        }
        // Only the last escape can end after `most`.
        part_end = most.max(escape.end);
        if escape.code_point == u32::from(b'\n') {
            last_line_end = Some(escape.end);
        }
    }

    match last_line_end {
        Some(line_end) => line_end,
        None => end_of_char(raw, part_end),
    }
}

/// The length in bytes of the longest escape, a surrogate pair such as `\ud83d\ude00`.
const LONGEST_ESCAPE: usize = 12;

/// Returns the first offset, from `offset` on, that is not inside a character of UTF-8.
fn end_of_char(raw: &[u8], offset: usize) -> usize {
    // All bytes of a character but the first are 10xxxxxx.
    let is_continuation = |byte: &u8| byte & 0b1100_0000 == 0b1000_0000;
    let mut end = offset;
    while raw.get(end).is_some_and(is_continuation) {
        end += 1;
    }
    end
}

/// Whether the bytes are UTF-8.
pub fn is_utf8(bytes: &[u8]) -> bool {
    simdutf8::basic::from_utf8(bytes).is_ok()
}

/// Whether nothing remains of the decoded string after JavaScript's `trim`. Only as much of the
/// string is decoded as necessary: first 256 UTF-16 units, then four times as many each time.
pub fn is_blank(raw: &[u8]) -> bool {
    // A visible character at the start decides.
    if let Some(&first) = raw.first()
        && first.is_ascii_graphic()
        && first != b'\\'
    {
        return false;
    }
    let mut units = 256;
    loop {
        let mut head = Vec::new();
        let missing_units = decode_head(raw, units, &mut head);
        if !Text::from_wtf8(head).is_blank() {
            return false;
        }
        let is_whole_string = missing_units > 0;
        if is_whole_string {
            return true;
        }
        units *= 4;
    }
}

/// Appends a text as a JSON string with its quotes, as `JSON.stringify` writes it. Control
/// characters and lone surrogates are escaped. Other characters outside ASCII are not.
pub fn encode(text: &Text, out: &mut Vec<u8>) {
    let mut rest = text.as_bytes();
    // Keys, ids and other names need no escape.
    if push_short_plain(rest, out) {
        return;
    }
    out.reserve(rest.len() + 2);
    out.push(b'"');
    while let Some(FoundSurrogate { start, unit }) = find_surrogate(rest) {
        push_utf8_encoded(&rest[..start], out);
        push_unit(unit, out);
        rest = &rest[start + SURROGATE_LEN..];
    }
    push_utf8_encoded(rest, out);
    out.push(b'"');
}

/// Appends the bytes of a short string with quotes, if they need no escape. Returns whether they
/// were appended.
#[inline]
fn push_short_plain(bytes: &[u8], out: &mut Vec<u8>) -> bool {
    if bytes.len() >= SHORT || !is_plain(bytes) {
        return false;
    }
    out.reserve(bytes.len() + 2);
    out.push(b'"');
    out.extend_from_slice(bytes);
    out.push(b'"');
    true
}

/// Appends a stored string as [`encode`] writes its text. `raw` has the bytes between its quotes,
/// which [`super::scan`] must have accepted.
///
/// Most strings are stored as `encode` writes them, because agents write them in the same way. Then
/// the bytes are copied. To decode and encode a text with many line breaks takes ten times as long.
pub fn encode_stored(raw: &[u8], out: &mut Vec<u8>) {
    if push_short_plain(raw, out) {
        return;
    }
    if is_stored_as_encoded(raw) {
        out.reserve(raw.len() + 2);
        out.push(b'"');
        out.extend_from_slice(raw);
        out.push(b'"');
    } else {
        encode(&decode(raw), out);
    }
}

/// Whether [`encode`] writes the text of a stored string as it is stored.
fn is_stored_as_encoded(raw: &[u8]) -> bool {
    if may_have_other_escape(raw) && has_other_escape(raw) {
        return false;
    }
    raw.len() < SHORT && raw.is_ascii() || is_utf8(raw)
}

/// Whether a stored string may have an escape that [`encode`] writes otherwise: whether it has the
/// bytes of `\/`, or of a number, such as `\u001b`. They may also be a part of two escapes, as in
/// `\\user`. All other escapes are written as they are stored.
///
/// Most strings have neither, and texts have an escape at the end of each line. To find that out
/// here takes a fraction of the time that it takes to look at each escape.
fn may_have_other_escape(raw: &[u8]) -> bool {
    let begins_other = |byte: u8, next: u8| (byte == b'\\') & ((next == b'/') | (next == b'u'));
    let next_bytes = raw.get(1..).unwrap_or_default();
    let (blocks, _) = raw.as_chunks::<BLOCK>();
    let (next_blocks, _) = next_bytes.as_chunks::<BLOCK>();
    let mut searched_len = 0;
    for (block, next_block) in blocks.iter().zip(next_blocks) {
        // Without a branch for each byte, so that many bytes are compared at once.
        let mut is_found = false;
        for (&byte, &next) in block.iter().zip(next_block) {
            is_found |= begins_other(byte, next);
        }
        if is_found {
            return true;
        }
        searched_len += BLOCK;
    }
    let rest = &raw[searched_len..];
    rest.windows(2).any(|pair| begins_other(pair[0], pair[1]))
}

/// The number of bytes that [`may_have_other_escape`] compares before it looks at the result.
const BLOCK: usize = 64;

/// Whether a stored string has an escape that [`encode`] writes otherwise.
fn has_other_escape(raw: &[u8]) -> bool {
    let mut escape_end = 0;
    for offset in SpecialBytes::new(raw) {
        // The quote or backslash of the escape before.
        if offset < escape_end {
            continue;
        }
        match encoded_escape_len(&raw[offset..]) {
            Some(len) => escape_end = offset + len,
            None => return true,
        }
    }
    false
}

/// Returns the length of the escape with which `raw` begins, if [`encode`] writes the same escape:
/// `\n`, `\"` and `\u001b`, but neither `\/` nor `\u001B`. By number, it escapes only the control
/// characters without a letter of their own, in small hexadecimal digits.
fn encoded_escape_len(raw: &[u8]) -> Option<usize> {
    match raw.strip_prefix(b"\\")? {
        [b'"' | b'\\' | b'b' | b't' | b'n' | b'f' | b'r', ..] => Some(2),
        // Those from 08 to 0d have a letter, except 0b.
        [b'u', b'0', b'0', b'0', b'0'..=b'7' | b'b' | b'e' | b'f', ..] => Some(6),
        [b'u', b'0', b'0', b'1', b'0'..=b'9' | b'a'..=b'f', ..] => Some(6),
        _ => None,
    }
}

/// The number of bytes of a surrogate in WTF-8.
const SURROGATE_LEN: usize = 3;

/// A lone surrogate in WTF-8.
struct FoundSurrogate {
    /// The offset of its first byte.
    start: usize,
    /// Its UTF-16 unit.
    unit: u32,
}

/// Finds the first surrogate. In WTF-8, it is ed a0..bf xx, which no valid UTF-8 contains.
fn find_surrogate(bytes: &[u8]) -> Option<FoundSurrogate> {
    for start in memchr_iter(0xed, bytes) {
        if let [_, second @ 0xa0..=0xff, third, ..] = bytes[start..] {
            let unit = 0xd000 | u32::from(second & 0x3f) << 6 | u32::from(third & 0x3f);
            return Some(FoundSurrogate { start, unit });
        }
    }
    None
}

/// Appends UTF-8 with its quotes, backslashes and control characters escaped.
fn push_utf8_encoded(bytes: &[u8], out: &mut Vec<u8>) {
    let mut encoded_end = 0;
    for offset in SpecialBytes::new(bytes) {
        out.extend_from_slice(&bytes[encoded_end..offset]);
        push_escape(bytes[offset], out);
        encoded_end = offset + 1;
    }
    out.extend_from_slice(&bytes[encoded_end..]);
}

/// Appends the escape of a quote, a backslash or a control character.
fn push_escape(byte: u8, out: &mut Vec<u8>) {
    match byte {
        0x08 => out.extend_from_slice(b"\\b"),
        0x09 => out.extend_from_slice(b"\\t"),
        0x0a => out.extend_from_slice(b"\\n"),
        0x0c => out.extend_from_slice(b"\\f"),
        0x0d => out.extend_from_slice(b"\\r"),
        0..0x20 => push_unit(u32::from(byte), out),
        _ => out.extend_from_slice(&[b'\\', byte]),
    }
}

fn push_unit(unit: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
}

/// Returns a text as a JSON string with its quotes, as [`encode`] writes it.
pub fn encode_to_vec(text: &Text) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.as_bytes().len() + 2);
    encode(text, &mut out);
    out
}

/// The length below which a vectorized search or check does not pay off: simdutf8 does not use
/// SIMD, and calling `memchr` takes longer than a loop.
const SHORT: usize = 64;

/// Replaces invalid UTF-8 by U+FFFD. Valid bytes are borrowed.
#[inline]
pub(super) fn repair_utf8(bytes: &[u8]) -> Cow<'_, [u8]> {
    // For short strings, the ASCII check is faster than the UTF-8 check.
    if bytes.len() < SHORT && bytes.is_ascii() {
        Cow::Borrowed(bytes)
    } else {
        replace_invalid_utf8(bytes)
    }
}

fn replace_invalid_utf8(bytes: &[u8]) -> Cow<'_, [u8]> {
    // For valid bytes, the normal case, checking first is faster than the lossy conversion.
    if is_utf8(bytes) {
        Cow::Borrowed(bytes)
    } else {
        Cow::Owned(String::from_utf8_lossy(bytes).into_owned().into_bytes())
    }
}

/// An escape that was decoded, such as `\n` or `\u00e9`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodedEscape {
    /// The code point that it stands for, which may be a surrogate.
    pub code_point: u32,
    /// The length of the escape in bytes.
    pub len: usize,
}

/// Decodes the escape with which `raw` starts, as [`decode_escape`] does. If a backslash begins no
/// valid escape, the byte after it is the code point.
#[inline]
fn decode_escape_lossy(raw: &[u8]) -> DecodedEscape {
    if let Some(decoded) = decode_escape(raw) {
        return decoded;
    }
    match raw.get(1) {
        Some(&byte) => DecodedEscape {
            code_point: u32::from(byte),
            len: 2,
        },
        // A backslash at the end becomes U+FFFD.
        None => DecodedEscape {
            code_point: 0xfffd,
            len: raw.len(),
        },
    }
}

/// Decodes the escape with which `raw` starts. Two escapes that form a surrogate pair, as in
/// `\ud83d\ude00`, are one. `None` if the backslash does not begin a valid escape.
pub fn decode_escape(raw: &[u8]) -> Option<DecodedEscape> {
    let code_point = match raw.get(1)? {
        b'b' => 0x08,
        b't' => 0x09,
        b'n' => 0x0a,
        b'f' => 0x0c,
        b'r' => 0x0d,
        &byte @ (b'"' | b'\\' | b'/') => u32::from(byte),
        b'u' => return decode_numbered_escape(raw),
        _ => return None,
    };
    Some(DecodedEscape { code_point, len: 2 })
}

/// Does the rest of [`decode_escape`] for an escape that begins with `\u`.
fn decode_numbered_escape(raw: &[u8]) -> Option<DecodedEscape> {
    const UNIT_LEN: usize = b"\\ud83d".len();

    let unit = numbered_unit(raw)?;
    // The second surrogate of a pair.
    if let high @ 0xd800..=0xdbff = unit
        && let Some(low @ 0xdc00..=0xdfff) = numbered_unit(&raw[UNIT_LEN..])
    {
        return Some(DecodedEscape {
            code_point: join_surrogates(high, low),
            len: 2 * UNIT_LEN,
        });
    }
    Some(DecodedEscape {
        code_point: unit,
        len: UNIT_LEN,
    })
}

/// Returns the UTF-16 unit of the escape with which `raw` starts: `\u` and four hexadecimal digits.
/// `None` if it starts with anything else.
#[inline]
fn numbered_unit(raw: &[u8]) -> Option<u32> {
    let digits = raw.strip_prefix(b"\\u")?.get(..4)?;
    let mut unit = 0;
    for &digit in digits {
        unit = unit << 4 | char::from(digit).to_digit(16)?;
    }
    Some(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes and encodes a string. To encode it as it is stored gives the same.
    fn round_trip(raw: &str) -> String {
        let encoded = encode_to_vec(&decode(raw.as_bytes()));
        let mut encoded_stored = Vec::new();
        encode_stored(raw.as_bytes(), &mut encoded_stored);
        assert_eq!(encoded_stored, encoded, "{raw}");
        String::from_utf8(encoded).unwrap()
    }

    #[test]
    fn strings_come_back_as_javascript_writes_them() {
        assert_eq!(
            round_trip(r#"a\/b\u0041\n\u001f\u007f"#),
            "\"a/bA\\n\\u001f\u{7f}\""
        );
        assert_eq!(
            round_trip(r"\ud83d\ude00 \ud83d x \ude00"),
            "\"😀 \\ud83d x \\ude00\""
        );
        assert_eq!(round_trip("\u{2028}é"), "\"\u{2028}é\"");
        // Wherever an escape is in the blocks in which a long string is searched.
        for len in 0..2 * BLOCK + 2 {
            for escape in [
                r"\n", r"\\", r"\\u001b", r"\/", r"\u001b", r"\u001B", r"\u0041",
            ] {
                let plain = "a".repeat(len);
                round_trip(&format!("{plain}{escape}"));
                round_trip(&format!("{plain}{escape}{plain}"));
            }
        }
        // Each control character, as agents escape it and in other ways.
        for code_point in 0..0x30 {
            round_trip(&format!(r"a\u{code_point:04x}"));
            round_trip(&format!(r"\u{code_point:04X}\\u001b"));
        }
    }

    #[test]
    fn decode_drops_the_backslash_of_an_invalid_escape() {
        for (raw, text) in [
            (r"C:\users\u", "C:usersu"),
            (r"\u12g4", "u12g4"),
            (r"\", "\u{fffd}"),
        ] {
            assert_eq!(decode(raw.as_bytes()), text, "{raw}");
        }
    }

    #[test]
    fn invalid_utf8_becomes_the_replacement_character() {
        assert_eq!(
            decode(b"a\xff\xfeb\xe2\x82").to_string_lossy(),
            "a\u{fffd}\u{fffd}b\u{fffd}"
        );
        assert_eq!(decode(b"\\n\xff").to_string_lossy(), "\n\u{fffd}");
    }

    /// A head is the beginning of the whole decoded string, wherever it is cut and whatever is
    /// around the cut.
    #[test]
    fn heads_agree_with_the_whole() {
        let pieces: [&[u8]; 12] = [
            b"a",
            b"plain text of some length",
            b"\\n",
            b"\\\\",
            b"\\\"",
            b"\\u00e9",
            b"\\ud83d",
            b"\\ude00",
            "é".as_bytes(),
            "😀".as_bytes(),
            b"\xff",
            b"\xe2\x82",
        ];
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..2_000 {
            let mut raw = Vec::new();
            for _ in 0..8 {
                random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                raw.extend_from_slice(pieces[(random >> 40) as usize % pieces.len()]);
            }
            let whole = decode(&raw);
            let mut encoded_stored = Vec::new();
            encode_stored(&raw, &mut encoded_stored);
            assert_eq!(encoded_stored, encode_to_vec(&whole));
            for units in 0..whole.utf16_len() + 2 {
                let mut out = b"before".to_vec();
                let left = decode_head(&raw, units, &mut out);
                let head = whole.head(units);
                assert_eq!(
                    &out[6..],
                    head.as_bytes(),
                    "{} units of {}",
                    units,
                    raw.escape_ascii()
                );
                assert_eq!(left, units - head.utf16_len());
            }
            assert_eq!(utf16_len(&raw), whole.utf16_len(), "{}", raw.escape_ascii());
        }
    }

    /// An escape is found wherever in a lane its bytes are.
    #[test]
    fn escapes_at_every_offset() {
        for (character, escaped) in [
            ("\n", r"\n"),
            ("\\", r"\\"),
            ("\"", "\\\""),
            ("\x01", r"\u0001"),
        ] {
            for before in 0..40 {
                for after in 0..20 {
                    let text = format!(
                        "{}{character}{character}{}",
                        "é".repeat(before),
                        "x".repeat(after)
                    );
                    let raw = format!(
                        "{}{escaped}{escaped}{}",
                        "é".repeat(before),
                        "x".repeat(after)
                    );
                    assert_eq!(decode(raw.as_bytes()), text.as_str());
                    assert_eq!(utf16_len(raw.as_bytes()), before + 2 + after);
                    let json = encode_to_vec(&Text::from(text.as_str()));
                    assert_eq!(String::from_utf8(json).unwrap(), format!("\"{raw}\""));
                    assert_eq!(round_trip(&raw), format!("\"{raw}\""));
                }
            }
        }
    }

    #[test]
    fn a_sign_is_no_hexadecimal_digit() {
        assert_eq!(decode_escape(br"\u+041"), None);
        let decoded = |code_point| Some(DecodedEscape { code_point, len: 6 });
        assert_eq!(decode_escape(br"\ud83d\u+e00"), decoded(0xd83d));
        assert_eq!(decode_escape(br"\u004f"), decoded(0x4f));
    }

    #[test]
    fn parts_are_the_whole() {
        let raw = r"ab\nc\ud83d\ude00\\\ud83dé😀\u00e9\n\n".repeat(50) + "tail of some length";
        for most in 1..40 {
            let mut joined = Text::default();
            let mut count = 0;
            for part in split_parts(raw.as_bytes(), most) {
                joined.push(&decode(part));
                count += 1;
            }
            assert_eq!(joined, decode(raw.as_bytes()), "{most}");
            assert!(count > raw.len() / (most + 13), "{count} {most}");
        }
        let lines = split_parts(br"one\ntwo\nthree", 12).collect::<Vec<_>>();
        assert_eq!(lines, [&br"one\ntwo\n"[..], b"three"]);
        assert_eq!(split_parts(b"", 4).count(), 0);
    }

    #[test]
    fn blankness_sees_through_escapes() {
        assert!(is_blank(br" \n\t\u0020\u2028"));
        assert!(!is_blank(br" \n\u200b"));
        assert!(is_blank(b""));
        let long = " ".repeat(5_000);
        assert!(is_blank(long.as_bytes()) && !is_blank((long + "x").as_bytes()));
    }
}
