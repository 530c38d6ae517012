//! Rule 2: the new file gets the owner, mode, ACL, extended attributes and modification time of the
//! old file.

use super::error::{Action, Cause, StoreError};
use super::files::{Files, Stat};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::Path;

/// The extended attribute that holds the ACL, on Linux.
const ACL: &str = "system.posix_acl_access";

/// The attributes that the system computes from the content, or sets itself. They are not copied,
/// because they would be wrong for the new file.
const OF_THE_SYSTEM: [&str; 3] = ["security.ima", "security.evm", "com.apple.provenance"];

/// Copies all attributes of `old` to `new`. An attribute that cannot be copied is an error, unless
/// `force` is set.
pub(super) fn copy_all(
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
    let owner_result = copy_owner(files, &stat, new);
    let mode = if owner_result.is_ok() {
        stat.mode
    } else {
        without_group(stat.mode)
    };
    if let Err(error) = owner_result
        && !force
    {
        return Err(lost("the owner", error));
    }

    files
        .set_mode(new, mode)
        .map_err(|error| lost("the mode", error))?;
    if let Err(Uncopied { what, error }) = copy_xattrs(files, old, new)
        && !force
    {
        return Err(lost(&what, error));
    }

    // The agents open the most recently modified session.
    if let Err(error) = files.set_modified(new, stat.modified)
        && !force
    {
        return Err(lost("the modification time", error));
    }
    Ok(())
}

/// Gives the file `new` the permissions of the file `from`: its group, its ACL and its mode. So who
/// cannot read `from` cannot read `new`, either (rule 6). If the group or the ACL cannot be set,
/// the group gets no permissions.
pub(super) fn copy_permissions(files: &dyn Files, from: &File, new: &File) -> io::Result<()> {
    let stat = files.stat(from)?;
    let acl = files
        .xattrs(from)?
        .into_iter()
        .find(|(name, _)| name == ACL);
    let has_group = files.stat(new)?.group == stat.group
        || files.set_owner(new, None, Some(stat.group)).is_ok();
    let has_acl = match acl {
        Some((name, value)) => files.set_xattr(new, &name, &value).is_ok(),
        // There is none to set.
        None => true,
    };

    // The mode comes last: it depends on the two results, and must not be in effect for another
    // group. The set-id bits are no permissions.
    let mode = stat.mode & 0o777;
    if has_group && has_acl {
        files.set_mode(new, mode)
    } else {
        files.set_mode(new, without_group(mode))
    }
}

/// Returns a mode without permissions of the group: the permissions of the old group must not apply
/// to another one.
fn without_group(mode: u32) -> u32 {
    mode & 0o707
}

/// Gives a new file the owner and the group of the old one. An owner that is the same already is
/// not set, because only root may set an owner.
fn copy_owner(files: &dyn Files, old: &Stat, new: &File) -> io::Result<()> {
    let present = files.stat(new)?;
    let owner_to_set = (present.owner != old.owner).then_some(old.owner);
    let group_to_set = (present.group != old.group).then_some(old.group);
    if owner_to_set.is_none() && group_to_set.is_none() {
        return Ok(());
    }
    files.set_owner(new, owner_to_set, group_to_set)
}

/// An attribute that could not be copied.
struct Uncopied {
    /// The attribute, for the message.
    what: String,
    error: io::Error,
}

/// Copies the extended attributes, except those that the system sets itself.
///
/// An attribute that the new file already has with the right value, such as a security label, is
/// not set again, because that may not be permitted. If only the new file has an ACL, inherited
/// from the default of its directory, the ACL is removed.
fn copy_xattrs(files: &dyn Files, old: &File, new: &File) -> Result<(), Uncopied> {
    let unlisted = |error| Uncopied {
        what: "its list of extended attributes".to_owned(),
        error,
    };
    let wanted = files.xattrs(old).map_err(unlisted)?;
    let present = files.xattrs(new).map_err(unlisted)?;

    let acl = OsStr::new(ACL);
    let is_acl = |(name, _): &(OsString, Vec<u8>)| name == acl;
    if present.iter().any(is_acl) && !wanted.iter().any(is_acl) {
        let remove_result = files.remove_xattr(new, acl);
        remove_result.map_err(|error| Uncopied::attribute(acl, error))?;
    }

    for attribute in &wanted {
        let (name, value) = attribute;
        let is_of_system = OF_THE_SYSTEM.iter().any(|known| name == known);
        if is_of_system || present.contains(attribute) {
            continue;
        }
        let set_result = files.set_xattr(new, name, value);
        set_result.map_err(|error| Uncopied::attribute(name, error))?;
    }
    Ok(())
}

impl Uncopied {
    fn attribute(name: &OsStr, error: io::Error) -> Uncopied {
        let what = if name == ACL {
            "the ACL".to_owned()
        } else {
            format!("the attribute {}", name.display())
        };
        Uncopied { what, error }
    }
}
