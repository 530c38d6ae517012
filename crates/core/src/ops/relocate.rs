//! Supports moving a session to another project directory: changes its header, and finds its new
//! place in the agents' stores.

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

/// The new value, as JSON, of a member of a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderChange {
    key: &'static str,
    value: Vec<u8>,
}

/// Returns the changes to the header of a session that moves to the working directory `cwd`.
/// `old_path` is the current path of the file; `None` if the file does not move. oh-my-pi records
/// former paths in the header, so for oh-my-pi, `old_path` is added to these.
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
    if let Some(old_path) = old_path
        && dialect == Dialect::OhMyPi
    {
        changes.push(former_path_change(header, old_path));
    }
    changes
}

/// Returns the change that adds `old_path` to the former paths in oh-my-pi's header.
fn former_path_change(header: &Header, old_path: &Path) -> HeaderChange {
    let json = Raw::from_checked(&header.bytes);
    let mut former_paths: Vec<Text> = Vec::new();
    if let Some(recorded) = json.get("previousSessionFiles") {
        former_paths.extend(recorded.items().filter_map(Raw::text));
    }
    let newest_path = Text::from(old_path.to_string_lossy().into_owned());
    // A run that was killed before it moved the file may have recorded this path already.
    if former_paths.last() != Some(&newest_path) {
        former_paths.push(newest_path);
    }
    HeaderChange {
        key: "previousSessionFiles",
        value: text_array(&former_paths),
    }
}

/// Returns the change to the header of a fork whose source moved to this path.
pub fn parent_session_change(source: &Path) -> HeaderChange {
    HeaderChange {
        key: "parentSession",
        value: encode_to_vec(&Text::from(&*source.to_string_lossy())),
    }
}

/// Returns the header line after these changes.
pub fn apply_header_changes(header: &Header, changes: &[HeaderChange]) -> io::Result<Vec<u8>> {
    let mut edit = Edit::new(&header.bytes)?;
    for change in changes {
        edit.set(change.key, &change.value);
    }
    Ok(edit.finish())
}

/// Writes a session with `new_header` in place of its header, which is at `header_span`. All other
/// bytes are unchanged.
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

/// Returns the directory in which the agent looks for sessions of the new project. `None` if the
/// session stays in its directory. A store is a directory with all sessions of an agent; most have
/// a directory for each project.
///
/// `folder` is the directory of the session file. `old_stores` are the stores for the old working
/// directory, and `new_stores` those for the new one.
pub fn find_project_folder<'a>(
    folder: &Path,
    dialect: Dialect,
    old_stores: &[Store],
    new_stores: &'a [Store],
) -> Option<&'a Path> {
    // A session that is in no store stays where the user has put it.
    let agent = find_store_agent(folder, dialect, old_stores)?;
    let target = new_stores.iter().find(|store| store.agent == agent)?;
    // A flat store has the sessions of all projects in one directory.
    if target.is_flat() && folder == target.root {
        return None;
    }
    target.folders.first().map(PathBuf::as_path)
}

/// Returns the agent whose store contains this directory of sessions; `None` if none does. If the
/// stores of several agents contain it, returns `dialect`, the session's own agent, if that is one
/// of them.
fn find_store_agent(folder: &Path, dialect: Dialect, stores: &[Store]) -> Option<Dialect> {
    let mut agents = Vec::new();
    for store in stores {
        // A store that is not flat has a directory for each project directly below its root.
        let is_below_root = !store.is_flat() && folder.parent() == Some(&*store.root);
        let is_of_project = store.folders.iter().any(|own| own == folder);
        if is_below_root || is_of_project {
            agents.push(store.agent);
        }
    }
    if agents.contains(&dialect) {
        return Some(dialect);
    }
    agents.first().copied()
}

/// Whether sessions of a project, or of a directory below the project, may be at, below or above a
/// path.
///
/// `stores` are the stores for the project. Only names of directories are compared; nothing is
/// read.
pub fn may_hold_sessions(path: &Path, stores: &[Store]) -> bool {
    stores.iter().any(|store| may_hold_sessions_of(path, store))
}

/// Whether sessions in this store that are of its project may be at, below or above a path: see
/// [`may_hold_sessions`].
fn may_hold_sessions_of(path: &Path, store: &Store) -> bool {
    let Ok(path_in_store) = path.strip_prefix(&store.root) else {
        // The path may contain the whole store.
        return store.root.starts_with(path);
    };
    let Some(folder_name) = path_in_store.iter().next() else {
        // The path is the root of the store.
        return true;
    };
    // A flat store has no directories for projects, so any file in it may be of this project.
    store.is_flat()
        || store
            .folders
            .iter()
            .any(|folder| is_named_after(folder_name, folder))
}

/// Whether the name of a directory in a store is that for a project, or for a directory below the
/// project. For the project `--p--`, these are `--p--` and `--p-sub--`, but not `--pq--`.
fn is_named_after(name: &OsStr, project_folder: &Path) -> bool {
    let project_name = project_folder.file_name().unwrap_or_default();
    let name_bytes = project_name.as_encoded_bytes();
    // Some names have `--` behind the encoded path.
    let prefix = name_bytes.strip_suffix(b"--").unwrap_or(name_bytes);
    match name.as_encoded_bytes().strip_prefix(prefix) {
        Some(suffix) => suffix.is_empty() || suffix.starts_with(b"-"),
        None => false,
    }
}

/// Returns the new working directory of a session after the directory `old` was moved to `new`:
/// `/old/src` -> `/new/src`. `None` if `cwd` is neither `old` nor below it. A relative `cwd` is
/// resolved against `here`. `old` may be a directory of Windows, for a session from another
/// machine.
///
/// If `new` is below `old`, because the files of `/p` were moved to `/p/app`, sessions of `new` and
/// below it stay: they are from after the move, or were moved before. Otherwise, a repeated command
/// would move them to `/p/app/app`.
pub fn moved_cwd(cwd: &str, old: &Path, new: &Path, here: BaseDirs) -> Option<PathBuf> {
    if cwd.is_empty() {
        return None;
    }
    let absolute_cwd = resolve_user_path(cwd, here);
    if is_windows_absolute(old.as_os_str().as_encoded_bytes()) {
        return moved_windows_path(&absolute_cwd, old, new);
    }
    let below_old = absolute_cwd.strip_prefix(old).ok()?;
    let is_new_below_old = new != old && new.starts_with(old);
    if is_new_below_old && absolute_cwd.starts_with(new) {
        return None;
    }
    if below_old.as_os_str().is_empty() {
        // `join` with an empty path would add a slash at the end.
        return Some(new.to_owned());
    }
    Some(new.join(below_old))
}

/// Does the same as [`moved_cwd`] for paths of Windows. They are joined part by part, because the
/// new directory may be on a system with another separator.
fn moved_windows_path(path: &Path, old: &Path, new: &Path) -> Option<PathBuf> {
    let path_bytes = path.as_os_str().as_encoded_bytes();
    let below_old = strip_folder(path_bytes, old.as_os_str().as_encoded_bytes())?;
    let below_old = std::str::from_utf8(below_old).ok()?;
    let mut moved = new.to_owned();
    for part in below_old.split(['/', '\\']) {
        if !part.is_empty() {
            moved.push(part);
        }
    }
    Some(moved)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_of_a_new_directory_below_the_old_one_stay() {
        let here = BaseDirs {
            home: None,
            cwd: Path::new("/"),
        };
        for (cwd, old, new, wanted) in [
            ("/p", "/p", "/p/app", Some("/p/app")),
            ("/p/src", "/p", "/p/app", Some("/p/app/src")),
            ("/p/apple", "/p", "/p/app", Some("/p/app/apple")),
            ("/p/app", "/p", "/p/app", None),
            ("/p/app/src", "/p", "/p/app", None),
            ("/p/app", "/p/app", "/p", Some("/p")),
            ("/p", "/p", "/p", Some("/p")),
        ] {
            let moved = moved_cwd(cwd, Path::new(old), Path::new(new), here);
            assert_eq!(moved.as_deref(), wanted.map(Path::new), "{cwd}");
        }
    }

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
