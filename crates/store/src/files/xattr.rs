//! Extended attributes; ACLs are among them (`system.posix_acl_access`). Systems without them:
//! `no_xattr.rs`.

use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fremovexattr, fsetxattr};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Returns the extended attributes of a file with their values. There are none if the file system
/// has no such attributes. An attribute that is removed meanwhile is left out.
pub(super) fn all(file: &File) -> io::Result<Vec<(OsString, Vec<u8>)>> {
    let names = match read(|buf| flistxattr(file, buf)) {
        Err(Errno::NOTSUP | Errno::NOSYS) => return Ok(Vec::new()),
        names => names?,
    };
    let mut found = Vec::new();
    for name in names
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
    {
        match read(|buf| fgetxattr(file, name, buf)) {
            Ok(value) => found.push((OsString::from_vec(name.to_vec()), value)),
            Err(Errno::NODATA) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(found)
}

/// Calls `call` with a buffer, and returns the bytes that it has filled. The buffer is always large
/// enough: the kernel limits lists and values to 64 KB.
fn read(call: impl FnOnce(&mut [u8]) -> Result<usize, Errno>) -> Result<Vec<u8>, Errno> {
    let mut buf = vec![0; 65_536];
    let size = call(&mut buf)?;
    Ok(buf[..size].to_vec())
}

pub(super) fn set(file: &File, name: &OsStr, value: &[u8]) -> io::Result<()> {
    Ok(fsetxattr(
        file,
        name.as_bytes(),
        value,
        XattrFlags::empty(),
    )?)
}

pub(super) fn remove(file: &File, name: &OsStr) -> io::Result<()> {
    Ok(fremovexattr(file, name.as_bytes())?)
}
