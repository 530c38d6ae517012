//! The words of a message that can be the title of its session.
//!
//! People recognize a session by what they asked. So a title has neither what a program put around
//! their words, nor the heading above them, nor the marks of Markdown:
//!
//! ```text
//! <skill name="review" …>…</skill>      │
//!                                       │ Check the importer for races.
//! # Task                                │
//! Check the `importer` for **races**.   │
//! ```

use crate::format::{is_block_mark, strip_emphasis};
use crate::session::envelope;
use crate::session::forwarded::{self, BLOCKS_MARK};

/// The length in bytes from which a title is long enough for any list.
const LONGEST_TITLE: usize = 400;

/// Whether a program put something before the words of the user, as far as the start of the message
/// shows.
pub fn may_have_envelope(start: &str) -> bool {
    envelope::may_begin_with_element(start) || forwarded::may_be_forwarded(start.as_bytes())
}

/// Returns the title that a message gives to its session, on one line. A message that only calls a
/// skill has the title `/skill:NAME`. Empty if the message is blank.
pub fn title_words(message: &str) -> String {
    let words = without_envelope(message);
    if words.trim().is_empty()
        && let Some(name) = envelope::called_skill(message)
    {
        return format!("/skill:{name}");
    }

    let title = plain_words(without_heading(words));
    if title.is_empty() {
        // The text is nothing but marks.
        return words.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    title
}

/// Returns the words of the user in a message: without the elements and blocks that a program put
/// before them. Empty if an element does not end.
pub fn without_envelope(message: &str) -> &str {
    if let Some(words) = message.strip_prefix(BLOCKS_MARK) {
        return words;
    }
    if let Some(words) = forwarded::user_words(message.as_bytes()) {
        // The words are the end of the message.
        return &message[message.len() - words.len()..];
    }
    envelope::skip_elements(message)
}

/// Returns a text without the headings that it begins with, unless there is nothing else.
fn without_heading(text: &str) -> &str {
    let mut rest = text.trim_start();
    while is_heading(rest) {
        let Some((_, below)) = rest.split_once('\n') else {
            return rest;
        };
        if below.trim().is_empty() {
            return rest;
        }
        rest = below.trim_start();
    }
    rest
}

/// Whether a text begins with one to six `#` and a space.
fn is_heading(text: &str) -> bool {
    let after_marks = text.trim_start_matches('#');
    let level = text.len() - after_marks.len();
    (1..=6).contains(&level) && after_marks.starts_with([' ', '\t'])
}

/// Returns the start of a text on one line, without marks of Markdown: of headings, quotes, items
/// and fences, of strong emphasis, and of code.
pub fn plain_words(text: &str) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        let begins_block = line.is_empty() && matches!(word, "-" | "*" | "+" | ">");
        if begins_block || is_block_mark(word) {
            continue;
        }
        let plain = strip_emphasis(&word.replace('`', ""));
        if plain.is_empty() {
            continue;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&plain);
        // A message may have megabytes, of which a title shows the start.
        if line.len() >= LONGEST_TITLE {
            break;
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_what_the_user_asked() {
        let forwarded = "Sender (untrusted metadata):\n```json\n{}\n```\n\n";
        for (message, title) in [
            ("# Task\n\nFix the parser", "Fix the parser"),
            ("# Task\n## Part 1\nFix it", "Fix it"),
            ("# Fix the parser\n", "Fix the parser"),
            ("#include is missing\nwhy?", "#include is missing why?"),
            ("**Fix** the `parser`, please", "Fix the parser, please"),
            ("> quoted\n\nanswer", "quoted answer"),
            ("- one\n- two", "one - two"),
            ("```rust\nfn main\n```\nwhy?", "fn main why?"),
            ("look at src/**/*.rs", "look at src/**/*.rs"),
            (
                "<skill name=\"s\" location=\"/s\">\n# Be\n</skill>\n\nthe login page",
                "the login page",
            ),
            (
                "<skill name=\"s\" location=\"/s\">\n# Be\n</skill>",
                "/skill:s",
            ),
            ("<skill name=\"s\" location=\"/s\">\n# Be", "/skill:s"),
            (
                "<skill name=\"s\" location=\"/s\">\nEnd with </skill> tags.\n</skill>\n\nthe login page",
                "the login page",
            ),
            (
                "<file name=\"a\">x</file>\n<file name=\"b\"></file>\nWhat is it?",
                "What is it?",
            ),
            ("<b>bold</b>", "<b>bold</b>"),
            (&format!("{forwarded}# Ask\nAsk Bo."), "Ask Bo."),
            ("[…] Ask Bo.", "Ask Bo."),
            ("```", "```"),
            (" \n", ""),
        ] {
            assert_eq!(title_words(message), title, "{message}");
        }
    }

    #[test]
    fn a_title_ends_after_enough_words() {
        let title = title_words(&"word ".repeat(1_000));
        assert!(title.len() < LONGEST_TITLE + 5, "{title}");
    }
}
