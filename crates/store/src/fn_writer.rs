//! A writer that passes on each piece of bytes as it is written.

use std::io::{self, Write};

/// Calls a function with each piece.
pub struct FnWriter<F>(pub F);

impl<F: FnMut(&[u8]) -> io::Result<()>> Write for FnWriter<F> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        (self.0)(piece)?;
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
