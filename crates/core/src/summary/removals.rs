//! Paths that were removed, renamed or moved during a session: what names them is out of date.

use super::path_changes::PathChange;
use crate::agents::stores::normalize_path;
use foldhash::HashMap;
use std::path::{Path, PathBuf};

/// The paths that are no longer there, and those that commands wrote or restored.
#[derive(Clone, Debug, Default)]
pub struct Removals {
    /// The removals by the name of the file or directory. A path can only be at or below one whose
    /// name is among its own names, so few of them are compared. See [`name_of`].
    by_name: HashMap<String, Vec<Removal>>,
    /// All writes and restorations of paths, even of paths that were removed later.
    shown_present: Vec<PathChange>,
    /// The directory of the session; empty if it is not known.
    cwd: PathBuf,
}

/// A path that was removed, renamed or moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RemovedPath {
    /// The path as the command wrote it.
    pub path: String,
    /// The directory that the command line changed to before; empty if it did not.
    pub folder: String,
    /// Whether the command ran in any case. In a [`Removal`], also whether the directory in which
    /// it ran is known: that of the session, unless the joined path is absolute.
    pub is_certain: bool,
}

/// The removal of a path, and when it was.
#[derive(Clone, Debug)]
struct Removal {
    removed: RemovedPath,
    /// The path from the root, if it is known.
    absolute: Option<PathBuf>,
    /// The index of the last call that removed it.
    run_index: usize,
}

impl Removal {
    /// Whether a path is the removed one or below it, as far as is known: see [`is_below`].
    fn has_below(&self, path: &str) -> bool {
        match &self.absolute {
            Some(removed) if path.starts_with('/') => {
                normalize_path(Path::new(path)).starts_with(removed)
            }
            _ => is_below(path, &self.removed.path),
        }
    }
}

impl Removals {
    /// Returns no removals yet of a session in the directory `cwd`.
    pub(super) fn in_folder(cwd: &str) -> Removals {
        Removals {
            cwd: PathBuf::from(cwd),
            ..Removals::default()
        }
    }

    /// Applies what the command of the call `run_index` changed. Calls come in order. Without
    /// `is_folder_known`, it may have run in any directory.
    pub(super) fn apply(&mut self, change: &PathChange, is_folder_known: bool, run_index: usize) {
        match change {
            PathChange::Removed(removed) => self.add(removed.clone(), is_folder_known, run_index),
            PathChange::Written(written) => {
                self.restore(written);
                self.shown_present.push(change.clone());
            }
            PathChange::Restored(_) => {
                for removals in self.by_name.values_mut() {
                    removals.retain(|removal| !is_there_after(&removal.removed.path, change));
                }
                self.by_name.retain(|_, removals| !removals.is_empty());
                self.shown_present.push(change.clone());
            }
        }
    }

    /// Adds a removal. If the same path was removed before, as far as is known, both are one.
    fn add(&mut self, mut removed: RemovedPath, is_folder_known: bool, run_index: usize) {
        let path = Path::new(&removed.folder).join(&removed.path);
        removed.is_certain &= is_folder_known || path.is_absolute();
        let absolute = self.absolute_path(&removed, &path);

        let name = name_of(&removed.path).to_owned();
        let removals = self.by_name.entry(name).or_default();
        for known in removals.iter_mut() {
            let is_same = known.removed.path == removed.path
                && known.removed.folder == removed.folder
                && known.absolute == absolute;
            if is_same {
                known.removed.is_certain |= removed.is_certain;
                known.run_index = run_index;
                return;
            }
        }
        removals.push(Removal {
            removed,
            absolute,
            run_index,
        });
    }

    /// Returns the path from the root to a removed one, if it is known. `path` is the removed path
    /// with its folder.
    fn absolute_path(&self, removed: &RemovedPath, path: &Path) -> Option<PathBuf> {
        // The shell replaces `~` and variables, so the path is not what the command says.
        let is_expanded = |part: &str| part.starts_with(['~', '$']);
        let is_as_written = !is_expanded(&removed.folder) && !is_expanded(&removed.path);
        let from_root = if removed.is_certain && is_as_written {
            self.cwd.join(path)
        } else {
            path.to_owned()
        };
        from_root.is_absolute().then(|| normalize_path(&from_root))
    }

    /// Forgets the removal of a path that is there again, and those of the directories above it:
    /// they are there again, too.
    pub(super) fn restore(&mut self, path: &str) {
        for name in names_of(path) {
            let Some(removals) = self.by_name.get_mut(name) else {
                continue;
            };
            removals.retain(|removal| !removal.has_below(path));
            if removals.is_empty() {
                self.by_name.remove(name);
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// Whether a path was most likely removed, or is below a directory that was.
    pub fn contain(&self, path: &str) -> bool {
        self.contain_since(path, 0)
    }

    /// Whether one of the calls from `first_run` on most likely removed a path, or a directory
    /// above it.
    fn contain_since(&self, path: &str, first_run: usize) -> bool {
        self.candidates_for(path)
            .any(|removal| removal.run_index >= first_run && removal.has_below(path))
    }

    /// Whether a path was certainly removed, or is below a directory that was. Relative paths are
    /// those from `cwd`, the directory of the session.
    pub fn certainly_contain(&self, path: &str, cwd: &str) -> bool {
        let path = normalize_path(&Path::new(cwd).join(path));
        let path_text = path.to_string_lossy();
        self.candidates_for(&path_text).any(|removal| {
            let removed = &removal.removed;
            let from_cwd = Path::new(cwd).join(&removed.folder).join(&removed.path);
            removed.is_certain && path.starts_with(normalize_path(&from_cwd))
        })
    }

    /// Returns the removals of the names in a path.
    fn candidates_for(&self, path: &str) -> impl Iterator<Item = &Removal> {
        names_of(path)
            .filter_map(|name| self.by_name.get(name))
            .flatten()
    }

    /// Whether a command ever wrote or restored a path, even if it was removed afterwards.
    pub fn have_restored(&self, path: &str) -> bool {
        self.shown_present
            .iter()
            .any(|change| is_there_after(path, change))
    }

    /// Whether a text names a path that was removed, or one below it.
    pub(super) fn are_named_in(&self, text: &str) -> bool {
        self.are_named_since(text, 0)
    }

    /// Whether a text names a path that one of the calls from `first_run` on removed.
    ///
    /// Whether a path is still gone depends on the calls after its removal, not on those before
    /// `first_run`. So one collection of the removals of all calls answers for any `first_run`.
    pub(super) fn are_named_since(&self, text: &str, first_run: usize) -> bool {
        if self.is_empty() {
            return false;
        }
        let is_in_path = |c: char| c.is_alphanumeric() || "/._-@+~".contains(c);
        for word in text.split(|c| !is_in_path(c)) {
            // At the end, a dot is most likely that of the sentence.
            let path = word.trim_end_matches('.');
            // A word without these may have another meaning than that of a path.
            let may_be_path = path.contains(['/', '.']);
            if may_be_path && self.contain_since(path, first_run) {
                return true;
            }
        }
        false
    }
}

/// Returns the last name of a path. It is empty if the path does not end with a name, as `..` and
/// `/`: any path may be below that one.
fn name_of(path: &str) -> &str {
    let name = bare_path(path).rsplit('/').next().unwrap_or_default();
    if name == "." || name == ".." {
        ""
    } else {
        name
    }
}

/// Returns the names in a path, and the empty one, under which the removals of `..` and `/` are
/// kept: see [`name_of`].
fn names_of(path: &str) -> impl Iterator<Item = &str> {
    let names = path.split('/').filter(|name| !name.is_empty());
    names.chain([""])
}

/// Whether a path is there after a change, if it is a file. A directory is there if something in it
/// is.
fn is_there_after(path: &str, change: &PathChange) -> bool {
    match change {
        PathChange::Removed(_) => false,
        PathChange::Written(written) => is_below(written, path),
        PathChange::Restored(restored) => {
            let restored = bare_path(restored);
            restored == "." || is_below(restored, path) || is_below(path, restored)
        }
    }
}

/// Whether a path is a removed one or below it.
///
/// The directory to which a relative path belongs is not known here. So `src/old` also matches at
/// any depth of an absolute path: `/home/ada/src/old/a.ts` is below it.
fn is_below(path: &str, removed: &str) -> bool {
    let path = bare_path(path);
    let removed = bare_path(removed);
    if removed.is_empty() || path.is_empty() {
        return false;
    }

    match (path.starts_with('/'), removed.starts_with('/')) {
        (true, true) | (false, false) => is_at_or_below(path, removed),
        (true, false) => {
            let mut slashes = path.match_indices('/');
            slashes.any(|(slash, _)| is_at_or_below(&path[slash + 1..], removed))
        }
        // Only the removed path itself can be recognized, not what is below it.
        (false, true) => {
            let folder = removed.strip_suffix(path);
            folder.is_some_and(|folder| folder.ends_with('/'))
        }
    }
}

/// Whether a path begins with the names of another one: `src/old/a.ts` is below `src/old`, but
/// `src/older` is not.
fn is_at_or_below(path: &str, removed: &str) -> bool {
    match path.strip_prefix(removed) {
        Some(rest) => rest.is_empty() || rest.starts_with('/'),
        None => false,
    }
}

/// Returns a path without `./` at its start and `/` at its end.
fn bare_path(path: &str) -> &str {
    path.trim_start_matches("./").trim_end_matches('/')
}
