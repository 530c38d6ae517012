//! Writes the session that a source becomes, or what a source that has grown adds to it.

use crate::SourceReader;
use crate::lines::{for_each_object, read_line};
use crate::record;
use crate::survey::Survey;
use crate::writer::{EmitEntry, EntryDraft, EntryWriter};
use pisess_core::ops::fork::{ForkOptions, build_head_for};
use pisess_core::session::dialect::Dialect;
use pisess_json::Raw;
use pisess_json::string::encode_to_vec;
use pisess_json::text::Text;
use pisess_json::time::iso_string;
use pisess_store::ReadAt;
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
    // The name becomes the title, marked as set by the user, so that the agent does not replace it.
    let name = survey.name.as_ref().map(encode_to_vec);
    let title = name.as_deref().map(Raw::from_checked);
    let title_source = title.map(|_| Raw::from_checked(b"\"user\""));
    let options = ForkOptions {
        session_id: target.id.to_owned(),
        source: None,
        cwd: Some(cwd.as_borrowed()),
    };
    let created = iso_string(survey.created_ms);
    let head = build_head_for(
        target.agent.agent(),
        title,
        title_source,
        Raw::NULL,
        &options,
        &created,
    );
    for line in &head {
        out.write_all(line)?;
        out.write_all(b"\n")?;
    }

    let head_len = head.len();
    let mut offsets = vec![0; head_len];
    let mut write_entry = |offset: u64, line: &[u8]| {
        offsets.push(offset);
        out.write_all(line)?;
        out.write_all(b"\n")
    };
    emit_new_entries(source, survey, target, &mut write_entry)?;
    Ok(WrittenLines { head_len, offsets })
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
        survey.created_ms,
        emit,
    );
    let format = survey.origin.format();
    let mut reader = format.new_reader(source, &survey.layout, target.earlier, writer)?;

    let mut import_ends = target.earlier.ends.clone();
    import_ends.push(survey.bytes_read);
    let mut records = ImportRecords {
        survey,
        target,
        import_ends,
        added_count: 0,
    };
    for_each_object(source, survey.bytes_read, |line, raw| {
        records.add_records_before(line.span.start, reader.as_mut())?;
        read_line(reader.as_mut(), survey.origin, &line, raw)
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
    /// Adds the records of the imports that ended at `offset` or before it.
    fn add_records_before(&mut self, offset: u64, reader: &mut dyn SourceReader) -> io::Result<()> {
        while let Some(&end) = self.import_ends.get(self.added_count) {
            if end > offset {
                break;
            }
            self.added_count += 1;
            let ends_so_far = &self.import_ends[..self.added_count];
            let source_path = self.target.source_path;
            reader.add_record(EntryDraft {
                // The offset of the last byte that was read, so that the record belongs to its
                // import.
                offset: end.saturating_sub(1),
                time_ms: self.survey.created_ms,
                kind: "custom",
                members: record::build_record_members(
                    self.survey,
                    ends_so_far,
                    self.target.earlier.merged_from,
                    source_path,
                ),
            })?;
        }
        Ok(())
    }
}
