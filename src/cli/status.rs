//! What became of a session that `archive`, `migrate` or `relocate` changes.

use super::output::{Failure, Ui};
use crate::format::format_count;
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

/// Warns of sessions that were left as they are, because an agent may still write to them. They
/// were found in a directory, so that the user did not ask for any of them: only the first is
/// named, with the number of the others.
pub fn warn_of_skipped(skipped: &[Failure], ui: &mut Ui) {
    let Some((first, others)) = skipped.split_first() else {
        return;
    };
    let mut warning = format!("skipped a session: {}", first.to_line());
    if !others.is_empty() {
        let others = format_count(others.len(), "other", "others");
        warning += &format!(", and {others}");
    }
    ui.warn(&warning);
}
