//! Differences between operating systems, behind a few functions.

use super::{FileType, Stat};
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::ops::Range;
use std::path::Path;
use std::time::SystemTime;

fn kind(metadata: &Metadata) -> FileType {
    match metadata.file_type() {
        kind if kind.is_file() => FileType::Regular,
        kind if kind.is_dir() => FileType::Folder,
        _ => FileType::Other,
    }
}

fn modified(metadata: &Metadata) -> SystemTime {
    metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH)
}

#[cfg(unix)]
pub(in super::super) fn stat(metadata: &Metadata) -> Stat {
    use std::os::unix::fs::MetadataExt;
    Stat {
        device: metadata.dev(),
        inode: metadata.ino(),
        size: metadata.size(),
        changed: (metadata.ctime(), metadata.ctime_nsec()),
        modified: modified(metadata),
        born: metadata.created().ok(),
        mode: metadata.mode() & 0o7777,
        owner: metadata.uid(),
        group: metadata.gid(),
        links: metadata.nlink(),
        kind: kind(metadata),
    }
}

#[cfg(not(unix))]
pub(in super::super) fn stat(metadata: &Metadata) -> Stat {
    let since = modified(metadata).duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Stat {
        device: 0,
        inode: 0,
        size: metadata.len(),
        changed: (since.as_secs() as i64, i64::from(since.subsec_nanos())),
        modified: modified(metadata),
        born: metadata.created().ok(),
        mode: 0,
        owner: 0,
        group: 0,
        links: 1,
        kind: kind(metadata),
    }
}

/// Returns true for any FUSE file system, because fuse-overlayfs copies up and cannot be distinguished from others.
#[cfg(target_os = "linux")]
pub(super) fn copies_up(file: &File) -> bool {
    const OVERLAYFS: u32 = 0x794c_7630;
    const FUSE: u32 = 0x6573_5546;
    // The type differs between processors.
    let kind = rustix::fs::fstatfs(file).map(|found| u32::try_from(found.f_type));
    matches!(kind, Ok(Ok(OVERLAYFS | FUSE)))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn copies_up(_: &File) -> bool {
    false
}

/// Opens a FIFO without blocking, and a terminal without making it the controlling one.
#[cfg(unix)]
pub(super) fn without_waiting(options: &mut OpenOptions) -> &OpenOptions {
    use rustix::fs::OFlags;
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits();
    std::os::unix::fs::OpenOptionsExt::custom_flags(options, flags as i32)
}

#[cfg(not(unix))]
pub(super) fn without_waiting(options: &mut OpenOptions) -> &OpenOptions {
    options
}

/// Copies bytes from one file to another within the kernel. Returns the number copied, 0 at the end of the file.
#[cfg(target_os = "linux")]
pub(in super::super) fn send(from: &File, range: &Range<u64>, to: &File) -> io::Result<u64> {
    let mut start = range.start;
    let most = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
    Ok(rustix::fs::sendfile(to, from, Some(&mut start), most)? as u64)
}

#[cfg(not(target_os = "linux"))]
pub(in super::super) fn send(_: &File, _: &Range<u64>, _: &File) -> io::Result<u64> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(unix)]
pub(super) fn set_owner(file: &File, owner: Option<u32>, group: Option<u32>) -> io::Result<()> {
    std::os::unix::fs::fchown(file, owner, group)
}

#[cfg(not(unix))]
pub(super) fn set_owner(_: &File, _: Option<u32>, _: Option<u32>) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
pub(super) fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
pub(super) fn set_mode(_: &File, _: u32) -> io::Result<()> {
    Ok(())
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

#[cfg(unix)]
fn is_unsupported(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let unsupported = [Errno::INVAL, Errno::NOSYS, Errno::NOTSUP, Errno::OPNOTSUPP];
    error.kind() == io::ErrorKind::Unsupported
        || unsupported.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

#[cfg(not(unix))]
fn is_unsupported(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Unsupported
}
