//! Runs commands on a real terminal.

use crate::sandbox::{Sandbox, fixture, session, user};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{OptionalActions, Winsize, tcgetattr, tcsetattr, tcsetwinsize};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// Returns the two ends of a terminal: ours, and that of the command.
pub fn terminal() -> (OwnedFd, OwnedFd) {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let terminal = openpt(flags).unwrap();
    unlockpt(&terminal).unwrap();
    let inside = ioctl_tiocgptpeer(&terminal, flags).unwrap();
    (terminal, inside)
}

/// Runs a command on a terminal of 80 columns. Returns what appears there and the exit code.
pub fn on_terminal(command: Command) -> (String, i32) {
    let (seen, status) = watched(command, terminal(), |_, _| {});
    (seen, status.code().expect("no signal"))
}

/// Runs a command on a terminal of 80 columns. As soon as a question of `answers` appears, its
/// answer is typed. Returns what appears there and the exit code.
pub fn answered(mut command: Command, answers: &[(&str, &str)]) -> (String, i32) {
    let (terminal, inside) = terminal();
    command.stdin(Stdio::from(inside.try_clone().unwrap()));
    let mut keyboard = File::from(terminal.try_clone().unwrap());
    let mut open_answers = answers;
    let mut read_to = 0;
    let (seen, status) = watched_reading(command, (terminal, inside), |seen, _| {
        while let [(question, answer), others @ ..] = open_answers
            && let Some(offset) = seen[read_to..].find(question)
        {
            read_to += offset + question.len();
            writeln!(keyboard, "{answer}").unwrap();
            open_answers = others;
        }
    });
    assert!(
        open_answers.is_empty(),
        "not asked: {open_answers:?}: {seen}"
    );
    (seen, status.code().expect("no signal"))
}

/// Runs a command without input on a terminal of 80 columns, and calls `watch` with all that has
/// appeared whenever more appears. Returns what appeared, and the status.
fn watched(
    mut command: Command,
    ends: (OwnedFd, OwnedFd),
    watch: impl FnMut(&str, &mut Child),
) -> (String, ExitStatus) {
    command.stdin(Stdio::null());
    watched_reading(command, ends, watch)
}

/// Like [`watched`], but standard input stays as the command has it.
fn watched_reading(
    mut command: Command,
    (terminal, inside): (OwnedFd, OwnedFd),
    mut watch: impl FnMut(&str, &mut Child),
) -> (String, ExitStatus) {
    let size = Winsize {
        ws_row: 25,
        ws_col: 80,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&terminal, size).unwrap();
    command
        .stdout(Stdio::from(inside.try_clone().unwrap()))
        .stderr(Stdio::from(inside));
    let mut child = command.spawn().unwrap();
    // Close our copies of the other end, so that the terminal hangs up when the command closes its
    // own.
    drop(command);
    let mut seen = Vec::new();
    let mut terminal = File::from(terminal);
    let mut buffer = [0; 4096];
    // Reading fails when the other end is closed.
    while let Ok(read @ 1..) = terminal.read(&mut buffer) {
        seen.extend_from_slice(&buffer[..read]);
        watch(&String::from_utf8_lossy(&seen), &mut child);
    }
    let status = child.wait().unwrap();
    (
        String::from_utf8(seen).unwrap().replace("\r\n", "\n"),
        status,
    )
}

/// Returns a command in the sandbox; its `bin` is the first directory of the PATH.
fn command(arguments: &[&str], s: &Sandbox) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pisess"));
    let path = format!("{}:/usr/bin:/bin", s.path("bin").display());
    command
        .args(arguments)
        .current_dir(s.path(""))
        .env_clear()
        .env("TERM", "xterm")
        .env("PATH", path);
    command
}

fn pisess(arguments: &[&str], s: &Sandbox) -> (String, i32) {
    on_terminal(command(arguments, s))
}

/// Returns a sandbox with a session, and a FIFO that gives another one as soon as it is written to:
/// reading it takes as long as a test needs.
fn with_slow_session() -> (Sandbox, impl Fn()) {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let slow = s.path("slow");
    assert!(
        Command::new("mkfifo")
            .arg(&slow)
            .status()
            .unwrap()
            .success()
    );
    (s, move || {
        std::fs::write(&slow, fixture("tour.jsonl")).unwrap()
    })
}

const LIST_SLOW: [&str; 3] = ["list", "slow", "two-branches.jsonl"];

/// The progress of files is shown after a while, and cleared before the first row.
#[test]
fn many_files_show_how_far_they_are() {
    let (s, finish) = with_slow_session();
    let mut is_waiting = true;
    let (seen, status) = watched(command(&LIST_SLOW, &s), terminal(), |seen, _| {
        if is_waiting && seen.contains("1/2 sessions") {
            is_waiting = false;
            finish();
        }
    });
    assert!(status.success(), "{seen}");
    let (shown, after) = seen.rsplit_once("1/2 sessions, ").unwrap();
    assert!(shown.starts_with("\r\u{1b}[2K"), "nothing before: {seen}");
    let (amount, after) = after.split_once('\r').unwrap();
    assert!(amount.contains("B of "), "the size is known: {seen}");
    let after = &format!("\r{after}");
    assert!(after.starts_with("\r\u{1b}[2K"), "cleared: {seen}");
    assert!(after.contains("kites"), "rows after it: {seen}");
}

/// Nothing is drawn while another program reads the keys of the terminal, as fzf does at the end of
/// a pipe.
#[test]
fn no_progress_on_a_terminal_that_another_program_uses() {
    let seen = |is_used: bool, arguments: &[&str]| {
        let (s, finish) = with_slow_session();
        let (terminal, inside) = terminal();
        if is_used {
            let mut modes = tcgetattr(&inside).unwrap();
            modes.make_raw();
            tcsetattr(&inside, OptionalActions::Now, &modes).unwrap();
        }
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(1500));
                finish();
            });
            watched(command(arguments, &s), (terminal, inside), |_, _| {}).0
        })
    };
    assert!(seen(false, &LIST_SLOW).contains("/2 sessions"));
    assert!(!seen(true, &LIST_SLOW).contains("/2 sessions"));
    assert!(!seen(false, &["-q", "list", "slow", "two-branches.jsonl"]).contains("/2 sessions"));
}

/// A summarizer that takes longer than half a second shows a spinner, which is removed at the end.
#[test]
fn a_spinner_is_shown_while_a_summarizer_runs() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let compact = |more: &[&str]| {
        let mut line = vec![
            "compact",
            "two-branches.jsonl",
            "-n",
            "--first-kept",
            "none",
        ];
        line.extend(["--summarizer", "cat > /dev/null; sleep 2; echo text"]);
        line.extend(more);
        pisess(&line, &s)
    };
    let (seen, code) = compact(&[]);
    assert_eq!(code, 0, "{seen}");
    let after = seen
        .rsplit_once("waiting for the summarizer")
        .map(|(_, after)| after);
    assert!(
        after.is_some_and(|after| after.contains("\u{1b}[2K")),
        "shown and removed: {seen}"
    );
    let (seen, _) = compact(&["-q"]);
    assert!(!seen.contains("waiting for the summarizer"), "{seen}");
}

/// Returns a sandbox whose pagers print their name and the options in `LESS` before their input.
fn with_pagers() -> Sandbox {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    for name in ["less", "first", "second"] {
        s.script(
            &format!("bin/{name}"),
            &format!("echo \"{name} $* LESS=$LESS\"\ncat"),
        );
    }
    s
}

const READERS: [&[&str]; 10] = [
    &["tree", "two-branches.jsonl"],
    &["path", "two-branches.jsonl"],
    &["show", "two-branches.jsonl", "@"],
    &["branches", "two-branches.jsonl"],
    &["context", "two-branches.jsonl"],
    &["diff", "two-branches.jsonl", "1a2b3c05", "@"],
    &["list", "two-branches.jsonl"],
    &["grep", "kite", "two-branches.jsonl"],
    &["stats", "two-branches.jsonl"],
    &["tree", "--help"],
];

#[test]
fn long_output_goes_through_a_pager() {
    let s = with_pagers();
    for line in READERS {
        let (plain, code) = pisess(&[line, &["--no-pager"]].concat(), &s);
        assert!(!plain.is_empty() && !plain.starts_with("less "), "{plain}");
        assert_eq!(
            pisess(line, &s),
            (format!("less  LESS=FRX\n{plain}"), code),
            "{line:?}"
        );
    }
    for line in [
        &["tree", "-h"][..],
        &["check", "two-branches.jsonl"],
        &["label", "two-branches.jsonl"],
    ] {
        assert!(!pisess(line, &s).0.starts_with("less "), "{line:?}");
    }
}

/// A tree that does not fit on the screen is opened at the leaf; the rows above and below it fill
/// the screen.
#[test]
fn the_pager_opens_at_the_leaf() {
    let s = with_pagers();
    let id = |at: usize| format!("a{at:07}");
    let entry = |at: usize| user(&id(at), at.checked_sub(1).map(id).as_deref(), "words");
    s.put(
        "long.jsonl",
        session(&(0..100).map(entry).collect::<Vec<_>>()),
    );
    let opened = |line: &[&str]| {
        // What follows the leaf would be one row otherwise.
        let (seen, code) = pisess(&[&["tree", "--unfold", "long.jsonl"], line].concat(), &s);
        assert_eq!(code, 0, "{seen}");
        seen.lines().next().unwrap().to_owned()
    };
    // The heading is the first line, and the terminal has 25 rows, the last of which is the
    // pager's.
    assert_eq!(opened(&["a0000050"]), "less  LESS=FRX +40g");
    assert_eq!(
        opened(&[]),
        "less  LESS=FRX +78g",
        "the last screen is full"
    );
    assert_eq!(opened(&["a0000023"]), "less  LESS=FRX +13g");
    assert_eq!(
        opened(&["a0000022"]),
        "less  LESS=FRX",
        "the first screen shows it"
    );
    assert_eq!(
        opened(&["a0000050", "--around", "30"]),
        "less  LESS=FRX +21g"
    );
    assert_eq!(opened(&["a0000050", "--around", "20"]), "less  LESS=FRX");
    assert_eq!(opened(&["root"]), "less  LESS=FRX");
    let mut with_options = command(&["tree", "long.jsonl"], &s);
    with_options.env("LESS", "-R");
    assert!(
        on_terminal(with_options)
            .0
            .starts_with("less  LESS=-R +78g")
    );
}

#[test]
fn the_environment_names_the_pager() {
    let s = with_pagers();
    let line = READERS[1];
    let with = |variables: &[(&str, &str)]| {
        let mut command = command(line, &s);
        command.envs(variables.iter().copied());
        on_terminal(command).0
    };
    let plain = pisess(&[line, &["--no-pager"]].concat(), &s).0;
    let paged = |head: &str| format!("{head}\n{plain}");
    assert_eq!(with(&[("PAGER", "second -x")]), paged("second -x LESS=FRX"));
    assert_eq!(
        with(&[("PAGER", "second"), ("PISESS_PAGER", "first")]),
        paged("first  LESS=FRX")
    );
    assert_eq!(with(&[("LESS", "M")]), paged("less  LESS=M"));
    assert_eq!(
        with(&[("PAGER", "LESS=S second | cat")]),
        paged("second  LESS=S"),
        "a shell runs it"
    );
    for none in ["", "cat"] {
        assert_eq!(with(&[("PAGER", "second"), ("PISESS_PAGER", none)]), plain);
    }
    assert_eq!(
        with(&[("TERM", "dumb"), ("NO_COLOR", "1")]).lines().count(),
        plain.lines().count()
    );
}

/// The titles of a table stay on the screen, if the pager is a less that can do this. An older one
/// would report an unknown option.
#[test]
fn the_pager_keeps_the_titles_of_a_table() {
    let s = with_pagers();
    let opened = |version: &str, line: &[&str]| {
        let script = format!(
            "[ \"$1\" = --version ] && {{ echo \"{version}\"; exit; }}\necho \"less LESS=$LESS\"\ncat"
        );
        s.script("bin/less", &script);
        let (seen, _) = pisess(line, &s);
        seen.lines().next().unwrap().to_owned()
    };
    let new = "less 643 (GNU regular expressions)";
    for line in [
        &["list", "two-branches.jsonl"][..],
        &["stats", "--by", "model", "two-branches.jsonl"],
        &["branches", "two-branches.jsonl"],
    ] {
        assert_eq!(opened(new, line), "less LESS=FRX --header=1", "{line:?}");
        assert_eq!(opened("less 590 (x)", line), "less LESS=FRX", "{line:?}");
        assert_eq!(opened("BusyBox v1.36", line), "less LESS=FRX", "{line:?}");
    }
    assert_eq!(
        opened(new, &["tree", "two-branches.jsonl"]),
        "less LESS=FRX"
    );
}

/// Notes follow the answer, and name the home directory with `~`.
#[test]
fn notes_follow_the_answer() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let torn = s.text("two-branches.jsonl");
    s.put("sessions/torn.jsonl", &torn[..torn.len() - 20]);
    let home = s
        .path("")
        .to_str()
        .unwrap()
        .trim_end_matches('/')
        .to_owned();
    let folder = format!("{home}/sessions");
    for line in [
        &["list", "--no-pager", &folder][..],
        &["stats", "--no-pager", &folder],
        &["grep", "--no-pager", "kite", &folder],
    ] {
        let mut command = command(line, &s);
        command.env("HOME", &home);
        let (seen, _) = on_terminal(command);
        let note = "pisess: note: ~/sessions/torn.jsonl: the last line is incomplete";
        let last = seen.lines().next_back().unwrap();
        assert!(last.starts_with(note), "{line:?}: {seen}");
        assert!(last.chars().count() <= 80, "{line:?}: {seen}");
        assert!(seen.lines().count() > 1, "{line:?}: {seen}");
    }
}

/// Also the lines that a command prints on standard error before it ends.
#[test]
fn status_lines_follow_the_answer() {
    let s = Sandbox::with(&["tour.jsonl"]);
    for (line, start) in [
        (
            &["prune", "-n", "tour.jsonl"][..],
            "pisess: more with other options",
        ),
        (
            &["edit", "-n", "--omit", "tour.jsonl", "@"],
            "pisess: 2f5dc03e reads: ",
        ),
    ] {
        let (seen, code) = on_terminal(command(line, &s));
        let last = seen.lines().next_back().unwrap();
        assert_eq!(code, 0, "{line:?}: {seen}");
        assert!(last.starts_with(start), "{line:?}: {seen}");
    }
}

#[test]
fn a_missing_pager_is_no_error() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let with = |variables: &[(&str, &str)]| {
        let mut command = command(READERS[1], &s);
        command
            .env("PATH", s.path("bin"))
            .envs(variables.iter().copied());
        on_terminal(command)
    };
    let plain = pisess(&[READERS[1], &["--no-pager"]].concat(), &s).0;
    assert_eq!(with(&[]), (plain.clone(), 0));
    let (seen, code) = with(&[("PISESS_PAGER", "missing -x")]);
    let note = "pisess: note: cannot run the pager missing -x: no such file or directory\n";
    assert_eq!(
        (seen, code),
        (format!("{plain}{note}"), 0),
        "a note follows the answer"
    );
}

#[test]
fn a_pager_is_for_terminals() {
    let s = with_pagers();
    let output = command(READERS[1], &s)
        .env("PISESS_PAGER", "first")
        .output()
        .unwrap();
    assert!(!String::from_utf8(output.stdout).unwrap().contains("first"));
}

#[test]
fn a_pager_may_be_left_early() {
    let s = Sandbox::new();
    let lines: Vec<_> = (0..20_000)
        .map(|at| user(&format!("i{at:07}"), None, "many rows"))
        .collect();
    s.put("long.jsonl", session(&lines));
    for line in [
        &["tree", "long.jsonl"][..],
        &["path", "long.jsonl"],
        &["context", "long.jsonl"],
    ] {
        let mut command = command(line, &s);
        command.env("PISESS_PAGER", "head -n 1");
        let (seen, code) = on_terminal(command);
        assert_eq!((seen.lines().count(), code), (1, 0), "{line:?}: {seen}");
    }
}

/// What is printed on standard error after the pager has started does not disturb it.
#[test]
fn notes_go_into_the_pager() {
    let s = with_pagers();
    s.put("zz.jsonl", "no session\n");
    let (seen, code) = pisess(
        &[
            "grep",
            "kite",
            "--sort",
            "path",
            "two-branches.jsonl",
            "zz.jsonl",
        ],
        &s,
    );
    assert_eq!(code, 2, "{seen}");
    assert!(seen.starts_with("less "), "{seen}");
    assert!(
        seen.trim_end()
            .lines()
            .next_back()
            .unwrap()
            .starts_with("pisess: zz.jsonl"),
        "{seen}"
    );
}

/// Ctrl-C is for the pager: pisess ends by the signal, but not before the pager, which uses the
/// terminal.
#[test]
fn the_pager_ends_first() {
    let s = with_pagers();
    s.script(
        "bin/stays",
        "trap '' INT\necho started\nwhile ! test -e go; do sleep 0.01; done\necho ended\ncat > /dev/null",
    );
    let mut command = Command::new("env");
    command
        .args(["--default-signal=INT", env!("CARGO_BIN_EXE_pisess")])
        .args(READERS[0]);
    command
        .current_dir(s.path(""))
        .env("PISESS_PAGER", s.path("bin/stays"));
    let mut is_waiting = true;
    let (seen, status) = watched(command, terminal(), |seen, child| {
        if is_waiting && seen.contains("started") {
            is_waiting = false;
            kill_process(Pid::from_child(child), Signal::INT).unwrap();
            std::thread::sleep(Duration::from_millis(300));
            assert!(
                child.try_wait().unwrap().is_none(),
                "it waits for the pager"
            );
            s.put("go", "");
        }
    });
    assert!(seen.contains("ended"), "{seen}");
    assert_eq!(status.signal(), Some(2), "{seen}");
}
