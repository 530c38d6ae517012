//! Opening and spooling.

use super::super::read::spool_named;
use super::super::{
    Opened, Piece, ReadAt, Spooled, open, read_written, send_pieces, send_range, spool,
    spool_and_read,
};
use super::*;
use std::process::Command;

fn all(source: &dyn ReadAt) -> String {
    let mut bytes = vec![0; source.len() as usize];
    source.read_exact_at(&mut bytes, 0).unwrap();
    assert_eq!(source.read_at(&mut [0; 8], source.len()).unwrap(), 0);
    String::from_utf8(bytes).unwrap()
}

fn up_to(limit: usize, mut bytes: &[u8]) -> Spooled {
    spool_named(&mut bytes, limit, |_| true, Path::new("stream")).unwrap()
}

#[test]
fn a_file_reads_as_it_was_when_opened() {
    let bench = Bench::new(OLD);
    let file = bench.open();
    append_to(&bench.path, "more\n");
    assert_eq!(
        (all(&file).as_str(), file.still_same().unwrap()),
        (OLD, true)
    );
    assert_eq!(file.len(), OLD.len() as u64);
    fs::rename(&bench.path, bench.at("elsewhere")).unwrap();
    assert!(file.still_same().unwrap());
    fs::write(bench.at("elsewhere"), "short").unwrap();
    assert!(!file.still_same().unwrap());
    assert!(file.read_exact_at(&mut [0; 20], 0).is_err());
}

#[test]
fn a_range_is_sent_whatever_the_output_is() {
    let bench = Bench::new(OLD);
    let file = bench.open();
    let range = 3..OLD.len() as u64 - 2;
    let wanted = &OLD[3..OLD.len() - 2];
    let out = bench.at("out");
    let open = |append: bool| {
        fs::File::options()
            .create(true)
            .write(true)
            .append(append)
            .open(&out)
            .unwrap()
    };
    // Linux does not send to a file opened for appending; there, the bytes are copied.
    for (append, before) in [(false, ""), (true, wanted)] {
        send_range(&file, range.clone(), &open(append)).unwrap();
        assert_eq!(fs::read_to_string(&out).unwrap(), [before, wanted].concat());
    }
    fs::remove_file(&out).unwrap();
    send_range(&OLD.as_bytes().to_vec(), range.clone(), &open(false)).unwrap();
    assert_eq!(fs::read_to_string(&out).unwrap(), wanted);
    fs::write(&bench.path, "short").unwrap();
    let error = send_range(&file, range, &open(false)).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof);
}

/// Pieces of all lengths, near and far, in any order, come out in their order, whoever reads them.
#[test]
fn pieces_are_sent_in_order() {
    let bytes: Vec<u8> = (0..3_000_000_u32).map(|at| (at % 251) as u8).collect();
    let stored = |at: usize| {
        let start = (at * 7_919 * (at % 5)) % 2_900_000;
        start..start + [0, 10, 3_000, 90_000][at % 4]
    };
    let piece = |at: usize| match at % 7 {
        0 => Piece::Built(b"built"),
        _ => Piece::Stored(stored(at).start as u64..stored(at).end as u64),
    };
    let wanted: Vec<&[u8]> = (0..2_500)
        .map(|at| {
            if at % 7 == 0 {
                b"built"
            } else {
                &bytes[stored(at)]
            }
        })
        .collect();
    let bench = Bench::new("");
    fs::write(&bench.path, &bytes).unwrap();
    let file = bench.open();
    for count in [0, 1, 3, 2_500] {
        for workers in [1, 2, 5] {
            let (list, out) = ((0..count).map(piece), bench.at("out"));
            send_pieces(
                &file,
                list,
                b", ",
                workers,
                &fs::File::create(&out).unwrap(),
            )
            .unwrap();
            assert!(
                fs::read(&out).unwrap() == wanted[..count].join(&b", "[..]),
                "{count} {workers}"
            );
        }
    }
}

/// More pieces than one batch holds, all near enough for one read.
#[test]
fn pieces_continue_in_the_next_batch() {
    let bench = Bench::new("");
    let bytes: Vec<u8> = (0..250_000_u32).map(|at| (at % 251) as u8).collect();
    fs::write(&bench.path, &bytes).unwrap();
    let (file, out) = (bench.open(), bench.at("out"));
    let list = (0..2_500_u64).map(|at| Piece::Stored(at * 100..at * 100 + 90));
    send_pieces(&file, list, b",", 2, &fs::File::create(&out).unwrap()).unwrap();
    let wanted: Vec<&[u8]> = bytes.chunks(100).map(|chunk| &chunk[..90]).collect();
    assert!(fs::read(&out).unwrap() == wanted.join(&b","[..]));
}

/// Whichever worker fails, the others end, and the failure is returned.
#[test]
fn pieces_that_cannot_be_sent_are_an_error() {
    let bench = Bench::new("");
    fs::write(&bench.path, vec![b'x'; 8_000_000]).unwrap();
    let file = bench.open();
    let piece = |at: usize| Piece::Stored(at as u64 * 4_000..at as u64 * 4_000 + 3_900);
    let send = |workers: usize, out: &fs::File| {
        send_pieces(&file, (0..2_000).map(piece), b",", workers, out)
    };
    let read_only = fs::File::open(&bench.path).unwrap();
    fs::write(bench.at("out"), "").unwrap();
    for workers in [1, 2, 3] {
        assert!(send(workers, &read_only).is_err());
        for length in [0, 100_000, 7_900_000] {
            fs::File::options()
                .write(true)
                .open(&bench.path)
                .unwrap()
                .set_len(length)
                .unwrap();
            let out = fs::File::create(bench.at("out")).unwrap();
            let error = send(workers, &out).unwrap_err();
            assert_eq!(
                error.to_string(),
                "the file became shorter",
                "{length} {workers}"
            );
        }
        fs::write(&bench.path, vec![b'x'; 8_000_000]).unwrap();
    }
}

#[test]
fn open_error_says_why() {
    let bench = Bench::new(OLD);
    let message = |path: &Path| SessionFile::open(path).unwrap_err().to_string();
    let missing = bench.at("missing");
    assert_eq!(
        message(&missing),
        format!(
            "cannot read {}: no such file or directory",
            missing.display()
        )
    );
    assert!(message(bench.folder.path()).ends_with("it is a directory"));
    assert!(message(Path::new("/dev/null")).ends_with("not a regular file"));
    assert!(
        open(bench.folder.path(), |_| true)
            .is_err_and(|error| error.kind() == Some(ErrorKind::IsADirectory))
    );
}

#[test]
fn a_stream_is_spooled_to_memory_or_to_a_file() {
    for limit in [0, 1, OLD.len() - 1, OLD.len(), 1 << 20] {
        let spooled = up_to(limit, OLD.as_bytes());
        assert_eq!(
            (all(&spooled).as_str(), spooled.file().is_none()),
            (OLD, OLD.len() <= limit),
            "{limit}"
        );
    }
    assert!(up_to(0, b"").is_empty());
    let bench = Bench::new(OLD);
    let fifo = bench.fifo("fifo");
    assert!(matches!(
        SessionFile::open(&fifo),
        Err(StoreError {
            cause: Cause::NotRegular,
            ..
        })
    ));
    let mut writer = Command::new("cp")
        .arg(&bench.path)
        .arg(&fifo)
        .spawn()
        .unwrap();
    let Opened::Stream(stream) = open(&fifo, |_| true).unwrap() else {
        panic!()
    };
    assert_eq!(all(&stream), OLD);
    writer.wait().unwrap();
    assert!(matches!(open(&bench.path, |_| true), Ok(Opened::File(_))));
}

/// A device may have no end. Like a pipe, it is read beyond the limit for memory only if it starts
/// like a session.
#[test]
fn an_endless_stream_is_left_where_no_session_starts() {
    const LIMIT: u64 = 16 << 20;
    let is_promising = |start: &[u8]| start.starts_with(b"{");
    let Opened::Stream(stream) = open(Path::new("/dev/zero"), is_promising).unwrap() else {
        panic!()
    };
    assert_eq!(stream.len(), LIMIT + 1);
    let mut long = std::io::Read::take(std::io::repeat(b'{'), LIMIT + 99);
    assert_eq!(spool(&mut long, is_promising).unwrap().len(), LIMIT + 99);
    // For a stream that fits in memory, the predicate is not called.
    assert_eq!(all(&spool(&mut &b"x"[..], is_promising).unwrap()), "x");
}

#[test]
fn what_is_written_can_be_read_meanwhile() {
    // Of the second length, other threads write and read parts.
    for count in [3_u64, 100_000] {
        let write = &mut |out: &mut dyn std::io::Write| {
            for number in 0..count {
                writeln!(out, "{number}")?;
            }
            Ok(())
        };
        let mut seen = Vec::new();
        let kept = spool_and_read(write, &mut |bytes| seen.extend_from_slice(bytes)).unwrap();
        assert_eq!(kept.read_range(0..kept.len()).unwrap(), seen);
        assert!(seen.ends_with(format!("\n{}\n", count - 1).as_bytes()));

        let mut seen_again = Vec::new();
        read_written(write, &mut |bytes| seen_again.extend_from_slice(bytes)).unwrap();
        assert!(seen == seen_again);
    }
    let fail = &mut |_: &mut dyn std::io::Write| Err(std::io::ErrorKind::NotFound.into());
    let error = read_written(fail, &mut |_| ()).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
}
