//! The outputs of tools, and the lines that an export leaves out of a text.

use super::ToolCall;
use crate::code::{self, Language};
use crate::commits::{Commit, find_commits};
use crate::markup::{Markup, Tag};
use crate::view_parts::{EntryView, LONGEST_TEXT};
use pisess_core::format::format_count;
use pisess_core::session::content::{is_block, join_text};
use pisess_json::Raw;
use pisess_json::string::decode;
use std::borrow::Cow;

/// The content of a result.
pub(super) struct ToolOutput<'t> {
    /// Its texts, joined without a separator.
    pub(super) text: OutputText<'t>,
    /// Its blocks that are not text.
    pub(super) other_blocks: Vec<Raw<'t>>,
}

impl<'t> ToolOutput<'t> {
    /// Divides the content of a result, which is a string or blocks, into text and other blocks. A
    /// block of the type `text` that has no text is one of the other blocks. `max_lines` is how
    /// many lines the export shows, if it limits them.
    pub(super) fn new(content: Option<Raw<'t>>, max_lines: Option<usize>) -> Self {
        let mut texts = Vec::new();
        let mut other_blocks = Vec::new();
        for block in content.unwrap_or(Raw::NULL).items() {
            match block.get("text") {
                Some(text) if is_block(block, "text") => texts.push(text),
                _ => other_blocks.push(block),
            }
        }

        // Only a text that is a single string of the file can be decoded in parts. Without blocks
        // of text, the content itself may be that string.
        let only_string = match *texts {
            [] => content.and_then(Raw::raw_string),
            [text] => text.raw_string(),
            _ => None,
        };
        let long_string = only_string.filter(|string| string.len() > LONGEST_TEXT);
        // If the export limits the lines, few of them are shown, so the text is decoded as a whole,
        // and its lines are counted.
        let text = if let Some(string) = long_string
            && max_lines.is_none()
        {
            OutputText::Long(string)
        } else {
            OutputText::Whole(join_text(content, "").into_string_lossy())
        };
        ToolOutput { text, other_blocks }
    }
}

/// The text of a result.
pub(super) enum OutputText<'t> {
    /// All of it.
    Whole(String),
    /// The bytes between the quotes of a string of more than [`LONGEST_TEXT`] bytes. Decoded as a
    /// whole, it would be in memory three times: as a line, as text and as markup.
    Long(&'t [u8]),
}

impl OutputText<'_> {
    /// Returns the text. Of a long one, only the first part and the last two are returned. The end
    /// is included because agents report there how a call ended. It has two parts, because the last
    /// part may be only a line.
    pub(super) fn shortened(&self) -> Cow<'_, str> {
        let string = match self {
            OutputText::Whole(text) => return Cow::Borrowed(text),
            OutputText::Long(string) => string,
        };
        let parts: Vec<&[u8]> = code::string_parts(string).collect();
        let last_two_start = parts.len().saturating_sub(2);
        let mut shortened = String::new();
        for (index, part) in parts.iter().enumerate() {
            let is_shown = index == 0 || index >= last_two_start;
            if is_shown {
                shortened.push_str(&decode(part).to_string_lossy());
            }
        }
        Cow::Owned(shortened)
    }

    /// Whether it has nothing but whitespace. A long text counts as shown.
    pub(super) fn is_blank(&self) -> bool {
        match self {
            OutputText::Whole(text) => text.trim().is_empty(),
            OutputText::Long(_) => false,
        }
    }

    /// Returns the commits that the call made, as [`find_commits`] reads them from the output.
    pub(super) fn find_commits(&self, arguments: Raw) -> Vec<Commit> {
        match self {
            OutputText::Whole(text) => find_commits(arguments, [text]),
            OutputText::Long(string) => find_commits(arguments, code::decoded_parts(string)),
        }
    }
}

/// Where lines are left out of a text that is shown in part.
#[derive(Clone, Copy)]
pub(super) enum OmittedLines {
    /// Before the lines that are shown.
    Before,
    /// After them.
    After,
}

impl EntryView<'_> {
    /// Appends the output of a tool. If the export limits its lines, the last lines of a command
    /// are shown, and the first lines of any other tool.
    pub(super) fn push_output(&mut self, call: &ToolCall, output: &OutputText, has_failed: bool) {
        // Not for `Read` of Claude Code, which writes the numbers into its output. The output of a
        // `read` that failed is a message.
        let is_part_of_file = call.name == "read" && !has_failed;
        if is_part_of_file {
            return self.push_read_lines(call.arguments, output);
        }
        match output {
            OutputText::Whole(text) if call.is_bash() => self.push_last_lines(text),
            OutputText::Whole(text) => self.push_first_lines(text, code::push_output),
            // The export does not limit lines: see `ToolOutput::new`.
            OutputText::Long(string) => code::push_json_output(string, &mut self.markup),
        }
    }

    /// Appends the lines that a `read` returned, numbered as in the file.
    fn push_read_lines(&mut self, arguments: Raw, output: &OutputText) {
        let first_line = first_line_number(arguments);
        let language = self.file_language(arguments);
        match output {
            OutputText::Whole(text) => self.push_file_lines(text, first_line, language),
            OutputText::Long(string) => {
                code::push_json_numbered_lines(string, first_line, language, &mut self.markup);
            }
        }
    }

    /// Appends lines of a file, numbered from `first_line` on. If the export limits lines, only the
    /// first ones are shown.
    pub(super) fn push_file_lines(
        &mut self,
        text: &str,
        first_line: u64,
        language: Option<&'static Language>,
    ) {
        self.push_first_lines(text, |text, m| {
            code::push_numbered_lines(text, first_line, language, m);
        });
    }

    /// Calls `write` with a text, to append it. If the export limits lines, the text is cut to its
    /// first lines, and a note after them has the number of lines that are left out.
    fn push_first_lines(&mut self, text: &str, write: impl FnOnce(&str, &mut Markup)) {
        let count = text.lines().count();
        let shown_count = self.shown_line_count(count);
        if shown_count > 0 {
            let shown_end = offset_of_line(text, shown_count);
            write(&text[..shown_end], &mut self.markup);
        }
        self.push_omitted_count(count, OmittedLines::After);
    }

    /// Appends the output of a command. If the export limits lines, only the last ones are shown,
    /// because the outcome of a command is at its end. A note before them has the number of lines
    /// that are left out.
    pub(super) fn push_last_lines(&mut self, text: &str) {
        let count = text.lines().count();
        let shown_count = self.shown_line_count(count);
        self.push_omitted_count(count, OmittedLines::Before);
        if shown_count > 0 {
            let shown_start = offset_of_line(text, count - shown_count);
            code::push_output(&text[shown_start..], &mut self.markup);
        }
    }

    /// Returns how many of `count` lines the export shows: all, or as many as the cuts allow.
    pub(super) fn shown_line_count(&self, count: usize) -> usize {
        count.min(self.source.contents.cuts.max_lines.unwrap_or(count))
    }

    /// Appends a note with how many of `count` lines the cuts leave out; nothing if they leave out
    /// none. `omitted` is where these lines are.
    pub(super) fn push_omitted_count(&mut self, count: usize, omitted: OmittedLines) {
        let shown_count = self.shown_line_count(count);
        let omitted_count = count - shown_count;
        if omitted_count == 0 {
            return;
        }
        // If no line is shown, the omitted ones are neither before nor after others.
        let note = if shown_count == 0 {
            format_count(omitted_count, "line", "lines")
        } else {
            match omitted {
                OmittedLines::Before => {
                    format_count(omitted_count, "earlier line", "earlier lines")
                }
                OmittedLines::After => format_count(omitted_count, "more line", "more lines"),
            }
        };
        self.markup.push_text_element(Tag::Note, &note);
    }
}

/// Returns the offset at which the first `count` lines of a text end.
fn offset_of_line(text: &str, count: usize) -> usize {
    text.split_inclusive('\n').take(count).map(str::len).sum()
}

/// Returns the number of the first line that a call of `read` asked for, from 1. An offset of 0
/// means the same.
fn first_line_number(arguments: Raw) -> u64 {
    let offset = arguments.get("offset").and_then(Raw::as_index);
    offset.unwrap_or(1).max(1) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_output_has_its_ends_and_all_its_commits() {
        let filler = r"nothing to see here\n".repeat(LONGEST_TEXT / 20);
        let commit = r"[main 1a2b3c4] sails: sew the hem\n";
        let json = format!(
            r#"[{{"type":"text","text":"begun\n{filler}{commit}{filler}Command exited with code 3"}}]"#
        );
        let content = Raw::parse(json.as_bytes()).unwrap();
        let arguments = Raw::parse(br#"{"command":"git commit -m x"}"#).unwrap();

        let text = ToolOutput::new(Some(content), None).text;
        assert!(matches!(text, OutputText::Long(_)));
        let shortened = text.shortened();
        assert!(shortened.starts_with("begun\n"));
        assert!(shortened.ends_with("\nCommand exited with code 3"));
        assert!(shortened.len() < LONGEST_TEXT, "{}", shortened.len());
        assert_eq!(text.find_commits(arguments).len(), 1);

        let limited = ToolOutput::new(Some(content), Some(10)).text;
        assert!(matches!(limited, OutputText::Whole(_)));
        assert_eq!(
            limited.find_commits(arguments),
            text.find_commits(arguments)
        );
    }
}
