//! Systems without extended attributes.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;

pub(super) fn read_all(_: &File) -> io::Result<Vec<(OsString, Vec<u8>)>> {
    Ok(Vec::new())
}

pub(super) fn set(_: &File, _: &OsStr, _: &[u8]) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(super) fn remove(_: &File, _: &OsStr) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
