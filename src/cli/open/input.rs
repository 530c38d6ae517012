//! The bytes of a session: a file, or a stream.

use crate::cli::counted::{Content, CountedSource};
use crate::cli::foreign::{
    self, ConvertedSource, is_foreign_session, resolve_argument_exactly,
    resolve_argument_to_change, resolve_argument_to_read,
};
use crate::cli::locate::find_archive_beside;
use crate::cli::output::{Failure, Progress, Ui, to_visible};
use crate::cli::process::command_line::quote_word;
use crate::cli::rollouts::Rollouts;
use crate::import::SourceHead;
use crate::load::{LoadError, LoadOptions, WrongFile, has_header, load, read_header};
use crate::session::prefilter::Prefilter;
use crate::session::{Header, Session};
use pisess_store::{self as store, InputFile, Opened, ReadAt, SessionFile, Spooled};
use std::fmt::Display;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// The path of standard input. Systems without it cannot compare an output with that input.
const STDIN_PATH: &str = "/dev/stdin";

/// The name of standard input in messages.
const STDIN: &str = "standard input";

/// A session file, or a stream that contains a session. It has not been loaded.
pub struct Input {
    /// The name of the session in messages: its path, or `standard input`.
    pub name: String,
    pub(super) opened: CountedSource,
    /// The progress bar, which shows how much of a large file was read.
    progress: Option<Progress>,
    /// The given path; `None` for standard input.
    pub path: Option<PathBuf>,
    /// The copy that is read instead of the opened bytes: redacted, or a part of the session.
    copy_to_read: Option<Spooled>,
    /// Whether the session was found by a name. Then its path is reported when it is changed.
    pub is_found_by_name: bool,
    /// Which session the file is, if another agent wrote it. The input is then a converted copy.
    pub foreign: Option<SourceHead>,
}

impl Input {
    /// Opens a path, a session by its name, or standard input for `-`. This is for commands that
    /// take a single session. Warns of an archive of a session that also exists itself.
    pub fn open(path: &Path, ui: &mut Ui) -> Result<Input, Failure> {
        Input::open_resolved(path, resolve_argument_exactly, ui)
    }

    /// Opens a session as [`Input::open`] does, for a command that only reads it. Such a command
    /// also accepts a session of another agent, by path or by id, and reads it as `import` would
    /// convert it.
    pub fn open_to_read(path: &Path, ui: &mut Ui) -> Result<Input, Failure> {
        Input::open_one_to_read(path, &Rollouts::default(), ui)
    }

    /// Opens a session as [`Input::open`] does, for a command that copies its lines, or whose
    /// change can be taken back. Words of a title name the session, too. A session of another agent
    /// is not converted.
    pub fn open_unconverted(path: &Path, ui: &mut Ui) -> Result<Input, Failure> {
        Input::open_resolved(path, resolve_argument_to_change, ui)
    }

    /// Opens standard input for `-`, or else the file at the path to which `resolve` resolves an
    /// argument.
    fn open_resolved(
        argument: &Path,
        resolve: fn(&Path, &mut Ui) -> Result<PathBuf, Failure>,
        ui: &mut Ui,
    ) -> Result<Input, Failure> {
        if argument == Path::new("-") {
            return Input::open_stdin(ui);
        }
        let found = resolve(argument, ui)?;
        let input = Input::open_path(&found, ui.stdout_predicate())?;
        Ok(input.begin(found != argument, ui))
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
        Input::begin_to_read(&found, found != path, rollouts, ui)
    }

    /// Opens one of several sessions as [`Input::open_one_to_read`] does. The path is the result of
    /// a search, which has applied `--source`: the agent of a sub-agent is that of its session.
    pub fn open_found_to_read(
        path: &Path,
        rollouts: &Rollouts,
        ui: &mut Ui,
    ) -> Result<Input, Failure> {
        if path == Path::new("-") {
            return Input::open_stdin(ui);
        }
        let is_found_by_name = false;
        Input::begin_to_read(path, is_found_by_name, rollouts, ui)
    }

    /// Opens the file of a session of any agent, and starts the progress bar.
    fn begin_to_read(
        path: &Path,
        is_found_by_name: bool,
        rollouts: &Rollouts,
        ui: &mut Ui,
    ) -> Result<Input, Failure> {
        let all_entries = None;
        let input = Input::open_path_to_read(path, rollouts, all_entries, ui.stdout_predicate())?;
        Ok(input.begin(is_found_by_name, ui))
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
            opened: CountedSource::new(Content::Opened(opened)),
            progress: None,
            copy_to_read: None,
            is_found_by_name: false,
            foreign: None,
        }
    }

    /// Opens a path. Refuses a file to which standard output is redirected: a command that prints
    /// the session would read its own output, without end.
    pub fn open_path(path: &Path, is_stdout: &dyn Fn(&File) -> bool) -> Result<Input, Failure> {
        let name = to_visible(&path.to_string_lossy());
        let opened = store::open(path, has_header)?;
        if let Opened::File(file) = &opened {
            refuse_stdout_as_input(path, file.handle(), is_stdout)?;
        }
        Ok(Input::new(name, Some(path.to_owned()), opened))
    }

    /// Opens a path as [`Input::open_path`] does, for a command that only reads it. A session of
    /// another agent is accepted, and converted once it is read. The converted session is read like
    /// a stream, and cannot be changed.
    ///
    /// If only entries with one of some words are needed, `words` is the prefilter for them, as
    /// [`ConvertedSource::open`] takes it.
    pub fn open_path_to_read(
        path: &Path,
        rollouts: &Rollouts,
        words: Option<&Prefilter>,
        is_stdout: &dyn Fn(&File) -> bool,
    ) -> Result<Input, Failure> {
        let input = Input::open_path(path, is_stdout)?;
        // A pipe is not examined, because it can be read only once. `ConvertedSource::open` opens
        // the file again: it may be a compressed rollout of Codex.
        let is_foreign =
            path.is_file() && input.map_read_error(is_foreign_session(input.source()))?;
        if !is_foreign {
            return Ok(input);
        }
        let Some(converted) = ConvertedSource::open(path, rollouts, words)? else {
            return Ok(input);
        };
        Ok(Input {
            foreign: Some(converted.head.clone()),
            opened: CountedSource::new(Content::Converted(Box::new(converted))),
            ..input
        })
    }

    /// Returns the input for a session that would be at a path, with its content.
    pub fn from_content(path: &Path, content: Spooled) -> Input {
        let name = to_visible(&path.to_string_lossy());
        Input::new(name, Some(path.to_owned()), Opened::Stream(content))
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
    pub(super) fn with_content(&self, content: Spooled) -> Input {
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
        ui.start_reading(&self.opened.read_bytes, self.expected_len())
    }

    /// Returns the number of bytes of the session. The length of a converted session is known only
    /// after its conversion: for it, this is the length of its file, which may be twice as long, or
    /// a little shorter.
    pub fn expected_len(&self) -> u64 {
        match (&self.copy_to_read, &self.opened.content) {
            (Some(copy), _) => copy.len(),
            (None, Content::Opened(opened)) => opened.len(),
            (None, Content::Converted(converted)) => converted.source_len(),
        }
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
        match &self.opened.content {
            Content::Opened(Opened::File(file)) => Some(file),
            Content::Opened(Opened::Stream(_)) | Content::Converted(_) => None,
        }
    }

    /// Returns the file that a new file must not replace: also one that was converted or
    /// decompressed, for which [`Input::file`] is `None`.
    pub fn protected_file(&self) -> InputFile<'_> {
        match (self.file(), &self.path) {
            (Some(file), _) => InputFile::Open(file),
            (None, Some(path)) => InputFile::Converted(path),
            // If it is redirected from a file, as in `< session.jsonl`, this is that file.
            (None, None) => InputFile::Converted(Path::new(STDIN_PATH)),
        }
    }

    /// Returns the path that an output may not have: the given one, or that of standard input.
    pub fn protected_path(&self) -> PathBuf {
        self.path.clone().unwrap_or_else(|| STDIN_PATH.into())
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

    /// Returns the session as an argument of a suggested command, quoted for a shell.
    pub fn as_argument(&self) -> String {
        match &self.path {
            Some(path) => quote_word(path.as_os_str()),
            None => "SESSION".to_owned(),
        }
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
    pub(super) fn content_failure(&self, error: LoadError) -> Failure {
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

/// Fails if standard output is redirected to `file`, a session that is to be read, because the
/// output would become part of it: `pisess show a.jsonl >> a.jsonl`. `path` is the path of `file`,
/// and `is_stdout` compares a file with standard output.
pub fn refuse_stdout_as_input(
    path: &Path,
    file: &File,
    is_stdout: &dyn Fn(&File) -> bool,
) -> Result<(), Failure> {
    if !is_stdout(file) {
        return Ok(());
    }
    let name = to_visible(&path.to_string_lossy());
    let failure = Failure::invalid(format_args!(
        "{name}: standard output is the session file itself"
    ));
    Err(failure.with_hint("omit the redirection to change the session, or write elsewhere with -o"))
}
