//! `pisess grep`: full-text search over sessions.

use crate::names::Desk;
use crate::sandbox::{Sandbox, fixture};
use crate::show::{session_with_calls, session_with_images};
use insta::assert_snapshot;
use serde_json::{Value, json};

const TOUR: &str = "tour.jsonl";

fn rows(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// A session with these texts as user messages, in JSON as given.
fn spelled(texts: &[&str]) -> String {
    let header = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-05-01T10:00:00.000Z","cwd":"/p"}"#;
    let entries = texts.iter().enumerate().map(|(at, text)| {
        format!(
            r#"{{"type":"message","id":"e{at}","parentId":null,"timestamp":"2026-05-{:02}T10:00:00.000Z","message":{{"role":"user","content":"{text}"}}}}"#,
            at + 1
        )
    });
    std::iter::once(header.to_owned())
        .chain(entries)
        .map(|line| line + "\n")
        .collect()
}

#[test]
fn a_row_for_each_entry_that_matches() {
    let s = Sandbox::with(&[TOUR, "omp.jsonl"]);
    assert_snapshot!(s.unchanged("grep midnight ./tour.jsonl"), @r#"
    c25f81e7:assistant: Looks like a midnight problem.
    27d4c96f:assistant: …s minutes of the day, so across midnight the result is negative: 10 - 1430 = -1420 minutes, printed as "left 23 h ago". The timetable has no dates, only times.
    90f6a3e8:branch_summary: …Make `departs_in` right across midnight. ## Progress ### Done - [x] Tried `rem_euclid(1440)`: one line, but ferries that just left come out as leaving tomorrow…
    7a13f8c2:assistant write tests/midnight.rs: /home/u/code/ferry/tests/midnight.rs
    e19c4d07:write tests/midnight.rs: …sfully wrote 118 bytes to tests/midnight.rs
    42b8f65a:assistant: `tests/midnight.rs` pins it down: asked at 23:50, the 00:10 ferry departs in 20 minutes.
    dc705e93:compaction: …Make waiting times right across midnight in `ferry`. ## Constraints & Preferences - The board must still show ferries that just left. ## Progress ### Done - [x]…
    2f5dc03e:assistant: "Ferries after midnight no longer show as gone: asked at 23:50, the 00:10 departs in 20 minutes."
    "#);
    assert_snapshot!(s.unchanged("grep -i FERRY ."), @r#"
    ./tour.jsonl:0d9a6c31:user: The 00:10 ferry shows up as "left 23 h ago" when I ask at 23:50. Can you find out why?
    ./tour.jsonl:c25f81e7:assistant grep /fn departs_in/ in src: /home/u/code/ferry/src
    ./tour.jsonl:61a7f2cc:assistant read src/clock.rs:35-64: /home/u/code/ferry/src/clock.rs
    ./tour.jsonl:8b16f09d:assistant edit src/clock.rs: /home/u/code/ferry/src/clock.rs
    ./tour.jsonl:15f9ad3c:bash cargo test --quiet: …is_shown_as_left board::delayed_ferry_stays_on_board Command exited with code 101  (failed)
    ./tour.jsonl:a6d84170:assistant: Two tests fail: a ferry that left five minutes ago now "departs in 23 h 55 min". Adding a day hides the past, and the board needs it.
    ./tour.jsonl:90f6a3e8:branch_summary: …wn_as_left` and `board::delayed_ferry_stays_on_board` fail with it. <modified-files> /home/u/code/ferry/src/clock.rs </modified-files>
    ./tour.jsonl:c8a45f06:assistant edit src/clock.rs: /home/u/code/ferry/src/clock.rs
    ./tour.jsonl:648dc1b3:assistant: …ts pass, and at 23:50 the 00:10 ferry departs in 20 min.
    ./tour.jsonl:7a13f8c2:assistant write tests/midnight.rs: /home/u/code/ferry/tests/midnight.rs
    ./tour.jsonl:42b8f65a:assistant: …down: asked at 23:50, the 00:10 ferry departs in 20 minutes.
    ./tour.jsonl:dc705e93:compaction: …times right across midnight in `ferry`. ## Constraints & Preferences - The board must still show ferries that just left. ## Progress ### Done - [x] Cause: `depa…
    "#);
    assert_snapshot!(s.unchanged("grep nowhere ./tour.jsonl"), @"exit 1");
}

#[test]
fn a_terminal_gets_headings_and_colours() {
    let s = Sandbox::with(&[TOUR, "two-branches.jsonl"]);
    assert_snapshot!(s.pisess("grep --color never --sort path 'paper|midnight' .").terminal(80).done(), @r#"
    ./tour.jsonl  2026-03-14 09:26  ~/code/ferry  The 00:10 ferry shows…
    c25f81e7:assistant: Looks like a midnight problem.
    27d4c96f:assistant: …day, so across midnight the result is negative: 10 - 1430…
    90f6a3e8:branch_summary: …right across midnight. ## Progress ### Done - [x] Tri…
    42b8f65a:assistant: `tests/midnight.rs` pins it down: asked at 23:50, the 00:10…
    dc705e93:compaction: …es right across midnight in `ferry`. ## Constraints & Pre…
    2f5dc03e:assistant: "Ferries after midnight no longer show as gone: asked at 23…
    7a13f8c2:assistant write tests/midnight.rs: /home/u/code/ferry/tests/midnight.rs
    e19c4d07:write tests/midnight.rs: …essfully wrote 118 bytes to tests/midnight.rs

    ./two-branches.jsonl  2026-01-01 00:00  ~/kites  Which paper for a…
    1a2b3c01:user: Which paper for a kite?
    1a2b3c02:assistant: Tissue paper is light, washi is strong.
    1a2b3c04:user: Tissue paper then. How big?  (other branch)
    "#);
    // A long working directory leaves 32 columns for the title.
    let long_cwd = s.text("two-branches.jsonl").replacen(
        "/kites",
        "/projects/toys-and-games/outdoor/kites",
        1,
    );
    s.put(
        "long-cwd.jsonl",
        long_cwd.replace(
            "Which paper for a kite?",
            "Which paper is best for a kite of two metres, or is it silk?",
        ),
    );
    let narrow = s.pisess("grep --color never silk .").terminal(80);
    assert_snapshot!(narrow.done(), @r#"
    ./long-cwd.jsonl  2026-01-01 00:00  …s/outdoor/kites  Which paper i…
    1a2b3c01:user: Which paper is best for a kite of two metres, or is it silk?
    "#);
    let coloured = s
        .pisess("grep midnight ./tour.jsonl")
        .terminal(60)
        .done()
        .quiet();
    assert_snapshot!(coloured.lines().next().unwrap().replace('\u{1b}', "␛"), @"␛[34;1mc25f␛[0m␛[2m81e7␛[0m␛[2m:assistant: ␛[0mLooks like a ␛[31;1mmidnight␛[0m problem.");
}

#[test]
fn matches_text_behind_json_escapes() {
    let s = Sandbox::new();
    let texts = [
        r"caf\u00e9",
        "café",
        r"CAF\u00C9",
        r#"say \"hello\""#,
        r"say \u0022hello\u0022",
        r"two\nlines",
        r"src\/main.rs",
        r"party \ud83c\udf89",
        r"h\u0065llo",
        r"lone \ud83d half",
        r"\u001b[31mred\u001b[0m",
    ];
    s.put("s.jsonl", spelled(&texts));
    let ids = |line: &str| {
        let found = s.pisess(line).done();
        assert!(found.code <= 1, "{line}: {}", found.stderr);
        found
            .text()
            .lines()
            .map(|row| row.split(':').next().unwrap().to_owned())
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(ids("grep café ./s.jsonl"), "e0 e1");
    assert_eq!(ids("grep -i café ./s.jsonl"), "e0 e1 e2");
    assert_eq!(ids(r#"grep -F 'say "hello"' ./s.jsonl"#), "e3 e4");
    assert_eq!(ids(r"grep 'two\nlines' ./s.jsonl"), "e5");
    assert_eq!(ids("grep '^lines$' ./s.jsonl"), "e5");
    assert_eq!(ids("grep src/main ./s.jsonl"), "e6");
    assert_eq!(ids("grep 🎉 ./s.jsonl"), "e7");
    assert_eq!(ids("grep hello ./s.jsonl"), "e3 e4 e8");
    assert_eq!(ids("grep 'lone . half' ./s.jsonl"), "");
    assert_eq!(ids("grep half ./s.jsonl"), "e9");
    assert_eq!(ids(r"grep '\x1b\[31mred' ./s.jsonl"), "e10");
    assert_eq!(ids("grep u001b ./s.jsonl"), "");
    assert_eq!(ids("grep -w caf ./s.jsonl"), "");
    assert_eq!(ids("grep -e lone -e two ./s.jsonl"), "e5 e9");
    assert_eq!(
        ids("grep --since 2026-05-04 [a-z] ./s.jsonl"),
        "e3 e4 e5 e6 e7 e8 e9 e10"
    );
    assert_eq!(ids("grep --until 2026-05-02 [a-z] ./s.jsonl"), "e0 e1");
    assert_eq!(
        ids("grep --since 2026-05-04 --until 2026-05-05 [a-z] ./s.jsonl"),
        "e3 e4"
    );
    // The escape sequence is not printed raw, not even to a pipe.
    assert_snapshot!(s.run("grep red ./s.jsonl"), @"e10:user: ␛[31mred␛[0m");
}

#[test]
fn json_names_the_place_in_utf_16_units() {
    let s = Sandbox::with(&[TOUR]);
    s.put("s.jsonl", spelled(&[r"\ud83c\udf89 caf\u00e9 needle"]));
    let found = rows(&s.run("grep --json 'é needle' ./s.jsonl"));
    assert_eq!(
        found,
        [json!({
            "path": "./s.jsonl", "sessionId": "s", "title": "🎉 café needle", "cwd": "/p", "id": "e0", "line": 2, "role": "user",
            "field": "message.content",
            "start": 6, "end": 14, "snippet": "🎉 café needle", "timestamp": "2026-05-01T10:00:00.000Z",
            "context": false, "failed": false, "aborted": false,
        })]
    );
    // The position of each match is correct in the entry that it names.
    let found = rows(&s.run("grep --json -i ferry ./tour.jsonl"));
    assert!(found.len() > 3);
    for hit in found {
        let id = hit["id"].as_str().unwrap();
        let entry: Value =
            serde_json::from_str(&s.run(&format!("show ./tour.jsonl {id} --json"))).unwrap();
        let pointer = format!(
            "/{}",
            hit["field"]
                .as_str()
                .unwrap()
                .replace(['.', '['], "/")
                .replace(']', "")
        );
        let units: Vec<u16> = entry
            .pointer(&pointer)
            .unwrap()
            .as_str()
            .unwrap()
            .encode_utf16()
            .collect();
        let at = |key: &str| hit[key].as_u64().unwrap() as usize;
        let matched = String::from_utf16(&units[at("start")..at("end")]).unwrap();
        assert_eq!(matched.to_lowercase(), "ferry", "{hit}");
        assert_eq!(hit["timestamp"], entry["timestamp"]);
    }
}

#[test]
fn counts_and_lists() {
    let s = Sandbox::with(&[TOUR, "omp.jsonl", "v1.jsonl"]);
    assert_snapshot!(s.run("grep -ci ferry ./tour.jsonl"), @"12");
    assert_snapshot!(s.run("grep -ci ferry ."), @"./tour.jsonl:12");
    assert_snapshot!(s.run("grep -li ferry ."), @"./tour.jsonl");
    assert_snapshot!(s.run("grep -l --json -i ferry ."), @r#"{"path":"./tour.jsonl","sessionId":"019ceb84-1405-7a3e-9c1d-5b2f6e8a4d70","title":"The 00:10 ferry shows up as \"left 23 h ago\" when I ask at 23:50. Can you find out why?","cwd":"/home/u/code/ferry"}"#);
    assert_snapshot!(s.run("grep -c --json -i ferry ."), @r#"{"path":"./tour.jsonl","sessionId":"019ceb84-1405-7a3e-9c1d-5b2f6e8a4d70","title":"The 00:10 ferry shows up as \"left 23 h ago\" when I ask at 23:50. Can you find out why?","cwd":"/home/u/code/ferry","count":12}"#);
    let none = s.pisess("grep -c nowhere .").done();
    assert_eq!(
        (none.code, none.text().as_str(), none.stderr.as_str()),
        (1, "", "")
    );
}

#[test]
fn roles_branches_and_data_are_chosen() {
    let s = Sandbox::with(&[TOUR, "two-branches.jsonl"]);
    let count = |line: &str| -> u64 {
        let done = s.pisess(line).done();
        done.text()
            .lines()
            .next()
            .map_or(0, |count| count.parse().unwrap())
    };
    let all = count("grep -c paper ./two-branches.jsonl");
    let active = count("grep -c --active paper ./two-branches.jsonl");
    let user = count("grep -c --role user paper ./two-branches.jsonl");
    let assistant = count("grep -c --role assistant paper ./two-branches.jsonl");
    assert!(
        active < all && user < all && assistant < all,
        "{all} {active} {user} {assistant}"
    );
    assert_eq!(
        count("grep -c --role user --role assistant paper ./two-branches.jsonl"),
        all
    );
    // Signatures are data.
    assert_eq!(count("grep -cw sig ./tour.jsonl"), 0);
    assert!(count("grep -cw --raw sig ./tour.jsonl") > 0);
    // Of a tool call, its name and arguments are searched, and nothing else of the message.
    assert_eq!(count("grep -c --role assistant midnight ./tour.jsonl"), 5);
    assert_snapshot!(s.run("grep --role toolCall midnight ./tour.jsonl"), @"7a13f8c2:assistant write tests/midnight.rs: /home/u/code/ferry/tests/midnight.rs");
    assert_eq!(count("grep -c --role toolCall midnight ./tour.jsonl"), 1);
    assert_eq!(
        count("grep -c --role toolCall --role user midnight ./tour.jsonl"),
        1
    );
    let refused = s
        .pisess("grep --role tool paper ./two-branches.jsonl")
        .done()
        .fails(2);
    assert!(
        refused.contains("a similar value exists: 'toolCall'"),
        "{refused}"
    );
}

/// A person reads the calls of a tool to see which went wrong; a script has `--failed` and JSON.
#[test]
fn what_failed_is_marked_on_a_terminal() {
    let s = Sandbox::with(&[TOUR]);
    let line = "grep --tool bash e ./tour.jsonl --color never";
    assert_snapshot!(s.pisess(line).terminal(70).done().quiet(), @"
    72c0e8b6:assistant bash cargo test --quiet: …go test --quiet  (failed)
    15f9ad3c:bash cargo test --quiet: …ng 14 tests ............…  (failed)
    c8a45f06:assistant bash cargo test --quiet: cargo test --quiet
    fa39d058:bash cargo test --quiet: …nning 14 tests .............. test…
    ");
    let only_failed = s.pisess(&format!("{line} --failed"));
    assert!(!only_failed.terminal(70).done().quiet().contains("(failed)"));
}

/// The result of a call records whether it failed, and need not match.
#[test]
fn rows_of_calls_that_failed_are_marked_in_a_pipe() {
    let s = Sandbox::with(&[TOUR]);
    let rows = s.run("grep --role toolCall 'cargo test' ./tour.jsonl");
    assert_snapshot!(rows, @"
    72c0e8b6:assistant bash cargo test --quiet: cargo test --quiet  (failed)
    c8a45f06:assistant bash cargo test --quiet: cargo test --quiet
    ");
    let rows = s.run("grep --role toolCall --json 'cargo test' ./tour.jsonl");
    let failed: Vec<_> = rows
        .lines()
        .map(|row| row.contains(r#""failed":true"#))
        .collect();
    assert_eq!(failed, [true, false]);

    // The result may be behind the part of the file that is searched at a time.
    let padding = "x".repeat(511 * 1024);
    let call = |id: &str| {
        json!({"type": "message", "id": format!("a{id}"), "parentId": null, "timestamp": "2026-01-01T00:00:02.000Z",
        "message": {"role": "assistant", "content": [{"type": "toolCall", "id": id, "name": "bash", "arguments": {"command": "make"}}]}})
    };
    let result = |id: &str, text: &str, failed: bool| {
        json!({"type": "message", "id": format!("r{id}"), "parentId": format!("a{id}"), "timestamp": "2026-01-01T00:00:03.000Z",
        "message": {"role": "toolResult", "toolCallId": id, "toolName": "bash", "isError": failed, "content": [{"type": "text", "text": text}]}})
    };
    let lines = [
        json!({"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/p"}),
        json!({"type": "message", "id": "u1", "parentId": null, "timestamp": "2026-01-01T00:00:01.000Z", "message": {"role": "user", "content": padding}}),
        call("c1"),
        result("c1", &"y".repeat(600 * 1024), true),
        call("c2"),
        result("c2", "fine", false),
        // Some providers use the ids of calls again.
        call("c1"),
        result("c1", "fine", false),
        call("c3"),
    ];
    let lines: Vec<_> = lines.iter().map(|line| format!("{line}\n")).collect();
    s.put("s.jsonl", lines.concat());
    assert_snapshot!(s.run("grep --role toolCall make ./s.jsonl"), @"
    ac1:assistant bash make: make  (failed)
    ac2:assistant bash make: make
    ac1:assistant bash make: make
    ac3:assistant bash make: make
    ");
    assert_snapshot!(s.run("grep --failed -c make ./s.jsonl"), @"1");
}

/// oh-my-pi records failed results for the calls of a reply that was aborted, pi records none.
#[test]
fn a_call_of_an_aborted_reply_is_marked_as_aborted() {
    let s = Sandbox::new();
    let call =
        json!({"type": "toolCall", "id": "c", "name": "bash", "arguments": {"command": "make"}});
    let result = json!({"type": "message", "id": "r", "parentId": "a", "timestamp": "2026-01-01T00:00:02.000Z",
        "message": {"role": "toolResult", "toolCallId": "c", "toolName": "bash", "isError": true, "content": [{"type": "text", "text": "aborted"}]}});
    let row_of_call = |stop_reason: &str, after: &[&serde_json::Value]| {
        let header = json!({"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/p"});
        let reply = json!({"type": "message", "id": "a", "parentId": null, "timestamp": "2026-01-01T00:00:01.000Z",
            "message": {"role": "assistant", "stopReason": stop_reason, "content": [call]}});
        let mut lines = format!("{header}\n{reply}\n");
        for line in after {
            lines += &format!("{line}\n");
        }
        s.put("s.jsonl", lines);
        s.run("grep --role toolCall make ./s.jsonl")
    };
    assert!(row_of_call("toolUse", &[&result]).contains("(failed)"));
    assert!(row_of_call("aborted", &[&result]).contains("(aborted)"));
    assert!(row_of_call("aborted", &[]).contains("(aborted)"));
}

/// A row of a result is also that of its call.
#[test]
fn grep_failed_searches_the_call_and_its_output() {
    let s = Sandbox::with(&[TOUR]);
    let row = s.run("grep --failed 'cargo test' ./tour.jsonl");
    assert_snapshot!(row, @"15f9ad3c:bash cargo test --quiet: running 14 tests ............FF failures: board::just_left_is_shown_as_left board::delayed_ferry_stays_on_board Command exited w…");
    for line in [
        "grep --failed --role toolCall 'cargo test' ./tour.jsonl",
        "grep --failed --role toolResult 'cargo test' ./tour.jsonl",
        "grep --failed --tool bash 'bash cargo' ./tour.jsonl",
        "grep --failed -F 'cargo test --quiet' ./tour.jsonl",
        "grep --failed '^cargo test' ./tour.jsonl",
    ] {
        assert_eq!(s.run(line), row, "{line}");
    }
    assert_eq!(s.run("grep --failed -c 'cargo test' ./tour.jsonl"), "1\n");
    assert_eq!(
        s.run("grep --failed -o 'cargo t' ./tour.jsonl"),
        "cargo t\n"
    );
    assert_eq!(
        s.run("grep --failed -l 'cargo t' ./tour.jsonl"),
        "./tour.jsonl\n"
    );
    let others = s.run("grep --failed -v 'cargo test' ./tour.jsonl");
    assert!(
        others.starts_with("5c07d14b:") && others.lines().count() == 1,
        "{others}"
    );
    // The output, not the call.
    let in_output = s.run("grep --failed just_left ./tour.jsonl");
    assert!(in_output.contains("just_left_is_shown"), "{in_output}");
    assert_eq!(
        s.unchanged("grep --failed 'cargo build' ./tour.jsonl").code,
        1
    );
}

/// Of a file that is not a session, a user rather looks for the calls.
#[test]
fn grep_with_an_option_for_entries_takes_another_file_for_the_pattern() {
    let s = Sandbox::new();
    s.put("clock.rs", "fn main() {}\n");
    s.put("rows.jsonl", "{}\n");
    for option in ["--failed", "--role user", "--tool bash", "--with-images"] {
        let searched = s.pisess(&format!("grep {option} ./clock.rs")).at_home();
        let searched = searched.done();
        assert_eq!(searched.code, 1, "{option}: {searched}");
        let refused = s.pisess(&format!("grep {option} ./rows.jsonl")).done();
        let failure = refused.fails(2);
        assert!(failure.contains("not a session"), "{option}: {failure}");
    }
}

/// Above its whole text, a call says that it failed, in a pipe, too: the result, which records it,
/// need not match.
#[test]
fn what_failed_is_marked_above_whole_texts() {
    let s = Sandbox::with(&[TOUR]);
    assert_snapshot!(s.run("grep --full --tool bash --role toolCall cargo ./tour.jsonl"), @"
    72c0e8b6:assistant bash cargo test --quiet:  (failed)
        bash
        cargo test --quiet

    c8a45f06:assistant bash cargo test --quiet:
        bash
        cargo test --quiet
    ");
    let results = s.run("grep --full --role toolResult tests/ ./tour.jsonl");
    assert!(!results.contains("(failed)"), "{results}");
    let results = s.run("grep --full --role toolResult 'code 101' ./tour.jsonl");
    assert!(
        results.starts_with("15f9ad3c:bash cargo test --quiet:  (failed)\n"),
        "{results}"
    );
    // Every row of a search for failures would have the mark; JSON has a member for it.
    for options in ["--failed", "--json"] {
        let rows = s.run(&format!(
            "grep --full --tool bash 'code 101' {options} ./tour.jsonl"
        ));
        assert!(!rows.contains("(failed)"), "{rows}");
    }
}

/// The name of the tool matches every pattern that its text need not match.
#[test]
fn rows_of_one_tool_have_its_commands_and_output() {
    let s = Sandbox::with(&[TOUR]);
    assert_snapshot!(s.run("grep --tool bash '' ./tour.jsonl"), @"
    72c0e8b6:assistant bash cargo test --quiet: cargo test --quiet  (failed)
    15f9ad3c:bash cargo test --quiet: running 14 tests ............FF failures: board::just_left_is_shown_as_left board::delayed_ferry_stays_on_board Command exited w…  (failed)
    c8a45f06:assistant bash cargo test --quiet: cargo test --quiet
    fa39d058:bash cargo test --quiet: running 14 tests .............. test result: ok. 14 passed; 0 failed
    ");
    assert_eq!(s.run("grep -c --tool bash bash ./tour.jsonl"), "4\n");
}

/// On a terminal, a row says if its entry is not part of the conversation as it stands. Scripts
/// that read rows from a pipe find nothing new there.
#[test]
fn entries_of_other_branches_are_marked() {
    let s = Sandbox::with(&["two-branches.jsonl", "omp.jsonl"]);
    let terminal = |line: &str| {
        let line = format!("{line} --color never");
        s.pisess(&line).terminal(70).done().quiet()
    };
    assert_snapshot!(terminal("grep -i paper ./two-branches.jsonl"), @r"
    1a2b3c01:user: Which paper for a kite?
    1a2b3c02:assistant: Tissue paper is light, washi is strong.
    1a2b3c04:user: Tissue paper then. How big?  (other branch)
    ");
    assert_snapshot!(terminal("grep -C 1 washi ./two-branches.jsonl"), @r"
    1a2b3c01-user- Which paper for a kite?
    1a2b3c02:assistant: Tissue paper is light, washi is strong.
    1a2b3c06-user- Washi then. How big?
    ");
    assert_snapshot!(terminal("grep --full 'How big|washi paper' ./two-branches.jsonl"), @r"
    1a2b3c04:user:  (other branch)
        Tissue paper then. How big?

    1a2b3c06:user:
        Washi then. How big?
    ");
    for line in [
        "grep --active -i paper ./two-branches.jsonl",
        "grep -o -i paper ./two-branches.jsonl",
        "grep -c -i paper ./two-branches.jsonl",
        "grep --role title Photos ./omp.jsonl",
    ] {
        assert!(!terminal(line).contains("other branch"), "{line}");
    }
    let piped = s.run("grep -i paper ./two-branches.jsonl");
    assert!(!piped.contains("other branch"), "{piped}");
}

/// Context follows the tree: a match on the branch that was left continues there, one above on the
/// path to the leaf.
#[test]
fn context_follows_the_conversation() {
    let s = Sandbox::with(&[TOUR, "two-branches.jsonl"]);
    assert_snapshot!(s.run("grep -A 1 'Which paper|tear' ./two-branches.jsonl"), @"
    1a2b3c01:user: Which paper for a kite?
    1a2b3c02-assistant- Tissue paper is light, washi is strong.
    --
    1a2b3c05:assistant: Half a metre; larger ones tear.
    ");
    assert_snapshot!(s.run("grep -B 2 -A 1 -w -e 'Two tests' -e Undo ./tour.jsonl"), @r#"
    27d4c96f-assistant- `departs_in` subtracts minutes of the day, so across midnight the result is negative: 10 - 1430 = -1420 minutes, printed as "left 23 h ago". The timetable has no dates, only times.
    --
    72c0e8b6-assistant- (calls bash)
    15f9ad3c-bash- cargo test --quiet  (failed)
    a6d84170:assistant: Two tests fail: a ferry that left five minutes ago now "departs in 23 h 55 min". Adding a day hides the past, and the board need…
    ee2b93f5-user- Hm. What would you do instead?
    --
    90f6a3e8-branch summary- Make `departs_in` right across midnight.
    3de1b752:user: Undo that, and take the nearer of the two: yesterday's or tomorrow's departure.
    c8a45f06-assistant- So the result lies within half a day either way.
    "#);
    assert_eq!(
        s.run("grep -C 1 Undo ./tour.jsonl"),
        s.run("grep -A1 -B1 -C 9 Undo ./tour.jsonl")
    );
    // Rows of several sessions are apart, and have their path.
    assert_snapshot!(s.run("grep -B1 -m1 'Tissue paper is|cause' ."), @r#"
    ./tour.jsonl-27d4c96f-assistant- `departs_in` subtracts minutes of the day, so across midnight the result is negative: 10 - 1430 = -1420 minutes, printed as "left 23 h ago". The timetable has no dates, only times.
    ./tour.jsonl:f05b1e83:label: cause found  (of 27d4c96f)
    --
    ./two-branches.jsonl-1a2b3c01-user- Which paper for a kite?
    ./two-branches.jsonl:1a2b3c02:assistant: Tissue paper is light, washi is strong.
    "#);
    assert_snapshot!(s.pisess("grep -A1 --color never --sort path 'Which paper|Looks like' .").terminal(60).done(), @r"
    ./tour.jsonl  2026-03-14 09:26  ~/code/ferry  The 00:10 f…
    c25f81e7:assistant: Looks like a midnight problem.
    9e04b3d8-grep- /fn departs_in/ in src

    ./two-branches.jsonl  2026-01-01 00:00  ~/kites  Which paper…
    1a2b3c01:user: Which paper for a kite?
    1a2b3c02-assistant- Tissue paper is light, washi is strong.
    ");
    let found = rows(&s.run("grep --json -B1 Undo ./tour.jsonl"));
    let of = |key: &str| found.iter().map(|row| row[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("id"), ["90f6a3e8", "3de1b752"]);
    assert_eq!(of("context"), [true, false]);
    assert_eq!(of("role"), ["branch_summary", "user"]);
    assert_eq!(of("field"), [Value::Null, json!("message.content[0].text")]);
    // The title of a session is near no entry.
    s.put("omp.jsonl", fixture("omp.jsonl"));
    assert_eq!(
        s.run("grep -C 1 --role title Photos ./omp.jsonl")
            .lines()
            .count(),
        1
    );
}

#[test]
fn invert_match_selects_entries_that_do_not_match() {
    let s = Sandbox::with(&["two-branches.jsonl", TOUR]);
    let ids = |line: &str| {
        let found = s.run(line);
        found
            .lines()
            .map(|row| row.split(':').next().unwrap())
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_snapshot!(s.run("grep -v paper ./two-branches.jsonl"), @"
    1a2b3c03:label: start  (of 1a2b3c01)
    1a2b3c05:assistant: Half a metre; larger ones tear.
    1a2b3c06:user: Washi then. How big?
    1a2b3c07:assistant: A metre and more, with a bamboo spar.
    ");
    assert_eq!(
        ids("grep -v --role user paper ./two-branches.jsonl"),
        "1a2b3c06"
    );
    let count = |line: &str| s.run(line).trim().parse::<u64>().unwrap();
    let (all, with, without) = (
        count("grep -c '' ./tour.jsonl"),
        count("grep -c midnight ./tour.jsonl"),
        count("grep -cv midnight ./tour.jsonl"),
    );
    assert_eq!(with + without, all);
    // A message without a tool call is not searched at all.
    let calls = count("grep -c --role toolCall '' ./tour.jsonl");
    assert_eq!(
        count("grep -cv --role toolCall clock ./tour.jsonl")
            + count("grep -c --role toolCall clock ./tour.jsonl"),
        calls
    );
    let row = &rows(&s.run("grep -v --json Which ./two-branches.jsonl"))[0];
    assert_eq!(
        (&row["field"], &row["start"], &row["end"]),
        (&json!("message.content[0].text"), &json!(0), &json!(0))
    );
}

#[test]
fn smart_case_and_a_limit() {
    let s = Sandbox::with(&[TOUR, "two-branches.jsonl"]);
    let count = |line: &str| s.pisess(line).done().text().trim().to_owned();
    assert_eq!(
        count("grep -cS midnight ./tour.jsonl"),
        count("grep -ci midnight ./tour.jsonl")
    );
    assert_eq!(
        count("grep -cS Ferries ./tour.jsonl"),
        count("grep -c Ferries ./tour.jsonl")
    );
    assert_eq!(
        count("grep -cS -e ferry -e Zzz ./tour.jsonl"),
        count("grep -c ferry ./tour.jsonl")
    );
    assert_eq!(s.run("grep -m 1 -i paper .").lines().count(), 1);
    assert_eq!(s.run("grep -m 2 the .").lines().count(), 4);
    assert_snapshot!(s.run("grep -c -m 2 the ."), @"
    ./tour.jsonl:2
    ./two-branches.jsonl:2
    ");
    s.pisess("grep -m 0 paper .").done().fails(2);
}

#[test]
fn the_newest_session_is_first_on_a_terminal() {
    let s = Sandbox::new();
    for (name, second) in [("a", 5), ("b", 9), ("c", 1)] {
        s.put(&format!("{name}.jsonl"), spelled(&["hello"]));
        let file = std::fs::File::options()
            .write(true)
            .open(s.path(&format!("{name}.jsonl")))
            .unwrap();
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000 + second);
        file.set_modified(time).unwrap();
    }
    let by_path = "./a.jsonl ./b.jsonl ./c.jsonl";
    let by_time = "./b.jsonl ./a.jsonl ./c.jsonl";
    let joined = |text: String| text.lines().collect::<Vec<_>>().join(" ");
    assert_eq!(joined(s.run("grep -l hello .")), by_path);
    assert_eq!(joined(s.run("grep -l --sort time hello .")), by_time);
    // On a terminal, the title follows the path.
    let on_terminal = |line: &str| s.pisess(line).terminal(80).done().text();
    assert_snapshot!(on_terminal("grep -l --color never hello ."), @"
    ./b.jsonl  hello
    ./a.jsonl  hello
    ./c.jsonl  hello
    ");
    assert_snapshot!(on_terminal("grep -l --color never --sort path hello ."), @"
    ./a.jsonl  hello
    ./b.jsonl  hello
    ./c.jsonl  hello
    ");
    assert_snapshot!(on_terminal("grep -c --color never --sort path hello ."), @"
    ./a.jsonl:1  hello
    ./b.jsonl:1  hello
    ./c.jsonl:1  hello
    ");
    assert_eq!(
        on_terminal("grep -l0 hello ."),
        s.run("grep -l0 --sort time hello .")
    );
}

/// A snippet fills its row, and shows its match however narrow that is.
#[test]
fn snippets_use_the_width() {
    let s = Sandbox::new();
    let text = format!("{}needle {}", "before ".repeat(90), "after ".repeat(90));
    s.put("s.jsonl", spelled(&[&text, &text[..636], "needle"]));
    assert_eq!(text[..636].split(' ').next_back(), Some("needle"));
    for width in [20, 40, 80, 200, 400] {
        let shown = s
            .pisess("grep --color never needle ./s.jsonl")
            .terminal(width)
            .done()
            .text();
        assert!(
            shown.lines().all(|row| row.contains("needle")),
            "{width}: {shown}"
        );
        let widths: Vec<_> = shown
            .lines()
            .map(unicode_width::UnicodeWidthStr::width)
            .collect();
        assert!(
            widths[..2]
                .iter()
                .all(|&used| used <= width && used + 8 > width),
            "{width}: {shown}"
        );
    }
    // In a pipe it has a fixed size.
    assert!(
        s.run("grep needle ./s.jsonl")
            .lines()
            .all(|row| row.len() < 180)
    );
}

#[test]
fn old_sessions_have_the_ids_of_their_migration() {
    for name in ["v1.jsonl", "v2.jsonl", "draft-tree.jsonl"] {
        let s = Sandbox::with(&[name]);
        let before = s.run(&format!("grep -i the ./{name}"));
        assert!(before.lines().count() > 0, "{name}");
        s.pisess(&format!("migrate ./{name}")).done();
        assert_eq!(s.run(&format!("grep -i the ./{name}")), before, "{name}");
        for row in before.lines() {
            let id = row.split(':').next().unwrap();
            assert!(
                s.pisess(&format!("show ./{name} {id}")).done().code == 0,
                "{row}"
            );
        }
    }
}

#[test]
fn an_entry_without_an_id_is_named_by_its_line() {
    let s = Sandbox::new();
    let lines = spelled(&["needle"]).replace(r#""id":"e0","#, "");
    s.put("s.jsonl", lines);
    let row = s.run("grep needle ./s.jsonl");
    assert_eq!(row, ":2:user: needle\n");
    assert!(
        s.pisess("show ./s.jsonl :2")
            .done()
            .text()
            .contains("needle")
    );
}

#[test]
fn standard_input_is_searched() {
    let s = Sandbox::new();
    let found = s
        .pisess("grep midnight -")
        .stdin(fixture(TOUR))
        .done()
        .quiet();
    assert_eq!(found, {
        Sandbox::with(&[TOUR]).run("grep midnight ./tour.jsonl")
    });
    assert_snapshot!(s.pisess("grep x - ./a").done().fails(2), @"standard input cannot be combined with paths (hint: give - alone)");
    assert_snapshot!(s.pisess("grep x -").typed().done().fails(2), @"cannot read standard input: it is a terminal (hint: give the path of a session, or pipe one in)");
}

#[test]
fn reports_unsearchable_files_and_searches_the_rest() {
    let s = Sandbox::with(&[TOUR]);
    s.put("a.jsonl", "no session midnight\n");
    s.put("b.jsonl", "");
    s.put("notes.txt", "midnight");
    s.put(
        "c.jsonl",
        format!(
            "{}{}",
            spelled(&["midnight"]),
            "{\"torn midnight\n{} midnight\n{\"midnight"
        ),
    );
    let found = s.pisess("grep -c midnight .").done();
    assert_eq!(
        (found.text().as_str(), found.code),
        ("./c.jsonl:1\n./tour.jsonl:8\n", 0)
    );
    assert_snapshot!(found.stderr, @r#"
    pisess: note: ./a.jsonl: no session header (hint: a session of pi or oh-my-pi starts with {"type":"session","id":…})
    pisess: note: ./b.jsonl: the file is empty (hint: an agent writes the header with the first message)
    pisess: note: ./c.jsonl: line 3 is not JSON (and 1 more), but may match (hint: `pisess check` explains it)
    pisess: note: ./c.jsonl: the last line is incomplete (hint: `pisess check --repair --backup` removes it)
    "#);
    let named = s
        .pisess("grep -l midnight ./none ./tour.jsonl ./a.jsonl")
        .done();
    assert_eq!((named.text().as_str(), named.code), ("./tour.jsonl\n", 2));
    assert_snapshot!(named.stderr, @r#"
    pisess: cannot read ./none: no such file or directory (hint: check the path; sessions are below ~/.pi/agent/sessions and ~/.omp/agent/sessions)
    pisess: ./a.jsonl: no session header (hint: a session of pi or oh-my-pi starts with {"type":"session","id":…})
    "#);
    assert_snapshot!(s.unchanged("grep midnight ./a.jsonl"), @r#"
    2> pisess: ./a.jsonl: no session header (hint: a session of pi or oh-my-pi starts with {"type":"session","id":…})
    exit 2
    "#);
    assert_eq!(s.pisess("grep -q -c midnight .").done().stderr, "");
}

#[test]
fn wrong_patterns_and_options_are_refused() {
    let s = Sandbox::with(&[TOUR]);
    for line in [
        "grep '(' ./tour.jsonl",
        "grep -e 'a)' -e '(b' ./tour.jsonl",
        "grep x --since tomorrow ./tour.jsonl",
        "grep x --all ./tour.jsonl",
        "grep -l -c x ./tour.jsonl",
        "grep x --sort size ./tour.jsonl",
        "grep -C x y ./tour.jsonl",
        "grep",
    ] {
        s.pisess(line).done().fails(2);
    }
    assert_snapshot!(s.pisess("grep '(' ./tour.jsonl").done().fails(2), @"the pattern: unclosed group: ( (hint: -F takes it as literal text)");
    // An unknown option is never the pattern.
    for line in [
        "grep -z -a",
        "grep -z ./tour.jsonl",
        "grep --actve word ./tour.jsonl",
        "grep word --actve ./tour.jsonl",
    ] {
        let refused = s.pisess(line).done().fails(2);
        assert!(
            refused.contains("give a pattern that begins with - after -e or --"),
            "{line}: {refused}"
        );
    }
    assert_snapshot!(s.pisess("grep --actve word ./tour.jsonl").done().fails(2), @"unexpected argument '--actve' found (hint: a similar argument exists: '--active'; give a pattern that begins with - after -e or --; see `pisess grep --help`)");
    for line in [
        "grep -c -e -1420 ./tour.jsonl",
        "grep -c -e=-1420 ./tour.jsonl",
        "grep -c -- -1420 ./tour.jsonl",
    ] {
        assert_eq!(s.run(line), "1\n", "{line}");
    }
    assert_eq!(s.run("grep -F '\"left 23 h ago\"' -c ./tour.jsonl"), "2\n");
}

/// The sessions of the current directory, of both agents, and of all directories.
/// The row of a label names the labelled entry. With whole texts, that entry follows.
#[test]
fn a_label_leads_to_the_entry_that_it_labels() {
    let s = Sandbox::new();
    s.put("tour.jsonl", fixture("tour.jsonl"));
    assert_snapshot!(s.run("grep --role label green ./tour.jsonl"), @"0fe7a29c:label: green  (of 648dc1b3)");
    assert_snapshot!(s.run("grep --role label --full green ./tour.jsonl"), @"
    0fe7a29c:label:  (of 648dc1b3)
        green

    648dc1b3-assistant-
        All 14 tests pass, and at 23:50 the 00:10 ferry departs in 20 min.
    ");

    let rows = s.pisess("grep --role label --full --json green ./tour.jsonl");
    let mut fields = Vec::new();
    for row in rows.done().text().lines() {
        let row: Value = serde_json::from_str(row).unwrap();
        fields.push(json!([
            row["id"],
            row["role"],
            row["target"],
            row["context"]
        ]));
    }
    let expected = json!([
        ["0fe7a29c", "label", "648dc1b3", false],
        ["648dc1b3", "assistant", null, true]
    ]);
    assert_eq!(json!(fields), expected);
    // Only the label is a match.
    assert_eq!(s.run("grep -c --role label green ./tour.jsonl"), "1\n");
}

/// The labelled entry is printed once if it is directly above, and not at all without a target.
#[test]
fn a_labelled_entry_is_not_printed_a_second_time() {
    let s = Sandbox::new();
    let label = |id: &str, target: &str| {
        format!(
            r#"{{"type":"label","id":"{id}","parentId":"1a2b3c01","timestamp":"2026-03-19T03:08:06.701Z","targetId":"{target}","label":"a kite"}}"#
        )
    };
    let lines = [
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-03-19T03:08:06.701Z","cwd":"/tmp"}"#,
        r#"{"type":"message","id":"1a2b3c01","parentId":null,"timestamp":"2026-03-19T03:08:06.701Z","message":{"role":"user","content":"Which paper for a kite?"}}"#,
        &label("1a2b3c02", "1a2b3c01"),
        &label("1a2b3c03", "1a2b3c03"),
        &label("1a2b3c04", ""),
        &label("1a2b3c05", "1a2b3c01"),
    ];
    s.put("a.jsonl", lines.join("\n") + "\n");
    let expected = "\
1a2b3c01:user:
    Which paper for a kite?

1a2b3c02:label:  (of 1a2b3c01)
    a kite

1a2b3c03:label:
    a kite

1a2b3c04:label:
    a kite

1a2b3c05:label:  (of 1a2b3c01)
    a kite

1a2b3c01-user-
    Which paper for a kite?
";
    assert_eq!(s.run("grep --full kite ./a.jsonl"), expected);

    let row_above = s.run("grep --full -B1 --role label -m1 kite ./a.jsonl");
    assert_eq!(row_above.matches("Which paper").count(), 1, "{row_above}");
}

#[test]
fn without_a_path_the_stores_are_searched() {
    let s = Sandbox::new();
    let home = s.path("home");
    let call = |line: &str| s.pisess(line).env("HOME", home.to_str().unwrap()).done();
    assert_eq!(call("grep -l hello").code, 1);
    let folder = s.path("");
    let folder = folder.to_str().unwrap().trim_matches('/').replace('/', "-");
    s.put(
        &format!("home/.pi/agent/sessions/--{folder}--/a.jsonl"),
        spelled(&["hello"]),
    );
    s.put(
        "home/.pi/agent/sessions/--other--/b.jsonl",
        spelled(&["hello"]),
    );
    s.put("home/.omp/agent/sessions/-x/c.jsonl", spelled(&["hello"]));
    s.put("home/.omp/agent/sessions/-x/c/1.jsonl", spelled(&["hello"]));
    assert_eq!(call("grep -l hello").text().lines().count(), 1);
    assert_eq!(call("grep -l --all hello").text().lines().count(), 4);
    // A flat directory contains sessions of all projects.
    s.put("flat/d.jsonl", spelled(&["hello"]));
    s.put(
        "flat/e.jsonl",
        spelled(&["hello"]).replace("\"/p\"", &format!("{:?}", s.path("").to_str().unwrap())),
    );
    let flat = s.path("flat");
    let flat = s
        .pisess("grep -l hello")
        .env("PI_CODING_AGENT_SESSION_DIR", flat.to_str().unwrap())
        .done();
    assert_eq!(flat.text(), "./flat/e.jsonl\n");
}

/// The time grows with the length of an expression, not with its square.
#[test]
fn a_long_expression_without_case_is_searched_for() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let long = "aB".repeat(5000);
    assert_eq!(
        s.pisess(&format!("grep -i {long} ./two-branches.jsonl"))
            .done()
            .code,
        1
    );
}

/// As with ripgrep: the path, a NUL byte, the number.
#[test]
fn null_ends_the_path_before_a_count() {
    let s = Sandbox::with(&["tour.jsonl", "two-branches.jsonl"]);
    let (lines, nulls) = (s.run("grep -c the ."), s.run("grep -0 -c the ."));
    assert_eq!(nulls, lines.replace(':', "\0"));
    assert_eq!(lines.lines().count(), 2);
    assert_eq!(
        s.run("grep -0c the ./tour.jsonl"),
        s.run("grep -c the ./tour.jsonl")
    );
    let failed = s.pisess("grep -l -c the .").done().fails(2);
    assert!(failed.contains("cannot be used with"), "{failed}");
}

/// A session in which a command is called, asked about, and run by the user.
fn session_with_tools(s: &Sandbox, padding: usize) {
    let entry = |id: &str, parent: &str, message: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-01-01T00:00:01.000Z","message":{message}}}"#
        )
    };
    let call = |id: &str, arguments: &str| {
        format!(r#"{{"type":"toolCall","id":"{id}","name":"bash","arguments":{arguments}}}"#)
    };
    let calls = [
        call("call_1", r#"{"command":"cargo test"}"#),
        call("call_2", r#"{"command":"echo needle"}"#),
    ];
    let result = |call_id: &str, text: &str| {
        format!(
            r#"{{"role":"toolResult","toolCallId":"{call_id}","toolName":"bash","content":[{{"type":"text","text":"{text}"}}],"isError":false}}"#
        )
    };
    let long_result = result("call_1", &format!("{}needle", "x".repeat(padding)));
    let reply = format!(r#"{{"role":"assistant","content":[{}]}}"#, calls.join(","));
    let lines = [
        entry("aaaa0001", "null", &reply),
        entry("aaaa0002", "\"aaaa0001\"", &long_result),
        entry("aaaa0003", "\"aaaa0002\"", &result("call_2", "needle")),
        entry("aaaa0004", "\"aaaa0003\"", &result("call_9", "needle")),
        entry(
            "aaaa0005",
            "\"aaaa0004\"",
            r#"{"role":"bashExecution","command":"ls src","output":"needle","exitCode":0}"#,
        ),
        crate::sandbox::user("aaaa0006", Some("aaaa0005"), "the needle"),
    ];
    s.put("x.jsonl", crate::sandbox::session(&lines));
}

#[test]
fn rows_name_the_tool_and_what_it_worked_on() {
    let s = Sandbox::new();
    session_with_tools(&s, 1);
    assert_snapshot!(s.unchanged("grep needle ./x.jsonl"), @"
    aaaa0001:assistant bash echo needle: echo needle
    aaaa0002:bash cargo test: xneedle
    aaaa0003:bash echo needle: needle
    aaaa0004:bash: needle
    aaaa0005:bash ls src: needle
    aaaa0006:user: the needle
    ");
    // The call is on a line that does not match.
    assert_snapshot!(s.run("grep xneedle ./x.jsonl"), @"aaaa0002:bash cargo test: xneedle");
    let sorted = s
        .pisess("grep needle ./x.jsonl")
        .env("NO_COLOR", "1")
        .terminal(60)
        .done()
        .text();
    assert_snapshot!(sorted, @"
    aaaa0006:user: the needle
    aaaa0001:assistant bash echo needle: echo needle
    aaaa0002:bash cargo test: xneedle
    aaaa0003:bash echo needle: needle
    aaaa0004:bash: needle
    aaaa0005:bash ls src: needle
    ");
    // Around matches, the rows follow the conversation.
    let around = s
        .pisess("grep -C 1 needle ./x.jsonl")
        .env("NO_COLOR", "1")
        .terminal(60)
        .done()
        .text();
    assert!(around.starts_with("aaaa0001"), "{around}");
    assert!(around.ends_with("the needle\n"), "{around}");
    assert!(!s.run("grep --json needle ./x.jsonl").contains("cargo"));
}

/// The call is found behind results of other calls, but not in any distance unless its line was
/// read.
#[test]
fn the_call_of_a_match_is_looked_for_nearby() {
    for (result_len, row) in [
        (200_000, "aaaa0003:bash echo: needle\n"),
        (300_000, "aaaa0003:bash: needle\n"),
    ] {
        let s = Sandbox::new();
        session_with_tools(&s, result_len);
        let found = s.run("grep needle ./x.jsonl");
        assert!(found.contains("aaaa0003:bash echo needle: needle\n"));
        let lines = s.text("x.jsonl").replace("echo needle", "echo");
        s.put("x.jsonl", lines);
        assert!(s.run("grep needle ./x.jsonl").contains(row), "{result_len}");
    }
}

#[test]
fn whole_texts_and_matches_alone() {
    let s = Sandbox::with(&["tour.jsonl"]);
    assert_snapshot!(s.unchanged("grep --role user --full t.at ./tour.jsonl"), @r#"
    3de1b752:user:
        Undo that, and take the nearer of the two: yesterday's or tomorrow's departure.

    b5d60e41:user:
        Good. Please add a test for exactly that evening.
    "#);
    assert_snapshot!(s.unchanged("grep -o -i 'departs_?in' ./tour.jsonl --role assistant"), @"
    departs_in
    departs_in
    departs_in
    ");
    let row = s.unchanged("grep -o --json 'departs_.|midnight' ./tour.jsonl --role assistant -m 1");
    assert!(
        row.text().contains(r#""matches":["midnight","departs_i"]"#),
        "{row}"
    );
    let rows = s
        .unchanged("grep --role user --full --json '' ./tour.jsonl")
        .text();
    let first = rows.lines().next().unwrap();
    assert!(first.contains(r#""cwd":"/home/u/code/ferry""#), "{first}");
    assert!(first.contains(r#""text":""#), "{first}");
    assert_eq!(s.unchanged("grep -o -v a ./tour.jsonl").code, 2);
}

#[test]
fn sessions_without_a_match() {
    let s = Sandbox::with(&["tour.jsonl", "two-branches.jsonl"]);
    assert_snapshot!(s.unchanged("grep -L departs_in ./"), @"./two-branches.jsonl");
    assert_snapshot!(s.unchanged("grep -L --json departs_in ./"), @r#"{"path":"./two-branches.jsonl","sessionId":"019c0000-0000-7000-8000-00000000babe","title":"Which paper for a kite?","cwd":"/home/u/kites"}"#);
    let all_match = s.pisess("grep -L e ./").done();
    assert_eq!((all_match.code, all_match.text().as_str()), (1, ""));
}

#[test]
fn only_the_calls_and_results_of_a_tool() {
    let s = Sandbox::new();
    let reply = r#"{"type":"message","id":"aaaaaaaa","parentId":null,"timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"ferry"},{"type":"toolCall","id":"c1","name":"read","arguments":{"path":"ferry.rs"}},{"type":"toolCall","id":"c2","name":"bash","arguments":{"command":"ls ferry"}}]}}"#;
    let result = |id: &str, call: &str, tool: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":"aaaaaaaa","timestamp":"2026-01-01T00:00:03.000Z","message":{{"role":"toolResult","toolCallId":"{call}","toolName":"{tool}","isError":false,"content":[{{"type":"text","text":"a ferry"}}]}}}}"#
        )
    };
    let lines = [
        reply.to_owned(),
        result("bbbbbbbb", "c1", "read"),
        result("cccccccc", "c2", "bash"),
        crate::sandbox::user("dddddddd", Some("cccccccc"), "the ferry"),
    ];
    s.put("x.jsonl", crate::sandbox::session(&lines));
    assert_snapshot!(s.unchanged("grep --tool bash ferry ./x.jsonl"), @r"
    aaaaaaaa:assistant bash ls ferry: ls ferry
    cccccccc:bash ls ferry: a ferry
    ");
    // The path is an argument of another call of the reply.
    assert_eq!(s.unchanged("grep --tool bash ferry.rs ./x.jsonl").code, 1);
    assert_eq!(s.unchanged("grep --tool bas ferry ./x.jsonl").code, 1);
    assert_eq!(
        s.run("grep -c --tool bash --tool read ferry ./x.jsonl"),
        "3\n"
    );
    assert_eq!(
        s.run("grep -o --tool bash 'l?s? ?ferry' ./x.jsonl"),
        "ls ferry\n ferry\n"
    );
    assert_eq!(
        s.run("grep -c --tool bash --role toolResult ferry ./x.jsonl"),
        "1\n"
    );
}

#[test]
fn only_what_failed_or_has_an_image() {
    let s = Sandbox::with(&["tour.jsonl"]);
    let failed = s.unchanged("grep --failed e ./tour.jsonl").text();
    let ids: Vec<_> = failed.lines().map(|row| &row[..8]).collect();
    assert_eq!(ids, ["15f9ad3c", "5c07d14b"]);
    // A pattern that matches everything finds the lines that say what failed.
    assert_snapshot!(s.unchanged("grep --failed '' ./tour.jsonl").text(), @r#"
    15f9ad3c:bash cargo test --quiet: running 14 tests ............FF failures: board::just_left_is_shown_as_left board::delayed_ferry_stays_on_board Command exited w…
    5c07d14b:assistant: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}
    "#);
    let rows = s.unchanged("grep --json -i 'ferry' ./tour.jsonl").text();
    assert!(
        rows.contains(r#""failed":true"#) && rows.contains(r#""failed":false"#),
        "{rows}"
    );
    assert_eq!(s.unchanged("grep --with-images e ./tour.jsonl").code, 1);
}

/// The command of the note searches the session and its sub-agents.
#[test]
fn grep_of_a_session_without_a_match_notes_its_sub_agents() {
    let s = Sandbox::new();
    s.put("x/s.jsonl", spelled(&["here"]));
    let note = |line: &str| s.pisess(line).done().stderr;
    assert_eq!(note("grep port ./x/s.jsonl"), "");
    s.put("x/s/Scout.jsonl", spelled(&["the port is closed"]));
    s.put("x/s/__advisor.jsonl", spelled(&["there"]));
    s.put("x/s/notes.jsonl", "hi\n");

    assert_snapshot!(note("grep -i 'the port' ./x/s.jsonl"), @"pisess: note: 1 sub-agent and 1 advisor not searched (hint: `pisess grep -i 'the port' ./x/s.jsonl ./x/s` searches them, too)");
    assert_snapshot!(note("grep --role user ./x/s.jsonl -e port"), @"pisess: note: 1 sub-agent and 1 advisor not searched (hint: `pisess grep --role user ./x/s.jsonl ./x/s -e port` searches them, too)");
    assert_snapshot!(note("grep --failed ./x/s.jsonl"), @"pisess: note: 1 sub-agent and 1 advisor not searched (hint: `pisess grep --failed '' ./x/s.jsonl ./x/s` searches them, too)");
    let found = s.unchanged("grep -i 'the port' ./x/s.jsonl ./x/s");
    assert_eq!(found.code, 0, "{found}");
    // On a terminal, the note is shortened to one line, so its command is short.
    let on_terminal = s.pisess("grep port ./x/s.jsonl").terminal(120).done();
    assert_snapshot!(on_terminal.stderr, @"pisess: note: 1 sub-agent and 1 advisor not searched (hint: `pisess list ./x/s.jsonl` lists them)");

    for line in [
        "grep here ./x/s.jsonl",
        "grep -q port ./x/s.jsonl",
        "grep -L here ./x/s.jsonl",
        "grep port ./x/s.jsonl root..",
        "grep there ./x/s.jsonl ./x/s/Scout.jsonl",
    ] {
        assert_eq!(note(line), "", "{line}");
    }
}

#[test]
fn grep_with_images_counts_them() {
    let s = Sandbox::new();
    s.put("x.jsonl", session_with_images());
    assert_snapshot!(s.unchanged("grep --with-images ./x.jsonl"), @"
    bbbb0002:user: [image] see
    ../../x:user: [2 images] see
    aaaa0004:user: [image] see
    ");
    assert_snapshot!(s.unchanged("grep --with-images --full see ./x.jsonl"), @"
    bbbb0002:user: [image]
        see

    ../../x:user: [2 images]
        see

    aaaa0004:user: [image]
        see
    ");
    assert_snapshot!(s.unchanged("grep --with-images -C 1 see ./x.jsonl"), @"
    aaaa0001-user- how?
    bbbb0002:user: [image] see
    --
    ../../x:user: [2 images] see
    aaaa0004:user: [image] see
    ");
    assert_snapshot!(s.unchanged("grep see ./x.jsonl"), @"
    bbbb0002:user: see
    ../../x:user: see
    aaaa0004:user: see
    ");
}

/// A failed call is understood only with its arguments, which are in the entry above.
#[test]
fn a_failure_in_full_has_the_arguments_of_its_call() {
    let s = Sandbox::new();
    let call = |id: &str, name: &str, arguments: Value| json!({"type": "toolCall", "id": id, "name": name, "arguments": arguments});
    let calls = [
        call(
            "c1",
            "edit",
            json!({"path": "a.rs", "oldText": "let a = 1;", "newText": "let a = 2;"}),
        ),
        call("c2", "bash", json!({"command": "cargo test"})),
        call(
            "c3",
            "bash",
            json!({"command": "cargo build", "timeout": 5}),
        ),
    ];
    let mut lines = vec![
        json!({"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/p"}),
        json!({"type": "message", "id": "a1", "parentId": null, "timestamp": "2026-01-01T00:00:01.000Z",
            "message": {"role": "assistant", "content": calls}}),
    ];
    for (number, tool) in ["edit", "bash", "bash"].iter().enumerate() {
        let id = number + 1;
        lines.push(json!({"type": "message", "id": format!("r{id}"), "parentId": "a1", "timestamp": "2026-01-01T00:00:02.000Z",
            "message": {"role": "toolResult", "toolCallId": format!("c{id}"), "toolName": tool, "isError": true,
                "content": [{"type": "text", "text": "it failed"}]}}));
    }
    let lines: Vec<_> = lines.iter().map(|line| format!("{line}\n")).collect();
    s.put("s.jsonl", lines.concat());
    assert_snapshot!(s.unchanged("grep --failed --full ./s.jsonl"), @"
    r1:edit a.rs:
        path: a.rs
        -let a = 1;
        +let a = 2;
        it failed
        edit

    r2:bash cargo test:
        it failed
        bash

    r3:bash cargo build:
        command: cargo build
        timeout: 5
        it failed
        bash
    ");
    let without = s.unchanged("grep --full --role toolResult '' ./s.jsonl");
    assert!(!without.text().contains("let a"), "{without}");
}

/// What selects entries by itself needs no pattern.
#[test]
fn a_selection_of_entries_needs_no_pattern() {
    let s = Sandbox::new();
    s.put(
        ".pi/agent/sessions/--home-u-code-ferry--/tour.jsonl",
        fixture("tour.jsonl"),
    );
    let at_home = |line: &str| s.pisess(line).at_home().done();
    for selection in ["--failed --tool bash", "--role user", "--tool read"] {
        let without = at_home(&format!("grep --all {selection}"));
        let with = at_home(&format!("grep --all {selection} ''"));
        assert_eq!(without.text(), with.text(), "{selection}");
        assert!(!without.text().is_empty(), "{selection}");
    }
    assert_eq!(at_home("grep --all --with-images").code, 1);
    assert_eq!(at_home("grep --all").code, 2);
    // A file that is named alone is a session, not a pattern.
    s.put("tour.jsonl", fixture("tour.jsonl"));
    let without = s.run("grep --role user ./tour.jsonl");
    assert_eq!(without, s.run("grep --role user '' ./tour.jsonl"));
    // So is the id of a session, but not a word that could be one.
    let with_id = at_home("grep --role user 6e8a4d70");
    assert_eq!(
        with_id.text(),
        at_home("grep --role user '' 6e8a4d70").text()
    );
    assert!(!with_id.text().is_empty());
    assert_eq!(at_home("grep --all --role user deadbeef").code, 1);
}

/// A session that is named alone is searched, although a pattern could be meant.
#[test]
fn a_name_or_title_alone_is_a_session() {
    let desk = Desk::new();
    let name = |name: &str| json!({"type": "session_info", "id": "bbbb0001", "parentId": "aaaa0001", "name": name});
    let elsewhere = |id: &str| format!("home/.pi/agent/sessions/--p--/{id}.jsonl");
    desk.put(&elsewhere("far1"), "far1", 1, &[name("Point motor 7")]);
    desk.put(
        &elsewhere("far2"),
        "far2",
        2,
        &[name("Signals at the point")],
    );
    let run = |line: &str| desk.pisess(line).done();

    // This directory has no session, which is not noted if another one is searched.
    let named = run("grep --role user 'point MOTOR 7'");
    assert_snapshot!(named, @"
    aaaa0001:user: question of far1
    2> pisess: `point MOTOR 7` is far1 (3mo): Point motor 7
    ");
    let titled = run("grep --role user motor");
    assert_snapshot!(titled, @"
    aaaa0001:user: question of far1
    2> pisess: `motor` is in the title of far1 (3mo): Point motor 7
    ");
    let counted = run("grep --role user -c 'Point motor 7'");
    assert_eq!(counted.text(), "1\n", "{counted}");
    // Several titles have the word.
    assert_eq!(run("grep --role user point").code, 1);
    for pattern in [
        "grep --role user -e 'Point motor 7'",
        "grep --role user --all 'Point motor 7'",
        "grep --role user -q motor",
        "grep --role user -c motor",
        "grep --role user -l motor",
        "grep --role user --json motor",
        "grep --role user -L 'Point motor 7'",
        "grep --role user -v 'Point motor 7'",
        "grep --role user --source claude 'Point motor 7'",
        "grep 'Point motor 7'",
    ] {
        let done = run(pattern);
        assert_eq!((done.code, done.text().as_str()), (1, ""), "{pattern}");
    }

    // In its own directory, a name is a session even if entries of others have the word.
    desk.pi("near1", 3, &[name("question")]);
    desk.pi("near2", 4, &[]);
    assert_snapshot!(run("grep --role user QUESTION"), @"
    aaaa0001:user: question of near1
    2> pisess: `QUESTION` is near1 (3mo): question
    ");
    let with_word = run("grep --role user -e question").text();
    assert_eq!(with_word.lines().count(), 2);
    assert_snapshot!(run("grep --role user last"), @"
    aaaa0001:user: question of near2
    2> pisess: `last` is near2 (3mo): question of near2
    ");
    // `-v` has a pattern, and the environment may exclude the sessions of pi.
    assert_eq!(
        run("grep --role user -v QUESTION").text().lines().count(),
        2
    );
    let call = desk.pisess("grep --role user QUESTION");
    let of_others = call.env("PISESS_SOURCES", "claude").done();
    assert_eq!(
        (of_others.code, of_others.text().as_str()),
        (1, ""),
        "{of_others}"
    );
    // A name that several sessions have is a pattern.
    desk.pi("near3", 5, &[name("question")]);
    assert_eq!(run("grep --role user question").text().lines().count(), 3);
    // What an entry contains is a pattern, even if a session elsewhere has that name.
    desk.put(&elsewhere("far3"), "far3", 6, &[name("of near2")]);
    let found = run("grep --role user 'of near2'");
    assert!(
        found.text().ends_with("user: question of near2\n"),
        "{found}"
    );
    assert_eq!(found.stderr, "");
}

/// A session in which the user interrupted a reply and a command of their own.
fn interrupted_session() -> Vec<u8> {
    let entry = |id: &str, parent: Option<&str>, message: Value| json!({"type": "message", "id": id, "parentId": parent, "timestamp": "2026-05-01T10:00:00.000Z", "message": message});
    let header = json!({"type": "session", "version": 3, "id": "s", "timestamp": "2026-05-01T10:00:00.000Z", "cwd": "/p"});
    let reply = json!({"role": "assistant", "content": [{"type": "text", "text": "Now I write bitboards"}], "stopReason": "aborted"});
    let command = json!({"role": "bashExecution", "command": "make", "output": "cc board.c", "exitCode": 130, "cancelled": true});
    let lines = [
        header,
        entry(
            "aaaa0001",
            None,
            json!({"role": "user", "content": "Castling?"}),
        ),
        entry("aaaa0002", Some("aaaa0001"), reply),
        entry(
            "aaaa0003",
            Some("aaaa0002"),
            json!({"role": "user", "content": "Stop,\nno bitboards!"}),
        ),
        entry("aaaa0004", Some("aaaa0003"), command),
    ];
    lines.map(|line| format!("{line}\n")).concat().into_bytes()
}

/// A reply that the user interrupted is found as what failed is, in `tree` alike.
#[test]
fn what_was_interrupted_is_found_with_failures() {
    let s = Sandbox::new();
    s.put("s.jsonl", interrupted_session());
    assert_snapshot!(s.run("grep --failed '' ./s.jsonl"), @"
    aaaa0002:assistant: Now I write bitboards  (aborted)
    aaaa0004:bash make: make  (aborted)
    ");
    assert_snapshot!(s.run("grep -i bitboards ./s.jsonl"), @"
    aaaa0002:assistant: Now I write bitboards  (aborted)
    aaaa0003:user: Stop, no bitboards!
    ");
    assert_snapshot!(s.run("tree --filter failed --no-ids ./s.jsonl"), @"
    • assistant: [aborted] Now I write bitboards
    • bash: [aborted] make  ← active
    ");
    let failed = rows(&s.run("grep --failed --role assistant --json '' ./s.jsonl"));
    assert_eq!(
        (&failed[0]["failed"], &failed[0]["aborted"]),
        (&json!(false), &json!(true))
    );
    let drawn = rows(&s.run("tree --filter failed --json ./s.jsonl"));
    let flags: Vec<_> = drawn
        .iter()
        .map(|row| (&row["failed"], &row["aborted"]))
        .collect();
    assert_eq!(flags, [(&json!(false), &json!(true)); 2]);
}

/// The entries around a match are printed as the match is: whole with `--full`, and with the same
/// fields in JSON.
#[test]
fn whole_texts_have_context() {
    let s = Sandbox::with(&[TOUR]);
    s.put("s.jsonl", interrupted_session());
    assert_snapshot!(s.run("grep --failed --role assistant --full -A 1 '' ./s.jsonl"), @"
    aaaa0002:assistant:  (aborted)
        Now I write bitboards

    aaaa0003-user-
        Stop,
        no bitboards!
    ");
    assert_snapshot!(s.run("grep --full -B 1 -A 1 'Two tests fail' ./tour.jsonl"), @r#"
    15f9ad3c-bash cargo test --quiet-  (failed)
        bash
        running 14 tests
        ............FF
        failures:
            board::just_left_is_shown_as_left
            board::delayed_ferry_stays_on_board

        Command exited with code 101

    a6d84170:assistant:
        Two tests fail: a ferry that left five minutes ago now "departs in 23 h 55 min". Adding a day hides the past, and the board needs it.

    ee2b93f5-user-
        Hm. What would you do instead?
    "#);
    assert_snapshot!(s.run("grep --full -C 1 -e 'Castling' -e 'board.c' ./s.jsonl"), @"
    aaaa0001:user:
        Castling?

    aaaa0002-assistant-  (aborted)
        Now I write bitboards

    aaaa0003-user-
        Stop,
        no bitboards!

    aaaa0004:bash make:  (aborted)
        make
        cc board.c
    ");
    let texts: Vec<_> = rows(&s.run("grep --full --json -A 1 'Now I' ./s.jsonl"))
        .iter()
        .map(|row| row["text"].clone())
        .collect();
    assert_eq!(texts, ["Now I write bitboards", "Stop,\nno bitboards!"]);
}

/// With entries around matches, the texts are read a second time, after the search.
#[test]
fn whole_texts_with_context_are_those_without() {
    let s = Sandbox::with(&[TOUR, "v1.jsonl", "draft-tree.jsonl"]);
    let titled = s
        .text("tour.jsonl")
        .replacen(r#""cwd""#, r#""title":"Ferries","cwd""#, 1);
    s.put("tour.jsonl", titled);
    let searches = [
        "--tool bash cargo ./tour.jsonl",
        "--role toolCall departs_in ./tour.jsonl",
        "--role label green ./tour.jsonl",
        "--role title Ferries ./tour.jsonl",
        "-v --role user nothing ./tour.jsonl",
        "--failed cargo ./tour.jsonl",
        // Migration renames this role, and the type of the draft.
        "--raw hookMessage ./v1.jsonl",
        "--role head main ./draft-tree.jsonl",
    ];
    for search in searches {
        let alone = rows(&s.run(&format!("grep --full --json {search}")));
        let with_context = rows(&s.run(&format!("grep --full --json -C1 {search}")));
        let matches: Vec<_> = with_context
            .into_iter()
            .filter(|row| row["context"] == false)
            .collect();
        let alone: Vec<_> = alone
            .into_iter()
            .filter(|row| row["context"] == false)
            .collect();
        assert!(!alone.is_empty(), "{search}");
        assert_eq!(matches, alone, "{search}");
    }
}

/// The request that led to a match is printed once for all matches of its turn.
#[test]
fn grep_with_prompt_prints_the_request_of_each_match() {
    let s = Sandbox::with(&[TOUR]);
    let rows_of = |line: &str| s.run(&format!("grep --with-prompt {line} ./tour.jsonl"));
    assert_snapshot!(rows_of("--tool bash 'cargo test'"), @r#"
    3ac9d7e4-user- Just add a day when it comes out negative.
    --
    72c0e8b6:assistant bash cargo test --quiet: cargo test --quiet  (failed)
    --
    3de1b752-user- Undo that, and take the nearer of the two: yesterday's or tomorrow's departure.
    c8a45f06:assistant bash cargo test --quiet: cargo test --quiet
    "#);
    // A prompt has no other prompt above it.
    assert_snapshot!(rows_of("'Which paper|exactly that evening'"), @r#"
    b5d60e41:user: Good. Please add a test for exactly that evening.
    "#);
    let json = rows(&rows_of("--json --role assistant 'pins it down'"));
    let prompt = json.iter().find(|row| row["context"] == true).unwrap();
    assert_eq!(prompt["id"], "b5d60e41");
    let full = rows_of("--full --role assistant 'pins it down'");
    assert!(
        full.contains("    Good. Please add a test for exactly that evening."),
        "{full}"
    );
}

#[test]
fn rows_have_times() {
    let s = Sandbox::with(&[TOUR]);
    assert_snapshot!(s.run("grep --times -C 1 'Looks like' ./tour.jsonl"), @r#"
    0d9a6c31-2026-03-14 09:27-user- The 00:10 ferry shows up as "left 23 h ago" when I ask at 23:50. Can you find out why?
    c25f81e7:2026-03-14 09:27:assistant: Looks like a midnight problem.
    9e04b3d8-2026-03-14 09:27-grep- /fn departs_in/ in src
    "#);
    assert_snapshot!(s.run("grep --times --full 'Looks like' ."), @"
    ./tour.jsonl:c25f81e7:2026-03-14 09:27:assistant:
        Looks like a midnight problem.
        I'll look for where the waiting time is computed.
        grep
        fn departs_in
        /home/u/code/ferry/src
    ");
    let on_terminal = s.pisess("grep --color never --times 'Looks like' ./tour.jsonl");
    assert_snapshot!(on_terminal.terminal(50).done().quiet(), @"c25f81e7:2026-03-14 09:27:assistant: Looks like a…");
    // An entry without a time has none.
    let untimed = interrupted_session();
    let untimed = String::from_utf8(untimed)
        .unwrap()
        .replace("2026-05-01T10", "then");
    s.put("s.jsonl", untimed);
    assert_snapshot!(s.run("grep --times Castling ./s.jsonl"), @"aaaa0001:?               :user: Castling?");
    assert_eq!(s.pisess("grep --times -c x ./tour.jsonl").done().code, 2);
}

/// The names of pi's tools include those of other agents. If nothing is found because no session
/// calls the tool, a note has the tools that they call.
#[test]
fn a_tool_is_found_by_its_name_in_pi() {
    let s = Sandbox::with(&[TOUR]);
    s.put(
        "codex.jsonl",
        s.text(TOUR).replace(r#""bash""#, r#""shell""#),
    );
    let bash = s.run("grep --tool bash '' ./tour.jsonl");
    assert_eq!(
        s.run("grep --tool bash '' ./codex.jsonl"),
        bash.replace("bash", "shell")
    );
    assert_eq!(s.pisess("grep --tool shell '' ./tour.jsonl").done().code, 1);

    assert_snapshot!(s.unchanged("grep --tool python midnight ."), @"
    2> pisess: note: no call of `python`: these sessions call bash, edit, grep, read, shell, write
    exit 1
    ");
    assert_snapshot!(s.unchanged("grep --tool bash 'no such text' ./tour.jsonl"), @"exit 1");
    assert_snapshot!(s.unchanged("grep -q --tool python midnight ."), @"exit 1");
    s.put("s.jsonl", interrupted_session());
    assert_snapshot!(s.unchanged("grep --tool x --tool y '' ./s.jsonl"), @"
    2> pisess: note: no call of `x` or `y`: these sessions call no tools
    exit 1
    ");
}

/// The row of an edit reads as what it wrote. Only if the replaced text alone matches is it shown,
/// with a sign.
#[test]
fn the_row_of_an_edit_prefers_the_new_text() {
    let s = Sandbox::new();
    let calls = [
        r#"{"path":"a.py","edits":[{"oldText":"WIDTH = 8","newText":"WIDTH = 32"}]}"#,
        r#"{"path":"a.py","oldText":"WIDTH = 32","newText":"w = 32"}"#,
        r#"{"path":"a.py","edits":[{"oldText":"WIDTH","newText":"w"},{"oldText":"w","newText":"max WIDTH"}]}"#,
        r#"{"file_path":"a.py","old_string":"first WIDTH","new_string":"x","edits":[{"old_string":"second WIDTH"}]}"#,
        // Two calls in one reply.
        r#"{"path":"a.py","oldText":"no WIDTH","newText":"x"}},{"type":"toolCall","id":"d","name":"bash","arguments":{"command":"grep WIDTH"}"#,
    ];
    let calls = calls.map(|arguments| ("edit", arguments, false));
    s.put("s.jsonl", session_with_calls(&calls));
    assert_snapshot!(s.unchanged("grep WIDTH ./s.jsonl"), @"
    0aaaaaaa:assistant edit a.py: WIDTH = 32
    1aaaaaaa:assistant edit a.py: - WIDTH = 32
    2aaaaaaa:assistant edit a.py: max WIDTH
    3aaaaaaa:assistant edit a.py: - first WIDTH
    4aaaaaaa:assistant bash grep WIDTH: grep WIDTH
    ");
    assert_snapshot!(s.unchanged("grep --role toolCall --tool edit 'first WIDTH' ./s.jsonl"), @"3aaaaaaa:assistant edit a.py: - first WIDTH");
    assert_snapshot!(s.unchanged("grep -o 'WIDTH = .*' ./s.jsonl"), @"
    WIDTH = 8
    WIDTH = 32
    WIDTH = 32
    ");
    let json = rows(&s.run("grep --json WIDTH ./s.jsonl"));
    let fields: Vec<&str> = json
        .iter()
        .map(|row| row["field"].as_str().unwrap())
        .collect();
    assert_snapshot!(fields.join("\n"), @"
    message.content[0].arguments.edits[0].newText
    message.content[0].arguments.oldText
    message.content[0].arguments.edits[1].newText
    message.content[0].arguments.old_string
    message.content[1].arguments.command
    ");
    assert_eq!(s.run("grep -c WIDTH ./s.jsonl"), "5\n");
    let narrow = s.pisess("grep --color never 'no WIDTH' ./s.jsonl");
    assert_snapshot!(narrow.terminal(36).done().quiet(), @"4aaaaaaa:assistant edit a.py: - no…");
}
