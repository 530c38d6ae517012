//! `pisess append`: entries from options and from JSON lines.

use crate::sandbox::{Sandbox, fixture};
use insta::assert_snapshot;

fn appended(s: &Sandbox, line: &str, stdin: &str) -> String {
    s.pisess(line).stdin(stdin).done().quiet()
}

#[test]
fn a_question() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    assert_snapshot!(s.run("append ./two-branches.jsonl --user 'And the tail?'"), @"226b1b5c");
    assert_snapshot!(s.run("tree ./two-branches.jsonl"), @"
    1a2b3c01  • [start] user: Which paper for a kite?
    1a2b3c02  • assistant: Tissue paper is light, washi is strong.
    1a2b3c04  ├─ user: Tissue paper then. How big?  (2 messages, 4mo)
    1a2b3c05  │  assistant: Half a metre; larger ones tear.
    1a2b3c06  • user: Washi then. How big?
    1a2b3c07  • assistant: A metre and more, with a bamboo spar.
    226b1b5c  • user: And the tail?  ← active
    ");
    assert_snapshot!(s.lines_from("two-branches.jsonl", 9), @r#"{"type":"message","id":"226b1b5c","parentId":"1a2b3c07","timestamp":"2026-05-04T12:00:00.000Z","message":{"role":"user","content":[{"type":"text","text":"And the tail?"}],"timestamp":1777896000000}}"#);
    assert!(
        s.bytes("two-branches.jsonl")
            .starts_with(&fixture("two-branches.jsonl"))
    );
}

#[test]
fn all_words_in_a_file_of_pi() {
    let s = Sandbox::with(&["tour.jsonl"]);
    s.run(
        "append ./tour.jsonl --at 27d4c96f --assistant 'Too small.' --user 'How so?' --custom-message hint --text 'Be brief' --hidden --custom seen --data '{\"n\":1e5}' --thinking high --model anthropic/claude/x --name 'Kites  and\ntails '",
    );
    assert_snapshot!(s.lines_from("tour.jsonl", 33), @r#"
    {"type":"session_info","id":"226b1b5c","parentId":"27d4c96f","timestamp":"2026-05-04T12:00:00.000Z","name":"Kites  and tails"}
    {"type":"model_change","id":"27aa2424","parentId":"226b1b5c","timestamp":"2026-05-04T12:00:00.000Z","provider":"anthropic","modelId":"claude/x"}
    {"type":"thinking_level_change","id":"b958585d","parentId":"27aa2424","timestamp":"2026-05-04T12:00:00.000Z","thinkingLevel":"high"}
    {"type":"custom","customType":"seen","data":{"n":1e5},"id":"95d82c0b","parentId":"b958585d","timestamp":"2026-05-04T12:00:00.000Z"}
    {"type":"custom_message","customType":"hint","content":"Be brief","display":false,"id":"cbc059f5","parentId":"95d82c0b","timestamp":"2026-05-04T12:00:00.000Z"}
    {"type":"message","id":"7438758a","parentId":"cbc059f5","timestamp":"2026-05-04T12:00:00.000Z","message":{"role":"user","content":[{"type":"text","text":"How so?"}],"timestamp":1777896000000}}
    {"type":"message","id":"1158ac1a","parentId":"7438758a","timestamp":"2026-05-04T12:00:00.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Too small."}],"api":"anthropic-messages","provider":"anthropic","model":"claude/x","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":1777896000000}}
    "#);
    assert_snapshot!(s.run("tree ./tour.jsonl --search '' --at @ --filter user-only"), @r#"
    0d9a6c31  • user: The 00:10 ferry shows up as "left 23 h ago" when I ask at 23:50. Can you find out why?
    3ac9d7e4  ├─ user: Just add a day when it comes out negative.  (8 messages, 1mo)
    ee2b93f5  │  user: Hm. What would you do instead?
    3de1b752  ├─ user: Undo that, and take the nearer of the two: yesterday's or tomorrow's departure.  (13 messages, 1mo)
    b5d60e41  │  user: Good. Please add a test for exactly that evening.
    86e2a1fb  │  user: Now a line for the changelog, for people who don't read code.
    7438758a  • user: How so?  (the leaf is below, not shown)
    "#);
}

#[test]
fn all_words_in_a_file_of_oh_my_pi() {
    let s = Sandbox::with(&["omp.jsonl"]);
    s.run(
        "append ./omp.jsonl --assistant 'Done.' --user 'And b.jpg?' --custom-message hint --text 'Be brief' --custom seen --thinking off --model anthropic/claude-opus-4-5",
    );
    assert_snapshot!(s.lines_from("omp.jsonl", 17), @r#"
    {"type":"model_change","id":"226b1b5c","parentId":"d7e8f90a","timestamp":"2026-05-04T12:00:00.000Z","model":"anthropic/claude-opus-4-5","role":"default","resolvedModelIsFallback":false}
    {"type":"thinking_level_change","id":"27aa2424","parentId":"226b1b5c","timestamp":"2026-05-04T12:00:00.000Z","thinkingLevel":"off","configured":"off"}
    {"type":"custom","customType":"seen","id":"b958585d","parentId":"27aa2424","timestamp":"2026-05-04T12:00:00.000Z"}
    {"type":"custom_message","customType":"hint","content":"Be brief","display":true,"attribution":"agent","id":"95d82c0b","parentId":"b958585d","timestamp":"2026-05-04T12:00:00.000Z"}
    {"type":"message","id":"cbc059f5","parentId":"95d82c0b","timestamp":"2026-05-04T12:00:00.000Z","message":{"role":"user","content":[{"type":"text","text":"And b.jpg?"}],"timestamp":1777896000000}}
    {"type":"message","id":"7438758a","parentId":"cbc059f5","timestamp":"2026-05-04T12:00:00.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"api":"anthropic-messages","provider":"anthropic","model":"claude-opus-4-5","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":1777896000000}}
    "#);
}

#[test]
fn lines_are_chained_and_filled_in() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let lines = r#"
{ "type" : "message", "message":{"role":"user","content":"one"} }

{"type":"custom","customType":"n","data":1e400}
{"id":"mine","type":"message","message":{"role":"user","content":[{"type":"text","text":"\ud83d"}],"timestamp":5}}
{"type":"label","targetId":"mine","label":"here","parentId":"1a2b3c01"}
{"type":"from_the_future","when":"soon"}"#;
    let done = s.pisess("append ./two-branches.jsonl").stdin(lines).done();
    assert_eq!(
        done.stderr,
        "pisess: note: unknown entry type from_the_future: neither agent writes it\n"
    );
    let ids = done.text();
    assert_snapshot!(ids, @"
    226b1b5c
    27aa2424
    mine
    b958585d
    95d82c0b
    ");
    assert_snapshot!(s.lines_from("two-branches.jsonl", 9), @r#"
    { "type" : "message","id":"226b1b5c","parentId":"1a2b3c07","timestamp":"2026-05-04T12:00:00.000Z", "message":{"role":"user","content":"one","timestamp":1777896000000} }
    {"type":"custom","customType":"n","data":1e400,"id":"27aa2424","parentId":"226b1b5c","timestamp":"2026-05-04T12:00:00.000Z"}
    {"id":"mine","parentId":"27aa2424","timestamp":"2026-05-04T12:00:00.000Z","type":"message","message":{"role":"user","content":[{"type":"text","text":"\ud83d"}],"timestamp":5}}
    {"type":"label","id":"b958585d","targetId":"mine","label":"here","parentId":"1a2b3c01","timestamp":"2026-05-04T12:00:00.000Z"}
    {"type":"from_the_future","id":"95d82c0b","parentId":"b958585d","timestamp":"2026-05-04T12:00:00.000Z","when":"soon"}
    "#);
    assert_snapshot!(s.run("tree ./two-branches.jsonl --filter all"), @"
    1a2b3c01  • [start] user: Which paper for a kite?
    1a2b3c02  ├─ assistant: Tissue paper is light, washi is strong.  (7 messages, now)
    1a2b3c03  │  label: start
    1a2b3c04  │  ├─ user: Tissue paper then. How big?  (2 messages, 4mo)
    1a2b3c05  │  │  assistant: Half a metre; larger ones tear.
    1a2b3c06  │  user: Washi then. How big?
    1a2b3c07  │  assistant: A metre and more, with a bamboo spar.
    226b1b5c  │  user: one
    27aa2424  │  custom: n
    mine      │  [here] user: �
    b958585d  • label: here
    95d82c0b  • from_the_future  ← active
    ");
}

/// A result requires its call above it, in the session or in the same batch.
#[test]
fn a_tool_result_comes_behind_its_call() {
    let s = Sandbox::with(&["tour.jsonl"]);
    let result = r#"{"type":"message","message":{"role":"toolResult","toolCallId":"ID","toolName":"t","content":[],"isError":false}}"#;
    let call = r#"{"type":"message","message":{"role":"assistant","content":[{"type":"toolCall","id":"new","name":"t","arguments":{}}],"api":"a","provider":"p","model":"m","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"cost":{"total":0}},"stopReason":"toolUse"}}"#;
    let new = result.replace("ID", "new");
    let batch = format!("{call}\n{{\"type\":\"custom\",\"customType\":\"between\"}}\n{new}\n");
    assert_eq!(
        appended(&s, "append ./tour.jsonl", &batch).lines().count(),
        3
    );
    assert_eq!(appended(&s, "append ./tour.jsonl", &new).lines().count(), 1);
    let elsewhere = s.pisess("append ./tour.jsonl --at root").stdin(new).done();
    assert_snapshot!(elsewhere.fails(2), @r#"standard input:1: no entry above the new one makes the tool call "new"; nothing was written (hint: append it together with its call, or below the call with --at)"#);
}

#[test]
fn a_reply_is_by_the_model_in_force() {
    let s = Sandbox::with(&["tour.jsonl"]);
    let model = |s: &Sandbox| {
        s.run("path ./tour.jsonl --json")
            .lines()
            .last()
            .unwrap()
            .to_owned()
    };
    s.run("append ./tour.jsonl --model anthropic/claude-opus-4-5");
    s.run("append ./tour.jsonl --assistant one");
    // The API is that of the last reply by this provider, even if another one has replied since.
    let other = model(&s).replace(r#""provider":"anthropic""#, r#""provider":"other""#);
    let other = other.split_once(r#","message""#).unwrap().1;
    appended(
        &s,
        "append ./tour.jsonl",
        &format!(r#"{{"type":"message","message"{other}"#),
    );
    s.run("append ./tour.jsonl --model anthropic/claude-opus-4-5 --assistant again");
    assert!(model(&s).contains(r#""provider":"anthropic","model":"claude-opus-4-5""#));
    assert_snapshot!(s.unchanged("append ./tour.jsonl --model openai/gpt-5 --assistant two").fails(2), @"./tour.jsonl: --assistant: there is no earlier reply from the provider openai, whose API could be copied (hint: give the whole entry as JSON on standard input; `pisess show --json` prints examples)");
}

#[test]
fn a_complete_line_stays_byte_for_byte() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let line = r#"{ "timestamp":"2026-01-01T00:00:00Z", "id":"x\u0031","extra":12345678901234567890,"parentId":null, "type":"custom","customType":"a","customType":"b" }"#;
    s.put("in.jsonl", format!("{line}\r\n"));
    assert_eq!(
        s.run("append ./two-branches.jsonl --input ./in.jsonl"),
        "x1\n"
    );
    assert_eq!(s.lines_from("two-branches.jsonl", 9), format!("{line}\n"));
}

#[test]
fn before_the_first_entry() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    s.run("append ./two-branches.jsonl --at root --user 'A new beginning'");
    assert_snapshot!(s.run("path ./two-branches.jsonl"), @"9  226b1b5c  2026-05-04 12:00  user: A new beginning");
}

/// A bad line is refused with its number, and no entry of the batch is written.
#[test]
fn one_bad_line_and_nothing_is_written() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let good = r#"{"type":"custom","customType":"fine"}"#;
    let mut said = String::new();
    for bad in [
        "not json",
        r#"{"type":"custom","customType":"cut"#,
        "[1]",
        "{}",
        r#"{"type":"session","version":3,"id":"x"}"#,
        r#"{"type":"title","v":1}"#,
        r#"{"type":"leaf","targetId":"1a2b3c01"}"#,
        r#"{"type":"custom","customType":"c","id":"1a2b3c01"}"#,
        r#"{"type":"custom","customType":"c","id":7}"#,
        r#"{"type":"custom","customType":"c","parentId":"gone"}"#,
        r#"{"type":"custom","customType":"c","id":"x","parentId":"x"}"#,
        r#"{"type":"custom","customType":"c","timestamp":"yesterday"}"#,
        r#"{"type":"custom"}"#,
        r#"{"type":"label","targetId":"gone","label":"l"}"#,
        r#"{"type":"label","targetId":"1a2b3c01","label":5}"#,
        r#"{"type":"compaction","summary":"s","firstKeptEntryId":"gone","tokensBefore":1}"#,
        r#"{"type":"branch_summary","summary":"s"}"#,
        r#"{"type":"custom_message","customType":"c","content":5,"display":true}"#,
        r#"{"type":"model_change","model":"anthropic/x"}"#,
        r#"{"type":"mode_change","mode":"plan"}"#,
        r#"{"type":"context_edit","targetId":"1a2b3c01","replacement":{"content":5}}"#,
        r#"{"type":"message","message":"hi"}"#,
        r#"{"type":"message","message":{"content":"hi"}}"#,
        r#"{"type":"message","message":{"role":"person","content":"hi"}}"#,
        r#"{"type":"message","message":{"role":"user","content":{"text":"hi"}}}"#,
        r#"{"type":"message","message":{"role":"user","content":[{"type":"text","text":"a"},{"type":"text"}]}}"#,
        r#"{"type":"message","message":{"role":"user","content":"hi","timestamp":"now"}}"#,
        r#"{"type":"message","message":{"role":"assistant","content":"hi"}}"#,
        r#"{"type":"message","message":{"role":"assistant","content":[],"api":"a","provider":"p","model":"m","usage":{"input":1}}}"#,
        r#"{"type":"message","message":{"role":"toolResult","toolCallId":"c","content":[]}}"#,
        r#"{"type":"message","message":{"role":"toolResult","toolCallId":"c","toolName":"t","content":[],"isError":false}}"#,
        r#"{"type":"compaction","summary":"s","firstKeptEntryId":"1a2b3c05","tokensBefore":1}"#,
        r#"{"type":"context_edit","targetId":"1a2b3c05","replacement":null}"#,
    ] {
        let before = s.files();
        let done = s
            .pisess("append ./two-branches.jsonl")
            .stdin(format!("{good}\n{bad}\n{good}\n"))
            .done();
        assert!(s.files() == before, "{bad}");
        said += &done.fails(2);
        said.push('\n');
    }
    assert_snapshot!(said, @r#"
    standard input:2: not JSON at byte 0; nothing was written (hint: each line is one entry, such as {"type":"custom","customType":"seen"})
    standard input:2: not JSON at byte 34; nothing was written (hint: each line is one entry, such as {"type":"custom","customType":"seen"})
    standard input:2: not a JSON object; nothing was written (hint: each line is one entry, such as {"type":"custom","customType":"seen"})
    standard input:2: `type` is missing or not a string; nothing was written (hint: each line is one entry, such as {"type":"custom","customType":"seen"})
    standard input:2: session starts a session and is not an entry; nothing was written (hint: give only the lines after it)
    standard input:2: title starts a session and is not an entry; nothing was written (hint: give only the lines after it)
    standard input:2: the agents ignore the target of a leaf record; nothing was written (hint: move the leaf with `pisess switch`)
    standard input:2: the id "1a2b3c01" is taken; nothing was written (hint: omit it to have one generated)
    standard input:2: `id` is not a string; nothing was written (hint: omit it to have one generated)
    standard input:2: the parent "gone" is not in the session; nothing was written (hint: omit it to continue from the entry before)
    standard input:2: the parent "x" is not in the session; nothing was written (hint: omit it to continue from the entry before)
    standard input:2: `timestamp` is not a time; nothing was written (hint: write it as 2026-01-31T12:00:00.000Z, or omit it)
    standard input:2: custom: `customType` is missing; nothing was written (hint: pi's custom requires customType)
    standard input:2: `targetId`: the entry "gone" is not in the session; nothing was written (hint: `pisess path --ids` lists the entries on the path to an entry)
    standard input:2: label: `label` is neither a string nor null; nothing was written (hint: pi's label requires targetId)
    standard input:2: `firstKeptEntryId`: the entry "gone" is not in the session; nothing was written (hint: `pisess path --ids` lists the entries on the path to an entry)
    standard input:2: branch_summary: `fromId` is missing; nothing was written (hint: pi's branch_summary requires fromId, summary)
    standard input:2: custom_message: `content` is neither a string nor an array of blocks; nothing was written (hint: pi's custom_message requires customType, content, display)
    standard input:2: model_change: `provider` is missing; nothing was written (hint: pi's model_change requires provider, modelId)
    standard input:2: mode_change is an entry of oh-my-pi, but the session is one of pi; nothing was written (hint: `pisess path --json` prints entries of the session as examples)
    standard input:2: context_edit: `replacement`: `content` is neither a string nor an array of blocks; nothing was written (hint: pi's context_edit requires targetId, replacement)
    standard input:2: `message` is not an object; nothing was written (hint: `pisess path --json` prints entries of the session as examples)
    standard input:2: `role` is missing; nothing was written (hint: `pisess path --json` prints entries of the session as examples)
    standard input:2: unknown role "person"; nothing was written (hint: the roles of pi are user, assistant, toolResult, bashExecution, custom, system)
    standard input:2: user message: `content` is neither a string nor an array of blocks; nothing was written (hint: pi's user message requires content)
    standard input:2: user message: `content`: block 2: `text` is missing; nothing was written (hint: pi's user message requires content)
    standard input:2: `timestamp` is not a number; nothing was written (hint: `pisess path --json` prints entries of the session as examples)
    standard input:2: assistant message: `content` is not an array of blocks; nothing was written (hint: pi's assistant message requires content, api, provider, model, usage, stopReason)
    standard input:2: assistant message: `usage`: `output` is missing; nothing was written (hint: pi's assistant message requires content, api, provider, model, usage, stopReason)
    standard input:2: toolResult message: `toolName` is missing; nothing was written (hint: pi's toolResult message requires toolCallId, toolName, content, isError)
    standard input:2: no entry above the new one makes the tool call "c"; nothing was written (hint: append it together with its call, or below the call with --at)
    standard input:2: `firstKeptEntryId`: the entry "1a2b3c05" is not above the new entry; nothing was written (hint: name an entry above the new one, or append elsewhere with --at)
    standard input:2: `targetId`: the entry "1a2b3c05" is not above the new entry; nothing was written (hint: name an entry above the new one, or append elsewhere with --at)
    "#);
}

#[test]
fn shapes_of_oh_my_pi() {
    let s = Sandbox::with(&["omp.jsonl"]);
    for bad in [
        r#"{"type":"model_change","provider":"anthropic","modelId":"x"}"#,
        r#"{"type":"session_info","name":"n"}"#,
        r#"{"type":"message","message":{"role":"system","content":"s"}}"#,
    ] {
        s.pisess("append ./omp.jsonl").stdin(bad).done().fails(2);
    }
    let good = r#"{"type":"model_change","model":"anthropic/x"}
{"type":"mode_change","mode":"plan","data":{}}
{"type":"message","message":{"role":"developer","content":"d"}}
{"type":"reset_boundary"}"#;
    assert_eq!(appended(&s, "append ./omp.jsonl", good).lines().count(), 4);
}

#[test]
fn where_entries_come_from() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    assert_eq!(
        appended(&s, "append ./two-branches.jsonl --user -", "from a pipe\n").len(),
        9
    );
    assert!(
        s.lines_from("two-branches.jsonl", 9)
            .contains("\"from a pipe\"")
    );
}

#[test]
fn refuses_missing_conflicting_and_invalid_input() {
    let s = Sandbox::with(&["two-branches.jsonl", "hazards/header-only.jsonl"]);
    let session = fixture("two-branches.jsonl");
    assert_snapshot!(s.pisess("append -").stdin(session.clone()).done().fails(2), @"no entries to append: standard input is already the session (hint: give them by options such as --user, or in a file with --input)");
    assert_snapshot!(s.pisess("append - --user -").stdin(session.clone()).done().fails(2), @"standard input is already the session (hint: give the path of the session instead of -)");
    assert_snapshot!(s.pisess("append ./two-branches.jsonl").typed().done().fails(2), @"no entries to append: standard input is a terminal (hint: give them by options such as --user, or in a file with --input)");
    assert_snapshot!(s.unchanged("append ./two-branches.jsonl --input ./x --user hi").fails(2), @"--input: entries are already given by options (hint: run append twice, or give all entries as JSON)");
    assert_snapshot!(s.unchanged("append ./two-branches.jsonl --input ./gone").fails(2), @"
    cannot read ./gone: no such file or directory (hint: give the path of a file of JSON lines, or - for standard input)
    ");
    assert_snapshot!(s.unchanged("append ./two-branches.jsonl --user - --assistant -").fails(2), @"two options read from standard input (hint: give one of the texts on the command line)");
    assert_snapshot!(s.unchanged("append ./two-branches.jsonl --user ' '").fails(2), @"the text of the message is empty (hint: give a text, or omit the option)");
    assert_snapshot!(s.unchanged("append ./two-branches.jsonl --custom c --data '{'").fails(2), @r#"--data: not JSON (hint: quote it for the shell, as in --data '{"n":1}')"#);
    assert_snapshot!(s.unchanged("append ./two-branches.jsonl --data 1").fails(2), @"the following required arguments were not provided: --custom <TYPE> (hint: see `pisess append --help`)");
    assert_snapshot!(s.unchanged("append ./two-branches.jsonl --custom-message c").fails(2), @"the following required arguments were not provided: --text <TEXT> (hint: see `pisess append --help`)");
    assert_snapshot!(s.unchanged("append ./two-branches.jsonl --thinking much").fails(2), @"
    invalid value 'much' for '--thinking <LEVEL>' [possible values: off, minimal, low, medium, high, xhigh, max] (hint: see `pisess append --help`)
    ");
    assert_snapshot!(s.unchanged("append ./two-branches.jsonl --model x").fails(2), @"
    invalid value 'x' for '--model <PROVIDER/ID>': write it as PROVIDER/ID (hint: see `pisess append --help`)
    ");
    assert_snapshot!(s.unchanged("append ./two-branches.jsonl --at gone --user hi").fails(2), @r#"./two-branches.jsonl: no entry or label "gone" (hint: `pisess tree --filter all` lists the ids)"#);
    assert_snapshot!(s.unchanged("append ./two-branches.jsonl --assistant hi").fails(2), @"./two-branches.jsonl: --assistant: the earlier reply names no API or model to copy (hint: give the whole entry as JSON on standard input; `pisess show --json` prints examples)");
    assert_snapshot!(s.unchanged("append ./header-only.jsonl --assistant hi").fails(2), @"./header-only.jsonl: --assistant: there is no earlier reply with an API and model to copy (hint: give the whole entry as JSON on standard input; `pisess show --json` prints examples)");
}

#[test]
fn nothing_to_append() {
    let s = Sandbox::with(&["v1.jsonl"]);
    let note = |name| format!("pisess: nothing to do in {name}\n");
    let before = s.files();
    let done = s.pisess("append ./v1.jsonl").stdin("\n \n").done();
    assert_eq!(
        (done.code, &*done.text(), done.stderr),
        (0, "", note("./v1.jsonl"))
    );
    assert!(s.files() == before);
    s.put("none", "");
    let session = fixture("v1.jsonl");
    let passed = s
        .pisess("append - --input ./none")
        .stdin(session.clone())
        .done();
    assert_eq!((passed.code, passed.stderr), (0, note("standard input")));
    assert_eq!(passed.stdout, session);
}

#[test]
fn into_a_pipe_and_on_paper() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let done = s
        .pisess("append - --user hi")
        .stdin(fixture("two-branches.jsonl"))
        .done();
    assert_eq!((done.code, done.stderr.len()), (0, 9));
    assert!(done.stdout.starts_with(&fixture("two-branches.jsonl")));
    assert_snapshot!(s.unchanged("append -n ./two-branches.jsonl --user hi"), @"
    would append 1 line to ./two-branches.jsonl
     size  id        type  content
    188 B  226b1b5c  user  hi
    ");
    assert_snapshot!(s.run("append --json ./two-branches.jsonl --custom c -o ./new.jsonl"), @r#"{"path":"./new.jsonl","action":"create","dryRun":false,"written":[{"type":"custom","customType":"c","id":"226b1b5c","parentId":"1a2b3c07","timestamp":"2026-05-04T12:00:00.000Z"}],"editorText":null}"#);
}

#[test]
fn an_older_file_is_migrated_with_it() {
    for name in ["v1", "v2", "draft-tree"] {
        let s = Sandbox::with(&[&format!("{name}.jsonl")]);
        let migrated = s.run(&format!("migrate ./{name}.jsonl -o -"));
        s.unchanged(&format!("append ./{name}.jsonl --at gone --user hi"))
            .fails(2);
        let leaf = s
            .run(&format!("path ./{name}.jsonl --ids"))
            .lines()
            .last()
            .unwrap()
            .to_owned();
        s.run(&format!("append ./{name}.jsonl --user hi"));
        let text = s.text(&format!("{name}.jsonl"));
        let added = text.strip_prefix(&migrated).unwrap();
        assert!(
            added.contains(&format!("\"parentId\":\"{leaf}\"")),
            "{name}: {added}"
        );
        assert_eq!(added.lines().count(), 1, "{name}");
    }
}

#[test]
fn many_at_once() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let lines = "{\"type\":\"custom\",\"customType\":\"c\"}\n".repeat(20_000);
    assert_eq!(
        appended(&s, "append ./two-branches.jsonl", &lines)
            .lines()
            .count(),
        20_000
    );
    assert_eq!(
        s.run("path ./two-branches.jsonl --ids").lines().count(),
        20_005
    );
}

/// oh-my-pi's own `/rename` appends an entry, and then overwrites the title line.
#[test]
fn the_name_of_an_oh_my_pi_session() {
    for file in ["omp.jsonl", "omp-no-slot.jsonl"] {
        let s = Sandbox::with(&[file]);
        let before = s.text(file);
        let planned = s.run(&format!(
            "append -n --json ./{file} --name ' Kites\n and  tails '"
        ));
        let json = s.run(&format!(
            "append --json ./{file} --name ' Kites\n and  tails '"
        ));
        let after = s.text(file);
        let (slot, rest) = after.split_once('\n').unwrap();
        assert_eq!(slot.len(), 255);
        let (change, kept) = (
            after.lines().last().unwrap(),
            before.lines().count() + usize::from(file != "omp.jsonl"),
        );
        assert!(
            planned.contains(slot) && planned.contains(change),
            "{planned}"
        );
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(
            (&json["action"], json["written"].as_array().unwrap().len()),
            (&"rewrite".into(), 2)
        );
        assert!(slot.starts_with(r#"{"type":"title","v":1,"title":"Kites and tails","source":"user","updatedAt":"2026-05-04T12:00:00.000Z","pad":"  "#));
        let previous = if file == "omp.jsonl" {
            "Photos by year"
        } else {
            "Photos"
        };
        assert!(
            change.ends_with(&format!(
                r#""title":"Kites and tails","source":"user","previousTitle":"{previous}"}}"#
            )),
            "{change}"
        );
        // Every other byte is as before.
        let old = if file == "omp.jsonl" {
            before.split_once('\n').unwrap().1
        } else {
            &before
        };
        assert_eq!(rest, format!("{old}{change}\n"));
        assert_eq!(after.lines().count(), kept + 1);
        assert!(
            s.run(&format!("list ./{file} --json"))
                .contains(r#""name":"Kites and tails""#)
        );
        s.run(&format!("append ./{file} --name ''"));
        assert!(
            s.run(&format!("list ./{file} --json"))
                .contains(r#""name":null"#)
        );
        assert!(!s.text(file).lines().next().unwrap().contains("source"));
        // A long name is cut in the line, as by the agent, and whole in the entry.
        let long = "é".repeat(300);
        s.run(&format!("append ./{file} --name {long}"));
        assert_eq!(s.text(file).split_once('\n').unwrap().0.len(), 255);
        assert!(s.text(file).lines().last().unwrap().contains(&long));
    }
    // A title line that the agent would overwrite together with the header gets its width.
    let s = Sandbox::new();
    let narrow =
        r#"{"type":"title","v":1,"title":"x","updatedAt":"2026-01-01T00:00:00.000Z","pad":""}"#;
    s.put(
        "narrow.jsonl",
        format!(
            "{narrow}\n\n{}",
            String::from_utf8(fixture("omp-no-slot.jsonl")).unwrap()
        ),
    );
    s.run("append ./narrow.jsonl --name Kites");
    let text = s.text("narrow.jsonl");
    assert_eq!(&text[255..257], "\n\n");
    assert_eq!(text.matches(r#""type":"title""#).count(), 1);
}
