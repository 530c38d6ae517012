//! One path as HTML without a script, for mail and wikis.

use super::entry_view::draw_entry;
use super::html::{Html, full_html};
use super::index::{kind_letter, type_name};
use super::markdown::is_left_out;
use super::markup::Markup;
use super::page::{PageHead, PageWriter, STATIC_STYLE};
use super::source::{Contents, ContentsReader, cut};
use foldhash::HashMap;
use pisess_core::session::Session;
use pisess_core::session::entry::{Entry, EntryIx, Kind};
use pisess_core::session::labels::Labels;
use pisess_json::Raw;
use pisess_json::time::iso_string;
use std::io::{self, Write};

/// Writes the path to the leaf as a page without a script: its title, a note about what is left
/// out, and an article for each entry that shows something. `workers` threads make the articles.
pub fn write_static_page(
    contents: &Contents,
    workers: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let whole_path = contents.exported_path();
    let edit_notes = edit_notes(&ContentsReader::new(contents), &whole_path)?;
    // As in Markdown, bookkeeping is left out unless a filter asks for it.
    let mut path = whole_path;
    path.retain(|&ix| !is_left_out(contents, ix));
    let labels = Labels::new(contents.session);
    let is_in_document = contents.path_predicate();
    let make_part = |source: &ContentsReader, ix| {
        let view = draw_entry(source, ix, Markup::default())?;
        let body = full_html(&view.markup, &is_in_document, &view.images);
        let label = labels
            .get(ix)
            .map(|label| label.to_string_lossy().into_owned());
        Ok(PagePart {
            ix,
            label,
            edit_note: edit_notes.get(&ix).copied(),
            model: view.facts.model,
            body,
        })
    };

    let mut page = PageWriter::new(out);
    write_page_start(contents, &mut page)?;
    let mut articles = ArticleWriter {
        contents,
        out: &mut page,
        last_model: None,
        is_empty: true,
    };
    contents.for_each_in_order(&path, workers, make_part, |part| articles.write_part(part))?;
    if articles.is_empty {
        writeln!(page, "<p class=\"note\">{}</p>", contents.note_if_empty())?;
    }
    page.write_all(b"</main>\n")?;
    page.finish()
}

/// Writes the head and the title of the page, and a note about omitted parts.
fn write_page_start(contents: &Contents, out: &mut dyn Write) -> io::Result<()> {
    let head = PageHead {
        style: &STATIC_STYLE,
        script: None,
        has_session: false,
    };
    head.write(contents, out)?;
    writeln!(
        out,
        "<body>\n<main class=\"document\">\n<h1>{}</h1>",
        Html::from_text(&contents.title())
    )?;
    if let Some(note) = contents.omission_note(contents.describe_other_branches()) {
        writeln!(out, "<p class=\"note\">{}</p>", Html::from_text(&note))?;
    }
    Ok(())
}

/// Writes the articles of a page, one after another.
struct ArticleWriter<'a, 'o> {
    contents: &'a Contents<'a>,
    out: &'o mut dyn Write,
    /// The model of the last reply that names one.
    last_model: Option<String>,
    /// Whether no article was written yet.
    is_empty: bool,
}

impl ArticleWriter<'_, '_> {
    /// Writes the article of an entry, unless nothing of it is shown.
    fn write_part(&mut self, mut part: PagePart) -> io::Result<()> {
        // A message that contains only tool calls has no body, because each call is shown with its
        // result. Without a note or a label, nothing of it is left to show.
        if part.body.as_str().is_empty() && part.edit_note.is_none() && part.label.is_none() {
            return Ok(());
        }
        self.is_empty = false;
        // The model is named only where it changes.
        if part.model == self.last_model {
            part.model = None;
        }
        part.write(self.contents, self.out)?;
        if part.model.is_some() {
            self.last_model = part.model;
        }
        Ok(())
    }
}

/// What a page shows of an entry.
struct PagePart {
    ix: EntryIx,
    label: Option<String>,
    /// The note that an edit changed what the model sees of the entry.
    edit_note: Option<&'static str>,
    /// The model of a reply. `None` if the reply before has the same model, and for other entries.
    model: Option<String>,
    body: Html,
}

impl PagePart {
    /// Writes an article: its name and time, label, model, and note, then its content.
    fn write(&self, contents: &Contents, out: &mut dyn Write) -> io::Result<()> {
        // The style knows the kind of an entry by its letter.
        let kind_class = kind_letter(contents.session.entry(self.ix));
        // A part is made only of an entry that is exported, which has a number.
        let number = contents.entry_number(self.ix).unwrap_or_default();
        let mut heading_parts = vec![entry_heading(contents, self.ix)];
        heading_parts.extend(entry_time(contents, self.ix));
        let heading = Html::from_text(&heading_parts.join(" · "));
        let label = wrap_in_element("<span class=\"label\">", self.label.as_deref(), "</span>");
        let model = wrap_in_element("<span>", self.model.as_deref(), "</span>");
        let note = wrap_in_element("<div class=\"note\">", self.edit_note, "</div>");
        let body = &self.body;
        writeln!(
            out,
            "<article class=\"entry {kind_class}\" id=\"e{number}\">\
            <header><h2>{heading}</h2>{label}{model}</header>\
            <div class=\"body\">{note}{body}</div></article>",
        )
    }
}

/// Returns `text`, escaped, between the tags `begin` and `end`. Empty if there is no text.
fn wrap_in_element(begin: &str, text: Option<&str>, end: &str) -> String {
    match text {
        Some(text) => format!("{begin}{}{end}", Html::from_text(text)),
        None => String::new(),
    }
}

/// Returns the heading of an entry: who wrote it, such as `User`; for a message of an extension,
/// the name that the extension gave it; for any other entry, its type in words, such as `Model
/// change`.
pub(super) fn entry_heading(contents: &Contents, ix: EntryIx) -> String {
    let letter = kind_letter(contents.session.entry(ix));
    let fixed_heading = match letter {
        'u' => Some("User"),
        'a' => Some("Assistant"),
        't' => Some("Tool"),
        'b' => Some("Command"),
        'f' => Some("Files"),
        'c' => Some("Compaction"),
        'r' => Some("Branch summary"),
        'l' => Some("Label"),
        'e' => Some("Edit of the context"),
        _ => None,
    };
    if let Some(heading) = fixed_heading {
        return heading.to_owned();
    }

    // Other messages and entries are named by their role or type, or by their extension.
    let name = type_name(contents.session, ix).unwrap_or_default();
    let is_message = matches!(letter, 'm' | 'x');
    if !is_message {
        type_in_words(&name)
    } else if name.is_empty() {
        "Message".to_owned()
    } else {
        name
    }
}

/// Returns the time of an entry, as in `2026-03-14 15:09 UTC`; `None` if it has none. The time is
/// in UTC, because the time zone of the document's reader is not known.
pub(super) fn entry_time(contents: &Contents, ix: EntryIx) -> Option<String> {
    let time_ms = contents.session.entry(ix).time_ms;
    if time_ms == Entry::NO_TIME {
        return None;
    }
    let time = iso_string(time_ms);
    let (day, clock) = time.split_once('T')?;
    let hours_and_minutes = clock.get(.."12:34".len())?;
    Some(format!("{day} {hours_and_minutes} UTC"))
}

/// The maximum number of characters of an entry's type in its heading.
const LONGEST_TYPE: usize = 60;

/// Rewrites the name of a type for people: `model_change` becomes `Model change`.
fn type_in_words(name: &str) -> String {
    let words = cut(name, LONGEST_TYPE).replace('_', " ");
    let mut letters = words.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}

/// Returns the notes for readers at the entries whose content an edit on the path changed for the
/// model. Of several edits of an entry, the last one counts: if it undoes the one before, the entry
/// has no note.
pub(super) fn edit_notes(
    source: &ContentsReader,
    path: &[EntryIx],
) -> io::Result<HashMap<EntryIx, &'static str>> {
    let session = source.contents.session;
    let mut notes = HashMap::default();
    for &ix in path {
        if session.entry(ix).kind != Kind::ContextEdit {
            continue;
        }
        let edit = source
            .reader
            .with_entry(ix, |line| read_context_edit(session, line))?;
        let Some(edit) = edit else { continue };
        match edit.note {
            Some(note) => notes.insert(edit.target, note),
            None => notes.remove(&edit.target),
        };
    }
    Ok(notes)
}

/// What an edit of the context changes for the model.
struct ContextEdit {
    /// The entry that is edited.
    target: EntryIx,
    /// The note at that entry; `None` if the edit undoes an earlier one.
    note: Option<&'static str>,
}

/// Reads an edit of the context; `None` if its target is not in the session.
///
/// A `replacement` that is `null` omits the content of the target. Any other `replacement` replaces
/// it. An edit without a `replacement` undoes an earlier edit.
fn read_context_edit(session: &Session, line: Raw) -> Option<ContextEdit> {
    let target_id = line.get_text("targetId")?;
    let target = session.find_entry(&target_id)?;
    let note = line.get("replacement").map(|replacement| {
        if replacement.is_null() {
            "No longer sent to the model: an edit further down omits it."
        } else {
            "The model sees other content in its place: see the edit further down."
        }
    });
    Some(ContextEdit { target, note })
}
