//! Pipes on Unix. One thread both writes and reads, so that this works even if no further thread
//! can be started, and reacts to signals at once.

use crate::cli::process::signals::SignalGuard;
use std::fs::File;
use std::io::{self, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout};
use std::time::{Duration, Instant};

/// Writes `input` to a command, and returns the command's output, of at most `max_bytes`, up to its
/// end. The command need not read all of the input.
///
/// # Errors
/// `TimedOut` after the deadline, `FileTooLarge` beyond `max_bytes`, `Interrupted` if a signal will
/// end pisess, and other errors if the pipes fail.
pub fn exchange_input_output(
    child: &mut Child,
    input: &[u8],
    max_bytes: usize,
    deadline: Instant,
    waiting: &SignalGuard,
) -> io::Result<Vec<u8>> {
    let Some(mut stdout) = child.stdout.take() else {
        return Err(io::Error::other("its standard output is not a pipe"));
    };
    let mut input = CommandInput {
        pipe: child.stdin.take(),
        unwritten: input,
    };
    // With blocking pipes, a command that does not read would block reading its output, and vice
    // versa.
    if let Some(pipe) = &input.pipe {
        rustix::io::ioctl_fionbio(pipe, true)?;
    }
    rustix::io::ioctl_fionbio(&stdout, true)?;

    let mut output = Vec::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        input.close_if_written();
        let Some(time_left) = deadline.checked_duration_since(Instant::now()) else {
            return Err(io::ErrorKind::TimedOut.into());
        };
        poll_pipes(input.pipe.as_ref(), Some(&stdout), waiting, time_left)?;
        if waiting.pending_signal().is_some() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        input.write_some();
        match stdout.read(&mut buffer) {
            Ok(0) => return Ok(output),
            Ok(read) if output.len() + read > max_bytes => {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            Ok(read) => output.extend_from_slice(&buffer[..read]),
            Err(error) if is_retryable(&error) => {}
            Err(error) => return Err(error),
        }
    }
}

/// The standard input of a command.
struct CommandInput<'a> {
    /// `None` once it is closed.
    pipe: Option<ChildStdin>,
    unwritten: &'a [u8],
}

impl CommandInput<'_> {
    /// Writes as much as the pipe takes now.
    fn write_some(&mut self) {
        let Some(pipe) = &mut self.pipe else {
            return;
        };
        match pipe.write(self.unwritten) {
            Ok(written) => self.unwritten = &self.unwritten[written..],
            Err(error) if is_retryable(&error) => {}
            // The command reads no more, which is no error.
            Err(_) => self.pipe = None,
        }
    }

    /// Closes the pipe once everything is written, so that the command sees the end of its input.
    fn close_if_written(&mut self) {
        if self.unwritten.is_empty() {
            self.pipe = None;
        }
    }
}

fn is_retryable(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

/// Waits until a pipe is ready or closed, a signal arrives, or the timeout is over.
fn poll_pipes(
    stdin: Option<&ChildStdin>,
    stdout: Option<&ChildStdout>,
    waiting: &SignalGuard,
    timeout: Duration,
) -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut fds = Vec::new();
    if let Some(stdin) = stdin {
        fds.push(PollFd::new(stdin, PollFlags::OUT));
    }
    if let Some(stdout) = stdout {
        fds.push(PollFd::new(stdout, PollFlags::IN));
    }
    if let Some(wake_fd) = waiting.wake_fd() {
        fds.push(PollFd::from_borrowed_fd(wake_fd, PollFlags::IN));
    }
    match poll(&mut fds, Timespec::try_from(timeout).ok().as_ref()) {
        Err(rustix::io::Errno::INTR) | Ok(_) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Sleeps for `time`, or until a signal arrives.
pub fn sleep_or_signal(waiting: &SignalGuard, time: Duration) {
    if poll_pipes(None, None, waiting, time).is_err() {
        std::thread::sleep(time);
    }
}

/// Whether an output is a pipe without a reader.
pub fn has_no_reader(output: &File) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut fds = [PollFd::new(output, PollFlags::empty())];
    poll(&mut fds, Some(&Timespec::default())).is_ok()
        && fds[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
}
