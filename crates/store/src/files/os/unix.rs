//! Unix: what the store asks of the system. Its counterpart is `windows.rs`.

use super::{FileType, Files, OldFile, OnDisk, Stat};
use rustix::fs::OFlags;
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use std::fs::{File, Metadata, OpenOptions, Permissions, TryLockError};
use std::io;
pub use std::os::fd::AsFd as AsStream;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

impl Files for OnDisk {
    /// Reads at a position without moving the file's cursor, so that workers can share the handle.
    fn read_at(&self, file: &File, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        file.read_at(buf, offset)
    }

    fn truncate(&self, file: &File, size: u64) -> io::Result<()> {
        file.set_len(size)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        without_waiting(OpenOptions::new().read(true))
            .open(folder)?
            .sync_all()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    /// If the system has no exchange, the old file is kept by a second hard link, which then gets
    /// the name `new`.
    fn exchange(&self, new: &Path, old: &Path) -> io::Result<OldFile> {
        #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
        match renameat_with(CWD, new, CWD, old, RenameFlags::EXCHANGE).map_err(io::Error::from) {
            Ok(()) => return Ok(OldFile::Exchanged),
            Err(error) if is_unsupported(&error) => {}
            Err(error) => return Err(error),
        }
        exchange_by_links(new, old)
    }

    /// Renames such that two creators cannot both succeed, even if the system or the file system
    /// has no flag for this.
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE).map_err(io::Error::from) {
            Ok(()) => return Ok(()),
            Err(error) if is_unsupported(&error) => {}
            Err(error) => return Err(error),
        }
        rename_without_flag(from, to)
    }

    fn stat(&self, file: &File) -> io::Result<Stat> {
        Ok(stat_of(&file.metadata()?))
    }

    /// Follows symbolic links.
    fn stat_at(&self, path: &Path) -> io::Result<Stat> {
        Ok(stat_of(&std::fs::metadata(path)?))
    }

    fn set_owner(&self, file: &File, owner: Option<u32>, group: Option<u32>) -> io::Result<()> {
        std::os::unix::fs::fchown(file, owner, group)
    }

    fn set_mode(&self, file: &File, mode: u32) -> io::Result<()> {
        file.set_permissions(Permissions::from_mode(mode))
    }

    fn try_lock(&self, file: &File) -> Result<(), TryLockError> {
        file.try_lock()
    }
}

/// Converts what the system reports. Some file systems record no creation time, and then `born` is
/// `None`. The mode is without the bits of the file type.
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

/// Exchanges the files at two paths, where the system has no call for that:
///
/// ```text
/// before                    new: N    old: O
/// link the old file         new: N    old: O    second: O
/// rename the new file                 old: N    second: O
/// rename the old file       new: O    old: N
/// ```
///
/// At any time, there is a file at `old`. Without hard links, as on a file system that has none,
/// the old file is gone after the first rename. If the last rename fails, the old file keeps its
/// second name.
fn exchange_by_links(new: &Path, old: &Path) -> io::Result<OldFile> {
    let second_name = new.with_extension("old");
    // A killed process may have left it.
    let _ = std::fs::remove_file(&second_name);
    let is_linked = std::fs::hard_link(old, &second_name).is_ok();

    std::fs::rename(new, old)?;
    if !is_linked {
        return Ok(OldFile::Gone);
    }
    std::fs::rename(second_name, new)?;
    Ok(OldFile::Exchanged)
}

/// Renames a file or directory to a name that must be free, where the system has no flag for that.
fn rename_without_flag(from: &Path, to: &Path) -> io::Result<()> {
    let old = std::fs::symlink_metadata(from)?;
    // For a directory, a rename is nearly the same: it replaces only an empty directory, and never
    // a file or a directory with content.
    if old.is_dir() {
        return std::fs::rename(from, to);
    }

    // A link never replaces a file. After a crash before the unlink, the file has both names.
    let Err(error) = std::fs::hard_link(from, to) else {
        return std::fs::remove_file(from);
    };
    if error.kind() == io::ErrorKind::AlreadyExists {
        // If both names are of the same file, an earlier call was interrupted: only the unlink is
        // missing.
        let is_same = |new: Metadata| (new.dev(), new.ino()) == (old.dev(), old.ino());
        let was_linked_before = std::fs::symlink_metadata(to).is_ok_and(is_same);
        if was_linked_before {
            return std::fs::remove_file(from);
        }
        return Err(error);
    }
    // How file systems without hard links report that they have none.
    if is_unsupported(&error) || error.kind() == io::ErrorKind::PermissionDenied {
        return rename_to_reserved(from, to);
    }
    Err(error)
}

/// Renames a file to a name that must be free: an empty file reserves the name, and is then
/// replaced.
fn rename_to_reserved(from: &Path, to: &Path) -> io::Result<()> {
    let reserved = private(OpenOptions::new().write(true).create_new(true)).open(to)?;
    let renamed = std::fs::rename(from, to);
    if renamed.is_err() {
        remove_reserved(to, &reserved);
    }
    renamed
}

/// Removes a file that reserved a name, if it still has the name and is still empty. If it cannot
/// be removed, the failure that made it useless is reported, not this one.
fn remove_reserved(path: &Path, reserved: &File) {
    let (Ok(at_path), Ok(own)) = (std::fs::symlink_metadata(path), reserved.metadata()) else {
        return;
    };
    let is_same = (at_path.dev(), at_path.ino()) == (own.dev(), own.ino());
    if is_same && at_path.len() == 0 {
        let _ = std::fs::remove_file(path);
    }
}

/// Whether the system or the file system lacks the operation that failed.
fn is_unsupported(error: &io::Error) -> bool {
    if error.kind() == io::ErrorKind::Unsupported {
        return true;
    }
    // File systems report an operation that they lack in different ways.
    let codes = [Errno::INVAL, Errno::NOSYS, Errno::NOTSUP, Errno::OPNOTSUPP];
    codes
        .iter()
        .any(|code| error.raw_os_error() == Some(code.raw_os_error()))
}

pub fn unlock(file: &File) -> io::Result<()> {
    file.unlock()
}

/// Whether another process has the file open in a way that excludes ours; never, on Unix.
pub fn is_in_use(_: &io::Error) -> bool {
    false
}

/// Whether the reader of a pipe closed it.
pub fn is_closed_pipe(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
}

pub fn is_alive(pid: u32) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return false;
    };
    test_kill_process(pid) != Err(Errno::SRCH)
}

/// Returns a handle to a stream of this process.
pub fn duplicate(stream: impl AsStream) -> io::Result<File> {
    stream.as_fd().try_clone_to_owned().map(File::from)
}

/// Whether the path is a name of standard output.
pub fn is_stdout(path: &Path) -> bool {
    matches!(
        path.to_str(),
        Some("/dev/stdout" | "/dev/fd/1" | "/proc/self/fd/1")
    )
}

/// Returns a handle to the stream that a path such as `/dev/stdout` names; `None` if the path does
/// not name a stream of this process.
///
/// Standard output and error are not opened again by their path: after `>> file`, this would write
/// from the start of the file.
///
/// The result is an error if the path names a stream that cannot be duplicated or opened.
pub fn own_stream(files: &dyn Files, path: &Path) -> Option<io::Result<File>> {
    if is_stdout(path) {
        return Some(duplicate(io::stdout()));
    }
    let name = path.to_str()?;
    if matches!(name, "/dev/stderr" | "/dev/fd/2" | "/proc/self/fd/2") {
        return Some(duplicate(io::stderr()));
    }
    // Any other descriptor, such as the one that a shell passes for `>(gzip >a.gz)`.
    if name.starts_with("/dev/fd/") || name.starts_with("/proc/self/fd/") {
        return Some(files.open_write(path));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reserved_name_is_freed_only_while_it_is_reserved() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("reserved");
        let reserved = File::create(&path).unwrap();

        std::fs::write(&path, "a line").unwrap();
        remove_reserved(&path, &reserved);
        assert!(path.exists(), "a file with content stays");

        std::fs::write(&path, "").unwrap();
        remove_reserved(&path, &reserved);
        assert!(!path.exists(), "the reservation is removed");

        File::create(&path).unwrap();
        remove_reserved(&path, &reserved);
        assert!(path.exists(), "the file of another program stays");
    }

    #[test]
    fn names_are_exchanged_with_and_without_the_flag() {
        let calls: [fn(&Path, &Path) -> io::Result<OldFile>; 2] =
            [|new, old| OnDisk.exchange(new, old), exchange_by_links];
        for exchange in calls {
            let folder = tempfile::tempdir().unwrap();
            let [new, old] = [".new.part", "old"].map(|name| folder.path().join(name));
            std::fs::write(&new, "new").unwrap();
            std::fs::write(&old, "old").unwrap();
            assert_eq!(exchange(&new, &old).unwrap(), OldFile::Exchanged);
            let content = |path| std::fs::read_to_string(path).unwrap();
            assert_eq!((content(&old), content(&new)), ("new".into(), "old".into()));
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
        }
    }

    #[test]
    fn a_rename_without_the_flag_replaces_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let content = |name: &str| std::fs::read_to_string(at(name)).unwrap();
        for name in ["a", "taken", "d/inner", "full/inner"] {
            std::fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            std::fs::write(at(name), name).unwrap();
        }
        assert!(rename_without_flag(&at("a"), &at("taken")).is_err());
        assert!(rename_without_flag(&at("d"), &at("full")).is_err());
        assert!(rename_without_flag(&at("d"), &at("taken")).is_err());
        assert_eq!(
            (content("a"), content("taken"), content("full/inner")),
            ("a".into(), "taken".into(), "full/inner".into())
        );
        rename_without_flag(&at("a"), &at("b")).unwrap();
        rename_without_flag(&at("d"), &at("e")).unwrap();
        assert_eq!(
            (content("b"), content("e/inner")),
            ("a".into(), "d/inner".into())
        );
        // A crash left both names of one file.
        std::fs::hard_link(at("b"), at("c")).unwrap();
        rename_without_flag(&at("b"), &at("c")).unwrap();
        assert!(!at("b").exists() && content("c") == "a");
    }
}
