//! Unix: `sh`, and a process group.

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// Returns the shell with its command.
pub fn command(text: &str) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(text).process_group(0);
    command
}

/// A command and its descendants.
pub struct Group(Option<Pid>);

/// The time a command and its descendants have to exit after a signal before they are killed.
const GRACE: Duration = Duration::from_millis(500);

impl Group {
    /// Returns the group of a child, which was started with [`command`].
    pub fn of(child: &Child) -> Group {
        Group(i32::try_from(child.id()).ok().and_then(Pid::from_raw))
    }

    /// Kills the command and its descendants. If a signal arrived, it is forwarded first, so that they can
    /// clean up.
    pub fn end(&self, child: &mut Child, signal: Option<i32>) {
        if let Some(group) = self.0 {
            // A process that has exited already needs no signal, so errors are ignored.
            if let Some(signal) = signal.and_then(Signal::from_named_raw) {
                let _ = kill_process_group(group, signal);
                wait_for_end(child, group);
            }
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// Waits until the process group is empty, or the grace period is over.
fn wait_for_end(child: &mut Child, group: Pid) {
    let end = Instant::now() + GRACE;
    while Instant::now() < end {
        // A child that was not waited for still belongs to its group. The id of an empty group may be reused.
        if matches!(child.try_wait(), Ok(Some(_))) && test_kill_process_group(group).is_err() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
