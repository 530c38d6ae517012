//! Opening and loading the session named on the command line.

use super::locate::archive_named_after;
use super::named::named;
use crate::agents::pi::edits::Edit;
use crate::cli::output::{Exit, Failure, FailureKind, Ui, visible};
use crate::load::{
    LoadError, Options, WrongFile, add_rows, append, has_header, is_small, load, read_header,
};
use crate::ops::rows::edited;
use crate::ops::switch::previous_leaf;
use crate::ops::{Refusal, label};
use crate::session::defect::FindingKind;
use crate::session::entry::EntryIx;
use crate::session::read::entry_reader::EntryReader;
use crate::session::reference::{LEAF, PREVIOUS, Position, resolve};
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

/// A session file, or a stream that contains a session.
pub struct Input {
    pub name: String,
    opened: Opened,
    /// The path that was given, unless it is standard input.
    pub path: Option<PathBuf>,
    /// The copy that is read in place of its bytes.
    redacted: Option<Spooled>,
    /// Whether it was found by a name, so that its path is to be reported.
    pub by_name: bool,
}

/// A session as a command reads it: its bytes, and the session loaded from them.
pub struct OpenSession {
    pub input: Input,
    pub session: Session,
    /// The options it was loaded with, to load it again if the file has grown.
    options: Options,
}

impl Input {
    /// Opens a path, standard input for `-`, or a session by its name. Commands that take a single
    /// session open it with this function. Reports an archive that is beside the session.
    pub fn open(path: &Path, ui: &mut Ui) -> Result<Input, Failure> {
        if path == Path::new("-") {
            if ui.world.terminals.stdin {
                return Err(
                    Failure::cannot("cannot read standard input: it is a terminal")
                        .hint("give the path of a session, or pipe one in"),
                );
            }
            let opened = Opened::Stream(store::spool(ui.world.stdin, has_header)?);
            return Ok(Input {
                name: STDIN.to_owned(),
                path: None,
                opened,
                redacted: None,
                by_name: false,
            });
        }
        let found = named(path, ui)?;
        let input = Input {
            by_name: found != path,
            ..Input::open_path(&found, ui.stdout_is())?
        };
        input.warn_of_archive(ui);
        Ok(input)
    }

    /// Opens a path; refuses one that is standard output.
    pub fn open_path(path: &Path, is_stdout: &dyn Fn(&File) -> bool) -> Result<Input, Failure> {
        let name = visible(&path.to_string_lossy());
        let opened = store::open(path, has_header)?;
        if let Opened::File(file) = &opened {
            refuse_stdout(path, is_stdout(file.handle()))?;
        }
        Ok(Input {
            name,
            path: Some(path.to_owned()),
            opened,
            redacted: None,
            by_name: false,
        })
    }

    /// Returns the same input with the file as it is now.
    pub fn reopened(&self, file: SessionFile) -> Input {
        Input {
            name: self.name.clone(),
            path: self.path.clone(),
            opened: Opened::File(file),
            redacted: None,
            by_name: self.by_name,
        }
    }

    /// Returns the same input, read from a redacted copy.
    pub fn redacted(self, copy: Spooled) -> Input {
        Input {
            redacted: Some(copy),
            ..self
        }
    }

    pub fn source(&self) -> &dyn ReadAt {
        match &self.redacted {
            Some(copy) => copy,
            None => self.unredacted(),
        }
    }

    /// Returns the source of its bytes before redaction.
    pub fn unredacted(&self) -> &dyn ReadAt {
        match &self.opened {
            Opened::File(file) => file,
            Opened::Stream(spooled) => spooled,
        }
    }

    /// Returns the file, unless it is a stream.
    pub fn file(&self) -> Option<&SessionFile> {
        match &self.opened {
            Opened::File(file) => Some(file),
            Opened::Stream(_) => None,
        }
    }

    /// Reports the path of a changed session that was found by its name.
    pub fn report_path(&self, ui: &mut Ui) {
        if self.by_name {
            ui.status(&format!("changed {}", self.name));
        }
    }

    pub fn is_stream(&self) -> bool {
        self.file().is_none()
    }

    pub fn load(&self, options: &Options) -> Result<Session, Failure> {
        load(self.source(), options).map_err(|error| self.failed(error))
    }

    /// Reads the header; fails if the input is not a session.
    pub fn header(&self) -> Result<Header, Failure> {
        read_header(self.source()).map_err(|error| self.failed(error))
    }

    /// Returns a failure for this session (exit 2).
    pub fn cannot(&self, what: impl Display) -> Failure {
        Failure::cannot(format_args!("{}: {what}", self.name)).path(&self.name)
    }

    /// Returns a failure to resolve a reference in this session (exit 2).
    pub fn unresolved(&self, what: impl Display) -> Failure {
        let message = format_args!("{}: {what}", self.name);
        Failure::new(Exit::Cannot, FailureKind::Reference, message).path(&self.name)
    }

    /// Returns a negative answer for this session (exit 1).
    pub fn no(&self, what: impl Display) -> Failure {
        Failure::no(format_args!("{}: {what}", self.name)).path(&self.name)
    }

    /// Returns a failure because another process interfered (exit 3).
    pub fn busy(&self, what: impl Display) -> Failure {
        Failure::busy(format_args!("{}: {what}", self.name))
            .path(&self.name)
            .hint("run the command again")
    }

    /// Returns the failure for a session that an agent may have open, because it runs in one of
    /// these directories.
    pub fn running_agent(&self, folders: &[&Path]) -> Option<Failure> {
        let pid = store::agent_in(folders)?;
        Some(self.busy(format_args!(
            "an agent runs in its directory (process {pid}) and may have it open"
        )))
    }

    /// Refuses a session that an agent may have open, because it runs in one of these directories,
    /// unless `force` is set.
    pub fn refuse_running(&self, folders: &[&Path], force: bool) -> Result<(), Failure> {
        match self.running_agent(folders) {
            Some(failure) if !force => Err(failure.hint("end that agent first, or use --force")),
            _ => Ok(()),
        }
    }

    /// Returns the archive of a session that is in its place, if any: a run of `archive` was killed,
    /// and files of the session may be in the archive only.
    pub fn archive(&self) -> Option<PathBuf> {
        archive_named_after(self.file()?.resolved())
    }

    fn warn_of_archive(&self, ui: &mut Ui) {
        let Some(archive) = self.archive() else {
            return;
        };
        let archive = visible(&archive.to_string_lossy());
        ui.warn(&format!(
            "{}: an interrupted run of `pisess archive` left {archive} (hint: `pisess archive --restore {archive}` puts back what the session lacks)",
            self.name
        ));
    }

    /// Returns what was read of this session, or why it could not be.
    pub fn read<T>(&self, read: io::Result<T>) -> Result<T, Failure> {
        read.map_err(|error| self.unreadable(error))
    }

    pub fn unreadable(&self, error: io::Error) -> Failure {
        Failure::reading(&self.name, error)
    }

    fn failed(&self, error: LoadError) -> Failure {
        match error {
            LoadError::NotASession {
                what: WrongFile::Empty,
                ..
            } if self.is_stream() => self
                .cannot("it is empty")
                .hint("the command before the pipe printed nothing"),
            error => Failure::load(&self.name, error),
        }
    }
}

pub fn refuse_stdout(path: &Path, is_stdout: bool) -> Result<(), Failure> {
    if !is_stdout {
        return Ok(());
    }
    let name = visible(&path.to_string_lossy());
    Err(Failure::cannot(format_args!(
        "{name}: standard output is the session file itself"
    ))
    .hint("omit the redirection to change the session, or write elsewhere with -o"))
}

impl OpenSession {
    /// Opens and loads the session that an argument names; warns about its problems.
    pub fn open(path: &Path, options: Options, ui: &mut Ui) -> Result<OpenSession, Failure> {
        let input = Input::open(path, ui)?;
        OpenSession::of(input, options, ui)
    }

    /// Loads a session from an open input; warns about its problems.
    pub fn of(input: Input, options: Options, ui: &mut Ui) -> Result<OpenSession, Failure> {
        let workers = if is_small(input.source().len()) {
            1
        } else {
            ui.processors()
        };
        let options = Options { workers, ..options };
        let open = OpenSession::load(input, options)?;
        if let Some(problems) = open.problems() {
            ui.warn(&problems);
        }
        Ok(open)
    }

    pub fn load(input: Input, options: Options) -> Result<OpenSession, Failure> {
        let session = input.load(&options)?;
        Ok(OpenSession {
            input,
            session,
            options,
        })
    }

    /// Adds the rows of a few entries, in file order, to a session that was opened without rows.
    pub fn add_rows(&mut self, entries: &[EntryIx], options: Options) -> Result<(), Failure> {
        let options = Options {
            workers: self.options.workers,
            ..options
        };
        if let Some(rows) = &options.rows
            && !self.input.read(add_rows(
                &mut self.session,
                self.input.source(),
                entries,
                rows,
            ))?
        {
            self.session = self.input.load(&options)?;
        }
        Ok(())
    }

    /// Loads the same session from the file as it is now.
    pub fn reloaded(&self, input: Input) -> Result<OpenSession, Failure> {
        OpenSession::load(input, self.options.clone())
    }

    /// Adds what was appended to the file. Returns `false` if the session must be loaded again.
    pub fn grow(&mut self, input: &Input) -> Result<bool, Failure> {
        append(&mut self.session, input.source(), &self.options)
            .map_err(|error| input.failed(error))
    }

    pub fn reader(&self) -> EntryReader<'_> {
        EntryReader::new(&self.session, self.input.source())
    }

    /// Returns the number of threads to read with.
    pub fn workers(&self) -> usize {
        self.options.workers
    }

    /// Returns the position that a reference names.
    pub fn resolve(&self, reference: &str) -> Result<Position, Failure> {
        self.resolve_from(self.session.leaf, reference)
    }

    /// Returns the position that a reference to an entry above the leaf names: `@^` and `@~3` start
    /// at the last entry of the conversation.
    pub fn resolve_above(&self, reference: &str) -> Result<Position, Failure> {
        self.resolve_from(self.last_of_conversation(), reference)
    }

    fn last_of_conversation(&self) -> Position {
        label::last_of_conversation(&self.session, self.session.leaf)
    }

    fn resolve_from(&self, leaf: Position, reference: &str) -> Result<Position, Failure> {
        if reference == PREVIOUS {
            return self
                .input
                .read(previous_leaf(&self.reader()))?
                .ok_or_else(|| {
                    let failure = self
                        .input
                        .unresolved("there is no previous leaf: the leaf has never moved");
                    failure.hint(
                        "`pisess branches` lists the branches; an entry with the id - is `id:-`",
                    )
                });
        }
        resolve(&self.session, leaf, reference)
            .map_err(|error| self.input.unresolved(&error).hint(error.hint()))
    }

    /// Returns the entries that would be edited or omitted if the leaf were at this position.
    pub fn edits(&self, leaf: Position) -> Result<HashMap<EntryIx, Edit>, Failure> {
        self.input.read(edited(&self.reader(), leaf))
    }

    /// Fails if an entry other than `target` has the label; `None` is an entry that is not written
    /// yet.
    pub fn label_is_free(&self, target: Position, name: Option<&Text>) -> Result<(), Failure> {
        name.map_or(Ok(()), |name| {
            label::check_name(&self.session, target, name)
        })
        .map_err(|refusal| self.refused(refusal))
    }

    pub fn refused(&self, refusal: Refusal) -> Failure {
        match refusal {
            Refusal::Unreadable(error) => self.input.unreadable(error),
            impossible => explained(&impossible, |what| self.input.cannot(what)),
        }
    }

    /// Returns the position that a reference names, for a command that asks for an entry of the
    /// conversation: `@` is the last one, not a label, a name, a mark or a setting after it.
    pub fn resolve_entry(&self, reference: &str) -> Result<Position, Failure> {
        match reference {
            LEAF => Ok(self.last_of_conversation()),
            _ => self.resolve(reference),
        }
    }

    /// Returns the entry at a position.
    ///
    /// # Errors
    /// If the position is the root, which `reference` named.
    pub fn entry_at(&self, place: Position, reference: &str) -> Result<EntryIx, Failure> {
        place.ok_or_else(|| {
            let failure = self
                .input
                .cannot(format_args!("{reference} is not an entry"));
            failure.hint("root is the position before the first entry; give an entry")
        })
    }

    /// Returns the entry of the conversation that a reference names.
    pub fn entry(&self, reference: &str) -> Result<EntryIx, Failure> {
        self.entry_at(self.resolve_entry(reference)?, reference)
    }

    /// Returns the entries of the conversation that references name.
    pub fn entries(&self, references: &[String]) -> Result<Vec<EntryIx>, Failure> {
        references
            .iter()
            .map(|reference| self.entry(reference))
            .collect()
    }

    /// Returns the id by which new entries can name a position as their parent, `None` for the
    /// root.
    pub fn new_parent(&self, place: Position) -> Result<Option<Text<'static>>, Failure> {
        let Some(parent) = place else {
            return Ok(None);
        };
        self.refer(parent, "be a parent")?;
        Ok(Some(self.session.id(parent).into_owned()))
    }

    /// Fails if a new entry cannot refer to this one by its id: the entry has no id, or a later entry
    /// has the same id. `what` completes the error "so it cannot …".
    pub fn refer(&self, place: EntryIx, what: &str) -> Result<(), Failure> {
        let id = self.session.id(place);
        let line = self.session.entry(place).line.0;
        if self.session.find(&id) == Some(place) && !id.is_empty() {
            return Ok(());
        }
        let why = if id.is_empty() {
            "has no id"
        } else {
            "has the same id as a later one"
        };
        let name = &self.input.name;
        Err(Failure::cannot(format_args!(
            "{name}:{line}: the entry {why}, so it cannot {what}"
        ))
        .path(name)
        .on_line(line)
        .hint(format!("see `pisess check {name}`")))
    }

    /// Returns one line that lists the problems of the file, one for each kind: how many there are,
    /// and the line of the first. `None` if there are none.
    fn problems(&self) -> Option<String> {
        let mut kinds: Vec<(FindingKind, u32, u32)> = Vec::new();
        for problem in &self.session.problems {
            match kinds.iter_mut().find(|(kind, ..)| *kind == problem.kind) {
                Some((_, count, _)) => *count += 1,
                None => kinds.push((problem.kind, 1, problem.line.0)),
            }
        }
        let described: Vec<_> = kinds
            .iter()
            .map(|&(kind, count, line)| match count {
                1 => format!("{} on line {line}", noun(kind)),
                _ => format!("{count} × {} from line {line}", noun(kind)),
            })
            .collect();
        let file = if self.input.name == STDIN {
            "-"
        } else {
            &self.input.name
        };
        let all = format!(
            "{}: {}; skipped or read as far as possible (hint: pisess check {file})",
            self.input.name,
            described.join(", ")
        );
        (!described.is_empty()).then_some(all)
    }
}

/// Returns the label given by an argument.
pub fn label_name(given: &str) -> Result<Text<'_>, Failure> {
    label::name(given).map_err(|refusal| explained(&refusal, |what| Failure::cannot(what)))
}

/// Returns a failure with the reason and the hint of a refusal.
pub fn explained(refusal: &Refusal, failure: impl FnOnce(&Refusal) -> Failure) -> Failure {
    match refusal {
        Refusal::Impossible {
            hint: Some(hint), ..
        } => failure(refusal).hint(hint),
        _ => failure(refusal),
    }
}

/// Returns what a problem is, for people: its name, or a clearer one.
fn noun(kind: FindingKind) -> String {
    let clearer = match kind {
        FindingKind::TornTail => "torn last line",
        FindingKind::FusedLine => "several values",
        FindingKind::NotAnEntry => "value that is not an entry",
        FindingKind::InvalidUtf8 => "invalid UTF-8",
        FindingKind::OddVersion => "version that is not a number",
        FindingKind::MissingId => "entry without id",
        FindingKind::ParentCycle => "cycle of parents",
        _ => return kind.name().replace('-', " "),
    };
    clearer.to_owned()
}
