//! A writer for terminals, on which no text of a session acts.

use crate::format::visible_lines;
use std::io::{self, Write};

/// A writer that escapes characters that would act on a terminal.
pub(super) struct Shown<'a> {
    out: &'a mut dyn Write,
    line: Vec<u8>,
}

impl<'a> Shown<'a> {
    pub fn new(out: &'a mut dyn Write) -> Self {
        Shown { out, line: Vec::new() }
    }
}

impl Write for Shown<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.line.extend_from_slice(bytes);
        // Escape up to the last complete character.
        let end = match std::str::from_utf8(&self.line) {
            Ok(_) => self.line.len(),
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(_) => self.line.len(),
        };
        let text = String::from_utf8_lossy(&self.line[..end]).into_owned();
        self.out.write_all(visible_lines(&text).as_bytes())?;
        self.line.drain(..end);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
