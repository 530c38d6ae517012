//! Reading by position, and spooling of streams.

use super::error::{Action, StoreError};
use super::files::{DISK, Files};
use super::fn_writer::FnWriter;
use super::write_behind::write_behind;
use std::fs::File;
use std::io::{self, Cursor, Read, Seek, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use tempfile::{SpooledData, SpooledTempFile};

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

    /// Returns, for content that was converted from another file, the number of the original line
    /// from which each line was made. `None` for any other content.
    fn original_lines(&self) -> Option<&Arc<[u32]>> {
        None
    }

    /// Passes the whole content to `read`, in order, in parts of any length. This is for content
    /// that is made only when it is read. Later, the part `kept` can be read by position without
    /// making it again. `None` for content that can be read by position at once.
    ///
    /// `read` may be called on another thread, and must not read this content itself: it would wait
    /// for itself.
    fn stream(
        &self,
        kept: KeptContent,
        read: &mut (dyn FnMut(&[u8]) + Send),
    ) -> Option<io::Result<()>> {
        let _ = (kept, read);
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

/// What is kept of content that is made when it is read (see [`ReadAt::stream`]). If any other part
/// is read later, all of the content is made again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeptContent {
    /// Everything, for a reader of all lines.
    #[default]
    Whole,
    /// Everything, for a reader of some lines. A hash, which few lines have, may be computed only
    /// when it is read.
    SomeLines,
    /// The last bytes.
    End,
    /// Nothing.
    Nothing,
}

impl ReadAt for Vec<u8> {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let start = usize::try_from(offset)
            .unwrap_or(usize::MAX)
            .min(Vec::len(self));
        (&self[start..]).read(buf)
    }

    fn len(&self) -> u64 {
        Vec::len(self) as u64
    }
}

const BYTES_PER_MB: usize = 1 << 20;

/// The length in bytes up to which memory is assumed to be available.
const SMALL: usize = BYTES_PER_MB;

/// Resizes a buffer, and fills new bytes with 0. If there is not enough memory, as for a very long
/// line, returns an error instead of aborting the process.
pub fn resize(bytes: &mut Vec<u8>, len: usize) -> io::Result<()> {
    if bytes.is_empty() && len <= SMALL {
        // The allocator has memory that is 0 already.
        *bytes = vec![0; len];
        return Ok(());
    }
    // If the buffer becomes shorter, no memory is needed.
    let added_len = len.saturating_sub(bytes.len());
    if bytes.try_reserve(added_len).is_err() {
        let megabytes = len / BYTES_PER_MB;
        let message = format!("out of memory: a line of it takes {megabytes} MB or more");
        return Err(io::Error::new(io::ErrorKind::OutOfMemory, message));
    }
    bytes.resize(len, 0);
    Ok(())
}

/// Returns the error for a file that is shorter than when it was opened.
pub fn shorter() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the file became shorter")
}

/// The size of a page of memory, on most machines. It divides the size of the address space, which
/// [`aligned_start`] needs.
const PAGE: usize = 4096;
/// The number of bytes that are allocated in excess, so that a little more need not be allocated
/// soon.
const SPARE: usize = 3 * PAGE;
/// The maximum number of bytes that a buffer moves only to align new ones. Moving more takes longer
/// than an unaligned copy of the new bytes.
const MAX_MOVED_TO_ALIGN: usize = 256 * 1024;

/// A buffer for bytes of a file, in which the offset of a byte within a page of memory equals its
/// offset within a page of the file. The kernel copies bytes several times faster that way.
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

    /// Appends space for `added_len` bytes, which begin at `offset` in the file, and returns it.
    ///
    /// The bytes in the buffer are moved to the offset at which the new bytes are aligned. If there
    /// are more than 256 KiB, they stay where they are as long as there is space after them, and
    /// the new bytes are not aligned.
    pub fn extend(&mut self, offset: u64, added_len: usize) -> io::Result<&mut [u8]> {
        let used_len = self.used.len();
        let has_space_at_end = self.used.end + added_len <= self.buffer.len();
        if used_len <= MAX_MOVED_TO_ALIGN || !has_space_at_end {
            // The page is for the start, which is anywhere in the first page. The length is at
            // least doubled, so that a buffer that grows in small steps is rarely allocated again.
            let needed_len = (PAGE + used_len + added_len).max(2 * used_len);
            if self.buffer.len() < needed_len {
                resize(&mut self.buffer, needed_len + SPARE)?;
            }
            // Only now, because allocating changes the address of the buffer. The start is less
            // than `PAGE`, so the used and the added bytes fit after it.
            let start = aligned_start(&self.buffer, used_len, offset);
            self.buffer.copy_within(self.used.clone(), start);
            self.used = start..start + used_len;
        }

        let added_start = self.used.end;
        self.used.end += added_len;
        Ok(&mut self.buffer[added_start..self.used.end])
    }

    /// Removes the first `count` bytes.
    pub fn drop_first(&mut self, count: usize) {
        self.used.start += count;
    }

    /// Removes all bytes.
    pub fn clear(&mut self) {
        self.used = 0..0;
    }

    /// Removes all bytes, and frees the memory if the buffer has space for more than `most` bytes.
    pub fn release(&mut self, most: usize) {
        self.clear();
        if self.buffer.len() > most {
            self.buffer = Vec::new();
        }
    }

    /// Returns the number of bytes that are allocated.
    pub fn capacity(&self) -> usize {
        self.buffer.len()
    }
}

/// Returns where in the first page of `buffer` the used bytes have to start, so that the byte after
/// them is aligned: its address and `offset`, its offset in the file, have the same remainder
/// modulo [`PAGE`].
fn aligned_start(buffer: &[u8], used_len: usize, offset: u64) -> usize {
    let address_if_start_is_0 = buffer.as_ptr().addr() + used_len;
    // The difference may wrap around, which keeps its remainder: see `PAGE`.
    (offset as usize).wrapping_sub(address_if_start_is_0) % PAGE
}

/// The maximum number of bytes of a stream that are kept in memory.
pub(super) const MEMORY: usize = 16 << 20;

/// Bytes that were written, or read from a stream. They are in memory up to a limit, and beyond it
/// in a private temporary file. The file has no name, so that nothing remains however the process
/// ends (rule 6).
#[derive(Debug)]
pub struct Spooled {
    data: SpooledData,
    len: u64,
}

impl Spooled {
    /// Keeps what `write` writes: up to `limit` bytes in memory, and more in a temporary file.
    /// `write` must not seek.
    pub(super) fn from_writer(
        limit: usize,
        write: impl FnOnce(&mut SpooledTempFile) -> io::Result<()>,
    ) -> io::Result<Spooled> {
        let mut file = SpooledTempFile::new(limit);
        write(&mut file)?;
        Spooled::from_written(file)
    }

    fn from_written(mut file: SpooledTempFile) -> io::Result<Spooled> {
        // After the last write, the position is the end.
        let len = file.stream_position()?;
        Ok(Spooled {
            data: file.into_inner(),
            len,
        })
    }

    /// Adds bytes at the end. Content in memory stays there, even if it exceeds the limit then.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let appended = match &mut self.data {
            SpooledData::OnDisk(file) => file.write_all(bytes),
            SpooledData::InMemory(memory) => {
                memory.get_mut().extend_from_slice(bytes);
                Ok(())
            }
        };
        appended.map_err(|error| StoreError::io(Action::Spool, Path::new("the copy"), error))?;
        self.len += bytes.len() as u64;
        Ok(())
    }
}

impl ReadAt for Spooled {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        match &self.data {
            SpooledData::OnDisk(file) => DISK.read_at(file, buf, offset),
            SpooledData::InMemory(memory) => memory.get_ref().read_at(buf, offset),
        }
    }

    fn file(&self) -> Option<&File> {
        match &self.data {
            SpooledData::OnDisk(file) => Some(file),
            SpooledData::InMemory(_) => None,
        }
    }

    fn len(&self) -> u64 {
        self.len
    }
}

/// Bytes that are written in parts, and kept as in [`Spooled`].
#[derive(Debug)]
pub struct SpoolWriter {
    file: SpooledTempFile,
}

impl Default for SpoolWriter {
    fn default() -> SpoolWriter {
        SpoolWriter {
            file: SpooledTempFile::new(MEMORY),
        }
    }
}

impl SpoolWriter {
    /// Adds bytes at the end.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let written = self.file.write_all(bytes);
        written.map_err(SpoolWriter::store_error)
    }

    /// Returns all bytes.
    pub fn finish(self) -> Result<Spooled, StoreError> {
        let written = Spooled::from_written(self.file);
        written.map_err(SpoolWriter::store_error)
    }

    fn store_error(error: io::Error) -> StoreError {
        StoreError::io(Action::Spool, Path::new("the output"), error)
    }
}

/// Reads a stream to its end.
///
/// If a stream does not fit in memory, `is_promising` is called with its start. If it returns
/// `false`, only the start is read and kept: such a stream may have no end.
pub fn spool(
    reader: &mut dyn Read,
    is_promising: fn(&[u8]) -> bool,
) -> Result<Spooled, StoreError> {
    spool_named(reader, MEMORY, is_promising, Path::new("standard input"))
}

/// Reads a stream to its end, and keeps at most `limit` bytes in memory. `name` is the name of the
/// stream in errors.
///
/// If the stream is longer than `limit`, `is_promising` is called with its start. If it returns
/// `false`, the content does not look like a session, and only the start is kept: `limit` bytes and
/// one more.
pub(super) fn spool_named(
    reader: &mut dyn Read,
    limit: usize,
    is_promising: fn(&[u8]) -> bool,
    name: &Path,
) -> Result<Spooled, StoreError> {
    let mut start = Vec::new();
    // One byte more than fits shows that the stream is longer.
    let max_len = limit as u64 + 1;
    reader
        .take(max_len)
        .read_to_end(&mut start)
        .map_err(|error| StoreError::io(Action::Read, name, error))?;
    if start.len() <= limit || !is_promising(&start) {
        return Ok(Spooled {
            len: start.len() as u64,
            data: SpooledData::InMemory(Cursor::new(start)),
        });
    }
    let spooled = Spooled::from_writer(limit, |out| {
        out.write_all(&start)?;
        io::copy(reader, out).map(drop)
    });
    spooled.map_err(|error| StoreError::io(Action::Spool, name, error))
}

/// Keeps what `write` writes, in memory or in a temporary file: see [`Spooled`].
pub fn spool_written(
    write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
) -> Result<Spooled, StoreError> {
    spool_and_read(write, &mut |_| ())
}

/// Keeps what `write` writes, as [`spool_written`] does, and calls `read` with it, in order, in
/// parts of any length. If much is written, `read` is called on another thread.
pub fn spool_and_read(
    write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    read: &mut (dyn FnMut(&[u8]) + Send),
) -> Result<Spooled, StoreError> {
    let spooled = Spooled::from_writer(MEMORY, |out| {
        let mut read_and_write = FnWriter(|bytes: &[u8]| {
            read(bytes);
            out.write_all(bytes)
        });
        write_behind(&mut read_and_write, |out| write(out))
    });
    spooled.map_err(|error| StoreError::io(Action::Spool, Path::new("the copy"), error))
}

/// Calls `read` with what `write` writes, as [`spool_and_read`] does, and keeps nothing.
pub fn read_written(
    write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    read: &mut (dyn FnMut(&[u8]) + Send),
) -> io::Result<()> {
    let mut reader = FnWriter(|bytes: &[u8]| {
        read(bytes);
        Ok(())
    });
    write_behind(&mut reader, |out| write(out))
}
