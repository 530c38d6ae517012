//! The git repository of a directory: the same for all of its worktrees.

use crate::agents::stores::Disk;
use foldhash::HashMap;
use pisess_store::OnDisk;
use std::path::{Path, PathBuf};

/// Returns the main worktree of the repository that contains a directory, or the repository itself
/// if it has none. For a directory that no longer exists, the nearest one above it decides. Each
/// directory is looked up once: `known` is the repository of each, `None` if it is in none.
pub fn repository_of(
    folder: &Path,
    known: &mut HashMap<PathBuf, Option<PathBuf>>,
) -> Option<PathBuf> {
    let look = || folder.ancestors().find_map(repository);
    known.entry(folder.to_owned()).or_insert_with(look).clone()
}

/// Returns the repository whose worktree begins at a directory.
fn repository(folder: &Path) -> Option<PathBuf> {
    let link = folder.join(".git");
    if !folder.is_absolute() || !OnDisk.exists(&link) {
        return None;
    }
    let path_in = |file: &Path, key: &str| {
        let text = String::from_utf8(OnDisk.text(file)?).ok()?;
        text.lines()
            .find_map(|line| Some(PathBuf::from(line.trim().strip_prefix(key)?)))
    };
    // `.git` of a further worktree is a file that names a directory, in which `commondir` names
    // that of the repository.
    let own = match OnDisk.text(&link) {
        Some(_) => folder.join(path_in(&link, "gitdir: ")?),
        None => link,
    };
    let common =
        path_in(&own.join("commondir"), "").map_or_else(|| own.clone(), |common| own.join(common));
    let common = OnDisk.real(&common);
    if common.ends_with(".git") {
        return common.parent().map(Path::to_owned);
    }
    // The repository of a submodule is in that of the project above, and records where the worktree
    // is.
    let worktree = path_in(&common.join("config"), "worktree = ");
    Some(worktree.map_or_else(
        || common.clone(),
        |worktree| OnDisk.real(&common.join(worktree)),
    ))
}
