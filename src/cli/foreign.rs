//! Finds the sessions of other agents, such as Claude Code: in their stores, and by arguments.
//!
//! `convert.rs` reads the sessions, and `names.rs` finds a session by a name.

use crate::agents::stores::is_cwd;
use crate::cli::locate::{Scope, SessionStores, resolve_user_folder};
use crate::cli::named::{self, name_argument};
use crate::cli::output::{Failure, Ui, to_visible};
use crate::cli::rollouts::{Rollouts, detect_file, is_pipe, open_source, retain_last_rollouts};
use crate::format::format_count;
use crate::import::{self, Origin, SourceHead, SubAgent};
use crate::session::dialect::Dialect;
pub use convert::{ConvertedSource, is_foreign_session, load_failure, read_head, survey_file};
use foldhash::HashSet;
use names::find_by_name_or_title;
pub use names::{
    commands_that_list, find_last_of_sources, read_any_for_list, resolve_argument_exactly,
    resolve_argument_to_change, resolve_argument_to_read, resolve_foreign_id,
    resolve_foreign_title,
};
use pisess_store::{self as store, FoundFile, KnownFiles, Reach};
use std::path::{Path, PathBuf};

mod convert;
mod names;
mod text_end;

/// Returns the ids of the newest sessions that were imported from a source, each with its agent.
pub fn find_newest_imports(source: &SourceHead, ui: &Ui) -> Vec<(Dialect, String)> {
    let found = SessionStores::locate(ui).find_sessions(&Scope::All);
    let known_ids: HashSet<&str> = found
        .files
        .iter()
        .filter_map(|file| session_id_of_path(&file.path))
        .collect();
    let mut imports = Vec::new();
    for agent in Dialect::ALL {
        // The ids of imports are derived from numbers that count from 0 without gaps, so the newest
        // one precedes the first unknown id.
        let mut newest_id = None;
        for copy_number in 0.. {
            let id = source.derive_session_id(agent, copy_number);
            if !known_ids.contains(&*id) {
                break;
            }
            newest_id = Some(id);
        }
        if let Some(id) = newest_id {
            imports.push((agent, id));
        }
    }
    imports
}

/// Returns the id of a session from its file name, `TIME_ID.jsonl`.
pub fn session_id_of_path(path: &Path) -> Option<&str> {
    let stem = path.file_stem()?.to_str()?;
    let (_, id) = stem.rsplit_once('_')?;
    Some(id)
}

/// Returns the directory of an agent: that in its environment variable, else the one below the home
/// directory. `None` if the home directory is needed and unknown.
pub fn agent_root(origin: Origin, ui: &Ui) -> Option<PathBuf> {
    let layout = &origin.facts().store;
    let root = match ui.env_var(layout.variable) {
        Some(root) if !root.is_empty() => Path::new(&root).join(layout.below_variable),
        _ => Path::new(&ui.home()?).join(layout.below_home),
    };
    // The path in the variable may be relative.
    Some(ui.current_folder().join(root))
}

/// Returns the existing directories of an agent that may contain sessions.
fn session_folders(origin: Origin, ui: &Ui) -> Vec<PathBuf> {
    let Some(root) = agent_root(origin, ui) else {
        return Vec::new();
    };
    let mut folders = Vec::new();
    for name in origin.facts().store.subfolders {
        let folder = root.join(name);
        if folder.is_dir() {
            folders.push(folder);
        }
    }
    folders
}

/// Returns the sessions of other agents, together with those of their sub-agents.
pub fn find_sessions_of(origins: &[Origin], ui: &mut Ui) -> Vec<FoundFile> {
    let mut files = Vec::new();
    for &origin in origins {
        files.extend(find_foreign_sessions(origin, ui));
    }
    files
}

/// Notes how many sessions of other agents were not searched, if there are any. `hint` names what
/// searches them.
pub fn note_unsearched(hint: &str, ui: &mut Ui) {
    let count = find_sessions_of(Origin::all(), ui).len();
    if count > 0 {
        let sessions = format_count(count, "session", "sessions");
        ui.warn(&format!(
            "{sessions} of other agents not searched (hint: {hint})"
        ));
    }
}

/// Returns the sessions of other agents that were started in one of these directories, together
/// with the sessions of their sub-agents.
pub fn find_project_sessions_of(
    origins: &[Origin],
    folders: &[PathBuf],
    ui: &mut Ui,
) -> Vec<FoundFile> {
    let files = find_sessions_of(origins, ui);
    let mut sessions = Vec::new();
    for of_project in group_by_project(files, folders, ui) {
        sessions.extend(of_project);
    }
    sessions
}

/// The sessions of other agents that were found.
pub struct SourceFiles {
    pub files: Vec<FoundFile>,
    /// The failures of arguments that name nothing, and of directories that cannot be read.
    pub failures: Vec<Failure>,
}

impl SourceFiles {
    fn from_files(files: Vec<FoundFile>) -> SourceFiles {
        SourceFiles {
            files,
            failures: Vec::new(),
        }
    }
}

/// Returns the sessions of these agents that the arguments name, in the forms of
/// [`find_arguments`]. Without arguments, returns the sessions of the current project or, with
/// `all`, of all projects. If there are no sessions, warns of that for each agent.
///
/// # Errors
/// If an argument is standard input, which is read as a session of pi or oh-my-pi.
pub fn find_sources(
    origins: &[Origin],
    arguments: &[PathBuf],
    all: bool,
    ui: &mut Ui,
) -> Result<SourceFiles, Failure> {
    refuse_stdin(arguments)?;
    let place = if !arguments.is_empty() {
        ForeignPlace::Arguments
    } else if all {
        ForeignPlace::All
    } else {
        ForeignPlace::CurrentProject
    };

    let found = match place {
        ForeignPlace::Arguments => find_arguments_of(origins, arguments, ui),
        ForeignPlace::All => SourceFiles::from_files(find_sessions_of(origins, ui)),
        ForeignPlace::CurrentProject => {
            let here = ui.current_folder().to_owned();
            SourceFiles::from_files(find_project_sessions_of(origins, &[here], ui))
        }
    };
    if found.files.is_empty() && found.failures.is_empty() {
        for &origin in origins {
            ui.warn(&none_found_note(origin, &place));
        }
    }
    Ok(found)
}

/// Returns the files that arguments name ([`find_arguments`]), without those of other agents.
fn find_arguments_of(origins: &[Origin], arguments: &[PathBuf], ui: &mut Ui) -> SourceFiles {
    let mut found = find_arguments(arguments, ui);
    found.files.retain(|file| match detect_file(&file.path) {
        Ok(Some(origin)) => origins.contains(&origin),
        // A pipe is kept: its agent is known only after it is read, which is possible once.
        Ok(None) | Err(_) => is_pipe(&file.path),
    });
    found
}

/// Refuses standard input together with `--source` and the name of an agent.
pub fn refuse_stdin(arguments: &[PathBuf]) -> Result<(), Failure> {
    if arguments.iter().any(|argument| argument == Path::new("-")) {
        let failure = Failure::usage_error("standard input is not read with --source");
        return Err(failure.with_hint("give the path of a file"));
    }
    Ok(())
}

/// Returns the sessions of these agents for the projects among the arguments: directories in which
/// an agent was started. Each session is returned once, and not if it is one of `found`, which were
/// found otherwise.
pub fn find_sources_of_projects(
    origins: &[Origin],
    arguments: &[PathBuf],
    found: &[FoundFile],
    ui: &mut Ui,
) -> Vec<FoundFile> {
    let mut folders = Vec::new();
    for argument in arguments {
        if ui.resolve_path(argument).is_dir() {
            folders.push(argument.clone());
        }
    }
    if folders.is_empty() {
        return Vec::new();
    }

    let mut known = KnownFiles::default();
    for file in found {
        known.insert(&file.path);
    }
    let mut new_files = Vec::new();
    for file in find_project_sessions_of(origins, &folders, ui) {
        if known.insert(&file.path) {
            new_files.push(file);
        }
    }
    new_files
}

/// Returns the sessions of an agent in its directories. Sub-agents with files of their own are
/// included. Warns of directories that cannot be read.
///
/// Codex continues a session, its thread, in further files, the rollouts. Only the last rollout of
/// a thread is returned, because it represents the whole thread.
pub fn find_foreign_sessions(origin: Origin, ui: &mut Ui) -> Vec<FoundFile> {
    let folders = session_folders(origin, ui);
    let found = store::find_with(&folders, Reach::Whole, import::is_document_name);
    for problem in &found.problems {
        ui.warn(&problem.text);
    }
    let mut files = found.files;
    // A log that only repeats the conversation of another file is not a session of its own.
    files.retain(|file| !import::is_internal_log(&file.path));
    // This keeps all rollouts that the user named. Here a search has found the files, so no file
    // counts as named.
    retain_last_rollouts(&mut files);
    files
}

/// Returns the warning that an agent has no sessions in a place.
pub fn none_found_note(origin: Origin, place: &ForeignPlace) -> String {
    let agent = origin.display_name();
    let source = origin.name();
    match place {
        ForeignPlace::CurrentProject => format!(
            "no sessions of {agent} for the current directory (hint: `pisess list --source {source} --all` includes all projects)"
        ),
        ForeignPlace::All => {
            let layout = &origin.facts().store;
            let folder = layout.usual_folder();
            let variable = layout.variable;
            let more = match origin.other_place() {
                Some(place) => format!("; {place}"),
                None => String::new(),
            };
            format!(
                "no sessions of {agent} (hint: they are in {folder}, unless {variable} is set{more})"
            )
        }
        ForeignPlace::Arguments => format!(
            "no sessions of {agent} in these files and directories (hint: `pisess list --source {source} --all` lists all projects)"
        ),
    }
}

/// Returns the warning that none of these files is a session of pi or oh-my-pi, but some are
/// sessions of other agents. `None` if there are none of these either.
pub fn only_foreign_note(paths: &[PathBuf]) -> Option<String> {
    let mut origins: Vec<Origin> = Vec::new();
    for path in paths {
        if let Ok(Some(origin)) = detect_file(path)
            && !origins.contains(&origin)
        {
            origins.push(origin);
        }
    }
    if origins.is_empty() {
        return None;
    }

    let mut agents = Vec::new();
    let mut options = Vec::new();
    for origin in origins {
        agents.push(origin.display_name());
        options.push(format!("`--source {}`", origin.name()));
    }
    Some(format!(
        "no sessions of pi or oh-my-pi among the files found, only of {} (hint: add {} to list them)",
        agents.join(" and "),
        options.join(" or ")
    ))
}

/// The place in which sessions of another agent were searched for.
pub enum ForeignPlace {
    CurrentProject,
    /// All projects.
    All,
    /// The given files and directories.
    Arguments,
}

/// Returns the hint for a path that does not exist.
fn missing_path_hint() -> String {
    let mut folders = Vec::new();
    for origin in Origin::all() {
        let agent = origin.display_name();
        let folder = origin.facts().store.usual_folder();
        // Only the first part needs the verb.
        let verb = if folders.is_empty() {
            " keeps sessions"
        } else {
            ""
        };
        folders.push(format!("{agent}{verb} below {folder}"));
    }
    format!("check the path; {}", folders.join(", "))
}

/// Returns the files that arguments name, and the failures.
///
/// An argument has one of the forms of [`find_path_of_argument`]. A directory without sessions of
/// other agents is taken for a project, whose sessions are in the stores. An argument fails if it
/// names nothing, or if a directory in it cannot be read.
pub fn find_arguments(arguments: &[PathBuf], ui: &mut Ui) -> SourceFiles {
    let mut paths = Vec::new();
    let mut failures = Vec::new();
    for argument in arguments {
        match find_path_of_argument(argument, ui) {
            Ok(path) => paths.push(path),
            Err(failure) => failures.push(failure),
        }
    }
    paths.extend(sub_agent_folders(&paths));

    let found = store::find_with(&paths, Reach::Whole, import::is_document_name);
    let mut files = found.files;
    // A log of an internal agent only repeats the conversation, but is kept if the user named it.
    files.retain(|file| file.is_given || !import::is_internal_log(&file.path));
    let projects = folders_without_sessions(&paths, &files);
    files.extend(find_sessions_of_named_projects(&projects, ui));
    let mut files = store::distinct_files(files, |file| &file.path);
    retain_last_rollouts(&mut files);

    let is_strict = true;
    for mut failure in named::search_failures(found.problems, is_strict, ui) {
        if failure.is_missing_file {
            failure = failure.with_hint(missing_path_hint());
        }
        failures.push(failure);
    }
    SourceFiles { files, failures }
}

/// Returns the path of an argument: a path, a session's id, name or words of its title, or, with
/// `--source`, `last`.
///
/// A word that is also the name of a file, such as `Dockerfile`, means that file only if it is a
/// session, or if no session has the word.
fn find_path_of_argument(argument: &Path, ui: &mut Ui) -> Result<PathBuf, Failure> {
    if let Some(last) = find_last_of_sources(argument, ui)? {
        return Ok(last);
    }
    if let Some(name) = name_argument(argument) {
        return find_by_name_or_title(name, ui);
    }
    if let Some(word) = word_of_other_file(argument)
        && let Ok(session) = find_by_name_or_title(word, ui)
    {
        return Ok(session);
    }
    Ok(argument.to_owned())
}

/// Returns the directories among `paths`, each once, in which no file of `found` is a session of
/// another agent.
fn folders_without_sessions(paths: &[PathBuf], found: &[FoundFile]) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for path in paths {
        if path.is_dir() && !has_foreign_sessions(path, found) && !folders.contains(path) {
            folders.push(path.clone());
        }
    }
    folders
}

/// Returns an argument that is a word and the name of an existing file, if the file is not a
/// session of another agent. A user who types `import Dockerfile` means the session about it.
fn word_of_other_file(argument: &Path) -> Option<&str> {
    let word = named::plain_word(argument)?;
    let is_other_file = argument.is_file() && matches!(detect_file(argument), Ok(None));
    if is_other_file { Some(word) } else { None }
}

/// Whether a directory contains one of the files, and that file is a session of another agent. A
/// file that cannot be read may be one, too.
fn has_foreign_sessions(folder: &Path, files: &[FoundFile]) -> bool {
    files
        .iter()
        .filter(|file| file.path.starts_with(folder))
        .any(|file| !matches!(detect_file(&file.path), Ok(None)))
}

/// Returns the directories of the sessions' sub-agents. Claude Code keeps these beside
/// `SESSION.jsonl`, in `SESSION/subagents`.
fn sub_agent_folders(sessions: &[PathBuf]) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for session in sessions {
        if is_pipe(session) {
            continue;
        }
        // What cannot be read is reported when the session is read.
        let Ok(file) = open_source(session) else {
            continue;
        };
        if let Ok(Some(folder)) = import::sub_agent_folder(&file, session)
            && folder.is_dir()
        {
            folders.push(folder);
        }
    }
    folders
}

/// Returns the file of the session that started a sub-agent, if the sub-agent is in a directory
/// beside it. If there are several files with the start of the id, it is the first one: an agent
/// that resumes a session continues its file.
pub fn find_owner_beside(sub_agent_path: &Path, sub_agent: &SubAgent) -> Option<PathBuf> {
    let folder = sub_agent_path.parent()?.parent()?;
    let found = store::find(&[folder.to_owned()], Reach::Own);
    for file in found.files {
        // The name of such a file has only the start of the id.
        let has_part_of_id = !import::has_id_in_file_name(&file.path);
        let id_start = import::id_in_file_name(&file.path);
        if has_part_of_id && sub_agent.session.starts_with(&id_start) {
            return Some(file.path);
        }
    }
    None
}

/// Returns the sessions of other agents in these projects, together with the sessions of their
/// sub-agents. Notes for each project that its sessions are in the stores, and not in that
/// directory.
fn find_sessions_of_named_projects(projects: &[PathBuf], ui: &mut Ui) -> Vec<FoundFile> {
    if projects.is_empty() {
        return Vec::new();
    }
    let files = find_all_foreign_sessions(ui);
    let mut sessions = Vec::new();
    let groups = group_by_project(files, projects, ui);
    for (project, project_sessions) in projects.iter().zip(groups) {
        if project_sessions.is_empty() {
            continue;
        }
        ui.warn(&format!(
            "{}: the sessions of this project, from the stores of {}",
            to_visible(&project.to_string_lossy()),
            Origin::names_of_all("and")
        ));
        sessions.extend(project_sessions);
    }
    sessions
}

/// Returns, for each of the projects, its sessions among `files`, together with the sessions of
/// their sub-agents. The directory of a sub-agent does not matter, because it may differ.
///
/// The head of each file is read once, however many projects there are.
fn group_by_project(
    files: Vec<FoundFile>,
    projects: &[PathBuf],
    ui: &mut Ui,
) -> Vec<Vec<FoundFile>> {
    let rollouts = Rollouts::default();
    // A file that cannot be read, or is not a session, belongs to no project.
    let read_with_head = |file: FoundFile| {
        let head = read_head(&file.path, &rollouts).ok().flatten();
        (file, head)
    };
    let mut sessions = Vec::new();
    ui.map_in_parallel(files, read_with_head, |_, (file, head)| {
        if let Some(head) = head {
            sessions.push((file, head));
        }
    });

    let mut groups = Vec::new();
    for project in projects {
        let ids = ids_of_project(&sessions, project, ui);
        let mut group = Vec::new();
        for (file, head) in &sessions {
            // For a sub-agent, this is the id of the session that started it.
            if ids.contains(head.session_id()) {
                group.push(file.clone());
            }
        }
        groups.push(group);
    }
    groups
}

/// Returns the ids of the sessions that were started in a directory, without sub-agents.
fn ids_of_project(
    sessions: &[(FoundFile, SourceHead)],
    project: &Path,
    ui: &Ui,
) -> HashSet<String> {
    let stores = SessionStores::locate_from(&resolve_user_folder(project, ui), ui);
    let mut ids = HashSet::default();
    for (_, head) in sessions {
        if head.sub_agent.is_some() {
            continue;
        }
        // A session without a directory belongs to no project.
        let cwd = head.cwd.clone().unwrap_or_default();
        if is_cwd(&cwd.to_string_lossy(), stores.here()) {
            ids.insert(head.id.clone());
        }
    }
    ids
}

fn find_all_foreign_sessions(ui: &mut Ui) -> Vec<FoundFile> {
    find_sessions_of(Origin::all(), ui)
}
