//! Lets the user choose one of several rows: with the program in `PISESS_CHOOSER`, with fzf, or
//! from a numbered list.
//!
//! A program reads a row per line, `NAME<TAB>TEXT`, and prints the chosen one. Only the name is
//! read back, and it must be one of the offered names. So no text in a session can change what is
//! chosen, and none reaches a shell.

use crate::cli::output::{Failure, Ui, to_visible, truncate_end};
use crate::cli::process::command_line::parse_command;
use crate::cli::process::signals::{SignalGuard, shell_exit_code};
use foldhash::{HashMap, HashMapExt};
use std::ffi::OsStr;
use std::fmt::Display;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::JoinHandle;

/// The environment variable with the command of the chooser. If it is empty, the list is numbered.
const CHOOSER_VARIABLE: &str = "PISESS_CHOOSER";
/// Environment variables that a chooser can use for a preview: the program that runs pisess, and
/// the session whose entries are offered.
const PROGRAM_VARIABLE: &str = "PISESS_PROGRAM";
const SESSION_VARIABLE: &str = "PISESS_SESSION";

/// The maximum width of a row, in columns.
pub const ROW_WIDTH: usize = 120;
/// The maximum number of rows in a numbered list.
const MOST_NUMBERED: usize = 20;
/// The assumed width of a terminal that does not report its width.
const DEFAULT_WIDTH: usize = 80;
/// The maximum number of bytes of a program's output in which the choice is searched for.
const MOST_OUTPUT_BYTES: u64 = 1 << 20;
/// The exit code of a chooser in which the user chose nothing. It is that of fzf without a match.
const NO_CHOICE: i32 = 1;

/// The question that a chooser asks the user.
#[derive(Clone, Copy)]
pub struct Question<'q> {
    /// The noun for a row: `session` or `entry`.
    pub noun: &'static str,
    /// The session whose entries are offered; `None` if sessions are offered.
    pub session: Option<&'q Path>,
    /// The program that runs pisess, as it was called: a preview calls it again.
    pub program: &'q OsStr,
}

/// The reason why a choice ended without a row.
pub enum Stop {
    /// The user cancelled the chooser, which exited with this code.
    Cancelled(u8),
    Failed(Failure),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Stop {
        Stop::Failed(failure)
    }
}

/// A choice in progress. Rows are offered one by one; then the user chooses one.
pub struct Chooser {
    noun: &'static str,
    /// The index of each row, by the name that a program reads.
    offered: HashMap<String, usize>,
    /// The number of rows offered so far.
    count: usize,
    method: ChoiceMethod,
}

/// How the user chooses a row.
enum ChoiceMethod {
    /// In a program that has read the rows, such as fzf.
    Program(RunningProgram),
    /// A numbered list, with the texts of its rows.
    Numbered(Vec<String>),
}

struct RunningProgram {
    /// The name of the program, for messages.
    name: String,
    child: Child,
    /// The input of the program. It is closed after the last row.
    stdin: Option<ChildStdin>,
    output: JoinHandle<Vec<u8>>,
    /// Keeps Ctrl-C from ending pisess: it is for the program, which uses the terminal until it
    /// exits.
    waiting: SignalGuard,
}

impl Chooser {
    /// Starts the program for the choice, if there is one. Otherwise the list will be numbered.
    ///
    /// # Errors
    /// If the program in `PISESS_CHOOSER` cannot be started, or if there is neither a program nor a
    /// terminal for a list.
    pub fn start(question: &Question, ui: &mut Ui) -> Result<Chooser, Failure> {
        let method = match start_program(question, ui)? {
            Some(program) => ChoiceMethod::Program(program),
            None => {
                require_terminal(question.noun, ui)?;
                ChoiceMethod::Numbered(Vec::new())
            }
        };
        Ok(Chooser {
            noun: question.noun,
            offered: HashMap::new(),
            count: 0,
            method,
        })
    }

    /// Offers a row to the user: its name, which a program prints if the user chooses the row, and
    /// a text. Returns whether more rows are wanted. A numbered list shows only the text.
    pub fn offer(&mut self, name: &OsStr, text: &str) -> bool {
        let index = self.count;
        self.count += 1;
        let name = self.unique_name(name, index);
        let text = truncate_end(&to_visible(text), ROW_WIDTH, "…");
        let row = format!("{name}\t{text}\n");
        self.offered.insert(name, index);

        match &mut self.method {
            ChoiceMethod::Program(program) => program.write_row(&row),
            ChoiceMethod::Numbered(texts) => {
                texts.push(text);
                texts.len() < MOST_NUMBERED
            }
        }
    }

    /// Returns the name by which a row is found, which no earlier row has. If the given name is not
    /// fit for that, the index of the row makes it unique, as in `3:a b`.
    fn unique_name(&self, name: &OsStr, index: usize) -> String {
        // A program would not print a name with control characters or invalid bytes unchanged.
        if let Some(name) = name.to_str()
            && !name.contains(char::is_control)
            && !self.offered.contains_key(name)
        {
            return name.to_owned();
        }
        format!("{index}:{}", to_visible(&name.to_string_lossy()))
    }

    /// Lets the user choose, and returns the index of the chosen row in the order of the offers.
    pub fn finish(self, ui: &mut Ui) -> Result<usize, Stop> {
        let chosen = match self.method {
            ChoiceMethod::Program(program) => program.finish(&self.offered)?,
            ChoiceMethod::Numbered(texts) => choose_number(self.noun, &texts, ui)?,
        };
        let Some(index) = chosen else {
            let failure = Failure::negative(format_args!("no {} was chosen", self.noun));
            return Err(failure.into());
        };
        Ok(index)
    }
}

/// Starts the program in `PISESS_CHOOSER`, or else fzf. `None` if the variable is empty, if fzf is
/// not installed, or if the terminal cannot show fzf.
///
/// # Errors
/// If the program in `PISESS_CHOOSER` cannot be started.
fn start_program(question: &Question, ui: &Ui) -> Result<Option<RunningProgram>, Failure> {
    let Some(configured) = ui.env_var(CHOOSER_VARIABLE) else {
        return Ok(start_fzf(question, ui));
    };
    let command_line = configured.trim();
    if command_line.is_empty() {
        return Ok(None);
    }
    let mut command = parse_command(command_line);
    match RunningProgram::start(command_line, &mut command, question, ui) {
        Ok(program) => Ok(Some(program)),
        Err(error) => {
            let failure = Failure::command_error(format_args!(
                "cannot run the chooser {}: {error}",
                to_visible(command_line)
            ));
            Err(failure.with_hint(format!("it is set by {CHOOSER_VARIABLE}")))
        }
    }
}

/// Starts fzf. `None` if it is not installed, or if the terminal cannot show it.
fn start_fzf(question: &Question, ui: &Ui) -> Option<RunningProgram> {
    let can_draw = ui.world.terminals.stderr && !ui.is_dumb_terminal();
    if !can_draw {
        return None;
    }
    RunningProgram::start("fzf", &mut fzf_command(question, ui), question, ui).ok()
}

/// Fails if no user can answer, because standard input or standard error is not a terminal.
fn require_terminal(noun: &str, ui: &Ui) -> Result<(), Failure> {
    let terminals = &ui.world.terminals;
    if terminals.stdin && terminals.stderr {
        return Ok(());
    }
    let stream = if terminals.stdin {
        "standard error"
    } else {
        "standard input"
    };
    let failure = Failure::invalid(format_args!(
        "cannot ask for the {noun}: {stream} is not a terminal"
    ));
    Err(failure.with_hint(format!("give it as an argument, or set {CHOOSER_VARIABLE}")))
}

/// Returns the command that runs fzf. Its preview is the output of `show`. The shell that runs the
/// preview gets only the name of a row, quoted by fzf, and never the text.
fn fzf_command(question: &Question, ui: &Ui) -> Command {
    let color = if ui.wants_colour() { "always" } else { "never" };
    let program = shell_variable(PROGRAM_VARIABLE);
    let arguments = match question.session {
        Some(_) => format!("{} {{1}}", shell_variable(SESSION_VARIABLE)),
        None => "{1}".to_owned(),
    };
    let preview = format!("{program} show -q --color {color} -- {arguments}");

    let mut command = Command::new("fzf");
    command.args(["--delimiter", "\t", "--with-nth", "2..", "--no-multi"]);
    command.args(["--prompt", &format!("{}> ", question.noun)]);
    command.args(["--preview", &preview, "--preview-window", "down:60%:wrap"]);
    // fzf quotes for this shell. Other shells, such as fish, interpret these quotes differently.
    if !cfg!(windows) {
        command.env("SHELL", "/bin/sh");
    }
    command
}

/// Returns a variable in quotes, in the syntax of the shell that runs a preview.
fn shell_variable(name: &str) -> String {
    if cfg!(windows) {
        format!("\"%{name}%\"")
    } else {
        format!("\"${name}\"")
    }
}

impl RunningProgram {
    /// Starts the program with pipes for its input and output, and a thread that reads the output.
    fn start(
        name: &str,
        command: &mut Command,
        question: &Question,
        ui: &Ui,
    ) -> io::Result<RunningProgram> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.env(PROGRAM_VARIABLE, question.program);
        match question.session {
            Some(session) => command.env(SESSION_VARIABLE, session),
            None => command.env_remove(SESSION_VARIABLE),
        };
        let waiting = SignalGuard::install();
        let mut child = ui.spawn(command)?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take();
        // The thread is needed because a program may print while it still reads rows.
        let output = std::thread::Builder::new().spawn(move || read_output(stdout))?;
        Ok(RunningProgram {
            name: name.to_owned(),
            child,
            stdin,
            output,
            waiting,
        })
    }

    /// Writes a row. Returns `false` if the program reads no more rows.
    fn write_row(&mut self, row: &str) -> bool {
        match &mut self.stdin {
            Some(stdin) => stdin.write_all(row.as_bytes()).is_ok(),
            None => false,
        }
    }

    /// Waits until the program exits. Returns the index of the chosen row; `None` if none was
    /// chosen.
    fn finish(self, offered: &HashMap<String, usize>) -> Result<Option<usize>, Stop> {
        let RunningProgram {
            name,
            mut child,
            stdin,
            output,
            waiting,
        } = self;
        // This ends the input of the program: no more rows follow.
        drop(stdin);
        let output = output.join().unwrap_or_default();
        let waited = child.wait();
        // If a signal arrived in the meantime, it ends pisess here.
        drop(waiting);

        let status = match waited {
            Ok(status) => status,
            Err(error) => return Err(chooser_failure(&name, error)),
        };
        match shell_exit_code(status) {
            0 => {}
            NO_CHOICE => return Ok(None),
            // The code that a shell reports for a signal: 128 plus its number. A chooser exits with
            // it when the user cancels, even if it received no signal.
            code @ 129..=255 => return Err(Stop::Cancelled(code as u8)),
            _ => return Err(chooser_failure(&name, status)),
        }

        if output.trim_ascii().is_empty() {
            return Ok(None);
        }
        match find_offered_row(&output, offered) {
            Some(index) => Ok(Some(index)),
            None => {
                let what = "it printed none of the rows that it read";
                Err(chooser_failure(&name, what))
            }
        }
    }
}

/// Returns the index of the row that a program has printed: the first line whose first column is
/// the name of an offered row. A program may print other lines before, such as fzf with
/// `--print-query`.
fn find_offered_row(output: &[u8], offered: &HashMap<String, usize>) -> Option<usize> {
    for line in output.split(|&byte| byte == b'\n') {
        let line = String::from_utf8_lossy(line);
        // A program for Windows may end lines with `\r\n`.
        let first_column = line.split(['\t', '\r']).next().unwrap_or_default();
        if let Some(&index) = offered.get(first_column) {
            return Some(index);
        }
    }
    None
}

/// Returns the failure of the program that shows the rows. `what` follows the program's name in the
/// message.
fn chooser_failure(name: &str, what: impl Display) -> Stop {
    let name = to_visible(name);
    Stop::Failed(Failure::command_error(format_args!(
        "the chooser {name}: {what}"
    )))
}

/// Returns the first [`MOST_OUTPUT_BYTES`] of a program's output. The rest is read and discarded,
/// so that the program can exit.
fn read_output(stdout: Option<ChildStdout>) -> Vec<u8> {
    let Some(mut stdout) = stdout else {
        return Vec::new();
    };
    let mut start = Vec::new();
    let mut limited = stdout.by_ref().take(MOST_OUTPUT_BYTES);
    // If reading fails, the bytes read so far are the output.
    let _ = limited.read_to_end(&mut start);
    let _ = io::copy(&mut stdout, &mut io::sink());
    start
}

/// Prints the rows with numbers, and asks for a number. Returns the index of the chosen row; `None`
/// for an empty answer.
fn choose_number(noun: &str, texts: &[String], ui: &mut Ui) -> Result<Option<usize>, Failure> {
    let number_width = texts.len().to_string().len();
    let width = ui.row_width().unwrap_or(DEFAULT_WIDTH);
    for (index, text) in texts.iter().enumerate() {
        let row = format!("{:>number_width$}  {text}", index + 1);
        ui.print_option(&truncate_end(&row, width, "…"));
    }

    let question = format!("which {noun}, 1 to {} (Enter for none)?", texts.len());
    loop {
        let answer = ui.ask(&question)?;
        if answer.is_empty() {
            return Ok(None);
        }
        match answer.parse::<usize>() {
            Ok(number) if (1..=texts.len()).contains(&number) => return Ok(Some(number - 1)),
            _ => ui.print_error(&format!("{answer:?} is not a number of the list")),
        }
    }
}
