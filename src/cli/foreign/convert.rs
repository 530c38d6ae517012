//! Reads the sessions of other agents: a survey, and the session of pi that `import` would make.

use crate::cli::output::{Exit, Failure, FailureKind, to_visible};
use crate::cli::process::command_line::is_plain_in_shell;
use crate::cli::rollouts::{Rollouts, open_source};
use crate::import::{
    self, InPlaceSession, InPlaceUse, JoinedSource, Origin, SourceHead, Survey, WrittenLines,
    write_head_in_place, write_in_place,
};
use crate::load::{LoadError, WrongFile};
use crate::session::prefilter::Prefilter;
use pisess_json::text::Text;
use pisess_store::{self as store, ReadAt, Spooled};
use std::io::{self, Write};
use std::path::Path;

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
    (!folder.is_empty()).then(|| Text::from(folder.to_owned()))
}

/// A file of another agent, and the session of pi that `import` would make of it.
pub struct ConvertedFile {
    pub head: SourceHead,
    /// The number of messages in the file.
    pub message_count: usize,
    pub session: Spooled,
}

/// Converts a file into a session of pi whose lines keep the line numbers of the file. `None` if no
/// supported agent wrote the file.
///
/// With `words`, which is a prefilter for converted text, only the header is converted if no entry
/// can contain a word.
pub fn convert_file_with_lines(
    path: &Path,
    rollouts: &Rollouts,
    words: Option<&Prefilter>,
) -> Result<Option<ConvertedFile>, Failure> {
    let Some(conversion) = convert(path, rollouts, InPlaceUse::ReadEntries, words)? else {
        return Ok(None);
    };
    let numbers = conversion
        .source
        .line_numbers(&conversion.lines.offsets, &conversion.source_line_starts);
    let mut file = conversion.file;
    file.session = file.session.with_original_lines(Some(numbers.into()));
    Ok(Some(file))
}

/// Converts a file as [`convert_file_with_lines`] does, to list the session: without line numbers.
pub fn convert_file_to_list(
    path: &Path,
    rollouts: &Rollouts,
) -> Result<Option<ConvertedFile>, Failure> {
    let conversion = convert(path, rollouts, InPlaceUse::List, None)?;
    Ok(conversion.map(|conversion| conversion.file))
}

/// A source, and the session of pi into which it was converted.
struct Conversion {
    source: JoinedSource,
    file: ConvertedFile,
    lines: WrittenLines,
    /// The offset of each line of the source.
    source_line_starts: Vec<u64>,
}

/// Converts a file into a session of pi as [`convert_file_with_lines`] does.
fn convert(
    path: &Path,
    rollouts: &Rollouts,
    used_for: InPlaceUse,
    words: Option<&Prefilter>,
) -> Result<Option<Conversion>, Failure> {
    let source = rollouts.open(path)?;
    let Some(head) = read_opened_head(&source, path)? else {
        return Ok(None);
    };
    let has_words = match words {
        Some(words) => import::may_contain(&source, head.origin, words)
            .map_err(|error| unreadable_source(path, error))?,
        None => true,
    };
    let mut converted = Ok(InPlaceSession::default());
    // `spool_written` returns only the copy, so the result of the conversion is assigned here.
    let session = store::spool_written(&mut |out| {
        let mut watched = WatchedWriter {
            out,
            has_failed: false,
        };
        converted = if has_words {
            write_in_place(&source, &head, used_for, &mut watched)
        } else {
            write_head_in_place(&head, &mut watched)
        };
        match &converted {
            // The copy could not be written, which `spool_written` reports.
            Err(error) if watched.has_failed => Err(io::Error::from(error.kind())),
            // An error is one of the source, and is reported below.
            _ => Ok(()),
        }
    })?;
    let converted = converted.map_err(|error| unreadable_source(path, error))?;
    Ok(Some(Conversion {
        source,
        file: ConvertedFile {
            head,
            message_count: converted.message_count,
            session,
        },
        lines: converted.lines,
        source_line_starts: converted.source_line_starts,
    }))
}

/// Passes bytes on, and remembers whether that failed, to tell errors of the output from those of
/// the input.
struct WatchedWriter<'w> {
    out: &'w mut dyn Write,
    has_failed: bool,
}

impl Write for WatchedWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes);
        self.has_failed |= written.is_err();
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
        let agent = origin.display_name();
        let what = format_args!("{name}: not a session of pi or oh-my-pi, but of {agent}");
        let import = if name.chars().all(is_plain_in_shell) {
            format!("`pisess import {name}`")
        } else {
            "`pisess import` with its path".to_owned()
        };
        let source = origin.name();
        let hint = format!(
            "{import} converts it; commands that only read, such as `tree`, accept it; `pisess list --source {source}` lists it"
        );
        return Failure::new(Exit::Failed, FailureKind::Session, what)
            .with_path(name)
            .with_hint(hint);
    }
    Failure::from_load_error(name, error)
}
