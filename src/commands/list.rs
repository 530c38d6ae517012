//! `pisess list`: lists sessions.

mod repository;
mod rows;

use crate::agents::stores::is_cwd;
use crate::cli::foreign::{convert_file, find_arguments, find_foreign_sessions};
use crate::cli::guide::{Example, Guide};
use crate::cli::ids::Ids;
use crate::cli::locate::SessionStores;
use crate::cli::named::{FoundSessions, find_sessions};
use crate::cli::open::{Input, refuse_stdout};
use crate::cli::output::{Exit, Failure, Ui, to_visible};
use crate::cli::period::PeriodArgs;
use crate::cli::pruned::{load_pruned, load_pruned_beside, split_result, warn_uncounted};
use crate::cli::sessions::{NO_SESSIONS_HERE, PathsArgs, SessionsArgs, warn_torn};
use crate::format::{ID_SUFFIX_LEN, id_suffix};
use crate::import::Origin;
use crate::load::{LoadError, LoadOptions, WrongFile};
use crate::ops::list::{
    FamilyFile, ListRow, ListedSession, Order, ReadSession, build_rows, count_new_entries,
    distinct_titles, first_message, group_by_repository, read_session, sort_by_start,
    sort_sessions,
};
use crate::session::period::Period;
use crate::session::usage::SubAgents;
use foldhash::{HashMap, HashSet};
use owo_colors::Style;
use pisess_json::text::Text;
use pisess_json::time::iso_string;
use pisess_json::write::{Object, text_array};
use pisess_store::{self as store, FoundFile, Glance, ReadAt};
use repository::repository_of;
use std::fs::File;
use std::path::{Path, PathBuf};

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
/// Without SESSION, the sessions of the current directory are listed, from the stores of both
/// agents. For a directory, all sessions below it are listed, including those in hidden
/// directories.
///
/// The columns are the age of the last user or assistant message (and its time, if the terminal is
/// wide enough), the end of the session id, the program of its agent (`pi`, or `omp` for oh-my-pi)
/// and the project (if there are several), the numbers of messages and branches, the size of the
/// context at the leaf in tokens, the cost, and the name or the first user message that is more
/// than a command (without one, the first message). Sessions of sub-agents and advisors are listed
/// below the session that started them.
///
/// With --source, the sessions of another agent are listed, each as the session that `import` would
/// make of it.
///
/// With --repo, the sessions of the repository that contains the current directory are listed:
/// those of all of its worktrees, and of the directories in them. With --all or SESSION, sessions
/// of one repository are listed together. A session whose directory no longer exists belongs to the
/// nearest directory above that does.
///
/// If many first messages begin alike, as those of a scheduler do (`[cron:ID …]`), what they share
/// is replaced with `…`, so that each row shows the first sentence in which it differs. Ids and
/// numbers are not compared. --json prints every message whole.
///
/// On a terminal, a project is shown by the end of its path that tells it from the others, and a
/// narrow terminal has fewer columns. Rows are sorted by the last message; with `--sort`, the
/// column that they are sorted by is always shown. `*` marks the session that `last` refers to: the
/// one whose file changed last, as for the agents' `--continue`. Any change counts, even a label,
/// so that it need not be the first row; if --limit leaves it out, a note names it.
#[derive(Debug, clap::Args)]
#[command(mut_arg("paths", |paths| paths.help("Sessions by path or name, or directories to search at any depth")))]
pub struct Args {
    #[command(flatten)]
    pub sessions: SessionsArgs,
    /// Group sessions by git repository, including those of its other worktrees
    #[arg(long)]
    pub repo: bool,
    /// List the sessions of Claude Code (claude) or Codex (codex), as `import` would convert them
    #[arg(long, value_name = "SOURCE", hide_possible_values = true, conflicts_with_all = ["archived", "forks", "repo"])]
    pub source: Option<Origin>,
    #[command(flatten)]
    pub period: PeriodArgs,
    /// Sort sessions by KEY (modified, created, name, project, messages, context, tokens or cost)
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
    /// List forks below the session they were copied from, counting only what each adds
    #[arg(long)]
    pub forks: bool,
    #[command(flatten)]
    pub only: PathsArgs,
    /// Print the result as JSON (an object per session)
    #[arg(long, conflicts_with_all = ["files", "null"])]
    pub json: bool,
}

pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let period = args.period.parse_period(ui)?;
    let places = SessionStores::locate(ui);
    let mut repositories = HashMap::default();
    let mut list = Vec::from_iter(read_stdin_session(args, period, ui)?);
    let (mut files, mut failed) = args.find_files(period, &places, ui)?;
    if args.repo && args.lists_cwd() {
        retain_same_repository(&mut files, &mut repositories, &places, ui)?;
    }
    let has_files = !files.is_empty();
    if !has_files && args.lists_cwd() {
        ui.warn(if args.repo {
            NONE_IN_REPOSITORY
        } else {
            NO_SESSIONS_HERE
        });
    }
    failed |= read_sessions(&mut list, files, args, period, ui);
    if args.source.is_some() && args.lists_cwd() {
        list.retain(|session| is_cwd(&session.cwd.to_string_lossy(), places.here()));
    }
    if list.is_empty() && has_files && !args.lists_cwd() && !failed && !args.period.is_given() {
        ui.warn(NO_SESSIONS);
    }
    let has_sessions = !list.is_empty();
    list.retain(|session| session.is_in_period);
    if list.is_empty() && has_sessions && !failed {
        ui.warn("nothing was written in this period to any of these sessions");
    }
    let torn: Vec<PathBuf> = list
        .iter()
        .filter(|session| session.is_torn)
        .map(|session| session.path.clone())
        .collect();
    warn_torn(&torn, ui);

    sort_sessions(&mut list, args.sort);
    let mut rows = limit_rows(build_rows(&list, args.forks), args.limit);
    if args.repo {
        group_by_repository(&mut list, &mut rows, |session| {
            repository_of(&places.resolve_folder(&session.cwd), &mut repositories)
        });
    }
    let last = places.newest_sessions().next();
    if args.only.is_set() {
        let mut paths = Vec::new();
        for row in &rows {
            let path = &list[row.index].path;
            args.only.push_path(path, Style::new(), &mut paths);
        }
        ui.stdout()
            .write_all(&paths)
            .map_err(Failure::from_stdout_error)?;
    } else if args.json {
        for row in &rows {
            let session = &list[row.index];
            let is_last = last.as_ref() == Some(&session.path);
            ui.print_json(&session_json(session, row, is_last, args))?;
        }
    } else {
        warn_of_last(&list, &rows, last.as_deref(), args, ui);
        let distinct = distinct_titles(&list, &rows, read_first_message);
        rows::print(&list, &rows, &distinct, last.as_deref(), args.sort, ui)?;
    }
    Ok(if failed { Exit::Failed } else { Exit::Done })
}

impl Args {
    /// Whether the sessions of the current directory are listed.
    fn lists_cwd(&self) -> bool {
        self.sessions.paths.is_empty() && !self.sessions.all
    }

    /// Returns the files to read, and whether a path was reported because nothing can be read
    /// there.
    fn find_files(
        &self,
        period: Period,
        places: &SessionStores,
        ui: &mut Ui,
    ) -> Result<(Vec<FoundFile>, bool), Failure> {
        let SessionsArgs {
            paths, archived, ..
        } = &self.sessions;
        let all = self.sessions.all || self.repo && self.lists_cwd();
        let (mut files, failures) = match self.source {
            Some(source) if paths.is_empty() => (find_foreign_sessions(source, ui), Vec::new()),
            Some(_) => find_arguments(paths, ui),
            None => {
                let FoundSessions {
                    mut files,
                    failures,
                    ..
                } = find_sessions(places, paths, all, ui);
                files.retain(|file| file.path != Path::new("-"));
                (files, failures)
            }
        };
        for failure in &failures {
            ui.report_failure(failure);
        }
        if *archived {
            files.extend(places.find_archive_files(all)?);
        } else if self.period.is_given() && paths.is_empty() && self.source.is_none() && !self.repo
        {
            places.warn_archives_skipped(all, period, ui);
        }
        Ok((files, !failures.is_empty()))
    }
}

/// Reads the files on all processors, and adds their sessions to the list. Returns whether one that
/// was named cannot be listed.
fn read_sessions(
    list: &mut Vec<ListedSession>,
    files: Vec<FoundFile>,
    args: &Args,
    period: Period,
    ui: &mut Ui,
) -> bool {
    let agents = SubAgents::from_files(&files);
    // A shared entry belongs to the session that was started first.
    let files = if args.forks {
        sort_by_start(files)
    } else {
        let unrelated = |file| FamilyFile {
            file,
            is_related: false,
        };
        files.into_iter().map(unrelated).collect()
    };
    let workers_per_file = ui.processor_count() / ui.processor_count().min(files.len()).max(1);
    let is_stdout = ui.stdout_predicate();
    let origin = args.source;
    let read = |FamilyFile { file, is_related }: FamilyFile| {
        let options = load_options(workers_per_file, is_related, period);
        let reading = match origin {
            Some(origin) => {
                read_foreign_file(&file, origin, &options).map(|reading| Some((reading?, None)))
            }
            None => read_session_file(&file, &options, &agents, is_stdout),
        };
        (file, reading)
    };

    let mut seen = HashSet::default();
    let mut damages = Vec::new();
    let mut failures = Vec::new();
    ui.map_in_parallel(files, read, |_, (file, reading)| match reading {
        Ok(None) => {}
        Ok(Some((reading, damage))) => {
            list.push(count_new_entries(&mut seen, reading));
            damages.extend(damage);
        }
        Err(failure) => failures.push((file.named, failure)),
    });

    // A line on standard error ends the progress bar.
    for damage in &damages {
        warn_uncounted(damage, ui);
    }
    let mut is_named_unread = false;
    for (is_named, failure) in &failures {
        if *is_named {
            ui.report_failure(failure);
            is_named_unread = true;
        } else {
            ui.warn(&failure.to_line());
        }
    }
    is_named_unread
}

/// Reports that --limit leaves out the session that `last` refers to: its file changed last, but
/// its last message is older than those listed.
fn warn_of_last(
    list: &[ListedSession],
    rows: &[ListRow],
    last: Option<&Path>,
    args: &Args,
    ui: &mut Ui,
) {
    if args.limit.is_none() || args.sort != Order::Modified {
        return;
    }
    let Some(session) = list
        .iter()
        .find(|session| last == Some(session.path.as_path()))
    else {
        return;
    };
    let is_listed = rows.iter().any(|row| list[row.index].path == session.path);
    if !is_listed {
        let id = session.id.to_string_lossy();
        ui.warn(&format!(
            "`last` is {}, which --limit leaves out: its file changed last",
            id_suffix(&id, ID_SUFFIX_LEN)
        ));
    }
}

fn retain_same_repository(
    files: &mut Vec<FoundFile>,
    repositories: &mut HashMap<PathBuf, Option<PathBuf>>,
    places: &SessionStores,
    ui: &Ui,
) -> Result<(), Failure> {
    let own_repository = repository_of(ui.current_folder(), repositories).ok_or_else(|| {
        let failure = Failure::invalid("--repo: the current directory is not in a git repository");
        failure.with_hint("--all includes all projects")
    })?;
    // The session that started a sub-agent decides.
    let cwd = |file: &FoundFile| places.recorded_cwd(file.owner.as_deref().unwrap_or(&file.path));
    files.retain(|file| {
        let repository = cwd(file).and_then(|cwd| repository_of(&cwd, repositories));
        repository.as_ref() == Some(&own_repository)
    });
    Ok(())
}

/// Printed if none of the files found is a session.
const NO_SESSIONS: &str = "no sessions among the *.jsonl files found (hint: `pisess list --all` lists the sessions of all projects)";
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
    let now = Ids::new(ui)?.now_ms(ui);
    let reading = read_once(path, input.source(), now, &options, &input.name)?;
    Ok(Some(reading.listed))
}

/// Reads what cannot be read again later, and so keeps the whole of its first user message.
fn read_once(
    path: &Path,
    source: &dyn ReadAt,
    modified: i64,
    options: &LoadOptions,
    name: &str,
) -> Result<ReadSession, Failure> {
    let reading = read_session(path, source, modified, &SubAgents::default(), None, options);
    let mut reading = reading.map_err(|error| Failure::from_load_error(name, error))?;
    let listed = &mut reading.listed;
    let whole_message =
        first_message(listed, source).map_err(|error| Failure::from_read_error(name, error))?;
    if let Some(question) = listed.first_question.as_mut() {
        question.text = whole_message;
        question.is_whole = true;
    }
    Ok(reading)
}

/// Returns the first `limit` sessions of the top level, with all that is nested below them.
fn limit_rows(mut rows: Vec<ListRow>, limit: Option<usize>) -> Vec<ListRow> {
    let Some(limit) = limit else { return rows };
    let mut top_level = 0;
    for (index, row) in rows.iter().enumerate() {
        if row.depth > 0 {
            continue;
        }
        if top_level == limit {
            rows.truncate(index);
            break;
        }
        top_level += 1;
    }
    rows
}

fn load_options(workers: usize, with_keys: bool, period: Period) -> LoadOptions {
    LoadOptions {
        workers,
        entry_keys: with_keys,
        list_stats: Some(period),
        usage: true,
        ..LoadOptions::default()
    }
}

/// Reads one file. Returns also why what was pruned from it could not be read, and `None` if it is
/// not a session and was not named on the command line.
fn read_session_file(
    file: &FoundFile,
    options: &LoadOptions,
    agents: &SubAgents,
    stdout_is: &dyn Fn(&File) -> bool,
) -> Result<Option<(ReadSession, Option<Failure>)>, Failure> {
    let input;
    let glance;
    let source: &dyn ReadAt;
    let modified;
    let pruned;
    if file.named {
        // A named file may be a FIFO.
        input = Input::open_path(&file.path, stdout_is)?;
        source = input.source();
        modified = store::modified_ms(&file.path).unwrap_or_default();
        pruned = load_pruned(&input);
    } else {
        glance = Glance::open(&file.path)?;
        refuse_stdout(&file.path, stdout_is(glance.handle()))?;
        source = &glance;
        modified = glance.modified_ms();
        pruned = load_pruned_beside(&file.path, &glance);
    }
    let (pruned, damage) = split_result(pruned);

    match read_session(
        &file.path,
        source,
        modified,
        agents,
        pruned.as_ref(),
        options,
    ) {
        Ok(mut reading) => {
            reading.listed.owner.clone_from(&file.owner);
            Ok(Some((reading, damage)))
        }
        Err(LoadError::NotASession { what, .. })
            if !file.named && what != WrongFile::EventStream =>
        {
            Ok(None)
        }
        Err(error) => Err(Failure::from_load_error(
            &to_visible(&file.path.to_string_lossy()),
            error,
        )),
    }
}

/// Reads a session of another agent, as it would be imported. Returns `None` if it is none, or has
/// no messages.
fn read_foreign_file(
    file: &FoundFile,
    origin: Origin,
    options: &LoadOptions,
) -> Result<Option<ReadSession>, Failure> {
    let Some((survey, copy)) = convert_file(&file.path)? else {
        return Ok(None);
    };
    if survey.origin != origin || survey.message_count == 0 {
        return Ok(None);
    }
    let modified = store::modified_ms(&file.path).unwrap_or_default();
    let name = to_visible(&file.path.to_string_lossy());
    let mut reading = read_once(&file.path, &copy, modified, options, &name)?;
    reading.listed.id = Text::from(survey.id);
    reading.listed.owner.clone_from(&file.owner);
    Ok(Some(reading))
}

/// Returns all of the first message, unless the file has changed meanwhile.
fn read_first_message(session: &ListedSession) -> Option<Text<'static>> {
    let input = Input::open_path(&session.path, &|_| false).ok()?;
    first_message(session, input.source()).ok()
}

fn session_json(session: &ListedSession, row: &ListRow, is_last: bool, args: &Args) -> Vec<u8> {
    let path = |path: &Path| path.to_string_lossy().into_owned();
    let agent = args
        .source
        .map_or(session.agent.agent().constants().name, Origin::name);
    let repository = args.repo.then(|| session.repository.as_deref().map(path));
    // If the file has changed meanwhile, the start of the user message that was kept is printed.
    let question = read_first_message(session);
    let first_message_start = || {
        session
            .first_question
            .as_ref()
            .map(|question| question.text.clone())
            .unwrap_or_default()
    };
    Object::new()
        .str("path", &path(&session.path))
        .text("id", &session.id)
        .str("agent", agent)
        .number("version", session.version)
        .text_or_null("name", session.name.as_ref())
        .text("cwd", &session.cwd)
        .text_or_null("parentSessionPath", session.parent.as_ref())
        .str_or_null("created", session.created_ms.map(iso_string).as_deref())
        .str("modified", &iso_string(session.modified_ms))
        .number("messageCount", f64::from(session.message_count))
        .number("entryCount", f64::from(session.entry_count))
        .number("branchCount", f64::from(session.branch_count))
        .text(
            "firstMessage",
            &question.unwrap_or_else(first_message_start),
        )
        .json("models", &text_array(session.models.iter()))
        .json("tokens", &session.usage.tokens_json())
        .number("cost", session.usage.cost)
        .number("unpriced", session.usage.unpriced_count as f64)
        .number_or_null("contextTokens", session.context_tokens)
        .json("labels", &text_array(session.labels.iter()))
        .with(session.owner.as_deref(), |object, owner| {
            object.str("owner", &path(owner))
        })
        .number("depth", row.depth as f64)
        .bool("last", is_last)
        .with(repository, |object, repository| {
            object.str_or_null("repository", repository.as_deref())
        })
        .finish()
}
