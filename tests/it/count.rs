//! `pisess count`: how many entries of each type a session has.

use crate::sandbox::{Sandbox, session, user};
use insta::assert_snapshot;

#[test]
fn the_most_frequent_first() {
    let s = Sandbox::with(&["tour.jsonl", "v1.jsonl"]);
    assert_snapshot!(s.unchanged("count ./tour.jsonl"), @"
    25  message
     2  label
     1  branch_summary
     1  compaction
     1  model_change
     1  thinking_level_change
    ");
    assert_snapshot!(s.unchanged("count --json ./tour.jsonl"), @r#"
    {"type":"message","entries":25}
    {"type":"label","entries":2}
    {"type":"branch_summary","entries":1}
    {"type":"compaction","entries":1}
    {"type":"model_change","entries":1}
    {"type":"thinking_level_change","entries":1}
    "#);
    assert_snapshot!(s.unchanged("count ./v1.jsonl"), @"
    7  message
    1  compaction
    1  thinking_level_change
    ");
}

#[test]
fn unknown_types_and_none() {
    let s = Sandbox::new();
    let lines = [
        user("aaaa0001", None, "hi"),
        r#"{"type":"holo\u001bgram","id":"aaaa0002","parentId":"aaaa0001"}"#.to_owned(),
        r#"{"id":"aaaa0003","parentId":"aaaa0002"}"#.to_owned(),
        r#"{"type":"holo\u001bgram","id":"aaaa0004","parentId":"aaaa0003"}"#.to_owned(),
    ];
    s.put("s.jsonl", session(&lines));
    assert_snapshot!(s.run("count ./s.jsonl"), @"
    2  holo␛gram
    1  (no type)
    1  message
    ");
    assert_snapshot!(s.run("count --json ./s.jsonl"), @r#"
    {"type":"holo\u001bgram","entries":2}
    {"type":null,"entries":1}
    {"type":"message","entries":1}
    "#);
}

#[test]
fn without_entries_nothing_is_printed() {
    let s = Sandbox::with(&["hazards/header-only.jsonl"]);
    for form in ["", "--json"] {
        assert_eq!(s.run(&format!("count ./header-only.jsonl {form}")), "");
    }
}
