//! `pisess diff`: two paths, or two sessions.

use crate::sandbox::{Sandbox, fixture, session, user};
use insta::assert_snapshot;

/// A reply that only calls a tool has no row beside that of the result.
#[test]
fn a_call_and_its_result_are_one_row() {
    let s = Sandbox::with(&["tour.jsonl"]);
    let done = s.pisess("diff ./tour.jsonl 27d4c96f 9e04b3d8").done();
    assert_snapshot!(done.text(), @r#"
    --- ./tour.jsonl 27d4c96f · 8 entries, 3 only here
    +++ ./tour.jsonl 9e04b3d8 · 5 entries, all also on the other side
      0d9a6c31  user: The 00:10 ferry shows up as "left 23 h ago" when I ask at 23:50. Can you find out why?
      9e04b3d8  grep: /fn departs_in/ in src
    - e8830b5a  read: src/clock.rs:35-64
    - 27d4c96f  [cause found] assistant: `departs_in` subtracts minutes of the day, so across midnight the result is negative: 10 - 1430 = -1420 minutes, printed as "left 23 h ago". The timetable has no dates, only times.
    "#);
}

#[test]
fn diff_of_one_session_needs_an_abandoned_branch() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let first_entries: Vec<String> = s
        .text("two-branches.jsonl")
        .lines()
        .take(4)
        .map(|line| format!("{line}\n"))
        .collect();
    s.put("one-branch.jsonl", first_entries.concat());
    assert_snapshot!(s.unchanged("diff ./one-branch.jsonl").fails(2), @"./one-branch.jsonl: the session has no abandoned branch, and no copy in the stores (hint: give another session, or two entries, as in `pisess diff last @~3 @`)");
    // A line whose id a later line has can be named by no id.
    let repeated = session(&[
        user("aaaa0001", None, "Which paper?"),
        user("aaaa0002", Some("aaaa0001"), "Silk"),
        user("aaaa0002", Some("aaaa0001"), "Washi"),
    ]);
    s.put("repeated.jsonl", repeated);
    s.unchanged("diff -q ./repeated.jsonl").fails(2);

    // A third branch, which becomes the current one.
    s.run("append -q --at 1a2b3c02 --user 'Or silk?' ./two-branches.jsonl");
    let newest = s.pisess("diff --stat ./two-branches.jsonl").done();
    assert_eq!(newest.code, 1);
    assert_eq!(
        newest.stderr,
        "pisess: note: the newest of 2 abandoned branches is compared (hint: `pisess branches` lists all; give two entries)\n"
    );
}

#[test]
fn two_branches_from_where_they_part() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let done = s.unchanged("diff ./two-branches.jsonl 1a2b3c05 @");
    assert_eq!(done.code, 1);
    assert_snapshot!(done.text(), @"
    --- ./two-branches.jsonl 1a2b3c05 · 5 entries, 2 only here
    +++ ./two-branches.jsonl @ · 5 entries, 2 only here
      1a2b3c01  [start] user: Which paper for a kite?
      1a2b3c03  label: start
    - 1a2b3c04  user: Tissue paper then. How big?
    - 1a2b3c05  assistant: Half a metre; larger ones tear.
    + 1a2b3c06  user: Washi then. How big?
    + 1a2b3c07  assistant: A metre and more, with a bamboo spar.
    ");
    // Without entries, the newest abandoned branch is compared with the current conversation.
    let newest = s.unchanged("diff ./two-branches.jsonl");
    assert_eq!((newest.code, newest.stderr.as_str()), (1, ""));
    assert_eq!(newest.text(), done.text());
    assert_snapshot!(s.unchanged("diff --stat ./two-branches.jsonl 1a2b3c05 1a2b3c07").text(), @"3 entries in common, 2 entries (-), 2 entries (+)");
    assert_snapshot!(s.unchanged("diff --json ./two-branches.jsonl 1a2b3c05 :8").text(), @r#"
    {"commonAncestorId":"1a2b3c03","onlyLeft":["1a2b3c04","1a2b3c05"],"onlyRight":["1a2b3c06","1a2b3c07"],"changed":[]}
    "#);
    assert_snapshot!(s.unchanged("diff --json ./two-branches.jsonl root :5").text(), @r#"
    {"commonAncestorId":null,"onlyLeft":[],"onlyRight":["1a2b3c01","1a2b3c02","1a2b3c03","1a2b3c04"],"changed":[]}
    "#);
    assert_snapshot!(s.unchanged("diff ./two-branches.jsonl @ @^").text(), @"
    --- ./two-branches.jsonl @ · 5 entries, 1 only here
    +++ ./two-branches.jsonl @^ · 4 entries, all also on the other side
      1a2b3c06  user: Washi then. How big?
    - 1a2b3c07  assistant: A metre and more, with a bamboo spar.
    ");
}

#[test]
fn nothing_is_printed_where_nothing_differs() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    for form in ["", "--context"] {
        assert_eq!(s.run(&format!("diff {form} ./two-branches.jsonl @ @")), "");
        assert_eq!(
            s.run(&format!(
                "diff {form} ./two-branches.jsonl ./two-branches.jsonl"
            )),
            ""
        );
    }
    assert_snapshot!(s.run("diff --json ./two-branches.jsonl @ :8"), @r#"
    {"commonAncestorId":"1a2b3c07","onlyLeft":[],"onlyRight":[],"changed":[]}
    "#);
    assert_snapshot!(s.run("diff --stat ./two-branches.jsonl ./two-branches.jsonl"), @"
    5 entries in common, 0 entries (-), 0 entries (+)
    ");
}

#[test]
fn the_context_is_a_unified_diff() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let done = s.unchanged("diff --context ./two-branches.jsonl 1a2b3c05 @");
    assert_eq!(done.code, 1);
    assert_snapshot!(done.text(), @"
    --- ./two-branches.jsonl 1a2b3c05
    +++ ./two-branches.jsonl @
    @@ -3,6 +3,6 @@
     assistant
         Tissue paper is light, washi is strong.
     user
    -    Tissue paper then. How big?
    +    Washi then. How big?
     assistant
    -    Half a metre; larger ones tear.
    +    A metre and more, with a bamboo spar.
    ");
    assert_snapshot!(s.unchanged("diff --context --stat ./two-branches.jsonl 1a2b3c05 1a2b3c07").text(), @"2 lines (-), 2 lines (+)");
    // A model does not see labels.
    assert_eq!(
        s.run("diff --context ./two-branches.jsonl 1a2b3c03 1a2b3c02"),
        ""
    );
}

#[test]
fn words_that_differ_are_marked() {
    let s = Sandbox::new();
    for (name, text) in [
        ("a.jsonl", "a kite of tissue paper, quite light"),
        ("b.jsonl", "a kite of washi paper, quite light"),
    ] {
        s.put(name, session(&[&user("aaaa0001", None, text)]));
    }
    let text = s
        .unchanged("diff --context --color always ./a.jsonl ./b.jsonl")
        .text();
    assert!(
        text.contains("\u{1b}[7m") || text.contains(";7m"),
        "{text:?}"
    );
    assert_snapshot!(text.replace('\u{1b}', "^"), @"
    ^[1m--- ./a.jsonl^[0m
    ^[1m+++ ./b.jsonl^[0m
    ^[36m@@ -1,2 +1,2 @@^[0m
     user
    ^[31m-^[0m^[31m    a kite of ^[0m^[31;7mtissue^[0m^[31m paper, quite light^[0m
    ^[32m+^[0m^[32m    a kite of ^[0m^[32;7mwashi^[0m^[32m paper, quite light^[0m
    ");
}

/// Hunks at the start and at the end of long contexts: line numbers count lines that are not shown.
#[test]
fn hunks_count_the_lines_that_are_not_shown() {
    let s = Sandbox::new();
    let numbered = |from: usize, to: usize| {
        (from..to)
            .map(|at| format!("line {at}\\n"))
            .collect::<String>()
    };
    let lines = |changed: &str, last: &str| {
        session(&[
            &user("aaaa0001", None, &numbered(0, 50)),
            &user(
                "aaaa0002",
                Some("aaaa0001"),
                &format!("{}{changed}\\n{}", numbered(0, 20), numbered(20, 40)),
            ),
            &user("aaaa0003", Some("aaaa0002"), &numbered(0, 50)),
            &user("aaaa0004", Some("aaaa0003"), last),
        ])
    };
    s.put("a.jsonl", lines("old", "end"));
    s.put("b.jsonl", lines("new", "other end"));
    assert_snapshot!(s.unchanged("diff --context ./a.jsonl ./b.jsonl").text(), @"
    --- ./a.jsonl
    +++ ./b.jsonl
    @@ -71,7 +71,7 @@
         line 17
         line 18
         line 19
    -    old
    +    new
         line 20
         line 21
         line 22
    @@ -146,4 +146,4 @@
         line 49
     
     user
    -    end
    +    other end
    ");
    // Applied to one text, the patch gives the other.
    s.put("none.jsonl", session::<&str>(&[]));
    let text = |name: &str| {
        let all = s
            .unchanged(&format!("diff --context ./none.jsonl ./{name}"))
            .text();
        all.lines()
            .skip(3)
            .map(|line| line[1..].to_owned())
            .collect::<Vec<_>>()
    };
    let patch = s.unchanged("diff --context ./a.jsonl ./b.jsonl").text();
    assert_eq!(patched(&text("a.jsonl"), &patch), text("b.jsonl"));
}

/// Six common lines are shown between two changes; of seven, three after the first and three before
/// the second.
#[test]
fn changes_that_are_near_share_a_hunk() {
    let s = Sandbox::new();
    let headings = |common: usize| {
        for (name, changed) in [("a.jsonl", "old"), ("b.jsonl", "new")] {
            let text = format!("{changed}\\n{}{changed}", "line\\n".repeat(common));
            s.put(name, session(&[&user("aaaa0001", None, &text)]));
        }
        let text = s.unchanged("diff --context ./a.jsonl ./b.jsonl").text();
        text.lines()
            .filter(|line| line.starts_with("@@"))
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(headings(6), "@@ -1,9 +1,9 @@");
    assert_eq!(headings(7), "@@ -1,5 +1,5 @@ @@ -7,4 +7,4 @@");
}

/// Returns the lines with a unified diff applied, which must match them.
fn patched(lines: &[String], patch: &str) -> Vec<String> {
    let (mut out, mut at) = (Vec::new(), 0);
    for line in patch.lines().skip(2) {
        if let Some(heading) = line.strip_prefix("@@ -") {
            let start: usize = heading.split([',', ' ']).next().unwrap().parse().unwrap();
            out.extend_from_slice(&lines[at..start - 1]);
            at = start - 1;
            continue;
        }
        let (sign, text) = line.split_at(1);
        if sign != "+" {
            assert_eq!(lines[at], text);
            at += 1;
        }
        if sign != "-" {
            out.push(text.to_owned());
        }
    }
    out.extend_from_slice(&lines[at..]);
    out
}

#[test]
fn forks_are_the_same_where_they_say_the_same() {
    let s = Sandbox::with(&["two-branches.jsonl", "v1.jsonl", "tour.jsonl", "omp.jsonl"]);
    for name in ["two-branches", "tour", "omp"] {
        s.run(&format!("label ./{name}.jsonl @ extra"));
        s.run(&format!("append ./{name}.jsonl --user more"));
        s.run(&format!("fork ./{name}.jsonl -o ./{name}-fork.jsonl"));
        // Labels have other positions in a fork.
        for form in ["", "--context"] {
            assert_eq!(
                s.run(&format!("diff {form} ./{name}.jsonl ./{name}-fork.jsonl")),
                "",
                "{name}"
            );
        }
        s.run(&format!("label ./{name}-fork.jsonl @ other"));
        assert_eq!(
            s.unchanged(&format!("diff ./{name}.jsonl ./{name}-fork.jsonl"))
                .code,
            1,
            "{name}"
        );
    }
    // An agent that migrates a version 1 file gives its entries other ids than pisess does.
    s.run("migrate ./v1.jsonl -o ./migrated.jsonl");
    assert_eq!(s.run("diff ./v1.jsonl ./migrated.jsonl"), "");
    let ids = s.run("path --ids ./migrated.jsonl");
    let mut other = s.text("migrated.jsonl");
    for (at, id) in ids.lines().enumerate() {
        other = other.replace(id, &format!("ffff{at:04}"));
    }
    s.put("other-ids.jsonl", other);
    assert_eq!(s.run("diff ./migrated.jsonl ./other-ids.jsonl"), "");
}

#[test]
fn an_entry_that_says_something_else_is_changed() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    s.put(
        "b.jsonl",
        s.text("two-branches.jsonl")
            .replace("washi is strong", "washi is stronger"),
    );
    s.run("append ./b.jsonl --user more");
    assert_snapshot!(s.unchanged("diff ./two-branches.jsonl ./b.jsonl").text(), @"
    --- ./two-branches.jsonl · 5 entries, all also on the other side
    +++ ./b.jsonl · 6 entries, 1 only here
      1a2b3c01  [start] user: Which paper for a kite?
    ~ 1a2b3c02  assistant: Tissue paper is light, washi is stronger.
    + 226b1b5c  user: more
    ");
    assert_snapshot!(s.unchanged("diff --stat ./two-branches.jsonl ./b.jsonl").text(), @"
    5 entries in common, 0 entries (-), 1 entry (+), 1 entry (~)
    ");
    assert_snapshot!(s.unchanged("diff --json ./two-branches.jsonl ./b.jsonl").text(), @r#"
    {"commonAncestorId":"1a2b3c01","onlyLeft":[],"onlyRight":["226b1b5c"],"changed":["1a2b3c02"]}
    "#);
}

#[test]
fn sessions_come_by_standard_input_and_by_name() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let piped = s
        .pisess("diff - ./two-branches.jsonl")
        .stdin(fixture("two-branches.jsonl"))
        .done();
    assert_eq!(piped.quiet(), "");
    let piped = s
        .pisess("diff --stat ./two-branches.jsonl -")
        .stdin(fixture("two-branches.jsonl"))
        .done();
    assert!(piped.quiet().starts_with("5 entries in common, "));
    let piped = s
        .pisess("diff --json - root @")
        .stdin(fixture("two-branches.jsonl"))
        .done();
    assert_eq!(piped.code, 1);
}

#[test]
fn refuses_two_streams_and_unknown_sessions_and_refs() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    assert_snapshot!(s.unchanged("diff - -").fails(2), @"
    both sessions are standard input (hint: give one of them as a path)
    ");
    assert_snapshot!(s.unchanged("diff ./two-branches.jsonl @^").fails(2), @"
    @^: no such file, and no session with that id or name (hint: two arguments name two sessions; to compare two entries, give SESSION REF REF)
    ");
    assert_snapshot!(s.unchanged("diff ./two-branches.jsonl 1a2b3c05 nothing").fails(2), @r#"
    ./two-branches.jsonl: no entry or label "nothing" (hint: `pisess tree --filter all` lists the ids)
    "#);
    assert_snapshot!(s.unchanged("diff ./two-branches.jsonl ./none.jsonl").fails(2), @"
    cannot read ./none.jsonl: no such file or directory (hint: two arguments name two sessions; to compare two entries, give SESSION REF REF)
    ");
    assert_snapshot!(s.unchanged("diff --json --context ./two-branches.jsonl @ @^").fails(2), @"
    the argument '--json' cannot be used with '--context' (hint: see `pisess diff --help`)
    ");
}

#[test]
fn damaged_sessions_are_compared() {
    for name in crate::sandbox::hazards() {
        let s = Sandbox::with(&[&format!("hazards/{name}.jsonl"), "tour.jsonl"]);
        for form in ["", "--context", "--json", "--stat"] {
            let done = s.unchanged(&format!("diff {form} -q ./{name}.jsonl ./{name}.jsonl"));
            let is_session = s.pisess(&format!("tree -q ./{name}.jsonl")).done().code == 0;
            assert_eq!(
                done.code,
                if is_session { 0 } else { 2 },
                "{name} {form}: {done}"
            );
            let done = s.unchanged(&format!("diff {form} -q ./{name}.jsonl ./tour.jsonl"));
            assert_eq!(
                done.code,
                if is_session { 1 } else { 2 },
                "{name} {form}: {done}"
            );
        }
    }
}

/// Images of the same size, and calls with their results.
#[test]
fn the_context_shows_what_is_no_text() {
    let s = Sandbox::new();
    let with = |data: &str, is_error: bool| {
        session(&[
            &format!(
                r#"{{"type":"message","id":"aaaa0001","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{{"role":"user","content":[{{"type":"text","text":"see"}},{{"type":"image","data":"{data}","mimeType":"image/png"}}]}}}}"#
            ),
            r#"{"type":"message","id":"aaaa0002","parentId":"aaaa0001","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"bash","arguments":{"command":"ls"}}],"stopReason":"toolUse"}}"#,
            &format!(
                r#"{{"type":"message","id":"aaaa0003","parentId":"aaaa0002","timestamp":"2026-01-01T00:00:03.000Z","message":{{"role":"toolResult","toolCallId":"c1","toolName":"bash","content":[{{"type":"text","text":"a\u001b[2Jb"}}],"isError":{is_error}}}}}"#
            ),
        ])
    };
    s.put("a.jsonl", with("AAAA", false));
    s.put("b.jsonl", with("AAAB", true));
    assert_snapshot!(s.unchanged("diff --context ./a.jsonl ./b.jsonl").text(), @"
    --- ./a.jsonl
    +++ ./b.jsonl
    @@ -1,10 +1,10 @@
     user
         see
       image: image/png, 4 B of base64
    -  sha256: 63c1dd951ffe
    +  sha256: 5e01d7a18db0
     assistant
       toolCall bash c1
         command: ls
     
    -toolResult bash c1
    +toolResult bash c1 (error)
         a␛[2Jb
    ");
}

/// A fork begins on another branch than the one on which its source went on.
#[test]
fn a_fork_of_another_branch_says_where_it_begins() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    s.run("fork ./two-branches.jsonl 1a2b3c05 -o ./fork.jsonl");
    let done = s.pisess("diff ./two-branches.jsonl ./fork.jsonl").done();
    assert_snapshot!(done.stderr, @"pisess: note: ./fork.jsonl: 2 entries of these also on another branch of the other session, up to 1a2b3c05");
    let same = s.pisess("diff ./two-branches.jsonl @^ @").done();
    assert_eq!(same.stderr, "");

    // The same entries in another order are on no other branch.
    let chain = |first: &str, second: &str, third: &str| {
        session(&[
            user(first, None, first),
            user(second, Some(first), second),
            user(third, Some(second), third),
        ])
    };
    s.put("a.jsonl", chain("aaaa0001", "aaaa0002", "aaaa0003"));
    s.put("b.jsonl", chain("aaaa0001", "aaaa0003", "aaaa0002"));
    let done = s.pisess("diff ./a.jsonl ./b.jsonl").done();
    assert_eq!((done.code, done.stderr.as_str()), (1, ""));
}
