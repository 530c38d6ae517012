//! Bodies on demand: an entry's line, read back by its span.

use super::entry::{EntryIx, Kind, Span};
use super::json::Raw;
use super::session::Session;
use super::store::{ReadAt, resize};
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

    /// Calls `see` with the line of an entry: for who only looks at it.
    ///
    /// # Errors
    /// As [`Bodies::line`].
    fn with_line(&self, ix: EntryIx, see: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        self.line(ix).map(|line| see(&line))
    }

    /// Calls `see` with the `message` of an entry's line, `null` where it has none.
    ///
    /// # Errors
    /// As [`Bodies::line`].
    fn with_message(&self, ix: EntryIx, see: &mut dyn FnMut(Raw)) -> io::Result<()> {
        message_of(self, ix, see)
    }
}

/// Bodies from the file a session was loaded from.
///
/// Neighbouring lines come from one read: as much is read ahead as the last read was of use, so what is
/// read stays in proportion to what is asked for, in whatever order.
pub struct FileBodies<'a> {
    session: &'a Session,
    source: &'a dyn ReadAt,
    window: RefCell<Window>,
}

/// Bytes of the file that were read last.
#[derive(Default)]
struct Window {
    start: u64,
    bytes: Vec<u8>,
    /// Bytes of it that were asked for.
    used: u64,
}

/// Bytes that are read ahead at most.
const WINDOW: u64 = 256 * 1024;
/// Bytes that are read ahead at most, as a multiple of those that were of use.
const AHEAD: u64 = 4;

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
        self.with_stored(span, <[u8]>::to_vec)
    }

    /// Calls `see` with bytes of the file. They stay in the window: nothing is copied.
    pub(in crate::core) fn with_stored<T>(&self, span: Span, see: impl FnOnce(&[u8]) -> T) -> io::Result<T> {
        // Taken out, so that `see` may ask for another line.
        let mut window = self.window.take();
        let filled = self.fill(&mut window, span);
        let seen = filled.map(|()| {
            let from = (span.start - window.start) as usize;
            see(&window.bytes[from..from + span.len as usize])
        });
        self.window.replace(window);
        seen
    }

    /// Reads on where the window does not hold the bytes.
    fn fill(&self, window: &mut Window, span: Span) -> io::Result<()> {
        let is_held = span.start >= window.start && span.end() <= window.start + window.bytes.len() as u64;
        if is_held {
            window.used += span.len;
            return Ok(());
        }
        if span.end() > self.source.len() {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file became shorter"));
        }
        let room = (window.used * AHEAD).min(WINDOW).max(span.len);
        // Who walks back will want the lines before this one, not those behind it.
        let walks_back = span.start < window.start;
        window.start = if walks_back { span.end().saturating_sub(room) } else { span.start };
        let end = if walks_back { span.end() } else { (span.start + room).min(self.source.len()) };
        window.used = span.len;
        let size = (end - window.start) as usize;
        let read = resize(&mut window.bytes, size)
            .and_then(|()| self.source.read_exact_at(&mut window.bytes, window.start));
        if read.is_err() {
            window.bytes.clear();
        }
        read
    }
}

impl Bodies for FileBodies<'_> {
    fn line(&self, ix: EntryIx) -> io::Result<Cow<'_, [u8]>> {
        let line = self.with_stored(self.session.entry(ix).span, |line| {
            self.session.upgraded(ix, line).map(Cow::into_owned)
        })?;
        line.map(Cow::Owned).map_err(|_| changed())
    }

    fn with_line(&self, ix: EntryIx, see: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        let seen = self.with_stored(self.session.entry(ix).span, |line| {
            self.session.upgraded(ix, line).map(|line| see(&line))
        })?;
        seen.map_err(|_| changed())
    }

    fn with_message(&self, ix: EntryIx, see: &mut dyn FnMut(Raw)) -> io::Result<()> {
        match self.session.message_span(ix).filter(|_| !self.session.is_upgraded(ix)) {
            Some(span) => self.with_stored(span, |message| see(Raw::checked(message))),
            None => message_of(self, ix, see),
        }
    }
}

fn changed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the file is no longer the one that was read")
}

fn message_of(bodies: &(impl Bodies + ?Sized), ix: EntryIx, see: &mut dyn FnMut(Raw)) -> io::Result<()> {
    bodies.with_line(ix, &mut |line| see(Raw::checked(line.trim_ascii()).get("message").unwrap_or(Raw::NULL)))
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
                let (mut see, mut seen) = (Some(see), None);
                bodies.with_message(self.entry, &mut |json| seen = see.take().map(|see| see(json)))?;
                seen.ok_or_else(|| io::Error::other("the message was not shown"))
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
