//! Large hazards: long chains, wide and nested branches, deep values, a line of 200 MB. Each is
//! generated, in the size at which an agent failed; slow commands run once.

use crate::every::{self, CHANGES, READS};
use crate::sandbox::{Sandbox, fixture, program, session, split, user};
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::process::{Command, Stdio};

/// Writes a session `./s` of these lines.
fn put(s: &Sandbox, lines: impl IntoIterator<Item = String>) {
    let mut out = BufWriter::new(File::create(s.path("s")).unwrap());
    out.write_all(&fixture("hazards/header-only.jsonl"))
        .unwrap();
    lines
        .into_iter()
        .for_each(|line| writeln!(out, "{line}").unwrap());
    out.flush().unwrap();
}

/// Returns the first read-only form of each command, for tests in which each run takes long.
fn one_of_each() -> impl Iterator<Item = &'static str> {
    let mut seen = std::collections::HashSet::new();
    READS
        .iter()
        .copied()
        .filter(move |line| seen.insert(line.split(' ').next()))
}

fn id(at: usize) -> String {
    format!("i{at:07}")
}

/// pi overflows its stack if there is an early compaction on such a path.
#[test]
fn a_chain_of_200_000_entries_with_an_early_compaction() {
    const ENTRIES: usize = 200_000;
    let s = Sandbox::new();
    let entry = |at: usize| match at {
        0 => user(&id(0), None, "first"),
        10 => format!(
            r#"{{"type":"compaction","id":"{}","parentId":"{}","timestamp":"2026-01-01T00:00:01.000Z","summary":"what was","firstKeptEntryId":"{}","tokensBefore":5}}"#,
            id(10),
            id(9),
            id(5)
        ),
        at => user(&id(at), Some(&id(at - 1)), "on"),
    };
    put(&s, (0..ENTRIES).map(entry));
    for line in one_of_each() {
        let done = s.pisess(&every::of(line, "./s")).done();
        assert!(done.code <= 1, "{line}: {}", done.stderr);
    }
    assert_eq!(s.run("tree ./s").lines().count(), ENTRIES);
    assert_eq!(s.run("path ./s --ids").lines().count(), ENTRIES);
    assert_eq!(s.run("fork ./s -o -").lines().count(), ENTRIES + 1);
    // The summary, the five entries that it keeps, and everything after it.
    let context: serde_json::Value = serde_json::from_str(&s.run("context ./s")).unwrap();
    assert_eq!(
        context["messages"].as_array().unwrap().len(),
        1 + 5 + ENTRIES - 11
    );
}

/// pi overflows its stack when it draws them.
#[test]
fn one_entry_with_200_000_children() {
    const CHILDREN: usize = 200_000;
    let s = Sandbox::new();
    let child = |at| user(&id(at), Some("root0000"), "on");
    put(
        &s,
        std::iter::once(user("root0000", None, "root")).chain((0..CHILDREN).map(child)),
    );
    for line in one_of_each() {
        let done = s.pisess(&every::of(line, "./s")).done();
        assert!(done.code <= 1, "{line}: {}", done.stderr);
    }
    assert_eq!(s.run("tree ./s").lines().count(), 1 + CHILDREN);
}

/// 20,000 nested branch points: pi runs out of memory, because its rows have as many bars. Rows of
/// pisess have at most 24.
#[test]
fn a_comb_of_branches_stays_small() {
    const TEETH: usize = 20_000;
    let s = Sandbox::new();
    let tooth = |at: usize| {
        let parent = at.checked_sub(1).map(id);
        [
            user(&id(at), parent.as_deref(), "on"),
            user(&format!("s{at:07}"), Some(&id(at)), "side"),
        ]
    };
    put(&s, (0..TEETH).flat_map(tooth));
    for line in one_of_each() {
        let done = s.pisess(&every::of(line, "./s")).done();
        assert!(done.code <= 1, "{line}: {}", done.stderr);
    }
    let drawn = s.run("tree ./s");
    assert_eq!(drawn.lines().count(), 2 * TEETH);
    assert!(drawn.len() < 2 * TEETH * 200, "{}", drawn.len());
}

/// As many branches as entries, nested or side by side, take negligible time.
#[test]
fn nested_branches_and_wide_ones() {
    let s = Sandbox::new();
    let answer = |id: usize, parent: &str| {
        format!(
            r#"{{"type":"message","id":"i{id}","parentId":{parent},"timestamp":"2026-01-01T00:00:00.000Z","message":{{"role":"assistant","content":[{{"type":"text","text":"a"}}],"usage":{{"totalTokens":{id}}}}}}}"#
        )
    };
    let comb: Vec<_> = (1..=20_000_usize)
        .flat_map(|at| {
            let parent = if at == 1 {
                "null".to_owned()
            } else {
                format!("\"u{}\"", at - 1)
            };
            [
                user(&format!("u{at}"), None, "q").replace("null", &parent),
                answer(at, &parent),
            ]
        })
        .collect();
    s.put("comb.jsonl", session(&comb));
    assert_eq!(
        s.run("branches --json ./comb.jsonl").lines().count(),
        20_001
    );
    let root = user("u", None, "q");
    let fan: Vec<_> = (0..100_000_usize)
        .map(|at| answer(at + 1, "\"u\""))
        .collect();
    s.put("fan.jsonl", session(&[&[root][..], &fan[..]].concat()));
    assert_eq!(
        s.run("branches --json ./fan.jsonl").lines().count(),
        100_000
    );
}

/// Below a compaction, an edit or a system message, each size is computed separately if no provider
/// has counted since. For many nested tips that would take too long, so the work is limited.
#[test]
fn sizes_that_would_take_too_long_are_left_open() {
    let s = Sandbox::new();
    let entry = |fields: &str, id: &str, parent: &str| {
        format!(
            "{{{fields},\"id\":\"{id}\",\"parentId\":{parent},\"timestamp\":\"2026-01-01T00:00:00.000Z\"}}\n"
        )
    };
    let user = r#""type":"message","message":{"role":"user","content":"hi"}"#;
    let of_pi = [
        r#""type":"message","message":{"role":"system","content":"be"}"#,
        r#""type":"context_edit","targetId":"first","replacement":null"#,
    ];
    let of_omp = [
        r#""type":"model_change","model":"a/b""#,
        r#""type":"compaction","summary":"s","firstKeptEntryId":"first","tokensBefore":1"#,
    ];
    for [first, change] in [of_pi, of_omp] {
        let mut lines =
            String::from("{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"cwd\":\"/\"}\n");
        lines += &(entry(first, "first", "null") + &entry(change, "way-0", "\"first\""));
        for at in 1..=1500 {
            let above = format!("\"way-{}\"", at - 1);
            lines += &entry(user, &format!("tip-{at}"), &above);
            lines += &entry(user, &format!("way-{at}"), &above);
        }
        s.put("a.jsonl", lines);
        let rows = s.run("branches --json ./a.jsonl");
        let open = rows
            .lines()
            .filter(|row| row.contains("\"tokens\":null"))
            .count();
        assert_eq!(rows.lines().count(), 1501);
        assert!((500..1500).contains(&open), "{open}");
        let told = rows
            .lines()
            .find(|row| !row.contains("\"tokens\":null"))
            .unwrap();
        let id = told.split('"').nth(3).unwrap();
        let tokens = s.run(&format!("context ./a.jsonl {id} --tokens"));
        assert!(
            told.contains(&format!("\"tokens\":{},", tokens.trim())),
            "{told} {tokens}"
        );
        assert!(s.run("branches ./a.jsonl").contains("  ?  "));
    }
}

/// pi truncates an older file at a value of 5,000 levels, which it cannot write.
#[test]
fn deep_values_do_not_overflow_the_stack() {
    for levels in [5_000, 100_000] {
        let deep = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        let line = format!(
            r#"{{"type":"message","id":"aaaa0001","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{{"role":"hookMessage","customType":"c","content":"deep","display":true,"details":{deep}}}}}"#
        );
        let s = Sandbox::new();
        for version in [2, 3] {
            let text = String::from_utf8(session(&[&line])).unwrap();
            let text = text.replace("\"version\":3", &format!("\"version\":{version}"));
            s.put("s", &text);
            for line in READS.iter() {
                let done = s.unchanged(&every::of(line, "./s"));
                assert!(
                    done.code <= 2 && !done.stderr.contains("panicked"),
                    "{line}: {}",
                    done.stderr
                );
            }
            for line in CHANGES.iter() {
                s.put("s", &text);
                s.pisess(&every::of(line, "./s")).done();
                assert!(s.text("s").contains(&deep), "{line}");
            }
        }
        let v1 = format!(
            "{{\"type\":\"session\",\"id\":\"s\"}}\n{{\"type\":\"custom\",\"x\":{deep}}}\n"
        );
        assert!(
            s.pisess("migrate -")
                .stdin(v1)
                .done()
                .quiet()
                .contains(&deep)
        );
    }
}

/// A line of 200 MB, once complete and once torn. It is written in pieces, and each command reads
/// it.
#[test]
fn a_line_of_200_mb() {
    const LENGTH: usize = 200_000_000;
    let s = Sandbox::new();
    let line = user("bbbb0002", Some("aaaa0001"), "LONG");
    let (before, behind) = line.split_once("LONG").unwrap();
    let mut out = BufWriter::new(File::create(s.path("s")).unwrap());
    out.write_all(&session(&[user("aaaa0001", None, "short")]))
        .unwrap();
    out.write_all(before.as_bytes()).unwrap();
    let piece = [b'x'; 1 << 16];
    for at in (0..LENGTH).step_by(piece.len()) {
        out.write_all(&piece[..piece.len().min(LENGTH - at)])
            .unwrap();
    }
    out.flush().unwrap();
    // Incomplete, the line is a torn tail.
    assert_eq!(
        s.pisess("tree ./s --no-ids").done().text(),
        "• user: short  ← active\n"
    );
    writeln!(out, "{behind}").unwrap();
    out.flush().unwrap();
    let size = s.path("s").metadata().unwrap().len();
    let rows = s.run("tree ./s --no-ids");
    assert_eq!(
        rows.lines().map(str::len).max(),
        Some("• user: ".len() + 200 + "…  ← active".len())
    );
    for line in one_of_each() {
        let done = s.unchanged(&every::of(line, "./s"));
        assert!(done.code <= 1, "{line}: {}", done.stderr);
    }
    s.run("label ./s @ 'the end'");
    assert!(s.path("s").metadata().unwrap().len() > size);
    assert_eq!(s.run("path ./s --ids").lines().count(), 3);
}

/// Runs pisess, whose output must be longer than a pipe holds, and returns the most memory that it
/// used, in kilobytes.
///
/// The memory is read after each piece of output. Before the first piece, the kernel may still
/// report that of the test process: a spawned process keeps its parent's memory until it has become
/// another program, and the parent is woken a moment before. After the last piece the process has
/// ended.
fn peak_of(s: &Sandbox, line: &str) -> u64 {
    let mut child = Command::new(program())
        .args(split(line))
        .current_dir(s.path(""))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut output = child.stdout.take().unwrap();
    let mut piece = vec![0; 1 << 16];
    let mut peak = 0;
    while output.read(&mut piece).unwrap() > 0 {
        let status = std::fs::read_to_string(&status).unwrap();
        let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let most = most.and_then(|most| most.split_whitespace().next());
        peak = peak.max(most.map_or(0, |most| most.parse().unwrap()));
    }
    assert!(peak > 0, "{line}: no memory was read");
    assert!(child.wait().unwrap().success(), "{line}");
    peak
}

/// Exports hold the line and what is made of it, and nothing else of its size.
#[test]
fn a_text_of_100_mb_is_in_memory_twice() {
    const LENGTH: usize = 100_000_000;
    // What else is in memory, in kilobytes.
    const REST: u64 = 32 << 10;
    for text in ["x", "the quick brown fox\\n", "caf\\u00e9 \\\\ and more"] {
        let s = Sandbox::new();
        let long = text.repeat(LENGTH / text.len());
        put(
            &s,
            [
                user("aaaa0001", None, "go"),
                user("aaaa0002", Some("aaaa0001"), &long),
            ],
        );
        drop(long);
        let line = s.path("s").metadata().unwrap().len() >> 10;
        for command in [
            "export ./s --as md -o -",
            "export ./s -o -",
            "show ./s @ --as markdown",
        ] {
            let peak = peak_of(&s, command);
            assert!(
                peak <= 2 * line + REST,
                "{command}, {text:?}: {peak} KB for a line of {line} KB"
            );
        }
        // A summary is short, so its memory is limited instead.
        let mut shell = Command::new("sh");
        shell
            .args([
                "-c",
                "ulimit -v \"$1\" && exec \"$0\" summarize ./s root -n",
            ])
            .arg(program())
            .arg((3 * line + 300_000).to_string())
            .current_dir(s.path(""));
        let done = shell.output().unwrap();
        assert!(done.status.success(), "{text:?}: {done:?}");
    }
}

/// The time of a fit is that of a few exports, each linear in the size of the value.
#[test]
fn content_nested_400_000_deep_fits() {
    const LEVELS: usize = 400_000;
    let deep = format!("{}{}", "[".repeat(LEVELS), "]".repeat(LEVELS));
    let s = Sandbox::new();
    put(
        &s,
        [
            user("aaaa0001", None, "go"),
            user("aaaa0002", Some("aaaa0001"), "DEEP").replace("\"DEEP\"", &deep),
        ],
    );
    let whole = s.pisess("export ./s --as md -o -").done();
    // No level below the first few has a line, or spaces, of its own.
    assert!(
        whole.stdout.len() < deep.len() + 10_000,
        "{}",
        whole.stdout.len()
    );
    assert!(whole.text().contains(&deep[30..deep.len() - 30]));
    let fitted = s.pisess("export ./s --as md --max-size 65536 -o -").done();
    assert_eq!(fitted.code, 0, "{}", fitted.stderr);
    assert!(fitted.stdout.len() <= 65_536);
}

#[test]
fn ten_thousand_sessions() {
    const COUNT: usize = 10_000;
    let s = Sandbox::new();
    for at in 0..COUNT {
        let question = user(&id(at), None, &format!("question of s{at:05}"));
        s.put(&format!("{}/{at}.jsonl", at % 10), session(&[question]));
    }
    for reader in [
        "list --json",
        "grep -c --json question",
        "stats --by session --json",
    ] {
        assert_eq!(
            s.run(&format!("{reader} .")).lines().count(),
            COUNT,
            "{reader}"
        );
    }
    assert_eq!(s.run("grep -l 's04711$' ."), "./1/4711.jsonl\n");
}
