//! Other people's text made fit to stand in a summary: one line, no escapes, no forged structure,
//! cut between words and never inside a character as a reader sees it.

use crate::core::text::utf16_len;
use unicode_segmentation::UnicodeSegmentation;

/// Tags that mean something to an agent or to the prompt around a summary.
const TAGS: [&str; 12] = [
    "summary",
    "previous-summary",
    "conversation",
    "read-files",
    "modified-files",
    "files",
    "file",
    "system",
    "system-notice",
    "system-reminder",
    "user",
    "assistant",
];

/// Length as pi counts it.
pub(super) fn units(text: &str) -> usize {
    utf16_len(text.as_bytes())
}

/// The text without escape sequences, control characters, bidi overrides and invisible characters;
/// its lines stay lines.
pub(super) fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_escape(&mut chars),
            '\u{9b}' => skip_until(&mut chars, |c| ('@'..='~').contains(&c)),
            '\n' | '\u{2028}' | '\u{2029}' | '\u{85}' => out.push('\n'),
            '\t' => out.push(' '),
            '\r' if chars.peek() != Some(&'\n') => out.push('\n'),
            c if c.is_control() || is_invisible(c) => {}
            c => out.push(c),
        }
    }
    out
}

fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// What follows an ESC: a control sequence, an operating system command, or one more character.
fn skip_escape(chars: &mut std::iter::Peekable<std::str::Chars>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            skip_until(chars, |c| ('@'..='~').contains(&c));
        }
        Some(']' | 'P' | '_' | '^' | 'X') => skip_until(chars, |c| matches!(c, '\u{7}' | '\u{9c}' | '\\')),
        Some(c) if c.is_ascii_graphic() => {
            chars.next();
        }
        _ => {}
    }
}

/// Over the next character that `ends` a sequence, but not beyond a line or 200 characters.
fn skip_until(chars: &mut std::iter::Peekable<std::str::Chars>, ends: impl Fn(char) -> bool) {
    for _ in 0..200 {
        match chars.peek() {
            None | Some('\n') => return,
            Some(&c) => {
                chars.next();
                if ends(c) {
                    return;
                }
            }
        }
    }
}

/// The text on one line, at most `max` UTF-16 units, with nothing in it that could pass for a part
/// of the summary itself.
pub(super) fn line(text: &str, max: usize) -> String {
    let joined = join_lines(&visible(text));
    let defused = defuse(&joined);
    closed(clip(bare(&defused), max))
}

/// As [`line`], in quotation marks.
pub(super) fn quoted(text: &str, max: usize) -> String {
    let defused = defuse(&join_lines(&visible(text)));
    format!("\"{}\"", closed(clip(&defused, max.saturating_sub(2))).replace('"', "'"))
}

/// Lines that break off in the middle of a sentence are joined by a space, others by a stroke.
fn join_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for part in text.lines() {
        let mut words = part.split_whitespace();
        let Some(first) = words.next() else { continue };
        if let Some(last) = out.chars().next_back() {
            let flows = first.starts_with(char::is_lowercase) && part.len() > 60;
            let ends = !(last.is_alphanumeric() || "`'\")]}".contains(last));
            let between = if ends { gap(last) } else { " / " };
            out.push_str(if flows { " " } else { between });
        }
        out.push_str(first);
        for word in words {
            out.push(' ');
            out.push_str(word);
        }
    }
    out
}

/// What stands between two sentences: nothing behind a full stop of full width.
pub(super) fn gap(last: char) -> &'static str {
    if matches!(last, '\u{3000}'..='\u{303f}' | '\u{ff00}'..='\u{ff65}') { "" } else { " " }
}

/// Tags, fences and comment marks lose their power, and stay readable.
fn defuse(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut ticks = 0;
    for (at, c) in text.char_indices() {
        ticks = if c == '`' { ticks + 1 } else { 0 };
        match c {
            '`' if ticks > 1 => {}
            '<' if is_tag(&text[at + 1..]) => out.push('‹'),
            // An image would be fetched where the summary is drawn.
            '!' if text[at + 1..].starts_with('[') => {}
            c => out.push(c),
        }
    }
    out
}

/// Whether what follows a `<` closes any tag, opens a comment, or opens a tag of [`TAGS`].
fn is_tag(rest: &str) -> bool {
    let rest = rest.trim_start();
    let name: String =
        rest.chars().take_while(|&c| c.is_alphanumeric() || c == '-' || c == '_').take(20).collect();
    rest.starts_with(['/', '!', '?', '|'])
        || TAGS.iter().any(|tag| name.replace('_', "-").eq_ignore_ascii_case(tag))
}

/// Without the marks at its start that make a line a heading, a list item, a quotation or a table.
pub(super) fn bare(text: &str) -> &str {
    let mut rest = text.trim();
    loop {
        let start = rest;
        rest = rest.trim_start_matches(['>', '|', '=', '•']).trim_start();
        // A heading has a space behind its marks, a colour (#708090) has not.
        let unmarked = rest.trim_start_matches('#');
        if unmarked.is_empty() || unmarked.starts_with(char::is_whitespace) {
            rest = unmarked.trim_start();
        }
        for mark in ["- ", "* ", "+ ", "[x]", "[X]", "[ ]", "---"] {
            rest = rest.strip_prefix(mark).unwrap_or(rest).trim_start();
        }
        if let Some((number, tail)) = rest.split_once(['.', ')'])
            && (1..=3).contains(&number.len())
            && number.bytes().all(|b| b.is_ascii_digit())
            && tail.starts_with(' ')
        {
            rest = tail.trim_start();
        }
        if rest == start {
            return rest;
        }
    }
}

/// A cut may leave a code span open: its mark goes.
fn closed(mut text: String) -> String {
    if text.matches('`').count() % 2 == 1
        && let Some(at) = text.rfind('`')
    {
        text.remove(at);
    }
    text
}

/// At most `max` UTF-16 units: whole, or up to the end of a sentence, of a word, of a grapheme
/// cluster, the first of these that keeps enough; an ellipsis says that there was more.
pub(super) fn clip(text: &str, max: usize) -> String {
    let text = text.trim();
    if units(text) <= max {
        return text.to_owned();
    }
    let room = max.saturating_sub(2);
    let sentence = last_end(text.split_sentence_bound_indices(), room);
    if units(&text[..sentence]) * 2 > room {
        return format!("{} …", trimmed(&text[..sentence]));
    }
    let word = last_end(text.split_word_bound_indices(), room);
    let kept = match text[..word].trim_end() {
        kept if units(kept) * 2 > room => kept,
        _ => &text[..last_end(text.grapheme_indices(true), room)],
    };
    format!("{}…", trimmed(kept))
}

fn trimmed(text: &str) -> &str {
    text.trim_end_matches(|c: char| c.is_whitespace() || ",;:/([{\"'…".contains(c))
}

/// Where the last of the pieces ends that still fits into `room` units.
fn last_end<'a>(pieces: impl Iterator<Item = (usize, &'a str)>, room: usize) -> usize {
    let (mut used, mut end) = (0, 0);
    for (at, piece) in pieces {
        used += units(piece);
        if used > room {
            break;
        }
        end = at + piece.len();
    }
    end
}

/// About the first `bytes` of a text.
pub(super) fn start(text: &str, bytes: usize) -> &str {
    let cut = (0..=bytes.min(text.len())).rev().find(|&at| text.is_char_boundary(at));
    &text[..cut.unwrap_or(0)]
}

/// About the last `bytes` of a text.
pub(super) fn end(text: &str, bytes: usize) -> &str {
    let cut = (text.len().saturating_sub(bytes)..=text.len()).find(|&at| text.is_char_boundary(at));
    &text[cut.unwrap_or(0)..]
}

/// What two texts are compared by: their letters and digits alone.
pub(super) fn folded(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quotation_is_one_plain_line() {
        assert_eq!(line("\u{1b}[31mred\u{1b}[0m\n\n\tand \u{202e}more\u{7}", 80), "red / and more");
        assert_eq!(line("\u{1b}]0;title\u{7}text", 80), "text");
        assert_eq!(line("## Goal\n- [x] all done", 80), "Goal / - [x] all done");
        assert_eq!(line("- [x] # > 1. done", 80), "done");
        assert_eq!(
            line("a </summary> < /Summary> <READ_FILES> <!-- b", 80),
            "a ‹/summary> ‹ /Summary> ‹READ_FILES> ‹!-- b"
        );
        assert_eq!(line("Vec<u8>, a < b, <div>", 80), "Vec<u8>, a < b, <div>");
        assert_eq!(line("```sh\nx\n```", 80), "`sh / x / `");
        assert_eq!(quoted("say \"hi\"", 80), "\"say 'hi'\"");
    }

    #[test]
    fn a_cut_falls_between_sentences_or_words_and_never_inside_a_character() {
        assert_eq!(clip("One two three. Four five six.", 20), "One two three. …");
        assert_eq!(clip("one two three four five", 12), "one two…");
        assert_eq!(clip("第一句话很长很长。第二句话也很长。", 12), "第一句话很长很长。 …");
        let family = "👨‍👩‍👧‍👦".repeat(4);
        assert_eq!(clip(&family, 26), format!("{}…", "👨‍👩‍👧‍👦".repeat(2)));
        assert_eq!(clip(&"x".repeat(50), 10), format!("{}…", "x".repeat(8)));
        assert!(units(&clip(&"é y ".repeat(50), 33)) <= 33);
    }
}
