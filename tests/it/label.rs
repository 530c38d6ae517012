//! `pisess label`: sets, clears and lists labels.

use crate::sandbox::{Sandbox, fixture, session, user};
use insta::assert_snapshot;

#[test]
fn labels_may_be_listed_by_an_option_as_in_git() {
    let s = Sandbox::with(&["tour.jsonl", "v1.jsonl"]);
    assert_eq!(
        s.run("label --list ./tour.jsonl"),
        s.run("label ./tour.jsonl")
    );
    assert_eq!(s.unchanged("label -l ./v1.jsonl").text(), "");
}

#[test]
fn names_an_entry() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    assert_snapshot!(s.run("tree ./two-branches.jsonl --filter all"), @"
    1a2b3c01  • [start] user: Which paper for a kite?
    1a2b3c02  • assistant: Tissue paper is light, washi is strong.
    1a2b3c03  • label: start
    1a2b3c04  ├─ user: Tissue paper then. How big?  (2 messages, 4mo)
    1a2b3c05  │  assistant: Half a metre; larger ones tear.
    1a2b3c06  • user: Washi then. How big?
    1a2b3c07  • assistant: A metre and more, with a bamboo spar.  ← active
    ");
    assert_snapshot!(s.run("label ./two-branches.jsonl 1a2b3c05 'too small'"), @"226b1b5c");
    assert_snapshot!(s.run("tree ./two-branches.jsonl --filter all"), @"
    1a2b3c01  • [start] user: Which paper for a kite?
    1a2b3c02  • assistant: Tissue paper is light, washi is strong.
    1a2b3c03  • label: start
    1a2b3c04  ├─ user: Tissue paper then. How big?  (2 messages, 4mo)
    1a2b3c05  │  [too small] assistant: Half a metre; larger ones tear.
    1a2b3c06  • user: Washi then. How big?
    1a2b3c07  • assistant: A metre and more, with a bamboo spar.
    226b1b5c  • label: too small  ← active
    ");
    assert_snapshot!(s.lines_from("two-branches.jsonl", 9), @r#"{"type":"label","id":"226b1b5c","parentId":"1a2b3c07","timestamp":"2026-05-04T12:00:00.000Z","targetId":"1a2b3c05","label":"too small"}"#);
    assert!(
        s.bytes("two-branches.jsonl")
            .starts_with(&fixture("two-branches.jsonl"))
    );
    assert_eq!(s.names(), ["two-branches.jsonl"]);
}

#[test]
fn a_new_name_replaces_the_old() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let replaced = s
        .pisess("label ./two-branches.jsonl start beginning")
        .done();
    assert_snapshot!(replaced.stderr, @"
    pisess: the entry is 1a2b3c01  user: Which paper for a kite?
    pisess: replaced the label start
    ");
    assert_snapshot!(s.run("label ./two-branches.jsonl"), @"beginning  1a2b3c01  2026-05-04 12:00  user: Which paper for a kite?");
    assert_snapshot!(s.run("tree ./two-branches.jsonl"), @"
    1a2b3c01  • [beginning] user: Which paper for a kite?
    1a2b3c02  • assistant: Tissue paper is light, washi is strong.
    1a2b3c04  ├─ user: Tissue paper then. How big?  (2 messages, 4mo)
    1a2b3c05  │  assistant: Half a metre; larger ones tear.
    1a2b3c06  • user: Washi then. How big?
    1a2b3c07  • assistant: A metre and more, with a bamboo spar.  ← active
    ");
}

#[test]
fn takes_a_name_off() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    assert_snapshot!(s.run("label --clear ./two-branches.jsonl start"), @"226b1b5c");
    assert_snapshot!(s.run("tree ./two-branches.jsonl --filter all"), @"
    1a2b3c01  • user: Which paper for a kite?
    1a2b3c02  • assistant: Tissue paper is light, washi is strong.
    1a2b3c03  • label: start
    1a2b3c04  ├─ user: Tissue paper then. How big?  (2 messages, 4mo)
    1a2b3c05  │  assistant: Half a metre; larger ones tear.
    1a2b3c06  • user: Washi then. How big?
    1a2b3c07  • assistant: A metre and more, with a bamboo spar.
    226b1b5c  • label: (cleared)  ← active
    ");
    assert_snapshot!(s.lines_from("two-branches.jsonl", 9), @r#"{"type":"label","id":"226b1b5c","parentId":"1a2b3c07","timestamp":"2026-05-04T12:00:00.000Z","targetId":"1a2b3c01"}"#);
    assert_eq!(s.unchanged("label ./two-branches.jsonl").text(), "");
}

#[test]
fn set_and_clear_write_nothing_if_nothing_changes() {
    let s = Sandbox::with(&["two-branches.jsonl", "v1.jsonl"]);
    for line in [
        "label ./two-branches.jsonl 1a2b3c01 start",
        "label ./two-branches.jsonl 1a2b3c01 ' start '",
        "label --clear ./two-branches.jsonl 1a2b3c05",
        // If nothing else changes, an older file is not migrated.
        "label --clear ./v1.jsonl @",
    ] {
        let done = s.unchanged(line);
        assert_eq!((done.code, done.text()), (0, String::new()), "{line}");
        assert!(
            done.stderr.starts_with("pisess: nothing to do in ./"),
            "{line}: {}",
            done.stderr
        );
    }
    assert_snapshot!(s.unchanged("label -n ./two-branches.jsonl 1a2b3c01 start"), @"
    nothing to do in ./two-branches.jsonl
    2> pisess: the entry is 1a2b3c01  user: Which paper for a kite?
    ");
    assert_snapshot!(s.unchanged("label -n --json ./two-branches.jsonl 1a2b3c01 start"), @r#"{"path":"./two-branches.jsonl","action":"nothing","dryRun":true,"written":[],"editorText":null}"#);
    assert_snapshot!(s.unchanged("label --json ./two-branches.jsonl 1a2b3c01 start"), @r#"{"path":"./two-branches.jsonl","action":"nothing","dryRun":false,"written":[],"editorText":null}"#);
    let passed = s
        .pisess("label -q - 1a2b3c01 start")
        .stdin(fixture("two-branches.jsonl"))
        .done();
    assert_eq!(passed.quiet_bytes(), fixture("two-branches.jsonl"));
}

#[test]
fn lists() {
    let s = Sandbox::with(&["tour.jsonl", "two-branches.jsonl"]);
    assert_snapshot!(s.run("label ./tour.jsonl"), @r#"
    cause found  27d4c96f  2026-03-14 09:28  assistant: `departs_in` subtracts minutes of the day, so across midnight the result is negative: 10 - 1430 = -1420 minutes, printed as "left 23 h ago". The timetable has no dates, only times.
    green        648dc1b3  2026-03-14 09:32  assistant: All 14 tests pass, and at 23:50 the 00:10 ferry departs in 20 min.
    "#);
    assert_snapshot!(s.run("label ./tour.jsonl 648dc1b3"), @"green  648dc1b3  2026-03-14 09:32  assistant: All 14 tests pass, and at 23:50 the 00:10 ferry departs in 20 min.");
    assert_snapshot!(s.run("label ./tour.jsonl --json"), @r#"
    {"id":"27d4c96f","label":"cause found","timestamp":"2026-03-14T09:28:37.589Z","text":"assistant: `departs_in` subtracts minutes of the day, so across midnight the result is negative: 10 - 1430 = -1420 minutes, printed as \"left 23 h ago\". The timetable has no dates, only times."}
    {"id":"648dc1b3","label":"green","timestamp":"2026-03-14T09:32:06.589Z","text":"assistant: All 14 tests pass, and at 23:50 the 00:10 ferry departs in 20 min."}
    "#);
    assert_eq!(s.unchanged("label ./tour.jsonl 0d9a6c31").text(), "");
    assert_eq!(s.unchanged("label ./tour.jsonl 0d9a6c31 --json").text(), "");
    assert_snapshot!(s.run("label ./two-branches.jsonl"), @"start  1a2b3c01  2026-01-01 00:00  user: Which paper for a kite?");
}

#[test]
fn the_last_in_the_file_wins_whatever_its_branch() {
    let s = Sandbox::with(&["hazards/label-cleared.jsonl"]);
    assert_eq!(s.unchanged("label ./label-cleared.jsonl").text(), "");
    let s = Sandbox::new();
    s.put(
        "a.jsonl",
        session(&[
            &user("aaaa0001", None, "one"),
            r#"{"type":"label","id":"llll0001","parentId":"aaaa0001","timestamp":"2026-01-01T00:00:09.000Z","targetId":"aaaa0001","label":"later by clock"}"#,
            r#"{"type":"label","id":"llll0002","parentId":null,"timestamp":"2026-01-01T00:00:02.000Z","targetId":"aaaa0001","label":"later in the file"}"#,
        ]),
    );
    assert_snapshot!(s.run("label ./a.jsonl"), @"later in the file  aaaa0001  2026-01-01 00:00  user: one");
    // One that was cleared is listed where it was set again.
    let label = |id: &str, target: &str, name: &str| {
        format!(
            r#"{{"type":"label","id":"{id}","parentId":null,"targetId":"{target}","label":"{name}"}}"#
        )
    };
    let [one, two] = [
        user("aaaa0001", None, "one"),
        user("aaaa0002", Some("aaaa0001"), "two"),
    ];
    let labels = [
        ("aaaa0001", "x"),
        ("aaaa0002", "y"),
        ("aaaa0001", ""),
        ("aaaa0001", "z"),
        ("aaaa0002", "v"),
    ];
    let labels = labels
        .iter()
        .enumerate()
        .map(|(at, (target, name))| label(&format!("llll000{at}"), target, name));
    s.put(
        "b.jsonl",
        session(&[one, two].into_iter().chain(labels).collect::<Vec<_>>()),
    );
    let listed = s.run("label --json ./b.jsonl");
    let ids: Vec<_> = listed
        .lines()
        .map(|line| &line[..line.find(",\"timestamp").unwrap()])
        .collect();
    assert_eq!(
        ids,
        [
            r#"{"id":"aaaa0002","label":"v""#,
            r#"{"id":"aaaa0001","label":"z""#
        ]
    );
}

#[test]
fn a_label_on_nothing_names_nothing() {
    let s = Sandbox::with(&["hazards/label-on-nothing.jsonl"]);
    assert_snapshot!(s.run("label ./label-on-nothing.jsonl"), @"ghost  nowhere1  2026-01-01 00:00");
    assert_snapshot!(s.run("label ./label-on-nothing.jsonl --json"), @r#"{"id":"nowhere1","label":"ghost","timestamp":"2026-01-01T00:00:05.000Z","text":""}"#);
    assert_snapshot!(s.unchanged("label ./label-on-nothing.jsonl ghost other").fails(2), @r#"./label-on-nothing.jsonl: no entry or label "ghost" (hint: `pisess tree --filter all` lists the ids)"#);
    assert_snapshot!(s.unchanged("label ./label-on-nothing.jsonl root other").fails(2), @"./label-on-nothing.jsonl: root is not an entry (hint: root is the position before the first entry; give an entry)");
    assert_snapshot!(s.unchanged("label ./label-on-nothing.jsonl nowhere1 other").fails(2), @r#"./label-on-nothing.jsonl: no entry or label "nowhere1" (hint: `pisess tree --filter all` lists the ids)"#);
}

#[test]
fn names_that_are_none() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    for name in ["''", "'  '", "'\n'"] {
        let line = s
            .unchanged(&format!("label ./two-branches.jsonl @ {name}"))
            .fails(2);
        assert_eq!(
            line,
            "the label is empty (hint: clear a label with --clear)"
        );
    }
    let done = s.unchanged("label ./two-branches.jsonl @ 'two\nlines'");
    assert_snapshot!(done.fails(2), @"the label contains a control character (hint: give a label of one line, without control characters)");
}

#[test]
fn json_tells_what_was_written() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    assert_snapshot!(s.run("label --json ./two-branches.jsonl @ end"), @r#"{"path":"./two-branches.jsonl","action":"append","dryRun":false,"written":[{"type":"label","id":"226b1b5c","parentId":"1a2b3c07","timestamp":"2026-05-04T12:00:00.000Z","targetId":"1a2b3c07","label":"end"}],"editorText":null}"#);
}

#[test]
fn dry_run_prints_the_plan() {
    let s = Sandbox::with(&["two-branches.jsonl", "v1.jsonl"]);
    assert_snapshot!(s.unchanged("label -n ./two-branches.jsonl @ end"), @"
    would append 1 line to ./two-branches.jsonl
     size  id        type   content
    130 B  226b1b5c  label  end
    2> pisess: the entry is 1a2b3c07  assistant: A metre and more, with a bamboo spar.
    ");
    assert_snapshot!(s.unchanged("label -n --json ./two-branches.jsonl @ end"), @r#"{"path":"./two-branches.jsonl","action":"append","dryRun":true,"written":[{"type":"label","id":"226b1b5c","parentId":"1a2b3c07","timestamp":"2026-05-04T12:00:00.000Z","targetId":"1a2b3c07","label":"end"}],"editorText":null}"#);
    assert_snapshot!(s.unchanged("label -n ./v1.jsonl @ end"), @"
    would rewrite ./v1.jsonl as version 3 and append 1 line
     size  id        type   content
    130 B  226b1b5c  label  end
    2> pisess: the entry is cebfaa52  assistant: March: carrots. May: beans.
    ");
    assert_snapshot!(s.unchanged("label -n --json ./v1.jsonl @ end"), @r#"{"path":"./v1.jsonl","action":"rewrite","dryRun":true,"written":[{"type":"label","id":"226b1b5c","parentId":"cebfaa52","timestamp":"2026-05-04T12:00:00.000Z","targetId":"cebfaa52","label":"end"}],"editorText":null}"#);
    assert_snapshot!(s.unchanged("label -n -o ./out.jsonl ./two-branches.jsonl @ end"), @"
    would create ./out.jsonl with 1 line
     size  id        type   content
    130 B  226b1b5c  label  end
    2> pisess: the entry is 1a2b3c07  assistant: A metre and more, with a bamboo spar.
    ");
}

#[test]
fn into_another_file() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    assert_snapshot!(s.run("label ./two-branches.jsonl @ end -o ./new.jsonl"), @"226b1b5c");
    assert_eq!(s.bytes("two-branches.jsonl"), fixture("two-branches.jsonl"));
    assert_snapshot!(s.run("tree ./new.jsonl"), @"
    1a2b3c01  • [start] user: Which paper for a kite?
    1a2b3c02  • assistant: Tissue paper is light, washi is strong.
    1a2b3c04  ├─ user: Tissue paper then. How big?  (2 messages, 4mo)
    1a2b3c05  │  assistant: Half a metre; larger ones tear.
    1a2b3c06  • user: Washi then. How big?
    1a2b3c07  • [end] assistant: A metre and more, with a bamboo spar.  ← active
    ");
    assert_snapshot!(s.run("label ./two-branches.jsonl @ end --json -o ./json.jsonl"), @r#"{"path":"./json.jsonl","action":"create","dryRun":false,"written":[{"type":"label","id":"226b1b5c","parentId":"1a2b3c07","timestamp":"2026-05-04T12:00:00.000Z","targetId":"1a2b3c07","label":"end"}],"editorText":null}"#);
    assert_eq!(s.bytes("json.jsonl"), s.bytes("new.jsonl"));
    // The id goes to stderr when stdout carries the session.
    let done = s.unchanged("label ./two-branches.jsonl @ end -o -");
    assert_eq!(done.stdout, s.bytes("new.jsonl"));
    assert_eq!(done.stderr, "226b1b5c\n");
}

#[test]
fn an_older_file_is_migrated_and_named_in_one_rename() {
    let s = Sandbox::with(&["v1.jsonl"]);
    let mut expected = s.run("migrate ./v1.jsonl -o -");
    s.run("label ./v1.jsonl @ end");
    expected += r#"{"type":"label","id":"226b1b5c","parentId":"cebfaa52","timestamp":"2026-05-04T12:00:00.000Z","targetId":"cebfaa52","label":"end"}"#;
    assert_eq!(s.text("v1.jsonl"), expected + "\n");
    assert_eq!(s.names(), ["v1.jsonl"]);
}

#[test]
fn an_older_file_stays_when_the_operation_does_not_happen() {
    let s = Sandbox::with(&["v1.jsonl", "v2.jsonl", "draft-tree.jsonl"]);
    for name in s.names() {
        s.unchanged(&format!("label ./{name} nothing-here end"))
            .fails(2);
    }
}

#[test]
fn a_draft_tree_is_migrated_and_the_label_is_its_leaf() {
    let s = Sandbox::with(&["draft-tree.jsonl"]);
    s.run("label ./draft-tree.jsonl b5936be4 good");
    assert_snapshot!(s.lines_from("draft-tree.jsonl", 17), @r#"{"type":"label","id":"226b1b5c","parentId":"5e29b866","timestamp":"2026-05-04T12:00:00.000Z","targetId":"b5936be4","label":"good"}"#);
    assert_snapshot!(s.run("path ./draft-tree.jsonl"), @"
    13  0d98c807  2026-03-14 09:28  compaction: 0 tokens · A CLI was wanted; Node and Rust were tried.
    14  f8d11dfd             09:28  user: Write its manual
    16  5e29b866             09:29  assistant: Half a page will do.
    17  226b1b5c  2026-05-04 12:00  label: good
    ");
}

#[test]
fn in_an_oh_my_pi_file() {
    let s = Sandbox::with(&["omp.jsonl"]);
    s.run("label ./omp.jsonl '@^{user}' start");
    assert!(s.bytes("omp.jsonl").starts_with(&fixture("omp.jsonl")));
    assert_snapshot!(s.run("tree ./omp.jsonl"), @"
    2c3d4e5f  • [start] user: Sort the photos by year
    3d4e5f60  • assistant: I'll list them first.
    4e5f6071  • glob: **
    5f607182  • assistant: One has no year in its path: c.jpg.
    60718293  • skill-prompt: Look at the EXIF data of c.jpg
    8293a4b5  • bash: exiftool -CreateDate /home/u/photos/c.jpg
    93a4b5c6  • assistant: It is from 2021.  ← active
    ");
}

#[test]
fn labelling_the_leaf_twice_labels_the_same_entry() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    s.run("label ./two-branches.jsonl @ done");
    let again = s.unchanged("label ./two-branches.jsonl @ done");
    assert_eq!(
        (again.text(), &*again.stderr),
        (
            String::new(),
            "pisess: nothing to do in ./two-branches.jsonl\n\
             pisess: the entry is 1a2b3c07  assistant: A metre and more, with a bamboo spar.\n"
        )
    );
    assert_eq!(
        s.unchanged("label -q ./two-branches.jsonl @ done").quiet(),
        ""
    );
    s.run("switch -q ./two-branches.jsonl 1a2b3c07");
    s.run("label ./two-branches.jsonl @ again");
    assert_snapshot!(s.run("label ./two-branches.jsonl"), @"
    start  1a2b3c01  2026-01-01 00:00  user: Which paper for a kite?
    again  1a2b3c07  2026-05-04 12:00  assistant: A metre and more, with a bamboo spar.
    ");
    assert_snapshot!(s.run("label ./two-branches.jsonl @"), @"again  1a2b3c07  2026-05-04 12:00  assistant: A metre and more, with a bamboo spar.");
    s.run("label --clear ./two-branches.jsonl @");
    assert_snapshot!(s.run("label ./two-branches.jsonl"), @"start  1a2b3c01  2026-01-01 00:00  user: Which paper for a kite?");
}

#[test]
fn label_and_option_label_refuse_a_name_like_a_reference() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    for name in [
        "@", "root", ":3", "id:x", "label:x", "a^", "a~2", "a^{user}",
    ] {
        for line in [
            format!("label ./two-branches.jsonl 1a2b3c05 '{name}'"),
            format!("switch ./two-branches.jsonl 1a2b3c05 --label '{name}'"),
            format!("summarize ./two-branches.jsonl 1a2b3c05 --summary s --label '{name}'"),
            format!("merge ./two-branches.jsonl 1a2b3c05 --summary s --label '{name}'"),
            format!("pop ./two-branches.jsonl --label '{name}'"),
        ] {
            let said = s.unchanged(&line).fails(2);
            assert!(said.contains("reads as a reference"), "{line}: {said}");
        }
    }
}

#[test]
fn a_name_stays_on_its_entry_until_it_is_moved() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    for line in [
        "label ./two-branches.jsonl 1a2b3c05 start",
        "switch ./two-branches.jsonl 1a2b3c05 --label start",
        "summarize ./two-branches.jsonl 1a2b3c05 --summary s --label start",
        "merge ./two-branches.jsonl 1a2b3c05 --summary s --label start",
        "pop ./two-branches.jsonl --summary s --label start",
    ] {
        let said = s.unchanged(line).fails(2);
        assert!(
            said.contains(r#"the label "start" is already on 1a2b3c01"#),
            "{line}: {said}"
        );
    }
    assert_snapshot!(s.run("label --move ./two-branches.jsonl 1a2b3c05 start"), @"
    226b1b5c
    27aa2424
    ");
    assert_snapshot!(s.run("label ./two-branches.jsonl"), @"start  1a2b3c05  2026-05-04 12:00  assistant: Half a metre; larger ones tear.");
    assert_eq!(
        s.run("label -q --move ./two-branches.jsonl 1a2b3c05 start"),
        ""
    );
    assert_snapshot!(s.run("path ./two-branches.jsonl label:start --ids"), @"
    1a2b3c01
    1a2b3c02
    1a2b3c03
    1a2b3c04
    1a2b3c05
    ");
}

#[test]
fn an_entry_that_its_id_does_not_name_has_no_label() {
    let s = Sandbox::with(&[
        "hazards/missing-id-last.jsonl",
        "hazards/duplicate-id.jsonl",
    ]);
    let refused = |line: &str| s.unchanged(line).fails(2);
    assert_snapshot!(refused("label -q -n ./missing-id-last.jsonl :4 n"), @"./missing-id-last.jsonl:4: the entry has no id, so it cannot have a label (hint: see `pisess check ./missing-id-last.jsonl`)");
    assert_snapshot!(refused("label -q --move ./missing-id-last.jsonl :4 n"), @"./missing-id-last.jsonl:4: the entry has no id, so it cannot have a label (hint: see `pisess check ./missing-id-last.jsonl`)");
    assert_snapshot!(refused("label -q ./duplicate-id.jsonl :3 n"), @"./duplicate-id.jsonl:3: the entry has the same id as a later one, so it cannot have a label (hint: see `pisess check ./duplicate-id.jsonl`)");
}
