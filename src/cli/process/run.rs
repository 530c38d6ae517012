//! Runs a command given by the user: `sh -c`, or `cmd /c` on Windows, with text on standard input only.
//!
//! No part of a session is ever put into an argument or the environment. Input is written and output
//! read concurrently; a child that stops reading early is not an error.

use super::groups::{Group, command};
use super::pipes::{Reply, exchange, pause};
use super::signals::Waiting;
use crate::cli::output::{Failure, visible};
use std::borrow::Cow;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// The maximum output of a command, in bytes.
const MOST_OUTPUT: usize = 10 << 20;

/// The environment variable that sets a hook for every command.
pub const HOOK: &str = "PISESS_HOOK";
/// The environment variable that sets a summarizer for every command.
pub const SUMMARIZER: &str = "PISESS_SUMMARIZER";

/// A command to run.
pub struct Shell<'a> {
    /// The name of the session, for messages.
    pub session: &'a str,
    /// The option or variable that set it, for messages: `--summarizer`, `PISESS_HOOK`, ….
    pub option: &'a str,
    /// The command, for the shell.
    pub command: Cow<'a, str>,
    /// The time limit.
    pub timeout: Duration,
    /// The state of the session if the command fails, for messages.
    pub outcome: &'a str,
    /// A hint on how to print its input.
    pub hint: &'a str,
}

/// The outcome if a command fails before anything is written.
pub const UNTOUCHED: &str = "nothing was written";

impl Shell<'_> {
    /// Runs the command with `input` on standard input and returns its output. If a signal terminates pisess
    /// in the meantime, the command and its descendants are terminated first.
    pub fn run(&self, input: Vec<u8>) -> Result<Vec<u8>, Failure> {
        let waiting = Waiting::begin();
        let (mut child, mut group) = self.spawn()?;
        let deadline = Instant::now() + self.timeout;
        let outcome = match exchange(&mut child, &input, MOST_OUTPUT, deadline, &waiting) {
            Ok(Reply::Output(output)) => self.wait(&mut child, deadline, &waiting).map(|()| output),
            Ok(Reply::TooMuch) => Err(self.failed("it printed more than 10 MB")),
            Ok(Reply::TooSlow) => Err(self.too_slow()),
            Ok(Reply::Interrupted) => Err(self.interrupted()),
            Err(error) => Err(self.failed(&error.to_string())),
        };
        if outcome.is_err() {
            group.end(&mut child, waiting.signal());
        }
        outcome
    }

    fn spawn(&self) -> Result<(Child, Group), Failure> {
        let mut command = command(&self.command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        // Otherwise one that is exported to the environment and runs pisess would recurse endlessly.
        command.env_remove(HOOK).env_remove(SUMMARIZER);
        let child = command.spawn().map_err(|error| self.failed(&error.to_string()))?;
        let group = Group::of(&child);
        Ok((child, group))
    }

    /// Waits for a child that has closed its output to exit.
    fn wait(&self, child: &mut Child, deadline: Instant, waiting: &Waiting) -> Result<(), Failure> {
        let mut time = Duration::from_millis(1);
        loop {
            match child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => return Err(self.failed(&status.to_string())),
                Ok(None) if waiting.signal().is_some() => return Err(self.interrupted()),
                Ok(None) if Instant::now() >= deadline => return Err(self.too_slow()),
                Ok(None) => pause(waiting, time),
                Err(error) => return Err(self.failed(&error.to_string())),
            }
            time = (time * 2).min(Duration::from_millis(50));
        }
    }

    /// Returns a failure that is never printed: once the command has ended, the signal ends pisess.
    fn interrupted(&self) -> Failure {
        self.failed("interrupted")
    }

    fn too_slow(&self) -> Failure {
        self.failed(&format!("no result within {} s", self.timeout.as_secs_f64()))
            .hint("allow more time with --timeout")
    }

    /// Returns a failure of the command.
    pub fn failed(&self, what: &str) -> Failure {
        let Shell { session, option, command, outcome, hint, .. } = self;
        let outcome = if outcome.is_empty() { String::new() } else { format!("; {outcome}") };
        Failure::command(format_args!("{session}: {option} {:?}: {what}{outcome}", visible(command)))
            .path(*session)
            .hint(*hint)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn run(command: &str, input: &[u8], seconds: f64) -> Result<Vec<u8>, Failure> {
        let timeout = Duration::from_secs_f64(seconds);
        let (command, option) = (command.into(), "--summarizer");
        let shell = Shell { session: "s", option, command, timeout, outcome: UNTOUCHED, hint: "h" };
        shell.run(input.to_vec())
    }

    #[test]
    fn input_and_output_pass_at_the_same_time() {
        let input = vec![b'x'; 4 << 20];
        assert_eq!(run("cat", &input, 20.0).unwrap().len(), input.len());
        assert_eq!(run("head -c 3", &input, 20.0).unwrap(), b"xxx");
    }

    #[test]
    fn failures_are_reported() {
        let told = |command: &str, seconds| run(command, b"", seconds).unwrap_err().line();
        assert!(told("exit 3", 20.0).contains("exit status: 3"));
        assert!(told("sleep 30", 0.2).contains("no result within 0.2 s"));
        assert!(told("exec >&-; sleep 30", 0.2).contains("no result"));
        assert!(told("yes", 20.0).contains("more than 10 MB"));
        assert!(told("sleep 30 & sleep 30", 0.2).contains("no result"));
    }
}
