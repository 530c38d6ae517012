//! Sessions of OpenCode, as `opencode export` prints them and as its earlier versions stored them.

use crate::sandbox::{Call, Sandbox, fixture};
use insta::assert_snapshot;
use serde_json::{Value, json};

/// What OpenCode 1.18.33 exported. In `reverted`, the user went back to the first turn; in
/// `compacted`, a summary replaces the first two.
const FIXTURES: [&str; 5] = ["plain", "sub-agent", "fork", "reverted", "compacted"];

/// The id of the session in `plain`.
const PLAIN_ID: &str = "ses_dd76fb6b9ffe734iQ3VKsWIF0c";

/// The directory in which earlier versions keep sessions.
const STORAGE: &str = ".local/share/opencode/storage";

fn export(name: &str) -> Value {
    serde_json::from_slice(&fixture(&format!("opencode/{name}.json"))).unwrap()
}

fn put_export(s: &Sandbox, path: &str, export: &Value) {
    let text = serde_json::to_string_pretty(export).unwrap();
    s.put(path, text + "\n");
}

/// Writes an export as earlier versions stored it: each session, message and part in its file.
fn put_stored(s: &Sandbox, export: &Value) {
    let id = |value: &Value| value["id"].as_str().unwrap().to_owned();
    let session = id(&export["info"]);
    let put = |path: String, value: &Value| put_export(s, &format!("{STORAGE}/{path}"), value);
    put(format!("session/global/{session}.json"), &export["info"]);
    for message in export["messages"].as_array().unwrap() {
        let message_id = id(&message["info"]);
        put(
            format!("message/{session}/{message_id}.json"),
            &message["info"],
        );
        for part in message["parts"].as_array().unwrap() {
            put(format!("part/{message_id}/{}.json", id(part)), part);
        }
    }
}

fn at_home<'a>(s: &'a Sandbox, line: &str) -> Call<'a> {
    s.pisess(line).at_home()
}

fn sessions(s: &Sandbox) -> Vec<String> {
    let mut names = s.names();
    names.retain(|name| name.contains("/agent/sessions/"));
    names
}

fn context(s: &Sandbox, session: &str) -> Vec<Value> {
    let context: Value = serde_json::from_str(&s.run(&format!("context -q ./{session}"))).unwrap();
    context["messages"].as_array().unwrap().clone()
}

#[test]
fn every_export_passes_check_and_is_imported_once() {
    for name in FIXTURES {
        for agent in ["pi", "omp"] {
            let s = Sandbox::with(&[&format!("opencode/{name}.json")]);
            let line = format!("import -q --for {agent} ./{name}.json");
            let path = at_home(&s, &line).done().quiet();
            let check = at_home(&s, &format!("check -q {}", path.trim())).done();
            assert_eq!((check.code, check.text()), (0, String::new()), "{name}");
            let before = s.files();
            assert_eq!(at_home(&s, &line).done().quiet(), "", "{name} for {agent}");
            assert!(s.files() == before, "{name} for {agent}");
        }
    }
}

#[test]
fn a_response_is_one_message_and_its_results_follow() {
    let s = Sandbox::with(&["opencode/plain.json"]);
    assert_snapshot!(s.run("tree --filter all ./plain.json"), @r#"
    cc024f20  • custom: opencode.session
    78047e93  • title: An answer about kites
    98390ea4  • model: m1
    060f1d09  • user: hello there
    7b5111a2  • assistant: An answer to hello there
    babd7159  • user: think: kites need wind
    968d53d6  • assistant: I thought about it.
    9bef2fcb  • user: run: echo two; echo three
    baefe321  • assistant: I run it.
    38176c83  • bash: echo two
    bfba41a4  • bash: echo three
    8832c142  • assistant: The results are there.
    3b096d48  • user: run: echo bad >&2; exit 3
    b254e887  • assistant: I run it.
    de93c668  • bash: echo bad >&2
    a53f0083  • bash: [failed] exit 3
    bb2b5a23  • assistant: The results are there.
    193e16d7  • user: read: nowhere.txt
    aee8b9ef  • assistant: (calls read)
    78f4eb8d  • read: [failed] nowhere.txt
    28677242  • assistant: The results are there.
    03c74027  • user: edit: note.txt words letters
    02443156  • assistant: (calls edit)
    cdb55957  • edit: note.txt
    670591b8  • assistant: The results are there.
    07f1f5b3  • user: task: run: echo inside
    0982552e  • assistant: (calls task)
    ae8e37df  • task: look around
    aab14a30  • assistant: The results are there.
    1d21245e  • user: fail
    45429dd6  • assistant: [failed] the model is broken
    f81cfe8c  • user: [image] look at this
    b08390f0  • assistant: An answer to t support image input). Inform the user.
    b4df12d3  • user: and at this
    a398f94f  • opencode.added: Called the Read tool with the following input: {"filePath":"/home/user/kites/read.me"}<path>/home/user/kites/read.me</path> <type>file</type> <content> 1: line one 2: line two (End of file - total 2  (hidden)
    b1de1143  • assistant: An answer to (End of file - total 2 lines) </content>
    3392584d  • user: slow: please
    fc88e285  • assistant: [aborted] This is
    47564931  • opencode.added: The following tool was executed by the user  (hidden)
    445d447f  • assistant: (calls bash)
    68c682aa  • bash: echo by hand
    46b5d035  • user: after the shell
    3d107d53  • assistant: An answer to after the shell
    5296d0e5  • custom: foreign_session_import  ← active
    "#);
    assert_snapshot!(s.run("stats ./plain.json"), @r"
    messages     38 (12 user, 18 assistant, 8 tool results)
    tools        8 calls, 2 failed
    input        600
    output       105
    cache read   900
    cache write  0
    tokens       1,605
    cost         $0.0009
    time         21s
    files        1
    3 of 18 requests unpriced: no cost is recorded, and no price known
    ");
    assert_snapshot!(s.run("list --source opencode ./plain.json"), @r"
    age  id        msgs   size  context     cost  name or first user message
    now  VKsWIF0c    38  48 kB    ~1.6k  <$0.01+  An answer about kites
    ");

    s.run("import -q ./plain.json -o ./new.jsonl");
    let messages = context(&s, "new.jsonl");
    let of_role = |role: &str| {
        messages
            .iter()
            .filter(|message| message["role"] == role)
            .count()
    };
    let exported = export("plain");
    let responses = exported["messages"].as_array().unwrap();
    let response_count = responses
        .iter()
        .filter(|message| message["info"]["role"] == "assistant")
        .count();
    assert_eq!(of_role("assistant"), response_count);
    let parts = responses
        .iter()
        .flat_map(|message| message["parts"].as_array().unwrap());
    let calls = parts.filter(|part| part["type"] == "tool").count();
    assert_eq!(of_role("toolResult"), calls);
}

/// Everything that the session says is in the context, too, at its place.
#[test]
fn a_revert_goes_back_and_a_compaction_replaces_what_is_before_it() {
    let s = Sandbox::with(&["opencode/reverted.json", "opencode/compacted.json"]);
    assert_snapshot!(s.run("tree --filter all ./reverted.json"), @r"
    c9f5bf23  • custom: opencode.session
    22fec382  • title: Reverted
    29707031  • model: m1
    c90ed91d  • user: first
    ce4cfba6  • assistant: An answer to first
    b854c6df  ├─ user: second  (4 messages, now)
    a21519a4  │  assistant: An answer to second
    e921c1df  │  user: third
    a21fa335  │  assistant: An answer to third
    6724d580  • custom: opencode.revert
    16118639  • custom: foreign_session_import  ← active
    ");
    assert_snapshot!(s.run("tree --filter all ./compacted.json"), @r"
    f9bbc336  • custom: opencode.session
    fd2cec77  • title: Compacted
    a351f3bf  • model: m1
    f966c8c6  • user: first
    cb8756db  • assistant: An answer to first
    65f96b11  • user: run: echo two
    679c708d  • assistant: I run it.
    d1b6d0e9  • bash: echo two
    cab2cc3c  • assistant: The results are there.
    8b960e0e  • custom: opencode.compaction
    f2c7c18a  • ── compaction: 107 tokens · An answer to y process or that context was compacted. ──
    5f1443d5  • usage
    4219cb80  • user: after it
    f66846d6  • assistant: An answer to after it
    3231df07  • custom: foreign_session_import  ← active
    ");

    // A compaction may keep the last messages.
    let mut export = export("compacted");
    let messages = export["messages"].as_array_mut().unwrap();
    let kept = messages[2]["info"]["id"].clone();
    messages[5]["parts"][0]["tail_start_id"] = kept;
    put_export(&s, "kept.json", &export);
    s.run("import -q ./kept.json -o ./kept.jsonl");
    let roles: Vec<_> = context(&s, "kept.jsonl")
        .iter()
        .map(|message| message["role"].as_str().unwrap().to_owned())
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
    assert_eq!(s.run("check -q ./kept.jsonl"), "");
}

/// OpenCode changes sums and settings of a session whenever it writes to it.
#[test]
fn only_appends_if_the_session_has_grown() {
    for name in ["plain", "compacted"] {
        let s = Sandbox::new();
        let whole = export(name);
        let messages = whole["messages"].as_array().unwrap();
        let mut before = String::new();
        for count in 1..=messages.len() {
            let mut grown = whole.clone();
            grown["messages"] = messages[..count].into();
            grown["info"]["time"]["updated"] = json!(1_800_000_000_000_u64 + count as u64);
            grown["info"]["cost"] = json!(count);
            // OpenCode adds this once it has answered.
            let last = &mut grown["messages"][count - 1]["info"];
            if last["role"] == "user" {
                last.as_object_mut().unwrap().remove("summary");
            }
            put_export(&s, "s.json", &grown);
            at_home(&s, "import -q ./s.json").done().quiet();
            let [path] = &sessions(&s)[..] else {
                panic!("{name} {count}: {:?}", sessions(&s));
            };
            let text = s.text(path);
            assert!(text.starts_with(&before), "{name} {count}");
            assert!(text.len() > before.len(), "{name} {count}");
            assert_eq!(s.run(&format!("check -q ./{path}")), "", "{name} {count}");
            before = text;
        }
        let [path] = &sessions(&s)[..] else {
            unreachable!()
        };
        put_export(&s, "whole.json", &whole);
        s.run("import -q ./whole.json -o ./whole.jsonl");
        assert_eq!(context(&s, path), context(&s, "whole.jsonl"), "{name}");
    }
}

#[test]
fn a_response_in_progress_is_left_for_the_next_import() {
    let s = Sandbox::new();
    let mut export = export("plain");
    export["messages"].as_array_mut().unwrap().truncate(2);
    let time = export["messages"][1]["info"]["time"]
        .as_object_mut()
        .unwrap();
    let completed = time.remove("completed").unwrap();
    put_export(&s, "s.json", &export);
    assert_snapshot!(at_home(&s, "import ./s.json").done(), @r"
    ./.pi/agent/sessions/--home-user-kites--/2026-11-29T18-27-54-310Z_72d35e84-c267-52cc-889d-3d1d8425daf8.jsonl
    2> pisess: note: ~/s.json: its last line is torn, and is left for the next import
    ");
    export["messages"][1]["info"]["time"]["completed"] = completed;
    put_export(&s, "s.json", &export);
    assert_snapshot!(at_home(&s, "import -n ./s.json").done(), @r"
      size  action  entries  from      to
    1.3 kB  append        2  ~/s.json  ~/.pi/agent/sessions/--home-user-kites--/2026-11-29T18-27-54-310Z_72d35e84-c267-52cc-889d-3d1d8425daf8.jsonl
    ");
}

/// A revert that the user follows by another message removes messages.
#[test]
fn a_session_that_was_reverted_since_is_refused() {
    let s = Sandbox::with(&["opencode/reverted.json"]);
    at_home(&s, "import -q ./reverted.json").done().quiet();
    let mut export = export("reverted");
    export["info"].as_object_mut().unwrap().remove("revert");
    export["messages"].as_array_mut().unwrap().truncate(2);
    put_export(&s, "reverted.json", &export);
    assert_snapshot!(at_home(&s, "import ./reverted.json").done().fails(2), @"~/reverted.json: it has become shorter since it was imported (hint: --force imports it again, into a new session)");
}

#[test]
fn the_storage_of_earlier_versions_is_read_like_an_export() {
    let s = Sandbox::new();
    put_export(&s, "plain.json", &export("plain"));
    put_stored(&s, &export("plain"));
    put_stored(&s, &export("sub-agent"));
    let stored = format!("./{STORAGE}/session/global/{PLAIN_ID}.json");
    for command in ["tree --filter all", "show", "stats", "context"] {
        assert_eq!(
            s.run(&format!("{command} {stored}")),
            s.run(&format!("{command} ./plain.json")),
            "{command}"
        );
    }
    let storage = format!("./{STORAGE}");
    assert_snapshot!(s.pisess(&format!("grep 'thought about' {storage}")).done(), @"./.local/share/opencode/storage/session/global/ses_dd76fb6b9ffe734iQ3VKsWIF0c.json:61cd4f6e:assistant: I thought about it.");
    assert_snapshot!(s.pisess(&format!("list {storage}")).done(), @"2> pisess: note: no sessions of pi or oh-my-pi among the files found, only of OpenCode (hint: add `--source opencode` to list them)");
    assert_snapshot!(at_home(&s, "list --source opencode --all").done(), @r"
    age  id        msgs   size  context     cost  name or first user message
    now  VKsWIF0c    38  629 B    ~1.6k  <$0.01+  An answer about kites
    now  QadXqDKV     4  687 B      107   <$0.01  └─ ses_dd76f5923ffeAbz6ZwQadXqDKV: look around (@general subagent)
    ");
    assert_snapshot!(at_home(&s, "resume ses_dd76fb").done(), @r"
    cd /home/user/kites && opencode --session ses_dd76fb6b9ffe734iQ3VKsWIF0c
    2> pisess: note: the session's directory /home/user/kites does not exist (hint: `pisess relocate SESSION DIR` moves a session to another directory)
    ");
    at_home(&s, &format!("import -q {PLAIN_ID}")).done().quiet();
    assert_snapshot!(at_home(&s, &format!("import ./{STORAGE}")).done(), @r"
    ./.pi/agent/sessions/--home-user-kites--/2026-11-29T18-27-54-310Z_72d35e84-c267-52cc-889d-3d1d8425daf8/ses_dd76f5923ffeAbz6ZwQadXqDKV.jsonl
    2> pisess: 1 session created, 0 appended to, 1 unchanged, 0 failed
    ");
    assert_snapshot!(at_home(&s, "list --all").done(), @r"
    age  id        msgs    size  context     cost  name or first user message
    now  8425daf8    38   27 kB    ~1.6k  <$0.01+  An answer about kites
    now  ffa4bf65     4  3.9 kB      107   <$0.01  └─ ses_dd76f5923ffeAbz6ZwQadXqDKV: look around (@general subagent)
    ");

    // A crash leaves files that are not JSON.
    s.put(
        &format!("{STORAGE}/message/{PLAIN_ID}/msg_3.json"),
        "{\"id\":",
    );
    s.put(&format!("{STORAGE}/part/msg_22890a/prt_1.json"), "");
    assert_eq!(s.run(&format!("tree {stored}")), s.run("tree ./plain.json"));
}

#[cfg(unix)]
#[test]
fn a_session_in_the_database_is_exported_by_opencode() {
    let s = Sandbox::with(&["opencode/plain.json"]);
    let path = s.path("bin").to_str().unwrap().to_owned();
    let import = format!("import {PLAIN_ID}");
    assert_snapshot!(at_home(&s, &import).env("PATH", &path).done().fails(2), @"ses_dd76fb6b9ffe734iQ3VKsWIF0c: not found in the storage of OpenCode (hint: newer versions have a database: install `opencode` to read it, or import what `opencode export ses_dd76fb6b9ffe734iQ3VKsWIF0c` prints elsewhere)");
    assert_snapshot!(at_home(&s, "list --source opencode --all").done(), @"2> pisess: note: no sessions of OpenCode (hint: they are in ~/.local/share/opencode/storage/session, unless XDG_DATA_HOME is set; newer versions keep them in a database: `opencode session list` lists those, and `pisess import ID` reads one)");

    let plain = s.path("plain.json").to_str().unwrap().to_owned();
    s.script(
        "bin/opencode",
        &format!("#!/bin/sh\n[ \"$1 $2\" = 'export {PLAIN_ID}' ] && exec cat '{plain}'\nexit 1\n"),
    );
    assert_snapshot!(at_home(&s, &import).env("PATH", &path).done(), @"./.pi/agent/sessions/--home-user-kites--/2026-11-29T18-27-54-310Z_72d35e84-c267-52cc-889d-3d1d8425daf8.jsonl");
    assert_snapshot!(at_home(&s, &import).env("PATH", &path).done(), @"2> pisess: nothing to do");
    let tree = at_home(&s, &format!("tree {PLAIN_ID}"))
        .env("PATH", &path)
        .done()
        .quiet();
    assert_eq!(tree, s.run("tree ./plain.json"));
    assert_snapshot!(at_home(&s, "import ses_other").env("PATH", &path).done().fails(2), @r#"ses_other: running "~/bin/opencode export ses_other": exit status: 1 (hint: `opencode session list` lists the sessions of a directory)"#);
    // The export is a temporary file.
    assert_eq!(sessions(&s).len(), 1);
}

/// A command that copies lines refuses such a session, so nothing is exported for it.
#[cfg(unix)]
#[test]
fn nothing_is_exported_for_a_command_that_refuses_the_session() {
    let s = Sandbox::with(&["opencode/plain.json"]);
    let path = s.path("bin").to_str().unwrap().to_owned();
    let plain = s.path("plain.json").to_str().unwrap().to_owned();
    let seen = s.path("seen").to_str().unwrap().to_owned();
    s.script(
        "bin/opencode",
        &format!("#!/bin/sh\n: > '{seen}'\nexec cat '{plain}'\n"),
    );
    for line in [
        format!("redact {PLAIN_ID} -o ./x.jsonl"),
        format!("label {PLAIN_ID} @ here"),
    ] {
        let refused = at_home(&s, &line).env("PATH", &path).done().fails(2);
        assert!(
            refused.contains("no such file, and no session with that id or name"),
            "{refused}"
        );
    }
    assert!(!s.path("seen").exists());
}

/// Earlier versions kept all responses of a turn in one message.
#[test]
fn each_step_of_a_message_is_a_response() {
    let s = Sandbox::new();
    let mut export = export("plain");
    let messages = export["messages"].as_array_mut().unwrap();
    let first_call = messages
        .iter()
        .position(|message| message["info"]["finish"] == "tool-calls")
        .unwrap();
    messages.drain(..first_call - 1);
    messages.truncate(3);
    let second = messages.pop().unwrap();
    let steps = second["parts"].as_array().unwrap().clone();
    messages[1]["parts"].as_array_mut().unwrap().extend(steps);
    put_export(&s, "s.json", &export);
    assert_snapshot!(s.run("tree ./s.json"), @r"
    060f1d09  • user: run: echo two; echo three
    426ace25  • assistant: I run it.
    e97ff3df  • bash: echo two
    6ebe7625  • bash: echo three
    e161ba4c  • assistant: The results are there.  ← active
    ");
    assert_snapshot!(s.run("stats ./s.json"), @r"
    messages     5 (1 user, 2 assistant, 2 tool results)
    tools        2 calls, 0 failed
    input        80
    output       14
    cache read   120
    cache write  0
    tokens       214
    cost         $0.0001
    time         1s
    files        0
    ");
}

#[test]
fn a_document_on_one_line_is_read_too() {
    let s = Sandbox::new();
    put_export(&s, "plain.json", &export("plain"));
    s.put(
        "short.json",
        serde_json::to_string(&export("plain")).unwrap(),
    );
    assert_eq!(s.run("tree ./short.json"), s.run("tree ./plain.json"));
}

/// A response is paid for once, also if a fork has a copy of it.
/// Of the files that a tool attaches to its result, images are blocks of the result. The others are
/// kept beside it.
#[test]
fn files_attached_to_a_result_are_kept() {
    let mut session = export("plain");
    let messages = session["messages"].as_array_mut().unwrap();
    let mut parts = messages
        .iter_mut()
        .flat_map(|message| message["parts"].as_array_mut().unwrap());
    let call = parts.find(|part| part["type"] == "tool").unwrap();
    call["state"]["attachments"] = json!([
        {"type": "file", "mime": "image/png", "url": "data:image/png;base64,iVBORw0K"},
        {"type": "file", "mime": "application/pdf", "url": "data:application/pdf;base64,JVBERi0="},
    ]);
    let s = Sandbox::new();
    put_export(&s, "plain.json", &session);
    s.run("import -q ./plain.json -o ./imported.jsonl");
    let text = s.text("imported.jsonl");
    let result = text.lines().find(|line| line.contains("iVBORw0K")).unwrap();
    let result: Value = serde_json::from_str(result).unwrap();
    assert_eq!(result["message"]["content"][1]["data"], "iVBORw0K");
    let kept = &result["opencode"]["state"]["attachments"];
    assert_eq!(kept.as_array().unwrap().len(), 1, "{kept}");
    assert_eq!(kept[0]["mime"], "application/pdf");
}

#[test]
fn a_fork_has_copies_of_the_responses() {
    let s = Sandbox::with(&["opencode/plain.json", "opencode/fork.json"]);
    for name in ["plain", "fork"] {
        s.run(&format!("import -q ./{name}.json -o ./{name}.jsonl"));
    }
    let requests = |line: &str| {
        let stats: Value = serde_json::from_str(&s.run(line)).unwrap();
        stats["tokens"]["input"].as_f64().unwrap()
    };
    let plain = requests("stats --json ./plain.jsonl");
    // The turns after those that are in `plain`, too: one is not, because that was shortened.
    let both = requests("stats --json ./plain.jsonl ./fork.jsonl");
    let fork = requests("stats --json ./fork.jsonl");
    assert!(both < plain + fork, "{both} {plain} {fork}");
}

/// Damaged documents: cut at any place, and with other bytes.
#[test]
fn damaged_documents_are_refused_or_imported_as_far_as_they_are_whole() {
    let whole = fixture("opencode/compacted.json");
    let s = Sandbox::new();
    let try_import = |bytes: &[u8], what: &str| {
        s.put("s.json", bytes);
        let done = s.pisess("import -q --force ./s.json -o ./s.jsonl").done();
        assert!(done.code <= 2, "{what}: {done}");
        if done.code == 0 {
            let check = s.pisess("check -q ./s.jsonl").done();
            assert!(check.code <= 1, "{what}: {check}");
            assert!(!check.text().contains("error"), "{what}: {check}");
        }
    };
    for len in (0..whole.len()).step_by(61) {
        try_import(&whole[..len], &format!("cut at {len}"));
    }
    let replacements = *b"\"{}[]:,0 n\\\n\xff";
    for at in (0..whole.len()).step_by(53) {
        let mut changed = whole.clone();
        changed[at] = replacements[at % replacements.len()];
        try_import(&changed, &format!("changed at {at}"));
    }
    // Values of other types, at each place where a value begins.
    let text = String::from_utf8(whole).unwrap();
    for (number, (at, _)) in text.match_indices("\": ").enumerate() {
        let values = ["null", "[]", "{}", "7", "\"x\"", "true"];
        let value = values[number % values.len()];
        let rest = &text[at + 3..];
        let end = rest.find(['\n']).unwrap();
        let tail = if rest[..end].ends_with(',') { "," } else { "" };
        if rest.starts_with(['{', '[']) && !rest[..end].ends_with(['}', ']', ',']) {
            continue;
        }
        let changed = format!("{}{value}{tail}{}", &text[..at + 3], &rest[end..]);
        try_import(changed.as_bytes(), &format!("{value} at {at}"));
    }
}
