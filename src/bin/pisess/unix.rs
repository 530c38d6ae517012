//! Unix: the streams of the process, and programs that replace it.

use rustix::termios::LocalModes;
use std::fs::File;
use std::io::{Write, stderr, stdout};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;

/// Prepares the process; terminals need nothing.
///
/// A write beyond the limit on the size of files (`ulimit -f`) ends a process with SIGXFSZ unless
/// it has a handler: then the write fails like one on a full disk, and temporary files and locks
/// are removed. The default action is restored in the programs that pisess runs.
pub fn prepare_process() {
    // Without a handler, only the error message is lost.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}

/// Standard output without the standard library's buffer, which searches all output for the last
/// newline.
pub fn stdout_file() -> Option<File> {
    if closed::stdout_was_closed() {
        return None;
    }
    stdout().as_fd().try_clone_to_owned().ok().map(File::from)
}

/// Standard output if [`stdout_file`] returns `None`.
pub fn fallback_stdout() -> Box<dyn Write + Send> {
    if closed::stdout_was_closed() {
        Box::new(closed::ClosedStdout)
    } else {
        Box::new(stdout())
    }
}

/// Runs the program with the streams of this process, and exits with its exit code or signal.
pub fn run_program(program: &mut Command) -> std::io::Result<u8> {
    Err(program.exec())
}

/// Whether the terminal of standard error echoes what is typed. Programs that draw on it or ask for
/// a password switch that off.
pub fn is_terminal_free() -> bool {
    let modes = rustix::termios::tcgetattr(stderr()).map(|terminal| terminal.local_modes);
    modes.is_ok_and(|modes| modes.contains(LocalModes::ICANON | LocalModes::ECHO))
}

/// Whether standard output was closed (`>&-`). Before `main`, the standard library opens /dev/null
/// in its place, and output would be lost without an error, so this is determined earlier.
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

    /// A writer that fails as a write to closed standard output would.
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
