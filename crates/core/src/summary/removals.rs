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
                self.drop_empty_lists();
                self.shown_present.push(change.clone());
            }
        }
    }

    /// Adds a removal. If the same path was removed before, as far as is known, both are one.
    fn add(&mut self, mut removed: RemovedPath, is_folder_known: bool, run_index: usize) {
        let mut path = Path::new(&removed.folder).join(&removed.path);
        removed.is_certain &= is_folder_known || path.is_absolute();
        // The shell would replace these.
        let is_expanded = [&removed.folder, &removed.path]
            .iter()
            .any(|part| part.starts_with(['~', '$']));
        if removed.is_certain && !is_expanded {
            path = self.cwd.join(path);
        }
        let absolute = path.is_absolute().then(|| normalize_path(&path));

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

    fn drop_empty_lists(&mut self) {
        self.by_name.retain(|_, removals| !removals.is_empty());
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

    /// Whether a text names such a path.
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
        text.split(|c| !is_in_path(c)).any(|word| {
            let word = word.trim_end_matches('.');
            // A word without these may have another meaning than that of a path.
            word.contains(['/', '.']) && self.contain_since(word, first_run)
        })
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

/// Returns the names in a path, and the empty one: see [`name_of`].
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
        (true, true) | (false, false) => {
            let rest = path.strip_prefix(removed);
            rest.is_some_and(starts_with_name_end)
        }
        (true, false) => path.match_indices('/').any(|(slash, _)| {
            let rest = path[slash + 1..].strip_prefix(removed);
            rest.is_some_and(starts_with_name_end)
        }),
        // Only the removed path itself can be recognized, not what is below it.
        (false, true) => {
            let folder = removed.strip_suffix(path);
            folder.is_some_and(|folder| folder.ends_with('/'))
        }
    }
}

/// Whether the name before `rest` ends there: `src/older` is not below `src/old`.
fn starts_with_name_end(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with('/')
}

/// Returns a path without `./` at its start and `/` at its end.
fn bare_path(path: &str) -> &str {
    path.trim_start_matches("./").trim_end_matches('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn removed(path: &str, folder: &str) -> PathChange {
        PathChange::Removed(RemovedPath {
            path: path.to_owned(),
            folder: folder.to_owned(),
            is_certain: true,
        })
    }

    #[test]
    fn a_removal_is_certain_only_where_its_directory_is_known() {
        let is_certain = |change: &PathChange, path: &str| {
            let mut removals = Removals::default();
            removals.apply(change, true, 0);
            removals.certainly_contain(path, "/src")
        };
        for (path, folder, file) in [
            ("a.rs", "", "/src/a.rs"),
            ("a.rs", "", "a.rs"),
            ("../a.rs", "docs/old", "docs/a.rs"),
            ("docs", "", "/src/docs/a.rs"),
            ("a.rs", "/src/docs", "docs/a.rs"),
        ] {
            assert!(is_certain(&removed(path, folder), file), "{path}");
        }
        for (path, folder, file) in [
            ("README.md", "", "/src/docs/README.md"),
            ("README.md", "/tmp/t", "/src/docs/README.md"),
            ("README.md", "/tmp/t", "README.md"),
            ("README.md", "~", "README.md"),
            ("README.md", "$TMP", "README.md"),
            ("doc", "", "docs/a.rs"),
        ] {
            assert!(!is_certain(&removed(path, folder), file), "{path}");
        }

        // An earlier command may have changed to another directory.
        let mut removals = Removals::default();
        removals.apply(&removed("a.rs", ""), false, 0);
        removals.apply(&removed("b.rs", "/src"), false, 0);
        assert!(!removals.certainly_contain("a.rs", "/src"));
        assert!(removals.certainly_contain("b.rs", "/src"));
        // Another file of this name was removed.
        removals.apply(&removed("README.md", "/tmp/t"), true, 0);
        assert!(!removals.contain("/src/docs/README.md"));
    }

    /// `mv notes.md /tmp/` writes another file of this name.
    #[test]
    fn an_absolute_path_is_compared_from_the_directory_of_the_session() {
        for (folder, path, is_same) in [
            ("", "/tmp/notes.md", false),
            ("", "/src/notes.md", true),
            ("", "/src/docs/../notes.md", true),
            ("docs", "/src/docs/notes.md", true),
            ("docs", "/src/notes.md", false),
            ("~", "/home/ada/notes.md", true),
        ] {
            let mut removals = Removals::in_folder("/src");
            removals.apply(&removed("notes.md", folder), true, 0);
            assert_eq!(removals.contain(path), is_same, "{path}");
            removals.restore(path);
            assert_eq!(removals.is_empty(), is_same, "{path}");
        }
        // The command may have run in any directory.
        let mut removals = Removals::in_folder("/src");
        removals.apply(&removed("notes.md", ""), false, 0);
        assert!(removals.contain("/tmp/notes.md"));
    }

    /// What is removed again later is one removal, of the last call.
    #[test]
    fn removals_are_found_from_a_call_on() {
        let mut removals = Removals::default();
        removals.apply(&removed("docs/a.md", ""), true, 2);
        removals.apply(&removed("b.md", ""), true, 3);
        removals.apply(&removed("docs/a.md", ""), true, 5);
        assert!(removals.are_named_since("python docs/a.md", 5));
        assert!(!removals.are_named_since("python docs/a.md", 6));
        assert!(removals.are_named_since("python b.md", 3));
        assert!(!removals.are_named_since("python b.md", 4));
    }

    #[test]
    fn any_path_may_be_below_one_without_a_name() {
        let mut removals = Removals::in_folder("/src/docs");
        removals.apply(&removed("../docs/..", ""), true, 0);
        assert!(removals.contain("/src/a.md"));
        assert!(removals.certainly_contain("a.md", "/src/docs"));
        assert!(!removals.contain("/lib/a.md"));
    }

    #[test]
    fn what_a_command_writes_or_restores_is_there() {
        let written = |path: &str| PathChange::Written(path.to_owned());
        let restored = |path: &str| PathChange::Restored(path.to_owned());
        for (change, path, is_there) in [
            (written("a.rs"), "/src/a.rs", true),
            (written("/src/a.rs"), "a.rs", true),
            (written("docs/a.rs"), "docs", true),
            (written("docs"), "docs/a.rs", false),
            (restored("docs/"), "/src/docs/a.rs", true),
            (restored("."), "/src/docs/a.rs", true),
            (restored("main"), "/src/docs/a.rs", false),
        ] {
            let mut removals = Removals::default();
            removals.apply(&removed(path, ""), true, 0);
            removals.apply(&change, true, 0);
            assert_eq!(removals.have_restored(path), is_there, "{change:?} {path}");
            assert_eq!(removals.contain(path), !is_there, "{change:?} {path}");
        }
    }

    #[test]
    fn a_path_is_gone_with_its_directory_until_it_is_written_again() {
        let mut removals = Removals::default();
        for path in ["./src/old/", "/home/ada/ledger/notes.md"] {
            removals.apply(&removed(path, ""), true, 0);
        }
        for path in [
            "src/old",
            "src/old/a.ts",
            "/home/ada/ledger/src/old/a.ts",
            "notes.md",
            "/home/ada/ledger/notes.md",
        ] {
            assert!(removals.contain(path), "{path}");
        }
        for path in ["src/older.ts", "src", "lib/src/old", "my-notes.md"] {
            assert!(!removals.contain(path), "{path}");
        }
        removals.apply(&removed("a/a", ""), true, 0);
        assert!(removals.contain("/aa/a/a"));
        assert!(!removals.contain("/aa/a"));
        assert!(removals.are_named_in("keep `src/old/a.ts`, it is used."));
        assert!(!removals.are_named_in("the old one is in src."));

        removals.restore("src/old/a.ts");
        assert!(!removals.contain("src/old/a.ts"));
        assert!(removals.contain("notes.md"));
    }
}
