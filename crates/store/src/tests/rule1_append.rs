//! Rule 1: whole lines in one write, after a newline if one is missing, undone when cut short.

use super::seam::{EIO, ENOSPC, Fault};
use super::*;

#[test]
fn nothing_is_nothing_and_half_a_line_is_refused() {
    let bench = Bench::new("{\"torn");
    bench.lock().append(b"").unwrap().done().unwrap();
    assert!(bench.lock().append(b"{\"cut\":").is_err());
    assert_eq!(bench.content(), "{\"torn");
}

/// The lines and the newline before them are one write, so that no other writer comes in between.
#[test]
fn it_is_one_write_and_one_fsync() {
    let bench = Bench::new("{\"torn");
    bench
        .lock()
        .append(LINE.repeat(3).as_bytes())
        .unwrap()
        .done()
        .unwrap();
    assert_eq!(
        ["write", "sync", "truncate"].map(|call| bench.seam.count(call)),
        [1, 1, 0]
    );
    assert_eq!(bench.seam.log().last(), Some(&"sync"));
}

/// A full disk is noticed before anything is written, so that nothing has to be cut.
#[test]
#[cfg(target_os = "linux")]
fn space_is_reserved_before_the_write() {
    let bench = Bench::new(OLD);
    bench.seam.break_calls("reserve", ENOSPC);
    // An agent, for whose line there is space, appends at any moment after the last look.
    bench.before("reserve", |path| append_to(path, "other\n"));
    let error = bench.append(&now(PI)).unwrap_err();
    assert!(
        matches!(error.cause, Cause::Io(_)) && error.hint().is_some(),
        "{error:?}"
    );
    assert_eq!(
        (bench.seam.count("write"), bench.seam.count("truncate")),
        (0, 0)
    );
    assert_eq!(bench.content(), format!("{OLD}other\n"));
    // Real space, of a real file.
    let file = fs::OpenOptions::new()
        .append(true)
        .open(&bench.path)
        .unwrap();
    DISK.reserve(&file, 1 << 20, 4096).unwrap();
    assert_eq!(file.metadata().unwrap().len(), bench.content().len() as u64);
    assert!(
        DISK.reserve(&file, 0, 1 << 62).is_err(),
        "no disk has so much space"
    );
}

/// If another process appended after a short write, nothing may be truncated.
#[test]
fn a_short_write_is_taken_back_only_if_nobody_wrote_behind_it() {
    for stranger in [false, true] {
        let bench = Bench::on(Seam::failing_at(index_of_write(PI), Fault::Full), OLD);
        if stranger {
            bench.between("write", "stat", |path| append_to(path, "\nother\n"));
        }
        let error = bench.append(&now(PI)).unwrap_err();
        let half = &LINE[..LINE.len() / 2];
        if stranger {
            assert!(matches!(error.cause, Cause::Torn { left, .. } if left == half.len() as u64));
            assert_eq!(bench.content(), format!("{OLD}{half}\nother\n"));
        } else {
            assert!(matches!(error.cause, Cause::Io(_)), "{error:?}");
            assert_eq!(bench.content(), OLD);
        }
        assert!(!error.is_busy());
    }
}

/// Whole lines that stay are in effect: the command must not be repeated.
#[test]
fn whole_lines_of_a_short_write_are_in_effect() {
    for (lines, is_written) in [(LINE.repeat(4), true), (LINE.to_owned(), false)] {
        let bench = Bench::on(Seam::failing_at(index_of_write(PI), Fault::Full), OLD);
        bench.between("write", "stat", |path| append_to(path, "\nother\n"));
        let error = bench
            .lock()
            .append(lines.as_bytes())
            .and_then(Attempt::done)
            .unwrap_err();
        assert!(
            matches!(error.cause, Cause::Torn { .. }) && error.is_written() == is_written,
            "{error:?}"
        );
    }
}

#[test]
fn a_short_write_that_cannot_be_taken_back_says_so() {
    let bench = Bench::on(Seam::failing_at(index_of_write(PI), Fault::Full), OLD);
    bench.seam.break_calls("truncate", EIO);
    let error = bench.append(&now(PI)).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("13 bytes of the new lines remain at the end of the file"),
        "{error}"
    );
    assert!(error.hint().is_some() && !error.is_written());
}

/// Whole lines are in effect before fsync, and an agent may have appended after them: nothing is
/// taken back.
#[test]
fn lines_that_cannot_be_synced_stay() {
    let bench = Bench::new(OLD);
    bench.seam.break_calls("sync", EIO);
    bench.before("sync", |path| append_to(path, "{}\n"));
    let error = bench.append(&now(PI)).unwrap_err();
    assert!(error.is_written(), "{error:?}");
    assert_eq!(
        (bench.seam.count("truncate"), bench.content()),
        (0, format!("{OLD}{LINE}{{}}\n"))
    );
}

#[test]
fn a_missing_newline_comes_first() {
    let bench = Bench::new("{\"type\":\"session\"}\n{\"torn");
    let committed = bench.append(&now(PI)).unwrap();
    assert!(committed.path == bench.path && committed.warnings.is_empty());
    assert_eq!(
        bench.content(),
        format!("{{\"type\":\"session\"}}\n{{\"torn\n{LINE}")
    );
    assert_eq!(bench.names(), ["s.jsonl"]);
}
