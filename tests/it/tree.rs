//! `pisess tree`: layout, filters, search, marks.

use crate::sandbox::{Sandbox, session, user};
use insta::assert_snapshot;
use unicode_width::UnicodeWidthStr;

/// A chat program's blocks before the words of a user are folded in rows for people, and only
/// there.
#[test]
fn a_forwarded_message_is_its_words() {
    let blocks = r#"Conversation info (untrusted metadata):\n```json\n{\n  \"sender\": \"Ada\"\n}\n```\n\n[Sun 2026-04-19 00:33 GMT+8] "#;
    let session = |content: &str| {
        format!(
            "{{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2026-05-04T11:00:00.000Z\",\"cwd\":\"/w\"}}\n{{\"type\":\"message\",\"id\":\"aaaaaaaa\",\"parentId\":null,\"timestamp\":\"2026-05-04T11:00:00.000Z\",\"message\":{{\"role\":\"user\",\"content\":{content},\"timestamp\":1}}}}\n"
        )
    };
    let s = Sandbox::new();
    let words = "Is the importer online?\\nSay so.";
    for (at, content) in [
        format!("\"{blocks}{words}\""),
        format!("[{{\"type\":\"text\",\"text\":\"{blocks}{words}\"}}]"),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("{at}.jsonl");
        s.put(&name, session(&content));
        for line in ["tree", "list", "branches", "path"] {
            // A title has only what was asked.
            let folded = match line {
                "list" => "Is the importer online? Say so.",
                _ => "[…] Is the importer online? Say so.",
            };
            let rows = s.run(&format!("{line} ./{name}"));
            assert!(
                rows.contains(folded) && !rows.contains("ntrusted"),
                "{line}: {rows}"
            );
            let rows = s.run(&format!("{line} --json ./{name}"));
            assert!(
                rows.contains("Conversation info (untrusted metadata):"),
                "{line}: {rows}"
            );
            assert!(!rows.contains("[…]"), "{line}: {rows}");
        }
        let piped = s
            .pisess("list - --json")
            .stdin(session(&content))
            .done()
            .quiet();
        assert!(
            piped.contains("Say so.") && piped.contains("Conversation info"),
            "{piped}"
        );
    }
    // What an agent shows of a row is not folded.
    let rows = s.run("tree --json ./0.jsonl");
    assert!(
        rows.contains(r#"user: Conversation info (untrusted metadata): ```json"#),
        "{rows}"
    );
}

/// What programs put around the words of a conversation in Claude Code: notes of an editor, tools
/// that ask and plan, reports of tasks.
#[test]
fn rows_have_the_words_without_what_programs_put_around_them() {
    let message = |id: &str, parent: &str, message: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-01-01T00:00:01.000Z","message":{message}}}"#
        )
    };
    let call = |name: &str, arguments: &str| {
        format!(
            r#"{{"role":"assistant","content":[{{"type":"toolCall","id":"{name}","name":"{name}","arguments":{arguments}}}]}}"#
        )
    };
    let result = |name: &str| {
        format!(
            r#"{{"role":"toolResult","toolCallId":"{name}","toolName":"{name}","content":[{{"type":"text","text":"ok"}}]}}"#
        )
    };
    let report = |id: &str, parent: &str, kind: &str, content: &str| {
        format!(
            r#"{{"type":"custom_message","customType":"{kind}","content":"{content}","display":true,"id":"{id}","parentId":{parent},"timestamp":"2026-01-01T00:00:01.000Z"}}"#
        )
    };
    let lines = [
        message(
            "a1",
            "null",
            r#"{"role":"user","content":[{"type":"text","text":"<ide_opened_file>The user opened kite.md in the IDE.</ide_opened_file>"},{"type":"text","text":"Which paper is **lighter**?"}]}"#,
        ),
        message(
            "a2",
            r#""a1""#,
            &call(
                "AskUserQuestion",
                r#"{"questions":[{"question":"For which wind?","options":[]}]}"#,
            ),
        ),
        message("b2", r#""a2""#, &result("AskUserQuestion")),
        message(
            "a3",
            r#""b2""#,
            &call(
                "TodoWrite",
                r#"{"todos":[{"content":"Weigh washi","status":"completed"},{"content":"Weigh silk","status":"in_progress"}]}"#,
            ),
        ),
        message("b3", r#""a3""#, &result("TodoWrite")),
        report(
            "a4",
            r#""b3""#,
            "claude.notification",
            "<task-notification>\\n<task-id>b1</task-id>\\n<summary>The scale is ready</summary>\\n</task-notification>",
        ),
        report(
            "a5",
            r#""a4""#,
            "claude.output",
            "<local-command-stdout>Set model to opus</local-command-stdout>",
        ),
    ];
    let s = Sandbox::new();
    s.put("s.jsonl", session(&lines));
    assert_snapshot!(s.run("tree ./s.jsonl"), @r"
    a1  • user: Which paper is **lighter**?
    b2  • AskUserQuestion: For which wind?
    b3  • TodoWrite: 1 of 2 done: Weigh silk
    a4  • claude.notification: The scale is ready
    a5  • claude.output: Set model to opus  ← active
    ");
    let listed = s.run("list ./s.jsonl");
    assert!(
        listed.trim_end().ends_with("Which paper is lighter?"),
        "{listed}"
    );
    let markdown = s.run("export ./s.jsonl --as markdown -o -");
    assert!(markdown.contains("From the editor"), "{markdown}");
}

/// Returns the rows of a tree that another does not have.
fn rows_only_in(one: &str, other: &str) -> String {
    one.lines()
        .filter(|row| !other.lines().any(|other| other == *row))
        .map(|row| format!("{row}\n"))
        .collect()
}

#[test]
fn the_tour() {
    let s = Sandbox::with(&["tour.jsonl"]);
    assert_snapshot!(s.run("tree ./tour.jsonl"), @r#"
    0d9a6c31  • user: The 00:10 ferry shows up as "left 23 h ago" when I ask at 23:50. Can you find out why?
    c25f81e7  • assistant: I'll look for where the waiting time is computed.
    9e04b3d8  • grep: /fn departs_in/ in src
    e8830b5a  • read: src/clock.rs:35-64
    27d4c96f  • [cause found] assistant: `departs_in` subtracts minutes of the day, so across midnight the result is negative: 10 - 1430 = -1420 minutes, printed as "left 23 h ago". The timetable has no dates, only times.
    5c07d14b  ├╴ 8 messages · Just add a day when it comes out negative.  1mo
    90f6a3e8  • branch summary: Make `departs_in` right across midnight.
    3de1b752  • user: Undo that, and take the nearer of the two: yesterday's or tomorrow's departure.
    c8a45f06  • assistant: So the result lies within half a day either way.
    1b72ce9d  • edit: src/clock.rs
    fa39d058  • bash: cargo test --quiet
    648dc1b3  • [green] assistant: All 14 tests pass, and at 23:50 the 00:10 ferry departs in 20 min.
    b5d60e41  • user: Good. Please add a test for exactly that evening.
    e19c4d07  • write: tests/midnight.rs
    42b8f65a  • assistant: `tests/midnight.rs` pins it down: asked at 23:50, the 00:10 ferry departs in 20 minutes.
    dc705e93  • ── compaction: 12.5k tokens · Make waiting times right across midnight in `ferry`. ──  (kept from b5d60e41)
    86e2a1fb  • user: Now a line for the changelog, for people who don't read code.
    2f5dc03e  • assistant: "Ferries after midnight no longer show as gone: asked at 23:50, the 00:10 departs in 20 minutes."  ← active
    "#);
}

#[test]
fn no_tools() {
    let s = Sandbox::with(&["tour.jsonl"]);
    let [all, fewer] = ["", " --filter no-tools"]
        .map(|filter| s.run(&format!("tree ./tour.jsonl --unfold{filter}")));
    assert_eq!(rows_only_in(&fewer, &all), "");
    assert_snapshot!(rows_only_in(&all, &fewer), @"
    9e04b3d8  • grep: /fn departs_in/ in src
    e8830b5a  • read: src/clock.rs:35-64
    d43e5a21  │  edit: src/clock.rs
    15f9ad3c  │  bash: [failed] cargo test --quiet
    1b72ce9d  • edit: src/clock.rs
    fa39d058  • bash: cargo test --quiet
    e19c4d07  • write: tests/midnight.rs
    ");
}

#[test]
fn a_row_that_is_cut_ends_in_an_ellipsis() {
    let s = Sandbox::new();
    for (length, end) in [
        (199, "x  ← active\n"),
        (200, "x  ← active\n"),
        (201, "x…  ← active\n"),
    ] {
        s.put(
            "s.jsonl",
            session(&[user("aaaa0001", None, &"x".repeat(length))]),
        );
        let drawn = s.run("tree --filter user-only ./s.jsonl");
        assert!(drawn.ends_with(end), "{length}: {drawn}");
        assert!(
            !s.run("tree --json ./s.jsonl").contains('…'),
            "the agent's text is as it is"
        );
    }
}

#[test]
fn user_only_is_laid_out_anew() {
    let s = Sandbox::with(&["tour.jsonl"]);
    assert_snapshot!(s.run("tree ./tour.jsonl --filter user-only"), @r#"
    0d9a6c31  • user: The 00:10 ferry shows up as "left 23 h ago" when I ask at 23:50. Can you find out why?
    3ac9d7e4  ├─ user: Just add a day when it comes out negative.  (8 messages, 1mo)
    ee2b93f5  │  user: Hm. What would you do instead?
    3de1b752  • user: Undo that, and take the nearer of the two: yesterday's or tomorrow's departure.
    b5d60e41  • user: Good. Please add a test for exactly that evening.
    86e2a1fb  • user: Now a line for the changelog, for people who don't read code.  (the leaf is below, not shown)
    "#);
}

#[test]
fn labeled_only() {
    let s = Sandbox::with(&["tour.jsonl"]);
    assert_snapshot!(s.run("tree ./tour.jsonl --filter labeled-only"), @r#"
    27d4c96f  • [cause found] assistant: `departs_in` subtracts minutes of the day, so across midnight the result is negative: 10 - 1430 = -1420 minutes, printed as "left 23 h ago". The timetable has no dates, only times.
    648dc1b3  • [green] assistant: All 14 tests pass, and at 23:50 the 00:10 ferry departs in 20 min.  (the leaf is below, not shown)
    "#);
}

#[test]
fn all_shows_every_entry() {
    let s = Sandbox::with(&["tour.jsonl"]);
    let [fewer, all] =
        ["", " --filter all"].map(|filter| s.run(&format!("tree ./tour.jsonl --unfold{filter}")));
    assert_eq!(all.lines().count(), 31);
    assert_snapshot!(rows_only_in(&all, &fewer), @"
    4f1c02a9  • model: claude-sonnet-4-5
    b7e3d510  • thinking: low
    61a7f2cc  • assistant: (calls read)
    f05b1e83  • label: cause found
    72c0e8b6  │  assistant: (calls bash)
    0fe7a29c  • label: green
    7a13f8c2  • assistant: (calls write)
    ");
    assert_eq!(rows_only_in(&fewer, &all), "");
}

#[test]
fn search_takes_all_words_in_any_case() {
    let s = Sandbox::with(&["tour.jsonl"]);
    assert_snapshot!(s.run("tree ./tour.jsonl --search 'TESTS pass'"), @"
    fa39d058  • bash: cargo test --quiet ⋯ running 14 tests .............. test result: ok. 14 passed; 0 failed
    648dc1b3  • [green] assistant: All 14 tests pass, and at 23:50 the 00:10 ferry departs in 20 min.
    dc705e93  • ── compaction: …takes the nearer departure; 14 tests pass. ### In Progress - [ ] A test for the first ferry after midnight. ## Key Decisions - **Nearest departure**: adding a… ──  (the leaf is below, not shown)  (kept from b5d60e41)
    ");
    assert_snapshot!(s.run("tree ./tour.jsonl --search green"), @"648dc1b3  • [green] assistant: All 14 tests pass, and at 23:50 the 00:10 ferry departs in 20 min.  (the leaf is below, not shown)");
    let none = s
        .pisess("tree ./tour.jsonl --search 'no such words'")
        .done();
    assert_eq!((none.code, none.text().as_str()), (1, ""));
}

/// `clock.rs` is not in the first message of the branch, so its first row is another entry.
#[test]
fn tree_search_and_filters_do_not_change_the_size_of_a_branch() {
    let s = Sandbox::with(&["tour.jsonl"]);
    for view in [
        "",
        "--unfold",
        "--search clock.rs",
        "--filter no-tools --unfold",
        "--filter all --unfold",
    ] {
        let rows = s.run(&format!("tree ./tour.jsonl {view}"));
        assert!(rows.contains("8 messages"), "{view}:\n{rows}");
        assert_eq!(rows.matches(" messages").count(), 1, "{view}:\n{rows}");
    }
}

#[test]
fn search_finds_words_wherever_an_entry_says_them() {
    let far = "x ".repeat(400);
    let said = |what: &str| format!("{far}the Needle of {what}");
    let message = |id: &str, parent: &str, members: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":"{parent}","timestamp":"2026-05-04T10:00:00.000Z","message":{{{members}}}}}"#
        )
    };
    let entry = |id: &str, parent: &str, members: &str| {
        format!(
            r#"{{"type":{members},"id":"{id}","parentId":"{parent}","timestamp":"2026-05-04T10:00:00.000Z"}}"#
        )
    };
    let lines = [
        user("aaaa0001", None, &said("text")),
        message(
            "aaaa0002",
            "aaaa0001",
            &format!(
                r#""role":"assistant","content":[{{"type":"thinking","thinking":"{}"}}]"#,
                said("thinking")
            ),
        ),
        message(
            "aaaa0003",
            "aaaa0002",
            &format!(
                r#""role":"assistant","content":[{{"type":"toolCall","id":"c","name":"t","arguments":{{"a":[{{"b":"{}"}}]}}}}]"#,
                said("arguments")
            ),
        ),
        message(
            "aaaa0004",
            "aaaa0003",
            &format!(
                r#""role":"toolResult","toolCallId":"c","toolName":"t","content":[{{"type":"text","text":"{}"}}]"#,
                said("results")
            ),
        ),
        message(
            "aaaa0005",
            "aaaa0004",
            &format!(
                r#""role":"bashExecution","command":"ls","output":"{}""#,
                said("output")
            ),
        ),
        entry(
            "aaaa0006",
            "aaaa0005",
            &format!(
                r#""compaction","summary":"{}","tokensBefore":1"#,
                said("summaries")
            ),
        ),
        entry(
            "aaaa0007",
            "aaaa0006",
            &format!(
                r#""custom_message","customType":"c","content":"{}""#,
                said("notes")
            ),
        ),
        entry(
            "aaaa0008",
            "aaaa0007",
            r#""session_info","name":"in the needle of names""#,
        ),
        entry(
            "aaaa0009",
            "aaaa0008",
            r#""label","targetId":"aaaa0005","label":"Needle label""#,
        ),
        user(
            "aaaa0010",
            Some("aaaa0009"),
            "signatures and ids say nothing",
        ),
    ];
    let s = Sandbox::new();
    s.put("a.jsonl", session(&lines));
    let rows: Vec<serde_json::Value> = s
        .run("tree ./a.jsonl --filter all --search needle --json")
        .lines()
        .map(|row| serde_json::from_str(row).unwrap())
        .collect();
    let found: Vec<_> = rows
        .iter()
        .map(|row| {
            format!(
                "{} {} {}",
                row["id"], row["match"]["field"], row["match"]["start"]
            )
            .replace('"', "")
        })
        .collect();
    assert_eq!(
        found,
        [
            "aaaa0001 message.content 804",
            "aaaa0002 message.content[0].thinking 804",
            "aaaa0003 message.content[0].arguments.a[0].b 804",
            "aaaa0004 message.content[0].text 804",
            "aaaa0005 message.output 804",
            "aaaa0006 summary 804",
            "aaaa0007 content 804",
            "aaaa0008 name 7",
            "aaaa0009 label 0",
        ]
    );
    assert!(
        rows[2]["match"]["snippet"]
            .as_str()
            .unwrap()
            .ends_with("x the Needle of arguments")
    );
    // All words must match, each in any text: here in the label and in the output.
    assert_eq!(
        s.run("tree ./a.jsonl --search 'LABEL output' --json")
            .lines()
            .count(),
        1
    );
    assert_eq!(
        s.pisess("tree ./a.jsonl --search 'needle gone'")
            .done()
            .code,
        1
    );
    // Without a search there is no match.
    assert!(!s.run("tree ./a.jsonl --json").contains("\"match\""));
}

#[test]
fn drawn_as_if_another_entry_were_the_leaf() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    assert_snapshot!(s.run("tree ./two-branches.jsonl"), @"
    1a2b3c01  • [start] user: Which paper for a kite?
    1a2b3c02  • assistant: Tissue paper is light, washi is strong.
    1a2b3c04  ├─ user: Tissue paper then. How big?  (2 messages, 4mo)
    1a2b3c05  │  assistant: Half a metre; larger ones tear.
    1a2b3c06  • user: Washi then. How big?
    1a2b3c07  • assistant: A metre and more, with a bamboo spar.  ← active
    ");
    assert_snapshot!(s.run("tree ./two-branches.jsonl 1a2b3c04"), @"
    1a2b3c01  • [start] user: Which paper for a kite?
    1a2b3c02  • assistant: Tissue paper is light, washi is strong.
    1a2b3c06  ├─ user: Washi then. How big?  (2 messages, 4mo)
    1a2b3c07  │  assistant: A metre and more, with a bamboo spar.
    1a2b3c04  • user: Tissue paper then. How big?  ← REF
    1a2b3c05  └─ assistant: Half a metre; larger ones tear.  (1 message, 4mo)
    ");
    assert_snapshot!(s.run("tree ./two-branches.jsonl root"), @"
    1a2b3c01  [start] user: Which paper for a kite?
    1a2b3c02  assistant: Tissue paper is light, washi is strong.
    1a2b3c04  ├─ user: Tissue paper then. How big?  (2 messages, 4mo)
    1a2b3c05  │  assistant: Half a metre; larger ones tear.
    1a2b3c06  user: Washi then. How big?
    1a2b3c07  assistant: A metre and more, with a bamboo spar.
    ");
}

#[test]
fn around_the_leaf() {
    let s = Sandbox::with(&["tour.jsonl"]);
    assert_snapshot!(s.run("tree ./tour.jsonl --around 2"), @r#"
    ⋯ 15 rows above
    dc705e93  • ── compaction: 12.5k tokens · Make waiting times right across midnight in `ferry`. ──  (kept from b5d60e41)
    86e2a1fb  • user: Now a line for the changelog, for people who don't read code.
    2f5dc03e  • assistant: "Ferries after midnight no longer show as gone: asked at 23:50, the 00:10 departs in 20 minutes."  ← active
    "#);
    // The rows are those of the whole tree, and the connectors continue.
    let whole = s.run("tree ./tour.jsonl --times --filter all");
    for (n, first, last) in [(0, 30, 30), (1, 29, 30), (22, 8, 30), (99, 0, 30)] {
        let near = s.run(&format!(
            "tree ./tour.jsonl --times --filter all --around {n}"
        ));
        let rows: Vec<_> = near.lines().filter(|row| !row.starts_with('⋯')).collect();
        let wanted: Vec<_> = whole.lines().collect();
        let date = "2026-03-14";
        let undated = |row: &str| row.replacen(date, &" ".repeat(date.len()), 1);
        assert!(
            rows.iter()
                .map(|row| undated(row))
                .eq(wanted[first..=last].iter().map(|row| undated(row))),
            "{n}: {near}"
        );
    }
    let json = |line: &str| s.run(&format!("tree ./tour.jsonl --json {line}"));
    let all = json("");
    let leaf = all
        .lines()
        .position(|row| row.contains(r#""leaf":true"#))
        .unwrap();
    assert!(
        json("--around 1")
            .lines()
            .eq(all.lines().skip(leaf - 1).take(3))
    );
    // Around another entry; without a leaf, around the first row.
    assert!(
        s.run("tree ./tour.jsonl --at e19c4d07 --around 0")
            .contains("write: tests/midnight.rs  ← REF")
    );
    assert_eq!(json("--at root --around 1").lines().count(), 2);
}

#[test]
fn other_marks_and_columns() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    assert_snapshot!(s.run("tree ./two-branches.jsonl --ascii"), @"
    1a2b3c01  * [start] user: Which paper for a kite?
    1a2b3c02  * assistant: Tissue paper is light, washi is strong.
    1a2b3c04  |- user: Tissue paper then. How big?  (2 messages, 4mo)
    1a2b3c05  |  assistant: Half a metre; larger ones tear.
    1a2b3c06  * user: Washi then. How big?
    1a2b3c07  * assistant: A metre and more, with a bamboo spar.  <- active
    ");
    assert_snapshot!(s.run("tree ./two-branches.jsonl --no-ids"), @"
    • [start] user: Which paper for a kite?
    • assistant: Tissue paper is light, washi is strong.
    ├─ user: Tissue paper then. How big?  (2 messages, 4mo)
    │  assistant: Half a metre; larger ones tear.
    • user: Washi then. How big?
    • assistant: A metre and more, with a bamboo spar.  ← active
    ");
    assert_snapshot!(s.run("tree ./two-branches.jsonl --times"), @"
    1a2b3c01  2026-01-01 00:00  • [start] user: Which paper for a kite?
    1a2b3c02             00:00  • assistant: Tissue paper is light, washi is strong.
    1a2b3c04             00:00  ├─ user: Tissue paper then. How big?  (2 messages, 4mo)
    1a2b3c05             00:00  │  assistant: Half a metre; larger ones tear.
    1a2b3c06             00:00  • user: Washi then. How big?
    1a2b3c07             00:00  • assistant: A metre and more, with a bamboo spar.  ← active
    ");
    assert!(
        s.run("tree ./two-branches.jsonl --ascii --times --filter all")
            .is_ascii()
    );
}

#[test]
fn json_rows() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    assert_snapshot!(s.run("tree ./two-branches.jsonl --json"), @r#"
    {"id":"1a2b3c01","parentId":null,"type":"message","role":"user","line":2,"timestamp":"2026-01-01T00:00:01.000Z","depth":0,"label":"start","active":true,"leaf":false,"failed":false,"aborted":false,"images":false,"text":"user: Which paper for a kite?"}
    {"id":"1a2b3c02","parentId":"1a2b3c01","type":"message","role":"assistant","line":3,"timestamp":"2026-01-01T00:00:02.000Z","depth":0,"label":null,"active":true,"leaf":false,"failed":false,"aborted":false,"images":false,"text":"assistant: Tissue paper is light, washi is strong."}
    {"id":"1a2b3c06","parentId":"1a2b3c03","type":"message","role":"user","line":7,"timestamp":"2026-01-01T00:00:06.000Z","depth":1,"label":null,"active":true,"leaf":false,"failed":false,"aborted":false,"images":false,"text":"user: Washi then. How big?"}
    {"id":"1a2b3c07","parentId":"1a2b3c06","type":"message","role":"assistant","line":8,"timestamp":"2026-01-01T00:00:07.000Z","depth":2,"label":null,"active":true,"leaf":true,"failed":false,"aborted":false,"images":false,"text":"assistant: A metre and more, with a bamboo spar."}
    {"id":"1a2b3c04","parentId":"1a2b3c03","type":"message","role":"user","line":5,"timestamp":"2026-01-01T00:00:04.000Z","depth":1,"label":null,"active":false,"leaf":false,"failed":false,"aborted":false,"images":false,"text":"user: Tissue paper then. How big?"}
    {"id":"1a2b3c05","parentId":"1a2b3c04","type":"message","role":"assistant","line":6,"timestamp":"2026-01-01T00:00:05.000Z","depth":2,"label":null,"active":false,"leaf":false,"failed":false,"aborted":false,"images":false,"text":"assistant: Half a metre; larger ones tear."}
    "#);
    let all = s.run("tree ./two-branches.jsonl --json --filter all");
    for row in all.lines() {
        let row: serde_json::Map<String, serde_json::Value> = serde_json::from_str(row).unwrap();
        for key in [
            "id",
            "parentId",
            "type",
            "role",
            "line",
            "timestamp",
            "depth",
            "label",
            "active",
            "leaf",
            "text",
        ] {
            assert!(row.contains_key(key), "{key}");
        }
    }
    assert_eq!(all.lines().count(), 7);
}

#[test]
fn older_formats_read_as_if_migrated() {
    for name in ["v1.jsonl", "v2.jsonl", "draft-tree.jsonl"] {
        let s = Sandbox::with(&[name]);
        for options in ["", "--filter all", "--filter all --times"] {
            let before = s.run(&format!("tree ./{name} {options}"));
            let after = s
                .pisess(&format!("tree - {options}"))
                .stdin(s.run(&format!("migrate ./{name} -o -")))
                .done()
                .quiet();
            assert_eq!(before, after, "{name} {options}");
        }
    }
}

#[test]
fn version_one() {
    let s = Sandbox::with(&["v1.jsonl"]);
    assert_snapshot!(s.run("tree ./v1.jsonl --filter all"), @"
    4c411fb5  • user: When should I sow carrots?
    c307e4fd  • assistant: From March on, when the soil is no longer cold.
    1858c9d3  • custom
    cb26a1f8  • user: And beans?
    ac4bd0d1  • assistant: Mid-May, after the last frost.
    c24d8cb7  • ── compaction: 1.9k tokens · Carrots from March, beans from mid-May. ──  (kept from cb26a1f8)
    80b80871  • thinking: medium
    f55275d5  • user: Make me a calendar.
    cebfaa52  • assistant: March: carrots. May: beans.  ← active
    ");
}

#[test]
fn draft_tree() {
    let s = Sandbox::with(&["draft-tree.jsonl"]);
    assert_snapshot!(s.run("tree ./draft-tree.jsonl"), @"
    132ceec8  ├╴ 8 messages · [rust] Build a small CLI  1mo
    0d98c807  • ── compaction: 0 tokens · A CLI was wanted; Node and Rust were tried. ──
    f8d11dfd  • user: Write its manual
    5e29b866  • assistant: Half a page will do.  ← active
    ");
    assert_snapshot!(s.run("tree ./draft-tree.jsonl --filter all"), @"
    e6d4541d  ├─ user: Build a small CLI  (8 messages, 1mo)
    e0181802  │  [which language] assistant: In which language?
    73434a73  │  ├─ user: Node  (2 messages, 1mo)
    ac2053f3  │  │  assistant: Here is cli.js.
    02ed4d0f  │  │  custom: head
    132ceec8  │  ├─ branch summary: Rust works, too.  (1 message, 1mo)
    5c92886b  │  │  label: which language
    07434132  │  branch summary: Tried Node: cli.js came out fine but slow to start.
    5c4417ce  │  user: Rust, then
    b5936be4  │  [rust] assistant: Here is main.rs.
    2d4e6ebd  │  ├─ label: rust
    b9e0ca9d  │  custom: head
    0d98c807  • ── compaction: 0 tokens · A CLI was wanted; Node and Rust were tried. ──
    f8d11dfd  • user: Write its manual
    5e29b866  • assistant: Half a page will do.  ← active
    ");
}

#[test]
fn oh_my_pi_rows_and_filters() {
    let s = Sandbox::with(&["omp.jsonl", "omp-no-slot.jsonl"]);
    assert_snapshot!(s.run("tree ./omp.jsonl"), @"
    2c3d4e5f  • user: Sort the photos by year
    3d4e5f60  • assistant: I'll list them first.
    4e5f6071  • glob: **
    5f607182  • assistant: One has no year in its path: c.jpg.
    60718293  • skill-prompt: Look at the EXIF data of c.jpg
    8293a4b5  • bash: exiftool -CreateDate /home/u/photos/c.jpg
    93a4b5c6  • assistant: It is from 2021.  ← active
    ");
    assert_snapshot!(s.run("tree ./omp.jsonl --filter all"), @"
    0a1b2c3d  • model: anthropic/claude-sonnet-4-5
    1b2c3d4e  • thinking: high
    2c3d4e5f  • user: Sort the photos by year
    3d4e5f60  • assistant: I'll list them first.
    4e5f6071  • glob: **
    5f607182  • assistant: One has no year in its path: c.jpg.
    60718293  • skill-prompt: Look at the EXIF data of c.jpg
    718293a4  • assistant: (calls bash)
    8293a4b5  • bash: exiftool -CreateDate /home/u/photos/c.jpg
    93a4b5c6  • assistant: It is from 2021.
    a4b5c6d7  • mode: plan
    b5c6d7e8  • service tier: openai:priority
    c6d7e8f9  • title: Photos by year
    d7e8f90a  • custom: session_exit  ← active
    ");
    assert_snapshot!(s.run("tree ./omp.jsonl --filter user-only"), @"
    2c3d4e5f  • user: Sort the photos by year
    60718293  • skill-prompt: Look at the EXIF data of c.jpg  (the leaf is below, not shown)
    ");
    assert_snapshot!(s.run("tree ./omp-no-slot.jsonl --filter all"), @"
    0a1b2c3d  • model: anthropic/claude-sonnet-4-5
    1b2c3d4e  • thinking: high
    2c3d4e5f  • user: Sort the photos by year
    3d4e5f60  • assistant: I'll list them first.
    4e5f6071  • glob: **
    5f607182  • assistant: One has no year in its path: c.jpg.  ← active
    ");
}

#[test]
fn search_in_an_oh_my_pi_file_is_fuzzy_within_words() {
    let s = Sandbox::with(&["omp.jsonl"]);
    assert_snapshot!(s.run("tree ./omp.jsonl --search 'phtos sort'"), @"2c3d4e5f  • user: Sort the photos by year  (the leaf is below, not shown)");
    assert_eq!(s.unchanged("tree ./omp.jsonl --search phtsyr").code, 1);
}

#[test]
fn a_row_holds_at_most_200_units_of_text() {
    let s = Sandbox::new();
    let long = "x".repeat(1_000);
    s.put("long.jsonl", session(&[&user("aaaa0001", None, &long)]));
    assert_eq!(
        s.run("tree ./long.jsonl --no-ids"),
        format!("• user: {}…  ← active\n", "x".repeat(200))
    );
    // 😀 is two UTF-16 units.
    s.put(
        "emoji.jsonl",
        session(&[&user("aaaa0001", None, &"😀".repeat(300))]),
    );
    assert_eq!(
        s.run("tree ./emoji.jsonl --no-ids"),
        format!("• user: {}…  ← active\n", "😀".repeat(100))
    );
}

/// Returns a conversation that was rewound: each attempt is left after this number of entries, and
/// the next begins at the entry where it began.
fn rewound(rewinds: usize, entries_left: usize) -> Vec<u8> {
    let mut lines = Vec::new();
    let mut parent = None;
    for rewind in 0..rewinds {
        let id = format!("t{rewind:07}");
        let text =
            format!("Continue with page {rewind}, and keep the footnotes in their place this time");
        lines.push(user(&id, parent.as_deref(), &text));
        let mut above = id.clone();
        for step in 0..entries_left {
            let left = format!("s{rewind:03}{step:04}");
            let text = format!("Attempt {rewind} that led nowhere, step {step}, with many words");
            lines.push(user(&left, Some(&above), &text));
            above = left;
        }
        parent = Some(id);
    }
    lines.push(user(
        "leaf",
        parent.as_deref(),
        "The last page is still missing its footnotes",
    ));
    session(&lines)
}

#[test]
fn the_path_stays_at_the_left_however_often_a_conversation_is_rewound() {
    let s = Sandbox::new();
    s.put("s.jsonl", rewound(12, 9));
    let drawn = s
        .pisess("tree ./s.jsonl")
        .terminal(80)
        .env("NO_COLOR", "1")
        .done()
        .text();
    let rows: Vec<&str> = drawn.lines().skip(1).collect();
    assert_eq!(rows.len(), 12 + 12 + 1, "{drawn}");
    let mut longest_text = 0;
    for (index, row) in rows.iter().enumerate() {
        assert!(row.width() <= 80, "{row}");
        let is_on_path = index % 2 == 0;
        let start = if is_on_path {
            "• user: "
        } else {
            "├╴ 9 messages · "
        };
        let (_, text) = row
            .split_once(start)
            .unwrap_or_else(|| panic!("{start}: {row}"));
        let indent = row.width() - text.width() - start.width();
        assert_eq!(indent, "t0000000  ".len(), "{row}");
        longest_text = longest_text.max(text.width());
    }
    assert!(longest_text >= 50, "{drawn}");
}

#[test]
fn hundreds_of_branches_are_a_row_each() {
    let s = Sandbox::new();
    s.put("rewound.jsonl", rewound(200, 9));
    let drawn = s.run("tree ./rewound.jsonl");
    assert_eq!(drawn.lines().count(), 200 + 200 + 1);
    assert_eq!(drawn.matches("├╴ 9 messages · Attempt").count(), 200);
    assert_eq!(drawn.matches("  • user: ").count(), 201);

    // All branches begin at one entry, and are drawn in the order in which they were written.
    let mut lines = vec![user("root", None, "root")];
    for branch in 0..200 {
        for step in 0..4 {
            let above = match step {
                0 => "root".to_owned(),
                _ => format!("b{branch}s{}", step - 1),
            };
            lines.push(user(
                &format!("b{branch}s{step}"),
                Some(&above),
                &format!("branch {branch}"),
            ));
        }
    }
    s.put("fan.jsonl", session(&lines));
    let drawn = s.run("tree ./fan.jsonl --no-ids");
    let rows: Vec<&str> = drawn.lines().collect();
    assert_eq!(rows.len(), 1 + 199 + 4);
    for (branch, row) in rows[1..200].iter().enumerate() {
        assert!(
            row.starts_with(&format!("├╴ 4 messages · branch {branch}  ")),
            "{row}"
        );
    }
    assert_eq!(rows[200], "• user: branch 199");
}

/// What was left is one row if it is longer than three; the row has the id that opens it.
/// A terminal gets one note on how to open what is folded.
#[test]
fn a_note_says_how_to_unfold() {
    let s = Sandbox::with(&["tour.jsonl", "two-branches.jsonl"]);
    let note = |line: &str| s.pisess(line).terminal(80).done().stderr;
    assert_snapshot!(note("tree ./tour.jsonl"), @"pisess: note: folded rows (hint: add --unfold, or 5c07d14b for one branch)");
    assert_snapshot!(note("tree --layout pi ./tour.jsonl"), @"");
    for line in [
        "tree --unfold ./tour.jsonl",
        "tree -q ./tour.jsonl",
        "tree --json ./tour.jsonl",
        "tree -C 1 ./tour.jsonl",
        "tree ./two-branches.jsonl",
    ] {
        assert_eq!(note(line), "", "{line}");
    }
    assert_eq!(s.pisess("tree ./tour.jsonl").done().stderr, "");
}

#[test]
fn long_branches_that_were_left_are_folded() {
    let s = Sandbox::with(&["tour.jsonl"]);
    let folded = s.run("tree ./tour.jsonl");
    let fold = "5c07d14b  ├╴ 8 messages · Just add a day when it comes out negative.  1mo\n";
    assert!(folded.contains(fold), "{folded}");
    for option in ["--unfold", "--filter all"] {
        let open = s.run(&format!("tree ./tour.jsonl {option}"));
        assert!(!open.contains('╴'), "{open}");
        assert!(open.contains("5c07d14b  │  assistant: [failed]"), "{open}");
    }
    assert_snapshot!(s.run("tree ./tour.jsonl 5c07d14b"), @r#"
    0d9a6c31  • user: The 00:10 ferry shows up as "left 23 h ago" when I ask at 23:50. Can you find out why?
    c25f81e7  • assistant: I'll look for where the waiting time is computed.
    9e04b3d8  • grep: /fn departs_in/ in src
    e8830b5a  • read: src/clock.rs:35-64
    27d4c96f  • [cause found] assistant: `departs_in` subtracts minutes of the day, so across midnight the result is negative: 10 - 1430 = -1420 minutes, printed as "left 23 h ago". The timetable has no dates, only times.
    2f5dc03e  ├╴ 13 messages · [green] Undo that, and take the nearer of the two: yesterday's or tomorrow's departure.  1mo
    3ac9d7e4  • user: Just add a day when it comes out negative.
    8b16f09d  • assistant: That is one line. I'll change it and run the tests.
    d43e5a21  • edit: src/clock.rs
    15f9ad3c  • bash: [failed] cargo test --quiet
    a6d84170  • assistant: Two tests fail: a ferry that left five minutes ago now "departs in 23 h 55 min". Adding a day hides the past, and the board needs it.
    ee2b93f5  • user: Hm. What would you do instead?
    5c07d14b  • assistant: [failed] 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}  ← REF
    "#);
    // In the middle of a branch, what follows was left, too.
    assert_snapshot!(s.run("tree ./tour.jsonl --at 3ac9d7e4"), @r#"
    0d9a6c31  • user: The 00:10 ferry shows up as "left 23 h ago" when I ask at 23:50. Can you find out why?
    c25f81e7  • assistant: I'll look for where the waiting time is computed.
    9e04b3d8  • grep: /fn departs_in/ in src
    e8830b5a  • read: src/clock.rs:35-64
    27d4c96f  • [cause found] assistant: `departs_in` subtracts minutes of the day, so across midnight the result is negative: 10 - 1430 = -1420 minutes, printed as "left 23 h ago". The timetable has no dates, only times.
    2f5dc03e  ├╴ 13 messages · [green] Undo that, and take the nearer of the two: yesterday's or tomorrow's departure.  1mo
    3ac9d7e4  • user: Just add a day when it comes out negative.  ← REF
    5c07d14b  └╴ 7 messages · Hm. What would you do instead?  1mo
    "#);
    assert_snapshot!(s.run("tree ./tour.jsonl 3ac9d7e4 --ascii --no-ids --around 1"), @"
    ... 5 rows above
    |+ 13 messages - [green] Undo that, and take the nearer of the two: yesterday's or tomorrow's departure.  1mo
    * user: Just add a day when it comes out negative.  <- REF
    `+ 7 messages - Hm. What would you do instead?  1mo
    ");
    // A branch of three rows is open, one of four is folded.
    s.put("short.jsonl", rewound(2, 3));
    assert!(!s.run("tree ./short.jsonl").contains('╴'));
    s.put("long.jsonl", rewound(2, 4));
    assert_eq!(s.run("tree ./long.jsonl").matches('╴').count(), 2);
}

/// A search shows each row that it finds, and a filter leaves what it shows in the same order.
#[test]
fn the_layout_of_the_trunk_holds_with_filters_and_searches() {
    let s = Sandbox::with(&["tour.jsonl"]);
    assert_snapshot!(s.run("tree ./tour.jsonl --search day"), @r#"
    27d4c96f  • [cause found] assistant: `departs_in` subtracts minutes of the day, so across midnight the result is negative: 10 - 1430 = -1420 minutes, printed as "left 23 h ago". The timetable has no dates, only times.
    3ac9d7e4  ├─ user: Just add a day when it comes out negative.  (8 messages, 1mo)
    a6d84170  │  assistant: Two tests fail: a ferry that left five minutes ago now "departs in 23 h 55 min". Adding a day hides the past, and the board needs it.
    3de1b752  • user: Undo that, and take the nearer of the two: yesterday's or tomorrow's departure.
    c8a45f06  • assistant: So the result lies within half a day either way.
    dc705e93  • ── compaction: …s_in` subtracted minutes of the day. - [x] `departs_in` takes the nearer departure; 14 tests pass. ### In Progress - [ ] A test for the first ferry after midnig… ──  (the leaf is below, not shown)  (kept from b5d60e41)
    "#);
    // Without a row on the path, the rest is drawn at the left.
    assert_snapshot!(s.run("tree ./tour.jsonl --search negative --filter user-only"), @"3ac9d7e4  user: Just add a day when it comes out negative.");
}

#[test]
fn the_layout_of_pi() {
    let s = Sandbox::with(&["two-branches.jsonl", "tour.jsonl"]);
    assert_snapshot!(s.run("tree ./two-branches.jsonl --layout pi"), @"
    1a2b3c01  • [start] user: Which paper for a kite?
    1a2b3c02  • assistant: Tissue paper is light, washi is strong.
    1a2b3c06  ├─ • user: Washi then. How big?  (2 messages, 4mo)
    1a2b3c07  │  • assistant: A metre and more, with a bamboo spar.  ← active
    1a2b3c04  └─ user: Tissue paper then. How big?  (2 messages, 4mo)
    1a2b3c05     assistant: Half a metre; larger ones tear.
    ");
    // No branch is folded, and the rows are in the order of those of `--json`, in either layout.
    let drawn = s.run("tree ./tour.jsonl --layout pi");
    let json = s.run("tree ./tour.jsonl --json");
    for (row, json_row) in drawn.lines().zip(json.lines()) {
        let id = row.split(' ').next().unwrap();
        assert!(
            json_row.contains(&format!("\"id\":\"{id}\"")),
            "{row}: {json_row}"
        );
    }
    assert_eq!(drawn.lines().count(), json.lines().count());
    for layout in ["pi", "trunk"] {
        assert_eq!(
            s.run(&format!("tree ./tour.jsonl --json --layout {layout}")),
            json
        );
    }
}

#[test]
fn more_than_24_levels_become_one_mark() {
    // A comb: every user message has two replies, of which the last continues.
    let mut lines = Vec::new();
    let mut parent = None;
    for level in 0..40 {
        let id = format!("t{level:07}");
        lines.push(user(&id, parent.as_deref(), &format!("level {level}")));
        lines.push(user(&format!("s{level:07}"), Some(&id), "side"));
        parent = Some(id);
    }
    let s = Sandbox::new();
    s.put("comb.jsonl", session(&lines));
    let drawn = s.run("tree ./comb.jsonl --no-ids --filter user-only --layout pi");
    let deepest = drawn.lines().find(|row| row.contains("level 39")).unwrap();
    assert_eq!(
        deepest.matches('│').count() + deepest.matches("├").count(),
        24,
        "{deepest}"
    );
    assert!(deepest.contains('…'), "{deepest}");
    assert_eq!(drawn.lines().count(), 80);
}

#[test]
fn many_roots_are_all_drawn() {
    let s = Sandbox::new();
    s.put(
        "roots.jsonl",
        session(&[
            &user("aaaa0001", None, "first"),
            &user("aaaa0002", None, "second"),
        ]),
    );
    assert_snapshot!(s.run("tree ./roots.jsonl"), @"
    aaaa0001  ├─ user: first  (1 message, 4mo)
    aaaa0002  • user: second  ← active
    ");
}

#[test]
fn a_header_alone_has_no_rows() {
    let s = Sandbox::with(&["hazards/header-only.jsonl"]);
    assert_eq!(s.unchanged("tree ./header-only.jsonl").text(), "");
    assert_eq!(s.unchanged("tree ./header-only.jsonl --json").text(), "");
}

#[test]
fn reading_writes_nothing() {
    let s = Sandbox::with(&["tour.jsonl", "v1.jsonl", "draft-tree.jsonl", "omp.jsonl"]);
    for name in s.names() {
        s.unchanged(&format!("tree ./{name}"));
        s.unchanged(&format!("path ./{name}"));
        s.unchanged(&format!("context ./{name}"));
        s.unchanged(&format!("label ./{name}"));
    }
}

/// What an extension adds for the model only is marked.
#[test]
fn messages_that_the_agent_hides_are_marked() {
    let s = Sandbox::new();
    s.put(
        "s.jsonl",
        session(&[
            user("aaaa0001", None, "go"),
            r#"{"type":"custom_message","customType":"note","content":"for the model","display":false,"id":"aaaa0002","parentId":"aaaa0001"}"#.to_owned(),
            r#"{"type":"custom_message","customType":"note","content":"for all","display":true,"id":"aaaa0003","parentId":"aaaa0002"}"#.to_owned(),
            r#"{"type":"message","id":"aaaa0004","parentId":"aaaa0003","message":{"role":"custom","customType":"note","content":"as a message","display":false}}"#.to_owned(),
        ]),
    );
    assert_snapshot!(s.unchanged("tree ./s.jsonl --filter all"), @"
    aaaa0001  • user: go
    aaaa0002  • note: for the model  (hidden)
    aaaa0003  • note: for all
    aaaa0004  • custom  ← active  (hidden)
    ");
}

/// Failures and images are found, marked and in the JSON of every row.
#[test]
fn failures_and_images_are_filters() {
    let s = Sandbox::with(&["tour.jsonl"]);
    assert_snapshot!(s.unchanged("tree --filter failed ./tour.jsonl"), @r#"
    15f9ad3c  bash: [failed] cargo test --quiet · board::delayed_ferry_stays_on_board
    5c07d14b  assistant: [failed] 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}
    2> pisess: 1 of 7 tool calls failed
    "#);
    let failed = s
        .unchanged("tree --filter failed --json ./tour.jsonl")
        .text();
    for row in failed.lines() {
        assert!(
            row.contains(r#""failed":true,"aborted":false,"images":false"#),
            "{row}"
        );
    }
    let nothing = s.pisess("tree --filter images ./tour.jsonl").done();
    assert_eq!((nothing.code, nothing.text().as_str()), (1, ""));

    let image = r#"{"type":"message","id":"aaaa0002","parentId":"aaaa0001","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"user","content":[{"type":"text","text":"see"},{"type":"image","mimeType":"image/png","data":"AAAA"}]}}"#;
    let shown = r#"{"type":"custom_message","id":"aaaa0003","parentId":"aaaa0002","timestamp":"2026-01-01T00:00:02.000Z","customType":"x","display":true,"content":[{"type":"image","mimeType":"image/png","data":"AAAA"}]}"#;
    let lines = [
        crate::sandbox::user("aaaa0001", None, "one"),
        image.to_owned(),
        shown.to_owned(),
        image
            .replace("aaaa0002", "aaaa0004")
            .replace("aaaa0001", "aaaa0003")
            .replace(
                r#"{"type":"text","text":"see"}"#,
                r#"{"type":"image","mimeType":"image/png","data":"AAAA"}"#,
            ),
    ];
    s.put("x.jsonl", crate::sandbox::session(&lines));
    assert_snapshot!(s.unchanged("tree --filter images ./x.jsonl"), @"
    aaaa0002  • user: [image] see
    aaaa0003  • x: [image]
    aaaa0004  • user: [2 images]   ← active
    ");
    assert_snapshot!(s.unchanged("tree ./x.jsonl"), @"
    aaaa0001  • user: one
    aaaa0002  • user: [image] see
    aaaa0003  • x: [image]
    aaaa0004  • user: [2 images]   ← active
    ");
}

/// Notes below the last message of a hidden branch are no part of it: they have no size.
#[test]
fn a_row_of_notes_has_no_size_of_a_branch() {
    let s = Sandbox::new();
    let note = |id: &str| {
        format!(
            r#"{{"type":"custom","customType":"zebra","id":"{id}","parentId":"aaaa0003","timestamp":"2026-01-01T00:00:02.000Z","data":{{}}}}"#
        )
    };
    s.put(
        "s.jsonl",
        session(&[
            user("aaaa0001", None, "one"),
            user("aaaa0002", Some("aaaa0001"), "two"),
            user("aaaa0003", Some("aaaa0002"), "three"),
            note("aaaa0004"),
            note("aaaa0005"),
            note("aaaa0006"),
            user("aaaa0007", Some("aaaa0001"), "the zebra"),
        ]),
    );
    assert_snapshot!(s.unchanged("tree --search zebra --filter all ./s.jsonl"), @"
    aaaa0004  ├─ custom: zebra
    aaaa0005  ├─ custom: zebra
    aaaa0006  ├─ custom: zebra
    aaaa0007  • user: the zebra  ← active
    ");
}
