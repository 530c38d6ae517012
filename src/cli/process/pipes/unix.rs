//! Unix: one thread writes and reads, so it works even if no further thread can be started, and
//! reacts to signals at once.

use crate::cli::process::signals::Waiting;
use std::fs::File;
use std::io::{self, Read, Write};
use std::process::Child;
use std::time::{Duration, Instant};

/// Writes `input` to a command and reads its output, up to a limit, until the command closes it.
/// The command need not read all its input.
///
/// # Errors
/// `TimedOut` after the deadline, `FileTooLarge` beyond the limit, `Interrupted` if a signal ends
/// pisess, others if the pipes fail.
pub fn exchange(
    child: &mut Child,
    input: &[u8],
    most: usize,
    deadline: Instant,
    waiting: &Waiting,
) -> io::Result<Vec<u8>> {
    let (mut stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let Some(mut stdout) = stdout else {
        return Err(io::Error::other("its standard output is not a pipe"));
    };
    // Writing to a command that does not read must not block reading, nor the reverse.
    if let Some(stdin) = &stdin {
        rustix::io::ioctl_fionbio(stdin, true)?;
    }
    rustix::io::ioctl_fionbio(&stdout, true)?;
    let (mut left, mut output) = (input, Vec::new());
    let mut buffer = vec![0; 64 * 1024];
    loop {
        if left.is_empty() {
            stdin = None;
        }
        let Some(left_for_it) = deadline.checked_duration_since(Instant::now()) else {
            return Err(io::ErrorKind::TimedOut.into());
        };
        wait(stdin.as_ref(), Some(&stdout), waiting, left_for_it)?;
        if waiting.signal().is_some() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        if let Some(pipe) = &mut stdin {
            match pipe.write(left) {
                Ok(written) => left = &left[written..],
                Err(error) if is_for_later(&error) => {}
                Err(_) => stdin = None,
            }
        }
        match stdout.read(&mut buffer) {
            Ok(0) => return Ok(output),
            Ok(read) if output.len() + read > most => {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            Ok(read) => output.extend_from_slice(&buffer[..read]),
            Err(error) if is_for_later(&error) => {}
            Err(error) => return Err(error),
        }
    }
}

fn is_for_later(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

/// Waits until a pipe is ready or closed, a signal arrives, or the time is over.
fn wait(
    stdin: Option<&std::process::ChildStdin>,
    stdout: Option<&std::process::ChildStdout>,
    waiting: &Waiting,
    time: Duration,
) -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut fds: Vec<_> = stdin
        .map(|stdin| PollFd::new(stdin, PollFlags::OUT))
        .into_iter()
        .collect();
    fds.extend(stdout.map(|stdout| PollFd::new(stdout, PollFlags::IN)));
    fds.extend(
        waiting
            .woken()
            .map(|woken| PollFd::from_borrowed_fd(woken, PollFlags::IN)),
    );
    match poll(&mut fds, Timespec::try_from(time).ok().as_ref()) {
        Err(rustix::io::Errno::INTR) | Ok(_) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Waits for this long, or until a signal arrives.
pub fn pause(waiting: &Waiting, time: Duration) {
    if wait(None, None, waiting, time).is_err() {
        std::thread::sleep(time);
    }
}

/// Whether an output is a pipe that nobody reads any more.
pub fn is_closed(output: &File) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut fds = [PollFd::new(output, PollFlags::empty())];
    poll(&mut fds, Some(&Timespec::default())).is_ok()
        && fds[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
}
