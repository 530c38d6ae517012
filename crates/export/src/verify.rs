//! Reads an export back, and searches it for values that must not be in it.
//!
//! A value may be hidden in an export: by compression, entities, backslashes, elements that
//! highlighting inserts into it, or the margin of a quotation. So the text is converted to several
//! spellings, and searched in each for the values in the same spelling:
//!
//! ```text
//! page ──> pieces, inflated ─┐         ┌─ Marked:   with elements, attributes and addresses
//! static page ───────────────┼─ lines ─┼─ Plain:    without elements and escapes
//! Markdown, trajectory ──────┘         ├─ Squeezed: also without signs of Markdown
//!                                      └─ Block:    also without white space and margins
//! ```

use super::markdown::{NO_BREAK_SPACE, ZERO_WIDTH_SPACE};
use super::markup::{CLOSE, OPEN, OPEN_WITH, SECTION, SECTION_END, VALUE, WORD, WORD_END};
use super::page::{PROSE_START, SESSION_START};
use aho_corasick::AhoCorasick;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use pisess_core::redact::values::{SecretValue, ValueSearch};
use pisess_core::session::read::line_chunks::{Line, for_each_line};
use pisess_json::string;
use pisess_store::ReadAt;
use regex::bytes::{NoExpand, Regex};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::{self, Read};
use std::sync::LazyLock;

/// What an export writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Rendition {
    /// A page with the tree, the path to each entry, and search
    #[value(name = "html")]
    Page,
    /// The path as HTML without scripts
    #[value(skip)]
    StaticPage,
    /// The path as a document
    #[value(alias = "md")]
    Markdown,
    /// The path as a trajectory for evaluation and training, in JSON
    #[value(name = "atif")]
    Trajectory,
    /// Conversations for fine-tuning, one JSON line each, in OpenAI's form
    Messages,
}

/// Searches a written export for values that were to be redacted. Returns the indexes of those that
/// it contains: none, unless redaction has failed.
///
/// Only text that comes from the session is searched. In a page, this is the pieces (the elements
/// with compressed entries), the id, the title and the prose. In a static page, it is everything
/// except the style.
pub fn find_leaked_values(
    format: Rendition,
    written: &dyn ReadAt,
    values: &[SecretValue],
) -> io::Result<BTreeSet<usize>> {
    let mut search = ExportSearch::new(values);
    for_each_line(written, 0..written.len(), |Line { bytes: line, .. }| {
        match format {
            Rendition::Markdown | Rendition::Trajectory | Rendition::Messages => {
                search.search_text(line, format)
            }
            Rendition::Page => search.search_page_line(line)?,
            Rendition::StaticPage => search.search_static_page_line(line),
        }
        Ok::<(), io::Error>(())
    })?;
    Ok(search.finish())
}

/// A search of the lines of an export, in order.
struct ExportSearch {
    searchers: Vec<SpellingSearcher>,
    /// Whether the current line is in the style of a static page, which spans several lines.
    is_in_style: bool,
    /// Whether the current line is in the prose of a page, which spans several lines.
    is_in_prose: bool,
}

impl ExportSearch {
    /// Prepares a search for these values, with a searcher for each spelling in which at least one
    /// value is searched for.
    fn new(values: &[SecretValue]) -> ExportSearch {
        let mut searchers = Vec::new();
        for spelling in Spelling::ALL {
            searchers.extend(SpellingSearcher::new(spelling, values));
        }
        ExportSearch {
            searchers,
            is_in_style: false,
            is_in_prose: false,
        }
    }

    /// Searches a line of a page, if it contains text of the session: a piece, the id, the title,
    /// or prose. The other lines, such as the style, are the same for every session.
    ///
    /// The prose is from the line that begins with [`PROSE_START`] to the one that begins with
    /// `</noscript>`, both included. `is_in_prose` is kept from line to line.
    fn search_page_line(&mut self, line: &[u8]) -> io::Result<()> {
        if line.starts_with(PIECE_START) {
            self.search_text(&inflated_piece(line)?, Rendition::Page);
            return Ok(());
        }

        if line.starts_with(PROSE_START.as_bytes()) {
            self.is_in_prose = true;
        }
        // The id of the session, the title and the prose are HTML, as on a static page.
        let is_of_session =
            line.starts_with(SESSION_START.as_bytes()) || line.starts_with(TITLE_START);
        if self.is_in_prose || is_of_session {
            self.search_text(line, Rendition::StaticPage);
        }
        // After the search, so that this line is searched as well.
        if line.starts_with(PROSE_END) {
            self.is_in_prose = false;
        }
        Ok(())
    }

    /// Searches a line of a page without a script, unless it is in the style.
    ///
    /// The style is from the line that begins with `<style>` to the one that contains `</style>`,
    /// both included: `static_html` writes nothing else on these lines. `is_in_style` is kept from
    /// line to line.
    fn search_static_page_line(&mut self, line: &[u8]) {
        if line.starts_with(b"<style>") {
            self.is_in_style = true;
        }
        if !self.is_in_style {
            self.search_text(line, Rendition::StaticPage);
        }
        if memchr::memmem::find(line, b"</style>").is_some() {
            self.is_in_style = false;
        }
    }

    /// Searches whole lines of an export in all spellings. `format` is how the text is written.
    fn search_text(&mut self, text: &[u8], format: Rendition) {
        let stripped_text = strip_markup(text, format);
        for searcher in &mut self.searchers {
            searcher.add_lines(text, &stripped_text, format);
        }
    }

    /// Returns the indexes of the values that were found in any spelling.
    fn finish(self) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        for searcher in self.searchers {
            found.extend(searcher.finish());
        }
        found
    }
}

/// Begins the line of a piece of a page.
const PIECE_START: &[u8] = b"<script type=\"text/plain\" ";

/// Begins the line with the title of a page.
const TITLE_START: &[u8] = b"<title>";

/// Begins the line at which the prose of a page ends; [`PROSE_START`] begins it.
const PROSE_END: &[u8] = b"</noscript>";

/// The first bytes of gzip data (RFC 1952).
const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];

/// Returns the inflated content of a piece of a page; empty if the piece is an image. `line` is the
/// whole element, and begins with [`PIECE_START`].
fn inflated_piece(line: &[u8]) -> io::Result<Vec<u8>> {
    let tag_end = memchr::memchr(b'>', line).ok_or_else(invalid_piece)?;
    let content_start = tag_end + 1;
    let content_end = memchr::memrchr(b'<', line).ok_or_else(invalid_piece)?;
    // Without a closing tag, the last `<` begins the opening tag.
    if content_end < content_start {
        return Err(invalid_piece());
    }

    let content = STANDARD.decode(&line[content_start..content_end]);
    if let Ok(packed) = content
        && packed.starts_with(GZIP_MAGIC)
    {
        let mut inflated = Vec::new();
        GzDecoder::new(&packed[..]).read_to_end(&mut inflated)?;
        return Ok(inflated);
    }

    // Only images are not gzip. The id of an image is `i` and two numbers.
    let is_image = line[PIECE_START.len()..].starts_with(b"id=\"i");
    if !is_image {
        return Err(invalid_piece());
    }
    // The data of an image is not text of the session.
    Ok(Vec::new())
}

fn invalid_piece() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "a piece of the page cannot be decoded",
    )
}

/// Returns lines of an export without elements and escapes.
fn strip_markup(text: &[u8], format: Rendition) -> Vec<u8> {
    match format {
        // Twice: the arguments of a call may be a JSON string that contains JSON.
        Rendition::Trajectory | Rendition::Messages => unescape_json(&unescape_json(text)),
        Rendition::Page => strip_marks(text),
        Rendition::StaticPage => decode_entities(&strip_elements(text)),
        Rendition::Markdown => decode_entities(text),
    }
}

/// Returns lines of an export without the escapes of the format, but with its elements.
fn decode_escapes(text: &[u8], format: Rendition) -> Vec<u8> {
    match format {
        Rendition::Trajectory | Rendition::Messages => unescape_json(text),
        Rendition::Page | Rendition::StaticPage | Rendition::Markdown => decode_entities(text),
    }
}

fn unescape_json(text: &[u8]) -> Vec<u8> {
    string::decode(text).into_bytes()
}

/// A form of the text in which values are searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spelling {
    /// With elements and their attributes, which contain the addresses of links.
    Marked,
    /// Without elements and escapes.
    Plain,
    /// Like `Plain`, and without signs of Markdown.
    Squeezed,
    /// Like `Squeezed`, and without white space and margins, for values of several lines.
    Block,
}

impl Spelling {
    const ALL: [Spelling; 4] = [
        Spelling::Marked,
        Spelling::Plain,
        Spelling::Squeezed,
        Spelling::Block,
    ];

    /// Returns a value without the bytes that this spelling omits. `None` if the value is not
    /// searched for in this spelling, or if what is left of it is too short.
    fn spell_value(self, value: &SecretValue) -> Option<SecretValue> {
        if !self.applies_to(&value.bytes) {
            return None;
        }
        let bytes = self.filter_bytes(&value.bytes);
        // A value that the spelling does not change may have any length.
        let is_unchanged = bytes == *value.bytes;
        if !is_unchanged && bytes.len() < SHORTEST_SPELLED {
            return None;
        }
        Some(SecretValue {
            kind: value.kind,
            bytes: bytes.into(),
        })
    }

    /// Whether a value is searched for in this spelling. A value of several lines is searched for
    /// only in `Block`, and any other value only in the other spellings.
    fn applies_to(self, value: &[u8]) -> bool {
        let has_lines = value
            .iter()
            .any(|byte| matches!(byte, b'\n' | b'\r' | b'\t'));
        has_lines == (self == Spelling::Block)
    }

    /// Removes the bytes that this spelling omits.
    fn filter_bytes(self, text: &[u8]) -> Vec<u8> {
        text.iter()
            .copied()
            .filter(|&byte| self.keeps_byte(byte))
            .collect()
    }

    /// Whether this spelling keeps a byte. `Plain` and the spellings after it omit backslashes,
    /// `Squeezed` also signs of Markdown, and `Block` also white space and the margins of
    /// quotations.
    fn keeps_byte(self, byte: u8) -> bool {
        match byte {
            b'\\' => self == Spelling::Marked,
            b'*' | b'_' | b'~' | b'`' => matches!(self, Spelling::Marked | Spelling::Plain),
            b' ' | b'\n' | b'\r' | b'\t' | b'>' | b'|' => self != Spelling::Block,
            _ => true,
        }
    }
}

/// The number of bytes that are collected before they are searched.
const WINDOW_LEN: usize = 1 << 20;

/// The minimum length in bytes of a value in a spelling that removes some of its bytes. What is
/// left of a shorter value would be found by chance.
const SHORTEST_SPELLED: usize = 8;

/// Searches the text in one spelling.
struct SpellingSearcher {
    spelling: Spelling,
    value_search: ValueSearch,
    /// For each value in `value_search`, its index among all values.
    value_indexes: Vec<usize>,
    /// The text that was not searched yet, preceded by `overlap_len` bytes that were: a value may
    /// span both.
    window: Vec<u8>,
    /// How many bytes of searched text are kept.
    overlap_len: usize,
    /// The values that were found, by their indexes among all values.
    found: BTreeSet<usize>,
}

impl SpellingSearcher {
    /// Makes a searcher for the values to find in this spelling, a form of the text such as the one
    /// without markup. `None` if no value is searched for in it, or if all are too short (see
    /// [`SHORTEST_SPELLED`]).
    fn new(spelling: Spelling, values: &[SecretValue]) -> Option<SpellingSearcher> {
        let mut value_indexes = Vec::new();
        let mut spelled_values = Vec::new();
        for (index, value) in values.iter().enumerate() {
            if let Some(spelled) = spelling.spell_value(value) {
                // The search reports indexes in the second list.
                value_indexes.push(index);
                spelled_values.push(spelled);
            }
        }
        let longest_value = spelled_values.iter().map(|value| value.bytes.len()).max()?;

        // Text is searched in windows. A value must be in one of them as a whole, so a window
        // overlaps the one before it by the longest text that `ValueSearch` recognizes as a value.
        // That text is percent-encoded, with three characters (`%2F`) per byte.
        let overlap_len = "%2F".len() * longest_value;
        Some(SpellingSearcher {
            spelling,
            value_search: ValueSearch::new(spelled_values),
            value_indexes,
            window: Vec::new(),
            overlap_len,
            found: BTreeSet::new(),
        })
    }

    /// Adds whole lines of an export to the window of text to search, in the spelling of this
    /// searcher. Searches the window if it is full.
    ///
    /// `text` is as the export has it. `stripped_text` is without elements and escapes
    /// ([`strip_markup`]); the caller makes it once for all searchers.
    fn add_lines(&mut self, text: &[u8], stripped_text: &[u8], format: Rendition) {
        if self.spelling == Spelling::Marked {
            self.add_marked_text(text, format);
        } else {
            self.window
                .extend(self.spelling.filter_bytes(stripped_text));
        }
        // `text` is without its last line break, which is added here, unless the spelling omits
        // line breaks.
        self.window.extend(self.spelling.filter_bytes(b"\n"));
        if self.window.len() > WINDOW_LEN {
            self.search_window();
        }
    }

    /// Adds text of an export with its elements, but without escapes.
    fn add_marked_text(&mut self, text: &[u8], format: Rendition) {
        let unescaped = decode_escapes(text, format);
        // The text of a message may be HTML. A value in it, as in `x9Qd&amp;81Lm`, must be removed,
        // too. So it is searched twice: without the entities of HTML, and as it is.
        if format == Rendition::Messages {
            self.window.extend(decode_entities(&unescaped));
            self.window.push(b'\n');
        }
        self.window.extend(unescaped);
    }

    /// Searches the window, and keeps only its last `overlap_len` bytes.
    fn search_window(&mut self) {
        self.value_search
            .each_occurrence(&self.window, &mut |_, value_number| {
                self.found.insert(self.value_indexes[value_number]);
            });
        let dropped_len = self.window.len().saturating_sub(self.overlap_len);
        self.window.drain(..dropped_len);
    }

    /// Searches the text that is left, and returns the indexes of the values that are in the text.
    fn finish(mut self) -> BTreeSet<usize> {
        if !self.window.is_empty() {
            self.search_window();
        }
        self.found
    }
}

/// Returns HTML without its elements.
fn strip_elements(html: &[u8]) -> Cow<'_, [u8]> {
    static ELEMENT: LazyLock<Regex> =
        LazyLock::new(|| Regex::new("(?-u)<[^>]*>?").expect("a constant"));
    ELEMENT.replace_all(html, NoExpand(b""))
}

/// Returns markup without its marks, and without the letters and values that belong to marks. A
/// letter follows a mark that opens an element or a word. If the element has a value, the value
/// follows the letter.
fn strip_marks(markup: &[u8]) -> Vec<u8> {
    static MARK: LazyLock<Regex> = LazyLock::new(|| {
        let others = format!("[{CLOSE}{SECTION}{SECTION_END}{WORD_END}]");
        let mark = format!("(?s-u)[{OPEN}{WORD}].?|{OPEN_WITH}[^{VALUE}]*{VALUE}?|{others}");
        Regex::new(&mark).expect("a constant")
    });
    MARK.replace_all(markup, NoExpand(b"")).into_owned()
}

/// Replaces the entities that pisess writes by their characters. [`ZERO_WIDTH_SPACE`] is removed.
fn decode_entities(text: &[u8]) -> Vec<u8> {
    const ENTITIES: [&str; 7] = [
        "&amp;",
        "&lt;",
        "&gt;",
        "&quot;",
        "&#39;",
        ZERO_WIDTH_SPACE,
        NO_BREAK_SPACE,
    ];
    /// The character of each entity.
    const CHARACTERS: [&str; 7] = ["&", "<", ">", "\"", "'", "", " "];
    static FINDER: LazyLock<AhoCorasick> =
        LazyLock::new(|| AhoCorasick::new(ENTITIES).expect("a few short literals"));

    // In one pass, so that `&amp;lt;` becomes `&lt;`, and not `<`.
    FINDER.replace_all_bytes(text, &CHARACTERS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(values: &[&str]) -> Vec<SecretValue> {
        values
            .iter()
            .map(|value| SecretValue {
                kind: "secret",
                bytes: value.as_bytes().into(),
            })
            .collect()
    }

    fn left(format: Rendition, text: &str, value: &str) -> usize {
        find_leaked_values(format, &text.as_bytes().to_vec(), &values(&[value]))
            .unwrap()
            .len()
    }

    #[test]
    fn no_escape_of_markdown_hides_a_value() {
        for (text, value) in [
            ("the a\\_b\\*c\\<d\n", "a_b*c<d"),
            ("in *a\\_long*er\\_one\n", "a_long*er_one"),
            ("in p!@&#8203;host\\#&#8203;12 here\n", "p!@host#12"),
            ("one\\\n&nbsp;&nbsp;then my&nbsp; t0k3n\n", "my  t0k3n"),
            ("> a1b2c3\\\n> &nbsp;&nbsp;d4e5f6\n", "a1b2c3\n  d4e5f6"),
            ("<summary>x &amp;y&lt;z1</summary>\n", "&y<z1"),
            ("[x](<https://h/p?token=t0k3n1>)\n", "t0k3n1"),
            (
                "> -----BEGIN KEY-----\n> MIIabc\n> def==\n",
                "-----BEGIN KEY-----\nMIIabc\ndef==",
            ),
            ("the c2VjcmV0LWhlcmUtbm93 now\n", "secret-here-now"),
        ] {
            assert_eq!(left(Rendition::Markdown, text, value), 1, "{text}");
            assert_eq!(
                left(Rendition::Markdown, &text[..text.len() / 2 - 2], value),
                0,
                "{text}"
            );
        }
    }

    #[test]
    fn no_escape_of_json_hides_a_value() {
        for (text, value) in [
            (r#"{"message":"the a\"b\\c\u0064 here"}"#, "a\"b\\cd"),
            (
                r#"{"arguments":{"json":"{\"key\":\"x\\\"y\\\"z12\"}"}}"#,
                "x\"y\"z12",
            ),
            (
                r#"{"message":"-----BEGIN KEY-----\nMIIabc\ndef=="}"#,
                "-----BEGIN KEY-----\nMIIabc\ndef==",
            ),
        ] {
            assert_eq!(left(Rendition::Trajectory, text, value), 1, "{text}");
            assert_eq!(
                left(Rendition::Trajectory, &text[..text.len() / 2 - 2], value),
                0,
                "{text}"
            );
        }
    }

    /// A backslash of the value, followed by a letter, looks like an escape.
    #[test]
    fn no_backslash_of_a_value_hides_it() {
        for format in [Rendition::Trajectory, Rendition::Messages] {
            let text = r#"{"content":"the pass\\new123 here"}"#;
            assert_eq!(left(format, text, "pass\\new123"), 1, "{format:?}");
        }
    }

    #[test]
    fn no_entity_in_a_message_hides_a_value() {
        for (text, value) in [
            (
                r#"{"content":"see abc&amp;defg9X&lt;c <b>x</b>"}"#,
                "abc&defg9X<c",
            ),
            (
                r#"{"content":"the pass\\new&quot;123 here"}"#,
                r#"pass\new"123"#,
            ),
            // The entity is itself a part of the value.
            (r#"{"content":"see abc&amp;defg9X"}"#, "abc&amp;defg9X"),
        ] {
            assert_eq!(left(Rendition::Messages, text, value), 1, "{text}");
        }
    }

    #[test]
    fn an_invalid_escape_is_no_failure() {
        assert_eq!(
            left(Rendition::Trajectory, r#"{"message":"C:\\u"}"#, "secret"),
            0
        );
    }

    #[test]
    fn no_element_of_html_hides_a_value() {
        let word = "<p>sk<span class=\"w-n\">-live</span>-&quot;42</p>\n";
        assert_eq!(left(Rendition::StaticPage, word, "sk-live-\"42"), 1);
        assert_eq!(
            left(
                Rendition::StaticPage,
                "<a href=\"https://h/a&amp;bcdef\">x</a>",
                "a&bcdef"
            ),
            1
        );
        assert_eq!(
            left(
                Rendition::StaticPage,
                "<style>border\nsecret</style>\nx",
                "secret"
            ),
            0
        );
        assert_eq!(
            left(
                Rendition::StaticPage,
                "<style>border</style>\n</head>\nsecret",
                "secret"
            ),
            1
        );
    }

    #[test]
    fn pieces_of_a_page_are_inflated() {
        let packed = |text: &str| {
            use std::io::Write;
            let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            packed.write_all(text.as_bytes()).unwrap();
            let packed = STANDARD.encode(packed.finish().unwrap());
            format!(
                "<script type=\"text/plain\" class=\"entries\" data-n=\"0\">{packed}</script>\n"
            )
        };
        let marked = packed("\u{1}pmy \u{e}nsk\u{f}-live-\u{2}ahttps://x/9secret9\u{3}here\u{4}");
        assert_eq!(left(Rendition::Page, &marked, "sk-live-here"), 1);
        assert_eq!(left(Rendition::Page, &marked, "9secret9"), 1);
        assert_eq!(left(Rendition::Page, &marked, "not-here"), 0);
        let prose =
            format!("{PROSE_START}\n<p>my sk&quot;-<em>live</em></p>\n</noscript>\n<p>after</p>\n");
        assert_eq!(left(Rendition::Page, &prose, "sk\"-live"), 1);
        assert_eq!(left(Rendition::Page, &prose, "after"), 0);
        assert_eq!(
            left(
                Rendition::Page,
                "<script>const border = 1;</script>\n",
                "border"
            ),
            0
        );
        let broken = "<script type=\"text/plain\" id=\"late\">AAAA</script>\n"
            .as_bytes()
            .to_vec();
        assert!(find_leaked_values(Rendition::Page, &broken, &values(&["border"])).is_err());
    }

    #[test]
    fn a_value_is_found_across_windows() {
        for before in [WINDOW_LEN - 4, WINDOW_LEN, 2 * WINDOW_LEN - 4] {
            let before = "x".repeat(before);
            let after = "y".repeat(WINDOW_LEN);
            let text = format!("{before}\nsecret-42\n{after}\n");
            assert_eq!(left(Rendition::Markdown, &text, "secret-42"), 1);
        }
    }
}
