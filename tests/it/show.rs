//! `pisess show`: entries in full.

use crate::sandbox::{Sandbox, fixture};
use insta::assert_snapshot;
use serde_json::{Value, json};

#[test]
fn entries_in_full() {
    let s = Sandbox::with(&["tour.jsonl"]);
    assert_snapshot!(s.unchanged("show ./tour.jsonl"), @r#"
    2f5dc03e  assistant · 2026-03-14 09:43
      claude-sonnet-4-5 · 1.5k in, 61 out · $0.0054 · line 32 · parent 86e2a1fb
        "Ferries after midnight no longer show as gone: asked at 23:50, the 00:10 departs in 20 minutes."
    "#);
    assert_snapshot!(s.unchanged("show ./tour.jsonl :2 c25f81e7 label:green^{toolResult} 7a13f8c2 dc705e93"), @r#"
    4f1c02a9  model_change · 2026-03-14 09:26
      line 2 · no parent
      provider: anthropic
      modelId: claude-sonnet-4-5

    c25f81e7  assistant · 2026-03-14 09:27
      claude-sonnet-4-5 · 2.1k in, 96 out · $0.0079 · line 5 · parent 0d9a6c31
      thinking
        Looks like a midnight problem.

        I'll look for where the waiting time is computed.
      calls grep
        pattern: fn departs_in
        path: /home/u/code/ferry/src

    fa39d058  bash cargo test --quiet · 2026-03-14 09:31
      line 23 · parent 1b72ce9d
        running 14 tests
        ..............
        test result: ok. 14 passed; 0 failed

    7a13f8c2  assistant · 2026-03-14 09:32
      claude-sonnet-4-5 · 3.9k in (3.6k cached), 150 out · $0.0030 · line 27 · parent b5d60e41
      calls write
        path: /home/u/code/ferry/tests/midnight.rs
        content
            #[test]
            fn the_first_ferry_after_midnight() {
                assert_eq!(departs_in(time("23:50"), time("00:10")), 20);
            }

    dc705e93  compaction · 2026-03-14 09:43
      12.5k tokens before · keeps b5d60e41 and later · 1.5k tokens in the next request · 2 user messages only in the summary: 0d9a6c31 3de1b752 · line 30 · parent 42b8f65a
        ## Goal
        Make waiting times right across midnight in `ferry`.

        ## Constraints & Preferences
        - The board must still show ferries that just left.

        ## Progress
        ### Done
        - [x] Cause: `departs_in` subtracted minutes of the day.
        - [x] `departs_in` takes the nearer departure; 14 tests pass.

        ### In Progress
        - [ ] A test for the first ferry after midnight.

        ## Key Decisions
        - **Nearest departure**: adding a day hid the past.

        <modified-files>
        /home/u/code/ferry/src/clock.rs
        </modified-files>
    "#);
}

#[test]
fn all_fields_of_an_entry() {
    let s = Sandbox::with(&["tour.jsonl"]);
    assert_snapshot!(s.unchanged("show --all-fields ./tour.jsonl fa39d058 7a13f8c2"), @r#"
    fa39d058  bash cargo test --quiet · 2026-03-14 09:31
      line 23 · parent 1b72ce9d
        running 14 tests
        ..............
        test result: ok. 14 passed; 0 failed
      toolCallId: call_06
      toolName: bash
      isError: false

    7a13f8c2  assistant · 2026-03-14 09:32
      claude-sonnet-4-5 · 3.9k in (3.6k cached), 150 out · $0.0030 · line 27 · parent b5d60e41
      calls write
        path: /home/u/code/ferry/tests/midnight.rs
        content
            #[test]
            fn the_first_ferry_after_midnight() {
                assert_eq!(departs_in(time("23:50"), time("00:10")), 20);
            }
      api: anthropic-messages
      provider: anthropic
      model: claude-sonnet-4-5
      usage
        {
          "input": 240,
          "output": 150,
          "cacheRead": 3610,
          "cacheWrite": 0,
          "totalTokens": 4000,
          "cost": {"input": 0.00072, "output": 0.00225, "cacheRead": 0, "cacheWrite": 0, "total": 0.00297}
        }
      stopReason: toolUse
    "#);
    assert_eq!(s.unchanged("show --all-fields --json ./tour.jsonl").code, 2);
}

#[test]
fn a_result_is_below_its_call() {
    let s = Sandbox::with(&["tour.jsonl"]);
    assert_snapshot!(s.unchanged("show ./tour.jsonl 1b72ce9d 15f9ad3c e19c4d07 9e04b3d8"), @r#"
    1b72ce9d  edit src/clock.rs · 2026-03-14 09:31
      line 22 · parent c8a45f06
        -(departure.minutes() - now.minutes()).rem_euclid(1440)
        +(departure.minutes() - now.minutes() + 720).rem_euclid(1440) - 720

        Successfully replaced 1 block in src/clock.rs.

    15f9ad3c  bash cargo test --quiet · 2026-03-14 09:29 · failed
      line 15 · parent 72c0e8b6
        running 14 tests
        ............FF
        failures:
            board::just_left_is_shown_as_left
            board::delayed_ferry_stays_on_board

        Command exited with code 101

    e19c4d07  write tests/midnight.rs · 2026-03-14 09:32
      line 28 · parent 7a13f8c2
        path: /home/u/code/ferry/tests/midnight.rs
        content
            #[test]
            fn the_first_ferry_after_midnight() {
                assert_eq!(departs_in(time("23:50"), time("00:10")), 20);
            }

        Successfully wrote 118 bytes to tests/midnight.rs

    9e04b3d8  grep /fn departs_in/ in src · 2026-03-14 09:27
      line 6 · parent c25f81e7
        pattern: fn departs_in
        path: /home/u/code/ferry/src

        src/clock.rs:41:pub fn departs_in(now: Time, departure: Time) -> i64 {
    "#);
    let coloured = s
        .run("show ./tour.jsonl 1b72ce9d --color always")
        .replace('\u{1b}', "␛");
    assert!(coloured.contains("␛[31m-(departure"), "{coloured}");
    assert!(coloured.contains("␛[32m+(departure"), "{coloured}");
}

/// Prose is broken after at most 100 columns, what a program printed at the edge of the terminal.
#[test]
fn lines_are_broken_between_words() {
    let s = Sandbox::new();
    let words = "word ".repeat(40);
    let result = format!(
        r#"{{"type":"message","id":"bbbb0001","parentId":"aaaa0001","timestamp":"2026-01-01T00:00:01.000Z","message":{{"role":"toolResult","toolCallId":"c","toolName":"bash","content":"{words}"}}}}"#
    );
    s.put(
        "x.jsonl",
        crate::sandbox::session(&[crate::sandbox::user("aaaa0001", None, &words), result]),
    );
    for (entry, width, most_columns) in [
        ("aaaa0001", 60, 60),
        ("aaaa0001", 160, 100),
        ("bbbb0001", 60, 60),
        ("bbbb0001", 160, 160),
    ] {
        let shown = s
            .pisess(&format!("show ./x.jsonl {entry}"))
            .env("NO_COLOR", "1")
            .terminal(width)
            .done()
            .text();
        let text: Vec<&str> = shown.lines().skip(2).collect();
        let widest = text.iter().map(|line| line.len()).max().unwrap();
        // Five columns are a word.
        assert!(
            widest <= most_columns && widest > most_columns - 5,
            "{shown}"
        );
        assert!(
            text.iter().all(|line| line.starts_with("    word")),
            "{shown}"
        );
        let count: usize = text.iter().map(|line| line.matches("word").count()).sum();
        assert_eq!(count, 40, "{shown}");
    }
    // In a pipe, lines stay whole.
    assert_eq!(s.run("show ./x.jsonl bbbb0001").lines().count(), 3);
}

/// Hunks of a diff in an output are coloured, and a list after them is not.
#[test]
fn diffs_in_outputs_are_coloured() {
    let s = Sandbox::new();
    let text = "- item\\n@@ -1 +1 @@\\n-old\\n+new\\ndone\\n- item";
    s.put(
        "x.jsonl",
        crate::sandbox::session(&[crate::sandbox::user("aaaa0001", None, text)]),
    );
    let shown = s
        .run("show ./x.jsonl --color always")
        .replace('\u{1b}', "␛");
    let text: Vec<&str> = shown.lines().skip(2).collect();
    assert_eq!(
        text,
        [
            "    - item",
            "    @@ -1 +1 @@",
            "    ␛[31m-old␛[0m",
            "    ␛[32m+new␛[0m",
            "    done",
            "    - item"
        ]
    );
}

#[test]
fn in_an_oh_my_pi_file() {
    let s = Sandbox::with(&["omp.jsonl"]);
    assert_snapshot!(s.unchanged("show ./omp.jsonl 60718293 :$"), @r#"
    60718293  custom_message · 2026-03-14 09:27
      line 9 · parent 5f607182
      customType: skill-prompt
        Look at the EXIF data of c.jpg

    d7e8f90a  custom · 2026-03-14 09:27
      line 16 · parent c6d7e8f9
      customType: session_exit
      data: {"reason": "quit", "kind": "normal", "recordedAt": "2026-03-14T09:27:32.589Z"}
    "#);
}

#[test]
fn older_entries_as_if_migrated() {
    let s = Sandbox::with(&["v1.jsonl"]);
    assert_snapshot!(s.unchanged("show ./v1.jsonl cb26a1f8 1858c9d3"), @"
    cb26a1f8  user · 2026-03-14 09:27
      line 5 · parent 1858c9d3
        And beans?

    1858c9d3  custom · 2026-03-14 09:27
      line 4 · parent c307e4fd
      customType: weather
        Soil at 10 cm: 7 °C
      display: true
    ");
    let migrated = s.run("migrate ./v1.jsonl -o -");
    assert_eq!(
        s.run("show --json ./v1.jsonl cb26a1f8"),
        format!("{}\n", migrated.lines().nth(4).unwrap())
    );
}

#[test]
fn entries_as_stored() {
    let s = Sandbox::with(&["two-branches.jsonl", "hazards/unknown-type.jsonl"]);
    let lines = s.text("two-branches.jsonl");
    let line = |number: usize| lines.lines().nth(number - 1).unwrap().to_owned() + "\n";
    assert_eq!(
        s.run("show --json ./two-branches.jsonl :7 :4 :7"),
        [line(7), line(4), line(7)].concat()
    );
    assert_eq!(
        s.run("show --json --children ./two-branches.jsonl :4 root"),
        [line(5), line(7), line(2)].concat()
    );
}

/// Without REF, the last entry of the conversation is shown, not a label or a name after it.
#[test]
fn the_last_entry() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let last = s.run("show ./two-branches.jsonl 1a2b3c07");
    for line in [
        "label -q ./two-branches.jsonl 1a2b3c01 first",
        "append -q ./two-branches.jsonl --name Kites",
    ] {
        s.pisess(line).done();
        assert_eq!(s.run("show ./two-branches.jsonl"), last, "{line}");
    }
    assert!(
        s.run("show ./two-branches.jsonl :$")
            .contains("session_info")
    );
    for same in [
        "show ./two-branches.jsonl",
        "show --children ./two-branches.jsonl",
    ] {
        assert_eq!(s.run(&format!("{same} @")), s.run(same));
    }
    assert_eq!(
        s.run("show --children ./two-branches.jsonl")
            .lines()
            .count(),
        1
    );
    let s = Sandbox::with(&["hazards/header-only.jsonl"]);
    assert!(
        s.pisess("show ./header-only.jsonl")
            .done()
            .fails(2)
            .contains("@ is not an entry")
    );
}

#[test]
fn children() {
    let s = Sandbox::with(&["tour.jsonl", "two-branches.jsonl"]);
    assert_snapshot!(s.unchanged("show --children ./tour.jsonl f05b1e83"), @"
    11  3ac9d7e4  2026-03-14 09:28  user: Just add a day when it comes out negative.
    19  90f6a3e8             09:31  branch summary: Make `departs_in` right across midnight.
    ");
    assert_snapshot!(s.unchanged("show --children ./tour.jsonl root 2f5dc03e label:green"), @"
     2  4f1c02a9  2026-03-14 09:26  model: claude-sonnet-4-5
    25  0fe7a29c             09:32  label: green
    ");
    assert_snapshot!(s.unchanged("show --children ./two-branches.jsonl @"), @"");
    assert_snapshot!(s.unchanged("show ./tour.jsonl root").fails(2), @"./tour.jsonl: root is not an entry (hint: root is the position before the first entry; --children lists the first entries)");
}

#[test]
fn prints_unknown_types_and_skips_an_entry_without_an_id() {
    let s = Sandbox::with(&[
        "hazards/unknown-type.jsonl",
        "hazards/missing-id-last.jsonl",
    ]);
    assert_snapshot!(s.unchanged("show -q ./unknown-type.jsonl :2 :3 :4"), @"
    u0000001  user · 2026-01-01 00:00
      line 2 · no parent
        one

    a0000002  assistant · 2026-01-01 00:00
      claude-opus-4-5 · line 3 · parent u0000001
        two

    hhhh0001  hologram · 2026-01-01 00:00
      line 4 · parent a0000002
      beam: [1, 2]
    ");
    let answer = s.run("show -q ./unknown-type.jsonl :3");
    assert_eq!(
        s.unchanged("show -q ./missing-id-last.jsonl @").quiet(),
        answer
    );
}

/// Texts are indented, so that none can look like the heading of another entry.
#[test]
fn a_text_cannot_look_like_a_heading() {
    let s = Sandbox::new();
    let text = "one\\n\\naaaa0009  user message  2026-01-01 00:00  line 9, no parent\\r\\n\\ttwo\\u001b[2J";
    let line =
        crate::sandbox::user("aaaa0001", None, "TEXT").replace("TEXT", &text.replace("\\\\", "\\"));
    s.put("x.jsonl", crate::sandbox::session(&[line]));
    assert_snapshot!(s.unchanged("show ./x.jsonl"), @"
    aaaa0001  user · 2026-01-01 00:00
      line 2 · no parent
        one

        aaaa0009  user message  2026-01-01 00:00  line 9, no parent␍
        	two␛[2J
    ");
}

#[test]
fn a_value_of_any_depth() {
    let s = Sandbox::new();
    let deep = format!("{}{}", "[".repeat(50_000), "]".repeat(50_000));
    let line = format!(r#"{{"type":"odd","id":"aaaa0001","parentId":null,"deep":{deep}}}"#);
    s.put("x.jsonl", crate::sandbox::session(&[line]));
    let shown = s.unchanged("show ./x.jsonl").quiet();
    assert_eq!(shown.matches('[').count(), 50_000);
}

#[test]
fn from_a_stream() {
    let s = Sandbox::new();
    let shown = s
        .pisess("show - @^")
        .stdin(fixture("two-branches.jsonl"))
        .done()
        .quiet();
    assert_snapshot!(shown, @"
    1a2b3c06  user · 2026-01-01 00:00
      line 7 · parent 1a2b3c03
        Washi then. How big?
    ");
}

#[test]
fn an_answer_as_markdown_to_quote() {
    let s = Sandbox::with(&["tour.jsonl"]);
    assert_snapshot!(s.unchanged("show --as md ./tour.jsonl 27d4c96f"), @r#"`departs_in` subtracts minutes of the day, so across midnight the result is negative: 10 - 1430 = -1420 minutes, printed as "left 23 h ago". The timetable has no dates, only times."#);
    assert_snapshot!(s.unchanged("show --as markdown ./tour.jsonl c25f81e7 9e04b3d8"), @"
    I'll look for where the waiting time is computed.

    `grep /fn departs_in/ in src`

    <details><summary><b>grep</b> <code>/fn departs_in/ in src</code></summary>

    ```
    src/clock.rs:41:pub fn departs_in(now: Time, departure: Time) -> i64 {
    ```

    </details>
    ");
}

/// What the user ran has the same name as in `grep`, without the change to the session's directory.
#[test]
fn what_the_user_ran_is_named_as_a_call() {
    let s = Sandbox::new();
    let ran = |id: &str, parent: &str, message: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-01-01T00:00:01.000Z","message":{{{message},"output":"needle","exitCode":0}}}}"#
        )
    };
    let lines = [
        ran(
            "aaaa0001",
            "null",
            r#""role":"bashExecution","command":"cd /w && ls src""#,
        ),
        ran(
            "aaaa0002",
            "\"aaaa0001\"",
            r#""role":"pythonExecution","code":"print(1)\nprint(2)""#,
        ),
    ];
    let header = r#"{"type":"session","version":3,"id":"aaaa0000","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#;
    s.put("x.jsonl", format!("{header}\n{}\n", lines.join("\n")));
    assert_snapshot!(s.unchanged("grep needle ./x.jsonl"), @"
    aaaa0001:bash ls src: needle
    aaaa0002:python print(1): needle
    ");
    assert_snapshot!(s.unchanged("show ./x.jsonl aaaa0001 aaaa0002"), @"
    aaaa0001  bash ls src · 2026-01-01 00:00
      line 2 · no parent
        cd /w && ls src

        needle

    aaaa0002  python print(1) · 2026-01-01 00:00
      line 3 · parent aaaa0001
        print(1)
        print(2)

        needle
    ");
}

/// A session with an answer that has code, an earlier one, and a reply without text at its end.
fn session_with_code() -> Vec<u8> {
    let reply = |id: &str, parent: &str, content: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":"{parent}","timestamp":"2026-01-01T00:00:02.000Z","message":{{"role":"assistant","content":{content},"stopReason":"stop"}}}}"#
        )
    };
    let code = r#"[{"type":"text","text":"Run:\n\n```sh\ncargo test\n```\n\n1. then\n   ```rs\n   fn x() {}\n   ```"}]"#;
    crate::sandbox::session(&[
        crate::sandbox::user("aaaa0001", None, "how?"),
        reply("aaaa0002", "aaaa0001", r#"[{"type":"text","text":"so"}]"#),
        reply("aaaa0003", "aaaa0002", code),
        reply("aaaa0004", "aaaa0003", r#"[{"type":"toolCall","id":"c","name":"x","arguments":{}}]"#),
        r#"{"type":"label","id":"aaaa0005","parentId":"aaaa0004","timestamp":"2026-01-01T00:00:03.000Z","targetId":"aaaa0001","label":"start"}"#.to_owned(),
    ])
}

#[test]
fn code_blocks_are_printed_as_they_are() {
    let s = Sandbox::new();
    s.put("x.jsonl", session_with_code());
    assert_snapshot!(s.unchanged("show --code ./x.jsonl"), @r"
    cargo test

    fn x() {}
    ");
    assert_eq!(
        s.unchanged("show --code -1 ./x.jsonl").text(),
        "fn x() {}\n"
    );
    assert_eq!(
        s.unchanged("show --code=rust ./x.jsonl aaaa0003").text(),
        "fn x() {}\n"
    );
    assert_snapshot!(s.unchanged("show --code=bash -1 --json ./x.jsonl"), @r#"{"id":"aaaa0003","language":"sh","text":"cargo test\n"}"#);
    assert_snapshot!(s.pisess("show --code=py ./x.jsonl").done().fails(1), @"./x.jsonl: the last answer (aaaa0003): no fenced code block in py (hint: `pisess grep '```' SESSION` lists the entries that have one)");
    assert_snapshot!(s.pisess("show --code ./x.jsonl aaaa0001").done().fails(1), @"./x.jsonl: aaaa0001: no fenced code block (hint: `pisess grep '```' SESSION` lists the entries that have one)");
    assert_eq!(s.unchanged("show -1 ./x.jsonl").code, 2);
}

#[test]
fn entries_around_are_those_of_the_conversation() {
    let s = Sandbox::new();
    s.put("x.jsonl", session_with_code());
    let headings = |line: &str| {
        let shown = s.unchanged(line).text();
        let ids = shown.lines().filter(|line| line.starts_with("aaaa"));
        ids.map(|line| line[4..8].to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        headings("show -C 1 ./x.jsonl aaaa0002"),
        ["0001", "0002", "0003"]
    );
    assert_eq!(
        headings("show -B 9 ./x.jsonl"),
        ["0001", "0002", "0003", "0004"]
    );
    assert_eq!(
        headings("show -A 1 ./x.jsonl aaaa0003 aaaa0001"),
        ["0001", "0002", "0003", "0004"]
    );
    let rows = s.unchanged("show -A 1 --json ./x.jsonl aaaa0003").text();
    assert_eq!(rows.lines().count(), 2);
}

/// A session with images: two in one entry, one on another branch, and one that is not base64.
pub fn session_with_images() -> Vec<u8> {
    let message = |id: &str, parent: &str, blocks: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":"{parent}","timestamp":"2026-01-01T00:00:02.000Z","message":{{"role":"user","content":[{{"type":"text","text":"see"}},{blocks}]}}}}"#
        )
    };
    let png = r#"{"type":"image","mimeType":"image/jpeg","data":"iVBORw0KGgpoaQ=="}"#;
    let gif = r#"{"type":"image","mimeType":"image/gif","data":"R0lGODlh"}"#;
    let broken = r#"{"type":"image","mimeType":"image/gif","data":"../"}"#;
    crate::sandbox::session(&[
        crate::sandbox::user("aaaa0001", None, "how?"),
        message("bbbb0002", "aaaa0001", gif),
        message("../../x", "aaaa0001", &format!("{png},{gif}")),
        message("aaaa0004", "../../x", broken),
    ])
}

#[test]
fn images_are_written_to_files() {
    let s = Sandbox::new();
    s.put("x.jsonl", session_with_images());
    let written = s.pisess("show --images ./pictures ./x.jsonl").done();
    assert_eq!(written.code, 0);
    assert_snapshot!(written, @"
    ./pictures/line-4-1-user.png
    ./pictures/line-4-2-user.gif
    2> pisess: note: image aaaa0004-1-user is skipped: its data is not base64
    ");
    assert_eq!(
        s.bytes("pictures/line-4-1-user.png"),
        b"\x89PNG\r\n\x1a\nhi"
    );
    assert_eq!(s.bytes("pictures/line-4-2-user.gif"), b"GIF89a");
    assert_eq!(s.names().len(), 3, "{:?}", s.names());

    // What is there already is not written again, and nothing else is replaced.
    assert_eq!(
        s.pisess("show --images ./pictures ./x.jsonl").done().code,
        0
    );
    assert_snapshot!(s.run("show --images ./pictures ./x.jsonl bbbb0002 --json"), @r#"{"id":"bbbb0002","role":"user","tool":null,"path":"./pictures/bbbb0002-1-user.gif","mimeType":"image/gif","bytes":6}"#);
    s.put("pictures/bbbb0002-1-user.gif", "mine");
    assert_snapshot!(s.pisess("show --images ./pictures ./x.jsonl bbbb0002").done().fails(2), @"./pictures/bbbb0002-1-user.gif exists with another content (hint: give another directory)");
    assert_eq!(s.bytes("pictures/bbbb0002-1-user.gif"), b"mine");

    assert_snapshot!(s.pisess("show --images ./none ./x.jsonl aaaa0001").done().fails(1), @"./x.jsonl: no image (hint: `pisess tree --filter images SESSION` finds them)");
    let skipped = s.pisess("show --images ./none ./x.jsonl aaaa0004").done();
    assert_snapshot!(skipped, @"
    2> pisess: note: image aaaa0004-1-user is skipped: its data is not base64
    2> pisess: ./x.jsonl: all images were skipped
    exit 1
    ");
    assert!(!s.path("none").exists());
}

#[test]
fn files_as_the_conversation_left_them() {
    let s = Sandbox::with(&["tour.jsonl"]);
    assert_snapshot!(s.unchanged("show --files ./tour.jsonl"), @"
    KNOWN  CALLS  LAST      FILE
    part       2  c8a45f06  src/clock.rs
    whole      1  7a13f8c2  tests/midnight.rs
    ");
    let whole = s.unchanged("show --file midnight.rs ./tour.jsonl");
    assert_eq!(whole.code, 0);
    assert!(
        whole.text().starts_with("#[test]\nfn the_first_ferry"),
        "{whole}"
    );
    let by_path =
        s.unchanged("show --file /home/u/code/ferry/tests/../tests/midnight.rs ./tour.jsonl");
    assert_eq!(by_path.text(), whole.text());

    // Of a file that was read in part, and then edited.
    assert_snapshot!(s.pisess("show --file src/clock.rs ./tour.jsonl").done(), @"
    pub fn departs_in(now: Time, departure: Time) -> i64 {
        departure.minutes() - now.minutes()
    }

    (departure.minutes() - now.minutes() + 720).rem_euclid(1440) - 720
    2> pisess: note: src/clock.rs: only a part is known: lines 35-38, the new text of 1 edit
    exit 1
    ");
    // Before the file was written, nothing is known of it.
    assert_eq!(
        s.pisess("show --file midnight.rs ./tour.jsonl b5d60e41")
            .done()
            .code,
        1
    );
    assert_snapshot!(s.pisess("show --file nothing ./tour.jsonl").done().fails(1), @"./tour.jsonl: no call names the file nothing (hint: --files lists the files)");
}

/// Lines that an edit elsewhere may have moved are shown without numbers.
#[test]
fn lines_of_a_file_that_may_have_moved() {
    let s = Sandbox::new();
    // A call and its result, with the text of that.
    let call = |id: &str, parent: &str, tool: &str, arguments: &str, text: &str| {
        let call = format!(
            r#"{{"type":"message","id":"{id}","parentId":"{parent}","timestamp":"2026-01-01T00:00:02.000Z","message":{{"role":"assistant","content":[{{"type":"toolCall","id":"c{id}","name":"{tool}","arguments":{arguments}}}]}}}}"#
        );
        let result = format!(
            r#"{{"type":"message","id":"r{id}","parentId":"{id}","timestamp":"2026-01-01T00:00:02.000Z","message":{{"role":"toolResult","toolCallId":"c{id}","toolName":"{tool}","isError":false,"content":[{{"type":"text","text":"{text}"}}]}}}}"#
        );
        format!("{call}\n{result}")
    };
    let lines = [
        crate::sandbox::user("1", None, "go"),
        call(
            "2",
            "1",
            "read",
            r#"{"path":"a","offset":5,"limit":2}"#,
            r"five\nsix\n\n[4 more lines in file. Use offset=7 to continue.]",
        ),
        call(
            "3",
            "r2",
            "edit",
            r#"{"path":"a","oldText":"one","newText":"1"}"#,
            "done",
        ),
        call(
            "4",
            "r3",
            "edit",
            r#"{"path":"a","oldText":"two","newText":"2\n3"}"#,
            "done",
        ),
    ];
    s.put("x.jsonl", crate::sandbox::session(&lines));
    assert_snapshot!(s.pisess("show --file a ./x.jsonl r3").done(), @"
    five
    six

    1
    2> pisess: note: a: only a part is known: lines 5-6, the new text of 1 edit
    exit 1
    ");
    assert_snapshot!(s.pisess("show --file a ./x.jsonl").done(), @"
    five
    six

    1

    2
    3
    2> pisess: note: a: only a part is known: 2 lines that were read, the new text of 2 edits
    exit 1
    ");
}

/// A session in which `write` and `edit` are called with these arguments, each with its outcome.
pub fn session_with_calls(calls: &[(&str, &str, bool)]) -> Vec<u8> {
    let mut lines = vec![crate::sandbox::user("00000000", None, "go")];
    let mut parent = "00000000".to_owned();
    for (number, (tool, arguments, has_failed)) in calls.iter().enumerate() {
        let call = format!("{number}aaaaaaa");
        let result = format!("{number}bbbbbbb");
        lines.push(format!(
            r#"{{"type":"message","id":"{call}","parentId":"{parent}","timestamp":"2026-01-01T00:00:02.000Z","message":{{"role":"assistant","content":[{{"type":"toolCall","id":"c{number}","name":"{tool}","arguments":{arguments}}}]}}}}"#
        ));
        lines.push(format!(
            r#"{{"type":"message","id":"{result}","parentId":"{call}","timestamp":"2026-01-01T00:00:02.000Z","message":{{"role":"toolResult","toolCallId":"c{number}","toolName":"{tool}","isError":{has_failed},"content":[{{"type":"text","text":"done"}}]}}}}"#
        ));
        parent = result;
    }
    crate::sandbox::session(&lines)
}

/// A session of oh-my-pi with these calls, each with the details of its result.
pub fn omp_session(calls: &[(&str, Value, Value)]) -> Vec<u8> {
    let mut lines = vec![
        json!({"type": "title", "v": 1, "title": "", "updatedAt": "2026-01-01T00:00:00.000Z", "pad": " ".repeat(165)}),
        json!({"type": "session", "version": 3, "id": "0199", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/p"}),
        json!({"type": "message", "id": "00000000", "parentId": null, "timestamp": "2026-01-01T00:00:01.000Z",
            "message": {"role": "user", "content": [{"type": "text", "text": "go"}], "attribution": "user", "timestamp": 1}}),
    ];
    let mut parent = "00000000".to_owned();
    for (number, (tool, arguments, details)) in calls.iter().enumerate() {
        let call = format!("{number}aaaaaaa");
        let result = format!("{number}bbbbbbb");
        let time = format!("2026-01-01T00:{number:02}:02.000Z");
        lines.push(json!({"type": "message", "id": call, "parentId": parent, "timestamp": time, "message": {"role": "assistant",
            "content": [{"type": "toolCall", "id": call, "name": tool, "arguments": arguments}]}}));
        lines.push(json!({"type": "message", "id": result, "parentId": call, "timestamp": time, "message": {"role": "toolResult",
            "toolCallId": call, "toolName": tool, "isError": false, "content": [{"type": "text", "text": "[a#0123]\n1:one"}], "details": details}}));
        parent = result;
    }
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    (lines.join("\n") + "\n").into_bytes()
}

/// The forms that oh-my-pi 18.2.3 stored in a run of its own tools.
#[test]
fn edits_of_oh_my_pi_are_applied_as_they_were_recorded() {
    let s = Sandbox::new();
    let write = |path: &str, content: &str| {
        (
            "write",
            json!({"path": path, "content": content}),
            json!({"resolvedPath": format!("/p/{path}")}),
        )
    };
    let hash = |input: &str, details: Value| ("edit", json!({"input": input}), details);
    let shown = |name: &str, calls: &[(&str, Value, Value)]| {
        s.put("x.jsonl", omp_session(calls));
        s.unchanged(&format!("show --file {name} ./x.jsonl"))
    };
    let long = |count: usize| {
        (1..=count)
            .map(|number| format!("line {number}\n"))
            .collect::<String>()
    };

    // By hashes of lines, with the text of the file after the edit.
    let put = "*** Begin Patch\n[a#2914]\nPUT 2.=2:\n+zwei\n*** End Patch\n";
    let recorded = json!({"diff": " 1|one\n-2|two\n+2|zwei", "op": "update", "path": "/p/a", "oldText": "one\ntwo\n", "newText": "one\nzwei\n"});
    let edited = [write("a", "one\ntwo\n"), hash(put, recorded.clone())];
    assert_eq!(shown("a", &edited).quiet(), "one\nzwei\n");
    assert_eq!(
        shown("a", &edited[1..]).quiet(),
        "one\nzwei\n",
        "without the write"
    );

    // Too long to be recorded: the diff is applied, if all of its lines are those of the file.
    let diff = " 1|line 1\n-2|line 2\n+2|zwei\n+3|drei\n 3|line 3\n 3000|line 3000\n+3002|- end";
    let pruned = json!({"diff": diff, "op": "update", "path": "/p/a", "snapshotsPruned": true});
    let expected = long(3000).replacen("line 2\n", "zwei\ndrei\n", 1) + "- end\n";
    let calls = [write("a", &long(3000)), hash(put, pruned.clone())];
    assert_eq!(shown("a", &calls).quiet(), expected);
    let with_returns = long(3000).replace('\n', "\r\n");
    let calls = [write("a", &with_returns), hash(put, pruned.clone())];
    assert_eq!(shown("a", &calls).quiet(), expected.replace('\n', "\r\n"));
    let other = long(3000).replacen("line 3\n", "other\n", 1);
    let unfit = shown("a", &[write("a", &other), hash(put, pruned)]);
    assert_eq!(unfit.code, 1);
    assert!(
        unfit
            .stderr
            .contains("only partly known: how 1aaaaaaa changed it"),
        "{unfit}"
    );

    // Several files in one call, a new name, and a deletion.
    let both = "[a#2914]\nPUT 2.=2:\n+zwei\n[sub/b#2914]\nPUT 1.=1:\n+eins\n";
    let files = json!({"diff": "", "perFileResults": [
        {"path": "/p/a", "diff": " 1|one\n-2|two\n+2|zwei", "op": "update", "newText": "one\nzwei\n"},
        {"path": "/p/sub/b", "diff": "-1|b\n+1|eins", "op": "update", "newText": "eins\n"}]});
    assert_eq!(
        shown("a", &[hash(both, files.clone())]).quiet(),
        "one\nzwei\n"
    );
    assert_eq!(shown("sub/b", &[hash(both, files)]).quiet(), "eins\n");
    let renamed = json!({"path": "a", "edits": [{"op": "update", "rename": "k", "diff": "@@\n one\n-two\n+zwei\n"}]});
    let details = json!({"diff": "@@ -1,2 +1,2 @@\n 1|one\n-2|two\n+2|zwei", "op": "update", "move": "/p/k", "sourcePath": "/p/a",
        "path": "/p/k", "oldText": "one\ntwo\n", "newText": "one\nzwei\n"});
    let moved = [write("a", "one\ntwo\n"), ("edit", renamed, details)];
    assert_eq!(shown("k", &moved).quiet(), "one\nzwei\n");
    assert_eq!(shown("a", &moved).code, 1);
    let gone = json!({"diff": "", "op": "delete", "path": "/p/a", "oldText": "one\n"});
    assert_eq!(
        shown("a", &[write("a", "one\n"), hash("[a#2914]\nREM\n", gone)]).code,
        1
    );

    // The tool repaired the syntax after the edit: what is in the file is not recorded.
    let mut repaired = omp_session(&edited);
    let notice = r#"Note: a stopped parsing after this edit; an automatic syntax repair (m) was applied on top"#;
    repaired = String::from_utf8(repaired)
        .unwrap()
        .replace(r"[a#0123]\n1:one", notice)
        .into_bytes();
    s.put("x.jsonl", repaired);
    assert_eq!(s.unchanged("show --file a ./x.jsonl").code, 1);
}

/// oh-my-pi prints numbers before the lines, and records the lines without them.
#[test]
fn reads_of_oh_my_pi_have_the_lines_of_the_file() {
    let s = Sandbox::new();
    let read = |path: &str, first: usize, text: &str, total: usize, size: usize| {
        let numbers: Vec<usize> = (first..first + text.split('\n').count()).collect();
        let details = json!({"totalLines": total, "displayContent": {"text": text, "startLine": first, "lineNumbers": numbers}, "fileSize": size});
        ("read", json!({"path": path}), details)
    };
    s.put("x.jsonl", omp_session(&[read("a", 1, "one\ntwo", 2, 8)]));
    assert_eq!(s.run("show --file a ./x.jsonl"), "one\ntwo\n");
    s.put("x.jsonl", omp_session(&[read("a", 1, "one\ntwo", 2, 7)]));
    assert_eq!(s.run("show --file a ./x.jsonl"), "one\ntwo");
    // Some lines of a file, which the path names.
    s.put(
        "x.jsonl",
        omp_session(&[read("a:2-3", 2, "two\nthree", 9, 99)]),
    );
    let part = s.unchanged("show --file a ./x.jsonl");
    assert!(
        part.text().contains("two\nthree\n") && part.code == 1,
        "{part}"
    );
}

/// oh-my-pi's edits by hashes of lines do not say which text they replace.
#[test]
fn a_change_of_unknown_form_is_not_passed_over() {
    let s = Sandbox::new();
    let calls = [
        ("write", r#"{"path":"a","content":"one\ntwo\n"}"#, false),
        (
            "edit",
            r#"{"path":"a","edits":[{"op":"replace","pos":"2#QV","lines":["2"]}]}"#,
            false,
        ),
        ("write", r#"{"path":"a","content":"new\n"}"#, false),
    ];
    s.put("x.jsonl", session_with_calls(&calls[..2]));
    assert_snapshot!(s.unchanged("show --file a ./x.jsonl"), @"
    one
    two
    2> pisess: note: a: only partly known: how 1aaaaaaa changed it is not stored in a known form
    exit 1
    ");
    let files = s.run("show --files ./x.jsonl");
    assert!(files.contains("outdated"), "{files}");
    let json = s.unchanged("show --file a --json ./x.jsonl").text();
    assert!(json.contains(r#""known":"outdated""#), "{json}");
    assert!(json.contains(r#""unknownFrom":"1aaaaaaa""#), "{json}");

    // Without the write, nothing is known.
    s.put("x.jsonl", session_with_calls(&calls[1..2]));
    let unknown = s.unchanged("show --file a ./x.jsonl");
    assert_eq!(unknown.code, 1);
    let note = "no text of a is known: how 0aaaaaaa changed it is not stored in a known form";
    assert!(unknown.stderr.contains(note), "{unknown}");

    // A later write has all of the file.
    s.put("x.jsonl", session_with_calls(&calls));
    assert_eq!(s.run("show --file a ./x.jsonl"), "new\n");
}

#[test]
fn a_file_is_shown_at_an_entry_not_for_the_last_entries() {
    let s = Sandbox::with(&["tour.jsonl"]);
    let error = s
        .unchanged("show --file clock.rs --last 3 ./tour.jsonl")
        .fails(2);
    assert!(
        error.contains("give the entry up to which calls count as REF"),
        "{error}"
    );
    s.unchanged("show --files --last 3 ./tour.jsonl").fails(2);
}

#[test]
fn calls_that_failed_left_nothing_in_a_file() {
    let s = Sandbox::new();
    let calls = [
        ("write", r#"{"path":"a","content":"one\r\ntwo\r\n"}"#, false),
        (
            "edit",
            r#"{"path":"./a","edits":[{"oldText":"two","newText":"2\n3"}]}"#,
            false,
        ),
        ("write", r#"{"path":"a","content":"never"}"#, true),
        (
            "edit",
            r#"{"path":"@a","oldText":"gone","newText":"x"}"#,
            false,
        ),
    ];
    s.put("x.jsonl", session_with_calls(&calls[..3]));
    assert_eq!(
        s.unchanged("show --file a ./x.jsonl").text(),
        "one\r\n2\r\n3\r\n"
    );
    assert_eq!(
        s.unchanged("show --file a ./x.jsonl 0bbbbbbb").text(),
        "one\r\ntwo\r\n"
    );

    s.put("x.jsonl", session_with_calls(&calls));
    let outdated = s.pisess("show --file a --json ./x.jsonl").done();
    assert_eq!(outdated.code, 1);
    assert!(
        outdated
            .text()
            .contains(r#""known":"outdated","text":"one\r\n2\r\n3\r\n","parts":[],"unfitEdits":1,"unknownFrom":null"#),
        "{outdated}"
    );
}

/// A patch of what the calls changed is taken by git, and makes the same bytes.
#[test]
fn a_patch_makes_the_files_that_the_calls_left() {
    let s = Sandbox::new();
    let numbers = (1..=40).map(|number| format!("{number}\n"));
    let numbers = numbers.collect::<String>() + "end";
    // Each file with its content before, if it exists, and after.
    let files = [
        (
            "src/a.rs",
            Some(numbers.clone()),
            numbers
                .replace("\n7\n", "\nseven\n")
                .replace("\n30\n", "\n"),
        ),
        (
            "src/with blanks.txt",
            Some("one\r\ntwo\r\n".to_owned()),
            "one\r\n2\r\n".to_owned(),
        ),
        ("new \"quoted\".txt", None, "no newline".to_owned()),
        ("empty", None, String::new()),
        ("ended", Some("a\nb".to_owned()), "a\nb\n".to_owned()),
    ];
    let mut calls: Vec<(&str, String, bool)> = Vec::new();
    for (name, before, _) in &files {
        if let Some(before) = before {
            calls.push((
                "write",
                json!({"path": name, "content": before}).to_string(),
                false,
            ));
        }
    }
    let edit = |path: &str, old: &str, new: &str| {
        let arguments = json!({"path": path, "edits": [{"oldText": old, "newText": new}]});
        ("edit", arguments.to_string(), false)
    };
    let first_change = calls.len();
    calls.push(edit("src/a.rs", "\n7\n", "\nseven\n"));
    calls.push(edit("src/a.rs", "\n30\n", "\n"));
    calls.push(edit("./src/with blanks.txt", "two", "2"));
    for (name, _, after) in &files[2..] {
        calls.push((
            "write",
            json!({"path": name, "content": after}).to_string(),
            false,
        ));
    }
    calls.push((
        "write",
        json!({"path": "failed", "content": "x"}).to_string(),
        true,
    ));
    let calls: Vec<_> = calls
        .iter()
        .map(|(tool, arguments, failed)| (*tool, arguments.as_str(), *failed))
        .collect();
    s.put("x.jsonl", session_with_calls(&calls));

    let range = format!("{}bbbbbbb..", first_change - 1);
    let patch = s.unchanged(&format!("show --patch ./x.jsonl {range}"));
    assert_eq!(patch.code, 0, "{patch}");
    s.put("x.patch", patch.quiet());
    for (name, before, _) in &files {
        if let Some(before) = before {
            s.put(&format!("p/{name}"), before);
        }
    }
    let applied = std::process::Command::new("git")
        .args(["apply", "--whitespace=nowarn", "../x.patch"])
        .current_dir(s.path("p"))
        .env("GIT_CEILING_DIRECTORIES", s.path(""))
        .output()
        .unwrap();
    assert!(
        applied.status.success(),
        "{applied:?}\n{}",
        s.text("x.patch")
    );
    for (name, _, after) in &files {
        assert_eq!(s.text(&format!("p/{name}")), *after, "{name}");
    }
    assert!(!s.path("p/failed").exists());
}

#[test]
fn a_patch_of_files_that_are_partly_known() {
    let s = Sandbox::with(&["tour.jsonl"]);
    assert_snapshot!(s.unchanged("show --patch ./tour.jsonl"), @r#"
    diff --git a/tests/midnight.rs b/tests/midnight.rs
    new file mode 100644
    --- /dev/null
    +++ b/tests/midnight.rs
    @@ -0,0 +1,4 @@
    +#[test]
    +fn the_first_ferry_after_midnight() {
    +    assert_eq!(departs_in(time("23:50"), time("00:10")), 20);
    +}
    2> pisess: note: src/clock.rs is not in the patch: its content before is not known, and not every change recorded a diff
    exit 1
    "#);
    assert_snapshot!(s.unchanged("show --patch --json --last 3 ./tour.jsonl"), @r#"
    2> {"error":{"kind":"negative","message":"./tour.jsonl: no call changed a file","path":"./tour.jsonl","line":null,"hint":"changes made by commands are not known","exit":1}}
    exit 1
    "#);
    assert_snapshot!(s.pisess("show --patch ./tour.jsonl root..b5d60e41").done().fails(1), @"note: src/clock.rs is not in the patch: its content before is not known, and not every change recorded a diff");
    assert_snapshot!(s.pisess("export ./tour.jsonl -o ./a.patch").done().fails(2), @"export does not write patches (hint: `pisess show --patch SESSION` prints what the agent changed in files)");
    assert_snapshot!(s.pisess("diff --patch ./tour.jsonl @ @^").done().fails(2), @"unexpected argument '--patch' found (hint: `pisess show --patch SESSION` prints what the agent changed in files; see `pisess diff --help`)");
    // Some tools record a unified diff without names as `diff`.
    let edit = r#"{"path":"cart.ts","oldText":"a","newText":"b"}"#;
    let calls = String::from_utf8(session_with_calls(&[("edit", edit, false)])).unwrap();
    let details = r#""details":{"diff":"--- \n+++ \n@@ -7,2 +7,2 @@\n-a\n+b\n c"},"content":[{"type":"text","text":"done"#;
    s.put(
        "d.jsonl",
        calls.replace(r#""content":[{"type":"text","text":"done"#, details),
    );
    assert_snapshot!(s.unchanged("show --patch ./d.jsonl"), @r"
    diff --git a/cart.ts b/cart.ts
    --- a/cart.ts
    +++ b/cart.ts
    @@ -7,2 +7,2 @@
    -a
    +b
     c
    2> pisess: note: cart.ts is only partly known: the patch has the diff that its edit recorded
    ");
    s.put(
        "x.jsonl",
        session_with_calls(&[("write", r#"{"path":"/tmp/other","content":"a\n"}"#, false)]),
    );
    assert_snapshot!(s.unchanged("show --patch ./x.jsonl"), @r"
    diff --git /tmp/other /tmp/other
    new file mode 100644
    --- /dev/null
    +++ /tmp/other
    @@ -0,0 +1 @@
    +a
    2> pisess: note: /tmp/other is outside of the session's directory: its path in the patch is absolute
    ");
}

#[test]
fn a_patch_of_one_file() {
    let s = Sandbox::with(&["tour.jsonl"]);
    let patch = s.run("show --patch --file midnight.rs ./tour.jsonl");
    let whole_patch = s.unchanged("show --patch ./tour.jsonl");
    assert!(whole_patch.text().starts_with(&patch), "{patch}");
    assert_snapshot!(s.unchanged("show --patch --file src/clock.rs ./tour.jsonl"), @"
    2> pisess: note: src/clock.rs is not in the patch: its content before is not known, and not every change recorded a diff
    exit 1
    ");
    assert_snapshot!(s.unchanged("show --patch --file midnight.rs --last 3 ./tour.jsonl"), @"
    2> pisess: ./tour.jsonl: no call changed tests/midnight.rs (hint: changes made by commands are not known)
    exit 1
    ");
    let unknown_file = s.unchanged("show --file none.rs ./tour.jsonl");
    let in_patch = s.unchanged("show --patch --file none.rs ./tour.jsonl");
    assert_eq!(in_patch.text(), unknown_file.text());
    assert_eq!(in_patch.code, unknown_file.code);
}

/// The id of the parent is not separated from its name, and can be copied.
#[test]
fn facts_are_wrapped_before_the_parent() {
    let s = Sandbox::with(&["tour.jsonl"]);
    let shown = s
        .pisess("show ./tour.jsonl 42b8f65a --color never")
        .terminal(70);
    let shown = shown.done().text();
    assert!(shown.contains("\n  · parent e19c4d07\n"), "{shown}");
}

/// In a patch of Codex, the path of one file may end with the path of another.
#[test]
fn show_file_reads_only_the_part_of_a_patch_for_the_file() {
    let s = Sandbox::new();
    let put_patch = |patch: &str| {
        let header = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}"#;
        let call = json!({"type": "message", "id": "aaaa0001", "parentId": null, "timestamp": "2026-01-01T00:00:01.000Z",
            "message": {"role": "assistant", "content": [{"type": "toolCall", "id": "c", "name": "apply_patch", "arguments": {"input": patch}}]}});
        let result = json!({"type": "message", "id": "aaaa0002", "parentId": "aaaa0001", "timestamp": "2026-01-01T00:00:02.000Z",
            "message": {"role": "toolResult", "toolCallId": "c", "toolName": "apply_patch", "isError": false, "content": "ok"}});
        s.put("x.jsonl", format!("{header}\n{call}\n{result}\n"));
    };
    let show = |name: &str| s.pisess(&format!("show --file {name} ./x.jsonl")).done();

    put_patch(
        "*** Begin Patch\n*** Delete File: src/utils.rs\n*** Add File: utils.rs\n+moved\n*** End Patch",
    );
    assert_eq!(show("/p/utils.rs").stdout, b"moved\n");
    assert_eq!(show("src/utils.rs").stdout, b"");
    assert_snapshot!(s.run("show --files ./x.jsonl"), @"
    KNOWN    CALLS  LAST      FILE
    nothing      1  aaaa0001  src/utils.rs
    whole        1  aaaa0001  utils.rs
    ");

    put_patch(
        "*** Begin Patch\n*** Add File: mod.rs\n+new\n*** Update File: src/mod.rs\n@@\n old\n*** End Patch",
    );
    assert_eq!(show("/p/mod.rs").stdout, b"new\n");
    assert_eq!(show("src/mod.rs").stdout, b"");

    put_patch(
        "*** Begin Patch\n*** Add File: README.md\n+root\n*** Add File: docs/README.md\n+docs\n*** End Patch",
    );
    assert_eq!(show("/p/README.md").stdout, b"root\n");
    assert_eq!(show("docs/README.md").stdout, b"docs\n");

    // A file that the patch also deletes is not known to be new.
    put_patch("*** Begin Patch\n*** Add File: a\n+x\n*** Delete File: a\n*** End Patch");
    assert_eq!(show("a").stdout, b"");
    // Another spelling of the path names the same file.
    put_patch("*** Begin Patch\n*** Add File: a\n+x\n*** Add File: ./b/a\n+y\n*** End Patch");
    assert_eq!(show("b/a").stdout, b"y\n");
}

/// A command of Codex is a list of words: it is shown as one line, as the user would type it.
#[test]
fn show_has_the_command_of_codex_as_a_text() {
    let s = Sandbox::new();
    let show = |command: serde_json::Value| {
        let lines = [
            json!({"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/p"}),
            json!({"type": "message", "id": "aaaa0001", "parentId": null, "timestamp": "2026-01-01T00:00:01.000Z",
                "message": {"role": "assistant", "content": [{"type": "toolCall", "id": "c", "name": "shell",
                    "arguments": {"command": command, "timeout_ms": 9000}}]}}),
            json!({"type": "message", "id": "aaaa0002", "parentId": "aaaa0001", "timestamp": "2026-01-01T00:00:02.000Z",
                "message": {"role": "toolResult", "toolCallId": "c", "toolName": "shell", "isError": false, "content": "ok"}}),
        ];
        let lines = lines.map(|line| line.to_string());
        s.put("x.jsonl", lines.join("\n") + "\n");
        s.run("show ./x.jsonl aaaa0002")
    };
    assert_snapshot!(show(json!(["bash", "-lc", "make test"])), @r"
    aaaa0002  shell make test · 2026-01-01 00:00
      line 3 · parent aaaa0001
      timeout_ms: 9000
        ok
    ");
    assert_snapshot!(show(json!(["bash", "-lc", "for f in *\ndo\n  cat $f\ndone"])), @r"
    aaaa0002  shell for f in * do   cat $f done · 2026-01-01 00:00
      line 3 · parent aaaa0001
      command
        for f in *
        do
          cat $f
        done
      timeout_ms: 9000
        ok
    ");
}

/// Codex of 2025 has no tool for patches: a shell command passes them to a program.
#[test]
fn a_patch_in_a_shell_command_changes_files() {
    let s = Sandbox::new();
    let patch = "*** Begin Patch\n*** Add File: kites/washi.md\n+thin\n*** End Patch";
    let shell = format!("apply_patch <<'EOF'\n{patch}\nEOF");
    let lines = [
        json!({"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/p"}),
        json!({"type": "message", "id": "aaaa0001", "parentId": null, "timestamp": "2026-01-01T00:00:01.000Z",
            "message": {"role": "assistant", "content": [{"type": "toolCall", "id": "c", "name": "shell",
                "arguments": {"command": ["bash", "-lc", shell], "workdir": "/p/notes"}}]}}),
        json!({"type": "message", "id": "aaaa0002", "parentId": "aaaa0001", "timestamp": "2026-01-01T00:00:02.000Z",
            "message": {"role": "toolResult", "toolCallId": "c", "toolName": "shell", "isError": false, "content": "ok"}}),
    ];
    let lines = lines.map(|line| line.to_string());
    s.put("x.jsonl", lines.join("\n") + "\n");

    let washi = "/p/notes/kites/washi.md";
    assert_eq!(
        s.pisess(&format!("show --file {washi} ./x.jsonl"))
            .done()
            .stdout,
        b"thin\n"
    );
    assert_snapshot!(s.run("show --files ./x.jsonl"), @"
    KNOWN  CALLS  LAST      FILE
    whole      1  aaaa0001  notes/kites/washi.md
    ");
    assert_snapshot!(s.run("stats --by file ./x.jsonl"), @"
    file                     reads  writes  failed  sessions  wrote  in
    /p/notes/kites/washi.md      0       1       0         1      1  s
    ");
    assert_snapshot!(s.run("tree ./x.jsonl"), @"aaaa0002  • shell: apply_patch kites/washi.md  ← active");
    assert_snapshot!(s.run("show ./x.jsonl aaaa0002"), @r"
    aaaa0002  shell apply_patch kites/washi.md · 2026-01-01 00:00
      line 3 · parent aaaa0001
        *** Begin Patch
        *** Add File: kites/washi.md
        +thin
        *** End Patch

        ok
    ");
    assert_snapshot!(s.run("export ./x.jsonl --as markdown -o -"), @r#"
    # p, 2026-01-01

    <details><summary><b>apply_patch</b> <code>notes/kites/washi.md</code></summary>

    *Add File: kites/washi.md*

    ```diff
    +thin
    ```

    *ok*

    </details>
    "#);
    assert_snapshot!(s.run("show --patch ./x.jsonl"), @r"
    diff --git a/notes/kites/washi.md b/notes/kites/washi.md
    new file mode 100644
    --- /dev/null
    +++ b/notes/kites/washi.md
    @@ -0,0 +1 @@
    +thin
    ");
}

/// What a later call reads before the first change is the content at REF. At `root`, that is the
/// file before the conversation.
#[test]
fn a_file_that_is_read_later() {
    let s = Sandbox::new();
    let calls = [
        ("read", r#"{"path":"a"}"#, "one\\ntwo\\n"),
        (
            "edit",
            r#"{"path":"a","edits":[{"oldText":"two","newText":"2"}]}"#,
            "done",
        ),
        ("write", r#"{"path":"new","content":"x"}"#, "done"),
        (
            "read",
            r#"{"path":"part","offset":1,"limit":1}"#,
            "one\\n\\n[9 more lines in file. Use offset=2 to continue.]",
        ),
        ("bash", r#"{"command":"make"}"#, "done"),
        ("read", r#"{"path":"made"}"#, "made\\n"),
    ];
    let mut lines = vec![crate::sandbox::user("u", None, "go")];
    let mut parent = "u".to_owned();
    for (index, (tool, arguments, text)) in calls.into_iter().enumerate() {
        lines.push(format!(
            r#"{{"type":"message","id":"c{index}","parentId":"{parent}","timestamp":"2026-01-01T00:00:02.000Z","message":{{"role":"assistant","content":[{{"type":"toolCall","id":"t{index}","name":"{tool}","arguments":{arguments}}}]}}}}"#
        ));
        lines.push(format!(
            r#"{{"type":"message","id":"r{index}","parentId":"c{index}","timestamp":"2026-01-01T00:00:02.000Z","message":{{"role":"toolResult","toolCallId":"t{index}","toolName":"{tool}","isError":false,"content":[{{"type":"text","text":"{text}"}}]}}}}"#
        ));
        parent = format!("r{index}");
    }
    s.put("x.jsonl", crate::sandbox::session(&lines));

    for reference in ["root", "u", "c0"] {
        let read = s.unchanged(&format!("show --file a ./x.jsonl {reference}"));
        assert_eq!(
            (read.code, read.text().as_str()),
            (0, "one\ntwo\n"),
            "{reference}"
        );
        let note = "pisess: note: a: as c0 read it after REF, before the first change\n";
        assert_eq!(read.stderr, note, "{reference}");
    }
    assert_eq!(s.run("show --file a ./x.jsonl r0"), "one\ntwo\n");
    assert_eq!(s.run("show --file a ./x.jsonl"), "one\n2\n");
    assert!(
        s.unchanged("show --file a --json ./x.jsonl root")
            .text()
            .contains(r#""laterRead":"c0""#)
    );
    // The first call writes this file, so nothing of it is known before.
    assert_snapshot!(s.unchanged("show --file new ./x.jsonl root"), @"
    2> pisess: ./x.jsonl: no text of new is known (hint: c2 writes it after REF without a read before, so it may not have existed)
    exit 1
    ");
    assert_snapshot!(s.unchanged("show --file part ./x.jsonl root"), @"
    one
    2> pisess: note: part: as c3 read it after REF, before the first change
    2> pisess: note: part: only a part is known: lines 1-1
    exit 1
    ");
    // A command may have changed the file before it was read, but not one up to REF.
    assert_snapshot!(s.unchanged("show --file made ./x.jsonl r3"), @"
    made
    2> pisess: note: made: as c5 read it after REF; the command in c4 before that may have changed it
    ");
    assert_snapshot!(s.unchanged("show --file made ./x.jsonl c4"), @"
    made
    2> pisess: note: made: as c5 read it after REF; the command in c4 before that may have changed it
    ");
    assert_snapshot!(s.unchanged("show --file made ./x.jsonl r4"), @"
    made
    2> pisess: note: made: as c5 read it after REF, before the first change
    ");
    assert_snapshot!(s.unchanged("show --file none ./x.jsonl root"), @"
    2> pisess: ./x.jsonl: no call names the file none (hint: --files lists the files)
    exit 1
    ");
}

/// The output of a tool or command is printed as it was, so that it can be saved to a file.
#[test]
fn show_as_plain_prints_texts_unchanged() {
    let s = Sandbox::new();
    let header = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#;
    let entry = |id: &str, parent: &str, message: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-01-01T00:00:00.000Z","message":{message}}}"#
        )
    };
    let lines = [
        header.to_owned(),
        entry(
            "a1",
            "null",
            r#"{"role":"user","content":"Run it:\n  make\n"}"#,
        ),
        entry(
            "a2",
            r#""a1""#,
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"I run **it**."},{"type":"toolCall","id":"c","name":"bash","arguments":{"command":"make"}}]}"#,
        ),
        entry(
            "a3",
            r#""a2""#,
            r#"{"role":"toolResult","toolCallId":"c","toolName":"bash","content":[{"type":"text","text":"\tok \u001b[1mbold\u001b[0m  \n\n   100 %"}]}"#,
        ),
        entry(
            "a4",
            r#""a3""#,
            r#"{"role":"bashExecution","command":"ls","output":"a.rs\nb.rs\n","exitCode":0}"#,
        ),
        entry(
            "a5",
            r#""a4""#,
            r#"{"role":"assistant","content":[{"type":"toolCall","id":"d","name":"ls","arguments":{}}]}"#,
        ),
        entry(
            "a6",
            r#""a5""#,
            r#"{"role":"toolResult","toolCallId":"d","toolName":"exec_command","content":[{"type":"text","text":"Chunk ID: 5d82\nWall time: 0.1 seconds\nOutput:\nchart.svg\n"}]}"#,
        ),
    ];
    s.put("s.jsonl", lines.join("\n") + "\n");
    let plain = |entries: &str| {
        s.unchanged(&format!("show --as plain ./s.jsonl {entries}"))
            .text()
    };
    assert_eq!(plain("a1"), "Run it:\n  make\n");
    assert_eq!(plain("a2"), "I run **it**.\n");
    assert_eq!(plain("a3"), "\tok \u{1b}[1mbold\u{1b}[0m  \n\n   100 %\n");
    assert_eq!(plain("a4"), "a.rs\nb.rs\n");
    assert_eq!(plain("a4 a5 a2"), "a.rs\nb.rs\n\nI run **it**.\n");
    // What Codex puts above the output of a command is left out.
    assert_eq!(plain("a6"), "chart.svg\n");
    // Control characters do not reach a terminal.
    let on_terminal = s.pisess("show --as plain ./s.jsonl a3").terminal(80).done();
    assert!(!on_terminal.text().contains('\u{1b}'), "{on_terminal}");
    assert_snapshot!(s.unchanged("show --as plain ./s.jsonl a5").fails(1), @"./s.jsonl: these entries have no text (hint: `pisess show SESSION REF` prints all that an entry has)");
}
