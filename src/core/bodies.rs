//! Bodies on demand: an entry's line, read back by its span.

use super::entry::{EntryIx, Kind, Span};
use super::json::Raw;
use super::session::Session;
use super::store::ReadAt;
use std::borrow::Cow;
use std::cell::RefCell;
use std::io;

/// Gives the line of an entry **as `migrate` would store it**, without its newline. Memory holds one
/// line at a time; ask in file order where you can.
pub trait Bodies {
    /// The line of an entry.
    ///
    /// # Errors
    /// Where reading fails, or the file is no longer the one that was loaded.
    fn line(&self, ix: EntryIx) -> io::Result<Cow<'_, [u8]>>;
}

/// Bodies from the file a session was loaded from.
pub struct FileBodies<'a> {
    session: &'a Session,
    source: &'a dyn ReadAt,
    /// Bytes read last and where they start: neighbouring lines come from one read.
    window: RefCell<(u64, Vec<u8>)>,
}

/// Bytes read at a time.
const WINDOW: u64 = 256 * 1024;

impl<'a> FileBodies<'a> {
    /// Of a session and what it was loaded from.
    pub fn new(session: &'a Session, source: &'a dyn ReadAt) -> Self {
        FileBodies { session, source, window: RefCell::default() }
    }

    /// The bytes of a line as they stand in the file.
    ///
    /// # Errors
    /// Where reading fails, or the file is shorter than it was.
    pub fn stored(&self, span: Span) -> io::Result<Vec<u8>> {
        let mut window = self.window.borrow_mut();
        let (start, bytes) = &mut *window;
        if span.start < *start || span.end() > *start + bytes.len() as u64 {
            if span.end() > self.source.len() {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file became shorter"));
            }
            // Who walks back will want the lines before this one, not those behind it.
            let walks_back = span.start < *start;
            *start = if walks_back { span.end().saturating_sub(WINDOW).min(span.start) } else { span.start };
            let end = (*start + WINDOW).min(self.source.len()).max(span.end());
            bytes.clear();
            bytes.resize((end - *start) as usize, 0);
            if let Err(error) = self.source.read_exact_at(bytes, *start) {
                bytes.clear();
                return Err(error);
            }
        }
        let from = (span.start - *start) as usize;
        Ok(bytes[from..from + span.len as usize].to_vec())
    }
}

impl Bodies for FileBodies<'_> {
    fn line(&self, ix: EntryIx) -> io::Result<Cow<'_, [u8]>> {
        let line = self.stored(self.session.entry(ix).span)?;
        match self.session.upgraded(ix, &line) {
            Ok(Cow::Owned(upgraded)) => Ok(Cow::Owned(upgraded)),
            Ok(Cow::Borrowed(_)) => Ok(Cow::Owned(line)),
            Err(_) => {
                Err(io::Error::new(io::ErrorKind::InvalidData, "the file is no longer the one that was read"))
            }
        }
    }
}

/// A message of a context: what a model is told, and the entry it comes from.
#[derive(Clone, Debug)]
pub struct Message {
    /// The entry.
    pub entry: EntryIx,
    /// Its JSON.
    pub body: Body,
}

/// The JSON of a message.
#[derive(Clone, Debug)]
pub enum Body {
    /// The `message` member of the entry's line, as it stands there.
    Stored,
    /// Made from the entry.
    Built(Vec<u8>),
}

impl Message {
    /// Calls `see` with the message's JSON object; reads the entry's line for a stored one.
    ///
    /// # Errors
    /// Where the line cannot be read.
    pub fn with<T>(&self, bodies: &dyn Bodies, see: impl FnOnce(Raw) -> T) -> io::Result<T> {
        match &self.body {
            Body::Built(json) => Ok(see(Raw::checked(json))),
            Body::Stored => {
                let line = bodies.line(self.entry)?;
                Ok(see(Raw::checked(line.trim_ascii()).get("message").unwrap_or(Raw::NULL)))
            }
        }
    }
}

/// What an agent builds from a path: the messages for its model, and the settings in force.
#[derive(Clone, Debug)]
pub struct Context {
    /// The messages, in order.
    pub messages: Vec<Message>,
    /// The other members of the agent's answer, in its order, as JSON (`thinkingLevel`, `model`, …).
    pub settings: Vec<(&'static str, Vec<u8>)>,
}

/// The kind of entry a line claims to be; for readers that hold only the line.
pub fn kind_of(line: Raw) -> Kind {
    line.get("type").and_then(Raw::text).map_or(Kind::Missing, |name| Kind::named(name.as_bytes()))
}
