//! The other process of the tests in `store.rs`: `store-worker TASK SESSION`. It prints a line for
//! each commit.

use pisess::store::{
    Cause, Committed, InputFile, ReadAt, SessionFile, StoreError, WriteOptions, create, lock,
};
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The content of a new session.
pub const HEADER: &str = "{\"type\":\"session\",\"version\":3}\n";

fn main() {
    let args: Vec<_> = std::env::args().collect();
    let [_, task, session] = &*args else {
        panic!("store-worker TASK SESSION: {args:?}")
    };
    let session = Path::new(session);
    match &**task {
        "append for ever" => {
            for turn in 0.. {
                report(&append_numbered(session, turn));
            }
        }
        "rewrite for ever" => loop {
            report(&rewrite_next_generation(session, None));
        },
        "rewrite with backups for ever" => loop {
            report(&rewrite_with_backup(session));
        },
        "append 125" => (0..125).for_each(|turn| drop(append_numbered(session, turn))),
        "count to 30" => (0..30).for_each(|_| count_one_up(session)),
        "write to /dev/stdout" => write_to_stdout(session),
        "fill the disk" => fill_the_disk(session),
        "meet a size limit" => meet_a_size_limit(session),
        other => panic!("{other}"),
    }
}

/// Prints what is committed, so that the test can check it.
fn report(done: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{done}").unwrap();
    out.flush().unwrap();
}

fn text(file: &SessionFile) -> String {
    let mut bytes = vec![0; file.len() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    String::from_utf8(bytes).unwrap()
}

/// Waits longer for a lock than a busy machine can need.
fn patient() -> WriteOptions {
    WriteOptions {
        wait: Duration::from_secs(300),
        ..WriteOptions::default()
    }
}

/// Appends a line of up to 40 KB that contains an id, and returns the id.
fn append_numbered(session: &Path, turn: usize) -> String {
    let file = SessionFile::open(session).unwrap();
    let mut locked = lock(
        &file,
        &WriteOptions {
            is_omp: !turn.is_multiple_of(2),
            ..patient()
        },
    )
    .unwrap();
    if locked.is_stale() {
        locked.reopen().unwrap();
    }
    let name = format!("{}.{turn}", std::process::id());
    let filling = "x".repeat(turn * 997 % 40_000);
    locked
        .append(format!("{{\"id\":\"{name}\",\"x\":\"{filling}\"}}\n").as_bytes())
        .unwrap()
        .done()
        .unwrap();
    name
}

/// Replaces the content with 3,000 equal lines that contain the next generation, and returns its
/// number.
pub fn rewrite_next_generation(session: &Path, backup: Option<&Path>) -> String {
    let file = SessionFile::open(session).unwrap();
    let next = generation(&text(&file)) + 1;
    let locked = lock(
        &file,
        &WriteOptions {
            is_omp: !next.is_multiple_of(2),
            ..patient()
        },
    )
    .unwrap();
    let line = format!("{{\"generation\":{next}}}\n");
    let write = &mut |out: &mut dyn Write| {
        out.write_all(HEADER.as_bytes())?;
        (0..3_000).try_for_each(|_| out.write_all(line.as_bytes()))
    };
    locked.rewrite(backup, write).unwrap().done().unwrap();
    next.to_string()
}

/// Returns the generation, which must be the same in all lines: a mixed file is neither the old one
/// nor the new one.
pub fn generation(text: &str) -> usize {
    let lines: Vec<_> = text.strip_prefix(HEADER).unwrap().lines().collect();
    let Some(first) = lines.first() else { return 0 };
    assert!(lines.len() == 3_000 && text.ends_with('\n') && lines.iter().all(|line| line == first));
    first
        .strip_prefix("{\"generation\":")
        .unwrap()
        .strip_suffix('}')
        .unwrap()
        .parse()
        .unwrap()
}

/// Rewrites the session, with a backup named after the old generation.
fn rewrite_with_backup(session: &Path) -> String {
    let old = generation(&fs::read_to_string(session).unwrap());
    // A backup left by a killed process is not overwritten; the one before the last is not needed
    // any more.
    for unneeded in [Some(old), old.checked_sub(2)].into_iter().flatten() {
        drop(fs::remove_file(backup_of(session, unneeded)));
    }
    rewrite_next_generation(session, Some(&backup_of(session, old)))
}

/// Returns the path of the backup of a generation.
pub fn backup_of(session: &Path, generation: usize) -> PathBuf {
    session.with_extension(format!("jsonl.bak.{generation}"))
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
    let count: u32 = text(&file)
        .lines()
        .nth(1)
        .map_or(0, |line| line.parse().unwrap());
    let locked = lock(&file, &patient())?;
    locked
        .rewrite(None, &mut |out| writeln!(out, "{HEADER}{}", count + 1))?
        .done()
}

fn write_to_stdout(session: &Path) {
    let source = SessionFile::open(session).unwrap();
    let write = &mut |out: &mut dyn Write| out.write_all(b"new content\n");
    let created = create(
        Path::new("/dev/stdout"),
        InputFile::Open(&source),
        false,
        write,
    );
    let outcome = created.map_or_else(|error| error.to_string(), |_| "written".to_owned());
    std::io::stderr().write_all(outcome.as_bytes()).unwrap();
}

fn fill_the_disk(session: &Path) {
    fs::write(session, HEADER).unwrap();
    let filling = session.with_file_name("filling");
    let rest = fill(&filling);
    // With 0 to 3 free pages: nothing fits, or a part of it.
    for free in 0..4 {
        fs::OpenOptions::new()
            .write(true)
            .open(&filling)
            .unwrap()
            .set_len(rest - free * 4096)
            .unwrap();
        nothing_changes(session);
        fill(&filling);
    }
    fs::remove_file(&filling).unwrap();
    append_numbered(session, 1);
    report("the disk was full");
}

fn fill(path: &Path) -> u64 {
    let mut file = fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .unwrap();
    while file.write(&[0; 4096]).is_ok_and(|written| written > 0) {}
    file.metadata().unwrap().len()
}

/// The disk has no room for any of the three writes: each fails with an error and changes nothing.
fn nothing_changes(session: &Path) {
    let line = format!("{{\"x\":\"{}\"}}\n", "x".repeat(40_000));
    let before = (fs::read(session).unwrap(), names(session));
    let fresh = || {
        let file = SessionFile::open(session).unwrap();
        lock(
            &file,
            &WriteOptions {
                is_omp: true,
                ..WriteOptions::default()
            },
        )
        .unwrap()
    };
    let new = session.with_file_name("new.jsonl");
    let write = &mut |out: &mut dyn Write| out.write_all(line.as_bytes());
    for error in [
        fresh().append(line.as_bytes()).unwrap_err(),
        fresh()
            .rewrite(Some(&session.with_file_name("bak")), write)
            .unwrap_err(),
        create(&new, InputFile::Stream, false, write).unwrap_err(),
    ] {
        assert!(
            matches!(error.cause, Cause::Io(_)) && error.hint().is_some(),
            "{error:?}"
        );
        assert_eq!(
            (fs::read(session).unwrap(), names(session)),
            before,
            "{error}"
        );
    }
}

/// Returns the names of the files beside the session.
pub fn names(session: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(session.parent().unwrap()).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

fn meet_a_size_limit(session: &Path) {
    nothing_changes(session);
    append_numbered(session, 1);
    report("the limit was met");
}
