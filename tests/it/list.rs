//! `pisess list`: sessions to choose from.

use crate::names::{Desk, time};
use crate::sandbox::{Sandbox, fixture, program, user};
use insta::assert_snapshot;
use serde_json::{Value, json};

fn answer(id: &str, parent: &str, minute: u64, tokens: u64, cost: f64) -> Value {
    json!({"type": "message", "id": id, "parentId": parent, "timestamp": time(minute),
        "message": {"role": "assistant", "provider": "p", "model": "m", "stopReason": "stop", "content": [],
            "usage": {"input": tokens, "output": 10, "cacheRead": 0, "cacheWrite": 0,
                "totalTokens": tokens + 10, "cost": {"total": cost}}}})
}

fn rows(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn sessions_newest_first() {
    let s = Sandbox::with(&[
        "tour.jsonl",
        "two-branches.jsonl",
        "omp.jsonl",
        "v1.jsonl",
        "v2.jsonl",
    ]);
    assert_snapshot!(s.unchanged("list ."), @r#"
    age  id        agent  project       msgs  br    size  context    cost  name or first user message
    1mo  6e8a4d70  pi     ~/code/ferry    25   2   14 kB     1.5k   $0.04  The 00:10 ferry shows up as "left 23 h ago" when I ask at 23:50. Can you find out why?
    1mo  8a1b7e90  pi     ~/garden         7   1  2.4 kB      940  <$0.01  When should I sow carrots?
    1mo  456789ab  omp    ~/photos         7   1  4.6 kB    10.4k   $0.03  Photos by year
    1mo  00000002  pi     ~/garden         4   2  1.6 kB      940  <$0.01  When should I sow carrots?
    4mo  0000babe  pi     ~/kites          6   2  1.4 kB       31       -  Which paper for a kite?
    "#);
    assert_snapshot!(s.pisess("list . --color never").terminal(80).done(), @"
       age  id        agent  project  msgs  context    cost  name or first user mes…
       1mo  6e8a4d70  pi     ferry      25     1.5k   $0.04  The 00:10 ferry shows…
       1mo  8a1b7e90  pi     garden      7      940  <$0.01  When should I sow carr…
       1mo  456789ab  omp    photos      7    10.4k   $0.03  Photos by year
       1mo  00000002  pi     garden      4      940  <$0.01  When should I sow carr…
       4mo  0000babe  pi     kites       6       31       -  Which paper for a kite?
    5 sessions, 24 kB, $0.08+
    ");
    assert_snapshot!(s.pisess("list . --limit 2 --sort cost --color never").terminal(120).done(), @r#"
       age  id        agent  project  msgs  br    size  context   cost  name or first user message
       1mo  6e8a4d70  pi     ferry      25   2   14 kB     1.5k  $0.04  The 00:10 ferry shows up as "left 23 h ago" when I…
       1mo  456789ab  omp    photos      7   1  4.6 kB    10.4k  $0.03  Photos by year
    2 sessions, 18 kB, $0.06
    "#);
    assert_snapshot!(s.run("list ./tour.jsonl --json"), @r#"{"path":"./tour.jsonl","id":"019ceb84-1405-7a3e-9c1d-5b2f6e8a4d70","agent":"pi","version":3,"name":null,"cwd":"/home/u/code/ferry","parentSessionPath":null,"bytes":13577,"created":"2026-03-14T09:26:45.589Z","modified":"2026-03-14T09:43:54.589Z","messageCount":25,"userMessages":6,"entryCount":31,"branchCount":2,"firstMessage":"The 00:10 ferry shows up as \"left 23 h ago\" when I ask at 23:50. Can you find out why?","models":["anthropic/claude-sonnet-4-5"],"tokens":{"input":6020,"output":1159,"cacheRead":27170,"cacheWrite":0,"total":34349},"cost":0.035445000000000004,"unpriced":0,"contextTokens":1541,"labels":["cause found","green"],"depth":0,"last":false,"running":false}"#);
    assert_snapshot!(s.run("list ./omp.jsonl --json"), @r#"{"path":"./omp.jsonl","id":"019ceb84-2b7d-7000-8f3a-0123456789ab","agent":"oh-my-pi","version":3,"name":"Photos by year","cwd":"/home/u/photos","parentSessionPath":null,"bytes":4584,"created":"2026-03-14T09:26:53.589Z","modified":"2026-03-14T09:27:20.589Z","messageCount":7,"userMessages":1,"entryCount":14,"branchCount":1,"firstMessage":"Sort the photos by year","models":["anthropic/claude-sonnet-4-5"],"tokens":{"input":4800,"output":720,"cacheRead":36000,"cacheWrite":0,"total":41520},"cost":0.0252,"unpriced":0,"contextTokens":10380,"labels":[],"depth":0,"last":false,"running":false}"#);
}

/// A count of the provider from before a prune includes what is gone: `list`, `branches` and
/// `context` have an estimate. A later count is right again.
#[test]
fn a_count_from_before_a_prune_is_replaced() {
    let s = Sandbox::new();
    let result = json!({"type": "message", "id": "c", "parentId": "b", "timestamp": time(1),
        "message": {"role": "toolResult", "toolCallId": "t", "toolName": "bash", "isError": false,
            "content": [{"type": "text", "text": "x".repeat(100_000)}]}});
    let question = json!({"type": "message", "id": "a", "parentId": null, "timestamp": time(0),
        "message": {"role": "user", "content": "How long is it?"}});
    let lines = [
        question,
        answer("b", "a", 1, 100, 0.0),
        result,
        answer("d", "c", 2, 25_000, 0.0),
    ];
    s.put(
        "s.jsonl",
        crate::sandbox::session(&lines.map(|line| line.to_string())),
    );
    let shown = |line: &str| s.pisess(line).done().to_string();
    assert!(
        shown("list ./s.jsonl").contains(" 25.0k "),
        "{}",
        shown("list ./s.jsonl")
    );
    assert_eq!(s.pisess("prune ./s.jsonl").done().code, 0);
    let set_time = |unix_ms: i64| {
        let pruned = s.path("s.jsonl.pruned");
        let file = std::fs::File::options().append(true).open(pruned).unwrap();
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_millis(unix_ms as u64);
        file.set_modified(time).unwrap();
    };
    let last_reply_ms = pisess::json::time::parse_js_date(time(2).as_bytes()).unwrap() as i64;

    set_time(last_reply_ms + 1000);
    assert_snapshot!(shown("list ./s.jsonl"), @r"
    age  id      msgs    size  context   cost  name or first user message
    3mo  hazard     4  1.0 kB      ~12  $0.00  How long is it?
    ");
    assert_snapshot!(shown("branches ./s.jsonl"), @"
       id  age  entries  tokens  last user message  outcome
    *  d   3mo        4     ~12  How long is it?    (no content)
    ");
    assert_snapshot!(shown("context --tokens ./s.jsonl"), @r"
    25010
    2> pisess: note: the session reports this count from before payloads were pruned, but its messages are ~12 tokens
    ");
    assert_snapshot!(shown("context --tokens --by role ./s.jsonl"), @r"
    TOKENS   SHARE  MESSAGES  ROLE
         8  66.7 %         1  toolResult
         4  33.3 %         1  user
         0   0.0 %         2  assistant
    2> pisess: note: estimates only: the provider counted 25010 tokens before payloads were pruned
    ");
    let listed = rows(&s.run("list ./s.jsonl --json")).remove(0);
    assert!(listed["contextEstimate"].is_number(), "{listed}");

    // A reply that was aborted has no count, so that of the one before it stays too old.
    let before_abort = s.bytes("s.jsonl");
    let aborted = json!({"type": "message", "id": "e", "parentId": "d", "timestamp": time(5),
        "message": {"role": "assistant", "content": [], "stopReason": "aborted"}});
    s.put(
        "s.jsonl",
        [&before_abort[..], format!("{aborted}\n").as_bytes()].concat(),
    );
    assert!(shown("list ./s.jsonl").contains(" ~12 "));
    s.put("s.jsonl", before_abort);

    // The last reply came after the prune.
    set_time(last_reply_ms - 1000);
    assert!(shown("list ./s.jsonl").contains(" 25.0k "));
    assert!(!shown("branches ./s.jsonl").contains('~'));
    assert_eq!(s.run("context --tokens ./s.jsonl"), "25010\n");
    assert!(shown("context --tokens --by role ./s.jsonl").contains("(system prompt"));
}

/// The count of a context that is far too small is not shown: `list`, `branches` and `context` have
/// the same estimate, and JSON has both.
#[test]
fn an_implausible_count_of_the_context_is_replaced() {
    let s = Sandbox::new();
    let question = |text_len: usize| {
        json!({"type": "message", "id": "a", "parentId": null,
        "timestamp": time(0), "message": {"role": "user", "content": "x".repeat(text_len)}})
    };
    // The count is 110. An estimate of 4 times as much, with the empty reply, makes it implausible.
    for (name, text_len) in [("wrong", 1760), ("low", 1756)] {
        let lines = [question(text_len), answer("b", "a", 1, 100, 0.0)];
        s.put(
            &format!("{name}.jsonl"),
            crate::sandbox::session(&lines.map(|line| line.to_string())),
        );
    }
    let table = s.run("list ./wrong.jsonl ./low.jsonl");
    assert!(
        table.contains(" ~440 ") && table.contains("  110 "),
        "{table}"
    );
    let listed = |name: &str| rows(&s.run(&format!("list ./{name}.jsonl --json"))).remove(0);
    assert_eq!(listed("wrong")["contextTokens"], 110);
    assert_eq!(listed("wrong")["contextEstimate"], 440);
    assert_eq!(listed("low")["contextTokens"], 110);
    assert!(listed("low").get("contextEstimate").is_none());

    let branch = s.run("branches ./wrong.jsonl");
    assert!(branch.contains(" ~440 "), "{branch}");
    let branch = rows(&s.run("branches ./wrong.jsonl --json")).remove(0);
    assert_eq!([&branch["tokens"], &branch["contextEstimate"]], [110, 440]);
    let branch = rows(&s.run("branches ./low.jsonl --json")).remove(0);
    assert!(branch.get("contextEstimate").is_none());

    let done = s.unchanged("context --tokens ./wrong.jsonl");
    assert_snapshot!(done, @"
    110
    2> pisess: note: the session reports this count, but its messages are ~440 tokens
    ");
    assert_eq!(s.run("context --tokens ./low.jsonl"), "110\n");
}

#[test]
fn this_folder_all_and_since() {
    let d = Desk::new();
    d.pi(
        "0199aaaa-1111",
        5,
        &[answer("aaaa0002", "aaaa0001", 6, 1200, 0.25)],
    );
    d.omp("0199bbbb-2222", 7, &[]);
    d.put(
        "home/.pi/agent/sessions/--elsewhere--/x.jsonl",
        "0199cccc-3333",
        90,
        &[],
    );
    let ids = |line: &str| -> Vec<String> {
        let listed = d.pisess(&format!("{line} --json")).done().quiet();
        rows(&listed)
            .iter()
            .map(|row| row["id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(ids("list"), ["0199bbbb-2222", "0199aaaa-1111"]);
    assert_eq!(
        ids("list --all"),
        ["0199cccc-3333", "0199bbbb-2222", "0199aaaa-1111"]
    );
    assert_eq!(
        ids("list --all --since 2026-02-02T03:00:00Z"),
        ["0199cccc-3333"]
    );
    assert_eq!(ids("list --all --since 2026-02-02").len(), 3);
    assert_eq!(ids("list -q --all --since 1d").len(), 0);
    assert_eq!(ids("list --all --since 20w").len(), 3);
    assert_eq!(
        ids("list --all --until 2026-02-02T03:00:00Z").len(),
        3,
        "one was only created then"
    );
    // A session counts if any of its entries is in the period.
    assert_eq!(
        ids("list --all --since 2026-02-02T02:45:00Z --until 2026-02-02T02:45:59Z").len(),
        1,
        "its last message is later"
    );
    d.pisess("label -q bbb-2222 @ kites").done();
    assert_eq!(
        ids("list --all --since 1d"),
        ["0199bbbb-2222"],
        "it was labelled now"
    );
    assert_eq!(ids("list --all --sort tokens")[0], "0199aaaa-1111");
    assert_eq!(ids("list --all --limit 1"), ["0199cccc-3333"]);
    d.pisess("fork -q aaa-1111 --cwd /elsewhere").done();
    assert_eq!(
        ids("list --all --since 1d").len(),
        2,
        "a fork was created now"
    );
    assert_snapshot!(d.pisess("list --color never").terminal(80).done(), @"
       age  id        msgs   size  context   cost  name or first user message
    *  3mo  bbb-2222     1  519 B        7      -  question of 0199bbbb-2222
       3mo  aaa-1111     2  679 B     1.2k  $0.25  question of 0199aaaa-1111
    2 sessions, 1.2 kB, $0.25
    ");
}

/// A narrow terminal has fewer columns, so that the text keeps 20, and the column of the sort key
/// is always among them.
#[test]
fn the_text_and_the_sort_key_are_always_shown() {
    let s = Sandbox::with(&["tour.jsonl", "two-branches.jsonl", "omp.jsonl"]);
    assert_snapshot!(s.pisess("list . --color never").terminal(60).done(), @"
       age  id        project  msgs   cost  name or first user…
       1mo  6e8a4d70  ferry      25  $0.04  The 00:10 ferry sho…
       1mo  456789ab  photos      7  $0.03  Photos by year
       4mo  0000babe  kites       6      -  Which paper for a k…
    3 sessions, 20 kB, $0.06+
    ");
    assert_snapshot!(s.pisess("list . --color never --sort tokens").terminal(60).done(), @"
       age  id        project  tokens  name or first user messa…
       1mo  456789ab  photos    41.5k  Photos by year
       1mo  6e8a4d70  ferry     34.3k  The 00:10 ferry shows up…
       4mo  0000babe  kites         -  Which paper for a kite?
    3 sessions, 20 kB, $0.06+
    ");
    assert_snapshot!(s.pisess("list . --color never --sort created").terminal(120).done(), @r#"
       age     created  id        agent  project  msgs  br    size  context   cost  name or first user message
       1mo  2026-03-14  456789ab  omp    photos      7   1  4.6 kB    10.4k  $0.03  Photos by year
       1mo  2026-03-14  6e8a4d70  pi     ferry      25   2   14 kB     1.5k  $0.04  The 00:10 ferry shows up as "left 23 h…
       4mo  2026-01-01  0000babe  pi     kites       6   2  1.4 kB       31      -  Which paper for a kite?
    3 sessions, 20 kB, $0.06+
    "#);
    let keys = [
        ("modified", "age"),
        ("created", "created"),
        ("name", "name"),
        ("project", "project"),
        ("messages", "msgs"),
        ("context", "context"),
        ("tokens", "tokens"),
        ("cost", "cost"),
    ];
    for (key, title) in keys {
        for width in [30, 45, 60, 80, 120, 200] {
            let shown = s
                .pisess(&format!("list . --color never --sort {key}"))
                .terminal(width)
                .done()
                .text();
            let titles = shown.lines().next().unwrap();
            assert!(
                titles
                    .split("  ")
                    .any(|word| word.trim().starts_with(title)),
                "{key} {width}: {titles}"
            );
            let keeps_text = || width - titles.find("name").unwrap() >= 20;
            assert!(width < 60 || keeps_text(), "{key} {width}: {shown}");
            assert!(
                shown
                    .lines()
                    .all(|row| unicode_width::UnicodeWidthStr::width(row) <= width),
                "{shown}"
            );
        }
    }
}

#[test]
fn a_project_is_shown_by_what_tells_it_from_others() {
    let s = Sandbox::new();
    let projects = |cwds: &[&str], width: usize| {
        let folder = format!("{}-{width}", cwds.len());
        for (at, cwd) in cwds.iter().enumerate() {
            let header = json!({"type": "session", "version": 3, "id": at.to_string(), "timestamp": time(at as u64), "cwd": cwd});
            s.put(&format!("{folder}/{at}.jsonl"), format!("{header}\n"));
        }
        let line = format!("list ./{folder} --sort project --color never");
        let shown = s.pisess(&line).terminal(width).done().text();
        let start = shown.find("project").unwrap();
        // The last line is the total.
        let cells = shown
            .lines()
            .skip(1)
            .take(cwds.len())
            .map(|row| row[start..].split("  ").next().unwrap().to_owned());
        cells.collect::<Vec<_>>().join(" | ")
    };
    assert_eq!(
        projects(&["/home/u/code/ferry", "/home/u/garden"], 80),
        "ferry | garden"
    );
    assert_eq!(
        projects(&["/home/u/a/app", "/home/u/b/app", "/srv/lib"], 80),
        "a/app | b/app | lib"
    );
    let long = [
        "/c/application-ferry",
        "/c/application-kites",
        "/c/b",
        "/c/d",
    ];
    assert_eq!(projects(&long, 80), "…ation-ferry | …ation-kites | b | d");
    assert_eq!(
        projects(&long, 120),
        "application-ferry | application-kites | b | d"
    );
}

#[test]
fn only_paths() {
    let s = Sandbox::with(&["tour.jsonl", "two-branches.jsonl"]);
    s.put("a\nb.jsonl", fixture("two-branches.jsonl"));
    assert_eq!(
        s.run("list -l --sort messages ./tour.jsonl ./two-branches.jsonl"),
        "./tour.jsonl\n./two-branches.jsonl\n"
    );
    assert_eq!(s.run("list -l . --limit 1 --sort cost"), "./tour.jsonl\n");
    assert_eq!(s.run("list -q -l . --since 2026-02 --until 2026-02"), "");
    // A path can have a newline in it.
    assert_eq!(
        s.run("list -0 --sort project ."),
        "./tour.jsonl\0./a\nb.jsonl\0./two-branches.jsonl\0"
    );
    assert_eq!(
        s.run("list -l0 --sort project ."),
        s.run("list -0 --sort project .")
    );
    assert_eq!(s.run("list -l . --sort project").lines().count(), 3);
    assert_eq!(
        s.run("grep -0 Washi ."),
        "./a\nb.jsonl\0./two-branches.jsonl\0"
    );
    s.pisess("list -l --json .").done().fails(2);
}

#[test]
fn limit_and_until_note_what_they_leave_out() {
    let d = Desk::new();
    d.pi("0199aaaa-1111", 5, &[]);
    d.omp("0199bbbb-2222", 7, &[]);
    d.pisess("label -q aaa-1111 @ kites").done();
    let note = |line: &str| d.pisess(line).done().stderr;
    assert_eq!(note("list --limit 2"), "");
    assert_eq!(note("list --limit 1 --sort cost"), "");
    assert_eq!(
        note("list --limit 1"),
        "pisess: note: `last` is aaa-1111, which --limit leaves out: its file changed last\n"
    );
    assert_eq!(
        note("list --until 2025"),
        "pisess: note: nothing was written in this period to any of these sessions\n"
    );
}

#[test]
fn a_directory_without_sessions_is_reported() {
    let d = Desk::new();
    d.put(
        "home/.pi/agent/sessions/--elsewhere--/x.jsonl",
        "0199cccc-3333",
        90,
        &[],
    );
    let done = d.pisess("list").done();
    assert_eq!((done.code, done.text()), (0, String::new()));
    assert_snapshot!(done.stderr, @"pisess: note: no sessions of this directory (hint: --all reads all projects)");
    assert_eq!(d.pisess("list -q").done().quiet(), "");
    assert_eq!(d.pisess("list -a").done().quiet().lines().count(), 2);
}

/// Entries that a fork copied are not counted twice.
/// Copies and forks of one conversation have the same title. The rows show where they part.
#[test]
fn copies_of_a_conversation_are_told_apart() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    s.put("copy.jsonl", fixture("two-branches.jsonl"));
    s.put("older.jsonl", fixture("two-branches.jsonl"));
    s.run("append -q ./copy.jsonl --user 'And the tail?'");
    s.run("fork -q ./two-branches.jsonl 1a2b3c05 -o ./fork.jsonl");
    s.run("append -q ./fork.jsonl --user 'Cotton for the line.'");
    // Another session with the same first message.
    let other = String::from_utf8(fixture("two-branches.jsonl")).unwrap();
    s.put("other.jsonl", other.replace("1a2b3c01", "ffffffff"));
    assert_snapshot!(s.run("list ."), @"
    age  id        msgs  br    size  context  name or first user message
    now  0000babe     7   2  1.6 kB       35  Which paper for a kite? … And the tail?
    now  5be49767     5   1  1.3 kB       36  Which paper for a kite? … Tissue paper then. How big?
    4mo  0000babe     6   2  1.4 kB       31  Which paper for a kite? … (ends there)
    4mo  0000babe     6   2  1.4 kB       31  Which paper for a kite?
    4mo  0000babe     6   2  1.4 kB       31  Which paper for a kite? … (ends there)
    ");
    assert_snapshot!(s.run("list --forks ."), @"
    age  id        msgs  br    size  context  name or first user message
    now  0000babe     7   2  1.6 kB       35  Which paper for a kite? … And the tail?
    4mo  0000babe     0   2  1.4 kB       31  ├─ Which paper for a kite? … (ends there)
    4mo  0000babe     0   2  1.4 kB       31  └─ Which paper for a kite? … (ends there)
    now  5be49767     0   1  1.3 kB       36     ↳ Which paper for a kite? … Tissue paper then. How big?
    4mo  0000babe     1   2  1.4 kB       31  Which paper for a kite?
    ");
    // The title of a session with a name is its name.
    s.run("append -q ./copy.jsonl --name Tails");
    assert_snapshot!(s.run("list ./copy.jsonl ./fork.jsonl"), @"
    age  id        msgs  br    size  context  name or first user message
    now  0000babe     7   2  1.7 kB       35  Tails
    now  5be49767     5   1  1.3 kB       36  Which paper for a kite?
    ");
}

/// A fork has the path of its source as it was: perhaps of Windows, or with a name that a user
/// gave.
#[test]
fn a_fork_counts_once_after_its_source_was_moved() {
    const ID: &str = "019b0000-0000-7000-8000-00000000000a";
    let stored_paths = [
        format!("/old/2026-01-31T10-00-00-000Z_{ID}.jsonl"),
        format!(r"C:\Users\my_name\2026-01-31T10-00-00-000Z_{ID}.jsonl"),
        format!("/old/work_{ID}.jsonl"),
        format!("/old/task_2026-01-31T10-00-00-000Z_{ID}.jsonl"),
    ];
    for stored_path in stored_paths {
        let s = Sandbox::new();
        let question = json!({"type": "message", "id": "a1", "parentId": null, "timestamp": time(1),
            "message": {"role": "user", "content": "question"}});
        let reply = answer("a2", "a1", 2, 1000, 1.0);
        let put = |name: &str, header: Value| {
            s.put(name, format!("{header}\n{question}\n{reply}\n"));
        };
        put(
            "source.jsonl",
            json!({"type": "session", "version": 3, "id": ID, "timestamp": time(0), "cwd": "/p"}),
        );
        put(
            "fork.jsonl",
            json!({"type": "session", "version": 3, "id": "fork", "timestamp": time(5), "cwd": "/p",
                "parentSession": stored_path}),
        );
        let mut costs = Vec::new();
        for row in rows(&s.run("list --forks . --json")) {
            costs.push(row["cost"].as_f64().unwrap());
        }
        assert_eq!(costs, [1.0, 0.0], "{stored_path}");
    }
}

/// A fork has the absolute path of its source, while the directory is given by a relative one.
#[test]
fn list_forks_of_a_relative_directory_finds_a_source_without_an_id_in_its_name() {
    let s = Sandbox::new();
    let question = json!({"type": "message", "id": "a1", "parentId": null, "timestamp": time(1),
        "message": {"role": "user", "content": "question"}});
    let header = |id: &str, minute: u64| json!({"type": "session", "version": 3, "id": id, "timestamp": time(minute), "cwd": "/p"});
    let mut fork_header = header("fork", 5);
    fork_header["parentSession"] = s.path("work/source.jsonl").to_str().unwrap().into();
    std::fs::create_dir(s.path("work")).unwrap();
    let source_header = header("source", 0);
    s.put(
        "work/source.jsonl",
        format!("{source_header}\n{question}\n"),
    );
    s.put("work/fork.jsonl", format!("{fork_header}\n{question}\n"));

    let output = std::process::Command::new(program())
        .args(["list", "--forks", "work", "--json"])
        .current_dir(s.path(""))
        .output()
        .unwrap();

    let listed = rows(&String::from_utf8(output.stdout).unwrap());
    let depths: Vec<_> = listed
        .iter()
        .map(|row| (row["id"].clone(), row["depth"].clone()))
        .collect();
    assert_eq!(
        depths,
        [(json!("source"), json!(0)), (json!("fork"), json!(1))]
    );
}

#[test]
fn forks_stand_below_what_they_come_from() {
    let s = Sandbox::new();
    let header = |id: &str, minute: u64, parent: Option<&str>| {
        let mut header = json!({"type": "session", "version": 3, "id": id, "timestamp": time(minute), "cwd": "/p"});
        if let Some(parent) = parent {
            header["parentSession"] = parent.into();
        }
        header
    };
    let question = |id: &str, parent: Option<&str>, minute: u64| {
        json!({"type": "message", "id": id, "parentId": parent, "timestamp": time(minute),
            "message": {"role": "user", "content": format!("question {id}")}})
    };
    let base = [question("a1", None, 1), answer("a2", "a1", 2, 1000, 1.0)];
    let put = |name: &str, header: Value, more: &[Value]| {
        let lines = std::iter::once(&header).chain(&base).chain(more);
        s.put(
            name,
            lines.map(|line| format!("{line}\n")).collect::<String>(),
        );
    };
    let path = |name: &str| s.path(name).to_str().unwrap().to_owned();
    // Sorted by name, the files are in the opposite order of their times.
    put(
        "c.jsonl",
        header("root", 0, None),
        &[
            question("b1", Some("a2"), 5),
            answer("b2", "b1", 6, 2000, 2.0),
        ],
    );
    put(
        "b.jsonl",
        header("fork", 10, Some(&path("c.jsonl"))),
        &[answer("c1", "a2", 20, 3000, 4.0)],
    );
    put(
        "a.jsonl",
        header("forkfork", 11, Some("fork")),
        &[
            answer("c1", "a2", 20, 3000, 4.0),
            answer("d1", "c1", 30, 1, 8.0),
        ],
    );
    put("d.jsonl", header("orphan", 12, Some("/gone.jsonl")), &[]);
    let listed = rows(&s.run("list --forks . --json"));
    let of = |key: &str| {
        listed
            .iter()
            .map(|row| row[key].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(of("id"), ["root", "fork", "forkfork", "orphan"]);
    // The source of the orphan has another path now, but its entries are those of the root.
    assert_eq!(of("depth"), [0, 1, 2, 1]);
    assert_eq!(of("cost"), [3.0, 4.0, 8.0, 0.0]);
    assert_eq!(of("entryCount"), [4, 1, 1, 0]);
    let total: f64 = rows(&s.run("list . --json"))
        .iter()
        .map(|row| row["cost"].as_f64().unwrap())
        .sum();
    assert_eq!(
        total,
        3.0 + 5.0 + 13.0 + 1.0,
        "without --forks each file counts for itself"
    );
    assert_snapshot!(s.run("list --forks ."), @"
    age  id        msgs    size  context   cost  name or first user message
    3mo  root         4   919 B     2.0k  $3.00  question a1 … question b1
    3mo  orphan       0   538 B     1.0k      -  ├─ question a1 … (ends there)
    3mo  fork         1   825 B     3.0k  $4.00  ↳ question a1 … (ends there)
    3mo  forkfork     1  1.1 kB       11  $8.00  ↳ question a1 … (no text)
    ");
    // A fork that was left is one level in, before the one that continues its source.
    put(
        "e.jsonl",
        header("left", 13, Some("fork")),
        &[question("e1", Some("a2"), 21)],
    );
    assert_snapshot!(s.run("list --forks ."), @"
    age  id        msgs    size  context   cost  name or first user message
    3mo  root         4   919 B     2.0k  $3.00  question a1 … question b1
    3mo  orphan       0   538 B     1.0k      -  ├─ question a1 … (ends there)
    3mo  fork         1   825 B     3.0k  $4.00  ↳ question a1 … (ends there)
    3mo  left         1   663 B     1.0k      -  ├─ question a1 … question e1
    3mo  forkfork     1  1.1 kB       11  $8.00  ↳ question a1 … (no text)
    ");
    let json = rows(&s.run("list --forks . --json"));
    let ids: Vec<_> = json.iter().map(|row| row["id"].clone()).collect();
    assert_eq!(ids, ["root", "fork", "forkfork", "left", "orphan"]);
    // A session that is its own parent, and two that are each other's parents, are listed all the
    // same.
    put("x.jsonl", header("x", 1, Some("y")), &[]);
    put("y.jsonl", header("y", 2, Some("x")), &[]);
    put("z.jsonl", header("z", 3, Some("z")), &[]);
    assert_eq!(rows(&s.run("list --forks . --json")).len(), 8);
    assert_eq!(s.run("list --forks .").lines().count(), 1 + 8);
}

#[test]
fn sub_agents_are_listed_below_their_session() {
    let d = Desk::new();
    let path = d.omp("0199aaaa-1111", 5, &[]);
    let folder = path.strip_suffix(".jsonl").unwrap();
    d.put(&format!("{folder}/Scout.jsonl"), "0199bbbb-2222", 9, &[]);
    d.put(
        &format!("{folder}/Scout/Inner.jsonl"),
        "0199bbbb-3333",
        8,
        &[],
    );
    d.put(
        &format!("{folder}/__advisor.jsonl"),
        "0199cccc-3333",
        7,
        &[],
    );
    d.omp("0199dddd-4444", 6, &[]);
    assert_snapshot!(d.pisess("list --color never").terminal(80).done(), @"
       age  id        msgs   size  context  name or first user message
    *  3mo  ddd-4444     1  387 B        7  question of 0199dddd-4444
       3mo  aaa-1111     1  387 B        7  question of 0199aaaa-1111
       3mo  bbb-2222     1  387 B        7  ├─ Scout: question of 0199bbbb-2222
       3mo  bbb-3333     1  387 B        7  ├─ Inner: question of 0199bbbb-3333
       3mo  ccc-3333     1  387 B        7  └─ advisor: question of 0199cccc-3333
    5 sessions, 1.9 kB
    ");
    let listed = rows(&d.pisess("list --json").done().quiet());
    assert_eq!(listed[1]["owner"], Value::Null);
    assert!(
        listed
            .iter()
            .filter(|row| row["depth"] == 1)
            .all(|row| row["owner"].as_str().unwrap().ends_with(&path))
    );
    // None of them is the newest session.
    assert_eq!(d.id("last"), "0199dddd-4444");
    // So they are if only the session is named, by path or by a name.
    let of_session = |line: &str| -> Vec<Value> {
        let listed = rows(&d.pisess(line).done().quiet());
        listed.iter().map(|row| row["id"].clone()).collect()
    };
    let family = [
        "0199aaaa-1111",
        "0199bbbb-2222",
        "0199bbbb-3333",
        "0199cccc-3333",
    ];
    assert_eq!(of_session(&format!("list --json ./{path}")), family);
    assert_eq!(of_session("list --json 0199aaaa"), family);
    assert_eq!(
        of_session(&format!("list --json ./{path} ./{folder}/Scout.jsonl")),
        family
    );
    let scout = format!("list --json ./{folder}/Scout.jsonl");
    assert_eq!(of_session(&scout), ["0199bbbb-2222", "0199bbbb-3333"]);
    // Together with the session, their directory is read as that of its sub-agents.
    let both = format!("list --json ./{path} ./{folder}");
    assert_eq!(of_session(&both), family);
    assert_eq!(rows(&d.pisess(&both).done().quiet())[1]["depth"], 1);
    // If their directory is given, they have rows of their own.
    assert_eq!(
        rows(&d.pisess(&format!("list --json ./{folder}")).done().quiet()).len(),
        3
    );
}

/// The agents convert a version that is a text.
#[test]
fn list_json_has_the_version_as_the_agents_read_it() {
    let s = Sandbox::with(&["hazards/string-version.jsonl"]);
    let rows = rows(&s.run("list --json ."));
    assert_eq!(rows[0]["version"], 3);
}

#[test]
fn reports_unreadable_files_and_lists_the_rest() {
    let s = Sandbox::with(&["tour.jsonl", "v4.jsonl"]);
    s.put("empty.jsonl", "");
    s.put("data.jsonl", "{\"a\":1}\n");
    assert_eq!(
        rows(&s.run("list --json .")).len(),
        1,
        "what is no session is left out"
    );
    let done = s
        .pisess("list --json ./gone ./empty.jsonl ./v4.jsonl ./tour.jsonl")
        .done();
    assert_eq!(done.code, 2);
    assert_snapshot!(done.stderr, @r#"
    {"error":{"kind":"io","message":"cannot read ./gone: no such file or directory","path":"./gone","line":null,"hint":"check the path; sessions are below ~/.pi/agent/sessions and ~/.omp/agent/sessions","exit":2}}
    {"error":{"kind":"session","message":"./empty.jsonl: the file is empty","path":"./empty.jsonl","line":null,"hint":"an agent writes the header with the first message","exit":2}}
    {"error":{"kind":"session","message":"./v4.jsonl:1: format v4 is newer than pisess supports","path":"./v4.jsonl","line":1,"hint":"pisess supports version 3 and older, which the coding agents write","exit":2}}
    "#);
    assert_eq!(rows(&done.text()).len(), 1);
    assert_eq!(s.run("list -q . --since 1h"), "");
    s.pisess("list --since tomorrow").done().fails(2);
    s.pisess("list --all ./tour.jsonl").done().fails(2);
}

#[cfg(unix)]
#[test]
fn links_and_pipes_are_no_traps() {
    use std::os::unix::fs::symlink;
    let s = Sandbox::with(&["tour.jsonl"]);
    symlink(s.path("gone"), s.path("gone.jsonl")).unwrap();
    symlink(s.path(""), s.path("loop")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        s.path("fifo.jsonl"),
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .unwrap();
    let done = s.pisess("list --json .").done();
    assert_eq!(rows(&done.text()).len(), 1);
    assert_eq!(done.code, 0);
    assert_snapshot!(done.stderr, @"
    pisess: note: ./loop: a symbolic link to a parent directory; not followed
    pisess: note: cannot read ./gone.jsonl: no such file or directory
    ");
}

#[test]
fn other_peoples_text_is_made_visible() {
    let s = Sandbox::with(&["hazards/hostile-text.jsonl"]);
    for width in [10, 40, 80, 200] {
        let shown = s
            .pisess("list . --color never")
            .terminal(width)
            .done()
            .text();
        assert!(
            !shown.contains(|c: char| c.is_control() && c != '\n'),
            "{shown:?}"
        );
        assert!(
            shown
                .lines()
                .all(|line| unicode_width::UnicodeWidthStr::width(line) <= width),
            "{shown}"
        );
    }
}

#[test]
fn a_session_with_messages_has_a_title() {
    let s = Sandbox::new();
    let header =
        json!({"type": "session", "version": 3, "id": "s", "timestamp": time(0), "cwd": "/"});
    let entry = |message: Value| json!({"type": "message", "id": "a", "parentId": null, "timestamp": time(1), "message": message});
    let title = |messages: &[Value]| {
        let lines: String = messages
            .iter()
            .map(|message| format!("{}\n", entry(message.clone())))
            .collect();
        s.put("s.jsonl", format!("{header}\n{lines}"));
        let row = s.run("list .").lines().nth(1).unwrap().to_owned();
        row.split("  ").last().unwrap().trim().to_owned()
    };
    let user = |content: Value| json!({"role": "user", "content": content});
    let image = json!([{"type": "image", "data": "", "mimeType": "image/png"}]);
    let reply = json!({"role": "assistant", "content": [{"type": "text", "text": "Good morning"}]});
    let bash = json!({"role": "bashExecution", "command": "ls -la", "output": "", "exitCode": 0});
    assert_eq!(title(&[]), "(no messages)");
    assert_eq!(
        title(&[
            user(json!("/mode")),
            reply.clone(),
            user(json!("fix the\nbug"))
        ]),
        "fix the bug"
    );
    assert_eq!(title(&[user(json!("/mode")), reply.clone()]), "/mode");
    assert_eq!(
        title(&[user(json!("/etc/hosts is wrong")), user(json!("x"))]),
        "/etc/hosts is wrong"
    );
    assert_eq!(title(&[user(json!(" \n")), reply.clone()]), "Good morning");
    assert_eq!(title(&[reply.clone(), user(image.clone())]), "Good morning");
    assert_eq!(title(&[user(image.clone()), reply.clone()]), "(image)");
    assert_eq!(title(&[bash]), "[bash]: ls -la");
    assert_eq!(title(&[user(json!([]))]), "(no text)");
    // As in pi.
    assert_eq!(
        rows(&s.run("list . --json"))[0]["firstMessage"],
        "(no messages)"
    );
}

/// A title is what the user asked: no heading, no marks of Markdown, no envelope of a skill.
#[test]
fn titles_are_the_words_of_the_user() {
    let s = Sandbox::new();
    let title = |message: &str| {
        let question = user(
            "aaaa0001",
            None,
            &message.replace('"', "\\\"").replace('\n', "\\n"),
        );
        s.put("s.jsonl", crate::sandbox::session(&[question]));
        let row = s.run("list .").lines().nth(1).unwrap().to_owned();
        row.split("  ").last().unwrap().trim().to_owned()
    };
    let skill = format!(
        "<skill name=\"review\" location=\"/s\">\n# Review\n{}\n</skill>",
        "Be thorough. ".repeat(500)
    );
    for (message, expected) in [
        (
            "# Task\n\nFix the **parser** in `a.rs`",
            "Fix the parser in a.rs",
        ),
        (
            &format!("{skill}\n\nCheck the importer"),
            "Check the importer",
        ),
        (&skill, "/skill:review"),
        ("<file name=\"a\">x</file>\nWhat is it?", "What is it?"),
    ] {
        assert_eq!(title(message), expected);
    }
    // As in pi.
    title("# Task\n\nFix it");
    let first_message = &rows(&s.run("list . --json"))[0]["firstMessage"];
    assert_eq!(first_message, "# Task\n\nFix it");
}

#[test]
fn the_first_question_is_whole_in_json() {
    let s = Sandbox::new();
    let long = "é😀 ".repeat(5000);
    let header =
        json!({"type": "session", "version": 3, "id": "s", "timestamp": time(0), "cwd": "/"});
    let blank = json!({"type": "message", "id": "a0", "parentId": null, "timestamp": time(0),
        "message": {"role": "user", "content": [{"type": "image", "data": ""}]}});
    let question = json!({"type": "message", "id": "a1", "parentId": null, "timestamp": time(1),
        "message": {"role": "user", "content": [{"type": "text", "text": long}, {"type": "text", "text": "end"}]}});
    s.put("s.jsonl", format!("{header}\n{blank}\n{question}\n"));
    assert_eq!(
        rows(&s.run("list . --json"))[0]["firstMessage"],
        format!("{long} end")
    );
    s.put("s.jsonl", format!("{header}\n"));
    assert_eq!(
        rows(&s.run("list . --json"))[0]["firstMessage"],
        "(no messages)"
    );
    drop(fixture("tour.jsonl"));
}

#[test]
fn sessions_of_all_worktrees_of_a_repository() {
    let s = Sandbox::new();
    for (project, file, text) in [
        ("ferry", ".git/HEAD", ""),
        ("ferry", ".git/worktrees/side/commondir", "../..\n"),
        ("ferry", ".git/worktrees/gone/commondir", "../..\n"),
        ("side", ".git", "gitdir: FERRY/.git/worktrees/side\n"),
        ("broken", ".git", "nothing"),
        ("bare.git/tree", ".git", "gitdir: ../own\n"),
        ("bare.git", "own/commondir", "..\n"),
        ("kite", ".git/HEAD", ""),
        ("module", ".git", "gitdir: ../ferry/.git/modules/module\n"),
        (
            "ferry",
            ".git/modules/module/config",
            "[core]\n\tworktree = ../../../../module\n",
        ),
    ] {
        let ferry = s.path("ferry");
        s.put(
            &format!("{project}/{file}"),
            text.replace("FERRY", ferry.to_str().unwrap()),
        );
    }
    std::fs::create_dir_all(s.path("ferry/src")).unwrap();
    let store = ".pi/agent/sessions";
    for (at, project) in [
        "ferry",
        "kite",
        "side",
        "ferry/src",
        "bare.git/tree",
        "ferry/gone/tree",
        "broken",
        "plain",
        "module",
    ]
    .iter()
    .enumerate()
    {
        let cwd = s.path(project);
        let cwd = cwd.display().to_string();
        // The size of a session does not depend on where the sandbox is.
        let padding = ".".repeat(120_usize.saturating_sub(cwd.len()));
        s.put(
            &format!("{store}/--{at}--/2026_{at}.jsonl"),
            format!(
                "{{\"type\":\"session\",\"version\":3,\"id\":\"0000000{at}\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":{cwd:?},\"padding\":{padding:?}}}\n{}\n",
                user("aaaa0001", None, "hi").replace("00:00:01", &format!("00:00:0{}", 9 - at)),
            ),
        );
    }
    let listed = |line: &str| {
        let done = s.pisess(line).at_home().done();
        assert_eq!(done.code, 0, "{done}");
        let rows = done.text();
        let rows = rows
            .lines()
            .map(|row| serde_json::from_str::<serde_json::Value>(row).unwrap());
        let name = |value: &serde_json::Value| {
            value
                .as_str()
                .map_or("-".to_owned(), |path| path.replace("./", ""))
        };
        rows.map(|row| format!("{} {}", name(&row["repository"]), name(&row["cwd"])))
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert_snapshot!(listed(&format!("list --repo --json ./{store}")), @"
    ferry ferry
    ferry side
    ferry ferry/src
    ferry ferry/gone/tree
    kite kite
    bare.git bare.git/tree
    module module
    - broken
    - plain
    ");
    assert_eq!(
        listed("list --repo --json --all"),
        listed(&format!("list --repo --json ./{store}"))
    );
    assert_eq!(
        listed("list --repo --json --all --limit 2").lines().count(),
        2
    );
    let table = s
        .pisess(&format!("list --repo ./{store}"))
        .at_home()
        .env("COLUMNS", "100")
        .done();
    assert_snapshot!(table.text(), @"
    age  id        repository  project       msgs   size  context  name or first user message
    4mo  00000000  ferry       ferry            1  359 B        1  hi
    4mo  00000002  ferry       side             1  359 B        1  hi
    4mo  00000003  ferry       src              1  359 B        1  hi
    4mo  00000005  ferry       gone/tree        1  359 B        1  hi
    4mo  00000001  kite        kite             1  359 B        1  hi
    4mo  00000004  bare.git    bare.git/tr…     1  359 B        1  hi
    4mo  00000008  module      module           1  359 B        1  hi
    4mo  00000006  -           broken           1  359 B        1  hi
    4mo  00000007  -           plain            1  359 B        1  hi
    ");
    // Without --all, of the current directory.
    let here = || s.pisess("list --repo --json").at_home().done();
    assert_snapshot!(here().fails(2), @"--repo: the current directory is not in a git repository (hint: --all includes all projects)");
    s.put(".git/HEAD", "");
    assert_eq!(listed("list --repo --json"), ". broken\n. plain");
}

/// Prompts of a scheduler begin alike. What they share is not shown in every row.
#[test]
fn rows_show_what_their_first_messages_do_not_share() {
    let s = Sandbox::new();
    let rules = "You are one of many workers. ".repeat(20);
    let prompts = [
        "[cron:1f6a0c3e-9d41-4c02-b1aa-0c7d5e3f2a10] Check the mail".to_owned(),
        "[cron:88c01b2f-77aa-4d1e-8f00-5b6c7d8e9f01] Sort the invoices".to_owned(),
        "[cron:a0b1c2d3-1111-4222-8333-944455556666] Check the weather".to_owned(),
        format!("# Your Job\\n\\n{rules}\\n\\nReview the parser"),
        format!("# Your Job\\n\\n{rules}\\n\\nWrite the notes"),
        format!("# Your Job\\n\\n{rules}\\n\\nFix the tests"),
        "Why is the sky blue?".to_owned(),
    ];
    for (at, prompt) in prompts.iter().enumerate() {
        let question = user(&format!("aaaa000{at}"), None, prompt);
        s.put(&format!("{at}.jsonl"), crate::sandbox::session(&[question]));
    }
    let listed = s.run("list .");
    let mut titles: Vec<&str> = listed
        .lines()
        .skip(1)
        .map(|row| row.rsplit("  ").next().unwrap())
        .collect();
    titles.sort_unstable();
    assert_eq!(
        titles,
        [
            "Why is the sky blue?",
            "… Check the mail",
            "… Check the weather",
            "… Fix the tests",
            "… Review the parser",
            "… Sort the invoices",
            "… Write the notes",
        ],
        "{listed}"
    );
    let whole = s.run("list . --json");
    assert!(rows(&whole).iter().any(|row| {
        let message = row["firstMessage"].as_str().unwrap();
        message.starts_with("# Your Job\n\nYou are") && message.ends_with("Review the parser")
    }));
    // What all rows share is dropped, even within a sentence.
    for (at, place) in ["the parser", "the tests", "the docs"].iter().enumerate() {
        let question = user(
            &format!("bbbb000{at}"),
            None,
            &format!("Please review the last change to {place}"),
        );
        s.put(
            &format!("all/{at}.jsonl"),
            crate::sandbox::session(&[question]),
        );
    }
    let listed = s.run("list ./all");
    for title in ["… parser", "… tests", "… docs"] {
        assert!(listed.contains(title), "{listed}");
    }
    // Alone, each is shown as it begins.
    let alone = s.run("list ./0.jsonl ./6.jsonl");
    assert!(alone.contains("[cron:1f6a0c3e"), "{alone}");
}

/// What `pi --mode json` prints begins with a session header, but its events are no entries.
#[test]
fn the_output_of_json_mode_is_not_a_session() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let header = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}"#;
    let message = r#"{"role":"user","content":"hi","timestamp":1}"#;
    let events = [
        header.to_owned(),
        r#"{"type":"agent_start"}"#.to_owned(),
        r#"{"type":"turn_start"}"#.to_owned(),
        format!(r#"{{"type":"message_start","message":{message}}}"#),
        format!(r#"{{"type":"message_end","message":{message}}}"#),
        format!(r#"{{"type":"agent_end","messages":[{message}]}}"#),
    ];
    s.put("run.jsonl", events.join("\n") + "\n");
    let said = s.pisess("list ./run.jsonl").done().fails(2);
    assert_snapshot!(said, @"./run.jsonl:2: not a session, but the events that `pi --mode json` prints (hint: pi writes the session itself to its store, unless it runs with --no-session)");
    for line in [
        "tree ./run.jsonl",
        "check ./run.jsonl",
        "label ./run.jsonl :2 x",
    ] {
        assert_eq!(s.pisess(line).done().fails(2), said, "{line}");
    }
    let listed = s.pisess("list .").done();
    assert_eq!(listed.code, 0);
    assert_eq!(listed.stderr, format!("pisess: note: {said}\n"));
    assert_eq!(listed.text().lines().count(), 2);
    // A session may mention them.
    s.put(
        "run.jsonl",
        format!("{header}\n{}\n", user("aaaa0001", None, "agent_start")),
    );
    assert_eq!(s.pisess("list ./run.jsonl").done().code, 0);
}

/// Messages of a chat program begin with its blocks. What such titles have in common is dropped
/// from the words of the user, and the blocks are never part of a title.
#[test]
fn titles_of_forwarded_messages_have_no_blocks() {
    let s = Sandbox::new();
    let header =
        json!({"type": "session", "version": 3, "id": "s", "timestamp": time(0), "cwd": "/"});
    let blocks = "Conversation info (untrusted metadata):\n```json\n{\"sender\": \"Ada\"}\n```\n\n";
    for (name, words) in [
        ("a", "Ask Bo."),
        ("b", "Ask Bo."),
        ("c", "Ask Bo."),
        ("d", "Ask Cy."),
    ] {
        let message = json!({"type": "message", "id": "a", "parentId": null, "timestamp": time(1),
            "message": {"role": "user", "content": format!("{blocks}{words}")}});
        s.put(&format!("{name}.jsonl"), format!("{header}\n{message}\n"));
    }
    let rows = s.run("list .");
    assert_eq!(rows.matches("Ask Bo.").count(), 3, "{rows}");
    assert!(!rows.contains("```") && !rows.contains("sender"), "{rows}");
}

/// Sizes are those of the files. A session is larger than SIZE only if it has more bytes.
#[test]
fn sizes_choose_and_sort() {
    let s = Sandbox::with(&["tour.jsonl", "two-branches.jsonl", "omp.jsonl"]);
    let sizes = |line: &str| -> Vec<(String, u64)> {
        let listed = rows(&s.run(line));
        listed
            .iter()
            .map(|row| {
                let path = row["path"].as_str().unwrap().to_owned();
                (path, row["bytes"].as_u64().unwrap())
            })
            .collect()
    };
    let by_size = sizes("list . --sort size --json");
    let mut expected = Vec::new();
    for name in ["tour.jsonl", "omp.jsonl", "two-branches.jsonl"] {
        expected.push((format!("./{name}"), s.bytes(name).len() as u64));
    }
    expected.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    assert_eq!(by_size, expected);

    let second = by_size[1].1;
    let larger = sizes(&format!("list . --larger-than {second} --json"));
    assert_eq!(larger, by_size[..1]);
    let larger = sizes(&format!(
        "list . --larger-than {} --sort size --json",
        second - 1
    ));
    assert_eq!(larger, by_size[..2]);
    assert_eq!(
        s.pisess("list . --larger-than 1G").done().stderr,
        "pisess: note: no session matches these options (hint: omit them)\n"
    );

    // The column is the first that a narrow terminal leaves out, unless the list is sorted by it.
    let heading = |line: &str, width: usize| {
        let table = s.pisess(line).terminal(width).done().stdout;
        let text = String::from_utf8(table).unwrap();
        text.lines().next().unwrap().contains(" size ")
    };
    assert!(heading("list . --color never", 100));
    assert!(!heading("list . --color never", 60));
    assert!(heading("list . --color never --sort size", 60));
}

/// A session is empty if the user has written nothing to it, whatever else it has.
#[test]
fn empty_sessions_have_no_user_message() {
    let d = Desk::new();
    d.pi("0199aaaa-1111", 5, &[]);
    let greeting = json!({"type": "custom_message", "id": "aaaa0002", "parentId": null,
        "timestamp": time(6), "customType": "greeting", "content": "hello", "display": true});
    let reply = answer("aaaa0003", "aaaa0002", 7, 10, 0.1);
    let path = d.pi("0199bbbb-2222", 6, &[greeting, reply]);
    let without_question: String =
        d.s.text(&path)
            .lines()
            .filter(|line| !line.contains("\"role\":\"user\""))
            .map(|line| format!("{line}\n"))
            .collect();
    d.s.put(&path, without_question);

    let listed = rows(&d.pisess("list --empty --json").done().quiet());
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0]["id"], "0199bbbb-2222");
    assert_eq!(
        (&listed[0]["messageCount"], &listed[0]["userMessages"]),
        (&json!(1), &json!(0))
    );
    let all = rows(&d.pisess("list --json").done().quiet());
    let full = all.iter().find(|row| row["id"] == "0199aaaa-1111").unwrap();
    assert_eq!(full["userMessages"], 1);
}

/// A session is running if an agent wrote to it within the last minute. A copy of an old session
/// and a label set by pisess do not count.
#[test]
fn running_sessions_are_marked() {
    let d = Desk::new();
    let path = d.pi("0199aaaa-1111", 0, &[]);
    let copied = d.pi("0199bbbb-2222", 90, &[]);
    let written =
        std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_millis(1_770_000_000_000);
    let set_written = |path: &str| {
        let file = std::fs::File::options().append(true).open(d.s.path(path));
        file.unwrap().set_modified(written).unwrap();
    };
    let running = |now: &str| -> Vec<String> {
        let listed = d
            .pisess("list --json -q")
            .env("PISESS_NOW", now)
            .done()
            .quiet();
        rows(&listed)
            .iter()
            .filter(|row| row["running"] == true)
            .map(|row| row["id"].as_str().unwrap().to_owned())
            .collect()
    };
    // Both files changed at this time, but only the first got an entry.
    set_written(&copied);
    let reply = json!({"type": "message", "id": "aaaa0002", "parentId": "aaaa0001",
        "timestamp": "2026-02-02T02:39:58.000Z",
        "message": {"role": "assistant", "content": [{"type": "text", "text": "yes"}]}});
    d.s.put(&path, format!("{}{reply}\n", d.s.text(&path)));
    set_written(&path);
    assert_eq!(running("2026-02-02T02:40:59.000Z"), ["0199aaaa-1111"]);
    assert_eq!(running("2026-02-02T02:41:00.000Z"), [""; 0]);

    let table = d
        .pisess("list --color never")
        .env("PISESS_NOW", "2026-02-02T02:40:30.000Z")
        .done()
        .quiet();
    let marked: Vec<_> = table.lines().filter(|row| row.contains('●')).collect();
    assert_eq!(marked.len(), 1, "{table}");
    assert!(marked[0].contains("question of 0199aaaa-1111"), "{table}");

    // The last line of a copy may be blank, or cut off.
    let whole = d.s.text(&copied);
    for tail in ["\n", r#"{"type":"message","#] {
        d.s.put(&copied, whole.clone() + tail);
        set_written(&copied);
        assert_eq!(running("2026-02-02T02:40:30.000Z"), ["0199aaaa-1111"]);
    }
    d.s.put(&copied, whole);

    // A label is not the work of an agent.
    d.pisess("label 0199aaaa-1111 @ done").done();
    set_written(&path);
    assert_eq!(running("2026-02-02T02:40:30.000Z"), [""; 0]);
}

/// A session that another process has open for writing is running, however old it is.
#[cfg(target_os = "linux")]
#[test]
fn an_open_session_is_running() {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    let d = Desk::new();
    let open = d.pi("0199aaaa-1111", 0, &[]);
    let read = d.pi("0199bbbb-2222", 0, &[]);
    let script = "exec 3>>\"$1\" 4<\"$2\"; echo ready; read -r line";
    let mut holder = Command::new("sh")
        .args(["-c", script, "sh"])
        .args([d.s.path(&open), d.s.path(&read)])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = String::new();
    BufReader::new(holder.stdout.take().unwrap())
        .read_line(&mut ready)
        .unwrap();

    let listed = rows(&d.pisess("list --json").done().quiet());
    let running: Vec<_> = listed.iter().filter(|row| row["running"] == true).collect();
    drop(holder.stdin.take());
    holder.wait().unwrap();
    assert_eq!(running.len(), 1);
    assert_eq!(running[0]["id"], "0199aaaa-1111");

    let listed = rows(&d.pisess("list --json").done().quiet());
    assert!(listed.iter().all(|row| row["running"] == false));
}

/// What `list` shows as an id, and its start, is accepted as SESSION.
#[test]
fn shown_ids_are_accepted() {
    let d = Desk::new();
    let ids = [
        "019c0000-0000-7000-8000-aaaac5e7ce8a",
        "019c0000-0000-7000-8000-bbbbc5e7ce8a",
        "019c0000-0000-7000-8000-ccccd1d2d3d4",
    ];
    for id in ids {
        d.pi(id, 0, &[]);
    }
    let table = d.pisess("list").done().quiet();
    let mut shown: Vec<&str> = table
        .lines()
        .skip(1)
        .map(|row| {
            row.trim_start_matches(['*', ' '])
                .split_whitespace()
                .nth(1)
                .unwrap()
        })
        .collect();
    shown.sort_unstable();
    assert_eq!(shown, ["aaaac5e7ce8a", "bbbbc5e7ce8a", "ccccd1d2d3d4"]);
    for (short_id, id) in shown.iter().zip(ids) {
        for name in [short_id, &short_id[..4]] {
            let header = d.pisess(&format!("list --json {name}")).done().quiet();
            assert_eq!(rows(&header)[0]["id"], id, "{name}");
        }
    }
}

/// The total says that it counts the entries of copies repeatedly.
#[test]
fn the_total_notes_copies_and_imports() {
    let s = Sandbox::with(&["claude/plain.jsonl"]);
    s.put("copies/a.jsonl", fixture("tour.jsonl"));
    s.put("copies/b.jsonl", fixture("tour.jsonl"));
    let total = |line: &str| {
        let listed = s.pisess(line).terminal(120).done().stdout;
        let listed = String::from_utf8(listed).unwrap();
        listed.lines().next_back().unwrap().to_owned()
    };
    let note = "(with the entries that copies share; `pisess stats` counts them once)";
    assert!(total("list ./copies --color never").ends_with(note));
    assert!(!total("list --forks ./copies --color never").contains("(with"));

    s.put("both/plain.jsonl", fixture("claude/plain.jsonl"));
    s.run("import -q ./plain.jsonl -o ./both/import.jsonl");
    assert!(total("list --source all ./both --color never").ends_with(note));
}
