//! Shows long output on a terminal with a pager, which is chosen as in git.

use crate::cli::process::command_line::{SHELL_SYNTAX, parse_command};
use crate::cli::process::signals::SignalGuard;
use crate::world::World;
use pisess_store::plain;
use std::io::{self, BufWriter, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

/// The environment variables that name a pager. The first one that is set counts, even if it is
/// empty.
const PAGER_VARIABLES: [&str; 2] = ["PISESS_PAGER", "PAGER"];
/// The pager if no environment variable names one.
const DEFAULT_PAGER: &str = "less";
/// The default options of pagers, by the environment variable for them: quit if everything fits on
/// the screen, show colours, and do not clear the screen.
const PAGER_OPTIONS: [(&str, &str); 2] = [("LESS", "FRX"), ("LV", "-c")];

pub(super) struct Pager {
    stdin: BufWriter<ChildStdin>,
    child: Arc<Mutex<Child>>,
    /// Keeps Ctrl-C from ending pisess: it is for the pager, which uses the terminal until it
    /// exits.
    waiting: SignalGuard,
}

impl Pager {
    /// Starts the pager. Returns `None` if the environment names `cat` or nothing, or if it names
    /// no pager and the default one is not installed.
    ///
    /// `less` opens at `first_line`, and keeps the first `heading_lines` lines on the screen. Other
    /// pagers do neither.
    ///
    /// # Errors
    /// If the pager that the environment names cannot be started.
    pub fn start(
        world: &World,
        first_line: usize,
        heading_lines: usize,
    ) -> Result<Option<Pager>, String> {
        let configured = PAGER_VARIABLES
            .into_iter()
            .find_map(|name| (world.env)(name));
        let command_line = configured.as_deref().unwrap_or(DEFAULT_PAGER).trim();
        if matches!(command_line, "" | "cat") {
            return Ok(None);
        }
        let mut command = parse_command(command_line);
        command.stdin(Stdio::piped());
        let keeps_heading = heading_lines > 0 && less_keeps_headings(command_line, world);
        let kept_lines = if keeps_heading { heading_lines } else { 0 };
        // Options are given in variables, because each pager ignores the variables of the others.
        for (variable, default_options) in PAGER_OPTIONS {
            let configured_options = (world.env)(variable);
            let mut options = configured_options.unwrap_or_else(|| default_options.to_owned());
            if variable == "LESS" {
                options += &less_options(first_line, kept_lines);
            }
            command.env(variable, options);
        }

        let waiting = SignalGuard::install();
        match (world.spawn)(&mut command) {
            Ok(child) => Ok(Pager::from_child(child, waiting)),
            // The default pager may be missing; a pager that the user named may not.
            Err(_) if configured.is_none() => Ok(None),
            Err(error) => {
                let reason = plain(&error);
                Err(format!("cannot run the pager {command_line}: {reason}"))
            }
        }
    }

    /// Returns the pager for a started process; `None` if its input is not a pipe.
    fn from_child(mut child: Child, waiting: SignalGuard) -> Option<Pager> {
        let stdin = BufWriter::with_capacity(64 * 1024, child.stdin.take()?);
        let child = Arc::new(Mutex::new(child));
        let running = Arc::clone(&child);
        // A signal ends pisess only after the pager has exited, even if there is more to print.
        // This guard belongs to the thread that waits for the signal; `waiting` belongs to the
        // pager.
        SignalGuard::install().run_before_exit(move || wait_for_exit(&running));
        Some(Pager {
            stdin,
            child,
            waiting,
        })
    }

    pub fn stdin(&mut self) -> &mut (dyn Write + Send) {
        &mut self.stdin
    }

    /// Closes the input of the pager, and waits until the user quits. Until then, Ctrl-C does not
    /// end pisess.
    pub fn finish(mut self) {
        // Other failures to write were reported before. If the user has quit the pager before the
        // end of the text, that is no error.
        let _ = self.stdin.flush();
        // The pipe is closed, so that the pager sees the end of the text. Dropping the
        // `BufWriter` itself would write again what could not be written.
        let (pipe, _unwritten) = self.stdin.into_parts();
        drop(pipe);
        wait_for_exit(&self.child);
        // Not earlier: from now on, Ctrl-C ends pisess.
        drop(self.waiting);
    }
}

/// Returns the options of less to open at a line, and to keep the first lines on the screen, each
/// after a space.
fn less_options(first_line: usize, kept_lines: usize) -> String {
    let mut options = String::new();
    if kept_lines > 0 {
        options += &format!(" --header={kept_lines}");
    }
    if first_line > 1 {
        options += &format!(" +{first_line}g");
    }
    options
}

/// The first version of less with the option `--header`. Earlier ones report an unknown option as
/// an error, and wait for a key.
const FIRST_VERSION_WITH_HEADER: u32 = 600;

/// Whether the pager is a version of less that can keep lines on the screen. Only its version
/// number shows that.
fn less_keeps_headings(command_line: &str, world: &World) -> bool {
    let program = command_line.split_whitespace().next().unwrap_or_default();
    let is_less = program.rsplit('/').next() == Some("less");
    if !is_less || command_line.contains(SHELL_SYNTAX) {
        return false;
    }
    let mut command = Command::new(program);
    command
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let Ok(child) = (world.spawn)(&mut command) else {
        return false;
    };
    let Ok(output) = child.wait_with_output() else {
        return false;
    };
    let version = parse_less_version(&String::from_utf8_lossy(&output.stdout));
    version.is_some_and(|version| version >= FIRST_VERSION_WITH_HEADER)
}

/// Returns the version number in the output of `less --version`. For `less 643 (GNU regular
/// expressions)`, that is 643. A development version has a suffix, which is ignored: `643x`,
/// `581.2`.
fn parse_less_version(output: &str) -> Option<u32> {
    let version = output.split_whitespace().nth(1)?;
    let number = version.split(|c: char| !c.is_ascii_digit()).next()?;
    number.parse().ok()
}

fn wait_for_exit(child: &Mutex<Child>) {
    let _: io::Result<_> = child.lock().unwrap_or_else(PoisonError::into_inner).wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_less_is_its_first_number() {
        let version = |name: &str| parse_less_version(&format!("less {name} (PCRE2 ...)"));
        assert_eq!(version("643"), Some(643));
        assert_eq!(version("643x"), Some(643));
        assert_eq!(version("661.1"), Some(661));
        assert_eq!(parse_less_version("BusyBox v1.36.1"), None);
        assert_eq!(parse_less_version(""), None);
    }
}
