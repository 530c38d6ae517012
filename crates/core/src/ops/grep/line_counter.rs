//! Counts the lines of a file, from the first search that needs the number of a line on.

use super::tool::ChunkLine;
use crate::session::entry::LineNo;
use crate::session::read::line_chunks::{LineChunk, count_newlines, read_chunks};
use pisess_store::{PageBuffer, ReadAt};
use std::io;
use std::ops::{ControlFlow, Range};

/// The number of lines before an offset of a file. Lines are counted only when the number of one is
/// needed, so this offset may be far before the line that is being searched.
#[derive(Clone, Copy, Debug)]
pub(super) struct CountedLines {
    pub line_count: u32,
    /// The offset up to which lines were counted.
    pub end: u64,
}

impl CountedLines {
    /// Reads and counts the lines up to an offset of the file. Does nothing if they were counted.
    pub fn read_up_to(&mut self, source: &dyn ReadAt, end: u64) -> io::Result<()> {
        if self.end < end {
            self.line_count += count_lines(source, self.end..end)?;
            self.end = end;
        }
        Ok(())
    }

    /// Counts the lines of a chunk that begin before its offset `end`. All lines before the chunk,
    /// and none after the offset, must have been counted.
    fn add_lines_of_chunk(&mut self, chunk: LineChunk, end: usize) {
        let counted_len = (self.end - chunk.start) as usize;
        self.line_count += count_newlines(&chunk.bytes[counted_len..end]);
        self.end = chunk.start + end as u64;
    }
}

/// Counts the lines of a file while it is searched, once the number of a line was needed.
pub(super) struct LineCounter {
    pub counted: CountedLines,
    /// Whether the number of a line was needed. If so, the lines that follow are counted while they
    /// are in memory.
    pub is_counting: bool,
}

impl LineCounter {
    /// Returns the number of a line, and counts the lines before it for this. Must be called for
    /// lines in file order: the counted part of the file only grows.
    pub fn number_of(&mut self, line: ChunkLine, source: &dyn ReadAt) -> io::Result<LineNo> {
        self.is_counting = true;
        // The lines of earlier chunks were not counted if no number was needed there.
        self.counted.read_up_to(source, line.chunk.start)?;
        self.counted.add_lines_of_chunk(line.chunk, line.start);
        Ok(LineNo(self.counted.line_count + 1))
    }

    /// Counts the lines that are left in a chunk after it was searched, if a number was needed.
    pub fn finish_chunk(&mut self, chunk: LineChunk) {
        // Lines are counted without a gap: if those of an earlier chunk were not counted, neither
        // are these.
        let is_counted_up_to_chunk = self.counted.end >= chunk.start;
        if self.is_counting && is_counted_up_to_chunk {
            self.counted.add_lines_of_chunk(chunk, chunk.bytes.len());
        }
    }
}

/// Returns the number of newlines in the lines that begin in a range of a file.
fn count_lines(source: &dyn ReadAt, range: Range<u64>) -> io::Result<u32> {
    let mut count = 0;
    // Never breaks: all lines are counted.
    let _: ControlFlow<()> = read_chunks(&mut PageBuffer::default(), source, range, |chunk| {
        count += count_newlines(chunk.bytes);
        ControlFlow::Continue(())
    })?;
    Ok(count)
}
