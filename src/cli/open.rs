//! Opens and loads the session that is named on the command line.

use super::counted::CountedSource;
use super::foreign::{self, convert_file_with_lines, is_foreign_session, resolve_argument_to_read};
use super::locate::find_archive_beside;
use super::named::resolve_argument;
use super::rollouts::Rollouts;
use crate::agents::pi::edits::ContextEdit;
use crate::cli::output::{Exit, Failure, FailureKind, Progress, Ui, to_visible};
use crate::import::Survey;
use crate::load::{
    LoadError, LoadOptions, WrongFile, add_rows, has_header, is_small, load, load_appended,
    read_header,
};
use crate::ops::plan::{Action, Change};
use crate::ops::rows::find_edits;
use crate::ops::switch::previous_leaf;
use crate::ops::{Refusal, label};
use crate::session::defect::FindingKind;
use crate::session::entry::{EntryIx, LineNo};
use crate::session::range::{EntryRange, Selection, resolve_range, resolve_selection};
use crate::session::read::entry_reader::EntryReader;
use crate::session::reference::{
    PREVIOUS_REFERENCE, Position, ReferenceError, ResolvedReference, resolve_reference,
};
use crate::session::{Header, Session};
use foldhash::HashMap;
use pisess_json::text::Text;
use pisess_store::{self as store, Opened, ReadAt, SessionFile, Spooled};
use std::fmt::Display;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// The name of standard input in messages.
const STDIN: &str = "standard input";

/// A session file, or a stream that contains a session. It has not been loaded.
pub struct Input {
    /// The name of the session in messages: its path, or `standard input`.
    pub name: String,
    opened: CountedSource,
    /// The progress bar, which shows how much of a large file was read.
    progress: Option<Progress>,
    /// The given path; `None` for standard input.
    pub path: Option<PathBuf>,
    /// The copy that is read instead of the opened bytes: redacted, or a part of the session.
    copy_to_read: Option<Spooled>,
    /// Whether the session was found by a name. Then its path is reported when it is changed.
    pub is_found_by_name: bool,
    /// The survey of the file, if another agent wrote it. The input is then a converted copy.
    pub survey: Option<Survey>,
}

/// A loaded session, with the input from which it was loaded.
pub struct OpenSession {
    pub input: Input,
    pub session: Session,
    /// The options of loading, to load the session again if the file has grown.
    options: LoadOptions,
}

impl Input {
    /// Opens a path, a session by its name, or standard input for `-`. This is for commands that
    /// take a single session. Warns of an archive of a session that also exists itself.
    pub fn open(path: &Path, ui: &mut Ui) -> Result<Input, Failure> {
        if path == Path::new("-") {
            return Input::open_stdin(ui);
        }
        let found = resolve_argument(path, ui)?;
        let input = Input::open_path(&found, ui.stdout_predicate())?;
        Ok(input.begin(found != path, ui))
    }

    /// Opens a session as [`Input::open`] does, for a command that only reads it. Such a command
    /// also accepts a session of another agent, by path or by id, and reads it as `import` would
    /// convert it.
    pub fn open_to_read(path: &Path, ui: &mut Ui) -> Result<Input, Failure> {
        Input::open_one_to_read(path, &Rollouts::default(), ui)
    }

    /// Opens one of several sessions as [`Input::open_to_read`] does. All of them share `rollouts`:
    /// otherwise, the whole store would be searched for each rollout of Codex.
    pub fn open_one_to_read(
        path: &Path,
        rollouts: &Rollouts,
        ui: &mut Ui,
    ) -> Result<Input, Failure> {
        if path == Path::new("-") {
            return Input::open_stdin(ui);
        }
        let found = resolve_argument_to_read(path, ui)?;
        let input = Input::open_path_to_read(&found, rollouts, ui.stdout_predicate())?;
        Ok(input.begin(found != path, ui))
    }

    /// Reads standard input. Refuses a terminal: the user and the command would wait for each
    /// other.
    fn open_stdin(ui: &mut Ui) -> Result<Input, Failure> {
        if ui.world.terminals.stdin {
            return Err(
                Failure::invalid("cannot read standard input: it is a terminal")
                    .with_hint("give the path of a session, or pipe one in"),
            );
        }
        let opened = Opened::Stream(store::spool(ui.world.stdin, has_header)?);
        Ok(Input::new(STDIN.to_owned(), None, opened))
    }

    /// Starts the progress bar, and warns of an archive of a session that also exists itself.
    fn begin(mut self, is_found_by_name: bool, ui: &mut Ui) -> Input {
        self.is_found_by_name = is_found_by_name;
        self.progress = self.start_reading(ui);
        self.warn_leftover_archive(ui);
        self
    }

    /// Returns an input with these bytes, and no further facts. `path` is `None` for standard
    /// input.
    fn new(name: String, path: Option<PathBuf>, opened: Opened) -> Input {
        Input {
            name,
            path,
            opened: CountedSource::new(opened),
            progress: None,
            copy_to_read: None,
            is_found_by_name: false,
            survey: None,
        }
    }

    /// Opens a path. Refuses a file to which standard output is redirected: a command that prints
    /// the session would read its own output, without end.
    pub fn open_path(path: &Path, is_stdout: &dyn Fn(&File) -> bool) -> Result<Input, Failure> {
        let name = to_visible(&path.to_string_lossy());
        let opened = store::open(path, has_header)?;
        if let Opened::File(file) = &opened {
            refuse_stdout(path, is_stdout(file.handle()))?;
        }
        Ok(Input::new(name, Some(path.to_owned()), opened))
    }

    /// Opens a path as [`Input::open_path`] does, for a command that only reads it. A session of
    /// another agent is accepted and converted. The converted session is read like a stream, and
    /// cannot be changed.
    pub fn open_path_to_read(
        path: &Path,
        rollouts: &Rollouts,
        is_stdout: &dyn Fn(&File) -> bool,
    ) -> Result<Input, Failure> {
        let input = Input::open_path(path, is_stdout)?;
        // A pipe is not examined, because it can be read only once. `convert_file_with_lines` opens
        // the file again: it may be a compressed rollout of Codex.
        let is_foreign =
            path.is_file() && input.map_read_error(is_foreign_session(input.source()))?;
        if !is_foreign {
            return Ok(input);
        }
        let Some((survey, copy)) = convert_file_with_lines(path, rollouts)? else {
            return Ok(input);
        };
        Ok(Input {
            opened: CountedSource::new(Opened::Stream(copy)),
            survey: Some(survey),
            ..input
        })
    }

    /// Returns the same input with the current state of its file. There is no progress bar, because
    /// only the end of the file will be read.
    pub fn with_file(&self, file: SessionFile) -> Input {
        self.with_opened(Opened::File(file))
    }

    /// Returns an input with the same name and path, but with other bytes.
    fn with_opened(&self, opened: Opened) -> Input {
        Input {
            is_found_by_name: self.is_found_by_name,
            ..Input::new(self.name.clone(), self.path.clone(), opened)
        }
    }

    /// Returns an input with the same name and path, but with content in memory or in a temporary
    /// file. Such an input cannot be locked or changed.
    fn with_content(&self, content: Spooled) -> Input {
        self.with_opened(Opened::Stream(content))
    }

    /// Returns the same input, but reading from a copy: a redacted one, or a part of the session.
    pub fn with_copy(self, copy: Spooled) -> Input {
        Input {
            copy_to_read: Some(copy),
            ..self
        }
    }

    /// Returns a progress bar for reading the session from now on. `None` if reading takes little
    /// time, or if its progress is unknown.
    pub fn start_reading(&self, ui: &Ui) -> Option<Progress> {
        if self.copy_to_read.is_some() {
            return None;
        }
        ui.start_reading(&self.opened.read_bytes, self.opened.len())
    }

    pub fn source(&self) -> &dyn ReadAt {
        match &self.copy_to_read {
            Some(copy) => copy,
            None => self.unredacted_source(),
        }
    }

    /// Returns the bytes of the session itself, even if a copy is read in place of them.
    pub fn unredacted_source(&self) -> &dyn ReadAt {
        &self.opened
    }

    /// Returns the file; `None` for a stream.
    pub fn file(&self) -> Option<&SessionFile> {
        match &self.opened.opened {
            Opened::File(file) => Some(file),
            Opened::Stream(_) => None,
        }
    }

    /// After a change, reports the path of a session that was found by its name.
    pub fn report_path(&self, ui: &mut Ui) {
        if self.is_found_by_name {
            ui.print_status(&format!("changed {}", self.name));
        }
    }

    pub fn is_stream(&self) -> bool {
        self.file().is_none()
    }

    pub fn load(&self, options: &LoadOptions) -> Result<Session, Failure> {
        load(self.source(), options).map_err(|error| self.content_failure(error))
    }

    /// Returns the file of a session that is to be changed in place. Fails for a stream.
    pub fn file_to_change(&self) -> Result<&SessionFile, Failure> {
        let Some(file) = self.file() else {
            let failure = self.failure("a stream cannot be changed in place");
            return Err(failure.with_hint("give the path of a file"));
        };
        Ok(file)
    }

    /// Reads the header. Fails if the input is not a session.
    pub fn read_header(&self) -> Result<Header, Failure> {
        read_header(self.source()).map_err(|error| self.content_failure(error))
    }

    /// Returns a failure about this session (exit 2).
    pub fn failure(&self, what: impl Display) -> Failure {
        Failure::invalid(format_args!("{}: {what}", self.name)).with_path(&self.name)
    }

    /// Returns a negative answer about this session (exit 1).
    pub fn negative_answer(&self, what: impl Display) -> Failure {
        Failure::negative(format_args!("{}: {what}", self.name)).with_path(&self.name)
    }

    /// Returns a failure for interference by another process (exit 3).
    pub fn busy_failure(&self, what: impl Display) -> Failure {
        Failure::busy(format_args!("{}: {what}", self.name))
            .with_path(&self.name)
            .with_hint("run the command again")
    }

    /// Returns the failure if an agent runs in one of these directories, and so may have the
    /// session open. `None` if no agent does.
    pub fn running_agent_failure(&self, folders: &[&Path]) -> Option<Failure> {
        let pid = store::find_agent_in(folders)?;
        Some(self.busy_failure(format_args!(
            "an agent runs in its directory (process {pid}) and may have it open"
        )))
    }

    /// Fails if an agent runs in one of these directories, and so may have the session open. Does
    /// not fail if `force` is set.
    pub fn refuse_running_agent(&self, folders: &[&Path], force: bool) -> Result<(), Failure> {
        match self.running_agent_failure(folders) {
            Some(failure) if !force => {
                Err(failure.with_hint("end that agent first, or use --force"))
            }
            _ => Ok(()),
        }
    }

    /// Returns the archive of a session that also exists itself; `None` if there is none. Such an
    /// archive is left by a run of `archive` that was killed. Some files of the session may be only
    /// in the archive.
    pub fn find_leftover_archive(&self) -> Option<PathBuf> {
        find_archive_beside(self.file()?.resolved())
    }

    /// Warns that a session exists both as a file and in an archive. Only the file is used.
    fn warn_leftover_archive(&self, ui: &mut Ui) {
        let Some(archive) = self.find_leftover_archive() else {
            return;
        };
        let archive = to_visible(&archive.to_string_lossy());
        ui.warn(&format!(
            "an interrupted run of `pisess archive` left {archive} (hint: `pisess archive --restore SESSION` puts back what the session lacks)"
        ));
    }

    /// Returns the result of reading this session, with an error as a failure.
    pub fn map_read_error<T>(&self, read: io::Result<T>) -> Result<T, Failure> {
        read.map_err(|error| self.read_failure(error))
    }

    pub fn read_failure(&self, error: io::Error) -> Failure {
        Failure::from_read_error(&self.name, error)
    }

    /// Returns the failure for content that is not a session, or cannot be loaded.
    fn content_failure(&self, error: LoadError) -> Failure {
        let is_empty = matches!(
            error,
            LoadError::NotASession {
                what: WrongFile::Empty,
                ..
            }
        );
        // An empty stream usually comes from a command that failed before the pipe.
        if is_empty && self.is_stream() {
            return self
                .failure("it is empty")
                .with_hint("the command before the pipe printed nothing");
        }
        foreign::load_failure(&self.name, self.source(), error)
    }
}

/// Fails if standard output is redirected to the session that is read: the output would become part
/// of the session. `is_stdout` is whether it is.
pub fn refuse_stdout(path: &Path, is_stdout: bool) -> Result<(), Failure> {
    if !is_stdout {
        return Ok(());
    }
    let name = to_visible(&path.to_string_lossy());
    Err(Failure::invalid(format_args!(
        "{name}: standard output is the session file itself"
    ))
    .with_hint("omit the redirection to change the session, or write elsewhere with -o"))
}

impl OpenSession {
    /// Opens and loads the session that an argument names. Warns of its problems.
    pub fn open(path: &Path, options: LoadOptions, ui: &mut Ui) -> Result<OpenSession, Failure> {
        let input = Input::open(path, ui)?;
        OpenSession::from_input(input, options, ui)
    }

    /// Opens and loads a session for a command that only reads it. See [`Input::open_to_read`].
    pub fn open_to_read(
        path: &Path,
        options: LoadOptions,
        ui: &mut Ui,
    ) -> Result<OpenSession, Failure> {
        let input = Input::open_to_read(path, ui)?;
        OpenSession::from_input(input, options, ui)
    }

    /// Loads a session from an open input. Warns of its problems.
    pub fn from_input(
        input: Input,
        options: LoadOptions,
        ui: &mut Ui,
    ) -> Result<OpenSession, Failure> {
        let workers = if is_small(input.source().len()) {
            1
        } else {
            ui.processor_count()
        };
        let options = LoadOptions { workers, ..options };
        let open = OpenSession::load(input, options)?;
        if let Some(problems) = open.summarize_problems() {
            ui.warn(&problems);
        }
        Ok(open)
    }

    /// Loads a session from an open input, without warnings.
    pub fn load(input: Input, options: LoadOptions) -> Result<OpenSession, Failure> {
        let session = input.load(&options)?;
        Ok(OpenSession {
            input,
            session,
            options,
        })
    }

    /// Adds rows to a session that was loaded without them, for a few entries in file order. If
    /// `options` have no rows, does nothing.
    pub fn add_rows(&mut self, entries: &[EntryIx], options: LoadOptions) -> Result<(), Failure> {
        let options = LoadOptions {
            workers: self.options.workers,
            ..options
        };
        let Some(row_options) = &options.rows else {
            return Ok(());
        };
        let added = add_rows(&mut self.session, self.input.source(), entries, row_options);
        let is_added = self.input.map_read_error(added)?;
        // The row of a tool result may depend on a call in another entry: then everything is read
        // again.
        if !is_added {
            self.session = self.input.load(&options)?;
        }
        Ok(())
    }

    /// Returns the session as it would be after a change. The change is not written to the
    /// session's file.
    pub fn after_change(&self, change: &Change) -> Result<OpenSession, Failure> {
        let source = self.input.source();
        let content = store::spool_written(&mut |out| change.write(&self.session, source, out))?;
        self.reload_from(self.input.with_content(content))
    }

    /// Adds a further change to a session from [`OpenSession::after_change`]. If possible, only the
    /// appended lines are read.
    pub fn add_change(&mut self, change: &Change) -> Result<(), Failure> {
        // A copy in memory can be extended only by complete lines after a complete line.
        let is_append = change.action(&self.session) == Action::Append;
        if is_append
            && self.session.ends_with_newline
            && let Opened::Stream(content) = &mut self.input.opened.opened
        {
            content.append(&change.appended_bytes())?;
            let added = load_appended(&mut self.session, self.input.source(), &self.options);
            if added.map_err(|error| self.input.content_failure(error))? {
                return Ok(());
            }
            self.session = self.input.load(&self.options)?;
            return Ok(());
        }
        *self = self.after_change(change)?;
        Ok(())
    }

    /// Loads the session again, with the same options, from the current content in `input`.
    pub fn reload_from(&self, input: Input) -> Result<OpenSession, Failure> {
        OpenSession::load(input, self.options.clone())
    }

    /// Adds the entries that were appended to the file. Returns false if the session must be loaded
    /// again.
    pub fn append_new_entries(&mut self, input: &Input) -> Result<bool, Failure> {
        load_appended(&mut self.session, input.source(), &self.options)
            .map_err(|error| input.content_failure(error))
    }

    pub fn entry_reader(&self) -> EntryReader<'_> {
        EntryReader::new(&self.session, self.input.source())
    }

    /// Returns the number of threads that read the session.
    pub fn worker_count(&self) -> usize {
        self.options.workers
    }

    /// Returns the position that a reference names, and whether the reference means `@`. `-` is the
    /// leaf before its last move.
    pub fn resolve_reference(&self, reference: &str) -> Result<ResolvedReference, Failure> {
        if reference == PREVIOUS_REFERENCE {
            let position = self.previous_leaf()?;
            return Ok(ResolvedReference {
                position,
                is_current: false,
            });
        }
        resolve_reference(&self.session, reference).map_err(|error| self.reference_failure(&error))
    }

    /// Returns the position that a reference names.
    pub fn resolve_position(&self, reference: &str) -> Result<Position, Failure> {
        Ok(self.resolve_reference(reference)?.position)
    }

    /// Returns the position below which to append, for a reference to the entry to continue from.
    /// For `@`, that is the leaf, so that labels and settings after the entry stay on the path.
    pub fn resolve_parent(&self, reference: &str) -> Result<Position, Failure> {
        let resolved = self.resolve_reference(reference)?;
        Ok(if resolved.is_current {
            self.session.leaf.into()
        } else {
            resolved.position
        })
    }

    /// Returns what an argument selects: one entry, or the entries of a range.
    pub fn resolve_selection(&self, argument: &str) -> Result<Selection, Failure> {
        if argument == PREVIOUS_REFERENCE {
            return Ok(Selection::Entry(self.previous_leaf()?));
        }
        resolve_selection(&self.session, argument).map_err(|error| self.reference_failure(&error))
    }

    /// Returns the range that a command reads: the range in `argument`, the last `last_count`
    /// entries of the conversation, or the path to the entry in `argument`. Without both, that is
    /// the path to the leaf.
    pub fn resolve_range(
        &self,
        argument: Option<&str>,
        last_count: Option<usize>,
    ) -> Result<EntryRange, Failure> {
        if argument == Some(PREVIOUS_REFERENCE) {
            return Ok(EntryRange::path_to(self.previous_leaf()?));
        }
        resolve_range(&self.session, argument, last_count)
            .map_err(|error| self.reference_failure(&error))
    }

    /// Returns the leaf before its last move. Fails if the leaf has never moved.
    fn previous_leaf(&self) -> Result<Position, Failure> {
        let previous = previous_leaf(&self.entry_reader());
        self.input.map_read_error(previous)?.ok_or_else(|| {
            let message = format!(
                "{}: there is no previous leaf: the leaf has never moved",
                self.input.name
            );
            Failure::new(Exit::Failed, FailureKind::Reference, message)
                .with_path(&self.input.name)
                .with_hint("`pisess branches` lists the branches; an entry with the id - is `id:-`")
        })
    }

    fn reference_failure(&self, error: &ReferenceError) -> Failure {
        reference_failure(&self.input.name, error)
    }

    /// Returns the entries that are edited or omitted on the path to `leaf`, as a model would see
    /// them.
    pub fn find_edits(
        &self,
        leaf: Option<EntryIx>,
    ) -> Result<HashMap<EntryIx, ContextEdit>, Failure> {
        self.input
            .map_read_error(find_edits(&self.entry_reader(), leaf))
    }

    /// Fails if another entry than `target` has the label `name`. `target` is `None` for an entry
    /// that is not written yet.
    pub fn check_label_is_free(
        &self,
        target: Option<EntryIx>,
        name: Option<&Text>,
    ) -> Result<(), Failure> {
        let Some(name) = name else {
            return Ok(());
        };
        label::check_label(&self.session, target, name)
            .map_err(|refusal| self.refusal_failure(refusal))
    }

    pub fn refusal_failure(&self, refusal: Refusal) -> Failure {
        match refusal {
            Refusal::Unreadable(error) => self.input.read_failure(error),
            impossible => failure_with_hint(&impossible, |what| self.input.failure(what)),
        }
    }

    /// Returns the entry at a position. `reference` is the argument that named it.
    ///
    /// # Errors
    /// If the position is the root.
    pub fn require_entry(&self, position: Position, reference: &str) -> Result<EntryIx, Failure> {
        position.entry().ok_or_else(|| {
            let failure = self
                .input
                .failure(format_args!("{reference} is not an entry"));
            failure.with_hint("root is the position before the first entry; give an entry")
        })
    }

    /// Returns the entry that a reference names. Fails for the root.
    pub fn find_entry(&self, reference: &str) -> Result<EntryIx, Failure> {
        self.require_entry(self.resolve_position(reference)?, reference)
    }

    /// Returns the entries of a range that belong to the conversation. `argument` is the argument
    /// that gave the range.
    ///
    /// # Errors
    /// If there are none.
    pub fn conversation_entries(
        &self,
        range: EntryRange,
        argument: &str,
    ) -> Result<Vec<EntryIx>, Failure> {
        let entries = range.conversation_entries(&self.session);
        if entries.is_empty() {
            let what = format_args!("{argument} contains only settings and bookkeeping");
            let failure = self.input.negative_answer(what);
            return Err(failure.with_hint("`pisess path` lists them"));
        }
        Ok(entries)
    }

    /// Returns the entries that the references name. Fails for the root.
    pub fn find_entries(&self, references: &[String]) -> Result<Vec<EntryIx>, Failure> {
        references
            .iter()
            .map(|reference| self.find_entry(reference))
            .collect()
    }

    /// Returns the id by which new entries name a position as their parent; `None` for the root.
    /// Fails if no id names the entry.
    pub fn new_parent_id(&self, position: Position) -> Result<Option<Text<'static>>, Failure> {
        let Position::Entry(parent) = position else {
            return Ok(None);
        };
        self.check_referable(parent, "be a parent")?;
        Ok(Some(self.session.id(parent).into_owned()))
    }

    /// Fails if a new entry cannot refer to `entry` by its id: `entry` has no id, or a later entry
    /// has the same id. `what` completes the error, "so it cannot be a parent".
    pub fn check_referable(&self, entry: EntryIx, what: &str) -> Result<(), Failure> {
        let id = self.session.id(entry);
        let line = self.session.shown_line(entry).0;
        if self.session.find_entry(&id) == Some(entry) && !id.is_empty() {
            return Ok(());
        }
        let reason = if id.is_empty() {
            "has no id"
        } else {
            "has the same id as a later one"
        };
        let name = &self.input.name;
        Err(Failure::invalid(format_args!(
            "{name}:{line}: the entry {reason}, so it cannot {what}"
        ))
        .with_path(name)
        .with_line(line)
        .with_hint(format!("see `pisess check {name}`")))
    }

    /// Returns a line about the problems of the file: for each kind, their number and the line of
    /// the first. `None` if there are no problems.
    fn summarize_problems(&self) -> Option<String> {
        struct ProblemCount {
            kind: FindingKind,
            count: u32,
            first_line: LineNo,
        }

        // The kinds, in the order of their first occurrence.
        let mut counts: Vec<ProblemCount> = Vec::new();
        for problem in &self.session.problems {
            match counts
                .iter_mut()
                .find(|counted| counted.kind == problem.kind)
            {
                Some(counted) => counted.count += 1,
                None => counts.push(ProblemCount {
                    kind: problem.kind,
                    count: 1,
                    first_line: problem.line,
                }),
            }
        }
        if counts.is_empty() {
            return None;
        }

        let mut descriptions = Vec::new();
        for counted in counts {
            descriptions.push(
                counted
                    .kind
                    .describe_lines(counted.first_line, counted.count),
            );
        }
        Some(format!(
            "{}: {}; skipped or read as far as possible {CHECK_HINT}",
            self.input.name,
            descriptions.join(", ")
        ))
    }
}

/// The hint for a session with damaged lines. It follows the path of the session.
pub const CHECK_HINT: &str = "(hint: `pisess check` explains it)";

/// The warning for a session without entries.
pub const NO_ENTRIES: &str = "the session has no entries (hint: `pisess list --all` lists others)";

/// Returns the failure for a reference or a range that cannot be resolved in the session `name`
/// (exit 2). A range without entries is a negative answer (exit 1).
pub fn reference_failure(name: &str, error: &ReferenceError) -> Failure {
    let exit = match error {
        ReferenceError::EmptyRange { .. } => Exit::Found,
        _ => Exit::Failed,
    };
    Failure::new(
        exit,
        FailureKind::Reference,
        format_args!("{name}: {error}"),
    )
    .with_path(name)
    .with_hint(error.hint())
}

/// Parses the label in an argument. Fails if it is not a valid label.
pub fn parse_label(given: &str) -> Result<Text<'_>, Failure> {
    label::parse_label(given)
        .map_err(|refusal| failure_with_hint(&refusal, |what| Failure::invalid(what)))
}

/// Returns the failure for a refusal, with the hint of the refusal. `failure` makes it from the
/// reason.
pub fn failure_with_hint(refusal: &Refusal, failure: impl FnOnce(&Refusal) -> Failure) -> Failure {
    match refusal {
        Refusal::Impossible {
            hint: Some(hint), ..
        } => failure(refusal).with_hint(hint),
        _ => failure(refusal),
    }
}
