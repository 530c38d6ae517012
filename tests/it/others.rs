//! Other processes that use the same session: agents that have it open, concurrent writers,
//! parallel shells, and a kill in the middle.

#![cfg(unix)]

use crate::sandbox::{Sandbox, fixture};
use insta::assert_snapshot;
use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

/// Each command that changes the session `./s` in place.
const CHANGES: [&str; 7] = [
    "label ./s @ n",
    "append ./s --user hi",
    "switch ./s root",
    "undo ./s",
    "compact ./s --first-kept none --summary s",
    "summarize ./s root --summary s",
    "check --repair --backup ./s",
];

/// A process that is killed at the end of the test.
struct Other(Child);

impl Other {
    fn sleeping(stdout: Stdio) -> Other {
        Other(
            Command::new("sleep")
                .arg("600")
                .stdout(stdout)
                .spawn()
                .unwrap(),
        )
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A session of oh-my-pi that ended, with a line that a repair would remove.
fn ended() -> Sandbox {
    let s = Sandbox::new();
    s.put("s", [fixture("omp.jsonl"), b"null\n".to_vec()].concat());
    s
}

/// oh-my-pi keeps its session open for appending as long as it runs.
#[cfg(target_os = "linux")]
#[test]
fn a_session_that_oh_my_pi_has_open_is_left_alone() {
    for line in CHANGES {
        let s = ended();
        let other = Other::sleeping(
            fs::OpenOptions::new()
                .append(true)
                .open(s.path("s"))
                .unwrap()
                .into(),
        );
        let said = s
            .unchanged(&format!("{line} -q"))
            .fails(3)
            .replace(&other.0.id().to_string(), "PID");
        assert_eq!(
            said,
            "cannot write ./s: process PID has it open for writing, as a running oh-my-pi does (hint: end that oh-my-pi session first, or use --force to write anyway)",
            "{line}"
        );
        for reading in [
            "tree ./s",
            "path ./s",
            "context ./s",
            "check ./s",
            "fork ./s -o ./new --force",
        ] {
            assert!(s.pisess(reading).done().code <= 1, "{reading}");
        }
        let before = s.bytes("s");
        let done = s.pisess(&format!("{line} --force")).done();
        // What it appends to a file that was replaced would be lost.
        let is_warned = done
            .stderr
            .contains("another process has the old file open");
        assert!(
            done.code == if is_warned { 4 } else { 0 } || done.code == 1,
            "{line}: {done}"
        );
        assert!(s.bytes("s") != before, "{line}");
    }
}

/// A lock of oh-my-pi is never overridden, even with force; that of a dead process is ignored.
#[test]
fn the_lock_of_oh_my_pi_is_honoured() {
    for line in CHANGES {
        let s = ended();
        let other = Other::sleeping(Stdio::null());
        let pid = other.0.id();
        let now = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap();
        s.put(".s.lock", format!("{pid}:{}\n", now.as_millis()));
        for force in ["", "--force"] {
            let said = s.unchanged(&format!("{line} -q --wait 0 {force}")).fails(3);
            assert_eq!(
                said.replace(&pid.to_string(), "PID"),
                "cannot lock ./.s.lock: held by process PID (waited 0.0 s) (hint: wait for the other process to end, or wait longer with --wait)",
                "{line}"
            );
        }
        drop(other);
        let done = s.pisess(&format!("{line} --wait 0")).done();
        assert!(done.code <= 1, "{line}: {done}");
        assert!(!s.names().contains(&".s.lock".to_owned()), "{line}");
    }
}

/// A summarizer that changes the session while pisess waits for it.
fn meanwhile(act: &str) -> Sandbox {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    s.put(
        "act",
        format!("cd \"${{0%/*}}\" || exit\ncat > /dev/null\n{act}\necho summary\n"),
    );
    s
}

fn summarised(s: &Sandbox) -> crate::sandbox::Done {
    let act = s.path("act");
    s.pisess(&format!(
        "compact ./two-branches.jsonl --first-kept none --summarizer 'sh {}'",
        act.display()
    ))
    .done()
}

#[test]
fn a_session_that_goes_away_meanwhile_is_not_made_again() {
    let s = meanwhile("rm two-branches.jsonl");
    assert_snapshot!(summarised(&s).fails(3), @"cannot write ./two-branches.jsonl: it was removed since it was read (hint: run the command again)");
    assert_eq!(s.names(), ["act"]);
}

#[test]
fn a_session_that_another_takes_the_place_of_is_left_alone() {
    let s = meanwhile("cp two-branches.jsonl new; mv new two-branches.jsonl");
    assert_snapshot!(summarised(&s).fails(3), @"cannot write ./two-branches.jsonl: it was replaced by another file since it was read (hint: run the command again)");
    assert_eq!(s.bytes("two-branches.jsonl"), fixture("two-branches.jsonl"));
    assert_eq!(s.names(), ["act", "two-branches.jsonl"]);
}

#[test]
fn a_session_that_is_cut_or_edited_meanwhile_is_left_alone() {
    let s = meanwhile("head -c 700 two-branches.jsonl > new; cat new > two-branches.jsonl; rm new");
    assert_snapshot!(summarised(&s).fails(3), @"cannot write ./two-branches.jsonl: it was truncated since it was read (hint: run the command again)");
    assert_eq!(
        s.bytes("two-branches.jsonl"),
        fixture("two-branches.jsonl")[..700]
    );
    let s = meanwhile("tr a b < two-branches.jsonl > new; cat new > two-branches.jsonl; rm new");
    assert_snapshot!(summarised(&s).fails(3), @"cannot write ./two-branches.jsonl: it was changed since it was read (hint: run the command again)");
    assert!(!s.text("two-branches.jsonl").contains("compaction"));
}

/// The line of the other process comes first, and the new entry is its child.
/// A summary made before another compaction does not belong below it, whatever follows that one.
#[test]
fn a_session_that_is_compacted_meanwhile_is_left_alone() {
    let compaction = r#"{"type":"compaction","id":"aaaa0001","parentId":"1a2b3c07","timestamp":"2026-01-01T00:00:00.000Z","summary":"s","firstKeptEntryId":"1a2b3c07","tokensBefore":9}"#;
    let more = r#"{"type":"message","id":"aaaa0002","parentId":"aaaa0001","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"on"}}"#;
    for lines in [compaction.to_owned(), format!("{compaction}\n{more}")] {
        let s = meanwhile("cat more >> two-branches.jsonl");
        s.put("more", lines + "\n");
        let with_theirs = s.text("two-branches.jsonl") + &s.text("more");
        let said = summarised(&s).fails(3);
        assert!(
            said.contains("another process compacted it or moved to another branch meanwhile"),
            "{said}"
        );
        assert_eq!(s.text("two-branches.jsonl"), with_theirs);
    }
}

#[test]
fn compact_summarizer_builds_on_entries_appended_meanwhile() {
    let line = crate::sandbox::user("eeee0001", Some("1a2b3c07"), "one more thing");
    let s = meanwhile(&format!("echo '{line}' >> two-branches.jsonl"));
    summarised(&s).quiet();
    let before = [&fixture("two-branches.jsonl")[..], line.as_bytes(), b"\n"].concat();
    let after = s.bytes("two-branches.jsonl");
    assert!(after.starts_with(&before));
    let added: serde_json::Value = serde_json::from_slice(&after[before.len()..]).unwrap();
    assert_eq!(
        (&added["type"], &added["parentId"]),
        (&"compaction".into(), &"eeee0001".into())
    );
}

/// pi leaves a large file of version 2 empty when it is killed during a migration.
#[test]
fn a_migration_that_is_killed_leaves_the_old_file_or_the_new_one() {
    let s = Sandbox::new();
    let mut old = fixture("v2.jsonl");
    let filling = "x".repeat(2_000);
    for at in 0..4_000 {
        let line = crate::sandbox::user(&format!("f{at:07}"), None, &filling);
        old.extend_from_slice(line.replace("\"user\"", "\"hookMessage\"").as_bytes());
        old.push(b'\n');
    }
    s.put("s.jsonl", &old);
    let new = s.pisess("migrate -q - ").stdin(old.clone()).done().stdout;
    let mut kept = 0;
    for delay in 0..25 {
        s.put("s.jsonl", &old);
        let mut child = Command::new(env!("CARGO_BIN_EXE_pisess"));
        child
            .args(["migrate", "-q", "s.jsonl"])
            .current_dir(s.path(""));
        let mut child = child.stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(delay * 2));
        child.kill().unwrap();
        child.wait().unwrap();
        let now = s.bytes("s.jsonl");
        assert!(
            now == old || now == new,
            "after {delay}: {} bytes",
            now.len()
        );
        kept += usize::from(now == old);
        assert!(s.names().len() <= 2, "{:?}", s.names());
    }
    assert!(kept > 0, "no process was killed in time");
    s.put("s.jsonl", &old);
    s.run("migrate ./s.jsonl");
    assert_eq!(s.names(), ["s.jsonl"], "what the dead left is gone");
}

/// A user who may write to the file but does not own it cannot keep the owner in a rewrite. Only
/// root can create such a file for the test.
#[test]
fn an_owner_that_cannot_be_kept_is_refused_without_force() {
    use std::os::unix::fs::PermissionsExt;
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let s = Sandbox::with(&["v1.jsonl"]);
    for (name, mode) in [("", 0o777), ("v1.jsonl", 0o666)] {
        fs::set_permissions(s.path(name), PermissionsExt::from_mode(mode)).unwrap();
    }
    let run = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pisess"));
        command
            .args(words)
            .current_dir(s.path(""))
            .uid(65_534)
            .gid(65_534)
            .output()
    };
    // If the user nobody may not run the binary, this is not tested.
    let Ok(output) = run(&["migrate", "v1.jsonl"]) else {
        return;
    };
    assert_snapshot!(String::from_utf8(output.stderr).unwrap(), @"pisess: cannot rewrite v1.jsonl: the owner cannot be kept: operation not permitted (hint: use --force to continue without it)");
    assert_eq!(
        (output.status.code(), s.bytes("v1.jsonl")),
        (Some(2), fixture("v1.jsonl"))
    );
    assert_eq!(s.names(), ["v1.jsonl"]);
    let output = run(&["migrate", "--force", "v1.jsonl"]).unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(s.text("v1.jsonl").contains("\"version\":3"));
}

/// A reader beside a writer, as in two terminals, sees whole lines or a torn last line, which it
/// skips.
#[test]
fn a_reader_beside_a_writer_sees_what_was_or_what_is() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let path = s.path("two-branches.jsonl");
    let writer = std::thread::spawn(move || {
        let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
        for at in 0..400 {
            let line = crate::sandbox::user(&format!("w{at:07}"), None, &"x".repeat(at * 7)) + "\n";
            let (first, rest) = line.as_bytes().split_at(line.len() / 2);
            file.write_all(first).unwrap();
            file.write_all(rest).unwrap();
        }
    });
    while !writer.is_finished() {
        let done = s.pisess("tree --filter all ./two-branches.jsonl").done();
        assert_eq!(done.code, 0, "{done}");
        let told = done.stderr.trim_end();
        assert!(
            told.is_empty() || told.contains(": the last line is incomplete"),
            "{told}"
        );
    }
    writer.join().unwrap();
    assert_eq!(
        s.run("tree --filter all ./two-branches.jsonl")
            .lines()
            .count(),
        7 + 400
    );
}

/// pi opens, writes and closes the session for each entry, also while it is rewritten: every line
/// is in the file, or the exit code shows that some may be missing.
#[test]
fn prune_over_and_restore_keep_lines_appended_meanwhile() {
    const LINES: usize = 400;
    let s = Sandbox::new();
    s.put("s", crate::prune::large() + "\n");
    let path = s.path("s");
    let agent = std::thread::spawn(move || {
        for number in 0..LINES {
            let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
            let line = crate::sandbox::user(&format!("eeee{number:04}"), None, "more");
            file.write_all(format!("{line}\n").as_bytes()).unwrap();
            drop(file);
            std::thread::sleep(Duration::from_millis(3));
        }
    });
    let (mut rewrites, mut may_miss) = (0, false);
    while !agent.is_finished() {
        for line in ["prune --over 1k s --wait 60", "prune --restore s --wait 60"] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_pisess"));
            let output = command
                .args(line.split(' '))
                .current_dir(s.path(""))
                .output()
                .unwrap();
            rewrites += usize::from(output.status.success());
            may_miss |= output.status.code() == Some(4);
            assert!(
                matches!(output.status.code(), Some(0 | 3 | 4)),
                "{line}: {output:?}"
            );
        }
    }
    agent.join().unwrap();
    let text = s.text("s");
    let missing = (0..LINES)
        .filter(|number| !text.contains(&format!("\"eeee{number:04}\"")))
        .count();
    assert!(
        missing == 0 || may_miss,
        "{missing} lines are missing after {rewrites} rewrites"
    );
    assert!(rewrites > 1, "{rewrites}");
}
