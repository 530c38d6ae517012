//! Signals on Windows. The console sends Ctrl-C to pisess and to the command, which ends both at
//! once. The command's descendants end with pisess, because they are in its job.

use std::process::ExitStatus;

/// Returns the exit code of a program.
pub fn shell_exit_code(status: ExitStatus) -> i32 {
    status.code().unwrap_or(1)
}

/// Has no effect: a signal ends the process.
pub struct SignalGuard;

impl SignalGuard {
    /// Returns a guard, which has no effect.
    pub fn install() -> SignalGuard {
        SignalGuard
    }

    /// Returns `None`: a signal ends the process before it could be asked for.
    pub fn pending_signal(&self) -> Option<i32> {
        None
    }

    /// Has no effect: a signal ends the process.
    pub fn run_before_exit(self, _: impl FnOnce() + Send + 'static) {}
}
