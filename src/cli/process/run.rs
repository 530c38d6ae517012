//! Runs a command that the user gave, with `sh -c`, or `cmd /c` on Windows. Data is passed only on
//! standard input.
//!
//! No part of a session is ever put into an argument or the environment. Input is written and
//! output is read concurrently. A command that stops reading early is not an error.

use super::groups::{ProcessGroup, shell_command};
use super::pipes::{exchange_input_output, sleep_or_signal};
use super::signals::SignalGuard;
use crate::cli::output::{Failure, Ui, to_visible};
use std::io;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The maximum size of the output of a command that the user gave, in bytes.
pub const MOST_OUTPUT_BYTES: usize = 10 << 20;

/// The environment variable with a hook for all commands.
pub const HOOK_VARIABLE: &str = "PISESS_HOOK";
/// The environment variable with a summarizer for all commands.
pub const SUMMARIZER_VARIABLE: &str = "PISESS_SUMMARIZER";

/// A command that the user gave, with its limits and the texts for its failures.
#[derive(Clone, Debug)]
pub struct ShellCommand {
    /// The name of the session, for messages.
    pub session: String,
    /// The option or variable that gave the command, for messages: `--summarizer`, `PISESS_HOOK`,
    /// ….
    pub option: &'static str,
    pub command: String,
    /// The time limit.
    pub timeout: Duration,
    /// What a failure of the command means for the session, for messages.
    pub failure_outcome: &'static str,
    /// A hint on how to see the command's input.
    pub hint: &'static str,
    /// The maximum size of the output, in bytes.
    pub most_output_bytes: usize,
}

/// The option and the environment variable that may give a command.
pub struct CommandNames {
    pub option: &'static str,
    pub variable: &'static str,
}

/// The meaning of a failure before anything is written.
pub const NOTHING_WRITTEN: &str = "nothing was written";

impl ShellCommand {
    /// Returns the command of an option (`given`, if the option is used), else the command of an
    /// environment variable. `None` if neither gives one, or if the command is empty. `hint`
    /// follows the message of a failure.
    pub fn from_option_or_env(
        session: &str,
        given: Option<&String>,
        names: CommandNames,
        timeout: Duration,
        hint: &'static str,
        ui: &Ui,
    ) -> Option<ShellCommand> {
        let (given_by, command) = match given {
            Some(command) => (names.option, command.clone()),
            None => (names.variable, ui.env_var(names.variable)?),
        };
        // An empty option thus disables the command in the environment.
        if command.trim().is_empty() {
            return None;
        }
        Some(ShellCommand {
            session: session.to_owned(),
            option: given_by,
            command,
            timeout,
            failure_outcome: NOTHING_WRITTEN,
            hint,
            most_output_bytes: MOST_OUTPUT_BYTES,
        })
    }

    /// Runs the command with `input` on standard input, and returns its output. If a signal is to
    /// end pisess meanwhile, the command and its descendants are ended first.
    pub fn run(&self, input: Vec<u8>) -> Result<Vec<u8>, Failure> {
        let signal_guard = SignalGuard::install();
        let (mut child, mut group) = self.spawn()?;
        let outcome = self.wait_for_output(&mut child, &input, &signal_guard);
        if outcome.is_err() {
            group.kill(&mut child, signal_guard.pending_signal());
        }
        outcome
    }

    /// Passes `input` to the running command, waits until it exits, and returns its output. Fails
    /// if the command fails, or runs longer than the timeout: then it may still be running.
    fn wait_for_output(
        &self,
        child: &mut Child,
        input: &[u8],
        signal_guard: &SignalGuard,
    ) -> Result<Vec<u8>, Failure> {
        let deadline = Instant::now() + self.timeout;
        let max_bytes = self.most_output_bytes;
        let output = exchange_input_output(child, input, max_bytes, deadline, signal_guard)
            .map_err(|error| self.io_failure(&error))?;
        let status = wait_for_exit(child, deadline, signal_guard)
            .map_err(|error| self.io_failure(&error))?;
        if status.success() {
            Ok(output)
        } else {
            Err(self.failure(&status.to_string()))
        }
    }

    /// Starts the command in its own process group, so that its descendants can be ended with it.
    fn spawn(&self) -> Result<(Child, ProcessGroup), Failure> {
        let mut command = shell_command(&self.command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        // A hook or summarizer that itself runs pisess would otherwise be called again, endlessly.
        command
            .env_remove(HOOK_VARIABLE)
            .env_remove(SUMMARIZER_VARIABLE);
        let mut child = command
            .spawn()
            .map_err(|error| self.failure(&error.to_string()))?;
        let group = ProcessGroup::from_child(&mut child);
        Ok((child, group))
    }

    /// Returns the failure of a command that did not exit by itself. After a signal, this failure
    /// is never printed: once the command has ended, the signal ends pisess.
    fn io_failure(&self, error: &io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::FileTooLarge => {
                let limit_mb = self.most_output_bytes >> 20;
                self.failure(&format!("it printed more than {limit_mb} MB"))
            }
            io::ErrorKind::TimedOut => self
                .failure(&format!(
                    "no result within {} s",
                    self.timeout.as_secs_f64()
                ))
                .with_hint("allow more time with --timeout"),
            _ => self.failure(&error.to_string()),
        }
    }

    /// Returns a failure of the command. `what` says what went wrong, as in `a.jsonl: --summarizer
    /// "llm": exit code 1; nothing was written`.
    pub fn failure(&self, what: &str) -> Failure {
        let session = &self.session;
        let option = &self.option;
        let command = to_visible(&self.command);
        let mut message = format!("{session}: {option} {command:?}: {what}");
        if !self.failure_outcome.is_empty() {
            message += "; ";
            message += self.failure_outcome;
        }
        Failure::command_error(message)
            .with_path(session)
            .with_hint(self.hint)
    }
}

/// The first interval between two looks at a child. It doubles with each look.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(1);
/// The maximum interval between two looks at a child.
const LONGEST_INTERVAL: Duration = Duration::from_millis(50);

/// Waits until a child that has closed its output exits.
///
/// # Errors
/// `TimedOut` after the deadline, `Interrupted` if a signal will end pisess.
fn wait_for_exit(
    child: &mut Child,
    deadline: Instant,
    signal_guard: &SignalGuard,
) -> io::Result<ExitStatus> {
    let mut interval = SHORTEST_INTERVAL;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if signal_guard.pending_signal().is_some() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        if Instant::now() >= deadline {
            return Err(io::ErrorKind::TimedOut.into());
        }
        sleep_or_signal(signal_guard, interval);
        interval = (interval * 2).min(LONGEST_INTERVAL);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn run(command: &str, input: &[u8], seconds: f64) -> Result<Vec<u8>, Failure> {
        let timeout = Duration::from_secs_f64(seconds);
        let (command, option) = (command.into(), "--summarizer");
        let shell = ShellCommand {
            session: "s".to_owned(),
            option,
            command,
            timeout,
            failure_outcome: NOTHING_WRITTEN,
            hint: "h",
            most_output_bytes: MOST_OUTPUT_BYTES,
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
        assert!(failure.to_line().contains("no result within 0.2 s"));
    }
}
