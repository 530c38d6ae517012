//! The process on Windows: its console, and programs for which it waits.

use std::fs::File;
use std::io::{IsTerminal, Write, stdout};
use std::os::windows::io::AsHandle;
use std::process::Command;

/// Enables escape sequences in the console. Consoles before Windows 10 do not support them.
pub fn prepare_process() {
    let _ = anstyle_query::windows::enable_ansi_colors();
}

/// Returns standard output without the buffer of the standard library, which searches all output
/// for the last newline. `None` for a console.
pub fn stdout_file() -> Option<File> {
    if stdout().is_terminal() {
        return None;
    }
    let handle = stdout().as_handle().try_clone_to_owned();
    handle.ok().map(File::from)
}

/// Returns the standard output of the standard library, which converts to UTF-16 on a console.
pub fn fallback_stdout() -> Box<dyn Write + Send> {
    Box::new(stdout())
}

/// Runs the program with the streams of this process, and returns its exit code.
pub fn run_program(program: &mut Command) -> std::io::Result<u8> {
    let status = program.status()?;
    Ok(status
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .unwrap_or(1))
}

/// Returns true: whether another program reads keys from the console cannot be determined.
pub fn is_terminal_free() -> bool {
    true
}
