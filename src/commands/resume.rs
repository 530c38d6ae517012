//! `pisess resume`: prints or runs the command that continues a session in its agent.

use crate::cli::external::{find_agent, run_in_place};
use crate::cli::foreign::find_newest_imports;
use crate::cli::guide::{Example, Guide};
use crate::cli::locate::{SessionStores, is_archive};
use crate::cli::named::name_argument;
use crate::cli::open::{Input, OpenSession};
use crate::cli::output::{Exit, Failure, Ui, to_visible};
use crate::cli::process::command_line::quote_word;
use crate::cli::rollouts::Rollouts;
use crate::cli::session_report::report_session;
use crate::import::SourceHead;
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
        "Print the commands that continue all sessions below a directory",
        "pisess list -0 sessions | xargs -0 pisess resume",
    ),
    Example::new(
        "Print the program, its arguments and the directory as JSON",
        "pisess resume --json session.jsonl",
    ),
]);

/// Print the command that continues a session in its agent.
///
/// The printed command changes to the working directory of the session and starts the agent that
/// wrote the session: `pi`, `omp`, `claude`, `codex`, `opencode` or `gemini`. The command is quoted
/// for a POSIX shell.
///
/// Given several sessions, one command is printed per line.
///
/// With --exec, the command is run: `pisess resume --exec last` continues the last session. The
/// agent must be on the PATH, and the directory must exist.
///
/// Given a session of another agent, such as Codex, the command is for that agent. If the session
/// was imported, a note names the imported copy, which pi or oh-my-pi can continue.
///
/// The conversation continues at the leaf. To continue elsewhere, move the leaf first, with
/// `pisess switch`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The sessions: paths, or names such as `last`
    #[arg(value_name = "SESSION", required = true)]
    pub sessions: Vec<PathBuf>,
    /// Run the command instead of printing it (only with one SESSION)
    #[arg(long, conflicts_with = "json")]
    pub exec: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Prints the command that continues each session in its agent, or with `--exec` runs it. A session
/// that fails does not stop the others; the exit code is the worst one.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let rollouts = Rollouts::default();
    if let [session] = &args.sessions[..] {
        return resume_session(session, &rollouts, args, ui);
    }
    if args.exec {
        return Err(Failure::usage_error("--exec continues one session")
            .with_hint("without --exec, the command of each session is printed"));
    }
    let mut worst_exit = Exit::Done;
    for session in &args.sessions {
        match resume_session(session, &rollouts, args, ui) {
            Ok(exit) => worst_exit = worst_exit.max(exit),
            Err(failure) => worst_exit = worst_exit.max(ui.report_failure(&failure)),
        }
    }
    Ok(worst_exit)
}

/// Prints the command that continues a session, or with `--exec` runs it. If the session's
/// directory is missing, printing only warns, because the command still shows where the session
/// was. `rollouts` remembers where Codex keeps its files, so that several sessions search once.
fn resume_session(
    session: &Path,
    rollouts: &Rollouts,
    args: &Args,
    ui: &mut Ui,
) -> Result<Exit, Failure> {
    let input = Input::open_one_to_read(session, rollouts, ui)?;
    let open = OpenSession::from_input(input, LoadOptions::default(), ui)?;
    let command = AgentCommand::of_session(&open, ui)?;
    note_session(session, &open.input, args, ui)?;
    if args.exec {
        return command.exec(&open.input, ui);
    }
    command.print(args, ui)?;
    Ok(Exit::Done)
}

/// Notes which session the command continues, if the user may not know that: it is another session
/// than the given one, or was given only by a name. `argument` is how the user gave it.
fn note_session(argument: &Path, input: &Input, args: &Args, ui: &mut Ui) -> Result<(), Failure> {
    // `foreign` is set for a session of another agent than pi and oh-my-pi.
    if let Some(source) = &input.foreign {
        if source.sub_agent.is_some() {
            ui.warn("this is a sub-agent: the command continues the session that started it");
        }
        note_imports(source, ui);
        return Ok(());
    }
    let is_name = name_argument(argument).is_some();
    if is_name && ui.stderr_is_terminal() && !args.json {
        report_named_session(input, ui)?;
    }
    Ok(())
}

/// Warns if a session of another agent was also imported: the user may mean the imported session,
/// which has another id.
fn note_imports(source: &SourceHead, ui: &mut Ui) {
    let origin = source.origin.display_name();
    for (agent, id) in find_newest_imports(source, ui) {
        let name = match agent {
            Dialect::Pi => "pi",
            Dialect::OhMyPi => "oh-my-pi",
        };
        ui.warn(&format!(
            "the command continues the session of {origin}, which was also imported (hint: `pisess resume {id}` continues the imported session in {name})"
        ));
    }
}

/// Reports the session to which a name refers. After an import, `last` is not the imported session,
/// which is as old as its source: the user may be surprised.
fn report_named_session(input: &Input, ui: &mut Ui) -> Result<(), Failure> {
    match input.file() {
        Some(file) => report_session("continues", file.path(), ui),
        None => Ok(()),
    }
}

const RELOCATE_HINT: &str = "`pisess relocate SESSION DIR` moves a session to another directory";

/// A command that continues a session.
struct AgentCommand {
    program: &'static str,
    args: [OsString; 2],
    /// The working directory of the session, as an absolute path; `None` if the session records
    /// none.
    cwd: Option<PathBuf>,
}

impl AgentCommand {
    /// Returns the command for a session.
    ///
    /// # Errors
    /// If no agent can open the session, because it is not in a file of its own.
    fn of_session(open: &OpenSession, ui: &Ui) -> Result<AgentCommand, Failure> {
        if let Some(source) = &open.input.foreign {
            return AgentCommand::of_foreign_session(&open.input, source, ui);
        }
        let Some(file) = open.input.file() else {
            return Err(refuse_stream(&open.input));
        };
        let (program, option) = match open.session.dialect {
            Dialect::Pi => ("pi", "--session"),
            Dialect::OhMyPi => ("omp", "--resume"),
        };
        let path = file.resolved().as_os_str().to_owned();
        let recorded_cwd = open.session.header.cwd.as_ref();
        Ok(AgentCommand {
            program,
            args: [option.into(), path],
            cwd: resolve_cwd(recorded_cwd, ui),
        })
    }

    /// Returns the command for a session of another agent. The agents find a session by its id;
    /// Claude Code does so only in the session's directory.
    ///
    /// # Errors
    /// If the id has other characters than ids have. The file is not trusted: an option of the
    /// agent could be in place of the id.
    fn of_foreign_session(
        input: &Input,
        source: &SourceHead,
        ui: &Ui,
    ) -> Result<AgentCommand, Failure> {
        let id = source.session_id();
        let is_id = id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
        if !is_id || id.is_empty() || id.starts_with('-') {
            let failure = input.failure("its id is not one that an agent could find");
            return Err(failure.with_hint("`pisess import` makes a session of pi from it"));
        }
        let [program, option] = source.origin.facts().resume_command;
        Ok(AgentCommand {
            program,
            args: [option.into(), id.into()],
            cwd: resolve_cwd(source.cwd.as_ref(), ui),
        })
    }

    /// Returns the working directory of the session if it does not exist.
    fn missing_folder(&self) -> Option<&Path> {
        self.cwd.as_deref().filter(|cwd| !cwd.is_dir())
    }

    /// Returns the command as JSON. Its words are not quoted, because a program passes them on
    /// unchanged.
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

    /// Prints the command. Warns if the session's directory is missing.
    fn print(&self, args: &Args, ui: &mut Ui) -> Result<(), Failure> {
        if args.json {
            ui.print_json(&self.to_json())?;
        } else {
            ui.print(&(self.to_shell() + "\n"))?;
        }
        if let Some(cwd) = self.missing_folder() {
            let cwd = show_folder(cwd, ui);
            ui.warn(&format!(
                "the session's directory {cwd} does not exist (hint: {RELOCATE_HINT})"
            ));
        }
        Ok(())
    }

    /// Returns the command as a line for a POSIX shell. The line first changes to the session's
    /// directory.
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

/// Returns the directory that a session records, as an absolute path.
fn resolve_cwd(recorded: Option<&Text>, ui: &Ui) -> Option<PathBuf> {
    let recorded = recorded.filter(|cwd| !cwd.is_empty())?;
    Some(SessionStores::locate(ui).resolve_folder(recorded))
}

/// Returns the failure for a session that no agent can open: a stream or an archive.
fn refuse_stream(input: &Input) -> Failure {
    let is_archived = input.path.as_deref().is_some_and(is_archive);
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
    input.failure(what).with_hint(hint)
}

/// Returns a directory as `list` shows it.
fn show_folder(folder: &Path, ui: &Ui) -> String {
    let home = ui.home();
    to_visible(&abbreviate_home(&folder.to_string_lossy(), home.as_deref()))
}
