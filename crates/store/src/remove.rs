//! Removes files whose content is safely on disk elsewhere, in an archive (rules 3, 4 and 7).
//!
//! A session goes with the files that belong to it, in two passes:
//!
//! ```text
//!   first the session, then each companion:
//!       look ── rename ──> .pisess-….aside ── look again, until nobody has it open
//!                              └── it changed, or a later one fails: all are renamed back
//!   then each companion, and last the session: unlink
//! ```
//!
//! A file is checked once more under its hidden name. A process that opened the file before the
//! rename is seen then, and a process that looks for the file after the rename does not find it.
//!
//! The session is hidden first, so that no agent continues a session whose other files are gone.
//! Its hidden file is removed last: if it is still there later, the removal was interrupted.
//! [`hidden_path_of`] returns its path.
//!
//! Anything else that is removed, such as an archive, is a single file.

use super::append::{Attempt, Committed};
use super::error::{Action, FileChange, StoreError};
use super::files::{Files, unlink_own};
use super::lock::{Growth, Locked, WriteOptions, lock_on};
use super::publish_lock::PublishLock;
use super::rewrite::{Observed, folder_of, sync_folder};
use super::source::Source;
use super::temp::Temp;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use uuid::Uuid;

/// Returns the hidden path that a file has while it is being removed with its session. No agent
/// lists such a file, and no rewrite removes it. The name is short, so that it is valid beside any
/// file.
pub fn hidden_path_of(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    let hash = Uuid::new_v5(&Uuid::NAMESPACE_URL, name).simple();
    path.with_file_name(format!(".pisess-{hash}.aside"))
}

/// Why a session was not removed.
#[derive(Debug)]
pub struct Unremoved {
    /// What prevented it.
    pub error: StoreError,
    /// Whether all files have their names again, so that nothing has changed (rule 7).
    pub is_undone: bool,
}

impl Locked {
    /// Removes the session, and the files that belong to it. If one of the files has changed since
    /// it was read, or another process may still write to it, no file is removed.
    ///
    /// First, each file is renamed to a hidden name, and then all hidden files are removed. So an
    /// error before that can be undone, by renaming them back.
    pub fn remove_with(mut self, companions: &[&Source]) -> Result<Attempt, Unremoved> {
        let mut removal = Removal {
            files: self.files,
            hidden: Vec::new(),
        };
        match removal.hide_session(&mut self) {
            Ok(Hiding::Hidden) => {}
            // No file has been renamed yet, so there is nothing to undo.
            Ok(Hiding::HasGrown) => return Ok(Attempt::Stale(Box::new(self))),
            Err(error) => return Err(removal.undo(error)),
        }
        for companion in companions {
            if let Err(error) = removal.hide_companion(companion, &self.options) {
                return Err(removal.undo(error));
            }
        }
        Ok(Attempt::Done(removal.finish(&self.path)))
    }

    /// Removes the file. It keeps its name if it has grown or changed, if another process may still
    /// write to it, or if the system refuses. A crash may leave a hidden file, which the next
    /// rewrite of the same name removes.
    pub fn remove(mut self) -> Result<Attempt, StoreError> {
        let publish = PublishLock::take(&self)?;
        if self.check_again()? == Growth::Found {
            drop(publish);
            return Ok(Attempt::Stale(Box::new(self)));
        }
        // An empty temporary file reserves a hidden name: no other process uses the name while the
        // file is locked. The rename below replaces it by the file to remove.
        let mut reserved =
            Temp::create_beside(self.files, &self.resolved).map_err(|error| self.failed(error))?;
        self.files
            .rename(&self.resolved, &reserved.path)
            .map_err(|error| self.failed(error))?;
        // Released before the wait, which is longer than oh-my-pi waits for this lock.
        drop(publish);
        // From here on, the file to remove has that name. Dropping `reserved` must not remove it.
        reserved.disarm();

        let hidden_path = &reserved.path;
        if let Err(error) = self.wait_and_unlink(hidden_path) {
            self.files
                .rename_new(hidden_path, &self.resolved)
                .map_err(|error| StoreError::io(Action::MoveBack, hidden_path, error))?;
            return Err(error);
        }
        let mut committed = Committed::new(&self.path);
        committed.sync_folder_of(self.files, &self.resolved);
        Ok(Attempt::Done(committed))
    }

    /// Removes the file under its hidden name, once nobody can write to it.
    fn wait_and_unlink(&mut self, hidden_path: &Path) -> Result<(), StoreError> {
        self.wait_until_unused()?;
        unlink_own(self.files, hidden_path)
            .map_err(|error| StoreError::io(Action::Remove, hidden_path, error))
    }

    /// Waits until nobody has the file open for writing. It is an error if somebody wrote to it
    /// since it was read.
    fn wait_until_unused(&mut self) -> Result<(), StoreError> {
        let problem = "another process has it open, and may write to it";
        // If the error contains the one of `refuse_change`, `failed` returns that one.
        self.wait_until_closed(problem, &mut refuse_change)
            .map_err(|error| self.failed(error))
    }
}

/// Fails if the content of the file has changed since it was read. For
/// [`Locked::wait_until_closed`]: as it allows no change, it always returns that nothing has
/// changed. Its error contains a [`StoreError`].
fn refuse_change(locked: &Locked) -> io::Result<Observed> {
    match locked
        .base
        .compare_for_reading(locked.files, &locked.file)?
    {
        None => Ok(Observed::Nothing),
        Some(change) => Err(io::Error::other(locked.changed(change))),
    }
}

/// A removal of a session with its files. No handles are kept, because there may be more files than
/// a process may have open.
struct Removal {
    files: &'static dyn Files,
    /// The files that have their hidden names already. The session is the first.
    hidden: Vec<HiddenFile>,
}

/// A file under its hidden name.
struct HiddenFile {
    /// Its path before, without symbolic links.
    path: PathBuf,
    hidden_path: PathBuf,
}

/// The result of [`Removal::hide_session`].
enum Hiding {
    /// The session has its hidden name.
    Hidden,
    /// The session has grown since it was read, and has kept its name.
    HasGrown,
}

impl Removal {
    /// Gives the session its hidden name, and waits until nobody can write to it. After the rename,
    /// an error leaves it hidden: the caller calls [`Removal::undo`].
    ///
    /// The order of the steps matters: no agent may write between the check and the rename, and a
    /// process that has opened the session before the rename is found only after it.
    fn hide_session(&mut self, session: &mut Locked) -> Result<Hiding, StoreError> {
        let publish = PublishLock::take(session)?;
        if session.check_again()? == Growth::Found {
            return Ok(Hiding::HasGrown);
        }
        self.rename_to_hidden(session)?;
        // Released before the wait, which is longer than oh-my-pi waits for this lock.
        drop(publish);
        session.wait_until_unused()?;
        // Synced before any companion is hidden, so that a power failure leaves no session in its
        // place whose companions are missing.
        sync_folder(self.files, folder_of(&session.resolved))?;
        Ok(Hiding::Hidden)
    }

    /// Locks a companion, gives it its hidden name, and waits until nobody can write to it. A
    /// companion that has grown since it was opened is an error.
    fn hide_companion(
        &mut self,
        companion: &Source,
        options: &WriteOptions,
    ) -> Result<(), StoreError> {
        let mut locked = lock_on(self.files, &companion.open()?, options)?;
        if locked.check_again()? == Growth::Found {
            return Err(locked.changed(FileChange::Grown));
        }
        self.rename_to_hidden(&locked)?;
        locked.wait_until_unused()
    }

    /// Gives a locked file its hidden name, which must be free. Records both names, so that
    /// [`Removal::undo`] can rename the file back.
    fn rename_to_hidden(&mut self, locked: &Locked) -> Result<(), StoreError> {
        let path = locked.resolved.clone();
        let hidden_path = hidden_path_of(&path);
        if let Err(error) = self.files.rename_new(&path, &hidden_path) {
            return Err(match error.kind() {
                io::ErrorKind::AlreadyExists => {
                    StoreError::io(Action::SetAsideAs, &hidden_path, error)
                }
                _ => locked.failed(error),
            });
        }
        self.hidden.push(HiddenFile { path, hidden_path });
        Ok(())
    }

    /// Renames the files back, the session last.
    fn undo(self, error: StoreError) -> Unremoved {
        let mut is_undone = true;
        // In reverse: the session is the first of `hidden`.
        for file in self.hidden.iter().rev() {
            let renamed = self.files.rename_new(&file.hidden_path, &file.path);
            // The others are renamed back even if this one cannot be.
            is_undone &= renamed.is_ok();
        }
        // Synced, because the caller may remove the archive only if the files have their names for
        // certain.
        for folder in self.folders() {
            let synced = sync_folder(self.files, folder);
            is_undone &= synced.is_ok();
        }
        Unremoved { error, is_undone }
    }

    /// Removes the files, the session last. A file that cannot be removed stays hidden, and is
    /// reported in the warnings.
    fn finish(self, session: &Path) -> Committed {
        let mut committed = Committed::new(session);
        // In reverse: the session is the first of `hidden`.
        for HiddenFile { hidden_path, .. } in self.hidden.iter().rev() {
            if let Err(error) = unlink_own(self.files, hidden_path) {
                let error = StoreError::io(Action::Remove, hidden_path, error);
                committed.warnings.push(error);
            }
        }
        for folder in self.folders() {
            if let Err(error) = sync_folder(self.files, folder) {
                committed.warnings.push(error);
            }
        }
        committed
    }

    /// Returns the directories of the files, each once.
    fn folders(&self) -> BTreeSet<&Path> {
        self.hidden
            .iter()
            .map(|file| folder_of(&file.path))
            .collect()
    }
}
