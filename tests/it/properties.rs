//! Properties of every file: bytes are kept, migration is idempotent, every entry is drawn once.

use crate::sandbox::Sandbox;
use pisess::agents::row::RowOptions;
use pisess::load::{LoadOptions, load, load_appended};
use pisess::session::Session;
use pisess::session::entry::{Entry, Slice};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::cell::Cell;
use std::collections::HashMap;
use std::fmt::Write as _;

const HEADERS: [&str; 4] = [
    r#"{"type":"session","id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}"#,
    r#"{"type":"session","version":2,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}"#,
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}"#,
    r#"{"type":"session","id":"s","parent":-1}"#,
];

/// Lines that may occur in a file: entries of all formats, values, broken text, any bytes.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let id = prop::sample::select(vec!["a", "b", "c", "d", "e", "f", ""]);
    let kind = prop::sample::select(vec![
        "message",
        "label",
        "custom",
        "compaction",
        "branch_summary",
        "session",
        "leaf",
        "usage",
        "odd",
    ]);
    let role = prop::sample::select(vec![
        "user",
        "assistant",
        "hookMessage",
        "toolResult",
        "odd",
    ]);
    let entry = (kind, id.clone(), prop::option::of(id.clone()), role, id).prop_map(
        |(kind, id, parent, role, other)| {
            let parent = parent.map_or("null".to_owned(), |parent| format!("{parent:?}"));
            format!(
                r#"{{"type":"{kind}","id":"{id}","parentId":{parent},"timestamp":"2026-01-01T00:00:00.000Z","targetId":"{other}","firstKeptEntryId":"{other}","fromId":"{other}","label":"{other}","summary":"{other}","tokensBefore":1e1,"message":{{"role":"{role}","content":"{other}\ud83d"}}}}"#
            )
            .into_bytes()
        },
    );
    let draft = (0..9_i32, prop::sample::select(vec!["message", "head", "stack_summary", "stack_pop", "compaction"]))
        .prop_map(|(parent, kind)| {
            format!(
                r#"{{"type":"{kind}","parent":{parent},"backToIndex":{parent},"name":"n{parent}","summary":"s","summarizedPath":[1],"message":{{"role":"user","content":"x"}}}}"#
            )
            .into_bytes()
        });
    let odd = prop::sample::select(vec![
        "",
        " ",
        "null",
        "5",
        "\"x\"",
        "[1]",
        "{}",
        "{",
        "}{",
        "{\"type\":",
        "\u{feff}",
        "\u{2028}",
        "{\"id\":\"a\"}{\"id\":\"b\"}",
        "{\"id\":\"a\",\"id\":\"b\",\"parentId\":\"b\"}",
        "{\"id\":1e400}\r",
    ])
    .prop_map(|text| text.as_bytes().to_vec());
    let any = prop::collection::vec(
        any::<u8>().prop_filter("a newline", |&byte| byte != b'\n'),
        0..40,
    );
    prop_oneof![6 => entry, 2 => draft, 2 => odd, 1 => any]
}

/// A file: a header, then lines, with or without a final newline.
fn file(headers: impl Strategy<Value = &'static str>) -> impl Strategy<Value = File> {
    (headers, prop::collection::vec(line(), 0..24), any::<bool>()).prop_map(
        |(header, lines, newline)| {
            let mut bytes = header.as_bytes().to_vec();
            for line in lines {
                bytes.push(b'\n');
                bytes.extend(line);
            }
            if newline {
                bytes.push(b'\n');
            }
            File(bytes)
        },
    )
}

/// Bytes that a failing test prints as text.
#[derive(Clone)]
struct File(Vec<u8>);

impl std::fmt::Debug for File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        String::from_utf8_lossy(&self.0)
            .lines()
            .try_for_each(|line| write!(f, "\n{}", line.escape_debug()))
    }
}

fn any_version() -> impl Strategy<Value = &'static str> {
    prop::sample::select(HEADERS.to_vec())
}

/// Every command that adds to a session.
const LINES: &[&str] = &[
    "label -q - @ n",
    "edit -q - @^{message} --replace other",
    "pick -q - @ @^ --at @~2",
    "merge -q - :3 --summary s",
    "append -q - --custom c --user hi",
    "compact -q - --first-kept none --summary s",
    "summarize -q - root --summary s",
    "switch -q - root",
    "pop -q -",
];

thread_local! {
    /// One for all cases of a property: no command that reads standard input writes a file.
    static EMPTY: Sandbox = Sandbox::new();
}

fn run(line: &str, stdin: &[u8]) -> (u8, Vec<u8>) {
    EMPTY.with(|s| {
        let done = s.pisess(line).stdin(stdin).done();
        assert_eq!(s.names(), [""; 0], "{line}");
        (done.code, done.stdout)
    })
}

/// The number of cases of each property.
const CASES: u32 = 192;

/// The number of cases of a property whose command refuses four of ten inputs: so many that the
/// least number of accepted ones is far below what chance can leave.
const CASES_IF_OFTEN_REFUSED: u32 = 2 * CASES;

/// Runs a property of a command that may refuse an input on `case_count` inputs, and counts those
/// that it accepts: a property that is hardly ever tested proves nothing.
fn often_enough<S: Strategy>(
    floor: usize,
    case_count: u32,
    cases: S,
    property: impl Fn(S::Value) -> Result<bool, TestCaseError>,
) {
    let tried = Cell::new(0);
    let config = ProptestConfig {
        cases: case_count,
        fork: false,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let ran = TestRunner::new(config).run(&cases, |case| {
        tried.set(tried.get() + usize::from(property(case)?));
        Ok(())
    });
    ran.unwrap_or_else(|error| panic!("{error}"));
    assert!(
        tried.get() >= floor,
        "tried in {} of {case_count} cases, {floor} at least",
        tried.get()
    );
}

#[test]
fn older_files_read_as_if_migrated() {
    often_enough(150, CASES, file(any_version()), |File(bytes)| {
        let (code, migrated) = run("migrate -q -", &bytes);
        prop_assert_eq!(code, 0);
        for line in [
            "context -q -",
            "context -q - --as text",
            "label -q - --json",
        ] {
            let (before, after) = (run(line, &bytes), run(line, &migrated));
            prop_assert_eq!(before.0, after.0, "{}", line);
            prop_assert_eq!(
                String::from_utf8_lossy(&before.1),
                String::from_utf8_lossy(&after.1),
                "{}",
                line
            );
        }
        Ok(run("context -q -", &bytes).0 == 0)
    });
}

#[test]
fn a_label_keeps_what_was_and_loads_again() {
    often_enough(
        100,
        CASES_IF_OFTEN_REFUSED,
        file(Just(HEADERS[2])),
        |File(bytes)| {
            let s = Sandbox::new();
            s.put("a.jsonl", &bytes);
            let call = s.pisess("label --force -q ./a.jsonl :$ 'the name'").done();
            let after = s.bytes("a.jsonl");
            prop_assert!(after.starts_with(&bytes));
            if call.code != 0 {
                prop_assert!(after == bytes);
                return Ok(false);
            }
            prop_assert!(
                s.pisess("label -q ./a.jsonl --json")
                    .done()
                    .text()
                    .contains("the name")
            );
            let again = s.pisess("label --force -q ./a.jsonl @^ 'the name'").done();
            prop_assert!(again.code <= 2);
            Ok(true)
        },
    );
}

/// Each command must accept its own minimum number of inputs: otherwise the others would hide one
/// that refuses all.
#[test]
fn any_plan_keeps_earlier_bytes_and_loads_again() {
    for line in LINES {
        often_enough(10, CASES, file(any_version()), |File(bytes)| {
            let (_, migrated) = run("migrate -q -", &bytes);
            let (code, out) = run(line, &bytes);
            if code == 0 {
                let known = if out == bytes { &bytes } else { &migrated };
                prop_assert!(out.starts_with(known), "{}", line);
                prop_assert_eq!(run("tree -q - --filter all", &out).0, 0);
            }
            Ok(code == 0)
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, fork: false, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn load_then_save_is_identity(File(bytes) in file(Just(HEADERS[2]))) {
        let (code, out) = run("migrate -q -", &bytes);
        prop_assert_eq!(code, 0);
        prop_assert!(out == bytes);
    }

    #[test]
    fn any_bytes_behind_a_header_come_back(tail in prop::collection::vec(any::<u8>(), 0..400)) {
        let bytes = [HEADERS[2].as_bytes(), b"\n", &tail].concat();
        let (code, out) = run("migrate -q -", &bytes);
        prop_assert_eq!(code, 0);
        prop_assert!(out == bytes);
        for line in ["tree -q - --filter all", "path -q -", "context -q -", "context -q - --as text", "label -q -", "branches -q -", "show -q - --children root"] {
            prop_assert_eq!(run(line, &bytes).0, 0, "{}", line);
        }
    }

    #[test]
    fn any_bytes_at_all_end_in_an_exit_code(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for line in ["tree -q -", "migrate -q -", "label -q - @ n"] {
            prop_assert!(run(line, &bytes).0 <= 2, "{}", line);
        }
    }

    #[test]
    fn migrate_twice_is_once(File(bytes) in file(any_version())) {
        let (code, once) = run("migrate -q -", &bytes);
        prop_assert_eq!(code, 0);
        let (code, twice) = run("migrate -q -", &once);
        prop_assert_eq!(code, 0);
        prop_assert!(once == twice);
    }

    #[test]
    fn every_entry_is_drawn_once(links in prop::collection::vec((0..40_usize, 0..60_usize), 0..40)) {
        let mut bytes = HEADERS[2].as_bytes().to_vec();
        for (at, (time, parent)) in links.iter().enumerate() {
            let parent = if *parent < 50 { format!("\"i{parent}\"") } else { "null".to_owned() };
            let line = format!(
                "\n{{\"type\":\"message\",\"id\":\"i{at}\",\"parentId\":{parent},\"timestamp\":\"2026-01-01T00:00:{time:02}.000Z\",\"message\":{{\"role\":\"user\",\"content\":\"x\"}}}}"
            );
            bytes.extend(line.into_bytes());
        }
        let (code, out) = run("tree -q - --filter all --json", &bytes);
        prop_assert_eq!(code, 0);
        let mut drawn: HashMap<u64, usize> = HashMap::new();
        for row in String::from_utf8(out).unwrap().lines() {
            let row: serde_json::Value = serde_json::from_str(row).unwrap();
            *drawn.entry(row["line"].as_u64().unwrap()).or_default() += 1;
        }
        prop_assert_eq!(drawn.len(), links.len());
        prop_assert!(drawn.values().all(|&times| times == 1));
    }

    #[test]
    fn a_fork_has_the_context_of_its_source(File(bytes) in file(any_version())) {
        // A `leaf` record on the path would be the last entry of the new file and redirect the
        // leaf.
        prop_assume!(!String::from_utf8_lossy(&bytes).contains("\"type\":\"leaf\""));
        let (code, forked) = run("fork -q - -o -", &bytes);
        prop_assert_eq!(code, 0);
        prop_assert_eq!(run("migrate --check -q -", &forked).0, 0);
        let (before, after) = (run("context -q - --as text", &bytes), run("context -q - --as text", &forked));
        prop_assert_eq!(String::from_utf8_lossy(&before.1), String::from_utf8_lossy(&after.1));
    }

    #[test]
    fn a_fork_of_all_branches_has_the_context_of_its_source(File(bytes) in file(any_version())) {
        prop_assume!(!String::from_utf8_lossy(&bytes).contains("\"type\":\"leaf\""));
        let (code, forked) = run("fork -q - root --subtree -o -", &bytes);
        prop_assert_eq!(code, 0);
        prop_assert_eq!(run("migrate --check -q -", &forked).0, 0);
        let (before, after) = (run("context -q - --as text", &bytes), run("context -q - --as text", &forked));
        prop_assert_eq!(String::from_utf8_lossy(&before.1), String::from_utf8_lossy(&after.1));
    }
}

/// Returns everything that is known of a session.
fn described(session: &Session) -> String {
    let mut text = format!(
        "{:?} {} {}\n",
        session.leaf, session.line_count, session.record_count
    );
    for ix in session.entry_indexes() {
        // Where its id is stored does not matter.
        let entry = Entry {
            id: Slice::default(),
            ..*session.entry(ix)
        };
        let (id, row) = (session.id(ix), session.row(ix));
        let (parent, time) = (session.parent_id(ix), session.timestamp(ix));
        let _ = writeln!(
            text,
            "{entry:?} {id} {parent:?} {time:?} {row} {:?}",
            session.usage_of(ix)
        );
    }
    let calls = session
        .collected
        .tool_calls
        .iter()
        .map(|call| (call.entry, session.text(call.id)));
    let labels = session
        .collected
        .labels
        .iter()
        .map(|label| (label.entry, session.text(label.name)));
    let (calls, labels) = (calls.collect::<Vec<_>>(), labels.collect::<Vec<_>>());
    let _ = write!(
        text,
        "{calls:?} {labels:?} {:?} {:?}",
        session.name(),
        session.problems
    );
    text
}

/// Wherever a file is cut, what is appended makes the session that loading the whole file
/// makes.
#[test]
fn appended_lines_make_the_session_that_loading_makes() {
    let options = LoadOptions {
        whole_lines: true,
        rows: Some(RowOptions::default()),
        timestamps: true,
        usage: true,
        ..LoadOptions::default()
    };
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let (mut appended, mut again) = (0, 0);
    for folder in ["", "hazards", "kinds"] {
        let files = std::fs::read_dir(root.join(folder))
            .unwrap()
            .map(|file| file.unwrap().path());
        for path in files.filter(|path| path.extension().is_some_and(|end| end == "jsonl")) {
            let bytes = std::fs::read(&path).unwrap();
            let Ok(whole) = load(&bytes, &options) else {
                continue;
            };
            for cut in (0..bytes.len()).step_by(1 + bytes.len() / 100) {
                let Ok(mut session) = load(&bytes[..cut].to_vec(), &options) else {
                    continue;
                };
                if load_appended(&mut session, &bytes, &options).unwrap() {
                    assert_eq!(
                        described(&session),
                        described(&whole),
                        "{} cut at {cut}",
                        path.display()
                    );
                    appended += 1;
                } else {
                    again += 1;
                }
            }
        }
    }
    assert!(appended > 500 && appended > again, "{appended} {again}");
}
