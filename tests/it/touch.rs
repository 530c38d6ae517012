//! `pisess touch`: appends an entry that names another.

use crate::sandbox::{Sandbox, fixture};
use insta::assert_snapshot;

#[test]
fn appends_an_entry_that_names_another() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    assert_snapshot!(s.run("tree ./two-branches.jsonl --filter all"), @"
    1a2b3c01  • [start] user: Which paper for a kite?
    1a2b3c02  • assistant: Tissue paper is light, washi is strong.
    1a2b3c03  • label: start
    1a2b3c06  ├─ • user: Washi then. How big?  (2 entries, 4mo)
    1a2b3c07  │  • assistant: A metre and more, with a bamboo spar.  ← active
    1a2b3c04  └─ user: Tissue paper then. How big?  (2 entries, 4mo)
    1a2b3c05     assistant: Half a metre; larger ones tear.
    ");
    assert_snapshot!(s.run("touch ./two-branches.jsonl 1a2b3c05"), @"226b1b5c");
    assert_snapshot!(s.run("tree ./two-branches.jsonl --filter all"), @"
    1a2b3c01  • [start] user: Which paper for a kite?
    1a2b3c02  • assistant: Tissue paper is light, washi is strong.
    1a2b3c03  • label: start
    1a2b3c06  ├─ • user: Washi then. How big?  (2 entries, 4mo)
    1a2b3c07  │  • assistant: A metre and more, with a bamboo spar.
    226b1b5c  │  • custom: pisess.touch  ← active
    1a2b3c04  └─ user: Tissue paper then. How big?  (2 entries, 4mo)
    1a2b3c05     assistant: Half a metre; larger ones tear.
    ");
    assert_snapshot!(s.lines_from("two-branches.jsonl", 9), @r#"{"type":"custom","customType":"pisess.touch","data":{"targetId":"1a2b3c05"},"id":"226b1b5c","parentId":"1a2b3c07","timestamp":"2026-05-04T12:00:00.000Z"}"#);
    assert!(s.bytes("two-branches.jsonl").starts_with(&fixture("two-branches.jsonl")));
    assert_eq!(s.names(), ["two-branches.jsonl"]);
}

#[test]
fn a_dry_run_prints_the_entry() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    assert_snapshot!(s.unchanged("touch -n ./two-branches.jsonl start"), @r#"
    append 1 line to ./two-branches.jsonl
    {"type":"custom","customType":"pisess.touch","data":{"targetId":"1a2b3c01"},"id":"226b1b5c","parentId":"1a2b3c07","timestamp":"2026-05-04T12:00:00.000Z"}
    "#);
    assert_snapshot!(s.unchanged("touch -n --json ./two-branches.jsonl start"), @r#"{"path":"./two-branches.jsonl","action":"append","dryRun":true,"written":[{"type":"custom","customType":"pisess.touch","data":{"targetId":"1a2b3c01"},"id":"226b1b5c","parentId":"1a2b3c07","timestamp":"2026-05-04T12:00:00.000Z"}],"editorText":null}"#);
}

#[test]
fn the_leaf_is_the_last_entry_of_the_conversation() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    s.run("touch ./two-branches.jsonl @");
    s.run("touch ./two-branches.jsonl @");
    assert_snapshot!(s.lines_from("two-branches.jsonl", 9), @r#"
    {"type":"custom","customType":"pisess.touch","data":{"targetId":"1a2b3c07"},"id":"226b1b5c","parentId":"1a2b3c07","timestamp":"2026-05-04T12:00:00.000Z"}
    {"type":"custom","customType":"pisess.touch","data":{"targetId":"1a2b3c07"},"id":"27aa2424","parentId":"226b1b5c","timestamp":"2026-05-04T12:00:00.000Z"}
    "#);
}

#[test]
fn only_an_entry_is_touched() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    assert_snapshot!(s.unchanged("touch ./two-branches.jsonl root").fails(2), @"./two-branches.jsonl: root is not an entry (hint: root is the position before the first entry; give an entry)");
}

#[test]
fn undo_takes_it_back() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    s.run("touch ./two-branches.jsonl start");
    assert_snapshot!(s.pisess("undo ./two-branches.jsonl").done().stderr, @"pisess: undid the custom 226b1b5c; back to 1a2b3c07");
    assert_snapshot!(s.run("tree ./two-branches.jsonl --filter all"), @"
    1a2b3c01  • [start] user: Which paper for a kite?
    1a2b3c02  • assistant: Tissue paper is light, washi is strong.
    1a2b3c03  • label: start
    1a2b3c06  ├─ • user: Washi then. How big?  (2 entries, 4mo)
    1a2b3c07  │  • assistant: A metre and more, with a bamboo spar.
    27aa2424  │  ├─ • custom: pisess.switch  ← active
    226b1b5c  │  └─ custom: pisess.touch  (undone)
    1a2b3c04  └─ user: Tissue paper then. How big?  (2 entries, 4mo)
    1a2b3c05     assistant: Half a metre; larger ones tear.
    ");
}
