//! Runs commands, and measures their time and memory.

use std::fs::File;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A command line.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its name in the table.
    pub name: String,
    /// The program and its arguments.
    pub words: Vec<String>,
    /// Whether it is a search, which exits with 1 if it finds nothing.
    is_search: bool,
}

impl Run {
    /// Returns a run of a program with arguments.
    pub fn new(name: &str, words: &[&str]) -> Run {
        let words = words.iter().map(|&word| word.to_owned()).collect();
        Run {
            name: name.to_owned(),
            words,
            is_search: false,
        }
    }

    /// Returns the same run, as a search.
    pub fn search(self) -> Run {
        Run {
            is_search: true,
            ..self
        }
    }

    fn is_done(&self, status: ExitStatus) -> bool {
        status.success() || self.is_search && status.code() == Some(1)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.words[0]);
        command
            .args(&self.words[1..])
            .stdin(Stdio::null())
            .env("TZ", "UTC");
        command
    }

    /// Returns what the command prints.
    pub fn output(&self) -> Result<Vec<u8>, String> {
        let output = self
            .command()
            .output()
            .map_err(|error| format!("{}: {error}", self.name))?;
        if self.is_done(output.status) {
            Ok(output.stdout)
        } else {
            Err(format!(
                "{}: {}: {}",
                self.name,
                output.status,
                String::from_utf8_lossy(&output.stderr)
            ))
        }
    }

    /// Returns the time from start to end, with the output discarded.
    pub fn time(&self) -> Result<Duration, String> {
        let mut command = self.command();
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let start = Instant::now();
        let status = command
            .status()
            .map_err(|error| format!("{}: {error}", self.name))?;
        let took = start.elapsed();
        if self.is_done(status) {
            Ok(took)
        } else {
            Err(format!("{}: {status}", self.name))
        }
    }

    /// Returns the peak memory in KiB as measured by GNU time; `None` if that is not installed.
    pub fn peak(&self, scratch: &Path) -> Option<u64> {
        let told = scratch.join("peak");
        let mut command = Command::new("/usr/bin/time");
        command
            .args(["-f", "%M", "-o"])
            .arg(&told)
            .args(&self.words)
            .env("TZ", "UTC");
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
            .status()
            .ok()
            .filter(|&status| self.is_done(status))?;
        std::fs::read_to_string(told).ok()?.trim().parse().ok()
    }
}

/// Reads a file, so that its content is in the page cache.
pub fn warm(path: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    std::io::copy(&mut File::open(path).map_err(failed)?, &mut std::io::sink()).map_err(failed)?;
    Ok(())
}
