//! The git repository of a directory: the same for all of its worktrees.

use crate::agents::stores::Disk;
use foldhash::HashMap;
use pisess_store::OnDisk;
use std::path::{Path, PathBuf};

/// Returns the main worktree of the repository that contains a directory, or the repository itself
/// if it has none. A directory that no longer exists is in the repository of its nearest ancestor
/// that exists. Each directory is looked up once: `known_repositories` is the repository of each,
/// `None` if it is in none.
pub fn repository_of(
    folder: &Path,
    known_repositories: &mut HashMap<PathBuf, Option<PathBuf>>,
) -> Option<PathBuf> {
    let find_repository = || folder.ancestors().find_map(repository_at);
    known_repositories
        .entry(folder.to_owned())
        .or_insert_with(find_repository)
        .clone()
}

/// Returns the repository whose worktree begins at a directory: the main worktree, or if there is
/// none, the directory with git's files.
///
/// `.git` is a directory in the main worktree. In another worktree, it is a file that names a
/// directory of that worktree, and `commondir` there names the one that all worktrees share.
fn repository_at(folder: &Path) -> Option<PathBuf> {
    let dot_git = folder.join(".git");
    if !folder.is_absolute() || !OnDisk.exists(&dot_git) {
        return None;
    }

    let git_folder = match OnDisk.read_small_file(&dot_git) {
        Some(_) => folder.join(read_path(&dot_git, "gitdir: ")?),
        None => dot_git,
    };
    let common_folder = match read_path(&git_folder.join("commondir"), "") {
        Some(common) => git_folder.join(common),
        None => git_folder,
    };
    let common_folder = OnDisk.resolve_links(&common_folder);
    if common_folder.ends_with(".git") {
        return common_folder.parent().map(Path::to_owned);
    }

    // The repository of a submodule is inside that of the outer project, and its configuration
    // records where the worktree is.
    match read_path(&common_folder.join("config"), "worktree = ") {
        Some(worktree) => Some(OnDisk.resolve_links(&common_folder.join(worktree))),
        None => Some(common_folder),
    }
}

/// Returns the path on the first line of a file that begins with `key`, after that key.
fn read_path(file: &Path, key: &str) -> Option<PathBuf> {
    let text = String::from_utf8(OnDisk.read_small_file(file)?).ok()?;
    text.lines()
        .find_map(|line| Some(PathBuf::from(line.trim().strip_prefix(key)?)))
}
