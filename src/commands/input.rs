//! Opening the session that a command names.

use super::failure::{Failure, note};
use super::visible::visible;
use crate::cli::Talk;
use crate::core::entry::EntryIx;
use crate::core::load::{LoadError, Options, WrongFile, has_header, load};
use crate::core::reference::{Position, ReferenceError, resolve};
use crate::core::session::{ProblemKind, Session};
use crate::core::store::{self, Opened, ReadAt, SessionFile, SpoolOptions, Spooled};
use crate::world::World;
use std::path::Path;

/// Of a stream 16 MB are kept in memory. More goes to an unlinked private file, if a header is in them: a
/// device may have no end.
const SPOOL: SpoolOptions = SpoolOptions { memory: 16 << 20, is_promising: has_header };

/// A session as it was named.
pub struct Input {
    /// For messages.
    pub name: String,
    opened: Opened,
}

impl Input {
    /// Opens a path, or standard input for `-`.
    pub fn open(path: &Path, world: &mut World) -> Result<Input, Failure> {
        if path == Path::new("-") {
            if world.terminals.stdin {
                return Err(Failure::cannot("read standard input: it is a terminal")
                    .hint("give the path of a session, or pipe one in"));
            }
            let spooled = store::spool(world.stdin, SPOOL)?;
            return Ok(Input { name: "standard input".to_owned(), opened: Opened::Stream(spooled) });
        }
        Input::open_path(path, world.stdout_is)
    }

    /// Opens a path, unless it is standard output.
    pub fn open_path(path: &Path, is_stdout: &dyn Fn(&SessionFile) -> bool) -> Result<Input, Failure> {
        let name = visible(&path.to_string_lossy());
        let opened = store::open(path, SPOOL)?;
        if let Opened::File(file) = &opened
            && is_stdout(file)
        {
            return Err(Failure::cannot(format_args!("{name}: standard output is the session itself"))
                .hint("leave the redirection out to change the session, or write elsewhere with -o"));
        }
        Ok(Input { name, opened })
    }

    /// Where its bytes are.
    pub fn source(&self) -> &dyn ReadAt {
        match &self.opened {
            Opened::File(file) => file,
            Opened::Stream(spooled) => spooled as &Spooled,
        }
    }

    /// The file, unless it is a stream.
    pub fn file(&self) -> Option<&SessionFile> {
        match &self.opened {
            Opened::File(file) => Some(file),
            Opened::Stream(_) => None,
        }
    }

    /// The file as it is now, after it grew.
    pub fn reopened(&self, file: SessionFile) -> Input {
        Input { name: self.name.clone(), opened: Opened::File(file) }
    }

    /// Loads it.
    pub fn load(&self, options: &Options) -> Result<Session, Failure> {
        load(self.source(), options).map_err(|error| self.failed(error))
    }

    /// Loads it and tells what is wrong with it.
    pub fn load_noted(&self, options: &Options, talk: &Talk, world: &mut World) -> Result<Session, Failure> {
        let session = self.load(options)?;
        self.note(&session, talk, world);
        Ok(session)
    }

    /// The place a reference names.
    pub fn resolve(&self, session: &Session, reference: &str) -> Result<Position, Failure> {
        resolve(session, reference).map_err(|error| self.unresolved(&error))
    }

    /// The entry that a reference names.
    pub fn entry(&self, session: &Session, reference: &str) -> Result<EntryIx, Failure> {
        self.resolve(session, reference)?.ok_or_else(|| {
            Failure::cannot(format_args!("{}: {reference} is no entry", self.name))
                .hint("root is the place before the first entry; name an entry")
        })
    }

    /// The entries that references name.
    pub fn entries(&self, session: &Session, references: &[String]) -> Result<Vec<EntryIx>, Failure> {
        references.iter().map(|reference| self.entry(session, reference)).collect()
    }

    /// What was decided on is no longer how the session goes on.
    pub fn went_elsewhere(&self) -> Failure {
        Failure::busy(format_args!("{}: the conversation went elsewhere meanwhile", self.name))
            .hint("run the command again")
    }

    /// An error about a reference into this session.
    pub fn unresolved(&self, error: &ReferenceError) -> Failure {
        Failure::reference(&self.name, error)
    }

    /// An error about reading this session.
    pub fn unreadable(&self, error: std::io::Error) -> Failure {
        Failure::reading(&self.name, error)
    }

    fn failed(&self, error: LoadError) -> Failure {
        match error {
            LoadError::NotASession { what: WrongFile::Empty, .. } if self.file().is_none() => {
                Failure::cannot(format_args!("{}: nothing came in", self.name))
                    .hint("the command before the pipe wrote no session")
            }
            error => Failure::load(&self.name, error),
        }
    }

    /// One line on standard error for all that is wrong with the file.
    pub fn note(&self, session: &Session, talk: &Talk, world: &mut World) {
        if session.problems.is_empty() {
            return;
        }
        let mut kinds: Vec<(ProblemKind, u32, u32)> = Vec::new();
        for problem in &session.problems {
            match kinds.iter_mut().find(|(kind, ..)| *kind == problem.kind) {
                Some((_, count, _)) => *count += 1,
                None => kinds.push((problem.kind, 1, problem.line.0)),
            }
        }
        let told: Vec<_> = kinds
            .iter()
            .map(|&(kind, count, line)| match count {
                1 => format!("{} on line {line}", noun(kind)),
                _ => format!("{count} × {} from line {line}", noun(kind)),
            })
            .collect();
        let (told, file) = (told.join(", "), self.file().map_or("-", |_| &self.name));
        note(&format!("{}: {told}; read past (hint: pisess check {file})", self.name), talk, world);
    }
}

/// The most ids that a message names.
const NAMED: usize = 16;

/// Entries by their ids, for a message.
pub fn ids(session: &Session, entries: &[EntryIx]) -> String {
    let named: Vec<_> = entries.iter().take(NAMED).map(|&ix| session.id(ix).to_string()).collect();
    match entries.len().saturating_sub(NAMED) {
        0 => named.join(" "),
        more => format!("{} and {more} more", named.join(" ")),
    }
}

fn noun(kind: ProblemKind) -> &'static str {
    match kind {
        ProblemKind::Malformed => "malformed line",
        ProblemKind::TornTail => "torn last line",
        ProblemKind::Fused => "several values",
        ProblemKind::NotAnObject => "value that is no entry",
        ProblemKind::SecondHeader => "second header",
        ProblemKind::InvalidUtf8 => "invalid UTF-8",
        ProblemKind::ByteOrderMark => "byte order mark",
        ProblemKind::OddVersion => "version that is no number",
        ProblemKind::NoId => "entry without id",
        ProblemKind::DuplicateId => "duplicate id",
        ProblemKind::Cycle => "cycle of parents",
        ProblemKind::MissingParent => "missing parent",
    }
}
