//! A writer for terminals, on which no text of a session acts.

use crate::format::visible_lines;
use std::io::{self, Write};

/// A writer that escapes characters that would act on a terminal.
pub(super) struct Shown<'a> {
    pub out: &'a mut dyn Write,
    /// The start of a character whose end is not written yet.
    pub unfinished: Vec<u8>,
}

impl Write for Shown<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.unfinished.extend_from_slice(bytes);
        // Escape up to the last complete character.
        let end = match std::str::from_utf8(&self.unfinished) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.unfinished.len(),
        };
        let text = String::from_utf8_lossy(&self.unfinished[..end]).into_owned();
        self.out.write_all(visible_lines(&text).as_bytes())?;
        self.unfinished.drain(..end);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
