//! Temporary files: written beside the target under a name that no agent lists, then renamed.

use super::error::{Action, Cause, StoreError};
use super::files::{Files, OldFile, unlink_own, unlock};
use super::read::ReadAt;
use std::fs::{File, TryLockError};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use uuid::Uuid;

/// A callback that writes new content to a buffered writer.
pub type Fill<'a> = dyn FnMut(&mut dyn Write) -> io::Result<()> + 'a;

/// A temporary file, removed when dropped (rule 7). It is created with mode 0600.
///
/// Its name is derived from the name of its target, so that the next writer of the same target
/// finds and removes a file that a killed process left. The file is locked while its writer is
/// alive, and only the holder of the lock renames or removes it.
#[derive(Debug)]
pub(super) struct Temp {
    files: &'static dyn Files,
    pub path: PathBuf,
    pub file: File,
    /// The number of bytes that [`Temp::fill`] wrote, and that were carried over from the old file
    /// since.
    pub bytes: u64,
    /// Whether dropping it must not remove the file at `path`: there is none any more, or it is not
    /// ours to remove. See [`Temp::disarm`].
    is_disarmed: bool,
}

/// The maximum number of processes that can write to the same target at the same time, each to its
/// own temporary file. One more is an error.
const MOST_AT_ONCE: u32 = 1000;

impl Temp {
    /// Creates a file in the directory of `target`, and locks it. Its name begins with a dot and
    /// does not end in `.jsonl`, so that no agent takes it for a session: agents list only visible
    /// `*.jsonl`, and oh-my-pi promotes only `*.jsonl.*.bak`. The name is short, so that it is
    /// valid beside any target.
    pub fn create_beside(files: &'static dyn Files, target: &Path) -> io::Result<Temp> {
        let name = target.file_name().unwrap_or_default().as_encoded_bytes();
        let hash = Uuid::new_v5(&Uuid::NAMESPACE_URL, name)
            .simple()
            .to_string();
        let hash_prefix = &hash[..8];
        for writer in 0..MOST_AT_ONCE {
            let temp_name = match writer {
                0 => format!(".pisess-{hash_prefix}.part"),
                _ => format!(".pisess-{hash_prefix}.{writer}.part"),
            };
            let path = target.with_file_name(temp_name);
            if let Some(temp) = Temp::create_at(files, &path)? {
                return Ok(temp);
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Creates a file at this path and locks it. A file that a killed process left there is
    /// replaced. Returns `None` if another process is writing to that path.
    fn create_at(files: &'static dyn Files, path: &Path) -> io::Result<Option<Temp>> {
        let Some(file) = create_or_replace_abandoned(files, path)? else {
            return Ok(None);
        };
        let mut temp = Temp {
            files,
            path: path.to_owned(),
            file,
            bytes: 0,
            is_disarmed: false,
        };

        // Until we lock the file, it looks abandoned: another process may have locked or removed
        // it. Any other failure to lock means that there are no locks, and then no process removes
        // the file.
        let is_locked_by_other =
            matches!(files.try_lock(&temp.file), Err(TryLockError::WouldBlock));
        // The name is checked under the lock: as long as we hold it, no process removes the file.
        let is_ours = !is_locked_by_other && is_name_of(files, path, &temp.file)?;
        if is_ours {
            return Ok(Some(temp));
        }
        // What is at the path now belongs to the other process: dropping `temp` must not remove it.
        temp.disarm();
        Ok(None)
    }

    /// Writes the content, by calling `fill`. `path` is the target, for errors.
    pub fn fill(&mut self, path: &Path, fill: &mut Fill<'_>) -> Result<(), StoreError> {
        let out = Out {
            files: self.files,
            file: &self.file,
            bytes: 0,
        };
        self.bytes = write_through(out, path, fill)?;
        Ok(())
    }

    /// Renames the file to `path`, which must be free. Unless [`Temp::disarm`] is called, dropping
    /// it still removes the file.
    pub fn rename_new(&mut self, path: &Path) -> io::Result<()> {
        self.files.rename_new(&self.path, path)?;
        self.path = path.to_owned();
        Ok(())
    }

    /// Lets dropping this remove nothing. For a file that was renamed to its place: no file of ours
    /// has the temporary name any more.
    pub fn disarm(&mut self) {
        self.is_disarmed = true;
    }

    /// Removes the file with the temporary name, unless it was [disarmed](Self::disarm).
    ///
    /// Dropping ignores a failure; this reports it. The caller needs to know after
    /// [`Temp::exchange`]: the file with the temporary name then has the old content of the target.
    pub fn remove(mut self) -> Result<(), StoreError> {
        if self.is_disarmed {
            return Ok(());
        }
        // Whether or not this succeeds, dropping `self` must not try it again.
        self.disarm();
        match unlink_own(self.files, &self.path) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(StoreError::new(
                Action::Remove,
                &self.path,
                Cause::Unremoved(error),
            )),
        }
    }

    /// Exchanges the names of the temporary file and the file at `old`. The old file has the
    /// temporary name then, and is removed when this is dropped.
    ///
    /// If the system cannot exchange names, the old file is gone, and [`Temp::exchange_back`] is
    /// not possible.
    pub fn exchange(&mut self, old: &Path) -> io::Result<OldFile> {
        let old_file = self.files.exchange(&self.path, old)?;
        // Without an exchange, nothing has the temporary name any more.
        self.is_disarmed = old_file == OldFile::Gone;
        Ok(old_file)
    }

    /// Undoes [`Temp::exchange`]. If that fails, the old file stays under the temporary name.
    pub fn exchange_back(&mut self, old: &Path) -> io::Result<()> {
        // Until the exchange has succeeded, the file with the temporary name is the old one.
        self.is_disarmed = true;
        self.files.exchange(&self.path, old)?;
        self.is_disarmed = false;
        Ok(())
    }
}

/// The content that was written.
impl ReadAt for Temp {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.files.read_at(&self.file, buf, offset)
    }

    fn file(&self) -> Option<&File> {
        Some(&self.file)
    }

    fn len(&self) -> u64 {
        self.bytes
    }
}

impl Drop for Temp {
    fn drop(&mut self) {
        if !self.is_disarmed {
            // If it cannot be removed, it is a hidden file that the agents ignore.
            let _ = unlink_own(self.files, &self.path);
        }
        // Closing the handle would not suffice (see [`super::lock::LockHandle`]), and the file in
        // place must not stay locked.
        let _ = unlock(&self.file);
    }
}

/// Creates a file at this path. A temporary file that a process left there when it ended is removed
/// first. `None` if another file has the name.
fn create_or_replace_abandoned(files: &dyn Files, path: &Path) -> io::Result<Option<File>> {
    if let Some(file) = create_if_free(files, path)? {
        return Ok(Some(file));
    }
    if !remove_abandoned(files, path) {
        return Ok(None);
    }
    // Another process may have created a file there since.
    create_if_free(files, path)
}

/// Creates a file at this path; `None` if there is one already.
fn create_if_free(files: &dyn Files, path: &Path) -> io::Result<Option<File>> {
    match files.create_new(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
        Err(error) => Err(error),
    }
}

/// Removes a temporary file that a process left when it ended. A file that is locked is not
/// abandoned. Returns whether the file was removed.
fn remove_abandoned(files: &dyn Files, path: &Path) -> bool {
    let Ok(file) = files.open_append(path) else {
        return false;
    };
    if files.try_lock(&file).is_err() {
        return false;
    }
    // Between the two calls, another process may have removed it and created its own.
    if !is_name_of(files, path, &file).unwrap_or(false) {
        return false;
    }
    files.unlink(path).is_ok()
}

/// Whether the path still leads to the open file.
fn is_name_of(files: &dyn Files, path: &Path, file: &File) -> io::Result<bool> {
    match files.stat_at(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        here => Ok(here?.is_same_inode(&files.stat(file)?)),
    }
}

/// Calls `fill` to write to an open file through a buffer. Returns the number of bytes written.
/// `path` is for errors.
pub(super) fn write_through(
    out: Out<'_>,
    path: &Path,
    fill: &mut Fill<'_>,
) -> Result<u64, StoreError> {
    let mut buffered = BufWriter::with_capacity(128 * 1024, out);
    let mut write_result = fill(&mut buffered);
    if write_result.is_ok() {
        write_result = buffered.flush();
    }
    let bytes = buffered.get_ref().bytes;
    // Dropping a `BufWriter` would try to write its buffer once more; taking it apart does not.
    drop(buffered.into_parts());
    match write_result {
        Ok(()) => Ok(bytes),
        Err(error) => Err(StoreError::io(Action::Write, path, error)),
    }
}

/// A writer to an open file that uses the operations of [`Files`], and counts the bytes.
pub(super) struct Out<'a> {
    pub files: &'static dyn Files,
    pub file: &'a File,
    pub bytes: u64,
}

impl Write for Out<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.files.write(self.file, bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
