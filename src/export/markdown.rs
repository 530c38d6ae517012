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
use crate::ops::tree::{Filter, rows};
use crate::session::entry::{EntryIx, Flags, Kind};
use crate::session::labels::Labels;
pub use escape::APART;
use escape::escaped;
use std::io::{self, Write};

mod escape;
mod writer;

/// Writes the path to the leaf.
pub fn document(contents: &Contents, out: &mut dyn Write) -> io::Result<()> {
    let source = Source::new(contents);
    let path = contents.path();
    let edits = edit_notes(&source, &path)?;
    let labels = Labels::new(contents.session);
    let drawing = rows(contents.session, contents.leaf);
    let is_here = contents.on_path();
    writeln!(out, "# {}", line(&contents.title()))?;
    if let Some(note) = contents.note(contents.others()) {
        write!(out, "\n*{}*\n", line(&note))?;
    }
    let mut model: Option<String> = None;
    for &ix in &path {
        if is_left_out(contents, ix) {
            continue;
        }
        let letter = super::index::letter(contents.session.entry(ix));
        let view = entry_view(&source, ix)?;
        let text = writer::markdown(&view.markup, &is_here);
        let mut notes: Vec<String> = Vec::new();
        notes.extend(
            labels
                .name(ix)
                .map(|label| format!("Label “{}”", label.to_string_lossy())),
        );
        notes.extend(edits.get(&ix).map(|note| (*note).to_owned()));
        // A message that contains only tool calls is left out: each call is shown with its result.
        if text.is_empty() && notes.is_empty() {
            continue;
        }
        let time = time_of(contents, ix);
        match letter {
            'u' => {
                let whole = as_heading(&text).map(str::to_owned);
                // A long request would be in memory twice.
                drop(text);
                notes.splice(0..0, time);
                if let Some(heading) = whole {
                    write!(out, "\n## {heading}\n")?;
                    write_notes(&notes, out)?;
                    continue;
                }
                let row = one_line(&drawing.row(ix).body.to_string_lossy(), Author::User);
                let heading = line(&cut(&row, LONGEST_HEADING));
                write!(out, "\n## {heading}\n")?;
                write_notes(&notes, out)?;
                out.write_all(writer::quoted(&view.markup, &is_here).as_bytes())?;
                continue;
            }
            'a' | 't' => {
                let new = view.facts.model.filter(|new| model.as_ref() != Some(new));
                notes.splice(0..0, new.clone());
                model = new.or(model);
            }
            _ => notes
                .splice(0..0, [name_of(contents, ix)].into_iter().chain(time))
                .for_each(drop),
        }
        write_notes(&notes, out)?;
        out.write_all(text.as_bytes())?;
    }
    Ok(())
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
