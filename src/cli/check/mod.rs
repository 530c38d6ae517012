//! What `check` prints, and its repair.

mod report;

mod repair;

pub use repair::repair;
pub use report::Report;

use super::open::Input;
use super::output::Failure;
use crate::load::Options;
use crate::ops::check::{Checkup, check};

/// Checks a session with this number of threads.
pub fn checked(input: &Input, workers: usize) -> Result<Checkup<'_>, Failure> {
    check(
        input.source(),
        &Options {
            workers,
            ..Options::default()
        },
    )
    .map_err(|error| Failure::load(&input.name, error))
}
