//! `pisess show`: entries in full.

use crate::sandbox::{Sandbox, fixture};
use insta::assert_snapshot;

#[test]
fn entries_in_full() {
    let s = Sandbox::with(&["tour.jsonl"]);
    assert_snapshot!(s.unchanged("show ./tour.jsonl"), @r#"
    2f5dc03e  assistant message  2026-03-14 09:43  line 32, parent 86e2a1fb
        "Ferries after midnight no longer show as gone: asked at 23:50, the 00:10 departs in 20 minutes."
      api: anthropic-messages
      provider: anthropic
      model: claude-sonnet-4-5
      usage
        {
          "input": 1480,
          "output": 61,
          "cacheRead": 0,
          "cacheWrite": 0,
          "totalTokens": 1541,
          "cost": {"input": 0.00444, "output": 0.0009149999999999999, "cacheRead": 0, "cacheWrite": 0, "total": 0.005355}
        }
      stopReason: stop
    "#);
    assert_snapshot!(s.unchanged("show ./tour.jsonl :2 c25f81e7 label:green^{toolResult} 7a13f8c2 dc705e93"), @r#"
    4f1c02a9  model_change  2026-03-14 09:26  line 2, no parent
      provider: anthropic
      modelId: claude-sonnet-4-5

    c25f81e7  assistant message  2026-03-14 09:27  line 5, parent 0d9a6c31
      thinking
        Looks like a midnight problem.

        I'll look for where the waiting time is computed.
      toolCall grep call_01
        pattern: fn departs_in
        path: /home/u/code/ferry/src
      api: anthropic-messages
      provider: anthropic
      model: claude-sonnet-4-5
      usage
        {
          "input": 2140,
          "output": 96,
          "cacheRead": 0,
          "cacheWrite": 0,
          "totalTokens": 2236,
          "cost": {"input": 0.00642, "output": 0.0014399999999999999, "cacheRead": 0, "cacheWrite": 0, "total": 0.00786}
        }
      stopReason: toolUse

    fa39d058  toolResult message  2026-03-14 09:31  line 23, parent 1b72ce9d
      toolCallId: call_06
      toolName: bash
        running 14 tests
        ..............
        test result: ok. 14 passed; 0 failed
      isError: false

    7a13f8c2  assistant message  2026-03-14 09:32  line 27, parent b5d60e41
      toolCall write call_07
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
          "cost": {"input": 0.0007199999999999999, "output": 0.00225, "cacheRead": 0, "cacheWrite": 0, "total": 0.00297}
        }
      stopReason: toolUse

    dc705e93  compaction  2026-03-14 09:43  line 30, parent 42b8f65a
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
      firstKeptEntryId: b5d60e41
      tokensBefore: 12480
      details: {"readFiles": [], "modifiedFiles": ["/home/u/code/ferry/src/clock.rs"]}
    "#);
}

#[test]
fn in_an_oh_my_pi_file() {
    let s = Sandbox::with(&["omp.jsonl"]);
    assert_snapshot!(s.unchanged("show ./omp.jsonl 60718293 @~0"), @r#"
    60718293  custom_message  2026-03-14 09:27  line 9, parent 5f607182
      customType: skill-prompt
        Look at the EXIF data of c.jpg
      display: true
      attribution: user

    d7e8f90a  custom  2026-03-14 09:27  line 16, parent c6d7e8f9
      customType: session_exit
      data: {"reason": "quit", "kind": "normal", "recordedAt": "2026-03-14T09:27:32.589Z"}
    "#);
}

#[test]
fn older_entries_as_if_migrated() {
    let s = Sandbox::with(&["v1.jsonl"]);
    assert_snapshot!(s.unchanged("show ./v1.jsonl cb26a1f8 1858c9d3"), @"
    cb26a1f8  user message  2026-03-14 09:27  line 5, parent 1858c9d3
        And beans?

    1858c9d3  custom message  2026-03-14 09:27  line 4, parent c307e4fd
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
        s.run("show ./two-branches.jsonl @~0")
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
    assert_snapshot!(s.unchanged("show -q ./unknown-type.jsonl :2 :3 :4"), @r#"
    u0000001  user message  2026-01-01 00:00  line 2, no parent
        one

    a0000002  assistant message  2026-01-01 00:00  line 3, parent u0000001
        two
      api: anthropic-messages
      provider: anthropic
      model: claude-opus-4-5
      usage
        {
          "input": 0,
          "output": 0,
          "cacheRead": 0,
          "cacheWrite": 0,
          "totalTokens": 0,
          "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}
        }
      stopReason: stop

    hhhh0001  hologram  2026-01-01 00:00  line 4, parent a0000002
      beam: [1, 2]
    "#);
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
    aaaa0001  user message  2026-01-01 00:00  line 2, no parent
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
    1a2b3c06  user message  2026-01-01 00:00  line 7, parent 1a2b3c03
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
