//! Many files at once: written in parallel, each directory synced once.

use super::append::Attempt;
use super::error::StoreError;
use super::files::DISK;
use super::lock::Locked;
use super::rewrite::{folder_of, sync_folder};
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A batch of rewrites (rule 2). Workers share it. Each file is consistent at any time; after
/// [`Batch::finish`], all changes survive a power failure.
#[derive(Debug, Default)]
pub struct Batch {
    folders: Mutex<BTreeSet<PathBuf>>,
}

impl Batch {
    /// Does the same as [`Locked::rewrite`], but leaves the directory to be synced later.
    pub fn rewrite(
        &self,
        mut locked: Locked,
        backup: Option<&Path>,
        write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> Result<Attempt, StoreError> {
        let Some((committed, _)) = locked.replace(backup, write)? else {
            return Ok(Attempt::Stale(Box::new(locked)));
        };
        let changed = [Some(&*locked.resolved), backup].into_iter().flatten().map(folder_of);
        self.folders.lock().unwrap_or_else(PoisonError::into_inner).extend(changed.map(Path::to_owned));
        Ok(Attempt::Done(committed))
    }

    /// Syncs each directory once. Returns an error for each one that could not be synced.
    pub fn finish(self) -> Vec<StoreError> {
        let folders = self.folders.into_inner().unwrap_or_else(PoisonError::into_inner);
        folders.iter().filter_map(|folder| sync_folder(&DISK, folder).err()).collect()
    }
}
