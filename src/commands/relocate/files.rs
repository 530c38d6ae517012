//! Moves the files of a session: all of them, or none.

use crate::cli::open::Input;
use crate::cli::output::{Failure, to_visible};
use crate::ops::archive::session_folder;
use crate::ops::prune::pruned_file;
use pisess_store::{self as store, Committed, NewFolder, StoreError};
use std::path::{Path, PathBuf};

/// A file or directory, and its new path.
pub struct FileMove {
    pub from: PathBuf,
    pub to: PathBuf,
}

/// The error for files that were not moved.
pub struct MoveError {
    pub error: StoreError,
    /// Whether all files have their old paths, so that nothing has changed.
    pub is_undone: bool,
}

/// Plans the moves of a session's files: its own directory and SESSION.pruned, if they exist, and
/// the session itself. The session is moved last, so that an interrupted run can be repeated. If
/// the path does not change, there are no moves.
///
/// # Errors
/// If it cannot be determined whether a file exists: it might be left behind.
pub fn plan_file_moves(old: &Path, new: &Path) -> Result<Vec<FileMove>, StoreError> {
    let mut moves = Vec::new();
    if old == new {
        return Ok(moves);
    }

    if let (Some(from), Some(to)) = (session_folder(old), session_folder(new))
        && !store::is_free(&from)?
    {
        moves.push(FileMove { from, to });
    }
    let old_pruned_file = pruned_file(old);
    if !store::is_free(&old_pruned_file)? {
        moves.push(FileMove {
            from: old_pruned_file,
            to: pruned_file(new),
        });
    }
    moves.push(FileMove {
        from: old.to_owned(),
        to: new.to_owned(),
    });
    Ok(moves)
}

/// Fails if another file is at a new path. The same file may be there: an interrupted move may have
/// left it with both names.
pub fn refuse_occupied(moves: &[FileMove], input: &Input) -> Result<(), Failure> {
    for FileMove { from, to } in moves {
        if !store::is_free(to)? && !store::is_same(from, to) {
            let to = to_visible(&to.to_string_lossy());
            return Err(input
                .failure(format_args!("{to} exists already"))
                .with_hint("move that file away first"));
        }
    }
    Ok(())
}

/// Moves the files. Their new paths are all in one directory, which is made if it is missing. If a
/// file cannot be moved, the files before it are moved back, and a new directory is removed.
pub fn move_all(moves: &[FileMove]) -> Result<Vec<Committed>, MoveError> {
    let Some(folder) = moves.last().and_then(|last| last.to.parent()) else {
        return Ok(Vec::new());
    };
    let folder = NewFolder::make(folder).map_err(|error| MoveError {
        error,
        is_undone: true,
    })?;
    let mut moved = Vec::new();
    for FileMove { from, to } in moves {
        match store::rename_new(from, to) {
            Ok(committed) => moved.push(committed),
            Err(error) => {
                let is_undone = move_back(&moves[..moved.len()]);
                return Err(MoveError { error, is_undone });
            }
        }
    }
    folder.keep();
    Ok(moved)
}

/// Moves files back, the last one first. A file that cannot be moved back does not stop the others.
/// Returns whether all of them have their old paths.
fn move_back(moves: &[FileMove]) -> bool {
    let mut is_undone = true;
    for FileMove { from, to } in moves.iter().rev() {
        is_undone &= store::rename_new(to, from).is_ok();
    }
    is_undone
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn plan_file_moves_fails_if_a_file_cannot_be_examined() {
        let folder = tempfile::tempdir().unwrap();
        let [old, new] = ["old", "new"].map(|name| folder.path().join(name));
        std::fs::create_dir(&old).unwrap();
        let session = old.join("s.jsonl");
        assert_eq!(
            plan_file_moves(&session, &new.join("s.jsonl"))
                .unwrap()
                .len(),
            1
        );
        std::fs::write(old.join("s.jsonl.pruned"), "").unwrap();
        assert_eq!(
            plan_file_moves(&session, &new.join("s.jsonl"))
                .unwrap()
                .len(),
            2
        );
        // Nothing can be looked at behind a link to itself.
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&link, &link).unwrap();
        assert!(plan_file_moves(&link.join("s.jsonl"), &new.join("s.jsonl")).is_err());
    }
}
