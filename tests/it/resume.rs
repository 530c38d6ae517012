//! `pisess resume`: the command that continues a session in its agent.

use crate::sandbox::{Call, Sandbox, fixture};
use insta::assert_snapshot;
use std::fs;

/// Returns a sandbox that is a home directory, with a session of pi and one of oh-my-pi in their
/// stores. Their directory is `kites`.
fn home() -> Sandbox {
    let s = Sandbox::new();
    fs::create_dir_all(s.path("kites")).unwrap();
    let header = |id: &str| {
        let cwd = s.path("kites").display().to_string();
        format!(
            r#"{{"type":"session","version":3,"id":"{id}","timestamp":"2026-01-01T00:00:00.000Z","cwd":"{cwd}"}}"#
        )
    };
    let name = |id: &str, name: &str| {
        format!(
            r#"{{"type":"session_info","id":"{id}","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","name":"{name}"}}"#
        )
    };
    let pi = format!("{}\n{}\n", header("pi01"), name("aaaa0001", "green"));
    s.put(".pi/agent/sessions/--kites--/pi01.jsonl", pi);
    // Only oh-my-pi writes a line with the title before the header.
    let slot = r#"{"type":"title","v":1,"title":"red","source":"user","updatedAt":"2026-01-01T00:00:00.000Z","pad":""}"#;
    let omp = format!("{slot}\n{}\n", header("omp01"));
    s.put(".omp/agent/sessions/-kites/omp01.jsonl", omp);
    s
}

fn call<'a>(s: &'a Sandbox, line: &str) -> Call<'a> {
    let path = s.path("bin").display().to_string();
    s.pisess(line)
        .at_home()
        .env("PATH", &format!("{path}:/bin:/usr/bin"))
}

#[test]
fn prints_the_command_of_each_agent() {
    let s = home();
    let run = |line: &str| call(&s, line).done().quiet();
    assert_snapshot!(run("resume green"), @"cd ./kites && pi --session ./.pi/agent/sessions/--kites--/pi01.jsonl");
    assert_snapshot!(run("resume omp01"), @"cd ./kites && omp --resume ./.omp/agent/sessions/-kites/omp01.jsonl");
    assert_snapshot!(run("resume ./.omp/agent/sessions/-kites/omp01.jsonl --json"), @r#"{"program":"omp","args":["--resume","./.omp/agent/sessions/-kites/omp01.jsonl"],"cwd":"./kites"}"#);
}

#[test]
fn several_sessions_have_a_line_each() {
    let s = home();
    let done = call(&s, "resume green nothing omp01").done();
    assert_snapshot!(done, @"
    cd ./kites && pi --session ./.pi/agent/sessions/--kites--/pi01.jsonl
    cd ./kites && omp --resume ./.omp/agent/sessions/-kites/omp01.jsonl
    2> pisess: nothing: no such file, and no session with that id or name (hint: `pisess list --all` lists all sessions; several words need quotes)
    exit 2
    ");
    assert_snapshot!(call(&s, "resume --json green omp01").done().quiet(), @r#"
    {"program":"pi","args":["--session","./.pi/agent/sessions/--kites--/pi01.jsonl"],"cwd":"./kites"}
    {"program":"omp","args":["--resume","./.omp/agent/sessions/-kites/omp01.jsonl"],"cwd":"./kites"}
    "#);
    assert_snapshot!(call(&s, "resume --exec green omp01").done().fails(2), @"--exec continues one session (hint: without --exec, the command of each session is printed)");
}

/// Puts a session of the current directory into pi's store, and returns its path.
fn put_in_store(s: &Sandbox) -> String {
    let folder = s.path("");
    let project = folder.to_str().unwrap().trim_matches('/').replace('/', "-");
    let path = format!(".pi/agent/sessions/--{project}--/a.jsonl");
    s.put(&path, fixture("two-branches.jsonl"));
    path
}

#[test]
fn last_is_of_the_current_directory() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let store = put_in_store(&s);
    let text = call(&s, "resume last").done().text();
    assert!(
        text.ends_with(&format!("pi --session ./{store}\n")),
        "{text}"
    );
}

/// `last` is the session that changed last; an imported session is as old as its source.
#[test]
fn names_the_session_on_a_terminal() {
    let s = Sandbox::new();
    put_in_store(&s);
    let resume = |line: &str| call(&s, line).terminal(80).done().stderr;
    assert_snapshot!(resume("resume last"), @r"
    pisess: continues 0000babe (4mo): Which paper for a kite?
    pisess: note: the session's directory /home/u/kites does not exist
    ");
    assert_eq!(resume("resume -q last"), "");
    let path = s.names().pop().unwrap();
    for line in ["resume --json last", &format!("resume ./{path}")] {
        assert!(!resume(line).contains("continues"), "{line}");
    }
}

#[test]
fn quotes_what_a_shell_would_expand() {
    let s = Sandbox::new();
    let cwd = s.path("it's $HOME");
    fs::create_dir_all(&cwd).unwrap();
    let header = format!(
        r#"{{"type":"session","version":3,"id":"q","timestamp":"2026-01-01T00:00:00.000Z","cwd":"{}"}}"#,
        cwd.display()
    );
    s.put("a b;c.jsonl", header + "\n");
    let command = s.run("resume './a b;c.jsonl'");
    assert_snapshot!(command, @r"cd './it'\''s $HOME' && pi --session './a b;c.jsonl'");
}

/// The program gets the arguments and the directory, also if a shell runs the printed command.
#[cfg(unix)]
#[test]
fn runs_the_agent() {
    let s = home();
    s.script("bin/pi", r#"pwd; printf '<%s>' "$@"; cat; exit 7"#);
    let done = call(&s, "resume green --exec").stdin("in\n").real();
    assert_snapshot!(done, @"
    ./kites
    <--session><./.pi/agent/sessions/--kites--/pi01.jsonl>in
    exit 7
    ");

    let command = call(&s, "resume green").real().stdout;
    let output = std::process::Command::new("sh")
        .args(["-c", &String::from_utf8(command).unwrap()])
        .env("PATH", format!("{}:/bin:/usr/bin", s.path("bin").display()))
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    assert_eq!(
        output.stdout,
        done.stdout.strip_suffix(b"in\n").unwrap().to_vec()
    );
}

/// The directories of the PATH that are relative may belong to anyone.
#[test]
fn an_agent_that_is_not_on_the_path_is_not_run() {
    let s = home();
    let bin = s.path("bin").display().to_string();
    for path in [&*bin, "", "bin"] {
        let call = s.pisess("resume omp01 --exec").at_home().env("PATH", path);
        let error = call.done().fails(2);
        let expected = "cannot run omp: it is not on the PATH (hint: add the agent's directory to PATH; without --exec, the command is printed)";
        assert_eq!(error, expected, "{path}");
    }
}

#[test]
fn a_directory_that_is_gone() {
    let s = home();
    fs::remove_dir(s.path("kites")).unwrap();
    assert_snapshot!(call(&s, "resume green").done(), @"
    cd ./kites && pi --session ./.pi/agent/sessions/--kites--/pi01.jsonl
    2> pisess: note: the session's directory ~/kites does not exist (hint: `pisess relocate SESSION DIR` moves a session to another directory)
    ");
    assert_snapshot!(call(&s, "resume green --exec").done().fails(2), @"~/.pi/agent/sessions/--kites--/pi01.jsonl: its directory ~/kites does not exist (hint: `pisess relocate SESSION DIR` moves a session to another directory)");
}

#[test]
fn what_no_agent_can_open() {
    let s = home();
    let fails = |line: &str| call(&s, line).done().fails(2);
    s.put("no-header.jsonl", fixture("hazards/no-header.jsonl"));
    assert_snapshot!(fails("resume ./no-header.jsonl"), @"~/no-header.jsonl:1: not a session: its entries have no session header (hint: if the session was moved while an agent had it open, the agent continued here; see `pisess check`)");

    let stream = call(&s, "resume -").stdin(fixture("two-branches.jsonl"));
    assert_snapshot!(stream.done().fails(2), @"standard input: an agent cannot open a stream (hint: give the path of a session)");

    let archive = call(&s, "archive -q green --json").done().text();
    assert!(archive.contains("pi01.jsonl.zst"), "{archive}");
    let archive = "./.pi/agent/sessions.archive/--kites--/pi01.jsonl.zst";
    assert_snapshot!(fails(&format!("resume {archive}")), @"~/.pi/agent/sessions.archive/--kites--/pi01.jsonl.zst: the session is archived (hint: `pisess archive --restore` moves it back to its store)");
    assert_snapshot!(fails("resume green"), @"green: no such file, and no session with that id or name (hint: it is archived: `pisess archive --restore green` moves it back to its store)");
}

/// Claude Code and Codex continue a session by its id, in its directory.
#[test]
fn resume_names_the_command_of_the_agent_that_wrote_the_session() {
    let s = Sandbox::with(&["claude/plain.jsonl", "codex/rollback.jsonl"]);
    assert_snapshot!(s.run("resume -q ./plain.jsonl"), @"cd /home/u/kites && claude --resume c1a00000-0000-4000-8000-0000000000a1");
    assert_snapshot!(s.run("resume -q ./rollback.jsonl"), @"cd /home/u/kites && codex resume 019cad00-0000-7000-8000-0000000000b2");
}

/// The id of a session that was imported still means the original. The session made of it has
/// another id, which the user cannot know.
#[test]
fn resume_of_an_original_names_the_imported_session() {
    let s = Sandbox::with(&[]);
    let source = ".claude/projects/-home-u-kites/c1a00000-0000-4000-8000-0000000000a1.jsonl";
    s.put(source, crate::sandbox::fixture("claude/plain.jsonl"));
    let run = |line: &str| s.pisess(line).at_home().done();
    assert!(!run("resume c1a00000").to_string().contains("imported"));
    run(&format!("import -q ./{source}"));
    let resumed = run("resume c1a00000");
    assert_snapshot!(resumed, @r"
    cd /home/u/kites && claude --resume c1a00000-0000-4000-8000-0000000000a1
    2> pisess: note: the command continues the session of Claude Code, which was also imported (hint: `pisess resume 03c17bc3-0e77-5e19-a050-82de41a4fe69` continues the imported session in pi)
    2> pisess: note: the session's directory /home/u/kites does not exist (hint: `pisess relocate SESSION DIR` moves a session to another directory)
    ");

    let text = resumed.to_string();
    let (_, from_id) = text.split_once("`pisess resume ").unwrap();
    let (id, _) = from_id.split_once('`').unwrap();
    assert!(run(&format!("resume {id}")).text().contains("pi --session"));
}

/// A file could have an option of the agent in the place of its id.
#[test]
fn resume_refuses_an_id_that_is_an_option() {
    let s = Sandbox::with(&[]);
    let line = r#"{"type":"user","uuid":"1","parentUuid":null,"sessionId":"--dangerously-skip-permissions","cwd":"/","message":{"role":"user","content":"hi"}}"#;
    s.put("odd.jsonl", format!("{line}\n"));
    let done = s.pisess("resume ./odd.jsonl").done();
    assert!(!done.text().contains("--dangerously"), "{done}");
    assert_eq!(done.code, 2, "{done}");
}
