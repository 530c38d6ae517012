//! Texts of extensions and advisors, which oh-my-pi cleans for its rows.

use crate::agents::row::normalize;
use crate::format::fit;
use pisess_json::text::{JS_SPACE, Text, is_js_space, joined};
use pisess_json::{Raw, string};
use regex::bytes::Regex;
use std::borrow::Cow;
use std::sync::LazyLock;
use unicode_width::UnicodeWidthChar;

/// Whether a text, given as stored between its quotes, contains more than dots and white space
/// (`canonicalizeMessage`).
pub fn says_something(raw: &[u8]) -> bool {
    // Most texts start with a letter.
    if raw.first().is_some_and(u8::is_ascii_alphanumeric) {
        return true;
    }
    let says = |text: Text| {
        let dots = |c: u32| matches!(c, 0x2e | 0x2026 | 0x20 | 0x09 | 0x0a | 0x0d);
        !text.trim().code_points().all(dots)
    };
    let mut head = Vec::new();
    let whole = string::decode_head(raw, 64, &mut head) > 0;
    says(Text::from_wtf8(head)) || (!whole && says(string::decode(raw)))
}

/// Returns the note on a turn that was retried, in at most `columns` terminal columns.
pub fn retried(note: &Text, columns: usize) -> Text<'static> {
    let given = note.to_string_lossy();
    let words: Vec<_> = given
        .split(|c| is_js_space(u32::from(c)))
        .filter(|word| !word.is_empty())
        .collect();
    let note = if words.is_empty() {
        "retried".to_owned()
    } else {
        words.join(" ")
    };
    let widths = || note.chars().map(|c| c.width().unwrap_or(0));
    if widths().sum::<usize>() <= columns {
        return Text::from(note);
    }
    let fitting = fit(widths(), columns - 1);
    Text::from(note.chars().take(fitting).chain(['…']).collect::<String>())
}

/// Returns the notes in an advisor's message, a `custom_message` entry.
pub fn advice(entry: Raw<'_>) -> Vec<Raw<'_>> {
    let notes = entry
        .get("details")
        .and_then(|details| details.get("notes"));
    notes
        .into_iter()
        .flat_map(Raw::items)
        .filter(|note| note.is_object())
        .collect()
}

/// Returns the texts of an advisor's notes.
pub fn advice_text(notes: &[Raw]) -> Text<'static> {
    joined(notes.iter().filter_map(|note| note.get_text("note")), " ")
}

/// Returns the names of the advisors other than the default one, then the severities of their
/// notes.
pub fn advisors(notes: &[Raw]) -> Text<'static> {
    let mut names: Vec<Text> = Vec::new();
    for key in ["advisor", "severity"] {
        let from = names.len();
        for name in notes
            .iter()
            .filter_map(|note| note.get_text(key))
            .map(|name| field(&name))
        {
            let default = key == "advisor" && name == "default";
            if !name.is_empty() && !default && !names[from..].contains(&name) {
                names.push(name);
            }
        }
    }
    joined(names, ", ")
}

/// Returns a field of a row on one line, without terminal sequences and control characters
/// (`sanitizeTreeField`).
pub fn field(text: &Text) -> Text<'static> {
    let lone = |c: u32| char::from_u32(c).is_none();
    let broken = text.code_points().any(lone);
    let chars = text
        .code_points()
        .filter_map(char::from_u32)
        .filter(|&c| !(broken && c == '\u{fffd}'));
    let plain: String = chars.collect();
    // The agent looks for sequences only if there is an escape character.
    let plain = if plain.contains('\u{1b}') {
        without_sequences(&plain)
    } else {
        plain.into()
    };
    let kept = plain
        .chars()
        .filter(|&c| !c.is_control() || matches!(c, '\n' | '\t'));
    normalize(Text::from(kept.collect::<String>()))
}

/// Returns the text without terminal escape sequences, as `Bun.stripANSI` does. (`anstream` ends
/// them elsewhere: it knows neither U+009B nor U+009C, and swallows what follows an escape
/// character and a letter outside of ASCII.)
fn without_sequences(text: &str) -> Cow<'_, str> {
    static SEQUENCE: LazyLock<regex::Regex> = LazyLock::new(|| {
        let control = r"(?:\x1b\[|\x{9b})[^@-~]*[@-~]?";
        let string = r"\x1b[\]PX^_].*?(?:\x07|\x{9c}|\x1b\\|\z)";
        regex::Regex::new(&format!(r"(?s){control}|{string}|\x1b[ -/]+[^ -/]?|\x1b.?"))
            .expect("a constant")
    });
    SEQUENCE.replace_all(text, "")
}

/// Returns the text between a `<system-…>` tag and its end, if there is nothing else.
pub fn unwrapped(content: &Text) -> Text<'static> {
    match inner(content.trim().as_bytes()) {
        Some(inner) => Text::from_wtf8(inner).trim().into_owned(),
        None => content.borrowed().into_owned(),
    }
}

fn inner(text: &[u8]) -> Option<&[u8]> {
    static OPENING: LazyLock<Regex> = LazyLock::new(|| {
        let attributes = format!(r#"{JS_SPACE}(?:[^<>"']|"[^"]*"|'[^']*')*"#);
        Regex::new(&format!(
            r"(?is-u)^<(?<name>system-[\w-]+)(?:{attributes})?>"
        ))
        .expect("a constant")
    });
    let opening = OPENING.captures(text)?;
    let close = [b"</", &opening["name"], b">"].concat();
    let rest = &text[opening.get_match().end()..];
    let (inner, end) = rest.split_at(rest.len().checked_sub(close.len())?);
    end.eq_ignore_ascii_case(&close).then_some(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_say_nothing() {
        for (raw, says) in [
            ("", false),
            (" ..\\n… ", false),
            ("\\u2026", false),
            ("a", true),
            (". é", true),
            ("\\u00a0", false),
        ] {
            assert_eq!(says_something(raw.as_bytes()), says, "{raw}");
        }
    }

    #[test]
    fn one_system_tag_comes_off() {
        let cases = [
            ("<system-notice>\nhi <b>\n</system-notice>\n", "hi <b>"),
            ("<System-x a='>' >y</system-X>", "y"),
            ("<system->y</system->", "<system->y</system->"),
            ("<system-a>y</system-b>", "<system-a>y</system-b>"),
            ("<system-a>y</system-a> z", "<system-a>y</system-a> z"),
            ("", ""),
        ];
        for (content, shown) in cases {
            assert_eq!(unwrapped(&Text::from(content)), shown, "{content}");
        }
    }

    #[test]
    fn fields_are_clean() {
        for (text, clean) in [
            (" a\u{1b}[31mb\u{1b}]0;t\u{7}c\n\u{1}d ", "abc d"),
            ("a\u{1b}[1mb\u{9b}31mc", "abc"),
            ("a\u{1b}]0;\u{dc}\u{5730}\u{9c}b", "ab"),
            ("a\u{1b}_x\u{7}b\u{1b}Px\u{1b}\\c", "abc"),
            ("a\u{1b}\u{65e5} bc", "a bc"),
        ] {
            assert_eq!(field(&Text::from(text)), clean, "{text:?}");
        }
    }
}
