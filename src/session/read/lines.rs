//! The physical lines of a source, in order, through one buffer.

use crate::session::entry::Span;
use pisess_store::{ReadAt, resize};
use std::io;

/// The number of bytes to read at a time when reading to the end.
const STEP: usize = 256 * 1024;
/// The number of bytes to read first when only the first lines are needed.
const FIRST_STEP: usize = 4096;

/// A physical line.
#[derive(Clone, Copy, Debug)]
pub struct Line<'b> {
    /// Its location, without its newline.
    pub span: Span,
    /// Its bytes, without its newline.
    pub bytes: &'b [u8],
    /// Whether it ends with a newline.
    pub newline: bool,
}

/// See [`Lines::next_line`].
pub struct Lines<'a> {
    source: &'a dyn ReadAt,
    buffer: Vec<u8>,
    /// The offset of the buffer in the source.
    start: u64,
    /// The offset of the next line in the buffer.
    next: usize,
    step: usize,
}

impl<'a> Lines<'a> {
    /// Returns all lines of a source.
    pub fn new(source: &'a dyn ReadAt) -> Self {
        Lines { source, buffer: Vec::new(), start: 0, next: 0, step: STEP }
    }

    /// Returns the first lines of a source, without reading much beyond them.
    pub fn first(source: &'a dyn ReadAt) -> Self {
        Lines { step: FIRST_STEP, ..Lines::new(source) }
    }

    /// Returns the offset after the line returned last and its newline.
    pub fn pos(&self) -> u64 {
        self.start + self.next as u64
    }

    /// Returns the next line. The buffer grows to the longest line.
    pub fn next_line(&mut self) -> io::Result<Option<Line<'_>>> {
        let mut searched = self.next;
        let (len, newline) = loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[searched..]) {
                break (searched + at - self.next, true);
            }
            searched = self.buffer.len() - self.next;
            self.buffer.drain(..self.next);
            self.start += self.next as u64;
            self.next = 0;
            if !self.read_more()? {
                break (searched, false);
            }
        };
        if len == 0 && !newline {
            return Ok(None);
        }
        let from = self.next;
        self.next += len + usize::from(newline);
        let span = Span { start: self.start + from as u64, len: len as u64 };
        Ok(Some(Line { span, bytes: &self.buffer[from..from + len], newline }))
    }

    fn read_more(&mut self) -> io::Result<bool> {
        let had = self.buffer.len();
        let left = self.source.len().saturating_sub(self.start + had as u64);
        let step = self.step.max(had).min(usize::try_from(left).unwrap_or(usize::MAX));
        resize(&mut self.buffer, had + step)?;
        self.source.read_exact_at(&mut self.buffer[had..], self.start + had as u64)?;
        Ok(step > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_whole_and_in_order() {
        let long = "x".repeat(STEP + 17);
        let text = format!("a\n\n{long}\n{long}b\nc").into_bytes();
        let mut lines = Lines::new(&text);
        let mut seen = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            assert_eq!(line.bytes, &text[line.span.start as usize..line.span.end() as usize]);
            seen.push((line.span.len as usize, line.newline));
        }
        let long = long.len();
        assert_eq!(seen, [(1, true), (0, true), (long, true), (long + 1, true), (1, false)]);
    }
}
