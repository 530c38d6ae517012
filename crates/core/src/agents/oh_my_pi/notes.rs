//! The notebook of the agent's experimental context notes. In a context, its newest valid revision
//! precedes all other messages.

use super::template;
use crate::session::content;
use crate::session::entry::{EntryIx, Kind};
use crate::session::read::entry_reader::{Body, ContextMessage, EntryReader};
use pisess_json::text::Text;
use pisess_json::write::Object;
use pisess_json::{Raw, js};
use std::io;

/// The custom type of the notebook's revisions.
const NOTES_TYPE: &str = "experimental_context_notes";
/// The maximum length of a revision's text in bytes.
const MAX_NOTES_BYTES: usize = 16_384;

/// Returns the newest valid revision of the model's notebook as a message. `None` if there is none
/// after the last reset, which clears the context, or if the newest one is empty.
pub fn notes_message(path: &[EntryIx], reader: &EntryReader) -> io::Result<Option<ContextMessage>> {
    let Some(Revision { entry, text }) = newest_revision(path, reader)? else {
        return Ok(None);
    };
    if text.is_empty() {
        // An empty revision clears the notebook, so no older one takes its place.
        return Ok(None);
    }
    let message = Object::new()
        .str("role", "custom")
        .str("customType", NOTES_TYPE)
        .text("content", &template::wrap_context_notes(&text))
        .bool("display", false)
        .number("timestamp", reader.session().entry(entry).js_time());
    Ok(Some(ContextMessage {
        entry,
        body: Body::from_json(message.finish()),
    }))
}

/// A revision of the notebook.
struct Revision {
    /// The entry that has it.
    entry: EntryIx,
    text: Text<'static>,
}

/// Returns the newest valid revision on a path, after the last reset.
fn newest_revision(path: &[EntryIx], reader: &EntryReader) -> io::Result<Option<Revision>> {
    let session = reader.session();
    let after_reset = match session.last_index_of_kind(path, Kind::ResetBoundary) {
        Some(reset) => &path[reset + 1..],
        None => path,
    };
    for &entry in after_reset.iter().rev() {
        if session.entry(entry).kind != Kind::Custom {
            continue;
        }
        let text = reader.with_entry(entry, |line| revision_text(line).map(Text::into_owned))?;
        if let Some(text) = text {
            return Ok(Some(Revision { entry, text }));
        }
    }
    Ok(None)
}

/// Returns the text that an entry gives to the model's notebook; `None` for any other entry. As in
/// the agent, a valid entry has the data `{version: 1, text}` and nothing else, and at most
/// [`MAX_NOTES_BYTES`] of text.
fn revision_text(line: Raw<'_>) -> Option<Text<'_>> {
    if !content::member_is(line, "customType", NOTES_TYPE) {
        return None;
    }
    let data = line.get("data")?;
    let version = data.get("version").and_then(Raw::number);
    let text = data.get_text("text")?;
    // As in JavaScript, a repeated member counts once.
    let has_only_these = js::object_entries(data).len() == 2;
    let is_short = text.as_bytes().len() <= MAX_NOTES_BYTES;
    if version == Some(1.0) && has_only_these && is_short {
        Some(text)
    } else {
        None
    }
}
