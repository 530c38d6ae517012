//! The outside world: streams, terminals, clock, randomness, environment.
//!
//! The binary builds a [`World`] from the process, tests build one from buffers. Nothing else in
//! the library accesses the outside world, except files.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command};

/// Everything that a run of pisess can access, except files.
pub struct World<'a> {
    /// Standard input, for `-`.
    pub stdin: &'a mut dyn Read,
    /// Standard output, for data.
    pub stdout: &'a mut (dyn Write + Send),
    /// Standard output as an open file, if it is one. `stdout` must be flushed before this is
    /// written.
    pub stdout_file: Option<&'a File>,
    /// Standard error, for diagnostics.
    pub stderr: &'a mut dyn Write,
    /// Which of the streams are terminals.
    pub terminals: Terminals,
    /// Whether the terminal of standard error may be drawn on: no other program, such as fzf, reads
    /// its keys.
    pub is_terminal_free: fn() -> bool,
    /// Returns an environment variable, if it is set and valid UTF-8.
    pub env: &'a dyn Fn(&str) -> Option<String>,
    /// Milliseconds since 1970.
    pub now_ms: &'a dyn Fn() -> i64,
    /// Returns random bytes, for ids; an error if the system has no source of them.
    pub random: &'a dyn Fn() -> io::Result<[u8; 16]>,
    /// Runs a program on the same streams, replacing pisess if possible; returns its exit code.
    pub run_program: &'a dyn Fn(&mut Command) -> io::Result<u8>,
    /// Starts a program: a pager, a chooser or a browser.
    pub spawn: &'a dyn Fn(&mut Command) -> io::Result<Child>,
    /// Whether standard output is this file.
    pub stdout_is: &'a (dyn Fn(&File) -> bool + Sync),
    /// The directory that relative paths start from.
    pub folder: PathBuf,
    /// Returns the number of processors to use.
    pub processors: &'a dyn Fn() -> usize,
}

/// Which streams are terminals.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terminals {
    /// Standard input.
    pub stdin: bool,
    /// Standard output.
    pub stdout: bool,
    /// Standard error.
    pub stderr: bool,
    /// The width of the terminal, if there is one.
    pub width: Option<usize>,
    /// Its height, if it reports one.
    pub height: Option<usize>,
}

impl World<'_> {
    /// Returns the user's home directory.
    pub fn home(&self) -> Option<String> {
        // On Windows, the agents use USERPROFILE; shells there set HOME to a path in their own
        // form.
        let names = if cfg!(windows) {
            ["USERPROFILE", "HOME"]
        } else {
            ["HOME", "USERPROFILE"]
        };
        let [first, second] = names.map(|name| (self.env)(name));
        first.or(second).filter(|home| !home.is_empty())
    }
}
