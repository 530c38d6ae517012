//! Setting and clearing labels.

use super::{IdSource, parent_id};
use crate::core::entry::EntryIx;
use crate::core::json::write::Object;
use crate::core::labels::Labels;
use crate::core::plan::{Change, NewEntry};
use crate::core::session::Session;
use crate::core::text::Text;

/// Labels `target` (`None` clears its label); no entry where it is so already. The label is an entry
/// under the leaf and becomes the leaf, as in both agents.
pub fn label(session: &Session, target: EntryIx, name: Option<&Text>, fresh: &mut IdSource) -> Change {
    if Labels::new(session).name(target).as_ref() == name {
        return Change::default();
    }
    let parent = parent_id(session, session.leaf);
    let (id, time) = (fresh.entry_id(session), fresh.timestamp());
    Change::of(entry(id, parent.as_ref(), &time, &session.id(target), name))
}

/// A label entry, in the agents' key order.
pub fn entry(
    id: String,
    parent: Option<&Text>,
    timestamp: &str,
    target: &Text,
    name: Option<&Text>,
) -> NewEntry {
    let line = Object::new()
        .str("type", "label")
        .str("id", &id)
        .text_or_null("parentId", parent)
        .str("timestamp", timestamp)
        .text("targetId", target)
        .with(name, |entry, name| entry.text("label", name))
        .finish();
    NewEntry { id: Text::from(id), line }
}
