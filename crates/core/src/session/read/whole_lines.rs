//! Leaves out the last line of a source if another program is still writing it.

use memchr::memrchr;
use pisess_json::Raw;
use pisess_store::ReadAt;
use std::io;
use std::sync::Arc;

/// The number of bytes to read first, from the end backwards; doubled each time.
const FIRST_READ_LEN: u64 = 8 * 1024;

/// The whole lines of a source: those that end with a newline, and a last line without a newline if
/// it is an object.
pub struct WholeLines<'a> {
    source: &'a dyn ReadAt,
    len: u64,
}

impl<'a> WholeLines<'a> {
    /// Finds the end of the whole lines. This is the end of the source, or the start of the last
    /// line if that is incomplete.
    pub fn new(source: &'a dyn ReadAt) -> io::Result<WholeLines<'a>> {
        let last = last_line(source, source.len())?;
        // A truncated object is not a valid one, so a line that parses is complete.
        let is_whole = Raw::parse(&last.bytes).is_ok_and(Raw::is_object);
        Ok(WholeLines {
            source,
            len: if is_whole { source.len() } else { last.start },
        })
    }
}

/// Calls `find` with the lines of a source, from the last to the first, until it returns a value.
/// `None` if it returns none for any line.
pub fn find_line_backwards<T>(
    source: &dyn ReadAt,
    find: impl Fn(&[u8]) -> Option<T>,
) -> io::Result<Option<T>> {
    let mut line = last_line(source, source.len())?;
    loop {
        if let Some(found) = find(&line.bytes) {
            return Ok(Some(found));
        }
        // The byte before a line is the newline of the previous line, which ends there.
        let Some(newline) = line.start.checked_sub(1) else {
            // The first line has no line before it.
            return Ok(None);
        };
        line = last_line(source, newline)?;
    }
}

/// A line that was read backwards from its end.
pub struct LastLine {
    /// The offset at which the line begins.
    pub start: u64,
    /// The line, without a newline.
    pub bytes: Vec<u8>,
}

/// Returns the last line before the offset `end`. The line is empty if a newline directly precedes
/// `end`.
///
/// The length of a line is not known. So the bytes before `end` are read, twice as many each time,
/// until they contain the whole line.
pub fn last_line(source: &dyn ReadAt, end: u64) -> io::Result<LastLine> {
    let mut read_len = FIRST_READ_LEN;
    loop {
        let read_start = end.saturating_sub(read_len);
        let mut bytes = source.read_range(read_start..end)?;
        if let Some(newline) = memrchr(b'\n', &bytes) {
            let start_in_bytes = newline + 1;
            bytes.drain(..start_in_bytes);
            return Ok(LastLine {
                start: read_start + start_in_bytes as u64,
                bytes,
            });
        }
        if read_start == 0 {
            // The first line of the source.
            return Ok(LastLine { start: 0, bytes });
        }
        read_len *= 2;
    }
}

impl ReadAt for WholeLines<'_> {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let left = self.len.saturating_sub(offset);
        // If the rest is longer than a `usize`, it is longer than the buffer, too.
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        let read_len = buf.len().min(left);
        self.source.read_at(&mut buf[..read_len], offset)
    }

    fn original_lines(&self) -> Option<&Arc<[u32]>> {
        self.source.original_lines()
    }

    fn len(&self) -> u64 {
        self.len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_being_written_is_left_out() {
        let len = |text: &str| WholeLines::new(&text.as_bytes().to_vec()).unwrap().len();
        let long = "x".repeat(3 * FIRST_READ_LEN as usize);
        for (whole, rest) in [
            ("", ""),
            ("", "{\"a"),
            ("{}\n", ""),
            ("{}\n{}", ""),
            ("{}\n{\"a\":1}\r", ""),
            ("{}\n", "{\"a\":1"),
            ("{}\n", "12"),
            ("{}\n\n", "{"),
            (&format!("{{\"a\":\"{long}\"}}\n"), "{"),
            ("{}\n", &format!("{{\"a\":\"{long}")),
            (&format!("{{}}\n{{\"a\":\"{long}\"}}"), ""),
        ] {
            assert_eq!(
                len(&format!("{whole}{rest}")),
                whole.len() as u64,
                "{:.40}{:.40}",
                whole,
                rest
            );
        }
    }
}
