//! `pisess switch`: a lasting move of the leaf.

use crate::sandbox::{Sandbox, fixture, session, user};
use insta::assert_snapshot;
use serde_json::Value;

const TWO: &str = "two-branches.jsonl";

/// The mark at the root is no second conversation.
#[test]
fn a_mark_at_the_root_is_no_finding_of_check() {
    let s = Sandbox::with(&["tour.jsonl"]);
    s.run("switch -q ./tour.jsonl root");
    assert_eq!(s.run("check -q ./tour.jsonl"), "");
    s.run("append -q ./tour.jsonl --user 'Start over.'");
    assert_eq!(s.run("check -q ./tour.jsonl"), "");
}

#[test]
fn goes_to_another_branch() {
    let s = Sandbox::with(&[TWO]);
    assert_snapshot!(s.run("tree ./two-branches.jsonl"), @"
    1a2b3c01  • [start] user: Which paper for a kite?
    1a2b3c02  • assistant: Tissue paper is light, washi is strong.
    1a2b3c04  ├─ user: Tissue paper then. How big?  (2 messages, 4mo)
    1a2b3c05  │  assistant: Half a metre; larger ones tear.
    1a2b3c06  • user: Washi then. How big?
    1a2b3c07  • assistant: A metre and more, with a bamboo spar.  ← active
    ");
    let there = s.run("context ./two-branches.jsonl 1a2b3c05");
    assert_snapshot!(s.run("switch ./two-branches.jsonl 1a2b3c05"), @"226b1b5c");
    assert_snapshot!(s.lines_from(TWO, 9), @r#"{"type":"custom","customType":"pisess.switch","data":{"from":"1a2b3c07","to":"1a2b3c05"},"id":"226b1b5c","parentId":"1a2b3c05","timestamp":"2026-05-04T12:00:00.000Z"}"#);
    assert_snapshot!(s.run("tree ./two-branches.jsonl"), @"
    1a2b3c01  • [start] user: Which paper for a kite?
    1a2b3c02  • assistant: Tissue paper is light, washi is strong.
    1a2b3c06  ├─ user: Washi then. How big?  (2 messages, 4mo)
    1a2b3c07  │  assistant: A metre and more, with a bamboo spar.
    1a2b3c04  • user: Tissue paper then. How big?
    1a2b3c05  • assistant: Half a metre; larger ones tear.  ← active
    ");
    assert_snapshot!(s.run("path ./two-branches.jsonl"), @"
    2  1a2b3c01  2026-01-01 00:00  [start] user: Which paper for a kite?
    3  1a2b3c02             00:00  assistant: Tissue paper is light, washi is strong.
    4  1a2b3c03             00:00  label: start
    5  1a2b3c04             00:00  user: Tissue paper then. How big?
    6  1a2b3c05             00:00  assistant: Half a metre; larger ones tear.
    9  226b1b5c  2026-05-04 12:00  custom: pisess.switch
    ");
    assert_eq!(s.run("context ./two-branches.jsonl"), there);
    assert!(s.bytes(TWO).starts_with(&fixture(TWO)));
}

/// Each step starts at the conversation, not at the mark of the step before.
#[test]
fn steps_back_add_up() {
    let s = Sandbox::with(&[TWO]);
    s.run("switch ./two-branches.jsonl 1a2b3c05");
    for expected in ["now at 1a2b3c02  ", "now at root"] {
        let done = s.pisess("switch ./two-branches.jsonl @~1").done();
        assert!(done.stderr.contains(expected), "{}", done.stderr);
    }
    assert!(
        s.pisess("switch ./two-branches.jsonl @")
            .done()
            .stderr
            .contains("nothing to do")
    );
}

#[test]
fn a_user_message_means_the_place_before_it() {
    let s = Sandbox::with(&[TWO]);
    assert_snapshot!(s.run("switch ./two-branches.jsonl 1a2b3c04"), @"
    226b1b5c
    Tissue paper then. How big?
    ");
    assert_snapshot!(s.lines_from(TWO, 9), @r#"{"type":"custom","customType":"pisess.switch","data":{"from":"1a2b3c07","to":"1a2b3c03"},"id":"226b1b5c","parentId":"1a2b3c03","timestamp":"2026-05-04T12:00:00.000Z"}"#);
    assert_snapshot!(s.run("switch ./two-branches.jsonl 1a2b3c01"), @"
    27aa2424
    Which paper for a kite?
    ");
    assert_snapshot!(s.lines_from(TWO, 10), @r#"{"type":"custom","customType":"pisess.switch","data":{"from":"226b1b5c","to":null},"id":"27aa2424","parentId":null,"timestamp":"2026-05-04T12:00:00.000Z"}"#);
    assert_snapshot!(s.run("tree ./two-branches.jsonl --filter all"), @"
    1a2b3c01  ├─ [start] user: Which paper for a kite?  (6 messages, 4mo)
    1a2b3c02  │  assistant: Tissue paper is light, washi is strong.
    1a2b3c03  │  label: start
    1a2b3c04  │  ├─ user: Tissue paper then. How big?  (2 messages, 4mo)
    1a2b3c05  │  │  assistant: Half a metre; larger ones tear.
    1a2b3c06  │  ├─ user: Washi then. How big?  (2 messages, 4mo)
    1a2b3c07  │  │  assistant: A metre and more, with a bamboo spar.
    226b1b5c  │  custom: pisess.switch
    27aa2424  • custom: pisess.switch  ← active
    ");
}

/// If a reply mentions the word first, `:1/WORD` alone would end at the reply.
#[test]
fn switch_to_before_the_first_mention_ends_above_the_reply() {
    let s = Sandbox::with(&[TWO]);
    let preview = s.run("switch -n --json ./two-branches.jsonl ':1/bamboo^'");
    assert!(preview.contains(r#""to":"1a2b3c03""#), "{preview}");
    let help = s.run("switch --help");
    assert!(help.contains("':1/changelog^'"), "{help}");
}

/// As in pi, selecting the current leaf does nothing, whatever it is; `pop` asks again.
#[test]
fn the_leaf_stays_the_leaf_even_if_it_is_a_request() {
    for options in [
        "--user 'How big?'",
        "--custom-message note --text 'How big?'",
    ] {
        let s = Sandbox::with(&[TWO]);
        let id = s.run(&format!("append ./{TWO} {options}"));
        let id = id.trim();
        for place in ["@", id] {
            let done = s.unchanged(&format!("switch ./{TWO} {place}"));
            assert_eq!(done.stdout, b"", "{options} {place}");
            let plan = s.unchanged(&format!("switch ./{TWO} {place} --json"));
            let plan: Value = serde_json::from_slice(&plan.stdout).unwrap();
            assert_eq!(plan["action"], "nothing", "{options} {place}");
            assert_eq!(plan["editorText"], Value::Null, "{options} {place}");
        }
        // Back at it, it is the leaf again, although a mark follows it.
        s.run(&format!("switch -q ./{TWO} 1a2b3c05"));
        s.run(&format!("switch -q ./{TWO} -"));
        s.unchanged(&format!("switch -q ./{TWO} {id}"));

        // From below, it is asked again.
        s.run(&format!("append ./{TWO} --user 'And how heavy?'"));
        let again = s.run(&format!("switch ./{TWO} {id}"));
        assert!(again.ends_with("How big?\n"), "{again}");
    }
    let s = Sandbox::with(&[TWO]);
    s.run(&format!("append ./{TWO} --user 'How big?'"));
    let popped = s.run(&format!("pop ./{TWO}"));
    assert!(popped.ends_with("How big?\n"), "{popped}");
}

#[test]
fn root_is_the_empty_conversation() {
    let s = Sandbox::with(&[TWO, "hazards/header-only.jsonl"]);
    s.run("switch ./two-branches.jsonl root");
    assert_snapshot!(s.lines_from(TWO, 9), @r#"{"type":"custom","customType":"pisess.switch","data":{"from":"1a2b3c07","to":null},"id":"226b1b5c","parentId":null,"timestamp":"2026-05-04T12:00:00.000Z"}"#);
    assert_snapshot!(s.run("context ./two-branches.jsonl"), @r#"{"messages":[],"thinkingLevel":"off","model":null}"#);
    assert_snapshot!(s.unchanged("switch ./header-only.jsonl root"), @"
    2> pisess: nothing to do in ./header-only.jsonl
    2> pisess: now at root
    ");
    // The mark is no place of its own.
    assert_snapshot!(s.unchanged("switch ./two-branches.jsonl @"), @"
    2> pisess: nothing to do in ./two-branches.jsonl
    2> pisess: now at root
    ");
}

#[test]
fn where_one_stands_nothing_is_written() {
    let s = Sandbox::with(&[TWO, "v1.jsonl"]);
    assert_snapshot!(s.unchanged("switch ./two-branches.jsonl @"), @"
    2> pisess: nothing to do in ./two-branches.jsonl
    2> pisess: now at 1a2b3c07  assistant: A metre and more, with a bamboo spar.
    ");
    assert_snapshot!(s.unchanged("switch -n ./two-branches.jsonl @"), @"
    nothing to do in ./two-branches.jsonl
    2> pisess: would be at 1a2b3c07  assistant: A metre and more, with a bamboo spar.
    ");
    assert_snapshot!(s.unchanged("switch --json ./two-branches.jsonl @"), @r#"{"path":"./two-branches.jsonl","action":"nothing","dryRun":false,"written":[],"editorText":null}"#);
    assert_eq!(
        s.unchanged("switch ./two-branches.jsonl @ -o -").stdout,
        fixture(TWO)
    );
    // If nothing else changes, an older file is not migrated.
    assert_snapshot!(s.unchanged("switch ./v1.jsonl @"), @"
    2> pisess: nothing to do in ./v1.jsonl
    2> pisess: now at cebfaa52  assistant: March: carrots. May: beans.
    ");
    s.run("switch ./two-branches.jsonl 1a2b3c05");
    for place in ["@", "1a2b3c05"] {
        assert_eq!(
            s.unchanged(&format!("switch -q ./two-branches.jsonl {place}"))
                .quiet(),
            ""
        );
    }
    // The text to be edited is printed again.
    s.run("switch ./two-branches.jsonl 1a2b3c04");
    assert_snapshot!(s.unchanged("switch ./two-branches.jsonl 1a2b3c04"), @"
    Tissue paper then. How big?
    2> pisess: now at 1a2b3c02  assistant: Tissue paper is light, washi is strong.
    ");
    assert_snapshot!(s.unchanged("switch --json ./two-branches.jsonl 1a2b3c04"), @r#"{"path":"./two-branches.jsonl","action":"nothing","dryRun":false,"written":[],"editorText":"Tissue paper then. How big?"}"#);
}

#[test]
fn a_message_after_the_move_makes_another_move_of_it() {
    let s = Sandbox::with(&[TWO]);
    s.run("switch ./two-branches.jsonl 1a2b3c05");
    let more = crate::sandbox::user("aaaa0001", Some("226b1b5c"), "one thing more");
    s.put(
        TWO,
        [s.bytes(TWO), more.into_bytes(), b"\n".to_vec()].concat(),
    );
    s.run("switch ./two-branches.jsonl 1a2b3c05");
    assert_snapshot!(s.run("tree ./two-branches.jsonl --filter all"), @"
    1a2b3c01  • [start] user: Which paper for a kite?
    1a2b3c02  • assistant: Tissue paper is light, washi is strong.
    1a2b3c03  • label: start
    1a2b3c06  ├─ user: Washi then. How big?  (2 messages, 4mo)
    1a2b3c07  │  assistant: A metre and more, with a bamboo spar.
    1a2b3c04  • user: Tissue paper then. How big?
    1a2b3c05  • assistant: Half a metre; larger ones tear.
    226b1b5c  ├─ custom: pisess.switch  (1 message, 4mo)
    aaaa0001  │  user: one thing more
    27aa2424  • custom: pisess.switch  ← active
    ");
}

#[test]
fn with_a_summary() {
    let s = Sandbox::with(&[TWO]);
    for options in [
        "--summary 'Washi needs a spar.' --label back",
        "--summarizer cat",
        "--instructions i",
    ] {
        let left = s
            .unchanged(&format!("summarize -q ./{TWO} 1a2b3c05 {options} -o -"))
            .text();
        // A summary option implies --summarize.
        for summarize in ["--summarize", ""] {
            let line = format!("switch -q {summarize} ./{TWO} 1a2b3c05 {options} -o -");
            assert_eq!(s.unchanged(&line).text(), left, "{line}");
        }
    }
    let prompt = s.run("summarize --prompt ./two-branches.jsonl 1a2b3c05");
    assert_eq!(
        s.run("switch --prompt ./two-branches.jsonl 1a2b3c05"),
        prompt
    );
}

#[test]
fn nothing_left_behind_is_no_reason_to_stay() {
    let s = Sandbox::with(&[TWO]);
    // Back at the start of the branch, only a label is left behind.
    s.run("switch ./two-branches.jsonl 1a2b3c03");
    s.run("label ./two-branches.jsonl @ here");
    assert_snapshot!(s.unchanged("summarize ./two-branches.jsonl 1a2b3c05").fails(1), @"./two-branches.jsonl: no entries to summarize on the branch you leave (hint: write one anyway with --summary TEXT)");
    assert_eq!(
        s.unchanged("summarize --prepare ./two-branches.jsonl 1a2b3c05")
            .code,
        1
    );
    s.run("switch --summarize ./two-branches.jsonl 1a2b3c05");
    assert_snapshot!(s.lines_from(TWO, 11), @r#"{"type":"custom","customType":"pisess.switch","data":{"from":"27aa2424","to":"1a2b3c05"},"id":"b958585d","parentId":"1a2b3c05","timestamp":"2026-05-04T12:00:00.000Z"}"#);
    s.run("switch --summarize ./two-branches.jsonl 1a2b3c07 --summary 'All the same.'");
    assert!(s.lines_from(TWO, 12).contains("All the same."));
}

/// Summarizing it again would give a summary of the summary, shorter each time.
#[test]
fn a_summary_that_is_all_that_is_left_is_not_summarised() {
    for place in ["1a2b3c05", "1a2b3c04", "1a2b3c01"] {
        let s = Sandbox::with(&[TWO]);
        let line = format!("switch -q --summarize ./{TWO} {place}");
        let draft: String = s
            .run(&line)
            .lines()
            .skip(1)
            .map(|line| format!("{line}\n"))
            .collect();
        assert_eq!(s.unchanged(&line).quiet(), draft, "{place}");
        assert_eq!(
            s.unchanged(&format!("{line} --summarizer false --hook false"))
                .quiet(),
            draft
        );
        assert!(
            s.unchanged(&format!("{line} -n"))
                .quiet()
                .starts_with("nothing to do")
        );
        // A given summary is written anyway. Without --summarize, the move leaves the summary
        // behind.
        assert_ne!(s.run(&format!("{line} -n --summary s")), "");
        assert!(
            s.run(&format!("switch -n ./{TWO} {place}"))
                .starts_with("would append 1 line")
        );
        // The existing summary gets the label, once.
        let named = format!("{line} --label tried");
        assert!(s.run(&named).ends_with(&draft));
        assert_eq!(s.text(TWO).lines().count(), 10);
        assert!(
            s.lines_from(TWO, 10)
                .contains(r#""targetId":"226b1b5c","label":"tried""#)
        );
        s.unchanged(&named);
        // Entries that follow the summary are summarized when they are left behind.
        s.run(&format!("append ./{TWO} --user more"));
        s.run(&line);
        assert_eq!(s.text(TWO).lines().count(), 12);
    }
    let s = Sandbox::with(&[TWO]);
    s.run("switch --summarize ./two-branches.jsonl 1a2b3c05");
    s.run("switch --summarize ./two-branches.jsonl 1a2b3c03");
    assert!(
        s.lines_from(TWO, 10).contains(r#""parentId":"1a2b3c03""#),
        "another place"
    );
    s.run("summarize ./two-branches.jsonl 1a2b3c03");
    assert_eq!(s.text(TWO).lines().count(), 11, "what the agents would do");
}

#[test]
fn with_a_label() {
    let s = Sandbox::with(&[TWO]);
    s.run("switch --label tissue ./two-branches.jsonl 1a2b3c05");
    assert_snapshot!(s.lines_from(TWO, 9), @r#"
    {"type":"custom","customType":"pisess.switch","data":{"from":"1a2b3c07","to":"1a2b3c05"},"id":"226b1b5c","parentId":"1a2b3c05","timestamp":"2026-05-04T12:00:00.000Z"}
    {"type":"label","id":"27aa2424","parentId":"226b1b5c","timestamp":"2026-05-04T12:00:00.000Z","targetId":"1a2b3c05","label":"tissue"}
    "#);
    s.unchanged("switch --label tissue ./two-branches.jsonl 1a2b3c05");
    // At the current position, only the label is written.
    s.run("switch ./two-branches.jsonl 1a2b3c07");
    s.run("switch --label washi ./two-branches.jsonl 1a2b3c07");
    assert_snapshot!(s.lines_from(TWO, 12), @r#"{"type":"label","id":"95d82c0b","parentId":"b958585d","timestamp":"2026-05-04T12:00:00.000Z","targetId":"1a2b3c07","label":"washi"}"#);
    assert_snapshot!(s.unchanged("switch --label x ./two-branches.jsonl root").fails(2), @"--label: root is not an entry (hint: give another entry, or add a summary with --summarize)");
    assert_snapshot!(s.unchanged("switch --label ' ' ./two-branches.jsonl 1a2b3c05").fails(2), @"the label is empty (hint: clear a label with --clear)");
}

#[test]
fn to_the_previous_leaf() {
    let s = Sandbox::with(&[TWO]);
    let place = |line: &str| {
        let done = s.pisess(line).done();
        let last = s.text(TWO).lines().last().unwrap().to_owned();
        let place = serde_json::from_str::<Value>(&last).unwrap()["parentId"]
            .as_str()
            .unwrap_or("root")
            .to_owned();
        let shown = done
            .stderr
            .strip_prefix("pisess: now at ")
            .unwrap_or_else(|| panic!("{done}"));
        assert!(
            shown == "root\n" || shown.contains(": "),
            "an entry of the conversation: {shown}"
        );
        place
    };
    // The order of the file: after 1a2b3c05, the conversation continued from 1a2b3c03.
    assert_eq!(place("switch ./two-branches.jsonl -"), "1a2b3c05");
    // Marks.
    assert_eq!(place("switch ./two-branches.jsonl -"), "1a2b3c07");
    assert_eq!(place("switch ./two-branches.jsonl -"), "1a2b3c05");
    assert_eq!(place("switch ./two-branches.jsonl root"), "root");
    assert_eq!(place("switch ./two-branches.jsonl 1a2b3c02"), "1a2b3c02");
    assert_eq!(place("switch ./two-branches.jsonl -"), "root");
    assert_eq!(place("switch ./two-branches.jsonl -"), "1a2b3c02");
    // Neither a label nor a further mark at the same position is a move, and labels stay on the
    // path.
    let label = s.run("label ./two-branches.jsonl 1a2b3c05 tissue");
    assert_eq!(place("switch ./two-branches.jsonl -"), "root");
    assert_eq!(place("switch ./two-branches.jsonl -"), label.trim());
    // A user message is the leaf again, not sent again.
    let question = s.run("append ./two-branches.jsonl --user 'And if it rains?'");
    s.run("pop ./two-branches.jsonl");
    assert_eq!(place("switch ./two-branches.jsonl -"), question.trim());
}

#[test]
fn where_the_session_continues_is_reported_as_in_tree() {
    let s = Sandbox::with(&["tour.jsonl"]);
    let report = |reference: &str| {
        s.pisess(&format!("switch ./tour.jsonl {reference}"))
            .done()
            .stderr
    };
    assert_eq!(
        report("e8830b5a"),
        "pisess: now at e8830b5a  read: src/clock.rs:35-64\n"
    );
    assert_eq!(
        report("15f9ad3c"),
        "pisess: now at 15f9ad3c  bash: [failed] cargo test --quiet\n"
    );
}

#[test]
fn the_previous_leaf_is_a_reference() {
    let s = Sandbox::with(&[TWO]);
    assert_eq!(
        s.run("show ./two-branches.jsonl - --json"),
        s.run("show ./two-branches.jsonl 1a2b3c05 --json")
    );
    // The leaf never moved, because other programs only append below it.
    let agent = |id: &str, parent: &str| user(id, Some(parent), "x");
    let label = r#"{"type":"label","id":"l","parentId":"a","targetId":"a","label":"x"}"#.to_owned();
    s.put(
        "one.jsonl",
        session(&[
            user("a", None, "x"),
            label,
            agent("b", "a"),
            agent("c", "b"),
        ]),
    );
    assert_snapshot!(s.unchanged("switch ./one.jsonl -").fails(2), @"./one.jsonl: there is no previous leaf: the leaf has never moved (hint: `pisess branches` lists the branches; an entry with the id - is `id:-`)");
    // An entry with this id, and a record of another tool.
    let record = r#"{"type":"leaf","id":"r","parentId":"-","targetId":"a"}"#.to_owned();
    s.put(
        "id.jsonl",
        session(&[user("a", None, "x"), agent("-", "a"), record]),
    );
    assert!(s.run("show ./id.jsonl id:- --json").contains(r#""id":"-""#));
    assert!(
        s.run("show ./id.jsonl - --json").contains(r#""id":"-""#),
        "before the record"
    );
    assert_snapshot!(s.unchanged("label ./one.jsonl @ -").fails(2), @r#""-" reads as a reference and cannot be a label (hint: choose another label: not -, @, root, :…, id:… or label:…, without a suffix such as ^, ~3 or +3, and without `..`)"#);
    // Marks whose origin is gone, or that are not objects.
    let mark = |id: &str, parent: &str, data: &str| {
        format!(
            r#"{{"type":"custom","customType":"pisess.switch","data":{data},"id":"{id}","parentId":"{parent}"}}"#
        )
    };
    let lines = [
        user("a", None, "x"),
        agent("b", "a"),
        mark("m", "b", r#"{"from":"gone","to":"b"}"#),
        mark("n", "m", "7"),
    ];
    s.put("gone.jsonl", session(&lines));
    s.unchanged("switch ./gone.jsonl -").fails(2);
    let lines = [
        user("a", None, "x"),
        agent("b", "a"),
        mark("m", "a", r#"{"from":"gone","to":"a"}"#),
    ];
    s.put("gone.jsonl", session(&lines));
    assert!(
        s.run("show ./gone.jsonl - --json").contains(r#""id":"b""#),
        "the order of the file"
    );
}

#[test]
fn a_hook_is_asked() {
    let s = Sandbox::with(&[TWO]);
    for (options, wanted) in [("", false), ("--summarize", true)] {
        let seen = s.path("seen");
        s.run(&format!(
            "switch -n {options} ./{TWO} 1a2b3c04 --hook 'cat > {}'",
            seen.display()
        ));
        let event: Value = serde_json::from_slice(&s.bytes("seen")).unwrap();
        assert_eq!(event["type"], "session_before_tree");
        assert_eq!(event["preparation"]["targetId"], "1a2b3c04");
        assert_eq!(event["preparation"]["userWantsSummary"], wanted);
    }
    let cancel = r#"echo {\"cancel\":true}"#;
    assert_eq!(
        s.unchanged(&format!("switch ./{TWO} 1a2b3c05 --hook '{cancel}'"))
            .fails(1),
        "the hook cancelled the operation; nothing was written"
    );
    let label = r#"echo {\"label\":\"x\"}"#;
    let said = s
        .unchanged(&format!("switch ./{TWO} root --hook '{label}'"))
        .fails(2);
    assert!(
        said.contains("its `label` is for root, which is not an entry; nothing was written"),
        "{said}"
    );
    // The hook's summary is ignored, because none was requested; its label is set.
    let answer = r#"{\"summary\":\"mine\",\"label\":\"kept\"}"#;
    s.run(&format!("switch ./{TWO} 1a2b3c05 --hook 'echo {answer}'"));
    assert_snapshot!(s.lines_from(TWO, 9), @r#"
    {"type":"custom","customType":"pisess.switch","data":{"from":"1a2b3c07","to":"1a2b3c05"},"id":"226b1b5c","parentId":"1a2b3c05","timestamp":"2026-05-04T12:00:00.000Z"}
    {"type":"label","id":"27aa2424","parentId":"226b1b5c","timestamp":"2026-05-04T12:00:00.000Z","targetId":"1a2b3c05","label":"kept"}
    "#);
}

#[test]
fn preparation() {
    let s = Sandbox::with(&[TWO]);
    let prepared = s
        .unchanged("switch --prepare ./two-branches.jsonl 1a2b3c05")
        .quiet();
    let summarized = s
        .unchanged("summarize --prepare ./two-branches.jsonl 1a2b3c05")
        .quiet();
    assert_eq!(
        prepared,
        summarized.replace("\"userWantsSummary\":true", "\"userWantsSummary\":false")
    );
}

#[test]
fn in_an_oh_my_pi_file() {
    let s = Sandbox::with(&["omp.jsonl"]);
    assert_snapshot!(s.run("switch ./omp.jsonl '@^{custom_message}'"), @"
    226b1b5c
    Look at the EXIF data of c.jpg
    ");
    assert_snapshot!(s.text("omp.jsonl").lines().last().unwrap(), @r#"{"type":"custom","customType":"pisess.switch","data":{"from":"d7e8f90a","to":"5f607182"},"id":"226b1b5c","parentId":"5f607182","timestamp":"2026-05-04T12:00:00.000Z"}"#);
    // Entries that pisess writes are not evidence of a live agent.
    s.run("switch ./omp.jsonl 93a4b5c6");
}

#[test]
fn an_older_file_is_migrated_and_moved_in_one_rename() {
    let s = Sandbox::with(&["v1.jsonl", "draft-tree.jsonl"]);
    let migrated = s.run("migrate ./v1.jsonl -o -");
    assert_snapshot!(s.run("switch ./v1.jsonl cb26a1f8"), @"
    226b1b5c
    And beans?
    ");
    assert_snapshot!(s.text("v1.jsonl").strip_prefix(&migrated).unwrap(), @r#"{"type":"custom","customType":"pisess.switch","data":{"from":"cebfaa52","to":"1858c9d3"},"id":"226b1b5c","parentId":"1858c9d3","timestamp":"2026-05-04T12:00:00.000Z"}"#);
    s.run("switch ./draft-tree.jsonl e0181802");
    assert_snapshot!(s.lines_from("draft-tree.jsonl", 17), @r#"{"type":"custom","customType":"pisess.switch","data":{"from":"5e29b866","to":"e0181802"},"id":"226b1b5c","parentId":"e0181802","timestamp":"2026-05-04T12:00:00.000Z"}"#);
}

#[test]
fn dry_run_and_json() {
    let s = Sandbox::with(&[TWO]);
    assert_snapshot!(s.unchanged("switch -n ./two-branches.jsonl 1a2b3c04"), @"
    would append 1 line to ./two-branches.jsonl
     size  id        type    content
    167 B  226b1b5c  custom  pisess.switch
    2> pisess: would be at 1a2b3c02  assistant: Tissue paper is light, washi is strong.
    ");
    assert_snapshot!(s.unchanged("switch -n --json ./two-branches.jsonl 1a2b3c04"), @r#"{"path":"./two-branches.jsonl","action":"append","dryRun":true,"written":[{"type":"custom","customType":"pisess.switch","data":{"from":"1a2b3c07","to":"1a2b3c03"},"id":"226b1b5c","parentId":"1a2b3c03","timestamp":"2026-05-04T12:00:00.000Z"}],"editorText":"Tissue paper then. How big?"}"#);
    assert_snapshot!(s.run("switch --json ./two-branches.jsonl 1a2b3c04"), @r#"{"path":"./two-branches.jsonl","action":"append","dryRun":false,"written":[{"type":"custom","customType":"pisess.switch","data":{"from":"1a2b3c07","to":"1a2b3c03"},"id":"226b1b5c","parentId":"1a2b3c03","timestamp":"2026-05-04T12:00:00.000Z"}],"editorText":"Tissue paper then. How big?"}"#);
}

#[test]
fn to_standard_output() {
    let s = Sandbox::with(&[TWO]);
    let done = s.pisess("switch - 1a2b3c04").stdin(fixture(TWO)).done();
    assert!(done.stdout.starts_with(&fixture(TWO)));
    assert_snapshot!(done.stderr, @"
    226b1b5c
    Tissue paper then. How big?
    ");
    assert_eq!((done.code, done.text().lines().count()), (0, 9));
}

/// The agents would look up the parent by its id, and find no entry or another one.
#[test]
fn nothing_hangs_under_an_entry_that_no_id_names() {
    let s = Sandbox::with(&[TWO]);
    let answer = |id: &str, text: &str| {
        format!(
            r#"{{"type":"message",{id}"parentId":"1a2b3c07","message":{{"role":"assistant","content":"{text}"}}}}"#
        )
    };
    let lines = [
        answer("", "no id"),
        answer(r#""id":"d","#, "first"),
        answer(r#""id":"d","#, "second"),
    ]
    .join("\n");
    s.put(TWO, format!("{}{lines}\n", s.text(TWO)));
    assert_snapshot!(s.unchanged("switch -q ./two-branches.jsonl :9").fails(2), @"./two-branches.jsonl:9: the entry has no id, so it cannot be a parent (hint: see `pisess check ./two-branches.jsonl`)");
    assert_snapshot!(s.unchanged("switch -q ./two-branches.jsonl :10").fails(2), @"./two-branches.jsonl:10: the entry has the same id as a later one, so it cannot be a parent (hint: see `pisess check ./two-branches.jsonl`)");
    assert_snapshot!(s.unchanged("summarize -q ./two-branches.jsonl :10 --summary s").fails(2), @"./two-branches.jsonl:10: the entry has the same id as a later one, so it cannot be a parent (hint: see `pisess check ./two-branches.jsonl`)");
}

#[test]
fn the_mark_is_nothing_to_anyone() {
    let s = Sandbox::with(&["tour.jsonl"]);
    let (context, cut) = (
        s.run("context ./tour.jsonl 648dc1b3"),
        "--keep-recent-tokens 10",
    );
    s.run("switch ./tour.jsonl 648dc1b3");
    assert_eq!(s.run("context ./tour.jsonl"), context);
    assert_snapshot!(s.unchanged("check ./tour.jsonl"), @"2> pisess: 1 session checked: no problems");
    let forked = s.run("fork -o - ./tour.jsonl");
    s.put("forked.jsonl", &forked);
    assert_eq!(s.run("context ./forked.jsonl"), context);
    let prepared: Value =
        serde_json::from_str(&s.run(&format!("compact --prepare {cut} ./tour.jsonl"))).unwrap();
    let kept = prepared["firstKeptEntryId"].as_str().unwrap();
    s.run(&format!("compact {cut} ./tour.jsonl --summary s"));
    assert_eq!(
        s.run("path --ids ./tour.jsonl")
            .lines()
            .filter(|&id| id == kept)
            .count(),
        1
    );
}

/// Entries appended meanwhile stay; the move starts from there.
#[test]
fn the_file_grew_meanwhile() {
    let s = Sandbox::with(&[TWO]);
    let more = crate::sandbox::user("aaaa0001", Some("1a2b3c07"), "one thing more");
    s.put("more", format!("{more}\n"));
    let append = format!(
        "cat {} >> {}",
        s.path("more").display(),
        s.path(TWO).display()
    );
    s.run(&format!(
        "switch ./{TWO} 1a2b3c05 --hook 'if grep -q _before_; then {append}; fi'"
    ));
    assert_snapshot!(s.lines_from(TWO, 10), @r#"{"type":"custom","customType":"pisess.switch","data":{"from":"aaaa0001","to":"1a2b3c05"},"id":"226b1b5c","parentId":"1a2b3c05","timestamp":"2026-05-04T12:00:00.000Z"}"#);
}
