//! The process on Unix: its streams, and programs that replace it.

use rustix::termios::LocalModes;
use std::fs::File;
use std::io::{Write, stderr, stdout};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;

/// Prepares the process. Terminals need nothing.
///
/// A write beyond the limit on file sizes (`ulimit -f`) ends a process with SIGXFSZ, unless the
/// signal has a handler. With a handler, the write fails as on a full disk, and temporary files and
/// locks are removed. Programs that pisess runs get the default action again.
pub fn prepare_process() {
    // If no handler can be set, only the error message is lost.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}

/// Returns standard output without the buffer of the standard library, which searches all output
/// for the last newline. `None` if standard output is closed or cannot be duplicated.
pub fn stdout_file() -> Option<File> {
    if closed::stdout_was_closed() {
        return None;
    }
    stdout().as_fd().try_clone_to_owned().ok().map(File::from)
}

/// Returns the standard output to use if [`stdout_file`] returns `None`.
pub fn fallback_stdout() -> Box<dyn Write + Send> {
    if closed::stdout_was_closed() {
        Box::new(closed::ClosedStdout)
    } else {
        Box::new(stdout())
    }
}

/// Replaces this process by the program. Returns only if the program cannot be started.
pub fn run_program(program: &mut Command) -> std::io::Result<u8> {
    Err(program.exec())
}

/// Whether the terminal of standard error echoes what is typed. A program that draws on the
/// terminal, or asks for a password, switches the echo off.
pub fn is_terminal_free() -> bool {
    let modes = rustix::termios::tcgetattr(stderr()).map(|terminal| terminal.local_modes);
    modes.is_ok_and(|modes| modes.contains(LocalModes::ICANON | LocalModes::ECHO))
}

/// Determines whether standard output was closed (`>&-`). This has to happen before `main`: there,
/// the standard library has already opened /dev/null in its place, and output would be lost without
/// an error.
mod closed {
    use std::io::{self, Write};
    use std::sync::atomic::{AtomicBool, Ordering};

    static STDOUT_WAS_CLOSED: AtomicBool = AtomicBool::new(false);

    #[cfg(target_os = "linux")]
    extern "C" fn record_stdout_state() {
        STDOUT_WAS_CLOSED.store(
            rustix::io::fcntl_getfd(rustix::stdio::stdout()).is_err(),
            Ordering::Relaxed,
        );
    }

    #[cfg(target_os = "linux")]
    #[used]
    #[expect(
        unsafe_code,
        reason = "the only way to run before the standard library does"
    )]
    #[unsafe(link_section = ".init_array")]
    static LOOK: extern "C" fn() = record_stdout_state;

    pub fn stdout_was_closed() -> bool {
        STDOUT_WAS_CLOSED.load(Ordering::Relaxed)
    }

    /// A writer that fails like a write to closed standard output.
    pub struct ClosedStdout;

    impl Write for ClosedStdout {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::Error::other("it is closed"))
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
}
