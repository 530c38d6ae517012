//! Converts what a person typed to markup: each character as it was typed. Only fenced code, code
//! spans and addresses are marked.
//!
//! People paste stack traces, tables of text and `__names__` between their words. Markdown would
//! reflow these, and print names in bold. So indentation and line breaks stay, and lines that are
//! laid out in columns become a block of fixed width.

use super::code::{self, Language};
use super::commonmark::push_linked_text;
use super::markup::{Markup, REMAINDER, SectionLimits, Tag};
use pisess_core::format::format_count;
use std::ops::Range;

/// The author of a text, who decides how it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    /// The user, whose text is shown as it was typed.
    User,
    /// A model or a program, which writes Markdown.
    Program,
}

/// The maximum number of lines of a text that is shown whole.
const LONGEST_UNFOLDED: usize = 40;

/// The number of lines before the fold of a longer text.
const LINES_BEFORE_FOLD: usize = 24;

/// The size at which a section ends.
const FULL: SectionLimits = SectionLimits {
    bytes: 16 * 1024,
    elements: 400,
};

/// The length in bytes above which a line is written in pieces of this length.
const LONGEST_PIECE: usize = 8 * 1024;

/// Appends what a person typed, in sections. If the text has more than [`LONGEST_UNFOLDED`] lines,
/// those after the first [`LINES_BEFORE_FOLD`] are folded. A blank text is left out.
pub fn push_typed(text: &str, markup: &mut Markup) {
    let text = trim_blank_lines(text);
    if text.is_empty() {
        return;
    }

    let parts = split_typed(text);
    let line_count = text.lines().count();
    if line_count <= LONGEST_UNFOLDED {
        return push_parts(text, &parts, markup);
    }

    let (shown, folded) = divide_parts(&parts, line_start(text, LINES_BEFORE_FOLD));
    push_parts(text, &shown, markup);
    let title = format_count(line_count - LINES_BEFORE_FOLD, "more line", "more lines");
    markup.push_fold(REMAINDER, &title, |m| push_parts(text, &folded, m));
}

/// Removes blank lines at the start of a text, and white space at its end. The first line keeps its
/// indentation.
fn trim_blank_lines(text: &str) -> &str {
    let mut text = text.trim_end();
    while let Some((line, below)) = text.split_once('\n')
        && line.trim().is_empty()
    {
        text = below;
    }
    text
}

/// Returns the offset at which the line with this index starts; the length of the text if it has no
/// such line.
fn line_start(text: &str, line_index: usize) -> usize {
    if line_index == 0 {
        return 0;
    }
    match memchr::memchr_iter(b'\n', text.as_bytes()).nth(line_index - 1) {
        Some(newline) => newline + 1,
        None => text.len(),
    }
}

/// A part of a text: some of its lines, which are shown in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TypedPart<'t> {
    kind: PartKind<'t>,
    start: usize,
    /// The offset behind its last line.
    end: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PartKind<'t> {
    /// A paragraph of words, whose lines may be indented.
    Words,
    /// Paragraphs in columns: a table of text, a diagram, a stack trace, code without a fence.
    Columns,
    /// The lines between two fences, in the language that the first fence names.
    Code { language: &'t str },
}

/// Divides a text into its parts, without the blank lines and the fences between them:
///
/// ~~~text
/// Why does it fail?                         Words
///
/// error[E0425]: cannot find `x`             Columns, because the next line is indented
///    --> src/main.rs:2
///
/// ```rust
/// fn main() {}                              Code in Rust
/// ```
/// ~~~
fn split_typed(text: &str) -> Vec<TypedPart<'_>> {
    let mut parts = Vec::new();
    let mut fences = FenceSearch::new(text);
    let mut unfenced_start = 0;
    let mut line_start = 0;
    while line_start < text.len() {
        let Some(block) = fences.read_block(line_start) else {
            line_start = next_line(text, line_start);
            continue;
        };
        parts.append(&mut split_paragraphs(text, unfenced_start..line_start));
        parts.push(TypedPart {
            kind: PartKind::Code {
                language: block.language,
            },
            start: block.code.start,
            end: block.code.end,
        });
        unfenced_start = block.end;
        line_start = block.end;
    }
    parts.append(&mut split_paragraphs(text, unfenced_start..text.len()));
    parts
}

/// Returns the offset of the line after the one that begins at `line_start`, or the end of the
/// text.
fn next_line(text: &str, line_start: usize) -> usize {
    match memchr::memchr(b'\n', &text.as_bytes()[line_start..]) {
        Some(distance) => line_start + distance + 1,
        None => text.len(),
    }
}

/// Code between two fences.
struct FencedBlock<'t> {
    language: &'t str,
    /// The lines between the fences.
    code: Range<usize>,
    /// The offset behind the line of the second fence.
    end: usize,
}

/// The allowed lengths of a fence in backticks. A longer run is text. For each length, the text may
/// be searched to its end once, so there are few.
const FENCE_LENGTHS: Range<usize> = 3..10;

/// A line that begins code, such as `` ```rust ``.
struct OpeningFence<'t> {
    /// The number of backticks.
    len: usize,
    language: &'t str,
}

impl<'t> OpeningFence<'t> {
    /// Reads a line; `None` if it is not a fence.
    fn read(line: &'t str) -> Option<Self> {
        let line = line.trim();
        let info = line.trim_start_matches('`');
        let len = line.len() - info.len();
        if !FENCE_LENGTHS.contains(&len) || info.contains('`') {
            return None;
        }
        let language = info.split([' ', ',', '{']).next().unwrap_or_default();
        Some(OpeningFence { len, language })
    }
}

/// Finds the fenced blocks of a text, from its start to its end.
struct FenceSearch<'t> {
    text: &'t str,
    /// The length of the shortest fence for which no closing fence was found. Further down, a fence
    /// of this length or longer is not closed either, so the text is not searched again for it.
    shortest_unclosed: Option<usize>,
}

impl<'t> FenceSearch<'t> {
    fn new(text: &'t str) -> Self {
        FenceSearch {
            text,
            shortest_unclosed: None,
        }
    }

    /// Reads the block whose first fence is the line at `line_start`. `None` if the line is not a
    /// fence, or if no fence closes it: then the line is text.
    ///
    /// `line_start` must ascend from call to call: what was found out about fences further down
    /// then still holds.
    fn read_block(&mut self, line_start: usize) -> Option<FencedBlock<'t>> {
        let code_start = next_line(self.text, line_start);
        let fence = OpeningFence::read(&self.text[line_start..code_start])?;
        let closing_line = self.find_closing_line(code_start, fence.len)?;
        Some(FencedBlock {
            language: fence.language,
            code: code_start..closing_line.start,
            end: closing_line.end,
        })
    }

    /// Returns the range of the first line from `code_start` on that closes a fence of this length:
    /// it has at least as many backticks, and nothing else.
    fn find_closing_line(&mut self, code_start: usize, fence_len: usize) -> Option<Range<usize>> {
        // An earlier call has searched the text to its end for a fence of `unclosed` backticks.
        if let Some(unclosed) = self.shortest_unclosed
            && fence_len >= unclosed
        {
            return None;
        }

        let mut start = code_start;
        while start < self.text.len() {
            let end = next_line(self.text, start);
            let line = self.text[start..end].trim();
            if line.len() >= fence_len && line.bytes().all(|byte| byte == b'`') {
                return Some(start..end);
            }
            start = end;
        }
        self.shortest_unclosed = Some(fence_len);
        None
    }
}

/// Returns the end of the paragraph that begins at `start`: the next blank line, or `text_end`.
fn paragraph_end(text: &str, start: usize, text_end: usize) -> usize {
    let mut end = start;
    while end < text_end {
        let line_end = next_line(text, end).min(text_end);
        if text[end..line_end].trim().is_empty() {
            break;
        }
        end = line_end;
    }
    end
}

/// Divides a range of the text into its paragraphs. The range has no fences. Blank lines separate
/// paragraphs. Adjacent paragraphs in columns become one part.
///
/// A paragraph consists of words, of columns (lines that need a font of fixed width), or of words
/// that introduce the columns below them.
fn split_paragraphs(text: &str, range: Range<usize>) -> Vec<TypedPart<'_>> {
    let mut parts: Vec<TypedPart> = Vec::new();
    let mut unread_start = range.start;
    while unread_start < range.end {
        let start = unread_start;
        let end = paragraph_end(text, start, range.end);
        if end == start {
            // A blank line.
            unread_start = next_line(text, start).min(range.end);
            continue;
        }
        unread_start = end;

        // The words are from `start` to `columns_start`, and the columns from there to `end`.
        // Either may be empty.
        let columns_start = start + find_columns(&text[start..end]);
        let has_words = columns_start > start;
        let has_columns = columns_start < end;
        if has_words {
            parts.push(TypedPart {
                kind: PartKind::Words,
                start,
                end: columns_start,
            });
        }
        if !has_columns {
            continue;
        }
        match parts.last_mut() {
            // The columns continue those of the last paragraph.
            Some(last) if last.kind == PartKind::Columns => last.end = end,
            _ => parts.push(TypedPart {
                kind: PartKind::Columns,
                start: columns_start,
                end,
            }),
        }
    }
    parts
}

/// The length in bytes above which a line above columns is a sentence, and does not belong to them.
const LONGEST_COLUMN_LINE: usize = 100;

/// Returns the offset at which the columns of a paragraph begin, the lines that need a font of
/// fixed width, such as those of a table: at its start, or after the sentences that introduce the
/// columns. Returns the end of the paragraph if it has no columns.
fn find_columns(paragraph: &str) -> usize {
    if !has_columns(paragraph) {
        return paragraph.len();
    }
    // A sentence is a long line that needs no columns itself. The columns begin with the first line
    // that is not one.
    let mut columns_start = 0;
    for line in paragraph.split_inclusive('\n') {
        let is_sentence = line.len() > LONGEST_COLUMN_LINE && !has_columns(line);
        if !is_sentence {
            break;
        }
        columns_start += line.len();
    }
    columns_start
}

/// Whether a paragraph, or one line of it, needs a font of fixed width:
///
/// - it has a tab, a line of a box, or three spaces within a line;
/// - two of its lines begin with `|`;
/// - a line is indented, unless the paragraph is a list.
fn has_columns(paragraph: &str) -> bool {
    let is_list = is_item(paragraph);
    let mut table_rows = 0;
    for line in paragraph.lines() {
        let content = line.trim_start();
        if line.contains(['\t']) || content.contains("   ") || content.contains(draws_box) {
            return true;
        }
        if content.starts_with('|') {
            table_rows += 1;
        }
        let indent = line.len() - content.len();
        let is_indented = indent >= 2 && !is_list && !is_item(content);
        if table_rows == 2 || is_indented {
            return true;
        }
    }
    false
}

/// Whether a character draws a line or a block of a box, such as `│` or `█`.
fn draws_box(c: char) -> bool {
    ('\u{2500}'..='\u{259f}').contains(&c)
}

/// Whether a line is an item of a list: it begins with a bullet, or with a number or a letter and
/// `.` or `)`. Items are `- x`, `1. x` and `a) x`, but not `-x` and `10 x`.
fn is_item(line: &str) -> bool {
    let first_word = line.trim_start().split([' ', '\n']).next();
    let marker = first_word.unwrap_or_default();
    if matches!(marker, "-" | "*" | "+" | "•") {
        return true;
    }
    let Some(number) = marker.strip_suffix(['.', ')']) else {
        return false;
    };
    match number.as_bytes() {
        [] => false,
        [letter] if letter.is_ascii_alphabetic() => true,
        digits => digits.iter().all(u8::is_ascii_digit),
    }
}

/// Returns the parts before and after an offset. A part that contains the offset is split.
fn divide_parts<'t>(
    parts: &[TypedPart<'t>],
    offset: usize,
) -> (Vec<TypedPart<'t>>, Vec<TypedPart<'t>>) {
    let mut before = Vec::new();
    let mut after = Vec::new();
    for &part in parts {
        if part.start < offset {
            before.push(TypedPart {
                end: part.end.min(offset),
                ..part
            });
        }
        if part.end > offset {
            after.push(TypedPart {
                start: part.start.max(offset),
                ..part
            });
        }
    }
    (before, after)
}

/// Appends parts of a text, each as a paragraph or a block. A section of the page ends where it has
/// reached the size [`FULL`]: between two parts, or within a part.
fn push_parts(text: &str, parts: &[TypedPart], markup: &mut Markup) {
    markup.open(Tag::Prose);
    markup.begin_section();
    for part in parts {
        let content = &text[part.start..part.end];
        match part.kind {
            PartKind::Words => push_paragraph(content, markup),
            PartKind::Columns => code::push_short_block(content, "", None, markup),
            PartKind::Code { language } => {
                let highlighting = Language::from_name(language);
                code::push_short_block(content, language, highlighting, markup);
            }
        }
        markup.divide_if_full(FULL);
    }
    markup.end_section();
    markup.close();
}

/// Appends a paragraph in which each line is a line, and keeps its indentation.
fn push_paragraph(paragraph: &str, markup: &mut Markup) {
    markup.open(Tag::Verbatim);
    for (index, line) in paragraph.lines().enumerate() {
        if index > 0 {
            // In a new section, the element of the paragraph is opened again, and begins with this
            // line. Within a section, the line needs a line break before it.
            let is_in_new_section = markup.divide_if_full(FULL);
            if !is_in_new_section {
                markup.push_text("\n");
            }
        }
        push_line(line.trim_end(), markup);
    }
    markup.close();
}

/// Appends a line. A very long one is written in pieces, so that a section may end between them.
fn push_line(line: &str, markup: &mut Markup) {
    let mut unwritten = line;
    while !unwritten.is_empty() {
        let mut piece_len = LONGEST_PIECE.min(unwritten.len());
        while !unwritten.is_char_boundary(piece_len) {
            piece_len -= 1;
        }
        let (piece, remainder) = unwritten.split_at(piece_len);
        push_piece(piece, markup);
        unwritten = remainder;
        if !unwritten.is_empty() {
            markup.divide_if_full(FULL);
        }
    }
}

/// Appends a piece of a line with its code spans and addresses.
fn push_piece(piece: &str, markup: &mut Markup) {
    let mut unwritten = piece;
    while let Some(span) = find_code_span(unwritten) {
        push_linked_text(&unwritten[..span.start], markup);
        markup.push_text_element(Tag::Code, &unwritten[span.content]);
        unwritten = &unwritten[span.end..];
    }
    push_linked_text(unwritten, markup);
}

/// Code within a line.
#[derive(Debug, PartialEq, Eq)]
struct CodeSpan {
    start: usize,
    /// What is between its backticks.
    content: Range<usize>,
    end: usize,
}

/// The maximum number of backticks on either side of a code span.
const MOST_SPAN_TICKS: usize = 2;

/// Returns the first code span of a line: code between runs of one or two backticks. `None` if
/// there is none.
///
/// A backtick within a word, as in ``don`t``, is an apostrophe. A backtick after a backslash is
/// escaped.
fn find_code_span(line: &str) -> Option<CodeSpan> {
    // For each length of a run, whether no closing run follows. It need not be searched for again.
    let mut is_unclosed = [false; MOST_SPAN_TICKS + 1];
    let mut search_start = 0;
    while let Some(opening) = find_tick_run(line, search_start) {
        search_start = opening.end;
        let char_before = line[..opening.start].chars().next_back();
        let may_open = char_before.is_none_or(|c| !c.is_alphanumeric() && c != '\\');
        let ticks = opening.len();
        if ticks > MOST_SPAN_TICKS || is_unclosed[ticks] || !may_open {
            continue;
        }

        let Some(closing) = find_closing_run(line, &opening) else {
            is_unclosed[ticks] = true;
            continue;
        };
        let content = opening.end..closing.start;
        if !line[content.clone()].trim().is_empty() {
            return Some(CodeSpan {
                start: opening.start,
                content,
                end: closing.end,
            });
        }
    }
    None
}

/// Returns the range of the first run of backticks at or after an offset.
fn find_tick_run(line: &str, search_start: usize) -> Option<Range<usize>> {
    let start = search_start + memchr::memchr(b'`', &line.as_bytes()[search_start..])?;
    let after_run = line[start..].trim_start_matches('`');
    Some(start..line.len() - after_run.len())
}

/// Returns the range of the run of backticks that closes `opening`: the first one behind it that
/// has the same length, and that no letter or digit follows.
fn find_closing_run(line: &str, opening: &Range<usize>) -> Option<Range<usize>> {
    let mut search_start = opening.end;
    while let Some(run) = find_tick_run(line, search_start) {
        search_start = run.end;
        let char_after = line[run.end..].chars().next();
        let may_close = char_after.is_none_or(|c| !c.is_alphanumeric());
        if run.len() == opening.len() && may_close {
            return Some(run);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::{full_html, prose_html};
    use crate::markdown::markdown_of;
    use pulldown_cmark::{Event, Parser, Tag as Start, TagEnd};

    fn markup_of(text: &str) -> Markup {
        Markup::from_fn(|m| push_typed(text, m))
    }

    fn html_of(text: &str) -> String {
        full_html(&markup_of(text), &|_| false, &[])
            .to_string()
            .replace(" dir=\"auto\"", "")
    }

    /// What was typed, and the kinds of its parts.
    fn kinds(text: &str) -> Vec<&'static str> {
        split_typed(text)
            .iter()
            .map(|part| match part.kind {
                PartKind::Words => "words",
                PartKind::Columns => "columns",
                PartKind::Code { .. } => "code",
            })
            .collect()
    }

    const TRACE: &str =
        "TypeError: x is undefined\n    at run (/w/a.js:3:7)\n    at main (/w/b.js:9:1)";
    const TABLE: &str = "name      size   age\nmain.rs   3 kB   2 h";

    /// Typed texts in which Markdown finds what nobody meant.
    const HOSTILE: &[&str] = &[
        "why is __proto__ *gone* from _x_?\n# not a heading\n1986. A year\n- no list\n    + nor this",
        TRACE,
        TABLE,
        "see:\n+---+\n| a |\n+---+\n\n<details><summary>x</summary>\n</details>\n> y\n***\n===",
        "| a | b |\n| --- | --- |\n| 1 | 2 |",
        "one  two\n  - three\n    - four  five\n\n\n[l]: http://x\n![i](http://y) &amp; &copy; \\* $x$ ~~s~~",
        "``` open\n<script>alert(1)</script>\n~~~\nnever closed",
        "a\n```js\nlet x = \"```\";\n\n  y\n```\nb `c` ``d`e`` don`t can`t \\`f`",
        "https://h/a_b?c=1&d=2. and C:\\Users\\_x\\*.txt",
        "- [ ] a\n- [x] b\n\n\t- tab\n\n1) c\n   d",
        "a\\\nb  \nc<br>d",
    ];

    #[test]
    fn words_columns_and_code_are_told_apart() {
        for (text, wanted) in [
            ("one\ntwo\n\nthree", vec!["words", "words"]),
            (TRACE, vec!["columns"]),
            (TABLE, vec!["columns"]),
            ("1. a\n   - b\n   c", vec!["words"]),
            ("steps:\n  - a\n  - b", vec!["words"]),
            (
                "fn a() {\n  b();\n\n  c();\n}\n\nwhy?",
                vec!["columns", "words"],
            ),
            ("┌─┐\n└─┘", vec!["columns"]),
            ("a | b\n\n| x", vec!["words", "words"]),
            ("look:\n```\nx\n```\nwell?", vec!["words", "code", "words"]),
            ("```\nx\n```\n```\ny\n```", vec!["code", "code"]),
            ("```\nx", vec!["words"]),
            ("~~~\nx\n~~~", vec!["words"]),
        ] {
            assert_eq!(kinds(text), wanted, "{text}");
        }
        let sentence = "word ".repeat(30);
        let introduced = format!("{sentence}\n{TRACE}");
        assert_eq!(kinds(&introduced), ["words", "columns"]);
    }

    #[test]
    fn only_code_and_addresses_are_marked() {
        assert_eq!(
            html_of("__a__ *b* `c` don`t https://h/x_y.\n# d\n  - e"),
            "<div class=\"prose\"><p class=\"verbatim\">__a__ *b* <code>c</code> don`t \
             <a href=\"https://h/x_y\" rel=\"noopener noreferrer nofollow\">https://h/x_y</a>.\n\
             # d\n  - e</p></div>"
        );
    }

    #[test]
    fn more_than_forty_lines_are_folded() {
        let lines = |count: usize| -> String {
            let line = |number| format!("line {number}\n");
            (1..=count).map(line).collect()
        };
        assert!(!html_of(&lines(40)).contains("<details"));
        let html = html_of(&lines(41));
        let (shown, folded) = html.split_once("<summary>17 more lines</summary>").unwrap();
        assert!(shown.contains("line 24") && !shown.contains("line 25"));
        assert!(folded.contains("line 25") && folded.contains("line 41"));

        // Without scripts, nothing of what was typed is missing.
        let prose = prose_html(&markup_of(&lines(100))).to_string();
        assert!(prose.contains("line 100"));

        // A fold within code.
        let fenced = html_of(&format!("```\n{}```\nend", lines(60)));
        let blocks: Vec<&str> = fenced.split("<pre").skip(1).collect();
        assert_eq!(blocks.len(), 2);
        assert!(blocks[0].contains("line 23</pre>"));
        assert!(blocks[1].contains(">line 24\n"));
    }

    #[test]
    fn long_texts_come_in_sections() {
        for text in ["word ".repeat(100_000), "a `b`\n".repeat(30_000)] {
            let markup = markup_of(&text).finish();
            for section in markup.split('\x05') {
                assert!(section.len() < 2 * FULL.bytes, "{}", section.len());
            }
        }
    }

    #[test]
    fn what_is_never_closed_is_searched_once() {
        for line in ["```x\n", "`a ``b \\` c` ", "`````` y\n", "` "] {
            let text = line.repeat(100_000);
            assert!(!markup_of(&text).as_str().is_empty());
        }
    }

    /// Returns what a reader sees of Markdown, and fails if it has other elements than typed text.
    fn read_markdown(markdown: &str) -> String {
        let mut text = String::new();
        let options = crate::commonmark::parser_options();
        for event in Parser::new_ext(markdown, options) {
            match event {
                Event::Text(piece) => text += &piece.replace('\u{a0}', " "),
                Event::Code(piece) => text += &format!("`{piece}`"),
                Event::HardBreak => text.push('\n'),
                Event::Start(Start::Paragraph | Start::CodeBlock(_)) => {
                    text = text.trim_end().to_owned();
                    text += "\n\n";
                }
                Event::Start(Start::Link { .. }) | Event::End(TagEnd::Link) => {}
                Event::End(TagEnd::Paragraph | TagEnd::CodeBlock) => {}
                other => panic!("{other:?} in {markdown}"),
            }
        }
        text.trim().to_owned()
    }

    /// Returns what was typed without the fences, and without blank lines.
    fn lines_of(text: &str) -> Vec<String> {
        text.lines()
            .map(|line| line.trim_end().to_owned())
            .filter(|line| !line.is_empty())
            .collect()
    }

    #[test]
    fn markdown_shows_it_as_it_was_typed() {
        for text in HOSTILE {
            let markdown = markdown_of(&markup_of(text));
            let fences = |line: &String| !matches!(line.as_str(), "```js" | "```");
            let has_block = kinds(text).contains(&"code");
            let mut wanted = lines_of(text);
            if has_block {
                wanted.retain(fences);
            }
            let wanted = wanted.join("\n").replace("``d`e``", "`d`e`");
            let found = lines_of(&read_markdown(&markdown)).join("\n");
            assert_eq!(found, wanted, "{markdown}");
        }
    }
}
