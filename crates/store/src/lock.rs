//! Rules 3 and 4: the lock, and the comparison with what was read, under the lock.

use super::error::{Action, Cause, FileChange, StoreError};
use super::files::{DISK, FileType, Files, Pause, Stat, unlock};
use super::live;
use super::session_file::SessionFile;
use super::snapshot::Snapshot;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The options for writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteOptions {
    /// Whether to write even without lock support (rule 3), without attributes that cannot be kept
    /// (rule 2), and despite a live oh-my-pi (rule 5). A lock that another process holds, a file
    /// that changed, and hard links are errors in any case.
    pub force: bool,
    /// How long to wait for a lock that is held, and how long to decide again while the file keeps
    /// growing.
    pub wait: Duration,
    /// Whether the session belongs to oh-my-pi. Only then does rule 5 apply.
    pub is_omp: bool,
    /// Whether the file is to be moved or removed. Then a file that an agent wrote a moment ago is
    /// refused at once, even if no process has it open: pi closes the file after each entry.
    pub is_moved: bool,
}

impl Default for WriteOptions {
    fn default() -> WriteOptions {
        WriteOptions {
            force: false,
            wait: Duration::from_secs(10),
            is_omp: false,
            is_moved: false,
        }
    }
}

/// A session file under the lock. Dropping it without a commit changes nothing.
#[derive(Debug)]
#[must_use = "the lock is released when this is dropped"]
pub struct Locked {
    pub(super) files: &'static dyn Files,
    pub(super) options: WriteOptions,
    pub(super) path: PathBuf,
    pub(super) resolved: PathBuf,
    pub(super) file: File,
    pub(super) base: Snapshot,
    is_stale: bool,
    /// Whether a rewrite carries over lines that other processes append meanwhile; see
    /// [`Locked::carrying_growth`].
    pub(super) carries_growth: bool,
    started: Instant,
    /// The handle that holds the lock.
    lock: LockHandle,
}

/// A handle that may hold the lock, and is unlocked when dropped. Closing the handle would not
/// release the lock: between fork and exec, a child process has the handle open, too.
#[derive(Debug)]
pub(super) struct LockHandle(pub File);

impl Drop for LockHandle {
    fn drop(&mut self) {
        // If there is no lock to release, there is nothing to do.
        let _ = unlock(&self.0);
    }
}

/// Takes the lock (rule 3), refuses a live oh-my-pi (rule 5), and compares the file with what was
/// read (rule 4).
pub fn lock(file: &SessionFile, options: &WriteOptions) -> Result<Locked, StoreError> {
    lock_on(&DISK, file, options)
}

/// Does what [`lock`] does, by the operations of `files`. The steps in order: take the lock, refuse
/// a live oh-my-pi unless forced, open the file for appending, and compare it with what was read. A
/// file that has grown is not an error: the result is stale.
pub(super) fn lock_on(
    files: &'static dyn Files,
    file: &SessionFile,
    options: &WriteOptions,
) -> Result<Locked, StoreError> {
    let path = file.path();
    let resolved = file.resolved();
    let failed = |error| StoreError::io(Action::Write, path, error);
    let started = files.instant();
    let lock = take_lock(files, path, resolved, options)?;

    if options.is_omp && !options.force {
        // Before a move, waiting does not help: an agent at work writes again.
        let wait = if options.is_moved {
            Duration::ZERO
        } else {
            options.wait
        };
        let search = live::Search {
            wait,
            counts_appends: options.is_moved,
        };
        live::refuse(files, path, resolved, &lock.0, &search)?;
    }

    // Opened for writing only under the lock, and after the search for a writer, so that no pisess
    // mistakes another or itself for a live agent (rule 5).
    let handle = files
        .open_append(resolved)
        .map_err(|error| error_after_reading(path, Action::Write, error))?;

    // The path may be another file by now: a rewrite that we waited for replaces it. The file that
    // was read is identified by its handle, because a copy-up changes its numbers (rule 4).
    let opened = files.stat(&handle).map_err(failed)?;
    for earlier_handle in [&lock.0, &file.file] {
        let earlier = files.stat(earlier_handle).map_err(failed)?;
        if !opened.is_same_inode(&earlier) {
            return Err(StoreError::changed(path, FileChange::Replaced));
        }
    }
    let is_stale = match file.snapshot.compare(files, &handle).map_err(failed)? {
        None => false,
        Some(FileChange::Grown) => true,
        Some(change) => return Err(StoreError::changed(path, change)),
    };
    Ok(Locked {
        files,
        options: *options,
        path: path.to_owned(),
        resolved: resolved.to_owned(),
        file: handle,
        base: file.snapshot.clone(),
        is_stale,
        carries_growth: false,
        started,
        lock,
    })
}

/// Waits for the lock, and returns the handle that holds it. The handle is opened for reading, or
/// for writing if such a handle cannot be locked: NFS requires this for an exclusive lock.
///
/// If neither can be locked, the file system has no locks. That is an error, unless `options` have
/// `force`: then the handle for reading is returned, without a lock.
fn take_lock(
    files: &dyn Files,
    path: &Path,
    resolved: &Path,
    options: &WriteOptions,
) -> Result<LockHandle, StoreError> {
    let failed = |error| error_after_reading(path, Action::Lock, error);
    let readable = files.open_read(resolved).map_err(failed)?;
    // The session was a regular file when it was read, so this is another file.
    if files.stat(&readable).map_err(failed)?.kind != FileType::Regular {
        return Err(StoreError::changed(path, FileChange::Replaced));
    }
    let error = match wait_for_lock(files, path, &readable, options)? {
        LockAttempt::Locked => return Ok(LockHandle(readable)),
        LockAttempt::Unsupported(error) => error,
    };

    let writable = files.open_append(resolved).map_err(failed)?;
    match wait_for_lock(files, path, &writable, options)? {
        LockAttempt::Locked => Ok(LockHandle(writable)),
        LockAttempt::Unsupported(_) if options.force => Ok(LockHandle(readable)),
        // The error of the first handle: that one can be locked almost everywhere.
        LockAttempt::Unsupported(_) => Err(StoreError::new(
            Action::Lock,
            path,
            Cause::NoLockSupport(error),
        )),
    }
}

/// Converts an error that occurred after the file was read. If the file is not found, it was
/// removed since, which is [`Cause::Changed`].
fn error_after_reading(path: &Path, action: Action, error: io::Error) -> StoreError {
    match error.kind() {
        io::ErrorKind::NotFound => StoreError::changed(path, FileChange::Removed),
        _ => StoreError::io(action, path, error),
    }
}

/// The result of [`Locked::check_again`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Growth {
    /// The file is as it was read.
    None,
    /// Another process has appended, or the content is to be read again for another reason: see
    /// [`Locked::is_stale`].
    Found,
}

/// The result of waiting for a lock that no other process holds any more.
enum LockAttempt {
    /// The handle holds the lock.
    Locked,
    /// This handle cannot be locked, at least not on this file system.
    Unsupported(io::Error),
}

/// Waits until `handle` holds the lock, or cannot be locked. Fails if another process still holds
/// the lock when the time to wait is over.
fn wait_for_lock(
    files: &dyn Files,
    path: &Path,
    handle: &File,
    options: &WriteOptions,
) -> Result<LockAttempt, StoreError> {
    let mut pause = Pause::new(options.wait);
    loop {
        match files.try_lock(handle) {
            Ok(()) => return Ok(LockAttempt::Locked),
            // By a signal: tried again at once.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(TryLockError::Error(error)) => return Ok(LockAttempt::Unsupported(error)),
            Err(TryLockError::WouldBlock) if pause.is_over() => {
                let cause = Cause::Busy {
                    holder: None,
                    waited: options.wait,
                };
                return Err(StoreError::new(Action::Lock, path, cause));
            }
            Err(TryLockError::WouldBlock) => pause.sleep(files),
        }
    }
}

impl Locked {
    /// Lets a rewrite continue if the file grows meanwhile: the new lines follow the rewritten ones
    /// unchanged.
    ///
    /// This is only for changes that neither add an entry nor depend on what follows. Any other
    /// change must be decided again.
    pub fn carrying_growth(self) -> Locked {
        Locked {
            carries_growth: true,
            ..self
        }
    }

    /// Whether another process has appended since the file was read. On overlayfs, also whether a
    /// copy-up has changed what `stat` reports.
    ///
    /// A caller then calls [`Locked::reopen`] and decides again. Until then, nothing is written.
    pub fn is_stale(&self) -> bool {
        self.is_stale
    }

    /// Opens the file again under the lock, to reload it if it is stale (rule 4). The commit is
    /// then based on this file.
    pub fn reopen(&mut self) -> Result<SessionFile, StoreError> {
        let file = SessionFile::open_on(self.files, &self.path)?;
        self.check_inode(&file.snapshot.stat)?;
        self.base = file.snapshot.clone();
        self.is_stale = false;
        Ok(file)
    }

    /// Checks once more, before a commit, that the path still leads to this file, and that the
    /// content is as it was read (rules 3 and 4). Sets what [`Locked::is_stale`] returns.
    ///
    /// # Errors
    /// [`Cause::Changed`] if the file was replaced or edited. If it has grown, only when the time
    /// to wait is over.
    pub(super) fn check_again(&mut self) -> Result<Growth, StoreError> {
        let found = self.files.stat_at(&self.resolved);
        let stat_at_path =
            found.map_err(|error| error_after_reading(&self.path, Action::Write, error))?;
        self.check_inode(&stat_at_path)?;

        let compared = self
            .base
            .compare(self.files, &self.file)
            .map_err(|error| self.failed(error))?;
        match compared {
            None => {
                self.is_stale = false;
                Ok(Growth::None)
            }
            Some(FileChange::Grown) if !self.is_out_of_time() => {
                self.is_stale = true;
                Ok(Growth::Found)
            }
            Some(change) => Err(self.changed(change)),
        }
    }

    /// Fails if the file at the path is no longer the file that is open here. `here` is the state
    /// of the file at the path.
    fn check_inode(&self, here: &Stat) -> Result<(), StoreError> {
        let ours = self
            .files
            .stat(&self.file)
            .map_err(|error| self.failed(error))?;
        if here.is_same_inode(&ours) {
            Ok(())
        } else {
            Err(self.changed(FileChange::Replaced))
        }
    }

    fn is_out_of_time(&self) -> bool {
        self.files.instant().saturating_duration_since(self.started) >= self.options.wait
    }

    pub(super) fn changed(&self, change: FileChange) -> StoreError {
        StoreError::changed(&self.path, change)
    }

    /// Returns a copy of the handle that holds the lock. It is open for reading only, except on
    /// file systems that require a handle for writing (see [`take_lock`]).
    pub(super) fn handle_for_reading(&self) -> io::Result<File> {
        self.lock.0.try_clone()
    }

    pub(super) fn failed(&self, error: io::Error) -> StoreError {
        StoreError::io(Action::Write, &self.path, error)
    }
}
