//! Imports one source: decides what is left to do, and does it under the lock of the session.

use crate::cli::locate::{Places, stores_seen_from_recorded};
use crate::cli::open::Input;
use crate::cli::output::{Failure, Ui, visible};
use crate::cli::transaction::{Attempted, commit, output_or_input, under_lock};
use crate::import::{Origin, Record, Survey, Target, convert, digest, write};
use crate::load::Options;
use crate::ops::plan::{Action, Change, NewEntry};
use crate::session::Session;
use crate::session::dialect::Dialect;
use crate::session::entry::Kind;
use crate::session::read::entry_reader::{EntryReader as _, FileReader};
use foldhash::HashMap;
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_store::{self as store, Committed, Locked, Member, NewFolder, SessionFile, Spooled, WriteOptions};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// A source that was read.
#[derive(Debug)]
pub struct Surveyed {
    /// Its path.
    pub path: PathBuf,
    /// What it contains.
    pub survey: Survey,
}

/// Reads a source. Returns `None` if another agent wrote the file, or none.
///
/// # Errors
/// If it cannot be read.
pub fn survey(path: &Path) -> Result<Option<Surveyed>, Failure> {
    let file = SessionFile::open(path)?;
    let failed = |error| Failure::reading(&visible(&path.to_string_lossy()), error);
    let Some(origin) = Origin::of(&file).map_err(failed)? else { return Ok(None) };
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let survey = crate::import::survey(&file, origin, &stem).map_err(failed)?;
    Ok(Some(Surveyed { path: path.to_owned(), survey }))
}

/// Returns what a file contains, and the session of pi that it would become. Returns `None` if another agent wrote it, or
/// none.
///
/// # Errors
/// If it cannot be read.
pub fn converted(path: &Path) -> Result<Option<(Survey, Spooled)>, Failure> {
    let Some(Surveyed { path, survey }) = survey(path)? else { return Ok(None) };
    let file = SessionFile::open(&path)?;
    let id = survey.session_id(Dialect::Pi, 0);
    let target = Target { agent: Dialect::Pi, id: &id, source: &path, earlier: &[] };
    let cwd = survey.cwd.clone().unwrap_or_default();
    let copy = store::spool_written(&mut |out| write(&file, &survey, &target, &cwd, out))?;
    Ok(Some((survey, copy)))
}

/// Where the session of a source is, or will be.
#[derive(Clone, Debug)]
pub struct Place {
    /// The working directory of the session.
    cwd: Text<'static>,
    /// The id of the session, and its file.
    id: String,
    path: PathBuf,
    /// Whether it is there already.
    exists: bool,
    /// The id and the file of the session to make if that one cannot be continued.
    beside: Option<(String, PathBuf)>,
    /// Whether the user gave the path, so that its directory is not made.
    is_given: bool,
}

/// Returns where the sessions of these sources are, or will be: first those that started the others. `output` is a file, a
/// directory, or `-`.
pub fn places(
    sources: Vec<Surveyed>,
    agent: Dialect,
    output: Option<&Path>,
    ui: &Ui,
) -> Vec<(Surveyed, Place)> {
    let folder = output.filter(|output| output.is_dir());
    let files = match (output, folder) {
        (None, _) => Places::of(ui).everywhere().files.into_iter().map(|file| file.path).collect(),
        (Some(_), Some(folder)) => store::paths_in(folder),
        (Some(_), None) => Vec::new(),
    };
    let id = |path: &PathBuf| Some(path.file_stem()?.to_str()?.rsplit_once('_')?.1.to_owned());
    let mut known: HashMap<String, PathBuf> =
        files.into_iter().filter_map(|path| Some((id(&path)?, path))).collect();
    let mut folders: HashMap<String, PathBuf> = HashMap::default();
    let mut place = |source: &Surveyed| {
        let survey = &source.survey;
        let here = || Text::from(ui.folder().to_string_lossy().into_owned());
        let cwd = survey.cwd.clone().unwrap_or_else(here);
        let id = survey.session_id(agent, 0);
        if let Some(file) = output.filter(|_| folder.is_none()) {
            let exists = file != Path::new("-") && file.symlink_metadata().is_ok();
            return Place { cwd, id, path: file.to_owned(), exists, beside: None, is_given: true };
        }
        // Sub-agents are in the directory named like the session that started them.
        let owners = (0..).map_while(|copy| known.get(&survey.owner_id(agent, copy)?));
        if let Some((owner, (_, name))) = owners.last().zip(survey.sub_agent.as_ref()) {
            let path = owner.with_extension("").join(format!("{}.jsonl", in_file_names(name)));
            let exists = path.symlink_metadata().is_ok();
            return Place { cwd, id, path, exists, beside: None, is_given: false };
        }
        let mut own = || {
            let cwd = cwd.to_string_lossy().into_owned();
            folders.entry(cwd.clone()).or_insert_with(|| folder_for(Path::new(&cwd), agent, ui)).clone()
        };
        // The newest of those that were made of the source.
        let made = |copy: &u32| known.contains_key(&survey.session_id(agent, *copy));
        let next = (0..).find(|copy| !made(copy)).unwrap_or_default();
        let last = next.checked_sub(1).map(|copy| survey.session_id(agent, copy));
        let last = last.and_then(|id| Some((known.get(&id)?.clone(), id)));
        let beside = survey.session_id(agent, next);
        let new = folder.map_or_else(
            || last.as_ref().and_then(|(path, _)| Some(path.parent()?.to_owned())).unwrap_or_else(&mut own),
            Path::to_owned,
        );
        let new = new.join(survey.file_name(&beside));
        // Another source of the same session finds it there.
        let (path, id, exists) =
            last.map_or((new.clone(), beside.clone(), false), |(path, id)| (path, id, true));
        known.entry(id.clone()).or_insert_with(|| path.clone());
        Place { cwd, id, path, exists, beside: exists.then_some((beside, new)), is_given: false }
    };
    let (agents, others): (Vec<_>, Vec<_>) =
        sources.into_iter().partition(|source| source.survey.sub_agent.is_some());
    others
        .into_iter()
        .chain(agents)
        .map(|source| {
            let place = place(&source);
            (source, place)
        })
        .collect()
}

/// Returns a text of which nothing but letters and digits is left that could be more than a file name.
fn in_file_names(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect()
}

/// Returns the directory in which an agent keeps the sessions of a project.
fn folder_for(cwd: &Path, agent: Dialect, ui: &Ui) -> PathBuf {
    let stores = stores_seen_from_recorded(cwd, ui);
    let store = stores.iter().find(|store| store.agent == agent);
    store
        .and_then(|store| store.project_folders().first())
        .map_or_else(|| ui.folder().to_owned(), PathBuf::clone)
}

/// What became of a source.
#[derive(Debug)]
pub struct Done {
    /// The session's file.
    pub to: PathBuf,
    /// What was done, or with `-n` would be.
    pub action: Action,
    /// The number of entries written.
    pub entries: usize,
    /// What the commit reports.
    pub committed: Option<Committed>,
}

/// What is left to do for a session that was imported before.
enum State {
    /// Nothing.
    Current,
    /// The source has grown since; the offsets are those of earlier imports.
    Grown(Vec<u64>),
    /// It has, but the session was continued, too.
    Continued,
}

/// Imports sources, on several threads.
pub struct Importer<'a> {
    /// The agent to import for.
    pub agent: Dialect,
    /// Whether nothing is written.
    pub dry_run: bool,
    /// Whether refusals are overridden.
    pub force: bool,
    /// How long to wait for a lock.
    pub wait: Duration,
    /// Whether a file is standard output.
    pub stdout_is: &'a (dyn Fn(&File) -> bool + Sync),
}

impl Importer<'_> {
    /// Imports a source to its place.
    ///
    /// # Errors
    /// If it cannot be imported. Nothing was written.
    pub fn import(&self, source: &Surveyed, place: &Place) -> Result<Done, Failure> {
        if !place.exists {
            return self.create(source, place, (&place.id, &place.path));
        }
        let input = Input::open_path(&place.path, self.stdout_is)?;
        let session = input.load(&Options::default())?;
        let file = SessionFile::open(&source.path)?;
        let state = match self.state(source, &file, &input, &session) {
            Err(_) if self.force => State::Continued,
            state => state?,
        };
        match (state, &place.beside) {
            (State::Current, _) => {
                Ok(Done { to: place.path.clone(), action: Action::Nothing, entries: 0, committed: None })
            }
            (State::Grown(_), _) => match self.append(source, &file, place, &input)? {
                Some(done) => Ok(done),
                None => self.import(source, place),
            },
            (State::Continued, Some((id, path))) => self.create(source, place, (id, path)),
            (State::Continued, None) if self.force => self.create(source, place, (&place.id, &place.path)),
            (State::Continued, None) => Err(input
                .cannot("it was continued since it was imported")
                .hint("give another path with -o, or overwrite it with --force")),
        }
    }

    /// Writes the session of a source to a stream.
    ///
    /// # Errors
    /// If the source cannot be read, or the stream not be written.
    pub fn print(&self, source: &Surveyed, place: &Place, out: &mut dyn Write) -> Result<(), Failure> {
        let file = Input::open_path(&source.path, self.stdout_is)?;
        let filled = self.fill(source, place, &place.id, out);
        filled.map(|_| ()).map_err(|error| output_or_input(&file, error))
    }

    /// Writes the whole session; returns the number of its entries.
    fn fill(
        &self,
        source: &Surveyed,
        place: &Place,
        id: &str,
        out: &mut dyn Write,
    ) -> Result<usize, io::Error> {
        let file = SessionFile::open(&source.path).map_err(io::Error::other)?;
        let target = Target { agent: self.agent, id, source: &real(&source.path), earlier: &[] };
        let mut counted = Lines { out, lines: 0 };
        write(&file, &source.survey, &target, &place.cwd, &mut counted)?;
        let lines = counted.lines;
        unchanged(&file, &source.survey)?;
        let head = if self.agent == Dialect::OhMyPi { 2 } else { 1 };
        Ok(lines.saturating_sub(head))
    }

    /// Creates a session.
    fn create(&self, source: &Surveyed, place: &Place, (id, path): (&str, &Path)) -> Result<Done, Failure> {
        let mut entries = 0;
        let mut fill = |out: &mut dyn Write| {
            entries = self.fill(source, place, id, out)?;
            Ok(())
        };
        if self.dry_run {
            fill(&mut io::sink()).map_err(|error| unreadable(source, error))?;
            return Ok(Done { to: path.to_owned(), action: Action::Create, entries, committed: None });
        }
        let folder = path.parent().filter(|_| !place.is_given).map(NewFolder::make).transpose()?;
        let committed = Some(self.put(source, path, &mut fill)?);
        folder.into_iter().for_each(NewFolder::keep);
        Ok(Done { to: path.to_owned(), action: Action::Create, entries, committed })
    }

    /// Writes a new file. In a store, it has the time of the source, so that the agents do not take it for the session
    /// that was used last.
    fn put(
        &self,
        source: &Surveyed,
        path: &Path,
        fill: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> Result<Committed, Failure> {
        if self.force {
            let file = SessionFile::open(&source.path)?;
            return Ok(store::create(path, Some(&file), true, fill)?);
        }
        let modified = store::modified(&source.path).unwrap_or(UNIX_EPOCH);
        Ok(store::restore(path, &Member::new(String::new(), 0, modified, 0o600), fill)?)
    }

    /// Appends what the source has grown by. Returns `None` if the session was continued meanwhile.
    fn append(
        &self,
        source: &Surveyed,
        file: &SessionFile,
        place: &Place,
        input: &Input,
    ) -> Result<Option<Done>, Failure> {
        let mut attempt = |grown: Option<Input>, locked: Locked| -> Attempted<Option<(Action, usize)>> {
            let now = grown.as_ref().unwrap_or(input);
            let session = now.load(&Options::default())?;
            let State::Grown(earlier) = self.state(source, file, now, &session)? else {
                return Ok((None, None));
            };
            let change = self.growth(source, file, &session, &earlier)?;
            let done = Some((change.action(&session), change.entries.len()));
            Ok((commit(&change, &session, now, locked)?, done))
        };
        if self.dry_run {
            let session = input.load(&Options::default())?;
            let State::Grown(earlier) = self.state(source, file, input, &session)? else { return Ok(None) };
            let change = self.growth(source, file, &session, &earlier)?;
            let (action, entries) = (change.action(&session), change.entries.len());
            return Ok(Some(Done { to: place.path.clone(), action, entries, committed: None }));
        }
        let is_omp = self.agent == Dialect::OhMyPi;
        let options = WriteOptions { force: self.force, wait: self.wait, is_omp };
        let (committed, done) = under_lock(input, &options, &mut attempt)?;
        Ok(done.map(|(action, entries)| Done { to: place.path.clone(), action, entries, committed }))
    }

    /// Returns the entries that the source has grown by.
    fn growth(
        &self,
        source: &Surveyed,
        file: &SessionFile,
        session: &Session,
        earlier: &[u64],
    ) -> Result<Change, Failure> {
        let id = session.header.id.to_string_lossy();
        let target = Target { agent: self.agent, id: &id, source: &real(&source.path), earlier };
        let mut change = Change::default();
        let mut is_renamed = false;
        let mut take = |line: &[u8]| {
            let entry = Raw::checked(line);
            is_renamed |= entry.get("type").is_some_and(|kind| kind.is("title_change"));
            let id = entry.get_text("id").map(Text::into_owned).unwrap_or_default();
            change.entries.push(NewEntry { id, line: line.to_vec() });
            Ok(())
        };
        convert(file, &source.survey, &target, &mut take)
            .and_then(|()| unchanged(file, &source.survey))
            .map_err(|error| unreadable(source, error))?;
        if let Some(name) = source.survey.name.as_ref().filter(|_| is_renamed) {
            let time = pisess_json::time::iso_string(source.survey.created_ms);
            change.title_line = (session.agent().title_line)(name, &time);
        }
        Ok(change)
    }

    /// Returns what is left to do for a session that was made of the source.
    fn state(
        &self,
        source: &Surveyed,
        file: &SessionFile,
        input: &Input,
        session: &Session,
    ) -> Result<State, Failure> {
        let failed = |error| input.unreadable(error);
        let survey = &source.survey;
        let Some((record, is_last)) = record_in(session, input).map_err(failed)? else {
            return Err(input
                .cannot("it exists, and has no record of an import")
                .hint("give another path with -o, or import the source again with --force"));
        };
        let is_other = record.origin != survey.origin || record.id != survey.id;
        if is_other || session.dialect != self.agent {
            return Err(input
                .cannot("it was made of another session, or for another agent")
                .hint("give another path with -o, or overwrite it with --force"));
        }
        let read = record.read.last().copied().unwrap_or(0);
        let name = visible(&source.path.to_string_lossy());
        let refused = |what: &str| {
            let failure = Failure::cannot(format_args!("{name}: {what} since it was imported")).path(&name);
            failure.hint("--force imports it again, into a new session")
        };
        if read > survey.read {
            return Err(refused("it has become shorter"));
        }
        let start =
            if read == survey.read { survey.sha256.clone() } else { digest(file, read).map_err(failed)? };
        Ok(match () {
            () if start != record.sha256 => return Err(refused("it was edited")),
            () if read == survey.read => State::Current,
            () if is_last => State::Grown(record.read),
            () => State::Continued,
        })
    }
}

/// Returns the last record of an import in a session, and whether it is the last entry.
fn record_in(session: &Session, input: &Input) -> io::Result<Option<(Record, bool)>> {
    let bodies = FileReader::new(session, input.source());
    let customs = session.all().filter(|ix| session.entry(*ix).kind == Kind::Custom);
    for ix in customs.collect::<Vec<_>>().into_iter().rev() {
        if let Some(record) = Record::of(&bodies.line(ix)?) {
            return Ok(Some((record, ix.at() + 1 == session.entries.len())));
        }
    }
    Ok(None)
}

/// Fails if what was read of a source is no longer there.
fn unchanged(file: &SessionFile, survey: &Survey) -> io::Result<()> {
    if file.still_same().map_err(io::Error::other)? && digest(file, survey.read)? == survey.sha256 {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidData, "the file is no longer the one that was read"))
}

fn unreadable(source: &Surveyed, error: io::Error) -> Failure {
    Failure::reading(&visible(&source.path.to_string_lossy()), error)
}

fn real(path: &Path) -> PathBuf {
    use crate::agents::stores::Disk as _;
    store::OnDisk.real(path)
}

/// Counts lines.
struct Lines<'a> {
    out: &'a mut dyn Write,
    lines: usize,
}

impl Write for Lines<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.lines += usize::from(bytes[..written] == *b"\n");
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
