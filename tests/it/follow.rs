//! `--follow` of `tree` and `grep`: what other programs write is printed as they write it.

use crate::sandbox::{Sandbox, session, user};
use insta::assert_snapshot;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A running command, and the lines that it has printed.
struct Running {
    child: Child,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Running {
    fn new(s: &Sandbox, line: &str) -> Running {
        Running::with(s, "exec \"$@\"", line)
    }

    /// Runs the command where the system cannot report changes: it has no file descriptors left for
    /// that. Those that the caller of the tests left open are closed, because the command needs the
    /// others.
    fn polling(s: &Sandbox, line: &str) -> Running {
        Running::with(s, "exec 3>&- 4>&- 5>&-; ulimit -n 6; exec \"$@\"", line)
    }

    fn with(s: &Sandbox, script: &str, line: &str) -> Running {
        let mut command = Command::new("env");
        command.args([
            "--default-signal=INT",
            "sh",
            "-c",
            script,
            "sh",
            env!("CARGO_BIN_EXE_pisess"),
        ]);
        command
            .args(crate::sandbox::split(line))
            .current_dir(s.path(""))
            .env("HOME", s.path(""))
            .env("PISESS_NOW", "2026-05-01T00:00:00Z");
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = Arc::new(Mutex::new(Vec::new()));
        let (out, to) = (child.stdout.take().unwrap(), Arc::clone(&lines));
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines() {
                to.lock().unwrap().push(line.unwrap());
            }
        });
        Running { child, lines }
    }

    /// Waits until a line contains this; the test runner limits the time.
    fn until(&mut self, text: &str) {
        while !self.text().contains(text) {
            assert!(
                self.child.try_wait().unwrap().is_none(),
                "{text}: {}",
                self.text()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until a line contains this, after the command ended.
    fn until_printed(&self, text: &str) {
        while !self.text().contains(text) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn text(&self) -> String {
        self.lines.lock().unwrap().join("\n")
    }

    fn count(&self) -> usize {
        self.lines.lock().unwrap().len()
    }

    /// Whether the system reports changes to it.
    fn is_notified(&self) -> bool {
        let open = fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap();
        let targets = open.map(|fd| fs::read_link(fd.unwrap().path()).unwrap_or_default());
        targets
            .into_iter()
            .any(|target| target.to_string_lossy().contains("inotify"))
    }

    /// Returns the bytes that it has read, from the disk or not.
    fn read(&self) -> u64 {
        let io = fs::read_to_string(format!("/proc/{}/io", self.child.id())).unwrap();
        io.lines()
            .find_map(|line| line.strip_prefix("rchar: "))
            .unwrap()
            .parse()
            .unwrap()
    }

    /// Ends it with Ctrl-C. Returns what it printed on standard error.
    fn interrupt(self) -> String {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
        let done = self.child.wait_with_output().unwrap();
        assert_eq!(
            done.status.signal(),
            Some(Signal::INT.as_raw()),
            "a shell reports 130"
        );
        String::from_utf8(done.stderr).unwrap()
    }
}

/// Appends without a newline.
fn write(s: &Sandbox, name: &str, text: &str) {
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .open(s.path(name))
        .unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

fn line(s: &Sandbox, name: &str, id: &str, parent: &str, text: &str) {
    write(s, name, &(user(id, Some(parent), text) + "\n"));
}

#[test]
fn rows_are_printed_as_they_are_written() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let mut tree = Running::new(&s, "tree --follow ./two-branches.jsonl");
    tree.until("← active");
    s.run("label ./two-branches.jsonl @ good");
    tree.until("label: good");
    line(
        &s,
        "two-branches.jsonl",
        "aaaa0001",
        "1a2b3c05",
        "on the other branch",
    );
    tree.until("aaaa0001");
    // Half of a line is not printed.
    let whole = user("aaaa0002", Some("aaaa0001"), "at first torn");
    write(&s, "two-branches.jsonl", &whole[..70]);
    line(&s, "x.jsonl", "x", "x", "another file");
    std::thread::sleep(Duration::from_millis(100));
    assert!(!tree.text().contains("aaaa0002"));
    write(&s, "two-branches.jsonl", &whole[70..]);
    tree.until("aaaa0002");
    write(&s, "two-branches.jsonl", "\n");
    s.run("compact ./two-branches.jsonl --first-kept @ --summary 'All about paper.'");
    tree.until("compaction");
    s.run("switch ./two-branches.jsonl 1a2b3c07");
    tree.until("pisess.switch");
    s.run("append ./two-branches.jsonl --user 'after the switch'");
    tree.until("after the switch");
    let text = tree.text();
    assert_eq!(tree.interrupt(), "");
    // The ids of what pisess wrote are random.
    let row = |row: &str| match row.starts_with("1a2b3c") || row.starts_with("aaaa") {
        true => row.to_owned(),
        false => format!("********{}", &row[8..]),
    };
    let rows: Vec<_> = text.lines().map(row).collect();
    assert_snapshot!(rows.join("\n"), @"
    1a2b3c01  • [start] user: Which paper for a kite?
    1a2b3c02  • assistant: Tissue paper is light, washi is strong.
    1a2b3c04  ├─ user: Tissue paper then. How big?  (2 messages, 3mo)
    1a2b3c05  │  assistant: Half a metre; larger ones tear.
    1a2b3c06  • user: Washi then. How big?
    1a2b3c07  • assistant: A metre and more, with a bamboo spar.  ← active
    ********  • label: good  (on 1a2b3c07)
    aaaa0001  • user: on the other branch  (after 1a2b3c05)
    aaaa0002  • user: at first torn
    ********  • ── compaction: 40 tokens · All about paper. ──  (kept from aaaa0002)
    ********  • custom: pisess.switch  (after 1a2b3c07)
    ********  • user: after the switch
    ");
}

#[test]
fn json_is_one_value_a_line() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let mut tree = Running::new(
        &s,
        "tree --follow --json --filter user-only ./two-branches.jsonl",
    );
    tree.until("Which paper");
    let count = tree.count();
    s.run("label ./two-branches.jsonl @ good");
    s.run("switch ./two-branches.jsonl root");
    s.run("append ./two-branches.jsonl --user 'a new beginning'");
    tree.until("a new beginning");
    let text = tree.text();
    tree.interrupt();
    let rows: Vec<Value> = text
        .lines()
        .skip(count)
        .map(|row| serde_json::from_str(row).unwrap())
        .collect();
    // What moved the leaf is hidden by the filter, but not that it moved.
    assert_eq!(rows.len(), 1, "{text}");
    assert_eq!(
        (&rows[0]["branched"], &rows[0]["leaf"], &rows[0]["depth"]),
        (&true.into(), &true.into(), &0.into())
    );
    let mut all = Running::new(&s, "tree --follow --json ./two-branches.jsonl");
    all.until("a new beginning");
    assert!(!all.text().contains("branched"), "{}", all.text());
    s.run("label ./two-branches.jsonl 1a2b3c01 other");
    all.until("label: other");
    let row: Value = serde_json::from_str(all.text().lines().last().unwrap()).unwrap();
    all.interrupt();
    assert_eq!(
        (&row["targetId"], &row["branched"]),
        (&"1a2b3c01".into(), &false.into())
    );
}

/// Rows that are known are not repeated, whatever replaces the file.
#[test]
fn a_file_that_is_replaced_is_followed() {
    let s = Sandbox::new();
    let message = |at: usize| {
        user(
            &format!("aaaa{at:04}"),
            at.checked_sub(1)
                .map(|at| format!("aaaa{at:04}"))
                .as_deref(),
            &format!("number {at}."),
        )
    };
    let messages = |count: usize| session(&(0..count).map(message).collect::<Vec<_>>());
    let lines = [
        "tree --follow ./s.jsonl",
        "grep --follow --since 2026 number ./s.jsonl",
    ];
    // The system reports changes, or all files are looked at now and then.
    for is_notified in [true, false] {
        let start = if is_notified {
            Running::new
        } else {
            Running::polling
        };
        s.put("s.jsonl", messages(3));
        let [mut tree, mut grep] = lines.map(|line| start(&s, line));
        let mut both = |text: &str| {
            [&mut tree, &mut grep]
                .into_iter()
                .for_each(|running| running.until(text))
        };
        both("number 2.");
        // Another file is renamed onto it.
        s.put("new", messages(4));
        fs::rename(s.path("new"), s.path("s.jsonl")).unwrap();
        both("number 3.");
        write(&s, "s.jsonl", &(message(4) + "\n"));
        both("number 4.");
        // It is truncated, and written again in pieces.
        let whole = messages(6);
        fs::write(s.path("s.jsonl"), &whole[..whole.len() / 2]).unwrap();
        std::thread::sleep(Duration::from_millis(50));
        fs::write(s.path("s.jsonl"), &whole).unwrap();
        both("number 5.");
        // It is gone for a while.
        fs::rename(s.path("s.jsonl"), s.path("elsewhere")).unwrap();
        std::thread::sleep(Duration::from_millis(1500));
        fs::rename(s.path("elsewhere"), s.path("s.jsonl")).unwrap();
        write(&s, "s.jsonl", &(message(6) + "\n"));
        both("number 6.");
        for mut running in [tree, grep] {
            running.until("number 6.");
            assert_eq!(running.is_notified(), is_notified);
            let text = running.text();
            for at in 0..7 {
                assert_eq!(text.matches(&format!("number {at}.")).count(), 1, "{text}");
            }
            running.interrupt();
        }
    }
}

#[test]
fn a_session_that_is_migrated_is_followed() {
    let s = Sandbox::with(&["v1.jsonl"]);
    let lines = [
        "tree --follow ./v1.jsonl",
        "grep --follow --since 2026 -i e ./v1.jsonl",
    ];
    let mut all = lines.map(|line| Running::new(&s, line));
    all[0].until("← active");
    let last = s.pisess("grep -i e ./v1.jsonl").done().text();
    all[1].until(last.trim_end());
    let counts = all.each_ref().map(Running::count);
    s.run("migrate ./v1.jsonl");
    s.run("append ./v1.jsonl --user 'of version three'");
    for (mut running, count) in all.into_iter().zip(counts) {
        running.until("of version three");
        assert_eq!(running.count(), count + 1, "{}", running.text());
        running.interrupt();
    }
}

/// A search marks the first match after the conversation went on elsewhere, whether the entries in
/// between match or not.
#[test]
fn grep_marks_where_the_branch_changed() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let mut grep = Running::new(
        &s,
        "grep --follow --since 2026 'kite|go on|All about|good' ./two-branches.jsonl",
    );
    let mut json = Running::new(
        &s,
        "grep --follow --since 2026 --json 'kite|go on' ./two-branches.jsonl",
    );
    // What was there is printed without a mark.
    grep.until("1a2b3c01");
    json.until("1a2b3c01");
    line(&s, "two-branches.jsonl", "aaaa0001", "1a2b3c07", "go on 1");
    json.until("go on 1");
    s.run("label ./two-branches.jsonl 1a2b3c01 good");
    grep.until("good");
    line(
        &s,
        "two-branches.jsonl",
        "aaaa0002",
        "1a2b3c05",
        "not shown",
    );
    line(&s, "two-branches.jsonl", "aaaa0003", "aaaa0002", "go on 2");
    line(&s, "two-branches.jsonl", "aaaa0004", "aaaa0003", "go on 3");
    json.until("go on 3");
    s.run("compact ./two-branches.jsonl --first-kept @ --summary 'All about paper.'");
    grep.until("All about paper.");
    s.run("switch ./two-branches.jsonl root");
    s.run("append ./two-branches.jsonl --user 'go on 4'");
    json.until("go on 4");
    // If the file is replaced, only new entries count.
    let more = [
        s.bytes("two-branches.jsonl"),
        (user("aaaa0005", Some("aaaa0004"), "go on 5") + "\n").into(),
    ]
    .concat();
    s.put("new", &more);
    fs::rename(s.path("new"), s.path("two-branches.jsonl")).unwrap();
    json.until("go on 5");
    grep.until("go on 5");
    let row = |row: &str| match row.starts_with("1a2b3c") || row.starts_with("aaaa") {
        true => row.to_owned(),
        false => format!("********{}", &row[8..]),
    };
    let rows: Vec<_> = grep.text().lines().map(row).collect();
    assert_snapshot!(rows.join("\n"), @"
    1a2b3c01:user: Which paper for a kite?
    aaaa0001:user: go on 1
    ********:label: good  (of 1a2b3c01)
    aaaa0003:user: go on 2  (after 1a2b3c05)
    aaaa0004:user: go on 3
    ********:compaction: All about paper.
    ********:user: go on 4  (after root)
    aaaa0005:user: go on 5  (after aaaa0004)
    ");
    let rows: Vec<Value> = json
        .text()
        .lines()
        .map(|row| serde_json::from_str(row).unwrap())
        .collect();
    let marks: Vec<_> = rows
        .iter()
        .map(|row| (&row["branched"], row.get("after")))
        .collect();
    let (no, yes) = (Value::from(false), Value::from(true));
    let (five, root, four) = ("1a2b3c05".into(), Value::Null, "aaaa0004".into());
    let wanted = [
        (&Value::Null, None),
        (&no, None),
        (&yes, Some(&five)),
        (&no, None),
        (&yes, Some(&root)),
        (&yes, Some(&four)),
    ];
    assert_eq!(marks, wanted);
    grep.interrupt();
    json.interrupt();
}

#[test]
fn grep_finds_new_sessions() {
    let s = Sandbox::new();
    let store = |project: &str| format!(".pi/agent/sessions/--{project}--");
    s.put(
        &format!("{}/one.jsonl", store("a")),
        session(&[user("aaaa0001", None, "the needle of one")]),
    );
    let mut grep = Running::new(&s, "grep --follow --since 2026 --all needle");
    grep.until("needle of one");
    let two = format!("{}/two.jsonl", store("a"));
    // A session begins with a header, and an entry may come in two pieces.
    s.put(&two, &session::<&str>(&[])[..20]);
    std::thread::sleep(Duration::from_millis(50));
    s.put(&two, session::<&str>(&[]));
    line(&s, &two, "aaaa0002", "x", "the needle of two");
    grep.until("two.jsonl:aaaa0002:user: the needle of two");
    // In a directory that is new, too.
    let three = format!("{}/three.jsonl", store("b"));
    s.put(
        &three,
        session(&[
            user("aaaa0003", None, "the needle of three"),
            user("aaaa0004", None, "hay"),
        ]),
    );
    grep.until("needle of three");
    line(
        &s,
        &format!("{}/one.jsonl", store("a")),
        "aaaa0005",
        "aaaa0001",
        "hay, and one more needle",
    );
    grep.until("one more needle");
    assert_eq!(grep.count(), 4, "{}", grep.text());
    assert_eq!(grep.interrupt(), "");
}

#[test]
fn grep_ends_after_the_requested_matches() {
    let s = Sandbox::new();
    s.put("s.jsonl", session(&[user("aaaa0001", None, "wait for it")]));
    let mut grep = Running::new(&s, "grep --follow --since 2026 -m 2 done ./s.jsonl");
    for at in 2..5 {
        line(
            &s,
            "s.jsonl",
            &format!("aaaa000{at}"),
            &format!("aaaa000{}", at - 1),
            &format!("done {at}"),
        );
    }
    assert_eq!(grep.child.wait().unwrap().code(), Some(0));
    while grep.count() < 2 {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(grep.text(), "aaaa0002:user: done 2\naaaa0003:user: done 3");
}

/// Without `--since`, a search starts with what is written from now on.
#[test]
fn grep_starts_now() {
    let s = Sandbox::new();
    s.put("s.jsonl", session(&[user("aaaa0001", None, "done before")]));
    let mut grep = Running::new(&s, "grep --follow -m 1 done ./s.jsonl");
    while !grep.is_notified() {
        assert!(grep.child.try_wait().unwrap().is_none(), "{}", grep.text());
        std::thread::sleep(Duration::from_millis(5));
    }
    line(&s, "s.jsonl", "aaaa0002", "aaaa0001", "done after");
    assert_eq!(grep.child.wait().unwrap().code(), Some(0));
    grep.until_printed("aaaa0002:user: done after");
    assert_eq!(grep.text(), "aaaa0002:user: done after");
}

/// At 200 lines a second, 40 are written in 0.2 seconds. Here the writer waits until the output is
/// no more than 40 lines behind, so that a busy machine only makes it slower: no line waits for a
/// later one.
#[test]
fn no_line_waits_for_others() {
    const WINDOW: usize = 40;
    let s = Sandbox::new();
    s.put("s.jsonl", session(&[user("aaaa0000", None, "first")]));
    let tree = Running::new(&s, "tree --follow ./s.jsonl");
    let grep = Running::new(&s, "grep --follow --since 2026 -i 'line|first' ./s.jsonl");
    for at in 1..=400 {
        line(
            &s,
            "s.jsonl",
            &format!("aaaa{at:04}"),
            &format!("aaaa{:04}", at - 1),
            &format!("line {at}"),
        );
        std::thread::sleep(Duration::from_millis(5));
        while tree.count() + WINDOW <= at || grep.count() + WINDOW <= at {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    for running in [tree, grep] {
        while running.count() < 401 {
            std::thread::sleep(Duration::from_millis(5));
        }
        for (at, row) in running.text().lines().enumerate() {
            assert!(row.contains(&format!("aaaa{at:04}")), "{at}: {row}");
        }
        running.interrupt();
    }
}

#[test]
fn only_what_was_appended_is_read() {
    let s = Sandbox::new();
    let long = "lorem ipsum ".repeat(100);
    let message = |at: usize| {
        user(
            &format!("aaaa{at:04}"),
            at.checked_sub(1)
                .map(|at| format!("aaaa{at:04}"))
                .as_deref(),
            &long,
        )
    };
    s.put(
        "s.jsonl",
        session(&(0..4000).map(message).collect::<Vec<_>>()),
    );
    let size = s.bytes("s.jsonl").len() as u64;
    let mut tree = Running::new(&s, "tree --follow --around 0 ./s.jsonl");
    let mut grep = Running::new(&s, "grep --follow --since 2026 shown ./s.jsonl");
    tree.until("aaaa3999");
    line(&s, "s.jsonl", "bbbb0000", "aaaa3999", "shown 0");
    for running in [&mut tree, &mut grep] {
        running.until("shown 0");
    }
    let before = [tree.read(), grep.read()];
    assert!(before[0] > size && before[1] > size, "{before:?}");
    for at in 1..20 {
        line(
            &s,
            "s.jsonl",
            &format!("bbbb00{at:02}"),
            &format!("bbbb00{:02}", at - 1),
            &format!("shown {at}."),
        );
        for running in [&mut tree, &mut grep] {
            running.until(&format!("shown {at}."));
        }
    }
    let read = [tree.read() - before[0], grep.read() - before[1]];
    assert!(
        read.iter().all(|&read| read < size / 5),
        "{read:?} of {size}"
    );
    tree.interrupt();
    grep.interrupt();
}

/// `pisess tree --follow s | head` ends with `head`, even if nothing more is written.
#[test]
fn a_closed_pipe_ends_it() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    for line in [
        "tree --follow ./two-branches.jsonl",
        "grep --follow --since 2026 paper ./two-branches.jsonl",
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pisess"));
        command
            .args(crate::sandbox::split(line))
            .current_dir(s.path(""))
            .stdin(Stdio::null());
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut first)
            .unwrap();
        assert!(first.contains("paper"), "{first}");
        let done = child.wait_with_output().unwrap();
        assert_eq!(
            (done.status.code(), done.stderr),
            (Some(0), Vec::new()),
            "{line}"
        );
    }
}

#[test]
fn follow_refuses_a_stream_and_conflicting_options() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let stream = || s.bytes("two-branches.jsonl");
    assert_snapshot!(s.pisess("tree --follow -").stdin(stream()).done().fails(2), @"standard input: a stream cannot be followed");
    assert_snapshot!(s.pisess("grep --follow x -").stdin(stream()).done().fails(2), @"standard input cannot be followed (hint: give the path of a session)");
    for line in [
        "tree --follow ./two-branches.jsonl root",
        "grep --follow -c x .",
        "grep --follow -C 1 x .",
    ] {
        assert!(
            s.pisess(line)
                .done()
                .fails(2)
                .contains("cannot be used with"),
            "{line}"
        );
    }
}
