use super::*;
use crate::session::Problem;
use crate::session::defect::FindingKind;
use crate::session::entry::{Entry, Flags};
use pisess_json::Raw;
use proptest::prelude::*;

const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}"#;

fn message(id: &str, parent: &str) -> String {
    let parent = if parent.is_empty() {
        "null".to_owned()
    } else {
        format!("\"{parent}\"")
    };
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-01-01T00:00:01.000Z","message":{{"role":"user","content":"{id}"}}}}"#
    )
}

/// Returns a file with a header and these lines, each followed by a newline.
fn file(lines: &[&str]) -> Vec<u8> {
    let mut text = format!("{HEADER}\n");
    for line in lines {
        text += line;
        text.push('\n');
    }
    text.into_bytes()
}

/// Returns a file of messages with these ids and parents.
fn messages(entries: &[(&str, &str)]) -> Vec<u8> {
    let lines: Vec<_> = entries
        .iter()
        .map(|(id, parent)| message(id, parent))
        .collect();
    file(&lines.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Returns the severity, kind and line of each finding, with a star if the finding is repairable.
fn found(bytes: &[u8]) -> String {
    let bytes = bytes.to_vec();
    let checkup =
        check_session(&bytes, &LoadOptions::default(), &SessionLocation::default()).unwrap();
    let finding = |finding: &Finding| {
        let star = if finding.is_repairable() { "*" } else { "" };
        format!(
            "{}:{}:{}{star}",
            finding.line.0,
            finding.severity.name(),
            finding.kind.name()
        )
    };
    checkup
        .findings
        .iter()
        .map(finding)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Returns the repaired file and the rejected lines. Asserts the properties that every repair has.
fn repaired(bytes: &[u8]) -> (String, String) {
    let (file, rejected) = repaired_bytes(bytes);
    (
        String::from_utf8(file).unwrap(),
        String::from_utf8_lossy(&rejected).into_owned(),
    )
}

fn repaired_bytes(bytes: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let (once, rejected) = repaired_once(bytes);
    let again = check_session(&once, &LoadOptions::default(), &SessionLocation::default()).unwrap();
    assert!(!again.is_repairable(), "left: {:?}", &again.findings);
    let (twice, nothing) = repaired_once(&once);
    assert_eq!(twice, once);
    assert!(nothing.is_empty());
    (once, rejected)
}

fn repaired_once(bytes: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let bytes = bytes.to_vec();
    let checkup =
        check_session(&bytes, &LoadOptions::default(), &SessionLocation::default()).unwrap();
    let (mut file, mut rejected) = (Vec::new(), Vec::new());
    checkup.write_repaired(&mut file).unwrap();
    checkup.write_rejected(&mut rejected).unwrap();
    (file, rejected)
}

/// Returns `id<parent` of each entry of the repaired file.
fn tree(bytes: &[u8]) -> String {
    let (file, _) = repaired_bytes(bytes);
    let session = load(&file, &LoadOptions::default()).unwrap();
    let entry = |ix| {
        format!(
            "{}<{}",
            session.id(ix),
            session.parent_id(ix).unwrap_or_default()
        )
    };
    session
        .entry_indexes()
        .map(entry)
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn a_leaf_record_without_an_id_is_one_finding() {
    let record =
        r#"{"type":"leaf","parentId":"a","timestamp":"2026-01-01T00:00:01.000Z","targetId":"a"}"#;
    assert_eq!(
        found(&file(&[&message("a", ""), record])),
        "3:error:missing-id*"
    );
    let named = record.replace("\"parentId\"", "\"id\":\"l\",\"parentId\"");
    assert_eq!(
        found(&file(&[&message("a", ""), &named])),
        "3:note:leaf-record"
    );
}

#[test]
fn entries_that_nothing_links_are_a_warning() {
    let unlinked = |id: &str| message(id, "").replace("\"parentId\":null,", "");
    let roots: Vec<_> = (0..28).map(|at| message(&format!("e{at}"), "")).collect();
    let roots: Vec<_> = roots.iter().map(String::as_str).collect();
    assert_eq!(found(&file(&roots)), "3:warning:several-roots");
    assert_eq!(
        found(&file(&[&unlinked("a"), &unlinked("b")])),
        "3:warning:several-roots"
    );
    // A user who starts over.
    let again = [
        &message("a", ""),
        &message("b", "a"),
        &message("c", ""),
        &message("d", "c"),
    ];
    assert_eq!(
        found(&file(&again.map(String::as_str))),
        "4:note:several-roots"
    );
    assert_eq!(
        found(&file(&[&message("a", ""), &message("b", "")])),
        "3:note:several-roots"
    );
}

#[test]
fn bytes_that_agents_write_in_any_way_are_no_findings() {
    let odd = r#"{"type":"custom","id":"b","parentId":"a","timestamp":"2026-01-01T00:00:01.000Z","customType":"t","data":{"s":"\ud83d","n":1e400,"n":12345678901234567890,"__proto__":1,"u":"\u0000"}}"#;
    assert_eq!(found(&file(&[&message("a", ""), "", "  ", odd])), "");
    let crlf = file(&[&message("a", ""), &message("b", "a")]);
    let crlf = String::from_utf8(crlf).unwrap().replace('\n', "\r\n");
    assert_eq!(found(crlf.as_bytes()), "");
    let mixed = crlf.clone() + &message("c", "b") + "\n";
    assert_eq!(found(mixed.as_bytes()), "1:note:mixed-line-ends");
}

#[test]
fn fused_lines_come_apart() {
    let (a, b, c) = (message("a", ""), message("b", "a"), message("c", "b"));
    assert_eq!(
        found(&file(&[&format!("{a}{b}"), &c])),
        "2:error:fused-line*"
    );
    assert_eq!(
        repaired_bytes(&file(&[&format!("{a}{b}"), &c])),
        (file(&[&a, &b, &c]), Vec::new())
    );
    // An interrupted write, followed by the next one.
    let torn = &b[..60];
    let (mended, rejected) = repaired(&file(&[&a, &format!("{torn}{c}")]));
    assert_eq!(mended.as_bytes(), file(&[&a, &message("c", "a")]));
    assert_eq!(rejected, format!("{torn}\n"));
}

const HEADER_1: &str =
    r#"{"type":"session","id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}"#;

/// Returns a message of version 1.
fn message_1(text: &str) -> String {
    format!(
        r#"{{"type":"message","timestamp":"2026-01-01T00:00:01.000Z","message":{{"role":"user","content":"{text}"}}}}"#
    )
}

#[test]
fn fused_lines_of_version_1_come_apart() {
    let (a, b, c) = (message_1("a"), message_1("b"), message_1("c"));
    let compaction = r#"{"type":"compaction","timestamp":"2026-01-01T00:00:02.000Z","summary":"S","firstKeptEntryIndex":2,"tokensBefore":7}"#;
    let whole = format!("{HEADER_1}\n{a}\n{b}\n{compaction}\n{c}\n");
    for fused in [
        format!("{HEADER_1}\n{a}{b}\n{compaction}\n{c}\n"),
        format!("{HEADER_1}\n{a}\n{b}{compaction}\n{c}\n"),
        format!("{HEADER_1}\n{a}{b}\n{compaction}{c}\n"),
        format!("{HEADER_1}{a}\n{b}\n{compaction}\n{c}\n"),
        format!("{HEADER_1}\r{a}\r{b}\r{compaction}\r{c}\r"),
    ] {
        let (repaired, rejected) = repaired(fused.as_bytes());
        assert_eq!(
            (repaired, rejected),
            (whole.clone(), String::new()),
            "{fused}"
        );
    }
    // A write that was interrupted, and the next one.
    let torn = format!("{HEADER_1}\n{a}\n{}{b}\n{compaction}\n{c}\n", &c[..70]);
    assert_eq!(
        repaired(torn.as_bytes()),
        (whole, format!("{}\n", &c[..70]))
    );
}

/// Migration keeps a line that it cannot read. The repair gives the entries on the line their place
/// in the conversation.
#[test]
fn fused_lines_come_apart_after_migration() {
    let (a, b, c) = (message_1("a"), message_1("b"), message_1("c"));
    let hook = message_1("h").replace("user", "hookMessage");
    let compaction = r#"{"type":"compaction","timestamp":"2026-01-01T00:00:02.000Z","summary":"S","firstKeptEntryIndex":2,"tokensBefore":7}"#;
    for lines in [
        [
            a.clone(),
            b.clone(),
            hook.clone(),
            format!("{compaction}{c}"),
        ],
        [
            a.clone(),
            b.clone(),
            format!("{hook}{compaction}"),
            c.clone(),
        ],
    ] {
        let fused = format!("{HEADER_1}\n{}\n", lines.join("\n")).into_bytes();
        let session = load(&fused, &LoadOptions::default()).unwrap();
        let mut migrated = Vec::new();
        let change = crate::ops::plan::Change::default();
        change.write(&session, &fused, &mut migrated).unwrap();

        let (repaired, rejected) = repaired(&migrated);
        assert_eq!(rejected, "");
        let session = load(&repaired.clone().into_bytes(), &LoadOptions::default()).unwrap();
        assert_eq!(session.path(session.leaf).len(), 5, "{repaired}");
        let ids: Vec<_> = session
            .entry_indexes()
            .map(|ix| session.id(ix).to_string())
            .collect();
        let order = ["\"a\"", "\"b\"", "\"h\"", "\"S\"", "\"c\""];
        for (line, content) in repaired.lines().skip(1).zip(order) {
            assert!(line.contains(content), "{line}");
        }
        assert!(!repaired.contains("firstKeptEntryIndex"), "{repaired}");
        assert!(
            repaired.contains(&format!(r#""firstKeptEntryId":"{}""#, ids[1])),
            "{repaired}"
        );
        assert!(repaired.contains(r#""role":"custom""#), "{repaired}");
    }
}

/// Returns an entry with a message of this role.
fn says(id: &str, parent: &str, role: &str, rest: &str) -> String {
    let parent = if parent.is_empty() {
        "null".to_owned()
    } else {
        format!("\"{parent}\"")
    };
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-01-01T00:00:01.000Z","message":{{"role":"{role}",{rest}}}}}"#
    )
}

/// Returns a reply with tool calls that have these ids.
fn turn(id: &str, parent: &str, calls: &[&str]) -> String {
    let calls: Vec<_> = calls
        .iter()
        .map(|call| format!(r#"{{"type":"toolCall","id":"{call}","name":"t","arguments":{{}}}}"#))
        .collect();
    let rest = format!(
        r#""content":[{}],"api":"x","provider":"p","model":"m","usage":1,"stopReason":"toolUse""#,
        calls.join(",")
    );
    says(id, parent, "assistant", &rest)
}

/// Returns the result of a call.
fn result(id: &str, parent: &str, call: &str) -> String {
    let rest = format!(r#""toolCallId":"{call}","toolName":"t","isError":false,"content":[]"#);
    says(id, parent, "toolResult", &rest)
}

/// Returns a label on `a`.
fn label(id: &str, parent: &str) -> String {
    format!(
        r#"{{"type":"label","id":"{id}","parentId":"{parent}","timestamp":"2026-01-01T00:00:01.000Z","targetId":"a","label":"l"}}"#
    )
}

/// Returns the tree of the repaired file, after asserting the finding.
fn reordered(lines: &[String], findings: &str) -> String {
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    let bytes = file(&lines);
    assert_eq!(found(&bytes), findings);
    let (repaired, rejected) = repaired_bytes(&bytes);
    assert!(rejected.is_empty());
    let findings = found(&repaired);
    assert!(!findings.contains("message-before-result"), "{findings}");
    tree(&bytes)
}

#[test]
fn a_message_between_a_call_and_its_result_comes_after_it() {
    let (u, a) = (message("u", ""), turn("a", "u", &["c1"]));
    // Three entries get other parents.
    let lines = [
        u.clone(),
        a.clone(),
        message("m", "a"),
        result("r", "m", "c1"),
        message("b", "r"),
    ];
    assert_eq!(
        reordered(&lines, "4:error:message-before-result*"),
        "u< a<u m<r r<a b<m"
    );
    // Only those: every other line stays.
    let text = file(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    let (repaired, _) = repaired_bytes(&text);
    let old = String::from_utf8(text).unwrap();
    let new = String::from_utf8(repaired).unwrap();
    let differ = old.lines().zip(new.lines()).filter(|(old, new)| old != new);
    assert_eq!(differ.count(), 3);

    // Several messages, a label, and an extension's message.
    let custom = r#"{"type":"custom_message","id":"x","parentId":"m","timestamp":"2026-01-01T00:00:01.000Z","customType":"t","content":"x","display":true}"#;
    let lines = [
        u.clone(),
        a.clone(),
        message("m", "a"),
        custom.to_owned(),
        label("l", "x"),
        result("r", "l", "c1"),
        message("b", "r"),
    ];
    assert_eq!(
        reordered(&lines, "4:error:message-before-result*"),
        "u< a<u m<r x<m l<x r<a b<l"
    );

    // Several calls, one of which has its result already.
    let lines = [
        u.clone(),
        turn("a", "u", &["c1", "c2", "c3"]),
        result("r2", "a", "c2"),
        message("m", "r2"),
        result("r1", "m", "c1"),
        result("r3", "r1", "c3"),
        message("b", "r3"),
    ];
    assert_eq!(
        reordered(&lines, "5:error:message-before-result*"),
        "u< a<u r2<a m<r3 r1<r2 r3<r1 b<m"
    );

    // The message is a turn with a call of its own.
    let lines = [
        u.clone(),
        a.clone(),
        turn("b", "a", &["c2"]),
        result("r1", "b", "c1"),
        result("r2", "r1", "c2"),
    ];
    assert_eq!(
        reordered(&lines, "4:error:message-before-result*"),
        "u< a<u b<r1 r1<a r2<b"
    );
}

#[test]
fn a_result_at_the_leaf_moves_and_the_message_stays_the_last() {
    let lines = [
        message("u", ""),
        turn("a", "u", &["c1", "c2"]),
        message("m", "a"),
        result("r1", "m", "c1"),
        result("r2", "r1", "c2"),
    ];
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    let bytes = file(&lines);
    assert!(tree(&bytes).starts_with("u< a<u m<r2 r1<a r2<r1 "));
    let (repaired, _) = repaired_bytes(&bytes);
    let session = load(&repaired, &LoadOptions::default()).unwrap();
    let path: Vec<_> = session
        .path(session.leaf)
        .into_iter()
        .map(|ix| session.id(ix).to_string())
        .collect();
    assert_eq!(path[..5], ["u", "a", "r1", "r2", "m"]);
    assert_eq!(path.len(), 6);
    let mark = String::from_utf8(repaired).unwrap();
    let mark = mark.lines().last().unwrap();
    assert!(
        mark.contains(r#""customType":"pisess.switch","data":{"from":"r2","to":"m"}"#),
        "{mark}"
    );
}

#[test]
fn results_on_other_branches_move_too() {
    let (u, a) = (message("u", ""), turn("a", "u", &["c1"]));
    // Two branches below the result, and one below the message. The leaf is elsewhere.
    let lines = [
        u.clone(),
        a.clone(),
        message("m", "a"),
        result("r", "m", "c1"),
        message("b", "r"),
        message("c", "r"),
        message("d", "m"),
        message("e", "u"),
    ];
    assert_eq!(
        reordered(&lines, "4:warning:message-before-result*"),
        "u< a<u m<r r<a b<m c<m d<m e<u"
    );
    // Which of two results belongs there is not certain.
    let lines = [
        u.clone(),
        a.clone(),
        message("m", "a"),
        result("r", "m", "c1"),
        result("s", "m", "c1"),
    ];
    assert_eq!(reordered_not(&lines), "4:error:message-before-result");
    // A second result of a call does not move.
    let lines = [
        u,
        a,
        result("r", "a", "c1"),
        message("m", "r"),
        result("s", "m", "c1"),
    ];
    assert_eq!(reordered_not(&lines), "");
}

/// Returns the findings in a file. Asserts that a repair does not change the file.
fn reordered_not(lines: &[String]) -> String {
    let bytes = file(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(repaired_bytes(&bytes).0, bytes);
    found(&bytes)
}

#[test]
fn check_moves_only_visible_messages_behind_a_result() {
    let hidden = r#""command":"ls","output":"","cancelled":false,"truncated":false,"excludeFromContext":true"#;
    let lines = [
        message("u", ""),
        turn("a", "u", &["c1"]),
        label("l", "a"),
        says("s", "l", "system", r#""content":"x""#),
        says("h", "s", "bashExecution", hidden),
        result("r", "h", "c1"),
        message("b", "r"),
    ];
    assert_eq!(reordered_not(&lines), "");
    let shown = hidden.replace("true", "false");
    let lines = [
        message("u", ""),
        turn("a", "u", &["c1"]),
        says("h", "a", "bashExecution", &shown),
        result("r", "h", "c1"),
        message("b", "r"),
    ];
    assert_eq!(
        reordered(&lines, "4:error:message-before-result*"),
        "u< a<u h<r r<a b<h"
    );
}

/// The result is moved below its call, so the orphan after it follows the call at once. A second
/// repair would find nothing else: see [`repaired_bytes`].
#[test]
fn an_orphan_behind_a_result_whose_parent_comes_later_is_attached() {
    let lines = [
        message("u", ""),
        turn("a", "u", &["c1"]),
        result("r", "b", "c1"),
        message("o", "gone"),
        message("b", "a"),
    ];
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    let (bytes, _) = repaired_bytes(&file(&lines));
    let text = String::from_utf8(bytes).unwrap();
    assert!(!text.contains("gone"), "{text}");
}

/// The call of the result comes later, and is below an entry that does not continue the only end.
#[test]
fn an_orphan_behind_a_result_of_another_branch_stays_a_root() {
    let with_parents = |parent_of_call: &str| {
        let lines = [
            message("u", ""),
            turn("a", "u", &["c1"]),
            result("r", "b", "c1"),
            message("o", "gone"),
            message("x", parent_of_call),
            message("b", "x"),
        ];
        let lines: Vec<_> = lines.iter().map(String::as_str).collect();
        let (bytes, _) = repaired_bytes(&file(&lines));
        String::from_utf8(bytes).unwrap()
    };
    let other_branch = with_parents("u");
    assert!(other_branch.contains("gone"), "{other_branch}");
    let same_branch = with_parents("a");
    assert!(!same_branch.contains("gone"), "{same_branch}");
}

#[test]
fn a_result_without_a_call_has_no_repair() {
    let lines = [
        message("u", ""),
        turn("a", "u", &["c1"]),
        message("m", "u"),
        result("r", "m", "c1"),
        result("s", "r", "none"),
        message("b", "s"),
    ];
    assert_eq!(
        reordered_not(&lines),
        "5:warning:result-without-call 6:warning:result-without-call"
    );
    let bytes = file(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    let findings = check_session(&bytes, &LoadOptions::default(), &SessionLocation::default())
        .unwrap()
        .findings;
    let said: Vec<_> = findings
        .iter()
        .map(|finding| finding.message.as_str())
        .collect();
    assert_eq!(
        said,
        [
            r#"no tool call on the path to it has the id "c1", only one on line 3; there is no repair for it"#,
            r#"no tool call on the path to it has the id "none"; there is no repair for it"#
        ]
    );
}

/// In version 1, the order of the lines is that of the conversation, so the file cannot be
/// repaired. oh-my-pi itself moves the result when it builds a context.
#[test]
fn a_message_before_a_result_is_named_in_every_dialect() {
    let lines = [
        message("u", ""),
        turn("a", "u", &["c1"]),
        message("m", "a"),
        result("r", "m", "c1"),
        message("b", "r"),
    ];
    let text = |header: &str| format!("{header}\n{}\n", lines.join("\n")).into_bytes();
    assert_eq!(
        found(&text(HEADER_1)),
        "1:note:old-version 4:error:message-before-result"
    );
    let header_2 = HEADER.replace("\"version\":3", "\"version\":2");
    assert_eq!(
        found(&text(&header_2)),
        "1:note:old-version 4:error:message-before-result*"
    );
    assert_eq!(tree(&text(&header_2)), "u< a<u m<r r<a b<m");
    let omp = r#"{"type":"mode_change","id":"o","parentId":"b","timestamp":"2026-01-01T00:00:01.000Z","mode":"plan"}"#;
    let omp = [&text(HEADER)[..], omp.as_bytes(), b"\n"].concat();
    assert_eq!(found(&omp), "4:note:message-before-result*");
    assert_eq!(tree(&omp), "u< a<u m<r r<a b<m o<b");
}

#[test]
fn a_header_that_is_fused_opens_again() {
    let a = message("a", "");
    let bytes = format!("{HEADER}{a}\n").into_bytes();
    assert!(load(&bytes, &LoadOptions::default()).is_err());
    assert_eq!(found(&bytes), "1:error:fused-line*");
    assert_eq!(repaired_bytes(&bytes).0, file(&[&a]));
    let returns = format!("{HEADER}\r{a}\r").into_bytes();
    assert_eq!(found(&returns), "1:error:fused-line*");
    assert_eq!(repaired_bytes(&returns).0, file(&[&a]));
}

#[test]
fn children_of_an_unreadable_line_hang_where_it_hung() {
    let (a, b) = (message("a", ""), message("b", "a"));
    let torn = &message("x", "a")[..70];
    let bytes = file(&[&a, &b, torn, &message("c", "x"), &message("d", "c")]);
    assert_eq!(
        found(&bytes),
        "4:error:malformed-line* 5:warning:missing-parent*"
    );
    // Its parent can still be read: it is a, not the entry before it.
    assert_eq!(tree(&bytes), "a< b<a c<a d<c");
    // Nothing of it can be read: the parent is the entry before it.
    assert_eq!(
        tree(&file(&[
            &a,
            &b,
            "???",
            &message("c", "x"),
            &message("d", "x")
        ])),
        "a< b<a c<b d<b"
    );
    // Several unreadable lines in a row.
    let next = &message("y", "x")[..70];
    assert_eq!(tree(&file(&[&a, torn, next, &message("c", "y")])), "a< c<a");
    // The first of them began another conversation, so the child of the second does, too.
    let root = &message("x", "")[..70];
    assert_eq!(tree(&file(&[&a, root, next, &message("c", "y")])), "a< c<");
    assert_eq!(tree(&file(&[&a, root, &message("c", "x")])), "a< c<");
}

#[test]
fn a_missing_parent_is_repaired_where_one_fits() {
    let said = |bytes: &[u8]| -> Vec<String> {
        let checkup = check_session(
            &bytes.to_vec(),
            &LoadOptions::default(),
            &SessionLocation::default(),
        )
        .unwrap()
        .findings;
        checkup
            .into_iter()
            .map(|finding| format!("{} {}", finding.line.0, finding.message))
            .collect()
    };
    // All that precedes it ends in b; its sibling has the same parent again.
    let bytes = messages(&[("a", ""), ("b", "a"), ("c", "x"), ("d", "c"), ("e", "x")]);
    assert_eq!(
        found(&bytes),
        "4:warning:missing-parent* 6:warning:missing-parent*"
    );
    assert_eq!(tree(&bytes), "a< b<a c<b d<c e<b");
    // The leaf is e, so that all other entries are cut off from it, and c and d also from a and b.
    assert_eq!(
        said(&bytes),
        [
            r#"4 its parent "x" is not in the file; 2 entries are cut off"#,
            r#"6 its parent "x" is not in the file; 4 entries are cut off"#
        ]
    );
    // Where two entries are not continued, either may be the one that is missing.
    let bytes = messages(&[("a", ""), ("b", "a"), ("c", "a"), ("d", "x")]);
    assert_eq!(found(&bytes), "5:warning:missing-parent");
    assert_eq!(repaired_bytes(&bytes).0, bytes);
    // The first entry has none before it, and cuts off nothing.
    let bytes = messages(&[("a", "x"), ("b", "a")]);
    assert_eq!(said(&bytes), [r#"2 its parent "x" is not in the file"#]);
    assert_eq!(repaired_bytes(&bytes).0, bytes);
    // Its sibling is a root, too, even if the conversation ends before the sibling.
    let bytes = messages(&[("a", "x"), ("b", "a"), ("c", "x")]);
    assert_eq!(repaired_bytes(&bytes).0, bytes);
    // Each gap is closed in turn.
    let bytes = messages(&[("a", ""), ("c", "x"), ("e", "y")]);
    assert_eq!(tree(&bytes), "a< c<a e<c");
    assert_eq!(
        said(&bytes)[1],
        r#"4 its parent "y" is not in the file; 2 entries are cut off"#
    );
}

/// Returns the location of a file with this name. A new header gets the working directory `/p`.
fn place(name: &str) -> SessionLocation<'static> {
    SessionLocation {
        name: Some(name.to_owned()),
        find_cwd: Some(&|| {
            Some(FoundCwd {
                path: "/p".to_owned(),
                source: "the folder".to_owned(),
            })
        }),
    }
}

/// Returns the repaired file, and how its first finding is repaired.
fn with_header(bytes: &[u8], place: &SessionLocation) -> (String, String) {
    let bytes = bytes.to_vec();
    let checkup = check_session(&bytes, &LoadOptions::default(), place).unwrap();
    let mut repaired = Vec::new();
    checkup.write_repaired(&mut repaired).unwrap();
    let again = check_session(&repaired, &LoadOptions::default(), place).unwrap();
    assert!(!again.is_repairable(), "left: {:?}", &again.findings);
    assert_eq!(checkup.findings[0].kind, FindingKind::MissingHeader);
    let fix = checkup.findings[0].fix.clone().unwrap();
    (String::from_utf8(repaired).unwrap(), fix)
}

#[test]
fn a_missing_header_is_rebuilt() {
    let named = place("2026-03-14T09-26-53-589Z_3b9f6f1e");
    let entries = format!("{}\n{}\n", message("a", ""), message("b", "a"));
    let (repaired, fix) = with_header(entries.as_bytes(), &named);
    let header = r#"{"type":"session","version":3,"id":"3b9f6f1e","timestamp":"2026-03-14T09:26:53.589Z","cwd":"/p"}"#;
    assert_eq!(repaired, format!("{header}\n{entries}"));
    assert_eq!(
        fix,
        r#"it gets one: the id "3b9f6f1e" from the file's name, the time from the file's name, the directory "/p" from the folder"#
    );
    // Another name, and blank lines before the first entry.
    let blank = format!("\n\n{entries}");
    let (repaired, _) = with_header(blank.as_bytes(), &place("kept"));
    let header = r#"{"type":"session","version":3,"id":"kept","timestamp":"2026-01-01T00:00:01.000Z","cwd":"/p"}"#;
    assert_eq!(repaired, format!("\n\n{header}\n{entries}"));
    // Older formats.
    let old = entries.replace("user", "hookMessage");
    let (repaired, _) = with_header(old.as_bytes(), &named);
    assert!(
        repaired.starts_with(r#"{"type":"session","version":2,"#),
        "{repaired}"
    );
    let old = format!("{}\n{}{}\n", message_1("a"), message_1("b"), message_1("c"));
    let (repaired, _) = with_header(old.as_bytes(), &named);
    assert!(
        repaired.starts_with(r#"{"type":"session","id":"3b9f6f1e","#),
        "{repaired}"
    );
    assert_eq!(repaired.lines().count(), 4);
    // A header that comes later moves to the beginning.
    let late = format!("{}\n{HEADER}\n{}\n", message("a", ""), message("b", "a"));
    let (repaired, fix) = with_header(late.as_bytes(), &named);
    assert_eq!(repaired, format!("{HEADER}\n{entries}"));
    assert_eq!(fix, "line 2 moves there");
}

#[test]
fn check_adds_no_header_to_a_file_that_is_no_session() {
    let named = place("2026-03-14T09-26-53-589Z_x");
    let claude = r#"{"type":"user","uuid":"a","parentUuid":null,"message":{"role":"user"}}"#;
    let broken = format!("{{\n  \"type\": 1\n}}\n{}\n", message("a", ""));
    for text in [claude, "{}", "5", "garbage", "", &broken] {
        let bytes = text.as_bytes().to_vec();
        let checked = check_session(&bytes, &LoadOptions::default(), &named);
        assert!(checked.is_err(), "{text}");
    }
    // Nothing is known about a stream.
    let entries = message("a", "").into_bytes();
    assert!(
        check_session(
            &entries,
            &LoadOptions::default(),
            &SessionLocation::default()
        )
        .is_err()
    );
}

#[test]
fn a_header_that_does_not_match_the_name_is_noted() {
    let bytes = file(&[&message("a", "")]);
    for (name, findings) in [
        ("2026-03-14T09-26-53-589Z_s", 0),
        ("2026-03-14T09-26-53-589Z_t", 1),
        ("t", 0),
    ] {
        let checkup = check_session(&bytes, &LoadOptions::default(), &place(name)).unwrap();
        let kinds: Vec<_> = checkup
            .findings
            .iter()
            .map(|finding| finding.kind)
            .collect();
        assert_eq!(kinds, vec![FindingKind::HeaderId; findings], "{name}");
        assert!(!checkup.is_repairable());
    }
}

#[test]
fn a_byte_order_mark_goes() {
    let clean = file(&[&message("a", "")]);
    let bytes = [b"\xef\xbb\xbf", &clean[..]].concat();
    assert_eq!(found(&bytes), "1:error:byte-order-mark*");
    assert_eq!(repaired_bytes(&bytes), (clean, b"\xef\xbb\xbf\n".to_vec()));
}

/// A program that synchronizes files has appended the end of the file a second time.
#[test]
fn a_repeated_end_of_the_file_is_removed() {
    let entries = [("a", ""), ("b", "a"), ("c", "b")];
    let clean = messages(&entries);
    let repeated = messages(&[&entries[..], &entries[1..]].concat());
    assert_eq!(
        found(&repeated),
        "5:warning:repeated-line* 6:warning:repeated-line*"
    );
    let rejected = format!("{}\n{}\n", message("b", "a"), message("c", "b"));
    assert_eq!(repaired_bytes(&repeated), (clean, rejected.into_bytes()));

    // The conversation went on after it.
    let continued = messages(&[&entries[..], &entries[1..], &[("d", "c")]].concat());
    assert_eq!(tree(&continued), "a< b<a c<b d<c");
    // Only a part was appended again. The agents continue at its last entry, and a mark keeps that.
    let part = messages(&[&entries[..], &entries[1..2]].concat());
    let marked = tree(&part);
    assert!(marked.starts_with("a< b<a c<b "), "{marked}");
    assert!(marked.ends_with("<b"), "{marked}");
    // If one of the lines differs, none counts as repeated.
    let differing = messages(&[("a", ""), ("b", "a"), ("b", "a"), ("b", "")]);
    assert!(!found(&differing).contains("repeated-line"));
}

#[test]
fn entries_are_one_tree_again() {
    let at = r#""timestamp":"2026-01-01T00:00:01.000Z""#;
    let no_id = format!(r#"{{"type":"message",{at},"message":{{"role":"user","content":"x"}}}}"#);
    let number = format!(r#"{{"type":"custom","customType":"t","id":7,"parentId":"a",{at}}}"#);
    let child = format!(r#"{{"type":"custom","customType":"t","id":"c","parentId":7,{at}}}"#);
    let empty = format!(r#"{{"type":"message","id":"b","parentId":"a",{at},"message":null}}"#);
    let (a, c, z) = (message("a", ""), message("c", "b"), message("z", "a"));
    for (bytes, findings, links) in [
        (
            messages(&[("a", ""), ("b", "a"), ("b", ""), ("c", "b")]),
            "3:warning:duplicate-id* 4:note:several-roots",
            "a< b0d0870d<a b< c<b",
        ),
        // A line that was written twice goes.
        (
            messages(&[("a", ""), ("b", "a"), ("b", "a"), ("c", "b")]),
            "4:warning:repeated-line*",
            "a< b<a c<b",
        ),
        // Cycles on the path to the leaf, and off it.
        (
            messages(&[("a", ""), ("b", "b"), ("c", "b")]),
            "3:error:self-parent*",
            "a< b<a c<b",
        ),
        (
            messages(&[("a", ""), ("b", "c"), ("c", "b")]),
            "3:error:parent-cycle* 4:error:parent-cycle*",
            "a< b<a c<b",
        ),
        (
            messages(&[("x", "y"), ("y", "x"), ("a", "")]),
            "2:warning:parent-cycle* 3:warning:parent-cycle*",
            "x< y<x a<",
        ),
        // A duplicate that closes a cycle: the child stays with the earlier one.
        (
            messages(&[("a", ""), ("b", "a"), ("a", "b")]),
            "2:error:duplicate-id* 3:error:parent-cycle* 4:error:parent-cycle*",
            "53be4503< b<53be4503 a<b",
        ),
        // The previous entry descends from the cut one, through a parent later in the file.
        (
            messages(&[("f", "b"), ("b", "c"), ("c", "b")]),
            "2:note:forward-parent 3:error:parent-cycle* 4:error:parent-cycle*",
            "f<b b< c<b",
        ),
        // oh-my-pi takes a second header for the leaf, and writes the next entry below it.
        (
            file(&[&a, HEADER, &message("b", "s")]),
            "3:warning:second-header* 4:warning:missing-parent*",
            "a< b<a",
        ),
        (file(&[&a, "{}"]), "3:error:not-an-entry*", "a<"),
        (file(&[&a, &no_id]), "3:error:missing-id*", "a< b0d0870d<a"),
        (
            file(&[&a, &number, &child]),
            "3:warning:odd-id* 4:warning:odd-parent*",
            "a< b0d0870d<a c<b0d0870d",
        ),
        (
            file(&[&a, &z, &empty, &c]),
            "4:error:no-message* 5:warning:missing-parent*",
            "a< z<a c<a",
        ),
    ] {
        assert_eq!(found(&bytes), findings);
        assert_eq!(tree(&bytes), links);
    }
}

#[test]
fn the_title_line_gets_its_width() {
    let slot = |pad: usize| {
        let pad = " ".repeat(pad);
        format!(
            r#"{{"type":"title","v":1,"title":"T","updatedAt":"2026-01-01T00:00:00.000Z","pad":"{pad}"}}"#
        )
    };
    let right = 255 - slot(0).len();
    let with = |slot: &str| format!("{slot}\n{HEADER}\n{}\n", message("a", "")).into_bytes();
    assert_eq!(found(&with(&slot(right))), "");
    for wrong in [0, right + 10] {
        assert_eq!(found(&with(&slot(wrong))), "1:error:title-width*");
        assert_eq!(repaired_bytes(&with(&slot(wrong))).0, with(&slot(right)));
    }
    let long = slot(0).replace("\"T\"", &format!("\"{}\"", "T".repeat(300)));
    assert_eq!(found(&with(&long)), "1:error:title-width");
}

#[test]
fn invalid_utf8_becomes_what_the_agents_read() {
    let mut bytes = file(&[&message("a", "")]);
    let at = bytes.len() - 5;
    bytes[at] = 0xff;
    assert_eq!(found(&bytes), "2:warning:invalid-utf8*");
    let (file, rejected) = repaired_bytes(&bytes);
    assert!(String::from_utf8(file).unwrap().contains('\u{fffd}'));
    assert_eq!(rejected, bytes[HEADER.len() + 1..]);
}

#[test]
fn several_defects_of_one_line_are_mended_together() {
    let bytes = b"{\"type\":\"session\",\"version\":\"3\",\"id\":\"s\xff\"}\n";
    assert_eq!(found(bytes), "1:note:odd-version* 1:warning:invalid-utf8*");
    assert_eq!(
        repaired(bytes).0,
        "{\"type\":\"session\",\"version\":3,\"id\":\"s\u{fffd}\"}\n"
    );
    let slot = b"{\"type\":\"title\",\"v\":1,\"title\":\"\xff\",\"updatedAt\":\"\",\"pad\":\"\"}\n";
    let bytes = [slot, &file(&[])[..]].concat();
    assert_eq!(found(&bytes), "1:error:title-width* 1:error:invalid-utf8*");
    assert_eq!(repaired(&bytes).0.find('\n'), Some(255));
}

#[test]
fn version_one_keeps_its_numbers() {
    let bytes = concat!(
        "{\"type\":\"session\",\"id\":\"s\"}\n",
        "garbage\n",
        "5\n",
        "null\n",
        "{\"type\":\"message\",\"timestamp\":\"2026-01-01T00:00:01.000Z\",\"message\":{\"role\":\"user\",\"content\":\"x\"}}\n",
        "{\"type\":\"compaction\",\"timestamp\":\"2026-01-01T00:00:01.000Z\",\"summary\":\"x\",\"tokensBefore\":1,\"firstKeptEntryIndex\":2}\n",
    );
    assert_eq!(
        found(bytes.as_bytes()),
        "1:note:old-version 2:error:malformed-line* 3:warning:not-an-entry 4:warning:null-line*"
    );
    let (file, rejected) = repaired(bytes.as_bytes());
    assert_eq!(file, bytes.replace("garbage\n", "").replace("null\n", ""));
    assert_eq!(rejected, "garbage\nnull\n");
}

#[test]
fn check_finds_bad_summaries_kept_entries_and_tool_calls() {
    let entry = |kind: &str, id: &str, parent: &str, rest: &str| {
        format!(
            r#"{{"type":"{kind}","id":"{id}","parentId":"{parent}","timestamp":"2026-01-01T00:00:01.000Z",{rest}}}"#
        )
    };
    let bytes = file(&[
        &message("a", ""),
        &message("b", "a"),
        &message("side", "a"),
        &entry(
            "compaction",
            "c1",
            "b",
            r#""summary":" ","firstKeptEntryId":"side","tokensBefore":1"#,
        ),
        &entry(
            "compaction",
            "c2",
            "c1",
            r#""summary":"x","firstKeptEntryId":"c2","tokensBefore":1"#,
        ),
        &entry(
            "compaction",
            "c3",
            "c2",
            r#""summary":"x","firstKeptEntryId":"a","tokensBefore":1"#,
        ),
        &entry("branch_summary", "s", "c3", r#""fromId":"a""#),
        &entry(
            "message",
            "r",
            "s",
            r#""message":{"role":"toolResult","toolCallId":"none","toolName":"t","isError":false,"content":[]}"#,
        ),
        &entry(
            "message",
            "t",
            "r",
            r#""message":{"role":"assistant","content":[{"type":"toolCall","id":"open","name":"t","arguments":{}}],"api":"x","provider":"p","model":"m","usage":1,"stopReason":"toolUse"}"#,
        ),
        &message("end", "t"),
    ]);
    insta::assert_snapshot!(found(&bytes).replace(' ', "\n"), @r"
    5:warning:kept-entry-unknown
    5:warning:empty-summary
    8:warning:empty-summary
    9:warning:result-without-call
    10:note:call-without-result
    ");
}

#[test]
fn check_reports_missing_fields_that_agents_rely_on() {
    let line = |members: &str| {
        format!(r#"{{"id":"b","parentId":"a","timestamp":"2026-01-01T00:00:01.000Z",{members}}}"#)
    };
    let lacks = |members: &str| {
        let bytes = file(&[&message("a", ""), &line(members)]);
        let checkup =
            check_session(&bytes, &LoadOptions::default(), &SessionLocation::default()).unwrap();
        let findings = checkup
            .findings
            .iter()
            .filter(|finding| finding.kind == FindingKind::MissingField);
        findings
            .map(|finding| finding.message.clone())
            .collect::<Vec<_>>()
            .join(", ")
    };
    let answer = |usage: &str| {
        format!(
            r#""type":"message","message":{{"role":"assistant","content":[{{"type":"text","text":"x"}}],"api":"x","provider":"p","model":"m","stopReason":"later","usage":{usage}}}"#
        )
    };
    let counts = r#""input":1,"output":1,"cacheRead":0,"cacheWrite":0"#;
    let cases = [
        (
            r#""type":"custom""#.to_owned(),
            "custom: `customType` is missing",
        ),
        // The type of a value is not checked, and a newer agent may write other reasons.
        (answer(&format!(r#"{{{counts},"cost":{{"total":0}}}}"#)), ""),
        (
            answer(&format!(r#"{{{counts},"cost":{{}}}}"#)),
            "assistant message: `usage`: `cost`: `total` is missing",
        ),
        (answer("5"), ""),
        (r#""type":"usage""#.to_owned(), "usage: `kind` is missing"),
        // Either agent's form is complete.
        (
            r#""type":"model_change","provider":"p","modelId":"m""#.to_owned(),
            "",
        ),
        (r#""type":"model_change","model":"p/m""#.to_owned(), ""),
        (
            r#""type":"model_change","provider":"p""#.to_owned(),
            "model_change: `modelId` is missing",
        ),
        // Reported as other defects, or of the other agent.
        (
            r#""type":"message","message":{"role":"user"}"#.to_owned(),
            "",
        ),
        (r#""type":"mode_change","mode":"plan""#.to_owned(), ""),
        (r#""type":"hologram""#.to_owned(), ""),
    ];
    for (members, wanted) in cases {
        assert_eq!(lacks(&members), wanted, "{members}");
    }
}

#[test]
fn a_long_chain_of_defects_takes_no_longer_than_it_is() {
    let mut text = format!("{HEADER}\n");
    for at in 0..20_000 {
        text += &message(&format!("e{at}"), &format!("e{at}"));
        text.push('\n');
    }
    let bytes = text.into_bytes();
    let (file, _) = repaired_bytes(&bytes);
    let session = load(&file, &LoadOptions::default()).unwrap();
    assert_eq!(session.path(session.leaf).len(), 20_000);
}

/// Pieces of lines as crashes and careless edits leave them.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let id = "[a-e]";
    let whole = (id, "[a-f]?").prop_map(|(id, parent)| message(&id, &parent).into_bytes());
    let cut =
        (whole.clone(), 0..200_usize).prop_map(|(line, cut)| line[..cut.min(line.len())].to_vec());
    let tail =
        (whole.clone(), 0..200_usize).prop_map(|(line, cut)| line[cut.min(line.len())..].to_vec());
    let odd = prop::sample::select(vec![
        HEADER.as_bytes().to_vec(),
        b"null".to_vec(),
        b"{}".to_vec(),
        b"[1]".to_vec(),
        b"\xff\xfe".to_vec(),
        b"\0\0".to_vec(),
        b"\xef\xbb\xbf".to_vec(),
        b"\r".to_vec(),
        b"{\"type\":\"x\",\"id\":4,\"parentId\":4}".to_vec(),
        b"{\"type\":\"x\"}".to_vec(),
        b"{\"type\":\"x\",\"id\":\"\xff\",\"parentId\":\"a\"}".to_vec(),
        b"{\"type\":\"label\",\"id\":\"a\",\"id\":\"b\",\"parentId\":\"\\u0061\",\"targetId\":\"zz\",\"label\":\"l\"}"
            .to_vec(),
    ]);
    let bytes = prop::collection::vec(any::<u8>(), 0..20);
    prop_oneof![4 => whole, 2 => cut, 1 => tail, 2 => odd, 1 => bytes]
}

fn lines() -> impl Strategy<Value = Vec<u8>> {
    let end = prop_oneof![6 => Just("\n"), 2 => Just(""), 1 => Just("\r\n")];
    prop::collection::vec((piece(), end), 0..12).prop_map(|pieces| {
        pieces
            .into_iter()
            .flat_map(|(piece, end)| [piece, end.as_bytes().to_vec()].concat())
            .collect()
    })
}

/// The result on line 4 ends a branch only until the repair moves it up to its call.
#[test]
fn a_result_that_moves_is_no_end_of_the_conversation() {
    let lines = [
        turn("e0", "", &["e"]),
        message("e1", "e0"),
        result("e2", "e1", "e"),
        message("e3", "e1"),
        message("e4", "gone"),
    ];
    let bytes = file(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(tree(&bytes), "e0< e1<e2 e2<e0 e3<e1 e4<e3");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn anything_behind_a_header_can_be_repaired(
        tail in lines(),
        version in prop::sample::select(vec!["", "\"version\":2,", "\"version\":3,", "\"version\":\"3\","]),
    ) {
        let header = format!("{{\"type\":\"session\",{version}\"id\":\"s\"}}\n");
        let bytes = [header.as_bytes(), &tail].concat();
        let (file, rejected) = repaired_bytes(&bytes);
        // Every line still exists: unchanged, removed, with new ids and parents, or split.
        let (kept, out) = (String::from_utf8_lossy(&file), String::from_utf8_lossy(&rejected));
        for line in String::from_utf8_lossy(&bytes).lines().map(str::trim) {
            let is_spliced = Raw::parse(line.as_bytes()).is_ok_and(|value| value.is_object());
            let is_apart = found(&bytes).contains("fused-line");
            prop_assert!(is_spliced || is_apart || kept.contains(line) || out.contains(line), "{line:?} is gone");
        }
    }

    #[test]
    fn a_repair_of_turns_is_complete(
        entries in prop::collection::vec((0..4_usize, "[c-e]", 0..40_usize), 1..14),
        has_gaps in any::<bool>(),
    ) {
        let mut lines = Vec::new();
        for (at, (kind, call, parent)) in entries.iter().enumerate() {
            let id = format!("e{at}");
            // Mostly a chain.
            let parent = if *parent < at { *parent } else { at.saturating_sub(1) };
            let parent = match at {
                0 => String::new(),
                _ if has_gaps && at % 5 == 4 => "gone".to_owned(),
                _ => format!("e{parent}"),
            };
            lines.push(match kind {
                0 => message(&id, &parent),
                1 => turn(&id, &parent, &[call]),
                _ => result(&id, &parent, call),
            });
        }
        let bytes = file(&lines.iter().map(String::as_str).collect::<Vec<_>>());
        let (repaired, rejected) = repaired_bytes(&bytes);
        prop_assert!(rejected.is_empty());
        let session = load(&repaired, &LoadOptions::default()).unwrap();
        prop_assert!(session.entries.len() >= entries.len());
        let is_cycle = |problem: &Problem| problem.kind == FindingKind::ParentCycle;
        prop_assert!(!session.problems.iter().any(is_cycle));
        // The end of the conversation stays: everything on the path to the leaf is on it still.
        let before = load(&bytes, &LoadOptions::default()).unwrap();
        let path = session.path(session.leaf);
        let path_ids: Vec<_> = path.iter().map(|&ix| session.id(ix).to_string()).collect();
        for ix in before.path(before.leaf) {
            prop_assert!(path_ids.contains(&before.id(ix).to_string()));
        }
    }

    #[test]
    fn a_repair_loses_no_entry(ids in prop::collection::vec(("[a-e]", "[a-f]?"), 1..20)) {
        let entries: Vec<_> = ids.iter().map(|(id, parent)| message(id, parent)).collect();
        let bytes = file(&entries.iter().map(String::as_str).collect::<Vec<_>>());
        let (repaired, rejected) = repaired_bytes(&bytes);
        let session = load(&repaired, &LoadOptions::default()).unwrap();
        // Only a line that another line repeats is removed.
        let rejected = String::from_utf8(rejected).unwrap();
        for line in rejected.lines() {
            prop_assert!(entries.iter().filter(|entry| *entry == line).count() > 1);
        }
        let mut is_leaf_on_path = false;
        let leaf_id = ids.last().unwrap().0.as_str();
        for ix in session.path(session.leaf) {
            is_leaf_on_path |= session.id(ix) == *leaf_id;
        }
        prop_assert!(is_leaf_on_path);
        let is_mark = |entry: &&Entry| entry.flags.contains(Flags::MOVE_MARK);
        let marks = session.entries.iter().filter(is_mark).count();
        prop_assert_eq!(session.entries.len() - marks + rejected.lines().count(), entries.len());
        let is_expected = |problem: &Problem| problem.kind == FindingKind::MissingParent;
        prop_assert!(session.problems.iter().all(is_expected));
    }
}
