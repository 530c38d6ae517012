//! `pisess stats`: tokens and cost of sessions.

use crate::sandbox::{Sandbox, fixture, session, user};
use insta::assert_snapshot;
use regex::Regex;
use serde_json::{Value, json};

const TOUR: &str = "tour.jsonl";

fn rows(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Returns a session with one turn that began at this time.
fn turn(id: &str, time: &str, cost: &str) -> String {
    let header = format!(
        r#"{{"type":"session","version":3,"id":"{id}","timestamp":"{time}:00.000Z","cwd":"/p"}}"#
    );
    let user = format!(
        r#"{{"type":"message","id":"u{id}","parentId":null,"timestamp":"{time}:01.000Z","message":{{"role":"user","content":"x"}}}}"#
    );
    let assistant = format!(
        r#"{{"type":"message","id":"a{id}","parentId":"u{id}","timestamp":"{time}:11.000Z","message":{{"role":"assistant","provider":"p","model":"m","content":[],"usage":{{"input":1000,"output":20,"cacheRead":3,"cacheWrite":4{cost}}}}}}}"#
    );
    format!("{header}\n{user}\n{assistant}\n")
}

const PRICED: &str = r#","cost":{"total":0.25}"#;

/// Returns a session of a sub-agent that cost this many dollars.
fn child(id: &str, dollars: u32) -> String {
    let cost = format!(r#","cost":{{"total":{dollars}}}"#);
    turn(id, "2026-05-01T10:00", &cost)
}

/// Returns the cost that `stats --json` prints.
fn printed_cost(s: &Sandbox, line: &str) -> Value {
    let stats: Value = serde_json::from_str(&s.run(line)).unwrap();
    stats["cost"].clone()
}

#[test]
fn one_session_reads_as_in_pi() {
    let s = Sandbox::with(&[TOUR, "omp.jsonl"]);
    assert_snapshot!(s.unchanged("stats ./tour.jsonl"), @"
    messages     25 (6 user, 12 assistant, 7 tool results)
    tools        7 calls, 1 failed
    input        6,020
    output       1,159
    cache read   27,170
    cache write  0
    tokens       34,349
    cost         $0.0354
    time         1m55s
    files        2
    ");
    assert_snapshot!(s.unchanged("stats --json ./tour.jsonl"), @r#"{"sessions":1,"messages":25,"userMessages":6,"assistantMessages":12,"toolResults":7,"toolCalls":7,"toolFailures":1,"tokens":{"input":6020,"output":1159,"cacheRead":27170,"cacheWrite":0,"total":34349},"cost":0.035445000000000004,"unpriced":0,"files":2,"seconds":115}"#);
    assert_snapshot!(s.unchanged("stats ./omp.jsonl"), @"
    messages     7 (1 user, 4 assistant, 2 tool results)
    tools        2 calls, 0 failed
    input        4,800
    output       720
    cache read   36,000
    cache write  0
    tokens       41,520
    cost         $0.0252
    time         18s
    files        0
    ");
    assert_eq!(
        s.pisess("stats -").stdin(fixture(TOUR)).done().quiet(),
        s.run("stats ./tour.jsonl")
    );
}

#[test]
fn a_table_for_each_key() {
    let s = Sandbox::with(&[TOUR, "omp.jsonl"]);
    for by in [
        "session", "model", "day", "week", "month", "project", "tool",
    ] {
        let json = rows(&s.run(&format!("stats --by {by} --json .")));
        assert!(json.iter().all(|row| row.get(by).is_some()), "{json:?}");
        // The table has a row for each, a header, and a total unless there is only one row.
        let table = s.run(&format!("stats --by {by} ."));
        let lines = table
            .lines()
            .filter(|line| !line.contains("unpriced:"))
            .count();
        assert_eq!(
            lines,
            json.len() + 1 + usize::from(json.len() > 1),
            "{table}"
        );
    }
    assert_snapshot!(s.run("stats --by model ."), @"
    model                        sessions  messages  by user  calls  failed   input  output  cache write  cache read  total tokens     cost   time  files
    anthropic/claude-sonnet-4-5         2        25        0      9       1  10,820   1,879            0      63,170        75,869  $0.0606  2m13s      2
    (not by a model)                    2         7        7      0       0       0       0            0           0             0        -     0s      0
    total                               2        32        7      9       1  10,820   1,879            0      63,170        75,869  $0.0606  2m13s      2
    ");
    assert_snapshot!(s.run("stats --by tool ./tour.jsonl"), @"
    tool   sessions  calls  failed  time  files
    edit          1      2       0    6s      1
    bash          1      2       1   19s      0
    grep          1      1       0    3s      0
    read          1      1       0    3s      0
    write         1      1       0    3s      1
    total         1      7       1   34s      2
    ");
    assert_snapshot!(s.run("stats --by week ."), @"
    week        sessions  messages  by user  calls  failed   input  output  cache write  cache read  total tokens     cost   time  files
    2026-03-09         2        32        7      9       1  10,820   1,879            0      63,170        75,869  $0.0606  2m13s      2
    ");
}

#[test]
fn a_terminal_gets_bars_and_what_fits() {
    let s = Sandbox::with(&[TOUR, "omp.jsonl"]);
    assert_snapshot!(s.pisess("stats --by session --color never .").terminal(160).done(), @"
    session                                           msgs  user  calls  failed  input  output  cache w  cache r  total     cost   time  files
    6e8a4d70  2026-03-14  The 00:10 ferry shows up…     25     6      7       1   6.0k    1.2k        0    27.2k  34.3k  $0.0354  1m55s      2  ████████████████████
    456789ab  2026-03-14  Photos by year                 7     1      2       0   4.8k     720        0    36.0k  41.5k  $0.0252    18s      0  ██████████████▎
    total                                               32     7      9       1  10.8k    1.9k        0    63.2k  75.9k  $0.0606  2m13s      2
    ");
    // A single row has no bar, because there is nothing to compare it with.
    let day = s
        .pisess("stats --by day --color never .")
        .terminal(160)
        .done()
        .quiet();
    assert!(!day.contains('█'), "{day}");
    for width in [60, 80, 100, 120] {
        let table = s
            .pisess("stats --by project --color never .")
            .terminal(width)
            .done()
            .quiet();
        assert!(
            table.lines().all(|line| line.chars().count() <= width),
            "{table}"
        );
        assert!(
            table.contains("~/code/ferry  ") && table.contains('█'),
            "{table}"
        );
    }
    assert_snapshot!(s.pisess("stats --by session --color never .").terminal(60).done(), @r"
    session                        input  output  total     cost
    6e8a4d70  2026-03-14  The 00…   6.0k    1.2k  34.3k  $0.0354
    456789ab  2026-03-14  Photos…   4.8k     720  41.5k  $0.0252
    total                          10.8k    1.9k  75.9k  $0.0606
    ");
}

#[test]
fn each_billed_entry_is_a_row() {
    let s = Sandbox::with(&[TOUR]);
    let entries = rows(&s.run("stats --by entry --json ./tour.jsonl"));
    let whole: Value = serde_json::from_str(&s.run("stats --json ./tour.jsonl")).unwrap();
    let sum = |of: &dyn Fn(&Value) -> f64| entries.iter().map(of).sum::<f64>();
    assert_eq!(
        sum(&|row| row["tokens"]["total"].as_f64().unwrap()),
        whole["tokens"]["total"].as_f64().unwrap()
    );
    assert_eq!(
        sum(&|row| row["cost"].as_f64().unwrap_or(0.0)),
        whole["cost"].as_f64().unwrap()
    );
    assert_eq!(
        entries[0],
        json!({
            "path": "./tour.jsonl", "sessionId": "019ceb84-1405-7a3e-9c1d-5b2f6e8a4d70", "id": "c25f81e7", "parentId": "0d9a6c31",
            "line": 5, "role": "assistant", "provider": "anthropic", "model": "claude-sonnet-4-5", "tool": null,
            "timestamp": "2026-03-14T09:27:46.589Z",
            "tokens": {"input": 2140, "output": 96, "cacheRead": 0, "cacheWrite": 0, "total": 2236}, "cost": 0.00786, "subAgents": false,
        })
    );
    let table = s.run("stats --by entry ./tour.jsonl");
    assert_snapshot!(table.lines().take(2).collect::<Vec<_>>().join("\n"), @r"
    entry     time                      role       input  output  cache r  cache w     cost  model
    c25f81e7  2026-03-14T09:27:46.589Z  assistant   2140      96        0        0  $0.0079  anthropic/claude-sonnet-4-5
    ");
}

#[test]
fn one_is_not_plural() {
    let s = Sandbox::new();
    let call = r#"{"type":"message","id":"b","parentId":"a","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"ls","arguments":{}}]}}"#;
    let result = r#"{"type":"message","id":"c","parentId":"b","timestamp":"2026-01-01T00:00:03.000Z","message":{"role":"toolResult","toolCallId":"c1","toolName":"ls","content":[],"isError":false}}"#;
    let lines = [user("a", None, "look"), call.to_owned(), result.to_owned()];
    s.put("s.jsonl", session(&lines));
    let sums = s.run("stats ./s.jsonl");
    assert!(
        sums.contains("3 (1 user, 1 assistant, 1 tool result)"),
        "{sums}"
    );
    assert!(sums.contains("1 call, 0 failed"), "{sums}");
}

#[test]
fn copies_count_once_but_in_the_table_of_entries() {
    let s = Sandbox::with(&[TOUR]);
    let alone = s.run("stats --json ./tour.jsonl");
    s.pisess("fork ./tour.jsonl -o ./fork.jsonl").done();
    s.put("copy/backup.jsonl", fixture(TOUR));
    let value: Value =
        serde_json::from_str(&s.run("stats --json ./tour.jsonl ./copy ./fork.jsonl")).unwrap();
    assert_eq!(value, serde_json::from_str::<Value>(&alone).unwrap());
    let entries = |line: &str| rows(&s.run(line)).len();
    let one = entries("stats --by entry --json ./tour.jsonl");
    assert_eq!(
        entries("stats --by entry --json ./tour.jsonl ./copy"),
        2 * one
    );
    // The same holds for a version without ids.
    let old = Sandbox::with(&["v1.jsonl"]);
    old.put("copy.jsonl", fixture("v1.jsonl"));
    assert_eq!(
        old.run("stats --json ."),
        old.run("stats --json ./v1.jsonl")
    );
}

#[test]
fn a_missing_cost_is_said() {
    let s = Sandbox::new();
    s.put("a.jsonl", turn("a", "2026-05-01T10:00", PRICED));
    s.put("b.jsonl", turn("b", "2026-05-01T11:00", ""));
    assert_snapshot!(s.run("stats ."), @"
    sessions     2
    messages     4 (2 user, 2 assistant, 0 tool results)
    tools        0 calls, 0 failed
    input        2,000
    output       40
    cache read   6
    cache write  8
    tokens       2,054
    cost         $0.25
    time         20s
    files        0
    1 of 2 requests unpriced: no cost is recorded, and no price known
    ");
    assert_snapshot!(s.run("stats ./b.jsonl"), @"
    messages     2 (1 user, 1 assistant, 0 tool results)
    tools        0 calls, 0 failed
    input        1,000
    output       20
    cache read   3
    cache write  4
    tokens       1,027
    cost         unpriced
    time         10s
    files        0
    1 of 1 requests unpriced: no cost is recorded, and no price known
    ");
    let value: Value = serde_json::from_str(&s.run("stats --json .")).unwrap();
    assert_eq!(
        (&value["unpriced"], &value["cost"]),
        (&json!(1), &json!(0.25))
    );
}

#[test]
fn days_are_local_and_weeks_begin_on_monday() {
    let s = Sandbox::new();
    for (name, time) in [
        ("a", "2026-05-03T21:30"),
        ("b", "2026-05-03T22:30"),
        ("c", "2026-04-30T23:30"),
    ] {
        s.put(&format!("{name}.jsonl"), turn(name, time, PRICED));
    }
    let keys = |by: &str, zone: &str| {
        let done = s
            .pisess(&format!("stats --by {by} --json ."))
            .env("TZ", zone)
            .real();
        let list = rows(&done.quiet())
            .into_iter()
            .map(|row| row[by].as_str().unwrap().to_owned());
        list.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(keys("day", "UTC"), "2026-04-30 2026-05-03");
    assert_eq!(
        keys("day", "CET-1CEST,M3.5.0,M10.5.0/3"),
        "2026-05-01 2026-05-03 2026-05-04"
    );
    assert_eq!(keys("week", "UTC"), "2026-04-27");
    assert_eq!(
        keys("week", "CET-1CEST,M3.5.0,M10.5.0/3"),
        "2026-04-27 2026-05-04"
    );
    assert_eq!(keys("month", "UTC"), "2026-04 2026-05");
    assert_eq!(keys("month", "CET-1CEST,M3.5.0,M10.5.0/3"), "2026-05");
}

#[test]
fn since_leaves_older_entries_out() {
    let s = Sandbox::new();
    for (name, time) in [
        ("a", "2026-04-20T10:00"),
        ("b", "2026-05-01T10:00"),
        ("c", "2026-05-04T11:30"),
    ] {
        s.put(&format!("{name}.jsonl"), turn(name, time, PRICED));
    }
    let sessions = |since: &str| {
        let value: Value =
            serde_json::from_str(&s.run(&format!("stats --json --since {since} ."))).unwrap();
        value["sessions"].as_u64().unwrap()
    };
    // The clock is fixed at 2026-05-04 12:00.
    let counts = [
        "1h",
        "24h",
        "3d",
        "4d",
        "2w",
        "3w",
        "2026-05-01",
        "2026-05",
        "2026-05-01T10:00:02Z",
    ]
    .map(sessions);
    assert_eq!(counts, [1, 1, 1, 2, 2, 3, 2, 2, 2]);
    // It is a Monday.
    let counts = [
        "today",
        "monday",
        "yesterday",
        "friday",
        "tuesday",
        "1mo",
        "2026",
    ]
    .map(sessions);
    assert_eq!(counts, [1, 1, 1, 2, 2, 3, 3]);
    let until = ["2026-04", "2026-05-01", "friday", "yesterday", "3d"];
    assert_eq!(
        until.map(|until| sessions(&format!("2026-04-01 --until {until}"))),
        [1, 2, 2, 2, 2]
    );
    assert_eq!(sessions("2026-05-01 --until 2026-05-01"), 1);
    // Nothing is not zero.
    let done = s.pisess("stats --until 2025 .").done();
    assert_eq!((done.code, &*done.text()), (0, ""));
    assert_eq!(
        done.stderr,
        "pisess: note: no entries in these sessions and this period\n"
    );
    for wrong in ["", "x", "7", "d", "-1d", "2026-13-01", "tomorrow"] {
        s.pisess(&format!("stats --since '{wrong}' ."))
            .done()
            .fails(2);
        s.pisess(&format!("stats --until '{wrong}' ."))
            .done()
            .fails(2);
    }
    assert_snapshot!(s.pisess("stats --until tomorrow .").done().fails(2), @r#"--until: "tomorrow" is not a time (hint: give an age (30min, 12h, 7d, 2w, 6mo, 1y, 3 days ago), today, yesterday, a weekday, a date (2026-10-31, 2026-10, 2026) or a time (2026-10-31T12:00, 2026-10-31T12:00:00Z))"#);
    assert_snapshot!(s.pisess("stats --since today --until friday .").done().fails(2), @"--since is later than --until (hint: exchange the two times)");
}

#[test]
fn counts_sub_agent_usage_once() {
    let s = Sandbox::new();
    let usage = r#""usage":{"input":5,"output":5,"cacheRead":0,"cacheWrite":0,"totalTokens":10,"cost":{"total":1}}"#;
    let task = format!(
        "{}{}\n",
        turn("a", "2026-05-01T10:00", PRICED),
        format_args!(
            r#"{{"type":"message","id":"t","parentId":"aa","timestamp":"2026-05-01T10:01:00.000Z","message":{{"role":"toolResult","toolName":"task","content":[],"details":{{{usage}}}}}}}"#
        )
    );
    s.put("x/s.jsonl", &task);
    let cost = |line: &str| printed_cost(&s, line);
    assert_eq!(cost("stats --json ./x"), json!(1.25));
    s.put(
        "x/s/1.jsonl",
        turn("b", "2026-05-01T10:00", r#","cost":{"total":1}"#),
    );
    assert_eq!(cost("stats --json ./x"), json!(1.25));
    assert_eq!(cost("stats --json ./x/s.jsonl"), json!(1.25));
    // The usage of advisors is not in the result of any tool.
    s.put(
        "x/s/__advisor.jsonl",
        turn("c", "2026-05-01T10:00", r#","cost":{"total":1}"#),
    );
    assert_eq!(cost("stats --json ./x"), json!(2.25));
    // A sub-agent that started another: both of their files count, and no result that includes
    // them.
    s.put("x/s/2.jsonl", task.replace("\"id\":\"", "\"id\":\"d"));
    s.put(
        "x/s/2/1.jsonl",
        turn("e", "2026-05-01T10:00", r#","cost":{"total":1}"#),
    );
    assert_eq!(cost("stats --json ./x"), json!(3.5));
}

#[test]
fn notes_the_sub_agents_that_are_not_counted() {
    let s = Sandbox::new();
    let note = |line: &str| s.pisess(line).done().stderr;
    let cost = |line: &str| printed_cost(&s, line);
    s.put("x/s.jsonl", turn("a", "2026-05-01T10:00", PRICED));
    assert_eq!(note("stats ./x/s.jsonl"), "");
    s.put("x/s/Scout.jsonl", child("b", 1));
    s.put("x/s/Scout/Inner.jsonl", child("c", 2));
    s.put("x/s/__advisor.jsonl", child("d", 4));
    assert_snapshot!(note("stats ./x/s.jsonl"), @"pisess: note: 2 sub-agents and 1 advisor not counted, $7.00; in all $7.25 (hint: `pisess stats ./x/s.jsonl ./x/s` counts them, too)");
    assert_snapshot!(note("stats --by model --since 2026-05 ./x/s.jsonl"), @"pisess: note: 2 sub-agents and 1 advisor not counted, $7.00; in all $7.25 (hint: `pisess stats --by model --since 2026-05 ./x/s.jsonl ./x/s` counts them, too)");
    // On a terminal, the note is shortened to one line, so its command is short.
    let on_terminal = s.pisess("stats ./x/s.jsonl").terminal(120).done();
    assert_snapshot!(on_terminal.stderr, @"pisess: note: 2 sub-agents and 1 advisor not counted, $7.00… (hint: `pisess list ./x/s.jsonl` counts all)");
    // The command counts them, and `list` has the same costs.
    assert_eq!(note("stats ./x/s.jsonl ./x/s"), "");
    assert_eq!(cost("stats --json ./x/s.jsonl"), json!(0.25));
    assert_eq!(cost("stats --json ./x/s.jsonl ./x/s"), json!(7.25));
    let listed = rows(&s.run("list --json ./x/s.jsonl"));
    let costs: Vec<_> = listed.iter().map(|row| row["cost"].clone()).collect();
    assert_eq!(costs, [json!(0.25), json!(1), json!(2), json!(4)]);
    for line in [
        "stats -q ./x/s.jsonl",
        "stats --json ./x/s.jsonl",
        "stats ./x",
        "stats ./x/s.jsonl ./x/s/Scout.jsonl ./x/s/Scout/Inner.jsonl ./x/s/__advisor.jsonl",
    ] {
        assert_eq!(note(line), "", "{line}");
    }

    // Files that are no sessions do not count.
    s.put("x/s/notes.jsonl", "hi\n");
    s.put("x/s/data/rows.jsonl", "{\"row\":1}\n");
    assert_snapshot!(note("stats ./x/s.jsonl"), @"pisess: note: 2 sub-agents and 1 advisor not counted, $7.00; in all $7.25 (hint: `pisess stats ./x/s.jsonl ./x/s` counts them, too)");

    // What a result reports is counted, and an advisor is in no result.
    let usage = json!({"input": 5, "output": 5, "cost": {"total": 1.0}});
    let named = json!({"results": [{"sessionFile": "/away/s/Scout.jsonl"}]});
    s.put("x/s.jsonl", delegating(&[("r1", usage.clone(), named)]));
    assert_snapshot!(note("stats ./x/s.jsonl"), @"pisess: note: 1 sub-agent and 1 advisor not counted, $6.00; in all $7.25 (hint: `pisess stats ./x/s.jsonl ./x/s` counts them, too)");
    s.put("x/s.jsonl", delegating(&[("r1", usage, json!({}))]));
    assert_snapshot!(note("stats ./x/s.jsonl"), @"pisess: note: 1 advisor not counted, $4.00; in all $5.25 (hint: `pisess stats ./x/s.jsonl ./x/s` counts them, too)");
    assert_eq!(cost("stats --json ./x/s.jsonl"), json!(1.25));
    // In any order and spelling, the sub-agents are those of the session.
    for paths in [
        "./x/s.jsonl ./x/s",
        "./x/s ./x/s.jsonl",
        "./x/../x/s.jsonl ./x/s/",
    ] {
        let line = format!("stats -q --json {paths}");
        assert_eq!(cost(&line), json!(7.25), "{paths}");
    }
    // Calls are in no result.
    assert_snapshot!(note("stats --by tool ./x/s.jsonl"), @"pisess: note: 2 sub-agents and 1 advisor not counted (hint: `pisess stats --by tool ./x/s.jsonl ./x/s` counts them, too)");
    std::fs::remove_file(s.path("x/s/__advisor.jsonl")).unwrap();
    assert_eq!(note("stats ./x/s.jsonl"), "");
}

/// The note has the cost that the command in it counts, too.
#[test]
fn stats_notes_each_cost_of_nested_sub_agents_once() {
    let s = Sandbox::new();
    let cost = |line: &str| printed_cost(&s, line);
    let session = turn("a", "2026-05-01T10:00", PRICED);
    s.put("x/s.jsonl", &session);
    // Scout, which cost $0.25 itself, reports the usage of Inner.
    let usage = json!({"input": 5, "output": 5, "cost": {"total": 2.0}});
    let named = json!({"results": [{"sessionFile": "/away/s/Scout/Inner.jsonl"}]});
    let scout = delegating(&[("r1", usage, named)]);
    let scout = scout.replace(r#""id":"aa""#, r#""id":"bb""#);
    s.put("x/s/Scout.jsonl", &scout);
    s.put("x/s/Scout/Inner.jsonl", child("c", 2));
    assert_eq!(cost("stats --json ./x/s.jsonl ./x/s"), json!(2.5));
    assert_snapshot!(s.pisess("stats ./x/s.jsonl").done().stderr, @"pisess: note: 2 sub-agents not counted, $2.25; in all $2.50 (hint: `pisess stats ./x/s.jsonl ./x/s` counts them, too)");
    // Inner is counted, and Scout is not.
    assert_snapshot!(s.pisess("stats ./x/s.jsonl ./x/s/Scout/Inner.jsonl").done().stderr, @"pisess: note: 1 sub-agent not counted, $0.25; in all $2.50 (hint: `pisess stats ./x/s.jsonl ./x/s/Scout/Inner.jsonl ./x/s` counts them, too)");

    // A sub-agent begins with copies of the entries of the session.
    let copies = session + child("d", 4).split_once('\n').unwrap().1;
    s.put("x/s/Fork.jsonl", copies);
    assert_eq!(cost("stats --json ./x/s.jsonl ./x/s"), json!(6.5));
    assert_snapshot!(s.pisess("stats ./x/s.jsonl").done().stderr, @"pisess: note: 3 sub-agents not counted, $6.25; in all $6.50 (hint: `pisess stats ./x/s.jsonl ./x/s` counts them, too)");
    assert_eq!(s.pisess("stats -q ./x/s.jsonl").done().stderr, "");
}

/// Returns a session of pi that started sub-agents with the extension pi-subagents, each result
/// with what it reports.
fn delegating(results: &[(&str, Value, Value)]) -> String {
    let result = |(at, (id, usage, details)): (usize, &(&str, Value, Value))| {
        let message = json!({"role": "toolResult", "toolName": "subagent", "content": [], "usage": usage, "details": details,
            "timestamp": at});
        json!({"type": "message", "id": id, "timestamp": "2026-05-01T10:01:00.000Z", "message": message})
            .to_string()
            + "\n"
    };
    turn("a", "2026-05-01T10:00", PRICED)
        + &results.iter().enumerate().map(result).collect::<String>()
}

#[test]
fn a_sub_agents_spend_counts_once_wherever_it_is_recorded() {
    let s = Sandbox::new();
    let usage = |cost: f64| json!({"input": 5, "output": 5, "cost": {"total": cost}});
    let ran = |run: &str| json!({"results": [{"sessionFile": format!("/away/--p--/s/{run}/run-0/session.jsonl")}]});
    // In the result only, in both, in the session only.
    let parent = delegating(&[
        ("r1", usage(3.0), ran("one")),
        ("r2", usage(4.0), ran("two")),
        ("r3", Value::Null, ran("three")),
    ]);
    s.put("x/s.jsonl", &parent);
    let cost = |line: &str| printed_cost(&s, line);
    assert_eq!(cost("stats --json ./x"), json!(7.25));
    s.put(
        "x/s/two/run-0/session.jsonl",
        turn("b", "2026-05-01T10:00", r#","cost":{"total":4}"#),
    );
    s.put(
        "x/s/three/run-0/session.jsonl",
        turn("c", "2026-05-01T10:00", r#","cost":{"total":5}"#),
    );
    assert_eq!(cost("stats --json ./x"), json!(12.25));
    assert_eq!(cost("stats --json ./x/s.jsonl"), json!(7.25));
    assert_eq!(
        cost("stats --json ./x/s.jsonl ./x/s/two/run-0/session.jsonl"),
        json!(7.25)
    );
    // A fork has the results, too, but no directory of its own.
    s.put(
        "x/fork.jsonl",
        parent.replacen("\"id\":\"a\"", "\"id\":\"f\"", 1),
    );
    assert_eq!(cost("stats --json ./x"), json!(12.25));
    let ends = |line: &str| -> Vec<Value> {
        rows(&s.run(line))
            .iter()
            .map(|row| row["agentSessions"].clone())
            .filter(|ends| !ends.is_null())
            .collect()
    };
    assert_eq!(
        ends("stats --by entry --json ./x/s.jsonl"),
        [
            json!(["one/run-0/session.jsonl"]),
            json!(["two/run-0/session.jsonl"])
        ]
    );
}

#[test]
fn a_fork_without_the_sub_agents_directory_counts_nothing_twice() {
    let s = Sandbox::new();
    let usage = r#""usage":{"input":5,"output":5,"cost":{"total":1}}"#;
    let task = |details: &str| {
        turn("a", "2026-05-01T10:00", PRICED)
            + &format!(
                r#"{{"type":"message","id":"t","timestamp":"2026-05-01T10:01:00.000Z","message":{{"role":"toolResult","toolName":"task","content":[],"details":{{{usage}{details}}}}}}}"#
            )
            + "\n"
    };
    let child = turn("b", "2026-05-01T10:00", r#","cost":{"total":1}"#);
    let cost = |line: &str| printed_cost(&s, line);
    for details in [
        "",
        r#","results":[{"outputPath":"/home/u/.omp/agent/sessions/-p/source/Scout.md"}]"#,
    ] {
        let source = task(details);
        s.put("x/source.jsonl", &source);
        s.put("x/source/Scout.jsonl", &child);
        for fork in ["afork", "zfork"] {
            s.put(
                &format!("x/{fork}.jsonl"),
                source.replacen("\"id\":\"a\"", "\"id\":\"f\"", 1),
            );
        }
        assert_eq!(cost("stats --json ./x"), json!(1.25), "{details}");
        // oh-my-pi's forks have a copy of the directory.
        s.put("y/fork.jsonl", &source);
        s.put("y/fork/Scout.jsonl", &child);
        assert_eq!(cost("stats --json ./y"), json!(1.25), "{details}");
    }
}

#[test]
fn idle_hours_are_no_time() {
    let s = Sandbox::new();
    let message = |time: &str, rest: &str| {
        format!(
            r#"{{"type":"message","id":"{time}","parentId":null,"timestamp":"2026-05-01T{time}:00.000Z","message":{{{rest}}}}}"#
        ) + "\n"
    };
    let call = r#""role":"assistant","content":[{"type":"toolCall","id":"1","name":"bash","arguments":{}}],"stopReason":"toolUse""#;
    let reply =
        r#""role":"assistant","content":[{"type":"text","text":"done"}],"stopReason":"stop""#;
    let at = |time: &str| {
        pisess::json::time::parse_js_date(format!("2026-05-01T{time}:00.000Z").as_bytes()).unwrap()
    };
    let header = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-05-01T10:00:00.000Z","cwd":"/p"}"#;
    let seconds = |lines: &[String]| {
        s.put("s.jsonl", format!("{header}\n{}", lines.concat()));
        serde_json::from_str::<Value>(&s.run("stats --json ./s.jsonl")).unwrap()["seconds"]
            .as_f64()
            .unwrap()
    };
    let asked = message("10:00", r#""role":"user","content":"x""#);
    let work = [
        asked.clone(),
        message("10:01", call),
        message(
            "10:04",
            r#""role":"toolResult","toolCallId":"1","content":[]"#,
        ),
        message("10:06", reply),
    ];
    assert_eq!(seconds(&work), 360.0);
    // Another program appends a message hours later.
    let mirror = format!(
        r#"{reply},"provider":"openclaw","model":"delivery-mirror","timestamp":{}"#,
        at("20:06")
    );
    let mirrored = [&work[..], &[message("20:06", &mirror)]].concat();
    assert_eq!(seconds(&mirrored), 360.0);
    // A reply that no user asked for, as to an extension, takes the time of its generation.
    let began = format!(r#"{call},"timestamp":{}"#, at("20:04"));
    let woken = [
        &work[..],
        &[
            message("20:06", &began),
            message(
                "20:07",
                r#""role":"toolResult","toolCallId":"1","content":[]"#,
            ),
            message("20:09", reply),
        ],
    ];
    assert_eq!(seconds(&woken.concat()), 660.0);
    // An agent that was killed while a tool ran, and notes that when it is started again.
    let aborted = format!(
        r#""role":"assistant","content":[],"stopReason":"aborted","timestamp":{}"#,
        at("20:06")
    );
    assert_eq!(
        seconds(&[&work[..2], &[message("20:06", &aborted)]].concat()),
        60.0
    );
    // A tool that waited for the user, and a machine that slept during a request.
    let result = r#""role":"toolResult","toolCallId":"1","content":[]"#;
    let waited = [
        &work[..2],
        &[message("20:04", result), message("20:06", reply)],
    ]
    .concat();
    assert_eq!(seconds(&waited), 180.0);
    assert_eq!(
        seconds(&[&work[..3], &[message("20:06", reply)]].concat()),
        240.0
    );
    // An hour of work counts.
    let long = [
        &work[..2],
        &[message("11:01", result), message("11:02", reply)],
    ]
    .concat();
    assert_eq!(seconds(&long), 3720.0);
}

#[test]
fn ignores_usage_and_time_of_entries_copied_by_pick() {
    let s = Sandbox::with(&[TOUR]);
    let before: Value = serde_json::from_str(&s.run("stats --json ./tour.jsonl")).unwrap();
    let ids: Vec<_> = rows(&s.run("stats --by entry --json ./tour.jsonl"))
        .iter()
        .map(|row| row["id"].clone())
        .collect();
    let [.., one, other] = &ids[..] else {
        panic!("{ids:?}")
    };
    s.pisess(&format!(
        "pick ./tour.jsonl {} {} --at root",
        one.as_str().unwrap(),
        other.as_str().unwrap()
    ))
    .done();
    s.pisess(&format!("pick ./tour.jsonl {}", one.as_str().unwrap()))
        .done();
    let after: Value = serde_json::from_str(&s.run("stats --json ./tour.jsonl")).unwrap();
    assert!(after["messages"].as_u64() > before["messages"].as_u64());
    for key in ["tokens", "cost", "unpriced", "seconds"] {
        assert_eq!(after[key], before[key], "{key}");
    }
    let rows = rows(&s.run("stats --by entry --json ./tour.jsonl"));
    assert_eq!(
        rows.iter().map(|row| row["id"].clone()).collect::<Vec<_>>(),
        ids
    );
}

#[test]
fn rows_name_the_usage_of_sub_agents() {
    let s = Sandbox::new();
    let usage = r#"{"input":5,"output":5,"cost":{"total":1}}"#;
    let result = |id: &str, rest: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","timestamp":"2026-05-01T10:01:00.000Z","message":{{"role":"toolResult","toolName":"task","content":[],{rest}}}}}"#
        )
    };
    let (sum, own) = (
        result("sum", &format!(r#""details":{{"usage":{usage}}}"#)),
        result("own", &format!(r#""usage":{usage}"#)),
    );
    s.put(
        "s.jsonl",
        format!("{}{sum}\n{own}\n", turn("a", "2026-05-01T10:00", PRICED)),
    );
    let flags = |line: &str| -> Vec<(String, bool)> {
        let flag = |row: &Value| {
            (
                row["id"].as_str().unwrap().to_owned(),
                row["subAgents"].as_bool().unwrap(),
            )
        };
        rows(&s.run(line)).iter().map(flag).collect()
    };
    let flag = |id: &str, is: bool| (id.to_owned(), is);
    let all = [flag("aa", false), flag("sum", true), flag("own", false)];
    assert_eq!(flags("stats --by entry --json ./s.jsonl"), all);
    s.put("s/1.jsonl", turn("b", "2026-05-01T10:00", PRICED));
    assert_eq!(
        flags("stats --by entry --json ."),
        [
            flag("aa", false),
            flag("sum", true),
            flag("own", false),
            flag("ab", false)
        ]
    );
    assert_eq!(flags("stats --by entry --json ./s.jsonl"), all);
}

#[test]
fn damage_is_noted_and_the_rest_is_counted() {
    let s = Sandbox::new();
    s.put(
        "a.jsonl",
        format!("{}{{\"torn\n", turn("a", "2026-05-01T10:00", PRICED)),
    );
    s.put("b.jsonl", "no session\n");
    let done = s.pisess("stats --json .").done();
    let value: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!((done.code, &value["sessions"]), (0, &json!(1)));
    assert_snapshot!(done.stderr, @r#"
    pisess: note: ./a.jsonl: line 4 is not JSON (hint: `pisess check` explains it)
    pisess: note: ./b.jsonl: no session header (hint: a session of pi or oh-my-pi starts with {"type":"session","id":…})
    "#);
    assert_eq!(s.pisess("stats ./b.jsonl ./a.jsonl").done().code, 2);
    // If no session could be read, no sums are printed.
    s.pisess("stats ./b.jsonl").done().fails(2);
    s.pisess("stats ./none").done().fails(2);
    s.pisess("stats --json ./none").done().fails(2);
    assert_eq!(s.pisess("stats ./none ./b.jsonl").done().text(), "");
    // An empty result is success.
    let empty = Sandbox::new();
    assert_eq!(
        ["stats .", "stats --by day ."].map(|line| empty.unchanged(line).stdout.len()),
        [0, 0]
    );
    assert!(
        empty
            .unchanged("stats --json .")
            .stdout
            .starts_with(b"{\"sessions\":0,")
    );
}

#[test]
fn pairs_of_keys() {
    let s = Sandbox::new();
    for (at, (day, model)) in [("01", "m"), ("01", "n"), ("02", "m"), ("01", "m")]
        .iter()
        .enumerate()
    {
        let cost = format!(r#","cost":{{"total":{}.25}}"#, at);
        let text = turn(&format!("s{at}"), &format!("2026-05-{day}T10:00"), &cost);
        s.put(
            &format!("p/{at}.jsonl"),
            text.replace(r#""model":"m""#, &format!(r#""model":"{model}""#)),
        );
    }
    assert_snapshot!(s.unchanged("stats --by day,model ./p"), @"
    day         model  sessions  messages  by user  calls  failed  input  output  cache write  cache read  total tokens   cost  time  files
    2026-05-01  p/m           2         2        0      0       0  2,000      40            8           6         2,054  $3.50   20s      0
    2026-05-01  p/n           1         1        0      0       0  1,000      20            4           3         1,027  $1.25   10s      0
    2026-05-02  p/m           1         1        0      0       0  1,000      20            4           3         1,027  $2.25   10s      0
    total                     4         8        4      0       0  4,000      80           16          12         4,108  $7.00   40s      0
    ");
    let totals = [
        "stats",
        "stats --by day",
        "stats --by model",
        "stats --by day,model",
        "stats --by session",
    ]
    .map(|line| {
        let sum = |key: &str| {
            rows(&s.run(&format!("{line} --json ./p")))
                .iter()
                .map(|row| row[key].as_f64().unwrap())
                .sum::<f64>()
        };
        ["messages", "userMessages", "cost"].map(sum)
    });
    assert_eq!(
        totals, [totals[0]; 5],
        "the same messages, whatever they are grouped by"
    );
    let pairs = |line: &str, keys: [&str; 2]| -> Vec<String> {
        rows(&s.run(line))
            .iter()
            .map(|row| format!("{} {} {}", row[keys[0]], row[keys[1]], row["cost"]))
            .collect()
    };
    // By the first key, then by the second: dates in order, models by their cost.
    assert_eq!(
        pairs("stats --json --by model,day ./p", ["model", "day"]),
        [
            r#""p/m" "2026-05-01" 3.5"#,
            r#""p/m" "2026-05-02" 2.25"#,
            r#""p/n" "2026-05-01" 1.25"#,
            r#"null "2026-05-01" 0"#,
            r#"null "2026-05-02" 0"#
        ]
    );
    let sessions = rows(&s.run("stats --json --by session,model ./p"));
    assert_eq!(sessions.len(), 8, "with and without a model");
    assert!(sessions.iter().all(|row| row["path"].is_string()));
    // The sums of the pairs are the sum of all.
    let total = rows(&s.run("stats --json ./p"))[0]["cost"]
        .as_f64()
        .unwrap();
    for keys in [
        "day,model",
        "project,month",
        "session,week",
        "model,session",
    ] {
        let sum: f64 = rows(&s.run(&format!("stats --json --by {keys} ./p")))
            .iter()
            .filter_map(|row| row["cost"].as_f64())
            .sum();
        assert_eq!(sum, total, "{keys}");
    }
    let tools = rows(&Sandbox::with(&[TOUR]).run("stats --json --by day,tool ./tour.jsonl"));
    assert_eq!(
        tools
            .iter()
            .map(|row| row["toolCalls"].as_u64().unwrap())
            .sum::<u64>(),
        7
    );
    for keys in ["day,day", "day,model,tool", "entry,day", "day,entry"] {
        assert!(
            s.unchanged(&format!("stats --by {keys} ./p"))
                .fails(2)
                .contains("--by: give one key, or two"),
            "{keys}"
        );
    }
    s.unchanged("stats --by day, ./p").fails(2);
}

#[test]
fn who_touched_a_file() {
    let s = Sandbox::with(&[TOUR, "omp.jsonl"]);
    s.put("two.jsonl", fixture(TOUR));
    s.put(
        "two.jsonl",
        s.text("two.jsonl")
            .replace(r#""id":""#, r#""id":"x"#)
            .replace(r#""parentId":""#, r#""parentId":"x"#),
    );
    assert_snapshot!(s.unchanged("stats --by file ."), @"
    file                            reads  writes  failed  sessions  wrote  in
    ~/code/ferry/src/clock.rs           2       4       0         2      2  6e8a4d70 6e8a4d70
    ~/code/ferry/tests/midnight.rs      0       2       0         2      2  6e8a4d70 6e8a4d70
    ");
    assert_snapshot!(s.run("stats --by file --json ./tour.jsonl"), @r#"
    {"file":"/home/u/code/ferry/src/clock.rs","reads":1,"writes":2,"paths":["./tour.jsonl"],"writingSessions":1,"sessions":1,"messages":0,"userMessages":0,"assistantMessages":0,"toolResults":0,"toolCalls":3,"toolFailures":0,"tokens":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0},"cost":0,"unpriced":0,"files":1,"seconds":0}
    {"file":"/home/u/code/ferry/tests/midnight.rs","reads":0,"writes":1,"paths":["./tour.jsonl"],"writingSessions":1,"sessions":1,"messages":0,"userMessages":0,"assistantMessages":0,"toolResults":0,"toolCalls":1,"toolFailures":0,"tokens":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0},"cost":0,"unpriced":0,"files":1,"seconds":0}
    "#);
    assert_snapshot!(s.unchanged("stats --by file,session ."), @r#"
    file                            session                                                        reads  writes  failed
    ~/code/ferry/src/clock.rs       6e8a4d70  2026-03-14  The 00:10 ferry shows up as "left 23 h…      1       2       0
    ~/code/ferry/src/clock.rs       6e8a4d70  2026-03-14  The 00:10 ferry shows up as "left 23 h…      1       2       0
    ~/code/ferry/tests/midnight.rs  6e8a4d70  2026-03-14  The 00:10 ferry shows up as "left 23 h…      0       1       0
    ~/code/ferry/tests/midnight.rs  6e8a4d70  2026-03-14  The 00:10 ferry shows up as "left 23 h…      0       1       0
    total                                                                                              2       6       0
    "#);
    // Escape sequences of a path are visible, and it may be of any kind.
    let call = r#"{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"1","name":"read","arguments":{"path":"\u001b[31m\u0001\ud83d"}},{"type":"toolCall","id":"2","name":"write","arguments":{"file_path":"~/x"}},{"type":"toolCall","id":"3","name":"edit","arguments":{"path":7}}]}}"#;
    s.put("odd.jsonl", crate::sandbox::session(&[call]));
    assert_snapshot!(s.unchanged("stats --by file ./odd.jsonl"), @"
    file         reads  writes  failed  sessions  wrote  in
    ~/␛[31m␁���      1       0       0         1      0  hazard
    ~/x              0       1       0         1      1  hazard
    ");
    assert_eq!(s.run("stats -q --by file ./odd.jsonl --since 2026-02"), "");
}

#[test]
fn stats_by_file_counts_failed_calls_apart() {
    let s = Sandbox::new();
    let call = |id: &str, tool: &str| json!({"type": "toolCall", "id": id, "name": tool, "arguments": {"path": "a.rs"}});
    let result = |id: &str, is_error: bool| {
        json!({"role": "toolResult", "toolCallId": id, "toolName": "edit", "isError": is_error,
            "content": []})
    };
    let messages = [
        json!({"role": "user", "content": "x"}),
        json!({"role": "assistant", "provider": "p", "model": "m", "content":
            [call("c1", "read"), call("c2", "edit"), call("c3", "edit")]}),
        result("c1", false),
        result("c2", true),
        result("c3", false),
    ];
    s.put("a.jsonl", conversation(messages));
    assert_snapshot!(s.unchanged("stats --by file ./a.jsonl"), @"
    file     reads  writes  failed  sessions  wrote  in
    /p/a.rs      1       1       1         1      1  s
    2> pisess: note: some of these calls failed (hint: `pisess grep --failed --full '' ./a.jsonl` prints failed calls, with their arguments)
    ");
    assert_snapshot!(s.pisess("stats --by file --since 2025 --source pi ./a.jsonl").done().stderr, @"pisess: note: some of these calls failed (hint: `pisess grep --source pi --since 2025 --failed --full '' ./a.jsonl` prints failed calls, with their arguments)");
    // The result does not name the file, but the command finds the call.
    let found = s.run("grep --failed --full '' ./a.jsonl");
    assert!(found.contains("a.rs"), "{found}");
    let [row] = &rows(&s.run("stats --by file --json ./a.jsonl"))[..] else {
        panic!("not one row");
    };
    let counts = ["reads", "writes", "toolCalls", "toolFailures"].map(|key| &row[key]);
    assert_eq!(counts, [1, 1, 3, 1]);
}

/// An edit of oh-my-pi by line hashes names its files only in `input`. It counts for each of them,
/// and as one call of the tool.
#[test]
fn stats_by_file_counts_each_file_of_an_edit() {
    let s = Sandbox::new();
    let input = "[a.rs#2914]\nPUT 2.=2:\n+zwei\n[sub/b.rs#2914]\nPUT 1.=1:\n+eins\n";
    let call =
        json!({"type": "toolCall", "id": "c1", "name": "edit", "arguments": {"input": input}});
    s.put(
        "a.jsonl",
        conversation([
            json!({"role": "user", "content": "x"}),
            json!({"role": "assistant", "provider": "p", "model": "m", "content": [call]}),
            json!({"role": "toolResult", "toolCallId": "c1", "toolName": "edit", "isError": false,
                "content": []}),
        ]),
    );
    assert_snapshot!(s.unchanged("stats --by file ./a.jsonl"), @"
    file         reads  writes  failed  sessions  wrote  in
    /p/a.rs          0       1       0         1      1  s
    /p/sub/b.rs      0       1       0         1      1  s
    ");
    let [by_tool] = &rows(&s.run("stats --by tool --json ./a.jsonl"))[..] else {
        panic!("not one row");
    };
    assert_eq!(by_tool["toolCalls"], 1);
    let [all] = &rows(&s.run("stats --json ./a.jsonl"))[..] else {
        panic!("not one row");
    };
    assert_eq!(all["toolCalls"], 1);
}

/// Returns a session of these messages, each the child of the one before.
fn conversation<const N: usize>(messages: [Value; N]) -> String {
    let header = json!({"type": "session", "version": 3, "id": "s",
        "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/p"});
    let mut lines = vec![header.to_string()];
    for (number, message) in messages.into_iter().enumerate() {
        let parent = number.checked_sub(1).map(|before| format!("{before:08}"));
        let entry = json!({"type": "message", "id": format!("{number:08}"), "parentId": parent,
            "timestamp": "2026-01-01T00:00:01.000Z", "message": message});
        lines.push(entry.to_string());
    }
    lines.join("\n") + "\n"
}

#[test]
fn stats_of_sessions_without_usage_show_no_cost() {
    let s = Sandbox::new();
    let zeros = turn("s2", "2026-01-02T00:00", "")
        .replace("1000", "0")
        .replace(":20,", ":0,")
        .replace(":3,", ":0,")
        .replace(r#""cacheWrite":4"#, r#""cacheWrite":0,"cost":{"total":0}"#);
    s.put("a/s1.jsonl", turn("s1", "2026-01-01T00:00", PRICED));
    s.put("a/s2.jsonl", zeros);
    assert_snapshot!(s.unchanged("stats --by session ./a"), @"
    session            messages  by user  calls  failed  input  output  cache write  cache read  total tokens   cost  time  files
    s1  2026-01-01  x         2        1      0       0  1,000      20            4           3         1,027  $0.25   10s      0
    s2  2026-01-02  x         2        1      0       0      0       0            0           0             0      -   10s      0
    total                     4        2      0       0  1,000      20            4           3         1,027  $0.25   20s      0
    1 of 2 sessions record no usage
    ");
    // The messages of the user, which have no model, are no row of zeros.
    assert_snapshot!(s.unchanged("stats --by day,model ./a"), @"
    day         model  sessions  messages  by user  calls  failed  input  output  cache write  cache read  total tokens   cost  time  files
    2026-01-01  p/m           1         1        0      0       0  1,000      20            4           3         1,027  $0.25   10s      0
    2026-01-02  p/m           1         1        0      0       0      0       0            0           0             0      -   10s      0
    total                     2         4        2      0       0  1,000      20            4           3         1,027  $0.25   20s      0
    1 of 2 sessions record no usage
    ");
}

#[test]
fn on_a_terminal_bars_give_way_then_providers_then_the_starts_of_paths() {
    let s = Sandbox::new();
    let named = |cost: &str, model: &str| {
        turn(model, "2026-05-01T10:00", cost)
            .replace(r#""provider":"p","model":"m","content":[]"#, &format!(r#""provider":"anthropic","model":"{model}","content":[{{"type":"toolCall","id":"1","name":"read","arguments":{{"path":"/home/u/code/shop-web/src/payments/refunds/worker.rs"}}}}]"#))
    };
    s.put("a.jsonl", named(PRICED, "claude-sonnet-4-5"));
    s.put("b.jsonl", named(PRICED, "claude-opus-4-5"));
    let table = |by: &str, width| {
        s.pisess(&format!("stats --by {by} --color never ."))
            .terminal(width)
            .done()
            .quiet()
    };
    let wide = table("day,model", 120);
    assert!(
        wide.contains("anthropic/claude-sonnet-4-5 ") && wide.contains('█'),
        "{wide}"
    );
    assert_snapshot!(table("day,model", 80), @"
    day         model                        input  output  cache w  total   cost
    2026-05-01  anthropic/claude-sonnet-4-5   1.0k      20        4   1.0k  $0.25
    2026-05-01  anthropic/claude-opus-4-5     1.0k      20        4   1.0k  $0.25
    total                                     2.0k      40        8   2.1k  $0.50
    ");
    assert_snapshot!(table("day,model", 60), @"
    day         model              input  output  total   cost
    2026-05-01  claude-sonnet-4-5   1.0k      20   1.0k  $0.25
    2026-05-01  claude-opus-4-5     1.0k      20   1.0k  $0.25
    total                           2.0k      40   2.1k  $0.50
    ");
    assert_snapshot!(table("file,session", 120), @r"
    file                                            session                  reads  writes  failed
    ~/code/shop-web/src/payments/refunds/worker.rs  nnet-4-5  2026-05-01  x      1       0       0  ████████████████████
    ~/code/shop-web/src/payments/refunds/worker.rs  opus-4-5  2026-05-01  x      1       0       0  ████████████████████
    total                                                                        2       0       0
    ");
    assert_snapshot!(table("file,session", 80), @r"
    file                        session                  reads  writes  failed
    ~/code/…/refunds/worker.rs  nnet-4-5  2026-05-01  x      1       0       0
    ~/code/…/refunds/worker.rs  opus-4-5  2026-05-01  x      1       0       0
    total                                                    2       0       0
    ");
    assert_snapshot!(table("file", 80), @"
    file                        reads  writes  failed  sessions  wrote  in
    ~/code/…/refunds/worker.rs      2       0       0         2      0  nnet-4-5 op…
    ");
}

/// The prices that pisess contains have no date in the tests below: they change with each release.
fn without_date(text: &str) -> String {
    let date = Regex::new("[0-9]{4}-[0-9]{2}-[0-9]{2}").unwrap();
    date.replace_all(text, "DATE").into_owned()
}

/// A session without recorded costs: all commands estimate the same, and give the date. A recorded
/// cost, also one of nothing, is not touched.
#[test]
fn all_commands_estimate_the_same_cost() {
    let s = Sandbox::new();
    let model = r#""provider":"anthropic","model":"claude-opus-4-5""#;
    let of_opus = |name: &str, cost: &str| {
        turn(name, "2026-05-01T11:00", cost).replace(r#""provider":"p","model":"m""#, model)
    };
    s.put(
        "new.jsonl",
        of_opus("new", r#","cost":{"total":0,"unknown":true}"#),
    );
    s.put("free.jsonl", of_opus("free", r#","cost":{"total":0}"#));

    // 1000 input, 20 output, 3 read from the cache and 4 written to it: $5, $25, $0.5 and $6.25.
    let cost = 0.005 + 0.0005 + 0.000_001_5 + 0.000_025;
    let stats = &rows(&s.run("stats --json ./new.jsonl"))[0];
    let listed = &rows(&s.run("list --json ./new.jsonl"))[0];
    for row in [stats, listed] {
        let estimated = row["estimated"].as_f64().unwrap();
        assert!((estimated - cost).abs() < 1e-9, "{row}");
        assert_eq!(row["cost"], row["estimated"]);
        assert_eq!(row["unpriced"], 0);
        assert_eq!(row["pricesOf"].as_str().unwrap().len(), 10);
    }
    let entry = &rows(&s.run("stats --by entry --json ./new.jsonl"))[0];
    assert_eq!(entry["cost"], stats["cost"]);
    assert_eq!(entry["estimated"], true);
    assert_eq!(entry["pricesOf"], stats["pricesOf"]);

    let shown = without_date(&s.run("show ./new.jsonl").to_string());
    assert!(shown.contains("~$0.0055, prices of DATE"), "{shown}");
    let trajectory: Value =
        serde_json::from_str(&s.run("export --as atif ./new.jsonl -o -").to_string()).unwrap();
    let metrics = &trajectory["final_metrics"];
    assert_eq!(metrics["total_cost_usd"], stats["cost"]);
    assert_eq!(metrics["extra"]["prices_of"], stats["pricesOf"]);

    let free = &rows(&s.run("stats --json ./free.jsonl"))[0];
    assert_eq!((&free["cost"], free.get("estimated")), (&json!(0), None));

    // Longer retention in the cache costs more.
    let kept = r#","cacheWrite1h":4,"cost":{"total":0,"unknown":true}"#;
    s.put("kept.jsonl", of_opus("kept", kept));
    let kept = &rows(&s.run("stats --json ./kept.jsonl"))[0];
    let added = kept["cost"].as_f64().unwrap() - cost;
    assert!((added - 4.0 * (10.0 - 6.25) / 1e6).abs() < 1e-9, "{added}");
}

#[test]
fn prices_fill_in_what_has_none() {
    let s = Sandbox::new();
    s.put("priced.jsonl", turn("priced", "2026-05-01T10:00", PRICED));
    s.put("free.jsonl", turn("free", "2026-05-01T11:00", ""));
    s.put(
        "other.jsonl",
        turn("other", "2026-05-01T12:00", "").replace(r#""model":"m""#, r#""model":"n""#),
    );
    s.put(
        "prices.json",
        r#"{"p/m":{"input_cost_per_token":1e-4,"output_cost_per_token":0.001}}"#,
    );
    let line = "./priced.jsonl ./free.jsonl ./other.jsonl";
    assert_snapshot!(s.unchanged(&format!("stats --prices ./prices.json {line}")), @"
    sessions     3
    messages     6 (3 user, 3 assistant, 0 tool results)
    tools        0 calls, 0 failed
    input        3,000
    output       60
    cache read   9
    cache write  12
    tokens       3,081
    cost         ~$0.37
    time         30s
    files        0
    ~ $0.12 of the cost is estimated
    1 of 3 requests unpriced: no cost is recorded, and no price known
    ");
    assert_snapshot!(s.unchanged(&format!("stats --by model --prices ./prices.json {line}")), @"
    model             sessions  messages  by user  calls  failed  input  output  cache write  cache read  total tokens      cost  time  files
    p/m                      2         2        0      0       0  2,000      40            8           6         2,054    ~$0.37   20s      0
    p/n                      1         1        0      0       0  1,000      20            4           3         1,027  unpriced   10s      0
    (not by a model)         3         3        3      0       0      0       0            0           0             0         -    0s      0
    total                    3         6        3      0       0  3,000      60           12           9         3,081    ~$0.37   30s      0
    ~ $0.12 of the cost is estimated
    1 of 3 requests unpriced: no cost is recorded, and no price known
    ");
    // In its own directory, because the column is as wide as the paths.
    let by_entry = format!(
        "stats --by entry --prices prices.json {}",
        line.replace("./", "")
    );
    assert_snapshot!(s.pisess(&by_entry).real(), @r"
    entry                 time                      role       input  output  cache r  cache w      cost  model
    priced.jsonl:apriced  2026-05-01T10:00:11.000Z  assistant   1000      20        3        4   $0.2500  p/m
    free.jsonl:afree      2026-05-01T11:00:11.000Z  assistant   1000      20        3        4  ~$0.1207  p/m
    other.jsonl:aother    2026-05-01T12:00:11.000Z  assistant   1000      20        3        4  unpriced  p/n
    ");
    let row = &rows(&s.run(&format!("stats --json --prices ./prices.json {line}")))[0];
    assert_eq!(
        (&row["cost"], &row["estimated"], &row["unpriced"]),
        (&json!(0.3707), &json!(0.1207), &json!(1))
    );
    let marked: Vec<_> = rows(&s.run(&format!(
        "stats --by entry --json --prices ./prices.json {line}"
    )))
    .iter()
    .map(|row| row.get("estimated").cloned())
    .collect();
    assert_eq!(marked, [None, Some(json!(true)), None]);
    // Without the table, nothing is estimated.
    let row = &rows(&s.run(&format!("stats --json {line}")))[0];
    assert_eq!(
        (&row["cost"], row.get("estimated"), &row["unpriced"]),
        (&json!(0.25), None, &json!(2))
    );
    assert_snapshot!(s.unchanged("stats --prices ./free.jsonl ./free.jsonl").fails(2), @"./free.jsonl: not a table of prices (hint: give LiteLLM's model_prices_and_context_window.json, or JSON in its format)");
    s.unchanged("stats --prices ./gone ./free.jsonl").fails(2);
}

/// The times add up to that between the first and the last entry.
#[test]
fn the_times_of_sessions() {
    let s = Sandbox::with(&["tour.jsonl", "two-branches.jsonl"]);
    assert_snapshot!(s.unchanged("stats --by time ./tour.jsonl"), @r#"
    SESSION                                                        AGENT  TOOLS  WORKED  WAITING    WALL
    6e8a4d70  2026-03-14  The 00:10 ferry shows up as "left 23 h…  1m21s    34s   1m55s   14m20s  16m15s
    "#);
    assert_snapshot!(s.unchanged("stats --by time --json ./"), @r#"
    {"session":"019ceb84-1405-7a3e-9c1d-5b2f6e8a4d70","path":"./tour.jsonl","agentSeconds":81,"toolSeconds":34,"waitingSeconds":860,"wallSeconds":975}
    {"session":"019c0000-0000-7000-8000-00000000babe","path":"./two-branches.jsonl","agentSeconds":3,"toolSeconds":0,"waitingSeconds":3,"wallSeconds":6}
    "#);
    assert_snapshot!(s.unchanged("stats --by time ./"), @r#"
    SESSION                                                        AGENT  TOOLS  WORKED  WAITING    WALL
    6e8a4d70  2026-03-14  The 00:10 ferry shows up as "left 23 h…  1m21s    34s   1m55s   14m20s  16m15s
    0000babe  2026-01-01  Which paper for a kite?                     3s     0s      3s       3s      6s
    total                                                          1m24s    34s   1m58s   14m23s  16m21s
    "#);
    assert_eq!(s.unchanged("stats --by time,model ./tour.jsonl").code, 2);
}

#[test]
fn stats_of_a_directory_say_that_there_is_more() {
    let s = Sandbox::new();
    let directory = s
        .path("")
        .to_string_lossy()
        .trim_matches('/')
        .replace(['/', '.'], "-");
    s.put(
        &format!(".pi/agent/sessions/--{directory}--/s1.jsonl"),
        turn("s1", "2026-01-01T00:00", PRICED),
    );
    let note = "only the sessions of this directory (hint: --all counts those of all projects)";
    let here = s.pisess("stats").at_home().done();
    assert!(here.code == 0 && here.stderr.contains(note), "{here}");
    for line in ["stats --all", "stats --json", "stats -q"] {
        let done = s.pisess(line).at_home().done();
        assert!(
            done.code == 0 && !done.stderr.contains(note),
            "{line}: {done}"
        );
    }
}

/// Returns the sums of `stats`, without the number of sessions and the time.
fn sums_of(s: &Sandbox, sessions: &str) -> serde_json::Value {
    let text = s.run(&format!("stats -q --json {sessions}"));
    let mut sums: serde_json::Value = serde_json::from_str(&text).unwrap();
    let members = sums.as_object_mut().unwrap();
    members.remove("sessions");
    members.remove("seconds");
    sums
}

/// Returns a fixture whose ids of responses are as long as those of providers.
fn with_long_ids(name: &str) -> String {
    let text = String::from_utf8(fixture(name)).unwrap();
    text.replace("\"msg_0", "\"msg_01XFDUDYJgAACzvnptvVoY0")
        .replace("\"resp_", "\"resp_0682ea1c3de4b02a00")
}

/// Imports of a source have other ids, but the ids of the responses are the same.
#[test]
fn a_session_that_was_imported_twice_counts_once() {
    let s = Sandbox::new();
    s.put("source.jsonl", with_long_ids("claude/plain.jsonl"));
    s.run("import -q ./source.jsonl -o ./a.jsonl");
    s.run("import -q --for omp ./source.jsonl -o ./b.jsonl");
    let once = sums_of(&s, "./a.jsonl");
    assert_eq!(once["tokens"]["output"], 87 + 14 + 40 + 9);
    assert_eq!(sums_of(&s, "./a.jsonl ./b.jsonl"), once);
    assert_eq!(sums_of(&s, "./a.jsonl ./b.jsonl ./source.jsonl"), once);

    // Short ids may be those of other responses.
    s.put("source.jsonl", fixture("claude/plain.jsonl"));
    s.run("import -q --for omp ./source.jsonl -o ./c.jsonl");
    let both = sums_of(&s, "./c.jsonl ./source.jsonl");
    assert_eq!(both["tokens"]["output"], 2 * (87 + 14 + 40 + 9));
}

/// `claude --fork-session` copies the conversation into a new file.
#[test]
fn a_conversation_that_claude_code_copied_counts_once() {
    let s = Sandbox::new();
    let text = with_long_ids("claude/plain.jsonl");
    s.put("source.jsonl", text.clone());
    let copy = text.replace("0000000000a1", "0000000000a9");
    let next = concat!(
        r#"{"parentUuid":"c1a00000-0000-4000-8000-00000000000a","type":"user","uuid":"x1","sessionId":"c1a00000-0000-4000-8000-0000000000a9","timestamp":"2025-09-12T09:00:00.000Z","message":{"role":"user","content":"And the tail?"}}"#,
        "\n",
        r#"{"parentUuid":"x1","type":"assistant","uuid":"x2","sessionId":"c1a00000-0000-4000-8000-0000000000a9","timestamp":"2025-09-12T09:00:01.000Z","message":{"id":"msg_01XFDUDYJgAACzvnptvVoYELx","role":"assistant","model":"claude-opus-5","usage":{"input_tokens":1,"output_tokens":1000},"content":[{"type":"text","text":"Long."}]}}"#,
        "\n"
    );
    s.put("fork.jsonl", format!("{copy}{next}"));
    let source = sums_of(&s, "./source.jsonl");
    let both = sums_of(&s, "./source.jsonl ./fork.jsonl");
    let count = |sums: &serde_json::Value, key: &str| sums[key].as_u64().unwrap();
    assert_eq!(count(&both, "messages"), count(&source, "messages") + 2);
    assert_eq!(
        count(&both, "userMessages"),
        count(&source, "userMessages") + 1
    );
    assert_eq!(count(&both["tokens"], "output"), 87 + 14 + 40 + 9 + 1000);
    // In either order.
    assert_eq!(sums_of(&s, "./fork.jsonl ./source.jsonl"), both);
}

/// When Claude Code forks a session after a compaction, it writes the messages that the compaction
/// kept without their usage.
#[test]
fn a_copy_without_usage_hides_no_response() {
    let s = Sandbox::new();
    let kept = |session: &str, input: u32, output: u32| {
        format!(
            r#"{{"parentUuid":null,"type":"assistant","uuid":"k1","sessionId":"{session}","timestamp":"2026-11-29T18:50:00.000Z","message":{{"id":"msg_01XFDUDYJgAACzvnptvVoYk1","role":"assistant","model":"claude-opus-5","usage":{{"input_tokens":{input},"output_tokens":{output}}},"content":[{{"type":"text","text":"Kept."}}]}}}}"#
        )
    };
    let source = "c1a00000-0000-4000-8000-0000000000b1";
    let fork = "c1a00000-0000-4000-8000-0000000000b2";
    s.put("source.jsonl", format!("{}\n", kept(source, 10, 20)));
    s.put("fork.jsonl", format!("{}\n", kept(fork, 0, 0)));
    for order in ["./source.jsonl ./fork.jsonl", "./fork.jsonl ./source.jsonl"] {
        let both = sums_of(&s, order);
        assert_eq!(both["tokens"]["output"], 20, "{order}");
    }
}

/// A fork of Codex begins with the turns of another thread.
#[test]
fn the_turns_that_a_fork_of_codex_continues_count_once() {
    let s = Sandbox::new();
    let folder =
        ".codex/sessions/2026/03/02/rollout-2026-03-02T11-57-30-019cad00-0000-7000-8000-0000000000";
    let put = |id: &str, name: &str| {
        let text = with_long_ids(name);
        // The offset of the base depends on the length of the ids before it.
        let base = with_long_ids("codex/paginated.jsonl");
        let end = base.find(r#""ordinal":28"#).unwrap();
        let end = base[..end].rfind('\n').unwrap() + 1;
        let text = text.replace(
            r#""end_byte_offset":14564"#,
            &format!(r#""end_byte_offset":{end}"#),
        );
        s.put(&format!("{folder}{id}.jsonl"), text);
    };
    put("c1", "codex/paginated.jsonl");
    put("c3", "codex/paginated-fork.jsonl");
    let both = sums_of(&s, "./.codex/sessions");
    assert_eq!(both["userMessages"], 4);
    assert_eq!(both["tokens"]["output"], 24 + 25 + 26 + 27 + 29);
}

/// With `--source`, the sessions of other agents count, too: an import, and not once more its
/// source.
#[test]
fn sessions_of_other_agents_are_counted() {
    let s = Sandbox::with(&[]);
    let put = |name: &str, from: &str| {
        let text = String::from_utf8(fixture(from)).unwrap();
        // The ids of responses are as long as those of a provider.
        let text = text.replace("\"msg_0", "\"msg_01XFDUDYJgAACzvnptvV");
        s.put(&format!("{name}.jsonl"), text);
    };
    put(".claude/projects/x/plain", "claude/plain.jsonl");
    put(".codex/sessions/2026/plain", "codex/plain.jsonl");
    put(
        ".pi/agent/sessions/--home-u-kites--/kites",
        "two-branches.jsonl",
    );
    let run = |line: &str| s.pisess(line).at_home().done();
    let sessions = |line: &str| {
        let row: Value = serde_json::from_str(&run(line).text()).unwrap();
        row["sessions"].as_u64().unwrap()
    };
    assert_eq!(sessions("stats --all --json"), 1);
    assert_eq!(sessions("stats --all --json --source claude"), 1);
    assert_eq!(sessions("stats --all --json --source all"), 3);
    assert_snapshot!(run("stats --all --by project --source all"), @"
    project        sessions  messages  by user  calls  failed  input  output  cache write  cache read  total tokens      cost  time  files
    /home/u/kites         3        22        6      5       1  5,418     290        2,820      71,100        79,628  ~$0.0428   24s      1
    ~ $0.04 of the cost is estimated, prices of 2026-11-29
    3 of 11 requests unpriced: no cost is recorded, and no price known
    1 of 3 sessions record no usage
    ");
    assert_eq!(
        sessions("stats --json --source claude ./.claude ./.codex"),
        1
    );
    assert_eq!(sessions("stats --json --source all ./.claude ./.codex"), 2);
    let imported = run("import ./.claude/projects/x/plain.jsonl");
    assert_eq!(imported.code, 0, "{imported}");
    assert_eq!(sessions("stats --all --json"), 2);
    assert_eq!(sessions("stats --all --json --source all"), 3);
    // Without --all, those of this directory.
    assert_snapshot!(run("stats --source codex"), @"2> pisess: note: no sessions of Codex for the current directory (hint: `pisess list --source codex --all` includes all projects)");
}

/// Where costs are small and close to each other, a table shows their differences.
#[test]
fn small_costs_have_four_digits() {
    let s = Sandbox::with(&["tour.jsonl"]);
    let by_model = s.run("stats --by model ./tour.jsonl");
    assert!(by_model.contains("  $0.0354  "), "{by_model}");
    let by_entry = s.run("stats --by entry ./tour.jsonl");
    assert!(by_entry.contains("  $0.0079  "), "{by_entry}");
    let sums = s.run("stats ./tour.jsonl");
    assert!(sums.contains("$0.0354\n"), "{sums}");
}

/// The messages of the user are counted apart, as in `list`.
#[test]
fn messages_of_the_user_have_a_column() {
    let s = Sandbox::with(&["tour.jsonl", "two-branches.jsonl"]);
    assert_snapshot!(s.run("stats --by session ./tour.jsonl ./two-branches.jsonl"), @r#"
    session                                                        messages  by user  calls  failed  input  output  cache write  cache read  total tokens     cost   time  files
    6e8a4d70  2026-03-14  The 00:10 ferry shows up as "left 23 h…        25        6      7       1  6,020   1,159            0      27,170        34,349  $0.0354  1m55s      2
    0000babe  2026-01-01  Which paper for a kite?                         6        3      0       0      0       0            0           0             0        -     3s      0
    total                                                                31        9      7       1  6,020   1,159            0      27,170        34,349  $0.0354  1m58s      2
    3 of 15 requests unpriced: no cost is recorded, and no price known
    1 of 2 sessions record no usage
    "#);
    for session in ["./tour.jsonl", "./two-branches.jsonl"] {
        let count = |line: &str| {
            let row: Value = serde_json::from_str(&s.run(line)).unwrap();
            row["userMessages"].as_u64().unwrap()
        };
        let counted = count(&format!("stats --json {session}"));
        assert_eq!(
            counted,
            count(&format!("list --json {session}")),
            "{session}"
        );
    }
    let by_tool = s.run("stats --by tool ./tour.jsonl");
    assert!(!by_tool.contains("by user"), "{by_tool}");
}

/// The cost of a branch is that of the entries after its branch point.
#[test]
fn a_part_of_a_conversation_is_counted() {
    let s = Sandbox::with(&[TOUR]);
    let cost = |arguments: &str| {
        let printed = printed_cost(&s, &format!("stats --json -q ./tour.jsonl {arguments}"));
        printed.as_f64().unwrap()
    };
    let is_same = |one: f64, other: f64| (one - other).abs() < 1e-9;
    assert!(cost("@~3..") > 0.0);
    assert!(is_same(cost("@~3") + cost("@~3.."), cost("@")));
    assert!(is_same(cost("root.."), cost("@")));
    assert!(is_same(cost("--last 3"), cost("@~3..")));
    assert!(cost("@") < cost(""), "the whole session has branches");

    let by_entry = rows(&s.run("stats --by entry --json ./tour.jsonl @~3.."));
    let path = s.run("path --ids ./tour.jsonl @~3..");
    for row in &by_entry {
        let id = row["id"].as_str().unwrap();
        assert!(path.contains(id), "{id}");
    }
    assert!(!by_entry.is_empty());
}

#[test]
fn a_part_of_a_conversation_is_named_by_an_id_or_label() {
    let s = Sandbox::with(&["two-branches.jsonl", TOUR]);
    for reference in ["1a2b3c02", "id:1a2b3c02", "start+1", ":3"] {
        let counted = s.run(&format!("stats ./two-branches.jsonl {reference}"));
        let messages = "messages     2 (1 user, 1 assistant, 0 tool results)";
        assert_eq!(counted.lines().next(), Some(messages), "{reference}");
    }
    let both = s.run("stats ./two-branches.jsonl ./tour.jsonl");
    assert!(both.starts_with("sessions     2\n"), "{both}");
    assert_snapshot!(s.unchanged("stats ./two-branches.jsonl nothing").fails(2), @r#"./two-branches.jsonl: no entry or label "nothing" (hint: `nothing` is not a session, either: `pisess list --all` lists all sessions)"#);
    assert_snapshot!(s.unchanged("stats ./two-branches.jsonl ./tour.jsonl @..").fails(2), @"@..: a range is a part of one session (hint: give one SESSION before the range; --last N applies to any number)");
    assert_snapshot!(s.unchanged("stats ./two-branches.jsonl @ --last 2").fails(2), @"REF and ranges cannot be combined with --last (hint: omit one of them)");
    assert_snapshot!(s.unchanged("stats ./two-branches.jsonl @..").fails(1), @"./two-branches.jsonl: @.. contains no entry (hint: a range begins after its first REF; `pisess path` lists the entries)");
    let last = s.run("stats ./two-branches.jsonl ./tour.jsonl --last 1");
    assert!(
        last.contains("messages     2 (0 user, 2 assistant, 0 tool results)"),
        "{last}"
    );
}
