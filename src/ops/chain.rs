//! New entries, each under the previous one.

use super::plan::{Change, NewEntry};
use super::{IdSource, parent_id};
use crate::session::Session;
use crate::session::reference::Position;
use pisess_json::text::Text;
use pisess_json::write::Object;

/// New entries, each under the previous one.
pub(super) struct Chain<'s, 'i, 'c> {
    pub session: &'s Session,
    pub fresh: &'i mut IdSource<'c>,
    /// The parent of the next entry.
    pub parent: Option<Text<'static>>,
    pub change: Change,
}

impl<'s, 'i, 'c> Chain<'s, 'i, 'c> {
    /// Returns a chain that begins under this position.
    pub fn under(session: &'s Session, place: Position, fresh: &'i mut IdSource<'c>) -> Self {
        let parent = parent_id(session, place).map(Text::into_owned);
        Chain { session, fresh, parent, change: Change::default() }
    }

    /// Adds an entry with a new id and the current time.
    pub fn add(&mut self, kind: &str, members: impl FnOnce(Object) -> Object) {
        let id = self.fresh.entry_id(self.session);
        self.push(NewEntry::new(kind, id, self.parent.as_ref(), &self.fresh.timestamp(), members));
    }

    /// Adds a `custom` entry.
    pub fn custom(&mut self, custom_type: &str, data: Object) {
        let id = self.fresh.entry_id(self.session);
        self.push(NewEntry::custom(custom_type, data, id, self.parent.as_ref(), &self.fresh.timestamp()));
    }

    /// Adds a label, or one that clears the label if `name` is `None`.
    pub fn label(&mut self, target: &Text, name: Option<&Text>) {
        let id = self.fresh.entry_id(self.session);
        self.push(NewEntry::label(id, self.parent.as_ref(), &self.fresh.timestamp(), target, name));
    }

    pub fn push(&mut self, entry: NewEntry) {
        self.parent = Some(entry.id.clone());
        self.change.entries.push(entry);
    }
}
