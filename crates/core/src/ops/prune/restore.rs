//! Finds where what was pruned belongs, from the last operation to the first.

use super::locate_part;
use super::payload::find_at_path;
use super::side::{Operation, PrunedRecord, RecordKind, RecordSpans};
use crate::ops::patched::{Origin, PatchedFile, PieceTable};
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

/// What was pruned from a session, and its places there.
pub struct Restoration {
    /// The file of what was pruned.
    pub(super) pruned: Box<dyn ReadAt>,
    /// The session with what was pruned.
    restored: PieceTable,
    /// The number in the session of each line of it; `None` if it was pruned.
    session_lines: Vec<Option<LineNo>>,
    /// What was put in its place, without links and marks, in the order of the pruned file.
    pub restored_records: Vec<PrunedRecord>,
    /// What has no place in the session: the ids of its entries, and its fields.
    pub unplaced: Vec<(String, String)>,
    /// What the session does not contain: the operations, with the places of their records.
    pub(super) missing: Vec<(Operation, Vec<RecordSpans>)>,
}

/// A line of the session with what was pruned.
#[derive(Clone, Copy)]
struct RestoredLine<'a> {
    /// The number in the session of this line, or of the last one before it that is in the session.
    session_number: u32,
    /// Its record, if it was pruned.
    record: Option<&'a PrunedRecord>,
    /// Its bytes in its file, without the newline.
    span: Span,
    /// Whether it ends with a newline.
    has_newline: bool,
}

impl RestoredLine<'_> {
    /// Returns its file and its offset there, which no other line has.
    fn origin_and_offset(&self) -> (Origin, u64) {
        let origin = match self.record {
            Some(_) => Origin::Beside,
            None => Origin::Source,
        };
        (origin, self.span.start)
    }
}

impl Restoration {
    /// Finds the places of everything that was pruned. What the session contains needs none: pisess
    /// may have been killed before the pruned file was removed, or right after it was written.
    pub fn new(
        session: &Session,
        source: &dyn ReadAt,
        operations: Vec<(Operation, Vec<PrunedRecord>)>,
        pruned: Box<dyn ReadAt>,
    ) -> io::Result<Restoration> {
        let mut lines = RestoredLines::read(session, source, &operations, &*pruned)?;
        // The last operation is undone first.
        let mut fates = Vec::with_capacity(operations.len());
        for (_, records) in operations.iter().rev() {
            fates.push(lines.undo_operation(records)?);
        }
        fates.reverse();
        let (whole, lines) = lines.build_restored()?;

        let mut placed = Vec::new();
        let mut lost = Vec::new();
        let mut missing = Vec::new();
        for ((operation, records), fates) in operations.into_iter().zip(fates) {
            missing.extend(missing_part(operation, &records, &fates));
            for (record, fate) in records.into_iter().zip(fates) {
                if matches!(record.kind, RecordKind::Mark) {
                    continue;
                }
                let is_link = matches!(record.kind, RecordKind::Value { is_link: true, .. });
                match fate {
                    Fate::Restored if is_link => {}
                    Fate::Restored => placed.push(record),
                    Fate::Lost => lost.push((
                        record.id.to_string_lossy().into_owned(),
                        record.field().unwrap_or("the entry").to_owned(),
                    )),
                    Fate::Present => {}
                }
            }
        }
        Ok(Restoration {
            pruned,
            restored: whole,
            session_lines: lines,
            restored_records: placed,
            unplaced: lost,
            missing,
        })
    }

    /// Returns the session with what was pruned.
    pub fn restored_file<'a>(&'a self, session: &'a dyn ReadAt) -> PatchedFile<'a> {
        PatchedFile {
            pieces: &self.restored,
            source: session,
            beside: &*self.pruned,
        }
    }

    /// Returns the number in the session of a line of the whole; `None` if it was pruned.
    pub fn session_line(&self, line: LineNo) -> Option<LineNo> {
        let at = line.0.checked_sub(1)?;
        *self.session_lines.get(at as usize)?
    }
}

/// Returns the part of an operation that the session does not contain, with the places of its
/// records in the pruned file. `None` if no record is missing, or only its mark.
///
/// The operation counts the branches that it removed only as long as an entry is missing.
fn missing_part(
    operation: Operation,
    records: &[PrunedRecord],
    fates: &[Fate],
) -> Option<(Operation, Vec<RecordSpans>)> {
    let mut places = Vec::new();
    let mut entries = 0;
    let mut is_needed = false;
    for (record, fate) in records.iter().zip(fates) {
        if *fate == Fate::Present {
            continue;
        }
        places.push(record.spans);
        match record.kind {
            RecordKind::Entry { .. } => {
                entries += 1;
                is_needed = true;
            }
            RecordKind::Value { .. } => is_needed = true,
            RecordKind::Mark => {}
        }
    }
    if !is_needed {
        return None;
    }
    let operation = Operation {
        name: operation.name,
        records: places.len(),
        entries,
        branches: if entries > 0 { operation.branches } else { 0 },
    };
    Some((operation, places))
}

/// What became of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It was put in its place.
    Restored,
    /// The session contains what it records.
    Present,
    /// It has no place.
    Lost,
}

/// A line behind which entries were removed.
#[derive(PartialEq, Eq, Hash)]
enum Anchor {
    /// The header.
    Header,
    /// The entry with this id.
    Entry(Text<'static>),
}

/// An entry to put back behind its anchor.
struct WaitingEntry {
    /// The position of its record in the operation.
    record: usize,
    /// The number of lines from the anchor to it.
    distance: u32,
}

/// The lines of the session, with what was put in place so far.
struct RestoredLines<'a> {
    session: &'a Session,
    source: &'a dyn ReadAt,
    reader: EntryReader<'a>,
    pruned: &'a dyn ReadAt,
    lines: Vec<RestoredLine<'a>>,
    /// The fields of each entry that were pruned, by any operation.
    fields: HashMap<Text<'static>, Vec<String>>,
    /// By the places of their lines, the paths of values that are to be replaced by bytes of the
    /// pruned file.
    edits: HashMap<(Origin, u64), Vec<(&'a str, Span)>>,
}

impl<'a> RestoredLines<'a> {
    /// Reads where the lines of the session are, without anything put in place.
    fn read(
        session: &'a Session,
        source: &'a dyn ReadAt,
        operations: &'a [(Operation, Vec<PrunedRecord>)],
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
        let reader = EntryReader::new(session, source);
        let mut fields: HashMap<_, Vec<_>> = HashMap::default();
        for record in operations.iter().flat_map(|(_, records)| records) {
            if let RecordKind::Value { field, .. } = &record.kind {
                fields
                    .entry(record.id.clone())
                    .or_default()
                    .push(field.clone());
            }
        }
        Ok(RestoredLines {
            session,
            source,
            reader,
            pruned,
            lines,
            fields,
            edits: HashMap::default(),
        })
    }

    /// Undoes an operation, and returns what became of its records: first its mark is removed, then
    /// its entries are put back, and last its values.
    fn undo_operation(&mut self, records: &'a [PrunedRecord]) -> io::Result<Vec<Fate>> {
        let mut fates = vec![Fate::Lost; records.len()];
        let mark = records
            .iter()
            .position(|record| matches!(record.kind, RecordKind::Mark));
        if let Some(at) = mark {
            fates[at] = self.remove_mark(&records[at])?;
        }
        self.put_entries_back(records, &mut fates)?;
        for (record, fate) in records.iter().zip(&mut fates) {
            if let RecordKind::Value {
                field,
                placeholder: note,
                ..
            } = &record.kind
            {
                *fate = self.put_value_back(record, field, note)?;
            }
        }
        Ok(fates)
    }

    /// Removes a mark, if nothing follows it. Otherwise it stays: what follows refers to it.
    fn remove_mark(&mut self, record: &PrunedRecord) -> io::Result<Fate> {
        let Some(&last) = self.lines.last() else {
            return Ok(Fate::Lost);
        };
        if self.edits.contains_key(&last.origin_and_offset()) {
            // A value was put back in this line.
            return Ok(Fate::Lost);
        }
        let is_mark = last.span.len == record.spans.payload.len
            && self.read_line(last)? == self.pruned.read_range(record.spans.payload.range())?;
        if is_mark {
            self.lines.pop();
            // The newline before the mark was added with it.
            if !record.has_newline
                && let Some(before) = self.lines.last_mut()
            {
                before.has_newline = false;
            }
        }
        Ok(Fate::Restored)
    }

    /// Inserts the lines that were removed, each at its distance behind its anchor. Entries that
    /// the session contains are not inserted, and those without an anchor keep their fate.
    fn put_entries_back(
        &mut self,
        records: &'a [PrunedRecord],
        fates: &mut [Fate],
    ) -> io::Result<()> {
        let mut waiting: HashMap<Anchor, Vec<WaitingEntry>> = HashMap::default();
        for (index, record) in records.iter().enumerate() {
            let RecordKind::Entry { after, distance } = &record.kind else {
                continue;
            };
            if self.session_contains(record)? {
                fates[index] = Fate::Present;
                continue;
            }
            let anchor = match after {
                Some(id) => Anchor::Entry(id.clone()),
                None => Anchor::Header,
            };
            waiting.entry(anchor).or_default().push(WaitingEntry {
                record: index,
                distance: *distance,
            });
        }
        if waiting.is_empty() {
            return Ok(());
        }

        let mut lines = Vec::with_capacity(self.lines.len() + records.len());
        let mut old_lines = std::mem::take(&mut self.lines).into_iter().peekable();
        while let Some(line) = old_lines.next() {
            let anchor_at = lines.len();
            lines.push(line);
            let Some(anchor) = self.find_anchor(line) else {
                continue;
            };
            let Some(entries) = waiting.remove(&anchor) else {
                continue;
            };

            // The number in the session of the last line that is in the session.
            let mut number = line.session_number;
            for entry in entries {
                // Lines between them that are not entries stayed.
                while lines.len() < anchor_at + entry.distance as usize
                    && let Some(between) =
                        old_lines.next_if(|&next| self.find_anchor(next).is_none())
                {
                    number = between.session_number;
                    lines.push(between);
                }
                let record = &records[entry.record];
                lines.push(RestoredLine {
                    session_number: number,
                    record: Some(record),
                    span: record.spans.payload,
                    has_newline: record.has_newline,
                });
                fates[entry.record] = Fate::Restored;
            }
        }
        self.lines = lines;
        Ok(())
    }

    /// Returns what a line is as an anchor; `None` if it is neither the header nor an entry with an
    /// id.
    fn find_anchor(&self, line: RestoredLine) -> Option<Anchor> {
        if let Some(record) = line.record {
            return Some(Anchor::Entry(record.id.clone()));
        }
        if line.session_number == self.session.header.line.0 {
            return Some(Anchor::Header);
        }
        let ix = self.session.entry_on_line(LineNo(line.session_number))?;
        if self.session.entry(ix).id.is_empty() {
            return None;
        }
        Some(Anchor::Entry(self.session.id(ix).into_owned()))
    }

    /// Whether the session contains an entry that was removed, other than by values that were
    /// pruned as well.
    fn session_contains(&self, record: &PrunedRecord) -> io::Result<bool> {
        let Some(ix) = self.session.find_entry(&record.id) else {
            return Ok(false);
        };
        let stored_bytes = self.reader.read_stored(self.session.entry(ix).span)?;
        let removed_bytes = self.pruned.read_range(record.spans.payload.range())?;
        let fields = match self.fields.get(&record.id) {
            Some(fields) => fields.as_slice(),
            None => &[],
        };
        Ok(normalize_without(&stored_bytes, fields)? == normalize_without(&removed_bytes, fields)?)
    }

    /// Puts a value back, where its note is: in a line of the session or in one that was put back,
    /// or in a value of the same path that a later operation replaced.
    fn put_value_back(
        &mut self,
        record: &'a PrunedRecord,
        field: &'a str,
        placeholder: &[u8],
    ) -> io::Result<Fate> {
        let note = Raw::from_checked(placeholder);
        let mut fate = Fate::Lost;
        for at in self.candidate_lines(record) {
            let line = self.lines[at];
            let later_payload = self.last_payload(line, field);
            let bytes = match later_payload {
                Some(payload) => self.pruned.read_range(payload.range())?,
                None => self.read_line(line)?,
            };
            let root = Raw::parse(bytes.trim_ascii())?;
            let value = match later_payload {
                // All bytes are this value.
                Some(_) => Some(root),
                None if may_be_line_of(root, record) => find_at_path(root, field),
                None => None,
            };
            let Some(value) = value else {
                continue;
            };

            if is_placeholder(value, note) {
                let edits = self.edits.entry(line.origin_and_offset()).or_default();
                edits.push((field, record.spans.payload));
                return Ok(Fate::Restored);
            }
            if self.is_payload(value, record)? {
                fate = Fate::Present;
            }
        }
        Ok(fate)
    }

    /// Returns the bytes of the pruned file that were put last at a path of a line, if any were.
    fn last_payload(&self, line: RestoredLine, field: &str) -> Option<Span> {
        let edits = self.edits.get(&line.origin_and_offset())?;
        let (_, payload) = edits.iter().rfind(|(edited, _)| *edited == field)?;
        Some(*payload)
    }

    /// Whether a value is, byte for byte, what a record contains.
    fn is_payload(&self, value: Raw, record: &PrunedRecord) -> io::Result<bool> {
        let payload = record.spans.payload;
        Ok(value.bytes().len() as u64 == payload.len
            && value.bytes() == self.pruned.read_range(payload.range())?)
    }

    /// Returns the positions of the lines on which a value may be: the original line, and the one
    /// with the id, in case lines have moved.
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

    /// Returns the position of the line of an entry of the session.
    fn find_entry_line(&self, id: &Text) -> Option<usize> {
        if id.is_empty() {
            return None;
        }
        let ix = self.session.find_entry(id)?;
        let number = self.session.entry(ix).line.0;
        // Lines that were put back have the number of the line before them, so this is the first of
        // its number.
        let index = self
            .lines
            .partition_point(|line| line.session_number < number);
        let line = self.lines.get(index)?;
        if line.session_number == number && line.record.is_none() {
            Some(index)
        } else {
            None
        }
    }

    /// Returns the bytes of a line.
    fn read_line(&self, line: RestoredLine) -> io::Result<Vec<u8>> {
        match line.record {
            Some(_) => self.pruned.read_range(line.span.range()),
            None => self.reader.read_stored(line.span),
        }
    }

    /// Returns the session with what was pruned, and the number of each line in the session.
    fn build_restored(self) -> io::Result<(PieceTable, Vec<Option<LineNo>>)> {
        let mut whole = PieceTable::default();
        let mut numbers = Vec::with_capacity(self.lines.len());
        for (index, &line) in self.lines.iter().enumerate() {
            let (origin, _) = line.origin_and_offset();
            numbers.push(match line.record {
                Some(_) => None,
                None => Some(LineNo(line.session_number)),
            });

            let mut start = line.span.start;
            for (value, payload) in self.find_splices(line)? {
                whole.push_span(
                    origin,
                    Span {
                        start,
                        len: value.start - start,
                    },
                );
                whole.push_span(Origin::Beside, payload);
                start = value.end();
            }
            whole.push_span(
                origin,
                Span {
                    start,
                    len: line.span.end() - start,
                },
            );

            // Only the last line may lack a newline.
            let is_last = index + 1 == self.lines.len();
            if line.has_newline || !is_last {
                // The newline of a line of the session is the next byte, if it has one.
                if line.record.is_none() && line.span.end() < self.source.len() {
                    whole.push_source(Span {
                        start: line.span.end(),
                        len: 1,
                    });
                } else {
                    whole.push_new_bytes(b"\n");
                }
            }
        }
        Ok((whole, numbers))
    }

    /// Returns where values of a line are in its file, and the bytes of the pruned file that
    /// replace each, in the order of the line. Of several edits of one path, the last counts.
    fn find_splices(&self, line: RestoredLine) -> io::Result<Vec<(Span, Span)>> {
        let Some(edits) = self.edits.get(&line.origin_and_offset()) else {
            return Ok(Vec::new());
        };
        let bytes = self.read_line(line)?;
        let root = Raw::parse(bytes.trim_ascii())?;
        let payloads: HashMap<&str, Span> = edits.iter().copied().collect();
        let mut splices = Vec::new();
        for (field, payload) in payloads {
            if let Some(value) = find_at_path(root, field) {
                splices.push((locate_part(value.bytes(), &bytes, line.span), payload));
            }
        }
        splices.sort_by_key(|(value, _)| value.start);
        Ok(splices)
    }
}

/// Returns an entry as JSON, whatever its formatting, without the values of these fields.
fn normalize_without(stored: &[u8], fields: &[String]) -> io::Result<Text<'static>> {
    let line = stored.trim_ascii();
    let root = Raw::parse(line)?;
    let mut edit = Edit::new(line)?;
    for value in fields.iter().filter_map(|field| find_at_path(root, field)) {
        edit.replace(value, b"null");
    }
    Ok(js::stringify(Raw::from_checked(&edit.finish())).into_owned())
}

/// Whether a line may be that of a record: it has the same id, or none, as in older formats.
fn may_be_line_of(line: Raw, record: &PrunedRecord) -> bool {
    record.id.is_empty() || line.get_text("id").is_none_or(|id| id == record.id)
}

/// Whether a value is the note, even if an agent has rewritten the file with another formatting. A
/// value of more than eight times the note's length is not compared.
fn is_placeholder(value: Raw, placeholder: Raw) -> bool {
    value.bytes().len() <= 8 * placeholder.bytes().len()
        && js::stringify(value) == js::stringify(placeholder)
}
