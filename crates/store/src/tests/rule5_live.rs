//! Rule 5: oh-my-pi's lock is respected, a stale one is stolen, a live oh-my-pi is refused.

use super::super::error::Action;
use super::seam::Fault;
use super::*;
use std::process::{Child, Command, Stdio};
use std::time::SystemTime;

fn lock_file(session: &Path) -> PathBuf {
    session.with_file_name(".s.jsonl.lock")
}

/// A session with a lock file that contains this.
fn locked_by(content: &str) -> Bench {
    let bench = Bench::new(OLD);
    fs::write(lock_file(&bench.path), content).unwrap();
    bench
}

/// A process that does nothing, killed when dropped.
struct Stranger(Child);

impl Stranger {
    fn sleeping() -> Stranger {
        Stranger::with(Stdio::null())
    }

    fn with(output: impl Into<Stdio>) -> Stranger {
        Stranger(
            Command::new("sleep")
                .arg("60")
                .stdout(output)
                .spawn()
                .unwrap(),
        )
    }

    fn id(&self) -> u32 {
        self.0.id()
    }

    /// What oh-my-pi writes into its lock file: its process id and the time in milliseconds.
    fn lock(&self) -> String {
        let now = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap();
        format!("{}:{}\n", self.id(), now.as_millis())
    }

    fn end(mut self) -> u32 {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
        self.0.id()
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_lock_file_is_there_around_the_commit_only() {
    for is_append in [true, false] {
        let bench = Bench::new(OLD);
        let started = SystemTime::now();
        let locked = bench.try_lock(&now(OMP)).unwrap();
        assert_eq!(bench.names(), ["s.jsonl"]);
        // Called within the commit, while the lock file exists.
        let look = move |path: &Path| {
            let content = fs::read_to_string(lock_file(path)).unwrap();
            let (pid, since) = content.strip_suffix('\n').unwrap().split_once(':').unwrap();
            assert_eq!(pid, std::process::id().to_string());
            let moment = SystemTime::UNIX_EPOCH + Duration::from_millis(since.parse().unwrap());
            assert!(started <= moment + Duration::from_millis(1) && moment <= SystemTime::now());
        };
        bench.before("sync", |path| {
            assert!(!lock_file(path).exists(), "held over the fsync")
        });
        bench.before(if is_append { "stat_at" } else { "rename" }, look);
        change(locked, is_append).unwrap();
        assert_eq!(bench.names(), ["s.jsonl"]);
    }
}

#[test]
fn pi_has_no_lock_file() {
    let bench = locked_by("1:1\n");
    bench.append(&now(PI)).unwrap();
    assert_eq!(fs::read_to_string(lock_file(&bench.path)).unwrap(), "1:1\n");
}

#[test]
fn a_live_holder_is_waited_for_and_never_robbed() {
    let stranger = Stranger::sleeping();
    let content = stranger.lock();
    let bench = locked_by(&content);
    let error = bench.append(&now(OMP)).unwrap_err();
    assert!(matches!(error.cause, Cause::Busy { holder, .. } if holder == Some(stranger.id())));
    assert!(error.is_busy());
    assert_eq!(fs::read_to_string(lock_file(&bench.path)).unwrap(), content);
    assert_eq!(bench.content(), OLD);

    bench.before("sleep", |path| fs::remove_file(lock_file(path)).unwrap());
    let options = WriteOptions {
        is_omp: OMP,
        ..WriteOptions::default()
    };
    bench.append(&options).unwrap();
    assert_eq!(bench.content(), format!("{OLD}{LINE}"));
    assert!(bench.seam.slept() < Duration::from_millis(10));
}

#[test]
fn a_dead_holder_is_robbed() {
    let (dead, later) = (Stranger::sleeping().end(), Stranger::sleeping());
    // Our own process id, too: an earlier process may have had it, as in containers.
    let mut pids = vec![dead, std::process::id()];
    if cfg!(target_os = "linux") {
        // The id of a dead process may belong to another one that started later.
        pids.push(later.id());
    }
    for pid in pids {
        let bench = locked_by(&format!("{pid}:1700000000000\n"));
        bench.append(&now(OMP)).unwrap();
        assert_eq!(bench.content(), format!("{OLD}{LINE}"));
        assert_eq!(bench.names(), ["s.jsonl"]);
    }
}

#[test]
fn a_malformed_lock_is_robbed_when_it_is_old() {
    for content in ["", "x", "12", "0:1\n", "12:now\n"] {
        let bench = locked_by(content);
        let written = fs::metadata(lock_file(&bench.path))
            .unwrap()
            .modified()
            .unwrap();
        bench.seam.freeze(written + Duration::from_millis(400));
        assert!(bench.append(&now(OMP)).unwrap_err().is_busy());
        bench.seam.freeze(written + Duration::from_millis(600));
        bench.append(&now(OMP)).unwrap();
        assert_eq!(bench.names(), ["s.jsonl"]);
    }
}

/// A clock that was set back since must not keep the lock forever.
#[test]
fn a_lock_from_the_future_is_robbed_too() {
    let dead = Stranger::sleeping().end();
    for content in [
        String::new(),
        "x".to_owned(),
        format!("{dead}:99999999999999\n"),
    ] {
        for ahead in [Duration::from_secs(1), Duration::from_secs(400_000_000)] {
            let bench = locked_by(&content);
            let file = fs::File::open(lock_file(&bench.path)).unwrap();
            file.set_modified(SystemTime::now() + ahead).unwrap();
            bench.seam.freeze(SystemTime::now());
            bench.append(&now(OMP)).unwrap();
            assert_eq!(bench.names(), ["s.jsonl"]);
        }
    }
}

/// Anything but a file is not a lock. It is opened without blocking, and not removed.
#[test]
fn a_lock_that_is_no_file_is_refused() {
    for put in NO_FILES {
        let bench = Bench::new(OLD);
        put(&lock_file(&bench.path));
        let error = bench.append(&now(OMP)).unwrap_err();
        assert!(
            matches!(
                error,
                StoreError {
                    action: Action::Lock,
                    cause: Cause::NotRegular,
                    ..
                }
            ),
            "{error:?}"
        );
        assert!(error.hint().is_some() && !error.is_busy());
        assert_eq!((bench.content().as_str(), bench.names().len()), (OLD, 2));
    }
    // A link to nothing can be neither taken nor read.
    let bench = Bench::new(OLD);
    std::os::unix::fs::symlink("nowhere", lock_file(&bench.path)).unwrap();
    assert!(bench.append(&now(OMP)).unwrap_err().is_busy());
}

/// Between our check of a stale lock and the theft, oh-my-pi steals it first.
#[test]
fn a_lock_that_changed_hands_is_given_back() {
    let stranger = Stranger::sleeping();
    let bench = locked_by("x");
    let file = fs::File::open(lock_file(&bench.path)).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(1))
        .unwrap();
    let content = stranger.lock();
    let theirs = content.clone();
    bench.before("rename", |path| fs::write(lock_file(path), theirs).unwrap());
    assert!(bench.append(&now(OMP)).unwrap_err().is_busy());
    assert_eq!(fs::read_to_string(lock_file(&bench.path)).unwrap(), content);
    assert_eq!(bench.names(), [".s.jsonl.lock", "s.jsonl"]);
}

/// If our lock was stolen while we held it, the new one is not ours to remove.
#[test]
fn only_our_own_lock_is_unlinked() {
    let bench = Bench::new(OLD);
    bench.before("rename", |path| {
        fs::write(lock_file(path), "1:1\n").unwrap()
    });
    bench.rewrite(&now(OMP), NEW).unwrap();
    assert_eq!(fs::read_to_string(lock_file(&bench.path)).unwrap(), "1:1\n");
}

/// A lock that cannot be taken is left, and the session is not changed.
#[test]
fn a_full_disk_leaves_no_lock_behind() {
    let bench = Bench::on(Seam::failing_at(index_of_write(OMP), Fault::Full), OLD);
    assert!(bench.append(&now(OMP)).is_err());
    assert_eq!((bench.content().as_str(), bench.names().len()), (OLD, 1));
}

/// A process that runs pisess is not oh-my-pi, nor is its child before the exec, which has the same
/// files open. Without this, tests that start processes while others lock would fail now and then.
#[test]
#[cfg(target_os = "linux")]
fn a_process_that_runs_the_same_program_is_no_oh_my_pi() {
    let bench = Bench::new(OLD);
    // The other test run waits for a reader of its log, and has the session as its standard input.
    let fifo = bench.fifo("log");
    let holding = fs::OpenOptions::new()
        .read(true)
        .append(true)
        .open(&bench.path)
        .unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "none", "--logfile"]).arg(&fifo);
    let mut holder = Stranger(
        command
            .stdin(Stdio::from(holding))
            .stdout(Stdio::null())
            .spawn()
            .unwrap(),
    );
    bench.append(&now(OMP)).unwrap();
    assert_eq!(bench.content(), format!("{OLD}{LINE}"));
    assert!(holder.0.try_wait().unwrap().is_none(), "it did not wait");
}

/// A process that is just being started has the files of its parent open until its own program
/// runs.
#[test]
#[cfg(target_os = "linux")]
fn who_is_gone_at_the_second_look_does_not_stop_it() {
    let bench = Bench::new(OLD);
    let child = Stranger::with(bench.writer());
    bench.before("sleep", |_| drop(child));
    bench.append(&now(OMP)).unwrap();
    assert!(!bench.seam.slept().is_zero());
}

/// A real process that has the file open for appending, as oh-my-pi does.
#[test]
#[cfg(target_os = "linux")]
fn an_open_writer_is_refused_at_once() {
    let bench = Bench::new(OLD);
    let reader = Stranger::with(fs::File::open(&bench.path).unwrap());
    bench.append(&now(OMP)).unwrap();
    let writer = Stranger::with(bench.writer());
    let options = WriteOptions {
        is_omp: OMP,
        ..WriteOptions::default()
    };
    let error = bench.try_lock(&options).unwrap_err();
    assert!(
        bench.seam.slept() < Duration::from_millis(100),
        "the wait for a lock is not spent on it"
    );
    assert!(error.is_busy() && error.hint().is_some());
    match error.cause {
        Cause::OpenForWriting { pid } => assert_eq!(pid, Some(writer.id())),
        other => panic!("{other:?}"),
    }
    bench.append(&forced(OMP)).unwrap();
    bench.append(&now(PI)).unwrap();
    reader.end();
    writer.end();
    bench.append(&now(OMP)).unwrap();
    assert_eq!(bench.content(), format!("{OLD}{}", LINE.repeat(4)));
}

fn stamp(time: SystemTime) -> String {
    jiff::Timestamp::try_from(time).unwrap().to_string()
}

/// A session whose last entry was written this long ago, with a fixed clock.
fn session_ending_in(last: &str, ago: Duration) -> Bench {
    let bench = Bench::new("");
    let born = fs::metadata(&bench.path).unwrap().modified().unwrap();
    let dated = last.replace("NOW", &stamp(born - ago));
    fs::write(&bench.path, format!("{{\"type\":\"session\"}}\n{dated}\n")).unwrap();
    fs::File::open(&bench.path)
        .unwrap()
        .set_modified(born - ago)
        .unwrap();
    bench.seam.freeze(born);
    bench
}

const MESSAGE: &str =
    r#"{"type":"message","id":"a","parentId":null,"timestamp":"NOW","message":{}}"#;
const TOOL: &str =
    r#"{"type":"custom","customType":"tool_execution_start","id":"a","timestamp":"NOW"}"#;
const EXIT: &str = r#"{"type":"custom","customType":"session_exit","id":"a","timestamp":"NOW"}"#;
const LEFT_BY_PISESS: [&str; 5] = [
    r#"{"type":"label","id":"a","timestamp":"NOW"}"#,
    r#"{"type":"compaction","id":"a","timestamp":"NOW"}"#,
    r#"{"type":"branch_summary","id":"a","timestamp":"NOW"}"#,
    r#"{"type":"custom","customType":"pisess.switch","id":"a","timestamp":"NOW"}"#,
    r#"{"type":"session","version":3,"id":"a","timestamp":"NOW"}"#,
];

#[test]
fn a_file_that_a_turn_just_wrote_is_refused_and_the_sign_fades() {
    for last in [MESSAGE, TOOL] {
        let bench = session_ending_in(last, Duration::from_secs(1));
        let error = bench.append(&now(OMP)).unwrap_err();
        assert!(
            matches!(error.cause, Cause::JustWritten { .. }),
            "{error:?}"
        );
        assert!(error.is_busy());
        bench.append(&forced(OMP)).unwrap();

        let bench = session_ending_in(last, Duration::from_secs(1));
        let options = WriteOptions {
            is_omp: OMP,
            ..WriteOptions::default()
        };
        bench.append(&options).unwrap();
        assert_eq!(bench.seam.slept(), Duration::from_secs(4));

        let bench = session_ending_in(last, Duration::from_secs(6));
        bench.append(&now(OMP)).unwrap();
    }
}

#[test]
fn a_closed_session_is_not_live_and_neither_is_what_pisess_wrote() {
    for last in LEFT_BY_PISESS
        .into_iter()
        .chain([EXIT, "{\"torn", "5", "{\"type\":\"message\"}"])
    {
        let bench = session_ending_in(last, Duration::ZERO);
        bench
            .append(&now(OMP))
            .unwrap_or_else(|error| panic!("{last}: {error}"));
    }
}

/// A copy, made a moment ago, of a session that ended long ago.
#[test]
fn a_fresh_copy_of_an_old_session_is_not_live() {
    let bench = Bench::new(&format!(
        "{}\n",
        MESSAGE.replace("NOW", "2025-01-02T03:04:05.678Z")
    ));
    bench.append(&now(OMP)).unwrap();
}

/// If processes can be inspected and none has the file open, the last append was not by oh-my-pi: a
/// script that adds messages one by one need not wait. If they cannot be inspected, it must.
#[test]
fn an_old_file_that_nobody_holds_is_not_live() {
    for is_blind in [true, false] {
        let bench = Bench::on(
            Seam {
                is_blind,
                ..Seam::default()
            },
            OLD,
        );
        let in_a_minute =
            fs::metadata(&bench.path).unwrap().modified().unwrap() + Duration::from_secs(60);
        bench.seam.freeze(in_a_minute);
        append_to(
            &bench.path,
            &format!("{}\n", MESSAGE.replace("NOW", &stamp(in_a_minute))),
        );
        fs::File::open(&bench.path)
            .unwrap()
            .set_modified(in_a_minute)
            .unwrap();
        let refused = bench.try_lock(&now(OMP)).err().map(|error| error.cause);
        assert!(
            matches!(
                (&refused, is_blind),
                (Some(Cause::JustWritten { .. }), true) | (None, false)
            ),
            "{refused:?}"
        );
    }
}

#[test]
fn a_long_last_line_is_read_whole() {
    let long = MESSAGE.replace(
        "{}}",
        &format!("{{\"content\":\"{}\"}}}}", "x".repeat(300_000)),
    );
    let bench = session_ending_in(&long, Duration::ZERO);
    assert!(bench.try_lock(&now(OMP)).unwrap_err().is_busy());
}
