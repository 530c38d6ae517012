//! Changes to what the model sees of an entry: pi's `context_edit` entries.

use crate::session::content;
use crate::session::entry::{EntryIx, Kind, Role};
use crate::session::read::entry_reader::{Body, ContextMessage, EntryReader};
use foldhash::HashMap;
use pisess_json::Raw;
use pisess_json::edit;
use pisess_json::text::Text;
use std::io;

/// A change to what the model sees of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContextEdit<Content = EntryIx> {
    /// The model does not see the entry.
    Omit,
    /// The model sees other content in the entry. `Content` is the `context_edit` entry that has
    /// it, or the content as JSON.
    Replace(Content),
}

/// An edit with its content as JSON; `None` if it replaces the content by nothing.
pub type LoadedEdit = ContextEdit<Option<Vec<u8>>>;

impl ContextEdit {
    /// Reads the content of the edit from its entry.
    pub fn load_content(self, reader: &EntryReader) -> io::Result<LoadedEdit> {
        let ContextEdit::Replace(edit_entry) = self else {
            return Ok(ContextEdit::Omit);
        };
        reader.with_entry(edit_entry, |line| {
            let content = line.get("replacement").and_then(|new| new.get("content"));
            ContextEdit::Replace(content.map(|content| content.bytes().to_vec()))
        })
    }
}

/// Returns the edits that the `context_edit` entries among `entries` make, by the id of the entry
/// that each changes for the context. Of several edits of an entry, the last counts.
///
/// A `replacement` that is `null` omits the target. Without a `replacement`, an edit undoes earlier
/// ones. (pi throws on it.)
pub fn collect_edits(
    entries: impl Iterator<Item = EntryIx>,
    reader: &EntryReader,
) -> io::Result<HashMap<Vec<u8>, ContextEdit>> {
    let session = reader.session();
    let mut edits = HashMap::default();
    for ix in entries {
        if session.entry(ix).kind != Kind::ContextEdit {
            continue;
        }
        reader.with_entry(ix, |line| {
            let [target, replacement] = content::find_members(line, ["targetId", "replacement"]);
            let Some(target) = target.and_then(Raw::text).map(Text::into_bytes) else {
                return;
            };
            // Entries come in the order of the path, so the last edit of a target remains.
            match replacement {
                Some(replacement) if replacement.is_null() => {
                    edits.insert(target, ContextEdit::Omit);
                }
                Some(_) => {
                    edits.insert(target, ContextEdit::Replace(ix));
                }
                None => {
                    edits.remove(&target);
                }
            }
        })?;
    }
    Ok(edits)
}

/// Applies the edit of an entry, if it has one, to a message of the entry. `None` if the edit omits
/// the message. The new content is read from the entry of the edit. A message in a role that does
/// not accept other content stays the same.
pub fn apply_edit(
    message: ContextMessage,
    edit: Option<ContextEdit>,
    reader: &EntryReader,
) -> io::Result<Option<ContextMessage>> {
    let Some(edit) = edit else {
        return Ok(Some(message));
    };
    let ContextEdit::Replace(content) = edit.load_content(reader)? else {
        return Ok(None);
    };
    let changed = message.with_json(reader, |json| replace_content(json, content.as_deref()))?;
    match changed {
        Some(json) => Ok(Some(ContextMessage {
            body: Body::from_json(json),
            ..message
        })),
        None => Ok(Some(message)),
    }
}

/// Returns a message with `new_content`, which is JSON, or without content if there is none. `None`
/// for a message in a role that does not accept other content.
///
/// The content of an assistant message or a tool result is always a list of blocks, so a string
/// becomes a text block there.
pub fn replace_content(message: Raw, new_content: Option<&[u8]>) -> Option<Vec<u8>> {
    let role = message.get_text("role")?;
    match Role::named(role.as_bytes()) {
        Role::User | Role::Custom => Some(set_content(message, new_content)),
        Role::Assistant | Role::ToolResult => {
            let text = new_content.and_then(|json| Raw::from_checked(json).text());
            let blocks = text.map(|text| content::text_content(&text));
            Some(set_content(message, blocks.as_deref().or(new_content)))
        }
        _ => None,
    }
}

/// Returns a message with `content` in place of its own content. If `content` is `None`, the
/// message has none.
pub fn set_content(message: Raw, content: Option<&[u8]>) -> Vec<u8> {
    match content {
        Some(content) => edit::with_member(message, "content", content),
        None => edit::without_member(message, "content"),
    }
}
