//! A writer that calls a function.

use std::io::{self, Write};

/// A writer that calls a function with each piece of bytes that is written.
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
