//! An empty result says so on standard error, with the next thing to try.

use crate::sandbox::{Done, Sandbox, fixture};
use insta::assert_snapshot;

/// Runs a command line in a sandbox that is the home directory.
fn at_home(line: &str, s: &Sandbox) -> Done {
    s.pisess(line).at_home().done()
}

/// Asserts that nothing is printed but a note on standard error, and nothing at all with `-q`;
/// returns the note.
#[track_caller]
fn note(line: &str, s: &Sandbox) -> String {
    let done = at_home(line, s);
    assert_eq!(done.text(), "", "{line}");
    let quiet = at_home(&format!("{line} -q"), s);
    assert_eq!((quiet.code, &*quiet.stderr), (done.code, ""), "{line}");
    let lines: Vec<_> = done.stderr.lines().collect();
    assert_eq!(lines.len(), 1, "{line}: {}", done.stderr);
    lines[0].to_owned()
}

#[test]
fn empty_stores() {
    for has_store in [false, true] {
        let s = Sandbox::new();
        if has_store {
            std::fs::create_dir_all(s.path(".pi/agent/sessions")).unwrap();
        }
        for line in [
            "list --all",
            "list --all --json",
            "grep --all x",
            "stats --all",
            "check --all",
            "migrate --check --all",
            "redact --check --all",
        ] {
            assert_eq!(
                note(line, &s),
                "pisess: note: no sessions in the stores of pi and oh-my-pi (hint: `pisess help sessions` says where they are)",
                "{line}"
            );
        }
    }
}

#[test]
fn no_sessions_of_another_agent() {
    let s = Sandbox::new();
    s.put("project/notes.txt", "");
    assert_snapshot!(note("list --source claude", &s), @"pisess: note: no sessions of Claude Code for the current directory (hint: `pisess list --source claude --all` includes all projects)");
    assert_snapshot!(note("list --source codex --all", &s), @"pisess: note: no sessions of Codex (hint: they are in ~/.codex/sessions, unless CODEX_HOME is set)");
    assert_snapshot!(note("import -n ./project", &s), @"pisess: note: no sessions of Claude Code, Codex, OpenCode or Gemini CLI in these directories (hint: `pisess list --source claude --all`, `--source codex --all`, `--source opencode --all` and `--source gemini --all` list what could be imported)");
    s.put(
        ".claude/projects/-kites/tree.jsonl",
        fixture("claude/tree.jsonl"),
    );
    assert_eq!(
        at_home("list --source claude --all -l", &s)
            .text()
            .lines()
            .count(),
        1
    );
    assert_snapshot!(note("list --source claude", &s), @"pisess: note: no sessions of Claude Code for the current directory (hint: `pisess list --source claude --all` includes all projects)");
    assert_snapshot!(note("list --source claude ./project", &s), @"pisess: note: no sessions of Claude Code in these files and directories (hint: `pisess list --source claude --all` lists all projects)");
    assert_snapshot!(note("import ./project -o -", &s), @"pisess: note: no sessions of Claude Code, Codex, OpenCode or Gemini CLI in these directories (hint: `pisess list --source claude --all`, `--source codex --all`, `--source opencode --all` and `--source gemini --all` list what could be imported)");
}

/// Files that `list` cannot read say whose they are, and which option reads them.
#[test]
fn only_sessions_of_other_agents() {
    let s = Sandbox::new();
    s.put("one/tree.jsonl", fixture("claude/tree.jsonl"));
    assert_snapshot!(note("list ./one", &s), @"pisess: note: no sessions of pi or oh-my-pi among the files found, only of Claude Code (hint: add `--source claude` to list them)");
    let file = at_home("list ./one/tree.jsonl", &s).fails(2);
    assert!(
        file.contains("`pisess list --source claude` lists it"),
        "{file}"
    );
    let found = at_home("list --source claude ./one -l", &s).quiet();
    assert_eq!(found, "./one/tree.jsonl\n");
    let codex = r#"{"timestamp":"2026-01-01T00:00:00.000Z","type":"session_meta","payload":{"id":"0199","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p","originator":"codex_cli_rs","cli_version":"0.171.0"}}"#;
    s.put("one/rollout.jsonl", format!("{codex}\n"));
    let both = note("list ./one", &s);
    assert!(
        both.contains("Claude Code") && both.contains("Codex"),
        "{both}"
    );
    assert!(
        both.contains("`--source claude`") && both.contains("`--source codex`"),
        "{both}"
    );
    s.put("two/other.jsonl", "{}\n");
    assert!(note("list ./two", &s).contains("no sessions among the files found"));
}

#[test]
fn no_archived_sessions() {
    let s = Sandbox::new();
    let session = ".pi/agent/sessions/--kites--/s.jsonl";
    s.put(session, fixture("tour.jsonl"));
    assert_snapshot!(note("archive --list", &s), @"pisess: note: no archived sessions here (hint: --all lists all projects)");
    assert_snapshot!(note("archive --list --all", &s), @"pisess: note: no archived sessions (hint: `pisess archive SESSION` archives one)");
    assert_snapshot!(note("archive --empty --all", &s), @"pisess: no sessions to archive (hint: `pisess list --all` lists the sessions)");
    assert_eq!(at_home(&format!("archive ./{session}"), &s).code, 0);
    assert_snapshot!(note("archive --list", &s), @"pisess: note: no archived sessions here (hint: --all lists all projects)");
    assert_snapshot!(note("archive --list --all --empty", &s), @"pisess: note: no archived session matches these options (hint: omit them)");
}

/// What a repair passes over is not reported as if it were repaired.
#[test]
fn a_repair_that_reaches_no_session() {
    let s = Sandbox::new();
    s.put("store/below/s.jsonl", fixture("hazards/torn-tail.jsonl"));
    assert_eq!(at_home("check --repair -n ./store", &s).code, 0);
    assert_snapshot!(note("check --repair --backup ./store", &s), @"pisess: note: ~/store: no *.jsonl files found, and subdirectories are left out (hint: -r includes them)");
    assert_snapshot!(at_home("check --repair --backup -r ./store", &s), @"
    ./store/below/s.jsonl:5: repaired: the last line is incomplete: its write was interrupted (entry a0000004)
        it is removed
    2> pisess: 70 B that are no longer in the session are kept in ~/store/below/s.jsonl.rejected; everything else is still there; the old file is ~/store/below/s.jsonl.bak
    2> pisess: 1 repaired, 0 left
    ");
}

#[test]
fn a_session_without_rows() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    s.put("empty.jsonl", fixture("hazards/header-only.jsonl"));
    for line in ["tree", "tree --json", "path", "path --json", "branches"] {
        let line = format!("{line} ./empty.jsonl");
        let said = note(&line, &s);
        assert_eq!(
            said,
            "pisess: note: the session has no entries (hint: `pisess list --all` lists others)",
            "{line}"
        );
    }
    assert_snapshot!(note("label ./empty.jsonl", &s), @"pisess: note: no entry has a label (hint: `pisess label SESSION REF NAME` sets one)");
    assert_snapshot!(note("label ./two-branches.jsonl root", &s), @"pisess: note: the entry has no label (hint: `pisess label SESSION REF NAME` sets one)");
    assert_snapshot!(note("path ./two-branches.jsonl root", &s), @"pisess: note: no entry is above the root (hint: omit REF for the leaf)");
    assert_snapshot!(note("tree --search nowhere ./two-branches.jsonl", &s), @"pisess: note: no entry matches (hint: `--filter all` includes every entry)");
    assert_snapshot!(note("tree --search nowhere --filter all ./two-branches.jsonl", &s), @"pisess: note: no entry matches (hint: `pisess grep` searches other sessions, too)");
    assert_eq!(
        at_home("tree --search nowhere ./two-branches.jsonl", &s).code,
        1
    );
}
