//! `export --open`: shows the new page in a browser, without waiting for it to close.

use crate::cli::output::{Failure, Ui};
use std::path::Path;
use std::process::{Command, Stdio};

/// The environment variable that names a browser: a program and its first arguments.
const BROWSER_VARIABLE: &str = "PISESS_BROWSER";

/// The program that opens a file with the application that the desktop has set for it.
const SYSTEM_BROWSER: &str = if cfg!(windows) {
    "explorer"
} else if cfg!(target_os = "macos") {
    "open"
} else {
    "xdg-open"
};

/// Opens the page at an absolute path. The browser gets none of the standard streams, because its
/// output would appear between the rows of pisess.
pub fn open_page(page: &Path, ui: &Ui) -> Result<(), Failure> {
    let variable = ui.env_var(BROWSER_VARIABLE).unwrap_or_default();
    let command_line = if variable.trim().is_empty() {
        SYSTEM_BROWSER
    } else {
        &variable
    };

    let mut words = command_line.split_whitespace();
    // The command line is not blank, so it has a first word.
    let program = words.next().unwrap_or_default();
    let mut command = Command::new(program);
    command.args(words).arg(page);
    command.stdin(Stdio::null());
    command.stdout(Stdio::null());
    command.stderr(Stdio::null());
    match ui.spawn(&mut command) {
        Ok(_browser) => Ok(()),
        Err(error) => Err(Failure::invalid(format_args!(
            "cannot run {program} to open the page: {error}"
        ))),
    }
}
