//! Searches one file.

use super::pattern::Pattern;
use super::tool::{CallSearch, ChunkLine, KnownCalls, ToolUse};
use super::trail::EntryContinuation;
use crate::agents::readable::Folders;
use crate::load::{LoadError, LoadOptions, has_failed, has_image, is_small, load, message_role};
use crate::session::entry::{Entry, Kind, LineNo, Role};
use crate::session::fields::{Field, FieldScope, visit_fields};
use crate::session::period::Period;
use crate::session::read::header::{self, Preamble};
use crate::session::read::line_chunks::{LineChunk, chunk_ranges, count_newlines, read_chunks};
use crate::session::read::record::{
    self, Block, Content, Member, ParsedEntry, Record, scan_record_into,
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
    /// Search only entries with one of these roles (see [`searchable_roles`]); all if empty.
    pub roles: Vec<String>,
    /// Search for entries that do not match.
    pub inverted: bool,
    /// Search only the calls and results of the tools with these names; everything if empty.
    pub tool_names: Vec<String>,
    /// Search only entries of this period.
    pub period: Period,
    /// Search only entries on the path to the leaf.
    pub only_active: bool,
    /// Whether each match says if its entry is on the path to the leaf.
    pub reports_active: bool,
    /// Search only entries that failed.
    pub only_failed: bool,
    /// Search only entries with an image.
    pub only_images: bool,
    /// Whether the caller selects entries by their lines. Then the title is not searched.
    pub only_entries: bool,
    /// How much text to return with each match, its position and its line; without it, hits can
    /// only be counted.
    pub snippets: Option<SnippetSize>,
    /// Whether the tool is returned with each match in a call or its result.
    pub tools: Option<ToolOptions>,
    /// What is returned of the text of each entry that matches, besides the first match.
    pub texts: TextOptions,
}

/// What is returned of the text of an entry that matches.
#[derive(Clone, Copy, Debug, Default)]
pub struct TextOptions {
    /// All the text that was searched.
    pub whole: bool,
    /// Every match.
    pub every_match: bool,
}

/// The options for the descriptions of tools.
#[derive(Clone, Debug, Default)]
pub struct ToolOptions {
    /// The user's home directory, written `~` in paths.
    pub home: Option<Text<'static>>,
}

impl Query {
    /// Whether the line number of each match is needed: to return it, or to find the entry in a
    /// loaded session.
    fn needs_lines(&self) -> bool {
        self.snippets.is_some() || self.only_active || self.reports_active || self.only_entries
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
    /// The tool that was called, or that printed the text, if requested.
    pub tool: Option<ToolUse>,
    /// Where the entry continues the conversation, if it was written while the session was
    /// followed.
    pub continuation: Option<EntryContinuation>,
    /// Whether the tool call, command or reply failed.
    pub has_failed: bool,
    /// Whether the entry is on the path to the leaf; `None` if that was not requested, or if it is
    /// in no tree, as the title.
    pub is_active: Option<bool>,
    /// The text of the entry, as far as it was requested.
    pub texts: MatchTexts,
}

/// The text of an entry that matches.
#[derive(Clone, Debug, Default)]
pub struct MatchTexts {
    /// All the text that was searched: fields on lines of their own.
    pub whole: Option<String>,
    /// Every match, in order.
    pub every_match: Vec<String>,
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

/// Where a search of a file begins: where an earlier one ended, or after the header.
#[derive(Clone, Copy, Debug)]
pub struct ResumePoint {
    /// The offset of the first line to search.
    pub offset: u64,
    /// The lines that were counted before.
    counted: CountedLines,
}

/// The number of lines before an offset of a file. Lines are counted only as far as the number of
/// one is needed, so the offset may be far before the line that is searched.
#[derive(Clone, Copy, Debug)]
struct CountedLines {
    line_count: u32,
    /// The offset up to which lines were counted.
    end: u64,
}

impl CountedLines {
    /// Counts the lines up to an offset of the file, and reads them for that.
    fn read_to(&mut self, source: &dyn ReadAt, end: u64) -> io::Result<()> {
        self.line_count += count_lines(source, self.end..end)?;
        self.end = end;
        Ok(())
    }

    /// Counts the lines in the bytes that follow those counted so far.
    fn add_bytes(&mut self, bytes: &[u8]) {
        self.line_count += count_newlines(bytes);
        self.end += bytes.len() as u64;
    }
}

/// Searches a file, and calls `on_match` with each match until it breaks. The title comes first,
/// then the entries from first to last.
///
/// With `resume`, where an earlier search ended, only what was appended since is searched. A large
/// file is searched by up to `workers` threads.
pub fn search_file(
    source: &dyn ReadAt,
    query: &Query,
    resume: Option<ResumePoint>,
    workers: usize,
    buffer: &mut PageBuffer,
    on_match: &mut dyn FnMut(&Header, Match) -> ControlFlow<()>,
) -> Result<SearchOutcome, LoadError> {
    let preamble = header::read_preamble(source)?;
    let after_header = ResumePoint {
        offset: preamble.end,
        counted: CountedLines {
            line_count: preamble.line_count,
            end: preamble.end,
        },
    };
    let start_point = resume.unwrap_or(after_header);
    let mut search = FileSearch::new(source, query, &preamble, start_point);

    let mut is_enough = false;
    if resume.is_none()
        && let Some(title) = search.find_in_title()
    {
        is_enough = on_match(&preamble.header, title).is_break();
    }

    if !is_enough {
        search.search_entries(workers, buffer, on_match)?;
    }

    let unread = search.unread;
    let resume = ResumePoint {
        offset: source.len(),
        counted: search.counted,
    };
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
    /// The offset at which the search begins.
    start: u64,
    /// The lines counted so far.
    counted: CountedLines,
    /// Whether the number of a line was needed, so that all that follow are counted.
    is_counting: bool,
    /// The number of lines that may match but are not JSON, and the first of them.
    unread: Option<(u32, LineNo)>,
}

/// The result of a search of one range of a file. Lines are numbered from the first that begins in
/// the range.
struct SearchedRange {
    matches: Vec<Match>,
    unread: Option<(u32, LineNo)>,
    /// The bytes of the lines that begin in it.
    bytes: Range<u64>,
    /// The number of these lines, if they were counted.
    line_count: Option<u32>,
}

/// Why a search of ranges ended early.
enum Stopped {
    /// The receiver of the matches wants no more.
    Enough,
    Failed(LoadError),
}

impl<'s> FileSearch<'s> {
    /// Prepares a search that begins at `start_point`. Nothing is read yet.
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
            start: start_point.offset,
            counted: start_point.counted,
            // An earlier search needed the number of a line.
            is_counting: start_point.counted.end > preamble.end,
            unread: None,
        }
    }

    /// Searches the entries, on several threads if the file is large. Calls `on_match` with each
    /// match that the query includes, until it breaks.
    fn search_entries(
        &mut self,
        workers: usize,
        buffer: &mut PageBuffer,
        on_match: &mut dyn FnMut(&Header, Match) -> ControlFlow<()>,
    ) -> Result<(), LoadError> {
        let source = self.source;
        let query = self.query;
        let preamble = self.preamble;
        let mut path = ActivePath::default();
        let mut on_any_match =
            |found: Match| match path.keep_on_path(source, query, preamble.format, found)? {
                Some(found) => Ok(on_match(&preamble.header, found)),
                None => Ok(ControlFlow::Continue(())),
            };
        if workers <= 1 || is_small(source.len().saturating_sub(self.start)) {
            self.search_lines(buffer, &mut on_any_match)
        } else {
            self.search_ranges(workers, &mut on_any_match)
        }
    }

    /// Searches all lines on this thread, from first to last, until `on_match` breaks.
    fn search_lines(
        &mut self,
        buffer: &mut PageBuffer,
        on_match: &mut MatchHandler,
    ) -> Result<(), LoadError> {
        let range = self.start..self.source.len();
        let flow = read_chunks(buffer, self.source, range, |chunk| {
            match self.search_chunk(chunk, on_match) {
                Ok(ControlFlow::Continue(())) => ControlFlow::Continue(()),
                Ok(ControlFlow::Break(())) => ControlFlow::Break(Ok(())),
                Err(error) => ControlFlow::Break(Err(error)),
            }
        })?;
        match flow {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(result) => result,
        }
    }

    /// Searches all lines on several threads, each of which searches one range at a time.
    /// `on_match` is called on this thread, in the same order as by `search_lines`.
    fn search_ranges(
        &mut self,
        workers: usize,
        on_match: &mut MatchHandler,
    ) -> Result<(), LoadError> {
        let source = self.source;
        let query = self.query;
        let preamble = self.preamble;
        let buffers = Pool::new(PageBuffer::default);
        // Lines are counted once a range has needed the number of one.
        let is_counting = AtomicBool::new(false);
        let outcome = in_order(
            chunk_ranges(source, self.start),
            workers,
            |range| {
                buffers.with(|buffer| {
                    search_range(source, query, preamble, range, &is_counting, buffer)
                })
            },
            |searched| self.report_range(searched.map_err(Stopped::Failed)?, on_match),
        );
        match outcome {
            Ok(()) | Err(Stopped::Enough) => Ok(()),
            Err(Stopped::Failed(error)) => Err(error),
        }
    }

    /// Calls `on_match` with the matches of the next range, under the numbers that their lines have
    /// in the file, and adds the lines that the range counted.
    fn report_range(
        &mut self,
        range: SearchedRange,
        on_match: &mut MatchHandler,
    ) -> Result<(), Stopped> {
        if range.line_count.is_some() && self.counted.end < range.bytes.start {
            // The ranges before this one needed no number, so their lines were not counted.
            self.counted
                .read_to(self.source, range.bytes.start)
                .map_err(|error| Stopped::Failed(error.into()))?;
        }

        let lines_before = self.counted.line_count;
        if let Some((count, first)) = range.unread {
            self.note_unread(count, LineNo(lines_before + first.0));
        }

        for mut found in range.matches {
            if self.query.needs_lines() {
                found.line.0 += lines_before;
            }
            if on_match(found).map_err(Stopped::Failed)?.is_break() {
                return Err(Stopped::Enough);
            }
        }

        if let Some(line_count) = range.line_count
            && !range.bytes.is_empty()
        {
            self.counted = CountedLines {
                line_count: lines_before + line_count,
                end: range.bytes.end,
            };
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

    /// Searches the lines of a chunk that may match, and calls `on_match` with each match. Breaks
    /// when `on_match` does.
    fn search_chunk(
        &mut self,
        chunk: LineChunk,
        on_match: &mut MatchHandler,
    ) -> Result<ControlFlow<()>, LoadError> {
        let bytes = chunk.bytes;
        // An entry that does not match can be on any line.
        let prefilter = if self.query.inverted {
            None
        } else {
            self.query.pattern.prefilter()
        };
        let mut next_position = prefilter.map(|prefilter| prefilter.candidate_positions(bytes));

        let mut state = ChunkState::default();
        let mut line_start = 0;
        while let Some(start) = next_candidate_line(bytes, line_start, next_position.as_mut()) {
            let searched = self.search_line(ChunkLine { chunk, start }, &mut state)?;
            line_start = searched.end + 1;
            if let Some(found) = searched.found
                && on_match(found)?.is_break()
            {
                return Ok(ControlFlow::Break(()));
            }
        }

        // Once a number was needed, the other lines are counted while they are in memory.
        if self.is_counting && self.counted.end >= chunk.start {
            let counted_len = (self.counted.end - chunk.start) as usize;
            self.counted.add_bytes(&bytes[counted_len..]);
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Counts the lines of the file before a line of a chunk, and returns the number of that line.
    /// From the first call on, all lines of the search are counted.
    fn count_lines_to(&mut self, line: ChunkLine) -> io::Result<LineNo> {
        let ChunkLine { chunk, start } = line;
        self.is_counting = true;
        if self.counted.end < chunk.start {
            // The chunks before this one needed no number, so their lines were not counted.
            self.counted.read_to(self.source, chunk.start)?;
        }
        let counted_len = (self.counted.end - chunk.start) as usize;
        self.counted.add_bytes(&chunk.bytes[counted_len..start]);
        Ok(LineNo(self.counted.line_count + 1))
    }

    /// Searches the title of the session: that of oh-my-pi's title line, else that of the header.
    /// Returns a match with the role `title`, on the line of the title.
    fn find_in_title(&self) -> Option<Match> {
        // The title is not on a path.
        if self.query.only_active || self.query.only_entries {
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
        let is_excluded =
            self.query.only_failed || self.query.only_images || !self.query.tool_names.is_empty();
        if is_excluded || !self.is_in_scope(Role::Missing, &role, timestamp.as_ref()) {
            return None;
        }

        let title = json.get_text("title")?;
        let range = match (
            self.query.pattern.find(title.as_bytes()),
            self.query.inverted,
        ) {
            (Some(matched), false) => matched,
            (None, true) => 0..0,
            (Some(_), true) | (None, false) => return None,
        };
        let hit = self.hit_at("title".to_owned(), &title, range);
        let mut texts = MatchTexts::default();
        self.add_field_text(&title, &mut texts);
        Some(Match {
            line,
            id: Text::default(),
            role,
            timestamp,
            hit,
            tool: None,
            continuation: None,
            has_failed: false,
            is_active: None,
            texts,
        })
    }

    /// Searches a line of a chunk. A line that is not JSON cannot be searched, and is counted as
    /// unread. `state` is updated by the line.
    fn search_line<'b>(
        &mut self,
        line: ChunkLine<'b>,
        state: &mut ChunkState<'b>,
    ) -> Result<SearchedLine, LoadError> {
        let ChunkLine { chunk, start } = line;
        let from_start = &chunk.bytes[start..];
        let mut scanner = Scanner::new(from_start);
        let mut record = Record::default();
        let scanned =
            scan_record_into(&mut scanner, &mut self.keys, &mut record, &mut state.blocks);
        if scanned.is_ok() && scanner.at_end() {
            if self.query.tools.is_some() {
                state.calls.add_calls(&state.blocks);
            }
            let found = self.search_record(&record, state, line)?;
            let end = start + scanner.pos();
            return Ok(SearchedLine { end, found });
        }

        // The last line of a file may still be being written, so it does not count.
        let end = start + memchr(b'\n', from_start).unwrap_or(from_start.len());
        let is_last = chunk.start + end as u64 >= self.source.len();
        if !is_last && !chunk.bytes[start..end].trim_ascii().is_empty() {
            let line_no = self.count_lines_to(line)?;
            self.note_unread(1, line_no);
        }
        Ok(SearchedLine { end, found: None })
    }

    /// Searches the entry that a record is; `line` is its line, and `state` has its blocks. Returns
    /// its match; in an inverted search, the entry if it does not match.
    fn search_record(
        &mut self,
        record: &Record,
        state: &ChunkState,
        line: ChunkLine,
    ) -> Result<Option<Match>, LoadError> {
        let is_header = record.kind.is_some_and(|kind| kind.is("session"));
        if !record.is_object || is_header {
            return Ok(None);
        }

        let kind = Kind::from_string(record.kind);
        let role = message_role(kind, record, self.preamble.format);
        let entry = ParsedEntry {
            kind,
            role,
            record,
            blocks: &state.blocks,
        };
        let role_name = role_name(&entry);
        let timestamp = record.timestamp.map(|text| text.text());
        if !self.is_in_scope(role, &role_name, timestamp.as_ref()) {
            return Ok(None);
        }
        if self.query.only_failed && !has_failed(&entry)
            || self.query.only_images && !has_image(&entry)
            || !self.is_of_wanted_tool(&entry)
        {
            return Ok(None);
        }

        let hit = if !self.is_certain_match(&entry) {
            self.find_in_fields(&entry)
        } else if self.query.inverted {
            None
        } else {
            Some(empty_hit())
        };
        let Some(hit) = hit else {
            return Ok(None);
        };

        let line_no = if self.query.needs_lines() {
            self.count_lines_to(line)?
        } else {
            LineNo(0)
        };
        let tool = match &self.query.tools {
            Some(options) => self.find_tool(&entry, &hit, options, &state.calls, line)?,
            None => None,
        };
        let id = record.id.map(|text| text.text()).unwrap_or_default();
        Ok(Some(Match {
            line: line_no,
            id: id.into_owned(),
            role: role_name.into_owned(),
            timestamp: timestamp.map(Text::into_owned),
            hit,
            tool,
            continuation: None,
            has_failed: has_failed(&entry),
            is_active: None,
            texts: self.collect_texts(&entry),
        }))
    }

    /// Returns the tool that printed what matches, or that a reply calls there. `line` is the line
    /// of the entry, and `calls` are those on it and on earlier lines of its chunk.
    fn find_tool(
        &mut self,
        entry: &ParsedEntry,
        hit: &Hit,
        options: &ToolOptions,
        calls: &KnownCalls,
        line: ChunkLine,
    ) -> io::Result<Option<ToolUse>> {
        let Some(message) = &entry.record.message else {
            return Ok(None);
        };
        let folders = Folders {
            cwd: self.preamble.header.cwd.as_ref(),
            home: options.home.as_ref(),
        };
        match entry.role {
            Role::Assistant => Ok(ToolUse::from_reply_field(&hit.field, entry.blocks, folders)),
            Role::ToolResult => {
                let mut search = CallSearch {
                    source: self.source,
                    keys: &mut self.keys,
                    folders,
                };
                search.find_tool(message, calls, line).map(Some)
            }
            Role::BashExecution | Role::PythonExecution => {
                Ok(Some(ToolUse::from_execution(message, folders)))
            }
            _ => Ok(None),
        }
    }

    /// Whether the query includes entries with this role, the name of the role or type, and this
    /// timestamp. The tool calls of the model are in its replies.
    fn is_in_scope(&self, role: Role, role_name: &Text, timestamp: Option<&Text>) -> bool {
        let is_wanted_role = self.query.roles.is_empty()
            || self.query.roles.iter().any(|wanted| {
                wanted.as_bytes() == role_name.as_bytes()
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

    /// Whether an entry is the result of a tool that the query names, or a reply that calls one.
    fn is_of_wanted_tool(&self, entry: &ParsedEntry) -> bool {
        if self.query.tool_names.is_empty() {
            return true;
        }
        let tool_name = match (entry.role, &entry.record.message) {
            (Role::Assistant, _) => {
                return entry.blocks.iter().any(|block| self.is_wanted_call(block));
            }
            (Role::ToolResult, Some(message)) => message.get(Member::ToolName),
            _ => None,
        };
        tool_name.is_some_and(|name| self.is_wanted_tool(name))
    }

    /// Whether a block is a call of a tool that the query names.
    fn is_wanted_call(&self, block: &Block) -> bool {
        block.is_call() && block.name.is_some_and(|name| self.is_wanted_tool(name))
    }

    fn is_wanted_tool(&self, name: Raw) -> bool {
        self.query.tool_names.iter().any(|wanted| name.is(wanted))
    }

    /// Returns which fields of an entry are searched.
    fn searched_fields(&self, entry: &ParsedEntry) -> SearchedFields {
        if entry.role != Role::Assistant {
            return SearchedFields::All;
        }
        if !self.query.tool_names.is_empty() {
            let calls = entry
                .blocks
                .iter()
                .filter(|block| self.is_wanted_call(block));
            return SearchedFields::OfSomeCalls(calls.map(|block| block.index).collect());
        }
        let roles = &self.query.roles;
        let has_role_of_replies = roles
            .iter()
            .any(|role| Some(&**role) == Role::Assistant.name());
        if roles.is_empty() || has_role_of_replies {
            SearchedFields::All
        } else {
            SearchedFields::OfCalls
        }
    }

    /// Whether the undecoded text of a message already shows that the entry matches, which saves a
    /// visit of its fields. Always false if snippets are returned: they need the decoded text.
    fn is_certain_match(&self, entry: &ParsedEntry) -> bool {
        if self.query.snippets.is_some()
            || entry.kind != Kind::Message
            || self.searched_fields(entry) != SearchedFields::All
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
    fn find_in_fields(&self, entry: &ParsedEntry) -> Option<Hit> {
        let mut fields = FieldSearch {
            search: self,
            searched: self.searched_fields(entry),
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
        if fields.first_text.is_none() && fields.searched == SearchedFields::All {
            return Some(empty_hit());
        }
        // An entry without any of the searched tool calls does not count as one without a match.
        fields.first_text
    }

    /// Returns the text of an entry that matches, as far as the query requests it.
    fn collect_texts(&self, entry: &ParsedEntry) -> MatchTexts {
        let mut texts = MatchTexts::default();
        let wanted = self.query.texts;
        if !wanted.whole && !wanted.every_match {
            return texts;
        }
        let searched = self.searched_fields(entry);
        // The visitor never breaks.
        let _ = visit_fields(
            Raw::from_checked(entry.record.bytes),
            entry.kind,
            entry.role,
            self.query.scope,
            &mut |field| {
                if searched.contains(field) {
                    self.add_field_text(&field.text(), &mut texts);
                }
                ControlFlow::Continue(())
            },
        );
        texts
    }

    /// Adds the text of a field to that of its entry, as far as the query requests it.
    fn add_field_text(&self, text: &Text, texts: &mut MatchTexts) {
        let shown = text.to_string_lossy();
        if self.query.texts.whole && !shown.is_empty() {
            let whole = texts.whole.get_or_insert_default();
            if !whole.is_empty() && !whole.ends_with('\n') {
                whole.push('\n');
            }
            whole.push_str(&shown);
        }
        if self.query.texts.every_match {
            for matched in self.query.pattern.find_all(text.as_bytes()) {
                let matched = extend_to_characters(&shown, matched);
                if !matched.is_empty() {
                    texts.every_match.push(shown[matched].to_owned());
                }
            }
        }
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
        let matched = self.query.pattern.find(text.as_bytes())?;
        Some(self.hit_at(field.path(), &text, matched))
    }

    /// Returns the hit at a range of the text of a field; an empty hit if no snippets are returned.
    /// `field` is the path of the field.
    fn hit_at(&self, field: String, text: &Text, matched: Range<usize>) -> Hit {
        let Some(size) = self.query.snippets else {
            return empty_hit();
        };
        // Lone surrogates become U+FFFD, which has as many bytes, so positions stay the same.
        let shown = text.to_string_lossy();
        let mut matched = extend_to_characters(&shown, matched);
        // A pattern that matches everywhere asks what failed, not where a text begins.
        if self.query.only_failed && matched.is_empty() {
            let start = find_failing_line(&shown);
            matched = start..start;
        }
        Hit::new(field, &shown, matched, size)
    }
}

/// The path of the name of the tool in a result.
const TOOL_NAME_PATH: &str = "message.toolName";

/// The words of a line that reports a failure, in lower case.
const FAILURE_WORDS: [&str; 4] = ["error", "failed", "panicked", "fatal"];

/// Returns the offset of the first line of a text that reports a failure; 0 if none does.
fn find_failing_line(text: &str) -> usize {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let lowercase = line.to_lowercase();
        if FAILURE_WORDS.iter().any(|word| lowercase.contains(word)) {
            return start;
        }
        start += line.len();
    }
    0
}

/// What the search of a chunk keeps from line to line.
#[derive(Default)]
struct ChunkState<'b> {
    /// The blocks of the message on the line that was read last.
    blocks: Vec<Block<'b>>,
    /// The calls of all lines read so far, if tools are returned with matches.
    calls: KnownCalls<'b>,
}

/// The result of a search of one line.
struct SearchedLine {
    /// The offset of the end of the line in its chunk.
    end: usize,
    found: Option<Match>,
}

/// Which fields of an entry are searched.
#[derive(Debug, PartialEq, Eq)]
enum SearchedFields {
    All,
    /// Those of its tool calls.
    OfCalls,
    /// Those of the tool calls in the blocks with these indexes.
    OfSomeCalls(Vec<u32>),
}

impl SearchedFields {
    fn contains(&self, field: &Field) -> bool {
        match self {
            SearchedFields::All => true,
            SearchedFields::OfCalls => field.is_of_call(),
            SearchedFields::OfSomeCalls(calls) => field
                .call_index()
                .is_some_and(|index| calls.contains(&index)),
        }
    }
}

/// A search of the fields of one entry.
struct FieldSearch<'a, 's> {
    search: &'a FileSearch<'s>,
    searched: SearchedFields,
    /// The first match.
    found: Option<Hit>,
    /// In an inverted search, the first text that is not empty.
    first_text: Option<Hit>,
}

impl FieldSearch<'_, '_> {
    /// Searches the next field, and stores the match or, in an inverted search, the first text.
    /// Breaks at a match.
    fn search_field(&mut self, field: &Field) -> ControlFlow<()> {
        if !self.searched.contains(field) {
            return ControlFlow::Continue(());
        }
        if self.search.query.inverted && self.first_text.is_none() {
            let text = field.text();
            if !text.is_empty() {
                self.first_text = Some(self.search.hit_at(field.path(), &text, 0..0));
            }
        }
        let Some(found) = self.search.find_in_field(field) else {
            return ControlFlow::Continue(());
        };
        // Of what failed, the text says more than the name of the tool.
        if self.search.query.only_failed && field.path() == TOOL_NAME_PATH {
            self.found = Some(found);
            return ControlFlow::Continue(());
        }
        self.found = Some(found);
        ControlFlow::Break(())
    }
}

/// Searches the lines that begin in a range of a file.
///
/// They are counted if the number of one of them is needed, or if `is_counting` is set: another
/// range needed a number. The first range that needs one sets `is_counting`.
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
        counted: CountedLines {
            line_count: 0,
            end: range.start,
        },
    };
    let mut search = FileSearch {
        is_counting: is_counting.load(Ordering::Relaxed),
        ..FileSearch::new(source, query, preamble, start_point)
    };
    let mut matches = Vec::new();
    let mut line_bytes: Option<Range<u64>> = None;
    let flow = read_chunks(buffer, source, range, |chunk| {
        let chunk_end = chunk.start + chunk.bytes.len() as u64;
        match &mut line_bytes {
            Some(line_bytes) => line_bytes.end = chunk_end,
            None => {
                // The first line that begins in the range may begin after the start of the range.
                line_bytes = Some(chunk.start..chunk_end);
                search.counted.end = chunk.start;
            }
        }
        let searched = search.search_chunk(chunk, &mut |found| {
            matches.push(found);
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
    let line_count = if search.is_counting {
        Some(search.counted.line_count)
    } else {
        None
    };
    Ok(SearchedRange {
        matches,
        unread: search.unread,
        bytes: line_bytes.unwrap_or_default(),
        line_count,
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
    /// Returns a match to report; `None` if only the path to the leaf is searched, and the entry of
    /// the match is not on that path.
    ///
    /// Loads the session for this when a match first needs it, and then gives each match the id
    /// that its entry has there, and whether it is on that path.
    fn keep_on_path(
        &mut self,
        source: &dyn ReadAt,
        query: &Query,
        format: Format,
        found: Match,
    ) -> Result<Option<Match>, LoadError> {
        // Entries of version 1 have the ids that migration gives them.
        let needs_id = query.snippets.is_some() && format == Format::V1;
        if !query.only_active && !query.reports_active && !needs_id {
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
            // Only entries of the tree are on a path, or get an id.
            let is_kept = !query.only_active && !needs_id;
            return Ok(is_kept.then_some(found));
        };
        let is_active = path.is_active[ix.index()];
        if query.only_active && !is_active {
            return Ok(None);
        }
        let mut kept = found;
        kept.is_active = Some(is_active);
        if query.only_active || needs_id {
            kept.id = path.session.id(ix).into_owned();
        }
        Ok(Some(kept))
    }
}

/// Returns a hit whose position is not requested.
fn empty_hit() -> Hit {
    Hit::default()
}

/// Extends a range of a text to whole characters. A match can begin or end within a character if
/// the pattern contains `(?-u)`, or if the match is empty.
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
fn role_name<'a>(entry: &ParsedEntry<'a>) -> Text<'a> {
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

/// Returns the offset of the first line that may match, from the line on that starts at
/// `line_start`; `None` if there is none in `bytes`.
///
/// `next_position` is a prefilter's function, which returns the next position at which a line may
/// match. Without it, every line may match.
fn next_candidate_line(
    bytes: &[u8],
    line_start: usize,
    next_position: Option<&mut impl FnMut(usize) -> Option<usize>>,
) -> Option<usize> {
    let position = match next_position {
        Some(next_position) => next_position(line_start)?,
        None => line_start,
    };
    if position >= bytes.len() {
        return None;
    }
    match memrchr(b'\n', &bytes[line_start..position]) {
        Some(newline) => Some(line_start + newline + 1),
        None => Some(line_start),
    }
}
