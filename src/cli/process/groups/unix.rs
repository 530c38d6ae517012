//! Unix: `sh`, and a process group.

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Waits for a line, of which `read` takes no byte too many, before the command in the argument
/// begins: if pisess is killed before the group is watched, the line never comes.
const WAITING_SCRIPT: &str = r#"read -r pisess_line && exec sh -c "$1""#;

/// Returns the shell with its command, which begins only with [`ProcessGroup::from_child`].
pub fn shell_command(text: &str) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", WAITING_SCRIPT, "sh", text])
        .process_group(0);
    command
}

/// A command and its descendants, which end if pisess does, however it ends. Once the command has
/// finished, what it left running continues.
pub struct ProcessGroup {
    id: Option<Pid>,
    /// A process of the group that kills it when its standard input ends without a line: SIGKILL
    /// closes the pipe.
    watcher: Option<Child>,
}

/// Starts the watcher of a process group, as a member of it. `read` fails at the end of the input,
/// and process 0 stands for all processes of the group.
fn start_watcher(group_id: i32) -> Option<Child> {
    let mut watcher = Command::new("sh");
    watcher
        .args(["-c", "read line || kill -KILL 0"])
        .process_group(group_id)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    watcher.spawn().ok()
}

/// The time a command and its descendants have to exit after a signal before they are killed.
const GRACE_PERIOD: Duration = Duration::from_millis(500);

impl ProcessGroup {
    /// Returns the group of a child that was started with [`shell_command`] and whose input is a
    /// pipe, and lets the command begin. If no watcher can be started, the command may outlive a
    /// pisess that is killed.
    pub fn from_child(child: &mut Child) -> ProcessGroup {
        let id = i32::try_from(child.id()).ok();
        let watcher = id.and_then(start_watcher);
        // The line for which `WAITING_SCRIPT` waits. If the shell was killed in the meantime, the
        // line cannot be written, and whoever waits for the child reports its end.
        if let Some(stdin) = &mut child.stdin {
            let _ = stdin.write_all(b"\n");
        }
        ProcessGroup {
            id: id.and_then(Pid::from_raw),
            watcher,
        }
    }

    /// Kills the command and its descendants. If a signal arrived, it is forwarded first, so that
    /// they can clean up.
    pub fn kill(&mut self, child: &mut Child, signal: Option<i32>) {
        if let Some(group) = self.id {
            // A process that has exited already needs no signal, so errors are ignored.
            if let Some(signal) = signal.and_then(Signal::from_named_raw) {
                let _ = kill_process_group(group, signal);
                self.wait_for_end(child, group);
            }
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = child.kill();
        let _ = child.wait();
    }
    /// Waits until the process group is empty, or the grace period is over.
    fn wait_for_end(&mut self, child: &mut Child, group: Pid) {
        let end = Instant::now() + GRACE_PERIOD;
        while Instant::now() < end {
            // A child that was not waited for still belongs to its group. The id of an empty group
            // may be reused.
            let has_ended = |child: &mut Child| matches!(child.try_wait(), Ok(Some(_)));
            let is_unwatched = self.watcher.as_mut().is_none_or(has_ended);
            if has_ended(child) && is_unwatched && test_kill_process_group(group).is_err() {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if let Some(mut watch) = self.watcher.take() {
            // If it was killed with the group, the pipe is closed.
            let _ = watch.stdin.take().map(|mut stdin| stdin.write_all(b"\n"));
            let _ = watch.wait();
        }
    }
}
