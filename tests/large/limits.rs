//! Unusual machines: no further thread, little memory, an overlay file system, and endless inputs.

use crate::sandbox::{Sandbox, fixture, program, split};
use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};

/// Prints a line even if the test passes.
fn say(what: &str) {
    writeln!(std::io::stderr().lock(), "\nlimits: {what}").unwrap();
}

/// Runs pisess after a shell command that sets a limit.
fn limited(s: &Sandbox, limit: &str, line: &str) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("{limit} && exec \"$0\" \"$@\"")])
        .arg(program());
    command
        .args(split(line))
        .current_dir(s.path(""))
        .stdin(Stdio::null());
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A session large enough for two workers to read and draw it.
fn large() -> String {
    let mut session = "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/\"}\n".to_owned();
    let mut parent = "null".to_owned();
    for at in 0..60_000 {
        session += &format!(
            "{{\"type\":\"message\",\"id\":\"{at:08x}\",\"parentId\":{parent},\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"message\":{{\"role\":\"user\",\"content\":\"question {at}\"}}}}\n"
        );
        parent = format!("\"{at:08x}\"");
    }
    session
}

/// One process, one thread.
const ONE: &str = "prlimit --nproc=1";

/// A limit on processes counts threads, too. It does not apply to root, so another user runs the
/// test.
#[test]
fn where_no_thread_can_be_started_one_does_it_all() {
    let s = Sandbox::new();
    s.put("s.jsonl", large());
    fs::create_dir(s.path("old")).unwrap();
    (0..20).for_each(|at| s.put(&format!("old/{at}.jsonl"), fixture("v1.jsonl")));
    // That user must be able to access the files.
    let copy = s.path("program");
    assert!(
        Command::new("cp")
            .arg(program())
            .arg(&copy)
            .status()
            .unwrap()
            .success()
    );
    assert!(
        Command::new("chmod")
            .args(["-R", "a+rwX"])
            .arg(s.path(""))
            .status()
            .unwrap()
            .success()
    );
    if rustix::process::geteuid().is_root() {
        // A rewrite by another user would change the owner.
        assert!(
            Command::new("chown")
                .args(["-R", "65534:65534"])
                .arg(s.path(""))
                .status()
                .unwrap()
                .success()
        );
    }
    let run = |limit: &str, line: &str| {
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!("exec {limit} \"$0\" \"$@\"")])
            .arg(&copy)
            .args(split(line));
        if rustix::process::geteuid().is_root() {
            command.uid(65_534).gid(65_534);
        }
        command
            .current_dir(s.path(""))
            .stdin(Stdio::null())
            .output()
            .unwrap()
    };
    for line in [
        "tree ./s.jsonl",
        "path ./s.jsonl",
        "context ./s.jsonl",
        "context --tokens ./s.jsonl",
        "branches ./s.jsonl",
        "check ./s.jsonl",
        "show ./s.jsonl @",
        "label ./s.jsonl --json",
        "check ./old",
        "migrate --check ./old",
    ] {
        let (usual, alone) = (run("", line), run(ONE, line));
        assert_eq!(text(&alone.stderr), text(&usual.stderr), "{line}");
        assert_eq!(alone.status.code(), usual.status.code(), "{line}");
        assert!(usual.status.code() <= Some(1), "{line}: {usual:?}");
        assert!(alone.stdout == usual.stdout, "{line}");
    }
    assert_eq!(run(ONE, "migrate ./old").status.code(), Some(0));
    assert_eq!(run(ONE, "migrate --check ./old").status.code(), Some(0));
    // The limit applies: a summarizer cannot be started, which is an ordinary error.
    let hooked = run(ONE, "compact ./s.jsonl --first-kept none --summarizer cat");
    assert_eq!(hooked.status.code(), Some(2), "{hooked:?}");
    assert!(!text(&hooked.stderr).contains("panicked"), "{hooked:?}");
}

/// A line that does not fit in memory is an error, in reading and in writing.
#[test]
fn a_line_longer_than_memory_is_an_error() {
    // In bytes, of which none are stored.
    const LENGTH: u64 = 1 << 30;
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let file = fs::OpenOptions::new()
        .write(true)
        .open(s.path("two-branches.jsonl"))
        .unwrap();
    file.set_len(LENGTH).unwrap();
    for line in [
        "tree ./two-branches.jsonl",
        "path ./two-branches.jsonl",
        "context ./two-branches.jsonl",
        "branches ./two-branches.jsonl",
        "check ./two-branches.jsonl",
        "show ./two-branches.jsonl @",
        "label ./two-branches.jsonl @ n",
        "append ./two-branches.jsonl --user hi",
        "migrate ./two-branches.jsonl",
        "fork ./two-branches.jsonl -o ./new.jsonl",
    ] {
        // In KB: enough for the program and what it reads before that line.
        let output = limited(&s, "ulimit -v 90000", line).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {said}");
        assert!(
            said.contains("out of memory") && said.lines().count() == 1,
            "{line}: {said}"
        );
    }
    assert_eq!(s.names(), ["two-branches.jsonl"]);
    assert_eq!(
        fs::metadata(s.path("two-branches.jsonl")).unwrap().len(),
        LENGTH
    );
}

/// Endless devices are read up to a limit, and are then an error. A device in `TZ` is not read as a
/// time zone.
#[test]
fn tree_append_compact_redact_refuse_endless_devices() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let is_refused = |output: Output| {
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        // Random bytes may contain a line that parses.
        let said = text(&output.stderr);
        assert!(
            said.contains("no session header") || said.contains("is not a session header"),
            "{said}"
        );
    };
    for device in ["/dev/zero", "/dev/urandom"] {
        is_refused(
            limited(&s, "true", &format!("tree {device}"))
                .output()
                .unwrap(),
        );
        let endless = fs::File::open(device).unwrap();
        is_refused(
            limited(&s, "true", "tree -")
                .stdin(endless)
                .output()
                .unwrap(),
        );
    }
    for line in [
        "append ./two-branches.jsonl --input /dev/zero",
        "compact ./two-branches.jsonl --summary-file /dev/zero",
        "redact ./two-branches.jsonl --check --secret-file /dev/zero",
    ] {
        let output = limited(&s, "true", line).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}: {output:?}");
        assert!(
            text(&output.stderr).contains("more than 1"),
            "{line}: {output:?}"
        );
    }
    assert!(
        Command::new("mkfifo")
            .arg(s.path("fifo"))
            .status()
            .unwrap()
            .success()
    );
    let tree = |zone: &str| {
        let output = limited(&s, "true", "tree --times ./two-branches.jsonl")
            .env("TZ", zone)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{zone}: {output:?}");
        text(&output.stdout)
    };
    for zone in [
        "/dev/zero",
        ":/dev/zero",
        "fifo",
        "../../../../../../../../../../dev/zero",
    ] {
        assert_eq!(tree(zone), tree("UTC"), "{zone}");
    }
}

/// Every change to a session in a lower layer, twice. The lower layer is on the same file system as
/// the upper one, or on another one, where a copy-up changes device and inode.
#[test]
fn a_session_of_a_lower_layer_can_be_changed() {
    const MOUNT: &str = "mount -t tmpfs tmpfs over && mkdir over/upper over/work over/lower && \
        { test \"$LOWER\" != over/lower || cp lower/* over/lower; } && mount -t overlay overlay \
        -o \"lowerdir=$LOWER,upperdir=over/upper,workdir=over/work\" merged && cd merged || exit 99; ";
    for lower in ["lower", "over/lower"] {
        for line in [
            "label ./s @ n",
            "append ./s --user hi",
            "edit ./s :2 --replace other",
            "switch ./s root",
            "pop ./s",
            "compact ./s --first-kept none --summary s",
            "compact ./s --first-kept none --summarizer 'echo summary'",
            "summarize ./s root --summary s",
            "check --repair --backup ./s",
            "migrate --backup ./old",
        ] {
            let s = Sandbox::new();
            for folder in ["lower", "over", "merged"] {
                fs::create_dir(s.path(folder)).unwrap();
            }
            s.put(
                "lower/s",
                [fixture("two-branches.jsonl"), b"null\n".to_vec()].concat(),
            );
            s.put("lower/old", fixture("v1.jsonl"));
            // One process (1: `check` leaves warnings), then eight at once (which may finish in any
            // order), then one more.
            let script = format!(
                "{MOUNT}\"$0\" \"$@\" || [ $? = 1 ] || exit; for i in 1 2 3 4 5 6 7 8; do \"$0\" label ./s 1a2b3c01 n$i & done; wait; exec \"$0\" tree ./s --filter all"
            );
            let mut command = Command::new("unshare");
            let flags: &[&str] = if rustix::process::geteuid().is_root() {
                &["-m"]
            } else {
                &["-r", "-m"]
            };
            command
                .args(flags)
                .args(["sh", "-c", &script])
                .arg(program())
                .args(split(line));
            let output = command.current_dir(s.path("")).env("LOWER", lower).output();
            let output = match output {
                Ok(output)
                    if output.status.code() != Some(99)
                        && !text(&output.stderr).contains("unshare:") =>
                {
                    output
                }
                other => {
                    return say(&format!(
                        "NOT TRIED on overlayfs, because none could be mounted: {other:?}"
                    ));
                }
            };
            assert_eq!(output.status.code(), Some(0), "{line} {lower}: {output:?}");
            let labels = text(&output.stdout);
            assert!(
                (1..=8).all(|at| labels.contains(&format!("label: n{at}"))),
                "{line} {lower}: {output:?}"
            );
            assert_eq!(s.bytes("lower/old"), fixture("v1.jsonl"));
        }
    }
}
