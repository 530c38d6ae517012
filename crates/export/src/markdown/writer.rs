//! Markup as Markdown.

use super::escape::{
    EscapeContext, NO_BREAK_SPACE, escape_markdown, inline_code, push_escaped, push_with_addresses,
};
use crate::html::Html;
use crate::markup::{Event, Markup, Tag};
use crate::source::Display;
use fence::{Fence, is_fenced, longest_run_inside};

mod fence;

/// Converts markup to Markdown. `is_in_document` returns whether the document contains the entry
/// with a given number; a call whose result is in the document is left out.
pub fn markup_to_markdown(
    markup: &Markup,
    display: Display,
    is_in_document: &dyn Fn(&str) -> bool,
) -> String {
    let mut writer = MarkdownWriter::new(display);
    writer.write_markup(markup, is_in_document);
    writer.finish()
}

/// Converts markup to a quotation in Markdown. `is_in_document` is as in [`markup_to_markdown`].
pub fn markup_to_quotation(
    markup: &Markup,
    display: Display,
    is_in_document: &dyn Fn(&str) -> bool,
) -> String {
    let mut writer = MarkdownWriter::new(display);
    writer.open_element(Tag::Quote, "");
    writer.write_markup(markup, is_in_document);
    writer.close_element();
    writer.finish()
}

/// Writes markup as Markdown, event by event.
#[derive(Default)]
struct MarkdownWriter {
    out: String,
    display: Display,
    /// The open elements, outermost first.
    open_elements: Vec<OpenElement>,
    /// What begins each line, outermost first: `> ` for an open quote, spaces for an open list
    /// item.
    line_prefixes: Vec<String>,
    /// The text of the open element that is collected; see [`is_collected`].
    collected: Option<String>,
    /// The fenced block that is open.
    fence: Option<Fence>,
    /// Whether the next block begins after a blank line, as it does after the end of a block.
    needs_blank_line: bool,
    /// Whether the current line has only its prefix and the marker of a quote or an item so far.
    is_at_line_start: bool,
    /// The number of the next item of each open numbered list, outermost first.
    next_numbers: Vec<u64>,
    /// The rule for each cell of the current row, such as `---:`. Rules are written below the head
    /// of a table.
    column_rules: Vec<&'static str>,
}

/// An element of the markup that is not closed yet.
struct OpenElement {
    tag: Tag,
    /// The value of its tag, such as the address of a link.
    value: String,
}

impl MarkdownWriter {
    fn new(display: Display) -> Self {
        MarkdownWriter {
            display,
            needs_blank_line: true,
            is_at_line_start: true,
            ..MarkdownWriter::default()
        }
    }

    /// Writes markup. A call whose result is in the document is left out: it is shown there.
    fn write_markup(&mut self, markup: &Markup, is_in_document: &dyn Fn(&str) -> bool) {
        let mut events =
            markup.events_without(|tag, value| tag == Tag::Call && is_in_document(value));
        while let Some(event) = events.next() {
            match event {
                Event::Text(text) => self.write_text(text),
                Event::Open(tag, value) if is_fenced(tag) => {
                    // The length of the fence depends on the text inside. So the events of the
                    // element are read twice: here by a copy of the iterator, and again by this
                    // loop.
                    let longest_run = longest_run_inside(events.clone());
                    self.open_fence(tag, value, longest_run);
                }
                Event::Open(tag, value) => self.open_element(tag, value),
                Event::Close => self.close_element(),
                Event::Section | Event::SectionEnd | Event::Word(_) | Event::WordEnd => {}
            }
        }
    }

    /// Begins a block on a new line, after a blank line if [`Self::needs_blank_line`] is set. The
    /// first block of a quote or an item stays on the line of the marker.
    fn begin_block(&mut self) {
        if self.needs_blank_line {
            self.push_blank_line();
        } else if !self.is_at_line_start {
            self.break_line();
        }
        self.needs_blank_line = false;
    }

    /// Ends the line, and begins the next one with the prefix.
    fn break_line(&mut self) {
        self.out.push('\n');
        for prefix in &self.line_prefixes {
            self.out += prefix;
        }
        self.is_at_line_start = true;
    }

    /// Ends the line, and begins another one after a blank line. The blank line has the prefix,
    /// too: without it, the line would end a quote.
    fn push_blank_line(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with('\n') {
            self.out.truncate(self.out.trim_end_matches(' ').len());
            self.out.push('\n');
        }
        self.out += self.line_prefixes.concat().trim_end_matches(' ');
        self.break_line();
    }

    /// Writes text of the session, escaped. Text in a fence is written as it is. Text of a
    /// collected element is only stored. When the element ends, [`Self::close_collected`] writes it
    /// as code or HTML, which need another escape.
    fn write_text(&mut self, text: &str) {
        // Elements in a fence have no effect, so no text is collected there.
        if self.fence.is_some() {
            return self.write_fenced_text(text);
        }
        if let Some(collected) = &mut self.collected {
            *collected += text;
            return;
        }

        let in_link = self.is_inside(Tag::Link);
        let in_verbatim = self.is_inside(Tag::Verbatim);
        for (index, line) in text.split('\n').enumerate() {
            let follows_line_break = index > 0;
            if follows_line_break {
                self.write_break_in_text();
            }
            if in_verbatim {
                self.write_verbatim_line(line, in_link);
            } else {
                self.write_line(line, in_link);
            }
        }
    }

    /// Writes a line break of the text, in the form that the element around it needs.
    fn write_break_in_text(&mut self) {
        if self.is_inside(Tag::Cell) || self.is_inside(Tag::HeadCell) {
            // A row of a table is a single line.
            self.out.push(' ');
        } else if self.is_inside(Tag::Verbatim) {
            self.push_hard_break();
        } else {
            self.break_line();
        }
    }

    /// Whether an element with this tag is open, at any depth.
    fn is_inside(&self, tag: Tag) -> bool {
        self.open_elements.iter().any(|element| element.tag == tag)
    }

    /// Ends the line with a hard line break, so that the displayed text has the break, too.
    fn push_hard_break(&mut self) {
        self.push("\\");
        self.break_line();
    }

    /// Writes a line of text of the session, escaped, and keeps its spaces: Markdown would drop the
    /// spaces at the start of a line, and join several to one. Such spaces become no-break spaces.
    /// The last space of a run within the line stays an ordinary one, so that long lines wrap.
    fn write_verbatim_line(&mut self, line: &str, in_link: bool) {
        let mut unwritten = line;
        while let Some(run_start) = self.find_kept_spaces(unwritten) {
            let (words, from_run) = unwritten.split_at(run_start);
            self.write_line(words, in_link);
            let after_run = from_run.trim_start_matches(' ');
            let run_len = from_run.len() - after_run.len();
            // False once words were written before the run.
            if self.is_at_line_start {
                self.push(&NO_BREAK_SPACE.repeat(run_len));
            } else {
                // Within a line, `find_kept_spaces` finds only runs of two or more.
                self.push(&NO_BREAK_SPACE.repeat(run_len - 1));
                self.push(" ");
            }
            unwritten = after_run;
        }
        self.write_line(unwritten, in_link);
    }

    /// Returns the offset of the first spaces that Markdown would not keep: a space at the start of
    /// the line, or a run of two or more.
    fn find_kept_spaces(&self, text: &str) -> Option<usize> {
        if self.is_at_line_start && text.starts_with(' ') {
            return Some(0);
        }
        text.find("  ")
    }

    /// Writes a line of text of the session, escaped, without white space at its start. Addresses
    /// in the text become links, unless the text is `in_link` already.
    fn write_line(&mut self, line: &str, in_link: bool) {
        let line_start = self.out.len();
        let context = EscapeContext {
            starts_line: self.is_at_line_start,
            display: self.display,
        };
        if in_link {
            push_escaped(line, context, &mut self.out);
        } else {
            push_with_addresses(line, context, &mut self.out);
        }
        if self.is_at_line_start {
            self.remove_indent(line_start);
        }
    }

    /// Removes the indentation of the text that was written from the offset `line_start` on:
    /// indentation has a meaning in Markdown. If nothing remains, the line is still at its start.
    fn remove_indent(&mut self, line_start: usize) {
        let line = &self.out[line_start..];
        let indent_len = line.len() - line.trim_start().len();
        self.out.drain(line_start..line_start + indent_len);
        self.is_at_line_start = self.out.len() == line_start;
    }

    /// Appends Markdown that needs no escape to the line.
    fn push(&mut self, markdown: &str) {
        self.out += markdown;
        self.is_at_line_start = false;
    }

    /// Opens an element. There are three cases:
    ///
    /// - Within a fence, elements have no effect.
    /// - Within an element that is collected, only the parts of a head line have an effect.
    /// - Elsewhere, the element writes its marker, or begins to collect its text.
    fn open_element(&mut self, tag: Tag, value: &str) {
        self.open_elements.push(OpenElement {
            tag,
            value: value.to_owned(),
        });
        if self.fence.is_some() {
            return;
        }
        if let Some(collected) = &mut self.collected {
            return begin_head_part(tag, collected);
        }
        if is_block(tag) {
            self.begin_block();
        }
        self.write_opening(tag, value);
    }

    /// Writes the marker that begins an element, or begins to collect the text of the element.
    fn write_opening(&mut self, tag: Tag, value: &str) {
        match tag {
            Tag::Heading1 => self.push("### "),
            Tag::Heading2 => self.push("#### "),
            Tag::Heading3 => self.push("##### "),
            Tag::Numbers => self.next_numbers.push(value.parse().unwrap_or(1)),
            Tag::Item => self.begin_item(),
            Tag::Task => self.push(if value == "x" { "[x] " } else { "[ ] " }),
            Tag::Quote | Tag::Alert => {
                self.push("> ");
                self.line_prefixes.push("> ".to_owned());
                // The first block of the quote is on the line of its marker.
                self.is_at_line_start = true;
            }
            Tag::Rule => self.push("---"),
            Tag::Break => self.push_hard_break(),
            // Without an allowed address, a link is only its text.
            Tag::Link if !value.is_empty() => self.push("["),
            Tag::Row => self.begin_row(),
            Tag::Cell | Tag::HeadCell => self.begin_cell(value),
            Tag::Image => self.write_image_note(value),
            tag if is_collected(tag) => self.collected = Some(String::new()),
            tag => {
                if let Some(mark) = emphasis_mark(tag) {
                    self.push(mark);
                }
            }
        }
    }

    /// Writes a note in place of an image, such as `*(image: image/png)*`. `value` is the value of
    /// [`Tag::Image`]: the type of the image, then its name.
    fn write_image_note(&mut self, value: &str) {
        let image_type = value.split(' ').next().unwrap_or_default();
        let context = EscapeContext {
            starts_line: false,
            display: self.display,
        };
        let image_type = escape_markdown(image_type, context);
        self.push(&format!("*(image: {image_type})*"));
    }

    /// Begins a row of a table on a line of its own. Each cell of the row then adds its rule to
    /// `column_rules`.
    fn begin_row(&mut self) {
        if !self.is_at_line_start {
            self.break_line();
        }
        self.column_rules.clear();
        self.push("|");
    }

    /// Begins a cell of a table, and keeps the rule with its alignment for the row of rules.
    fn begin_cell(&mut self, alignment: &str) {
        self.column_rules.push(match alignment {
            "left" => ":---",
            "center" => ":---:",
            "right" => "---:",
            _ => "---",
        });
        self.push(" ");
    }

    /// Begins an item with its marker. Further lines of the item are indented by the length of the
    /// marker.
    fn begin_item(&mut self) {
        if !self.is_at_line_start {
            self.break_line();
        }
        let marker = self.take_next_marker();
        self.line_prefixes.push(" ".repeat(marker.len()));
        self.push(&marker);

        // The first block of the item is on the line of its marker: with these values,
        // `begin_block` breaks no line. Set after `push`, which clears `is_at_line_start`.
        self.needs_blank_line = false;
        self.is_at_line_start = true;
    }

    /// Returns the marker of the next item of the innermost list: `- `, or `3. ` if the list is
    /// numbered. Such a marker is returned only once.
    fn take_next_marker(&mut self) -> String {
        let is_list = |element: &&OpenElement| matches!(element.tag, Tag::List | Tag::Numbers);
        let innermost_list = self.open_elements.iter().rfind(is_list);
        let is_numbered = innermost_list.is_some_and(|list| list.tag == Tag::Numbers);
        match self.next_numbers.last_mut() {
            Some(next_number) if is_numbered => {
                let marker = format!("{next_number}. ");
                *next_number += 1;
                marker
            }
            _ => "- ".to_owned(),
        }
    }

    /// Closes the element opened last. [`MarkdownWriter::open_element`] lists the three cases.
    fn close_element(&mut self) {
        let Some(OpenElement { tag, value }) = self.open_elements.pop() else {
            return;
        };
        if self.fence.is_some() {
            if is_fenced(tag) {
                self.close_fence();
            }
            return;
        }
        if let Some(collected) = &mut self.collected {
            end_head_part(tag, collected);
            return self.close_collected(tag);
        }

        self.write_closing(tag, &value);
        // Items follow each other without a blank line.
        if tag == Tag::Item {
            self.needs_blank_line = false;
        } else if is_block(tag) || matches!(tag, Tag::Fold | Tag::Tool) {
            self.needs_blank_line = true;
        }
    }

    /// Writes the marker that ends an element, or ends its lines. `value` is the value of its tag.
    fn write_closing(&mut self, tag: Tag, value: &str) {
        match tag {
            Tag::Link if !value.is_empty() => {
                // Within `<…>`, these characters have a meaning.
                let address = value
                    .replace('\\', "%5C")
                    .replace('<', "%3C")
                    .replace('>', "%3E");
                self.push(&format!("](<{address}>)"));
            }
            Tag::Cell | Tag::HeadCell => self.push(" |"),
            Tag::Row if self.is_head_row() => self.write_row_of_rules(),
            Tag::Quote | Tag::Alert | Tag::Item => {
                self.line_prefixes.pop();
            }
            Tag::Numbers => {
                self.next_numbers.pop();
            }
            Tag::Fold | Tag::Tool => {
                // After a blank line, so that this is HTML again.
                self.needs_blank_line = true;
                self.begin_block();
                self.push("</details>");
            }
            tag => {
                if let Some(mark) = emphasis_mark(tag) {
                    self.push(mark);
                }
            }
        }
    }

    /// Writes the row of rules with the alignment of each column. Markdown requires it below the
    /// first row of a table.
    fn write_row_of_rules(&mut self) {
        self.break_line();
        let mut rules = "|".to_owned();
        for rule in &self.column_rules {
            rules.push_str(&format!(" {rule} |"));
        }
        self.push(&rules);
    }

    /// Whether the row that has just ended is the first one of its table. It is if the line above
    /// it, without its prefix, does not begin with `|`.
    fn is_head_row(&self) -> bool {
        let line_above = self.out.rsplit('\n').nth(1).unwrap_or_default();
        !line_above.trim_start_matches(['>', ' ']).starts_with('|')
    }

    /// Closes an element while text is collected, which is written only now: the summary of a fold
    /// or the head line of a tool begins `<details>`, and any other text becomes inline code.
    ///
    /// Does nothing for an element within the collected one, whose text is a part of that text.
    fn close_collected(&mut self, tag: Tag) {
        let is_within_collected = !is_collected(tag);
        if is_within_collected {
            return;
        }
        let collected = self.collected.take().unwrap_or_default();
        match tag {
            // Within a line, such as `code` and the link to an entry.
            Tag::Code | Tag::Entry => self.push(&inline_code(&collected)),
            // On a line of its own.
            Tag::Call => {
                self.begin_block();
                // Control characters are removed: line breaks, and the placeholders of the name and
                // the subject (see `head_marks`), because code cannot contain tags.
                let call = collected.replace(|c: char| c < ' ', "");
                self.push(&inline_code(&call));
                self.needs_blank_line = true;
            }
            // A summary or a head line.
            _ => self.begin_details(&collected),
        }
    }

    /// Begins `<details>` with its summary, the collected text of a head line. The end tag is
    /// written when the fold or the tool is closed.
    fn begin_details(&mut self, head_line: &str) {
        let mut html = Html::default();
        html.push_escaped(&head_line.replace('\n', " "));
        let mut summary = html.to_string();
        // The placeholders are replaced after the text is escaped, so that their tags are not.
        for (placeholder, html_tag) in HEAD_PLACEHOLDERS {
            summary = summary.replace(placeholder, html_tag);
        }

        // A blank line precedes the HTML, whatever is before it.
        self.needs_blank_line = true;
        self.begin_block();
        self.push(&format!("<details><summary>{summary}</summary>"));
        // A blank line also follows it, before the next block: it ends the HTML block, so that
        // Markdown is read after it.
        self.needs_blank_line = true;
    }

    /// Returns the Markdown, which ends in one line break unless it is empty.
    fn finish(mut self) -> String {
        self.out.truncate(self.out.trim_end().len());
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        self.out
    }
}

/// Begins a part of a head line that is collected: the name, the subject or a mark, with a space
/// before it. Other elements have no effect there.
fn begin_head_part(tag: Tag, head_line: &mut String) {
    let Some(marks) = head_marks(tag) else {
        return;
    };
    if !head_line.is_empty() {
        head_line.push(' ');
    }
    head_line.push_str(marks.begin);
}

/// Ends a part of a head line that [`begin_head_part`] has begun.
fn end_head_part(tag: Tag, head_line: &mut String) {
    if let Some(marks) = head_marks(tag) {
        head_line.push_str(marks.end);
    }
}

/// Whether a blank line precedes and follows the element.
fn is_block(tag: Tag) -> bool {
    matches!(
        tag,
        Tag::Paragraph
            | Tag::Verbatim
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

/// Whether the text of the element is collected, and written only when the element ends. The text
/// becomes inline code, whose delimiter depends on the text, or HTML.
fn is_collected(tag: Tag) -> bool {
    matches!(
        tag,
        Tag::Code | Tag::Entry | Tag::Summary | Tag::ToolHead | Tag::Call
    )
}

/// Returns the mark on both sides of an emphasized text, such as `**`. `None` for another element.
fn emphasis_mark(tag: Tag) -> Option<&'static str> {
    match tag {
        Tag::Emphasis | Tag::Note => Some("*"),
        Tag::Strong => Some("**"),
        Tag::Struck => Some("~~"),
        _ => None,
    }
}

/// What is written before and after an element of a head line.
struct HeadMarks {
    begin: &'static str,
    end: &'static str,
}

/// Returns the marks around an element of a head line in the collected text: two placeholders for
/// HTML (see [`HEAD_PLACEHOLDERS`]), or parentheses. `None` for an element that gets no marks.
fn head_marks(tag: Tag) -> Option<HeadMarks> {
    match tag {
        Tag::Name | Tag::BadMark => Some(HeadMarks {
            begin: BOLD_START,
            end: BOLD_END,
        }),
        Tag::Subject => Some(HeadMarks {
            begin: CODE_START,
            end: CODE_END,
        }),
        Tag::Mark => Some(HeadMarks {
            begin: "(",
            end: ")",
        }),
        _ => None,
    }
}

// Placeholders for HTML tags: control characters, which no text of markup contains.
const BOLD_START: &str = "\x11";
const BOLD_END: &str = "\x12";
const CODE_START: &str = "\x13";
const CODE_END: &str = "\x14";

/// The placeholders and the HTML tags that replace them.
const HEAD_PLACEHOLDERS: [(&str, &str); 4] = [
    (BOLD_START, "<b>"),
    (BOLD_END, "</b>"),
    (CODE_START, "<code>"),
    (CODE_END, "</code>"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commonmark;
    use pulldown_cmark::{Event, Parser};

    fn again(text: &str) -> String {
        super::markup_to_markdown(
            &Markup::from_fn(|m| commonmark::push_markdown(text, m)),
            Display::Forge,
            &|_| false,
        )
    }

    fn shape(text: &str) -> String {
        Markup::from_fn(|m| commonmark::push_markdown(text, m)).finish()
    }

    #[test]
    fn markdown_comes_back_as_it_means() {
        let texts = [
            "### One\n\nTwo *three* **four** `five` ~~six~~ [seven](https://a.b/c)\n\n- a\n- b\n  - c\n\n1. x\n2. y\n\n> quoted\n> more\n\n```rust\nfn f() {}\n```\n",
            "a * b _ c \\* [x] <b>html</b> &amp; 1. not a list\n\n\\# no heading\n",
            "| a | b |\n| --- | --- |\n| 1 \\| 2 | `3` |\n\nend",
            "| a | b | c | d |\n| :--- | ---: | :---: | --- |\n| 1 | 2 | 3 | 4 |",
            "- one\n\n  two\n\n  ```\n  code ``` here\n  ```\n- three",
            "1. ```sh\n   ls\n   ```\n2. > ```\n   > a\n   > ```",
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
                let markup = Markup::from_fn(|m| {
                    m.open(Tag::Output);
                    for piece in &pieces {
                        m.push_section(|m| m.push_text(piece));
                    }
                    m.close();
                });
                assert_eq!(
                    super::markup_to_markdown(&markup, Display::Forge, &|_| false),
                    wanted,
                    "{text:?}"
                );
            }
        }
    }

    #[test]
    fn no_content_ends_the_block_it_stands_in() {
        let hostile =
            "```\n</details>\n# out\n````\n<script>x</script>\n\n| a |\n[l]: http://x\n---\n* * *";
        let markup = Markup::from_fn(|m| {
            m.open(Tag::Fold);
            m.push_text_element(Tag::Summary, hostile);
            m.push_section(|m| {
                crate::code::push_output(hostile, m);
                m.push_text_element(Tag::Paragraph, hostile);
            });
            m.close();
        });
        let found = super::markup_to_markdown(&markup, Display::Forge, &|_| false);
        let mut html = String::new();
        let mut headings = 0;
        for event in Parser::new_ext(&found, commonmark::parser_options()) {
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
