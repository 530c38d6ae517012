//! Restores pruned content: undoes the operations of a pruned file from the last to the first.

use super::digest::{OriginalSession, SessionDigest};
use super::locate_part;
use super::payload::find_at_path;
use super::side::{Operation, OperationRecords, PrunedRecord, RecordKind, RecordSpans, WHOLE_LINE};
use crate::ops::patched::{Origin, PatchedFile, PieceTable};
use crate::session::Session;
use crate::session::entry::{LineNo, Span};
use crate::session::read::entry_reader::EntryReader;
use crate::session::read::line_chunks::for_each_line;
use foldhash::{HashMap, HashSet};
use pisess_json::edit::Edit;
use pisess_json::text::Text;
use pisess_json::{Raw, js, range_in};
use pisess_store::ReadAt;
use std::collections::VecDeque;
use std::io;

/// The pruned content of a session, and its places in the session.
pub struct Restoration {
    /// The pruned file.
    pub(super) pruned: Box<dyn ReadAt>,
    /// The restored session: the session with its pruned content.
    restored: PieceTable,
    /// For each line of the restored session, its line number in the pruned session; `None` if the
    /// line was pruned.
    session_lines: Vec<Option<LineNo>>,
    /// The records whose content was put back, without links and marks. In the order of the pruned
    /// file.
    pub restored_records: Vec<PrunedRecord>,
    /// The records that no longer have a place in the session.
    pub unplaced: Vec<UnplacedRecord>,
    /// The session before the first prune, if the pruned file describes it.
    original: Option<SessionDigest>,
    /// The records that are missing in the session, by operation.
    pub(super) missing: Vec<MissingPart>,
    /// The time at which the pruned file was written, in milliseconds since 1970; `None` if it is
    /// unknown.
    pub written_ms: Option<i64>,
}

/// A record that has no place in the session.
#[derive(Clone, Debug)]
pub struct UnplacedRecord {
    /// The id of the entry; empty if it has none.
    pub entry_id: String,
    /// The path of the value in the line, or `the entry` for a whole line.
    pub field: String,
}

/// The part of an operation that is missing in the session.
pub(super) struct MissingPart {
    /// The operation, with the numbers of this part only.
    pub operation: Operation,
    /// The records of this part in the pruned file.
    pub records: Vec<RecordSpans>,
}

/// A line of the restored session.
#[derive(Clone, Copy)]
struct RestoredLine<'a> {
    /// The number of this line in the pruned session. For a line that was pruned, the number of the
    /// last line before it that was not.
    session_number: u32,
    /// The record of the line; `None` if the line was not pruned.
    record: Option<&'a PrunedRecord>,
    /// The location of the bytes, without the newline: in the pruned file for a line that was
    /// pruned, otherwise in the session.
    span: Span,
    /// Whether the line ends with a newline.
    has_newline: bool,
}

impl<'a> RestoredLine<'a> {
    /// Returns the line of a removed entry, which is put back after `line_before`.
    fn of_removed(record: &'a PrunedRecord, line_before: RestoredLine) -> RestoredLine<'a> {
        RestoredLine {
            session_number: line_before.session_number,
            record: Some(record),
            span: record.spans.payload,
            has_newline: record.has_newline,
        }
    }

    /// Returns the file that contains the line.
    fn origin(&self) -> Origin {
        match self.record {
            Some(_) => Origin::Beside,
            None => Origin::Source,
        }
    }

    /// Returns a key that is unique among the lines.
    fn key(&self) -> LineKey {
        LineKey {
            origin: self.origin(),
            offset: self.span.start,
        }
    }
}

/// Identifies a line even if its index changes when other lines are put back.
#[derive(PartialEq, Eq, Hash)]
struct LineKey {
    origin: Origin,
    /// The offset of the line in its file.
    offset: u64,
}

/// A value of a line that is to be put back.
#[derive(Clone, Copy)]
struct ValueEdit<'a> {
    /// The path of the value in the line.
    field: &'a str,
    /// The location of the original value in the pruned file.
    payload: Span,
}

impl Restoration {
    /// Finds the places of all pruned content, by undoing the operations from the last to the
    /// first. Content that the session contains is not put back. There is such content if pisess
    /// was killed after a restore, before it removed the pruned file; or in a prune, after it wrote
    /// the pruned file.
    pub fn new(
        session: &Session,
        source: &dyn ReadAt,
        operations: Vec<OperationRecords>,
        pruned: Box<dyn ReadAt>,
    ) -> io::Result<Restoration> {
        let mut lines = RestoredLines::read(session, source, &operations, &*pruned)?;
        // By operation: the fates of its records.
        let mut fates_by_operation = Vec::with_capacity(operations.len());
        for operation in operations.iter().rev() {
            fates_by_operation.push(lines.undo_operation(&operation.records)?);
        }
        fates_by_operation.reverse();
        let restored = lines.build_restored()?;

        let original = operations
            .first()
            .and_then(|first| first.operation.before.clone());
        let mut restored_records = Vec::new();
        let mut unplaced = Vec::new();
        let mut missing = Vec::new();
        for (operation_records, fates) in operations.into_iter().zip(fates_by_operation) {
            let OperationRecords { operation, records } = operation_records;
            missing.extend(find_missing_part(operation, &records, &fates));
            for (record, fate) in records.into_iter().zip(fates) {
                match fate {
                    Fate::Present => {}
                    Fate::Restored => {
                        // Links and marks were changed along with a prune; the user did not prune
                        // them.
                        if record.is_payload_or_entry() {
                            restored_records.push(record);
                        }
                    }
                    Fate::Lost => {
                        // A mark only sets the leaf, so no content is lost with it.
                        if !record.is_mark() {
                            let field = match record.field() {
                                None => "the entry",
                                Some(WHOLE_LINE) => "the line",
                                Some(field) => field,
                            };
                            unplaced.push(UnplacedRecord {
                                entry_id: record.id.to_string_lossy().into_owned(),
                                field: field.to_owned(),
                            });
                        }
                    }
                }
            }
        }
        Ok(Restoration {
            pruned,
            restored: restored.file,
            session_lines: restored.session_lines,
            restored_records,
            unplaced,
            original,
            missing,
            written_ms: None,
        })
    }

    /// Returns the ids of the entries that stay in the session, but lack something that a model
    /// sees, because `prune` has moved it out. A model sees images and results, but not the
    /// `details` of a message.
    pub fn ids_without_payload(&self) -> HashSet<&Text<'static>> {
        let mut ids = HashSet::default();
        for record in &self.restored_records {
            // A record of a whole entry has no field.
            let Some(field) = record.field() else {
                continue;
            };
            // The member is `details` of the entry or `message.details`.
            let is_details = field.ends_with("details");
            if !is_details && !record.id.is_empty() {
                ids.insert(&record.id);
            }
        }
        ids
    }

    /// Returns a reader of the restored session. `session` is the pruned session.
    pub fn restored_file<'a>(&'a self, session: &'a dyn ReadAt) -> PatchedFile<'a> {
        PatchedFile {
            pieces: &self.restored,
            source: session,
            beside: &*self.pruned,
        }
    }

    /// Compares the restored session with the session before the first prune. Lines may have been
    /// appended to it since. `session` is the pruned session.
    ///
    /// `None` if the beginning of the restored session differs, or if an earlier version of pisess
    /// pruned the session and recorded no digest.
    pub fn verify_original(&self, session: &dyn ReadAt) -> io::Result<Option<OriginalSession>> {
        let Some(original) = &self.original else {
            return Ok(None);
        };
        let restored = self.restored_file(session);
        let Some(appended_bytes) = restored.len().checked_sub(original.bytes) else {
            return Ok(None);
        };
        let start = SessionDigest::of_start(&restored, original.bytes)?;
        if start != *original {
            return Ok(None);
        }
        Ok(Some(OriginalSession {
            digest: start,
            appended_bytes,
        }))
    }

    /// Converts a line number of the restored session to that of the pruned session; `None` if the
    /// line was pruned.
    pub fn session_line(&self, line: LineNo) -> Option<LineNo> {
        let index = line.0.checked_sub(1)?;
        *self.session_lines.get(index as usize)?
    }
}

/// Returns the part of an operation (one run of `prune`) that is missing in the session: the
/// records whose content is not present. `None` if no record is missing, or only the mark. `fates`
/// has the result of undoing each record.
///
/// The removed branches of the operation are counted as long as at least one of its entries is
/// missing.
fn find_missing_part(
    operation: Operation,
    records: &[PrunedRecord],
    fates: &[Fate],
) -> Option<MissingPart> {
    let mut missing_records = Vec::new();
    let mut entry_count = 0;
    // A mark is of no use without the other records of its operation, so it does not count.
    let mut is_content_missing = false;
    for (record, fate) in records.iter().zip(fates) {
        if *fate == Fate::Present {
            continue;
        }
        missing_records.push(record.spans);
        match record.kind {
            RecordKind::Entry { .. } => {
                entry_count += 1;
                is_content_missing = true;
            }
            RecordKind::Value { .. } | RecordKind::MalformedLine { .. } => {
                is_content_missing = true;
            }
            RecordKind::Mark => {}
        }
    }
    if !is_content_missing {
        return None;
    }
    let branches = if entry_count > 0 {
        operation.branches
    } else {
        0
    };
    Some(MissingPart {
        operation: Operation {
            name: operation.name,
            records: missing_records.len(),
            entries: entry_count,
            branches,
            before: operation.before,
        },
        records: missing_records,
    })
}

/// The result of undoing a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// The content was put back.
    Restored,
    /// The session contains the content already.
    Present,
    /// The content has no place in the session.
    Lost,
}

/// The session after all operations were undone.
struct RestoredSession {
    file: PieceTable,
    /// See [`Restoration::session_lines`].
    session_lines: Vec<Option<LineNo>>,
}

/// A value in the place from which a payload was pruned.
enum ComparedValue {
    /// The placeholder: the payload can be put back.
    Placeholder,
    /// The payload itself, which was put back before.
    Payload,
    /// Another value, or none: the payload has no place here.
    Other,
}

/// A line behind which entries were removed.
#[derive(PartialEq, Eq, Hash)]
enum Anchor {
    /// The header.
    Header,
    /// The entry with this id.
    Entry(Text<'static>),
}

/// A removed entry that is to be put back behind its anchor.
struct RemovedEntry<'a> {
    record: &'a PrunedRecord,
    /// The index of the record in the operation.
    index: usize,
    /// The number of lines by which the entry was below its anchor: 1 for the next line.
    distance: usize,
}

/// The entries that an operation removed.
#[derive(Default)]
struct RemovedEntries<'a> {
    /// The entries to put back, by anchor, in file order.
    behind: HashMap<Anchor, VecDeque<RemovedEntry<'a>>>,
    /// The ids of the entries that the session contains already.
    present_ids: HashSet<&'a Text<'static>>,
}

impl RemovedEntries<'_> {
    /// Whether a line is a removed entry that the session contains already. It is not an anchor: if
    /// `x` and then `y` were removed behind `a`, and `x` is present, `y` belongs behind `x`.
    fn is_present(&self, line: &Anchor) -> bool {
        match line {
            Anchor::Header => false,
            Anchor::Entry(id) => self.present_ids.contains(id),
        }
    }
}

/// Merges the lines of a session with its removed entries. Each entry is put back at its distance
/// behind its anchor: `x`, at the distance 2, becomes the second line after `a`.
///
/// ```text
/// session      a, blank, b
/// merged       a, blank, x, b
/// ```
///
/// A prune removes only entries. So blank and malformed lines behind an anchor are still there, and
/// count.
struct LineMerger<'a> {
    /// The merged lines so far. A new list, because each insertion into a long list would move the
    /// rest of it.
    lines: Vec<RestoredLine<'a>>,
    /// The index of the last anchor in `lines`.
    anchor_index: usize,
    /// The entries behind that anchor that are not inserted yet, in file order.
    pending: VecDeque<RemovedEntry<'a>>,
    /// The indexes of the records of the inserted entries.
    inserted: Vec<usize>,
}

/// The result of a [`LineMerger`].
struct MergedLines<'a> {
    lines: Vec<RestoredLine<'a>>,
    /// The indexes of the records of the inserted entries.
    inserted: Vec<usize>,
}

impl<'a> LineMerger<'a> {
    fn with_capacity(line_count: usize) -> LineMerger<'a> {
        LineMerger {
            lines: Vec::with_capacity(line_count),
            anchor_index: 0,
            pending: VecDeque::new(),
            inserted: Vec::new(),
        }
    }

    /// Adds the next line of the session, behind which these entries were `removed`.
    fn push_anchor(&mut self, anchor: RestoredLine<'a>, removed: VecDeque<RemovedEntry<'a>>) {
        // Entries of the last anchor are still pending if fewer lines follow it than their distance.
        self.insert_all_pending();
        self.anchor_index = self.lines.len();
        self.lines.push(anchor);
        self.pending = removed;
    }

    /// Adds the next line of the session, which is not an anchor: entries that were before it are
    /// inserted first.
    fn push_other_line(&mut self, line: RestoredLine<'a>) {
        while let Some(entry) = self.pending.front() {
            // 1 for the line directly behind the anchor.
            let distance_of_next_line = self.lines.len() - self.anchor_index;
            if entry.distance > distance_of_next_line {
                break;
            }
            self.insert_next_pending();
        }
        self.lines.push(line);
    }

    /// Returns the merged lines. Entries that are still pending come last.
    fn finish(mut self) -> MergedLines<'a> {
        self.insert_all_pending();
        MergedLines {
            lines: self.lines,
            inserted: self.inserted,
        }
    }

    /// Inserts the entries that are still pending behind the last anchor.
    fn insert_all_pending(&mut self) {
        while !self.pending.is_empty() {
            self.insert_next_pending();
        }
    }

    fn insert_next_pending(&mut self) {
        let Some(entry) = self.pending.pop_front() else {
            return;
        };
        // Its anchor precedes it, so there is a line before it.
        let line_before = self.lines[self.lines.len() - 1];
        self.lines
            .push(RestoredLine::of_removed(entry.record, line_before));
        self.inserted.push(entry.index);
    }
}

/// The lines of the session, including those that were put back so far.
struct RestoredLines<'a> {
    session: &'a Session,
    source: &'a dyn ReadAt,
    reader: EntryReader<'a>,
    pruned: &'a dyn ReadAt,
    lines: Vec<RestoredLine<'a>>,
    /// See [`collect_pruned_fields`]. These values are ignored when two versions of an entry are
    /// compared.
    pruned_fields: HashMap<Text<'static>, Vec<String>>,
    /// The values to put back, by line. In the order in which they were found, so the value of the
    /// oldest operation is the last.
    edits: HashMap<LineKey, Vec<ValueEdit<'a>>>,
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

impl<'a> RestoredLines<'a> {
    /// Reads the lines of the session, before anything is put back.
    fn read(
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
    fn undo_operation(&mut self, records: &'a [PrunedRecord]) -> io::Result<Vec<Fate>> {
        // Entries before values, because a value may be in an entry that is put back. None of them
        // is put back behind the mark, which was appended last.
        let entry_fates = self.put_entries_back(records)?;
        let mark_fate = self.undo_mark(records, &entry_fates)?;

        let mut fates = Vec::with_capacity(records.len());
        for (index, record) in records.iter().enumerate() {
            let fate = match &record.kind {
                RecordKind::Mark => mark_fate,
                RecordKind::Entry { .. } => entry_fates.get(&index).copied().unwrap_or(Fate::Lost),
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

    /// Undoes the mark of an operation: a prune appends one if the agents would otherwise take
    /// another entry for the leaf. If all removed entries are lost, the mark is still necessary, and
    /// stays.
    ///
    /// `entry_fates` has the fates of the entries that are not lost.
    fn undo_mark(
        &mut self,
        records: &[PrunedRecord],
        entry_fates: &HashMap<usize, Fate>,
    ) -> io::Result<Fate> {
        let Some(mark) = records.iter().find(|record| record.is_mark()) else {
            return Ok(Fate::Lost); // No record gets this fate.
        };
        let has_entries = records
            .iter()
            .any(|record| matches!(record.kind, RecordKind::Entry { .. }));
        let is_still_necessary = has_entries && entry_fates.is_empty();
        if is_still_necessary {
            return Ok(Fate::Lost);
        }
        self.remove_mark(mark)
    }

    /// Removes the last line, if it is the mark of this record.
    ///
    /// If entries were appended after the mark, it stays, because they may refer to it. This counts
    /// as restored, too, and so does a session without the mark.
    fn remove_mark(&mut self, record: &PrunedRecord) -> io::Result<Fate> {
        let Some(&last_line) = self.lines.last() else {
            return Ok(Fate::Lost);
        };
        let mark_span = record.spans.payload;
        // If a later prune changed the parent in the mark, its value is in `edits` by now, and the
        // length may differ. Otherwise a line of another length is not read.
        let may_be_mark =
            last_line.span.len == mark_span.len || self.edits.contains_key(&last_line.key());
        let is_mark = may_be_mark
            && self.read_current_line(last_line)? == self.pruned.read_range(mark_span.range())?;
        if is_mark {
            self.lines.pop();
            self.edits.remove(&last_line.key());
            // For a mark, this is whether the line before it had a newline. If not, the prune
            // added one.
            if !record.has_newline
                && let Some(line_before) = self.lines.last_mut()
            {
                line_before.has_newline = false;
            }
        }
        Ok(Fate::Restored)
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
        let mut removed = RemovedEntries::default();
        for (index, record) in records.iter().enumerate() {
            let RecordKind::Entry { after, distance } = &record.kind else {
                continue;
            };
            // The session may contain the entry already, if an earlier restore was killed.
            if self.session_contains(record)? {
                fates.insert(index, Fate::Present);
                removed.present_ids.insert(&record.id);
                continue;
            }
            let anchor = match after {
                Some(id) => Anchor::Entry(id.clone()),
                None => Anchor::Header,
            };
            let entries = removed.behind.entry(anchor).or_default();
            entries.push_back(RemovedEntry {
                record,
                index,
                distance: *distance as usize,
            });
        }

        if !removed.behind.is_empty() {
            for index in self.insert_entries(removed) {
                fates.insert(index, Fate::Restored);
            }
        }
        Ok(fates)
    }

    /// Inserts the lines of removed entries behind their anchors. Entries whose anchor is missing
    /// are not inserted.
    ///
    /// Returns the indexes of the records of the inserted entries.
    fn insert_entries(&mut self, mut removed: RemovedEntries<'a>) -> Vec<usize> {
        let mut merger = LineMerger::with_capacity(self.lines.len());
        for line in std::mem::take(&mut self.lines) {
            match self.find_anchor(line) {
                Some(anchor) if !removed.is_present(&anchor) => {
                    let behind = removed.behind.remove(&anchor).unwrap_or_default();
                    merger.push_anchor(line, behind);
                }
                _ => merger.push_other_line(line),
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

    /// Puts the value of a record back in place of its placeholder, which is JSON, and returns the
    /// fate of the record. The lines stay as they are: `edits` gets the replacement.
    ///
    /// The placeholder may be in a line of the session, or in the line of a removed entry that was
    /// put back before.
    fn put_value_back(
        &mut self,
        record: &'a PrunedRecord,
        field: &'a str,
        placeholder: &[u8],
    ) -> io::Result<Fate> {
        let placeholder = Raw::from_checked(placeholder);
        let mut fate = Fate::Lost;
        for index in self.candidate_lines(record) {
            let line = self.lines[index];
            match self.compare_in_line(line, record, field, placeholder)? {
                ComparedValue::Placeholder => {
                    let edits = self.edits.entry(line.key()).or_default();
                    edits.push(ValueEdit {
                        field,
                        payload: record.spans.payload,
                    });
                    return Ok(Fate::Restored);
                }
                // The other candidate may still have the placeholder, so the search goes on.
                ComparedValue::Payload => fate = Fate::Present,
                ComparedValue::Other => {}
            }
        }
        Ok(fate)
    }

    /// Puts a malformed line back in place of the line with placeholders, which has this length and
    /// checksum. It has no id, so it is found by its number only.
    fn put_malformed_line_back(
        &mut self,
        record: &'a PrunedRecord,
        redacted_len: u64,
        redacted_crc: u32,
    ) -> io::Result<Fate> {
        let index = (record.line.0 as usize).checked_sub(1);
        let Some(&line) = index.and_then(|index| self.lines.get(index)) else {
            return Ok(Fate::Lost);
        };
        let bytes = self.read_current_line(line)?;
        let is_redacted =
            bytes.len() as u64 == redacted_len && crc32fast::hash(&bytes) == redacted_crc;
        if is_redacted {
            let edits = self.edits.entry(line.key()).or_default();
            edits.push(ValueEdit {
                field: WHOLE_LINE,
                payload: record.spans.payload,
            });
            return Ok(Fate::Restored);
        }
        if bytes == self.pruned.read_range(record.spans.payload.range())? {
            return Ok(Fate::Present);
        }
        Ok(Fate::Lost)
    }

    /// Compares the value at the path `field` of a line with the placeholder of a record, and with
    /// the payload that the placeholder has replaced.
    fn compare_in_line(
        &self,
        line: RestoredLine,
        record: &PrunedRecord,
        field: &str,
        placeholder: Raw,
    ) -> io::Result<ComparedValue> {
        // A later operation may have pruned a value that contains this one, or a part of it.
        if self.has_nested_edit(line, field) {
            let bytes = self.read_current_line(line)?;
            let value = find_at_path(Raw::parse(bytes.trim_ascii())?, field);
            return match value {
                Some(value) => self.compare_value(value, record, placeholder),
                None => Ok(ComparedValue::Other),
            };
        }
        // A later operation may have pruned the same path. It was undone before this one, so what
        // it put back is now the value of the line: it may be the placeholder of this operation.
        if let Some(later_payload) = self.last_payload(line, field) {
            let bytes = self.pruned.read_range(later_payload.range())?;
            return self.compare_value(Raw::parse(bytes.trim_ascii())?, record, placeholder);
        }

        let bytes = self.read_line(line)?;
        let stored_line = Raw::parse(bytes.trim_ascii())?;
        if !may_be_line_of(stored_line, record) {
            return Ok(ComparedValue::Other);
        }
        match find_at_path(stored_line, field) {
            Some(value) => self.compare_value(value, record, placeholder),
            None => Ok(ComparedValue::Other),
        }
    }

    /// Compares a value with the placeholder of a record, and with the payload that it has
    /// replaced. A value that equals both counts as the placeholder.
    fn compare_value(
        &self,
        value: Raw,
        record: &PrunedRecord,
        placeholder: Raw,
    ) -> io::Result<ComparedValue> {
        if is_placeholder(value, placeholder) {
            Ok(ComparedValue::Placeholder)
        } else if self.is_payload(value, record)? {
            Ok(ComparedValue::Payload)
        } else {
            Ok(ComparedValue::Other)
        }
    }

    /// Returns the location, in the pruned file, of the value that was last put back at a path of a
    /// line; `None` if there is none.
    fn last_payload(&self, line: RestoredLine, field: &str) -> Option<Span> {
        let edits = self.edits.get(&line.key())?;
        let last_edit = edits.iter().rfind(|edit| edit.field == field)?;
        Some(last_edit.payload)
    }

    /// Whether a value was put back in a line that contains the value at this path, or is in it.
    fn has_nested_edit(&self, line: RestoredLine, field: &str) -> bool {
        let Some(edits) = self.edits.get(&line.key()) else {
            return false;
        };
        edits
            .iter()
            .any(|edit| is_path_above(edit.field, field) || is_path_above(field, edit.field))
    }

    /// Returns the bytes of a line after the values that were put back so far.
    fn read_current_line(&self, line: RestoredLine) -> io::Result<Vec<u8>> {
        let mut bytes = self.read_line(line)?;
        let Some(edits) = self.edits.get(&line.key()) else {
            return Ok(bytes);
        };
        // In the order in which they were put back: the place of a value may be in another one.
        for edit in edits {
            let payload = self.pruned.read_range(edit.payload.range())?;
            let range = match Raw::parse(bytes.trim_ascii()) {
                Ok(root) => match find_at_path(root, edit.field) {
                    Some(value) => range_in(value.bytes(), &bytes),
                    None => continue,
                },
                // A malformed line is put back as a whole.
                Err(_) => 0..bytes.len(),
            };
            bytes.splice(range, payload);
        }
        Ok(bytes)
    }

    /// Whether the values of a line must be put back one after another: one of them is in another,
    /// or is the whole line.
    fn has_nested_edits(&self, line: RestoredLine) -> bool {
        let Some(edits) = self.edits.get(&line.key()) else {
            return false;
        };
        edits
            .iter()
            .any(|edit| edit.field == WHOLE_LINE || self.has_nested_edit(line, edit.field))
    }

    /// Whether a value equals the payload of a record, byte for byte.
    fn is_payload(&self, value: Raw, record: &PrunedRecord) -> io::Result<bool> {
        let payload = record.spans.payload;
        Ok(value.bytes().len() as u64 == payload.len
            && value.bytes() == self.pruned.read_range(payload.range())?)
    }

    /// Returns the indexes of the lines that a pruned value may belong to: the line with the
    /// original number, and the line of the entry with the recorded id. They differ if lines were
    /// added or removed since.
    fn candidate_lines(&self, record: &PrunedRecord) -> Vec<usize> {
        let mut candidates = Vec::new();
        if let Some(index) = (record.line.0 as usize).checked_sub(1)
            && index < self.lines.len()
        {
            candidates.push(index);
        }
        if let Some(index) = self.find_entry_line(&record.id)
            && !candidates.contains(&index)
        {
            candidates.push(index);
        }
        candidates
    }

    /// Returns the index in `lines` of the session's entry with this id. `lines` also has lines
    /// that were put back, so the index differs from the line number.
    fn find_entry_line(&self, id: &Text) -> Option<usize> {
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
    fn read_line(&self, line: RestoredLine) -> io::Result<Vec<u8>> {
        match line.record {
            Some(_) => self.pruned.read_range(line.span.range()),
            None => self.reader.read_stored(line.span),
        }
    }

    /// Returns the restored session as pieces of the pruned session and of the pruned file, which
    /// are not copied.
    fn build_restored(self) -> io::Result<RestoredSession> {
        let mut restored = PieceTable::default();
        let mut session_lines = Vec::with_capacity(self.lines.len());
        for (index, &line) in self.lines.iter().enumerate() {
            session_lines.push(match line.record {
                Some(_) => None,
                None => Some(LineNo(line.session_number)),
            });
            self.push_line(line, &mut restored)?;

            // A line that lacked its newline at the end of the file needs one if another line now
            // follows.
            let is_last = index + 1 == self.lines.len();
            if line.has_newline || !is_last {
                self.push_newline(line, &mut restored);
            }
        }
        Ok(RestoredSession {
            file: restored,
            session_lines,
        })
    }

    /// Adds the newline of a line: the next byte of the session, so that it extends the piece of
    /// the line. A new byte is added for a removed line, whose record does not contain the newline,
    /// and at the end of the session, which may lack one.
    fn push_newline(&self, line: RestoredLine, restored: &mut PieceTable) {
        let line_end = line.span.end();
        let is_in_session = line.record.is_none() && line_end < self.source.len();
        if is_in_session {
            restored.push_source(Span {
                start: line_end,
                len: 1,
            });
        } else {
            restored.push_new_bytes(b"\n");
        }
    }

    /// Adds a line to the restored session, without its newline: the values that were pruned are
    /// taken from the pruned file, the bytes between them from the file of the line.
    fn push_line(&self, line: RestoredLine, restored: &mut PieceTable) -> io::Result<()> {
        if self.has_nested_edits(line) {
            restored.push_new_bytes(&self.read_current_line(line)?);
            return Ok(());
        }
        let origin = line.origin();
        let mut copied_end = line.span.start;
        for splice in self.find_splices(line)? {
            let unchanged = Span {
                start: copied_end,
                len: splice.replaced.start - copied_end,
            };
            restored.push_span(origin, unchanged);
            restored.push_span(Origin::Beside, splice.payload);
            copied_end = splice.replaced.end();
        }
        let unchanged = Span {
            start: copied_end,
            len: line.span.end() - copied_end,
        };
        restored.push_span(origin, unchanged);
        Ok(())
    }

    /// Returns the splices that put back the values of a line: which bytes of the line each of them
    /// replaces. In the order of the line.
    fn find_splices(&self, line: RestoredLine) -> io::Result<Vec<Splice>> {
        let Some(edits) = self.edits.get(&line.key()) else {
            return Ok(Vec::new());
        };
        let bytes = self.read_line(line)?;
        let root = Raw::parse(bytes.trim_ascii())?;
        // By path: the location of the original value. If several operations have pruned a path, it
        // has several edits. The last is that of the oldest operation, which has the original
        // value.
        let mut payload_by_field: HashMap<&str, Span> = HashMap::default();
        for edit in edits {
            payload_by_field.insert(edit.field, edit.payload);
        }

        let mut splices = Vec::new();
        for (field, payload) in payload_by_field {
            if let Some(value) = find_at_path(root, field) {
                splices.push(Splice {
                    replaced: locate_part(value.bytes(), &bytes, line.span),
                    payload,
                });
            }
        }
        splices.sort_by_key(|splice| splice.replaced.start);
        Ok(splices)
    }
}

/// The replacement of a value in a line by bytes of the pruned file.
struct Splice {
    /// The location of the value in the file of its line.
    replaced: Span,
    /// The location of the new bytes in the pruned file.
    payload: Span,
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

/// Whether a path is that of a value which contains the value at another path:
/// `message.content[1]` is above `message.content[1].text`. The path of the whole line is above all
/// others.
fn is_path_above(path: &str, other: &str) -> bool {
    if path == WHOLE_LINE {
        return other != WHOLE_LINE;
    }
    match other.strip_prefix(path) {
        Some(rest) => rest.starts_with(['.', '[']),
        None => false,
    }
}

/// Whether a line may be the line of a record: the ids are equal, or one of them is missing, as in
/// older formats.
fn may_be_line_of(line: Raw, record: &PrunedRecord) -> bool {
    record.id.is_empty() || line.get_text("id").is_none_or(|id| id == record.id)
}

/// Whether a value is this placeholder. The formatting may differ, because an agent may have
/// rewritten the file.
fn is_placeholder(value: Raw, placeholder: Raw) -> bool {
    /// A value more than this many times as long as the placeholder is not compared, and counts as
    /// different.
    const MAX_LENGTH_RATIO: usize = 8;

    value.bytes().len() <= MAX_LENGTH_RATIO * placeholder.bytes().len()
        && js::stringify(value) == js::stringify(placeholder)
}
