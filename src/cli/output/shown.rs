//! A writer for terminals, which no text of a session can control.

use crate::format::to_visible_lines;
use std::io::{self, Write};

/// A writer that escapes the characters that would control a terminal.
pub(super) struct EscapingWriter<'a> {
    pub out: &'a mut dyn Write,
    /// The first bytes of a character whose other bytes are not written yet.
    pub partial_char: Vec<u8>,
}

impl Write for EscapingWriter<'_> {
    /// Escapes and writes all complete characters. A buffer may end within a character: its first
    /// bytes are kept until the others follow, because alone they would be replaced as invalid.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.partial_char.extend_from_slice(bytes);
        // An error without `error_len` means that the text ends within a character.
        let end = match std::str::from_utf8(&self.partial_char) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.partial_char.len(),
        };
        let text = String::from_utf8_lossy(&self.partial_char[..end]).into_owned();
        self.out.write_all(to_visible_lines(&text).as_bytes())?;
        self.partial_char.drain(..end);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
