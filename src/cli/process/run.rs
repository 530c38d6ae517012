//! Runs a command given by the user: `sh -c`, or `cmd /c` on Windows, with text on standard input
//! only.
//!
//! No part of a session is ever put into an argument or the environment. Input is written and
//! output read concurrently; a child that stops reading early is not an error.

use super::groups::{Group, command};
use super::pipes::{exchange, pause};
use super::signals::Waiting;
use crate::cli::output::{Failure, Ui, visible};
use std::io;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The maximum output of a command, in bytes.
const MOST_OUTPUT: usize = 10 << 20;

/// The environment variable that sets a hook for every command.
pub const HOOK: &str = "PISESS_HOOK";
/// The environment variable that sets a summarizer for every command.
pub const SUMMARIZER: &str = "PISESS_SUMMARIZER";

#[derive(Clone, Debug)]
pub struct Shell {
    /// The name of the session, for messages.
    pub session: String,
    /// The option or variable that set it, for messages: `--summarizer`, `PISESS_HOOK`, ….
    pub option: &'static str,
    pub command: String,
    /// The time limit.
    pub timeout: Duration,
    /// The state of the session if the command fails, for messages.
    pub outcome: &'static str,
    /// A hint on how to print its input.
    pub hint: &'static str,
}

/// The outcome if a command fails before anything is written.
pub const UNTOUCHED: &str = "nothing was written";

impl Shell {
    /// Returns the command that an option gives, else that of an environment variable; an empty
    /// command is none.
    pub fn chosen(
        session: &str,
        given: Option<&String>,
        [option, variable]: [&'static str; 2],
        timeout: Duration,
        hint: &'static str,
        ui: &Ui,
    ) -> Option<Shell> {
        let (option, command) = match given {
            Some(command) => (option, command.clone()),
            None => (variable, ui.env(variable)?),
        };
        let (session, outcome) = (session.to_owned(), UNTOUCHED);
        let shell = Shell {
            session,
            option,
            command,
            timeout,
            outcome,
            hint,
        };
        Some(shell).filter(|shell| !shell.command.trim().is_empty())
    }

    /// Runs the command with `input` on standard input and returns its output. If a signal
    /// terminates pisess in the meantime, the command and its descendants are terminated first.
    pub fn run(&self, input: Vec<u8>) -> Result<Vec<u8>, Failure> {
        let waiting = Waiting::begin();
        let (mut child, mut group) = self.spawn()?;
        let deadline = Instant::now() + self.timeout;
        let ended = exchange(&mut child, &input, MOST_OUTPUT, deadline, &waiting)
            .and_then(|output| Ok((output, wait(&mut child, deadline, &waiting)?)));
        let outcome = match ended {
            Ok((output, status)) if status.success() => Ok(output),
            Ok((_, status)) => Err(self.failed(&status.to_string())),
            Err(error) => Err(self.stopped(&error)),
        };
        if outcome.is_err() {
            group.end(&mut child, waiting.signal());
        }
        outcome
    }

    fn spawn(&self) -> Result<(Child, Group), Failure> {
        let mut command = command(&self.command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        // Otherwise a hook or summarizer in the environment that runs pisess would call itself
        // endlessly.
        command.env_remove(HOOK).env_remove(SUMMARIZER);
        let mut child = command
            .spawn()
            .map_err(|error| self.failed(&error.to_string()))?;
        let group = Group::of(&mut child);
        Ok((child, group))
    }

    /// Returns the failure of a command that did not end by itself. That for a signal is never
    /// printed: once the command has ended, the signal ends pisess.
    fn stopped(&self, error: &io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::FileTooLarge => self.failed("it printed more than 10 MB"),
            io::ErrorKind::TimedOut => self
                .failed(&format!(
                    "no result within {} s",
                    self.timeout.as_secs_f64()
                ))
                .hint("allow more time with --timeout"),
            _ => self.failed(&error.to_string()),
        }
    }

    /// Returns a failure of the command: `what` went wrong, after the session, the option and the
    /// command, and before the state of the session.
    pub fn failed(&self, what: &str) -> Failure {
        let Shell {
            session,
            option,
            command,
            outcome,
            hint,
            ..
        } = self;
        let outcome = if outcome.is_empty() {
            String::new()
        } else {
            format!("; {outcome}")
        };
        Failure::command(format_args!(
            "{session}: {option} {:?}: {what}{outcome}",
            visible(command)
        ))
        .path(session)
        .hint(*hint)
    }
}

/// The time between the first two looks at a child; it doubles with each look.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(1);
/// The longest time between two looks at a child.
const LONGEST_INTERVAL: Duration = Duration::from_millis(50);

/// Waits for a child that has closed its output to exit.
///
/// # Errors
/// `TimedOut` after the deadline, `Interrupted` if a signal ends pisess.
fn wait(child: &mut Child, deadline: Instant, waiting: &Waiting) -> io::Result<ExitStatus> {
    let mut interval = SHORTEST_INTERVAL;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if waiting.signal().is_some() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        if Instant::now() >= deadline {
            return Err(io::ErrorKind::TimedOut.into());
        }
        pause(waiting, interval);
        interval = (interval * 2).min(LONGEST_INTERVAL);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn run(command: &str, input: &[u8], seconds: f64) -> Result<Vec<u8>, Failure> {
        let timeout = Duration::from_secs_f64(seconds);
        let (command, option) = (command.into(), "--summarizer");
        let shell = Shell {
            session: "s".to_owned(),
            option,
            command,
            timeout,
            outcome: UNTOUCHED,
            hint: "h",
        };
        shell.run(input.to_vec())
    }

    #[test]
    fn input_and_output_pass_at_the_same_time() {
        let input = vec![b'x'; 4 << 20];
        assert_eq!(run("cat", &input, 20.0).unwrap().len(), input.len());
        assert_eq!(run("head -c 3", &input, 20.0).unwrap(), b"xxx");
    }

    #[test]
    fn a_command_that_goes_on_without_output_is_ended() {
        let failure = run("exec >&-; sleep 30", b"", 0.2).unwrap_err();
        assert!(failure.line().contains("no result within 0.2 s"));
    }
}
