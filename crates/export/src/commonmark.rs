//! Converts Markdown to markup; raw HTML stays text.
//!
//! Differences from CommonMark: a single `~` strikes nothing out, addresses in a text are links,
//! and emphasis may end at punctuation that a letter of a script without spaces follows. What the
//! user typed keeps its line breaks, and the backslashes of its paths. Long texts are shown
//! verbatim.

use super::code::{self, Language};
use super::html::is_allowed_address;
use super::markup::{Markup, SectionLimits, Tag};
use pulldown_cmark::{
    Alignment, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag as Start, TagEnd,
    TextMergeWithOffset,
};
use std::borrow::Cow;

/// The length in bytes above which texts are shown verbatim.
const LONGEST: usize = 256 * 1024;

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

/// The author of a text, who decides how it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    /// The user, who does not write Markdown on purpose: a line break is one, and a backslash or an
    /// entity is shown as it was typed (`C:\Users\Bob\.config`). A backslash still protects the
    /// character after it.
    User,
    /// A model or a program, which writes Markdown.
    Program,
}

/// Returns the Markdown extensions that are enabled.
pub fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// Appends a text as Markdown.
pub fn push(text: &str, author: Author, markup: &mut Markup) {
    if text.trim().is_empty() {
        return;
    }
    if text.len() > LONGEST {
        return code::output(text, markup);
    }
    let text = &*emphasis_apart(text);
    markup.element(Tag::Prose, |markup| {
        markup.section(|markup| {
            let mut writer = Writer {
                markup,
                source: text,
                author,
                code: None,
                aligned: Vec::new(),
                cell: 0,
                head: false,
                links: 0,
                in_html: false,
                level: 0,
            };
            for (event, range) in
                TextMergeWithOffset::new(Parser::new_ext(text, options()).into_offset_iter())
            {
                writer.event(event, range);
            }
        });
    });
}

/// What [`emphasis_apart`] inserts. It is neither a space nor punctuation, and is removed from the
/// result.
const APART: char = '\u{2060}';

/// Separates asterisks from punctuation if a letter of a script without spaces is on their other
/// side, as in `**注意：**この`: by the rules of CommonMark, they would neither open nor close emphasis.
fn emphasis_apart(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || !text.contains('*') || text.contains(APART) {
        return Cow::Borrowed(text);
    }
    // The scripts without spaces come after this character: Chinese, Japanese, Korean.
    let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() && c >= '\u{2e80}');
    let is_mark =
        |c: Option<char>| c.is_some_and(|c| !c.is_alphanumeric() && !c.is_whitespace() && c != '*');

    let mut apart = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(at) = rest.find('*') {
        let run = rest[at..].bytes().take_while(|&byte| byte == b'*').count();
        apart.push_str(&rest[..at]);
        let before = apart.chars().last();
        let after = rest[at + run..].chars().next();
        if is_mark(before) && is_letter(after) {
            apart.push(APART);
        }
        apart.push_str(&rest[at..at + run]);
        if is_letter(before) && is_mark(after) {
            apart.push(APART);
        }
        rest = &rest[at + run..];
    }
    apart.push_str(rest);
    Cow::Owned(apart)
}

/// Finds the byte range of the first address of the web in a text.
pub(super) fn address_in(text: &str) -> Option<std::ops::Range<usize>> {
    let mut from = 0;
    while let Some(found) = memchr::memchr(b':', &text.as_bytes()[from..]) {
        let colon = from + found;
        from = colon + 1;
        if !text[from..].starts_with("//") {
            continue;
        }
        from += "//".len();
        let Some(start) = scheme_start(&text[..colon]) else {
            continue;
        };

        let is_end = |c: char| {
            c.is_whitespace() || matches!(c, '<' | '>' | '"' | '`' | '|') || c > '\u{2e7f}'
        };
        let end = match text[from..].find(is_end) {
            Some(len) => from + len,
            None => text.len(),
        };
        let address = without_punctuation(&text[start..end]);
        // A scheme alone is no address.
        if start + address.len() > from {
            return Some(start..start + address.len());
        }
    }
    None
}

/// The offset of the scheme at the end of a text, unless it is the end of a longer word.
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
fn without_punctuation(address: &str) -> &str {
    let mut address = address.trim_end_matches(['.', ',', ';', ':', '!', '?', '\'', '*', '_', '~']);
    // A bracket at the end belongs to the sentence, unless the address has opened it.
    for (open, close) in [('(', ')'), ('[', ']')] {
        while address.ends_with(close)
            && address.matches(close).count() > address.matches(open).count()
        {
            address = &address[..address.len() - 1];
        }
    }
    address
}

/// The number of bytes of a text that are read for one line.
const LINE: usize = 4 * 1024;

/// Returns a text on one line, without its markup, for rows.
pub fn one_line(text: &str, author: Author) -> String {
    let mut end = LINE.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let source = &text[..end];
    let mut line = String::new();
    for (event, range) in Parser::new_ext(source, options()).into_offset_iter() {
        match event {
            Event::Text(_) if author == Author::User => line.push_str(as_typed(source, range)),
            Event::HardBreak if author == Author::User && ends_in_backslash(source, &range) => {
                line.push_str("\\ ");
            }
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

/// Returns a text of the parser as it is in the source: with its entities, and with the backslashes
/// of its escapes, also the one before it.
fn as_typed(source: &str, range: std::ops::Range<usize>) -> &str {
    let before = &source.as_bytes()[..range.start];
    let backslashes = before.iter().rev().take_while(|&&byte| byte == b'\\');
    // Of an even number, each escapes the next one, and the last is a text of its own.
    let is_escaped = backslashes.count() % 2 == 1;
    &source[range.start - usize::from(is_escaped)..range.end]
}

/// Whether a line break of the parser was made with a backslash.
fn ends_in_backslash(source: &str, line_break: &std::ops::Range<usize>) -> bool {
    source[line_break.clone()].starts_with('\\')
}

fn is_inline(end: TagEnd) -> bool {
    matches!(
        end,
        TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link | TagEnd::Image
    )
}

struct Writer<'a, 'm> {
    markup: &'m mut Markup,
    source: &'a str,
    author: Author,
    /// The language and text of the open code block.
    code: Option<(String, String)>,
    /// The alignment of the columns of the open table.
    aligned: Vec<Alignment>,
    /// The column of the next cell.
    cell: usize,
    /// Whether the row is the head of its table.
    head: bool,
    /// The level of the last heading.
    level: usize,
    /// The number of open links and images, which contain no further links.
    links: usize,
    /// Whether a block of HTML is open that has a line already.
    in_html: bool,
}

impl Writer<'_, '_> {
    fn event(&mut self, event: Event, range: std::ops::Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(tag) => self.end(tag, range),
            Event::Text(text) => match &mut self.code {
                Some((_, code)) => code.push_str(&whole(&text)),
                None => self.prose(&text, range),
            },
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.markup.words(Tag::Code, &whole(&text));
            }
            Event::Html(text) => {
                // The newlines are between the lines of a block: the last one has none.
                if self.in_html {
                    self.markup.text("\n");
                }
                self.in_html = true;
                self.text(&whole(text.trim_end_matches('\n')));
            }
            Event::InlineHtml(text) => self.text(&whole(&text)),
            Event::SoftBreak if self.author == Author::Program => self.markup.text("\n"),
            Event::SoftBreak => self.markup.element(Tag::Break, |_| ()),
            Event::HardBreak => {
                if self.author == Author::User && ends_in_backslash(self.source, &range) {
                    self.markup.text("\\");
                }
                self.markup.element(Tag::Break, |_| ());
            }
            Event::Rule => self.markup.element(Tag::Rule, |_| ()),
            Event::TaskListMarker(done) => {
                self.markup
                    .element_with(Tag::Task, if done { "x" } else { "" }, |_| ());
            }
            Event::FootnoteReference(name) => self.markup.text(&format!("[^{name}]")),
        }

        let limits = if self.markup.is_between_blocks() {
            FULL_BETWEEN_BLOCKS
        } else {
            FULL
        };
        // Code is collected, and written in sections of its own.
        if self.code.is_none() {
            self.markup.divide_if_full(limits);
        }
    }

    fn start(&mut self, tag: Start, range: std::ops::Range<usize>) {
        match tag {
            Start::Paragraph => self.markup.open(Tag::Paragraph),
            // Raw HTML is text, in a paragraph that keeps its lines.
            Start::HtmlBlock => {
                self.in_html = false;
                self.markup.open(Tag::Verbatim);
            }
            Start::Heading { level, .. } => self.heading(level),
            Start::BlockQuote(_) => self.markup.open(Tag::Quote),
            Start::CodeBlock(kind) => {
                let language = match kind {
                    CodeBlockKind::Fenced(info) => info
                        .split([' ', ',', '{'])
                        .next()
                        .unwrap_or_default()
                        .to_owned(),
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
            Start::TableHead | Start::TableRow => {
                self.cell = 0;
                self.head = tag == Start::TableHead;
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
            TagEnd::Image | TagEnd::Link => {
                self.links -= 1;
                self.markup.close();
            }
            _ => self.markup.close(),
        }
    }

    fn link(&mut self, address: &str) {
        let address = whole(address);
        self.links += 1;
        let target = if is_allowed_address(&address) {
            &*address
        } else {
            ""
        };
        self.markup.open_with(Tag::Link, target);
    }

    /// Appends the text at this place of the source: what the user typed as it was typed.
    fn prose(&mut self, text: &str, range: std::ops::Range<usize>) {
        let text = match self.author {
            Author::User => as_typed(self.source, range),
            Author::Program => text,
        };
        self.text(&whole(text));
    }

    /// Appends text, with links for the addresses in it.
    fn text(&mut self, text: &str) {
        if self.links > 0 {
            return self.markup.text(text);
        }
        let mut rest = text;
        while let Some(range) = address_in(rest) {
            self.markup.text(&rest[..range.start]);
            let address = &rest[range.clone()];
            let to = if is_allowed_address(address) {
                address
            } else {
                ""
            };
            self.markup.element_with(Tag::Link, to, |m| m.text(address));
            rest = &rest[range.end..];
        }
        self.markup.text(rest);
    }

    fn table_cell(&mut self) {
        let aligned = match self.aligned.get(self.cell) {
            Some(Alignment::Center) => "center",
            Some(Alignment::Right) => "right",
            Some(Alignment::Left) => "left",
            _ => "",
        };
        self.cell += 1;
        let tag = if self.head { Tag::HeadCell } else { Tag::Cell };
        self.markup.open_with(tag, aligned);
    }

    /// Opens a heading, at most one level below the one before it: screen readers show headings as
    /// an outline.
    fn heading(&mut self, level: HeadingLevel) {
        self.level = (level as usize).min(self.level + 1).min(3);
        let tag = match self.level {
            1 => Tag::Heading1,
            2 => Tag::Heading2,
            _ => Tag::Heading3,
        };
        self.markup.open(tag);
    }
}

/// Returns a text without what [`emphasis_apart`] inserted.
fn whole(text: &str) -> Cow<'_, str> {
    if text.contains(APART) {
        Cow::Owned(text.replace(APART, ""))
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html_of(text: &str) -> String {
        let markup = Markup::of(|m| push(text, Author::Program, m));
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
    fn what_looks_like_html_keeps_its_lines() {
        let html = html_of("<plan>\n1. read\n  2. fix\n</plan>\n\nafter");
        assert!(
            html.contains("<p class=\"verbatim\">&lt;plan&gt;\n1. read\n  2. fix\n&lt;/plan&gt;"),
            "{html}"
        );
    }

    /// The text of what the user typed, without its elements.
    fn typed(text: &str) -> String {
        let markup = Markup::of(|m| push(text, Author::User, m));
        let mut shown = String::new();
        for event in markup.events() {
            match event {
                crate::markup::Event::Text(text) => shown += text,
                crate::markup::Event::Open(Tag::Break, _) => shown += "\n",
                _ => {}
            }
        }
        shown
    }

    #[test]
    fn what_the_user_typed_keeps_its_backslashes() {
        for text in [
            r"look at C:\Users\Bob\.config\_x, please",
            r"\_x and \\server\share\_y\(1)",
            r"\\[x \\\_ \* &amp; &copy; \&amp;",
            r"a\*b\*c in C:\*.txt",
            "C:\\Users\\\nD:\\-x\\",
        ] {
            assert_eq!(typed(text), text);
            let line = text.replace('\n', " ");
            assert_eq!(one_line(text, Author::User), line);
        }
        // Markdown that the user wrote is still read as such, and code is code.
        assert_eq!(typed(r"**C:\_x** and `\_y`"), r"C:\_x and \_y");
        assert_eq!(typed(r"\*no\* \`a\`"), r"\*no\* \`a\`");
    }

    #[test]
    fn one_line_has_no_marks() {
        let text = "# Plan\n\nTwo **of** `three`\nare [done](https://a.b):\n\n- [x] one\n- [ ] two\n\n<b>raw</b>\n";
        assert_eq!(
            one_line(text, Author::Program),
            "Plan Two of three are done: [x] one [ ] two <b>raw</b>"
        );
        let long = "é".repeat(LINE);
        assert_eq!(one_line(&long, Author::Program).chars().count(), LINE / 2);
        assert_eq!(one_line("", Author::User), "");
    }
}
