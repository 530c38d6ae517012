//! Rule 2: new content replaces the old content in one rename.

use super::append::{Attempt, Committed};
use super::attributes;
use super::error::StoreError;
use super::files::Files;
use super::lock::{Freshness, Locked};
use super::publish_lock::PublishLock;
use super::snapshot::read_range;
use super::temp::{Fill, Out, Temp};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const CARRY_BYTES: u64 = 1 << 20;

impl Locked {
    /// Replaces the content with what the closure writes (rule 2). With `backup`, the old content is kept
    /// under that name, which must not exist (rule 6).
    ///
    /// While it writes, the closure may read the [`super::SessionFile`] that was locked or reopened. It
    /// should pass on an error of the store inside [`io::Error::other`].
    pub fn rewrite(
        mut self,
        backup: Option<&Path>,
        write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> Result<Attempt, StoreError> {
        let Some(mut committed) = self.replace(backup, write)? else {
            return Ok(Attempt::Stale(Box::new(self)));
        };
        for folder in [Some(self.folder()), backup.map(folder_of)].into_iter().flatten() {
            committed.troubles.extend(sync_folder(self.files, folder));
        }
        Ok(Attempt::Done(committed))
    }

    /// Does all of a rewrite except syncing the directory, which a batch does once for many. Returns `None`
    /// if the file has grown.
    pub(super) fn replace(
        &mut self,
        backup: Option<&Path>,
        write: &mut Fill<'_>,
    ) -> Result<Option<Committed>, StoreError> {
        self.refuse_hard_links()?;
        if self.look_again()? == Freshness::Stale {
            return Ok(None);
        }
        let mut temp = self.stage(write)?;
        let backup = backup.map(|backup| self.back_up(backup)).transpose()?;
        let publish = PublishLock::take(self)?;
        if self.look_again()? == Freshness::Stale {
            return Ok(None);
        }
        self.put_in_place(&mut temp.new)?;
        backup.into_iter().for_each(Backup::keep);
        let carried = self.copy_growth(&temp.new);
        drop(publish);
        let mut committed = Committed::new(&self.path, temp.bytes);
        match carried {
            Ok(carried) => committed.carried = carried,
            Err(source) => {
                let path = self.path.clone();
                committed.troubles.push(StoreError::GrowthLost { path, source });
            }
        }
        Ok(Some(committed))
    }

    fn refuse_hard_links(&self) -> Result<(), StoreError> {
        match self.files.stat(&self.file).map_err(|error| self.failed(error))?.links {
            0 | 1 => Ok(()),
            links => Err(StoreError::HardLinked { path: self.path.clone(), links }),
        }
    }

    /// The new file, complete and synced, but not in place.
    fn stage(&self, write: &mut Fill<'_>) -> Result<Staged, StoreError> {
        let failed = |error| StoreError::io("rewrite", &self.path, error);
        // It is locked: a process that opens it as soon as it is in place waits until we are done (rule 3).
        let mut new = Temp::beside(self.files, &self.resolved).map_err(failed)?;
        let bytes = new.fill(&self.path, write)?;
        attributes::keep(self.files, &self.path, &self.file, &new.file, self.options.force)?;
        self.files.sync(&new.file).map_err(failed)?;
        Ok(Staged { new, bytes })
    }

    fn put_in_place(&self, new: &mut Temp) -> Result<(), StoreError> {
        let renamed = self.files.rename(&new.path, &self.resolved);
        renamed.map_err(|error| StoreError::io("rewrite", &self.path, error))?;
        new.placed();
        Ok(())
    }

    /// Copies the old file with all its attributes, complete and synced before it gets the name, which must
    /// not exist (rule 6). It is a separate file from the beginning: a second hard link to the old file would
    /// remain if the process was killed before the rename of the new file.
    fn back_up(&self, backup: &Path) -> Result<Backup, StoreError> {
        let failed = |error| StoreError::io("back up to", backup, error);
        if self.files.stat_at(backup).is_ok() {
            return Err(failed(io::ErrorKind::AlreadyExists.into()));
        }
        let mut copy = Temp::beside(self.files, backup).map_err(failed)?;
        self.copy_range(0, self.base.stat.size, &copy.file).map_err(failed)?;
        attributes::keep(self.files, &self.path, &self.file, &copy.file, self.options.force)?;
        self.files.sync(&copy.file).map_err(failed)?;
        self.files.rename_new(&copy.path, backup).map_err(failed)?;
        copy.placed();
        Ok(Backup { files: self.files, path: backup.to_owned(), is_kept: false })
    }

    /// Rule 4: a process that had the old file open may have written to it between our last comparison and
    /// the rename. What it wrote is appended to the new file.
    fn copy_growth(&self, new: &Temp) -> io::Result<u64> {
        let start = self.base.stat.size;
        let mut end = start;
        loop {
            let size = self.files.stat(&self.file)?.size;
            if size <= end {
                break;
            }
            if end == start {
                self.close_last_line(new)?;
            }
            self.copy_range(end, size, &new.file)?;
            end = size;
        }
        if end > start {
            self.files.sync(&new.file)?;
        }
        Ok(end - start)
    }

    /// Appends a newline to the new file if its last line is torn, so that what follows begins a line; but not if
    /// the last line of the old file was torn, because what follows may be the rest of that line.
    fn close_last_line(&self, new: &Temp) -> io::Result<()> {
        let size = self.files.stat(&new.file)?.size;
        let last = read_range(self.files, &new.file, size.saturating_sub(1), size)?;
        if self.base.ends_with_newline() && last.first().is_some_and(|byte| *byte != b'\n') {
            self.out(&new.file).write_all(b"\n")?;
        }
        Ok(())
    }

    fn copy_range(&self, mut start: u64, end: u64, to: &std::fs::File) -> io::Result<()> {
        while start < end {
            let chunk = read_range(self.files, &self.file, start, end.min(start + CARRY_BYTES))?;
            if chunk.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.out(to).write_all(&chunk)?;
            start += chunk.len() as u64;
        }
        Ok(())
    }

    fn out<'a>(&self, file: &'a std::fs::File) -> Out<'a> {
        Out { files: self.files, file, bytes: 0 }
    }
}

/// Returns the directory of a path, which may be a bare name.
pub(super) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder == Path::new("") => Path::new("."),
        folder => folder.unwrap_or(path),
    }
}

pub(super) fn sync_folder(files: &dyn Files, folder: &Path) -> Option<StoreError> {
    let source = files.sync_folder(folder).err()?;
    Some(StoreError::Unsynced { folder: folder.to_owned(), source })
}

/// A backup, removed if it is dropped before the new file is in place (rule 7).
struct Backup {
    files: &'static dyn Files,
    path: PathBuf,
    is_kept: bool,
}

impl Backup {
    fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for Backup {
    fn drop(&mut self) {
        if !self.is_kept {
            // A backup that cannot be removed is a complete copy, and has overwritten nothing.
            let _ = self.files.unlink(&self.path);
        }
    }
}

struct Staged {
    new: Temp,
    bytes: u64,
}
