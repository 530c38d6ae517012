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

    /// Locks a session, and archives it to `to`. A session that a search found, and that grows
    /// meanwhile, is refused: it is in use. A named one (`is_given`) is archived with its growth.
    fn pack_under_lock(
        &self,
        input: &Input,
        listed: &ListedSession,
        to: &Path,
        is_given: bool,
    ) -> Result<(Option<Committed>, Sizes), Failure> {
        let mut attempt = |grown_input: Option<Input>, locked: Locked| -> AttemptResult<Sizes> {
            // `None` means that the session has not grown since it was opened.
            let Some(grown_input) = grown_input else {
                return self.pack_session(input, listed, to, locked);
            };
            if !is_given {
                return Err(input.busy_failure("it is being written to"));
            }
            let listed = self.read_listed(&grown_input)?;
            self.pack_session(&grown_input, &listed, to, locked)
        };
        attempt_under_lock(input, &self.write_options(), &mut attempt)
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

    /// Refuses a session if an agent wrote to it within [`MIN_UNCHANGED_MS`], or if one of its
    /// companion files changed in that time. A label, a summary, a `custom` entry of pisess (such
    /// as the mark of a switch) and SESSION.pruned are no signs of an agent. Other entries that
    /// pisess writes are, because pi may write such entries while it works: see
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

    /// Returns when an agent last changed a session or a companion file of it. `None` if there are
    /// no companion files, and the last entries of the session are no sign of an agent.
    fn last_change_ms(
        &self,
        listed: &ListedSession,
        session: &Path,
    ) -> Result<Option<i64>, Failure> {
        // `None` is less than every time.
        let mut newest_ms = None;
        for companion in find_companions(session).map_err(cannot_archive)? {
            if companion.name != PRUNED {
                newest_ms = newest_ms.max(store::modified_ms(&companion.path));
            }
        }
        if self.may_have_recent_turn(listed, session) {
            newest_ms = newest_ms.max(store::modified_ms(session));
        }
        Ok(newest_ms)
    }

    /// Whether an agent may have written to the session within [`MIN_UNCHANGED_MS`]: its newest
    /// message, or its last entry, if it is one that a working agent writes last. Also true if the
    /// last line is no entry, or cannot be read.
    fn may_have_recent_turn(&self, listed: &ListedSession, session: &Path) -> bool {
        if listed.modified_ms > self.now_ms - MIN_UNCHANGED_MS {
            return true;
        }
        let Ok(file) = Glance::open(session) else {
            return true;
        };
        let now = SystemTime::UNIX_EPOCH + Duration::from_millis(self.now_ms.unsigned_abs());
        let period = Duration::from_millis(MIN_UNCHANGED_MS.unsigned_abs());
        !matches!(
            store::find_recent_turn(&file, now, period),
            Ok(RecentTurn::Missing)
        )
    }

    /// Archives a session under its lock: writes the archive, then removes the files. If an error
    /// occurs before all of the files are hidden, they stay as they were, and the new archive is
    /// removed (rule 7 of the store).
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
        // Unless it is kept, a new directory is removed when this returns.
        let folder = NewFolder::make(to.parent().unwrap_or(Path::new("/")))?;
        let archive = create_archive(&facts, &sources, to)?;
        let sizes = Sizes {
            files: sources.iter().map(|source| source.member.size).sum(),
            archive: archive.bytes,
        };
        match remove_sources(&sources, locked) {
            Ok(Attempt::Done(mut committed)) => {
                folder.keep();
                // The first source is the session.
                committed
                    .warnings
                    .extend(remove_companion_folders(&sources[0].path));
                Ok(ChangeAttempt::with_commit(Attempt::Done(committed), sizes))
            }
            // The session has grown, and will be archived again.
            Ok(stale) => {
                archive.remove_if_new(to)?;
                Ok(ChangeAttempt::with_commit(stale, sizes))
            }
            Err(unremoved) if unremoved.is_undone => {
                archive.remove_if_new(to)?;
                Err(unremoved.error.into())
            }
            // The files are hidden, so the archive is the only copy that has its name.
            Err(unremoved) => {
                folder.keep();
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

        let Some(blob_store) = &self.stores.blobs else {
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

/// An archive at its final path.
struct PlacedArchive {
    bytes: u64,
    /// Whether this run wrote the archive; false if it is from a run that was killed.
    is_new: bool,
}

impl PlacedArchive {
    /// Removes the archive if this run wrote it. This is called if the session stays in place.
    fn remove_if_new(self, to: &Path) -> Result<(), Failure> {
        if !self.is_new {
            return Ok(());
        }
        match store::remove(to) {
            Ok(()) => Ok(()),
            // The archive is removed. Should it reappear after a power failure, it has the same
            // content as the session.
            Err(error) if matches!(error.cause, Cause::Unsynced(_)) => Ok(()),
            Err(error) => Err(hidden_failure(error, to)),
        }
    }
}

/// Writes the archive, reads it again and compares it with the files. If `to` exists already, a
/// killed run may have written it: it is used if it holds the same files.
///
/// # Errors
/// Also fails if the archive may not be on disk yet. The archive is then removed, because the
/// session must not be removed before its archive is on disk.
fn create_archive(facts: &[u8], sources: &[Source], to: &Path) -> Result<PlacedArchive, Failure> {
    let mut write = |out: &mut dyn io::Write| write_archive(facts, sources, out);
    // The store calls `check` with the complete archive, before it is in place.
    let mut bytes = 0;
    let mut check = |content: &dyn ReadAt| {
        bytes = content.len();
        if contains_files(content, sources)? {
            Ok(())
        } else {
            Err(io::Error::other("the archive differs from the session"))
        }
    };
    let force = false;
    let created = store::create_checked(to, InputFile::Stream, force, &mut write, &mut check);
    let mut created = match created {
        Ok(created) => created,
        Err(error) if error.kind() == Some(io::ErrorKind::AlreadyExists) => {
            return accept_existing_archive(sources, to);
        }
        Err(error) => return Err(error.into()),
    };

    let archive = PlacedArchive {
        bytes,
        is_new: true,
    };
    // The only warning of a new file is that it may not be on disk yet.
    if let Some(unsynced) = created.warnings.pop() {
        archive.remove_if_new(to)?;
        return Err(unsynced.into());
    }
    Ok(archive)
}

/// Returns the archive that exists at `to`. Refuses an archive that does not hold the same files,
/// and one that cannot be read.
fn accept_existing_archive(sources: &[Source], to: &Path) -> Result<PlacedArchive, Failure> {
    let existing = Glance::open(to)?;
    let has_files =
        contains_files(&existing, sources).map_err(|error| unreadable_failure(to, error))?;
    if !has_files {
        return Err(exists_failure(to));
    }
    Ok(PlacedArchive {
        bytes: existing.len(),
        is_new: false,
    })
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
