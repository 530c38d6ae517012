//! `pisess prune` of many sessions: a directory, a project, all projects.

use crate::names::Desk;
use crate::prune::large;
use crate::prune_compacted::compacted;
use crate::sandbox::{Sandbox, fixture};
use insta::assert_snapshot;
use serde_json::{Value, json};

/// Two sessions with payloads, one without, and one in a subdirectory.
fn with_sessions() -> Sandbox {
    let s = Sandbox::new();
    s.put("p/a.jsonl", large());
    s.put("p/b.jsonl", large().replace("\"id\":\"s\"", "\"id\":\"t\""));
    s.put("p/c.jsonl", fixture("two-branches.jsonl"));
    s.put(
        "p/deep/d.jsonl",
        large().replace("\"id\":\"s\"", "\"id\":\"u\""),
    );
    s
}

#[test]
fn a_directory_has_one_preview_and_a_total() {
    let s = with_sessions();
    let before = s.files();
    let plan = s.pisess("prune -q -n ./p --over 1k").at_home().done();
    assert_snapshot!(plan, @"
      size  session           parts       session size
    9.3 kB  ~/p/a.jsonl       5 payloads  11 kB to 1.2 kB
    9.3 kB  ~/p/b.jsonl       5 payloads  11 kB to 1.2 kB
    9.3 kB  ~/p/deep/d.jsonl  5 payloads  11 kB to 1.2 kB
     28 kB  total             3 sessions
    3 of 4 sessions would be pruned; 33 kB to 5.1 kB
    ");
    assert!(s.files() == before);
    let rows = s.unchanged("prune -q -n ./p --over 1k --json").text();
    let rows: Vec<Value> = rows
        .lines()
        .map(|row| serde_json::from_str(row).unwrap())
        .collect();
    assert_eq!(rows.len(), 4);
    assert_eq!(
        rows[0],
        json!({"path": "./p/a.jsonl", "action": "rewrite", "dryRun": true, "pruned": "./p/a.jsonl.pruned",
            "payloads": 5, "entries": 0, "branches": 0, "secrets": 0, "bytes": 9296})
    );
    assert_eq!(
        (&rows[2]["action"], &rows[2]["bytes"]),
        (&json!("nothing"), &json!(0))
    );

    // Without -r, what is in a subdirectory stays.
    let done = s.pisess("prune ./p --over 1k").done();
    let shown_paths = done.text();
    let notes: String = done
        .stderr
        .lines()
        .filter(|line| !line.contains("malformed"))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_snapshot!(notes, @r"
    pisess: note: ./p: subdirectories are left out (hint: -r includes them)
    pisess: note: ./p/a.jsonl: line 3 is not JSON; skipped or read as far as possible (hint: `pisess check` explains it)
    pisess: note: ./p/b.jsonl: line 3 is not JSON; skipped or read as far as possible (hint: `pisess check` explains it)
    pisess: ./p/a.jsonl: 5 payloads pruned, 9.3 kB; session 11 kB to 1.2 kB
    pisess: ./p/b.jsonl: 5 payloads pruned, 9.3 kB; session 11 kB to 1.2 kB
    pisess: 2 of 3 sessions pruned, 19 kB
    pisess: SESSION.pruned holds what was pruned (hint: --restore puts it back; --purge removes it for good)
    ");
    assert_eq!(shown_paths, "./p/a.jsonl.pruned\n./p/b.jsonl.pruned\n");
    assert_eq!(
        s.text("p/deep/d.jsonl"),
        large().replace("\"id\":\"s\"", "\"id\":\"u\"")
    );

    let restored = s.pisess("prune --restore -r ./p").done();
    let notes: Vec<_> = restored
        .stderr
        .lines()
        .filter(|line| !line.contains("malformed"))
        .collect();
    assert_eq!(notes.last(), Some(&"pisess: 2 of 4 sessions restored"));
    assert_eq!(s.text("p/a.jsonl"), large());
}

#[test]
fn one_failure_does_not_stop_the_others() {
    let s = with_sessions();
    s.put("p/a0.jsonl", "not a session\n");
    let done = s
        .pisess("prune ./p/a.jsonl ./p/none.jsonl ./p/b.jsonl --over 1k")
        .done();
    assert_eq!(done.code, 2);
    assert!(done.stderr.contains("./p/none.jsonl"), "{done}");
    assert!(
        done.stderr
            .contains("pisess: 2 of 2 sessions pruned, 19 kB\n"),
        "{done}"
    );
    let done = s.pisess("prune ./p --over 100 -r").done();
    assert_eq!(done.code, 2);
    assert!(done.stderr.contains("a0.jsonl"), "{done}");
    assert!(s.names().contains(&"p/deep/d.jsonl.pruned".to_owned()));
}

#[test]
fn options_choose_sessions() {
    let d = Desk::new();
    let old = d.pi("0199aaaa-1111", 0, &[]);
    let new = d.pi("0199bbbb-2222", 0, &[]);
    let result = |minute: u64| {
        json!({"type": "message", "id": "aaaa0002", "parentId": "aaaa0001", "timestamp": crate::names::time(minute),
            "message": {"role": "toolResult", "toolCallId": "c", "toolName": "bash", "isError": false,
                "content": [{"type": "text", "text": "x".repeat(2000)}]}})
    };
    d.s.put(&old, format!("{}{}\n", d.s.text(&old), result(1)));
    d.s.put(
        &new,
        format!(
            "{}{}\n",
            d.s.text(&new).replace("02:40:00", "03:40:00"),
            result(2)
        ),
    );
    let chosen = |options: &str| -> Vec<String> {
        let planned = d
            .pisess(&format!("prune -q -n --json --over 1k {options}"))
            .done()
            .quiet();
        planned
            .lines()
            .map(|row| serde_json::from_str::<Value>(row).unwrap())
            .map(|row| {
                row["path"]
                    .as_str()
                    .unwrap()
                    .rsplit_once('_')
                    .unwrap()
                    .1
                    .to_owned()
            })
            .collect()
    };
    let (old, new) = ("0199aaaa-1111.jsonl", "0199bbbb-2222.jsonl");
    assert_eq!(chosen("--all"), [old, new]);
    assert_eq!(chosen("--all --older-than 2026-02-02T03:00:00Z"), [old]);
    assert_eq!(chosen("--all --larger-than 1k"), [old, new]);
    assert_eq!(chosen("--all --larger-than 1M"), [""; 0]);
    assert_eq!(
        chosen(&format!("--project {}", d.s.path("").display())),
        [old, new]
    );
    assert_eq!(
        d.pisess("prune --all -n --larger-than 1M").done().stderr,
        "pisess: no sessions to prune (hint: omit --older-than and --larger-than)\n"
    );
    assert!(
        d.pisess("prune --branch @ --all")
            .done()
            .fails(2)
            .contains("--branch")
    );
    assert!(
        d.pisess("prune --all -o x.jsonl")
            .done()
            .fails(2)
            .starts_with("-o applies to one session")
    );
}

/// A plan that finds little reports which option would remove more, with the figure.
#[test]
fn little_is_explained() {
    let s = with_sessions();
    let little = s.unchanged("prune -n ./p/a.jsonl").stderr;
    assert_eq!(
        little.lines().last(),
        Some("pisess: more with other options: `--over 1k` would remove 9.3 kB")
    );
    let little = s.unchanged("prune -n ./p").stderr;
    assert!(
        little.contains("pisess: more with other options: `--over 1k` would remove 28 kB\n"),
        "{little}"
    );
    let enough = s.unchanged("prune -n ./p/a.jsonl --over 1k").stderr;
    assert!(!enough.contains("would remove"), "{enough}");

    s.put("compacted.jsonl", compacted());
    let before = s.bytes("compacted.jsonl").len();
    let hint = s.unchanged("prune -n ./compacted.jsonl").stderr;
    assert_snapshot!(hint, @"pisess: more with other options: `--compacted` would remove 1.2 kB");
    s.pisess("prune ./compacted.jsonl --compacted").done();
    assert!(s.bytes("compacted.jsonl").len() < before);
}

/// Sizes that do not change are not worth a row.
#[test]
fn a_plan_without_anything_to_remove_says_so() {
    let s = Sandbox::new();
    s.put("p/c.jsonl", fixture("two-branches.jsonl"));
    let planned = s.unchanged("prune -q -n ./p --over 1k").text();
    assert!(
        planned.contains("nothing would be removed from 1 session\n"),
        "{planned}"
    );
}
