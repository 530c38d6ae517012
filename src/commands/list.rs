//! `pisess list`: lists sessions.

mod files;
mod json;
mod read;
mod repository;
mod rows;

use crate::agents::stores::is_cwd;
use crate::cli::foreign::{self, ForeignPlace};
use crate::cli::guide::{Example, Guide};
use crate::cli::ids::Ids;
use crate::cli::locate::{SessionStores, is_archive};
use crate::cli::lookalikes::add_distinguishing_titles;
use crate::cli::options::parse_amount;
use crate::cli::output::{Exit, Failure, Ui};
use crate::cli::period::PeriodArgs;
use crate::cli::sessions::{
    NO_SESSIONS_ANYWHERE, NO_SESSIONS_HERE, PathsArgs, SessionsArgs, warn_torn,
};
use crate::cli::sources::Sources;
use crate::format::{ID_SUFFIX_LEN, id_suffix};
use crate::ops::list::{
    ForkRows, ListRow, ListedSession, Order, SessionFilter, build_rows, distinct_titles,
    group_by_repository, sort_sessions,
};
use crate::session::usage::built_in_prices_date;
use files::{FilesToRead, find_files, retain_same_repository};
use foldhash::{HashMap, HashSet};
use json::session_json;
use owo_colors::Style;
use pisess_store::{self as store, FoundFile, Glance, RecentTurn, SessionsBeingWritten};
use read::{read_first_message, read_sessions, read_stdin_session};
use repository::repository_of;
use std::path::{Path, PathBuf};
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
        "Count the lines of each session below a directory",
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
/// Without SESSION, lists the sessions of the current directory, from the stores of
/// both agents (the directories in which pi and oh-my-pi keep sessions). Given a
/// directory, lists all sessions below it, including hidden directories. If there
/// are none, lists the sessions of the project in that directory, from the stores.
///
/// The columns are as follows; a narrow terminal shows fewer:
///
/// - the age of the last user or assistant message
/// - the short id: the last 8 characters of the session's id, or 12 if 8 are not
///   distinct. Other commands accept it, or its start, as SESSION; in colour, the
///   part that suffices is highlighted
/// - the agent (`pi`, or `omp` for oh-my-pi) and the project, if there are several
/// - the numbers of messages and branches
/// - the size of the file
/// - the size of the context at the leaf, in tokens: the provider's last count,
///   plus an estimate of what followed. If this sum is less than a quarter of the
///   agent's estimate for all messages, or if `prune` has moved parts of messages
///   since the count, that estimate is shown instead, marked with `~`
/// - the cost
/// - the name, or else the first user message that is not just a command
///
/// Sessions of sub-agents, and of oh-my-pi's advisors (models that comment on a
/// running session), are listed below the session that started them, even if
/// SESSION names only that session.
///
/// --forks lists the forks of a session below it, indented, oldest first. A copy of the session's
/// file, or any other session that begins with the same entries, counts as a fork. If the newest
/// message of the session and its forks is in a fork, that fork comes last, with an arrow and no
/// indent: the conversation continues there. --json and --files always list the oldest fork first.
///
/// Rows are sorted by the time of the last user or assistant message, which --sort
/// calls `modified`. The column that --sort names is always shown. `*` marks the
/// session that `last` refers to: the one whose file changed most recently. Setting
/// a label changes the file but not the time of the last message, so `*` need not
/// be in the first row. If --limit leaves out the session with `*`, a note names
/// that session.
///
/// On a terminal, the number of sessions, their size and their cost follow the rows.
///
/// `●` marks a running session: another process has its file open for writing, or
/// an entry was added to it within the last minute. Labels, summaries and marks
/// (the entries that `switch` appends) do not count.
///
/// `--source claude` lists sessions of Claude Code, which `import` can convert;
/// `--source all` lists those of all agents.
///
/// --repo lists the sessions of the current repository, in all of its worktrees.
/// With --all or SESSION, it groups sessions by repository. If the directory of a
/// session no longer exists, the nearest parent directory that exists counts
/// instead.
///
/// If many first messages begin alike, apart from ids and numbers, `…` replaces
/// this common beginning. An example is the `[cron:ID …]` of a scheduler. --json
/// also prints the common beginning. Copies or forks of one conversation often have
/// the same title. The rows then show the title, the sign `…`, and the text of the
/// user at the point where the conversations first differ. On a terminal, only the
/// end of a project's path is shown, as far as it is needed to distinguish the
/// projects.
#[derive(Debug, clap::Args)]
#[command(about = "List sessions, newest first", verbatim_doc_comment)]
#[command(mut_arg("paths", |paths| paths.help("Sessions by path or name, or directories to search at any depth")))]
pub struct Args {
    #[command(flatten)]
    pub sessions: SessionsArgs,
    /// List the sessions of this git repository, in all its worktrees (with --all or SESSION: group
    /// sessions by repository)
    #[arg(long, conflicts_with = "source")]
    pub repo: bool,
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
    #[arg(long, conflicts_with = "source")]
    pub forks: bool,
    #[command(flatten)]
    pub only: PathsArgs,
    /// Print the result as JSON (an object per session)
    #[arg(long, conflicts_with_all = ["files", "null"])]
    pub json: bool,
}

/// Lists the sessions of the current directory, of the given paths, or of all projects. A failure
/// is reported, and the other sessions are listed.
///
/// An empty list has a warning with its reason: there are no files, no file is a session, or
/// nothing was written in the period.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let stores = SessionStores::locate(ui);
    let mut repositories = HashMap::default();
    let ReadList {
        mut list,
        has_failures,
    } = read_list(args, &stores, &mut repositories, ui)?;

    retain_in_period(&mut list, has_failures, ui);
    retain_chosen(&mut list, &args.session_filter(), ui);
    // Paths are printed without the mark of a running session.
    if !args.only.is_set() {
        mark_running(&mut list, Ids::new(ui)?.now_ms(ui));
    }
    warn_of_torn(&list, ui);

    sort_sessions(&mut list, args.sort);
    let mut rows = limit_rows(build_rows(&list, args.fork_rows()), args.limit);
    if args.repo {
        group_by_repository(&mut list, &mut rows, |session| {
            repository_of(&stores.resolve_folder(&session.cwd), &mut repositories)
        });
    }
    let last = stores.newest_sessions().next();
    print_rows(&list, &rows, last.as_deref(), args, ui)?;
    note_estimates(&list, args, ui);
    if has_failures {
        Ok(Exit::Failed)
    } else {
        Ok(Exit::Done)
    }
}

/// Warns of the sessions whose last line is incomplete.
fn warn_of_torn(list: &[ListedSession], ui: &mut Ui) {
    let mut torn_paths = Vec::new();
    for session in list {
        if session.is_torn {
            torn_paths.push(session.path.clone());
        }
    }
    warn_torn(&torn_paths, ui);
}

/// The sessions that were read, before any of them is left out.
struct ReadList {
    list: Vec<ListedSession>,
    /// Whether a session could not be found or read. That is reported already.
    has_failures: bool,
}

/// Finds the sessions, and reads them. Warns if there are no files, or if none of them is a session
/// that can be listed.
fn read_list(
    args: &Args,
    stores: &SessionStores,
    repositories: &mut HashMap<PathBuf, Option<PathBuf>>,
    ui: &mut Ui,
) -> Result<ReadList, Failure> {
    let period = args.period.parse_period(ui)?;
    let sources = args.sources(ui)?;
    let sources = sources.as_ref();
    let mut list = Vec::new();
    if sources.is_none_or(Sources::includes_all) {
        list.extend(read_stdin_session(args, period, ui)?);
    }
    let mut found = find_files(args, sources, period, stores, ui)?;
    if args.repo && args.lists_cwd() {
        retain_same_repository(&mut found.files, repositories, stores, ui)?;
    }
    args.warn_of_no_files(&found, sources, ui);

    // If no file can be listed, a warning says which agent wrote the first ones.
    let first_paths = copy_first_paths(&found.files);
    let has_unread = read_sessions(&mut list, found.files, args, sources, period, ui);
    if args.lists_cwd() {
        retain_of_cwd(&mut list, stores);
    }
    let has_failures = found.has_failures || has_unread;
    if list.is_empty() && !has_failures {
        args.warn_of_no_sessions(sources, &first_paths, ui);
    }
    Ok(ReadList { list, has_failures })
}

/// Returns the paths of the first files, at most [`MAX_INSPECTED`].
fn copy_first_paths(files: &[FoundFile]) -> Vec<PathBuf> {
    let mut first_paths = Vec::new();
    for file in files.iter().take(MAX_INSPECTED) {
        first_paths.push(file.path.clone());
    }
    first_paths
}

/// Removes the sessions of other projects from the list of the current directory. Only sessions of
/// agents other than pi and oh-my-pi are among them: these are searched for in all projects,
/// because only their content names the project.
fn retain_of_cwd(list: &mut Vec<ListedSession>, stores: &SessionStores) {
    list.retain(|session| {
        let is_own = session.other_agent.is_none();
        is_own || is_cwd(&session.cwd.to_string_lossy(), stores.here())
    });
}

/// Notes the date of the prices from which costs are estimated. The column of costs marks such
/// costs with `~`.
fn note_estimates(list: &[ListedSession], args: &Args, ui: &mut Ui) {
    let has_estimate = list.iter().any(|session| session.usage.has_estimate());
    if has_estimate && !args.json && !args.only.is_set() {
        let date = built_in_prices_date();
        ui.warn(&format!("~ costs are estimated, prices of {date}"));
    }
}

/// Keeps the sessions that were written to in the period. Warns if none remains, but not after a
/// failure: a session that could not be read may be one of the period.
fn retain_in_period(list: &mut Vec<ListedSession>, has_failures: bool, ui: &mut Ui) {
    let has_sessions = !list.is_empty();
    list.retain(|session| session.is_in_period);
    if list.is_empty() && has_sessions && !has_failures {
        ui.warn("nothing was written in this period to any of these sessions");
    }
}

/// Keeps the sessions that `--larger-than` and `--empty` choose.
fn retain_chosen(list: &mut Vec<ListedSession>, filter: &SessionFilter, ui: &mut Ui) {
    let has_sessions = !list.is_empty();
    list.retain(|session| filter.accepts(session.selection_facts()));
    if list.is_empty() && has_sessions {
        ui.warn(NONE_CHOSEN);
    }
}

/// An agent that wrote to a session within this time counts as running.
const RUNNING: Duration = Duration::from_secs(60);

/// Marks the sessions that an agent is working on. The processes are searched once for all
/// sessions. `now_ms` is in milliseconds since 1970.
fn mark_running(list: &mut [ListedSession], now_ms: i64) {
    if list.is_empty() {
        return;
    }
    let being_written = SessionsBeingWritten::search_processes();
    for session in list {
        if session.path == Path::new("-") || is_archive(&session.path) {
            continue;
        }
        session.is_running =
            being_written.contains(&session.path) || was_just_written(session, now_ms);
    }
}

/// Whether an agent wrote to a session within [`RUNNING`]. A file that has not changed in that time
/// need not be read.
fn was_just_written(session: &ListedSession, now_ms: i64) -> bool {
    let unchanged_ms = now_ms.abs_diff(session.file_modified_ms);
    if u128::from(unchanged_ms) >= RUNNING.as_millis() {
        return false;
    }
    let now = SystemTime::UNIX_EPOCH + Duration::from_millis(now_ms.max(0).unsigned_abs());
    let Ok(file) = Glance::open(&session.path) else {
        return false;
    };
    // A last line that is no entry is no sign: a copy may have been cut off there.
    matches!(
        store::find_recent_turn(&file, now, RUNNING),
        Ok(RecentTurn::Found)
    )
}

/// Prints rows of the sessions in `list` in the form that the options select. `last` is the path to
/// which the name `last` refers.
fn print_rows(
    list: &[ListedSession],
    rows: &[ListRow],
    last: Option<&Path>,
    args: &Args,
    ui: &mut Ui,
) -> Result<(), Failure> {
    let prints_only_paths = args.only.is_set();
    if prints_only_paths {
        return print_paths(list, rows, args.only, ui);
    }
    if args.json {
        return print_json_rows(list, rows, last, args, ui);
    }
    warn_of_unlisted_last(list, rows, last, args, ui);
    let new_titles = find_new_titles(list, rows);
    rows::print(list, rows, &new_titles, last, args.sort, ui)?;
    if rows.len() > 1 && ui.stdout_is_terminal() {
        rows::print_total(list, rows, repeated_cost_note(list, rows, args), ui)?;
    }
    Ok(())
}

/// Returns the note on cost that the total counts repeatedly, because several rows have the same
/// entries. With `--forks`, the rows leave out such entries themselves.
fn repeated_cost_note(
    list: &[ListedSession],
    rows: &[ListRow],
    args: &Args,
) -> Option<&'static str> {
    if args.forks {
        return None;
    }
    if has_copies_among(list, rows) {
        return Some("with the entries that copies share; `pisess stats` counts them once");
    }
    if has_fork_among(list, rows) {
        return Some("with the entries that forks copied; --forks leaves them out");
    }
    None
}

/// Whether two of the printed rows are copies of one session, or a session of another agent and its
/// import.
fn has_copies_among(list: &[ListedSession], rows: &[ListRow]) -> bool {
    let mut ids = HashSet::default();
    for row in rows {
        let is_new_id = ids.insert(&list[row.index].id);
        if !is_new_id {
            return true;
        }
    }
    has_imports_among(list, rows)
}

/// Whether one of the printed rows is the import of a session of another agent in another row. An
/// import is a session of pi or oh-my-pi with another id, but it begins at the same time with the
/// same user message.
fn has_imports_among(list: &[ListedSession], rows: &[ListRow]) -> bool {
    let mut own_beginnings = HashSet::default();
    let mut beginnings_of_others = HashSet::default();
    for row in rows {
        let session = &list[row.index];
        let Some(question) = &session.first_question else {
            continue;
        };
        let beginning = (session.created_ms, &question.text);
        if session.other_agent.is_none() {
            own_beginnings.insert(beginning);
        } else {
            beginnings_of_others.insert(beginning);
        }
    }
    // Two sessions of the same kind that begin alike are forks, and not an import.
    !own_beginnings.is_disjoint(&beginnings_of_others)
}

/// Whether one of the printed rows is a fork of a session in the list.
fn has_fork_among(list: &[ListedSession], rows: &[ListRow]) -> bool {
    // Without forks, only the sessions of sub-agents are below others.
    let is_nested = nested_sessions(list, ForkRows::Nested);
    let is_sub_agent = nested_sessions(list, ForkRows::Separate);
    rows.iter()
        .any(|row| is_nested[row.index] && !is_sub_agent[row.index])
}

/// Returns for each session of a list whether it is drawn below another one.
fn nested_sessions(list: &[ListedSession], fork_rows: ForkRows) -> Vec<bool> {
    let mut is_nested = vec![false; list.len()];
    for row in build_rows(list, fork_rows) {
        is_nested[row.index] = row.depth > 0;
    }
    is_nested
}

/// Prints the path of the session of each row, in the form of `-l` or `-0`.
fn print_paths(
    list: &[ListedSession],
    rows: &[ListRow],
    options: PathsArgs,
    ui: &mut Ui,
) -> Result<(), Failure> {
    let mut lines = Vec::new();
    for row in rows {
        let path = &list[row.index].path;
        options.push_path(path, Style::new(), &ui.links, &mut lines);
    }
    ui.stdout()
        .write_all(&lines)
        .map_err(Failure::from_stdout_error)
}

/// Prints a JSON object for each row. In one of them, `last` may be true: see [`print_rows`].
fn print_json_rows(
    list: &[ListedSession],
    rows: &[ListRow],
    last: Option<&Path>,
    args: &Args,
    ui: &mut Ui,
) -> Result<(), Failure> {
    for row in rows {
        let session = &list[row.index];
        let is_last = last == Some(session.path.as_path());
        ui.print_json(&session_json(session, row, is_last, args))?;
    }
    Ok(())
}

/// Returns new titles for the sessions whose rows could not be told apart by their titles, by the
/// index of the session in `list`. First come long titles that differ only after a common start.
/// Titles that are still the same, such as titles of forks, get the first words that differ.
fn find_new_titles(list: &[ListedSession], rows: &[ListRow]) -> HashMap<usize, String> {
    let mut new_titles = distinct_titles(list, rows, read_first_message);
    // Only files of pi and oh-my-pi can be read again without a conversion.
    if list.iter().all(|session| session.other_agent.is_none()) {
        add_distinguishing_titles(list, rows, &mut new_titles);
    }
    new_titles
}

impl Args {
    /// Whether the sessions of the current directory are listed, and not sessions that paths name
    /// or of all projects.
    fn lists_cwd(&self) -> bool {
        self.sessions.paths.is_empty() && !self.sessions.all
    }

    /// Returns the warning for a search that found no file. `None` if paths were given, because the
    /// search then warns itself.
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

    /// Returns the agents whose sessions are listed; `None` for pi and oh-my-pi alone. Only these
    /// have forks and repositories, so the environment does not add others then.
    fn sources(&self, ui: &Ui) -> Result<Option<Sources>, Failure> {
        if self.forks || self.repo {
            return Ok(None);
        }
        self.sessions.sources(ui)
    }

    /// Warns if there are no files to read, unless the search has reported that. A search for
    /// sessions of other agents reports it itself.
    fn warn_of_no_files(&self, found: &FilesToRead, sources: Option<&Sources>, ui: &mut Ui) {
        let finds_only_own = sources.is_none_or(|sources| sources.origins.is_empty());
        if found.files.is_empty()
            && finds_only_own
            && !found.is_none_reported
            && let Some(note) = self.none_found_note()
        {
            ui.warn(note);
        }
    }

    /// Warns that no file is a session that can be listed. `first_paths` are the paths of the first
    /// files, which are inspected to determine which agent wrote them.
    fn warn_of_no_sessions(&self, sources: Option<&Sources>, first_paths: &[PathBuf], ui: &mut Ui) {
        if let Some(sources) = sources
            && !sources.origins.is_empty()
        {
            for &origin in &sources.origins {
                ui.warn(&foreign::none_found_note(origin, &self.foreign_place()));
            }
            return;
        }
        // If there are no files, the search has already warned.
        let found_files = !first_paths.is_empty();
        // Files in the stores of a project are sessions. One that is not listed could not be read,
        // which was reported.
        let is_reported = self.lists_cwd();
        // With a period, an empty list is an ordinary answer.
        let is_ordinary = self.period.is_given();
        if found_files && !is_reported && !is_ordinary {
            let note = foreign::only_foreign_note(first_paths);
            ui.warn(note.as_deref().unwrap_or(NO_SESSIONS));
        }
    }

    /// Returns the filter of `--larger-than` and `--empty`.
    fn session_filter(&self) -> SessionFilter {
        SessionFilter {
            before_ms: None,
            only_empty: self.empty,
            larger_than: self.larger_than,
        }
    }

    /// Returns where the rows of forks are. For programs, forks are always in the order in which
    /// they were started.
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

    /// Returns the places in which sessions of another agent are searched for.
    fn foreign_place(&self) -> ForeignPlace {
        if self.lists_cwd() {
            ForeignPlace::CurrentProject
        } else if self.sessions.all {
            ForeignPlace::All
        } else {
            ForeignPlace::Arguments
        }
    }
}

/// Warns if `--limit` leaves out the session to which `last` refers. Its file changed last, but its
/// newest message is older than the newest messages of the listed sessions.
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
    let is_last = |session: &ListedSession| last == Some(session.path.as_path());
    let Some(last_session) = list.iter().find(|session| is_last(session)) else {
        return;
    };
    let has_row = rows.iter().any(|row| is_last(&list[row.index]));
    if !has_row {
        let id = last_session.id.to_string_lossy();
        ui.warn(&format!(
            "`last` is {}, which --limit leaves out: its file changed last",
            id_suffix(&id, ID_SUFFIX_LEN)
        ));
    }
}

/// The maximum number of files that are inspected to determine their agent.
const MAX_INSPECTED: usize = 100;

/// The warning if no file is a session.
const NO_SESSIONS: &str = "no sessions among the files found (hint: `pisess list --all` lists the sessions of all projects)";
/// The warning if `--larger-than` and `--empty` choose no session.
const NONE_CHOSEN: &str = "no session matches these options (hint: omit them)";
const NONE_IN_REPOSITORY: &str =
    "no sessions for this repository (hint: --all includes all projects)";

/// Returns the first `limit` rows at the top level, together with the rows nested below them.
fn limit_rows(mut rows: Vec<ListRow>, limit: Option<usize>) -> Vec<ListRow> {
    let Some(limit) = limit else { return rows };
    let mut top_level_count = 0;
    for (index, row) in rows.iter().enumerate() {
        let is_nested = row.depth > 0;
        if is_nested {
            continue;
        }
        // The rows below the last one of the limit end at the next row of the top level.
        if top_level_count == limit {
            rows.truncate(index);
            break;
        }
        top_level_count += 1;
    }
    rows
}
