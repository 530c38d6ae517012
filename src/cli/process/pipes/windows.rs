//! Pipes on Windows. They cannot be polled, so one thread writes, and another one reads.

use crate::cli::process::signals::SignalGuard;
use std::fs::File;
use std::io::{self, Read, Write};
use std::process::{Child, ChildStdout};
use std::sync::mpsc::{self, Receiver};
use std::thread::Builder;
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
    let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::Error::other("its standard streams are not pipes"));
    };
    let input = input.to_vec();
    // If the command does not read all of its input, this thread ends with an error.
    Builder::new().spawn(move || stdin.write_all(&input))?;
    let receiver = read_in_thread(stdout, max_bytes)?;

    let time_left = deadline.saturating_duration_since(Instant::now());
    let Ok(read_result) = receiver.recv_timeout(time_left) else {
        let kind = if waiting.pending_signal().is_some() {
            io::ErrorKind::Interrupted
        } else {
            io::ErrorKind::TimedOut
        };
        return Err(kind.into());
    };
    let output = read_result?;
    if output.len() > max_bytes {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(output)
}

/// Reads the output of a command in another thread, up to its end, or to one byte more than
/// `max_bytes`: so the caller sees that it is too long.
fn read_in_thread(
    stdout: ChildStdout,
    max_bytes: usize,
) -> io::Result<Receiver<io::Result<Vec<u8>>>> {
    let (sender, receiver) = mpsc::channel();
    Builder::new().spawn(move || {
        let mut output = Vec::new();
        let read_result = stdout.take(max_bytes as u64 + 1).read_to_end(&mut output);
        // After the deadline, the output has no receiver.
        let _ = sender.send(read_result.map(|_| output));
    })?;
    Ok(receiver)
}

/// Sleeps for `time`.
pub fn sleep_or_signal(_: &SignalGuard, time: Duration) {
    std::thread::sleep(time);
}

/// Whether an output is a pipe without a reader. On Windows, only the next write can show that.
pub fn has_no_reader(_: &File) -> bool {
    false
}
