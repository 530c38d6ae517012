//! Reads the lines before the entries: the title line of oh-my-pi (the title slot) and the header.
//! Determines whether a file is a session.

use crate::session::content::member_is;
use crate::session::defect::FindingKind;
use crate::session::entry::{LineNo, Span};
use crate::session::read::line_chunks::{Line, LineChunk, read_chunks};
use crate::session::{Format, Header, Problem};
use pisess_json::text::Text;
use pisess_json::{Raw, js, range_in};
use pisess_store::{PageBuffer, ReadAt};
use std::io;
use std::ops::ControlFlow;

/// Why a file cannot be loaded: it is not a session, or cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file is not a session that can be read here.
    #[error("{what}")]
    NotASession {
        /// The line that shows it, if a line does.
        line: Option<LineNo>,
        /// The reason.
        what: WrongFile,
    },
    /// Reading failed.
    #[error("reading it failed: {0}")]
    Io(#[from] io::Error),
    /// The strings of its entries exceed 4 GiB.
    #[error("its ids and rows exceed 4 GiB")]
    TooLarge,
}

/// Why a file is not a session.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WrongFile {
    /// The file is empty.
    #[error("the file is empty")]
    Empty,
    /// No line parses.
    #[error("no session header")]
    NoHeader,
    /// The file contains only oh-my-pi's title line.
    #[error("a title line without a session header")]
    OnlyTitle,
    /// Lines end with carriage returns alone.
    #[error("its lines end with carriage returns only")]
    CarriageReturns,
    /// The first value is not a header.
    #[error("not a session: this value is not a session header")]
    OtherFirst,
    /// The first value is an entry. An agent that appends to a file that was moved makes such a
    /// file.
    #[error("not a session: its entries have no session header")]
    EntryFirst,
    /// After the header, there are events of `pi --mode json`.
    #[error("not a session, but the events that `pi --mode json` prints")]
    EventStream,
    /// The id in the header is not a string.
    #[error("the session header has no id")]
    NoSessionId,
    /// The format is newer than version 3.
    #[error("format {0} is newer than pisess supports")]
    Newer(String),
}

impl WrongFile {
    /// Returns the hint that is printed below the error: what to try instead.
    pub fn hint(&self) -> &'static str {
        match self {
            WrongFile::Empty => "an agent writes the header with the first message",
            WrongFile::CarriageReturns => {
                "convert the line endings, for example with: tr '\\r' '\\n'"
            }
            WrongFile::EventStream => {
                "pi writes the session itself to its store, unless it runs with --no-session"
            }
            WrongFile::Newer(_) => {
                "pisess supports version 3 and older, which the coding agents write"
            }
            WrongFile::EntryFirst => {
                "if the session was moved while an agent had it open, the agent continued here; see `pisess check`"
            }
            WrongFile::OnlyTitle
            | WrongFile::NoHeader
            | WrongFile::OtherFirst
            | WrongFile::NoSessionId => {
                "a session of pi or oh-my-pi starts with {\"type\":\"session\",\"id\":…}"
            }
        }
    }
}

/// The lines up to and including the header.
#[derive(Debug)]
pub struct Preamble {
    /// The header.
    pub header: Header,
    /// The format according to the header. A file of version 1 may turn out to be in the draft tree
    /// format.
    pub format: Format,
    /// The title line of oh-my-pi.
    pub title_slot: Option<Vec<u8>>,
    /// The problems of these lines.
    pub problems: Vec<Problem>,
    /// The offset of the first entry, after the newline of the header line.
    pub end: u64,
    /// The number of physical lines up to and including the header.
    pub line_count: u32,
}

/// The number of bytes to read first in search of the header; doubled each time.
const FIRST_READ_LEN: u64 = 4096;

/// Reads the file up to and including its header. The header is the first value of the file, except
/// oh-my-pi's title line. As in the agents, a value that JavaScript treats as false (`null`, `0`,
/// `""`, `false`) does not count.
pub fn read_preamble(source: &dyn ReadAt) -> Result<Preamble, LoadError> {
    let mut search = HeaderSearch::default();
    let Some(found) = search.search(source)? else {
        let has_title = search.title_slot.is_some();
        return Err(LoadError::NotASession {
            line: None,
            what: explain_missing_header(source, has_title)?,
        });
    };
    Ok(Preamble {
        header: found.header,
        format: found.format,
        title_slot: search.title_slot,
        problems: search.problems,
        end: found.line_end,
        line_count: search.line_count,
    })
}

/// What is known of the lines read so far.
#[derive(Default)]
struct HeaderSearch {
    /// The title line of oh-my-pi.
    title_slot: Option<Vec<u8>>,
    problems: Vec<Problem>,
    /// The number of lines up to here, that of the header included once it is found.
    line_count: u32,
}

/// The types of events that can follow the header in the output of `pi --mode json`. No entry has
/// such a type.
const FIRST_EVENTS: [&str; 6] = [
    "agent_start",
    "turn_start",
    "message_start",
    "queue_update",
    "compaction_start",
    "auto_retry_start",
];

/// Whether a line is one of the [`FIRST_EVENTS`]. pi writes `type` as the first member, so the line
/// is not parsed.
fn is_event(line: &[u8]) -> bool {
    let Some(from_type) = line.strip_prefix(b"{\"type\":\"") else {
        return false;
    };
    let mut parts = from_type.split(|&byte| byte == b'"');
    let event_type = parts.next().unwrap_or_default();
    FIRST_EVENTS
        .iter()
        .any(|event| event.as_bytes() == event_type)
}

/// A header that was found on a line.
struct FoundHeader {
    header: Header,
    format: Format,
    /// The offset after the newline of the line.
    line_end: u64,
}

impl HeaderSearch {
    /// Searches a file from its start; `None` if it has no header.
    ///
    /// The file is read in steps, each of which ends at twice the offset of the one before. Most
    /// headers are in the first step.
    fn search(&mut self, source: &dyn ReadAt) -> Result<Option<FoundHeader>, LoadError> {
        let mut buffer = PageBuffer::default();
        let mut start = 0;
        while start < source.len() {
            let end = (2 * start).max(FIRST_READ_LEN).min(source.len());
            // A step has the lines that begin in it, the last of which may end after it.
            let flow = read_chunks(&mut buffer, source, start..end, |chunk| {
                match self.search_chunk(chunk) {
                    Ok(None) => ControlFlow::Continue(()),
                    header_or_error => ControlFlow::Break(header_or_error),
                }
            })?;
            if let ControlFlow::Break(header_or_error) = flow {
                return header_or_error;
            }
            start = end;
        }
        Ok(None)
    }

    /// Searches the next lines for the header, and counts them up to it. `None` if it may follow;
    /// an error if the file cannot be a session.
    fn search_chunk(&mut self, chunk: LineChunk) -> Result<Option<FoundHeader>, LoadError> {
        let mut lines = chunk.lines();
        while let Some(line) = lines.next() {
            self.line_count += 1;
            let Some(found) = self.examine_line(&line)? else {
                continue;
            };
            // The output of `pi --mode json` starts with a header as well.
            if lines.next().is_some_and(|next| is_event(next.bytes)) {
                return Err(LoadError::NotASession {
                    line: Some(LineNo(self.line_count + 1)),
                    what: WrongFile::EventStream,
                });
            }
            return Ok(Some(found));
        }
        Ok(None)
    }

    /// Returns the header if it is on the line that was counted last; an error if the file cannot
    /// be a session.
    ///
    /// `None` means that the header may follow. The line is then one of these:
    ///
    /// - a blank line;
    /// - a line that is not JSON, or a value that JavaScript treats as false, which becomes a
    ///   problem;
    /// - the title line of oh-my-pi, which is stored.
    fn examine_line(&mut self, line: &Line) -> Result<Option<FoundHeader>, LoadError> {
        // A byte order mark is a problem only of the file's start, and does not belong to the
        // value.
        let mut unmarked_line = line.bytes;
        if line.span.start == 0
            && let Some(unmarked) = line.bytes.strip_prefix(b"\xef\xbb\xbf")
        {
            self.add_problem(FindingKind::ByteOrderMark);
            unmarked_line = unmarked;
        }
        if unmarked_line.trim_ascii().is_empty() {
            return Ok(None);
        }
        let Ok(value) = Raw::parse(unmarked_line) else {
            self.add_problem(FindingKind::MalformedLine);
            return Ok(None);
        };
        if !value.is_truthy() {
            self.add_problem(FindingKind::NotAnEntry);
            return Ok(None);
        }
        if self.line_count == 1 && is_title_slot(value) {
            self.title_slot = Some(unmarked_line.to_vec());
            return Ok(None);
        }

        let format = self.check_header(value)?;
        // White space and a byte order mark may precede the value in its line.
        let offset_in_line = range_in(value.bytes(), line.bytes).start;
        let header = Header {
            span: Span {
                start: line.span.start + offset_in_line as u64,
                len: value.bytes().len() as u64,
            },
            line: LineNo(self.line_count),
            id: owned_text(value, "id").unwrap_or_default(),
            cwd: owned_text(value, "cwd"),
            timestamp: owned_text(value, "timestamp"),
            bytes: value.bytes().to_vec(),
        };
        Ok(Some(FoundHeader {
            header,
            format,
            line_end: line.span.end() + u64::from(line.has_newline),
        }))
    }

    /// Checks the first value of the file, which must be a header, and returns the format that its
    /// version stands for; an error if the file cannot be a session. `line_count` must be the
    /// number of the header's line, for errors.
    ///
    /// A version that is not a number is converted as JavaScript does, and becomes a problem.
    fn check_header(&mut self, header: Raw) -> Result<Format, LoadError> {
        if let Some(mut what) = find_wrong_header(header) {
            // An earlier line that does not parse may be the damaged header. Then it would be wrong
            // to report that the entries have none.
            let may_be_damaged = !self.problems.is_empty();
            if what == WrongFile::EntryFirst && may_be_damaged {
                what = WrongFile::OtherFirst;
            }
            return Err(LoadError::NotASession {
                line: Some(LineNo(self.line_count)),
                what,
            });
        }
        let stored_version = header.get("version");
        if stored_version.is_some_and(|version| !version.is_number()) {
            self.add_problem(FindingKind::OddVersion);
        }
        Ok(format_of_version(version_number(header)))
    }

    /// Adds a problem of the line that was counted last.
    fn add_problem(&mut self, kind: FindingKind) {
        self.problems.push(Problem {
            line: LineNo(self.line_count),
            kind,
        });
    }
}

/// Returns the format for the version in a header, as the agents compare it.
fn format_of_version(version: f64) -> Format {
    if version < 2.0 {
        Format::V1
    } else if version < 3.0 {
        Format::V2
    } else {
        // `NaN` is not less than any number, so neither agent migrates the file.
        Format::V3
    }
}

fn owned_text(object: Raw, key: &str) -> Option<Text<'static>> {
    object.get_text(key).map(Text::into_owned)
}

/// Returns why a file without a header is not a session. `has_title` is whether it begins with
/// oh-my-pi's title line.
fn explain_missing_header(source: &dyn ReadAt, has_title: bool) -> Result<WrongFile, LoadError> {
    if source.is_empty() {
        return Ok(WrongFile::Empty);
    }
    let start = source.read_range(0..source.len().min(FIRST_READ_LEN))?;
    Ok(if has_title {
        WrongFile::OnlyTitle
    } else if start.contains(&b'\r') && !start.contains(&b'\n') {
        WrongFile::CarriageReturns
    } else {
        WrongFile::NoHeader
    })
}

/// Whether a value is oh-my-pi's title line, by the rules of its `parseTitleSlotObject`: version 1,
/// three strings and, if there is a source, a known one. As there, the length of the line does not
/// matter.
pub fn is_title_slot(value: Raw) -> bool {
    let is_title = value.get("type").is_some_and(|kind| kind.is("title"));
    if !is_title || value.get("v").and_then(Raw::number) != Some(1.0) {
        return false;
    }
    for key in ["title", "updatedAt", "pad"] {
        if !value.get(key).is_some_and(Raw::is_string) {
            return false;
        }
    }
    match value.get("source") {
        Some(source) => source.is("auto") || source.is("user"),
        None => true,
    }
}

/// Returns why the first value of a file is not a header that pisess can read; `None` if it is one.
fn find_wrong_header(value: Raw) -> Option<WrongFile> {
    // Version 4, which pi's newer harness writes, but not its coding agent. Its header has `kind`
    // and `v` in place of `type` and `version`.
    if member_is(value, "kind", "header")
        && let Some(version) = value.get("v")
        && version.is_number()
    {
        let version = String::from_utf8_lossy(version.bytes());
        return Some(WrongFile::Newer(format!("v{version}")));
    }
    if is_entry(value) {
        return Some(WrongFile::EntryFirst);
    }
    if !member_is(value, "type", "session") {
        return Some(WrongFile::OtherFirst);
    }
    if !value.get("id").is_some_and(Raw::is_string) {
        return Some(WrongFile::NoSessionId);
    }
    if version_number(value) > 3.0 {
        let stored = value.get("version").map_or(&b""[..], Raw::bytes);
        let version = String::from_utf8_lossy(stored);
        return Some(WrongFile::Newer(format!("version {version}")));
    }
    None
}

/// Whether a value has the members that every entry has. A header does not have them, nor does a
/// line of another tool.
fn is_entry(value: Raw) -> bool {
    let has_texts = ["type", "id", "timestamp"]
        .iter()
        .all(|key| value.get(key).is_some_and(Raw::is_string));
    let has_parent = value
        .get("parentId")
        .is_some_and(|parent| parent.is_string() || parent.is_null());
    has_texts && has_parent && !member_is(value, "type", "session")
}

/// Returns the header's version as the agents compare it: `Number(header.version ?? 1)`.
pub fn version_number(header: Raw) -> f64 {
    header.get_some("version").map_or(1.0, js::to_number)
}
