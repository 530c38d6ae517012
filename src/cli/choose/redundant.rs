//! Removes `--all` from a command line that names sessions or directories.

use super::LineParser;
use crate::cli::named::is_session_id;
use crate::cli::output::Ui;
use std::ffi::OsString;
use std::path::Path;

/// Returns the command line without `--all`, which conflicts with given sessions, if all of these
/// are directories or ids. A directory is searched at any depth, so the user means all sessions in
/// it. Any other word may be a part of a pattern. `None` if the command line is wrong in another
/// way.
pub fn without_redundant_all(
    args: &[OsString],
    parser: &LineParser,
    ui: &Ui,
) -> Option<Vec<OsString>> {
    let partial = (parser.parse_partly)(args)?;
    // The error is that the command has no such argument, the `None` that it is not given.
    let mut paths = partial.matches.try_get_raw("paths").ok()??;
    let is_redundant = paths.all(|path| {
        let is_id = path.to_str().is_some_and(|name| is_session_id(name, ui));
        is_id || ui.resolve_path(Path::new(path)).is_dir()
    });
    if !is_redundant {
        return None;
    }

    let mut line = args.to_vec();
    let place = line.iter().position(|arg| arg == "--all" || arg == "-a")?;
    line.remove(place);
    match (parser.check)(&line) {
        Ok(_) => Some(line),
        Err(_) => None,
    }
}
