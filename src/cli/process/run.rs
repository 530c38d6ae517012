//! Runs a command given by the user: `sh -c`, or `cmd /c` on Windows, with text on standard input
//! only.
//!
//! No part of a session is ever put into an argument or the environment. Input is written and
//! output read concurrently; a child that stops reading early is not an error.

use super::groups::{ProcessGroup, shell_command};
use super::pipes::{exchange_input_output, sleep_or_signal};
use super::signals::SignalGuard;
use crate::cli::output::{Failure, Ui, to_visible};
use std::io;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The maximum output of a command that the user gives, in bytes.
pub const MOST_OUTPUT_BYTES: usize = 10 << 20;

/// The environment variable that sets a hook for every command.
pub const HOOK_VARIABLE: &str = "PISESS_HOOK";
/// The environment variable that sets a summarizer for every command.
pub const SUMMARIZER_VARIABLE: &str = "PISESS_SUMMARIZER";

#[derive(Clone, Debug)]
pub struct ShellCommand {
    /// The name of the session, for messages.
    pub session: String,
    /// The option or variable that set it, for messages: `--summarizer`, `PISESS_HOOK`, ….
    pub option: &'static str,
    pub command: String,
    /// The time limit.
    pub timeout: Duration,
    /// The state of the session if the command fails, for messages.
    pub failure_outcome: &'static str,
    /// A hint on how to print its input.
    pub hint: &'static str,
    /// The maximum output, in bytes.
    pub most_output_bytes: usize,
}

/// The outcome if a command fails before anything is written.
pub const NOTHING_WRITTEN: &str = "nothing was written";

impl ShellCommand {
    /// Returns the command that an option gives, else that of an environment variable; an empty
    /// command is none.
    pub fn from_option_or_env(
        session: &str,
        given: Option<&String>,
        [option, variable]: [&'static str; 2],
        timeout: Duration,
        hint: &'static str,
        ui: &Ui,
    ) -> Option<ShellCommand> {
        let (option, command) = match given {
            Some(command) => (option, command.clone()),
            None => (variable, ui.env_var(variable)?),
        };
        // So an empty option disables what the environment sets.
        if command.trim().is_empty() {
            return None;
        }
        Some(ShellCommand {
            session: session.to_owned(),
            option,
            command,
            timeout,
            failure_outcome: NOTHING_WRITTEN,
            hint,
            most_output_bytes: MOST_OUTPUT_BYTES,
        })
    }

    /// Runs the command with `input` on standard input and returns its output. If a signal
    /// terminates pisess in the meantime, the command and its descendants are terminated first.
    pub fn run(&self, input: Vec<u8>) -> Result<Vec<u8>, Failure> {
        let signal_guard = SignalGuard::install();
        let (mut child, mut group) = self.spawn()?;
        let deadline = Instant::now() + self.timeout;
        let result = exchange_input_output(
            &mut child,
            &input,
            self.most_output_bytes,
            deadline,
            &signal_guard,
        )
        .and_then(|output| Ok((output, wait_for_exit(&mut child, deadline, &signal_guard)?)));
        let outcome = match result {
            Ok((output, status)) if status.success() => Ok(output),
            Ok((_, status)) => Err(self.failure(&status.to_string())),
            Err(error) => Err(self.io_failure(&error)),
        };
        if outcome.is_err() {
            group.kill(&mut child, signal_guard.pending_signal());
        }
        outcome
    }

    /// Starts the command in a process group of its own, so that what it starts can be ended with
    /// it.
    fn spawn(&self) -> Result<(Child, ProcessGroup), Failure> {
        let mut command = shell_command(&self.command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        // Otherwise a hook or summarizer in the environment that runs pisess would call itself
        // endlessly.
        command
            .env_remove(HOOK_VARIABLE)
            .env_remove(SUMMARIZER_VARIABLE);
        let mut child = command
            .spawn()
            .map_err(|error| self.failure(&error.to_string()))?;
        let group = ProcessGroup::from_child(&mut child);
        Ok((child, group))
    }

    /// Returns the failure of a command that did not end by itself. That for a signal is never
    /// printed: once the command has ended, the signal ends pisess.
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

    /// Returns a failure of the command: `what` went wrong, after the session, the option and the
    /// command, and before the state of the session.
    pub fn failure(&self, what: &str) -> Failure {
        let ShellCommand {
            session,
            option,
            command,
            failure_outcome: outcome,
            hint,
            ..
        } = self;
        let outcome = if outcome.is_empty() {
            String::new()
        } else {
            format!("; {outcome}")
        };
        Failure::command_error(format_args!(
            "{session}: {option} {:?}: {what}{outcome}",
            to_visible(command)
        ))
        .with_path(session)
        .with_hint(*hint)
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
