//! Moves a session to another project directory: its header, and its place in the agents' stores.

use crate::agents::stores::{Here, Store, absolute};
use crate::session::Header;
use crate::session::dialect::Dialect;
use crate::session::paths::{below, is_windows};
use pisess_json::edit::Edit;
use pisess_json::string::encoded;
use pisess_json::text::Text;
use pisess_json::write::texts;
use pisess_store::{ReadAt, copy_range};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Returns the members to change in the header of a session that moves, with their new values: its
/// working directory, and for oh-my-pi the former paths of the session, as that agent records them.
pub fn moved(
    header: &Header,
    dialect: Dialect,
    cwd: &Path,
    old: Option<&Path>,
) -> Vec<(&'static str, Vec<u8>)> {
    let mut changes = vec![("cwd", encoded(&Text::from(&*cwd.to_string_lossy())))];
    if let Some(old) = old.filter(|_| dialect == Dialect::OhMyPi) {
        let json = pisess_json::Raw::checked(&header.bytes);
        let before = json
            .get("previousSessionFiles")
            .into_iter()
            .flat_map(|files| files.items());
        let mut files: Vec<_> = before.filter_map(|file| file.text()).collect();
        let old = Text::from(old.to_string_lossy().into_owned());
        // An interrupted run may have recorded it already.
        if files.last() != Some(&old) {
            files.push(old);
        }
        changes.push(("previousSessionFiles", texts(&files)));
    }
    changes
}

/// Returns the changes to the header of a fork whose source moved.
pub fn follows(source: &Path) -> Vec<(&'static str, Vec<u8>)> {
    vec![(
        "parentSession",
        encoded(&Text::from(&*source.to_string_lossy())),
    )]
}

/// Writes a session with a changed header; all other bytes are unchanged.
pub fn write_with(
    header: &Header,
    changes: &[(&str, Vec<u8>)],
    source: &dyn ReadAt,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut edit = Edit::new(&header.bytes)?;
    changes.iter().for_each(|(key, value)| edit.set(key, value));
    copy_range(source, 0..header.span.start, out)?;
    out.write_all(&edit.finish())?;
    copy_range(source, header.span.end()..source.len(), out)
}

/// Returns the directory in which the agent looks for sessions of the new project; `None` if the
/// session stays where it is, because it is in no store or in a flat one. `old` and `new` are the
/// stores as seen from the old and the new working directory.
pub fn folder_for<'a>(
    folder: &Path,
    dialect: Dialect,
    old: &[Store],
    new: &'a [Store],
) -> Option<&'a Path> {
    let agent = holder(folder, dialect, old)?;
    let target = new.iter().find(|store| store.agent == agent)?;
    // A flat store holds all projects.
    if target.is_flat() && folder == target.root {
        None
    } else {
        target.folders.first().map(|folder| &**folder)
    }
}

/// Returns the agent whose store holds a directory of sessions.
fn holder(folder: &Path, dialect: Dialect, stores: &[Store]) -> Option<Dialect> {
    let holds = |store: &&Store| {
        let is_below = !store.is_flat() && folder.parent() == Some(&*store.root);
        is_below || store.folders.iter().any(|own| own == folder)
    };
    // Both agents may use the same directory.
    let store = stores
        .iter()
        .filter(holds)
        .find(|store| store.agent == dialect);
    store
        .or_else(|| stores.iter().find(holds))
        .map(|store| store.agent)
}

/// Returns the directory of a session after `old` became `new`; `None` if its directory is neither
/// `old` nor below it.
pub fn cwd_after(cwd: &str, old: &Path, new: &Path, here: Here) -> Option<PathBuf> {
    if cwd.is_empty() {
        return None;
    }
    let whole = absolute(cwd, here);
    let [path, folder] = [&*whole, old].map(|path| path.as_os_str().as_encoded_bytes());
    if is_windows(folder) {
        let rest = std::str::from_utf8(below(path, folder)?).ok()?;
        // Part by part, because the new directory may be on another system.
        let parts = rest.split(['/', '\\']).filter(|part| !part.is_empty());
        return Some(parts.fold(new.to_owned(), |at, part| at.join(part)));
    }
    let rest = whole.strip_prefix(old).ok()?;
    Some(if rest.as_os_str().is_empty() {
        new.to_owned()
    } else {
        new.join(rest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projects_move_between_systems() {
        let here = Here {
            home: None,
            folder: Path::new("/h"),
        };
        let after = |cwd: &str, old: &str, new: &str| {
            cwd_after(cwd, Path::new(old), Path::new(new), here)
                .map(|path| path.display().to_string())
        };
        for (cwd, old, wanted) in [
            ("/p/x", "/p", Some("/new/x")),
            ("/p", "/p", Some("/new")),
            ("/pq", "/p", None),
            ("", "/h", None),
            (r"C:\p\x\y", r"C:\p", Some("/new/x/y")),
            (r"c:/p", r"C:\p", Some("/new")),
            (r"C:\pq", r"C:\p", None),
            (r"C:\p", "/p", None),
            ("/p", r"C:\p", None),
        ] {
            assert_eq!(
                after(cwd, old, "/new").as_deref(),
                wanted,
                "{cwd} after {old} moved"
            );
        }
    }
}
