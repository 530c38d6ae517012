//! The git repository of a directory: the same for all of its worktrees.

use crate::agents::stores::Disk;
use foldhash::HashMap;
use pisess_store::OnDisk;
use std::path::{Path, PathBuf};

/// Returns the main worktree of the repository that contains a directory, or the repository itself
/// if it has none. For a directory that no longer exists, the nearest one above it decides. Each
/// directory is looked up once: `known_repositories` is the repository of each, `None` if it is in
/// none.
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

/// Returns the repository whose worktree begins at a directory.
fn repository_at(folder: &Path) -> Option<PathBuf> {
    let link = folder.join(".git");
    if !folder.is_absolute() || !OnDisk.exists(&link) {
        return None;
    }
    let read_path = |file: &Path, key: &str| {
        let text = String::from_utf8(OnDisk.text(file)?).ok()?;
        text.lines()
            .find_map(|line| Some(PathBuf::from(line.trim().strip_prefix(key)?)))
    };
    // `.git` of a further worktree is a file that names a directory, in which `commondir` names
    // that of the repository.
    let git_folder = match OnDisk.text(&link) {
        Some(_) => folder.join(read_path(&link, "gitdir: ")?),
        None => link,
    };
    let common_folder = read_path(&git_folder.join("commondir"), "")
        .map_or_else(|| git_folder.clone(), |common| git_folder.join(common));
    let common = OnDisk.real(&common_folder);
    if common.ends_with(".git") {
        return common.parent().map(Path::to_owned);
    }
    // The repository of a submodule is in that of the project above, and records where the worktree
    // is.
    let worktree = read_path(&common.join("config"), "worktree = ");
    Some(worktree.map_or_else(
        || common.clone(),
        |worktree| OnDisk.real(&common.join(worktree)),
    ))
}
