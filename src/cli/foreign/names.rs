//! Finds a session of another agent by its id, its name, or words of its title.

use super::convert::{ConvertedSource, read_head, survey_file};
use super::{find_all_foreign_sessions, find_project_sessions_of};
use crate::cli::locate::SessionStores;
use crate::cli::named::{self, name_argument, read_for_list};
use crate::cli::opencode;
use crate::cli::output::{Failure, Ui, to_visible};
use crate::cli::rollouts::Rollouts;
use crate::cli::sources::{Sources, may_be_read};
use crate::cli::titled::{TitleWords, require_one_title, resolve_title};
use crate::format::format_count;
use crate::import::{self, Origin};
use crate::load::names::{
    NameError, SessionCandidate, choose_session, nth_newest, parse_steps_back,
};
use crate::ops::list::{ListedSession, read_single};
use crate::session::dialect::Dialect;
use foldhash::HashSet;
use pisess_json::text::Text;
use pisess_store::{self as store, FoundFile};
use std::cmp::Reverse;
use std::path::{Path, PathBuf};

/// Returns the path of a session for a command that only reads. Accepts everything that
/// [`named::resolve_argument`] accepts; in addition, the id of a session of another agent, and
/// words of a title.
///
/// If `--source` limits the agents, `last` and `last~1` are sessions of theirs
/// ([`find_last_of_sources`]), and only titles of theirs are searched.
///
/// # Errors
/// Also if the session is not of one of these agents.
pub fn resolve_argument_to_read(argument: &Path, ui: &mut Ui) -> Result<PathBuf, Failure> {
    if let Some(last) = find_last_of_sources(argument, ui)? {
        return Ok(last);
    }

    match ui.sources.clone() {
        Some(sources) => resolve_of_sources(argument, &sources, ui),
        None => match named::resolve_name(argument, ui) {
            Ok(path) => Ok(path),
            Err(failure) => resolve_foreign_id_or_title(argument, failure, ui),
        },
    }
}

/// Returns the session of an argument if it is of these agents.
fn resolve_of_sources(argument: &Path, sources: &Sources, ui: &mut Ui) -> Result<PathBuf, Failure> {
    let failure = match named::resolve_name(argument, ui) {
        Ok(path) if sources.may_include(&path) => return Ok(path),
        Ok(_) => return resolve_excluded_name(argument, sources, ui),
        Err(failure) => failure,
    };
    let path = resolve_foreign_id_or_title(argument, failure, ui)?;
    if sources.may_include(&path) {
        Ok(path)
    } else {
        Err(excluded_failure(argument))
    }
}

/// Returns the session of an argument that names a session of pi or oh-my-pi, which `--source`
/// excludes: the argument may also be the id or in the title of a session of these agents.
fn resolve_excluded_name(
    argument: &Path,
    sources: &Sources,
    ui: &mut Ui,
) -> Result<PathBuf, Failure> {
    let mut not_found = excluded_failure(argument);
    // Only after a failure of this kind, ids and titles are searched.
    not_found.is_missing_file = true;
    match resolve_foreign_id_or_title(argument, not_found, ui) {
        Ok(path) if sources.may_include(&path) => Ok(path),
        Err(failure) if !failure.is_missing_file => Err(failure),
        Ok(_) | Err(_) => Err(excluded_failure(argument)),
    }
}

/// Returns the failure for a session that is not of the agents that `--source` names.
fn excluded_failure(argument: &Path) -> Failure {
    let name = argument.to_string_lossy();
    let what = format!(
        "{}: not a session of the agents that --source names",
        to_visible(&name)
    );
    Failure::invalid(what).with_path(name)
}

/// Returns the session that `last` or `last~2` names if `--source` limits the agents: these count
/// back among the sessions of these agents in the current directory. `None` without `--source`, and
/// for any other argument.
///
/// # Errors
/// If these agents have fewer sessions in the current directory.
pub fn find_last_of_sources(argument: &Path, ui: &mut Ui) -> Result<Option<PathBuf>, Failure> {
    let Some(sources) = ui.sources.clone() else {
        return Ok(None);
    };
    let Some(back) = name_argument(argument).and_then(parse_steps_back) else {
        return Ok(None);
    };
    let newest = find_newest_of(&sources, back + 1, ui);
    let session_count = newest.len();
    if let Ok(path) = nth_newest(back, newest.into_iter()) {
        return Ok(Some(path));
    }

    let what = if session_count == 0 {
        "no session of these agents in the current directory".to_owned()
    } else {
        let sessions = format_count(session_count, "session", "sessions");
        format!("last~{back}: these agents have only {sessions} in the current directory")
    };
    Err(Failure::invalid(what)
        .with_hint("`pisess list --source all --all` lists the sessions of all agents"))
}

/// Returns sessions of these agents in the current directory, the one whose file changed last
/// first, and at least the first `count` of them. As for `last` without `--source`, sessions of
/// oh-my-pi without messages are skipped.
fn find_newest_of(sources: &Sources, count: usize, ui: &mut Ui) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    if sources.includes_own() {
        let stores = SessionStores::locate(ui);
        let own = stores
            .newest_sessions()
            .filter(|path| sources.may_include(path));
        // Each session is opened, so no more than needed are listed.
        paths.extend(own.take(count));
    }
    let here = ui.current_folder().to_owned();
    for file in find_project_sessions_of(&sources.origins, &[here], ui) {
        if file.owner.is_none() {
            paths.push(file.path);
        }
    }
    paths.sort_by_cached_key(|path| Reverse(store::modified_ms(path)));
    paths
}

/// Returns the path of a session for a command that copies its lines, or whose change can be taken
/// back. Such a command refuses a session of another agent, which it would have to convert.
///
/// - The path, id or name of a session is accepted, as everywhere.
/// - The id of a session of another agent is accepted, too, so that the refusal names the session.
///   Not so the id of a session of OpenCode, which OpenCode would have to export for that.
/// - Words of a title are accepted, and the session that they name is reported. If it is not the
///   one that the user meant, nothing is lost: a copy leaves the session as it is, `undo` takes
///   back what was appended, and `--restore` what was pruned or archived. With `-q`, nothing is
///   reported, so words of a title are refused. So is a word that is the name of a project.
pub fn resolve_argument_to_change(argument: &Path, ui: &mut Ui) -> Result<PathBuf, Failure> {
    if ui.is_quiet() {
        return resolve_argument_exactly(argument, ui);
    }
    let failure = match named::resolve_name(argument, ui) {
        Ok(path) => return Ok(path),
        Err(failure) => failure,
    };
    // OpenCode would have to export the session, only for the command to refuse it.
    if may_need_export(argument) {
        return Err(failure);
    }
    // The user may mean the sessions of the project.
    if named::names_project(argument, ui) {
        return Err(named::suggest_sessions(argument, failure, ui));
    }
    resolve_foreign_id_or_title(argument, failure, ui)
}

/// Returns the path of a session for a change that cannot be taken back: of a path, or of the id or
/// name of a session. Words of a title do not suffice; the failure suggests the sessions.
///
/// The id of a session of another agent is resolved, too: the command then refuses the session, and
/// the failure names `import`.
pub fn resolve_argument_exactly(argument: &Path, ui: &mut Ui) -> Result<PathBuf, Failure> {
    let unknown_name = match named::resolve_name(argument, ui) {
        Ok(path) => return Ok(path),
        Err(failure) => failure,
    };
    // OpenCode would have to export the session, only for the command to refuse it.
    if may_need_export(argument) {
        return Err(unknown_name);
    }
    resolve_foreign_id(argument, unknown_name, ui)
        .map_err(|failure| named::suggest_sessions(argument, failure, ui))
}

/// Whether an argument is the id of a session of OpenCode, which may be in its database.
fn may_need_export(argument: &Path) -> bool {
    name_argument(argument).is_some_and(opencode::is_session_id)
}

/// Returns the session whose id is `argument`, or whose title has the words. `failure` is the
/// failure of the search by name.
fn resolve_foreign_id_or_title(
    argument: &Path,
    failure: Failure,
    ui: &mut Ui,
) -> Result<PathBuf, Failure> {
    let failure = match resolve_foreign_id(argument, failure, ui) {
        Ok(path) => return Ok(path),
        Err(failure) => failure,
    };
    match name_argument(argument) {
        Some(words) if failure.is_missing_file => resolve_title(words, failure, ui),
        _ => Err(failure),
    }
}

/// Returns the session of another agent whose id is `argument`: the id that its agent gave it, or
/// the one that it gets when it is imported. `failure` is the result of an earlier search among
/// sessions of pi and oh-my-pi.
///
/// If no session of another agent has the id, returns `failure`. Nothing is searched for unless
/// `failure` says that no session was found.
pub fn resolve_foreign_id(
    argument: &Path,
    failure: Failure,
    ui: &mut Ui,
) -> Result<PathBuf, Failure> {
    if !failure.is_missing_file {
        return Err(failure);
    }
    let Some(name) = name_argument(argument) else {
        return Err(failure);
    };
    let files = find_all_foreign_sessions(ui);
    let candidates = candidates_by_id(&files, ui);
    for file_id in ids_in_file_names(name) {
        match choose_session(&file_id, [candidates.clone()]) {
            Ok(session) => return Ok(session.path),
            Err(error @ NameError::Ambiguous { .. }) => {
                return Err(Failure::invalid(&error).with_hint(name_hint(&error)));
            }
            // The next form of the id may be in the name of a file.
            Err(_) => {}
        }
    }

    // Newer versions of OpenCode keep sessions in a database, so the session may have no file.
    if opencode::is_session_id(name) {
        return opencode::export_session(name, ui);
    }
    // Commands that read such a session print the id that it would have after an import.
    let imported = candidates_by_imported_id(files, ui);
    match choose_session(name, [imported]) {
        Ok(session) => Ok(session.path),
        Err(_) => Err(failure),
    }
}

/// Returns the forms of a displayed id that the names of files may have. The id of a sub-agent is
/// displayed as `SESSION/AGENT`. The name of its file is `agent-AGENT` in Claude Code, and ends
/// with AGENT in Codex.
fn ids_in_file_names(displayed_id: &str) -> Vec<String> {
    match displayed_id.rsplit_once('/') {
        Some((_, agent)) => vec![format!("agent-{agent}"), agent.to_owned()],
        None => vec![displayed_id.to_owned()],
    }
}

/// Returns a candidate for each session, with the id that its first import gets.
fn candidates_by_imported_id(files: Vec<FoundFile>, ui: &mut Ui) -> Vec<SessionCandidate> {
    /// Further imports of the same session have greater numbers.
    const FIRST_IMPORT: u32 = 0;

    let rollouts = Rollouts::default();
    let read_candidate = |file: FoundFile| {
        let head = read_head(&file.path, &rollouts).ok().flatten()?;
        Some(SessionCandidate {
            id: head.derive_session_id(Dialect::Pi, FIRST_IMPORT),
            path: file.path,
            name: None,
        })
    };
    let mut candidates = Vec::new();
    ui.map_in_parallel(files, read_candidate, |_, candidate| {
        candidates.extend(candidate);
    });
    candidates
}

/// Returns the session that a name identifies. If no session has the name, returns the session
/// whose title contains the words of the name.
pub(super) fn find_by_name_or_title(name: &str, ui: &mut Ui) -> Result<PathBuf, Failure> {
    let error = match find_by_name(name, ui) {
        Ok(path) => return Ok(path),
        Err(error) => error,
    };
    let failure = Failure::invalid(&error)
        .with_hint(name_hint(&error))
        .with_path(name);
    match error {
        NameError::Unknown { .. } if opencode::is_session_id(name) => {
            opencode::export_session(name, ui)
        }
        NameError::Unknown { .. } => resolve_foreign_title(name, failure, ui),
        _ => Err(failure),
    }
}

/// Returns the session that a name identifies. Ids are in the names of files, so no file is read if
/// an id matches. Names that the user gave are inside the files: then all files are read.
fn find_by_name(name: &str, ui: &mut Ui) -> Result<PathBuf, NameError> {
    let files = find_all_foreign_sessions(ui);
    let by_id = candidates_by_id(&files, ui);
    // `choose_session` asks for the second list only if the first has no match.
    let first_list = std::iter::once(by_id);
    let second_list = std::iter::once_with(|| read_candidates(files, ui));
    let session = choose_session(name, first_list.chain(second_list))?;
    Ok(session.path)
}

/// Returns a candidate for each session id. Most ids are part of the file name; such files are not
/// read. A candidate holds no session name, because names are compared only if no id matches.
fn candidates_by_id(files: &[FoundFile], ui: &mut Ui) -> Vec<SessionCandidate> {
    let mut candidates = Vec::new();
    let mut unclear_files = Vec::new();
    for file in files {
        if !import::has_id_in_file_name(&file.path) {
            unclear_files.push(file.clone());
            continue;
        }
        candidates.push(SessionCandidate {
            id: import::id_in_file_name(&file.path),
            path: file.path.clone(),
            name: None,
        });
    }
    for mut candidate in read_candidates(unclear_files, ui) {
        candidate.name = None;
        candidates.push(candidate);
    }
    candidates
}

/// Reads the ids and names of sessions on all processors. A file that is not a session, or cannot
/// be read, is skipped, because the user did not name it: a search found it.
fn read_candidates(files: Vec<FoundFile>, ui: &mut Ui) -> Vec<SessionCandidate> {
    let mut candidates = Vec::new();
    let rollouts = Rollouts::default();
    ui.map_in_parallel(
        files,
        |file| read_candidate(&file, &rollouts),
        |_, candidate| candidates.extend(candidate),
    );
    candidates
}

/// Returns the id and the name of a session. `None` if the file is not a session, or cannot be
/// read: then another file may be the one the user meant.
fn read_candidate(file: &FoundFile, rollouts: &Rollouts) -> Option<SessionCandidate> {
    let survey = survey_file(&file.path, rollouts).ok()??;
    // Gemini CLI begins a file with the id of the session that it resumes, and then continues the
    // file of that session.
    if survey.message_count == 0 {
        return None;
    }
    let name = survey.name.map(|name| name.to_string_lossy().into_owned());
    Some(SessionCandidate {
        path: file.path.clone(),
        id: survey.head.id,
        name,
    })
}

/// Returns the hint for a name that does not identify exactly one session of another agent.
fn name_hint(error: &NameError) -> String {
    let NameError::Ambiguous { candidates, .. } = error else {
        let commands = commands_that_list("");
        return format!("check the path; {commands} list the sessions");
    };

    let mut ids = Vec::new();
    let mut paths = Vec::new();
    for SessionCandidate { id, path, .. } in candidates {
        ids.push(id.as_str());
        paths.push(to_visible(&path.to_string_lossy()));
    }
    let distinct_ids: HashSet<&str> = ids.iter().copied().collect();
    if distinct_ids.len() == ids.len() {
        return format!("give more of the id: {}", ids.join(", "));
    }
    // Two files have the same id, so only a path is distinct. The candidates are in the order of
    // their times, which may be equal; paths are in the same order each time.
    paths.sort();
    let paths = paths.join(", ");
    format!("these files have the same id: {paths}; give the path of one")
}

/// Returns the commands that list the sessions of each other agent, each with `options` at its end.
/// Only the first one is whole; the others are abbreviated to their options.
pub fn commands_that_list(options: &str) -> String {
    let mut commands = Vec::new();
    for origin in Origin::all() {
        let source = origin.name();
        let start = if commands.is_empty() {
            "pisess list "
        } else {
            ""
        };
        commands.push(format!("`{start}--source {source}{options}`"));
    }
    let last = commands.pop().unwrap_or_default();
    format!("{} and {last}", commands.join(", "))
}

/// Returns the session of another agent whose title or first message has the words: not one of a
/// sub-agent, and only of the agents that `--source` names. Returns `failure` if there is none. All
/// files are converted, because titles are inside them.
pub fn resolve_foreign_title(
    words: &str,
    failure: Failure,
    ui: &mut Ui,
) -> Result<PathBuf, Failure> {
    let Some(title_words) = TitleWords::parse(words) else {
        return Err(failure);
    };
    let files = find_all_foreign_sessions(ui);
    let rollouts = Rollouts::default();
    let read_session = |file: FoundFile| read_foreign_for_list(&file.path, &rollouts);
    let sources = ui.sources.clone();
    let mut sessions = Vec::new();
    ui.map_in_parallel(files, read_session, |_, session| {
        if let Some(session) = session
            && title_words.describe(&session)
            && may_be_read(&session.path, sources.as_ref())
        {
            sessions.push(session);
        }
    });
    require_one_title(words, &sessions, failure, ui)
}

/// Reads a session of any agent as `list` shows it. `None` if it cannot be read, or if it is the
/// session of a sub-agent of another agent.
pub fn read_any_for_list(path: &Path, rollouts: &Rollouts) -> Option<ListedSession> {
    read_for_list(path).or_else(|| read_foreign_for_list(path, rollouts))
}

/// Reads a session of another agent as `list` shows it. `None` if it cannot be read, or if it is
/// the session of a sub-agent.
fn read_foreign_for_list(path: &Path, rollouts: &Rollouts) -> Option<ListedSession> {
    let file = ConvertedSource::open_to_list(path, rollouts).ok()??;
    if file.head.sub_agent.is_some() {
        return None;
    }
    let modified_ms = store::modified_ms(path).unwrap_or_default();
    // `prune` does not change sessions of other agents.
    let pruned = None;
    let mut session = read_single(path, &file, modified_ms, pruned).ok()?;
    session.id = Text::from(file.head.id);
    Some(session)
}
