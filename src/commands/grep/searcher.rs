//! Searches sessions, and continues with the entries that are written to them later.

use super::hits::{FoundIn, MatchPainter};
use super::rows::{FinishedRows, Rows};
use crate::cli::follow::{ChangedFiles, FileWatcher};
use crate::cli::locate::{Scope, SessionStores};
use crate::cli::open::{CHECK_HINT, Input};
use crate::cli::output::{Failure, Ui};
use crate::cli::pruned::load_pruned;
use crate::cli::session_part::SessionPart;
use crate::load::load;
use crate::ops::grep::{Match, Query, ResumePoint, SearchOutcome, SessionIds, Trail, search_file};
use crate::session::Header;
use crate::session::defect::FindingKind;
use crate::session::prefixes::UniquePrefixes;
use crate::session::read::entry_reader::EntryReader;
use crate::session::read::whole_lines::WholeLines;
use foldhash::{HashMap, HashSet};
use pisess_store::{PageBuffer, ReadAt, SessionFile, Snapshot, StoreError};
use std::cell::OnceCell;
use std::ffi::OsString;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// A search, and the format of its output.
pub struct Searcher {
    pub query: Query,
    pub painter: MatchPainter,
    /// The maximum number of matches in each session.
    pub max_matches: u64,
    /// Whether the payloads that were pruned from sessions are searched as well.
    pub searches_pruned: bool,
    /// The range of entries to search in a session; `None` for all.
    pub range: Option<String>,
    /// The number of entries to search at the end of each conversation; `None` for all.
    pub last_count: Option<usize>,
    /// Whether the search continues with entries that are written later (`--follow`).
    pub follows: bool,
    /// Whether matches in entries that exist at the start are left out.
    pub starts_now: bool,
    /// The number of threads that search one session.
    pub workers: usize,
}

/// The matches in one session, formatted for printing.
#[derive(Debug)]
pub struct Matches {
    path: PathBuf,
    header: Header,
    /// Empty if the output does not have it.
    title: String,
    /// In the order of printing.
    rows: [FinishedRows; 2],
    warning: Option<String>,
}

/// What is known of a searched session. A later search continues from it.
#[derive(Default)]
pub struct SessionState {
    path: PathBuf,
    /// Its name in messages.
    name: String,
    snapshot: Option<Snapshot>,
    resume: Option<ResumePoint>,
    /// The keys of the matches that were printed. If the file is replaced, it is searched again
    /// from the start, and these matches are not printed again.
    printed_keys: HashSet<Vec<u8>>,
    /// The number of these keys whose matches existed at the start, and were not printed.
    left_out_count: usize,
    trail: Trail,
}

impl SessionState {
    /// Returns the number of matches that were printed.
    fn printed_count(&self) -> u64 {
        (self.printed_keys.len() - self.left_out_count) as u64
    }

    fn is_first_search(&self) -> bool {
        self.snapshot.is_none()
    }

    fn new(path: &Path, name: String) -> SessionState {
        SessionState {
            path: path.to_owned(),
            name,
            ..SessionState::default()
        }
    }

    /// Opens the file if it has changed since it was searched; otherwise returns `None`. The search
    /// then continues where the previous one ended, or begins anew if the file was replaced.
    fn open_if_changed(&mut self) -> Result<Option<SessionFile>, StoreError> {
        let Some(snapshot) = &self.snapshot else {
            // A new session.
            let file = SessionFile::open(&self.path)?;
            self.resume = None;
            self.snapshot = Some(file.snapshot().clone());
            return Ok(Some(file));
        };
        let Some(file) = snapshot.look(&self.path)? else {
            return Ok(None);
        };
        let has_grown = snapshot.is_start_of(&file)?;
        if !has_grown {
            self.resume = None;
        }
        // This is stored even if the file is not searched afterwards: as long as it does not
        // change, it need not be opened again.
        self.snapshot = Some(file.snapshot().clone());
        Ok(Some(file))
    }
}

/// The sessions that are followed.
#[derive(Default)]
struct KnownSessions {
    paths: Vec<PathBuf>,
    /// The names of their files, by which a watcher reports changes.
    names: HashSet<OsString>,
}

impl KnownSessions {
    fn find(stores: &SessionStores, scope: &Scope) -> KnownSessions {
        let mut known = KnownSessions::default();
        for file in stores.find_sessions(scope).files {
            known
                .names
                .extend(file.path.file_name().map(OsString::from));
            known.paths.push(file.path);
        }
        known
    }
}

/// The result of searching one session, before rows are made of it.
struct FinishedSearch {
    outcome: SearchOutcome,
    collected: CollectedMatches,
    /// The path that the new entries take through the tree.
    trail: Trail,
}

impl Searcher {
    /// Searches a session from the start. With `--pruned`, searches it as it was before `prune`.
    /// Returns the matches, and the state from which [`Self::follow_sessions`] continues. `buffer`
    /// only saves allocations.
    pub fn search_session(
        &self,
        path: &Path,
        input: &Input,
        buffer: &mut PageBuffer,
    ) -> Result<(Matches, SessionState), Failure> {
        let mut state = SessionState::new(path, input.name.clone());
        let source = input.source();
        // `None` if nothing was pruned.
        let pruned = if self.searches_pruned {
            load_pruned(input)?
        } else {
            None
        };
        let matches = if let Some(pruned) = pruned {
            self.search_source(&pruned.restored_file(source), &mut state, buffer)?
        } else if self.follows {
            // A line that is still being written is searched once it is complete.
            let whole_lines = input.map_read_error(WholeLines::new(source))?;
            self.search_source(&whole_lines, &mut state, buffer)?
        } else {
            self.search_source(source, &mut state, buffer)?
        };
        // The snapshot is set only now: to `search_source`, it means that the session was searched
        // before.
        state.snapshot = input.file().map(|file| file.snapshot().clone());
        Ok((matches, state))
    }

    /// Searches a source from the end of the previous search. On failure, `state` is unchanged.
    ///
    /// The result contains the formatted rows. With entries around matches, the rows are formatted
    /// after the search, because the whole session has to be loaded for them.
    fn search_source(
        &self,
        source: &dyn ReadAt,
        state: &mut SessionState,
        buffer: &mut PageBuffer,
    ) -> Result<Matches, Failure> {
        // Set when the first row needs it.
        let title = OnceCell::new();
        let FinishedSearch {
            outcome,
            mut collected,
            trail,
        } = self.collect_matches(source, state, &title, buffer)?;
        // The keys are taken out, because `finish_rows` consumes the rest.
        let keys = std::mem::take(&mut collected.keys);
        let rows = self.finish_rows(collected, source, &outcome.header, &title, state)?;
        let warning = outcome.unread.map(|unread| {
            let lines = FindingKind::MalformedLine.describe_damaged(unread);
            format!("{}: {lines}, but may match {CHECK_HINT}", state.name)
        });

        // Nothing can fail from here on, so the state is changed only now.
        state.printed_keys.extend(keys);
        if self.leaves_matches_out(state) {
            state.left_out_count = state.printed_keys.len();
        }
        state.resume = Some(outcome.resume);
        state.trail = trail.advance_to_end();
        Ok(Matches {
            path: state.path.clone(),
            header: outcome.header,
            title: title.into_inner().unwrap_or_default(),
            rows,
            warning,
        })
    }

    /// Searches a source, and collects the matches in the entries that are searched.
    fn collect_matches(
        &self,
        source: &dyn ReadAt,
        state: &SessionState,
        title: &OnceCell<String>,
        buffer: &mut PageBuffer,
    ) -> Result<FinishedSearch, Failure> {
        let name = &state.name;
        let trail = self
            .start_trail(source, state, buffer)
            .map_err(|error| Failure::from_read_error(name, error))?;
        let searched_part = self.select_part(source, name)?;
        // Filled by the collector, if rows need them. They are here, because `prefixes` borrows
        // from `ids`.
        let ids = OnceCell::new();
        let prefixes = OnceCell::new();
        let mut collector = MatchCollector {
            source,
            ids: &ids,
            prefixes: &prefixes,
            title,
            searcher: self,
            path: &state.path,
            printed_keys: &state.printed_keys,
            reports_continuations: !state.is_first_search(),
            trail,
            max_matches: self.max_matches.saturating_sub(state.printed_count()),
            is_left_out: self.leaves_matches_out(state),
            collected: CollectedMatches::default(),
        };
        let mut on_match = |header: &Header, hit: Match| {
            if let Some(part) = &searched_part
                && !part.contains(hit.line)
            {
                return ControlFlow::Continue(());
            }
            collector.add_match(header, hit)
        };
        let resume = state.resume;
        let workers = self.workers;
        let outcome = search_file(source, &self.query, resume, workers, buffer, &mut on_match)
            .map_err(|error| Failure::from_load_error(name, error))?;
        Ok(FinishedSearch {
            outcome,
            collected: collector.collected,
            trail: collector.trail,
        })
    }

    /// Whether the matches of a search are not printed, neither now nor later. With `--follow`
    /// alone, the first search of a session finds the matches that exist at the start: only later
    /// ones are printed.
    fn leaves_matches_out(&self, state: &SessionState) -> bool {
        self.starts_now && state.is_first_search()
    }

    /// Returns the trail with which a search begins: the path that new entries take through the
    /// tree. Only `--follow` needs one, to show which entry a match continues. The first search
    /// starts it at the end of the file, and each later search continues it with the appended
    /// entries.
    fn start_trail(
        &self,
        source: &dyn ReadAt,
        state: &SessionState,
        buffer: &mut PageBuffer,
    ) -> io::Result<Trail> {
        if state.is_first_search() && !self.follows {
            return Ok(Trail::default());
        }
        if state.is_first_search() {
            return Trail::at_end_of(source);
        }
        let mut trail = state.trail.clone();
        match state.resume {
            Some(resume) => trail.read_appended(source, resume.offset, buffer)?,
            // Without a place to resume, the file was replaced.
            None => trail.read_replacement(source, buffer)?,
        }
        Ok(trail)
    }

    /// Returns all rows of a session. These are the rows of matches, with the rows of tools last or
    /// with the entries around matches; or the one row that summarizes the session.
    fn finish_rows(
        &self,
        collected: CollectedMatches,
        source: &dyn ReadAt,
        header: &Header,
        title: &OnceCell<String>,
        state: &SessionState,
    ) -> Result<[FinishedRows; 2], Failure> {
        let painter = &self.painter;
        let read_title = || painter.read_shown_title(&state.path, source);
        let CollectedMatches {
            count,
            mut rows,
            tool_rows,
            matches,
            ..
        } = collected;
        // Whole texts are separated by empty lines.
        let has_both = !rows.is_empty() && !tool_rows.is_empty();
        if painter.prints_whole_text && has_both {
            rows.bytes.push(b'\n');
        }

        // With entries around matches, no rows were formatted during the search.
        if !matches.is_empty() {
            let session = load(source, &painter.options)
                .map_err(|error| Failure::from_load_error(&state.name, error))?;
            let reader = EntryReader::new(&session, source);
            let title = title.get_or_init(read_title);
            painter
                .push_context_rows(
                    &state.path,
                    title,
                    &matches,
                    &self.query,
                    &reader,
                    &mut rows,
                )
                .map_err(|error| Failure::from_read_error(&state.name, error))?;
        }

        // Only with `-c`, `-l` and `-L`; otherwise this appends nothing. With `-L`, a session has a
        // row if it has no match.
        let has_matches = count > 0;
        let is_listed = has_matches != painter.lists_unmatched;
        if is_listed && !painter.has_rows() {
            let session_facts = FoundIn {
                original_lines: None,
                path: &state.path,
                header,
                title: title.get_or_init(read_title),
                prefixes: None,
            };
            painter.push_summary(&session_facts, count, &mut rows.bytes);
        }
        Ok([rows.finish()?, tool_rows.finish()?])
    }

    /// Returns the entries of a session that are searched; `None` if all of them are.
    fn select_part(&self, source: &dyn ReadAt, name: &str) -> Result<Option<SessionPart>, Failure> {
        if self.range.is_none() && self.last_count.is_none() {
            return Ok(None);
        }
        let range = self.range.as_deref();
        let part = SessionPart::select(source, name, range, self.last_count)?;
        Ok(Some(part))
    }

    /// Prints the matches in a session. A heading precedes them if the previous rows are of another
    /// session. `last_printed` is the session of the previous rows; it is updated.
    pub fn print_matches(
        &self,
        matches: &Matches,
        last_printed: &mut Option<PathBuf>,
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        if let Some(note) = &matches.warning {
            ui.warn(note);
        }
        if matches.rows.iter().all(FinishedRows::is_empty) {
            return Ok(());
        }
        if last_printed.as_ref() != Some(&matches.path) {
            let is_first = last_printed.is_none();
            let heading = self.painter.session_heading(
                &matches.path,
                &matches.header,
                &matches.title,
                is_first,
                ui,
            );
            *last_printed = Some(matches.path.clone());
            ui.print(&heading)?;
        }
        for rows in &matches.rows {
            let write_result = if self.painter.json {
                rows.write_to(&mut ui.verbatim_stdout())
            } else {
                rows.write_to(&mut ui.stdout())
            };
            write_result.map_err(Failure::from_stdout_error)?;
        }
        Ok(())
    }

    /// Searches the sessions of a scope for entries that are written from now on, and also new
    /// sessions. `states` has the point from which the search continues in each session.
    /// `last_printed` is the session of the previous rows.
    ///
    /// Returns only if a single session is searched and has as many matches as requested.
    ///
    /// # Errors
    /// If standard output cannot be written. A session that cannot be read is searched as soon as
    /// it can.
    pub fn follow_sessions(
        &mut self,
        stores: &SessionStores,
        scope: &Scope,
        mut states: HashMap<PathBuf, SessionState>,
        mut last_printed: Option<PathBuf>,
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        let mut watched_folders = stores.search_folders(scope);
        watched_folders.retain(|path| path.exists());
        let mut watcher = FileWatcher::start(&watched_folders);
        let mut buffer = PageBuffer::default();
        let mut known = KnownSessions::default();
        // For the first round, any file may have changed since it was searched.
        let mut changed = ChangedFiles::default();
        // A new entry is on the path to the leaf at the moment it is written, so none is excluded.
        self.query.entries.only_active = false;
        loop {
            // An unknown file that changed may be a new session.
            if changed.may_include_others(&known.names) {
                known = KnownSessions::find(stores, scope);
            }
            for path in &known.paths {
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
            changed = watcher.wait_for_changes(ui)?;
        }
    }

    /// Whether as many matches of a session were printed as `-m` allows.
    fn has_enough_matches(&self, state: &SessionState) -> bool {
        state.printed_count() >= self.max_matches
    }

    /// Searches what was appended to a session since the previous search. Searches the whole file
    /// if it is new, or was replaced.
    ///
    /// Returns `None` if there is nothing to print: the file has not changed, or is standard
    /// output; as many matches were printed as requested; or the file cannot be read, which is
    /// tried again after the next change.
    fn search_appended(
        &self,
        state: &mut SessionState,
        buffer: &mut PageBuffer,
        ui: &Ui,
    ) -> Option<Matches> {
        let session_file = match state.open_if_changed() {
            Ok(Some(session_file)) => session_file,
            // The file has not changed, or cannot be read. The next change is tried again.
            Ok(None) | Err(_) => return None,
        };
        if self.has_enough_matches(state) {
            return None;
        }
        // A search of its own output would find its own rows, without an end.
        let is_stdout = ui.stdout_predicate();
        if is_stdout(session_file.handle()) {
            return None;
        }
        let source = WholeLines::new(&session_file).ok()?;
        self.search_source(&source, state, buffer).ok()
    }
}

/// Collects the matches in one session.
struct MatchCollector<'a, 'i> {
    searcher: &'a Searcher,
    source: &'a dyn ReadAt,
    /// The ids of the session, and (`prefixes`) their unique prefixes. Both are read when the first
    /// row needs them.
    ids: &'i OnceCell<SessionIds>,
    prefixes: &'a OnceCell<UniquePrefixes<'i>>,
    /// The title of the session, read when the first row needs it.
    title: &'a OnceCell<String>,
    path: &'a Path,
    /// The keys of the matches that earlier searches printed.
    printed_keys: &'a HashSet<Vec<u8>>,
    /// Whether the row of each match shows which entry it continues. This is so only if the session
    /// was searched before, because then the found entries are new.
    reports_continuations: bool,
    /// The path that the new entries take through the tree.
    trail: Trail,
    /// The number of matches after which the search ends.
    max_matches: u64,
    /// Whether the matches are only remembered, so that neither this search nor a later one prints
    /// them.
    is_left_out: bool,
    collected: CollectedMatches,
}

/// The matches that the search of one session has found so far.
#[derive(Default)]
struct CollectedMatches {
    /// The number of matches, without those left out or printed before.
    count: u64,
    /// The rows to print.
    rows: Rows,
    /// The rows of tools, if these are printed after `rows`.
    tool_rows: Rows,
    /// The matches whose rows are formatted later, together with the entries around them.
    matches: Vec<Match>,
    /// With `--follow`, the keys of the collected matches.
    keys: Vec<Vec<u8>>,
}

impl MatchCollector<'_, '_> {
    /// Adds a match to the collected ones, and ends the search if no further match is needed. With
    /// `--follow`, skips a match that was printed before.
    fn add_match(&mut self, header: &Header, mut hit: Match) -> ControlFlow<()> {
        if self.searcher.follows {
            let is_to_print = self.remember_match(&hit);
            if !is_to_print {
                return ControlFlow::Continue(());
            }
            if self.reports_continuations {
                hit.continuation = Some(self.trail.advance_to(&hit.id));
            }
        }

        self.collected.count += 1;
        if self.searcher.painter.has_rows() {
            self.add_row(header, hit);
        }
        if self.has_enough_matches() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    /// Formats the row of a match. If entries around it are printed, too, only keeps the match
    /// without its whole text: that text and these entries are read after the search.
    fn add_row(&mut self, header: &Header, mut hit: Match) {
        if self.searcher.painter.has_context() {
            drop_text_of_entry(&mut hit);
            self.collected.matches.push(hit);
        } else {
            self.push_row(header, &hit);
        }
    }

    /// Remembers a match for `--follow`, so that later searches do not print it. Returns whether
    /// this search prints it.
    fn remember_match(&mut self, hit: &Match) -> bool {
        // A session that was replaced is searched again, so earlier matches are found again.
        let key = match_key(hit);
        if self.printed_keys.contains(&key) {
            return false;
        }
        self.collected.keys.push(key);
        !self.is_left_out
    }

    /// Whether no further match is needed. If only the path is printed, one match suffices. If rows
    /// could not be kept, the search has failed.
    fn has_enough_matches(&self) -> bool {
        let collected = &self.collected;
        if collected.rows.has_failed() || collected.tool_rows.has_failed() {
            return true;
        }
        let painter = &self.searcher.painter;
        let prints_only_path = !painter.has_rows() && !painter.prints_counts;
        prints_only_path || self.collected.count >= self.max_matches
    }
}

impl<'a, 'i> MatchCollector<'a, 'i> {
    /// Appends the row of a match to the rows, or to the rows of tools if these are printed last.
    /// `header` is the header of the session.
    fn push_row(&mut self, header: &Header, hit: &Match) {
        let painter = &self.searcher.painter;
        let session_facts = FoundIn {
            original_lines: self.source.original_lines().map(|lines| &**lines),
            path: self.path,
            header,
            title: self
                .title
                .get_or_init(|| painter.read_shown_title(self.path, self.source)),
            prefixes: self.unique_prefixes(),
        };
        let is_of_tool = hit.tool.is_some();
        let rows = if is_of_tool && painter.puts_tools_last {
            &mut self.collected.tool_rows
        } else {
            &mut self.collected.rows
        };
        painter.push_match(&session_facts, hit, rows);
    }

    /// Returns the unique prefixes of the session's ids; `None` if they are not highlighted.
    fn unique_prefixes(&self) -> Option<&'a UniquePrefixes<'i>> {
        if !self.searcher.painter.marks_prefixes() {
            return None;
        }
        // If the ids cannot be read, no prefix is highlighted.
        let ids = self
            .ids
            .get_or_init(|| SessionIds::read(self.source).unwrap_or_default());
        Some(
            self.prefixes
                .get_or_init(|| UniquePrefixes::from_ids(ids.iter())),
        )
    }
}

/// Drops the whole texts of a match and of the entry that it labels, if they can be read again. The
/// title, which has no id, is not in an entry, so its text is kept.
fn drop_text_of_entry(hit: &mut Match) {
    if !hit.id.is_empty() {
        hit.texts.whole = None;
    }
    if let Some(labelled) = &mut hit.labelled {
        labelled.texts.whole = None;
    }
}

/// Returns the key that identifies a match: the id of its entry. If the entry has no id, the key is
/// the snippet.
fn match_key(hit: &Match) -> Vec<u8> {
    if hit.id.is_empty() {
        hit.hit.snippet.clone().into_bytes()
    } else {
        hit.id.as_bytes().to_vec()
    }
}
