//! `pisess check`: findings, and repairs.

use crate::sandbox::{Done, Sandbox, fixture, hazards};
use insta::assert_snapshot;

const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}"#;

fn user(id: &str, parent: &str) -> String {
    let parent = if parent.is_empty() {
        "null".to_owned()
    } else {
        format!("\"{parent}\"")
    };
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-01-01T00:00:01.000Z","message":{{"role":"user","content":"said {id}"}}}}"#
    )
}

fn session(lines: &[&str]) -> String {
    [HEADER]
        .iter()
        .chain(lines)
        .map(|line| format!("{line}\n"))
        .collect()
}

/// A session with many defects: a torn line before an entry, its child, a duplicate, a cycle, a
/// value that is not an entry, and a torn end.
fn damaged() -> String {
    let torn = &user("aaaa0002", "aaaa0001")[..90];
    let fused = format!("{torn}{}", user("aaaa0003", "aaaa0002"));
    let lines = [
        &user("aaaa0001", "")[..],
        &fused,
        "null",
        &user("aaaa0004", "aaaa0004"),
        &user("aaaa0001", "aaaa0004"),
        &user("aaaa0005", "gone"),
    ];
    session(&lines) + r#"{"type":"mess"#
}

/// Returns the rows of `--json` as `line severity kind`, with a star if repairable.
fn kinds(done: &Done) -> String {
    let rows = std::str::from_utf8(&done.stdout).unwrap().lines();
    let row = |line: &str| {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let star = if row["repairable"] == true { "*" } else { "" };
        format!(
            "{} {} {}{star}",
            row["line"],
            row["severity"].as_str().unwrap(),
            row["kind"].as_str().unwrap()
        )
    };
    rows.map(row).collect::<Vec<_>>().join(", ")
}

#[test]
fn tells_what_is_wrong_and_what_it_means() {
    let s = Sandbox::new();
    s.put("s.jsonl", damaged());
    assert_snapshot!(s.unchanged("check ./s.jsonl"), @r#"
    ./s.jsonl:2: warning: the entry on line 5 has the same id (entry aaaa0001) [repairable]
        the later one takes precedence; the tree shows it twice, and this one not at all
    ./s.jsonl:3: error: an entry and 90 other bytes are on one line [repairable]
        everything on the line is lost to pi
    ./s.jsonl:3: warning: its parent "aaaa0002" is on a line that is not an entry; 1 entry is cut off (entry aaaa0003) [repairable]
        the tree shows the entry as another root
    ./s.jsonl:4: warning: the line is null [repairable]
        pi skips it; pi before 0.87 and oh-my-pi do not open the session
    ./s.jsonl:5: warning: the entry is its own parent (entry aaaa0004) [repairable]
        the agent hangs when it moves there
    ./s.jsonl:7: warning: its parent "gone" is not in the file; 4 entries are cut off (entry aaaa0005)
        the session opens incomplete: the path ends here, and earlier entries are not seen
    ./s.jsonl:8: error: the last line is incomplete: its write was interrupted [repairable]
        its content is lost; an older pi also loses the next message, which it appends to this line
    2> pisess: 1 session checked: 2 errors, 5 warnings, 0 notes; 6 repairable (hint: pisess check --repair -o FILE ./s.jsonl)
    exit 1
    "#);
}

#[test]
fn a_sound_session_has_no_findings() {
    let s = Sandbox::with(&["tour.jsonl", "kinds/pi.jsonl", "omp.jsonl"]);
    let done = s.unchanged("check ./tour.jsonl");
    assert_eq!((done.text().as_str(), done.code), ("", 0));
    assert_snapshot!(s.unchanged("check ."), @"2> pisess: 3 sessions checked: no problems");
    assert_snapshot!(s.unchanged("check --quiet ./tour.jsonl"), @"");
}

#[test]
fn notes_alone_are_no_reason_to_fail() {
    let s = Sandbox::with(&["v1.jsonl"]);
    assert_snapshot!(s.unchanged("check ./v1.jsonl"), @"
    ./v1.jsonl:1: note: the file is of version 1; see `pisess migrate`
        pi rewrites the whole file in place when it opens it; a crash then loses it
    2> pisess: 1 session checked: 0 errors, 0 warnings, 1 note
    ");
}

#[test]
fn a_row_for_each_finding() {
    let s = Sandbox::new();
    s.put("s.jsonl", session(&[&user("a", ""), &user("b", "gone")]));
    assert_snapshot!(s.unchanged("check --json ./s.jsonl"), @r#"
    {"path":"./s.jsonl","line":3,"id":"b","severity":"warning","kind":"missing-parent","message":"its parent \"gone\" is not in the file; 1 entry is cut off","consequence":"the session opens incomplete: the path ends here, and earlier entries are not seen","repairable":true,"fix":"it becomes a child of a","excerpt":null}
    2> pisess: 1 session checked: 0 errors, 1 warning, 0 notes; 1 repairable (hint: pisess check --repair -o FILE ./s.jsonl)
    exit 1
    "#);
}

#[test]
fn folders_are_walked_and_the_worst_wins() {
    let s = Sandbox::new();
    s.put("in/a.jsonl", session(&[&user("a", "")]));
    s.put("in/b.jsonl", session(&["null"]));
    s.put("in/deep/c.jsonl", session(&["5"]));
    s.put("in/d.txt", "no session");
    assert_snapshot!(s.unchanged("check ./in"), @"
    ./in/b.jsonl:2: warning: the line is null [repairable]
        pi skips it; pi before 0.87 and oh-my-pi do not open the session
    ./in/deep/c.jsonl:2: error: the line is a value that is not an entry [repairable]
        the agent treats it as the leaf and opens the session empty
    2> pisess: note: 3 copies of the session s: ./in/a.jsonl, ./in/b.jsonl, ./in/deep/c.jsonl (hint: `pisess join` makes one session of two)
    2> pisess: 3 sessions checked: 1 error, 1 warning, 0 notes; 2 repairable (hint: pisess check --repair --backup SESSION...)
    exit 1
    ");
    assert_eq!(
        s.unchanged("check -q -r ./in").text(),
        s.unchanged("check -q ./in").text()
    );
    assert_snapshot!(s.unchanged("check -q ./in"), @"
    ./in/b.jsonl:2: warning: the line is null [repairable]
        pi skips it; pi before 0.87 and oh-my-pi do not open the session
    ./in/deep/c.jsonl:2: error: the line is a value that is not an entry [repairable]
        the agent treats it as the leaf and opens the session empty
    exit 1
    ");
    s.put("in/e.jsonl", "no session\n");
    assert_snapshot!(s.unchanged("check -q ./in ./none"), @r#"
    ./in/b.jsonl:2: warning: the line is null [repairable]
        pi skips it; pi before 0.87 and oh-my-pi do not open the session
    ./in/deep/c.jsonl:2: error: the line is a value that is not an entry [repairable]
        the agent treats it as the leaf and opens the session empty
    2> pisess: cannot read ./none: no such file or directory (hint: check the path; sessions are below ~/.pi/agent/sessions and ~/.omp/agent/sessions)
    2> pisess: ./in/e.jsonl: no session header (hint: a session of pi or oh-my-pi starts with {"type":"session","id":…})
    exit 2
    "#);
}

/// Only -r changes what is in subdirectories, as for `migrate`.
#[test]
fn folders_are_repaired() {
    let s = Sandbox::new();
    s.put("in/a.jsonl", session(&[&user("a", "a")]));
    s.put("in/b.jsonl", session(&[&user("b", "")]));
    s.put("in/deep/c.jsonl", session(&["null"]));
    s.put("in/.hidden/d.jsonl", session(&["null"]));
    assert_snapshot!(s.unchanged("check --repair -n ./in"), @"
    ./in/a.jsonl:2: to repair: the entry is its own parent (entry a)
        it becomes a root
    ./in/deep/c.jsonl:2: to repair: the line is null
        it is removed
     size  repairs     removed  session
    216 B        1         0 B  ./in/a.jsonl
     94 B        1         4 B  ./in/deep/c.jsonl
    310 B    total  2 sessions
    2> pisess: 2 to repair, 0 left
    2> pisess: note: some of these are in subdirectories; add -r to change them, too
    ");
    assert_snapshot!(s.pisess("check --repair --backup ./in").done(), @r"
    ./in/a.jsonl:2: repaired: the entry is its own parent (entry a)
        it becomes a root
    2> pisess: note: ./in: subdirectories are left out (hint: -r includes them)
    2> pisess: nothing was removed from the session; the old file is ./in/a.jsonl.bak
    2> pisess: 1 repaired, 0 left
    ");
    assert_eq!(s.text("in/deep/c.jsonl"), session(&["null"]));
    assert_snapshot!(s.pisess("check --repair --backup -r ./in ./none").done(), @r"
    ./in/deep/c.jsonl:2: repaired: the line is null
        it is removed
    2> pisess: cannot read ./none: no such file or directory (hint: check the path; sessions are below ~/.pi/agent/sessions and ~/.omp/agent/sessions)
    2> pisess: 4 B that are no longer in the session are kept in ./in/deep/c.jsonl.rejected; everything else is still there; the old file is ./in/deep/c.jsonl.bak
    2> pisess: 1 repaired, 0 left
    exit 2
    ");
    assert_eq!(s.text("in/deep/c.jsonl"), session(&[]));
    assert_eq!(s.text("in/.hidden/d.jsonl"), session(&["null"]));
    let home = s.path("in").to_string_lossy().into_owned();
    let error = s
        .pisess("check --repair --backup -r ./in")
        .env("HOME", &home)
        .done()
        .fails(2);
    assert_snapshot!(error, @"-r would change every session below ./in, which is the home directory, or above it (hint: list them with -n; name a directory further down, or use --force)");
}

#[test]
fn standard_input_is_checked_and_repaired() {
    let s = Sandbox::new();
    let fused = session(&[&format!("{}{}", user("a", ""), user("b", "a"))]);
    assert_snapshot!(s.pisess("check -").stdin(fused.clone()).done(), @"
    -:2: error: 2 values are on one line [repairable]
        everything on the line is lost to pi
    2> pisess: 1 session checked: 1 error, 0 warnings, 0 notes; 1 repairable (hint: pisess check --repair -o FILE -)
    exit 1
    ");
    let done = s.pisess("check --repair -q -").stdin(fused).done();
    assert_eq!(done.quiet(), session(&[&user("a", ""), &user("b", "a")]));
    // There is no place for the removed bytes.
    let torn = session(&[&user("a", ""), "torn"]);
    assert_snapshot!(s.pisess("check --repair -").stdin(torn).done().fails(2), @"--repair: removed bytes cannot be kept beside standard output (hint: give a path with -o)");
    assert_eq!(s.names(), [""; 0]);
}

/// In every dialect: the repaired file is the one before its lines were joined, so that every
/// command finds each entry again.
#[test]
fn joined_lines_are_separated_in_every_dialect() {
    for name in [
        "v1.jsonl",
        "draft-tree.jsonl",
        "v2.jsonl",
        "tour.jsonl",
        "omp.jsonl",
        "omp-no-slot.jsonl",
        "kinds/pi.jsonl",
        "kinds/omp.jsonl",
    ] {
        let whole = String::from_utf8(fixture(name)).unwrap();
        let lines: Vec<_> = whole.lines().collect();
        // Only one file for each first line of a pair, and one in which all pairs are joined.
        let s = Sandbox::new();
        let pairs: Vec<_> = lines.chunks(2).map(<[&str]>::concat).collect();
        s.put("joined.jsonl", pairs.join("\n") + "\n");
        let done = s
            .pisess("check --repair -q -o ./apart.jsonl ./joined.jsonl")
            .done();
        assert!(done.text().contains("repaired"), "{name}: {done}");
        assert_eq!(s.text("apart.jsonl"), whole, "{name}");
        assert_eq!(s.names(), ["apart.jsonl", "joined.jsonl"], "{name}");
    }
}

/// Migration keeps a line that no agent reads; the repair afterwards gives its entries the places
/// that they had in version 1.
#[test]
fn joined_lines_are_separated_after_a_migration() {
    let whole = String::from_utf8(fixture("v1.jsonl")).unwrap();
    let lines: Vec<_> = whole.lines().collect();
    let s = Sandbox::new();
    s.put("whole.jsonl", &whole);
    s.pisess("migrate -q --backup ./whole.jsonl").done();
    let read = |name: &str| {
        ["tree --no-ids --filter all", "context --as messages"]
            .map(|form| s.run(&format!("{form} ./{name}")))
    };
    let compaction = 6;
    for at in 1..lines.len() - 1 {
        let name = format!("joined-{at}.jsonl");
        let joined = [lines[at], lines[at + 1]].concat();
        let all = [&lines[..at], &[joined.as_str()], &lines[at + 2..]].concat();
        s.put(&name, all.join("\n") + "\n");
        s.pisess(&format!("migrate -q --backup ./{name}")).done();
        assert!(s.text(&name).contains(&joined));
        s.pisess(&format!("check --repair -q -o ./apart-{at}.jsonl ./{name}"))
            .done();
        assert!(!s.names().contains(&format!("apart-{at}.jsonl.rejected")));
        let checked = s.unchanged(&format!("check --json -q ./apart-{at}.jsonl"));
        assert_eq!(kinds(&checked), "", "{at}");
        let [tree, context] = read(&format!("apart-{at}.jsonl"));
        let [whole_tree, whole_context] = read("whole.jsonl");
        let without_kept = |tree: &str| -> Vec<String> {
            let rows = tree.lines().map(|row| row.split("  (kept from ").next());
            rows.map(|row| row.unwrap().to_owned()).collect()
        };
        assert_eq!(without_kept(&tree), without_kept(&whole_tree), "{at}");
        // The agents migrate the number of the first kept entry without the line that they cannot
        // read, if the compaction follows it.
        if at + 1 >= compaction {
            assert_eq!(context, whole_context, "{at}");
            assert!(tree.contains("  (kept from "), "{at}");
        }
    }
}

/// A session in which an extension wrote a message between a tool call and its result.
fn separated() -> String {
    let turn = r#"{"type":"message","id":"a","parentId":"u","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"ls","arguments":{}}],"api":"anthropic-messages","provider":"anthropic","model":"claude-sonnet-4-5","usage":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"toolUse"}}"#;
    let message = r#"{"type":"custom_message","id":"x","parentId":"a","timestamp":"2026-01-01T00:00:01.000Z","customType":"hook","content":"Mind the style.","display":true}"#;
    let result = r#"{"type":"message","id":"r","parentId":"x","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"toolResult","toolCallId":"c1","toolName":"ls","content":[{"type":"text","text":"main.rs"}],"isError":false}}"#;
    session(&[&user("u", ""), turn, message, result, &user("b", "r")])
}

/// The same in version 1 of the format, in which an entry follows the line before it.
fn separated_v1() -> String {
    let mut lines: Vec<String> = separated().lines().map(str::to_owned).collect();
    lines[0] = lines[0].replace(r#""version":3,"#, "");
    for line in &mut lines[1..] {
        for key in ["id", "parentId"] {
            let start = line.find(&format!(r#""{key}":"#)).unwrap();
            let end = start + line[start..].find(',').unwrap();
            line.replace_range(start..=end, "");
        }
    }
    lines.join("\n") + "\n"
}

#[test]
fn a_message_before_a_result_is_repairable_after_a_migration() {
    let s = Sandbox::new();
    s.put("v1.jsonl", separated_v1());
    let context = s.unchanged("context --as anthropic ./v1.jsonl").to_string();
    assert!(
        context.contains("(hint: pisess migrate, then pisess check --repair)"),
        "{context}"
    );
    let check = s.unchanged("check ./v1.jsonl").to_string();
    assert!(
        check.contains("on line 5; `pisess migrate` makes it repairable (entry "),
        "{check}"
    );
    s.pisess("migrate -q ./v1.jsonl").done();
    s.pisess("check --repair -q -o ./apart.jsonl ./v1.jsonl")
        .done();
    let repaired = s.unchanged("context --as anthropic ./apart.jsonl");
    assert!(repaired.text().contains("main.rs"), "{repaired}");
}

#[test]
fn a_message_before_a_result_is_moved_behind_it() {
    let s = Sandbox::new();
    s.put("s.jsonl", separated());
    assert_snapshot!(s.unchanged("check ./s.jsonl"), @r#"
    ./s.jsonl:4: error: the message is between the tool call "c1" and its result, on line 5 (entry x) [repairable]
        the model's provider refuses every later request: a result must follow its call
    2> pisess: 1 session checked: 1 error, 0 warnings, 0 notes; 1 repairable (hint: pisess check --repair -o FILE ./s.jsonl)
    exit 1
    "#);
    assert_snapshot!(s.unchanged("check --repair -n ./s.jsonl"), @r#"
    ./s.jsonl:4: to repair: the message is between the tool call "c1" and its result, on line 5 (entry x)
        the result moves before it: r becomes a child of a, x becomes a child of r, b becomes a child of x
      size  repairs  removed  session
    1.1 kB        1      0 B  ./s.jsonl
    2> pisess: 1 to repair, 0 left
    "#);
    let before = s.unchanged("context --as anthropic ./s.jsonl");
    assert!(before.text().contains("No result provided"), "{before}");
    assert!(!before.text().contains("main.rs"), "{before}");
    assert!(
        before.to_string().contains("2> pisess: note: 1 tool result is left out, because a message is between the call and its result (hint: pisess check --repair)"),
        "{before}"
    );

    s.pisess("check --repair -q -o ./apart.jsonl ./s.jsonl")
        .done();
    assert_eq!(s.names(), ["apart.jsonl", "s.jsonl"]);
    let after = s.run("context --as anthropic ./apart.jsonl");
    assert!(!after.contains("No result provided"), "{after}");
    assert!(after.contains("main.rs"), "{after}");
    assert_eq!(s.run("path --ids ./apart.jsonl"), "u\na\nr\nx\nb\n");
}

/// An agent whose file was removed appends to a new one, which has no header.
#[test]
fn a_missing_header_is_rebuilt_from_name_and_folder() {
    let s = Sandbox::new();
    let name = "2026-03-14T09-26-53-589Z_3b9f6f1e.jsonl";
    let entries = format!("{}\n{}\n", user("a", ""), user("b", "a"));
    let header = |cwd: &str| {
        format!(
            r#"{{"type":"session","version":3,"id":"3b9f6f1e","timestamp":"2026-03-14T09:26:53.589Z"{cwd}}}"#
        )
    };
    // The name of the folder is all that is known.
    let folder = "--no-such-place-garden--";
    s.put(&format!("{folder}/{name}"), &entries);
    let unread = s.unchanged(&format!("tree ./{folder}/{name}")).fails(2);
    assert!(unread.contains("not a session"), "{unread}");
    assert_snapshot!(s.unchanged(&format!("check -q ./{folder}/{name}")), @"
    ./--no-such-place-garden--/2026-03-14T09-26-53-589Z_3b9f6f1e.jsonl:1: error: the file has no session header [repairable]
        no agent opens the session
    exit 1
    ");
    assert_snapshot!(s.pisess(&format!("check --repair -o ./copy.jsonl ./{folder}/{name}")).done(), @r#"
    ./--no-such-place-garden--/2026-03-14T09-26-53-589Z_3b9f6f1e.jsonl:1: repaired: the file has no session header
        it gets one: the id "3b9f6f1e" from the file's name, the time from the file's name, the directory "/no/such/place/garden" from the name of its folder, where "-" may be another character
    2> pisess: nothing was removed from the session
    2> pisess: 1 repaired, 0 left
    "#);
    assert_eq!(
        s.text("copy.jsonl"),
        format!("{}\n{entries}", header(r#","cwd":"/no/such/place/garden""#))
    );
    assert_eq!(s.text(&format!("{folder}/{name}")), entries);
    assert_eq!(s.run("path --ids ./copy.jsonl"), "a\nb\n");

    // Another session of the project knows it better, and the option best.
    let other =
        session(&[&user("a", "")]).replace("\"cwd\":\"/\"", "\"cwd\":\"/no/such/place-garden\"");
    s.put(&format!("{folder}/other.jsonl"), other);
    s.pisess(&format!(
        "check --repair -o ./sibling.jsonl ./{folder}/{name}"
    ))
    .done();
    assert!(
        s.text("sibling.jsonl")
            .starts_with(&header(r#","cwd":"/no/such/place-garden""#))
    );
    s.pisess(&format!(
        "check --repair --cwd /mine -o ./given.jsonl ./{folder}/{name}"
    ))
    .done();
    assert!(
        s.text("given.jsonl")
            .starts_with(&header(r#","cwd":"/mine""#))
    );

    // A directory that exists.
    s.put("my-garden/file", "");
    let project = s.path("my-garden").to_string_lossy().into_owned();
    let folder = format!("--{}--", project.trim_start_matches('/').replace('/', "-"));
    s.put(&format!("{folder}/{name}"), &entries);
    s.pisess(&format!("check --repair -q --backup ./{folder}/{name}"))
        .done();
    let repaired = s.text(&format!("{folder}/{name}"));
    // The sandbox shows its own path as a point.
    assert!(
        repaired.starts_with(&header(r#","cwd":"./my-garden""#)),
        "{repaired}"
    );
    assert_eq!(s.text(&format!("{folder}/{name}.bak")), entries);

    // Nothing is known of the directory, and of a stream nothing at all.
    s.put(&format!("plain/{name}"), &entries);
    s.pisess(&format!("check --repair -q -o ./none.jsonl ./plain/{name}"))
        .done();
    assert_eq!(s.text("none.jsonl"), format!("{}\n{entries}", header("")));
    let piped = s.pisess("check --repair -").stdin(entries).done();
    assert_eq!(piped.code, 2, "{piped}");
}

#[test]
fn check_names_a_copy_that_has_nothing_of_its_own() {
    let s = Sandbox::new();
    let hint = || {
        let stderr = s.unchanged("check ./in").stderr;
        let (_, from_hint) = stderr.split_once("(hint: ").unwrap();
        from_hint.split_once(')').unwrap().0.to_owned()
    };
    let start = session(&[&user("a", "")]);
    let grown = session(&[&user("a", ""), &user("b", "a")]);
    s.put("in/a.jsonl", &*start);
    s.put("in/b.jsonl", &*grown);
    let a_is_redundant = "./in/b.jsonl has all of ./in/a.jsonl, which can be deleted";
    assert_eq!(hint(), a_is_redundant);

    s.put("in/a.jsonl", &*grown);
    s.put("in/b.jsonl", &*start);
    let b_is_redundant = "./in/a.jsonl has all of ./in/b.jsonl, which can be deleted";
    assert_eq!(hint(), b_is_redundant);
    // Of equal copies, the second is named.
    s.put("in/b.jsonl", &*grown);
    assert_eq!(hint(), b_is_redundant);

    let other = session(&[&user("a", ""), &user("c", "a")]);
    s.put("in/b.jsonl", &*other);
    assert_eq!(hint(), "`pisess join` makes one session of two");
}

#[test]
fn a_header_of_another_session_is_noted() {
    let s = Sandbox::new();
    s.put(
        "2026-03-14T09-26-53-589Z_t.jsonl",
        session(&[&user("a", "")]),
    );
    s.put(
        "2026-03-14T09-26-53-589Z_s.jsonl",
        session(&[&user("a", "")]),
    );
    assert_snapshot!(s.unchanged("check ."), @r#"
    ./2026-03-14T09-26-53-589Z_t.jsonl:1: note: the session's id "s" is not the one in the file's name
        the agents use the id in the header
    2> pisess: note: 2 copies of the session s: ./2026-03-14T09-26-53-589Z_s.jsonl, ./2026-03-14T09-26-53-589Z_t.jsonl (hint: ./2026-03-14T09-26-53-589Z_s.jsonl has all of ./2026-03-14T09-26-53-589Z_t.jsonl, which can be deleted)
    2> pisess: 2 sessions checked: 0 errors, 0 warnings, 1 note
    "#);
}

#[test]
fn repairs_into_another_file() {
    let s = Sandbox::new();
    s.put("s.jsonl", damaged());
    assert_snapshot!(s.pisess("check --repair -o ./out.jsonl ./s.jsonl").done(), @r#"
    ./s.jsonl:2: repaired: the entry on line 5 has the same id (entry aaaa0001)
        it gets the id 53be4503
    ./s.jsonl:3: repaired: an entry and 90 other bytes are on one line
        entries are put on separate lines, the rest is removed
    ./s.jsonl:3: repaired: its parent "aaaa0002" is on a line that is not an entry; 1 entry is cut off (entry aaaa0003)
        it becomes a child of aaaa0001
    ./s.jsonl:4: repaired: the line is null
        it is removed
    ./s.jsonl:5: repaired: the entry is its own parent (entry aaaa0004)
        it becomes a root
    ./s.jsonl:7: warning: its parent "gone" is not in the file; 4 entries are cut off (entry aaaa0005)
        the session opens incomplete: the path ends here, and earlier entries are not seen
    ./s.jsonl:8: repaired: the last line is incomplete: its write was interrupted
        it is removed
    2> pisess: 107 B that are no longer in the session are kept in ./out.jsonl.rejected; everything else is still there
    2> pisess: 6 repaired, 1 left
    exit 1
    "#);
    assert_eq!(s.names(), ["out.jsonl", "out.jsonl.rejected", "s.jsonl"]);
    assert_eq!(s.text("s.jsonl"), damaged());
    assert_snapshot!(s.text("out.jsonl"), @r#"
    {"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}
    {"type":"message","id":"53be4503","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"said aaaa0001"}}
    {"type":"message","id":"aaaa0003","parentId":"aaaa0001","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"said aaaa0003"}}
    {"type":"message","id":"aaaa0004","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"said aaaa0004"}}
    {"type":"message","id":"aaaa0001","parentId":"aaaa0004","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"said aaaa0001"}}
    {"type":"message","id":"aaaa0005","parentId":"gone","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"said aaaa0005"}}
    "#);
    assert_snapshot!(s.text("out.jsonl.rejected"), @r#"
    {"type":"message","id":"aaaa0002","parentId":"aaaa0001","timestamp":"2026-01-01T00:00:01.0
    null
    {"type":"mess
    "#);
    assert_snapshot!(s.unchanged("check ./out.jsonl"), @r#"
    ./out.jsonl:3: note: its parent is after it, on line 5 (entry aaaa0003)
        the agents read it
    ./out.jsonl:4: note: the conversation has 2 root entries (entry aaaa0004)
        each starts a conversation of its own
    ./out.jsonl:6: warning: its parent "gone" is not in the file; 4 entries are cut off (entry aaaa0005)
        the session opens incomplete: the path ends here, and earlier entries are not seen
    2> pisess: 1 session checked: 0 errors, 1 warning, 2 notes
    exit 1
    "#);
}

#[test]
fn repair_backup_never_overwrites_a_rejected_file() {
    let s = Sandbox::new();
    s.put("s.jsonl", session(&["one"]));
    s.put("s.jsonl.rejected", "mine");
    s.put("s.jsonl.rejected.1", "mine too");
    s.pisess("check --repair --backup ./s.jsonl").done();
    assert_eq!(s.text("s.jsonl"), session(&[]));
    assert_eq!(s.text("s.jsonl.bak"), session(&["one"]));
    assert_eq!(s.text("s.jsonl.rejected"), "mine");
    assert_eq!(s.text("s.jsonl.rejected.1"), "mine too");
    assert_eq!(s.text("s.jsonl.rejected.2"), "one\n");
}

#[test]
fn in_place_only_with_a_backup() {
    let s = Sandbox::new();
    s.put("s.jsonl", session(&[&user("a", "a")]));
    assert_snapshot!(s.unchanged("check --repair ./s.jsonl").fails(2), @"--repair requires -o or --backup (hint: `pisess check --repair --backup ./s.jsonl` keeps the old file beside the session; -o FILE writes a new file instead)");
    s.put("s.jsonl.old", "mine");
    assert_snapshot!(s.unchanged("check --repair --backup=.old ./s.jsonl").fails(2), @"cannot back up to ./s.jsonl.old: it already exists (hint: choose another suffix with --backup=SUFFIX)");
    assert_snapshot!(s.pisess("check --repair --backup ./s.jsonl").done(), @r"
    ./s.jsonl:2: repaired: the entry is its own parent (entry a)
        it becomes a root
    2> pisess: nothing was removed from the session; the old file is ./s.jsonl.bak
    2> pisess: 1 repaired, 0 left
    ");
    assert_eq!(s.text("s.jsonl"), session(&[&user("a", "")]));
    assert_eq!(s.text("s.jsonl.bak"), session(&[&user("a", "a")]));
    // There is nothing left to repair, so no second backup is made or required.
    assert_snapshot!(s.unchanged("check --repair --backup ./s.jsonl"), @"2> pisess: 0 repaired, 0 left");
}

#[test]
fn a_dry_run_changes_nothing() {
    let s = Sandbox::new();
    s.put("s.jsonl", session(&[&user("a", "a"), "{torn off"]));
    assert_snapshot!(s.unchanged("check --repair -n ./s.jsonl"), @"
    ./s.jsonl:2: to repair: the entry is its own parent (entry a)
        it becomes a root
    ./s.jsonl:3: to repair: the line is not JSON
        it is removed
        the line has: {torn
     size  repairs  removed  session
    226 B        2      9 B  ./s.jsonl
    2> pisess: 2 to repair, 0 left
    ");
}

#[test]
fn repair_output_refuses_an_existing_file_and_several_sessions() {
    let s = Sandbox::new();
    s.put("s.jsonl", session(&["torn"]));
    s.put("there.jsonl", "mine");
    assert_snapshot!(s.unchanged("check --repair -o ./there.jsonl ./s.jsonl").fails(2), @"cannot create ./there.jsonl: it already exists (hint: choose another name, or overwrite it with --force)");
    assert_snapshot!(s.unchanged("check --repair -o ./s.jsonl ./s.jsonl").fails(2), @"cannot write ./s.jsonl: it is the input itself (hint: give another path with -o)");
    assert_snapshot!(s.unchanged("check --repair -o ./x.jsonl ./s.jsonl ./there.jsonl").fails(2), @"--repair with -o or - takes only one session (hint: --backup repairs any number of sessions in place)");
    assert_snapshot!(s.unchanged("check -o ./x.jsonl ./s.jsonl").fails(2), @"-o requires --repair (hint: to save the findings, redirect standard output)");
    assert_snapshot!(s.unchanged("check --repair -o ./x.jsonl ./there.jsonl").fails(2), @r#"./there.jsonl: no session header (hint: a session of pi or oh-my-pi starts with {"type":"session","id":…})"#);
}

#[test]
fn nothing_of_a_session_acts_on_a_terminal() {
    let s = Sandbox::new();
    let hostile = r#"{"type":"\u001b[31m\u202e","id":"\u001b]0;x\u0007","parentId":"\r\u009b","timestamp":"2026-01-01T00:00:01.000Z"}"#;
    s.put("s\u{1b}[2J.jsonl", session(&[hostile]));
    let done = s.unchanged("check .");
    let said = format!("{}{}", done.text(), done.stderr);
    assert!(
        !said
            .chars()
            .any(|c| (c.is_control() && c != '\n') || c == '\u{202e}'),
        "{said:?}"
    );
    assert!(said.contains("\\u{1b}") || said.contains('␛'), "{said}");
}

#[test]
fn every_hazard_is_told() {
    let s = Sandbox::new();
    let mut told = String::new();
    for name in hazards() {
        s.put("h.jsonl", fixture(&format!("hazards/{name}.jsonl")));
        let done = s.unchanged("check --json ./h.jsonl");
        let what = if done.code == 2 {
            done.stderr.trim_end().to_owned()
        } else {
            kinds(&done)
        };
        told += &format!("{name}: {} {what}\n", done.code);
    }
    assert_snapshot!(told, @r#"
    blank: 2 {"error":{"kind":"session","message":"./h.jsonl: no session header","path":"./h.jsonl","line":null,"hint":"a session of pi or oh-my-pi starts with {\"type\":\"session\",\"id\":…}","exit":2}}
    blank-lines: 0 
    byte-order-mark: 1 1 error byte-order-mark*
    cr-only: 1 1 error fused-line*
    crlf: 0 
    cycle-of-two: 1 3 error parent-cycle*, 4 error parent-cycle*
    cycle-off-path: 1 2 warning parent-cycle*, 3 warning parent-cycle*
    duplicate-id: 1 3 warning duplicate-id*, 4 note forward-parent, 4 note time-runs-backwards
    duplicate-id-cycle: 1 2 error duplicate-id*, 3 error parent-cycle*, 4 error parent-cycle*
    duplicate-keys-v2: 0 1 note old-version
    empty: 2 {"error":{"kind":"session","message":"./h.jsonl: the file is empty","path":"./h.jsonl","line":null,"hint":"an agent writes the header with the first message","exit":2}}
    empty-header-id: 0 
    empty-parent: 1 3 warning several-roots
    forward-parent: 0 3 note forward-parent
    fused-lines: 1 3 error fused-line*
    garbage-then-header: 1 1 error malformed-line*
    header-only: 0 
    header-second: 1 1 error missing-header*
    hostile-text: 1 2 warning bad-timestamp, 7 note unknown-role, 8 note unknown-type, 15 warning bad-timestamp
    ids-of-any-kind: 0 
    invalid-utf8: 1 4 warning invalid-utf8*
    invalid-utf8-v2: 1 1 note old-version, 2 warning invalid-utf8*, 3 warning invalid-utf8*
    kept-itself: 0 
    kept-label: 0 
    kept-missing: 1 6 warning kept-entry-unknown
    kept-unknown: 1 6 warning kept-entry-unknown
    label-as-parent: 0 5 note time-runs-backwards
    label-cleared: 0 
    label-on-nothing: 0 4 note label-on-nothing
    line-separators: 0 
    lone-surrogate: 0 
    lone-surrogate-v2: 0 1 note old-version
    malformed-v2: 1 1 note old-version, 3 error malformed-line*, 4 warning missing-parent*
    malformed-v3: 1 3 error malformed-line*, 4 warning missing-parent*
    message-without-content: 1 3 note no-content*, 4 note no-content, 5 error no-message*
    missing-id: 1 4 warning missing-id*
    missing-id-last: 1 4 error missing-id*
    no-final-newline: 1 5 warning no-final-newline*
    no-header: 1 1 error missing-header*
    nul-bytes: 1 4 note time-runs-backwards, 5 error nul-bytes*
    null-and-scalars: 1 4 warning null-line*, 5 warning not-an-entry*, 6 warning not-an-entry*, 7 warning not-an-entry*, 8 warning not-an-entry*
    numbers-v2: 0 1 note old-version
    numeric-header-id: 2 {"error":{"kind":"session","message":"./h.jsonl:1: the session header has no id","path":"./h.jsonl","line":1,"hint":"a session of pi or oh-my-pi starts with {\"type\":\"session\",\"id\":…}","exit":2}}
    orphan: 1 4 warning missing-parent*
    pretty-printed: 2 {"error":{"kind":"session","message":"./h.jsonl:8: not a session: this value is not a session header","path":"./h.jsonl","line":8,"hint":"a session of pi or oh-my-pi starts with {\"type\":\"session\",\"id\":…}","exit":2}}
    same-timestamps: 0 5 note time-runs-backwards
    second-header-last: 1 6 warning second-header*
    self-parent: 1 3 error self-parent*
    string-version: 0 1 note odd-version*
    title-slot-alone: 2 {"error":{"kind":"session","message":"./h.jsonl: a title line without a session header","path":"./h.jsonl","line":null,"hint":"a session of pi or oh-my-pi starts with {\"type\":\"session\",\"id\":…}","exit":2}}
    title-slot-too-short: 1 1 error title-width*
    torn-tail: 1 5 error torn-tail*
    trailing-leaf-record: 0 6 note leaf-record
    two-headers: 1 4 warning second-header*
    unknown-type: 0 4 note unknown-type
    version-99: 2 {"error":{"kind":"session","message":"./h.jsonl:1: format version 99 is newer than pisess supports","path":"./h.jsonl","line":1,"hint":"pisess supports version 3 and older, which the coding agents write","exit":2}}
    "#);
}

#[test]
fn every_hazard_is_repaired_once_and_for_all() {
    for name in hazards() {
        let s = Sandbox::new();
        let bytes = fixture(&format!("hazards/{name}.jsonl"));
        s.put("h.jsonl", &bytes);
        let code = s
            .pisess("check --repair -o ./once.jsonl ./h.jsonl")
            .done()
            .code;
        assert_eq!(s.bytes("h.jsonl"), bytes, "{name}");
        if code == 2 {
            assert_eq!(s.names(), ["h.jsonl"], "{name}");
            continue;
        }
        let checked = s.unchanged("check --json ./once.jsonl");
        assert_eq!(
            checked.code, code,
            "{name}: the exit code is that of a check of the result"
        );
        assert!(
            !kinds(&checked).contains('*'),
            "{name}: {}",
            kinds(&checked)
        );
        s.pisess("check --repair -o ./twice.jsonl ./once.jsonl")
            .done();
        assert_eq!(s.bytes("twice.jsonl"), s.bytes("once.jsonl"), "{name}");
        assert!(
            !s.names().contains(&"twice.jsonl.rejected".to_owned()),
            "{name}"
        );
        s.unchanged("tree ./once.jsonl");
    }
}

/// A repair that cannot be written leaves nothing behind, not even the removed bytes.
#[test]
fn a_repair_that_fails_changes_nothing() {
    let s = Sandbox::new();
    s.put("s.jsonl", session(&["torn"]));
    std::fs::hard_link(s.path("s.jsonl"), s.path("other.jsonl")).unwrap();
    s.unchanged("check --repair --backup ./s.jsonl").fails(2);
    std::fs::remove_file(s.path("other.jsonl")).unwrap();
    s.put("s.jsonl.bak", "mine");
    s.unchanged("check --repair --backup ./s.jsonl").fails(2);
    std::fs::remove_file(s.path("s.jsonl.bak")).unwrap();
    let held = std::fs::File::open(s.path("s.jsonl")).unwrap();
    held.lock().unwrap();
    s.unchanged("check --repair --backup --wait 0 ./s.jsonl")
        .fails(3);
}

/// A title line of the right width may still run into the next line.
#[test]
fn a_title_line_of_the_right_width_is_not_called_too_wide() {
    let s = Sandbox::with(&["hazards/title-slot-too-short.jsonl"]);
    s.pisess("check --repair -q ./title-slot-too-short.jsonl -o ./right.jsonl")
        .done();
    let right = s.text("right.jsonl");
    assert_eq!(right.find('\n'), Some(255));
    s.put("wrong.jsonl", right.replacen('\n', "", 1));
    let said = s.pisess("check ./wrong.jsonl").done().to_string();
    assert!(
        said.contains("the title line has no newline of its own"),
        "{said}"
    );
}

#[test]
fn above_many_findings_the_path_is_printed_once() {
    let s = Sandbox::new();
    let lines = |many: usize| {
        (0..many)
            .map(|at| user(&format!("u{at}"), &format!("gone{at}")))
            .collect::<Vec<_>>()
    };
    for (many, paths) in [(8, 8), (9, 1)] {
        let lines = lines(many);
        s.put(
            "s.jsonl",
            session(&lines.iter().map(String::as_str).collect::<Vec<_>>()),
        );
        let text = s.unchanged("check -q ./s.jsonl").text();
        assert_eq!(text.matches("./s.jsonl:").count(), paths, "{text}");
        // Each finding has a line for its consequence.
        assert_eq!(
            text.lines().count(),
            if many == paths {
                2 * many
            } else {
                2 * many + 1
            },
            "{text}"
        );
    }
    let text = s.unchanged("check -q ./s.jsonl").text();
    assert_snapshot!(text.lines().take(3).collect::<Vec<_>>().join("\n"), @r#"
    ./s.jsonl:
      2: warning: its parent "gone0" is not in the file; 1 entry is cut off (entry u0)
        the tree shows the entry as another root
    "#);
    assert_eq!(
        s.unchanged("check -q --json ./s.jsonl")
            .text()
            .matches(r#""path":"./s.jsonl""#)
            .count(),
        9
    );
}

/// Another place of the session shows that a text of a damaged line is a secret.
#[test]
fn a_damaged_line_is_quoted_without_the_secrets_of_the_session() {
    let s = Sandbox::new();
    let names = r#"{"type":"message","id":"u1","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"DB_PASSWORD=kX8vQ2mWz7LrT4"}}"#;
    let torn =
        r#"{"type":"message","message":{"role":"user","content":"kX8vQ2mWz7LrT4 does not work"}"#;
    s.put("s.jsonl", session(&[names, torn]));
    let done = s.unchanged("check -q ./s.jsonl").text();
    assert!(!done.contains("kX8v"), "{done}");
    assert!(
        done.contains("the line has: (not quoted, because it has a secret)\n"),
        "{done}"
    );
    // Without that place, nothing shows it.
    s.put("s.jsonl", session(&[&user("u1", ""), torn]));
    let done = s.unchanged("check -q ./s.jsonl").text();
    assert!(
        done.contains("the line has: user: kX8vQ2mWz7LrT4 does not work\n"),
        "{done}"
    );
}

/// Equal findings share a line, which has the texts of the first.
#[test]
fn of_many_damaged_lines_the_first_are_quoted() {
    let s = Sandbox::new();
    let torn = |text: &str| format!(r#"{{"type":"message","message":{{"content":"{text}"}}"#);
    let torn = ["one tide", "two tides", "", "three tides", "four tides"].map(torn);
    s.put("s.jsonl", session(&torn.each_ref().map(String::as_str)));
    assert_snapshot!(s.unchanged("check -q ./s.jsonl"), @"
    ./s.jsonl:2: error: the line is not JSON (5 entries, lines 2-6) [repairable]
        its content is lost to pi, and the session opens incomplete if it has children
        line 2 has: one tide
        line 3 has: two tides
        line 5 has: three tides
    exit 1
    ");
}

/// A session with an error, a warning and a note, which a repair leaves.
fn with_every_severity() -> String {
    let unknown =
        r#"{"type":"oddity","id":"u3","parentId":"u2","timestamp":"2026-01-01T00:00:05.000Z"}"#;
    session(&[&user("u1", ""), "{torn off", &user("u2", "gone"), unknown])
}

#[test]
fn on_a_terminal_sessions_are_headings_and_findings_rows() {
    let s = Sandbox::new();
    s.put("in/a.jsonl", with_every_severity());
    s.put("in/b.jsonl", session(&[&user("a", "")]));
    let run = |line: &str, width| {
        let line = format!("{line} --color never");
        s.pisess(&line).terminal(width).done().to_string()
    };
    assert_snapshot!(run("check ./in", 80), @r#"
    ./in/a.jsonl
      3  error*    the line is not JSON
                   the line has: {torn
      4  warning*  its parent "gone" is on a line that is not an entry;… (entry u2)
    2> pisess: note: 2 copies of the session s: ./in/a.jsonl…
    2> pisess: 2 sessions checked: 1 error, 1 warning, 1 note (-v lists notes); 2 repairable, marked * (hint: pisess check --repair --backup ./in/a.jsonl)
    exit 1
    "#);
    assert_snapshot!(run("check -v ./in", 120), @r#"
    ./in/a.jsonl
      3  error*    the line is not JSON
                   its content is lost to pi, and the session opens incomplete if it has children
                   the line has: {torn
      4  warning*  its parent "gone" is on a line that is not an entry; 1 entry is cut off (entry u2)
                   the session opens incomplete: the path ends here, and earlier entries are not seen
      5  note      unknown type "oddity" (entry u3)
                   the agents keep it and show an empty row
    2> pisess: note: 2 copies of the session s: ./in/a.jsonl… (hint: `pisess join` makes one session of two)
    2> pisess: 2 sessions checked: 1 error, 1 warning, 1 note; 2 repairable, marked * (hint: pisess check --repair --backup ./in/a.jsonl)
    exit 1
    "#);
    // The consequences of a single session's findings are printed.
    let single = run("check ./in/a.jsonl", 50);
    assert!(
        single.contains("its content is lost to pi, and the\n"),
        "{single}"
    );
    assert!(!single.contains("oddity"), "{single}");
    let rows = run("check ./in", 60);
    for line in rows.lines().take(3) {
        assert!(line.chars().count() <= 60, "{line}");
    }
}

/// `-q` leaves out notes, in a pipe and on a terminal, and nothing else of the findings.
#[test]
fn quiet_hides_notes() {
    let s = Sandbox::new();
    s.put("s.jsonl", with_every_severity());
    let whole = s.unchanged("check ./s.jsonl");
    let quiet = s.unchanged("check -q ./s.jsonl");
    assert_eq!(quiet.code, whole.code);
    assert!(quiet.stderr.is_empty(), "{quiet}");
    assert!(whole.text().contains(": note: "), "{whole}");
    let (shown, hidden): (Vec<String>, Vec<String>) = {
        let text = quiet.text();
        let lines = text.lines().map(str::to_owned);
        lines.partition(|line| !line.contains(": note: "))
    };
    assert!(hidden.is_empty(), "{hidden:?}");
    for line in &shown {
        assert!(whole.text().contains(line.as_str()), "{line}");
    }
    let on_terminal = s.pisess("check -q -v ./s.jsonl").terminal(80).done().text();
    assert!(on_terminal.contains("error"), "{on_terminal}");
    assert!(!on_terminal.contains("note"), "{on_terminal}");
}

/// What a damaged line is called does not depend on the command.
#[test]
fn a_damaged_line_is_worded_alike() {
    let s = Sandbox::new();
    s.put("s.jsonl", with_every_severity());
    for line in [
        "tree ./s.jsonl",
        "path ./s.jsonl",
        "show ./s.jsonl",
        "branches ./s.jsonl",
        "context ./s.jsonl",
        "export -o - ./s.jsonl",
        "stats ./s.jsonl",
        "grep torn ./s.jsonl",
        "label ./s.jsonl",
        "prune -n ./s.jsonl",
    ] {
        let done = s.unchanged(line);
        let note = done
            .stderr
            .lines()
            .find(|line| line.contains("is not JSON"));
        let note = note.unwrap_or_else(|| panic!("{line}: {done}"));
        assert!(
            note.starts_with("pisess: note: ./s.jsonl: line 3 is not JSON"),
            "{line}: {note}"
        );
        assert_eq!(note.matches("s.jsonl").count(), 1, "{line}: {note}");
        let quiet = s.unchanged(&format!("{line} -q"));
        assert!(quiet.stderr.is_empty(), "{line}: {quiet}");
    }
    let findings = s.unchanged("check ./s.jsonl").text();
    assert!(
        findings.contains(":3: error: the line is not JSON"),
        "{findings}"
    );
}

/// A line that was cut short, and then written again as a whole, is no loss.
#[test]
fn a_line_that_was_written_again_is_not_lost() {
    let s = Sandbox::new();
    let whole = user("aaaa0002", "aaaa0001");
    let lines = [&user("aaaa0001", "")[..], &whole[..110], &whole];
    s.put("s.jsonl", session(&lines));
    assert_snapshot!(s.unchanged("check ./s.jsonl"), @"
    ./s.jsonl:3: warning: the line is cut short; line 4 has the same entry whole (entry aaaa0002) [repairable]
        nothing is lost: a repair removes only the incomplete line
    2> pisess: 1 session checked: 0 errors, 1 warning, 0 notes; 1 repairable (hint: pisess check --repair -o FILE ./s.jsonl)
    exit 1
    ");
    assert_snapshot!(s.pisess("check --repair --backup ./s.jsonl").done(), @"
    ./s.jsonl:3: repaired: the line is cut short; line 4 has the same entry whole (entry aaaa0002)
        it is removed
    2> pisess: 110 B that are no longer in the session are kept in ./s.jsonl.rejected; everything else is still there; the old file is ./s.jsonl.bak
    2> pisess: 1 repaired, 0 left
    ");
    assert_eq!(s.text("s.jsonl"), session(&[lines[0], lines[2]]));

    // Another content of the entry is lost.
    let other = whole.replace("said", "sang");
    s.put(
        "other.jsonl",
        session(&[lines[0], &other[..other.len() - 5], &whole]),
    );
    assert!(
        s.unchanged("check ./other.jsonl")
            .text()
            .contains("error: the line is not JSON")
    );
}

/// Another entry with the same id may follow the one that was written again.
#[test]
fn a_line_that_was_written_again_is_compared_with_the_next_one() {
    let s = Sandbox::new();
    let whole = user("aaaa0002", "aaaa0001");
    let other = whole.replace("said", "sang");
    let lines = [&user("aaaa0001", "")[..], &whole[..110], &whole, &other];
    s.put("s.jsonl", session(&lines));
    let findings = s.unchanged("check ./s.jsonl").text();
    assert!(
        findings.contains(":3: warning: the line is cut short; line 4 has the same entry whole"),
        "{findings}"
    );
}

/// An older pi appends the next entry to a line that has no newline.
#[test]
fn a_torn_last_line_whose_entry_is_whole_is_still_an_error() {
    let s = Sandbox::new();
    let whole = user("aaaa0002", "aaaa0001");
    let lines = session(&[&user("aaaa0001", "")[..], &whole]);
    s.put("s.jsonl", lines + &whole[..110]);
    assert_snapshot!(s.unchanged("check ./s.jsonl"), @"
    ./s.jsonl:4: error: the line is cut short; line 3 has the same entry whole (entry aaaa0002) [repairable]
        its content is lost; an older pi also loses the next message, which it appends to this line
    2> pisess: 1 session checked: 1 error, 0 warnings, 0 notes; 1 repairable (hint: pisess check --repair -o FILE ./s.jsonl)
    exit 1
    ");
}
