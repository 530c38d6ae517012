//! The one definition of the command line. Man pages, completions and help come from it.

use crate::commands;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Print, check and edit the conversation tree in session files of the pi coding agents.
#[derive(Debug, Parser)]
#[command(name = "pisess", version, about, propagate_version = true)]
#[command(arg_required_else_help = true, infer_long_args = true)]
#[command(after_help = EXIT_CODES, after_long_help = LONG_HELP)]
pub struct Cli {
    /// How to talk.
    #[command(flatten)]
    pub talk: Talk,
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// Options of every command.
#[derive(Args, Clone, Debug)]
pub struct Talk {
    /// Colour the output: auto does so on a terminal unless NO_COLOR is set
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", help_heading = "Common options")]
    pub color: ColorChoice,
    /// Say nothing on standard error but errors
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

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Bring session files to version 3
    Migrate(commands::migrate::Args),
    /// Draw the tree of a session
    Tree(commands::tree::Args),
    /// List the entries from the root to an entry
    Path(commands::path::Args),
    /// Name an entry, take its name off, or list the names
    Label(commands::label::Args),
    /// Make a new session from a path of another
    Fork(commands::fork::Args),
    /// Replace the older part of the context by a summary
    Compact(commands::compact::Args),
    /// Leave a branch for another place, with a summary of what is left
    Summarize(commands::summarize::Args),
    /// Print what the model would see
    Context(commands::context::Args),
    /// Tell what is wrong with session files, and repair it
    Check(commands::check::Args),
}

/// Options of every command that changes a session.
#[derive(Args, Clone, Debug)]
pub struct Write {
    /// Write the result to PATH ("-" for standard output) and leave the session alone
    #[arg(short, long, value_name = "PATH", help_heading = "Writing")]
    pub output: Option<PathBuf>,
    /// Write nothing; print what would be done
    #[arg(short = 'n', long, help_heading = "Writing")]
    pub dry_run: bool,
    /// Replace an existing output; write in spite of what is refused otherwise
    #[arg(long, help_heading = "Writing")]
    pub force: bool,
    /// Seconds to wait for another process that holds the session
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = seconds, help_heading = "Writing")]
    pub wait: f64,
    /// Print JSON
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

/// The exit codes, as `--help` and the man pages tell them.
pub const EXIT_CODES: &str = "\
Exit codes:
  0  done, or already so
  1  the answer is no, or something was found
  2  cannot: usage, unreadable or invalid input, unknown reference, I/O
  3  busy: the session is locked, or was changed meanwhile";

/// The forms of a reference, as the long help and the man page tell them.
pub const REFERENCES: &str = "\
Entries are named by references, wherever REF stands:
  @           the leaf, where the conversation stands
  root        before the first entry
  :12         the entry on line 12 of the file
  id:X        the entry with id X
  label:X     the entry labelled X
  X           an id, else a label, else the start of an id (4 characters or more)
  REF^        the parent; REF~3 the third ancestor
  REF^{user}  the nearest entry of that kind at or above REF: a role or an entry type";

const LONG_HELP: &str = "\
Entries are named by references, wherever REF stands:
  @           the leaf, where the conversation stands
  root        before the first entry
  :12         the entry on line 12 of the file
  id:X        the entry with id X
  label:X     the entry labelled X
  X           an id, else a label, else the start of an id (4 characters or more)
  REF^        the parent; REF~3 the third ancestor
  REF^{user}  the nearest entry of that kind at or above REF: a role or an entry type

A session is a path, or - for standard input.

Exit codes:
  0  done, or already so
  1  the answer is no, or something was found
  2  cannot: usage, unreadable or invalid input, unknown reference, I/O
  3  busy: the session is locked, or was changed meanwhile";

/// The command line as clap knows it, for man pages and completions.
pub fn command() -> clap::Command {
    <Cli as clap::CommandFactory>::command()
}
