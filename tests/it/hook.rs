//! `--hook CMD` and `PISESS_HOOK`: an event on standard input, a reply on standard output.

use crate::sandbox::{Sandbox, fixture};
use insta::assert_snapshot;
use serde_json::{Value, json};

const TWO: &str = "two-branches.jsonl";

fn written(s: &Sandbox) -> Value {
    serde_json::from_str(s.lines_from(TWO, 9).lines().next().unwrap()).unwrap()
}

/// A hook that records every event, one per line, and replies with `answer`.
fn keeper(s: &Sandbox, answer: &str) -> String {
    let events = s.path("events").display().to_string();
    format!("cat >> {events}; echo {}", answer.replace('"', "\\\""))
}

/// Returns the events recorded since the last call.
fn heard(s: &Sandbox) -> Vec<Value> {
    let events = if s.path("events").exists() {
        s.text("events")
    } else {
        String::new()
    };
    s.put("events", "");
    events
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn keys(value: &Value) -> String {
    value
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn before_and_after_a_compaction() {
    let s = Sandbox::with(&[TWO]);
    let hook = keeper(&s, "");
    s.run(&format!(
        "compact ./{TWO} --first-kept 1a2b3c06 --instructions i --hook '{hook}'"
    ));
    let [before, after] = &heard(&s)[..] else {
        panic!("two events")
    };
    assert_snapshot!(keys(before), @"branchEntries ctx customInstructions model preparation previousCompactions reason type willRetry");
    assert_snapshot!(keys(&before["preparation"]), @"customInstructions fileOps firstKeptEntryId isSplitTurn messagesToSummarize previousCompactions previousSummary settings tokensBefore turnPrefixMessages");
    assert_eq!(before["type"], "session_before_compact");
    assert_eq!(before["preparation"]["firstKeptEntryId"], "1a2b3c06");
    assert_eq!(
        before["preparation"]["settings"],
        json!({"enabled": true, "reserveTokens": 16384, "keepRecentTokens": 20000})
    );
    let branch: Vec<_> = before["branchEntries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["id"].as_str().unwrap())
        .collect();
    assert_eq!(
        branch.join("\n") + "\n",
        s.run(&format!("path --ids ./{TWO} 1a2b3c07"))
    );
    assert_eq!(
        (&before["customInstructions"], &before["reason"]),
        (&json!("i"), &json!("manual"))
    );
    assert_eq!(before["ctx"]["leafId"], "1a2b3c07");
    assert_eq!(before["ctx"]["sessionFile"], "./two-branches.jsonl");
    assert_eq!(
        after["compactionEntry"],
        written(&s),
        "told of what is on disk"
    );
    let mut after = after.clone();
    after["compactionEntry"] = json!("…");
    assert_snapshot!(after, @r#"{"compactionEntry":"…","ctx":{"cwd":"/home/u/kites","leafId":"226b1b5c","sessionFile":"./two-branches.jsonl","sessionId":"019c0000-0000-7000-8000-00000000babe"},"fromExtension":false,"fromHook":false,"reason":"manual","type":"session_compact","willRetry":false}"#);
}

#[test]
fn a_compaction_at_a_threshold() {
    let s = Sandbox::with(&[TWO]);
    let hook = keeper(&s, r#"{"summary":"mine"}"#);
    let line = format!("compact -q ./{TWO} --first-kept none --hook '{hook}' --if-over");
    s.run(&format!("{line} 1000000"));
    assert_eq!(heard(&s), [] as [Value; 0], "nothing happens");
    s.run(&format!("{line} 1"));
    let told = heard(&s)
        .iter()
        .map(|event| event["reason"].clone())
        .collect::<Vec<_>>();
    assert_eq!(told, ["threshold", "threshold"]);
}

#[test]
fn before_and_after_a_move() {
    let s = Sandbox::with(&[TWO]);
    let hook = keeper(&s, r#"{"summary":{"summary":"mine"},"label":"kept"}"#);
    s.run(&format!("summarize ./{TWO} 1a2b3c05 --hook '{hook}'"));
    let [before, after] = &heard(&s)[..] else {
        panic!("two events")
    };
    assert_snapshot!(keys(before), @"ctx preparation type");
    assert_snapshot!(keys(&before["preparation"]), @"commonAncestorId customInstructions editorText entriesToSummarize label modifiedFiles newLeafId oldLeafId readFiles replaceInstructions targetId userWantsSummary");
    assert_eq!(before["type"], "session_before_tree");
    assert_eq!(before["preparation"]["targetId"], "1a2b3c05");
    assert_eq!(before["preparation"]["userWantsSummary"], true);
    assert_snapshot!(after, @r#"{"ctx":{"cwd":"/home/u/kites","leafId":"27aa2424","sessionFile":"./two-branches.jsonl","sessionId":"019c0000-0000-7000-8000-00000000babe"},"fromExtension":true,"fromHook":true,"newLeafId":"27aa2424","oldLeafId":"1a2b3c07","summaryEntry":{"details":{"modifiedFiles":[],"readFiles":[]},"fromHook":true,"fromId":"1a2b3c07","id":"226b1b5c","parentId":"1a2b3c05","summary":"mine","timestamp":"2026-05-04T12:00:00.000Z","type":"branch_summary"},"type":"session_tree"}"#);
}

#[test]
fn before_and_after_a_switch() {
    let s = Sandbox::with(&[TWO]);
    let hook = keeper(&s, "");
    s.run(&format!("switch ./{TWO} 1a2b3c05 --hook '{hook}'"));
    let [before, after] = &heard(&s)[..] else {
        panic!("two events")
    };
    assert_eq!(
        (&before["type"], &before["preparation"]["userWantsSummary"]),
        (&json!("session_before_tree"), &json!(false))
    );
    assert_snapshot!(after, @r#"{"ctx":{"cwd":"/home/u/kites","leafId":"226b1b5c","sessionFile":"./two-branches.jsonl","sessionId":"019c0000-0000-7000-8000-00000000babe"},"fromExtension":null,"fromHook":null,"newLeafId":"226b1b5c","oldLeafId":"1a2b3c07","summaryEntry":null,"type":"session_tree"}"#);
    s.run(&format!("switch -q ./{TWO} @ --hook '{hook}'"));
    s.run(&format!("switch -q ./{TWO} 1a2b3c05 --hook '{hook}'"));
    assert!(
        !heard(&s)
            .iter()
            .any(|event| event["type"] == "session_tree"),
        "nothing was written"
    );
}

#[test]
fn before_and_after_a_fork() {
    let s = Sandbox::with(&[TWO]);
    let hook = keeper(&s, "");
    s.pisess(&format!(
        "fork ./{TWO} @^{{user}} --before -o ./new.jsonl --hook '{hook}'"
    ))
    .done()
    .quiet();
    let [before, after] = &heard(&s)[..] else {
        panic!("two events")
    };
    assert_snapshot!(before, @r#"{"all":false,"alone":false,"ctx":{"cwd":"/home/u/kites","leafId":"1a2b3c07","sessionFile":"./two-branches.jsonl","sessionId":"019c0000-0000-7000-8000-00000000babe"},"entry":{"id":"1a2b3c06","message":{"content":"Washi then. How big?","role":"user"},"parentId":"1a2b3c03","timestamp":"2026-01-01T00:00:06.000Z","type":"message"},"entryId":"1a2b3c06","position":"before","subtree":false,"type":"session_before_fork"}"#);
    assert_snapshot!(after, @r#"{"ctx":{"cwd":"/home/u/kites","leafId":"27aa2424","sessionFile":"./new.jsonl","sessionId":"019df2dc-0a00-726b-9b5c-564f5be49767"},"previousSessionFile":"./two-branches.jsonl","type":"session_branch"}"#);
    s.run(&format!(
        "fork ./{TWO} root -o ./empty.jsonl --hook '{hook}'"
    ));
    let [before, after] = &heard(&s)[..] else {
        panic!("two events")
    };
    assert_eq!(
        (&before["entryId"], &before["entry"], &before["position"]),
        (&Value::Null, &Value::Null, &json!("at"))
    );
    assert_eq!(after["ctx"]["leafId"], Value::Null);
    s.run(&format!(
        "fork --branches ./{TWO} -o ./all.jsonl --hook '{hook}'"
    ));
    let [before, after] = &heard(&s)[..] else {
        panic!("two events")
    };
    assert_eq!(
        (&before["entryId"], &before["all"]),
        (&json!("1a2b3c07"), &json!(true))
    );
    assert_eq!(after["ctx"]["leafId"], "1a2b3c07");
}

#[test]
fn before_a_context() {
    let s = Sandbox::with(&[TWO]);
    let hook = keeper(&s, "");
    s.run(&format!("context ./{TWO} @^ --hook '{hook}'"));
    let [event] = &heard(&s)[..] else {
        panic!("one event")
    };
    assert_snapshot!(keys(event), @"branchEntries ctx messages type");
    assert_eq!(event["type"], "context");
    assert_eq!(event["messages"].as_array().unwrap().len(), 3);
    assert_eq!(
        event["branchEntries"].as_array().unwrap().last().unwrap()["id"],
        "1a2b3c06"
    );
}

#[test]
fn nothing_is_told_of_what_does_not_happen() {
    let s = Sandbox::with(&[TWO]);
    let hook = keeper(&s, "");
    for line in [
        "compact -n ./F --first-kept none",
        "summarize -n ./F 1a2b3c05",
        "summarize -n ./F 1a2b3c05 --summary given",
        "switch -n ./F 1a2b3c05",
        "pop -n ./F",
        "merge -n ./F 1a2b3c05",
        "fork -n ./F",
    ] {
        let line = line.replace("./F", &format!("./{TWO}"));
        s.run(&format!("{line} --hook '{hook}'"));
        let types: Vec<_> = heard(&s)
            .iter()
            .map(|event| event["type"].to_string())
            .collect();
        assert!(
            types.len() == 1 && types[0].contains("before"),
            "{line}: {types:?}"
        );
    }
    for line in [
        "compact ./F --first-kept none --prepare",
        "summarize ./F 1a2b3c05 --prompt",
        "context --tokens ./F",
    ] {
        let line = line.replace("./F", &format!("./{TWO}"));
        s.pisess(&line)
            .env("PISESS_HOOK", &hook)
            .done()
            .quiet_bytes();
        s.pisess(&format!("{line} --hook '{hook}'"))
            .done()
            .quiet_bytes();
        s.pisess(&format!("{line} --hook ''")).done().quiet_bytes();
        assert_eq!(heard(&s), [] as [Value; 0], "{line}");
    }
    assert_eq!(s.bytes(TWO), fixture(TWO));
}

/// An event is one line of JSON, whatever the session contains.
#[test]
fn events_of_hazards() {
    for name in crate::sandbox::hazards() {
        let s = Sandbox::with(&[&format!("hazards/{name}.jsonl")]);
        let hook = keeper(&s, r#"{"cancel":true}"#);
        let lines = [
            "context ./F",
            "fork ./F",
            "switch ./F root",
            "compact ./F --first-kept none",
        ];
        for line in lines.map(|line| line.replace("./F", &format!("./{name}.jsonl"))) {
            s.pisess(&format!("{line} --hook '{hook}'")).done();
        }
        assert!(
            s.bytes(&format!("{name}.jsonl")) == fixture(&format!("hazards/{name}.jsonl")),
            "{name}"
        );
        let events = if s.path("events").exists() {
            s.bytes("events")
        } else {
            Vec::new()
        };
        for event in String::from_utf8(events)
            .expect(&name)
            .split_terminator('\n')
        {
            let event = pisess::json::Raw::parse(event.as_bytes()).expect(&name);
            assert!(
                event.get_text("type").is_some() && event.get("ctx").is_some(),
                "{name}"
            );
        }
    }
}

/// The hook is notified even if nobody reads the output.
#[test]
fn a_hook_hears_when_nobody_else_does() {
    struct Closed;
    impl std::io::Write for Closed {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let s = Sandbox::with(&[TWO]);
    let hook = keeper(&s, "");
    let done = s
        .pisess(&format!(
            "compact ./{TWO} --first-kept none --hook '{hook}'"
        ))
        .into_writer(&mut Closed);
    assert_eq!(done.code, 0);
    assert_eq!(heard(&s).last().unwrap()["type"], "session_compact");
}

#[test]
fn a_result_in_a_pipe_has_no_file() {
    let s = Sandbox::with(&[TWO]);
    let hook = keeper(&s, "");
    for line in [
        "compact - --first-kept none --summary s",
        "summarize - 1a2b3c05",
        "fork -",
    ] {
        s.pisess(&format!("{line} --hook '{hook}'"))
            .stdin(fixture(TWO))
            .done();
        let files: Vec<_> = heard(&s)
            .into_iter()
            .map(|mut event| event["ctx"]["sessionFile"].take())
            .collect();
        assert_eq!(files, [Value::Null, Value::Null], "{line}");
    }
}

#[test]
fn the_environment_has_a_hook_for_every_command() {
    let s = Sandbox::with(&[TWO]);
    let (named, other) = (keeper(&s, ""), "echo nonsense");
    for line in [
        "compact ./F --first-kept none -n",
        "summarize ./F 1a2b3c05 -n",
        "switch ./F 1a2b3c05 -n",
        "pop ./F -n",
        "merge ./F 1a2b3c05 -n",
        "fork ./F -n",
        "context ./F",
    ] {
        let line = line.replace("./F", &format!("./{TWO}"));
        let with = |line: &str, hook: &str| s.pisess(line).env("PISESS_HOOK", hook).done();
        with(&line, &named).quiet_bytes();
        assert_eq!(heard(&s).len(), 1, "{line}");
        let said = with(&line, other).fails(2);
        assert_eq!(
            said,
            r#"./two-branches.jsonl: PISESS_HOOK "echo nonsense": its reply is not JSON; nothing was written (hint: --hook 'cat >&2' prints what it receives)"#,
            "{line}"
        );
        // The option takes precedence over the environment, and an empty value disables the hook.
        with(&format!("{line} --hook '{named}'"), other).quiet_bytes();
        assert_eq!(heard(&s).len(), 1, "{line}");
        with(&format!("{line} --hook ''"), other).quiet_bytes();
        with(&line, "").quiet_bytes();
    }
}

#[test]
fn a_hook_may_call_pisess() {
    let s = Sandbox::with(&[TWO]);
    let said = s
        .pisess(&format!("context ./{TWO}"))
        .env("PISESS_HOOK", "test -z \"${PISESS_HOOK+set}\"")
        .done();
    assert_eq!(
        (said.code, said.stderr.as_str()),
        (0, ""),
        "or it would call itself without an end"
    );
}

#[test]
fn no_answer_means_go_on() {
    for answer in [
        "true",
        "echo null",
        "echo {}",
        "echo {\\\"cancel\\\":false}",
    ] {
        let s = Sandbox::with(&[TWO]);
        s.run(&format!(
            "compact ./{TWO} --first-kept none --hook '{answer}'"
        ));
        let entry = written(&s);
        assert!(
            entry["summary"].as_str().unwrap().starts_with("## Goal"),
            "{answer}"
        );
        assert_eq!(entry["fromHook"], false, "{answer}");
    }
}

#[test]
fn a_hook_cancels() {
    let s = Sandbox::with(&[TWO, "v1.jsonl"]);
    for name in s.names() {
        for line in [
            "compact ./F --first-kept none",
            "compact ./F --first-kept none --summary given",
            "summarize ./F root",
            "summarize ./F root --summary given",
            "switch ./F root",
            "pop ./F",
            "fork ./F",
            "context ./F",
        ] {
            let line = line.replace("./F", &format!("./{name}"));
            let answer = r#"echo {\"cancel\":true}"#;
            let said = s.unchanged(&format!("{line} --hook '{answer}'")).fails(1);
            assert_eq!(
                said, "the hook cancelled the operation; nothing was written",
                "{line}"
            );
        }
    }
}

#[test]
fn a_hooks_summary_is_stored_as_it_is() {
    let s = Sandbox::with(&[TWO]);
    let answer = r#"{"compaction":{"summary":" mine ","firstKeptEntryId":"1a2b3c07","tokensBefore":5,"details":{"k":[1e5]},"usage":{"cost":{}}}}"#;
    s.run(&format!(
        "compact ./{TWO} --first-kept none --hook '{}'",
        keeper(&s, answer)
    ));
    assert_snapshot!(s.lines_from(TWO, 9), @r#"{"type":"compaction","id":"226b1b5c","parentId":"1a2b3c07","timestamp":"2026-05-04T12:00:00.000Z","summary":" mine ","firstKeptEntryId":"1a2b3c07","tokensBefore":5,"details":{"k":[1e5]},"usage":{"cost":{}},"fromHook":true}"#);
    let s = Sandbox::with(&[TWO]);
    let answer = r#"{"summary":{"summary":"mine"},"label":"kept"}"#;
    s.run(&format!(
        "summarize ./{TWO} 1a2b3c05 --hook '{}'",
        keeper(&s, answer)
    ));
    assert_snapshot!(s.lines_from(TWO, 9), @r#"
    {"type":"branch_summary","id":"226b1b5c","parentId":"1a2b3c05","timestamp":"2026-05-04T12:00:00.000Z","fromId":"1a2b3c07","summary":"mine","details":{"readFiles":[],"modifiedFiles":[]},"fromHook":true}
    {"type":"label","id":"27aa2424","parentId":"226b1b5c","timestamp":"2026-05-04T12:00:00.000Z","targetId":"226b1b5c","label":"kept"}
    "#);
}

/// pi stores the first kept entry of an extension unchecked.
#[test]
fn a_hook_may_keep_from_any_entry_of_the_path() {
    let kept = |file: &str, answer: &str| {
        let s = Sandbox::with(&[file]);
        let line = format!(
            "compact ./{file} --first-kept none --hook '{}'",
            keeper(&s, answer)
        );
        s.run(&line);
        let text = s.text(file);
        let entry: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        entry["firstKeptEntryId"].as_str().unwrap().to_owned()
    };
    // Also from the first entry, and from a result without its call.
    for id in ["1a2b3c01", "1a2b3c02", "1a2b3c03", "1a2b3c07"] {
        let answer = format!(r#"{{"compaction":{{"summary":"mine","firstKeptEntryId":"{id}"}}}}"#);
        assert_eq!(kept(TWO, &answer), id);
    }
    let result = last_result("tour.jsonl");
    let answer = format!(r#"{{"summary":"mine","firstKeptEntryId":"{result}"}}"#);
    assert_eq!(kept("tour.jsonl", &answer), result);
    let answer = format!(r#"{{"firstKeptEntryId":"{result}"}}"#);
    assert_eq!(kept("tour.jsonl", &answer), result);

    let refused = |answer: &str| {
        let s = Sandbox::with(&[TWO]);
        let hook = keeper(&s, answer);
        let line = format!("compact ./{TWO} --keep-recent-tokens 1 --hook '{hook}'");
        s.pisess(&line).done().fails(2)
    };
    for id in ["1a2b3c05", "nowhere"] {
        let said = refused(&format!(
            r#"{{"summary":"mine","firstKeptEntryId":"{id}"}}"#
        ));
        assert!(said.contains("is not on the path to the leaf"), "{said}");
        assert!(!said.contains("--first-kept"), "{said}");
    }
}

/// Returns the id of the last tool result on the path to the leaf.
fn last_result(name: &str) -> String {
    let s = Sandbox::with(&[name]);
    let path = s.run(&format!("path ./{name} --json"));
    let entries = path
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut results = entries.filter(|entry| entry["message"]["role"] == "toolResult");
    results.next_back().unwrap()["id"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// Nobody gave --first-kept, so no hint names it.
#[test]
fn a_hooks_cut_that_leaves_nothing_is_refused_as_the_hooks() {
    let s = Sandbox::with(&[TWO]);
    let hook = keeper(&s, r#"{"firstKeptEntryId":"1a2b3c01"}"#);
    let said = s
        .pisess(&format!(
            "compact ./{TWO} --keep-recent-tokens 1 --hook '{hook}'"
        ))
        .done()
        .fails(2);
    assert_eq!(s.bytes(TWO), fixture(TWO));
    assert!(
        said.contains("no message precedes its `firstKeptEntryId`: 1a2b3c01"),
        "{said}"
    );
    assert!(!said.contains("--first-kept"), "{said}");
}

#[test]
fn a_summary_that_is_given_stands_before_a_hooks() {
    for line in [
        "compact ./F --first-kept none --summary given",
        "summarize ./F 1a2b3c05 --summary given",
    ] {
        let s = Sandbox::with(&[TWO]);
        let hook = keeper(&s, r#"{"summary":"mine"}"#);
        s.run(&format!(
            "{} --hook '{hook}'",
            line.replace("./F", &format!("./{TWO}"))
        ));
        let entry = written(&s);
        assert_eq!(
            (&entry["summary"], &entry["fromHook"]),
            (&json!("given"), &json!(false)),
            "{line}"
        );
        assert_eq!(heard(&s)[1]["fromExtension"], false, "{line}");
    }
}

#[test]
fn oh_my_pi_notes_an_extension() {
    let s = Sandbox::with(&["omp.jsonl"]);
    let answer = r#"{"summary":"mine","usage":{"cost":{}}}"#;
    s.run(&format!(
        "compact ./omp.jsonl --first-kept none --hook '{}'",
        keeper(&s, answer)
    ));
    let entry: Value = serde_json::from_str(s.text("omp.jsonl").lines().last().unwrap()).unwrap();
    assert_eq!(
        (&entry["summary"], &entry["fromExtension"]),
        (&json!("mine"), &json!(true))
    );
    assert!(
        entry.get("fromHook").is_none() && entry.get("usage").is_none(),
        "{entry}"
    );
}

#[test]
fn a_hook_gives_instructions_to_the_summarizer() {
    let s = Sandbox::with(&[TWO]);
    let answer = r#"{"customInstructions":"Say it in one word.","replaceInstructions":true}"#;
    s.run(&format!(
        "summarize ./{TWO} 1a2b3c05 --hook '{}' --summarizer cat",
        keeper(&s, answer)
    ));
    let entry = written(&s);
    assert!(
        entry["summary"]
            .as_str()
            .unwrap()
            .ends_with("Say it in one word."),
        "{entry}"
    );
    assert_eq!(entry["fromHook"], false, "the text is the summarizer's");
}

#[test]
fn a_hook_gives_the_context_its_messages() {
    let s = Sandbox::with(&[TWO]);
    let hook = keeper(
        &s,
        r#"{"messages":[{"role":"user","content":"only this"}]}"#,
    );
    let context: Value =
        serde_json::from_str(&s.run(&format!("context ./{TWO} --hook '{hook}'"))).unwrap();
    assert_eq!(
        context["messages"].to_string(),
        r#"[{"content":"only this","role":"user"}]"#
    );
    assert_eq!(context["thinkingLevel"], "off");
}

#[test]
fn messages_that_the_agent_would_not_know() {
    let s = Sandbox::with(&[TWO, "omp.jsonl"]);
    s.put("events", "");
    let said = |name: &str, message: &str| {
        let answer = format!(r#"{{"messages":[{{"role":"user","content":[]}},{message}]}}"#);
        let hook = format!("echo {}", answer.replace('"', "\\\""));
        let done = s.unchanged(&format!("context ./{name} --hook '{hook}'"));
        (
            done.code,
            done.stderr
                .split_once("}: ")
                .map(|(_, said)| said.to_owned())
                .unwrap_or(done.stderr),
        )
    };
    for (message, what) in [
        (
            r#"{"role":"wizard","content":"x"}"#,
            r#"message 2 of its `messages`: unknown role "wizard"; nothing was written (hint: the roles of pi are user, "#,
        ),
        (
            r#"{"role":"developer","content":"x"}"#,
            r#"unknown role "developer""#,
        ),
        (
            r#"{"role":"assistant"}"#,
            "message 2 of its `messages`: `content` is missing",
        ),
        (
            r#"{"role":"assistant","content":5}"#,
            "`content` is neither a string nor an array of blocks",
        ),
        (
            r#"{"role":"user","content":[{"type":"text"}]}"#,
            "`content`: block 1: `text` is missing",
        ),
        (r#"{"role":"branchSummary"}"#, "`summary` is missing"),
    ] {
        let (code, said) = said(TWO, message);
        assert!(code == 2 && said.contains(what), "{message}: {said}");
    }
    for (name, message) in [
        (
            TWO,
            r#"{"role":"assistant","content":[{"type":"text","text":"x"}]}"#,
        ),
        (TWO, r#"{"role":"system","content":"x"}"#),
        (TWO, r#"{"role":"compactionSummary","summary":"s"}"#),
        ("omp.jsonl", r#"{"role":"developer","content":"x"}"#),
        ("omp.jsonl", r#"{"role":"hookMessage","content":"x"}"#),
    ] {
        assert_eq!(said(name, message), (0, String::new()), "{message}");
    }
}

/// A hook may send back what it received.
#[test]
fn messages_go_back_as_they_are() {
    for name in [
        "tour.jsonl",
        TWO,
        "omp.jsonl",
        "v1.jsonl",
        "draft-tree.jsonl",
    ] {
        let s = Sandbox::with(&[name]);
        s.put("event", "");
        let event = s.path("event").display().to_string();
        s.run(&format!("context -q ./{name} --hook 'cat > {event}'"));
        let event: Value = serde_json::from_slice(&s.bytes("event")).unwrap();
        s.put("answer", json!({"messages": event["messages"]}).to_string());
        let hook = format!("cat {}", s.path("answer").display());
        assert_eq!(
            s.pisess(&format!("context -q ./{name} --hook '{hook}'"))
                .done()
                .code,
            0,
            "{name}"
        );
    }
}

#[test]
fn a_hook_that_does_not_deliver() {
    let s = Sandbox::with(&[TWO]);
    for (command, what) in [
        ("false", "exit status: 1"),
        ("sleep 30", "no result within 0.2 s"),
        ("echo nonsense", "its reply is not JSON"),
        ("echo [1]", "its reply is not a JSON object"),
        (
            r#"echo {\"cancel\":\"no\"}"#,
            "its `cancel` is neither true nor false",
        ),
    ] {
        for line in [
            "compact ./F --first-kept none",
            "summarize ./F 1a2b3c05",
            "switch ./F 1a2b3c05",
            "pop ./F",
            "merge ./F 1a2b3c05",
            "fork ./F",
            "context ./F",
        ] {
            let line = line.replace("./F", &format!("./{TWO}"));
            // Short only where it must pass: on a busy machine, starting a shell takes longer than
            // that.
            let timeout = if command == "sleep 30" { "0.2" } else { "60" };
            let said = s
                .unchanged(&format!("{line} --timeout {timeout} --hook '{command}'"))
                .fails(2);
            assert!(
                said.starts_with("./two-branches.jsonl: --hook ") && said.contains(what),
                "{line}: {said}"
            );
        }
    }
    let gone = r#"echo {\"summary\":\"s\",\"firstKeptEntryId\":\"gone\"}"#;
    assert_snapshot!(s.unchanged(&format!("compact ./{TWO} --hook '{gone}' --first-kept none")).fails(2), @r#"./two-branches.jsonl: --hook "echo {\\\"summary\\\":\\\"s\\\",\\\"firstKeptEntryId\\\":\\\"gone\\\"}": its `firstKeptEntryId` is not on the path to the leaf: gone; nothing was written (hint: --hook 'cat >&2' prints what it receives)"#);
    let nameless = r#"printf %s {\"label\":\"a\\nb\"}"#;
    assert_snapshot!(s.unchanged(&format!("summarize ./{TWO} 1a2b3c05 --hook '{nameless}'")).fails(2), @r#"./two-branches.jsonl: --hook "printf %s {\\\"label\\\":\\\"a\\\\nb\\\"}": its `label` is not a valid label; nothing was written (hint: --hook 'cat >&2' prints what it receives)"#);
    assert_eq!(s.bytes(TWO), fixture(TWO));
}

#[test]
fn a_hook_that_fails_when_all_is_done() {
    for line in [
        "compact ./F --first-kept none",
        "summarize ./F 1a2b3c05",
        "switch ./F 1a2b3c05",
        "pop ./F",
        "merge ./F 1a2b3c05",
        "fork ./F -o ./new.jsonl",
    ] {
        let s = Sandbox::with(&[TWO]);
        let line = line.replace("./F", &format!("./{TWO}"));
        let hook = "grep -q _before_";
        let done = s.pisess(&format!("{line} --hook '{hook}'")).done();
        assert_eq!(done.code, 4, "{line}");
        let name = done
            .text()
            .lines()
            .next()
            .expect("the report is printed")
            .to_owned();
        assert_eq!(
            done.stderr,
            format!(
                "pisess: ./two-branches.jsonl: --hook \"grep -q _before_\": exit status: 1; the change is written: {name} (hint: do not repeat the command)\n"
            ),
            "{line}"
        );
        assert!(
            s.bytes(TWO) != fixture(TWO) || s.path("new.jsonl").exists(),
            "{line}"
        );
    }
}
