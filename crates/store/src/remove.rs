//! Removes a session whose content is safely on disk elsewhere, in an archive (rules 3, 4 and 7).
//!
//! ```text
//!   look ── rename ──> .pisess-….part ── look again, until nobody has it open ──> unlink
//!                          └── changed: renamed back
//! ```
//!
//! The file is looked at once more under another name: whatever was opened before the rename is
//! seen then, and whoever looks for the session afterwards does not find it. A crash in between
//! leaves the archive, and a hidden file that the next rewrite of the same name removes.

use super::append::{Attempt, Committed};
use super::error::{FileChange, StoreError};
use super::lock::Locked;
use super::publish_lock::PublishLock;
use super::rewrite::{folder_of, sync_folder};
use super::temp::Temp;
use std::io;

impl Locked {
    /// Removes the file. If it has grown, changed, or another process may still write to it,
    /// nothing is removed.
    pub fn remove(mut self) -> Result<Attempt, StoreError> {
        let publish = PublishLock::take(&self)?;
        if self.has_grown()? {
            drop(publish);
            return Ok(Attempt::Stale(Box::new(self)));
        }
        let mut aside =
            Temp::beside(self.files, &self.resolved).map_err(|error| self.failed(error))?;
        self.files
            .rename(&self.resolved, &aside.path)
            .map_err(|error| self.failed(error))?;
        drop(publish);
        if let Err(error) = self.settle() {
            // From here on, the hidden name is that of the session.
            aside.placed();
            self.files
                .rename_new(&aside.path, &self.resolved)
                .map_err(|error| self.failed(error))?;
            return Err(error);
        }
        drop(aside);
        let mut committed = Committed::new(&self.path);
        committed
            .troubles
            .extend(sync_folder(self.files, folder_of(&self.resolved)).err());
        Ok(Attempt::Done(committed))
    }

    /// Removes a file that belongs to the session, if it is as it was read and nobody has it open
    /// for writing.
    pub fn remove_companion(mut self) -> Result<(), StoreError> {
        if self.has_grown()? {
            return Err(self.changed(FileChange::Grown));
        }
        self.settle()?;
        self.files
            .unlink(&self.resolved)
            .map_err(|error| self.failed(error))?;
        sync_folder(self.files, folder_of(&self.resolved))
    }

    /// Waits until nobody has the file open for writing. It is an error if somebody wrote to it
    /// since it was read.
    fn settle(&mut self) -> Result<(), StoreError> {
        // A change is a `StoreError`, which passes through `until_closed` within an `io::Error`.
        let closed = self.until_closed(
            "another process has it open, and may write to it",
            &mut |own| {
                let change = own.base.compare_for_reading(own.files, &own.file)?;
                change.map_or(Ok(false), |change| {
                    Err(io::Error::other(own.changed(change)))
                })
            },
        );
        closed.map_err(|error| self.failed(error))
    }
}
