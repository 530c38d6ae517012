//! The path as a Markdown document, for display on a forge. Requests are headings, answers are
//! text, tools and thinking are folded, and code is in fences.
//!
//! The document is written from markup. No content can end the block that contains it: characters
//! with a meaning in Markdown are escaped, and a fence has more backticks than any run in its
//! content.
//!
//! Settings, bookkeeping, and messages that the agent does not show are left out, unless a filter
//! asks for them. Each request has its time. The model is named at its first answer, and where it
//! changes.

use super::entry_view::draw_entry;
use super::index::kind_letter;
use super::markup::{Markup, make_visible};
use super::row_text::readable_row;
use super::source::{Contents, ContentsReader, Display, Gap, cut};
use super::static_html::{edit_notes, entry_heading, entry_time};
use super::typed::Author;
use super::view_parts::EntryView;
use escape::escape_markdown;
pub use escape::{NO_BREAK_SPACE, ZERO_WIDTH_SPACE};
use foldhash::HashMap;
use pisess_core::ops::tree::{Filter, TreeView, view_without_layout};
use pisess_core::session::entry::{Entry, EntryIx, Flags, Kind};
use pisess_core::session::labels::Labels;
use std::io::{self, Write};

mod escape;
mod writer;

/// Writes the path to the leaf as a document: the title, a note about what is left out, and the
/// parts of the entries in order. `workers` threads make the parts.
pub fn write_document(contents: &Contents, workers: usize, out: &mut dyn Write) -> io::Result<()> {
    let path = contents.exported_path();
    let document = Document {
        contents,
        edit_notes: edit_notes(&ContentsReader::new(contents), &path)?,
        labels: Labels::new(contents.session),
        drawing: view_without_layout(contents.session, contents.leaf),
    };
    let is_in_document = contents.path_predicate();

    let display = contents.display;
    writeln!(out, "# {}", escape_line(&contents.title(), display))?;
    let omission_note = contents.omission_note(contents.describe_other_branches());
    write_notes(omission_note.as_slice(), display, out)?;

    let make_part = |source: &ContentsReader, ix| document.entry_part(source, ix, &is_in_document);
    let gaps = contents.find_gaps(&path);
    let mut last_model: Option<String> = None;
    // Whether a request was written, and no answer after it: the next answer is headed "Assistant".
    let mut awaits_answer = false;
    let mut is_empty = true;
    let mut position = 0;
    contents.for_each_in_order(&path, workers, make_part, |part| {
        write_gap(&gaps[position], display, out)?;
        position += 1;
        // An entry of which nothing is shown has no part.
        let Some(mut part) = part else { return Ok(()) };
        is_empty = false;
        if let Some(heading) = &part.heading {
            write!(out, "\n## {heading}\n")?;
            awaits_answer = true;
        }
        // The model is named only where it changes.
        let mut new_model = None;
        if part.model.is_some() && part.model != last_model {
            last_model = part.model;
            new_model = last_model.as_deref();
        }
        if part.is_answer && awaits_answer {
            let model = new_model.map(str::to_owned);
            write_speaker("Assistant", model.as_slice(), display, out)?;
            awaits_answer = false;
        } else if let Some(model) = new_model {
            part.notes.insert(0, model.to_owned());
        }
        if part.heading.is_some() {
            write_speaker("You", &part.notes, display, out)?;
        } else {
            write_notes(&part.notes, display, out)?;
        }
        out.write_all(part.text.as_bytes())
    })?;
    write_gap(&gaps[path.len()], display, out)?;
    if is_empty {
        write_notes(&[contents.note_if_empty().to_owned()], display, out)?;
    }
    Ok(())
}

/// Writes the line that names who speaks, with remarks, as in `**You** · *2026-03-14 15:09 UTC*`.
/// It is below the heading of a request, and above the first answer or tool result after the
/// request.
fn write_speaker(
    speaker: &str,
    notes: &[String],
    display: Display,
    out: &mut dyn Write,
) -> io::Result<()> {
    write!(out, "\n**{speaker}**")?;
    if !notes.is_empty() {
        write!(out, " · *{}*", escape_line(&notes.join(" · "), display))?;
    }
    writeln!(out)
}

/// Writes the note about what is left out at one place of the path; nothing if the gap is empty.
fn write_gap(gap: &Gap, display: Display, out: &mut dyn Write) -> io::Result<()> {
    write_notes(gap.note().as_slice(), display, out)
}

/// What all parts of a document are made from.
struct Document<'a> {
    contents: &'a Contents<'a>,
    /// The remarks at entries that were edited; see [`edit_notes`].
    edit_notes: HashMap<EntryIx, &'static str>,
    labels: Labels<'a>,
    /// The rows of the tree, which serve as headings of long requests, settings and bookkeeping.
    drawing: TreeView<'a>,
}

/// What a document shows of an entry.
#[derive(Default)]
struct DocumentPart {
    /// The heading of a request; `None` for other entries.
    heading: Option<String>,
    /// Remarks, without the model.
    notes: Vec<String>,
    /// Whether it is a reply or the result of a tool.
    is_answer: bool,
    /// The model of a reply. The document names it only where it changes.
    model: Option<String>,
    /// The Markdown below the remarks.
    text: String,
}

impl Document<'_> {
    /// Returns the part of an entry; `None` if nothing of it is shown.
    ///
    /// A request has a heading. A reply or a tool result has only its text. Any other entry has its
    /// name and time as remarks. `is_in_document` returns whether the document contains the entry
    /// with a given number.
    fn entry_part(
        &self,
        source: &ContentsReader,
        ix: EntryIx,
        is_in_document: &dyn Fn(&str) -> bool,
    ) -> io::Result<Option<DocumentPart>> {
        if is_left_out(self.contents, ix) {
            return Ok(None);
        }
        let view = draw_entry(source, ix, Markup::without_colours())?;
        let is_row = is_shown_as_row(self.contents.session.entry(ix));
        let text = if is_row {
            String::new()
        } else {
            writer::markup_to_markdown(&view.markup, self.contents.display, is_in_document)
        };
        let notes = self.notes_from_others(ix);
        // A message that contains only tool calls has no text: each call is shown with its result.
        if text.is_empty() && notes.is_empty() && !is_row {
            return Ok(None);
        }

        let part = match kind_letter(self.contents.session.entry(ix)) {
            'u' => self.request_part(&view, notes, text, is_in_document),
            // Replies and results of tools.
            'a' | 't' => DocumentPart {
                is_answer: true,
                notes,
                model: view.facts.model,
                text,
                ..DocumentPart::default()
            },
            _ => {
                let mut all_notes = vec![self.note_heading(ix)];
                all_notes.extend(entry_time(self.contents, ix));
                all_notes.extend(notes);
                DocumentPart {
                    notes: all_notes,
                    text,
                    ..DocumentPart::default()
                }
            }
        };
        Ok(Some(part))
    }

    /// Returns the first remark of an entry that is neither a request nor an answer: its name. The
    /// remark of a setting or of bookkeeping is its row in the tree, unless a renderer made its
    /// text.
    fn note_heading(&self, ix: EntryIx) -> String {
        let entry = self.contents.session.entry(ix);
        if !is_setting_or_bookkeeping(entry) || self.contents.rendered.contains_key(&ix) {
            return entry_heading(self.contents, ix);
        }
        let row = self.drawing.row(ix);
        let role = row.role.to_string_lossy();
        let body = row.body.to_string_lossy();
        let heading = if body.is_empty() {
            role.into_owned()
        } else {
            format!("{role}: {body}")
        };
        cut(&heading, LONGEST_HEADING)
    }

    /// Returns the part of a request, with its time as the first remark. `text` is the request as
    /// Markdown.
    ///
    /// A request of one short line is the heading, without further text. The heading of any other
    /// request is its row in the tree, and the request follows as a quotation.
    fn request_part(
        &self,
        view: &EntryView,
        notes: Vec<String>,
        text: String,
        is_in_document: &dyn Fn(&str) -> bool,
    ) -> DocumentPart {
        let mut all_notes = Vec::new();
        all_notes.extend(entry_time(self.contents, view.ix));
        all_notes.extend(notes);
        if let Some(heading) = heading_line(&text) {
            return DocumentPart {
                heading: Some(heading.to_owned()),
                notes: all_notes,
                ..DocumentPart::default()
            };
        }

        // Dropped here: a long request would otherwise be in memory twice, as text and as a
        // quotation.
        drop(text);
        let row = self.drawing.row(view.ix);
        let row_text = row.body.to_string_lossy();
        let heading = cut(&readable_row(&row_text, Author::User), LONGEST_HEADING);
        DocumentPart {
            heading: Some(escape_line(&heading, self.contents.display)),
            notes: all_notes,
            text: writer::markup_to_quotation(&view.markup, self.contents.display, is_in_document),
            ..DocumentPart::default()
        }
    }

    /// Returns the remarks on an entry that come from other entries: its label, and that its
    /// content was edited.
    fn notes_from_others(&self, ix: EntryIx) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(label) = self.labels.get(ix) {
            notes.push(format!("Label “{}”", label.to_string_lossy()));
        }
        if let Some(note) = self.edit_notes.get(&ix) {
            notes.push((*note).to_owned());
        }
        notes
    }
}

/// Whether an entry of the path is left out of the document:
///
/// - a label always;
/// - a setting or bookkeeping if there is no filter;
/// - a hidden entry if there is no filter, or one that does not show it.
///
/// An entry of which a renderer made the text is never left out, unless it is a label.
pub(super) fn is_left_out(contents: &Contents, ix: EntryIx) -> bool {
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
        None => is_setting_or_bookkeeping(entry) || entry.flags.contains(Flags::HIDDEN),
        Some(Filter::Default | Filter::NoTools) => entry.flags.contains(Flags::HIDDEN),
        Some(
            Filter::UserOnly | Filter::LabeledOnly | Filter::Failed | Filter::Images | Filter::All,
        ) => false,
    }
}

fn is_setting_or_bookkeeping(entry: &Entry) -> bool {
    kind_letter(entry) == 'n' || entry.kind.is_bookkeeping()
}

/// Whether the document shows only the row of an entry, which says all that the entry does: a
/// setting.
fn is_shown_as_row(entry: &Entry) -> bool {
    // The tools that are active do not fit into a row.
    kind_letter(entry) == 'n' && entry.kind != Kind::ActiveToolsChange
}

/// Returns the Markdown of one entry, without leading line breaks. It includes the calls of the
/// entry. In a document, a call is shown with its result instead.
pub fn entry_markdown(source: &ContentsReader, ix: EntryIx) -> io::Result<String> {
    let view = draw_entry(source, ix, Markup::without_colours())?;
    // There is no document, so no result to which a call could be moved.
    let is_in_document = |_: &str| false;
    let mut text =
        writer::markup_to_markdown(&view.markup, source.contents.display, &is_in_document);
    let line_breaks = text.len() - text.trim_start_matches('\n').len();
    text.drain(..line_breaks);
    Ok(text)
}

/// Returns markup as Markdown, for tests of what it looks like.
#[cfg(test)]
pub(super) fn markdown_of(markup: &super::markup::Markup) -> String {
    writer::markup_to_markdown(markup, Display::default(), &|_| false)
}

/// Writes remarks of the document, on a line of their own.
fn write_notes(notes: &[String], display: Display, out: &mut dyn Write) -> io::Result<()> {
    if notes.is_empty() {
        Ok(())
    } else {
        write!(out, "\n*{}*\n", escape_line(&notes.join(" · "), display))
    }
}

/// The maximum number of characters of a heading.
const LONGEST_HEADING: usize = 120;

/// Returns a request as the text of a heading. `request` is Markdown. `None` if it is empty, has
/// several lines or more than [`LONGEST_HEADING`] characters, or begins a block, such as a list.
fn heading_line(request: &str) -> Option<&str> {
    let line = request.trim();
    if line.is_empty() || line.contains('\n') || line.chars().count() > LONGEST_HEADING {
        return None;
    }

    // Text in the request is escaped, so a line that begins with one of these is a block, or begins
    // with an address in angle brackets.
    let starts_block = ["#", "-", ">", "|", "<"]
        .iter()
        .any(|mark| line.starts_with(mark));
    let is_item = line
        .split_once(". ")
        .is_some_and(|(number, _)| number.parse::<u64>().is_ok());
    if starts_block || is_item {
        return None;
    }
    Some(line)
}

/// Joins text of a session to one line, and escapes it as the beginning of a line.
fn escape_line(text: &str, display: Display) -> String {
    escape_markdown(&make_visible(text).replace('\n', " "), true, display)
}
