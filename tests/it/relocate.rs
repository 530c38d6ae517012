//! `pisess relocate`: moves sessions to another project directory.

use crate::sandbox::{Call, Done, Sandbox, fixture};
use insta::assert_snapshot;

/// Returns the name of the store directory of a project in the sandbox.
fn folder_name(s: &Sandbox, project: &str) -> String {
    s.path(project)
        .to_str()
        .unwrap()
        .trim_start_matches('/')
        .replace('/', "-")
}

fn header(s: &Sandbox, id: &str, project: &str, more: &str) -> String {
    let cwd = s.path(project);
    let cwd = cwd.to_str().unwrap();
    format!(
        r#"{{ "type":"session","version":3,"id":"{id}","timestamp":"2026-01-01T00:00:00.000Z","cwd":"{cwd}"{more}}}"#
    )
}

const BODY: &str = "\n{\"type\":\"message\",\"id\":\"aaaa0001\",\"parentId\":null,\"timestamp\":\"2026-01-01T00:00:01.000Z\",\"message\":{\"role\":\"user\",\"content\":\"hi\",\"n\":1e400}}\nnot JSON";

/// A home directory with two projects, and sessions of the first one in the stores of both agents.
struct Home {
    s: Sandbox,
    pi: [String; 2],
    omp: [String; 2],
}

impl Home {
    fn new() -> Home {
        let s = Sandbox::new();
        std::fs::create_dir_all(s.path("old/sub")).unwrap();
        std::fs::create_dir_all(s.path("new/sub")).unwrap();
        let pi =
            ["old", "new"].map(|name| format!(".pi/agent/sessions/--{}--", folder_name(&s, name)));
        let omp = ["old", "new"].map(|name| format!(".omp/agent/sessions/-{name}"));
        s.put(
            &format!("{}/2026_p1.jsonl", pi[0]),
            header(&s, "p1", "old", "") + BODY,
        );
        s.put(
            &format!("{}/2026_p2.jsonl", pi[0]),
            header(&s, "p2", "old", "") + BODY,
        );
        let sub = format!(".pi/agent/sessions/--{}--", folder_name(&s, "old/sub"));
        s.put(
            &format!("{sub}/2026_p3.jsonl"),
            header(&s, "p3", "old/sub", "") + BODY,
        );
        let other = format!(".pi/agent/sessions/--{}--", folder_name(&s, "older"));
        let parent = s.path(&format!("{}/2026_p1.jsonl", pi[0]));
        let parent = format!(r#","parentSession":"{}""#, parent.display());
        s.put(
            &format!("{other}/2026_fork.jsonl"),
            header(&s, "fork", "older", &parent) + BODY,
        );
        let omp_lines = "{\"type\":\"title\",\"v\":1,\"title\":\"\",\"updatedAt\":\"2026-01-01T00:00:00.000Z\",\"pad\":\"";
        let slot = format!("{omp_lines}{}\"}}\n", " ".repeat(256 - omp_lines.len() - 3));
        s.put(
            &format!("{}/2026_o1.jsonl", omp[0]),
            slot + &header(&s, "o1", "old", "") + BODY,
        );
        s.put(
            &format!("{}/2026_o1/scout.jsonl", omp[0]),
            header(&s, "scout", "old", "") + BODY,
        );
        s.put(&format!("{}/2026_o1/0.bash.log", omp[0]), "output");
        Home { s, pi, omp }
    }

    fn call(&self, line: &str) -> Call<'_> {
        self.s.pisess(line).at_home()
    }

    fn run(&self, line: &str) -> Done {
        self.call(line).done()
    }

    fn exists(&self, name: &str) -> bool {
        self.s.path(name).exists()
    }
}

/// A session is as large as all files that move with it.
#[test]
fn a_plan_counts_the_files_of_sub_agents() {
    let h = Home::new();
    h.s.put(
        &format!("{}/2026_o1/1.bash.log", h.omp[0]),
        vec![b'x'; 500_000],
    );
    let planned = h.run(&format!(
        "relocate -q -n ./{}/2026_o1.jsonl ./new",
        h.omp[0]
    ));
    let row = planned.text().lines().nth(1).unwrap().to_owned();
    assert!(row.starts_with("50") && row.contains(" kB "), "{planned}");
}

#[test]
fn a_session_goes_to_the_new_project() {
    let h = Home::new();
    let old = format!("{}/2026_p1.jsonl", h.pi[0]);
    let new = format!("{}/2026_p1.jsonl", h.pi[1]);
    let planned = h.run(&format!("relocate -q -n ./{old} ./new"));
    let row = planned.text().lines().nth(1).unwrap().to_owned();
    assert!(row.ends_with(&format!("B  ~/{old}  ~/{new}")), "{planned}");
    assert!(h.exists(&old));
    let before = h.s.path(&old).metadata().unwrap().modified().unwrap();
    let done = h.run(&format!("relocate -q ./{old} ./new"));
    assert_eq!(
        (done.code, done.text()),
        (0, format!("./{new}\n")),
        "{done}"
    );
    // Only the value of `cwd` has changed. The modification time is the same, so that `pi -c` opens
    // the same session.
    assert!(!h.exists(&old));
    assert_eq!(
        h.s.bytes(&new),
        (header(&h.s, "p1", "new", "") + BODY).into_bytes()
    );
    assert_eq!(
        h.s.path(&new).metadata().unwrap().modified().unwrap(),
        before
    );
    // The fork refers to the new path of its source.
    let fork = format!(
        ".pi/agent/sessions/--{}--/2026_fork.jsonl",
        folder_name(&h.s, "older")
    );
    assert!(
        h.s.text(&fork)
            .contains(&format!(r#""parentSession":"./{new}""#)),
        "{}",
        h.s.text(&fork)
    );
    // Another run has nothing to do.
    let before = h.s.files();
    let again = h.run(&format!("relocate ./{new} ./new"));
    assert_eq!((again.code, again.text()), (0, String::new()));
    assert!(
        again
            .stderr
            .ends_with(&format!("pisess: nothing to do in ~/{new}\n")),
        "{again}"
    );
    assert!(h.s.files() == before);
    // A session that is given by name is reported.
    let moved = h.run("relocate fork ./new");
    assert_eq!(
        (moved.code, moved.text()),
        (0, format!("./{}/2026_fork.jsonl\n", h.pi[1])),
        "{moved}"
    );
    // The directory that is empty now needs no action.
    let reports = format!("pisess: moved ~/{fork}\n");
    assert!(moved.stderr.ends_with(&reports), "{moved}");
    let folder = fork.strip_suffix("/2026_fork.jsonl").unwrap();
    assert!(h.exists(folder));
    // A terminal gets its title, and how to go on with it.
    let moved =
        h.s.pisess(&format!("relocate ./{}/2026_fork.jsonl ./old", h.pi[1]))
            .at_home()
            .terminal(80)
            .done();
    assert_snapshot!(moved.stderr, @r"
    pisess: note: ~/.pi/…/2026_fork.jsonl: the last line is incomplete; skipped or…
    pisess: moved fork: hi
    pisess: `pisess resume fork` continues it
    ");
}

#[test]
fn moves_the_files_of_a_session_along() {
    let h = Home::new();
    let old = format!("{}/2026_o1", h.omp[0]);
    let new = format!("{}/2026_o1", h.omp[1]);
    h.s.put(&format!("{old}.jsonl.pruned"), "");
    h.s.put(&format!("{old}.jsonl.bak"), "");
    let left = format!("left behind ~/{old}.jsonl.bak\n");
    let planned = h.run(&format!("relocate -n ./{old}.jsonl ./new"));
    assert!(
        planned
            .stderr
            .ends_with(&format!("pisess: would {}", left.replace("left", "leave"))),
        "{planned}"
    );
    let done = h.run(&format!("relocate ./{old}.jsonl ./new"));
    assert_eq!(
        (done.code, done.text()),
        (0, format!("./{new}.jsonl\n")),
        "{done}"
    );
    assert!(done.stderr.ends_with(&format!("pisess: {left}")), "{done}");
    // A directory that is empty now stays.
    let done = h.run(&format!(
        "relocate ./{0}/2026_p1.jsonl ./{0}/2026_p2.jsonl ./new",
        h.pi[0]
    ));
    assert!(!done.stderr.contains("left behind"), "{done}");
    assert!(h.exists(&h.pi[0]));
    for name in ["/scout.jsonl", "/0.bash.log", ".jsonl.pruned", ".jsonl"] {
        assert!(
            h.exists(&format!("{new}{name}")) && !h.exists(&format!("{old}{name}")),
            "{name}"
        );
    }
    // The former path is recorded as oh-my-pi does it.
    let moved = h.s.text(&format!("{new}.jsonl"));
    assert!(
        moved.contains(&format!(r#""previousSessionFiles":["./{old}.jsonl"]"#)),
        "{moved}"
    );
    assert_eq!(moved.find('\n').map(|at| at + 1), Some(256));
}

#[test]
fn all_sessions_of_a_folder_that_moved() {
    let h = Home::new();
    let done = h.run("relocate -q --json --moved-from ./old ./new");
    assert_eq!(done.code, 0, "{done}");
    let mut rows: Vec<_> = done.text().lines().map(str::to_owned).collect();
    rows.sort();
    assert_eq!(rows.len(), 4, "{rows:?}");
    assert!(
        rows.iter()
            .all(|row| row.contains(r#","status":"moved","left":["#)),
        "{rows:?}"
    );
    let sub = format!(
        ".pi/agent/sessions/--{}--/2026_p3.jsonl",
        folder_name(&h.s, "new/sub")
    );
    assert!(h.s.text(&sub).contains(r#""cwd":"./new/sub""#));
    for name in [
        format!("{}/2026_p2.jsonl", h.pi[1]),
        format!("{}/2026_o1/scout.jsonl", h.omp[1]),
    ] {
        assert!(h.exists(&name), "{name}");
    }
    // A project whose path only begins the same is not moved.
    assert!(
        h.s.text(&format!(
            ".pi/agent/sessions/--{}--/2026_fork.jsonl",
            folder_name(&h.s, "older")
        ))
        .contains(r#""cwd":"./older""#)
    );
    let again = h.run("relocate --moved-from ./old ./new");
    assert_snapshot!(again, @"2> pisess: no session of that directory in the stores");
}

/// The files of a project may be moved into a directory of it. A repeated command moves no session
/// further.
#[test]
fn sessions_move_to_a_directory_below_the_old_one() {
    let h = Home::new();
    std::fs::create_dir(h.s.path("old/app")).unwrap();
    let done = h.run("relocate -q --json --moved-from ./old ./old/app");
    assert_eq!((done.code, done.text().lines().count()), (0, 4), "{done}");
    for cwd in ["old/app", "old/app/sub"] {
        let folder = format!(".pi/agent/sessions/--{}--", folder_name(&h.s, cwd));
        assert!(h.exists(&folder), "{folder}");
    }
    for repeated in [
        "relocate --moved-from ./old ./old/app",
        "relocate ./old ./old/app",
    ] {
        let again = h.run(repeated);
        assert_eq!(again.code, 0, "{repeated}");
        assert_eq!(
            again.stderr, "pisess: no session of that directory in the stores\n",
            "{repeated}"
        );
    }
}

/// A directory cannot be renamed to a link.
#[cfg(unix)]
#[test]
fn refuses_a_link_that_leads_nowhere() {
    let h = Home::new();
    std::os::unix::fs::symlink("nowhere", h.s.path("link")).unwrap();
    let refused = h.run("relocate --moved-from ./old ./link");
    assert_snapshot!(refused, @"
    2> pisess: ~/link is a symbolic link to a path that does not exist (hint: the directory comes last; --force accepts one that does not exist)
    exit 2
    ");
    let forced = h.run("relocate -n --force --moved-from ./old ./link");
    assert_eq!(forced.code, 0, "{forced}");
}

#[test]
fn relocate_of_two_directories_moves_the_sessions_of_the_first() {
    let named = Home::new();
    let moved = named.run("relocate -q --json ./old ./new");
    let with_option = Home::new().run("relocate -q --json --moved-from ./old ./new");
    let count = |done: &Done| done.text().lines().count();
    assert_eq!((moved.code, count(&moved)), (0, count(&with_option)));
    assert_eq!(count(&moved), 4);
    // The directory is gone, as after `mv old new`.
    let gone = Home::new();
    let _ = std::fs::remove_dir_all(gone.s.path("old"));
    assert_eq!(count(&gone.run("relocate -q --json ./old ./new")), 4);
}

/// Wherever a run is killed, the same command completes it: sessions are in their new places, and
/// the fork refers to the new path of its source.
#[cfg(unix)]
#[test]
fn a_run_that_was_killed_is_completed_by_the_next() {
    let line = "relocate -q --moved-from ./old ./new";
    let started = |h: &Home| {
        let home = h.s.path("");
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_pisess"));
        command
            .args(line.split(' '))
            .current_dir(&home)
            .env("HOME", &home)
            .stdout(std::process::Stdio::null());
        command.spawn().unwrap()
    };
    // The duration of a run determines the times at which later runs are killed.
    let start = std::time::Instant::now();
    assert!(started(&Home::new()).wait().unwrap().success());
    let span = start.elapsed();
    let mut partly = 0;
    // On a busy machine, more runs may be needed until one is killed between two writes.
    for at in 1..500_u32 {
        if at > 24 && partly > 0 {
            break;
        }
        let h = Home::new();
        let mut child = started(&h);
        std::thread::sleep(span * (at % 24) / 24);
        child.kill().unwrap();
        child.wait().unwrap();
        let left = h.s.files();
        let sessions = [
            "2026_p1.jsonl",
            "2026_p2.jsonl",
            "2026_p3.jsonl",
            "2026_o1.jsonl",
        ];
        let is_begun = |(name, bytes): (&String, &Vec<u8>)| {
            sessions.iter().any(|session| name.ends_with(session))
                && String::from_utf8_lossy(bytes)
                    .contains(&format!("\"cwd\":\"{}", h.s.path("new").display()))
        };
        let is_begun = left.iter().any(is_begun);
        let done = h.run(line);
        assert_eq!(done.code, 0, "{at}: {done}");
        partly += usize::from(is_begun && left != h.s.files());
        for (project, id) in [(&h.pi[1], "p1"), (&h.pi[1], "p2"), (&h.omp[1], "o1")] {
            let text = h.s.text(&format!("{project}/2026_{id}.jsonl"));
            assert!(
                text.contains(r#""cwd":"./new""#) && text.ends_with(BODY),
                "{at}: {text}"
            );
        }
        assert!(
            h.exists(&format!("{}/2026_o1/scout.jsonl", h.omp[1])),
            "{at}"
        );
        let fork = format!(
            ".pi/agent/sessions/--{}--/2026_fork.jsonl",
            folder_name(&h.s, "older")
        );
        let source = format!(r#""parentSession":"./{}/2026_p1.jsonl""#, h.pi[1]);
        assert!(
            h.s.text(&fork).contains(&source),
            "{at}: {}",
            h.s.text(&fork)
        );
        assert!(!h.exists(&format!("{}/2026_p1.jsonl", h.pi[0])), "{at}");
    }
    assert!(partly > 0, "no run was killed between");
}

/// A limit on the size of files represents a full disk: the header cannot be rewritten, and nothing
/// is moved.
#[cfg(unix)]
#[test]
fn a_full_disk_moves_nothing() {
    let h = Home::new();
    let name = format!("{}/2026_p1.jsonl", h.pi[0]);
    let long = format!(
        "{}\n{{\"type\":\"custom\",\"id\":\"x\",\"data\":\"{}\"}}\n",
        h.s.text(&name),
        "x".repeat(2_000_000)
    );
    h.s.put(&name, long);
    let before = h.s.files();
    for limit in ["8", "500", "2000"] {
        let done = h.call(&format!("relocate -q {name} ./new")).limited(limit);
        assert_eq!(done.code, 2, "{limit}: {done}");
        assert!(h.s.files() == before, "{limit}");
    }
    assert_eq!(h.run(&format!("relocate -q ./{name} ./new")).code, 0);
}

#[test]
fn never_onto_another_file() {
    let h = Home::new();
    h.s.put(&format!("{}/2026_p1.jsonl", h.pi[1]), "somebody else's");
    h.s.put(&format!("{}/2026_o1/x", h.omp[1]), "somebody else's");
    let before = h.s.files();
    for old in [
        format!("{}/2026_p1.jsonl", h.pi[0]),
        format!("{}/2026_o1.jsonl", h.omp[0]),
    ] {
        let done = h.run(&format!("relocate -q --force ./{old} ./new"));
        assert!(
            done.code == 2 && done.stderr.contains("exists already"),
            "{done}"
        );
    }
    assert!(h.s.files() == before);
    // The other sessions of a batch are moved.
    let done = h.run("relocate -q --moved-from ./old ./new");
    assert_eq!(done.code, 2);
    assert_eq!(done.text().lines().count(), 2, "{done}");
}

#[test]
fn outside_the_stores_and_in_a_flat_one_only_the_header_changes() {
    let h = Home::new();
    h.s.put("s.jsonl", header(&h.s, "s", "old", "") + BODY);
    let done = h.run("relocate -q ./s.jsonl ./new");
    assert_eq!(
        (done.code, done.text().as_str()),
        (0, "./s.jsonl\n"),
        "{done}"
    );
    assert_eq!(
        h.s.bytes("s.jsonl"),
        (header(&h.s, "s", "new", "") + BODY).into_bytes()
    );
    h.s.put("flat/s.jsonl", header(&h.s, "s", "old", "") + BODY);
    let home = h.s.path("");
    let flat = h.s.path("flat");
    let call =
        h.s.pisess("relocate -q ./flat/s.jsonl ./new")
            .env("HOME", home.to_str().unwrap());
    let done = call
        .env("PI_CODING_AGENT_SESSION_DIR", flat.to_str().unwrap())
        .done();
    assert_eq!(
        (done.code, done.text().as_str()),
        (0, "./flat/s.jsonl\n"),
        "{done}"
    );
    assert_eq!(
        h.s.bytes("flat/s.jsonl"),
        (header(&h.s, "s", "new", "") + BODY).into_bytes()
    );
}

#[test]
fn every_kind_of_session_keeps_its_other_bytes() {
    for name in [
        "v1.jsonl",
        "v2.jsonl",
        "draft-tree.jsonl",
        "tour.jsonl",
        "omp.jsonl",
    ] {
        let s = Sandbox::with(&[name]);
        std::fs::create_dir(s.path("new")).unwrap();
        assert_eq!(
            s.pisess(&format!("relocate -q --force ./{name} ./new"))
                .done()
                .code,
            0,
            "{name}"
        );
        let (old, new) = (String::from_utf8(fixture(name)).unwrap(), s.text(name));
        let changed: Vec<_> = old
            .lines()
            .zip(new.lines())
            .filter(|(old, new)| old != new)
            .collect();
        assert_eq!(changed.len(), 1, "{name}");
        assert!(
            changed[0].1.contains(r#""cwd":"./new""#),
            "{name}: {}",
            changed[0].1
        );
    }
}

#[test]
fn damaged_sessions_are_moved_or_refused() {
    for name in crate::sandbox::hazards() {
        let s = Sandbox::with(&[&format!("hazards/{name}.jsonl")]);
        let before = s.bytes(&format!("{name}.jsonl"));
        let done = s
            .pisess(&format!("relocate -q --force ./{name}.jsonl ."))
            .done();
        let after = s.bytes(&format!("{name}.jsonl"));
        let is_session = s.pisess(&format!("tree -q ./{name}.jsonl")).done().code == 0;
        assert_eq!(done.code, if is_session { 0 } else { 2 }, "{name}: {done}");
        assert!(is_session || before == after, "{name}");
        let lines = |bytes: &[u8]| bytes.iter().filter(|&&byte| byte == b'\n').count();
        assert_eq!(lines(&before), lines(&after), "{name}");
    }
}

#[test]
fn refuses_a_missing_directory_and_a_stream() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    assert_snapshot!(s.unchanged("relocate ./two-branches.jsonl ./none").fails(2), @"./none is not a directory (hint: the directory comes last; --force accepts one that does not exist)");
    let forced = s.unchanged("relocate -n --force ./two-branches.jsonl ./none");
    assert_eq!(forced.code, 0, "{forced}");
    // Before the rename, the new directory does not exist yet.
    let planned = s.unchanged("relocate -n --moved-from ./old ./none");
    assert_eq!(planned.code, 0, "{planned}");
    assert!(
        planned.stderr.contains("/none does not exist yet"),
        "{planned}"
    );
    let below_old = s.unchanged("relocate --moved-from . ./none").fails(2);
    assert_snapshot!(below_old, @"./none is not a directory (hint: the directory comes last; --force accepts one that does not exist)");
    let below_missing = s
        .unchanged("relocate --moved-from ./old ./none/new")
        .fails(2);
    assert!(
        below_missing.contains("is not a directory"),
        "{below_missing}"
    );
    assert_snapshot!(s.unchanged("relocate .").fails(2), @"no session is given (hint: give the session, then the directory)");
    assert_snapshot!(s.unchanged("relocate --moved-from ./a ./two-branches.jsonl .").fails(2), @"--moved-from takes no session (hint: give only the new directory)");
    let piped = s
        .pisess("relocate - .")
        .stdin(fixture("two-branches.jsonl"))
        .done();
    assert!(
        piped.code == 2 && piped.stderr.contains("a stream cannot be moved"),
        "{piped}"
    );
}

/// A running pi has no file open; it is recognized by its name and its working directory.
#[cfg(target_os = "linux")]
#[test]
fn a_session_of_a_running_agent_is_refused() {
    let h = Home::new();
    let old = format!("{}/2026_p1.jsonl", h.pi[0]);
    std::os::unix::fs::symlink("/bin/sleep", h.s.path("pi")).unwrap();
    let mut agent = std::process::Command::new(h.s.path("pi"))
        .arg("600")
        .current_dir(h.s.path("old"))
        .spawn()
        .unwrap();
    let before = h.s.files();
    let done = h.run(&format!("relocate -q ./{old} ./new"));
    assert!(h.s.files() == before);
    assert_eq!(done.code, 3, "{done}");
    assert!(
        done.stderr.contains("an agent runs in its directory"),
        "{done}"
    );
    agent.kill().unwrap();
    agent.wait().unwrap();
    assert_eq!(h.run(&format!("relocate -q ./{old} ./new")).code, 0);
    // A session that another process has open for writing is not moved either.
    let other = format!("{}/2026_p2.jsonl", h.pi[0]);
    let open = std::fs::OpenOptions::new()
        .append(true)
        .open(h.s.path(&other))
        .unwrap();
    let mut holder = std::process::Command::new("sleep")
        .arg("600")
        .stdout(open)
        .spawn()
        .unwrap();
    let done = h.run(&format!("relocate -q ./{other} ./new"));
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert!(
        done.code == 3 && done.stderr.contains("has it open for writing"),
        "{done}"
    );
    assert!(h.exists(&other));
}

/// A session recorded on Windows, in a store that was copied to this system.
#[test]
fn a_session_from_windows_moves_to_a_directory_here() {
    let s = Sandbox::new();
    std::fs::create_dir_all(s.path("new/sub")).unwrap();
    let windows = r#","cwd":"C:\\Users\\u\\kites\\sub"}"#;
    let session = header(&s, "w1", "old", "").replace(
        &format!(r#","cwd":"{}"}}"#, s.path("old").display()),
        windows,
    );
    s.put(
        ".pi/agent/sessions/--C--Users-u-kites-sub--/2026_w1.jsonl",
        session + BODY,
    );
    let home = s.path("");
    let home = home.to_str().unwrap().trim_end_matches('/');
    let run = |line: &str| s.pisess(line).env("HOME", home).done().text();
    assert!(run("list --all --json").contains(r#""cwd":"C:\\Users\\u\\kites\\sub""#));
    run(r"relocate --moved-from 'C:\Users\u\kites' ./new");
    let moved = format!(
        ".pi/agent/sessions/--{}--/2026_w1.jsonl",
        folder_name(&s, "new/sub")
    );
    assert!(
        s.text(&moved).contains(r#""cwd":"./new/sub""#),
        "{:?}",
        s.names()
    );
    assert!(s.text(&moved).ends_with(BODY));
}

/// Whoever reads the output may stop: the work is done all the same.
#[cfg(unix)]
#[test]
fn a_closed_pipe_ends_only_the_report() {
    let h = Home::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let home = h.s.path("");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_pisess"));
    command
        .args(["relocate", "-q", "--moved-from", "./old", "./new"])
        .current_dir(&home)
        .env("HOME", &home);
    assert_eq!(command.stdout(writer).status().unwrap().code(), Some(0));
    for name in [&h.pi[1], &h.omp[1]] {
        let id = if name.starts_with(".pi") { "p2" } else { "o1" };
        assert!(h.exists(&format!("{name}/2026_{id}.jsonl")));
    }
    assert!(!h.exists(&format!("{}/2026_p1.jsonl", h.pi[0])));
}

/// The working directory in a header may be anyone's: nothing in it is opened.
#[cfg(unix)]
#[test]
fn the_settings_of_a_recorded_directory_are_not_read() {
    let h = Home::new();
    let flat = h.s.path("flat");
    h.s.put(
        "old/.pi/settings.json",
        format!(r#"{{"sessionDir":"{}"}}"#, flat.display()),
    );
    h.s.put("flat/2026_f.jsonl", header(&h.s, "f", "old", "") + BODY);
    let done = h.run("relocate -q ./flat/2026_f.jsonl ./new");
    assert_eq!(
        (done.code, done.text()),
        (0, "./flat/2026_f.jsonl\n".to_owned()),
        "{done}"
    );
}

/// What cannot be read may be a session of that directory.
#[cfg(target_os = "linux")]
#[test]
fn a_store_that_cannot_be_read_is_reported() {
    let h = Home::new();
    // A symbolic link to itself cannot be opened, by root neither.
    let path = h.s.path(&format!("{}/2026_loop.jsonl", h.pi[0]));
    std::os::unix::fs::symlink(&path, &path).unwrap();
    let done = h.run("relocate -q --moved-from ./old ./new");
    assert_eq!(done.code, 2, "{done}");
    assert!(done.stderr.contains("2026_loop.jsonl"), "{done}");
    assert_eq!(done.text().lines().count(), 4, "{done}");
}

/// The session is moved under its lock: what another pisess puts beside it until then is moved with
/// it.
#[cfg(unix)]
#[test]
fn a_session_is_moved_under_its_lock() {
    let home = Home::new();
    let session = format!("{}/2026_p1.jsonl", home.pi[0]);
    let held = locked(&home.s, &session);
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_pisess"));
    command
        .args(["relocate", "--force", "--wait", "60", &session, "new"])
        .current_dir(home.s.path(""));
    command.env(
        "HOME",
        home.s.path("").to_str().unwrap().trim_end_matches('/'),
    );
    let mut child = command.stdout(std::process::Stdio::null()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(home.exists(&session));
    home.s.put(&format!("{session}.pruned"), "");
    drop(held);
    assert!(child.wait().unwrap().success());
    for name in ["2026_p1.jsonl", "2026_p1.jsonl.pruned"] {
        assert!(
            home.exists(&format!("{}/{name}", home.pi[1])),
            "{name}: {:?}",
            home.s.names()
        );
    }
}

/// Locks a file as another pisess does, until the result is dropped.
fn locked(s: &Sandbox, name: &str) -> std::fs::File {
    let file = std::fs::OpenOptions::new()
        .append(true)
        .open(s.path(name))
        .unwrap();
    file.lock().unwrap();
    file
}

/// A fork that would name a path where nothing is: its source stays. With `--force`, it moves, and
/// a later run completes it.
#[test]
fn a_session_stays_if_its_fork_cannot_be_changed() {
    let h = Home::new();
    let other = format!(".pi/agent/sessions/--{}--", folder_name(&h.s, "older"));
    let parent = h.s.path(&format!("{}/2026_p1.jsonl", h.pi[0]));
    let parent = format!(r#","parentSession":"{}""#, parent.display());
    let second = format!("{other}/2026_second.jsonl");
    h.s.put(&second, header(&h.s, "second", "older", &parent) + BODY);
    let old = format!("{}/2026_p1.jsonl", h.pi[0]);
    let new = format!("{}/2026_p1.jsonl", h.pi[1]);
    let before = h.s.files();

    // The other fork is changed before this one, and changed back.
    let lock = locked(&h.s, &second);
    let done = h.run(&format!("relocate --wait 0 ./{old} ./new"));
    assert_eq!(done.code, 3, "{done}");
    let wanted = format!("~/{old}: its fork cannot name the new path: cannot lock ~/{second}");
    assert!(done.stderr.contains(&wanted), "{done}");
    assert!(h.s.files() == before);
    assert!(!h.exists(&h.pi[1]));

    let done = h.run(&format!("relocate --force --wait 0 ./{old} ./new"));
    assert_eq!(
        (done.code, done.text()),
        (4, format!("./{new}\n")),
        "{done}"
    );
    assert!(h.s.bytes(&second) == before[&second]);
    drop(lock);

    let done = h.run(&format!("relocate ./{new} ./new"));
    assert_eq!((done.code, done.text()), (0, String::new()), "{done}");
    assert!(done.stderr.contains("pisess: 1 fork updated\n"), "{done}");
    for fork in ["fork", "second"] {
        let text = h.s.text(&format!("{other}/2026_{fork}.jsonl"));
        let source = format!(r#""parentSession":"./{new}""#);
        assert!(text.contains(&source), "{fork}: {text}");
    }
    let before = h.s.files();
    let done = h.run(&format!("relocate ./{new} ./new"));
    assert!(!done.stderr.contains("updated"), "{done}");
    assert!(h.s.files() == before);
}

/// Forks may be anywhere in the stores, so what cannot be read there is reported; but it makes no
/// failure of a move that is complete.
#[cfg(target_os = "linux")]
#[test]
fn notes_unreadable_sessions_of_other_projects() {
    for line in ["relocate p2 ./new", "relocate --moved-from ./old ./new"] {
        let h = Home::new();
        let other = format!(".pi/agent/sessions/--{}--", folder_name(&h.s, "older"));
        let path = h.s.path(&format!("{other}/2026_loop.jsonl"));
        std::os::unix::fs::symlink(&path, &path).unwrap();
        let done = h.run(line);
        assert_eq!(done.code, 0, "{line}: {done}");
        assert!(
            done.stderr.contains("pisess: note: cannot read ~/"),
            "{done}"
        );
        assert!(done.stderr.contains("2026_loop.jsonl"), "{done}");
        assert!(h.exists(&format!("{}/2026_p2.jsonl", h.pi[1])), "{line}");
    }
}

/// pi has no file open between two entries, and would create the old file again.
#[test]
fn a_session_that_was_written_a_moment_ago_is_refused() {
    let h = Home::new();
    let old = format!("{}/2026_p1.jsonl", h.pi[0]);
    let entry = crate::sandbox::user("aaaa0002", Some("aaaa0001"), "and now");
    let now = jiff::Timestamp::now().to_string();
    let entry = entry.replace("2026-01-01T00:00:01.000Z", &now);
    h.s.put(&old, h.s.text(&old) + "\n" + &entry + "\n");
    let before = h.s.files();
    let done = h.run(&format!("relocate -q ./{old} ./new"));
    assert_eq!(done.code, 3, "{done}");
    assert!(
        done.stderr.contains("an agent seems to be writing it"),
        "{done}"
    );
    assert!(h.s.files() == before);
    assert_eq!(h.run(&format!("relocate -q --force ./{old} ./new")).code, 0);

    // The agent appends to the old path.
    h.s.put(&old, entry + "\n");
    let folder = old.rsplit_once('/').unwrap().0;
    let list = h.run(&format!("list ./{folder}"));
    let note = "2026_p1.jsonl:1: not a session: its entries have no session header (hint: if the session was moved while an agent had it open, the agent continued here; see `pisess check`)";
    assert!(list.stderr.contains(note), "{list}");
    assert_eq!(list.code, 0);
    let check = h.run(&format!("check -q ./{folder}")).text();
    assert!(check.contains("the file has no session header"), "{check}");
}

/// The old directory no longer exists, and its name alone is given.
#[test]
fn a_renamed_directory_is_given_by_its_name() {
    let h = Home::new();
    std::fs::remove_dir_all(h.s.path("old")).unwrap();
    let planned = h.run("relocate old new -n");
    assert_eq!(planned.code, 0, "{planned}");
    assert!(planned.text().contains("2026_p1.jsonl"), "{planned}");
    assert_eq!(h.run("relocate nothing new").code, 2);

    // The name of a project that was somewhere else, as `list` shows it.
    let header = serde_json::json!({"type": "session", "version": 3, "id": "0199aaaa-7777",
        "timestamp": "2026-01-01T00:00:00.000Z", "cwd": h.s.path("deep/gone")});
    let gone = ".pi/agent/sessions/--deep-gone--/2026_0199aaaa-7777.jsonl";
    h.s.put(gone, format!("{header}\n"));
    let planned = h.run("relocate gone new -n");
    assert_eq!(planned.code, 0, "{planned}");
    assert!(planned.text().contains("2026_0199aaaa-7777"), "{planned}");
    let note = "gone: the sessions of the project ~/deep/gone";
    assert!(planned.stderr.contains(note), "{planned}");
    // A directory that exists was not renamed.
    std::fs::create_dir_all(h.s.path("deep/gone")).unwrap();
    assert_eq!(h.run("relocate gone new -n").code, 2);

    let header = serde_json::json!({"type": "session", "version": 3, "id": "0199aaaa-8888",
        "timestamp": "2026-01-01T00:00:00.000Z", "cwd": h.s.path("else/gone")});
    let other = ".pi/agent/sessions/--else-gone--/2026_0199aaaa-8888.jsonl";
    h.s.put(other, format!("{header}\n"));
    let several = h.run("relocate gone new -n");
    assert_eq!(several.code, 2, "{several}");
    assert!(
        several
            .stderr
            .contains("2 projects have the name gone (hint: give the path of one)"),
        "{several}"
    );
    for path in ["~/deep/gone", "~/else/gone"] {
        assert!(several.stderr.contains(path), "{several}");
    }
}

/// The file of a session in no store stays where it is: only its directory changes.
#[test]
fn a_plan_shows_the_directories_of_a_file_that_stays() {
    let s = Sandbox::with(&["tour.jsonl"]);
    let planned = s.unchanged("relocate -n ./tour.jsonl /").quiet();
    assert_snapshot!(planned, @"
     size  from                      to
    14 kB  tour.jsonl: ~/code/ferry  /
    ");
}
