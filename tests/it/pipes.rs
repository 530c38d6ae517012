//! The real binary between pipes.

use crate::sandbox::{Sandbox, fixture};
use insta::assert_snapshot;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

#[test]
fn from_an_old_file_to_a_tree() {
    // cat v1.jsonl | pisess migrate - | pisess label - @^{user} start | pisess tree -
    let s = Sandbox::new();
    let migrated = s
        .pisess("migrate -")
        .stdin(fixture("v1.jsonl"))
        .real()
        .quiet_bytes();
    let labelled = s.pisess("label - @^{user} start").stdin(migrated).real();
    assert_eq!((labelled.code, labelled.stderr.as_str()), (0, "226b1b5c\n"));
    let tree = s.pisess("tree -").stdin(labelled.stdout).real();
    assert_snapshot!(tree.quiet(), @"
    4c411fb5  • user: When should I sow carrots?
    c307e4fd  • assistant: From March on, when the soil is no longer cold.
    1858c9d3  • custom
    cb26a1f8  • user: And beans?
    ac4bd0d1  • assistant: Mid-May, after the last frost.
    c24d8cb7  • ── compaction: 1.9k tokens · Carrots from March, beans from mid-May. ──  (kept from cb26a1f8)
    f55275d5  • [start] user: Make me a calendar.
    cebfaa52  • assistant: March: carrots. May: beans.  ← active
    ");
    assert!(s.names().is_empty());
}

#[test]
fn every_command_takes_a_stream() {
    let s = Sandbox::new();
    let stream = |line: &str| s.pisess(line).stdin(fixture("two-branches.jsonl")).real();
    for line in [
        "tree -",
        "path -",
        "branches -",
        "show -",
        "label -",
        "context -",
        "migrate -",
        "label -q - @ n",
    ] {
        stream(line).quiet();
    }
    for line in [
        "label - @ n",
        "compact - --first-kept none",
        "summarize - 1a2b3c05",
        "switch - 1a2b3c05",
        "pop - 1a2b3c05",
    ] {
        let done = stream(line);
        assert_eq!(
            (done.code, done.stderr.as_str()),
            (0, "226b1b5c\n"),
            "{line}"
        );
        assert!(
            done.stdout.starts_with(&fixture("two-branches.jsonl")),
            "{line}"
        );
        assert_eq!(done.text().lines().count(), 9, "{line}");
    }
    assert_eq!(stream("fork -").quiet().lines().count(), 6);
    assert!(s.names().is_empty());
}

#[test]
fn the_same_in_a_pipe_and_by_path() {
    let s = Sandbox::with(&["tour.jsonl", "v1.jsonl", "draft-tree.jsonl", "omp.jsonl"]);
    for name in s.names() {
        for command in [
            "tree",
            "path",
            "branches",
            "show",
            "context",
            "label",
            "tree --json --filter all",
        ] {
            let by_path = s.unchanged(&format!("{command} ./{name}"));
            let piped = s
                .pisess(&format!("{command} -"))
                .stdin(fixture(&name))
                .real();
            assert_eq!(by_path.text(), piped.text(), "{command} {name}");
            assert_eq!(by_path.stderr, piped.stderr, "{command} {name}");
        }
    }
}

#[test]
fn a_closed_pipe_is_success() {
    let s = Sandbox::new();
    let mut text = fixture("hazards/header-only.jsonl");
    for at in 0..20_000 {
        text.extend_from_slice(
            crate::sandbox::user(&format!("i{at:07}"), None, "many rows").as_bytes(),
        );
        text.push(b'\n');
    }
    s.put("long.jsonl", text);
    for line in [
        &["tree", "long.jsonl"][..],
        &["tree", "long.jsonl", "--json"],
        &["path", "long.jsonl", "--json"],
        &["context", "long.jsonl"],
        &["label", "long.jsonl", "@", "n", "-o", "-"],
        &["migrate", "long.jsonl", "-o", "-"],
        &["fork", "long.jsonl", "--branches", "-o", "-"],
        &["--help"],
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_pisess"))
            .args(line)
            .current_dir(s.path(""))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Nobody reads the output.
        drop(child.stdout.take());
        let mut said = String::new();
        child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut said)
            .unwrap();
        assert_eq!(
            (child.wait().unwrap().code(), said.as_str()),
            (Some(0), ""),
            "{line:?}"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_output_is_an_error() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    for line in [
        &["tree", "two-branches.jsonl"][..],
        &["label", "two-branches.jsonl", "@", "n", "-o", "-"],
        &["--help"],
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_pisess"))
            .args(line)
            .current_dir(s.path(""))
            .stdout(
                std::fs::OpenOptions::new()
                    .write(true)
                    .open("/dev/full")
                    .unwrap(),
            )
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{line:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(
            said.starts_with("pisess: cannot write standard output: "),
            "{line:?}: {said}"
        );
    }
    assert_eq!(s.bytes("two-branches.jsonl"), fixture("two-branches.jsonl"));
}

/// A session on standard input is not replaced by the result, as a session given by path is not,
/// although `--force` replaces other files.
#[cfg(unix)]
#[test]
fn the_redirected_input_as_output_is_refused() {
    // pisess label - @ n -o s.jsonl --force < s.jsonl
    let s = Sandbox::with(&["two-branches.jsonl"]);
    for line in [
        "label - @ n",
        "migrate -",
        "redact -",
        "export - --as markdown",
        "export - --as messages",
        "label -n - @ n",
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_pisess"))
            .args(line.split(' '))
            .args(["-o", "two-branches.jsonl", "--force"])
            .current_dir(s.path(""))
            .stdin(std::fs::File::open(s.path("two-branches.jsonl")).unwrap())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("it is the input itself"), "{line}: {said}");
    }
    assert_eq!(s.bytes("two-branches.jsonl"), fixture("two-branches.jsonl"));
    assert_eq!(s.names().len(), 1);
}

#[cfg(unix)]
#[test]
fn the_input_as_redirected_output_is_refused() {
    // pisess label s.jsonl @ n -o - >> s.jsonl
    let s = Sandbox::with(&["two-branches.jsonl"]);
    for line in [
        &["label", "two-branches.jsonl", "@", "n", "-o", "-"][..],
        &["tree", "two-branches.jsonl"],
        &["migrate", "two-branches.jsonl", "-o", "-"],
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_pisess"))
            .args(line)
            .current_dir(s.path(""))
            .stdout(
                std::fs::OpenOptions::new()
                    .append(true)
                    .open(s.path("two-branches.jsonl"))
                    .unwrap(),
            )
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{line:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(
            said.contains("standard output is the session file itself"),
            "{line:?}: {said}"
        );
        assert_eq!(
            s.bytes("two-branches.jsonl"),
            fixture("two-branches.jsonl"),
            "{line:?}"
        );
    }
}

#[test]
fn a_large_stream_is_spooled() {
    let s = Sandbox::new();
    let mut text = fixture("hazards/header-only.jsonl");
    let long = "x".repeat(1 << 20);
    for at in 0..20 {
        text.extend_from_slice(crate::sandbox::user(&format!("i{at:07}"), None, &long).as_bytes());
        text.push(b'\n');
    }
    let done = s
        .pisess("migrate -")
        .stdin(text.clone())
        .real()
        .quiet_bytes();
    assert!(done == text);
    assert_eq!(
        s.pisess("tree -")
            .stdin(text)
            .real()
            .quiet()
            .lines()
            .count(),
        20
    );
}

#[test]
fn a_slow_writer_is_waited_for() {
    let text = fixture("two-branches.jsonl");
    let mut child = Command::new(env!("CARGO_BIN_EXE_pisess"))
        .args(["tree", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for part in text.chunks(300) {
        stdin.write_all(part).unwrap();
        stdin.flush().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 6);
}

#[test]
fn without_a_home_or_any_environment() {
    let s = Sandbox::with(&["tour.jsonl"]);
    let mut call = s.pisess("tree tour.jsonl");
    for name in ["HOME", "TZ", "PISESS_NOW", "PISESS_ID_SEED"] {
        call = call.without(name);
    }
    let rows = call.real().quiet();
    assert!(rows.contains("grep: /fn departs_in/ in src"), "{rows}");
}

#[test]
fn real_ids_and_times_differ() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let call = || {
        s.pisess("label two-branches.jsonl @ n -n --json")
            .without("PISESS_NOW")
            .without("PISESS_ID_SEED")
    };
    let (one, two) = (call().real().quiet(), call().real().quiet());
    assert_ne!(one, two);
    assert!(!one.contains("2026-05-04T12:00:00.000Z"));
}
