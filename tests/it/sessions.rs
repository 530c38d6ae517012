//! Which sessions `list`, `grep` and `stats` read: by name, in stores, in directories with
//! problems.

use crate::names::{Desk, time};
use crate::sandbox::{Done, Sandbox, fixture};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The commands that read many sessions and print one row for each.
const READERS: [&str; 3] = [
    "list --json",
    "grep -c --json question",
    "stats --by session --json",
];

/// The paths in the rows, sorted.
fn paths(done: &Done) -> Vec<String> {
    let rows = done.text();
    let path = |row: &str| {
        serde_json::from_str::<Value>(row).unwrap()["path"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    rows.lines()
        .map(path)
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect()
}

/// A session with one question and one answer.
fn session(id: &str) -> String {
    let lines = [
        json!({"type": "session", "version": 3, "id": id, "timestamp": time(0), "cwd": "/p"}),
        json!({"type": "message", "id": format!("{id}a"), "parentId": null, "timestamp": time(1),
            "message": {"role": "user", "content": format!("question of {id}")}}),
        json!({"type": "message", "id": format!("{id}b"), "parentId": format!("{id}a"), "timestamp": time(2),
            "message": {"role": "assistant", "content": [{"type": "text", "text": "answer"}], "provider": "p",
                "model": "m", "usage": {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0}}}),
    ];
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn sessions_by_name_beside_paths() {
    let d = Desk::new();
    let name = json!({"type": "session_info", "id": "bbbb0001", "parentId": "aaaa0001", "timestamp": time(1), "name": "ferry times"});
    let named = format!("./{}", d.pi("0199aaaa-1111", 1, &[name]));
    let last = format!("./{}", d.omp("0199bbbb-2222", 2, &[]));
    d.put("other.jsonl", "0199cccc-3333", 3, &[]);
    for reader in READERS {
        let read = |names: &str| d.pisess(&format!("{reader} {names}")).done();
        assert_eq!(paths(&read("last")), [&*last], "{reader}");
        assert_eq!(
            paths(&read("last~1 0199bbbb")),
            [&*last, &*named],
            "{reader}"
        );
        assert_eq!(
            paths(&read("'ferry times' ./other.jsonl")),
            [&*named, "./other.jsonl"],
            "{reader}"
        );
        // A session that is not found does not prevent the others from being read.
        let done = read("'fery times' last");
        assert_eq!(
            (paths(&done), done.code),
            (vec![last.clone()], 2),
            "{reader}"
        );
        assert!(
            done.stderr.contains("did you mean ferry times?"),
            "{}",
            done.stderr
        );
        assert_eq!(d.pisess(&format!("{reader} 0199a")).done().code, 0);
        let nearest = d.pisess(&format!("{reader} 0199aaab-1")).done().fails(2);
        assert!(
            nearest.ends_with("(hint: did you mean 0199aaaa-1111?)"),
            "{nearest}"
        );
    }
    // A name is one session, so its rows have no path.
    assert_eq!(
        d.pisess("grep question last").done().quiet(),
        "aaaa0001:user: question of 0199bbbb-2222\n"
    );
}

#[test]
fn a_title_of_oh_my_pi_is_found() {
    let d = Desk::new();
    let titled = json!({"type": "title", "v": 1, "title": "photos of caf\u{e9}s", "updatedAt": time(0), "pad": ""});
    let path = d.omp("0199cccc-3333", 3, &[]);
    d.s.put(&path, format!("{titled}\n{}", d.s.text(&path)));
    d.omp("0199dddd-4444", 4, &[]);
    assert_eq!(
        d.pisess("grep photos").done().quiet(),
        format!("./{path}::1:title: photos of caf\u{e9}s\n")
    );
    let rows = d.pisess("grep --json 'of caf\u{e9}s'").done().quiet();
    let row: Value = serde_json::from_str(&rows).unwrap();
    assert_eq!(
        (&row["line"], &row["field"], &row["role"]),
        (&json!(1), &json!("title"), &json!("title"))
    );
    assert_eq!(d.pisess("grep -c photos --role user").done().code, 1);
    assert_eq!(d.pisess("grep -c photos --role title").done().code, 0);
    // A title in the header is found, too.
    let header = json!({"type": "session", "version": 3, "id": "0199eeee", "timestamp": time(0), "cwd": "/p", "title": "slides"});
    d.s.put("header.jsonl", format!("{header}\n"));
    assert_eq!(
        d.pisess("grep -c slides ./header.jsonl").done().quiet(),
        "1\n"
    );
}

#[test]
fn changes_by_name_report_the_path() {
    let d = Desk::new();
    let old = d.pi("0199aaaa-1111", 1, &[]);
    d.s.put(&old, String::from_utf8(fixture("v1.jsonl")).unwrap());
    let shown = old.replacen("home/", "~/", 1);
    let done = d.pisess("migrate last").done();
    assert_eq!(
        (done.code, done.stderr),
        (0, format!("pisess: changed {shown}\n"))
    );
    let again = d.pisess("migrate last").done();
    assert_eq!(
        (again.code, again.stderr.as_str()),
        (0, ""),
        "nothing to do"
    );
    // The backup is beside the session, not in the current directory.
    let torn = d.s.text(&old) + "{\"torn";
    d.s.put(&old, &torn);
    let done = d.pisess("check last --repair --backup").done();
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert!(
        done.stderr.contains(&format!("changed {shown}\n")),
        "{}",
        done.stderr
    );
    assert_eq!(d.s.text(&format!("{old}.bak")), torn);
    assert!(
        d.s.names().iter().all(|name| !name.starts_with("last")),
        "{:?}",
        d.s.names()
    );
}

/// Sessions that disappear, grow and shrink while others are read.
#[test]
fn files_that_change_meanwhile() {
    use std::io::Write;
    use std::sync::atomic::{AtomicBool, Ordering};
    let s = Sandbox::new();
    for at in 0..200 {
        s.put(&format!("kept/{at}.jsonl"), session(&format!("k{at}")));
    }
    /// Ends the other thread, even if an assertion fails.
    struct Over<'a>(&'a AtomicBool);
    impl Drop for Over<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _over = Over(&is_over);
        scope.spawn(|| {
            for at in (0..20_usize)
                .cycle()
                .take_while(|_| !is_over.load(Ordering::Relaxed))
            {
                let (gone, grows) = (format!("gone/{at}.jsonl"), format!("grows/{at}.jsonl"));
                s.put(&gone, session("gone").repeat(50));
                // The file becomes shorter before it grows again.
                s.put(&grows, session("grows"));
                let mut file = std::fs::File::options()
                    .append(true)
                    .open(s.path(&grows))
                    .unwrap();
                for line in session("more").lines().cycle().skip(1).take(100) {
                    let (start, rest) = line.split_at(line.len() / 2);
                    file.write_all(start.as_bytes()).unwrap();
                    file.write_all(format!("{rest}\n").as_bytes()).unwrap();
                }
                std::fs::remove_file(s.path(&gone)).unwrap();
            }
        });
        for reader in READERS.iter().cycle().take(6) {
            let done = s.pisess(&format!("{reader} .")).done();
            assert_eq!(done.code, 0, "{reader}: {}", done.stderr);
            let kept = paths(&done)
                .into_iter()
                .filter(|path| path.starts_with("./kept/"))
                .count();
            assert_eq!(kept, 200, "{reader}: {}", done.stderr);
            // Several sessions whose last lines are half written share a note without their paths.
            let is_expected = |line: &str| {
                let of_changing_file = line.contains("./g");
                let of_incomplete_lines = line.contains("the last lines of ");
                line.starts_with("pisess: note: ") && (of_changing_file || of_incomplete_lines)
            };
            assert!(done.stderr.lines().all(is_expected), "{}", done.stderr);
        }
    });
}

#[cfg(unix)]
#[test]
fn folders_that_are_not_as_they_should_be() {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;
    let s = Sandbox::new();
    s.put("good.jsonl", session("good"));
    s.put("deep/below/too.jsonl", session("too"));
    symlink(s.path(""), s.path("deep/loop")).unwrap();
    symlink("gone", s.path("link.jsonl")).unwrap();
    symlink(s.path("deep"), s.path("other")).unwrap();
    let odd = s
        .path("")
        .join(std::ffi::OsStr::from_bytes(b"odd\xff.jsonl"));
    let is_odd = std::fs::write(&odd, session("odd")).is_ok();
    for reader in READERS {
        let done = s.pisess(&format!("{reader} .")).done();
        let found: Vec<_> = paths(&done)
            .into_iter()
            .map(|path| path.replace("other/", "deep/"))
            .collect();
        let mut wanted = vec!["./deep/below/too.jsonl", "./good.jsonl"];
        wanted.extend(is_odd.then_some("./odd\u{fffd}.jsonl"));
        assert_eq!(
            (found, done.code),
            (wanted.into_iter().map(str::to_owned).collect(), 0),
            "{reader}"
        );
        let notes: Vec<_> = done
            .stderr
            .lines()
            .map(|line| line.replace("other/", "deep/"))
            .collect();
        let noted = |words: &str| notes.iter().filter(|note| note.contains(words)).count();
        assert_eq!(
            noted("a symbolic link to a parent directory"),
            1,
            "{reader}: {notes:?}"
        );
        assert_eq!(
            noted("cannot read ./link.jsonl: no such file or directory"),
            1,
            "{reader}: {notes:?}"
        );
        assert_eq!(
            noted("the name is not UTF-8"),
            usize::from(is_odd),
            "{reader}: {notes:?}"
        );
        assert_eq!(notes.len(), 2 + usize::from(is_odd), "{reader}: {notes:?}");
    }
}

/// Root may read everything, so another user runs the commands.
#[cfg(target_os = "linux")]
#[test]
fn list_grep_stats_note_unreadable_files_and_directories() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let s = Sandbox::new();
    s.put("good.jsonl", session("good"));
    s.put("shut/in.jsonl", session("in"));
    s.put("shut.jsonl", session("shut"));
    let allow = |name: &str, mode: u32| {
        std::fs::set_permissions(s.path(name), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let run = |line: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_pisess"));
        if rustix::process::geteuid().is_root() {
            command.uid(65_534).gid(65_534);
        }
        command
            .args(line.split(' '))
            .current_dir(s.path(""))
            .env("HOME", s.path(""))
            .output()
    };
    for (name, mode) in [
        ("", 0o755),
        ("good.jsonl", 0o644),
        ("shut", 0o000),
        ("shut.jsonl", 0o000),
    ] {
        allow(name, mode);
    }
    for reader in READERS {
        // If the user nobody may not run the binary, this is not tested.
        let Ok(output) = run(&format!("{reader} .")) else {
            break;
        };
        let notes = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            (
                output.status.code(),
                output.stdout.split(|&byte| byte == b'\n').count()
            ),
            (Some(0), 2)
        );
        assert_eq!(notes.lines().count(), 2, "{reader}: {notes}");
        assert!(
            notes.contains("note: cannot read the directory ./shut: permission denied"),
            "{notes}"
        );
        assert!(
            notes.contains("note: cannot read ./shut.jsonl: permission denied"),
            "{notes}"
        );
    }
    for line in [
        "stats shut",
        "stats shut.jsonl shut",
        "stats --json shut",
        "list shut",
        "grep question shut",
    ] {
        let Ok(output) = run(line) else { break };
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            (output.status.code(), output.stdout.len()),
            (Some(2), 0),
            "{line}: {said}"
        );
        assert!(said.contains("permission denied"), "{line}: {said}");
    }
    allow("shut", 0o755);
}

/// What only reads searches directories at any depth, and accepts the option by which other
/// programs do.
#[test]
fn reading_commands_descend_with_and_without_recursive() {
    let s = Sandbox::new();
    s.put("a/b/c.jsonl", fixture("v1.jsonl"));
    s.put("empty/notes.txt", "no session");
    for line in [
        "list --json",
        "grep -c carrots",
        "stats",
        "check",
        "migrate --check",
        "migrate -n",
        "redact -n",
    ] {
        let of = |rest: &str| s.unchanged(&format!("{line} {rest}"));
        let (plain, recursive, nothing) = (of("./a"), of("-r ./a"), of("./empty"));
        assert_eq!(
            (plain.code, plain.text()),
            (recursive.code, recursive.text()),
            "{line}"
        );
        assert_ne!(
            (plain.text(), plain.stderr),
            (nothing.text(), nothing.stderr),
            "{line}"
        );
    }
}

/// pi-subagents writes transcripts of its runs beside their sessions.
#[test]
fn transcripts_below_a_directory_are_ignored() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    s.put("runs/a_transcript.jsonl", "{\"type\":\"transcript\"}\n");
    s.put("runs/a.jsonl", fixture("two-branches.jsonl"));
    for line in [
        "grep -l paper",
        "stats",
        "check",
        "migrate --check",
        "redact --check",
        "list",
    ] {
        let said = |path: &str| s.pisess(&format!("{line} {path}")).done();
        let done = said(".");
        let text = format!("{}{}", done.text(), done.stderr);
        // 1: `check` has warnings.
        assert!(
            done.code < 2 && !text.contains("_transcript"),
            "{line}: {} {text}",
            done.code
        );
        // A session has this name only by chance, and one that is named is read.
        assert_eq!(said("./runs/a_transcript.jsonl").code, 2, "{line}");
    }
    s.put("runs/a_transcript.jsonl", fixture("two-branches.jsonl"));
    assert_eq!(s.run("grep -l paper .").lines().count(), 3);
}

#[test]
fn a_torn_session_is_noted() {
    let s = Sandbox::with(&["tour.jsonl", "hazards/torn-tail.jsonl"]);
    let note = "pisess: note: ./torn-tail.jsonl: the last line is incomplete (hint: `pisess check --repair --backup` removes it)\n";
    for line in [
        "list",
        "stats",
        "grep no-such-word",
        "grep -c .",
        "stats --by day --json",
    ] {
        let shown = |done: Done| done.stderr.replace(s.path("").to_str().unwrap(), "./");
        assert_eq!(shown(s.unchanged(&format!("{line} ."))), note, "{line}");
        assert_eq!(
            shown(s.unchanged(&format!("{line} ./tour.jsonl"))),
            "",
            "{line}"
        );
    }
    s.put("two.jsonl", fixture("hazards/torn-tail.jsonl"));
    let two = "pisess: note: the last lines of 2 sessions are incomplete (hint: `pisess check --all` names them)\n";
    assert_eq!(s.unchanged("list .").stderr, two);
    // Only a newline is missing.
    s.put("two.jsonl", fixture("tour.jsonl").trim_ascii_end());
    assert_eq!(s.unchanged("stats ./two.jsonl").stderr, "");
}

#[test]
fn the_directory_of_a_project_means_its_sessions() {
    let d = Desk::new();
    let project = d.s.path("elsewhere");
    std::fs::create_dir(&project).unwrap();
    let folder = project
        .to_str()
        .unwrap()
        .trim_start_matches('/')
        .replace('/', "-");
    let header = format!(
        r#"{{"type":"session","version":3,"id":"0199eeee-1","timestamp":"2026-02-02T00:00:00.000Z","cwd":"{}"}}"#,
        project.display()
    );
    let token = format!("ghp_{}", "16C7e42F292c6912E7710c838347Ae178B4a");
    let message = format!(
        r#"{{"type":"message","id":"aaaa0001","parentId":null,"timestamp":"2026-02-02T00:00:01.000Z","message":{{"role":"user","content":"{token}"}}}}"#
    );
    d.s.put(
        &format!("home/.pi/agent/sessions/--{folder}--/x.jsonl"),
        format!("{header}\n{message}\n"),
    );
    let run = |line: &str| d.pisess(&format!("{line} {}", project.display())).done();
    // Files that are no sessions do not hide them.
    d.s.put("elsewhere/rows.jsonl", "{}");
    for (line, code) in [
        ("list -l", 0),
        ("stats", 0),
        ("grep ghp", 0),
        ("check", 0),
        ("redact --check", 1),
    ] {
        let done = run(line);
        assert_eq!(done.code, code, "{line}: {done}");
        assert!(
            done.stderr
                .contains("the sessions of this project, from the agents' stores"),
            "{line}: {done}"
        );
    }
    // A session that was copied into another directory of the store still names its project.
    let sessions = d.s.path("home/.pi/agent/sessions");
    std::fs::rename(
        sessions.join(format!("--{folder}--")),
        sessions.join("--other--"),
    )
    .unwrap();
    let listed = run("list -l").text();
    assert!(listed.ends_with("--other--/x.jsonl\n"), "{listed}");
    // Neither the directory above the projects nor one inside of one is a project.
    std::fs::create_dir_all(project.join("src")).unwrap();
    d.s.put("data/train.jsonl", "{}");
    for (line, code) in [
        ("list", 0),
        ("stats", 0),
        ("grep ghp", 1),
        ("check", 0),
        ("redact --check", 0),
    ] {
        let done = d
            .pisess(&format!("{line} {}/src", project.display()))
            .done();
        assert_eq!(done.code, code, "{line}: {done}");
        assert_eq!(
            done.stderr.lines().collect::<Vec<_>>(),
            [
                "pisess: note: no *.jsonl files found in ./elsewhere/src, and no sessions of that directory in the stores (hint: `pisess list --all` lists the sessions of all projects)"
            ],
            "{line}"
        );
    }
    let note = d
        .pisess(&format!("list {}", d.s.path("data").display()))
        .done()
        .stderr;
    assert_eq!(
        note,
        "pisess: note: no sessions among the files found (hint: `pisess list --all` lists the sessions of all projects)\n"
    );
    // A directory above names the projects in it.
    std::fs::remove_file(project.join("rows.jsonl")).unwrap();
    let above = d.s.path("above");
    std::fs::create_dir(&above).unwrap();
    let below = header.replace(
        &*project.to_string_lossy(),
        &above.join("kites").to_string_lossy(),
    );
    d.s.put(
        "home/.pi/agent/sessions/--above-kites--/y.jsonl",
        format!("{below}\n"),
    );
    let note = d.pisess(&format!("list {}", above.display())).done().stderr;
    assert!(
        note.contains("(hint: projects in it that have sessions: ")
            && note.contains("above/kites)"),
        "{note}"
    );
    // A session in the directory is meant itself.
    d.s.put("elsewhere/here.jsonl", format!("{header}\n"));
    assert_eq!(run("list -l").quiet(), "./elsewhere/here.jsonl\n");
    std::fs::remove_file(project.join("here.jsonl")).unwrap();
    // What writes does not reach that far.
    for line in ["migrate", "check --repair --backup"] {
        assert!(
            run(line).stderr.contains("no *.jsonl files found"),
            "{line}"
        );
    }
}
