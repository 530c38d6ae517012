//! The command line: arguments → core → print. Each command has its own file. These are declared last, after
//! the modules that commands share; a module uses only modules declared above it.

mod places;

mod input;

mod given;
mod interrupt;
mod redaction;

mod exchange;
mod group;
mod shell;

mod hook;
mod summary;

mod ids;
mod since;
mod transaction;

mod label_name;
mod navigation;
mod renderer;

mod age;
mod amounts;
mod entry_rows;
mod hunk_rows;
mod tables;

mod label_list;
mod list_rows;
mod tree_rows;

mod sessions;

mod external;
mod hints;

pub mod append;
pub mod branches;
pub mod check;
pub mod compact;
pub mod completions;
pub mod context;
pub mod diff;
pub mod edit;
pub mod export;
pub mod fork;
pub mod grep;
pub mod label;
pub mod list;
pub mod merge;
pub mod migrate;
pub mod path;
pub mod pick;
pub mod pop;
pub mod prune;
pub mod redact;
pub mod relocate;
pub mod show;
pub mod stats;
pub mod summarize;
pub mod switch;
pub mod tree;

use crate::guide::{self, Guide};
use crate::options::GlobalArgs;
use crate::ui::{Exit, Failure, Ui};
use crate::world::World;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Parser, Subcommand};
use std::ffi::OsString;

/// The version with the target and, in release builds, the commit; see `build.rs`.
const LONG_VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("PISESS_BUILD"), ")");

/// Print, check and edit the conversation tree in session files of the pi coding agents.
#[derive(Debug, Parser)]
#[command(name = "pisess", version, long_version = LONG_VERSION, about)]
#[command(arg_required_else_help = true, infer_long_args = true)]
#[command(override_usage = "pisess [OPTIONS] <COMMAND>")]
#[command(after_help = guide::short_help(), after_long_help = guide::help())]
struct Cli {
    /// Options of every command.
    #[command(flatten)]
    global: GlobalArgs,
    /// List all commands, including programs on your PATH
    #[arg(long)]
    list: bool,
    /// The command.
    #[command(subcommand)]
    verb: Option<Verb>,
}

/// The commands. Each is documented at its `Args`.
#[derive(Debug, Subcommand)]
enum Verb {
    Tree(tree::Args),
    Path(path::Args),
    Show(show::Args),
    Branches(branches::Args),
    Context(context::Args),
    Diff(diff::Args),
    List(list::Args),
    Grep(grep::Args),
    Stats(stats::Args),
    Switch(switch::Args),
    Pop(pop::Args),
    #[command(alias = "summarise")]
    Summarize(summarize::Args),
    Merge(merge::Args),
    Fork(fork::Args),
    Pick(pick::Args),
    Label(label::Args),
    Append(append::Args),
    Edit(edit::Args),
    Compact(compact::Args),
    Prune(prune::Args),
    Export(export::Args),
    Redact(redact::Args),
    Relocate(relocate::Args),
    Migrate(migrate::Args),
    Check(check::Args),
    Completions(completions::Args),
    /// A program `pisess-NAME`: the name followed by its arguments.
    #[command(external_subcommand)]
    External(Vec<OsString>),
}

/// The guides of all commands, in the order of `--help`.
pub const GUIDES: [Guide; 26] = [
    tree::GUIDE,
    path::GUIDE,
    show::GUIDE,
    branches::GUIDE,
    context::GUIDE,
    diff::GUIDE,
    list::GUIDE,
    grep::GUIDE,
    stats::GUIDE,
    switch::GUIDE,
    pop::GUIDE,
    summarize::GUIDE,
    merge::GUIDE,
    fork::GUIDE,
    pick::GUIDE,
    label::GUIDE,
    append::GUIDE,
    edit::GUIDE,
    compact::GUIDE,
    prune::GUIDE,
    export::GUIDE,
    redact::GUIDE,
    relocate::GUIDE,
    migrate::GUIDE,
    check::GUIDE,
    completions::GUIDE,
];

/// Returns the command line as clap knows it, for man pages and completions.
pub fn command() -> clap::Command {
    <Cli as clap::CommandFactory>::command()
}

/// Returns the completion script of each shell, by the name of the file in which a package installs it.
pub fn completion_scripts() -> impl Iterator<Item = (&'static str, &'static str)> {
    completions::Shell::ALL.into_iter().map(|shell| (shell.file_name(), shell.script()))
}

/// Runs one command line and returns its exit code. That of another program may have any value.
pub fn run(args: impl IntoIterator<Item = OsString>, world: World) -> u8 {
    let args: Vec<_> = args.into_iter().collect();
    let mut ui = Ui::new(world, wants_json(&args));
    let done = match Cli::try_parse_from(&args) {
        Ok(cli) => dispatch(cli, &mut ui).map_err(|failure| hints::with_session_first(failure, &args)),
        Err(error) => usage(&error, &args, &mut ui),
    };
    done.unwrap_or_else(|failure| ui.report(&failure).code())
}

/// Whether errors are printed as JSON. Determined before the command line is parsed, because parsing may
/// fail.
fn wants_json(args: &[OsString]) -> bool {
    args.iter().take_while(|arg| *arg != "--").any(|arg| arg == "--json")
}

fn dispatch(cli: Cli, ui: &mut Ui) -> Result<u8, Failure> {
    ui.configure(&cli.global);
    let verb = match (cli.list, cli.verb) {
        (true, None) => {
            let exit = external::list(command(), ui)?;
            return ui.flush().map(|()| exit.code());
        }
        (true, Some(_)) => return Err(Failure::usage("--list takes no command").hint(external::LOOK)),
        (false, None) => return Err(Failure::usage("no command given").hint(external::LOOK)),
        (false, Some(verb)) => verb,
    };
    let exit = match verb {
        Verb::Tree(args) => tree::run(&args, ui),
        Verb::Path(args) => path::run(&args, ui),
        Verb::Show(args) => show::run(&args, ui),
        Verb::Branches(args) => branches::run(&args, ui),
        Verb::Context(args) => context::run(&args, ui),
        Verb::Diff(args) => diff::run(&args, ui),
        Verb::List(args) => list::run(&args, ui),
        Verb::Grep(args) => grep::run(args, ui),
        Verb::Stats(args) => stats::run(&args, ui),
        Verb::Switch(args) => switch::run(&args, ui),
        Verb::Pop(args) => pop::run(&args, ui),
        Verb::Summarize(args) => summarize::run(&args, ui),
        Verb::Merge(args) => merge::run(&args, ui),
        Verb::Fork(args) => fork::run(&args, ui),
        Verb::Pick(args) => pick::run(&args, ui),
        Verb::Label(args) => label::run(&args, ui),
        Verb::Append(args) => append::run(args, ui),
        Verb::Edit(args) => edit::run(&args, ui),
        Verb::Compact(args) => compact::run(&args, ui),
        Verb::Prune(args) => prune::run(&args, ui),
        Verb::Export(args) => export::run(&args, ui),
        Verb::Redact(args) => redact::run(&args, ui),
        Verb::Relocate(args) => relocate::run(&args, ui),
        Verb::Migrate(args) => migrate::run(&args, ui),
        Verb::Check(args) => check::run(&args, ui),
        Verb::Completions(args) => completions::run(&args, ui),
        Verb::External(words) => return external::run(&words, command(), ui),
    }?;
    ui.flush().map(|()| exit.code())
}

/// Prints help and version as data, and reports anything else from clap as an error.
fn usage(error: &clap::Error, args: &[OsString], ui: &mut Ui) -> Result<u8, Failure> {
    // `help NAME`, where NAME is a topic, or a command provided by a program.
    if let (ErrorKind::InvalidSubcommand, Some(ContextValue::String(name))) =
        (error.kind(), error.get(ContextKind::InvalidSubcommand))
    {
        if let Some(topic) = guide::topic(name) {
            ui.print(&topic)?;
            return ui.flush().map(|()| Exit::Done.code());
        }
        return external::run(&[name.into(), "--help".into()], command(), ui);
    }
    let text = error.render();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            ui.print(&if ui.wants_colour() { text.ansi().to_string() } else { text.to_string() })?;
            ui.flush()?;
            Ok(Exit::Done.code())
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            ui.print_aside(&text.to_string());
            Ok(Exit::Cannot.code())
        }
        _ => Err(hints::usage(error, args, &command())),
    }
}
