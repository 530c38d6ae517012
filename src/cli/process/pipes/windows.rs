//! Pipes on Windows. They cannot be polled, so one thread writes, and another one reads.

use crate::cli::process::signals::SignalGuard;
use std::fs::File;
use std::io::{self, Read, Write};
use std::process::Child;
use std::sync::mpsc;
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
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let (Some(mut stdin), Some(stdout)) = (stdin, stdout) else {
        return Err(io::Error::other("its standard streams are not pipes"));
    };
    let input = input.to_vec();
    Builder::new().spawn(move || stdin.write_all(&input))?;
    let (send, receive) = mpsc::channel();
    Builder::new().spawn(move || {
        let mut output = Vec::new();
        let read = stdout.take(max_bytes as u64 + 1).read_to_end(&mut output);
        // After the deadline, the output has no receiver.
        let _ = send.send(read.map(|_| output));
    })?;
    match receive.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        Ok(Ok(output)) if output.len() > max_bytes => Err(io::ErrorKind::FileTooLarge.into()),
        Ok(output) => output,
        Err(_) if waiting.pending_signal().is_some() => Err(io::ErrorKind::Interrupted.into()),
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}

/// Sleeps for `time`.
pub fn sleep_or_signal(_: &SignalGuard, time: Duration) {
    std::thread::sleep(time);
}

/// Whether an output is a pipe without a reader. On Windows, only the next write can show that.
pub fn has_no_reader(_: &File) -> bool {
    false
}
