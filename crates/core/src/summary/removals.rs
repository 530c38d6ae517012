//! Paths that were removed, renamed or moved during a session: what names them is out of date.

use super::path_changes::PathChange;
use crate::agents::stores::normalize_path;
use std::path::{Path, PathBuf};

/// The paths that are no longer there, and those that commands wrote or restored.
#[derive(Clone, Debug, Default)]
pub struct Removals {
    removed: Vec<RemovedPath>,
    /// The paths that are there again, each as a change.
    present: Vec<PathChange>,
}

/// A path that was removed, renamed or moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RemovedPath {
    /// The path as the command wrote it.
    pub path: String,
    /// The directory that the command line changed to before; empty if it did not.
    pub folder: String,
    /// Whether the command was run, and in the session's directory unless `folder` is absolute.
    pub is_certain: bool,
}

impl RemovedPath {
    /// Returns the path from the root if it is known without the session's directory.
    fn absolute(&self) -> Option<PathBuf> {
        let path = Path::new(&self.folder).join(&self.path);
        path.is_absolute().then(|| normalize_path(&path))
    }

    /// Whether a path is the removed one or below it, as far as is known: see [`is_below`].
    fn has_below(&self, path: &str) -> bool {
        match self.absolute() {
            Some(removed) if path.starts_with('/') => Path::new(path).starts_with(removed),
            _ => is_below(path, bare_path(&self.path)),
        }
    }
}

impl Removals {
    /// Applies what a command changed. Without `is_certain`, it may have run in any directory.
    pub(super) fn apply(&mut self, change: &PathChange, is_certain: bool) {
        match change {
            PathChange::Removed(removed) => {
                let mut removed = removed.clone();
                removed.is_certain &= is_certain || removed.absolute().is_some();
                self.removed.push(removed);
            }
            PathChange::Written(_) | PathChange::Restored(_) => {
                self.removed
                    .retain(|removed| !is_there_after(&removed.path, change));
                self.present.push(change.clone());
            }
        }
    }

    /// Forgets the removal of a path that is there again, and those of the directories above it:
    /// they are there again, too.
    pub(super) fn restore(&mut self, path: &str) {
        self.removed
            .retain(|removed| !is_below(path, bare_path(&removed.path)));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.removed.is_empty()
    }

    /// Whether a path was most likely removed, or is below a directory that was.
    pub fn contain(&self, path: &str) -> bool {
        self.removed.iter().any(|removed| removed.has_below(path))
    }

    /// Whether a path was certainly removed, or is below a directory that was. Relative paths are
    /// those from `cwd`, the directory of the session.
    pub fn certainly_contain(&self, path: &str, cwd: &str) -> bool {
        let path = normalize_path(&Path::new(cwd).join(path));
        self.removed.iter().any(|removed| {
            let from_cwd = Path::new(cwd).join(&removed.folder).join(&removed.path);
            removed.is_certain && path.starts_with(normalize_path(&from_cwd))
        })
    }

    /// Whether a command wrote or restored a path.
    pub fn have_restored(&self, path: &str) -> bool {
        self.present
            .iter()
            .any(|change| is_there_after(path, change))
    }

    /// Whether a text names such a path.
    pub(super) fn are_named_in(&self, text: &str) -> bool {
        if self.removed.is_empty() {
            return false;
        }
        let is_in_path = |c: char| c.is_alphanumeric() || "/._-@+~".contains(c);
        text.split(|c| !is_in_path(c)).any(|word| {
            let word = word.trim_end_matches('.');
            // A word without these may have another meaning than that of a path.
            word.contains(['/', '.']) && self.contain(word)
        })
    }
}

/// Whether a path is there after a change, if it is a file. A directory is there if something in it
/// is.
fn is_there_after(path: &str, change: &PathChange) -> bool {
    match change {
        PathChange::Removed(_) => false,
        PathChange::Written(written) => is_below(written, bare_path(path)),
        PathChange::Restored(restored) => {
            let restored = bare_path(restored);
            restored == "." || is_below(restored, bare_path(path)) || is_below(path, restored)
        }
    }
}

/// Whether a path is a removed one or below it. `removed` is without `./` and a slash at its end.
///
/// The directory to which a relative path belongs is not known here. So `src/old` also matches at
/// any depth of an absolute path: `/home/ada/src/old/a.ts` is below it.
fn is_below(path: &str, removed: &str) -> bool {
    let path = bare_path(path);
    if removed.is_empty() || path.is_empty() {
        return false;
    }

    // With a slash at the end of both, `src/older` is not below `src/old`.
    let path_slash = format!("{path}/");
    let removed_slash = format!("{removed}/");
    match (path.starts_with('/'), removed.starts_with('/')) {
        (true, true) | (false, false) => path_slash.starts_with(&removed_slash),
        (true, false) => path_slash.contains(&format!("/{removed_slash}")),
        // Only the removed path itself can be recognized, not what is below it.
        (false, true) => removed_slash.ends_with(&format!("/{path_slash}")),
    }
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
            removals.apply(change, true);
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
        removals.apply(&removed("a.rs", ""), false);
        removals.apply(&removed("b.rs", "/src"), false);
        assert!(!removals.certainly_contain("a.rs", "/src"));
        assert!(removals.certainly_contain("b.rs", "/src"));
        // Another file of this name was removed.
        removals.apply(&removed("README.md", "/tmp/t"), true);
        assert!(!removals.contain("/src/docs/README.md"));
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
            removals.apply(&removed(path, ""), true);
            removals.apply(&change, true);
            assert_eq!(removals.have_restored(path), is_there, "{change:?} {path}");
            assert_eq!(removals.contain(path), !is_there, "{change:?} {path}");
        }
    }

    #[test]
    fn a_path_is_gone_with_its_directory_until_it_is_written_again() {
        let mut removals = Removals::default();
        for path in ["./src/old/", "/home/ada/ledger/notes.md"] {
            removals.apply(&removed(path, ""), true);
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
        assert!(removals.are_named_in("keep `src/old/a.ts`, it is used."));
        assert!(!removals.are_named_in("the old one is in src."));

        removals.restore("src/old/a.ts");
        assert!(!removals.contain("src/old/a.ts"));
        assert!(removals.contain("notes.md"));
    }
}
