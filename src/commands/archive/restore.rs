//! Moves a session from its archive back into its store.
//!
//! The archive is read to its end before anything is written, and each of its files is compared
//! with what is in its place:
//!
//! | in its place | what is done |
//! | --- | --- |
//! | nothing | it is written |
//! | nothing, but a run of `archive` that was killed left the file hidden | the file is renamed back |
//! | a file that begins with it: the same, or one that has grown since | that file stays |
//! | anything else | the archive is refused |

use super::report::ArchiveResult;
use super::unpack::{OpenArchive, options};
use crate::cli::locate::Places;
use crate::cli::options::ChangeArgs;
use crate::cli::output::{Failure, visible};
use crate::cli::status::Status;
use crate::ops::archive::{is_blob, is_blob_content, place_of};
use pisess_store::{
    self as store, Cause, Committed, FileChange, Glance, Locked, Member, NewFolder, SessionFile,
    StoreError, WriteOptions, aside_of, begins_with,
};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Restores a session to the path that it had, with the files that belong to it.
///
/// # Errors
/// If a path is occupied, the archive is damaged, or writing fails. Nothing is changed then.
pub fn restore(
    path: &Path,
    change: &ChangeArgs,
    places: &Places,
) -> Result<ArchiveResult, Failure> {
    let open = OpenArchive::open(path, change)?;
    let Some(session) = places.session_of(open.file.resolved()) else {
        return Err(Failure::cannot(format_args!(
            "{}: it is not beside an agent's store",
            open.name
        ))
        .hint(
            "to read the session as it is, give this path to any command; `zstd -dc` prints it",
        ));
    };
    let sizes = Some(open.sizes());
    let result = |status| ArchiveResult {
        path: path.to_owned(),
        to: Some(session.clone()),
        status,
        sizes,
        troubles: Vec::new(),
    };
    // Another process may be about to archive the session: that is over before anything is decided.
    let options = options(change);
    let _hidden = lock_hidden(&session, &options)?;
    let _in_place = lock_in_place(&session, &options)?;
    let targets = targets(&open, &session, places)?;
    compare(&open, &targets)?;
    if change.dry_run {
        return Ok(result(Status::Planned));
    }
    let mut restoring = Restoring::default();
    if let Err(error) = restoring.write(&open, &targets) {
        restoring.undo();
        return Err(Failure::copying(&open.name, error));
    }
    restoring.keep();
    let name = open.name.clone();
    open.remove().map_err(|error| {
        let failure = Failure::from(error).after_writing(&session.to_string_lossy());
        failure.hint(format!("the session is restored; delete {name}"))
    })?;
    Ok(result(Status::Restored))
}

/// Locks the hidden file of a session that a run of `archive` is removing, or was when it was
/// killed. Returns `None` if there is none, or none any more.
pub(super) fn lock_hidden(
    session: &Path,
    options: &WriteOptions,
) -> Result<Option<Locked>, StoreError> {
    let file = match SessionFile::open(&aside_of(session)) {
        Err(error) if error.kind() == Some(io::ErrorKind::NotFound) => return Ok(None),
        file => file?,
    };
    match store::lock(&file, options) {
        // The process that held the lock has removed the session, or has put it back.
        Err(StoreError {
            cause: Cause::Changed(FileChange::Removed),
            ..
        }) => Ok(None),
        locked => locked.map(Some),
    }
}

fn lock_in_place(session: &Path, options: &WriteOptions) -> Result<Option<Locked>, StoreError> {
    if store::is_free(session)? {
        return Ok(None);
    }
    store::lock(&SessionFile::open(session)?, options).map(Some)
}

/// A file of an archive, and where it belongs.
struct Target<'a> {
    member: &'a Member,
    place: PathBuf,
    state: State,
}

/// Where a file is now.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    InPlace,
    Hidden,
    Nowhere,
}

impl Target<'_> {
    fn aside(&self) -> PathBuf {
        aside_of(&self.place)
    }
}

/// Returns where the files of an archive belong, in the order of the archive.
fn targets<'a>(
    open: &'a OpenArchive,
    session: &Path,
    places: &Places,
) -> Result<Vec<Target<'a>>, Failure> {
    let mut targets = Vec::new();
    for member in &open.archive.members {
        let Some(place) = place_of(&member.name, session, places.blobs.as_deref()) else {
            let failure = Failure::cannot(format_args!(
                "{}: it contains a file without a place, {:?}",
                open.name, member.name
            ));
            return Err(failure.hint("to read the session as it is, give this path to any command"));
        };
        let state = state_of(&place)?;
        targets.push(Target {
            member,
            place,
            state,
        });
    }
    Ok(targets)
}

fn state_of(place: &Path) -> Result<State, Failure> {
    let aside = aside_of(place);
    let is_hidden = !store::is_free(&aside)?;
    if store::is_free(place)? {
        return Ok(if is_hidden {
            State::Hidden
        } else {
            State::Nowhere
        });
    }
    // Without a rename that never replaces, a kill leaves both names of one file.
    if is_hidden && !store::is_same(&aside, place) {
        return Err(occupied(&aside));
    }
    Ok(State::InPlace)
}

/// Reads the archive to its end, and compares its files with those that are there.
///
/// # Errors
/// If the archive is damaged, or another file is in the place of one of them.
fn compare(open: &OpenArchive, targets: &[Target]) -> Result<(), Failure> {
    let mut failure = None;
    let compared = open.archive.contents(&open.file, &mut |member, content| {
        if failure.is_none()
            && let Some(target) = target_of(targets, member)
        {
            failure = refusal(open, target, content)?;
        }
        io::copy(content, &mut io::sink()).map(drop)
    });
    compared.map_err(|error| Failure::reading(&open.name, error))?;
    match failure {
        Some(failure) => Err(failure),
        None => Ok(()),
    }
}

/// Returns why a file of an archive cannot be restored, if it cannot.
fn refusal(
    open: &OpenArchive,
    target: &Target,
    content: &mut dyn Read,
) -> io::Result<Option<Failure>> {
    let name = &target.member.name;
    let there = match target.state {
        // A blob has the hash of its content as its name, so it is the same.
        State::InPlace if is_blob(name) => return Ok(None),
        State::InPlace => target.place.clone(),
        State::Hidden => target.aside(),
        State::Nowhere if is_blob(name) && !is_blob_content(name, content)? => {
            let failure = Failure::cannot(format_args!(
                "{}: the content of {name} has another hash",
                open.name
            ));
            let hint = "to read the session as it is, give this path to any command";
            return Ok(Some(failure.path(&open.name).hint(hint)));
        }
        State::Nowhere => return Ok(None),
    };
    let is_same = match Glance::open(&there) {
        Ok(file) => begins_with(&file, content)?,
        Err(_) => false,
    };
    Ok((!is_same).then(|| occupied(&there)))
}

fn occupied(path: &Path) -> Failure {
    let path = visible(&path.to_string_lossy());
    let failure = Failure::cannot(format_args!("{path} exists already")).path(path);
    failure.hint("move that file away first")
}

fn target_of<'a, 'b>(targets: &'a [Target<'b>], member: &Member) -> Option<&'a Target<'b>> {
    targets.iter().find(|target| target.member == member)
}

/// What was changed so far, to be undone if something fails (rule 7 of the store).
#[derive(Default)]
struct Restoring {
    written: Vec<PathBuf>,
    renamed: Vec<PathBuf>,
    folders: Vec<NewFolder>,
}

impl Restoring {
    /// Puts the files in their places that are not there, last the session.
    fn write(&mut self, open: &OpenArchive, targets: &[Target]) -> io::Result<()> {
        open.archive.contents(&open.file, &mut |member, content| {
            if let Some(target) = target_of(targets, member) {
                self.put(target, content).map_err(io::Error::other)?;
            }
            io::copy(content, &mut io::sink()).map(drop)
        })?;
        for target in targets {
            let aside = target.aside();
            if target.state == State::InPlace && store::is_same(&aside, &target.place) {
                store::remove(&aside).map_err(io::Error::other)?;
            }
        }
        Ok(())
    }

    fn put(&mut self, target: &Target, content: &mut dyn Read) -> Result<(), StoreError> {
        let place = &target.place;
        match target.state {
            State::InPlace => Ok(()),
            State::Hidden => {
                let committed = store::rename_new(&target.aside(), place)?;
                self.renamed.push(place.clone());
                synced(committed)
            }
            State::Nowhere => {
                let folder = place.parent().unwrap_or(Path::new("/"));
                self.folders.push(NewFolder::make(folder)?);
                let committed = store::restore(place, target.member, &mut |out| {
                    io::copy(content, out).map(drop)
                })?;
                self.written.push(place.clone());
                synced(committed)
            }
        }
    }

    /// Undoes what was changed. What cannot be undone is a whole file, and its archive is still
    /// there.
    fn undo(mut self) {
        for place in self.written.iter().rev() {
            let _ = store::remove(place);
        }
        for place in self.renamed.iter().rev() {
            let _ = store::rename_new(place, &aside_of(place));
        }
        // A directory is removed before the one that it is in.
        while self.folders.pop().is_some() {}
    }

    fn keep(self) {
        for folder in self.folders {
            folder.keep();
        }
    }
}

/// The archive is removed only if its files are certainly on the disk.
fn synced(mut committed: Committed) -> Result<(), StoreError> {
    match committed.troubles.pop() {
        Some(unsynced) => Err(unsynced),
        None => Ok(()),
    }
}
