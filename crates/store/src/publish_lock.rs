//! Rule 5: oh-my-pi's own lock file, `.<name>.lock` beside the session, which contains
//! `pid:milliseconds`.
//!
//! oh-my-pi waits half a second for this lock, and then continues in ways that change the session.
//! So pisess holds it only during a write or a rename, and never during an fsync or while a summary
//! is made.

use super::error::{Action, Cause, StoreError};
use super::files::{FileType, Files, Pause, is_alive, process_start_time, unlink_own};
use super::live::time_between;
use super::lock::Locked;
use super::snapshot::read_range;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How long a lock file that names no owner is respected: the owner may have created the file, but
/// not written to it yet.
const MALFORMED_FOR: Duration = Duration::from_millis(500);

/// A process that started more than this long after the lock was taken is not the owner: the owner
/// has ended, and the process got its id. Clocks differ by less.
const REUSED_AFTER: Duration = Duration::from_secs(10);

/// The process that took a lock, as the lock file names it.
struct Owner {
    pid: u32,
    /// When it took the lock.
    since: SystemTime,
}

/// oh-my-pi's lock, held by us until dropped.
pub(super) struct PublishLock {
    files: &'static dyn Files,
    path: PathBuf,
    content: Vec<u8>,
}

impl PublishLock {
    /// Takes the lock of an oh-my-pi session. Returns `None` for other sessions, which have no
    /// lock, and with force if there is no permission to create the lock file.
    pub fn take(locked: &Locked) -> Result<Option<PublishLock>, StoreError> {
        if !locked.options.is_omp {
            return Ok(None);
        }
        let path = lock_path(&locked.resolved);
        match create_or_wait(locked.files, &path, locked.options.wait) {
            // oh-my-pi cannot take its lock here either.
            Err(error) if error.is_denied() && locked.options.force => Ok(None),
            taken => taken.map(Some),
        }
    }
}

/// Returns the path of the lock of a session: `.NAME.lock` in the same directory.
fn lock_path(session: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(session.file_name().unwrap_or_default());
    name.push(".lock");
    session.with_file_name(name)
}

/// Creates the lock file. If another process holds the lock, waits until it is released, at most
/// for `wait`. A stale lock is removed.
fn create_or_wait(
    files: &'static dyn Files,
    path: &Path,
    wait: Duration,
) -> Result<PublishLock, StoreError> {
    let failed = |error| StoreError::io(Action::Lock, path, error);
    let mut pause = Pause::new(wait);
    loop {
        match files.create_new(path) {
            Ok(file) => return write_owner(files, path, &file).map_err(failed),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(error)),
        }

        // A killed process leaves its lock behind.
        if let Some(content) = read_if_stale(files, path).map_err(failed)? {
            remove_stale(files, path, &content).map_err(failed)?;
            continue;
        }
        if pause.is_over() {
            let busy = Cause::Busy {
                holder: read_owner_pid(files, path).map_err(failed)?,
                waited: wait,
            };
            return Err(StoreError::new(Action::Lock, path, busy));
        }
        pause.sleep(files);
    }
}

/// Writes our process id and the time into a lock file that we just created. If that fails, removes
/// the file.
fn write_owner(
    files: &'static dyn Files,
    path: &Path,
    file: &std::fs::File,
) -> io::Result<PublishLock> {
    let since = files
        .now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    let content = format!("{}:{}\n", std::process::id(), since.as_millis()).into_bytes();
    let error = match files.write(file, &content) {
        Ok(written) if written == content.len() => {
            return Ok(PublishLock {
                files,
                path: path.to_owned(),
                content,
            });
        }
        // The system writes a part if the disk is full.
        Ok(_) => io::ErrorKind::StorageFull.into(),
        Err(error) => error,
    };
    // The file is still ours, although it does not name us as its owner: such a lock is stolen only
    // after some time (see `MALFORMED_FOR`).
    let _ = unlink_own(files, path);
    Err(error)
}

/// Returns the content of a lock whose owner is gone. `None` for a lock that may be held, that was
/// released meanwhile, or that is a dangling link.
fn read_if_stale(files: &dyn Files, path: &Path) -> io::Result<Option<Box<[u8]>>> {
    let Some(lock) = read_lock(files, path)? else {
        return Ok(None);
    };
    let is_stale = match parse_owner(&lock.content) {
        Some(owner) => is_gone(&owner),
        // `time_between` has no sign: if the clock was set back since, the modification time is in
        // the future, and such a lock is respected no longer than any other.
        None => time_between(files.now(), lock.modified) > MALFORMED_FOR,
    };
    if is_stale {
        Ok(Some(lock.content))
    } else {
        Ok(None)
    }
}

/// Whether the process that took a lock has ended without releasing it.
fn is_gone(owner: &Owner) -> bool {
    // Threads of this process exclude each other by the lock on the session file, which was taken
    // before, so none of them holds this lock. It was left by an earlier process with our id: in
    // containers, ids repeat.
    if owner.pid == std::process::id() {
        return true;
    }
    if !is_alive(owner.pid) {
        return true;
    }

    // The process that has this id now may have started after the owner ended.
    match process_start_time(owner.pid) {
        Some(start) => start > owner.since + REUSED_AFTER,
        None => false,
    }
}

/// The maximum number of bytes that are read of a lock file. A process id and a time have fewer.
const MAX_LOCK_BYTES: u64 = 64;

/// What a lock file contains, and when it was written.
struct LockFile {
    /// The first [`MAX_LOCK_BYTES`] of the file.
    content: Box<[u8]>,
    modified: SystemTime,
}

/// Reads a lock file; `None` if there is none. Anything but a regular file is refused.
fn read_lock(files: &dyn Files, path: &Path) -> io::Result<Option<LockFile>> {
    let file = match files.open_read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let stat = files.stat(&file)?;
    if stat.kind != FileType::Regular {
        return Err(io::Error::other(StoreError::new(
            Action::Lock,
            path,
            Cause::NotRegular,
        )));
    }
    Ok(Some(LockFile {
        content: read_range(files, &file, 0, MAX_LOCK_BYTES)?,
        modified: stat.modified,
    }))
}

/// Returns the process id of the owner in a lock file. `None` if the file is missing, or names no
/// owner.
fn read_owner_pid(files: &dyn Files, path: &Path) -> io::Result<Option<u32>> {
    let Some(lock) = read_lock(files, path)? else {
        return Ok(None);
    };
    Ok(parse_owner(&lock.content).map(|owner| owner.pid))
}

/// Parses the content of a lock file: the process id, a colon, the time in milliseconds since 1970,
/// and a newline. `None` for any other content, and for the id 0, which no process has.
fn parse_owner(content: &[u8]) -> Option<Owner> {
    let line = std::str::from_utf8(content).ok()?.strip_suffix('\n')?;
    let (pid, since_ms) = line.split_once(':')?;
    let since_epoch = Duration::from_millis(since_ms.parse().ok()?);
    let since = SystemTime::UNIX_EPOCH.checked_add(since_epoch)?;
    let pid = pid.parse().ok()?;
    if pid == 0 {
        return None;
    }
    Some(Owner { pid, since })
}

/// Removes a stale lock, of which `stale_content` was read. Meanwhile, oh-my-pi may have removed
/// it, too, and created a lock of its own, which must stay. A comparison before the removal would
/// leave time for that. So the lock is moved aside first, and then compared: another one is put
/// back.
fn remove_stale(files: &dyn Files, path: &Path, stale_content: &[u8]) -> io::Result<()> {
    let aside = path_aside(path);
    match files.rename(path, &aside) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        renamed => renamed?,
    }
    let moved = read_lock(files, &aside)?;
    // If it is missing, another process has removed it: there is nothing to put back.
    let is_of_other = moved.is_some_and(|lock| *lock.content != *stale_content);
    if is_of_other {
        // This fails if the lock was created once more. Then that one counts.
        let _ = files.link(&aside, path);
    }
    files.unlink(&aside)
}

/// Returns the path to which this process moves a stale lock: no other process uses its id.
fn path_aside(lock: &Path) -> PathBuf {
    let mut name = lock.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}", std::process::id()));
    lock.with_file_name(name)
}

impl PublishLock {
    /// Whether the lock file is still ours: oh-my-pi may have stolen it.
    fn is_ours(&self) -> io::Result<bool> {
        let found = read_lock(self.files, &self.path)?;
        Ok(found.is_some_and(|lock| *lock.content == *self.content))
    }
}

impl Drop for PublishLock {
    /// Removes the lock file, unless oh-my-pi has stolen the lock.
    fn drop(&mut self) {
        // Asked again after an error, for the same reason as in `unlink_own`.
        let is_ours = self.is_ours().or_else(|_| self.is_ours());
        if is_ours.unwrap_or(false) {
            // If it cannot be removed, it is stale as soon as this process ends.
            let _ = unlink_own(self.files, &self.path);
        }
    }
}
