//! The numbers of lines, which are counted only from the first that is needed.

use crate::session::entry::LineNo;
use crate::session::read::header::Preamble;
use crate::session::read::line_chunks::{ChunkReader, LineChunk};
use memchr::memchr_iter;
use pisess_store::ReadAt;
use std::io;
use std::ops::{ControlFlow, Range};

/// The number of lines before an offset of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineNumbers {
    place: u64,
    lines: u32,
    /// Whether a number was needed.
    is_counting: bool,
}

impl LineNumbers {
    /// Begins after the header.
    pub fn after(preamble: &Preamble) -> LineNumbers {
        LineNumbers { place: preamble.end, lines: preamble.lines, is_counting: false }
    }

    /// Returns the number of the line that starts at `at` in a chunk.
    pub fn of(&mut self, source: &dyn ReadAt, chunk: LineChunk, at: usize) -> io::Result<LineNo> {
        self.is_counting = true;
        if self.place < chunk.start {
            // The chunks before this one needed no number, so their lines were not counted.
            self.lines += lines(source, self.place..chunk.start)?;
            self.place = chunk.start;
        }
        self.count_to(chunk, at);
        Ok(LineNo(self.lines + 1))
    }

    /// Counts the rest of a chunk, if numbers are needed.
    pub fn pass(&mut self, chunk: LineChunk) {
        if self.is_counting && self.place >= chunk.start {
            self.count_to(chunk, chunk.bytes.len());
        }
    }

    fn count_to(&mut self, chunk: LineChunk, at: usize) {
        let from = (self.place - chunk.start) as usize;
        self.lines += memchr_iter(b'\n', &chunk.bytes[from..at]).count() as u32;
        self.place = chunk.start + at as u64;
    }
}

/// Returns the number of lines that begin in a range of a file.
fn lines(source: &dyn ReadAt, range: Range<u64>) -> io::Result<u32> {
    let mut count = 0;
    let _: ControlFlow<()> = ChunkReader::default().read(source, range, |chunk| {
        count += memchr_iter(b'\n', chunk.bytes).count() as u32;
        ControlFlow::Continue(())
    })?;
    Ok(count)
}
