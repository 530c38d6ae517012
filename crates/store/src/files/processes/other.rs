//! Other systems, on which processes cannot be inspected.

use super::{Stat, Writer};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

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

pub(super) fn sees_writers() -> bool {
    false
}

pub(super) fn writer_of(_: &Path, _: &Stat) -> Option<Writer> {
    None
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
