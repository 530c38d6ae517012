//! Imports one source: determines what is left to do, and does it under the lock of the session.

use super::destinations::Destination;
use crate::cli::open::{Input, OpenSession};
use crate::cli::options::ChangeArgs;
use crate::cli::output::{Failure, to_visible};
use crate::cli::rollouts::Rollouts;
use crate::cli::transaction::{ChangeAttempt, commit_change, copy_failure, refuse_in_dry_run};
use crate::import::{
    EarlierImports, ImportRecord, ImportTarget, JoinedSource, Survey, emit_new_entries, sha256_hex,
    write_converted_session,
};
use crate::load::LoadOptions;
use crate::ops::plan::{Action, Change, NewEntry};
use crate::session::Session;
use crate::session::content::member_is;
use crate::session::dialect::Dialect;
use crate::session::entry::Kind;
use foldhash::HashMap;
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_store::{
    self as store, Committed, Fill, FnWriter, InputFile, Locked, Member, NewFolder, SessionFile,
    Spooled, StoreError,
};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::UNIX_EPOCH;

/// The result of importing one source.
#[derive(Debug)]
pub struct ImportResult {
    /// The session's file.
    pub to: PathBuf,
    /// The action taken; with `-n`, the action that would be taken.
    pub action: Action,
    /// The number of entries written.
    pub entries: usize,
    /// With `-n`, the number of bytes that would be written.
    pub planned_bytes: usize,
    /// The commit of the written file; `None` if nothing was written.
    pub committed: Option<Committed>,
    /// The working directory of a session that was imported before, if the user gave another one.
    pub kept_cwd: Option<Text<'static>>,
}

/// What is left to do for a source that was imported before.
enum ImportState {
    /// The source has not grown.
    UpToDate,
    /// The source has grown since these imports, and nothing else was added to the session.
    Grown(EarlierImports),
    /// The source has grown, but the session was continued, too. A source whose first turns were
    /// not imported is treated alike: nothing can be appended.
    Continued,
}

/// Imports sources, on several threads.
pub struct Importer<'a> {
    /// The agent to import for.
    pub agent: Dialect,
    /// The options for writing.
    pub change: &'a ChangeArgs,
    rollouts: Rollouts,
    /// Returns whether a file is standard output. Such a file is refused as a session, because
    /// reading it would also read what is written to it.
    is_stdout: &'a (dyn Fn(&File) -> bool + Sync),
    /// New directories of sources that could not be imported. Other sources of the same project may
    /// be about to use them. So they are removed only when all sources are done, and only if empty.
    unused_folders: Mutex<Vec<NewFolder>>,
    /// With `-n`, the new sessions that were planned so far, by path: another source may continue
    /// one of them.
    planned: Mutex<HashMap<PathBuf, Destination>>,
}

impl ImportResult {
    /// Returns the result for a source that was imported to `path`, before anything is committed.
    fn new(path: &Path, action: Action, entries: usize) -> ImportResult {
        ImportResult {
            to: path.to_owned(),
            action,
            entries,
            planned_bytes: 0,
            committed: None,
            kept_cwd: None,
        }
    }
}

impl<'a> Importer<'a> {
    /// Returns an importer that has imported nothing yet. `is_stdout` returns whether a file is
    /// standard output; see [`Ui::stdout_predicate`](crate::cli::output::Ui::stdout_predicate).
    pub fn new(
        agent: Dialect,
        change: &'a ChangeArgs,
        is_stdout: &'a (dyn Fn(&File) -> bool + Sync),
    ) -> Importer<'a> {
        Importer {
            agent,
            change,
            rollouts: Rollouts::default(),
            is_stdout,
            unused_folders: Mutex::default(),
            planned: Mutex::default(),
        }
    }

    /// Imports a source to its destination: a new session, or one that exists since an earlier
    /// import of the source.
    ///
    /// # Errors
    /// If the source cannot be imported. Then nothing was written.
    pub fn import_source(&self, destination: &Destination) -> Result<ImportResult, Failure> {
        if !destination.exists {
            return self.create_session(destination, &destination.id, &destination.path);
        }
        loop {
            if let Some(result) = self.import_again(destination)? {
                return Ok(result);
            }
        }
    }

    /// Appends to an existing session what was added to its source since the last import. If a user
    /// continued the session in its agent, nothing can be appended, so a new session is created.
    ///
    /// Returns `None` if the session was continued while this ran: then it has to be called again.
    fn import_again(&self, destination: &Destination) -> Result<Option<ImportResult>, Failure> {
        let open = self.open_existing(&destination.path)?;
        let file = self.rollouts.open(&destination.source.head.path)?;
        let state = match self.determine_state(destination, &file, &open) {
            Ok(state) => state,
            // With --force, a new session is created, whatever the existing one contains.
            Err(_) if self.change.force => ImportState::Continued,
            Err(failure) => return Err(failure),
        };
        let result = match state {
            ImportState::Continued => {
                return self.create_anew(destination, &open.input).map(Some);
            }
            ImportState::UpToDate => ImportResult::new(&destination.path, Action::Nothing, 0),
            ImportState::Grown(_) => match self.append_growth(destination, &file, &open)? {
                Some(appended) => appended,
                // The session was continued after its state was determined.
                None => return Ok(None),
            },
        };
        Ok(Some(ImportResult {
            kept_cwd: kept_cwd(destination, &open),
            ..result
        }))
    }

    /// Opens the session to which a source was imported before. With `-n`, it may be one that is
    /// only planned.
    fn open_existing(&self, path: &Path) -> Result<OpenSession, Failure> {
        let input = match self.spool_planned(path)? {
            Some(content) => Input::from_content(path, content),
            None => Input::open_path(path, self.is_stdout)?,
        };
        OpenSession::load(input, LoadOptions::default())
    }

    /// Imports the whole source into a new session beside `continued`, or with `--force` in its
    /// place. Nothing can be appended to `continued`: its imported entries are followed by entries
    /// of the agent.
    fn create_anew(
        &self,
        destination: &Destination,
        continued: &Input,
    ) -> Result<ImportResult, Failure> {
        if let Some(fallback) = &destination.fallback {
            return self.create_session(destination, &fallback.id, &fallback.path);
        }
        if self.change.force {
            return self.create_session(destination, &destination.id, &destination.path);
        }
        let failure = continued.failure("it was continued since it was imported");
        Err(failure.with_hint("give another path with -o, or overwrite it with --force"))
    }

    /// Writes the session of a source to `out`.
    ///
    /// # Errors
    /// If the source cannot be read, or `out` cannot be written.
    pub fn write_to_stream(
        &self,
        destination: &Destination,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        let file = Input::open_path(&destination.source.head.path, self.is_stdout)?;
        match self.write_session(destination, &destination.id, out) {
            Ok(_) => Ok(()),
            Err(error) => Err(copy_failure(&file, error)),
        }
    }

    /// Writes the whole session to `out`, and returns the number of its entries. Fails at the end
    /// if the source changed meanwhile.
    fn write_session(
        &self,
        destination: &Destination,
        id: &str,
        out: &mut dyn Write,
    ) -> io::Result<usize> {
        let source = &destination.source;
        // The store writes through this function, and takes only I/O errors from it.
        let file = self
            .rollouts
            .open(&source.head.path)
            .map_err(|failure| io::Error::other(failure.to_line()))?;
        let target = ImportTarget {
            agent: self.agent,
            id,
            source_path: &real_path(&source.head.path),
            earlier: &EarlierImports::default(),
        };
        let written = write_converted_session(&file, source, &target, &destination.cwd, out)?;
        require_unchanged(&file, source)?;
        Ok(written.entry_count())
    }

    /// Imports the whole source into a new session with the id `id` at `path`. Also makes the
    /// directory of the session, unless the user gave the path. With `-n`, only counts the entries
    /// and bytes.
    fn create_session(
        &self,
        destination: &Destination,
        id: &str,
        path: &Path,
    ) -> Result<ImportResult, Failure> {
        let folder_to_make = if destination.is_explicit_path {
            None
        } else {
            path.parent()
        };
        // Only the name of a directory to make comes from the source, which is not trusted. This is
        // checked before the plan is made: `-n` refuses what the import would refuse.
        if let Some(folder) = folder_to_make {
            refuse_control_characters(&destination.source, folder)?;
        }

        if self.change.dry_run {
            return self.plan_session(destination, id, path);
        }
        match folder_to_make {
            Some(folder) => self.create_session_in_folder(destination, id, path, folder),
            None => self.create_session_file(destination, id, path),
        }
    }

    /// Imports the whole source into a new file at `path`, in `folder`, which is made if it does
    /// not exist. If the import fails, a new directory is removed at the end of the command.
    fn create_session_in_folder(
        &self,
        destination: &Destination,
        id: &str,
        path: &Path,
        folder: &Path,
    ) -> Result<ImportResult, Failure> {
        let new_folder = NewFolder::make(folder)?;
        let create_result = self.create_session_file(destination, id, path);
        match &create_result {
            Ok(_) => new_folder.keep(),
            // Not removed now, because another thread may be about to write into it.
            Err(_) => self.remove_later(new_folder),
        }
        create_result
    }

    /// Imports the whole source into a new file, whose directory exists.
    fn create_session_file(
        &self,
        destination: &Destination,
        id: &str,
        path: &Path,
    ) -> Result<ImportResult, Failure> {
        let mut entries = 0;
        let mut fill = |out: &mut dyn Write| {
            entries = self.write_session(destination, id, out)?;
            Ok(())
        };
        let committed = self.create_file(&destination.source.head.path, path, &mut fill)?;
        Ok(ImportResult {
            committed: Some(committed),
            ..ImportResult::new(path, Action::Create, entries)
        })
    }

    /// For `-n`: counts the entries and bytes that [`create_session`](Self::create_session) would
    /// write, and records the planned session. Fails if the real run would fail, as far as that can
    /// be known without writing.
    fn plan_session(
        &self,
        destination: &Destination,
        id: &str,
        path: &Path,
    ) -> Result<ImportResult, Failure> {
        // In a directory that does not exist yet, there is no file to refuse.
        if path.parent().is_some_and(Path::is_dir) {
            let source_file = SessionFile::open(&destination.source.head.path)?;
            store::check_create(path, InputFile::Open(&source_file), self.change.force)?;
        }
        let mut planned_bytes = 0;
        let mut counter = FnWriter(|piece: &[u8]| {
            planned_bytes += piece.len();
            Ok(())
        });
        let entries = self
            .write_session(destination, id, &mut counter)
            .map_err(|error| unreadable_source(&destination.source, error))?;

        // Another source may continue this session.
        let planned_session = Destination {
            id: id.to_owned(),
            ..destination.clone()
        };
        self.lock_planned().insert(path.to_owned(), planned_session);
        Ok(ImportResult {
            planned_bytes,
            ..ImportResult::new(path, Action::Create, entries)
        })
    }

    /// Returns the content of a new session that was planned with `-n`; `None` if no such session
    /// was planned at this path.
    fn spool_planned(&self, path: &Path) -> Result<Option<Spooled>, Failure> {
        let planned = self.lock_planned();
        let Some(destination) = planned.get(path) else {
            return Ok(None);
        };
        let content = store::spool_written(&mut |out| {
            self.write_session(destination, &destination.id, out)?;
            Ok(())
        })?;
        Ok(Some(content))
    }

    /// Extends a session that was planned with `-n` by this source, which continues it. The next
    /// source that continues the session only adds to that.
    fn grow_planned(&self, destination: &Destination) {
        if let Some(earlier) = self.lock_planned().get_mut(&destination.path) {
            *earlier = Destination {
                id: earlier.id.clone(),
                ..destination.clone()
            };
        }
    }

    /// Locks the sessions that were planned with `-n`. If another worker has panicked, they are
    /// whole all the same: they are changed in one step.
    fn lock_planned(&self) -> MutexGuard<'_, HashMap<PathBuf, Destination>> {
        self.planned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a new directory until all sources are done: another source may be about to use it.
    fn remove_later(&self, folder: NewFolder) {
        let unused = self.unused_folders.lock();
        unused.unwrap_or_else(PoisonError::into_inner).push(folder);
    }

    /// Writes the file of a session; `fill` writes its content. With `--force`, an existing file is
    /// replaced, and the new one has the current time.
    fn create_file(
        &self,
        source: &Path,
        path: &Path,
        fill: &mut Fill,
    ) -> Result<Committed, Failure> {
        if !self.change.force {
            return Ok(create_with_time_of(source, path, fill)?);
        }
        let source_file = SessionFile::open(source)?;
        let force = true;
        let committed = store::create(path, InputFile::Open(&source_file), force, fill)?;
        Ok(committed)
    }

    /// Appends to the session what was added to the source since the last import. With `-n`, only
    /// plans that. Returns `None` if nothing is appended: the source has not grown after all, or
    /// the session was continued meanwhile.
    fn append_growth(
        &self,
        destination: &Destination,
        source_file: &JoinedSource,
        open: &OpenSession,
    ) -> Result<Option<ImportResult>, Failure> {
        if self.change.dry_run {
            return self.plan_growth(destination, source_file, open);
        }

        // The session may change until it is locked, so the growth is planned under the lock.
        let mut append = |locked_open: &OpenSession, locked: Locked| {
            let plan = self.plan_append(destination, source_file, locked_open)?;
            let Some(PlannedAppend { change, result }) = plan else {
                return Ok(ChangeAttempt::nothing_to_do(None));
            };
            let commit = commit_change(&change, locked_open, locked)?;
            let value = Some(result);
            Ok(ChangeAttempt { commit, value })
        };
        let options = self.change.write_options(self.agent);
        let (committed, result) = open.attempt_under_lock(&options, &mut append)?;
        Ok(result.map(|result| ImportResult {
            committed,
            ..result
        }))
    }

    /// For `-n`: returns the result that [`append_growth`](Self::append_growth) would have. Fails
    /// if the real run would be refused.
    fn plan_growth(
        &self,
        destination: &Destination,
        source_file: &JoinedSource,
        open: &OpenSession,
    ) -> Result<Option<ImportResult>, Failure> {
        let Some(plan) = self.plan_append(destination, source_file, open)? else {
            return Ok(None);
        };
        // A session that is only planned has no file yet.
        if open.input.file().is_some() {
            let options = self.change.write_options(self.agent);
            refuse_in_dry_run(&open.input, plan.result.action, &options)?;
        }
        self.grow_planned(destination);
        Ok(Some(plan.result))
    }

    /// Plans what to append to a session. Returns `None` if the source has not grown, or if the
    /// session was continued.
    fn plan_append(
        &self,
        destination: &Destination,
        source_file: &JoinedSource,
        open: &OpenSession,
    ) -> Result<Option<PlannedAppend>, Failure> {
        let state = self.determine_state(destination, source_file, open)?;
        let ImportState::Grown(earlier) = state else {
            return Ok(None);
        };
        let change = self.build_growth(destination, source_file, &open.session, &earlier)?;
        let action = change.action(&open.session);
        let result = ImportResult {
            planned_bytes: change.appended_bytes().len(),
            ..ImportResult::new(&destination.path, action, change.entries.len())
        };
        Ok(Some(PlannedAppend { change, result }))
    }

    /// Returns the change that appends to a session the entries that its source has beyond the
    /// `earlier` imports. If one of them renames the session, and the agent is oh-my-pi, the change
    /// also sets the title line: oh-my-pi stores a name there and as an entry.
    fn build_growth(
        &self,
        destination: &Destination,
        source_file: &JoinedSource,
        session: &Session,
        earlier: &EarlierImports,
    ) -> Result<Change, Failure> {
        let source = &destination.source;
        let session_id = session.header.id.to_string_lossy();
        let target = ImportTarget {
            agent: self.agent,
            id: &session_id,
            source_path: &real_path(&source.head.path),
            earlier,
        };
        let lines = convert_new_lines(source_file, source, &target)
            .map_err(|error| unreadable_source(source, error))?;

        let mut change = Change::default();
        let is_renamed = lines
            .iter()
            .any(|line| member_is(Raw::from_checked(line), "type", "title_change"));
        if is_renamed && let Some(name) = &source.name {
            let time = pisess_json::time::iso_string(source.head.created_ms);
            change.title_line = session.agent().title_line(name, &time);
        }
        for line in lines {
            let id = Raw::from_checked(&line).get_text("id");
            let id = id.unwrap_or_default().into_owned();
            change.entries.push(NewEntry { id, line });
        }
        Ok(change)
    }

    /// Returns what is left to import of a source into an existing session. The session has a
    /// record of its last import: how many bytes of the source were read, and their hash.
    ///
    /// # Errors
    /// If the session was not imported from this source, or if the source no longer begins with the
    /// bytes that were imported.
    fn determine_state(
        &self,
        destination: &Destination,
        source_file: &JoinedSource,
        open: &OpenSession,
    ) -> Result<ImportState, Failure> {
        let source = &destination.source;
        let input = &open.input;
        let last_import = self.find_last_import(source, open)?;
        let record = &last_import.record;
        let imported_bytes = last_import.imported_bytes();
        let misfit = find_misfit(source, source_file, record, imported_bytes);
        let Some(misfit) = input.map_read_error(misfit)? else {
            return Ok(last_import.state_for(source));
        };

        // The source does not begin with the imported bytes. If the import only lacked the first
        // turns, the whole source is imported again, into a new session: the fallback.
        let lacked_base = lacked_first_turns(source, source_file, record, imported_bytes);
        if destination.fallback.is_some() && input.map_read_error(lacked_base)? {
            return Ok(ImportState::Continued);
        }
        Err(unfit_source(source, record, misfit))
    }

    /// Returns the newest record of an import in a session. Fails if there is none, or if the
    /// session was imported from another source or for another agent.
    fn find_last_import(&self, source: &Survey, open: &OpenSession) -> Result<LastImport, Failure> {
        let input = &open.input;
        let Some(last) = input.map_read_error(last_import(open))? else {
            return Err(input
                .failure("it exists, and has no record of an import")
                .with_hint("give another path with -o, or import the source again with --force"));
        };
        let is_same_source =
            last.record.origin == source.head.origin && last.record.id == source.head.id;
        let is_same_agent = open.session.dialect == self.agent;
        if !is_same_source || !is_same_agent {
            return Err(input
                .failure("it was made of another session, or for another agent")
                .with_hint("give another path with -o, or overwrite it with --force"));
        }
        Ok(last)
    }
}

/// Returns the lines of the entries that the source has beyond the earlier imports. Fails if the
/// source is changed meanwhile.
fn convert_new_lines(
    source_file: &JoinedSource,
    source: &Survey,
    target: &ImportTarget,
) -> io::Result<Vec<Vec<u8>>> {
    let mut lines = Vec::new();
    let mut collect_line = |_offset: u64, line: &[&[u8]]| {
        lines.push(line.concat());
        Ok(())
    };
    emit_new_entries(source_file, source, target, &mut collect_line)?;
    require_unchanged(source_file, source)?;
    Ok(lines)
}

/// Returns how a source differs from the bytes that were imported: the first `imported_bytes`
/// bytes, whose hash is in `record`. `None` if it begins with the same bytes.
fn find_misfit(
    source: &Survey,
    source_file: &JoinedSource,
    record: &ImportRecord,
    imported_bytes: u64,
) -> io::Result<Option<Misfit>> {
    if imported_bytes > source.bytes_read {
        return Ok(Some(Misfit::Shorter));
    }
    let is_same = if imported_bytes == source.bytes_read {
        // The survey has hashed these bytes already.
        source.sha256 == record.sha256
    } else {
        sha256_hex(source_file, 0..imported_bytes)? == record.sha256
    };
    if is_same {
        Ok(None)
    } else {
        Ok(Some(Misfit::Edited))
    }
}

/// A change that appends to a session, and the result that it will have once it is committed.
struct PlannedAppend {
    change: Change,
    result: ImportResult,
}

/// The newest record of an import in a session.
struct LastImport {
    record: ImportRecord,
    /// Whether the record is the last entry. If so, the session was not continued after the import.
    is_last_entry: bool,
}

impl LastImport {
    /// Returns the number of bytes of the source that were imported, in this import and before.
    fn imported_bytes(&self) -> u64 {
        self.record.imports.ends.last().copied().unwrap_or(0)
    }

    /// Returns what is left to do for the source, which still begins with the imported bytes.
    fn state_for(self, source: &Survey) -> ImportState {
        let has_grown = self.imported_bytes() < source.bytes_read;
        if !has_grown {
            ImportState::UpToDate
        } else if self.is_last_entry {
            ImportState::Grown(self.record.imports)
        } else {
            ImportState::Continued
        }
    }
}

/// Returns the newest record of an import in a session; `None` if the session was not imported.
/// Such a record is an entry of the type `custom`.
fn last_import(open: &OpenSession) -> io::Result<Option<LastImport>> {
    let session = &open.session;
    let reader = open.entry_reader();
    for ix in session.entry_indexes().rev() {
        if session.entry(ix).kind != Kind::Custom {
            continue;
        }
        if let Some(record) = ImportRecord::parse(&reader.read_line(ix)?) {
            let is_last_entry = ix.index() + 1 == session.entries.len();
            return Ok(Some(LastImport {
                record,
                is_last_entry,
            }));
        }
    }
    Ok(None)
}

/// Writes a new file with the modification time of the source, so that the agents do not take it
/// for the session that was used last.
fn create_with_time_of(
    source: &Path,
    path: &Path,
    fill: &mut Fill,
) -> Result<Committed, StoreError> {
    // The store can set the time of a new file only for a file of an archive. It does not use the
    // name and the size.
    let unused_name = String::new();
    let unused_size = 0;
    let modified = store::modified(source).unwrap_or(UNIX_EPOCH);
    // A session may contain secrets, so only its owner may read it.
    let mode = 0o600;
    let member = Member::new(unused_name, unused_size, modified, mode);
    store::restore(path, &member, fill)
}

/// Fails if the source no longer begins with the bytes that the survey read.
fn require_unchanged(file: &JoinedSource, survey: &Survey) -> io::Result<()> {
    if sha256_hex(file, 0..survey.bytes_read)? == survey.sha256 {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidData,
        "the file was changed or replaced after it was read",
    ))
}

/// Refuses to make a directory whose name has control characters. A terminal would obey them, and a
/// line break would split the name. The name comes from the source, which is not trusted.
fn refuse_control_characters(source: &Survey, folder: &Path) -> Result<(), Failure> {
    let folder_name = folder.file_name().unwrap_or_default().to_string_lossy();
    if !folder_name.chars().any(char::is_control) {
        return Ok(());
    }
    // The user has the directory already, so nothing new is made.
    let exists = !store::is_free(folder)?;
    if exists {
        return Ok(());
    }
    let what = "its working directory has control characters in its name";
    Err(source_failure(source, what).with_hint("give a path with -o"))
}

/// Returns the failure for an error of reading the source.
fn unreadable_source(source: &Survey, error: io::Error) -> Failure {
    Failure::from_read_error(&to_visible(&source.head.path.to_string_lossy()), error)
}

/// Whether an earlier import of the source lacked its first turns.
///
/// Codex continues a session in further files, which are joined to one source. If the import did
/// not find the first file, the imported bytes are those at a junction: the place in the source at
/// which a later file begins. `record` has their hash.
fn lacked_first_turns(
    source: &Survey,
    source_file: &JoinedSource,
    record: &ImportRecord,
    imported_bytes: u64,
) -> io::Result<bool> {
    for junction in &source.head.layout.junctions {
        let imported = junction.at..junction.at + imported_bytes;
        let is_in_source = imported.end <= source.bytes_read;
        if is_in_source && sha256_hex(source_file, imported)? == record.sha256 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The way in which a source differs from the bytes that were imported.
#[derive(Clone, Copy)]
enum Misfit {
    /// The source has fewer bytes.
    Shorter,
    /// The source does not begin with the same bytes.
    Edited,
}

/// Returns the failure for a source that does not begin with the imported bytes. It names the first
/// of three causes that applies:
///
/// - The first turns of the source are in another file of Codex, a rollout, which is missing.
/// - The session was imported from another file with the same id, which still exists.
/// - The source itself was changed.
fn unfit_source(source: &Survey, record: &ImportRecord, misfit: Misfit) -> Failure {
    if let Some(base) = &source.missing_base {
        let what = format!(
            "its first turns were imported, but their file, the rollout {base}, was not found"
        );
        return source_failure(source, &what).with_hint(
            "put that file back, or import without these turns with --force, into a new session",
        );
    }

    let imported_path = Path::new(&record.source_path);
    if imported_path != real_path(&source.head.path) && imported_path.is_file() {
        let other = to_visible(&record.source_path);
        let difference = match misfit {
            Misfit::Shorter => "is shorter",
            Misfit::Edited => "other lines",
        };
        let what = format!("it has the same id as {other}, which was imported, but {difference}");
        return source_failure(source, &what)
            .with_hint("--force imports it into a session of its own");
    }

    let what = match misfit {
        Misfit::Shorter => "it has become shorter since it was imported",
        Misfit::Edited => "it was edited since it was imported",
    };
    source_failure(source, what).with_hint("--force imports it again, into a new session")
}

/// Returns a failure for a source, with its path. `what` is a clause about the source.
fn source_failure(source: &Survey, what: &str) -> Failure {
    let name = to_visible(&source.head.path.to_string_lossy());
    Failure::invalid(format_args!("{name}: {what}")).with_path(&name)
}

/// Returns the path of a source without symbolic links, as its record has it.
fn real_path(path: &Path) -> PathBuf {
    use crate::agents::stores::Disk as _;
    store::OnDisk.resolve_links(path)
}

/// Returns the working directory of an existing session if the user gave another one for it.
fn kept_cwd(destination: &Destination, open: &OpenSession) -> Option<Text<'static>> {
    // A sub-agent is not reported: the warning about the session that started it is enough.
    let is_sub_agent = destination.source.head.sub_agent.is_some();
    if !destination.is_given_cwd || is_sub_agent {
        return None;
    }
    let recorded = open.session.header.cwd.as_ref()?;
    if *recorded == destination.cwd {
        return None;
    }
    Some(recorded.clone().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::foreign::survey_file;
    use crate::cli::output::Exit;
    use std::time::Duration;

    /// Two sources of one project, of which the first makes the directory and then fails: the other
    /// may have found it there.
    #[test]
    fn a_directory_stays_until_all_sources_are_done() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("source.jsonl");
        let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/claude/plain.jsonl");
        std::fs::copy(fixture, &source).unwrap();
        let project = folder.path().join("sessions/project");
        let to = Destination {
            source: survey_file(&source, &Rollouts::default()).unwrap().unwrap(),
            cwd: Text::from("/p"),
            is_given_cwd: false,
            id: "id".to_owned(),
            path: project.join("new.jsonl"),
            exists: false,
            fallback: None,
            is_explicit_path: false,
        };
        let change = ChangeArgs {
            dry_run: false,
            force: false,
            wait: Duration::ZERO,
            json: false,
        };
        let importer = Importer::new(Dialect::Pi, &change, &|_| false);

        std::fs::remove_file(&source).unwrap();
        assert_eq!(
            importer.import_source(&to).unwrap_err().exit(),
            Exit::Failed
        );
        assert!(project.is_dir());
        std::fs::copy(fixture, &source).unwrap();
        importer.import_source(&to).unwrap();
        std::fs::remove_file(&to.path).unwrap();
        drop(importer);
        assert!(!folder.path().join("sessions").exists());
    }
}
