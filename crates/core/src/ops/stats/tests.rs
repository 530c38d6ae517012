use crate::load::LoadOptions;
use crate::ops::stats::*;
use crate::session::entry::LineNo;
use crate::session::usage::SubAgents;
use pisess_store::FoundFile;
use std::fmt::Write as _;
use std::path::Path;

const USAGE: &str = r#""usage":{"input":10,"output":5,"cacheRead":3,"cacheWrite":2,"totalTokens":20,"cost":{"input":1,"total":0.5}}"#;

fn options() -> LoadOptions {
    LoadOptions {
        entry_keys: true,
        usage: true,
        stats: true,
        ..LoadOptions::default()
    }
}

/// Builds the lines of a session, with increasing ids and times.
#[derive(Default)]
struct Made {
    lines: String,
    seconds: u32,
}

impl Made {
    fn session(id: &str) -> Made {
        let header =
            format!(r#"{{"type":"session","version":3,"id":"{id}","timestamp":"x","cwd":"/p"}}"#);
        Made {
            lines: header + "\n",
            seconds: 0,
        }
    }

    /// Adds an entry, this many seconds after the previous one.
    fn entry(mut self, after: u32, kind: &str, body: &str) -> Made {
        self.seconds += after;
        let (minute, second) = (self.seconds / 60, self.seconds % 60);
        writeln!(
            self.lines,
            r#"{{"type":"{kind}","id":"e{}","parentId":null,"timestamp":"2026-11-01T00:{minute:02}:{second:02}.000Z",{body}}}"#,
            self.lines.lines().count()
        )
        .unwrap();
        self
    }

    fn message(self, after: u32, body: &str) -> Made {
        self.entry(after, "message", &format!(r#""message":{{{body}}}"#))
    }

    fn turn(self) -> Made {
        self.message(100, r#""role":"user","content":"do it""#)
            .message(5, &format!(r#""role":"assistant","provider":"p","model":"m","content":[{{"type":"text","text":"toolCall"}},{{"type":"toolCall","name":"edit","arguments":{{"path":"a.rs"}}}},{{"type":"toolCall","name":"bash","arguments":{{"path":"x"}}}}],{USAGE}"#))
            .message(2, r#""role":"toolResult","toolName":"edit","isError":false,"content":[]"#)
            .message(1, r#""role":"toolResult","toolName":"bash","isError":true,"content":[]"#)
    }

    fn collect(&self) -> SessionStats {
        let source = self.lines.as_bytes().to_vec();
        collect_stats(&source, &options(), None, None).unwrap()
    }

    fn totals(&self) -> Totals {
        let stats = self.collect();
        let mut totals = Totals::default();
        stats
            .entries
            .iter()
            .for_each(|entry| totals.add_with_calls(&stats.session, entry, 0));
        totals
    }
}

#[test]
fn usage_is_found_wherever_an_agent_writes_it() {
    let made = Made::session("s")
        .entry(
            1,
            "usage",
            &format!(r#""kind":"cache_warm","provider":"p","model":"m",{USAGE}"#),
        )
        .entry(
            1,
            "model_usage",
            &format!(r#""purpose":"x","provider":"p","model":"m",{USAGE}"#),
        )
        .entry(1, "compaction", &format!(r#""summary":"s",{USAGE}"#))
        .entry(1, "compaction", r#""summary":"s""#)
        .entry(1, "branch_summary", &format!(r#""summary":"s",{USAGE}"#))
        .message(1, &format!(r#""role":"toolResult","toolName":"x",{USAGE}"#))
        .message(
            1,
            &format!(r#""role":"toolResult","toolName":"task","details":{{{USAGE}}}"#),
        )
        .message(1, r#""role":"assistant","content":[]"#)
        .message(1, r#""role":"assistant","usage":{"input":1}"#)
        .entry(1, "custom", USAGE);
    let totals = made.totals();
    assert_eq!(
        (
            totals.usage.request_count,
            totals.usage.unpriced_count,
            totals.usage.cost,
            totals.usage.input
        ),
        (8, 2, 3.0, 61.0)
    );
    assert_eq!(totals.messages, 4);
    let source = made.lines.clone().into_bytes();
    let owner = Path::new("s.jsonl");
    let child = FoundFile {
        path: "s/1.jsonl".into(),
        owner: Some(owner.into()),
        is_given: false,
    };
    let agents = SubAgents::from_files(&[child]);
    let counted_agents = CountedAgents {
        session_path: owner,
        agents: &agents,
    };
    let stats = collect_stats(&source, &options(), Some(counted_agents), None).unwrap();
    assert_eq!(
        stats
            .entries
            .iter()
            .filter(|entry| entry.usage.is_some())
            .count(),
        6
    );
}

#[test]
fn a_turn_lasts_until_its_last_answer_whatever_the_clock_does() {
    let answer = r#""role":"assistant","content":[]"#;
    let made = Made::session("s")
        .message(7, answer)
        .message(10, r#""role":"user","content":"a""#)
        .message(4, answer)
        .entry(500, "model_change", r#""provider":"p""#)
        .message(10, r#""role":"user","content":"b""#)
        .message(6, answer);
    assert_eq!(made.totals().took_ms, 10_000);
    // In one case, the second answer is dated before its request; in the other, that request has no
    // valid time.
    for (time, other) in [("00:08:57", "00:08:40"), ("2026-11-01T00:08:51.000Z", "x")] {
        assert!(made.lines.contains(time));
        let made = Made {
            lines: made.lines.replace(time, other),
            seconds: 0,
        };
        assert_eq!(made.totals().took_ms, 4000);
    }
}

#[test]
fn copies_are_those_of_other_files() {
    let mut fork = Made::session("b").turn();
    let again = fork.lines.lines().last().unwrap().to_owned();
    fork.lines += &format!("{again}\n");
    let mut earlier = EarlierEntries::default();
    let stats = fork.collect();
    assert_eq!(earlier.find_copies(&stats), [false; 5]);
    earlier.add_session(&stats);
    assert_eq!(earlier.find_copies(&fork.collect()), [true; 5]);
}

#[test]
fn entries_without_an_id_are_known_by_session_line_and_time() {
    let old = |id: &str| Made {
        lines: format!(
            "{{\"type\":\"session\",\"id\":\"{id}\"}}\n{{\"type\":\"message\",\"timestamp\":\"2026-11-01T00:00:00Z\",\"message\":{{\"role\":\"user\"}}}}\n"
        ),
        seconds: 0,
    };
    let mut earlier = EarlierEntries::default();
    let is_copy = ["a", "b", "a"].map(|id| {
        let stats = old(id).collect();
        let is_copy = earlier.find_copies(&stats);
        earlier.add_session(&stats);
        is_copy[0]
    });
    assert_eq!(is_copy, [false, false, true]);
}

#[test]
fn damaged_lines_are_passed_and_counted() {
    let mut made = Made::session("s").turn();
    made.lines.insert_str(
        made.lines.find('\n').unwrap() + 1,
        "\n{\"torn\n{} {}\nnull\n[1]\n\"x\"\n",
    );
    made.lines += "{\"type\":\"mess";
    let stats = made.collect();
    assert_eq!(
        stats.malformed.map(|lines| (lines.count, lines.first.0)),
        Some((2, 3))
    );
    assert_eq!(stats.entries.len(), 4);
    assert_eq!(stats.entries[0].line, Some(LineNo(8)));
}
