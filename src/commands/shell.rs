//! Running a command that a person gave: `sh -c`, text on standard input only.
//!
//! Nothing of a session is ever put into an argument or the environment. Input is written and output
//! read at the same time; a child that stops reading early is no error.

use crate::ui::{Failure, visible};
use std::io::{self, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// The most that a command may answer, in bytes.
const MOST_OUTPUT: u64 = 10 << 20;

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
    /// Gives it `input` and returns what it prints.
    pub fn run(&self, input: Vec<u8>) -> Result<Vec<u8>, Failure> {
        let mut child = self.spawn()?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(self.failed("its streams are not there"));
        };
        std::thread::spawn(move || feed(stdin, &input));
        let (send, receive) = mpsc::channel();
        std::thread::spawn(move || {
            let mut output = Vec::new();
            let read = stdout.take(MOST_OUTPUT + 1).read_to_end(&mut output);
            // Nobody listens any more after the time is over.
            let _ = send.send(read.map(|_| output));
        });
        let deadline = Instant::now() + self.timeout;
        let outcome = match receive.recv_timeout(self.timeout) {
            Ok(Ok(output)) if output.len() as u64 > MOST_OUTPUT => {
                Err(self.failed("it printed more than 10 MB"))
            }
            Ok(Ok(output)) => self.wait(&mut child, deadline).map(|()| output),
            Ok(Err(error)) => Err(self.failed(&error.to_string())),
            Err(_) => Err(self.too_slow()),
        };
        if outcome.is_err() {
            end_group(&mut child);
        }
        outcome
    }

    fn spawn(&self) -> Result<Child, Failure> {
        let mut command = Command::new("sh");
        command.arg("-c").arg(self.command).stdin(Stdio::piped()).stdout(Stdio::piped());
        // A hook for all of a shell that calls pisess itself would call itself without an end.
        command.env_remove(super::hook::VARIABLE);
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command.spawn().map_err(|error| self.failed(&error.to_string()))
    }

    /// Waits for the end of a child that has closed its output.
    fn wait(&self, child: &mut Child, deadline: Instant) -> Result<(), Failure> {
        let mut pause = Duration::from_millis(1);
        loop {
            match child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => return Err(self.failed(&status.to_string())),
                Ok(None) if Instant::now() >= deadline => return Err(self.too_slow()),
                Ok(None) => std::thread::sleep(pause),
                Err(error) => return Err(self.failed(&error.to_string())),
            }
            pause = (pause * 2).min(Duration::from_millis(50));
        }
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

fn feed(mut stdin: impl Write, input: &[u8]) {
    match stdin.write_all(input) {
        // A child need not read all that it is given.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {}
        _ => {}
    }
}

/// Ends the command and what it started.
fn end_group(child: &mut Child) {
    #[cfg(unix)]
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        // It may have ended by itself.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
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
