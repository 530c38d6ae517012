//! Sessions of other agents that are read where they are.

use crate::sandbox::{Sandbox, fixture};
use insta::assert_snapshot;
use serde_json::json;

/// Fixtures of each agent.
const SOURCES: [&str; 16] = [
    "claude/plain.jsonl",
    "claude/tree.jsonl",
    "claude/parallel.jsonl",
    "claude/damaged.jsonl",
    "codex/plain.jsonl",
    "codex/rollback.jsonl",
    "codex/encrypted.jsonl",
    "codex/2025.jsonl",
    "codex/summaries.jsonl",
    "opencode/plain.json",
    "opencode/reverted.json",
    "opencode/compacted.json",
    "gemini/plain.jsonl",
    "gemini/rewind.jsonl",
    "gemini/parent.jsonl",
    "gemini/damaged.jsonl",
];

/// Each reading command, with the session as SESSION. The page is not one of them, because it has
/// the path of its session in compressed form.
const READING_COMMANDS: [&str; 24] = [
    "tree SESSION",
    "tree --filter all SESSION",
    "tree --json SESSION",
    "path SESSION",
    "path --json SESSION @",
    "show SESSION",
    "show --json SESSION @",
    "show --files SESSION",
    "branches SESSION",
    "branches --json SESSION",
    "context SESSION",
    "context --as anthropic SESSION",
    "context --tokens --by role SESSION",
    "diff SESSION @~1 @",
    "grep -i e SESSION",
    "grep --json -i e SESSION",
    "stats SESSION",
    "stats --by file SESSION",
    "stats --by time SESSION",
    "stats --json SESSION",
    "check SESSION",
    "export --as markdown -o - SESSION",
    "export --as atif -o - SESSION",
    "export --as messages -o - SESSION",
];

/// Returns an answer without the numbers of lines, which are those of the source or of the import.
fn without_lines(answer: &str) -> String {
    let forms = [
        // JSON
        r#""line":\d+,?"#,
        // the left column of `path`
        r"(?m)^ *\d+ +",
        // the facts of `show`
        r"\bline \d+",
        // the findings of `check`
        r"(?m)^(\./SESSION):\d+",
    ];
    let line_number = regex::Regex::new(&forms.join("|")).unwrap();
    line_number.replace_all(answer, "$1").into_owned()
}

/// Returns the characters of an id that tables show.
fn end_of(id: &str) -> &str {
    &id[id.len() - 8..]
}

/// Returns the id of a session of any agent, as `list` shows it.
fn session_id(s: &Sandbox, file: &str) -> String {
    let row = s.run(&format!("list --source all --json ./{file}"));
    let row: serde_json::Value = serde_json::from_str(&row).unwrap();
    row["id"].as_str().unwrap().to_owned()
}

#[test]
fn reading_commands_answer_as_for_the_imported_session() {
    for source in SOURCES {
        let s = Sandbox::with(&[source]);
        let name = source.rsplit('/').next().unwrap();
        let import = format!("import -q ./{name} -o ./imported.jsonl");
        s.run(&import);
        let [own_id, imported_id] = [name, "imported.jsonl"].map(|file| session_id(&s, file));
        for command in READING_COMMANDS {
            let answer_for = |session: &str| {
                let done = s.pisess(&command.replace("SESSION", session)).done();
                done.to_string().replace(session, "./SESSION")
            };
            let in_place = answer_for(&format!("./{name}"));
            assert!(!in_place.contains("not a session"), "{source}: {in_place}");
            // The session keeps the id that its agent gave it; its entries get those of an import.
            let of_import = answer_for("./imported.jsonl")
                .replace(&imported_id, &own_id)
                .replace(end_of(&imported_id), end_of(&own_id));
            assert_eq!(
                without_lines(&in_place),
                without_lines(&of_import),
                "{command} of {source}"
            );
        }
        assert_eq!(s.bytes(name), fixture(source), "{source} was changed");
    }
}

#[test]
fn writing_commands_refuse_a_session_of_another_agent_and_name_import() {
    let s = Sandbox::with(&["claude/plain.jsonl"]);
    let writing_commands = [
        "append --user hello SESSION",
        "archive SESSION",
        "compact SESSION",
        "edit --omit SESSION @",
        "label SESSION @ done",
        "migrate SESSION",
        "pop SESSION",
        "prune --over 1k SESSION",
        "redact -o ./new.jsonl SESSION",
        "relocate --force SESSION ./elsewhere",
        "switch SESSION @~1",
        "undo SESSION",
    ];
    let mut wrong = Vec::new();
    for command in writing_commands {
        let done = s
            .pisess(&command.replace("SESSION", "./plain.jsonl"))
            .done();
        let message = done.to_string();
        let names_import = message.contains("not a session of pi or oh-my-pi, but of Claude Code")
            && message.contains("`pisess import ./plain.jsonl`");
        if done.code != 2 || !names_import {
            wrong.push(format!("{command}: {message}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(s.names(), ["plain.jsonl"]);
    assert_eq!(s.bytes("plain.jsonl"), fixture("claude/plain.jsonl"));
}

/// Where Claude Code keeps the session whose id begins with `c1a00000`.
const STORED: &str = ".claude/projects/-home-u-kites/c1a00000-0000-4000-8000-0000000000a1.jsonl";

fn with_stored_session() -> Sandbox {
    let s = Sandbox::with(&[]);
    s.put(STORED, fixture("claude/plain.jsonl"));
    s
}

#[test]
fn a_session_is_found_by_the_id_that_its_agent_gave_it() {
    let s = with_stored_session();
    let by_id = s.pisess("tree c1a00000").at_home().done();
    let by_path = s.pisess(&format!("tree ./{STORED}")).at_home().done();
    assert_eq!(by_id.code, 0, "{by_id}");
    assert_eq!(by_id.text(), by_path.text());
}

#[test]
fn a_session_is_found_by_the_id_of_its_import() {
    let s = with_stored_session();
    s.run(&format!("import -q ./{STORED} -o ./imported.jsonl"));
    let id = session_id(&s, "imported.jsonl");
    assert_ne!(id, "c1a00000-0000-4000-8000-0000000000a1");
    let by_import = s.pisess(&format!("tree {id}")).at_home().done();
    let by_path = s.pisess(&format!("tree ./{STORED}")).at_home().done();
    assert_eq!(by_import.text(), by_path.text());
}

/// Two verbs never disagree about the id of a session.
#[test]
fn stats_and_grep_show_the_id_that_list_shows() {
    let s = with_stored_session();
    let answers = [
        "list --all --source claude --json",
        "stats --all --source claude --by session --json",
        "grep --all --source claude --json -m 1 paper",
    ];
    for line in answers {
        let answer = s.pisess(line).at_home().done().text();
        assert!(
            answer.contains("c1a00000-0000-4000-8000-0000000000a1"),
            "{line}: {answer}"
        );
    }
}

/// Sessions of Claude Code and of pi, both in their stores.
fn with_two_agents() -> Sandbox {
    let s = with_stored_session();
    s.put(
        ".pi/agent/sessions/--home-u-kites--/2026-01-31T10-00-00-000Z_0199aaaa-11111111.jsonl",
        fixture("two-branches.jsonl"),
    );
    s
}

#[test]
fn source_selects_the_agents_whose_sessions_are_searched() {
    let s = with_two_agents();
    let count = |line: &str| {
        let done = s.pisess(line).at_home().done();
        assert!(done.code <= 1, "{line}: {done}");
        done.text().lines().count()
    };
    for (line, expected) in [
        ("list --all -l", 1),
        ("list --all -l --source claude", 1),
        ("list --all -l --source all", 2),
        ("list --all -l --source claude,codex", 1),
        ("list --all -l --source claude --source codex", 1),
        ("grep -l --all paper", 1),
        ("grep -l --all --source claude paper", 1),
        ("grep -l --all --source all paper", 2),
        ("stats --all --by session --json --source all", 2),
    ] {
        assert_eq!(count(line), expected, "{line}");
    }
    let checked = s.pisess("check --all --source all").at_home().done();
    assert!(checked.stderr.contains("2 sessions checked"), "{checked}");
    let agents = s.pisess("list --all --source all --json").at_home().done();
    for agent in ["\"agent\":\"pi\"", "\"agent\":\"claude\""] {
        assert!(agents.text().contains(agent), "{agents}");
    }
    // A bad path does not end the search of others.
    for (line, code) in [
        (
            &*format!("grep -l paper --source claude ./{STORED} ./nosuch.jsonl"),
            2,
        ),
        (
            &*format!("list -l --source claude ./{STORED} ./nosuch.jsonl"),
            2,
        ),
    ] {
        let done = s.pisess(line).at_home().done();
        assert_eq!(done.code, code, "{line}: {done}");
        assert!(done.text().contains("c1a00000"), "{line}: {done}");
    }
    for (line, refusal) in [
        (
            "grep -e a --all --source claude ./x",
            "--all cannot be combined with SESSION",
        ),
        (
            "grep a --source claude -",
            "standard input is not read with --source",
        ),
        (
            "list --source claude -",
            "standard input is not read with --source",
        ),
    ] {
        let refused = s.pisess(line).at_home().done();
        assert!(
            refused.code == 2 && refused.stderr.contains(refusal),
            "{line}: {refused}"
        );
    }
    let stdin = s
        .pisess("list -l --source all -")
        .stdin(fixture("two-branches.jsonl"))
        .at_home()
        .done();
    assert_eq!(stdin.text(), "-\n", "{stdin}");
    // An import is no copy of its source.
    let import = s.pisess(&format!("import -q ./{STORED}")).at_home().done();
    assert_eq!(import.code, 0, "{import}");
    let checked = s.pisess("check --all --source all").at_home().done();
    assert!(!checked.stderr.contains("copies"), "{checked}");

    let one = s
        .pisess("grep --all --follow --source all paper")
        .at_home()
        .done();
    assert_eq!(one.code, 2, "{one}");
}

/// A project may be named twice, by two paths, and its directory may contain the agent's store.
#[test]
fn source_all_finds_each_session_of_a_project_once() {
    let s = with_stored_session();
    s.put("kites/notes.md", "");
    let project = s.path("kites");
    let stored = s.text(STORED);
    let moved = stored.replace("/home/u/kites", &project.to_string_lossy());
    assert_ne!(moved, stored);
    s.put(STORED, moved);
    for (line, expected) in [
        ("list -l --source all ./kites", 1),
        ("list -l --source claude ./kites ./kites/", 1),
        ("list -l --source all ./kites ./.claude", 1),
        ("grep -l --source all paper ./kites ./kites/", 1),
    ] {
        let done = s.pisess(line).at_home().done();
        assert_eq!(done.text().lines().count(), expected, "{line}: {done}");
        assert!(!done.stderr.contains("no *.jsonl"), "{line}: {done}");
    }
    let checked = s.pisess("check --source all ./kites").at_home().done();
    assert_snapshot!(checked.stderr, @"pisess: 1 session checked: no problems");
    let all = s.pisess("check --all --source all").at_home().done();
    assert_snapshot!(all.stderr, @"pisess: 1 session checked: no problems");
}

/// An agent may have several files of one session. They cannot be joined.
#[test]
fn check_calls_no_files_of_other_agents_copies() {
    let s = with_stored_session();
    s.put(
        ".claude/projects/-other/c1a00000-0000-4000-8000-000000000001.jsonl",
        s.text(STORED),
    );
    let done = s.pisess("check --all --source all").at_home().done();
    assert!(done.stderr.contains("2 sessions checked"), "{done}");
    assert!(!done.stderr.contains("copies"), "{done}");
}

#[test]
fn export_names_the_files_of_another_agents_sessions() {
    let s = with_stored_session();
    s.put("out/notes.md", "");
    s.run(&format!("export -q -o ./out ./{STORED}"));
    let (folder, _) = STORED.rsplit_once('/').unwrap();
    s.run(&format!("export -q -o ./out ./{folder}"));
    let mut names = s.names();
    names.retain(|name| name.starts_with("out/"));
    assert_snapshot!(names.join("\n"), @r"
    out/2025-09-12-which-paper-for-a-kite-000000a1.html
    out/c1a00000-0000-4000-8000-0000000000a1.html
    out/notes.md
    ");
}

#[test]
fn export_source_selects_the_sessions_of_a_directory() {
    let s = with_two_agents();
    s.put("both/pi.jsonl", fixture("two-branches.jsonl"));
    s.put("both/claude.jsonl", s.bytes(STORED));

    let count_lines = |options: &str| {
        let exported = s.run(&format!("export --as messages -o - {options} ./both"));
        exported.lines().count()
    };
    assert_eq!(count_lines(""), 2);
    assert_eq!(count_lines("--source pi"), 1);
    assert_eq!(count_lines("--source claude"), 1);
    assert_eq!(count_lines("--source pi,claude"), 2);

    let paths = s.run("export --as markdown --source claude -o ./new/ ./both");
    assert_eq!(paths.lines().count(), 1, "{paths}");
    for command in [
        "export --as markdown -o ./none/",
        "export --as messages -o -",
    ] {
        let done = s.pisess(&format!("{command} --source codex ./both")).done();
        let note = "none of the sessions found is of the agents that --source names";
        assert!(done.stderr.contains(note), "{command}: {done}");
    }
    let refused = s
        .pisess("export --as messages -o - --source pi - ./both")
        .done();
    assert!(
        refused
            .fails(2)
            .contains("standard input is not read with --source")
    );
}

/// `pi` and `omp` are agents like the others.
#[test]
fn source_selects_pi_or_oh_my_pi() {
    let s = with_two_agents();
    let header = |id: &str| {
        format!(
            r#"{{"type":"session","version":3,"id":"{id}","timestamp":"2026-01-31T10:00:00.000Z","cwd":"/home/u/kites"}}"#
        )
    };
    let omp = format!(
        "{}\n{}\n{}\n",
        header("0199bbbb-22222222"),
        r#"{"type":"model_change","id":"m1","parentId":null,"timestamp":"2026-01-31T10:00:00.000Z","model":"p/m"}"#,
        r#"{"type":"message","id":"m2","parentId":"m1","timestamp":"2026-01-31T10:00:01.000Z","message":{"role":"user","content":[{"type":"text","text":"paper"}]}}"#
    );
    let name = "2026-01-31T10-00-00-000Z_0199bbbb-22222222";
    let store = ".omp/agent/sessions/-home-u-kites";
    s.put(&format!("{store}/{name}.jsonl"), omp);
    // A sub-agent belongs to the agent of its session.
    let sub_agent = format!("{}\n", header("0199cccc-33333333"));
    s.put(&format!("{store}/{name}/Scout.jsonl"), sub_agent);

    let run = |line: &str| s.pisess(line).at_home().done();
    for (line, expected) in [
        ("list --all -l", 3),
        ("list --all -l --source pi", 1),
        ("list --all -l --source omp", 2),
        ("list --all -l --source oh-my-pi", 2),
        ("list --all -l --source pi,omp", 3),
        ("list --all -l --source pi,claude", 2),
        ("list --all -l --source all", 4),
        ("list -l --source omp .", 2),
        ("list -l --source pi,claude .", 2),
        ("list -l --source pi,omp .", 3),
        ("list -l --source omp 0199bbbb", 2),
        ("grep -l --all --source pi paper", 1),
        ("grep -l --all --source omp paper", 1),
        ("grep -l --source omp paper .", 1),
        ("grep -l --source omp,claude paper .", 2),
        ("stats --all --by session --json --source omp", 1),
        ("stats --by session --json --source pi .", 1),
    ] {
        let done = run(line);
        assert!(done.code <= 1, "{line}: {done}");
        assert_eq!(done.text().lines().count(), expected, "{line}: {done}");
    }
    for command in ["check", "redact --check"] {
        let done = run(&format!("{command} --all --source omp"));
        assert!(done.code <= 1, "{command}: {done}");
        assert!(!done.stderr.contains("none of"), "{command}: {done}");
    }

    // Without a session of the agent, there is one note.
    for command in ["list", "grep paper", "stats", "check", "redact --check"] {
        let done = run(&format!("{command} --source pi ./{store}"));
        let note = "pisess: note: none of the sessions found is of pi (hint: --source all reads those of all agents)\n";
        assert_eq!(done.stderr, note, "{command}");
    }
    let refused = s.pisess("stats --source pi -").at_home().done().fails(2);
    assert_snapshot!(refused, @"standard input is not read with --source (hint: give the path of a file)");
}

/// A command that reads one session takes only those of the named agents.
#[test]
fn source_limits_the_session_that_is_read() {
    let s = with_two_agents();
    let run = |line: &str| s.pisess(line).at_home().done();
    let foreign = "./.claude/projects/-home-u-kites/c1a00000-0000-4000-8000-0000000000a1.jsonl";
    for command in [
        "tree",
        "path",
        "show",
        "branches",
        "context",
        "export -o - --as markdown",
    ] {
        for source in ["claude", "all", "pi,claude"] {
            let line = format!("{command} --source {source}");
            for session in [foreign, "c1a00000"] {
                let done = run(&format!("{line} {session}"));
                assert_eq!(done.code, 0, "{line} {session}: {done}");
            }
        }
        let refused = run(&format!("{command} --source codex c1a00000")).fails(2);
        assert_eq!(
            refused, "c1a00000: not a session of the agents that --source names",
            "{command}"
        );
    }
    let refused = run("diff --source omp c1a00000 @~1 @").fails(2);
    assert!(refused.contains("not a session of"), "{refused}");
    assert_snapshot!(run("show --source claude last").fails(2), @"no session of these agents in the current directory (hint: `pisess list --source all --all` lists the sessions of all agents)");

    // `last` is the newest of these agents in the current directory.
    let here = std::fs::canonicalize(s.path("")).unwrap();
    let here = here.to_string_lossy().replace('\\', "\\\\");
    let text = String::from_utf8(fixture("claude/plain.jsonl")).unwrap();
    s.put(
        ".claude/projects/here/c1a00000-0000-4000-8000-0000000000b2.jsonl",
        text.replace("/home/u/kites", &here),
    );
    let shown = run("show --source claude last");
    assert!(
        shown.code == 0 && shown.text().contains("claude"),
        "{shown}"
    );
}

/// `--source` decides before a session is chosen, and not only whether the chosen one is read.
#[test]
fn source_limits_the_candidates_for_a_title_and_for_last() {
    let s = with_two_agents();
    let run = |line: &str| s.pisess(line).at_home().done();

    // Both sessions have the title.
    let titled = run("path --source claude 'Which paper'");
    assert_eq!(titled.code, 0, "{titled}");
    let titled = run("path --ids --source pi 'Which paper'");
    assert!(titled.text().contains("1a2b3c01"), "{titled}");
    let refused = run("path --source omp 'Which paper'").fails(2);
    assert!(refused.contains("no such file"), "{refused}");

    let here = std::fs::canonicalize(s.path("")).unwrap();
    let here = here.to_string_lossy().replace('\\', "\\\\");
    let in_here = |text: Vec<u8>| {
        let text = String::from_utf8(text).unwrap();
        text.replace("/home/u/kites", &here)
    };
    let claude = ".claude/projects/here/c1a00000-0000-4000-8000-0000000000b2.jsonl";
    s.put(claude, in_here(fixture("claude/plain.jsonl")));
    let claude_file = std::fs::File::options().write(true).open(s.path(claude));
    let earlier = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    claude_file.unwrap().set_modified(earlier).unwrap();
    let text = in_here(fixture("two-branches.jsonl"));
    let (header, entries) = text.split_once('\n').unwrap();
    let model = r#"{"type":"model_change","id":"m1","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","model":"p/m"}"#;
    let store = ".omp/agent/sessions/-";
    s.put(
        &format!("{store}/2026_omp1.jsonl"),
        format!("{header}\n{model}\n{entries}"),
    );
    s.put(
        &format!("{store}/2026_omp2.jsonl"),
        format!("{}\n{model}\n", header.replace("00babe", "00b1a4")),
    );

    // The newest session of oh-my-pi has no messages.
    for source in ["omp", "all"] {
        let last = run(&format!("path --ids --source {source} last"));
        assert!(last.text().contains("1a2b3c01"), "{source}: {last}");
    }
    // Commands that read any number of sessions take `last` in the same sense, and `last~1` is the
    // one before it.
    for command in ["list -l", "stats", "grep -c e", "check", "redact --check"] {
        let of_claude = run(&format!("{command} --source claude last"));
        let before_last = run(&format!("{command} --source all last~1"));
        assert!(of_claude.code <= 1, "{command}: {of_claude}");
        assert_eq!(before_last.stdout, of_claude.stdout, "{command}");
    }
    let listed = run("list -l --source all last~1");
    assert!(listed.text().contains("0000000000b2"), "{listed}");
    let refused = run("stats --source claude last~1").fails(2);
    assert_snapshot!(refused, @"last~1: these agents have only 1 session in the current directory (hint: `pisess list --source all --all` lists the sessions of all agents)");

    // `diff` with one session searches for its other copy.
    let lone = run("diff --source claude last");
    assert!(lone.stderr.contains("0000000000b2"), "{lone}");
    let refused = run("diff --source claude ./.omp/agent/sessions/-/2026_omp1.jsonl").fails(2);
    assert!(refused.contains("not a session of the agents"), "{refused}");

    // On a terminal, `last` need not be given.
    let taken = s
        .pisess("path --source claude")
        .at_home()
        .terminal(200)
        .typed()
        .done();
    assert_eq!(taken.code, 0, "{taken}");
    let report = "pisess: last is ~/.claude/projects/here/c1a00000";
    assert!(taken.stderr.starts_with(report), "{taken}");
}

/// Words of a title name a session of another agent, too, if no session of pi or oh-my-pi has them.
#[test]
fn a_title_names_a_session_of_another_agent() {
    let s = with_stored_session();
    let run = |line: &str| s.pisess(line).at_home().done();
    for command in ["tree", "show", "stats --by file", "grep -i e"] {
        let done = run(&format!("{command} 'Which paper'"));
        assert_eq!(done.code, 0, "{command}: {done}");
        assert!(
            done.stderr.contains("`Which paper` is in the title of"),
            "{command}: {done}"
        );
    }
    let none = run("tree 'which boat'").fails(2);
    assert!(none.contains("no such file"), "{none}");
}

#[test]
fn the_environment_is_the_default_of_source() {
    let s = with_two_agents();
    let with_sources =
        |line: &str, value: &str| s.pisess(line).at_home().env("PISESS_SOURCES", value).done();
    let count = |line: &str, value: &str| with_sources(line, value).text().lines().count();
    assert_eq!(count("list --all -l", "all"), 2);
    assert_eq!(count("list --all -l", "claude, codex"), 1);
    assert_eq!(count("list --all -l", ""), 1);
    assert_eq!(count("list --all -l", "pi"), 1);
    assert_eq!(count("list --all -l", "omp"), 0);
    assert_eq!(count("list --all -l --source codex", "all"), 0);
    // The option and a path decide before the environment.
    assert_eq!(count("list -l ./.pi", "claude"), 1);
    assert_snapshot!(with_sources("list --all", "cline").fails(2), @"PISESS_SOURCES: cline is not a source (hint: use pi, omp, claude, codex, opencode, gemini or all, with commas between)");
}

#[test]
fn a_search_without_a_match_names_the_sessions_that_were_not_searched() {
    let s = with_two_agents();
    let note = |line: &str| s.pisess(line).at_home().done().stderr;
    assert_snapshot!(note("grep --all nowhere-to-be-found"), @"pisess: note: 1 session of other agents not searched (hint: --source all searches them, too)");
    assert_eq!(note("grep --all --source all nowhere-to-be-found"), "");
    assert_snapshot!(note("prune -n --secrets --all"), @"pisess: note: 1 session of other agents not searched (hint: `pisess redact --check --all --source all` finds their secrets)");
    assert_eq!(note("prune -n --all"), "");
}

/// A command that changes a session finds it by that id, too, and names `import`.
#[test]
fn such_an_id_is_refused_by_commands_that_write() {
    let s = with_stored_session();
    let label = |id: &str| s.pisess(&format!("label {id} @ done")).at_home().done();
    assert_snapshot!(label("c1a00000").fails(2), @"~/.claude/projects/-home-u-kites/c1a00000-0000-4000-8000-0000000000a1.jsonl: not a session of pi or oh-my-pi, but of Claude Code (hint: `pisess import ~/.claude/projects/-home-u-kites/c1a00000-0000-4000-8000-0000000000a1.jsonl` converts it; commands that only read, such as `tree`, accept it; `pisess list --source claude` lists it)");
    assert_snapshot!(label("c1a00001").fails(2), @"c1a00001: no such file, and no session with that id or name (hint: `pisess list --all` lists all sessions; several words need quotes)");
}

/// A fork is a new session, so it may begin as one of another agent.
#[test]
fn a_session_of_another_agent_is_forked() {
    let s = with_stored_session();
    let fork = |line: &str| s.pisess(line).at_home().done().quiet();
    let path = fork("fork --cwd ./boats c1a00000 '@^{user}'");
    assert!(path.starts_with("./.pi/agent/sessions/--"), "{path}");
    assert!(path.contains("-boats--/"), "{path}");
    let name = path.trim().trim_start_matches("./");
    let header = s.text(name).lines().next().unwrap().to_owned();
    assert!(header.contains("/boats\""), "{header}");
    assert!(!header.contains("parentSession"), "{header}");
    let of_source = s.pisess("path --json c1a00000 '@^{user}'").at_home().done();
    let of_fork = s.pisess(&format!("path --json ./{name}")).at_home().done();
    assert_eq!(of_fork.text(), of_source.text());
    assert_eq!(
        s.pisess(&format!("check ./{name}")).at_home().done().text(),
        ""
    );

    // Without --cwd, it is a session of the same project.
    assert!(fork("fork --for omp c1a00000").starts_with("./.omp/agent/sessions/"));
    let path = fork("fork c1a00000");
    assert!(
        path.starts_with("./.pi/agent/sessions/--home-u-kites--/"),
        "{path}"
    );
    assert!(fork("fork -o - c1a00000").starts_with(r#"{"type":"session""#));
}

#[test]
fn commands_of_several_sessions_take_such_an_id_too() {
    let s = with_stored_session();
    for command in ["stats", "check", "grep e", "stats --by file"] {
        let by_id = s.pisess(&format!("{command} c1a00000")).at_home().done();
        assert_eq!(by_id.code, 0, "{by_id}");
        assert!(!by_id.text().is_empty() || command == "check", "{by_id}");
    }
}

#[test]
fn resume_of_a_sub_agent_says_which_session_continues() {
    let s = Sandbox::with(&[]);
    let line = r#"{"type":"user","uuid":"1","parentUuid":null,"isSidechain":true,"agentId":"ag1","sessionId":"c1a00000-0000-4000-8000-0000000000a1","cwd":"/","message":{"role":"user","content":"hi"}}"#;
    s.put("agent-ag1.jsonl", format!("{line}\n"));
    let done = s.pisess("resume ./agent-ag1.jsonl").done();
    assert!(done.stderr.contains("this is a sub-agent"), "{done}");
}

#[test]
fn redact_check_searches_sessions_of_other_agents() {
    let s = Sandbox::with(&[
        "claude/plain.jsonl",
        "codex/plain.jsonl",
        "two-branches.jsonl",
    ]);
    let told = fixture("claude/cleared.jsonl");
    let told = String::from_utf8(told).unwrap();
    let told = told.replace(
        "Which spar for a kite?",
        "use ghp_R4kq9ZtW2xL7vB1nJ8sY6mC3dF5hG0pQaEuT",
    );
    s.put("store/told.jsonl", &told);
    s.put("store/kites.jsonl", s.bytes("two-branches.jsonl"));

    let one = s.unchanged("redact --check ./store/told.jsonl");
    assert_eq!(one.code, 1, "{one}");
    assert!(one.text().contains("github"), "{one}");
    assert!(!one.text().contains("ghp_R4kq9"), "{one}");

    let all = s.unchanged("redact --check ./store");
    assert_eq!(all.code, 1, "{all}");
    assert!(
        all.stderr.contains("2 sessions searched: 1 secret"),
        "{all}"
    );
    assert_eq!(s.unchanged("redact -n ./store/told.jsonl").code, 2);
}

/// A file without the word that is searched for is not converted. A conversion adds words of its
/// own, so all words of a converted session that are not in its file must be found nevertheless.
#[test]
fn grep_finds_each_word_that_a_conversion_adds() {
    let mut found_words = Vec::new();
    for source in [
        "claude/plain.jsonl",
        "claude/tree.jsonl",
        "claude/parallel.jsonl",
        "claude/damaged.jsonl",
        "claude/cleared.jsonl",
        "claude/returned.jsonl",
        "codex/plain.jsonl",
        "codex/2025.jsonl",
        "codex/rollback.jsonl",
        "codex/damaged.jsonl",
        "codex/encrypted.jsonl",
        "codex/summaries.jsonl",
        "codex/returned.jsonl",
    ] {
        let s = Sandbox::with(&[source]);
        let name = source.rsplit('/').next().unwrap();
        s.run(&format!("import -q ./{name} -o ./imported.jsonl"));
        let file = String::from_utf8_lossy(&fixture(source)).into_owned();
        let all_words = s.pisess(r"grep -o '\pL\w*' ./imported.jsonl").done().text();
        for row in all_words.lines() {
            let word = row.rsplit(' ').next().unwrap();
            if file.contains(word) || found_words.iter().any(|found| found == word) {
                continue;
            }
            found_words.push(word.to_owned());
            let count = |session: &str| s.pisess(&format!("grep -c {word} {session}")).done();
            let of_import = count("./imported.jsonl");
            let in_place = count(&format!("./{name}"));
            assert_eq!(of_import.code, 0, "{of_import}");
            assert_eq!(in_place.text(), of_import.text(), "{word} in {source}");
        }
    }
    for word in ["anthropic", "Context"] {
        assert!(found_words.iter().any(|found| found == word), "{word}");
    }
}

/// A compaction of an older Codex has the texts of a message joined: a word of it may be in two
/// texts of the file.
#[test]
fn grep_finds_a_word_that_a_conversion_joins() {
    let s = Sandbox::new();
    let line = |kind: &str, payload: serde_json::Value| {
        let line =
            json!({"timestamp": "2026-01-01T00:00:00.000Z", "type": kind, "payload": payload});
        format!("{line}\n")
    };
    let texts =
        json!([{"type": "input_text", "text": "a zebra"}, {"type": "input_text", "text": "fish"}]);
    let mut lines = line("session_meta", json!({"id": "s", "cwd": "/p"}));
    lines += &line(
        "response_item",
        json!({"type": "message", "role": "user", "content": texts}),
    );
    s.put("s.jsonl", lines.clone());
    assert_eq!(s.pisess("grep zebrafish ./s.jsonl").done().code, 1);

    lines += &line("compacted", json!({"message": "Done"}));
    s.put("s.jsonl", lines);
    assert_eq!(s.run("grep -c zebrafish ./s.jsonl"), "1\n");
}

/// What needs no match is the same, whether the file was converted or not.
#[test]
fn grep_of_a_file_without_the_word_answers_as_for_the_imported_session() {
    for source in ["claude/plain.jsonl", "codex/plain.jsonl"] {
        let s = Sandbox::with(&[source]);
        s.run("import -q ./plain.jsonl -o ./imported.jsonl");
        for options in [
            "", "-c", "-L", "-l", "--json", "-cw", "-i", "--raw", "-v -c", "--last 2",
        ] {
            let search = |session: &str| {
                let done = s
                    .pisess(&format!("grep {options} zebrafish {session}"))
                    .done();
                done.to_string().replace(session, "SESSION")
            };
            assert_eq!(
                search("./plain.jsonl"),
                search("./imported.jsonl"),
                "{options}"
            );
        }
    }
}
