//! Reads the sessions given by arguments: in files, in directories, or in the agents' stores.

use crate::cli::foreign::{
    find_project_sessions_of, find_sessions_of, find_sources, find_sources_of_projects,
};
use crate::cli::locate::{ArchiveScope, Scope, SessionStores};
use crate::cli::named;
use crate::cli::open::Input;
use crate::cli::output::{Exit, Failure, Links, Ui, apply_style, to_visible};
use crate::cli::rollouts::{Rollouts, detect_file};
use crate::cli::sources::{SourceArgs, Sources};
use crate::import::Origin;
use crate::load::peek::is_torn;
use crate::load::read_header;
use crate::session::paths::abbreviate_home;
use crate::session::period::Period;
use crate::session::prefilter::Prefilter;
use crate::session::usage::SubAgents;
use owo_colors::Style;
use pisess_store::workers::in_order;
use pisess_store::{FoundFile, FoundFiles, Glance, KnownFiles, find_sub_agents, modified_ms};
use std::fs::File;
use std::path::{Path, PathBuf};

/// The warning if the current directory has no sessions, and no other place is given.
pub const NO_SESSIONS_HERE: &str = "no sessions of this directory (hint: --all reads all projects)";

/// The warning if no store has a session.
pub const NO_SESSIONS_ANYWHERE: &str = "no sessions in the stores of pi and oh-my-pi (hint: `pisess help sessions` says where they are)";

/// The sessions to read.
#[derive(Clone, Debug, clap::Args)]
pub struct SessionsArgs {
    /// Sessions by path or name, or directories to search at any depth; - for standard input
    /// (default: the sessions of the current directory in the stores of pi and oh-my-pi)
    #[arg(value_name = "SESSION")]
    pub paths: Vec<PathBuf>,
    /// Include the sessions of all projects
    #[arg(short, long, conflicts_with = "paths")]
    pub all: bool,
    /// Include archived sessions, but not their sub-agents
    #[arg(long, conflicts_with = "paths")]
    pub archived: bool,
    #[command(flatten)]
    pub source: SourceArgs,
    /// Accepted, because other programs want it; directories are searched in any case.
    #[arg(short, long, hide = true)]
    pub recursive: bool,
}

/// Options to print only paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::Args)]
pub struct PathsArgs {
    /// Print only paths (of the matching sessions)
    #[arg(short = 'l', long, alias = "files-with-matches")]
    pub files: bool,
    /// Like -l, but end each path with a NUL byte, as for `xargs -0`
    #[arg(short = '0', long)]
    pub null: bool,
}

impl PathsArgs {
    pub fn is_set(self) -> bool {
        self.files || self.null
    }

    /// Appends a path: as an escaped line; with `-0`, unescaped and followed by a NUL byte.
    pub fn push_path(self, path: &Path, style: Style, links: &Links, out: &mut Vec<u8>) {
        if self.null {
            out.extend_from_slice(path.as_os_str().as_encoded_bytes());
            out.push(0);
        } else {
            let shown = apply_style(&to_visible(&path.to_string_lossy()), style);
            out.extend_from_slice(links.link_path(&shown, path).as_bytes());
            out.push(b'\n');
        }
    }
}

/// Sessions that were found, and are still to be read.
pub struct SessionsToRead {
    files: Vec<FoundFile>,
    /// All sub-agents that were found, even if their sessions are not to be read.
    pub sub_agents: SubAgents,
    /// The worst exit code of failures to find sessions.
    worst_exit: Exit,
    /// Whether no session was found. Once these are returned, that has been reported.
    pub found_none: bool,
    /// Whether the user named a single session. Then rows need not repeat its path.
    pub is_single: bool,
    /// The scope of the sessions, in which new ones may appear later; `None` for standard input.
    pub scope: Option<Scope>,
    /// The note for the user if the paths lead to no session. `None` if a failure says so.
    none_found_note: Option<String>,
    /// The words that are searched for, if only entries with one of them are needed. Other agents'
    /// sessions without them are then read without their entries.
    pub words: Option<Prefilter>,
}

impl SessionsArgs {
    /// Finds the sessions of pi and oh-my-pi, or of the agents that [`SessionsArgs::sources`]
    /// names. A path may lead to a session of any agent, unless `--source` names some.
    ///
    /// `period` leaves out older files of pi and oh-my-pi, and of any agent among the paths; not in
    /// the stores of other agents, nor if `--source` names only these.
    pub fn find_sessions(&self, period: Period, ui: &mut Ui) -> Result<SessionsToRead, Failure> {
        let Some(sources) = self.sources(ui)? else {
            return self.find_own_sessions(period, ui);
        };
        self.refuse_conflicts()?;
        if self.archived {
            sources.refuse_without_archives()?;
        }
        if !sources.includes_own() {
            // `find_sources` itself warns if there are none.
            let found = find_sources(&sources.origins, &self.paths, self.all, ui)?;
            let mut sessions = SessionsToRead::from_files(found.files);
            sessions.report_failures(&found.failures, ui);
            return Ok(sessions);
        }

        // A session may have been imported from another agent, so that both have the same requests.
        // `stats` counts these for the session that it reads first, so the imports come first.
        let mut sessions = self.find_own_or_given(period, ui)?;
        let found_any = !sessions.found_none;
        sessions.retain_sources(&sources, ui)?;
        let foreign_files = self.find_foreign_files(&sources.origins, &sessions.files, ui);
        sessions.add_files(foreign_files);

        // If the sources are pi or oh-my-pi alone, `retain_sources` has warned if it left none.
        let is_none_reported = found_any && sources.origins.is_empty();
        if !is_none_reported {
            self.warn_of_none(&sessions, ui);
        }
        Ok(sessions)
    }

    /// Returns the sessions of other agents that are not among the `found` files: in the stores of
    /// these agents, for all projects, the current one, or the ones among the paths.
    fn find_foreign_files(
        &self,
        origins: &[Origin],
        found: &[FoundFile],
        ui: &mut Ui,
    ) -> Vec<FoundFile> {
        if !self.paths.is_empty() {
            return find_sources_of_projects(origins, &self.paths, found, ui);
        }
        if self.all {
            return find_sessions_of(origins, ui);
        }
        let here = ui.current_folder().to_owned();
        find_project_sessions_of(origins, &[here], ui)
    }

    /// Returns the agents that `--source` names, or the environment ([`SourceArgs::sources`]).
    /// `None` if neither does. The environment only decides where sessions are searched for: a path
    /// may lead to a session of any agent, and other agents have no archives.
    pub fn sources(&self, ui: &Ui) -> Result<Option<Sources>, Failure> {
        let searches = self.paths.is_empty() && !self.archived;
        if searches || self.source.is_given() {
            self.source.sources(ui)
        } else {
            Ok(None)
        }
    }

    /// Finds the sessions of pi and oh-my-pi, and of any agent among the given paths. Leaves out
    /// files last modified before the period. A path that cannot be searched is reported, and the
    /// others are searched.
    pub fn find_own_sessions(
        &self,
        period: Period,
        ui: &mut Ui,
    ) -> Result<SessionsToRead, Failure> {
        self.refuse_conflicts()?;
        let sessions = self.find_own_or_given(period, ui)?;
        self.warn_of_none(&sessions, ui);
        Ok(sessions)
    }

    /// Finds sessions as [`SessionsArgs::find_own_sessions`] does, without a warning if there are
    /// none.
    fn find_own_or_given(&self, period: Period, ui: &mut Ui) -> Result<SessionsToRead, Failure> {
        let stores = SessionStores::locate(ui);
        let found = named::find_sessions(&stores, &self.paths, self.all, ui);
        let mut files = found.files;
        files.extend(self.find_archives(&stores, period, ui)?);

        let found_none = files.is_empty();
        // Collected before old files are left out: a sub-agent's session may be read although the
        // session of its owner is too old.
        let sub_agents = SubAgents::from_files(&files);
        // A named file is read in any case.
        files.retain(|file| file.is_given || may_have_entries_since(&file.path, period.from));

        let is_single = self.paths.len() == 1 && is_one_given_file(&files);
        // No new sessions appear on standard input.
        let scope = if self.reads_stdin() {
            None
        } else {
            Some(found.scope)
        };
        let mut sessions = SessionsToRead {
            files,
            sub_agents,
            worst_exit: Exit::Done,
            found_none,
            is_single,
            scope,
            words: None,
            none_found_note: found.none_found_note,
        };
        sessions.report_failures(&found.failures, ui);
        Ok(sessions)
    }

    /// Returns the archives to read, with `--archived`. Without it, returns none, and warns if the
    /// stores have archives that may have entries in the period.
    fn find_archives(
        &self,
        stores: &SessionStores,
        period: Period,
        ui: &mut Ui,
    ) -> Result<Vec<FoundFile>, Failure> {
        let scope = ArchiveScope::from_all_option(self.all);
        if self.archived && !self.reads_stdin() {
            return Ok(stores.find_archive_files(scope)?);
        }
        // The user who names sessions does not expect others.
        if self.paths.is_empty() {
            stores.warn_archives_skipped(scope, period, ui);
        }
        Ok(Vec::new())
    }

    /// Warns if there are no sessions.
    fn warn_of_none(&self, sessions: &SessionsToRead, ui: &mut Ui) {
        if !sessions.found_none {
            return;
        }
        if self.all {
            ui.warn(NO_SESSIONS_ANYWHERE);
        } else if self.paths.is_empty() {
            ui.warn(NO_SESSIONS_HERE);
        } else if let Some(note) = &sessions.none_found_note {
            ui.warn(note);
        }
    }

    fn reads_stdin(&self) -> bool {
        self.paths.iter().any(|path| path == Path::new("-"))
    }

    /// Refuses standard input together with paths, and `--all` together with any SESSION.
    fn refuse_conflicts(&self) -> Result<(), Failure> {
        if self.reads_stdin() && self.paths.len() > 1 {
            let failure = Failure::usage_error("standard input cannot be combined with paths");
            return Err(failure.with_hint("give - alone"));
        }
        if self.all && !self.paths.is_empty() {
            let failure = Failure::usage_error("--all cannot be combined with SESSION");
            return Err(failure.with_hint("omit one of them"));
        }
        Ok(())
    }
}

impl SessionsToRead {
    /// Returns the sessions in files of other agents, such as Claude Code, to read in place.
    ///
    /// `scope` tells `--follow` where new sessions may appear; of other agents, none are waited
    /// for. A command that searches for words sets `words` afterwards.
    fn from_files(files: Vec<FoundFile>) -> SessionsToRead {
        SessionsToRead {
            sub_agents: SubAgents::from_files(&files),
            worst_exit: Exit::Done,
            found_none: files.is_empty(),
            is_single: is_one_given_file(&files),
            scope: None,
            words: None,
            none_found_note: None,
            files,
        }
    }

    /// Reports failures to find sessions, and raises the exit code to the worst of them.
    fn report_failures(&mut self, failures: &[Failure], ui: &mut Ui) {
        for failure in failures {
            self.worst_exit = self.worst_exit.max(ui.report_failure(failure));
        }
    }

    /// Keeps only the sessions that the user named, without their sub-agents. Keeps all if the user
    /// named none: a project, for example.
    pub fn retain_given(&mut self) {
        if self.files.iter().all(|file| !file.is_given) {
            return;
        }
        self.files.retain(|file| file.is_given);
        self.is_single = self.files.len() == 1;
    }

    /// Keeps only the sessions of these agents, and warns if none is left.
    fn retain_sources(&mut self, sources: &Sources, ui: &mut Ui) -> Result<(), Failure> {
        let is_single = self.is_single;
        self.files = sources.retain_files(std::mem::take(&mut self.files), ui)?;
        self.found_none = self.files.is_empty();
        self.is_single = is_single && is_one_given_file(&self.files);
        Ok(())
    }

    /// Returns the sessions of sub-agents and advisors of the sessions that the user named, unless
    /// they are read as well. Leaves out files last modified before the period.
    pub fn find_unread_agents(&self, period: Period) -> Vec<FoundFile> {
        find_unread_agents(&self.files, period)
    }

    /// Returns the only session that the user named. `None` if there are others to read.
    pub fn only_given_file(&self) -> Option<FoundFile> {
        match &self.files[..] {
            [file] if file.is_given => Some(file.clone()),
            _ => None,
        }
    }

    /// Returns the files, to read them a second time. Empty if standard input or a FIFO is among
    /// them, which can be read only once.
    pub fn files_to_read_again(&self) -> Vec<FoundFile> {
        let stdin = Path::new("-");
        for file in &self.files {
            if file.path == stdin || !file.path.is_file() {
                return Vec::new();
            }
        }
        self.files.clone()
    }

    /// Adds files after those that were found before.
    fn add_files(&mut self, files: Vec<FoundFile>) {
        self.found_none &= files.is_empty();
        self.files.extend(files);
        self.sub_agents = SubAgents::from_files(&self.files);
    }

    /// Puts sessions with sub-agents first. A fork may have copied the result of a sub-agent
    /// without the sub-agent's session. Of such copies, the first one read is counted, so it should
    /// be the one with the sub-agent.
    pub fn sort_agents_first(&mut self) {
        // `false` sorts first.
        let agents = &self.sub_agents;
        self.files
            .sort_by_key(|file| !agents.has_agents_of(&file.path));
    }

    /// Puts the sessions whose files changed last first.
    pub fn sort_newest_first(&mut self) {
        self.files
            .sort_by_cached_key(|file| std::cmp::Reverse(modified_ms(&file.path)));
    }

    /// Calls `work` for all sessions on all processors, and passes the results to `take` in the
    /// order of the files. Sessions with an incomplete last line are reported at the end. Returns
    /// the worst exit code of the reported failures.
    ///
    /// A failure of the only session is returned. Among several sessions, a failure of a named one
    /// is reported. For a session that a search found, there is only a warning; the transcript of a
    /// sub-agent is skipped silently.
    pub fn read_all<T: Send>(
        self,
        ui: &mut Ui,
        work: impl Fn(&Path, &Input) -> Result<T, Failure> + Sync,
        mut take: impl FnMut(&mut Ui, &Path, T) -> Result<(), Failure>,
    ) -> Result<Exit, Failure> {
        let stdout_is = ui.stdout_predicate();
        let only_input = match &self.files[..] {
            [file] => open_only_session(&file.path, self.words.as_ref(), stdout_is, ui)?,
            _ => None,
        };
        let progress = ui.start_progress(&self.files);
        let _reading = match &only_input {
            Some(input) => input.start_reading(ui),
            None => None,
        };
        let workers = ui.processor_count();
        let rollouts = Rollouts::default();
        let words = self.words.as_ref();
        let read_file = |path: &Path| match &only_input {
            Some(input) => work_and_check_tail(path, input, &work),
            None => {
                let input = Input::open_path_to_read(path, &rollouts, words, stdout_is)?;
                work_and_check_tail(path, &input, &work)
            }
        };
        let work_on = |file: FoundFile| {
            let result = read_file(&file.path);
            progress.advance();
            (file, result)
        };

        let mut worst_exit = self.worst_exit;
        let mut torn_paths = Vec::new();
        let take_result = |(file, result): (FoundFile, Result<ReadSession<T>, Failure>)| {
            let session = match result {
                Ok(session) => session,
                Err(failure) if self.is_single => return Err(failure),
                Err(failure) => {
                    worst_exit = worst_exit.max(report_unread(&file, &failure, ui));
                    return Ok(());
                }
            };
            if session.is_torn {
                torn_paths.push(file.path.clone());
            }
            take(ui, &file.path, session.value)
        };
        in_order(self.files, workers, work_on, take_result)?;
        warn_torn(&torn_paths, ui);
        Ok(worst_exit)
    }
}

/// Reports that one of several sessions cannot be read, and returns the exit code of that. For a
/// session that a search found, there is only a warning; the transcript of a sub-agent is skipped
/// silently.
fn report_unread(file: &FoundFile, failure: &Failure, ui: &mut Ui) -> Exit {
    if file.is_given {
        return ui.report_failure(failure);
    }
    if !failure.is_transcript() {
        ui.warn(&failure.to_note());
    }
    Exit::Done
}

/// Returns the sessions of sub-agents and advisors of the sessions that the user named, unless they
/// are among `files` themselves. Leaves out files last modified before the period.
pub fn find_unread_agents(files: &[FoundFile], period: Period) -> Vec<FoundFile> {
    let mut agents = find_agents_of_named(files).files;
    agents.retain(|agent| may_have_entries_since(&agent.path, period.from));
    // The directory may also have other files, such as an agent's notes or data.
    agents.retain(|agent| is_session(&agent.path));
    agents
}

/// Returns the sessions of sub-agents and advisors of the sessions that the user named, unless they
/// are among `files` themselves. The result also has the directories that could not be searched, as
/// problems.
pub fn find_agents_of_named(files: &[FoundFile]) -> FoundFiles {
    let mut known = KnownFiles::default();
    for file in files {
        known.insert(&file.path);
    }
    let mut all = FoundFiles::default();
    for file in files {
        if !file.is_given {
            continue;
        }
        let found = find_sub_agents(&file.path);
        all.problems.extend(found.problems);
        for agent in found.files {
            if known.insert(&agent.path) {
                all.files.push(agent);
            }
        }
    }
    all
}

/// What a worker has read of a session.
struct ReadSession<T> {
    /// The result of the command's own function.
    value: T,
    /// Whether the last line of the session is incomplete.
    is_torn: bool,
}

/// Opens the only session before the workers start. Standard input must be opened once and for all;
/// the size of a file decides whether there is a progress bar. Returns `None` for a file that
/// cannot be opened: a worker tries again, and reports the failure.
fn open_only_session(
    path: &Path,
    words: Option<&Prefilter>,
    is_stdout: &dyn Fn(&File) -> bool,
    ui: &mut Ui,
) -> Result<Option<Input>, Failure> {
    if path == Path::new("-") {
        return Input::open(path, ui).map(Some);
    }
    Ok(Input::open_path_to_read(path, &Rollouts::default(), words, is_stdout).ok())
}

/// Whether a file begins as a session of any agent.
fn is_session(path: &Path) -> bool {
    if matches!(detect_file(path), Ok(Some(_))) {
        return true;
    }
    match Glance::open(path) {
        Ok(file) => read_header(&file).is_ok(),
        Err(_) => false,
    }
}

/// Whether a file was modified at `since` (in milliseconds since 1970) or later. Returns true
/// without `since`, and if the modification time is unknown.
fn may_have_entries_since(path: &Path, since: Option<i64>) -> bool {
    let Some(since) = since else {
        return true;
    };
    match modified_ms(path) {
        Some(modified) => modified >= since,
        None => true,
    }
}

/// Calls `work` for a session, and checks whether the last line of the session is incomplete.
fn work_and_check_tail<T>(
    path: &Path,
    input: &Input,
    work: impl Fn(&Path, &Input) -> Result<T, Failure>,
) -> Result<ReadSession<T>, Failure> {
    let value = work(path, input)?;
    // `work` would have failed if the session could not be read.
    // A converted session has only whole lines.
    let is_torn = input.foreign.is_none() && is_torn(input.source()).unwrap_or(false);
    Ok(ReadSession { value, is_torn })
}

/// Whether there is one file, and the user named it. The path of a file that was found in a
/// directory is printed, even if it is the only one.
fn is_one_given_file(files: &[FoundFile]) -> bool {
    match files {
        [file] => file.is_given,
        _ => false,
    }
}

/// Warns of sessions whose last line is incomplete.
pub fn warn_torn(paths: &[PathBuf], ui: &mut Ui) {
    match paths {
        [] => {}
        [path] => {
            let path = abbreviate_home(&path.to_string_lossy(), ui.home().as_deref());
            ui.warn(&format!(
                "{path}: the last line is incomplete (hint: `pisess check --repair --backup` removes it)"
            ));
        }
        paths => ui.warn(&format!(
            "the last lines of {} sessions are incomplete (hint: `pisess check --all` names them)",
            paths.len()
        )),
    }
}
