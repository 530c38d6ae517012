//! `pisess list`: lists sessions.

mod repository;
mod rows;

use crate::agents::stores::is_cwd;
use crate::cli::foreign::{
    self, ForeignPlace, convert_file, find_arguments, find_foreign_sessions,
};
use crate::cli::guide::{Example, Guide};
use crate::cli::ids::Ids;
use crate::cli::locate::{ArchiveScope, SessionStores, is_archive};
use crate::cli::named::{FoundSessions, find_sessions};
use crate::cli::open::{Input, refuse_stdout};
use crate::cli::options::parse_amount;
use crate::cli::output::{Exit, Failure, Ui, to_visible};
use crate::cli::period::PeriodArgs;
use crate::cli::pruned::{load_pruned, load_pruned_beside, split_result, warn_uncounted};
use crate::cli::rollouts::Rollouts;
use crate::cli::sessions::{
    NO_SESSIONS_ANYWHERE, NO_SESSIONS_HERE, PathsArgs, SessionsArgs, warn_torn,
};
use crate::format::{ID_SUFFIX_LEN, id_suffix};
use crate::import::Origin;
use crate::load::{LoadError, LoadOptions, WrongFile};
use crate::ops::list::{
    FamilyFile, ForkRows, ListRow, ListedSession, Order, ReadSession, SessionFilter, build_rows,
    count_new_entries, distinct_titles, first_message, group_by_repository, read_session,
    sort_by_start, sort_sessions,
};
use crate::session::period::Period;
use crate::session::usage::SubAgents;
use foldhash::{HashMap, HashSet};
use owo_colors::Style;
use pisess_json::text::Text;
use pisess_json::time::iso_string;
use pisess_json::write::{Object, text_array};
use pisess_store::{self as store, FoundFile, Glance, ReadAt, SessionsBeingWritten};
use repository::repository_of;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

pub const GUIDE: Guide = Guide::new(&[
    Example::new("List the sessions of the current directory", "pisess list"),
    Example::new(
        "List the sessions of all projects in the last two weeks",
        "pisess list --all --since 2w",
    ),
    Example::new(
        "List the sessions below a directory, the most expensive first",
        "pisess list sessions --sort cost",
    ),
    Example::new(
        "List the sessions over 10 MB of all projects, the largest first",
        "pisess list --all --larger-than 10M --sort size",
    ),
    Example::new(
        "Count the entries of each session below a directory",
        "pisess list -0 sessions | xargs -0 wc -l",
    ),
    Example::new(
        "List the sessions of all worktrees of this repository",
        "pisess list --repo",
    ),
    Example::new(
        "List forks below the sessions they were copied from",
        "pisess list --forks sessions",
    ),
]);

/// List sessions, newest first.
///
/// Without SESSION, lists the sessions of the current directory, from the
/// stores of both agents. Given a directory, lists all sessions below it,
/// including hidden directories.
///
/// The columns are as follows; a narrow terminal shows fewer:
///
/// - the age of the last user or assistant message
/// - the short id: the last 8 characters of the session's id, or 12 if 8 are not
///   distinct. Other commands accept the short id, or only its highlighted start,
///   as SESSION
/// - the agent (`pi`, or `omp` for oh-my-pi) and the project, if there are
///   several
/// - the numbers of messages and branches
/// - the size of the file
/// - the size of the context at the leaf, in tokens, as the agent counts it (`~`:
///   an estimate, because the provider's count is less than a quarter of it)
/// - the cost
/// - the name, or else the first user message that is not just a command
///
/// Sessions of sub-agents and advisors are listed below the session that
/// started them.
///
/// --forks lists the forks of a session below it, indented, oldest first. If a
/// fork has the newest message, it comes last, with an arrow and no indent: the
/// conversation continues there. --json and --files always list the oldest fork
/// first.
///
/// Rows are sorted by the last message. The column that --sort names is always
/// shown. `*` marks the session that `last` refers to: the one whose file changed
/// most recently. A label counts as a change, so the first row may be another
/// session. If --limit leaves out that session, a note names it.
///
/// `●` marks a running session: another process has its file open for writing,
/// or an agent wrote to it within the last minute.
///
/// `--source claude` lists what you could import.
///
/// --repo lists the sessions of the current repository, in all of its worktrees.
/// With --all or SESSION, it groups sessions by repository. If the directory of a
/// session no longer exists, its nearest parent directory that exists counts
/// instead.
///
/// If many first messages have the same beginning, such as `[cron:ID …]` of a
/// scheduler, `…` replaces the beginning, even if ids and numbers in it differ.
/// --json prints the beginning, too. On a terminal, only the end of a project's
/// path is shown, as far as it is needed to distinguish the projects.
#[derive(Debug, clap::Args)]
#[command(about = "List sessions, newest first", verbatim_doc_comment)]
#[command(mut_arg("paths", |paths| paths.help("Sessions by path or name, or directories to search at any depth")))]
pub struct Args {
    #[command(flatten)]
    pub sessions: SessionsArgs,
    /// Group sessions by git repository, with all its worktrees
    #[arg(long)]
    pub repo: bool,
    /// List the sessions of Claude Code (claude) or Codex (codex), as `import` would convert them
    #[arg(long, value_name = "SOURCE", hide_possible_values = true, conflicts_with_all = ["archived", "forks", "repo"])]
    pub source: Option<Origin>,
    #[command(flatten)]
    pub period: PeriodArgs,
    /// Choose sessions larger than SIZE bytes, such as 500000, 64k or 1.5M
    #[arg(long, value_name = "SIZE", value_parser = parse_amount)]
    pub larger_than: Option<u64>,
    /// Choose sessions without user messages
    #[arg(long)]
    pub empty: bool,
    /// Sort sessions by KEY (modified, created, name, project, messages, size, context, tokens or
    /// cost)
    #[arg(
        long,
        value_name = "KEY",
        default_value = "modified",
        hide_possible_values = true
    )]
    pub sort: Order,
    /// List at most N sessions
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// List the forks of a session below it; in the row of a fork, count only
    /// what it adds
    #[arg(long)]
    pub forks: bool,
    #[command(flatten)]
    pub only: PathsArgs,
    /// Print the result as JSON (an object per session)
    #[arg(long, conflicts_with_all = ["files", "null"])]
    pub json: bool,
}

/// Lists the sessions of the current directory, of the paths that are given, or of all projects.
///
/// Each reason for an empty list has its own warning: there are no files, no file is a session, or
/// nothing was written in the period. A failure is reported, and the other sessions are listed.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let period = args.period.parse_period(ui)?;
    let stores = SessionStores::locate(ui);
    let mut repositories = HashMap::default();

    let mut list = Vec::from_iter(read_stdin_session(args, period, ui)?);
    let FilesToRead {
        mut files,
        mut has_failures,
    } = args.find_files(period, &stores, ui)?;
    if args.repo && args.lists_cwd() {
        retain_same_repository(&mut files, &mut repositories, &stores, ui)?;
    }
    let has_files = !files.is_empty();
    if !has_files
        && args.source.is_none()
        && let Some(note) = args.none_found_note()
    {
        ui.warn(note);
    }

    // Reading consumes the files. If none can be listed, a note says which agent wrote these.
    let first_paths: Vec<PathBuf> = files
        .iter()
        .take(MAX_INSPECTED)
        .map(|file| file.path.clone())
        .collect();
    has_failures |= read_sessions(&mut list, files, args, period, ui);
    if args.source.is_some() && args.lists_cwd() {
        list.retain(|session| is_cwd(&session.cwd.to_string_lossy(), stores.here()));
    }
    let found_none = list.is_empty() && !has_failures;
    if let Some(source) = args.source {
        if found_none {
            ui.warn(&foreign::none_found_note(source, &args.foreign_place()));
        }
    } else if found_none && has_files && !args.lists_cwd() && !args.period.is_given() {
        let note = foreign::only_foreign_note(&first_paths);
        ui.warn(note.as_deref().unwrap_or(NO_SESSIONS));
    }
    let has_sessions = !list.is_empty();
    list.retain(|session| session.is_in_period);
    if list.is_empty() && has_sessions && !has_failures {
        ui.warn("nothing was written in this period to any of these sessions");
    }
    let has_sessions = !list.is_empty();
    let filter = args.session_filter();
    list.retain(|session| filter.accepts(session.selection_facts()));
    if list.is_empty() && has_sessions {
        ui.warn(NONE_CHOSEN);
    }
    if !args.only.is_set() {
        mark_running(&mut list, Ids::new(ui)?.now_ms(ui));
    }
    let torn_paths: Vec<PathBuf> = list
        .iter()
        .filter(|session| session.is_torn)
        .map(|session| session.path.clone())
        .collect();
    warn_torn(&torn_paths, ui);

    sort_sessions(&mut list, args.sort);
    let mut rows = limit_rows(build_rows(&list, args.fork_rows()), args.limit);
    if args.repo {
        group_by_repository(&mut list, &mut rows, |session| {
            repository_of(&stores.resolve_folder(&session.cwd), &mut repositories)
        });
    }
    let last = stores.newest_sessions().next();
    print_rows(&list, &rows, last.as_deref(), args, ui)?;
    Ok(if has_failures {
        Exit::Failed
    } else {
        Exit::Done
    })
}

/// An agent that wrote to a session within this time counts as running.
const RUNNING: Duration = Duration::from_secs(60);

/// Marks the sessions that an agent works on. The processes are looked through once, for all
/// sessions. `now_ms` is in milliseconds since 1970.
fn mark_running(list: &mut [ListedSession], now_ms: i64) {
    if list.is_empty() {
        return;
    }
    let being_written = SessionsBeingWritten::find();
    for session in list {
        if session.path == Path::new("-") || is_archive(&session.path) {
            continue;
        }
        session.is_running =
            being_written.contains(&session.path) || was_just_written(session, now_ms);
    }
}

/// Whether an agent wrote to a session within [`RUNNING`]. Only a file that changed in that time is
/// read.
fn was_just_written(session: &ListedSession, now_ms: i64) -> bool {
    let unchanged_ms = now_ms.abs_diff(session.file_modified_ms);
    if u128::from(unchanged_ms) >= RUNNING.as_millis() {
        return false;
    }
    let now = SystemTime::UNIX_EPOCH + Duration::from_millis(now_ms.max(0).unsigned_abs());
    let Ok(file) = Glance::open(&session.path) else {
        return false;
    };
    store::has_recent_turn(&file, now, RUNNING).unwrap_or(false)
}

/// Prints the rows as paths, as JSON or as a table. `last` is the session that `last` refers to.
fn print_rows(
    list: &[ListedSession],
    rows: &[ListRow],
    last: Option<&Path>,
    args: &Args,
    ui: &mut Ui,
) -> Result<(), Failure> {
    if args.only.is_set() {
        let mut paths = Vec::new();
        for row in rows {
            let path = &list[row.index].path;
            args.only
                .push_path(path, Style::new(), &ui.links, &mut paths);
        }
        return ui
            .stdout()
            .write_all(&paths)
            .map_err(Failure::from_stdout_error);
    }
    if args.json {
        for row in rows {
            let session = &list[row.index];
            let is_last = last == Some(session.path.as_path());
            ui.print_json(&session_json(session, row, is_last, args))?;
        }
        return Ok(());
    }
    warn_of_unlisted_last(list, rows, last, args, ui);
    let distinct = distinct_titles(list, rows, read_first_message);
    rows::print(list, rows, &distinct, last, args.sort, ui)
}

/// The files of the sessions to list.
struct FilesToRead {
    files: Vec<FoundFile>,
    /// Whether a path was reported because nothing can be read there.
    has_failures: bool,
}

impl Args {
    /// Whether the sessions of the current directory are listed.
    fn lists_cwd(&self) -> bool {
        self.sessions.paths.is_empty() && !self.sessions.all
    }

    /// Returns the note if no file is found. `None` if paths are given: their search prints one.
    fn none_found_note(&self) -> Option<&'static str> {
        if self.repo && self.lists_cwd() {
            Some(NONE_IN_REPOSITORY)
        } else if self.lists_cwd() {
            Some(NO_SESSIONS_HERE)
        } else if self.sessions.all {
            Some(NO_SESSIONS_ANYWHERE)
        } else {
            None
        }
    }

    /// Returns which sessions --larger-than and --empty choose.
    fn session_filter(&self) -> SessionFilter {
        SessionFilter {
            before_ms: None,
            only_empty: self.empty,
            larger_than: self.larger_than,
        }
    }

    /// Returns where the rows of forks are. Programs get all forks in the same order.
    fn fork_rows(&self) -> ForkRows {
        let is_for_programs = self.json || self.only.is_set();
        if !self.forks {
            ForkRows::Separate
        } else if is_for_programs {
            ForkRows::Nested
        } else {
            ForkRows::NestedByTrunk
        }
    }

    /// Returns where the sessions of another agent are looked for.
    fn foreign_place(&self) -> ForeignPlace {
        if self.lists_cwd() {
            ForeignPlace::CurrentProject
        } else if self.sessions.all {
            ForeignPlace::All
        } else {
            ForeignPlace::Arguments
        }
    }

    /// Finds the files to read: of the agents, or with `--source` of another agent. Reports paths
    /// where nothing can be read. Archives are added with `--archived`. If they are not, and a
    /// period is given, there is a note on those that may have sessions of it.
    fn find_files(
        &self,
        period: Period,
        stores: &SessionStores,
        ui: &mut Ui,
    ) -> Result<FilesToRead, Failure> {
        let SessionsArgs {
            paths, archived, ..
        } = &self.sessions;
        // The sessions of a repository may be in the folders of any projects.
        let all = self.sessions.all || self.repo && self.lists_cwd();
        let (mut files, failures) = match self.source {
            Some(source) if paths.is_empty() => (find_foreign_sessions(source, ui), Vec::new()),
            Some(_) => find_arguments(paths, ui),
            None => {
                let FoundSessions {
                    mut files,
                    failures,
                    ..
                } = find_sessions(stores, paths, all, ui);
                // Standard input was read before.
                files.retain(|file| file.path != Path::new("-"));
                (files, failures)
            }
        };
        for failure in &failures {
            ui.report_failure(failure);
        }

        let archive_scope = ArchiveScope::from_all_option(all);
        if *archived {
            files.extend(stores.find_archive_files(archive_scope)?);
        } else if self.period.is_given() && paths.is_empty() && self.source.is_none() && !self.repo
        {
            stores.warn_archives_skipped(archive_scope, period, ui);
        }
        Ok(FilesToRead {
            files,
            has_failures: !failures.is_empty(),
        })
    }
}

/// Reads the files on all processors, and adds their sessions to the list. Reports those that
/// cannot be read: as errors if they were named on the command line, else as warnings. Returns
/// whether there was an error.
fn read_sessions(
    list: &mut Vec<ListedSession>,
    files: Vec<FoundFile>,
    args: &Args,
    period: Period,
    ui: &mut Ui,
) -> bool {
    let agents = SubAgents::from_files(&files);
    // An entry that forks share is counted for the session that was started first.
    let files = if args.forks {
        sort_by_start(files)
    } else {
        let unrelated = |file| FamilyFile {
            file,
            is_related: false,
        };
        files.into_iter().map(unrelated).collect()
    };
    // If there are fewer files than processors, several processors read each file.
    let workers_per_file = ui.processor_count() / ui.processor_count().min(files.len()).max(1);
    let is_stdout = ui.stdout_predicate();
    let origin = args.source;
    let rollouts = Rollouts::default();
    let read_file = |FamilyFile { file, is_related }: FamilyFile| {
        let options = load_options(workers_per_file, is_related, period);
        let read_result = match origin {
            Some(origin) => read_foreign_file(&file, origin, &options, &rollouts),
            None => read_session_file(&file, &options, &agents, is_stdout),
        };
        (file, read_result)
    };

    // The reports wait until all files are read: a line on standard error ends the progress bar.
    let mut counted_keys = HashSet::default();
    let mut pruned_failures = Vec::new();
    let mut failures = Vec::new();
    ui.map_in_parallel(
        files,
        read_file,
        |_, (file, read_result)| match read_result {
            Ok(None) => {}
            Ok(Some(read)) => {
                list.push(count_new_entries(&mut counted_keys, read.session));
                pruned_failures.extend(read.pruned_failure);
            }
            Err(failure) => failures.push((file.named, failure)),
        },
    );

    for failure in &pruned_failures {
        warn_uncounted(failure, ui);
    }
    let mut has_errors = false;
    for (is_named, failure) in &failures {
        if *is_named {
            ui.report_failure(failure);
            has_errors = true;
        } else {
            ui.warn(&failure.to_note());
        }
    }
    has_errors
}

/// Reports that --limit leaves out the session that `last` refers to: its file changed last, but
/// its last message is older than those listed.
fn warn_of_unlisted_last(
    list: &[ListedSession],
    rows: &[ListRow],
    last: Option<&Path>,
    args: &Args,
    ui: &mut Ui,
) {
    if args.limit.is_none() || args.sort != Order::Modified {
        return;
    }
    let last_session = list
        .iter()
        .find(|session| last == Some(session.path.as_path()));
    let Some(last_session) = last_session else {
        return;
    };
    let is_listed = rows
        .iter()
        .any(|row| list[row.index].path == last_session.path);
    if !is_listed {
        let id = last_session.id.to_string_lossy();
        ui.warn(&format!(
            "`last` is {}, which --limit leaves out: its file changed last",
            id_suffix(&id, ID_SUFFIX_LEN)
        ));
    }
}

/// Keeps the files of sessions whose working directory is in the same git repository as the current
/// directory. A sub-agent is kept with the session that started it. `repositories` has the
/// directories that were looked up.
fn retain_same_repository(
    files: &mut Vec<FoundFile>,
    repositories: &mut HashMap<PathBuf, Option<PathBuf>>,
    stores: &SessionStores,
    ui: &Ui,
) -> Result<(), Failure> {
    let own_repository = repository_of(ui.current_folder(), repositories).ok_or_else(|| {
        let failure = Failure::invalid("--repo: the current directory is not in a git repository");
        failure.with_hint("--all includes all projects")
    })?;
    files.retain(|file| {
        let session = file.owner.as_deref().unwrap_or(&file.path);
        let Some(cwd) = stores.recorded_cwd(session) else {
            return false;
        };
        repository_of(&cwd, repositories).as_ref() == Some(&own_repository)
    });
    Ok(())
}

/// The maximum number of files whose agent is looked up for a note.
const MAX_INSPECTED: usize = 100;

/// Printed if none of the files found is a session.
const NO_SESSIONS: &str = "no sessions among the *.jsonl files found (hint: `pisess list --all` lists the sessions of all projects)";
/// Printed if --larger-than and --empty choose no session.
const NONE_CHOSEN: &str = "no session matches these options (hint: omit them)";
const NONE_IN_REPOSITORY: &str =
    "no sessions for this repository (hint: --all includes all projects)";

/// Returns the session on standard input, if one of the paths is `-` and sessions of the agents are
/// listed.
fn read_stdin_session(
    args: &Args,
    period: Period,
    ui: &mut Ui,
) -> Result<Option<ListedSession>, Failure> {
    let path = Path::new("-");
    let reads_stdin = args.sessions.paths.iter().any(|given| given == path);
    if !reads_stdin || args.source.is_some() {
        return Ok(None);
    }
    let input = Input::open(path, ui)?;
    let options = load_options(ui.processor_count(), false, period);
    let now_ms = Ids::new(ui)?.now_ms(ui);
    let session = read_once(path, input.source(), now_ms, &options, &input.name)?;
    Ok(Some(session.listed))
}

/// Reads a session that cannot be read again later: standard input, or a converted copy. So the
/// whole of its first user message is kept, not only the start. `name` is for messages.
fn read_once(
    path: &Path,
    source: &dyn ReadAt,
    modified_ms: i64,
    options: &LoadOptions,
    name: &str,
) -> Result<ReadSession, Failure> {
    let agents = SubAgents::default();
    let mut session = read_session(path, source, modified_ms, &agents, None, options)
        .map_err(|error| Failure::from_load_error(name, error))?;
    let listed = &mut session.listed;
    let whole_message =
        first_message(listed, source).map_err(|error| Failure::from_read_error(name, error))?;
    if let Some(question) = listed.first_question.as_mut() {
        question.text = whole_message;
        question.is_whole = true;
    }
    Ok(session)
}

/// Returns the rows of the first `limit` sessions that are not nested below another, and of the
/// sessions nested below these.
fn limit_rows(mut rows: Vec<ListRow>, limit: Option<usize>) -> Vec<ListRow> {
    let Some(limit) = limit else { return rows };
    let mut top_level_count = 0;
    for (index, row) in rows.iter().enumerate() {
        if row.depth > 0 {
            continue;
        }
        if top_level_count == limit {
            rows.truncate(index);
            break;
        }
        top_level_count += 1;
    }
    rows
}

/// Returns what to collect from a session. A session that shares entries with others
/// (`is_related`) is read with the keys of its entries, by which they are counted once.
fn load_options(workers: usize, is_related: bool, period: Period) -> LoadOptions {
    LoadOptions {
        workers,
        entry_keys: is_related,
        list_stats: Some(period),
        usage: true,
        ..LoadOptions::default()
    }
}

/// A session that was read from a file.
struct SessionOfFile {
    session: ReadSession,
    /// Why what was pruned from the session could not be read.
    pruned_failure: Option<Failure>,
}

/// Reads one file. Returns `None` if the file is not a session and was not named on the command
/// line: a directory of sessions may have other files, too. An event stream, or entries without a
/// header, is a failure even then: somebody may take it for a session.
fn read_session_file(
    file: &FoundFile,
    options: &LoadOptions,
    agents: &SubAgents,
    is_stdout: &dyn Fn(&File) -> bool,
) -> Result<Option<SessionOfFile>, Failure> {
    let input;
    let glance;
    let source: &dyn ReadAt;
    let modified_ms;
    let pruned;
    if file.named {
        // A named file may be a FIFO.
        input = Input::open_path(&file.path, is_stdout)?;
        source = input.source();
        modified_ms = store::modified_ms(&file.path).unwrap_or_default();
        pruned = load_pruned(&input);
    } else {
        glance = Glance::open(&file.path)?;
        refuse_stdout(&file.path, is_stdout(glance.handle()))?;
        source = &glance;
        modified_ms = glance.modified_ms();
        pruned = load_pruned_beside(&file.path, &glance);
    }

    let (pruned, pruned_failure) = split_result(pruned);
    let read_result = read_session(
        &file.path,
        source,
        modified_ms,
        agents,
        pruned.as_ref(),
        options,
    );
    match read_result {
        Ok(mut session) => {
            session.listed.owner.clone_from(&file.owner);
            Ok(Some(SessionOfFile {
                session,
                pruned_failure,
            }))
        }
        Err(LoadError::NotASession { what, .. })
            if !file.named && !matches!(what, WrongFile::EventStream | WrongFile::EntryFirst) =>
        {
            Ok(None)
        }
        Err(error) => Err(foreign::load_failure(
            &to_visible(&file.path.to_string_lossy()),
            source,
            error,
        )),
    }
}

/// Reads a session of another agent, as it would be imported. Returns `None` if the file is not a
/// session of that agent, or has no messages.
fn read_foreign_file(
    file: &FoundFile,
    origin: Origin,
    options: &LoadOptions,
    rollouts: &Rollouts,
) -> Result<Option<SessionOfFile>, Failure> {
    let Some((survey, copy)) = convert_file(&file.path, rollouts)? else {
        return Ok(None);
    };
    if survey.origin != origin || survey.message_count == 0 {
        return Ok(None);
    }
    let modified_ms = store::modified_ms(&file.path).unwrap_or_default();
    let name = to_visible(&file.path.to_string_lossy());
    let mut session = read_once(&file.path, &copy, modified_ms, options, &name)?;
    session.listed.id = Text::from(survey.id.clone());
    session.listed.bytes = std::fs::metadata(&file.path).map_or(0, |found| found.len());
    // Claude Code keeps sub-agents below their session, Codex names the session in their first line.
    session.listed.owner = match (&file.owner, &survey.sub_agent) {
        (None, Some(agent)) => rollouts
            .find_last_of_thread(&file.path, &agent.session)
            .map(Arc::from),
        (owner, _) => owner.clone(),
    };
    Ok(Some(SessionOfFile {
        session,
        pruned_failure: None,
    }))
}

/// Reads the whole of the first user message from the file. `None` if the file has changed since it
/// was listed, or cannot be read.
fn read_first_message(session: &ListedSession) -> Option<Text<'static>> {
    let input = Input::open_path(&session.path, &|_| false).ok()?;
    first_message(session, input.source()).ok()
}

/// Returns a session as JSON. `repository` is present only with `--repo`, `owner` only for the
/// session of a sub-agent. The first message is whole, which the list does not keep: it is read
/// from the file again. If that has changed meanwhile, the start of the message is printed.
fn session_json(session: &ListedSession, row: &ListRow, is_last: bool, args: &Args) -> Vec<u8> {
    let path = |path: &Path| path.to_string_lossy().into_owned();
    let agent = args
        .source
        .map_or(session.agent.agent().constants().name, Origin::name);
    let repository = args.repo.then(|| session.repository.as_deref().map(path));
    let first_message = match (read_first_message(session), &session.first_question) {
        (Some(whole_message), _) => whole_message,
        (None, Some(question)) => question.text.clone(),
        (None, None) => Text::default(),
    };
    Object::new()
        .str("path", &path(&session.path))
        .text("id", &session.id)
        .str("agent", agent)
        .number("version", session.version)
        .text_or_null("name", session.name.as_ref())
        .text("cwd", &session.cwd)
        .text_or_null("parentSessionPath", session.parent.as_ref())
        .number("bytes", session.bytes as f64)
        .str_or_null("created", session.created_ms.map(iso_string).as_deref())
        .str("modified", &iso_string(session.modified_ms))
        .number("messageCount", f64::from(session.message_count))
        .number("userMessages", f64::from(session.user_message_count))
        .number("entryCount", f64::from(session.entry_count))
        .number("branchCount", f64::from(session.branch_count))
        .text("firstMessage", &first_message)
        .json("models", &text_array(session.models.iter()))
        .json("tokens", &session.usage.tokens_json())
        .number("cost", session.usage.cost)
        .number("unpriced", session.usage.unpriced_count as f64)
        .number_or_null("contextTokens", session.context_tokens)
        .with(session.context_estimate, |object, estimate| {
            object.number("contextEstimate", estimate)
        })
        .json("labels", &text_array(session.labels.iter()))
        .with(session.owner.as_deref(), |object, owner| {
            object.str("owner", &path(owner))
        })
        .number("depth", row.depth as f64)
        .bool("last", is_last)
        .bool("running", session.is_running)
        .with(repository, |object, repository| {
            object.str_or_null("repository", repository.as_deref())
        })
        .finish()
}
