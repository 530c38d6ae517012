//! Searches one file.

use super::pattern::Pattern;
use super::trail::Turn;
use crate::load::{LoadError, Options, is_small, load, role_of};
use crate::session::entry::{Entry, EntryIx, Kind, LineNo, Role};
use crate::session::fields::{Field, Scope, visit};
use crate::session::period::Period;
use crate::session::read::header::{self, Preamble};
use crate::session::read::line_chunks::{LineChunk, newlines, ranges, read_chunks};
use crate::session::read::record::{self, Block, Content, Member, Record, Typed, scan_into};
use crate::session::search::{Hit, SnippetSize};
use crate::session::tree::active;
use crate::session::{Format, Header, Session};
use memchr::{memchr, memrchr};
use pisess_json::text::Text;
use pisess_json::time::parse_js_date;
use pisess_json::{KeyCache, Raw, Scanner};
use pisess_store::workers::{Pool, in_order};
use pisess_store::{PageBuffer, ReadAt};
use std::io;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicBool, Ordering};

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
    /// How much text to return with each match, its position and its line; without it, hits can
    /// only be counted.
    pub snippets: Option<SnippetSize>,
}

impl Query {
    /// Whether the number of the line of each match is needed.
    fn needs_lines(&self) -> bool {
        self.snippets.is_some() || self.active
    }
}

/// The role of a hit in the title of a session.
const TITLE: &str = "title";
/// The role that restricts a search to the tool calls of the model.
const TOOL_CALL: &str = "toolCall";

/// Returns the roles that a search can be restricted to: those of messages, the types of other
/// entries, tool calls and the title.
pub fn roles() -> impl Iterator<Item = &'static str> {
    let roles = Role::NAMED
        .iter()
        .filter(|role| role.schema().is_stored)
        .filter_map(|role| role.name());
    let is_type = |kind: &&Kind| !matches!(kind, Kind::Message | Kind::Custom);
    let types = Kind::NAMED
        .iter()
        .filter(is_type)
        .filter_map(|kind| kind.name());
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
    /// Where the entry continues the conversation, if it was written while the session was
    /// followed.
    pub turn: Option<Turn>,
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
    /// The number of lines before an offset. Lines are counted only up to those whose number is
    /// needed.
    lines: u32,
    counted: u64,
}

/// Searches a file: its title, then its entries from first to last; or only what was appended since
/// an earlier search. Calls `take` with each match, until it breaks. A large file is searched by
/// `workers` threads.
pub fn search(
    source: &dyn ReadAt,
    query: &Query,
    resume: Option<Resume>,
    workers: usize,
    buffer: &mut PageBuffer,
    take: &mut dyn FnMut(&Header, Match) -> ControlFlow<()>,
) -> Result<Searched, LoadError> {
    let preamble = header::read(source)?;
    let start = Resume {
        end: preamble.end,
        lines: preamble.lines,
        counted: preamble.end,
    };
    let at = resume.unwrap_or(start);
    let mut search = Search::new(source, query, &preamble, at);
    let title = if resume.is_none() {
        search.title()
    } else {
        None
    };
    let is_enough = title.is_some_and(|hit| take(&preamble.header, hit).is_break());
    let mut path = ActivePath::default();
    let mut take = |hit: Match| match path.filter(source, query, preamble.format, hit)? {
        Some(hit) => Ok(take(&preamble.header, hit)),
        None => Ok(ControlFlow::Continue(())),
    };
    if !is_enough && (workers <= 1 || is_small(source.len().saturating_sub(at.end))) {
        search.all(buffer, &mut take)?;
    } else if !is_enough {
        search.all_in_order(workers, &mut take)?;
    }
    let resume = Resume {
        end: source.len(),
        ..search.at
    };
    let unread = search.unread;
    Ok(Searched {
        header: preamble.header,
        unread,
        resume,
    })
}

/// Receives the matches that a search finds, until it breaks.
type Take<'t> = dyn FnMut(Match) -> Result<ControlFlow<()>, LoadError> + 't;

/// A search of lines of a file, or of one range of it.
struct Search<'s> {
    source: &'s dyn ReadAt,
    query: &'s Query,
    preamble: &'s Preamble,
    keys: KeyCache<Member>,
    at: Resume,
    /// Whether the number of a line was needed, so that all that follow are counted.
    is_counting: bool,
    unread: Option<(u32, LineNo)>,
}

/// What one range of a file holds. Lines are numbered from the first that begins in it.
struct SearchedRange {
    hits: Vec<Match>,
    unread: Option<(u32, LineNo)>,
    /// The offset of the first line that begins in it, and that after the last.
    bounds: (u64, u64),
    /// The number of these lines, if they were counted.
    lines: Option<u32>,
}

/// Why a search of ranges ended early.
enum Stopped {
    Enough,
    Failed(LoadError),
}

impl<'s> Search<'s> {
    fn new(source: &'s dyn ReadAt, query: &'s Query, preamble: &'s Preamble, at: Resume) -> Self {
        Search {
            source,
            query,
            preamble,
            keys: record::keys(),
            at,
            is_counting: at.counted > preamble.end,
            unread: None,
        }
    }

    /// Searches all lines from the first to the last.
    fn all(&mut self, buffer: &mut PageBuffer, take: &mut Take) -> Result<(), LoadError> {
        let range = self.at.end..self.source.len();
        let flow = read_chunks(buffer, self.source, range, |chunk| {
            match self.chunk(chunk, take) {
                Ok(ControlFlow::Continue(())) => ControlFlow::Continue(()),
                Ok(ControlFlow::Break(())) => ControlFlow::Break(Ok(())),
                Err(error) => ControlFlow::Break(Err(error)),
            }
        })?;
        flow.break_value().unwrap_or(Ok(()))
    }

    /// Does the same on several threads.
    fn all_in_order(&mut self, workers: usize, take: &mut Take) -> Result<(), LoadError> {
        let (source, query, preamble) = (self.source, self.query, self.preamble);
        let buffers = Pool::new(PageBuffer::default);
        // As long as nobody needs the number of a line, none is counted.
        let is_counting = AtomicBool::new(false);
        let search_range = |range: Range<u64>| {
            buffers
                .with(|buffer| search_range(source, query, preamble, range, &is_counting, buffer))
        };
        let ranges = ranges(source, self.at.end);
        let done = in_order(ranges, workers, search_range, |searched| {
            self.add_range(searched.map_err(Stopped::Failed)?, take)
        });
        match done {
            Ok(()) | Err(Stopped::Enough) => Ok(()),
            Err(Stopped::Failed(error)) => Err(error),
        }
    }

    /// Takes the matches of the next range, under the numbers that their lines have in the file.
    fn add_range(&mut self, range: SearchedRange, take: &mut Take) -> Result<(), Stopped> {
        let (start, end) = range.bounds;
        if range.lines.is_some() && self.at.counted < start {
            let before = lines_in(self.source, self.at.counted..start);
            self.at.lines += before.map_err(|error| Stopped::Failed(error.into()))?;
            self.at.counted = start;
        }
        let lines = self.at.lines;
        if let Some((count, first)) = range.unread {
            let first = LineNo(lines + first.0);
            self.unread.get_or_insert((0, first)).0 += count;
        }
        for mut hit in range.hits {
            if self.query.needs_lines() {
                hit.line.0 += lines;
            }
            if take(hit).map_err(Stopped::Failed)?.is_break() {
                return Err(Stopped::Enough);
            }
        }
        if let Some(own) = range.lines.filter(|_| start < end) {
            self.at.lines = lines + own;
            self.at.counted = end;
        }
        Ok(())
    }

    fn chunk(&mut self, chunk: LineChunk, take: &mut Take) -> Result<ControlFlow<()>, LoadError> {
        let bytes = chunk.bytes;
        let mut blocks = Vec::new();
        let mut at = 0;
        // An entry that does not match can be on any line.
        let prefilter = self
            .query
            .pattern
            .prefilter()
            .filter(|_| !self.query.inverted);
        let mut position = prefilter.map(|prefilter| prefilter.positions(bytes));
        while let Some(start) = next_line(bytes, at, position.as_mut()) {
            let (end, hit) = self.line(chunk, start, &mut blocks)?;
            at = end + 1;
            if let Some(hit) = hit
                && take(hit)?.is_break()
            {
                return Ok(ControlFlow::Break(()));
            }
        }
        // Once a number was needed, the rest is counted while it is in memory.
        let Resume { lines, counted, .. } = &mut self.at;
        if self.is_counting && *counted >= chunk.start {
            *lines += newlines(&bytes[(*counted - chunk.start) as usize..]);
            *counted = chunk.start + bytes.len() as u64;
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Returns the number of the line that starts at an offset of a chunk.
    fn number(&mut self, chunk: LineChunk, start: usize) -> io::Result<LineNo> {
        self.is_counting = true;
        let Resume { lines, counted, .. } = &mut self.at;
        if *counted < chunk.start {
            // The chunks before this one needed no number.
            *lines += lines_in(self.source, *counted..chunk.start)?;
            *counted = chunk.start;
        }
        *lines += newlines(&chunk.bytes[(*counted - chunk.start) as usize..start]);
        *counted = chunk.start + start as u64;
        Ok(LineNo(*lines + 1))
    }

    /// Returns the title, if it matches: that of oh-my-pi's title line, else that of the header.
    fn title(&self) -> Option<Match> {
        let Preamble {
            title_slot,
            header,
            lines,
            ..
        } = self.preamble;
        let (line, json) = match title_slot {
            Some(slot) => (LineNo(1), slot.trim_ascii()),
            None => (LineNo(*lines), &*header.bytes),
        };
        let json = Raw::checked(json);
        let text = |key: &str| json.get_text(key);
        let role = Text::from(TITLE);
        let timestamp = text("updatedAt")
            .or_else(|| text("timestamp"))
            .map(Text::into_owned);
        // The title is not on a path.
        if self.query.active || !self.wants(Role::Missing, &role, timestamp.as_ref()) {
            return None;
        }
        let title = text("title")?;
        let place = match (
            self.query.pattern.find(title.as_bytes()),
            self.query.inverted,
        ) {
            (Some(place), false) => place,
            (None, true) => 0..0,
            _ => return None,
        };
        let hit = self.hit_at("title".to_owned(), &title, place);
        Some(Match {
            line,
            id: Text::default(),
            role,
            timestamp,
            hit,
            turn: None,
        })
    }

    /// Searches the line from `start`. Returns where it ends, and the hit.
    fn line<'b>(
        &mut self,
        chunk: LineChunk<'b>,
        start: usize,
        blocks: &mut Vec<Block<'b>>,
    ) -> Result<(usize, Option<Match>), LoadError> {
        let rest = &chunk.bytes[start..];
        let mut scanner = Scanner::new(rest);
        let mut record = Record::default();
        let scanned = scan_into(&mut scanner, &mut self.keys, &mut record, blocks);
        if scanned.is_err() || !scanner.at_end() {
            let end = memchr(b'\n', rest).unwrap_or(rest.len());
            let is_last = chunk.start + ((start + end) as u64) >= self.source.len();
            if !is_last && !rest[..end].trim_ascii().is_empty() {
                let line = self.number(chunk, start)?;
                self.unread.get_or_insert((0, line)).0 += 1;
            }
            return Ok((start + end, None));
        }
        let hit = self.record(&record, blocks, chunk, start)?;
        Ok((start + scanner.pos(), hit))
    }

    fn record(
        &mut self,
        record: &Record,
        blocks: &[Block],
        chunk: LineChunk,
        start: usize,
    ) -> Result<Option<Match>, LoadError> {
        let kind = Kind::of_string(record.kind);
        let role = role_of(kind, record, self.preamble.format);
        let typed = Typed {
            kind,
            role,
            record,
            blocks,
        };
        let (role_name, timestamp) = (role_name(&typed), record.timestamp.map(|text| text.text()));
        let is_entry = record.is_object && !record.kind.is_some_and(|kind| kind.is("session"));
        if !is_entry || !self.wants(role, &role_name, timestamp.as_ref()) {
            return Ok(None);
        }
        let is_in_text = self.is_in_text(&typed);
        let found = if is_in_text {
            Some(nowhere()).filter(|_| !self.query.inverted)
        } else {
            self.hit(&typed)
        };
        let Some(hit) = found else { return Ok(None) };
        let line = if self.query.needs_lines() {
            self.number(chunk, start)?
        } else {
            LineNo(0)
        };
        let id = record
            .id
            .map(|text| text.text())
            .unwrap_or_default()
            .into_owned();
        Ok(Some(Match {
            line,
            id,
            role: role_name.into_owned(),
            timestamp: timestamp.map(Text::into_owned),
            hit,
            turn: None,
        }))
    }

    /// Whether entries with this role, its name and this timestamp are searched.
    fn wants(&self, role: Role, name: &Text, timestamp: Option<&Text>) -> bool {
        let is_wanted = |wanted: &String| {
            wanted.as_bytes() == name.as_bytes() || wanted == TOOL_CALL && role == Role::Assistant
        };
        let time = || {
            timestamp
                .and_then(|time| parse_js_date(time.as_bytes()))
                .unwrap_or(Entry::NO_TIME)
        };
        (self.query.roles.is_empty() || self.query.roles.iter().any(is_wanted))
            && (self.query.period == Period::default() || self.query.period.has(time()))
    }

    /// Whether only the tool calls of an entry are searched.
    fn only_calls(&self, entry: &Typed) -> bool {
        let roles = &self.query.roles;
        entry.role == Role::Assistant
            && !roles.is_empty()
            && !roles
                .iter()
                .any(|role| Some(&**role) == Role::Assistant.name())
    }

    /// Whether hits are only counted, and the text of a message certainly matches: this saves
    /// visiting its fields.
    fn is_in_text(&self, entry: &Typed) -> bool {
        let counts =
            self.query.snippets.is_none() && !self.only_calls(entry) && entry.kind == Kind::Message;
        let prefilter = self.query.pattern.prefilter().filter(|_| counts);
        let (Some(prefilter), Some(message)) = (prefilter, &entry.record.message) else {
            return false;
        };
        let whole = match message.content {
            Content::Text(text) => Some(text.bytes),
            _ => None,
        };
        let texts = entry
            .blocks
            .iter()
            .filter_map(|block| block.text?.raw_string());
        whole
            .into_iter()
            .chain(texts)
            .any(|text| prefilter.is_match(text))
    }

    /// Returns the first match of an entry; of one that is to have none, the first text.
    fn hit(&self, entry: &Typed) -> Option<Hit> {
        let (mut found, mut first) = (None, None);
        let Query {
            pattern,
            inverted,
            snippets,
            ..
        } = self.query;
        let only_calls = self.only_calls(entry);
        let see = &mut |field: &Field| {
            let (raw, prefilter) = (field.raw(), pattern.prefilter());
            if only_calls && !field.is_of_call() {
                return ControlFlow::Continue(());
            }
            if *inverted && first.is_none() {
                let text = field.text();
                first = (!text.is_empty()).then(|| self.hit_at(field.path(), &text, 0..0));
            }
            if snippets.is_none() && prefilter.is_some_and(|prefilter| prefilter.is_match(raw)) {
                found = Some(nowhere());
            } else if prefilter.is_none_or(|prefilter| prefilter.may_match(raw)) {
                let text = field.text();
                let place = pattern.find(text.as_bytes());
                found = place.map(|place| self.hit_at(field.path(), &text, place));
            }
            if found.is_some() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        // The visitor breaks at the first match.
        let _ = visit(
            Raw::checked(entry.record.bytes),
            entry.kind,
            entry.role,
            self.query.scope,
            see,
        );
        match (found, inverted) {
            (found, false) => found,
            (Some(_), true) => None,
            // None of the tool calls that are searched is not an entry without a match.
            (None, true) => first.or_else(|| (!only_calls).then(nowhere)),
        }
    }

    /// Returns the hit at a place of a text.
    fn hit_at(&self, field: String, text: &Text, place: Range<usize>) -> Hit {
        let Some(size) = self.query.snippets else {
            return nowhere();
        };
        // Lone surrogates become U+FFFD, which has as many bytes, so positions stay the same.
        let shown = text.to_string_lossy();
        let place = whole_characters(&shown, place);
        Hit::new(field, &shown, place, size)
    }
}

/// Searches the lines that begin in a range of a file. They are counted if the number of one is
/// needed, or that of one before.
fn search_range(
    source: &dyn ReadAt,
    query: &Query,
    preamble: &Preamble,
    range: Range<u64>,
    is_counting: &AtomicBool,
    buffer: &mut PageBuffer,
) -> Result<SearchedRange, LoadError> {
    let at = Resume {
        end: range.start,
        lines: 0,
        counted: range.start,
    };
    let mut search = Search {
        is_counting: is_counting.load(Ordering::Relaxed),
        ..Search::new(source, query, preamble, at)
    };
    let mut hits = Vec::new();
    let mut bounds = None;
    let flow = read_chunks(buffer, source, range, |chunk| {
        let end = chunk.start + chunk.bytes.len() as u64;
        match &mut bounds {
            Some((_, last)) => *last = end,
            None => {
                bounds = Some((chunk.start, end));
                search.at.counted = chunk.start;
            }
        }
        let searched = search.chunk(chunk, &mut |hit| {
            hits.push(hit);
            Ok(ControlFlow::Continue(()))
        });
        match searched {
            Ok(_) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    })?;
    if let ControlFlow::Break(error) = flow {
        return Err(error);
    }
    if search.is_counting {
        is_counting.store(true, Ordering::Relaxed);
    }
    Ok(SearchedRange {
        hits,
        unread: search.unread,
        bounds: bounds.unwrap_or_default(),
        lines: search.is_counting.then_some(search.at.lines),
    })
}

/// The path to the leaf, which is loaded when the first match needs it.
#[derive(Default)]
struct ActivePath {
    session: Option<Session>,
    /// Which of its entries are on the path.
    active: Vec<bool>,
}

impl ActivePath {
    /// Returns a match, unless only the path to the leaf is searched and its entry is on another
    /// branch.
    fn filter(
        &mut self,
        source: &dyn ReadAt,
        query: &Query,
        format: Format,
        found: Match,
    ) -> Result<Option<Match>, LoadError> {
        // Entries of version 1 have the ids that migration gives them.
        let is_numbered = query.snippets.is_some() && format == Format::V1;
        if !query.active && !is_numbered {
            return Ok(Some(found));
        }
        let session = match self.session.take() {
            Some(session) => session,
            None => {
                let session = load(source, &Options::default())?;
                self.active = active(&session, session.leaf);
                session
            }
        };
        let session = self.session.insert(session);
        let is_wanted = |ix: &EntryIx| !query.active || self.active[ix.at()];
        let entry = session.entry_on(found.line).filter(is_wanted);
        Ok(entry.map(|ix| Match {
            id: session.id(ix).into_owned(),
            ..found
        }))
    }
}

/// Returns a hit whose position is not requested.
fn nowhere() -> Hit {
    Hit::default()
}

/// Returns the range extended to whole characters; `(?-u)` and empty matches can split them.
fn whole_characters(text: &str, Range { mut start, mut end }: Range<usize>) -> Range<usize> {
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    while !text.is_char_boundary(end) {
        end += 1;
    }
    start..end
}

/// Returns the role of an entry's message; for any other entry, its type.
fn role_name<'a>(entry: &Typed<'a>) -> Text<'a> {
    let Record { kind, message, .. } = entry.record;
    let name = match entry.role {
        Role::Missing => *kind,
        Role::Other => message.and_then(|message| message.role),
        role => return role.name().map(Text::from).unwrap_or_default(),
    };
    name.map(|text| text.text()).unwrap_or_default()
}

/// Returns the number of lines that begin in a range of a file.
fn lines_in(source: &dyn ReadAt, range: Range<u64>) -> io::Result<u32> {
    let mut count = 0;
    let _: ControlFlow<()> = read_chunks(&mut PageBuffer::default(), source, range, |chunk| {
        count += newlines(chunk.bytes);
        ControlFlow::Continue(())
    })?;
    Ok(count)
}

/// Returns the start of the next line that may match.
fn next_line(
    bytes: &[u8],
    from: usize,
    position: Option<&mut impl FnMut(usize) -> Option<usize>>,
) -> Option<usize> {
    let sign = match position {
        Some(position) => position(from)?,
        None => from,
    };
    if sign >= bytes.len() {
        return None;
    }
    Some(memrchr(b'\n', &bytes[from..sign]).map_or(from, |newline| from + newline + 1))
}
