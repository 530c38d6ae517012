//! Rule 7: every call needed for writing fails once, in every way, and the result on disk is
//! checked.

use super::super::create::{InputFile, NewFile, PermissionsOf, create_on};
use super::seam::Fault;
use super::*;

const FAULTS: [Fault; 4] = [Fault::Eio, Fault::Full, Fault::Crash, Fault::CrashAfter];

fn is_crash(fault: Fault) -> bool {
    matches!(fault, Fault::Crash | Fault::CrashAfter)
}

/// Runs an operation with the fault at its first call, then at its second, and so on, until the
/// operation completes without reaching the fault.
fn at_every_call(
    run: impl Fn(&Bench) -> Result<Committed, StoreError>,
    check: impl Fn(&Bench, Fault, Result<Committed, StoreError>, &str),
) {
    for fault in FAULTS {
        for call in 0.. {
            let bench = Bench::on(Seam::failing_at(call, fault), OLD);
            let result = run(&bench);
            let is_over = bench.seam.calls() <= call;
            let last = bench.seam.log().get(call).copied().unwrap_or("the end");
            check(
                &bench,
                fault,
                result,
                &format!("{fault:?} at call {call}, {last}"),
            );
            if is_over {
                assert!(call > 8, "only {call} calls were seen");
                break;
            }
        }
    }
}

#[test]
fn an_append_happens_whole_or_not_at_all() {
    for (is_omp, lines) in [(PI, 1), (OMP, 1), (PI, 300)] {
        let lines = LINE.repeat(lines);
        let new = format!("{OLD}{lines}");
        at_every_call(
            |bench| {
                bench
                    .try_lock(&now(is_omp))?
                    .append(lines.as_bytes())?
                    .done()
            },
            |bench, fault, result, at| {
                let content = bench.content();
                if is_crash(fault) {
                    assert!(
                        content.starts_with(OLD) && new.starts_with(&content),
                        "{at}: {content}"
                    );
                    // The next append begins a new line after the torn one, and steals the stale
                    // lock.
                    append(bench.lock_on_disk(&patient(is_omp))).unwrap();
                    let after = bench.content();
                    let closed = if content.ends_with('\n') { "" } else { "\n" };
                    assert_eq!(after, format!("{content}{closed}{LINE}"), "{at}");
                } else {
                    // Whole lines that cannot be synced are in effect, and reported as such.
                    let is_written = result.as_ref().err().is_none_or(StoreError::is_written);
                    let wanted = if is_written { &new } else { OLD };
                    assert_eq!(content, wanted, "{at}: {result:?}");
                    append(bench.lock_on_disk(&patient(is_omp))).unwrap();
                }
                assert_eq!(bench.names(), ["s.jsonl"], "{at}");
            },
        );
    }
}

#[test]
fn a_rewrite_leaves_the_old_file_or_the_new_one() {
    rewritten_at_every_call(PI, NEW);
}

#[test]
fn a_rewrite_for_oh_my_pi_leaves_the_old_file_or_the_new_one() {
    rewritten_at_every_call(OMP, NEW);
}

#[test]
fn a_large_rewrite_leaves_the_old_file_or_the_new_one() {
    rewritten_at_every_call(PI, &format!("{NEW}{}\n", "x".repeat(400_000)));
}

fn rewritten_at_every_call(is_omp: bool, new: &str) {
    at_every_call(
        |bench| bench.rewrite(&now(is_omp), new),
        |bench, fault, result, at| {
            let content = bench.content();
            assert!(content == OLD || content == new, "{at}");
            if !is_crash(fault) {
                assert_eq!(
                    content,
                    if result.is_ok() { new } else { OLD },
                    "{at}: {result:?}"
                );
                // What cannot be removed at once is removed by a second try.
                assert_eq!(bench.names(), ["s.jsonl"], "{at}");
            }
            append(bench.lock_on_disk(&patient(is_omp))).unwrap();
            // Files left by a crash are removed by the next rewrite.
            rewrite(bench.lock_on_disk(&patient(is_omp)), NEW).unwrap();
            assert_eq!(bench.names(), ["s.jsonl"], "{at}");
        },
    );
}

/// Wherever it fails, the backup is complete or absent, exists if the new file does, and is never a
/// hard link to the session: a write to one does not reach the other, and the next rewrite is not
/// refused.
#[test]
fn a_backup_is_there_when_the_new_file_is() {
    at_every_call(
        |bench| rewrite_with_backup(bench.try_lock(&now(PI))?, &bench.at("bak")),
        |bench, fault, result, at| {
            let content = bench.content();
            assert!(content == OLD || content == NEW, "{at}");
            let backup = fs::read_to_string(bench.at("bak")).ok();
            assert!(
                backup.as_deref().is_none_or(|backup| backup == OLD),
                "{at}: {backup:?}"
            );
            assert!(backup.is_some() || content == OLD, "{at}");
            if !is_crash(fault) {
                assert_eq!(content == NEW, result.is_ok(), "{at}: {result:?}");
                let names: &[&str] = if result.is_ok() {
                    &["bak", "s.jsonl"]
                } else {
                    &["s.jsonl"]
                };
                assert_eq!(bench.names(), names, "{at}");
            }
            append(bench.lock_on_disk(&patient(PI))).unwrap();
            assert_eq!(fs::read_to_string(bench.at("bak")).ok(), backup, "{at}");
            rewrite_with_backup(bench.lock_on_disk(&patient(PI)), &bench.at("second")).unwrap();
            assert_eq!(
                fs::read_to_string(bench.at("second")).unwrap(),
                format!("{content}{LINE}"),
                "{at}"
            );
        },
    );
}

#[test]
fn a_new_file_is_whole_or_absent() {
    for force in [false, true] {
        at_every_call(
            |bench| {
                if force {
                    fs::write(bench.at("new"), "other\n").unwrap();
                }
                let source = bench.open();
                let mut write = |out: &mut dyn Write| out.write_all(NEW.as_bytes());
                let new = NewFile {
                    path: &bench.at("new"),
                    input: InputFile::Open(&source),
                    permissions: PermissionsOf::Input,
                    force,
                };
                create_on(bench.seam, &new, &mut write, None)
            },
            |bench, fault, result, at| {
                let content = fs::read_to_string(bench.at("new")).ok();
                let before = force.then_some("other\n");
                assert!(
                    content.as_deref() == before || content.as_deref() == Some(NEW),
                    "{at}: {content:?}"
                );
                if !is_crash(fault) {
                    let wanted = if result.is_ok() { Some(NEW) } else { before };
                    assert_eq!(content.as_deref(), wanted, "{at}: {result:?}");
                    assert_eq!(
                        bench.names().len(),
                        1 + usize::from(content.is_some()),
                        "{at}"
                    );
                }
                assert_eq!(bench.content(), OLD);
            },
        );
    }
}

/// Removing a session whose content is elsewhere: it is there, or gone, or under a hidden name
/// after a crash.
#[test]
fn a_removal_is_whole_or_undone() {
    for is_omp in [PI, OMP] {
        at_every_call(
            |bench| bench.try_lock(&now(is_omp))?.remove()?.done(),
            |bench, fault, result, at| {
                let is_there = bench.path.exists();
                if is_there {
                    assert_eq!(bench.content(), OLD, "{at}");
                }
                if is_crash(fault) {
                    let hidden = bench
                        .names()
                        .into_iter()
                        .find(|name| name.ends_with(".part"));
                    let is_hidden = hidden
                        .is_some_and(|name| fs::read_to_string(bench.at(&name)).unwrap() == OLD);
                    let is_unlinked =
                        result.is_ok() || at.ends_with("unlink") || at.ends_with("sync_folder");
                    assert!(
                        is_there || is_hidden || is_unlinked,
                        "{at}: {:?}",
                        bench.names()
                    );
                } else {
                    assert_eq!(is_there, result.is_err(), "{at}: {result:?}");
                }
            },
        );
    }
}

/// A companion file, and the one that it replaces.
mod companions {
    use super::super::super::{CompanionFile, IfExists, InputFile, create_beside};
    use super::*;

    /// Writes `NEW` to the companion file of the bench, in which `OLD` was if `has_old`.
    fn create(bench: &Bench, has_old: bool) -> CompanionFile {
        let path = bench.at("companion");
        if has_old {
            fs::write(&path, OLD).unwrap();
        }
        let mut write = |out: &mut dyn Write| out.write_all(NEW.as_bytes());
        create_beside(&path, InputFile::Stream, IfExists::Replace, &mut write).unwrap()
    }

    /// Returns the content of the companion file; `None` if there is none.
    fn content(bench: &Bench) -> Option<String> {
        fs::read_to_string(bench.at("companion")).ok()
    }

    /// Returns the path of the temporary file of the companion file.
    fn temp_path(bench: &Bench) -> Option<PathBuf> {
        let mut entries = fs::read_dir(bench.folder.path()).unwrap();
        entries.find_map(|entry| {
            let path = entry.unwrap().path();
            path.to_string_lossy().ends_with(".part").then_some(path)
        })
    }

    #[test]
    fn the_old_file_is_put_back_or_removed_too() {
        for has_old in [false, true] {
            let bench = Bench::new(OLD);
            let old = has_old.then(|| OLD.to_owned());
            create(&bench, has_old).put_back_old().unwrap();
            assert_eq!(content(&bench), old);
            assert_eq!(temp_path(&bench), None);

            drop(create(&bench, has_old));
            assert_eq!(content(&bench), old);
            assert_eq!(temp_path(&bench), None);

            create(&bench, has_old).remove_with_old().unwrap();
            assert_eq!(content(&bench), None);
            assert_eq!(temp_path(&bench), None);
        }
    }

    /// Here, the old file is missing, so the names cannot be exchanged.
    #[test]
    fn a_new_file_that_remains_is_an_error() {
        let bench = Bench::new(OLD);
        let companion = create(&bench, true);
        fs::remove_file(temp_path(&bench).unwrap()).unwrap();
        companion.put_back_old().unwrap_err();
        assert_eq!(content(&bench).as_deref(), Some(NEW));
    }

    /// Here, the old file cannot be removed, because a directory has its name.
    #[test]
    fn an_old_file_that_remains_is_an_error() {
        let bench = Bench::new(OLD);
        let companion = create(&bench, true);
        let temp = temp_path(&bench).unwrap();
        fs::remove_file(&temp).unwrap();
        fs::create_dir(&temp).unwrap();
        let error = companion.remove_with_old().unwrap_err();
        assert!(matches!(error.cause, Cause::Unremoved(_)), "{error}");
        assert_eq!(content(&bench), None);
    }
}
