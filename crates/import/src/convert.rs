//! Writes the session that a source becomes, or what a source that has grown adds to it.

use crate::SourceReader;
use crate::ahead::{for_each_object_ahead, for_each_object_hashed};
use crate::identity::SourceHead;
use crate::joined::JoinedSource;
use crate::lines::{ReadExtent, convert_line};
use crate::record;
use crate::survey::{Survey, sha256_hex};
use crate::writer::{EmitEntry, EntryDraft, EntryWriter};
use memchr::memmem;
use pisess_core::ops::fork::{ForkOptions, StoredTitle, build_head_for};
use pisess_core::session::dialect::Dialect;
use pisess_core::session::read::line_chunks::Line;
use pisess_json::Raw;
use pisess_json::outline::Outlined;
use pisess_json::string::encode_to_vec;
use pisess_json::text::Text;
use pisess_json::time::iso_string;
use pisess_store::ReadAt;
use std::cell::Cell;
use std::io::{self, Write};
use std::path::Path;

/// The session to be made of a source.
#[derive(Clone, Debug)]
pub struct ImportTarget<'a> {
    /// The agent.
    pub agent: Dialect,
    /// The id of the session.
    pub id: &'a str,
    /// The path of the source, for the record.
    pub source_path: &'a Path,
    /// The imports of the source so far, which the session contains.
    pub earlier: &'a EarlierImports,
}

/// The earlier imports of a source. An import repeats what they decided, so that the entries in the
/// session keep their ids and parents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EarlierImports {
    /// How many bytes of the source each had read, oldest first.
    pub ends: Vec<u64>,
    /// The offset from which the lines of a response become one message. Before it, each line is a
    /// message of its own: an earlier version of pisess imported these lines, and did not merge
    /// them.
    pub merged_from: u64,
}

/// The lines of a session that were written for a source.
#[derive(Debug, Default)]
pub struct WrittenLines {
    /// The number of lines before the entries.
    head_len: usize,
    /// For each line, the offset of the source's line from which it was made; 0 for the head.
    pub offsets: Vec<u64>,
}

impl WrittenLines {
    /// Returns the number of entries.
    pub fn entry_count(&self) -> usize {
        self.offsets.len() - self.head_len
    }
}

/// Writes the whole session that a source becomes: its head, then its entries. `cwd` is its working
/// directory.
pub fn write_converted_session(
    source: &dyn ReadAt,
    survey: &Survey,
    target: &ImportTarget,
    cwd: &Text,
    out: &mut dyn Write,
) -> io::Result<WrittenLines> {
    let head_len = write_head(
        target,
        survey.name.as_ref(),
        survey.head.created_ms,
        cwd,
        out,
    )?;
    // The lines of the head are made from no line of the source.
    let mut offsets = vec![0; head_len];
    let mut write_entry = |offset: u64, line: &[&[u8]]| {
        offsets.push(offset);
        write_line(line, out)
    };
    emit_new_entries(source, survey, target, &mut write_entry)?;
    Ok(WrittenLines { head_len, offsets })
}

/// Writes the parts of a line, and a newline.
fn write_line(line: &[&[u8]], out: &mut dyn Write) -> io::Result<()> {
    for part in line {
        out.write_all(part)?;
    }
    out.write_all(b"\n")
}

/// Writes the lines before the entries: the header, and if `name` is given, the title. Returns the
/// number of lines.
fn write_head(
    target: &ImportTarget,
    name: Option<&Text>,
    created_ms: i64,
    cwd: &Text,
    out: &mut dyn Write,
) -> io::Result<usize> {
    let name = name.map(encode_to_vec);
    let title = StoredTitle::set_by_user(name.as_deref().map(Raw::from_checked));
    let options = ForkOptions {
        session_id: target.id.to_owned(),
        source: None,
        cwd: Some(cwd.as_borrowed()),
        name: None,
    };
    let created = iso_string(created_ms);
    let head = build_head_for(target.agent.agent(), title, Raw::NULL, &options, &created);
    for line in &head {
        out.write_all(line)?;
        out.write_all(b"\n")?;
    }

    Ok(head.len())
}

/// A session that was written for a command that only reads it.
#[derive(Debug, Default)]
pub struct InPlaceSession {
    /// The number of messages in the source.
    pub message_count: usize,
    /// The lines that were written.
    pub lines: WrittenLines,
    /// The offset of each line of the source, in order.
    pub source_line_starts: Vec<u64>,
    /// The last line that was written; `None` if only the head was.
    pub record: Option<InPlaceRecord>,
}

/// What a command does with the hash of the source, which is in the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashUse {
    /// It probably does not read the hash. To compute the hash takes a tenth of the time.
    None,
    /// It reads the record.
    Record,
}

/// The record of a session that is read in place.
#[derive(Debug)]
pub struct InPlaceRecord {
    /// The line as it was written, with a placeholder of the same length in place of the hash.
    line: Vec<u8>,
    /// The number of bytes of the source that are hashed.
    bytes_read: u64,
    /// The hash, if it was computed.
    sha256: Option<String>,
}

impl InPlaceRecord {
    /// Returns the number of bytes of the line, without its newline.
    pub fn line_len(&self) -> u64 {
        self.line.len() as u64
    }

    /// Returns the line with the hash, and with its newline. Reads the source if the hash was not
    /// computed.
    pub fn line_with_hash(&self, source: &dyn ReadAt) -> io::Result<Vec<u8>> {
        let sha256 = match &self.sha256 {
            Some(sha256) => sha256.clone(),
            None => sha256_hex(source, 0..self.bytes_read)?,
        };
        let mut line = self.line.clone();
        line.push(b'\n');
        // The hash is the last member of the data, so a path that looks like the placeholder comes
        // before it.
        if let Some(start) = memmem::rfind(&line, HASH_PLACEHOLDER.as_bytes()) {
            line[start..start + HASH_PLACEHOLDER.len()].copy_from_slice(sha256.as_bytes());
        }
        Ok(line)
    }
}

/// Takes the place of a SHA-256 in hexadecimal digits.
const HASH_PLACEHOLDER: &str = "----------------------------------------------------------------";

/// How far a session has been written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// Entries are written.
    Entries,
    /// The record is written, after entries that were held back.
    Record,
    /// The session is complete.
    Complete,
}

/// Writes the whole session of pi that a source becomes, as [`write_converted_session`] does, but
/// reads the source only once: without a survey, and with a placeholder in place of the hash.
///
/// The name is known only at the end of the source. In other formats it is in the head, but a
/// session of pi has it in an entry.
pub fn write_in_place(
    source: &JoinedSource,
    head: &SourceHead,
    hash_use: HashUse,
    out: &mut dyn Write,
) -> io::Result<InPlaceSession> {
    let WrittenLines {
        head_len,
        mut offsets,
    } = write_head_in_place(head, out)?.lines;

    let target = in_place_target(head);
    // The entries get the ids that they would have after an import.
    let imported_id = head.derive_session_id(target.agent, 0);
    let progress = Cell::new(Progress::Entries);
    let mut record_line = Vec::new();
    let mut write_entry = |offset: u64, line: &[&[u8]]| {
        match progress.get() {
            Progress::Entries => {}
            // The last of these lines is the record.
            Progress::Record => record_line = line.concat(),
            // An import ends with its record. What a reader still holds back then is written by a
            // later import, so it is left out here, too.
            Progress::Complete => return Ok(()),
        }
        offsets.push(offset);
        write_line(line, out)
    };
    let writer = EntryWriter::new(
        target.agent,
        &imported_id,
        0,
        head.created_ms,
        &mut write_entry,
    );
    let format = head.origin.format();
    let mut reader = format.new_reader(source, &head.layout, target.earlier, writer)?;
    let mut extent = ReadExtent::with_line_starts();
    let read_object = |line: Line, object: Option<Outlined>| {
        convert_line(reader.as_mut(), head.origin, &line, object)
    };
    let sha256 = match hash_use {
        HashUse::None => {
            for_each_object_ahead(source, source.len(), &mut extent, read_object)?;
            None
        }
        HashUse::Record => Some(for_each_object_hashed(source, &mut extent, read_object)?),
    };

    progress.set(Progress::Record);
    let record = draft_record(head, HASH_PLACEHOLDER, &[extent.bytes_read], &target);
    reader.add_record(record)?;
    progress.set(Progress::Complete);
    // A reader may still hold messages back: the survey of an import counts them, too.
    let message_count = reader.finish()?.message_count;
    Ok(InPlaceSession {
        message_count,
        lines: WrittenLines { head_len, offsets },
        source_line_starts: extent.line_starts.unwrap_or_default(),
        record: Some(InPlaceRecord {
            line: record_line,
            bytes_read: extent.bytes_read,
            sha256,
        }),
    })
}

/// Writes only the lines before the entries, as [`write_in_place`] does. This is for a search that
/// cannot find anything in the source, so that the source need not be converted.
pub fn write_head_in_place(head: &SourceHead, out: &mut dyn Write) -> io::Result<InPlaceSession> {
    let cwd = head.cwd.clone().unwrap_or_default();
    let target = in_place_target(head);
    let head_len = write_head(&target, None, head.created_ms, &cwd, out)?;
    Ok(InPlaceSession {
        lines: WrittenLines {
            head_len,
            // No line of the source has become a line of the head.
            offsets: vec![0; head_len],
        },
        ..InPlaceSession::default()
    })
}

/// Returns the target for a command that only reads the session: a session of pi, made as if the
/// source had never been imported. It keeps the id that its agent gave it, under which `list` shows
/// it.
fn in_place_target(head: &SourceHead) -> ImportTarget<'_> {
    static NO_IMPORTS: EarlierImports = EarlierImports {
        ends: Vec::new(),
        merged_from: 0,
    };
    ImportTarget {
        agent: Dialect::Pi,
        id: &head.id,
        source_path: &head.path,
        earlier: &NO_IMPORTS,
    }
}

/// Drafts the record of an import: the entry with which it ends.
///
/// `read_by_import` has, for each import up to this one, how many bytes of the source it had read.
/// `sha256` is the hash of the bytes that the present import reads. In the records of earlier
/// imports it is only a placeholder, because their entries are not written again.
fn draft_record(
    head: &SourceHead,
    sha256: &str,
    read_by_import: &[u64],
    target: &ImportTarget,
) -> EntryDraft {
    let bytes_read = read_by_import.last().copied().unwrap_or(0);
    EntryDraft {
        // The last byte that was read. With the offset after it, the record would take an id of the
        // next line, which belongs to the next import.
        offset: bytes_read.saturating_sub(1),
        time_ms: head.created_ms,
        kind: "custom",
        members: record::build_record_members(
            head,
            sha256,
            read_by_import,
            target.earlier.merged_from,
            target.source_path,
        ),
    }
}

/// Calls `emit` with the line of each entry that earlier imports of the source have not written.
/// The last entry is the record of this import.
///
/// The source is read from its start, because ids and parents depend on the lines before. Lines
/// beyond [`Survey::bytes_read`] become no entries, even if the source has grown since.
pub fn emit_new_entries(
    source: &dyn ReadAt,
    survey: &Survey,
    target: &ImportTarget,
    emit: &mut EmitEntry,
) -> io::Result<()> {
    let writer = EntryWriter::new(
        target.agent,
        target.id,
        target.earlier.ends.len(),
        survey.head.created_ms,
        emit,
    );
    let format = survey.head.origin.format();
    let mut reader = format.new_reader(source, &survey.head.layout, target.earlier, writer)?;

    let mut import_ends = target.earlier.ends.clone();
    import_ends.push(survey.bytes_read);
    let mut records = ImportRecords {
        survey,
        target,
        import_ends,
        added_count: 0,
    };
    let mut extent = ReadExtent::default();
    for_each_object_ahead(source, survey.bytes_read, &mut extent, |line, object| {
        records.add_records_before(line.span.start, reader.as_mut())?;
        convert_line(reader.as_mut(), survey.head.origin, &line, object)
    })?;
    // Adds the remaining record, that of this import: its end is the end of the source.
    records.add_records_before(u64::MAX, reader.as_mut())
}

/// The records of all imports of a source, including this one, which is the last. The earlier
/// records are laid out again, so that entries after them get the same parents and ids.
struct ImportRecords<'a> {
    survey: &'a Survey,
    target: &'a ImportTarget<'a>,
    /// The offset at which each import ended.
    import_ends: Vec<u64>,
    /// How many of the records have been added.
    added_count: usize,
}

impl ImportRecords<'_> {
    /// Adds the record of each import that ended before the line at `offset` and whose record was
    /// not added yet.
    fn add_records_before(&mut self, offset: u64, reader: &mut dyn SourceReader) -> io::Result<()> {
        while let Some(&end) = self.import_ends.get(self.added_count) {
            if end > offset {
                break;
            }
            self.added_count += 1;
            let ends_so_far = &self.import_ends[..self.added_count];
            let survey = self.survey;
            let record = draft_record(&survey.head, &survey.sha256, ends_so_far, self.target);
            reader.add_record(record)?;
        }
        Ok(())
    }
}
