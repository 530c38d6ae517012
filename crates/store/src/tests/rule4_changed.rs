//! Rule 4: what another process wrote between our read and our write is never lost and never
//! overwritten.

use super::super::{FileChange, ReadAt};
use super::*;
use std::os::unix::fs::FileExt;

#[test]
fn growth_is_found_read_and_built_upon() {
    let bench = Bench::new(OLD);
    let file = bench.open();
    append_to(&bench.path, "other\n");
    let mut locked = lock_on(bench.seam, &file, &now(PI)).unwrap();
    assert!(locked.is_stale());
    assert_eq!(locked.reopen().unwrap().len(), OLD.len() as u64 + 6);
    assert!(!locked.is_stale());
    append(locked).unwrap();
    assert_eq!(bench.content(), format!("{OLD}other\n{LINE}"));
}

/// During an append, Linux updates the modification time before the size. A file that is read
/// between the two counts as grown once the size follows.
#[test]
fn an_append_in_progress_is_growth() {
    let bench = Bench::new(OLD);
    let file = bench.open();
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(1);
    fs::File::open(&bench.path)
        .unwrap()
        .set_modified(later)
        .unwrap();
    bench.before("sleep", |path| append_to(path, "other\n"));
    assert!(lock_on(bench.seam, &file, &now(PI)).unwrap().is_stale());
}

fn overwrite(path: &Path, text: &str, at: u64) {
    fs::OpenOptions::new()
        .write(true)
        .open(path)
        .unwrap()
        .write_all_at(text.as_bytes(), at)
        .unwrap();
}

fn truncate(path: &Path, size: u64) {
    fs::OpenOptions::new()
        .write(true)
        .open(path)
        .unwrap()
        .set_len(size)
        .unwrap();
}

fn long() -> String {
    format!("{OLD}{}\n", "x".repeat(20_000))
}

#[track_caller]
fn refused(change: FileChange, act: fn(&Path)) {
    let bench = Bench::new(&long());
    let file = bench.open();
    assert!(file.still_same().unwrap());
    // The kernel's clock ticks every few milliseconds.
    std::thread::sleep(Duration::from_millis(10));
    act(&bench.path);
    let after = bench.content();
    assert!(is_changed(lock_on(bench.seam, &file, &now(PI)), change));
    // A file replaced by a rename can still be read as it was.
    assert_eq!(file.still_same().unwrap(), change == FileChange::Replaced);
    assert_eq!(bench.content(), after);
}

/// A title rewritten in place, an append undone and replaced, an edit in the middle, a touch, a
/// truncation, another file.
#[test]
fn any_other_change_is_refused() {
    refused(FileChange::Edited, |path| {
        overwrite(path, "{\"type\":\"TITLE\"", 0)
    });
    refused(FileChange::Edited, |path| overwrite(path, "y", 10_000));
    refused(FileChange::Edited, |path| {
        overwrite(path, "y", 100);
        append_to(path, "more\n");
    });
    refused(FileChange::Edited, |path| {
        truncate(path, 10_000);
        append_to(path, &"z".repeat(30_000));
    });
    refused(FileChange::Truncated, |path| truncate(path, 10_000));
    refused(FileChange::Truncated, |path| truncate(path, 0));
    refused(FileChange::Replaced, |path| {
        fs::copy(path, path.with_extension("new")).unwrap();
        fs::rename(path.with_extension("new"), path).unwrap();
    });
}

/// A process that ignores locks changes the file between the lock and the commit.
#[test]
fn the_last_look_is_right_before_the_commit() {
    let refused = |change: FileChange, act: fn(&Path)| {
        let bench = Bench::new(OLD);
        let locked = bench.lock();
        act(&bench.path);
        let after = fs::read(&bench.path).ok();
        assert!(is_changed(append(locked), change));
        assert_eq!(fs::read(&bench.path).ok(), after);

        let bench = Bench::new(OLD);
        let result = bench.lock().rewrite(None, &mut |out| {
            act(&bench.path);
            out.write_all(NEW.as_bytes())
        });
        assert!(is_changed(result.and_then(Attempt::done), change));
        assert_eq!(fs::read(&bench.path).ok(), after);
        assert!(bench.names().len() <= 1, "{:?}", bench.names());
    };
    refused(FileChange::Grown, |path| append_to(path, "other\n"));
    refused(FileChange::Truncated, |path| truncate(path, 3));
    refused(FileChange::Replaced, |path| {
        fs::write(path.with_extension("new"), "other\n").unwrap();
        fs::rename(path.with_extension("new"), path).unwrap();
    });
    refused(FileChange::Removed, |path| fs::remove_file(path).unwrap());
}

/// Another process has the old file open across the rename, and writes at that moment.
#[test]
fn growth_of_the_old_file_across_the_rename_is_carried_over() {
    for (old, new, grown, wanted) in [
        (OLD, NEW, "other\n", format!("{NEW}other\n")),
        (OLD, NEW.trim_end(), "other\n", format!("{NEW}other\n")),
        // The rest of a line that was half written when we read it stays joined to that half.
        ("{\"a\":", "{\"a\":", "1}\n", "{\"a\":1}\n".to_owned()),
    ] {
        let bench = Bench::new(old);
        let mut writer = bench.writer();
        bench.before("rename", move |_| {
            writer.write_all(grown.as_bytes()).unwrap()
        });
        let committed = bench.rewrite(&now(PI), new).unwrap();
        assert!(
            bench.content() == wanted && committed.warnings.is_empty(),
            "{committed:?}"
        );
        assert_eq!(bench.seam.count("sync"), 2);
    }
}

/// A rewrite that allows it keeps what others append while it writes: it is synced before the new
/// file is in place, and a line that is written in two parts stays one. After a torn line, and
/// after any other change, it does not go on.
#[test]
fn a_rewrite_that_may_go_on_carries_growth_over() {
    let carried = |old: &str, during: &'static str| {
        let bench = Bench::new(old);
        let locked = bench
            .try_lock(&WriteOptions::default())
            .unwrap()
            .carrying_growth();
        // The first sync is that of the new file; each other one that of lines carried over.
        bench.before("sync", move |path| append_to(path, during));
        let result = rewrite(locked, NEW);
        (bench.content(), result, bench.seam.count("sync"))
    };
    let (content, result, syncs) = carried(OLD, "one\n");
    assert_eq!(
        (content, result.is_ok(), syncs),
        (format!("{NEW}one\n"), true, 2)
    );
    let (content, result, _) = carried("{\"a\":", "1}\n");
    assert!(is_changed(result, FileChange::Grown));
    assert_eq!(content, "{\"a\":1}\n");
    let bench = Bench::new(OLD);
    let result = bench.lock().carrying_growth().rewrite(None, &mut |out| {
        fs::write(&bench.path, OLD.to_uppercase() + "more\n").unwrap();
        out.write_all(NEW.as_bytes())
    });
    assert!(is_changed(
        result.and_then(Attempt::done),
        FileChange::Edited
    ));
    assert_eq!(bench.content(), OLD.to_uppercase() + "more\n");
}

/// An agent that opened the old file before the rename, and writes to it some time after.
#[test]
fn a_process_that_is_about_to_write_is_waited_for() {
    let bench = Bench::new(OLD);
    let mut writer = bench.writer();
    bench.before("sleep", move |_| writer.write_all(b"other\n").unwrap());
    let committed = bench.rewrite(&now(PI), NEW).unwrap();
    assert!(committed.warnings.is_empty(), "{committed:?}");
    assert_eq!(
        (bench.content(), bench.names()),
        (format!("{NEW}other\n"), vec!["s.jsonl".to_owned()])
    );
}

/// A process that keeps the old file open may write to it at any time.
#[test]
fn a_process_that_keeps_the_old_file_open_is_told() {
    let bench = Bench::new(OLD);
    let _writer = bench.writer();
    let committed = bench.rewrite(&now(PI), NEW).unwrap();
    assert!(matches!(committed.warnings.as_slice(), [error] if error.is_loss()));
    assert_eq!(
        (bench.content().as_str(), bench.seam.slept()),
        (NEW, Duration::from_secs(2))
    );
}

/// What took the place of the session, or changed in it, after the last look is not overwritten.
#[test]
fn a_change_at_the_last_moment_is_put_back() {
    for is_replaced in [true, false] {
        let bench = Bench::new(OLD);
        let theirs = OLD.to_uppercase();
        let (other, content) = (bench.at("other"), theirs.clone());
        bench.before("rename", move |path| {
            let written = if is_replaced { &other } else { path };
            fs::write(written, &content).unwrap();
            if is_replaced {
                fs::rename(&other, path).unwrap();
            }
        });
        // An agent appends to what it finds there right after the exchange.
        bench.between("rename", "stat_at", |path| append_to(path, "late\n"));
        let error = bench.rewrite(&now(PI), NEW).unwrap_err();
        assert!(error.is_busy(), "{error:?}");
        assert_eq!(
            (bench.content(), bench.names()),
            (theirs + "late\n", vec!["s.jsonl".to_owned()])
        );
    }
}

#[test]
fn growth_that_cannot_be_carried_over_is_told() {
    let bench = Bench::new(OLD);
    let (mut writer, seam) = (bench.writer(), bench.seam);
    bench.before("rename", move |_| {
        writer.write_all(b"other\n").unwrap();
        seam.fill_up();
    });
    let committed = bench.rewrite(&now(PI), NEW).unwrap();
    assert!(matches!(
        committed.warnings.as_slice(),
        [StoreError {
            cause: Cause::GrowthLost(_),
            ..
        }]
    ));
    assert_eq!(bench.content(), NEW);
}

/// A process that opens the new file at once waits until the growth of the old file is in it.
#[test]
fn the_new_file_is_locked_until_the_commit_is_over() {
    let bench = Bench::new(OLD);
    bench.between("rename", "stat", |path| {
        let new = SessionFile::open(path).unwrap();
        assert!(lock_on(&DISK, &new, &now(PI)).unwrap_err().is_busy());
    });
    bench.rewrite(&now(PI), NEW).unwrap();
    bench.append(&now(PI)).unwrap();
    assert_eq!(bench.content(), format!("{NEW}{LINE}"));
}

/// What belongs to a session, such as a file beside it, changes before another process can lock the
/// session.
#[test]
fn rewrite_then_runs_the_callback_under_the_lock() {
    let bench = Bench::new(OLD);
    let locked = bench.lock();
    let mut is_busy = false;
    let mut then = || is_busy = bench.try_lock(&now(PI)).is_err_and(|error| error.is_busy());
    let written = locked.rewrite_then(None, &mut |out| out.write_all(NEW.as_bytes()), &mut then);
    written.and_then(Attempt::done).unwrap();
    assert!(is_busy);
}

/// A fast agent appends between each comparison and the commit. The file is then returned, still
/// locked, so that the caller reads it and decides again, until the time to wait is over. Nothing
/// that the agent wrote is lost.
#[test]
fn growth_between_two_looks_is_read_until_the_wait_is_over() {
    for is_append in [true, false] {
        let (bench, result) = decided_again(3, is_append);
        result.unwrap();
        let others = "other\n".repeat(3);
        let wanted = if is_append {
            format!("{OLD}{others}{LINE}")
        } else {
            format!("{OLD}{others}new\n")
        };
        assert_eq!(bench.content(), wanted);
        // It grows once per second, and ten seconds are allowed.
        let (bench, result) = decided_again(20, is_append);
        assert!(is_changed(result, FileChange::Grown));
        assert_eq!(bench.content(), format!("{OLD}{}", "other\n".repeat(10)));
        assert_eq!(bench.names(), ["s.jsonl"]);
    }
}

/// Appends a line, or rewrites the content with one more, while another process appends this many
/// times.
fn decided_again(growths: usize, is_append: bool) -> (Bench, Result<Committed, StoreError>) {
    let bench = Bench::new(OLD);
    let grow = |turn| {
        if turn < growths {
            append_to(&bench.path, "other\n");
        }
        bench.seam.sleep(Duration::from_secs(1));
    };
    let options = WriteOptions {
        wait: Duration::from_secs(10),
        ..WriteOptions::default()
    };
    let mut file = bench.open();
    let mut locked = lock_on(bench.seam, &file, &options).unwrap();
    for turn in 0.. {
        if locked.is_stale() {
            file = locked.reopen().unwrap();
        }
        let attempt = if is_append {
            grow(turn);
            locked.append(LINE.as_bytes())
        } else {
            locked.rewrite(None, &mut |out| {
                let mut bytes = vec![0; file.len() as usize];
                file.read_exact_at(&mut bytes, 0)?;
                grow(turn);
                out.write_all(&[&bytes[..], b"new\n"].concat())
            })
        };
        match attempt {
            Ok(Attempt::Done(committed)) => return (bench, Ok(committed)),
            Ok(Attempt::Stale(again)) => locked = *again,
            Err(error) => return (bench, Err(error)),
        }
    }
    unreachable!("the loop has no end")
}

/// On overlayfs, the first open for writing copies the file up, which changes what `stat` reports:
/// the file is read again. Any other change that keeps the size is refused, on overlayfs and
/// elsewhere.
#[test]
fn a_copy_up_is_no_change_but_an_edit_is() {
    fn of_ctime(path: &Path) {
        use std::os::unix::fs::PermissionsExt;
        // The kernel's clock ticks every few milliseconds.
        std::thread::sleep(Duration::from_millis(10));
        fs::set_permissions(path, fs::Permissions::from_mode(0o640)).unwrap();
    }
    fn of_content(path: &Path) {
        std::thread::sleep(Duration::from_millis(10));
        let file = fs::OpenOptions::new().write(true).open(path).unwrap();
        let written = file.metadata().unwrap().modified().unwrap();
        file.write_all_at(b"y", 10_000).unwrap();
        file.set_modified(written + Duration::from_millis(10))
            .unwrap();
    }
    let long = long();
    let locked_after = |is_overlay: bool, act: fn(&Path)| {
        let bench = Bench::on(
            Seam {
                is_overlay,
                ..Seam::default()
            },
            &long,
        );
        bench.before("open_append", act);
        let locked = bench.try_lock(&now(PI));
        (bench, locked)
    };
    let (bench, taken) = locked_after(true, of_ctime);
    let mut locked = taken.unwrap();
    assert!(locked.is_stale());
    assert_eq!(locked.reopen().unwrap().len(), long.len() as u64);
    append(locked).unwrap();
    assert_eq!(bench.content(), format!("{long}{LINE}"));

    assert!(is_changed(
        locked_after(true, of_content).1,
        FileChange::Edited
    ));
    assert!(is_changed(
        locked_after(false, of_ctime).1,
        FileChange::Edited
    ));
}

/// What another process appends while a session is being removed keeps it: the session has its name
/// again.
#[test]
fn growth_during_a_removal_undoes_it() {
    for at in ["rename", "sleep"] {
        let bench = Bench::new(OLD);
        let mut writer = bench.writer();
        bench.before(at, move |_| writer.write_all(b"other\n").unwrap());
        let error = bench.lock().remove().and_then(Attempt::done).unwrap_err();
        assert!(matches!(error.cause, Cause::Changed(_)), "{at}: {error}");
        assert_eq!(
            (bench.content(), bench.names()),
            (format!("{OLD}other\n"), vec!["s.jsonl".to_owned()]),
            "{at}"
        );
    }
}

/// A session that another process has open for writing is not removed.
#[cfg(target_os = "linux")]
#[test]
fn a_session_that_is_open_for_writing_is_not_removed() {
    let bench = Bench::new(OLD);
    let _writer = bench.writer();
    assert!(bench.lock().remove().is_err());
    assert_eq!(
        (bench.content().as_str(), bench.names()),
        (OLD, vec!["s.jsonl".to_owned()])
    );
}

#[test]
fn growth_that_was_not_read_is_not_built_upon() {
    for is_append in [true, false] {
        let bench = Bench::new(OLD);
        let file = bench.open();
        append_to(&bench.path, "other\n");
        let locked = lock_on(bench.seam, &file, &now(PI)).unwrap();
        assert!(is_changed(change(locked, is_append), FileChange::Grown));
        assert_eq!(bench.content(), format!("{OLD}other\n"));
    }
}
