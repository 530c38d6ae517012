//! Imports one source: decides what is left to do, and does it under the lock of the session.

use super::destinations::Destination;
use crate::cli::open::{Input, OpenSession};
use crate::cli::options::ChangeArgs;
use crate::cli::output::{Failure, visible};
use crate::cli::transaction::{Attempted, commit, output_or_input};
use crate::import::{Record, Survey, Target, convert, digest, write};
use crate::load::Options;
use crate::ops::plan::{Action, Change, NewEntry};
use crate::session::Session;
use crate::session::dialect::Dialect;
use crate::session::entry::Kind;
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_store::{self as store, Committed, Fill, Locked, Member, NewFolder, SessionFile};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::UNIX_EPOCH;

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
    /// How to write.
    pub change: &'a ChangeArgs,
    /// Whether a file is standard output.
    stdout_is: &'a (dyn Fn(&File) -> bool + Sync),
    /// Directories that were made for sources that could not be imported. Other sources of the same
    /// project may be about to use them, so they are removed only when all are done, if empty.
    unused: Mutex<Vec<NewFolder>>,
}

impl Done {
    /// Returns what became of a source that was imported to a file; nothing is committed yet.
    fn to(path: &Path, action: Action, entries: usize) -> Done {
        Done {
            to: path.to_owned(),
            action,
            entries,
            committed: None,
        }
    }
}

impl<'a> Importer<'a> {
    pub fn new(
        agent: Dialect,
        change: &'a ChangeArgs,
        stdout_is: &'a (dyn Fn(&File) -> bool + Sync),
    ) -> Importer<'a> {
        Importer {
            agent,
            change,
            stdout_is,
            unused: Mutex::default(),
        }
    }

    /// Imports a source to its destination.
    ///
    /// # Errors
    /// If it cannot be imported. Nothing was written.
    pub fn import(&self, to: &Destination) -> Result<Done, Failure> {
        if !to.exists {
            return self.create(to, &to.id, &to.path);
        }
        let open = OpenSession::load(
            Input::open_path(&to.path, self.stdout_is)?,
            Options::default(),
        )?;
        let file = SessionFile::open(&to.source.path)?;
        let state = match self.state(to, &file, &open) {
            Err(_) if self.change.force => State::Continued,
            state => state?,
        };
        match (state, &to.beside) {
            (State::Current, _) => Ok(Done::to(&to.path, Action::Nothing, 0)),
            (State::Grown(_), _) => match self.append(to, &file, &open)? {
                Some(done) => Ok(done),
                None => self.import(to),
            },
            (State::Continued, Some((id, path))) => self.create(to, id, path),
            (State::Continued, None) if self.change.force => self.create(to, &to.id, &to.path),
            (State::Continued, None) => Err(open
                .input
                .cannot("it was continued since it was imported")
                .hint("give another path with -o, or overwrite it with --force")),
        }
    }

    /// Writes the session of a source to a stream.
    ///
    /// # Errors
    /// If the source cannot be read, or the stream not be written.
    pub fn print(&self, to: &Destination, out: &mut dyn Write) -> Result<(), Failure> {
        let file = Input::open_path(&to.source.path, self.stdout_is)?;
        self.fill(to, &to.id, out)
            .map(drop)
            .map_err(|error| output_or_input(&file, error))
    }

    /// Writes the whole session; returns the number of its entries.
    fn fill(&self, to: &Destination, id: &str, out: &mut dyn Write) -> io::Result<usize> {
        let source = &to.source;
        let file = SessionFile::open(&source.path).map_err(io::Error::other)?;
        let target = Target {
            agent: self.agent,
            id,
            source: &real(&source.path),
            earlier: &[],
        };
        let entries = write(&file, source, &target, &to.cwd, out)?;
        unchanged(&file, source)?;
        Ok(entries)
    }

    /// Creates a session.
    fn create(&self, to: &Destination, id: &str, path: &Path) -> Result<Done, Failure> {
        let mut entries = 0;
        let mut fill = |out: &mut dyn Write| {
            entries = self.fill(to, id, out)?;
            Ok(())
        };
        let folder = path.parent().filter(|_| !to.is_given);
        if let Some(folder) = folder {
            refuse_control_characters(&to.source, folder)?;
        }
        if self.change.dry_run {
            fill(&mut io::sink()).map_err(|error| unreadable(&to.source, error))?;
            return Ok(Done::to(path, Action::Create, entries));
        }
        let made = folder.map(NewFolder::make).transpose()?;
        let put = self.put(&to.source.path, path, &mut fill);
        match made {
            Some(made) if put.is_ok() => made.keep(),
            Some(made) => self.leave(made),
            None => {}
        }
        Ok(Done {
            committed: Some(put?),
            ..Done::to(path, Action::Create, entries)
        })
    }

    /// Leaves a directory to the other sources.
    fn leave(&self, folder: NewFolder) {
        let unused = self.unused.lock();
        unused.unwrap_or_else(PoisonError::into_inner).push(folder);
    }

    /// Writes a new file. In a store, it has the time of the source, so that the agents do not take
    /// it for the session that was used last.
    fn put(&self, source: &Path, path: &Path, fill: &mut Fill) -> Result<Committed, Failure> {
        if self.change.force {
            return Ok(store::create(
                path,
                Some(&SessionFile::open(source)?),
                true,
                fill,
            )?);
        }
        let modified = store::modified(source).unwrap_or(UNIX_EPOCH);
        Ok(store::restore(
            path,
            &Member::new(String::new(), 0, modified, 0o600),
            fill,
        )?)
    }

    /// Appends what the source has grown by. Returns `None` if the session was continued meanwhile.
    fn append(
        &self,
        to: &Destination,
        file: &SessionFile,
        open: &OpenSession,
    ) -> Result<Option<Done>, Failure> {
        let grown = |now: &OpenSession| -> Result<Option<(Change, Done)>, Failure> {
            let State::Grown(earlier) = self.state(to, file, now)? else {
                return Ok(None);
            };
            let change = self.growth(to, file, &now.session, &earlier)?;
            let done = Done::to(&to.path, change.action(&now.session), change.entries.len());
            Ok(Some((change, done)))
        };
        if self.change.dry_run {
            return Ok(grown(open)?.map(|(_, done)| done));
        }
        let mut attempt = |now: &OpenSession, locked: Locked| -> Attempted<Option<Done>> {
            let Some((change, done)) = grown(now)? else {
                return Ok((None, None));
            };
            Ok((commit(&change, now, locked)?, Some(done)))
        };
        let (committed, done) = open.under_lock(&self.change.options(self.agent), &mut attempt)?;
        Ok(done.map(|done| Done { committed, ..done }))
    }

    /// Returns the entries that the source has grown by.
    fn growth(
        &self,
        to: &Destination,
        file: &SessionFile,
        session: &Session,
        earlier: &[u64],
    ) -> Result<Change, Failure> {
        let source = &to.source;
        let id = session.header.id.to_string_lossy();
        let target = Target {
            agent: self.agent,
            id: &id,
            source: &real(&source.path),
            earlier,
        };
        let mut change = Change::default();
        let mut is_renamed = false;
        let mut take = |line: &[u8]| {
            let entry = Raw::checked(line);
            is_renamed |= entry
                .get("type")
                .is_some_and(|kind| kind.is("title_change"));
            let id = entry
                .get_text("id")
                .map(Text::into_owned)
                .unwrap_or_default();
            change.entries.push(NewEntry {
                id,
                line: line.to_vec(),
            });
            Ok(())
        };
        convert(file, source, &target, &mut take)
            .and_then(|()| unchanged(file, source))
            .map_err(|error| unreadable(source, error))?;
        if let Some(name) = source.name.as_ref().filter(|_| is_renamed) {
            let time = pisess_json::time::iso_string(source.created_ms);
            change.title_line = (session.agent().title_line)(name, &time);
        }
        Ok(change)
    }

    /// Returns what is left to do for a session that was made of the source.
    fn state(
        &self,
        to: &Destination,
        file: &SessionFile,
        open: &OpenSession,
    ) -> Result<State, Failure> {
        let (source, input) = (&to.source, &open.input);
        let Some((record, is_last)) = input.read(record_in(open))? else {
            return Err(input
                .cannot("it exists, and has no record of an import")
                .hint("give another path with -o, or import the source again with --force"));
        };
        let is_other = record.origin != source.origin || record.id != source.id;
        if is_other || open.session.dialect != self.agent {
            return Err(input
                .cannot("it was made of another session, or for another agent")
                .hint("give another path with -o, or overwrite it with --force"));
        }
        let read = record.read.last().copied().unwrap_or(0);
        let name = visible(&source.path.to_string_lossy());
        let refused = |what: &str| {
            let failure =
                Failure::cannot(format_args!("{name}: {what} since it was imported")).path(&name);
            failure.hint("--force imports it again, into a new session")
        };
        if read > source.read {
            return Err(refused("it has become shorter"));
        }
        let is_all = read == source.read;
        let start = if is_all {
            source.sha256.clone()
        } else {
            input.read(digest(file, read))?
        };
        Ok(match () {
            () if start != record.sha256 => return Err(refused("it was edited")),
            () if is_all => State::Current,
            () if is_last => State::Grown(record.read),
            () => State::Continued,
        })
    }
}

/// Returns the last record of an import in a session, and whether it is the last entry.
fn record_in(open: &OpenSession) -> io::Result<Option<(Record, bool)>> {
    let session = &open.session;
    let reader = open.reader();
    for ix in session.all().rev() {
        if session.entry(ix).kind != Kind::Custom {
            continue;
        }
        if let Some(record) = Record::of(&reader.line(ix)?) {
            let is_last = ix.at() + 1 == session.entries.len();
            return Ok(Some((record, is_last)));
        }
    }
    Ok(None)
}

/// Fails if what was read of a source is no longer there.
fn unchanged(file: &SessionFile, survey: &Survey) -> io::Result<()> {
    if file.still_same().map_err(io::Error::other)? && digest(file, survey.read)? == survey.sha256 {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidData,
        "the file is no longer the one that was read",
    ))
}

/// Refuses to make a directory with a name that a terminal would obey, or that has several lines.
/// The name comes from the source, which may be anyone's.
fn refuse_control_characters(source: &Survey, folder: &Path) -> Result<(), Failure> {
    let folder_name = folder.file_name().unwrap_or_default().to_string_lossy();
    if !folder_name.chars().any(char::is_control) || !store::is_free(folder)? {
        return Ok(());
    }
    let name = visible(&source.path.to_string_lossy());
    let what = "its working directory has control characters in its name";
    let failure = Failure::cannot(format_args!("{name}: {what}")).path(&name);
    Err(failure.hint("give a path with -o"))
}

fn unreadable(source: &Survey, error: io::Error) -> Failure {
    Failure::reading(&visible(&source.path.to_string_lossy()), error)
}

fn real(path: &Path) -> PathBuf {
    use crate::agents::stores::Disk as _;
    store::OnDisk.real(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::foreign::survey;
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
            source: survey(&source).unwrap().unwrap(),
            cwd: Text::from("/p"),
            id: "id".to_owned(),
            path: project.join("new.jsonl"),
            exists: false,
            beside: None,
            is_given: false,
        };
        let change = ChangeArgs {
            dry_run: false,
            force: false,
            wait: Duration::ZERO,
            json: false,
        };
        let importer = Importer::new(Dialect::Pi, &change, &|_| false);

        std::fs::remove_file(&source).unwrap();
        assert_eq!(importer.import(&to).unwrap_err().exit(), Exit::Cannot);
        assert!(project.is_dir());
        std::fs::copy(fixture, &source).unwrap();
        importer.import(&to).unwrap();
        std::fs::remove_file(&to.path).unwrap();
        drop(importer);
        assert!(!folder.path().join("sessions").exists());
    }
}
