//! Converts Markdown to markup; raw HTML stays text.
//!
//! Two differences from CommonMark: a single `~` strikes nothing out, and bare addresses are not links. Long
//! texts are shown verbatim.

use super::code::{self, Language};
use super::html::allowed;
use super::markup::{Markup, Tag};
use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag as Start, TagEnd};

/// The length in bytes above which texts are shown verbatim.
const LONGEST: usize = 256 * 1024;

/// The number of bytes after which a section ends at the end of the current block.
const SECTION: usize = 6 * 1024;

/// The number of bytes or elements after which a section ends even within a block.
const MOST: (usize, usize) = (32 * 1024, 400);

/// How line breaks within a paragraph are rendered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breaks {
    /// As spaces, as in Markdown.
    Soft,
    /// As line breaks, because authors of prompts mean them as such.
    Hard,
}

/// Returns the Markdown extensions that are enabled.
pub fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// Appends a text as Markdown.
pub fn push(text: &str, breaks: Breaks, markup: &mut Markup) {
    if text.trim().is_empty() {
        return;
    }
    if text.len() > LONGEST {
        return code::output(text, markup);
    }
    markup.element(Tag::Prose, |markup| {
        markup.section(|markup| {
            let mut writer = Writer {
                markup,
                source: text,
                breaks,
                code: None,
                aligned: Vec::new(),
                cell: 0,
                head: false,
                images: 0,
            };
            for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
                writer.event(event, range);
            }
        });
    });
}

/// The number of bytes of a text that are read for one line.
const LINE: usize = 4 * 1024;

/// Returns a text on one line, without its markup, for rows.
pub fn one_line(text: &str) -> String {
    let end = (0..=LINE.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    let mut line = String::new();
    for event in Parser::new_ext(&text[..end], options()) {
        match event {
            Event::Text(text)
            | Event::Code(text)
            | Event::Html(text)
            | Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text) => line.push_str(&text),
            Event::TaskListMarker(done) => line.push_str(if done { "[x] " } else { "[ ] " }),
            Event::FootnoteReference(name) => line.push_str(&format!("[^{name}]")),
            Event::SoftBreak | Event::HardBreak | Event::Rule => line.push(' '),
            Event::End(end) if !is_inline(end) => line.push(' '),
            Event::Start(_) | Event::End(_) => {}
        }
    }
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_inline(end: TagEnd) -> bool {
    matches!(end, TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link | TagEnd::Image)
}

struct Writer<'a, 'm> {
    markup: &'m mut Markup,
    source: &'a str,
    breaks: Breaks,
    /// The language and text of the open code block.
    code: Option<(String, String)>,
    /// The alignment of the columns of the open table.
    aligned: Vec<Alignment>,
    cell: usize,
    head: bool,
    /// The number of open images: their text becomes a link.
    images: usize,
}

impl Writer<'_, '_> {
    fn event(&mut self, event: Event, range: std::ops::Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(tag) => self.end(tag, range),
            Event::Text(text) => match &mut self.code {
                Some((_, code)) => code.push_str(&text),
                None => self.markup.text(&text),
            },
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.markup.words(Tag::Code, &text);
            }
            Event::Html(text) | Event::InlineHtml(text) => self.markup.text(&text),
            Event::SoftBreak if self.breaks == Breaks::Soft => self.markup.text("\n"),
            Event::SoftBreak | Event::HardBreak => self.markup.element(Tag::Break, |_| ()),
            Event::Rule => self.markup.element(Tag::Rule, |_| ()),
            Event::TaskListMarker(done) => {
                self.markup.element_with(Tag::Task, if done { "x" } else { "" }, |_| ());
            }
            Event::FootnoteReference(name) => self.markup.text(&format!("[^{name}]")),
        }
        let bytes = if self.markup.is_between_blocks() { SECTION } else { MOST.0 };
        if self.code.is_none() {
            self.markup.divide(bytes, MOST.1);
        }
    }

    fn start(&mut self, tag: Start, range: std::ops::Range<usize>) {
        match tag {
            Start::Paragraph => self.markup.open(Tag::Paragraph),
            // Raw HTML is text, in a paragraph of its own.
            Start::HtmlBlock => self.markup.open(Tag::Paragraph),
            Start::Heading { level, .. } => self.markup.open(heading(level)),
            Start::BlockQuote(_) => self.markup.open(Tag::Quote),
            Start::CodeBlock(kind) => {
                let language = match kind {
                    CodeBlockKind::Fenced(info) => {
                        info.split([' ', ',', '{']).next().unwrap_or_default().to_owned()
                    }
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((language, String::new()));
            }
            Start::List(None) => self.markup.open(Tag::List),
            Start::List(Some(first)) => self.markup.open_with(Tag::Numbers, &first.to_string()),
            Start::Item => self.markup.open(Tag::Item),
            Start::Table(aligned) => {
                self.aligned = aligned;
                self.markup.open(Tag::Table);
            }
            Start::TableHead => {
                (self.cell, self.head) = (0, true);
                self.markup.open(Tag::Row);
            }
            Start::TableRow => {
                (self.cell, self.head) = (0, false);
                self.markup.open(Tag::Row);
            }
            Start::TableCell => self.table_cell(),
            Start::Emphasis => self.markup.open(Tag::Emphasis),
            Start::Strong => self.markup.open(Tag::Strong),
            Start::Strikethrough if self.source[range.clone()].starts_with("~~") => {
                self.markup.open(Tag::Struck);
            }
            Start::Strikethrough => self.markup.text("~"),
            Start::Link { dest_url, .. } => self.link(&dest_url),
            Start::Image { dest_url, .. } => {
                self.images += 1;
                self.link(&dest_url);
                self.markup.text("🖼 ");
            }
            _ => self.markup.open(Tag::Paragraph),
        }
    }

    fn end(&mut self, tag: TagEnd, range: std::ops::Range<usize>) {
        match tag {
            TagEnd::CodeBlock => {
                if let Some((language, code)) = self.code.take() {
                    code::block(&code, &language, Language::named(&language), self.markup);
                }
            }
            TagEnd::Strikethrough if !self.source[range].starts_with("~~") => self.markup.text("~"),
            TagEnd::Image => {
                self.images -= 1;
                self.markup.close();
            }
            _ => self.markup.close(),
        }
    }

    fn link(&mut self, address: &str) {
        let address = if allowed(address) { address } else { "" };
        self.markup.open_with(Tag::Link, address);
    }

    fn table_cell(&mut self) {
        let aligned = match self.aligned.get(self.cell) {
            Some(Alignment::Center) => "center",
            Some(Alignment::Right) => "right",
            Some(Alignment::Left) => "left",
            _ => "",
        };
        self.cell += 1;
        self.markup.open_with(if self.head { Tag::HeadCell } else { Tag::Cell }, aligned);
    }
}

fn heading(level: HeadingLevel) -> Tag {
    match level {
        HeadingLevel::H1 => Tag::Heading1,
        HeadingLevel::H2 => Tag::Heading2,
        _ => Tag::Heading3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_has_no_marks() {
        let text =
            "# Plan\n\nTwo **of** `three`\nare [done](https://a.b):\n\n- [x] one\n- [ ] two\n\n<b>raw</b>\n";
        assert_eq!(one_line(text), "Plan Two of three are done: [x] one [ ] two <b>raw</b>");
        let long = "é".repeat(LINE);
        assert_eq!(one_line(&long).chars().count(), LINE / 2);
        assert_eq!(one_line(""), "");
    }
}
