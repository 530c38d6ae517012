//! Windows: what the store asks of the system. Its counterpart is `unix.rs`.
//!
//! - **Locks** are mandatory here: nobody else could read or append to a locked range. So one byte
//!   far behind the end of any file is locked, which makes the lock advisory.
//! - **Replacing a file** that a process has open needs a rename with POSIX semantics, which NTFS
//!   has since 2018. On other file systems (FAT, some network shares, and under Wine), the old file
//!   is renamed aside first, with all its handles and locks. A crash in between leaves it there,
//!   and opening the session renames it back.
//! - **Directories** cannot be synced; NTFS writes their changes in order.

#![expect(
    unsafe_code,
    reason = "locks, links and processes are not in the standard library"
)]

use super::{DISK, FileType, Files, OldFile, OnDisk, Stat, Writer};
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::fs::{FileExt, OpenOptionsExt};
pub use std::os::windows::io::AsHandle as AsStream;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use uuid::Uuid;
use windows_sys::Win32::Foundation::{
    ERROR_ACCESS_DENIED, ERROR_LOCK_VIOLATION, ERROR_PIPE_NOT_CONNECTED, ERROR_SHARING_VIOLATION,
    STILL_ACTIVE,
};
use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, FILE_BASIC_INFO, FILE_FLAG_BACKUP_SEMANTICS, FILE_READ_ATTRIBUTES,
    FILE_SHARE_DELETE, FILE_SHARE_READ, FILE_TYPE_DISK, FileBasicInfo, GetFileInformationByHandle,
    GetFileInformationByHandleEx, GetFileType, LOCKFILE_EXCLUSIVE_LOCK, LOCKFILE_FAIL_IMMEDIATELY,
    LockFileEx, MoveFileExW, ReOpenFile, UnlockFileEx,
};
use windows_sys::Win32::Storage::FileSystem::{FILE_GENERIC_WRITE, FILE_SHARE_WRITE};
use windows_sys::Win32::System::IO::OVERLAPPED;
use windows_sys::Win32::System::Threading::{
    GetExitCodeProcess, OpenProcess, PROCESS_QUERY_LIMITED_INFORMATION,
};

const EVERYBODY: u32 = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

/// What [`Files::stat`] returns for a pipe, a console or a device: the system reports nothing
/// about it.
const STAT_OF_STREAM: Stat = Stat {
    device: 0,
    inode: 0,
    size: 0,
    changed: (0, 0),
    modified: SystemTime::UNIX_EPOCH,
    born: None,
    mode: 0,
    owner: 0,
    group: 0,
    links: 1,
    kind: FileType::Other,
};

/// Converts the return value of a system call, which is 0 for a failure. The reason of the failure
/// is then the last error of this thread, so no other call may come between.
fn check_call(success: i32) -> io::Result<()> {
    if success == 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

impl Files for OnDisk {
    /// Reads at a position, whatever the file's cursor is, so that workers can share the handle.
    fn read_at(&self, file: &File, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        file.seek_read(buf, offset)
    }

    /// Sets the size of the file. A handle that can only append cannot do that, so the file is
    /// opened a second time, in a way that allows other processes everything.
    fn truncate(&self, file: &File, size: u64) -> io::Result<()> {
        // SAFETY: the handle is open, and the result is owned by nobody else.
        let writable = unsafe {
            let handle = ReOpenFile(file.as_raw_handle(), FILE_GENERIC_WRITE, EVERYBODY, 0);
            // The call returns -1 (`INVALID_HANDLE_VALUE`) for a failure.
            if handle.is_null() || handle as isize == -1 {
                return Err(io::Error::last_os_error());
            }
            OwnedHandle::from_raw_handle(handle)
        };
        File::from(writable).set_len(size)
    }

    fn sync_folder(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        match std::fs::rename(from, to) {
            Err(error) if is_open_elsewhere(&error) && to.is_file() => replace_open_file(from, to),
            result => result,
        }
    }

    /// Windows has no exchange, so this is a rename: afterwards, the old file is gone.
    fn exchange(&self, new: &Path, old: &Path) -> io::Result<OldFile> {
        self.rename(new, old)?;
        Ok(OldFile::Gone)
    }

    /// Renames such that two creators cannot both succeed.
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        let from = to_wide_string(from);
        let to = to_wide_string(to);
        // SAFETY: both end in 0. Without a flag, an existing file is not replaced.
        check_call(unsafe { MoveFileExW(from.as_ptr(), to.as_ptr(), 0) })
    }

    fn stat(&self, file: &File) -> io::Result<Stat> {
        let handle = file.as_raw_handle();
        // SAFETY: the handle is open.
        let file_type = unsafe { GetFileType(handle) };
        if file_type != FILE_TYPE_DISK {
            return Ok(STAT_OF_STREAM);
        }

        let metadata = file.metadata()?;
        let mut info = BY_HANDLE_FILE_INFORMATION::default();
        // SAFETY: the handle is open, and the structure has the size that the call writes.
        check_call(unsafe { GetFileInformationByHandle(handle, &raw mut info) })?;
        let mut basic = FILE_BASIC_INFO::default();
        let basic_size = size_of::<FILE_BASIC_INFO>() as u32;
        // SAFETY: as above, and the size is passed.
        check_call(unsafe {
            GetFileInformationByHandleEx(handle, FileBasicInfo, (&raw mut basic).cast(), basic_size)
        })?;

        let kind = if metadata.is_dir() {
            FileType::Folder
        } else {
            FileType::Regular
        };
        Ok(Stat {
            device: u64::from(info.dwVolumeSerialNumber),
            inode: u64::from(info.nFileIndexHigh) << 32 | u64::from(info.nFileIndexLow),
            size: metadata.len(),
            changed: (basic.ChangeTime, 0),
            modified: metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH),
            born: metadata.created().ok(),
            links: u64::from(info.nNumberOfLinks),
            kind,
            // There is no owner, group or mode.
            ..STAT_OF_STREAM
        })
    }

    /// Follows symbolic links. Undoes a replacement that was interrupted.
    fn stat_at(&self, path: &Path) -> io::Result<Stat> {
        match open_and_stat(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && restore_interrupted(path) => {
                open_and_stat(path)
            }
            stat => stat,
        }
    }

    fn set_owner(&self, _: &File, _: Option<u32>, _: Option<u32>) -> io::Result<()> {
        Ok(())
    }

    fn set_mode(&self, _: &File, _: u32) -> io::Result<()> {
        Ok(())
    }

    fn try_lock(&self, file: &File) -> Result<(), TryLockError> {
        let flags = LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY;
        // SAFETY: the handle is open; the call does not wait, so the structure is not used after it
        // returns.
        let locked =
            unsafe { LockFileEx(file.as_raw_handle(), flags, 0, 1, 0, &mut locked_byte()) };
        check_call(locked).map_err(|error| match error.raw_os_error() {
            Some(code) if code == ERROR_LOCK_VIOLATION as i32 => TryLockError::WouldBlock,
            _ => TryLockError::Error(error),
        })
    }
}

fn open_and_stat(path: &Path) -> io::Result<Stat> {
    let mut options = OpenOptions::new();
    // Directories are opened only with this flag.
    options
        .access_mode(FILE_READ_ATTRIBUTES)
        .share_mode(EVERYBODY)
        .custom_flags(FILE_FLAG_BACKUP_SEMANTICS);
    DISK.stat(&options.open(path)?)
}

/// Returns the absolute path without symbolic links, in the form that other programs understand
/// (without `\\?\`).
pub fn real(path: &Path) -> io::Result<PathBuf> {
    dunce::canonicalize(path)
}

/// Opening a file does not block here.
pub(super) fn without_waiting(options: &mut OpenOptions) -> &OpenOptions {
    options
}

/// A new file inherits the access rights of its directory.
pub(super) fn private(options: &mut OpenOptions) -> &OpenOptions {
    options
}

/// Returns the absolute path in UTF-16 with a 0 at its end, as system calls expect it.
fn to_wide_string(path: &Path) -> Vec<u16> {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut units: Vec<u16> = absolute.as_os_str().encode_wide().collect();
    units.push(0);
    units
}

/// Whether a file could not be replaced because a process has it open. The system reports this in
/// two ways.
fn is_open_elsewhere(error: &io::Error) -> bool {
    error.raw_os_error() == Some(ERROR_ACCESS_DENIED as i32) || is_in_use(error)
}

/// Replaces a file that a process has open, and that cannot be replaced by one rename: moves it
/// aside first. If the new file cannot take its place, moves it back. After a crash in between,
/// [`restore_interrupted`] moves it back.
fn replace_open_file(from: &Path, to: &Path) -> io::Result<()> {
    let free_path = (0..MOST_OLD_FILES)
        .map(|number| old_file_path(to, number))
        .find(|path| !path.exists());
    let old_file = free_path.ok_or(io::ErrorKind::AlreadyExists)?;

    // If another process has taken that path meanwhile, this fails, and nothing has changed.
    DISK.rename_new(to, &old_file)?;
    if let Err(error) = DISK.rename_new(from, to) {
        DISK.rename_new(&old_file, to)?;
        return Err(error);
    }
    // If it cannot be removed, it is a hidden file that the agents ignore.
    let _ = std::fs::remove_file(old_file);
    Ok(())
}

/// The maximum number of old files of one path that crashes may leave.
const MOST_OLD_FILES: u32 = 100;

/// Returns the path of an old file while it is replaced. `number` distinguishes the files that
/// several crashes may leave.
fn old_file_path(path: &Path, number: u32) -> PathBuf {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    let hash = Uuid::new_v5(&Uuid::NAMESPACE_URL, name)
        .simple()
        .to_string();
    path.with_file_name(format!(".pisess-{}.{number}.old", &hash[..8]))
}

/// Undoes a replacement that was interrupted: renames the old file back. Returns whether it did.
fn restore_interrupted(path: &Path) -> bool {
    // Numbers are given in ascending order, so the highest one is the newest file.
    let newest = (0..MOST_OLD_FILES)
        .rev()
        .map(|number| old_file_path(path, number))
        .find(|old_file| old_file.exists());
    let Some(old_file) = newest else {
        return false;
    };

    // A process that is still replacing it holds the lock. The lock is taken only to find out, and
    // is released here, with the file. If two processes get as far, the rename of one fails: it
    // replaces nothing.
    let is_abandoned = match File::open(&old_file) {
        Ok(file) => DISK.try_lock(&file).is_ok(),
        Err(_) => false,
    };
    is_abandoned && DISK.rename_new(&old_file, path).is_ok()
}

/// Returns the offset of the byte that is locked, behind the end of any file, in the form that
/// locking takes.
fn locked_byte() -> OVERLAPPED {
    let mut offset = OVERLAPPED::default();
    offset.Anonymous.Anonymous.Offset = u32::MAX - 1;
    offset.Anonymous.Anonymous.OffsetHigh = i32::MAX as u32;
    offset
}

pub fn unlock(file: &File) -> io::Result<()> {
    // SAFETY: the handle is open; the call does not wait.
    check_call(unsafe { UnlockFileEx(file.as_raw_handle(), 0, 1, 0, &mut locked_byte()) })
}

/// Whether another process has the file open in a way that excludes ours.
pub fn is_in_use(error: &io::Error) -> bool {
    [ERROR_SHARING_VIOLATION, ERROR_LOCK_VIOLATION]
        .iter()
        .any(|code| error.raw_os_error() == Some(*code as i32))
}

/// Whether the reader of a pipe closed it.
pub fn is_closed_pipe(error: &io::Error) -> bool {
    // A named pipe reports this differently from other pipes.
    let is_closed_named_pipe = error.raw_os_error() == Some(ERROR_PIPE_NOT_CONNECTED as i32);
    error.kind() == io::ErrorKind::BrokenPipe || is_closed_named_pipe
}

/// If another process has the file open for writing, opening it without sharing write access fails.
/// Which process it is cannot be determined.
pub(super) fn writer_of(path: &Path, _: &Stat) -> Option<Writer> {
    let opened = OpenOptions::new()
        .read(true)
        .share_mode(FILE_SHARE_READ | FILE_SHARE_DELETE)
        .open(path);
    match opened {
        Err(error) if is_in_use(&error) => Some(Writer { pid: None }),
        _ => None,
    }
}

/// Whether there is a process with this id. One that we are not permitted to inspect counts.
pub fn is_alive(pid: u32) -> bool {
    // SAFETY: the handle is owned by nobody else, and the code is written before it is read.
    unsafe {
        let process = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, 0, pid);
        if process.is_null() {
            return io::Error::last_os_error().raw_os_error() == Some(ERROR_ACCESS_DENIED as i32);
        }
        let process = OwnedHandle::from_raw_handle(process);
        let mut code = 0;
        match check_call(GetExitCodeProcess(process.as_raw_handle(), &raw mut code)) {
            Ok(()) => code == STILL_ACTIVE as u32,
            Err(_) => true,
        }
    }
}

/// Returns a handle to a stream of this process.
pub fn duplicate(stream: impl AsStream) -> io::Result<File> {
    stream.as_handle().try_clone_to_owned().map(File::from)
}

/// Whether the path is a name of standard output; none is, on Windows.
pub fn is_stdout(_: &Path) -> bool {
    false
}

/// No path names a stream of this process.
pub fn own_stream(_: &dyn Files, _: &Path) -> Option<io::Result<File>> {
    None
}
