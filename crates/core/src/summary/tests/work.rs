//! Tool calls: commands, failures, and what settles them.

use super::*;

#[test]
fn a_failure_is_told_by_how_it_ended() {
    for (output, expected) in [
        (
            "building\nCompiling: three of four parts\n\nCommand timed out after 120 seconds",
            "timed out after 120 seconds",
        ),
        (
            "all fine here\n\nCommand exited with code 2",
            "exited with code 2",
        ),
        ("no such file", "failed"),
    ] {
        let blocked = section(
            [user("Build it."), bash("make all", Some(output))],
            "### Blocked",
        );
        assert!(
            blocked.starts_with(&format!("- `make all`: {expected}: \"")),
            "{blocked}"
        );
        assert!(blocked.ends_with(" (the last tool call)"), "{blocked}");
    }
    let trace = "Traceback (most recent call last):\n  File \"a.py\", line 1\nValueError: bad date: 31.02.\n\nCommand exited with code 1";
    let blocked = section([bash("python a.py", Some(trace))], "### Blocked");
    assert!(
        blocked.contains("ValueError: bad date: 31.02."),
        "{blocked}"
    );
}

#[test]
fn a_blocker_does_not_vanish_behind_what_follows() {
    let mut messages = vec![
        user("Release it."),
        bash(
            "git push -u origin v2",
            Some("fatal: 403\n\nCommand exited with code 128"),
        ),
        bash(
            "gh pr create --fill",
            Some("run gh auth login\n\nCommand exited with code 4"),
        ),
        bash("cp a b", None),
        bash("./scratch.sh", Some("oops\n\nCommand exited with code 3")),
        bash("date > d", None),
        says("`git push` and `gh pr create` are refused; the access is missing."),
    ];
    let full = section(&messages, "### Blocked");
    assert!(
        full.starts_with("- `gh pr create --fill`: exited with code 4")
            && full.contains("code 128"),
        "{full}"
    );
    // The reply does not mention it, and goes on.
    assert!(!full.contains("scratch.sh"), "{full}");
    for at in 0..12 {
        messages.push(user(&format!("What is the weather on day {at}?")));
        messages.push(says(&format!("It rains {at} mm.")));
    }
    let named = section(&messages, "### Blocked");
    assert!(
        named.contains("`git push -u origin v2`: exited with code 128 (") && !named.contains("403"),
        "{named}"
    );
    messages.push(bash("git push", None));
    assert!(!section(&messages, "### Blocked").contains("git push"));
}

/// A failed run, the same with its exit code hidden, and replies after which it is over or not.
#[test]
fn a_failure_is_over_if_tests_pass_or_the_user_says_that_it_works() {
    let blocked = |later_output: &str, reply: &str| {
        let failed = "error: one\n\nCommand exited with code 101";
        let arguments = r#"{"command":"cargo test | tail -1"}"#;
        let messages = [
            user("Make the tests pass."),
            bash("cargo test", Some(failed)),
            called("", "bash", arguments, later_output, false),
            says("`cargo test` fails in the timer."),
            user(reply),
            says("Noted."),
            user("Now the page, please."),
            edit("index.html"),
        ];
        section(messages, "### Blocked")
    };
    let failing = "test result: FAILED. 30 passed; 1 failed";
    assert!(blocked(failing, "ok").contains("cargo test"));
    assert_eq!(
        blocked("test result: ok. 31 passed; 0 failed", "ok"),
        "- (none)"
    );
    for works in [
        "works now!! on to the next",
        "airplay works!! printer too",
        "make test works now",
        "it's fixed, thanks",
        "fixed it",
        "the timer is now working",
        "läuft jetzt",
        "ça marche",
        "we have fixed the timer",
        "all fixed now",
        "is working again",
    ] {
        assert_eq!(blocked(failing, works), "- (none)", "{works}");
    }
    for fails in [
        "still not working",
        "läuft nicht",
        "does it work?",
        "it works when I wait",
        "Please make it work.",
        "It should be fixed before Monday",
        "Get the low tide test working first",
        "keep working on it",
        "the captain is working on it",
        "the test must be fixed",
        "find out how it works",
        "change the timer so that it works",
        "fixed widths for the columns",
        "nothing works",
        "we are working on a fix, go on with the page",
        "the captain is working from home today",
        "the columns have fixed widths",
        "all fixed costs go into the table",
        "we have fixed costs, too",
        "mach bitte dass es läuft",
    ] {
        assert!(blocked(failing, fails).contains("cargo test"), "{fails}");
    }
}

/// The result of another step, the last one, says nothing about the failed one.
#[test]
fn tests_that_passed_settle_only_the_last_step() {
    let command = json("make lint 2>&1 | tail -3; pytest -q | tail -1");
    let messages = [
        user("Clean up the map."),
        bash(
            "make lint",
            Some("map.c:3: error: line too long\n\nCommand exited with code 2"),
        ),
        called(
            "",
            "bash",
            &format!(r#"{{"command":{command}}}"#),
            "map.c:3: error: line too long\n36 passed in 2.11s",
            false,
        ),
    ];
    let blocked = section(messages, "### Blocked");
    assert!(blocked.contains("make lint"), "{blocked}");
}

/// A program that the shell does not find is replaced by another, unless it is what is worked on.
#[test]
fn a_missing_program_of_an_earlier_turn_is_no_blocker() {
    let missing = "pipx: command not found\n\nCommand exited with code 127";
    let mut messages = vec![
        user("Install the tool, please."),
        bash("pipx install -e .", Some(missing)),
    ];
    assert!(section(&messages, "### Blocked").contains("pipx"));
    messages.push(bash("uv tool install -e .", None));
    messages.push(says("Installed with uv, because pipx is missing here."));
    messages.push(user("tried it with the real export"));
    messages.push(bash("ls exports", None));
    assert_eq!(section(&messages, "### Blocked"), "- (none)");
}

/// If the reply reports that a program is missing, and nothing replaced it, it is a blocker.
#[test]
fn a_missing_program_that_was_reported_is_a_blocker() {
    let missing = "./deploy.sh: line 3: kubectl: command not found\n\nCommand exited with code 127";
    for (command, reply) in [
        (
            "./deploy.sh",
            "deploy.sh fails: kubectl is not installed. The map is not deployed.",
        ),
        (
            "kubectl apply -f map.yml",
            "kubectl is missing, so the map is not deployed. Please install kubectl.",
        ),
    ] {
        let blocked_after = |command_between: &str| {
            let messages = [
                user("Deploy the map."),
                bash(command, Some(missing)),
                bash(command_between, None),
                says(reply),
                user("Draw the pier, in blue."),
                bash("python draw.py", None),
                says("The pier is drawn."),
            ];
            section(messages, "### Blocked")
        };
        for command_between in ["ls maps", "git commit -m map"] {
            let blocked = blocked_after(command_between);
            assert!(blocked.contains(command), "{blocked}");
            assert!(!blocked.contains("may be over"), "{blocked}");
        }
        assert_eq!(blocked_after(command), "- (none)");
    }
}

/// The reply says what was used in place of the missing program, or two later turns do not speak of
/// a failure that may be over.
#[test]
fn a_failure_that_nobody_speaks_of_any_more_is_no_blocker() {
    let missing = "psql: command not found\n\nCommand exited with code 127";
    let with_reply = |reply: &str| {
        let messages = [
            user("How many harbours are there?"),
            bash("psql -c 'select count(*) from harbour'", Some(missing)),
            bash("node count.mjs", None),
            says(reply),
            user("And piers?"),
            bash("node piers.mjs", None),
            says("12."),
        ];
        section(messages, "### Blocked")
    };
    assert_eq!(
        with_reply("psql is not installed here, so I asked with node: 41 harbours."),
        "- (none)"
    );
    let blocked = with_reply("psql is not installed here. 41 harbours by the old list.");
    assert!(blocked.contains("psql"), "{blocked}");

    let unspoken = |later: &str| {
        let error =
            "cannot open tools/turns.py of the harbour office\n\nCommand exited with code 2";
        let mut messages = vec![
            user("Count the page turns."),
            bash("python3 tools/turns.py", Some(error)),
            bash("pdfinfo out.pdf > n", None),
            says("The harbour office counts 4 page turns."),
        ];
        for number in 0..3 {
            messages.push(user(&format!("Now page {number}, please.")));
            messages.push(edit("book.ly"));
            messages.push(says(later));
        }
        section(messages, "### Blocked")
    };
    assert_eq!(unspoken("The page is set."), "- (none)");
    let blocked = unspoken("The page is set, but turns.py still does not open.");
    assert!(blocked.contains("turns.py"), "{blocked}");
}

#[test]
fn a_server_that_runs_into_the_time_limit_is_no_blocker() {
    let blocked = |output: &str| {
        let output = format!("{output}\n\nCommand timed out after 60 seconds");
        let messages = [
            user("Start the chart server."),
            bash("java -jar charts.jar", Some(&output)),
        ];
        section(messages, "### Blocked")
    };
    assert_eq!(blocked("INFO Tomcat started on port 8080"), "- (none)");
    assert_eq!(
        blocked("ready in 312 ms\n  Local: http://localhost:8080/"),
        "- (none)"
    );
    let stuck = blocked("Downloading the charts of the west coast");
    assert!(stuck.contains("charts.jar"), "{stuck}");
}

#[test]
fn a_process_that_could_not_be_stopped_is_no_blocker() {
    let not_running = Some("Shell b1 is not running, so cannot be killed");
    for (call, blocks) in [
        (
            tool("", "KillShell", r#"{"shell_id":"b1"}"#, not_running),
            false,
        ),
        (
            bash("pkill -f serve", Some("Exit code 1: no such process")),
            false,
        ),
        (bash("ls; pgrep -l serve", Some("Exit code 1: none")), false),
        (bash("make stop", not_running), true),
    ] {
        let blocked = section([user("Draw the map."), call], "### Blocked");
        assert_eq!(blocked != "- (none)", blocks, "{blocked}");
    }
}

#[test]
fn a_run_of_all_tests_settles_the_failure_of_some() {
    let blocked = |later: &str| {
        let arguments = r#"{"command":"npm test | tail -1"}"#;
        let messages = [
            user("Make the tests pass."),
            bash(
                "npx vitest run src/tide",
                Some("Tests 1 failed | 18 passed (19)\n\nCommand exited with code 1"),
            ),
            called("", "bash", arguments, later, false),
        ];
        section(messages, "### Blocked")
    };
    assert_eq!(blocked("Tests 842 passed | 3 skipped (845)"), "- (none)");
    for later in [
        "Tests 2 failed | 840 passed (842)",
        "Tests 7 passed (7)",
        "Checks 842 passed",
    ] {
        assert!(blocked(later).contains("vitest"), "{later}");
    }
}

#[test]
fn a_run_of_other_tests_settles_no_failure() {
    let failed = "running 14 tests\ntest tide ... FAILED\n\
                  test result: FAILED. 13 passed; 1 failed\n\nCommand exited with code 101";
    let passed = "running 40 tests\ntest result: ok. 40 passed; 0 failed";
    let blocked = |later: &str, reply: &str| {
        let arguments = format!(r#"{{"command":{}}}"#, json(later));
        let mut messages = vec![
            user("Test both crates."),
            bash("cargo test -p alpha tide", Some(failed)),
            called("", "bash", &arguments, passed, false),
        ];
        if !reply.is_empty() {
            messages.push(says(reply));
        }
        section(messages, "### Blocked")
    };
    assert_eq!(blocked("make test", ""), "- (none)");
    for (later, reply) in [
        ("cargo test -p beta", ""),
        ("cargo test -p beta", "The test tide of alpha still fails."),
        ("make test", "The test tide of alpha still fails."),
        ("cd beta && make test", ""),
    ] {
        let open = blocked(later, reply);
        assert!(open.contains("-p alpha"), "{later} {reply}: {open}");
    }
}

#[test]
fn probes_are_no_blockers() {
    let nothing = Some("\n\nCommand exited with code 1");
    let messages = [
        user("Build it."),
        bash("which qemu", nothing),
        bash("grep -rn nothing src", nothing),
        bash("test -f a && cat a", nothing),
        bash("diff a b", nothing),
        bash(
            "ls missing",
            Some("ls: missing: no such file\n\nCommand exited with code 2"),
        ),
        tool(
            "",
            "read",
            r#"{"path":"missing.md"}"#,
            Some("ENOENT: no such file"),
        ),
        look("a.md"),
    ];
    let text = summary(None, messages);
    assert_eq!(below(&text, "### Blocked"), ["- (none)"]);
    assert!(
        !below(&text, "### Done").join("\n").contains("which qemu"),
        "{text}"
    );
}

#[test]
fn what_only_asks_for_a_version_or_a_module_is_a_probe() {
    let missing = |output: &str, code: u8| format!("{output}\n\nCommand exited with code {code}");
    for command in [
        "node --version",
        "node -v 2>/dev/null",
        "cd app && sudo docker compose version",
        "java -version 2>&1",
        "gcc-14 -V",
        "ctest --version",
        "node -e \"require('@harbour/map')\"",
        "cargo clippy --help",
        "python3 -c 'import osmium'",
        "python3 -c \"import shap; print(shap.__version__)\"; which osmium",
        "python -c 'from PIL import Image'",
        "perl -v | sed -n 2p; perl -MDBI -e 'print DBI->VERSION'; perl -MText::CSV -e 1",
        "node -e \"require('sharp')\"",
        "command -v mill",
        "test -f harbour.map",
        "ls harbours/north",
        "pip show osmium",
    ] {
        for code in [1, 2, 127] {
            let output = missing("sh: 1: that was not found", code);
            let messages = [
                user("Which tools are here?"),
                bash(command, Some(&output)),
                says("It is missing."),
            ];
            let text = summary(None, messages);
            assert_eq!(below(&text, "### Blocked"), ["- (none)"], "{command}");
            assert!(!text.contains("with a failure left open"), "{text}");
        }
    }
    for command in [
        "node build.js",
        "pytest -v",
        "python3 -c 'import tide; tide.check()'",
        "node --version && npm test",
        "make version",
        "perl -e 'die 1'",
        "ruby test.rb -v",
        "node build.js -v",
        "node --test -v",
        "ruby test_tide.rb -v",
        "npm run build_all -v",
        "ctest -V",
        "mvn verify -V",
        "node -e \"require('./build.js')\"",
        "node -e \"require('/srv/build.js')\"",
    ] {
        let messages = [
            user("Check the tides."),
            bash(command, Some(&missing("3: that is wrong", 2))),
        ];
        let blocked = section(&messages, "### Blocked");
        assert!(blocked.contains(command), "{command}: {blocked}");
    }
}

#[test]
fn a_command_is_shown_whole_and_never_as_a_fragment() {
    let make = "cd /x && for dir in a b; do\n  make -C $dir\ndone";
    let make = bash(make, Some("make: no rule\n\nCommand exited with code 2"));
    let note = bash("cat > note.md <<'EOF'\nfor dir in x\nEOF", None);
    let text = summary(None, [user("Look."), make, note]);
    assert!(
        text.contains("`for dir in a b; do / make -C $dir / done`: exited with code 2"),
        "{text}"
    );
    assert!(text.contains("`cat > note.md <<`"), "{text}");
    assert!(!text.contains("for dir in`") && !text.contains("for dir in x"));
}

#[test]
fn a_command_is_listed_with_what_it_counted() {
    let run = |command: &str, output: &str| {
        let arguments = format!(r#"{{"command":{}}}"#, json(command));
        called("", "bash", &arguments, output, false)
    };
    let messages = [
        user("Measure the depths."),
        run("make all", "compiling v2\ndone in a moment"),
        run("./measure", "warm up\n14 depths, 3.1 m at least\n"),
        run("./list > a.txt", &"7 ".repeat(100)),
    ];
    let done = section(messages, "### Done");
    assert_eq!(
        done,
        "- Commands whose last run ended without error, newest first: `./list > a.txt`, \
         `./measure` (\"14 depths, 3.1 m at least\"), `make all`"
    );
}

#[test]
fn a_success_settles_a_failure_and_a_pipe_does_not() {
    let failing = |after: &str| {
        let test = bash(
            "cd a && cargo test 2>&1",
            Some("error: one\n\nCommand exited with code 101"),
        );
        let messages = [
            user("Make the tests pass."),
            test,
            edit("src/a.rs"),
            bash(after, None),
        ];
        section(messages, "### Blocked")
    };
    assert_eq!(failing("cd a && cargo test --lib"), "- (none)");
    let piped = failing("cd a && cargo test | tail -3");
    let hidden = "(run again since, its exit code hidden by a pipe or a later step)";
    assert!(piped.ends_with(hidden), "{piped}");
    for unsure in ["cd a && cargo test || true", "cd a && cargo test; date"] {
        assert!(failing(unsure).ends_with(hidden), "{unsure}");
    }
    let error = Some("error: one\n\nCommand exited with code 101");
    let arguments = r#"{"command":"cargo test | tail -1"}"#;
    let messages = [
        user("Make the tests pass."),
        bash("cargo test", error),
        called("", "bash", arguments, "test result: ok. 31 passed", false),
    ];
    // The exit code is hidden, but the output counts the tests.
    assert_eq!(section(messages, "### Blocked"), "- (none)");
    let other = failing("cd b && cargo test");
    assert!(
        other.ends_with("(not run again since, in 2 tool calls)"),
        "{other}"
    );
}

/// A rerun in a pipe hides its exit code. Once the request is answered, its last line decides.
#[test]
fn a_rerun_in_a_pipe_that_ends_well_settles_a_failure_of_an_answered_request() {
    let blocked = |last_line: &str| {
        let error = "make: *** [feed] Error 1\n\nCommand exited with code 2";
        let messages = [
            user("Build the feed of the ferries."),
            bash("make feed", Some(error)),
            edit("feed.py"),
            called(
                "",
                "bash",
                r#"{"command":"make feed 2>&1 | tail -3"}"#,
                last_line,
                false,
            ),
            says("The feed is built."),
            user("Now the map of the piers, please, with their names."),
            edit("map.svg"),
        ];
        section(messages, "### Blocked")
    };
    assert_eq!(blocked("62 trips, 75 stops"), "- (none)");
    assert_eq!(blocked("62 trips, exit code 0"), "- (none)");
    for unsure in [
        "make: *** [feed] Error 1",
        "feed",
        "exit code 101",
        "101",
        "rc 2",
        "rc=2",
        "EXIT: 1",
        "13 tests, 2 not ok",
    ] {
        assert!(blocked(unsure).contains("make feed"), "{unsure}");
    }
}

#[test]
fn each_commit_of_a_command_line_is_listed() {
    let commits = "git add a && git commit -qm 'Draw the pier' && git add b && git commit -m \"Draw the quay\"";
    let messages = [
        user("Draw the pier and the quay."),
        bash("git commit -qam 'Start'", None),
        bash(commits, None),
        says("Three commits."),
    ];
    let done = section(messages, "### Done");
    let listed = "Commits, newest first: \"Draw the quay\", \"Draw the pier\", \"Start\"";
    assert!(done.contains(listed), "{done}");
}

#[test]
fn a_failure_is_taken_up_by_the_next_summary_until_it_is_settled() {
    let refused = Some("npm error code E401\n\nCommand exited with code 1");
    let messages = [
        user("Publish the new version of the package, please."),
        bash("npm run build && npm publish", refused),
        says("The registry refuses the token. Do you have a new one?"),
    ];
    let first = summary(None, messages);
    let failure = "- `npm run build && npm publish`: exited with code 1";
    assert!(below(&first, "### Blocked")[0].starts_with(failure));
    assert!(below(&first, "## Next Steps")[0].contains("ends in a question"));
    let aside = [
        user("what is a token, in one sentence, and who makes it?"),
        says("A secret that stands for you."),
    ];
    let second = summary(Some(&first), &aside);
    assert!(
        second.contains("`npm run build && npm publish`: exited with code 1"),
        "{second}"
    );
    let again = user("the new token is in place, publish again, and tag it");
    let third = summary(
        Some(&second),
        [again, bash("npm publish", None), says("Published.")],
    );
    assert_eq!(below(&third, "### Blocked"), ["- (none)"]);
}

#[test]
fn like_calls_are_one_item() {
    let mut messages = vec![user(
        "Port all packages, test and commit each, and read the parts.",
    )];
    for at in 0..12 {
        messages.push(edit(&format!("p{at}/src/a.ts")));
        messages.push(bash(&format!("cd p{at} && npm test"), None));
        messages.push(bash(&format!("git commit -am 'p{at}'"), None));
    }
    messages.push(bash(
        "cd p12 && npm test",
        Some("1 failed: x\n\nCommand exited with code 1"),
    ));
    messages.extend((0..40).map(|at| edit(&format!("part{at}.ts"))));
    let text = summary(None, &messages);
    let done = below(&text, "### Done").join("\n");
    for shown in [
        "`cd p0 && npm test` … `cd p11 && npm test` (12 alike)",
        "- Commits, newest first: \"p11\", \"p10\", \"p9\"",
    ] {
        assert!(done.contains(shown), "{shown}: {done}");
    }
    let progress = below(&text, "### In Progress");
    assert_eq!(
        progress.last().unwrap(),
        &"  - edit `part0.ts`: ok … edit `part39.ts`: ok (40 alike)"
    );
    assert_eq!(
        progress
            .iter()
            .filter(|line| line.starts_with("  - "))
            .count(),
        3
    );
}

#[test]
fn a_command_whose_exit_code_is_lost_is_not_listed_as_passed() {
    let mut messages = vec![user("Build everything, please, and test it.")];
    for command in [
        "make | tail -3",
        "make 2>&1 | grep -c error",
        "make a || true",
        "make b; ls",
    ] {
        messages.push(bash(command, None));
    }
    let text = summary(None, &messages);
    assert!(
        !below(&text, "### Done").join("\n").contains("make"),
        "{text}"
    );
    assert!(
        text.contains("  - `make b; ls`: ended, its exit code hidden by a pipe or a later step"),
        "{text}"
    );
    messages.push(bash("make c && ls", None));
    assert!(section(&messages, "### Done").contains("`make c && ls`"));
}

/// What only asked whether a program is there fails without a consequence, once the request is
/// answered. The state of the work names only failures of the current request.
#[test]
fn probes_and_earlier_failures_do_not_hold_up_an_answered_request() {
    let failed = |output: &str| format!("{output}\n\nCommand exited with code 127");
    let messages = [
        user("Which compiler builds the ferry board here?"),
        bash("gcc-14 --version", Some(&failed("gcc-14: not found"))),
        bash(
            "make board",
            Some("make: *** no rule\n\nCommand exited with code 2"),
        ),
        says("Clang builds it, but `make board` has no rule for that."),
        user("Now describe the board on the start page, please."),
        edit("index.html"),
        says("It is described."),
    ];
    let text = summary(None, messages);
    let blocked = below(&text, "### Blocked").join("\n");
    assert!(!blocked.contains("gcc-14"), "{text}");
    assert!(blocked.contains("`make board`"), "{text}");
    assert!(!text.contains("with a failure left open"), "{text}");
}

#[test]
fn ids_in_commands_stay_and_secrets_go() {
    let id = "Kf3sdW9xQzT7bLmN2vRyC5hJ8pA";
    let key = "Zq8rTk2WmB6yHn4sVx1cDf7jLp";
    let text = searched_summary(&[
        user("Copy the chart of the harbours to the new folder."),
        bash(&format!("lark copy --doc_token={id} --api_key={key}"), None),
    ]);
    assert!(text.contains(&format!("doc_token={id}")), "{text}");
    assert!(text.contains("api_key=[REDACTED:"), "{text}");
    assert!(!text.contains(key), "{text}");
}

#[test]
fn secrets_in_written_lines_go_before_the_lines_are_cut() {
    let secret = "Zq8rTk2WmB6yHn4sVx1cDf7jLpGw3uEa9oXi5dNhQv0KbYtS6lRzMf8JgCpUe2Wy1A";
    for (path, line, is_quoted) in [
        (
            "chart.json",
            format!("\"client_secret\": \"{secret}\""),
            true,
        ),
        (
            "chart.md",
            format!("# The chart, client_secret: '{secret}'"),
            true,
        ),
        (
            "chart.py",
            format!("def draw(client_secret=\"{secret}\"):"),
            false,
        ),
        (
            "chart.go",
            format!("type ClientSecret = \"{secret}\""),
            false,
        ),
        (
            "chart.py",
            format!("class Chart; client_secret = '{secret}'"),
            false,
        ),
    ] {
        let arguments = format!(
            r#"{{"path":"{path}","oldText":"x","newText":{}}}"#,
            json(&format!("{line}\n\nThe harbours of the chart.\n")),
        );
        let text = searched_summary(&[
            user("Copy the chart of the harbours to the new folder."),
            tool("", "edit", &arguments, None),
        ]);
        let prefix = &secret[..12];
        assert!(!text.contains(prefix), "{text}");
        assert!(text.contains(", wrote "), "{text}");
        assert_eq!(text.contains("[REDACTED:"), is_quoted, "{text}");
    }
}

#[test]
fn changed_files_that_were_removed_or_moved_are_not_listed() {
    let messages = [
        user("Split the map."),
        edit("north.svg"),
        edit("south.svg"),
        edit("old/west.svg"),
        edit("east.svg"),
        bash("git mv map.svg north.svg south.svg maps/", None),
        bash("git rm -rq old", None),
    ];
    let done = section(messages, "### Done");
    let line = "- Files changed for the request under Goal, newest first: `east.svg`\n";
    assert!(done.starts_with(line), "{done}");
}

#[test]
fn changed_files_are_those_of_the_current_request_or_since_the_last_commit() {
    let mut messages = vec![
        user("Split the map into a northern and a southern half."),
        edit("north.svg"),
        says("The northern half is in north.svg."),
        user("Now the southern one."),
        edit("south.svg"),
    ];
    let done = section(messages.clone(), "### Done");
    let line = "- Files changed for the request under Goal, newest first: `south.svg`";
    assert_eq!(done.lines().last(), Some(line), "{done}");

    messages.insert(1, bash("git commit -qm 'map: frame'", None));
    let done = section(messages, "### Done");
    let line =
        "- Files changed since the last `git commit`, newest first: `south.svg`, `north.svg`";
    assert_eq!(done.lines().last(), Some(line), "{done}");
}

#[test]
fn a_failure_of_a_removed_script_is_not_listed() {
    let error = Some("ImportError: no module named tides\n\nCommand exited with code 1");
    let mut messages = vec![
        user("Compute the tides."),
        bash("python slope.py", error),
        bash("python harbour.py", error),
    ];
    let blocked = section(messages.clone(), "### Blocked");
    assert!(blocked.contains("slope.py"), "{blocked}");

    messages.push(bash("rm slope.py", None));
    let blocked = section(messages, "### Blocked");
    assert!(!blocked.contains("slope.py"), "{blocked}");
    assert!(blocked.contains("harbour.py"), "{blocked}");
}

/// A shell may have made the file again.
#[test]
fn a_failure_after_the_removal_is_listed() {
    let error = Some("check: no rows\n\nCommand exited with code 1");
    let messages = [
        user("Compute the tides."),
        bash("rm tides.json", None),
        bash("node tides.js > tides.json", None),
        bash("python check.py tides.json", error),
    ];
    let blocked = section(messages, "### Blocked");
    assert!(blocked.contains("check.py"), "{blocked}");
}

#[test]
fn what_the_user_says_to_a_failure_is_quoted_with_it() {
    let failing = [
        user("Publish the ferry times."),
        bash(
            "make publish",
            Some("publish: no key\n\nCommand exited with code 2"),
        ),
        says("`make publish` needs a key. Can you make one?"),
    ];
    for (aside, is_quoted) in [
        ("the captain has it, he is back on Monday", true),
        ("what kind of key is that", false),
    ] {
        let mut messages = failing.to_vec();
        messages.extend([
            user(aside),
            says("All right."),
            user("Draw the ferry lines."),
            edit("map.svg"),
        ]);
        let blocked = section(messages, "### Blocked");
        let words = format!("; then the user: \"{aside}\"");
        assert_eq!(blocked.ends_with(&words), is_quoted, "{blocked}");
    }
}

#[test]
fn a_success_by_another_form_of_the_command_settles_a_failure() {
    let blocked = |failed: &str, later: &str| {
        let error = Some("error: it does not work\n\nCommand exited with code 1");
        let messages = [
            user("Draw the ferry lines."),
            bash(failed, error),
            bash(later, None),
        ];
        section(messages, "### Blocked")
    };
    for (failed, later) in [
        ("pip install tides", "pip install --only-binary :all: tides"),
        ("pip install tides", "python3 -m pip install tides==2.1"),
        (
            "php bin/console cache:clear",
            "sudo -u www-data php bin/console cache:clear",
        ),
        ("npm install left-pad", "npm install --force left-pad@1.3"),
    ] {
        assert_eq!(blocked(failed, later), "- (none)", "{later}");
    }
    for (failed, later) in [
        (
            "pip install tides",
            "pip install --only-binary :all: ferries",
        ),
        ("npm install @maps/tides", "npm install @maps/ferries"),
        ("make a b", "make b a"),
    ] {
        assert!(blocked(failed, later).contains(failed), "{later}");
    }
}

/// Returns what is blocked after a failure, its reply, and messages of the user.
fn blocked_after(reply: &str, later: Vec<Vec<String>>) -> String {
    section(smooth_lines(reply, later), "### Blocked")
}

/// Returns a session in which a command fails, and what follows the reply to that.
fn smooth_lines(reply: &str, later: Vec<Vec<String>>) -> Vec<Vec<String>> {
    let error = Some("maps/lines.svg: no such colour\n\nCommand exited with code 2");
    let mut messages = vec![
        user("Try smooth lines for the ferries, too."),
        bash("make smooth", error),
        says(reply),
    ];
    messages.extend(later);
    messages
}

#[test]
fn a_failure_that_the_user_gave_up_is_not_listed() {
    let reply = "The smooth lines do not work: `make smooth` knows no colours.";
    let after = |message: &str| {
        blocked_after(
            reply,
            vec![user(message), edit("map.svg"), says("All right.")],
        )
    };
    for given_up in [
        "ok then we drop the smooth lines, and say so on the page about the map",
        "never mind",
        "skip that, plain lines are enough",
        "draw the lines with rulers instead",
        "use plain lines instead of smooth ones",
    ] {
        assert_eq!(after(given_up), "- (none)", "{given_up}");
    }
    for other in [
        "on the page about the harbour office, drop the first picture and enlarge the second",
        "then draw the harbours",
        "fix it instead",
        "Don't explain it, repair the colours instead.",
        "draw smooth lines instead of explaining",
    ] {
        assert!(after(other).contains("`make smooth`"), "{other}");
    }
    let unanswered = blocked_after(reply, vec![user("skip that and draw plain lines")]);
    assert!(unanswered.contains("`make smooth`"), "{unanswered}");
}

#[test]
fn a_failure_that_the_user_puts_off_is_a_decision_and_blocks_nothing() {
    let sections = |reply: &str, answer: &str| {
        let messages = smooth_lines(
            reply,
            vec![
                user(answer),
                user("draw the harbours as squares, all of them in the same colour"),
                edit("map.svg"),
                says("Drawn."),
            ],
        );
        let blocked = section(&messages, "### Blocked");
        (blocked, section(&messages, "## Key Decisions"))
    };
    let failure = "`make smooth`: exited with code 2: \"maps/lines.svg: no such colour\"";
    for (reply, answer) in [
        (
            "`make smooth` knows no colours. I can add them, or leave it.",
            "later",
        ),
        ("`make smooth` knows no colours. I can add them.", "later"),
        (
            "`make smooth` knows no colours. Shall I leave it?",
            "leave it, ink is expensive",
        ),
    ] {
        let (blocked, decisions) = sections(reply, answer);
        assert_eq!(blocked, "- (none)", "{reply} {answer}");
        let put_off = format!(", the user answered \"{answer}\"; what failed: {failure}");
        assert!(
            decisions.starts_with("- Asked \"") && decisions.ends_with(&put_off),
            "{decisions}"
        );
    }
    let (blocked, decisions) = sections("`make smooth` knows no colours.", "not now");
    assert_eq!(blocked, "- (none)");
    assert!(decisions.ends_with(failure), "{decisions}");

    // What waits for the user is blocked.
    for (reply, answer) in [
        (
            "`make smooth` knows no colours. Could you buy ink?",
            "later",
        ),
        (
            "`make smooth` knows no colours. Shall I draw on?",
            "not now, i have to buy ink",
        ),
    ] {
        let (blocked, decisions) = sections(reply, answer);
        let quotation = format!("; then the user: \"{answer}\"");
        assert!(blocked.ends_with(&quotation), "{blocked}");
        assert!(!decisions.contains("what failed"), "{decisions}");
    }
}

#[test]
fn a_failure_is_listed_with_the_change_to_what_it_names() {
    let blocked = blocked_after(
        "`make smooth` does not work yet.",
        vec![edit("/w/maps/lines.svg")],
    );
    assert!(
        blocked.ends_with(
            "(not run again since, in 1 tool call; `/w/maps/lines.svg` was changed since)"
        ),
        "{blocked}"
    );
}

#[test]
fn what_the_user_says_to_a_failure_is_told_from_what_is_about_something_else() {
    let after = |reply: &str, message: &str, is_worked_on: bool| {
        let mut messages = vec![
            user("Draw the map of the islands."),
            bash(
                "make map",
                Some("error: no such font\n\nCommand exited with code 2"),
            ),
            says(reply),
            user(message),
        ];
        if is_worked_on {
            messages.push(edit("legend.svg"));
        }
        messages.extend([
            says("All right."),
            user("Now the compass."),
            edit("compass.svg"),
        ]);
        section(messages, "### Blocked")
    };
    let fails = "`make map` fails: the font is missing.";

    let promise = "the printer sends the fonts on friday. draw the legend";
    let blocked = after(fails, promise, true);
    assert!(
        blocked.ends_with(&format!("; then the user: \"{promise}\"")),
        "{blocked}"
    );
    let blocked = after(fails, "I buy it. how wide is the map?", false);
    assert!(
        blocked.ends_with("; then the user: \"I buy it.\""),
        "{blocked}"
    );

    let question = format!("{fails} By the way, red or green for the harbours?");
    for (reply, message, is_worked_on) in [
        (&*question, "ask me tomorrow", false),
        ("The legend is on the left.", promise, true),
        (fails, "how wide is the map?", false),
    ] {
        let blocked = after(reply, message, is_worked_on);
        assert!(!blocked.contains("then the user"), "{blocked}");
    }
}

/// A path is one word, and Chinese has no spaces: neither is dropped as a word that was cut.
#[test]
fn a_long_path_and_a_query_without_spaces_are_listed() {
    let path = format!("src/{}harbour_map.rs", "tide/".repeat(40));
    let query = "海图上的潮汐和港口".repeat(30);
    let text = summary(
        None,
        [
            user("Draw the map of the harbour."),
            edit(&path),
            tool(
                "",
                "translate",
                &format!(r#"{{"query":{}}}"#, json(&query)),
                None,
            ),
        ],
    );
    assert!(text.contains("`src/tide/tide/"), "{text}");
    assert!(text.contains("translate `海图上"), "{text}");
}

#[test]
fn words_that_were_cut_are_dropped() {
    for (text, expected) in [
        ("two words", "two"),
        ("word", ""),
        ("潮汐 Zq8rTk2W", "潮汐"),
        ("潮汐和港口", "潮汐和港口"),
        ("潮汐是Zq8rTk2W", "潮汐是"),
        ("Größe", ""),
    ] {
        let mut kept = text.to_owned();
        super::super::cut::drop_last_word(&mut kept);
        assert_eq!(kept, expected);
    }
}

/// A reply that explains a failure without its name keeps it open, unless it says what was done
/// instead, has only words that are in every output, or the work was done later. The last reply
/// that speaks of the failure counts.
#[test]
fn an_explained_failure_is_open_until_it_is_got_round() {
    let error = "sftp-server: not found on harbour\nConnection closed, 4 tests failed\n\n\
                 Command exited with code 2";
    let blocked_with = |reply: &str, later: Vec<Vec<String>>| {
        let mut messages = vec![
            user("Put the chart on the board."),
            bash("make chart && scp chart.pdf kiosk:board.pdf", Some(error)),
            edit("legend.txt"),
            bash("date > stamp", None),
            says(reply),
        ];
        messages.extend(later);
        section(messages, "### Blocked")
    };
    let next = |command: &str, reply: &str| {
        vec![
            user("Now the legend."),
            bash(command, None),
            says(reply),
            user("And the frame."),
            edit("frame.svg"),
        ]
    };

    let no_server = "The kiosk has no sftp server; ask the office for one.";
    let blocked = blocked_with(no_server, next("ls > list", "It is drawn."));
    assert!(blocked.contains("scp"), "{blocked}");

    for reply in [
        "The kiosk has no sftp server; I copied the chart over ssh.",
        "The harbour has no sftp server, so I used ssh.",
        "Nothing else is wrong, and 12 tests are red as before.",
    ] {
        let blocked = blocked_with(reply, next("ls > list", "It is drawn."));
        assert_eq!(blocked, "- (none)", "{reply}");
    }
    let blocked = blocked_with(no_server, next("make chart", "It is drawn."));
    assert_eq!(blocked, "- (none)");
    let blocked = blocked_with(
        no_server,
        next(
            "ls > list",
            "The harbour has a new connection, and the chart is on it.",
        ),
    );
    assert_eq!(blocked, "- (none)");
}

#[test]
fn what_the_kept_messages_settle_is_not_blocked() {
    let failed = |command: &str| {
        let error = "harbour.c:3: undefined reference to `tide'\n\nCommand exited with code 2";
        [user("Build the chart."), bash(command, Some(error))]
    };
    let none: [Vec<String>; 0] = [];
    let blocked = blocked_before(none, failed("make chart.pdf"));
    assert!(blocked.contains("make chart.pdf"), "{blocked}");

    // It passed, as far as is known, or its file was removed.
    let rerun = |command| [bash(command, None), user("Now the legend.")];
    for command in [
        "make chart.pdf",
        "make chart.pdf 2>&1 | tail -1",
        "rm chart.pdf",
    ] {
        let kept = match command {
            "make chart.pdf 2>&1 | tail -1" => [
                called(
                    "",
                    "bash",
                    r#"{"command":"make chart.pdf 2>&1 | tail -1"}"#,
                    "chart.pdf has 4 pages",
                    false,
                ),
                user("Now the legend."),
            ],
            _ => rerun(command),
        };
        assert_eq!(
            blocked_before(kept, failed("make chart.pdf")),
            "- (none)",
            "{command}"
        );
    }
    // It failed again.
    let again = bash("make chart.pdf", Some("oops\n\nCommand exited with code 2"));
    let blocked = blocked_before([again], failed("make chart.pdf"));
    assert!(blocked.contains("make chart.pdf"), "{blocked}");

    // The reply does not speak of it, or does.
    let blocked = blocked_before([says("Drawn by hand.")], failed("make chart.pdf"));
    assert_eq!(blocked, "- (none)");
    let blocked = blocked_before(
        [says("I could not build chart.pdf.")],
        failed("make chart.pdf"),
    );
    assert!(blocked.contains("make chart.pdf"), "{blocked}");
    // It names nothing, but says that something is open.
    for reply in [
        "All but the last step is done. The machine did not answer.",
        "Le site n'est pas en ligne : la machine ne répond pas.",
    ] {
        let blocked = blocked_before([says(reply)], failed("make chart.pdf"));
        assert!(blocked.contains("make chart.pdf"), "{reply}: {blocked}");
    }
    // What follows the next request is another matter.
    let kept = [user("Now the legend."), says("Drawn by hand.")];
    let blocked = blocked_before(kept, failed("make chart.pdf"));
    assert!(blocked.contains("make chart.pdf"), "{blocked}");
}

/// Only `git commit` as a step of its own counts, not in a quoted message, a here-document or the
/// text that a later step prints.
#[test]
fn only_the_message_of_a_commit_is_listed() {
    let commits_of = |command: &str| {
        let messages = [user("Draw the pier."), bash(command, None), says("Done.")];
        section(messages, "### Done")
    };
    for (command, message) in [
        (
            "git commit -m \"fix: lamps\" -m \"so that git commit\" && git push origin main",
            "fix: lamps",
        ),
        (
            "git commit -q -m \"lamps\"; git commit --amend --no-edit; echo \"amended\"",
            "lamps",
        ),
        (
            "git commit -aqm 'notes' && cat > notes.md <<'EOF'\ndon't git commit -m \"this\"\ngit commit -m \"nor this\"\nEOF\necho ok",
            "notes",
        ),
        (
            "git commit --author=\"Ada <ada@harbour.example>\" -m \"don't move it\"",
            "don't move it",
        ),
        (
            "git add . && git commit -m \"$(cat <<'EOF'\ndraw the \"long\" pier\n\ngit commit -m \"no\"\nEOF\n)\" && git push",
            "draw the 'long' pier",
        ),
        (
            "GIT_AUTHOR_DATE=\"2026-03-02\" git commit --message=\"dated\" # it's so",
            "dated",
        ),
        // A here-string is one word, and its operator begins no here-document.
        (
            "cat <<<EOF && git commit -m 'here-string'\nEOF",
            "here-string",
        ),
        ("tee log <<< \"it's\"\ngit commit -m 'below'", "below"),
        // `\'` does not close `$'`.
        (
            "git commit -m $'don\\'t stop\\n\\nwhy' && git push",
            "don't stop",
        ),
        ("echo $'it\\'s' && git commit -m 'quoted'", "quoted"),
        // A backslash continues a line.
        (
            "git add . && \\\ngit commit \\\n  -m 'continued'",
            "continued",
        ),
        // Steps follow a here-document, also an empty one, and one whose delimiter is empty.
        ("cat > a <<EOF\nb\nEOF\ngit commit -qm 'after'", "after"),
        ("cat > a <<'EOF'\nEOF\ngit commit -qm 'empty'", "empty"),
        ("cat <<'' > a\nb\n\ngit commit -qm 'blank'", "blank"),
        ("cat <<A <<\\B\na\nA\nb\nB\ngit commit -m 'two'", "two"),
        (
            "git commit -m \"$(cat <<'EOF'\nEOF\n)\"; git commit -m 'second'",
            "second",
        ),
        ("cat <<A \"\na\nA\n\"\ngit commit -m 'across'", "across"),
        ("echo $((1 << n))\ngit commit -m 'shifted'", "shifted"),
    ] {
        let done = commits_of(command);
        let mut lines = done.lines();
        let commits = lines.find(|line| line.contains("Commits, newest first"));
        let expected = format!("- Commits, newest first: \"{message}\"");
        assert_eq!(commits, Some(&*expected), "{command}");
    }
}

/// A reply that says that the step still fails is believed rather than the end of an output.
#[test]
fn a_rerun_that_the_reply_calls_a_failure_settles_nothing() {
    let error = "make: *** [feed] Error 1\n\nCommand exited with code 2";
    let messages = [
        user("Build the feed of the ferries."),
        bash("make feed", Some(error)),
        called(
            "",
            "bash",
            r#"{"command":"make feed 2>&1 | tail -3"}"#,
            "62 trips, 75 stops",
            false,
        ),
        says("make feed still fails: two stops are missing."),
        user("Now the map of the piers, please, with their names."),
        edit("map.svg"),
    ];
    let blocked = section(messages, "### Blocked");
    assert!(blocked.contains("make feed"), "{blocked}");
}

/// Looking at a file, or adding it, does not do what a program that is missing was to do with it.
#[test]
fn a_look_replaces_no_missing_program() {
    let missing = "sh: 1: pdflatex: not found\n\nCommand exited with code 127";
    for look in ["cat report.tex", "ls report.tex", "git add report.tex"] {
        let messages = [
            user("Typeset the report."),
            bash("pdflatex report.tex", Some(missing)),
            bash(look, None),
            says("pdflatex is missing, so report.tex is not typeset."),
            user("Draw the pier, in blue."),
            edit("pier.svg"),
        ];
        let blocked = section(messages, "### Blocked");
        assert!(blocked.contains("pdflatex report.tex"), "{look}: {blocked}");
    }
}

/// `go` is in "good", which names no program.
#[test]
fn a_program_is_named_by_a_whole_word() {
    let missing = "sh: 1: go: not found\n\nCommand exited with code 127";
    let blocked = |reply: &str| {
        let messages = [
            user("Build the tide tables."),
            bash("go vet ./tides", Some(missing)),
            edit("tides.md"),
            says(reply),
        ];
        section(messages, "### Blocked")
    };
    assert!(!blocked("Go is missing here, so nothing is checked.").contains("may be over"));
    assert!(!blocked("`go` is not installed.").contains("may be over"));
    let settled = blocked("All good: a category for each harbour.");
    assert!(
        settled == "- (none)" || settled.contains("may be over"),
        "{settled}"
    );
}

#[test]
fn a_failure_that_is_given_up_later_by_its_name_is_not_listed() {
    let error = Some("cannot decode pier.heic: HEIC is not built in\n\nCommand exited with code 1");
    let after = |request: &str, reply: &str| {
        section(
            [
                user("Scale all the photos of the harbour."),
                bash("scale photos/pier.heic", error),
                says("`scale photos/pier.heic` fails: there is no decoder."),
                user("how big are the others, and which of them are the oldest?"),
                says("`scale` still fails for HEIC; the others have 2 MB."),
                user(request),
                edit("index.md"),
                says(reply),
            ],
            "### Blocked",
        )
    };
    for (request, reply) in [
        ("skip heic, nobody has that. make the index", "Made."),
        (
            "make the index of all photos",
            "The index is made; HEIC is left out.",
        ),
    ] {
        assert_eq!(after(request, reply), "- (none)", "{request}");
    }
    for (request, reply) in [
        ("skip the frames, and make the index", "Made."),
        ("make the index, and don't forget HEIC", "Made."),
        (
            "make the index",
            "Made. I have not dropped HEIC; GIF is no longer supported.",
        ),
        ("make the index", "Made. HEIC: 1 read, 2 skipped."),
        (
            "make the index, and fix HEIC, do not drop it",
            "The frames are left out.",
        ),
    ] {
        assert!(after(request, reply).contains("pier.heic"), "{request}");
    }
}

#[test]
fn a_list_that_is_done_and_the_frame_of_an_output_are_left_out() {
    let done = r#"{"todos":[{"content":"draw","status":"completed"}]}"#;
    let open = r#"{"todos":[{"content":"draw","status":"completed"},{"content":"print","status":"pending"}]}"#;
    let with_list = |todos: &str| summary(None, [user("Draw it."), tool("", "todo", todos, None)]);
    assert!(!with_list(done).contains("Todo list"));
    assert!(with_list(open).contains("> - [ ] print"));

    let output = "Chunk ID: 5d829d\nWall time: 0.1 seconds\nOutput:\n12 harbours found";
    let text = summary(
        None,
        [
            user("Count the harbours."),
            called("", "bash", r#"{"command":"make count"}"#, output, false),
        ],
    );
    assert!(
        text.contains("12 harbours found") && !text.contains("Chunk"),
        "{text}"
    );
}
