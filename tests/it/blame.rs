//! `pisess blame`: which session and entry wrote the lines of a file.

use crate::sandbox::Sandbox;
use insta::assert_snapshot;
use serde_json::{Value, json};

const CLOCK: &str = "pub fn departs_in(now: Time, departure: Time) -> i64 {
    (departure.minutes() - now.minutes() + 720).rem_euclid(1440) - 720
}
";

const MIDNIGHT: &str = "#[test]
fn the_first_ferry_after_midnight() {
    assert_eq!(departs_in(time(\"23:50\"), time(\"00:10\")), 20);
}

fn by_hand() {}
";

/// A project with two files that the session wrote to.
fn project() -> Sandbox {
    let s = Sandbox::with(&["tour.jsonl"]);
    s.put("src/clock.rs", CLOCK);
    s.put("tests/midnight.rs", MIDNIGHT);
    s
}

#[test]
fn lines_with_the_prompt_above_the_call() {
    let s = project();
    assert_snapshot!(s.pisess("blame ./tests/midnight.rs ./tour.jsonl").done(), @r#"
    LINES  ENTRY     SESSION   TIME              TITLE                           PROMPT
      1-4  7a13f8c2  6e8a4d70  2026-03-14 09:32  The 00:10 ferry shows up as "…  Good. Please add a test for exactly that evening.
      5-6                                                                        not written by an agent
    "#);
    // An edit within a line. The line before it is not its own.
    assert_snapshot!(s.pisess("blame ./src/clock.rs:1,2 ./").done(), @r#"
    LINES  ENTRY     SESSION   TIME              TITLE                           PROMPT
        1                                                                        not written by an agent
        2  c8a45f06  6e8a4d70  2026-03-14 09:31  The 00:10 ferry shows up as "…  Undo that, and take the nearer of the two: yesterday's or tomorrow's departure.
    "#);
    assert_snapshot!(s.pisess("blame --json ./src/clock.rs:2 ./tour.jsonl").done(), @r#"{"first":2,"last":2,"path":"./tour.jsonl","sessionId":"019ceb84-1405-7a3e-9c1d-5b2f6e8a4d70","title":"The 00:10 ferry shows up as \"left 23 h ago\" when I ask at 23:50. Can you find out why?","id":"c8a45f06","line":21,"timestamp":"2026-03-14T09:31:24.589Z","promptId":"3de1b752","prompt":"Undo that, and take the nearer of the two: yesterday's or tomorrow's departure."}"#);
}

/// `blame` finds what `show --file` applies: the lines that oh-my-pi's edits recorded.
#[test]
fn edits_that_oh_my_pi_recorded() {
    let s = Sandbox::new();
    let write = json!({"path": "a.rs", "content": "fn one() {}\nfn two() {}\nfn three() {}\n"});
    let input = "[a.rs#2914]\nPUT 2.=2:\n+fn zwei() {}\n+fn drei() {}\n";
    let details = json!({"path": "/p/a.rs", "op": "update", "snapshotsPruned": true,
        "diff": " 1|fn one() {}\n-2|fn two() {}\n+2|fn zwei() {}\n+3|fn drei() {}\n 3|fn three() {}"});
    let calls = [
        ("write", write, json!({})),
        ("edit", json!({"input": input}), details),
    ];
    let session = crate::show::omp_session(&calls);
    let cwd = s
        .path("")
        .to_string_lossy()
        .trim_end_matches('/')
        .to_owned();
    let session = String::from_utf8(session)
        .unwrap()
        .replace(r#""/p""#, &json!(cwd).to_string());
    s.put("x.jsonl", session);
    let content = s.run("show --file a.rs ./x.jsonl");
    assert_eq!(
        content,
        "fn one() {}\nfn zwei() {}\nfn drei() {}\nfn three() {}\n"
    );
    s.put("a.rs", content);
    let blamed = s.pisess("blame --json ./a.rs ./x.jsonl").done().quiet();
    let runs: Vec<Value> = blamed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let found: Vec<_> = runs
        .iter()
        .map(|run| [&run["first"], &run["last"], &run["id"]])
        .collect();
    assert_eq!(
        json!(found),
        json!([[1, 1, "0aaaaaaa"], [2, 3, "1aaaaaaa"], [4, 4, "0aaaaaaa"]])
    );
}

#[test]
fn what_no_agent_wrote() {
    let s = project();
    assert_snapshot!(s.pisess("blame ./tests/midnight.rs:6 ./tour.jsonl").done(), @"
    LINES  ENTRY  SESSION  TIME  TITLE  PROMPT
        6                               not written by an agent
    2> pisess: note: agents changed this file, but wrote none of these lines as they are (hint: `pisess stats --all --by file,session` lists the sessions that changed it)
    exit 1
    ");
    // A file of the same name elsewhere is not the one that was written.
    s.put("other/midnight.rs", MIDNIGHT);
    assert_eq!(
        s.pisess("blame ./other/midnight.rs ./tour.jsonl")
            .done()
            .code,
        1
    );
    assert_snapshot!(s.pisess("blame ./src/clock.rs:2,9 ./tour.jsonl").done().fails(2), @"./src/clock.rs has 3 lines; the range is 2 to 9");
    assert_eq!(s.pisess("blame ./none.rs ./tour.jsonl").done().code, 2);
}

/// The newest call counts, whichever session it is in, and a call that failed does not.
#[test]
fn the_newest_session_counts() {
    let s = Sandbox::new();
    let session = |id: &str, day: u32, content: &str, has_failed: bool| {
        let header = format!(
            r#"{{"type":"session","version":3,"id":"{id}","timestamp":"2026-01-0{day}T00:00:00.000Z","cwd":"/p"}}"#
        );
        let line = |id: &str, parent: &str, message: String| {
            format!(
                r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-01-0{day}T00:00:00.000Z","message":{message}}}"#
            )
        };
        let user = r#"{"role":"user","content":"please"}"#.to_owned();
        let call = format!(
            r#"{{"role":"assistant","content":[{{"type":"toolCall","id":"c","name":"write","arguments":{{"path":"a.txt","content":"{content}"}}}}]}}"#
        );
        let result = format!(
            r#"{{"role":"toolResult","toolCallId":"c","isError":{has_failed},"content":"ok"}}"#
        );
        [
            header,
            line("aaaa0001", "null", user),
            line("aaaa0002", "\"aaaa0001\"", call),
            line("aaaa0003", "\"aaaa0002\"", result),
        ]
        .join("\n")
            + "\n"
    };
    s.put("a.txt", "first line\nsecond line\nthird line\n");
    s.put(
        "s/old.jsonl",
        session("old", 1, "first line\\nsecond line\\n", false),
    );
    s.put("s/new.jsonl", session("new", 2, "second line\\n", false));
    s.put(
        "s/bad.jsonl",
        session("bad", 3, "first line\\nthird line\\n", true),
    );
    assert_snapshot!(s.pisess("blame ./a.txt ./s").done(), @"
    LINES  ENTRY     SESSION  TIME              TITLE   PROMPT
        1  aaaa0002  old      2026-01-01 00:00  please  please
        2  aaaa0002  new      2026-01-02 00:00  please  please
        3                                               not written by an agent
    ");
}

#[test]
fn patch_shows_the_text_that_each_call_replaced() {
    let s = project();
    assert_snapshot!(s.run("blame --patch ./src/clock.rs ./tour.jsonl"), @r#"
    LINES  ENTRY     SESSION   TIME              TITLE                           PROMPT
        1                                                                        not written by an agent
        2  c8a45f06  6e8a4d70  2026-03-14 09:31  The 00:10 ferry shows up as "…  Undo that, and take the nearer of the two: yesterday's or tomorrow's departure.
        3                                                                        not written by an agent

    c8a45f06 replaced
    -(departure.minutes() - now.minutes()).rem_euclid(1440)
    +(departure.minutes() - now.minutes() + 720).rem_euclid(1440) - 720
    "#);
    assert_snapshot!(s.run("blame --patch ./tests/midnight.rs:1,6 ./tour.jsonl"), @r#"
    LINES  ENTRY     SESSION   TIME              TITLE                           PROMPT
      1-4  7a13f8c2  6e8a4d70  2026-03-14 09:32  The 00:10 ferry shows up as "…  Good. Please add a test for exactly that evening.
      5-6                                                                        not written by an agent

    7a13f8c2 wrote the whole file
    "#);
    let json = s.run("blame --patch --json ./src/clock.rs:2 ./tour.jsonl");
    assert!(json.contains(r#""patch":""#), "{json}");
}

/// A fork has copies of the calls, which the original made.
#[test]
fn a_copied_call_counts_for_the_original() {
    let s = Sandbox::with(&["tour.jsonl"]);
    s.put("tests/midnight.rs", MIDNIGHT);
    let blame = || s.run("blame --json ./tests/midnight.rs:1,4 .");
    let before = blame();
    // The name of the fork comes before that of the original, or after it.
    s.run("fork -q ./tour.jsonl -o ./a.jsonl");
    s.run("fork -q ./tour.jsonl -o ./z.jsonl");
    assert_eq!(blame(), before);
    let of_fork = s.run("blame --json ./tests/midnight.rs:1,4 ./a.jsonl");
    assert!(of_fork.contains("./a.jsonl"), "{of_fork}");
}

/// Puts a session in `s/old.jsonl` whose directory is the sandbox: a user message, and these lines.
#[cfg(unix)]
fn put_session_here(s: &Sandbox, lines: &[&str]) {
    let folder = std::fs::canonicalize(s.path("")).unwrap();
    let folder = folder.to_str().unwrap();
    let mut session = format!(
        r#"{{"type":"session","version":3,"id":"old","timestamp":"2026-01-01T00:00:00.000Z","cwd":"{folder}"}}"#
    );
    session.push('\n');
    session.push_str(&crate::sandbox::user("aaaa0001", None, "please"));
    for line in lines {
        session.push('\n');
        session.push_str(line);
    }
    session.push('\n');
    s.put("s/old.jsonl", session);
}

#[cfg(unix)]
#[test]
fn a_session_names_the_file_that_a_link_leads_to() {
    let s = Sandbox::new();
    put_session_here(
        &s,
        &[
            r#"{"type":"message","id":"aaaa0002","parentId":"aaaa0001","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"write","arguments":{"path":"real.txt","content":"first line\n"}}]}}"#,
            r#"{"type":"message","id":"aaaa0003","parentId":"aaaa0002","timestamp":"2026-01-01T00:00:03.000Z","message":{"role":"toolResult","toolCallId":"c","toolName":"write","isError":false,"content":"ok"}}"#,
        ],
    );
    s.put("real.txt", "first line\n");
    std::os::unix::fs::symlink("real.txt", s.path("link.txt")).unwrap();
    assert_snapshot!(s.pisess("blame ./link.txt ./s").done(), @"
    LINES  ENTRY     SESSION  TIME              TITLE   PROMPT
        1  aaaa0002  old      2026-01-01 00:00  please  please
    ");
}

/// The path is only in the list of these calls, not in the arguments of the model's call.
#[cfg(unix)]
#[test]
fn a_tool_made_the_call_itself() {
    let s = Sandbox::new();
    put_session_here(
        &s,
        &[
            r#"{"type":"message","id":"aaaa0002","parentId":"aaaa0001","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"eval","arguments":{"code":"run()"}}]}}"#,
            r#"{"type":"message","id":"aaaa0003","parentId":"aaaa0002","timestamp":"2026-01-01T00:00:03.000Z","message":{"role":"toolResult","toolCallId":"c","toolName":"eval","isError":false,"content":"ok","nestedCalls":{"calls":[{"name":"write","status":"ok","arguments":{"path":"a.txt","content":"first line\n"}}]}}}"#,
        ],
    );
    s.put("a.txt", "first line\n");
    assert_snapshot!(s.pisess("blame ./a.txt ./s").done(), @"
    LINES  ENTRY     SESSION  TIME              TITLE   PROMPT
        1  aaaa0003  old      2026-01-01 00:00  please  please
    ");
}

/// A patch of Codex has the new text without the numbers of its lines.
#[test]
fn blame_reads_patches_of_codex() {
    let s = Sandbox::new();
    let patch = |name: &str, input: &str| {
        json!({"type": "message", "id": name, "parentId": "aaaa0001", "timestamp": "2026-01-01T00:00:02.000Z",
            "message": {"role": "assistant", "content": [{"type": "toolCall", "id": name, "name": "apply_patch", "arguments": {"input": input}}]}})
        .to_string()
    };
    let result = |name: &str| {
        json!({"type": "message", "id": format!("r{name}"), "parentId": name, "timestamp": "2026-01-01T00:00:03.000Z",
            "message": {"role": "toolResult", "toolCallId": name, "toolName": "apply_patch", "isError": false, "content": "ok"}})
        .to_string()
    };
    let add = "*** Begin Patch\n*** Add File: new.txt\n+first line\n+second line\n+third line\n*** Update File: b/other.txt\n@@\n-never\n+in the other file\n*** End Patch";
    let update = "*** Begin Patch\n*** Update File: new.txt\n@@ heading\n first line\n-second line\n+changed line\n third line\n*** End Patch\n";
    put_session_here(
        &s,
        &[
            &patch("p1", add),
            &result("p1"),
            &patch("p2", update),
            &result("p2"),
        ]
        .map(|line| &**line),
    );
    s.put(
        "new.txt",
        "first line\nchanged line\nthird line\nin the other file\n",
    );
    assert_snapshot!(s.pisess("blame ./new.txt ./s").done(), @"
    LINES  ENTRY  SESSION  TIME              TITLE   PROMPT
        1  p1     old      2026-01-01 00:00  please  please
        2  p2     old      2026-01-01 00:00  please  please
        3  p1     old      2026-01-01 00:00  please  please
        4                                            not written by an agent
    ");
    assert_snapshot!(s.run("show --file new.txt ./s/old.jsonl :4"), @"
    first line
    second line
    third line
    ");
    assert_snapshot!(s.run("blame --json ./new.txt:2 ./s"), @r#"{"first":2,"last":2,"path":"./s/old.jsonl","sessionId":"old","title":"please","id":"p2","line":5,"timestamp":"2026-01-01T00:00:02.000Z","promptId":"aaaa0001","prompt":"please"}"#);
}
