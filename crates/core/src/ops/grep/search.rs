//! Searches one file.

use super::pattern::Pattern;
use super::trail::EntryContinuation;
use crate::load::{LoadError, LoadOptions, is_small, load, role_of};
use crate::session::entry::{Entry, Kind, LineNo, Role};
use crate::session::fields::{Field, FieldScope, visit_fields};
use crate::session::period::Period;
use crate::session::read::header::{self, Preamble};
use crate::session::read::line_chunks::{LineChunk, chunk_ranges, count_newlines, read_chunks};
use crate::session::read::record::{
    self, Block, Content, Member, Record, TypedRecord, scan_record_into,
};
use crate::session::search::{Hit, SnippetSize};
use crate::session::tree::active_mask;
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
    pub scope: FieldScope,
    /// Search only entries with one of these [`roles`]; all if empty.
    pub roles: Vec<String>,
    /// Search for entries that do not match.
    pub inverted: bool,
    /// Search only entries of this period.
    pub period: Period,
    /// Search only entries on the path to the leaf.
    pub only_active: bool,
    /// How much text to return with each match, its position and its line; without it, hits can
    /// only be counted.
    pub snippets: Option<SnippetSize>,
}

impl Query {
    /// Whether the number of the line of each match is needed.
    fn needs_lines(&self) -> bool {
        self.snippets.is_some() || self.only_active
    }
}

/// The role of a hit in the title of a session.
const TITLE_ROLE: &str = "title";
/// The role that restricts a search to the tool calls of the model.
const TOOL_CALL_ROLE: &str = "toolCall";

/// Returns the roles that a search can be restricted to: those of messages, the types of other
/// entries, tool calls and the title.
pub fn searchable_roles() -> Vec<&'static str> {
    let mut names = Vec::new();
    for role in Role::NAMED {
        if role.schema().is_stored {
            names.extend(role.name());
        }
    }
    names.push(TOOL_CALL_ROLE);
    names.push(TITLE_ROLE);
    for kind in Kind::NAMED {
        if !matches!(kind, Kind::Message | Kind::Custom) {
            names.extend(kind.name());
        }
    }
    names
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
    pub continuation: Option<EntryContinuation>,
}

/// The result of a search besides the hits.
#[derive(Clone, Debug)]
pub struct SearchOutcome {
    /// The session's header.
    pub header: Header,
    /// The number of lines that may match but are not JSON, and the first of them.
    pub unread: Option<(u32, LineNo)>,
    /// Where to continue when the file has grown.
    pub resume: ResumePoint,
}

/// Where a search ended.
#[derive(Clone, Copy, Debug)]
pub struct ResumePoint {
    /// The offset of what was appended since.
    pub offset: u64,
    /// The number of lines before the offset `counted`. Lines are counted only as far as the number
    /// of one is needed.
    line_count: u32,
    /// The offset up to which lines were counted.
    counted_to: u64,
}

/// Searches a file: its title, then its entries from first to last; or only what was appended since
/// an earlier search. Calls `take` with each match, until it breaks. A large file is searched by
/// `workers` threads.
pub fn search_file(
    source: &dyn ReadAt,
    query: &Query,
    resume: Option<ResumePoint>,
    workers: usize,
    buffer: &mut PageBuffer,
    on_match: &mut dyn FnMut(&Header, Match) -> ControlFlow<()>,
) -> Result<SearchOutcome, LoadError> {
    let preamble = header::read_preamble(source)?;
    let start = ResumePoint {
        offset: preamble.end,
        line_count: preamble.line_count,
        counted_to: preamble.end,
    };
    let start_point = resume.unwrap_or(start);
    let mut search = FileSearch::new(source, query, &preamble, start_point);

    let mut is_enough = false;
    if resume.is_none()
        && let Some(title) = search.find_in_title()
    {
        is_enough = on_match(&preamble.header, title).is_break();
    }

    if !is_enough {
        let mut path = ActivePath::default();
        let mut take_if_active =
            |found: Match| match path.keep_on_path(source, query, preamble.format, found)? {
                Some(found) => Ok(on_match(&preamble.header, found)),
                None => Ok(ControlFlow::Continue(())),
            };
        if workers <= 1 || is_small(source.len().saturating_sub(start_point.offset)) {
            search.search_lines(buffer, &mut take_if_active)?;
        } else {
            search.search_ranges(workers, &mut take_if_active)?;
        }
    }

    let resume = ResumePoint {
        offset: source.len(),
        ..search.progress
    };
    let unread = search.unread;
    Ok(SearchOutcome {
        header: preamble.header,
        unread,
        resume,
    })
}

/// Receives the matches that a search finds, until it breaks.
type MatchHandler<'t> = dyn FnMut(Match) -> Result<ControlFlow<()>, LoadError> + 't;

/// A search of lines of a file, or of one range of it.
struct FileSearch<'s> {
    source: &'s dyn ReadAt,
    query: &'s Query,
    preamble: &'s Preamble,
    keys: KeyCache<Member>,
    /// Where the search began, and how far lines were counted.
    progress: ResumePoint,
    /// Whether the number of a line was needed, so that all that follow are counted.
    is_counting: bool,
    /// The number of lines that may match but are not JSON, and the first of them.
    unread: Option<(u32, LineNo)>,
}

/// What one range of a file holds. Lines are numbered from the first that begins in it.
struct SearchedRange {
    hits: Vec<Match>,
    unread: Option<(u32, LineNo)>,
    /// The bytes of the lines that begin in it.
    bytes: Range<u64>,
    /// The number of these lines, if they were counted.
    lines: Option<u32>,
}

/// Why a search of ranges ended early.
enum Stopped {
    /// The receiver of the matches wants no more.
    Enough,
    Failed(LoadError),
}

impl<'s> FileSearch<'s> {
    fn new(
        source: &'s dyn ReadAt,
        query: &'s Query,
        preamble: &'s Preamble,
        start_point: ResumePoint,
    ) -> Self {
        FileSearch {
            source,
            query,
            preamble,
            keys: record::new_key_cache(),
            progress: start_point,
            is_counting: start_point.counted_to > preamble.end,
            unread: None,
        }
    }

    /// Searches all lines, one after the other.
    fn search_lines(
        &mut self,
        buffer: &mut PageBuffer,
        take: &mut MatchHandler,
    ) -> Result<(), LoadError> {
        let range = self.progress.offset..self.source.len();
        let flow = read_chunks(buffer, self.source, range, |chunk| {
            match self.search_chunk(chunk, take) {
                Ok(ControlFlow::Continue(())) => ControlFlow::Continue(()),
                Ok(ControlFlow::Break(())) => ControlFlow::Break(Ok(())),
                Err(error) => ControlFlow::Break(Err(error)),
            }
        })?;
        flow.break_value().unwrap_or(Ok(()))
    }

    /// Searches all lines on several threads. Matches are taken in the same order as by
    /// `search_lines`.
    fn search_ranges(&mut self, workers: usize, take: &mut MatchHandler) -> Result<(), LoadError> {
        let source = self.source;
        let query = self.query;
        let preamble = self.preamble;
        let buffers = Pool::new(PageBuffer::default);
        // As long as nobody needs the number of a line, none is counted.
        let is_counting = AtomicBool::new(false);
        let done = in_order(
            chunk_ranges(source, self.progress.offset),
            workers,
            |range| {
                buffers.with(|buffer| {
                    search_range(source, query, preamble, range, &is_counting, buffer)
                })
            },
            |searched| self.take_range(searched.map_err(Stopped::Failed)?, take),
        );
        match done {
            Ok(()) | Err(Stopped::Enough) => Ok(()),
            Err(Stopped::Failed(error)) => Err(error),
        }
    }

    /// Takes the matches of the next range, under the numbers that their lines have in the file.
    fn take_range(&mut self, range: SearchedRange, take: &mut MatchHandler) -> Result<(), Stopped> {
        if range.lines.is_some() && self.progress.counted_to < range.bytes.start {
            // The ranges before this one needed no number.
            let skipped = count_lines(self.source, self.progress.counted_to..range.bytes.start);
            self.progress.line_count += skipped.map_err(|error| Stopped::Failed(error.into()))?;
            self.progress.counted_to = range.bytes.start;
        }

        let lines_before = self.progress.line_count;
        if let Some((count, first)) = range.unread {
            self.note_unread(count, LineNo(lines_before + first.0));
        }

        for mut hit in range.hits {
            if self.query.needs_lines() {
                hit.line.0 += lines_before;
            }
            if take(hit).map_err(Stopped::Failed)?.is_break() {
                return Err(Stopped::Enough);
            }
        }

        if let Some(lines) = range.lines
            && !range.bytes.is_empty()
        {
            self.progress.line_count = lines_before + lines;
            self.progress.counted_to = range.bytes.end;
        }
        Ok(())
    }

    /// Adds lines that may match but are not JSON; `first` is the first of them.
    fn note_unread(&mut self, count: u32, first: LineNo) {
        match &mut self.unread {
            Some((known, _)) => *known += count,
            None => self.unread = Some((count, first)),
        }
    }

    fn search_chunk(
        &mut self,
        chunk: LineChunk,
        take: &mut MatchHandler,
    ) -> Result<ControlFlow<()>, LoadError> {
        let bytes = chunk.bytes;
        // An entry that does not match can be on any line.
        let prefilter = if self.query.inverted {
            None
        } else {
            self.query.pattern.prefilter()
        };
        let mut next_position = prefilter.map(|prefilter| prefilter.candidate_positions(bytes));

        let mut blocks = Vec::new();
        let mut line_start = 0;
        while let Some(start) = next_candidate_line(bytes, line_start, next_position.as_mut()) {
            let (end, hit) = self.search_line(chunk, start, &mut blocks)?;
            line_start = end + 1;
            if let Some(hit) = hit
                && take(hit)?.is_break()
            {
                return Ok(ControlFlow::Break(()));
            }
        }

        // Once a number was needed, the rest is counted while it is in memory.
        if self.is_counting && self.progress.counted_to >= chunk.start {
            let counted = (self.progress.counted_to - chunk.start) as usize;
            self.progress.line_count += count_newlines(&bytes[counted..]);
            self.progress.counted_to = chunk.start + bytes.len() as u64;
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Counts lines up to the one that starts at an offset of a chunk, and returns its number.
    fn count_lines_to(&mut self, chunk: LineChunk, start: usize) -> io::Result<LineNo> {
        self.is_counting = true;
        if self.progress.counted_to < chunk.start {
            // The chunks before this one needed no number.
            self.progress.line_count +=
                count_lines(self.source, self.progress.counted_to..chunk.start)?;
            self.progress.counted_to = chunk.start;
        }
        let counted = (self.progress.counted_to - chunk.start) as usize;
        self.progress.line_count += count_newlines(&chunk.bytes[counted..start]);
        self.progress.counted_to = chunk.start + start as u64;
        Ok(LineNo(self.progress.line_count + 1))
    }

    /// Searches the title: that of oh-my-pi's title line, else that of the header.
    fn find_in_title(&self) -> Option<Match> {
        // The title is not on a path.
        if self.query.only_active {
            return None;
        }

        let (line, json) = match &self.preamble.title_slot {
            Some(slot) => (LineNo(1), slot.trim_ascii()),
            None => (
                LineNo(self.preamble.line_count),
                &*self.preamble.header.bytes,
            ),
        };
        let json = Raw::from_checked(json);
        let role = Text::from(TITLE_ROLE);
        let timestamp = json
            .get_text("updatedAt")
            .or_else(|| json.get_text("timestamp"))
            .map(Text::into_owned);
        if !self.is_in_scope(Role::Missing, &role, timestamp.as_ref()) {
            return None;
        }

        let title = json.get_text("title")?;
        let found = self.query.pattern.find(title.as_bytes());
        let range = match (found, self.query.inverted) {
            (Some(place), false) => place,
            (None, true) => 0..0,
            (Some(_), true) | (None, false) => return None,
        };
        let hit = self.hit_at("title".to_owned(), &title, range);
        Some(Match {
            line,
            id: Text::default(),
            role,
            timestamp,
            hit,
            continuation: None,
        })
    }

    /// Searches the line from `start`. Returns the offset of its end in the chunk, and its match.
    /// `blocks` is a buffer.
    fn search_line<'b>(
        &mut self,
        chunk: LineChunk<'b>,
        start: usize,
        blocks: &mut Vec<Block<'b>>,
    ) -> Result<(usize, Option<Match>), LoadError> {
        let rest = &chunk.bytes[start..];
        let mut scanner = Scanner::new(rest);
        let mut record = Record::default();
        let scanned = scan_record_into(&mut scanner, &mut self.keys, &mut record, blocks);
        if scanned.is_ok() && scanner.at_end() {
            let hit = self.search_record(&record, blocks, chunk, start)?;
            return Ok((start + scanner.pos(), hit));
        }

        // The line is not JSON. The last one may still be being written.
        let end = start + memchr(b'\n', rest).unwrap_or(rest.len());
        let is_last = chunk.start + end as u64 >= self.source.len();
        if !is_last && !chunk.bytes[start..end].trim_ascii().is_empty() {
            let line = self.count_lines_to(chunk, start)?;
            self.note_unread(1, line);
        }
        Ok((end, None))
    }

    /// Searches the entry in the record of the line from `start`.
    fn search_record(
        &mut self,
        record: &Record,
        blocks: &[Block],
        chunk: LineChunk,
        start: usize,
    ) -> Result<Option<Match>, LoadError> {
        let is_header = record.kind.is_some_and(|kind| kind.is("session"));
        if !record.is_object || is_header {
            return Ok(None);
        }

        let kind = Kind::of_string(record.kind);
        let role = role_of(kind, record, self.preamble.format);
        let entry = TypedRecord {
            kind,
            role,
            record,
            blocks,
        };
        let role_name = role_name(&entry);
        let timestamp = record.timestamp.map(|text| text.text());
        if !self.is_in_scope(role, &role_name, timestamp.as_ref()) {
            return Ok(None);
        }

        let found = if !self.is_certain_match(&entry) {
            self.find_in_fields(&entry)
        } else if self.query.inverted {
            None
        } else {
            Some(empty_hit())
        };
        let Some(hit) = found else {
            return Ok(None);
        };

        let line = if self.query.needs_lines() {
            self.count_lines_to(chunk, start)?
        } else {
            LineNo(0)
        };
        let id = record.id.map(|text| text.text()).unwrap_or_default();
        Ok(Some(Match {
            line,
            id: id.into_owned(),
            role: role_name.into_owned(),
            timestamp: timestamp.map(Text::into_owned),
            hit,
            continuation: None,
        }))
    }

    /// Whether entries with this role, its name and this timestamp are searched.
    fn is_in_scope(&self, role: Role, name: &Text, timestamp: Option<&Text>) -> bool {
        let is_wanted_role = self.query.roles.is_empty()
            || self.query.roles.iter().any(|wanted| {
                wanted.as_bytes() == name.as_bytes()
                    || wanted == TOOL_CALL_ROLE && role == Role::Assistant
            });
        if !is_wanted_role {
            return false;
        }

        // Without a period, no timestamp has to be parsed.
        if self.query.period == Period::default() {
            return true;
        }
        let time_ms = timestamp.and_then(|time| parse_js_date(time.as_bytes()));
        self.query
            .period
            .contains(time_ms.unwrap_or(Entry::NO_TIME))
    }

    /// Whether only the tool calls of an entry are searched.
    fn searches_only_calls(&self, entry: &TypedRecord) -> bool {
        let roles = &self.query.roles;
        entry.role == Role::Assistant
            && !roles.is_empty()
            && !roles
                .iter()
                .any(|role| Some(&**role) == Role::Assistant.name())
    }

    /// Whether hits are only counted, and the undecoded text of a message already shows that it
    /// matches. This saves visiting its fields.
    fn is_certain_match(&self, entry: &TypedRecord) -> bool {
        if self.query.snippets.is_some()
            || entry.kind != Kind::Message
            || self.searches_only_calls(entry)
        {
            return false;
        }
        let Some(prefilter) = self.query.pattern.prefilter() else {
            return false;
        };
        let Some(message) = &entry.record.message else {
            return false;
        };

        if let Content::Text(text) = message.content
            && prefilter.must_match(text.bytes)
        {
            return true;
        }
        for block in entry.blocks {
            let text = block.text.and_then(|text| text.raw_string());
            if text.is_some_and(|text| prefilter.must_match(text)) {
                return true;
            }
        }
        false
    }

    /// Searches the fields of an entry. Returns its first match; in an inverted search, the first
    /// text of an entry without a match.
    fn find_in_fields(&self, entry: &TypedRecord) -> Option<Hit> {
        let mut fields = FieldSearch {
            search: self,
            only_calls: self.searches_only_calls(entry),
            found: None,
            first_text: None,
        };
        // The visitor breaks at the first match.
        let _ = visit_fields(
            Raw::from_checked(entry.record.bytes),
            entry.kind,
            entry.role,
            self.query.scope,
            &mut |field| fields.search_field(field),
        );

        if !self.query.inverted {
            return fields.found;
        }
        if fields.found.is_some() {
            return None;
        }
        if fields.first_text.is_none() && !fields.only_calls {
            return Some(empty_hit());
        }
        // An entry without any of the searched tool calls does not count as one without a match.
        fields.first_text
    }

    /// Returns the first match in a field. The text is decoded only if the pattern may match.
    fn find_in_field(&self, field: &Field) -> Option<Hit> {
        let raw = field.raw();
        if let Some(prefilter) = self.query.pattern.prefilter() {
            if self.query.snippets.is_none() && prefilter.must_match(raw) {
                return Some(empty_hit());
            }
            if !prefilter.may_match(raw) {
                return None;
            }
        }
        let text = field.text();
        let place = self.query.pattern.find(text.as_bytes())?;
        Some(self.hit_at(field.path(), &text, place))
    }

    /// Returns the hit at a place of a text.
    fn hit_at(&self, field: String, text: &Text, place: Range<usize>) -> Hit {
        let Some(size) = self.query.snippets else {
            return empty_hit();
        };
        // Lone surrogates become U+FFFD, which has as many bytes, so positions stay the same.
        let shown = text.to_string_lossy();
        let place = extend_to_characters(&shown, place);
        Hit::new(field, &shown, place, size)
    }
}

/// A search of the fields of one entry.
struct FieldSearch<'a, 's> {
    search: &'a FileSearch<'s>,
    /// Whether only tool calls are searched.
    only_calls: bool,
    /// The first match.
    found: Option<Hit>,
    /// In an inverted search, the first text that is not empty.
    first_text: Option<Hit>,
}

impl FieldSearch<'_, '_> {
    /// Searches the next field. Breaks at a match.
    fn search_field(&mut self, field: &Field) -> ControlFlow<()> {
        if self.only_calls && !field.is_of_call() {
            return ControlFlow::Continue(());
        }
        if self.search.query.inverted && self.first_text.is_none() {
            let text = field.text();
            if !text.is_empty() {
                self.first_text = Some(self.search.hit_at(field.path(), &text, 0..0));
            }
        }
        self.found = self.search.find_in_field(field);
        if self.found.is_some() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

/// Searches the lines that begin in a range of a file. Lines are counted if the number of one of
/// them is needed, or if `is_counting` was set by a range that needed one before.
fn search_range(
    source: &dyn ReadAt,
    query: &Query,
    preamble: &Preamble,
    range: Range<u64>,
    is_counting: &AtomicBool,
    buffer: &mut PageBuffer,
) -> Result<SearchedRange, LoadError> {
    let start_point = ResumePoint {
        offset: range.start,
        line_count: 0,
        counted_to: range.start,
    };
    let mut search = FileSearch {
        is_counting: is_counting.load(Ordering::Relaxed),
        ..FileSearch::new(source, query, preamble, start_point)
    };
    let mut hits = Vec::new();
    let mut bytes: Option<Range<u64>> = None;
    let flow = read_chunks(buffer, source, range, |chunk| {
        let end = chunk.start + chunk.bytes.len() as u64;
        match &mut bytes {
            Some(bytes) => bytes.end = end,
            None => {
                bytes = Some(chunk.start..end);
                search.progress.counted_to = chunk.start;
            }
        }
        let searched = search.search_chunk(chunk, &mut |hit| {
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
        bytes: bytes.unwrap_or_default(),
        lines: search.is_counting.then_some(search.progress.line_count),
    })
}

/// The session of a search for matches on the path to the leaf, loaded when the first match needs
/// it.
#[derive(Default)]
struct ActivePath {
    loaded: Option<LoadedPath>,
}

struct LoadedPath {
    session: Session,
    /// By entry: whether it is on the path to the leaf.
    is_active: Vec<bool>,
}

impl ActivePath {
    /// Returns a match, unless only the path to the leaf is searched and its entry is on another
    /// branch.
    fn keep_on_path(
        &mut self,
        source: &dyn ReadAt,
        query: &Query,
        format: Format,
        found: Match,
    ) -> Result<Option<Match>, LoadError> {
        // Entries of version 1 have the ids that migration gives them.
        let needs_id = query.snippets.is_some() && format == Format::V1;
        if !query.only_active && !needs_id {
            return Ok(Some(found));
        }

        let path = match &mut self.loaded {
            Some(path) => path,
            None => {
                let session = load(source, &LoadOptions::default())?;
                let is_active = active_mask(&session, session.leaf);
                self.loaded.insert(LoadedPath { session, is_active })
            }
        };
        let Some(ix) = path.session.entry_on_line(found.line) else {
            return Ok(None);
        };
        if query.only_active && !path.is_active[ix.index()] {
            return Ok(None);
        }
        let id = path.session.id(ix).into_owned();
        Ok(Some(Match { id, ..found }))
    }
}

/// Returns a hit whose position is not requested.
fn empty_hit() -> Hit {
    Hit::default()
}

/// Returns the range extended to whole characters; `(?-u)` and empty matches can split them.
fn extend_to_characters(text: &str, range: Range<usize>) -> Range<usize> {
    let mut start = range.start;
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    let mut end = range.end;
    while !text.is_char_boundary(end) {
        end += 1;
    }
    start..end
}

/// Returns the role of an entry's message; for any other entry, its type.
fn role_name<'a>(entry: &TypedRecord<'a>) -> Text<'a> {
    let Record { kind, message, .. } = entry.record;
    let name = match entry.role {
        Role::Missing => *kind,
        Role::Other => message.and_then(|message| message.role),
        role => return role.name().map(Text::from).unwrap_or_default(),
    };
    name.map(|text| text.text()).unwrap_or_default()
}

/// Returns the number of lines that begin in a range of a file.
fn count_lines(source: &dyn ReadAt, range: Range<u64>) -> io::Result<u32> {
    let mut count = 0;
    let _: ControlFlow<()> = read_chunks(&mut PageBuffer::default(), source, range, |chunk| {
        count += count_newlines(chunk.bytes);
        ControlFlow::Continue(())
    })?;
    Ok(count)
}

/// Returns the offset of the next line, at or after the line that starts at `from`, that may match.
/// `next_position` is a prefilter's function; without one, every line may match.
fn next_candidate_line(
    bytes: &[u8],
    from: usize,
    next_position: Option<&mut impl FnMut(usize) -> Option<usize>>,
) -> Option<usize> {
    let position = match next_position {
        Some(next_position) => next_position(from)?,
        None => from,
    };
    if position >= bytes.len() {
        return None;
    }
    match memrchr(b'\n', &bytes[from..position]) {
        Some(newline) => Some(from + newline + 1),
        None => Some(from),
    }
}
