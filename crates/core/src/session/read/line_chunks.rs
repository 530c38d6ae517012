//! Reads a file in chunks of whole lines, into one buffer that can be reused for the next file.
//!
//! A command that reads many files reads each on one thread. A large file is read on several
//! threads, a range each ([`crate::load`]). The buffer holds at least `CHUNK_LEN` bytes, and grows
//! to the longest line.

use crate::session::entry::Span;
use memchr::{memchr, memrchr};
use pisess_store::{PageBuffer, ReadAt};
use std::io;
use std::ops::{ControlFlow, Range};

/// The number of bytes to read at a time.
const CHUNK_LEN: usize = 512 * 1024;
/// The maximum capacity that a buffer keeps for the next file, so that one long line does not
/// occupy memory forever.
const MAX_KEPT_CAPACITY: usize = 4 * CHUNK_LEN;

/// Divides a source, from `start` on, into ranges of `CHUNK_LEN` bytes, for workers to read one by
/// one.
pub fn chunk_ranges(
    source: &dyn ReadAt,
    start: u64,
) -> impl Iterator<Item = Range<u64>> + Send + use<> {
    let len = source.len();
    let count = len.saturating_sub(start).div_ceil(CHUNK_LEN as u64);
    (0..count).map(move |index| {
        let from = start + index * CHUNK_LEN as u64;
        from..len.min(from + CHUNK_LEN as u64)
    })
}

fn to_usize(length: u64) -> usize {
    usize::try_from(length).unwrap_or(usize::MAX)
}

/// A physical line.
#[derive(Clone, Copy, Debug)]
pub struct Line<'b> {
    /// The location, without the newline.
    pub span: Span,
    /// The bytes, without the newline.
    pub bytes: &'b [u8],
    /// Whether the line ends with a newline.
    pub has_newline: bool,
}

/// Some whole lines; the last line of the file may lack its newline.
#[derive(Clone, Copy, Debug)]
pub struct LineChunk<'a> {
    /// The offset of the first line in the file.
    pub start: u64,
    /// The bytes of the lines.
    pub bytes: &'a [u8],
}

impl<'a> LineChunk<'a> {
    /// Returns the line whose bytes, without its newline, are at this range of the chunk.
    pub fn line_at(self, range: Range<usize>) -> Line<'a> {
        Line {
            span: Span {
                start: self.start + range.start as u64,
                len: range.len() as u64,
            },
            has_newline: range.end < self.bytes.len(),
            bytes: &self.bytes[range],
        }
    }

    /// Returns the lines of the chunk in order, without copying them. What follows the last
    /// newline, if anything, is a line as well.
    pub fn lines(self) -> impl Iterator<Item = Line<'a>> {
        let mut offset = 0;
        std::iter::from_fn(move || {
            if offset >= self.bytes.len() {
                return None;
            }
            let from_line = &self.bytes[offset..];
            let newline = memchr(b'\n', from_line);
            let end = offset + newline.unwrap_or(from_line.len());
            let line = self.line_at(offset..end);
            // The next line begins after the newline. If there is none, this is past the end.
            offset = end + 1;
            Some(line)
        })
    }
}

/// Calls `take` with each line that begins in a range of a source, in order, until `take` fails.
/// The last of these lines may end after the range.
pub fn for_each_line<E: From<io::Error>>(
    source: &dyn ReadAt,
    range: Range<u64>,
    mut take: impl FnMut(Line) -> Result<(), E>,
) -> Result<(), E> {
    let flow = read_chunks(&mut PageBuffer::default(), source, range, |chunk| {
        for line in chunk.lines() {
            if let Err(error) = take(line) {
                return ControlFlow::Break(error);
            }
        }
        ControlFlow::Continue(())
    })?;
    match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// Calls `take` with the lines that begin in a range, in chunks of whole lines, until `take`
/// breaks. The lines are read into `buffer`.
///
/// A line belongs to the range in which its first byte is. So a line that began before the range is
/// skipped, and the last line is read to its end behind the range.
pub fn read_chunks<B>(
    buffer: &mut PageBuffer,
    source: &dyn ReadAt,
    range: Range<u64>,
    mut take: impl FnMut(LineChunk) -> ControlFlow<B>,
) -> io::Result<ControlFlow<B>> {
    let mut reader = RangeReader::new(buffer, source, range);
    while let Some(lines) = reader.read_lines()? {
        if !lines.own.is_empty() {
            let flow = take(LineChunk {
                start: reader.buffer_start + lines.own.start as u64,
                bytes: &reader.buffer.bytes()[lines.own],
            });
            if flow.is_break() {
                return Ok(flow);
            }
        }
        reader.drop_lines(lines.len);
    }
    Ok(ControlFlow::Continue(()))
}

/// Some whole lines, in the buffer into which they were read.
#[derive(Debug, Default)]
pub struct OwnedChunk {
    buffer: PageBuffer,
    /// Where the lines are in the buffer.
    lines: Range<usize>,
    /// The offset of the first line in the file.
    start: u64,
}

impl OwnedChunk {
    /// Returns the lines.
    pub fn lines(&self) -> LineChunk<'_> {
        LineChunk {
            start: self.start,
            bytes: &self.buffer.bytes()[self.lines.clone()],
        }
    }

    /// Keeps only the first lines, which have this number of bytes.
    pub fn truncate(&mut self, len: usize) {
        self.lines.end = self.lines.end.min(self.lines.start + len);
    }

    /// Returns the number of bytes that are allocated.
    pub fn capacity(&self) -> usize {
        self.buffer.capacity()
    }
}

/// Calls `take` with the lines that begin in a range, as [`read_chunks`] does, but in a chunk that
/// `take` can keep, if it puts another one in its place: for a thread that reads ahead of others.
/// The buffer of that other chunk is used again.
///
/// Of a buffer, only the start of a line at its end is copied, to the next buffer.
pub fn read_owned_chunks<B>(
    source: &dyn ReadAt,
    range: Range<u64>,
    mut take: impl FnMut(&mut OwnedChunk) -> ControlFlow<B>,
) -> io::Result<ControlFlow<B>> {
    let mut buffer = PageBuffer::default();
    let mut chunk = OwnedChunk::default();
    let mut reader = RangeReader::new(&mut buffer, source, range);
    while let Some(lines) = reader.read_lines()? {
        chunk.start = reader.buffer_start + lines.own.start as u64;
        chunk.lines = lines.own;
        reader.move_lines(lines.len, &mut chunk.buffer)?;
        if chunk.lines.is_empty() {
            continue;
        }
        let flow = take(&mut chunk);
        if flow.is_break() {
            return Ok(flow);
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// The number of bytes to read first behind a range, to complete its last line; doubled each time,
/// up to [`MAX_READ_BEHIND`].
const FIRST_READ_BEHIND: usize = 8 * 1024;
const MAX_READ_BEHIND: usize = 4 * CHUNK_LEN;

/// The whole lines with which a buffer begins.
struct WholeLines {
    /// The number of their bytes.
    len: usize,
    /// Where in the buffer those are that begin in the range.
    own: Range<usize>,
}

/// Reads the lines that begin in a range: in the picture, `bbbb` and `cccc`.
///
/// ```text
///         ┌────── range ──────┐
/// z z ⏎ a a a a ⏎ b b b b ⏎ c c c c ⏎ d d d ⏎
///       └skipped┘ └────── own ──────┘
/// ```
struct RangeReader<'r> {
    source: &'r dyn ReadAt,
    range: Range<u64>,
    /// The bytes that were read and not dropped.
    buffer: &'r mut PageBuffer,
    /// The offset of the buffer in the file.
    buffer_start: u64,
    /// Whether the buffer begins before the range, so that its first line is not the range's own.
    skips_first_line: bool,
    /// The number of bytes to read next behind the range.
    next_len_behind: usize,
    /// Whether there was nothing left to read.
    is_at_end: bool,
}

impl<'r> RangeReader<'r> {
    /// Begins to read the lines of a range, with an empty buffer. A buffer that a long line made
    /// too large is replaced.
    ///
    /// The first byte to read is the one before the range. If that is a newline, a line begins at
    /// the start of the range, and only the newline is skipped.
    fn new(buffer: &'r mut PageBuffer, source: &'r dyn ReadAt, range: Range<u64>) -> Self {
        if buffer.capacity() > MAX_KEPT_CAPACITY {
            *buffer = PageBuffer::default();
        }
        buffer.clear();
        RangeReader {
            source,
            buffer,
            buffer_start: range.start.saturating_sub(1),
            skips_first_line: range.start > 0,
            next_len_behind: FIRST_READ_BEHIND,
            is_at_end: false,
            range,
        }
    }

    /// Reads until the buffer has whole lines. `None` if no line follows that begins in the range.
    fn read_lines(&mut self) -> io::Result<Option<WholeLines>> {
        while !self.is_done() {
            // Here, the buffer has at most the start of a line. More of it is read.
            let searched_len = self.buffer.bytes().len();
            self.read_more()?;

            let unsearched = &self.buffer.bytes()[searched_len..];
            let len = if let Some(newline) = memrchr(b'\n', unsearched) {
                searched_len + newline + 1
            } else if self.is_at_end {
                // Nothing more was read, so the buffer has the last line of the file, which lacks
                // its newline.
                searched_len
            } else if self.is_in_earlier_line() {
                break;
            } else {
                // The end of the line is not in the buffer yet.
                continue;
            };
            let own = self.own_lines(len);
            return Ok(Some(WholeLines { len, own }));
        }
        Ok(None)
    }

    /// Whether no line can follow that begins in the range.
    fn is_done(&self) -> bool {
        self.is_at_end || self.buffer_start >= self.range.end
    }

    /// The offset in the file of the byte after the buffer.
    fn buffer_end(&self) -> u64 {
        self.buffer_start + self.buffer.bytes().len() as u64
    }

    /// Reads the bytes after the buffer, and appends them to it: a part of the range or, if all of
    /// the range is read, bytes that complete its last line.
    fn read_more(&mut self) -> io::Result<()> {
        let offset = self.buffer_end();
        let left_in_range = to_usize(self.range.end.saturating_sub(offset));
        let wanted_len = if left_in_range > 0 {
            // One byte more than a chunk: a range of one chunk is read at once, with the byte
            // before it.
            left_in_range.min(CHUNK_LEN + 1)
        } else {
            let len = self.next_len_behind;
            self.next_len_behind = (len * 2).min(MAX_READ_BEHIND);
            len
        };
        let left_in_source = to_usize(self.source.len().saturating_sub(offset));
        let len = wanted_len.min(left_in_source);

        let target = self.buffer.extend(offset, len)?;
        self.source.read_exact_at(target, offset)?;
        // At least one byte is wanted, so none is read only at the end of the source.
        self.is_at_end = len == 0;
        Ok(())
    }

    /// Whether the buffer, which contains no newline, is the part of a line that began before the
    /// range, and reaches to the end of the range: then no line begins in the range.
    fn is_in_earlier_line(&self) -> bool {
        self.skips_first_line && self.buffer_end() >= self.range.end
    }

    /// Returns where in the buffer the lines are that begin in the range: `bbb⏎cc⏎` in
    /// `aa⏎bbb⏎cc⏎dd⏎`, if the range begins within `aa` and ends within `cc`. The first `lines_len`
    /// bytes of the buffer are whole lines.
    fn own_lines(&self, lines_len: usize) -> Range<usize> {
        let lines = &self.buffer.bytes()[..lines_len];
        let start = if self.skips_first_line {
            after_newline(lines, 0)
        } else {
            0
        };

        // The last line that begins in the range contains its last byte, perhaps as the newline. If
        // these lines end before that byte, all of them begin in the range.
        debug_assert!(self.buffer_start < self.range.end, "the reader is done");
        let last_of_range = to_usize(self.range.end - self.buffer_start - 1);
        let end = if last_of_range < lines.len() {
            after_newline(lines, last_of_range)
        } else {
            lines.len()
        };
        start..end
    }

    /// Drops the whole lines at the start of the buffer, whose length is `lines_len`.
    fn drop_lines(&mut self, lines_len: usize) {
        self.buffer_start += lines_len as u64;
        self.buffer.drop_first(lines_len);
        self.skips_first_line = false;
    }

    /// Moves the bytes to another buffer, whose own bytes are dropped. Only what follows the whole
    /// lines, whose length is `lines_len`, is left.
    fn move_lines(&mut self, lines_len: usize, other: &mut PageBuffer) -> io::Result<()> {
        let rest_len = self.buffer.bytes().len() - lines_len;
        let rest_start = self.buffer_start + lines_len as u64;
        std::mem::swap(self.buffer, other);
        let rest = &other.bytes()[lines_len..];
        self.buffer
            .start(rest_start, rest_len)?
            .copy_from_slice(rest);
        self.buffer_start = rest_start;
        self.skips_first_line = false;
        Ok(())
    }
}

/// Returns the offset after the first newline at or after `from`, which is in `bytes` or at their
/// end; the length of `bytes` if there is none.
fn after_newline(bytes: &[u8], from: usize) -> usize {
    match memchr(b'\n', &bytes[from..]) {
        Some(newline) => from + newline + 1,
        None => bytes.len(),
    }
}

/// Returns the number of newlines.
pub fn count_newlines(bytes: &[u8]) -> u32 {
    memchr::memchr_iter(b'\n', bytes).count() as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use pisess_store::Glance;

    /// Returns the chunks that a thread would pass to others.
    fn read_all_owned(bytes: &dyn ReadAt, from: u64) -> Vec<(u64, Vec<u8>)> {
        let mut all = Vec::new();
        // Two chunks are kept, so that each buffer is used several times.
        let mut kept = [OwnedChunk::default(), OwnedChunk::default()];
        let done = read_owned_chunks(bytes, from..bytes.len(), |chunk| {
            kept.rotate_left(1);
            std::mem::swap(&mut kept[0], chunk);
            let lines = kept[0].lines();
            all.push((lines.start, lines.bytes.to_vec()));
            ControlFlow::<()>::Continue(())
        });
        assert!(done.unwrap().is_continue());
        all
    }

    fn read_all(bytes: &dyn ReadAt, from: u64) -> Vec<(u64, Vec<u8>)> {
        let mut buffer = PageBuffer::default();
        let mut all = Vec::new();
        // Twice, because the buffer is reused.
        for _ in 0..2 {
            all.clear();
            let done = read_chunks(&mut buffer, bytes, from..bytes.len(), |chunk| {
                all.push((chunk.start, chunk.bytes.to_vec()));
                ControlFlow::<()>::Continue(())
            });
            assert!(done.unwrap().is_continue());
        }
        all
    }

    #[test]
    fn chunks_are_whole_lines_and_leave_nothing_out() {
        let lines = [
            1,
            100,
            CHUNK_LEN,
            CHUNK_LEN - 1,
            3 * CHUNK_LEN + 17,
            0,
            5,
            9 * CHUNK_LEN,
            300,
            7 * 4096,
        ];
        for last in [&b""[..], b"\n", b"tail"] {
            let mut bytes = Vec::new();
            for (at, len) in lines.into_iter().enumerate() {
                bytes.resize(bytes.len() + len, b'a' + at as u8);
                bytes.push(b'\n');
            }
            bytes.extend_from_slice(last);
            for from in [0, 2] {
                let read = read_all(&bytes, from);
                assert_eq!(read_all_owned(&bytes, from), read);
                let mut place = from;
                for (at, (start, chunk)) in read.iter().enumerate() {
                    assert_eq!(*start, place);
                    assert!(chunk.ends_with(b"\n") || at + 1 == read.len());
                    place += chunk.len() as u64;
                }
                let all: Vec<_> = read.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
                assert_eq!(all, bytes[from as usize..]);
                let chunks = read.iter().map(|(start, bytes)| LineChunk {
                    start: *start,
                    bytes,
                });
                for Line {
                    span,
                    bytes: line,
                    has_newline: newline,
                } in chunks.flat_map(LineChunk::lines)
                {
                    let end = span.end() as usize;
                    assert_eq!(
                        (line, newline),
                        (&bytes[span.start as usize..end], bytes.get(end).is_some())
                    );
                    assert!(
                        !line.contains(&b'\n')
                            && bytes.get(end).is_none_or(|&after| after == b'\n')
                    );
                }
            }
        }
        assert!(read_all(&Vec::new(), 0).is_empty());
    }

    #[test]
    fn reading_ends_where_it_is_told_to() {
        let bytes = b"a\nb\n".repeat(CHUNK_LEN);
        let mut count = 0;
        let done = read_chunks(
            &mut PageBuffer::default(),
            &bytes,
            0..bytes.len() as u64,
            |_| {
                count += 1;
                ControlFlow::Break("enough")
            },
        );
        assert_eq!((done.unwrap(), count), (ControlFlow::Break("enough"), 1));
    }

    #[test]
    fn a_file_that_became_shorter_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        std::fs::write(&path, "{}\n".repeat(34)).unwrap();
        let file = Glance::open(&path).unwrap();
        std::fs::write(&path, "{}\n").unwrap();
        let read = read_chunks(&mut PageBuffer::default(), &file, 0..100, |_| {
            ControlFlow::<()>::Continue(())
        });
        assert_eq!(read.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
