//! `pisess fork`: a new session from a path of another.

use crate::sandbox::{Sandbox, fixture};
use insta::assert_snapshot;

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
    dc705e93  • ── compaction: 12.5k tokens · Make waiting times right across midnight in `ferry`. ──
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
    c24d8cb7  • ── compaction: 1.9k tokens · Carrots from March, beans from mid-May. ──
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
    • ── compaction: 12.5k tokens · Make waiting times right across midnight in `ferry`. ──
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
    • ── compaction: 12.5k tokens · Make waiting times right across midnight in `ferry`. ──
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
