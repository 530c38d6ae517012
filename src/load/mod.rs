//! Loads a file in one pass: chunks, workers, envelopes.
//!
//! The file is cut into chunks at newlines; each worker reads a chunk into its own buffer, walks its lines
//! once and makes a `Fragment`; fragments are joined in file order. Only the parts of a body that [`Options`]
//! request are kept, so memory grows with the number of entries, plus the longest line per worker.

mod files;
mod fragment;
mod join;
mod link;
pub(crate) mod list_stats;
mod rows;

pub mod peek;

mod classify;
pub mod names;

use crate::agents::Agent;
use crate::agents::row::RowOptions;
use crate::session::dialect::Dialect;
use crate::session::list_stats::Digesting;
use crate::session::read::header::{self, Preamble};
pub use crate::session::read::header::{LoadError, WrongFile};
use crate::session::read::record::{self, Member};
use crate::session::search::Words;
use crate::session::{Header, Session};
use fragment::{Fragment, Progress, Reading, Window};
use join::Joiner;
use pisess_json::KeyCache;
use pisess_store::workers::wait_for;
use pisess_store::{PageBuffer, ReadAt, fill};
pub use rows::add_rows;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// The number of bytes a worker reads at a time: small enough for the cache, large enough for few reads.
const CHUNK: u64 = 512 * 1024;

/// The number of chunks for which a further worker is started.
const CHUNKS_PER_WORKER: u64 = 2;

/// What to keep besides the envelopes.
#[derive(Clone, Debug)]
pub struct Options {
    /// The number of threads that read; small files are read by one in any case.
    pub workers: usize,
    /// Keep each entry's row.
    pub rows: Option<RowOptions>,
    /// Keep tool calls and results; those of rows are kept in any case.
    pub calls: bool,
    /// Search all text of each entry for these words.
    pub search: Words,
    /// Keep each entry's `timestamp` as stored.
    pub timestamps: bool,
    /// Keep the requests that entries record: their tokens and cost.
    pub usage: bool,
    /// Keep the location of each entry's message, for callers that will read all of them.
    pub messages: bool,
    /// Keep the files that tool calls name.
    pub file_calls: bool,
    /// Collect what a list of sessions shows.
    pub digest: Option<Digesting>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            workers: 1,
            rows: None,
            calls: false,
            search: Words::default(),
            timestamps: false,
            usage: false,
            messages: false,
            file_calls: false,
            digest: None,
        }
    }
}

/// Reads only the header of a session.
///
/// # Errors
/// If the source is not a session, or cannot be read.
pub fn read_header(source: &dyn ReadAt) -> Result<Header, LoadError> {
    header::read(source).map(|preamble| preamble.header)
}

/// Loads a session.
///
/// # Errors
/// If the source is not a session, or cannot be read. Other defects of its lines are not errors.
pub fn load(source: &dyn ReadAt, options: &Options) -> Result<Session, LoadError> {
    let preamble = header::read(source)?;
    let guess = guess_dialect(source, &preamble, options)?;
    let mut fragment = Pass { source, options, preamble: &preamble, agent: guess.agent() }.run()?;
    let dialect = dialect(&preamble, &fragment);
    if dialect != guess {
        // The first evidence of the agent came late: compute rows and flags again by its rules.
        fragment = Pass { source, options, preamble: &preamble, agent: dialect.agent() }.run()?;
    }
    link::link(preamble, fragment, dialect, source)
}

/// Whether a source of this length is certainly read by one worker.
pub fn is_small(length: u64) -> bool {
    length <= CHUNK * CHUNKS_PER_WORKER
}

/// Whether the first bytes of a file contain a session header.
pub fn has_header(start: &[u8]) -> bool {
    header::read(&start.to_vec()).is_ok()
}

fn dialect(preamble: &Preamble, fragment: &Fragment) -> Dialect {
    if preamble.title_slot.is_some() { Dialect::OhMyPi } else { fragment.dialect.unwrap_or(Dialect::Pi) }
}

/// Returns the dialect as far as the first lines determine it.
fn guess_dialect(source: &dyn ReadAt, preamble: &Preamble, options: &Options) -> Result<Dialect, LoadError> {
    if preamble.title_slot.is_some() {
        return Ok(Dialect::OhMyPi);
    }
    // Both agents write the current model first, in different formats. Without rows, little depends on the
    // dialect, and reading bytes twice is slow for many small files.
    let lengths = [1024, if options.rows.is_some() { 64 * 1024 } else { 4 * 1024 }];
    for length in lengths {
        if let Some(dialect) = evidence_within(source, preamble, length)? {
            return Ok(dialect);
        }
    }
    Ok(Dialect::Pi)
}

/// Returns the dialect of the first evidence in this many bytes after the header.
fn evidence_within(source: &dyn ReadAt, preamble: &Preamble, length: usize) -> io::Result<Option<Dialect>> {
    let rest = usize::try_from(source.len() - preamble.end).unwrap_or(length);
    let mut bytes = vec![0; length.min(rest)];
    let read = source.read_at(&mut bytes, preamble.end)?;
    let mut fragment = Fragment::default();
    let window = Window {
        bytes: &bytes[..read],
        start: preamble.end,
        limit: source.len(),
        at_end: preamble.end + read as u64 == source.len(),
    };
    let reading = Reading {
        options: &Options::default(),
        version: preamble.version,
        agent: Dialect::Pi.agent(),
        cwd: None,
    };
    fragment.read_lines(&window, 0, &reading, &mut record::keys());
    Ok(fragment.dialect)
}

/// Reads the lines after the header in one pass.
struct Pass<'a> {
    source: &'a dyn ReadAt,
    options: &'a Options,
    preamble: &'a Preamble,
    agent: &'static dyn Agent,
}

impl Pass<'_> {
    fn run(&self) -> Result<Fragment, LoadError> {
        let chunks = (self.source.len() - self.preamble.end).div_ceil(CHUNK);
        let joiner = Mutex::new(Joiner::new(self.preamble));
        let next = AtomicU64::new(0);
        let read = || -> Result<(), LoadError> {
            let mut buffer = PageBuffer::default();
            let mut fragment = Fragment::default();
            let mut keys = record::keys();
            loop {
                let chunk = next.fetch_add(1, Ordering::Relaxed);
                if chunk >= chunks {
                    return Ok(());
                }
                self.read_chunk(chunk, &mut buffer, &mut fragment, &mut keys)?;
                let mut joiner = joiner.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                fragment = joiner.add(chunk, fragment)?;
            }
        };
        // If one worker cannot read, the others stop.
        let work = || read().inspect_err(|_| next.store(chunks, Ordering::Relaxed));
        let most = usize::try_from(chunks / CHUNKS_PER_WORKER).unwrap_or(usize::MAX).max(1);
        match self.options.workers.clamp(1, most) {
            1 => work()?,
            workers => thread::scope(|scope| -> Result<(), LoadError> {
                // If no further thread can be started, the existing ones do the work.
                let start = |_| thread::Builder::new().spawn_scoped(scope, work).ok();
                let others: Vec<_> = (1..workers).map_while(start).collect();
                let mine = work();
                for other in others {
                    wait_for(other)?;
                }
                mine
            })?,
        }
        Ok(joiner.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).whole)
    }

    /// Reads the lines that start in one chunk.
    fn read_chunk(
        &self,
        chunk: u64,
        buffer: &mut PageBuffer,
        fragment: &mut Fragment,
        keys: &mut KeyCache<Member>,
    ) -> Result<(), LoadError> {
        let source = self.source;
        let nominal = self.preamble.end + chunk * CHUNK;
        let limit = (nominal + CHUNK).min(source.len());
        // The byte before shows whether a line starts here.
        let start = nominal - u64::from(chunk > 0);
        fill(source, buffer.start(start, (limit - start) as usize)?, start)?;
        let mut pos = match chunk {
            0 => 0,
            _ => match memchr::memchr(b'\n', buffer.bytes()) {
                Some(newline) => newline + 1,
                None => return Ok(()),
            },
        };
        let reading = Reading {
            options: self.options,
            version: self.preamble.version,
            agent: self.agent,
            cwd: self.preamble.header.cwd.as_ref(),
        };
        loop {
            let bytes = buffer.bytes();
            let at_end = start + bytes.len() as u64 == source.len();
            let window = Window { bytes, start, limit, at_end };
            match fragment.read_lines(&window, pos, &reading, keys) {
                Progress::Done => return Ok(()),
                Progress::NeedsMore(at) => pos = at,
            }
            extend_to_newline(source, buffer, start)?;
        }
    }
}

/// Reads on until there is a newline, or the file ends.
fn extend_to_newline(source: &dyn ReadAt, buffer: &mut PageBuffer, start: u64) -> io::Result<()> {
    let mut step = 8 * 1024;
    loop {
        let at = start + buffer.bytes().len() as u64;
        let more = step.min(usize::try_from(source.len() - at).unwrap_or(usize::MAX));
        let new = buffer.extend(more)?;
        fill(source, new, at)?;
        if more == 0 || memchr::memchr(b'\n', new).is_some() {
            return Ok(());
        }
        step = step.saturating_mul(2).min(16 << 20);
    }
}

#[cfg(test)]
mod tests;
