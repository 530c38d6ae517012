//! Reads a source on a thread of its own, ahead of the conversion of its lines.
//!
//! ```text
//! this thread      read, hash, check and outline each line ───┐ chunks of lines, in order
//! the caller's     convert the lines                       <──┘
//! ```

use crate::lines::{
    ReadExtent, for_each_object, is_torn, object_or_none, split_values, visit_values,
};
use crate::survey::Sha256Digits;
use pisess_core::session::read::line_chunks::{Line, OwnedChunk, read_owned_chunks};
use pisess_json::outline::{Outline, Outlined, OutlinedLine};
use pisess_store::ReadAt;
use pisess_store::workers::Pool;
use std::io;
use std::ops::{ControlFlow, Range};
use std::panic;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

/// The length of a source from which reading it on another thread pays off.
const LEN_TO_READ_AHEAD: u64 = 1 << 20;

/// The number of chunks that wait for the conversion. Each has half a megabyte, unless it is one
/// long line.
const CHUNKS_AHEAD: usize = 4;

/// The memory in bytes of the largest chunk that is used again, so that one long line, or a line of
/// many small values, does not occupy memory until the end.
const MAX_KEPT_MEMORY: usize = 2 << 20;

/// Calls `visit` for the lines that begin in the first `len` bytes of a source, and adds to
/// `extent` how much was read, as [`for_each_object`] does.
pub fn for_each_object_ahead(
    source: &dyn ReadAt,
    len: u64,
    extent: &mut ReadExtent,
    visit: impl FnMut(Line, Option<Outlined>) -> io::Result<()>,
) -> io::Result<()> {
    read_objects(source, len, None, extent, visit)
}

/// Calls `visit` for all lines of a source as [`for_each_object`] does, and adds to `extent` how
/// much was read. Returns the SHA-256 of the bytes that were read.
pub fn for_each_object_hashed(
    source: &dyn ReadAt,
    extent: &mut ReadExtent,
    visit: impl FnMut(Line, Option<Outlined>) -> io::Result<()>,
) -> io::Result<String> {
    let mut sha256 = Sha256Digits::default();
    read_objects(source, source.len(), Some(&mut sha256), extent, visit)?;
    Ok(sha256.finish())
}

/// Reads a long source on another thread. A short one is read on this thread, and so is any source
/// if no thread can be started.
fn read_objects(
    source: &dyn ReadAt,
    len: u64,
    mut sha256: Option<&mut Sha256Digits>,
    extent: &mut ReadExtent,
    mut visit: impl FnMut(Line, Option<Outlined>) -> io::Result<()>,
) -> io::Result<()> {
    if len >= LEN_TO_READ_AHEAD
        && let Some(result) = read_ahead(source, len, sha256.as_deref_mut(), extent, &mut visit)
    {
        return result;
    }

    for_each_object(source, len, extent, visit)?;
    if let Some(sha256) = sha256 {
        sha256.add_range(source, 0..extent.bytes_read)?;
    }
    Ok(())
}

/// Reads a source on another thread, which stays at most [`CHUNKS_AHEAD`] chunks ahead of `visit`.
/// `None` if no thread can be started. Then nothing was read, and the caller can start over.
fn read_ahead(
    source: &dyn ReadAt,
    len: u64,
    sha256: Option<&mut Sha256Digits>,
    extent: &mut ReadExtent,
    visit: &mut impl FnMut(Line, Option<Outlined>) -> io::Result<()>,
) -> Option<io::Result<()>> {
    // Each chunk is used again once its lines are converted. Otherwise one thread would allocate
    // memory all the time, and the other would free it.
    let chunks = Pool::new(CheckedChunk::default);
    thread::scope(|scope| {
        let (sender, receiver) = sync_channel(CHUNKS_AHEAD);
        let mut reader = ChunkReader {
            chunks: &chunks,
            sha256,
            extent,
        };
        let read = move || reader.send_chunks(source, len, &sender);
        let reading = thread::Builder::new().spawn_scoped(scope, read).ok()?;
        for chunk in receiver {
            if let Err(error) = chunk.visit_lines(visit) {
                // The receiver is dropped here, so the other thread ends.
                return Some(Err(error));
            }
            if chunk.memory() <= MAX_KEPT_MEMORY {
                chunks.put(chunk);
            }
        }
        match reading.join() {
            Ok(result) => Some(result),
            Err(panic) => panic::resume_unwind(panic),
        }
    })
}

/// Some whole lines that were checked.
#[derive(Default)]
struct CheckedChunk {
    lines: OwnedChunk,
    outline: Outline,
    checked: Vec<CheckedLine>,
}

/// A line of a chunk. Its range is kept, so that the line breaks need not be searched for again.
struct CheckedLine {
    /// Where the line is in the bytes of the chunk, without its newline.
    range: Range<usize>,
    /// Its value; `None` if it is not exactly one.
    value: Option<OutlinedLine>,
}

/// The thread that reads, with what it finds out besides the lines.
struct ChunkReader<'r, F> {
    /// The chunks that are not in use.
    chunks: &'r Pool<CheckedChunk, F>,
    /// The hash of what was read; `None` if it is not needed.
    sha256: Option<&'r mut Sha256Digits>,
    extent: &'r mut ReadExtent,
}

impl<F: Fn() -> CheckedChunk> ChunkReader<'_, F> {
    /// Reads and hashes the lines that begin in the first `len` bytes of a source, and sends them.
    /// Ends early if they are no longer received.
    fn send_chunks(
        &mut self,
        source: &dyn ReadAt,
        len: u64,
        sender: &SyncSender<CheckedChunk>,
    ) -> io::Result<()> {
        // An early end is not an error here: the receiver reports why it received no more.
        let _ = read_owned_chunks(source, 0..len, |lines| {
            let mut chunk = self.chunks.get();
            std::mem::swap(&mut chunk.lines, lines);
            chunk.check_lines(self.extent);
            // After the check, which has removed a torn line: it is not hashed.
            if let Some(sha256) = &mut self.sha256 {
                sha256.add(chunk.lines.lines().bytes);
            }
            match sender.send(chunk) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        })?;
        Ok(())
    }
}

impl CheckedChunk {
    /// Finds the value of each line, and records in `extent` that the lines were read. What the
    /// chunk has found in earlier lines is replaced, and its memory is used again.
    ///
    /// A torn line, which is the last line of the source, is removed. Only its start is recorded,
    /// because its number may be needed for a message.
    fn check_lines(&mut self, extent: &mut ReadExtent) {
        self.outline.clear();
        self.checked.clear();
        let lines = self.lines.lines();
        // The end in the source of the last line that is not torn.
        let mut whole_lines_end = lines.start;
        for line in lines.lines() {
            extent.record_line_start(line.span.start);
            let value = self.outline.add_line(line.bytes).ok();
            if value.is_none() && is_torn(&line, &split_values(&line)) {
                extent.is_torn = true;
                break;
            }
            let start = (line.span.start - lines.start) as usize;
            self.checked.push(CheckedLine {
                range: start..start + line.bytes.len(),
                value,
            });
            whole_lines_end = line.span.end() + u64::from(line.has_newline);
        }

        if whole_lines_end > lines.start {
            extent.bytes_read = whole_lines_end;
        }
        let whole_lines_len = (whole_lines_end - lines.start) as usize;
        self.lines.truncate(whole_lines_len);
    }

    /// Returns the memory in bytes that the chunk keeps for its next use.
    fn memory(&self) -> usize {
        let checked = self.checked.capacity() * size_of::<CheckedLine>();
        self.lines.capacity() + self.outline.memory() + checked
    }

    /// Calls `visit` with each line and its value; with `None` in place of a value that is not an
    /// object.
    fn visit_lines(
        &self,
        visit: &mut impl FnMut(Line, Option<Outlined>) -> io::Result<()>,
    ) -> io::Result<()> {
        let lines = self.lines.lines();
        for CheckedLine { range, value } in &self.checked {
            let line = lines.line_at(range.clone());
            match value {
                Some(value) => {
                    let value = self.outline.value(value, line.bytes);
                    visit(line, object_or_none(value))?;
                }
                // The line is blank, has several values, or is not JSON.
                None => visit_values(&line, split_values(&line), visit)?,
            }
        }
        Ok(())
    }
}
