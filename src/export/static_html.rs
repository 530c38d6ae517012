//! One path as HTML without a script, for mail and wikis.

use super::entry_view::entry_view;
use super::html::{Html, html};
use super::page::{STATIC_STYLE, head};
use super::source::cut;
use super::source::{Contents, Source};
use crate::session::entry::{Entry, EntryIx, Kind};
use crate::session::labels::Labels;
use foldhash::HashMap;
use pisess_json::time::iso_string;
use std::io::{self, Write};

/// Writes the path to the leaf.
pub fn static_page(contents: &Contents, out: &mut dyn Write) -> io::Result<()> {
    let source = Source::new(contents);
    let path = contents.path();
    let (edits, labels, is_here) = (
        edit_notes(&source, &path)?,
        Labels::new(contents.session),
        contents.on_path(),
    );
    head(contents, STATIC_STYLE, None, out)?;
    writeln!(
        out,
        "<body class=\"document\">\n<h1>{}</h1>",
        Html::text(&contents.title())
    )?;
    if let Some(note) = contents.note(contents.others()) {
        writeln!(out, "<p class=\"note\">{}</p>", Html::text(&note))?;
    }
    let mut model: Option<String> = None;
    for &ix in &path {
        let view = entry_view(&source, ix)?;
        let body = html(&view.markup, &is_here, &view.images);
        let (label, edit) = (labels.name(ix), edits.get(&ix).copied());
        // A message that contains only tool calls is omitted: each call is shown with its result.
        if body.as_str().is_empty() && edit.is_none() && label.is_none() {
            continue;
        }
        let new = view.facts.model.filter(|new| model.as_ref() != Some(new));
        let in_element = |begin: &str, text: Option<&str>, end: &str| {
            text.map(|text| format!("{begin}{}{end}", Html::text(text)))
                .unwrap_or_default()
        };
        let heading: Vec<_> = [name_of(contents, ix)]
            .into_iter()
            .chain(time_of(contents, ix))
            .collect();
        let label_text = label.map(|label| label.to_string_lossy().into_owned());
        writeln!(
            out,
            "<article class=\"entry {}\" id=\"e{}\"><header><h2>{}</h2>{}{}</header><div class=\"body\">{}{body}</div></article>",
            super::index::letter(contents.session.entry(ix)),
            contents.number(ix).unwrap_or_default(),
            Html::text(&heading.join(" · ")),
            in_element("<span class=\"label\">", label_text.as_deref(), "</span>"),
            in_element("<span>", new.as_deref(), "</span>"),
            in_element("<div class=\"note\">", edit, "</div>"),
        )?;
        model = new.or(model);
    }
    out.write_all(b"</body>\n</html>\n")
}

/// Returns the name of the speaker.
pub(super) fn name_of(contents: &Contents, ix: EntryIx) -> String {
    let who = match super::index::letter(contents.session.entry(ix)) {
        'u' => "User",
        'a' => "Assistant",
        't' => "Tool",
        'b' => "Command",
        'f' => "Files",
        'c' => "Compaction",
        'r' => "Branch summary",
        'm' | 'x' => {
            let name = super::index::name_of(contents.session, ix).filter(|name| !name.is_empty());
            return name.unwrap_or("Message".to_owned());
        }
        'l' => "Label",
        'e' => "Edit of the context",
        _ => return in_words(&super::index::name_of(contents.session, ix).unwrap_or_default()),
    };
    who.to_owned()
}

/// Returns the day and the time of an entry, in UTC, because a document has no time zone.
pub(super) fn time_of(contents: &Contents, ix: EntryIx) -> Option<String> {
    let time = contents.session.entry(ix).time_ms;
    let time = Some(time)
        .filter(|&time| time != Entry::NO_TIME)
        .map(iso_string)?;
    let (day, clock) = time.split_once('T')?;
    Some(format!("{day} {} UTC", clock.get(..5)?))
}

/// Returns the name of a type for people: `model_change` becomes `Model change`.
fn in_words(name: &str) -> String {
    let words = cut(name, 60).replace('_', " ");
    let mut letters = words.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().chain(letters).collect())
        .unwrap_or_default()
}

/// Returns the notes for the reader of entries that were edited on a path, by the last edit of
/// each.
pub(super) fn edit_notes(
    source: &Source,
    path: &[EntryIx],
) -> io::Result<HashMap<EntryIx, &'static str>> {
    let (session, mut notes) = (source.contents.session, HashMap::default());
    for &ix in path
        .iter()
        .filter(|&&ix| session.entry(ix).kind == Kind::ContextEdit)
    {
        source.reader.with_entry(ix, |line| {
            let Some(target) = line.get_text("targetId").and_then(|id| session.find(&id)) else {
                return;
            };
            match line.get("replacement") {
                Some(new) if new.is_null() => notes.insert(
                    target,
                    "No longer sent to the model: an edit further down omits it.",
                ),
                Some(_) => notes.insert(
                    target,
                    "The model sees other content in its place: see the edit further down.",
                ),
                None => notes.remove(&target),
            };
        })?;
    }
    Ok(notes)
}
