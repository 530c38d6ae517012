//! Makes archives of files. Each file must still be as it was when it was found.

use super::archive::{Archive, HEAD, Member, PIECE, SEAL, TableRow, is_content};
use super::error::{FileChange, StoreError};
use super::fn_writer::FnWriter;
use super::read::ReadAt;
use super::send::copy_range;
use super::session_file::SessionFile;
use super::snapshot::Snapshot;
use crc32fast::Hasher;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use zrip::FrameEncoder;

/// The number of bytes of a piece.
const PIECE_BYTES: usize = 1 << 20;
/// The level of compression: the second highest of the library. The highest takes 50 % longer, and
/// its output is 4 % smaller.
const LEVEL: i32 = 3;

/// A file to be archived: its name in the archive, and its state when it was found.
#[derive(Debug)]
pub struct Source {
    /// What the archive records about it.
    pub member: Member,
    /// Its path.
    pub path: PathBuf,
    seen: Snapshot,
}

impl Source {
    /// Makes the source for an open file. `name` is its name in the archive.
    pub fn from_file(name: String, file: &SessionFile) -> Source {
        let stat = &file.snapshot.stat;
        let member = Member::new(name, stat.size, stat.modified, stat.mode);
        Source {
            member,
            path: file.resolved().to_owned(),
            seen: file.snapshot.clone(),
        }
    }

    /// Makes the source for the file at a path. `name` is its name in the archive.
    pub fn from_path(name: String, path: &Path) -> Result<Source, StoreError> {
        Ok(Source::from_file(name, &SessionFile::open(path)?))
    }

    /// Opens the file. It is an error if it has changed since it was found (rule 4).
    pub fn open(&self) -> Result<SessionFile, StoreError> {
        let changed = |change| StoreError::changed(&self.path, change);
        let file = SessionFile::open(&self.path).map_err(|error| match error.kind() {
            Some(io::ErrorKind::NotFound) => changed(FileChange::Removed),
            _ => error,
        })?;
        let old = &self.seen.stat;
        let new = &file.snapshot.stat;
        if !new.is_same_inode(old) {
            return Err(changed(FileChange::Replaced));
        }
        if new.size > old.size {
            return Err(changed(FileChange::Grown));
        }
        if new.size != old.size || new.modified != old.modified {
            return Err(changed(FileChange::Edited));
        }
        Ok(file)
    }

    /// Writes the content of the file. Fails if it has changed since it was found.
    fn copy(&self, out: &mut dyn Write) -> io::Result<()> {
        let file = self.open().map_err(io::Error::other)?;
        copy_range(&file, 0..self.member.size, out)
    }
}

/// Writes an archive of these files. The first one is the session. `head` is what a list shows of
/// the session.
pub fn write_archive(head: &[u8], sources: &[Source], out: &mut dyn Write) -> io::Result<()> {
    // Everything up to the checksum is written through `hashed_out`.
    let mut hasher = Hasher::new();
    let mut hashed_out = FnWriter(|bytes: &[u8]| {
        hasher.update(bytes);
        out.write_all(bytes)
    });
    write_frames(head, sources, &mut hashed_out)?;
    // The frame of the checksum begins with its number and the length of its content, which are
    // hashed, too. The content is the checksum.
    let checksum_len = size_of::<u32>() as u32;
    hashed_out.write_all(&SEAL)?;
    hashed_out.write_all(&checksum_len.to_le_bytes())?;
    let checksum = hasher.finalize();
    out.write_all(&checksum.to_le_bytes())
}

/// Writes the frames of an archive before its checksum: the table with `head`, the sources after
/// the first in skippable frames, and the session, which is the first source. Any decompressor
/// passes over skippable frames, and so returns the session alone.
fn write_frames(head: &[u8], sources: &[Source], out: &mut dyn Write) -> io::Result<()> {
    write_table(head, sources, out)?;
    let Some((session, others)) = sources.split_first() else {
        return Ok(());
    };
    if !others.is_empty() {
        write_companions(others, out)?;
    }
    let mut stream = encoder(out)?;
    session.copy(&mut stream)?;
    stream.finish().map(drop)
}

/// Writes a skippable frame: a row of JSON for each source, a line break, and `head`.
fn write_table(head: &[u8], sources: &[Source], out: &mut dyn Write) -> io::Result<()> {
    let mut rows: Vec<TableRow> = sources
        .iter()
        .map(|source| TableRow::from_member(&source.member))
        .collect();
    // This records that the archive ends with a checksum, which `write_archive` writes.
    if let Some(session) = rows.first_mut() {
        session.is_sealed = true;
    }
    let mut content = serde_json::to_vec(&rows)?;
    content.push(b'\n');
    content.extend_from_slice(head);
    write_skippable(HEAD, &content, out)
}

/// Writes the files that belong to the session as one compressed stream, in skippable frames of
/// [`PIECE_BYTES`] each.
fn write_companions(companions: &[Source], out: &mut dyn Write) -> io::Result<()> {
    // The buffer passes on its bytes when it is full, and these become a frame.
    let frames = FnWriter(|piece: &[u8]| write_skippable(PIECE, piece, out));
    let mut stream = encoder(BufWriter::with_capacity(PIECE_BYTES, frames))?;
    for companion in companions {
        companion.copy(&mut stream)?;
    }
    stream.finish()?.flush()
}

fn encoder<W: Write>(out: W) -> io::Result<FrameEncoder<W>> {
    FrameEncoder::new(out, LEVEL).map_err(io::Error::other)
}

/// Writes a frame that decompressors skip: its number, the length of the content, and the content.
fn write_skippable(magic_number: [u8; 4], content: &[u8], out: &mut dyn Write) -> io::Result<()> {
    let length = u32::try_from(content.len()).map_err(io::Error::other)?;
    out.write_all(&magic_number)?;
    out.write_all(&length.to_le_bytes())?;
    out.write_all(content)
}

impl Archive {
    /// Whether the archive contains all these files, as they are now. It may contain others, which
    /// a run that was killed has removed from the disk already.
    pub fn contains_all(&self, source: &dyn ReadAt, files: &[Source]) -> io::Result<bool> {
        // Names, sizes and times first, which the table has.
        let is_listed = |file: &Source| self.members.contains(&file.member);
        if !files.iter().all(is_listed) {
            return Ok(false);
        }

        // Then the contents, in one pass over the archive.
        let mut is_same = true;
        self.contents(source, &mut |member, content| {
            if let Some(file) = files.iter().find(|file| file.member == *member) {
                let current = file.open().map_err(io::Error::other)?;
                is_same &= is_content(&current, content)?;
            } else {
                // The content must be read to its end, because the next member follows it.
                io::copy(content, &mut io::sink())?;
            }
            Ok(())
        })?;
        Ok(is_same)
    }
}
