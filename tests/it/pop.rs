//! `pisess pop`: undoes the last user message.

use crate::sandbox::{Sandbox, fixture, program, session, user};
use insta::assert_snapshot;
use serde_json::Value;

const TWO: &str = "two-branches.jsonl";

#[test]
fn question_by_question() {
    let s = Sandbox::with(&["tour.jsonl"]);
    assert_snapshot!(s.run("tree ./tour.jsonl --filter user-only"), @r#"
    0d9a6c31  • user: The 00:10 ferry shows up as "left 23 h ago" when I ask at 23:50. Can you find out why?
    3ac9d7e4  ├─ user: Just add a day when it comes out negative.  (8 messages, 1mo)
    ee2b93f5  │  user: Hm. What would you do instead?
    3de1b752  • user: Undo that, and take the nearer of the two: yesterday's or tomorrow's departure.
    b5d60e41  • user: Good. Please add a test for exactly that evening.
    86e2a1fb  • user: Now a line for the changelog, for people who don't read code.  (the leaf is below, not shown)
    "#);
    assert_snapshot!(s.run("pop ./tour.jsonl --summary 'The changelog was written.'"), @"
    226b1b5c
    Now a line for the changelog, for people who don't read code.
    ");
    assert_snapshot!(s.text("tour.jsonl").lines().last().unwrap(), @r#"{"type":"branch_summary","id":"226b1b5c","parentId":"dc705e93","timestamp":"2026-05-04T12:00:00.000Z","fromId":"2f5dc03e","summary":"The changelog was written.","details":{"readFiles":[],"modifiedFiles":[]},"fromHook":false}"#);
    assert_snapshot!(s.run("pop ./tour.jsonl --summary 'The evening was tested.' --label tested"), @"
    27aa2424
    Good. Please add a test for exactly that evening.
    ");
    assert_snapshot!(s.run("pop ./tour.jsonl --summary 'The nearer was taken.'"), @"
    95d82c0b
    Undo that, and take the nearer of the two: yesterday's or tomorrow's departure.
    ");
    assert_snapshot!(s.run("tree ./tour.jsonl"), @r#"
    0d9a6c31  • user: The 00:10 ferry shows up as "left 23 h ago" when I ask at 23:50. Can you find out why?
    c25f81e7  • assistant: I'll look for where the waiting time is computed.
    9e04b3d8  • grep: /fn departs_in/ in src
    e8830b5a  • read: src/clock.rs:35-64
    27d4c96f  • [cause found] assistant: `departs_in` subtracts minutes of the day, so across midnight the result is negative: 10 - 1430 = -1420 minutes, printed as "left 23 h ago". The timetable has no dates, only times.
    5c07d14b  ├╴ 8 messages · Just add a day when it comes out negative.  1mo
    90f6a3e8  • branch summary: Make `departs_in` right across midnight.
    27aa2424  ├╴ 14 messages · [tested] Undo that, and take the nearer of the two: yesterday's or tomorrow's departure.  now
    95d82c0b  • branch summary: The nearer was taken.  ← active
    "#);
    assert!(s.bytes("tour.jsonl").starts_with(&fixture("tour.jsonl")));
}

/// The report names the entry from which the conversation continues.
#[test]
fn reports_where_the_conversation_continues() {
    let s = Sandbox::with(&["tour.jsonl", TWO]);
    assert_snapshot!(s.pisess("pop ./two-branches.jsonl").done(), @"
    226b1b5c
    Washi then. How big?
    2> pisess: now at 1a2b3c02  assistant: Tissue paper is light, washi is strong.
    ");
    assert_snapshot!(s.pisess("pop ./tour.jsonl --back 9").done().fails(1), @"./tour.jsonl: only 4 user messages on the path to the leaf (hint: `--back 4` goes back before the first one)");
    // Of a tool result, the tool is named.
    assert_snapshot!(s.pisess("pop ./tour.jsonl 15f9ad3c").done().stderr, @"pisess: now at 15f9ad3c  result of bash");
    // Of a plan, the planned position is reported, even if the session is not in a file.
    let planned = s.unchanged("pop -n ./two-branches.jsonl").stderr;
    assert_snapshot!(planned, @"pisess: would be at root");
    let of_input = s.pisess("pop -n -").stdin(fixture(TWO)).done();
    assert!(
        of_input.stderr.contains("would be at 1a2b3c0"),
        "{of_input}"
    );
    // JSON, or a session on standard output, shows it.
    for line in [
        "pop -n --json ./tour.jsonl",
        "pop ./tour.jsonl -o -",
        "pop ./tour.jsonl --json",
    ] {
        let done = s.pisess(line).done();
        assert!(!done.stderr.contains(" at "), "{done}");
    }
}

#[test]
fn the_summary_is_that_of_summarize() {
    let s = Sandbox::with(&["tour.jsonl"]);
    for options in [
        "",
        "--summarizer cat",
        "--instructions 'Name the files.' --label l",
    ] {
        let left = s
            .unchanged(&format!(
                "summarize -q ./tour.jsonl '@^{{user}}' {options} -o -"
            ))
            .text();
        assert_eq!(
            s.unchanged(&format!("pop -q ./tour.jsonl {options} -o -"))
                .text(),
            left,
            "{options}"
        );
    }
    for question in ["--prepare", "--prompt"] {
        let left = s.run(&format!("summarize ./tour.jsonl '@^{{user}}' {question}"));
        assert_eq!(
            s.run(&format!("pop ./tour.jsonl {question}")),
            left,
            "{question}"
        );
    }
}

/// The prompt of pi's summarizer contains neither the request nor the results of tools.
#[test]
fn the_built_in_summary_tells_what_was_requested_and_how_it_went() {
    let s = Sandbox::with(&["tour.jsonl"]);
    s.run("fork -q ./tour.jsonl a6d84170 -o ./pi.jsonl");
    s.run("fork -q ./tour.jsonl a6d84170 --for omp -o ./omp.jsonl");
    for file in ["pi.jsonl", "omp.jsonl"] {
        s.run(&format!("pop -q ./{file}"));
        let entry: Value = serde_json::from_str(s.text(file).lines().last().unwrap()).unwrap();
        let summary = entry["summary"].as_str().unwrap();
        for told in [
            "word for word (entry 3ac9d7e4):\n> Just add a day when it comes out negative.\n",
            "- Files changed for the request under Goal, newest first: `src/clock.rs`\n",
            "### Blocked\n- `cargo test --quiet`: exited with code 101",
            "was replied to, with a failure left open",
        ] {
            assert!(summary.contains(told), "{file}: {told}\n{summary}");
        }
    }
}

/// A compaction on the branch may keep what precedes the branch, as its summary is then about; and
/// an agent leaves out of a context what precedes `/clear`, and a reply that was aborted.
#[test]
fn summary_covers_entries_outside_the_context() {
    let s = Sandbox::with(&["tour.jsonl", "omp.jsonl"]);
    s.run("fork -q ./tour.jsonl a6d84170 -o ./pi.jsonl");
    s.run("compact -q ./pi.jsonl --first-kept c25f81e7 --summary 'A ferry that left is shown.'");
    let aborted = r#"{"type":"message","id":"bbbb0002","parentId":"bbbb0001","timestamp":"2026-05-04T12:00:00.000Z","message":{"role":"assistant","content":[{"type":"text","text":"The third one is upside down."}],"provider":"p","model":"m","stopReason":"aborted"}}"#;
    let cleared = r#"{"type":"reset_boundary","id":"bbbb0003","parentId":"bbbb0002","timestamp":"2026-05-04T12:00:00.000Z"}"#;
    let leaf = s.pisess("path --ids ./omp.jsonl").done().text();
    let asked = crate::sandbox::user(
        "bbbb0001",
        leaf.lines().last(),
        "And which of the photos are turned?",
    );
    s.put(
        "omp.jsonl",
        format!("{}{asked}\n{aborted}\n{cleared}\n", s.text("omp.jsonl")),
    );
    for (file, told) in [
        ("pi.jsonl", "> Just add a day when it comes out negative.\n"),
        ("pi.jsonl", "`cargo test --quiet`: exited with code 101"),
        ("omp.jsonl", "> And which of the photos are turned?\n"),
        ("omp.jsonl", "interrupted by the user"),
        ("omp.jsonl", "The third one is upside down."),
    ] {
        let popped = s
            .pisess(&format!("pop -q --json -n ./{file}"))
            .done()
            .text();
        let plan: Value = serde_json::from_str(&popped).unwrap();
        let summary = plan["written"][0]["summary"].as_str().unwrap();
        assert!(summary.contains(told), "{file}: {told}\n{summary}");
    }
}

/// `switch` asks for a summary with `--summarize`; the other commands always write one.
#[test]
fn the_summary_need_not_be_asked_for() {
    let s = Sandbox::with(&["tour.jsonl"]);
    let always = |verb: &str| {
        format!(
            "omit --summarize: `pisess {verb}` always writes a summary, by default the built-in one; see"
        )
    };
    for line in [
        "pop ./tour.jsonl",
        "summarize ./tour.jsonl @",
        "merge ./tour.jsonl @",
        "compact ./tour.jsonl",
    ] {
        let said = s.unchanged(&format!("{line} --summarize")).fails(2);
        assert!(
            said.contains(&always(line.split(' ').next().unwrap())),
            "{said}"
        );
    }
    assert!(
        !s.unchanged("pop ./tour.jsonl --summarizer")
            .fails(2)
            .contains("omit")
    );
}

#[test]
fn back_to_an_entry() {
    let s = Sandbox::with(&[TWO]);
    assert_snapshot!(s.run("pop ./two-branches.jsonl 1a2b3c02 --summary 'Washi needs a spar.'"), @"226b1b5c");
    assert_snapshot!(s.lines_from(TWO, 9), @r#"{"type":"branch_summary","id":"226b1b5c","parentId":"1a2b3c02","timestamp":"2026-05-04T12:00:00.000Z","fromId":"1a2b3c07","summary":"Washi needs a spar.","details":{"readFiles":[],"modifiedFiles":[]},"fromHook":false}"#);
}

#[test]
fn back_to_the_same_question_leaves_one_summary() {
    let s = Sandbox::with(&[TWO]);
    s.run("pop ./two-branches.jsonl 1a2b3c06");
    assert_eq!(
        s.unchanged("pop ./two-branches.jsonl 1a2b3c06").quiet(),
        "Washi then. How big?\n"
    );
    // The next pop undoes the user message before.
    assert_snapshot!(s.run("pop ./two-branches.jsonl --summary s"), @"
    27aa2424
    Which paper for a kite?
    ");
}

#[test]
fn a_question_without_an_answer_leaves_nothing_to_tell() {
    let s = Sandbox::with(&[TWO]);
    let more = crate::sandbox::user("aaaa0001", Some("1a2b3c07"), "And the string?");
    s.put(
        TWO,
        [s.bytes(TWO), more.into_bytes(), b"\n".to_vec()].concat(),
    );
    assert_snapshot!(s.run("pop ./two-branches.jsonl"), @"
    226b1b5c
    And the string?
    ");
    assert_snapshot!(s.lines_from(TWO, 10), @r#"{"type":"custom","customType":"pisess.switch","data":{"from":"aaaa0001","to":"1a2b3c07"},"id":"226b1b5c","parentId":"1a2b3c07","timestamp":"2026-05-04T12:00:00.000Z"}"#);
    assert_snapshot!(s.run("pop -n ./two-branches.jsonl --summary 'Washi needs a spar.'"), @"
    would append 1 line to ./two-branches.jsonl
     size  id        type            content
    218 B  27aa2424  branch_summary  Washi needs a spar.
    ");
}

#[test]
fn no_question_is_a_no() {
    let s = Sandbox::with(&[TWO, "hazards/header-only.jsonl", "v1.jsonl"]);
    assert_snapshot!(s.unchanged("pop ./header-only.jsonl").fails(1), @"./header-only.jsonl: there is no user message on the path to the leaf (hint: give the entry to go back to)");
    s.run("switch ./two-branches.jsonl root");
    assert_snapshot!(s.unchanged("pop ./two-branches.jsonl").fails(1), @"./two-branches.jsonl: there is no user message on the path to the leaf (hint: give the entry to go back to)");
    s.run("switch ./v1.jsonl root");
    assert_eq!(s.unchanged("pop ./v1.jsonl --prepare").code, 1);
}

#[test]
fn a_hook_is_asked() {
    let s = Sandbox::with(&[TWO]);
    let seen = s.path("seen");
    s.run(&format!("pop -n ./{TWO} --hook 'cat > {}'", seen.display()));
    let event: Value = serde_json::from_slice(&s.bytes("seen")).unwrap();
    assert_eq!(event["preparation"]["targetId"], "1a2b3c06");
    assert_eq!(event["preparation"]["userWantsSummary"], true);
    let answer = r#"{\"summary\":\"mine\",\"label\":\"kept\"}"#;
    s.run(&format!("pop ./{TWO} --hook 'echo {answer}'"));
    assert_snapshot!(s.lines_from(TWO, 9), @r#"
    {"type":"branch_summary","id":"226b1b5c","parentId":"1a2b3c03","timestamp":"2026-05-04T12:00:00.000Z","fromId":"1a2b3c07","summary":"mine","details":{"readFiles":[],"modifiedFiles":[]},"fromHook":true}
    {"type":"label","id":"27aa2424","parentId":"226b1b5c","timestamp":"2026-05-04T12:00:00.000Z","targetId":"226b1b5c","label":"kept"}
    "#);
}

#[test]
fn in_an_oh_my_pi_file() {
    let s = Sandbox::with(&["omp.jsonl"]);
    // A skill prompt by the user counts as a user message, too.
    assert_snapshot!(s.run("pop ./omp.jsonl --summary 'EXIF says 2021.'"), @"
    226b1b5c
    Look at the EXIF data of c.jpg
    ");
    assert_snapshot!(s.text("omp.jsonl").lines().last().unwrap(), @r#"{"type":"branch_summary","id":"226b1b5c","parentId":"5f607182","timestamp":"2026-05-04T12:00:00.000Z","fromId":"5f607182","summary":"EXIF says 2021.","details":{"readFiles":[],"modifiedFiles":[]},"fromExtension":false}"#);
    assert_snapshot!(s.run("pop ./omp.jsonl --summary 'All are sorted.'"), @"
    27aa2424
    Sort the photos by year
    ");
}

#[test]
fn an_older_file_is_migrated_and_moved_in_one_rename() {
    let s = Sandbox::with(&["v1.jsonl"]);
    let migrated = s.run("migrate ./v1.jsonl -o -");
    assert_snapshot!(s.run("pop ./v1.jsonl --summary s"), @"
    226b1b5c
    Make me a calendar.
    ");
    assert_snapshot!(s.text("v1.jsonl").strip_prefix(&migrated).unwrap(), @r#"{"type":"branch_summary","id":"226b1b5c","parentId":"80b80871","timestamp":"2026-05-04T12:00:00.000Z","fromId":"cebfaa52","summary":"s","details":{"readFiles":[],"modifiedFiles":[]},"fromHook":false}"#);
}

#[test]
fn dry_run_json_and_streams() {
    let s = Sandbox::with(&[TWO]);
    assert_snapshot!(s.unchanged("pop -n ./two-branches.jsonl --summary s"), @"
    would append 1 line to ./two-branches.jsonl
     size  id        type            content
    200 B  226b1b5c  branch_summary  s
    2> pisess: would be at 1a2b3c02  assistant: Tissue paper is light, washi is strong.
    ");
    let done = s.pisess("pop - --summary s").stdin(fixture(TWO)).done();
    assert_snapshot!(done.stderr, @"
    226b1b5c
    Washi then. How big?
    ");
    assert!(done.stdout.starts_with(&fixture(TWO)));
    assert_snapshot!(s.run("pop --json ./two-branches.jsonl --summary s"), @r#"{"path":"./two-branches.jsonl","action":"append","dryRun":false,"written":[{"type":"branch_summary","id":"226b1b5c","parentId":"1a2b3c03","timestamp":"2026-05-04T12:00:00.000Z","fromId":"1a2b3c07","summary":"s","details":{"readFiles":[],"modifiedFiles":[]},"fromHook":false}],"editorText":"Washi then. How big?"}"#);
}

/// `--back` goes back before that many user messages, with one summary.
#[test]
fn several_user_messages_are_undone_at_once() {
    let s = Sandbox::with(&["tour.jsonl"]);
    let requests = |line: &str| s.run(line).matches("\"role\":\"user\"").count();
    let before = requests("path ./tour.jsonl --json");
    let done = s.pisess("pop ./tour.jsonl --back 2 --summary s").done();
    assert_eq!(done.code, 0, "{done}");
    assert_eq!(requests("path ./tour.jsonl --json"), before - 2);
    let summaries = s
        .text("tour.jsonl")
        .matches("\"type\":\"branch_summary\"")
        .count();
    let again = s.pisess("pop ./tour.jsonl --back 99").done().fails(1);
    assert!(
        again.contains("user messages on the path to the leaf"),
        "{again}"
    );
    assert_eq!(
        s.text("tour.jsonl")
            .matches("\"type\":\"branch_summary\"")
            .count(),
        summaries
    );
    s.pisess("pop ./tour.jsonl --back 0").done().fails(2);
    s.pisess("pop ./tour.jsonl @ --back 2").done().fails(2);
}

/// A text that is also in the answer refers to the answer, after which nothing follows.
#[test]
fn a_text_of_the_last_answer_is_not_its_question() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let popped = s.unchanged("pop ./two-branches.jsonl :/spar");
    assert!(
        popped.stderr.contains("nothing follows :/spar: the conversation ends there (hint: ':/spar^{user}' is the last user message up to it)"),
        "{popped}"
    );
    let popped = s.unchanged("pop ./two-branches.jsonl :1/spar");
    let hint = "':1/spar^{user}' is the last user message up to it";
    assert!(popped.stderr.contains(hint), "{popped}");
    let popped = s.pisess("pop ./two-branches.jsonl :/spar^{user}").done();
    assert_eq!(
        popped.text().lines().last(),
        Some("Washi then. How big?"),
        "{popped}"
    );
}

/// Nothing follows the message, but it is undone itself.
#[test]
fn a_text_of_the_last_user_message_undoes_it() {
    let s = Sandbox::new();
    let lines = [
        user("u1", None, "Which paper?"),
        user("u2", Some("u1"), "And which string?"),
    ];
    s.put("a.jsonl", session(&lines));
    let popped = s.pisess("pop ./a.jsonl :/string").done();
    assert_eq!(popped.text().lines().last(), Some("And which string?"));
    assert!(!popped.stderr.contains("nothing follows"), "{popped}");
}

#[test]
fn the_hint_for_a_text_of_the_last_answer_is_quoted_for_a_shell() {
    let s = Sandbox::new();
    let answer = r#"{"type":"message","id":"a1","parentId":"u1","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"it's washi"}],"stopReason":"stop"}}"#;
    s.put(
        "a.jsonl",
        session(&[user("u1", None, "Which paper?"), answer.to_owned()]),
    );
    // The lines of a sandbox cannot contain a quote.
    let popped = std::process::Command::new(program())
        .arg("pop")
        .arg(s.path("a.jsonl"))
        .arg(":/it's")
        .output()
        .unwrap();
    let printed = String::from_utf8(popped.stderr).unwrap();
    assert!(
        printed.contains(r"(hint: ':/it'\''s^{user}' is the last user message up to it)"),
        "{printed}"
    );
}
