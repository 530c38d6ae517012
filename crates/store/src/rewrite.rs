//! Rule 2: new content replaces the old content in one rename. A batch of rewrites syncs each
//! directory only once.

use super::append::{Attempt, Committed};
use super::attributes;
use super::error::{Action, Cause, FileChange, StoreError};
use super::files::{DISK, FileType, Files, OldFile, Pause};
use super::live;
use super::lock::{Growth, Locked};
use super::publish_lock::PublishLock;
use super::read::ReadAt;
use super::send::copy_range;
use super::snapshot::{Snapshot, read_range};
use super::temp::{Fill, Out, Temp};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The number of bytes of two files that are compared at a time.
const COMPARED_BYTES: u64 = 1 << 20;

/// How long to wait for a process that has the old file open for writing. Agents open a file, write
/// and close it, which takes less.
const CLOSED_WITHIN: Duration = Duration::from_secs(2);

/// How long the old file must stay unchanged before it counts as left alone, if it was changed
/// recently. A process may have looked the file up before the rename, and be about to open it.
const QUIET: Duration = Duration::from_millis(5);

/// How recent the last change of the old file is if another process is expected to append again.
const RECENT: Duration = Duration::from_secs(10);

impl Locked {
    /// Replaces the content with what `write` writes (rule 2). With `backup`, the old content is
    /// kept under that name, which must not exist (rule 6).
    ///
    /// While it writes, `write` may read the [`super::SessionFile`] that was locked or reopened. It
    /// should pass on an error of the store inside [`io::Error::other`].
    pub fn rewrite(
        self,
        backup: Option<&Path>,
        write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> Result<Attempt, StoreError> {
        self.rewrite_then(backup, write, &mut || ())
    }

    /// Replaces the content as [`Locked::rewrite`] does. Calls `change_companions` when the new
    /// content is on disk and safe from a power failure, while the new file is still locked: so
    /// that the caller can change files that belong to it.
    pub fn rewrite_then(
        mut self,
        backup: Option<&Path>,
        write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
        change_companions: &mut dyn FnMut(),
    ) -> Result<Attempt, StoreError> {
        let Some(Replacement {
            mut committed,
            temp,
        }) = self.replace(backup, write)?
        else {
            return Ok(Attempt::Stale(Box::new(self)));
        };
        committed.sync_folder_of(self.files, &self.resolved);
        if let Some(backup) = backup {
            committed.sync_folder_of(self.files, backup);
        }
        change_companions();
        // `temp` holds the lock on the new file, which ends here. What is removed is the old file,
        // which has the temporary name now.
        committed.remove_temp(temp);
        Ok(Attempt::Done(committed))
    }

    /// Does a rewrite, except for syncing the directory, which a batch does once for many files.
    /// Returns `None` if the old file has grown: then nothing has changed.
    fn replace(
        &mut self,
        backup: Option<&Path>,
        write: &mut Fill<'_>,
    ) -> Result<Option<Replacement>, StoreError> {
        self.refuse_hard_links()?;
        // If the last line has no newline yet, what is appended next is the rest of that line, and
        // cannot follow the new content.
        let can_copy_growth = self.carries_growth && self.base.ends_with_newline();
        if self.check_again()? == Growth::Found && !can_copy_growth {
            return Ok(None);
        }

        let mut temp = self.write_temp(write)?;
        // The backup is removed if it is dropped before the new file is in place (rule 7). If it
        // cannot be removed, it does no harm: it is a complete copy, and has overwritten nothing.
        let mut backup_copy = match backup {
            Some(backup) => self.back_up(backup)?,
            None => None,
        };

        let publish = PublishLock::take(self)?;
        // The growth is copied as long as there is some, so that the last check before the rename
        // finds none.
        while self.check_again()? == Growth::Found {
            if !can_copy_growth {
                return Ok(None);
            }
            let was_copied = self.copy_growth_to_temp(&mut temp)?;
            if !was_copied {
                return Ok(None);
            }
        }
        self.put_in_place(&mut temp)?;
        if let Some(backup_copy) = &mut backup_copy {
            backup_copy.disarm();
        }
        let late_growth = self.copy_late_growth(&temp);
        drop(publish);

        let mut committed = Committed::new(&self.path);
        if let Err(error) = late_growth {
            committed.warnings.push(StoreError::new(
                Action::CarryGrowthTo,
                &self.path,
                Cause::GrowthLost(error),
            ));
        }
        Ok(Some(Replacement { committed, temp }))
    }

    /// Refuses a file that has several names: a rewrite would replace only one of them.
    pub fn refuse_hard_links(&self) -> Result<(), StoreError> {
        let stat = self
            .files
            .stat(&self.file)
            .map_err(|error| self.failed(error))?;
        if stat.links <= 1 {
            return Ok(());
        }
        let cause = Cause::HardLinked(stat.links);
        Err(StoreError::new(Action::Rewrite, &self.path, cause))
    }

    /// Writes the new content to a temporary file beside the old one, with the attributes of the
    /// old file, and syncs it.
    fn write_temp(&self, write: &mut Fill<'_>) -> Result<Temp, StoreError> {
        let failed = |error| StoreError::io(Action::Rewrite, &self.path, error);
        // A temporary file is created locked. So a pisess that opens it as soon as it is in place
        // waits until we are done (rule 3).
        let mut new = Temp::create_beside(self.files, &self.resolved).map_err(failed)?;
        new.fill(&self.path, write)?;
        attributes::copy_all(
            self.files,
            &self.path,
            &self.file,
            &new.file,
            self.options.force,
        )?;
        self.files.sync(&new.file).map_err(failed)?;
        Ok(new)
    }

    /// Appends to the new file what was appended to the old one since it was read, and syncs the
    /// new file. From then on, the base is the old file with what was appended: the next check
    /// finds only further growth.
    ///
    /// Returns `false` if nothing was appended: on overlayfs, a copy-up makes a file look grown.
    fn copy_growth_to_temp(&mut self, new: &mut Temp) -> Result<bool, StoreError> {
        let path = self.path.clone();
        let failed = |error| StoreError::io(Action::Rewrite, &path, error);
        let next_base = Snapshot::take(self.files, &self.file).map_err(failed)?;
        // Fails if what precedes the growth is no longer what was read. Checked after the snapshot,
        // so that an edit between the two is found. That the file has grown is known already.
        self.check_again()?;

        let growth = self.base.stat.size..next_base.stat.size;
        if growth.is_empty() {
            return Ok(false);
        }
        self.close_last_line(new).map_err(failed)?;
        copy_range(self, growth, &mut self.out(&new.file)).map_err(failed)?;
        self.files.sync(&new.file).map_err(failed)?;
        new.bytes = self.files.stat(&new.file).map_err(failed)?.size;
        self.base = next_base;
        Ok(true)
    }

    /// Exchanges the old file and the new one, and then checks the old file once more. It is an
    /// error if it was replaced or edited after the last check: then the old file gets its place
    /// back.
    fn put_in_place(&self, new: &mut Temp) -> Result<(), StoreError> {
        let failed = |error| StoreError::io(Action::Rewrite, &self.path, error);
        // If the system cannot exchange names, the old file is gone, and cannot be checked.
        let old_file = new.exchange(&self.resolved).map_err(failed)?;
        if old_file == OldFile::Gone {
            return Ok(());
        }

        // The file with the temporary name, at `new.path`, is now the old one.
        let error = match self.find_change(&new.path) {
            Ok(None) => return Ok(()),
            Ok(Some(change)) => self.changed(change),
            Err(error) => failed(error),
        };
        new.exchange_back(&self.resolved).map_err(failed)?;
        self.return_growth(new).map_err(failed)?;
        Err(error)
    }

    /// Appends to the file in place what other processes appended to `new` while `new` was in
    /// place: what follows the bytes that we wrote to it.
    fn return_growth(&self, new: &Temp) -> io::Result<()> {
        let size = self.files.stat(&new.file)?.size;
        if size <= new.bytes {
            return Ok(());
        }
        let in_place = self.files.open_append(&self.resolved)?;
        copy_range(new, new.bytes..size, &mut self.out(&in_place))
    }

    /// Returns how the old file has changed since it was read. `path` is its temporary name, after
    /// the exchange. `None` if it is unchanged, or has only grown.
    fn find_change(&self, path: &Path) -> io::Result<Option<FileChange>> {
        let stat_at_path = self.files.stat_at(path)?;
        let stat_of_read = self.files.stat(&self.file)?;
        if !stat_at_path.is_same_inode(&stat_of_read) {
            return Ok(Some(FileChange::Replaced));
        }
        // By the mtime, because the exchange has changed the ctime.
        match self.base.compare_for_reading(self.files, &self.file)? {
            Some(FileChange::Grown) => Ok(None),
            change => Ok(change),
        }
    }

    /// Copies the old file with all its attributes to `backup`. A file with another content there
    /// is an error: a backup overwrites nothing (rule 6). The copy is complete and synced before it
    /// gets that name.
    ///
    /// Dropping the result removes the backup again, unless the caller [disarms](Temp::disarm) it.
    /// The result is `None` if a complete copy is there already, from a process that was killed.
    ///
    /// The backup is not a hard link: if the process was killed before the rename of the new file,
    /// the old file would keep its second link, and later rewrites would refuse it.
    fn back_up(&self, backup: &Path) -> Result<Option<Temp>, StoreError> {
        let failed = |error| StoreError::io(Action::BackUpTo, backup, error);
        if has_complete_copy(self.files, backup, &self.file, self.len()).map_err(failed)? {
            return Ok(None);
        }
        let mut copy = Temp::create_beside(self.files, backup).map_err(failed)?;
        copy_range(self, 0..self.len(), &mut self.out(&copy.file)).map_err(failed)?;
        attributes::copy_all(
            self.files,
            &self.path,
            &self.file,
            &copy.file,
            self.options.force,
        )?;
        self.files.sync(&copy.file).map_err(failed)?;
        copy.rename_new(backup).map_err(failed)?;
        Ok(Some(copy))
    }

    /// Appends to the new file what other processes append to the old one late: a process that has
    /// the old file open may have written to it between our last comparison and the rename, and it
    /// may write until it closes the file (rule 4).
    fn copy_late_growth(&mut self, new: &Temp) -> io::Result<()> {
        let compared_size = self.base.stat.size;
        let mut growth = LateGrowth {
            new,
            compared_size,
            copied_end: compared_size,
        };
        // Calls `copy_new` until no process has the old file open.
        self.wait_until_closed(
            "another process has the old file open, and may write to it",
            &mut |old| growth.copy_new(old),
        )?;
        if growth.has_copied() {
            self.files.sync(&new.file)?;
        }
        Ok(())
    }

    /// Waits until no process has the file open for writing. If the file was changed recently, it
    /// must also stay unchanged for [`QUIET`]: then no process is about to open it, either.
    ///
    /// `handle_change` is called again and again. It handles what has changed since its last call,
    /// and returns whether that was anything. After its last call, nothing changes any more.
    ///
    /// # Errors
    /// - `problem`, if a process keeps the file open for [`CLOSED_WITHIN`].
    /// - An error of `handle_change`.
    pub(super) fn wait_until_closed(
        &mut self,
        problem: &str,
        handle_change: &mut dyn FnMut(&Locked) -> io::Result<Observed>,
    ) -> io::Result<()> {
        // Closes our own handle for writing, so that only handles of other processes are found.
        self.file = self.handle_for_reading()?;
        let mut pause = Pause::new(CLOSED_WITHIN);
        // Whether the file has been unchanged for long enough, as far as is known. If the last
        // change before the call is old, nobody is expected to be about to open the file.
        let since_change = live::time_between(self.files.now(), self.base.stat.modified);
        let mut is_quiet = since_change >= RECENT;
        loop {
            if handle_change(self)? == Observed::Change {
                is_quiet = false;
            }

            let is_being_written = self.files.is_being_written(&self.file) == Some(true);
            if is_being_written {
                if pause.is_over() {
                    return Err(io::Error::other(problem));
                }
                pause.sleep(self.files);
                continue;
            }

            // A process may have written and closed the file between the two calls above.
            if handle_change(self)? == Observed::Change {
                is_quiet = false;
                continue;
            }
            if is_quiet {
                return Ok(());
            }
            // Quiet, unless the next round finds a change.
            self.files.sleep(QUIET);
            is_quiet = true;
        }
    }

    /// Appends a newline to the new file if its last line has none, so that what follows begins a
    /// line.
    ///
    /// Does nothing if the last line of the old file had no newline either: what follows may be the
    /// rest of that line.
    fn close_last_line(&self, new: &Temp) -> io::Result<()> {
        let size = self.files.stat(&new.file)?.size;
        let last_byte = new.read_range(size.saturating_sub(1)..size)?;
        let is_unterminated = matches!(&last_byte[..], [byte] if *byte != b'\n');
        if is_unterminated && self.base.ends_with_newline() {
            self.out(&new.file).write_all(b"\n")?;
        }
        Ok(())
    }

    /// Returns a writer to a file that we have opened.
    fn out<'a>(&self, file: &'a File) -> Out<'a> {
        Out {
            files: self.files,
            file,
            bytes: 0,
        }
    }
}

/// What the callback of [`Locked::wait_until_closed`] has found since its last call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Observed {
    /// The file has not changed.
    Nothing,
    /// The file has changed, which was handled.
    Change,
}

/// A session whose new content is in place, and synced. The directory is not synced.
struct Replacement {
    committed: Committed,
    /// The new file, which stays locked until this is dropped. Under its temporary name, there may
    /// be the old file now.
    temp: Temp,
}

/// What other processes append to the old file after the last comparison.
struct LateGrowth<'a> {
    /// The new file, to which it is copied.
    new: &'a Temp,
    /// The size of the old file at that comparison.
    compared_size: u64,
    /// The offset in the old file up to which its content is in the new file.
    copied_end: u64,
}

impl LateGrowth<'_> {
    /// Appends to the new file what was appended to the old file since the last call.
    fn copy_new(&mut self, old: &Locked) -> io::Result<Observed> {
        let old_size = old.files.stat(&old.file)?.size;
        if old_size <= self.copied_end {
            return Ok(Observed::Nothing);
        }
        // What is copied first must begin a line in the new file. What is copied later continues
        // it, even in the middle of a line.
        if !self.has_copied() {
            old.close_last_line(self.new)?;
        }
        let mut end_of_new = old.out(&self.new.file);
        copy_range(old, self.copied_end..old_size, &mut end_of_new)?;
        self.copied_end = old_size;
        Ok(Observed::Change)
    }

    /// Whether anything has been copied so far.
    fn has_copied(&self) -> bool {
        self.copied_end > self.compared_size
    }
}

/// The session as it was read. What was appended since is beyond `len`.
impl ReadAt for Locked {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.files.read_at(&self.file, buf, offset)
    }

    fn file(&self) -> Option<&File> {
        Some(&self.file)
    }

    fn len(&self) -> u64 {
        self.base.stat.size
    }
}

/// A batch of rewrites (rule 2). Workers share it. Each file is consistent at any time; after
/// [`Batch::finish`], all changes survive a power failure.
#[derive(Debug, Default)]
pub struct Batch {
    folders: Mutex<BTreeSet<PathBuf>>,
}

impl Batch {
    /// Replaces the content as [`Locked::rewrite`] does, but leaves syncing the directory to
    /// [`Batch::finish`].
    pub fn rewrite(
        &self,
        mut locked: Locked,
        backup: Option<&Path>,
        write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> Result<Attempt, StoreError> {
        let Some(Replacement {
            mut committed,
            temp,
        }) = locked.replace(backup, write)?
        else {
            // The file has grown, and nothing was written.
            return Ok(Attempt::Stale(Box::new(locked)));
        };
        // Unlocks the new file, and removes the old one, which has the temporary name now.
        committed.remove_temp(temp);

        // Should another worker have panicked, its directories are still to be synced.
        let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        folders.insert(folder_of(&locked.resolved).to_owned());
        if let Some(backup) = backup {
            folders.insert(folder_of(backup).to_owned());
        }
        Ok(Attempt::Done(committed))
    }

    /// Syncs each directory once. Returns an error for each one that could not be synced.
    pub fn finish(self) -> Vec<StoreError> {
        let folders = self
            .folders
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let mut errors = Vec::new();
        for folder in &folders {
            if let Err(error) = sync_folder(&DISK, folder) {
                errors.push(error);
            }
        }
        errors
    }
}

/// Whether the file at `path` is a copy of the first `size` bytes of `original`, as a process
/// leaves it that is killed before it changes the session. `false` if there is no file. Any other
/// file is the error [`io::ErrorKind::AlreadyExists`]: it must not be overwritten (rule 6).
pub(super) fn has_complete_copy(
    files: &dyn Files,
    path: &Path,
    original: &File,
    size: u64,
) -> io::Result<bool> {
    let copy = match files.open_read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        copy => copy?,
    };

    let stat = files.stat(&copy)?;
    // The original under another name is no copy: it would be changed along with the original.
    let is_original = stat.is_same_inode(&files.stat(original)?);
    if stat.kind != FileType::Regular || stat.size != size || is_original {
        return Err(io::ErrorKind::AlreadyExists.into());
    }

    let mut start = 0;
    while start < size {
        let end = size.min(start + COMPARED_BYTES);
        let original_bytes = read_range(files, original, start, end)?;
        if read_range(files, &copy, start, end)? != original_bytes {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        start = end;
    }
    Ok(true)
}

/// Returns the directory of a path, which may be a bare name.
pub(super) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder == Path::new("") => Path::new("."),
        folder => folder.unwrap_or(path),
    }
}

pub(super) fn sync_folder(files: &dyn Files, folder: &Path) -> Result<(), StoreError> {
    let unsynced = |error| StoreError::new(Action::SyncFolder, folder, Cause::Unsynced(error));
    files.sync_folder(folder).map_err(unsynced)
}
