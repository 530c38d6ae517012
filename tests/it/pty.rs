//! Runs commands on a real terminal.

use crate::sandbox::{Sandbox, fixture};
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

/// Returns the two ends of a terminal: ours, and that of the command.
pub fn terminal() -> (OwnedFd, OwnedFd) {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let terminal = openpt(flags).unwrap();
    unlockpt(&terminal).unwrap();
    let inside = ioctl_tiocgptpeer(&terminal, flags).unwrap();
    (terminal, inside)
}

/// Runs a command on a terminal of 80 columns. Returns what appears there and the exit code.
pub fn on_terminal(mut command: Command) -> (String, i32) {
    let (terminal, inside) = terminal();
    let size = Winsize { ws_row: 25, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&terminal, size).unwrap();
    command.stdin(Stdio::null()).stdout(Stdio::from(inside.try_clone().unwrap())).stderr(Stdio::from(inside));
    let mut child = command.spawn().unwrap();
    // Close our copies of the other end, so that the terminal hangs up when the command closes its own.
    drop(command);
    let mut seen = Vec::new();
    let mut terminal = File::from(terminal);
    let mut buffer = [0; 4096];
    // Reading fails when the other end is closed.
    while let Ok(read @ 1..) = terminal.read(&mut buffer) {
        seen.extend_from_slice(&buffer[..read]);
    }
    let code = child.wait().unwrap().code().expect("no signal");
    (String::from_utf8(seen).unwrap().replace("\r\n", "\n"), code)
}

fn pisess(arguments: &[&str], sandbox: &Sandbox) -> (String, i32) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pisess"));
    command.args(arguments).current_dir(sandbox.path("")).env_clear().env("TERM", "xterm");
    on_terminal(command)
}

#[test]
fn many_migrations_show_how_far_they_are() {
    let folder_of_old = || {
        let s = Sandbox::new();
        (0..20).for_each(|at| s.put(&format!("{at}.jsonl"), fixture("v1.jsonl")));
        s
    };
    let (seen, code) = pisess(&["migrate", "."], &folder_of_old());
    assert_eq!(code, 0, "{seen}");
    assert!(seen.contains("/20 sessions"), "{seen}");
    let shown_last = seen.rsplit_once("/20 sessions").map_or("", |(_, last)| last);
    assert!(
        shown_last.contains("\u{1b}[2K") && shown_last.contains("migrated"),
        "cleared for the table: {seen}"
    );
    let (seen, _) = pisess(&["migrate", "-q", "."], &folder_of_old());
    assert!(!seen.contains("/20 sessions"), "{seen}");
}

/// A summarizer that takes longer than half a second shows a spinner, which is removed at the end.
#[test]
fn a_spinner_is_shown_while_a_summarizer_runs() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let compact = |more: &[&str]| {
        let mut line = vec!["compact", "two-branches.jsonl", "-n", "--first-kept", "none"];
        line.extend(["--summarizer", "cat > /dev/null; sleep 2; echo text"]);
        line.extend(more);
        pisess(&line, &s)
    };
    let (seen, code) = compact(&[]);
    assert_eq!(code, 0, "{seen}");
    let after = seen.rsplit_once("waiting for the summarizer").map(|(_, after)| after);
    assert!(after.is_some_and(|after| after.contains("\u{1b}[2K")), "shown and removed: {seen}");
    let (seen, _) = compact(&["-q"]);
    assert!(!seen.contains("waiting for the summarizer"), "{seen}");
}
