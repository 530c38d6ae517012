//! What commands read from and print to: the [`World`] and the options of every command as one value.
//!
//! Data goes to standard output, diagnostics to standard error. Every `pisess:` line is printed here.

mod failure;
mod visible;

mod clock;
mod progress;
mod rows;

pub use clock::Clock;
pub use failure::{Exit, Failure};
pub use progress::Progress;
pub use rows::{
    Glyphs, Rows, STRETCH, Styles, columns, draw_stretches, fitted, fitted_path, fitted_styled, pens, styled,
};
pub use visible::{is_plain, push_visible, visible, visible_lines};

use crate::core::store::{Committed, SessionFile};
use crate::options::GlobalArgs;
use crate::world::World;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// The user interface of one command line.
pub struct Ui<'w> {
    world: World<'w>,
    is_quiet: bool,
    /// Whether errors are JSON.
    json: bool,
    /// Colours for standard output.
    pub styles: Styles,
}

impl<'w> Ui<'w> {
    /// Returns one without options; `json` decides how errors are printed.
    pub fn new(world: World<'w>, json: bool) -> Self {
        Ui { world, is_quiet: false, json, styles: Styles::default() }
    }

    /// Applies the options of every command.
    pub fn configure(&mut self, global: &GlobalArgs) {
        self.is_quiet = global.quiet;
        self.styles = Styles::new(global.color, self.wants_colour());
    }

    /// Whether standard output is a terminal on which nothing speaks against colour.
    pub fn wants_colour(&self) -> bool {
        let no_color = self.env("NO_COLOR").is_some_and(|value| !value.is_empty());
        let is_dumb = self.env("TERM").is_some_and(|term| term == "dumb");
        self.world.terminals.stdout && !no_color && !is_dumb
    }

    /// Returns an environment variable, where it is set and is text.
    pub fn env(&self, name: &str) -> Option<String> {
        (self.world.env)(name)
    }

    /// Returns the user's home folder.
    pub fn home(&self) -> Option<String> {
        self.world.home()
    }

    /// Returns the folder that relative paths start from.
    pub fn folder(&self) -> &Path {
        &self.world.folder
    }

    /// Returns the path from the root without symbolic links, as far as it exists.
    pub fn absolute(&self, path: &Path) -> PathBuf {
        let path = self.world.folder.join(path);
        path.canonicalize().unwrap_or(path)
    }

    /// Returns milliseconds since 1970.
    pub fn now_ms(&self) -> i64 {
        (self.world.now_ms)()
    }

    /// Returns random bytes, for ids.
    pub fn random(&self) -> [u8; 16] {
        (self.world.random)()
    }

    /// Returns how many processors to use.
    pub fn processors(&self) -> usize {
        self.world.processors
    }

    /// Returns a function that decides whether a file is standard output.
    pub fn stdout_is(&self) -> &'w (dyn Fn(&SessionFile) -> bool + Sync) {
        self.world.stdout_is
    }

    /// Runs a program in the place of pisess, where that is possible; its exit code.
    pub fn run_program(&mut self, program: &Path, arguments: &[OsString]) -> io::Result<u8> {
        (self.world.run_program)(program, arguments)
    }

    /// Returns standard input.
    pub fn stdin(&mut self) -> &mut dyn Read {
        self.world.stdin
    }

    /// Whether standard input is a terminal.
    pub fn stdin_is_terminal(&self) -> bool {
        self.world.terminals.stdin
    }

    /// Whether standard output is a terminal.
    pub fn stdout_is_terminal(&self) -> bool {
        self.world.terminals.stdout
    }

    /// Returns how many columns rows may take: `COLUMNS`, else those of the terminal. Without either,
    /// rows are whole.
    pub fn width(&self) -> Option<usize> {
        let named =
            self.env("COLUMNS").and_then(|columns| columns.parse().ok()).filter(|&columns| columns > 0);
        named.or(self.world.terminals.width.filter(|_| self.world.terminals.stdout))
    }

    /// Returns standard output, for text that is made visible already.
    pub fn stdout(&mut self) -> &mut dyn Write {
        self.world.stdout
    }

    /// Returns standard output for verbatim data: raw in a pipe, visible on a terminal.
    pub fn verbatim(&mut self) -> Box<dyn Write + '_> {
        match self.world.terminals.stdout {
            true => Box::new(visible::Shown::new(self.world.stdout)),
            false => Box::new(&mut *self.world.stdout),
        }
    }

    /// Prints text that is made visible already.
    pub fn print(&mut self, text: &str) -> Result<(), Failure> {
        self.world.stdout.write_all(text.as_bytes()).map_err(Failure::output)
    }

    /// Prints one JSON value on a line of its own.
    pub fn print_json(&mut self, json: &[u8]) -> Result<(), Failure> {
        let mut out = self.verbatim();
        out.write_all(json).and_then(|()| out.write_all(b"\n")).map_err(Failure::output)
    }

    /// Sends on what was printed.
    pub fn flush(&mut self) -> Result<(), Failure> {
        self.world.stdout.flush().map_err(Failure::output)
    }

    /// Prints a note on standard error, unless `-q` is given: the command goes on all the same.
    pub fn warn(&mut self, what: &str) {
        self.status(&format!("note: {what}"));
    }

    /// Prints what went wrong after a commit; the commit stands.
    pub fn warn_of(&mut self, committed: &Committed) {
        for warning in &committed.troubles {
            self.warn(&warning.to_string());
        }
    }

    /// Prints a line on standard error, unless `-q` is given.
    pub fn status(&mut self, what: &str) {
        if !self.is_quiet {
            // There is nowhere to report that this failed.
            let _ = writeln!(self.world.stderr, "pisess: {}", visible(what));
        }
    }

    /// Prints a line on standard error, also with `-q`.
    pub fn error(&mut self, what: &str) {
        let _ = writeln!(self.world.stderr, "pisess: {}", visible(what));
    }

    /// Prints text on standard error, unless `-q` is given: results, where standard output carries a session.
    pub fn print_aside(&mut self, text: &str) {
        if !self.is_quiet {
            let _ = self.world.stderr.write_all(text.as_bytes());
        }
    }

    /// Prints an error on standard error, also with `-q`; returns the exit it leads to.
    pub fn report(&mut self, failure: &Failure) -> Exit {
        if !failure.is_silent() {
            let line = if self.json { failure.json() } else { format!("pisess: {}", failure.line()) };
            let _ = writeln!(self.world.stderr, "{line}");
        }
        failure.exit()
    }

    /// Shows on a terminal how many of these files are done.
    pub fn progress(&self, files: usize) -> Progress {
        Progress::of_files(files, self.shows_progress())
    }

    /// Shows on a terminal that a command runs, and for how long.
    pub fn spinner(&self, what: &str) -> Progress {
        Progress::of_command(what, self.shows_progress())
    }

    fn shows_progress(&self) -> bool {
        self.world.terminals.stderr && !self.is_quiet
    }
}
