//! Writes to a file on a thread of its own, so that who makes the bytes does not wait for the disk.

use crate::workers::Pool;
use std::io::{self, Write};
use std::mem;
use std::panic;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Scope, ScopedJoinHandle};

/// The maximum number of bytes that are passed to the thread at a time.
const BUFFER_LEN: usize = 256 * 1024;

/// The number of buffers that wait for the thread.
const BUFFERS_BEHIND: usize = 4;

/// Calls `make` with a writer. A thread writes the bytes to `out`, in order. If they fit in one
/// buffer, no thread is started. If it cannot be started, the bytes are written by this thread.
///
/// At most six buffers are in memory, however much `make` writes at a time: the waiting ones, the
/// one that is being written, and the one that is being filled.
///
/// # Errors
/// If `make` fails, or `out`. A failure of `out` comes first, because it makes `make` fail, too.
pub fn write_behind(
    out: &mut (dyn Write + Send),
    make: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    write_behind_on(thread::Builder::new, out, make)
}

/// Calls `make` with a writer, whose bytes a thread of the builder that `new_thread` returns writes
/// to `out`: see [`write_behind`]. Tests pass a builder that cannot start a thread.
fn write_behind_on(
    new_thread: fn() -> thread::Builder,
    out: &mut (dyn Write + Send),
    make: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let out = Mutex::new(out);
    let spare = Pool::new(Vec::new as fn() -> Vec<u8>);
    thread::scope(|scope| {
        let mut writer = Writer {
            scope,
            new_thread,
            out: &out,
            spare: &spare,
            buffer: Vec::new(),
            route: None,
        };
        let make_result = make(&mut writer);
        // The error of `out` comes first: it is the reason why `make` fails, with a broken pipe.
        writer.finish()?;
        make_result
    })
}

/// What the bytes are written to. Only one thread uses it: the one that was started, or if there is
/// none, the one that makes the bytes.
type SharedOut<'out> = Mutex<&'out mut (dyn Write + Send)>;

/// The buffers that were written, for the bytes that come next. Otherwise one thread would allocate
/// memory all the time, and the other would free it.
type SpareBuffers = Pool<Vec<u8>, fn() -> Vec<u8>>;

fn write_to(out: &SharedOut, buffer: &[u8]) -> io::Result<()> {
    let mut out = out.lock().unwrap_or_else(PoisonError::into_inner);
    out.write_all(buffer)
}

struct Writer<'scope, 'env: 'scope, 'out> {
    scope: &'scope Scope<'scope, 'env>,
    new_thread: fn() -> thread::Builder,
    out: &'env SharedOut<'out>,
    spare: &'env SpareBuffers,
    buffer: Vec<u8>,
    /// `None` as long as not more than one buffer was written.
    route: Option<Route<'scope>>,
}

/// How the buffers reach the output.
enum Route<'scope> {
    Thread {
        sender: SyncSender<Vec<u8>>,
        handle: ScopedJoinHandle<'scope, io::Result<()>>,
    },
    /// The thread could not be started, so buffers are written directly. Has the result of the
    /// writes so far.
    Direct(io::Result<()>),
}

impl<'scope, 'env: 'scope, 'out> Writer<'scope, 'env, 'out> {
    /// Passes the buffer to the thread, or writes it, and begins a new buffer. The first call
    /// starts the thread.
    ///
    /// If the output has failed, the error is a broken pipe, which stops who writes to this. The
    /// error of the output is kept, and [`Self::finish`] returns it.
    fn send_buffer(&mut self) -> io::Result<()> {
        let buffer = mem::take(&mut self.buffer);
        let route = self
            .route
            .get_or_insert_with(|| Route::start(self.scope, self.new_thread, self.out, self.spare));
        let is_sent = match route {
            // Fails if the thread has ended, which it does after an error.
            Route::Thread { sender, .. } => sender.send(buffer).is_ok(),
            Route::Direct(result) => {
                if result.is_ok() {
                    *result = write_to(self.out, &buffer);
                }
                result.is_ok()
            }
        };
        if !is_sent {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.buffer = self.spare.get();
        self.buffer.clear();
        self.buffer.reserve_exact(BUFFER_LEN);
        Ok(())
    }

    /// Writes the rest, and waits until everything is written.
    fn finish(self) -> io::Result<()> {
        match self.route {
            None => write_to(self.out, &self.buffer),
            Some(Route::Direct(result)) => {
                result?;
                write_to(self.out, &self.buffer)
            }
            Some(Route::Thread { sender, handle }) => {
                // If the thread has failed, its error is the result.
                let _ = sender.send(self.buffer);
                drop(sender);
                match handle.join() {
                    Ok(result) => result,
                    Err(panic) => panic::resume_unwind(panic),
                }
            }
        }
    }
}

impl<'scope> Route<'scope> {
    /// Starts the thread, which writes each buffer that it gets to `out`, and ends with the first
    /// error. If the thread cannot be started, the buffers are written directly.
    fn start<'env>(
        scope: &'scope Scope<'scope, 'env>,
        new_thread: fn() -> thread::Builder,
        out: &'env SharedOut<'_>,
        spare: &'env SpareBuffers,
    ) -> Route<'scope> {
        let (sender, receiver) = sync_channel::<Vec<u8>>(BUFFERS_BEHIND);
        let write_all = move || {
            for buffer in receiver {
                write_to(out, &buffer)?;
                spare.put(buffer);
            }
            Ok(())
        };
        match new_thread().spawn_scoped(scope, write_all) {
            Ok(handle) => Route::Thread { sender, handle },
            // As where the number of threads is limited. Nothing has been written yet.
            Err(_) => Route::Direct(Ok(())),
        }
    }
}

impl Write for Writer<'_, '_, '_> {
    /// Takes as many bytes as fit in the buffer, so that a long text is not copied as a whole.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.buffer.len() >= BUFFER_LEN {
            self.send_buffer()?;
        }
        let count = bytes.len().min(BUFFER_LEN - self.buffer.len());
        self.buffer.extend_from_slice(&bytes[..count]);
        Ok(count)
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

    /// Takes everything, and counts the bytes of the longest write.
    #[derive(Default)]
    struct Longest(usize);

    impl Write for Longest {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.max(bytes.len());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_long_text_is_not_copied_as_a_whole() {
        let text = vec![b'x'; 10 * BUFFER_LEN + 1];
        for new_thread in [thread::Builder::new, unstartable] {
            let mut longest = Longest::default();
            write_behind_on(new_thread, &mut longest, |writer| writer.write_all(&text)).unwrap();
            assert_eq!(longest.0, BUFFER_LEN);
        }
    }

    /// Returns a thread with a stack for which no system has room.
    fn unstartable() -> thread::Builder {
        thread::Builder::new().stack_size(usize::MAX / 4)
    }

    #[test]
    fn bytes_are_written_without_a_thread() {
        unstartable().spawn(|| ()).unwrap_err();
        let text = (0..4 * BUFFER_LEN).map(|number| number as u8);
        let text = text.collect::<Vec<_>>();
        let mut out = Vec::new();
        let made = write_behind_on(unstartable, &mut out, |writer| {
            for bytes in text.chunks(1000) {
                writer.write_all(bytes)?;
            }
            Ok(())
        });
        made.unwrap();
        assert!(out == text);
    }

    /// Even if the error is ignored where the bytes are made.
    #[test]
    fn a_failed_write_is_returned() {
        for new_thread in [thread::Builder::new, unstartable] {
            for room in [0, BUFFER_LEN, 3 * BUFFER_LEN] {
                let failed = write_behind_on(new_thread, &mut Full(room), |writer| {
                    for _ in 0..40 {
                        let _ = writer.write_all(&[b'x'; BUFFER_LEN / 10]);
                    }
                    Ok(())
                });
                assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::StorageFull);
            }
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
