//! `--branch`: a branch leaves the session, and comes back.

use crate::sandbox::{Sandbox, fixture, hazards, session, user};
use insta::assert_snapshot;
use std::fs::File;
use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

fn tour() -> Sandbox {
    Sandbox::with(&["tour.jsonl"])
}

#[test]
fn a_branch_leaves_and_comes_back() {
    let s = tour();
    let done = s.pisess("prune ./tour.jsonl --branch 5c07d14b").done();
    assert_snapshot!(done, @r"
    ./tour.jsonl.pruned
    2> pisess: ./tour.jsonl: 1 branch (8 entries) pruned, 3.6 kB; session 14 kB to 9.9 kB
    2> pisess: SESSION.pruned holds what was pruned (hint: --restore puts it back; --purge removes it for good)
    ");
    assert_snapshot!(s.pisess("branches -q ./tour.jsonl").done().text(), @r#"
       id        age  entries  tokens  last user message                                                                   outcome
    *  2f5dc03e  1mo       21    1.5k  [green] on 648dc1b3  Now a line for the changelog, for people who don't read code.  "Ferries after midnight no longer show as gone: asked at 23:50, the 00:10 departs in 20 minutes."
    "#);
    let tree = s
        .pisess("tree -q ./tour.jsonl --filter all --json")
        .done()
        .text();
    assert!(
        !tree.contains("3ac9d7e4") && tree.contains("2f5dc03e"),
        "{tree}"
    );
    assert_eq!(s.pisess("check ./tour.jsonl").done().code, 0);
    let rows = s.text("tour.jsonl.pruned");
    assert!(
        rows.starts_with(r#"{"session":"#) && rows.lines().count() > 8,
        "{rows}"
    );
    let restored = s.unchanged("prune -q -n ./tour.jsonl --restore").text();
    assert!(restored.contains("3ac9d7e4"), "{restored}");
    assert_snapshot!(s.pisess("prune ./tour.jsonl --restore").done(), @"
    2> pisess: ./tour.jsonl: 8 entries restored
    2> pisess: the file from before the prune is back: 13577 bytes, sha256 c8f85d5aaeeaeb426ba7c48159fff4b704f4096749cc90ca1f089cad0f537a7b
    ");
    assert_eq!(s.bytes("tour.jsonl"), fixture("tour.jsonl"));
    assert_eq!(s.names(), ["tour.jsonl"]);
}

#[test]
fn a_dry_run_lists_what_would_leave() {
    let s = tour();
    assert_snapshot!(s.unchanged("prune -q -n ./tour.jsonl --branch 5c07d14b").text(), @r#"
      size  id        entry
     227 B  3ac9d7e4  user: Just add a day when it comes out negative.
     747 B  8b16f09d  assistant: That is one line. I'll change it and run the tests.
     333 B  d43e5a21  edit: src/clock.rs
     560 B  72c0e8b6  assistant: (calls bash)
     402 B  15f9ad3c  bash: [failed] cargo test --quiet
     610 B  a6d84170  assistant: Two tests fail: a ferry that left five minutes ago now "departs in 23 h 55 min". Adding a day hides the past, and the board needs it.
     215 B  ee2b93f5  user: Hm. What would you do instead?
     526 B  5c07d14b  assistant: [failed] 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}
    3.6 kB  total     8 entries
    1 branch (8 entries); session 14 kB to 9.9 kB
    "#);
    let row = s
        .unchanged("prune -q -n ./tour.jsonl --branch 5c07d14b --json")
        .text();
    assert_snapshot!(row.lines().next().unwrap(), @r#"{"id":"3ac9d7e4","line":11,"field":null,"kind":"message","bytes":227}"#);
    assert_snapshot!(s.pisess("prune -q ./tour.jsonl --branch 5c07d14b --json").done().text(), @r#"{"path":"./tour.jsonl","action":"rewrite","dryRun":false,"pruned":"./tour.jsonl.pruned","payloads":0,"entries":8,"branches":1,"secrets":0,"bytes":3628}"#);
    assert_snapshot!(s.pisess("prune -q ./tour.jsonl --restore --json").done().text(), @r#"{"path":"./tour.jsonl","action":"rewrite","dryRun":false,"pruned":"./tour.jsonl.pruned","payloads":0,"entries":8,"branches":0,"secrets":0,"bytes":0}"#);
}

#[test]
fn the_active_branch_and_several_need_force() {
    let s = tour();
    let refusal = s.unchanged("prune -q ./tour.jsonl --branch @").fails(2);
    assert_snapshot!(refusal, @"./tour.jsonl: @ is on the active branch (hint: --force prunes it, and moves the leaf to f05b1e83)");
    assert_eq!(
        s.unchanged("prune -n ./tour.jsonl --branch @").fails(2),
        refusal
    );
    // Two branches, below an entry of a third.
    let lines = [
        user("aaaa0001", None, "a"),
        user("aaaa0002", Some("aaaa0001"), "b"),
        user("aaaa0003", Some("aaaa0002"), "c"),
        user("aaaa0004", Some("aaaa0002"), "d"),
        user("aaaa0005", Some("aaaa0001"), "e"),
    ];
    let whole = session(&lines);
    s.put("s.jsonl", &whole);
    assert_snapshot!(s.unchanged("prune -q ./s.jsonl --branch aaaa0002").fails(2), @"./s.jsonl: 2 branches end there: aaaa0004 aaaa0003 (hint: --force prunes them all; give an entry nearer to a tip to prune one)");
    s.pisess("prune -q ./s.jsonl --branch aaaa0002 --force")
        .done();
    assert_eq!(s.bytes("s.jsonl"), session(&[&lines[0], &lines[4]]));
    assert_snapshot!(s.unchanged("prune -q ./s.jsonl --branch @").fails(2), @"./s.jsonl: the session does not branch above @ (hint: `--entries '@^..'` removes this entry and all after it; `pisess branches` lists the branches)");
    s.pisess("prune -q ./s.jsonl --restore").done();
    assert_eq!(s.bytes("s.jsonl"), whole);
    // The leaf moves to the branch point, by a mark that leaves when the branch comes back.
    s.pisess("prune -q ./s.jsonl --branch @ --force").done();
    let pruned = s.text("s.jsonl");
    let mark = pruned.lines().last().unwrap();
    assert!(
        mark.contains("pisess.switch") && mark.contains(r#""parentId":"aaaa0001""#),
        "{mark}"
    );
    assert_eq!(
        s.pisess("context -q ./s.jsonl --as text").done().text(),
        "[User]: a\n"
    );
    s.pisess("prune -q ./s.jsonl --restore").done();
    assert_eq!(s.bytes("s.jsonl"), whole);
    // It stays if something was appended below it.
    s.pisess("prune -q ./s.jsonl --branch @ --force").done();
    s.pisess("append -q ./s.jsonl --user more").done();
    let added: Vec<_> = s
        .text("s.jsonl")
        .lines()
        .rev()
        .take(2)
        .map(str::to_owned)
        .collect();
    s.pisess("prune -q ./s.jsonl --restore").done();
    let text = String::from_utf8(whole).unwrap();
    assert_eq!(
        s.text("s.jsonl"),
        format!("{text}{}\n{}\n", added[1], added[0])
    );
}

#[test]
fn labels_and_the_name_of_the_session_stay() {
    let s = tour();
    s.pisess("switch -q ./tour.jsonl 5c07d14b").done();
    s.pisess("label -q ./tour.jsonl 0d9a6c31 start").done();
    s.pisess("label -q ./tour.jsonl ee2b93f5 gone").done();
    s.pisess("append -q ./tour.jsonl --name Ferries").done();
    s.pisess("switch -q ./tour.jsonl 2f5dc03e").done();
    let before = s.bytes("tour.jsonl");
    s.pisess("prune -q ./tour.jsonl --branch 5c07d14b").done();
    let labels = s.pisess("label -q ./tour.jsonl").done().text();
    assert!(
        labels.contains("start") && !labels.contains("gone"),
        "{labels}"
    );
    assert!(
        s.pisess("list -q ./tour.jsonl")
            .done()
            .text()
            .contains("Ferries")
    );
    assert_eq!(s.pisess("check ./tour.jsonl").done().code, 0);
    s.pisess("prune -q ./tour.jsonl --restore").done();
    assert_eq!(s.bytes("tour.jsonl"), before);
}

/// Several runs add to one file, and one `--restore` undoes them all, whatever was appended between
/// them.
#[test]
fn several_runs_are_undone_together() {
    let s = Sandbox::new();
    let large = |id: &str, parent: &str| {
        user(id, Some(parent), "").replace(
            r#""content":"""#,
            &format!(
                r#""content":[{{"type":"image","mimeType":"image/png","data":"{}"}}]"#,
                "AAAA".repeat(900)
            ),
        )
    };
    let lines = [
        user("aaaa0001", None, "a"),
        large("aaaa0002", "aaaa0001"),
        "broken".to_owned(),
        user("aaaa0003", Some("aaaa0002"), "c"),
        String::new(),
        large("aaaa0004", "aaaa0001"),
        user("aaaa0005", Some("aaaa0001"), "e"),
    ];
    let whole = session(&lines);
    s.put("s.jsonl", &whole);
    s.pisess("prune -q ./s.jsonl --over 1k").done();
    s.pisess("append -q ./s.jsonl --user one").done();
    s.pisess("prune -q ./s.jsonl --branch aaaa0003").done();
    s.pisess("append -q ./s.jsonl --user two").done();
    s.pisess("label -q ./s.jsonl aaaa0004 x").done();
    s.pisess("prune -q ./s.jsonl --branch aaaa0004").done();
    s.pisess("append -q ./s.jsonl --user three").done();
    assert_eq!(s.text("s.jsonl.pruned").lines().count(), 1 + 2 + 2 + 2);
    let pruned = s.text("s.jsonl");
    assert!(
        !pruned.contains(r#""id":"aaaa0004""#) && !pruned.contains("aaaa0002"),
        "{pruned}"
    );
    let added: Vec<_> = pruned
        .lines()
        .filter(|line| {
            ["one", "two", "three"]
                .iter()
                .any(|text| line.contains(&format!("\"{text}\"")))
        })
        .collect();
    assert_eq!(added.len(), 3);
    // Into another file first.
    s.pisess("prune -q ./s.jsonl --restore -o ./whole.jsonl")
        .done();
    s.pisess("prune -q ./s.jsonl --restore").done();
    let restored = s.text("s.jsonl");
    assert!(restored.as_bytes().starts_with(&whole), "{restored}");
    let rest: Vec<_> = restored[whole.len()..].lines().collect();
    assert_eq!(
        rest.iter()
            .filter(|line| !line.contains("\"label\""))
            .copied()
            .collect::<Vec<_>>(),
        added
    );
    assert_eq!(rest.len(), 4, "{restored}");
    assert_eq!(s.text("whole.jsonl"), restored);
    assert_eq!(s.names(), ["s.jsonl", "whole.jsonl"]);
}

#[test]
fn a_last_line_without_a_newline_comes_back_without_one() {
    for (branch, force) in [("aaaa0003", " --force"), ("aaaa0002", "")] {
        let lines = [
            user("aaaa0001", None, "a"),
            user("aaaa0002", Some("aaaa0001"), "b"),
            user("aaaa0003", Some("aaaa0001"), "c"),
        ];
        let mut whole = session(&lines);
        whole.pop();
        let s = Sandbox::new();
        s.put("s.jsonl", &whole);
        s.pisess(&format!("prune -q ./s.jsonl --branch {branch}{force}"))
            .done();
        assert_ne!(s.bytes("s.jsonl"), whole);
        assert!(!s.text("s.jsonl").contains(&format!(r#""id":"{branch}""#)));
        s.pisess("prune -q ./s.jsonl --restore").done();
        assert_eq!(s.bytes("s.jsonl"), whole, "{branch}");
        s.pisess(&format!("prune -q ./s.jsonl --branch {branch}{force}"))
            .done();
        s.pisess("append -q ./s.jsonl --user more").done();
        s.pisess("prune -q ./s.jsonl --restore").done();
        let restored = s.bytes("s.jsonl");
        assert!(
            restored.starts_with(&[&whole[..], b"\n"].concat()),
            "{branch}"
        );
    }
}

#[test]
fn a_file_of_another_session_or_a_damaged_one_changes_nothing() {
    let s = tour();
    s.pisess("prune -q ./tour.jsonl --branch 5c07d14b").done();
    let pruned = s.text("tour.jsonl.pruned");
    let lines: Vec<_> = pruned.lines().collect();
    let joined = |lines: &[&str]| lines.join("\n") + "\n";
    let mut swapped = lines.clone();
    swapped.swap(1, 2);
    let cases = [
        (
            "another session",
            pruned
                .replacen(r#"{"session":"#, r#"{"session":"x"#, 1)
                .replace("\"x\"", "\"x"),
        ),
        ("a line is missing", joined(&lines[..lines.len() - 1])),
        ("a line more", joined(&[&lines[..], &lines[1..2]].concat())),
        (
            "another byte",
            pruned.replacen("That is one line", "This is one line", 1),
        ),
        ("a torn line", pruned[..pruned.len() - 20].to_owned()),
        ("not ours", "{}\n".to_owned()),
        (
            "a number too large",
            pruned.replacen("\"records\":", "\"records\":9", 1),
        ),
        (
            "no distance",
            pruned.replacen("\"distance\":", "\"distances\":", 1),
        ),
    ];
    for (what, text) in cases {
        assert_ne!(text, pruned, "{what}");
        s.put("tour.jsonl.pruned", &text);
        for line in [
            "prune -q ./tour.jsonl --restore",
            "prune -q ./tour.jsonl --over 1",
        ] {
            s.unchanged(line).fails(2);
        }
    }
    // The order of the records does not matter, because each names its place.
    s.put("tour.jsonl.pruned", joined(&swapped));
    let done = s.pisess("prune -q ./tour.jsonl --restore --force").done();
    assert_eq!(done.code, 0, "{done}");
}

/// Whatever a session is like, nothing is lost.
#[test]
fn every_session_is_restored() {
    let mut names: Vec<_> = hazards()
        .iter()
        .map(|name| format!("hazards/{name}.jsonl"))
        .collect();
    names.extend(
        [
            "tour",
            "two-branches",
            "omp",
            "omp-no-slot",
            "v1",
            "v2",
            "draft-tree",
        ]
        .map(|name| format!("{name}.jsonl")),
    );
    let mut pruned = 0;
    for name in names {
        let s = Sandbox::with(&[&name]);
        let file = name.rsplit('/').next().unwrap();
        let ids = s
            .pisess(&format!("tree -q --filter all --json ./{file}"))
            .done()
            .text();
        let count = ids.lines().count();
        for at in 0..count {
            let done = s
                .pisess(&format!("prune -q --force ./{file} --branch ':{}'", at + 2))
                .done();
            assert!([0, 2].contains(&done.code), "{name} {at}: {done}");
            if done.code == 2 {
                assert_eq!(s.bytes(file), fixture(&name), "{name} {at}");
                continue;
            }
            pruned += 1;
            let done = s.pisess(&format!("prune -q ./{file} --restore")).done();
            assert_eq!(done.code, 0, "{name} {at}: {done}");
            assert_eq!(s.bytes(file), fixture(&name), "{name} {at}");
            assert_eq!(s.names(), [file]);
        }
    }
    assert!(pruned > 30, "{pruned}");
}

/// Labels, marks and what an agent writes after a prune refer to entries that stay.
#[test]
fn nothing_refers_to_what_is_gone() {
    let s = tour();
    s.pisess("label -q ./tour.jsonl 5c07d14b bad").done();
    s.pisess("append -q ./tour.jsonl --user more").done();
    let before = s.bytes("tour.jsonl");
    let context = s.pisess("context -q ./tour.jsonl").done().text();
    s.pisess("prune -q ./tour.jsonl --branch 5c07d14b").done();
    // The label went with the entry, and the message after it follows the one before it.
    assert!(!s.text("tour.jsonl").contains("\"bad\""));
    assert_eq!(s.pisess("context -q ./tour.jsonl").done().text(), context);
    assert_eq!(s.pisess("check ./tour.jsonl").done().code, 0);
    s.pisess("prune -q ./tour.jsonl --restore").done();
    assert_eq!(s.bytes("tour.jsonl"), before);
}

#[test]
fn branches_reports_how_many_were_pruned() {
    let s = tour();
    assert_eq!(s.pisess("branches ./tour.jsonl").done().stderr, "");
    s.pisess("prune -q ./tour.jsonl --branch 5c07d14b").done();
    assert_snapshot!(s.pisess("branches ./tour.jsonl").done().stderr, @"pisess: 1 branch (8 entries) pruned; `pisess prune --restore` restores them");
    s.put("tour.jsonl.pruned", "damaged");
    assert_eq!(s.pisess("branches ./tour.jsonl").done().stderr, "");
}

/// Returns the lines of a session with two branches. The first started the sub-agent `scout`.
fn lines_with_sub_agent() -> [String; 4] {
    let task = user("aaaa0003", Some("aaaa0002"), "").replace(
        r#""role":"user","content":"""#,
        r#""role":"toolResult","toolCallId":"c","toolName":"task","content":[],"isError":false,"details":{"usage":{"input":1},"results":[{"outputPath":"/p/s/scout.md"}]}"#,
    );
    [
        user("aaaa0001", None, "a"),
        user("aaaa0002", Some("aaaa0001"), "b"),
        task,
        user("aaaa0004", Some("aaaa0001"), "c"),
    ]
}

#[test]
fn sub_agents_and_forks_are_named() {
    let s = Sandbox::new();
    let lines = lines_with_sub_agent();
    let store = ".pi/agent/sessions/--p--";
    s.put(&format!("{store}/s.jsonl"), session(&lines));
    s.put(&format!("{store}/s/scout.jsonl"), session(&lines[..1]));
    s.put(&format!("{store}/s/other.jsonl"), session(&lines[..1]));
    let home = s.path("").display().to_string();
    let fork = String::from_utf8(session(&lines[..2])).unwrap();
    let source = s.path(&format!("{store}/s.jsonl")).display().to_string();
    let fork = fork.replacen(
        r#""cwd":"#,
        &format!(r#""parentSession":{source:?},"cwd":"#),
        1,
    );
    s.put(&format!("{store}/fork.jsonl"), fork);
    let line = format!("prune -n ./{store}/s.jsonl --branch aaaa0002");
    let done = s.pisess(&line).env("HOME", &home).done();
    assert_snapshot!(done.stderr, @"
    pisess: a sub-agent of the branch stays: ./.pi/agent/sessions/--p--/s/scout.jsonl
    pisess: a fork of the session stays: ./.pi/agent/sessions/--p--/fork.jsonl
    ");
    let done = s.pisess(&line.replace(" -n", "")).env("HOME", &home).done();
    assert!(
        done.code == 0 && done.stderr.contains("scout.jsonl") && !done.stderr.contains("other"),
        "{done}"
    );
    assert!(s.path(&format!("{store}/s/scout.jsonl")).exists());
}

/// A session's directory that cannot be read does not pass for a missing one.
#[test]
fn unreadable_sub_agents_are_a_warning() {
    let s = Sandbox::new();
    let lines = lines_with_sub_agent();
    s.put("s.jsonl", session(&lines));
    let line = "prune -n ./s.jsonl --branch aaaa0002";
    assert_eq!(s.pisess(line).done().stderr, "");
    // In place of the directory.
    s.put("s", "a file");
    let done = s.pisess(line).done();
    let note = "pisess: note: cannot read the directory ./s: ";
    assert!(done.stderr.starts_with(note), "{done}");
}

/// A running pi keeps its leaf in memory, and would continue from an entry that is gone.
#[cfg(target_os = "linux")]
#[test]
fn a_session_of_a_running_agent_is_refused() {
    let s = Sandbox::new();
    let text = String::from_utf8(fixture("tour.jsonl")).unwrap();
    let cwd = s.path("project").display().to_string();
    s.put("project/x", "");
    s.put("s.jsonl", text.replacen("/home/u/code/ferry", &cwd, 1));
    std::os::unix::fs::symlink("/bin/sleep", s.path("pi")).unwrap();
    let mut agent = std::process::Command::new(s.path("pi"))
        .arg("600")
        .current_dir(s.path("project"))
        .spawn()
        .unwrap();
    let before = s.files();
    let done = s
        .pisess("prune -q ./s.jsonl --branch 5c07d14b --wait 0")
        .done();
    assert!(s.files() == before);
    assert!(
        done.code == 3 && done.stderr.contains("an agent runs in its directory"),
        "{done}"
    );
    // Payloads may be pruned, a copy may be made, and --force overrides.
    assert_eq!(s.pisess("prune -q ./s.jsonl").done().code, 0);
    assert_eq!(
        s.pisess("prune -q ./s.jsonl --branch 5c07d14b -o ./copy.jsonl")
            .done()
            .code,
        0
    );
    assert_eq!(
        s.pisess("prune -q ./s.jsonl --branch 5c07d14b --force")
            .done()
            .code,
        0
    );
    s.pisess("prune -q ./s.jsonl --restore").done();
    agent.kill().unwrap();
    agent.wait().unwrap();
    // Nor a session that another process has open for writing.
    let open = std::fs::OpenOptions::new()
        .append(true)
        .open(s.path("s.jsonl"))
        .unwrap();
    let mut holder = std::process::Command::new("sleep")
        .arg("600")
        .stdout(open)
        .spawn()
        .unwrap();
    let done = s
        .pisess("prune -q ./s.jsonl --branch 5c07d14b --wait 0")
        .done();
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert!(
        done.code == 3 && done.stderr.contains("has it open for writing"),
        "{done}"
    );
    assert_eq!(
        s.pisess("prune -q ./s.jsonl --branch 5c07d14b --wait 0")
            .done()
            .code,
        0
    );
}

#[test]
fn an_older_session_is_refused() {
    let s = Sandbox::with(&["v1.jsonl"]);
    assert_snapshot!(s.unchanged("prune -q ./v1.jsonl --branch @").fails(2), @"./v1.jsonl: it has an older format (hint: `pisess migrate ./v1.jsonl` brings it to version 3)");
}

/// The file that version 0.2 wrote is read, and added to.
#[test]
fn a_file_of_an_earlier_version_is_restored() {
    let s = Sandbox::new();
    s.put("s.jsonl", crate::prune::large());
    s.pisess("prune -q ./s.jsonl --over 1k").done();
    let pruned = s.text("s.jsonl.pruned");
    let earlier: String = pruned
        .lines()
        .skip(1)
        .map(|line| {
            let (before, after) = line.split_once(",\"crc\":").unwrap();
            let (_, payload) = after.split_once(",\"payload\":").unwrap();
            format!("{before},\"payload\":{payload}\n")
        })
        .collect();
    let text = s.text("s.jsonl");
    s.put("s.jsonl.pruned", &earlier);
    s.pisess("prune -q ./s.jsonl --restore").done();
    assert_eq!(s.text("s.jsonl"), crate::prune::large());
    s.put("s.jsonl", text);
    s.put("s.jsonl.pruned", &earlier);
    s.pisess("append -q ./s.jsonl --user more").done();
    s.pisess("switch -q ./s.jsonl aaaa0001").done();
    s.pisess("append -q ./s.jsonl --user other").done();
    let before = s.text("s.jsonl");
    s.pisess("prune -q ./s.jsonl --branch @ --force").done();
    assert_ne!(s.text("s.jsonl"), before);
    s.pisess("prune -q ./s.jsonl --restore").done();
    assert!(s.text("s.jsonl").starts_with(&crate::prune::large()));
}

/// With `--purge`, nothing is left of what was pruned.
#[test]
fn a_branch_is_removed_for_good() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    assert_snapshot!(s.unchanged("prune --branch 1a2b3c05 --purge -n ./two-branches.jsonl").to_string(), @r"
     size  id        entry
    161 B  1a2b3c04  user: Tissue paper then. How big?
    215 B  1a2b3c05  assistant: Half a metre; larger ones tear.
    376 B  total     2 entries
    1 branch (2 entries); session 1.4 kB to 1.0 kB
    2> pisess: with --purge, nothing of it could be restored
    ");
    assert_snapshot!(s.pisess("prune --branch 1a2b3c05 --purge ./two-branches.jsonl").done(), @"
    2> pisess: ./two-branches.jsonl: 1 branch (2 entries) pruned, 378 B; session 1.4 kB to 1.0 kB
    2> pisess: ./two-branches.jsonl: what was pruned from it is removed for good (895 B)
    ");
    assert!(!s.path("two-branches.jsonl.pruned").exists());
    assert!(!s.text("two-branches.jsonl").contains("1a2b3c05"));
    assert_snapshot!(s.pisess("prune --restore ./two-branches.jsonl").done(), @"2> pisess: ./two-branches.jsonl: nothing was pruned");

    // What was pruned before is removed, too, and nothing else.
    let s = Sandbox::with(&["two-branches.jsonl"]);
    s.run("prune --branch 1a2b3c05 -q ./two-branches.jsonl");
    let pruned = s.bytes("two-branches.jsonl");
    assert_snapshot!(s.unchanged("prune --purge -n ./two-branches.jsonl").to_string(), @"2> pisess: ./two-branches.jsonl: what was pruned from it before would be removed for good (895 B)");
    assert_snapshot!(s.pisess("prune --purge ./two-branches.jsonl").done(), @"2> pisess: ./two-branches.jsonl: what was pruned from it is removed for good (895 B)");
    assert!(!s.path("two-branches.jsonl.pruned").exists());
    assert_eq!(s.bytes("two-branches.jsonl"), pruned);
    assert_snapshot!(s.pisess("prune --purge ./two-branches.jsonl").done(), @"2> pisess: ./two-branches.jsonl: nothing was pruned");
}

/// What would stay under another name is not reported as removed for good.
#[test]
fn a_side_file_with_another_name_is_not_purged() {
    for link in ["symbolic", "hard"] {
        let s = Sandbox::with(&["two-branches.jsonl"]);
        s.run("prune --branch 1a2b3c05 -q ./two-branches.jsonl");
        let side_file = s.path("two-branches.jsonl.pruned");
        let other = s.path("other.pruned");
        if link == "hard" {
            std::fs::hard_link(&side_file, &other).unwrap();
        } else {
            std::fs::rename(&side_file, &other).unwrap();
            std::os::unix::fs::symlink(&other, &side_file).unwrap();
        }
        let refused = s.pisess("prune --purge ./two-branches.jsonl").done();
        assert_eq!(refused.code, 2, "{link}: {refused}");
        assert!(refused.stderr.contains("link"), "{link}: {refused}");
        assert!(side_file.exists() && other.exists(), "{link}");
    }
}

#[test]
fn what_is_not_its_own_is_not_purged() {
    let s = Sandbox::with(&["two-branches.jsonl", "tour.jsonl"]);
    s.run("prune --branch 1a2b3c05 -q ./two-branches.jsonl");
    s.put("tour.jsonl.pruned", s.bytes("two-branches.jsonl.pruned"));
    let other = s.unchanged("prune --purge ./tour.jsonl").fails(2);
    assert!(other.contains("another session"), "{other}");
    assert!(s.path("tour.jsonl.pruned").exists());
    let several = s.unchanged("prune --purge ./tour.jsonl ./two-branches.jsonl");
    assert_eq!(several.code, 2, "{several}");
    assert!(s.path("two-branches.jsonl.pruned").exists());
}

/// What `--entries` removes is replaced by nothing: what follows it follows the entry before it.
#[test]
fn prune_entries_takes_a_question_out_of_the_middle() {
    let s = tour();
    assert_snapshot!(s.unchanged("prune -q -n ./tour.jsonl --entries 3de1b752^..648dc1b3").text(), @"
      size  id        entry
     264 B  3de1b752  user: Undo that, and take the nearer of the two: yesterday's or tomorrow's departure.
     856 B  c8a45f06  assistant: So the result lies within half a day either way.
     333 B  1b72ce9d  edit: src/clock.rs
     318 B  fa39d058  bash: cargo test --quiet
     554 B  648dc1b3  assistant: All 14 tests pass, and at 23:50 the 00:10 ferry departs in 20 min.
    2.3 kB  total     5 entries
    5 entries; session 14 kB to 11 kB
    ");
    let before = s.run("path --ids ./tour.jsonl");
    let done = s
        .pisess("prune ./tour.jsonl --entries 3de1b752^..648dc1b3")
        .done();
    assert_eq!(done.code, 0, "{done}");
    let removed = ["3de1b752", "c8a45f06", "1b72ce9d", "fa39d058", "648dc1b3"];
    let kept: Vec<_> = before.lines().filter(|id| !removed.contains(id)).collect();
    let after = s.run("path --ids ./tour.jsonl");
    assert_eq!(after.lines().collect::<Vec<_>>(), kept);
    assert_eq!(s.pisess("check ./tour.jsonl").done().code, 0);
    assert_eq!(s.pisess("prune -q ./tour.jsonl --restore").done().code, 0);
    assert_eq!(s.bytes("tour.jsonl"), fixture("tour.jsonl"));
}

/// A model's API accepts neither a call without its result nor a result without its call.
#[test]
fn prune_entries_removes_calls_and_results_together() {
    let s = tour();
    for entry in ["27d4c96f", "9e04b3d8", "e8830b5a", "@", "root+1"] {
        s.put("tour.jsonl", fixture("tour.jsonl"));
        let done = s
            .pisess(&format!("prune --purge ./tour.jsonl --entries {entry}"))
            .done();
        assert_eq!(done.code, 0, "{entry}: {done}");
        assert_eq!(s.names(), ["tour.jsonl"], "{entry}");
        let checked = s.pisess("check ./tour.jsonl").done();
        assert_eq!(checked.code, 0, "{entry}: {checked}");
        assert!(!s.text("tour.jsonl").contains(&format!(r#""id":"{entry}""#)));
    }
    s.put("tour.jsonl", fixture("tour.jsonl"));
    s.pisess("prune -q --purge ./tour.jsonl --entries 9e04b3d8")
        .done();
    let left = s.text("tour.jsonl");
    assert!(!left.contains("9e04b3d8") && !left.contains("c25f81e7"));
}

/// An edit refers to its entry by id, so it is removed with the entry.
#[test]
fn prune_entries_removes_edits_of_the_entries() {
    let s = Sandbox::new();
    let edit = r#"{"type":"context_edit","id":"eeee0001","parentId":"aaaa0003","timestamp":"2026-01-01T00:00:05.000Z","targetId":"aaaa0002","operation":"omit"}"#;
    s.put(
        "s.jsonl",
        session(&[
            user("aaaa0001", None, "one"),
            user("aaaa0002", Some("aaaa0001"), "two"),
            user("aaaa0003", Some("aaaa0002"), "three"),
            edit.to_owned(),
        ]),
    );
    let before = s.bytes("s.jsonl");
    let done = s.pisess("prune -q ./s.jsonl --entries aaaa0002").done();
    assert_eq!(done.code, 0, "{done}");
    let left = s.text("s.jsonl");
    assert!(!left.contains("aaaa0002"), "{left}");
    assert_eq!(s.pisess("check ./s.jsonl").done().code, 0);
    s.pisess("prune -q ./s.jsonl --restore").done();
    assert_eq!(s.bytes("s.jsonl"), before);
}

fn entry(id: &str, parent: &str, members: &str) -> String {
    format!(
        r#"{{"type":"message","id":"{id}","parentId":"{parent}","timestamp":"2026-01-01T00:00:00.000Z","message":{members}}}"#
    )
}

fn bash_call(id: &str, parent: &str, call_id: &str) -> String {
    let members = r#"{"role":"assistant","content":[{"type":"toolCall","id":"ID","name":"bash","arguments":{"command":"ls"}}]}"#;
    entry(id, parent, &members.replace("ID", call_id))
}

fn bash_result(id: &str, parent: &str, call_id: &str) -> String {
    let members =
        r#"{"role":"toolResult","toolCallId":"ID","toolName":"bash","content":[],"isError":false}"#;
    entry(id, parent, &members.replace("ID", call_id))
}

/// The call is answered on both branches, and a result without its call follows on one of them.
fn answered_twice() -> Sandbox {
    let s = Sandbox::new();
    let label = r#"{"type":"label","id":"aaaa0007","parentId":"aaaa0006","timestamp":"2026-01-01T00:00:00.000Z","targetId":"aaaa0001","label":"start"}"#;
    let leaf = r#"{"type":"leaf","id":"aaaa0009","parentId":"aaaa0008","timestamp":"2026-01-01T00:00:00.000Z","targetId":"aaaa0008"}"#;
    s.put(
        "s.jsonl",
        session(&[
            user("aaaa0001", None, "one"),
            bash_call("aaaa0002", "aaaa0001", "c1"),
            bash_result("aaaa0003", "aaaa0002", "c1"),
            user("aaaa0004", Some("aaaa0003"), "first branch"),
            bash_result("aaaa0005", "aaaa0002", "c1"),
            bash_result("aaaa0006", "aaaa0005", "unknown"),
            label.to_owned(),
            user("aaaa0008", Some("aaaa0007"), "second branch"),
            leaf.to_owned(),
        ]),
    );
    s
}

/// A result of the call that stayed on another branch would be without its call.
#[test]
fn prune_entries_removes_the_results_of_a_call_on_all_branches() {
    let s = answered_twice();
    let removed_ids = |entries: &str| {
        let rows = s.unchanged(&format!("prune -q -n --json ./s.jsonl {entries}"));
        assert_eq!(rows.code, 0, "{entries}: {rows}");
        let text = rows.text();
        let mut ids = Vec::new();
        for id in 1..=9 {
            if text.contains(&format!(r#""id":"aaaa000{id}""#)) {
                ids.push(id);
            }
        }
        ids
    };
    for entries in [
        "--entries aaaa0003",
        "--entries aaaa0005",
        "--entries aaaa0002",
        "--entries aaaa0003 --entries aaaa0005",
    ] {
        assert_eq!(removed_ids(entries), [2, 3, 5], "{entries}");
    }
    assert_eq!(removed_ids("--entries aaaa0005..aaaa0008"), [6, 8]);
}

#[test]
fn prune_entries_removes_lone_results_labels_and_leaf_records() {
    let s = answered_twice();
    let before = s.bytes("s.jsonl");
    for id in ["aaaa0006", "aaaa0007", "aaaa0009"] {
        let done = s
            .pisess(&format!("prune -q ./s.jsonl --entries {id}"))
            .done();
        assert_eq!(done.code, 0, "{id}: {done}");
        let left = s.text("s.jsonl");
        assert_eq!(left.lines().count(), 9, "{left}");
        assert!(!left.contains(&format!(r#""id":"{id}""#)), "{left}");
        s.pisess("prune -q ./s.jsonl --restore").done();
        assert_eq!(s.bytes("s.jsonl"), before, "{id}");
    }
}

/// While the command waits for the lock, another program moves the label `old` to another branch,
/// and appends a message, so `@` is another entry, too.
#[test]
fn prune_fails_if_other_entries_are_meant_under_the_lock() {
    let label = |id: &str, parent: &str, target: &str, label: &str| {
        format!(
            r#"{{"type":"label","id":"{id}","parentId":"{parent}","timestamp":"2026-01-01T00:00:02.000Z","targetId":"{target}","label":"{label}"}}"#
        )
    };
    let old = session(&[
        user("aaaa0001", None, "one"),
        user("aaaa0002", Some("aaaa0001"), "two"),
        user("aaaa0003", Some("aaaa0001"), "three"),
        user("aaaa0004", Some("aaaa0001"), "four"),
        label("bbbb0001", "aaaa0004", "aaaa0002", "old"),
    ]);
    let appended = [
        label("bbbb0002", "bbbb0001", "aaaa0002", ""),
        label("bbbb0003", "bbbb0002", "aaaa0003", "old"),
        user("aaaa0005", Some("bbbb0003"), "new"),
    ];
    let appended = appended.join("\n") + "\n";
    for options in ["--entries @", "--entries old", "--branch old"] {
        let s = Sandbox::new();
        s.put("s.jsonl", &old);
        let grown = [old.as_slice(), appended.as_bytes()].concat();
        let output = prune_while_growing(&s, options, &appended);

        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{options}: {stderr}");
        assert_eq!(
            stderr,
            "pisess: ./s.jsonl: another program changed the entries to remove (hint: `pisess prune -n` lists them as they are now)\n"
        );
        assert_eq!(s.bytes("s.jsonl"), grown, "{options}");
        assert_eq!(s.names(), ["s.jsonl"], "{options}");
    }
}

/// Runs `prune --purge` on `s.jsonl`, and appends lines while it waits for the lock. Returns its
/// output. If it succeeded, it had read the session too late, so it is run again and given more
/// time.
fn prune_while_growing(s: &Sandbox, options: &str, appended: &str) -> Output {
    let before = s.bytes("s.jsonl");
    for delay_ms in [500, 5000, 20_000] {
        s.put("s.jsonl", &before);
        let lock = File::open(s.path("s.jsonl")).unwrap();
        lock.lock().unwrap();
        let command = Command::new(crate::sandbox::program())
            .args(["prune", "--purge", "--wait", "60"])
            .args(options.split(' '))
            .arg("./s.jsonl")
            .current_dir(s.path(""))
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(delay_ms));
        let mut file = File::options()
            .append(true)
            .open(s.path("s.jsonl"))
            .unwrap();
        file.write_all(appended.as_bytes()).unwrap();
        drop(file);
        drop(lock);

        let output = command.wait_with_output().unwrap();
        if !output.status.success() {
            return output;
        }
    }
    panic!("entries that the user had not chosen were removed: {options}");
}

/// The first prune appends a mark, and the second changes the parent of that mark.
#[test]
fn prune_restore_removes_the_mark_of_an_earlier_prune_entries() {
    let s = Sandbox::new();
    s.put(
        "s.jsonl",
        session(&[
            user("aaaa0001", None, "one"),
            user("aaaa0002", Some("aaaa0001"), "first branch"),
            user("aaaa0003", Some("aaaa0001"), "second branch"),
            user("aaaa0004", Some("aaaa0002"), "last"),
        ]),
    );
    let before = s.bytes("s.jsonl");
    s.pisess("prune -q ./s.jsonl --entries @").done();
    assert!(s.text("s.jsonl").contains("pisess.switch"));
    s.pisess("prune -q ./s.jsonl --entries @").done();
    assert!(!s.text("s.jsonl").contains(r#""id":"aaaa0002""#));

    s.pisess("prune -q ./s.jsonl --restore").done();
    assert_eq!(s.bytes("s.jsonl"), before);
}

#[test]
fn prune_entries_applies_to_one_session() {
    let s = Sandbox::with(&["tour.jsonl", "two-branches.jsonl"]);
    let run = |line: &str| s.unchanged(line).fails(2);
    assert_snapshot!(run("prune ./tour.jsonl ./two-branches.jsonl --entries @"), @"--entries applies to one session (hint: give one session by path or name, and repeat --entries for further entries)");
    for line in [
        "prune ./tour.jsonl --entries root",
        "prune ./tour.jsonl --entries nowhere",
        "prune ./tour.jsonl --entries @ --branch @",
        "prune ./tour.jsonl --entries @ --secrets",
        "prune ./tour.jsonl --entries @ --restore",
        "prune ./tour.jsonl --entries",
    ] {
        run(line);
    }
}
