//! Finds the header for a session that does not begin with one: on a later line, or else from the
//! name and the folder of the file.
//!
//! Such a file is left when a session is removed while its agent runs: the agent goes on to append
//! entries, so the first value of the new file is an entry. No agent opens it.

use super::resync::is_entry;
use crate::load::LoadError;
use crate::session::entry::LineNo;
use crate::session::read::header::{WrongFile, is_title_slot};
use crate::session::read::line_chunks::{Line, for_each_line};
use crate::session::read::record::{Member, Record, scan_record};
use pisess_json::write::Object;
use pisess_json::{Raw, Scanner};
use pisess_store::ReadAt;
use std::io;

/// Facts from where a session is stored, with which its header should agree.
#[derive(Clone, Default)]
pub struct SessionLocation<'a> {
    /// The name of the session's file without `.jsonl`.
    pub name: Option<String>,
    /// Returns the working directory for a new header, if one can be found. If this function is
    /// `None`, no header may be added.
    pub find_cwd: Option<&'a dyn Fn() -> Option<FoundCwd>>,
}

/// A working directory for a new header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundCwd {
    /// Its path.
    pub path: String,
    /// Where the path was found, as a phrase for a message.
    pub source: String,
}

/// The parts of the name that the agents give to a session file: `2026-01-01T00-00-00-000Z_ID`.
pub(super) struct SessionFileName<'n> {
    /// The time as in a header, such as `2026-01-01T00:00:00.000Z`.
    pub timestamp: String,
    pub id: &'n str,
}

impl<'n> SessionFileName<'n> {
    /// Parses a file name without `.jsonl`, such as `2026-01-31T12-00-00-000Z_0196…`: a time, an
    /// underscore and an id. In the time, `-` replaces `:` and `.`, which some file systems refuse.
    /// `None` for a name of any other form.
    pub fn parse(name: &'n str) -> Option<Self> {
        let (time, id) = name.split_once('_')?;
        if !is_time_in_name(time) || id.is_empty() {
            return None;
        }
        // The time has a fixed length, and is ASCII, so slices cannot fail: `12-00-00-000Z`.
        let (date, clock) = time.split_at("0000-00-00T".len());
        let hours = &clock[..2];
        let minutes = &clock[3..5];
        let seconds = &clock[6..8];
        let milliseconds = &clock[9..];
        Some(SessionFileName {
            timestamp: format!("{date}{hours}:{minutes}:{seconds}.{milliseconds}"),
            id,
        })
    }
}

/// Whether the part of a file name before its id looks like `2026-01-01T00-00-00-000Z`. The value
/// of each number is not checked.
fn is_time_in_name(time: &str) -> bool {
    /// `0` is any digit, and any other character is itself.
    const SHAPE: &[u8] = b"0000-00-00T00-00-00-000Z";
    if time.len() != SHAPE.len() {
        return false;
    }
    for (byte, shape) in time.bytes().zip(SHAPE) {
        let fits = match shape {
            b'0' => byte.is_ascii_digit(),
            _ => byte == *shape,
        };
        if !fits {
            return false;
        }
    }
    true
}

/// A header to put before the first entry.
pub(super) struct NewHeader {
    pub line: Vec<u8>,
    /// The line of the source that contains the header; `None` if the header is new.
    pub source_line: Option<LineNo>,
    /// What the fix of the finding says: where the header comes from.
    pub fix: String,
    /// Whether the header is of version 1.
    pub is_version_1: bool,
}

/// Whether a file may be a session that only lacks its header, given why it failed to load: it
/// begins with another value than a header, or has none after its title line.
pub(super) fn may_lack_header(error: &LoadError) -> bool {
    matches!(
        error,
        LoadError::NotASession {
            what: WrongFile::NoHeader
                | WrongFile::OtherFirst
                | WrongFile::EntryFirst
                | WrongFile::OnlyTitle,
            ..
        }
    )
}

/// Returns the header for a file that does not begin with one: the header on a later line, or else
/// a new one. `None` if the file is not a session, if its name is not known, or if no header may be
/// added ([`SessionLocation::find_cwd`]).
pub(super) fn find_header(
    source: &dyn ReadAt,
    location: &SessionLocation,
) -> io::Result<Option<NewHeader>> {
    let Some(find_cwd) = location.find_cwd else {
        return Ok(None);
    };
    let Some(name) = &location.name else {
        return Ok(None);
    };
    let mut file = HeaderlessFile::default();
    let mut line_count = 0;
    // The whole file is read, because a header may be on any line.
    for_each_line(source, 0..source.len(), |line| {
        line_count += 1;
        file.add_line(LineNo(line_count), &line);
        Ok::<(), io::Error>(())
    })?;
    if !file.is_session() {
        return Ok(None);
    }
    if let Some(header) = file.header {
        return Ok(Some(NewHeader {
            line: header.bytes,
            source_line: Some(header.number),
            fix: format!("line {} moves there", header.number.0),
            is_version_1: false,
        }));
    }
    Ok(Some(file.build_header(name, find_cwd())))
}

/// What was read so far of a file that does not begin with a header.
#[derive(Default)]
struct HeaderlessFile {
    first_value: FirstValue,
    /// Whether the first entry has an id and a parent, as since version 2.
    has_ids: bool,
    /// Whether a message has the role `hookMessage`, which version 3 renamed.
    has_old_role: bool,
    /// The first timestamp in the file.
    time: Option<String>,
    /// The first header that has an id.
    header: Option<LateHeader>,
}

/// The kind of the first value of a file. The file is a session only if this is an entry.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum FirstValue {
    #[default]
    NotReadYet,
    Entry,
    Other,
}

/// A header that is not at the beginning of its file.
struct LateHeader {
    number: LineNo,
    bytes: Vec<u8>,
}

impl HeaderlessFile {
    fn is_session(&self) -> bool {
        self.first_value == FirstValue::Entry
    }

    /// Collects what the header needs from the next line. Blank lines and oh-my-pi's title line are
    /// skipped. Once the file is known not to be a session
    /// ([`FirstValue::Other`]), nothing more is collected.
    fn add_line(&mut self, number: LineNo, line: &Line) {
        let is_blank = Scanner::new(line.bytes).at_end();
        if is_blank || self.first_value == FirstValue::Other {
            return;
        }
        let Some(record) = scan_single_value(line.bytes) else {
            self.add_broken_line(line);
            return;
        };
        let is_title = number.0 == 1 && is_title_slot(Raw::from_checked(record.bytes));
        if is_title {
            return;
        }
        if self.first_value == FirstValue::NotReadYet {
            self.set_first_value(&record);
        }
        self.collect_header_facts(number, &record);
    }

    /// Adds a line that is not exactly one value. If it is the first line, the file is not a
    /// session. The exception is a header whose write was interrupted: the lines after it may be
    /// entries.
    fn add_broken_line(&mut self, line: &Line) {
        let is_torn_header = line.bytes.starts_with(b"{\"type\":\"session\"");
        if self.first_value == FirstValue::NotReadYet && !is_torn_header {
            self.first_value = FirstValue::Other;
        }
    }

    /// Decides from the first value whether the file is a session, and whether its entries have
    /// ids, which entries of version 1 do not have.
    fn set_first_value(&mut self, record: &Record) {
        self.first_value = if is_entry(record) {
            FirstValue::Entry
        } else {
            FirstValue::Other
        };
        self.has_ids = record.id.is_some() && record.get(Member::ParentId).is_some();
    }

    /// Collects what a value says for the new header: a later header, roles of old versions, and
    /// the first time in the file.
    fn collect_header_facts(&mut self, number: LineNo, record: &Record) {
        let is_header = record.kind.is_some_and(|kind| kind.is("session")) && record.id.is_some();
        if is_header && self.header.is_none() {
            self.header = Some(LateHeader {
                number,
                bytes: record.bytes.to_vec(),
            });
        }

        // Only messages of versions before 3 have this role.
        let role = record.message.as_ref().and_then(|message| message.role);
        if role.is_some_and(|role| role.is("hookMessage")) {
            self.has_old_role = true;
        }
        // A new header gets the first time in the file.
        if self.time.is_none() {
            self.time = record.timestamp.map(|time| time.text().to_string());
        }
    }

    /// Returns a new header for a file with this name. Its id and time are those in the name. If
    /// the name does not have the agents' form, the whole name is the id, and the time is the time
    /// of the first entry.
    fn build_header(&self, name: &str, cwd: Option<FoundCwd>) -> NewHeader {
        let (id, time, time_source) = match SessionFileName::parse(name) {
            // The agent put the id and the time of the lost header into the name.
            Some(parts) => (parts.id, Some(parts.timestamp), "the file's name"),
            None => (name, self.time.clone(), "the first entry"),
        };
        let version = self.version();
        let line = Object::new()
            .str("type", "session")
            .with(version, |header, version| header.number("version", version))
            .str("id", id)
            .with(time.as_ref(), |header, time| header.str("timestamp", time))
            .with(cwd.as_ref(), |header, cwd| header.str("cwd", &cwd.path))
            .finish();

        // The fix says where each value is from.
        let mut values = vec![format!("the id {id:?} from the file's name")];
        if time.is_some() {
            values.push(format!("the time from {time_source}"));
        }
        values.push(match &cwd {
            Some(cwd) => format!("the directory {:?} from {}", cwd.path, cwd.source),
            None => "no directory, as none is known (hint: --cwd)".to_owned(),
        });
        NewHeader {
            line,
            source_line: None,
            fix: format!("it gets one: {}", values.join(", ")),
            is_version_1: version.is_none(),
        }
    }

    /// Returns the version of the format, which follows from the ids and roles of the entries.
    /// `None` is version 1, whose header has no version.
    fn version(&self) -> Option<f64> {
        if !self.has_ids {
            None
        } else if self.has_old_role {
            Some(2.0)
        } else {
            Some(3.0)
        }
    }
}

/// Returns the record of a line; `None` if the line is not exactly one value.
fn scan_single_value(line: &[u8]) -> Option<Record<'_>> {
    let mut scanner = Scanner::new(line);
    let record = scan_record(&mut scanner, &mut Vec::new()).ok()?;
    if scanner.at_end() { Some(record) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_agents_have_a_time_and_an_id() {
        let parts = SessionFileName::parse("2026-03-14T09-26-53-589Z_3b9f_x").unwrap();
        assert_eq!(parts.timestamp, "2026-03-14T09:26:53.589Z");
        assert_eq!(parts.id, "3b9f_x");
        for name in [
            "session",
            "2026-03-14_x",
            "2026-03-14T09-26-53-589Z_",
            "ä026-03-14T09-26-53-589Z_x",
        ] {
            assert!(SessionFileName::parse(name).is_none(), "{name}");
        }
    }
}
