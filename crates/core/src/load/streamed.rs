//! Loads a session while its lines are made, so that they need not be read again (see
//! [`ReadAt::stream`]).

use super::fragment::{Fragment, ReadContext};
use super::{
    LoadError, LoadOptions, SHORT_SECOND_GUESS_LEN, choose_dialect, find_dialect_evidence,
    make_session,
};
use crate::session::Session;
use crate::session::dialect::Dialect;
use crate::session::read::header::{Preamble, read_preamble};
use crate::session::read::record::{self, Member};
use memchr::{memchr, memrchr};
use pisess_json::KeyCache;
use pisess_store::ReadAt;

/// Loads a session whose source is made as it is read: a session of another agent that is converted
/// to one of pi.
///
/// `None` if the session must be loaded by position: because the source can be read by position
/// already (a file, or a converted session whose text was kept), or because a later line shows that
/// the guess between pi and oh-my-pi was wrong, which is not expected of a converted session.
///
/// # Errors
/// If the source is not a session, or cannot be read. The header must be the first line.
pub fn load_streamed(
    source: &dyn ReadAt,
    options: &LoadOptions,
) -> Result<Option<Session>, LoadError> {
    let mut loader = StreamLoader::new(options);
    let mut load_result = Ok(());
    // The stream goes on after an error of the loader, but nothing more is loaded.
    let stream_result = source.stream(options.kept, &mut |bytes| {
        if load_result.is_ok() {
            load_result = loader.add_bytes(bytes);
        }
    });
    let Some(stream_result) = stream_result else {
        return Ok(None);
    };
    // An error of the stream comes first: if the source cannot be read, its lines end anywhere.
    stream_result?;
    load_result?;
    loader.finish(source)
}

/// Loads a session from its bytes, which are passed on in order, in parts of any length.
struct StreamLoader<'o> {
    options: &'o LoadOptions,
    keys: KeyCache<Member>,
    /// What the first lines show. It is set by the first call of [`StreamLoader::add_lines`], from
    /// the lines of that call.
    start: Option<SessionStart>,
    whole: Fragment,
    /// The lines of one part, until they are joined to `whole`.
    part: Fragment,
    /// The start of a line whose end is not in the parts so far.
    incomplete_line: Vec<u8>,
    /// The offset of the next line.
    offset: u64,
}

/// What the first lines of a session show.
struct SessionStart {
    preamble: Preamble,
    /// The agent by whose rules the lines are read.
    guess: Dialect,
}

impl<'o> StreamLoader<'o> {
    /// Returns a loader that has read nothing.
    fn new(options: &'o LoadOptions) -> StreamLoader<'o> {
        StreamLoader {
            options,
            keys: record::new_key_cache(),
            start: None,
            whole: Fragment::default(),
            part: Fragment::default(),
            incomplete_line: Vec::new(),
            offset: 0,
        }
    }

    /// Loads the lines that end in the next bytes. What follows the last newline is kept until the
    /// call with the rest of its line.
    ///
    /// # Errors
    /// If the first line is not the header of a session.
    fn add_bytes(&mut self, bytes: &[u8]) -> Result<(), LoadError> {
        let Some(last_newline) = memrchr(b'\n', bytes) else {
            self.incomplete_line.extend_from_slice(bytes);
            return Ok(());
        };
        let (lines, next_line) = bytes.split_at(last_newline + 1);
        let other_lines = self.add_completed_line(lines)?;
        self.add_lines(other_lines)?;
        self.incomplete_line.extend_from_slice(next_line);
        Ok(())
    }

    /// Loads the line that earlier bytes have begun, which the first of these lines completes.
    /// Returns the other lines; all of them if no line was begun.
    fn add_completed_line<'b>(&mut self, lines: &'b [u8]) -> Result<&'b [u8], LoadError> {
        if self.incomplete_line.is_empty() {
            return Ok(lines);
        }
        let first_len = memchr(b'\n', lines).map_or(lines.len(), |newline| newline + 1);
        let (rest_of_line, other_lines) = lines.split_at(first_len);
        let mut line = std::mem::take(&mut self.incomplete_line);
        line.extend_from_slice(rest_of_line);
        self.add_lines(&line)?;
        Ok(other_lines)
    }

    /// Loads whole lines, of which only the last of the session may lack its newline. The first
    /// lines must begin with the header.
    fn add_lines(&mut self, lines: &[u8]) -> Result<(), LoadError> {
        let mut entry_lines = lines;
        let start = match &self.start {
            Some(start) => start,
            None => {
                let start = SessionStart::read(lines)?;
                let header_end = start.preamble.end;
                entry_lines = &lines[header_end as usize..];
                self.whole = Fragment::after(&start.preamble);
                self.offset = header_end;
                self.start.insert(start)
            }
        };
        let reading = ReadContext {
            options: self.options,
            format: start.preamble.format,
            agent: start.guess.agent(),
            cwd: start.preamble.header.cwd.as_ref(),
        };
        self.part
            .read_lines(entry_lines, self.offset, &reading, &mut self.keys);
        self.offset += entry_lines.len() as u64;
        // This empties the part, whose memory is used for the next lines.
        self.whole.append(&mut self.part)
    }

    /// Returns the session. Of `source`, only the length, the numbers of the original lines and the
    /// last byte are read: anything more would make a source that kept no text convert again.
    ///
    /// `None` if the session must be loaded from `source`: a later line shows that the guess
    /// between pi and oh-my-pi was wrong.
    ///
    /// # Errors
    /// If the lines are not a session.
    fn finish(mut self, source: &dyn ReadAt) -> Result<Option<Session>, LoadError> {
        let last_line = std::mem::take(&mut self.incomplete_line);
        self.add_lines(&last_line)?;
        let Some(SessionStart { preamble, guess }) = self.start else {
            // Cannot be: `add_lines` has set it.
            return Ok(None);
        };
        let dialect = choose_dialect(&preamble, &self.whole);
        if dialect != guess {
            return Ok(None);
        }
        make_session(preamble, self.whole, dialect, source, self.options).map(Some)
    }
}

impl SessionStart {
    /// Reads the lines up to the header, and guesses the agent from those after it.
    fn read(lines: &[u8]) -> Result<SessionStart, LoadError> {
        let preamble = read_preamble(&lines.to_vec())?;
        let guess = match &preamble.title_slot {
            Some(_) => Some(Dialect::OhMyPi),
            None => find_dialect_evidence(guess_lines(lines, &preamble), &preamble),
        };
        Ok(SessionStart {
            guess: guess.unwrap_or(Dialect::Pi),
            preamble,
        })
    }
}

/// Returns the first of the lines after the preamble, as far as they are here already. They usually
/// show the agent. They are read twice, so they are few; a wrong guess only costs time.
fn guess_lines<'l>(lines: &'l [u8], preamble: &Preamble) -> &'l [u8] {
    let start = preamble.end as usize;
    let end = lines.len().min(start + SHORT_SECOND_GUESS_LEN as usize);
    let first_lines = &lines[start..end];
    match memrchr(b'\n', first_lines) {
        Some(newline) => &first_lines[..=newline],
        None => &[],
    }
}
