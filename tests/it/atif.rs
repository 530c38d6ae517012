//! `pisess export --as atif`: trajectories. `tests/trajectories/run` checks them with the format's
//! own models.

use crate::agreement::Generated;
use crate::sandbox::{Sandbox, fixture, hazards, session, user};
use insta::assert_snapshot;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::process::Command;

fn trajectory(s: &Sandbox, line: &str) -> Value {
    serde_json::from_str(
        &s.unchanged(&format!("export -q --as atif -o - {line}"))
            .quiet(),
    )
    .unwrap()
}

fn steps(trajectory: &Value) -> &[Value] {
    trajectory["steps"].as_array().unwrap()
}

fn is_copied(step: &&Value) -> bool {
    step["is_copied_context"] == true
}

fn is_own(step: &&Value) -> bool {
    !is_copied(step)
}

/// Returns each step as `source: message`, with `again` if it is copied.
fn listed(trajectory: &Value) -> String {
    let line = |step: &Value| {
        let again = if is_copied(&step) { "again, " } else { "" };
        format!(
            "{again}{}: {}\n",
            step["source"].as_str().unwrap(),
            step["message"].as_str().unwrap()
        )
    };
    steps(trajectory).iter().map(line).collect()
}

/// Holds a trajectory against the rules of the format that no schema names, and against `stats`.
fn holds(s: &Sandbox, what: &str) {
    let done = s.unchanged("export -q --as atif -o - ./s.jsonl");
    if done.code == 1 {
        return;
    }
    let trajectory: Value = serde_json::from_str(&done.quiet()).unwrap();
    let (mut prompt, mut cost, mut own) = (0.0, 0.0, HashSet::new());
    for (at, step) in steps(&trajectory).iter().enumerate() {
        assert_eq!(step["step_id"], at + 1, "{what}");
        let ids = |list: &Value, key: &str| -> Vec<Value> {
            list.as_array()
                .into_iter()
                .flatten()
                .map(|item| item[key].clone())
                .collect()
        };
        let calls = ids(&step["tool_calls"], "tool_call_id");
        let answered = ids(&step["observation"]["results"], "source_call_id");
        assert!(
            answered.iter().all(|id| id.is_null() || calls.contains(id)),
            "{what}: {step}"
        );
        if is_own(&step) {
            prompt += step["metrics"]["prompt_tokens"].as_f64().unwrap_or(0.0);
            cost += step["metrics"]["cost_usd"].as_f64().unwrap_or(0.0);
            own.insert(step["extra"]["entry_id"].clone());
        }
    }
    let sums = &trajectory["final_metrics"];
    assert_eq!(
        sums["total_steps"],
        steps(&trajectory).iter().filter(is_own).count(),
        "{what}"
    );
    assert_eq!(
        sums["total_prompt_tokens"].as_f64().unwrap(),
        prompt,
        "{what}"
    );
    assert!(
        (sums["total_cost_usd"].as_f64().unwrap_or(0.0) - cost).abs() < 1e-9,
        "{what}"
    );
    let path: HashSet<String> = s
        .run("path --ids ./s.jsonl")
        .lines()
        .map(str::to_owned)
        .collect();
    let rows = s.unchanged("stats --by entry --json ./s.jsonl").quiet();
    let rows = rows
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let on_path = rows.filter(|row| path.contains(row["id"].as_str().unwrap_or_default()));
    let (mut of_stats, mut paid) = (0.0, 0.0);
    for row in on_path {
        let tokens = |key: &str| row["tokens"][key].as_f64().unwrap_or(0.0);
        of_stats += tokens("input") + tokens("cacheRead") + tokens("cacheWrite");
        paid += row["cost"].as_f64().unwrap_or(0.0);
    }
    assert_eq!(prompt, of_stats, "{what}");
    assert!((cost - paid).abs() < 1e-9, "{what}: {cost} {paid}");
}

#[test]
fn sums_are_those_of_stats() {
    let s = Sandbox::new();
    for name in [
        "tour",
        "two-branches",
        "omp",
        "omp-no-slot",
        "draft-tree",
        "v1",
        "v2",
        "kinds/pi",
        "kinds/omp",
    ] {
        s.put("s.jsonl", fixture(&format!("{name}.jsonl")));
        holds(&s, name);
    }
    for seed in 0..200 {
        s.put("s.jsonl", Generated::new(seed).session());
        holds(&s, &format!("seed {seed}"));
    }
}

#[test]
fn one_path_with_its_calls_and_what_they_returned() {
    let s = Sandbox::with(&["tour.jsonl"]);
    let trajectory = trajectory(&s, "./tour.jsonl 61a7f2cc");
    let expected = json!({"step_id": 3, "timestamp": "2026-03-14T09:27:54.589Z", "source": "agent",
        "model_name": "anthropic/claude-sonnet-4-5", "reasoning_effort": "low", "message": "",
        "tool_calls": [{"tool_call_id": "call_02", "function_name": "read",
            "arguments": {"path": "/home/u/code/ferry/src/clock.rs", "offset": 35, "limit": 30}}],
        "observation": {"results": []},
        "metrics": {"prompt_tokens": 2320, "completion_tokens": 71, "cached_tokens": 2140, "cost_usd": 0.001605},
        "llm_call_count": 1,
        "extra": {"entry_id": "61a7f2cc", "stop_reason": "toolUse", "api": "anthropic-messages"}});
    assert_eq!(trajectory["steps"][2], expected);
    assert_eq!(
        steps(&trajectory)[1]["observation"]["results"][0]["source_call_id"],
        "call_01"
    );
    assert_eq!(trajectory["final_metrics"]["total_steps"], 3);
    s.run("export -q --as atif ./tour.jsonl");
    assert!(
        s.text("tour.json")
            .starts_with("{\"schema_version\":\"ATIF-v1.7\"")
    );
}

/// Returns an entry below `parent`.
fn entry(kind: &str, id: &str, parent: &str, body: Value) -> String {
    let mut entry = json!({"type": kind, "id": id, "parentId": parent, "timestamp": "2026-01-01T00:01:00.000Z"});
    entry
        .as_object_mut()
        .unwrap()
        .extend(body.as_object().unwrap().clone());
    entry.to_string()
}

#[test]
fn export_as_atif_repeats_what_a_compaction_keeps() {
    let s = Sandbox::new();
    let compaction = |id: &str, parent: &str, kept: &str| {
        entry(
            "compaction",
            id,
            parent,
            json!({"summary": "so far", "firstKeptEntryId": kept, "tokensBefore": 9}),
        )
    };
    let lines = [
        user("a", None, "one"),
        user("b", Some("a"), "two"),
        compaction("c", "b", "b"),
        user("d", Some("c"), "three"),
    ];
    s.put("s.jsonl", session(&lines));
    assert_snapshot!(listed(&trajectory(&s, "./s.jsonl")), @"
    user: one
    user: two
    system: so far
    again, user: two
    user: three
    ");
    // A file in which each compaction keeps all would ask for the square of its size.
    let mut lines = vec![user("a", None, "one")];
    for at in 0..600 {
        let (id, parent) = (
            format!("c{at}"),
            if at == 0 {
                "a".to_owned()
            } else {
                format!("c{}", at - 1)
            },
        );
        lines.push(compaction(&id, &parent, "a"));
    }
    s.put("s.jsonl", session(&lines));
    assert_snapshot!(s.pisess("export --as atif -o ./x.json ./s.jsonl").done().fails(2), @"cannot write ./x.json: the compactions of this path keep the same entries too often for a trajectory");
}

#[test]
fn export_as_atif_does_not_count_what_fork_copied() {
    let s = Sandbox::with(&["tour.jsonl"]);
    s.run("fork ./tour.jsonl -o ./fork.jsonl");
    s.run("append ./fork.jsonl --user 'and now?'");
    let trajectory = trajectory(&s, "./fork.jsonl");
    assert_eq!(steps(&trajectory).iter().filter(is_own).count(), 1);
    assert_eq!(
        trajectory["final_metrics"],
        json!({"total_prompt_tokens": 0, "total_completion_tokens": 0,
        "total_cached_tokens": 0, "total_steps": 1})
    );
}

/// Returns a reply with a call, and its result.
fn called(id: &str, parent: &str, details: Value) -> [String; 2] {
    let call = json!({"message": {"role": "assistant", "provider": "p", "model": "m",
        "content": [{"type": "toolCall", "id": format!("t{id}"), "name": "subagent", "arguments": {"task": "look"}}]}});
    let result = json!({"message": {"role": "toolResult", "toolCallId": format!("t{id}"), "toolName": "subagent",
        "content": [{"type": "text", "text": "found"}, {"type": "image", "mimeType": "image/png", "data": "iVBO"}],
        "details": details}});
    let calling = format!("{id}-call");
    [
        entry("message", &calling, parent, call),
        entry("message", id, &calling, result),
    ]
}

/// Returns the session of a sub-agent: its first message, and then these entries.
fn sub_agent(name: &str, text: &str, more: &[String]) -> String {
    let lines: Vec<_> = [user("x", None, text)]
        .iter()
        .chain(more)
        .cloned()
        .collect();
    String::from_utf8(session(&lines)).unwrap().replacen(
        "\"id\":\"",
        &format!("\"id\":\"{name}"),
        1,
    )
}

/// Returns the first messages of the sub-agents of a trajectory.
fn nested(trajectory: &Value) -> Vec<&str> {
    let agents = trajectory["subagent_trajectories"]
        .as_array()
        .into_iter()
        .flatten();
    agents
        .map(|agent| agent["steps"][0]["message"].as_str().unwrap())
        .collect()
}

/// Writes a session with sub-agents: on the path to its leaf, on another branch, below one another,
/// and one that no result names. Returns a secret in one of them.
fn with_sub_agents(s: &Sandbox, name: &str) -> String {
    let run = |run: &str| json!({"results": [{"sessionFile": format!("/away/s/{run}/run-0/session.jsonl")}]});
    let lines = [
        vec![user("a", None, "go")],
        called("b", "a", run("one")).to_vec(),
        called("other", "a", run("two")).to_vec(),
        called("c", "b", json!({"agentId": "a7"})).to_vec(),
    ];
    s.put(&format!("{name}.jsonl"), session(&lines.concat()));
    let token = format!("ghp_{}", "Ab3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3hJ6");
    let own = called("y", "x", run("deep"));
    let agents = [
        (
            "one/run-0/session",
            sub_agent("c", &format!("look {token}"), &own),
        ),
        (
            "one/run-0/session/deep/run-0/session",
            sub_agent("c", "deeper", &[]),
        ),
        (
            "two/run-0/session",
            sub_agent("c", "on another branch", &[]),
        ),
        ("three/run-0/session", sub_agent("c", "nobody asked", &[])),
        ("a7", sub_agent("d", "imported from Claude Code", &[])),
    ];
    agents
        .into_iter()
        .for_each(|(path, text)| s.put(&format!("{name}/{path}.jsonl"), text));
    token
}

#[test]
fn sub_agents_are_nested_and_named_by_the_result() {
    let s = Sandbox::new();
    let token = with_sub_agents(&s, "s");
    s.put("s/notes_transcript.jsonl", "{}\n");
    let whole = trajectory(&s, "./s.jsonl");
    let look = format!("look {token}");
    assert_eq!(
        nested(&whole),
        ["imported from Claude Code", &look, "deeper"]
    );
    let [imported, one, deep] = [0, 1, 2].map(|at| &whole["subagent_trajectories"][at]);
    assert_eq!(
        deep["trajectory_id"],
        format!("{}-2", one["trajectory_id"].as_str().unwrap())
    );
    let result = &steps(&whole)[1]["observation"]["results"][0];
    let refers_to = |agent: &Value| json!([{"trajectory_id": agent["trajectory_id"]}]);
    assert_eq!(result["subagent_trajectory_ref"], refers_to(one));
    let url = "data:image/png;base64,iVBO";
    assert_eq!(
        result["content"][1]["source"],
        json!({"media_type": "image/png", "path": url})
    );
    let of_import = &steps(&whole)[2]["observation"]["results"][0]["subagent_trajectory_ref"];
    assert_eq!(*of_import, refers_to(imported));
    // Those of another branch stay there.
    assert_eq!(
        nested(&trajectory(&s, "./s.jsonl other")),
        ["on another branch"]
    );
    assert_eq!(nested(&trajectory(&s, "./s.jsonl a")), [""; 0]);
    // Secrets are removed from sub-agents, too.
    let clean = s
        .unchanged("export --as atif -o - --redact ./s.jsonl")
        .text();
    assert!(
        !clean.contains(&token) && clean.contains("[REDACTED:github-pat#1]"),
        "{clean}"
    );
}

#[test]
fn a_directory_of_sessions_becomes_one_of_trajectories() {
    let s = Sandbox::with(&["tour.jsonl"]);
    s.put("all/tour.jsonl", fixture("tour.jsonl"));
    s.put("all/p/omp.jsonl", fixture("omp.jsonl"));
    s.put("all/p/omp/sub.jsonl", sub_agent("c", "part of omp", &[]));
    s.put("all/empty.jsonl", session::<&str>(&[]));
    std::fs::create_dir(s.path("to")).unwrap();
    let done = s.pisess("export --as atif ./all -o ./to").done();
    assert_snapshot!(done, @"
    ./to/omp.json
    ./to/tour.json
    2> pisess: note: ./all/empty.jsonl: the path has no message (hint: name an entry further down)
    2> pisess: note: 1 other branch (8 messages) of 1 session not exported (hint: export a session with the REF of another branch; `pisess branches` lists them)
    ");
    assert_eq!(
        s.text("to/tour.json"),
        s.run("export -q --as atif ./tour.jsonl -o -")
    );
    // One that has the same content is kept.
    s.put("to/omp.json", "another");
    assert_snapshot!(s.pisess("export --as atif ./all -o ./to").done(), @"
    ./to/tour.json
    2> pisess: cannot create ./to/omp.json: it already exists (hint: choose another name, or overwrite it with --force)
    2> pisess: note: ./all/empty.jsonl: the path has no message (hint: name an entry further down)
    2> pisess: note: 1 other branch (8 messages) of 1 session not exported (hint: export a session with the REF of another branch; `pisess branches` lists them)
    exit 2
    ");
    s.put("all/q/omp.jsonl", fixture("v1.jsonl"));
    assert_snapshot!(s.pisess("export --as atif ./all -o ./to --force").done(), @"
    ./to/omp.json
    ./to/tour.json
    2> pisess: ./all/q/omp.jsonl: another session has the same file name (hint: export it with another -o)
    2> pisess: note: ./all/empty.jsonl: the path has no message (hint: name an entry further down)
    2> pisess: note: 1 other branch (8 messages) of 1 session not exported (hint: export a session with the REF of another branch; `pisess branches` lists them)
    exit 2
    ");
    assert_snapshot!(s.pisess("export --as atif ./all -o ./new").done().fails(2), @"the sessions of a directory are exported to a directory (hint: give an existing directory with -o, or a path that ends in /)");
    assert_snapshot!(s.pisess("export --as atif ./all 61a7f2cc").done().fails(2), @"REF is an entry of one session (hint: omit REF, or give a session)");
}

#[test]
fn a_path_without_a_message_is_no_trajectory() {
    let s = Sandbox::with(&["tour.jsonl"]);
    assert_snapshot!(s.unchanged("export --as atif -o - ./tour.jsonl root").fails(1), @"./tour.jsonl: the path has no message (hint: name an entry further down)");
    assert_snapshot!(s.unchanged("export --as atif --static ./tour.jsonl").fails(2), @"--static applies only to HTML (hint: omit --static or --as)");
}

#[test]
fn every_hazard_has_a_trajectory_or_an_error() {
    let s = Sandbox::new();
    for name in hazards() {
        s.put("s.jsonl", fixture(&format!("hazards/{name}.jsonl")));
        let done = s.unchanged("export --as atif -o - ./s.jsonl");
        if done.code == 0 {
            serde_json::from_slice::<Value>(&done.stdout).unwrap();
        }
        assert!(done.code <= 2, "{name}: {}", done.code);
    }
}

/// Writes a trajectory of every fixture and of 200 generated sessions of both agents, and validates
/// them.
#[test]
#[ignore = "needs the Python package harbor: tests/trajectories/run installs it"]
fn the_models_of_the_format_accept_every_trajectory() {
    let s = Sandbox::new();
    let hazards = hazards().into_iter().map(|name| format!("hazards/{name}"));
    let plain = [
        "tour",
        "two-branches",
        "omp",
        "omp-no-slot",
        "draft-tree",
        "v1",
        "v2",
        "kinds/pi",
        "kinds/omp",
    ];
    let fixtures = plain
        .map(str::to_owned)
        .into_iter()
        .chain(hazards)
        .map(|name| fixture(&format!("{name}.jsonl")));
    let generated = (0..200).map(|seed| Generated::new(seed).session().into_bytes());
    let mut count = 0;
    for bytes in fixtures.chain(generated) {
        s.put("s.jsonl", bytes);
        let done = s.unchanged("export --as atif -o - ./s.jsonl");
        if done.code == 0 {
            s.put(&format!("out/{count}.json"), done.stdout);
            count += 1;
        }
    }
    assert!(count > 200, "{count}");
    // A directory at once: sessions with sub-agents, images and forks, and all imported ones.
    with_sub_agents(&s, "all/s");
    s.put("all/tour.jsonl", fixture("tour.jsonl"));
    s.run("fork ./all/tour.jsonl -o ./all/fork.jsonl");
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");
    s.pisess(&format!(
        "import -q -o ./all '{sources}/claude' '{sources}/codex'"
    ))
    .done();
    let done = s.pisess("export -q --as atif ./all -o ./out").done();
    count += done.quiet().lines().count();
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/trajectories/validate.py"
    );
    let done = Command::new("python3")
        .arg(script)
        .arg(s.path("out"))
        .output()
        .unwrap();
    let said =
        String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}");
    assert_eq!(said, format!("{count} trajectories are valid\n"));
}
