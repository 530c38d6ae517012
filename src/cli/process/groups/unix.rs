//! Process groups on Unix, for commands that `sh` runs.

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Waits for a line, and then runs the command in its argument. If pisess is killed before the
/// group is watched, the line never comes, and the command does not start. `read` takes no byte
/// after the line, so that the command gets all of its input.
const WAITING_SCRIPT: &str = r#"read -r pisess_line && exec sh -c "$1""#;

/// Returns the shell for a command. The command starts only when [`ProcessGroup::from_child`] is
/// called.
pub fn shell_command(text: &str) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", WAITING_SCRIPT, "sh", text])
        .process_group(0);
    command
}

/// A command and its descendants, which are killed if pisess ends in whatever way. Once the command
/// has exited, descendants that still run are left alone.
pub struct ProcessGroup {
    id: Option<Pid>,
    /// A process that kills its own group, this one, if its standard input ends without a line. The
    /// input ends even if pisess is killed by SIGKILL.
    watcher: Option<Child>,
}

/// Starts the watcher of a process group, as a member of the group.
///
/// The watcher waits for a line. Dropping the [`ProcessGroup`] writes it, and the watcher exits. If
/// pisess ends before, in whatever way, its end of the pipe is closed: `read` fails, and the
/// watcher kills the group. To `kill`, process 0 means the whole group of the caller.
///
/// `None` if the watcher cannot be started.
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

/// The time that a command and its descendants have to exit after a signal. Then they are killed.
const GRACE_PERIOD: Duration = Duration::from_millis(500);

/// The time between two checks whether they have exited.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

impl ProcessGroup {
    /// Returns the group of a child, and lets its command start. The child must be from
    /// [`shell_command`], with a pipe as its input: its shell waits for a line before it runs the
    /// command. Until then, the watcher is started, so that the command never runs without one.
    ///
    /// If no watcher can be started, the command may outlive a pisess that is killed.
    pub fn from_child(child: &mut Child) -> ProcessGroup {
        let id = i32::try_from(child.id()).ok();
        let watcher = id.and_then(start_watcher);
        // `WAITING_SCRIPT` waits for this line. If the shell was killed meanwhile, the line cannot
        // be written: then waiting for the child reports its end.
        if let Some(stdin) = &mut child.stdin {
            let _ = stdin.write_all(b"\n");
        }
        ProcessGroup {
            id: id.and_then(Pid::from_raw),
            watcher,
        }
    }

    /// Kills the command and its descendants, and waits for the command. If pisess received
    /// `signal`, forwards it first, so that they can clean up: they have [`GRACE_PERIOD`] for that.
    pub fn kill(&mut self, child: &mut Child, signal: Option<i32>) {
        if let Some(group) = self.id {
            // Errors are ignored: a process that has already exited needs no signal.
            if let Some(signal) = signal.and_then(Signal::from_named_raw) {
                let _ = kill_process_group(group, signal);
                self.wait_for_end(child, group);
            }
            let _ = kill_process_group(group, Signal::KILL);
        }
        // The child itself is usually dead already. Without a group id, only it can be killed.
        let _ = child.kill();
        let _ = child.wait();
    }

    /// Waits until the process group is empty, or until the grace period is over. The caller then
    /// kills what is left of the group.
    fn wait_for_end(&mut self, child: &mut Child, group: Pid) {
        let end = Instant::now() + GRACE_PERIOD;
        while Instant::now() < end {
            // A child that has exited remains in its group until it is waited for, which `try_wait`
            // does. These are the children of pisess in the group.
            let has_ended = |child: &mut Child| matches!(child.try_wait(), Ok(Some(_)));
            let watcher_has_ended = self.watcher.as_mut().is_none_or(has_ended);
            let command_has_ended = has_ended(child);
            // Their descendants may still run. The test fails if the group has no process.
            if watcher_has_ended && command_has_ended && test_kill_process_group(group).is_err() {
                return;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if let Some(mut watch) = self.watcher.take() {
            // If the watcher was killed with the group, its pipe is closed.
            let _ = watch.stdin.take().map(|mut stdin| stdin.write_all(b"\n"));
            let _ = watch.wait();
        }
    }
}
