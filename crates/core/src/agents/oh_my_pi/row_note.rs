//! Texts of extensions and advisors, cleaned as oh-my-pi does for its rows.

use crate::agents::row::normalize_spaces;
use crate::format::count_fitting;
use pisess_json::text::{JS_SPACE, Text, is_js_space, join_with};
use pisess_json::{Raw, string};
use regex::bytes::Regex;
use std::borrow::Cow;
use std::sync::LazyLock;
use unicode_width::UnicodeWidthChar;

/// Whether a text contains more than dots and white space. oh-my-pi does not show any other text
/// (`canonicalizeMessage` in its source). `raw` is the text as stored between its quotes.
pub fn is_visible_text(raw: &[u8]) -> bool {
    /// The number of UTF-16 units that are decoded first, because they usually decide.
    const HEAD_UNITS: usize = 64;

    // Most texts start with a letter, and need no decoding.
    if raw.first().is_some_and(u8::is_ascii_alphanumeric) {
        return true;
    }

    let mut head = Vec::new();
    let missing_units = string::decode_head(raw, HEAD_UNITS, &mut head);
    if !is_dots_only(&Text::from_wtf8(head)) {
        return true;
    }

    // Units are only missing if the text has fewer than the head may have. Then the head is all of
    // it.
    let is_whole_text_in_head = missing_units > 0;
    if is_whole_text_in_head {
        return false;
    }
    !is_dots_only(&string::decode(raw))
}

/// Whether a text consists of dots, ellipses and white space.
fn is_dots_only(text: &Text) -> bool {
    text.trim()
        .code_points()
        .all(|c| matches!(c, 0x2e | 0x2026 | 0x20 | 0x09 | 0x0a | 0x0d))
}

/// Returns the note on a turn that was retried, on one line; "retried" if the note is empty. A note
/// that is wider than `columns` in a terminal is cut, with an ellipsis in the last column.
pub fn format_retry_note(note: &Text, columns: usize) -> Text<'static> {
    let stored = note.to_string_lossy();
    let words: Vec<_> = stored
        .split(|c| is_js_space(u32::from(c)))
        .filter(|word| !word.is_empty())
        .collect();
    let line = if words.is_empty() {
        "retried".to_owned()
    } else {
        words.join(" ")
    };

    // A Chinese character takes two columns, a control character none.
    let char_widths: Vec<usize> = line.chars().map(|c| c.width().unwrap_or(0)).collect();
    if char_widths.iter().sum::<usize>() <= columns {
        return Text::from(line);
    }
    let fitting_chars = count_fitting(char_widths.into_iter(), columns - 1);
    let mut truncated: String = line.chars().take(fitting_chars).collect();
    truncated.push('…');
    Text::from(truncated)
}

/// Returns the notes in a `custom_message` entry of an advisor.
pub fn advisor_notes(entry: Raw<'_>) -> Vec<Raw<'_>> {
    let notes = entry
        .get("details")
        .and_then(|details| details.get("notes"));
    notes
        .into_iter()
        .flat_map(Raw::items)
        .filter(|note| note.is_object())
        .collect()
}

/// Returns the texts of an advisor's notes, joined by spaces.
pub fn join_advice(notes: &[Raw]) -> Text<'static> {
    join_with(notes.iter().filter_map(|note| note.get_text("note")), " ")
}

/// Returns the names of the advisors and the severities of their notes, each once. The default
/// advisor is not named.
pub fn advisor_summary(notes: &[Raw]) -> Text<'static> {
    let mut names = distinct_fields(notes, "advisor");
    names.retain(|name| *name != "default");
    names.extend(distinct_fields(notes, "severity"));
    join_with(names, ", ")
}

/// Returns the values of the member `key` in the notes, cleaned for a row, without empty ones and
/// repetitions.
fn distinct_fields(notes: &[Raw], key: &str) -> Vec<Text<'static>> {
    let mut values = Vec::new();
    for note in notes {
        let value = sanitize_field(&note.get_text(key).unwrap_or_default());
        if !value.is_empty() && !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

/// Returns a text on one line, without terminal sequences and control characters, as in the agent
/// (`sanitizeTreeField`).
///
/// Lone surrogates are removed. If there are any, each U+FFFD is removed, too, as in the agent.
pub fn sanitize_field(text: &Text) -> Text<'static> {
    let has_lone_surrogate = text
        .code_points()
        .any(|code_point| char::from_u32(code_point).is_none());
    let plain: String = text
        .code_points()
        .filter_map(char::from_u32)
        .filter(|&c| !(has_lone_surrogate && c == '\u{fffd}'))
        .collect();

    // Like the agent, looks for sequences only if there is an escape character.
    let plain = if plain.contains('\u{1b}') {
        strip_terminal_sequences(&plain)
    } else {
        Cow::from(plain)
    };
    let printable: String = plain
        .chars()
        .filter(|&c| !c.is_control() || matches!(c, '\n' | '\t'))
        .collect();
    normalize_spaces(Text::from(printable))
}

/// Returns a text without terminal escape sequences, as `Bun.stripANSI` does. (The crate `anstream`
/// would end sequences elsewhere: it knows neither U+009B nor U+009C, and swallows what follows an
/// escape character and a letter outside of ASCII.)
fn strip_terminal_sequences(text: &str) -> Cow<'_, str> {
    static SEQUENCE: LazyLock<regex::Regex> = LazyLock::new(|| {
        // `ESC [` up to the final byte: `\x1b[31m`.
        let control = r"(?:\x1b\[|\x{9b})[^@-~]*[@-~]?";
        // A title, a link or the like, up to its terminator: `\x1b]0;title\x07`.
        let string = r"\x1b[\]PX^_].*?(?:\x07|\x{9c}|\x1b\\|\z)";
        // Intermediate bytes and a final one, as in the choice of a character set: `\x1b(B`.
        let with_intermediates = r"\x1b[ -/]+[^ -/]?";
        // Last, because most other sequences begin like this: `\x1b7`.
        let short = r"\x1b.?";
        regex::Regex::new(&format!(
            r"(?s){control}|{string}|{with_intermediates}|{short}"
        ))
        .expect("a constant")
    });
    SEQUENCE.replace_all(text, "")
}

/// Returns the text inside a `<system-…>` tag that surrounds the whole content. Without such a tag,
/// returns the content.
pub fn unwrap_system_tag(content: &Text) -> Text<'static> {
    match inside_system_tag(content.trim().as_bytes()) {
        Some(inner) => Text::from_wtf8(inner).trim().into_owned(),
        None => content.as_borrowed().into_owned(),
    }
}

/// Returns the text between `<system-NAME>` at the start and `</system-NAME>` at the end; `None` if
/// one of them is missing. Case makes no difference in tags.
fn inside_system_tag(text: &[u8]) -> Option<&[u8]> {
    static OPENING: LazyLock<Regex> = LazyLock::new(|| {
        let attributes = format!(r#"{JS_SPACE}(?:[^<>"']|"[^"]*"|'[^']*')*"#);
        Regex::new(&format!(
            r"(?is-u)^<(?<name>system-[\w-]+)(?:{attributes})?>"
        ))
        .expect("a constant")
    });
    let opening = OPENING.captures(text)?;
    let closing = [b"</", &opening["name"], b">"].concat();
    let after_opening = &text[opening.get_match().end()..];
    let inner_len = after_opening.len().checked_sub(closing.len())?;
    let (inner, end) = after_opening.split_at(inner_len);
    if end.eq_ignore_ascii_case(&closing) {
        Some(inner)
    } else {
        None
    }
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
            assert_eq!(is_visible_text(raw.as_bytes()), says, "{raw}");
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
            assert_eq!(unwrap_system_tag(&Text::from(content)), shown, "{content}");
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
            assert_eq!(sanitize_field(&Text::from(text)), clean, "{text:?}");
        }
    }
}
