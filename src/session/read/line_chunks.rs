//! Reads a file in stretches of whole lines, into one buffer that is reused for the next file.
//!
//! Readers of many files read each in one thread; [`crate::load`] and others read one file on several threads, a range
//! at a time. The buffer grows to the longest line, and holds at least `STRETCH` bytes.

use memchr::{memchr, memrchr};
use pisess_store::{ReadAt, resize};
use std::io;
use std::ops::{ControlFlow, Range};

/// The number of bytes to read at a time.
const STRETCH: usize = 512 * 1024;
/// The kernel copies a page several times faster if the buffer has the same alignment within a page as the
/// file offset.
const PAGE: usize = 4096;
/// The maximum capacity that a buffer keeps between files, so that one long line does not occupy memory
/// forever.
const KEPT: usize = 4 * STRETCH;

/// Returns the ranges in which workers read a source from `start` on, each at a time.
pub fn ranges(source: &dyn ReadAt, start: u64) -> impl Iterator<Item = Range<u64>> + Send + use<> {
    let len = source.len();
    let count = len.saturating_sub(start).div_ceil(STRETCH as u64);
    (0..count)
        .map(move |at| start + at * STRETCH as u64)
        .map(move |from| from..len.min(from + STRETCH as u64))
}

fn to_usize(length: u64) -> usize {
    usize::try_from(length).unwrap_or(usize::MAX)
}

/// The buffer of one reader.
#[derive(Debug, Default)]
pub struct ChunkReader {
    buffer: Vec<u8>,
}

/// Some whole lines; the last line of the file may lack its newline.
#[derive(Clone, Copy, Debug)]
pub struct LineChunk<'a> {
    /// Their offset in the file.
    pub start: u64,
    /// Their bytes.
    pub bytes: &'a [u8],
}

/// The number of bytes to read first to complete the last line of a range; doubled each time.
const MORE: usize = 8 * 1024;

impl ChunkReader {
    /// Calls `take` with the lines that begin in a range, until it breaks.
    ///
    /// # Errors
    /// If reading fails, or the file ends before the length it had when it was opened.
    pub fn read<B>(
        &mut self,
        source: &dyn ReadAt,
        range: Range<u64>,
        mut take: impl FnMut(LineChunk) -> ControlFlow<B>,
    ) -> io::Result<ControlFlow<B>> {
        if self.buffer.len() > KEPT {
            self.buffer = Vec::new();
        }
        // The byte before shows whether a line begins at the start of the range.
        let (mut start, mut data) = (range.start.saturating_sub(1), 0..0);
        let (mut is_first, mut more) = (range.start > 0, MORE / 2);
        while start < range.end {
            let next = start + data.len() as u64;
            let wanted = match to_usize(range.end.saturating_sub(next)) {
                0 => {
                    more = more.saturating_mul(2).min(KEPT);
                    more
                }
                inside => inside.min(STRETCH + 1),
            };
            let wanted = wanted.min(to_usize(source.len().saturating_sub(next)));
            data = self.with_room(data, next, wanted)?;
            let read = data.end..data.end + wanted;
            source.read_exact_at(&mut self.buffer[read.clone()], next)?;
            data.end = read.end;
            let whole = match memrchr(b'\n', &self.buffer[read.clone()]) {
                Some(newline) => data.start..read.start + newline + 1,
                None if wanted == 0 => data.clone(),
                // A line that began before the range goes on after it.
                None if is_first && start + data.len() as u64 >= range.end => break,
                None => continue,
            };
            let lines = &self.buffer[whole.clone()];
            let own = match memchr(b'\n', lines).filter(|_| is_first) {
                Some(newline) => newline + 1,
                None if is_first => lines.len(),
                None => 0,
            };
            // The last line that begins in the range ends at the first newline from its last byte on.
            let last = to_usize(range.end - start - 1);
            let rest = lines.get(last..).and_then(|rest| memchr(b'\n', rest));
            let end = rest.map_or(lines.len(), |newline| last + newline + 1);
            if own < end {
                let broke = take(LineChunk { start: start + own as u64, bytes: &lines[own..end] });
                if broke.is_break() {
                    return Ok(broke);
                }
            }
            is_first = false;
            start += whole.len() as u64;
            data.start = whole.end;
            if wanted == 0 {
                break;
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Makes room for `wanted` bytes after `data`, whose end is the offset `next` of the file. Long data stays
    /// in place if there is room after it; other data moves, so that the new bytes are aligned (see [`PAGE`]). A line
    /// that does not fit in memory is an error.
    fn with_room(
        &mut self,
        data: std::ops::Range<usize>,
        next: u64,
        wanted: usize,
    ) -> io::Result<std::ops::Range<usize>> {
        if data.end + wanted <= self.buffer.len() && data.len() > STRETCH / 2 {
            return Ok(data);
        }
        let room = data.len().next_multiple_of(PAGE) + PAGE;
        let needed = (room + wanted).max(2 * data.len());
        if self.buffer.len() < needed {
            resize(&mut self.buffer, needed.max(STRETCH + 4 * PAGE))?;
        }
        let within = |at: usize| self.buffer.as_ptr().addr().wrapping_add(at) % PAGE;
        let file = (next % PAGE as u64) as usize;
        let end = data.len() + (file + PAGE - within(data.len())) % PAGE;
        self.buffer.copy_within(data.clone(), end - data.len());
        if self.buffer.len() < end + wanted {
            resize(&mut self.buffer, end + wanted)?;
        }
        Ok(end - data.len()..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(bytes: &dyn ReadAt, from: u64) -> Vec<(u64, Vec<u8>)> {
        let mut reader = ChunkReader::default();
        let mut all = Vec::new();
        // Twice, because the buffer is reused.
        for _ in 0..2 {
            all.clear();
            let done = reader.read(bytes, from..bytes.len(), |stretch| {
                all.push((stretch.start, stretch.bytes.to_vec()));
                ControlFlow::<()>::Continue(())
            });
            assert!(done.unwrap().is_continue());
        }
        all
    }

    #[test]
    fn stretches_are_whole_lines_and_leave_nothing_out() {
        let lines = [1, 100, STRETCH, STRETCH - 1, 3 * STRETCH + 17, 0, 5, 9 * STRETCH, 300, 7 * PAGE];
        for last in [&b""[..], b"\n", b"tail"] {
            let mut bytes = Vec::new();
            for (at, len) in lines.into_iter().enumerate() {
                bytes.resize(bytes.len() + len, b'a' + at as u8);
                bytes.push(b'\n');
            }
            bytes.extend_from_slice(last);
            for from in [0, 2] {
                let read = read_all(&bytes, from);
                let mut place = from;
                for (at, (start, stretch)) in read.iter().enumerate() {
                    assert_eq!(*start, place);
                    assert!(stretch.ends_with(b"\n") || at + 1 == read.len());
                    place += stretch.len() as u64;
                }
                assert_eq!(read.concat_bytes(), bytes[from as usize..]);
            }
        }
        assert!(read_all(&Vec::new(), 0).is_empty());
    }

    trait Concat {
        fn concat_bytes(&self) -> Vec<u8>;
    }

    impl Concat for Vec<(u64, Vec<u8>)> {
        fn concat_bytes(&self) -> Vec<u8> {
            self.iter().flat_map(|(_, bytes)| bytes.clone()).collect()
        }
    }

    #[test]
    fn reading_ends_where_it_is_told_to() {
        let bytes = b"a\nb\n".repeat(STRETCH);
        let mut count = 0;
        let done = ChunkReader::default().read(&bytes, 0..bytes.len() as u64, |_| {
            count += 1;
            ControlFlow::Break("enough")
        });
        assert_eq!((done.unwrap(), count), (ControlFlow::Break("enough"), 1));
    }

    #[test]
    fn a_file_that_became_shorter_is_an_error() {
        struct Shorter;
        impl ReadAt for Shorter {
            fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
                b"{}\n".as_slice().read_at(buf, offset)
            }
            fn len(&self) -> u64 {
                100
            }
        }
        let read = ChunkReader::default().read(&Shorter, 0..100, |_| ControlFlow::<()>::Continue(()));
        assert_eq!(read.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
