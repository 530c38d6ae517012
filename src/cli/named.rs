//! Finds the sessions that arguments name: by path, by name, or as all sessions below directories.

use crate::cli::candidates::{describe_candidates, describe_matches, shown_path};
use crate::cli::foreign::{find_last_of_sources, resolve_foreign_id};
use crate::cli::locate::{ArchiveScope, Scope, SessionStores, read_archive_facts};
use crate::cli::output::{Failure, Ui, to_visible, to_visible_line};
use crate::cli::process::command_line::quote_word;
use crate::cli::pruned::load_pruned_beside;
use crate::cli::rollouts::{detect_file, retain_last_rollouts};
use crate::cli::sessions::NO_SESSIONS_ANYWHERE;
use crate::cli::titled::{TitlePolicy, TitleWords, find_titled_in, resolve_title, suggest_titles};
use crate::format::{ID_SUFFIX_LEN, format_count};
use crate::import::is_document_name;
use crate::load::names::{Matched, NameError, choose_session};
use crate::load::{LoadError, read_header};
use crate::ops::list::{ListedSession, display_title, read_single};
use crate::session::paths::{abbreviate_home, is_windows_absolute};
use crate::session::range::is_range_form;
use pisess_json::text::Text;
use pisess_store::{self as store, FoundFile, Glance, Reach, SearchProblem};
use std::path::{Path, PathBuf};

/// The sessions that arguments name. None of them has been read.
#[derive(Debug)]
pub struct FoundSessions {
    /// The files; `-` may be one of them.
    pub files: Vec<FoundFile>,
    /// The failures of arguments that name nothing, and of directories that cannot be searched.
    pub failures: Vec<Failure>,
    /// The scope that contains these sessions.
    pub scope: Scope,
    /// The note for the user if the arguments lead to no session; `None` if they lead to some, or
    /// if a failure says so. [`expand_arguments`] and [`expand_arguments_to_read`] have printed it.
    pub none_found_note: Option<String>,
}

impl FoundSessions {
    /// Prints the note that there is no session.
    pub fn warn_of_none(&self, ui: &mut Ui) {
        if let Some(note) = &self.none_found_note {
            ui.warn(note);
        }
    }
}

/// Returns the sessions that paths, names and `--all` select. Without any of these, returns the
/// sessions of the current directory. Reports directories that cannot be searched, but leaves it to
/// the caller to report that there are no sessions.
pub fn find_sessions(
    places: &SessionStores,
    paths: &[PathBuf],
    all: bool,
    ui: &mut Ui,
) -> FoundSessions {
    // `--all` conflicts with paths, so at most one of the two is given.
    if !all && !paths.is_empty() {
        let search = ArgumentSearch {
            reach: Reach::Whole,
            is_strict: false,
            takes_projects: true,
            title_policy: TitlePolicy::Accept,
            is_to_read: true,
        };
        return find_by_arguments(paths, search, ui);
    }

    let scope = if all {
        Scope::All
    } else {
        Scope::CurrentProject
    };
    let found = places.find_sessions(&scope);
    for problem in &found.problems {
        ui.warn(&problem.text);
    }
    FoundSessions {
        files: found.files,
        failures: Vec::new(),
        scope,
        none_found_note: None,
    }
}

/// Returns the sessions that arguments name: by file, name or directory. `title_policy` decides
/// about words of a title. Warns of directories whose subdirectories are left out.
pub fn expand_arguments(
    arguments: &[PathBuf],
    reach: Reach,
    title_policy: TitlePolicy,
    ui: &mut Ui,
) -> FoundSessions {
    let search = ArgumentSearch {
        reach,
        is_strict: true,
        takes_projects: reach == Reach::Whole,
        title_policy,
        is_to_read: false,
    };
    let found = find_by_arguments(arguments, search, ui);
    found.warn_of_none(ui);
    found
}

/// Returns the sessions that arguments name, for a command that only reports which of them it would
/// change. In addition to [`expand_arguments`], projects and words of a title are accepted.
pub fn expand_arguments_to_report(arguments: &[PathBuf], ui: &mut Ui) -> FoundSessions {
    let search = ArgumentSearch {
        reach: Reach::Visible,
        is_strict: true,
        takes_projects: true,
        title_policy: TitlePolicy::Accept,
        is_to_read: false,
    };
    let found = find_by_arguments(arguments, search, ui);
    found.warn_of_none(ui);
    found
}

/// Returns the sessions that arguments name, for a command that only reads. In addition to
/// [`expand_arguments`], words of a title name a session.
pub fn expand_arguments_to_read(arguments: &[PathBuf], reach: Reach, ui: &mut Ui) -> FoundSessions {
    let found = search_arguments_to_read(arguments, reach, ui);
    found.warn_of_none(ui);
    found
}

/// Returns the sessions that arguments name, as [`expand_arguments_to_read`] does. The caller also
/// searches elsewhere, and therefore reports itself that there are no sessions.
pub fn search_arguments_to_read(arguments: &[PathBuf], reach: Reach, ui: &mut Ui) -> FoundSessions {
    let search = ArgumentSearch {
        reach,
        is_strict: true,
        takes_projects: reach == Reach::Whole,
        title_policy: TitlePolicy::Accept,
        is_to_read: true,
    };
    find_by_arguments(arguments, search, ui)
}

/// How to search for the sessions that arguments name.
#[derive(Clone, Copy)]
struct ArgumentSearch {
    /// How deep directories are searched.
    reach: Reach,
    /// Whether a subdirectory that cannot be searched is a failure. Otherwise there is only a
    /// warning.
    is_strict: bool,
    /// Whether a directory without sessions is taken for a project, and the name of a project is
    /// accepted.
    takes_projects: bool,
    /// Whether words of a title name a session.
    title_policy: TitlePolicy,
    /// Whether the sessions are only read. Then only the last rollout of a Codex thread is kept,
    /// which represents all of them.
    is_to_read: bool,
}

/// The things that the arguments refer to. Directories have not been searched yet.
#[derive(Default)]
struct ResolvedArguments {
    /// `-` for standard input, as often as it is given.
    streams: Vec<PathBuf>,
    /// Files and directories: given as such, or found by the name of a session.
    paths: Vec<PathBuf>,
    /// The sessions of the projects that are given by name.
    project_files: Vec<FoundFile>,
    /// The failures of arguments that name nothing.
    failures: Vec<Failure>,
}

impl ResolvedArguments {
    /// Resolves each argument: a path, the name of a session, the name of a project, or another
    /// name that [`resolve_other_name`] knows, in this order.
    fn resolve(arguments: &[PathBuf], search: ArgumentSearch, ui: &mut Ui) -> ResolvedArguments {
        let mut resolved = ResolvedArguments::default();
        for argument in arguments {
            resolved.add(argument, search, ui);
        }
        resolved
    }

    fn add(&mut self, argument: &Path, search: ArgumentSearch, ui: &mut Ui) {
        match find_last_of_sources(argument, ui) {
            Ok(Some(last)) => return self.paths.push(last),
            Err(failure) => return self.failures.push(failure),
            // Without `--source`, or for any other argument than `last`.
            Ok(None) => {}
        }
        match resolve_name(argument, ui) {
            Ok(path) if path == Path::new("-") => self.streams.push(path),
            Ok(path) => self.paths.push(path),
            Err(failure) => self.resolve_project_or_other(argument, failure, search, ui),
        }
    }

    /// Resolves an argument that is neither a path nor the name of a session: the name of a
    /// project, or another name that [`resolve_other_name`] knows. `unknown_session` is the failure
    /// of the search for a session.
    fn resolve_project_or_other(
        &mut self,
        argument: &Path,
        unknown_session: Failure,
        search: ArgumentSearch,
        ui: &mut Ui,
    ) {
        let project = if search.takes_projects {
            find_project_by_name(argument, ui)
        } else {
            Ok(None)
        };
        let several_projects = match project {
            Ok(Some(project)) => {
                report_project(argument, &project.cwd, ui);
                self.project_files.extend(project.files);
                return;
            }
            Ok(None) => None,
            Err(failure) => Some(failure),
        };

        // If several projects have the name, it may still be that of exactly one session.
        let unknown_name = match resolve_other_name(argument, unknown_session, search, ui) {
            Ok(path) => return self.paths.push(path),
            Err(failure) => failure.with_path(argument.to_string_lossy()),
        };
        // The failure of several projects lists them, so the user can choose one.
        self.failures.push(several_projects.unwrap_or(unknown_name));
    }
}

/// Returns the sessions that arguments name, standard input first, and the failures of arguments
/// that name nothing.
///
/// If the search takes projects, a directory without sessions is one, and its sessions are in the
/// stores. The name of a project is accepted, too.
fn find_by_arguments(arguments: &[PathBuf], search: ArgumentSearch, ui: &mut Ui) -> FoundSessions {
    let reach = search.reach;
    let ResolvedArguments {
        streams,
        mut paths,
        project_files,
        mut failures,
    } = ResolvedArguments::resolve(arguments, search, ui);

    let mut found = match reach {
        // A command with this reach also reads sessions of other agents, whose files have other
        // names.
        Reach::Whole => store::find_with(&paths, reach, is_document_name),
        Reach::Own | Reach::Visible => store::find(&paths, reach),
    };
    if search.takes_projects
        && let Some(files) = find_project_sessions(&paths, &found.files, ui)
    {
        // The directories themselves contain no sessions.
        paths = files.iter().map(|file| file.path.clone()).collect();
        found.files = files;
    }
    paths.extend(project_files.iter().map(|file| file.path.clone()));
    found.files.extend(project_files);
    if search.is_to_read {
        retain_last_rollouts(&mut found.files);
    }

    failures.extend(search_failures(found.problems, search.is_strict, ui));
    let has_found_none = found.files.is_empty();
    warn_of_shallow(&found.shallow, has_found_none, ui);
    // A failure, and the warning of subdirectories, say already why there are no sessions.
    let is_reported = !failures.is_empty() || !found.shallow.is_empty();
    let reads_only_stream = !streams.is_empty() && paths.is_empty();
    let needs_note = has_found_none && !is_reported && !reads_only_stream;
    let none_found_note = needs_note.then(|| note_none_found(&paths, reach, ui));

    let mut files: Vec<FoundFile> = streams.into_iter().map(given_file).collect();
    files.extend(found.files);
    FoundSessions {
        files,
        failures,
        scope: Scope::Paths(paths),
        none_found_note,
    }
}

/// Returns a path that the user gave as a file to read.
fn given_file(path: PathBuf) -> FoundFile {
    FoundFile {
        path,
        owner: None,
        is_given: true,
    }
}

/// Warns of directories whose subdirectories were not searched. `has_found_none` is whether there
/// were no sessions in any directory.
fn warn_of_shallow(folders: &[PathBuf], has_found_none: bool, ui: &mut Ui) {
    for folder in folders {
        let no_files = if has_found_none {
            "no *.jsonl files found, and "
        } else {
            ""
        };
        ui.warn(&format!(
            "{}: {no_files}subdirectories are left out (hint: -r includes them)",
            folder.display()
        ));
    }
}

/// Returns the session of an argument that is neither a file nor the name of a session of pi or
/// oh-my-pi. The argument may be the id of a session of another agent, or words of a title.
///
/// `failure` is the failure of [`resolve_name`]. Unless it says that the name is unknown, nothing
/// is looked up: several sessions may have the name, for example.
fn resolve_other_name(
    argument: &Path,
    failure: Failure,
    search: ArgumentSearch,
    ui: &mut Ui,
) -> Result<PathBuf, Failure> {
    let failure = match resolve_foreign_id(argument, failure, ui) {
        Ok(path) => return Ok(path),
        Err(failure) => failure,
    };
    // For a search that takes projects, a project was tried before.
    let may_be_title = search.title_policy == TitlePolicy::Accept
        && (search.takes_projects || !names_project(argument, ui));
    match name_argument(argument) {
        Some(words) if may_be_title && failure.is_missing_file => resolve_title(words, failure, ui),
        _ => Err(suggest_sessions(argument, failure, ui)),
    }
}

/// Returns the failures for paths that a search could not read. Unless `is_strict` is set, a path
/// that the user did not name, but which was found below another, has only a warning.
pub fn search_failures(problems: Vec<SearchProblem>, is_strict: bool, ui: &mut Ui) -> Vec<Failure> {
    let mut failures = Vec::new();
    for problem in problems {
        let is_failure = problem.is_given || is_strict;
        match problem.error {
            Some(error) if is_failure => failures.push(error.into()),
            // A problem without an error is that a path is unusual: it was read.
            Some(_) | None => ui.warn(&problem.text),
        }
    }
    failures
}

/// Returns the sessions in the stores whose projects are these directories. Reports each such
/// directory, because as an argument, a directory usually means the files in it.
///
/// `None` if there are no such sessions, or if one of the `found` files in the directories is a
/// session itself.
fn find_project_sessions(
    folders: &[PathBuf],
    found: &[FoundFile],
    ui: &mut Ui,
) -> Option<Vec<FoundFile>> {
    let contain_session = found
        .iter()
        .any(|file| file.is_given || may_be_session(&file.path));
    if contain_session {
        return None;
    }

    let mut files = Vec::new();
    for folder in folders {
        if !folder.is_dir() {
            continue;
        }
        let of_project = find_sessions_of_project(&ui.resolve_path(folder), ui);
        if !of_project.is_empty() {
            ui.warn(&format!(
                "{}: the sessions of this project, from the agents' stores",
                folder.display()
            ));
        }
        files.extend(of_project);
    }
    if files.is_empty() {
        return None;
    }
    Some(files)
}

/// Returns the sessions of the project in a directory: the files where the agents keep the sessions
/// of this project. If there are none, the files anywhere in the stores that record the directory,
/// such as sessions that were copied there from another computer.
fn find_sessions_of_project(folder: &Path, ui: &Ui) -> Vec<FoundFile> {
    let stores = SessionStores::locate_from(folder, ui);
    let kept_by_agents = stores.find_sessions(&Scope::CurrentProject).files;
    if !kept_by_agents.is_empty() {
        return kept_by_agents;
    }
    let mut by_cwd = stores.find_sessions_by_cwd(|cwd| cwd == folder);
    by_cwd.remove(folder).unwrap_or_default()
}

/// A project that an argument names, and its sessions.
struct NamedProject {
    cwd: PathBuf,
    /// The sessions of the project, without those of sub-agents.
    files: Vec<FoundFile>,
}

/// Returns the project with this name. The name is the end of the project's path, as `list` shows
/// it.
///
/// `None` if no project has the name, or if the argument is an existing path.
///
/// # Errors
/// If several projects have the name. The failure lists their paths.
fn find_project_by_name(argument: &Path, ui: &Ui) -> Result<Option<NamedProject>, Failure> {
    let Some(name) = name_argument(argument) else {
        return Ok(None);
    };
    let stores = SessionStores::locate(ui);
    let mut by_cwd = stores.find_sessions_by_cwd(|cwd| cwd.ends_with(name));
    if by_cwd.len() > 1 {
        let cwds: Vec<PathBuf> = by_cwd.into_keys().collect();
        return Err(several_projects_failure(name, &cwds, ui));
    }
    let project = by_cwd.pop_first();
    Ok(project.map(|(cwd, files)| NamedProject { cwd, files }))
}

/// Returns the failure for a name that several projects have.
fn several_projects_failure(name: &str, cwds: &[PathBuf], ui: &Ui) -> Failure {
    let mut rows = Vec::new();
    for cwd in cwds {
        rows.push(shown_path(cwd, ui));
    }
    let what = format!("{} projects have the name {}", cwds.len(), to_visible(name));
    Failure::invalid(what)
        .with_hint("give the path of one")
        .with_details(rows)
        .with_path(name)
}

/// Whether an argument is the name of one project, and neither a path nor the name of a session.
pub fn names_project(argument: &Path, ui: &Ui) -> bool {
    let is_session = resolve_name(argument, ui).is_ok();
    !is_session && matches!(find_project_by_name(argument, ui), Ok(Some(_)))
}

/// Returns the directory of the project with this name.
///
/// # Errors
/// If several projects have the name.
pub fn find_project_cwd(argument: &Path, ui: &Ui) -> Result<Option<PathBuf>, Failure> {
    let project = find_project_by_name(argument, ui)?;
    Ok(project.map(|project| project.cwd))
}

/// Reports the project that an argument names.
pub fn report_project(argument: &Path, cwd: &Path, ui: &mut Ui) {
    let shown = abbreviate_home(&cwd.to_string_lossy(), ui.home().as_deref()).to_string();
    ui.warn(&format!(
        "{}: the sessions of the project {}, from the agents' stores",
        to_visible(&argument.to_string_lossy()),
        to_visible(&shown)
    ));
}

/// Whether a file that the user named is a session of any agent, by its content or its name.
pub fn may_be_given_session(path: &Path) -> bool {
    let is_named_as_session = path.extension().is_some_and(|ending| ending == "jsonl");
    is_named_as_session || may_be_session(path) || matches!(detect_file(path), Ok(Some(_)))
}

/// Whether a file is a session. Returns true if it cannot be read, because then it may be one.
fn may_be_session(path: &Path) -> bool {
    let Ok(file) = Glance::open(path) else {
        return true;
    };
    let is_other_file = matches!(read_header(&file), Err(LoadError::NotASession { .. }));
    !is_other_file
}

/// Returns the note that directories contain no sessions. If the stores were searched as well, it
/// also says that there are no sessions of these projects.
fn note_none_found(folders: &[PathBuf], reach: Reach, ui: &Ui) -> String {
    // With --all, the directories are the roots of the stores.
    let store_roots = SessionStores::locate(ui).store_roots();
    if folders.iter().all(|folder| store_roots.contains(folder)) {
        return NO_SESSIONS_ANYWHERE.to_owned();
    }

    let mut where_searched = String::new();
    let mut projects = Vec::new();
    // Only a search of this reach includes the stores.
    if reach == Reach::Whole
        && let [folder] = folders
    {
        where_searched = format!(
            " in {}, and no sessions of that directory in the stores",
            folder.display()
        );
        projects = list_projects_below(folder, ui);
    }
    let hint = if projects.is_empty() {
        "`pisess list --all` lists the sessions of all projects".to_owned()
    } else {
        format!("projects in it that have sessions: {}", projects.join(", "))
    };
    format!("no *.jsonl files found{where_searched} (hint: {hint})")
}

/// Returns the first few projects below a directory that have sessions in the stores.
fn list_projects_below(folder: &Path, ui: &Ui) -> Vec<String> {
    const MOST_PROJECTS: usize = 3;

    let folder = ui.resolve_path(folder);
    let stores = SessionStores::locate(ui);
    let by_cwd = stores.find_sessions_by_cwd(|cwd| cwd.starts_with(&folder));

    let home = ui.home();
    let mut project_names = Vec::new();
    for cwd in by_cwd.keys().take(MOST_PROJECTS) {
        project_names.push(to_visible(&abbreviate_home(
            &cwd.to_string_lossy(),
            home.as_deref(),
        )));
    }
    if by_cwd.len() > MOST_PROJECTS {
        project_names.push(format!("and {} more", by_cwd.len() - MOST_PROJECTS));
    }
    project_names
}

/// Returns the path of a session argument. The argument is `-`, an existing path, or else the name
/// of a session. An argument in the form of a path is never a name.
///
/// # Errors
/// If a name matches no session, or several. If titles have the words of the argument, the failure
/// suggests their sessions.
pub fn resolve_argument(argument: &Path, ui: &Ui) -> Result<PathBuf, Failure> {
    resolve_name(argument, ui).map_err(|failure| suggest_sessions(argument, failure, ui))
}

/// Adds the sessions whose titles have the words of an argument to `failure`, which says that the
/// argument names no session.
pub fn suggest_sessions(argument: &Path, failure: Failure, ui: &Ui) -> Failure {
    match name_argument(argument) {
        Some(words) if failure.is_missing_file => suggest_titles(words, failure, ui),
        _ => failure,
    }
}

/// Returns the path of a session argument as [`resolve_argument`] does. A failure suggests no
/// sessions.
pub fn resolve_name(argument: &Path, ui: &Ui) -> Result<PathBuf, Failure> {
    let Some(name) = name_argument(argument) else {
        return Ok(argument.to_owned());
    };
    let stores = SessionStores::locate(ui);
    let session = stores
        .find_named_session(name)
        .map_err(|error| name_failure(error, ui).with_path(argument.to_string_lossy()))?;
    let is_here = || stores.newest_sessions().any(|path| path == session.path);
    if session.matched == Matched::StartOfName && !is_here() {
        refuse_if_titled_here(name, &session.path, ui)?;
    }
    Ok(session.path)
}

/// Fails if all words of `name` are also in the title of a session of the current project, which is
/// as likely to be meant. `name` is known to be only the start of the name of `named_elsewhere`, a
/// session of another project.
fn refuse_if_titled_here(name: &str, named_elsewhere: &Path, ui: &Ui) -> Result<(), Failure> {
    // A start without a word of three letters names no title.
    let Some(words) = TitleWords::parse(name) else {
        return Ok(());
    };
    let mut sessions = find_titled_in(&Scope::CurrentProject, name, ui);
    // Sessions are also found by the rest of their first message, which has too many words to be
    // as likely.
    sessions.retain(|session| words.are_in(&session.title().to_string_lossy()));
    if sessions.is_empty() {
        return Ok(());
    }
    let titles = format_count(sessions.len(), "title", "titles");
    sessions.extend(read_for_list(named_elsewhere));
    let what = format!(
        "`{}` is in {titles} of this project, and begins the name of a session of another one",
        to_visible(name)
    );
    Err(Failure::invalid(what)
        .with_hint("give more words, or the id")
        .with_details(describe_matches(&sessions, ui)))
}

/// Returns the session that `last` names, even if a file in the current directory is called `last`.
pub fn find_last(ui: &Ui) -> Result<PathBuf, Failure> {
    SessionStores::locate(ui)
        .find_by_name("last")
        .map_err(|error| name_failure(error, ui))
}

/// Whether an argument is the id of a session in the stores, or a part of one that is as long as
/// `list` prints. A shorter argument is more likely a pattern.
pub fn is_session_id(argument: &str, ui: &Ui) -> bool {
    let may_be_id = argument.len() >= ID_SUFFIX_LEN
        && argument
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    may_be_id && SessionStores::locate(ui).find_by_name(argument).is_ok()
}

/// Whether a session was found by its name: no argument is its path, or a directory above it.
pub fn is_found_by_name(arguments: &[PathBuf], session: &Path) -> bool {
    !arguments
        .iter()
        .any(|argument| session.starts_with(argument))
}

/// Returns an argument that is a name. `None` if it is an existing path, or in the form of a path.
pub fn name_argument(argument: &Path) -> Option<&str> {
    let exists = argument.symlink_metadata().is_ok();
    if exists {
        return None;
    }
    plain_word(argument)
}

/// Returns an argument that is not in the form of a path, whether or not a file has that name.
pub fn plain_word(argument: &Path) -> Option<&str> {
    let word = argument.to_str()?;
    if is_spelled_as_path(word) {
        return None;
    }
    Some(word)
}

/// Removes the range from arguments such as `SESSION RANGE`, and returns it. `None` if the last
/// argument is not in the form of a range, or is an existing path.
///
/// # Errors
/// If not exactly one session precedes the range: a range is a part of one session.
pub fn take_range(arguments: &mut Vec<PathBuf>) -> Result<Option<String>, Failure> {
    let [sessions @ .., last] = &arguments[..] else {
        return Ok(None);
    };
    let Some(range) = name_argument(last).filter(|name| is_range_form(name)) else {
        return Ok(None);
    };
    if sessions.is_empty() {
        // A single argument may be the name of a session.
        return Ok(None);
    }
    let is_one_session = sessions.len() == 1 && !sessions[0].is_dir();
    if !is_one_session {
        let what = format_args!("{}: a range is a part of one session", to_visible(range));
        return Err(Failure::usage_error(what)
            .with_hint("give one SESSION before the range; --last N applies to any number"));
    }
    let range = range.to_owned();
    arguments.pop();
    Ok(Some(range))
}

/// Whether an argument has the form of a path, so that it is never a name.
fn is_spelled_as_path(name: &str) -> bool {
    let path_prefixes = ["/", "./", "../", "~/", "\\", ".\\", "..\\", "~\\"];
    let has_path_prefix = path_prefixes.iter().any(|start| name.starts_with(start))
        || is_windows_absolute(name.as_bytes());
    matches!(name, "" | "-" | "." | "..") || has_path_prefix || name.ends_with(".jsonl")
}

/// Returns the name if `join` accepts it: it matches two copies of one session, and no other
/// project has a third one.
fn name_to_join<'e>(error: &'e NameError, ui: &Ui) -> Option<&'e str> {
    let NameError::Ambiguous {
        name, sessions: 2, ..
    } = error
    else {
        return None;
    };
    let copies = SessionStores::locate(ui).find_copies(error.id_of_copies()?);
    if copies.len() != 2 {
        return None;
    }
    Some(name)
}

/// Returns the failure for a name that identifies no session, or several. It has a row for each of
/// several sessions. If the session is archived, the hint says so.
pub fn name_failure(error: NameError, ui: &Ui) -> Failure {
    let mut failure = Failure::invalid(&error).with_hint(error.hint());
    match &error {
        NameError::NoLast { .. } => failure,
        NameError::Unknown { name, similar } => {
            if similar.is_empty() && is_archived(name, ui) {
                return failure.with_hint(archived_hint(name));
            }
            failure.is_missing_file = true;
            failure
        }
        NameError::Ambiguous {
            candidates,
            sessions,
            ..
        } => {
            let failure = failure.with_details(describe_candidates(candidates, *sessions, ui));
            match name_to_join(&error, ui) {
                Some(name) => failure.with_hint(join_hint(name)),
                None => failure,
            }
        }
    }
}

fn archived_hint(name: &str) -> String {
    let name = quote_word(name.as_ref());
    format!("it is archived: `pisess archive --restore {name}` moves it back to its store")
}

fn join_hint(name: &str) -> String {
    let name = quote_word(name.as_ref());
    format!("give the path; `pisess join {name}` joins the two")
}

/// Whether a name or an id identifies exactly one archived session.
fn is_archived(name: &str, ui: &Ui) -> bool {
    let archives = SessionStores::locate(ui)
        .find_archives(ArchiveScope::AllProjects)
        .unwrap_or_default();
    let known = archives
        .into_iter()
        .filter_map(|path| Some(read_archive_facts(&path)?.into_known(path)));
    choose_session(name, [known.collect()]).is_ok()
}

/// Reads the facts that `list` shows of a session; `None` if it cannot be read.
pub fn read_for_list(path: &Path) -> Option<ListedSession> {
    let file = Glance::open(path).ok()?;
    // If the pruned parts cannot be read, their cost is left out, as in `list`.
    let pruned = load_pruned_beside(path, &file).ok().flatten();
    read_single(path, &file, file.modified_ms(), pruned.as_ref()).ok()
}

/// Returns the title of a session on one line.
pub fn shown_title(session: &ListedSession) -> String {
    line_of_title(&session.title(), session.message_count)
}

/// Returns a title on one line, as a list shows it.
pub fn line_of_title(title: &Text, message_count: u32) -> String {
    to_visible_line(&display_title(title, message_count))
}

/// Refuses to change all sessions below a directory that is suspiciously high: the root, a home
/// directory, or a directory above an agent's store.
fn refuse_sweep(folder: &Path, ui: &Ui) -> Result<(), Failure> {
    let resolved = ui.resolve_path(folder);
    let Some(what) = describe_high_folder(&resolved, ui) else {
        return Ok(());
    };
    Err(Failure::invalid(format_args!(
        "-r would change every session below {}, which is {what}",
        folder.display()
    ))
    .with_hint("list them with -n; name a directory further down, or use --force"))
}

/// Returns what a directory is, if it is so high that the user hardly means all sessions below it.
/// `None` for any other directory.
fn describe_high_folder(folder: &Path, ui: &Ui) -> Option<&'static str> {
    if folder.parent().is_none() {
        return Some("the root directory");
    }
    if let Some(home) = ui.home()
        && ui.resolve_path(Path::new(&home)).starts_with(folder)
    {
        return Some("the home directory, or above it");
    }
    // Another user's home directory has the directory of an agent, too.
    for agent in [".pi", ".omp"] {
        if folder.join(agent).join("agent").is_dir() {
            return Some("a home directory");
        }
    }
    for root in SessionStores::locate(ui).store_roots() {
        let store = ui.resolve_path(&root);
        if store != folder && store.starts_with(folder) {
            return Some("above an agent's store");
        }
    }
    None
}

/// Returns how deep a change reaches below the directories in its arguments. With `-r`,
/// [`refuse_sweep`] may refuse a directory.
pub fn reach_of_change(
    arguments: &[PathBuf],
    recursive: bool,
    force: bool,
    ui: &Ui,
) -> Result<Reach, Failure> {
    if recursive && !force {
        for path in arguments {
            refuse_sweep(path, ui)?;
        }
    }
    let reach = if recursive {
        Reach::Visible
    } else {
        Reach::Own
    };
    Ok(reach)
}

/// The warning for a plan with sessions that the same command without `-n` would leave out.
pub const NEEDS_RECURSION: &str = "some of these are in subdirectories; add -r to change them, too";

/// Whether a session is in a subdirectory of one of the arguments, and not directly in an argument.
pub fn is_in_subfolder(arguments: &[PathBuf], session: &Path) -> bool {
    for folder in arguments {
        let is_itself = session == folder;
        let is_directly_in = session.parent() == Some(folder);
        if session.starts_with(folder) && !is_itself && !is_directly_in {
            return true;
        }
    }
    false
}
