use super::*;
use crate::session::defect::FindingKind;
use crate::session::entry::EntryIx;

const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}"#;

fn session(text: &str) -> Session {
    load(&text.as_bytes().to_vec(), &LoadOptions::default()).unwrap()
}

fn message(id: &str, parent: &str) -> String {
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-01-01T00:00:01.000Z","message":{{"role":"user","content":"hi"}}}}"#
    )
}

fn kinds(session: &Session) -> Vec<(u32, FindingKind)> {
    session
        .problems
        .iter()
        .map(|problem| (problem.line.0, problem.kind))
        .collect()
}

#[test]
fn entries_have_their_lines_and_parents() {
    let text = format!(
        "{HEADER}\n\n{}\n{}",
        message("a", "null"),
        message("b", "\"a\"")
    );
    let session = session(&text);
    assert_eq!(session.entries.len(), 2);
    assert_eq!(
        (session.entries[0].line.0, session.entries[1].line.0),
        (3, 4)
    );
    assert_eq!(
        (session.entries[0].record, session.entries[1].record),
        (1, 2)
    );
    assert_eq!(session.entries[1].parent, Some(EntryIx::new(0)));
    assert_eq!(session.leaf, Some(EntryIx::new(1)));
    assert!(!session.ends_with_newline);
    let span = session.entries[1].span;
    assert_eq!(
        &text[span.start as usize..span.end() as usize],
        message("b", "\"a\"")
    );
    assert_eq!(kinds(&session), []);
}

#[test]
fn broken_lines_are_noted_and_read_past() {
    let text = format!(
        "{HEADER}\nnot json\n{a}\n{b}{c}\nnull\n5\n{HEADER}\n{{\"type\":\"mess",
        a = message("a", "null"),
        b = message("b", "\"a\""),
        c = message("c", "\"b\"")
    );
    let session = session(&text);
    assert_eq!(session.entries.len(), 1);
    let expected = [
        (2, FindingKind::MalformedLine),
        (4, FindingKind::FusedLine),
        (5, FindingKind::NotAnEntry),
        (6, FindingKind::NotAnEntry),
        (7, FindingKind::SecondHeader),
        (8, FindingKind::TornTail),
    ];
    assert_eq!(kinds(&session), expected);
    // The header is record 0, `a` 1, `5` 2, the second header 3; `null` and malformed lines do not
    // count.
    assert_eq!(session.record_count, 4);
}

#[test]
fn chunks_and_workers_change_nothing() {
    let mut text = format!("{HEADER}\n");
    let mut parent = "null".to_owned();
    for at in 0..3000 {
        let id = format!("e{at}");
        let pad = "x".repeat(at * 7 % 2000);
        text += &format!(
            "{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":{parent},\"message\":{{\"role\":\"assistant\",\"content\":[{{\"type\":\"toolCall\",\"name\":\"read\",\"arguments\":{{\"path\":\"{id}\",\"{pad}\":0}}}}]}}}}\n"
        );
        if at % 500 == 250 {
            text += &format!("broken {}\n", "y".repeat(600_000));
        }
        parent = format!("\"{id}\"");
    }
    let loaded = |workers| {
        load(
            &text.as_bytes().to_vec(),
            &LoadOptions {
                workers,
                file_calls: true,
                ..LoadOptions::default()
            },
        )
        .unwrap()
    };
    let (one, three) = (loaded(1), loaded(3));
    assert_eq!(one.entries.len(), 3000);
    assert_eq!(format!("{:?}", one.entries), format!("{:?}", three.entries));
    assert_eq!(kinds(&one), kinds(&three));
    assert_eq!(kinds(&one).len(), 6);
    assert_eq!(one.path(one.leaf).len(), 3000);
    for session in [&one, &three] {
        for ix in session.entry_indexes() {
            let calls: Vec<_> = session
                .file_calls(ix)
                .unwrap()
                .iter()
                .map(|call| session.text(call.path))
                .collect();
            assert_eq!(calls, [session.id(ix)]);
        }
    }
    for entry in &one.entries {
        assert!(text[entry.span.start as usize..].starts_with("{\"type\""));
        assert_eq!(text.as_bytes()[entry.span.end() as usize], b'\n');
    }
}
