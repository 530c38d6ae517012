//! The store with real processes: killed ones, many at once, and a full disk.
//!
//! The other process is this test binary, called with the name of [`work`] and a task in its environment.
//! Rule numbers are those of `crates/store/src/lib.rs`.

#![cfg(unix)]

use pisess::session::dialect::Dialect;
use pisess::store::{Committed, Freshness, ReadAt, SessionFile, StoreError, WriteOptions, create, lock};
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const TASK: &str = "PISESS_TEST_TASK";
const SESSION: &str = "PISESS_TEST_SESSION";
const HEADER: &str = "{\"type\":\"session\",\"version\":3}\n";

/// The number of processes that each of two loops kills; a third loop kills a third as many.
const KILLS: usize = 510;

fn worker(task: &str, session: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "store::work", "--ignored", "--nocapture"]);
    command.env(TASK, task).env(SESSION, session).stdout(Stdio::piped());
    command
}

/// The work of the other process. Run directly, it tests nothing.
#[test]
#[ignore = "called by the other tests in a process of its own"]
fn work() {
    let (Ok(task), Some(session)) = (std::env::var(TASK), std::env::var_os(SESSION)) else { return };
    let session = PathBuf::from(session);
    match task.as_str() {
        "append for ever" => {
            for turn in 0.. {
                tell(append_numbered(&session, turn));
            }
        }
        "rewrite for ever" => loop {
            tell(rewrite_next_generation(&session, None));
        },
        "rewrite with backups for ever" => loop {
            let old = generation(&fs::read_to_string(&session).unwrap());
            let backup = backup_of(&session, old);
            // A backup left by a killed process is not overwritten; the one before the last is not needed any
            // more.
            for unneeded in [Some(old), old.checked_sub(2)].into_iter().flatten() {
                drop(fs::remove_file(backup_of(&session, unneeded)));
            }
            tell(rewrite_next_generation(&session, Some(&backup)));
        },
        "append 125" => (0..125).for_each(|turn| drop(append_numbered(&session, turn))),
        "count to 30" => (0..30).for_each(|_| count_one_up(&session)),
        "write to /dev/stdout" => write_to_stdout(&session),
        "fill the disk" => fill_the_disk(&session),
        "meet a size limit" => meet_a_size_limit(&session),
        other => panic!("{other}"),
    }
}

/// Prints on stdout what is committed, so that the parent can check it.
fn tell(done: String) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "done {done}").unwrap();
    out.flush().unwrap();
}

/// Prints a line even if the test passes.
fn say(what: &str) {
    let mut stderr = std::io::stderr().lock();
    writeln!(stderr, "\nstore: {what}").unwrap();
}

fn text(file: &SessionFile) -> String {
    let mut bytes = vec![0; file.len() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    String::from_utf8(bytes).unwrap()
}

/// Waits longer for a lock than a busy machine can need.
fn patient() -> WriteOptions {
    WriteOptions { wait: std::time::Duration::from_secs(300), ..WriteOptions::default() }
}

/// Appends a line of up to 40 KB that contains an id, and returns the id.
fn append_numbered(session: &Path, turn: usize) -> String {
    let dialect = if turn.is_multiple_of(2) { Dialect::Pi } else { Dialect::OhMyPi };
    let file = SessionFile::open(session).unwrap();
    let mut locked = lock(&file, &WriteOptions { is_omp: dialect == Dialect::OhMyPi, ..patient() }).unwrap();
    if locked.freshness() == Freshness::Stale {
        locked.reopen().unwrap();
    }
    let name = format!("{}.{turn}", std::process::id());
    let filling = "x".repeat(turn * 997 % 40_000);
    locked.append(format!("{{\"id\":\"{name}\",\"x\":\"{filling}\"}}\n").as_bytes()).unwrap().done().unwrap();
    name
}

/// Replaces the content with 3,000 equal lines that contain the next generation, and returns its number.
fn rewrite_next_generation(session: &Path, backup: Option<&Path>) -> String {
    let file = SessionFile::open(session).unwrap();
    let next = generation(&text(&file)) + 1;
    let dialect = if next.is_multiple_of(2) { Dialect::Pi } else { Dialect::OhMyPi };
    let locked = lock(&file, &WriteOptions { is_omp: dialect == Dialect::OhMyPi, ..patient() }).unwrap();
    let line = format!("{{\"generation\":{next}}}\n");
    let write = &mut |out: &mut dyn Write| {
        out.write_all(HEADER.as_bytes())?;
        (0..3_000).try_for_each(|_| out.write_all(line.as_bytes()))
    };
    locked.rewrite(backup, write).unwrap().done().unwrap();
    next.to_string()
}

/// Returns the generation, which must be the same in all lines: a mixed file is neither the old one nor the new
/// one.
fn generation(text: &str) -> usize {
    let lines: Vec<_> = text.strip_prefix(HEADER).unwrap().lines().collect();
    let Some(first) = lines.first() else { return 0 };
    assert!(lines.len() == 3_000 && text.ends_with('\n') && lines.iter().all(|line| line == first));
    first.strip_prefix("{\"generation\":").unwrap().strip_suffix('}').unwrap().parse().unwrap()
}

/// Kills a worker some milliseconds after its first commit; returns what it reported as done.
fn kill_somewhere(task: &str, session: &Path, chance: &mut u64) -> Vec<String> {
    let mut child: Child = worker(task, session).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut done = Vec::new();
    done.extend(lines.by_ref().find(|line| line.starts_with("done ")));
    *chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    std::thread::sleep(Duration::from_micros((*chance >> 33) % 9_000));
    child.kill().unwrap();
    child.wait().unwrap();
    done.extend(lines.filter(|line| line.starts_with("done ")));
    done.iter().map(|line| line["done ".len()..].to_owned()).collect()
}

fn bench() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let session = folder.path().join("s.jsonl");
    fs::write(&session, HEADER).unwrap();
    (folder, session)
}

/// Rules 1 and 7: what was reported is there, what was there stays, and each kill tears at most one line.
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
        assert!(cut <= 1 + usize::from(!before.ends_with(b"\n")), "{cut} torn lines");
        assert!(done.iter().all(|name| names.contains(name)), "lost: {done:?} {names:?}");
        torn += cut;
        appended += names.len();
        // So that the loop does not slow down as the file grows.
        if after.len() > 4 << 20 {
            fs::write(&session, HEADER).unwrap();
        }
    }
    only_hidden_names_beside(folder.path());
    say(&format!("{KILLS} kills, {appended} lines appended, {torn} torn"));
}

fn whole_lines(bytes: &[u8]) -> (BTreeSet<String>, usize) {
    let mut names = BTreeSet::new();
    let mut torn = 0;
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
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
        let told = done.last().map_or(last, |told| told.parse().unwrap());
        last = generation(&fs::read_to_string(&session).unwrap());
        assert!(last == told || last == told + 1, "told {told}, found {last}");
    }
    let left = only_hidden_names_beside(folder.path());
    assert!(left <= 1, "{left} temporary files");
    // The next rewrite removes what the last one left.
    rewrite_next_generation(&session, None);
    assert_eq!(only_hidden_names_beside(folder.path()), 0);
    say(&format!("{KILLS} kills, {last} generations"));
}

/// Rules 2 and 6: whenever the process is killed, the session and its backups are separate files, each of them
/// whole.
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
    say(&format!("{} kills while backing up, {before} between the backup and the session", KILLS / 3));
}

fn backup_of(session: &Path, generation: usize) -> PathBuf {
    session.with_extension(format!("jsonl.bak.{generation}"))
}

/// Checks that the files left by killed processes are hidden, and that no agent lists them (rules 2 and 5).
/// Returns the number of temporary files.
fn only_hidden_names_beside(folder: &Path) -> usize {
    let is_part = |name: &String| name.starts_with(".pisess-") && name.ends_with(".part");
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let (parts, others): (Vec<_>, Vec<_>) = names.partition(is_part);
    for name in others {
        assert!(name == "s.jsonl" || name.starts_with(".s.jsonl.lock"), "{name}");
    }
    parts.len()
}

/// Rules 3 and 4: eight processes, a thousand lines, none lost.
#[test]
fn eight_processes_append_a_thousand_lines() {
    let (folder, session) = bench();
    let workers: Vec<_> = (0..8).map(|_| worker("append 125", &session).spawn().unwrap()).collect();
    workers.into_iter().for_each(|worker| assert!(worker.wait_with_output().unwrap().status.success()));
    let content = fs::read(&session).unwrap();
    let (names, torn) = whole_lines(&content[HEADER.len()..]);
    assert_eq!((names.len(), torn), (1_000, 0));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// Rule 3: rewrites that build on each other. The second process is refused, reads again and loses nothing.
#[test]
fn four_processes_count_by_rewriting() {
    let (_folder, session) = bench();
    let workers: Vec<_> = (0..4).map(|_| worker("count to 30", &session).spawn().unwrap()).collect();
    workers.into_iter().for_each(|worker| assert!(worker.wait_with_output().unwrap().status.success()));
    assert_eq!(fs::read_to_string(&session).unwrap(), format!("{HEADER}{}\n", 120));
}

fn count_one_up(session: &Path) {
    loop {
        match try_to_count(session) {
            Ok(_) => return,
            Err(error) => assert!(error.is_busy(), "{error:?}"),
        }
    }
}

fn try_to_count(session: &Path) -> Result<Committed, StoreError> {
    let file = SessionFile::open(session)?;
    let count: u32 = text(&file).lines().nth(1).map_or(0, |line| line.parse().unwrap());
    let locked = lock(&file, &patient())?;
    locked.rewrite(None, &mut |out| writeln!(out, "{HEADER}{}", count + 1))?.done()
}

/// Rules 2 and 6: `-o /dev/stdout` appends to stdout, and never writes into the input.
#[test]
fn dev_stdout_is_written_through() {
    let (folder, session) = bench();
    let path = folder.path().join("out");
    fs::write(&path, "before\n").unwrap();
    for (stdout, wanted) in [(&path, "written"), (&session, "it is the input itself")] {
        let stdout = fs::OpenOptions::new().append(true).open(stdout).unwrap();
        let output = worker("write to /dev/stdout", &session).stdout(stdout).stderr(Stdio::piped()).output();
        let told = String::from_utf8(output.unwrap().stderr).unwrap();
        assert!(told.contains(wanted), "{told}");
    }
    let content = fs::read_to_string(&path).unwrap();
    assert!(content.starts_with("before\n") && content.contains("new content\n"), "{content}");
    assert!(!fs::read_to_string(&session).unwrap().contains("new content"));
}

fn write_to_stdout(session: &Path) {
    let source = SessionFile::open(session).unwrap();
    let write = &mut |out: &mut dyn Write| out.write_all(b"new content\n");
    match create(Path::new("/dev/stdout"), Some(&source), false, write) {
        Ok(_) => say("written"),
        Err(error) => say(&error.to_string()),
    }
}

/// Rule 7 on a real full disk: a small tmpfs in its own mount namespace, which ends with the process.
#[test]
fn a_full_disk() {
    let folder = tempfile::tempdir().unwrap();
    let session = folder.path().join("s.jsonl");
    let script = "mount -t tmpfs -o size=512k tmpfs \"$0\" && exec \"$@\"";
    let task = worker("fill the disk", &session);
    let flags: &[&str] = if rustix::process::geteuid().is_root() { &["-m"] } else { &["-r", "-m"] };
    let mut unshare = Command::new("unshare");
    unshare.args(flags).args(["sh", "-c", script]).arg(folder.path()).arg(task.get_program());
    unshare.args(task.get_args()).env(TASK, "fill the disk").env(SESSION, &session);
    match unshare.output() {
        Ok(output) if output.status.success() => {
            assert!(String::from_utf8_lossy(&output.stdout).contains("the disk was full"));
        }
        Ok(output) if String::from_utf8_lossy(&output.stdout).contains("running 1 test") => {
            panic!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
        }
        other => say(&format!("NOT TRIED on a full tmpfs, because none could be mounted: {other:?}")),
    }
}

fn fill_the_disk(session: &Path) {
    fs::write(session, HEADER).unwrap();
    let filling = session.with_file_name("filling");
    let rest = fill(&filling);
    // With 0 to 3 free pages: nothing fits, or a part of it.
    for free in 0..4 {
        fs::OpenOptions::new().write(true).open(&filling).unwrap().set_len(rest - free * 4096).unwrap();
        nothing_changes(session);
        fill(&filling);
    }
    fs::remove_file(&filling).unwrap();
    append_numbered(session, 1);
    tell("the disk was full".to_owned());
}

fn fill(path: &Path) -> u64 {
    let mut file = fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
    while file.write(&[0; 4096]).is_ok_and(|written| written > 0) {}
    file.metadata().unwrap().len()
}

/// The disk has no room for any of the three writes: each fails with an error and changes nothing.
fn nothing_changes(session: &Path) {
    let line = format!("{{\"x\":\"{}\"}}\n", "x".repeat(40_000));
    let before = (fs::read(session).unwrap(), names(session));
    let fresh = || {
        let file = SessionFile::open(session).unwrap();
        lock(&file, &WriteOptions { is_omp: true, ..WriteOptions::default() }).unwrap()
    };
    let new = session.with_file_name("new.jsonl");
    let write = &mut |out: &mut dyn Write| out.write_all(line.as_bytes());
    for error in [
        fresh().append(line.as_bytes()).unwrap_err(),
        fresh().rewrite(Some(&session.with_file_name("bak")), write).unwrap_err(),
        create(&new, None, false, write).unwrap_err(),
    ] {
        assert!(matches!(error, StoreError::Io { .. }) && error.hint().is_some(), "{error:?}");
        assert_eq!((fs::read(session).unwrap(), names(session)), before, "{error}");
    }
}

fn names(session: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(session.parent().unwrap()).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// The same with a limit of the process, which requires no permission to mount.
#[test]
fn a_file_size_limit() {
    let (_folder, session) = bench();
    let task = worker("meet a size limit", &session);
    let mut limited = Command::new("sh");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 40; exec \"$0\" \"$@\""]).arg(task.get_program());
    limited.args(task.get_args()).env(TASK, "meet a size limit").env(SESSION, &session);
    let output = limited.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("the limit was met"));
}

fn meet_a_size_limit(session: &Path) {
    nothing_changes(session);
    append_numbered(session, 1);
    tell("the limit was met".to_owned());
}
