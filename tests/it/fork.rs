//! `pisess fork`: a new session from a path of another.

use crate::names::Desk;
use crate::sandbox::{Sandbox, fixture, session};
use insta::assert_snapshot;
use serde_json::Value;

#[test]
fn the_path_to_the_leaf() {
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
    assert_snapshot!(s.run("fork ./two-branches.jsonl"), @"./2026-05-04T12-00-00-000Z_019df2dc-0a00-726b-9b5c-564f5be49767.jsonl");
    assert_eq!(s.bytes("two-branches.jsonl"), fixture("two-branches.jsonl"));
    assert_eq!(s.names(), [NEW, "two-branches.jsonl"]);
    assert_snapshot!(s.text(NEW), @r#"
    {"type":"session","version":3,"id":"019df2dc-0a00-726b-9b5c-564f5be49767","timestamp":"2026-05-04T12:00:00.000Z","cwd":"/home/u/kites","parentSession":"./two-branches.jsonl"}
    {"type":"message","id":"1a2b3c01","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"Which paper for a kite?"}}
    {"type":"message","id":"1a2b3c02","parentId":"1a2b3c01","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Tissue paper is light, washi is strong."}],"stopReason":"stop"}}
    {"type":"message","id":"1a2b3c06","parentId":"1a2b3c02","timestamp":"2026-01-01T00:00:06.000Z","message":{"role":"user","content":"Washi then. How big?"}}
    {"type":"message","id":"1a2b3c07","parentId":"1a2b3c06","timestamp":"2026-01-01T00:00:07.000Z","message":{"role":"assistant","content":[{"type":"text","text":"A metre and more, with a bamboo spar."}],"stopReason":"stop"}}
    {"type":"label","id":"27aa2424","parentId":"1a2b3c07","timestamp":"2026-01-01T00:00:03.000Z","targetId":"1a2b3c01","label":"start"}
    "#);
    assert_snapshot!(s.run(&format!("tree ./{NEW} --filter all")), @"
    1a2b3c01  • [start] user: Which paper for a kite?
    1a2b3c02  • assistant: Tissue paper is light, washi is strong.
    1a2b3c06  • user: Washi then. How big?
    1a2b3c07  • assistant: A metre and more, with a bamboo spar.
    27aa2424  • label: start  ← active
    ");
}

/// The file name of every fork in these tests.
const NEW: &str = "2026-05-04T12-00-00-000Z_019df2dc-0a00-726b-9b5c-564f5be49767.jsonl";

#[test]
fn the_path_to_an_entry() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    s.run("fork ./two-branches.jsonl 1a2b3c05");
    assert_snapshot!(s.run(&format!("tree ./{NEW} --filter all")), @"
    1a2b3c01  • [start] user: Which paper for a kite?
    1a2b3c02  • assistant: Tissue paper is light, washi is strong.
    1a2b3c04  • user: Tissue paper then. How big?
    1a2b3c05  • assistant: Half a metre; larger ones tear.
    27aa2424  • label: start  ← active
    ");
}

#[test]
fn at_a_label_it_ends_before_it() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    s.run("fork ./two-branches.jsonl 1a2b3c03");
    assert_snapshot!(s.lines_from(NEW, 2), @r#"
    {"type":"message","id":"1a2b3c01","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"Which paper for a kite?"}}
    {"type":"message","id":"1a2b3c02","parentId":"1a2b3c01","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Tissue paper is light, washi is strong."}],"stopReason":"stop"}}
    {"type":"label","id":"27aa2424","parentId":"1a2b3c02","timestamp":"2026-01-01T00:00:03.000Z","targetId":"1a2b3c01","label":"start"}
    "#);
}

#[test]
fn at_root_it_is_a_header_alone() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    s.run("fork ./two-branches.jsonl root");
    assert_eq!(s.text(NEW).lines().count(), 1);
}

#[test]
fn before_a_user_message_gives_its_text() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    assert_snapshot!(s.run("fork --before ./two-branches.jsonl 1a2b3c04"), @"
    ./2026-05-04T12-00-00-000Z_019df2dc-0a00-726b-9b5c-564f5be49767.jsonl
    Tissue paper then. How big?
    ");
    assert_snapshot!(s.run(&format!("tree ./{NEW} --filter all")), @"
    1a2b3c01  • [start] user: Which paper for a kite?
    1a2b3c02  • assistant: Tissue paper is light, washi is strong.
    27aa2424  • label: start  ← active
    ");
    assert_snapshot!(s.run("fork --before --json ./two-branches.jsonl 1a2b3c04 -o ./other.jsonl"), @r#"{"path":"./other.jsonl","action":"create","dryRun":false,"written":[{"type":"session","version":3,"id":"019df2dc-0a00-726b-9b5c-564f5be49767","timestamp":"2026-05-04T12:00:00.000Z","cwd":"/home/u/kites","parentSession":"./two-branches.jsonl"},{"type":"message","id":"1a2b3c01","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"Which paper for a kite?"}},{"type":"message","id":"1a2b3c02","parentId":"1a2b3c01","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Tissue paper is light, washi is strong."}],"stopReason":"stop"}},{"type":"label","id":"27aa2424","parentId":"1a2b3c02","timestamp":"2026-01-01T00:00:03.000Z","targetId":"1a2b3c01","label":"start"}],"editorText":"Tissue paper then. How big?"}"#);
}

#[test]
fn before_a_root_message_it_is_a_header_alone() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    assert_snapshot!(s.run("fork --before ./two-branches.jsonl 1a2b3c01"), @"
    ./2026-05-04T12-00-00-000Z_019df2dc-0a00-726b-9b5c-564f5be49767.jsonl
    Which paper for a kite?
    ");
    assert_eq!(s.text(NEW).lines().count(), 1);
}

#[test]
fn before_takes_a_user_message() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    for reference in ["1a2b3c05", "root", "1a2b3c03"] {
        s.unchanged(&format!("fork --before ./two-branches.jsonl {reference}"))
            .fails(2);
    }
    assert_snapshot!(s.unchanged("fork --before ./two-branches.jsonl").fails(2), @"./two-branches.jsonl: @ is not a user message (hint: the nearest one is @^{user})");
}

#[test]
fn labels_keep_the_agents_order_and_times() {
    let s = Sandbox::with(&["tour.jsonl"]);
    s.run("fork ./tour.jsonl");
    let text = s.text(NEW);
    let labels: Vec<_> = text
        .lines()
        .filter(|line| line.contains("\"type\":\"label\""))
        .collect();
    assert_snapshot!(labels.join("\n"), @r#"
    {"type":"label","id":"27aa2424","parentId":"2f5dc03e","timestamp":"2026-03-14T09:28:37.589Z","targetId":"27d4c96f","label":"cause found"}
    {"type":"label","id":"b958585d","parentId":"27aa2424","timestamp":"2026-03-14T09:32:06.589Z","targetId":"648dc1b3","label":"green"}
    "#);
    assert!(text.ends_with(&format!("{}\n", labels.join("\n"))));
    assert_snapshot!(s.run(&format!("tree ./{NEW}")), @r#"
    0d9a6c31  • user: The 00:10 ferry shows up as "left 23 h ago" when I ask at 23:50. Can you find out why?
    c25f81e7  • assistant: I'll look for where the waiting time is computed.
    9e04b3d8  • grep: /fn departs_in/ in src
    e8830b5a  • read: src/clock.rs:35-64
    27d4c96f  • [cause found] assistant: `departs_in` subtracts minutes of the day, so across midnight the result is negative: 10 - 1430 = -1420 minutes, printed as "left 23 h ago". The timetable has no dates, only times.
    90f6a3e8  • branch summary: Make `departs_in` right across midnight.
    3de1b752  • user: Undo that, and take the nearer of the two: yesterday's or tomorrow's departure.
    c8a45f06  • assistant: So the result lies within half a day either way.
    1b72ce9d  • edit: src/clock.rs
    fa39d058  • bash: cargo test --quiet
    648dc1b3  • [green] assistant: All 14 tests pass, and at 23:50 the 00:10 ferry departs in 20 min.
    b5d60e41  • user: Good. Please add a test for exactly that evening.
    e19c4d07  • write: tests/midnight.rs
    42b8f65a  • assistant: `tests/midnight.rs` pins it down: asked at 23:50, the 00:10 ferry departs in 20 minutes.
    dc705e93  • ── compaction: 12.5k tokens · Make waiting times right across midnight in `ferry`. ──  (kept from b5d60e41)
    86e2a1fb  • user: Now a line for the changelog, for people who don't read code.
    2f5dc03e  • assistant: "Ferries after midnight no longer show as gone: asked at 23:50, the 00:10 departs in 20 minutes."  ← active
    "#);
}

#[test]
fn labels_in_an_oh_my_pi_file_get_the_time_of_the_fork() {
    let s = Sandbox::with(&["omp.jsonl"]);
    s.run("label ./omp.jsonl 2c3d4e5f start");
    s.pisess("fork ./omp.jsonl")
        .env("PISESS_NOW", "2026-05-05T00:00:00Z")
        .done()
        .quiet();
    let new = s
        .names()
        .into_iter()
        .find(|name| name.starts_with("2026-05-05"))
        .unwrap();
    assert_snapshot!(s.text(&new).lines().last().unwrap(), @r#"{"type":"label","id":"27aa2424","parentId":"d7e8f90a","timestamp":"2026-05-05T00:00:00.000Z","targetId":"2c3d4e5f","label":"start"}"#);
    let first = s.text(&new).lines().next().unwrap().to_owned();
    assert_eq!(first.len(), 255);
    assert_snapshot!(s.text(&new).lines().nth(1).unwrap(), @r#"{"type":"session","version":3,"id":"019df56f-3800-726b-9b5c-564f5be49767","timestamp":"2026-05-05T00:00:00.000Z","cwd":"/home/u/photos","title":"Photos by year","titleSource":"user","parentSession":"./omp.jsonl"}"#);
}

#[test]
fn chains_the_child_of_a_label_to_the_entry_above() {
    let s = Sandbox::with(&["hazards/label-as-parent.jsonl"]);
    s.run("fork ./label-as-parent.jsonl");
    assert_snapshot!(s.lines_from(NEW, 2), @r#"
    {"type":"message","id":"u0000001","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"one"}}
    {"type":"message","id":"a0000002","parentId":"u0000001","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"two"}],"api":"anthropic-messages","provider":"anthropic","model":"claude-opus-4-5","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop"}}
    {"type":"message","id":"u0000003","parentId":"a0000002","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"below the label"}}
    {"type":"message","id":"a0000004","parentId":"u0000003","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"four"}],"api":"anthropic-messages","provider":"anthropic","model":"claude-opus-4-5","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop"}}
    {"type":"label","id":"27aa2424","parentId":"a0000004","timestamp":"2026-01-01T00:00:05.000Z","targetId":"u0000001","label":"start"}
    "#);
}

#[test]
fn a_kept_label_becomes_the_entry_behind_it() {
    let s = Sandbox::with(&["hazards/kept-label.jsonl"]);
    let before = s.run("context ./kept-label.jsonl");
    s.run("fork ./kept-label.jsonl");
    assert_snapshot!(s.lines_from(NEW, 6), @r#"
    {"type":"compaction","id":"k0000005","parentId":"a0000004","timestamp":"2026-01-01T00:00:20.000Z","summary":"what was before","firstKeptEntryId":"u0000003","tokensBefore":1234}
    {"type":"message","id":"u0000006","parentId":"k0000005","timestamp":"2026-01-01T00:00:30.000Z","message":{"role":"user","content":"after"}}
    {"type":"label","id":"27aa2424","parentId":"u0000006","timestamp":"2026-01-01T00:00:05.000Z","targetId":"u0000001","label":"start"}
    "#);
    assert_eq!(s.run(&format!("context ./{NEW}")), before);
}

#[test]
fn all_of_it() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    s.run("fork --branches ./two-branches.jsonl");
    assert_eq!(s.lines_from(NEW, 2), s.lines_from("two-branches.jsonl", 2));
    assert_snapshot!(s.text(NEW).lines().next().unwrap(), @r#"{"type":"session","version":3,"id":"019df2dc-0a00-726b-9b5c-564f5be49767","timestamp":"2026-05-04T12:00:00.000Z","cwd":"/home/u/kites","parentSession":"./two-branches.jsonl"}"#);
}

#[test]
fn all_of_it_to_another_project() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    s.pisess("fork --branches --cwd /home/u/planes ./two-branches.jsonl")
        .without("HOME")
        .done()
        .quiet();
    assert_snapshot!(s.text(NEW).lines().next().unwrap(), @r#"{"type":"session","version":3,"id":"019df2dc-0a00-726b-9b5c-564f5be49767","timestamp":"2026-05-04T12:00:00.000Z","cwd":"/home/u/planes","parentSession":"./two-branches.jsonl"}"#);
    assert_eq!(s.lines_from(NEW, 2), s.lines_from("two-branches.jsonl", 2));
}

#[test]
fn to_another_project_in_the_agents_folders() {
    // The directory of the new project is beside that of the old one.
    let s = Sandbox::new();
    let home = s
        .path("")
        .to_str()
        .unwrap()
        .trim_end_matches('/')
        .to_owned();
    s.put(
        ".pi/agent/sessions/--home-u-kites--/a.jsonl",
        fixture("two-branches.jsonl"),
    );
    let store = "./.pi/agent/sessions";
    s.put("elsewhere/b.jsonl", fixture("two-branches.jsonl"));
    for (source, project) in [
        (&*format!("{store}/--home-u-kites--/a.jsonl"), "planes"),
        ("./elsewhere/b.jsonl", "boats"),
    ] {
        let run = |more: &str| {
            s.pisess(&format!(
                "fork --branches --cwd /home/u/{project} {source} {more}"
            ))
            .env("HOME", &home)
            .done()
        };
        let folder = s.path(&format!("{store}/--home-u-{project}--"));
        assert_eq!(run("-n").code, 0);
        assert!(!folder.exists());
        assert_eq!(
            run("").quiet(),
            format!("{store}/--home-u-{project}--/{NEW}\n")
        );
        // The directory is there now.
        let again = run("").fails(2);
        assert!(again.contains("already exists"), "{again}");
        assert!(folder.exists());
    }
    // Without a store, the fork is beside the original.
    s.put(
        "sessions/--home-u-kites--/a.jsonl",
        fixture("two-branches.jsonl"),
    );
    let line = "fork --branches --cwd /home/u/planes ./sessions/--home-u-kites--/a.jsonl";
    let said = s.pisess(line).without("HOME").done().quiet();
    assert_eq!(said, format!("./sessions/--home-u-kites--/{NEW}\n"));
}

#[test]
fn all_of_an_older_file_is_migrated() {
    for name in ["v1.jsonl", "v2.jsonl", "draft-tree.jsonl"] {
        let s = Sandbox::with(&[name]);
        s.run(&format!("fork --branches ./{name}"));
        let migrated = s.run(&format!("migrate ./{name} -o -"));
        let rest: String = migrated
            .lines()
            .skip(1)
            .map(|line| format!("{line}\n"))
            .collect();
        assert_eq!(s.lines_from(NEW, 2), rest, "{name}");
        assert_eq!(s.bytes(name), fixture(name), "{name}");
    }
}

#[test]
fn of_an_older_file_is_of_version_three() {
    let s = Sandbox::with(&["v1.jsonl"]);
    s.run("fork ./v1.jsonl");
    assert_snapshot!(s.run(&format!("tree ./{NEW} --filter all")), @"
    4c411fb5  • user: When should I sow carrots?
    c307e4fd  • assistant: From March on, when the soil is no longer cold.
    1858c9d3  • custom
    cb26a1f8  • user: And beans?
    ac4bd0d1  • assistant: Mid-May, after the last frost.
    c24d8cb7  • ── compaction: 1.9k tokens · Carrots from March, beans from mid-May. ──  (kept from cb26a1f8)
    80b80871  • thinking: medium
    f55275d5  • user: Make me a calendar.
    cebfaa52  • assistant: March: carrots. May: beans.  ← active
    ");
    assert_eq!(
        s.run(&format!("context ./{NEW}")),
        s.run("context ./v1.jsonl")
    );
    assert!(
        s.run(&format!("migrate --check ./{NEW}"))
            .contains("already version 3")
    );
}

#[test]
fn into_a_folder_or_file() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    std::fs::create_dir(s.path("new")).unwrap();
    assert_eq!(
        s.run("fork --dir ./new ./two-branches.jsonl"),
        format!("./new/{NEW}\n")
    );
    assert_eq!(
        s.run("fork -o ./mine.jsonl ./two-branches.jsonl"),
        "./mine.jsonl\n"
    );
    assert_eq!(s.text("mine.jsonl"), s.text(&format!("new/{NEW}")));
    let done = s.pisess("fork -o - ./two-branches.jsonl").done();
    assert_eq!((done.stderr.as_str(), done.code), ("", 0));
    assert_eq!(done.text(), s.text("mine.jsonl"));
    let done = s
        .pisess("fork -o - --before ./two-branches.jsonl 1a2b3c04")
        .done();
    assert_eq!(done.stderr, "Tissue paper then. How big?\n");
}

/// A path of 130 characters says little: a terminal gets the title, the id and the next command.
#[test]
fn reports_the_new_session_on_a_terminal() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let fork = |line: &str| s.pisess(line).at_home().terminal(80).done();
    // A file in no store has no id that finds it.
    let done = fork("fork ./two-branches.jsonl");
    assert_eq!(done.text(), format!("./{NEW}\n"));
    assert_snapshot!(done.stderr, @r"
    pisess: forked 5be49767: Which paper for a kite?
    pisess: `pisess resume ~/2026-05-04T12-00-00-000Z_019df2dc-0a00-726b-9b5c-564f5be49767.jsonl` continues it
    ");
    s.put(
        ".pi/agent/sessions/--home-u-kites--/a.jsonl",
        fixture("two-branches.jsonl"),
    );
    let done = fork("fork ./.pi/agent/sessions/--home-u-kites--/a.jsonl");
    assert_snapshot!(done.stderr, @r"
    pisess: forked 5be49767: Which paper for a kite?
    pisess: `pisess resume 5be49767` continues it
    ");
    for folder in ["new", "json", "quiet"] {
        std::fs::create_dir(s.path(folder)).unwrap();
    }
    for line in [
        "fork -n --dir ./new ./two-branches.jsonl",
        "fork --json --dir ./json ./two-branches.jsonl",
        "fork -q --dir ./quiet ./two-branches.jsonl",
        "fork -o - ./two-branches.jsonl",
        "fork -o ./named.jsonl ./two-branches.jsonl",
    ] {
        assert_eq!(fork(line).stderr, "", "{line}");
    }
}

#[test]
fn of_standard_input_goes_to_standard_output() {
    let s = Sandbox::new();
    let done = s
        .pisess("fork - 1a2b3c02")
        .stdin(fixture("two-branches.jsonl"))
        .done();
    assert_snapshot!(done, @r#"
    {"type":"session","version":3,"id":"019df2dc-0a00-726b-9b5c-564f5be49767","timestamp":"2026-05-04T12:00:00.000Z","cwd":"/home/u/kites"}
    {"type":"message","id":"1a2b3c01","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"Which paper for a kite?"}}
    {"type":"message","id":"1a2b3c02","parentId":"1a2b3c01","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Tissue paper is light, washi is strong."}],"stopReason":"stop"}}
    {"type":"label","id":"27aa2424","parentId":"1a2b3c02","timestamp":"2026-01-01T00:00:03.000Z","targetId":"1a2b3c01","label":"start"}
    "#);
    assert!(s.names().is_empty());
}

#[test]
fn of_standard_input_into_a_folder() {
    let s = Sandbox::new();
    let done = s
        .pisess("fork - --dir .")
        .stdin(fixture("two-branches.jsonl"))
        .done();
    assert_eq!(done.quiet(), format!("./{NEW}\n"));
    assert_eq!(s.names(), [NEW]);
}

#[test]
fn dry_run_prints_the_file() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    assert_snapshot!(s.unchanged("fork -n ./two-branches.jsonl 1a2b3c02"), @"
    would create ./2026-05-04T12-00-00-000Z_019df2dc-0a00-726b-9b5c-564f5be49767.jsonl with 4 lines: 1 copied unchanged; the others are new or changed:
     size  id                                    type     content
    187 B  019df2dc-0a00-726b-9b5c-564f5be49767  session  /home/u/kites
    152 B  1a2b3c01                              user     Which paper for a kite?
    132 B  27aa2424                              label    start
    471 B  total                                 3 lines
    ");
    assert_snapshot!(s.unchanged("fork -n --json ./two-branches.jsonl 1a2b3c02"), @r#"{"path":"./2026-05-04T12-00-00-000Z_019df2dc-0a00-726b-9b5c-564f5be49767.jsonl","action":"create","dryRun":true,"written":[{"type":"session","version":3,"id":"019df2dc-0a00-726b-9b5c-564f5be49767","timestamp":"2026-05-04T12:00:00.000Z","cwd":"/home/u/kites","parentSession":"./two-branches.jsonl"},{"type":"message","id":"1a2b3c01","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"Which paper for a kite?"}},{"type":"message","id":"1a2b3c02","parentId":"1a2b3c01","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Tissue paper is light, washi is strong."}],"stopReason":"stop"}},{"type":"label","id":"27aa2424","parentId":"1a2b3c02","timestamp":"2026-01-01T00:00:03.000Z","targetId":"1a2b3c01","label":"start"}],"editorText":null}"#);
    assert_snapshot!(s.unchanged("fork -n --before ./two-branches.jsonl 1a2b3c04"), @"
    would create ./2026-05-04T12-00-00-000Z_019df2dc-0a00-726b-9b5c-564f5be49767.jsonl with 4 lines: 1 copied unchanged; the others are new or changed:
     size  id                                    type     content
    187 B  019df2dc-0a00-726b-9b5c-564f5be49767  session  /home/u/kites
    152 B  1a2b3c01                              user     Which paper for a kite?
    132 B  27aa2424                              label    start
    471 B  total                                 3 lines
    ");
}

#[test]
fn json_tells_the_path_and_the_header() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    assert_snapshot!(s.run("fork --json ./two-branches.jsonl"), @r#"{"path":"./2026-05-04T12-00-00-000Z_019df2dc-0a00-726b-9b5c-564f5be49767.jsonl","action":"create","dryRun":false,"written":[{"type":"session","version":3,"id":"019df2dc-0a00-726b-9b5c-564f5be49767","timestamp":"2026-05-04T12:00:00.000Z","cwd":"/home/u/kites","parentSession":"./two-branches.jsonl"},{"type":"message","id":"1a2b3c01","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"Which paper for a kite?"}},{"type":"message","id":"1a2b3c02","parentId":"1a2b3c01","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Tissue paper is light, washi is strong."}],"stopReason":"stop"}},{"type":"message","id":"1a2b3c06","parentId":"1a2b3c02","timestamp":"2026-01-01T00:00:06.000Z","message":{"role":"user","content":"Washi then. How big?"}},{"type":"message","id":"1a2b3c07","parentId":"1a2b3c06","timestamp":"2026-01-01T00:00:07.000Z","message":{"role":"assistant","content":[{"type":"text","text":"A metre and more, with a bamboo spar."}],"stopReason":"stop"}},{"type":"label","id":"27aa2424","parentId":"1a2b3c07","timestamp":"2026-01-01T00:00:03.000Z","targetId":"1a2b3c01","label":"start"}],"editorText":null}"#);
}

#[test]
fn options_that_exclude_each_other() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    for options in ["--branches --before", "--dir ./x -o ./y", "--json -o -"] {
        assert_eq!(
            s.unchanged(&format!("fork ./two-branches.jsonl {options}"))
                .code,
            2,
            "{options}"
        );
    }
    assert_eq!(
        s.unchanged("fork ./two-branches.jsonl @ --branches").code,
        2
    );
}

#[cfg(unix)]
#[test]
fn a_new_file_is_as_private_as_its_source() {
    use std::os::unix::fs::PermissionsExt;
    let mode =
        |s: &Sandbox, name: &str| s.path(name).metadata().unwrap().permissions().mode() & 0o777;
    let s = Sandbox::with(&["two-branches.jsonl"]);
    std::fs::set_permissions(
        s.path("two-branches.jsonl"),
        PermissionsExt::from_mode(0o640),
    )
    .unwrap();
    s.run("fork ./two-branches.jsonl");
    assert_eq!(mode(&s, NEW), 0o640);
    s.pisess("fork - -o ./piped.jsonl")
        .stdin(fixture("two-branches.jsonl"))
        .done()
        .quiet();
    assert_eq!(mode(&s, "piped.jsonl"), 0o600);
}

/// A pipe has a path, but no directory beside which the fork could be.
#[test]
#[cfg(unix)]
fn fork_for_of_a_pipe_goes_to_standard_output() {
    let s = Sandbox::new();
    let pipe = s.path("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    // Opening a pipe waits for the other side.
    let writer = std::thread::spawn(move || std::fs::write(pipe, fixture("two-branches.jsonl")));
    let fork = s.pisess("fork -q --for omp ./pipe").done();
    writer.join().unwrap().unwrap();
    assert!(fork.text().contains("Which paper for a kite?"), "{fork}");
    assert_eq!(s.names(), ["pipe"]);
}

/// An archive is decompressed like a stream, but it is a file.
#[test]
fn a_fork_of_an_archive_goes_into_the_store_of_the_project() {
    let d = Desk::new();
    let session = d.pi("0199aaaa-1111", 1, &[]);
    d.pisess("archive -q --force 0199aaaa-1111").done();
    let archive = session.replacen("/sessions/", "/sessions.archive/", 1) + ".zst";
    let fork = d
        .pisess(&format!("fork -q ./{archive} --cwd ./kites"))
        .done();
    assert_eq!(fork.code, 0, "{fork}");
    let path = fork.text();
    assert!(path.starts_with("./home/.pi/agent/sessions/--"), "{fork}");
    assert!(path.contains("-kites--/"), "{fork}");
}

#[test]
fn a_subtree_with_the_path_above_it() {
    let s = Sandbox::with(&["two-branches.jsonl", "tour.jsonl"]);
    assert_snapshot!(s.run("fork --subtree ./two-branches.jsonl 1a2b3c02 -o ./new.jsonl"), @"./new.jsonl");
    assert_snapshot!(s.text("new.jsonl"), @r#"
    {"type":"session","version":3,"id":"019df2dc-0a00-726b-9b5c-564f5be49767","timestamp":"2026-05-04T12:00:00.000Z","cwd":"/home/u/kites","parentSession":"./two-branches.jsonl"}
    {"type":"message","id":"1a2b3c01","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"Which paper for a kite?"}}
    {"type":"message","id":"1a2b3c02","parentId":"1a2b3c01","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Tissue paper is light, washi is strong."}],"stopReason":"stop"}}
    {"type":"message","id":"1a2b3c04","parentId":"1a2b3c02","timestamp":"2026-01-01T00:00:04.000Z","message":{"role":"user","content":"Tissue paper then. How big?"}}
    {"type":"message","id":"1a2b3c05","parentId":"1a2b3c04","timestamp":"2026-01-01T00:00:05.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Half a metre; larger ones tear."}],"stopReason":"stop"}}
    {"type":"message","id":"1a2b3c06","parentId":"1a2b3c02","timestamp":"2026-01-01T00:00:06.000Z","message":{"role":"user","content":"Washi then. How big?"}}
    {"type":"message","id":"1a2b3c07","parentId":"1a2b3c06","timestamp":"2026-01-01T00:00:07.000Z","message":{"role":"assistant","content":[{"type":"text","text":"A metre and more, with a bamboo spar."}],"stopReason":"stop"}}
    {"type":"label","id":"27aa2424","parentId":"1a2b3c07","timestamp":"2026-01-01T00:00:03.000Z","targetId":"1a2b3c01","label":"start"}
    "#);
    s.run("fork --subtree ./tour.jsonl 3de1b752 -o ./tour-part.jsonl");
    assert_snapshot!(s.run("tree ./tour-part.jsonl --no-ids"), @r#"
    • user: The 00:10 ferry shows up as "left 23 h ago" when I ask at 23:50. Can you find out why?
    • assistant: I'll look for where the waiting time is computed.
    • grep: /fn departs_in/ in src
    • read: src/clock.rs:35-64
    • [cause found] assistant: `departs_in` subtracts minutes of the day, so across midnight the result is negative: 10 - 1430 = -1420 minutes, printed as "left 23 h ago". The timetable has no dates, only times.
    • branch summary: Make `departs_in` right across midnight.
    • user: Undo that, and take the nearer of the two: yesterday's or tomorrow's departure.
    • assistant: So the result lies within half a day either way.
    • edit: src/clock.rs
    • bash: cargo test --quiet
    • [green] assistant: All 14 tests pass, and at 23:50 the 00:10 ferry departs in 20 min.
    • user: Good. Please add a test for exactly that evening.
    • write: tests/midnight.rs
    • assistant: `tests/midnight.rs` pins it down: asked at 23:50, the 00:10 ferry departs in 20 minutes.
    • ── compaction: 12.5k tokens · Make waiting times right across midnight in `ferry`. ──  (kept from b5d60e41)
    • user: Now a line for the changelog, for people who don't read code.
    • assistant: "Ferries after midnight no longer show as gone: asked at 23:50, the 00:10 departs in 20 minutes."  ← active
    "#);
    // The leaf is not in the subtree, so the leaf of the fork is the last entry of the subtree in
    // the file.
    s.run("fork --subtree ./tour.jsonl 3ac9d7e4 -o ./other-part.jsonl");
    assert_snapshot!(s.run("tree ./other-part.jsonl --filter all"), @r#"
    4f1c02a9  • model: claude-sonnet-4-5
    b7e3d510  • thinking: low
    0d9a6c31  • user: The 00:10 ferry shows up as "left 23 h ago" when I ask at 23:50. Can you find out why?
    c25f81e7  • assistant: I'll look for where the waiting time is computed.
    9e04b3d8  • grep: /fn departs_in/ in src
    61a7f2cc  • assistant: (calls read)
    e8830b5a  • read: src/clock.rs:35-64
    27d4c96f  • [cause found] assistant: `departs_in` subtracts minutes of the day, so across midnight the result is negative: 10 - 1430 = -1420 minutes, printed as "left 23 h ago". The timetable has no dates, only times.
    3ac9d7e4  • user: Just add a day when it comes out negative.
    8b16f09d  • assistant: That is one line. I'll change it and run the tests.
    d43e5a21  • edit: src/clock.rs
    72c0e8b6  • assistant: (calls bash)
    15f9ad3c  • bash: [failed] cargo test --quiet
    a6d84170  • assistant: Two tests fail: a ferry that left five minutes ago now "departs in 23 h 55 min". Adding a day hides the past, and the board needs it.
    ee2b93f5  • user: Hm. What would you do instead?
    5c07d14b  • assistant: [failed] 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}
    27aa2424  • label: cause found  ← active
    "#);
}

#[test]
fn a_subtree_whose_leaf_is_not_its_last_entry() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    s.run("label ./two-branches.jsonl 1a2b3c01 --clear");
    // A fork drops labels. Without them, the last entry would belong to another branch than the
    // leaf.
    s.run("switch ./two-branches.jsonl 1a2b3c05");
    s.run("label ./two-branches.jsonl 1a2b3c01 x");
    s.run("label ./two-branches.jsonl 1a2b3c01 --clear");
    let record = r#"{"type":"leaf","id":"l","parentId":"1a2b3c07","timestamp":"2026-01-01T00:00:08.000Z","targetId":"1a2b3c05"}"#;
    s.put(
        "record.jsonl",
        [fixture("two-branches.jsonl"), record.into(), b"\n".to_vec()].concat(),
    );
    s.run("label -o ./cleared.jsonl ./record.jsonl 1a2b3c01 --clear");
    for name in ["two-branches.jsonl", "cleared.jsonl"] {
        let context = s.run(&format!("context ./{name}"));
        s.run(&format!(
            "fork --force --subtree ./{name} 1a2b3c02 -o ./new.jsonl"
        ));
        assert_eq!(s.run("context ./new.jsonl"), context, "{name}");
    }
    assert_snapshot!(s.text("new.jsonl").lines().last().unwrap(), @r#"{"type":"custom","customType":"pisess.switch","data":{"from":"1a2b3c07","to":"1a2b3c05"},"id":"27aa2424","parentId":"1a2b3c05","timestamp":"2026-05-04T12:00:00.000Z"}"#);
}

#[test]
fn a_subtree_of_everything_or_of_little() {
    let s = Sandbox::with(&["two-branches.jsonl", "v1.jsonl", "omp.jsonl"]);
    s.run("fork --subtree ./two-branches.jsonl root -o ./all.jsonl");
    assert_eq!(s.text("all.jsonl").lines().count(), 8);
    s.run("fork --subtree ./two-branches.jsonl -o ./path.jsonl");
    assert_eq!(
        s.text("path.jsonl"),
        s.run("fork ./two-branches.jsonl -o -")
    );
    s.run("fork --subtree ./v1.jsonl cb26a1f8 -o ./v3.jsonl");
    assert_eq!(s.run("context ./v3.jsonl"), s.run("context ./v1.jsonl"));
    s.run("fork --subtree ./omp.jsonl 60718293 -o ./new-omp.jsonl");
    assert_eq!(
        s.run("context ./new-omp.jsonl"),
        s.run("context ./omp.jsonl")
    );
    for options in ["--before", "--branches"] {
        assert_eq!(
            s.unchanged(&format!("fork --subtree {options} ./two-branches.jsonl"))
                .code,
            2
        );
    }
}

/// Without its ancestors, the entry is the root, and what a compaction kept of them is gone.
#[test]
fn a_subtree_alone() {
    let s = Sandbox::with(&["two-branches.jsonl", "tour.jsonl", "omp.jsonl"]);
    s.run("fork --subtree --alone ./two-branches.jsonl 1a2b3c02 -o ./new.jsonl");
    assert_snapshot!(s.run("tree ./new.jsonl --filter all"), @"
    1a2b3c02  • assistant: Tissue paper is light, washi is strong.
    1a2b3c04  ├─ user: Tissue paper then. How big?  (2 messages, 4mo)
    1a2b3c05  │  assistant: Half a metre; larger ones tear.
    1a2b3c06  • user: Washi then. How big?
    1a2b3c07  • assistant: A metre and more, with a bamboo spar.  ← active
    ");
    assert!(
        s.text("new.jsonl")
            .contains(r#""id":"1a2b3c02","parentId":null,"#)
    );
    assert!(!s.text("new.jsonl").contains("Which paper for a kite?"));
    s.run("fork --subtree --alone ./tour.jsonl 3de1b752 -o ./part.jsonl");
    assert_snapshot!(s.run("tree ./part.jsonl --no-ids"), @r#"
    • user: Undo that, and take the nearer of the two: yesterday's or tomorrow's departure.
    • assistant: So the result lies within half a day either way.
    • edit: src/clock.rs
    • bash: cargo test --quiet
    • [green] assistant: All 14 tests pass, and at 23:50 the 00:10 ferry departs in 20 min.
    • user: Good. Please add a test for exactly that evening.
    • write: tests/midnight.rs
    • assistant: `tests/midnight.rs` pins it down: asked at 23:50, the 00:10 ferry departs in 20 minutes.
    • ── compaction: 12.5k tokens · Make waiting times right across midnight in `ferry`. ──  (kept from b5d60e41)
    • user: Now a line for the changelog, for people who don't read code.
    • assistant: "Ferries after midnight no longer show as gone: asked at 23:50, the 00:10 departs in 20 minutes."  ← active
    "#);
    assert_eq!(s.unchanged("check ./part.jsonl").code, 0);
    // A subtree with the compaction only: nothing that it kept was copied.
    let compaction = crate::sandbox::session(&[
        crate::sandbox::user("a", None, "one"),
        crate::sandbox::user("b", Some("a"), "two"),
        r#"{"type":"compaction","id":"c","parentId":"b","timestamp":"2026-01-01T00:00:40.000Z","summary":"s","firstKeptEntryId":"a","tokensBefore":1}"#.to_owned(),
        crate::sandbox::user("d", Some("c"), "three"),
    ]);
    s.put("x.jsonl", compaction);
    s.run("fork --subtree --alone ./x.jsonl b -o ./b.jsonl");
    assert!(s.text("b.jsonl").contains(r#""firstKeptEntryId":"b""#));
    s.run("fork --subtree --alone ./x.jsonl c -o ./c.jsonl");
    assert!(s.text("c.jsonl").contains(r#""firstKeptEntryId":"c""#));
    assert_eq!(s.unchanged("check ./b.jsonl ./c.jsonl").code, 0);
    // The same as with its ancestors, if it has none.
    s.run("fork --subtree --alone ./omp.jsonl root -o ./all.jsonl");
    assert_eq!(
        s.text("all.jsonl"),
        s.run("fork --subtree ./omp.jsonl root -o -")
    );
    assert_eq!(s.unchanged("fork --alone ./omp.jsonl").code, 2);

    // A label is not copied, and neither is the entry above it, which a mark of the leaf would
    // name.
    let labelled = crate::sandbox::session(&[
        crate::sandbox::user("a", None, "one"),
        r#"{"type":"label","id":"l","parentId":"a","timestamp":"2026-01-01T00:00:40.000Z","targetId":"a","label":"x"}"#.to_owned(),
    ]);
    s.put("labelled.jsonl", labelled);
    s.run("fork --subtree --alone ./labelled.jsonl l -o ./label.jsonl");
    assert_eq!(s.text("label.jsonl").lines().count(), 1);
}

/// Several compactions keep from a label. In a fork, each keeps from the entry after the label on
/// its own path.
#[test]
fn a_label_that_several_branches_keep_from() {
    let s = Sandbox::with(&["hazards/kept-label.jsonl"]);
    let more = [
        crate::sandbox::user("u0000007", Some("l0000001"), "instead of three"),
        r#"{"type":"compaction","id":"k0000008","parentId":"u0000007","timestamp":"2026-01-01T00:00:40.000Z","summary":"s","firstKeptEntryId":"l0000001","tokensBefore":1}"#.to_owned(),
        crate::sandbox::user("u0000009", None, "elsewhere"),
        r#"{"type":"compaction","id":"k0000010","parentId":"u0000009","timestamp":"2026-01-01T00:00:50.000Z","summary":"s","firstKeptEntryId":"l0000001","tokensBefore":1}"#.to_owned(),
    ];
    s.put(
        "x.jsonl",
        format!("{}{}\n", s.text("kept-label.jsonl"), more.join("\n")),
    );
    let forked = s.run("fork --subtree ./x.jsonl root -o -");
    let kept: Vec<_> = forked
        .lines()
        .filter_map(|line| {
            line.split_once("\"firstKeptEntryId\":\"")?
                .1
                .split('"')
                .next()
        })
        .collect();
    assert_eq!(kept, ["u0000003", "u0000007", "l0000001"]);
}

#[test]
fn a_fork_of_a_session_without_findings_has_none() {
    let hazards = crate::sandbox::hazards()
        .into_iter()
        .map(|name| format!("hazards/{name}"));
    let names = ["tour", "omp", "two-branches", "omp-no-slot"].map(str::to_owned);
    let mut labelled = 0;
    for name in names.into_iter().chain(hazards) {
        let s = Sandbox::with(&[&format!("{name}.jsonl")]);
        let file = name.rsplit('/').next().unwrap();
        let findings = |file: &str| s.pisess(&format!("check -q ./{file}")).done();
        let before = findings(&format!("{file}.jsonl"));
        // Of lines that end with CR LF, a fork contains both kinds: its header ends with LF.
        if before.code != 0 || !before.text().is_empty() || file.starts_with("cr") {
            continue;
        }
        for form in [
            "",
            "--branches",
            "root --subtree",
            "--for oh-my-pi",
            "--for pi",
            "--branches --for omp",
        ] {
            s.run(&format!("fork -q ./{file}.jsonl {form} -o ./new --force"));
            assert_eq!(findings("new").text(), "", "{name} {form}");
            labelled += s.text("new").matches(r#""type":"label""#).count();
        }
    }
    assert!(labelled > 10, "{labelled}");
}

/// The fork of [`two-branches`](the_path_to_the_leaf) for Claude Code.
const CLAUDE: &str = ".claude/projects/-home-u-kites/019df2dc-0a00-726b-9b5c-564f5be49767.jsonl";

#[test]
fn for_claude_code_into_its_store() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let done = s
        .pisess("fork --for claude ./two-branches.jsonl")
        .at_home()
        .done();
    assert_snapshot!(done.quiet(), @"./.claude/projects/-home-u-kites/019df2dc-0a00-726b-9b5c-564f5be49767.jsonl");
    assert_eq!(s.names(), [CLAUDE, "two-branches.jsonl"]);
    assert_snapshot!(s.text(CLAUDE), @r#"
    {"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"Which paper for a kite?"},"uuid":"1f70abe8-e53e-50ea-b1dc-af49e2975bb3","timestamp":"2026-01-01T00:00:01.000Z","userType":"external","cwd":"/home/u/kites","sessionId":"019df2dc-0a00-726b-9b5c-564f5be49767","version":"2.1.332","pisess":{"entry":{"type":"message","id":"1a2b3c01","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":null}}}}
    {"parentUuid":"1f70abe8-e53e-50ea-b1dc-af49e2975bb3","isSidechain":false,"type":"assistant","message":{"id":"msg_f70cb793097851abab94db438ddf5f69","type":"message","role":"assistant","model":"unknown","content":[{"type":"text","text":"Tissue paper is light, washi is strong."}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}},"uuid":"f70cb793-0978-51ab-ab94-db438ddf5f69","timestamp":"2026-01-01T00:00:02.000Z","userType":"external","cwd":"/home/u/kites","sessionId":"019df2dc-0a00-726b-9b5c-564f5be49767","version":"2.1.332","pisess":{"entry":{"type":"message","id":"1a2b3c02","parentId":"1a2b3c01","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"assistant","content":null,"stopReason":"stop"}}}}
    {"parentUuid":"f70cb793-0978-51ab-ab94-db438ddf5f69","isSidechain":false,"type":"user","message":{"role":"user","content":"Washi then. How big?"},"uuid":"6c317f82-6535-510f-9fba-63e76c833506","timestamp":"2026-01-01T00:00:06.000Z","userType":"external","cwd":"/home/u/kites","sessionId":"019df2dc-0a00-726b-9b5c-564f5be49767","version":"2.1.332","pisess":{"entry":{"type":"message","id":"1a2b3c06","parentId":"1a2b3c02","timestamp":"2026-01-01T00:00:06.000Z","message":{"role":"user","content":null}}}}
    {"parentUuid":"6c317f82-6535-510f-9fba-63e76c833506","isSidechain":false,"type":"assistant","message":{"id":"msg_00e4c2d317ae5cc7b5586b09f8c702b9","type":"message","role":"assistant","model":"unknown","content":[{"type":"text","text":"A metre and more, with a bamboo spar."}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}},"uuid":"00e4c2d3-17ae-5cc7-b558-6b09f8c702b9","timestamp":"2026-01-01T00:00:07.000Z","userType":"external","cwd":"/home/u/kites","sessionId":"019df2dc-0a00-726b-9b5c-564f5be49767","version":"2.1.332","pisess":{"entry":{"type":"message","id":"1a2b3c07","parentId":"1a2b3c06","timestamp":"2026-01-01T00:00:07.000Z","message":{"role":"assistant","content":null,"stopReason":"stop"}}}}
    {"type":"pisess","timestamp":"2026-01-01T00:00:03.000Z","sessionId":"019df2dc-0a00-726b-9b5c-564f5be49767","pisess":{"entry":{"type":"label","id":"27aa2424","parentId":"1a2b3c07","timestamp":"2026-01-01T00:00:03.000Z","targetId":"1a2b3c01","label":"start"}}}
    {"type":"last-prompt","lastPrompt":"Washi then. How big?","leafUuid":"00e4c2d3-17ae-5cc7-b558-6b09f8c702b9","sessionId":"019df2dc-0a00-726b-9b5c-564f5be49767","pisess":{}}
    "#);

    // Its store may be elsewhere. The project may be another one, whose name is long.
    let project = "/home/u/".to_owned() + &"é~".repeat(120);
    let line = format!("fork -q --for claude ./two-branches.jsonl --cwd '{project}'");
    let done = s.pisess(&line).env("CLAUDE_CONFIG_DIR", "store").done();
    assert_snapshot!(done.quiet(), @"./store/projects/-home-u--------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------dvgwj/019df2dc-0a00-726b-9b5c-564f5be49767.jsonl");
    s.run("fork -q --for claude ./two-branches.jsonl --dir .");
    s.run("fork -q --for claude ./two-branches.jsonl -o ./named.jsonl");
    assert_eq!(s.bytes("named.jsonl"), s.bytes(CLAUDE));
    let piped = s
        .pisess("fork -q --for claude -")
        .stdin(fixture("two-branches.jsonl"))
        .done();
    assert_eq!(piped.text(), s.text("named.jsonl"));
}

#[test]
fn for_codex_a_dry_run_says_what_each_line_has() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    assert_snapshot!(s.unchanged("fork -n --for codex ./two-branches.jsonl"), @r"
    would create /home/u/.codex/sessions/2026/05/04/rollout-2026-05-04T12-00-00-019df2dc-0a00-726b-9b5c-564f5be49767.jsonl with 10 lines
      size  id     type           content
     253 B         session_meta   /home/u/kites
     345 B         user           Which paper for a kite?
     142 B         user_message   Which paper for a kite?
     377 B         assistant      Tissue paper is light, washi is strong.
     159 B         agent_message  Tissue paper is light, washi is strong.
     345 B         user           Washi then. How big?
     139 B         user_message   Washi then. How big?
     375 B         assistant      A metre and more, with a bamboo spar.
     157 B         agent_message  A metre and more, with a bamboo spar.
     208 B         pisess
    2.5 kB  total  10 lines
    ");
}

#[test]
fn for_claude_code_reports_and_refuses() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    assert_snapshot!(s.unchanged("fork -n --for claude ./two-branches.jsonl"), @r"
    would create /home/u/.claude/projects/-home-u-kites/019df2dc-0a00-726b-9b5c-564f5be49767.jsonl with 6 lines
      size  id                                    type         content
     466 B  1f70abe8-e53e-50ea-b1dc-af49e2975bb3  user         Which paper for a kite?
     812 B  f70cb793-0978-51ab-ab94-db438ddf5f69  assistant    Tissue paper is light, washi is strong.
     503 B  6c317f82-6535-510f-9fba-63e76c833506  user         Washi then. How big?
     810 B  00e4c2d3-17ae-5cc7-b558-6b09f8c702b9  assistant    A metre and more, with a bamboo spar.
     259 B                                        pisess
     172 B                                        last-prompt
    3.0 kB  total                                 6 lines
    ");
    assert_snapshot!(s.unchanged("fork -n --json --for claude ./two-branches.jsonl root").fails(2), @"./two-branches.jsonl: no message that Claude Code could continue (hint: choose a REF at or below a message)");
    let json = s.run("fork --json --for claude ./two-branches.jsonl 1a2b3c01 -o ./new");
    assert_snapshot!(json, @r#"{"path":"./new","action":"create","dryRun":false,"written":[{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"Which paper for a kite?"},"uuid":"1f70abe8-e53e-50ea-b1dc-af49e2975bb3","timestamp":"2026-01-01T00:00:01.000Z","userType":"external","cwd":"/home/u/kites","sessionId":"019df2dc-0a00-726b-9b5c-564f5be49767","version":"2.1.332","pisess":{"entry":{"type":"message","id":"1a2b3c01","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":null}}}},{"type":"pisess","timestamp":"2026-01-01T00:00:03.000Z","sessionId":"019df2dc-0a00-726b-9b5c-564f5be49767","pisess":{"entry":{"type":"label","id":"27aa2424","parentId":"1a2b3c01","timestamp":"2026-01-01T00:00:03.000Z","targetId":"1a2b3c01","label":"start"}}},{"type":"last-prompt","lastPrompt":"Which paper for a kite?","leafUuid":"1f70abe8-e53e-50ea-b1dc-af49e2975bb3","sessionId":"019df2dc-0a00-726b-9b5c-564f5be49767","pisess":{}}],"editorText":null}"#);
    let done = s
        .pisess("fork --for claude ./two-branches.jsonl")
        .at_home()
        .terminal(80)
        .done();
    assert_snapshot!(done, @r"
    ./.claude/projects/-home-u-kites/019df2dc-0a00-726b-9b5c-564f5be49767.jsonl
    2> pisess: `pisess resume 019df2dc-0a00-726b-9b5c-564f5be49767` continues it
    ");
    assert_snapshot!(s.unchanged("fork --for claude ./two-branches.jsonl -o ./new").fails(2), @"cannot create ./new: it already exists (hint: choose another name, or overwrite it with --force)");
    let homeless = s
        .pisess("fork --for claude ./two-branches.jsonl")
        .without("HOME")
        .done();
    assert_snapshot!(homeless.fails(2), @"the home directory is unknown (hint: name the new file with -o)");
}

/// Returns a session with every kind of entry.
fn every_kind_of_entry() -> String {
    let lines = [
        r#"{"type":"model_change","id":"a0000001","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","provider":"openai","modelId":"gpt-5"}"#,
        r#"{"type":"message","id":"a0000002","parentId":"a0000001","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"user","content":"Old."}}"#,
        r#"{"type":"message","id":"a0000003","parentId":"a0000002","timestamp":"2026-01-01T00:00:03.000Z","message":{"role":"user","content":[{"type":"text","text":"Look."},{"type":"image","data":"aGk=","mimeType":"image/png"}]}}"#,
        r#"{"type":"message","id":"a0000004","parentId":"a0000003","timestamp":"2026-01-01T00:00:04.000Z","message":{"role":"assistant","content":[{"type":"thinking","thinking":"Kept.","thinkingSignature":"s1"},{"type":"text","text":"I look."},{"type":"toolCall","id":"call:1","name":"bash","arguments":{"command":"ls","timeout":5}},{"type":"toolCall","id":"call 1","name":"read","arguments":{"path":"a","offset":2}},{"type":"toolCall","id":"c3","name":"edit","arguments":{"path":"a","edits":[{"oldText":"x","newText":"y"}]}},{"type":"toolCall","id":"c4","name":"edit","arguments":{"path":"a","edits":[{"oldText":"x","newText":"y"},{"oldText":"p","newText":"q"}]}},{"type":"toolCall","id":"c5","name":"write","arguments":{"path":"b","content":"z"}},{"type":"toolCall","id":"c6","name":"todo","arguments":{"add":"fly"}},{"type":"thinking","thinking":"Too late.","thinkingSignature":"s2"}],"api":"anthropic-messages","provider":"anthropic","model":"claude-x","stopReason":"toolUse","usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4}}}"#,
        r#"{"type":"message","id":"a0000005","parentId":"a0000004","timestamp":"2026-01-01T00:00:05.000Z","message":{"role":"toolResult","toolCallId":"call:1","toolName":"bash","content":[{"type":"text","text":"a"}],"isError":false}}"#,
        r#"{"type":"message","id":"a0000006","parentId":"a0000005","timestamp":"2026-01-01T00:00:06.000Z","message":{"role":"toolResult","toolCallId":"call 1","toolName":"read","content":[{"type":"image","data":"aGk=","mimeType":"image/png"}],"isError":true}}"#,
        r#"{"type":"message","id":"a0000007","parentId":"a0000006","timestamp":"2026-01-01T00:00:07.000Z","message":{"role":"toolResult","toolCallId":"c0","toolName":"bash","content":[{"type":"text","text":"whose?"}],"isError":false}}"#,
        r#"{"type":"message","id":"a0000008","parentId":"a0000007","timestamp":"2026-01-01T00:00:08.000Z","message":{"role":"assistant","content":[{"type":"thinking","thinking":"Whose?","thinkingSignature":"s3"},{"type":"text","text":"Other."}],"api":"openai-responses","provider":"openai","model":"gpt-5","stopReason":"length"}}"#,
        r#"{"type":"message","id":"a0000009","parentId":"a0000008","timestamp":"2026-01-01T00:00:09.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Fai"}],"api":"anthropic-messages","provider":"anthropic","model":"claude-x","stopReason":"aborted"}}"#,
        r#"{"type":"message","id":"a000000a","parentId":"a0000009","timestamp":"2026-01-01T00:00:10.000Z","message":{"role":"bashExecution","command":"pwd","output":"/","exitCode":0,"cancelled":false,"truncated":false}}"#,
        r#"{"type":"custom_message","customType":"note","content":"Wind.","display":false,"id":"a000000b","parentId":"a000000a","timestamp":"2026-01-01T00:00:11.000Z"}"#,
        r#"{"type":"context_edit","id":"a000000c","parentId":"a000000b","timestamp":"2026-01-01T00:00:12.000Z","targetId":"a0000003","replacement":{"content":"Look. [image]"}}"#,
        r#"{"type":"session_info","id":"a000000d","parentId":"a000000c","timestamp":"2026-01-01T00:00:13.000Z","name":"Kites"}"#,
        r#"{"type":"compaction","id":"a000000e","parentId":"a000000d","timestamp":"2026-01-01T00:00:14.000Z","summary":"Much.","firstKeptEntryId":"a0000003","tokensBefore":900}"#,
        r#"{"type":"label","id":"a000000f","parentId":"a000000e","timestamp":"2026-01-01T00:00:15.000Z","targetId":"a000000e","label":"here"}"#,
        r#"{"type":"message","id":"a0000010","parentId":"a000000f","timestamp":"2026-01-01T00:00:16.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c3","name":"bash","arguments":{"command":"ls"}}],"api":"openai-responses","provider":"openai","model":"gpt-5","stopReason":"toolUse"}}"#,
    ];
    lines.join("\n")
}

/// A compaction keeps a call together with the result that was missing, or neither.
#[test]
fn for_claude_and_codex_a_compaction_keeps_whole_calls() {
    let entry = |id: &str, parent: &str, rest: &str| {
        let parent = if parent.is_empty() {
            "null".into()
        } else {
            format!("\"{parent}\"")
        };
        format!(
            r#"{{"id":"{id}","parentId":{parent},"timestamp":"2026-01-01T00:00:01.000Z",{rest}}}"#
        )
    };
    let user =
        |text: &str| format!(r#""type":"message","message":{{"role":"user","content":"{text}"}}"#);
    let call = r#""type":"message","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"bash","arguments":{"command":"ls"}}],"stopReason":"toolUse"}"#;
    let compaction = |kept: &str| {
        format!(
            r#""type":"compaction","summary":"Much.","firstKeptEntryId":"{kept}","tokensBefore":9"#
        )
    };
    let s = Sandbox::new();
    let answered_later = [
        entry("a1", "", &user("One.")),
        entry("a2", "a1", call),
        entry("a3", "a2", &user("Two.")),
        entry("a4", "a3", &compaction("a3")),
    ];
    s.put("later.jsonl", session(&[&answered_later.join("\n")]));
    let open = [
        entry("a1", "", &user("One.")),
        entry("a2", "a1", call),
        entry("a3", "a2", &compaction("a2")),
    ];
    s.put("open.jsonl", session(&[&open.join("\n")]));

    // The number of kept lines: the call and its result are both kept, or both left out.
    for (name, kept_by_claude, kept_by_codex) in [("later", 1, 1), ("open", 2, 2)] {
        s.run(&format!(
            "fork -q --for claude ./{name}.jsonl -o ./{name}-claude.jsonl"
        ));
        let boundary = find_line(&s, &format!("{name}-claude.jsonl"), "compact_boundary");
        let kept = &boundary["compactMetadata"]["preservedMessages"]["uuids"];
        assert_eq!(
            kept.as_array().unwrap().len(),
            kept_by_claude,
            "{name}: {boundary}"
        );

        s.run(&format!(
            "fork -q --for codex ./{name}.jsonl -o ./{name}-codex.jsonl"
        ));
        let compacted = find_line(&s, &format!("{name}-codex.jsonl"), "\"compacted\"");
        let history = compacted["payload"]["replacement_history"]
            .as_array()
            .unwrap();
        let of_calls = |item: &&serde_json::Value| item["call_id"] == "c1";
        let is_summary = |item: &serde_json::Value| item.to_string().contains("Much.");
        let kept = history.iter().filter(|item| !is_summary(item)).count();
        assert_eq!(kept, kept_by_codex, "{name}: {compacted}");
        assert_ne!(
            history.iter().filter(of_calls).count(),
            1,
            "{name}: {compacted}"
        );
    }
}

/// Returns the first line of a file that contains a text.
fn find_line(s: &Sandbox, file: &str, text: &str) -> serde_json::Value {
    let content = s.text(file);
    let line = content.lines().find(|line| line.contains(text));
    serde_json::from_str(line.unwrap()).unwrap()
}

/// A result without a call is not what the session goes on from, and a summary alone is enough.
#[test]
fn for_claude_the_session_goes_on_from_what_is_seen() {
    let s = Sandbox::new();
    let lines = [
        r#"{"type":"message","id":"a1","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"One."}}"#,
        r#"{"type":"message","id":"a2","parentId":"a1","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Two."}],"stopReason":"stop"}}"#,
        r#"{"type":"message","id":"a3","parentId":"a2","timestamp":"2026-01-01T00:00:03.000Z","message":{"role":"user","content":"Other branch."}}"#,
        r#"{"type":"message","id":"a4","parentId":"a2","timestamp":"2026-01-01T00:00:04.000Z","message":{"role":"toolResult","toolCallId":"c0","toolName":"bash","content":[]}}"#,
    ];
    s.put("s.jsonl", session(&[&lines.join("\n")]));
    s.run("fork -q --branches --for claude ./s.jsonl -o ./claude.jsonl");
    // Below the line that the session goes on from, there is no other line.
    let other = find_line(&s, "claude.jsonl", "Other branch.");
    assert_eq!(other["type"], "pisess", "{other}");

    let summary = r#"{"type":"compaction","id":"a1","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","summary":"Much.","firstKeptEntryId":"a1","tokensBefore":9}"#;
    s.put("summary.jsonl", session(&[summary]));
    s.run("fork -q --for claude ./summary.jsonl -o ./summary-claude.jsonl");
    find_line(&s, "summary-claude.jsonl", "isCompactSummary");
}

/// Codex skips a line with half of a surrogate pair, so none is in a line, and the entry comes back
/// with it.
#[test]
fn for_codex_half_pairs_are_replaced_and_come_back() {
    let lines = [
        r#"{"type":"message","id":"a1","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"Cut \ud83d here, whole \ud83d\ude00, plain \\ud83d."}}"#,
        r#"{"type":"custom","id":"a2","parentId":"a1","timestamp":"2026-01-01T00:00:02.000Z","customType":"x","data":"\ude00"}"#,
    ]
    .join("\n");
    let s = Sandbox::new();
    s.put("s.jsonl", session(&[&lines]));
    s.run("fork -q --for codex ./s.jsonl -o ./codex.jsonl");
    let native = s.text("codex.jsonl");
    for line in native.lines() {
        let parsed: Result<serde_json::Value, _> = serde_json::from_str(line);
        assert!(parsed.is_ok(), "{line}");
    }
    let replaced = r"Cut \ufffd here, whole 😀, plain \\ud83d.";
    assert!(native.contains(replaced), "{native}");
    assert_eq!(brought_back(&s, "codex.jsonl"), lines);
}

/// The API knows the first half of an id that pi stored with the id of its item.
#[test]
fn for_codex_calls_keep_the_ids_of_the_responses_api() {
    let call = r#"{"type":"message","id":"a2","parentId":"a1","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"call_9|fc_9","name":"bash","arguments":{"command":"ls"}}],"stopReason":"toolUse"}}"#;
    let result = r#"{"type":"message","id":"a3","parentId":"a2","timestamp":"2026-01-01T00:00:03.000Z","message":{"role":"toolResult","toolCallId":"call_9|fc_9","toolName":"bash","content":[{"type":"text","text":"a"}]}}"#;
    let s = Sandbox::new();
    s.put("s.jsonl", session(&[r#"{"type":"message","id":"a1","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"One."}}"#, call, result]));
    s.run("fork -q --for codex ./s.jsonl -o ./codex.jsonl");
    let item = find_line(&s, "codex.jsonl", "function_call\"");
    assert_eq!(item["payload"]["call_id"], "call_9", "{item}");
    let output = find_line(&s, "codex.jsonl", "function_call_output\"");
    assert_eq!(output["payload"]["call_id"], "call_9", "{output}");
}

/// Codex skips a line with a value that its parser refuses: one that is nested too deeply, or a
/// number that a double cannot hold. The entry comes back with it.
#[test]
fn for_codex_what_its_parser_refuses_is_text_and_comes_back() {
    let user = r#"{"type":"message","id":"ID","parentId":PARENT,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"Fly."},"x":VALUE}"#;
    let deep = "[".repeat(150) + &"]".repeat(150);
    let values = ["[1,\"1e400\",2e300]", "1e400", "{\"a\":[-3.5E+999]}", &deep];
    let mut lines = Vec::new();
    let mut parent = "null".to_owned();
    for (number, value) in values.iter().enumerate() {
        let line = user
            .replace("ID", &format!("a{number}"))
            .replace("PARENT", &parent);
        lines.push(line.replace("VALUE", value));
        parent = format!("\"a{number}\"");
    }
    let lines = lines.join("\n");
    let s = Sandbox::new();
    s.put("s.jsonl", session(&[&lines]));
    s.run("fork -q --for codex ./s.jsonl -o ./codex.jsonl");
    for line in s.text("codex.jsonl").lines() {
        let parsed: Result<serde_json::Value, _> = serde_json::from_str(line);
        assert!(parsed.is_ok(), "{line}");
    }
    // Only what cannot be read is a string.
    let first = find_line(&s, "codex.jsonl", "2e300");
    assert!(first["pisess"]["entry"].is_object(), "{first}");
    assert_eq!(brought_back(&s, "codex.jsonl"), lines);
}

/// A path with a line break is no heading of a patch.
#[test]
fn for_codex_a_path_begins_no_other_operation() {
    let call = r#"{"type":"message","id":"a2","parentId":"a1","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"write","arguments":{"path":"a\n*** Delete File: b","content":"z"}}],"stopReason":"toolUse"}}"#;
    let s = Sandbox::new();
    s.put("s.jsonl", session(&[r#"{"type":"message","id":"a1","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"One."}}"#, call]));
    s.run("fork -q --for codex ./s.jsonl -o ./codex.jsonl");
    let item = find_line(&s, "codex.jsonl", "\"call_id\":\"c1\"");
    assert_eq!(item["payload"]["name"], "write", "{item}");
}

/// What the model sees is as pi sends it, and the rest is kept beside.
#[test]
fn for_claude_code_every_kind_of_entry() {
    let lines = every_kind_of_entry();
    let s = Sandbox::new();
    s.put("s.jsonl", session(&[&lines]));
    s.run("fork -q --branches --for claude ./s.jsonl -o ./claude.jsonl");
    let native = s.text("claude.jsonl");
    let mut short = String::new();
    for line in native.lines() {
        short += &shorten_claude_line(line);
        short += "\n";
    }
    assert_snapshot!(short, @r#"
    {"pisess":{"entry":{"id":"a0000001","modelId":"gpt-5","parentId":null,"provider":"openai","timestamp":"2026-01-01T00:00:01.000Z","type":"model_change"}},"type":"pisess"}
    {"message":{"content":"Old.","role":"user"},"parentUuid":null,"pisess":{"entry":{"id":"a0000002","message":{"content":null,"role":"user"},"parentId":"a0000001","timestamp":"2026-01-01T00:00:02.000Z","type":"message"}},"type":"user","uuid":"1f70abe8-e53e-50ea-b1dc-af49e2975bb3"}
    {"message":{"content":"Look. [image]","role":"user"},"parentUuid":"1f70abe8-e53e-50ea-b1dc-af49e2975bb3","pisess":{"entry":{"id":"a0000003","message":{"content":[{"text":"Look.","type":"text"},{"data":"aGk=","mimeType":"image/png","type":"image"}],"role":"user"},"parentId":"a0000002","timestamp":"2026-01-01T00:00:03.000Z","type":"message"}},"type":"user","uuid":"f70cb793-0978-51ab-ab94-db438ddf5f69"}
    {"message":{"content":[{"signature":"s1","thinking":"Kept.","type":"thinking"},{"text":"I look.","type":"text"},{"id":"call_1","input":{"command":"ls","timeout":5000},"name":"Bash","type":"tool_use"},{"id":"call_1_2","input":{"file_path":"a","offset":2},"name":"Read","type":"tool_use"},{"id":"c3","input":{"file_path":"a","new_string":"y","old_string":"x"},"name":"Edit","type":"tool_use"},{"id":"c4","input":{"edits":[{"new_string":"y","old_string":"x"},{"new_string":"q","old_string":"p"}],"file_path":"a"},"name":"MultiEdit","type":"tool_use"},{"id":"c5","input":{"content":"z","file_path":"b"},"name":"Write","type":"tool_use"},{"id":"c6","input":{"add":"fly"},"name":"todo","type":"tool_use"}],"id":"msg_6c317f826535510f9fba63e76c833506","model":"claude-x","role":"assistant","stop_reason":"tool_use","stop_sequence":null,"type":"message","usage":{"cache_creation_input_tokens":4,"cache_read_input_tokens":3,"input_tokens":1,"output_tokens":2}},"parentUuid":"f70cb793-0978-51ab-ab94-db438ddf5f69","pisess":{"entry":{"id":"a0000004","message":{"api":"anthropic-messages","content":[{"thinking":"Kept.","thinkingSignature":"s1","type":"thinking"},{"text":"I look.","type":"text"},{"arguments":{"command":"ls","timeout":5},"id":"call:1","name":"bash","type":"toolCall"},{"arguments":{"offset":2,"path":"a"},"id":"call 1","name":"read","type":"toolCall"},{"arguments":{"edits":[{"newText":"y","oldText":"x"}],"path":"a"},"id":"c3","name":"edit","type":"toolCall"},{"arguments":{"edits":[{"newText":"y","oldText":"x"},{"newText":"q","oldText":"p"}],"path":"a"},"id":"c4","name":"edit","type":"toolCall"},{"arguments":{"content":"z","path":"b"},"id":"c5","name":"write","type":"toolCall"},{"arguments":{"add":"fly"},"id":"c6","name":"todo","type":"toolCall"},{"thinking":"Too late.","thinkingSignature":"s2","type":"thinking"}],"model":"claude-x","provider":"anthropic","role":"assistant","stopReason":"toolUse","usage":{"cacheRead":3,"cacheWrite":4,"input":1,"output":2}},"parentId":"a0000003","timestamp":"2026-01-01T00:00:04.000Z","type":"message"}},"type":"assistant","uuid":"6c317f82-6535-510f-9fba-63e76c833506"}
    {"message":{"content":[{"content":[{"text":"a","type":"text"}],"tool_use_id":"call_1","type":"tool_result"}],"role":"user"},"parentUuid":"6c317f82-6535-510f-9fba-63e76c833506","pisess":{"entry":{"id":"a0000005","message":{"content":null,"isError":false,"role":"toolResult","toolCallId":"call:1","toolName":"bash"},"parentId":"a0000004","timestamp":"2026-01-01T00:00:05.000Z","type":"message"}},"type":"user","uuid":"00e4c2d3-17ae-5cc7-b558-6b09f8c702b9"}
    {"message":{"content":[{"content":"(no output)","is_error":true,"tool_use_id":"call_1_2","type":"tool_result"}],"role":"user"},"parentUuid":"00e4c2d3-17ae-5cc7-b558-6b09f8c702b9","pisess":{"entry":{"id":"a0000006","message":{"content":[{"data":"aGk=","mimeType":"image/png","type":"image"}],"isError":true,"role":"toolResult","toolCallId":"call 1","toolName":"read"},"parentId":"a0000005","timestamp":"2026-01-01T00:00:06.000Z","type":"message"}},"type":"user","uuid":"e34c1b63-cca4-536e-8e26-4d7906ed4e0d"}
    {"pisess":{"entry":{"id":"a0000007","message":{"content":[{"text":"whose?","type":"text"}],"isError":false,"role":"toolResult","toolCallId":"c0","toolName":"bash"},"parentId":"a0000006","timestamp":"2026-01-01T00:00:07.000Z","type":"message"}},"type":"pisess"}
    {"message":{"content":[{"content":"No result provided","is_error":true,"tool_use_id":"c3","type":"tool_result"}],"role":"user"},"parentUuid":"e34c1b63-cca4-536e-8e26-4d7906ed4e0d","pisess":{},"type":"user","uuid":"139b4f0d-6882-5418-baaf-6c0fdc79b20b"}
    {"message":{"content":[{"content":"No result provided","is_error":true,"tool_use_id":"c4","type":"tool_result"}],"role":"user"},"parentUuid":"139b4f0d-6882-5418-baaf-6c0fdc79b20b","pisess":{},"type":"user","uuid":"8bc8d93b-3542-59f7-a1a6-0dfd8a0074ea"}
    {"message":{"content":[{"content":"No result provided","is_error":true,"tool_use_id":"c5","type":"tool_result"}],"role":"user"},"parentUuid":"8bc8d93b-3542-59f7-a1a6-0dfd8a0074ea","pisess":{},"type":"user","uuid":"090229fd-302c-5ce5-b746-a8dfe1fc3951"}
    {"message":{"content":[{"content":"No result provided","is_error":true,"tool_use_id":"c6","type":"tool_result"}],"role":"user"},"parentUuid":"090229fd-302c-5ce5-b746-a8dfe1fc3951","pisess":{},"type":"user","uuid":"b25dc6fb-cac5-58f4-8629-8adea50e1c49"}
    {"message":{"content":[{"text":"Other.","type":"text"}],"id":"msg_185c57919ee1570499fa16fe6a7a8a54","model":"gpt-5","role":"assistant","stop_reason":"max_tokens","stop_sequence":null,"type":"message","usage":{"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"input_tokens":0,"output_tokens":0}},"parentUuid":"b25dc6fb-cac5-58f4-8629-8adea50e1c49","pisess":{"entry":{"id":"a0000008","message":{"api":"openai-responses","content":[{"thinking":"Whose?","thinkingSignature":"s3","type":"thinking"},{"text":"Other.","type":"text"}],"model":"gpt-5","provider":"openai","role":"assistant","stopReason":"length"},"parentId":"a0000007","timestamp":"2026-01-01T00:00:08.000Z","type":"message"}},"type":"assistant","uuid":"185c5791-9ee1-5704-99fa-16fe6a7a8a54"}
    {"pisess":{"entry":{"id":"a0000009","message":{"api":"anthropic-messages","content":[{"text":"Fai","type":"text"}],"model":"claude-x","provider":"anthropic","role":"assistant","stopReason":"aborted"},"parentId":"a0000008","timestamp":"2026-01-01T00:00:09.000Z","type":"message"}},"type":"pisess"}
    {"message":{"content":[{"text":"Ran `pwd`\n```\n/\n```","type":"text"}],"role":"user"},"parentUuid":"185c5791-9ee1-5704-99fa-16fe6a7a8a54","pisess":{"entry":{"id":"a000000a","message":{"cancelled":false,"command":"pwd","exitCode":0,"output":"/","role":"bashExecution","truncated":false},"parentId":"a0000009","timestamp":"2026-01-01T00:00:10.000Z","type":"message"}},"type":"user","uuid":"a754d5ef-0e8e-5652-a168-0e326cbc1266"}
    {"isMeta":true,"message":{"content":[{"text":"Wind.","type":"text"}],"role":"user"},"parentUuid":"a754d5ef-0e8e-5652-a168-0e326cbc1266","pisess":{"entry":{"content":"Wind.","customType":"note","display":false,"id":"a000000b","parentId":"a000000a","timestamp":"2026-01-01T00:00:11.000Z","type":"custom_message"}},"type":"user","uuid":"e4b6b8c9-1e7b-5014-8457-bbff29b08187"}
    {"pisess":{"entry":{"id":"a000000c","parentId":"a000000b","replacement":{"content":"Look. [image]"},"targetId":"a0000003","timestamp":"2026-01-01T00:00:12.000Z","type":"context_edit"}},"type":"pisess"}
    {"customTitle":"Kites","pisess":{"entry":{"id":"a000000d","name":"Kites","parentId":"a000000c","timestamp":"2026-01-01T00:00:13.000Z","type":"session_info"}},"type":"custom-title"}
    {"compactMetadata":{"preTokens":900,"preservedMessages":{"anchorUuid":"36d7c587-951f-5689-8772-36fe4e67b263","uuids":["f70cb793-0978-51ab-ab94-db438ddf5f69","6c317f82-6535-510f-9fba-63e76c833506","00e4c2d3-17ae-5cc7-b558-6b09f8c702b9","e34c1b63-cca4-536e-8e26-4d7906ed4e0d","139b4f0d-6882-5418-baaf-6c0fdc79b20b","8bc8d93b-3542-59f7-a1a6-0dfd8a0074ea","090229fd-302c-5ce5-b746-a8dfe1fc3951","b25dc6fb-cac5-58f4-8629-8adea50e1c49","185c5791-9ee1-5704-99fa-16fe6a7a8a54","a754d5ef-0e8e-5652-a168-0e326cbc1266","e4b6b8c9-1e7b-5014-8457-bbff29b08187"]},"trigger":"manual"},"content":"Conversation compacted","isMeta":false,"level":"info","logicalParentUuid":"e4b6b8c9-1e7b-5014-8457-bbff29b08187","parentUuid":null,"pisess":{},"subtype":"compact_boundary","type":"system","uuid":"3e8d0df5-326e-5bd5-8960-d9ba05f359ad"}
    {"isCompactSummary":true,"isVisibleInTranscriptOnly":true,"message":{"content":[{"text":"The conversation history before this point was compacted into the following summary:\n\n<summary>\nMuch.\n</summary>","type":"text"}],"role":"user"},"parentUuid":"3e8d0df5-326e-5bd5-8960-d9ba05f359ad","pisess":{"entry":{"firstKeptEntryId":"a0000003","id":"a000000e","parentId":"a000000d","summary":"Much.","timestamp":"2026-01-01T00:00:14.000Z","tokensBefore":900,"type":"compaction"}},"type":"user","uuid":"36d7c587-951f-5689-8772-36fe4e67b263"}
    {"pisess":{"entry":{"id":"a000000f","label":"here","parentId":"a000000e","targetId":"a000000e","timestamp":"2026-01-01T00:00:15.000Z","type":"label"}},"type":"pisess"}
    {"message":{"content":[{"id":"c3_2","input":{"command":"ls"},"name":"Bash","type":"tool_use"}],"id":"msg_b812f19f381255c7aab08c614c1856b0","model":"gpt-5","role":"assistant","stop_reason":"tool_use","stop_sequence":null,"type":"message","usage":{"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"input_tokens":0,"output_tokens":0}},"parentUuid":"36d7c587-951f-5689-8772-36fe4e67b263","pisess":{"entry":{"id":"a0000010","message":{"api":"openai-responses","content":[{"arguments":{"command":"ls"},"id":"c3","name":"bash","type":"toolCall"}],"model":"gpt-5","provider":"openai","role":"assistant","stopReason":"toolUse"},"parentId":"a000000f","timestamp":"2026-01-01T00:00:16.000Z","type":"message"}},"type":"assistant","uuid":"b812f19f-3812-55c7-aab0-8c614c1856b0"}
    {"message":{"content":[{"content":"No result provided","is_error":true,"tool_use_id":"c3_2","type":"tool_result"}],"role":"user"},"parentUuid":"b812f19f-3812-55c7-aab0-8c614c1856b0","pisess":{},"type":"user","uuid":"bd247084-a518-50be-b074-5dd25d373935"}
    {"lastPrompt":"Look. [image]","leafUuid":"bd247084-a518-50be-b074-5dd25d373935","pisess":{},"type":"last-prompt"}
    "#);
    assert_snapshot!(s.run("tree ./claude.jsonl --filter all"), @"
    a0000001  • model: gpt-5
    a0000002  • user: Old.
    a0000003  • user: [edited] [image] Look.
    a0000004  • assistant: I look.
    a0000005  • bash: ls
    a0000006  • read: [failed] [image] a:2
    a0000007  • bash
    a0000008  • assistant: Other.
    a0000009  • assistant: [aborted] Fai
    a000000a  • bash: pwd
    a000000b  • note: Wind.  (hidden)
    a000000c  • context replace: a0000003
    a000000d  • title: Kites
    a000000e  • ── [here] compaction: 900 tokens · Much. ──  (kept from a0000003)
    a000000f  • label: here
    a0000010  • assistant: (calls bash)
    7153766c  • custom: foreign_session_import  ← active
    ");
    assert_eq!(brought_back(&s, "claude.jsonl"), lines);
}

/// Other branches are branches there, too. What is below the leaf would be continued in its place,
/// so it is kept beside.
#[test]
fn for_claude_code_with_other_branches() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    s.run("switch -q ./two-branches.jsonl 1a2b3c06");
    s.run("fork -q --branches --for claude ./two-branches.jsonl -o ./claude.jsonl");
    let text = s.text("claude.jsonl");
    let mut short = String::new();
    for line in text.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let id = &line["pisess"]["entry"]["id"];
        let [uuid, parent, leaf] =
            ["uuid", "parentUuid", "leafUuid"].map(|key| line[key].as_str().unwrap_or("-"));
        let kind = line["type"].as_str().unwrap();
        short += &format!("{kind} {id} {uuid:.8} below {parent:.8}, leaf {leaf:.8}\n");
    }
    assert_snapshot!(short, @r#"
    user "1a2b3c01" 1f70abe8 below -, leaf -
    assistant "1a2b3c02" f70cb793 below 1f70abe8, leaf -
    pisess "1a2b3c03" - below -, leaf -
    pisess "1a2b3c04" - below -, leaf -
    pisess "1a2b3c05" - below -, leaf -
    pisess "1a2b3c06" - below -, leaf -
    pisess "1a2b3c07" - below -, leaf -
    pisess "226b1b5c" - below -, leaf -
    last-prompt null - below -, leaf f70cb793
    "#);
    assert_eq!(
        brought_back(&s, "claude.jsonl"),
        s.lines_from("two-branches.jsonl", 2).trim_end()
    );
}

/// Also sessions of other agents are forked for Claude Code, and the calls of Codex get its names.
#[test]
fn for_claude_code_of_other_agents() {
    let s = Sandbox::with(&["codex/plain.jsonl"]);
    s.run("fork -q --for claude ./plain.jsonl -o ./claude.jsonl");
    let text = s.text("claude.jsonl");
    let mut calls = String::new();
    for line in text.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        for block in line["message"]["content"].as_array().into_iter().flatten() {
            if block["type"] == "tool_use" {
                calls += &format!("{} {}\n", block["name"], block["input"]);
            }
        }
    }
    assert_snapshot!(calls, @r#"
    "Bash" {"command":"cat notes.md"}
    "apply_patch" {"input":"*** Begin Patch\n*** Add File: kite.md\n+washi\n*** End Patch"}
    "web_search" {"query":"washi","type":"search"}
    "#);
    assert_snapshot!(s.unchanged("switch ./claude.jsonl root").fails(2), @"./claude.jsonl: not a session of pi or oh-my-pi, but of Claude Code (hint: `pisess import ./claude.jsonl` converts it; commands that only read, such as `tree`, accept it; `pisess list --source claude` lists it)");
}

/// What Claude Code writes below a line that pisess wrote follows the entry of that line, and what
/// pi has below it already.
#[test]
fn what_claude_code_adds_follows() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    s.run("fork -q --for claude ./two-branches.jsonl -o ./claude.jsonl");
    let text = s.text("claude.jsonl");
    let leaf = text.lines().rfind(|line| line.contains("\"uuid\""));
    let leaf: serde_json::Value = serde_json::from_str(leaf.unwrap()).unwrap();
    let added = format!(
        r#"{{"parentUuid":{},"isSidechain":false,"type":"user","message":{{"role":"user","content":"Fly."}},"uuid":"u1","timestamp":"2026-06-01T00:00:00.000Z","sessionId":"s"}}"#,
        leaf["uuid"]
    );
    s.put("claude.jsonl", text + "\n" + &added + "\n");
    assert_snapshot!(s.run("tree ./claude.jsonl --filter all"), @r"
    1a2b3c01  • [start] user: Which paper for a kite?
    1a2b3c02  • assistant: Tissue paper is light, washi is strong.
    1a2b3c06  • user: Washi then. How big?
    1a2b3c07  • assistant: A metre and more, with a bamboo spar.
    27aa2424  • label: start
    dadf3e62  • user: Fly.
    701bc278  • custom: foreign_session_import  ← active
    ");
}

/// Codex looks for names in a list, to which it appends, too.
#[test]
fn for_codex_the_title_is_listed() {
    let s = Sandbox::new();
    s.put("s.jsonl", session(&[every_kind_of_entry()]));
    let list = ".codex/session_index.jsonl";
    let fork = |form: &str| {
        let line = format!("fork --for codex ./s.jsonl {form}");
        s.pisess(&line).at_home().done()
    };
    assert_eq!(fork("-n").code, 0);
    fork("-o ./new").quiet();
    assert!(!s.path(list).exists());
    fork("").quiet();
    assert_snapshot!(s.text(list), @r#"{"id":"019df2dc-0a00-726b-9b5c-564f5be49767","thread_name":"Kites","updated_at":"2026-05-04T12:00:00.000Z"}"#);

    s.put(list, "{\"id\":\"other\"}");
    fork("--force").quiet();
    assert_snapshot!(s.text(list), @r#"
    {"id":"other"}
    {"id":"019df2dc-0a00-726b-9b5c-564f5be49767","thread_name":"Kites","updated_at":"2026-05-04T12:00:00.000Z"}
    "#);
    std::fs::remove_file(s.path(list)).unwrap();
    std::fs::create_dir(s.path(list)).unwrap();
    assert_snapshot!(fork("--force"), @r"
    ./.codex/sessions/2026/05/04/rollout-2026-05-04T12-00-00-019df2dc-0a00-726b-9b5c-564f5be49767.jsonl
    2> pisess: note: the title is not listed: cannot read ~/.codex/session_index.jsonl: it is a directory
    ");
}

/// Returns a line of Claude Code without the members that all have.
fn shorten_claude_line(line: &str) -> String {
    let mut value: serde_json::Value = serde_json::from_str(line).unwrap();
    let object = value.as_object_mut().unwrap();
    for key in [
        "isSidechain",
        "timestamp",
        "userType",
        "cwd",
        "sessionId",
        "version",
    ] {
        object.remove(key);
    }
    value.to_string()
}

/// Imports a session, and returns its entries without the record of the import.
fn brought_back(s: &Sandbox, name: &str) -> String {
    s.run(&format!("import -q ./{name} -o ./back.jsonl --force"));
    let session = s.text("back.jsonl");
    let mut entries: Vec<_> = session.lines().skip(1).collect();
    let record = entries.pop().unwrap();
    assert!(record.contains("foreign_session_import"), "{record}");
    entries.join("\n")
}

#[test]
fn for_another_agent_and_back_nothing_is_lost() {
    for name in [
        "two-branches",
        "tour",
        "draft-tree",
        "v1",
        "v2",
        "omp",
        "kinds/pi",
        "kinds/omp",
    ] {
        let s = Sandbox::new();
        s.put("s.jsonl", fixture(&format!("{name}.jsonl")));
        s.run("fork -q --branches --for pi ./s.jsonl -o ./pi.jsonl");
        for agent in ["claude", "codex"] {
            let line = format!("fork -q --branches --for {agent} ./s.jsonl -o ./new.jsonl --force");
            s.run(&line);
            assert_eq!(
                brought_back(&s, "new.jsonl"),
                s.lines_from("pi.jsonl", 2).trim_end(),
                "{name} {agent}"
            );
        }
    }
}

#[test]
fn for_codex_into_its_store() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let done = s
        .pisess("fork -q --for codex ./two-branches.jsonl")
        .at_home()
        .done();
    assert_snapshot!(done.quiet(), @"./.codex/sessions/2026/05/04/rollout-2026-05-04T12-00-00-019df2dc-0a00-726b-9b5c-564f5be49767.jsonl");
    let path = ".codex/sessions/2026/05/04/rollout-2026-05-04T12-00-00-019df2dc-0a00-726b-9b5c-564f5be49767.jsonl";
    assert_snapshot!(s.text(path), @r#"
    {"timestamp":"2026-05-04T12:00:00.000Z","type":"session_meta","payload":{"id":"019df2dc-0a00-726b-9b5c-564f5be49767","timestamp":"2026-05-04T12:00:00.000Z","cwd":"/home/u/kites","originator":"pisess","cli_version":"0.171.0","source":"cli"},"pisess":{}}
    {"timestamp":"2026-01-01T00:00:01.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Which paper for a kite?"}]},"pisess":{"entry":{"type":"message","id":"1a2b3c01","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"Which paper for a kite?"}}}}
    {"timestamp":"2026-01-01T00:00:01.000Z","type":"event_msg","payload":{"type":"user_message","message":"Which paper for a kite?"},"pisess":{}}
    {"timestamp":"2026-01-01T00:00:02.000Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Tissue paper is light, washi is strong."}]},"pisess":{"entry":{"type":"message","id":"1a2b3c02","parentId":"1a2b3c01","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"assistant","content":null,"stopReason":"stop"}}}}
    {"timestamp":"2026-01-01T00:00:02.000Z","type":"event_msg","payload":{"type":"agent_message","message":"Tissue paper is light, washi is strong."},"pisess":{}}
    {"timestamp":"2026-01-01T00:00:06.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Washi then. How big?"}]},"pisess":{"entry":{"type":"message","id":"1a2b3c06","parentId":"1a2b3c02","timestamp":"2026-01-01T00:00:06.000Z","message":{"role":"user","content":"Washi then. How big?"}}}}
    {"timestamp":"2026-01-01T00:00:06.000Z","type":"event_msg","payload":{"type":"user_message","message":"Washi then. How big?"},"pisess":{}}
    {"timestamp":"2026-01-01T00:00:07.000Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"A metre and more, with a bamboo spar."}]},"pisess":{"entry":{"type":"message","id":"1a2b3c07","parentId":"1a2b3c06","timestamp":"2026-01-01T00:00:07.000Z","message":{"role":"assistant","content":null,"stopReason":"stop"}}}}
    {"timestamp":"2026-01-01T00:00:07.000Z","type":"event_msg","payload":{"type":"agent_message","message":"A metre and more, with a bamboo spar."},"pisess":{}}
    {"timestamp":"2026-01-01T00:00:03.000Z","type":"pisess","pisess":{"entry":{"type":"label","id":"27aa2424","parentId":"1a2b3c07","timestamp":"2026-01-01T00:00:03.000Z","targetId":"1a2b3c01","label":"start"}}}
    "#);

    let elsewhere = s
        .pisess("fork -q --for codex ./two-branches.jsonl")
        .env("CODEX_HOME", "store")
        .done();
    assert_snapshot!(elsewhere.quiet(), @"./store/sessions/2026/05/04/rollout-2026-05-04T12-00-00-019df2dc-0a00-726b-9b5c-564f5be49767.jsonl");
    assert_snapshot!(s.unchanged("fork --for codex ./two-branches.jsonl root -o ./new").fails(2), @"./two-branches.jsonl: no message that Codex could continue (hint: choose a REF at or below a message)");
}

/// What the model sees is as pi sends it, and the rest is kept beside.
#[test]
fn for_codex_every_kind_of_entry() {
    let lines = every_kind_of_entry();
    let s = Sandbox::new();
    s.put("s.jsonl", session(&[&lines]));
    s.run("fork -q --branches --for codex ./s.jsonl -o ./codex.jsonl");
    let mut short = String::new();
    for line in s.text("codex.jsonl").lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let entry = &line["pisess"]["entry"];
        let content = match &entry["message"]["content"] {
            serde_json::Value::Null if entry["message"].is_object() => " without content",
            _ => "",
        };
        let kind = line["type"].as_str().unwrap();
        short += &format!("{kind} {} of {}{content}\n", line["payload"], entry["id"]);
    }
    assert_snapshot!(short, @r#"
    session_meta {"cli_version":"0.171.0","cwd":"/home/u","id":"019df2dc-0a00-726b-9b5c-564f5be49767","originator":"pisess","source":"cli","timestamp":"2026-05-04T12:00:00.000Z"} of null
    pisess null of "a0000001"
    response_item {"content":[{"text":"Old.","type":"input_text"}],"role":"user","type":"message"} of "a0000002"
    event_msg {"message":"Old.","type":"user_message"} of null
    response_item {"content":[{"text":"Look. [image]","type":"input_text"}],"role":"user","type":"message"} of "a0000003"
    event_msg {"message":"Look. [image]","type":"user_message"} of null
    response_item {"content":[{"text":"I look.","type":"output_text"}],"role":"assistant","type":"message"} of "a0000004"
    response_item {"arguments":"{\"cmd\":\"ls\"}","call_id":"call_1","name":"exec_command","type":"function_call"} of null
    response_item {"arguments":"{\"cmd\":\"sed -n '2,$p' 'a'\"}","call_id":"call_1_2","name":"exec_command","type":"function_call"} of null
    response_item {"call_id":"c3","input":"*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** End Patch","name":"apply_patch","status":"completed","type":"custom_tool_call"} of null
    response_item {"call_id":"c4","input":"*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n@@\n-p\n+q\n*** End Patch","name":"apply_patch","status":"completed","type":"custom_tool_call"} of null
    response_item {"call_id":"c5","input":"*** Begin Patch\n*** Add File: b\n+z\n*** End Patch","name":"apply_patch","status":"completed","type":"custom_tool_call"} of null
    response_item {"arguments":"{\"add\":\"fly\"}","call_id":"c6","name":"todo","type":"function_call"} of null
    event_msg {"message":"I look.","type":"agent_message"} of null
    response_item {"call_id":"call_1","output":"a","type":"function_call_output"} of "a0000005" without content
    response_item {"call_id":"call_1_2","output":[{"image_url":"data:image/png;base64,aGk=","type":"input_image"}],"type":"function_call_output"} of "a0000006" without content
    pisess null of "a0000007"
    response_item {"call_id":"c3","output":"No result provided","type":"custom_tool_call_output"} of null
    response_item {"call_id":"c4","output":"No result provided","type":"custom_tool_call_output"} of null
    response_item {"call_id":"c5","output":"No result provided","type":"custom_tool_call_output"} of null
    response_item {"call_id":"c6","output":"No result provided","type":"function_call_output"} of null
    response_item {"content":[{"text":"Other.","type":"output_text"}],"role":"assistant","type":"message"} of "a0000008"
    event_msg {"message":"Other.","type":"agent_message"} of null
    pisess null of "a0000009"
    response_item {"content":[{"text":"Ran `pwd`\n```\n/\n```","type":"input_text"}],"role":"user","type":"message"} of "a000000a" without content
    event_msg {"message":"Ran `pwd`\n```\n/\n```","type":"user_message"} of null
    response_item {"content":[{"text":"Wind.","type":"input_text"}],"role":"user","type":"message"} of "a000000b"
    pisess null of "a000000c"
    event_msg {"thread_id":"019df2dc-0a00-726b-9b5c-564f5be49767","thread_name":"Kites","type":"thread_name_updated"} of "a000000d"
    compacted {"message":"The conversation history before this point was compacted into the following summary:\n\n<summary>\nMuch.\n</summary>","replacement_history":[{"content":[{"text":"The conversation history before this point was compacted into the following summary:\n\n<summary>\nMuch.\n</summary>","type":"input_text"}],"role":"user","type":"message"},{"content":[{"text":"Look. [image]","type":"input_text"}],"role":"user","type":"message"},{"content":[{"text":"I look.","type":"output_text"}],"role":"assistant","type":"message"},{"arguments":"{\"cmd\":\"ls\"}","call_id":"call_1","name":"exec_command","type":"function_call"},{"arguments":"{\"cmd\":\"sed -n '2,$p' 'a'\"}","call_id":"call_1_2","name":"exec_command","type":"function_call"},{"call_id":"c3","input":"*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** End Patch","name":"apply_patch","status":"completed","type":"custom_tool_call"},{"call_id":"c4","input":"*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n@@\n-p\n+q\n*** End Patch","name":"apply_patch","status":"completed","type":"custom_tool_call"},{"call_id":"c5","input":"*** Begin Patch\n*** Add File: b\n+z\n*** End Patch","name":"apply_patch","status":"completed","type":"custom_tool_call"},{"arguments":"{\"add\":\"fly\"}","call_id":"c6","name":"todo","type":"function_call"},{"call_id":"call_1","output":"a","type":"function_call_output"},{"call_id":"call_1_2","output":[{"image_url":"data:image/png;base64,aGk=","type":"input_image"}],"type":"function_call_output"},{"call_id":"c3","output":"No result provided","type":"custom_tool_call_output"},{"call_id":"c4","output":"No result provided","type":"custom_tool_call_output"},{"call_id":"c5","output":"No result provided","type":"custom_tool_call_output"},{"call_id":"c6","output":"No result provided","type":"function_call_output"},{"content":[{"text":"Other.","type":"output_text"}],"role":"assistant","type":"message"},{"content":[{"text":"Ran `pwd`\n```\n/\n```","type":"input_text"}],"role":"user","type":"message"},{"content":[{"text":"Wind.","type":"input_text"}],"role":"user","type":"message"}]} of "a000000e"
    pisess null of "a000000f"
    response_item {"arguments":"{\"cmd\":\"ls\"}","call_id":"c3_2","name":"exec_command","type":"function_call"} of "a0000010"
    response_item {"call_id":"c3_2","output":"No result provided","type":"function_call_output"} of null
    "#);
    assert_eq!(brought_back(&s, "codex.jsonl"), lines);
}

/// What Codex writes after the lines of pisess follows, and a rollback goes back to a turn of pi.
#[test]
fn what_codex_adds_follows() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    s.run("fork -q --for codex ./two-branches.jsonl -o ./codex.jsonl");
    let added = [
        r#"{"timestamp":"2026-06-01T00:00:00.000Z","type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":1}}"#,
        r#"{"timestamp":"2026-06-01T00:00:01.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Fly."}]}}"#,
    ];
    s.put(
        "codex.jsonl",
        s.text("codex.jsonl") + "\n" + &added.join("\n") + "\n",
    );
    assert_snapshot!(s.run("tree ./codex.jsonl --filter all"), @r"
    1a2b3c01  • [start] user: Which paper for a kite?
    1a2b3c02  • assistant: Tissue paper is light, washi is strong.
    1a2b3c06  ├─ user: Washi then. How big?  (2 messages, 4mo)
    1a2b3c07  │  assistant: A metre and more, with a bamboo spar.
    27aa2424  │  label: start
    3569d4ad  • custom: codex.event_msg.thread_rolled_back
    858728ad  • user: Fly.
    70f85fcc  • custom: foreign_session_import  ← active
    ");
}

/// `--name` names the new session, in whichever format it is written; the source keeps its own.
#[test]
fn fork_name_names_the_new_session() {
    let s = Sandbox::with(&["tour.jsonl"]);
    let name_of = |path: &str| {
        let row = s.run(&format!("list --json ./{path}"));
        let row: serde_json::Value = serde_json::from_str(&row).unwrap();
        row["name"].clone()
    };
    for (line, path) in [
        (
            "fork --name 'narrow gauge' ./tour.jsonl -o ./pi.jsonl",
            "pi.jsonl",
        ),
        (
            "fork --name 'narrow gauge' --for omp ./tour.jsonl -o ./omp.jsonl",
            "omp.jsonl",
        ),
        (
            "fork --name 'narrow gauge' --for pi ./omp.jsonl -o ./back.jsonl",
            "back.jsonl",
        ),
        (
            "fork --name 'narrow gauge' --subtree ./tour.jsonl @~4 -o ./sub.jsonl",
            "sub.jsonl",
        ),
    ] {
        s.run(line);
        assert_eq!(name_of(path), "narrow gauge", "{line}");
        s.run(&format!("check -q ./{path}"));
        let lines = s.text(path);
        let added = lines
            .lines()
            .filter(|line| line.contains("narrow gauge"))
            .count();
        // oh-my-pi has the name in the title line and in the header.
        let expected = if path == "omp.jsonl" { 2 } else { 1 };
        assert_eq!(added, expected, "{line}: {lines}");
    }
    let blank = s.unchanged("fork --name ' ' ./tour.jsonl").fails(2);
    assert!(blank.contains("the name is empty"), "{blank}");
    assert!(name_of("tour.jsonl").is_null());
    s.run("fork --name 'narrow gauge' --for claude ./tour.jsonl -o ./claude.jsonl");
    let listed = s.run("list --source claude ./claude.jsonl");
    assert!(listed.contains("narrow gauge"), "{listed}");
}

/// A copy of all branches may have a name of its own. All lines of the original are in it, in the
/// older formats migrated.
#[test]
fn fork_of_all_branches_has_a_name() {
    for file in [
        "two-branches.jsonl",
        "omp.jsonl",
        "v1.jsonl",
        "v2.jsonl",
        "draft-tree.jsonl",
    ] {
        let s = Sandbox::with(&[file]);
        s.run(&format!("fork --branches ./{file} -o ./plain.jsonl"));
        let named = format!("fork --branches --name 'The laptop' ./{file} -o ./named.jsonl");
        let planned = s.run(&format!("{named} -n --json"));
        assert!(planned.contains("The laptop"), "{file}: {planned}");
        s.run(&named);

        let listed = s.run("list --json ./named.jsonl");
        assert!(
            listed.contains(r#""name":"The laptop""#),
            "{file}: {listed}"
        );
        let without_head = |name: &str| {
            let text = s.text(name);
            let lines = text
                .lines()
                .filter(|line| !line.starts_with(r#"{"type":"title","#));
            lines.skip(1).map(str::to_owned).collect::<Vec<_>>()
        };
        let (plain, named) = (without_head("plain.jsonl"), without_head("named.jsonl"));
        assert_eq!(named[..plain.len()], plain[..], "{file}");
        assert_eq!(named.len(), plain.len() + 1, "{file}");
        let path = |name: &str| s.run(&format!("path --ids ./{name} @"));
        assert_eq!(path("named.jsonl"), path("plain.jsonl"), "{file}");
        assert_eq!(
            s.pisess("check -q ./named.jsonl").done().code,
            s.pisess("check -q ./plain.jsonl").done().code,
            "{file}"
        );
    }
}

#[test]
fn fork_without_thinking_changes_nothing_else() {
    for file in [
        "tour.jsonl",
        "omp.jsonl",
        "kinds/pi.jsonl",
        "kinds/omp.jsonl",
    ] {
        let s = Sandbox::with(&[file]);
        let name = file.rsplit('/').next().unwrap();
        for form in ["", "--branches", "--subtree"] {
            let reference = if form == "--subtree" { "root" } else { "" };
            let fork = |option: &str, to: &str| {
                s.run(&format!(
                    "fork {form} {option} -o ./{to} ./{name} {reference} --force"
                ));
                s.text(to)
                    .lines()
                    .map(|line| serde_json::from_str(line).unwrap())
                    .collect::<Vec<Value>>()
            };
            let mut whole = fork("", "whole.jsonl");
            let without = fork("--no-thinking", "without.jsonl");
            for entry in &mut whole {
                if entry["message"]["role"] == "assistant"
                    && let Some(blocks) = entry["message"]["content"].as_array_mut()
                {
                    blocks.retain(|block| {
                        block["type"] != "thinking" && block["type"] != "redactedThinking"
                    });
                }
            }
            assert_eq!(without, whole, "{file} {form}");
            assert!(
                !s.text("without.jsonl").contains(r#""type":"thinking""#),
                "{file} {form}"
            );
        }
    }
}

/// No copy of the thinking is kept for the way back, as other things are that an agent lacks.
#[test]
fn fork_without_thinking_for_another_agent_has_none() {
    let s = Sandbox::with(&["kinds/omp.jsonl", "tour.jsonl"]);
    for (file, agents) in [
        ("omp.jsonl", ["pi", "claude", "codex"]),
        ("tour.jsonl", ["omp", "claude", "codex"]),
    ] {
        for agent in agents {
            s.run(&format!(
                "fork -q --no-thinking --for {agent} ./{file} -o ./out --force"
            ));
            let text = s.text("out");
            for kind in [
                "thinking",
                "redactedThinking",
                "redacted_thinking",
                "reasoning",
            ] {
                assert!(
                    !text.contains(&format!(r#""type":"{kind}""#)),
                    "{file} {agent} {kind}"
                );
            }
        }
    }
}
