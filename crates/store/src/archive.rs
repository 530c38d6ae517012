//! An archive: one compressed file that holds a session and the files that belong to it.
//!
//! ```text
//!   skippable frame 0x184D2A50     uncompressed: the table of files, then what a list shows of the session
//!   skippable frames 0x184D2A51    pieces of a zstd frame: the other files, one after another
//!   zstd frame                     the session
//!   skippable frame 0x184D2A52     the CRC-32 of all bytes before it
//! ```
//!
//! Tools for zstd skip the skippable frames, so that `zstd -dc` prints the session, byte for byte.
//! The first frame is at the beginning, so that a list reads nothing else. Both zstd frames end
//! with a checksum, and the table has the size of each file: an archive that is cut off or damaged
//! is an error, not a shorter session.
//!
//! The checksum in the last frame also covers what the checksums of zstd do not: the names, times
//! and modes in the table, and the frames themselves. A mark in the table (`sealed`) requires the
//! last frame, so that damage to that frame is noticed, too. Earlier versions wrote neither the
//! mark nor the frame.

use super::error::{Action, StoreError};
use super::fn_writer::FnWriter;
use super::read::{MEMORY, ReadAt, Spooled, spool_named};
use super::send::copy_range;
use crc32fast::Hasher;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::io::{self, BufReader, Read};
use std::ops::Range;
use std::path::Path;
use std::time::SystemTime;
use zrip::FrameDecoder;

pub(super) const HEAD: [u8; 4] = 0x184D_2A50_u32.to_le_bytes();
pub(super) const PIECE: [u8; 4] = 0x184D_2A51_u32.to_le_bytes();
pub(super) const SEAL: [u8; 4] = 0x184D_2A52_u32.to_le_bytes();
/// The first bytes of a zstd frame with content.
const FRAME: [u8; 4] = 0xFD2F_B528_u32.to_le_bytes();
/// The number of bytes of a skippable frame before its content: its number and its length.
const FRAME_HEAD_BYTES: u64 = 8;
/// The number of bytes of the last frame, with its checksum.
const SEAL_BYTES: u64 = FRAME_HEAD_BYTES + size_of::<u32>() as u64;
const BUFFER: usize = 256 * 1024;

/// A file in an archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Its name, which the caller chose.
    pub name: String,
    /// Its size.
    pub size: u64,
    /// When its content was last modified: seconds since 1970, and nanoseconds after that.
    modified: (i64, u32),
    /// Its permissions, such as 0o600; 0 on systems without permissions.
    pub mode: u32,
}

impl Member {
    /// Returns a file of this name, size, time and mode.
    pub fn new(name: String, size: u64, modified: SystemTime, mode: u32) -> Member {
        let nanoseconds = Timestamp::try_from(modified)
            .unwrap_or_default()
            .as_nanosecond();
        // Rounded down, also before 1970, so that the rest of the second is not negative.
        let seconds = nanoseconds.div_euclid(SECOND) as i64;
        let rest = nanoseconds.rem_euclid(SECOND) as u32;
        Member {
            name,
            size,
            modified: (seconds, rest),
            mode: mode & 0o777,
        }
    }

    /// Returns when its content was last modified.
    pub fn modified(&self) -> SystemTime {
        let (seconds, nanoseconds) = self.modified;
        let time = Timestamp::new(seconds, nanoseconds as i32).and_then(SystemTime::try_from);
        time.unwrap_or(SystemTime::UNIX_EPOCH)
    }
}

/// A file in the table of an archive.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct TableRow {
    #[serde(flatten)]
    member: Member,
    /// Whether the archive ends with a checksum. Only the row of the session has this mark.
    #[serde(default, rename = "sealed", skip_serializing_if = "std::ops::Not::not")]
    pub is_sealed: bool,
}

impl TableRow {
    pub fn from_member(member: &Member) -> TableRow {
        TableRow {
            member: member.clone(),
            is_sealed: false,
        }
    }
}

/// A second in nanoseconds.
const SECOND: i128 = 1_000_000_000;

/// The table of an archive, and where its parts are.
#[derive(Debug)]
pub struct Archive {
    /// Its files; the first one is the session.
    pub members: Vec<Member>,
    /// What a list shows of the session. The caller of [`write_archive`](crate::write_archive)
    /// chose the content.
    pub head: Vec<u8>,
    /// The ranges of the archive with the pieces of one compressed stream: the other files.
    pieces: Vec<Range<u64>>,
    /// The range of the archive with the compressed session.
    session: Range<u64>,
    /// Whether it ends with a checksum of all bytes before that.
    is_sealed: bool,
}

impl Archive {
    /// Whether a file that begins with these bytes is an archive.
    pub(super) fn begins(start: &[u8]) -> bool {
        start.starts_with(&HEAD)
    }

    /// Reads the table of an archive, but not the contents of its files. Returns `None` if `source`
    /// is not an archive.
    pub fn read(source: &dyn ReadAt) -> io::Result<Option<Archive>> {
        let first_frame = match read_skippable(source, 0)? {
            Some(frame) if frame.magic_number == HEAD => frame.content,
            _ => return Ok(None),
        };
        // The first frame has the table, which is one line, and then the head.
        let mut content = source.read_range(first_frame.clone())?;
        let table_end =
            memchr::memchr(b'\n', &content).ok_or_else(|| damaged("it has no table"))?;
        let head = content.split_off(table_end + 1);
        let rows: Vec<TableRow> =
            serde_json::from_slice(&content).map_err(|_| damaged("its table cannot be read"))?;
        let Some(session) = rows.first() else {
            return Err(damaged("it contains no session"));
        };

        // The row of the session is marked if the archive was written with a checksum. An archive
        // of an earlier version has neither.
        let has_seal = has_seal(source)?;
        if session.is_sealed && !has_seal {
            return Err(damaged("it does not end with its checksum"));
        }
        let seal_bytes = if has_seal { SEAL_BYTES } else { 0 };

        let pieces = find_pieces(source, first_frame.end)?;
        // The session is everything between the pieces and the seal. In a file that is cut off,
        // nothing may be there.
        let session_start = pieces.last().map_or(first_frame.end, |last| last.end);
        let session_end = session_start.max(source.len() - seal_bytes);
        Ok(Some(Archive {
            members: rows.into_iter().map(|row| row.member).collect(),
            head,
            pieces,
            session: session_start..session_end,
            is_sealed: has_seal,
        }))
    }

    /// Returns the content of the file with this name, other than the session. `None` if the
    /// archive has no such file.
    pub fn companion(&self, source: &dyn ReadAt, name: &str) -> io::Result<Option<Spooled>> {
        // The first member is the session. The others, in this order, are the content of the stream
        // below.
        let others = &self.members[1..];
        let Some(index) = others.iter().position(|member| member.name == name) else {
            return Ok(None);
        };
        // It is one compressed stream, so the files before this one are decompressed, too.
        let mut stream = decoder(source, &self.pieces);
        let bytes_before = others[..index].iter().map(|member| member.size).sum();
        io::copy(&mut (&mut stream).take(bytes_before), &mut io::sink())?;

        let mut content = stream.take(others[index].size);
        let spooled = Spooled::from_writer(MEMORY, |out| io::copy(&mut content, out).map(drop))?;
        let missing_bytes = content.limit();
        if missing_bytes > 0 {
            return Err(damaged("it is cut off"));
        }
        Ok(Some(spooled))
    }

    /// Calls `take` with each file and its content: the other files in their order, and then the
    /// session. `take` must read the content to its end.
    ///
    /// # Errors
    /// If any bit of the archive has changed since it was written. This is found before `take` is
    /// called; in an archive of an earlier version, perhaps only afterwards.
    pub fn contents(
        &self,
        source: &dyn ReadAt,
        take: &mut dyn FnMut(&Member, &mut dyn Read) -> io::Result<()>,
    ) -> io::Result<()> {
        if self.is_sealed {
            compare_checksum(source)?;
        }
        // The first member is the session: `read` refuses an archive without one. The session comes
        // last, so that the files that belong to it are there when the caller has it.
        let (session, others) = self.members.split_at(1);
        if !others.is_empty() {
            unpack(source, &self.pieces, others, take)?;
        }
        unpack(source, std::slice::from_ref(&self.session), session, take)
    }
}

/// Returns the contents of the frames from an offset on that have a piece of the other files.
fn find_pieces(source: &dyn ReadAt, start: u64) -> io::Result<Vec<Range<u64>>> {
    let mut pieces = Vec::new();
    let mut offset = start;
    while let Some(frame) = read_skippable(source, offset)?
        && frame.magic_number == PIECE
    {
        offset = frame.content.end;
        pieces.push(frame.content);
    }
    Ok(pieces)
}

/// Whether a stream has the same content as a file. The stream is read to its end in any case,
/// because the next file of an archive follows it.
pub fn is_content(file: &dyn ReadAt, content: &mut dyn Read) -> io::Result<bool> {
    Ok(bytes_in_common(file, content)? == Some(file.len()))
}

/// Whether a file begins with the content of a stream, so that the file has only grown, if it has
/// changed at all. The stream is read to its end in any case.
pub fn begins_with(file: &dyn ReadAt, content: &mut dyn Read) -> io::Result<bool> {
    Ok(bytes_in_common(file, content)?.is_some())
}

/// Returns the length of the stream `content` if the file begins with its bytes, and `None`
/// otherwise. The stream is read to its end in any case.
fn bytes_in_common(file: &dyn ReadAt, content: &mut dyn Read) -> io::Result<Option<u64>> {
    let mut file_buffer = vec![0; BUFFER];
    let mut stream_buffer = vec![0; BUFFER];
    let mut offset = 0;
    let mut is_same = true;
    loop {
        let read = content.read(&mut stream_buffer)?;
        if read == 0 {
            return Ok(if is_same { Some(offset) } else { None });
        }
        // After a difference, only the stream is read: the next member follows it.
        let end = offset + read as u64;
        if end > file.len() {
            is_same = false;
        }
        if is_same {
            file.read_exact_at(&mut file_buffer[..read], offset)?;
            is_same = file_buffer[..read] == stream_buffer[..read];
        }
        offset = end;
    }
}

/// Returns the content of the session in an archive.
///
/// `is_promising` gets the start of the content. If it returns `false`, only the start is returned:
/// another file with the same first bytes is not decompressed to its end.
pub(super) fn session_in(
    file: &dyn ReadAt,
    path: &Path,
    is_promising: fn(&[u8]) -> bool,
) -> Result<Spooled, StoreError> {
    let failed = |error| StoreError::io(Action::Read, path, error);
    let Some(archive) = Archive::read(file).map_err(failed)? else {
        return Err(failed(damaged("it is cut off")));
    };
    // The first member is the session.
    let recorded_size = archive.members[0].size;
    let stream = decoder(file, std::slice::from_ref(&archive.session));
    // One byte more, so that the checksum is compared, and a longer session is noticed.
    let mut stream = stream.take(recorded_size.saturating_add(1));
    let session = spool_named(&mut stream, MEMORY, is_promising, path)?;
    if session.len() == recorded_size {
        return Ok(session);
    }
    // If `is_promising` returned `false`, `spool_named` has read `MEMORY` bytes and one more. This
    // cannot be distinguished from a session that is cut off at that length.
    let may_be_given_up = session.len() > MEMORY as u64 && session.len() < recorded_size;
    if may_be_given_up {
        return Ok(session);
    }
    Err(failed(damaged("the session is not as long as it was")))
}

/// Whether a file that begins with these bytes is compressed with zstd, and is not an archive.
pub(super) fn is_compressed(start: &[u8]) -> bool {
    start.starts_with(&FRAME)
}

/// Returns the content of a file that is compressed with zstd. If `is_promising` returns `false`
/// for the start of the content, only the start is returned.
pub(super) fn content_of(
    file: &dyn ReadAt,
    path: &Path,
    is_promising: fn(&[u8]) -> bool,
) -> Result<Spooled, StoreError> {
    let whole = 0..file.len();
    let mut stream = decoder(file, std::slice::from_ref(&whole));
    spool_named(&mut stream, MEMORY, is_promising, path)
}

/// Decompresses the stream in `ranges`, and calls `take` with each file in it. It is an error if
/// the stream does not contain exactly these files.
fn unpack(
    source: &dyn ReadAt,
    ranges: &[Range<u64>],
    members: &[Member],
    take: &mut dyn FnMut(&Member, &mut dyn Read) -> io::Result<()>,
) -> io::Result<()> {
    let mut stream = decoder(source, ranges);
    for member in members {
        let mut content = (&mut stream).take(member.size);
        take(member, &mut content)?;
        if content.limit() > 0 {
            return Err(damaged("it is cut off"));
        }
    }
    // At the end, the checksum is compared.
    match stream.read(&mut [0])? {
        0 => Ok(()),
        _ => Err(damaged("it is longer than its table says")),
    }
}

/// Returns a reader of the decompressed content of the zstd frame in these ranges.
fn decoder<'a>(source: &'a dyn ReadAt, ranges: &'a [Range<u64>]) -> impl Read + 'a {
    let compressed = Ranges {
        source,
        unread: ranges.to_vec(),
    };
    let decoder = FrameDecoder::new(BufReader::with_capacity(BUFFER, compressed));
    ArchiveDecoder { decoder }
}

/// A decoder whose errors say that the archive is damaged, if the content shows that.
struct ArchiveDecoder<R: Read> {
    decoder: R,
}

impl<R: Read> Read for ArchiveDecoder<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.decoder.read(buf).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => damaged("it is cut off"),
            io::ErrorKind::InvalidData => damaged("its content cannot be decompressed"),
            _ => error,
        })
    }
}

/// Reads ranges of a source as one stream.
struct Ranges<'a> {
    source: &'a dyn ReadAt,
    /// The ranges that are still to be read, in order.
    unread: Vec<Range<u64>>,
}

impl Read for Ranges<'_> {
    /// Reads from the first range that has bytes left. A read may be short where a range ends.
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while self.unread.first().is_some_and(Range::is_empty) {
            self.unread.remove(0);
        }
        let Some(range) = self.unread.first_mut() else {
            return Ok(0);
        };
        // On a system with 32 bits, a range may be longer than any buffer.
        let range_len = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        let max_len = buf.len().min(range_len);
        let read = self.source.read_at(&mut buf[..max_len], range.start)?;
        range.start += read as u64;
        Ok(read)
    }
}

/// Whether the file ends with the frame of a checksum.
fn has_seal(source: &dyn ReadAt) -> io::Result<bool> {
    let Some(start) = source.len().checked_sub(SEAL_BYTES) else {
        return Ok(false);
    };
    let Some(frame) = read_skippable(source, start)? else {
        return Ok(false);
    };
    Ok(frame.magic_number == SEAL && frame.content.end == source.len())
}

/// Compares the checksum at the end of the file with what is before it. The file must have a seal:
/// see [`has_seal`].
fn compare_checksum(source: &dyn ReadAt) -> io::Result<()> {
    let summed_end = source.len() - size_of::<u32>() as u64;
    let mut hasher = Hasher::new();
    let mut hash_bytes = FnWriter(|bytes: &[u8]| {
        hasher.update(bytes);
        Ok(())
    });
    copy_range(source, 0..summed_end, &mut hash_bytes)?;
    let recorded = source.read_range(summed_end..source.len())?;
    if recorded[..] == hasher.finalize().to_le_bytes() {
        Ok(())
    } else {
        Err(damaged(
            "its bytes do not have the checksum that was recorded",
        ))
    }
}

/// A skippable frame of zstd, or other bytes that were read as one.
struct SkippableFrame {
    /// The first four bytes. If they are none of [`HEAD`], [`PIECE`] and [`SEAL`], this is not a
    /// frame of an archive.
    magic_number: [u8; 4],
    /// The range of its content in the file.
    content: Range<u64>,
}

/// Reads the start of the skippable frame at an offset. `None` if the file is too short to have one
/// there. What is at the offset need not be a skippable frame: the caller must compare its
/// `magic_number`.
///
/// # Errors
/// If the frame is of an archive, but not complete.
fn read_skippable(source: &dyn ReadAt, offset: u64) -> io::Result<Option<SkippableFrame>> {
    let content_start = offset + FRAME_HEAD_BYTES;
    if content_start > source.len() {
        return Ok(None);
    }
    let mut bytes = [0; FRAME_HEAD_BYTES as usize];
    source.read_exact_at(&mut bytes, offset)?;
    // Four bytes of the number, and four of the length.
    let [a, b, c, d, length @ ..] = bytes;
    let magic_number = [a, b, c, d];
    let content_end = content_start + u64::from(u32::from_le_bytes(length));
    let is_ours = matches!(magic_number, HEAD | PIECE);
    if is_ours && content_end > source.len() {
        return Err(damaged("it is cut off"));
    }
    Ok(Some(SkippableFrame {
        magic_number,
        content: content_start..content_end,
    }))
}

/// Returns the error for an archive that is not as it was written. `what` completes "the archive is
/// damaged".
fn damaged(what: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("the archive is damaged: {what}"),
    )
}
