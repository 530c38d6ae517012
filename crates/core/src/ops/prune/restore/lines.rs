//! The lines of a session, while the operations of a pruned file are undone.

use super::Fate;
use super::merger::{Anchor, LineMerger, RemovedEntries, RemovedEntry};
use super::values::is_path_above;
use crate::ops::patched::Origin;
use crate::ops::prune::payload::find_at_path;
use crate::ops::prune::side::{OperationRecords, PrunedRecord, RecordKind};
use crate::session::Session;
use crate::session::entry::{LineNo, Span};
use crate::session::read::entry_reader::EntryReader;
use crate::session::read::line_chunks::for_each_line;
use foldhash::HashMap;
use pisess_json::edit::Edit;
use pisess_json::text::Text;
use pisess_json::{Raw, js};
use pisess_store::ReadAt;
use std::io;

/// A line of the restored session.
#[derive(Clone, Copy)]
pub(super) struct RestoredLine<'a> {
    /// The number of this line in the pruned session. For a line that was pruned, the number of the
    /// last line before it that was not.
    pub session_number: u32,
    /// The record of the line; `None` if the line was not pruned.
    pub record: Option<&'a PrunedRecord>,
    /// The location of the bytes, without the newline: in the pruned file for a line that was
    /// pruned, otherwise in the session.
    pub span: Span,
    /// Whether the line ends with a newline.
    pub has_newline: bool,
}

impl<'a> RestoredLine<'a> {
    /// Returns the line of a removed entry, which is put back after `line_before`.
    pub fn of_removed(record: &'a PrunedRecord, line_before: RestoredLine) -> RestoredLine<'a> {
        RestoredLine {
            session_number: line_before.session_number,
            record: Some(record),
            span: record.spans.payload,
            has_newline: record.has_newline,
        }
    }

    /// Returns the file that contains the line.
    pub fn origin(&self) -> Origin {
        match self.record {
            Some(_) => Origin::Beside,
            None => Origin::Source,
        }
    }

    /// Returns a key that is unique among the lines.
    pub fn key(&self) -> LineKey {
        LineKey {
            origin: self.origin(),
            offset: self.span.start,
        }
    }
}

/// Identifies a line even if its index changes when other lines are put back.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct LineKey {
    origin: Origin,
    /// The offset of the line in its file.
    offset: u64,
}

/// A value of a line that is to be put back.
#[derive(Clone, Copy)]
pub(super) struct ValueEdit<'a> {
    /// The path of the value in the line.
    pub field: &'a str,
    /// The location of the original value in the pruned file.
    pub payload: Span,
}

/// The lines of the session, including those that were put back so far.
pub(super) struct RestoredLines<'a> {
    session: &'a Session,
    pub source: &'a dyn ReadAt,
    reader: EntryReader<'a>,
    pub pruned: &'a dyn ReadAt,
    pub lines: Vec<RestoredLine<'a>>,
    /// See [`collect_pruned_fields`]. These values are ignored when two versions of an entry are
    /// compared.
    pruned_fields: HashMap<Text<'static>, Vec<String>>,
    /// The values to put back, by line. In the order in which they were found, so the value of the
    /// oldest operation is the last.
    pub edits: HashMap<LineKey, Vec<ValueEdit<'a>>>,
}

impl<'a> RestoredLines<'a> {
    /// Reads the lines of the session, before anything is put back.
    pub fn read(
        session: &'a Session,
        source: &'a dyn ReadAt,
        operations: &'a [OperationRecords],
        pruned: &'a dyn ReadAt,
    ) -> io::Result<RestoredLines<'a>> {
        let mut lines = Vec::new();
        for_each_line(source, 0..source.len(), |line| {
            let number = lines.len() as u32 + 1;
            lines.push(RestoredLine {
                session_number: number,
                record: None,
                span: line.span,
                has_newline: line.has_newline,
            });
            Ok::<(), io::Error>(())
        })?;

        Ok(RestoredLines {
            session,
            source,
            reader: EntryReader::new(session, source),
            pruned,
            lines,
            pruned_fields: collect_pruned_fields(operations),
            edits: HashMap::default(),
        })
    }

    /// Undoes an operation, which is one run of `prune`, and returns the fate of each record: put
    /// back, present already, or lost.
    ///
    /// Operations must be undone from the newest to the oldest.
    pub fn undo_operation(&mut self, records: &'a [PrunedRecord]) -> io::Result<Vec<Fate>> {
        // Entries before values, because a value may be in an entry that is put back. Entries
        // before the mark, because it stays if none of them has a place.
        let mut fates_by_index = self.put_entries_back(records)?;
        if let Some(mark_index) = records.iter().position(PrunedRecord::is_mark) {
            let mark_fate = if are_all_entries_lost(records, &fates_by_index) {
                Fate::Lost
            } else {
                self.remove_mark(&records[mark_index])?
            };
            fates_by_index.insert(mark_index, mark_fate);
        }

        let mut fates = Vec::with_capacity(records.len());
        for (index, record) in records.iter().enumerate() {
            let fate = match &record.kind {
                RecordKind::Mark | RecordKind::Entry { .. } => {
                    fates_by_index.get(&index).copied().unwrap_or(Fate::Lost)
                }
                RecordKind::Value {
                    field, placeholder, ..
                } => self.put_value_back(record, field, placeholder)?,
                RecordKind::MalformedLine {
                    redacted_len,
                    redacted_crc,
                } => self.put_malformed_line_back(record, *redacted_len, *redacted_crc)?,
            };
            fates.push(fate);
        }
        Ok(fates)
    }

    /// Removes the mark of an operation, which must be the last line, and returns its fate. A mark
    /// is an entry that a prune appends if the agents would otherwise take another one for the
    /// leaf.
    ///
    /// If entries were appended after the mark, it stays, because they may refer to it. This counts
    /// as restored, too, and so does a session without the mark.
    fn remove_mark(&mut self, mark: &PrunedRecord) -> io::Result<Fate> {
        let Some(&last_line) = self.lines.last() else {
            return Ok(Fate::Lost);
        };
        if !self.is_line_of_mark(last_line, mark)? {
            return Ok(Fate::Restored);
        }

        self.lines.pop();
        self.edits.remove(&last_line.key());
        // In the record of a mark, `has_newline` is about the line before the mark. If that line
        // had no newline, the prune has added one, which is removed here.
        if !mark.has_newline
            && let Some(line_before) = self.lines.last_mut()
        {
            line_before.has_newline = false;
        }
        Ok(Fate::Restored)
    }

    /// Whether a line, with the values that were put back in it so far, is the mark of this record.
    fn is_line_of_mark(&self, line: RestoredLine, mark: &PrunedRecord) -> io::Result<bool> {
        let mark_span = mark.spans.payload;
        // Most lines are ruled out by their lengths, without being read. A line with edits may
        // have another length by now.
        let has_edits = self.edits.contains_key(&line.key());
        if line.span.len != mark_span.len && !has_edits {
            return Ok(false);
        }
        Ok(self.read_current_line(line)? == self.pruned.read_range(mark_span.range())?)
    }

    /// Puts back the removed entries of an operation, each behind its anchor: the last line before
    /// it that stayed. Entries that the session contains are not put back.
    ///
    /// Returns the fates of these entries by the indexes of their records. An entry whose anchor is
    /// missing has none: it is lost.
    fn put_entries_back(
        &mut self,
        records: &'a [PrunedRecord],
    ) -> io::Result<HashMap<usize, Fate>> {
        let mut fates = HashMap::default();
        let removed = self.collect_removed_entries(records)?;
        for present in &removed.present {
            fates.insert(present.index, Fate::Present);
        }
        for index in self.insert_entries(removed) {
            fates.insert(index, Fate::Restored);
        }
        Ok(fates)
    }

    /// Returns the entries that an operation removed, separated by whether the session contains
    /// them already, as after an earlier restore that was killed.
    fn collect_removed_entries(
        &self,
        records: &'a [PrunedRecord],
    ) -> io::Result<RemovedEntries<'a>> {
        let mut removed = RemovedEntries::default();
        for (index, record) in records.iter().enumerate() {
            let RecordKind::Entry { after, distance } = &record.kind else {
                continue;
            };
            let entry = RemovedEntry {
                record,
                index,
                distance: *distance as usize,
            };
            if self.session_contains(record)? {
                removed.present.push(entry);
                continue;
            }
            let anchor = match after {
                Some(id) => Anchor::Entry(id.clone()),
                None => Anchor::Header,
            };
            let behind_anchor = removed.behind.entry(anchor).or_default();
            behind_anchor.push_back(entry);
        }
        Ok(removed)
    }

    /// Inserts the lines of removed entries behind their anchors. Entries whose anchor is missing
    /// are not inserted.
    ///
    /// Returns the indexes of the records of the inserted entries.
    fn insert_entries(&mut self, removed: RemovedEntries<'a>) -> Vec<usize> {
        if removed.behind.is_empty() {
            return Vec::new();
        }
        let present_ids = removed.present_ids();
        let mut removed_behind = removed.behind;
        let mut merger = LineMerger::with_capacity(self.lines.len());
        for &line in &self.lines {
            match self.find_anchor(line) {
                // An entry that was removed, too, is no anchor, even if it is present. If `x` and
                // then `y` were removed behind `a`, `y` belongs behind `x`.
                Some(Anchor::Entry(id)) if present_ids.contains(&id) => {
                    merger.push_other_line(line);
                }
                Some(anchor) => {
                    let behind = removed_behind.remove(&anchor).unwrap_or_default();
                    merger.push_anchor(line, behind);
                }
                None => merger.push_other_line(line),
            }
        }
        let merged = merger.finish();
        self.lines = merged.lines;
        merged.inserted
    }

    /// Returns the anchor that this line is for removed entries: the name by which their records
    /// refer to it. `None` if the line is neither the header nor an entry with an id.
    fn find_anchor(&self, line: RestoredLine) -> Option<Anchor> {
        // A line that was put back is not in the session: its `session_number` is that of another
        // line. Its record has the id of the entry.
        if let Some(record) = line.record {
            return Some(Anchor::Entry(record.id.clone()));
        }

        let line_number = LineNo(line.session_number);
        if line_number == self.session.header.line {
            return Some(Anchor::Header);
        }
        let ix = self.session.entry_on_line(line_number)?;
        if self.session.entry(ix).id.is_empty() {
            return None;
        }
        Some(Anchor::Entry(self.session.id(ix).into_owned()))
    }

    /// Whether the session already contains a removed entry. Values that were pruned from the entry
    /// are not compared, because the session may have their placeholders.
    fn session_contains(&self, record: &PrunedRecord) -> io::Result<bool> {
        let Some(ix) = self.session.find_entry(&record.id) else {
            return Ok(false);
        };
        let stored_line = self.reader.read_stored(self.session.entry(ix).span)?;
        let removed_line = self.pruned.read_range(record.spans.payload.range())?;
        let fields = match self.pruned_fields.get(&record.id) {
            Some(fields) => fields.as_slice(),
            None => &[],
        };
        let stored = normalize_without(&stored_line, fields)?;
        let removed = normalize_without(&removed_line, fields)?;
        Ok(stored == removed)
    }

    /// Returns the index in `lines` of the session's entry with this id. `lines` also has lines
    /// that were put back, so the index differs from the line number.
    pub fn find_entry_line(&self, id: &Text) -> Option<usize> {
        if id.is_empty() {
            return None;
        }
        let ix = self.session.find_entry(id)?;
        let number = self.session.entry(ix).line.0;
        // A line that was put back has the number of the session's line before it. So the first
        // line with a number is the session's own.
        let index = self
            .lines
            .partition_point(|line| line.session_number < number);
        let line = self.lines.get(index)?;
        let is_of_session = line.record.is_none();
        if line.session_number == number && is_of_session {
            Some(index)
        } else {
            None
        }
    }

    /// Reads the stored bytes of a line, before values are put back.
    pub fn read_line(&self, line: RestoredLine) -> io::Result<Vec<u8>> {
        match line.record {
            Some(_) => self.pruned.read_range(line.span.range()),
            None => self.reader.read_stored(line.span),
        }
    }
}

/// Whether an operation removed entries, and none of them is in the session or was put back. The
/// mark of the operation is then still necessary. `entry_fates` has the fates of the entries that
/// are not lost.
fn are_all_entries_lost(records: &[PrunedRecord], entry_fates: &HashMap<usize, Fate>) -> bool {
    let has_entries = records
        .iter()
        .any(|record| matches!(record.kind, RecordKind::Entry { .. }));
    has_entries && entry_fates.is_empty()
}

/// Returns the paths of all values that any operation pruned, such as `message.content[1]`, by the
/// id of their entry.
fn collect_pruned_fields(operations: &[OperationRecords]) -> HashMap<Text<'static>, Vec<String>> {
    let mut pruned_fields: HashMap<Text, Vec<String>> = HashMap::default();
    for operation in operations {
        for record in &operation.records {
            if let RecordKind::Value { field, .. } = &record.kind {
                let fields = pruned_fields.entry(record.id.clone()).or_default();
                fields.push(field.clone());
            }
        }
    }
    pruned_fields
}

/// Returns an entry as `JSON.stringify` formats it, with the values of these fields replaced by
/// `null`, so that two versions of an entry can be compared.
fn normalize_without(stored: &[u8], fields: &[String]) -> io::Result<Text<'static>> {
    let line = stored.trim_ascii();
    let root = Raw::parse(line)?;
    let mut edit = Edit::new(line)?;
    for field in fields {
        // A value in another one is replaced with it.
        let is_inside = fields.iter().any(|other| is_path_above(other, field));
        if !is_inside && let Some(value) = find_at_path(root, field) {
            edit.replace(value, b"null");
        }
    }
    Ok(js::stringify(Raw::from_checked(&edit.finish())).into_owned())
}
