//! Markup as Markdown.

use super::escape::{code, escaped, push_escaped, push_with_addresses};
use crate::html::Html;
use crate::markup::{Event, Markup, Tag};
use memchr::memchr;

/// Returns markup as Markdown. `is_here` returns whether the document contains the entry with this
/// number.
pub fn markdown(markup: &Markup, is_here: &dyn Fn(&str) -> bool) -> String {
    let mut writer = Writer::new();
    writer.write(markup, is_here);
    writer.finish()
}

/// Returns markup as a quotation in Markdown.
pub fn quoted(markup: &Markup, is_here: &dyn Fn(&str) -> bool) -> String {
    let mut writer = Writer::new();
    writer.open(Tag::Quote, "");
    writer.write(markup, is_here);
    writer.close();
    writer.finish()
}

/// A fenced block that is being written. Its text is not collected, as it may be long.
struct Fence {
    /// The backticks that end it.
    marks: String,
    /// The line breaks that are not written yet, because the last of a text is none. The first
    /// precedes the text.
    line_breaks: usize,
    is_empty: bool,
}

#[derive(Default)]
struct Writer {
    out: String,
    open: Vec<(Tag, String)>,
    /// The markers that begin each line, one for each open quote and list item.
    prefix: Vec<String>,
    /// Text being collected: inline code, head lines, addresses.
    held: Option<String>,
    /// The code block that is open.
    fence: Option<Fence>,
    /// Whether a block has ended, and the next begins after a blank line.
    ended: bool,
    starts_line: bool,
    numbers: Vec<u64>,
    /// How the cells of the row are aligned.
    cells: Vec<&'static str>,
}

impl Writer {
    fn new() -> Self {
        Writer {
            ended: true,
            starts_line: true,
            ..Writer::default()
        }
    }

    fn write(&mut self, markup: &Markup, is_here: &dyn Fn(&str) -> bool) {
        let mut events = markup.events_without(|tag, value| tag == Tag::Call && is_here(value));
        while let Some(event) = events.next() {
            match event {
                Event::Text(text) => self.text(text),
                Event::Open(tag, value) if is_fenced(tag) => {
                    let longest_run = longest_run_inside(events.clone());
                    self.open_fence(tag, value, longest_run);
                }
                Event::Open(tag, value) => self.open(tag, value),
                Event::Close => self.close(),
                Event::Section | Event::SectionEnd | Event::Word(_) | Event::WordEnd => {}
            }
        }
    }

    /// Begins a block, after a blank line unless it is the first in an item.
    fn block(&mut self) {
        if !self.ended && !self.starts_line {
            self.line();
        }
        if self.ended {
            self.blank();
        }
        self.ended = false;
    }

    fn line(&mut self) {
        self.out.push('\n');
        self.out += &self.prefix.concat();
        self.starts_line = true;
    }

    fn blank(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with('\n') {
            self.out.truncate(self.out.trim_end_matches(' ').len());
            self.out.push('\n');
        }
        self.out += self.prefix.concat().trim_end_matches(' ');
        self.line();
    }

    fn text(&mut self, text: &str) {
        if self.fence.is_some() {
            return self.fenced_text(text);
        }
        if let Some(held) = &mut self.held {
            *held += text;
            return;
        }
        let in_link = self.open.iter().any(|(tag, _)| *tag == Tag::Link);
        let in_table = self
            .open
            .iter()
            .any(|(tag, _)| matches!(tag, Tag::Cell | Tag::HeadCell));
        for (at, line) in text.split('\n').enumerate() {
            match at {
                0 => {}
                _ if in_table => self.out.push(' '),
                _ => self.line(),
            }
            let start = self.out.len();
            if in_link {
                push_escaped(line, self.starts_line, &mut self.out);
            } else {
                push_with_addresses(line, self.starts_line, &mut self.out);
            }
            if self.starts_line {
                let written = &self.out[start..];
                let indent = written.len() - written.trim_start().len();
                self.out.drain(start..start + indent);
                self.starts_line = self.out.len() == start;
            }
        }
    }

    fn put(&mut self, markdown: &str) {
        self.out += markdown;
        self.starts_line = false;
    }

    fn open(&mut self, tag: Tag, value: &str) {
        self.open.push((tag, value.to_owned()));
        if self.fence.is_some() {
            return;
        }
        if let Some(held) = &mut self.held {
            // In a head line, the name and the subject are separate.
            if let Some((mark, _)) = in_head(tag) {
                if !held.is_empty() {
                    held.push(' ');
                }
                held.push_str(mark);
            }
            return;
        }
        if is_block(tag) {
            self.block();
        }
        match tag {
            Tag::Heading1 => self.put("### "),
            Tag::Heading2 => self.put("#### "),
            Tag::Heading3 => self.put("##### "),
            Tag::Numbers => self.numbers.push(value.parse().unwrap_or(1)),
            Tag::Item => self.item(),
            Tag::Task => self.put(if value == "x" { "[x] " } else { "[ ] " }),
            Tag::Quote | Tag::Alert => {
                self.put("> ");
                self.prefix.push("> ".to_owned());
                self.starts_line = true;
            }
            Tag::Rule => self.put("---"),
            Tag::Break => {
                self.put("\\");
                self.line();
            }
            Tag::Link if !value.is_empty() => self.put("["),
            Tag::Row => self.row(),
            Tag::Cell | Tag::HeadCell => self.cell(value),
            Tag::Image => {
                let kind = escaped(value.split(' ').next().unwrap_or_default(), false);
                self.put(&format!("*(image: {kind})*"));
            }
            tag if is_held(tag) => self.held = Some(String::new()),
            tag => {
                if let Some(mark) = emphasis(tag) {
                    self.put(mark);
                }
            }
        }
    }

    fn row(&mut self) {
        if !self.starts_line {
            self.line();
        }
        self.cells.clear();
        self.put("|");
    }

    fn cell(&mut self, aligned: &str) {
        self.cells.push(match aligned {
            "left" => ":---",
            "center" => ":---:",
            "right" => "---:",
            _ => "---",
        });
        self.put(" ");
    }

    fn item(&mut self) {
        if !self.starts_line {
            self.line();
        }
        let innermost_list = self
            .open
            .iter()
            .rev()
            .map(|(tag, _)| *tag)
            .find(|tag| matches!(tag, Tag::List | Tag::Numbers));
        let mut marker = "- ".to_owned();
        if innermost_list == Some(Tag::Numbers)
            && let Some(next_number) = self.numbers.last_mut()
        {
            marker = format!("{next_number}. ");
            *next_number += 1;
        }
        self.prefix.push(" ".repeat(marker.len()));
        self.put(&marker);
        self.ended = false;
        self.starts_line = true;
    }

    fn close(&mut self) {
        let Some((tag, value)) = self.open.pop() else {
            return;
        };
        if self.fence.is_some() {
            if is_fenced(tag) {
                self.close_fence();
            }
            return;
        }
        if let Some(held) = &mut self.held {
            if let Some((_, close)) = in_head(tag) {
                *held += close;
            }
            return self.close_held(tag);
        }
        match tag {
            Tag::Link if !value.is_empty() => {
                let address = value
                    .replace('\\', "%5C")
                    .replace('<', "%3C")
                    .replace('>', "%3E");
                self.put(&format!("](<{address}>)"));
            }
            Tag::Cell | Tag::HeadCell => self.put(" |"),
            Tag::Row if self.is_head_row() => {
                self.line();
                let rule: String = self.cells.iter().map(|cell| format!(" {cell} |")).collect();
                self.put(&format!("|{rule}"));
            }
            Tag::Quote | Tag::Alert | Tag::Item => {
                self.prefix.pop();
            }
            Tag::Numbers => {
                self.numbers.pop();
            }
            Tag::Fold | Tag::Tool => {
                self.ended = true;
                self.block();
                self.put("</details>");
            }
            tag => {
                if let Some(mark) = emphasis(tag) {
                    self.put(mark);
                }
            }
        }
        if tag == Tag::Item {
            self.ended = false;
        } else if is_block(tag) || matches!(tag, Tag::Fold | Tag::Tool) {
            self.ended = true;
        }
    }

    /// Whether the row that has just ended is the first of its table.
    fn is_head_row(&self) -> bool {
        let row = self.out.rsplit('\n').nth(1).unwrap_or_default();
        !row.trim_start_matches(['>', ' ']).starts_with('|')
    }

    /// Writes the collected text at the end of the element that collects it.
    fn close_held(&mut self, tag: Tag) {
        if !is_held(tag) {
            return;
        }
        let held = self.held.take().unwrap_or_default();
        match tag {
            Tag::Code | Tag::Entry => self.put(&code(&held)),
            Tag::Call => {
                self.block();
                self.put(&code(&held.replace(|c: char| c < ' ', "")));
                self.ended = true;
            }
            _ => {
                self.ended = true;
                self.block();
                let mut html = Html::default();
                html.push_escaped(&held.replace('\n', " "));
                let mut head = html.to_string();
                for (mark, element) in HEAD {
                    head = head.replace(mark, element);
                }
                self.put(&format!("<details><summary>{head}</summary>"));
                self.ended = true;
            }
        }
    }

    /// Begins a fenced block; the fence is longer than any run of backticks in it.
    fn open_fence(&mut self, tag: Tag, value: &str, longest_run: usize) {
        self.open.push((tag, value.to_owned()));
        let language = if tag == Tag::Diff {
            "diff"
        } else {
            value.split(' ').next().unwrap_or_default()
        };
        let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '#' | '-' | '_' | '.');
        let language = if language.chars().all(known) {
            language
        } else {
            ""
        };

        let marks = "`".repeat(longest_run.max(2) + 1);
        self.ended = true;
        self.block();
        self.put(&format!("{marks}{language}"));
        self.fence = Some(Fence {
            marks,
            line_breaks: 1,
            is_empty: true,
        });
    }

    /// Writes text in the open fence.
    fn fenced_text(&mut self, text: &str) {
        for (at, line) in text.split('\n').enumerate() {
            let Some(fence) = &mut self.fence else {
                return;
            };
            fence.line_breaks += usize::from(at > 0);
            if line.is_empty() {
                continue;
            }
            fence.is_empty = false;
            let line_breaks = std::mem::take(&mut fence.line_breaks);
            self.lines(line_breaks);
            self.put(line);
        }
    }

    fn close_fence(&mut self) {
        let Some(fence) = self.fence.take() else {
            return;
        };
        let before_text = usize::from(fence.is_empty);
        let ends_in_line_break = fence.line_breaks > before_text;
        self.lines(fence.line_breaks - usize::from(ends_in_line_break));
        self.line();
        self.put(&fence.marks);
        self.ended = true;
    }

    fn lines(&mut self, count: usize) {
        for _ in 0..count {
            self.line();
        }
    }

    fn finish(mut self) -> String {
        self.out.truncate(self.out.trim_end().len());
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        self.out
    }
}

/// Whether a blank line precedes and follows the element.
fn is_block(tag: Tag) -> bool {
    matches!(
        tag,
        Tag::Paragraph
            | Tag::Heading1
            | Tag::Heading2
            | Tag::Heading3
            | Tag::List
            | Tag::Numbers
            | Tag::Quote
            | Tag::Alert
            | Tag::Rule
            | Tag::Table
            | Tag::Note
            | Tag::Image
    )
}

/// Whether the text of the element is collected, and written when it ends.
fn is_held(tag: Tag) -> bool {
    matches!(
        tag,
        Tag::Code | Tag::Entry | Tag::Summary | Tag::ToolHead | Tag::Call
    )
}

/// Whether the text of the element is written in a fence.
fn is_fenced(tag: Tag) -> bool {
    matches!(tag, Tag::Block | Tag::Output | Tag::Diff)
}

/// Returns the length of the longest run of backticks in an element that was just opened.
fn longest_run_inside<'m>(events: impl Iterator<Item = Event<'m>>) -> usize {
    let mut longest = 0;
    // A run may continue in the next section.
    let mut run = 0;
    let mut levels = 1;
    for event in events {
        match event {
            Event::Text(text) if memchr(b'`', text.as_bytes()).is_none() => run = 0,
            Event::Text(text) => {
                for byte in text.bytes() {
                    run = if byte == b'`' { run + 1 } else { 0 };
                    longest = longest.max(run);
                }
            }
            Event::Open(..) => levels += 1,
            Event::Close => levels -= 1,
            Event::Section | Event::SectionEnd | Event::Word(_) | Event::WordEnd => {}
        }
        if levels == 0 {
            break;
        }
    }
    longest
}

/// Returns the mark on both sides of an element, if it has the same on both.
fn emphasis(tag: Tag) -> Option<&'static str> {
    match tag {
        Tag::Emphasis | Tag::Note => Some("*"),
        Tag::Strong => Some("**"),
        Tag::Struck => Some("~~"),
        _ => None,
    }
}

/// Returns the placeholders that enclose an element of a head line, until the line is written.
fn in_head(tag: Tag) -> Option<(&'static str, &'static str)> {
    match tag {
        Tag::Name | Tag::BadMark => Some(("\x11", "\x12")),
        Tag::Subject => Some(("\x13", "\x14")),
        Tag::Mark => Some(("(", ")")),
        _ => None,
    }
}

/// The placeholders and the HTML that replaces them.
const HEAD: [(&str, &str); 4] = [
    ("\x11", "<b>"),
    ("\x12", "</b>"),
    ("\x13", "<code>"),
    ("\x14", "</code>"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commonmark::{self, Author};
    use pulldown_cmark::{Event, Parser};

    fn again(text: &str) -> String {
        super::markdown(
            &Markup::of(|m| commonmark::push(text, Author::Program, m)),
            &|_| false,
        )
    }

    fn shape(text: &str) -> String {
        Markup::of(|m| commonmark::push(text, Author::Program, m)).finish()
    }

    #[test]
    fn markdown_comes_back_as_it_means() {
        let texts = [
            "### One\n\nTwo *three* **four** `five` ~~six~~ [seven](https://a.b/c)\n\n- a\n- b\n  - c\n\n1. x\n2. y\n\n> quoted\n> more\n\n```rust\nfn f() {}\n```\n",
            "a * b _ c \\* [x] <b>html</b> &amp; 1. not a list\n\n\\# no heading\n",
            "| a | b |\n| --- | --- |\n| 1 \\| 2 | `3` |\n\nend",
            "| a | b | c | d |\n| :--- | ---: | :---: | --- |\n| 1 | 2 | 3 | 4 |",
            "- one\n\n  two\n\n  ```\n  code ``` here\n  ```\n- three",
            "3. three\n4. four\n\n---\n\nhard\\\nbreak",
            "- [x] done\n- [ ] not",
        ];
        for text in texts {
            let found = again(text);
            assert_eq!(shape(&found), shape(text), "{text}\n---\n{found}");
        }
    }

    #[test]
    fn a_fence_has_the_lines_of_its_text() {
        for (text, wanted) in [
            ("", "\n```\n\n```\n"),
            ("\n", "\n```\n\n```\n"),
            ("a", "\n```\na\n```\n"),
            ("a\n", "\n```\na\n```\n"),
            ("\n\na\n\n", "\n```\n\n\na\n\n```\n"),
            ("a ``` b\n````", "\n`````\na ``` b\n````\n`````\n"),
        ] {
            // The same, in one piece and in many.
            for pieces in [vec![text], text.split_inclusive(|_| true).collect()] {
                let markup = Markup::of(|m| {
                    m.open(Tag::Output);
                    for piece in &pieces {
                        m.section(|m| m.text(piece));
                    }
                    m.close();
                });
                assert_eq!(super::markdown(&markup, &|_| false), wanted, "{text:?}");
            }
        }
    }

    #[test]
    fn no_content_ends_the_block_it_stands_in() {
        let hostile =
            "```\n</details>\n# out\n````\n<script>x</script>\n\n| a |\n[l]: http://x\n---\n* * *";
        let markup = Markup::of(|m| {
            m.open(Tag::Fold);
            m.words(Tag::Summary, hostile);
            m.section(|m| {
                crate::code::output(hostile, m);
                m.words(Tag::Paragraph, hostile);
            });
            m.close();
        });
        let found = super::markdown(&markup, &|_| false);
        let mut html = String::new();
        let mut headings = 0;
        for event in Parser::new_ext(&found, commonmark::options()) {
            match event {
                Event::Html(text) | Event::InlineHtml(text) => html += &text,
                Event::Start(pulldown_cmark::Tag::Heading { .. }) => headings += 1,
                _ => {}
            }
        }
        assert_eq!(headings, 0, "{found}");
        assert_eq!(html.matches("</details>").count(), 1, "{html}");
        assert!(!html.contains("<script"), "{html}");
    }
}
