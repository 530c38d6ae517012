//! Output that is copied from a file.

use super::files;
use super::read::{PageBuffer, ReadAt, shorter};
use crate::workers::{Pool, in_order};
use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::iter::Peekable;
use std::ops::Range;

/// Writes a range of a source to an open file. If the source is a file, too, the kernel copies the
/// bytes, as far as it can.
pub fn send_range(source: &dyn ReadAt, range: Range<u64>, mut out: &File) -> io::Result<()> {
    let mut unsent = range;
    if let Some(file) = source.file()
        && unsent.end <= source.len()
    {
        while !unsent.is_empty() {
            match files::copy_in_kernel(file, &unsent, out) {
                Ok(0) => return Err(shorter()),
                Ok(sent) => unsent.start += sent,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The unsent rest is copied below. If that fails, too, that error is reported.
                Err(_) => break,
            }
        }
    }
    copy_range(source, unsent, &mut out)
}

/// The number of bytes to copy at a time.
const COPIED_BYTES: u64 = 256 * 1024;

/// Writes a range of a source to `out`.
pub fn copy_range(source: &dyn ReadAt, range: Range<u64>, out: &mut dyn Write) -> io::Result<()> {
    let mut buffer = vec![0; (range.end - range.start).min(COPIED_BYTES) as usize];
    let mut offset = range.start;
    while offset < range.end {
        let count = (range.end - offset).min(COPIED_BYTES) as usize;
        source.read_exact_at(&mut buffer[..count], offset)?;
        out.write_all(&buffer[..count])?;
        offset += count as u64;
    }
    Ok(())
}

/// Bytes to write.
pub enum Piece<'a> {
    /// A range of the source.
    Stored(Range<u64>),
    /// Bytes in memory.
    Built(&'a [u8]),
}

/// The maximum number of bytes to read at a time, unless one piece is longer.
const WINDOW: u64 = 512 * 1024;
/// The maximum number of threads: only one writes at a time.
const THREADS: usize = 4;
/// The maximum number of pieces to write at a time.
const BATCH: usize = 1024;
/// The longest gap between two pieces that are read together, as a multiple of the requested bytes
/// before the gap. Reading a short gap is faster than a second read.
const GAP: u64 = 4;
/// The average length in bytes below which pieces are joined before they are written.
const SHORT: usize = 512;

/// Writes pieces to an open file, in order, with `separator` between any two of them. Up to
/// `workers` threads read, and the calling thread writes. After an error, some pieces may have been
/// written.
pub fn send_pieces<'a>(
    source: &dyn ReadAt,
    pieces: impl Iterator<Item = Piece<'a>> + Send,
    separator: &[u8],
    workers: usize,
    out: &File,
) -> io::Result<()> {
    // No more threads than pieces, if their number is known: the upper bound of the size hint.
    let max_pieces = pieces.size_hint().1.unwrap_or(THREADS);
    let threads = workers.min(max_pieces).min(THREADS);
    // Each batch has the next pieces of which one read fetches all stored bytes.
    let batches = Batches {
        pieces: pieces.peekable(),
        is_first: true,
    };
    // A buffer goes to the calling thread with its batch, and is reused when the batch is written.
    let buffers = Pool::new(PageBuffer::default);
    let read = |batch: Batch<'a>| {
        let mut buffer = buffers.get();
        let stored = &batch.stored;
        let stored_len = (stored.end - stored.start) as usize;
        let space = buffer.start(stored.start, stored_len)?;
        source.read_exact_at(space, stored.start)?;
        Ok((batch, buffer))
    };
    let write = |result: io::Result<(Batch<'a>, PageBuffer)>| {
        let (batch, buffer) = result?;
        batch.write(separator, buffer.bytes(), out)?;
        buffers.put(buffer);
        Ok(())
    };
    in_order(batches, threads, read, write)
}

/// The batches into which pieces are divided, in order.
struct Batches<I: Iterator> {
    pieces: Peekable<I>,
    /// Whether no batch was taken yet.
    is_first: bool,
}

impl<'a, I: Iterator<Item = Piece<'a>>> Iterator for Batches<I> {
    type Item = Batch<'a>;

    fn next(&mut self) -> Option<Batch<'a>> {
        let batch = Batch::take_from(&mut self.pieces, self.is_first);
        self.is_first = false;
        if batch.pieces.is_empty() {
            return None;
        }
        Some(batch)
    }
}

/// Pieces that are read together.
struct Batch<'a> {
    pieces: Vec<Piece<'a>>,
    /// The range of the source to read.
    stored: Range<u64>,
    /// Whether any of the pieces is a range of the source.
    has_stored: bool,
    /// The number of bytes of the source that will be written: the length of `stored` without the
    /// gaps between the pieces.
    requested: u64,
    /// Whether it begins the output, so that no separator precedes its first piece.
    is_first: bool,
}

impl<'a> Batch<'a> {
    /// Takes the next pieces to read together. The batch is empty if there are no more pieces.
    fn take_from(unsent: &mut Peekable<impl Iterator<Item = Piece<'a>>>, is_first: bool) -> Self {
        let mut batch = Batch {
            pieces: Vec::new(),
            stored: 0..0,
            has_stored: false,
            requested: 0,
            is_first,
        };
        while let Some(piece) = unsent.next_if(|piece| batch.can_include(piece)) {
            batch.push(piece);
        }
        batch
    }

    /// Whether a piece may be the next one of the batch: it is in memory, or one read fetches it
    /// together with the earlier pieces, and few other bytes.
    fn can_include(&self, piece: &Piece) -> bool {
        if self.pieces.len() == BATCH {
            return false;
        }
        let Piece::Stored(range) = piece else {
            return true;
        };
        // The first range of a batch may be anywhere, and have any length.
        if !self.has_stored {
            return true;
        }
        // A read cannot go back.
        let Some(gap) = range.start.checked_sub(self.stored.end) else {
            return false;
        };
        let read_len = range.end - self.stored.start;
        gap <= GAP * self.requested && read_len <= WINDOW
    }

    /// Adds a piece that [`Batch::can_include`] accepts.
    fn push(&mut self, piece: Piece<'a>) {
        if let Piece::Stored(range) = &piece {
            if !self.has_stored {
                self.stored.start = range.start;
                self.has_stored = true;
            }
            // Each range is after the one before.
            self.stored.end = range.end;
            self.requested += range.end - range.start;
        }
        self.pieces.push(piece);
    }

    /// Writes the pieces with a separator before each, except before the first of the output.
    /// `stored_bytes` is the content of the range [`Batch::stored`].
    fn write(&self, separator: &[u8], stored_bytes: &[u8], mut out: &File) -> io::Result<()> {
        let mut slices = Vec::with_capacity(2 * self.pieces.len());
        for (index, piece) in self.pieces.iter().enumerate() {
            let starts_output = self.is_first && index == 0;
            if !starts_output {
                slices.push(IoSlice::new(separator));
            }
            slices.push(IoSlice::new(self.piece_bytes(piece, stored_bytes)));
        }

        // For the system, many short slices take longer than one copy of them.
        let len: usize = slices.iter().map(|slice| slice.len()).sum();
        if len < SHORT * self.pieces.len() {
            let mut joined = Vec::with_capacity(len);
            for slice in &slices {
                joined.extend_from_slice(slice);
            }
            return out.write_all(&joined);
        }
        write_all_slices(&mut slices, out)
    }

    /// Returns the bytes of a piece. A stored piece is a range of the file, and `stored_bytes`
    /// starts at the offset `stored.start` of the file.
    fn piece_bytes<'b>(&self, piece: &'b Piece, stored_bytes: &'b [u8]) -> &'b [u8] {
        match piece {
            Piece::Stored(range) => {
                let start = (range.start - self.stored.start) as usize;
                let end = (range.end - self.stored.start) as usize;
                &stored_bytes[start..end]
            }
            Piece::Built(bytes) => bytes,
        }
    }
}

/// Writes slices completely, in as few calls as the system allows.
fn write_all_slices(mut unwritten: &mut [IoSlice<'_>], mut out: &File) -> io::Result<()> {
    // Drops empty slices at the start: writing only such would return 0, which is an error below.
    IoSlice::advance_slices(&mut unwritten, 0);
    while !unwritten.is_empty() {
        match out.write_vectored(unwritten) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut unwritten, written),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
