//! Reads the lines of single entries from the file, by their location.

use crate::session::Session;
use crate::session::blobs::{BlobStore, blob_hashes, inline_frames, inline_images};
use crate::session::entry::{EntryIx, Role, Span};
use crate::session::file_calls::FileCall;
use crate::session::read::batches::{BatchSize, split_batches};
use pisess_json::Raw;
use pisess_json::edit::with_member;
use pisess_store::workers::{Pool, Spent, in_order};
use pisess_store::{PageBuffer, ReadAt, shorter};
use std::cell::RefCell;
use std::io;
use std::ops::Range;
use std::thread;

/// Reads lines of entries **as `migrate` would store them**, without their newlines, from the file
/// that the session was loaded from. Memory does not grow with the number of lines read. Request
/// lines in file order where possible.
///
/// Neighbouring lines are read together. The length of each read depends on how much of the
/// previous one was requested, so little is read in vain: `tests/counts.rs` bounds it for lines in
/// order, backwards and shuffled.
pub struct EntryReader<'a> {
    session: &'a Session,
    source: &'a dyn ReadAt,
    /// Values to replace, in file order; their spans do not overlap.
    replacements: &'a [Replacement<'a>],
    /// Where the images are that oh-my-pi keeps outside of its sessions; `None` if entries and
    /// messages are read without them.
    blobs: Option<&'a BlobStore>,
    window: RefCell<Window>,
}

/// JSON that an [`EntryReader`] returns in place of a value of a line.
#[derive(Clone, Copy, Debug)]
pub struct Replacement<'a> {
    /// The location of the value in the file.
    pub span: Span,
    /// The JSON to return instead.
    pub json: &'a [u8],
}

/// The last bytes that were read from the file.
#[derive(Default)]
struct Window {
    /// The offset of the first byte.
    start: u64,
    buffer: PageBuffer,
    /// The number of bytes of the window that were requested, including short gaps between
    /// requests.
    requested: u64,
    /// The offset at which the previous request ended.
    previous_end: u64,
}

impl Window {
    fn bytes(&self) -> &[u8] {
        self.buffer.bytes()
    }

    /// Whether the window contains all bytes of a range of the file.
    fn contains(&self, span: Span) -> bool {
        let end = self.start + self.bytes().len() as u64;
        span.start >= self.start && span.end() <= end
    }

    /// Counts the bytes between the previous request and `span`, the next one, as requested if they
    /// are few. The reason: a message is requested without the rest of its line, which is then such
    /// a gap. If the requests go backwards, there is no gap.
    fn count_short_gap(&mut self, span: Span) {
        let gap = span.start.saturating_sub(self.previous_end);
        if gap <= self.requested * SHORT_GAP_FACTOR {
            self.requested += gap;
        }
    }

    /// Counts a range, which the window contains, as requested.
    fn count_request(&mut self, span: Span) {
        self.requested += span.len;
        self.previous_end = span.end();
    }

    /// Returns the range of the file to read for `span`, which the window does not contain: it, and
    /// the bytes after it or, if the requests go backwards, before it.
    ///
    /// The length of the range is in proportion to the bytes that were requested of this window. So
    /// a caller that skips most lines reads little in vain.
    fn read_ahead_range(&self, span: Span, source_len: u64) -> Range<u64> {
        let read_len = (self.requested * READ_AHEAD_FACTOR)
            .min(MAX_READ_AHEAD)
            .max(span.len);
        let goes_backwards = span.start < self.start;
        if goes_backwards {
            span.end().saturating_sub(read_len)..span.end()
        } else {
            span.start..source_len.min(span.start + read_len)
        }
    }

    /// Replaces the window by the bytes in a range of the file, of which none is requested yet.
    /// After an error the window is empty, so that nothing half-read is taken for the file's bytes.
    fn read(&mut self, source: &dyn ReadAt, range: Range<u64>) -> io::Result<()> {
        self.start = range.start;
        self.requested = 0;
        let read = self
            .buffer
            .start(range.start, (range.end - range.start) as usize)
            .and_then(|bytes| source.read_exact_at(bytes, range.start));
        if read.is_err() {
            self.buffer.clear();
        }
        read
    }
}

/// The maximum length of a read in bytes, unless one request is longer.
const MAX_READ_AHEAD: u64 = 256 * 1024;
/// The maximum length of a read, as a multiple of the bytes that were requested of the previous
/// window.
const READ_AHEAD_FACTOR: u64 = 4;
/// The maximum length of a gap that counts as requested, as a multiple of the bytes requested so
/// far: what a read ahead would have covered.
const SHORT_GAP_FACTOR: u64 = READ_AHEAD_FACTOR;

/// The maximum length of the window, in bytes, that stays in memory after a request. What a caller
/// makes of a longer line may need as much memory.
const MAX_KEPT_LEN: usize = 16 << 20;

impl<'a> EntryReader<'a> {
    /// Returns a reader of a session, given the file it was loaded from.
    pub fn new(session: &'a Session, source: &'a dyn ReadAt) -> Self {
        EntryReader {
            session,
            source,
            replacements: &[],
            blobs: None,
            window: RefCell::default(),
        }
    }

    /// Returns a reader that reads each line as if `replacements` were in the file. Locations of
    /// lines and messages stay those in the file.
    pub fn with_replacements(self, replacements: &'a [Replacement<'a>]) -> Self {
        EntryReader {
            replacements,
            ..self
        }
    }

    /// Returns a reader that reads entries and messages of oh-my-pi as the agent does: with the
    /// images that it keeps in blobs. Lines stay as they are in the file.
    pub fn with_blobs(self, blobs: &'a BlobStore) -> Self {
        EntryReader {
            blobs: Some(blobs),
            ..self
        }
    }

    /// Returns the session whose entries are read.
    pub fn session(&self) -> &'a Session {
        self.session
    }

    /// Returns the line of an entry.
    ///
    /// # Errors
    /// If reading fails, or the file is no longer the one that was loaded.
    pub fn read_line(&self, ix: EntryIx) -> io::Result<Vec<u8>> {
        self.with_line(ix, <[u8]>::to_vec)
    }

    /// Calls `inspect` with the line of an entry. The line is not copied if it needs no migration.
    pub fn with_line<T>(&self, ix: EntryIx, inspect: impl FnOnce(&[u8]) -> T) -> io::Result<T> {
        let seen = self.with_stored(self.session.entry(ix).span, |line| {
            self.session
                .migrate_line(ix, line)
                .map(|line| inspect(&line))
        })?;
        let changed = "the file is no longer the one that was read";
        seen.map_err(|_| io::Error::new(io::ErrorKind::InvalidData, changed))
    }

    /// Calls `inspect` with the JSON object of an entry.
    pub fn with_entry<T>(&self, ix: EntryIx, inspect: impl FnOnce(Raw) -> T) -> io::Result<T> {
        self.with_line(ix, |line| {
            let entry = Raw::from_checked(line.trim_ascii());
            let inlined = self.inline_images_of_entry(entry);
            inspect(inlined.as_deref().map_or(entry, Raw::from_checked))
        })
    }

    /// Calls `inspect` with the `message` of an entry's line, or `null` if it has none.
    pub fn with_message<T>(&self, ix: EntryIx, inspect: impl FnOnce(Raw) -> T) -> io::Result<T> {
        if let Some(span) = self.session.message_span(ix)
            && !self.session.needs_migration(ix)
        {
            return self.with_stored(span, |message| {
                let message = Raw::from_checked(message);
                let inlined = self.inline_images(message);
                inspect(inlined.as_deref().map_or(message, Raw::from_checked))
            });
        }
        self.with_entry(ix, |entry| {
            inspect(entry.get("message").unwrap_or(Raw::NULL))
        })
    }

    /// Returns an entry with the images of its blobs. `None` if it has none, or if this reader
    /// reads no blobs.
    fn inline_images_of_entry(&self, entry: Raw) -> Option<Vec<u8>> {
        let blobs = self.blobs_for(entry)?;
        if let Some(message) = entry.get("message") {
            let inlined = self.inline_images(message)?;
            return Some(with_member(entry, "message", &inlined));
        }
        if entry.get("preserveData").is_some() {
            return inline_frames(entry, blobs);
        }
        // The content of a custom message is in the entry.
        self.inline_images(entry)
    }

    /// Returns an object, which may have `content`, with the images of its blobs. `None` if it has
    /// none, or if this reader reads no blobs.
    fn inline_images(&self, object: Raw) -> Option<Vec<u8>> {
        let blobs = self.blobs_for(object)?;
        let content = inline_images(object.get("content")?, blobs)?;
        Some(with_member(object, "content", &content))
    }

    /// Returns the blobs if an object refers to one. Most do not, so this is found out without
    /// parsing the object.
    fn blobs_for(&self, object: Raw) -> Option<&'a BlobStore> {
        let blobs = self.blobs?;
        let mut hashes = blob_hashes(object.bytes());
        let has_reference = hashes.next().is_some();
        if has_reference { Some(blobs) } else { None }
    }

    /// Returns the bytes of a line as they are in the file.
    ///
    /// # Errors
    /// If reading fails, or the file is shorter than it was.
    pub fn read_stored(&self, span: Span) -> io::Result<Vec<u8>> {
        self.with_stored(span, <[u8]>::to_vec)
    }

    /// Calls `inspect` with the bytes in a range of the file, in which values may be replaced.
    /// Without a replacement, they are not copied. `inspect` may request other lines.
    pub(crate) fn with_stored<T>(
        &self,
        span: Span,
        inspect: impl FnOnce(&[u8]) -> T,
    ) -> io::Result<T> {
        // Moved out, because `inspect` may request another line. That request fills a window of its
        // own, which is dropped when this one is put back.
        let mut window = self.window.take();
        let result = self.inspect_in_window(&mut window, span, inspect);
        if window.bytes().len() > MAX_KEPT_LEN {
            window.buffer.release(MAX_KEPT_LEN);
        }
        self.window.replace(window);
        result
    }

    /// Calls `inspect` with the bytes in a range of the file, which are read into the window unless
    /// it has them.
    fn inspect_in_window<T>(
        &self,
        window: &mut Window,
        span: Span,
        inspect: impl FnOnce(&[u8]) -> T,
    ) -> io::Result<T> {
        self.fill_window(window, span)?;
        let start = (span.start - window.start) as usize;
        let stored = &window.bytes()[start..start + span.len as usize];
        let replacements = self.replacements_in(span);
        if replacements.is_empty() {
            Ok(inspect(stored))
        } else {
            Ok(inspect(&splice_replacements(stored, span, replacements)))
        }
    }

    /// Returns the replacements whose values are in a range of the file as a whole.
    fn replacements_in(&self, span: Span) -> &'a [Replacement<'a>] {
        let first = self
            .replacements
            .partition_point(|replacement| replacement.span.start < span.start);
        let from_first = &self.replacements[first..];
        let count = from_first.partition_point(|replacement| replacement.span.end() <= span.end());
        &from_first[..count]
    }

    /// Makes sure that the window, the part of the file that is in memory, contains a range. If it
    /// does not, reads a new window around the range.
    fn fill_window(&self, window: &mut Window, span: Span) -> io::Result<()> {
        window.count_short_gap(span);
        if window.contains(span) {
            window.count_request(span);
            return Ok(());
        }

        let source_len = self.source.len();
        if span.end() > source_len {
            return Err(shorter());
        }
        let new_range = window.read_ahead_range(span, source_len);
        window.read(self.source, new_range)?;
        window.count_request(span);
        Ok(())
    }
}

/// Returns the bytes in a range of the file (`stored`), with the JSON of each replacement in place
/// of its value. The replacements are in file order and within the range.
pub(crate) fn splice_replacements(
    stored: &[u8],
    range: Span,
    replacements: &[Replacement],
) -> Vec<u8> {
    let mut spliced = Vec::new();
    // What is not copied yet, and its offset in the file.
    let mut rest = stored;
    let mut rest_start = range.start;
    for replacement in replacements {
        let (before, from_value) = rest.split_at((replacement.span.start - rest_start) as usize);
        spliced.extend_from_slice(before);
        spliced.extend_from_slice(replacement.json);
        rest = &from_value[replacement.span.len as usize..];
        rest_start = replacement.span.end();
    }
    spliced.extend_from_slice(rest);
    spliced
}

/// A message of a context, and the entry from which it was made.
#[derive(Clone, Debug)]
pub struct ContextMessage {
    /// The entry.
    pub entry: EntryIx,
    /// Where the JSON of the message is.
    pub body: Body,
}

/// Where the JSON of a message is.
#[derive(Clone, Debug)]
pub enum Body {
    /// In the `message` member of the entry's line, as stored.
    Stored,
    /// Here: it was built from the entry. In a box, so that a list of messages, most of which are
    /// stored, takes half the memory.
    Built(Box<Vec<u8>>),
}

impl Body {
    /// Returns the body of a message that was built, from its JSON.
    pub fn from_json(json: Vec<u8>) -> Self {
        Body::Built(Box::new(json))
    }
}

impl ContextMessage {
    /// Returns the calls in a stored message that name a file. `None` for a message that was built,
    /// and if calls were not requested when the session was loaded.
    pub fn file_calls<'s>(&self, session: &'s Session) -> Option<&'s [FileCall]> {
        match self.body {
            Body::Stored => session.file_calls(self.entry),
            Body::Built(_) => None,
        }
    }

    /// Returns the role of the message, without reading a stored one.
    pub fn role(&self, session: &Session) -> Role {
        match &self.body {
            Body::Built(json) => Role::from_member(Raw::from_checked(json).get("role")),
            Body::Stored => session.entry(self.entry).role,
        }
    }

    /// Calls `inspect` with the JSON object of the message; for a stored message, reads the entry's
    /// line.
    pub fn with_json<T>(
        &self,
        reader: &EntryReader,
        inspect: impl FnOnce(Raw) -> T,
    ) -> io::Result<T> {
        match &self.body {
            Body::Built(json) => Ok(inspect(Raw::from_checked(json))),
            Body::Stored => reader.with_message(self.entry, inspect),
        }
    }
}

/// Reads messages on up to `workers` threads. `read` is called on any thread, with the index of a
/// message in `messages` and its JSON. `take` is called on this thread with the results, in the
/// order of `messages`. `reader` makes a reader for each thread that needs one.
///
/// A result is dropped on the thread that made it, unless that thread has ended: if another one
/// freed it, both would wait for the allocator (see [`Spent`]).
///
/// # Errors
/// If a message cannot be read. `take` is not called for the messages of its batch, or
/// later ones.
pub fn read_in_order<'b, T: Send>(
    messages: &[&ContextMessage],
    workers: usize,
    reader: impl Fn() -> EntryReader<'b> + Sync,
    read: impl Fn(usize, Raw) -> T + Sync,
    mut take: impl FnMut(EntryIx, &mut T),
) -> io::Result<()> {
    let session = reader().session();
    let batches = split_batches(
        messages,
        BatchSize::default(),
        |message: &&ContextMessage| session.entry(message.entry).span.len,
    );
    // A reader remembers what it read last, so threads cannot share one.
    let readers = Pool::new(reader);
    let spent = Spent::new();
    let read_batch = |batch: Range<usize>| {
        // Frees the results of this thread's earlier batches, before new ones are allocated.
        spent.drop_own();
        readers.with(|reader| {
            let mut results = Vec::with_capacity(batch.len());
            for index in batch {
                let message = messages[index];
                let result = message.with_json(reader, |json| read(index, json))?;
                results.push((message.entry, result));
            }
            Ok::<_, io::Error>((thread::current().id(), results))
        })
    };
    in_order(batches, workers, read_batch, |batch| {
        let (maker, mut results) = batch?;
        for (entry, result) in &mut results {
            take(*entry, result);
        }
        spent.put(maker, results);
        Ok(())
    })
}

/// The context that an agent builds for a path: the messages for its model, and the settings in
/// effect.
#[derive(Clone, Debug)]
pub struct Context {
    /// The messages, in order.
    pub messages: Vec<ContextMessage>,
    /// The other members of the agent's result, in its order, as JSON (`thinkingLevel`, `model`,
    /// …).
    pub settings: Vec<(&'static str, Vec<u8>)>,
}

/// Returns the entry whose id is in the member `key` of another entry; `None` if the member is not
/// a string, or no entry has the id.
pub fn resolve_member(reader: &EntryReader, ix: EntryIx, key: &str) -> io::Result<Option<EntryIx>> {
    reader.with_entry(ix, |entry| {
        let id = entry.get_text(key)?;
        reader.session().find_entry(&id)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_stays_small() {
        assert!(
            size_of::<ContextMessage>() <= 16,
            "{}",
            size_of::<ContextMessage>()
        );
    }
}
