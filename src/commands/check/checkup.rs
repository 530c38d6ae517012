//! What `check` prints, and its repair.

use super::cwd::CwdSources;
use crate::cli::open::Input;
use crate::cli::output::Failure;
use crate::load::Options;
use crate::ops::check::{Checkup, Place, check};

/// Checks a session with this number of threads. `cwd` is for one whose header is missing.
pub fn checked<'i>(
    input: &'i Input,
    workers: usize,
    cwd: &CwdSources,
) -> Result<Checkup<'i>, Failure> {
    let options = Options {
        workers,
        ..Options::default()
    };
    let find_cwd = || cwd.find(input.file()?.path());
    let place = Place {
        name: name_of(input),
        find_cwd: Some(&find_cwd),
    };
    check(input.source(), &options, &place).map_err(|error| Failure::load(&input.name, error))
}

/// Returns the name of the session's file, without `.jsonl`.
fn name_of(input: &Input) -> Option<String> {
    let name = input.file()?.path().file_name()?.to_str()?;
    Some(name.strip_suffix(".jsonl").unwrap_or(name).to_owned())
}
