//! Naming an entry, and taking its name off.

use super::{Stamp, parent_id};
use crate::core::entry::EntryIx;
use crate::core::json::write::Object;
use crate::core::labels::Labels;
use crate::core::plan::Change;
use crate::core::session::Session;
use crate::core::text::Text;

/// Gives `target` the name (`None` takes it off); `None` where it is so already. The entry hangs
/// under the leaf and becomes the leaf, as in both agents.
pub fn label(session: &Session, target: EntryIx, name: Option<&Text>, stamp: &mut Stamp) -> Option<Change> {
    let current = Labels::new(session).name(target);
    if current.as_ref() == name {
        return None;
    }
    let parent = parent_id(session, session.leaf);
    Some(Change {
        lines: vec![entry(
            &stamp.entry_id(session, &[]),
            parent.as_ref(),
            &stamp.timestamp(),
            &session.id(target),
            name,
        )],
    })
}

/// A label entry, in the agents' key order.
pub fn entry(
    id: &str,
    parent: Option<&Text>,
    timestamp: &str,
    target: &Text,
    name: Option<&Text>,
) -> Vec<u8> {
    Object::new()
        .str("type", "label")
        .str("id", id)
        .text_or_null("parentId", parent)
        .str("timestamp", timestamp)
        .text("targetId", target)
        .with(name, |entry, name| entry.text("label", name))
        .finish()
}
