//! New entries, each under the previous one.

use super::plan::{Change, NewEntry};
use super::{IdSource, parent_id};
use crate::session::Session;
use crate::session::entry::Kind;
use crate::session::reference::Position;
use pisess_json::Raw;
use pisess_json::edit::Edit;
use pisess_json::string::encode_to_vec;
use pisess_json::text::Text;
use pisess_json::write::Object;

/// New entries, each under the previous one.
pub(super) struct Chain<'s, 'i, 'c> {
    pub session: &'s Session,
    pub id_source: &'i mut IdSource<'c>,
    /// The parent of the next entry.
    pub parent: Option<Text<'static>>,
    pub change: Change,
}

impl<'s, 'i, 'c> Chain<'s, 'i, 'c> {
    /// Returns an empty chain. Its first entry will be a child of the entry at this position, or a
    /// root.
    pub fn with_parent(
        session: &'s Session,
        parent: Position,
        id_source: &'i mut IdSource<'c>,
    ) -> Self {
        Chain::with_parent_id(
            session,
            parent_id(session, parent).map(Text::into_owned),
            id_source,
        )
    }

    /// Returns an empty chain. Its first entry will be a child of the entry with the id `parent`;
    /// `None` makes it a root. The session need not contain that entry yet: it may be one that
    /// another change adds.
    pub fn with_parent_id(
        session: &'s Session,
        parent: Option<Text<'static>>,
        id_source: &'i mut IdSource<'c>,
    ) -> Self {
        Chain {
            session,
            id_source,
            parent,
            change: Change::default(),
        }
    }

    /// Adds an entry below the one added before, and makes it the parent of the next.
    ///
    /// `entry` has the members that its type requires. If it has no `id`, `parentId` or
    /// `timestamp`, it gets a new id, the parent of the chain, and the current time.
    pub fn add_entry(&mut self, entry: Object) {
        let bytes = entry.finish();
        let entry = Raw::from_checked(&bytes);
        let id = match entry.get_text("id") {
            Some(own_id) => own_id.into_owned(),
            None => Text::from(self.id_source.issue_entry_id(self.session)),
        };
        let line = fill_missing_members(entry, &id, self.parent.as_ref(), self.id_source);
        self.parent = Some(id.clone());
        self.change.entries.push(NewEntry { id, line });
    }

    /// Adds an entry that sets the label of `target`, or clears it if `name` is `None`. Without a
    /// `timestamp`, the entry has the current time.
    pub fn add_label(&mut self, target: &Text, name: Option<&Text>, timestamp: Option<&str>) {
        let label = Object::new()
            .str("type", "label")
            .with(timestamp, |label, time| label.str("timestamp", time))
            .text("targetId", target)
            .with(name, |label, name| label.text("label", name));
        self.add_entry(label);
    }
}

/// Returns the line of an entry with its missing members inserted: `id`, `parentId`, `timestamp`,
/// and `timestamp` in a message. Members that the entry has are not changed.
///
/// Members are inserted where the agents write them: after `type`, but at the end of `custom` and
/// `custom_message` entries; and the time of a message as its last member.
///
/// ```text
/// {"type":"label","parentId":"a1"} -> {"type":"label","id":"b2","parentId":"a1","timestamp":"…"}
/// {"type":"custom","data":{}}      -> {"type":"custom","data":{},"id":"b2","parentId":…}
/// ```
pub(super) fn fill_missing_members(
    entry: Raw,
    id: &Text,
    parent: Option<&Text>,
    id_source: &IdSource,
) -> Vec<u8> {
    let mut edit = Edit::new(entry.bytes()).expect("an entry was parsed as an object");
    let kind = Kind::from_member(entry.get("type"));
    let parent_id = match parent {
        Some(parent) => encode_to_vec(parent),
        None => b"null".to_vec(),
    };
    let timestamp = encode_to_vec(&Text::from(id_source.timestamp()));
    let members = [
        ("id", encode_to_vec(id)),
        ("parentId", parent_id),
        ("timestamp", timestamp),
    ];
    if matches!(kind, Kind::Custom | Kind::CustomMessage) {
        add_missing_at_end(entry, &members, &mut edit);
    } else {
        insert_missing_after_type(entry, &members, &mut edit);
    }

    if kind == Kind::Message
        && let Some(message) = entry.get("message")
        && message.get("timestamp").is_none()
    {
        edit.replace(message, &add_message_time(message, id_source.now_ms));
    }
    edit.finish()
}

/// Adds the members that an entry lacks as its last ones.
fn add_missing_at_end(entry: Raw, members: &[(&str, Vec<u8>)], edit: &mut Edit) {
    for (key, value) in members {
        if entry.get(key).is_none() {
            edit.set(key, value);
        }
    }
}

/// Inserts the members that an entry lacks: after `type` or, if the entry has an earlier one of
/// `members`, after the last of these. If it has only `id`, for example, `parentId` and `timestamp`
/// are inserted after `id`, in this order.
fn insert_missing_after_type(entry: Raw, members: &[(&str, Vec<u8>)], edit: &mut Edit) {
    let mut previous_key = "type";
    for (key, value) in members {
        if entry.get(key).is_some() {
            previous_key = key;
        } else {
            // Members that are inserted after the same key keep the order of these calls.
            edit.insert_after(previous_key, key, value);
        }
    }
}

/// Returns a message with a time as its last member. Unlike the time of an entry, it is a number of
/// milliseconds.
fn add_message_time(message: Raw, now_ms: i64) -> Vec<u8> {
    let mut edit =
        Edit::new(message.bytes()).expect("the message was checked, or built as an object");
    edit.set("timestamp", now_ms.to_string().as_bytes());
    edit.finish()
}
