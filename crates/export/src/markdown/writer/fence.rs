//! Fenced blocks. No text inside can end one, because the fence is longer than any run of backticks
//! in the text.

use super::{MarkdownWriter, OpenElement};
use crate::markup::{Event, Tag};
use memchr::memchr;

/// A fenced block that is being written. Its text is not collected, as it may be long.
pub(super) struct Fence {
    /// The backticks of the opening line, which also end the block.
    marks: String,
    /// Whether text was written. Until then, the break after the opening line is not written.
    has_text: bool,
    /// The number of line breaks at the end of the text so far, which are not written yet. If the
    /// block ends without any, one is added.
    pending_breaks: usize,
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

/// A text without the line breaks at its start and end, which are counted.
struct TrimmedText<'t> {
    breaks_before: usize,
    lines: &'t str,
    breaks_after: usize,
}

impl<'t> TrimmedText<'t> {
    /// Counts and removes the line breaks. In a text of line breaks alone, all are at its start.
    fn trim(text: &'t str) -> Self {
        let from_lines = text.trim_start_matches('\n');
        let lines = from_lines.trim_end_matches('\n');
        // A line break is one byte, so a difference in length is a number of line breaks.
        TrimmedText {
            breaks_before: text.len() - from_lines.len(),
            lines,
            breaks_after: from_lines.len() - lines.len(),
        }
    }
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
        // A blank line precedes the fence, but not directly after the marker of a quote or an item,
        // where the line is still at its start: an item that begins with a blank line is empty.
        if !self.is_at_line_start {
            self.needs_blank_line = true;
        }
        self.begin_block();
        self.push(&format!("{marks}{language}"));
        self.fence = Some(Fence {
            marks,
            has_text: false,
            pending_breaks: 0,
        });
    }

    /// Writes text in the open fence as it is. Line breaks at its end are only counted, in
    /// [`Fence::pending_breaks`], because only the end of the block shows whether they suffice.
    pub(super) fn write_fenced_text(&mut self, text: &str) {
        let Some(fence) = &mut self.fence else {
            return;
        };
        let text = TrimmedText::trim(text);
        fence.pending_breaks += text.breaks_before;
        if text.lines.is_empty() {
            return;
        }

        // The break after the opening line, if this is the first text.
        let opening_break = if fence.has_text { 0 } else { 1 };
        let breaks_before = opening_break + fence.pending_breaks;
        fence.has_text = true;
        fence.pending_breaks = text.breaks_after;
        self.break_lines(breaks_before);
        if self.line_prefixes.is_empty() {
            // Without prefixes, the lines are written as they are, with the line breaks of the
            // text.
            return self.push(text.lines);
        }
        for (index, line) in text.lines.split('\n').enumerate() {
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
        // The break after the opening line, which is written with the first text.
        if !fence.has_text {
            self.break_line();
        }
        // If the text does not end with a line break, one is added.
        self.break_lines(usize::max(fence.pending_breaks, 1));
        self.push(&fence.marks);
        self.needs_blank_line = true;
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
