//! `pisess resume`: the command that continues a session in its agent.

use crate::cli::external::{find_agent, run_in_place};
use crate::cli::guide::{Example, Guide};
use crate::cli::locate::{SessionStores, is_archive};
use crate::cli::open::{Input, OpenSession};
use crate::cli::output::{Exit, Failure, Ui, to_visible};
use crate::cli::process::command_line::quote_word;
use crate::import::Origin;
use crate::load::LoadOptions;
use crate::session::dialect::Dialect;
use crate::session::paths::abbreviate_home;
use pisess_json::text::Text;
use pisess_json::write::{Object, text_array};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

pub const GUIDE: Guide = Guide::new(&[
    Example::new(
        "Print the command that continues a session",
        "pisess resume session.jsonl",
    ),
    Example::new(
        "Print the program, its arguments and the directory as JSON",
        "pisess resume --json session.jsonl",
    ),
]);

/// Print the command that continues a session in its agent.
///
/// The command changes to the directory of the session and starts the agent that wrote it: `pi` or
/// `omp`. It is quoted for a POSIX shell.
///
/// With --exec, the command is run: `pisess resume --exec last` continues the last session. The
/// agent must be on the PATH, and the directory must exist.
///
/// The conversation continues at the leaf. To continue elsewhere, move the leaf first, with
/// `pisess switch`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session: a path, or a name such as `last`
    pub session: PathBuf,
    /// Run the command
    #[arg(long, conflicts_with = "json")]
    pub exec: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let open = open_session(&args.session, ui)?;
    let command = AgentCommand::from_session(&open, ui)?;
    if args.exec {
        return command.exec(&open.input, ui);
    }

    if args.json {
        ui.print_json(&command.to_json())?;
    } else {
        ui.print(&(command.to_shell() + "\n"))?;
    }
    if let Some(cwd) = command.missing_folder() {
        let name = &open.input.name;
        let cwd = show_folder(cwd, ui);
        ui.warn(&format!(
            "{name}: its directory {cwd} does not exist (hint: {RELOCATE_HINT})"
        ));
    }
    Ok(Exit::Done)
}

const RELOCATE_HINT: &str = "`pisess relocate SESSION DIR` moves a session to another directory";

/// Opens the session. The failure for a file of another agent names the command that continues or
/// imports it.
fn open_session(argument: &Path, ui: &mut Ui) -> Result<OpenSession, Failure> {
    let input = Input::open(argument, ui)?;
    if let Err(failure) = input.read_header() {
        return Err(match find_origin(&input) {
            Some(origin) => foreign_failure(&input, origin),
            None => failure,
        });
    }
    OpenSession::from_input(input, LoadOptions::default(), ui)
}

/// Returns the agent other than pi and oh-my-pi that wrote a file, if any.
fn find_origin(input: &Input) -> Option<Origin> {
    Origin::detect(input.file()?).ok()?
}

fn foreign_failure(input: &Input, origin: Origin) -> Failure {
    let (agent, command) = match origin {
        Origin::Claude => ("Claude Code", "claude --resume ID"),
        Origin::Codex => ("Codex", "codex resume ID"),
    };
    input
        .failure(format_args!("a session of {agent}"))
        .with_hint(format!(
            "`{command}` continues it; `pisess import` makes a session of pi or oh-my-pi from it"
        ))
}

/// A command that continues a session.
struct AgentCommand {
    program: &'static str,
    args: [OsString; 2],
    /// The directory of the session, as an absolute path; `None` if it records none.
    cwd: Option<PathBuf>,
}

impl AgentCommand {
    /// # Errors
    /// If no agent can open the session, because it is not in a file of its own.
    fn from_session(open: &OpenSession, ui: &Ui) -> Result<AgentCommand, Failure> {
        let Some(file) = open.input.file() else {
            let is_archived = open.input.path.as_deref().is_some_and(is_archive);
            let (what, hint) = if is_archived {
                (
                    "the session is archived",
                    "`pisess archive --restore` moves it back to its store",
                )
            } else {
                (
                    "an agent cannot open a stream",
                    "give the path of a session",
                )
            };
            return Err(open.input.failure(what).with_hint(hint));
        };
        let path = file.resolved().as_os_str().to_owned();
        let (program, option) = match open.session.dialect {
            Dialect::Pi => ("pi", "--session"),
            Dialect::OhMyPi => ("omp", "--resume"),
        };
        let stores = SessionStores::locate(ui);
        let recorded_cwd = open.session.header.cwd.as_ref();
        Ok(AgentCommand {
            program,
            args: [option.into(), path],
            cwd: recorded_cwd
                .filter(|cwd| !cwd.is_empty())
                .map(|cwd| stores.resolve_folder(cwd)),
        })
    }

    /// Returns the directory of the session if it does not exist.
    fn missing_folder(&self) -> Option<&Path> {
        self.cwd.as_deref().filter(|cwd| !cwd.is_dir())
    }

    fn to_json(&self) -> Vec<u8> {
        let mut args = Vec::new();
        for arg in &self.args {
            args.push(Text::from(arg.to_string_lossy().into_owned()));
        }
        let cwd = self.cwd.as_ref().map(|cwd| cwd.to_string_lossy());
        Object::new()
            .str("program", self.program)
            .json("args", &text_array(&args))
            .str_or_null("cwd", cwd.as_deref())
            .finish()
    }

    fn to_shell(&self) -> String {
        let mut words = vec![self.program.to_owned()];
        for arg in &self.args {
            words.push(quote_word(arg));
        }
        let start = words.join(" ");
        match &self.cwd {
            Some(cwd) => format!("cd {} && {start}", quote_word(cwd.as_os_str())),
            None => start,
        }
    }

    /// Runs the command. On Unix, this returns only if the agent cannot be started.
    fn exec(&self, input: &Input, ui: &mut Ui) -> Result<Exit, Failure> {
        if let Some(cwd) = self.missing_folder() {
            let cwd = show_folder(cwd, ui);
            return Err(input
                .failure(format_args!("its directory {cwd} does not exist"))
                .with_hint(RELOCATE_HINT));
        }
        let program = self.program;
        let Some(path) = find_agent(program, ui) else {
            let what = format_args!("cannot run {program}: it is not on the PATH");
            return Err(Failure::invalid(what).with_hint(
                "add the agent's directory to PATH; without --exec, the command is printed",
            ));
        };
        let mut command = Command::new(path);
        command.args(&self.args);
        if let Some(cwd) = &self.cwd {
            command.current_dir(cwd);
        }
        Ok(Exit::Program(run_in_place(&mut command, ui)?))
    }
}

/// Returns a directory as `list` shows it.
fn show_folder(folder: &Path, ui: &Ui) -> String {
    let home = ui.home();
    to_visible(&abbreviate_home(&folder.to_string_lossy(), home.as_deref()))
}
