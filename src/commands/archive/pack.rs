//! Moves a session into an archive: a verified copy, synced and renamed into place, before anything
//! is removed. A run that is killed while it removes leaves the session hidden;
//! [`super::interrupted`] finds it.

use super::report::{ArchiveResult, Sizes};
use crate::cli::locate::Places;
use crate::cli::open::Input;
use crate::cli::options::ChangeArgs;
use crate::cli::output::{Failure, visible};
use crate::cli::status::Status;
use crate::cli::transaction::{Attempted, under_lock};
use crate::format::age;
use crate::ops::archive::{
    Facts, Filter, SESSION, blobs_of, companions, folder_of, is_blob, stored_blobs,
};
use crate::ops::list::{Listed, read_alone};
use crate::session::dialect::Dialect;
use pisess_store::{
    self as store, Archive, Attempt, Cause, Glance, Locked, NewFolder, Reach, ReadAt, SessionFile,
    Source, StoreError, Unremoved, WriteOptions, write_archive,
};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// A session that changed within this time is not chosen by a filter.
const SETTLED_MS: i64 = 10 * 60 * 1000;

/// Archives sessions, on several threads.
pub struct Packer<'a> {
    pub places: Places,
    /// Which sessions to archive; `None` if they were named.
    pub filter: Option<Filter>,
    /// The current time in milliseconds since 1970.
    pub now_ms: i64,
    pub change: &'a ChangeArgs,
    /// Whether a file is standard output.
    pub stdout_is: &'a (dyn Fn(&File) -> bool + Sync),
}

impl Packer<'_> {
    /// Archives a session. Returns `None` if the filter does not choose it.
    ///
    /// # Errors
    /// If it cannot be archived, or an agent may have it open. It is then where it was.
    pub fn archive(&self, path: &Path) -> Result<Option<ArchiveResult>, Failure> {
        let input = Input::open_path(path, self.stdout_is)?;
        let refused = |what: &str, hint: &str| Err(input.cannot(what).hint(hint));
        let Some(file) = input.file() else {
            return refused(
                "a stream or an archive cannot be archived",
                "give the path of a session",
            );
        };
        let listed = self.listed(&input)?;
        if self
            .filter
            .is_some_and(|filter| !filter.fits(listed.modified, listed.messages))
        {
            return Ok(None);
        }
        let session = file.resolved();
        let Some(to) = self.places.archive_of(session) else {
            let hint = "only sessions in the stores are archived; see `pisess list --all`";
            return refused("it is in no agent's store", hint);
        };
        let found = store::find(&[session.to_owned()], Reach::Whole).files.pop();
        if let Some(owner) = found.and_then(|file| file.owner) {
            let what = format!("it belongs to {}", visible(&owner.to_string_lossy()));
            return refused(&what, "archive that session; its sub-agents move with it");
        }
        if self.filter.is_some() {
            self.refuse_unsettled(&input, session)?;
        }
        let cwd = PathBuf::from(&*listed.cwd.to_string_lossy());
        if let Some(failure) = input.running_agent(&[&cwd]) {
            return Err(failure.hint("end that agent first"));
        }
        let path = session.to_owned();
        if self.change.dry_run {
            return Ok(Some(ArchiveResult {
                path,
                to: Some(to),
                status: Status::Planned,
                sizes: None,
                troubles: Vec::new(),
            }));
        }
        let mut attempt = |grown: Option<Input>, locked: Locked| -> Attempted<Sizes> {
            if grown.is_some() && self.filter.is_some() {
                return Err(input.busy("it is being written to"));
            }
            let reread = grown.as_ref().map(|input| self.listed(input)).transpose()?;
            let input = grown.as_ref().unwrap_or(&input);
            self.pack(input, reread.as_ref().unwrap_or(&listed), &to, locked)
        };
        let (committed, sizes) = under_lock(&input, &self.options(), &mut attempt)?;
        Ok(Some(ArchiveResult {
            path,
            to: Some(to),
            status: Status::Archived,
            sizes: Some(sizes),
            troubles: committed.map_or_else(Vec::new, |committed| committed.troubles),
        }))
    }

    /// As with oh-my-pi, a process that has a file open for writing, or just wrote to it, owns it.
    fn options(&self) -> WriteOptions {
        WriteOptions {
            force: false,
            is_moved: true,
            ..self.change.options(Dialect::OhMyPi)
        }
    }

    fn listed(&self, input: &Input) -> Result<Listed, Failure> {
        let path = input
            .file()
            .map(SessionFile::resolved)
            .unwrap_or(Path::new("-"));
        let modified = store::modified_ms(path).unwrap_or_default();
        read_alone(path, input.source(), modified)
            .map_err(|error| Failure::load(&input.name, error))
    }

    /// Refuses a session that changed recently, or one of the files that belong to it.
    fn refuse_unsettled(&self, input: &Input, session: &Path) -> Result<(), Failure> {
        let beside = companions(session).map_err(odd)?;
        let paths = beside.iter().map(|file| &*file.path).chain([session]);
        let newest = paths.filter_map(store::modified_ms).max();
        let is_recent = |&time: &i64| time > self.now_ms - SETTLED_MS;
        let Some(time) = newest.filter(is_recent) else {
            return Ok(());
        };
        let ago = match &*age(self.now_ms, time) {
            "now" => "just now".to_owned(),
            age => format!("{age} ago"),
        };
        let failure = input.busy(format_args!(
            "it changed {ago}, and a filter chooses it only after 10min"
        ));
        Err(failure.hint("give it as SESSION to archive it now"))
    }

    /// Archives a session under its lock. Until all of its files are hidden, an error leaves
    /// everything as it was, without the archive (rule 7).
    fn pack(&self, input: &Input, listed: &Listed, to: &Path, locked: Locked) -> Attempted<Sizes> {
        let sources = self.sources(input)?;
        let header = input.header()?;
        let facts = input.read(Facts::written(listed, input.source(), &header))?;
        let folder = NewFolder::make(to.parent().unwrap_or(Path::new("/")))?;
        let archive = write(&facts, &sources, to)?;
        let sizes = Sizes {
            files: sources.iter().map(|source| source.member.size).sum(),
            archive: archive.bytes,
        };
        let mut committed = match remove(&sources, locked) {
            Ok(Attempt::Done(committed)) => committed,
            Ok(stale) => {
                archive.take_back(to)?;
                return Ok((Some(stale), sizes));
            }
            Err(unremoved) if unremoved.is_undone => {
                archive.take_back(to)?;
                return Err(unremoved.error.into());
            }
            Err(unremoved) => {
                folder.keep();
                return Err(left_hidden(unremoved.error, to));
            }
        };
        folder.keep();
        if let Some(folder) = folder_of(&sources[0].path) {
            let removed = store::remove_empty_folders(&folder);
            committed.troubles.extend(removed.err());
        }
        Ok((Some(Attempt::Done(committed)), sizes))
    }

    /// Returns the files to archive: first the session.
    fn sources(&self, input: &Input) -> Result<Vec<Source>, Failure> {
        let file = input
            .file()
            .ok_or_else(|| input.cannot("a stream cannot be archived"))?;
        let beside = companions(file.resolved()).map_err(odd)?;
        let mut sources = vec![Source::of(SESSION.to_owned(), file)];
        let mut hashes = input.read(blobs_of(file))?;
        for found in beside {
            let file = SessionFile::open(&found.path)?;
            if found.is_session() {
                let name = visible(&found.path.to_string_lossy());
                hashes.extend(blobs_of(&file).map_err(|error| Failure::reading(&name, error))?);
            }
            sources.push(Source::of(found.name, &file));
        }
        let Some(store) = &self.places.blobs else {
            return Ok(sources);
        };
        let blobs = stored_blobs(hashes, store)
            .map_err(|error| Failure::copying(&visible(&store.to_string_lossy()), error))?;
        for blob in blobs {
            sources.push(Source::find(blob.name, &blob.path)?);
        }
        Ok(sources)
    }
}

/// Removes the files that are in the archive, except for blobs, which other sessions may use.
fn remove(sources: &[Source], locked: Locked) -> Result<Attempt, Unremoved> {
    for source in sources {
        source.open().map_err(|error| Unremoved {
            error,
            is_undone: true,
        })?;
    }
    let companions: Vec<_> = sources[1..]
        .iter()
        .filter(|source| !is_blob(&source.member.name))
        .collect();
    locked.remove_with(&companions)
}

/// Returns the failure for files that could not be given their names back. All are in the archive.
fn left_hidden(error: StoreError, to: &Path) -> Failure {
    let name = visible(&to.to_string_lossy());
    Failure::from(error).after_writing(&name).hint(format!(
        "`pisess archive --restore {name}` puts the session back"
    ))
}

/// An archive in its place.
struct InPlace {
    bytes: u64,
    /// Whether this run made it, and not one that was killed.
    is_new: bool,
}

impl InPlace {
    /// Removes it again if it is new, because the session stays.
    fn take_back(self, to: &Path) -> Result<(), Failure> {
        if !self.is_new {
            return Ok(());
        }
        match store::remove(to) {
            // It is removed. If it is there again after a power failure, it is the same as the
            // session.
            Err(StoreError {
                cause: Cause::Unsynced(_),
                ..
            })
            | Ok(()) => Ok(()),
            Err(error) => Err(left_hidden(error, to)),
        }
    }
}

/// Writes the archive, reads it again and compares it. One that a killed run left is used if it
/// contains the same.
fn write(facts: &[u8], sources: &[Source], to: &Path) -> Result<InPlace, Failure> {
    let mut bytes = 0;
    let mut check = |content: &dyn ReadAt| {
        bytes = content.len();
        match Archive::read(content)? {
            Some(archive) if archive.holds(content, sources)? => Ok(()),
            _ => Err(io::Error::other("the archive differs from the session")),
        }
    };
    let made = store::create_checked(
        to,
        None,
        false,
        &mut |out| write_archive(facts, sources, out),
        &mut check,
    );
    let mut made = match made {
        Err(error) if error.kind() == Some(io::ErrorKind::AlreadyExists) => {
            if check(&Glance::open(to)?).is_err() {
                return Err(exists_already(to));
            }
            return Ok(InPlace {
                bytes,
                is_new: false,
            });
        }
        made => made?,
    };
    // Nothing is removed before the archive is certainly on the disk.
    let archive = InPlace {
        bytes,
        is_new: true,
    };
    let Some(unsynced) = made.troubles.pop() else {
        return Ok(archive);
    };
    archive.take_back(to)?;
    Err(unsynced.into())
}

/// Returns the failure for an archive that holds something else than the session, and perhaps the
/// only copy of it.
fn exists_already(to: &Path) -> Failure {
    let name = visible(&to.to_string_lossy());
    let failure = Failure::cannot(format_args!("{name} exists already, with other content"));
    failure.hint(format!(
        "`pisess archive --restore {name}` puts back what the session lacks; then archive it again"
    ))
}

fn odd(error: impl std::fmt::Display) -> Failure {
    Failure::cannot(format_args!("cannot archive: {error}")).hint("move that file away first")
}
