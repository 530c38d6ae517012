//! `pisess path`: the entries from the root to an entry.

use crate::sandbox::{Sandbox, fixture};
use insta::assert_snapshot;

#[test]
fn to_the_leaf_and_to_an_entry() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    assert_snapshot!(s.run("path ./two-branches.jsonl"), @"
    2  1a2b3c01  2026-01-01 00:00  [start] user: Which paper for a kite?
    3  1a2b3c02             00:00  assistant: Tissue paper is light, washi is strong.
    4  1a2b3c03             00:00  label: start
    7  1a2b3c06             00:00  user: Washi then. How big?
    8  1a2b3c07             00:00  assistant: A metre and more, with a bamboo spar.
    ");
    assert_snapshot!(s.run("path ./two-branches.jsonl 1a2b3c05"), @"
    2  1a2b3c01  2026-01-01 00:00  [start] user: Which paper for a kite?
    3  1a2b3c02             00:00  assistant: Tissue paper is light, washi is strong.
    4  1a2b3c03             00:00  label: start
    5  1a2b3c04             00:00  user: Tissue paper then. How big?
    6  1a2b3c05             00:00  assistant: Half a metre; larger ones tear.
    ");
}

#[test]
fn ids_alone() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    assert_snapshot!(s.run("path ./two-branches.jsonl --ids"), @"
    1a2b3c01
    1a2b3c02
    1a2b3c03
    1a2b3c06
    1a2b3c07
    ");
}

#[test]
fn of_root_is_empty() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    for form in ["", "--ids", "--json"] {
        for reference in ["root", "1a2b3c01^"] {
            let done = s.unchanged(&format!("path ./two-branches.jsonl {reference} {form}"));
            assert_eq!((done.code, done.text()), (0, String::new()));
        }
    }
}

#[test]
fn settings_and_bookkeeping_are_on_it() {
    let s = Sandbox::with(&["tour.jsonl"]);
    assert_snapshot!(s.run("path ./tour.jsonl"), @r#"
     2  4f1c02a9  2026-03-14 09:26  model: claude-sonnet-4-5
     3  b7e3d510             09:26  thinking: low
     4  0d9a6c31             09:27  user: The 00:10 ferry shows up as "left 23 h ago" when I ask at 23:50. Can you find out why?
     5  c25f81e7             09:27  assistant: I'll look for where the waiting time is computed.
     6  9e04b3d8             09:27  grep: /fn departs_in/ in src
     7  61a7f2cc             09:27  assistant: (calls read)
     8  e8830b5a             09:27  read: src/clock.rs:35-64
     9  27d4c96f             09:28  [cause found] assistant: `departs_in` subtracts minutes of the day, so across midnight the result is negative: 10 - 1430 = -1420 minutes, printed as "left 23 h ago". The timetable has no dates, only times.
    10  f05b1e83             09:28  label: cause found
    19  90f6a3e8             09:31  branch summary: Make `departs_in` right across midnight.
    20  3de1b752             09:31  user: Undo that, and take the nearer of the two: yesterday's or tomorrow's departure.
    21  c8a45f06             09:31  assistant: So the result lies within half a day either way.
    22  1b72ce9d             09:31  edit: src/clock.rs
    23  fa39d058             09:31  bash: cargo test --quiet
    24  648dc1b3             09:31  [green] assistant: All 14 tests pass, and at 23:50 the 00:10 ferry departs in 20 min.
    25  0fe7a29c             09:32  label: green
    26  b5d60e41             09:32  user: Good. Please add a test for exactly that evening.
    27  7a13f8c2             09:32  assistant: (calls write)
    28  e19c4d07             09:32  write: tests/midnight.rs
    29  42b8f65a             09:32  assistant: `tests/midnight.rs` pins it down: asked at 23:50, the 00:10 ferry departs in 20 minutes.
    30  dc705e93             09:43  compaction: 12.5k tokens · Make waiting times right across midnight in `ferry`.
    31  86e2a1fb             09:43  user: Now a line for the changelog, for people who don't read code.
    32  2f5dc03e             09:43  assistant: "Ferries after midnight no longer show as gone: asked at 23:50, the 00:10 departs in 20 minutes."
    "#);
}

#[test]
fn json_is_the_lines_of_the_file() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let text = String::from_utf8(fixture("two-branches.jsonl")).unwrap();
    let lines: Vec<_> = text.lines().collect();
    let expected = [1, 2, 3, 6, 7]
        .map(|at| format!("{}\n", lines[at]))
        .concat();
    assert_eq!(s.run("path ./two-branches.jsonl --json"), expected);
}

#[test]
fn json_is_as_migrate_would_store_it() {
    for name in ["v1.jsonl", "v2.jsonl", "draft-tree.jsonl"] {
        let s = Sandbox::with(&[name]);
        let before = s.run(&format!("path ./{name} --json"));
        let ids = s.run(&format!("path ./{name} --ids"));
        s.run(&format!("migrate ./{name}"));
        let after = s.run(&format!("path ./{name} --json"));
        assert_eq!(after, before, "{name}");
        assert_eq!(s.run(&format!("path ./{name} --ids")), ids, "{name}");
    }
}

#[test]
fn version_one() {
    let s = Sandbox::with(&["v1.jsonl"]);
    assert_snapshot!(s.run("path ./v1.jsonl --json"), @r#"
    {"type":"message","timestamp":"2026-03-14T09:26:54.589Z","message":{"role":"user","content":"When should I sow carrots?","timestamp":1773480414589},"id":"4c411fb5","parentId":null}
    {"type":"message","timestamp":"2026-03-14T09:26:57.589Z","message":{"role":"assistant","content":[{"type":"text","text":"From March on, when the soil is no longer cold."}],"api":"anthropic-messages","provider":"anthropic","model":"claude-opus-4-5","usage":{"input":900,"output":40,"cacheRead":0,"cacheWrite":0,"totalTokens":940,"cost":{"input":0.0027,"output":0.0006,"cacheRead":0,"cacheWrite":0,"total":0.0033}},"stopReason":"stop","timestamp":1773480417589},"id":"c307e4fd","parentId":"4c411fb5"}
    {"type":"message","timestamp":"2026-03-14T09:27:02.589Z","message":{"role":"custom","customType":"weather","content":"Soil at 10 cm: 7 °C","display":true,"timestamp":1773480422589},"id":"1858c9d3","parentId":"c307e4fd"}
    {"type":"message","timestamp":"2026-03-14T09:27:13.589Z","message":{"role":"user","content":[{"type":"text","text":"And beans?"}],"timestamp":1773480433589},"id":"cb26a1f8","parentId":"1858c9d3"}
    {"type":"message","timestamp":"2026-03-14T09:27:17.589Z","message":{"role":"assistant","content":[{"type":"text","text":"Mid-May, after the last frost."}],"api":"anthropic-messages","provider":"anthropic","model":"claude-opus-4-5","usage":{"input":900,"output":40,"cacheRead":0,"cacheWrite":0,"totalTokens":940,"cost":{"input":0.0027,"output":0.0006,"cacheRead":0,"cacheWrite":0,"total":0.0033}},"stopReason":"stop","timestamp":1773480437589},"id":"ac4bd0d1","parentId":"cb26a1f8"}
    {"type":"compaction","timestamp":"2026-03-14T09:27:53.589Z","summary":"Carrots from March, beans from mid-May.","tokensBefore":1900,"id":"c24d8cb7","parentId":"ac4bd0d1","firstKeptEntryId":"cb26a1f8"}
    {"type":"thinking_level_change","timestamp":"2026-03-14T09:28:23.589Z","thinkingLevel":"medium","id":"80b80871","parentId":"c24d8cb7"}
    {"type":"message","timestamp":"2026-03-14T09:28:24.589Z","message":{"role":"user","content":"Make me a calendar.","timestamp":1773480504589},"id":"f55275d5","parentId":"80b80871"}
    {"type":"message","timestamp":"2026-03-14T09:28:32.589Z","message":{"role":"assistant","content":[{"type":"text","text":"March: carrots. May: beans."}],"api":"anthropic-messages","provider":"anthropic","model":"claude-opus-4-5","usage":{"input":900,"output":40,"cacheRead":0,"cacheWrite":0,"totalTokens":940,"cost":{"input":0.0027,"output":0.0006,"cacheRead":0,"cacheWrite":0,"total":0.0033}},"stopReason":"stop","timestamp":1773480512589},"id":"cebfaa52","parentId":"f55275d5"}
    "#);
}

#[test]
fn a_draft_tree() {
    let s = Sandbox::with(&["draft-tree.jsonl"]);
    assert_snapshot!(s.run("path ./draft-tree.jsonl"), @"
    13  0d98c807  2026-03-14 09:28  compaction: 0 tokens · A CLI was wanted; Node and Rust were tried.
    14  f8d11dfd             09:28  user: Write its manual
    16  5e29b866             09:29  assistant: Half a page will do.
    ");
}

/// Lines are read back through a window, which is shorter than some of them.
#[test]
fn many_entries_come_in_order_and_whole() {
    let id = |at: usize| format!("{at:08x}");
    let entry = |at: usize| {
        let parent = at.checked_sub(1).map(id);
        let text = "text ".repeat(if at == 700 { 400_000 } else { at % 150 });
        crate::sandbox::user(&id(at), parent.as_deref(), &text)
    };
    let lines: Vec<String> = (0..1500).map(entry).collect();
    let s = Sandbox::new();
    s.put("long.jsonl", crate::sandbox::session(&lines));
    assert!(s.run("path ./long.jsonl --json") == lines.join("\n") + "\n");
    let message = |line: &String| {
        let start = line.find(r#""message":"#).unwrap() + r#""message":"#.len();
        line[start..line.len() - 1].to_owned()
    };
    let messages: Vec<String> = lines.iter().map(message).collect();
    let context = s.run("context ./long.jsonl");
    assert!(context.starts_with(&format!("{{\"messages\":[{}]", messages.join(","))));
}

/// Long runs of lines that are printed as stored are sent at once. Lines between the runs are not
/// part of the path, or are printed without their padding.
#[test]
fn long_paths_are_stored_lines() {
    let s = Sandbox::with(&[]);
    let mut session =
        String::from("{\"type\":\"session\",\"version\":3,\"id\":\"long\",\"cwd\":\"/\"}\n");
    let mut expected = String::new();
    for at in 0..3000 {
        let parent = if at == 0 {
            "null".to_owned()
        } else {
            format!("\"e{}\"", at - 1)
        };
        let text = "x".repeat(at % 300);
        let line = format!(
            "{{\"type\":\"message\",\"id\":\"e{at}\",\"parentId\":{parent},\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}}}"
        );
        // Padding, a broken line, a blank one and a branch that is not on the path interrupt the
        // runs.
        session += match at {
            1000 => "\n",
            1400 => "{broken\n",
            1800 => "{\"type\":\"custom\",\"id\":\"aside\",\"parentId\":\"e5\"}\n",
            _ => "",
        };
        session += &if at % 1100 == 500 {
            format!("  {line} \r\n")
        } else {
            line.clone() + "\n"
        };
        expected += &(line + "\n");
    }
    s.put("long.jsonl", &session);
    assert_eq!(
        s.pisess("path -q --json ./long.jsonl").done().quiet(),
        expected
    );
    assert_eq!(
        s.pisess("path -q --json ./long.jsonl").real().quiet(),
        expected
    );
    assert_eq!(
        s.pisess("path -q --json -").stdin(session).real().quiet(),
        expected
    );
}
