//! Loads a file in one pass.
//!
//! The file is divided into ranges. Each worker reads the lines that begin in a range, and makes a
//! `Fragment` of their entries. Fragments are joined in file order. Only the parts of a line that
//! [`LoadOptions`] request are kept besides the [`Entry`](crate::session::entry::Entry). So memory
//! grows with the number of entries, plus the longest line per worker.

mod append;
mod cycles;
mod files;
mod fragment;
mod join;
mod link;
pub(crate) mod list_stats;
mod rows;
mod stats;
mod streamed;

pub mod peek;

mod classify;
pub mod names;

use crate::agents::Agent;
use crate::agents::row::RowOptions;
use crate::session::dialect::Dialect;
use crate::session::period::Period;
use crate::session::read::header::{self, Preamble};
pub use crate::session::read::header::{LoadError, WrongFile};
use crate::session::read::line_chunks::{LineChunk, chunk_ranges, read_chunks};
use crate::session::read::record::{self, Block, Member, Record};
use crate::session::read::whole_lines::WholeLines;
use crate::session::search::SearchWords;
use crate::session::usage::PriceTable;
use crate::session::{Header, Session};
pub use append::load_appended;
pub(crate) use classify::{count_images, ending, is_truthy, message_role};
use fragment::{Fragment, ReadContext};
use pisess_json::KeyCache;
use pisess_store::workers::{Pool, in_order};
use pisess_store::{KeptContent, PageBuffer, ReadAt};
pub use rows::add_rows;
use std::cell::RefCell;
use std::io;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

/// The length of a file, in bytes, above which a second worker saves time.
const SMALL_FILE_LEN: u64 = 1 << 20;

/// The maximum length of the read buffer, in bytes, that stays in memory once the file is loaded.
const MAX_KEPT_LEN: usize = 16 << 20;

/// What to keep of each line besides the [`Entry`](crate::session::entry::Entry).
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// The number of threads that read; 0 means 1. Small files are read by one thread in any case.
    pub workers: usize,
    /// Leave out a last line that is still being written.
    pub whole_lines: bool,
    /// Keep each entry's row in a tree, and tool calls.
    pub rows: Option<RowOptions>,
    /// Keep tool calls and results. (With `rows`, they are kept in any case.)
    pub tool_calls: bool,
    /// Search all text of each entry for these words, and keep the matches.
    pub search: SearchWords,
    /// Keep each entry's `timestamp` as stored.
    pub timestamps: bool,
    /// Keep the requests that entries record: their tokens and cost.
    pub usage: bool,
    /// With `usage`: the table that has the prices of requests without a recorded cost. `None`
    /// stands for the table that pisess contains.
    pub prices: Option<Arc<PriceTable>>,
    /// Keep the location of each entry's message, for callers that will read all of them.
    pub message_spans: bool,
    /// Keep the agent's estimate of each message, in tokens.
    pub message_tokens: bool,
    /// Keep the files that tool calls name.
    pub file_calls: bool,
    /// Do not link entries, for callers that only iterate over them. Parents, ids and the leaf
    /// cannot be relied on then, and defects of links are not found. Older formats are linked
    /// nevertheless.
    pub skip_links: bool,
    /// Keep what statistics need of entries and tool calls.
    pub stats: bool,
    /// With `stats`, also keep the paths of files that are only read.
    pub read_paths: bool,
    /// Keep the identity of each entry, by which copies in forks are recognized.
    pub entry_keys: bool,
    /// Keep what a list of sessions shows, and whether any entry is in this period.
    pub list_stats: Option<Period>,
    /// What the caller will read after loading. A source whose content is made when it is read,
    /// such as a converted session, keeps only this.
    pub kept: KeptContent,
    /// Keep the places of lines that are not plain: those with a problem, those without a newline,
    /// and those for which this function returns `false`.
    pub is_plain_line: Option<fn(&Record, &[Block]) -> bool>,
}

/// Reads only the header of a session.
pub fn read_header(source: &dyn ReadAt) -> Result<Header, LoadError> {
    header::read_preamble(source).map(|preamble| preamble.header)
}

/// Loads a session: its header, then all other lines in one pass.
///
/// The pass follows the rules of the agent to which the first lines point. If a later line shows
/// that the session is of the other agent, a second pass follows that agent's rules.
///
/// # Errors
/// If the source is not a session, or cannot be read. Other defects of its lines are not errors.
pub fn load(source: &dyn ReadAt, options: &LoadOptions) -> Result<Session, LoadError> {
    if options.whole_lines {
        let whole_lines = WholeLines::new(source)?;
        return load_all_lines(&whole_lines, options);
    }
    load_all_lines(source, options)
}

/// Does what [`load`] does, for all lines of the source.
fn load_all_lines(source: &dyn ReadAt, options: &LoadOptions) -> Result<Session, LoadError> {
    // A session that is converted as it is read, such as one of another agent.
    if let Some(session) = streamed::load_streamed(source, options)? {
        return Ok(session);
    }

    let preamble = header::read_preamble(source)?;
    let guess = guess_dialect(source, &preamble, options)?;
    let mut fragment = read_all_lines(source, options, &preamble, guess.agent())?;
    let dialect = choose_dialect(&preamble, &fragment);
    if dialect != guess {
        // The first evidence of the agent came late: compute rows and flags again by its rules.
        fragment = read_all_lines(source, options, &preamble, dialect.agent())?;
    }
    make_session(preamble, fragment, dialect, source, options)
}

/// Makes a session of the preamble and of all other lines of a file.
fn make_session(
    preamble: Preamble,
    fragment: Fragment,
    dialect: Dialect,
    source: &dyn ReadAt,
    options: &LoadOptions,
) -> Result<Session, LoadError> {
    let mut session = link::link_session(preamble, fragment, dialect, source, options.skip_links)?;
    if options.stats {
        stats::mark_failed_calls(&mut session);
    }
    Ok(session)
}

/// Whether a source of this length is read by one worker in any case.
pub fn is_small(length: u64) -> bool {
    length <= SMALL_FILE_LEN
}

/// Whether the first bytes of a file contain a session header.
pub fn has_header(start: &[u8]) -> bool {
    header::read_preamble(&start.to_vec()).is_ok()
}

/// Returns the agent to which a file belongs: oh-my-pi if the file has a title line, else the agent
/// of the first line that only one agent writes, else pi.
fn choose_dialect(preamble: &Preamble, fragment: &Fragment) -> Dialect {
    if preamble.title_slot.is_some() {
        Dialect::OhMyPi
    } else {
        fragment.dialect.unwrap_or(Dialect::Pi)
    }
}

/// The number of bytes in which to search first for evidence of the agent. It usually suffices,
/// because both agents write the current model first, in different forms.
const FIRST_GUESS_LEN: u64 = 1024;
/// The number of bytes to search if the first did not suffice.
const SECOND_GUESS_LEN: u64 = 64 * 1024;
/// The same if reading bytes twice would be slow: for many small files, of which no rows are made,
/// so that little depends on the agent; and for a source that is decompressed as it is read.
const SHORT_SECOND_GUESS_LEN: u64 = 4 * 1024;

/// Guesses the agent of a file from the first lines after the preamble; pi if they do not show it.
///
/// The guess only decides by which rules the file is read first: see [`load`].
fn guess_dialect(
    source: &dyn ReadAt,
    preamble: &Preamble,
    options: &LoadOptions,
) -> Result<Dialect, LoadError> {
    // Only oh-my-pi writes a title line.
    if preamble.title_slot.is_some() {
        return Ok(Dialect::OhMyPi);
    }
    let second_len = if options.rows.is_some() {
        SECOND_GUESS_LEN
    } else {
        SHORT_SECOND_GUESS_LEN
    };
    let found = search_dialect_evidence(source, preamble, &[FIRST_GUESS_LEN, second_len])?;
    Ok(found.unwrap_or(Dialect::Pi))
}

/// Returns the agent to which a file belongs, as [`load`] determines it. Usually, only the start of
/// the file is read.
///
/// # Errors
/// If the source is not a session, or cannot be read.
pub fn read_dialect(source: &dyn ReadAt) -> Result<Dialect, LoadError> {
    let preamble = header::read_preamble(source)?;
    if preamble.title_slot.is_some() {
        return Ok(Dialect::OhMyPi);
    }
    let lengths = [FIRST_GUESS_LEN, SECOND_GUESS_LEN];
    if let Some(found) = search_dialect_evidence(source, &preamble, &lengths)? {
        return Ok(found);
    }
    // The evidence may be in any line.
    let find_evidence = |chunk: LineChunk| match find_dialect_evidence(chunk.bytes, &preamble) {
        Some(dialect) => ControlFlow::Break(dialect),
        None => ControlFlow::Continue(()),
    };
    let mut buffer = PageBuffer::default();
    let lines = preamble.end..source.len();
    let flow = read_chunks(&mut buffer, source, lines, find_evidence)?;
    Ok(flow.break_value().unwrap_or(Dialect::Pi))
}

/// Returns the agent that the first lines after the preamble show, searching as many bytes as each
/// of the lengths, one after the other. `None` if there is no evidence in any of these.
fn search_dialect_evidence(
    source: &dyn ReadAt,
    preamble: &Preamble,
    lengths: &[u64],
) -> Result<Option<Dialect>, LoadError> {
    for length in lengths {
        let end = source.len().min(preamble.end + length);
        let mut bytes = source.read_range(preamble.end..end)?;
        let is_whole_file = end == source.len();
        if !is_whole_file {
            // The last line may be cut off, so it does not count.
            let last_newline = memchr::memrchr(b'\n', &bytes);
            bytes.truncate(last_newline.map_or(0, |newline| newline + 1));
        }
        if let Some(dialect) = find_dialect_evidence(&bytes, preamble) {
            return Ok(Some(dialect));
        }
        if is_whole_file {
            break;
        }
    }
    Ok(None)
}

/// Returns the agent of the first of these lines that only one agent writes; `None` if there is no
/// such line. `lines` are the whole lines after the preamble.
///
/// All lines are read, as in [`load`]: the evidence is one of the facts that a fragment collects.
fn find_dialect_evidence(lines: &[u8], preamble: &Preamble) -> Option<Dialect> {
    let mut fragment = Fragment::default();
    let reading = ReadContext {
        options: &LoadOptions::default(),
        format: preamble.format,
        // Either agent would do: evidence is recognized by the types, roles and members of lines,
        // which `dialect_evidence` compares without the rules of an agent.
        agent: Dialect::Pi.agent(),
        cwd: None,
    };
    fragment.read_lines(lines, preamble.end, &reading, &mut record::new_key_cache());
    fragment.dialect
}

/// What a thread needs to read lines. It is kept, because a thread often reads one file after
/// another.
struct ThreadReader {
    buffer: PageBuffer,
    keys: KeyCache<Member>,
}

thread_local! {
    static READER: RefCell<ThreadReader> = RefCell::new(ThreadReader {
        buffer: PageBuffer::default(),
        keys: record::new_key_cache(),
    });
}

/// Adds the lines that begin in a range of the source to a fragment. The buffer and the cache of
/// keys of this thread are reused.
fn read_lines_in(
    source: &dyn ReadAt,
    range: Range<u64>,
    reading: &ReadContext,
    fragment: &mut Fragment,
) -> io::Result<()> {
    READER.with_borrow_mut(|reader| {
        let ThreadReader { buffer, keys } = reader;
        // Never breaks: all lines are read.
        let _: ControlFlow<()> = read_chunks(buffer, source, range, |chunk| {
            fragment.read_lines(chunk.bytes, chunk.start, reading, keys);
            ControlFlow::Continue(())
        })?;
        Ok(())
    })
}

/// Reads the lines after the header in one pass, by the rules of an agent. If the file is large,
/// several threads read ranges of it, and their fragments are joined in file order.
fn read_all_lines(
    source: &dyn ReadAt,
    options: &LoadOptions,
    preamble: &Preamble,
    agent: &'static dyn Agent,
) -> Result<Fragment, LoadError> {
    let reading = ReadContext {
        options,
        format: preamble.format,
        agent,
        cwd: preamble.header.cwd.as_ref(),
    };
    let workers = if is_small(source.len()) {
        1
    } else {
        options.workers
    };

    // A fragment is empty after it was joined, and its memory is used for a later range.
    let empty_fragments = Pool::new(Fragment::default);
    // Called on the threads, in any order.
    let read_fragment = |range: Range<u64>| {
        let mut fragment = empty_fragments.get();
        read_lines_in(source, range, &reading, &mut fragment)?;
        Ok::<Fragment, LoadError>(fragment)
    };
    let mut whole = Fragment::after(preamble);
    // Called on this thread, in file order.
    let join_fragment = |result: Result<Fragment, LoadError>| {
        let mut fragment = result?;
        whole.append(&mut fragment)?;
        empty_fragments.put(fragment);
        Ok::<(), LoadError>(())
    };
    let ranges = chunk_ranges(source, preamble.end);
    in_order(ranges, workers, read_fragment, join_fragment)?;

    // A line that needed a larger buffer is rare, and what is done with the session next may need
    // as much memory.
    READER.with_borrow_mut(|reader| reader.buffer.release(MAX_KEPT_LEN));
    Ok(whole)
}

#[cfg(test)]
mod tests;
