//! Moves a session into an archive. The archive is written, verified, synced and renamed into place
//! before any file is removed. If a run is killed during the removal, the session stays hidden;
//! [`super::interrupted`] finds it.

use super::report::{ArchiveResult, SessionFacts, Sizes};
use crate::cli::foreign::load_failure;
use crate::cli::locate::SessionStores;
use crate::cli::open::Input;
use crate::cli::options::ChangeArgs;
use crate::cli::output::{Failure, to_visible};
use crate::cli::process::command_line::quote_word;
use crate::cli::status::Status;
use crate::cli::transaction::{
    AttemptResult, ChangeAttempt, attempt_under_lock, refuse_in_dry_run,
};
use crate::format::format_age;
use crate::ops::archive::{
    ArchiveFacts, PRUNED, SESSION, find_blob_hashes, find_companions, find_existing_blobs, is_blob,
    session_folder,
};
use crate::ops::list::{ListedSession, SelectionFacts, SessionFilter, read_single};
use crate::ops::plan::Action;
use crate::ops::prune::pruned_file;
use crate::session::dialect::Dialect;
use pisess_store::{
    self as store, Archive, Attempt, Cause, Committed, FoundFile, Glance, InputFile, Locked,
    NewFolder, Reach, ReadAt, RecentTurn, SessionFile, Source, StoreError, Unremoved, WriteOptions,
    write_archive,
};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A session to which an agent wrote within this time is archived only if it is named: the agent
/// may still use it.
const MIN_UNCHANGED_MS: i64 = 10 * 60 * 1000;

/// Archives sessions, on several threads.
pub struct Packer<'a> {
    pub stores: SessionStores,
    /// Which of the sessions to archive.
    pub filter: SessionFilter,
    /// The current time in milliseconds since 1970.
    pub now_ms: i64,
    pub change: &'a ChangeArgs,
    /// Whether a file is standard output.
    pub is_stdout: &'a (dyn Fn(&File) -> bool + Sync),
}

impl Packer<'_> {
    /// Archives a session. With `-n`, only checks whether that is possible. Returns `None` if the
    /// filter does not choose the session.
    ///
    /// # Errors
    /// If the session cannot be archived, or an agent may have it open. A session that was not
    /// named is also refused if it changed recently. After an error, the session is where it was.
    pub fn archive_session(&self, found: &FoundFile) -> Result<Option<ArchiveResult>, Failure> {
        let input = Input::open_path(&found.path, self.is_stdout)?;
        let Some(file) = input.file() else {
            let failure = input.failure("a stream or an archive cannot be archived");
            return Err(failure.with_hint("give the path of a session"));
        };
        let listed = self.read_listed(&input)?;
        let session = file.resolved();
        if !self.accepts(&listed, session)? {
            return Ok(None);
        }

        let to = self.find_archive_path(&input, session)?;
        if !found.is_given {
            self.refuse_unsettled(&input, &listed, session)?;
        }
        let cwd = PathBuf::from(&*listed.cwd.to_string_lossy());
        if let Some(failure) = input.running_agent_failure(&[&cwd]) {
            return Err(failure.with_hint("end that agent first"));
        }
        let mut result = ArchiveResult {
            path: session.to_owned(),
            to: Some(to.clone()),
            status: Status::Planned,
            needs_recursion: false,
            facts: Some(SessionFacts::from(&listed)),
            sizes: None,
            errors: Vec::new(),
        };
        if self.change.dry_run {
            refuse_in_dry_run(&input, Action::Nothing, &self.write_options())?;
            return Ok(Some(result));
        }

        let (committed, sizes) = self.pack_under_lock(&input, &listed, &to, found.is_given)?;
        result.status = Status::Archived;
        result.sizes = Some(sizes);
        if let Some(committed) = committed {
            result.errors = committed.warnings;
        }
        Ok(Some(result))
    }

    /// Locks a session, and archives it to the path `to`. Returns the commit of its removal, and
    /// the sizes of its files and of the archive.
    ///
    /// An agent may append to the session before it is locked. A session that a search found is
    /// then refused, because it is in use. A session that the user named (`is_given`) is read
    /// again, and archived with the appended lines.
    fn pack_under_lock(
        &self,
        input: &Input,
        listed: &ListedSession,
        to: &Path,
        is_given: bool,
    ) -> Result<(Option<Committed>, Sizes), Failure> {
        let mut pack = |grown_input: Option<Input>, locked: Locked| -> AttemptResult<Sizes> {
            match grown_input {
                // Nothing was appended since the session was opened.
                None => self.pack_session(input, listed, to, locked),
                Some(_) if !is_given => Err(input.busy_failure("it is being written to")),
                Some(grown_input) => {
                    let grown_listed = self.read_listed(&grown_input)?;
                    self.pack_session(&grown_input, &grown_listed, to, locked)
                }
            }
        };
        // Calls `pack` again if the session grows before it is removed.
        attempt_under_lock(input, &self.write_options(), &mut pack)
    }

    /// Whether the filter chooses the session at a path, and the session has not changed recently.
    /// Returns false for a file that is not a session.
    pub fn is_chosen(&self, path: &Path) -> bool {
        let Ok(input) = Input::open_path(path, self.is_stdout) else {
            return false;
        };
        let Some(file) = input.file() else {
            return false;
        };
        let Ok(listed) = self.read_listed(&input) else {
            return false;
        };
        let is_accepted = self.accepts(&listed, file.resolved()).unwrap_or(false);
        let session = file.resolved();
        is_accepted && self.refuse_unsettled(&input, &listed, session).is_ok()
    }

    /// Whether the filter chooses a session. `listed` are the facts about it, `session` is its
    /// path.
    fn accepts(&self, listed: &ListedSession, session: &Path) -> Result<bool, StoreError> {
        let facts = SelectionFacts {
            // A session without user messages is not empty if `prune` moved some of them away.
            is_empty: listed.is_empty && store::is_free(&pruned_file(session))?,
            ..listed.selection_facts()
        };
        Ok(self.filter.accepts(facts))
    }

    /// Returns the path for the archive of a session. Refuses a session that is in no store. Also
    /// refuses a sub-agent's session: it is archived together with its owner, the session that
    /// started the sub-agent.
    fn find_archive_path(&self, input: &Input, session: &Path) -> Result<PathBuf, Failure> {
        let Some(archive_path) = self.stores.archive_path(session) else {
            let failure = input.failure("it is not in the store of an agent");
            return Err(failure
                .with_hint("only sessions in the stores are archived; see `pisess list --all`"));
        };
        // The search of a single file finds out which session it belongs to.
        let found = store::find(&[session.to_owned()], Reach::Whole).files.pop();
        if let Some(owner) = found.and_then(|file| file.owner) {
            let owner = to_visible(&owner.to_string_lossy());
            let failure = input.failure(format_args!("it belongs to {owner}"));
            return Err(failure.with_hint("archive that session; its sub-agents move with it"));
        }
        Ok(archive_path)
    }

    /// Returns the options for the removal of the session. They follow oh-my-pi's rule for sessions
    /// of any agent: a process owns a file that it has open for writing, or has just written to.
    fn write_options(&self) -> WriteOptions {
        WriteOptions {
            force: false,
            is_moved: true,
            ..self.change.write_options(Dialect::OhMyPi)
        }
    }

    /// Reads the facts that `pisess list` shows of a session. The filter uses them, and the archive
    /// records them.
    fn read_listed(&self, input: &Input) -> Result<ListedSession, Failure> {
        let path = input
            .file()
            .map(SessionFile::resolved)
            .unwrap_or(Path::new("-"));
        let modified_ms = store::modified_ms(path).unwrap_or_default();
        read_single(path, input.source(), modified_ms, None)
            .map_err(|error| load_failure(&input.name, input.source(), error))
    }

    /// Refuses a session if an agent wrote to it within [`MIN_UNCHANGED_MS`], ten minutes, or if
    /// one of its companion files changed in that time: the agent may still use it.
    ///
    /// A label, a summary and SESSION.pruned are no signs of an agent. Most other entries are, even
    /// if pisess wrote them, because pi may write such entries while it works: see
    /// [`store::has_recent_turn`].
    fn refuse_unsettled(
        &self,
        input: &Input,
        listed: &ListedSession,
        session: &Path,
    ) -> Result<(), Failure> {
        let Some(newest_ms) = self.last_change_ms(listed, session)? else {
            return Ok(());
        };
        if newest_ms <= self.now_ms - MIN_UNCHANGED_MS {
            return Ok(());
        }
        let ago = match &*format_age(self.now_ms, newest_ms) {
            "now" => "just now".to_owned(),
            age => format!("{age} ago"),
        };
        let failure = input.busy_failure(format_args!(
            "it changed {ago}; a session that is not named is left alone for 10min"
        ));
        Err(failure.with_hint("give it as SESSION to archive it now"))
    }

    /// Returns the latest time at which an agent may have changed a session or one of its companion
    /// files, such as the sessions of its sub-agents. `None` if there are no companion files, and
    /// nothing in the session shows that an agent wrote to it recently.
    fn last_change_ms(
        &self,
        listed: &ListedSession,
        session: &Path,
    ) -> Result<Option<i64>, Failure> {
        let mut times_ms = Vec::new();
        for companion in find_companions(session).map_err(cannot_archive)? {
            // Only pisess writes SESSION.pruned.
            if companion.name != PRUNED {
                times_ms.extend(store::modified_ms(&companion.path));
            }
        }
        // pisess also writes to sessions, so the time of the file alone is no sign of an agent.
        if self.may_have_recent_turn(listed, session) {
            times_ms.extend(store::modified_ms(session));
        }
        Ok(times_ms.into_iter().max())
    }

    /// Whether an agent may have written to the session within [`MIN_UNCHANGED_MS`]. Its newest
    /// message may be from that time, or its last entries may be ones that a working agent writes.
    /// In doubt, the answer is yes: if the end of the file cannot be read or is no entry.
    fn may_have_recent_turn(&self, listed: &ListedSession, session: &Path) -> bool {
        if listed.modified_ms > self.now_ms - MIN_UNCHANGED_MS {
            return true;
        }
        let Ok(file) = Glance::open(session) else {
            return true;
        };
        let now = SystemTime::UNIX_EPOCH + Duration::from_millis(self.now_ms.unsigned_abs());
        let period = Duration::from_millis(MIN_UNCHANGED_MS.unsigned_abs());
        let recent_turn = store::find_recent_turn(&file, now, period);
        let is_certainly_idle = matches!(recent_turn, Ok(RecentTurn::Missing));
        !is_certainly_idle
    }

    /// Archives a locked session: writes the archive at `to`, then removes the session's files.
    ///
    /// The store removes several files by first renaming all of them to hidden names. If that
    /// fails, it renames them back, and the new archive is removed: then nothing has changed. If
    /// they cannot be renamed back, the archive is kept, and the failure names it.
    fn pack_session(
        &self,
        input: &Input,
        listed: &ListedSession,
        to: &Path,
        locked: Locked,
    ) -> AttemptResult<Sizes> {
        let sources = self.collect_sources(input)?;
        let header = input.read_header()?;
        let facts = input.map_read_error(ArchiveFacts::encode(listed, input.source(), &header))?;
        let archive = PlacedArchive::create(&facts, &sources, to)?;
        let sizes = Sizes {
            files: sources.iter().map(|source| source.member.size).sum(),
            archive: archive.bytes,
        };
        match remove_sources(&sources, locked) {
            Ok(Attempt::Done(mut committed)) => {
                archive.keep();
                // The first source is the session.
                let folder_error = remove_companion_folders(&sources[0].path);
                committed.warnings.extend(folder_error);
                Ok(ChangeAttempt::with_commit(Attempt::Done(committed), sizes))
            }
            // The session has grown, and will be archived again.
            Ok(stale) => {
                archive.discard()?;
                Ok(ChangeAttempt::with_commit(stale, sizes))
            }
            Err(unremoved) if unremoved.is_undone => {
                archive.discard()?;
                Err(unremoved.error.into())
            }
            // The files still have their hidden names, so only the archive can be found.
            Err(unremoved) => {
                archive.keep();
                Err(hidden_failure(unremoved.error, to))
            }
        }
    }

    /// Returns the files to archive: first the session, then its companion files, then the blobs
    /// that the session or its sub-agents refer to.
    fn collect_sources(&self, input: &Input) -> Result<Vec<Source>, Failure> {
        let file = input
            .file()
            .ok_or_else(|| input.failure("a stream cannot be archived"))?;
        let companion_files = find_companions(file.resolved()).map_err(cannot_archive)?;
        let mut sources = vec![Source::from_file(SESSION.to_owned(), file)];
        let mut blob_hashes = input.map_read_error(find_blob_hashes(file))?;
        for companion in companion_files {
            let file = SessionFile::open(&companion.path)?;
            if companion.is_session() {
                let name = to_visible(&companion.path.to_string_lossy());
                let companion_hashes = find_blob_hashes(&file)
                    .map_err(|error| Failure::from_read_error(&name, error))?;
                blob_hashes.extend(companion_hashes);
            }
            sources.push(Source::from_file(companion.name, &file));
        }

        let Some(blob_store) = self.stores.blobs.folder() else {
            return Ok(sources);
        };
        let blobs = find_existing_blobs(blob_hashes, blob_store).map_err(|error| {
            Failure::from_read_error(&to_visible(&blob_store.to_string_lossy()), error)
        })?;
        for blob in blobs {
            sources.push(Source::from_path(blob.name, &blob.path)?);
        }
        Ok(sources)
    }
}

/// Removes the session and its companion files, once they are archived. Blobs stay, because other
/// sessions may use them. If one of the files changed since it was read, nothing is removed.
fn remove_sources(sources: &[Source], locked: Locked) -> Result<Attempt, Unremoved> {
    for source in sources {
        // Fails for a file that has changed. Nothing is hidden yet, so nothing has to be undone.
        source.open().map_err(|error| Unremoved {
            error,
            is_undone: true,
        })?;
    }
    // The first source is the session, which `locked` has open.
    let companions: Vec<_> = sources[1..]
        .iter()
        .filter(|source| !is_blob(&source.member.name))
        .collect();
    locked.remove_with(&companions)
}

/// Removes the directories of a session's companion files, if they are empty now. Returns the error
/// if that fails.
fn remove_companion_folders(session: &Path) -> Option<StoreError> {
    let folder = session_folder(session)?;
    store::remove_empty_folders(&folder).err()
}

/// Returns the failure for files that are hidden and could not be renamed back. The archive at `to`
/// contains all of them.
fn hidden_failure(error: StoreError, to: &Path) -> Failure {
    let name = to_visible(&to.to_string_lossy());
    let argument = quote_word(to.as_os_str());
    Failure::from(error).after_writing(&name).with_hint(format!(
        "`pisess archive --restore {argument}` puts the session back"
    ))
}

/// An archive at its final path. It is either kept or discarded.
struct PlacedArchive {
    path: PathBuf,
    bytes: u64,
    /// Whether this run wrote the archive; false if it is from a run that was killed.
    is_new: bool,
    /// The directory of the archive. If this run made it, it is removed unless it is kept.
    folder: NewFolder,
}

impl PlacedArchive {
    /// Writes the archive of `sources` at `to`, and its directory if that is missing. If `to`
    /// exists already, a killed run may have written it: it is used if it holds the same files.
    ///
    /// # Errors
    /// Also fails if the archive may not be on disk yet. The archive is then removed, because the
    /// session must not be removed before its archive is on disk.
    fn create(facts: &[u8], sources: &[Source], to: &Path) -> Result<PlacedArchive, Failure> {
        let folder = NewFolder::make(to.parent().unwrap_or(Path::new("/")))?;
        let mut written = match write_verified_archive(facts, sources, to) {
            Ok(written) => written,
            Err(error) if error.kind() == Some(io::ErrorKind::AlreadyExists) => {
                return Ok(PlacedArchive {
                    path: to.to_owned(),
                    bytes: measure_existing_archive(sources, to)?,
                    is_new: false,
                    folder,
                });
            }
            Err(error) => return Err(error.into()),
        };

        let archive = PlacedArchive {
            path: to.to_owned(),
            bytes: written.bytes,
            is_new: true,
            folder,
        };
        // The only warning of a new file is that it may not be on disk yet.
        if let Some(unsynced) = written.committed.warnings.pop() {
            archive.discard()?;
            return Err(unsynced.into());
        }
        Ok(archive)
    }

    /// Keeps the archive, and its directory.
    fn keep(self) {
        self.folder.keep();
    }

    /// Removes what this run has made of the archive and its directory. This is called if the
    /// session stays in place.
    fn discard(self) -> Result<(), Failure> {
        if !self.is_new {
            return Ok(());
        }
        match store::remove(&self.path) {
            Ok(()) => Ok(()),
            // The archive is removed. Should it reappear after a power failure, it has the same
            // content as the session.
            Err(error) if matches!(error.cause, Cause::Unsynced(_)) => Ok(()),
            Err(error) => Err(hidden_failure(error, &self.path)),
        }
    }
}

/// An archive that this run has written and compared with its sources.
struct WrittenArchive {
    bytes: u64,
    committed: Committed,
}

/// Writes the archive. Before it gets the name `to`, it is read again and compared with the files.
fn write_verified_archive(
    facts: &[u8],
    sources: &[Source],
    to: &Path,
) -> Result<WrittenArchive, StoreError> {
    let mut write = |out: &mut dyn io::Write| write_archive(facts, sources, out);
    let mut bytes = 0;
    // The store calls this once, with the complete archive.
    let mut verify = |content: &dyn ReadAt| {
        bytes = content.len();
        if contains_files(content, sources)? {
            Ok(())
        } else {
            Err(io::Error::other("the archive differs from the session"))
        }
    };
    let force = false;
    let committed = store::create_checked(to, InputFile::Stream, force, &mut write, &mut verify)?;
    Ok(WrittenArchive { bytes, committed })
}

/// Returns the size of the archive that exists at `to`. Refuses an archive that does not hold the
/// same files, and one that cannot be read.
fn measure_existing_archive(sources: &[Source], to: &Path) -> Result<u64, Failure> {
    let existing = Glance::open(to)?;
    let has_files =
        contains_files(&existing, sources).map_err(|error| unreadable_failure(to, error))?;
    if !has_files {
        return Err(exists_failure(to));
    }
    Ok(existing.len())
}

/// Whether `content` is an archive that holds exactly the content of these files.
fn contains_files(content: &dyn ReadAt, sources: &[Source]) -> io::Result<bool> {
    match Archive::read(content)? {
        Some(archive) => archive.contains_all(content, sources),
        None => Ok(false),
    }
}

/// Returns the failure for an existing archive at `to` that cannot be read, because it is damaged,
/// for example.
fn unreadable_failure(to: &Path, error: io::Error) -> Failure {
    let name = to_visible(&to.to_string_lossy());
    Failure::from_read_error(&name, error).with_hint("move that file away, then archive it again")
}

/// Returns the failure for an existing archive at `to` that holds other files than the session's.
/// It is not replaced, because it may be their only copy.
fn exists_failure(to: &Path) -> Failure {
    let name = to_visible(&to.to_string_lossy());
    let failure = Failure::invalid(format_args!("{name} exists already, with other content"));
    let argument = quote_word(to.as_os_str());
    failure.with_hint(format!(
        "`pisess archive --restore {argument}` puts back what the session lacks; then archive it again"
    ))
}

fn cannot_archive(error: impl std::fmt::Display) -> Failure {
    Failure::invalid(format_args!("cannot archive: {error}")).with_hint("move that file away first")
}
