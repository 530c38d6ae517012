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

/// Content that is made as it is read, in parts of this length.
struct MadeContent {
    bytes: Vec<u8>,
    part_len: usize,
}

impl ReadAt for MadeContent {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> std::io::Result<usize> {
        self.bytes.read_at(buf, offset)
    }

    fn len(&self) -> u64 {
        ReadAt::len(&self.bytes)
    }

    fn stream(
        &self,
        _kept: KeptContent,
        read: &mut (dyn FnMut(&[u8]) + Send),
    ) -> Option<std::io::Result<()>> {
        for part in self.bytes.chunks(self.part_len) {
            read(part);
        }
        Some(Ok(()))
    }
}

/// Content of which no long part is read at once.
struct ReadInParts(Vec<u8>);

impl ReadAt for ReadInParts {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> std::io::Result<usize> {
        assert!(buf.len() <= 1024 * 1024, "{} bytes", buf.len());
        self.0.read_at(buf, offset)
    }

    fn len(&self) -> u64 {
        ReadAt::len(&self.0)
    }
}

#[test]
fn the_agent_of_a_long_file_is_found_in_little_memory() {
    let lines = format!("{}\n", message("a", "null")).repeat(20_000);
    let evidence = r#"{"type":"mode_change","id":"m","parentId":null,"mode":"plan"}"#;
    for (end, wanted) in [("", Dialect::Pi), (evidence, Dialect::OhMyPi)] {
        let content = ReadInParts(format!("{HEADER}\n{lines}{end}").into_bytes());
        assert_eq!(read_dialect(&content).unwrap(), wanted);
    }
}

#[test]
fn content_that_is_made_loads_as_if_it_were_in_a_file() {
    let mut text = format!("{HEADER}\n\nnot json\n");
    let mut parent = "null".to_owned();
    for at in 0..300 {
        let id = format!("e{at}");
        text += &message(&id, &parent);
        text += "\n";
        parent = format!("\"{id}\"");
    }
    // Only oh-my-pi writes such an entry, and it comes late: the session is loaded by position.
    let late_evidence = r#"{"type":"mode_change","id":"m","parentId":"e299","mode":"plan"}"#;
    for end in ["", "{\"type\":\"mess", late_evidence] {
        let bytes = format!("{text}{end}").into_bytes();
        let in_file = load(&bytes, &LoadOptions::default()).unwrap();
        for part_len in [HEADER.len() + 1, 1000, bytes.len()] {
            let content = MadeContent {
                bytes: bytes.clone(),
                part_len,
            };
            let made = load(&content, &LoadOptions::default()).unwrap();
            // Where ids are in the arena depends on the parts.
            assert_eq!(made.entries.len(), in_file.entries.len());
            for ix in made.entry_indexes() {
                let (entry, wanted) = (made.entry(ix), in_file.entry(ix));
                assert_eq!(made.id(ix), in_file.id(ix));
                assert_eq!(entry.parent, wanted.parent);
                assert_eq!(entry.span, wanted.span);
                assert_eq!((entry.line, entry.record), (wanted.line, wanted.record));
                assert_eq!(entry.flags, wanted.flags);
            }
            assert_eq!(kinds(&made), kinds(&in_file));
            assert_eq!(made.leaf, in_file.leaf);
            assert_eq!(made.dialect, in_file.dialect);
            assert_eq!(read_dialect(&content).unwrap(), in_file.dialect);
            assert_eq!(made.line_count, in_file.line_count);
            assert_eq!(made.ends_with_newline, in_file.ends_with_newline);
        }
    }

    let empty = MadeContent {
        bytes: Vec::new(),
        part_len: 1,
    };
    let error = load(&empty, &LoadOptions::default()).unwrap_err();
    assert!(matches!(error, LoadError::NotASession { .. }));
}
