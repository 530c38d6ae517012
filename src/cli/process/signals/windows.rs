//! Windows: Ctrl-C ends pisess and the command at once, as the console sends it to both; the
//! command's descendants end with pisess, because they are in its job.

use std::process::ExitStatus;

/// Returns the exit code of a program.
pub fn shell_exit_code(status: ExitStatus) -> i32 {
    status.code().unwrap_or(1)
}

/// Does nothing here.
pub struct SignalGuard;

impl SignalGuard {
    /// Does nothing.
    pub fn install() -> SignalGuard {
        SignalGuard
    }

    /// Returns `None`: a signal ends the process.
    pub fn pending_signal(&self) -> Option<i32> {
        None
    }

    /// Does nothing: a signal ends the process.
    pub fn run_before_exit(self, _: impl FnOnce() + Send + 'static) {}
}
