//! Checks one session, for the report and for the repair.

use super::cwd::CwdSources;
use crate::cli::open::Input;
use crate::cli::output::Failure;
use crate::load::LoadOptions;
use crate::ops::check::{Checkup, SessionLocation, check_session};
use pisess_store::KeptContent;

/// Checks a session with `workers` threads. `cwd` are the sources of a working directory: if the
/// session's header is missing, a new header needs one.
pub fn check_input<'i>(
    input: &'i Input,
    workers: usize,
    cwd: &CwdSources,
) -> Result<Checkup<'i>, Failure> {
    let options = LoadOptions {
        workers,
        kept: KeptContent::SomeLines,
        ..LoadOptions::default()
    };
    let find_cwd = || cwd.find_cwd(input.file()?.path());
    let location = SessionLocation {
        name: session_name(input),
        find_cwd: Some(&find_cwd),
    };
    check_session(input.source(), &options, &location)
        .map_err(|error| Failure::from_load_error(&input.name, error))
}

/// Returns the name of the session's file, without `.jsonl`.
fn session_name(input: &Input) -> Option<String> {
    let name = input.file()?.path().file_name()?.to_str()?;
    Some(name.strip_suffix(".jsonl").unwrap_or(name).to_owned())
}
