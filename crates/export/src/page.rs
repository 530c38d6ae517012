//! The page: one self-contained file, with its entries in compressed pieces.
//!
//! ```text
//! head: policy, style │ skeleton │ index, rows │ script │ entries, images … │ facts
//! ```
//!
//! The script runs before the entries are loaded, so the tree appears at once. A piece is base64 of
//! gzip, in an element that no browser runs. The script inflates a piece when it is viewed.
//!
//! The content security policy allows this script and this style by their hashes, and images in the
//! page itself. It forbids everything else: requests, forms, plug-ins, and turning text into HTML.

use super::entry_view::draw_entry;
use super::height::estimate_lines;
use super::html::{Html, NamedImage, prose_html};
use super::index::{self, LateFacts};
use super::markup::{Markup, make_visible};
use super::source::{Contents, ContentsReader};
use super::view_parts::EntryFacts;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::write::GzEncoder;
use flate2::{Compression, Crc};
use foldhash::HashMap;
use pisess_core::ops::tree::view_without_layout;
use pisess_core::session::Session;
use pisess_core::session::entry::EntryIx;
use pisess_core::session::read::batches::{BatchSize, split_batches};
use pisess_store::workers::in_order;
use pisess_store::{FnWriter, ReadAt};
use sha2::{Digest, Sha256};
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::sync::LazyLock;

/// The maximum size of a piece of entries: its bytes in the session file, and its number of
/// entries.
const PIECE_SIZE: BatchSize = BatchSize {
    bytes: 768 * 1024,
    items: 1024,
};

/// The number of rows in a piece.
const ROWS_PER_PIECE: usize = 4096;

/// Separates the entries of a piece.
const ENTRY_SEPARATOR: char = '\x1e';

/// Separates the markup of an entry from the Markdown of its texts, which the reader can copy.
const SOURCE_SEPARATOR: char = '\x1d';

/// The maximum number of bytes of the prose: the prompts and answers for browsers without
/// JavaScript.
const MOST_PROSE: usize = 4 << 20;

/// Begins the line of the part for browsers that do not run the script.
pub(super) const PROSE_START: &str = "<noscript id=\"prose\">";

const SKELETON: &str = include_str!("page/page.html");
const STYLE_SOURCE: &str = concat!(
    include_str!("page/common.css"),
    include_str!("page/page.css"),
    include_str!("page/layout.css"),
    include_str!("page/phone.css"),
    include_str!("page/print.css")
);
const SCRIPT_SOURCE: &str = concat!(
    "\"use strict\";\n(() => {\n",
    include_str!("page/data.js"),
    include_str!("page/build.js"),
    include_str!("page/images.js"),
    include_str!("page/preview.js"),
    include_str!("page/tree.js"),
    include_str!("page/turns.js"),
    include_str!("page/deeds.js"),
    include_str!("page/work.js"),
    include_str!("page/path.js"),
    include_str!("page/article.js"),
    include_str!("page/search.js"),
    include_str!("page/head.js"),
    include_str!("page/address.js"),
    include_str!("page/phone.js"),
    include_str!("page/print.js"),
    include_str!("page/page.js"),
    "})();\n"
);

/// The script as pages contain it.
static SCRIPT: LazyLock<String> = LazyLock::new(|| strip_comments(SCRIPT_SOURCE));

/// The style as pages contain it.
static STYLE: LazyLock<String> = LazyLock::new(|| strip_comments(STYLE_SOURCE));

/// The style of a page without a script.
pub(super) static STATIC_STYLE: LazyLock<String> =
    LazyLock::new(|| strip_comments(include_str!("page/common.css")));

/// Removes comments and indentation from the page's script or style, a fifth of their bytes.
///
/// This relies on how both are written. A comment begins with `//` or `/*`, and has its lines to
/// itself. No string literal contains a line break.
fn strip_comments(source: &str) -> String {
    let mut stripped = String::with_capacity(source.len());
    let mut is_in_comment = false;
    for line in source.lines() {
        let line = line.trim();
        if is_in_comment || line.starts_with("/*") {
            is_in_comment = !line.ends_with("*/");
            continue;
        }
        if !line.starts_with("//") && !line.is_empty() {
            stripped += line;
            stripped.push('\n');
        }
    }
    stripped
}

/// Writes the page: its head and skeleton, the index with the rows of the tree, the script, the
/// entries, and the facts that are known only when the entries are read. The script comes before
/// the entries, so that a browser shows the tree while the entries are still loading. At the end is
/// the prose for browsers that run no script. `workers` threads make the pieces.
///
/// With `attach`, the page also contains the exported entries as a session, which the reader can
/// save.
pub fn write_page(
    contents: &Contents,
    workers: usize,
    attach: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let head = PageHead {
        style: &STYLE,
        script: Some(&SCRIPT),
        has_session: attach,
    };
    let mut page = PageWriter::new(out);
    // From here on, everything is written through `page`, which computes a checksum.
    let out: &mut dyn Write = &mut page;
    head.write(contents, out)?;
    out.write_all(b"<body>\n")?;
    out.write_all(SKELETON.as_bytes())?;
    write_piece("id=\"index\"", &index::early_facts_json(contents), out)?;
    write_row_pieces(contents, workers, out)?;
    writeln!(out, "<script>{}</script>", *SCRIPT)?;
    let entries_summary = write_entry_pieces(contents, workers, out)?;
    // Passed as a temporary, so that the JSON is not in memory while the rest is written.
    write_piece(
        "id=\"late\"",
        &entries_summary.late_facts.finish(contents),
        out,
    )?;
    if attach {
        write_session_pieces(contents, out)?;
    }
    write_prose(contents, &entries_summary.prose_by_number, out)?;
    page.finish()
}

/// Writes the exported entries as a session, in compressed elements that contain [`PIECE_SIZE`]
/// bytes of it each.
fn write_session_pieces(contents: &Contents, out: &mut dyn Write) -> io::Result<()> {
    // Each time that the buffer is full, it writes its bytes at once, which become a piece. The
    // last piece is what the flush writes.
    let piece_writer = FnWriter(|bytes: &[u8]| write_piece("class=\"session\"", bytes, out));
    let mut buffer = BufWriter::with_capacity(PIECE_SIZE.bytes as usize, piece_writer);
    let write_result = contents
        .write_session(&mut buffer)
        .and_then(|()| buffer.flush());
    // If the buffer were dropped after an error, it would write once more. Taking it apart does
    // not.
    drop(buffer.into_parts());
    write_result
}

/// The head of a page.
pub(super) struct PageHead {
    pub style: &'static str,
    pub script: Option<&'static str>,
    /// Whether the session is attached to the page.
    pub has_session: bool,
}

impl PageHead {
    /// Writes the head, with a content security policy that allows exactly this style and, if there
    /// is one, this script.
    pub fn write(&self, contents: &Contents, out: &mut dyn Write) -> io::Result<()> {
        let hash = |text: &str| STANDARD.encode(Sha256::digest(text.as_bytes()));
        let script_policy = match self.script {
            Some(script) => format!("script-src 'sha256-{}'; ", hash(script)),
            None => String::new(),
        };
        let session_line = if self.has_session {
            String::new()
        } else {
            session_line(contents.session)
        };
        let redacted_line = if contents.is_redacted {
            REDACTED_LINE
        } else {
            ""
        };
        let style = self.style;
        write!(
            out,
            "{PAGE_START}\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; {script_policy}\
             style-src 'sha256-{}'; img-src data: blob:; base-uri 'none'; form-action 'none'; \
             require-trusted-types-for 'script'; trusted-types 'none'\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"referrer\" content=\"no-referrer\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             {GENERATOR_LINE}{session_line}{redacted_line}\
             <link rel=\"icon\" href=\"data:,\">\n\
             <title>{}</title>\n<style>{style}</style>\n</head>\n",
            hash(style),
            Html::from_text(&contents.title()),
        )
    }
}

/// The first lines of a page.
const PAGE_START: &str = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";

/// The line that names the program that wrote a page.
const GENERATOR_LINE: &str = "<meta name=\"generator\" content=\"pisess\">\n";

/// Begins the line with the id of the session in a page.
pub(super) const SESSION_START: &str = "<meta name=\"pisess-session\" content=\"";

/// The line that follows the line with the id, if the session was redacted for the page.
const REDACTED_LINE: &str = "<meta name=\"pisess-redacted\" content=\"yes\">\n";

/// Returns the line with the id of the session; empty if it has none.
fn session_line(session: &Session) -> String {
    let id = session.header.id.to_string_lossy();
    if id.is_empty() {
        return String::new();
    }
    format!("{SESSION_START}{}\">\n", Html::from_text(&id))
}

/// The maximum number of bytes before the title of a page.
const LONGEST_HEAD: usize = 4096;

/// A page that pisess wrote of a session, and that was not changed since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnPage {
    /// Whether the session was redacted for the page.
    pub is_redacted: bool,
}

/// Returns what the page records of itself, if `file` is a page that pisess wrote of this session
/// and that was not changed since. `None` for any other file. The caller may replace such a page.
///
/// Only the lines before the title are searched for the id, because the title is text of the
/// session.
///
/// A page with an attached session has no line with the id, so the result is `None`: the page may
/// be the only copy of entries that the session no longer has.
pub fn read_own_page(file: &dyn ReadAt, session: &Session) -> io::Result<Option<OwnPage>> {
    let session_line = session_line(session);
    if session_line.is_empty() {
        return Ok(None);
    }
    let head_len = file.len().min(LONGEST_HEAD as u64) as usize;
    let mut head = vec![0; head_len];
    file.read_exact_at(&mut head, 0)?;
    let head = String::from_utf8_lossy(&head);
    let Some((before_title, _)) = head.split_once("<title>") else {
        return Ok(None);
    };
    if !before_title.starts_with(PAGE_START) {
        return Ok(None);
    }
    let own_lines = format!("{GENERATOR_LINE}{session_line}");
    let Some((_, after_own_lines)) = before_title.split_once(&own_lines) else {
        return Ok(None);
    };
    // A page that was edited is somebody's work. This is checked last, because it reads the whole
    // file.
    if !has_valid_checksum(file)? {
        return Ok(None);
    }
    Ok(Some(OwnPage {
        is_redacted: after_own_lines.starts_with(REDACTED_LINE),
    }))
}

/// Whether a file ends as [`write_page`] ends a page: with the checksum of all bytes before the
/// end.
fn has_valid_checksum(file: &dyn ReadAt) -> io::Result<bool> {
    // The end has the same length for every checksum.
    let Some(content_len) = file.len().checked_sub(page_end(0).len() as u64) else {
        return Ok(false);
    };
    let mut checksum = Crc::new();
    let mut buffer = vec![0; 1 << 16];
    let mut offset = 0;
    while offset < content_len {
        let len = (content_len - offset).min(buffer.len() as u64) as usize;
        file.read_exact_at(&mut buffer[..len], offset)?;
        checksum.update(&buffer[..len]);
        offset += len as u64;
    }

    let end = page_end(checksum.sum());
    let mut found_end = vec![0; end.len()];
    file.read_exact_at(&mut found_end, content_len)?;
    Ok(found_end == end.as_bytes())
}

/// Returns the end of a page. `checksum` is the CRC-32 of all bytes before the end. The length is
/// the same for every checksum.
fn page_end(checksum: u32) -> String {
    format!("<!-- {checksum:08x} -->\n</body>\n</html>\n")
}

/// A writer that computes the checksum of a page while it is written.
pub(super) struct PageWriter<'w> {
    out: &'w mut dyn Write,
    checksum: Crc,
}

impl<'w> PageWriter<'w> {
    pub fn new(out: &'w mut dyn Write) -> Self {
        PageWriter {
            out,
            checksum: Crc::new(),
        }
    }

    /// Writes the end of the page, with the checksum of everything written before.
    pub fn finish(self) -> io::Result<()> {
        self.out.write_all(page_end(self.checksum.sum()).as_bytes())
    }
}

impl Write for PageWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written_len = self.out.write(bytes)?;
        self.checksum.update(&bytes[..written_len]);
        Ok(written_len)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The level of compression, from 1 to 9. Level 6 takes twice as long as 5. It saves half a percent
/// more of a session, and a tenth more of repetitive texts.
const COMPRESSION_LEVEL: u32 = 5;

/// Writes a piece: an element on a line of its own, which contains the bytes, compressed and in
/// base64. No browser runs a script of the type `text/plain`.
fn write_piece(attributes: &str, bytes: &[u8], out: &mut dyn Write) -> io::Result<()> {
    // Texts are compressed to about a fourth of their size.
    let packed_buffer = Vec::with_capacity(bytes.len() / 4 + 64);
    let mut packed = GzEncoder::new(packed_buffer, Compression::new(COMPRESSION_LEVEL));
    packed.write_all(bytes)?;
    writeln!(
        out,
        "<script type=\"text/plain\" {attributes}>{}</script>",
        STANDARD.encode(packed.finish()?)
    )
}

/// Writes the rows of the tree in file order, in pieces: compressed elements of the page, which its
/// script unpacks. `workers` threads make the pieces. The attribute `data-n` of a piece is the
/// number of its first entry.
fn write_row_pieces(contents: &Contents, workers: usize, out: &mut dyn Write) -> io::Result<()> {
    let drawing = view_without_layout(contents.session, contents.leaf);
    let make_piece = |(chunk_number, entries): (usize, &[EntryIx])| {
        let mut rows = Vec::with_capacity(entries.len());
        for &ix in entries {
            rows.push(index::row_markup(&drawing.row(ix)));
        }
        let first_number = chunk_number * ROWS_PER_PIECE;
        let attributes = format!("class=\"rows\" data-n=\"{first_number}\"");
        let mut piece = Vec::new();
        write_piece(&attributes, rows.join("\n").as_bytes(), &mut piece)?;
        Ok(piece)
    };
    let chunks = contents.entries.chunks(ROWS_PER_PIECE).enumerate();
    in_order(chunks, workers, make_piece, |piece: io::Result<Vec<u8>>| {
        out.write_all(&piece?)
    })
}

/// The prose of prompts and answers, by the numbers of their entries.
type ProseByNumber = HashMap<u32, Html>;

/// What [`write_entry_pieces`] collects from the entries while it writes them.
#[derive(Default)]
struct EntriesSummary {
    late_facts: LateFacts,
    /// The prose of the prompts and answers on the path. Beyond [`MOST_PROSE`] bytes, further
    /// entries have none.
    prose_by_number: ProseByNumber,
    /// The length of all prose so far in bytes. Dropped prose is included, so that no later and
    /// shorter prose is kept.
    prose_len: usize,
}

impl EntriesSummary {
    /// Adds what was collected from the entries of the next piece.
    fn add_piece(&mut self, facts: Vec<DrawnFacts>, prose: Vec<EntryProse>) {
        for entry in facts {
            self.late_facts
                .add_entry(entry.facts, entry.estimated_lines);
        }
        for EntryProse { number, html } in prose {
            self.prose_len += html.as_str().len();
            if self.prose_len <= MOST_PROSE {
                self.prose_by_number.insert(number, html);
            }
        }
    }
}

/// Writes the entries in file order, in pieces: compressed elements of the page, which its script
/// unpacks. `workers` threads make the pieces; this thread writes them, in order. Returns what
/// later parts of the page need.
fn write_entry_pieces(
    contents: &Contents,
    workers: usize,
    out: &mut dyn Write,
) -> io::Result<EntriesSummary> {
    let batches = split_batches(&contents.entries, PIECE_SIZE, |&ix| {
        contents.session.entry(ix).span.len
    });
    let has_prose = prose_mask(contents);
    let make_piece = |range| make_entries_piece(&ContentsReader::new(contents), range, &has_prose);

    let mut summary = EntriesSummary::default();
    in_order(batches, workers, make_piece, |piece| {
        let piece = piece?;
        out.write_all(&piece.bytes)?;
        summary.add_piece(piece.facts, piece.prose);
        Ok::<(), io::Error>(())
    })?;
    Ok(summary)
}

/// Returns, for each exported entry by its number, whether it is a prompt or an answer on the path:
/// browsers that do not run the script show only the prose of these.
fn prose_mask(contents: &Contents) -> Vec<bool> {
    let mut has_prose = vec![false; contents.entries.len()];
    for ix in contents.session.path(contents.leaf) {
        // The letters of requests and of replies.
        let letter = index::kind_letter(contents.session.entry(ix));
        if let Some(number) = contents.entry_number(ix)
            && matches!(letter, 'u' | 'a')
        {
            has_prose[number as usize] = true;
        }
    }
    has_prose
}

/// Writes the prompts and answers of the path for browsers that do not run the script: from the
/// line that [`PROSE_START`] begins, which opens the element, to the line that closes it.
fn write_prose(
    contents: &Contents,
    prose_by_number: &ProseByNumber,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(
        out,
        "{PROSE_START}\n<div class=\"document\">\n<h1>{}</h1>",
        Html::from_text(&contents.title())
    )?;
    out.write_all(
        b"<p class=\"note\">Only the prompts and answers: \
        the rest of this page needs JavaScript, which runs without network access.</p>\n",
    )?;
    for ix in contents.session.path(contents.leaf) {
        let Some(number) = contents.entry_number(ix) else {
            continue;
        };
        let Some(prose) = prose_by_number.get(&number) else {
            continue;
        };
        // Only requests, of the letter `u`, and replies have prose: see `prose_mask`.
        let letter = index::kind_letter(contents.session.entry(ix));
        let who = if letter == 'u' { "User" } else { "Assistant" };
        writeln!(
            out,
            "<article class=\"entry {letter}\" id=\"s{number}\">\
            <header><h2>{who}</h2></header>\
            <div class=\"body\">{prose}</div></article>"
        )?;
    }
    writeln!(out, "</div>\n</noscript>")
}

/// A piece with some entries, ready to be written, and what was collected from the entries.
struct EntriesPiece {
    /// The piece with the entries, then their images.
    bytes: Vec<u8>,
    /// The facts of each entry.
    facts: Vec<DrawnFacts>,
    /// The prose of the prompts and answers on the path.
    prose: Vec<EntryProse>,
}

/// The prose of one entry.
struct EntryProse {
    /// The number of the entry.
    number: u32,
    html: Html,
}

/// What was collected from an entry when it was drawn.
struct DrawnFacts {
    facts: EntryFacts,
    /// About how many lines the entry takes; see [`estimate_lines`].
    estimated_lines: u32,
}

/// The text of a piece: the entries, each with its markup and the Markdown for copying.
#[derive(Default)]
struct PieceText {
    text: String,
    has_entries: bool,
}

impl PieceText {
    /// Appends an entry. `markdown_source` is empty if the entry has no Markdown for copying.
    fn push_entry(&mut self, markup: Markup, markdown_source: &str) {
        if self.has_entries {
            self.text.push(ENTRY_SEPARATOR);
            self.text += markup.as_str();
        } else {
            // Moved, not copied: the first entry may be the only one, and long.
            self.text = markup.finish();
            self.has_entries = true;
        }
        if !markdown_source.is_empty() {
            self.text.push(SOURCE_SEPARATOR);
            self.text += &make_visible(markdown_source);
        }
    }
}

/// Makes the piece with the entries whose numbers are in `range`: one element with their markup and
/// Markdown, and one for each image. `has_prose` is, for each exported entry, whether its prose is
/// made as well.
fn make_entries_piece(
    source: &ContentsReader,
    range: Range<usize>,
    has_prose: &[bool],
) -> io::Result<EntriesPiece> {
    let mut text = PieceText::default();
    let mut images = Vec::new();
    let mut facts = Vec::with_capacity(range.len());
    let mut prose = Vec::new();
    for number in range.clone() {
        let mut view = draw_entry(source, source.contents.entries[number], Markup::default())?;
        facts.push(DrawnFacts {
            facts: view.facts,
            estimated_lines: estimate_lines(&view.markup),
        });
        // A long text is not shown without JavaScript, so it is not copied.
        if has_prose[number] && !view.has_long_text {
            let html = prose_html(&view.markup);
            if !html.as_str().is_empty() {
                let number = number as u32;
                prose.push(EntryProse { number, html });
            }
        }

        images.append(&mut view.images);
        text.push_entry(view.markup, &view.markdown_source);
    }

    let mut bytes = Vec::new();
    let attributes = format!("class=\"entries\" data-n=\"{}\"", range.start);
    write_piece(&attributes, text.text.as_bytes(), &mut bytes)?;
    for image in images {
        write_image(&image, &mut bytes)?;
    }
    Ok(EntriesPiece {
        bytes,
        facts,
        prose,
    })
}

/// Writes the element with the data of an image. Images are compressed already, so this is not a
/// piece. The data was checked to be base64 and nothing else.
fn write_image(image: &NamedImage, out: &mut dyn Write) -> io::Result<()> {
    let NamedImage { name, data } = image;
    writeln!(
        out,
        "<script type=\"text/plain\" id=\"{name}\">{data}</script>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn script_and_style_have_no_comments() {
        let source = "// a\nconst a = 1; // kept\n\n/** b\n * c\n */\n  a();\n  /** d */\n  b();\n";
        assert_eq!(strip_comments(source), "const a = 1; // kept\na();\nb();\n");
        let is_code = |line: &str| !line.starts_with("//") && !line.starts_with(['*', ' ']);
        assert!(SCRIPT.lines().all(is_code));
        assert!(STYLE.starts_with(":root {\n") && !STYLE.contains("/*"));
        // A text with a line break would lose the spaces after it.
        for line in SCRIPT_SOURCE.lines() {
            assert_eq!(line.matches('`').count() % 2, 0, "{line}");
        }
    }

    #[test]
    fn script_and_style_do_not_end_early() {
        assert!(!SCRIPT.contains("</") && !SCRIPT.contains("<!--"));
        assert!(!STYLE.contains("</") && !STATIC_STYLE.contains("</"));
        for part in [SCRIPT.as_str(), SKELETON, &STYLE] {
            assert!(
                !part.contains("innerHTML")
                    && !part.contains("style=\"")
                    && !part.contains("http://")
            );
        }
    }
}
