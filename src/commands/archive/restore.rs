//! Moves a session from its archive back into its store.
//!
//! The archive is read to its end before anything is written. Each of its files is compared with
//! what is at the path of that file:
//!
//! | at the path | what is done |
//! | --- | --- |
//! | nothing | the file is written |
//! | nothing, but a killed `archive` left the file hidden | the hidden file is renamed back |
//! | a file that begins with the archived content: the same, or grown since | that file stays |
//! | anything else | the archive is refused |

use super::report::ArchiveResult;
use super::unpack::{OpenArchive, write_options};
use crate::cli::locate::SessionStores;
use crate::cli::options::ChangeArgs;
use crate::cli::output::{Failure, to_visible};
use crate::cli::status::Status;
use crate::ops::archive::{is_blob, is_blob_content, restore_path};
use pisess_store::{
    self as store, Cause, Committed, FileChange, Glance, Locked, Member, NewFolder, SessionFile,
    StoreError, WriteOptions, begins_with, hidden_path_of,
};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Restores a session to the path that it had, with the files that belong to it, and removes the
/// archive.
///
/// # Errors
/// If another file is at one of the paths, the archive is damaged, or writing fails. Then nothing
/// is changed.
pub fn restore_archive(
    path: &Path,
    change: &ChangeArgs,
    stores: &SessionStores,
) -> Result<ArchiveResult, Failure> {
    let open = OpenArchive::open(path, change)?;
    let session = find_session_path(&open, stores)?;
    let mut result = ArchiveResult {
        path: path.to_owned(),
        to: Some(session.clone()),
        status: Status::Planned,
        needs_recursion: false,
        facts: open.facts(),
        sizes: Some(open.sizes()),
        errors: Vec::new(),
    };
    // Another process may be about to archive the session. The locks wait until it is done, before
    // anything is decided.
    let options = write_options(change);
    let _hidden_lock = lock_hidden(&session, &options)?;
    let _session_lock = lock_in_place(&session, &options)?;
    let targets = find_targets(&open, &session, stores)?;
    compare_files(&open, &targets)?;
    if change.dry_run {
        return Ok(result);
    }

    let mut restored = RestoredFiles::default();
    if let Err(error) = restored.write_files(&open, &targets) {
        restored.undo_all();
        return Err(Failure::from_read_error(&open.name, error));
    }
    restored.keep();
    let name = open.name.clone();
    open.remove().map_err(|error| {
        let failure = Failure::from(error).after_writing(&session.to_string_lossy());
        failure.with_hint(format!("the session is restored; delete {name}"))
    })?;
    result.status = Status::Restored;
    Ok(result)
}

/// Returns the path to which the session of an archive is restored. Refuses an archive that is not
/// beside a store.
fn find_session_path(open: &OpenArchive, stores: &SessionStores) -> Result<PathBuf, Failure> {
    if let Some(session) = stores.archived_session_path(open.file.resolved()) {
        return Ok(session);
    }
    let what = format_args!("{}: it is not beside an agent's store", open.name);
    Err(Failure::invalid(what).with_hint(
        "to read the session as it is, give this path to any command; `zstd -dc` prints it",
    ))
}

/// Locks the hidden file of a session. The file is hidden while a run of `archive` removes the
/// session, or because such a run was killed. Returns `None` if there is no hidden file, or if the
/// file is gone once the lock is free.
pub(super) fn lock_hidden(
    session: &Path,
    options: &WriteOptions,
) -> Result<Option<Locked>, StoreError> {
    let file = match SessionFile::open(&hidden_path_of(session)) {
        Ok(file) => file,
        Err(error) if error.kind() == Some(io::ErrorKind::NotFound) => return Ok(None),
        Err(error) => return Err(error),
    };
    match store::lock(&file, options) {
        Ok(locked) => Ok(Some(locked)),
        // The process that held the lock has removed the session, or has put it back.
        Err(error) if matches!(error.cause, Cause::Changed(FileChange::Removed)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Locks the session at its own path; `None` if there is no file.
fn lock_in_place(session: &Path, options: &WriteOptions) -> Result<Option<Locked>, StoreError> {
    if store::is_free(session)? {
        return Ok(None);
    }
    store::lock(&SessionFile::open(session)?, options).map(Some)
}

/// A file of an archive, and the path to restore it to.
struct RestoreTarget<'a> {
    member: &'a Member,
    path: PathBuf,
    state: FileState,
}

/// Whether a file to restore exists already.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FileState {
    /// At the path to restore it to.
    InPlace,
    /// Beside that path, under the name that a killed run of `archive` gave it.
    Hidden,
    Nowhere,
}

impl RestoreTarget<'_> {
    fn hidden_path(&self) -> PathBuf {
        hidden_path_of(&self.path)
    }
}

/// Finds for each file of an archive the path to which it is restored, and whether it is there
/// already. The files are in the order of the archive. An archive is refused if it contains a file
/// whose name pisess does not write, because that file has no path.
fn find_targets<'a>(
    open: &'a OpenArchive,
    session: &Path,
    stores: &SessionStores,
) -> Result<Vec<RestoreTarget<'a>>, Failure> {
    let mut targets = Vec::new();
    for member in &open.archive.members {
        let Some(path) = restore_path(&member.name, session, stores.blobs.folder()) else {
            let failure = Failure::invalid(format_args!(
                "{}: it contains a file without a place, {:?}",
                open.name, member.name
            ));
            return Err(
                failure.with_hint("to read the session as it is, give this path to any command")
            );
        };
        let state = find_state(&path)?;
        targets.push(RestoreTarget {
            member,
            path,
            state,
        });
    }
    Ok(targets)
}

/// Finds whether a file is at its path, hidden, or nowhere. A run of `archive` hides files before
/// it removes them. If such a run was killed, and another file is at the path now, fails: only the
/// hidden file is the whole session, and neither may be replaced.
fn find_state(path: &Path) -> Result<FileState, Failure> {
    let hidden_path = hidden_path_of(path);
    let is_hidden = !store::is_free(&hidden_path)?;
    let is_in_place = !store::is_free(path)?;
    match (is_in_place, is_hidden) {
        (false, false) => Ok(FileState::Nowhere),
        (false, true) => Ok(FileState::Hidden),
        (true, false) => Ok(FileState::InPlace),
        // Where the system has no rename that never replaces, a killed run leaves both names of one
        // file.
        (true, true) if store::is_same(&hidden_path, path) => Ok(FileState::InPlace),
        (true, true) => Err(occupied_failure(path)),
    }
}

/// Reads the archive to its end, and compares its files with the files at their paths.
///
/// # Errors
/// If the archive is damaged, or a different file is at the path of one of its files.
fn compare_files(open: &OpenArchive, targets: &[RestoreTarget]) -> Result<(), Failure> {
    let mut comparison = Comparison {
        open,
        targets,
        first_failure: None,
    };
    let read = open.archive.contents(&open.file, &mut |member, content| {
        comparison.compare_file(member, content)
    });

    // Damage is reported first, because a difference may come from it.
    read.map_err(|error| Failure::from_read_error(&open.name, error))?;
    match comparison.first_failure {
        Some(failure) => Err(failure),
        None => Ok(()),
    }
}

/// A comparison of the files of an archive with those at their paths.
struct Comparison<'a, 'b> {
    open: &'a OpenArchive,
    targets: &'a [RestoreTarget<'b>],
    /// The failure of the first file that cannot be restored. It is kept until the archive is read
    /// to its end, which shows whether the archive is damaged.
    first_failure: Option<Failure>,
}

impl Comparison<'_, '_> {
    /// Compares the next file of the archive, unless an earlier one cannot be restored.
    ///
    /// # Errors
    /// Only if `content` cannot be read.
    fn compare_file(&mut self, member: &Member, content: &mut dyn Read) -> io::Result<()> {
        if self.first_failure.is_none()
            && let Some(target) = find_target(self.targets, member)
        {
            let check = check_target(self.open, target, content)?;
            self.first_failure = check.failure();
        }
        // The next file begins where this one is read to its end.
        io::copy(content, &mut io::sink())?;
        Ok(())
    }
}

/// Whether a file of an archive can be restored.
enum TargetCheck {
    Restorable,
    Refused(Failure),
}

impl TargetCheck {
    /// Returns the failure if the file cannot be restored.
    fn failure(self) -> Option<Failure> {
        match self {
            TargetCheck::Restorable => None,
            TargetCheck::Refused(failure) => Some(failure),
        }
    }
}

/// Checks whether a file of an archive can be restored. A file that exists, at its path or hidden,
/// must begin with the archived `content`. It may be longer, because an agent may have appended to
/// it since.
///
/// # Errors
/// Only if `content` cannot be read.
fn check_target(
    open: &OpenArchive,
    target: &RestoreTarget,
    content: &mut dyn Read,
) -> io::Result<TargetCheck> {
    let name = &target.member.name;
    let existing_path = match target.state {
        FileState::Nowhere => return check_new_file(open, name, content),
        // The name of a blob is the hash of its content, so the existing file is the same.
        FileState::InPlace if is_blob(name) => return Ok(TargetCheck::Restorable),
        FileState::InPlace => target.path.clone(),
        FileState::Hidden => target.hidden_path(),
    };
    // A file that cannot be opened counts as a different one.
    let is_same = match Glance::open(&existing_path) {
        Ok(file) => begins_with(&file, content)?,
        Err(_) => false,
    };
    if is_same {
        Ok(TargetCheck::Restorable)
    } else {
        Ok(TargetCheck::Refused(occupied_failure(&existing_path)))
    }
}

/// Checks whether a file that does not exist yet can be written. A blob must have the hash that is
/// its name, because sessions refer to it by the hash.
fn check_new_file(
    open: &OpenArchive,
    name: &str,
    content: &mut dyn Read,
) -> io::Result<TargetCheck> {
    if !is_blob(name) || is_blob_content(name, content)? {
        return Ok(TargetCheck::Restorable);
    }
    let archive = &open.name;
    let what = format_args!("{archive}: the content of {name} has another hash");
    let failure = Failure::invalid(what).with_path(archive);
    let hint = "to read the session as it is, give this path to any command";
    Ok(TargetCheck::Refused(failure.with_hint(hint)))
}

fn occupied_failure(path: &Path) -> Failure {
    let path = to_visible(&path.to_string_lossy());
    let failure = Failure::invalid(format_args!("{path} exists already")).with_path(path);
    failure.with_hint("move that file away first")
}

fn find_target<'a, 'b>(
    targets: &'a [RestoreTarget<'b>],
    member: &Member,
) -> Option<&'a RestoreTarget<'b>> {
    targets.iter().find(|target| target.member == member)
}

/// The changes made so far, which are undone if one of them fails (rule 7 of the store).
#[derive(Default)]
struct RestoredFiles {
    written: Vec<PathBuf>,
    renamed: Vec<PathBuf>,
    folders: Vec<NewFolder>,
}

impl RestoredFiles {
    /// Puts all files of an archive at their paths, the session last. Then removes the hidden names
    /// that a killed run of `archive` has left.
    fn write_files(&mut self, open: &OpenArchive, targets: &[RestoreTarget]) -> io::Result<()> {
        open.archive.contents(&open.file, &mut |member, content| {
            if let Some(target) = find_target(targets, member) {
                self.put_file(target, content).map_err(io::Error::other)?;
            }
            // The next file begins where this one is read to its end.
            io::copy(content, &mut io::sink())?;
            Ok(())
        })?;
        remove_second_names(targets)
    }

    /// Puts one file at its path. A hidden file is renamed; a file that does not exist is written
    /// with the archived content. A file at its path stays.
    fn put_file(
        &mut self,
        target: &RestoreTarget,
        content: &mut dyn Read,
    ) -> Result<(), StoreError> {
        let path = &target.path;
        match target.state {
            FileState::InPlace => Ok(()),
            FileState::Hidden => {
                let committed = store::rename_new(&target.hidden_path(), path)?;
                self.renamed.push(path.clone());
                require_synced(committed)
            }
            FileState::Nowhere => {
                let folder = path.parent().unwrap_or(Path::new("/"));
                self.folders.push(NewFolder::make(folder)?);
                let committed = store::restore(path, target.member, &mut |out| {
                    io::copy(content, out).map(drop)
                })?;
                self.written.push(path.clone());
                require_synced(committed)
            }
        }
    }

    /// Undoes the changes, the last one first. Errors are ignored: a change that remains is a whole
    /// file, and the archive still exists.
    fn undo_all(mut self) {
        for path in self.written.iter().rev() {
            let _ = store::remove(path);
        }
        for path in self.renamed.iter().rev() {
            let _ = store::rename_new(path, &hidden_path_of(path));
        }
        // Dropping a `NewFolder` removes it. The last one made is dropped first, because it may be
        // inside an earlier one.
        while self.folders.pop().is_some() {}
    }

    fn keep(self) {
        for folder in self.folders {
            folder.keep();
        }
    }
}

/// Removes the hidden name of each file that also has its own name. Where the system has no rename
/// that never replaces a file, a run of `archive` that is killed while it hides a file leaves both.
fn remove_second_names(targets: &[RestoreTarget]) -> io::Result<()> {
    for target in targets {
        let hidden_path = target.hidden_path();
        if target.state == FileState::InPlace && store::is_same(&hidden_path, &target.path) {
            store::remove(&hidden_path).map_err(io::Error::other)?;
        }
    }
    Ok(())
}

/// Fails if a file may not be on disk yet: the archive must not be removed before the file is.
fn require_synced(mut committed: Committed) -> Result<(), StoreError> {
    match committed.warnings.pop() {
        Some(unsynced) => Err(unsynced),
        None => Ok(()),
    }
}
