//! Converts Markdown to markup; raw HTML stays text.
//!
//! Differences from CommonMark: a single `~` strikes nothing out, and addresses in a text are
//! links. In scripts without spaces, emphasis may begin or end between punctuation and a letter.
//! Long texts are shown verbatim. What a person typed is not Markdown: see `typed`.

use super::code::{self, Language};
use super::html::is_allowed_address;
use super::markup::{Markup, SectionLimits, Tag};
use pulldown_cmark::{
    Alignment, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag as Start, TagEnd,
    TextMergeWithOffset,
};
use std::borrow::Cow;

/// The length in bytes above which texts are shown verbatim.
const LONGEST_PARSED: usize = 256 * 1024;

/// The size at which a section ends even within a block.
const FULL: SectionLimits = SectionLimits {
    bytes: 32 * 1024,
    elements: 400,
};

/// The size at which a section ends if a block ends there.
const FULL_BETWEEN_BLOCKS: SectionLimits = SectionLimits {
    bytes: 6 * 1024,
    ..FULL
};

/// Returns the Markdown extensions that are enabled.
pub fn parser_options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// Appends a text as Markdown, in sections. A blank text is left out, and a text of more than 256
/// KiB is shown verbatim.
pub fn push_markdown(text: &str, markup: &mut Markup) {
    if text.trim().is_empty() {
        return;
    }
    if text.len() > LONGEST_PARSED {
        return code::push_output(text, markup);
    }

    let source = separate_emphasis(text);
    let parser = Parser::new_ext(&source, parser_options());
    markup.open(Tag::Prose);
    markup.begin_section();
    let mut writer = MarkupWriter::new(&source, markup);
    // The parser divides texts. They are merged again, so that an address in a text is whole.
    for (event, range) in TextMergeWithOffset::new(parser.into_offset_iter()) {
        writer.write_event(event, range);
    }
    markup.end_section();
    markup.close();
}

/// The character that [`separate_emphasis`] inserts: for the parser, it is neither a space nor
/// punctuation. [`remove_word_joiners`] removes it from the parsed text.
const WORD_JOINER: char = '\u{2060}';

/// Inserts [`WORD_JOINER`] where asterisks have punctuation on one side, and on the other side a
/// letter of a script without spaces. By the rules of CommonMark, such asterisks would neither open
/// nor close emphasis. With `J` for the inserted character:
///
/// ```text
/// **注意：**この      becomes      **注意：**Jこ
/// ```
///
/// A text that already contains [`WORD_JOINER`] is returned unchanged: removing the inserted ones
/// would remove the text's own.
fn separate_emphasis(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || !text.contains('*') || text.contains(WORD_JOINER) {
        return Cow::Borrowed(text);
    }

    let mut separated = String::with_capacity(text.len() + 16);
    let mut unread = text;
    while let Some(run_start) = unread.find('*') {
        let (text_before, from_run) = unread.split_at(run_start);
        let text_after = from_run.trim_start_matches('*');
        let asterisks = &from_run[..from_run.len() - text_after.len()];

        separated.push_str(text_before);
        let char_before = separated.chars().last();
        let char_after = text_after.chars().next();
        if is_punctuation(char_before) && is_letter_without_spaces(char_after) {
            separated.push(WORD_JOINER);
        }
        separated.push_str(asterisks);
        if is_letter_without_spaces(char_before) && is_punctuation(char_after) {
            separated.push(WORD_JOINER);
        }
        unread = text_after;
    }
    separated.push_str(unread);
    Cow::Owned(separated)
}

/// The first of the characters that count as scripts without spaces: Chinese, Japanese, Korean.
const FIRST_WITHOUT_SPACES: char = '\u{2e80}';

fn is_letter_without_spaces(c: Option<char>) -> bool {
    c.is_some_and(|c| c.is_alphanumeric() && c >= FIRST_WITHOUT_SPACES)
}

/// Whether `c` is punctuation other than an asterisk. `None`, the end of the text, is not.
fn is_punctuation(c: Option<char>) -> bool {
    c.is_some_and(|c| !c.is_alphanumeric() && !c.is_whitespace() && c != '*')
}

/// Returns the byte range of the first web address in a text: `http://` or `https://`, and at least
/// one more character. Punctuation of the sentence after the address is not included: in `Read it
/// (https://example.org/a).`, the address ends in `a`. `None` if the text has no address.
pub(super) fn find_address(text: &str) -> Option<std::ops::Range<usize>> {
    // A colon is rare, so it is searched for, and what is around it is compared.
    let mut search_start = 0;
    while let Some(distance) = memchr::memchr(b':', &text.as_bytes()[search_start..]) {
        let colon = search_start + distance;
        let after_colon = colon + ":".len();
        // If this is no address, the search continues here.
        search_start = after_colon;
        if !text[after_colon..].starts_with("//") {
            continue;
        }
        let Some(address_start) = scheme_start(&text[..colon]) else {
            continue;
        };

        let host_start = after_colon + "//".len();
        let longest_end = match text[host_start..].find(ends_address) {
            Some(len) => host_start + len,
            None => text.len(),
        };
        let address = trim_punctuation(&text[address_start..longest_end]);
        let address_end = address_start + address.len();
        // A scheme alone is no address.
        if address_end > host_start {
            return Some(address_start..address_end);
        }
    }
    None
}

/// Whether a character ends an address. Characters of scripts without spaces do, because in these a
/// word may directly follow the address.
fn ends_address(c: char) -> bool {
    c.is_whitespace() || matches!(c, '<' | '>' | '"' | '`' | '|') || c >= FIRST_WITHOUT_SPACES
}

/// Returns the offset of the `http` or `https` with which a text ends. `None` if the text ends
/// otherwise, or with a longer word, such as `xhttp`.
fn scheme_start(text: &str) -> Option<usize> {
    let before = text
        .strip_suffix("https")
        .or_else(|| text.strip_suffix("http"))?;
    if before.ends_with(|c: char| c.is_ascii_alphanumeric()) {
        return None;
    }
    Some(before.len())
}

/// Removes the punctuation after an address that belongs to the sentence.
fn trim_punctuation(address: &str) -> &str {
    let mut address = address.trim_end_matches(['.', ',', ';', ':', '!', '?', '\'', '*', '_', '~']);
    // A bracket at the end belongs to the sentence, unless the address has opened it.
    for (open, close) in [('(', ')'), ('[', ']')] {
        while address.ends_with(close) && occurs_more_often(address, close, open) {
            address = &address[..address.len() - 1];
        }
    }
    address
}

/// Whether one character is in a text more often than another.
fn occurs_more_often(text: &str, more: char, fewer: char) -> bool {
    text.matches(more).count() > text.matches(fewer).count()
}

/// The maximum number of bytes of a text that are read for one line.
const LONGEST_ONE_LINE: usize = 4 * 1024;

/// Returns the first 4 KiB of a Markdown text as one line of plain text. Ends of blocks and line
/// breaks become spaces.
pub fn to_plain_line(text: &str) -> String {
    let mut source_end = LONGEST_ONE_LINE.min(text.len());
    while !text.is_char_boundary(source_end) {
        source_end -= 1;
    }

    let mut line = String::new();
    for event in Parser::new_ext(&text[..source_end], parser_options()) {
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
            // Only the end of a block separates words.
            Event::End(tag_end) if !is_inline(tag_end) => line.push(' '),
            Event::Start(_) | Event::End(_) => {}
        }
    }
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_inline(end: TagEnd) -> bool {
    matches!(
        end,
        TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link | TagEnd::Image
    )
}

/// Returns the language that the fence of a code block names; empty if it names none. Attributes
/// after the language, as in `rust,ignore`, are left out.
pub(super) fn fence_language<'k>(kind: &'k CodeBlockKind) -> &'k str {
    match kind {
        CodeBlockKind::Fenced(info) => info.split([' ', ',', '{']).next().unwrap_or_default(),
        CodeBlockKind::Indented => "",
    }
}

/// Returns the address of a link, or an empty one if a link may not have this address.
fn allowed_or_empty(address: &str) -> &str {
    if is_allowed_address(address) {
        address
    } else {
        ""
    }
}

/// Writes the events of the parser as markup.
struct MarkupWriter<'a, 'm> {
    markup: &'m mut Markup,
    /// The parsed text, after [`separate_emphasis`].
    source: &'a str,
    /// The open code block.
    code_block: Option<CodeBlock>,
    /// The alignments of the columns of the open table.
    alignments: Vec<Alignment>,
    /// The column of the next cell, from 0.
    column: usize,
    /// Whether the row is the head of its table.
    is_head_row: bool,
    /// The levels of the last heading and of the headings above it, as they are in the text.
    open_headings: Vec<HeadingLevel>,
    /// The number of open links and images. Within them, addresses in the text are not linked.
    open_links: usize,
    /// Whether a line of the current HTML block was written.
    html_has_line: bool,
}

/// A code block, whose text is collected until its end.
struct CodeBlock {
    language: String,
    text: String,
}

impl<'a, 'm> MarkupWriter<'a, 'm> {
    /// Prepares to write the Markdown of `source` into `markup`.
    fn new(source: &'a str, markup: &'m mut Markup) -> Self {
        MarkupWriter {
            markup,
            source,
            code_block: None,
            alignments: Vec::new(),
            column: 0,
            is_head_row: false,
            open_links: 0,
            html_has_line: false,
            open_headings: Vec::new(),
        }
    }

    /// Writes an event of the parser, which is at `range` of the source. Then begins a new section
    /// if the current one is full. Between blocks, a section is full at a smaller size.
    ///
    /// Word joiners are removed from each text: [`separate_emphasis`] has inserted them only for
    /// the parser.
    fn write_event(&mut self, event: Event, range: std::ops::Range<usize>) {
        match event {
            Event::Start(tag) => self.start_element(tag, range),
            Event::End(tag) => self.end_element(tag, range),
            Event::Text(text) => match &mut self.code_block {
                Some(code) => code.text.push_str(&remove_word_joiners(&text)),
                None => self.write_text(&remove_word_joiners(&text)),
            },
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.markup
                    .push_text_element(Tag::Code, &remove_word_joiners(&text));
            }
            Event::Html(text) => {
                // The parser has an event for each line of a block. A newline is written before
                // each line but the first, so that the block does not end in one.
                if self.html_has_line {
                    self.markup.push_text("\n");
                }
                self.html_has_line = true;
                self.write_text(&remove_word_joiners(text.trim_end_matches('\n')));
            }
            Event::InlineHtml(text) => self.write_text(&remove_word_joiners(&text)),
            Event::SoftBreak => self.markup.push_text("\n"),
            Event::HardBreak => self.markup.push_element(Tag::Break, |_| ()),
            Event::Rule => self.markup.push_element(Tag::Rule, |_| ()),
            Event::TaskListMarker(done) => {
                self.markup
                    .push_element_with(Tag::Task, if done { "x" } else { "" }, |_| ());
            }
            Event::FootnoteReference(name) => self.markup.push_text(&format!("[^{name}]")),
        }

        // Nothing of an open code block is written yet: its text is collected, and written at its
        // end, in sections of its own.
        if self.code_block.is_some() {
            return;
        }
        let limits = if self.markup.is_between_blocks() {
            FULL_BETWEEN_BLOCKS
        } else {
            FULL
        };
        self.markup.divide_if_full(limits);
    }

    /// Opens an element, or begins to collect a code block. `range` is where the element is in the
    /// source.
    fn start_element(&mut self, tag: Start, range: std::ops::Range<usize>) {
        match tag {
            Start::Paragraph => self.markup.open(Tag::Paragraph),
            // Raw HTML is text, in a paragraph that keeps its lines.
            Start::HtmlBlock => {
                self.html_has_line = false;
                self.markup.open(Tag::Verbatim);
            }
            Start::Heading { level, .. } => self.open_heading(level),
            Start::BlockQuote(_) => self.markup.open(Tag::Quote),
            Start::CodeBlock(kind) => {
                self.code_block = Some(CodeBlock {
                    language: fence_language(&kind).to_owned(),
                    text: String::new(),
                });
            }
            Start::List(None) => self.markup.open(Tag::List),
            Start::List(Some(first)) => self.markup.open_with(Tag::Numbers, &first.to_string()),
            Start::Item => self.markup.open(Tag::Item),
            Start::Table(alignments) => {
                self.alignments = alignments;
                self.markup.open(Tag::Table);
            }
            Start::TableHead | Start::TableRow => {
                self.column = 0;
                self.is_head_row = tag == Start::TableHead;
                self.markup.open(Tag::Row);
            }
            Start::TableCell => self.open_table_cell(),
            Start::Emphasis => self.markup.open(Tag::Emphasis),
            Start::Strong => self.markup.open(Tag::Strong),
            Start::Strikethrough => {
                if self.source[range].starts_with("~~") {
                    self.markup.open(Tag::Struck);
                } else {
                    // The parser also takes a single `~` for a mark; here it is text.
                    self.markup.push_text("~");
                }
            }
            Start::Link { dest_url, .. } => self.open_link(&dest_url),
            Start::Image { dest_url, .. } => {
                self.open_link(&dest_url);
                self.markup.push_text("🖼 ");
            }
            // None of the others is enabled in `parser_options`.
            _ => self.markup.open(Tag::Paragraph),
        }
    }

    /// Closes an element, or writes the code block that was collected. `range` is where the whole
    /// element is in the source.
    fn end_element(&mut self, tag: TagEnd, range: std::ops::Range<usize>) {
        match tag {
            TagEnd::CodeBlock => {
                if let Some(CodeBlock { language, text }) = self.code_block.take() {
                    let highlighting = Language::from_name(&language);
                    code::push_code_block(&text, &language, highlighting, self.markup);
                }
            }
            TagEnd::Strikethrough => {
                if self.source[range].starts_with("~~") {
                    self.markup.close();
                } else {
                    // A single `~` has opened no element: see `start_element`.
                    self.markup.push_text("~");
                }
            }
            // An image is written as a link to it.
            TagEnd::Image | TagEnd::Link => {
                self.open_links -= 1;
                self.markup.close();
            }
            // For every other start, `start_element` opened one element.
            _ => self.markup.close(),
        }
    }

    /// Opens a link. If its address is not allowed, the link has none.
    fn open_link(&mut self, address: &str) {
        let address = remove_word_joiners(address);
        self.open_links += 1;
        self.markup.open_with(Tag::Link, allowed_or_empty(&address));
    }

    /// Appends text. Each address in it becomes a link, unless the text is in a link already.
    fn write_text(&mut self, text: &str) {
        if self.open_links > 0 {
            self.markup.push_text(text);
        } else {
            push_linked_text(text, self.markup);
        }
    }

    /// Opens the next cell of a row. Its value is the alignment of the column; empty if it has
    /// none.
    fn open_table_cell(&mut self) {
        let alignment = match self.alignments.get(self.column) {
            Some(Alignment::Center) => "center",
            Some(Alignment::Right) => "right",
            Some(Alignment::Left) => "left",
            _ => "",
        };
        self.column += 1;
        let tag = if self.is_head_row {
            Tag::HeadCell
        } else {
            Tag::Cell
        };
        self.markup.open_with(tag, alignment);
    }

    /// Opens a heading of level 1 to 3: one level below the nearest heading before it that is
    /// higher in the text. So no level is left out, because screen readers show headings as an
    /// outline; and headings that are equal in the text stay equal.
    fn open_heading(&mut self, level: HeadingLevel) {
        while self.open_headings.last().is_some_and(|last| *last >= level) {
            self.open_headings.pop();
        }
        self.open_headings.push(level);
        let tag = match self.open_headings.len() {
            1 => Tag::Heading1,
            2 => Tag::Heading2,
            _ => Tag::Heading3,
        };
        self.markup.open(tag);
    }
}

/// Appends text in which each address is a link.
pub(super) fn push_linked_text(text: &str, markup: &mut Markup) {
    let mut unwritten = text;
    while let Some(range) = find_address(unwritten) {
        markup.push_text(&unwritten[..range.start]);
        let address = &unwritten[range.clone()];
        let target = allowed_or_empty(address);
        markup.push_element_with(Tag::Link, target, |m| m.push_text(address));
        unwritten = &unwritten[range.end..];
    }
    markup.push_text(unwritten);
}

/// Removes what [`separate_emphasis`] inserted.
fn remove_word_joiners(text: &str) -> Cow<'_, str> {
    if text.contains(WORD_JOINER) {
        Cow::Owned(text.replace(WORD_JOINER, ""))
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html_of(text: &str) -> String {
        let markup = Markup::from_fn(|m| push_markdown(text, m));
        crate::html::full_html(&markup, &|_| false, &[])
            .to_string()
            .replace(" dir=\"auto\"", "")
    }

    #[test]
    fn no_level_of_headings_is_left_out() {
        let html = html_of("## a\n\n#### b\n\n# c\n\n## d\n\n###### e\n\n###### f");
        let opened: Vec<_> = html
            .match_indices("<h")
            .map(|(at, _)| &html[at + 1..at + 3])
            .collect();
        assert_eq!(opened, ["h3", "h4", "h3", "h4", "h5", "h5"]);

        let html = html_of("## Goal\n\n### Part\n\n## Progress\n\n# Title\n\n## Next");
        let opened: Vec<_> = html
            .match_indices("<h")
            .map(|(at, _)| &html[at + 1..at + 3])
            .collect();
        assert_eq!(opened, ["h3", "h4", "h3", "h3", "h4"]);
    }

    #[test]
    fn addresses_are_links_without_the_punctuation_behind_them() {
        for (text, address) in [
            (
                "see https://a.b/c_d?e=1&f=2, then",
                "https://a.b/c_d?e=1&amp;f=2",
            ),
            ("(https://a.b/c_(d))", "https://a.b/c_(d)"),
            ("at http://a.b.", "http://a.b"),
            ("ここhttps://a.b/cです", "https://a.b/c"),
        ] {
            let html = html_of(text);
            assert!(
                html.contains(&format!("href=\"{address}\"")),
                "{text}: {html}"
            );
        }
        for text in ["`https://a.b`", "x://a.b", "https://", "xhttps://a.b"] {
            assert!(!html_of(text).contains("<a "), "{text}");
        }
        assert_eq!(
            html_of("[https://a.b](https://c.d)").matches("<a ").count(),
            1
        );
    }

    #[test]
    fn emphasis_ends_at_punctuation_of_scripts_without_spaces() {
        assert!(
            html_of("**注意：**この").contains("<strong>注意：</strong>この"),
            "{}",
            html_of("**注意：**この")
        );
        assert!(html_of("これは**「重要」**です").contains("<strong>「重要」</strong>です"));
        assert!(html_of("2 * 3 ** 4（*a*）").contains("2 * 3 ** 4（<em>a</em>）"));
        assert_eq!(
            html_of("`注意：**この`"),
            "<div class=\"prose\"><p><code>注意：**この</code></p></div>"
        );
    }

    #[test]
    fn html_blocks_keep_their_lines() {
        let html = html_of("<plan>\n1. read\n  2. fix\n</plan>\n\nafter");
        assert!(
            html.contains("<p class=\"verbatim\">&lt;plan&gt;\n1. read\n  2. fix\n&lt;/plan&gt;"),
            "{html}"
        );
    }

    #[test]
    fn one_line_has_no_marks() {
        let text = "# Plan\n\nTwo **of** `three`\nare [done](https://a.b):\n\n- [x] one\n- [ ] two\n\n<b>raw</b>\n";
        assert_eq!(
            to_plain_line(text),
            "Plan Two of three are done: [x] one [ ] two <b>raw</b>"
        );
        let long = "é".repeat(LONGEST_ONE_LINE);
        assert_eq!(to_plain_line(&long).chars().count(), LONGEST_ONE_LINE / 2);
        assert_eq!(to_plain_line(""), "");
    }
}
