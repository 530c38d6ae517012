//! Command lines: parses those that the user sets in environment variables, for example for a
//! pager, and quotes words of those that are printed for a shell.

use crate::format::{ID_SUFFIX_LEN, acts_on_terminal, id_suffix};
use crate::load::names::MIN_ID_PART_LEN;
use std::ffi::OsStr;
use std::process::Command;

/// Characters of shell syntax. A command line that contains one of them is run by a shell.
pub const SHELL_SYNTAX: &[char] = &[
    '|', '&', ';', '<', '>', '(', ')', '$', '`', '\\', '"', '\'', '*', '?', '[', '#', '~', '=',
];

/// Parses a command line. Without shell syntax, the program is run directly, so that a missing
/// program is noticed before anything is written to it.
pub fn parse_command(command_line: &str) -> Command {
    if command_line.contains(SHELL_SYNTAX) {
        let mut shell = Command::new("sh");
        shell.args(["-c", command_line]);
        return shell;
    }
    let mut words = command_line.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words);
    command
}

/// Returns a word as a POSIX shell reads it. A plain word is not quoted; other words are in single
/// quotes. A word with invalid UTF-8, or with a character that acts on a terminal, has the form
/// `$'…'`, with such bytes in octal.
pub fn quote_word(word: &OsStr) -> String {
    let Some(text) = word.to_str() else {
        return escape_word(word);
    };
    if text.contains(acts_on_terminal) {
        return escape_word(word);
    }
    // A shell replaces a tilde at the start by the home directory, so it is quoted.
    let is_plain =
        !text.is_empty() && !text.starts_with('~') && text.chars().all(is_plain_in_shell);
    if is_plain {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// Returns the suffix of a session's id as an argument of a suggested command, quoted for a shell.
/// `None` if a command would not take it for the id, because it is too short, or looks like an
/// option. The id may be any text: it is from a file.
pub fn id_argument(id: &str) -> Option<String> {
    let suffix = id_suffix(id, ID_SUFFIX_LEN);
    let is_too_short = suffix.chars().count() < MIN_ID_PART_LEN;
    if is_too_short || suffix.starts_with('-') {
        return None;
    }
    Some(quote_word(suffix.as_ref()))
}

/// Returns a word in the form `$'…'`, with bytes that act on a terminal in octal.
fn escape_word(word: &OsStr) -> String {
    let mut out = "$'".to_owned();
    for chunk in word.as_encoded_bytes().utf8_chunks() {
        for c in chunk.valid().chars() {
            if acts_on_terminal(c) {
                push_octal(&mut out, c.encode_utf8(&mut [0; 4]).as_bytes());
            } else {
                if matches!(c, '\'' | '\\') {
                    out.push('\\');
                }
                out.push(c);
            }
        }
        push_octal(&mut out, chunk.invalid());
    }
    out.push('\'');
    out
}

fn push_octal(out: &mut String, bytes: &[u8]) {
    for byte in bytes {
        out.push_str(&format!("\\{byte:03o}"));
    }
}

/// Whether a character can be part of an unquoted word of a command.
pub fn is_plain_in_shell(c: char) -> bool {
    c.is_alphanumeric() || "/._-~+,:@".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_if_they_must_be() {
        for (word, quoted) in [
            ("/home/u/a.jsonl", "/home/u/a.jsonl"),
            ("/home/u/ü", "/home/u/ü"),
            ("", "''"),
            ("~", "'~'"),
            ("a b", "'a b'"),
            ("it's $HOME", r"'it'\''s $HOME'"),
            (r"C:\x", r"'C:\x'"),
            ("a\nb", r"$'a\012b'"),
            (
                "it's \\ \u{1b}[31m\u{202e}",
                r"$'it\'s \\ \033[31m\342\200\256'",
            ),
        ] {
            assert_eq!(quote_word(OsStr::new(word)), quoted, "{word:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn invalid_utf8_is_in_octal() {
        use std::os::unix::ffi::OsStrExt;

        let word = OsStr::from_bytes(b"a\xff7");
        assert_eq!(quote_word(word), r"$'a\3777'");
    }
}
