//! Searches one file.

use super::envelope::Envelope;
use super::hit::{hit_at, nowhere};
use super::line_numbers::LineNumbers;
use super::pattern::Pattern;
use super::prefilter::{Positions, Verdict};
use super::trail::Turn;
use crate::load::{LoadError, Options, load};
use crate::session::entry::{EntryIx, Kind, LineNo, Role};
use crate::session::fields::{Field, Scope, visit};
use crate::session::period::Period;
use crate::session::read::header::{self, Preamble, Version};
use crate::session::read::line_chunks::{ChunkReader, LineChunk};
use crate::session::read::record::{self, Block, Content, Member, Record, scan_into};
use crate::session::search::{Hit, SnippetSize};
use crate::session::tree::active;
use crate::session::{Header, Session};
use memchr::{memchr, memrchr};
use pisess_json::text::Text;
use pisess_json::{KeyCache, Raw, Scanner};
use pisess_store::ReadAt;
use std::ops::{ControlFlow, Range};

/// What to search for, and where.
#[derive(Clone, Debug)]
pub struct Query {
    /// The pattern to match.
    pub pattern: Pattern,
    /// The fields of an entry to search.
    pub scope: Scope,
    /// Search only entries with one of these [`roles`]; all if empty.
    pub roles: Vec<String>,
    /// Search for entries that do not match.
    pub inverted: bool,
    /// Search only entries of this period.
    pub period: Period,
    /// Search only entries on the path to the leaf.
    pub active: bool,
    /// How much text to return with each match, its position and its line; without it, hits can only be counted.
    pub snippets: Option<SnippetSize>,
}

/// The role of a hit in the title of a session.
const TITLE: &str = "title";
/// The role that restricts a search to the tool calls of the model.
const TOOL_CALL: &str = "toolCall";

/// Returns the roles that a search can be restricted to: those of messages, the types of other entries, tool calls and
/// the title.
pub fn roles() -> impl Iterator<Item = &'static str> {
    let roles = Role::NAMED.iter().filter(|role| role.schema().is_stored).filter_map(|role| role.name());
    let is_type = |kind: &&Kind| !matches!(kind, Kind::Message | Kind::Custom);
    let types = Kind::NAMED.iter().filter(is_type).filter_map(|kind| kind.name());
    roles.chain([TOOL_CALL, TITLE]).chain(types)
}

/// An entry that matches, with its first match.
#[derive(Clone, Debug)]
pub struct Match {
    /// Its physical line.
    pub line: LineNo,
    /// Its id; empty if it has none.
    pub id: Text<'static>,
    /// The role of its message; for any other entry, its type.
    pub role: Text<'static>,
    /// Its timestamp, as stored.
    pub timestamp: Option<Text<'static>>,
    /// Where it matches; of an entry that does not match, the first text.
    pub hit: Hit,
    /// Where the entry continues the conversation, if it was written while the session was followed.
    pub turn: Option<Turn>,
}

impl Match {
    /// Returns a match in the entry on this line.
    fn new(entry: Envelope, line: LineNo, hit: Hit) -> Match {
        Match {
            line,
            id: entry.id.into_owned(),
            role: entry.role_name.into_owned(),
            timestamp: entry.timestamp.map(Text::into_owned),
            hit,
            turn: None,
        }
    }
}

/// The result of a search besides the hits.
#[derive(Clone, Debug)]
pub struct Searched {
    /// The session's header.
    pub header: Header,
    /// The number of lines that may match but are not JSON, and the first of them.
    pub unread: Option<(u32, LineNo)>,
    /// Where to continue when the file has grown.
    pub resume: Resume,
}

/// Where a search ended.
#[derive(Clone, Copy, Debug)]
pub struct Resume {
    /// The offset of what was appended since.
    pub end: u64,
    numbers: LineNumbers,
}

/// Searches a file: its title, then its entries from first to last; or only what was appended since an earlier search.
/// Calls `take` with each match, until it breaks.
pub fn search(
    source: &dyn ReadAt,
    query: &Query,
    resume: Option<Resume>,
    reader: &mut ChunkReader,
    take: &mut dyn FnMut(&Header, Match) -> ControlFlow<()>,
) -> Result<Searched, LoadError> {
    let preamble = header::read(source)?;
    let start = Resume { end: preamble.end, numbers: LineNumbers::after(&preamble) };
    let Resume { end: start, numbers } = resume.unwrap_or(start);
    let keys = record::keys();
    let mut search =
        Search { source, query, preamble, keys, numbers, session: None, active: Vec::new(), unread: None };
    if resume.is_none()
        && let Some(hit) = search.title()
        && take(&search.preamble.header, hit).is_break()
    {
        return Ok(search.done());
    }
    let flow = reader.read(source, start..source.len(), |stretch| match search.stretch(stretch, take) {
        Ok(ControlFlow::Continue(())) => ControlFlow::Continue(()),
        Ok(ControlFlow::Break(())) => ControlFlow::Break(Ok(())),
        Err(error) => ControlFlow::Break(Err(error)),
    })?;
    if let ControlFlow::Break(Err(error)) = flow {
        return Err(error);
    }
    Ok(search.done())
}

struct Search<'s> {
    source: &'s dyn ReadAt,
    query: &'s Query,
    preamble: Preamble,
    keys: KeyCache<Member>,
    numbers: LineNumbers,
    /// The session, loaded when the first hit needs it.
    session: Option<Session>,
    /// Which of its entries are on the path to the leaf.
    active: Vec<bool>,
    unread: Option<(u32, LineNo)>,
}

impl Search<'_> {
    fn done(self) -> Searched {
        let resume = Resume { end: self.source.len(), numbers: self.numbers };
        Searched { header: self.preamble.header, unread: self.unread, resume }
    }

    fn stretch(
        &mut self,
        stretch: LineChunk,
        take: &mut dyn FnMut(&Header, Match) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, LoadError> {
        let bytes = stretch.bytes;
        let mut blocks = Vec::new();
        let mut at = 0;
        // An entry that does not match can be on any line.
        let prefilter = self.query.pattern.prefilter().filter(|_| !self.query.inverted);
        let mut positions = prefilter.map(|prefilter| prefilter.positions(bytes));
        while let Some(start) = next_line(bytes, at, positions.as_mut()) {
            let (end, hit) = self.line(stretch, start, &mut blocks)?;
            at = end + 1;
            if let Some(hit) = hit
                && take(&self.preamble.header, hit).is_break()
            {
                return Ok(ControlFlow::Break(()));
            }
        }
        self.numbers.pass(stretch);
        Ok(ControlFlow::Continue(()))
    }

    /// Returns the title, if it matches: that of oh-my-pi's title line, else that of the header.
    fn title(&self) -> Option<Match> {
        let Preamble { title_slot, header, lines, .. } = &self.preamble;
        let (line, json) = match title_slot {
            Some(slot) => (LineNo(1), slot.trim_ascii()),
            None => (LineNo(*lines), &*header.bytes),
        };
        let json = Raw::checked(json);
        let text = |key: &str| json.get_text(key);
        let role_name = Text::from(TITLE);
        let timestamp = text("updatedAt").or_else(|| text("timestamp"));
        let envelope =
            Envelope { kind: Kind::Missing, role: Role::Missing, id: Text::default(), role_name, timestamp };
        // The title is not on a path.
        if self.query.active || !self.wants(&envelope) {
            return None;
        }
        let title = text("title")?;
        let place = match (self.query.pattern.find(title.as_bytes()), self.query.inverted) {
            (Some(place), false) => place,
            (None, true) => 0..0,
            _ => return None,
        };
        Some(Match::new(envelope, line, self.hit_at("title".to_owned(), &title, place)))
    }

    /// Searches the line from `start`. Returns where it ends, and the hit.
    fn line<'b>(
        &mut self,
        stretch: LineChunk<'b>,
        start: usize,
        blocks: &mut Vec<Block<'b>>,
    ) -> Result<(usize, Option<Match>), LoadError> {
        let rest = &stretch.bytes[start..];
        let mut scanner = Scanner::new(rest);
        let mut record = Record::default();
        let scanned = scan_into(&mut scanner, &mut self.keys, &mut record, blocks);
        if scanned.is_err() || !scanner.at_end() {
            let end = memchr(b'\n', rest).unwrap_or(rest.len());
            let is_last = stretch.start + ((start + end) as u64) >= self.source.len();
            if !is_last && !rest[..end].trim_ascii().is_empty() {
                let line = self.numbers.of(self.source, stretch, start)?;
                self.unread.get_or_insert((0, line)).0 += 1;
            }
            return Ok((start + end, None));
        }
        Ok((start + scanner.pos(), self.record(&record, blocks, stretch, start)?))
    }

    fn record(
        &mut self,
        record: &Record,
        blocks: &[Block],
        stretch: LineChunk,
        start: usize,
    ) -> Result<Option<Match>, LoadError> {
        let envelope = Envelope::of(record, self.preamble.version);
        let is_entry = record.is_object && !record.kind.is_some_and(|kind| kind.is("session"));
        if !is_entry || !self.wants(&envelope) {
            return Ok(None);
        }
        let counts = self.query.snippets.is_none() && !self.only_calls(&envelope);
        let found = if counts && self.is_in_text(record, &envelope, blocks) {
            Some(nowhere())
        } else {
            self.first_match(record, &envelope)
        };
        let found = if self.query.inverted { self.first_text(found, record, &envelope) } else { found };
        let Some(found) = found else { return Ok(None) };
        let line = if self.needs_line() { self.numbers.of(self.source, stretch, start)? } else { LineNo(0) };
        self.hit(line, envelope, found)
    }

    fn needs_line(&self) -> bool {
        self.query.snippets.is_some() || self.query.active
    }

    fn wants(&self, envelope: &Envelope) -> bool {
        let role = envelope.role_name.as_bytes();
        let is_wanted = |wanted: &String| {
            wanted.as_bytes() == role || wanted == TOOL_CALL && envelope.role == Role::Assistant
        };
        (self.query.roles.is_empty() || self.query.roles.iter().any(is_wanted))
            && (self.query.period == Period::default() || self.query.period.has(envelope.time_ms()))
    }

    /// Whether only the tool calls of an entry are searched.
    fn only_calls(&self, envelope: &Envelope) -> bool {
        let roles = &self.query.roles;
        envelope.role == Role::Assistant
            && !roles.is_empty()
            && roles.iter().all(|role| role.as_bytes() != envelope.role_name.as_bytes())
    }

    /// Whether the text of a message certainly matches. If hits are only counted, this saves visiting its
    /// fields.
    fn is_in_text(&self, record: &Record, envelope: &Envelope, blocks: &[Block]) -> bool {
        let (Some(prefilter), Some(message), Kind::Message) =
            (self.query.pattern.prefilter(), &record.message, envelope.kind)
        else {
            return false;
        };
        let whole = match message.content {
            Content::Text(text) => Some(text.bytes),
            _ => None,
        };
        let texts = blocks.iter().filter_map(|block| block.text?.raw_string());
        whole.into_iter().chain(texts).any(|text| prefilter.test(text) == Verdict::Match)
    }

    fn first_match(&self, record: &Record, envelope: &Envelope) -> Option<Hit> {
        let mut found = None;
        let pattern = &self.query.pattern;
        let only_calls = self.only_calls(envelope);
        let see = &mut |field: &Field| {
            if only_calls && !field.is_of_call() {
                return ControlFlow::Continue(());
            }
            let is_match = match pattern.prefilter().map(|prefilter| prefilter.test(field.raw())) {
                Some(Verdict::No) => false,
                Some(Verdict::Match) if self.query.snippets.is_none() => {
                    found = Some(nowhere());
                    true
                }
                _ => {
                    let text = field.text();
                    let place = pattern.find(text.as_bytes());
                    found = place.map(|place| self.hit_at(field.path(), &text, place));
                    found.is_some()
                }
            };
            if is_match { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        // The visitor breaks at the first match.
        let _ = visit(Raw::checked(record.bytes), envelope.kind, envelope.role, self.query.scope, see);
        found
    }

    /// Returns the first text of an entry that does not match, or nothing if it has a match, or none of the tool calls
    /// that are searched.
    fn first_text(&self, found: Option<Hit>, record: &Record, envelope: &Envelope) -> Option<Hit> {
        if found.is_some() {
            return None;
        }
        let only_calls = self.only_calls(envelope);
        let mut first = None;
        let see = &mut |field: &Field| {
            let text = field.text();
            if only_calls && !field.is_of_call() || text.is_empty() {
                return ControlFlow::Continue(());
            }
            first = Some(self.hit_at(field.path(), &text, 0..0));
            ControlFlow::Break(())
        };
        // The visitor breaks at the first text.
        let _ = visit(Raw::checked(record.bytes), envelope.kind, envelope.role, self.query.scope, see);
        first.or_else(|| (!only_calls).then(nowhere))
    }

    /// Returns the hit at a place of a text.
    fn hit_at(&self, field: String, text: &Text, place: Range<usize>) -> Hit {
        self.query.snippets.map_or_else(nowhere, |size| hit_at(field, text, place, size))
    }

    /// Returns the hit, unless only the path to the leaf is searched and the entry is on another branch.
    fn hit(&mut self, line: LineNo, envelope: Envelope, found: Hit) -> Result<Option<Match>, LoadError> {
        // Entries of version 1 have the ids that migration gives them.
        let is_numbered = self.query.snippets.is_some() && self.preamble.version == Version::One;
        if !self.query.active && !is_numbered {
            return Ok(Some(Match::new(envelope, line, found)));
        }
        let session = match self.session.take() {
            Some(session) => session,
            None => {
                let session = load(self.source, &Options::default())?;
                self.active = active(&session, session.leaf);
                session
            }
        };
        let session = self.session.insert(session);
        let is_wanted = |ix: &EntryIx| !self.query.active || self.active[ix.at()];
        let Some(ix) = session.entry_on(line).filter(is_wanted) else { return Ok(None) };
        let id = session.id(ix);
        Ok(Some(Match::new(Envelope { id, ..envelope }, line, found)))
    }
}

/// Returns the start of the next line that may match.
fn next_line(bytes: &[u8], from: usize, positions: Option<&mut Positions>) -> Option<usize> {
    let sign = match positions {
        Some(positions) => positions.next(from)?,
        None => from,
    };
    if sign >= bytes.len() {
        return None;
    }
    Some(memrchr(b'\n', &bytes[from..sign]).map_or(from, |newline| from + newline + 1))
}
