//! `pisess migrate`: older formats to version 3.

use crate::sandbox::{Sandbox, fixture};
use insta::assert_snapshot;
use serde_json::Value;

#[test]
fn version_one() {
    let s = Sandbox::with(&["v1.jsonl"]);
    assert_snapshot!(s.run("migrate ./v1.jsonl"), @"./v1.jsonl: migrated from v1, 9 entries");
    assert_snapshot!(s.text("v1.jsonl"), @r#"
    {"type":"session","id":"3b9f6f1e-7c55-4a01-8d0e-2f4c8a1b7e90","timestamp":"2026-03-14T09:26:53.589Z","cwd":"/home/u/garden","provider":"anthropic","modelId":"claude-opus-4-5","thinkingLevel":"off","version":3}
    {"type":"message","timestamp":"2026-03-14T09:26:54.589Z","message":{"role":"user","content":"When should I sow carrots?","timestamp":1773480414589},"id":"4c411fb5","parentId":null}
    {"type":"message","timestamp":"2026-03-14T09:26:57.589Z","message":{"role":"assistant","content":[{"type":"text","text":"From March on, when the soil is no longer cold."}],"api":"anthropic-messages","provider":"anthropic","model":"claude-opus-4-5","usage":{"input":900,"output":40,"cacheRead":0,"cacheWrite":0,"totalTokens":940,"cost":{"input":0.0027,"output":0.0006,"cacheRead":0,"cacheWrite":0,"total":0.0033}},"stopReason":"stop","timestamp":1773480417589},"id":"c307e4fd","parentId":"4c411fb5"}
    {"type":"message","timestamp":"2026-03-14T09:27:02.589Z","message":{"role":"custom","customType":"weather","content":"Soil at 10 cm: 7 °C","display":true,"timestamp":1773480422589},"id":"1858c9d3","parentId":"c307e4fd"}
    {"type":"message","timestamp":"2026-03-14T09:27:13.589Z","message":{"role":"user","content":[{"type":"text","text":"And beans?"}],"timestamp":1773480433589},"id":"cb26a1f8","parentId":"1858c9d3"}
    {"type":"message","timestamp":"2026-03-14T09:27:17.589Z","message":{"role":"assistant","content":[{"type":"text","text":"Mid-May, after the last frost."}],"api":"anthropic-messages","provider":"anthropic","model":"claude-opus-4-5","usage":{"input":900,"output":40,"cacheRead":0,"cacheWrite":0,"totalTokens":940,"cost":{"input":0.0027,"output":0.0006,"cacheRead":0,"cacheWrite":0,"total":0.0033}},"stopReason":"stop","timestamp":1773480437589},"id":"ac4bd0d1","parentId":"cb26a1f8"}
    {"type":"compaction","timestamp":"2026-03-14T09:27:53.589Z","summary":"Carrots from March, beans from mid-May.","tokensBefore":1900,"id":"c24d8cb7","parentId":"ac4bd0d1","firstKeptEntryId":"cb26a1f8"}
    {"type":"thinking_level_change","timestamp":"2026-03-14T09:28:23.589Z","thinkingLevel":"medium","id":"80b80871","parentId":"c24d8cb7"}
    {"type":"message","timestamp":"2026-03-14T09:28:24.589Z","message":{"role":"user","content":"Make me a calendar.","timestamp":1773480504589},"id":"f55275d5","parentId":"80b80871"}
    {"type":"message","timestamp":"2026-03-14T09:28:32.589Z","message":{"role":"assistant","content":[{"type":"text","text":"March: carrots. May: beans."}],"api":"anthropic-messages","provider":"anthropic","model":"claude-opus-4-5","usage":{"input":900,"output":40,"cacheRead":0,"cacheWrite":0,"totalTokens":940,"cost":{"input":0.0027,"output":0.0006,"cacheRead":0,"cacheWrite":0,"total":0.0033}},"stopReason":"stop","timestamp":1773480512589},"id":"cebfaa52","parentId":"f55275d5"}
    "#);
    assert_snapshot!(s.run("tree ./v1.jsonl --filter all"), @"
    4c411fb5  • user: When should I sow carrots?
    c307e4fd  • assistant: From March on, when the soil is no longer cold.
    1858c9d3  • custom
    cb26a1f8  • user: And beans?
    ac4bd0d1  • assistant: Mid-May, after the last frost.
    c24d8cb7  • ── compaction: 1.9k tokens · Carrots from March, beans from mid-May. ──  (kept from cb26a1f8)
    80b80871  • thinking: medium
    f55275d5  • user: Make me a calendar.
    cebfaa52  • assistant: March: carrots. May: beans.  ← active
    ");
    assert_eq!(s.names(), ["v1.jsonl"]);
}

#[test]
fn version_two_changes_one_role() {
    let s = Sandbox::with(&["v2.jsonl"]);
    assert_snapshot!(s.run("migrate ./v2.jsonl"), @"./v2.jsonl: migrated from v2, 5 entries");
    let expected = String::from_utf8(fixture("v2.jsonl"))
        .unwrap()
        .replace("\"version\":2", "\"version\":3")
        .replace("\"role\":\"hookMessage\"", "\"role\":\"custom\"");
    assert_eq!(s.text("v2.jsonl"), expected);
}

#[test]
fn draft_tree() {
    let s = Sandbox::with(&["draft-tree.jsonl"]);
    assert_snapshot!(s.run("migrate ./draft-tree.jsonl"), @"./draft-tree.jsonl: migrated from draft, 15 entries");
    assert_snapshot!(s.text("draft-tree.jsonl"), @r#"
    {"type":"session","id":"d7a3c1e0-5b62-4f0e-9a5c-draft0000001","parent":-1,"timestamp":"2026-03-14T09:26:53.589Z","cwd":"/home/u/cli","version":3}
    {"type":"message","id":"e6d4541d","parentId":null,"message":{"role":"user","content":"Build a small CLI"},"timestamp":"2026-03-14T09:26:54.589Z"}
    {"type":"message","id":"e0181802","parentId":"e6d4541d","message":{"role":"assistant","content":[{"type":"text","text":"In which language?"}],"stopReason":"stop"},"timestamp":"2026-03-14T09:26:55.589Z"}
    {"type":"message","id":"73434a73","parentId":"e0181802","message":{"role":"user","content":"Node"},"timestamp":"2026-03-14T09:26:55.589Z"}
    {"type":"message","id":"ac2053f3","parentId":"73434a73","message":{"role":"assistant","content":[{"type":"text","text":"Here is cli.js."}],"stopReason":"stop"},"timestamp":"2026-03-14T09:26:55.589Z"}
    {"type":"custom","id":"02ed4d0f","parentId":"ac2053f3","timestamp":"2026-03-14T09:26:55.589Z","customType":"head","data":{"name":"main"}}
    {"type":"branch_summary","id":"07434132","parentId":"e0181802","summary":"Tried Node: cli.js came out fine but slow to start.","timestamp":"2026-03-14T09:27:53.589Z","fromId":"02ed4d0f"}
    {"type":"message","id":"5c4417ce","parentId":"07434132","message":{"role":"user","content":"Rust, then"},"timestamp":"2026-03-14T09:27:53.589Z"}
    {"type":"message","id":"b5936be4","parentId":"5c4417ce","message":{"role":"assistant","content":[{"type":"text","text":"Here is main.rs."}],"stopReason":"stop"},"timestamp":"2026-03-14T09:27:53.589Z"}
    {"type":"label","id":"2d4e6ebd","parentId":"b5936be4","timestamp":"2026-03-14T09:27:53.589Z","targetId":"b5936be4","label":"rust"}
    {"type":"branch_summary","summary":"Rust works, too.","timestamp":"2026-03-14T09:28:53.589Z","id":"132ceec8","parentId":"e0181802","fromId":"2d4e6ebd","details":{"prePopSummary":"main.rs prints its arguments."}}
    {"type":"label","id":"5c92886b","parentId":"132ceec8","targetId":"e0181802","label":"which language","timestamp":"2026-03-14T09:28:53.589Z"}
    {"type":"compaction","id":"0d98c807","parentId":null,"summary":"A CLI was wanted; Node and Rust were tried.","summarizedPath":[1,2,6,7,8],"timestamp":"2026-03-14T09:28:53.589Z","firstKeptEntryId":"0d98c807","tokensBefore":0}
    {"type":"message","id":"f8d11dfd","parentId":"0d98c807","message":{"role":"user","content":"Write its manual"},"timestamp":"2026-03-14T09:28:53.589Z"}
    {"type":"custom","id":"b9e0ca9d","parentId":"b5936be4","timestamp":"2026-03-14T09:28:53.589Z","customType":"head","data":{"name":"main"}}
    {"type":"message","id":"5e29b866","parentId":"f8d11dfd","message":{"role":"assistant","content":[{"type":"text","text":"Half a page will do."}],"stopReason":"stop"},"timestamp":"2026-03-14T09:29:53.589Z"}
    "#);
    assert_snapshot!(s.run("tree ./draft-tree.jsonl --filter all"), @"
    e6d4541d  ├─ user: Build a small CLI  (8 messages, 1mo)
    e0181802  │  [which language] assistant: In which language?
    73434a73  │  ├─ user: Node  (2 messages, 1mo)
    ac2053f3  │  │  assistant: Here is cli.js.
    02ed4d0f  │  │  custom: head
    132ceec8  │  ├─ branch summary: Rust works, too.  (1 message, 1mo)
    5c92886b  │  │  label: which language
    07434132  │  branch summary: Tried Node: cli.js came out fine but slow to start.
    5c4417ce  │  user: Rust, then
    b5936be4  │  [rust] assistant: Here is main.rs.
    2d4e6ebd  │  ├─ label: rust
    b9e0ca9d  │  custom: head
    0d98c807  • ── compaction: 0 tokens · A CLI was wanted; Node and Rust were tried. ──
    f8d11dfd  • user: Write its manual
    5e29b866  • assistant: Half a page will do.  ← active
    ");
}

/// The example for compactions in the design of the draft tree: the compaction and what follows it
/// come after the last head.
#[test]
fn in_a_draft_tree_the_last_entry_is_the_leaf() {
    let said = |parent: i32, role: &str, text: &str| {
        format!(
            r#"{{"type":"message","parent":{parent},"message":{{"role":"{role}","content":"{text}"}}}}"#
        )
    };
    let mut lines = vec![
        r#"{"type":"session","id":"s","parent":-1,"cwd":"/"}"#.to_owned(),
        said(0, "user", "one"),
        said(1, "assistant", "two"),
        said(2, "user", "three"),
        said(3, "assistant", "four"),
        r#"{"type":"head","parent":4,"name":"main"}"#.to_owned(),
        r#"{"type":"compaction","parent":0,"summary":"S","summarizedPath":[1,2,3,4,5]}"#.to_owned(),
        said(6, "user", "seven"),
    ];
    let messages = |lines: &[String]| {
        let s = Sandbox::new();
        s.put("draft.jsonl", lines.join("\n") + "\n");
        let read = s.run("context ./draft.jsonl");
        s.run("migrate -q ./draft.jsonl");
        assert_eq!(s.run("context ./draft.jsonl"), read);
        s.run("append ./draft.jsonl --user eight");
        let continued = s.run("context ./draft.jsonl");
        [read, continued].map(|context| {
            let context: Value = serde_json::from_str(&context).unwrap();
            let texts = context["messages"].as_array().unwrap().iter();
            let texts = texts.map(|message| match message.get("summary") {
                Some(summary) => summary.as_str().unwrap().to_owned(),
                None => message["content"].as_str().unwrap_or("eight").to_owned(),
            });
            texts.collect::<Vec<_>>().join(" ")
        })
    };
    assert_eq!(messages(&lines), ["S seven", "S seven eight"]);
    // A head at the end stands for the entry it points to.
    lines.push(r#"{"type":"head","parent":2,"name":"main"}"#.to_owned());
    assert_eq!(messages(&lines), ["one two", "one two eight"]);
}

#[test]
fn a_current_file_stays_as_it_is() {
    for name in [
        "tour.jsonl",
        "omp.jsonl",
        "omp-no-slot.jsonl",
        "hazards/string-version.jsonl",
    ] {
        let s = Sandbox::with(&[name]);
        let file = name.rsplit('/').next().unwrap();
        let done = s.unchanged(&format!("migrate ./{file} -q"));
        assert!(done.quiet().contains("already version 3"), "{name}");
    }
}

/// Returns a session of this version with one entry without id and parent, and one whose role
/// changed with version 3.
fn with_version(version: &str) -> String {
    let header = r#"{"type":"session","id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/""#;
    let version = if version.is_empty() {
        String::new()
    } else {
        format!(",\"version\":{version}")
    };
    let entry = |link: &str| {
        format!(r#"{{"type":"message",{link}"message":{{"role":"hookMessage","content":"x"}}}}"#)
    };
    format!(
        "{header}{version}}}\n{}\n{}\n",
        entry(""),
        entry(r#""id":"a","parentId":null,"#)
    )
}

#[test]
fn a_version_is_compared_as_javascript_compares_it() {
    let one = r#"  1 1.9 -1 0 null true false "" " " "1" "1.0" " 1 " "\t1.5\n" "0x1" "0b1" "1e0" "-Infinity" [] [1] ["1"] [[null]]"#;
    let two = r#"2 2.5 "2" "2.0" " 2" "0x2" "0b10" "0o2" "20e-1" [2] [["2.9"]]"#;
    let three = r#"3 3.0 "3" "3.0" " 3 " "0x3" [3] ["3"] "v1" "1 2" "1,5" "1_0" "0x" "inf" "nan" "-0x1" {} {"a":1} [1,2] [true] [{}]"#;
    let newer = r#"3.5 4 99 1e400 "4" "0x10" "Infinity" [4]"#;
    // Some values contain spaces, so the list is parsed as JSON.
    let values = |list: &str| -> Vec<String> {
        serde_json::Deserializer::from_str(list)
            .into_iter::<Box<serde_json::value::RawValue>>()
            .map(|value| value.unwrap().get().to_owned())
            .collect()
    };
    let s = Sandbox::new();
    let status = |version: &str| {
        s.put("s.jsonl", with_version(version));
        let rows = s.pisess("migrate --check --json ./s.jsonl").done();
        let row: serde_json::Value = serde_json::from_slice(&rows.stdout).unwrap();
        (
            row["from"].as_str().unwrap_or("refused").to_owned(),
            String::from_utf8(s.bytes("s.jsonl")).unwrap(),
        )
    };
    assert_eq!(status("").0, "v1");
    for (list, from) in [(one, "v1"), (two, "v2"), (three, "v3"), (newer, "refused")] {
        for version in values(list) {
            assert_eq!(status(&version).0, from, "{version}");
            let is_odd = !version.starts_with(|c: char| c == '-' || c.is_ascii_digit());
            if from == "refused" {
                let refused = s.pisess("tree ./s.jsonl").done().fails(2);
                assert!(
                    refused.contains(&format!("format version {version} is newer")),
                    "{refused}"
                );
                continue;
            }
            assert_eq!(
                s.pisess("check ./s.jsonl")
                    .done()
                    .text()
                    .contains("not a number"),
                is_odd,
                "{version}"
            );
            let read = s.pisess("path --json -q ./s.jsonl").done().quiet();
            assert_eq!(
                read.lines().count(),
                if from == "v1" { 2 } else { 1 },
                "{version}"
            );
            assert_eq!(read.contains("hookMessage"), from == "v3", "{version}");
            s.run("migrate -q ./s.jsonl");
            let header = s.text("s.jsonl").lines().next().unwrap().to_owned();
            let stored = if from == "v3" { version.as_str() } else { "3" };
            assert!(
                header.contains(&format!("\"version\":{stored}")),
                "{version}: {header}"
            );
            assert_eq!(s.run("path --json -q ./s.jsonl"), read, "{version}");
        }
    }
}

#[test]
fn a_repair_writes_version_3_as_a_number() {
    let s = Sandbox::new();
    for (version, stored) in [
        ("\"3\"", "3"),
        ("\"3.0\"", "3"),
        ("[3]", "3"),
        ("\"v3\"", "\"v3\""),
        ("\"2\"", "\"2\""),
    ] {
        s.put("s.jsonl", with_version(version));
        s.pisess("check --repair -o ./repaired.jsonl --force -q ./s.jsonl")
            .done();
        let header = s.text("repaired.jsonl").lines().next().unwrap().to_owned();
        assert!(
            header.contains(&format!("\"version\":{stored}")),
            "{version}: {header}"
        );
    }
}

#[test]
fn a_current_file_passes_a_pipe_to_its_last_byte() {
    for name in [
        "tour.jsonl",
        "omp.jsonl",
        "hazards/no-final-newline.jsonl",
        "hazards/crlf.jsonl",
    ] {
        let s = Sandbox::new();
        assert_eq!(
            s.pisess("migrate -")
                .stdin(fixture(name))
                .done()
                .quiet_bytes(),
            fixture(name),
            "{name}"
        );
    }
}

#[test]
fn ids_are_the_same_on_every_machine() {
    // The ids are derived from the session's id and the record's number, not random.
    let s = Sandbox::with(&["v1.jsonl"]);
    let here = s
        .pisess("migrate - ")
        .stdin(fixture("v1.jsonl"))
        .env("PISESS_ID_SEED", "other")
        .done()
        .quiet();
    assert_eq!(s.run("migrate ./v1.jsonl -o -"), here);
    let namespace = uuid::Uuid::parse_str("3b9f6f1e-7c55-4a01-8d0e-2f4c8a1b7e90").unwrap();
    let first = uuid::Uuid::new_v5(&namespace, b"1").to_string();
    assert!(
        here.lines()
            .nth(1)
            .unwrap()
            .contains(&format!("\"id\":\"{}\"", &first[..8])),
        "{first}"
    );
}

#[test]
fn twice_is_once() {
    for name in ["v1.jsonl", "v2.jsonl", "draft-tree.jsonl"] {
        let s = Sandbox::with(&[name]);
        s.run(&format!("migrate ./{name}"));
        let once = s.files();
        s.run(&format!("migrate ./{name}"));
        assert!(s.files() == once, "{name}");
    }
}

#[test]
fn check_changes_nothing_and_tells() {
    let s = Sandbox::with(&["v1.jsonl", "tour.jsonl"]);
    assert_snapshot!(s.unchanged("migrate --check ./v1.jsonl"), @"
    ./v1.jsonl: v1, 9 entries, to be migrated
    exit 1
    ");
    assert_snapshot!(s.unchanged("migrate --check ./tour.jsonl"), @"./tour.jsonl: already version 3, 31 entries");
    assert_snapshot!(s.unchanged("migrate --check ./v1.jsonl ./tour.jsonl"), @"
    ./v1.jsonl: v1, 9 entries, to be migrated
    from  files  entries  to migrate  current  failed
    v1        1        9           1        0       0
    v3        1       31           0        1       0
    exit 1
    ");
    assert_snapshot!(s.unchanged("migrate --check --json ./v1.jsonl ./tour.jsonl"), @r#"
    {"path":"./v1.jsonl","from":"v1","to":"v3","entries":9,"status":"outdated"}
    {"path":"./tour.jsonl","from":"v3","to":"v3","entries":31,"status":"current"}
    exit 1
    "#);
    assert_eq!(
        s.pisess("migrate --check -")
            .stdin(fixture("v1.jsonl"))
            .done()
            .code,
        1
    );
    assert_eq!(
        s.pisess("migrate --check -")
            .stdin(fixture("tour.jsonl"))
            .done()
            .code,
        0
    );
}

#[test]
fn dry_run_changes_nothing() {
    let s = Sandbox::with(&["v1.jsonl", "tour.jsonl"]);
    assert_snapshot!(s.unchanged("migrate -n ./v1.jsonl"), @"
      size  from  entries  session
    2.4 kB  v1          9  ./v1.jsonl
    ");
    assert_snapshot!(s.unchanged("migrate -n ./v1.jsonl ./tour.jsonl"), @"
      size  from  entries  session
    2.4 kB  v1          9  ./v1.jsonl
    2> pisess: 1 session is version 3 already
    ");
    assert_snapshot!(s.unchanged("migrate -n --json ./v1.jsonl ./tour.jsonl"), @r#"
    {"path":"./v1.jsonl","from":"v1","to":"v3","entries":9,"status":"outdated"}
    {"path":"./tour.jsonl","from":"v3","to":"v3","entries":31,"status":"current"}
    "#);
}

#[test]
fn a_backup_holds_the_old_bytes() {
    let s = Sandbox::with(&["v1.jsonl"]);
    s.run("migrate --backup ./v1.jsonl");
    assert_eq!(s.names(), ["v1.jsonl", "v1.jsonl.bak"]);
    assert_eq!(s.bytes("v1.jsonl.bak"), fixture("v1.jsonl"));
    s.put("v1.jsonl", fixture("v1.jsonl"));
    s.run("migrate --backup=.old ./v1.jsonl");
    assert_eq!(s.bytes("v1.jsonl.old"), fixture("v1.jsonl"));
}

#[test]
fn a_backup_never_overwrites() {
    let s = Sandbox::with(&["v1.jsonl"]);
    s.put("v1.jsonl.bak", "mine");
    let done = s.pisess("migrate --backup ./v1.jsonl").done();
    assert_eq!(s.text("v1.jsonl.bak"), "mine");
    assert_eq!(
        s.pisess("migrate --backup --force ./v1.jsonl").done().code,
        2
    );
    assert_eq!(
        (s.text("v1.jsonl.bak").as_str(), s.bytes("v1.jsonl")),
        ("mine", fixture("v1.jsonl"))
    );
    assert_snapshot!(done, @"
    2> pisess: cannot back up to ./v1.jsonl.bak: it already exists (hint: choose another suffix with --backup=SUFFIX)
    exit 2
    ");
}

#[test]
fn a_folder_means_its_own_sessions() {
    let s = Sandbox::new();
    s.put("a/one.jsonl", fixture("v1.jsonl"));
    s.put("a/two.jsonl", fixture("v2.jsonl"));
    s.put("a/three.jsonl", fixture("tour.jsonl"));
    s.put("a/notes.txt", "no session");
    s.put("a/.hidden.jsonl", fixture("v1.jsonl"));
    s.put("a/below/four.jsonl", fixture("draft-tree.jsonl"));
    assert_snapshot!(s.unchanged("migrate -n ./a"), @"
      size  from      entries  session
    1.7 kB  draft          15  ./a/below/four.jsonl
    2.4 kB  v1              9  ./a/one.jsonl
    1.6 kB  v2              5  ./a/two.jsonl
    5.8 kB  total  3 sessions
    2> pisess: 1 session is version 3 already
    2> pisess: note: some of these are in subdirectories; add -r to change them, too
    ");
    assert_snapshot!(s.unchanged("migrate --check ./a"), @"
    ./a/below/four.jsonl: draft, 15 entries, to be migrated
    ./a/one.jsonl: v1, 9 entries, to be migrated
    ./a/two.jsonl: v2, 5 entries, to be migrated
    from   files  entries  to migrate  current  failed
    draft      1       15           1        0       0
    v1         1        9           1        0       0
    v2         1        5           1        0       0
    v3         1       31           0        1       0
    2> pisess: note: some of these are in subdirectories; add -r to change them, too
    exit 1
    ");
    assert_snapshot!(s.pisess("migrate ./a").done(), @"
    ./a/one.jsonl: migrated from v1, 9 entries
    ./a/two.jsonl: migrated from v2, 5 entries
    from  files  entries  migrated  current  failed
    v1        1        9         1        0       0
    v2        1        5         1        0       0
    v3        1       31         0        1       0
    2> pisess: note: ./a: subdirectories are left out (hint: -r includes them)
    ");
    assert_eq!(s.bytes("a/.hidden.jsonl"), fixture("v1.jsonl"));
    assert_eq!(s.bytes("a/below/four.jsonl"), fixture("draft-tree.jsonl"));
    assert_snapshot!(s.run("migrate -r ./a"), @"
    ./a/below/four.jsonl: migrated from draft, 15 entries
    from   files  entries  migrated  current  failed
    draft      1       15         1        0       0
    v3         3       45         0        3       0
    ");
    assert_snapshot!(s.run("migrate -r --json ./a"), @r#"
    {"path":"./a/below/four.jsonl","from":"v3","to":"v3","entries":15,"status":"current"}
    {"path":"./a/one.jsonl","from":"v3","to":"v3","entries":9,"status":"current"}
    {"path":"./a/three.jsonl","from":"v3","to":"v3","entries":31,"status":"current"}
    {"path":"./a/two.jsonl","from":"v3","to":"v3","entries":5,"status":"current"}
    "#);
    assert_eq!(s.bytes("a/.hidden.jsonl"), fixture("v1.jsonl"));
    assert_eq!(s.names().len(), 6);
}

/// As `rm` preserves the root. The home directory of the test is in the sandbox.
#[test]
fn a_home_directory_is_not_swept() {
    let s = Sandbox::new();
    let store = "top/home/.pi/agent/sessions";
    s.put("top/home/project/old.jsonl", fixture("v1.jsonl"));
    s.put(&format!("{store}/--w--/old.jsonl"), fixture("v1.jsonl"));
    s.put(
        "top/other/.omp/agent/sessions/-w/old.jsonl",
        fixture("v1.jsonl"),
    );
    let home = s.path("top/home").to_string_lossy().into_owned();
    let before = s.files();
    for folder in [
        "top",
        "top/home",
        "top/home/.pi",
        "top/home/.pi/agent",
        "top/other",
        "top/home/project/..",
    ] {
        let line = format!("migrate -r ./{folder}");
        let error = s.pisess(&line).env("HOME", &home).done().fails(2);
        assert!(
            error.contains("-r would change every session below"),
            "{folder}: {error}"
        );
        assert_eq!(s.files(), before, "{folder}");
        let check = s
            .pisess(&format!("{line} --check"))
            .env("HOME", &home)
            .done();
        assert!(check.code <= 1, "{folder}: {check}");
    }
    for (folder, force) in [
        ("top/home/project", ""),
        (store, ""),
        ("top/home", "--force"),
    ] {
        let done = s
            .pisess(&format!("migrate -r ./{folder} {force}"))
            .env("HOME", &home)
            .done();
        assert_eq!(done.code, 0, "{folder}: {done}");
    }
    assert_ne!(s.files(), before);
}

#[cfg(unix)]
#[test]
fn a_folder_behind_a_symlink_is_not_entered() {
    let s = Sandbox::new();
    s.put("far/one.jsonl", fixture("v1.jsonl"));
    s.put("a/two.jsonl", fixture("v2.jsonl"));
    std::os::unix::fs::symlink(s.path("far"), s.path("a/link")).unwrap();
    s.run("migrate -r ./a");
    assert_eq!(s.bytes("far/one.jsonl"), fixture("v1.jsonl"));
    assert_ne!(s.bytes("a/two.jsonl"), fixture("v2.jsonl"));
}

#[test]
fn a_batch_goes_on_and_gives_the_worst_code() {
    let s = Sandbox::with(&[
        "v1.jsonl",
        "v4.jsonl",
        "other-tool.jsonl",
        "hazards/empty.jsonl",
    ]);
    let done = s
        .pisess("migrate ./v4.jsonl ./v1.jsonl ./other-tool.jsonl ./empty.jsonl ./gone.jsonl")
        .done();
    assert_snapshot!(done, @r"
    ./v1.jsonl: migrated from v1, 9 entries
    from  files  entries  migrated  current  failed
    v1        1        9         1        0       0
    -         4        0         0        0       4
    2> pisess: cannot read ./gone.jsonl: no such file or directory (hint: check the path; sessions are below ~/.pi/agent/sessions and ~/.omp/agent/sessions)
    2> pisess: ./v4.jsonl:1: format v4 is newer than pisess supports (hint: pisess supports version 3 and older, which the coding agents write)
    2> pisess: ./other-tool.jsonl: not a session of pi or oh-my-pi, but of Claude Code (hint: `pisess import ./other-tool.jsonl` converts it; commands that only read, such as `tree`, accept it; `pisess list --source claude` lists it)
    2> pisess: ./empty.jsonl: the file is empty (hint: an agent writes the header with the first message)
    2> pisess: 1 migrated, 4 failed
    exit 2
    ");
    assert!(s.text("v1.jsonl").contains("\"version\":3"));
    assert_eq!(s.bytes("v4.jsonl"), fixture("v4.jsonl"));
}

#[test]
fn a_folder_has_no_single_output() {
    let s = Sandbox::with(&["v1.jsonl"]);
    assert_snapshot!(s.unchanged("migrate -o - .").fails(2), @"-o takes only one session, and . is a directory (hint: without -o, the files in it are migrated in place; --backup keeps the old ones)");
}

#[test]
fn to_another_file_and_to_stdout() {
    let s = Sandbox::with(&["v1.jsonl"]);
    assert_eq!(s.run("migrate ./v1.jsonl -o ./new.jsonl"), "");
    assert_eq!(s.bytes("v1.jsonl"), fixture("v1.jsonl"));
    assert_eq!(s.text("new.jsonl"), s.run("migrate ./v1.jsonl -o -"));
    assert_eq!(
        s.text("new.jsonl"),
        s.pisess("migrate -")
            .stdin(fixture("v1.jsonl"))
            .done()
            .quiet()
    );
}

#[test]
fn unchanged_bytes_go_back_as_they_were() {
    for name in [
        "malformed-v2",
        "numbers-v2",
        "duplicate-keys-v2",
        "lone-surrogate-v2",
        "invalid-utf8-v2",
    ] {
        let s = Sandbox::with(&[&format!("hazards/{name}.jsonl")]);
        let before = s.bytes(&format!("{name}.jsonl"));
        s.run(&format!("migrate -q ./{name}.jsonl"));
        let after = s.bytes(&format!("{name}.jsonl"));
        // These are the only two changes, so reversing them gives the old bytes.
        let undone = replaced(
            &replaced(&after, "\"custom\"", "\"hookMessage\""),
            "\"version\":3",
            "\"version\":2",
        );
        assert!(
            undone == before,
            "{name}: {}",
            String::from_utf8_lossy(&after)
        );
    }
}

fn replaced(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at..].starts_with(from.as_bytes()) {
            out.extend_from_slice(to.as_bytes());
            at += from.len();
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    out
}

#[test]
fn kept_index_counts_parsed_records() {
    // The malformed line and the blank one do not count; an index of a later record, or beyond
    // the last, refers to nothing.
    let s = Sandbox::new();
    s.put(
        "v1.jsonl",
        concat!(
            r#"{"type":"session","id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}"#,
            "\nbroken\n\n",
            r#"{"type":"message","message":{"role":"user","content":"one"}}"#,
            "\n",
            r#"{"type":"message","message":{"role":"user","content":"two"}}"#,
            "\n",
            r#"{"type":"compaction","summary":"s","firstKeptEntryIndex":2,"tokensBefore":1}"#,
            "\n",
            r#"{"type":"compaction","summary":"t","firstKeptEntryIndex":9,"tokensBefore":1}"#,
            "\n",
            r#"{"type":"compaction","summary":"u","firstKeptEntryIndex":6,"tokensBefore":1e0,"id":"old"}"#,
            "\n",
            r#"{ "type":"custom","customType":"t"}"#,
            "\n",
        ),
    );
    s.run("migrate -q ./v1.jsonl");
    assert_snapshot!(s.text("v1.jsonl"), @r#"
    {"type":"session","id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/","version":3}
    broken

    {"type":"message","message":{"role":"user","content":"one"},"id":"53be4503","parentId":null}
    {"type":"message","message":{"role":"user","content":"two"},"id":"b0d0870d","parentId":"53be4503"}
    {"type":"compaction","summary":"s","tokensBefore":1,"id":"d11f3c8c","parentId":"b0d0870d","firstKeptEntryId":"b0d0870d"}
    {"type":"compaction","summary":"t","tokensBefore":1,"id":"769becd5","parentId":"d11f3c8c"}
    {"type":"compaction","summary":"u","tokensBefore":1e0,"id":"5e3c165f","parentId":"769becd5"}
    { "type":"custom","customType":"t","id":"f986f78c","parentId":"5e3c165f"}
    "#);
}

/// A file under two names, or given twice, a directory with a link to its own file, two migrations
/// of one directory at the same time: each file is migrated once, and is then up to date for the
/// others.
#[cfg(unix)]
#[test]
fn concurrent_runs_migrate_each_file_once() {
    for round in 0..20 {
        let s = Sandbox::new();
        (0..6).for_each(|at| s.put(&format!("d/{at}.jsonl"), fixture("v1.jsonl")));
        (0..6).for_each(|at| {
            std::os::unix::fs::symlink(format!("{at}.jsonl"), s.path(&format!("d/l{at}.jsonl")))
                .unwrap()
        });
        let line = "migrate -q --json ./d/0.jsonl ./d/../d/0.jsonl ./d --backup";
        let run = || s.pisess(line).real();
        let (one, other) = std::thread::scope(|scope| {
            let other = scope.spawn(run);
            (run(), other.join().unwrap())
        });
        let mut rows = String::new();
        for done in [one, other] {
            assert_eq!(done.code, 0, "{round}: {done}");
            rows += &done.text();
        }
        assert_eq!(
            rows.matches("\"status\":\"migrated\"").count(),
            6,
            "{round}: {rows}"
        );
        assert_eq!(
            rows.matches("\"status\":\"current\"").count(),
            2 * 13 - 6,
            "{round}: {rows}"
        );
        assert_eq!(s.names().len(), 6 + 6 + 6, "{round}: {:?}", s.names());
    }
}

/// The agents open the most recently modified session; a migration does not change which one that
/// is.
#[test]
fn a_migration_keeps_the_modification_time() {
    let s = Sandbox::with(&["v1.jsonl", "v2.jsonl", "draft-tree.jsonl"]);
    let time = |name: &str| std::fs::metadata(s.path(name)).unwrap().modified().unwrap();
    let names = s.names();
    for (ago, name) in names.iter().enumerate() {
        let written = time(name) - std::time::Duration::new(1000 * ago as u64 + 1, 5000);
        std::fs::File::open(s.path(name))
            .unwrap()
            .set_modified(written)
            .unwrap();
    }
    let before: Vec<_> = names.iter().map(|name| time(name)).collect();
    assert_eq!(s.pisess("migrate -q --backup .").done().code, 0);
    for (name, before) in names.iter().zip(before) {
        assert_eq!(time(name), before, "{name}");
        assert_eq!(time(&format!("{name}.bak")), before, "{name}");
    }
}
