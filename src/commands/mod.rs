//! Arguments → core → print. One file a command; what they share stands beside them.

pub mod append;
pub mod branches;
pub mod check;
pub mod compact;
pub mod context;
pub mod edit;
pub mod fork;
pub mod label;
pub mod merge;
pub mod migrate;
pub mod path;
pub mod pick;
pub mod pop;
pub mod show;
pub mod summarize;
pub mod switch;
pub mod tree;

mod clock;
mod exchange;
mod external;
mod failure;
mod hook;
mod input;
mod interrupt;
mod mint;
mod moving;
mod output;
mod shell;
mod summary;
mod visible;
mod workers;
mod write;

use crate::cli::{Cli, Verb};
use crate::world::World;
use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
pub use failure::{Exit, Failure};
use std::ffi::OsString;

/// Where to look for commands.
const LOOK: &str = "see `pisess --help`";

/// Runs one command line; its exit code. That of a program that is run for it may be any.
pub fn run(args: impl IntoIterator<Item = OsString>, world: &mut World) -> u8 {
    let done = match Cli::try_parse_from(args) {
        Ok(cli) => dispatch(cli, world),
        Err(error) => usage(&error, world),
    };
    done.unwrap_or_else(|failure| failure.report(world).code())
}

fn dispatch(cli: Cli, world: &mut World) -> Result<u8, Failure> {
    let talk = &cli.talk;
    let verb = match (cli.list, cli.verb) {
        (true, None) => return external::list(world).map(Exit::code),
        (true, Some(_)) => return Err(Failure::cannot("--list takes no command").hint(LOOK)),
        (false, None) => return Err(Failure::cannot("no command is given").hint(LOOK)),
        (false, Some(verb)) => verb,
    };
    let exit = match verb {
        Verb::Migrate(args) => migrate::run(&args, talk, world),
        Verb::Tree(args) => tree::run(&args, talk, world),
        Verb::Path(args) => path::run(&args, talk, world),
        Verb::Show(args) => show::run(&args, talk, world),
        Verb::Label(args) => label::run(&args, talk, world),
        Verb::Append(args) => append::run(args, talk, world),
        Verb::Edit(args) => edit::run(&args, talk, world),
        Verb::Pick(args) => pick::run(&args, talk, world),
        Verb::Fork(args) => fork::run(&args, talk, world),
        Verb::Compact(args) => compact::run(&args, talk, world),
        Verb::Summarize(args) => summarize::run(&args, talk, world),
        Verb::Merge(args) => merge::run(&args, talk, world),
        Verb::Branches(args) => branches::run(&args, talk, world),
        Verb::Switch(args) => switch::run(&args, talk, world),
        Verb::Pop(args) => pop::run(&args, talk, world),
        Verb::Context(args) => context::run(&args, talk, world),
        Verb::Check(args) => check::run(&args, talk, world),
        Verb::External(words) => return external::run(&words, world),
    }?;
    world.stdout.flush().map(|()| exit.code()).map_err(Failure::output)
}

/// Help and version are data; anything else that clap says is talk.
fn usage(error: &clap::Error, world: &mut World) -> Result<u8, Failure> {
    // `help NAME` of a command that is a program's.
    if let (ErrorKind::InvalidSubcommand, Some(ContextValue::String(name))) =
        (error.kind(), error.get(ContextKind::InvalidSubcommand))
    {
        return external::run(&[name.into(), "--help".into()], world);
    }
    let text = error.render();
    let asked = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    if asked {
        let text = if world.terminals.stdout && (world.env)("NO_COLOR").is_none_or(|no| no.is_empty()) {
            text.ansi().to_string()
        } else {
            text.to_string()
        };
        world.stdout.write_all(text.as_bytes()).map_err(Failure::output)?;
        world.stdout.flush().map_err(Failure::output)?;
        return Ok(Exit::Done.code());
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let _ = world.stderr.write_all(text.to_string().as_bytes());
        return Ok(Exit::Cannot.code());
    }
    // Like every error it is one line; an argument may hold anything, so it is made visible.
    let _ = writeln!(world.stderr, "pisess: {}", visible::visible(&one_line(&text.to_string())));
    Ok(Exit::Cannot.code())
}

/// What clap says, without its layout: the message, then its tips and where to look as the hint.
fn one_line(text: &str) -> String {
    let said = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("For more information"));
    let (usage, told): (Vec<_>, Vec<_>) = said.partition(|line| line.starts_with("Usage:"));
    let (tips, told): (Vec<_>, Vec<_>) = told.into_iter().partition(|line| line.starts_with("tip:"));
    let message = told.join(" ");
    let tips = tips.iter().map(|tip| tip.trim_start_matches("tip:").trim());
    // `Usage: pisess tree [OPTIONS] <SESSION>` names the command.
    let words = usage.first().map(|usage| usage.trim_start_matches("Usage:").split_whitespace().take(2));
    let command = words.into_iter().flatten().filter(|word| !word.starts_with(['[', '<', '-']));
    let command = Some(command.collect::<Vec<_>>().join(" ")).filter(|command| !command.is_empty());
    let look = format!("see `{} --help`", command.as_deref().unwrap_or("pisess"));
    let hint = tips.map(str::to_owned).chain([look]).collect::<Vec<_>>().join("; ");
    format!("{} (hint: {hint})", message.trim_start_matches("error:").trim())
}
