//! Archives: what is damaged is noticed, and what earlier versions wrote is read.

use super::super::archive::Archive;
use super::super::source::{Source, write_archive};
use super::*;
use std::io;

const LOG: &str = "output of a sub-agent\n";

/// Returns an archive of a session and another file.
fn archive(bench: &Bench) -> Vec<u8> {
    fs::write(bench.at("log"), LOG).unwrap();
    let sources = [
        Source::from_path("session".to_owned(), &bench.path).unwrap(),
        Source::from_path("folder/log".to_owned(), &bench.at("log")).unwrap(),
    ];
    let mut bytes = Vec::new();
    write_archive(b"a title\n", &sources, &mut bytes).unwrap();
    bytes
}

/// Returns the names and the contents of the files in an archive, as a restore reads them.
fn restored(bytes: &Vec<u8>) -> io::Result<Vec<(String, String)>> {
    let archive = Archive::read(bytes)?.ok_or(ErrorKind::InvalidData)?;
    let mut files = Vec::new();
    archive.contents(bytes, &mut |member, content| {
        let mut text = String::new();
        content.read_to_string(&mut text)?;
        files.push((member.name.clone(), text));
        Ok(())
    })?;
    Ok(files)
}

fn whole() -> Vec<(String, String)> {
    let file = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    vec![file("folder/log", LOG), file("session", OLD)]
}

#[test]
fn a_changed_bit_anywhere_in_an_archive_is_noticed() {
    let bench = Bench::new(OLD);
    let bytes = archive(&bench);
    assert_eq!(restored(&bytes).unwrap(), whole());
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            let result = restored(&changed);
            assert!(result.is_err(), "bit {bit} of byte {at}: {result:?}");
        }
    }
    for end in 0..bytes.len() {
        assert!(restored(&bytes[..end].to_vec()).is_err(), "cut at {end}");
    }
}

/// An earlier version wrote no checksum at the end.
#[test]
fn an_archive_of_an_earlier_version_is_read() {
    let bench = Bench::new(OLD);
    let bytes = archive(&bench);
    let length = u32::from_le_bytes(bytes[4..8].try_into().unwrap()) as usize;
    let head = String::from_utf8(bytes[8..8 + length].to_vec()).unwrap();
    let older = head.replace(",\"sealed\":true", "");
    assert!(older.len() < head.len());
    let mut earlier = bytes[..4].to_vec();
    earlier.extend((older.len() as u32).to_le_bytes());
    earlier.extend(older.as_bytes());
    earlier.extend(&bytes[8 + length..bytes.len() - 12]);
    assert_eq!(restored(&earlier).unwrap(), whole());
}
