//! Tests of the seven rules, on real files. Where a call has to fail, [`seam`] makes it fail. The
//! other processes are shell commands, so the tests run on Unix.

#![cfg(unix)]

mod seam;

mod rule1_append;
mod rule2_rewrite;
mod rule3_lock;
mod rule4_changed;
mod rule5_live;
mod rule6_new_files;
mod rule7_faults;

mod archives;
mod reading;
mod removal;

use super::append::{Attempt, Committed};
use super::error::{Cause, StoreError};
use super::files::{DISK, Files};
use super::lock::{Locked, WriteOptions, lock_on};
use super::session_file::SessionFile;
use seam::Seam;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The value of [`WriteOptions::is_omp`] for each agent.
const PI: bool = false;
const OMP: bool = true;

const OLD: &str = "{\"type\":\"session\"}\n{\"type\":\"message\",\"id\":\"a\"}\n";
const LINE: &str = "{\"type\":\"label\",\"id\":\"b\"}\n";
const NEW: &str = "{\"type\":\"session\",\"version\":3}\n{\"type\":\"message\",\"id\":\"c\"}\n";

/// Options for tests in which writers wait for each other: on a busy machine, each append may take
/// a while.
fn patient(is_omp: bool) -> WriteOptions {
    WriteOptions {
        wait: Duration::from_secs(300),
        is_omp,
        ..WriteOptions::default()
    }
}

/// A directory with one session, and the seam through which it is written.
struct Bench {
    folder: tempfile::TempDir,
    path: PathBuf,
    seam: &'static Seam,
}

impl Bench {
    fn new(content: &str) -> Bench {
        Bench::on(Seam::default(), content)
    }

    fn on(seam: Seam, content: &str) -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        fs::write(&path, content).unwrap();
        // Leaked, because the store needs a `'static` one.
        Bench {
            folder,
            path,
            seam: Box::leak(Box::new(seam)),
        }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn fifo(&self, name: &str) -> PathBuf {
        make_fifo(&self.at(name));
        self.at(name)
    }

    fn open(&self) -> SessionFile {
        SessionFile::open(&self.path).unwrap()
    }

    fn content(&self) -> String {
        fs::read_to_string(&self.path).unwrap()
    }

    /// Opens the session as an agent does that appends to it.
    fn writer(&self) -> fs::File {
        fs::OpenOptions::new()
            .append(true)
            .open(&self.path)
            .unwrap()
    }

    /// Returns the names in the directory, sorted.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Another process acts on the session once, before the next call of that name.
    fn before(&self, call: &'static str, act: impl FnOnce(&Path) + Send + 'static) {
        let path = self.path.clone();
        self.seam.before(call, move || act(&path));
    }

    /// Another process acts on the session once, before the first call of the second name after the
    /// next one of the first.
    fn between(
        &self,
        first: &'static str,
        then: &'static str,
        act: impl FnOnce(&Path) + Send + 'static,
    ) {
        let (seam, path) = (self.seam, self.path.clone());
        seam.before(first, move || seam.before(then, move || act(&path)));
    }

    fn lock(&self) -> Locked {
        self.try_lock(&now(PI)).unwrap()
    }

    fn try_lock(&self, options: &WriteOptions) -> Result<Locked, StoreError> {
        lock_on(self.seam, &self.open(), options)
    }

    /// Opens and locks the session, and appends a line.
    fn append(&self, options: &WriteOptions) -> Result<Committed, StoreError> {
        append(self.try_lock(options)?)
    }

    /// Opens and locks the session, and replaces its content.
    fn rewrite(&self, options: &WriteOptions, text: &str) -> Result<Committed, StoreError> {
        rewrite(self.try_lock(options)?, text)
    }

    /// Locks the session without the seam, so that time passes while it waits.
    fn lock_on_disk(&self, options: &WriteOptions) -> Locked {
        lock_on(&DISK, &self.open(), options).unwrap()
    }
}

/// Options that do not wait for locks.
fn now(is_omp: bool) -> WriteOptions {
    WriteOptions {
        wait: Duration::ZERO,
        is_omp,
        ..WriteOptions::default()
    }
}

fn forced(is_omp: bool) -> WriteOptions {
    WriteOptions {
        force: true,
        ..now(is_omp)
    }
}

/// Which call of an append is the first that writes: of the lock file, or of the line.
fn index_of_write(is_omp: bool) -> usize {
    let bench = Bench::new(OLD);
    bench.append(&now(is_omp)).unwrap();
    bench
        .seam
        .log()
        .iter()
        .position(|call| *call == "write")
        .unwrap()
}

fn make_fifo(path: &Path) {
    assert!(
        std::process::Command::new("mkfifo")
            .arg(path)
            .status()
            .unwrap()
            .success()
    );
}

fn append_to(path: &Path, text: &str) {
    fs::OpenOptions::new()
        .append(true)
        .open(path)
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
}

fn append(locked: Locked) -> Result<Committed, StoreError> {
    locked.append(LINE.as_bytes())?.done()
}

/// Appends a line, or replaces the content.
fn change(locked: Locked, is_append: bool) -> Result<Committed, StoreError> {
    if is_append {
        append(locked)
    } else {
        rewrite(locked, NEW)
    }
}

fn rewrite(locked: Locked, text: &str) -> Result<Committed, StoreError> {
    locked
        .rewrite(None, &mut |out| out.write_all(text.as_bytes()))?
        .done()
}

/// Replaces the content, and keeps the old one.
fn rewrite_with_backup(locked: Locked, backup: &Path) -> Result<Committed, StoreError> {
    locked
        .rewrite(Some(backup), &mut |out| out.write_all(NEW.as_bytes()))?
        .done()
}

/// What may take the place of a file, and must not be opened as one.
const NO_FILES: [fn(&Path); 3] = [
    make_fifo,
    |path| fs::create_dir(path).unwrap(),
    |path| std::os::unix::fs::symlink("/dev/zero", path).unwrap(),
];

fn is_changed(result: Result<impl std::fmt::Debug, StoreError>, wanted: super::FileChange) -> bool {
    match result {
        Err(
            error @ StoreError {
                cause: Cause::Changed(change),
                ..
            },
        ) => change == wanted && error.is_busy(),
        other => panic!("{other:?}"),
    }
}
