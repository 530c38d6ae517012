//! A file as a reader saw it, without a handle, to look again at what is at its path now.

use super::error::{FileChange, StoreError};
use super::files::{DISK, Files};
use super::session_file::SessionFile;
use super::snapshot::Snapshot;
use std::path::Path;

/// A file as it was when it was read. It has no handle, so that thousands of files can be watched.
#[derive(Debug, Clone)]
pub struct Seen(Snapshot);

/// What is at the path of a file that was read.
#[derive(Debug)]
pub enum Since {
    /// The same file, unchanged.
    Same,
    /// The same file, with more at its end.
    Grown(SessionFile),
    /// Another file, or one that was edited or truncated.
    Replaced(SessionFile),
}

impl Seen {
    /// Remembers a file.
    pub fn of(file: &SessionFile) -> Seen {
        Seen(file.snapshot.clone())
    }

    /// Looks at what is at the path now.
    ///
    /// # Errors
    /// If there is no regular file that can be read.
    pub fn look(&self, path: &Path) -> Result<Since, StoreError> {
        let failed = |error| StoreError::io("read", path, error);
        let (old, new) = (&self.0.stat, DISK.stat_at(path).map_err(failed)?);
        let is_moved = !new.is_same_inode(old);
        if !is_moved && (new.size, new.modified, new.changed) == (old.size, old.modified, old.changed) {
            return Ok(Since::Same);
        }
        let file = SessionFile::open(path)?;
        if !file.snapshot.stat.is_same_inode(old) {
            return Ok(Since::Replaced(file));
        }
        // A change of the mode, say, keeps the content.
        Ok(match self.0.compare_for_reading(&DISK, file.handle()).map_err(failed)? {
            None | Some(FileChange::Grown) => Since::Grown(file),
            Some(_) => Since::Replaced(file),
        })
    }
}
