//! Reads a file in stretches of whole lines, into one buffer that is reused for the next file.
//!
//! For readers of many files that keep little of each; [`crate::load`] reads one file on many threads. The
//! buffer grows to the longest line, and holds at least `STRETCH` bytes.

use memchr::{memchr, memrchr};
use pisess_store::ReadAt;
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

/// The buffer of one reader.
#[derive(Debug, Default)]
pub struct StretchReader {
    buffer: Vec<u8>,
}

/// Some whole lines; the last line of the file may lack its newline.
#[derive(Clone, Copy, Debug)]
pub struct Stretch<'a> {
    /// Their offset in the file.
    pub start: u64,
    /// Their bytes.
    pub bytes: &'a [u8],
}

/// Splits a source at line starts into several parts per worker, so that all workers finish at about the same
/// time.
///
/// # Errors
/// If reading fails.
pub fn parts(source: &dyn ReadAt, workers: usize) -> io::Result<Vec<Range<u64>>> {
    const SMALL: u64 = 1 << 20;
    let count = (source.len() / SMALL).clamp(1, 8 * workers.max(1) as u64);
    let starts = (1..count).map(|part| next_line(source, source.len() / count * part));
    let starts = starts.collect::<io::Result<Vec<_>>>()?;
    let ends = starts.iter().copied().chain([source.len()]);
    Ok([0].into_iter().chain(starts.iter().copied()).zip(ends).map(|(start, end)| start..end).collect())
}

/// Returns the offset of the first line that begins after `from`.
fn next_line(source: &dyn ReadAt, mut from: u64) -> io::Result<u64> {
    let mut bytes = vec![0; 64 * 1024];
    loop {
        let read = source.read_at(&mut bytes, from)?;
        match memchr(b'\n', &bytes[..read]) {
            Some(newline) => return Ok(from + newline as u64 + 1),
            None if read == 0 => return Ok(source.len()),
            None => from += read as u64,
        }
    }
}

impl StretchReader {
    /// Calls `take` with the lines of a part, in stretches.
    ///
    /// # Errors
    /// As [`StretchReader::read`].
    pub fn read_part(
        &mut self,
        source: &dyn ReadAt,
        part: Range<u64>,
        mut take: impl FnMut(Stretch),
    ) -> io::Result<()> {
        let _: ControlFlow<()> = self.read(source, part.start, |Stretch { start, bytes }| {
            let end = part.end.saturating_sub(start).min(bytes.len() as u64) as usize;
            take(Stretch { start, bytes: &bytes[..end] });
            if start + (bytes.len() as u64) < part.end {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })?;
        Ok(())
    }

    /// Calls `take` with the lines from the offset `from` on, until it breaks.
    ///
    /// # Errors
    /// If reading fails, or the file ends before the length it had when it was opened.
    pub fn read<B>(
        &mut self,
        source: &dyn ReadAt,
        from: u64,
        mut take: impl FnMut(Stretch) -> ControlFlow<B>,
    ) -> io::Result<ControlFlow<B>> {
        if self.buffer.len() > KEPT {
            self.buffer = Vec::new();
        }
        let (mut start, mut data) = (from, 0..0);
        loop {
            let next = start + data.len() as u64;
            let wanted =
                usize::try_from(source.len().saturating_sub(next)).unwrap_or(usize::MAX).min(STRETCH);
            if wanted == 0 {
                let rest = Stretch { start, bytes: &self.buffer[data.clone()] };
                return Ok(if data.is_empty() { ControlFlow::Continue(()) } else { take(rest) });
            }
            data = self.with_room(data, next, wanted);
            source.read_exact_at(&mut self.buffer[data.end..data.end + wanted], next)?;
            let read = data.end..data.end + wanted;
            data.end = read.end;
            let Some(newline) = memrchr(b'\n', &self.buffer[read.clone()]) else { continue };
            let end = read.start + newline + 1;
            let broke = take(Stretch { start, bytes: &self.buffer[data.start..end] });
            if broke.is_break() {
                return Ok(broke);
            }
            start += (end - data.start) as u64;
            data.start = end;
        }
    }

    /// Makes room for `wanted` bytes after `data`, whose end is the offset `next` of the file. Long data stays
    /// in place if there is room after it; other data moves, so that the new bytes are aligned (see [`PAGE`]).
    fn with_room(
        &mut self,
        data: std::ops::Range<usize>,
        next: u64,
        wanted: usize,
    ) -> std::ops::Range<usize> {
        if data.end + wanted <= self.buffer.len() && data.len() > STRETCH / 2 {
            return data;
        }
        let room = data.len().next_multiple_of(PAGE) + PAGE;
        let needed = (room + wanted).max(2 * data.len());
        if self.buffer.len() < needed {
            self.buffer.resize(needed.max(STRETCH + 4 * PAGE), 0);
        }
        let within = |at: usize| self.buffer.as_ptr().addr().wrapping_add(at) % PAGE;
        let file = (next % PAGE as u64) as usize;
        let end = data.len() + (file + PAGE - within(data.len())) % PAGE;
        self.buffer.copy_within(data.clone(), end - data.len());
        if self.buffer.len() < end + wanted {
            self.buffer.resize(end + wanted, 0);
        }
        end - data.len()..end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(bytes: &dyn ReadAt, from: u64) -> Vec<(u64, Vec<u8>)> {
        let mut reader = StretchReader::default();
        let mut all = Vec::new();
        // Twice, because the buffer is reused.
        for _ in 0..2 {
            all.clear();
            let done = reader.read(bytes, from, |stretch| {
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
        let done = StretchReader::default().read(&bytes, 0, |_| {
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
        let read = StretchReader::default().read(&Shorter, 0, |_| ControlFlow::<()>::Continue(()));
        assert_eq!(read.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
