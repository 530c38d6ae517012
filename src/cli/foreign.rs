//! Finds the sessions of other agents, such as Claude Code, and reads them.

use crate::agents::stores::is_cwd;
use crate::cli::locate::{Scope, SessionStores, resolve_user_folder};
use crate::cli::named::{self, name_argument};
use crate::cli::opencode;
use crate::cli::output::{Exit, Failure, FailureKind, Ui, to_visible};
use crate::cli::process::command_line::is_plain_in_shell;
use crate::cli::rollouts::{Rollouts, detect_file, open_source, retain_last_rollouts};
use crate::cli::titled::{TitleWords, require_one_title, resolve_title};
use crate::import::{
    self, EarlierImports, ImportTarget, JoinedSource, Origin, SubAgent, Survey, WrittenLines,
    write_converted_session,
};
use crate::load::names::{NameError, SessionCandidate, choose_session};
use crate::load::{LoadError, WrongFile};
use crate::ops::list::{ListedSession, read_single};
use crate::session::dialect::Dialect;
use clap::ValueEnum;
use clap::builder::PossibleValue;
use foldhash::HashSet;
use pisess_json::text::Text;
use pisess_store::{self as store, FoundFile, Reach, ReadAt, Spooled};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Surveys a source file. Returns `None` if no supported agent wrote the file.
pub fn survey_file(path: &Path, rollouts: &Rollouts) -> Result<Option<Survey>, Failure> {
    survey_opened(&rollouts.open(path)?, path)
}

/// Surveys a source that is open, as [`survey_file`] does.
fn survey_opened(source: &JoinedSource, path: &Path) -> Result<Option<Survey>, Failure> {
    let failed = |error| Failure::from_read_error(&to_visible(&path.to_string_lossy()), error);
    let origin = Origin::detect(source).map_err(failed)?;
    let Some(origin) = origin else {
        return Ok(None);
    };
    let mut survey = import::survey_source(source, origin, path).map_err(failed)?;
    if survey.cwd.is_none() {
        survey.cwd = read_project_file(origin, path);
    }
    Ok(Some(survey))
}

/// The maximum length of a path in a file, in bytes.
const MAX_PATH_LEN: u64 = 4096;

/// Reads the working directory of a session from the file in which its agent keeps it.
fn read_project_file(origin: Origin, session: &Path) -> Option<Text<'static>> {
    let file = open_source(&origin.project_file(session)?).ok()?;
    let bytes = file.read_range(0..file.len().min(MAX_PATH_LEN)).ok()?;
    let folder = String::from_utf8(bytes).ok()?;
    let folder = folder.trim();
    (!folder.is_empty()).then(|| Text::from(folder.to_owned()))
}

/// Converts a file into the session of pi that `import` would make of it. Returns the survey of the
/// file, and the session, whose lines keep the line numbers of the file. `None` if no supported
/// agent wrote the file.
pub fn convert_file_with_lines(
    path: &Path,
    rollouts: &Rollouts,
) -> Result<Option<(Survey, Spooled)>, Failure> {
    let Some(conversion) = convert(path, rollouts)? else {
        return Ok(None);
    };
    let numbers = conversion
        .source
        .line_numbers(&conversion.lines.offsets)
        .map_err(|error| Failure::from_read_error(&to_visible(&path.to_string_lossy()), error))?;
    let copy = conversion.copy.with_original_lines(Some(numbers.into()));
    Ok(Some((conversion.survey, copy)))
}

/// Converts a file as [`convert_file_with_lines`] does, but without line numbers.
pub fn convert_file(
    path: &Path,
    rollouts: &Rollouts,
) -> Result<Option<(Survey, Spooled)>, Failure> {
    let conversion = convert(path, rollouts)?;
    Ok(conversion.map(|conversion| (conversion.survey, conversion.copy)))
}

/// A source, and the session of pi into which it was converted.
struct Conversion {
    source: JoinedSource,
    survey: Survey,
    copy: Spooled,
    lines: WrittenLines,
}

/// Converts a file into a session of pi. `None` if no supported agent wrote the file.
fn convert(path: &Path, rollouts: &Rollouts) -> Result<Option<Conversion>, Failure> {
    let source = rollouts.open(path)?;
    let Some(survey) = survey_opened(&source, path)? else {
        return Ok(None);
    };
    let id = survey.derive_session_id(Dialect::Pi, 0);
    let target = ImportTarget {
        agent: Dialect::Pi,
        id: &id,
        source_path: path,
        earlier: &EarlierImports::default(),
    };
    let cwd = survey.cwd.clone().unwrap_or_default();
    let mut lines = WrittenLines::default();
    let copy = store::spool_written(&mut |out| {
        lines = write_converted_session(&source, &survey, &target, &cwd, out)?;
        Ok(())
    })?;
    Ok(Some(Conversion {
        source,
        survey,
        copy,
        lines,
    }))
}

/// Returns the id of the newest session in the store of `agent` that was imported from a source.
/// `None` if there is none.
pub fn find_newest_import(survey: &Survey, agent: Dialect, ui: &Ui) -> Option<String> {
    let found = SessionStores::locate(ui).find_sessions(&Scope::All);
    let known_ids: HashSet<&str> = found
        .files
        .iter()
        .filter_map(|file| session_id_of_path(&file.path))
        .collect();
    let mut newest = None;
    // The ids of imports are derived from numbers that count from 0 without gaps.
    for copy_number in 0.. {
        let id = survey.derive_session_id(agent, copy_number);
        if !known_ids.contains(&*id) {
            break;
        }
        newest = Some(id);
    }
    newest
}

/// Returns the id of a session from its file name, `TIME_ID.jsonl`.
pub fn session_id_of_path(path: &Path) -> Option<&str> {
    let stem = path.file_stem()?.to_str()?;
    let (_, id) = stem.rsplit_once('_')?;
    Some(id)
}

/// The first bytes of a session as pi and oh-my-pi write it. Other programs may write it
/// differently.
const HEADER_STARTS: [&[u8]; 2] = [b"{\"type\":\"session\"", b"{\"type\":\"title\""];

/// Whether a file is a session of another agent. Usual sessions of pi and oh-my-pi are recognized
/// by their first bytes, so that the check takes no time for them.
pub fn is_foreign_session(source: &dyn ReadAt) -> io::Result<bool> {
    let longest = HEADER_STARTS[0].len() as u64;
    let start = source.read_range(0..source.len().min(longest))?;
    if HEADER_STARTS.iter().any(|header| start.starts_with(header)) {
        return Ok(false);
    }
    Ok(Origin::detect(source)?.is_some())
}

/// Returns the failure for a file that could not be loaded. If another agent wrote the file, the
/// failure names that agent and `import`.
pub fn load_failure(name: &str, source: &dyn ReadAt, error: LoadError) -> Failure {
    let begins_without_header = matches!(
        &error,
        LoadError::NotASession {
            what: WrongFile::OtherFirst | WrongFile::NoHeader,
            ..
        }
    );
    if begins_without_header && let Ok(Some(origin)) = Origin::detect(source) {
        let agent = origin.display_name();
        let what = format_args!("{name}: not a session of pi or oh-my-pi, but of {agent}");
        let import = if name.chars().all(is_plain_in_shell) {
            format!("`pisess import {name}`")
        } else {
            "`pisess import` with its path".to_owned()
        };
        let source = origin.name();
        let hint = format!(
            "{import} converts it; commands that only read, such as `tree`, accept it; `pisess list --source {source}` lists it"
        );
        return Failure::new(Exit::Failed, FailureKind::Session, what)
            .with_path(name)
            .with_hint(hint);
    }
    Failure::from_load_error(name, error)
}

/// Returns the path of a session for a command that only reads. Accepts everything that
/// [`named::resolve_argument`] accepts; in addition, the id of a session of another agent, and
/// words of a title.
pub fn resolve_argument_to_read(argument: &Path, ui: &mut Ui) -> Result<PathBuf, Failure> {
    let failure = match named::resolve_name(argument, ui) {
        Ok(path) => return Ok(path),
        Err(failure) => failure,
    };
    let failure = match resolve_foreign_id(argument, failure, ui) {
        Ok(path) => return Ok(path),
        Err(failure) => failure,
    };
    match name_argument(argument) {
        Some(words) if failure.is_missing_file => resolve_title(words, failure, ui),
        _ => Err(failure),
    }
}

/// Returns the session of another agent whose id is `argument`. `failure` is the result of an
/// earlier search among sessions of pi and oh-my-pi.
///
/// If no agent has the id, returns `failure`. Nothing is searched for unless `failure` says that no
/// session was found.
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
    // The id of a sub-agent is displayed as SESSION/AGENT. The name of its file ends with AGENT in
    // Codex, and is `agent-AGENT` in Claude Code.
    let file_ids = match name.rsplit_once('/') {
        Some((_, agent)) => vec![format!("agent-{agent}"), agent.to_owned()],
        None => vec![name.to_owned()],
    };
    let files = find_all_foreign_sessions(ui);
    let candidates = candidates_by_id(&files, ui);
    for file_id in &file_ids {
        match choose_session(file_id, [candidates.clone()]) {
            Ok(path) => return Ok(path),
            Err(error @ NameError::Ambiguous { .. }) => {
                return Err(Failure::invalid(&error).with_hint(name_hint(&error)));
            }
            Err(_) => {}
        }
    }
    if opencode::is_session_id(name) {
        return opencode::export_session(name, ui);
    }
    Err(failure)
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

/// The sessions that `stats --source` reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceChoice {
    /// Those of one agent.
    One(Origin),
    /// Those of all agents.
    All,
}

impl SourceChoice {
    /// Returns the agents whose sessions are read, without pi and oh-my-pi.
    pub fn origins(&self) -> &[Origin] {
        match self {
            SourceChoice::One(origin) => std::slice::from_ref(origin),
            SourceChoice::All => Origin::all(),
        }
    }
}

impl ValueEnum for SourceChoice {
    fn value_variants<'a>() -> &'a [SourceChoice] {
        static CHOICES: LazyLock<Vec<SourceChoice>> = LazyLock::new(|| {
            let mut choices = Vec::new();
            for &origin in Origin::all() {
                choices.push(SourceChoice::One(origin));
            }
            choices.push(SourceChoice::All);
            choices
        });
        &CHOICES
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            SourceChoice::One(origin) => {
                let help = format!("Those of {}", origin.display_name());
                PossibleValue::new(origin.name()).help(help)
            }
            SourceChoice::All => PossibleValue::new("all").help("Those of all agents"),
        })
    }
}

/// Returns the sessions of other agents, together with those of their sub-agents. `folder` selects
/// the sessions of one project; without it, sessions of all projects are returned.
pub fn find_sessions_of(origins: &[Origin], folder: Option<&Path>, ui: &mut Ui) -> Vec<FoundFile> {
    let mut files = Vec::new();
    for &origin in origins {
        files.extend(find_foreign_sessions(origin, ui));
    }
    match folder {
        Some(folder) => retain_project_sessions(files, folder, ui),
        None => files,
    }
}

/// Returns the sessions of an agent that the arguments name. The forms of arguments are those of
/// [`find_arguments`].
///
/// # Errors
/// If an argument names nothing, or a directory cannot be read.
pub fn find_given_of(
    origin: Origin,
    arguments: &[PathBuf],
    ui: &mut Ui,
) -> Result<Vec<FoundFile>, Failure> {
    let (mut files, failures) = find_arguments(arguments, ui);
    if let Some(failure) = failures.into_iter().next() {
        return Err(failure);
    }
    files.retain(|file| matches!(detect_file(&file.path), Ok(Some(found)) if found == origin));
    Ok(files)
}

/// Returns the sessions of an agent in its directories. Sub-agents with files of their own are
/// included. Warns of directories that cannot be read.
pub fn find_foreign_sessions(origin: Origin, ui: &mut Ui) -> Vec<FoundFile> {
    let found = store::find_with(
        &session_folders(origin, ui),
        Reach::Whole,
        import::is_document_name,
    );
    for problem in &found.problems {
        ui.warn(&problem.text);
    }
    let mut files = found.files;
    files.retain(|file| !import::is_internal_log(&file.path));
    for file in &mut files {
        // The user named none of these directories.
        file.is_given = false;
    }
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
    let agents: Vec<_> = origins.iter().map(|origin| origin.display_name()).collect();
    let options: Vec<_> = origins
        .iter()
        .map(|origin| format!("`--source {}`", origin.name()))
        .collect();
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
/// An argument is a path, a directory, or a session's id, name or words of its title. A directory
/// without sessions of other agents is taken for a project, whose sessions are in the stores. An
/// argument fails if it names nothing, or if a directory in it cannot be read.
pub fn find_arguments(arguments: &[PathBuf], ui: &mut Ui) -> (Vec<FoundFile>, Vec<Failure>) {
    let mut paths = Vec::new();
    let mut failures = Vec::new();
    for argument in arguments {
        let Some(name) = name_argument(argument) else {
            paths.push(argument.clone());
            continue;
        };
        match find_by_name_or_title(name, ui) {
            Ok(path) => paths.push(path),
            Err(failure) => failures.push(failure),
        }
    }
    paths.extend(sub_agent_folders(&paths));

    let mut found = store::find_with(&paths, Reach::Whole, import::is_document_name);
    // A log of an internal agent only repeats the conversation, but is kept if the user named it.
    found
        .files
        .retain(|file| file.is_given || !import::is_internal_log(&file.path));
    for path in &paths {
        if path.is_dir() && !has_foreign_sessions(path, &found.files) {
            found.files.extend(find_project_sessions(path, ui));
        }
    }
    for failure in named::search_failures(found.problems, true, ui) {
        if failure.is_missing_file {
            failures.push(failure.with_hint(missing_path_hint()));
        } else {
            failures.push(failure);
        }
    }
    retain_last_rollouts(&mut found.files);
    (found.files, failures)
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
    let mut paths = found.files.into_iter().map(|file| file.path);
    paths.find(|path| {
        !import::has_id_in_file_name(path)
            && sub_agent
                .session
                .starts_with(&import::id_in_file_name(path))
    })
}

/// Returns the sessions of other agents whose project is `folder`, together with those of their
/// sub-agents. Notes that the sessions are in the stores, and not in that directory.
fn find_project_sessions(folder: &Path, ui: &mut Ui) -> Vec<FoundFile> {
    let files = find_all_foreign_sessions(ui);
    let files = retain_project_sessions(files, folder, ui);
    if !files.is_empty() {
        ui.warn(&format!(
            "{}: the sessions of this project, from the stores of {}",
            to_visible(&folder.to_string_lossy()),
            Origin::names_of_all("and")
        ));
    }
    files
}

/// Keeps the sessions whose project is `folder`, together with those of their sub-agents. The
/// directory of a sub-agent does not matter, because it may differ.
fn retain_project_sessions(files: Vec<FoundFile>, folder: &Path, ui: &mut Ui) -> Vec<FoundFile> {
    let rollouts = Rollouts::default();
    let survey = |file: FoundFile| {
        let survey = survey_file(&file.path, &rollouts).ok().flatten();
        (file, survey)
    };
    let mut surveyed = Vec::new();
    ui.map_in_parallel(files, survey, |_, (file, survey)| {
        if let Some(survey) = survey {
            surveyed.push((file, survey));
        }
    });

    let stores = SessionStores::locate_from(&resolve_user_folder(folder, ui), ui);
    let mut session_ids = HashSet::default();
    for (_, survey) in &surveyed {
        let cwd = survey.cwd.clone().unwrap_or_default();
        if survey.sub_agent.is_none() && is_cwd(&cwd.to_string_lossy(), stores.here()) {
            session_ids.insert(survey.id.clone());
        }
    }
    surveyed.retain(|(_, survey)| session_ids.contains(survey.session_id()));
    surveyed.into_iter().map(|(file, _)| file).collect()
}

/// Returns the hint for a name that does not identify exactly one session of another agent.
fn name_hint(error: &NameError) -> String {
    match error {
        NameError::Ambiguous { candidates, .. } => {
            let ids: HashSet<_> = candidates.iter().map(|(id, _)| id.as_str()).collect();
            if ids.len() < candidates.len() {
                let mut paths: Vec<_> = candidates
                    .iter()
                    .map(|(_, path)| to_visible(&path.to_string_lossy()))
                    .collect();
                // Candidates come in the order of their times, which may be equal.
                paths.sort();
                return format!(
                    "these files have the same id, give a path: {}",
                    paths.join(", ")
                );
            }
            let ids: Vec<_> = candidates.iter().map(|(id, _)| id.as_str()).collect();
            format!("give more of the id: {}", ids.join(", "))
        }
        _ => format!(
            "check the path; {} list the sessions",
            commands_that_list("")
        ),
    }
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

/// Returns the session that a name identifies. Ids are in the names of files, so no file is read if
/// an id matches. Names that the user gave are inside the files: then all files are read.
fn find_by_name(name: &str, ui: &mut Ui) -> Result<PathBuf, NameError> {
    let files = find_all_foreign_sessions(ui);
    let by_id = candidates_by_id(&files, ui);
    // `choose_session` asks for the second list only if the first has no match.
    let first_list = std::iter::once(by_id);
    let second_list = std::iter::once_with(|| read_candidates(files, ui));
    choose_session(name, first_list.chain(second_list))
}

/// Reads the ids and names of sessions on all processors. A file that is not a session, or cannot
/// be read, is skipped: a search found it.
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

/// Returns the session that a name identifies. If no session has the name, returns the session
/// whose title has its words.
fn find_by_name_or_title(name: &str, ui: &mut Ui) -> Result<PathBuf, Failure> {
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

/// Returns the session of another agent whose title or first message has the words, without
/// sub-agents. Returns `failure` if there is none. All files are converted, because titles are
/// inside them.
fn resolve_foreign_title(words: &str, failure: Failure, ui: &mut Ui) -> Result<PathBuf, Failure> {
    let Some(title_words) = TitleWords::parse(words) else {
        return Err(failure);
    };
    let files = find_all_foreign_sessions(ui);
    let rollouts = Rollouts::default();
    let mut sessions = Vec::new();
    ui.map_in_parallel(
        files,
        |file| read_foreign_for_list(&file.path, &rollouts),
        |_, session| sessions.extend(session.filter(|session| title_words.describe(session))),
    );
    require_one_title(words, &sessions, failure, ui)
}

/// Reads a session of another agent as `list` shows it. `None` if it cannot be read, or if it is
/// the session of a sub-agent.
fn read_foreign_for_list(path: &Path, rollouts: &Rollouts) -> Option<ListedSession> {
    let (survey, copy) = convert_file(path, rollouts).ok()??;
    if survey.sub_agent.is_some() {
        return None;
    }
    let modified_ms = store::modified_ms(path).unwrap_or_default();
    let mut session = read_single(path, &copy, modified_ms, None).ok()?;
    session.id = Text::from(survey.id);
    Some(session)
}

fn find_all_foreign_sessions(ui: &mut Ui) -> Vec<FoundFile> {
    find_sessions_of(Origin::all(), None, ui)
}

/// Returns candidates with the ids of sessions. Most are in the names of the files, which are then
/// not read. These candidates have no name: names are compared only if no id matches.
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
        id: survey.id,
        name,
    })
}
