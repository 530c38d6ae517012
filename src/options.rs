//! Options that commands share. The command line itself is defined in `commands/mod.rs`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Options of every command.
#[derive(Args, Clone, Debug)]
pub struct GlobalArgs {
    /// Colour the output: always, never, or auto: on a terminal unless NO_COLOR is set
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true,
        help_heading = "Common options"
    )]
    pub color: ColorChoice,
    /// Print no notes, only errors
    #[arg(short, long, global = true, help_heading = "Common options")]
    pub quiet: bool,
}

impl Default for GlobalArgs {
    fn default() -> Self {
        GlobalArgs { color: ColorChoice::Auto, quiet: false }
    }
}

/// When to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// In any case.
    Always,
    /// Never.
    Never,
}

/// Options of every command that changes a session.
#[derive(Args, Clone, Debug)]
pub struct WriteArgs {
    /// Write the result to PATH (- is standard output), not to the session
    #[arg(short, long, value_name = "PATH", help_heading = "Writing")]
    pub output: Option<PathBuf>,
    /// Write nothing, print what would be written
    #[arg(short = 'n', long, help_heading = "Writing")]
    pub dry_run: bool,
    /// Override refusals, such as overwriting an existing output
    #[arg(long, help_heading = "Writing")]
    pub force: bool,
    /// Seconds to wait for the session's lock
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = seconds, help_heading = "Writing")]
    pub wait: f64,
    /// Print the result as JSON (with -n, the plan)
    #[arg(long)]
    pub json: bool,
}

/// Parses seconds, zero or more.
pub fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=1e9).contains(&seconds) => Ok(seconds),
        _ => Err("a number of seconds, zero or more".to_owned()),
    }
}
