//! `--hook CMD`: an event on standard input, an answer on standard output.

use crate::sandbox::{Sandbox, fixture};
use insta::assert_snapshot;
use serde_json::Value;

const TWO: &str = "two-branches.jsonl";

fn written(s: &Sandbox) -> Value {
    serde_json::from_str(s.lines_from(TWO, 9).lines().next().unwrap()).unwrap()
}

#[test]
fn the_events() {
    let s = Sandbox::with(&[TWO]);
    let event = |line: &str| -> Value {
        let seen = s.path("seen");
        s.pisess(&format!("{line} --hook 'cat > {}'", seen.display())).done();
        serde_json::from_slice(&s.bytes("seen")).unwrap()
    };
    let compact = event("compact -n ./two-branches.jsonl --first-kept 1a2b3c06 --instructions i");
    assert_eq!(compact["type"], "session_before_compact");
    assert_eq!(compact["preparation"]["firstKeptEntryId"], "1a2b3c06");
    assert_eq!(compact["customInstructions"], "i");
    let tree = event("summarize -n ./two-branches.jsonl 1a2b3c05 --label l");
    assert_eq!(tree["type"], "session_before_tree");
    assert_eq!(tree["preparation"]["targetId"], "1a2b3c05");
    assert_eq!(tree["preparation"]["label"], "l");
    let context = event("context ./two-branches.jsonl");
    assert_eq!(context["type"], "context");
    assert_eq!(context["messages"].as_array().unwrap().len(), 4);
}

#[test]
fn no_answer_means_go_on() {
    for answer in ["true", "echo null", "echo {}"] {
        let s = Sandbox::with(&[TWO]);
        s.run(&format!("compact ./{TWO} --first-kept none --hook '{answer}'"));
        let entry = written(&s);
        assert!(entry["summary"].as_str().unwrap().starts_with("## Goal"), "{answer}");
        assert!(entry.get("fromHook").is_none(), "{answer}");
    }
}

#[test]
fn a_hook_cancels() {
    let s = Sandbox::with(&[TWO, "v1.jsonl"]);
    for name in s.names() {
        for line in ["compact ./F --first-kept none", "summarize ./F root"] {
            let line = line.replace("./F", &format!("./{name}"));
            let answer = r#"echo {\"cancel\":true}"#;
            let said = s.unchanged(&format!("{line} --hook '{answer}'")).fails(1);
            assert_eq!(said, "the hook said cancel; nothing was written", "{line}");
        }
    }
}

#[test]
fn a_hooks_summary_is_stored_as_it_is() {
    let s = Sandbox::with(&[TWO]);
    let answer = r#"{"compaction":{"summary":" mine ","firstKeptEntryId":"1a2b3c07","details":{"k":[1e5]}}}"#;
    s.run(&format!("compact ./{TWO} --first-kept none --hook 'echo {}'", answer.replace('"', "\\\"")));
    assert_snapshot!(s.lines_from(TWO, 9), @r#"{"type":"compaction","id":"226b1b5c","parentId":"1a2b3c07","timestamp":"2026-05-04T12:00:00.000Z","summary":" mine ","firstKeptEntryId":"1a2b3c07","tokensBefore":31,"details":{"k":[1e5]},"fromHook":true}"#);
    let s = Sandbox::with(&[TWO]);
    let answer = r#"{"summary":{"summary":"mine"},"label":"kept"}"#;
    s.run(&format!("summarize ./{TWO} 1a2b3c05 --hook 'echo {}'", answer.replace('"', "\\\"")));
    assert_snapshot!(s.lines_from(TWO, 9), @r#"
    {"type":"branch_summary","id":"226b1b5c","parentId":"1a2b3c05","timestamp":"2026-05-04T12:00:00.000Z","fromId":"1a2b3c07","summary":"mine","details":{"readFiles":[],"modifiedFiles":[]},"fromHook":true}
    {"type":"label","id":"27aa2424","parentId":"226b1b5c","timestamp":"2026-05-04T12:00:00.000Z","targetId":"226b1b5c","label":"kept"}
    "#);
}

#[test]
fn oh_my_pi_notes_an_extension() {
    let s = Sandbox::with(&["omp.jsonl"]);
    let answer = r#"{\"summary\":\"mine\"}"#;
    s.run(&format!("compact ./omp.jsonl --first-kept none --hook 'echo {answer}'"));
    let entry: Value = serde_json::from_str(s.text("omp.jsonl").lines().last().unwrap()).unwrap();
    assert_eq!((&entry["summary"], &entry["fromExtension"]), (&Value::from("mine"), &Value::Bool(true)));
    assert!(entry.get("fromHook").is_none());
}

#[test]
fn a_hook_gives_instructions_to_the_summarizer() {
    let s = Sandbox::with(&[TWO]);
    let answer = r#"{\"customInstructions\":\"Say it in one word.\",\"replaceInstructions\":true}"#;
    s.run(&format!("summarize ./{TWO} 1a2b3c05 --hook 'echo {answer}' --summarizer cat"));
    let entry = written(&s);
    assert!(entry["summary"].as_str().unwrap().ends_with("Say it in one word."), "{entry}");
    assert!(entry.get("fromHook").is_none(), "the text is the summarizer's");
}

#[test]
fn a_hook_gives_the_context_its_messages() {
    let s = Sandbox::with(&[TWO]);
    let answer = r#"{\"messages\":[{\"role\":\"user\",\"content\":\"only this\"}]}"#;
    let context: Value =
        serde_json::from_str(&s.run(&format!("context ./{TWO} --hook 'echo {answer}'"))).unwrap();
    assert_eq!(context["messages"].to_string(), r#"[{"content":"only this","role":"user"}]"#);
    assert_eq!(context["thinkingLevel"], "off");
}

#[test]
fn a_hook_that_does_not_deliver() {
    let s = Sandbox::with(&[TWO]);
    for (command, what) in [
        ("false", "exit status: 1"),
        ("sleep 30", "no answer within 0.2 s"),
        ("echo nonsense", "its answer is no JSON"),
        ("echo [1]", "its answer is no JSON object"),
    ] {
        for line in ["compact ./F --first-kept none", "summarize ./F 1a2b3c05", "context ./F"] {
            let line = line.replace("./F", &format!("./{TWO}"));
            let said = s.unchanged(&format!("{line} --timeout 0.2 --hook '{command}'")).fails(2);
            assert!(said.starts_with("--hook ") && said.contains(what), "{line}: {said}");
        }
    }
    let gone = r#"echo {\"summary\":\"s\",\"firstKeptEntryId\":\"gone\"}"#;
    assert_snapshot!(s.unchanged(&format!("compact ./{TWO} --hook '{gone}' --first-kept none")).fails(2), @r#"./two-branches.jsonl: no entry or label "gone" (hint: list the ids with `pisess tree --filter all`)"#);
    assert_eq!(s.bytes(TWO), fixture(TWO));
}
