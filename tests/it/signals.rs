//! Signals while a summarizer, hook or renderer runs: it is ended with pisess.

use crate::sandbox::Sandbox;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// A script that starts two children, one of which keeps its output open, records the three process
/// ids, and waits.
const WAITS: &str = "cd \"${0%/*}\" || exit
sleep 600 &
echo $! > background
sh -c 'echo $$ > inner; exec sleep 600' > /dev/null &
echo $$ > outer
until test -s inner; do sleep 0.01; done
touch started
while ! test -e go; do sleep 0.01; done
kill $(cat background inner)
echo answer > answered
echo a summary
";

/// Every way to run a command.
const RUNS: [&str; 6] = [
    "compact ./two-branches.jsonl --first-kept none --summarizer 'sh {}'",
    "summarize ./two-branches.jsonl root --summarizer 'sh {}'",
    "switch ./two-branches.jsonl root --summarizer 'sh {}'",
    "compact ./two-branches.jsonl --first-kept none --summary s --hook 'sh {} >&2'",
    "context ./two-branches.jsonl --hook 'sh {} >&2'",
    "tree ./custom.jsonl --renderer 'todo=sh {}'",
];

/// A session with an entry that a renderer gets.
const CUSTOM: &str = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-03-14T09:26:45.589Z","cwd":"/"}
{"type":"custom_message","customType":"todo","content":"x","display":true,"id":"aaaa0001","parentId":null,"timestamp":"2026-03-14T09:26:46.000Z"}
"#;

fn waiting() -> Sandbox {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    s.put("waits", WAITS);
    s.put("custom.jsonl", CUSTOM);
    s
}

/// Returns a command for a run, with the default action for each signal. The tests may run in the
/// background of a script, where the shell ignores SIGINT and SIGQUIT, and pisess keeps ignored
/// signals ignored.
fn command(s: &Sandbox, run: &str) -> Command {
    let pisess = env!("CARGO_BIN_EXE_pisess");
    let mut command = if cfg!(target_os = "linux") {
        let mut command = Command::new("env");
        command.args(["--default-signal=HUP,INT,QUIT,TERM", pisess]);
        command
    } else {
        Command::new(pisess)
    };
    command.args(arguments(s, run)).current_dir(s.path(""));
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}

fn arguments(s: &Sandbox, run: &str) -> Vec<String> {
    crate::sandbox::split(&run.replace("{}", &s.path("waits").display().to_string()))
}

/// Waits until a condition holds; the test runner limits the time.
fn until(mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn started(s: &Sandbox, child: &mut Child) {
    until(|| s.path("started").exists() || child.try_wait().unwrap().is_some());
    assert!(s.path("started").exists(), "{:?}", child.try_wait());
}

/// Whether a process has ended, even if its parent has not waited for it.
fn is_gone(s: &Sandbox, name: &str) -> bool {
    let stat = fs::read_to_string(Path::new("/proc").join(s.text(name).trim()).join("stat"));
    stat.is_err()
        || stat.is_ok_and(|stat| stat.rsplit(") ").next().unwrap().starts_with(['Z', 'X']))
}

fn all_are_gone(s: &Sandbox) {
    until(|| {
        ["outer", "inner", "background"]
            .into_iter()
            .all(|name| is_gone(s, name))
    });
    assert!(!s.path("answered").exists());
}

fn signalled(s: &Sandbox, run: &str, signal: Signal) -> ExitStatus {
    let mut child = command(s, run).spawn().unwrap();
    started(s, &mut child);
    kill_process(Pid::from_child(&child), signal).unwrap();
    child.wait().unwrap()
}

/// pisess ends by the signal, which a shell reports as 128 plus its number, and changes nothing.
#[test]
fn a_signal_ends_what_was_started() {
    let check = |run| {
        for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT] {
            let s = waiting();
            let before = s.bytes("two-branches.jsonl");
            let status = signalled(&s, run, signal);
            assert_eq!(status.signal(), Some(signal.as_raw()), "{run}");
            all_are_gone(&s);
            assert!(s.bytes("two-branches.jsonl") == before, "{run}");
        }
    };
    // Children that ignore a signal are waited for, so the runs wait at the same time.
    std::thread::scope(|scope| {
        for run in RUNS {
            scope.spawn(move || check(run));
        }
    });
}

#[test]
fn killing_pisess_ends_its_child_processes() {
    for run in RUNS {
        let s = waiting();
        let status = signalled(&s, run, Signal::KILL);
        assert_eq!(status.signal(), Some(Signal::KILL.as_raw()), "{run}");
        all_are_gone(&s);
    }
}

#[test]
fn a_shell_reports_128_and_the_number() {
    for (name, code) in [("TERM", 143), ("HUP", 129)] {
        let s = waiting();
        let mut shell = Command::new("sh");
        shell.args([
            "-c",
            "\"$0\" \"$@\" & until test -e started; do sleep 0.01; done; kill -$SIGNAL $!; wait $!",
        ]);
        let run = command(&s, RUNS[0]);
        shell
            .arg(run.get_program())
            .args(run.get_args())
            .env("SIGNAL", name)
            .current_dir(s.path(""));
        assert_eq!(shell.status().unwrap().code(), Some(code));
        all_are_gone(&s);
    }
}

/// The command receives the signal itself, and some time to clean up.
#[test]
fn the_command_may_put_things_in_order() {
    for (signal, name) in [
        (Signal::TERM, "TERM"),
        (Signal::INT, "INT"),
        (Signal::HUP, "HUP"),
    ] {
        let s = waiting();
        s.put(
            "waits",
            format!("trap 'echo put > \"$0.order\"; exit' {name}\n{WAITS}"),
        );
        assert_eq!(
            signalled(&s, RUNS[0], signal).signal(),
            Some(signal.as_raw())
        );
        assert_eq!(s.text("waits.order"), "put\n");
        all_are_gone(&s);
    }
}

/// A command that ignores the signal is killed.
#[test]
fn a_command_that_ignores_it_is_ended() {
    let s = waiting();
    s.put("waits", format!("trap '' TERM INT HUP\n{WAITS}"));
    assert_eq!(signalled(&s, RUNS[0], Signal::TERM).signal(), Some(15));
    all_are_gone(&s);
}

/// As under nohup: a signal that was ignored when pisess was started stays ignored.
#[test]
fn an_ignored_signal_stays_ignored() {
    let s = waiting();
    let mut shell = Command::new("sh");
    shell.args([
        "-c",
        "trap '' HUP INT; exec \"$0\" \"$@\"",
        env!("CARGO_BIN_EXE_pisess"),
    ]);
    shell.args(arguments(&s, RUNS[0]));
    let mut child = shell
        .current_dir(s.path(""))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    started(&s, &mut child);
    for signal in [Signal::HUP, Signal::INT] {
        kill_process(Pid::from_child(&child), signal).unwrap();
    }
    s.put("go", "");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(s.path("answered").exists());
    assert!(s.text("two-branches.jsonl").contains("a summary"));
}

/// Ctrl-C in a terminal, and a terminal that closes. The command is not in the foreground process
/// group, so the terminal signals only pisess.
#[test]
fn a_terminal_ends_what_was_started() {
    for (typed, signal) in [
        (Some(b"\x03"), Signal::INT),
        (Some(b"\x1c"), Signal::QUIT),
        (None, Signal::HUP),
    ] {
        let s = waiting();
        let (terminal, inside) = crate::pty::terminal();
        let run = command(&s, RUNS[0]);
        let mut session = Command::new("setsid");
        session
            .arg("--ctty")
            .arg(run.get_program())
            .args(run.get_args())
            .current_dir(s.path(""));
        let end = || Stdio::from(inside.try_clone().unwrap());
        let mut child = session
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .unwrap();
        drop((session, inside));
        started(&s, &mut child);
        let mut terminal = fs::File::from(terminal);
        // Without a key, the terminal closes.
        let _still_there = typed.map(|key| {
            terminal.write_all(key).unwrap();
            terminal
        });
        assert_eq!(child.wait().unwrap().signal(), Some(signal.as_raw()));
        all_are_gone(&s);
    }
}
