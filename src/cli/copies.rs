//! Finds the two copies of one session, as two computers or a program such as Syncthing leave them.

use super::candidates::shown_path;
use super::foreign::{resolve_argument_to_change, resolve_argument_to_read};
use super::locate::SessionStores;
use super::named::{name_argument, name_failure};
use super::open::Input;
use super::output::{Failure, Ui, to_visible};
use super::process::command_line::quote_word;
use super::rollouts::Rollouts;
use super::titled::find_by_title;
use pisess_store::{self as store, Glance, Reach};
use std::cmp::Reverse;
use std::path::{Path, PathBuf};

/// What a command does with the copies. This decides which arguments name them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum CopyAccess {
    /// It only reads them: they may be sessions of another agent.
    Read,
    /// It may append to the first one. With `-q`, words of a title do not name a session then.
    Append,
}

/// Returns the paths of two copies of a session, of which one may be given as a directory. The
/// directory is replaced by the session in it that has the id of the other argument's session, and
/// this session is reported. Without a directory, returns the arguments.
///
/// # Errors
/// If the directory has no such session, or several.
pub fn resolve_copy_in_folder(
    [first, second]: [&Path; 2],
    access: CopyAccess,
    ui: &mut Ui,
) -> Result<[PathBuf; 2], Failure> {
    // The id of a session on standard input is not known before it is read.
    let may_have_copy = |argument: &Path| !argument.is_dir() && argument != Path::new("-");
    if second.is_dir() && may_have_copy(first) {
        let session = resolve_session(first, access, ui)?;
        let copy = find_copy_in_folder(&session, second, access, ui)?;
        let shown = shown_path(&copy, ui);
        ui.print_status(&format!("the second copy is {shown}"));
        return Ok([session, copy]);
    }
    if first.is_dir() && may_have_copy(second) {
        let session = resolve_session(second, access, ui)?;
        let copy = find_copy_in_folder(&session, first, access, ui)?;
        let shown = shown_path(&copy, ui);
        ui.print_status(&format!("the first copy is {shown}"));
        return Ok([copy, session]);
    }
    Ok([first.to_owned(), second.to_owned()])
}

fn resolve_session(argument: &Path, access: CopyAccess, ui: &mut Ui) -> Result<PathBuf, Failure> {
    match access {
        CopyAccess::Read => resolve_argument_to_read(argument, ui),
        CopyAccess::Append => resolve_argument_to_change(argument, ui),
    }
}

/// Returns the files below a directory that may be sessions. Leaves out `session` itself, and what
/// a sub-agent or an advisor wrote.
fn find_other_sessions(session: &Path, folder: &Path, ui: &mut Ui) -> Vec<PathBuf> {
    let found = store::find(&[folder.to_owned()], Reach::Whole);
    for problem in &found.problems {
        ui.warn(&problem.text);
    }
    store::distinct_files(found.files, |file| &file.path)
        .into_iter()
        .filter(|file| file.owner.is_none() && !store::is_same(&file.path, session))
        .map(|file| file.path)
        .collect()
}

/// Returns the only file below a directory, other than `session` itself, that has the session's id.
fn find_copy_in_folder(
    session: &Path,
    folder: &Path,
    access: CopyAccess,
    ui: &mut Ui,
) -> Result<PathBuf, Failure> {
    // Lists the files of a Codex directory once.
    let rollouts = Rollouts::default();
    let id = read_id(session, access, &rollouts, ui)?;
    let mut others = Vec::new();
    let mut copies = Vec::new();
    for path in find_other_sessions(session, folder, ui) {
        // A file that cannot be read, or is no session, is not a copy.
        let Ok(other_id) = read_id(&path, access, &rollouts, ui) else {
            continue;
        };
        if other_id == id {
            copies.push(path);
        } else {
            others.push(path);
        }
    }

    let shown_folder = to_visible(&folder.to_string_lossy());
    let shown_session = shown_path(session, ui);
    match &copies[..] {
        [copy] => Ok(copy.clone()),
        [] => {
            let what = format_args!(
                "{shown_folder}: no session in it has the id of {shown_session}, {id}"
            );
            let hint = hint_for_no_copy(session, folder, &others, access);
            Err(Failure::invalid(what).with_hint(hint))
        }
        several => {
            let what = format_args!(
                "{shown_folder}: {} sessions in it have the id of {shown_session}",
                several.len()
            );
            let rows = several.iter().map(|copy| shown_path(copy, ui)).collect();
            Err(Failure::invalid(what)
                .with_hint("give the path of one")
                .with_details(rows))
        }
    }
}

/// Returns what to try if no session in a directory has the id of `session`. `others` are the
/// sessions in it. A command that only reads can compare two sessions with different ids.
fn hint_for_no_copy(
    session: &Path,
    folder: &Path,
    others: &[PathBuf],
    access: CopyAccess,
) -> String {
    if access == CopyAccess::Read
        && let [other] = others
    {
        let session = quote_word(session.as_os_str());
        let other = quote_word(other.as_os_str());
        return format!("`pisess diff {session} {other}` compares it with the only session there");
    }
    let folder = quote_word(folder.as_os_str());
    format!("`pisess list -l {folder}` prints the paths of its sessions")
}

/// The files of one session.
pub enum FilesOfSession {
    /// First the file that the argument alone identifies, or else the one that changed last.
    Both([PathBuf; 2]),
    /// The session has no copy. `message` says so.
    Only { path: PathBuf, message: String },
}

/// Returns the two files of the session that the argument identifies, and reports them; or its only
/// file.
///
/// # Errors
/// If there are more than two.
pub fn find_both_copies(
    session: &Path,
    access: CopyAccess,
    ui: &mut Ui,
) -> Result<FilesOfSession, Failure> {
    if session == Path::new("-") {
        return Err(Failure::usage_error("the other copy is not given")
            .with_hint("give it as the second SESSION"));
    }

    let copies = find_copies(session, access, ui)?;
    match &copies.paths[..] {
        [only] => {
            let path = shown_path(only, ui);
            let id = to_visible(&copies.id);
            Ok(FilesOfSession::Only {
                path: only.clone(),
                message: format!("{path}: the stores have no other session with the id {id}"),
            })
        }
        [first, second] => {
            ui.print_status(&format!(
                "the first copy is {}, the second {}",
                shown_path(first, ui),
                shown_path(second, ui)
            ));
            Ok(FilesOfSession::Both([first.clone(), second.clone()]))
        }
        _ => Err(too_many_copies(&copies, ui)),
    }
}

/// The files of one session, found by a name that the user gave.
struct SessionCopies {
    id: String,
    /// All files with the id, each by one path: a file that the name alone identifies is first, and
    /// otherwise the one that changed last.
    paths: Vec<PathBuf>,
}

impl SessionCopies {
    /// Returns the files in the stores with this session id, the one that changed last first.
    fn newest_first(id: String, stores: &SessionStores) -> SessionCopies {
        let paths = copies_newest_first(&id, stores);
        SessionCopies { id, paths }
    }
}

/// Returns all files of the session that an argument identifies, by its path, id or name, or as
/// `access` permits. Several files may match if all of them have the same id.
///
/// # Errors
/// If the argument identifies no session, or sessions with different ids.
fn find_copies(argument: &Path, access: CopyAccess, ui: &mut Ui) -> Result<SessionCopies, Failure> {
    let Some(name) = name_argument(argument) else {
        return copies_of_argument(argument, access, ui);
    };
    let stores = SessionStores::locate(ui);
    let found = stores.find_by_name(name);
    if ui.sources.is_some() && (name == "last" || found.is_ok()) {
        // `--source` decides which session `last` is, and refuses those of other agents.
        return copies_of_argument(argument, access, ui);
    }
    let error = match found {
        Ok(path) => return copies_of_file(path, access, ui),
        Err(error) => error,
    };

    // If several sessions have the name, they may be copies: all of them have the same id.
    if let Some(id) = error.id_of_copies() {
        return Ok(SessionCopies::newest_first(id.to_owned(), &stores));
    }
    let failure = name_failure(error, ui);
    let is_unknown_name = failure.is_missing_file;
    if !is_unknown_name {
        return Err(failure.with_path(argument.to_string_lossy()));
    }
    let takes_title = access == CopyAccess::Read || !ui.is_quiet();
    if takes_title && let Some(id) = id_of_titled_copies(name, ui) {
        return Ok(SessionCopies::newest_first(id, &stores));
    }
    // It may still be the id of a session of another agent, or the path of an unusual file.
    copies_of_argument(argument, access, ui)
}

/// Returns the files with the id of the session that an argument alone identifies.
fn copies_of_argument(
    argument: &Path,
    access: CopyAccess,
    ui: &mut Ui,
) -> Result<SessionCopies, Failure> {
    let path = resolve_session(argument, access, ui)?;
    copies_of_file(path, access, ui)
}

/// Returns the files with the id of the session in `path`, which is the first of them.
fn copies_of_file(path: PathBuf, access: CopyAccess, ui: &Ui) -> Result<SessionCopies, Failure> {
    let id = read_id(&path, access, &Rollouts::default(), ui)?;
    let mut paths = copies_newest_first(&id, &SessionStores::locate(ui));
    let own_path = ui.resolve_path(&path);
    paths.retain(|copy| !store::is_same(copy, &own_path));
    paths.insert(0, path);
    Ok(SessionCopies { id, paths })
}

/// Returns the id that all sessions have whose titles have these words. `None` if fewer than two
/// have them, or if their ids differ.
fn id_of_titled_copies(words: &str, ui: &Ui) -> Option<String> {
    let sessions = find_by_title(words, ui);
    let [first, others @ ..] = &sessions[..] else {
        return None;
    };
    let have_one_id = others.iter().all(|other| other.id == first.id);
    if others.is_empty() || !have_one_id {
        return None;
    }
    Some(first.id.to_string_lossy().into_owned())
}

/// Returns the files in the stores with this session id, the one that changed last first.
fn copies_newest_first(id: &str, stores: &SessionStores) -> Vec<PathBuf> {
    let mut paths = stores.find_copies(id);
    paths.sort_by_cached_key(|path| Reverse(store::modified_ms(path)));
    paths
}

/// Returns the id of the session in a file, which may be compressed. Refuses a stream, because the
/// caller reads the session again.
fn read_id(
    path: &Path,
    access: CopyAccess,
    rollouts: &Rollouts,
    ui: &Ui,
) -> Result<String, Failure> {
    // A `Glance` reads at offsets, so this fails for a stream.
    Glance::open(path)?;
    let is_stdout = ui.stdout_predicate();
    if access == CopyAccess::Append {
        let header = Input::open_path(path, is_stdout)?.read_header()?;
        return Ok(header.id.to_string_lossy().into_owned());
    }
    let all_entries = None;
    let input = Input::open_path_to_read(path, rollouts, all_entries, is_stdout)?;
    if let Some(head) = input.foreign {
        return Ok(head.id);
    }
    Ok(input.read_header()?.id.to_string_lossy().into_owned())
}

/// Returns the failure for a session that has more than two files.
fn too_many_copies(copies: &SessionCopies, ui: &Ui) -> Failure {
    let id = to_visible(&copies.id);
    let mut rows = Vec::new();
    for path in &copies.paths {
        rows.push(shown_path(path, ui));
    }
    Failure::invalid(format_args!("the session {id} has {} copies", rows.len()))
        .with_hint("give the paths of two of them")
        .with_details(rows)
}
