//! The format of the pruned file: the file beside a session with the content that was pruned from
//! it.
//!
//! The first line has the id of the session and the operations, oldest first. Each operation has
//! the number of its records. The records follow, in the order of the operations:
//!
//! ```text
//! {"session":"…","operations":[{"operation":"payloads","records":1,…},{"operation":"branch","records":3,…}],"frameCrc":…}
//! {"id":"a1","line":4,"field":"message.content[1]","kind":"image",…,"note":{…},"payload":{…}}
//! {"id":"b7","line":9,"kind":"entry",…,"after":"b6","distance":1,"payload":{…}}
//! {"id":"c3","line":12,"field":"parentId","kind":"link",…,"note":"b6","payload":"b7"}
//! {"id":"d2","line":15,"kind":"mark",…,"payload":{…}}
//! {"id":"e5","line":17,"field":"message.content","kind":"secret",…,"note":"key [REDACTED:…#1]","payload":"key …"}
//! {"id":null,"line":18,"kind":"malformed",…,"noteBytes":40,"noteCrc":…,"payload":…}
//! ```
//!
//! The records of this example are those of a value that was replaced by a placeholder (`note`), of
//! a line that was removed, of a link that was changed, of a line that was added (the mark), of a
//! string with a secret, and of a line with a secret that is not JSON. An empty `field` is the path
//! of the whole line.
//!
//! `payload` is always the last member, with the original bytes of the session. Two checksums
//! precede it: `crc` is that of the payload, and `frameCrc` that of the other members (see
//! [`checksum`]). `line` is the line number before the operation. A removed entry was `distance`
//! lines after the entry `after`, which stayed; `null` is the header. A file that an earlier
//! version of pisess wrote has no such first line, and only records of values.

use super::checksum;
use super::digest::SessionDigest;
use crate::ops::plan::next_line_start;
use crate::session::entry::{LineNo, Span};
use crate::session::read::line_chunks::{Line, for_each_line};
use memchr::memmem;
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_json::write::Object;
use pisess_store::{ReadAt, copy_range};
use serde::Serialize;
use std::io::{self, Write};

/// The bytes between the other members of a record and its payload.
const PAYLOAD_MEMBER: &[u8] = b",\"payload\":";
/// The name of the operation that prunes payloads.
pub const PAYLOADS_OPERATION: &str = "payloads";
/// The name of the operation that prunes strings with secrets.
pub const SECRETS_OPERATION: &str = "secrets";
/// The `kind` of a record of a string with secrets, or of a larger part of a line.
pub const SECRET_KIND: &str = "secret";
/// The `kind` of a record of a line with secrets that is not JSON.
pub const MALFORMED_KIND: &str = "malformed";
/// The `kind` of a record of a line that was removed.
pub const ENTRY_KIND: &str = "entry";
/// The `kind` of a record of a line that was added.
pub const MARK_KIND: &str = "mark";
/// The `kind` of a record of a reference to a removed entry, or of the label of one.
pub const LINK_KIND: &str = "link";

/// One run of `prune`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Operation {
    /// The name, such as `payloads`.
    #[serde(rename = "operation")]
    pub name: String,
    /// The number of records.
    pub records: usize,
    /// The number of removed entries.
    pub entries: usize,
    /// The number of removed branches.
    pub branches: usize,
    /// The session before the run; `None` if an earlier version of pisess pruned it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<SessionDigest>,
}

/// A record of the pruned file.
#[derive(Clone, Debug)]
pub struct PrunedRecord {
    /// The id of the entry; empty if it has none.
    pub id: Text<'static>,
    /// The line number of the entry before the operation.
    pub line: LineNo,
    /// The change that the record describes.
    pub kind: RecordKind,
    /// Whether the line of the entry ended with a newline; for a mark, whether the line before it
    /// did.
    pub has_newline: bool,
    /// The location of the record in the pruned file.
    pub spans: RecordSpans,
}

/// The location of a record in the pruned file.
#[derive(Clone, Copy, Debug)]
pub struct RecordSpans {
    /// The members before `frameCrc`, which is the checksum of these bytes.
    members: Span,
    /// The original bytes of the session.
    pub payload: Span,
}

impl RecordSpans {
    /// Copies the record to another pruned file. The checksum `frameCrc` is computed again, because
    /// a record of an earlier version has none.
    pub fn copy_record(&self, pruned: &dyn ReadAt, out: &mut dyn Write) -> io::Result<()> {
        let mut beginning = pruned.read_range(self.members.range())?.to_vec();
        checksum::append_checksum(&mut beginning);
        out.write_all(&beginning)?;
        out.write_all(PAYLOAD_MEMBER)?;
        copy_range(pruned, self.payload.range(), out)?;
        out.write_all(b"}\n")
    }
}

/// The path of a whole line.
pub const WHOLE_LINE: &str = "";

/// The change that a record describes.
#[derive(Clone, Debug)]
pub enum RecordKind {
    /// A value that was replaced.
    Value {
        /// The path of the value in the line.
        field: String,
        /// The JSON that replaced the value.
        placeholder: Vec<u8>,
        /// Whether the value was a reference to a removed entry, or the label of one.
        is_link: bool,
    },
    /// A line that was removed.
    Entry {
        /// The id of the last entry before it that stayed; `None` for the header.
        after: Option<Text<'static>>,
        /// The number of lines from that entry (or the header) to the removed line.
        distance: u32,
    },
    /// A line that is not JSON, in which secrets were replaced.
    MalformedLine {
        /// The length of the line with placeholders, in bytes.
        redacted_len: u64,
        /// The CRC-32 of the line with placeholders.
        redacted_crc: u32,
    },
    /// A line that was added at the end.
    Mark,
}

/// The reason why a file is not a valid pruned file.
#[derive(Debug, thiserror::Error)]
pub enum PrunedFileError {
    /// It cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A line does not have the format that pruning writes.
    #[error("the line is not a pruned payload")]
    NotAPayload {
        /// Its number.
        line: LineNo,
    },
    /// A line has changed since it was written.
    #[error("the line is damaged: its bytes do not have the checksum that was recorded")]
    Damaged {
        /// Its number.
        line: LineNo,
    },
    /// The file has fewer or more records than its first line states.
    #[error("the file is damaged: it should have {wanted} lines")]
    OtherLength {
        /// The number of lines that it should have.
        wanted: usize,
    },
    /// The file belongs to another session.
    #[error("the file belongs to another session: {id}")]
    OtherSession {
        /// The id of that session.
        id: String,
    },
}

impl PrunedFileError {
    /// Returns the number of the invalid line, if the error is in one line.
    pub fn line(&self) -> Option<LineNo> {
        match self {
            PrunedFileError::NotAPayload { line } | PrunedFileError::Damaged { line } => {
                Some(*line)
            }
            _ => None,
        }
    }
}

/// Returns the operations in the first line of a pruned file, without reading its records. Empty
/// for a file of an earlier version.
///
/// # Errors
/// If the file cannot be read, its first line is damaged, or it belongs to another session.
pub fn read_operations(
    pruned: &dyn ReadAt,
    session_id: &Text,
) -> Result<Vec<Operation>, PrunedFileError> {
    let first_line = pruned.read_range(0..next_line_start(pruned, 0)?)?;
    Ok(parse_operations(&first_line, session_id)?.unwrap_or_default())
}

/// Checks the first line of a pruned file, and returns its operations, which are runs of `prune`.
/// `None` if the line is not a list of operations, as in a file of an earlier version.
fn parse_operations(
    line: &[u8],
    session_id: &Text,
) -> Result<Option<Vec<Operation>>, PrunedFileError> {
    let line_bytes = line.trim_ascii();
    let Ok(object) = Raw::parse(line_bytes) else {
        return Ok(None);
    };
    let Some(operations) = object.get("operations") else {
        return Ok(None);
    };

    // The checksum is the last member, so it is at the end, before the brace.
    let members = line_bytes.strip_suffix(b"}").unwrap_or(line_bytes);
    let is_damaged = match checksum::verify_and_strip_checksum(members) {
        Ok(checked) if checked.had_checksum => false,
        // An earlier version wrote only the two members `session` and `operations`. If there is a
        // third, it is a checksum whose name is damaged.
        Ok(_) => object.members().count() != 2,
        Err(checksum::ChecksumMismatch) => true,
    };
    if is_damaged {
        return Err(PrunedFileError::Damaged { line: LineNo(1) });
    }
    let id = object.get_text("session").unwrap_or_default();
    if id != *session_id {
        return Err(PrunedFileError::OtherSession {
            id: id.into_string_lossy(),
        });
    }
    Ok(Some(operations.items().map(read_operation).collect()))
}

/// Reads an operation in the first line; a missing number counts as 0.
fn read_operation(operation: Raw) -> Operation {
    let name = operation.get_text("operation").unwrap_or_default();
    Operation {
        name: name.into_string_lossy(),
        records: read_number(operation, "records"),
        entries: read_number(operation, "entries"),
        branches: read_number(operation, "branches"),
        before: operation.get("before").and_then(SessionDigest::from_json),
    }
}

fn read_number(operation: Raw, key: &str) -> usize {
    operation
        .get(key)
        .and_then(Raw::as_index)
        .unwrap_or_default()
}

/// An operation, and the records of what it pruned.
#[derive(Debug)]
pub struct OperationRecords {
    pub(super) operation: Operation,
    pub(super) records: Vec<PrunedRecord>,
}

/// Reads and checks a pruned file. Returns the operations, oldest first, each with its records.
///
/// # Errors
/// If the file cannot be read, is damaged, or belongs to another session.
pub fn read_pruned_file(
    pruned: &dyn ReadAt,
    session_id: &Text,
) -> Result<Vec<OperationRecords>, PrunedFileError> {
    let mut lines = PrunedLines {
        session_id,
        line_count: 0,
        operations: None,
        records: Vec::new(),
    };
    for_each_line(pruned, 0..pruned.len(), |line| lines.read_line(line))?;

    let PrunedLines {
        operations,
        records,
        ..
    } = lines;
    let Some(operations) = operations else {
        // An earlier version pruned only payloads, and listed no operations.
        if records.is_empty() {
            return Ok(Vec::new());
        }
        let operation = Operation {
            name: PAYLOADS_OPERATION.to_owned(),
            records: records.len(),
            ..Operation::default()
        };
        return Ok(vec![OperationRecords { operation, records }]);
    };

    split_by_operation(operations, records)
}

/// The lines of a pruned file, read one after another.
struct PrunedLines<'a> {
    /// The session that the file must belong to.
    session_id: &'a Text<'a>,
    /// The number of the lines that were read.
    line_count: u32,
    /// The operations of the first line. `None` if it has none, as in files of an earlier version,
    /// in which the first line is a record.
    operations: Option<Vec<Operation>>,
    /// The records of the other lines, in the order of the file.
    records: Vec<PrunedRecord>,
}

impl PrunedLines<'_> {
    /// Reads the next line: the operations if it is the first line and lists them, and otherwise a
    /// record. Blank lines are skipped.
    fn read_line(&mut self, line: Line) -> Result<(), PrunedFileError> {
        self.line_count += 1;
        if self.line_count == 1 {
            self.operations = parse_operations(line.bytes, self.session_id)?;
            if self.operations.is_some() {
                return Ok(());
            }
        }
        let is_blank = line.bytes.trim_ascii().is_empty();
        if !is_blank {
            let record = PrunedRecord::parse(line, LineNo(self.line_count))?;
            self.records.push(record);
        }
        Ok(())
    }
}

/// Assigns the records to the operations of the first line. Each operation has its number of
/// records, in the order of the file. Fails if there are more or fewer records in all.
fn split_by_operation(
    operations: Vec<Operation>,
    records: Vec<PrunedRecord>,
) -> Result<Vec<OperationRecords>, PrunedFileError> {
    // The numbers are from the file, so their sum may overflow.
    let mut expected_count = 0_usize;
    for operation in &operations {
        expected_count = expected_count.saturating_add(operation.records);
    }
    if expected_count != records.len() {
        // The first line, with the operations, is not a record.
        let expected_lines = expected_count.saturating_add(1);
        return Err(PrunedFileError::OtherLength {
            wanted: expected_lines,
        });
    }

    let mut records = records.into_iter();
    let mut operations_with_records = Vec::with_capacity(operations.len());
    for operation in operations {
        let own_records = records.by_ref().take(operation.records).collect();
        operations_with_records.push(OperationRecords {
            operation,
            records: own_records,
        });
    }
    Ok(operations_with_records)
}

impl PrunedRecord {
    /// Whether the record is of content that was pruned: a payload or an entry. Links and marks
    /// only follow from the removal of entries.
    pub(super) fn is_payload_or_entry(&self) -> bool {
        match self.kind {
            RecordKind::Value { is_link, .. } => !is_link,
            RecordKind::Entry { .. } | RecordKind::MalformedLine { .. } => true,
            RecordKind::Mark => false,
        }
    }

    /// Whether the record is of the mark that a prune appended to keep the leaf.
    pub(super) fn is_mark(&self) -> bool {
        matches!(self.kind, RecordKind::Mark)
    }

    /// Returns the path of the value; `None` for a line that was removed or added. The path of a
    /// whole line in which secrets were replaced is empty.
    pub fn field(&self) -> Option<&str> {
        match &self.kind {
            RecordKind::Value { field, .. } => Some(field),
            RecordKind::MalformedLine { .. } => Some(WHOLE_LINE),
            RecordKind::Entry { .. } | RecordKind::Mark => None,
        }
    }

    /// Parses a record, and checks its two checksums. Only a record of an earlier version may lack
    /// them. The line ends with the payload, which may be large, so it is not parsed with the rest:
    ///
    /// ```text
    /// {"id":"a1","line":4,"kind":"image",…,"crc":…,"frameCrc":…,"payload":…}
    /// ```
    fn parse(line: Line, number: LineNo) -> Result<PrunedRecord, PrunedFileError> {
        let not_a_payload = || PrunedFileError::NotAPayload { line: number };
        let (beginning, payload) = split_at_payload(line.bytes).ok_or_else(not_a_payload)?;
        let Ok(checked) = checksum::verify_and_strip_checksum(beginning) else {
            return Err(PrunedFileError::Damaged { line: number });
        };
        let members = checked.bytes;
        if !checked.had_checksum && !checksum::may_lack_checksum(members) {
            return Err(PrunedFileError::Damaged { line: number });
        }

        // The closing brace of the record is after the payload, so one is added here.
        let object = [members, b"}"].concat();
        let fields = Raw::parse(&object).map_err(|_| not_a_payload())?;
        match check_payload(fields, payload) {
            PayloadCheck::Valid => {}
            PayloadCheck::WrongChecksum => return Err(PrunedFileError::Damaged { line: number }),
            PayloadCheck::NotJson => return Err(not_a_payload()),
        }

        let kind = RecordKind::from_members(fields).ok_or_else(not_a_payload)?;
        let session_line = read_u32(fields, "line").ok_or_else(not_a_payload)?;
        let payload_offset = beginning.len() + PAYLOAD_MEMBER.len();
        Ok(PrunedRecord {
            id: fields.get_text("id").unwrap_or_default().into_owned(),
            line: LineNo(session_line),
            kind,
            has_newline: fields.get("newline").and_then(Raw::bool).unwrap_or(true),
            spans: RecordSpans {
                members: Span {
                    start: line.span.start,
                    len: members.len() as u64,
                },
                payload: Span {
                    start: line.span.start + payload_offset as u64,
                    len: payload.len() as u64,
                },
            },
        })
    }
}

/// The result of checking the payload of a record.
enum PayloadCheck {
    Valid,
    WrongChecksum,
    /// There is no checksum, and the payload is not JSON.
    NotJson,
}

/// Checks a payload by the checksum `crc` in its record. A record of an earlier version may have no
/// checksum: then only the syntax of the payload is checked.
fn check_payload(fields: Raw, payload: &[u8]) -> PayloadCheck {
    match fields.get("crc") {
        Some(crc) if crc.as_index() == Some(crc32fast::hash(payload) as usize) => {
            PayloadCheck::Valid
        }
        Some(_) => PayloadCheck::WrongChecksum,
        None if Raw::parse(payload).is_ok() => PayloadCheck::Valid,
        None => PayloadCheck::NotJson,
    }
}

impl RecordKind {
    /// Reads the change from the members of a record; `None` if a member is missing or invalid.
    fn from_members(fields: Raw) -> Option<RecordKind> {
        let kind = fields.get_text("kind").unwrap_or_default();
        if kind == *ENTRY_KIND {
            return Some(RecordKind::Entry {
                after: fields.get_text("after").map(Text::into_owned),
                distance: read_u32(fields, "distance")?,
            });
        }
        if kind == *MARK_KIND {
            return Some(RecordKind::Mark);
        }
        if kind == *MALFORMED_KIND {
            return Some(RecordKind::MalformedLine {
                redacted_len: fields.get("noteBytes")?.as_index()? as u64,
                redacted_crc: read_u32(fields, "noteCrc")?,
            });
        }
        // Any other kind is that of a value: a link, or a payload such as an image.
        Some(RecordKind::Value {
            field: fields.get_text("field")?.into_string_lossy(),
            placeholder: fields.get("note")?.bytes().to_vec(),
            is_link: kind == *LINK_KIND,
        })
    }
}

/// Splits a record at [`PAYLOAD_MEMBER`]: returns the bytes before it, which include the checksums,
/// and the payload. `None` if the record has another form.
fn split_at_payload(line: &[u8]) -> Option<(&[u8], &[u8])> {
    // These bytes cannot be in a string, where quotes are escaped, so the first occurrence is the
    // member.
    let member_start = memmem::find(line, PAYLOAD_MEMBER)?;
    let without_brace = line.strip_suffix(b"}")?;
    let payload = without_brace.get(member_start + PAYLOAD_MEMBER.len()..)?;
    Some((&line[..member_start], payload))
}

fn read_u32(fields: Raw, key: &str) -> Option<u32> {
    let number = fields.get(key)?.as_index()?;
    u32::try_from(number).ok()
}

/// Writes the first line of a pruned file, with the operations and the checksum of the line.
pub fn write_operations_line(
    session_id: &Text,
    operations: &[Operation],
    out: &mut dyn Write,
) -> io::Result<()> {
    let operations = serde_json::to_vec(operations)?;
    let mut line = Object::new()
        .text("session", session_id)
        .json("operations", &operations)
        .finish();
    // Removes the closing brace, which must follow the checksum.
    line.pop();
    checksum::append_checksum(&mut line);
    out.write_all(&line)?;
    out.write_all(b"}\n")
}

/// Returns the members with which each record begins: the id of the entry, and its line.
pub fn begin_record(id: &Text, line: LineNo) -> Object {
    Object::new()
        .text_or_null("id", if id.is_empty() { None } else { Some(id) })
        .number("line", f64::from(line.0))
}

/// Returns the same JSON without the bytes of [`PAYLOAD_MEMBER`], so that it can be a member of a
/// record: there, the first occurrence of these bytes is the payload. In JSON, a quote after a
/// comma begins a string that is a key or an item, so a space before it changes nothing.
pub fn without_payload_member(json: &[u8]) -> Vec<u8> {
    let mut separated = Vec::with_capacity(json.len());
    let mut copied_end = 0;
    for start in memmem::find_iter(json, PAYLOAD_MEMBER) {
        const COMMA_LEN: usize = 1;
        separated.extend_from_slice(&json[copied_end..start + COMMA_LEN]);
        separated.push(b' ');
        copied_end = start + COMMA_LEN;
    }
    separated.extend_from_slice(&json[copied_end..]);
    separated
}

/// Writes a record: `{MEMBERS,"crc":…,"frameCrc":…,"payload":PAYLOAD}`. `crc` is the checksum of
/// the payload, `frameCrc` that of all members before it. The payload is written byte for byte,
/// even if it is invalid JSON.
pub fn write_record(members: Object, payload: &[u8], out: &mut dyn Write) -> io::Result<()> {
    let mut line = members
        .number("crc", f64::from(crc32fast::hash(payload)))
        .finish();
    // Removes the closing brace, which must follow the payload. The checksum covers the members
    // without it.
    line.pop();
    checksum::append_checksum(&mut line);
    out.write_all(&line)?;
    out.write_all(PAYLOAD_MEMBER)?;
    out.write_all(payload)?;
    out.write_all(b"}\n")
}
