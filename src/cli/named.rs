//! The sessions that the arguments of a command name: by path, by name, or all below directories.

use crate::cli::ids::Ids;
use crate::cli::locate::{Places, Scope, facts};
use crate::cli::output::{Failure, Ui, visible};
use crate::format::age;
use crate::load::names::{NameError, choose};
use crate::load::{LoadError, read_header};
use crate::ops::list::{Listed, display_title, read_alone};
use crate::session::paths::{below_home, is_windows};
use foldhash::HashSet;
use pisess_store::{self as store, FoundFile, FoundFiles, Glance, Reach, Trouble};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The sessions that arguments refer to; none has been read yet.
#[derive(Debug)]
pub struct FoundSessions {
    /// Their files; `-` is one of them.
    pub files: Vec<FoundFile>,
    /// Why arguments were not found, or directories could not be searched.
    pub failures: Vec<Failure>,
    /// Where they were found.
    pub scope: Scope,
}

/// Returns the sessions that paths, names and `--all` refer to. Reports directories below these
/// that cannot be searched.
pub fn sessions(places: &Places, paths: &[PathBuf], all: bool, ui: &mut Ui) -> FoundSessions {
    let scope = match (paths, all) {
        (_, true) => Scope::All,
        ([], false) => Scope::Here,
        _ => return named_by(paths, Reach::Whole, false, ui),
    };
    let FoundFiles {
        files, troubles, ..
    } = places.find(&scope);
    for trouble in &troubles {
        ui.warn(&trouble.text);
    }
    FoundSessions {
        files,
        failures: Vec::new(),
        scope,
    }
}

/// Returns the sessions that arguments name: by file, name or directory. Reports the directories
/// whose subdirectories are not searched.
pub fn expanded(arguments: &[PathBuf], reach: Reach, ui: &mut Ui) -> FoundSessions {
    named_by(arguments, reach, true, ui)
}

/// Returns the sessions that arguments name, and why other arguments name none. `is_strict` sets
/// whether a subdirectory that cannot be searched is a failure or only reported.
fn named_by(arguments: &[PathBuf], reach: Reach, is_strict: bool, ui: &mut Ui) -> FoundSessions {
    let mut paths = Vec::new();
    let mut streams = Vec::new();
    let mut failed = Vec::new();
    for argument in arguments {
        match named(argument, ui) {
            Ok(path) if path == Path::new("-") => streams.push(path),
            Ok(path) => paths.push(path),
            Err(failure) => failed.push(failure.path(argument.to_string_lossy())),
        }
    }
    let mut found = store::find(&paths, reach);
    if reach == Reach::Whole
        && let Some(files) = of_projects(&paths, &found.files, ui)
    {
        paths = files.iter().map(|file| file.path.clone()).collect();
        found.files = files;
    }
    failed.extend(failures(found.troubles, is_strict, ui));
    if found.files.is_empty() && failed.is_empty() && (streams.is_empty() || !paths.is_empty()) {
        warn_of_none(&paths, reach, ui);
    }
    for folder in found.shallow {
        ui.warn(&format!(
            "{}: subdirectories are left out (hint: -r includes them)",
            folder.display()
        ));
    }
    let mut files: Vec<_> = streams
        .into_iter()
        .map(|path| FoundFile {
            path,
            owner: None,
            named: true,
        })
        .collect();
    files.extend(found.files);
    FoundSessions {
        files,
        failures: failed,
        scope: Scope::Paths(paths),
    }
}

/// Returns the failures for the paths that a search could not read; only notes are printed for
/// those below them, unless `is_strict` is set.
pub fn failures(troubles: Vec<Trouble>, is_strict: bool, ui: &mut Ui) -> Vec<Failure> {
    let mut failures = Vec::new();
    for trouble in troubles {
        match trouble.error {
            Some(error) if trouble.named || is_strict => failures.push(error.into()),
            _ => ui.warn(&trouble.text),
        }
    }
    failures
}

/// Returns the sessions in the stores that belong to directories, if these are projects, and none
/// of the files `found` in them is a session. Reports them: a directory in an argument otherwise
/// means the files in it.
fn of_projects(folders: &[PathBuf], found: &[FoundFile], ui: &mut Ui) -> Option<Vec<FoundFile>> {
    if found
        .iter()
        .any(|file| file.named || may_be_session(&file.path))
    {
        return None;
    }
    let mut files = Vec::new();
    for folder in folders.iter().filter(|path| path.is_dir()) {
        let found = Places::seen_from(&ui.absolute(folder), ui)
            .find(&Scope::Here)
            .files;
        if !found.is_empty() {
            ui.warn(&format!(
                "{}: the sessions of this project, from the agents' stores",
                folder.display()
            ));
        }
        files.extend(found);
    }
    Some(files).filter(|files| !files.is_empty())
}

/// Whether a file is a session, or cannot be read, so that this is unknown.
fn may_be_session(path: &Path) -> bool {
    let is_other = |file: Glance| matches!(read_header(&file), Err(LoadError::NotASession { .. }));
    !Glance::open(path).is_ok_and(is_other)
}

/// Reports that directories contain no sessions and, for what searches the stores as well, are no
/// projects with sessions.
fn warn_of_none(folders: &[PathBuf], reach: Reach, ui: &mut Ui) {
    let (mut place, mut projects) = (String::new(), Vec::new());
    if let ([folder], Reach::Whole) = (folders, reach) {
        place = format!(
            " in {}, and no sessions of that directory in the stores",
            folder.display()
        );
        projects = projects_in(folder, ui);
    }
    let hint = if projects.is_empty() {
        "`pisess list --all` lists the sessions of all projects".to_owned()
    } else {
        format!("projects in it that have sessions: {}", projects.join(", "))
    };
    ui.warn(&format!("no *.jsonl files found{place} (hint: {hint})"));
}

/// Returns the first few projects in a directory that have sessions in the stores.
fn projects_in(folder: &Path, ui: &Ui) -> Vec<String> {
    const MOST: usize = 3;

    let folder = ui.absolute(folder);
    let places = Places::of(ui);
    let mut projects = BTreeSet::new();
    for file in places.find(&Scope::All).files {
        if file.owner.is_none()
            && let Some(cwd) = places.cwd(&file.path)
            && cwd.starts_with(&folder)
        {
            projects.insert(cwd);
        }
    }

    let home = ui.home();
    let mut shown = Vec::new();
    for cwd in projects.iter().take(MOST) {
        shown.push(visible(&below_home(
            &cwd.to_string_lossy(),
            home.as_deref(),
        )));
    }
    if projects.len() > MOST {
        shown.push(format!("and {} more", projects.len() - MOST));
    }
    shown
}

/// Returns the path of a session argument: `-`, an existing path, or else a name, whose session is
/// at another path. An argument in the form of a path is never a name.
///
/// # Errors
/// If it is a name that matches no session, or several.
pub fn named(argument: &Path, ui: &Ui) -> Result<PathBuf, Failure> {
    match name_in(argument) {
        Some(name) => Places::of(ui)
            .named(name)
            .map_err(|error| unknown(error, ui)),
        None => Ok(argument.to_owned()),
    }
}

/// Whether a session that arguments name was found by its name: no argument is its path, or a
/// directory above it.
pub fn is_by_name(arguments: &[PathBuf], session: &Path) -> bool {
    !arguments
        .iter()
        .any(|argument| session.starts_with(argument))
}

/// Returns an argument that is a name: no existing path, and not in the form of one.
pub fn name_in(argument: &Path) -> Option<&str> {
    let is_name = |name: &&str| !is_spelled_as_path(name) && argument.symlink_metadata().is_err();
    argument.to_str().filter(is_name)
}

/// Whether an argument can only be a path.
fn is_spelled_as_path(name: &str) -> bool {
    let starts = ["/", "./", "../", "~/", "\\", ".\\", "..\\", "~\\"];
    let is_begun =
        starts.iter().any(|start| name.starts_with(start)) || is_windows(name.as_bytes());
    matches!(name, "" | "-" | "." | "..") || is_begun || name.ends_with(".jsonl")
}

fn unknown(error: NameError, ui: &Ui) -> Failure {
    let mut failure = Failure::cannot(&error).hint(error.hint());
    match error {
        NameError::Unknown { name, near } if near.is_empty() && is_archived(&name, ui) => failure
            .hint(format!(
                "it is archived: `pisess archive --restore {name}` moves it back to its store"
            )),
        NameError::Unknown { .. } => {
            failure.is_missing = true;
            failure
        }
        NameError::Ambiguous {
            candidates,
            sessions,
            ..
        } => {
            let more = sessions.saturating_sub(candidates.len());
            let more = (more > 0).then(|| format!("and {more} more"));
            let ids: HashSet<_> = candidates.iter().map(|(id, _)| id).collect();
            // Copies of a session are told apart by their paths.
            let has_copies = ids.len() < candidates.len();
            let mut rows: Vec<_> = candidates
                .iter()
                .map(|(id, path)| candidate(id, path, has_copies, ui))
                .collect();
            rows.sort_by_key(|&(modified, _)| Reverse(modified));
            failure.details(rows.into_iter().map(|(_, row)| row).chain(more).collect())
        }
        NameError::NoLast { .. } => failure,
    }
}

/// Whether the name or id is that of one archived session.
fn is_archived(name: &str, ui: &Ui) -> bool {
    let archives = Places::of(ui).archived(true).unwrap_or_default();
    let known = archives
        .into_iter()
        .filter_map(|path| Some(facts(&path)?.known(path)));
    choose(name, [known.collect()]).is_ok()
}

/// Returns a row for a session that a name may refer to, with the facts that `list` shows, and its
/// path if requested; and the time by which `list` sorts it.
fn candidate(id: &str, path: &Path, with_path: bool, ui: &Ui) -> (Option<i64>, String) {
    let home = ui.home();
    let shown_path = below_home(&path.to_string_lossy(), home.as_deref());
    let Some(session) = read_for_list(path) else {
        return (None, format!("{id}  {shown_path}"));
    };

    let now_ms = match Ids::new(ui) {
        Ok(ids) => ids.now_ms(ui),
        Err(_) => (ui.world.now_ms)(),
    };
    let age = age(now_ms, session.modified);
    let project = below_home(&session.cwd.to_string_lossy(), home.as_deref());
    let last = if with_path {
        shown_path
    } else {
        display_title(&session.title(), session.messages)
    };
    let row = format!("{age:>6}  {id}  {project}  {last}");
    (Some(session.modified), row)
}

/// Reads a session as it is listed; `None` if it cannot be read.
fn read_for_list(path: &Path) -> Option<Listed> {
    let file = Glance::open(path).ok()?;
    read_alone(path, &file, file.modified_ms()).ok()
}

/// Refuses to change all sessions below a directory that is too far up: the root, a home directory,
/// or any directory above an agent's store.
fn refuse_sweep(folder: &Path, ui: &Ui) -> Result<(), Failure> {
    let real = ui.absolute(folder);
    let home = ui.home().map(|home| ui.absolute(Path::new(&home)));
    let stores: Vec<_> = Places::of(ui)
        .roots()
        .iter()
        .map(|root| ui.absolute(root))
        .collect();
    let is_above_store = stores
        .iter()
        .any(|store| *store != real && store.starts_with(&real));
    let has_agent = |agent: &str| real.join(agent).join("agent").is_dir();

    let what = if real.parent().is_none() {
        "the root directory"
    } else if home.is_some_and(|home| home.starts_with(&real)) {
        "the home directory, or above it"
    } else if has_agent(".pi") || has_agent(".omp") {
        "a home directory"
    } else if is_above_store {
        "above an agent's store"
    } else {
        return Ok(());
    };
    Err(Failure::cannot(format_args!(
        "-r would change every session below {}, which is {what}",
        folder.display()
    ))
    .hint("list them with -n; name a directory further down, or use --force"))
}

/// Returns how far a change reaches below the directories in its arguments. Refuses it as
/// [`refuse_sweep`] does.
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
    Ok(if recursive {
        Reach::Visible
    } else {
        Reach::Own
    })
}

/// Printed if a plan contains sessions that the change itself would leave out.
pub const NEEDS_RECURSION: &str =
    "some of these are in subdirectories, which need -r to be changed";

/// Whether a session is in a subdirectory of a directory in the arguments.
pub fn is_below(arguments: &[PathBuf], session: &Path) -> bool {
    let is_deep = |folder: &PathBuf| session != folder && session.parent() != Some(folder);
    arguments
        .iter()
        .any(|folder| session.starts_with(folder) && is_deep(folder))
}
