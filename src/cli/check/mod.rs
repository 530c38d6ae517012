//! What `check` prints, and its repair.

mod report;

mod repair;

pub use repair::repair;
pub use report::Report;

use super::open::Input;
use super::options::WriteArgs;
use super::output::Failure;
use crate::load::Options;
use crate::ops::check::{Checkup, check};

/// Options for repairs.
#[derive(Debug, clap::Args)]
pub struct RepairArgs {
    /// Apply unambiguous repairs; requires -o or --backup
    #[arg(long)]
    pub repair: bool,
    /// Keep the old file, with SUFFIX appended to its name (repairs in place)
    #[arg(long, value_name = "SUFFIX", num_args = 0..=1, require_equals = true, default_missing_value = ".bak", requires = "repair", conflicts_with = "output", help_heading = "Writing")]
    pub backup: Option<String>,
    /// Options for writing.
    #[command(flatten)]
    pub write: WriteArgs,
}

pub fn checked<'a>(input: &'a Input, options: &Options) -> Result<Checkup<'a>, Failure> {
    check(input.source(), options).map_err(|error| Failure::load(&input.name, error))
}
