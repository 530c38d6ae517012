//! `pisess context`: what the model would see.

mod requests;

use crate::sandbox::{Sandbox, session, user};
use crate::show::omp_session;
use insta::assert_snapshot;
use serde_json::{Value, json};

#[test]
fn messages_and_settings() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    assert_snapshot!(s.run("context ./two-branches.jsonl"), @r#"{"messages":[{"role":"user","content":"Which paper for a kite?"},{"role":"assistant","content":[{"type":"text","text":"Tissue paper is light, washi is strong."}],"stopReason":"stop"},{"role":"user","content":"Washi then. How big?"},{"role":"assistant","content":[{"type":"text","text":"A metre and more, with a bamboo spar."}],"stopReason":"stop"}],"thinkingLevel":"off","model":{}}"#);
    assert_snapshot!(s.run("context ./two-branches.jsonl 1a2b3c02"), @r#"{"messages":[{"role":"user","content":"Which paper for a kite?"},{"role":"assistant","content":[{"type":"text","text":"Tissue paper is light, washi is strong."}],"stopReason":"stop"}],"thinkingLevel":"off","model":{}}"#);
}

#[test]
fn of_root_is_empty() {
    let s = Sandbox::with(&["tour.jsonl"]);
    assert_snapshot!(s.run("context ./tour.jsonl root"), @r#"{"messages":[],"thinkingLevel":"off","model":null}"#);
    assert_eq!(s.run("context ./tour.jsonl root --as llm"), "[]\n");
    assert_eq!(s.run("context ./tour.jsonl root --tokens"), "0\n");
    assert_eq!(s.run("context ./tour.jsonl root --as text").trim(), "");
}

#[test]
fn behind_a_compaction() {
    let s = Sandbox::with(&["tour.jsonl"]);
    let context: Value = serde_json::from_str(&s.run("context ./tour.jsonl")).unwrap();
    let roles: Vec<_> = context["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| m["role"].clone())
        .collect();
    assert_eq!(
        roles,
        [
            "compactionSummary",
            "user",
            "assistant",
            "toolResult",
            "assistant",
            "user",
            "assistant"
        ]
    );
    assert_eq!(context["thinkingLevel"], "low");
    assert_eq!(context["model"]["modelId"], "claude-sonnet-4-5");
}

#[test]
fn as_a_transcript() {
    let s = Sandbox::with(&["tour.jsonl"]);
    assert_snapshot!(s.run("context ./tour.jsonl --as text"), @r##"
    [User]: The conversation history before this point was compacted into the following summary:

    <summary>
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
    </summary>

    [User]: Good. Please add a test for exactly that evening.

    [Assistant tool calls]: write(path="/home/u/code/ferry/tests/midnight.rs", content="#[test]\nfn the_first_ferry_after_midnight() {\n    assert_eq!(departs_in(time(\"23:50\"), time(\"00:10\")), 20);\n}\n")

    [Tool result]: Successfully wrote 118 bytes to tests/midnight.rs

    [Assistant]: `tests/midnight.rs` pins it down: asked at 23:50, the 00:10 ferry departs in 20 minutes.

    [User]: Now a line for the changelog, for people who don't read code.

    [Assistant]: "Ferries after midnight no longer show as gone: asked at 23:50, the 00:10 departs in 20 minutes."
    "##);
    assert_snapshot!(s.run("context ./tour.jsonl green --as text"), @r#"
    [User]: The 00:10 ferry shows up as "left 23 h ago" when I ask at 23:50. Can you find out why?

    [Assistant]: I'll look for where the waiting time is computed.

    [Assistant tool calls]: grep(pattern="fn departs_in", path="/home/u/code/ferry/src")

    [Tool result]: src/clock.rs:41:pub fn departs_in(now: Time, departure: Time) -> i64 {

    [Assistant tool calls]: read(path="/home/u/code/ferry/src/clock.rs", offset=35, limit=30)

    [Tool result]: pub fn departs_in(now: Time, departure: Time) -> i64 {
        departure.minutes() - now.minutes()
    }


    [Assistant]: `departs_in` subtracts minutes of the day, so across midnight the result is negative: 10 - 1430 = -1420 minutes, printed as "left 23 h ago". The timetable has no dates, only times.

    [User]: The following is a summary of a branch that this conversation came back from:

    <summary>
    The user explored a different conversation branch before returning here.
    Summary of that exploration:

    ## Goal
    Make `departs_in` right across midnight.

    ## Progress
    ### Done
    - [x] Tried `rem_euclid(1440)`: one line, but ferries that just left come out as leaving tomorrow.

    ### Blocked
    - `board::just_left_is_shown_as_left` and `board::delayed_ferry_stays_on_board` fail with it.

    <modified-files>
    /home/u/code/ferry/src/clock.rs
    </modified-files></summary>

    [User]: Undo that, and take the nearer of the two: yesterday's or tomorrow's departure.

    [Assistant]: So the result lies within half a day either way.

    [Assistant tool calls]: edit(path="/home/u/code/ferry/src/clock.rs", oldText="(departure.minutes() - now.minutes()).rem_euclid(1440)", newText="(departure.minutes() - now.minutes() + 720).rem_euclid(1440) - 720"); bash(command="cargo test --quiet")

    [Tool result]: Successfully replaced 1 block in src/clock.rs.

    [Tool result]: running 14 tests
    ..............
    test result: ok. 14 passed; 0 failed

    [Assistant]: All 14 tests pass, and at 23:50 the 00:10 ferry departs in 20 min.
    "#);
}

#[test]
fn as_a_models_api_knows_it() {
    let s = Sandbox::with(&["tour.jsonl"]);
    let messages: Value = serde_json::from_str(&s.run("context ./tour.jsonl --as llm")).unwrap();
    let messages = messages.as_array().unwrap();
    assert_eq!(messages[0]["role"], "user");
    let summary = messages[0]["content"][0]["text"].as_str().unwrap();
    assert!(
        s.run("context ./tour.jsonl --as text")
            .starts_with(&format!("[User]: {summary}\n\n")),
        "{summary}"
    );
    assert!(
        messages
            .iter()
            .all(|m| ["user", "assistant", "toolResult"].contains(&m["role"].as_str().unwrap()))
    );
}

#[test]
fn a_transcript_caps_tool_results() {
    let s = Sandbox::new();
    let long = "r".repeat(5_000);
    s.put(
        "a.jsonl",
        crate::sandbox::session(&[format!(
            r#"{{"type":"message","id":"aaaa0001","parentId":null,"message":{{"role":"toolResult","toolCallId":"c","toolName":"t","content":[{{"type":"text","text":"{long}"}}],"isError":false}}}}"#
        )]),
    );
    let text = s.run("context ./a.jsonl --as text");
    assert_eq!(
        text.matches('r').count() - text.replace(&"r".repeat(2_000), "").matches('r').count(),
        2_000
    );
    assert!(!text.contains(&"r".repeat(2_001)), "{text}");
}

#[test]
fn tokens() {
    let s = Sandbox::with(&["tour.jsonl", "two-branches.jsonl"]);
    assert_snapshot!(s.run("context ./two-branches.jsonl --tokens"), @"31");
    assert_snapshot!(s.run("context ./tour.jsonl --tokens"), @"1541");
}

#[test]
fn oh_my_pi_adds_its_settings() {
    let s = Sandbox::with(&["omp.jsonl"]);
    let context: Value = serde_json::from_str(&s.run("context ./omp.jsonl")).unwrap();
    for key in [
        "models",
        "mode",
        "modeData",
        "serviceTier",
        "configuredThinkingLevel",
        "injectedTtsrRules",
    ] {
        assert!(context.get(key).is_some(), "{key}");
    }
    assert_eq!(context["mode"], "plan");
    assert_eq!(context["models"]["default"], "anthropic/claude-sonnet-4-5");
}

#[test]
fn of_an_older_file_as_if_migrated() {
    for name in ["v1.jsonl", "v2.jsonl", "draft-tree.jsonl"] {
        let s = Sandbox::with(&[name]);
        let forms = ["", "--as llm", "--as text", "--tokens"];
        let read = |s: &Sandbox| forms.map(|form| s.run(&format!("context ./{name} {form}")));
        let before = read(&s);
        s.run(&format!("migrate ./{name}"));
        assert_eq!(before, read(&s), "{name}");
    }
}

#[test]
fn version_one() {
    let s = Sandbox::with(&["v1.jsonl"]);
    assert_snapshot!(s.run("context ./v1.jsonl --as text"), @"
    [User]: The conversation history before this point was compacted into the following summary:

    <summary>
    Carrots from March, beans from mid-May.
    </summary>

    [User]: And beans?

    [Assistant]: Mid-May, after the last frost.

    [User]: Make me a calendar.

    [Assistant]: March: carrots. May: beans.
    ");
}

#[test]
fn a_kept_id_that_is_not_there_keeps_nothing() {
    for name in ["kept-unknown", "kept-itself", "kept-missing"] {
        let s = Sandbox::with(&[&format!("hazards/{name}.jsonl")]);
        let context: Value =
            serde_json::from_str(&s.run(&format!("context ./{name}.jsonl"))).unwrap();
        let messages = context["messages"].as_array().unwrap();
        assert_eq!(messages.len(), 2, "{name}");
        assert_eq!(messages[0]["summary"], "what was before");
    }
}

/// The parts and the last row add up to the size of the context.
#[test]
fn what_fills_the_context() {
    let s = Sandbox::with(&["tour.jsonl"]);
    let total: f64 = s
        .unchanged("context --tokens ./tour.jsonl")
        .text()
        .trim()
        .parse()
        .unwrap();
    assert_snapshot!(s.unchanged("context --tokens --by tool ./tour.jsonl"), @"
    TOKENS   SHARE  MESSAGES  TOOL
       198  12.8 %         5  (no tool)
        59   3.8 %         2  write
      1284  83.3 %            (system prompt, tools, and error of the estimates)
    ");
    assert_snapshot!(s.unchanged("context --tokens --by file ./tour.jsonl"), @"
    TOKENS   SHARE  MESSAGES  FILE
       198  12.8 %         5  (no file)
        59   3.8 %         2  tests/midnight.rs
      1284  83.3 %            (system prompt, tools, and error of the estimates)
    ");
    for key in ["role", "tool", "file", "entry"] {
        let rows = s
            .unchanged(&format!("context --tokens --by {key} --json ./tour.jsonl"))
            .text();
        let mut sum = 0.0;
        for row in rows.lines() {
            let row: serde_json::Value = serde_json::from_str(row).unwrap();
            sum += row["tokens"].as_f64().unwrap();
        }
        assert_eq!(sum, total, "{key}: {rows}");
    }
    let largest = s
        .unchanged("context --tokens --by entry ./tour.jsonl")
        .text();
    assert!(
        largest
            .lines()
            .nth(1)
            .unwrap()
            .contains("dc705e93  compaction"),
        "{largest}"
    );
    assert_eq!(s.unchanged("context --by tool ./tour.jsonl").code, 2);
}

/// The files have the names that `show --files` prints.
#[test]
fn parts_by_file_of_lines_that_were_read_and_of_edits_by_hashes() {
    let read = ("read", json!({"path": "a.rs:2-3"}), json!({}));
    let edit = (
        "edit",
        json!({"input": "[a.rs#1f3c]\nPUT 2.=2:\n+zwei"}),
        json!({}),
    );
    let s = Sandbox::new();
    s.put("s.jsonl", omp_session(&[read, edit]));
    let rows = s
        .pisess("context --tokens --by file --json ./s.jsonl")
        .done()
        .text();
    let mut names = Vec::new();
    for row in rows.lines() {
        let row: Value = serde_json::from_str(row).unwrap();
        names.extend(row["file"].as_str().map(str::to_owned));
    }
    assert_eq!(names, ["/p/a.rs"], "{rows}");
}

/// Providers count repeated characters as fewer tokens than pi estimates by their number.
#[test]
fn parts_of_a_context_that_counts_less_than_its_messages() {
    let reply = r#"{"type":"message","id":"1a2b3c05","parentId":"1a2b3c04","timestamp":"2026-01-01T00:00:05.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Yes."}],"api":"anthropic-messages","provider":"anthropic","model":"m","usage":{"input":98,"output":2,"cacheRead":0,"cacheWrite":0,"totalTokens":100,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":5}}"#;
    let s = Sandbox::new();
    s.put(
        "s.jsonl",
        session(&[user("1a2b3c04", None, &"x".repeat(800)), reply.to_owned()]),
    );

    let done = s.pisess("context --tokens --by role ./s.jsonl").done();
    assert_snapshot!(done.text(), @r"
    TOKENS   SHARE  MESSAGES  ROLE
       200  99.5 %         1  user
         1   0.5 %         1  assistant
    ");
    assert_eq!(
        done.stderr,
        "pisess: note: the provider counted 100 tokens, fewer than the estimates of the messages (together 201)\n"
    );
    let json = s
        .pisess("context --tokens --by role --json ./s.jsonl")
        .done();
    assert_snapshot!(json.text(), @r#"
    {"role":"user","tokens":200,"messages":1,"difference":false}
    {"role":"assistant","tokens":1,"messages":1,"difference":false}
    {"role":null,"tokens":-101,"messages":0,"difference":true}
    "#);
}

/// The share of a window is given with the size, and that of each part.
#[test]
fn a_size_is_a_share_of_the_window() {
    let s = Sandbox::with(&["tour.jsonl"]);
    assert_snapshot!(s.unchanged("context --tokens --window 200k ./tour.jsonl"), @"1541 (0.8 % of 200000)");
    assert_snapshot!(s.unchanged("context --tokens --window 200k --json ./tour.jsonl"), @r#"{"tokens":1541,"window":200000,"share":0.007705}"#);
    assert_snapshot!(s.unchanged("context --tokens --window 200k --by role ./tour.jsonl"), @r"
    TOKENS  SHARE  MESSAGES  ROLE
       122  0.1 %         1  compactionSummary
        93  0.0 %         3  assistant
        29  0.0 %         2  user
        13  0.0 %         1  toolResult
      1284  0.6 %            (system prompt, tools, and error of the estimates)
    ");
    assert_snapshot!(s.unchanged("context --tokens --window 200k --by role --json ./tour.jsonl"), @r#"
    {"role":"compactionSummary","tokens":122,"messages":1,"share":0.00061,"difference":false}
    {"role":"assistant","tokens":93,"messages":3,"share":0.000465,"difference":false}
    {"role":"user","tokens":29,"messages":2,"share":0.000145,"difference":false}
    {"role":"toolResult","tokens":13,"messages":1,"share":0.000065,"difference":false}
    {"role":null,"tokens":1284,"messages":0,"share":0.00642,"difference":true}
    "#);
    assert_eq!(s.unchanged("context --window 200k ./tour.jsonl").code, 2);
}

/// After an edit, pi estimates the messages alone; before it, the provider also counted the prompt.
#[test]
fn the_size_after_an_edit_names_the_prompt_and_the_tools() {
    let s = Sandbox::with(&["tour.jsonl"]);
    s.run("edit -q ./tour.jsonl @ --replace 'Done.'");
    assert_snapshot!(s.unchanged("context --tokens ./tour.jsonl"), @"
    234
    2> pisess: note: the messages alone; with system prompt and tools (~1.3k): ~1.5k
    ");
    assert_snapshot!(s.unchanged("context --tokens --by role ./tour.jsonl"), @"
    TOKENS   SHARE  MESSAGES  ROLE
       122   8.0 %         1  compactionSummary
        70   4.6 %         3  assistant
        29   1.9 %         2  user
        13   0.9 %         1  toolResult
      1284  84.6 %            (system prompt, tools, and error of the estimates)
    2> pisess: note: the last row is from the provider's last count, before an edit or a compaction changed the context
    ");
}

/// The count includes what was pruned later. If the context was also edited, the size is an
/// estimate already, and what the count had beyond it is unknown.
#[test]
fn the_size_after_an_edit_and_a_prune_is_an_estimate() {
    let time = "2020-01-01T00:00:01.000Z";
    let usage = |input: u64| {
        json!({"input": input, "output": 10, "cacheRead": 0, "cacheWrite": 0,
            "totalTokens": input + 10, "cost": {"total": 0}})
    };
    let reply = |id: &str, parent: &str, input: u64| {
        json!({"type": "message", "id": id, "parentId": parent, "timestamp": time,
            "message": {"role": "assistant", "stopReason": "stop", "usage": usage(input),
                "content": [{"type": "toolCall", "id": id, "name": "bash", "arguments": {}}]}})
    };
    let result = json!({"type": "message", "id": "c", "parentId": "b", "timestamp": time,
        "message": {"role": "toolResult", "toolCallId": "b", "toolName": "bash", "isError": false,
            "content": [{"type": "text", "text": "x".repeat(100_000)}]}});
    let lines = [
        user("a", None, "How long is it?"),
        reply("b", "a", 100).to_string(),
        result.to_string(),
        reply("d", "c", 25_000).to_string(),
    ];
    let prune = "prune -q ./s.jsonl";
    let edit = "edit -q ./s.jsonl a --replace 'How long?'";
    for changes in [[prune, edit], [edit, prune]] {
        let s = Sandbox::new();
        s.put("s.jsonl", session(&lines));
        for line in changes {
            assert_eq!(s.pisess(line).done().code, 0, "{line}");
        }
        let size = s.unchanged("context --tokens ./s.jsonl").quiet();
        assert_eq!(size, "15\n");
        let parts = s.unchanged("context --tokens --by role ./s.jsonl").quiet();
        assert!(!parts.contains("system prompt"), "{parts}");
    }
}
