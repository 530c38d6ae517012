//! `pisess prune`: payloads, branches and what is above compactions into a file beside the session,
//! and back.

use crate::sandbox::{Sandbox, fixture, session};
use insta::assert_snapshot;

const HEADER: &str = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/home/u/p"}"#;

/// Returns a session with a payload of each kind, in lines that no serializer writes.
pub fn large() -> String {
    let data = "iVBORw0KGgo".repeat(200);
    let text = "a line of output\\n".repeat(100);
    let lines = [
        HEADER.to_owned(),
        format!(r#"{{ "type":"message","id":"aaaa0001","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{{"role":"user","content":[{{"type":"text","text":"see"}}, {{"mimeType":"image/png","data":"{data}","n":1e400,"type":"image"}}]}}}}"#),
        "not JSON".to_owned(),
        format!(r#"{{"type":"message","id":"aaaa0002","parentId":"aaaa0001","timestamp":"2026-01-01T00:00:02.000Z","message":{{"role":"toolResult","toolCallId":"c1","toolName":"bash","content":[{{"type":"text","text":"{text}\ud83d"}}],"details":{{"b":[1.0,"{text}"],"a":1,"a":2}},"isError":false}}}}{}"#, "\r"),
        r#"{"type":"message","id":"aaaa0003","parentId":"aaaa0002","timestamp":"2026-01-01T00:00:03.000Z","message":{"role":"assistant","content":[{"type":"text","text":"I see."}],"stopReason":"stop"}}"#.to_owned(),
        format!(r#"{{"type":"message","id":"aaaa0004","parentId":"aaaa0003","timestamp":"2026-01-01T00:00:04.000Z","message":{{"role":"bashExecution","command":"ls","output":"{text}","exitCode":0,"cancelled":false,"truncated":false}}}}"#),
        format!(r#"{{"type":"custom_message","customType":"x","content":"c","display":true,"details":"{text}","id":"aaaa0005","parentId":"aaaa0004","timestamp":"2026-01-01T00:00:05.000Z"}}"#),
    ];
    lines.join("\n")
}

fn with_large() -> Sandbox {
    let s = Sandbox::new();
    s.put("s.jsonl", large());
    s
}

#[test]
fn payloads_go_beside_the_session_and_notes_in_their_place() {
    let s = with_large();
    let done = s.pisess("prune ./s.jsonl --over 1k").done();
    assert_snapshot!(done, @r"
    ./s.jsonl.pruned
    2> pisess: note: ./s.jsonl: line 3 is not JSON; skipped or read as far as possible (hint: `pisess check` explains it)
    2> pisess: ./s.jsonl: 5 payloads pruned, 9.3 kB; session 11 kB to 1.2 kB
    2> pisess: SESSION.pruned holds what was pruned (hint: --restore puts it back; --purge removes it for good)
    ");
    assert_snapshot!(s.text("s.jsonl"), @r#"
    {"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/home/u/p"}
    { "type":"message","id":"aaaa0001","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":[{"type":"text","text":"see"}, {"type":"text","text":"[image removed, 2.3 kB png]"}]}}
    not JSON
    {"type":"message","id":"aaaa0002","parentId":"aaaa0001","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"toolResult","toolCallId":"c1","toolName":"bash","content":[{"type":"text","text":"[output of bash removed, 1.8 kB]"}],"details":{"pruned":"[details removed, 1.8 kB]"},"isError":false}}
    {"type":"message","id":"aaaa0003","parentId":"aaaa0002","timestamp":"2026-01-01T00:00:03.000Z","message":{"role":"assistant","content":[{"type":"text","text":"I see."}],"stopReason":"stop"}}
    {"type":"message","id":"aaaa0004","parentId":"aaaa0003","timestamp":"2026-01-01T00:00:04.000Z","message":{"role":"bashExecution","command":"ls","output":"[output of a command removed, 1.8 kB]","exitCode":0,"cancelled":false,"truncated":false}}
    {"type":"custom_message","customType":"x","content":"c","display":true,"details":{"pruned":"[details removed, 1.8 kB]"},"id":"aaaa0005","parentId":"aaaa0004","timestamp":"2026-01-01T00:00:05.000Z"}
    "#);
    let rows = s.text("s.jsonl.pruned");
    let rows: Vec<serde_json::Value> = rows
        .lines()
        .map(|line| {
            serde_json::from_str(&line.replace("1e400", "1").replace("\\ud83d", "")).unwrap()
        })
        .collect();
    assert_eq!(rows.len(), 6);
    assert_eq!(rows[0]["operations"][0]["records"], 5);
    assert_eq!(rows[2]["field"], "message.content[0].text");
    assert!(
        rows[2]["payload"]
            .as_str()
            .unwrap()
            .starts_with("a line of output\n")
    );
    // A model reads the placeholders.
    let text = s.pisess("context -q ./s.jsonl --as text").done().text();
    assert!(
        text.contains("[output of bash removed, 1.8 kB]")
            && text.contains("[image removed, 2.3 kB png]"),
        "{text}"
    );
    // Nothing is left to prune.
    assert_snapshot!(s.unchanged("prune -q ./s.jsonl --over 100"), @"");
}

/// `with_large` has an image of 1.6 kB, far below the size from which payloads are pruned.
#[test]
fn images_alone_are_pruned_whatever_their_size() {
    let s = with_large();
    s.pisess("prune -q ./s.jsonl --images --results").done();
    assert_eq!(s.text("s.jsonl"), large());

    s.pisess("prune -q ./s.jsonl --images").done();
    let text = s.pisess("context -q ./s.jsonl --as text").done().text();
    assert!(text.contains("[image removed, 2.3 kB png]"), "{text}");
    assert!(!text.contains("[output of bash removed"), "{text}");
    s.unchanged("prune -q ./s.jsonl --images");
}

#[test]
fn a_restored_session_is_what_it_was() {
    for (over, kinds) in [
        ("1k", ""),
        ("10", ""),
        ("1k", "--images"),
        ("1k", "--results"),
        ("1k", "--details --images"),
    ] {
        let s = with_large();
        s.pisess(&format!("prune -q ./s.jsonl --over {over} {kinds}"))
            .done();
        assert_ne!(s.text("s.jsonl"), large(), "{over} {kinds}");
        s.pisess("prune -q ./s.jsonl --restore").done();
        assert_eq!(s.text("s.jsonl"), large(), "{over} {kinds}");
        assert_eq!(s.names(), ["s.jsonl"]);
    }
}

#[test]
fn restore_keeps_entries_appended_since() {
    let s = with_large();
    s.pisess("prune -q ./s.jsonl --over 1k --images").done();
    s.pisess("append -q ./s.jsonl --user more").done();
    let added = s.text("s.jsonl").lines().last().unwrap().to_owned();
    s.pisess("prune -q ./s.jsonl --over 1k").done();
    s.pisess("label -q ./s.jsonl @ done").done();
    let label = s.text("s.jsonl").lines().last().unwrap().to_owned();
    s.pisess("prune -q ./s.jsonl --restore").done();
    assert_eq!(
        s.text("s.jsonl"),
        format!("{}\n{added}\n{label}\n", large())
    );
    assert_eq!(s.names(), ["s.jsonl"]);
}

#[test]
fn a_dry_run_shows_what_would_shrink() {
    let s = with_large();
    assert_snapshot!(s.unchanged("prune -q -n ./s.jsonl --over 1k").text(), @"
      size  id        kind        field                    entry
    2.3 kB  aaaa0001  image       message.content[1]       user: see
    1.8 kB  aaaa0002  result      message.content[0].text  bash
    1.8 kB  aaaa0002  details     message.details          bash
    1.8 kB  aaaa0004  result      message.output           bash: ls
    1.8 kB  aaaa0005  details     details                  x: c
    9.5 kB  total     5 payloads
    5 payloads; session 11 kB to 1.2 kB; context 2.1k to 29 tokens
    ");
    assert_snapshot!(s.unchanged("prune -q -n ./s.jsonl --over 1k --details --json").text(), @r#"
    {"id":"aaaa0002","line":4,"field":"message.details","kind":"details","bytes":1826}
    {"id":"aaaa0005","line":7,"field":"details","kind":"details","bytes":1802}
    "#);
    assert_snapshot!(s.unchanged("prune -q -n ./s.jsonl").text(), @"no payload is larger than 64 kB; session 11 kB; context 2.1k tokens");
    s.pisess("prune -q ./s.jsonl --over 1k").done();
    assert_snapshot!(s.unchanged("prune -q -n ./s.jsonl --restore").text(), @"
      size  id        field
    2.3 kB  aaaa0001  message.content[1]
    1.8 kB  aaaa0002  message.content[0].text
    1.8 kB  aaaa0002  message.details
    1.8 kB  aaaa0004  message.output
    1.8 kB  aaaa0005  details
    9.5 kB  total     5 parts
    ");
    let tokens = |json: &str| s.unchanged(json).stderr;
    assert_eq!(tokens("prune -q -n --json ./s.jsonl"), "");
}

#[test]
fn reports_are_json() {
    let s = with_large();
    assert_snapshot!(s.pisess("prune -q --json ./s.jsonl --over 1k").done().text(), @r#"
    {"path":"./s.jsonl","action":"rewrite","dryRun":false,"pruned":"./s.jsonl.pruned","payloads":5,"entries":0,"branches":0,"secrets":0,"bytes":9296}
    "#);
    assert_snapshot!(s.pisess("prune -q --json ./s.jsonl --over 1k").done().text(), @r#"
    {"path":"./s.jsonl","action":"nothing","dryRun":false,"pruned":"./s.jsonl.pruned","payloads":0,"entries":0,"branches":0,"secrets":0,"bytes":0}
    "#);
    assert_snapshot!(s.pisess("prune -q --json ./s.jsonl --restore").done().text(), @r#"
    {"path":"./s.jsonl","action":"rewrite","dryRun":false,"pruned":"./s.jsonl.pruned","payloads":5,"entries":0,"branches":0,"secrets":0,"bytes":0}
    "#);
    assert_snapshot!(s.pisess("prune -q --json ./s.jsonl --restore").done().text(), @r#"
    {"path":"./s.jsonl","action":"nothing","dryRun":false,"pruned":"./s.jsonl.pruned","payloads":0,"entries":0,"branches":0,"secrets":0,"bytes":0}
    "#);
}

#[test]
fn a_pruned_copy_has_payloads_of_its_own() {
    let s = with_large();
    s.pisess("prune -q ./s.jsonl --over 1k --images").done();
    let before = s.files();
    s.pisess("prune -q ./s.jsonl --over 1k -o ./copy.jsonl")
        .done();
    assert_eq!(
        s.names(),
        [
            "copy.jsonl",
            "copy.jsonl.pruned",
            "s.jsonl",
            "s.jsonl.pruned"
        ]
    );
    s.pisess("prune -q ./copy.jsonl --restore").done();
    assert_eq!(s.text("copy.jsonl"), large());
    s.pisess("prune -q ./s.jsonl --restore -o ./whole.jsonl")
        .done();
    assert_eq!(s.text("whole.jsonl"), large());
    assert!(before.iter().all(|(name, bytes)| s.bytes(name) == *bytes));
    let said = s
        .unchanged("prune -q ./s.jsonl --over 1k -o ./copy.jsonl")
        .fails(2);
    assert!(
        said.starts_with("cannot create ./copy.jsonl: it already exists"),
        "{said}"
    );
}

#[test]
fn older_sessions_are_not_migrated() {
    for name in [
        "v1.jsonl",
        "v2.jsonl",
        "draft-tree.jsonl",
        "tour.jsonl",
        "omp.jsonl",
        "omp-no-slot.jsonl",
    ] {
        let s = Sandbox::with(&[name]);
        s.pisess(&format!("prune -q --force ./{name} --over 1"))
            .done();
        s.pisess(&format!("prune -q --force ./{name} --restore"))
            .done();
        assert_eq!(s.bytes(name), fixture(name), "{name}");
        assert_eq!(s.names(), [name]);
    }
    for name in crate::sandbox::hazards() {
        let s = Sandbox::with(&[&format!("hazards/{name}.jsonl")]);
        s.pisess(&format!("prune -q --force ./{name}.jsonl --over 1"))
            .done();
        s.pisess(&format!("prune -q --force ./{name}.jsonl --restore"))
            .done();
        assert_eq!(
            s.bytes(&format!("{name}.jsonl")),
            fixture(&format!("hazards/{name}.jsonl")),
            "{name}"
        );
    }
}

#[test]
fn refuses_a_stream_and_a_mismatched_pruned_file() {
    let s = with_large();
    let piped = s.pisess("prune -").stdin(large()).done();
    assert!(
        piped.code == 2 && piped.stderr.contains("a stream cannot be pruned"),
        "{piped}"
    );
    assert_snapshot!(s.unchanged("prune -q ./s.jsonl -o -").fails(2), @"
    -o -: the payloads go to a file beside the result, so the result must be a file (hint: give a path with -o)
    ");
    s.put("s.jsonl.pruned", "nothing of ours\n");
    assert_snapshot!(s.unchanged("prune -q ./s.jsonl --restore").fails(2), @"
    ./s.jsonl.pruned:1: the line is not a pruned payload
    ");
    s.unchanged("prune -q ./s.jsonl --over 1k").fails(2);
    // If a placeholder is not in the session, nothing is restored without --force.
    s.put("s.jsonl.pruned", "");
    s.pisess("prune -q ./s.jsonl --over 1k").done();
    let pruned = s
        .text("s.jsonl")
        .replace("[image removed, 2.3 kB png]", "gone");
    s.put("s.jsonl", &pruned);
    assert_snapshot!(s.unchanged("prune -q ./s.jsonl --restore").fails(2), @"
    ./s.jsonl: a placeholder for ./s.jsonl.pruned is not in the session, such as message.content[1] of aaaa0001 (hint: --force puts the others back and keeps SESSION.pruned)
    ");
    s.pisess("prune -q --force ./s.jsonl --restore").done();
    assert!(
        s.text("s.jsonl").contains("gone") && !s.text("s.jsonl").contains("output of bash removed")
    );
    assert_eq!(s.names(), ["s.jsonl", "s.jsonl.pruned"]);
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::process::{Command, Stdio};

    #[test]
    fn a_link_is_followed_to_the_session_and_to_what_was_pruned() {
        let s = Sandbox::new();
        s.put("real/s.jsonl", large());
        symlink("real/s.jsonl", s.path("link.jsonl")).unwrap();
        s.pisess("prune -q ./link.jsonl --over 1k").done();
        assert_eq!(
            s.names(),
            ["link.jsonl", "real/s.jsonl", "real/s.jsonl.pruned"]
        );
        s.pisess("prune -q ./real/s.jsonl --restore").done();
        assert_eq!(s.text("real/s.jsonl"), large());
        // If the session cannot be rewritten, nothing is left behind.
        fs::hard_link(s.path("real/s.jsonl"), s.path("hard.jsonl")).unwrap();
        s.unchanged("prune -q ./hard.jsonl --over 1k").fails(2);
    }

    #[test]
    fn payloads_never_go_into_a_fifo() {
        let s = with_large();
        assert!(
            Command::new("mkfifo")
                .arg(s.path("s.jsonl.pruned"))
                .status()
                .unwrap()
                .success()
        );
        let said = s.unchanged("prune -q ./s.jsonl --over 1k").fails(2);
        assert!(said.contains("not a regular file"), "{said}");
    }

    /// A session that takes some time to write.
    fn larger() -> String {
        let mut text = format!("{HEADER}\n");
        let payload = "0123456789".repeat(4000);
        for at in 0..60 {
            text += &format!(
                r#"{{"type":"message","id":"{at:08x}","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{{"role":"toolResult","toolCallId":"c","toolName":"bash","content":[{{"type":"text","text":"{payload}"}}],"isError":false}}}}"#
            );
            text.push('\n');
        }
        text
    }

    fn start(s: &Sandbox, line: &str) -> std::process::Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pisess"));
        command
            .args(line.split(' '))
            .current_dir(s.path(""))
            .env_clear();
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    /// A session with a branch that takes some time to write, and a leaf elsewhere.
    fn branched() -> String {
        let mut parent = "null".to_owned();
        let mut text = String::new();
        for (at, line) in larger().lines().enumerate() {
            let line = line.replacen("\"parentId\":null", &format!("\"parentId\":{parent}"), 1);
            text += &(line + "\n");
            parent = if at == 0 {
                parent
            } else {
                format!("\"{:08x}\"", at - 1)
            };
        }
        text + &crate::sandbox::user("aaaa0001", Some("00000000"), "elsewhere") + "\n"
    }

    /// Sessions, and what prunes them.
    fn prunings() -> [(String, &'static str); 4] {
        let compaction = r#"{"type":"compaction","id":"aaaa0002","parentId":"0000003b","timestamp":"2026-01-01T00:00:02.000Z","summary":"s","firstKeptEntryId":"0000003b","tokensBefore":1}"#;
        let branched_out = branched();
        let (compacted, _) = branched_out
            .rsplit_once("{\"type\":\"message\",\"id\":\"aaaa0001\"")
            .unwrap();
        let secret = crate::redact::secret(0);
        [
            (
                larger().replace(
                    "0123456789".repeat(200).as_str(),
                    &format!("{secret} {}", "x".repeat(1000)),
                ),
                "prune s.jsonl --secrets",
            ),
            (larger(), "prune s.jsonl --over 1k"),
            (branched(), "prune s.jsonl --branch 00000001"),
            (
                format!("{compacted}{compaction}\n"),
                "prune s.jsonl --compacted",
            ),
        ]
    }

    /// Whenever the process is killed, the session is the old one or the new one, and can be
    /// restored.
    #[test]
    fn a_kill_leaves_one_of_the_two_states() {
        for (whole, line) in prunings() {
            kill(&whole, line);
        }
    }

    fn kill(whole: &str, pruning: &str) {
        let s = Sandbox::new();
        s.put("s.jsonl", whole);
        s.pisess(&pruning.replace(" s.jsonl", " -q ./s.jsonl"))
            .done();
        let (pruned, payloads) = (s.text("s.jsonl"), s.text("s.jsonl.pruned"));
        assert_ne!(pruned, whole);
        // The duration of a run determines the times at which later runs are killed.
        let started = std::time::Instant::now();
        s.put("s.jsonl", whole);
        fs::remove_file(s.path("s.jsonl.pruned")).unwrap();
        start(&s, pruning).wait().unwrap();
        let span = started.elapsed();
        let mut seen = std::collections::BTreeMap::new();
        for at in 0..16_u32 {
            for restores in [false, true] {
                let folder = Sandbox::new();
                folder.put("s.jsonl", if restores { &*pruned } else { whole });
                if restores {
                    folder.put("s.jsonl.pruned", &payloads);
                }
                let line = if restores {
                    "prune s.jsonl --restore"
                } else {
                    pruning
                };
                let mut child = start(&folder, line);
                std::thread::sleep(span * at / 14);
                child.kill().unwrap();
                child.wait().unwrap();
                let now = folder.text("s.jsonl");
                assert!(
                    now == whole || now == pruned,
                    "{at} {line}: {} bytes",
                    now.len()
                );
                let is_beside = folder.path("s.jsonl.pruned").exists();
                assert!(
                    now == whole || is_beside,
                    "{at} {line}: what was pruned is gone"
                );
                *seen.entry((restores, now == whole, is_beside)).or_insert(0) += 1;
                assert_eq!(
                    folder.pisess("prune -q ./s.jsonl --restore").done().code,
                    0,
                    "{at} {line}"
                );
                assert_eq!(folder.text("s.jsonl"), whole, "{at} {line}");
                assert!(!folder.path("s.jsonl.pruned").exists(), "{at} {line}");
            }
        }
        let states: Vec<_> = seen
            .keys()
            .map(|(restores, whole, _)| (*restores, *whole))
            .collect();
        assert!(
            states.contains(&(false, true)) && states.contains(&(true, false)),
            "{seen:?}"
        );
    }

    /// A limit on the size of files represents a full disk.
    #[test]
    fn a_full_disk_changes_nothing() {
        for (whole, pruning) in prunings() {
            for limit in ["100", "500", "1500"] {
                let s = Sandbox::new();
                s.put("s.jsonl", &whole);
                let done = s.pisess(pruning).limited(limit);
                assert_eq!(done.code, 2, "{done}");
                assert_eq!(s.text("s.jsonl"), whole);
                assert_eq!(s.names(), ["s.jsonl"], "{limit}");
            }
        }
    }
}

/// A file of payloads that belongs to something else survives every way in which the copy cannot be
/// written.
#[test]
fn a_file_beside_the_copy_is_never_lost() {
    let foreign = b"not written by pisess\n".to_vec();
    for (place, own) in [
        ("s.jsonl", false),
        ("link", false),
        ("folder", false),
        ("copy", false),
        ("folder", true),
    ] {
        let s = Sandbox::new();
        s.put("s.jsonl", large());
        s.put("folder/x", "");
        std::fs::hard_link(s.path("s.jsonl"), s.path("link")).unwrap();
        let beside = format!("{place}.pruned");
        let there = if own {
            s.run("prune -q --over 1k ./s.jsonl -o ./other --force");
            s.bytes("other.pruned")
        } else {
            foreign.clone()
        };
        s.put(&beside, &there);
        let before = s.files();
        let done = s
            .pisess(&format!(
                "prune -q --over 1k ./s.jsonl -o ./{place} --force"
            ))
            .done();
        assert_eq!((done.code, s.files()), (2, before), "{place}: {done}");
    }
}

/// The picture that a message shows has one size: in the plan, in the placeholder, and in the title
/// of the session, where a space separates the placeholder from the words.
#[test]
fn an_image_has_one_size() {
    let s = Sandbox::new();
    let data = "A".repeat(40_000);
    s.put(
        "s.jsonl",
        session(&[format!(
            r#"{{"type":"message","id":"aaaa0001","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{{"role":"user","content":[{{"type":"text","text":"See the screenshot."}},{{"type":"image","data":"{data}","mimeType":"image/png"}}],"timestamp":1}}}}"#
        )]),
    );
    assert_snapshot!(s.run("prune -n --images ./s.jsonl"), @"
     size  id        kind   field               entry
    40 kB  aaaa0001  image  message.content[1]  user: See the screenshot.
    1 payload; session 40 kB to 339 B; context 1.2k to 12 tokens
    ");
    let done = s.pisess("prune --images ./s.jsonl").done();
    assert_snapshot!(done, @r"
    ./s.jsonl.pruned
    2> pisess: ./s.jsonl: 1 payload pruned, 40 kB; session 40 kB to 339 B
    2> pisess: SESSION.pruned holds what was pruned (hint: --restore puts it back; --purge removes it for good)
    ");
    assert_snapshot!(s.run("list ./s.jsonl"), @r"
    age  id      msgs   size  context  name or first user message
    56y  hazard     1  339 B       12  See the screenshot. [image removed, 40 kB png]
    ");
    // What the note says is true.
    std::fs::remove_file(s.path("s.jsonl.pruned")).unwrap();
    let restored = s.pisess("prune --restore ./s.jsonl").done();
    assert_eq!(restored.stderr, "pisess: ./s.jsonl: nothing was pruned\n");
}

/// The pruned file has the digest of the session, so a restore proves that nothing else changed.
#[test]
fn a_restore_proves_that_the_session_is_what_it_was() {
    let s = with_large();
    s.pisess("prune -q ./s.jsonl --over 1k").done();
    assert_snapshot!(s.pisess("prune ./s.jsonl --restore").done().stderr, @"
    pisess: note: ./s.jsonl: line 3 is not JSON; skipped or read as far as possible (hint: `pisess check` explains it)
    pisess: ./s.jsonl: 5 payloads restored
    pisess: the file from before the prune is back: 10546 bytes, sha256 275d82fe84bcb356252be95f39a301f001a02f05f975cfe3f4d4777d8a2a00f9
    ");
    assert_eq!(s.text("s.jsonl"), large());

    let s = Sandbox::with(&["two-branches.jsonl"]);
    s.pisess("prune -q ./two-branches.jsonl --branch 1a2b3c05")
        .done();
    s.pisess("label -q ./two-branches.jsonl @ here").done();
    assert_snapshot!(s.pisess("prune ./two-branches.jsonl --restore").done().stderr, @"
    pisess: ./two-branches.jsonl: 2 entries restored
    pisess: the first 1399 bytes are the file as it was before the prune, sha256 d28369d5fa2e23c472181845d46ba5e02c2d1c5e5151f2a6ffe695e0513b25f4; 131 bytes were appended since
    ");

    // A session that was changed elsewhere since is not what it was.
    let s = with_large();
    s.pisess("prune -q ./s.jsonl --over 1k").done();
    s.put("s.jsonl", s.text("s.jsonl").replace("I see.", "I saw."));
    let restored = s.pisess("prune ./s.jsonl --restore").done();
    assert!(!restored.stderr.contains("sha256"), "{restored}");
}
