//! Properties that hold for any bytes. The fuzz targets call these functions, and so do the tests,
//! with the inputs that the fuzzer found and with the hazards.

use pisess::agents::row::RowOptions;
use pisess::json::edit::Edit;
use pisess::json::string::{decode, encode_to_vec};
use pisess::json::{KeyCache, Raw, Scanner};
use pisess::load::{LoadOptions, load};
use pisess::session::Session;
use pisess::session::range::{Selection, resolve_selection};
use pisess::session::read::entry_reader::EntryReader;
use pisess::session::reference::resolve_reference;
use pisess::session::search::SearchWords;
use pisess::world::{Terminals, World};
use std::cell::Cell;
use std::io::Cursor;

const HEADER: &[u8] = b"{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n";

/// The scanner accepts what another parser accepts, and its results are within the bytes.
pub fn lines(data: &[u8]) {
    let mut scanner = Scanner::new(data);
    let value = scanner.read_value();
    let mut keys = KeyCache::new(|_| ());
    for _ in 0..2 {
        let mut cached = Scanner::new(data);
        assert_eq!(
            cached.read_value_with(&mut keys),
            value,
            "a cache of keys changes no result"
        );
        assert_eq!(cached.pos(), scanner.pos());
        keys.restart();
    }
    let whole = value.is_ok() && scanner.at_end() && scanner.pos() == data.len();
    assert!(scanner.pos() <= data.len());
    if !data.contains(&b'\n') && serde_json::from_slice::<serde::de::IgnoredAny>(data).is_ok() {
        assert!(whole, "not accepted: {}", String::from_utf8_lossy(data));
    }
    if let Ok(value) = value {
        let value = Raw::from_checked(value);
        assert_eq!(Raw::parse(value.bytes()).map(Raw::bytes), Ok(value.bytes()));
        value.members().for_each(|(key, _)| drop(decode(key.bytes)));
        assert!(value.items().count() <= data.len());
        if let Some(text) = value.text() {
            assert_eq!(
                decode(&encode_to_vec(&text)[1..encode_to_vec(&text).len() - 1]),
                text
            );
        }
    }
    if let Ok(edit) = Edit::new(data) {
        assert_eq!(edit.finish(), data);
    }
}

/// Any lines after a header load; each entry is one line, and each walk ends.
pub fn entries(data: &[u8]) {
    let options = LoadOptions {
        rows: Some(RowOptions::default()),
        search: SearchWords::new("a b"),
        timestamps: true,
        ..LoadOptions::default()
    };
    let bytes = [HEADER, data].concat();
    let session = load(&bytes, &options).expect("a header stands first");
    for ix in session.entry_indexes() {
        let span = session.entry(ix).span;
        let line = &bytes[span.start as usize..span.end() as usize];
        assert!(Raw::parse(line).is_ok_and(Raw::is_object));
        assert!(
            session
                .entry(ix)
                .parent
                .is_none_or(|parent| parent.index() < session.entries.len())
        );
    }
    assert!(session.path(session.leaf).len() <= session.entries.len());
}

/// A reference names an entry of the session, or is an error.
pub fn references(data: &[u8]) {
    let entries = concat!(
        r#"{"type":"message","id":"aaaa1111","parentId":null,"message":{"role":"user","content":"x"}}"#,
        "\n",
        r#"{"type":"message","id":"aaaa2222","parentId":"aaaa1111","message":{"role":"assistant","content":[]}}"#,
        "\n",
        r#"{"type":"label","id":"a^~{}@:","parentId":"aaaa2222","targetId":"aaaa1111","label":"root"}"#,
        "\n",
    );
    let bytes = [HEADER, entries.as_bytes()].concat();
    let session = loaded(&bytes);
    let reader = EntryReader::new(&session, &bytes);
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match resolve_reference(&reader, text) {
        Ok(resolved) => assert!(
            resolved
                .position
                .entry()
                .is_none_or(|ix| ix.index() < session.entries.len())
        ),
        Err(error) => {
            let _ = (error.to_string(), error.hint());
        }
    }
    match resolve_selection(&reader, text) {
        Ok(Selection::Entry(_)) => {}
        Ok(Selection::Range(range)) => {
            let entries = range.entries(&session);
            assert!(!entries.is_empty());
            assert_eq!(entries.last().copied(), range.end.entry());
        }
        Err(error) => {
            let _ = (error.to_string(), error.hint());
        }
    }
}

fn loaded(bytes: &[u8]) -> Session {
    load(&bytes.to_vec(), &LoadOptions::default()).expect("a header stands first")
}

/// Runs check, repair, and the commands that read, on any bytes.
pub fn round(data: &[u8]) {
    for bytes in [data.to_vec(), [HEADER, data].concat()] {
        for line in ["check -", "tree --filter all -", "path -", "label -"] {
            let (code, said) = run(line, &bytes);
            assert!(code <= 2, "{line}: {code}");
            assert!(
                is_tame(&said),
                "{line}: {:?}",
                String::from_utf8_lossy(&said)
            );
        }
        run("context -", &bytes);
        let (code, forked) = run("fork -o - -", &bytes);
        if code == 0 {
            assert_ne!(run("tree -", &forked).0, 2, "what fork made does not load");
        }
        repaired(&bytes);
    }
}

/// A repair leaves nothing to repair, and a second one changes nothing.
fn repaired(bytes: &[u8]) {
    use pisess::ops::check::{SessionLocation, check_session};
    let bytes = bytes.to_vec();
    let Ok(checkup) = check_session(&bytes, &LoadOptions::default(), &SessionLocation::default())
    else {
        return;
    };
    let mut once = Vec::new();
    checkup.write_repaired(&mut once).expect("memory");
    let again = check_session(&once, &LoadOptions::default(), &SessionLocation::default())
        .expect("a repaired session loads");
    assert!(!again.is_repairable(), "left: {:?}", &again.findings);
    let mut twice = Vec::new();
    again.write_repaired(&mut twice).expect("memory");
    assert_eq!(once, twice);
    assert!(load(&once, &LoadOptions::default()).is_ok());
}

/// Whether output contains nothing that acts on a terminal.
fn is_tame(said: &[u8]) -> bool {
    String::from_utf8_lossy(said)
        .chars()
        .all(|c| c == '\n' || !(c.is_control() || matches!(c, '\u{202a}'..='\u{202e}')))
}

/// Runs a command on a session on standard input; returns its exit code and output.
fn run(line: &str, stdin: &[u8]) -> (u8, Vec<u8>) {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    // Ids that are taken are requested again, so no two may be the same.
    let count = Cell::new(0_u128);
    let args = std::iter::once("pisess")
        .chain(line.split(' '))
        .map(Into::into);
    let world = World {
        stdin: &mut Cursor::new(stdin),
        stdout: &mut stdout,
        stderr: &mut stderr,
        terminals: Terminals::default(),
        is_terminal_free: || unreachable!("no terminal"),
        env: &|_| None,
        now_ms: &|| 0,
        random: &|| Ok(count.replace(count.get() + 1).to_le_bytes()),
        run_program: &|_| unreachable!("no such command line"),
        spawn: &|_| unreachable!("no terminal"),
        stdout_file: None,
        stdout_is: &|_| false,
        folder: std::path::PathBuf::new(),
        processors: &|| 1,
    };
    (pisess::run(args, world), stdout)
}
