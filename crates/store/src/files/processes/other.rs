//! Other systems, on which processes cannot be inspected. On Windows, it can be found out whether a
//! file is open; which process has it open is shown only to administrators.

#[cfg(windows)]
pub(super) use super::os::writer_of;
use super::{DISK, Files};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Not supported here: the caller copies the bytes itself.
pub fn copy_in_kernel(_: &File, _: &Range<u64>, _: &File) -> io::Result<u64> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Not supported here: a write may be short.
pub(super) fn reserve(_: &File, _: u64, _: u64) -> io::Result<()> {
    Ok(())
}

/// No file system here copies a file when it is opened.
pub(super) fn copies_up(_: &File) -> bool {
    false
}

/// On Windows, a new file can have the creation time of the one that had its name before, so the
/// age of a file shows nothing.
pub(super) fn sees_writers() -> bool {
    false
}

#[cfg(not(windows))]
pub(super) fn writer_of(_: &Path, _: &super::Stat) -> Option<super::Writer> {
    None
}

/// The session files that other processes have open for writing. On Windows, a file is checked when
/// it is asked about. On other systems, no such file is known.
#[derive(Debug, Default)]
pub struct SessionsBeingWritten;

impl SessionsBeingWritten {
    /// Looks for nothing yet.
    pub fn search_processes() -> SessionsBeingWritten {
        SessionsBeingWritten
    }

    /// Whether the file at this path is one of them.
    pub fn contains(&self, path: &Path) -> bool {
        match DISK.stat_at(path) {
            Ok(stat) => writer_of(path, &stat).is_some(),
            Err(_) => false,
        }
    }
}

pub(super) fn find_agent_in(_: &[PathBuf]) -> Option<u32> {
    None
}

/// Not determined on this system.
pub fn process_start_time(_: u32) -> Option<SystemTime> {
    None
}

/// Not determined on this system.
pub(super) fn is_being_written(_: &File) -> Option<bool> {
    None
}
