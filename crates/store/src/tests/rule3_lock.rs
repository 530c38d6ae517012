//! Rule 3: one writer at a time, and the path is still the file that was read.

use super::super::FileChange;
use super::*;

#[test]
fn a_held_lock_is_waited_for_and_then_busy() {
    let bench = Bench::new(OLD);
    let held = bench.lock();
    let options = WriteOptions::default();
    let error = bench.try_lock(&options).unwrap_err();
    assert!(
        matches!(error.cause, Cause::Busy { .. }) && error.is_busy(),
        "{error:?}"
    );
    assert_eq!(bench.seam.slept(), options.wait);
    // Force does not override another process's lock.
    assert!(bench.try_lock(&forced(PI)).unwrap_err().is_busy());
    drop(held);
    assert!(!bench.lock().is_stale());
}

#[test]
fn it_goes_on_as_soon_as_the_lock_is_given_back() {
    let bench = Bench::new(OLD);
    let held = bench.lock();
    bench.before("sleep", |_| drop(append(held).unwrap()));
    assert!(bench.try_lock(&WriteOptions::default()).unwrap().is_stale());
}

/// While we waited for the lock, the file was replaced by another.
#[test]
fn after_another_rewrite_the_waiter_finds_the_file_replaced() {
    let bench = Bench::new(OLD);
    let file = bench.open();
    let held = bench.lock();
    bench.before("sleep", |_| drop(rewrite(held, NEW).unwrap()));
    assert!(is_changed(
        lock_on(bench.seam, &file, &WriteOptions::default()),
        FileChange::Replaced
    ));
    assert_eq!(bench.content(), NEW);
    let removed = bench.open();
    fs::remove_file(&bench.path).unwrap();
    assert!(is_changed(
        lock_on(bench.seam, &removed, &now(PI)),
        FileChange::Removed
    ));
}

/// Another file had the name while the lock was taken: that lock does not protect the session.
#[test]
fn a_lock_on_another_file_is_none() {
    let bench = Bench::new(OLD);
    let file = bench.open();
    bench.before("open_read", |path| {
        fs::rename(path, path.with_extension("aside")).unwrap();
        fs::write(path, OLD).unwrap();
    });
    bench.before("open_append", |path| {
        fs::rename(path.with_extension("aside"), path).unwrap()
    });
    assert!(is_changed(
        lock_on(bench.seam, &file, &now(PI)),
        FileChange::Replaced
    ));
}

#[test]
fn without_lock_support_it_wants_force() {
    let bench = Bench::on(
        Seam {
            has_no_locks: true,
            ..Seam::default()
        },
        OLD,
    );
    let error = bench.try_lock(&now(PI)).unwrap_err();
    assert!(
        matches!(error.cause, Cause::NoLockSupport(_)) && !error.is_busy(),
        "{error:?}"
    );
    bench.append(&forced(PI)).unwrap();
    assert_eq!(bench.content(), format!("{OLD}{LINE}"));
}

/// A dropped guard changes nothing.
#[test]
fn a_lock_without_a_commit_changes_nothing() {
    let bench = Bench::new(OLD);
    let before = DISK.stat_at(&bench.path).unwrap();
    drop(bench.lock());
    assert_eq!(DISK.stat_at(&bench.path).unwrap(), before);
}

/// Each thread opens, locks, reads again if the file has grown, and appends: no line is lost, and
/// each thread saw all lines before its own. On a file of oh-my-pi, none mistakes another for a
/// live agent (rule 5).
#[test]
fn eight_writers_lose_nothing() {
    const WRITERS: usize = 8;
    const EACH: usize = 40;
    for is_omp in [PI, OMP] {
        let bench = Bench::new(OLD);
        let options = patient(is_omp);
        std::thread::scope(|scope| {
            for writer in 0..WRITERS {
                let (path, options) = (&bench.path, &options);
                scope.spawn(move || {
                    (0..EACH).for_each(|turn| append_one(path, options, writer, turn))
                });
            }
        });
        let content = bench.content();
        let lines: Vec<_> = content.strip_prefix(OLD).unwrap().lines().collect();
        let seen: std::collections::BTreeSet<_> =
            lines.iter().map(|line| line.split('@').next()).collect();
        assert_eq!((lines.len(), seen.len()), (WRITERS * EACH, WRITERS * EACH));
        for (above, line) in lines.iter().enumerate() {
            assert!(
                line.ends_with(&format!("@{}", above + 2)),
                "line {above}: {line}"
            );
        }
        assert_eq!(bench.names(), ["s.jsonl"]);
    }
}

fn append_one(path: &Path, options: &WriteOptions, writer: usize, turn: usize) {
    use super::super::ReadAt;
    let mut file = SessionFile::open(path).unwrap();
    let mut locked = lock_on(&DISK, &file, options).unwrap();
    if locked.is_stale() {
        file = locked.reopen().unwrap();
    }
    let mut bytes = vec![0; file.len() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    let above = bytes.iter().filter(|byte| **byte == b'\n').count();
    locked
        .append(format!("{writer}.{turn}@{above}\n").as_bytes())
        .unwrap()
        .done()
        .unwrap();
}

/// Whatever took the session's place after it was read is opened without blocking, then checked: a
/// FIFO would block forever, at each point where the path is opened.
#[test]
fn lock_does_not_block_on_a_fifo_in_place_of_the_session() {
    for put in NO_FILES {
        for call in ["open_read", "try_lock", "open_append", "stat"] {
            let bench = Bench::new(OLD);
            bench.before(call, move |path| {
                fs::remove_file(path).unwrap();
                put(path);
            });
            let error = bench.try_lock(&now(PI)).unwrap_err();
            assert!(
                error.is_busy() || error.kind() == Some(ErrorKind::IsADirectory),
                "{call}: {error:?}"
            );
        }
        let bench = Bench::new(OLD);
        let mut locked = bench.lock();
        fs::remove_file(&bench.path).unwrap();
        put(&bench.path);
        let error = locked.reopen().unwrap_err();
        let is_folder = error.kind() == Some(ErrorKind::IsADirectory);
        assert!(
            is_folder || matches!(error.cause, Cause::NotRegular),
            "{error:?}"
        );
        assert!(is_changed(
            locked.append(LINE.as_bytes()),
            FileChange::Replaced
        ));
    }
}

/// The same between the check of a path and its opening for reading.
#[test]
fn a_fifo_between_the_look_and_the_opening_does_not_block() {
    let bench = Bench::new(OLD);
    bench.before("open_read", |path| {
        fs::remove_file(path).unwrap();
        make_fifo(path);
    });
    let error = SessionFile::open_on(bench.seam, &bench.path).unwrap_err();
    assert!(matches!(error.cause, Cause::NotRegular), "{error:?}");
}

/// A lock belongs to the open file, not to a handle: a process that is just being started has it,
/// too. It is released when we are done, not when the last handle is closed.
#[test]
fn the_lock_is_given_back_although_another_handle_is_open() {
    for is_append in [true, false] {
        let bench = Bench::new(OLD);
        let locked = bench.lock();
        let _as_in_a_child = locked.handle_for_reading().unwrap();
        change(locked, is_append).unwrap();
        drop(bench.lock());
    }
}
