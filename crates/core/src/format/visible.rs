//! Escapes untrusted text for display.
//!
//! A session can come from anyone. Its text must not reach a terminal, or a pager after a pipe,
//! with control characters, escape sequences or changes of the writing direction.

use memchr::memmem;
use pisess_json::text::Text;
use std::borrow::Cow;

/// Escapes every character that would act on a terminal. A control character becomes its picture
/// (`␛`), a newline or tab a space, and any other such character its number (`<U+202E>`).
pub fn to_visible(text: &str) -> String {
    to_visible_cow(text).into_owned()
}

/// Escapes a text as [`to_visible`] does. Printable ASCII is returned borrowed.
pub fn to_visible_cow(text: &str) -> Cow<'_, str> {
    if is_printable_ascii(text.as_bytes()) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    push_visible(&mut out, text);
    Cow::Owned(out)
}

/// Escapes a text as [`to_visible`] does, with each run of spaces, tabs and newlines as one space.
pub fn to_visible_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    to_visible(&words.join(" "))
}

/// Appends a text, escaped as by [`to_visible`].
pub fn push_visible(out: &mut String, text: &str) {
    if is_printable_ascii(text.as_bytes()) {
        out.push_str(text);
        return;
    }
    let copied_to = push_escaped(out, text, |byte| matches!(byte, b' '..=b'~'));
    out.push_str(&text[copied_to..]);
}

/// Appends a text, escaped as by [`to_visible`], with each run of spaces reduced to one. Spaces
/// that `out` had before are not changed.
pub fn push_squeezed(out: &mut Vec<u8>, text: &Text) {
    let start = out.len();
    if is_printable_ascii(text.as_bytes()) {
        out.extend_from_slice(text.as_bytes());
    } else {
        out.extend_from_slice(to_visible(&text.to_string_lossy()).as_bytes());
    }

    // Most text has no run of spaces, so it is not copied again.
    let has_run = memmem::find(&out[start..], b"  ").is_some();
    if has_run {
        let mut squeezed = out.split_off(start);
        squeezed.dedup_by(|byte, previous| *byte == b' ' && *previous == b' ');
        out.append(&mut squeezed);
    }
}

/// Whether all of the text is printable ASCII, so that each byte takes one column.
pub fn is_printable_ascii(text: &[u8]) -> bool {
    // There is no early exit, so that the compiler can compare many bytes at once.
    text.iter()
        .fold(true, |plain, byte| plain & (byte.wrapping_sub(b' ') < 0x5f))
}

/// Escapes the characters of a text that would act on a terminal, as [`to_visible`] does, but keeps
/// newlines and tabs. A text without a character to escape is returned borrowed.
pub fn to_visible_lines(text: &str) -> Cow<'_, str> {
    if is_printable_lines(text.as_bytes()) {
        return Cow::Borrowed(text);
    }
    let mut out = String::new();
    let copied_to = push_escaped(&mut out, text, |byte| {
        matches!(byte, b' '..=b'~' | b'\n' | b'\t')
    });
    // Nothing was escaped: the text is not ASCII, but printable.
    if copied_to == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied_to..]);
    Cow::Owned(out)
}

/// Escapes a text up to its last character that needs it, and appends the result. Returns the
/// offset after that character: the caller appends the rest. For `a␛b`, where `␛` is the control
/// character, appends `a` and the picture, and returns 2. If nothing was escaped, appends nothing
/// and returns 0, so that the caller can borrow the text.
///
/// A character is escaped if it acts on a terminal, unless `is_kept` accepts it. `is_kept` must
/// accept only ASCII: it is asked about bytes, so that most of a text is skipped without decoding.
#[inline]
fn push_escaped(out: &mut String, text: &str, is_kept: impl Fn(u8) -> bool) -> usize {
    // The text up to this offset was appended.
    let mut copied_to = 0;
    // The text up to this offset, which is between characters, was searched.
    let mut searched_to = 0;
    while let Some(kept_len) = find_byte(&text.as_bytes()[searched_to..], |byte| !is_kept(byte)) {
        // All bytes before it are ASCII, so the byte that was found begins a character.
        let start = searched_to + kept_len;
        let c = text[start..]
            .chars()
            .next()
            .expect("a character starts at the first byte that is not kept");
        let end = start + c.len_utf8();
        if acts_on_terminal(c) {
            out.push_str(&text[copied_to..start]);
            push_picture(out, c);
            copied_to = end;
        }
        searched_to = end;
    }
    copied_to
}

/// Returns the offset of the first byte for which `is_wanted` is true.
#[inline]
pub fn find_byte(bytes: &[u8], is_wanted: impl Fn(u8) -> bool) -> Option<usize> {
    // In some texts, wanted bytes follow each other. Then it is faster not to compare a whole
    // chunk.
    if bytes.first().is_some_and(|&first| is_wanted(first)) {
        return Some(0);
    }
    // `rest` are the bytes after the last whole chunk.
    let (chunks, rest) = bytes.as_chunks::<CHUNK>();
    for (index, chunk) in chunks.iter().enumerate() {
        // There is no early exit, so that the compiler can compare the bytes of a chunk at once.
        let mut has_wanted = false;
        for &byte in chunk {
            has_wanted |= is_wanted(byte);
        }
        if has_wanted {
            let offset = chunk.iter().position(|&byte| is_wanted(byte))?;
            return Some(index * CHUNK + offset);
        }
    }
    let offset = rest.iter().position(|&byte| is_wanted(byte))?;
    Some(bytes.len() - rest.len() + offset)
}

/// The number of bytes that [`find_byte`] compares at once.
const CHUNK: usize = 16;

/// Whether all of the text is printable ASCII, newlines and tabs.
fn is_printable_lines(text: &[u8]) -> bool {
    // As in `is_printable_ascii`.
    text.iter().fold(true, |plain, byte| {
        plain & ((byte.wrapping_sub(b' ') < 0x5f) | (*byte == b'\n') | (*byte == b'\t'))
    })
}

/// Writes each character of a JSON text that acts on a terminal as a JSON escape, such as `\u202e`;
/// the value stays the same. `json` must be compact, because line breaks between values would be
/// escaped, too.
pub fn escape_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if acts_on_terminal(c) {
            // JSON writes a character beyond U+FFFF as two escapes, a surrogate pair.
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// Appends a text of a session to an export. It is escaped as by [`to_visible_lines`], except that
/// `\r` and `\r\n` become newlines.
pub fn push_visible_lines(out: &mut String, text: &str) {
    let has_carriage_return = memchr::memchr(b'\r', text.as_bytes()).is_some();
    if has_carriage_return {
        let lines = text.replace("\r\n", "\n").replace('\r', "\n");
        out.push_str(&to_visible_lines(&lines));
    } else {
        out.push_str(&to_visible_lines(text));
    }
}

/// Appends the replacement for a character that acts on a terminal.
fn push_picture(out: &mut String, c: char) {
    match c {
        '\n' | '\t' => out.push(' '),
        '\0'..='\x1f' => out.push(char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}')),
        '\x7f' => out.push('\u{2421}'),
        c if acts_on_terminal(c) => out.push_str(&format!("<U+{:04X}>", c as u32)),
        c => out.push(c),
    }
}

/// Whether a character acts on a terminal: a control character, a line or paragraph separator, one
/// that changes the writing direction, or an invisible one that can hide or tag others.
#[inline]
pub fn acts_on_terminal(c: char) -> bool {
    match c {
        // Most characters.
        ' '..='~' => false,
        // The line separator and the paragraph separator.
        '\u{2028}' | '\u{2029}' => true,
        // The writing direction: marks, then embeddings and overrides, then isolates.
        '\u{061c}' | '\u{200e}' | '\u{200f}' => true,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        // Deprecated controls of the shapes of letters and digits.
        '\u{206a}'..='\u{206f}' => true,
        // The byte order mark, and the marks of annotations between lines.
        '\u{feff}' | '\u{fff9}'..='\u{fffb}' => true,
        // Tags, which are invisible copies of ASCII.
        '\u{e0000}'..='\u{e007f}' => true,
        c => c.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn push_squeezed_makes_runs_of_spaces_one_space() {
        let long = "a word ".repeat(9) + "is said";
        for (text, expected) in [
            ("", ""),
            (" ", " "),
            ("   ", " "),
            ("  a b  c", " a b c"),
            ("é  ü   ", "é ü "),
            ("a\t  b", "a b"),
            (
                &format!("{long}  {long} {long}   "),
                &format!("{long} {long} {long} "),
            ),
        ] {
            let mut out = b"|".to_vec();
            push_squeezed(&mut out, &Text::from(text));
            assert_eq!(
                String::from_utf8(out).unwrap(),
                format!("|{expected}"),
                "{text:?}"
            );
        }
    }

    #[test]
    fn find_byte_finds_the_first() {
        let is_wanted = |byte| byte == b'x' || byte == b'y';
        for length in 0..50 {
            let plain = vec![b'a'; length];
            assert_eq!(find_byte(&plain, is_wanted), None);
            for first in 0..length {
                let mut bytes = plain.clone();
                bytes[first] = b'x';
                bytes[length - 1] = b'y';
                assert_eq!(find_byte(&bytes, is_wanted), Some(first));
            }
        }
    }

    #[test]
    fn visible_escapes_what_acts_on_a_terminal() {
        assert_eq!(
            to_visible("a\x1b[31m\r\n\tb\x7f\u{9b}\u{202e}c"),
            "a␛[31m␍  b␡<U+009B><U+202E>c"
        );
        assert_eq!(to_visible("plain é 😀 \u{200d}"), "plain é 😀 \u{200d}");
        assert_eq!(to_visible_lines("a\n\tb\x1b"), "a\n\tb␛");
        let mut shown = String::new();
        push_visible_lines(&mut shown, "a\r\nb\rc\x1b\u{200e}\u{200f}\u{61c}");
        assert_eq!(shown, "a\nb\nc␛<U+200E><U+200F><U+061C>");
    }
}
