//! Rule 1: whole lines are appended in one write, or not at all.
//!
//! Space is reserved first, so that a write is not short. A short write can only be undone by
//! truncating the file, and an agent may append just before the truncation.

use super::error::{Action, Cause, FileChange, StoreError};
use super::files::Files;
use super::lock::{Growth, Locked};
use super::publish_lock::PublishLock;
use super::rewrite::{folder_of, sync_folder};
use super::temp::Temp;
use std::io;
use std::path::{Path, PathBuf};

/// A change that is on disk.
#[derive(Debug)]
#[non_exhaustive]
pub struct Committed {
    /// The path of the file that was written, as given.
    pub path: PathBuf,
    /// The errors that occurred after the change was in place. Callers print a note for
    /// [`Cause::Unsynced`] and [`Cause::Unremoved`], and a warning for [`Cause::GrowthLost`].
    pub warnings: Vec<StoreError>,
}

/// The outcome of a commit.
#[derive(Debug)]
#[must_use = "where the file has grown, nothing was written"]
pub enum Attempt {
    /// The change is on disk.
    Done(Committed),
    /// Another process appended since the session was read, and there is time left to wait (rule
    /// 4). Nothing was written; the lock is still held. Call [`Locked::reopen`] and decide again.
    Stale(Box<Locked>),
}

impl Attempt {
    /// Returns the commit. A file that has grown is an error: for callers that do not try again.
    pub fn done(self) -> Result<Committed, StoreError> {
        match self {
            Attempt::Done(committed) => Ok(committed),
            Attempt::Stale(locked) => Err(locked.changed(FileChange::Grown)),
        }
    }
}

impl Committed {
    pub(super) fn new(path: &Path) -> Committed {
        Committed {
            path: path.to_owned(),
            warnings: Vec::new(),
        }
    }

    /// Syncs the directory of a file that was renamed or removed. The change is in place already,
    /// so a failure is added to `warnings`, and not returned.
    pub(super) fn sync_folder_of(&mut self, files: &dyn Files, path: &Path) {
        if let Err(error) = sync_folder(files, folder_of(path)) {
            self.warnings.push(error);
        }
    }

    /// Removes a temporary file, unless it is the file in place. A failure is added to `warnings`.
    pub(super) fn remove_temp(&mut self, temp: Temp) {
        if let Err(error) = temp.remove() {
            self.warnings.push(error);
        }
    }
}

impl Locked {
    /// Appends whole lines, each of which ends in a newline (rule 1). If the last line of the file
    /// has no newline, one is written before them. If `lines` is empty, nothing changes.
    pub fn append(mut self, lines: &[u8]) -> Result<Attempt, StoreError> {
        let bytes = self.bytes_to_append(lines)?;
        let publish = PublishLock::take(&self)?;
        if self.check_again()? == Growth::Found {
            // The caller has to read what was appended, and to decide again.
            drop(publish);
            return Ok(Attempt::Stale(Box::new(self)));
        }
        self.write_once(&bytes)?;
        // Released before the fsync, which may take longer than a running oh-my-pi waits for its
        // lock file (rule 5).
        drop(publish);

        // Even if the fsync fails, the lines stay: they are in effect as soon as they are written,
        // and another process may have read them or appended to them (rule 1).
        match self.files.sync(&self.file) {
            Err(error) => Err(StoreError::new(
                Action::Sync,
                &self.path,
                Cause::UnsyncedAppend(error),
            )),
            Ok(()) => Ok(Attempt::Done(Committed::new(&self.path))),
        }
    }

    /// Returns the bytes to append for these lines, with a newline before them if the last line of
    /// the file has none. Refuses lines that do not end with a newline.
    fn bytes_to_append(&self, lines: &[u8]) -> Result<Vec<u8>, StoreError> {
        if lines.last().is_some_and(|byte| *byte != b'\n') {
            return Err(self.failed(io::Error::new(
                io::ErrorKind::InvalidInput,
                "not a whole line",
            )));
        }
        let mut bytes = Vec::with_capacity(lines.len() + 1);
        if !lines.is_empty() && !self.base.ends_with_newline() {
            bytes.push(b'\n');
        }
        bytes.extend_from_slice(lines);
        Ok(bytes)
    }

    /// Reserves space for the bytes, and appends them by a single write. If only some were written,
    /// removes these if possible, and fails.
    fn write_once(&self, bytes: &[u8]) -> Result<(), StoreError> {
        let old_size = self.base.stat.size;
        self.files
            .reserve(&self.file, old_size, bytes.len() as u64)
            .map_err(|error| self.failed(error))?;

        let written = loop {
            match self.files.write(&self.file, bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                written => break written.map_err(|error| self.failed(error))?,
            }
        };
        if written == bytes.len() {
            return Ok(());
        }

        // Space could not be reserved here, or another process took it. A short write does not
        // report why; nearly always the disk is full.
        let why = format!(
            "only {written} of {} bytes fit (disk full, or a size limit)",
            bytes.len()
        );
        Err(self.cut_off_written(
            &bytes[..written],
            io::Error::new(io::ErrorKind::StorageFull, why),
        ))
    }

    /// Undoes a short write: truncates the file to its old size, unless another process has
    /// appended since, whose bytes would be lost. `written` are the bytes that were written.
    ///
    /// Returns the error for the caller: `write_error`, or [`Cause::Torn`] with it if the written
    /// bytes remain.
    fn cut_off_written(&self, written: &[u8], write_error: io::Error) -> StoreError {
        let old_size = self.base.stat.size;
        let written_len = written.len() as u64;
        let has_only_ours = match self.files.stat(&self.file) {
            Ok(stat) => stat.size == old_size + written_len,
            Err(_) => false,
        };
        if has_only_ours && self.files.truncate(&self.file, old_size).is_ok() {
            return self.failed(write_error);
        }

        // Whether a whole line of ours is in effect. The first byte may be the newline that closes
        // the old last line, so it does not count.
        let has_line = written.get(1..).is_some_and(|rest| rest.contains(&b'\n'));
        StoreError::new(
            Action::Write,
            &self.path,
            Cause::Torn {
                error: write_error,
                left: written_len,
                has_line,
            },
        )
    }
}
