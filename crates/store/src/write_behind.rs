//! Writes to a file on a thread of its own, so that who makes the bytes does not wait for the disk.

use std::io::{self, Write};
use std::mem;
use std::panic;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, Scope, ScopedJoinHandle};

/// The number of bytes that are passed to the thread at a time.
const BUFFER_LEN: usize = 256 * 1024;

/// The number of buffers that wait for the thread.
const BUFFERS_BEHIND: usize = 4;

/// Calls `make` with a writer. A thread writes the bytes to `out`, in order. If they fit in one
/// buffer, no thread is started.
///
/// # Errors
/// If `make` fails, or `out`. A failure of `out` comes first, because it makes `make` fail, too.
pub fn write_behind(
    out: &mut (dyn Write + Send),
    make: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    thread::scope(move |scope| {
        let mut writer = Writer {
            scope,
            buffer: Vec::new(),
            state: State::Unstarted(out),
        };
        let made = make(&mut writer);
        writer.finish()?;
        made
    })
}

struct Writer<'scope, 'env: 'scope> {
    scope: &'scope Scope<'scope, 'env>,
    buffer: Vec<u8>,
    state: State<'scope, 'env>,
}

enum State<'scope, 'env> {
    /// Not more than one buffer was written so far.
    Unstarted(&'env mut (dyn Write + Send)),
    Started {
        sender: SyncSender<Vec<u8>>,
        thread: ScopedJoinHandle<'scope, io::Result<()>>,
    },
    /// The thread could not be started.
    Failed,
}

impl<'scope, 'env: 'scope> Writer<'scope, 'env> {
    /// Passes the buffer to the thread.
    fn send_buffer(&mut self) -> io::Result<()> {
        if let State::Unstarted(_) = self.state {
            self.start()?;
        }
        let buffer = mem::replace(&mut self.buffer, Vec::with_capacity(BUFFER_LEN));
        let is_sent = match &self.state {
            State::Started { sender, .. } => sender.send(buffer).is_ok(),
            State::Unstarted(_) | State::Failed => false,
        };
        if is_sent {
            Ok(())
        } else {
            // The thread has failed, and `finish` returns its error.
            Err(io::ErrorKind::BrokenPipe.into())
        }
    }

    fn start(&mut self) -> io::Result<()> {
        let State::Unstarted(out) = mem::replace(&mut self.state, State::Failed) else {
            return Ok(());
        };
        let (sender, receiver) = sync_channel::<Vec<u8>>(BUFFERS_BEHIND);
        let write_all = move || {
            for buffer in receiver {
                out.write_all(&buffer)?;
            }
            Ok(())
        };
        let thread = thread::Builder::new().spawn_scoped(self.scope, write_all)?;
        self.state = State::Started { sender, thread };
        Ok(())
    }

    /// Writes the rest, and waits until everything is written.
    fn finish(mut self) -> io::Result<()> {
        match self.state {
            State::Unstarted(out) => out.write_all(&self.buffer),
            State::Started { sender, thread } => {
                // If the thread has failed, its error is the result.
                let _ = sender.send(mem::take(&mut self.buffer));
                drop(sender);
                match thread.join() {
                    Ok(result) => result,
                    Err(panic) => panic::resume_unwind(panic),
                }
            }
            State::Failed => Ok(()),
        }
    }
}

impl<'scope, 'env: 'scope> Write for Writer<'scope, 'env> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.buffer.is_empty() && self.buffer.len() + bytes.len() > BUFFER_LEN {
            self.send_buffer()?;
        }
        self.buffer.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    /// Does nothing: only the end of the bytes has to be waited for.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_in_order() {
        for (len, count) in [(1, 3), (1000, 5000), (BUFFER_LEN + 1, 7), (5, 0)] {
            let mut expected = Vec::new();
            let mut out = Vec::new();
            let made = write_behind(&mut out, |writer| {
                for number in 0..count {
                    let bytes = vec![number as u8; len];
                    expected.extend_from_slice(&bytes);
                    writer.write_all(&bytes)?;
                }
                Ok(())
            });
            made.unwrap();
            assert!(out == expected, "{len} {count}");
        }
    }

    /// Takes a few bytes, and then fails.
    struct Full(usize);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.0 < bytes.len() {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.0 -= bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_first_failure_is_returned() {
        for (room, len) in [(0, 1), (3 * BUFFER_LEN, 100 * BUFFER_LEN)] {
            let failed = write_behind(&mut Full(room), |writer| {
                for _ in 0..len {
                    writer.write_all(b"x")?;
                }
                Ok(())
            });
            assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::StorageFull);
        }
        let failed = write_behind(&mut Vec::new(), |_| Err(io::ErrorKind::NotFound.into()));
        assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
