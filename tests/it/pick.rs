//! `pisess pick`: copies of entries under another entry.

use crate::sandbox::{Sandbox, fixture, session, user};
use insta::assert_snapshot;

fn entry(id: &str, parent: &str, rest: &str) -> String {
    let parent = if parent == "null" {
        parent.to_owned()
    } else {
        format!("{parent:?}")
    };
    format!(
        r#"{{"type":{rest},"id":"{id}","parentId":{parent},"timestamp":"2026-01-01T00:00:02.000Z"}}"#
    )
}

fn calls(id: &str, parent: &str, calls: &[&str]) -> String {
    let blocks: Vec<_> = calls
        .iter()
        .map(|call| {
            format!(r#"{{"type":"toolCall","id":"{call}","name":"read","arguments":{{"path":"{call}"}}}}"#)
        })
        .collect();
    entry(
        id,
        parent,
        &format!(
            r#""message","message":{{"role":"assistant","content":[{}],"stopReason":"toolUse"}}"#,
            blocks.join(",")
        ),
    )
}

fn result(id: &str, parent: &str, call: &str) -> String {
    entry(
        id,
        parent,
        &format!(
            r#""message","message":{{"role":"toolResult","toolCallId":"{call}","toolName":"read","content":[{{"type":"text","text":"{id}"}}]}}"#
        ),
    )
}

/// Two branches. One has an entry with two calls; the second call has two results.
fn with_tools() -> Sandbox {
    let s = Sandbox::new();
    s.put(
        "a.jsonl",
        session(&[
            &user("uuuu0001", None, "look"),
            &calls("cccc0001", "uuuu0001", &["c1", "c2"]),
            &result("rrrr0001", "cccc0001", "c1"),
            &result("rrrr0002", "rrrr0001", "c2"),
            &result("rrrr0003", "rrrr0001", "c2"),
            &calls("cccc0002", "rrrr0002", &["c2"]),
            &result("rrrr0004", "cccc0002", "c2"),
            &entry(
                "llll0001",
                "rrrr0004",
                r#""label","targetId":"rrrr0001","label":"first""#,
            ),
            &user("uuuu0002", Some("uuuu0001"), "elsewhere"),
        ]),
    );
    s
}

#[test]
fn a_finding_of_another_branch() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    assert_snapshot!(s.run("pick ./two-branches.jsonl 1a2b3c05 1a2b3c04 1a2b3c04"), @"
    226b1b5c
    27aa2424
    ");
    assert_snapshot!(s.run("tree ./two-branches.jsonl"), @"
    1a2b3c01  • [start] user: Which paper for a kite?
    1a2b3c02  • assistant: Tissue paper is light, washi is strong.
    1a2b3c04  ├─ user: Tissue paper then. How big?  (2 messages, 4mo)
    1a2b3c05  │  assistant: Half a metre; larger ones tear.
    1a2b3c06  • user: Washi then. How big?
    1a2b3c07  • assistant: A metre and more, with a bamboo spar.
    226b1b5c  • user: Tissue paper then. How big?
    27aa2424  • assistant: Half a metre; larger ones tear.  ← active
    ");
    assert_snapshot!(s.lines_from("two-branches.jsonl", 9), @r#"
    {"type":"message","id":"226b1b5c","parentId":"1a2b3c07","timestamp":"2026-05-04T12:00:00.000Z","message":{"role":"user","content":"Tissue paper then. How big?"}}
    {"type":"message","id":"27aa2424","parentId":"226b1b5c","timestamp":"2026-05-04T12:00:00.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Half a metre; larger ones tear."}],"stopReason":"stop"}}
    "#);
    assert!(
        s.bytes("two-branches.jsonl")
            .starts_with(&fixture("two-branches.jsonl"))
    );
}

#[test]
fn onto_another_entry() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    s.run("pick ./two-branches.jsonl @^ @ --at 1a2b3c05");
    assert_snapshot!(s.run("path ./two-branches.jsonl"), @"
     2  1a2b3c01  2026-01-01 00:00  [start] user: Which paper for a kite?
     3  1a2b3c02             00:00  assistant: Tissue paper is light, washi is strong.
     4  1a2b3c03             00:00  label: start
     5  1a2b3c04             00:00  user: Tissue paper then. How big?
     6  1a2b3c05             00:00  assistant: Half a metre; larger ones tear.
     9  226b1b5c  2026-05-04 12:00  user: Washi then. How big?
    10  27aa2424             12:00  assistant: A metre and more, with a bamboo spar.
    ");
    s.run("pick ./two-branches.jsonl start --at root");
    assert_snapshot!(s.run("path ./two-branches.jsonl"), @"11  b958585d  2026-05-04 12:00  user: Which paper for a kite?");
}

#[test]
fn a_call_and_its_results_come_together() {
    for picked in ["rrrr0001", "cccc0001"] {
        let s = with_tools();
        let done = s.pisess(&format!("pick ./a.jsonl {picked}")).done();
        assert_eq!(done.code, 0);
        assert_eq!(done.text().lines().count(), 3, "{picked}");
        assert_eq!(s.run("path ./a.jsonl").lines().count(), 5, "{picked}");
    }
    let s = with_tools();
    assert_snapshot!(s.pisess("pick ./a.jsonl rrrr0002").done(), @"
    226b1b5c
    27aa2424
    b958585d
    2> pisess: note: also copied cccc0001 rrrr0001: a tool call and its results are always copied together
    ");
    assert_snapshot!(s.run("tree ./a.jsonl --filter all"), @"
    uuuu0001  • user: look
    cccc0001  ├─ assistant: (calls read, read)  (6 messages, 4mo)
    rrrr0001  │  [first] read: c1
    rrrr0003  │  ├─ read: c2  (1 message, 4mo)
    rrrr0002  │  read: c2
    cccc0002  │  assistant: (calls read)
    rrrr0004  │  read: c2
    llll0001  │  label: first
    uuuu0002  • user: elsewhere
    226b1b5c  • assistant: (calls read, read)
    27aa2424  • read: c1
    b958585d  • read: c2  ← active
    ");
    // If a call has two results, the named one is copied.
    let s = with_tools();
    assert_snapshot!(s.pisess("pick ./a.jsonl cccc0001 rrrr0002 rrrr0001").done(), @"
    226b1b5c
    27aa2424
    b958585d
    ");
    let s = with_tools();
    assert_eq!(s.run("pick ./a.jsonl cccc0002 rrrr0004").lines().count(), 2);
    assert_eq!(s.pisess("pick -q ./a.jsonl cccc0002").done().stderr, "");
}

#[test]
fn labels_stay_where_they_are() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    s.run("pick ./two-branches.jsonl start 1a2b3c03 --at 1a2b3c05");
    assert_snapshot!(s.run("label ./two-branches.jsonl"), @"start  1a2b3c01  2026-01-01 00:00  user: Which paper for a kite?");
    assert_snapshot!(s.lines_from("two-branches.jsonl", 9), @r#"{"type":"message","id":"226b1b5c","parentId":"1a2b3c05","timestamp":"2026-05-04T12:00:00.000Z","message":{"role":"user","content":"Which paper for a kite?"}}"#);
    // A label still refers to one entry.
    assert_snapshot!(s.run("path ./two-branches.jsonl start"), @"2  1a2b3c01  2026-01-01 00:00  [start] user: Which paper for a kite?");
}

#[test]
fn copies_refer_to_the_other_copies() {
    let s = Sandbox::new();
    s.put(
        "a.jsonl",
        session(&[
            &user("uuuu0001", None, "one"),
            &user("uuuu0002", Some("uuuu0001"), "two"),
            &entry("llll0001", "uuuu0002", r#""label","targetId":"uuuu0001","label":"l""#),
            &user("uuuu0003", Some("llll0001"), "three"),
            &entry("eeee0001", "uuuu0003", r#""context_edit","targetId":"uuuu0003","replacement":null"#),
            &entry(
                "kkkk0001",
                "eeee0001",
                r#""compaction","summary":"to three","firstKeptEntryId":"uuuu0003","tokensBefore":1"#,
            ),
            &entry(
                "kkkk0002",
                "kkkk0001",
                r#""compaction","summary":"all","firstKeptEntryId":"kkkk0002","tokensBefore":1"#,
            ),
            &entry(
                "kkkk0003",
                "kkkk0002",
                r#""compaction","summary":"behind the label","firstKeptEntryId":"llll0001","tokensBefore":1"#,
            ),
            &entry("bbbb0001", "kkkk0003", r#""branch_summary","fromId":"uuuu0003","summary":"b""#),
            &user("uuuu0009", Some("uuuu0001"), "here"),
        ]),
    );
    s.run("pick ./a.jsonl uuuu0003 eeee0001 kkkk0001 kkkk0002 kkkk0003 bbbb0001");
    assert_snapshot!(s.lines_from("a.jsonl", 12), @r#"
    {"type":"message","id":"226b1b5c","parentId":"uuuu0009","timestamp":"2026-05-04T12:00:00.000Z","message":{"role":"user","content":"three"}}
    {"type":"context_edit","targetId":"226b1b5c","replacement":null,"id":"27aa2424","parentId":"226b1b5c","timestamp":"2026-05-04T12:00:00.000Z"}
    {"type":"compaction","summary":"to three","firstKeptEntryId":"226b1b5c","tokensBefore":1,"id":"b958585d","parentId":"27aa2424","timestamp":"2026-05-04T12:00:00.000Z"}
    {"type":"compaction","summary":"all","firstKeptEntryId":"95d82c0b","tokensBefore":1,"id":"95d82c0b","parentId":"b958585d","timestamp":"2026-05-04T12:00:00.000Z"}
    {"type":"compaction","summary":"behind the label","firstKeptEntryId":"226b1b5c","tokensBefore":1,"id":"cbc059f5","parentId":"95d82c0b","timestamp":"2026-05-04T12:00:00.000Z"}
    {"type":"branch_summary","fromId":"226b1b5c","summary":"b","id":"7438758a","parentId":"cbc059f5","timestamp":"2026-05-04T12:00:00.000Z"}
    "#);
    // References to entries above the destination are kept.
    s.run("pick ./a.jsonl eeee0001 kkkk0001 --at uuuu0003");
    assert_snapshot!(s.lines_from("a.jsonl", 18), @r#"
    {"type":"context_edit","targetId":"uuuu0003","replacement":null,"id":"1158ac1a","parentId":"uuuu0003","timestamp":"2026-05-04T12:00:00.000Z"}
    {"type":"compaction","summary":"to three","firstKeptEntryId":"uuuu0003","tokensBefore":1,"id":"c355b10a","parentId":"1158ac1a","timestamp":"2026-05-04T12:00:00.000Z"}
    "#);
}

#[test]
fn the_place_of_a_summary_of_oh_my_pi() {
    let s = Sandbox::new();
    s.put(
        "a.jsonl",
        session(&[
            r#"{"type":"mode_change","id":"mmmm0001","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","mode":"none"}"#,
            &user("uuuu0001", Some("mmmm0001"), "one"),
            &entry("bbbb0001", "uuuu0001", r#""branch_summary","fromId":"uuuu0001","summary":"b""#),
            &user("uuuu0002", Some("uuuu0001"), "here"),
        ]),
    );
    s.run("pick ./a.jsonl bbbb0001");
    assert_snapshot!(s.lines_from("a.jsonl", 6), @r#"{"type":"branch_summary","fromId":"uuuu0002","summary":"b","id":"226b1b5c","parentId":"uuuu0002","timestamp":"2026-05-04T12:00:00.000Z"}"#);
}

#[test]
fn refuses_entries_that_depend_on_unpicked_ones() {
    let s = with_tools();
    s.put(
        "b.jsonl",
        session(&[
            &user("uuuu0001", None, "one"),
            &entry(
                "eeee0001",
                "uuuu0001",
                r#""context_edit","targetId":"uuuu0001","replacement":null"#,
            ),
            &entry(
                "kkkk0001",
                "eeee0001",
                r#""compaction","summary":"s","firstKeptEntryId":"uuuu0001","tokensBefore":1"#,
            ),
            &result("rrrr0001", "kkkk0001", "gone"),
            &entry(
                "llll0001",
                "rrrr0001",
                r#""label","targetId":"uuuu0001","label":"l""#,
            ),
            &user("uuuu0002", None, "two"),
        ]),
    );
    let mut said = String::new();
    for line in [
        "pick ./b.jsonl root",
        "pick ./b.jsonl gone",
        "pick ./b.jsonl llll0001",
        "pick ./b.jsonl kkkk0001",
        "pick ./b.jsonl eeee0001",
        "pick ./b.jsonl rrrr0001",
        "pick ./a.jsonl rrrr0002 rrrr0003",
        "pick ./a.jsonl rrrr0002 --at gone",
        "pick ./a.jsonl",
    ] {
        said += &s.unchanged(line).fails(2);
        said.push('\n');
    }
    assert_snapshot!(said, @r#"
    ./b.jsonl: root is not an entry (hint: root is the position before the first entry; give an entry)
    ./b.jsonl: no entry or label "gone" (hint: `pisess tree --filter all` lists the ids)
    ./b.jsonl: llll0001 labels an entry that is not picked (hint: labels are not copied; label the copy with `pisess label`)
    ./b.jsonl: the compaction kkkk0001 keeps entries from uuuu0001 on, which is not picked (hint: pick the entries that it keeps, too, or merge the branch with `pisess merge`)
    ./b.jsonl: eeee0001 edits an entry that is not above the target (hint: pick the entry that it edits, too)
    ./b.jsonl: rrrr0001: its tool call is not above it
    ./a.jsonl: rrrr0002 and rrrr0003 answer the same tool call (hint: pick one of them)
    ./a.jsonl: no entry or label "gone" (hint: `pisess tree --filter all` lists the ids)
    the following required arguments were not provided: <REF>... (hint: `pisess branches` lists the branches, `pisess tree` all entries; ':/TEXT' names the newest entry that contains TEXT; see `pisess pick --help`)
    "#);
    // A label is not copied separately if its entry is copied, too.
    assert_eq!(s.run("pick ./b.jsonl llll0001 uuuu0001").lines().count(), 1);
    assert_eq!(s.run("path ./b.jsonl --ids").lines().count(), 2);
}

#[test]
fn in_pipes_and_on_paper() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    assert_snapshot!(s.unchanged("pick -n ./two-branches.jsonl 1a2b3c05"), @"
    would append 1 line to ./two-branches.jsonl
     size  id        type       content
    216 B  226b1b5c  assistant  Half a metre; larger ones tear.
    ");
    assert_snapshot!(s.run("pick --json ./two-branches.jsonl start -o ./new.jsonl"), @r#"{"path":"./new.jsonl","action":"create","dryRun":false,"written":[{"type":"message","id":"226b1b5c","parentId":"1a2b3c07","timestamp":"2026-05-04T12:00:00.000Z","message":{"role":"user","content":"Which paper for a kite?"}}],"editorText":null}"#);
    let done = s
        .pisess("pick - start")
        .stdin(fixture("two-branches.jsonl"))
        .done();
    assert_eq!((done.code, done.stderr.as_str()), (0, "226b1b5c\n"));
    assert!(done.stdout.starts_with(&fixture("two-branches.jsonl")));
}

#[test]
fn an_older_file_is_migrated_with_it() {
    for name in ["v1", "v2", "draft-tree"] {
        let s = Sandbox::with(&[&format!("{name}.jsonl")]);
        let migrated = s.run(&format!("migrate ./{name}.jsonl -o -"));
        s.unchanged(&format!("pick ./{name}.jsonl gone")).fails(2);
        s.run(&format!("pick ./{name}.jsonl '@^{{user}}'"));
        let text = s.text(&format!("{name}.jsonl"));
        let added = text.strip_prefix(&migrated).unwrap();
        assert_eq!(added.lines().count(), 1, "{name}");
    }
}

#[test]
fn a_note_stays_short() {
    let s = Sandbox::new();
    let ids: Vec<_> = (0..40).map(|at| format!("c{at}")).collect();
    let calls = calls(
        "cccc0001",
        "uuuu0001",
        &ids.iter().map(String::as_str).collect::<Vec<_>>(),
    );
    let results: Vec<_> = ids
        .iter()
        .map(|id| result(&format!("r{id}"), "cccc0001", id))
        .collect();
    let first = user("uuuu0001", None, "look");
    let lines = [first.as_str(), &calls]
        .into_iter()
        .chain(results.iter().map(String::as_str));
    s.put("a.jsonl", session(&lines.collect::<Vec<_>>()));
    let done = s.pisess("pick ./a.jsonl cccc0001").done();
    assert_eq!(done.text().lines().count(), 41);
    assert!(
        done.stderr.contains(" and 24 more: a tool call"),
        "{}",
        done.stderr
    );
    assert!(s.pisess("edit ./a.jsonl rc3 --omit").done().fails(2).len() < 400);
}

/// A session whose entries have ids of entries of [`with_tools`].
fn other_session() -> String {
    let lines = session(&[
        &user("uuuu0001", None, "why is tzdata needed?"),
        &calls("cccc0001", "uuuu0001", &["c1"]),
        &result("rrrr0001", "cccc0001", "c1"),
        &entry(
            "llll0001",
            "rrrr0001",
            r#""label","targetId":"uuuu0001","label":"tz""#,
        ),
        &user("aaaa0001", Some("llll0001"), "because of the clock"),
        &entry(
            "eeee0001",
            "aaaa0001",
            r#""context_edit","targetId":"uuuu0001","replacement":null"#,
        ),
    ]);
    String::from_utf8(lines).unwrap()
}

/// A branch of the other session that is not copied is not named in this one, even if an entry here
/// has its id.
#[test]
fn a_summary_from_another_session_names_no_entry_of_it() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let summary = r#"{"type":"branch_summary","id":"bbbb0001","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","fromId":"1a2b3c05","summary":"Tried."}"#;
    let from = r#"{"type":"message","id":"1a2b3c05","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"Other."}}"#;
    s.put("other.jsonl", session(&[from, summary]));
    s.run("pick ./two-branches.jsonl --from-session ./other.jsonl bbbb0001");
    let copy = s
        .text("two-branches.jsonl")
        .lines()
        .last()
        .unwrap()
        .to_owned();
    assert!(copy.contains(r#""fromId":"1a2b3c07""#), "{copy}");
}

#[test]
fn from_another_session() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    s.put("other.jsonl", other_session());
    let line = "pick ./two-branches.jsonl --from-session ./other.jsonl uuuu0001 aaaa0001";
    assert_eq!(s.unchanged(&format!("{line} -n")).text().lines().count(), 5);

    assert_snapshot!(s.pisess(line).done(), @"
    226b1b5c
    27aa2424
    ");
    assert_snapshot!(s.lines_from("two-branches.jsonl", 9), @r#"
    {"type":"message","id":"226b1b5c","parentId":"1a2b3c07","timestamp":"2026-05-04T12:00:00.000Z","message":{"role":"user","content":"why is tzdata needed?"}}
    {"type":"message","id":"27aa2424","parentId":"226b1b5c","timestamp":"2026-05-04T12:00:00.000Z","message":{"role":"user","content":"because of the clock"}}
    "#);
    assert_eq!(s.text("other.jsonl"), other_session());
    assert!(
        s.bytes("two-branches.jsonl")
            .starts_with(&fixture("two-branches.jsonl"))
    );
    let checked = s.pisess("check ./two-branches.jsonl").done();
    assert!(!checked.text().contains("error:"), "{checked}");

    // References are those of the other session, but --at is in the session that changes.
    s.run("pick ./two-branches.jsonl --from-session ./other.jsonl tz --at 1a2b3c05");
    s.run("pick ./two-branches.jsonl --from-session ./other.jsonl @^{user} --at root");
    assert_snapshot!(s.run("tree ./two-branches.jsonl --unfold"), @"
    1a2b3c01  ├─ [start] user: Which paper for a kite?  (9 messages, now)
    1a2b3c02  │  assistant: Tissue paper is light, washi is strong.
    1a2b3c06  │  ├─ user: Washi then. How big?  (4 messages, now)
    1a2b3c07  │  │  assistant: A metre and more, with a bamboo spar.
    226b1b5c  │  │  user: why is tzdata needed?
    27aa2424  │  │  user: because of the clock
    1a2b3c04  │  user: Tissue paper then. How big?
    1a2b3c05  │  assistant: Half a metre; larger ones tear.
    b958585d  │  user: why is tzdata needed?
    95d82c0b  • user: because of the clock  ← active
    ");

    let both_on_stdin = s.pisess("pick - --from - @").stdin(other_session()).done();
    assert_snapshot!(both_on_stdin.fails(2), @"standard input cannot be both sessions");
}

#[test]
fn what_cannot_be_copied_to_another_session() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    s.put("other.jsonl", other_session());
    let omp = other_session().replacen(
        r#"{"type":"session""#,
        &format!("{}\n{{\"type\":\"session\"", r#"{"type":"title","v":1,"title":"t","source":"user","updatedAt":"2026-01-01T00:00:00.000Z","pad":""}"#),
        1,
    );
    s.put("omp.jsonl", omp);
    let mut said = String::new();
    for line in [
        // The target of the edit has the id of an entry of the session that changes.
        "pick ./two-branches.jsonl --from-session ./other.jsonl eeee0001",
        "pick ./two-branches.jsonl --from-session ./other.jsonl 1a2b3c05",
        "pick ./two-branches.jsonl --from-session ./other.jsonl tz --at tz",
        "pick ./two-branches.jsonl --from-session ./omp.jsonl uuuu0001",
        "pick ./two-branches.jsonl --from-session ./gone.jsonl uuuu0001",
    ] {
        said += &s.unchanged(line).fails(2);
        said.push('\n');
    }
    assert_snapshot!(said, @r#"
    ./other.jsonl: eeee0001 edits an entry that is not above the target (hint: pick the entry that it edits, too)
    ./other.jsonl: no entry or label "1a2b3c05" (hint: `pisess tree --filter all` lists the ids)
    ./two-branches.jsonl: no entry or label "tz" (hint: `pisess tree --filter all` lists the ids)
    ./omp.jsonl: the entries are of oh-my-pi, the session is of pi (hint: convert one of the sessions with `pisess fork --branches --for AGENT`)
    cannot read ./gone.jsonl: no such file or directory (hint: check the path; sessions are below ~/.pi/agent/sessions and ~/.omp/agent/sessions)
    "#);
}

#[test]
fn a_range_copies_its_conversation() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    s.put("other.jsonl", other_session());
    let line = "pick ./two-branches.jsonl --from-session ./other.jsonl uuuu0001^..aaaa0001";
    assert_snapshot!(s.pisess(line).done(), @"
    226b1b5c
    27aa2424
    b958585d
    95d82c0b
    ");
    assert_snapshot!(s.run("path ./two-branches.jsonl 1a2b3c07.."), @"
     9  226b1b5c  2026-05-04 12:00  user: why is tzdata needed?
    10  27aa2424             12:00  assistant: (calls read)
    11  b958585d             12:00  read: c1
    12  95d82c0b             12:00  user: because of the clock
    ");
    // A range within the session.
    assert_eq!(
        s.run("pick ./two-branches.jsonl 1a2b3c02..1a2b3c05")
            .lines()
            .count(),
        2
    );
    let only_bookkeeping =
        s.pisess("pick ./two-branches.jsonl --from-session ./other.jsonl rrrr0001..llll0001");
    assert_snapshot!(only_bookkeeping.done().fails(1), @"./other.jsonl: rrrr0001..llll0001 contains only settings and bookkeeping (hint: `pisess path` lists them)");
}
