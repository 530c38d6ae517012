//! `pisess branches`: the tips of a session.

use crate::sandbox::{Sandbox, fixture, session, user};
use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::{Value, json};

const TWO: &str = "two-branches.jsonl";

#[test]
fn the_newest_first() {
    let s = Sandbox::with(&["tour.jsonl", TWO, "omp.jsonl"]);
    assert_snapshot!(s.unchanged("branches ./tour.jsonl"), @r#"
       id        age  entries  tokens  branch point                              first user message                                                               last user message                                                                   outcome
    *  2f5dc03e  1mo       13    1.5k  27d4c96f `departs_in` subtracts minutes…  Undo that, and take the nearer of the two: yesterday's or tomorrow's departure.  [green] on 648dc1b3  Now a line for the changelog, for people who don't read code.  "Ferries after midnight no longer show as gone: asked at 23:50, the 00:10 departs in 20 minutes."
       5c07d14b  1mo        8    3.5k  27d4c96f `departs_in` subtracts minutes…  Just add a day when it comes out negative.                                       Hm. What would you do instead?                                                      (failed) 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}
    "#);
    assert_snapshot!(s.unchanged("branches --json ./tour.jsonl"), @r#"
    {"id":"2f5dc03e","line":32,"timestamp":"2026-03-14T09:43:54.589Z","label":"green","entries":13,"branchPoint":"f05b1e83","tokens":1541,"active":true,"question":{"id":"86e2a1fb","label":null,"text":"Now a line for the changelog, for people who don't read code."},"outcome":{"id":"2f5dc03e","role":"assistant","text":"\"Ferries after midnight no longer show as gone: asked at 23:50, the 00:10 departs in 20 minutes.\"","failed":false},"firstQuestion":{"id":"3de1b752","label":null,"text":"Undo that, and take the nearer of the two: yesterday's or tomorrow's departure."}}
    {"id":"5c07d14b","line":18,"timestamp":"2026-03-14T09:29:59.589Z","label":null,"entries":8,"branchPoint":"f05b1e83","tokens":3540,"active":false,"question":{"id":"ee2b93f5","label":null,"text":"Hm. What would you do instead?"},"outcome":{"id":"5c07d14b","role":"assistant","text":"529 {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}","failed":true},"firstQuestion":{"id":"3ac9d7e4","label":null,"text":"Just add a day when it comes out negative."}}
    "#);
    assert_snapshot!(s.unchanged("branches ./two-branches.jsonl"), @"
       id        age  entries  tokens  branch point                              last user message            outcome
    *  1a2b3c07  4mo        2      31  1a2b3c02 Tissue paper is light, washi i…  Washi then. How big?         A metre and more, with a bamboo spar.
       1a2b3c05  4mo        2      31  1a2b3c02 Tissue paper is light, washi i…  Tissue paper then. How big?  Half a metre; larger ones tear.
    ");
    assert_snapshot!(s.unchanged("branches ./omp.jsonl"), @"
       id        age  entries  tokens  last user message               outcome
    *  b5c6d7e8  1mo       12   10.4k  Look at the EXIF data of c.jpg  It is from 2021.
    ");
    assert_snapshot!(s.pisess("branches ./tour.jsonl").terminal(60).done().text().replace('\u{1b}', "␛"), @r#"
       ␛[4mid␛[0m        ␛[4mage␛[0m  ␛[4mentries␛[0m  ␛[4mtokens␛[0m  ␛[4mbranch point␛[0m  ␛[4mlast…␛[0m  ␛[4mout…␛[0m
    ␛[36m*␛[0m  ␛[34;1m2f5d␛[0m␛[2mc03e␛[0m  ␛[2m1mo␛[0m       13    1.5k  ␛[34;1m27d4␛[0m␛[2mc96f␛[0m      ␛[33m[gre…␛[0m  "Fe…
       ␛[34;1m5c07␛[0m␛[2md14b␛[0m  ␛[2m1mo␛[0m        8    3.5k  ␛[34;1m27d4␛[0m␛[2mc96f␛[0m      Hm.…   ␛[31m(fa…␛[0m
    "#);
}

/// Labels, and entries that record a move of the leaf, belong to the branch at whose tip they are,
/// however many there are, in a chain or as siblings.
#[test]
fn notes_are_no_branch() {
    let s = Sandbox::with(&[TWO]);
    let before = s.run("branches ./two-branches.jsonl");
    s.run("label ./two-branches.jsonl 1a2b3c02 papers");
    s.run("switch -q ./two-branches.jsonl 1a2b3c07");
    s.run("label ./two-branches.jsonl 1a2b3c02 --clear");
    assert_eq!(s.run("branches ./two-branches.jsonl"), before);
    // A label on such an entry is a label of the branch.
    s.run("label ./two-branches.jsonl @ washi");
    s.run("label ./two-branches.jsonl 1a2b3c04 tissue");
    s.run("switch ./two-branches.jsonl 1a2b3c05");
    assert_snapshot!(s.run("branches ./two-branches.jsonl"), @"
       id                age  entries  tokens  branch point                              last user message                     outcome
       1a2b3c07 [washi]  4mo        2      31  1a2b3c02 Tissue paper is light, washi i…  Washi then. How big?                  A metre and more, with a bamboo spar.
    *  1a2b3c05          4mo        2      31  1a2b3c02 Tissue paper is light, washi i…  [tissue] Tissue paper then. How big?  Half a metre; larger ones tear.
    ");
}

#[test]
fn where_one_stands_in_the_middle_is_a_branch() {
    let s = Sandbox::with(&[TWO]);
    s.run("switch ./two-branches.jsonl 1a2b3c06");
    assert_snapshot!(s.run("branches ./two-branches.jsonl"), @"
       id        age  entries  tokens  branch point                              last user message                outcome
    *  1a2b3c02  now        0      16  1a2b3c02 Tissue paper is light, washi i…  [start] Which paper for a kite?  Tissue paper is light, washi is strong.
       1a2b3c07  4mo        2      31  1a2b3c02 Tissue paper is light, washi i…  Washi then. How big?             A metre and more, with a bamboo spar.
       1a2b3c05  4mo        2      31  1a2b3c02 Tissue paper is light, washi i…  Tissue paper then. How big?      Half a metre; larger ones tear.
    ");
    assert!(
        s.run("branches --json ./two-branches.jsonl")
            .contains(r#"{"id":"1a2b3c02","line":3,"#)
    );
    s.run("switch ./two-branches.jsonl 1a2b3c04");
    s.run("switch ./two-branches.jsonl 1a2b3c01");
    assert_snapshot!(s.run("branches ./two-branches.jsonl"), @"
       id        age  entries  tokens  branch point                              last user message            outcome
    *  27aa2424  now        0       0
       1a2b3c07  4mo        2      31  1a2b3c02 Tissue paper is light, washi i…  Washi then. How big?         A metre and more, with a bamboo spar.
       1a2b3c05  4mo        2      31  1a2b3c02 Tissue paper is light, washi i…  Tissue paper then. How big?  Half a metre; larger ones tear.
    ");
    assert_snapshot!(s.run("branches --json ./two-branches.jsonl").lines().next().unwrap(), @r#"{"id":"27aa2424","line":10,"timestamp":"2026-05-04T12:00:00.000Z","label":null,"entries":0,"branchPoint":null,"tokens":0,"active":true,"question":null,"outcome":null,"firstQuestion":null}"#);
    // An entry that a `leaf` record makes the leaf.
    let record = r#"{"type":"leaf","id":"l","parentId":"1a2b3c07","timestamp":"2026-01-01T00:00:08.000Z","targetId":"1a2b3c06"}"#;
    s.put(
        "record.jsonl",
        [fixture(TWO), record.into(), b"\n".to_vec()].concat(),
    );
    assert_snapshot!(s.run("branches ./record.jsonl"), @"
       id        age  entries  tokens  branch point                              last user message            outcome
       1a2b3c07  4mo        1      31  1a2b3c06 user: Washi then. How big?       Washi then. How big?         A metre and more, with a bamboo spar.
    *  1a2b3c06  4mo        1      21  1a2b3c02 Tissue paper is light, washi i…  Washi then. How big?
       1a2b3c05  4mo        2      31  1a2b3c02 Tissue paper is light, washi i…  Tissue paper then. How big?  Half a metre; larger ones tear.
    ");
}

#[test]
fn of_a_session_without_a_conversation() {
    let s = Sandbox::with(&["hazards/header-only.jsonl"]);
    assert_eq!(s.unchanged("branches ./header-only.jsonl").text(), "");
    let note = |id: &str, parent: &str| {
        format!(
            r#"{{"type":"custom","customType":"n","id":"{id}","parentId":{parent},"timestamp":"2026-01-01T00:00:08.000Z"}}"#
        )
    };
    s.put(
        "notes.jsonl",
        session(&[note("a", "null"), note("b", "null"), note("c", "\"b\"")]),
    );
    assert_snapshot!(s.unchanged("branches ./notes.jsonl"), @"
       id  age  entries  tokens  last user message  outcome
    *  c   4mo        0       0  custom: n
    ");
}

#[test]
fn older_files_as_if_migrated() {
    let s = Sandbox::with(&["v1.jsonl", "v2.jsonl", "draft-tree.jsonl"]);
    for name in s.names() {
        s.run(&format!("migrate ./{name} -o ./new"));
        let told = s
            .unchanged(&format!("branches --json ./{name}"))
            .quiet()
            .replace(name.as_str(), "");
        assert_eq!(s.run("branches --json ./new"), told, "{name}");
        std::fs::remove_file(s.path("new")).unwrap();
    }
}

/// The kind of a generated entry.
#[derive(Clone, Debug)]
enum Made {
    User(usize),
    Answer {
        units: usize,
        usage: Option<u32>,
        stop: &'static str,
    },
    Other(&'static str, usize),
    Compaction {
        kept: usize,
        system: bool,
    },
    Edit {
        target: usize,
        how: u8,
    },
    Summary(usize),
    Note,
}

fn made() -> impl Strategy<Value = Made> {
    let usage = prop::option::weighted(0.4, prop::sample::select(vec![0_u32, 7, 100, 5000]));
    let stop = prop::sample::select(vec!["stop", "stop", "toolUse", "error", "aborted"]);
    let other = prop::sample::select(vec![
        "toolResult",
        "system",
        "system",
        "custom",
        "bashExecution",
        "developer",
        "custom_message",
    ]);
    prop_oneof![
        3 => (0..40_usize).prop_map(Made::User),
        4 => (0..40_usize, usage, stop).prop_map(|(units, usage, stop)| Made::Answer { units, usage, stop }),
        3 => (other, 0..40_usize).prop_map(|(role, units)| Made::Other(role, units)),
        2 => (0..40_usize, any::<bool>()).prop_map(|(kept, system)| Made::Compaction { kept, system }),
        3 => (0..40_usize, 0..4_u8).prop_map(|(target, how)| Made::Edit { target, how }),
        1 => (0..9_usize).prop_map(Made::Summary),
        1 => Just(Made::Note),
    ]
}

impl Made {
    fn fields(&self) -> Value {
        let text = |units: &usize| "x".repeat(*units);
        match self {
            Made::User(units) => {
                json!({"type": "message", "message": {"role": "user", "content": text(units)}})
            }
            Made::Answer { units, usage, stop } => {
                let usage = usage.map(|tokens| json!({"totalTokens": tokens, "input": 3, "output": 0, "cacheRead": 0, "cacheWrite": 0}));
                let content = json!([{"type": "text", "text": text(units)}, {"type": "toolCall", "name": "read", "arguments": {"a": 1}}]);
                json!({"type": "message", "message": {"role": "assistant", "content": content, "usage": usage, "stopReason": stop}})
            }
            Made::Other("custom_message", units) => {
                json!({"type": "custom_message", "customType": "c", "content": text(units), "display": true})
            }
            Made::Other("system", units) => {
                let tools: Vec<_> = (0..units % 3)
                    .map(|n| json!({"name": format!("t{n}"), "about": text(units)}))
                    .collect();
                let removed = json!([{"name": format!("t{}", units % 2)}]);
                let sections = json!({ format!("s{}", units % 3): if units % 4 == 0 { Value::Null } else { text(units).into() } });
                json!({"type": "message", "message": {"role": "system", "content": text(units), "sections": sections, "toolsAdded": tools, "toolsRemoved": removed, "timestamp": 1}})
            }
            Made::Other(role, units) => {
                json!({"type": "message", "message": {"role": role, "content": text(units), "command": "c", "output": text(units)}})
            }
            Made::Compaction { kept, system } => {
                let system = system
                    .then(|| json!({"role": "system", "content": "in force", "timestamp": 1}));
                let mut entry = json!({"type": "compaction", "summary": "short", "firstKeptEntryId": format!("i{kept}"), "tokensBefore": 1});
                if let Some(system) = system {
                    entry["systemMessage"] = system;
                }
                entry
            }
            Made::Edit { target, how } => {
                let replacement = [
                    Some(Value::Null),
                    Some(json!({"content": "twelve chars"})),
                    Some(json!({"content": [{"type": "text", "text": "y"}]})),
                    None,
                ];
                let mut entry = json!({"type": "context_edit", "targetId": format!("i{target}")});
                if let Some(replacement) = replacement[usize::from(*how)].clone() {
                    entry["replacement"] = replacement;
                }
                entry
            }
            Made::Summary(units) => {
                json!({"type": "branch_summary", "fromId": "root", "summary": text(units)})
            }
            Made::Note => json!({"type": "custom", "customType": "n"}),
        }
    }
}

/// Returns a session of these entries. The number with each entry is the distance to its parent,
/// with exceptions: for example, 31 refers to a later entry.
fn grown(entries: &[(Made, usize)], signs: &str) -> Vec<u8> {
    let mut lines = vec![signs.to_owned()];
    for (at, (made, back)) in entries.iter().enumerate() {
        let parent = match back {
            0..=2 if at > 0 => json!(format!("i{}", at - 1)),
            3..=30 if at >= *back => json!(format!("i{}", at - back)),
            31 => json!(format!("i{}", at + 2)),
            _ => Value::Null,
        };
        let mut entry = made.fields();
        // Some ids are duplicates.
        entry["id"] = json!(format!(
            "i{}",
            if *back == 29 {
                at.saturating_sub(3)
            } else {
                at
            }
        ));
        entry["parentId"] = parent;
        entry["timestamp"] = json!("2026-01-01T00:00:00.000Z");
        lines.push(entry.to_string());
    }
    session(&lines)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, fork: false, failure_persistence: None, ..ProptestConfig::default() })]

    /// Sizes at many tips, from sums and from messages that were read for other tips, are those of
    /// each path.
    #[test]
    fn tokens_are_those_of_the_context(
        entries in prop::collection::vec((made(), prop_oneof![6 => 0..3_usize, 3 => 3..32_usize]), 1..40),
        omp in any::<bool>(),
    ) {
        let signs = if omp { r#"{"type":"model_change","id":"m","parentId":null,"model":"p/m"}"# } else { r#"{"type":"session_info","id":"m","parentId":null,"name":"n"}"# };
        let s = Sandbox::new();
        s.put("x.jsonl", grown(&entries, signs));
        let rows = s.pisess("branches -q --json ./x.jsonl").done();
        prop_assert_eq!(rows.code, 0);
        for row in rows.text().lines() {
            let row: Value = serde_json::from_str(row).unwrap();
            let told = s.pisess(&format!("context -q --tokens ./x.jsonl :{}", row["line"])).done().text();
            prop_assert_eq!(row["tokens"].to_string(), told.trim(), "{}", row);
        }
    }
}

/// Without a provider's count, too, each entry is read once.
#[test]
fn many_leaves_below_a_long_path_have_sizes() {
    let s = Sandbox::new();
    let entry = |id: usize, parent: usize| {
        let parent = parent.checked_sub(1).map(|at| format!("i{at}"));
        user(&format!("i{id}"), parent.as_deref(), "four")
    };
    let entries = (0..200)
        .map(|at| entry(at, at))
        .chain((200..5200).map(|at| entry(at, 200)));
    s.put("x.jsonl", session(&entries.collect::<Vec<_>>()));
    let rows = s.run("branches --json ./x.jsonl");
    assert_eq!(rows.matches("\"tokens\":201,").count(), 5000);
}

/// After a compaction, the context of a tip on a long path is small, so each tip has its estimate.
#[test]
fn many_leaves_below_a_compaction_have_estimates() {
    let s = Sandbox::new();
    let mut lines = Vec::new();
    for at in 0..4000_usize {
        let parent = at.checked_sub(1).map(|parent| format!("i{parent}"));
        lines.push(user(&format!("i{at}"), parent.as_deref(), "four"));
    }
    let compaction = json!({
        "type": "compaction", "id": "cut", "parentId": "i3999", "timestamp": "2026-03-01T10:00:00.000Z",
        "summary": "long ".repeat(100), "firstKeptEntryId": "i3999", "tokensBefore": 4000,
    });
    lines.push(compaction.to_string());
    for at in 0..300 {
        let reply = json!({
            "type": "message", "id": format!("r{at}"), "parentId": "cut", "timestamp": "2026-03-01T10:00:00.000Z",
            "message": {
                "role": "assistant", "content": [{"type": "text", "text": "yes"}], "stopReason": "stop",
                "usage": {"input": 2, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 3},
            },
        });
        lines.push(reply.to_string());
    }
    s.put("x.jsonl", session(&lines));
    let rows = s.run("branches -q --json ./x.jsonl");
    assert_eq!(rows.lines().count(), 300);
    assert_eq!(
        rows.matches("\"contextEstimate\":").count(),
        300,
        "{}",
        rows.lines().next().unwrap()
    );
}

#[test]
fn a_skills_question_is_what_the_user_typed() {
    let header = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/p"}"#;
    let of_omp = r#"{"type":"mode_change","mode":"none","id":"e1","parentId":"e0","timestamp":"2026-03-01T10:00:02.000Z"}"#;
    let prompt = |details: &str| {
        format!(
            r#"{{"type":"custom_message","customType":"skill-prompt","content":"You are a releaser.","display":true,"attribution":"user","details":{details},"id":"e0","parentId":null,"timestamp":"2026-03-01T10:00:01.000Z"}}"#
        )
    };
    for (details, asked) in [
        (
            r#"{"name":"release","prompt":"/skill:release 2.3.0\n no tag"}"#,
            "/skill:release 2.3.0 no tag",
        ),
        (
            r#"{"name":"release","args":"2.3.0"}"#,
            "/skill:release 2.3.0",
        ),
        ("{}", "You are a releaser."),
    ] {
        let s = Sandbox::new();
        s.put(
            "s.jsonl",
            format!("{header}\n{}\n{of_omp}\n", prompt(details)),
        );
        let json: Value = serde_json::from_str(&s.run("branches --json ./s.jsonl")).unwrap();
        assert_eq!(json["question"]["text"], asked, "{json}");
        assert!(s.run("branches ./s.jsonl").contains(asked));
    }
}

/// Three tries, of which one passed the tests.
#[test]
fn the_outcome_of_each_branch() {
    let s = Sandbox::new();
    let entry = |id: &str, parent: &str, message: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":"{parent}","timestamp":"2026-01-01T00:00:0{}.000Z","message":{message}}}"#,
            &id[id.len() - 1..]
        )
    };
    let call = r#"{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"bash","arguments":{"command":"make test"}}],"stopReason":"toolUse"}"#;
    let result = |is_error: bool| {
        format!(
            r#"{{"role":"toolResult","toolCallId":"c","toolName":"bash","content":[{{"type":"text","text":"ran"}}],"isError":{is_error}}}"#
        )
    };
    let answer = |text: &str| {
        format!(
            r#"{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}],"stopReason":"stop"}}"#
        )
    };
    s.put(
        "s.jsonl",
        session(&[
            user("u1", None, "Fix the clock."),
            entry("a2", "u1", call),
            entry("a3", "a2", &result(true)),
            entry("a4", "a3", &answer("Two tests fail.")),
            entry("b5", "u1", call),
            entry("b6", "b5", &result(false)),
            entry("b7", "b6", &answer("All tests pass.")),
            entry("c8", "u1", call),
            entry("c9", "c8", &result(true)),
        ]),
    );
    assert_snapshot!(s.unchanged("branches ./s.jsonl"), @"
       id  age  entries  tokens  branch point             last user message  outcome
    *  c9  4mo        2      12  u1 user: Fix the clock.  Fix the clock.     (failed) bash: make test
       b7  4mo        3      16  u1 user: Fix the clock.  Fix the clock.     All tests pass.
       a4  4mo        3      16  u1 user: Fix the clock.  Fix the clock.     (failed) Two tests fail.
    ");
    assert_snapshot!(s.unchanged("branches --json ./s.jsonl").text().lines().nth(2).unwrap(), @r#"{"id":"a4","line":5,"timestamp":"2026-01-01T00:00:04.000Z","label":null,"entries":3,"branchPoint":"u1","tokens":16,"active":false,"question":{"id":"u1","label":null,"text":"Fix the clock."},"outcome":{"id":"a4","role":"assistant","text":"Two tests fail.","failed":true},"firstQuestion":null}"#);
}
