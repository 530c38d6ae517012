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
pub(super) fn read_all(file: &File) -> io::Result<Vec<(OsString, Vec<u8>)>> {
    // Each name ends with a zero.
    let name_list = match call_with_buffer(|buf| flistxattr(file, buf)) {
        Err(Errno::NOTSUP | Errno::NOSYS) => return Ok(Vec::new()),
        name_list => name_list?,
    };
    let mut attributes = Vec::new();
    for name in name_list.split(|byte| *byte == 0) {
        // After the last zero.
        if name.is_empty() {
            continue;
        }
        match call_with_buffer(|buf| fgetxattr(file, name, buf)) {
            Ok(value) => attributes.push((OsString::from_vec(name.to_vec()), value)),
            // Removed meanwhile.
            Err(Errno::NODATA) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(attributes)
}

/// Calls `call` with a buffer, and returns the bytes that it has filled. The buffer is always large
/// enough: the kernel limits lists and values to 64 KB.
fn call_with_buffer(
    call: impl FnOnce(&mut [u8]) -> Result<usize, Errno>,
) -> Result<Vec<u8>, Errno> {
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
