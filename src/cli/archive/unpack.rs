//! Moves a session from its archive back into its store, and deletes archives.

use super::{ArchiveResult, Archived};
use crate::cli::locate::Places;
use crate::cli::options::ChangeArgs;
use crate::cli::output::{Failure, Ui, visible};
use crate::cli::status::Status;
use crate::load::names::{NameError, choose};
use crate::ops::archive::{Facts, is_blob, place_of};
use pisess_store::{
    self as store, Archive, Attempt, Locked, Member, NewFolder, ReadAt, SessionFile, StoreError,
    WriteOptions, is_content,
};
use std::io;
use std::path::{Path, PathBuf};

/// Returns the archive that an argument names: its path, or the path, the id or the name of the
/// session.
pub fn chosen(argument: &Path, places: &Places, ui: &mut Ui) -> Result<PathBuf, Failure> {
    if store::modified(argument).is_some() {
        return Ok(ui.absolute(argument));
    }
    // The path that the session had.
    if let (Some(folder), Some(name)) = (argument.parent(), argument.file_name())
        && let Some(archive) = places.archive_of(&ui.absolute(folder).join(name))
        && archive.exists()
    {
        return Ok(archive);
    }
    let name = argument.to_string_lossy();
    let mut known = Vec::new();
    for path in places.archived(true)? {
        match Archived::read(&path) {
            Ok(Archived { facts, .. }) => known.push(facts.known(path)),
            Err(failure) => ui.warn(&failure.line()),
        }
    }
    let found = choose(&name, [known]);
    let stored = found.is_err().then(|| places.named(&name).ok()).flatten();
    found.map_err(|error| match error {
        NameError::Unknown { near, name } if near.is_empty() || stored.is_some() => {
            let failure = match &stored {
                Some(path) => {
                    Failure::cannot(format_args!("{name} is not archived: {}", path.display()))
                }
                None => Failure::cannot(format_args!(
                    "{name}: no archived session has that id or name"
                )),
            };
            failure.hint("`pisess archive --list --all` lists the archived sessions")
        }
        error => Failure::cannot(&error).hint(error.hint()),
    })
}

struct OpenArchive {
    name: String,
    file: SessionFile,
    archive: Archive,
    locked: Locked,
}

impl OpenArchive {
    fn open(path: &Path, change: &ChangeArgs) -> Result<OpenArchive, Failure> {
        let name = visible(&path.to_string_lossy());
        let file = SessionFile::open(path)?;
        let mut locked = store::lock(&file, &options(change))?;
        // On overlayfs, the lock may have copied the file.
        let file = if locked.is_stale() {
            locked.reopen()?
        } else {
            file
        };
        let archive = Archive::read(&file).map_err(|error| Failure::reading(&name, error))?;
        let Some(archive) = archive else {
            let failure = Failure::cannot(format_args!("{name} is not an archive")).path(&name);
            return Err(failure.hint(
                "`pisess archive --list --all` lists the archives, whose names end in .zst; `pisess prune --restore` puts back what was pruned from a session",
            ));
        };
        Ok(OpenArchive {
            name,
            file,
            archive,
            locked,
        })
    }

    fn remove(self) -> Result<(), StoreError> {
        self.locked.remove().and_then(Attempt::done).map(drop)
    }

    fn bytes(&self) -> (u64, u64) {
        (
            self.archive.members.iter().map(|member| member.size).sum(),
            self.file.len(),
        )
    }
}

/// Returns the options of the store for an archive, which no agent has open: `--force` only
/// prevents the question.
fn options(change: &ChangeArgs) -> WriteOptions {
    WriteOptions {
        wait: change.wait,
        ..WriteOptions::default()
    }
}

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
    let bytes = Some(open.bytes());
    let result = |status| ArchiveResult {
        path: path.to_owned(),
        to: Some(session.clone()),
        status,
        bytes,
    };
    let members = &open.archive.members;
    let place = |member: &Member| place_of(&member.name, &session, places.blobs.as_deref());
    if let Some(Member { name, .. }) = members.iter().find(|member| place(member).is_none()) {
        let failure = Failure::cannot(format_args!(
            "{}: it contains a file without a place, {name:?}",
            open.name
        ));
        return Err(failure.hint("to read the session as it is, give this path to any command"));
    }
    // If the session is there, too, it may be about to be archived: that is over before anything is
    // decided.
    let there = store::modified(&session)
        .map(|_| SessionFile::open(&session))
        .transpose()?;
    let _held = there
        .as_ref()
        .map(|there| store::lock(there, &options(change)))
        .transpose()?;
    let missing = missing(&open, &place)?;
    if change.dry_run {
        return Ok(result(Status::Planned));
    }
    let (mut files, mut folders) = (Vec::new(), Vec::new());
    let written = open.archive.contents(&open.file, &mut |member, content| {
        let Some(target) = place(member).filter(|_| missing.contains(&member)) else {
            return io::copy(content, &mut io::sink()).map(drop);
        };
        folders.push(
            NewFolder::make(target.parent().unwrap_or(Path::new("/"))).map_err(io::Error::other)?,
        );
        let mut committed =
            store::restore(&target, member, &mut |out| io::copy(content, out).map(drop))
                .map_err(io::Error::other)?;
        files.push(target);
        committed
            .troubles
            .pop()
            .map_or(Ok(()), |unsynced| Err(io::Error::other(unsynced)))
    });
    if let Err(error) = written {
        // Rule 7 of the store. What cannot be removed is a whole file, and its archive is still
        // there.
        files
            .into_iter()
            .rev()
            .for_each(|file| drop(store::remove(&file)));
        // A directory is removed before the one that it is in.
        while folders.pop().is_some() {}
        return Err(Failure::copying(&open.name, error));
    }
    folders.into_iter().for_each(NewFolder::keep);
    let name = open.name.clone();
    open.remove().map_err(|error| {
        let failure = Failure::from(error).after_writing(&session.to_string_lossy());
        failure.hint(format!("the session is restored; delete {name}"))
    })?;
    Ok(result(Status::Restored))
}

/// Reads the archive to its end, so that a damaged one is refused before anything is written, and
/// returns the files to be written. One that is there with the same content was written by a run
/// that was killed, or is a blob that another session uses, too.
fn missing<'a>(
    open: &'a OpenArchive,
    place: &dyn Fn(&Member) -> Option<PathBuf>,
) -> Result<Vec<&'a Member>, Failure> {
    let is_there =
        |member: &&Member| place(member).is_some_and(|place| place.symlink_metadata().is_ok());
    let (there, missing): (Vec<_>, Vec<_>) = open.archive.members.iter().partition(is_there);
    let mut occupied = None;
    let compared = open.archive.contents(&open.file, &mut |member, content| {
        let is_compared = there.contains(&member) && !is_blob(&member.name);
        if let Some(target) = place(member).filter(|_| is_compared) {
            let file = SessionFile::open(&target);
            if !file.is_ok_and(|file| is_content(&file, content).unwrap_or(false)) {
                occupied = Some(target);
            }
        }
        io::copy(content, &mut io::sink()).map(drop)
    });
    if let Some(path) = occupied {
        let path = visible(&path.to_string_lossy());
        let failure = Failure::cannot(format_args!("{path} exists already")).path(path);
        return Err(failure.hint("move that file away first"));
    }
    compared
        .map(|()| missing)
        .map_err(|error| Failure::reading(&open.name, error))
}

/// Deletes an archive, after asking on a terminal.
pub fn delete(path: &Path, change: &ChangeArgs, ui: &mut Ui) -> Result<ArchiveResult, Failure> {
    let open = OpenArchive::open(path, change)?;
    let bytes = Some(open.bytes());
    let result = |status| ArchiveResult {
        path: path.to_owned(),
        to: None,
        status,
        bytes,
    };
    if change.dry_run {
        return Ok(result(Status::Planned));
    }
    if !change.force {
        let facts = Facts::read(&open.archive.head)
            .ok()
            .filter(|facts| !facts.title.is_empty());
        let title = facts
            .map(|facts| format!(" ({})", facts.title))
            .unwrap_or_default();
        if !ui.confirm(&format!("delete {}{title}", open.name))? {
            return Err(Failure::no(format_args!("{} is not deleted", open.name)));
        }
    }
    open.remove()?;
    Ok(result(Status::Deleted))
}
