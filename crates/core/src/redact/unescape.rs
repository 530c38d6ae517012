//! Decodes the escapes in a text, and maps the result to the original bytes.
//!
//! A secret may be written with escapes (`\u0073k-ant-…`): those of the line's own JSON, those of
//! JSON inside a string, and so on. On each of these levels, there may be terminal codes in a
//! secret or between it and its name, and the text may be HTML or have URL escapes. The rules match
//! the decoded text, but the original bytes are replaced. A placeholder contains no quote and no
//! backslash, so it is valid on any level.

use pisess_json::string::decode_escape;
use pisess_json::text::push_code_point;
use std::borrow::Cow;
use std::ops::Range;
use std::rc::Rc;

/// The maximum number of levels on which a string is searched. The first level is the string as
/// written; each further level decodes JSON that is nested in a JSON string.
const MOST_LEVELS: usize = 6;

/// Returns a string of a line on each level of escapes: as written, decoded once, decoded twice and
/// so on, until no escape is left or [`MOST_LEVELS`] is reached.
pub(super) fn escape_levels(raw: &[u8]) -> impl Iterator<Item = MappedText<'_>> {
    let as_written = MappedText::new(raw);
    std::iter::successors(Some(as_written), |level| level.decode_json_escapes()).take(MOST_LEVELS)
}

/// A decoded text, with a map from its bytes to the bytes of the undecoded source.
#[derive(Debug)]
pub struct MappedText<'a> {
    /// The decoded text. It is UTF-8, except for lone surrogates and bytes that were not UTF-8 in
    /// the source.
    pub text: Cow<'a, [u8]>,
    /// One list of escapes for each decoding, in the order of the decodings. Texts that are decoded
    /// from the same text share its lists.
    decodings: Vec<Rc<Vec<Escape>>>,
}

/// An escape that was decoded. The bytes between two escapes were copied unchanged.
#[derive(Clone, Copy, Debug)]
struct Escape {
    /// The offset, in the decoded text, of the characters that the escape stands for.
    text_start: usize,
    /// The number of these bytes; 0 for a terminal code.
    text_len: u32,
    /// The length of the escape. The longest is a terminal code of some thousand bytes.
    source_len: u32,
    /// The offset of the escape in the text before the decoding.
    source_start: usize,
}

impl Escape {
    fn source_end(self) -> usize {
        self.source_start + self.source_len as usize
    }

    fn text_end(self) -> usize {
        self.text_start + self.text_len as usize
    }
}

/// An encoding of characters by escapes.
#[derive(Clone, Copy)]
struct Encoding {
    /// Returns the offset of the first byte that may begin an escape.
    find_escape: fn(&[u8]) -> Option<usize>,
    /// If the bytes begin with an escape, appends the text that it stands for, and returns the
    /// length of the escape. Otherwise returns `None`.
    decode_escape: fn(&[u8], &mut Vec<u8>) -> Option<usize>,
}

/// The escapes of JSON strings, such as `\n` and `\u0073`.
const JSON: Encoding = Encoding {
    find_escape: |bytes| memchr::memchr(b'\\', bytes),
    decode_escape: |bytes, text| {
        let decoded = decode_escape(bytes)?;
        push_code_point(text, decoded.code_point);
        Some(decoded.len)
    },
};

/// Terminal control sequences, which stand for no text.
const TERMINAL: Encoding = Encoding {
    find_escape: |bytes| memchr::memchr3(ESC, b'\\', b'^', bytes),
    decode_escape: |bytes, _| control_sequence_width(bytes),
};

/// URL escapes, such as `%3D`.
const PERCENT: Encoding = Encoding {
    find_escape: |bytes| memchr::memchr(b'%', bytes),
    decode_escape: |bytes, text| {
        let [b'%', high, low, ..] = *bytes else {
            return None;
        };
        let high = char::from(high).to_digit(16)?;
        let low = char::from(low).to_digit(16)?;
        text.push((high << 4 | low) as u8);
        Some(b"%3D".len())
    },
};

/// The encoding of HTML forms: URL escapes, and `+` for a space.
const FORM: Encoding = Encoding {
    find_escape: |bytes| memchr::memchr2(b'%', b'+', bytes),
    decode_escape: |bytes, text| {
        if bytes[0] != b'+' {
            return (PERCENT.decode_escape)(bytes, text);
        }
        text.push(b' ');
        Some(1)
    },
};

/// HTML entities, such as `&quot;`.
const HTML: Encoding = Encoding {
    find_escape: |bytes| memchr::memchr(b'&', bytes),
    decode_escape: decode_entity,
};

impl<'a> MappedText<'a> {
    /// Wraps bytes that are not decoded.
    pub fn new(bytes: &'a [u8]) -> Self {
        MappedText {
            text: Cow::Borrowed(bytes),
            decodings: Vec::new(),
        }
    }

    /// Decodes one level of JSON escapes; `None` if there are no escapes.
    pub fn decode_json_escapes(&self) -> Option<MappedText<'static>> {
        self.decode_with(JSON)
    }

    /// Removes terminal codes; `None` if there are no codes.
    pub fn strip_terminal_codes(&self) -> Option<MappedText<'static>> {
        self.decode_with(TERMINAL)
    }

    /// Decodes URL escapes such as `%3D`; `None` if there are no escapes.
    pub fn decode_percent(&self) -> Option<MappedText<'static>> {
        self.decode_with(PERCENT)
    }

    /// Decodes the encoding of HTML forms: URL escapes, and `+` for a space. `None` if there is no
    /// `+`.
    pub fn decode_form(&self) -> Option<MappedText<'static>> {
        memchr::memchr(b'+', &self.text)?;
        self.decode_with(FORM)
    }

    /// Decodes HTML entities; `None` if there are no entities.
    pub fn decode_entities(&self) -> Option<MappedText<'static>> {
        self.decode_with(HTML)
    }

    /// Decodes the escapes of one encoding, and records where each was. `None` if the text contains
    /// none. Bytes that only resemble an escape are kept.
    fn decode_with(&self, encoding: Encoding) -> Option<MappedText<'static>> {
        let bytes = &*self.text;
        // Before any memory is allocated: most texts have no escape.
        (encoding.find_escape)(bytes)?;
        let mut text = Vec::with_capacity(bytes.len());
        let mut escapes = Vec::new();

        // The offset up to which `bytes` are decoded.
        let mut decoded_end = 0;
        while let Some(distance) = (encoding.find_escape)(&bytes[decoded_end..]) {
            let source_start = decoded_end + distance;
            text.extend_from_slice(&bytes[decoded_end..source_start]);

            let text_start = text.len();
            // Appends the decoded characters to `text`.
            let decoded_width = (encoding.decode_escape)(&bytes[source_start..], &mut text);
            if let Some(width) = decoded_width {
                escapes.push(Escape {
                    text_start,
                    text_len: (text.len() - text_start) as u32,
                    source_len: width as u32,
                    source_start,
                });
                decoded_end = source_start + width;
            } else {
                // Not an escape, such as a `%` before a space.
                text.push(bytes[source_start]);
                decoded_end = source_start + 1;
            }
        }
        if escapes.is_empty() {
            return None;
        }
        text.extend_from_slice(&bytes[decoded_end..]);

        // A text may have an escape for every few bytes.
        escapes.shrink_to_fit();
        let mut decodings = self.decodings.clone();
        decodings.push(Rc::new(escapes));
        Some(MappedText {
            text: Cow::Owned(text),
            decodings,
        })
    }

    /// Converts a range of the text to the corresponding range of the source: for the source
    /// `a%3Db` with the text `a=b`, 1 to 2 becomes 1 to 4.
    ///
    /// Source bytes without text, such as a colour code, are included only between two bytes of the
    /// range, not before its first or after its last byte. So the end is mapped by the last byte of
    /// the range. An empty range has no last byte: its end is its start.
    pub fn source_range(&self, range: Range<usize>) -> Range<usize> {
        let mut mapped = range;
        // The last decoding is undone first.
        for escapes in self.decodings.iter().rev() {
            let start = source_start(escapes, mapped.start);
            let end = if mapped.is_empty() {
                start
            } else {
                source_end(escapes, mapped.end - 1)
            };
            mapped = start..end;
        }
        mapped
    }
}

/// Returns the offset in the source of a text byte; for a text byte of an escape, the start of the
/// escape.
fn source_start(escapes: &[Escape], at: usize) -> usize {
    match last_escape_up_to(escapes, at) {
        Some(escape) if at < escape.text_end() => escape.source_start,
        Some(escape) => escape.source_end() + at - escape.text_end(),
        None => at,
    }
}

/// Returns the offset in the source after a text byte; for a text byte of an escape, the end of the
/// escape.
fn source_end(escapes: &[Escape], at: usize) -> usize {
    match last_escape_up_to(escapes, at) {
        Some(escape) if at < escape.text_end() => escape.source_end(),
        Some(escape) => escape.source_end() + at + 1 - escape.text_end(),
        None => at + 1,
    }
}

/// Returns the last escape whose text begins at or before an offset. If several begin at the same
/// offset, the text of all but the last is empty.
fn last_escape_up_to(escapes: &[Escape], at: usize) -> Option<Escape> {
    let count = escapes.partition_point(|escape| escape.text_start <= at);
    escapes[..count].last().copied()
}

const ESC: u8 = 0x1b;
const BELL: u8 = 0x07;

/// The spellings of the escape character, with which a control sequence begins: in source code, in
/// the output of `cat -v`, and in JSON.
const ESCAPE_CHARACTERS: [&[u8]; 9] = [
    b"\x1b", b"\\x1b", b"\\x1B", b"^[", b"\\033", b"\\e", b"\\E", b"\\u001b", b"\\u001B",
];

/// The spellings of the bell character, which ends the text of an OSC sequence.
const BELL_CHARACTERS: [&[u8]; 6] = [b"\x07", b"\\x07", b"^G", b"\\007", b"\\a", b"\\u0007"];

/// The number of bytes in which the final byte of a CSI sequence must be.
const LONGEST_PARAMETERS: usize = 64;

/// The maximum length of an OSC sequence, whose text may be the address of a link.
const LONGEST_TEXT: usize = 4096;

/// Whether a text contains the beginning of a control sequence, even if the rest is missing.
pub fn contains_terminal_code(text: &[u8]) -> bool {
    memchr::memchr3_iter(ESC, b'\\', b'^', text).any(|offset| {
        let from_escape = &text[offset..];
        let width = prefix_width(from_escape, &ESCAPE_CHARACTERS).unwrap_or(0);
        width > 0 && matches!(from_escape.get(width), Some(b'[' | b']'))
    })
}

/// Returns the length of the control sequence at the start of `bytes`: CSI, as for colours, or OSC,
/// as for links and titles. `None` if there is no control sequence.
///
/// The backslash in a spelling of the escape character may itself be escaped, any number of times:
/// as written in a line, `\x1b[1m` is `\\x1b[1m`.
fn control_sequence_width(bytes: &[u8]) -> Option<usize> {
    let backslashes = bytes.iter().take_while(|byte| **byte == b'\\').count();
    // The last backslash may belong to the spelling, such as `\x1b`. Those before it escape it.
    let extra_backslashes = backslashes.saturating_sub(1);
    let spelling_width = prefix_width(&bytes[extra_backslashes..], &ESCAPE_CHARACTERS)?;
    let escape_width = extra_backslashes + spelling_width;

    let after_escape = &bytes[escape_width..];
    let rest_width = match after_escape {
        [b'[', ..] => csi_width(after_escape)?,
        [b']', ..] => osc_width(after_escape)?,
        // The selection of a character set, which `tput sgr0` prints.
        [b'(', b'B', ..] => 2,
        _ => return None,
    };
    Some(escape_width + rest_width)
}

/// Returns the length of a CSI sequence, from the `[` at the start of `bytes` to its final byte: 6
/// for the `[1;31m` of a red word.
/// `None` if anything but parameters is before the final byte: then it is ordinary text.
fn csi_width(bytes: &[u8]) -> Option<usize> {
    let after_bracket = &bytes[1..];
    let parameters_len = after_bracket
        .iter()
        .take(LONGEST_PARAMETERS)
        .position(|byte| !matches!(byte, b' '..=b'?'))?;
    let is_final = matches!(after_bracket[parameters_len], b'@'..=b'~');
    if is_final {
        // The bracket, the parameters and the final byte.
        Some(1 + parameters_len + 1)
    } else {
        None
    }
}

/// Returns the length of an OSC sequence, from the `]` at the start of `bytes` to the end of its
/// terminator: a bell, or an escape character and a backslash. An example is the start of a link,
/// `]8;;https://example.org` and a bell.
///
/// `None` if a line break or another escape character comes first: then it is ordinary text.
fn osc_width(bytes: &[u8]) -> Option<usize> {
    let text = &bytes[..bytes.len().min(LONGEST_TEXT)];
    // The `]` is skipped.
    for (offset, &byte) in text.iter().enumerate().skip(1) {
        if matches!(byte, b'\n' | b'\r') {
            return None;
        }
        // Every spelling of a bell or an escape character begins with one of these.
        if !matches!(byte, BELL | ESC | b'\\' | b'^') {
            continue;
        }
        let from_here = &bytes[offset..];
        if let Some(bell_width) = prefix_width(from_here, &BELL_CHARACTERS) {
            return Some(offset + bell_width);
        }
        if let Some(escape_width) = prefix_width(from_here, &ESCAPE_CHARACTERS) {
            let is_terminator = from_here[escape_width..].starts_with(b"\\");
            return if is_terminator {
                Some(offset + escape_width + b"\\".len())
            } else {
                None
            };
        }
    }
    None
}

/// Returns the length of the first of these spellings with which the bytes begin; `None` if there
/// is none.
fn prefix_width(bytes: &[u8], spellings: &[&[u8]]) -> Option<usize> {
    for spelling in spellings {
        if bytes.starts_with(spelling) {
            return Some(spelling.len());
        }
    }
    None
}

/// The named entities that are decoded. Their characters separate names, values and parts of a URL.
const ENTITIES: [(&[u8], u8); 14] = [
    (b"&quot;", b'"'),
    (b"&amp;", b'&'),
    (b"&apos;", b'\''),
    (b"&lt;", b'<'),
    (b"&gt;", b'>'),
    (b"&nbsp;", b' '),
    (b"&equals;", b'='),
    (b"&colon;", b':'),
    (b"&semi;", b';'),
    (b"&commat;", b'@'),
    (b"&sol;", b'/'),
    (b"&lowbar;", b'_'),
    (b"&plus;", b'+'),
    (b"&percnt;", b'%'),
];

/// The length of the longest numeric entity, such as `&#x10ffff;`.
const LONGEST_NUMERIC_ENTITY: usize = 10;

/// Decodes the entity at the start of `bytes`, such as `&quot;`, `&#34;` or `&#x22;`. Appends its
/// character to `text`, and returns the length of the entity. Returns `None` and appends nothing if
/// there is no entity, or a named one that is not in [`ENTITIES`].
fn decode_entity(bytes: &[u8], text: &mut Vec<u8>) -> Option<usize> {
    if bytes.starts_with(b"&#") {
        return decode_numeric_entity(bytes, text);
    }
    for (entity, character) in ENTITIES {
        if bytes.starts_with(entity) {
            text.push(character);
            return Some(entity.len());
        }
    }
    None
}

/// Decodes a numeric entity as [`decode_entity`] does: `&#34;`, or `&#x22;` with a hexadecimal
/// number.
fn decode_numeric_entity(bytes: &[u8], text: &mut Vec<u8>) -> Option<usize> {
    let semicolon = bytes
        .iter()
        .take(LONGEST_NUMERIC_ENTITY)
        .position(|&byte| byte == b';')?;
    let number = std::str::from_utf8(&bytes[b"&#".len()..semicolon]).ok()?;
    let (digits, radix) = match number.strip_prefix(['x', 'X']) {
        Some(hexadecimal) => (hexadecimal, 16),
        None => (number, 10),
    };
    if digits.starts_with('+') {
        // `from_str_radix` would accept the sign.
        return None;
    }
    let code_point = u32::from_str_radix(digits, radix).ok()?;
    // Half of a surrogate pair is not a character.
    let character = char::from_u32(code_point)?;
    text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    Some(semicolon + b";".len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_lead_back_through_all_levels() {
        let source = br#"a \"k\": \\u0073k-1 \u00e9 z"#;
        let once = MappedText::new(source).decode_json_escapes().unwrap();
        assert_eq!(&*once.text, "a \"k\": \\u0073k-1 é z".as_bytes());
        let twice = once.decode_json_escapes().unwrap();
        assert_eq!(&*twice.text, "a \"k\": sk-1 é z".as_bytes());
        let start = twice
            .text
            .windows(4)
            .position(|four| four == b"sk-1")
            .unwrap();
        assert_eq!(
            &source[twice.source_range(start..start + 4)],
            br"\\u0073k-1"
        );
        assert!(twice.decode_json_escapes().is_none());
        assert!(
            MappedText::new(b"C:\\Users")
                .decode_json_escapes()
                .is_none()
        );
    }

    #[test]
    fn codes_of_a_terminal_are_no_text() {
        for escape in ["\u{1b}", "\\x1b", "^[", "\\033", "\\e", "\\u001b"] {
            for end in ["\u{7}".to_owned(), format!("{escape}\\")] {
                let source = format!(
                    "a{escape}[32mb{escape}[0;38;5;208mc{escape}]8;;https://x.org/{end}d{escape}[K e"
                );
                let without = MappedText::new(source.as_bytes())
                    .strip_terminal_codes()
                    .unwrap();
                assert_eq!(&*without.text, b"abcd e", "{source}");
                // Codes between bytes belong to them, those around them do not.
                let range = without.source_range(1..3);
                assert_eq!(source[range], format!("b{escape}[0;38;5;208mc"));
            }
        }
        for text in ["C:\\e\\x1", "a^[b", "\\033", "\u{1b}]8;;x\ny"] {
            assert!(
                MappedText::new(text.as_bytes())
                    .strip_terminal_codes()
                    .is_none()
            );
        }
    }

    #[test]
    fn other_encodings_are_decoded() {
        let url = MappedText::new(b"KEY%3Dx%2g%").decode_percent().unwrap();
        assert_eq!(&*url.text, b"KEY=x%2g%");
        assert_eq!(url.source_range(4..5), 6..7);
        let form = MappedText::new(b"a+b%2Bc").decode_form().unwrap();
        assert_eq!(&*form.text, b"a b+c");
        assert_eq!(form.source_range(2..4), 2..6);
        assert!(MappedText::new(b"a%20b").decode_form().is_none());
        let html = MappedText::new("&quot;a&#39;&#x3d;&#xe9;&unknown;&amp".as_bytes());
        let html = html.decode_entities().unwrap();
        assert_eq!(&*html.text, "\"a'=é&unknown;&amp".as_bytes());
        assert!(MappedText::new(b"a & b").decode_entities().is_none());
        // A sign is not a digit.
        assert!(MappedText::new(b"a%+3b").decode_percent().is_none());
        assert!(
            MappedText::new(b"&#+34;&#x+22;")
                .decode_entities()
                .is_none()
        );
    }
}
