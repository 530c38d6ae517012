//! The one definition of the command line. Man pages, completions and help come from it.

use crate::{commands, guide};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// Print, check and edit the conversation tree in session files of the pi coding agents.
#[derive(Debug, Parser)]
#[command(name = "pisess", version, about)]
#[command(arg_required_else_help = true, infer_long_args = true)]
#[command(override_usage = "pisess [OPTIONS] <COMMAND>")]
#[command(after_help = guide::short_help(), after_long_help = guide::help())]
pub struct Cli {
    /// How to talk.
    #[command(flatten)]
    pub talk: Talk,
    /// List the commands, with those that programs on the PATH add
    #[arg(long)]
    pub list: bool,
    /// What to do.
    #[command(subcommand)]
    pub verb: Option<Verb>,
}

/// Options of every command.
#[derive(Args, Clone, Debug)]
pub struct Talk {
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

/// The commands. What each does is told at its arguments.
#[derive(Debug, Subcommand)]
pub enum Verb {
    Migrate(commands::migrate::Args),
    Tree(commands::tree::Args),
    Path(commands::path::Args),
    Show(commands::show::Args),
    Label(commands::label::Args),
    Append(commands::append::Args),
    Edit(commands::edit::Args),
    Pick(commands::pick::Args),
    Fork(commands::fork::Args),
    Compact(commands::compact::Args),
    #[command(alias = "summarise")]
    Summarize(commands::summarize::Args),
    Merge(commands::merge::Args),
    Branches(commands::branches::Args),
    Switch(commands::switch::Args),
    Pop(commands::pop::Args),
    Context(commands::context::Args),
    Export(commands::export::Args),
    Check(commands::check::Args),
    /// A program `pisess-NAME`: the name, then its arguments.
    #[command(external_subcommand)]
    External(Vec<OsString>),
}

/// Options of every command that changes a session.
#[derive(Args, Clone, Debug)]
pub struct Write {
    /// Write the result to PATH (- is standard output), not to the session
    #[arg(short, long, value_name = "PATH", help_heading = "Writing")]
    pub output: Option<PathBuf>,
    /// Write nothing, print what would be written
    #[arg(short = 'n', long, help_heading = "Writing")]
    pub dry_run: bool,
    /// Write what is refused otherwise, as onto an existing file
    #[arg(long, help_heading = "Writing")]
    pub force: bool,
    /// How long to wait for another process that holds the session
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = seconds, help_heading = "Writing")]
    pub wait: f64,
    /// Print JSON: what was written, or with -n what would be
    #[arg(long)]
    pub json: bool,
}

/// Seconds, zero or more.
pub fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=1e9).contains(&seconds) => Ok(seconds),
        _ => Err("a number of seconds, zero or more".to_owned()),
    }
}

/// The command line as clap knows it, for man pages and completions.
pub fn command() -> clap::Command {
    <Cli as clap::CommandFactory>::command()
}
