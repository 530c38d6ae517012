//! Running a command that a person gave: `sh -c`, text on standard input only.
//!
//! Nothing of a session is ever put into an argument or the environment. Input is written and output
//! read at the same time; a child that stops reading early is no error.

use super::exchange::{Reply, exchange, pause};
use super::interrupt::Waiting;
use crate::ui::{Failure, visible};
#[cfg(unix)]
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The most that a command may answer, in bytes.
const MOST_OUTPUT: usize = 10 << 20;

/// The environment variable that holds a hook for every command.
pub const HOOK: &str = "PISESS_HOOK";

/// A command to run.
pub struct Shell<'a> {
    /// What the session is called, for messages.
    pub session: &'a str,
    /// Who asked for it, in messages: `--summarizer`, `--hook`, `PISESS_HOOK`.
    pub option: &'a str,
    /// What `sh -c` gets.
    pub command: &'a str,
    /// How long it may take.
    pub timeout: Duration,
    /// What has become of the session when it fails.
    pub outcome: &'a str,
    /// How to see what it is told.
    pub hint: &'a str,
}

/// The outcome of a command that fails before anything is done.
pub const UNTOUCHED: &str = "nothing was written";

impl Shell<'_> {
    /// Gives it `input` and returns what it prints. A signal that ends pisess meanwhile ends the command and
    /// all that it started first.
    pub fn run(&self, input: Vec<u8>) -> Result<Vec<u8>, Failure> {
        let waiting = Waiting::begin();
        let mut child = self.spawn()?;
        let deadline = Instant::now() + self.timeout;
        let outcome = match exchange(&mut child, &input, MOST_OUTPUT, deadline, &waiting) {
            Ok(Reply::Output(output)) => self.wait(&mut child, deadline, &waiting).map(|()| output),
            Ok(Reply::TooMuch) => Err(self.failed("it printed more than 10 MB")),
            Ok(Reply::TooSlow) => Err(self.too_slow()),
            Ok(Reply::Interrupted) => Err(self.interrupted()),
            Err(error) => Err(self.failed(&error.to_string())),
        };
        if outcome.is_err() {
            end_group(&mut child, waiting.signal());
        }
        outcome
    }

    fn spawn(&self) -> Result<Child, Failure> {
        let mut command = Command::new("sh");
        command.arg("-c").arg(self.command).stdin(Stdio::piped()).stdout(Stdio::piped());
        // A hook for all of a shell that calls pisess itself would call itself without an end.
        command.env_remove(HOOK);
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command.spawn().map_err(|error| self.failed(&error.to_string()))
    }

    /// Waits for the end of a child that has closed its output.
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

    /// Never printed: the signal ends pisess once the command is ended.
    fn interrupted(&self) -> Failure {
        self.failed("interrupted")
    }

    fn too_slow(&self) -> Failure {
        self.failed(&format!("no answer within {} s", self.timeout.as_secs_f64()))
            .hint("give it longer with --timeout")
    }

    /// An error of the command.
    pub fn failed(&self, what: &str) -> Failure {
        let Shell { session, option, command, outcome, hint, .. } = *self;
        let outcome = if outcome.is_empty() { String::new() } else { format!("; {outcome}") };
        Failure::command(format_args!("{session}: {option} {:?}: {what}{outcome}", visible(command)))
            .path(session)
            .hint(hint)
    }
}

/// How long a command and what it started may take to end by itself when a signal asks it to.
#[cfg(unix)]
const GRACE: Duration = Duration::from_millis(500);

/// Ends the command and what it started: with the signal that came first, if one did, so that it can put
/// things in order.
fn end_group(child: &mut Child, signal: Option<i32>) {
    #[cfg(unix)]
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // Whoever is gone already needs no signal.
        if let Some(signal) = signal.and_then(Signal::from_named_raw) {
            let _ = kill_process_group(group, signal);
            wait_for_end(child, group);
        }
        let _ = kill_process_group(group, Signal::KILL);
    }
    #[cfg(not(unix))]
    let _ = signal;
    let _ = child.kill();
    let _ = child.wait();
}

/// Waits until nobody is in the group any more, or the grace is over.
#[cfg(unix)]
fn wait_for_end(child: &mut Child, group: Pid) {
    let end = Instant::now() + GRACE;
    while Instant::now() < end {
        // One that was not waited for counts as there. A group's number is free again when nobody is in it.
        if matches!(child.try_wait(), Ok(Some(_))) && test_kill_process_group(group).is_err() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn run(command: &str, input: &[u8], seconds: f64) -> Result<Vec<u8>, Failure> {
        let timeout = Duration::from_secs_f64(seconds);
        let shell =
            Shell { session: "s", option: "--summarizer", command, timeout, outcome: UNTOUCHED, hint: "h" };
        shell.run(input.to_vec())
    }

    #[test]
    fn input_and_output_pass_at_the_same_time() {
        let input = vec![b'x'; 4 << 20];
        assert_eq!(run("cat", &input, 20.0).unwrap().len(), input.len());
        assert_eq!(run("head -c 3", &input, 20.0).unwrap(), b"xxx");
    }

    #[test]
    fn failures_are_told() {
        let told = |command: &str, seconds| run(command, b"", seconds).unwrap_err().line();
        assert!(told("exit 3", 20.0).contains("exit status: 3"));
        assert!(told("sleep 30", 0.2).contains("no answer within 0.2 s"));
        assert!(told("exec >&-; sleep 30", 0.2).contains("no answer"));
        assert!(told("yes", 20.0).contains("more than 10 MB"));
        assert!(told("sleep 30 & sleep 30", 0.2).contains("no answer"));
    }
}
