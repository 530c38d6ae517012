//! Fenced blocks. No text inside can end one, because the fence is longer than any run of backticks
//! in the text.

use super::{MarkdownWriter, OpenElement};
use crate::markup::{Event, Tag};
use memchr::memchr;

/// A fenced block that is being written. Its text is not collected, as it may be long.
pub(super) struct Fence {
    /// The backticks of the opening line, which also end the block.
    marks: String,
    /// The number of line breaks that are not written yet: at first 1, for the break after the
    /// opening line, and later those at the end of the text so far. They are written before the
    /// next text, or before the closing line.
    pending_breaks: usize,
    /// Whether no line with text was written yet.
    is_empty: bool,
}

/// Whether the text of the element is written in a fence.
pub(super) fn is_fenced(tag: Tag) -> bool {
    matches!(tag, Tag::Block | Tag::Output | Tag::Diff)
}

/// Returns the length of the longest run of backticks in an element. `events` are the events after
/// the opening of the element; they are read up to its close.
pub(super) fn longest_run_inside<'m>(events: impl Iterator<Item = Event<'m>>) -> usize {
    let mut longest_run = 0;
    // The length of the run that the text so far ends with. Another piece of text may continue it.
    let mut current_run = 0;
    // The number of open elements, including the one that is searched.
    let mut depth = 1;
    for event in events {
        match event {
            // Most text has no backtick, and `memchr` is faster than the loop below.
            Event::Text(text) if memchr(b'`', text.as_bytes()).is_none() => current_run = 0,
            Event::Text(text) => {
                for byte in text.bytes() {
                    current_run = if byte == b'`' { current_run + 1 } else { 0 };
                    longest_run = longest_run.max(current_run);
                }
            }
            Event::Open(..) => depth += 1,
            Event::Close => depth -= 1,
            Event::Section | Event::SectionEnd | Event::Word(_) | Event::WordEnd => {}
        }
        if depth == 0 {
            break;
        }
    }
    longest_run
}

impl MarkdownWriter {
    /// Begins a fenced block. Its fence is one backtick longer than `longest_run`, the longest run
    /// of backticks in the text, and has at least the three backticks that Markdown requires.
    pub(super) fn open_fence(&mut self, tag: Tag, value: &str, longest_run: usize) {
        self.open_elements.push(OpenElement {
            tag,
            value: value.to_owned(),
        });
        let mut language = if tag == Tag::Diff {
            "diff"
        } else {
            // The number of the first line may follow the language.
            value.split(' ').next().unwrap_or_default()
        };
        // The language comes from the session. One with other characters is left out.
        if !language.chars().all(is_language_char) {
            language = "";
        }

        let marks = "`".repeat(usize::max(longest_run + 1, 3));
        // A blank line precedes the fence: so `begin_block` is made to believe that a block has
        // ended. Not directly after the marker of a quote or an item, where the line is still at
        // its start: an item that begins with a blank line is empty.
        if !self.is_at_line_start {
            self.block_ended = true;
        }
        self.begin_block();
        self.push(&format!("{marks}{language}"));
        self.fence = Some(Fence {
            marks,
            // The break after the opening line.
            pending_breaks: 1,
            is_empty: true,
        });
    }

    /// Writes text in the open fence as it is. Line breaks at the end of the text are not written
    /// yet, but counted in [`Fence::pending_breaks`]: what is written before the next text or the
    /// closing line depends on what follows.
    pub(super) fn write_fenced_text(&mut self, text: &str) {
        let Some(fence) = &mut self.fence else {
            return;
        };
        // A line break is one byte, so a difference in length is a number of line breaks. In a text
        // of line breaks alone, all of them are first breaks.
        let without_first_breaks = text.trim_start_matches('\n');
        let lines = without_first_breaks.trim_end_matches('\n');
        let first_breaks = text.len() - without_first_breaks.len();
        let last_breaks = without_first_breaks.len() - lines.len();
        fence.pending_breaks += first_breaks;
        if lines.is_empty() {
            return;
        }

        fence.is_empty = false;
        let breaks_to_write = fence.pending_breaks;
        fence.pending_breaks = last_breaks;
        self.break_lines(breaks_to_write);
        if self.line_prefixes.is_empty() {
            // Without prefixes, the lines are written as they are, with the line breaks of the
            // text.
            return self.push(lines);
        }
        for (index, line) in lines.split('\n').enumerate() {
            if index > 0 {
                self.break_line();
            }
            self.push(line);
        }
    }

    /// Ends the open fence, on a line of its own. After the texts `a` and `a\n`, this is the line
    /// after `a`. A block without text contains one empty line.
    pub(super) fn close_fence(&mut self) {
        let Some(fence) = self.fence.take() else {
            return;
        };
        // In a block without text, the break after the opening line is still pending. All other
        // pending breaks are the end of the text.
        let breaks_of_opening_line = if fence.is_empty { 1 } else { 0 };
        let text_ends_with_break = fence.pending_breaks > breaks_of_opening_line;
        // The closing line begins with a break below. If the text ends with one, it is the same.
        let breaks_before = if text_ends_with_break {
            fence.pending_breaks - 1
        } else {
            fence.pending_breaks
        };
        self.break_lines(breaks_before);
        self.break_line();
        self.push(&fence.marks);
        self.block_ended = true;
    }

    /// Ends the line this many times: the lines between are empty, except for their prefixes.
    fn break_lines(&mut self, count: usize) {
        for _ in 0..count {
            self.break_line();
        }
    }
}

/// Whether a character occurs in the names of languages after a fence.
fn is_language_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '+' | '#' | '-' | '_' | '.')
}
