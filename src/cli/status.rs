//! The results for sessions that `archive`, `migrate` or `relocate` changes.

use super::output::{Failure, Ui};
use crate::format::format_count;
use serde::Serialize;

/// The result for one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// There was nothing to do.
    Current,
    /// The session has an older version, and was not changed.
    Outdated,
    /// With `-n`, the session or its archive would be changed, moved or deleted.
    Planned,
    Migrated,
    Moved,
    Archived,
    Restored,
    /// The archive of the session was deleted.
    Deleted,
    /// The session is unchanged, because the command failed.
    Failed,
}

impl Status {
    /// Returns the name of the status as JSON.
    pub fn to_json(self) -> Vec<u8> {
        serde_json::to_vec(&self).expect("a name can be written")
    }
}

/// Warns of sessions that were skipped because an agent may still write to them. The user named
/// only their directory, and none of them. So the warning has only the first one, and the number of
/// the others.
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
