//! The path as a Markdown document, for display on a forge: requests are headings, answers are
//! text, tools and thinking are folded, and code is in fences.
//!
//! It is written from markup. Every character of the session that has a meaning in Markdown is
//! escaped, and a fence is longer than any in its content, so no content can end the block that it
//! is in.
//!
//! What no reader of the conversation needs is left out, unless a filter asks for it: settings,
//! bookkeeping, and messages that the agent does not show. The time is written at each request, and
//! the model at its first answer and where it changes.

use super::commonmark::{Author, one_line};
use super::entry_view::entry_view;
use super::markup::visible;
use super::source::{Contents, Source, cut};
use super::static_html::{edit_notes, name_of, time_of};
pub use escape::APART;
use escape::escaped;
use foldhash::HashMap;
use pisess_core::ops::tree::{Drawing, Filter, rows};
use pisess_core::session::entry::{EntryIx, Flags, Kind};
use pisess_core::session::labels::Labels;
use std::io::{self, Write};

mod escape;
mod writer;

/// Writes the path to the leaf. Several workers make its parts.
pub fn document(contents: &Contents, workers: usize, out: &mut dyn Write) -> io::Result<()> {
    let path = contents.path();
    let document = Document {
        contents,
        edits: edit_notes(&Source::new(contents), &path)?,
        labels: Labels::new(contents.session),
        drawing: rows(contents.session, contents.leaf),
    };
    let is_here = contents.on_path();

    writeln!(out, "# {}", line(&contents.title()))?;
    if let Some(note) = contents.note(contents.others()) {
        write!(out, "\n*{}*\n", line(&note))?;
    }
    let mut model: Option<String> = None;
    let make = |source: &Source, ix| document.part(source, ix, &is_here);
    contents.in_order(&path, workers, make, |part| {
        let Some(mut part) = part else { return Ok(()) };
        if let Some(heading) = &part.heading {
            write!(out, "\n## {heading}\n")?;
        }
        if part.model.is_some() && part.model != model {
            part.notes.splice(0..0, part.model.clone());
            model = part.model;
        }
        write_notes(&part.notes, out)?;
        out.write_all(part.text.as_bytes())
    })
}

/// What the parts of a document have in common.
struct Document<'a> {
    contents: &'a Contents<'a>,
    edits: HashMap<EntryIx, &'static str>,
    labels: Labels<'a>,
    drawing: Drawing<'a>,
}

/// What a document shows of an entry.
struct Part {
    /// That of a request.
    heading: Option<String>,
    /// Remarks, without the model.
    notes: Vec<String>,
    /// The model of a reply; it is written where it changes.
    model: Option<String>,
    /// The Markdown below the remarks.
    text: String,
}

impl Document<'_> {
    /// Returns the part of an entry; `None` if nothing is shown of it.
    fn part(
        &self,
        source: &Source,
        ix: EntryIx,
        is_here: &dyn Fn(&str) -> bool,
    ) -> io::Result<Option<Part>> {
        if is_left_out(self.contents, ix) {
            return Ok(None);
        }
        let letter = super::index::letter(self.contents.session.entry(ix));
        let view = entry_view(source, ix)?;
        let text = writer::markdown(&view.markup, is_here);
        let mut notes = self.notes(ix);
        // A message that contains only tool calls is left out: each call is shown with its result.
        if text.is_empty() && notes.is_empty() {
            return Ok(None);
        }
        let time = time_of(self.contents, ix);
        match letter {
            'u' => {
                notes.splice(0..0, time);
                let whole = as_heading(&text).map(str::to_owned);
                // A long request would be in memory twice.
                drop(text);
                Ok(Some(self.request(ix, whole, notes, || {
                    writer::quoted(&view.markup, is_here)
                })))
            }
            'a' | 't' => Ok(Some(Part {
                heading: None,
                notes,
                model: view.facts.model,
                text,
            })),
            _ => {
                let name = name_of(self.contents, ix);
                notes.splice(0..0, [name].into_iter().chain(time));
                Ok(Some(Part {
                    heading: None,
                    notes,
                    model: None,
                    text,
                }))
            }
        }
    }

    /// Returns the remarks on an entry that other entries make: its label, and that it was edited.
    fn notes(&self, ix: EntryIx) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(label) = self.labels.name(ix) {
            notes.push(format!("Label “{}”", label.to_string_lossy()));
        }
        if let Some(note) = self.edits.get(&ix) {
            notes.push((*note).to_owned());
        }
        notes
    }

    /// Returns the part of a request: a heading with the `whole` of it, or with its first line, and its
    /// text.
    fn request(
        &self,
        ix: EntryIx,
        whole: Option<String>,
        notes: Vec<String>,
        quoted: impl FnOnce() -> String,
    ) -> Part {
        if whole.is_some() {
            return Part {
                heading: whole,
                notes,
                model: None,
                text: String::new(),
            };
        }
        let row = one_line(&self.drawing.row(ix).body.to_string_lossy(), Author::User);
        Part {
            heading: Some(line(&cut(&row, LONGEST_HEADING))),
            notes,
            model: None,
            text: quoted(),
        }
    }
}

/// Whether an entry of the path is not part of the document.
fn is_left_out(contents: &Contents, ix: EntryIx) -> bool {
    let entry = contents.session.entry(ix);
    // A label is written at the entry that it labels.
    if entry.kind == Kind::Label {
        return true;
    }
    // What a renderer makes of an entry is meant to be read.
    if contents.rendered.contains_key(&ix) {
        return false;
    }
    match contents.cuts.filter {
        None => {
            let is_setting = super::index::letter(entry) == 'n';
            is_setting || entry.kind.is_bookkeeping() || entry.flags.has(Flags::HIDDEN)
        }
        Some(Filter::Default | Filter::NoTools) => entry.flags.has(Flags::HIDDEN),
        Some(Filter::UserOnly | Filter::LabeledOnly | Filter::All) => false,
    }
}

/// Returns the text of an entry alone.
pub fn quotation(source: &Source, ix: EntryIx) -> io::Result<String> {
    let mut text = writer::markdown(&entry_view(source, ix)?.markup, &|_| false);
    let line_breaks = text.len() - text.trim_start_matches('\n').len();
    text.drain(..line_breaks);
    Ok(text)
}

/// Writes remarks of the document, on a line of their own.
fn write_notes(notes: &[String], out: &mut dyn Write) -> io::Result<()> {
    if notes.is_empty() {
        Ok(())
    } else {
        write!(out, "\n*{}*\n", line(&notes.join(" · ")))
    }
}

/// The most characters of a heading.
const LONGEST_HEADING: usize = 120;

/// Returns a request in Markdown as a heading, if it is a short line of text.
fn as_heading(text: &str) -> Option<&str> {
    let line = text.trim();
    let starts_block = ["#", "-", ">", "|", "<"]
        .iter()
        .any(|mark| line.starts_with(mark));
    let is_item = line
        .split_once(". ")
        .is_some_and(|(number, _)| number.parse::<u64>().is_ok());
    let is_short =
        !line.is_empty() && !line.contains('\n') && line.chars().count() <= LONGEST_HEADING;
    (is_short && !starts_block && !is_item).then_some(line)
}

/// Returns text of a session as a line of its own.
fn line(text: &str) -> String {
    escaped(&visible(text).replace('\n', " "), true)
}
