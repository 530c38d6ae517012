//! Reports that cannot be printed: the change is written, and the exit code is 4.

use crate::every::{self, CHANGES, MAKES, READS};
use crate::sandbox::{Sandbox, fixture};
use std::process::{Command, Output};

/// Standard outputs that fail.
const BROKEN: [&str; 2] = [">/dev/full", ">&-"];

/// Runs the real binary with a redirection.
fn redirected(s: &Sandbox, line: &str, redirection: &str) -> Output {
    let mut command = Command::new("/bin/sh");
    let line = line.replace("./", s.path("").to_str().unwrap());
    command
        .arg("-c")
        .arg(format!("\"$PISESS\" {line} {redirection}"))
        .current_dir(s.path(""))
        .env_clear();
    command
        .env("PISESS", env!("CARGO_BIN_EXE_pisess"))
        .env("PISESS_ID_SEED", "test");
    command
        .env("PISESS_NOW", "2026-05-04T12:00:00Z")
        .env("PATH", "/usr/bin:/bin");
    command.output().unwrap()
}

/// Returns a session that the command would change.
fn session(line: &str) -> Vec<u8> {
    match line.split(' ').next() {
        Some("migrate") => fixture("v1.jsonl"),
        Some("check") => fixture("hazards/torn-tail.jsonl"),
        // Without the last reply.
        Some("undo") => fixture("two-branches.jsonl")
            .split_inclusive(|&byte| byte == b'\n')
            .take(7)
            .flatten()
            .copied()
            .collect(),
        _ => fixture("two-branches.jsonl"),
    }
}

/// Every command that writes, in place and to another file. A retry would repeat the change, so the
/// exit code differs from that of a failure, and standard error names the file that was written.
#[test]
fn a_change_whose_report_is_lost_is_exit_4() {
    for line in CHANGES
        .iter()
        .chain(&*MAKES)
        .flat_map(|line| [(*line).to_owned(), format!("{line} --json")])
    {
        // Without --json, `migrate -o` prints nothing on standard output; `prune` finds nothing to
        // prune.
        if line.starts_with("migrate F -o") || line.starts_with("prune F") {
            continue;
        }
        for redirection in BROKEN {
            let s = Sandbox::new();
            s.put("x", session(&line));
            let line = every::of(&line, "./x").replace("@^{user}", "'@^{user}'");
            let output = redirected(&s, &line, redirection);
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(
                output.status.code(),
                Some(4),
                "{line} {redirection}: {said}"
            );
            assert!(
                said.contains("the change is written: "),
                "{line} {redirection}: {said}"
            );
            assert!(
                s.bytes("x") != session(&line) || s.path("new").exists(),
                "{line} {redirection}"
            );
            let told = said.split("the change is written: ").nth(1).unwrap();
            let name = told.split([' ', '"']).next().unwrap();
            let is_there = s.files().iter().any(|(path, bytes)| {
                name.ends_with(path.as_str()) || String::from_utf8_lossy(bytes).contains(name)
            });
            assert!(!name.is_empty() && is_there, "{line} {redirection}: {name}");
        }
    }
}

/// A command that changes nothing fails with exit 2.
#[test]
fn a_listing_that_is_lost_is_exit_2() {
    let s = Sandbox::new();
    s.put("x", fixture("two-branches.jsonl"));
    for line in READS
        .iter()
        .copied()
        .chain(["--list", "--help", "--version", "help tree"])
    {
        let line = every::of(line, "./x").replace("@^{user}", "'@^{user}'");
        let prints = !redirected(&s, &line, "").stdout.is_empty();
        for redirection in BROKEN.into_iter().filter(|_| prints) {
            let output = redirected(&s, &line, redirection);
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(
                output.status.code(),
                Some(2),
                "{line} {redirection}: {said}"
            );
            assert!(
                said.contains("cannot write standard output: "),
                "{line} {redirection}: {said}"
            );
        }
    }
    assert_eq!(s.bytes("x"), fixture("two-branches.jsonl"));
}

/// If the session itself goes to standard output, a failed write is a failure: nothing is on disk.
#[test]
fn a_session_that_is_lost_is_exit_2() {
    for line in MAKES.iter().map(|line| line.replace("-o ./new", "-o -")) {
        for redirection in BROKEN {
            let s = Sandbox::new();
            // This session needs no repair, so nothing has to be removed.
            s.put(
                "x",
                if line.starts_with("undo") {
                    session(&line)
                } else {
                    fixture("two-branches.jsonl")
                },
            );
            let output = redirected(&s, &every::of(&line, "./x"), redirection);
            assert_eq!(output.status.code(), Some(2), "{line} {redirection}");
            assert_eq!(s.names(), ["x"], "{line} {redirection}");
        }
    }
}

/// A closed pipe counts as success; the change is written.
#[test]
fn a_closed_pipe_is_success() {
    for line in CHANGES.iter() {
        let s = Sandbox::new();
        let before = session(line);
        s.put("x", &before);
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let line = every::of(line, s.path("x").to_str().unwrap());
        let mut command = Command::new(env!("CARGO_BIN_EXE_pisess"));
        let output = command
            .args(line.split(' '))
            .stdout(writer)
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{line}: {said}");
        assert_ne!(s.bytes("x"), before, "{line}");
    }
}

/// `export` and `relocate` do their work before they report it.
#[test]
fn an_export_or_a_move_whose_report_is_lost_is_exit_4() {
    for (line, made) in [
        ("export ./x -o ./page.html", "page.html"),
        ("export ./x -o ./page.html --json", "page.html"),
        ("relocate ./x ./to", "to"),
        ("relocate ./x ./to --json", "to"),
    ] {
        for redirection in BROKEN {
            let s = Sandbox::new();
            s.put("x", fixture("two-branches.jsonl"));
            std::fs::create_dir(s.path("to")).unwrap();
            let output = redirected(&s, line, redirection);
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(
                output.status.code(),
                Some(4),
                "{line} {redirection}: {said}"
            );
            assert!(
                s.path(made).exists() && s.bytes("x") != fixture("two-branches.jsonl")
                    || made != "to"
            );
        }
    }
}

/// A limit on the size of files ends no process with a signal, and leaves nothing behind.
#[cfg(unix)]
#[test]
fn a_limit_on_the_size_of_files_is_a_failure() {
    for line in ["label ./x @ n", "migrate ./x", "fork ./x -o ./new.jsonl"] {
        let s = Sandbox::new();
        let mut long = fixture("v1.jsonl");
        if line.starts_with("label") {
            long = fixture("two-branches.jsonl");
        }
        while long.len() < 8192 {
            let last = long[..long.len() - 1]
                .rsplit(|&byte| byte == b'\n')
                .next()
                .unwrap()
                .to_vec();
            long.extend_from_slice(&last);
            long.push(b'\n');
        }
        s.put("x", &long);
        let mut command = Command::new("/bin/sh");
        let line = line.replace("./", s.path("").to_str().unwrap());
        command
            .arg("-c")
            .arg(format!("ulimit -f 4; exec \"$PISESS\" {line}"))
            .current_dir(s.path(""));
        let output = command
            .env("PISESS", env!("CARGO_BIN_EXE_pisess"))
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}: {output:?}");
        assert_eq!(
            (s.names(), s.bytes("x")),
            (vec!["x".to_owned()], long),
            "{line}"
        );
    }
}

/// A system without random bytes cannot make ids.
#[test]
fn without_random_bytes_there_are_no_ids() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let done = s
        .pisess("label ./two-branches.jsonl @ n")
        .without("PISESS_ID_SEED")
        .done();
    assert!(done.fails(2).contains("cannot get random bytes for ids"));
    assert_eq!(s.bytes("two-branches.jsonl"), fixture("two-branches.jsonl"));
}

/// A FIFO whose reader is gone is not standard output: nothing was written.
#[cfg(target_os = "linux")]
#[test]
fn a_fifo_without_a_reader_is_a_failure() {
    let s = Sandbox::new();
    let header = fixture("hazards/header-only.jsonl");
    let mut long = header.clone();
    while long.len() < 200_000 {
        let id = long.len();
        long.extend_from_slice(
            crate::sandbox::user(&format!("i{id:07}"), None, "many rows").as_bytes(),
        );
        long.push(b'\n');
    }
    s.put("x", &long);
    let fifo = s.path("fifo");
    assert!(
        Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap()
            .success()
    );
    let mut child = Command::new(env!("CARGO_BIN_EXE_pisess"))
        .args(["fork", "x", "--branches", "-o", "fifo"])
        .current_dir(s.path(""))
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // Reads a little, then closes.
    let mut reader = std::fs::File::open(&fifo).unwrap();
    std::io::Read::read_exact(&mut reader, &mut [0; 10]).unwrap();
    drop(reader);
    assert_eq!(child.wait().unwrap().code(), Some(2));
}

/// `list s >> s` would append its table to the session.
#[cfg(unix)]
#[test]
fn a_session_is_not_listed_into_itself() {
    for verb in ["list", "grep a", "stats", "check"] {
        let s = Sandbox::with(&["two-branches.jsonl"]);
        let output = redirected(
            &s,
            &format!("{verb} ./two-branches.jsonl"),
            ">> two-branches.jsonl",
        );
        assert_eq!(output.status.code(), Some(2), "{verb}: {output:?}");
        assert_eq!(
            s.bytes("two-branches.jsonl"),
            fixture("two-branches.jsonl"),
            "{verb}"
        );
        // In a directory, it is skipped.
        let output = redirected(&s, &format!("{verb} ."), ">> two-branches.jsonl");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(
            said.contains("standard output is the session file itself"),
            "{verb}: {said}"
        );
        assert_eq!(
            s.bytes("two-branches.jsonl"),
            fixture("two-branches.jsonl"),
            "{verb}"
        );
    }
}
