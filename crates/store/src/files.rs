//! The seam between the rules and the system: the trait [`Files`] has every file operation needed
//! for writing, and the clock.
//!
//! The default methods of the trait access the disk. Where systems differ, [`OnDisk`] implements
//! the method. Tests override all methods that can fail by methods that fail at call N. Handles are
//! plain [`File`]s, so the seam needs no types of its own.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

#[cfg_attr(unix, path = "files/os/unix.rs")]
#[cfg_attr(windows, path = "files/os/windows.rs")]
mod os;
#[cfg_attr(target_os = "linux", path = "files/processes/linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "files/processes/other.rs")]
mod processes;
#[cfg_attr(
    not(any(target_os = "linux", target_os = "android", target_vendor = "apple")),
    path = "files/no_xattr.rs"
)]
mod xattr;

pub use os::{AsStream, is_closed_pipe};
pub(super) use os::{duplicate, is_alive, is_in_use, is_stdout, own_stream, real, unlock};
pub use processes::SessionsBeingWritten;
pub(super) use processes::{copy_in_kernel, process_start_time};

/// Another process that has a file open for writing.
pub(super) struct Writer {
    /// The process, if the system reports which one it is.
    pub pid: Option<u32>,
}

/// The members of the system's `stat` that the rules need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stat {
    pub device: u64,
    pub inode: u64,
    pub size: u64,
    /// Seconds and nanoseconds of the last change of content or attributes.
    pub changed: (i64, i64),
    pub modified: SystemTime,
    /// When the inode was created, if the file system records that.
    pub born: Option<SystemTime>,
    pub mode: u32,
    pub owner: u32,
    pub group: u32,
    pub links: u64,
    pub kind: FileType,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileType {
    Regular,
    Folder,
    Other,
}

/// What became of the old file in [`Files::exchange`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OldFile {
    /// It has the name that the new file had.
    Exchanged,
    /// It is gone: the system cannot exchange names.
    Gone,
}

impl Stat {
    pub fn is_same_inode(&self, other: &Stat) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}

/// Returns a process in words, such as `process 12`; `another process` if its id is not known.
pub(super) fn describe_process(pid: Option<u32>) -> String {
    match pid {
        Some(pid) => format!("process {pid}"),
        None => "another process".to_owned(),
    }
}

/// The file operations needed for writing.
pub(super) trait Files: Sync + std::fmt::Debug {
    /// Opens for reading. Never blocks, even on a FIFO: the caller checks afterwards whether it is
    /// a regular file (rule 3).
    fn open_read(&self, path: &Path) -> io::Result<File> {
        os::without_waiting(OpenOptions::new().read(true)).open(path)
    }

    /// Opens for reading and appending; never creates, never blocks.
    fn open_append(&self, path: &Path) -> io::Result<File> {
        os::without_waiting(OpenOptions::new().read(true).append(true)).open(path)
    }

    /// Creates a file with mode 0600, for reading and appending; fails if the name exists
    /// (`O_EXCL`).
    fn create_new(&self, path: &Path) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create_new(true);
        os::private(&mut options).open(path)
    }

    /// Opens a FIFO or a device for writing. May block.
    fn open_write(&self, path: &Path) -> io::Result<File> {
        OpenOptions::new().append(true).open(path)
    }

    fn read_at(&self, file: &File, buf: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Calls `write` once, which may write less than requested.
    fn write(&self, mut file: &File, bytes: &[u8]) -> io::Result<usize> {
        file.write(bytes)
    }

    /// Reserves space for `count` bytes at the end of the file, so that a write of these bytes is
    /// not short. `end` is the size of the file, which does not change. Does nothing if the file
    /// system cannot reserve space.
    fn reserve(&self, file: &File, end: u64, count: u64) -> io::Result<()> {
        processes::reserve(file, end, count)
    }

    fn truncate(&self, file: &File, size: u64) -> io::Result<()>;

    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_all()
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()>;

    /// Renames a file, and replaces the file at `to` if there is one.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Exchanges the names of the files at two paths, so that the new file is at `old`. On a system
    /// that cannot exchange names, renames the new file to `old`, and the old file is gone.
    fn exchange(&self, new: &Path, old: &Path) -> io::Result<OldFile>;

    /// Renames a file or directory; fails if `to` exists.
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Gives the file at `from` the second name `to`; fails if `to` exists.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::hard_link(from, to)
    }

    fn unlink(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    fn stat(&self, file: &File) -> io::Result<Stat>;

    /// Follows symbolic links.
    fn stat_at(&self, path: &Path) -> io::Result<Stat>;

    /// Whether the file system may copy a file when it is first opened for writing (overlayfs).
    fn copies_up(&self, file: &File) -> bool {
        processes::copies_up(file)
    }

    fn set_owner(&self, file: &File, owner: Option<u32>, group: Option<u32>) -> io::Result<()>;

    fn set_mode(&self, file: &File, mode: u32) -> io::Result<()>;

    fn set_modified(&self, file: &File, time: SystemTime) -> io::Result<()> {
        file.set_modified(time)
    }

    fn xattrs(&self, file: &File) -> io::Result<Vec<(OsString, Vec<u8>)>> {
        xattr::read_all(file)
    }

    fn set_xattr(&self, file: &File, name: &OsStr, value: &[u8]) -> io::Result<()> {
        xattr::set(file, name, value)
    }

    fn remove_xattr(&self, file: &File, name: &OsStr) -> io::Result<()> {
        xattr::remove(file, name)
    }

    fn try_lock(&self, file: &File) -> Result<(), TryLockError>;

    /// Returns another process that has this inode open for writing, if the system reports one.
    fn writer_of(&self, path: &Path, stat: &Stat) -> Option<Writer> {
        processes::writer_of(path, stat)
    }

    /// Whether any process has the file open for writing. The caller must not have it open for
    /// writing itself. `None` if the system does not report it.
    fn is_being_written(&self, file: &File) -> Option<bool> {
        processes::is_being_written(file)
    }

    /// Whether `None` from [`Files::writer_of`] shows that no agent works on an old file (rule 5).
    /// This requires that processes can be inspected, and that the creation time of a file is
    /// reliable.
    fn sees_writers(&self) -> bool {
        processes::sees_writers()
    }

    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    /// Returns the time on a clock that is never adjusted.
    fn instant(&self) -> Instant {
        Instant::now()
    }

    fn sleep(&self, time: Duration) {
        std::thread::sleep(time);
    }
}

/// The pauses of a loop that polls until a time limit. The pauses grow from 1 to 8 milliseconds: an
/// append holds a lock for a millisecond or two, a rewrite for longer.
pub(super) struct Pause {
    /// The time until the limit.
    left: Duration,
    /// The length of the next pause.
    step: Duration,
}

impl Pause {
    /// `wait` is the time limit: the sum of all pauses.
    pub fn new(wait: Duration) -> Pause {
        Pause {
            left: wait,
            step: Duration::from_millis(1),
        }
    }

    /// Whether the time limit is reached. The loop then gives up.
    pub fn is_over(&self) -> bool {
        self.left.is_zero()
    }

    /// Sleeps for the next pause, which ends at the time limit at the latest.
    pub fn sleep(&mut self, files: &dyn Files) {
        let pause = self.step.min(self.left);
        files.sleep(pause);
        self.left -= pause;
        self.step = (self.step * 2).min(Duration::from_millis(8));
    }
}

/// Removes a file of our own that must not remain, such as a temporary one. If this fails, it is
/// tried once more: the system may have been short of some resource for a moment.
pub(super) fn unlink_own(files: &dyn Files, path: &Path) -> io::Result<()> {
    match files.unlink(path) {
        Ok(()) => Ok(()),
        // A file that is gone already is not tried again.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(error),
        Err(_) => files.unlink(path),
    }
}

/// The real disk.
#[derive(Clone, Copy, Debug)]
pub struct OnDisk;

/// The [`OnDisk`] for uses that need a `'static` reference.
pub(super) static DISK: OnDisk = OnDisk;

/// Returns the process id of a running agent whose working directory is one of these. `None` if
/// there is none, or if processes cannot be inspected.
///
/// A pi that waits for its user has no session file open, so its working directory is the only
/// sign.
pub fn find_agent_in(folders: &[&Path]) -> Option<u32> {
    // The system reports working directories without symbolic links.
    let mut real_folders = Vec::new();
    for folder in folders {
        // A directory that cannot be resolved is skipped.
        if let Ok(real_folder) = os::real(folder) {
            real_folders.push(real_folder);
        }
    }
    processes::find_agent_in(&real_folders)
}
