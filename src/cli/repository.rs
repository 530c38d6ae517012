//! The git repository of a directory: the same for all of its worktrees.

use crate::agents::stores::Disk;
use foldhash::HashMap;
use pisess_store::OnDisk;
use std::path::{Path, PathBuf};

/// The repository of each directory that was looked up; `None` if it is in none.
pub type Repositories = HashMap<PathBuf, Option<PathBuf>>;

/// Returns the main worktree of the repository that contains a directory, or the repository itself if it has none. For a
/// directory that no longer exists, the nearest one above it decides. Each directory is looked up once.
pub fn repository_of(folder: &Path, known: &mut Repositories) -> Option<PathBuf> {
    let look = || folder.ancestors().find_map(|folder| repository(folder, &OnDisk));
    known.entry(folder.to_owned()).or_insert_with(look).clone()
}

/// Returns the repository whose worktree begins at a directory.
fn repository(folder: &Path, disk: &dyn Disk) -> Option<PathBuf> {
    let link = folder.join(".git");
    if !folder.is_absolute() || !disk.exists(&link) {
        return None;
    }
    let path_in = |file: &Path, key: &str| {
        let text = String::from_utf8(disk.text(file)?).ok()?;
        text.lines().find_map(|line| Some(PathBuf::from(line.trim().strip_prefix(key)?)))
    };
    // `.git` of a further worktree is a file that names a directory, in which `commondir` names that of the repository.
    let own = match disk.text(&link) {
        Some(_) => folder.join(path_in(&link, "gitdir: ")?),
        None => link,
    };
    let common = path_in(&own.join("commondir"), "").map_or_else(|| own.clone(), |common| own.join(common));
    let common = disk.real(&common);
    if common.ends_with(".git") {
        return common.parent().map(Path::to_owned);
    }
    // The repository of a submodule is in that of the project above, and records where the worktree is.
    let worktree = path_in(&common.join("config"), "worktree = ");
    Some(worktree.map_or_else(|| common.clone(), |worktree| disk.real(&common.join(worktree))))
}
