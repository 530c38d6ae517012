//! Searches sessions, and goes on with what is written to them later.

use crate::cli::follow::Dirty;
use crate::cli::open::Input;
use crate::cli::output::{Failure, Ui};
use crate::cli::prune::pruned_of;
use crate::cli::rows::hits::{Detail, Painter};
use crate::cli::sessions::{Origin, skipped};
use crate::load::load;
use crate::ops::grep::{Match, Query, Resume, Trail, search};
use crate::session::Header;
use crate::session::read::whole_lines::WholeLines;
use foldhash::{HashMap, HashSet};
use pisess_store::{PageBuffer, ReadAt, SessionFile, Snapshot};
use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// A search, and the format of its output.
pub struct Searcher {
    pub query: Query,
    pub painter: Painter,
    /// The maximum number of matches in each session.
    pub most: u64,
    /// Whether what was pruned from sessions is searched as well.
    pub with_pruned: bool,
    /// Whether the search goes on with what is written later.
    pub follows: bool,
}

/// The result for one session.
#[derive(Debug)]
pub struct Matches {
    header: Header,
    count: u64,
    rows: Vec<u8>,
    note: Option<String>,
    /// The entries that matched, if the search goes on.
    keys: Vec<Vec<u8>>,
    resume: Resume,
    trail: Trail,
}

/// What is known of the sessions that were searched.
#[derive(Default)]
pub struct SearchState {
    sessions: HashMap<PathBuf, SessionState>,
    /// The session whose rows were printed last.
    last: Option<PathBuf>,
}

#[derive(Default)]
struct SessionState {
    seen: Option<Snapshot>,
    resume: Option<Resume>,
    /// The entries that were printed, to know them again if the file is replaced.
    printed: HashSet<Vec<u8>>,
    trail: Trail,
}

impl Searcher {
    /// Searches a session from the start.
    pub fn search(&self, path: &Path, input: &Input, buffer: &mut PageBuffer) -> Result<Matches, Failure> {
        let known = SessionState::default();
        let mut search = |source: &dyn ReadAt| self.search_source(path, &input.name, source, &known, buffer);
        match if self.with_pruned { pruned_of(input)? } else { None } {
            Some(pruned) => search(&pruned.whole(input.source())),
            None if self.follows => search(&input.read(WholeLines::of(input.source()))?),
            None => search(input.source()),
        }
    }

    fn search_source(
        &self,
        path: &Path,
        name: &str,
        source: &dyn ReadAt,
        known: &SessionState,
        buffer: &mut PageBuffer,
    ) -> Result<Matches, Failure> {
        let (painter, mut count, mut rows) = (&self.painter, 0, Vec::new());
        let (mut matches, mut keys) = (Vec::new(), Vec::new());
        let most = self.most.saturating_sub(known.printed.len() as u64);
        let unreadable = |error| Failure::reading(name, error);
        let from = known.resume.map(|resume| resume.end);
        let is_live = known.seen.is_some();
        let trail = if is_live {
            known.trail.clone().read(source, from, buffer)
        } else if self.follows {
            Trail::after(source)
        } else {
            Ok(Trail::default())
        };
        let mut trail = trail.map_err(unreadable)?;
        let mut take = |header: &Header, mut hit: Match| {
            if self.follows {
                let key = key(&hit);
                if known.printed.contains(&key) {
                    return ControlFlow::Continue(());
                }
                keys.push(key);
                hit.turn = is_live.then(|| trail.turn_at(&hit.id));
            }
            count += 1;
            match painter.detail {
                Detail::Rows if painter.has_context() => matches.push(hit),
                Detail::Rows => painter.row(path, header, &hit, false, &mut rows),
                Detail::Count(_) => {}
                Detail::Path(_) => return ControlFlow::Break(()),
            }
            if count >= most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let searched = search(source, &self.query, known.resume, buffer, &mut take)
            .map_err(|error| Failure::load(name, error))?;
        let lines = ["line that may match is not JSON", "lines that may match are not JSON"];
        let note = searched.unread.map(|unread| skipped(name, unread, lines));
        if !matches.is_empty() {
            let session = load(source, &painter.options);
            let session = session.map_err(|error| Failure::load(name, error))?;
            painter.rows_around(path, &matches, &session, &mut rows);
        }
        if count > 0 {
            painter.summary(path, &searched.header, count, &mut rows);
        }
        let (header, resume, trail) = (searched.header, searched.resume, trail.end());
        Ok(Matches { header, count, rows, note, keys, resume, trail })
    }

    pub fn print(
        &self,
        path: &Path,
        answer: &Matches,
        searched: &mut SearchState,
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        if let Some(note) = &answer.note {
            ui.warn(note);
        }
        if answer.count == 0 {
            return Ok(());
        }
        if searched.last.as_deref() != Some(path) {
            let heading = self.painter.heading(path, &answer.header, searched.last.is_none(), ui);
            searched.last = Some(path.to_owned());
            ui.print(&heading)?;
        }
        let written = if self.painter.json {
            ui.verbatim().write_all(&answer.rows)
        } else {
            ui.stdout().write_all(&answer.rows)
        };
        written.map_err(Failure::output)
    }

    /// Searches what is written to the sessions from now on, and new ones. Returns only if a single session is searched
    /// and has as many matches as requested.
    ///
    /// # Errors
    /// If standard output cannot be written; a session that cannot be read is waited for.
    pub fn follow(
        &mut self,
        origin: &Origin,
        mut searched: SearchState,
        is_one: bool,
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        let mut changes = origin.changes();
        let mut buffer = PageBuffer::default();
        let (mut paths, mut names) = (Vec::new(), HashSet::default());
        let mut dirty = Dirty::All;
        // Each entry is on the path to the leaf when it is written.
        self.query.active = false;
        loop {
            if dirty.has_others(&names) {
                paths = origin.paths();
                let name = |path: &PathBuf| path.file_name().map(OsString::from);
                names = paths.iter().filter_map(name).collect();
            }
            for path in paths.iter().filter(|path| dirty.has(path)) {
                let known = searched.sessions.remove(path).unwrap_or_default();
                let (known, answer) = self.search_on(path, known, &mut buffer, ui);
                let is_full = known.printed.len() as u64 >= self.most;
                searched.sessions.insert(path.clone(), known);
                answer.map_or(Ok(()), |answer| self.print(path, &answer, &mut searched, ui))?;
                if is_full && is_one {
                    return Ok(());
                }
            }
            dirty = changes.wait(ui)?;
        }
    }

    /// Searches what was written to a session since.
    fn search_on(
        &self,
        path: &Path,
        mut known: SessionState,
        buffer: &mut PageBuffer,
        ui: &Ui,
    ) -> (SessionState, Option<Matches>) {
        let changed = match &known.seen {
            Some(seen) => seen.look(path),
            None => SessionFile::open(path).map(Some),
        };
        let Ok(Some(file)) = changed else { return (known, None) };
        let grown = known.seen.as_ref().map_or(Ok(false), |seen| seen.is_start_of(&file));
        let Ok(has_grown) = grown else { return (known, None) };
        known.resume = known.resume.filter(|_| has_grown);
        known.seen = Some(file.snapshot().clone());
        let is_full = known.printed.len() as u64 >= self.most;
        if is_full || ui.stdout_is()(file.handle()) {
            return (known, None);
        }
        let answer = WholeLines::of(&file).ok().and_then(|source| {
            self.search_source(path, &path.to_string_lossy(), &source, &known, buffer).ok()
        });
        match answer {
            Some(mut answer) => {
                known.take_in(&mut answer);
                (known, Some(answer))
            }
            None => (known, None),
        }
    }
}

impl SearchState {
    /// Remembers a session that was searched from the start.
    pub fn take_in(&mut self, path: &Path, seen: Option<Snapshot>, mut answer: Matches) {
        let mut known = SessionState { seen, ..SessionState::default() };
        known.take_in(&mut answer);
        self.sessions.insert(path.to_owned(), known);
    }

    pub fn has_match(&self) -> bool {
        self.last.is_some()
    }
}

impl SessionState {
    fn take_in(&mut self, answer: &mut Matches) {
        self.printed.extend(answer.keys.drain(..));
        self.resume = Some(answer.resume);
        self.trail = std::mem::take(&mut answer.trail);
    }
}

/// Returns what identifies a match: the id of its entry, or its text if it has none.
fn key(hit: &Match) -> Vec<u8> {
    if hit.id.is_empty() { hit.hit.snippet.clone().into_bytes() } else { hit.id.as_bytes().to_vec() }
}
