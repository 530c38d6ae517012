//! `pisess check`: findings, and the repair of what can be repaired.

use crate::sandbox::{Done, Sandbox, fixture, hazards};
use insta::assert_snapshot;

const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}"#;

fn user(id: &str, parent: &str) -> String {
    let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-01-01T00:00:01.000Z","message":{{"role":"user","content":"said {id}"}}}}"#
    )
}

fn session(lines: &[&str]) -> String {
    [HEADER].iter().chain(lines).map(|line| format!("{line}\n")).collect()
}

/// A session with a bit of everything: a torn line before an entry, what hung on it, a twin, a
/// cycle, a value that is no entry, and a cut end.
fn damaged() -> String {
    let torn = &user("aaaa0002", "aaaa0001")[..90];
    let fused = format!("{torn}{}", user("aaaa0003", "aaaa0002"));
    let lines = [
        &user("aaaa0001", "")[..],
        &fused,
        "null",
        &user("aaaa0004", "aaaa0004"),
        &user("aaaa0001", "aaaa0004"),
        &user("aaaa0005", "gone"),
    ];
    session(&lines) + r#"{"type":"mess"#
}

/// The rows of `--json` as `line severity kind`, with a star where a repair helps.
fn kinds(done: &Done) -> String {
    let rows = std::str::from_utf8(&done.stdout).unwrap().lines();
    let row = |line: &str| {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let star = if row["repairable"] == true { "*" } else { "" };
        format!(
            "{} {} {}{star}",
            row["line"],
            row["severity"].as_str().unwrap(),
            row["kind"].as_str().unwrap()
        )
    };
    rows.map(row).collect::<Vec<_>>().join(", ")
}

#[test]
fn tells_what_is_wrong_and_what_it_means() {
    let s = Sandbox::new();
    s.put("s.jsonl", damaged());
    assert_snapshot!(s.unchanged("check ./s.jsonl"), @"");
}

#[test]
fn a_sound_session_has_no_findings() {
    let s = Sandbox::with(&["tour.jsonl", "two-branches.jsonl", "omp.jsonl"]);
    let done = s.unchanged("check ./two-branches.jsonl");
    assert_eq!((done.text().as_str(), done.code), ("", 0));
    assert_snapshot!(s.unchanged("check ."), @"");
    assert_snapshot!(s.unchanged("check --quiet ./two-branches.jsonl"), @"");
}

#[test]
fn notes_alone_are_no_reason_to_fail() {
    let s = Sandbox::with(&["v1.jsonl"]);
    assert_snapshot!(s.unchanged("check ./v1.jsonl"), @"");
}

#[test]
fn a_row_for_each_finding() {
    let s = Sandbox::new();
    s.put("s.jsonl", session(&[&user("a", ""), &user("b", "gone")]));
    assert_snapshot!(s.unchanged("check --json ./s.jsonl"), @"");
}

#[test]
fn folders_are_walked_and_the_worst_wins() {
    let s = Sandbox::new();
    s.put("in/a.jsonl", session(&[&user("a", "")]));
    s.put("in/b.jsonl", session(&["null"]));
    s.put("in/deep/c.jsonl", session(&["5"]));
    s.put("in/d.txt", "no session");
    assert_snapshot!(s.unchanged("check ./in"), @"");
    assert_snapshot!(s.unchanged("check -q -r ./in"), @"");
    s.put("in/e.jsonl", "no session\n");
    assert_snapshot!(s.unchanged("check -q ./in ./none"), @"");
}

#[test]
fn standard_input_is_checked_and_repaired() {
    let s = Sandbox::new();
    let fused = session(&[&format!("{}{}", user("a", ""), user("b", "a"))]);
    assert_snapshot!(s.pisess("check -").stdin(fused.clone()).done(), @"");
    let done = s.pisess("check --repair -q -").stdin(fused).done();
    assert_eq!(done.quiet(), session(&[&user("a", ""), &user("b", "a")]));
    // What is taken out would have no place.
    let torn = session(&[&user("a", ""), "torn"]);
    assert_snapshot!(s.pisess("check --repair -").stdin(torn).done().fails(2), @"");
    assert_eq!(s.names(), [""; 0]);
}

#[test]
fn repairs_into_another_file() {
    let s = Sandbox::new();
    s.put("s.jsonl", damaged());
    assert_snapshot!(s.pisess("check --repair -o ./out.jsonl ./s.jsonl").done(), @"");
    assert_eq!(s.names(), ["out.jsonl", "out.jsonl.rejected", "s.jsonl"]);
    assert_eq!(s.text("s.jsonl"), damaged());
    assert_snapshot!(s.text("out.jsonl"), @"");
    assert_snapshot!(s.text("out.jsonl.rejected"), @"");
    assert_snapshot!(s.unchanged("check ./out.jsonl"), @"");
}

#[test]
fn what_was_taken_out_is_never_overwritten() {
    let s = Sandbox::new();
    s.put("s.jsonl", session(&["one"]));
    s.put("s.jsonl.rejected", "mine");
    s.put("s.jsonl.rejected.1", "mine too");
    s.pisess("check --repair --backup ./s.jsonl").done();
    assert_eq!(s.text("s.jsonl"), session(&[]));
    assert_eq!(s.text("s.jsonl.bak"), session(&["one"]));
    assert_eq!(s.text("s.jsonl.rejected"), "mine");
    assert_eq!(s.text("s.jsonl.rejected.1"), "mine too");
    assert_eq!(s.text("s.jsonl.rejected.2"), "one\n");
}

#[test]
fn in_place_only_with_a_backup() {
    let s = Sandbox::new();
    s.put("s.jsonl", session(&[&user("a", "a")]));
    assert_snapshot!(s.unchanged("check --repair ./s.jsonl").fails(2), @"");
    s.put("s.jsonl.old", "mine");
    assert_snapshot!(s.unchanged("check --repair --backup=.old ./s.jsonl").fails(2), @"");
    assert_snapshot!(s.pisess("check --repair --backup ./s.jsonl").done(), @"");
    assert_eq!(s.text("s.jsonl"), session(&[&user("a", "")]));
    assert_eq!(s.text("s.jsonl.bak"), session(&[&user("a", "a")]));
    // Nothing is left to do, so no second backup is made or asked for.
    assert_snapshot!(s.unchanged("check --repair --backup ./s.jsonl"), @"");
}

#[test]
fn a_dry_run_changes_nothing() {
    let s = Sandbox::new();
    s.put("s.jsonl", session(&[&user("a", "a"), "torn"]));
    assert_snapshot!(s.unchanged("check --repair -n ./s.jsonl"), @"");
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let s = Sandbox::new();
    s.put("s.jsonl", session(&["torn"]));
    s.put("there.jsonl", "mine");
    assert_snapshot!(s.unchanged("check --repair -o ./there.jsonl ./s.jsonl").fails(2), @"");
    assert_snapshot!(s.unchanged("check --repair -o ./s.jsonl ./s.jsonl").fails(2), @"");
    assert_snapshot!(s.unchanged("check --repair -o ./x.jsonl ./s.jsonl ./there.jsonl").fails(2), @"");
    assert_snapshot!(s.unchanged("check -o ./x.jsonl ./s.jsonl").fails(2), @"");
    assert_snapshot!(s.unchanged("check --repair -o ./x.jsonl ./there.jsonl").fails(2), @"");
}

#[test]
fn nothing_of_a_session_acts_on_a_terminal() {
    let s = Sandbox::new();
    let hostile = r#"{"type":"\u001b[31m\u202e","id":"\u001b]0;x\u0007","parentId":"\r\u009b","timestamp":"2026-01-01T00:00:01.000Z"}"#;
    s.put("s\u{1b}[2J.jsonl", session(&[hostile]));
    let done = s.unchanged("check .");
    let said = format!("{}{}", done.text(), done.stderr);
    assert!(!said.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}'), "{said:?}");
    assert!(said.contains("\\u{1b}") || said.contains('␛'), "{said}");
}

#[test]
fn every_hazard_is_told() {
    let s = Sandbox::new();
    let mut told = String::new();
    for name in hazards() {
        s.put("h.jsonl", fixture(&format!("hazards/{name}.jsonl")));
        let done = s.unchanged("check --json ./h.jsonl");
        let what = if done.code == 2 { done.stderr.trim_end().to_owned() } else { kinds(&done) };
        told += &format!("{name}: {} {what}\n", done.code);
    }
    assert_snapshot!(told, @"");
}

#[test]
fn every_hazard_is_repaired_once_and_for_all() {
    for name in hazards() {
        let s = Sandbox::new();
        let bytes = fixture(&format!("hazards/{name}.jsonl"));
        s.put("h.jsonl", &bytes);
        let code = s.pisess("check --repair -o ./once.jsonl ./h.jsonl").done().code;
        assert_eq!(s.bytes("h.jsonl"), bytes, "{name}");
        if code == 2 {
            assert_eq!(s.names(), ["h.jsonl"], "{name}");
            continue;
        }
        let checked = s.unchanged("check --json ./once.jsonl");
        assert_eq!(checked.code, code, "{name}: the exit code is that of a check of the result");
        assert!(!kinds(&checked).contains('*'), "{name}: {}", kinds(&checked));
        s.pisess("check --repair -o ./twice.jsonl ./once.jsonl").done();
        assert_eq!(s.bytes("twice.jsonl"), s.bytes("once.jsonl"), "{name}");
        assert!(!s.names().contains(&"twice.jsonl.rejected".to_owned()), "{name}");
        s.unchanged("tree ./once.jsonl");
    }
}
