//! Passes the real world to the library.

use pisess::world::{Terminals, World};
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufWriter, IsTerminal, LineWriter, Write, stderr, stdin, stdout};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the width of the terminal, 80 if it does not report one.
fn width() -> usize {
    let named = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    named.filter(|&width| width > 0).unwrap_or(80)
}

/// Standard output without the standard library's buffer, which searches all output for the last newline.
fn stdout_file() -> Option<File> {
    if closed::stdout_was_closed() {
        return None;
    }
    #[cfg(unix)]
    return std::os::fd::AsFd::as_fd(&stdout()).try_clone_to_owned().ok().map(File::from);
    #[cfg(not(unix))]
    None
}

/// Runs the program with the streams of this process, and exits with its exit code or signal.
#[cfg(unix)]
fn run_program(program: &Path, arguments: &[OsString]) -> std::io::Result<u8> {
    Err(std::os::unix::process::CommandExt::exec(Command::new(program).args(arguments)))
}

#[cfg(not(unix))]
fn run_program(program: &Path, arguments: &[OsString]) -> std::io::Result<u8> {
    let status = Command::new(program).args(arguments).status()?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

/// Whether standard output was closed (`>&-`). Before `main`, the standard library opens /dev/null in its
/// place, and output would be lost without an error, so this is determined earlier.
mod closed {
    use std::io::{self, Write};
    use std::sync::atomic::{AtomicBool, Ordering};

    static STDOUT: AtomicBool = AtomicBool::new(false);

    #[cfg(target_os = "linux")]
    extern "C" fn look() {
        STDOUT.store(rustix::io::fcntl_getfd(rustix::stdio::stdout()).is_err(), Ordering::Relaxed);
    }

    #[cfg(target_os = "linux")]
    #[used]
    #[expect(unsafe_code, reason = "the only way to run before the standard library does")]
    #[unsafe(link_section = ".init_array")]
    static LOOK: extern "C" fn() = look;

    pub fn stdout_was_closed() -> bool {
        STDOUT.load(Ordering::Relaxed)
    }

    /// A writer that fails as a write to closed standard output would.
    pub struct Closed;

    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::Error::other("it is closed"))
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
}

fn main() -> ExitCode {
    let terminals = Terminals {
        stdin: stdin().is_terminal(),
        stdout: stdout().is_terminal(),
        stderr: stderr().is_terminal(),
        width: stdout().is_terminal().then(width),
    };
    let stdout_file = stdout_file();
    let unbuffered: Box<dyn Write> = match &stdout_file {
        Some(file) => Box::new(file),
        None if closed::stdout_was_closed() => Box::new(closed::Closed),
        None => Box::new(stdout().lock()),
    };
    let mut out = BufWriter::with_capacity(64 * 1024, unbuffered);
    let world = World {
        stdin: &mut stdin().lock(),
        stdout: &mut out,
        stdout_file: stdout_file.as_ref(),
        // Each line is written at once, so that lines of several processes are not mixed. Standard error is
        // not locked, because the progress bar is drawn from other threads.
        stderr: &mut LineWriter::new(stderr()),
        terminals,
        env: &|name| std::env::var(name).ok(),
        now_ms: &|| SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64),
        random: &|| *uuid::Uuid::new_v4().as_bytes(),
        run_program: &run_program,
        stdout_is: &|file| pisess::core::store::same_file(file, stdout()),
        folder: std::env::current_dir().unwrap_or_default(),
        processors: std::thread::available_parallelism().map_or(1, usize::from),
    };
    let code = pisess::run(std::env::args_os(), world);
    // A failure to flush was reported, or the reader is gone.
    let _ = out.flush();
    ExitCode::from(code)
}
