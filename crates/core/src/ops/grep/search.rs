//! Searches the lines of one file, on one or several threads. `entry_search` searches each line
//! that may match.

mod streamed;

use super::active_path::ActivePath;
use super::call_events::CallEvents;
use super::line_counter::{CountedLines, LineCounter};
use super::query::{Match, Query};
use super::tool::{ChunkLine, KnownCalls};
use crate::load::{LoadError, is_small};
use crate::session::Header;
use crate::session::defect::DamagedLines;
use crate::session::prefilter::{Candidates, Prefilter};
use crate::session::read::header::{self, Preamble};
use crate::session::read::line_chunks::{LineChunk, chunk_ranges, read_chunks};
use crate::session::read::record::{self, Block, Member, Record, scan_record_into};
use memchr::{memchr, memrchr};
use pisess_json::{KeyCache, Scanner};
use pisess_store::workers::{Pool, in_order};
use pisess_store::{PageBuffer, ReadAt};
use std::io;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicBool, Ordering};

/// The result of a search, besides the matches.
#[derive(Clone, Debug)]
pub struct SearchOutcome {
    /// The session's header.
    pub header: Header,
    /// The lines that may match but cannot be read, because they are not JSON; `None` if there are
    /// none.
    pub unread: Option<DamagedLines>,
    /// The point from which a later search continues when the file has grown.
    pub resume: ResumePoint,
}

/// The point at which a search of a file begins: after the header, or where an earlier search
/// ended.
#[derive(Clone, Copy, Debug)]
pub struct ResumePoint {
    /// The offset of the first line to search.
    pub offset: u64,
    /// The lines that an earlier search counted.
    counted: CountedLines,
}

/// Searches a file, and calls `on_match` with each match until `on_match` breaks. The title comes
/// first, then the entries in file order.
///
/// `resume` is the end of an earlier search of a file that has grown since: only the lines from
/// there on are searched. A large file is searched by up to `workers` threads.
pub fn search_file(
    source: &dyn ReadAt,
    query: &Query,
    resume: Option<ResumePoint>,
    workers: usize,
    buffer: &mut PageBuffer,
    on_match: &mut dyn FnMut(&Header, Match) -> ControlFlow<()>,
) -> Result<SearchOutcome, LoadError> {
    if resume.is_none()
        && query.needs_only_matches()
        && let Some(outcome) = streamed::search_streamed(source, query, on_match)?
    {
        return Ok(outcome);
    }
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
    // The earlier search before `resume` has already searched the title.
    if resume.is_none()
        && let Some(title) = search.find_in_title()
    {
        is_enough = on_match(&preamble.header, title).is_break();
    }

    if !is_enough {
        search.search_entries(workers, buffer, on_match)?;
    }

    let unread = search.unread;
    let end_point = ResumePoint {
        offset: source.len(),
        counted: search.lines.counted,
    };
    Ok(SearchOutcome {
        header: preamble.header,
        unread,
        resume: end_point,
    })
}

/// The function that a search calls with each match, until the function breaks or fails.
type MatchHandler<'t> = dyn FnMut(Match) -> Result<ControlFlow<()>, LoadError> + 't;

/// A search of the lines of a file, or of one range of a file.
pub(super) struct FileSearch<'s> {
    pub(super) source: &'s dyn ReadAt,
    pub(super) query: &'s Query,
    pub(super) preamble: &'s Preamble,
    pub(super) keys: KeyCache<Member>,
    /// The offset at which the search begins.
    start: u64,
    pub(super) lines: LineCounter,
    /// The lines found so far that may match but are not JSON.
    unread: Option<DamagedLines>,
    /// The results of the matching calls of a chunk, with the calls between them; `None` before the
    /// first such call.
    pub(super) call_events: Option<CallEvents>,
}

/// The result of a search of one range of a file. Lines are numbered from 1 at the first line that
/// begins in the range.
struct SearchedRange {
    matches: Vec<Match>,
    unread: Option<DamagedLines>,
    /// The lines that begin in the range. `None` if they were not counted, or if there are none:
    /// the range is then within one long line.
    counted: Option<LinesOfRange>,
}

impl SearchedRange {
    /// Numbers the lines from the start of the file, given the number of lines before the range.
    fn renumber(&mut self, lines_before: u32) {
        if let Some(unread) = &mut self.unread {
            unread.first.0 += lines_before;
        }
        for found in &mut self.matches {
            // A match has the number 0 if the query needs no numbers.
            if found.line.0 > 0 {
                found.line.0 += lines_before;
            }
        }
    }
}

/// The lines that begin in a range of a file.
struct LinesOfRange {
    /// Their bytes. The first line may begin after the start of the range, and the last may end
    /// after its end.
    bytes: Range<u64>,
    count: u32,
}

/// The reason why a search of ranges ended early.
enum Stopped {
    /// `on_match` has broken: no more matches are wanted.
    Enough,
    Failed(LoadError),
}

impl From<LoadError> for Stopped {
    fn from(error: LoadError) -> Stopped {
        Stopped::Failed(error)
    }
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
            lines: LineCounter {
                counted: start_point.counted,
                // If lines after the header were counted, the earlier search needed the number of
                // a line.
                is_counting: start_point.counted.end > preamble.end,
            },
            unread: None,
            call_events: None,
        }
    }

    /// Searches the entries, on several threads if the file is large. Calls `on_match` with each
    /// match that the query includes, until `on_match` breaks.
    fn search_entries(
        &mut self,
        workers: usize,
        buffer: &mut PageBuffer,
        on_match: &mut dyn FnMut(&Header, Match) -> ControlFlow<()>,
    ) -> Result<(), LoadError> {
        // Copied out of `self`, so that the closure does not borrow it.
        let source = self.source;
        let query = self.query;
        let preamble = self.preamble;
        let mut path = ActivePath::default();
        let mut complete_and_report = |found: Match| {
            let completed = path.complete_if_wanted(source, query, preamble, found)?;
            match completed {
                Some(completed) => Ok(on_match(&preamble.header, completed)),
                None => Ok(ControlFlow::Continue(())),
            }
        };

        let remaining_len = source.len().saturating_sub(self.start);
        if workers <= 1 || is_small(remaining_len) {
            self.search_lines(buffer, &mut complete_and_report)
        } else {
            self.search_ranges(workers, &mut complete_and_report)
        }
    }

    /// Searches all lines on this thread, from first to last, until `on_match` breaks or fails.
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

    /// Searches all lines on several threads, each of which searches one range at a time. Calls
    /// `on_match` on this thread, in file order as [`search_lines`](Self::search_lines) does.
    fn search_ranges(
        &mut self,
        workers: usize,
        on_match: &mut MatchHandler,
    ) -> Result<(), LoadError> {
        // Copied out of `self`, which `report_range` changes while other threads search.
        let source = self.source;
        let query = self.query;
        let preamble = self.preamble;
        let buffers = Pool::new(PageBuffer::default);
        // Shared by all threads. Set by the first range that needs the number of a line: ranges
        // whose search begins later count their lines while they are in memory.
        let is_counting = AtomicBool::new(false);
        let ranges = chunk_ranges(source, self.start);
        let outcome = in_order(
            ranges,
            workers,
            // Called on the threads, in any order.
            |range| {
                buffers.with(|buffer| {
                    search_range(source, query, preamble, range, &is_counting, buffer)
                })
            },
            // Called on this thread, in file order.
            |searched| self.report_range(searched?, on_match),
        );
        match outcome {
            Ok(()) | Err(Stopped::Enough) => Ok(()),
            Err(Stopped::Failed(error)) => Err(error),
        }
    }

    /// Calls `on_match` with the matches of the next range, which another thread has searched.
    /// Ranges must be reported in file order, because their lines are numbered here.
    fn report_range(
        &mut self,
        mut range: SearchedRange,
        on_match: &mut MatchHandler,
    ) -> Result<(), Stopped> {
        // If the lines were not counted, no number of a line was needed.
        if let Some(lines) = &range.counted {
            let lines_before = self.count_range(lines).map_err(LoadError::from)?;
            range.renumber(lines_before);
        }
        self.unread = DamagedLines::join(self.unread, range.unread);
        for found in range.matches {
            if on_match(found)?.is_break() {
                return Err(Stopped::Enough);
            }
        }
        Ok(())
    }

    /// Returns the number of lines of the file before a range. Afterwards, all lines up to the end
    /// of the range are counted.
    fn count_range(&mut self, range: &LinesOfRange) -> io::Result<u32> {
        let counted = &mut self.lines.counted;
        // Reads the earlier ranges whose lines were not counted, because no number was needed then.
        counted.read_up_to(self.source, range.bytes.start)?;
        let lines_before = counted.line_count;
        counted.line_count += range.count;
        counted.end = range.bytes.end;
        Ok(lines_before)
    }

    /// Searches the lines of a chunk that may match, and calls `on_match` with each match. Breaks
    /// when `on_match` breaks.
    fn search_chunk(
        &mut self,
        chunk: LineChunk,
        on_match: &mut MatchHandler,
    ) -> Result<ControlFlow<()>, LoadError> {
        let bytes = chunk.bytes;
        let mut candidates = self
            .prefilter()
            .map(|prefilter| prefilter.candidates(bytes));
        let mut state = ChunkState::default();
        let mut line_start = 0;
        while let Some(start) = next_candidate_line(bytes, line_start, candidates.as_mut()) {
            let searched = self.search_line(ChunkLine { chunk, start }, &mut state)?;
            line_start = searched.end + 1;
            if let Some(found) = searched.found
                && on_match(found)?.is_break()
            {
                return Ok(ControlFlow::Break(()));
            }
        }
        self.lines.finish_chunk(chunk);
        Ok(ControlFlow::Continue(()))
    }

    /// Returns the prefilter for the lines that may match. Without one, every line is searched. An
    /// inverted search has none: it would skip the lines that such a search looks for. Nor has a
    /// search for failures: what matches may be in the call, on another line than its result.
    fn prefilter(&self) -> Option<&'s Prefilter> {
        if self.query.inverted || self.query.entries.only_failed {
            None
        } else {
            self.query.pattern.prefilter()
        }
    }

    /// Searches a line of a chunk, and returns where it ends. The blocks on the line are stored in
    /// `state` and, if the query reports tools, its calls as well. A line that is not JSON cannot
    /// be searched.
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
        // `at_end` skips the white space after the value, so it moves the scanner to the end of the
        // line. It is false if anything else follows.
        let is_one_value = scanned.is_ok() && scanner.at_end();
        if !is_one_value {
            let end = start + memchr(b'\n', from_start).unwrap_or(from_start.len());
            self.add_malformed_line(line, end)?;
            return Ok(SearchedLine { end, found: None });
        }

        if self.query.details.tools.is_some() || self.query.entries.only_failed {
            state.calls.add_calls(&state.blocks);
        }
        let found = self.search_record(&record, state, line)?;
        let end = start + scanner.pos();
        Ok(SearchedLine { end, found })
    }

    /// Counts a line that is not JSON as unread, unless it is blank. The last line of a file may be
    /// incomplete because an agent is writing it, so it is not counted either. `end` is the end of
    /// the line in its chunk.
    fn add_malformed_line(&mut self, line: ChunkLine, end: usize) -> io::Result<()> {
        let ChunkLine { chunk, start } = line;
        let is_last = chunk.start + end as u64 >= self.source.len();
        let is_blank = chunk.bytes[start..end].trim_ascii().is_empty();
        if is_last || is_blank {
            return Ok(());
        }
        let number = self.lines.number_of(line, self.source)?;
        let unread_line = DamagedLines {
            count: 1,
            first: number,
        };
        self.unread = DamagedLines::join(self.unread, Some(unread_line));
        Ok(())
    }
}

/// The state that the search of a chunk keeps from line to line.
#[derive(Default)]
pub(super) struct ChunkState<'b> {
    /// The blocks of the message on the line that was read last.
    pub(super) blocks: Vec<Block<'b>>,
    /// The calls on all lines read so far; only if the calls of results are needed.
    pub(super) calls: KnownCalls<'b>,
}

/// The result of a search of one line.
struct SearchedLine {
    /// The offset of the end of the line in its chunk.
    end: usize,
    found: Option<Match>,
}

/// Searches the lines that begin in a range of a file.
///
/// The lines are counted if the number of one of them is needed, or if `is_counting` is set, which
/// means that another range needed a number. If a number is needed here, sets `is_counting`.
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
    let mut search = FileSearch::new(source, query, preamble, start_point);
    search.lines.is_counting = is_counting.load(Ordering::Relaxed);

    let mut matches = Vec::new();
    // The bytes of the chunks so far; `None` as long as no line begins in the range.
    let mut bytes: Option<Range<u64>> = None;
    let flow = read_chunks(buffer, source, range, |chunk| {
        let chunk_end = chunk.start + chunk.bytes.len() as u64;
        match &mut bytes {
            Some(bytes) => bytes.end = chunk_end,
            None => {
                bytes = Some(chunk.start..chunk_end);
                // The first line that begins in the range may begin after the start of the range.
                search.lines.counted.end = chunk.start;
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

    let mut counted = None;
    if search.lines.is_counting {
        is_counting.store(true, Ordering::Relaxed);
        let count = search.lines.counted.line_count;
        counted = bytes.map(|bytes| LinesOfRange { bytes, count });
    }
    Ok(SearchedRange {
        matches,
        unread: search.unread,
        counted,
    })
}

/// Searches the line of one entry. The number of the line in the result is 1.
pub(super) fn search_one_line(
    source: &dyn ReadAt,
    query: &Query,
    preamble: &Preamble,
    line: Range<u64>,
) -> Result<Option<Match>, LoadError> {
    let is_counting = AtomicBool::new(false);
    let buffer = &mut PageBuffer::default();
    let searched = search_range(source, query, preamble, line, &is_counting, buffer)?;
    Ok(searched.matches.into_iter().next())
}

/// Returns the offset of the first line that may match, beginning with the line at `line_start`.
/// `None` if there is none in `bytes`.
///
/// `candidates` are the positions in `bytes` at which a match is possible. Without them, every line
/// may match.
fn next_candidate_line(
    bytes: &[u8],
    line_start: usize,
    candidates: Option<&mut Candidates>,
) -> Option<usize> {
    let position = match candidates {
        Some(candidates) => candidates.next_from(line_start)?,
        None => line_start,
    };
    if position >= bytes.len() {
        return None;
    }
    // The position may be in the middle of this line or of a later one.
    match memrchr(b'\n', &bytes[line_start..position]) {
        Some(newline) => Some(line_start + newline + 1),
        None => Some(line_start),
    }
}
