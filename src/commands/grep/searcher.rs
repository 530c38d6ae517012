//! Searches sessions, and goes on with what is written to them later.

use super::hits::Painter;
use crate::cli::follow::{Changed, watch};
use crate::cli::locate::{Places, Scope};
use crate::cli::open::Input;
use crate::cli::output::{Failure, Ui};
use crate::cli::pruned::pruned_of;
use crate::cli::sessions::skipped;
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
    /// The number of threads that search one session.
    pub workers: usize,
}

/// The result for one session.
#[derive(Debug)]
pub struct Matches {
    path: PathBuf,
    header: Header,
    count: u64,
    rows: Vec<u8>,
    note: Option<String>,
}

/// What is known of a session that was searched, to go on with what is written to it later.
#[derive(Default)]
pub struct SessionState {
    path: PathBuf,
    /// Its name in messages.
    name: String,
    seen: Option<Snapshot>,
    resume: Option<Resume>,
    /// The entries that were printed, to know them again if the file is replaced.
    printed: HashSet<Vec<u8>>,
    trail: Trail,
}

impl Searcher {
    /// Searches a session from the start.
    pub fn search(
        &self,
        path: &Path,
        input: &Input,
        buffer: &mut PageBuffer,
    ) -> Result<(Matches, SessionState), Failure> {
        let (path, name) = (path.to_owned(), input.name.clone());
        let mut known = SessionState {
            path,
            name,
            ..SessionState::default()
        };
        let mut search = |source: &dyn ReadAt| self.search_source(source, &mut known, buffer);
        let found = match if self.with_pruned {
            pruned_of(input)?
        } else {
            None
        } {
            Some(pruned) => search(&pruned.whole(input.source())),
            None if self.follows => search(&input.read(WholeLines::of(input.source()))?),
            None => search(input.source()),
        }?;
        known.seen = input.file().map(|file| file.snapshot().clone());
        Ok((found, known))
    }

    /// Searches a source from where the search ended before. If it fails, what is known stays as it
    /// is.
    fn search_source(
        &self,
        source: &dyn ReadAt,
        known: &mut SessionState,
        buffer: &mut PageBuffer,
    ) -> Result<Matches, Failure> {
        let (path, name) = (&known.path, &known.name);
        let (painter, mut count, mut rows) = (&self.painter, 0, Vec::new());
        let (mut matches, mut keys) = (Vec::new(), Vec::new());
        let most = self.most.saturating_sub(known.printed.len() as u64);
        let unreadable = |error| Failure::reading(name, error);
        let from = known.resume.map(|resume| resume.end);
        let is_live = known.seen.is_some();
        let read = if is_live {
            known.trail.clone().read_appended(source, from, buffer)
        } else if self.follows {
            Trail::at_end_of(source)
        } else {
            Ok(Trail::default())
        };
        let mut trail = read.map_err(unreadable)?;
        let printed = &known.printed;
        let mut take = |header: &Header, mut hit: Match| {
            if self.follows {
                let key = key(&hit);
                if printed.contains(&key) {
                    return ControlFlow::Continue(());
                }
                keys.push(key);
                hit.turn = is_live.then(|| trail.advance_to(&hit.id));
            }
            count += 1;
            if painter.has_rows() && painter.has_context() {
                matches.push(hit);
            } else if painter.has_rows() {
                painter.row(path, header, &hit, false, &mut rows);
            }
            // One match is enough for a path.
            let is_enough = count >= most || !painter.has_rows() && !painter.counts;
            if is_enough {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let searched = search(
            source,
            &self.query,
            known.resume,
            self.workers,
            buffer,
            &mut take,
        )
        .map_err(|error| Failure::load(name, error))?;
        let lines = [
            "line that may match is not JSON",
            "lines that may match are not JSON",
        ];
        let note = searched.unread.map(|unread| skipped(name, unread, lines));
        if !matches.is_empty() {
            let session =
                load(source, &painter.options).map_err(|error| Failure::load(name, error))?;
            painter.rows_around(path, &matches, &session, &mut rows);
        }
        if count > 0 {
            painter.summary(path, &searched.header, count, &mut rows);
        }
        let path = path.clone();
        known.printed.extend(keys);
        known.resume = Some(searched.resume);
        known.trail = trail.advance_to_end();
        Ok(Matches {
            path,
            header: searched.header,
            count,
            rows,
            note,
        })
    }

    /// Prints the matches in a session. `last` is the session whose rows were printed last.
    pub fn print(
        &self,
        answer: &Matches,
        last: &mut Option<PathBuf>,
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        if let Some(note) = &answer.note {
            ui.warn(note);
        }
        if answer.count == 0 {
            return Ok(());
        }
        if last.as_ref() != Some(&answer.path) {
            let heading = self
                .painter
                .heading(&answer.path, &answer.header, last.is_none(), ui);
            *last = Some(answer.path.clone());
            ui.print(&heading)?;
        }
        let written = if self.painter.json {
            ui.verbatim().write_all(&answer.rows)
        } else {
            ui.stdout().write_all(&answer.rows)
        };
        written.map_err(Failure::output)
    }

    /// Searches what is written to the sessions of a scope from now on, and new ones. `searched` is
    /// what is known of them, `last` the session whose rows were printed last. Returns only if a
    /// single session is searched and has as many matches as requested.
    ///
    /// # Errors
    /// If standard output cannot be written; a session that cannot be read is waited for.
    pub fn follow(
        &mut self,
        places: &Places,
        scope: &Scope,
        mut searched: HashMap<PathBuf, SessionState>,
        mut last: Option<PathBuf>,
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        let mut watched = places.folders(scope);
        watched.retain(|path| path.exists());
        let mut wait = watch(&watched);
        let mut buffer = PageBuffer::default();
        let (mut paths, mut names) = (Vec::new(), HashSet::default());
        let mut changed = Changed::default();
        // Each entry is on the path to the leaf when it is written.
        self.query.active = false;
        loop {
            if changed.has_others(&names) {
                // Some may be new.
                paths = places
                    .find(scope)
                    .files
                    .into_iter()
                    .map(|file| file.path)
                    .collect::<Vec<_>>();
                let name = |path: &PathBuf| path.file_name().map(OsString::from);
                names = paths.iter().filter_map(name).collect();
            }
            for path in paths.iter().filter(|path| changed.has(path)) {
                let name = path.to_string_lossy().into_owned();
                let new = || SessionState {
                    path: path.clone(),
                    name,
                    ..SessionState::default()
                };
                let known = searched.entry(path.clone()).or_insert_with(new);
                if let Some(answer) = self.search_on(known, &mut buffer, ui) {
                    self.print(&answer, &mut last, ui)?;
                }
                if self.painter.is_of_one && self.is_full(known) {
                    return Ok(());
                }
            }
            changed = wait(ui)?;
        }
    }

    /// Whether as many matches of a session were printed as requested.
    fn is_full(&self, known: &SessionState) -> bool {
        known.printed.len() as u64 >= self.most
    }

    /// Searches what was written to a session since.
    fn search_on(
        &self,
        known: &mut SessionState,
        buffer: &mut PageBuffer,
        ui: &Ui,
    ) -> Option<Matches> {
        let changed = match &known.seen {
            Some(seen) => seen.look(&known.path),
            None => SessionFile::open(&known.path).map(Some),
        };
        let file = changed.ok()??;
        let has_grown = known
            .seen
            .as_ref()
            .map_or(Ok(false), |seen| seen.is_start_of(&file))
            .ok()?;
        known.resume = known.resume.filter(|_| has_grown);
        known.seen = Some(file.snapshot().clone());
        if self.is_full(known) || ui.stdout_is()(file.handle()) {
            return None;
        }
        let source = WholeLines::of(&file).ok()?;
        self.search_source(&source, known, buffer).ok()
    }
}

/// Returns what identifies a match: the id of its entry, or its text if it has none.
fn key(hit: &Match) -> Vec<u8> {
    if hit.id.is_empty() {
        hit.hit.snippet.clone().into_bytes()
    } else {
        hit.id.as_bytes().to_vec()
    }
}
