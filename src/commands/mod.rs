//! The commands. Each has its own file, in which `run` reads the arguments, calls the operation and
//! prints the result. The list of all commands is [`COMMANDS`].

pub mod append;
pub mod archive;
pub mod blame;
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
pub mod import;
pub mod join;
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
pub mod resume;
pub mod show;
pub mod stats;
pub mod summarize;
pub mod switch;
pub mod tree;
pub mod undo;

use crate::cli::choose::{self, LineParser, PartialLine, Stop};
use crate::cli::guide::Guide;
use crate::cli::help::{self, COMMON_HEADING, GroupedCommand};
use crate::cli::options::{ColorChoice, LinkChoice, WriteArgs};
use crate::cli::output::{Exit, Failure, Ui};
use crate::cli::sources::SourceArgs;
use crate::cli::summary_source::SummaryArgs;
use crate::cli::{external, hints};
use crate::world::World;
use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Args, CommandFactory, FromArgMatches, Parser, value_parser};
use std::ffi::{OsStr, OsString};

/// The version, the target and, in release builds, the commit. `build.rs` sets the latter two.
const LONG_VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("PISESS_BUILD"), ")");

/// Read, search, rewind and share the conversations that pi and oh-my-pi save.
#[derive(Debug, Parser)]
#[command(name = "pisess", version, long_version = LONG_VERSION, about)]
#[command(
    arg_required_else_help = true,
    infer_long_args = true,
    disable_help_subcommand = true
)]
#[command(
    override_usage = "pisess [OPTIONS] <COMMAND>",
    next_help_heading = COMMON_HEADING
)]
struct Cli {
    /// When to colour the output: always, never, or auto (on a terminal or if CLICOLOR_FORCE is
    /// set, unless NO_COLOR is set)
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true
    )]
    color: ColorChoice,
    /// When to print paths as links: always, never, or auto (on a terminal known to support links).
    /// Without the option: never; without WHEN: auto
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "auto",
        hide_possible_values = true
    )]
    hyperlink: Option<LinkChoice>,
    /// Suppress notes, but not errors
    #[arg(short, long, global = true)]
    quiet: bool,
    /// Do not pipe long output into a pager on a terminal
    #[arg(long, global = true)]
    no_pager: bool,
    /// Pick the missing argument from a list: the session or, if only REF is missing, the entry
    #[arg(long, global = true)]
    choose: bool,
    /// List all commands, including the programs pisess-* on your PATH
    #[arg(long, help_heading = None::<&str>)]
    list: bool,
}

/// A command, as listed in [`COMMANDS`].
struct Command {
    /// The purpose of the command: a heading in `--help`, and in the jobs of `docs/jobs.md`.
    group: &'static str,
    name: &'static str,
    guide: Guide,
    /// Adds the arguments and the description of the command to its definition.
    augment: fn(clap::Command) -> clap::Command,
    run: fn(&ArgMatches, &mut Ui) -> Result<Exit, Failure>,
}

/// Builds the list of commands from the names of their modules. Each module has `Args`, `GUIDE` and
/// `run`.
macro_rules! commands {
    ($($group:literal: $($file:ident)*;)*) => {
        &[$($(Command {
            group: $group,
            name: stringify!($file),
            guide: $file::GUIDE,
            augment: $file::Args::augment_args,
            run: |matches, ui| $file::run(&read_args(matches)?, ui),
        },)*)*]
    };
}

/// All commands, in the order of `--help`.
const COMMANDS: &[Command] = commands! {
    "find": list grep blame stats;
    "read": tree path show branches context diff;
    "rewind": switch pop undo merge fork pick resume;
    "annotate": label append edit;
    "shorten": compact summarize prune;
    "share": export redact;
    "maintain": import relocate archive join migrate check completions;
};

/// Returns the arguments of a command as its `Args`. clap has validated them.
fn read_args<A: FromArgMatches>(matches: &ArgMatches) -> Result<A, Failure> {
    A::from_arg_matches(matches).map_err(Failure::usage_error)
}

/// Returns the names and guides of all commands, in the order of `--help`.
pub fn command_guides() -> impl Iterator<Item = (&'static str, Guide)> {
    COMMANDS.iter().map(|command| (command.name, command.guide))
}

/// Returns the group and the name of each command, in the order of `--help`.
pub fn command_groups() -> impl Iterator<Item = (&'static str, &'static str)> {
    COMMANDS.iter().map(|command| (command.group, command.name))
}

/// Returns the definition of the whole command line, as man pages and completions need it.
pub fn build_cli() -> clap::Command {
    let mut cli = Cli::command();
    for command in COMMANDS {
        cli = cli.subcommand(command.define_subcommand());
    }
    cli.subcommand(define_help())
        .allow_external_subcommands(true)
        .external_subcommand_value_parser(value_parser!(OsString))
}

/// Returns the definition of the whole command line, with the groups and examples of its help.
fn build_cli_with_help() -> clap::Command {
    let mut commands: Vec<GroupedCommand> = Vec::new();
    for (group, name) in command_groups() {
        commands.push(GroupedCommand { group, name });
    }
    let last_group = commands.last().map_or("", |command| command.group);
    commands.push(GroupedCommand {
        group: last_group,
        name: "help",
    });
    let guides: Vec<_> = command_guides().collect();
    help::arrange_help(build_cli(), &commands, &guides)
}

/// Defines the options that several commands share, for the topics that explain them.
fn define_shared_options() -> clap::Command {
    let command = clap::Command::new("shared");
    SummaryArgs::augment_args(WriteArgs::augment_args(command))
}

/// Defines `pisess help`. It replaces clap's own `help`, which knows only commands: topics and
/// external programs have help, too.
fn define_help() -> clap::Command {
    let topics: Vec<_> = help::topic_names().collect();
    let name = Arg::new("NAME")
        .value_name("COMMAND|TOPIC")
        .help("The command or topic")
        .long_help(format!(
            "The command, or one of the topics {}",
            topics.join(", ")
        ));
    clap::Command::new("help")
        .about("Print the help of a command or a topic")
        .arg(name)
}

impl Command {
    /// Whether a pager shows the command's output on a terminal. Commands of these groups only
    /// print, and their output may be long.
    fn is_paged(&self) -> bool {
        matches!(self.group, "find" | "read")
    }

    /// Whether `--source` limits which session the command reads. Commands that read any number of
    /// sessions define the option themselves.
    fn limits_source(&self) -> bool {
        self.group == "read" || self.name == "export"
    }

    fn define_subcommand(&self) -> clap::Command {
        let mut command = (self.augment)(clap::Command::new(self.name));
        if self.limits_source() {
            // Only the option is taken: `augment_args` would also replace the description.
            let source = SourceArgs::augment_args(clap::Command::new(self.name));
            for option in source.get_arguments() {
                command = command.arg(option.clone().help(SOURCE_HELP));
            }
        }
        command
    }

    fn find(name: &OsStr) -> Option<&'static Command> {
        COMMANDS.iter().find(|command| name == command.name)
    }
}

/// The help of `--source` for a command that reads one session.
const SOURCE_HELP: &str = "Read only the sessions of these agents (for the names, see `pisess list --help`; as SESSION, `last` is the newest session of these agents)";

/// Runs one command line, and returns its exit code. The result is a number and not an `Exit`,
/// because an external program may exit with any code.
pub fn run(args: impl IntoIterator<Item = OsString>, world: World) -> u8 {
    let args: Vec<_> = args.into_iter().collect();
    let mut ui = Ui::new(world, args.clone(), wants_json(&args));
    let result = complete_and_run(&args, &mut ui);

    // The notes were collected while the command printed. The failure is printed last, where it is
    // most visible.
    ui.print_notes();
    let code = match result {
        Ok(code) => code,
        Err(failure) => ui.report_failure(&failure).code(),
    };

    // If the process ended before the pager, the shell would take the terminal from the pager.
    ui.wait_for_pager();
    // The command may have succeeded, although lines that another process wrote were lost.
    ui.adjust_exit_code(code)
}

/// Completes a command line, runs it, and returns the exit code.
///
/// A command line that cannot be parsed is completed in one of these ways:
/// 1. `--all` together with directories or ids is removed, because it adds nothing to them.
/// 2. With `--choose`, the user chooses the missing arguments.
/// 3. If only a session is missing, on a terminal: for a command that writes, the user chooses it;
///    for a command that reads, it is `last`.
///
/// Otherwise, running the line reports its error.
fn complete_and_run(args: &[OsString], ui: &mut Ui) -> Result<u8, Failure> {
    let parsed = parse(args);
    // clap refuses `--all` with SESSION.
    if is_conflict(&parsed)
        && let Some(line) = choose::without_redundant_all(args, &LINE_PARSER, ui)
    {
        return run_without_all(&line, ui);
    }
    let Some(cli) = read_global_options(&parsed, args) else {
        // A command line that is wrong in another way cannot be completed.
        return run_parsed(parsed, args, ui);
    };

    // These options apply already while the command line is completed: notes and questions are
    // printed.
    ui.configure(cli.color, cli.hyperlink, cli.quiet);
    if cli.choose {
        return choose_and_run(args, ui);
    }
    let lacks_argument = parsed.is_err();
    if lacks_argument && choose::must_ask_for_session(args, &LINE_PARSER, ui)? {
        return choose_and_run(args, ui);
    }
    if lacks_argument && let Some(completed) = choose::take_last(args, &LINE_PARSER, ui)? {
        return run_parsed(parse(&completed), &completed, ui);
    }
    // If an argument is still missing, running the line reports it.
    run_parsed(parsed, args, ui)
}

/// Lets the user choose the missing arguments, and runs the completed command line.
fn choose_and_run(args: &[OsString], ui: &mut Ui) -> Result<u8, Failure> {
    match choose::choose_missing(args, &LINE_PARSER, ui) {
        Ok(completed) => run_parsed(parse(&completed), &completed, ui),
        Err(Stop::Cancelled(code)) => Ok(code),
        Err(Stop::Failed(failure)) => Err(failure),
    }
}

/// Whether two arguments of a command line exclude each other.
fn is_conflict(parsed: &Result<ArgMatches, clap::Error>) -> bool {
    match parsed {
        Ok(_) => false,
        Err(error) => error.kind() == ErrorKind::ArgumentConflict,
    }
}

/// Runs a command line from which a redundant `--all` was removed, and notes what is read.
fn run_without_all(line: &[OsString], ui: &mut Ui) -> Result<u8, Failure> {
    let parsed = parse(line);
    if let Some(cli) = read_global_options(&parsed, line) {
        ui.configure(cli.color, cli.hyperlink, cli.quiet);
    }
    ui.warn("--all with SESSION: only the sessions in it are read (hint: omit SESSION for those of all projects)");
    run_parsed(parsed, line, ui)
}

/// Returns the global options of a command line that is complete, or lacks only a required
/// argument. `None` if it is wrong in another way.
fn read_global_options(parsed: &Result<ArgMatches, clap::Error>, args: &[OsString]) -> Option<Cli> {
    match parsed {
        Ok(matches) => Cli::from_arg_matches(matches).ok(),
        Err(error) if error.kind() == ErrorKind::MissingRequiredArgument => {
            let matches = parse_leniently(args)?;
            Cli::from_arg_matches(&matches).ok()
        }
        Err(_) => None,
    }
}

/// Runs a parsed command line, or reports why it could not be parsed.
fn run_parsed(
    parsed: Result<ArgMatches, clap::Error>,
    args: &[OsString],
    ui: &mut Ui,
) -> Result<u8, Failure> {
    match parsed {
        Ok(matches) => {
            dispatch(&matches, ui).map_err(|failure| {
                // The whole command line is defined only here, because that takes time.
                if failure.is_missing_file {
                    hints::hint_session_first(failure, args, &build_cli())
                } else {
                    failure
                }
            })
        }
        Err(error) => handle_clap_error(&error, args, ui),
    }
}

/// Whether errors are printed as JSON. This is decided before the command line is parsed, because
/// errors of parsing are printed, too.
fn wants_json(args: &[OsString]) -> bool {
    args.iter()
        .take_while(|arg| *arg != "--")
        .any(|arg| arg == "--json")
}

/// Parses the command line. At first, only the named command is defined, without its guide: to
/// define all commands takes longer than to draw a small session. If this parse fails, all commands
/// are defined, for messages and help.
fn parse(args: &[OsString]) -> Result<ArgMatches, clap::Error> {
    // The found name may also be an argument of another command: then this parse fails.
    let named_command = args.iter().skip(1).find_map(|arg| Command::find(arg));
    if let Some(named) = named_command {
        let cli = Cli::command().subcommand(named.define_subcommand());
        if let Ok(matches) = cli.try_get_matches_from(args) {
            return Ok(matches);
        }
    }
    build_cli_with_help().try_get_matches_from(args)
}

/// The functions by which `cli::choose` parses command lines. The command line is defined here, and
/// not in `cli`.
const LINE_PARSER: LineParser = LineParser {
    check: |args| parse(args).map(drop),
    parse_partly: |args| {
        let mut matches = parse_leniently(args)?;
        let (name, matches) = matches.remove_subcommand()?;
        let named = Command::find(name.as_ref())?;
        Some(PartialLine {
            command: named.define_subcommand(),
            matches,
        })
    },
};

/// Parses the valid part of a command line. `None` if it names no command of pisess.
fn parse_leniently(args: &[OsString]) -> Option<ArgMatches> {
    let named = args.iter().skip(1).find_map(|arg| Command::find(arg))?;
    let cli = Cli::command().subcommand(named.define_subcommand());
    cli.ignore_errors(true).try_get_matches_from(args).ok()
}

/// Runs the command, the external program or the help that the command line names. Returns the exit
/// code.
fn dispatch(matches: &ArgMatches, ui: &mut Ui) -> Result<u8, Failure> {
    let cli: Cli = read_args(matches)?;
    ui.configure(cli.color, cli.hyperlink, cli.quiet);

    let Some((name, command_args)) = matches.subcommand() else {
        if !cli.list {
            return Err(Failure::usage_error("no command given").with_hint(external::HELP_HINT));
        }
        let exit = external::list_commands(build_cli(), ui)?;
        return flush_output(exit, ui);
    };
    if cli.list {
        return Err(Failure::usage_error("--list takes no command").with_hint(external::HELP_HINT));
    }
    if name == "help" {
        return print_help(command_args.get_one::<String>("NAME"), cli.no_pager, ui);
    }
    let Some(command) = Command::find(name.as_ref()) else {
        // clap keeps the arguments of an external program under an empty name.
        let args = command_args.get_many::<OsString>("").unwrap_or_default();
        let args: Vec<OsString> = args.cloned().collect();
        return external::run_external(name, &args, build_cli(), ui);
    };
    if command.is_paged() && !cli.no_pager {
        ui.enable_pager();
    }
    run_command(command, command_args, ui)
}

/// Runs a command of pisess with its arguments, and returns the exit code.
fn run_command(command: &Command, args: &ArgMatches, ui: &mut Ui) -> Result<u8, Failure> {
    // `--source` applies to every search of the command, so `ui` has it.
    if let Some(source) = SourceArgs::given_in(args) {
        ui.limit_sources(&source);
    }
    let exit = (command.run)(args, ui)?;
    flush_output(exit, ui)
}

/// Writes the rest of the output, and returns the exit code of the command.
fn flush_output(exit: Exit, ui: &mut Ui) -> Result<u8, Failure> {
    match ui.flush() {
        Ok(()) => Ok(exit.code()),
        // A closed pipe must not hide a failure that was reported before.
        Err(failure) if failure.is_closed_stdout() && exit > Exit::Found => Ok(exit.code()),
        Err(failure) => Err(failure),
    }
}

/// Prints the help of a topic, of a command, or of pisess.
///
/// `pisess help NAME` prints the same as `pisess NAME --help`. So unless NAME is a topic, that
/// command line is run: clap prints the help of a command, an external program prints its own, and
/// an unknown name is refused with the usual hints.
fn print_help(name: Option<&String>, no_pager: bool, ui: &mut Ui) -> Result<u8, Failure> {
    let shared = define_shared_options();
    if let Some(text) = name.and_then(|name| help::topic_text(name, &shared)) {
        if !no_pager {
            ui.enable_pager();
        }
        ui.print(&text)?;
        ui.flush()?;
        return Ok(Exit::Done.code());
    }

    let mut args = vec![OsString::from("pisess")];
    if no_pager {
        args.push(OsString::from("--no-pager"));
    }
    if let Some(name) = name {
        args.push(OsString::from(name));
    }
    args.push(OsString::from("--help"));
    match parse(&args) {
        Ok(matches) => dispatch(&matches, ui),
        Err(error) => handle_clap_error(&error, &args, ui),
    }
}

/// Handles the results that clap returns as errors. Help and version that were requested are
/// printed on standard output. Without any argument, the help is printed on standard error, and the
/// command fails. Any other error is returned as a failure.
fn handle_clap_error(error: &clap::Error, args: &[OsString], ui: &mut Ui) -> Result<u8, Failure> {
    // `-h` prints a short help, which needs no pager.
    if !args.iter().any(|arg| arg == "--no-pager" || arg == "-h") {
        ui.enable_pager();
    }
    let text = error.render();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let text = if ui.wants_colour() {
                text.ansi().to_string()
            } else {
                text.to_string()
            };
            ui.print(&text)?;
            ui.flush()?;
            Ok(Exit::Done.code())
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            ui.print_to_stderr(&text.to_string());
            Ok(Exit::Failed.code())
        }
        _ => Err(hints::usage_failure(error, args, &build_cli())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of commands are found wherever they are, but only the first argument is the command.
    #[test]
    fn an_argument_may_be_the_name_of_a_command() {
        for (line, verb) in [
            ("pisess label tree @ path", "label"),
            ("pisess -q --color never grep show tree", "grep"),
            ("pisess summarise tree path", "summarize"),
            ("pisess other tree", "other"),
        ] {
            let args: Vec<_> = line.split(' ').map(OsString::from).collect();
            assert_eq!(
                parse(&args).unwrap().subcommand_name(),
                Some(verb),
                "{line}"
            );
        }
        let args = ["pisess", "--color", "tree", "list"].map(OsString::from);
        assert_eq!(parse(&args).unwrap_err().kind(), ErrorKind::InvalidValue);
    }
}
