use super::*;
use crate::session::entry::{EntryIx, Flags};
use crate::session::{Format, ProblemKind};

const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}"#;

fn session(text: &str) -> Session {
    load(&text.as_bytes().to_vec(), &Options::default()).unwrap()
}

fn message(id: &str, parent: &str) -> String {
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-01-01T00:00:01.000Z","message":{{"role":"user","content":"hi"}}}}"#
    )
}

fn kinds(session: &Session) -> Vec<(u32, ProblemKind)> {
    session.problems.iter().map(|problem| (problem.line.0, problem.kind)).collect()
}

#[test]
fn entries_have_their_lines_and_parents() {
    let text = format!("{HEADER}\n\n{}\n{}", message("a", "null"), message("b", "\"a\""));
    let session = session(&text);
    assert_eq!(session.entries.len(), 2);
    assert_eq!((session.entries[0].line.0, session.entries[1].line.0), (3, 4));
    assert_eq!((session.entries[0].record, session.entries[1].record), (1, 2));
    assert_eq!(session.entries[1].parent, Some(EntryIx::new(0)));
    assert_eq!(session.leaf, Some(EntryIx::new(1)));
    assert!(!session.ends_with_newline);
    let span = session.entries[1].span;
    assert_eq!(&text[span.start as usize..span.end() as usize], message("b", "\"a\""));
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
        (2, ProblemKind::Malformed),
        (4, ProblemKind::Fused),
        (5, ProblemKind::NotAnObject),
        (6, ProblemKind::NotAnObject),
        (7, ProblemKind::SecondHeader),
        (8, ProblemKind::TornTail),
    ];
    assert_eq!(kinds(&session), expected);
    // The header is record 0, `a` 1, `5` 2, the second header 3; `null` and malformed lines do not count.
    assert_eq!(session.records, 4);
}

#[test]
fn what_is_no_session_is_refused_with_its_line() {
    let wrong = |text: &str| match load(&text.as_bytes().to_vec(), &Options::default()) {
        Err(LoadError::NotASession { line, what }) => (line.map(|line| line.0), what),
        other => panic!("{other:?}"),
    };
    assert_eq!(wrong(""), (None, WrongFile::Empty));
    assert_eq!(wrong(" \n\n"), (None, WrongFile::NoHeader));
    assert_eq!(wrong("x\ny"), (None, WrongFile::NoHeader));
    assert_eq!(wrong("{\"type\":\"message\"}\n"), (Some(1), WrongFile::OtherFirst));
    assert_eq!(wrong("\n{\"kind\":\"header\",\"v\":4}\n"), (Some(2), WrongFile::Newer("v4".to_owned())));
    assert_eq!(wrong("{\"kind\":\"header\"}\n"), (Some(1), WrongFile::OtherFirst));
    assert_eq!(
        wrong("{\"type\":\"session\",\"id\":\"\",\"version\":99}"),
        (Some(1), WrongFile::Newer("version 99".to_owned()))
    );
    assert_eq!(wrong("{\"type\":\"session\",\"id\":5}"), (Some(1), WrongFile::NoSessionId));
    assert_eq!(wrong("a\rb\r"), (None, WrongFile::CarriageReturns));
}

#[test]
fn cycles_are_cut_at_their_first_entry() {
    let text = format!(
        "{HEADER}\n{}\n{}\n{}\n{}\n",
        message("a", "\"b\""),
        message("b", "\"a\""),
        message("c", "\"b\""),
        message("d", "\"d\"")
    );
    let session = session(&text);
    let parents: Vec<_> =
        session.entries.iter().map(|entry| entry.parent.map(|parent| parent.at())).collect();
    assert_eq!(parents, [None, Some(0), Some(1), None]);
    let marked: Vec<_> = session.entries.iter().map(|entry| entry.flags.has(Flags::IN_CYCLE)).collect();
    assert_eq!(marked, [true, true, false, true]);
}

#[test]
fn of_duplicate_ids_the_last_is_found() {
    let text =
        format!("{HEADER}\n{}\n{}\n{}\n", message("a", "null"), message("a", "null"), message("b", "\"a\""));
    let session = session(&text);
    assert_eq!(session.entries[2].parent, Some(EntryIx::new(1)));
    assert!(session.entries[0].flags.has(Flags::SUPERSEDED));
    assert_eq!(kinds(&session), [(3, ProblemKind::DuplicateId)]);
}

#[test]
fn version_one_is_understood_as_if_migrated() {
    let text = "{\"type\":\"session\",\"id\":\"s\"}\n{\"type\":\"message\",\"id\":\"x\",\"message\":{\"role\":\"hookMessage\"}}\n{\"type\":\"message\"}\n";
    let session = session(text);
    assert_eq!(session.format, Format::V1);
    assert_eq!(session.id(EntryIx::new(0)).as_bytes().len(), 8);
    assert_ne!(session.id(EntryIx::new(0)), "x");
    assert_eq!(session.entries[1].parent, Some(EntryIx::new(0)));
    assert_eq!(session.role_name(EntryIx::new(0)).unwrap(), "custom");
}

#[test]
fn the_draft_tree_links_by_record_number() {
    let text = concat!(
        "{\"type\":\"session\",\"id\":\"s\",\"parent\":-1}\n",
        "{\"type\":\"message\",\"parent\":0}\n",
        "{\"type\":\"message\",\"parent\":1}\n",
        "{\"type\":\"message\",\"parent\":1}\n",
        "{\"type\":\"head\",\"parent\":2,\"name\":\"try\"}\n",
        "{\"type\":\"head\",\"parent\":3,\"name\":\"main\"}\n",
        "{\"type\":\"message\",\"parent\":2}\n",
    );
    let session = session(text);
    assert_eq!(session.format, Format::Draft);
    let parents: Vec<_> =
        session.entries.iter().map(|entry| entry.parent.map(|parent| parent.at())).collect();
    assert_eq!(parents, [None, Some(0), Some(0), Some(1), Some(2), Some(1)]);
    assert_eq!(session.leaf, Some(EntryIx::new(4)));
    assert_eq!(session.collected.labels.len(), 1);
    assert_eq!(session.text(session.collected.labels[0].target), session.id(EntryIx::new(1)));
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
        load(&text.as_bytes().to_vec(), &Options { workers, file_calls: true, ..Options::default() }).unwrap()
    };
    let (one, three) = (loaded(1), loaded(3));
    assert_eq!(one.entries.len(), 3000);
    assert_eq!(format!("{:?}", one.entries), format!("{:?}", three.entries));
    assert_eq!(kinds(&one), kinds(&three));
    assert_eq!(kinds(&one).len(), 6);
    assert_eq!(one.path(one.leaf).len(), 3000);
    for session in [&one, &three] {
        for ix in session.all() {
            let calls: Vec<_> =
                session.file_calls(ix).unwrap().iter().map(|call| session.text(call.path)).collect();
            assert_eq!(calls, [session.id(ix)]);
        }
    }
    for entry in &one.entries {
        assert!(text[entry.span.start as usize..].starts_with("{\"type\""));
        assert_eq!(text.as_bytes()[entry.span.end() as usize], b'\n');
    }
}
