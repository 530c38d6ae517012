//! Moves parts of a session to a file beside it, and back: large payloads, the entries above compactions, a branch.
//!
//! ```text
//!   Prune ── write_session ──> the session without them      Restore ── Whole ──> the session with them
//!         └─ write_records ──> SESSION.pruned ([`side`])
//! ```
//!
//! A payload is replaced by a note. An entry is removed with its line; those that follow it get the nearest ancestor that
//! stays as their parent. Several runs add to the file; to restore, they are undone from the last to the first, whatever
//! was appended since.

mod branch;
mod compacted;
mod payload;
mod payloads;
mod removal;
mod restore;
mod side;
mod whole;

pub use branch::{BranchChoice, branch_at};
pub use compacted::above_compactions;
pub use payload::{PayloadKind, Wanted};
pub use payloads::{Payloads, Pruned};
pub use removal::{Damaged, Removal};
pub use restore::{Placed, Restore, WithPruned};
pub use side::{Operation, SideError, operations, read};
pub use whole::Whole;

use crate::session::Session;
use pisess_json::text::Text;
use pisess_store::{ReadAt, with_suffix};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Returns the file beside a session that holds what was pruned from it.
pub fn pruned_file(session: &Path) -> PathBuf {
    with_suffix(session, ".pruned")
}

/// What to prune from a session.
#[derive(Clone, Debug)]
pub enum Prune {
    /// Payloads.
    Payloads(Payloads),
    /// Entries.
    Entries(Removal),
}

impl Prune {
    /// Whether there is nothing to prune.
    pub fn is_empty(&self) -> bool {
        match self {
            Prune::Payloads(payloads) => payloads.payloads.is_empty(),
            Prune::Entries(removal) => removal.entries.is_empty(),
        }
    }

    /// Returns the number of bytes by which the session becomes shorter.
    pub fn saved(&self, session: &Session) -> usize {
        match self {
            Prune::Payloads(payloads) => payloads.saved(),
            Prune::Entries(removal) => removal.saved(session),
        }
    }

    /// Returns the operation that the pruned file will list.
    fn operation(&self) -> Operation {
        match self {
            Prune::Payloads(payloads) => Operation {
                name: side::PAYLOADS.to_owned(),
                records: payloads.payloads.len(),
                ..Operation::default()
            },
            Prune::Entries(removal) => removal.operation(),
        }
    }

    /// Writes the pruned file: what is still needed of the old one, then what is pruned now.
    pub fn write_pruned(
        &self,
        session: &Session,
        source: &dyn ReadAt,
        old: Option<(&Restore, &dyn ReadAt)>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let own = Some(self.operation()).filter(|_| !self.is_empty());
        let before = old.map(|(restore, _)| restore.missing()).unwrap_or_default();
        let listed: Vec<_> = before.iter().map(|(operation, _)| operation.clone()).chain(own).collect();
        side::write_first(&session.header.id, &listed, out)?;
        if let Some((_, pruned)) = old {
            side::copy_records(pruned, before.iter().flat_map(|(_, records)| records.iter().copied()), out)?;
        }
        match self {
            Prune::Payloads(payloads) => payloads.write_records(session, source, out),
            Prune::Entries(removal) => removal.write_records(session, source, out),
        }
    }

    /// Writes the session without what is pruned.
    pub fn write_session(
        &self,
        session: &Session,
        source: &dyn ReadAt,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        match self {
            Prune::Payloads(payloads) => payloads.write_session(session, source, out),
            Prune::Entries(removal) => removal.write_session(session, source, out),
        }
    }
}

/// Returns the id, unless it is empty.
fn some_id<'a>(id: Text<'a>) -> Option<Text<'a>> {
    Some(id).filter(|id| !id.is_empty())
}

fn invalid(error: pisess_json::Malformed) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

#[cfg(test)]
mod tests;
