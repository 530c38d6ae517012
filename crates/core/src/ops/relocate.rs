//! Moves a session to another project directory: its header, and its place in the agents' stores.

use crate::agents::stores::{BaseDirs, Store, resolve_user_path};
use crate::session::Header;
use crate::session::dialect::Dialect;
use crate::session::entry::Span;
use crate::session::paths::{is_windows_absolute, strip_folder};
use pisess_json::Raw;
use pisess_json::edit::Edit;
use pisess_json::string::encode_to_vec;
use pisess_json::text::Text;
use pisess_json::write::text_array;
use pisess_store::{ReadAt, copy_range};
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A member of a header, with its new value as JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderChange {
    key: &'static str,
    value: Vec<u8>,
}

/// Returns the changes to the header of a session that moves: its working directory, and for
/// oh-my-pi the former paths of the session, as that agent records them. `old` is the path that it
/// has now, if that changes.
pub fn header_changes_for_move(
    header: &Header,
    dialect: Dialect,
    cwd: &Path,
    old_path: Option<&Path>,
) -> Vec<HeaderChange> {
    let mut changes = vec![HeaderChange {
        key: "cwd",
        value: encode_to_vec(&Text::from(&*cwd.to_string_lossy())),
    }];
    if let Some(old) = old_path
        && dialect == Dialect::OhMyPi
    {
        let json = Raw::from_checked(&header.bytes);
        let mut files: Vec<Text> = Vec::new();
        if let Some(former) = json.get("previousSessionFiles") {
            files.extend(former.items().filter_map(Raw::text));
        }
        let old = Text::from(old.to_string_lossy().into_owned());
        // An interrupted run may have recorded it already.
        if files.last() != Some(&old) {
            files.push(old);
        }
        changes.push(HeaderChange {
            key: "previousSessionFiles",
            value: text_array(&files),
        });
    }
    changes
}

/// Returns the change to the header of a fork whose source moved.
pub fn parent_session_change(source: &Path) -> HeaderChange {
    HeaderChange {
        key: "parentSession",
        value: encode_to_vec(&Text::from(&*source.to_string_lossy())),
    }
}

/// Returns the bytes of a header after changes.
pub fn apply_header_changes(header: &Header, changes: &[HeaderChange]) -> io::Result<Vec<u8>> {
    let mut edit = Edit::new(&header.bytes)?;
    for change in changes {
        edit.set(change.key, &change.value);
    }
    Ok(edit.finish())
}

/// Writes a session with other bytes in the place of its header; all others are unchanged.
pub fn write_with_header(
    header_span: &Span,
    new_header: &[u8],
    source: &dyn ReadAt,
    out: &mut dyn Write,
) -> io::Result<()> {
    copy_range(source, 0..header_span.start, out)?;
    out.write_all(new_header)?;
    copy_range(source, header_span.end()..source.len(), out)
}

/// Returns the directory in which the agent looks for sessions of the new project; `None` if the
/// session stays where it is, because it is in no store or in a flat one. `old` and `new` are the
/// stores as seen from the old and the new working directory.
pub fn find_project_folder<'a>(
    folder: &Path,
    dialect: Dialect,
    old: &[Store],
    new: &'a [Store],
) -> Option<&'a Path> {
    let agent = find_store_agent(folder, dialect, old)?;
    let target = new.iter().find(|store| store.agent == agent)?;
    // A flat store holds all projects.
    if target.is_flat() && folder == target.root {
        return None;
    }
    target.folders.first().map(PathBuf::as_path)
}

/// Returns the agent whose store holds a directory of sessions.
fn find_store_agent(folder: &Path, dialect: Dialect, stores: &[Store]) -> Option<Dialect> {
    let mut holders = Vec::new();
    for store in stores {
        let is_below_root = !store.is_flat() && folder.parent() == Some(&*store.root);
        if is_below_root || store.folders.iter().any(|own| own == folder) {
            holders.push(store.agent);
        }
    }
    // Both agents may use the same directory: then it is the session's own agent.
    if holders.contains(&dialect) {
        return Some(dialect);
    }
    holders.first().copied()
}

/// Whether a path in a store may be, contain, or lie in a directory with sessions of the project
/// from which the stores are seen, or of a directory below it: their names begin alike.
pub fn may_hold_sessions(path: &Path, stores: &[Store]) -> bool {
    stores.iter().any(|store| {
        let Ok(below) = path.strip_prefix(&store.root) else {
            return store.root.starts_with(path);
        };
        let Some(name) = below.iter().next() else {
            return true;
        };
        store.is_flat()
            || store
                .folders
                .iter()
                .any(|folder| is_named_after(name, folder))
    })
}

/// Whether a directory of a store has the name of a project's directory, or of one below it:
/// `--p--` and `--p-sub--`, but not `--pq--`.
fn is_named_after(name: &OsStr, project: &Path) -> bool {
    let project = project.file_name().unwrap_or_default().as_encoded_bytes();
    let start = project.strip_suffix(b"--").unwrap_or(project);
    match name.as_encoded_bytes().strip_prefix(start) {
        Some(rest) => rest.is_empty() || rest.starts_with(b"-"),
        None => false,
    }
}

/// Returns the directory of a session after `old` became `new`; `None` if its directory is neither
/// `old` nor below it.
pub fn moved_cwd(cwd: &str, old: &Path, new: &Path, here: BaseDirs) -> Option<PathBuf> {
    if cwd.is_empty() {
        return None;
    }
    let absolute_cwd = resolve_user_path(cwd, here);
    let old_bytes = old.as_os_str().as_encoded_bytes();
    if is_windows_absolute(old_bytes) {
        let rest = strip_folder(absolute_cwd.as_os_str().as_encoded_bytes(), old_bytes)?;
        let rest = std::str::from_utf8(rest).ok()?;
        // Part by part, because the new directory may be on another system.
        let mut cwd = new.to_owned();
        for part in rest.split(['/', '\\']) {
            if !part.is_empty() {
                cwd.push(part);
            }
        }
        return Some(cwd);
    }

    let rest = absolute_cwd.strip_prefix(old).ok()?;
    if rest.as_os_str().is_empty() {
        // Joined to nothing, it would end with a slash.
        return Some(new.to_owned());
    }
    Some(new.join(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn may_hold_accepts_directories_of_a_project() {
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
            assert_eq!(may_hold_sessions(Path::new(path), stores), wanted, "{path}");
        }
    }

    #[test]
    fn projects_move_between_systems() {
        let here = BaseDirs {
            home: None,
            cwd: Path::new("/h"),
        };
        let after = |cwd: &str, old: &str, new: &str| {
            moved_cwd(cwd, Path::new(old), Path::new(new), here)
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
