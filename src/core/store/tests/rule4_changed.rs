//! Rule 4: what another process did between our read and our write is never lost and never overwritten.

use super::super::{Change, Found, ReadAt};
use super::*;
use std::os::unix::fs::FileExt;

#[test]
fn growth_is_found_read_and_built_upon() {
    let bench = Bench::new(OLD);
    let file = bench.open();
    append_to(&bench.path, "other\n");
    let mut locked = lock_on(&DISK, &file, &now(Agent::Pi)).unwrap();
    assert_eq!(locked.found(), Found::Grown);
    assert_eq!(ReadAt::len(&locked.reopen().unwrap()), OLD.len() as u64 + 6);
    assert_eq!(locked.found(), Found::Same);
    locked.append(LINE.as_bytes()).unwrap();
    assert_eq!(bench.content(), format!("{OLD}other\n{LINE}"));
}

#[test]
fn growth_that_was_not_read_is_not_built_upon() {
    for is_append in [true, false] {
        let bench = Bench::new(OLD);
        let file = bench.open();
        append_to(&bench.path, "other\n");
        let locked = lock_on(&DISK, &file, &now(Agent::Pi)).unwrap();
        let result = if is_append { locked.append(LINE.as_bytes()) } else { rewrite(locked, NEW) };
        assert!(is_changed(result, Change::Grown));
        assert_eq!(bench.content(), format!("{OLD}other\n"));
    }
}

/// A title rewritten in place, an append taken back and made anew, an edit in the middle, a touch, a
/// truncation, another file.
#[test]
fn any_other_change_is_refused() {
    let long = format!("{OLD}{}\n", "x".repeat(20_000));
    let overwrite = |path: &Path, text: &str, at: u64| {
        fs::OpenOptions::new().write(true).open(path).unwrap().write_all_at(text.as_bytes(), at).unwrap();
    };
    let truncate = |path: &Path, size| {
        fs::OpenOptions::new().write(true).open(path).unwrap().set_len(size).unwrap();
    };
    type Act<'a> = &'a dyn Fn(&Path);
    let acts: [(Change, Act<'_>); 7] = [
        (Change::Edited, &|path| overwrite(path, "{\"type\":\"TITLE\"", 0)),
        (Change::Edited, &|path| overwrite(path, "y", 10_000)),
        (Change::Edited, &|path| {
            overwrite(path, "y", 100);
            append_to(path, "more\n");
        }),
        (Change::Edited, &|path| {
            truncate(path, 10_000);
            append_to(path, &"z".repeat(30_000));
        }),
        (Change::Truncated, &|path| truncate(path, 10_000)),
        (Change::Truncated, &|path| truncate(path, 0)),
        (Change::Replaced, &|path| {
            fs::copy(path, path.with_extension("new")).unwrap();
            fs::rename(path.with_extension("new"), path).unwrap();
        }),
    ];
    for (number, (change, act)) in acts.into_iter().enumerate() {
        let bench = Bench::new(&long);
        let file = bench.open();
        assert!(file.still_same().unwrap());
        // The kernel's clock ticks every few milliseconds.
        std::thread::sleep(Duration::from_millis(10));
        act(&bench.path);
        let after = bench.content();
        assert!(is_changed(lock_on(&DISK, &file, &now(Agent::Pi)), change), "{number}");
        // What was replaced by a rename can still be read as it was.
        assert_eq!(file.still_same().unwrap(), change == Change::Replaced && number == 6, "{number}");
        assert_eq!(bench.content(), after);
    }
}

/// The same between the lock and the commit, by someone who knows nothing of locks.
#[test]
fn the_last_look_is_right_before_the_commit() {
    type Act = fn(&Path);
    let acts: [(Change, Act); 4] = [
        (Change::Grown, |path| append_to(path, "other\n")),
        (Change::Truncated, |path| {
            fs::OpenOptions::new().write(true).open(path).unwrap().set_len(3).unwrap();
        }),
        (Change::Replaced, |path| {
            fs::write(path.with_extension("new"), "other\n").unwrap();
            fs::rename(path.with_extension("new"), path).unwrap();
        }),
        (Change::Removed, |path| fs::remove_file(path).unwrap()),
    ];
    for (change, act) in acts {
        let bench = Bench::new(OLD);
        let locked = bench.lock().unwrap();
        act(&bench.path);
        let after = fs::read(&bench.path).ok();
        assert!(is_changed(locked.append(LINE.as_bytes()), change));
        assert_eq!(fs::read(&bench.path).ok(), after);

        let bench = Bench::new(OLD);
        let path = bench.path.clone();
        let result = bench.lock().unwrap().rewrite(None, &mut |out| {
            act(&path);
            out.write_all(NEW.as_bytes())
        });
        assert!(is_changed(result, change));
        assert_eq!(fs::read(&bench.path).ok(), after);
        assert!(bench.names().len() <= 1, "{:?}", bench.names());
    }
}

/// A writer that holds the old file open across the rename, and writes at that moment.
#[test]
fn growth_of_the_old_file_across_the_rename_is_carried_over() {
    for (old, new, grown, wanted) in [
        (OLD, NEW, "other\n", format!("{NEW}other\n")),
        (OLD, NEW.trim_end(), "other\n", format!("{NEW}other\n")),
        // The rest of a line that was only half there when we read it stays joined to that half.
        ("{\"a\":", "{\"a\":", "1}\n", "{\"a\":1}\n".to_owned()),
    ] {
        let bench = Bench::new(old);
        let mut writer = fs::OpenOptions::new().append(true).open(&bench.path).unwrap();
        let seam = Seam::new().leak();
        let locked = lock_on(seam, &bench.open(), &now(Agent::Pi)).unwrap();
        seam.before("rename", move || writer.write_all(grown.as_bytes()).unwrap());
        let committed = rewrite(locked, new).unwrap();
        assert_eq!(bench.content(), wanted);
        assert_eq!(committed.carried, grown.len() as u64);
        assert_eq!(seam.count("sync"), 2);
    }
}

#[test]
fn growth_that_cannot_be_carried_over_is_told() {
    let bench = Bench::new(OLD);
    let mut writer = fs::OpenOptions::new().append(true).open(&bench.path).unwrap();
    let seam = Seam::new().leak();
    let locked = lock_on(seam, &bench.open(), &now(Agent::Pi)).unwrap();
    seam.before("rename", move || {
        writer.write_all(b"other\n").unwrap();
        seam.fill_up();
    });
    let committed = rewrite(locked, NEW).unwrap();
    assert!(matches!(committed.troubles.as_slice(), [StoreError::GrowthLost { .. }]));
    assert_eq!(bench.content(), NEW);
}

/// Whoever opens the new file at once waits until the old one's growth is in it.
#[test]
fn the_new_file_is_locked_until_the_commit_is_over() {
    let bench = Bench::new(OLD);
    let seam = Seam::new().leak();
    let locked = lock_on(seam, &bench.open(), &now(Agent::Pi)).unwrap();
    let path = bench.path.clone();
    seam.before("rename", move || {
        let path = path.clone();
        seam.before("facts", move || {
            let new = SessionFile::open(&path).unwrap();
            assert!(lock_on(&DISK, &new, &now(Agent::Pi)).unwrap_err().is_busy());
        });
    });
    rewrite(locked, NEW).unwrap();
    bench.lock().unwrap().append(LINE.as_bytes()).unwrap();
    assert_eq!(bench.content(), format!("{NEW}{LINE}"));
}
