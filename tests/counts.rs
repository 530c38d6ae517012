//! Tests of performance without a clock: bytes allocated, read and written, and stack.
//!
//! A separate binary, because it replaces the allocator.

#[path = "../benches/compare/generate.rs"]
#[allow(dead_code, reason = "the benchmarks use more of it")]
mod generate;

use generate::Shape;
use pisess::agents;
use pisess::agents::prepare::{BRANCH_BUDGET, FirstKept};
use pisess::agents::prompt::Instructions;
use pisess::agents::row::RowOptions;
use pisess::json::Raw;
use pisess::load::{LoadOptions, load};
use pisess::ops::IdSource;
use pisess::ops::check::{SessionLocation, check_session};
use pisess::ops::fork::{ForkOptions, fork};
use pisess::ops::redact::{find_remaining, redact_session};
use pisess::ops::show::{Surroundings, read_entry};
use pisess::ops::tree::{self, Filter, ViewOptions, build_view};
use pisess::redact::Redactor;
use pisess::session::Session;
use pisess::session::read::entry_reader::EntryReader;
use pisess::store::ReadAt;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

struct Counting;

thread_local! {
    /// The number of bytes that this thread holds, and their maximum so far.
    static HELD: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

fn count(bytes: isize) {
    // Not counted if the thread is ending.
    let _ = HELD.try_with(|held| {
        let now = held.get().0 + bytes;
        held.set((now, held.get().1.max(now)));
    });
}

// SAFETY: every call is passed to the system's allocator unchanged, and counting allocates nothing.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller fulfils the contract of this trait, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Returns the maximum number of bytes that `run` holds at the same time.
fn peak<T>(run: impl FnOnce() -> T) -> usize {
    let before = HELD.get().0;
    HELD.set((before, before));
    drop(run());
    (HELD.get().1 - before) as usize
}

fn made(shape: Shape, entries: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    generate::write(shape, entries, 1, &mut bytes).unwrap();
    bytes
}

fn with_rows() -> LoadOptions {
    LoadOptions {
        rows: Some(RowOptions::default()),
        ..LoadOptions::default()
    }
}

#[test]
fn memory_does_not_grow_with_bytes() {
    let [once, tenfold] = [100, 1000].map(|percent| made(Shape::Turns { percent }, 2000));
    assert!(tenfold.len() > 7 * once.len());
    let [once, tenfold] = [once, tenfold].map(|bytes| peak(|| load(&bytes, &with_rows()).unwrap()));
    assert!(
        tenfold < once + once / 2,
        "{once} bytes held, then {tenfold}"
    );
}

#[test]
fn an_entry_takes_at_most_120_bytes() {
    let [some, more] = [20_000, 60_000]
        .map(|entries| made(Shape::Chain, entries))
        .map(|bytes| {
            peak(|| {
                let session = load(&bytes, &with_rows()).unwrap();
                let options = ViewOptions {
                    layout: tree::Layout::Trunk,
                    ..ViewOptions::default()
                };
                build_view(&session, session.leaf, options).tree_rows.len()
            })
        });
    assert!(
        more - some <= 120 * 40_000,
        "{some} bytes held, then {more}"
    );
}

/// The longest line is in memory while it is loaded, checked, and copied into a fork. The buffer
/// doubles until the line fits; while it grows, one and a half times its final size is held.
#[test]
fn a_long_line_takes_a_small_multiple_of_its_size() {
    const LENGTH: usize = 16 << 20;
    let line = format!(
        r#"{{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-01T00:00:00Z","message":{{"role":"user","content":"{}"}}}}"#,
        "x".repeat(LENGTH)
    );
    let bytes = format!("{{\"type\":\"session\",\"version\":3,\"id\":\"s\"}}\n{line}\n{line}\n")
        .into_bytes();
    let loaded = peak(|| load(&bytes, &with_rows()).unwrap());
    let checked = peak(|| {
        check_session(&bytes, &LoadOptions::default(), &SessionLocation::default()).unwrap()
    });
    let forked = peak(|| {
        let session = load(&bytes, &LoadOptions::default()).unwrap();
        let reader = EntryReader::new(&session, &bytes);
        let mut candidates = || "b".to_owned();
        let mut fresh = IdSource::new(0, &mut candidates);
        let options = ForkOptions {
            session_id: "t".to_owned(),
            source: None,
            cwd: None,
            name: None,
        };
        let new = fork(&reader, session.leaf.into(), &options, &mut fresh).unwrap();
        new.write(&session, &bytes, &mut std::io::sink()).unwrap();
    });
    for (held, what) in [
        (loaded, "loading"),
        (checked, "checking"),
        (forked, "forking"),
    ] {
        assert!(held < LENGTH / 4 * 13, "{what} holds {held} bytes");
    }
}

/// Returns pseudo-random characters.
fn drawn(length: usize, seed: &mut u64) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for _ in 0..length {
        *seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        text.push(char::from(LETTERS[(*seed >> 58) as usize]));
    }
    text
}

/// Returns a session with a message for each text.
fn session_of(texts: &[String]) -> Vec<u8> {
    let mut session = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n".to_owned();
    for (at, text) in texts.iter().enumerate() {
        let text = text.replace('\n', "\\n");
        session += &format!(
            "{{\"type\":\"message\",\"id\":\"{at:08x}\",\"parentId\":null,\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}}}\n"
        );
    }
    session.into_bytes()
}

fn private_keys(count: usize) -> Vec<u8> {
    let name = "RSA PRIVATE KEY";
    let mut seed = 7;
    let mut keys = Vec::new();
    for _ in 0..count {
        let lines: Vec<_> = (0..26).map(|_| drawn(64, &mut seed)).collect();
        let lines = lines.join("\n");
        keys.push(format!(
            "-----BEGIN {name}-----\n{lines}\n-----END {name}-----\n"
        ));
    }
    session_of(&keys)
}

fn secrets_on_a_line(count: usize) -> Vec<u8> {
    let mut seed = 8;
    let mut text = String::new();
    for _ in 0..count {
        let token = drawn(36, &mut seed).replace(['+', '/'], "7");
        text += &format!("ghp_{token} ");
    }
    session_of(&[text])
}

/// Redacts a session, and searches the copy for what was found. Returns the number of secrets.
fn redacted(session: &Vec<u8>) -> usize {
    let mut redactor = Redactor::default();
    let mut copy = Vec::new();
    let report = redact_session(session, &mut redactor, 1, Some(&mut copy)).unwrap();
    let remaining = find_remaining(&copy, &mut redactor, 1).unwrap();
    assert!(remaining.secrets.is_empty());
    report.found.len()
}

#[test]
fn redact_holds_64_mb_for_any_number_of_secrets() {
    let begin = format!("-----BEGIN {}-----\n", "PRIVATE KEY");
    for (what, session, expected) in [
        ("100 private keys", private_keys(100), 100),
        ("200 private keys", private_keys(200), 200),
        ("2,000 first lines", session_of(&[begin.repeat(2000)]), 0),
        (
            "39,000 secrets on a line",
            secrets_on_a_line(39_000),
            39_000,
        ),
    ] {
        let mut found = 0;
        let held = peak(|| found = redacted(&session));
        assert_eq!(found, expected, "{what}");
        assert!(held < 64 << 20, "{what}: {held} bytes held");
    }
}

/// Four times as many secrets on a line take about four times as long, not sixteen.
#[test]
fn the_time_of_redact_is_linear_in_the_secrets_of_a_line() {
    let some = secrets_on_a_line(3_000);
    let many = secrets_on_a_line(12_000);
    let mut ratios = Vec::new();
    for _ in 0..5 {
        let start = std::time::Instant::now();
        redacted(&some);
        let middle = std::time::Instant::now();
        redacted(&many);
        let ratio = middle.elapsed().as_secs_f64() / (middle - start).as_secs_f64();
        ratios.push(ratio);
        if ratio < 9.0 {
            return;
        }
    }
    panic!("{ratios:?}");
}

#[test]
fn deep_chains_and_deep_values_need_no_stack() {
    let shallow = std::thread::Builder::new().stack_size(128 * 1024);
    let run = || {
        for shape in [Shape::Chain, Shape::Comb, Shape::Fan] {
            let session = load(&made(shape, 50_000), &with_rows()).unwrap();
            for layout in [tree::Layout::Trunk, tree::Layout::Pi] {
                let options = ViewOptions {
                    filter: Filter::All,
                    layout,
                    ..ViewOptions::default()
                };
                let view = build_view(&session, session.leaf, options);
                assert!(view.tree_rows.len() >= 50_000);
            }
        }
        let deep = format!(
            "{{\"type\":\"session\",\"version\":3,\"id\":\"s\"}}\n{{\"type\":\"custom\",\"id\":\"a\",\"data\":{}{}}}\n",
            "[".repeat(500_000),
            "]".repeat(500_000)
        );
        let session = load(&deep.into_bytes(), &with_rows()).unwrap();
        assert_eq!((session.entries.len(), session.problems.len()), (1, 0));
    };
    shallow.spawn(run).unwrap().join().unwrap();
}

#[test]
fn one_entry_more_is_one_line_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session.jsonl");
    let before = made(Shape::Turns { percent: 100 }, 1000);
    std::fs::write(&path, &before).unwrap();
    let identity = |path: &std::path::Path| {
        let file = std::fs::metadata(path).unwrap();
        #[cfg(unix)]
        return std::os::unix::fs::MetadataExt::ino(&file);
        #[cfg(not(unix))]
        return file.is_file();
    };
    let same = identity(&path);
    let label = [
        path.as_os_str(),
        "@".as_ref(),
        "name".as_ref(),
        "--force".as_ref(),
    ];
    let done = Command::new(env!("CARGO_BIN_EXE_pisess"))
        .arg("label")
        .args(label)
        .output()
        .unwrap();
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    let after = std::fs::read(&path).unwrap();
    assert!(after.starts_with(&before));
    assert_eq!(
        memchr::memchr_iter(b'\n', &after[before.len()..]).count(),
        1
    );
    assert!(after.len() < before.len() + 300);
    // Not rewritten: it is the same file.
    assert_eq!(identity(&path), same);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn output_grows_with_rows_not_with_depth() {
    let folder = tempfile::tempdir().unwrap();
    let [some, twice] = [1500, 3000].map(|branch_points| {
        let path = folder.path().join("comb.jsonl");
        std::fs::write(&path, made(Shape::Comb, branch_points)).unwrap();
        let drawn = Command::new(env!("CARGO_BIN_EXE_pisess"))
            .arg("tree")
            .arg(&path)
            .output()
            .unwrap();
        assert!(drawn.status.success());
        drawn.stdout.len()
    });
    assert!(twice < 2 * some + some / 10, "{some} bytes, then {twice}");
}

/// A source that counts the bytes read from it.
struct Counted {
    bytes: Vec<u8>,
    read: AtomicU64,
}

impl ReadAt for Counted {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let read = self.bytes.read_at(buf, offset)?;
        self.read.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }

    fn len(&self) -> u64 {
        ReadAt::len(&self.bytes)
    }
}

/// Gives the sort key of an entry, from its index in the file and the number of entries.
type Order = fn(usize, usize) -> usize;

/// Reads entries as a command does.
type Reads = fn(&Session, &EntryReader) -> io::Result<()>;

const READS: &[(&str, Reads)] = &[
    ("context", |session, reader| {
        let context = session
            .agent()
            .build_context(&session.path(session.leaf), reader)?;
        session
            .agent()
            .write_transcript(&context.messages, reader, &mut io::sink())?;
        session
            .agent()
            .convert_for_model(&context.messages, reader, &mut |_| Ok(()))
    }),
    ("context --tokens", |session, reader| {
        session
            .agent()
            .estimate_context(&session.path(session.leaf), reader)
            .map(drop)
    }),
    ("path", |session, reader| {
        session
            .path(session.leaf)
            .into_iter()
            .try_for_each(|ix| reader.read_line(ix).map(drop))
    }),
    ("path, from the leaf", |session, reader| {
        session
            .ancestors(session.leaf)
            .try_for_each(|ix| reader.read_line(ix).map(drop))
    }),
    ("show", |session, reader| {
        let around = Surroundings::default();
        for ix in session.path(session.leaf) {
            let entry = session.entry(ix);
            reader.with_line(ix, |line| {
                drop(read_entry(
                    Raw::from_checked(line),
                    entry.kind,
                    entry.role,
                    around,
                ))
            })?;
        }
        Ok(())
    }),
    ("compact --prepare", |session, reader| {
        let path = session.path(session.leaf);
        let Some(prepared) =
            session
                .agent()
                .prepare_compaction(&path, reader, FirstKept::RecentTokens(20_000))?
        else {
            return Ok(());
        };
        agents::prompt::compaction_prompts(&prepared, &Instructions::default(), "", reader)
            .map(drop)
    }),
    ("summarize --prepare", |session, reader| {
        session
            .agent()
            .prepare_branch_summary(&session.path(session.leaf), reader, BRANCH_BUDGET)
            .map(drop)
    }),
    ("branches", |session, reader| {
        let tips: Vec<_> = session.entry_indexes().collect();
        session.agent().estimate_contexts(&tips, reader).map(drop)
    }),
];

/// Returns the lines in another order; the header stays first and the leaf last.
fn reordered(bytes: &[u8], sign: Option<&str>, order: Order) -> Vec<u8> {
    let lines: Vec<&[u8]> = bytes
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
        .collect();
    let (header, entries, leaf) = (lines[0], &lines[1..lines.len() - 1], lines[lines.len() - 1]);
    let mut places: Vec<usize> = (0..entries.len()).collect();
    places.sort_by_key(|&at| order(at, entries.len()));
    let entries = places.into_iter().map(|at| entries[at]);
    let lines = std::iter::once(header)
        .chain(sign.map(str::as_bytes))
        .chain(entries)
        .chain([leaf]);
    lines
        .flat_map(|line| [line, b"\n"])
        .collect::<Vec<_>>()
        .concat()
}

/// The amount read stays within a small multiple of the file, whatever the order of the entries in
/// it.
#[test]
fn bytes_read_do_not_depend_on_the_order_of_lines() {
    let orders: [(&str, Order); 4] = [
        ("in order", |at, _| at),
        ("backwards", |at, count| count - at),
        ("from both ends", |at, count| {
            if at % 2 == 0 { at } else { 2 * count - at }
        }),
        ("shuffled", |at, _| {
            (at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20
        }),
    ];
    let omp = r#"{"type":"mode_change","id":"sign","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","mode":"none"}"#;
    for (shape, entries) in [(Shape::Chain, 3000), (Shape::Turns { percent: 10 }, 600)] {
        let bytes = made(shape, entries);
        for (sign, (order, by)) in [None, Some(omp)]
            .into_iter()
            .flat_map(|sign| orders.map(|by| (sign, by)))
        {
            let file = Counted {
                bytes: reordered(&bytes, sign, by),
                read: AtomicU64::new(0),
            };
            let session = load(&file, &LoadOptions::default()).unwrap();
            assert!(
                file.read.load(Ordering::Relaxed) < 2 * file.len() + (1 << 18),
                "loading {order}"
            );
            for (what, reads) in READS {
                file.read.store(0, Ordering::Relaxed);
                reads(&session, &EntryReader::new(&session, &file)).unwrap();
                let read = file.read.load(Ordering::Relaxed) as f64 / file.len() as f64;
                assert!(
                    read < 24.0,
                    "{what}, {shape:?} {order}: {read:.1} times the file"
                );
            }
        }
    }
}
