//! Removes `--all` from a command line whose sessions are directories.

use super::LineParser;
use crate::cli::output::Ui;
use std::ffi::OsString;
use std::path::Path;

/// Returns the command line without `--all` if all given sessions are directories: `--all`
/// conflicts with given sessions. A directory is searched at any depth, so the user means all
/// sessions in it. `None` if the command line is wrong in another way.
pub fn without_redundant_all(
    args: &[OsString],
    parser: &LineParser,
    ui: &Ui,
) -> Option<Vec<OsString>> {
    let partial = (parser.parse_partly)(args)?;
    // The error is that the command has no such argument, the `None` that it is not given.
    let mut paths = partial.matches.try_get_raw("paths").ok()??;
    if !paths.all(|path| ui.resolve_path(Path::new(path)).is_dir()) {
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
