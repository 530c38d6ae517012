//! Edits of what the model sees of an entry: pi's `context_edit` entries.

use crate::session::content;
use crate::session::entry::{EntryIx, Kind, Role};
use crate::session::read::entry_reader::{Body, EntryReader, Message};
use foldhash::HashMap;
use pisess_json::Raw;
use pisess_json::edit;
use pisess_json::text::Text;
use std::io;

/// An edit of what the model sees of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit<By = EntryIx> {
    /// It is omitted.
    Omit,
    /// It has the content of this `context_edit` entry, or this content.
    Replace(By),
}

/// An edit with the content as JSON, if it has any, in place of its entry.
pub type LoadedEdit = Edit<Option<Vec<u8>>>;

impl Edit {
    /// Returns the edit with its content.
    pub fn loaded(self, reader: &EntryReader) -> io::Result<LoadedEdit> {
        let Edit::Replace(by) = self else {
            return Ok(Edit::Omit);
        };
        reader.with_entry(by, |line| {
            let content = line.get("replacement").and_then(|new| new.get("content"));
            Edit::Replace(content.map(|content| content.bytes().to_vec()))
        })
    }
}

/// Returns the last edit in `entries` of each entry, by that entry's id. An edit without a
/// `replacement` undoes an earlier edit; pi throws on it.
pub fn edits_among(
    entries: impl Iterator<Item = EntryIx>,
    reader: &EntryReader,
) -> io::Result<HashMap<Vec<u8>, Edit>> {
    let session = reader.session();
    let mut edits = HashMap::default();
    for ix in entries.filter(|&ix| session.entry(ix).kind == Kind::ContextEdit) {
        let (target, replacement) = reader.with_entry(ix, |line| {
            let [target, replacement] = content::members(line, ["targetId", "replacement"]);
            (
                target.and_then(Raw::text).map(Text::into_bytes),
                replacement.map(Raw::is_null),
            )
        })?;
        match (target, replacement) {
            (Some(target), Some(true)) => drop(edits.insert(target, Edit::Omit)),
            (Some(target), Some(false)) => drop(edits.insert(target, Edit::Replace(ix))),
            (Some(target), None) => drop(edits.remove(&target)),
            (None, _) => {}
        }
    }
    Ok(edits)
}

/// Returns a message after an edit, `None` if it is omitted; only the roles of a conversation
/// accept new content.
pub fn edited(message: Message, edit: Edit, reader: &EntryReader) -> io::Result<Option<Message>> {
    let Edit::Replace(content) = edit.loaded(reader)? else {
        return Ok(None);
    };
    let changed = message.with(reader, |json| replaced(json, content.as_deref()))?;
    Ok(Some(match changed {
        Some(json) => Message {
            body: Body::built(json),
            ..message
        },
        None => message,
    }))
}

/// Returns a message with the content of an edit; `None` for a role that does not accept it.
pub fn replaced(message: Raw, content: Option<&[u8]>) -> Option<Vec<u8>> {
    let role = message.get_text("role")?;
    let blocks = match Role::named(role.as_bytes()) {
        // A string becomes a text block.
        Role::Assistant | Role::ToolResult => {
            content.and_then(|content| Some(content::text_content(&Raw::checked(content).text()?)))
        }
        Role::User | Role::Custom => None,
        _ => return None,
    };
    Some(with_content(message, blocks.as_deref().or(content)))
}

/// Returns the message with another content in place of its own, or with none.
pub fn with_content(message: Raw, content: Option<&[u8]>) -> Vec<u8> {
    match content {
        Some(content) => edit::with(message, "content", content),
        None => edit::without(message, "content"),
    }
}
