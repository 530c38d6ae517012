//! The input and output of commands. A [`Ui`] combines the [`World`] with the options that all
//! commands have.
//!
//! Data goes to standard output, diagnostics go to standard error. Only this module prints lines
//! that begin with `pisess:`.

mod failure;
mod shown;

mod clock;
mod notes;
mod pager;
mod progress;
mod rows;
mod table;
mod wrap;

mod links;

pub use crate::format::{to_visible, to_visible_cow, to_visible_line, to_visible_lines};
pub use clock::Clock;
pub(in crate::cli) use failure::FailureKind;
pub use failure::{Exit, Failure};
pub use links::{Links, link_text};
use notes::{abbreviate_home_in, fit_note};
use pager::Pager;
pub use progress::Progress;
pub use rows::{
    Glyphs, RowBuffer, SEPARATORS, Styles, apply_style, display_width, fitting_bytes, push_styled,
    truncate_end, truncate_path, truncate_start,
};
use shown::EscapingWriter;
pub use table::{COLUMN_GAP, Cell, Column, Table, cell_width, format_cell, plain_cell};
pub use wrap::push_wrapped_line;

use crate::cli::options::{ColorChoice, LinkChoice};
use crate::cli::sources::{SourceArgs, Sources};
use crate::world::World;
use pisess_store::TempCopy;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command};

/// The user interface of one command.
pub struct Ui<'w> {
    /// The streams and the environment. Output goes through the functions of this type.
    pub(crate) world: World<'w>,
    /// The arguments of this run, the program first, for hints that repeat them.
    pub arguments: Vec<OsString>,
    is_quiet: bool,
    /// The agents to which `--source` limits the session that is read; `None` for all agents.
    pub(crate) sources: Option<Sources>,
    /// Whether a written file may lack lines that another process wrote.
    pub(in crate::cli) has_loss: bool,
    prints_json: bool,
    /// The styles for standard output.
    pub styles: Styles,
    /// The links for standard output.
    pub links: Links,
    progress: Progress,
    /// Whether the next output starts a pager.
    wants_pager: bool,
    /// The first line that the pager shows, counting from 1.
    first_line: usize,
    /// The number of first lines that the pager keeps on the screen.
    heading_lines: usize,
    pager: Option<Pager>,
    /// Notes that are printed after the results. So on a terminal, they are below the results, and
    /// the pager begins with the first result.
    pending_notes: Vec<String>,
    /// Whether notes are printed immediately, because the command does not end by itself.
    prints_notes_at_once: bool,
    /// Temporary files, which are removed when the command ends.
    temporary_files: Vec<TempCopy>,
}

impl<'w> Ui<'w> {
    /// Returns a user interface without options, for a run with these arguments. With `json`,
    /// failures are printed as JSON.
    pub fn new(world: World<'w>, arguments: Vec<OsString>, json: bool) -> Self {
        Ui {
            world,
            arguments,
            is_quiet: false,
            sources: None,
            has_loss: false,
            prints_json: json,
            styles: Styles::default(),
            links: Links::default(),
            progress: Progress::default(),
            wants_pager: false,
            first_line: 1,
            heading_lines: 0,
            pager: None,
            pending_notes: Vec::new(),
            prints_notes_at_once: false,
            temporary_files: Vec::new(),
        }
    }

    /// Keeps a temporary file until the command ends.
    pub fn keep_until_end(&mut self, file: TempCopy) {
        self.temporary_files.push(file);
    }

    /// Starts a pager with the next output, if standard output is a terminal.
    pub fn enable_pager(&mut self) {
        self.wants_pager = self.world.terminals.stdout && !self.is_dumb_terminal();
    }

    /// Prints the following output without a pager.
    pub fn disable_pager(&mut self) {
        self.wants_pager = false;
    }

    /// Makes the pager open with `line` in the middle of the screen, or on the last screen if the
    /// line is near the end. If the line is on the first screen, the pager opens there. Lines are
    /// counted from 1; `line_count` lines will be printed.
    pub fn set_pager_line(&mut self, line: usize, line_count: usize) {
        let Some(terminal_height) = self.world.terminals.height else {
            return;
        };
        // The pager uses the last row of the terminal for its prompt.
        let screen_height = terminal_height.saturating_sub(1);
        if line <= screen_height {
            return;
        }

        let first_line_of_last_screen = line_count.saturating_sub(screen_height) + 1;
        // `line` is below the first screen, so there is at least half a screen above it.
        let half_a_screen_above = line - screen_height / 2;
        self.first_line = half_a_screen_above.min(first_line_of_last_screen);
    }

    /// Makes the pager keep the first line on the screen: the column titles of a table. Has no
    /// effect after the first output.
    pub fn keep_heading(&mut self) {
        self.heading_lines = 1;
    }

    /// Waits until the user quits the pager, if one was started.
    pub fn wait_for_pager(&mut self) {
        self.progress.stop_drawing();
        if let Some(pager) = self.pager.take() {
            pager.finish();
        }
    }

    /// Limits the session that the command reads to the agents that `--source` names.
    pub fn limit_sources(&mut self, source: &SourceArgs) {
        self.sources = source.given();
    }

    /// Applies the output options that all commands have.
    pub fn configure(&mut self, color: ColorChoice, link: Option<LinkChoice>, is_quiet: bool) {
        self.is_quiet = is_quiet;
        self.styles = Styles::new(color, self.wants_colour());
        self.links = Links::new(
            link,
            self.world.terminals.stdout,
            self.world.env,
            &self.world.folder,
        );
    }

    /// Whether output has colour with `--color auto`: the environment forces it, or standard output
    /// is a terminal with colours. `NO_COLOR` disables it in either case.
    pub fn wants_colour(&self) -> bool {
        let is_disabled = self
            .env_var("NO_COLOR")
            .is_some_and(|value| !value.is_empty());
        let is_forced = self
            .env_var("CLICOLOR_FORCE")
            .is_some_and(|value| !matches!(&*value, "" | "0"));
        if is_disabled {
            return false;
        }
        let can_show = self.world.terminals.stdout && !self.is_dumb_terminal();
        is_forced || can_show
    }

    pub(in crate::cli) fn is_dumb_terminal(&self) -> bool {
        self.env_var("TERM").is_some_and(|term| term == "dumb")
    }

    /// Starts a program.
    pub fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        (self.world.spawn)(command)
    }

    /// Returns an environment variable; `None` if it is unset or not valid UTF-8.
    pub fn env_var(&self, name: &str) -> Option<String> {
        (self.world.env)(name)
    }

    pub fn home(&self) -> Option<String> {
        self.world.home()
    }

    /// Returns the current directory, from which relative paths start.
    pub fn current_folder(&self) -> &Path {
        &self.world.folder
    }

    pub fn processor_count(&self) -> usize {
        (self.world.processors)()
    }

    /// Whether `-q` is given.
    pub fn is_quiet(&self) -> bool {
        self.is_quiet
    }

    pub fn stdout_is_terminal(&self) -> bool {
        self.world.terminals.stdout
    }

    pub fn stderr_is_terminal(&self) -> bool {
        self.world.terminals.stderr
    }

    /// Returns the maximum width of rows: `COLUMNS`, else the width of the terminal. `None` if
    /// there is neither: then rows are not truncated.
    pub fn row_width(&self) -> Option<usize> {
        let columns_variable = self
            .env_var("COLUMNS")
            .and_then(|columns| columns.parse().ok());
        if let Some(columns) = columns_variable
            && columns > 0
        {
            return Some(columns);
        }
        let terminals = &self.world.terminals;
        if terminals.stdout {
            terminals.width
        } else {
            None
        }
    }

    /// Returns standard output for text that is already escaped. Clears the progress line, and
    /// starts the pager if one is wanted.
    pub fn stdout(&mut self) -> &mut (dyn Write + Send) {
        self.progress.stop_drawing();
        if std::mem::take(&mut self.wants_pager) {
            match Pager::start(&self.world, self.first_line, self.heading_lines) {
                Ok(pager) => self.pager = pager,
                Err(what) => self.warn(&what),
            }
        }
        self.pager_or_stdout()
    }

    /// Returns the pager, or standard output if there is none, without starting a pager.
    fn pager_or_stdout(&mut self) -> &mut (dyn Write + Send) {
        self.pager.as_mut().map_or(self.world.stdout, Pager::stdin)
    }

    /// Returns standard error. If it is a terminal that the pager uses, returns the pager.
    fn stderr(&mut self) -> &mut dyn Write {
        self.progress.stop_drawing();
        match &mut self.pager {
            Some(pager) if self.world.terminals.stderr => pager.stdin(),
            _ => self.world.stderr,
        }
    }

    /// Returns standard output as an open file, after flushing previous output. `None` if it is a
    /// terminal.
    pub(in crate::cli) fn stdout_file(&mut self) -> io::Result<Option<&'w File>> {
        self.progress.stop_drawing();
        self.world.stdout.flush()?;
        if self.world.terminals.stdout {
            return Ok(None);
        }
        Ok(self.world.stdout_file)
    }

    /// Returns standard output for verbatim data. The data is escaped only on a terminal.
    pub fn verbatim_stdout(&mut self) -> Box<dyn Write + '_> {
        let is_terminal = self.world.terminals.stdout;
        let out = self.stdout();
        if is_terminal {
            Box::new(EscapingWriter {
                out,
                partial_char: Vec::new(),
            })
        } else {
            Box::new(out)
        }
    }

    /// Prints text that is already escaped.
    pub fn print(&mut self, text: &str) -> Result<(), Failure> {
        self.stdout()
            .write_all(text.as_bytes())
            .map_err(Failure::from_stdout_error)
    }

    pub fn print_path(&mut self, path: &str) -> Result<(), Failure> {
        let link = self.links.link_path(&to_visible(path), Path::new(path));
        self.print(&format!("{link}\n"))
    }

    pub fn print_json(&mut self, json: &[u8]) -> Result<(), Failure> {
        let mut out = self.verbatim_stdout();
        out.write_all(json)
            .and_then(|()| out.write_all(b"\n"))
            .map_err(Failure::from_stdout_error)
    }

    pub fn flush(&mut self) -> Result<(), Failure> {
        self.pager_or_stdout()
            .flush()
            .map_err(Failure::from_stdout_error)
    }

    /// Prints and flushes the report of a change that is already written. A failure to print has
    /// exit code 4. `written` names what was written, for the message.
    pub fn print_after_write<T>(
        &mut self,
        written: &str,
        print: impl FnOnce(&mut Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let printed = print(self).and_then(|printed| self.flush().map(|()| printed));
        printed.map_err(|failure| failure.after_writing(written))
    }

    /// Prints a note on standard error, unless `-q` is given. Notes follow the results: they are
    /// printed when the command ends, or before the next status line.
    pub fn warn(&mut self, what: &str) {
        if self.is_quiet {
            return;
        }
        self.pending_notes.push(what.to_owned());
        if self.prints_notes_at_once {
            self.print_notes();
        }
    }

    /// Removes the pending notes, and returns them.
    pub fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.pending_notes)
    }

    /// Prints the pending notes, and every later note immediately. This is for commands that run
    /// until they are interrupted.
    pub fn print_notes_at_once(&mut self) {
        self.prints_notes_at_once = true;
        self.print_notes();
    }

    /// Prints the pending notes. On a terminal, each is shortened to one line.
    pub fn print_notes(&mut self) {
        let width = if self.world.terminals.stderr {
            self.world.terminals.width
        } else {
            None
        };
        for note in std::mem::take(&mut self.pending_notes) {
            let mut line = abbreviate_home_in(&note, self.home().as_deref());
            if let Some(width) = width {
                // `print_error` adds `pisess: `.
                let room = width.saturating_sub(display_width("pisess: note: "));
                line = fit_note(&line, room);
            }
            self.print_error(&format!("note: {line}"));
        }
    }

    /// Returns the exit code of a command that ended with `code`: at least 4 if written lines may
    /// be lost.
    pub fn adjust_exit_code(&self, code: u8) -> u8 {
        if self.has_loss {
            Exit::FailedAfterWrite.code().max(code)
        } else {
            code
        }
    }

    /// Prints a line on standard error, unless `-q` is given. It follows the output printed so far,
    /// also where both streams are one terminal.
    pub fn print_status(&mut self, what: &str) {
        // The output that an error leaves in the buffer is written, or fails, with the next one.
        let _ = self.flush();
        self.print_notes();
        if !self.is_quiet {
            self.print_error(what);
        }
    }

    /// Prints a line on standard error, even with `-q`.
    pub fn print_error(&mut self, what: &str) {
        let line = abbreviate_home_in(what, self.home().as_deref());
        // A failure to write standard error cannot be reported anywhere.
        let _ = writeln!(self.stderr(), "pisess: {}", to_visible(&line));
    }

    /// Asks on standard error whether to do `what`. Returns whether the answer on standard input is
    /// yes.
    ///
    /// # Errors
    /// If standard input is not a terminal, or cannot be read.
    pub fn confirm(&mut self, what: &str) -> Result<bool, Failure> {
        if !self.world.terminals.stdin {
            let why = "standard input is not a terminal";
            let failure = Failure::invalid(format_args!("cannot ask whether to {what}: {why}"));
            return Err(failure.with_hint("--force does it without asking"));
        }
        let answer = self.ask(&format!("{what}? [y/N]"))?;
        Ok(matches!(&*answer, "y" | "Y" | "yes" | "Yes" | "YES"))
    }

    /// Asks a question on standard error, even with `-q`, and returns the line that is typed on
    /// standard input, without white space around it. It is empty at the end of the input.
    pub fn ask(&mut self, question: &str) -> Result<String, Failure> {
        self.print_notes();
        let question = abbreviate_home_in(question, self.home().as_deref());
        let _ = write!(self.stderr(), "pisess: {} ", to_visible(&question));
        let _ = self.stderr().flush();
        let mut answer = Vec::new();
        // A larger buffer would take bytes after the line, and the next question would miss them.
        let mut stdin = BufReader::with_capacity(1, &mut *self.world.stdin);
        stdin
            .read_until(b'\n', &mut answer)
            .map_err(|error| Failure::from_read_error("standard input", error))?;
        Ok(String::from_utf8_lossy(&answer).trim().to_owned())
    }

    /// Prints a row of choices for a question on standard error, even with `-q`.
    pub fn print_option(&mut self, row: &str) {
        let _ = writeln!(self.stderr(), "{}", to_visible(row));
    }

    /// Prints results on standard error, unless `-q` is given. This is for results of a command
    /// whose standard output carries a session.
    pub fn print_to_stderr(&mut self, text: &str) {
        if !self.is_quiet {
            let _ = self.stderr().write_all(text.as_bytes());
        }
    }

    /// Prints a failure on standard error, even with `-q`. Returns its exit code. A closed pipe is
    /// not reported.
    pub fn report_failure(&mut self, failure: &Failure) -> Exit {
        if !failure.is_closed_stdout() {
            let line = if self.prints_json {
                failure.to_json()
            } else {
                let lines = abbreviate_home_in(&failure.to_lines(), self.home().as_deref());
                format!("pisess: {lines}")
            };
            let _ = writeln!(self.stderr(), "{line}");
        }
        failure.exit()
    }
}
