//! `pisess completions`: the scripts and their queries.

#[cfg(target_os = "linux")]
mod shells;

use crate::names::{Desk, time};
use crate::sandbox::{Sandbox, fixture};
use insta::assert_snapshot;
use serde_json::json;

/// Returns the candidates for the last word, with their descriptions.
fn offered(d: &Desk, words: &[&str]) -> Vec<String> {
    let quoted: Vec<_> = words.iter().map(|word| format!("'{word}'")).collect();
    let line = format!(
        "completions fish --at {} -- pisess {}",
        words.len(),
        quoted.join(" ")
    );
    d.pisess(&line)
        .done()
        .quiet()
        .lines()
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_shell_has_a_script() {
    let s = Sandbox::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = s.run(&format!("completions {shell}"));
        assert!(
            script.contains("Completion of pisess for ")
                && script.contains(&format!("completions {shell} "))
        );
    }
    assert_eq!(s.run("completions pwsh"), s.run("completions powershell"));
    s.pisess("completions tcsh").done().fails(2);
}

#[test]
fn commands_and_options() {
    let d = Desk::new();
    assert_eq!(
        offered(&d, &["tre"]),
        ["tree\tDraw the conversation as a tree"]
    );
    assert_eq!(
        offered(&d, &["tree", "--filter", "no"]),
        ["no-tools\tLike default, without tool results"]
    );
    assert_eq!(
        offered(&d, &["fork", "last", "--for", ""]),
        [
            "pi\tpi",
            "omp\toh-my-pi",
            "claude\tClaude Code",
            "codex\tCodex"
        ]
    );
    assert!(offered(&d, &["tree", "--fil"])[0].starts_with("--filter\t"));
    assert_eq!(
        offered(&d, &["grep", "--role", "tool"]),
        ["toolResult", "toolCall"]
    );
    assert_eq!(offered(&d, &["list", "--until", "to"]), ["today"]);
    assert!(
        offered(&d, &["tree", ""])
            .iter()
            .all(|word| !word.starts_with('-')),
        "options when one is begun"
    );
}

#[test]
fn sessions_by_name_newest_first() {
    let d = Desk::new();
    d.pi("0199aaaa-1111-7777-8888-00000000abcd", 1, &[]);
    let name = json!({"type": "session_info", "id": "bbbb0001", "parentId": "aaaa0001", "timestamp": time(1), "name": "ferry times"});
    d.pi("0199bbbb-1111-7777-8888-00000000bcde", 2, &[name]);
    d.omp("0199cccc-1111-7777-8888-00000000cdef", 3, &[]);
    assert_eq!(
        offered(&d, &["tree", ""]),
        [
            "last\tquestion of 0199cccc-1111-7777-8888-00000000cdef",
            "0000cdef\tquestion of 0199cccc-1111-7777-8888-00000000cdef",
            "ferry times\tquestion of 0199bbbb-1111-7777-8888-00000000bcde",
            "0000abcd\tquestion of 0199aaaa-1111-7777-8888-00000000abcd",
            "home/",
        ]
    );
    assert_eq!(
        offered(&d, &["tree", "fe"]),
        ["ferry times\tquestion of 0199bbbb-1111-7777-8888-00000000bcde"]
    );
    for words in [&["list", "fe"][..], &["stats", "fe"], &["grep", "x", "fe"]] {
        assert_eq!(offered(&d, words).len(), 1, "{words:?}");
    }
    assert_eq!(
        offered(&d, &["show", "0199b"]),
        ["0199bbbb-1111-7777-8888-00000000bcde\tquestion of 0199bbbb-1111-7777-8888-00000000bcde"]
    );
}

/// A name may be far from the end of the file, and its session in another project.
#[test]
fn names_anywhere_and_of_other_projects() {
    let d = Desk::new();
    let name = |name: &str| json!({"type": "session_info", "id": "bbbb0001", "parentId": "aaaa0001", "timestamp": time(1), "name": name});
    let filler = json!({"type": "custom", "id": "cccc0001", "parentId": "bbbb0001", "customType": "x", "data": "x".repeat(600_000)});
    d.pi("0199aaaa-11111111", 2, &[name("ferry early"), filler]);
    d.put(
        "home/.pi/agent/sessions/--elsewhere--/named.jsonl",
        "0199eeee-22222222",
        9,
        &[name("ferry elsewhere")],
    );
    let names = |words: &[&str]| -> Vec<String> {
        let lines = offered(&d, words);
        lines
            .iter()
            .map(|line| line.split('\t').next().unwrap().to_owned())
            .collect()
    };
    assert_eq!(
        names(&["tree", "ferry"]),
        ["ferry early", "ferry elsewhere"]
    );
    assert_eq!(names(&["tree", "2222"]), ["22222222"]);
    assert!(
        !names(&["tree", ""]).contains(&"ferry elsewhere".to_owned()),
        "without a word, only this project is offered"
    );
}

#[test]
fn labels_and_ids_of_the_session_with_their_rows() {
    let d = Desk::new();
    d.s.put("tour.jsonl", fixture("tour.jsonl"));
    let session = d.s.path("tour.jsonl").to_str().unwrap().to_owned();
    assert_snapshot!(offered(&d, &["show", &session, "g"]).join("\n"), @"green	assistant: All 14 tests pass, and at 23:50 the 00:10 ferry departs in 20 min.");
    assert_snapshot!(offered(&d, &["label", &session, ""])[..6].join("\n"), @r#"
    @	assistant: "Ferries after midnight no longer show as gone: asked at 23:50, the 00:10 departs in 20 minutes."
    cause found	assistant: `departs_in` subtracts minutes of the day, so across midnight the result is negative: 10 - 1430 = -1420 minutes, printed as "left 23 h ago". The timetable has no dates, only times.
    green	assistant: All 14 tests pass, and at 23:50 the 00:10 ferry departs in 20 min.
    2f5dc03e	assistant: "Ferries after midnight no longer show as gone: asked at 23:50, the 00:10 departs in 20 minutes."
    86e2a1fb	user: Now a line for the changelog, for people who don't read code.
    dc705e93	[compaction: 12k tokens]
    "#);
    assert_eq!(offered(&d, &["show", &session, "root"]).len(), 0);
    assert_eq!(
        offered(&d, &["switch", &session, "4f1c0"]),
        ["4f1c02a9\t[model: claude-sonnet-4-5]"]
    );
    // Several references of one session.
    assert_eq!(offered(&d, &["show", &session, "@", "4f1c0"]).len(), 1);
    assert!(offered(&d, &["show", "/nothing", ""]).is_empty());
}

#[test]
fn references_in_all_forms() {
    let d = Desk::new();
    d.s.put("tour.jsonl", fixture("tour.jsonl"));
    let session = d.s.path("tour.jsonl").to_str().unwrap().to_owned();
    let values = |word: &str| {
        let found = offered(&d, &["show", &session, word]);
        found
            .iter()
            .map(|line| line.split('\t').next().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(values("label:"), ["label:cause found", "label:green"]);
    assert_eq!(values("id:4f1c0"), ["id:4f1c02a9"]);
    assert_eq!(values(":"), [":/"]);
    assert_eq!(values("@^{u"), ["@^{user}"]);
    assert_eq!(values("@^"), values("@^{"));
    assert_eq!(values("green~2^{comp"), ["green~2^{compaction}"]);
    assert!(offered(&d, &["diff", &session, "gr"])[0].starts_with("green\tassistant: "));
    d.pi("0199aaaa-1111-7777-8888-00000000abcd", 1, &[]);
    assert_eq!(
        offered(&d, &["diff", &session, "0000a"]).len(),
        1,
        "or another session"
    );
}

#[test]
fn a_name_of_several_sessions_is_offered_as_their_ids() {
    let d = Desk::new();
    let name = |name: &str| json!({"type": "session_info", "id": "bbbb0001", "parentId": "aaaa0001", "timestamp": time(1), "name": name});
    d.pi("0199aaaa-11111111", 2, &[name("twin")]);
    d.pi("0199bbbb-22222222", 1, &[name("twin")]);
    let both = [
        "11111111\ttwin: question of 0199aaaa-11111111",
        "22222222\ttwin: question of 0199bbbb-22222222",
    ];
    assert_eq!(offered(&d, &["tree", "tw"]), both);
    assert_eq!(offered(&d, &["tree", ""])[1..3], both);
    assert_eq!(d.id("11111111"), "0199aaaa-11111111");
    // A name with a line break cannot be a line of candidates.
    d.pi("0199cccc-33333333", 3, &[name("two\nlines")]);
    assert!(offered(&d, &["tree", "two"]).is_empty());
}

#[test]
fn values_that_only_sessions_have() {
    let d = Desk::new();
    d.s.put("tour.jsonl", fixture("tour.jsonl"));
    let session = d.s.path("tour.jsonl").to_str().unwrap().to_owned();
    assert_eq!(
        offered(&d, &["append", &session, "--model", ""]),
        ["anthropic/claude-sonnet-4-5"]
    );
    assert_eq!(offered(&d, &["help", "ti"]), ["times"]);
    assert_eq!(
        offered(&d, &["help", "tre"]),
        ["tree\tDraw the conversation as a tree"]
    );
    assert_eq!(
        offered(&d, &["stats", "--by", "day,mo"]),
        ["day,model\tA model of a provider", "day,month\tA month"]
    );
}

/// Words split by bash are joined again: it splits at colons.
#[test]
fn lines_of_bash() {
    let d = Desk::new();
    let name = json!({"type": "session_info", "id": "bbbb0001", "parentId": "aaaa0001", "timestamp": time(1), "name": "a: b"});
    d.pi("0199aaaa", 1, &[name]);
    let bash = |line: &str, word: &str| {
        d.pisess(&format!("completions bash --line '{line}' --word '{word}'"))
            .done()
            .quiet()
    };
    assert_eq!(bash("pisess tree a", "a"), "a:\\ b\n");
    assert_eq!(bash("pisess tree a:", ""), "\\ b\n");
    assert_eq!(bash("pisess tree a:\\ b", "b"), "b\n");
    assert!(
        bash("pisess tree --", "--")
            .lines()
            .any(|word| word == "--filter")
    );
    assert_eq!(bash("pisess tr", "tr"), "tree\n");
}

#[test]
fn paths_below_the_home_directory() {
    let d = Desk::new();
    d.put("home/my dir/kept.jsonl", "kept", 1, &[]);
    assert_eq!(
        offered(&d, &["tree", "~/my dir/ke"]),
        ["~/my dir/kept.jsonl"]
    );
    assert_eq!(
        offered(&d, &["show", "~/my dir/kept.jsonl", "aaaa"]),
        ["aaaa0001\tuser: question of kept"]
    );
}
