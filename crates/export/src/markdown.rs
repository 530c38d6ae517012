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
use escape::{EscapeContext, escape_markdown};
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
    let parts = PartMaker {
        contents,
        edit_notes: edit_notes(&ContentsReader::new(contents), &path)?,
        labels: Labels::new(contents.session),
        drawing: view_without_layout(contents.session, contents.leaf),
    };
    let is_in_document = contents.path_predicate();
    let mut writer = DocumentWriter {
        display: contents.display,
        last_model: None,
        awaits_answer: false,
        part_count: 0,
        gaps: contents.find_gaps(&path).into_iter(),
        out,
    };

    writer.write_title(&contents.title())?;
    let omission_note = contents.omission_note(contents.describe_other_branches());
    writer.write_notes(omission_note.as_slice())?;

    let make_part = |source: &ContentsReader, ix| parts.make_part(source, ix, &is_in_document);
    contents.for_each_in_order(&path, workers, make_part, |part| {
        writer.write_next_gap()?;
        // An entry of which nothing is shown has no part.
        match part {
            Some(part) => writer.write_part(part),
            None => Ok(()),
        }
    })?;
    writer.write_next_gap()?;
    if writer.part_count == 0 {
        writer.write_notes(&[contents.note_if_empty().to_owned()])?;
    }
    Ok(())
}

/// Writes the parts of a document, one after another.
struct DocumentWriter<'o> {
    display: Display,
    /// The model that was named last.
    last_model: Option<String>,
    /// Whether a request was written, and no answer after it. The next answer is then headed
    /// "Assistant".
    awaits_answer: bool,
    /// The number of parts that were written.
    part_count: usize,
    /// What the size limit has left out, as far as it was not written yet: before each entry of the
    /// path, and after the last.
    gaps: std::vec::IntoIter<Gap>,
    out: &'o mut dyn Write,
}

impl DocumentWriter<'_> {
    fn write_title(&mut self, title: &str) -> io::Result<()> {
        writeln!(self.out, "# {}", escape_line(title, self.display))
    }

    /// Writes the part of an entry: its heading if it is a request, the line that names who speaks,
    /// its notes, and its text.
    fn write_part(&mut self, part: DocumentPart) -> io::Result<()> {
        self.part_count += 1;
        if let Some(heading) = &part.heading {
            // A request, which has no model.
            write!(self.out, "\n## {heading}\n")?;
            self.write_speaker("You", &part.notes)?;
            self.awaits_answer = true;
            return self.out.write_all(part.text.as_bytes());
        }

        let new_model = self.take_new_model(part.model);
        let mut notes = part.notes;
        if part.is_answer && self.awaits_answer {
            // Only the model is on the line of the speaker. The notes follow on their own line.
            self.write_speaker("Assistant", new_model.as_slice())?;
            self.awaits_answer = false;
        } else if let Some(model) = new_model {
            notes.insert(0, model);
        }
        self.write_notes(&notes)?;
        self.out.write_all(part.text.as_bytes())
    }

    /// Returns the model of a part if it differs from the one named last, and remembers it. `None`
    /// if the model need not be named.
    fn take_new_model(&mut self, model: Option<String>) -> Option<String> {
        if model.is_none() || model == self.last_model {
            return None;
        }
        self.last_model.clone_from(&model);
        model
    }

    /// Writes the line that names who speaks, with notes, as in `**You** · *2026-03-14 15:09 UTC*`.
    /// It is below the heading of a request, and above the first answer or tool result after the
    /// request.
    fn write_speaker(&mut self, speaker: &str, notes: &[String]) -> io::Result<()> {
        write!(self.out, "\n**{speaker}**")?;
        if !notes.is_empty() {
            let notes = escape_line(&notes.join(" · "), self.display);
            write!(self.out, " · *{notes}*")?;
        }
        writeln!(self.out)
    }

    /// Writes a note about the entries that are left out in the next gap; nothing for an empty gap.
    fn write_next_gap(&mut self) -> io::Result<()> {
        match self.gaps.next() {
            Some(gap) => self.write_notes(gap.note().as_slice()),
            None => Ok(()),
        }
    }

    /// Writes notes on a line of their own; nothing if there are none.
    fn write_notes(&mut self, notes: &[String]) -> io::Result<()> {
        if notes.is_empty() {
            return Ok(());
        }
        let notes = escape_line(&notes.join(" · "), self.display);
        write!(self.out, "\n*{notes}*\n")
    }
}

/// Makes the parts of a document.
struct PartMaker<'a> {
    contents: &'a Contents<'a>,
    /// The notes at entries that were edited; see [`edit_notes`].
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
    /// The notes on it, without the model.
    notes: Vec<String>,
    /// Whether it is a reply or the result of a tool.
    is_answer: bool,
    /// The model of a reply. The document names it only where it changes.
    model: Option<String>,
    /// The Markdown below the notes.
    text: String,
}

impl PartMaker<'_> {
    /// Returns the part of an entry; `None` if nothing of it is shown.
    ///
    /// A request has a heading. A reply or a tool result has only its text. Any other entry has its
    /// name and time as notes. `is_in_document` returns whether the document contains the entry
    /// with a given number.
    fn make_part(
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
            // The letters of replies and of tool results.
            'a' | 't' => DocumentPart {
                is_answer: true,
                notes,
                model: view.facts.model,
                text,
                ..DocumentPart::default()
            },
            _ => self.other_part(ix, notes, text),
        };
        Ok(Some(part))
    }

    /// Returns the part of an entry that is neither a request nor an answer, with its name and time
    /// as the first notes.
    fn other_part(&self, ix: EntryIx, notes: Vec<String>, text: String) -> DocumentPart {
        let mut all_notes = vec![self.entry_name(ix)];
        all_notes.extend(entry_time(self.contents, ix));
        all_notes.extend(notes);
        DocumentPart {
            notes: all_notes,
            text,
            ..DocumentPart::default()
        }
    }

    /// Returns the name of an entry that is neither a request nor an answer: its row in the tree,
    /// such as `model: gpt-5`, or the heading that it has on a page, such as `Compaction`.
    fn entry_name(&self, ix: EntryIx) -> String {
        // Only the row of a setting or of bookkeeping is short. A renderer, a command of the user,
        // shows more of an entry than its row, so such an entry has a heading.
        let is_rendered = self.contents.rendered.contains_key(&ix);
        let is_named_by_row = is_setting_or_bookkeeping(self.contents.session.entry(ix));
        if is_rendered || !is_named_by_row {
            return entry_heading(self.contents, ix);
        }

        let row = self.drawing.row(ix);
        let role = row.role.to_string_lossy();
        let body = row.body.to_string_lossy();
        let name = if body.is_empty() {
            role.into_owned()
        } else {
            format!("{role}: {body}")
        };
        cut(&name, LONGEST_HEADING)
    }

    /// Returns the part of a request, with its time as the first note. `text` is the markup of
    /// `view` as Markdown.
    ///
    /// A request of one short line is itself the heading. The heading of any other request is its
    /// row in the tree, and the request follows as a quotation.
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

        // Dropped here: a long request would otherwise be in memory twice, as text and as the
        // quotation, which is made from the markup again.
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

    /// Returns the notes on an entry that come from other entries: its label, and that its content
    /// was edited.
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

/// Whether an entry is a setting, such as a change of the model, or belongs to the agent's own
/// bookkeeping.
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
    if line.starts_with(['#', '-', '>', '|', '<']) {
        return None;
    }
    // An item of a numbered list, such as `1. Fly it`.
    if let Some((number, _)) = line.split_once(". ")
        && number.parse::<u64>().is_ok()
    {
        return None;
    }
    Some(line)
}

/// Joins text of a session to one line, and escapes it as the beginning of a line.
fn escape_line(text: &str, display: Display) -> String {
    let context = EscapeContext {
        starts_line: true,
        display,
    };
    escape_markdown(&make_visible(text).replace('\n', " "), context)
}
