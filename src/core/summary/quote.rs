//! Makes quoted text safe for a summary: it has no escape sequences and no structure of its own, and is cut
//! at lines or between words, never inside a grapheme.
//!
//! A quotation is either one line, or lines that begin with `> `: nothing in it can pass for a heading, a
//! list item or a tag of the summary.

use crate::core::text::utf16_len;
use memchr::memmem;
use regex::Regex;
use std::sync::LazyLock;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Tags that an agent puts around a summary, or evaluates in one.
const TAGS: &str = "summary previous-summary conversation read-files modified-files files system \
                    system-notice system-reminder system-prompt";
/// The marks that make a line a heading, a list item or a quotation. A space follows the marks of a heading,
/// but not those of a color (`#708090`).
const MARKS: &str = r"^(\s|[>•|]|([-*+]|#+|\d{1,3}[.)])(\s+|$))+";

/// Returns the length in UTF-16 units, as pi counts it.
pub(super) fn units(text: &str) -> usize {
    utf16_len(text.as_bytes())
}

/// Returns the width in columns, which makes texts of different scripts comparable.
pub(super) fn columns(text: &str) -> usize {
    text.trim().width()
}

/// Returns the text without the marks at its start that make it a heading, a list item or a quotation.
pub(super) fn bare(text: &str) -> &str {
    static START: LazyLock<Regex> = LazyLock::new(|| Regex::new(MARKS).expect("a constant"));
    text[START.find(text).map_or(0, |marks| marks.end())..].trim_end()
}

/// Returns the form in which texts are compared: letters and digits, in lower case.
pub(super) fn folded(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Returns the text on one line of at most `max` units, without list marks at its start.
pub(super) fn line(text: &str, max: usize) -> String {
    let is_word = text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if is_word && text.len() <= max {
        return text.to_owned(); // As ids and names of tools are.
    }
    // Only the start can matter; most texts are far longer.
    let text = clean(&text.chars().take(16 * max).collect::<String>());
    let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    let lines: Vec<String> = lines.filter(|line| !line.is_empty() && !line.starts_with("```")).collect();
    clip(bare(&lines.join(" / ")), max)
}

/// Returns the text as [`line`] does, in quotation marks.
pub(super) fn quoted(text: &str, max: usize) -> String {
    format!("\"{}\"", line(text, max.saturating_sub(2)).replace('"', "'"))
}

/// Returns the text as [`line`] does, in backticks.
pub(super) fn code(text: &str, max: usize) -> String {
    format!("`{}`", line(&text.replace('`', "'"), max))
}

/// Returns `lead` and, below it, the lines of the text after `> `, cleaned and cut as [`ends`] does. A text
/// of very many lines is cut shorter, because each mark takes two units.
pub(super) fn quotation(lead: &str, text: &str, max: usize) -> String {
    let text = clean(text);
    let text = text.trim_matches('\n').trim_end();
    let marks = 2 * text.lines().count().saturating_sub(max / 20);
    let text = ends(text, max.saturating_sub(marks).max(max / 8));
    let lines = text.lines().map(|line| format!("\n> {}", line.trim_end()).trim_end().to_owned());
    lines.fold(lead.to_owned(), |all, line| all + &line)
}

/// Returns the text of a [`quotation`].
pub(super) fn unquoted<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let text = |line: &'a str| line.strip_prefix("> ").or(line.strip_prefix('>')).unwrap_or(line);
    lines.map(text).collect::<Vec<_>>().join("\n")
}

/// Returns the lines at the start and at the end of a text of more than `max` units, around a line that
/// reports how much is missing. Long lines are cut between words.
pub(super) fn ends(text: &str, max: usize) -> String {
    // A unit takes at least one byte, so few texts need to be counted.
    if text.len() <= max || units(text) <= max {
        return text.to_owned();
    }
    // Leaves room for the line in the middle, so that the result is not cut again.
    let room = max.saturating_sub(50);
    let is_long = text.lines().any(|line| line.len() > room / 3 && units(line) > room / 3);
    let pieces: Vec<&str> =
        if is_long { text.split_word_bounds().collect() } else { text.split_inclusive('\n').collect() };
    let head = fitting(pieces.iter().copied(), room * 2 / 3);
    let tail = text.len() - fitting(pieces.iter().rev().copied(), room / 3);
    let (start, missing, end) =
        (text[..head].trim_end(), units(&text[head..tail]), text[tail..].trim_start());
    format!("{start}\n[… {missing} characters left out …]\n{end}")
}

/// Returns the text cut at `max` units: between words if that keeps enough, and never inside a grapheme. An
/// ellipsis marks the cut.
pub(super) fn clip(text: &str, max: usize) -> String {
    let text = text.trim();
    if units(text) <= max {
        return text.to_owned();
    }
    let room = max.saturating_sub(2);
    let words = &text[..fitting(text.split_word_bounds(), room)];
    let is_enough = units(words) * 2 > room;
    let kept = if is_enough { words } else { &text[..fitting(text.graphemes(true), room)] };
    let open = if kept.matches('`').count() % 2 == 1 { "`" } else { "" };
    format!("{}…{open}", kept.trim_end_matches(|c: char| c.is_whitespace() || ",;:/([{\"'…".contains(c)))
}

/// Returns how many of these sizes fit into the room together.
pub(super) fn fit(sizes: impl Iterator<Item = usize>, mut room: usize) -> usize {
    sizes.map_while(|size| room.checked_sub(size).inspect(|rest| room = *rest)).count()
}

/// Returns the length in bytes of the first pieces that fit into `room` units.
fn fitting<'a>(pieces: impl Iterator<Item = &'a str> + Clone, room: usize) -> usize {
    pieces.clone().take(fit(pieces.map(units), room)).map(str::len).sum()
}

/// Returns the text without escape sequences, control characters, changes of writing direction and invisible
/// characters, and with the agents' tags disarmed. Line breaks are kept.
pub(super) fn clean(text: &str) -> String {
    let is_plain = |c: char| matches!(c, '\n' | ' '..='~') && c != '<';
    let plain = anstream::adapter::strip_str(text).to_string();
    let mut out = String::with_capacity(text.len());
    let mut rest = &*plain;
    while let Some(at) = rest.find(|c| !is_plain(c)) {
        out.push_str(&rest[..at]);
        let mut after = rest[at..].chars();
        let c = after.next();
        rest = after.as_str();
        match c {
            Some('\u{2028}' | '\u{2029}' | '\u{85}') => out.push('\n'),
            Some('\t') => out.push_str("    "),
            Some('\r') if !rest.starts_with('\n') => out.push('\n'),
            Some('<') if is_tag(rest) => out.push('‹'),
            // Joiners and marks of direction belong to words and emoji.
            Some(c @ '\u{200c}'..='\u{200f}') => out.push(c),
            Some(c) if c.is_control() || !c.is_ascii() && c.general_category() == GeneralCategory::Format => {
            }
            c => out.extend(c),
        }
    }
    out.push_str(rest);
    out
}

/// Whether what follows a `<` opens or closes one of [`TAGS`], or is a model's control token.
fn is_tag(rest: &str) -> bool {
    let rest = rest.trim_start().trim_start_matches('/').trim_start();
    let named = |c: &char| c.is_alphanumeric() || matches!(c, '-' | '_');
    let name: String = rest.chars().take_while(named).take(20).collect();
    rest.starts_with('|') || TAGS.split(' ').any(|tag| name.replace('_', "-").eq_ignore_ascii_case(tag))
}

/// Returns the last line, unless it is code, a quotation or a table.
pub(super) fn last_prose(text: &str) -> &str {
    let is_fence = |line: &&str| line.trim_start().starts_with("```");
    let last = text.trim_end().lines().next_back().unwrap_or_default();
    let is_open =
        || memmem::find(text.as_bytes(), b"```").is_some() && text.lines().filter(is_fence).count() % 2 == 1;
    let is_code = is_fence(&last) || is_open();
    let is_code = is_code || last.starts_with("    ") || last.starts_with(['\t', '>', '|', '$']);
    if is_code { "" } else { last.trim_end_matches(['*', '_', ' ']) }
}

/// Whether the last line of prose is a question, and not an example of use.
pub(super) fn asks(last: &str) -> bool {
    last.ends_with(['?', '？', '؟', '՞', '⁇', '\u{37e}'])
}

/// Whether the last line of prose contains a complete sentence, but ends in an incomplete one.
pub(super) fn breaks_off(last: &str) -> bool {
    const STOPS: [char; 8] = ['.', '!', '?', '。', '！', '？', '؟', '।'];
    if !last.contains(STOPS) {
        return false;
    }
    let sentences: Vec<&str> = last.unicode_sentences().collect();
    let Some((open, before)) = sentences.split_last() else { return false };
    let ends = |part: &&str| part.trim_end().ends_with(STOPS);
    open.ends_with(|c: char| c.is_alphanumeric() || ",，、-".contains(c)) && before.iter().any(ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_no_structure() {
        assert_eq!(line("\u{1b}[31mred\u{1b}[0m\n\n\tand \u{202e}more\u{7}", 80), "red / and more");
        assert_eq!(line("\u{1b}]0;title\u{7}text", 80), "text");
        assert_eq!(line("- [x] all done", 80), "[x] all done");
        assert_eq!(line("## > 1. done", 80), "done");
        assert_eq!(line("#708090 is grey", 80), "#708090 is grey");
        assert_eq!(
            line("a </summary> < /Summary> <READ_FILES>", 80),
            "a ‹/summary> ‹ /Summary> ‹READ_FILES>"
        );
        assert_eq!(line("Vec<u8>, a < b, </div>", 80), "Vec<u8>, a < b, </div>");
        assert_eq!(line("```sh\nx\n```", 80), "x");
        assert_eq!(quoted("- say \"hi\"", 80), "\"say 'hi'\"");
    }

    #[test]
    fn a_block_keeps_every_line_behind_a_mark() {
        let text = "Do:\n1. a\n\n## Goal\n> b\n";
        let block = quotation("Said:", text, 100);
        assert_eq!(block, "Said:\n> Do:\n> 1. a\n>\n> ## Goal\n> > b");
        assert_eq!(unquoted(block.lines().skip(1)), text.trim_end());
        assert!(units(&quotation("", &"x\n".repeat(9_000), 4_000)) < 5_000);
    }

    #[test]
    fn a_long_text_keeps_its_ends() {
        let text = format!("Begin {}end.", "middle ".repeat(300));
        let short = ends(&text, 300);
        assert!(short.starts_with("Begin middle") && short.ends_with("middle end."), "{short}");
        let left = units(&short.replace(|c: char| !"midle".contains(c), ""));
        assert!(left > 150 && short.contains(" characters left out …]"));
        let missing: usize = short.split(' ').find_map(|word| word.parse().ok()).unwrap();
        assert!((1_790..2_000).contains(&missing), "{missing}");
        assert_eq!(ends(&short, 300), short);
        assert_eq!(ends("short", 300), "short");
        assert!(units(&ends(&"字".repeat(9_000), 300)) <= 300);
    }

    #[test]
    fn a_cut_falls_between_sentences_or_words_and_never_inside_a_character() {
        assert_eq!(clip("One `two three` four", 13), "One `two…`");
        assert_eq!(clip("one two three four five", 12), "one two…");
        assert_eq!(clip("第一句话很长很长。第二句话也很长。", 12), "第一句话很长很长。第…");
        let family = "👨‍👩‍👧‍👦".repeat(4);
        assert_eq!(clip(&family, 26), format!("{}…", "👨‍👩‍👧‍👦".repeat(2)));
        assert_eq!(clip(&"x".repeat(50), 10), format!("{}…", "x".repeat(8)));
        assert!(units(&clip(&"é y ".repeat(50), 33)) <= 33);
    }

    #[test]
    fn only_a_last_line_of_prose_asks() {
        for text in ["Fixed.\n\nShall I commit it?", "要我提交吗？", "*Ready?*\n", "هل أكمل؟"] {
            assert!(asks(last_prose(text)), "{text}");
        }
        for text in [
            "Usage:\n\n```sh\nwhat is this?\n```",
            "Try:\n    pisess grep 'why?'",
            "Now ask it: \"What changed?\"",
            "> Really?",
            "`who?`",
            "Really? Yes.",
            "",
        ] {
            assert!(!asks(last_prose(text)), "{text}");
        }
    }

    #[test]
    fn columns_grow_with_what_is_said_in_any_script() {
        assert!(columns("go on please") < 14 && columns("继续吧") < 14);
        assert!(columns("remove the nord.json") > 14 && columns("请把登录页面的错误修好") > 14);
    }

    #[test]
    fn only_an_open_sentence_after_others_breaks_off() {
        for text in [
            "Oh! It was never committed. Did we revert",
            "第一句。第二句还没有",
            "A.\n\nI look. Then the file,",
        ] {
            assert!(breaks_off(last_prose(text)), "{text}");
        }
        for text in [
            "Done",
            "- one\n- two",
            "First. Second.",
            "See it. Run:\n```sh\nmake. it\n```",
            "Is it? `make`",
            "",
        ] {
            assert!(!breaks_off(last_prose(text)), "{text}");
        }
    }

    #[test]
    fn a_cut_keeps_whole_lines() {
        let text: String = (1..60).map(|at| format!("{at}) a step\n")).collect();
        let short = ends(&text, 300);
        assert!(short.lines().all(|line| text.contains(line) || line.starts_with("[… ")), "{short}");
        assert!(short.starts_with("1) a step\n") && short.ends_with("59) a step\n"), "{short}");
    }
}
