//! Windows: whether a process has a file open for writing (rule 5). Which one it is, and the directories of
//! processes, cannot be determined without the rights of an administrator.

use super::{Stat, Writer, os};
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::windows::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use windows_sys::Win32::Storage::FileSystem::{FILE_SHARE_DELETE, FILE_SHARE_READ};

/// Not supported here: the caller copies the bytes itself.
pub fn send(_: &File, _: &Range<u64>, _: &File) -> io::Result<u64> {
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

/// A new file can have the creation time of the one that had its name before, so the age of a file shows
/// nothing.
pub(super) fn sees_writers() -> bool {
    false
}

/// If another process has the file open for writing, opening it without sharing write access fails.
pub(super) fn writer_of(path: &Path, _: &Stat) -> Option<Writer> {
    let opened = OpenOptions::new().read(true).share_mode(FILE_SHARE_READ | FILE_SHARE_DELETE).open(path);
    opened.is_err_and(|error| os::is_in_use(&error)).then_some(Writer { pid: None })
}

pub(super) fn agent_in(_: &[PathBuf]) -> Option<u32> {
    None
}

/// Not determined on this system.
pub(super) fn started(_: u32) -> Option<std::time::SystemTime> {
    None
}

/// Not determined on this system.
pub(super) fn is_being_written(_: &std::fs::File) -> Option<bool> {
    None
}
