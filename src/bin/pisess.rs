//! Runs the library with the real world: the streams, the environment and the clock of the process.

#[cfg_attr(unix, path = "pisess/unix.rs")]
#[cfg_attr(windows, path = "pisess/windows.rs")]
mod os;

use pisess::world::{Terminals, World};
use std::cell::LazyCell;
use std::io::{self, BufWriter, IsTerminal, LineWriter, Write, stderr, stdin, stdout};
use std::process::{Command, ExitCode};
use std::time::{SystemTime, UNIX_EPOCH};

fn main() -> ExitCode {
    os::prepare_process();
    let stdout_file = os::stdout_file();
    let unbuffered: Box<dyn Write + Send> = match &stdout_file {
        Some(file) => Box::new(file),
        None => os::fallback_stdout(),
    };
    let mut out = BufWriter::with_capacity(64 * 1024, unbuffered);
    // The number is looked up only when it is needed: that opens several files, and a small session
    // needs no second thread.
    let processors = LazyCell::new(|| std::thread::available_parallelism().map_or(1, usize::from));
    let world = World {
        stdin: &mut stdin().lock(),
        stdout: &mut out,
        stdout_file: stdout_file.as_ref(),
        // Each line is a single write, so that lines of several processes are not mixed. Standard
        // error is not locked, because another thread draws progress on it.
        stderr: &mut LineWriter::new(stderr()),
        terminals: find_terminals(),
        is_terminal_free: os::is_terminal_free,
        env: &|name| std::env::var(name).ok(),
        now_ms: &now_ms,
        random: &random_bytes,
        run_program: &os::run_program,
        spawn: &Command::spawn,
        stdout_is: &|file| pisess::store::same_file(file, stdout()),
        folder: std::env::current_dir().unwrap_or_default(),
        processors: &|| *processors,
    };
    // The hash maps of the standard library, which regular expressions use, panic if there are no
    // random bytes. A panic in the middle of a change would not undo the change, so this is checked
    // first.
    if let Err(error) = (world.random)() {
        let error = pisess::store::plain(&error);
        let _ = writeln!(world.stderr, "pisess: cannot get random bytes: {error}");
        return ExitCode::from(2);
    }
    let code = pisess::run(std::env::args_os(), world);
    // A failure to flush has been reported, or the reader is gone.
    let _ = out.flush();
    ExitCode::from(code)
}

/// Returns which streams are terminals, and the size of the terminal of standard output.
fn find_terminals() -> Terminals {
    let is_terminal = stdout().is_terminal();
    let size = terminal_size::terminal_size().filter(|(width, _)| is_terminal && width.0 > 0);
    Terminals {
        stdin: stdin().is_terminal(),
        stdout: is_terminal,
        stderr: stderr().is_terminal(),
        width: match size {
            Some((width, _)) => Some(width.0.into()),
            // A terminal may not report its size.
            None if is_terminal => Some(DEFAULT_WIDTH),
            None => None,
        },
        height: size.map(|(_, height)| height.0.into()),
    }
}

/// The assumed width of a terminal that does not report its size, in columns.
const DEFAULT_WIDTH: usize = 80;

/// Returns the current time, in milliseconds since 1970.
fn now_ms() -> i64 {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since_1970) => since_1970.as_millis() as i64,
        // The clock is set to a time before 1970.
        Err(_) => 0,
    }
}

fn random_bytes() -> io::Result<[u8; 16]> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}
