//! `pisess summarize`: moves to another entry with a summary; and the sources of summaries.

use crate::sandbox::{Sandbox, fixture};
use insta::assert_snapshot;
use serde_json::{Value, json};
use std::time::Duration;

/// Without REF, the whole conversation is summarized, and nothing is written.
#[test]
fn prints_the_summary_of_the_conversation() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let summary = s.unchanged("summarize ./two-branches.jsonl").quiet();
    assert_snapshot!(summary, @r#"
    ## Goal
    The last request, word for word (entry 1a2b3c06):
    > Washi then. How big?

    - The request before it: "Which paper for a kite?": answered: "Tissue paper is light, washi is strong."

    ## Next Steps
    1. The request under Goal was replied to. What is next is below, if anything.

    The assistant's last words:
    > A metre and more, with a bamboo spar.
    "#);
    assert_eq!(
        s.unchanged("summarize --print ./two-branches.jsonl root")
            .quiet(),
        summary
    );
    let of_branch = s
        .unchanged("summarize --print ./two-branches.jsonl @~2")
        .quiet();
    assert!(
        of_branch.contains("Washi then") && !of_branch.contains("Which paper"),
        "{of_branch}"
    );
    assert_eq!(
        s.unchanged("summarize --print ./two-branches.jsonl @~2 --summary 'A spar.'")
            .quiet(),
        "A spar.\n"
    );
    let json: Value =
        serde_json::from_str(&s.unchanged("summarize --json ./two-branches.jsonl").quiet())
            .unwrap();
    assert!(json["summary"].as_str().unwrap().contains(summary.trim()));
    assert_eq!(json["details"]["readFiles"], serde_json::json!([]));
    assert_snapshot!(s.unchanged("summarize ./two-branches.jsonl --label tried").fails(2), @"--label needs REF: without it, the summary is only printed (hint: give the entry to continue from)");
    assert_snapshot!(s.unchanged("summarize ./two-branches.jsonl @^ --print -o ./x").fails(2), @"the argument '--print' cannot be used with '--output <PATH>' (hint: see `pisess summarize --help`)");
    s.put("empty.jsonl", fixture("hazards/header-only.jsonl"));
    assert_snapshot!(s.unchanged("summarize ./empty.jsonl").fails(1), @"./empty.jsonl: no entries to summarize on the branch you leave (hint: write one anyway with --summary TEXT)");
}

/// Results are read in the newest 1,000 messages only. Here these are the results of one reply,
/// which itself is older.
#[test]
fn summarize_describes_the_calls_of_a_reply_before_the_newest_messages() {
    let mut lines = vec![
        json!({"type": "session", "version": 3, "id": "7c1d", "timestamp": "2026-05-04T10:00:00.000Z", "cwd": "/kites"}),
    ];
    let mut add = |message: Value| {
        let number = lines.len();
        let parent = (number > 1).then(|| format!("{:08x}", number - 1));
        lines.push(json!({"type": "message", "id": format!("{number:08x}"), "parentId": parent, "timestamp": "2026-05-04T10:00:00.000Z", "message": message}));
    };
    let mut calls = Vec::new();
    for number in 0..1_000 {
        calls.push(json!({"type": "toolCall", "id": format!("c{number}"), "name": "bash", "arguments": {"command": format!("measure sail-{number}")}}));
    }
    add(json!({"role": "user", "content": "Measure all sails."}));
    add(json!({"role": "assistant", "content": calls, "stopReason": "toolUse"}));
    for number in 0..1_000 {
        add(
            json!({"role": "toolResult", "toolCallId": format!("c{number}"), "toolName": "bash", "isError": false, "content": "0.5 m"}),
        );
    }

    let s = Sandbox::new();
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    s.put("sails.jsonl", text);
    let summary = s.run("summarize ./sails.jsonl");
    assert!(summary.contains("measure sail-999"), "{summary}");
}

#[test]
fn goes_to_another_branch() {
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
    assert_snapshot!(s.run("summarize ./two-branches.jsonl 1a2b3c05 --summary 'Washi needs a spar.'"), @"226b1b5c");
    assert_snapshot!(s.run("tree ./two-branches.jsonl --filter all"), @"
    1a2b3c01  • [start] user: Which paper for a kite?
    1a2b3c02  • assistant: Tissue paper is light, washi is strong.
    1a2b3c03  • label: start
    1a2b3c06  ├─ user: Washi then. How big?  (2 messages, 4mo)
    1a2b3c07  │  assistant: A metre and more, with a bamboo spar.
    1a2b3c04  • user: Tissue paper then. How big?
    1a2b3c05  • assistant: Half a metre; larger ones tear.
    226b1b5c  • branch summary: Washi needs a spar.  ← active
    ");
    assert_snapshot!(s.lines_from("two-branches.jsonl", 9), @r#"{"type":"branch_summary","id":"226b1b5c","parentId":"1a2b3c05","timestamp":"2026-05-04T12:00:00.000Z","fromId":"1a2b3c07","summary":"Washi needs a spar.","details":{"readFiles":[],"modifiedFiles":[]},"fromHook":false}"#);
    assert!(
        s.bytes("two-branches.jsonl")
            .starts_with(&fixture("two-branches.jsonl"))
    );
}

#[test]
fn a_user_message_means_the_place_before_it() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    assert_snapshot!(s.run("summarize ./two-branches.jsonl 1a2b3c04 --summary 'Washi needs a spar.'"), @"
    226b1b5c
    Tissue paper then. How big?
    ");
    assert_snapshot!(s.run("tree ./two-branches.jsonl --filter all"), @"
    1a2b3c01  • [start] user: Which paper for a kite?
    1a2b3c02  • assistant: Tissue paper is light, washi is strong.
    1a2b3c03  • label: start
    1a2b3c04  ├─ user: Tissue paper then. How big?  (2 messages, 4mo)
    1a2b3c05  │  assistant: Half a metre; larger ones tear.
    1a2b3c06  ├─ user: Washi then. How big?  (2 messages, 4mo)
    1a2b3c07  │  assistant: A metre and more, with a bamboo spar.
    226b1b5c  • branch summary: Washi needs a spar.  ← active
    ");
}

#[test]
fn root_is_the_empty_conversation() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    s.run("summarize ./two-branches.jsonl root --summary 'Kites were made.'");
    assert_snapshot!(s.lines_from("two-branches.jsonl", 9), @r#"{"type":"branch_summary","id":"226b1b5c","parentId":null,"timestamp":"2026-05-04T12:00:00.000Z","fromId":"1a2b3c07","summary":"Kites were made.","details":{"readFiles":[],"modifiedFiles":[]},"fromHook":false}"#);
    assert_snapshot!(s.run("tree ./two-branches.jsonl"), @"
    1a2b3c07  ├╴ 6 messages · [start] Which paper for a kite?  4mo
    226b1b5c  • branch summary: Kites were made.  ← active
    ");
    assert_snapshot!(s.run("path ./two-branches.jsonl"), @"9  226b1b5c  2026-05-04 12:00  branch summary: Kites were made.");
}

#[test]
fn the_first_message_means_the_empty_conversation_too() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    assert_snapshot!(s.run("summarize ./two-branches.jsonl 1a2b3c01 --summary 'Kites were made.'"), @"
    226b1b5c
    Which paper for a kite?
    ");
    assert!(
        s.lines_from("two-branches.jsonl", 9)
            .contains("\"parentId\":null")
    );
}

#[test]
fn with_a_label() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    s.run("summarize ./two-branches.jsonl 1a2b3c05 --summary 'Washi needs a spar.' --label back");
    assert_snapshot!(s.lines_from("two-branches.jsonl", 9), @r#"
    {"type":"branch_summary","id":"226b1b5c","parentId":"1a2b3c05","timestamp":"2026-05-04T12:00:00.000Z","fromId":"1a2b3c07","summary":"Washi needs a spar.","details":{"readFiles":[],"modifiedFiles":[]},"fromHook":false}
    {"type":"label","id":"27aa2424","parentId":"226b1b5c","timestamp":"2026-05-04T12:00:00.000Z","targetId":"226b1b5c","label":"back"}
    "#);
    assert_snapshot!(s.run("tree ./two-branches.jsonl"), @"
    1a2b3c01  • [start] user: Which paper for a kite?
    1a2b3c02  • assistant: Tissue paper is light, washi is strong.
    1a2b3c06  ├─ user: Washi then. How big?  (2 messages, 4mo)
    1a2b3c07  │  assistant: A metre and more, with a bamboo spar.
    1a2b3c04  • user: Tissue paper then. How big?
    1a2b3c05  • assistant: Half a metre; larger ones tear.
    226b1b5c  • [back] branch summary: Washi needs a spar.  ← active
    ");
}

#[test]
fn leaves_another_entry_than_the_leaf() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let done = s.unchanged("summarize --prepare ./two-branches.jsonl 1a2b3c07 --from 1a2b3c05");
    let json: Value = serde_json::from_str(&done.quiet()).unwrap();
    assert_eq!(json["oldLeafId"], "1a2b3c05");
    assert_eq!(json["commonAncestorId"], "1a2b3c03");
    s.run("summarize ./two-branches.jsonl 1a2b3c07 --from 1a2b3c05 --summary 'Tissue tears.'");
    assert_snapshot!(s.lines_from("two-branches.jsonl", 9), @r#"{"type":"branch_summary","id":"226b1b5c","parentId":"1a2b3c07","timestamp":"2026-05-04T12:00:00.000Z","fromId":"1a2b3c05","summary":"Tissue tears.","details":{"readFiles":[],"modifiedFiles":[]},"fromHook":false}"#);
}

#[test]
fn nothing_left_behind_is_a_no() {
    let s = Sandbox::with(&[
        "two-branches.jsonl",
        "v1.jsonl",
        "hazards/header-only.jsonl",
    ]);
    assert_snapshot!(s.unchanged("summarize ./two-branches.jsonl @").fails(1), @"./two-branches.jsonl: no entries to summarize on the branch you leave (hint: write one anyway with --summary TEXT)");
    assert_snapshot!(s.unchanged("summarize ./v1.jsonl @ --summarizer cat").fails(1), @"./v1.jsonl: no entries to summarize on the branch you leave (hint: write one anyway with --summary TEXT)");
    assert_snapshot!(s.unchanged("summarize ./header-only.jsonl root").fails(1), @"./header-only.jsonl: no entries to summarize on the branch you leave (hint: write one anyway with --summary TEXT)");
    assert_eq!(
        s.unchanged("summarize --prepare ./two-branches.jsonl @")
            .code,
        1
    );
    // A given summary is written anyway.
    s.run("summarize ./two-branches.jsonl @ --summary 'All is well.'");
    assert_snapshot!(s.lines_from("two-branches.jsonl", 9), @r#"{"type":"branch_summary","id":"226b1b5c","parentId":"1a2b3c07","timestamp":"2026-05-04T12:00:00.000Z","fromId":"1a2b3c07","summary":"All is well.","details":{"readFiles":[],"modifiedFiles":[]},"fromHook":false}"#);
}

#[test]
fn prepare_includes_entries_above_a_compaction() {
    let s = Sandbox::with(&["tour.jsonl"]);
    let done = s.unchanged("summarize --prepare ./tour.jsonl 27d4c96f");
    let json: Value = serde_json::from_str(&done.quiet()).unwrap();
    let entries = json["entriesToSummarize"].as_array().unwrap();
    assert_eq!(entries.first().unwrap()["id"], "f05b1e83");
    assert_eq!(entries.last().unwrap()["id"], "2f5dc03e");
    assert!(entries.iter().any(|entry| entry["type"] == "compaction"));
    assert_eq!(
        json["modifiedFiles"].to_string(),
        r#"["/home/u/code/ferry/src/clock.rs","/home/u/code/ferry/tests/midnight.rs"]"#
    );
}

#[test]
fn preparation() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    assert_snapshot!(s.unchanged("summarize --prepare ./two-branches.jsonl 1a2b3c04 --label l --instructions i --replace-instructions"), @r#"{"targetId":"1a2b3c04","oldLeafId":"1a2b3c07","commonAncestorId":"1a2b3c03","newLeafId":"1a2b3c03","entriesToSummarize":[{"type":"message","id":"1a2b3c06","parentId":"1a2b3c03","timestamp":"2026-01-01T00:00:06.000Z","message":{"role":"user","content":"Washi then. How big?"}},{"type":"message","id":"1a2b3c07","parentId":"1a2b3c06","timestamp":"2026-01-01T00:00:07.000Z","message":{"role":"assistant","content":[{"type":"text","text":"A metre and more, with a bamboo spar."}],"stopReason":"stop"}}],"readFiles":[],"modifiedFiles":[],"editorText":"Tissue paper then. How big?","userWantsSummary":true,"customInstructions":"i","replaceInstructions":true,"label":"l"}"#);
}

#[test]
fn preparation_holds_entries_as_stored_in_version_three() {
    let s = Sandbox::with(&["v1.jsonl"]);
    let done = s.unchanged("summarize --prepare ./v1.jsonl cb26a1f8");
    let json: Value = serde_json::from_str(&done.quiet()).unwrap();
    let ids: Vec<_> = json["entriesToSummarize"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["id"].clone())
        .collect();
    assert_eq!(
        ids,
        ["ac4bd0d1", "c24d8cb7", "80b80871", "f55275d5", "cebfaa52"]
    );
    assert_eq!(json["editorText"], "And beans?");
    assert_eq!(json["newLeafId"], "1858c9d3");
}

#[test]
fn the_built_in_summary() {
    let s = Sandbox::with(&["tour.jsonl"]);
    s.run("summarize ./tour.jsonl 'label:cause found' --from 5c07d14b");
    let entry: Value = serde_json::from_str(&s.lines_from("tour.jsonl", 33)).unwrap();
    assert_snapshot!(entry["summary"].as_str().unwrap(), @r#"
    The user explored a different conversation branch before returning here.
    Summary of that exploration:

    ## Goal
    The last request, word for word (entry ee2b93f5):
    > Hm. What would you do instead?

    - The request before it: "Just add a day when it comes out negative.": answered: "Two tests fail: a ferry that left five minutes ago now 'departs in 23 h 55 min'. Adding a day hides the past, and the board needs it."

    ## Constraints & Preferences
    - (none)

    ## Progress
    ### Done
    - Files changed for an earlier request, newest first: `src/clock.rs`

    ### In Progress
    - (none)

    ### Blocked
    - `cargo test --quiet`: exited with code 101: "board::delayed_ferry_stays_on_board" (the last tool call)

    ## Key Decisions
    - (none)

    ## Next Steps
    1. Go on with the request under Goal: the model's reply failed: "529 {'type':'error','error':{'type':'overloaded_error','message':'Overloaded'}}", 0 tool calls summarized here.

    ## Critical Context
    - (none)

    <modified-files>
    src/clock.rs
    </modified-files>
    "#);
    assert_snapshot!(entry["details"], @r#"{"modifiedFiles":["/home/u/code/ferry/src/clock.rs"],"readFiles":[]}"#);
    assert_eq!(entry["fromId"], "5c07d14b");
    assert_eq!(entry["fromHook"], false);
}

#[test]
fn from_a_file_and_from_standard_input() {
    let stored = |s: &Sandbox| {
        let entry: Value = serde_json::from_str(&s.lines_from("two-branches.jsonl", 9)).unwrap();
        entry["summary"].as_str().unwrap().to_owned()
    };
    // Stored unchanged, except for the trailing newline.
    let s = Sandbox::with(&["two-branches.jsonl"]);
    s.put("summary.txt", "One line.\n\nAnd \"another\".\n");
    s.run("summarize ./two-branches.jsonl 1a2b3c05 --summary-file ./summary.txt");
    assert_eq!(stored(&s), "One line.\n\nAnd \"another\".");
    for option in ["--summary-file -", "--summary -"] {
        let s = Sandbox::with(&["two-branches.jsonl"]);
        let line = format!("summarize ./two-branches.jsonl 1a2b3c05 {option}");
        s.pisess(&line).stdin("from the pipe\n").done().quiet();
        assert_eq!(stored(&s), "from the pipe");
    }
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let call = s
        .pisess("summarize - 1a2b3c05 --summary-file -")
        .stdin(fixture("two-branches.jsonl"));
    assert_snapshot!(call.done().fails(2), @"standard input is already the session (hint: give the path of the session instead of -)");
    assert_snapshot!(s.unchanged("summarize ./two-branches.jsonl 1a2b3c05 --summary-file ./gone.txt").fails(2), @"
    cannot read ./gone.txt: no such file or directory (hint: give the path of a text file, or - for standard input)
    ");
    assert_snapshot!(s.unchanged("summarize ./two-branches.jsonl 1a2b3c05 --summary ' '").fails(2), @"the summary is empty (hint: omit the option to use the built-in summary)");
}

#[test]
fn from_a_command() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    s.run(
        "summarize ./two-branches.jsonl 1a2b3c05 --summarizer 'cat >/dev/null; echo Washi it was.'",
    );
    assert_snapshot!(s.lines_from("two-branches.jsonl", 9), @r#"{"type":"branch_summary","id":"226b1b5c","parentId":"1a2b3c05","timestamp":"2026-05-04T12:00:00.000Z","fromId":"1a2b3c07","summary":"The user explored a different conversation branch before returning here.\nSummary of that exploration:\n\nWashi it was.","details":{"readFiles":[],"modifiedFiles":[]},"fromHook":false}"#);
    let s = Sandbox::with(&["two-branches.jsonl"]);
    // A summarizer that prints all that it reads.
    s.run("summarize ./two-branches.jsonl 1a2b3c05 --summarizer cat");
    let entry: Value = serde_json::from_str(&s.lines_from("two-branches.jsonl", 9)).unwrap();
    assert!(
        entry["summary"]
            .as_str()
            .unwrap()
            .contains("[User]: Washi then. How big?")
    );
    // A summarizer need not read its input.
    s.run(
        "summarize ./two-branches.jsonl 1a2b3c05 --from 1a2b3c07 --summarizer 'echo read nothing'",
    );
}

#[test]
fn from_a_command_of_the_environment() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let with = |line: &str, command: &str| s.pisess(line).env("PISESS_SUMMARIZER", command).done();
    let text = |line: &str, command: &str| {
        let entry = with(&format!("{line} --json -n"), command).quiet();
        let entry: Value = serde_json::from_str(&entry).unwrap();
        let entry = entry["written"]
            .as_array()
            .unwrap()
            .iter()
            .find(|entry| entry.get("summary").is_some());
        entry.unwrap()["summary"].as_str().unwrap().to_owned()
    };
    for line in [
        "summarize ./two-branches.jsonl 1a2b3c05",
        "merge ./two-branches.jsonl 1a2b3c05",
        "compact ./two-branches.jsonl --first-kept none",
        "pop ./two-branches.jsonl",
        "switch ./two-branches.jsonl 1a2b3c05 --summarize",
    ] {
        assert!(
            text(line, "echo named once").ends_with("named once"),
            "{line}"
        );
        // The options take precedence, and an empty command is none.
        assert!(
            text(&format!("{line} --summarizer 'echo named here'"), "false")
                .ends_with("named here")
        );
        assert!(
            text(&format!("{line} --summary 'Given.'"), "false").ends_with("Given."),
            "{line}"
        );
        for (option, command) in [(" --summarizer ''", "false"), ("", " ")] {
            assert!(
                text(&format!("{line}{option}"), command).contains("## Goal"),
                "{line}"
            );
        }
        let said = with(&format!("{line} -n"), "exit 7").fails(2);
        assert!(
            said.contains(r#": PISESS_SUMMARIZER "exit 7": exit status: 7; nothing was written"#),
            "{said}"
        );
    }
    // Otherwise it would call itself without an end.
    let unset = r#"test -z "${PISESS_SUMMARIZER+set}" && echo unset"#;
    assert!(text("compact ./two-branches.jsonl --first-kept none", unset).ends_with("unset"));
}

#[test]
fn a_command_that_does_not_deliver() {
    let s = Sandbox::with(&["two-branches.jsonl", "v1.jsonl"]);
    let line =
        |command: &str| format!("summarize ./two-branches.jsonl 1a2b3c05 --summarizer '{command}'");
    assert_snapshot!(s.unchanged(&line("exit 7")).fails(2), @r#"./two-branches.jsonl: --summarizer "exit 7": exit status: 7; nothing was written (hint: --prompt prints its input, to run it by hand)"#);
    assert_snapshot!(s.unchanged(&line("true")).fails(2), @r#"./two-branches.jsonl: --summarizer "true": it printed nothing; nothing was written (hint: --prompt prints its input, to run it by hand)"#);
    assert_snapshot!(s.unchanged(&line("echo; echo")).fails(2), @r#"./two-branches.jsonl: --summarizer "echo; echo": it printed nothing; nothing was written (hint: --prompt prints its input, to run it by hand)"#);
    assert_snapshot!(s.unchanged(&line("echo half; exit 1")).fails(2), @r#"./two-branches.jsonl: --summarizer "echo half; exit 1": exit status: 1; nothing was written (hint: --prompt prints its input, to run it by hand)"#);
    assert_snapshot!(s.unchanged(&line("yes | head -c 11000000")).fails(2), @r#"./two-branches.jsonl: --summarizer "yes | head -c 11000000": it printed more than 10 MB; nothing was written (hint: --prompt prints its input, to run it by hand)"#);
    assert_snapshot!(s.unchanged(&line("kill -9 $$")).fails(2), @r#"./two-branches.jsonl: --summarizer "kill -9 $$": signal: 9 (SIGKILL); nothing was written (hint: --prompt prints its input, to run it by hand)"#);
    // If nothing else changes, an older file is not migrated.
    s.unchanged("summarize ./v1.jsonl 4c411fb5 --summarizer false")
        .fails(2);
    s.unchanged("compact ./v1.jsonl --first-kept none --summarizer false")
        .fails(2);
}

#[test]
fn a_command_that_hangs_is_ended_with_what_it_started() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let alive = s.path("alive");
    let line = format!(
        "summarize ./two-branches.jsonl 1a2b3c05 --timeout 0.3 --summarizer '(sleep 2; touch {}) & sleep 60'",
        alive.display()
    );
    assert_snapshot!(s.unchanged(&line).fails(2).replace(alive.to_str().unwrap(), "ALIVE"), @r#"./two-branches.jsonl: --summarizer "(sleep 2; touch ./alive) & sleep 60": no result within 0.3 s; nothing was written (hint: allow more time with --timeout)"#);
    std::thread::sleep(Duration::from_millis(2_300));
    assert!(!alive.exists(), "its child lives on");
}

#[test]
fn a_command_that_prints_for_ever_is_ended() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let said = s
        .unchanged("summarize ./two-branches.jsonl 1a2b3c05 --summarizer yes")
        .fails(2);
    assert!(said.contains("10 MB"), "{said}");
}

#[test]
fn text_goes_to_a_command_by_its_standard_input_alone() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    s.run(
        "summarize ./two-branches.jsonl 1a2b3c05 --summarizer 'echo $# $0; env | grep -c -i washi || true'",
    );
    let entry: Value = serde_json::from_str(&s.lines_from("two-branches.jsonl", 9)).unwrap();
    assert!(
        entry["summary"].as_str().unwrap().contains("0 sh\n0"),
        "{entry}"
    );
}

#[test]
fn sources_exclude_each_other() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    for options in [
        "--summary a --summary-file ./b",
        "--summary a --summarizer cat",
        "--summary-file ./b --summarizer cat",
        "--prepare --prompt",
        "--replace-instructions",
        "--timeout -1",
        "--timeout soon",
    ] {
        let done = s.unchanged(&format!(
            "summarize ./two-branches.jsonl 1a2b3c05 {options}"
        ));
        assert_eq!((done.code, done.stdout.len()), (2, 0), "{options}");
    }
}

#[test]
fn the_prompt() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let prompt = s
        .unchanged("summarize --prompt ./two-branches.jsonl 1a2b3c05")
        .quiet();
    let t = Sandbox::with(&["two-branches.jsonl"]);
    let seen = t.path("seen");
    t.run(&format!(
        "summarize ./two-branches.jsonl 1a2b3c05 --summarizer 'tee {} | head -c 5'",
        seen.display()
    ));
    assert_eq!(t.text("seen"), prompt);
    assert_snapshot!(s.unchanged("summarize --prompt ./two-branches.jsonl 1a2b3c05 --instructions 'Name the paper.' --replace-instructions"), @"
    <conversation>
    [User]: Washi then. How big?

    [Assistant]: A metre and more, with a bamboo spar.
    </conversation>

    Name the paper.
    ");
}

#[test]
fn in_an_oh_my_pi_file() {
    let s = Sandbox::with(&["omp.jsonl"]);
    // The skill prompt is by the user, so its text is printed for editing.
    assert_snapshot!(s.run("summarize ./omp.jsonl 60718293 --summary 'EXIF says 2021.'"), @"
    226b1b5c
    Look at the EXIF data of c.jpg
    ");
    assert_snapshot!(s.text("omp.jsonl").lines().last().unwrap(), @r#"{"type":"branch_summary","id":"226b1b5c","parentId":"5f607182","timestamp":"2026-05-04T12:00:00.000Z","fromId":"5f607182","summary":"EXIF says 2021.","details":{"readFiles":[],"modifiedFiles":[]},"fromExtension":false}"#);
    assert_snapshot!(s.run("tree ./omp.jsonl"), @"
    2c3d4e5f  • user: Sort the photos by year
    3d4e5f60  • assistant: I'll list them first.
    4e5f6071  • glob: **
    5f607182  • assistant: One has no year in its path: c.jpg.
    60718293  ├─ skill-prompt: Look at the EXIF data of c.jpg  (6 messages, 1mo)
    8293a4b5  │  bash: exiftool -CreateDate /home/u/photos/c.jpg
    93a4b5c6  │  assistant: It is from 2021.
    226b1b5c  • branch summary: EXIF says 2021.  ← active
    ");
}

#[test]
fn dry_run_and_json() {
    let s = Sandbox::with(&["two-branches.jsonl", "v1.jsonl"]);
    assert_snapshot!(s.unchanged("summarize -n ./two-branches.jsonl 1a2b3c04 --summary s"), @"
    would append 1 line to ./two-branches.jsonl
     size  id        type            content
    200 B  226b1b5c  branch_summary  s
    2> pisess: would be at 1a2b3c02  assistant: Tissue paper is light, washi is strong.
    ");
    assert_snapshot!(s.unchanged("summarize -n --json ./two-branches.jsonl 1a2b3c04 --summary s"), @r#"{"path":"./two-branches.jsonl","action":"append","dryRun":true,"written":[{"type":"branch_summary","id":"226b1b5c","parentId":"1a2b3c03","timestamp":"2026-05-04T12:00:00.000Z","fromId":"1a2b3c07","summary":"s","details":{"readFiles":[],"modifiedFiles":[]},"fromHook":false}],"editorText":"Tissue paper then. How big?"}"#);
    assert_snapshot!(s.run("summarize --json ./two-branches.jsonl 1a2b3c04 --summary s"), @r#"{"path":"./two-branches.jsonl","action":"append","dryRun":false,"written":[{"type":"branch_summary","id":"226b1b5c","parentId":"1a2b3c03","timestamp":"2026-05-04T12:00:00.000Z","fromId":"1a2b3c07","summary":"s","details":{"readFiles":[],"modifiedFiles":[]},"fromHook":false}],"editorText":"Tissue paper then. How big?"}"#);
    let migrated = s.run("migrate ./v1.jsonl -o -");
    s.run("summarize ./v1.jsonl c307e4fd --summary s");
    assert!(s.text("v1.jsonl").starts_with(&migrated));
    assert_eq!(s.text("v1.jsonl").lines().count(), 11);
}

#[test]
fn to_standard_output() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let done = s.unchanged("summarize ./two-branches.jsonl 1a2b3c04 --summary s -o -");
    assert!(done.stdout.starts_with(&fixture("two-branches.jsonl")));
    assert_snapshot!(done.stderr, @"
    226b1b5c
    Tissue paper then. How big?
    ");
    assert_eq!((done.code, done.text().lines().count()), (0, 9));
    let quiet = s.unchanged("summarize -q ./two-branches.jsonl 1a2b3c04 --summary s -o -");
    assert_eq!(quiet.stderr, "");
}

#[test]
fn a_label_that_is_none() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    for name in ["''", "' '", "'a\nb'", "'a\u{1b}[2J'"] {
        for source in ["--summary s", "--summarizer 'touch ./ran; echo s'"] {
            let line = format!("summarize ./two-branches.jsonl 1a2b3c05 {source} --label {name}");
            assert!(
                s.unchanged(&line).fails(2).starts_with("the label "),
                "{line}"
            );
        }
    }
    s.run("summarize ./two-branches.jsonl 1a2b3c05 --summary s --label ' back '");
    assert!(
        s.lines_from("two-branches.jsonl", 10)
            .contains("\"label\":\"back\"")
    );
}

#[test]
fn summarizer_run_keeps_entries_appended_meanwhile() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let more = crate::sandbox::user("aaaa0001", Some("1a2b3c07"), "one thing more");
    s.put("more", format!("{more}\n"));
    let append = format!(
        "cat {} >> {}; echo s",
        s.path("more").display(),
        s.path("two-branches.jsonl").display()
    );
    let said = s
        .pisess(&format!(
            "summarize ./two-branches.jsonl 1a2b3c05 --summarizer '{append}'"
        ))
        .done();
    assert_snapshot!(said.fails(3), @"./two-branches.jsonl: another process appended entries meanwhile (hint: run the command again)");
    assert_eq!(s.lines_from("two-branches.jsonl", 9), format!("{more}\n"));
    // A compaction still replaces its entries: the summary follows what was appended.
    let s = Sandbox::with(&["two-branches.jsonl"]);
    s.put("more", format!("{more}\n"));
    let append = format!(
        "cat {} >> {}; echo s",
        s.path("more").display(),
        s.path("two-branches.jsonl").display()
    );
    s.run(&format!(
        "compact ./two-branches.jsonl --first-kept 1a2b3c06 --summarizer '{append}'"
    ));
    assert_snapshot!(s.lines_from("two-branches.jsonl", 10), @r#"{"type":"compaction","id":"226b1b5c","parentId":"aaaa0001","timestamp":"2026-05-04T12:00:00.000Z","summary":"s","firstKeptEntryId":"1a2b3c06","tokensBefore":31,"details":{"readFiles":[],"modifiedFiles":[]},"fromHook":false}"#);
}

/// The report names the entry from which the conversation continues. Without REF, nothing moves.
#[test]
fn reports_where_the_conversation_continues() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    assert_eq!(s.unchanged("summarize ./two-branches.jsonl").stderr, "");
    assert_snapshot!(s.pisess("summarize ./two-branches.jsonl 1a2b3c02").done(), @"
    226b1b5c
    2> pisess: now at 1a2b3c02  assistant: Tissue paper is light, washi is strong.
    ");
}
