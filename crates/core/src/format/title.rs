//! Extracts the words of a message that can be the title of its session.
//!
//! People recognize a session by the words of their first request. So a title leaves out the
//! envelope (the elements and blocks that a program put before these words), headings above the
//! words, and marks of Markdown:
//!
//! ```text
//! <skill name="review" …>…</skill>      │
//!                                       │ Check the importer for races.
//! # Task                                │
//! Check the `importer` for **races**.   │
//! ```

use crate::format::{is_block_mark, strip_emphasis, strip_links};
use crate::session::command_prompt::CommandPrompt;
use crate::session::envelope;
use crate::session::forwarded::{self, BLOCKS_MARK};

/// A title is cut once it has at least this many bytes, which is enough for any list.
const LONGEST_TITLE: usize = 400;

/// Whether a message may begin with an envelope, given the start of the message.
pub fn may_have_envelope(start: &str) -> bool {
    envelope::may_begin_with_element(start)
        || CommandPrompt::may_begin(start.as_bytes())
        || forwarded::may_be_forwarded(start.as_bytes())
}

/// Returns the title that a message gives to its session, as one line: the words of the user,
/// without the envelope, which is what a program put before them. For a message that only calls a
/// skill, this is `/skill:NAME`. Empty if the message is blank.
pub fn title_words(message: &str) -> String {
    let words = without_envelope(message);
    if words.trim().is_empty()
        && let Some(name) = envelope::called_skill(message)
    {
        return format!("/skill:{name}");
    }

    let title = plain_words(skip_headings(words));
    if title.is_empty() {
        // The text is blank, or consists only of marks, which are kept.
        return words.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    title
}

/// Returns a message without its envelope: the words of the user. Empty if an element of the
/// envelope has no end. For a command without an argument, these are its instructions, which say
/// what was asked.
pub fn without_envelope(message: &str) -> &str {
    if let Some(words) = message.strip_prefix(BLOCKS_MARK) {
        return words;
    }
    if let Some(words) = forwarded::user_words(message.as_bytes()) {
        // The words are a suffix of the message, so the offset follows from their length.
        return &message[message.len() - words.len()..];
    }
    match CommandPrompt::read(message) {
        Some(prompt) if prompt.argument.is_empty() => prompt.instructions,
        Some(prompt) => prompt.argument,
        None => envelope::skip_elements(message),
    }
}

/// Skips the headings of Markdown at the start of a text: `"# Task\n\nFix it"` -> `"Fix it"`. A
/// heading with no text below it stays, so the result is blank only if the text is.
fn skip_headings(text: &str) -> &str {
    let mut rest = text.trim_start();
    while is_heading(rest) {
        let Some((_heading, below)) = rest.split_once('\n') else {
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

/// Returns the start of a text as one line, without the marks that Markdown has for headings,
/// quotes, items, fences, links, strong emphasis and code: ``> **Fix** the `parser`.`` becomes `Fix
/// the parser.`
pub fn plain_words(text: &str) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        // Within the line, such a word may be a dash or an operator, so it stays.
        let begins_block = line.is_empty() && matches!(word, "-" | "*" | "+" | ">");
        if begins_block || is_block_mark(word) {
            continue;
        }
        let without_code_marks = word.replace('`', "");
        append_word(&mut line, &strip_emphasis(&without_code_marks));
        // A message may have megabytes, but a title shows only the start.
        if line.len() >= LONGEST_TITLE {
            break;
        }
    }
    strip_links(&line).into_owned()
}

/// Appends a word to a line, with a space between it and the word before. An empty word, of which
/// only marks such as `**` were removed, adds nothing.
fn append_word(line: &mut String, word: &str) {
    if word.is_empty() {
        return;
    }
    if !line.is_empty() {
        line.push(' ');
    }
    line.push_str(word);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_what_the_user_asked() {
        let prompt = "## User Input\n\n```text\n# Piers\n\nDraw `them`\n```\n\nYou **MUST** consider the user input.\n\nDraw.";
        let forwarded = "Sender (untrusted metadata):\n```json\n{}\n```\n\n";
        for (message, title) in [
            ("# Task\n\nFix the parser", "Fix the parser"),
            (prompt, "Draw them"),
            ("# Task\n## Part 1\nFix it", "Fix it"),
            ("# Fix the parser\n", "Fix the parser"),
            ("#include is missing\nwhy?", "#include is missing why?"),
            ("**Fix** the `parser`, please", "Fix the parser, please"),
            ("> quoted\n\nanswer", "quoted answer"),
            ("- one\n- two", "one - two"),
            ("```rust\nfn main\n```\nwhy?", "fn main why?"),
            ("look at src/**/*.rs", "look at src/**/*.rs"),
            (
                "see [the docs](https://x.org/a_(b)), ![logo](x.png).",
                "see the docs, logo.",
            ),
            (
                "why a[i](x.y) and [](auto x)?",
                "why a[i](x.y) and [](auto x)?",
            ),
            ("[x](y) [cut](https://x.o", "[x](y) cut"),
            ("[docs](https://x.org \"The docs\"), why?", "docs, why?"),
            ("[docs](https://x.org 'The do", "docs"),
            ("[![CI](b.svg)](https://ci.org) fails", "CI fails"),
            ("[a](<https://x.org/b c>)![b](b.png)", "ab"),
            ("[a [b] c](https://x.org)[d](e.md)", "a [b] cd"),
            (
                "map [key](fn.call) and [i](j + k/2)",
                "map [key](fn.call) and [i](j + k/2)",
            ),
            ("] [a](/b \"c\" d) [", "] [a](/b \"c\" d) ["),
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

    /// A word may be megabytes long.
    #[cfg(unix)]
    #[test]
    fn links_of_a_long_word_take_linear_time() {
        use crate::session::thread_time::measure;
        use std::time::Duration;

        for repeated in [["[", "](/"], ["[", "](/)"], ["[a](/'", ""], ["[a](<", "]("]] {
            let line = repeated.map(|part| part.repeat(200_000)).concat();
            let time = measure(|| {
                strip_links(&line);
            });
            assert!(time < Duration::from_secs(5), "{repeated:?}: {time:?}");
        }
    }

    #[test]
    fn a_title_ends_after_enough_words() {
        let title = title_words(&"word ".repeat(1_000));
        assert!(title.len() < LONGEST_TITLE + 5, "{title}");
    }
}
