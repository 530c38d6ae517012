//! Moves a session to another project directory: its header, and its place in the agents' stores.

use crate::agents::stores::{Here, Store, resolve_user_path};
use crate::session::Header;
use crate::session::dialect::Dialect;
use crate::session::entry::Span;
use crate::session::paths::{below, is_windows};
use pisess_json::edit::Edit;
use pisess_json::string::encoded;
use pisess_json::text::Text;
use pisess_json::write::texts;
use pisess_store::{ReadAt, copy_range};
use std::ffi::OsStr;
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

/// Returns the bytes of a header in which members have new values.
pub fn changed_header(header: &Header, members: &[(&str, Vec<u8>)]) -> io::Result<Vec<u8>> {
    let mut edit = Edit::new(&header.bytes)?;
    for (key, value) in members {
        edit.set(key, value);
    }
    Ok(edit.finish())
}

/// Writes a session with other bytes in the place of its header; all others are unchanged.
pub fn write_with(
    header: &Span,
    bytes: &[u8],
    source: &dyn ReadAt,
    out: &mut dyn Write,
) -> io::Result<()> {
    copy_range(source, 0..header.start, out)?;
    out.write_all(bytes)?;
    copy_range(source, header.end()..source.len(), out)
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

/// Whether a path in a store may be, contain, or lie in a directory with sessions of the project from
/// which the stores are seen, or of a directory below it: their names begin alike.
pub fn may_hold(path: &Path, stores: &[Store]) -> bool {
    stores.iter().any(|store| {
        let Ok(below) = path.strip_prefix(&store.root) else {
            return store.root.starts_with(path);
        };
        let Some(name) = below.iter().next() else {
            return true;
        };
        store.is_flat() || store.folders.iter().any(|folder| is_of(name, folder))
    })
}

/// Whether a directory of a store has the name of a project's directory, or of one below it:
/// `--p--` and `--p-sub--`, but not `--pq--`.
fn is_of(name: &OsStr, project: &Path) -> bool {
    let project = project.file_name().unwrap_or_default().as_encoded_bytes();
    let start = project.strip_suffix(b"--").unwrap_or(project);
    let rest = name.as_encoded_bytes().strip_prefix(start);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"-"))
}

/// Returns the directory of a session after `old` became `new`; `None` if its directory is neither
/// `old` nor below it.
pub fn cwd_after(cwd: &str, old: &Path, new: &Path, here: Here) -> Option<PathBuf> {
    if cwd.is_empty() {
        return None;
    }
    let whole = resolve_user_path(cwd, here);
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
    fn what_may_hold_sessions_of_a_project() {
        let store = |agent, folder: &str| Store {
            agent,
            root: PathBuf::from("/s"),
            folders: vec![PathBuf::from(folder)],
        };
        let pi = [store(Dialect::Pi, "/s/--p--")];
        let omp = [store(Dialect::OhMyPi, "/s/-p")];
        let flat = [store(Dialect::Pi, "/s")];
        for (path, stores, wanted) in [
            ("/s/--p--", &pi, true),
            ("/s/--p--/x.jsonl", &pi, true),
            ("/s/--p-sub--", &pi, true),
            ("/s/--pq--", &pi, false),
            ("/s/--q--/x.jsonl", &pi, false),
            ("/s/-p-sub/x", &omp, true),
            ("/s/-pq", &omp, false),
            ("/s/-q/x.jsonl", &flat, true),
            ("/s", &pi, true),
            ("/", &pi, true),
            ("/elsewhere", &pi, false),
        ] {
            assert_eq!(may_hold(Path::new(path), stores), wanted, "{path}");
        }
    }

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
