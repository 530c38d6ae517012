//! `--compacted`: what no branch needs above its last compaction leaves the session, and comes
//! back. That agents see the same before and after is tested with sessions of all shapes in
//! crates/core/src/ops/prune/tests.rs, and with the agents themselves in tests/interop/.

use crate::sandbox::{Sandbox, fixture, hazards, session, user};
use insta::assert_snapshot;

fn reply(id: &str, parent: &str, text: &str, cost: f64) -> String {
    format!(
        r#"{{"type":"message","id":"{id}","parentId":"{parent}","timestamp":"2026-01-01T00:00:02.000Z","message":{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}],"provider":"p","model":"m","stopReason":"stop","usage":{{"input":100,"output":10,"cacheRead":0,"cacheWrite":0,"totalTokens":110,"cost":{{"total":{cost}}}}}}}}}"#
    )
}

fn entry(id: &str, parent: &str, members: &str) -> String {
    format!(
        r#"{{{members},"id":"{id}","parentId":"{parent}","timestamp":"2026-01-01T00:00:03.000Z"}}"#
    )
}

fn compaction(id: &str, parent: &str, first: &str) -> String {
    entry(
        id,
        parent,
        &format!(
            r#""type":"compaction","summary":"S","firstKeptEntryId":"{first}","tokensBefore":9"#
        ),
    )
}

/// A session that was compacted twice, with a label, settings and a branch without a compaction.
pub fn compacted() -> Vec<u8> {
    session(&[
        user("aaaa0001", None, "shared"),
        entry(
            "aaaa0002",
            "aaaa0001",
            r#""type":"model_change","provider":"p","modelId":"old""#,
        ),
        user("aaaa0003", Some("aaaa0002"), "a forgotten question"),
        reply("aaaa0004", "aaaa0003", "a forgotten answer", 0.25),
        entry(
            "aaaa0005",
            "aaaa0004",
            r#""type":"label","targetId":"aaaa0003","label":"then""#,
        ),
        entry(
            "aaaa0006",
            "aaaa0005",
            r#""type":"model_change","provider":"p","modelId":"new""#,
        ),
        entry(
            "aaaa0007",
            "aaaa0006",
            r#""type":"thinking_level_change","thinkingLevel":"high""#,
        ),
        user("aaaa0008", Some("aaaa0007"), "kept by the first"),
        compaction("aaaa0009", "aaaa0008", "aaaa0008"),
        reply("aaaa0010", "aaaa0009", "before the second", 0.5),
        user("aaaa0011", Some("aaaa0010"), "kept by the second"),
        compaction("aaaa0012", "aaaa0011", "aaaa0011"),
        reply("aaaa0013", "aaaa0012", "now", 0.125),
        entry(
            "aaaa0014",
            "aaaa0013",
            r#""type":"label","targetId":"aaaa0004","label":"late""#,
        ),
        entry(
            "aaaa0015",
            "aaaa0014",
            r#""type":"label","targetId":"aaaa0013","label":"end""#,
        ),
        user("aaaa0016", Some("aaaa0001"), "another way"),
        user("aaaa0017", Some("aaaa0015"), "go on"),
    ])
}

fn made() -> Sandbox {
    let s = Sandbox::new();
    s.put("s.jsonl", compacted());
    s
}

#[test]
fn compacted_prunes_unneeded_entries_and_restore_returns_them() {
    let s = made();
    let context = s.pisess("context -q ./s.jsonl").done().text();
    let other = s.pisess("context -q ./s.jsonl aaaa0016").done().text();
    assert_snapshot!(s.unchanged("prune -n ./s.jsonl --compacted"), @"
      size  id        entry
     131 B  aaaa0002  model: old
     154 B  aaaa0003  user: a forgotten question
     332 B  aaaa0004  assistant: a forgotten answer
     130 B  aaaa0005  label: then
     131 B  aaaa0006  model: new
     151 B  aaaa0008  user: kept by the first
     159 B  aaaa0009  compaction: 9 tokens · S
    1.2 kB  total     7 entries
    7 entries; session 3.1 kB to 1.9 kB
    ");
    assert_snapshot!(s.pisess("prune ./s.jsonl --compacted").done(), @r"
    ./s.jsonl.pruned
    2> pisess: ./s.jsonl: 7 entries pruned, 1.2 kB; session 3.1 kB to 1.9 kB
    2> pisess: SESSION.pruned holds what was pruned (hint: --restore puts it back; --purge removes it for good)
    ");
    assert_snapshot!(s.pisess("tree -q ./s.jsonl").done().text(), @"
    … 7 entries pruned
    aaaa0001  • user: shared
    aaaa0016  ├─ user: another way  (1 message, 4mo)
    aaaa0010  • assistant: before the second
    aaaa0011  • user: kept by the second
    aaaa0012  • ── compaction: 9 tokens · S ──  (kept from aaaa0011)
    aaaa0013  • [end] assistant: now
    aaaa0017  • user: go on  ← active
    ");
    assert_eq!(s.pisess("context -q ./s.jsonl").done().text(), context);
    assert_eq!(
        s.pisess("context -q ./s.jsonl aaaa0016").done().text(),
        other
    );
    assert_snapshot!(s.pisess("label -q ./s.jsonl").done().text(), @"end  aaaa0013  2026-01-01 00:00  assistant: now");
    assert_snapshot!(s.pisess("check ./s.jsonl").done(), @"
    ./s.jsonl:4: note: it is older than its parent (4 entries, lines 4-5, 7, 11)
        the agents follow the parents, not the time
    2> pisess: 1 session checked: 0 errors, 0 warnings, 4 notes
    ");
    // Nothing more can be pruned.
    assert_snapshot!(s.pisess("prune ./s.jsonl --compacted").done(), @"2> pisess: ./s.jsonl: nothing above a compaction can be pruned");
    assert_snapshot!(s.pisess("prune ./s.jsonl --restore").done(), @"
    2> pisess: ./s.jsonl: 7 entries restored
    2> pisess: the file from before the prune is back: 3073 bytes, sha256 2a45531f9214b064311e01caf6d8c8543c0a526835a62a9f4c2fbf3592dd0370
    ");
    assert_eq!(s.bytes("s.jsonl"), compacted());
    assert_eq!(s.names(), ["s.jsonl"]);
}

#[test]
fn show_and_grep_pruned_find_compacted_entries() {
    let s = made();
    s.pisess("prune -q ./s.jsonl --compacted").done();
    assert_snapshot!(s.pisess("show ./s.jsonl aaaa0004").done(), @"
    aaaa0004  assistant · 2026-01-01 00:00 · [late]
      m · 100 in, 10 out · $0.25 · line 5 · parent aaaa0003
        a forgotten answer
    2> pisess: ./s.jsonl: shown as before it was pruned
    ");
    let json = s.pisess("show -q ./s.jsonl aaaa0004 --json").done().text();
    let line = String::from_utf8(compacted())
        .unwrap()
        .lines()
        .nth(4)
        .unwrap()
        .to_owned();
    assert_eq!(json.trim_end(), line);
    assert!(
        s.pisess("show ./s.jsonl ffff0000")
            .done()
            .stderr
            .contains("no entry or label")
    );
    assert_eq!(s.pisess("grep forgotten ./s.jsonl").done().code, 1);
    assert_snapshot!(s.pisess("grep --pruned forgotten ./s.jsonl").done().text(), @"
    aaaa0003:user: a forgotten question
    aaaa0004:assistant: a forgotten answer
    ");
    assert_snapshot!(s.pisess("grep --pruned -c e ./s.jsonl").done().text(), @"11");
    let around = s
        .pisess("grep --pruned -C 1 'forgotten answer' ./s.jsonl")
        .done()
        .text();
    assert!(around.contains("a forgotten question"), "{around}");
}

/// What was paid for stays paid; entries and messages are those of the file.
#[test]
fn sums_count_what_was_pruned() {
    let s = made();
    let row = |line: &str| -> serde_json::Value {
        serde_json::from_str(s.pisess(line).done().text().lines().next().unwrap()).unwrap()
    };
    let lines = [
        "list ./s.jsonl --json",
        "list --forks ./s.jsonl --json",
        "stats ./s.jsonl --json",
        "stats --by model --json ./s.jsonl",
    ];
    let before = lines.map(row);
    let rows = s.pisess("stats --by entry --json ./s.jsonl").done().text();
    s.pisess("prune -q ./s.jsonl --compacted").done();
    for (line, before) in lines.iter().zip(&before) {
        let after = row(line);
        for key in ["tokens", "cost", "unpriced"] {
            assert_eq!(after[key], before[key], "{line}: {key}");
        }
        assert_eq!(after["cost"], 0.875, "{line}");
        for key in ["messageCount", "messages", "entryCount"]
            .iter()
            .filter(|key| !before[**key].is_null())
        {
            assert!(
                after[*key].as_f64() < before[*key].as_f64(),
                "{line}: {key} {after}"
            );
        }
    }
    // Each request has a row; one that was pruned has no line.
    let after = s.pisess("stats --by entry --json ./s.jsonl").done().text();
    assert_eq!(after.lines().count(), rows.lines().count());
    let unlined = after
        .lines()
        .filter(|row| row.contains(r#""line":null"#))
        .count();
    assert_eq!(unlined, 1, "{after}");
    crate::agreement::agree(&s, "pruned");
    // The path to the leaf has all requests of this session.
    let trajectory = s.pisess("export --as atif -o - ./s.jsonl").done().text();
    let trajectory: serde_json::Value = serde_json::from_str(&trajectory).unwrap();
    assert_eq!(trajectory["final_metrics"]["total_cost_usd"], 0.875);
    assert_snapshot!(trajectory["notes"].as_str().unwrap(), @"final_metrics are without the steps that have is_copied_context, and with the requests that were pruned from the session.");
    // What is damaged is reported, and not counted.
    s.put("s.jsonl.pruned", "damaged");
    for line in [
        "list ./s.jsonl --json",
        "stats ./s.jsonl --json",
        "list . --json",
    ] {
        let done = s.pisess(line).done();
        assert!(done.text().contains("\"cost\":0.625"), "{line}: {done}");
        assert_eq!(
            (done.code, &*done.stderr),
            (
                0,
                "pisess: note: what was pruned is not counted: ./s.jsonl.pruned:1: the line is not a pruned payload\n"
            ),
            "{line}"
        );
    }
    for line in [
        "grep --pruned forgotten ./s.jsonl",
        "show ./s.jsonl aaaa0004",
    ] {
        let error = s.pisess(line).done().fails(2);
        assert_eq!(
            error, "./s.jsonl.pruned:1: the line is not a pruned payload",
            "{line}"
        );
    }
    // Details of a sub-agent's result that were pruned hold its usage.
    let task = user("aaaa0002", Some("aaaa0001"), "").replace(
        r#""role":"user","content":"""#,
        &format!(r#""role":"toolResult","toolCallId":"c","toolName":"task","content":[],"isError":false,"details":{{"text":"{}","usage":{{"input":7,"cost":{{"total":3}}}}}}"#, "x".repeat(2000)),
    );
    s.put("s.jsonl", session(&[user("aaaa0001", None, "a"), task]));
    s.put("s.jsonl.pruned", "");
    s.pisess("prune -q ./s.jsonl --over 1k").done();
    assert_eq!(row("list ./s.jsonl --json")["cost"], 3);
    assert_eq!(row("stats ./s.jsonl --json")["cost"], 3);
}

#[test]
fn pruning_again_adds_to_the_file() {
    let s = made();
    s.pisess("prune -q ./s.jsonl --compacted").done();
    let before = s.text("s.jsonl.pruned").lines().count();
    s.pisess("compact -q ./s.jsonl --first-kept none --summary more")
        .done();
    s.pisess("append -q ./s.jsonl --user then").done();
    s.pisess("prune -q ./s.jsonl --compacted").done();
    s.pisess("prune -q ./s.jsonl --branch aaaa0016").done();
    assert!(s.text("s.jsonl.pruned").lines().count() > before);
    let tree = s.pisess("tree -q ./s.jsonl").done().text();
    assert_snapshot!(tree, @"
    … 13 entries pruned
    aaaa0001  • user: shared
    aaaa0013  • [end] assistant: now
    226b1b5c  • ── compaction: 112 tokens · more ──
    27aa2424  • user: then  ← active
    ");
    let added = s.text("s.jsonl");
    let added: Vec<_> = added.lines().rev().take(2).collect();
    s.pisess("prune -q ./s.jsonl --restore").done();
    let restored = s.text("s.jsonl");
    let compacted = String::from_utf8(compacted()).unwrap();
    let rest: Vec<_> = restored
        .strip_prefix(&*compacted)
        .unwrap()
        .lines()
        .collect();
    assert_eq!(rest.len(), 2);
    assert_eq!(rest.last(), added.first());
}

/// Whatever a session is like, nothing is lost.
#[test]
fn every_session_is_restored() {
    let mut names: Vec<_> = hazards()
        .iter()
        .map(|name| format!("hazards/{name}.jsonl"))
        .collect();
    names.extend(
        ["tour", "omp", "omp-no-slot", "v1", "v2", "draft-tree"]
            .map(|name| format!("{name}.jsonl")),
    );
    for name in names {
        let s = Sandbox::with(&[&name]);
        let file = name.rsplit('/').next().unwrap();
        let done = s
            .pisess(&format!("prune -q --force ./{file} --compacted"))
            .done();
        assert!([0, 2].contains(&done.code), "{name}: {done}");
        let is_pruned = s.path(&format!("{file}.pruned")).exists();
        assert_eq!(s.bytes(file) == fixture(&name), !is_pruned, "{name}");
        if is_pruned {
            assert_eq!(
                s.pisess(&format!("prune -q ./{file} --restore"))
                    .done()
                    .code,
                0,
                "{name}"
            );
        }
        assert_eq!(s.bytes(file), fixture(&name), "{name}");
        assert_eq!(s.names(), [file]);
    }
}
