//! The removal of a session with the files that belong to it, and of locks (rules 4, 5 and 7).

use super::super::error::{Action, FileChange};
use super::super::remove::{Unremoved, hidden_path_of};
use super::super::source::Source;
use super::seam::Fault;
use super::*;

/// The files that belong to the session.
const COMPANIONS: [&str; 2] = ["s.jsonl.pruned", "log"];
const TEXT: &str = "belongs to it\n";

/// A session with companions.
fn bench_on(seam: Seam) -> Bench {
    let bench = Bench::on(seam, OLD);
    for name in COMPANIONS {
        fs::write(bench.at(name), TEXT).unwrap();
    }
    bench
}

fn remove(bench: &Bench) -> Result<Attempt, Unremoved> {
    let sources =
        COMPANIONS.map(|name| Source::from_path(name.to_owned(), &bench.at(name)).unwrap());
    let sources: Vec<_> = sources.iter().collect();
    let locked = bench.try_lock(&now(PI)).map_err(|error| Unremoved {
        error,
        is_undone: true,
    })?;
    locked.remove_with(&sources)
}

/// Returns the content of a file, in its place or under its hidden name.
fn content(bench: &Bench, name: &str) -> Option<String> {
    let place = bench.at(name);
    let hidden = fs::read_to_string(hidden_path_of(&place));
    fs::read_to_string(place).or(hidden).ok()
}

fn all_names() -> Vec<String> {
    ["log", "s.jsonl", "s.jsonl.pruned"]
        .map(str::to_owned)
        .to_vec()
}

#[test]
fn a_session_goes_with_its_companions() {
    let bench = bench_on(Seam::default());
    let Ok(Attempt::Done(committed)) = remove(&bench) else {
        panic!("nothing was removed");
    };
    assert!(committed.warnings.is_empty());
    assert!(bench.names().is_empty(), "{:?}", bench.names());
}

/// A process that looked a file up before it was hidden may write to it after the last look.
#[test]
fn growth_of_any_file_during_its_removal_undoes_all() {
    for (at, name) in ["s.jsonl", COMPANIONS[0], COMPANIONS[1]]
        .into_iter()
        .enumerate()
    {
        for is_after in [false, true] {
            let bench = bench_on(Seam::default());
            let path = bench.at(name);
            let mut writer = fs::OpenOptions::new().append(true).open(path).unwrap();
            let write = move || {
                writer.write_all(b"more\n").unwrap();
                drop(writer);
            };
            act_at_rename(bench.seam, at, is_after, Box::new(write));
            let unremoved = remove(&bench).unwrap_err();
            assert!(
                matches!(
                    unremoved.error.cause,
                    Cause::Changed(FileChange::Grown | FileChange::Edited)
                ),
                "{name}: {unremoved:?}"
            );
            assert!(unremoved.is_undone, "{name}: {unremoved:?}");
            assert_eq!(bench.names(), all_names(), "{name}");
            let grown = content(&bench, name).unwrap();
            assert!(grown.ends_with("more\n"), "{name}: {grown}");
        }
    }
}

/// Lets another process act before the rename of the file `at`, or after it.
fn act_at_rename(seam: &'static Seam, at: usize, is_after: bool, act: Box<dyn FnOnce() + Send>) {
    if at > 0 {
        seam.before("rename_new", move || {
            act_at_rename(seam, at - 1, is_after, act);
        });
    } else if is_after {
        seam.before("rename_new", move || seam.before("look", act));
    } else {
        seam.before("rename_new", act);
    }
}

/// Returns how many files are hidden.
fn hidden(bench: &Bench) -> usize {
    let names = bench.names();
    names.iter().filter(|name| name.ends_with(".aside")).count()
}

#[test]
fn a_removal_that_fails_at_any_call_has_changed_nothing() {
    for call in 0.. {
        let bench = bench_on(Seam::failing_at(call, Fault::Eio));
        let result = remove(&bench);
        let is_over = bench.seam.calls() <= call;
        let at = format!("call {call}, {:?}: {result:?}", bench.seam.log().get(call));
        match result {
            Err(unremoved) => {
                assert!(unremoved.is_undone, "{at}");
                assert_eq!(bench.names(), all_names(), "{at}");
            }
            // What could not be removed is reported.
            Ok(Attempt::Done(committed)) => {
                let left = committed
                    .warnings
                    .iter()
                    .filter(|warning| warning.action == Action::Remove);
                assert_eq!(hidden(&bench), left.count(), "{at}");
                assert_eq!(bench.names().len(), hidden(&bench), "{at}");
            }
            Ok(Attempt::Stale(_)) => panic!("{at}"),
        }
        if is_over {
            assert!(call > 20, "only {call} calls were seen");
            return;
        }
    }
}

/// Wherever the machine stops, no companion is gone from its place while the session is in its
/// place, and none is removed before all are hidden.
#[test]
fn a_removal_that_is_interrupted_hides_the_session_first_and_removes_it_last() {
    for fault in [Fault::Crash, Fault::CrashAfter] {
        for call in 0.. {
            let bench = bench_on(Seam::failing_at(call, fault));
            let result = remove(&bench);
            let is_over = bench.seam.calls() <= call;
            let at = format!("{fault:?} at call {call}: {:?}", bench.names());
            if bench.path.exists() {
                assert_eq!(bench.names(), all_names(), "{at}");
            }
            let is_any_gone = COMPANIONS
                .iter()
                .any(|name| content(&bench, name).is_none());
            if is_any_gone {
                assert!(!bench.path.exists(), "{at}");
                let is_left = content(&bench, "s.jsonl").is_some();
                assert!(is_left || bench.names().is_empty(), "{at}");
            }
            if is_over {
                assert!(result.is_ok());
                break;
            }
        }
    }
}

/// An agent waits for its lock.
#[test]
fn the_lock_of_oh_my_pi_does_not_stay_after_a_call_that_fails() {
    for call in 0.. {
        let bench = bench_on(Seam::failing_at(call, Fault::Eio));
        let appended = bench.append(&now(OMP));
        let at = format!("call {call}: {appended:?}");
        assert!(!bench.at(".s.jsonl.lock").exists(), "{at}");
        if bench.seam.calls() <= call {
            assert!(call > 8, "only {call} calls were seen");
            return;
        }
    }
}
