//! Unix: what the store asks of the system. Its counterpart is `windows.rs`.

use super::{FileType, Files, Stat};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use std::fs::{File, Metadata, OpenOptions, Permissions, TryLockError};
use std::io;
pub use std::os::fd::AsFd as AsStream;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

pub(super) fn stat(file: &File) -> io::Result<Stat> {
    Ok(stat_of(&file.metadata()?))
}

/// Follows symbolic links.
pub(super) fn stat_at(path: &Path) -> io::Result<Stat> {
    Ok(stat_of(&std::fs::metadata(path)?))
}

pub(super) fn stat_of(metadata: &Metadata) -> Stat {
    Stat {
        device: metadata.dev(),
        inode: metadata.ino(),
        size: metadata.size(),
        changed: (metadata.ctime(), metadata.ctime_nsec()),
        modified: metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH),
        born: metadata.created().ok(),
        mode: metadata.mode() & 0o7777,
        owner: metadata.uid(),
        group: metadata.gid(),
        links: metadata.nlink(),
        kind: match metadata.file_type() {
            kind if kind.is_file() => FileType::Regular,
            kind if kind.is_dir() => FileType::Folder,
            _ => FileType::Other,
        },
    }
}

/// Returns the absolute path without symbolic links.
pub fn real(path: &Path) -> io::Result<PathBuf> {
    std::fs::canonicalize(path)
}

/// Opens a FIFO without blocking, and a terminal without making it the controlling one.
pub(super) fn without_waiting(options: &mut OpenOptions) -> &OpenOptions {
    options.custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32)
}

/// Creates a file that only its owner can access.
pub(super) fn private(options: &mut OpenOptions) -> &OpenOptions {
    options.mode(0o600)
}

/// Reads at a position without moving the file's cursor, so that workers can share the handle.
pub fn read_at(file: &File, buf: &mut [u8], offset: u64) -> io::Result<usize> {
    file.read_at(buf, offset)
}

pub(super) fn truncate(file: &File, size: u64) -> io::Result<()> {
    file.set_len(size)
}

pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    without_waiting(OpenOptions::new().read(true)).open(folder)?.sync_all()
}

pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::rename(from, to)
}

/// Renames such that two creators cannot both succeed. If the system or the file system has no such rename, a
/// link and an unlink do the same (after a crash in between, the file exists under both names).
pub(super) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match rename_noreplace(from, to) {
        Err(error) if is_unsupported(&error) => {
            std::fs::hard_link(from, to)?;
            std::fs::remove_file(from)
        }
        done => done,
    }
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn rename_noreplace(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)?)
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn rename_noreplace(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

fn is_unsupported(error: &io::Error) -> bool {
    let unsupported = [Errno::INVAL, Errno::NOSYS, Errno::NOTSUP, Errno::OPNOTSUPP];
    error.kind() == io::ErrorKind::Unsupported
        || unsupported.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// Undoes a replacement that was interrupted. Here, none can be.
pub fn restore(_: &Path) -> bool {
    false
}

pub(super) fn set_owner(file: &File, owner: Option<u32>, group: Option<u32>) -> io::Result<()> {
    std::os::unix::fs::fchown(file, owner, group)
}

pub(super) fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(mode))
}

pub(super) fn try_lock(file: &File) -> Result<(), TryLockError> {
    file.try_lock()
}

pub fn unlock(file: &File) -> io::Result<()> {
    file.unlock()
}

/// Whether another process has the file open in a way that excludes ours; never, on Unix.
pub fn is_in_use(_: &io::Error) -> bool {
    false
}

pub(super) fn is_alive(pid: u32) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return false;
    };
    test_kill_process(pid) != Err(Errno::SRCH)
}

/// Returns a handle to a stream of this process.
pub fn duplicate(stream: impl AsStream) -> io::Result<File> {
    stream.as_fd().try_clone_to_owned().map(File::from)
}

/// Returns the descriptor for `/dev/stdout` and the like. The path is not opened again: after `>> file`, that
/// would write from the start of the file. Nor is it refused because the file exists, as it does after `> file`.
pub fn own_stream(files: &dyn Files, path: &Path) -> Option<io::Result<File>> {
    match path.to_str()? {
        "/dev/stdout" | "/dev/fd/1" | "/proc/self/fd/1" => Some(duplicate(io::stdout())),
        "/dev/stderr" | "/dev/fd/2" | "/proc/self/fd/2" => Some(duplicate(io::stderr())),
        other if other.starts_with("/dev/fd/") || other.starts_with("/proc/self/fd/") => {
            Some(files.open_write(path))
        }
        _ => None,
    }
}
