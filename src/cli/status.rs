//! What became of a session that `archive`, `migrate` or `relocate` changes.

use serde::Serialize;

/// What became of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// There is nothing to do.
    Current,
    /// It has an older version, and was not changed.
    Outdated,
    /// With `-n`: it would be moved or deleted.
    Planned,
    Migrated,
    Moved,
    Archived,
    Restored,
    /// Its archive is deleted.
    Deleted,
    /// It is what and where it was.
    Failed,
}

impl Status {
    /// Returns its name as JSON.
    pub fn to_json(self) -> Vec<u8> {
        serde_json::to_vec(&self).expect("a name can be written")
    }
}
