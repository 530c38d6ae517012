//! Where Claude Code and Codex keep their sessions, and which of them arguments name.

use crate::cli::named::{self, name_argument};
use crate::cli::output::{Failure, Ui, to_visible};
use crate::import::{self, ImportTarget, Origin, Survey, write_converted_session};
use crate::load::names::{NameError, SessionCandidate, choose_session};
use crate::session::dialect::Dialect;
use pisess_store::{self as store, FoundFile, Reach, SessionFile, Spooled};
use std::path::{Path, PathBuf};

/// Reads a source. Returns `None` if another agent wrote the file, or none.
pub fn survey_file(path: &Path) -> Result<Option<Survey>, Failure> {
    let file = SessionFile::open(path)?;
    let failed = |error| Failure::from_read_error(&to_visible(&path.to_string_lossy()), error);
    let origin = Origin::detect(&file).map_err(failed)?;
    origin
        .map(|origin| import::survey_source(&file, origin, path))
        .transpose()
        .map_err(failed)
}

/// Returns what a file contains, and the session of pi that it would become. Returns `None` if
/// another agent wrote it, or none.
pub fn convert_file(path: &Path) -> Result<Option<(Survey, Spooled)>, Failure> {
    let Some(survey) = survey_file(path)? else {
        return Ok(None);
    };
    let file = SessionFile::open(path)?;
    let id = survey.derive_session_id(Dialect::Pi, 0);
    let target = ImportTarget {
        agent: Dialect::Pi,
        id: &id,
        source_path: path,
        earlier_ends: &[],
    };
    let cwd = survey.cwd.clone().unwrap_or_default();
    let copy = store::spool_written(&mut |out| {
        write_converted_session(&file, &survey, &target, &cwd, out).map(drop)
    })?;
    Ok(Some((survey, copy)))
}

/// Returns the directories of an agent that may contain sessions: in the directory of its
/// environment variable, else in its directory below the home directory.
fn session_folders(origin: Origin, ui: &Ui) -> Vec<PathBuf> {
    let (variable, default_name, subfolders): (_, _, &[&str]) = match origin {
        Origin::Claude => ("CLAUDE_CONFIG_DIR", ".claude", &["projects"]),
        Origin::Codex => ("CODEX_HOME", ".codex", &["sessions", "archived_sessions"]),
    };
    let root = match ui.env_var(variable) {
        Some(root) if !root.is_empty() => PathBuf::from(root),
        _ => match ui.home() {
            Some(home) => Path::new(&home).join(default_name),
            None => return Vec::new(),
        },
    };
    let root = ui.current_folder().join(root);
    let mut folders = Vec::new();
    for name in subfolders {
        let folder = root.join(name);
        if folder.is_dir() {
            folders.push(folder);
        }
    }
    folders
}

/// Returns the sessions of an agent; those of sub-agents have their own files. Reports directories
/// that cannot be read.
pub fn find_foreign_sessions(origin: Origin, ui: &mut Ui) -> Vec<FoundFile> {
    let found = store::find(&session_folders(origin, ui), Reach::Whole);
    for trouble in &found.troubles {
        ui.warn(&trouble.text);
    }
    let mut files = found.files;
    for file in &mut files {
        file.named = false;
    }
    files
}

/// Returns the note that an agent has no sessions in a place.
pub fn none_found_note(origin: Origin, place: &ForeignPlace) -> String {
    let agent = match origin {
        Origin::Claude => "Claude Code",
        Origin::Codex => "Codex",
    };
    let source = origin.name();
    match place {
        ForeignPlace::CurrentProject => format!(
            "no sessions of {agent} for the current directory (hint: `pisess list --source {source} --all` includes all projects)"
        ),
        ForeignPlace::All => {
            let (folder, variable) = match origin {
                Origin::Claude => ("~/.claude/projects", "CLAUDE_CONFIG_DIR"),
                Origin::Codex => ("~/.codex/sessions", "CODEX_HOME"),
            };
            format!("no sessions of {agent} (hint: they are in {folder}, unless {variable} is set)")
        }
        ForeignPlace::Arguments => format!(
            "no sessions of {agent} in these files and directories (hint: `pisess list --source {source} --all` lists all projects)"
        ),
    }
}

/// Where sessions of another agent were looked for.
pub enum ForeignPlace {
    CurrentProject,
    /// All projects.
    All,
    /// The files and directories that were given.
    Arguments,
}

/// The hint for a path that does not exist.
const MISSING_PATH_HINT: &str = "check the path; Claude Code keeps sessions below ~/.claude/projects, Codex below ~/.codex/sessions";

/// Returns the files that arguments name: paths, directories, and ids or names of sessions; then
/// the failures: arguments that name nothing, and directories below them that cannot be read.
pub fn find_arguments(arguments: &[PathBuf], ui: &mut Ui) -> (Vec<FoundFile>, Vec<Failure>) {
    let mut paths = Vec::new();
    let mut failures = Vec::new();
    for argument in arguments {
        match name_argument(argument) {
            None => paths.push(argument.clone()),
            Some(name) => match find_by_name(name, ui) {
                Ok(path) => paths.push(path),
                Err(error) => {
                    let failure = Failure::invalid(&error).with_hint(name_hint(&error));
                    failures.push(failure.with_path(name));
                }
            },
        }
    }

    // The sub-agents of a session have files of their own in the directory named like it.
    let mut agent_folders = Vec::new();
    for path in &paths {
        let folder = path.with_extension("");
        if path.is_file() && folder.is_dir() {
            agent_folders.push(folder);
        }
    }
    paths.extend(agent_folders);

    let found = store::find(&paths, Reach::Whole);
    for failure in named::search_failures(found.troubles, true, ui) {
        if failure.is_missing_file {
            failures.push(failure.with_hint(MISSING_PATH_HINT));
        } else {
            failures.push(failure);
        }
    }
    (found.files, failures)
}

fn name_hint(error: &NameError) -> String {
    match error {
        NameError::Ambiguous { candidates, .. } => {
            let ids: Vec<_> = candidates.iter().map(|(id, _)| id.as_str()).collect();
            format!("give more of the id: {}", ids.join(", "))
        }
        _ => "check the path; `pisess list --source claude` and `--source codex` list the sessions"
            .to_owned(),
    }
}

/// Returns the session that a name identifies. Files are named after ids, so that names given by
/// the user are looked for only if no id matches.
fn find_by_name(name: &str, ui: &mut Ui) -> Result<PathBuf, NameError> {
    let mut files = find_foreign_sessions(Origin::Claude, ui);
    files.extend(find_foreign_sessions(Origin::Codex, ui));
    let mut by_id = Vec::new();
    for file in &files {
        by_id.push(SessionCandidate {
            id: id_from_file_name(&file.path),
            path: file.path.clone(),
            name: None,
        });
    }
    let by_name = || {
        let mut known = Vec::new();
        ui.map_in_parallel(
            files,
            |file| read_known(&file),
            |_, read| known.extend(read),
        );
        known
    };
    choose_session(
        name,
        [by_id].into_iter().chain(std::iter::once_with(by_name)),
    )
}

fn read_known(file: &FoundFile) -> Option<SessionCandidate> {
    let survey = survey_file(&file.path).ok()??;
    let name = survey.name.map(|name| name.to_string_lossy().into_owned());
    Some(SessionCandidate {
        path: file.path.clone(),
        id: survey.id,
        name,
    })
}

/// Returns the id in the name of a file: of Codex's `rollout-TIME-ID.jsonl`, what follows the time.
fn id_from_file_name(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let id = stem
        .strip_prefix("rollout-")
        .and_then(|rest| rest.get("2025-01-01T00-00-00-".len()..));
    id.map_or_else(|| stem.clone().into_owned(), str::to_owned)
}
