//! Reading by position, and spooling of streams.

use super::error::StoreError;
use super::files;
use std::fs::File;
use std::io::{self, Read, Write};
use std::ops::Range;
use std::path::Path;

/// Positional reads that workers can share: of a file, memory, or spooled stdin.
pub trait ReadAt: Sync {
    /// Reads up to `buf.len()` bytes at `offset`. Only a result of 0 means the end.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Returns the number of bytes. It does not change, even if the file does.
    fn len(&self) -> u64;

    /// Whether it is empty.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the file that contains these bytes at the same offsets, if any.
    fn file(&self) -> Option<&File> {
        None
    }

    /// Fills `buf` from `offset` on. It is an error if the content ends before `buf` is full.
    fn read_exact_at(&self, mut buf: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !buf.is_empty() {
            match self.read_at(buf, offset) {
                Ok(0) => return Err(shorter()),
                Ok(read) => {
                    buf = &mut buf[read..];
                    offset += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Returns a range of the content. It is an error if the content ends before it.
    fn read_range(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        resize(
            &mut bytes,
            usize::try_from(range.end.saturating_sub(range.start)).map_err(io::Error::other)?,
        )?;
        self.read_exact_at(&mut bytes, range.start)?;
        Ok(bytes)
    }
}

impl ReadAt for [u8] {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(<[u8]>::len(self));
        (&self[start..]).read(buf)
    }

    fn len(&self) -> u64 {
        <[u8]>::len(self) as u64
    }
}

impl ReadAt for Vec<u8> {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.as_slice().read_at(buf, offset)
    }

    fn len(&self) -> u64 {
        Vec::len(self) as u64
    }
}

/// Resizes a buffer, filling with 0. Insufficient memory for a long line is an error, and does not abort the
/// process.
pub fn resize(bytes: &mut Vec<u8>, len: usize) -> io::Result<()> {
    if bytes.try_reserve(len.saturating_sub(bytes.len())).is_err() {
        let what = format!("out of memory: a line of it takes {} MB or more", len >> 20);
        return Err(io::Error::new(io::ErrorKind::OutOfMemory, what));
    }
    bytes.resize(len, 0);
    Ok(())
}

/// Returns the error for a file that ends before what was read of it.
pub fn shorter() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the file became shorter")
}

/// The size of a page of memory, on most machines.
const PAGE: usize = 4096;
/// What is allocated in advance, for bytes that stay when more are read.
const SPARE: usize = 3 * PAGE;
/// The number of bytes from which those that stay are only moved if there is no space after them.
const LONG: usize = 256 * 1024;

/// Bytes of a file, each at the same offset within a page of memory as in the file: the kernel copies them several
/// times faster that way.
#[derive(Debug, Default)]
pub struct PageBuffer {
    buffer: Vec<u8>,
    used: Range<usize>,
}

impl PageBuffer {
    /// Returns the bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[self.used.clone()]
    }

    /// Removes all bytes, and returns space for `len` bytes, which begin at `offset` in the file.
    pub fn start(&mut self, offset: u64, len: usize) -> io::Result<&mut [u8]> {
        self.clear();
        self.extend(offset, len)
    }

    /// Appends space for `more` bytes, which begin at `offset` in the file, and returns it. Other bytes than a long part
    /// of a line move, so that the new ones are aligned.
    pub fn extend(&mut self, offset: u64, more: usize) -> io::Result<&mut [u8]> {
        let had = self.used.len();
        if had <= LONG || self.used.end + more > self.buffer.len() {
            let needed = (had + PAGE + more).max(2 * had);
            if self.buffer.len() < needed {
                resize(&mut self.buffer, needed + SPARE)?;
            }
            let start = (offset as usize).wrapping_sub(self.buffer.as_ptr().addr() + had) % PAGE;
            self.buffer.copy_within(self.used.clone(), start);
            self.used = start..start + had;
        }
        let end = self.used.end;
        self.used.end += more;
        Ok(&mut self.buffer[end..end + more])
    }

    /// Removes the first `count` bytes.
    pub fn drop_first(&mut self, count: usize) {
        self.used.start += count;
    }

    /// Removes all bytes.
    pub fn clear(&mut self) {
        self.used = 0..0;
    }

    /// Returns the number of bytes that it has had space for.
    pub fn capacity(&self) -> usize {
        self.buffer.len()
    }
}

/// A stream that was read to its end. See [`spool`].
#[derive(Debug)]
pub struct Spooled(Spool);

#[derive(Debug)]
enum Spool {
    Memory(Vec<u8>),
    File { file: File, size: u64 },
}

impl ReadAt for Spooled {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        match &self.0 {
            Spool::Memory(bytes) => bytes.read_at(buf, offset),
            Spool::File { file, .. } => files::read_at(file, buf, offset),
        }
    }

    fn file(&self) -> Option<&File> {
        match &self.0 {
            Spool::Memory(_) => None,
            Spool::File { file, .. } => Some(file),
        }
    }

    fn len(&self) -> u64 {
        match &self.0 {
            Spool::Memory(bytes) => bytes.len() as u64,
            Spool::File { size, .. } => *size,
        }
    }
}

/// The options for reading streams.
#[derive(Clone, Copy)]
pub struct SpoolOptions {
    /// The number of bytes to keep in memory.
    pub memory: usize,
    /// Whether a longer stream that starts with these bytes should be read to its end, although it may be
    /// endless.
    pub is_promising: fn(&[u8]) -> bool,
}

/// Reads a stream to its end: into memory up to a limit, else into a private temporary file without a name,
/// so that nothing remains however the process ends (rule 6). If the stream is not promising, only the start
/// is kept.
///
/// # Errors
/// If reading or spooling fails.
pub fn spool(reader: &mut dyn Read, options: SpoolOptions) -> Result<Spooled, StoreError> {
    spool_named(reader, options, Path::new("standard input"))
}

/// Keeps what `write` writes: in memory or, if it is large, in a private temporary file without a name (rule
/// 6).
pub fn spool_written(write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> Result<Spooled, StoreError> {
    let unspooled = |error| StoreError::io("write a temporary file for", Path::new("the copy"), error);
    let mut out = Spilling { memory: Vec::new(), file: None };
    write(&mut out).map_err(unspooled)?;
    let Spilling { memory, file } = out;
    let Some(file) = file else { return Ok(Spooled(Spool::Memory(memory))) };
    let size = file.metadata().map_err(unspooled)?.len();
    Ok(Spooled(Spool::File { file, size }))
}

/// The number of bytes of a copy to keep in memory.
const SPILLS: usize = 16 << 20;

/// Memory up to a limit, then a file.
struct Spilling {
    memory: Vec<u8>,
    file: Option<File>,
}

impl Write for Spilling {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.file.is_none() && self.memory.len() + bytes.len() > SPILLS {
            let mut file = tempfile::tempfile()?;
            file.write_all(&std::mem::take(&mut self.memory))?;
            self.file = Some(file);
        }
        match &mut self.file {
            Some(file) => file.write_all(bytes)?,
            None => self.memory.extend_from_slice(bytes),
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(super) fn spool_named(
    reader: &mut dyn Read,
    SpoolOptions { memory, is_promising }: SpoolOptions,
    name: &Path,
) -> Result<Spooled, StoreError> {
    let mut bytes = Vec::new();
    let more = memory as u64 + 1;
    reader.take(more).read_to_end(&mut bytes).map_err(|error| StoreError::io("read", name, error))?;
    if bytes.len() <= memory || !is_promising(&bytes) {
        return Ok(Spooled(Spool::Memory(bytes)));
    }
    let unspooled = |error| StoreError::io("write a temporary file for", name, error);
    let mut file = tempfile::tempfile().map_err(unspooled)?;
    file.write_all(&bytes).map_err(unspooled)?;
    let rest = io::copy(reader, &mut file).map_err(unspooled)?;
    Ok(Spooled(Spool::File { file, size: bytes.len() as u64 + rest }))
}
