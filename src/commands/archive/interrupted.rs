//! Repairs what a killed run of `archive` leaves. If the run was killed while it removed files,
//! there are an archive and a hidden session beside the session's old place. If it was killed
//! earlier, the session is still in its place, and
//! [`crate::cli::open::Input::find_leftover_archive`] finds the archive.

use super::report::ArchiveOutcome;
use super::restore::{lock_hidden, restore_archive};
use crate::cli::locate::SessionStores;
use crate::cli::options::ChangeArgs;
use crate::cli::output::{Exit, Failure, Ui, to_visible};
use pisess_store::{self as store, Disk, OnDisk, WriteOptions, hidden_path_of};
use std::path::{Path, PathBuf};

/// Restores the sessions that killed runs left hidden, so that they can be chosen and archived
/// again. With `-n`, only warns that they are hidden. Returns the failures.
pub fn restore_interrupted(
    archives: Vec<PathBuf>,
    change: &ChangeArgs,
    stores: &SessionStores,
    ui: &mut Ui,
) -> Vec<ArchiveOutcome> {
    let mut failures = Vec::new();
    for archive in archives {
        if let Err(failure) = restore_if_interrupted(&archive, change, stores, ui) {
            failures.push(ArchiveOutcome::failed(&archive, failure));
        }
    }
    failures
}

/// Restores the session of an archive if a killed run left it hidden.
fn restore_if_interrupted(
    archive: &Path,
    change: &ChangeArgs,
    stores: &SessionStores,
    ui: &mut Ui,
) -> Result<(), Failure> {
    if !is_interrupted(archive, stores)? {
        return Ok(());
    }
    let name = to_visible(&archive.to_string_lossy());
    if change.dry_run {
        ui.warn(&format!(
            "an interrupted run left {name} (hint: without -n, its session is restored first)"
        ));
        return Ok(());
    }
    match restore_archive(archive, change, stores) {
        Ok(_) => {
            ui.print_status(&format!("restored what an interrupted run left in {name}"));
            Ok(())
        }
        // Another process archives or restores it at this moment.
        Err(failure) if failure.exit() == Exit::Busy || failure.is_missing_file => Ok(()),
        Err(failure) => Err(failure),
    }
}

/// Whether a killed run of `archive` left the session of an archive hidden. `archive` renames a
/// session to a hidden name before it removes it.
///
/// A running `archive` may have hidden the session, too. It holds the lock of the hidden file until
/// it has removed the file or renamed it back, so this waits for the lock.
fn is_interrupted(archive: &Path, stores: &SessionStores) -> Result<bool, Failure> {
    let Some(session) = stores.archived_session_path(&OnDisk.resolve_links(archive)) else {
        return Ok(false);
    };
    // A free path means that no session is hidden.
    if store::is_free(&hidden_path_of(&session))? {
        return Ok(false);
    }
    let lock = lock_hidden(&session, &WriteOptions::default())?;
    let is_still_hidden = lock.is_some();
    Ok(is_still_hidden)
}
