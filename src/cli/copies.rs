//! Finds the two copies of one session, as two computers or a program such as Syncthing leave them.

use super::candidates::shown_path;
use super::locate::SessionStores;
use super::named::{name_argument, name_failure, suggest_sessions};
use super::open::Input;
use super::output::{Failure, Ui, to_visible};
use pisess_store::{self as store, Glance};
use std::cmp::Reverse;
use std::path::{Path, PathBuf};

/// Returns the two files of the session that the argument identifies, and reports them: first the
/// one that the argument alone identifies, or else the one that changed last.
///
/// # Errors
/// If there are not two. `only_one` makes the failure for a session that has no copy: to some
/// commands, that is a negative answer.
pub fn find_both_copies(
    session: &Path,
    only_one: fn(String) -> Failure,
    ui: &mut Ui,
) -> Result<[PathBuf; 2], Failure> {
    if session == Path::new("-") {
        return Err(Failure::usage_error("the other copy is not given")
            .with_hint("give it as the second SESSION"));
    }

    let copies = find_copies(session, ui)?;
    let [first, second] = &copies.paths[..] else {
        return Err(not_two_copies(&copies, only_one, ui));
    };
    ui.print_status(&format!(
        "the first copy is {}, the second {}",
        shown_path(first, ui),
        shown_path(second, ui)
    ));
    Ok([first.clone(), second.clone()])
}

/// The files of one session, found by a name that the user gave.
struct SessionCopies {
    id: String,
    /// All files with the id, each by one path: a file that the name alone identifies is first, and
    /// otherwise the one that changed last.
    paths: Vec<PathBuf>,
}

/// Returns all files of the session that an argument identifies, by its path, id or name. Several
/// files may match a name if all of them have the same id.
///
/// # Errors
/// If the argument identifies no session, or sessions with different ids.
fn find_copies(argument: &Path, ui: &Ui) -> Result<SessionCopies, Failure> {
    let stores = SessionStores::locate(ui);
    let found = match name_argument(argument) {
        Some(name) => stores.find_by_name(name),
        None => Ok(argument.to_owned()),
    };
    let error = match found {
        Ok(path) => {
            let id = read_id(&path, ui)?;
            let mut paths = copies_newest_first(&id, &stores);
            let own_path = ui.resolve_path(&path);
            paths.retain(|copy| !store::is_same(copy, &own_path));
            paths.insert(0, path);
            return Ok(SessionCopies { id, paths });
        }
        Err(error) => error,
    };
    let Some(id) = error.id_of_copies() else {
        let failure = name_failure(error, ui).with_path(argument.to_string_lossy());
        return Err(suggest_sessions(argument, failure, ui));
    };
    Ok(SessionCopies {
        id: id.to_owned(),
        paths: copies_newest_first(id, &stores),
    })
}

/// Returns the files in the stores with this session id, the one that changed last first.
fn copies_newest_first(id: &str, stores: &SessionStores) -> Vec<PathBuf> {
    let mut paths = stores.find_copies(id);
    paths.sort_by_cached_key(|path| Reverse(store::modified_ms(path)));
    paths
}

/// Returns the id of the session in a file, which may be compressed. Refuses a stream, because the
/// caller reads the session again.
fn read_id(path: &Path, ui: &Ui) -> Result<String, Failure> {
    // Fails for a stream.
    Glance::open(path)?;
    let input = Input::open_path(path, ui.stdout_predicate())?;
    Ok(input.read_header()?.id.to_string_lossy().into_owned())
}

/// Returns the failure for a session that has one file, or more than two.
fn not_two_copies(copies: &SessionCopies, only_one: fn(String) -> Failure, ui: &Ui) -> Failure {
    let id = to_visible(&copies.id);
    if let [only_path] = &copies.paths[..] {
        let path = shown_path(only_path, ui);
        let what = format!("{path}: the stores have no other session with the id {id}");
        return only_one(what);
    }
    let mut rows = Vec::new();
    for path in &copies.paths {
        rows.push(shown_path(path, ui));
    }
    Failure::invalid(format_args!("the session {id} has {} copies", rows.len()))
        .with_hint("give the paths of two of them")
        .with_details(rows)
}
