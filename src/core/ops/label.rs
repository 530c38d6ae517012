//! Naming an entry, and taking its name off.

use super::{Stamp, parent_id};
use crate::core::entry::EntryIx;
use crate::core::json::write::Object;
use crate::core::labels::Labels;
use crate::core::plan::Change;
use crate::core::reference::{Position, is_form};
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

/// Why an entry cannot have a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// It is a form of reference.
    #[error("{name:?} is a form of reference and cannot be a label")]
    Form {
        /// The name.
        name: String,
    },
    /// Another entry has it.
    #[error("the label {name:?} is on {holder} already")]
    Held {
        /// The name.
        name: String,
        /// The id of that entry.
        holder: String,
    },
}

impl NameError {
    /// What the user may try.
    pub fn hint(&self) -> &'static str {
        match self {
            NameError::Form { .. } => {
                "choose a name without ^ or ~ at its end, other than @, root, :…, id:… and label:…"
            }
            NameError::Held { .. } => "choose another name, or take this one with `pisess label --move`",
        }
    }
}

/// Checks that `target`, or with `None` an entry that is yet to be written, can have the name.
///
/// # Errors
/// Where the name is a form of reference, or another entry holds it.
pub fn check_name(session: &Session, target: Option<EntryIx>, name: &Text) -> Result<(), NameError> {
    let shown = || name.to_string();
    if is_form(&name.to_string_lossy()) {
        return Err(NameError::Form { name: shown() });
    }
    let holders = Labels::new(session).named(name);
    match holders.into_iter().find(|&holder| Some(holder) != target) {
        Some(holder) => Err(NameError::Held { name: shown(), holder: session.id(holder).to_string() }),
        None => Ok(()),
    }
}

/// The entry that a label for the leaf goes to: the nearest at or above it that is part of the
/// conversation. Labels, marks, settings and other notes are passed over, so that labelling twice
/// labels the same entry. The leaf itself where there is none.
pub fn labelled_at_leaf(session: &Session) -> Position {
    let is_part = |ix: &EntryIx| !session.entry(*ix).kind.is_note() && !session.entry(*ix).kind.is_setting();
    session.upwards(session.leaf).find(is_part).or(session.leaf)
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
