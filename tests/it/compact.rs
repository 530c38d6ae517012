//! `pisess compact`: a summary in place of the older part of the context.

use crate::sandbox::{Sandbox, fixture};
use insta::assert_snapshot;
use serde_json::Value;

#[test]
fn keeps_from_an_entry() {
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
    assert_snapshot!(s.run("compact ./two-branches.jsonl --first-kept 1a2b3c06 --summary 'They chose a paper.'"), @"226b1b5c");
    assert_snapshot!(s.run("tree ./two-branches.jsonl --filter all"), @"
    1a2b3c01  • [start] user: Which paper for a kite?
    1a2b3c02  • assistant: Tissue paper is light, washi is strong.
    1a2b3c03  • label: start
    1a2b3c04  ├─ user: Tissue paper then. How big?  (2 messages, 4mo)
    1a2b3c05  │  assistant: Half a metre; larger ones tear.
    1a2b3c06  • user: Washi then. How big?
    1a2b3c07  • assistant: A metre and more, with a bamboo spar.
    226b1b5c  • ── compaction: 31 tokens · They chose a paper. ──  ← active  (kept from 1a2b3c06)
    ");
    assert_snapshot!(s.lines_from("two-branches.jsonl", 9), @r#"{"type":"compaction","id":"226b1b5c","parentId":"1a2b3c07","timestamp":"2026-05-04T12:00:00.000Z","summary":"They chose a paper.","firstKeptEntryId":"1a2b3c06","tokensBefore":31,"details":{"readFiles":[],"modifiedFiles":[]},"fromHook":false}"#);
    assert_snapshot!(s.run("context ./two-branches.jsonl --as text"), @"
    [User]: The conversation history before this point was compacted into the following summary:

    <summary>
    They chose a paper.
    </summary>

    [User]: Washi then. How big?

    [Assistant]: A metre and more, with a bamboo spar.
    ");
    assert!(
        s.bytes("two-branches.jsonl")
            .starts_with(&fixture("two-branches.jsonl"))
    );
}

/// A call may have its path in `file_path`, too; the agents do not list such files, so `details` do
/// not, either.
#[test]
fn lists_files_of_calls_with_another_key() {
    for (slot, expected) in [
        (
            "",
            "<read-files>\na.rs\n</read-files>\n\n<modified-files>\nb.rs\nc.rs\n</modified-files>",
        ),
        (
            std::str::from_utf8(&fixture("omp.jsonl")[..256]).unwrap(),
            "<files>\na.rs (Read)\nb.rs (Write)\nc.rs (Write)\n</files>",
        ),
    ] {
        let s = Sandbox::new();
        let calls = [
            ("read", "file_path", "a.rs"),
            ("write", "file_path", "b.rs"),
            ("edit", "path", "c.rs"),
        ];
        let calls = calls.map(|(name, key, path)| {
            format!(
                r#"{{"type":"toolCall","id":"t","name":"{name}","arguments":{{"{key}":"{path}"}}}}"#
            )
        });
        let entry = |id: &str, parent: &str, message: &str| {
            format!(
                r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-05-04T11:00:00.000Z","message":{{{message},"timestamp":1}}}}"#
            )
        };
        let lines = [
            r#"{"type":"session","version":3,"id":"s","timestamp":"2026-05-04T11:00:00.000Z","cwd":"/w"}"#
                .to_owned(),
            entry("aaaaaaaa", "null", r#""role":"user","content":"Do it.""#),
            entry(
                "bbbbbbbb",
                "\"aaaaaaaa\"",
                &format!(r#""role":"assistant","content":[{}],"stopReason":"toolUse""#, calls.join(",")),
            ),
        ];
        s.put("s.jsonl", format!("{slot}{}\n", lines.join("\n")));
        s.run("compact ./s.jsonl --first-kept none");
        let entry: Value = serde_json::from_str(s.text("s.jsonl").lines().last().unwrap()).unwrap();
        let summary = entry["summary"].as_str().unwrap();
        assert!(summary.ends_with(expected), "{summary}");
        assert_eq!(
            entry["details"].to_string(),
            r#"{"modifiedFiles":["c.rs"],"readFiles":[]}"#
        );
    }
}

#[test]
fn keeps_nothing() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    s.run("compact ./two-branches.jsonl --first-kept none --summary 'They chose a paper.'");
    assert_snapshot!(s.lines_from("two-branches.jsonl", 9), @r#"{"type":"compaction","id":"226b1b5c","parentId":"1a2b3c07","timestamp":"2026-05-04T12:00:00.000Z","summary":"They chose a paper.","firstKeptEntryId":"226b1b5c","tokensBefore":31,"details":{"readFiles":[],"modifiedFiles":[]},"fromHook":false}"#);
    assert_snapshot!(s.run("context ./two-branches.jsonl --as text"), @"
    [User]: The conversation history before this point was compacted into the following summary:

    <summary>
    They chose a paper.
    </summary>
    ");
}

#[test]
fn keeps_about_so_many_tokens() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    s.run("compact ./two-branches.jsonl --keep-recent-tokens 1 --summary short");
    assert_snapshot!(s.lines_from("two-branches.jsonl", 9), @r#"{"type":"compaction","id":"226b1b5c","parentId":"1a2b3c07","timestamp":"2026-05-04T12:00:00.000Z","summary":"short","firstKeptEntryId":"1a2b3c07","tokensBefore":31,"details":{"readFiles":[],"modifiedFiles":[]},"fromHook":false}"#);
}

#[test]
fn the_built_in_summary() {
    let s = Sandbox::with(&["tour.jsonl"]);
    let focused =
        s.run("compact -n --json ./tour.jsonl --first-kept none --instructions 'Ferries first'");
    assert!(
        focused.contains(r#"- Asked of this summary: \"Ferries first\""#),
        "{focused}"
    );
    s.run("compact ./tour.jsonl --first-kept none");
    let entry: Value = serde_json::from_str(&s.lines_from("tour.jsonl", 33)).unwrap();
    assert_snapshot!(entry["summary"].as_str().unwrap(), @r#"
    ## Goal
    The last request, word for word (entry 86e2a1fb):
    > Now a line for the changelog, for people who don't read code.

    - The goal of an earlier summary: "Make waiting times right across midnight in `ferry`."
    - The request before it: "Good. Please add a test for exactly that evening.": answered: "`tests/midnight.rs` pins it down: asked at 23:50, the 00:10 ferry departs in 20 minutes."

    ## Constraints & Preferences
    - Earlier: The board must still show ferries that just left.

    ## Progress
    ### Done
    - Earlier: [x] Cause: `departs_in` subtracted minutes of the day.
    - Earlier: [x] `departs_in` takes the nearer departure; 14 tests pass.
    - Files changed for an earlier request, newest first: `tests/midnight.rs`

    ### In Progress
    - (none)

    ### Blocked
    - (none)

    ## Key Decisions
    - Earlier: **Nearest departure**: adding a day hid the past.

    ## Next Steps
    1. The request under Goal was replied to. What is next is below, if anything.

    The assistant's last words:
    > "Ferries after midnight no longer show as gone: asked at 23:50, the 00:10 departs in 20 minutes."

    ## Critical Context
    - (none)

    <modified-files>
    src/clock.rs
    tests/midnight.rs
    </modified-files>
    "#);
    assert_snapshot!(entry["details"], @r#"{"modifiedFiles":["/home/u/code/ferry/src/clock.rs","/home/u/code/ferry/tests/midnight.rs"],"readFiles":[]}"#);
    assert_eq!(entry["fromHook"], false);
    // Another run writes the same summary.
    let t = Sandbox::with(&["tour.jsonl"]);
    t.run("compact ./tour.jsonl --first-kept none");
    assert_eq!(s.text("tour.jsonl"), t.text("tour.jsonl"));
}

#[test]
fn the_built_in_summary_of_a_whole_story() {
    let s = Sandbox::with(&["tour.jsonl"]);
    s.run("fork ./tour.jsonl 5c07d14b -o ./blocked.jsonl");
    s.run("compact ./blocked.jsonl --first-kept none");
    let last = s.text("blocked.jsonl").lines().last().unwrap().to_owned();
    let entry: Value = serde_json::from_str(&last).unwrap();
    assert_snapshot!(entry["summary"].as_str().unwrap(), @r#"
    ## Goal
    The last request, word for word (entry ee2b93f5):
    > Hm. What would you do instead?

    - What the session began with: "The 00:10 ferry shows up as 'left 23 h ago' when I ask at 23:50. Can you find out why?"
    - The request before it: "Just add a day when it comes out negative.": answered: "Two tests fail: a ferry that left five minutes ago now 'departs in 23 h 55 min'. Adding a day hides the past, and the board needs it."

    ## Constraints & Preferences
    - (none)

    ## Progress
    ### Done
    - "The 00:10 ferry shows up as 'left 23 h ago…": answered: "`departs_in` subtracts minutes of the day, so across midnight the result is negative: 10 - 1430 = -1420 minutes, printed as 'left 23 h ago'. The timetable has no dates, only times."
    - Files changed for an earlier request, newest first: `src/clock.rs`

    ### In Progress
    - (none)

    ### Blocked
    - `cargo test --quiet`: exited with code 101: "board::delayed_ferry_stays_on_board" (the last tool call)

    ## Key Decisions
    - Advised "`departs_in` subtracts minutes of the day, so across midnight the result is negative: 10 - 1430 = -1420 minutes, printed as 'left 23 h ago'.", the user decided "Just add a day when it comes out negative."

    ## Next Steps
    1. Go on with the request under Goal: the model's reply failed: "529 {'type':'error','error':{'type':'overloaded_error','message':'Overloaded'}}", 0 tool calls summarized here.

    ## Critical Context
    - (none)

    <modified-files>
    src/clock.rs
    </modified-files>
    "#);
    assert_snapshot!(entry["details"], @r#"{"modifiedFiles":["/home/u/code/ferry/src/clock.rs"],"readFiles":[]}"#);
}

#[test]
fn the_built_in_summary_passes_over_old_results_only() {
    let call = |at: usize, tool: &str, path: &str| {
        let call = format!(
            r#"{{"type":"toolCall","id":"c{at}","name":"{tool}","arguments":{{"path":"{path}"}}}}"#
        );
        let said = format!(
            r#"{{"type":"text","text":"Part {at} is ported to the new interface by now."}}"#
        );
        format!(
            r#"{{"role":"assistant","content":[{said},{call}],"stopReason":"toolUse"}}
{{"role":"toolResult","toolCallId":"c{at}","toolName":"{tool}","content":[{{"type":"text","text":"fine"}}]}}"#
        )
    };
    let user = |text: &str| format!(r#"{{"role":"user","content":"{text}"}}"#);
    let says = |text: &str| {
        format!(
            r#"{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}],"stopReason":"stop"}}"#
        )
    };
    let port = "Port every module to the new interface, in the order of the list, and run the tests after each; then write down in docs/port.md what changed for the users of the library, module by module.";
    let mut messages = vec![
        user("Tidy the parser. Never touch the schema!"),
        call(0, "edit", "old.rs"),
        says("Tidied."),
        user(port),
    ];
    messages.extend(
        (1..=700).map(|at| call(at, "edit", &format!("src/{}.rs", "m".repeat(at % 30 + 1)))),
    );
    let mut text = String::from(
        "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/x\"}\n",
    );
    let mut parent = "null".to_owned();
    for (at, message) in messages.join("\n").lines().enumerate() {
        text += &format!(
            "{{\"type\":\"message\",\"id\":\"{at:08x}\",\"parentId\":{parent},\"timestamp\":\"2026-01-01T00:00:01.000Z\",\"message\":{message}}}\n"
        );
        parent = format!("\"{at:08x}\"");
    }
    let s = Sandbox::with(&[]);
    s.put("long.jsonl", &text);
    s.run("compact ./long.jsonl --first-kept none");
    let entry: Value = serde_json::from_str(s.text("long.jsonl").lines().last().unwrap()).unwrap();
    let summary = entry["summary"].as_str().unwrap();
    for kept in [
        format!("The last request, word for word (entry 00000004):\n> {port}\n"),
        "- The request before it: \"Tidy the parser. Never touch the schema!\": answered: \"Tidied.\"".to_owned(),
        "no final answer yet, 700 tool calls summarized here".to_owned(),
        format!("  - edit `src/{}.rs`: ok\n", "m".repeat(700 % 30 + 1)),
        "The assistant's last words, 1 tool call before the end:\n> Part 700 is ported to the new interface by now.\n".to_owned(),
    ] {
        assert!(summary.contains(&kept), "{kept}: {summary}");
    }
    let lists = summary
        .split("<read-files>")
        .next()
        .unwrap()
        .split("<modified-files>")
        .next()
        .unwrap();
    assert!(
        !lists.contains("old.rs") && lists.contains("Said on the way: \"Part 1 is"),
        "{summary}"
    );
}

#[test]
fn not_twice_in_a_row() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    s.run("compact ./two-branches.jsonl --first-kept none --summary short");
    assert_snapshot!(s.unchanged("compact ./two-branches.jsonl").fails(1), @"./two-branches.jsonl: the last entry is already a compaction (hint: to compact in another way, undo it first with `pisess undo`)");
    assert_snapshot!(s.unchanged("compact ./two-branches.jsonl --first-kept none").fails(1), @"./two-branches.jsonl: the last entry is already a compaction (hint: to compact in another way, undo it first with `pisess undo`)");
    assert_snapshot!(s.unchanged("compact ./two-branches.jsonl --summary again").fails(1), @"./two-branches.jsonl: the last entry is already a compaction (hint: to compact in another way, undo it first with `pisess undo`)");
    assert_snapshot!(s.unchanged("compact ./two-branches.jsonl --prepare"), @"
    null
    exit 1
    ");
}

#[test]
fn nothing_to_compact() {
    let s = Sandbox::with(&[
        "two-branches.jsonl",
        "hazards/header-only.jsonl",
        "v1.jsonl",
    ]);
    assert_snapshot!(s.unchanged("compact ./two-branches.jsonl").fails(1), @"./two-branches.jsonl: nothing to compact: the messages are estimated at 31 tokens, all within the 20.0k to keep (hint: keep less with --keep-recent-tokens, or choose the cut with --first-kept)");
    assert_snapshot!(s.unchanged("compact ./header-only.jsonl").fails(1), @"./header-only.jsonl: nothing to compact: the messages are estimated at 0 tokens, all within the 20.0k to keep (hint: keep less with --keep-recent-tokens, or choose the cut with --first-kept)");
    assert_snapshot!(s.unchanged("compact ./v1.jsonl").fails(1), @"./v1.jsonl: nothing to compact: the messages are estimated at 23 tokens, all within the 20.0k to keep; the context has 940, as the last reply reported (hint: keep less with --keep-recent-tokens, or choose the cut with --first-kept)");
    assert_snapshot!(s.unchanged("compact ./two-branches.jsonl --prepare"), @"
    null
    exit 1
    ");
    // oh-my-pi compares its estimate with the provider's count.
    let t = Sandbox::with(&["omp.jsonl"]);
    assert_snapshot!(t.unchanged("compact ./omp.jsonl --keep-recent-tokens 11k").fails(1), @"./omp.jsonl: nothing to compact: the messages are estimated at 10.2k tokens (72 of text, scaled to the provider's count), all within the 11.0k to keep; the context has 10.4k, as the last reply reported (hint: keep less with --keep-recent-tokens, or choose the cut with --first-kept)");
    t.run("compact ./omp.jsonl --keep-recent-tokens 10k --summary short");
}

#[test]
fn only_over_so_many_tokens() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let tokens: u64 = s
        .run("context ./two-branches.jsonl --tokens")
        .trim()
        .parse()
        .unwrap();
    let line = |limit: u64| {
        format!("compact -q ./two-branches.jsonl --if-over {limit} --first-kept none --summary s")
    };
    assert_eq!(s.unchanged(&line(tokens)).quiet(), "");
    assert_eq!(s.unchanged(&line(1_000_000)).quiet(), "");
    for limit in ["100k", "1.5M"] {
        let line = format!(
            "compact -q ./two-branches.jsonl --if-over {limit} --first-kept none --summary s"
        );
        assert_eq!(s.unchanged(&line).quiet(), "", "{limit}");
    }
    let units = s
        .pisess("compact ./two-branches.jsonl -n --if-over 0.001k --first-kept none --summary s")
        .done();
    assert!(units.text().starts_with("would append 1 line"), "{units}");
    s.run(&line(tokens - 1));
    assert_eq!(s.text("two-branches.jsonl").lines().count(), 9);
    // If the context is not over the limit, a stream is passed on unchanged.
    let done = s
        .pisess("compact -q - --if-over 1000")
        .stdin(fixture("two-branches.jsonl"))
        .done();
    assert_eq!(done.quiet_bytes(), fixture("two-branches.jsonl"));
}

#[test]
fn first_kept_must_be_on_the_path() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    for reference in ["1a2b3c05", "root", "gone1234"] {
        s.unchanged(&format!(
            "compact ./two-branches.jsonl --first-kept {reference} --summary s"
        ))
        .fails(2);
    }
    assert_snapshot!(s.unchanged("compact ./two-branches.jsonl --first-kept 1a2b3c05").fails(2), @"./two-branches.jsonl: 1a2b3c05 is not on the path to the leaf (hint: list the path with `pisess path`)");
}

#[test]
fn preparation() {
    let s = Sandbox::with(&["tour.jsonl", "two-branches.jsonl"]);
    assert_snapshot!(s.unchanged("compact --prepare ./two-branches.jsonl --first-kept 1a2b3c06"), @r#"{"firstKeptEntryId":"1a2b3c06","isSplitTurn":false,"tokensBefore":31,"previousSummary":null,"messagesToSummarize":[{"role":"user","content":"Which paper for a kite?"},{"role":"assistant","content":[{"type":"text","text":"Tissue paper is light, washi is strong."}],"stopReason":"stop"}],"turnPrefixMessages":[],"fileOps":{"read":[],"written":[],"edited":[]},"settings":{"enabled":true,"reserveTokens":16384,"keepRecentTokens":20000},"previousCompactions":[],"customInstructions":null}"#);
    let done = s
        .unchanged("compact --prepare ./tour.jsonl --first-kept 86e2a1fb --instructions 'be kind'");
    let json: Value = serde_json::from_str(&done.quiet()).unwrap();
    let keys: Vec<_> = json
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(
        keys,
        [
            "customInstructions",
            "fileOps",
            "firstKeptEntryId",
            "isSplitTurn",
            "messagesToSummarize",
            "previousCompactions",
            "previousSummary",
            "settings",
            "tokensBefore",
            "turnPrefixMessages"
        ]
    );
    assert_eq!(json["customInstructions"], "be kind");
    assert_eq!(json["previousCompactions"][0]["id"], "dc705e93");
    assert!(
        json["previousSummary"]
            .as_str()
            .unwrap()
            .starts_with("## Goal")
    );
    assert_snapshot!(json["fileOps"], @r#"{"edited":["/home/u/code/ferry/src/clock.rs"],"read":[],"written":["/home/u/code/ferry/tests/midnight.rs"]}"#);
}

#[test]
fn the_prompt() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let prompt = s
        .unchanged("compact --prompt ./two-branches.jsonl --first-kept 1a2b3c06")
        .quiet();
    assert!(
        prompt.contains("[User]: Which paper for a kite?"),
        "{prompt}"
    );
    let more = s.unchanged(
        "compact --prompt ./two-branches.jsonl --first-kept 1a2b3c06 --instructions 'Look at the paper'",
    );
    let more = more.quiet();
    assert!(
        more.contains("Look at the paper") && more.contains("Which paper"),
        "{more}"
    );
    let instead = s.unchanged(
        "compact --prompt ./two-branches.jsonl --first-kept 1a2b3c06 --instructions 'Look at the paper' --replace-instructions",
    );
    let instead = instead.quiet();
    assert!(
        instead.contains("Look at the paper") && instead.len() < prompt.len(),
        "{instead}"
    );
    // These are exactly the bytes that a summarizer receives.
    let t = Sandbox::with(&["two-branches.jsonl"]);
    let seen = t.path("seen");
    t.run(&format!(
        "compact ./two-branches.jsonl --first-kept 1a2b3c06 --summarizer 'tee {} | head -c 5'",
        seen.display()
    ));
    assert_eq!(t.text("seen"), prompt);
}

#[test]
fn in_an_oh_my_pi_file() {
    let s = Sandbox::with(&["omp.jsonl"]);
    assert_snapshot!(s.run("compact ./omp.jsonl --first-kept 93a4b5c6 --summary 'Photos are sorted.'"), @"226b1b5c");
    assert!(s.bytes("omp.jsonl").starts_with(&fixture("omp.jsonl")));
    assert_snapshot!(s.text("omp.jsonl").lines().last().unwrap(), @r#"{"type":"compaction","id":"226b1b5c","parentId":"d7e8f90a","timestamp":"2026-05-04T12:00:00.000Z","summary":"Photos are sorted.","firstKeptEntryId":"93a4b5c6","tokensBefore":10380,"details":{"readFiles":[],"modifiedFiles":[]},"fromExtension":false}"#);
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
    d7e8f90a  • custom: session_exit
    226b1b5c  • ── compaction: 10.4k tokens · Photos are sorted. ──  ← active  (kept from 93a4b5c6)
    ");
}

#[test]
fn an_older_file_is_migrated_and_compacted_in_one_rename() {
    let s = Sandbox::with(&["v1.jsonl"]);
    let migrated = s.run("migrate ./v1.jsonl -o -");
    s.run("compact ./v1.jsonl --first-kept none --summary short");
    assert!(s.text("v1.jsonl").starts_with(&migrated));
    assert_eq!(s.text("v1.jsonl").lines().count(), 11);
    assert_eq!(s.names(), ["v1.jsonl"]);
}

#[test]
fn dry_run_and_json() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    assert_snapshot!(s.unchanged("compact -n ./two-branches.jsonl --first-kept none --summary short"), @"
    would append 1 line to ./two-branches.jsonl
     size  id        type        content
    228 B  226b1b5c  compaction  short
    2> pisess: the context has 31 tokens; its messages would have 2
    ");
    assert_snapshot!(s.unchanged("compact -n --json ./two-branches.jsonl --first-kept none --summary short"), @r#"{"path":"./two-branches.jsonl","action":"append","dryRun":true,"written":[{"type":"compaction","id":"226b1b5c","parentId":"1a2b3c07","timestamp":"2026-05-04T12:00:00.000Z","summary":"short","firstKeptEntryId":"226b1b5c","tokensBefore":31,"details":{"readFiles":[],"modifiedFiles":[]},"fromHook":false}],"editorText":null}"#);
    assert_snapshot!(s.run("compact --json ./two-branches.jsonl --first-kept none --summary short"), @r#"{"path":"./two-branches.jsonl","action":"append","dryRun":false,"written":[{"type":"compaction","id":"226b1b5c","parentId":"1a2b3c07","timestamp":"2026-05-04T12:00:00.000Z","summary":"short","firstKeptEntryId":"226b1b5c","tokensBefore":31,"details":{"readFiles":[],"modifiedFiles":[]},"fromHook":false}],"editorText":null}"#);
}

#[test]
fn the_size_of_the_context_is_that_after_the_compaction() {
    let s = Sandbox::with(&["omp.jsonl"]);
    let sizes = |leaf: &str| {
        let of = |line: &str, key: &str| {
            let rows = s.run(line);
            let rows = rows
                .lines()
                .map(|row| serde_json::from_str::<Value>(row).unwrap());
            let mut rows = rows.filter(|row| row["active"] != false);
            rows.next().unwrap()[key].as_f64().unwrap()
        };
        let context: f64 = s
            .run(&format!("context --tokens ./omp.jsonl {leaf}"))
            .to_string()
            .trim()
            .parse()
            .unwrap();
        let branches = of("branches --json ./omp.jsonl", "tokens");
        assert_eq!(of("list --json ./omp.jsonl", "contextTokens"), branches);
        assert_eq!(context, branches);
        context
    };
    let before = sizes("@");
    s.run("compact ./omp.jsonl --first-kept none --summary short");
    let after = sizes("@");
    assert!(after > 0.0 && after < before, "{before} became {after}");
    // A message adds its own size.
    s.run("append ./omp.jsonl --user 'twelve chars'");
    assert_eq!(sizes("@"), after + 3.0);
}

#[test]
fn a_result_is_not_kept_without_its_call() {
    let s = Sandbox::with(&["tour.jsonl"]);
    s.run("switch -q ./tour.jsonl 5c07d14b");
    assert_snapshot!(s.unchanged("compact ./tour.jsonl --first-kept 15f9ad3c").fails(2), @"./tour.jsonl: 15f9ad3c is a tool result, and its call would not be kept (hint: give the entry with the call, which is above it)");
}
