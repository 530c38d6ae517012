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
    /// Returns a chain that begins under this position.
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

    /// Returns a chain that begins under the entry with this id.
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

    /// Adds an entry, given what its type has besides a parent: with a new id and the current time,
    /// unless it has its own.
    pub fn add_entry(&mut self, entry: Object) {
        let entry = entry.finish();
        let entry = Raw::from_checked(&entry);
        let own = entry.get_text("id").map(Text::into_owned);
        let id = own.unwrap_or_else(|| Text::from(self.id_source.issue_entry_id(self.session)));
        let line = fill_missing_members(entry, &id, self.parent.as_ref(), self.id_source);
        self.parent = Some(id.clone());
        self.change.entries.push(NewEntry { id, line });
    }

    /// Adds a label, or one that clears the label if `name` is `None`. Without a `time`, it has the
    /// current one.
    pub fn add_label(&mut self, target: &Text, name: Option<&Text>, time: Option<&str>) {
        let label = Object::new()
            .str("type", "label")
            .with(time, |label, time| label.str("timestamp", time));
        self.add_entry(
            label
                .text("targetId", target)
                .with(name, |label, name| label.text("label", name)),
        );
    }
}

/// Returns the line with missing members inserted where the agents put them: after `type`, or in
/// `custom` and `custom_message` entries at the end; the time of a message is added at the end of
/// the message.
pub(super) fn fill_missing_members(
    entry: Raw,
    id: &Text,
    parent: Option<&Text>,
    id_source: &IdSource,
) -> Vec<u8> {
    let mut edit = Edit::new(entry.bytes()).expect("it was parsed as an object");
    let at_end = matches!(
        Kind::of(entry.get("type")),
        Kind::Custom | Kind::CustomMessage
    );
    let parent_id = parent.map_or_else(|| b"null".to_vec(), encode_to_vec);
    let time = encode_to_vec(&Text::from(id_source.timestamp()));
    // A missing member is put behind the last one before it that exists. Members that are put
    // behind one key keep their order.
    let mut previous_key = "type";
    for (key, value) in [
        ("id", encode_to_vec(id)),
        ("parentId", parent_id),
        ("timestamp", time),
    ] {
        match entry.get(key) {
            Some(_) => previous_key = key,
            None if at_end => edit.set(key, &value),
            None => edit.insert_after(previous_key, key, &value),
        }
    }

    if Kind::of(entry.get("type")) == Kind::Message
        && let Some(message) = entry.get("message")
        && message.get("timestamp").is_none()
    {
        let mut timed_message = Edit::new(message.bytes()).expect("its shape was looked at");
        timed_message.set("timestamp", id_source.now_ms.to_string().as_bytes());
        edit.replace(message, &timed_message.finish());
    }
    edit.finish()
}
