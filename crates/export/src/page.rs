//! The page: one self-contained file, with its entries in compressed pieces.
//!
//! ```text
//! head: policy, style │ skeleton │ index, rows │ script │ entries, images … │ facts
//! ```
//!
//! The script runs before the entries are loaded, so the tree appears at once. Pieces are base64 of
//! gzip, in elements that no browser runs; the script inflates those that are viewed. The content
//! security policy allows this script and this style by their hashes, and images of the page
//! itself. It forbids everything else: requests, forms, plug-ins, and turning text into HTML.

use super::entry_view::entry_view;
use super::height::lines;
use super::html::{Html, NamedImage, prose_html};
use super::index::{self, Late};
use super::markup::visible;
use super::source::{Contents, Source};
use super::view_parts::Facts;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use foldhash::HashMap;
use pisess_core::ops::tree::rows;
use pisess_core::session::entry::EntryIx;
use pisess_core::session::read::batches::{BatchSize, batches};
use pisess_store::FnWriter;
use pisess_store::workers::in_order;
use sha2::{Digest, Sha256};
use std::io::{self, BufWriter, Write};
use std::ops::Range;

/// What a piece holds of the session.
const SIZE: BatchSize = BatchSize {
    bytes: 768 * 1024,
    items: 1024,
};

/// The number of rows in a piece.
const ROWS: usize = 4096;

/// Separates the entries of a piece.
const BETWEEN: char = '\x1e';

/// Separates the markup of an entry from the Markdown of its texts.
const SOURCE: char = '\x1d';

/// The maximum number of bytes of the prose that is shown without JavaScript.
const MOST_PROSE: usize = 4 << 20;

/// Begins the part for browsers that do not run the script.
pub(super) const PROSE: &str = "<noscript id=\"prose\">";

const SKELETON: &str = include_str!("page/page.html");
const STYLE: &str = concat!(
    include_str!("page/common.css"),
    include_str!("page/page.css")
);
/// The style of a page without a script.
pub(super) const STATIC_STYLE: &str = include_str!("page/common.css");
const SCRIPT: &str = concat!(
    "\"use strict\";\n(() => {\n",
    include_str!("page/data.js"),
    include_str!("page/build.js"),
    include_str!("page/tree.js"),
    include_str!("page/work.js"),
    include_str!("page/path.js"),
    include_str!("page/article.js"),
    include_str!("page/search.js"),
    include_str!("page/page.js"),
    "})();\n"
);

/// Writes the page. `attach` adds the entries as a session, which the reader can save.
pub fn page(
    contents: &Contents,
    workers: usize,
    attach: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    head(contents, STYLE, Some(SCRIPT), out)?;
    out.write_all(b"<body>\n")?;
    out.write_all(SKELETON.as_bytes())?;
    piece("id=\"index\"", &index::early(contents), out)?;
    row_pieces(contents, workers, out)?;
    writeln!(out, "<script>{SCRIPT}</script>")?;
    let (late, said) = entry_pieces(contents, workers, out)?;
    piece("id=\"late\"", &late.finish(contents), out)?;
    if attach {
        let attached = FnWriter(|bytes: &[u8]| piece("class=\"session\"", bytes, out));
        let mut pieces = BufWriter::with_capacity(SIZE.bytes as usize, attached);
        let written = contents
            .write_session(&mut pieces)
            .and_then(|()| pieces.flush());
        // Dropped after an error, it would write once more.
        drop(pieces.into_parts());
        written?;
    }
    without_script(contents, &said, out)?;
    out.write_all(b"</body>\n</html>\n")
}

/// Writes the head of a page, with or without a script.
pub(super) fn head(
    contents: &Contents,
    style: &'static str,
    script: Option<&str>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let hash = |text: &str| STANDARD.encode(Sha256::digest(text.as_bytes()));
    let scripts = match script {
        Some(script) => format!("script-src 'sha256-{}'; ", hash(script)),
        None => String::new(),
    };
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; {scripts}\
         style-src 'sha256-{}'; img-src data: blob:; base-uri 'none'; form-action 'none'; \
         require-trusted-types-for 'script'; trusted-types 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"generator\" content=\"pisess\">\n\
         <link rel=\"icon\" href=\"data:,\">\n\
         <title>{}</title>\n<style>{style}</style>\n</head>\n",
        hash(style),
        Html::text(&contents.title()),
    )
}

/// How hard to compress, from 1 to 9. Of a session, level 6 saves half a percent more, and takes
/// twice as long; of repetitive texts, a tenth more.
const LEVEL: u32 = 5;

/// Writes a piece: an element that contains compressed bytes.
fn piece(attributes: &str, bytes: &[u8], out: &mut dyn Write) -> io::Result<()> {
    let mut packed = GzEncoder::new(
        Vec::with_capacity(bytes.len() / 4 + 64),
        Compression::new(LEVEL),
    );
    packed.write_all(bytes)?;
    writeln!(
        out,
        "<script type=\"text/plain\" {attributes}>{}</script>",
        STANDARD.encode(packed.finish()?)
    )
}

fn row_pieces(contents: &Contents, workers: usize, out: &mut dyn Write) -> io::Result<()> {
    let drawing = rows(contents.session, contents.leaf);
    let make = |(at, entries): (usize, &[EntryIx])| {
        let rows: Vec<String> = entries
            .iter()
            .map(|&ix| index::row(&drawing.row(ix)))
            .collect();
        let mut bytes = Vec::new();
        let attributes = format!("class=\"rows\" data-n=\"{}\"", at * ROWS);
        piece(&attributes, rows.join("\n").as_bytes(), &mut bytes)?;
        Ok(bytes)
    };
    let chunks = contents.entries.chunks(ROWS).enumerate();
    in_order(chunks, workers, make, |made: io::Result<Vec<u8>>| {
        out.write_all(&made?)
    })
}

/// Writes the pieces in file order; several workers make them. Returns the facts that follow them,
/// and the prose of the prompts and answers on the path up to [`MOST_PROSE`], by the numbers of
/// their entries.
fn entry_pieces(
    contents: &Contents,
    workers: usize,
    out: &mut dyn Write,
) -> io::Result<(Late, HashMap<u32, Html>)> {
    let batches = batches(&contents.entries, SIZE, |&ix| {
        contents.session.entry(ix).span.len
    });
    let mut late = Late::default();
    let mut said = HashMap::default();
    let mut bytes_said = 0;

    // Whether an entry, by its number, is a prompt or an answer on the path.
    let mut is_said = vec![false; contents.entries.len()];
    for ix in contents.session.path(contents.leaf) {
        let is_prose = matches!(index::letter(contents.session.entry(ix)), 'u' | 'a');
        if let Some(number) = contents.number(ix)
            && is_prose
        {
            is_said[number as usize] = true;
        }
    }

    let make = |range| entries_piece(&Source::new(contents), range, &is_said);
    in_order(batches, workers, make, |made| {
        let made = made?;
        out.write_all(&made.bytes)?;
        for (facts, lines) in made.facts {
            late.push(facts, lines);
        }
        for (number, prose) in made.said {
            bytes_said += prose.as_str().len();
            if bytes_said <= MOST_PROSE {
                said.insert(number, prose);
            }
        }
        Ok::<(), io::Error>(())
    })?;
    Ok((late, said))
}

/// Writes the prompts and answers of the path for browsers that do not run the script.
fn without_script(
    contents: &Contents,
    said: &HashMap<u32, Html>,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(
        out,
        "{PROSE}\n<div class=\"document\">\n<h1>{}</h1>",
        Html::text(&contents.title())
    )?;
    out.write_all(b"<p class=\"note\">Only the prompts and answers: the rest of this page needs JavaScript, which runs without network access.</p>\n")?;
    for ix in contents.session.path(contents.leaf) {
        let Some(number) = contents.number(ix) else {
            continue;
        };
        let Some(prose) = said.get(&number) else {
            continue;
        };
        let letter = index::letter(contents.session.entry(ix));
        let who = if letter == 'u' { "User" } else { "Assistant" };
        writeln!(
            out,
            "<article class=\"entry {letter}\" id=\"s{number}\"><header><h2>{who}</h2></header><div class=\"body\">{prose}</div></article>"
        )?;
    }
    writeln!(out, "</div>\n</noscript>")
}

/// A piece with the entries of a range, and their images.
struct MadePiece {
    bytes: Vec<u8>,
    /// And about how many lines each takes.
    facts: Vec<(Facts, u32)>,
    /// The prose of the entries that are requested.
    said: Vec<(u32, Html)>,
}

fn entries_piece(source: &Source, range: Range<usize>, is_said: &[bool]) -> io::Result<MadePiece> {
    let mut text = String::new();
    let mut images = Vec::new();
    let mut facts = Vec::with_capacity(range.len());
    let mut said = Vec::new();
    for number in range.clone() {
        let mut view = entry_view(source, source.contents.entries[number])?;
        facts.push((view.facts, lines(&view.markup)));
        if number > range.start {
            text.push(BETWEEN);
        }
        // A long text is not shown without JavaScript, so it is not copied.
        if is_said[number] && !view.has_long_text {
            let prose = prose_html(&view.markup);
            if !prose.as_str().is_empty() {
                said.push((number as u32, prose));
            }
        }
        // A single long entry is moved, not copied.
        if text.is_empty() {
            text = view.markup.finish();
        } else {
            text += view.markup.as_str();
        }
        if !view.text.is_empty() {
            text.push(SOURCE);
            text += &visible(&view.text);
        }
        images.append(&mut view.images);
    }
    let mut bytes = Vec::new();
    piece(
        &format!("class=\"entries\" data-n=\"{}\"", range.start),
        text.as_bytes(),
        &mut bytes,
    )?;
    for NamedImage { name, data } in images {
        // Images are compressed already. The data was checked to be base64 and nothing else.
        writeln!(
            bytes,
            "<script type=\"text/plain\" id=\"{name}\">{data}</script>"
        )?;
    }
    Ok(MadePiece { bytes, facts, said })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_page_brings_along_cannot_end_early() {
        assert!(!SCRIPT.contains("</") && !SCRIPT.contains("<!--"));
        assert!(!STYLE.contains("</") && !STATIC_STYLE.contains("</"));
        for part in [SCRIPT, SKELETON, STYLE] {
            assert!(
                !part.contains("innerHTML")
                    && !part.contains("style=\"")
                    && !part.contains("http://")
            );
        }
    }
}
