//! Reads the sessions of other agents: a survey, and the session of pi that `import` would make.

use super::text_end::TextEnd;
use crate::cli::output::{Exit, Failure, FailureKind, to_visible};
use crate::cli::process::command_line::is_plain_in_shell;
use crate::cli::rollouts::{Rollouts, open_source};
use crate::import::{
    self, HashUse, InPlaceRecord, JoinedSource, Origin, SourceHead, Survey, write_head_in_place,
    write_in_place,
};
use crate::load::{LoadError, WrongFile};
use crate::session::prefilter::Prefilter;
use pisess_json::text::Text;
use pisess_store::{self as store, KeptContent, ReadAt, Spooled};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

/// Surveys a source file. Returns `None` if no supported agent wrote the file.
pub fn survey_file(path: &Path, rollouts: &Rollouts) -> Result<Option<Survey>, Failure> {
    let source = rollouts.open(path)?;
    let Some(origin) = detect_source(&source, path)? else {
        return Ok(None);
    };
    let mut survey = import::survey_source(&source, origin, path)
        .map_err(|error| unreadable_source(path, error))?;
    survey.head = complete_head(survey.head);
    Ok(Some(survey))
}

/// Reads which session a source file is, from its first lines. `None` if no supported agent wrote
/// the file.
pub fn read_head(path: &Path, rollouts: &Rollouts) -> Result<Option<SourceHead>, Failure> {
    read_opened_head(&rollouts.open(path)?, path)
}

fn read_opened_head(source: &JoinedSource, path: &Path) -> Result<Option<SourceHead>, Failure> {
    let Some(origin) = detect_source(source, path)? else {
        return Ok(None);
    };
    let head = SourceHead::read(source, origin, path);
    let head = head.map_err(|error| unreadable_source(path, error))?;
    Ok(Some(complete_head(head)))
}

/// Detects which agent wrote a source. `None` if none of the supported agents did.
fn detect_source(source: &JoinedSource, path: &Path) -> Result<Option<Origin>, Failure> {
    Origin::detect(source).map_err(|error| unreadable_source(path, error))
}

fn unreadable_source(path: &Path, error: io::Error) -> Failure {
    Failure::from_read_error(&to_visible(&path.to_string_lossy()), error)
}

/// Adds the working directory to the head of a source whose lines do not name it.
fn complete_head(mut head: SourceHead) -> SourceHead {
    if head.cwd.is_none() {
        head.cwd = read_project_file(head.origin, &head.path);
    }
    head
}

/// The maximum length of a path in a file, in bytes.
const MAX_PATH_LEN: u64 = 4096;

/// Reads the working directory of a session from the file in which its agent keeps it.
fn read_project_file(origin: Origin, session: &Path) -> Option<Text<'static>> {
    let file = open_source(&origin.project_file(session)?).ok()?;
    let bytes = file.read_range(0..file.len().min(MAX_PATH_LEN)).ok()?;
    let folder = String::from_utf8(bytes).ok()?;
    let folder = folder.trim();
    if folder.is_empty() {
        return None;
    }
    Some(Text::from(folder.to_owned()))
}

/// A session of another agent, which is read as the session of pi that `import` would make of it.
///
/// The session is converted by its first use. Loading streams it: the lines pass to the loader as
/// they are made, and as much of the text is kept as the command will read. A read of text that was
/// not kept converts the session again, and keeps all of the text.
///
/// The last line is the record of the import, which has the hash of the source. A stream, and the
/// text that is kept of it, have a placeholder in place of the hash. It is replaced when the record
/// is read by position.
pub struct ConvertedSource {
    pub head: SourceHead,
    source: JoinedSource,
    /// Whether the entries are converted, and not only the head. They are not if a prefilter shows
    /// that none has a word that is searched for.
    converts_entries: bool,
    is_for_list: bool,
    facts: OnceLock<ConversionFacts>,
    end: OnceLock<TextEnd>,
    text: OnceLock<Spooled>,
    /// The line of the record, with the hash.
    record: OnceLock<Vec<u8>>,
    /// Held while a text to keep is made, so that only one thread makes it. Conversions for facts
    /// alone may run at the same time.
    conversion: Mutex<()>,
}

/// What is known of a conversion without its text.
struct ConversionFacts {
    /// The number of bytes of the session.
    len: u64,
    /// The number of converted messages.
    message_count: usize,
    /// See [`ReadAt::original_lines`].
    original_lines: Arc<[u32]>,
    /// `None` if only the head was converted.
    record: Option<InPlaceRecord>,
}

impl ConvertedSource {
    /// Opens a file. `None` if no supported agent wrote it.
    ///
    /// With `words`, which is a prefilter for converted text, only the header is converted if no
    /// entry can contain a word.
    pub fn open(
        path: &Path,
        rollouts: &Rollouts,
        words: Option<&Prefilter>,
    ) -> Result<Option<ConvertedSource>, Failure> {
        let source = rollouts.open(path)?;
        let Some(head) = read_opened_head(&source, path)? else {
            return Ok(None);
        };
        let converts_entries = match words {
            Some(words) => import::may_contain(&source, head.origin, words)
                .map_err(|error| unreadable_source(path, error))?,
            None => true,
        };
        Ok(Some(ConvertedSource {
            head,
            source,
            converts_entries,
            is_for_list: false,
            facts: OnceLock::new(),
            end: OnceLock::new(),
            text: OnceLock::new(),
            record: OnceLock::new(),
            conversion: Mutex::new(()),
        }))
    }

    /// Opens a file as [`ConvertedSource::open`] does, to list the session: the hash in the record
    /// is never computed.
    pub fn open_to_list(
        path: &Path,
        rollouts: &Rollouts,
    ) -> Result<Option<ConvertedSource>, Failure> {
        let all_entries = None;
        let opened = ConvertedSource::open(path, rollouts, all_entries)?;
        Ok(opened.map(|source| ConvertedSource {
            is_for_list: true,
            ..source
        }))
    }

    /// Returns the number of bytes of the file.
    pub fn source_len(&self) -> u64 {
        self.source.len()
    }

    /// Returns the number of messages in the file; 0 if it cannot be read, or if only its head was
    /// converted.
    pub fn message_count(&self) -> usize {
        self.facts().map_or(0, |facts| facts.message_count)
    }

    /// Writes the session to `out`, and returns what is known of it then.
    fn write(&self, hash_use: HashUse, out: &mut WatchedWriter) -> io::Result<ConversionFacts> {
        let converted = if self.converts_entries {
            write_in_place(&self.source, &self.head, hash_use, out)?
        } else {
            write_head_in_place(&self.head, out)?
        };
        let offsets = &converted.lines.offsets;
        let numbers = self
            .source
            .line_numbers(offsets, &converted.source_line_starts);
        Ok(ConversionFacts {
            len: out.count,
            message_count: converted.message_count,
            original_lines: numbers.into(),
            record: converted.record,
        })
    }

    /// Converts the session, keeps all of its text, and passes the text to `read`. If `kept` is the
    /// whole text, the record will be read, too, so its hash is computed along with the text.
    fn convert_text(
        &self,
        kept: KeptContent,
        read: &mut (dyn FnMut(&[u8]) + Send),
    ) -> io::Result<Spooled> {
        let hash_use = if kept == KeptContent::Whole && !self.is_for_list {
            HashUse::Record
        } else {
            HashUse::None
        };
        // `spool_and_read` returns only the copy, so the result of the conversion is assigned here.
        let mut converted = None;
        let mut write = |out: &mut dyn Write| {
            let mut watched = WatchedWriter::new(out);
            let result = self.write(hash_use, &mut watched);
            // Only an error of the output is returned here. `remember` returns the others.
            let output_result = watched.output_result(&result);
            converted = Some(result);
            output_result
        };
        let text = store::spool_and_read(&mut write, read).map_err(io::Error::other)?;
        self.remember(converted)?;
        Ok(text)
    }

    /// Converts the session, and passes its text to `read` without keeping it.
    fn convert_facts(&self, read: &mut (dyn FnMut(&[u8]) + Send)) -> io::Result<()> {
        let mut converted = None;
        let write = &mut |out: &mut dyn Write| {
            let mut watched = WatchedWriter::new(out);
            converted = Some(self.write(HashUse::None, &mut watched));
            // The output cannot fail: it only calls `read`. `remember` returns other errors.
            Ok(())
        };
        store::read_written(write, read)?;
        self.remember(converted)
    }

    /// Converts the session, and passes its text to `read`. Keeps the end of the text.
    fn convert_end(&self, read: &mut (dyn FnMut(&[u8]) + Send)) -> io::Result<()> {
        let mut end = TextEnd::default();
        self.convert_facts(&mut |bytes| {
            end.append(bytes);
            read(bytes);
        })?;
        let _ = self.end.set(end);
        Ok(())
    }

    /// Keeps what is known after the first conversion. Later conversions have the same result,
    /// except that some do not compute the hash.
    fn remember(&self, converted: Option<io::Result<ConversionFacts>>) -> io::Result<()> {
        if let Some(converted) = converted {
            let facts = converted?;
            let _ = self.facts.set(facts);
        }
        Ok(())
    }

    /// Returns what is known of the conversion. If there was none, the first call converts the
    /// session, and keeps its text.
    fn facts(&self) -> io::Result<&ConversionFacts> {
        if self.facts.get().is_none() {
            self.text()?;
        }
        // Not missing: the conversion has set it.
        self.facts.get().ok_or(io::ErrorKind::Other.into())
    }

    /// Returns the text of the session, which is made by the first call. The last line, the record,
    /// has a placeholder in place of the hash.
    fn text(&self) -> io::Result<&Spooled> {
        if let Some(text) = self.text.get() {
            return Ok(text);
        }
        let _conversion = self.conversion.lock();
        // Another thread may have made the text while this one waited for the lock.
        if let Some(text) = self.text.get() {
            return Ok(text);
        }
        // The first conversion may be followed by a read of the whole text. A later one is for some
        // lines only: the whole text was streamed before.
        let is_first_conversion = self.facts.get().is_none();
        let kept = if is_first_conversion {
            KeptContent::Whole
        } else {
            KeptContent::SomeLines
        };
        let mut ignore_bytes = |_: &[u8]| ();
        let text = self.convert_text(kept, &mut ignore_bytes)?;
        Ok(self.text.get_or_init(|| text))
    }

    /// Reads the text at an offset, where the record has a placeholder in place of the hash.
    fn read_text_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        // The end of the text often suffices, so that all of the text need not be made.
        if self.text.get().is_none()
            && let Some(end) = self.end.get()
            && let Some(read_len) = end.read_at(buf, offset)
        {
            return Ok(read_len);
        }
        self.text()?.read_at(buf, offset)
    }

    /// Returns the line of the record. The first call computes the hash, unless the conversion has
    /// computed it.
    fn record_line(&self, record: &InPlaceRecord) -> io::Result<&Vec<u8>> {
        if let Some(line) = self.record.get() {
            return Ok(line);
        }
        let line = record.line_with_hash(&self.source)?;
        Ok(self.record.get_or_init(|| line))
    }
}

impl ReadAt for ConvertedSource {
    /// Reads the session at an offset. Its last line, the record, is read with the hash.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let facts = self.facts()?;
        if buf.is_empty() || offset >= facts.len {
            return Ok(0);
        }
        // The last byte is known without the text: each line ends with a newline. Loading a session
        // reads that byte, so this often saves making the text.
        let is_last_byte = offset + 1 == facts.len;
        if is_last_byte {
            buf[0] = b'\n';
            return Ok(1);
        }
        let Some(record) = &facts.record else {
            return self.read_text_at(buf, offset);
        };
        // A list needs no hash.
        if self.is_for_list {
            return self.read_text_at(buf, offset);
        }

        let newline_len = 1;
        let record_start = facts.len - record.line_len() - newline_len;
        if offset >= record_start {
            let line = self.record_line(record)?;
            return line.read_at(buf, offset - record_start);
        }
        let bytes_before_record = usize::try_from(record_start - offset).unwrap_or(usize::MAX);
        let len = buf.len().min(bytes_before_record);
        self.read_text_at(&mut buf[..len], offset)
    }

    /// If the file cannot be read, the length is 1: reading this byte reports the error.
    fn len(&self) -> u64 {
        self.facts().map_or(1, |facts| facts.len)
    }

    fn original_lines(&self) -> Option<&Arc<[u32]>> {
        let facts = self.facts().ok()?;
        Some(&facts.original_lines)
    }

    /// Passes the text to `read` while it is made, and keeps at least what `kept` says. `None` if
    /// the text was kept before: it can be read at offsets. `read` must not use this source.
    fn stream(
        &self,
        kept: KeptContent,
        read: &mut (dyn FnMut(&[u8]) + Send),
    ) -> Option<io::Result<()>> {
        if self.text.get().is_some() {
            return None;
        }
        match kept {
            KeptContent::Nothing => return Some(self.convert_facts(read)),
            KeptContent::End => return Some(self.convert_end(read)),
            KeptContent::SomeLines | KeptContent::Whole => {}
        }
        let _conversion = self.conversion.lock();
        // Another thread may have made the text while this one waited for the lock.
        if self.text.get().is_some() {
            return None;
        }

        match self.convert_text(kept, read) {
            Ok(text) => {
                // The text is set only under the lock, and it was not set above.
                let _ = self.text.set(text);
                Some(Ok(()))
            }
            Err(error) => Some(Err(error)),
        }
    }
}

/// Passes bytes on and counts them, and remembers whether that failed, to tell errors of the output
/// from those of the input.
struct WatchedWriter<'w> {
    out: &'w mut dyn Write,
    count: u64,
    has_failed: bool,
}

impl WatchedWriter<'_> {
    fn new(out: &mut dyn Write) -> WatchedWriter<'_> {
        WatchedWriter {
            out,
            count: 0,
            has_failed: false,
        }
    }

    /// Returns the error of the output, if that is why the conversion with this `result` failed.
    /// `Ok` if it succeeded or failed otherwise.
    fn output_result<T>(&self, result: &io::Result<T>) -> io::Result<()> {
        match result {
            Err(error) if self.has_failed => Err(io::Error::from(error.kind())),
            _ => Ok(()),
        }
    }
}

impl Write for WatchedWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes);
        match &written {
            Ok(count) => self.count += *count as u64,
            Err(_) => self.has_failed = true,
        }
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.out.flush();
        self.has_failed |= flushed.is_err();
        flushed
    }
}

/// The first bytes of a session as pi and oh-my-pi write it. Other programs may write it
/// differently.
const HEADER_STARTS: [&[u8]; 2] = [b"{\"type\":\"session\"", b"{\"type\":\"title\""];

/// Whether a file is a session of another agent. Usual sessions of pi and oh-my-pi are recognized
/// by their first bytes, so that the check takes no time for them.
pub fn is_foreign_session(source: &dyn ReadAt) -> io::Result<bool> {
    let longest = HEADER_STARTS[0].len() as u64;
    let start = source.read_range(0..source.len().min(longest))?;
    if HEADER_STARTS.iter().any(|header| start.starts_with(header)) {
        return Ok(false);
    }
    Ok(Origin::detect(source)?.is_some())
}

/// Returns the failure for a file that could not be loaded. If another agent wrote the file, the
/// failure names that agent and `import`.
pub fn load_failure(name: &str, source: &dyn ReadAt, error: LoadError) -> Failure {
    let begins_without_header = matches!(
        &error,
        LoadError::NotASession {
            what: WrongFile::OtherFirst | WrongFile::NoHeader,
            ..
        }
    );
    if begins_without_header && let Ok(Some(origin)) = Origin::detect(source) {
        return foreign_session_failure(name, origin);
    }
    Failure::from_load_error(name, error)
}

/// Returns the failure for a session of another agent.
fn foreign_session_failure(name: &str, origin: Origin) -> Failure {
    let agent = origin.display_name();
    let what = format_args!("{name}: not a session of pi or oh-my-pi, but of {agent}");
    // `name` is escaped for display, so only a plain one can be copied into a command.
    let import = if name.chars().all(is_plain_in_shell) {
        format!("`pisess import {name}`")
    } else {
        "`pisess import` with its path".to_owned()
    };
    let source = origin.name();
    let hint = format!(
        "{import} converts it; commands that only read, such as `tree`, accept it; \
         `pisess list --source {source}` lists it"
    );
    Failure::new(Exit::Failed, FailureKind::Session, what)
        .with_path(name)
        .with_hint(hint)
}
