//! Everything outside: streams, terminals, clock, randomness, environment.
//!
//! The binary builds a [`World`] from the process, tests build one from buffers. Nothing else in
//! the library reaches for these.

use crate::core::store::SessionFile;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// What a run of pisess can see and touch, files aside.
pub struct World<'a> {
    /// Read for `-`.
    pub stdin: &'a mut dyn Read,
    /// Data.
    pub stdout: &'a mut dyn Write,
    /// Talk.
    pub stderr: &'a mut dyn Write,
    /// Which of the streams are terminals.
    pub terminals: Terminals,
    /// An environment variable, where it is set and is text.
    pub env: &'a dyn Fn(&str) -> Option<String>,
    /// Milliseconds since 1970.
    pub now_ms: &'a dyn Fn() -> i64,
    /// Random bytes, for ids.
    pub random: &'a dyn Fn() -> [u8; 16],
    /// Runs a program with these arguments on the same streams, in the place of pisess where that can
    /// be; its exit code.
    pub run_program: &'a dyn Fn(&Path, &[OsString]) -> io::Result<u8>,
    /// Whether standard output is this file.
    pub stdout_is: &'a (dyn Fn(&SessionFile) -> bool + Sync),
    /// The directory that relative paths start from.
    pub folder: PathBuf,
    /// Processors to use.
    pub processors: usize,
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
    /// Columns of the terminal, where there is one.
    pub width: Option<usize>,
}

impl World<'_> {
    /// The person's home directory.
    pub fn home(&self) -> Option<String> {
        (self.env)("HOME").or_else(|| (self.env)("USERPROFILE")).filter(|home| !home.is_empty())
    }
}
