//! Rule 2: the new file gets the owner, mode, ACL, extended attributes and modification time of the
//! old file.

use super::error::{Action, Cause, StoreError};
use super::files::{Files, Stat};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::Path;

/// The extended attribute that holds the ACL, on Linux.
const ACL: &str = "system.posix_acl_access";

/// Attributes that the system computes from the content or sets itself; copying them would be
/// wrong.
const OF_THE_SYSTEM: [&str; 3] = ["security.ima", "security.evm", "com.apple.provenance"];

/// Copies all attributes of `old` to `new`. Without force, an attribute that cannot be copied is an
/// error.
pub(super) fn keep(
    files: &dyn Files,
    path: &Path,
    old: &File,
    new: &File,
    force: bool,
) -> Result<(), StoreError> {
    let lost = |what: &str, error| {
        StoreError::new(
            Action::Rewrite,
            path,
            Cause::AttributesLost {
                what: what.to_owned(),
                error,
            },
        )
    };
    let stat = files.stat(old).map_err(|error| lost("the mode", error))?;
    // The owner comes first: changing it clears the set-id bits. The ACL comes last: it defines the
    // group bits of the mode.
    let is_owned = match keep_owner(files, &stat, new) {
        Err(error) if !force => return Err(lost("the owner", error)),
        owned => owned.is_ok(),
    };
    let mode = if is_owned {
        stat.mode
    } else {
        without_group(stat.mode)
    };
    files
        .set_mode(new, mode)
        .map_err(|error| lost("the mode", error))?;
    match keep_xattrs(files, old, new) {
        Err((what, error)) if !force => return Err(lost(&what, error)),
        _ => {}
    }
    // The agents open the most recently modified session.
    match files.set_modified(new, stat.modified) {
        Err(error) if !force => Err(lost("the modification time", error)),
        _ => Ok(()),
    }
}

/// Gives a new file the permissions of `model` (rule 6), without the permissions of the group if the
/// group or the ACL cannot be set.
pub(super) fn permit_as(files: &dyn Files, model: &File, new: &File) -> io::Result<()> {
    let stat = files.stat(model)?;
    let acl = files
        .xattrs(model)?
        .into_iter()
        .find(|(name, _)| name == ACL);
    let is_grouped = files.stat(new)?.group == stat.group
        || files.set_owner(new, None, Some(stat.group)).is_ok();
    let is_listed = acl.is_none_or(|(name, value)| files.set_xattr(new, &name, &value).is_ok());
    let mode = stat.mode & 0o777;
    files.set_mode(
        new,
        if is_grouped && is_listed {
            mode
        } else {
            without_group(mode)
        },
    )
}

/// Permissions of the old group must not apply to a different new group.
fn without_group(mode: u32) -> u32 {
    mode & 0o707
}

fn keep_owner(files: &dyn Files, old: &Stat, new: &File) -> io::Result<()> {
    let now = files.stat(new)?;
    let owner = (now.owner != old.owner).then_some(old.owner);
    let group = (now.group != old.group).then_some(old.group);
    if owner.is_none() && group.is_none() {
        return Ok(());
    }
    files.set_owner(new, owner, group)
}

/// An attribute that the new file already has with the right value (a security label) is not set
/// again, because that may not be permitted. An ACL inherited from the directory's default is
/// removed.
fn keep_xattrs(files: &dyn Files, old: &File, new: &File) -> Result<(), (String, io::Error)> {
    let listing = |error| ("its list of extended attributes".to_owned(), error);
    let wanted = files.xattrs(old).map_err(listing)?;
    let present = files.xattrs(new).map_err(listing)?;
    for (name, _) in present.iter().filter(|(name, _)| name == ACL) {
        if !wanted.iter().any(|(other, _)| other == name) {
            files
                .remove_xattr(new, name)
                .map_err(|error| (described(name), error))?;
        }
    }
    for (name, value) in wanted
        .iter()
        .filter(|attribute| !present.contains(attribute))
    {
        if OF_THE_SYSTEM.iter().all(|skipped| name != skipped) {
            files
                .set_xattr(new, name, value)
                .map_err(|error| (described(name), error))?;
        }
    }
    Ok(())
}

fn described(name: &OsStr) -> String {
    if name == ACL {
        "the ACL".to_owned()
    } else {
        format!("the attribute {}", name.display())
    }
}
