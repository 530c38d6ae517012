//! What `check` prints, and its repair.

mod report;

mod repair;

pub use repair::repair;
pub use report::Report;

use super::open::Input;
use super::output::Failure;
use crate::load::Options;
use crate::ops::check::{Checkup, check};

pub fn checked<'a>(input: &'a Input, options: &Options) -> Result<Checkup<'a>, Failure> {
    check(input.source(), options).map_err(|error| Failure::load(&input.name, error))
}
