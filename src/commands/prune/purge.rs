//! `--purge`: removes for good what was pruned.

use super::job::PruneJob;
use super::restore::read_side_file;
use crate::cli::open::OpenSession;
use crate::cli::output::{Exit, Failure, Ui};
use crate::cli::pruned::open_if_exists;
use crate::cli::transaction::ChangeAttempt;
use crate::format::format_bytes;
use pisess_store::{self as store, Cause, Locked, ReadAt, StoreError};

/// SESSION.pruned, which was removed.
struct PurgedFile {
    /// Its size.
    bytes: u64,
    /// The warning that the file may reappear after a power failure.
    warning: Option<StoreError>,
}

impl PruneJob<'_> {
    /// Removes SESSION.pruned; with `-n`, only reports that it would be removed. Without that file,
    /// nothing is done. A file that is damaged, or belongs to another session, is refused.
    pub fn purge(&self, ui: &mut Ui) -> Result<Exit, Failure> {
        self.open.refuse_archived_side_file(&self.side_file)?;
        if self.write.change.dry_run {
            return self.print_planned_purge(ui);
        }

        let Some(purged) = self.lock_and_purge()? else {
            let name = &self.open.input.name;
            ui.print_status(&format!("{name}: nothing was pruned"));
            return Ok(Exit::Done);
        };
        if let Some(warning) = &purged.warning {
            ui.warn(&warning.to_string());
        }
        let name = &self.open.input.name;
        let size = format_bytes(purged.bytes as usize);
        ui.print_status(&format!(
            "{name}: what was pruned from it is removed for good ({size})"
        ));
        Ok(Exit::Done)
    }

    /// Locks the session, and removes SESSION.pruned. `None` if that file does not exist.
    ///
    /// Once the lock is released, another pisess may prune, and write a new file of this name. So
    /// the lock is held until the file is removed.
    fn lock_and_purge(&self) -> Result<Option<PurgedFile>, Failure> {
        let mut attempt = |locked_open: &OpenSession, _session_lock: Locked| {
            let purged = self.remove_side_file(locked_open)?;
            // The session itself is not changed.
            Ok(ChangeAttempt::nothing_to_do(purged))
        };
        let (_no_commit, purged) = self
            .open
            .attempt_under_lock(&self.write_options(), &mut attempt)?;
        Ok(purged)
    }

    /// Removes SESSION.pruned. `None` if the file does not exist. `locked_open` is the session,
    /// which must be locked.
    ///
    /// # Errors
    /// If the file is damaged, belongs to another session, has another name, or cannot be removed.
    /// That it may reappear is not an error, but a warning.
    fn remove_side_file(&self, locked_open: &OpenSession) -> Result<Option<PurgedFile>, Failure> {
        let Some(side_file) = open_if_exists(&self.side_file)? else {
            return Ok(None);
        };
        // If the file had another name (a hard link), its content would stay.
        store::own_file(&self.side_file)?;
        store::lock(&side_file, &self.write_options())?.refuse_hard_links()?;
        let bytes = side_file.len();
        // Fails for a file that is damaged, or belongs to another session.
        read_side_file(locked_open, side_file)?;
        let warning = match store::remove(&self.side_file) {
            Ok(()) => None,
            // The file is removed, but may reappear after a power failure.
            Err(error) if matches!(error.cause, Cause::Unsynced(_)) => Some(error),
            Err(error) => return Err(error.into()),
        };
        Ok(Some(PurgedFile { bytes, warning }))
    }

    /// For `-n`: reports the size of SESSION.pruned, which would be removed. Refuses the same files
    /// as the removal, as far as that is known without a lock.
    fn print_planned_purge(&self, ui: &mut Ui) -> Result<Exit, Failure> {
        let name = &self.open.input.name;
        let Some(side_file) = open_if_exists(&self.side_file)? else {
            ui.print_status(&format!("{name}: nothing was pruned"));
            return Ok(Exit::Done);
        };
        let size = format_bytes(side_file.len() as usize);
        // Fails for a file that is damaged, or belongs to another session.
        read_side_file(self.open, side_file)?;
        ui.print_status(&format!(
            "{name}: what was pruned from it before would be removed for good ({size})"
        ));
        Ok(Exit::Done)
    }
}
