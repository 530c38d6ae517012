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
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;

/// The version with the target and, in release builds, the commit; see `build.rs`.
const LONG_VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("PISESS_BUILD"), ")");

/// Print, check and edit the conversation tree in session files of the pi coding agents.
#[derive(Debug, Parser)]
#[command(name = "pisess", version, long_version = LONG_VERSION, about)]
#[command(arg_required_else_help = true, infer_long_args = true)]
#[command(override_usage = "pisess [OPTIONS] <COMMAND>")]
struct Cli {
    /// Options of every command.
    #[command(flatten)]
    global: GlobalArgs,
    /// List all commands, including programs on your PATH
    #[arg(long)]
    list: bool,
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

/// Adds the arguments of a command to its definition.
type Define = fn(clap::Command) -> clap::Command;

/// The definitions of all commands, for [`parse`].
const DEFINITIONS: [(&str, Define); 26] = [
    ("tree", tree::Args::augment_args),
    ("path", path::Args::augment_args),
    ("show", show::Args::augment_args),
    ("branches", branches::Args::augment_args),
    ("context", context::Args::augment_args),
    ("diff", diff::Args::augment_args),
    ("list", list::Args::augment_args),
    ("grep", grep::Args::augment_args),
    ("stats", stats::Args::augment_args),
    ("switch", switch::Args::augment_args),
    ("pop", pop::Args::augment_args),
    ("summarize", summarize::Args::augment_args),
    ("merge", merge::Args::augment_args),
    ("fork", fork::Args::augment_args),
    ("pick", pick::Args::augment_args),
    ("label", label::Args::augment_args),
    ("append", append::Args::augment_args),
    ("edit", edit::Args::augment_args),
    ("compact", compact::Args::augment_args),
    ("prune", prune::Args::augment_args),
    ("export", export::Args::augment_args),
    ("redact", redact::Args::augment_args),
    ("relocate", relocate::Args::augment_args),
    ("migrate", migrate::Args::augment_args),
    ("check", check::Args::augment_args),
    ("completions", completions::Args::augment_args),
];

/// Returns the command line as clap knows it, for man pages and completions.
pub fn command() -> clap::Command {
    // The later description, that of `Cli`, replaces that of `Verb`.
    let command = Cli::augment_args(Verb::augment_subcommands(clap::Command::new("pisess")));
    let command = command.after_help(guide::short_help()).after_long_help(guide::help());
    command.mut_subcommands(with_guide)
}

/// Adds its guide to the help of a command.
fn with_guide(verb: clap::Command) -> clap::Command {
    match GUIDES.iter().find(|guide| guide.verb == verb.get_name()) {
        Some(guide) => verb.after_long_help(guide.help()),
        None => verb,
    }
}

/// Returns the completion script of each shell, by the name of the file in which a package installs it.
pub fn completion_scripts() -> impl Iterator<Item = (&'static str, &'static str)> {
    completions::Shell::ALL.into_iter().map(|shell| (shell.file_name(), shell.script()))
}

/// Runs one command line and returns its exit code. That of another program may have any value.
pub fn run(args: impl IntoIterator<Item = OsString>, world: World) -> u8 {
    let args: Vec<_> = args.into_iter().collect();
    let mut ui = Ui::new(world, wants_json(&args));
    let done = match parse(&args) {
        Ok((cli, verb)) => {
            dispatch(&cli, verb, &mut ui).map_err(|failure| hints::with_session_first(failure, &args))
        }
        Err(error) => usage(&error, &args, &mut ui),
    };
    let code = done.unwrap_or_else(|failure| ui.report(&failure).code());
    ui.exit(code)
}

/// Whether errors are printed as JSON. Determined before the command line is parsed, because parsing may
/// fail.
fn wants_json(args: &[OsString]) -> bool {
    args.iter().take_while(|arg| *arg != "--").any(|arg| arg == "--json")
}

/// Parses the command line. Defining all commands takes longer than drawing a small session, so only the command that
/// is named is defined, without its guide. If parsing fails, all are defined, for messages and help.
fn parse(args: &[OsString]) -> Result<(Cli, Option<Verb>), clap::Error> {
    match named(args).map(|command| parse_with(command, args)) {
        Some(Ok(parsed)) => Ok(parsed),
        Some(Err(_)) | None => parse_with(command(), args),
    }
}

/// Returns the definition of the command line with one command: the first argument that is the name of one.
fn named(args: &[OsString]) -> Option<clap::Command> {
    let definition = |arg: &OsString| DEFINITIONS.iter().find(|(verb, _)| arg == verb);
    let (verb, define) = args.iter().skip(1).find_map(definition)?;
    Some(Cli::command().subcommand(define(clap::Command::new(*verb))))
}

fn parse_with(mut command: clap::Command, args: &[OsString]) -> Result<(Cli, Option<Verb>), clap::Error> {
    let matches = command.try_get_matches_from_mut(args)?;
    let verb = matches.subcommand_name().map(|_| Verb::from_arg_matches(&matches)).transpose();
    let parsed = verb.and_then(|verb| Ok((Cli::from_arg_matches(&matches)?, verb)));
    parsed.map_err(|error| error.format(&mut command))
}

fn dispatch(cli: &Cli, verb: Option<Verb>, ui: &mut Ui) -> Result<u8, Failure> {
    ui.configure(&cli.global);
    let verb = match (cli.list, verb) {
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
    match ui.flush() {
        // A closed pipe does not hide a failure that was reported.
        Err(failure) if failure.is_silent() && exit > Exit::Found => Ok(exit.code()),
        flushed => flushed.map(|()| exit.code()),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What [`named`] defines is what [`command`] defines, except for the guides.
    #[test]
    fn each_command_is_defined_alone() {
        let all = command();
        let verbs: Vec<_> = all.get_subcommands().map(clap::Command::get_name).collect();
        assert_eq!(DEFINITIONS.map(|(verb, _)| verb), *verbs);
        for verb in all.get_subcommands() {
            let alone = named(&["pisess".into(), verb.get_name().into()]).unwrap();
            let alone = alone.get_subcommands().next().unwrap().clone();
            let help = with_guide(alone).render_long_help().to_string();
            assert_eq!(help, verb.clone().render_long_help().to_string());
        }
    }

    /// Names of commands are found wherever they are, but only the first argument is the command.
    #[test]
    fn an_argument_may_be_the_name_of_a_command() {
        for (line, verb) in [
            ("pisess label tree @ path", "Label"),
            ("pisess -q --color never grep show tree", "Grep"),
            ("pisess summarise tree path", "Summarize"),
            ("pisess other tree", "External"),
        ] {
            let args: Vec<_> = line.split(' ').map(OsString::from).collect();
            let (_, parsed) = parse(&args).unwrap();
            let parsed = format!("{:?}", parsed.unwrap());
            assert!(parsed.starts_with(verb), "{line}: {parsed}");
        }
        let args = ["pisess", "--color", "tree", "list"].map(OsString::from);
        assert_eq!(parse(&args).unwrap_err().kind(), ErrorKind::InvalidValue);
    }
}
