//! Quotes the readable text of a damaged line, for people.

use crate::format::format_count;
use crate::redact::SecretSearch;
use memchr::memmem;
use pisess_json::text::Text;
use std::sync::LazyLock;

/// The maximum length of an excerpt, in UTF-16 units.
const EXCERPT_UNITS: usize = 160;

/// The maximum length of the text that is read for an excerpt, in bytes: a line may be of any
/// length.
const MAX_READ_BYTES: usize = 4096;

/// What precedes the text of a message or a summary on a line, as both agents write it.
const TEXT_STARTS: [&[u8]; 5] = [
    b"\"text\":\"",
    b"\"content\":\"",
    b"\"summary\":\"",
    b"\"command\":\"",
    b"\"thinking\":\"",
];

/// What precedes the role of a message.
const ROLE_START: &[u8] = b"\"role\":\"";

/// In place of a text that has a secret.
const SECRET_NOTE: &str = "(not quoted, because it has a secret)";

/// The rules for secrets, which are slow to make: most files have no broken line.
static SECRET_RULES: LazyLock<SecretSearch> = LazyLock::new(SecretSearch::default);

/// Returns the beginning of what can be read of a broken line: the text of its message with the
/// role, as in `user: And the tide`, as far as it was written. Of an entry that ends before its
/// text, there is nothing to read. Any other line is quoted from its beginning; of NUL bytes alone,
/// their number is returned.
///
/// People paste findings into issues. So a text in which the rules of `redact` find a secret is not
/// quoted, nor is the last word of a text that was cut off: it may be the first half of a secret.
pub(super) fn excerpt_of_line(line: &[u8]) -> String {
    let found = TEXT_STARTS
        .iter()
        .filter_map(|start| string_after(line, start))
        .find(|text| !text.trim().is_empty());
    let Some(text) = found else {
        if line.starts_with(b"{\"") {
            return String::new();
        }
        let content = line.trim_ascii();
        if !content.is_empty() && content.iter().all(|&byte| byte == 0) {
            return format!(
                "{}, nothing else",
                format_count(content.len(), "NUL byte", "NUL bytes")
            );
        }
        let start = &line[..line.len().min(MAX_READ_BYTES)];
        let mut text = String::from_utf8_lossy(start).into_owned();
        if start.len() < line.len() {
            drop_last_word(&mut text);
        }
        return quote_beginning(&text);
    };
    let text = quote_beginning(&text);
    match string_after(line, ROLE_START) {
        Some(role) if !role.is_empty() => format!("{role}: {text}"),
        _ => text,
    }
}

/// Returns the string after the first occurrence of `start`, up to its quote. Without one, the
/// string was cut off, and is returned without its last word. White space and escapes other than
/// those of quotes become spaces.
fn string_after(line: &[u8], start: &[u8]) -> Option<String> {
    let from = memmem::find(line, start)? + start.len();
    let mut text = Vec::new();
    let mut is_closed = false;
    let mut bytes = line[from..].iter().take(MAX_READ_BYTES);
    while let Some(&byte) = bytes.next() {
        match byte {
            b'"' => {
                is_closed = true;
                break;
            }
            b'\\' => match bytes.next() {
                Some(&escaped @ (b'"' | b'\\' | b'/')) => text.push(escaped),
                _ => text.push(b' '),
            },
            _ => text.push(byte),
        }
    }

    let mut text = String::from_utf8_lossy(&text).into_owned();
    if !is_closed {
        drop_last_word(&mut text);
    }
    Some(text)
}

/// Removes the last word of a text, with the white space before it. A text of one word stays.
fn drop_last_word(text: &mut String) {
    if let Some(end) = text.trim_end().rfind(char::is_whitespace) {
        text.truncate(end);
    }
}

/// Returns the beginning of a text, on one line and without the NUL bytes that a crash leaves.
fn quote_beginning(text: &str) -> String {
    if SECRET_RULES.search_text(text).is_some() {
        return SECRET_NOTE.to_owned();
    }
    let words: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || c == '\0')
        .filter(|word| !word.is_empty())
        .collect();
    let line = Text::from(words.join(" "));
    let head = line.head_whole(EXCERPT_UNITS);
    let ellipsis = if head.utf16_len() < line.utf16_len() {
        "…"
    } else {
        ""
    };
    format!("{head}{ellipsis}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_cut_message_is_read_with_its_role() {
        for (line, expected) in [
            (
                r#"{"type":"message","message":{"role":"user","content":[{"type":"text","text":"A \"tide\"\nof bareb"#,
                r#"user: A "tide" of"#,
            ),
            (
                r#"{"type":"message","message":{"role":"user","content":"Hello"}"#,
                "user: Hello",
            ),
            (r#"{"type":"compaction","summary":"Goal: "#, "Goal:"),
            (
                "client_loop: send  disconnect",
                "client_loop: send disconnect",
            ),
            (r#"{"type":"message","id":"a0000004"#, ""),
            ("\0\0\0\n", "3 NUL bytes, nothing else"),
            (
                r#"{"type":"message","message":{"role":"user","content":"the key DB_PASSWORD=kX8vQ2mWz7LrT4 is"#,
                "user: (not quoted, because it has a secret)",
            ),
        ] {
            assert_eq!(excerpt_of_line(line.as_bytes()), expected);
        }
        let long = excerpt_of_line("ab ".repeat(200).as_bytes());
        assert_eq!(long.chars().count(), EXCERPT_UNITS + 1);
    }
}
