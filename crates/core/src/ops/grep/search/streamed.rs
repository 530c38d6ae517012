//! Searches a session while its lines are made, so that they need not be read again (see
//! [`ReadAt::stream`]).

use super::{FileSearch, ResumePoint, SearchOutcome};
use crate::load::LoadError;
use crate::ops::grep::line_counter::CountedLines;
use crate::ops::grep::query::{Match, Query};
use crate::ops::grep::tool::CALL_WINDOW;
use crate::session::Header;
use crate::session::defect::DamagedLines;
use crate::session::read::header::{Preamble, read_preamble};
use crate::session::read::line_chunks::LineChunk;
use memchr::memrchr;
use pisess_store::{KeptContent, ReadAt};
use std::io;
use std::ops::ControlFlow;

/// New lines are searched once they have this many bytes.
const PART_LEN: u64 = 512 * 1024;

/// If matches with details need more memory than this, in bytes, a session is searched by position:
/// it is then converted a second time, into a temporary file. For 100,000 matches, it suffices.
const MAX_HELD_BYTES: usize = 64 << 20;

/// Does what [`search_file`](super::search_file) does, for a session of another agent, which is
/// converted as it is read. `None` if it must be searched by position: with reads at offsets.
///
/// The text is not kept. Matches are held until the last line was searched, because rows have
/// numbers of original lines, which are not known before. If they need too much memory, the session
/// must be searched by position.
pub(super) fn search_streamed(
    source: &dyn ReadAt,
    query: &Query,
    on_match: &mut dyn FnMut(&Header, Match) -> ControlFlow<()>,
) -> Result<Option<SearchOutcome>, LoadError> {
    let mut search = StreamSearch {
        query,
        preamble: None,
        text: RecentText::default(),
        lines_end: 0,
        looked_for_newlines_up_to: 0,
        counted: CountedLines {
            line_count: 0,
            end: 0,
        },
        unread: None,
        matches: HeldMatches::new(query),
    };
    let mut search_result = Ok(());
    // The stream goes on after an error of the search, but nothing more is searched.
    let stream_result = source.stream(KeptContent::Nothing, &mut |bytes| {
        if search_result.is_ok() && !search.matches.need_too_much_memory() {
            search_result = search.add_bytes(bytes);
        }
    });
    let Some(stream_result) = stream_result else {
        return Ok(None);
    };
    // An error of the stream comes first: if the source cannot be read, its lines end anywhere.
    stream_result?;
    search_result?;
    if search.matches.need_too_much_memory() {
        return Ok(None);
    }
    search.finish(source, on_match).map(Some)
}

/// Searches a session whose bytes are passed on in order, in parts of any length.
struct StreamSearch<'q> {
    query: &'q Query,
    /// `None` before the first lines are searched.
    preamble: Option<Preamble>,
    text: RecentText,
    /// The end of the last complete line that was found.
    lines_end: u64,
    /// The text before this offset was searched for newlines.
    looked_for_newlines_up_to: u64,
    /// The lines that were searched.
    counted: CountedLines,
    unread: Option<DamagedLines>,
    matches: HeldMatches,
}

impl StreamSearch<'_> {
    /// Adds the next bytes, and searches the lines that are complete if there are many.
    fn add_bytes(&mut self, bytes: &[u8]) -> Result<(), LoadError> {
        self.text.bytes.extend_from_slice(bytes);
        // The last bytes wait: they may have the results of calls on the lines before them.
        self.move_lines_end(self.text.end().saturating_sub(CALL_WINDOW));
        if self.lines_end - self.counted.end >= PART_LEN {
            self.search_lines()?;
        }
        Ok(())
    }

    /// Moves `lines_end` to the last newline before an offset.
    fn move_lines_end(&mut self, before: u64) {
        if before <= self.looked_for_newlines_up_to {
            return;
        }
        let new_part = self.text.part(self.looked_for_newlines_up_to, before);
        if let Some(newline) = memrchr(b'\n', new_part.bytes) {
            self.lines_end = new_part.start + newline as u64 + 1;
        }
        self.looked_for_newlines_up_to = before;
    }

    /// Searches the complete lines that were not searched yet.
    fn search_lines(&mut self) -> Result<(), LoadError> {
        let preamble = match &self.preamble {
            Some(preamble) => preamble,
            None => {
                let preamble = read_preamble(&self.text.bytes)?;
                self.counted = CountedLines {
                    line_count: preamble.line_count,
                    end: preamble.end,
                };
                self.preamble.insert(preamble)
            }
        };
        let start_point = ResumePoint {
            offset: self.counted.end,
            counted: self.counted,
        };
        let mut search = FileSearch::new(&self.text, self.query, preamble, start_point);
        // Lines are counted as they are searched: earlier ones cannot be read again.
        search.lines.is_counting = true;
        // Never breaks: all matches are searched for.
        let new_lines = self.text.part(self.counted.end, self.lines_end);
        let _ = search.search_chunk(new_lines, &mut |found| {
            self.matches.add(found);
            Ok(ControlFlow::Continue(()))
        })?;

        self.unread = DamagedLines::join(self.unread, search.unread);
        self.counted = search.lines.counted;
        self.text.drop_before(self.lines_end, CALL_WINDOW);
        Ok(())
    }

    /// Searches the last lines, and calls `on_match` with each match, the title first. Of `source`,
    /// only the length is read.
    fn finish(
        mut self,
        source: &dyn ReadAt,
        on_match: &mut dyn FnMut(&Header, Match) -> ControlFlow<()>,
    ) -> Result<SearchOutcome, LoadError> {
        self.lines_end = self.text.end();
        self.search_lines()?;
        let Some(preamble) = self.preamble else {
            // Cannot be: `search_lines` has set it.
            return Err(io::Error::from(io::ErrorKind::InvalidData).into());
        };
        let resume = ResumePoint {
            offset: source.len(),
            counted: self.counted,
        };

        let title = FileSearch::new(source, self.query, &preamble, resume).find_in_title();
        let mut flow = ControlFlow::Continue(());
        if let Some(title) = title {
            flow = on_match(&preamble.header, title);
        }
        if flow.is_continue() {
            self.matches.report(&preamble.header, on_match);
        }
        Ok(SearchOutcome {
            header: preamble.header,
            unread: self.unread,
            resume,
        })
    }
}

/// The matches that were found so far.
struct HeldMatches {
    /// Whether each match is held. Without details, all matches are equal: the first is held, and
    /// the others are only counted.
    has_details: bool,
    held: Vec<Match>,
    /// The memory of `held`, in bytes.
    held_bytes: usize,
    /// The number of all matches.
    count: usize,
}

impl HeldMatches {
    fn new(query: &Query) -> HeldMatches {
        HeldMatches {
            has_details: query.has_details(),
            held: Vec::new(),
            held_bytes: 0,
            count: 0,
        }
    }

    fn need_too_much_memory(&self) -> bool {
        self.held_bytes > MAX_HELD_BYTES
    }

    /// Adds the next match in file order.
    fn add(&mut self, found: Match) {
        self.count += 1;
        let is_first = self.held.is_empty();
        if self.has_details || is_first {
            self.held_bytes += found.byte_count();
            self.held.push(found);
        }
    }

    /// Calls `on_match` with each match, in the order in which they were added, until it breaks.
    fn report(&self, header: &Header, on_match: &mut dyn FnMut(&Header, Match) -> ControlFlow<()>) {
        for index in 0..self.count {
            let found = if self.has_details {
                &self.held[index]
            } else {
                &self.held[0]
            };
            if on_match(header, found.clone()).is_break() {
                return;
            }
        }
    }
}

/// The last bytes of a text that is made as it is searched.
#[derive(Default)]
struct RecentText {
    /// The offset of the first byte.
    start: u64,
    bytes: Vec<u8>,
}

impl RecentText {
    fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    /// Returns the text between two offsets.
    fn part(&self, start: u64, end: u64) -> LineChunk<'_> {
        let from = (start - self.start) as usize;
        let to = (end - self.start) as usize;
        LineChunk {
            start,
            bytes: &self.bytes[from..to],
        }
    }

    /// Drops the bytes before an offset, except the last `kept_len` of them.
    fn drop_before(&mut self, offset: u64, kept_len: u64) {
        let dropped = (offset - self.start).saturating_sub(kept_len);
        self.bytes.drain(..dropped as usize);
        self.start += dropped;
    }
}

impl ReadAt for RecentText {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        match offset.checked_sub(self.start) {
            Some(index) => self.bytes.read_at(buf, index),
            None => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    /// The length so far. Lines that end there are searched only when the text is complete: before
    /// that, the last `CALL_WINDOW` bytes wait.
    fn len(&self) -> u64 {
        self.end()
    }
}
