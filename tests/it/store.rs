//! The store with real processes: killed ones, many at once, and a full disk.
//!
//! The other process is the small program in `store/worker.rs`. Rule numbers are those of
//! `crates/store/src/lib.rs`.

#![cfg(unix)]

#[path = "store/worker.rs"]
#[allow(dead_code, reason = "the program uses the rest")]
mod worker;

use crate::sandbox::example;
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use worker::{HEADER, backup_of, generation, names, rewrite_next_generation};

/// The number of processes that each of two loops kills; a third loop kills a third as many. Those
/// of `tests/large` are what the store promises; the others find a mistake soon.
const KILLS: usize = if matches!(env!("CARGO_CRATE_NAME").as_bytes(), b"large") {
    510
} else {
    60
};

fn worker(task: &str, session: &Path) -> Command {
    let mut command = Command::new(example("store-worker"));
    command.arg(task).arg(session).stdout(Stdio::piped());
    command
}

/// Prints a line even if the test passes.
fn say(what: &str) {
    let mut stderr = std::io::stderr().lock();
    writeln!(stderr, "\nstore: {what}").unwrap();
}

/// Kills a worker some milliseconds after its first commit; returns what it reported as done.
fn kill_somewhere(task: &str, session: &Path, chance: &mut u64) -> Vec<String> {
    let mut child = worker(task, session).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map_while(Result::ok);
    let mut done = vec![lines.next().expect("the worker commits")];
    *chance = chance
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    std::thread::sleep(Duration::from_micros((*chance >> 33) % 9_000));
    child.kill().unwrap();
    child.wait().unwrap();
    done.extend(lines);
    done
}

fn bench() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let session = folder.path().join("s.jsonl");
    fs::write(&session, HEADER).unwrap();
    (folder, session)
}

/// Rules 1 and 7: what was reported is there, what was there stays, and each kill tears at most one
/// line.
#[test]
fn killed_while_appending() {
    let (folder, session) = bench();
    let (mut chance, mut torn, mut appended) = (1, 0, 0);
    for _ in 0..KILLS {
        let before = fs::read(&session).unwrap();
        let done = kill_somewhere("append for ever", &session, &mut chance);
        let after = fs::read(&session).unwrap();
        assert!(after.starts_with(&before));
        let (names, cut) = whole_lines(&after[before.len()..]);
        assert!(
            cut <= 1 + usize::from(!before.ends_with(b"\n")),
            "{cut} torn lines"
        );
        assert!(
            done.iter().all(|name| names.contains(name)),
            "lost: {done:?} {names:?}"
        );
        torn += cut;
        appended += names.len();
        // So that the loop does not slow down as the file grows.
        if after.len() > 4 << 20 {
            fs::write(&session, HEADER).unwrap();
        }
    }
    only_hidden_names_beside(folder.path());
    say(&format!(
        "{KILLS} kills, {appended} lines appended, {torn} torn"
    ));
}

fn whole_lines(bytes: &[u8]) -> (BTreeSet<String>, usize) {
    let mut names = BTreeSet::new();
    let mut torn = 0;
    for line in bytes
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        match serde_json::from_slice::<serde_json::Value>(line) {
            Ok(value) => drop(names.insert(value["id"].as_str().unwrap().to_owned())),
            Err(_) => torn += 1,
        }
    }
    (names, torn)
}

/// Rules 2 and 7: the old file or the new one, never older than what was reported.
#[test]
fn killed_while_rewriting() {
    let (folder, session) = bench();
    let (mut chance, mut last) = (2, 0);
    for _ in 0..KILLS {
        let done = kill_somewhere("rewrite for ever", &session, &mut chance);
        let reported = done
            .last()
            .map_or(last, |reported| reported.parse().unwrap());
        last = generation(&fs::read_to_string(&session).unwrap());
        assert!(
            last == reported || last == reported + 1,
            "reported {reported}, found {last}"
        );
    }
    let left = only_hidden_names_beside(folder.path());
    assert!(left <= 1, "{left} temporary files");
    // The next rewrite removes what the last one left.
    rewrite_next_generation(&session, None);
    assert_eq!(only_hidden_names_beside(folder.path()), 0);
    say(&format!("{KILLS} kills, {last} generations"));
}

/// Rules 2 and 6: whenever the process is killed, the session and its backups are separate files,
/// each of them whole.
#[test]
fn killed_while_backing_up() {
    use std::os::unix::fs::MetadataExt;
    let (folder, session) = bench();
    let (mut chance, mut before) = (3, 0);
    for _ in 0..KILLS / 3 {
        kill_somewhere("rewrite with backups for ever", &session, &mut chance);
        let last = generation(&fs::read_to_string(&session).unwrap());
        assert_eq!(fs::metadata(&session).unwrap().nlink(), 1);
        let is_backup = |name: &String| name.contains(".bak.") && !name.starts_with('.');
        let backups: Vec<_> = names(&session).into_iter().filter(is_backup).collect();
        assert!((1..=4).contains(&backups.len()), "{backups:?}");
        for name in backups {
            let path = folder.path().join(&name);
            assert_eq!(fs::metadata(&path).unwrap().nlink(), 1, "{name}");
            let old = generation(&fs::read_to_string(&path).unwrap());
            assert_eq!(backup_of(&session, old), path);
            assert!(old <= last, "{name} beside {last}");
            before += usize::from(old == last);
        }
    }
    say(&format!(
        "{} kills while backing up, {before} between the backup and the session",
        KILLS / 3
    ));
}

/// Checks that the files left by killed processes are hidden, and that no agent lists them (rules 2
/// and 5). Returns the number of temporary files.
fn only_hidden_names_beside(folder: &Path) -> usize {
    let is_part = |name: &String| name.starts_with(".pisess-") && name.ends_with(".part");
    let names = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let (parts, others): (Vec<_>, Vec<_>) = names.partition(is_part);
    for name in others {
        assert!(
            name == "s.jsonl" || name.starts_with(".s.jsonl.lock"),
            "{name}"
        );
    }
    parts.len()
}

/// Rules 3 and 4: eight processes, a thousand lines, none lost.
#[test]
fn eight_processes_append_a_thousand_lines() {
    let (folder, session) = bench();
    let workers: Vec<_> = (0..8)
        .map(|_| worker("append 125", &session).spawn().unwrap())
        .collect();
    workers
        .into_iter()
        .for_each(|worker| assert!(worker.wait_with_output().unwrap().status.success()));
    let content = fs::read(&session).unwrap();
    let (names, torn) = whole_lines(&content[HEADER.len()..]);
    assert_eq!((names.len(), torn), (1_000, 0));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// Rule 3: rewrites that build on each other. The second process is refused, reads again and loses
/// nothing.
#[test]
fn four_processes_count_by_rewriting() {
    let (_folder, session) = bench();
    let workers: Vec<_> = (0..4)
        .map(|_| worker("count to 30", &session).spawn().unwrap())
        .collect();
    workers
        .into_iter()
        .for_each(|worker| assert!(worker.wait_with_output().unwrap().status.success()));
    assert_eq!(
        fs::read_to_string(&session).unwrap(),
        format!("{HEADER}{}\n", 120)
    );
}

/// Rules 2 and 6: `-o /dev/stdout` appends to stdout, and never writes into the input.
#[test]
fn dev_stdout_is_written_through() {
    let (folder, session) = bench();
    let path = folder.path().join("out");
    fs::write(&path, "before\n").unwrap();
    for (stdout, wanted) in [(&path, "written"), (&session, "it is the input itself")] {
        let stdout = fs::OpenOptions::new().append(true).open(stdout).unwrap();
        let output = worker("write to /dev/stdout", &session)
            .stdout(stdout)
            .stderr(Stdio::piped())
            .output();
        let reported = String::from_utf8(output.unwrap().stderr).unwrap();
        assert!(reported.contains(wanted), "{reported}");
    }
    let content = fs::read_to_string(&path).unwrap();
    assert_eq!(content, "before\nnew content\n");
    assert!(
        !fs::read_to_string(&session)
            .unwrap()
            .contains("new content")
    );
}

/// Rule 7 on a real full disk: a small tmpfs in its own mount namespace, which ends with the
/// process.
#[test]
fn a_full_disk() {
    let folder = tempfile::tempdir().unwrap();
    let session = folder.path().join("s.jsonl");
    let script = "mount -t tmpfs -o size=512k tmpfs \"$0\" && echo mounted && exec \"$@\"";
    let task = worker("fill the disk", &session);
    let flags: &[&str] = if rustix::process::geteuid().is_root() {
        &["-m"]
    } else {
        &["-r", "-m"]
    };
    let mut unshare = Command::new("unshare");
    unshare
        .args(flags)
        .args(["sh", "-c", script])
        .arg(folder.path())
        .arg(task.get_program());
    unshare.args(task.get_args());
    match unshare.output() {
        Ok(output) if output.stdout.starts_with(b"mounted\n") => {
            assert!(output.status.success(), "{output:?}");
            assert_eq!(
                String::from_utf8_lossy(&output.stdout),
                "mounted\nthe disk was full\n"
            );
        }
        other => say(&format!(
            "NOT TRIED on a full tmpfs, because none could be mounted: {other:?}"
        )),
    }
}

/// The same with a limit of the process, which requires no permission to mount.
#[test]
fn a_file_size_limit() {
    let (_folder, session) = bench();
    let task = worker("meet a size limit", &session);
    let mut limited = Command::new("sh");
    limited
        .args(["-c", "trap '' XFSZ; ulimit -f 40; exec \"$0\" \"$@\""])
        .arg(task.get_program());
    limited.args(task.get_args());
    let output = limited.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "the limit was met\n"
    );
}
