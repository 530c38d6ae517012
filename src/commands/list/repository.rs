//! Finds the git repository of a directory. It is the same for all worktrees of the repository.

use crate::agents::stores::Disk;
use foldhash::HashMap;
use pisess_store::OnDisk;
use std::path::{Path, PathBuf};

/// Returns the main worktree of the repository that contains `folder`; for a bare repository, the
/// repository itself. `None` if the directory is in no repository.
///
/// A directory that no longer exists is in the repository of its nearest existing ancestor.
/// `known_repositories` caches the result for each directory.
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

/// Returns the repository whose worktree begins at `folder`: its main worktree, or the directory of
/// git's files if there is none.
///
/// In the main worktree, `.git` is a directory. In another worktree, `.git` is a file that names a
/// directory for that worktree. The file `commondir` in it names the directory that all worktrees
/// share.
fn repository_at(folder: &Path) -> Option<PathBuf> {
    let dot_git = folder.join(".git");
    if !folder.is_absolute() || !OnDisk.exists(&dot_git) {
        return None;
    }

    // A directory cannot be read as a file.
    let is_file = OnDisk.read_small_file(&dot_git).is_some();
    let git_folder = if is_file {
        folder.join(read_path(&dot_git, "gitdir: ")?)
    } else {
        dot_git
    };
    // The main worktree has no `commondir`: its directory is the shared one.
    let shared_folder = match read_path(&git_folder.join("commondir"), "") {
        Some(relative) => git_folder.join(relative),
        None => git_folder,
    };
    let common_folder = OnDisk.resolve_links(&shared_folder);
    if common_folder.ends_with(".git") {
        return common_folder.parent().map(Path::to_owned);
    }

    // A submodule's repository is inside the repository of the outer project, and its configuration
    // has the path of the worktree.
    match read_path(&common_folder.join("config"), "worktree = ") {
        Some(worktree) => Some(OnDisk.resolve_links(&common_folder.join(worktree))),
        None => Some(common_folder),
    }
}

/// Returns the path in the first line of a file that begins with `key`, without the key.
fn read_path(file: &Path, key: &str) -> Option<PathBuf> {
    let text = String::from_utf8(OnDisk.read_small_file(file)?).ok()?;
    text.lines()
        .find_map(|line| Some(PathBuf::from(line.trim().strip_prefix(key)?)))
}
