//! Broken and unusual files: read as far as possible, kept byte for byte, reported once.

use crate::every::{self, CHANGES, MAKES, READS, SEARCHES};
use crate::sandbox::{Done, Sandbox, fixture, hazards};
use insta::assert_snapshot;

/// Hazards that are not sessions; [`crate::errors`] tests their errors.
const NO_SESSION: [&str; 9] = [
    "blank",
    "cr-only",
    "empty",
    "header-second",
    "no-header",
    "numeric-header-id",
    "pretty-printed",
    "title-slot-alone",
    "version-99",
];

/// Returns each hazard that is a session.
fn sessions() -> impl Iterator<Item = String> {
    hazards()
        .into_iter()
        .filter(|name| !NO_SESSION.contains(&name.as_str()))
}

/// Returns the tree of a hazard, with all entries.
fn tree(name: &str) -> Done {
    let s = Sandbox::with(&[&format!("hazards/{name}.jsonl")]);
    s.unchanged(&format!("tree --filter all ./{name}.jsonl"))
}

/// Returns what is reported of a hazard of which all four entries are read.
fn note_of_whole(name: &str) -> String {
    let done = tree(name);
    let rows = [
        "u0000001  • user: one",
        "a0000002  • assistant: two",
        "u0000003  • user: three",
    ];
    assert_eq!(
        done.text(),
        format!(
            "{}\na0000004  • assistant: four  ← active\n",
            rows.join("\n")
        ),
        "{name}"
    );
    let note = done
        .stderr
        .strip_prefix(&format!("pisess: note: ./{name}.jsonl: "));
    let hint = "; skipped or read as far as possible (hint: `pisess check` explains it)\n";
    note.map_or(&*done.stderr, |note| {
        note.strip_suffix(hint).unwrap_or(note)
    })
    .to_owned()
}

#[test]
fn every_command_reads_each_of_them_and_ends() {
    for name in sessions() {
        let s = Sandbox::with(&[&format!("hazards/{name}.jsonl")]);
        for line in READS.iter().chain(SEARCHES) {
            let done = s.unchanged(&every::of(line, &format!("./{name}.jsonl")));
            assert!(done.code <= 1 || is_refused(&done), "{name} {line}: {done}");
            // At most one note is about the file; another may be about the result.
            let notes = done
                .stderr
                .lines()
                .filter(|line| line.starts_with("pisess: note: ./"))
                .count();
            assert!(notes <= 1, "{name} {line}: {done}");
        }
    }
}

/// Whether an entry that cannot be edited or does not exist was refused: in one line, with a hint.
fn is_refused(done: &Done) -> bool {
    let told: Vec<_> = done
        .stderr
        .lines()
        .filter(|line| !line.starts_with("pisess: note:"))
        .collect();
    done.code == 2
        && matches!(told[..], [line] if line.contains("(hint: ") || line.contains("\"hint\":\""))
}

/// Existing bytes stay; new ones follow them, and can be read. If there is nothing to do, nothing
/// changes.
#[test]
fn every_change_keeps_every_byte() {
    for name in sessions() {
        let source = fixture(&format!("hazards/{name}.jsonl"));
        let s = Sandbox::new();
        let migrated = s.pisess("migrate -q -").stdin(source.clone()).done().stdout;
        for line in CHANGES.iter() {
            s.put("s", &source);
            let done = s.pisess(&every::of(line, "./s")).done();
            let after = s.bytes("s");
            match done.code {
                _ if line.starts_with("check") => {
                    let kept = if after == source {
                        None
                    } else {
                        Some(s.bytes("s.bak"))
                    };
                    assert!(
                        kept.is_none_or(|kept| kept == source),
                        "{name} {line}: {done}"
                    );
                }
                0 => assert!(after.starts_with(&migrated), "{name} {line}: {done}"),
                _ => {
                    assert!(
                        after == source && (done.code == 1 || is_refused(&done)),
                        "{name} {line}: {done}"
                    )
                }
            }
            assert_eq!(
                s.pisess("tree -q ./s --filter all").done().code,
                0,
                "{name} {line}"
            );
            for name in s.names() {
                assert!(
                    ["s", "s.bak", "s.rejected"].contains(&name.as_str()),
                    "{line}: {name}"
                );
                std::fs::remove_file(s.path(&name)).unwrap();
            }
        }
        s.put("s", &source);
        for line in MAKES.iter() {
            let done = s.pisess(&every::of(line, "./s")).done();
            assert!(s.bytes("s") == source, "{name} {line}");
            let is_made = s.path("new").exists();
            // A repair exits with 1 if it left a problem.
            assert!(
                done.code <= 1 || !is_made && is_refused(&done),
                "{name} {line}: {done}"
            );
            assert!(is_made || done.code > 0, "{name} {line}: {done}");
            if is_made {
                assert_eq!(
                    s.pisess("tree -q ./new --filter all").done().code,
                    0,
                    "{name} {line}"
                );
                std::fs::remove_file(s.path("new")).unwrap();
            }
            let _ = std::fs::remove_file(s.path("new.rejected"));
            assert_eq!(s.names(), ["s"], "{name} {line}");
        }
    }
}

#[test]
fn every_command_refuses_a_file_that_is_no_session() {
    for name in NO_SESSION {
        let s = Sandbox::with(&[&format!("hazards/{name}.jsonl")]);
        for line in READS.iter().chain(SEARCHES).chain(&*CHANGES).chain(&*MAKES) {
            // check repairs the line endings and the header, so it is not an error.
            let is_repairable = ["cr-only", "header-second", "no-header"].contains(&name);
            if is_repairable && line.starts_with("check") {
                continue;
            }
            let done = s.unchanged(&every::of(line, &format!("./{name}.jsonl")));
            assert!(
                done.code == 2 && is_refused(&done) && done.stdout.is_empty(),
                "{name} {line}: {done}"
            );
        }
    }
}

#[test]
fn a_label_is_one_line_behind_the_rest() {
    for name in sessions() {
        let file = format!("{name}.jsonl");
        let s = Sandbox::with(&[&format!("hazards/{file}")]);
        if s.pisess(&format!("path -q --ids ./{file}"))
            .done()
            .stdout
            .is_empty()
        {
            continue;
        }
        let migrated = s.pisess(&format!("migrate -q ./{file} -o -")).done().stdout;
        let done = s.pisess(&format!("label -q ./{file} @ 'the end'")).done();
        assert_eq!(done.code, 0, "{name}: {done}");
        let after = s.bytes(&file);
        let added = &after[migrated.len()..];
        let added = added.strip_prefix(b"\n").unwrap_or(added);
        assert_eq!(
            added.iter().filter(|&&byte| byte == b'\n').count(),
            1,
            "{name}"
        );
        // The result can be read, including the label.
        assert!(
            s.pisess(&format!("label -q ./{file}"))
                .done()
                .text()
                .contains("the end"),
            "{name}"
        );
    }
}

#[test]
fn a_stream_that_needs_no_change_passes_byte_for_byte() {
    for name in sessions() {
        let s = Sandbox::new();
        let bytes = fixture(&format!("hazards/{name}.jsonl"));
        let done = s.pisess("migrate -q -").stdin(bytes.clone()).done();
        assert_eq!(done.code, 0, "{name}: {done}");
        if !name.ends_with("-v2") {
            assert!(done.stdout == bytes, "{name}");
        }
    }
}

#[test]
fn all_of_a_fork_has_every_byte_behind_the_header() {
    for name in sessions() {
        let s = Sandbox::with(&[&format!("hazards/{name}.jsonl")]);
        let migrated = s
            .pisess(&format!("migrate -q ./{name}.jsonl -o -"))
            .done()
            .stdout;
        s.pisess(&format!("fork -q --branches ./{name}.jsonl -o ./new"))
            .done();
        let new = s.bytes("new");
        let behind = |bytes: &[u8], header: &str| {
            let text: Vec<_> = bytes
                .split_inclusive(|&byte| byte == b'\n')
                .map(<[u8]>::to_vec)
                .collect();
            let at = text
                .iter()
                .position(|line| String::from_utf8_lossy(line).contains(header))
                .unwrap();
            text[at + 1..].concat()
        };
        let mut expected = behind(&migrated, "\"type\":\"session\"");
        if !expected.is_empty() && !expected.ends_with(b"\n") {
            expected.push(b'\n');
        }
        assert!(behind(&new, "\"type\":\"session\"") == expected, "{name}");
    }
}

#[test]
fn cycles_are_drawn_with_a_root() {
    assert_snapshot!(tree("cycle-of-two"), @"
    rrrr0001  ├─ user: root  (1 message, 4mo)
    cccc0001  • user: first of two  (cycle of parents)
    cccc0002  • assistant: second of two  ← active  (cycle of parents)
    2> pisess: note: ./cycle-of-two.jsonl: line 3 is its own ancestor (and 1 more); skipped or read as far as possible (hint: `pisess check` explains it)
    ");
    assert_snapshot!(tree("cycle-off-path"), @"
    cccc0001  ├─ user: first of two  (cycle of parents)  (2 messages, 4mo)
    cccc0002  │  assistant: second of two  (cycle of parents)
    rrrr0001  • user: root
    rrrr0002  • assistant: leaf  ← active
    2> pisess: note: ./cycle-off-path.jsonl: line 2 is its own ancestor (and 1 more); skipped or read as far as possible (hint: `pisess check` explains it)
    ");
    assert_snapshot!(tree("self-parent"), @"
    rrrr0001  ├─ user: root  (1 message, 4mo)
    ssss0001  • user: its own parent  ← active  (cycle of parents)
    2> pisess: note: ./self-parent.jsonl: line 3 is its own ancestor; skipped or read as far as possible (hint: `pisess check` explains it)
    ");
    assert_snapshot!(tree("duplicate-id-cycle"), @"
    dddd0001  ├─ user: root  (1 message, 4mo)
    dddd0002  • assistant: child  (cycle of parents)
    dddd0001  • user: root again, below its child  ← active  (cycle of parents)
    2> pisess: note: ./duplicate-id-cycle.jsonl: line 3 is its own ancestor (and 1 more), line 4 has the id of another line; skipped or read as far as possible (hint: `pisess check` explains it)
    ");
}

#[test]
fn duplicate_ids() {
    assert_snapshot!(tree("duplicate-id"), @"
    dddd0001  • user: root
    dddd0002  ├─ user: the first of the name  (1 message, 4mo)
    dddd0002  • user: the second of the name  ← active
    dddd0003  └─ assistant: child  (1 message, 4mo)
    2> pisess: note: ./duplicate-id.jsonl: line 5 has the id of another line; skipped or read as far as possible (hint: `pisess check` explains it)
    ");
}

#[test]
fn parents_that_are_not_there_or_stand_below() {
    assert_snapshot!(tree("orphan"), @"
    u0000001  ├─ user: one  (2 messages, 4mo)
    a0000002  │  assistant: two
    oooo0001  • user: orphan
    oooo0002  • assistant: child of the orphan  ← active
    2> pisess: note: ./orphan.jsonl: line 4 names a parent that does not exist; skipped or read as far as possible (hint: `pisess check` explains it)
    ");
    assert_eq!(note_of_whole("forward-parent"), "");
    assert_snapshot!(tree("empty-parent"), @"
    u0000001  ├─ user: one  (1 message, 4mo)
    eeee0001  ├─ user: parent is the empty string  (1 message, 4mo)
    eeee0002  • user: no parent key  ← active
    ");
    assert_snapshot!(tree("label-as-parent"), @"
    u0000001  • [start] user: one
    a0000002  • assistant: two
    l0000001  • label: start
    u0000003  • user: below the label
    a0000004  • assistant: four  ← active
    ");
}

#[test]
fn malformed_torn_and_fused_lines() {
    assert_snapshot!(tree("malformed-v3"), @"
    u0000001  ├─ user: one  (1 message, 4mo)
    u0000003  • user: three
    a0000004  • assistant: four  ← active
    2> pisess: note: ./malformed-v3.jsonl: line 3 is not JSON, line 4 names a parent that does not exist; skipped or read as far as possible (hint: `pisess check` explains it)
    ");
    assert_snapshot!(tree("malformed-v2"), @"
    u0000001  ├─ user: one  (1 message, 4mo)
    u0000003  • custom  ← active
    2> pisess: note: ./malformed-v2.jsonl: line 3 is not JSON, line 4 names a parent that does not exist; skipped or read as far as possible (hint: `pisess check` explains it)
    ");
    assert_snapshot!(tree("torn-tail"), @"
    u0000001  • user: one
    a0000002  • assistant: two
    u0000003  • user: three  ← active
    2> pisess: note: ./torn-tail.jsonl: the last line is incomplete; skipped or read as far as possible (hint: `pisess check` explains it)
    ");
    assert_snapshot!(tree("fused-lines"), @"
    u0000001  ├─ user: one  (1 message, 4mo)
    a0000004  • assistant: four  ← active
    2> pisess: note: ./fused-lines.jsonl: line 3 has several values, line 4 names a parent that does not exist; skipped or read as far as possible (hint: `pisess check` explains it)
    ");
    assert_eq!(note_of_whole("no-final-newline"), "");
}

#[test]
fn values_that_are_no_entries() {
    assert_snapshot!(tree("null-and-scalars"), @"
              ├─ no type  (1 message)
    u0000001  • user: one
    a0000002  • assistant: two
    u0000003  • user: three
    a0000004  • assistant: four  ← active
    2> pisess: note: ./null-and-scalars.jsonl: line 4 is not an entry (and 3 more), line 8 has no id; skipped or read as far as possible (hint: `pisess check` explains it)
    ");
    assert_snapshot!(tree("missing-id"), @"
    u0000001  • user: one
    a0000002  • assistant: two
              ├─ user: no id  (1 message, 4mo)
    u0000003  • user: three
    a0000004  • assistant: four  ← active
    2> pisess: note: ./missing-id.jsonl: line 4 has no id; skipped or read as far as possible (hint: `pisess check` explains it)
    ");
    assert_snapshot!(tree("missing-id-last"), @"
    u0000001  • user: one
    a0000002  • assistant: two  ← active
              └─ user: no id  (1 message, 4mo)
    2> pisess: note: ./missing-id-last.jsonl: line 4 has no id; skipped or read as far as possible (hint: `pisess check` explains it)
    ");
    assert_snapshot!(tree("message-without-content"), @"
    u0000001  • user: one
    a0000002  • assistant: (no content)
    u0000003  • user
    x0000004  •   ← active
    ");
    assert_snapshot!(tree("unknown-type"), @"
    u0000001  • user: one
    a0000002  • assistant: two
    hhhh0001  • hologram
    u0000003  • user: three  ← active
    ");
}

#[test]
fn headers() {
    assert_eq!(note_of_whole("garbage-then-header"), "line 1 is not JSON");
    assert_eq!(
        note_of_whole("two-headers"),
        "line 4 is a second session header"
    );
    assert_eq!(
        note_of_whole("second-header-last"),
        "line 6 is a second session header"
    );
    assert_eq!(
        note_of_whole("string-version"),
        "line 1 has a version that is not a number"
    );
    assert_eq!(note_of_whole("empty-header-id"), "");
    assert_snapshot!(tree("header-only"), @"2> pisess: note: the session has no entries (hint: `pisess list --all` lists others)");
    assert_eq!(note_of_whole("title-slot-too-short"), "");
}

#[test]
fn encodings() {
    assert_eq!(note_of_whole("crlf"), "");
    assert_eq!(
        note_of_whole("byte-order-mark"),
        "line 1 begins with a byte order mark"
    );
    assert_snapshot!(tree("invalid-utf8"), @"
    u0000001  • user: one
    a0000002  • assistant: two
    u0000003  • user: thr��ee  ← active
    2> pisess: note: ./invalid-utf8.jsonl: line 4 contains bytes that are not UTF-8; skipped or read as far as possible (hint: `pisess check` explains it)
    ");
    assert_snapshot!(tree("lone-surrogate"), @"
    u0000001  • user: cut emoji � here
    a0000002  • assistant: and � there  ← active
    ");
    assert_snapshot!(tree("line-separators"), @"
    u0000001  • user: line<U+2028>separator<U+2029>here
    a0000002  • assistant: del ␡ here  ← active
    ");
    assert_snapshot!(tree("nul-bytes"), @"
    u0000001  • user: one
    a0000002  • assistant: two
    u0000003  • user: escaped ␀ nul  ← active
    2> pisess: note: ./nul-bytes.jsonl: line 5 is not JSON; skipped or read as far as possible (hint: `pisess check` explains it)
    ");
    assert_snapshot!(tree("blank-lines"), @"
    u0000001  • user: one
    a0000002  • assistant: two  ← active
    ");
}

#[test]
fn odd_labels_and_times() {
    assert_snapshot!(tree("label-on-nothing"), @"
    u0000001  • user: one
    a0000002  • assistant: two
    l0000001  • label: ghost  ← active
    ");
    assert_snapshot!(tree("label-cleared"), @"
    u0000001  • user: one
    a0000002  • assistant: two
    l0000001  • label: start
    l0000002  • label
    l0000003  • label: kept
    l0000004  • label: (cleared)  ← active
    ");
    assert_snapshot!(tree("same-timestamps"), @"
    u0000001  • user: one
    u0000002  ├─ user: b  (1 message, 4mo)
    u0000003  ├─ user: a  (1 message, 4mo)
    u0000004  • user: clock went back  ← active
    ");
    assert_snapshot!(tree("trailing-leaf-record"), @"
    u0000001  • user: one
    a0000002  • assistant: two  ← active
    u0000003  └─ user: three  (2 messages, 4mo)
    a0000004     assistant: four
    f0000001     leaf
    ");
    assert_snapshot!(tree("ids-of-any-kind"), @"
    -rf                                   • user: starts with a dash
    V1StGXR8_Z                            • user: nanoid
    018f3c6a-7b1e-7000-8000-000000000001  • user: uuid
    b^                                    • user: ends like a suffix
    root                                  • user: named root
    é à                                   • user: with a blank  ← active
    ");
}

#[test]
fn quiet_leaves_the_note_out() {
    let s = Sandbox::with(&["hazards/malformed-v3.jsonl"]);
    assert_eq!(s.pisess("tree -q ./malformed-v3.jsonl").done().stderr, "");
    assert_eq!(
        s.pisess("tree ./malformed-v3.jsonl")
            .done()
            .stderr
            .lines()
            .count(),
        1
    );
}

#[test]
fn verbatim_json_keeps_lone_surrogates_and_numbers() {
    let s = Sandbox::with(&["hazards/lone-surrogate.jsonl", "hazards/numbers-v2.jsonl"]);
    assert!(
        s.run("path --json ./lone-surrogate.jsonl")
            .contains(r"cut emoji \ud83d here")
    );
    assert!(
        s.run("context ./lone-surrogate.jsonl")
            .contains(r"and \udc00 there")
    );
    let line = s.run("path --json ./numbers-v2.jsonl");
    for number in ["12345678901234567890", "1.0", "1e400", "-0", "1E5"] {
        assert!(line.contains(&format!(":{number}")), "{number}: {line}");
    }
}

#[test]
fn an_append_closes_a_torn_tail() {
    let s = Sandbox::with(&["hazards/torn-tail.jsonl", "hazards/no-final-newline.jsonl"]);
    for name in s.names() {
        s.pisess(&format!("label -q ./{name} @ n")).done();
        let expected = [
            fixture(&format!("hazards/{name}")),
            b"\n{\"type\":\"label\"".to_vec(),
        ]
        .concat();
        assert!(s.bytes(&name).starts_with(&expected), "{name}");
    }
}
