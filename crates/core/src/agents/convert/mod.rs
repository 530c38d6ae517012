//! Converts entries of one agent to those of the other.
//!
//! A converted entry keeps its id, its parent and its time. If more changes than the spelling of a
//! key, it also contains the original, so that converting it back restores the bytes:
//!
//! ```text
//! has a counterpart     {"type":"model_change", … ,"pisess":{"agent":"pi","entry":{the original}}}
//! has none              {"type":"custom","customType":"pisess.kept",
//!                        "data":{"agent":"pi","note":"…","entry":{the original}}, … }
//! the same in both      byte for byte
//! ```
//!
//! A whole session is converted by [`crate::ops::convert`].

mod for_oh_my_pi;
mod for_pi;

use crate::agents::pi::edits::LoadedEdit;
use crate::session::blobs::BlobStore;
use crate::session::content;
use crate::session::dialect::Dialect;
use crate::session::entry::Kind;
use pisess_json::Raw;
use pisess_json::edit::{Edit as LineEdit, with_member};
use pisess_json::write::Object;
use std::borrow::Cow;

/// The `customType` of entries that keep an original without a counterpart.
pub const KEPT_ENTRY_TYPE: &str = "pisess.kept";

/// The member of a converted entry that contains the original.
const ORIGINAL_KEY: &str = "pisess";

/// The member of a message in files of oh-my-pi that records who caused it. As it shows that a file
/// is oh-my-pi's, it has another name in copies for pi.
const ATTRIBUTION_KEY: &str = "attribution";
/// The name of that member in copies for pi.
const PI_ATTRIBUTION_KEY: &str = "pisess.attribution";

/// The members that determine the position of an entry in the tree.
const POSITION_KEYS: [&str; 3] = ["id", "parentId", "timestamp"];

/// What an entry becomes for the other agent.
enum Converted {
    /// The line of an entry that means the same to the other agent.
    Counterpart(Vec<u8>),
    /// A custom entry that keeps the original, because the other agent has nothing like it. The
    /// note explains what it is, or why it is kept.
    Kept(&'static str),
}

/// Converts the line of an entry for the other agent, `to`. If it was converted from an entry of
/// `to` before, the original is returned. `edit` is the change that pi makes to the entry for its
/// context, if there is one. `blobs` has the images of entries of oh-my-pi.
pub fn convert_entry<'a>(
    line: &'a [u8],
    to: Dialect,
    edit: Option<&LoadedEdit>,
    blobs: &BlobStore,
) -> Cow<'a, [u8]> {
    let bytes = line.trim_ascii();
    let entry = Raw::from_checked(bytes);
    if let Some(original) = restore_original(entry, to) {
        return Cow::Owned(original);
    }

    let kind = Kind::from_member(entry.get("type"));
    let renamed = rename_agent_keys(kind, entry, to);
    let entry_to_convert = renamed.as_deref().map_or(entry, Raw::from_checked);
    let converted = find_counterpart(kind, entry_to_convert, to, edit, blobs);

    // The original is stored as it was before any key was renamed.
    let from = other_agent(to);
    match converted {
        Some(Converted::Counterpart(line)) => Cow::Owned(add_original(&line, entry, from)),
        Some(Converted::Kept(note)) => Cow::Owned(wrap_original(entry, from, note)),
        // The entry is the same for both agents, except for a renamed key.
        None => renamed.map_or(Cow::Borrowed(bytes), Cow::Owned),
    }
}

/// Renames the key that the agents spell differently: of the mark of a summary that a hook wrote,
/// or of who caused a message. `None` if the entry has no such key.
///
/// Converting back renames the key again, so the original need not be stored.
fn rename_agent_keys(kind: Kind, entry: Raw, to: Dialect) -> Option<Vec<u8>> {
    let from = other_agent(to);
    match kind {
        Kind::Compaction | Kind::BranchSummary => {
            let from_key = from.agent().constants().hook_key;
            let to_key = to.agent().constants().hook_key;
            rename_key(entry, from_key, to_key)
        }
        Kind::CustomMessage => rename_key(entry, attribution_key(from), attribution_key(to)),
        Kind::Message => {
            let message = entry.get("message")?;
            let renamed = rename_key(message, attribution_key(from), attribution_key(to))?;
            Some(with_member(entry, "message", &renamed))
        }
        _ => None,
    }
}

/// Returns the name of the member that records who caused a message, in files for this agent.
fn attribution_key(agent: Dialect) -> &'static str {
    match agent {
        Dialect::Pi => PI_ATTRIBUTION_KEY,
        Dialect::OhMyPi => ATTRIBUTION_KEY,
    }
}

/// Returns an object with a key renamed, in the same place. `None` if the object has no such key,
/// or has the new key already.
fn rename_key(object: Raw, old: &str, new: &str) -> Option<Vec<u8>> {
    let value = object.get(old)?;
    if object.get(new).is_some() {
        return None;
    }
    let new_object = Object::new().raw(new, value).finish();
    // Without the braces, `{"new":1}` is the member `"new":1`.
    let new_member = &new_object[1..new_object.len() - 1];

    let mut edit = LineEdit::new(object.bytes()).ok()?;
    edit.replace_member(old, new_member);
    Some(edit.finish())
}

/// Returns the entry that means the same to the other agent or, if there is none, that the entry is
/// to be kept in a custom entry. `None` if the entry is the same for both agents.
fn find_counterpart(
    kind: Kind,
    entry: Raw,
    to: Dialect,
    edit: Option<&LoadedEdit>,
    blobs: &BlobStore,
) -> Option<Converted> {
    use Converted::Counterpart;
    use Dialect::{OhMyPi, Pi};
    match (kind, to) {
        (Kind::Message, Pi) => for_pi::convert_message(entry, blobs),
        (Kind::Message, OhMyPi) => for_oh_my_pi::convert_message(entry, edit),
        (Kind::CustomMessage, Pi) => for_pi::convert_custom_message(entry, blobs),
        (Kind::CustomMessage, OhMyPi) => for_oh_my_pi::convert_custom_message(entry, edit),
        (Kind::ModelChange, Pi) => for_pi::convert_model_change(entry),

        // Some entries of these types have a counterpart; the others are the same for both agents.
        (Kind::ModelChange, OhMyPi) => for_oh_my_pi::convert_model_change(entry).map(Counterpart),
        (Kind::BranchSummary, OhMyPi) => {
            for_oh_my_pi::convert_branch_summary(entry).map(Counterpart)
        }
        (Kind::ThinkingLevelChange, Pi) => for_pi::convert_thinking_level(entry).map(Counterpart),

        // All entries of these types have a counterpart.
        (Kind::TitleChange, Pi) => Some(Counterpart(for_pi::convert_title_change(entry))),
        (Kind::SessionInfo, OhMyPi) => Some(Counterpart(for_oh_my_pi::convert_session_info(entry))),
        (Kind::ModelUsage, Pi) => Some(Counterpart(for_pi::convert_model_usage(entry))),
        (Kind::Usage, OhMyPi) => Some(Counterpart(for_oh_my_pi::convert_usage(entry))),
        (Kind::ResetBoundary, Pi) => Some(Counterpart(for_pi::convert_reset_boundary(entry))),

        // The agent `to` does not know a type that only the other one writes. All others are the
        // same in both.
        _ => {
            let schema = kind.schema();
            let only_writer = schema.fields.only_writer()?;
            if only_writer == to {
                return None;
            }
            Some(Converted::Kept(schema.kept_as))
        }
    }
}

/// Returns the start of an entry of the type `kind`, with the id, the parent and the time of
/// `placed_as`.
fn start_entry(kind: &str, placed_as: Raw) -> Object {
    Object::new()
        .str("type", kind)
        .copy_members(placed_as, &POSITION_KEYS)
}

/// Returns the agent from which an entry is converted for the agent `to`.
fn other_agent(to: Dialect) -> Dialect {
    match to {
        Dialect::Pi => Dialect::OhMyPi,
        Dialect::OhMyPi => Dialect::Pi,
    }
}

/// Adds the original, an entry of `agent`, to the entry that it was converted to.
fn add_original(line: &[u8], original: Raw, agent: Dialect) -> Vec<u8> {
    let origin = Object::new()
        .str("agent", agent.agent().constants().name)
        .raw("entry", original)
        .finish();
    with_member(Raw::from_checked(line), ORIGINAL_KEY, &origin)
}

/// Returns a custom entry with the original in its data, an entry of `agent`. The other agent
/// ignores it, and a conversion back restores the original.
fn wrap_original(original: Raw, agent: Dialect, note: &str) -> Vec<u8> {
    let data = Object::new()
        .str("agent", agent.agent().constants().name)
        .str("note", note)
        .raw("entry", original)
        .finish();
    Object::new()
        .str("type", "custom")
        .str("customType", KEPT_ENTRY_TYPE)
        .json("data", &data)
        .copy_members(original, &POSITION_KEYS)
        .finish()
}

/// Returns the entry from which this one was converted. Since then, this entry may have been moved,
/// so its id, parent and first kept entry replace the ones of the original.
///
/// `None` if the entry was not converted from an entry of the agent `to`.
fn restore_original(entry: Raw, to: Dialect) -> Option<Vec<u8>> {
    let original = find_original(entry, to)?;
    let is_compaction = Kind::from_member(original.get("type")) == Kind::Compaction;
    let references: &[&str] = if is_compaction {
        &["id", "parentId", "firstKeptEntryId"]
    } else {
        &["id", "parentId"]
    };

    let mut edit = LineEdit::new(original.bytes()).ok()?;
    for key in references {
        let Some(current) = entry.get(key) else {
            continue;
        };
        // A value that is only escaped differently keeps its bytes.
        let is_unchanged = original
            .get(key)
            .is_some_and(|value| is_same_value(value, current));
        if !is_unchanged {
            edit.set(key, current.bytes());
        }
    }
    Some(edit.finish())
}

/// Returns the original in a converted entry, as [`add_original`] or [`wrap_original`] stored it.
/// `None` if there is none, or if it is not an entry of the agent `to`.
fn find_original(entry: Raw<'_>, to: Dialect) -> Option<Raw<'_>> {
    let is_kept = content::member_is(entry, "customType", KEPT_ENTRY_TYPE);
    let origin_key = if is_kept { "data" } else { ORIGINAL_KEY };
    let origin = entry.get(origin_key)?;
    if !origin.get("agent")?.is(to.agent().constants().name) {
        return None;
    }
    let original = origin.get("entry")?;
    if !original.is_object() {
        return None;
    }
    // A header or title is not an entry, and restoring one would add a second header.
    let kind = original.get_text("type")?;
    if matches!(kind.as_bytes(), b"session" | b"title") {
        return None;
    }
    Some(original)
}

/// Whether two values have the same bytes, or are strings with the same text, which may be escaped
/// differently.
fn is_same_value(one: Raw, other: Raw) -> bool {
    one.bytes() == other.bytes() || other.is_string() && one.text() == other.text()
}

#[cfg(test)]
mod tests;
