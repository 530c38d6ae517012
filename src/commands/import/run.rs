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
        let input = Input::open_path(&to.path, self.stdout_is)?;
        let open = OpenSession::load(input, Options::default())?;
        let file = SessionFile::open(&to.source.path)?;
        let state = match self.state(to, &file, &open) {
            Ok(state) => state,
            Err(_) if self.change.force => State::Continued,
            Err(failure) => return Err(failure),
        };
        match (state, &to.beside) {
            (State::Current, _) => Ok(Done::to(&to.path, Action::Nothing, 0)),
            (State::Grown(_), _) => match self.append(to, &file, &open)? {
                Some(done) => Ok(done),
                // The session was continued since its state was determined.
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
        match self.write_session(to, &to.id, out) {
            Ok(_) => Ok(()),
            Err(error) => Err(output_or_input(&file, error)),
        }
    }

    /// Writes the whole session; returns the number of its entries.
    fn write_session(&self, to: &Destination, id: &str, out: &mut dyn Write) -> io::Result<usize> {
        let source = &to.source;
        let file = SessionFile::open(&source.path).map_err(io::Error::other)?;
        let target = Target {
            agent: self.agent,
            id,
            source: &real_path(&source.path),
            earlier: &[],
        };
        let entries = write(&file, source, &target, &to.cwd, out)?;
        require_unchanged(&file, source)?;
        Ok(entries)
    }

    /// Creates a session. Its directory is made, too, unless the user gave the path.
    fn create(&self, to: &Destination, id: &str, path: &Path) -> Result<Done, Failure> {
        let folder = if to.is_given { None } else { path.parent() };
        if let Some(folder) = folder {
            refuse_control_characters(&to.source, folder)?;
        }

        if self.change.dry_run {
            let entries = self
                .write_session(to, id, &mut io::sink())
                .map_err(|error| unreadable(&to.source, error))?;
            return Ok(Done::to(path, Action::Create, entries));
        }

        let mut entries = 0;
        let mut fill = |out: &mut dyn Write| {
            entries = self.write_session(to, id, out)?;
            Ok(())
        };
        let new_folder = folder.map(NewFolder::make).transpose()?;
        let created = self.create_file(&to.source.path, path, &mut fill);
        if let Some(new_folder) = new_folder {
            if created.is_ok() {
                new_folder.keep();
            } else {
                self.remove_later(new_folder);
            }
        }
        Ok(Done {
            committed: Some(created?),
            ..Done::to(path, Action::Create, entries)
        })
    }

    /// Keeps a new directory until all sources are done: another source may be about to use it.
    fn remove_later(&self, folder: NewFolder) {
        let unused = self.unused.lock();
        unused.unwrap_or_else(PoisonError::into_inner).push(folder);
    }

    /// Writes a new file. In a store, it has the time of the source, so that the agents do not take
    /// it for the session that was used last.
    fn create_file(
        &self,
        source: &Path,
        path: &Path,
        fill: &mut Fill,
    ) -> Result<Committed, Failure> {
        if self.change.force {
            let like = SessionFile::open(source)?;
            return Ok(store::create(path, Some(&like), true, fill)?);
        }
        let modified = store::modified(source).unwrap_or(UNIX_EPOCH);
        let member = Member::new(String::new(), 0, modified, 0o600);
        Ok(store::restore(path, &member, fill)?)
    }

    /// Appends what the source has grown by. Returns `None` if the session was continued meanwhile.
    fn append(
        &self,
        to: &Destination,
        file: &SessionFile,
        open: &OpenSession,
    ) -> Result<Option<Done>, Failure> {
        if self.change.dry_run {
            return match self.plan_growth(to, file, open)? {
                Some((_, done)) => Ok(Some(done)),
                None => Ok(None),
            };
        }
        // Under the lock, the session may have changed, so the growth is planned there.
        let mut attempt = |now: &OpenSession, locked: Locked| -> Attempted<Option<Done>> {
            let Some((change, done)) = self.plan_growth(to, file, now)? else {
                return Ok((None, None));
            };
            Ok((commit(&change, now, locked)?, Some(done)))
        };
        let (committed, done) = open.under_lock(&self.change.options(self.agent), &mut attempt)?;
        Ok(done.map(|done| Done { committed, ..done }))
    }

    /// Returns the change that appends what the source has grown by, and its outcome; `None` if the
    /// source has not grown, or the session was continued.
    fn plan_growth(
        &self,
        to: &Destination,
        file: &SessionFile,
        open: &OpenSession,
    ) -> Result<Option<(Change, Done)>, Failure> {
        let State::Grown(earlier) = self.state(to, file, open)? else {
            return Ok(None);
        };
        let change = self.growth(to, file, &open.session, &earlier)?;
        let action = change.action(&open.session);
        let done = Done::to(&to.path, action, change.entries.len());
        Ok(Some((change, done)))
    }

    /// Returns the change that appends the entries that the source has grown by. If the source was
    /// renamed in them, so is the session.
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
            source: &real_path(&source.path),
            earlier,
        };
        let mut lines = Vec::new();
        let mut collect_line = |line: &[u8]| {
            lines.push(line.to_vec());
            Ok(())
        };
        convert(file, source, &target, &mut collect_line)
            .and_then(|()| require_unchanged(file, source))
            .map_err(|error| unreadable(source, error))?;

        let mut change = Change::default();
        let mut is_renamed = false;
        for line in lines {
            let entry = Raw::checked(&line);
            let kind = entry.get("type");
            if kind.is_some_and(|kind| kind.is("title_change")) {
                is_renamed = true;
            }
            let id = entry
                .get_text("id")
                .map(Text::into_owned)
                .unwrap_or_default();
            change.entries.push(NewEntry { id, line });
        }
        if is_renamed && let Some(name) = &source.name {
            let time = pisess_json::time::iso_string(source.created_ms);
            change.title_line = session.agent().title_line(name, &time);
        }
        Ok(change)
    }

    /// Returns what is left to do for a session that was made of the source.
    ///
    /// # Errors
    /// If the session was not made of this source, or if the source is no longer what was imported.
    /// What was imported is compared by the hash of its bytes.
    fn state(
        &self,
        to: &Destination,
        file: &SessionFile,
        open: &OpenSession,
    ) -> Result<State, Failure> {
        let source = &to.source;
        let input = &open.input;
        let Some(last) = input.read(last_import(open))? else {
            return Err(input
                .cannot("it exists, and has no record of an import")
                .hint("give another path with -o, or import the source again with --force"));
        };
        let record = last.record;
        let is_other_source = record.origin != source.origin || record.id != source.id;
        if is_other_source || open.session.dialect != self.agent {
            return Err(input
                .cannot("it was made of another session, or for another agent")
                .hint("give another path with -o, or overwrite it with --force"));
        }

        let read_before = record.read.last().copied().unwrap_or(0);
        if read_before > source.read {
            return Err(changed_since_import(source, "it has become shorter"));
        }
        let has_grown = read_before != source.read;
        let sha256 = if has_grown {
            input.read(digest(file, read_before))?
        } else {
            source.sha256.clone()
        };
        if sha256 != record.sha256 {
            return Err(changed_since_import(source, "it was edited"));
        }

        if !has_grown {
            Ok(State::Current)
        } else if last.is_last_entry {
            Ok(State::Grown(record.read))
        } else {
            Ok(State::Continued)
        }
    }
}

/// The newest record of an import in a session.
struct LastImport {
    record: Record,
    /// Whether no entry follows it: the session was not continued since.
    is_last_entry: bool,
}

/// Returns the newest record of an import in a session; `None` if it was not imported.
fn last_import(open: &OpenSession) -> io::Result<Option<LastImport>> {
    let session = &open.session;
    let reader = open.reader();
    for ix in session.all().rev() {
        if session.entry(ix).kind != Kind::Custom {
            continue;
        }
        if let Some(record) = Record::parse(&reader.line(ix)?) {
            let is_last_entry = ix.at() + 1 == session.entries.len();
            return Ok(Some(LastImport {
                record,
                is_last_entry,
            }));
        }
    }
    Ok(None)
}

/// Fails if the bytes that were read of a source are no longer there.
fn require_unchanged(file: &SessionFile, survey: &Survey) -> io::Result<()> {
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

/// Returns the failure for a source that no longer begins with what was imported.
fn changed_since_import(source: &Survey, what: &str) -> Failure {
    let name = visible(&source.path.to_string_lossy());
    Failure::cannot(format_args!("{name}: {what} since it was imported"))
        .path(&name)
        .hint("--force imports it again, into a new session")
}

fn real_path(path: &Path) -> PathBuf {
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
