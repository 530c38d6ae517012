//! Each type of entry, both ways.

use super::*;
use crate::agents::pi::edits::ContextEdit;

fn to(line: &str, to: Dialect) -> String {
    String::from_utf8(convert_entry(line.as_bytes(), to, None, &BlobStore::default()).into_owned())
        .unwrap()
}

/// An entry with the common fields.
fn line(kind: &str, rest: &str) -> String {
    let rest = if rest.is_empty() {
        String::new()
    } else {
        format!(",{rest}")
    };
    format!(
        r#"{{"type":"{kind}","id":"a1","parentId":"a0","timestamp":"2026-01-01T00:00:00.000Z"{rest}}}"#
    )
}

fn message(rest: &str) -> String {
    line("message", &format!(r#""message":{{{rest},"timestamp":1}}"#))
}

/// Converts a line there and back, and returns it as the other agent has it.
fn there_and_back(from: Dialect, line: &str) -> String {
    let there = to(line, other_agent(from));
    assert!(Raw::parse(there.as_bytes()).is_ok(), "{there}");
    for key in ["id", "parentId", "timestamp"] {
        let value = |line: &str| {
            Raw::from_checked(line.as_bytes())
                .get(key)
                .map(|value| value.bytes().to_vec())
        };
        assert_eq!(value(&there), value(line), "{there}");
    }
    assert_eq!(to(&there, from), line, "there: {there}");
    there
}

fn kind(line: &str) -> String {
    let line = Raw::from_checked(line.as_bytes());
    let kept = line
        .get("customType")
        .filter(|kind| kind.is(KEPT_ENTRY_TYPE));
    kept.or(line.get("type"))
        .unwrap()
        .text()
        .unwrap()
        .to_string()
}

/// An attribution shows that a file is oh-my-pi's, so a copy for pi has none, under that name.
#[test]
fn an_attribution_does_not_make_the_copy_oh_my_pis() {
    let session = |lines: &[&str]| {
        let header = r#"{"type":"session","version":3,"id":"s","cwd":"/"}"#;
        let text = format!("{header}\n{}\n", lines.join("\n"));
        crate::load::load(&text.into_bytes(), &Default::default()).unwrap()
    };
    let typed = line(
        "message",
        r#""message":{"role":"user","content":"a","attribution":"user","timestamp":1}"#,
    );
    let sent = line(
        "custom_message",
        r#""customType":"x","content":"a","display":true,"attribution":"agent""#,
    );
    for entry in [typed, sent] {
        assert_eq!(session(&[&entry]).dialect, Dialect::OhMyPi, "{entry}");
        let there = there_and_back(Dialect::OhMyPi, &entry);
        assert_eq!(session(&[&there]).dialect, Dialect::Pi, "{there}");
        // The text is not there twice.
        assert_eq!(there.matches(r#""content":"a""#).count(), 1, "{there}");
        let model = line("model_change", r#""provider":"p","modelId":"m""#);
        assert_eq!(session(&[&model, &entry]).dialect, Dialect::Pi);
    }
}

#[test]
fn each_entry_comes_back_as_it_was() {
    use Dialect::{OhMyPi, Pi};
    let redacted =
        r#"{"type":"thinking","thinking":"[R]","thinkingSignature":"e","redacted":true}"#;
    let deferred = format!(r#""role":"assistant","content":[{redacted}],"stopReason":"deferred""#);
    let of_hook = r#""summary":"s","firstKeptEntryId":"a0","tokensBefore":1,"fromHook":true,"systemMessage":{}"#;
    let blob = r#""role":"user","content":[{"type":"image","data":"blob:sha256:00","mimeType":"image/png"}]"#;
    let python = r#""role":"pythonExecution","code":"1","output":"2","excludeFromContext":true"#;
    let blocks =
        r#"[{"type":"redactedThinking","data":"e"},{"type":"fallback","from":"a","to":"b"}]"#;
    let extended = r#""summary":"s","firstKeptEntryId":"a0","tokensBefore":1,"fromExtension":true,"preserveData":{"k":1}"#;
    let transient = r#""customType":"prewalk-plan","content":"y","display":true"#;
    for (from, entry, wanted) in [
        (Pi, message(&deferred), "message"),
        (
            Pi,
            line("model_change", r#""provider":"p","modelId":"m/n""#),
            "model_change",
        ),
        (Pi, line("compaction", of_hook), "compaction"),
        (
            Pi,
            line(
                "branch_summary",
                r#""fromId":"b9","summary":"s","fromHook":false"#,
            ),
            "branch_summary",
        ),
        (
            Pi,
            line(
                "branch_summary",
                r#""fromId":"a0","summary":"s","fromHook":false"#,
            ),
            "branch_summary",
        ),
        (
            Pi,
            line("session_info", r#""name":" My name ""#),
            "title_change",
        ),
        (
            OhMyPi,
            line(
                "title_change",
                r#""title":"T","source":"user","previousTitle":"S""#,
            ),
            "session_info",
        ),
        (
            Pi,
            message(r#""role":"bashExecution","command":"ls","output":"","fullOutputPath":"/x""#),
            "message",
        ),
        (
            Pi,
            message(r#""role":"system","content":"p","toolsAdded":[]"#),
            KEPT_ENTRY_TYPE,
        ),
        (
            Pi,
            line("never_seen", r#""a":[1,2.50,{"b":1e400}]"#),
            "never_seen",
        ),
        (OhMyPi, message(blob), "message"),
        (OhMyPi, message(python), KEPT_ENTRY_TYPE),
        (
            OhMyPi,
            message(r#""role":"hookMessage","customType":"x","content":"y","display":true"#),
            "message",
        ),
        (
            OhMyPi,
            message(&format!(
                r#""role":"assistant","content":{blocks},"stopReason":"stop""#
            )),
            "message",
        ),
        (
            OhMyPi,
            line("model_change", r#""model":"p/m","role":"smol""#),
            KEPT_ENTRY_TYPE,
        ),
        (
            OhMyPi,
            line("model_change", r#""model":"m""#),
            KEPT_ENTRY_TYPE,
        ),
        (
            OhMyPi,
            line("thinking_level_change", r#""thinkingLevel":null"#),
            "thinking_level_change",
        ),
        (
            OhMyPi,
            line("service_tier_change", r#""serviceTier":null"#),
            KEPT_ENTRY_TYPE,
        ),
        (OhMyPi, line("compaction", extended), "compaction"),
        (
            OhMyPi,
            line("branch_summary", r#""fromId":"a0","fromExtension":true"#),
            "branch_summary",
        ),
        (OhMyPi, line("custom_message", transient), KEPT_ENTRY_TYPE),
    ] {
        assert_eq!(kind(&there_and_back(from, &entry)), wanted, "{entry}");
    }
}

#[test]
fn an_edit_is_applied_to_the_entry_that_it_edits() {
    let entry_of = |line: &str, edit| {
        String::from_utf8(
            convert_entry(
                line.as_bytes(),
                Dialect::OhMyPi,
                Some(&edit),
                &BlobStore::default(),
            )
            .into_owned(),
        )
        .unwrap()
    };
    let answer = message(r#""role":"assistant","content":[],"stopReason":"stop""#);
    let omitted = entry_of(&answer, ContextEdit::Omit);
    assert_eq!(kind(&omitted), KEPT_ENTRY_TYPE);
    let replaced = entry_of(&answer, ContextEdit::Replace(Some(b"\"new\"".to_vec())));
    assert!(
        replaced.contains(r#""content":[{"type":"text","text":"new"}]"#),
        "{replaced}"
    );
    for converted in [omitted, replaced] {
        assert_eq!(to(&converted, Dialect::Pi), answer);
    }
}

/// Between two conversions references may change; the restored entry gets its id and parent from
/// the converted one.
#[test]
fn convert_back_keeps_changed_ids_and_parents() {
    let members =
        r#""summary":"s","firstKeptEntryId":"a0","preserveData":{"a":1},"fromExtension":true"#;
    let compaction = line("compaction", members);
    let moved = |line: &str| line.replace("\"a0\"", "\"b0\"").replace("\"a1\"", "\"b1\"");
    assert_eq!(
        to(&moved(&to(&compaction, Dialect::Pi)), Dialect::OhMyPi),
        moved(&compaction)
    );
    let there = to(&line("mode_change", r#""mode":"plan""#), Dialect::Pi);
    let moved = there.replacen(
        r#""parentId":"a0","timestamp""#,
        r#""parentId":null,"timestamp""#,
        2,
    );
    let back = to(&moved, Dialect::OhMyPi);
    assert!(
        back.contains("\"mode\":\"plan\"") && kind(&back) == "mode_change",
        "{back}"
    );
}

#[test]
fn a_forged_original_is_not_restored() {
    for original in [
        "null",
        "[]",
        "\"x\"",
        r#"{"type":"session","id":"x"}"#,
        r#"{"type":"title"}"#,
        "{}",
        r#"{"type":1}"#,
    ] {
        let forged = line(
            "custom",
            &format!(
                r#""customType":"{KEPT_ENTRY_TYPE}","data":{{"agent":"oh-my-pi","entry":{original}}}"#
            ),
        );
        assert_eq!(to(&forged, Dialect::OhMyPi), forged);
        let forged = line(
            "label",
            &format!(r#""pisess":{{"agent":"oh-my-pi","entry":{original}}}"#),
        );
        assert_eq!(to(&forged, Dialect::OhMyPi), forged);
    }
    for odd in [
        line("message", r#""message":null"#),
        line("message", r#""message":{"role":5,"content":{}}"#),
        line("model_change", ""),
        line("usage", ""),
        "{}".to_owned(),
        r#"{"type":"reset_boundary"}"#.to_owned(),
        r#"{"type":"title_change","title":[]}"#.to_owned(),
    ] {
        for dialect in Dialect::ALL {
            let there = to(&odd, dialect);
            assert!(
                Raw::parse(there.as_bytes()).is_ok_and(Raw::is_object),
                "{there}"
            );
        }
    }
}

#[test]
fn a_turn_without_content_gets_an_empty_one_for_oh_my_pi() {
    for missing in [
        r#""role":"assistant","content":null"#,
        r#""role":"assistant""#,
    ] {
        let there = there_and_back(Dialect::Pi, &message(missing));
        let message = Raw::from_checked(there.as_bytes()).get("message").unwrap();
        assert_eq!(
            message.get("content").map(Raw::bytes),
            Some(&b"[]"[..]),
            "{there}"
        );
    }
}
