//! Quotes the readable text of a damaged line, for people.

use super::Finding;
use crate::format::format_count;
use crate::ops::redact::redact_session;
use crate::redact::values::ValueSearch;
use crate::redact::{Redactor, SecretSearch};
use crate::session::entry::Role;
use memchr::memmem;
use pisess_json::text::Text;
use pisess_store::ReadAt;
use std::io;
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

/// What names a private key in its first or last line. The lines between them have no form of
/// their own.
const KEY_NAMES: [&str; 2] = ["PRIVATE KEY", "PuTTY-User-Key-File"];

/// In place of a text that has a secret.
const SECRET_NOTE: &str = "(not quoted, because it has a secret)";

/// The rules for secrets, which are slow to make: most files have no broken line.
static SECRET_RULES: LazyLock<SecretSearch> = LazyLock::new(SecretSearch::default);

/// Returns the beginning of what can be read of a broken line: the text of its message with the
/// role, as in `user: And the tide`, as far as it was written. Of an entry that ends before its
/// text, there is nothing to read. Any other line is quoted without what may belong to its
/// neighbours; of NUL bytes alone, their number is returned.
///
/// People paste findings into issues. So a text in which the rules of `redact` find a secret is not
/// quoted, nor is a word at which a text was cut off: it may be half of a secret.
/// [`hide_secrets_of_session`] completes this.
pub(super) fn excerpt_of_line(line: &[u8]) -> String {
    let Some(text) = find_message_text(line) else {
        return excerpt_without_text(line);
    };
    let quoted = quote_beginning(&text);
    if quoted.is_empty() {
        return quoted;
    }
    let role = string_after(line, ROLE_START).unwrap_or_default();
    // Any other role may be a secret, too.
    match Role::named(role.as_bytes()).name() {
        Some(role) => format!("{role}: {quoted}"),
        None => quoted,
    }
}

/// Returns the text of the message in a broken line, as far as it was written: the string after the
/// first of [`TEXT_STARTS`] that has one. `None` if there is only white space, or nothing.
fn find_message_text(line: &[u8]) -> Option<String> {
    for start in TEXT_STARTS {
        if let Some(text) = string_after(line, start)
            && !text.trim().is_empty()
        {
            return Some(text);
        }
    }
    None
}

/// Returns the beginning of a broken line that has no text of a message. It may begin and end in
/// the middle of a string. Empty for an entry that ends before its text.
fn excerpt_without_text(line: &[u8]) -> String {
    if line.starts_with(b"{\"") {
        return String::new();
    }
    let content = line.trim_ascii();
    let has_only_nul_bytes = !content.is_empty() && content.iter().all(|&byte| byte == 0);
    if has_only_nul_bytes {
        let nul_bytes = format_count(content.len(), "NUL byte", "NUL bytes");
        return format!("{nul_bytes}, nothing else");
    }

    let start = &line[..line.len().min(MAX_READ_BYTES)];
    let text = String::from_utf8_lossy(start);
    let mut excerpt = text.as_ref();
    // Without a brace, the first or the last word may be half of one.
    if !start.starts_with(b"{") {
        excerpt = without_first_word(excerpt);
    }
    if !start.ends_with(b"}") {
        excerpt = without_last_word(excerpt);
    }
    quote_beginning(excerpt)
}

/// Returns the string after the first occurrence of `start`, up to its quote. Without one, the
/// string was cut off, and is returned without its last word.
fn string_after(line: &[u8], start: &[u8]) -> Option<String> {
    let from = memmem::find(line, start)? + start.len();
    let written = &line[from..];
    let string = decode_string(&written[..written.len().min(MAX_READ_BYTES)]);
    if string.is_closed {
        Some(string.text)
    } else {
        Some(without_last_word(&string.text).to_owned())
    }
}

/// A string that was read from a broken line.
struct DecodedString {
    text: String,
    /// Whether its closing quote was found.
    is_closed: bool,
}

/// Decodes a JSON string of which the opening quote precedes `written`, up to its closing quote or
/// to the end: `a\nb","x"` -> `a`, a line feed and `b`.
fn decode_string(written: &[u8]) -> DecodedString {
    let mut text = Vec::new();
    let mut is_closed = false;
    let mut rest = written;
    while let Some((&byte, after_byte)) = rest.split_first() {
        match byte {
            b'"' => {
                is_closed = ends_string(after_byte);
                break;
            }
            b'\\' => {
                let escape = Escape::read(rest);
                let mut buffer = [0; 4];
                text.extend_from_slice(escape.character.encode_utf8(&mut buffer).as_bytes());
                rest = rest.get(escape.len..).unwrap_or_default();
            }
            byte => {
                text.push(byte);
                rest = after_byte;
            }
        }
    }
    DecodedString {
        text: String::from_utf8_lossy(&text).into_owned(),
        is_closed,
    }
}

/// Whether a quote ends a string, given what follows it. Where another line was written into a
/// string, the quote is one of the other line.
fn ends_string(after_quote: &[u8]) -> bool {
    match after_quote.first() {
        None => true,
        Some(next) => matches!(next, b',' | b'}' | b']'),
    }
}

/// An escape in a JSON string.
struct Escape {
    /// What it stands for; U+FFFD for half of a surrogate pair, and if the escape was cut off.
    character: char,
    /// Its length in bytes.
    len: usize,
}

/// Parses hexadecimal digits; `None` if one is missing or another character.
fn parse_hex(digits: &[u8]) -> Option<u32> {
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

impl Escape {
    /// Reads the escape at the start of `written`, such as `\n` or `\u00e9`. It begins with its
    /// backslash.
    fn read(written: &[u8]) -> Escape {
        let after_backslash = &written[1..];
        let character = match after_backslash.first() {
            Some(b'u') => return Escape::read_unicode(&after_backslash[1..]),
            Some(&escaped @ (b'"' | b'\\' | b'/')) => char::from(escaped),
            // PEM keys are recognized by their lines.
            Some(b'n') => '\n',
            // Other control characters, such as a tab, count as white space.
            Some(_) => ' ',
            // The text was cut off in the escape.
            None => char::REPLACEMENT_CHARACTER,
        };
        Escape {
            character,
            len: r"\n".len(),
        }
    }

    /// Reads an escape such as `\u00e9`, given what follows its `\u`. If that does not begin with
    /// four hexadecimal digits, the escape is only `\u`.
    fn read_unicode(after_u: &[u8]) -> Escape {
        const DIGITS: usize = 4;
        match after_u.get(..DIGITS).and_then(parse_hex) {
            Some(unit) => Escape {
                // Half of a surrogate pair is not a character.
                character: char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER),
                len: r"\u".len() + DIGITS,
            },
            None => Escape {
                character: char::REPLACEMENT_CHARACTER,
                len: r"\u".len(),
            },
        }
    }
}

/// Returns a text up to the last white space. A text of one word becomes empty. The end of the line
/// in the file is no end of a word.
fn without_last_word(text: &str) -> &str {
    let text = text.trim_end_matches(['\r', '\n']);
    match text.rfind(char::is_whitespace) {
        Some(end) => &text[..end],
        None => "",
    }
}

/// Returns a text without its first word. Further words are left out as long as they may be parts
/// of a secret: see [`may_continue_secret`]. A text of one word becomes empty.
fn without_first_word(text: &str) -> &str {
    let mut rest = text;
    while let Some((word, after_space)) = rest.split_once(char::is_whitespace) {
        rest = after_space.trim_start();
        if !may_continue_secret(word, rest) {
            return rest;
        }
    }
    ""
}

/// Whether `rest` may begin with a part of a secret, given the word before it. The word may be half
/// of a name whose value follows, as in `ssword: kX8v` and `OKEN = kX8v`. Or the next word has a
/// digit, as in `earer kX8v`.
fn may_continue_secret(word: &str, rest: &str) -> bool {
    let names_value = word.ends_with([':', '=']) || rest.starts_with(['=', ':']);
    let next_word = rest.split_whitespace().next().unwrap_or_default();
    let precedes_digits = next_word.contains(|character: char| character.is_ascii_digit());
    names_value || precedes_digits
}

/// Returns a text without its NUL bytes, which a crash leaves in place of other bytes, and without
/// the words beside them: each may be half of a secret, even if there is white space between.
fn without_words_at_nuls(text: &str) -> String {
    let pieces: Vec<&str> = text.split('\0').collect();
    let last_index = pieces.len() - 1;
    let mut whole_words = Vec::new();
    for (index, &piece) in pieces.iter().enumerate() {
        let mut words = piece;
        let follows_nul = index > 0;
        if follows_nul {
            words = without_first_word(words.trim_start());
        }
        let precedes_nul = index < last_index;
        if precedes_nul {
            words = without_last_word(words.trim_end());
        }
        whole_words.push(words);
    }
    whole_words.join(" ")
}

/// Returns the beginning of a text, on one line and without NUL bytes. If there is more, the
/// beginning ends with a whole word and `…`. A note takes the place of a text with a secret.
fn quote_beginning(text: &str) -> String {
    let quotable = without_words_at_nuls(text);
    // Both are searched: without the words at NUL bytes, a name may directly precede its value.
    if has_secret(text) || has_secret(&quotable) {
        return SECRET_NOTE.to_owned();
    }
    let words: Vec<&str> = quotable.split_whitespace().collect();
    let line = Text::from(words.join(" "));
    let head = line.head_whole(EXCERPT_UNITS);
    if head.utf16_len() == line.utf16_len() {
        return line.to_string();
    }
    // The word that is cut may be a secret that only another line shows to be one.
    format!("{}…", without_last_word(&head.to_string()))
}

/// Whether a text contains a secret, as far as the text itself shows it.
fn has_secret(text: &str) -> bool {
    // Of a private key that was cut off, the rules find only what is certainly part of it.
    let names_private_key = KEY_NAMES.iter().any(|name| text.contains(name));
    names_private_key || SECRET_RULES.search_text(text).is_some()
}

/// Replaces each excerpt that has a secret which only another place of the session shows to be one,
/// as `TOKEN=abc…` does. This searches the whole session, but damaged lines are rare.
pub(super) fn hide_secrets_of_session(
    findings: &mut [Finding],
    source: &dyn ReadAt,
    workers: usize,
) -> io::Result<()> {
    let mut excerpts = Vec::new();
    for finding in findings {
        if !finding.excerpt.is_empty() {
            excerpts.push(&mut finding.excerpt);
        }
    }
    hide_secrets(&mut excerpts, source, workers)
}

/// Returns what can be read of a broken line of a session, as `excerpt_of_line` does, without a
/// secret that only another place of the session shows to be one.
///
/// # Errors
/// If the session cannot be read.
pub fn quote_damaged_line(line: &[u8], source: &dyn ReadAt, workers: usize) -> io::Result<String> {
    let mut excerpt = excerpt_of_line(line);
    hide_secrets(&mut [&mut excerpt], source, workers)?;
    Ok(excerpt)
}

/// Replaces each of the excerpts that contains a secret of the session. The session is searched
/// only if there is text to hide.
fn hide_secrets(
    excerpts: &mut [&mut String],
    source: &dyn ReadAt,
    workers: usize,
) -> io::Result<()> {
    if excerpts.iter().all(|excerpt| excerpt.is_empty()) {
        return Ok(());
    }
    let mut redactor = Redactor::default();
    let no_copy = None;
    redact_session(source, &mut redactor, workers, no_copy)?;
    let secrets = ValueSearch::new(redactor.found_values());
    for excerpt in excerpts {
        if secrets.has_value_in(excerpt) {
            SECRET_NOTE.clone_into(excerpt);
        }
    }
    Ok(())
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
                "client_loop: send  disconnect: Broken pipe",
                "disconnect: Broken",
            ),
            // It begins, or ends, in the middle of a string.
            (
                r#"F292c6912E7 is the old one"}]}}"#,
                r#"is the old one"}]}}"#,
            ),
            ("c6912E7\"}]}}", ""),
            // The name of the secret is torn.
            ("assword: kX8vQ2mWz7LrT4 is the login", "is the"),
            ("OKEN = kX8vQ2mWz7LrT4 is the login", "is the"),
            ("OKEN =kX8vQ2mWz7LrT4 is the login", "is the"),
            // A crash left NUL bytes in place of the rest of a word.
            (
                "{\"content\":\"the key kQ7vR2xT9m\0\0\0W4pL8z and more\",\"x\":1",
                "the key and more",
            ),
            ("ab cd kQ7vR2xT9m\0\0\0OKEN: W4pL8z and more", "cd and"),
            ("\0\0\0W4pL8z and more words", "and more"),
            // White space is between the NUL bytes and a secret.
            (
                "{\"content\":\"API_TOKEN: \0\0 kX8vQ2mZp9Lr4 is used\",\"x\":1",
                "is used",
            ),
            (
                "{\"content\":\"the key password=\0\0\0 kX8vQ2mZp9Lr4 is used\",\"x\":1",
                "the key is used",
            ),
            (
                "{\"content\":\"curl -H Authorization: Bea\0\0rer kX8vQ2mZp9Lr4AAAAbbbb1234 x y\",\"x\":1",
                "curl -H Authorization: x y",
            ),
            (
                "{\"content\":\"\0\0earer kX8vQ2mZp9Lr4AAAAbbbb1234 x y\",\"x\":1",
                "x y",
            ),
            (
                "{\"content\":\"the DB_PASSWORD: x\0y tiger!Murmel is\",\"x\":1",
                SECRET_NOTE,
            ),
            // Nothing is left to quote.
            (
                "{\"message\":{\"role\":\"user\",\"content\":\"clock\0\0\0Z\",\"x\":1",
                "",
            ),
            (
                r#"{"type":"message","message":{"role":"user","content":"ghp_16C7e42F292c6912E7"#,
                "",
            ),
            (
                r#"{"type":"message","message":{"role":"user","content":"use ghp_16C7e{"type":"custom""#,
                "user: use",
            ),
            (
                r#"{"type":"message","message":{"role":"user","content":"\u0041nd \u20ac 5\u00e9 \ud83d\u0g"#,
                "user: And € 5é",
            ),
            (
                r#"{"type":"message","message":{"role":"ghp_16C7e42F292c6912E7","content":"Hello"}"#,
                "Hello",
            ),
            (
                r#"{"type":"message","message":{"role":"user","content":"it is\n-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIB"#,
                "user: (not quoted, because it has a secret)",
            ),
            (
                concat!(
                    r#"{"type":"message","message":{"role":"user","content":"the password is kX8vQ2mW"#,
                    "\r"
                ),
                "user: the password is",
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
        let long = excerpt_of_line("abcd ".repeat(200).as_bytes());
        assert_eq!(long.chars().count(), EXCERPT_UNITS);
        assert!(long.ends_with("abcd…"));
    }
    /// Only another line shows the word to be a secret, and it may write it in another encoding.
    #[test]
    fn secrets_that_another_line_shows_are_not_quoted() {
        for (other, word) in [
            (
                "postgres://bob:tigermurmelwald@db.example.com/x",
                "tigermurmelwald",
            ),
            (
                "postgres://bob:TIGERMURMELWALD@db.example.com/x",
                "TIGERMURMELWALD",
            ),
            ("sshpass -p tigermurmelwald ssh x", "tigermurmelwald"),
            ("curl -u bob:tigermurmel https://x.org", "tigermurmel"),
            (
                r"DB_PASSWORD=k\u00e4x8\u00fcQ2\u00f6",
                "k\u{e4}x8\u{fc}Q2\u{f6}",
            ),
            (
                r"cat .env | base64\nRk9PPWJhcgpBUElfVE9LRU49a1g4dlEybVpwOUxyNFRuV3MKWD15Cg==",
                "kX8vQ2mZp9Lr4TnWs",
            ),
        ] {
            let damaged = format!(r#"{{"content":"now try {word} please and then"#);
            let session = format!("{{\"content\":\"{other}\"}}\n{damaged}\n").into_bytes();
            let excerpt = quote_damaged_line(damaged.as_bytes(), &session, 1).unwrap();
            assert_eq!(excerpt, SECRET_NOTE, "{other}");
        }
    }
}
