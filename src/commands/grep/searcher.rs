//! Searches sessions, and goes on with what is written to them later.

use super::hits::MatchPainter;
use crate::cli::follow::{ChangedFiles, watch_files};
use crate::cli::locate::{Scope, SessionStores};
use crate::cli::open::Input;
use crate::cli::output::{Failure, Ui};
use crate::cli::pruned::load_pruned;
use crate::cli::sessions::skipped_lines_note;
use crate::load::load;
use crate::ops::grep::{Match, Query, ResumePoint, Trail, search_file};
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
    pub painter: MatchPainter,
    /// The maximum number of matches in each session.
    pub max_matches: u64,
    /// Whether what was pruned from sessions is searched as well.
    pub searches_pruned: bool,
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
    warning: Option<String>,
}

/// What is known of a session that was searched, to go on with what is written to it later.
#[derive(Default)]
pub struct SessionState {
    path: PathBuf,
    /// Its name in messages.
    name: String,
    snapshot: Option<Snapshot>,
    resume: Option<ResumePoint>,
    /// The entries that were printed, to know them again if the file is replaced.
    printed_keys: HashSet<Vec<u8>>,
    trail: Trail,
}

impl SessionState {
    fn new(path: &Path, name: String) -> SessionState {
        SessionState {
            path: path.to_owned(),
            name,
            ..SessionState::default()
        }
    }
}

impl Searcher {
    /// Searches a session from the start.
    pub fn search_session(
        &self,
        path: &Path,
        input: &Input,
        buffer: &mut PageBuffer,
    ) -> Result<(Matches, SessionState), Failure> {
        let mut state = SessionState::new(path, input.name.clone());
        let source = input.source();
        let pruned = if self.searches_pruned {
            load_pruned(input)?
        } else {
            None
        };
        let matches = if let Some(pruned) = pruned {
            self.search_source(&pruned.restored_file(source), &mut state, buffer)?
        } else if self.follows {
            // A line that is being written is searched when it is whole.
            let whole_lines = input.map_read_error(WholeLines::new(source))?;
            self.search_source(&whole_lines, &mut state, buffer)?
        } else {
            self.search_source(source, &mut state, buffer)?
        };
        state.snapshot = input.file().map(|file| file.snapshot().clone());
        Ok((matches, state))
    }

    /// Searches a source from where the search ended before. If it fails, the state stays as it is.
    fn search_source(
        &self,
        source: &dyn ReadAt,
        state: &mut SessionState,
        buffer: &mut PageBuffer,
    ) -> Result<Matches, Failure> {
        let name = &state.name;
        let is_live = state.snapshot.is_some();
        let trail = if is_live {
            let appended_from = state.resume.map(|resume| resume.offset);
            let trail = state.trail.clone();
            trail.read_appended(source, appended_from, buffer)
        } else if self.follows {
            Trail::at_end_of(source)
        } else {
            Ok(Trail::default())
        };
        let mut collector = MatchCollector {
            searcher: self,
            path: &state.path,
            printed_keys: &state.printed_keys,
            reports_turns: is_live,
            trail: trail.map_err(|error| Failure::from_read_error(name, error))?,
            max_matches: self
                .max_matches
                .saturating_sub(state.printed_keys.len() as u64),
            count: 0,
            rows: Vec::new(),
            matches: Vec::new(),
            keys: Vec::new(),
        };
        let searched = search_file(
            source,
            &self.query,
            state.resume,
            self.workers,
            buffer,
            &mut |header, hit| collector.add_match(header, hit),
        )
        .map_err(|error| Failure::from_load_error(name, error))?;

        let MatchCollector {
            trail,
            count,
            mut rows,
            matches,
            keys,
            ..
        } = collector;
        let lines = [
            "line that may match is not JSON",
            "lines that may match are not JSON",
        ];
        let note = searched
            .unread
            .map(|unread| skipped_lines_note(name, unread, lines));
        if !matches.is_empty() {
            let session = load(source, &self.painter.options)
                .map_err(|error| Failure::from_load_error(name, error))?;
            self.painter
                .push_context_rows(&state.path, &matches, &session, &mut rows);
        }
        if count > 0 {
            self.painter
                .push_summary(&state.path, &searched.header, count, &mut rows);
        }

        state.printed_keys.extend(keys);
        state.resume = Some(searched.resume);
        state.trail = trail.advance_to_end();
        Ok(Matches {
            path: state.path.clone(),
            header: searched.header,
            count,
            rows,
            warning: note,
        })
    }

    /// Prints the matches in a session. `last_printed` is the session whose rows were printed last.
    pub fn print_matches(
        &self,
        matches: &Matches,
        last_printed: &mut Option<PathBuf>,
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        if let Some(note) = &matches.warning {
            ui.warn(note);
        }
        if matches.count == 0 {
            return Ok(());
        }
        if last_printed.as_ref() != Some(&matches.path) {
            let is_first = last_printed.is_none();
            let heading =
                self.painter
                    .session_heading(&matches.path, &matches.header, is_first, ui);
            *last_printed = Some(matches.path.clone());
            ui.print(&heading)?;
        }
        let written = if self.painter.json {
            ui.verbatim_stdout().write_all(&matches.rows)
        } else {
            ui.stdout().write_all(&matches.rows)
        };
        written.map_err(Failure::from_stdout_error)
    }

    /// Searches what is written to the sessions of a scope from now on, and new ones. `states` is
    /// what is known of them, `last_printed` the session whose rows were printed last. Returns only
    /// if a single session is searched and has as many matches as requested.
    ///
    /// # Errors
    /// If standard output cannot be written; a session that cannot be read is waited for.
    pub fn follow_sessions(
        &mut self,
        places: &SessionStores,
        scope: &Scope,
        mut states: HashMap<PathBuf, SessionState>,
        mut last_printed: Option<PathBuf>,
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        let mut watched_folders = places.search_folders(scope);
        watched_folders.retain(|path| path.exists());
        let mut wait = watch_files(&watched_folders);
        let mut buffer = PageBuffer::default();
        let mut paths: Vec<PathBuf> = Vec::new();
        let mut names: HashSet<OsString> = HashSet::default();
        let mut changed = ChangedFiles::default();
        // Each entry is on the path to the leaf when it is written.
        self.query.only_active = false;
        loop {
            // A file that is not known may be a new session.
            if changed.may_include_others(&names) {
                paths.clear();
                names.clear();
                for file in places.find_sessions(scope).files {
                    names.extend(file.path.file_name().map(OsString::from));
                    paths.push(file.path);
                }
            }

            for path in &paths {
                if !changed.may_include(path) {
                    continue;
                }
                let state = states.entry(path.clone()).or_insert_with(|| {
                    SessionState::new(path, path.to_string_lossy().into_owned())
                });
                if let Some(matches) = self.search_appended(state, &mut buffer, ui) {
                    self.print_matches(&matches, &mut last_printed, ui)?;
                }
                if self.painter.is_single_session && self.has_enough_matches(state) {
                    return Ok(());
                }
            }
            changed = wait(ui)?;
        }
    }

    /// Whether as many matches of a session were printed as requested.
    fn has_enough_matches(&self, state: &SessionState) -> bool {
        state.printed_keys.len() as u64 >= self.max_matches
    }

    /// Searches what was written to a session since; all of it if the file was replaced. Returns
    /// `None` if it has not changed, cannot be read, or has as many matches as requested.
    fn search_appended(
        &self,
        state: &mut SessionState,
        buffer: &mut PageBuffer,
        ui: &Ui,
    ) -> Option<Matches> {
        let session_file = match &state.snapshot {
            Some(seen) => seen.look(&state.path).ok()??,
            None => SessionFile::open(&state.path).ok()?,
        };
        let has_grown = match &state.snapshot {
            Some(seen) => seen.is_start_of(&session_file).ok()?,
            None => false,
        };
        if !has_grown {
            state.resume = None;
        }
        state.snapshot = Some(session_file.snapshot().clone());

        if self.has_enough_matches(state) || ui.stdout_predicate()(session_file.handle()) {
            return None;
        }
        let source = WholeLines::new(&session_file).ok()?;
        self.search_source(&source, state, buffer).ok()
    }
}

/// Collects the matches in one session.
struct MatchCollector<'a> {
    searcher: &'a Searcher,
    path: &'a Path,
    /// The keys of the matches that were printed before.
    printed_keys: &'a HashSet<Vec<u8>>,
    /// Whether the session was searched before, so that these matches are new.
    reports_turns: bool,
    /// The path that the new entries take through the tree.
    trail: Trail,
    /// The number of matches after which the search ends.
    max_matches: u64,
    count: u64,
    /// The rows to print.
    rows: Vec<u8>,
    /// The matches whose rows are made later, with the entries around them.
    matches: Vec<Match>,
    /// With `--follow`, the keys of the collected matches.
    keys: Vec<Vec<u8>>,
}

impl MatchCollector<'_> {
    /// Adds a match, unless it was printed before. Breaks if no other match is needed.
    fn add_match(&mut self, header: &Header, mut hit: Match) -> ControlFlow<()> {
        let painter = &self.searcher.painter;
        if self.searcher.follows {
            let key = match_key(&hit);
            if self.printed_keys.contains(&key) {
                return ControlFlow::Continue(());
            }
            self.keys.push(key);
            if self.reports_turns {
                hit.continuation = Some(self.trail.advance_to(&hit.id));
            }
        }
        self.count += 1;
        if painter.has_rows() && painter.has_context() {
            self.matches.push(hit);
        } else if painter.has_rows() {
            painter.push_row(self.path, header, &hit, false, &mut self.rows);
        }

        // One match is enough for a path.
        let needs_one = !painter.has_rows() && !painter.prints_counts;
        if self.count >= self.max_matches || needs_one {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

/// Returns what identifies a match: the id of its entry, or its text if it has none.
fn match_key(hit: &Match) -> Vec<u8> {
    if hit.id.is_empty() {
        hit.hit.snippet.clone().into_bytes()
    } else {
        hit.id.as_bytes().to_vec()
    }
}
