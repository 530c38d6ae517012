//! Entries on demand: the line of an entry, read back by its span.

use crate::session::Session;
use crate::session::entry::{EntryIx, Span};
use crate::session::file_calls::FileCall;
use crate::session::read::batches::{BatchSize, batches};
use crate::session::reference::Position;
use pisess_json::Raw;
use pisess_store::workers::{Pool, in_order};
use pisess_store::{PageBuffer, ReadAt, shorter};
use std::cell::RefCell;
use std::io;
use std::ops::Range;

/// Reads lines of entries **as `migrate` would store them**, without their newlines, from the file
/// a session was loaded from. Memory does not grow with the number of lines read; request lines in
/// file order where possible.
///
/// Neighbouring lines are read together. The length of each read depends on how much of the
/// previous one was requested, so little is read in vain: `tests/counts.rs` bounds it for lines in
/// order, backwards and shuffled.
pub struct EntryReader<'a> {
    session: &'a Session,
    source: &'a dyn ReadAt,
    /// In the order of their places, which do not overlap.
    replacements: &'a [Replacement<'a>],
    window: RefCell<Window>,
}

/// JSON that an [`EntryReader`] returns in place of a value of a line.
#[derive(Clone, Copy, Debug)]
pub struct Replacement<'a> {
    /// The place of the value in the file.
    pub span: Span,
    /// The JSON.
    pub json: &'a [u8],
}

/// The bytes read last from the file.
#[derive(Default)]
struct Window {
    start: u64,
    buffer: PageBuffer,
    /// The number of these bytes that were requested, including short gaps between requests.
    used: u64,
    /// The end of the previous request.
    last: u64,
}

impl Window {
    fn bytes(&self) -> &[u8] {
        self.buffer.bytes()
    }

    fn read(&mut self, source: &dyn ReadAt, start: u64, len: u64) -> io::Result<()> {
        self.start = start;
        let read = self
            .buffer
            .start(start, len as usize)
            .and_then(|bytes| source.read_exact_at(bytes, start));
        if read.is_err() {
            self.buffer.clear();
        }
        read
    }
}

/// The maximum number of bytes to read ahead.
const WINDOW: u64 = 256 * 1024;
/// The maximum read-ahead, as a multiple of the bytes requested from the previous read.
const AHEAD: u64 = 4;

/// The length of a line, in bytes, that does not stay in memory after it was seen: what was made of
/// it may be as long.
const LONGEST_KEPT: usize = 16 << 20;

impl<'a> EntryReader<'a> {
    /// Returns a reader of a session, given the file it was loaded from.
    pub fn new(session: &'a Session, source: &'a dyn ReadAt) -> Self {
        EntryReader {
            session,
            source,
            replacements: &[],
            window: RefCell::default(),
        }
    }

    /// Returns a reader that reads each line as if these values of it were replaced. The places of
    /// lines and messages stay those of the file.
    pub fn replacing(self, replacements: &'a [Replacement<'a>]) -> Self {
        EntryReader {
            replacements,
            ..self
        }
    }

    /// Returns the session whose entries these are.
    pub fn session(&self) -> &'a Session {
        self.session
    }

    /// Returns the line of an entry.
    ///
    /// # Errors
    /// If reading fails, or the file is no longer the one that was loaded.
    pub fn line(&self, ix: EntryIx) -> io::Result<Vec<u8>> {
        self.with_line(ix, <[u8]>::to_vec)
    }

    /// Calls `see` with the line of an entry, without copying it out of the window if it is stored
    /// so.
    pub fn with_line<T>(&self, ix: EntryIx, see: impl FnOnce(&[u8]) -> T) -> io::Result<T> {
        let seen = self.with_stored(self.session.entry(ix).span, |line| {
            self.session.migrated(ix, line).map(|line| see(&line))
        })?;
        let changed = "the file is no longer the one that was read";
        seen.map_err(|_| io::Error::new(io::ErrorKind::InvalidData, changed))
    }

    /// Calls `see` with the JSON object of an entry.
    pub fn with_entry<T>(&self, ix: EntryIx, see: impl FnOnce(Raw) -> T) -> io::Result<T> {
        self.with_line(ix, |line| see(Raw::checked(line.trim_ascii())))
    }

    /// Calls `see` with the `message` of an entry's line, or `null` if it has none.
    pub fn with_message<T>(&self, ix: EntryIx, see: impl FnOnce(Raw) -> T) -> io::Result<T> {
        if let Some(span) = self.session.message_span(ix)
            && !self.session.is_migrated(ix)
        {
            return self.with_stored(span, |message| see(Raw::checked(message)));
        }
        self.with_entry(ix, |entry| see(entry.get("message").unwrap_or(Raw::NULL)))
    }

    /// Returns the bytes of a line as they are in the file.
    ///
    /// # Errors
    /// If reading fails, or the file is shorter than it was.
    pub fn stored(&self, span: Span) -> io::Result<Vec<u8>> {
        self.with_stored(span, <[u8]>::to_vec)
    }

    /// Calls `see` with bytes of the file, without copying them out of the window.
    pub(crate) fn with_stored<T>(&self, span: Span, see: impl FnOnce(&[u8]) -> T) -> io::Result<T> {
        // Moved out, so that `see` can request another line meanwhile.
        let mut window = self.window.take();
        let filled = self.fill(&mut window, span);
        let seen = filled.map(|()| {
            let from = (span.start - window.start) as usize;
            let stored = &window.bytes()[from..from + span.len as usize];
            match self.replaced_in(span) {
                [] => see(stored),
                replaced => see(&with_replaced(stored, span, replaced)),
            }
        });
        if window.bytes().len() > LONGEST_KEPT {
            window.buffer.release(LONGEST_KEPT);
        }
        self.window.replace(window);
        seen
    }

    /// Returns the replacements of values in this part of the file.
    fn replaced_in(&self, span: Span) -> &'a [Replacement<'a>] {
        let from_start = self
            .replacements
            .partition_point(|replacement| replacement.span.start < span.start);
        let rest = &self.replacements[from_start..];
        let count = rest.partition_point(|replacement| replacement.span.end() <= span.end());
        &rest[..count]
    }

    /// Fills the window if it does not hold the bytes.
    fn fill(&self, window: &mut Window, span: Span) -> io::Result<()> {
        // Messages are requested without the rest of their lines, which counts as requested if it
        // is short.
        let gap = span.start.saturating_sub(window.last);
        window.used += if gap <= window.used * AHEAD { gap } else { 0 };
        window.last = span.end();
        let is_held =
            span.start >= window.start && span.end() <= window.start + window.bytes().len() as u64;
        if is_held {
            window.used += span.len;
            return Ok(());
        }
        if span.end() > self.source.len() {
            return Err(shorter());
        }
        let room = (window.used * AHEAD).min(WINDOW).max(span.len);
        // When walking backwards, the lines before this one are needed next, not those after it.
        let walks_back = span.start < window.start;
        let start = if walks_back {
            span.end().saturating_sub(room)
        } else {
            span.start
        };
        let end = if walks_back {
            span.end()
        } else {
            (span.start + room).min(self.source.len())
        };
        window.used = span.len;
        window.read(self.source, start, end - start)
    }
}

/// Returns bytes of the file, which have this place, with values replaced.
fn with_replaced(stored: &[u8], place: Span, replaced: &[Replacement]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut at = place.start;
    let part =
        |from: u64, to: u64| &stored[(from - place.start) as usize..(to - place.start) as usize];
    for replacement in replaced {
        bytes.extend_from_slice(part(at, replacement.span.start));
        bytes.extend_from_slice(replacement.json);
        at = replacement.span.end();
    }
    bytes.extend_from_slice(part(at, place.end()));
    bytes
}

/// A message of a context, and the entry it comes from.
#[derive(Clone, Debug)]
pub struct Message {
    /// The entry.
    pub entry: EntryIx,
    /// Its JSON.
    pub body: Body,
}

/// The location of the JSON of a message.
#[derive(Clone, Debug)]
pub enum Body {
    /// In the `message` member of the entry's line, as stored.
    Stored,
    /// Built from the entry. In a box, so that a list of messages, most of which are stored, takes
    /// half the memory.
    Built(Box<Vec<u8>>),
}

impl Body {
    /// Returns the body of a message that was built, given its JSON.
    pub fn built(json: Vec<u8>) -> Self {
        Body::Built(Box::new(json))
    }
}

impl Message {
    /// Returns the calls in a stored message that name a file, if they were requested.
    pub fn file_calls<'s>(&self, session: &'s Session) -> Option<&'s [FileCall]> {
        match self.body {
            Body::Stored => session.file_calls(self.entry),
            Body::Built(_) => None,
        }
    }

    /// Calls `see` with the JSON object of the message; for a stored message, reads the entry's
    /// line.
    pub fn with<T>(&self, reader: &EntryReader, see: impl FnOnce(Raw) -> T) -> io::Result<T> {
        match &self.body {
            Body::Built(json) => Ok(see(Raw::checked(json))),
            Body::Stored => reader.with_message(self.entry, see),
        }
    }
}

/// Reads messages on `workers` threads, which call `reader`, and passes the results to `take`, in
/// order.
pub fn read_in_order<'b, T: Send>(
    messages: &[&Message],
    workers: usize,
    reader: impl Fn() -> EntryReader<'b> + Sync,
    read: impl Fn(Raw) -> T + Sync,
    mut take: impl FnMut(EntryIx, T),
) -> io::Result<()> {
    let session = reader().session();
    let length = |message: &&Message| session.entry(message.entry).span.len;
    let readers = Pool::new(reader);
    let work = |batch: Range<usize>| {
        readers.with(|reader| {
            let one = |message: &&Message| Ok((message.entry, message.with(reader, &read)?));
            messages[batch]
                .iter()
                .map(one)
                .collect::<io::Result<Vec<_>>>()
        })
    };
    let batches = batches(messages, BatchSize::default(), length);
    in_order(batches, workers, work, |batch| {
        for (entry, read) in batch? {
            take(entry, read);
        }
        Ok(())
    })
}

/// The context that an agent builds for a path: the messages for its model, and the settings in
/// effect.
#[derive(Clone, Debug)]
pub struct Context {
    /// The messages, in order.
    pub messages: Vec<Message>,
    /// The other members of the agent's result, in its order, as JSON (`thinkingLevel`, `model`,
    /// …).
    pub settings: Vec<(&'static str, Vec<u8>)>,
}

/// Returns the entry that a member of an entry names.
pub fn named(reader: &EntryReader, ix: EntryIx, key: &str) -> io::Result<Position> {
    reader.with_entry(ix, |entry| {
        entry
            .get_text(key)
            .and_then(|id| reader.session().find(&id))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_stays_small() {
        assert!(size_of::<Message>() <= 16, "{}", size_of::<Message>());
    }
}
