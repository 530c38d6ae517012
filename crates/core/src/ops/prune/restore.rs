//! Finds where what was pruned belongs, from the last operation to the first.

use super::payload::at_path;
use super::place_of;
use super::side::{Operation, Record, RecordPlace, What};
use crate::ops::patched::{Origin, Patched, Pieces};
use crate::session::Session;
use crate::session::entry::{LineNo, Span};
use crate::session::read::entry_reader::EntryReader;
use crate::session::read::line_chunks::each_line;
use foldhash::HashMap;
use pisess_json::edit::Edit;
use pisess_json::text::Text;
use pisess_json::{Raw, js};
use pisess_store::ReadAt;
use std::io;

/// What was pruned from a session, and its places there.
pub struct Restore {
    /// The file of what was pruned.
    pub(super) pruned: Box<dyn ReadAt>,
    /// The session with what was pruned.
    whole: Pieces,
    /// The number in the session of each line of it; `None` if it was pruned.
    lines: Vec<Option<LineNo>>,
    /// What was put in its place, without links and marks, in the order of the pruned file.
    pub placed: Vec<Record>,
    /// What has no place in the session: the ids of its entries, and its fields.
    pub lost: Vec<(String, String)>,
    /// What the session does not contain: the operations, with the places of their records.
    pub(super) missing: Vec<(Operation, Vec<RecordPlace>)>,
}

/// A line of the session with what was pruned.
#[derive(Clone, Copy)]
struct Line<'a> {
    /// The number in the session of this line, or of the last one before it that is in the session.
    number: u32,
    /// Its record, if it was pruned.
    pruned: Option<&'a Record>,
    /// Its bytes in its file, without the newline.
    span: Span,
    /// Whether it ends with a newline.
    newline: bool,
}

impl Line<'_> {
    /// Returns its file and its offset there, which no other line has.
    fn place(&self) -> (Origin, u64) {
        let origin = match self.pruned {
            Some(_) => Origin::Beside,
            None => Origin::Source,
        };
        (origin, self.span.start)
    }
}

impl Restore {
    /// Finds the places of everything that was pruned. What the session contains needs none: pisess
    /// may have been killed before the pruned file was removed, or right after it was written.
    pub fn new(
        session: &Session,
        source: &dyn ReadAt,
        operations: Vec<(Operation, Vec<Record>)>,
        pruned: Box<dyn ReadAt>,
    ) -> io::Result<Restore> {
        let mut lines = Lines::read(session, source, &operations, &*pruned)?;
        // The last operation is undone first.
        let mut fates = Vec::with_capacity(operations.len());
        for (_, records) in operations.iter().rev() {
            fates.push(lines.undo(records)?);
        }
        fates.reverse();
        let (whole, lines) = lines.finish()?;

        let mut placed = Vec::new();
        let mut lost = Vec::new();
        let mut missing = Vec::new();
        for ((operation, records), fates) in operations.into_iter().zip(fates) {
            missing.extend(missing_part(operation, &records, &fates));
            for (record, fate) in records.into_iter().zip(fates) {
                if matches!(record.what, What::Mark) {
                    continue;
                }
                let is_link = matches!(record.what, What::Value { is_link: true, .. });
                match fate {
                    Fate::Placed if is_link => {}
                    Fate::Placed => placed.push(record),
                    Fate::Lost => lost.push((
                        record.id.to_string_lossy().into_owned(),
                        record.field().unwrap_or("the entry").to_owned(),
                    )),
                    Fate::There => {}
                }
            }
        }
        Ok(Restore {
            pruned,
            whole,
            lines,
            placed,
            lost,
            missing,
        })
    }

    /// Returns the session with what was pruned.
    pub fn whole<'a>(&'a self, session: &'a dyn ReadAt) -> Patched<'a> {
        Patched {
            pieces: &self.whole,
            source: session,
            beside: &*self.pruned,
        }
    }

    /// Returns the number in the session of a line of the whole; `None` if it was pruned.
    pub fn in_session(&self, line: LineNo) -> Option<LineNo> {
        let at = line.0.checked_sub(1)?;
        *self.lines.get(at as usize)?
    }
}

/// Returns the part of an operation that the session does not contain, with the places of its
/// records in the pruned file. `None` if no record is missing, or only its mark.
///
/// The operation counts the branches that it removed only as long as an entry is missing.
fn missing_part(
    operation: Operation,
    records: &[Record],
    fates: &[Fate],
) -> Option<(Operation, Vec<RecordPlace>)> {
    let mut places = Vec::new();
    let mut entries = 0;
    let mut is_needed = false;
    for (record, fate) in records.iter().zip(fates) {
        if *fate == Fate::There {
            continue;
        }
        places.push(record.place);
        match record.what {
            What::Entry { .. } => {
                entries += 1;
                is_needed = true;
            }
            What::Value { .. } => is_needed = true,
            What::Mark => {}
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
    Placed,
    /// The session contains what it records.
    There,
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
struct Lines<'a> {
    session: &'a Session,
    source: &'a dyn ReadAt,
    reader: EntryReader<'a>,
    pruned: &'a dyn ReadAt,
    lines: Vec<Line<'a>>,
    /// The fields of each entry that were pruned, by any operation.
    fields: HashMap<Text<'static>, Vec<String>>,
    /// By the places of their lines, the paths of values that are to be replaced by bytes of the
    /// pruned file.
    edits: HashMap<(Origin, u64), Vec<(&'a str, Span)>>,
}

impl<'a> Lines<'a> {
    /// Reads where the lines of the session are, without anything put in place.
    fn read(
        session: &'a Session,
        source: &'a dyn ReadAt,
        operations: &'a [(Operation, Vec<Record>)],
        pruned: &'a dyn ReadAt,
    ) -> io::Result<Lines<'a>> {
        let mut lines = Vec::new();
        each_line(source, 0..source.len(), |line| {
            let number = lines.len() as u32 + 1;
            lines.push(Line {
                number,
                pruned: None,
                span: line.span,
                newline: line.newline,
            });
            Ok::<(), io::Error>(())
        })?;
        let reader = EntryReader::new(session, source);
        let mut fields: HashMap<_, Vec<_>> = HashMap::default();
        for record in operations.iter().flat_map(|(_, records)| records) {
            if let What::Value { field, .. } = &record.what {
                fields
                    .entry(record.id.clone())
                    .or_default()
                    .push(field.clone());
            }
        }
        Ok(Lines {
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
    fn undo(&mut self, records: &'a [Record]) -> io::Result<Vec<Fate>> {
        let mut fates = vec![Fate::Lost; records.len()];
        let mark = records
            .iter()
            .position(|record| matches!(record.what, What::Mark));
        if let Some(at) = mark {
            fates[at] = self.remove_mark(&records[at])?;
        }
        self.put_entries_back(records, &mut fates)?;
        for (record, fate) in records.iter().zip(&mut fates) {
            if let What::Value { field, note, .. } = &record.what {
                *fate = self.put_value_back(record, field, note)?;
            }
        }
        Ok(fates)
    }

    /// Removes a mark, if nothing follows it. Otherwise it stays: what follows refers to it.
    fn remove_mark(&mut self, record: &Record) -> io::Result<Fate> {
        let Some(&last) = self.lines.last() else {
            return Ok(Fate::Lost);
        };
        if self.edits.contains_key(&last.place()) {
            // A value was put back in this line.
            return Ok(Fate::Lost);
        }
        let is_mark = last.span.len == record.place.payload.len
            && self.bytes(last)? == self.pruned.read_range(record.place.payload.range())?;
        if is_mark {
            self.lines.pop();
            // The newline before the mark was added with it.
            if !record.newline
                && let Some(before) = self.lines.last_mut()
            {
                before.newline = false;
            }
        }
        Ok(Fate::Placed)
    }

    /// Inserts the lines that were removed, each at its distance behind its anchor. Entries that
    /// the session contains are not inserted, and those without an anchor keep their fate.
    fn put_entries_back(&mut self, records: &'a [Record], fates: &mut [Fate]) -> io::Result<()> {
        let mut waiting: HashMap<Anchor, Vec<WaitingEntry>> = HashMap::default();
        for (at, record) in records.iter().enumerate() {
            let What::Entry { after, distance } = &record.what else {
                continue;
            };
            if self.contains(record)? {
                fates[at] = Fate::There;
                continue;
            }
            let anchor = match after {
                Some(id) => Anchor::Entry(id.clone()),
                None => Anchor::Header,
            };
            waiting.entry(anchor).or_default().push(WaitingEntry {
                record: at,
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
            let Some(anchor) = self.anchor(line) else {
                continue;
            };
            let Some(entries) = waiting.remove(&anchor) else {
                continue;
            };

            // The number in the session of the last line that is in the session.
            let mut number = line.number;
            for entry in entries {
                // Lines between them that are not entries stayed.
                while lines.len() < anchor_at + entry.distance as usize
                    && let Some(between) = old_lines.next_if(|&next| self.anchor(next).is_none())
                {
                    number = between.number;
                    lines.push(between);
                }
                let record = &records[entry.record];
                lines.push(Line {
                    number,
                    pruned: Some(record),
                    span: record.place.payload,
                    newline: record.newline,
                });
                fates[entry.record] = Fate::Placed;
            }
        }
        self.lines = lines;
        Ok(())
    }

    /// Returns what a line is as an anchor; `None` if it is neither the header nor an entry with an
    /// id.
    fn anchor(&self, line: Line) -> Option<Anchor> {
        if let Some(record) = line.pruned {
            return Some(Anchor::Entry(record.id.clone()));
        }
        if line.number == self.session.header.line.0 {
            return Some(Anchor::Header);
        }
        let ix = self.session.entry_on(LineNo(line.number))?;
        if self.session.entry(ix).id.is_empty() {
            return None;
        }
        Some(Anchor::Entry(self.session.id(ix).into_owned()))
    }

    /// Whether the session contains an entry that was removed, other than by values that were
    /// pruned as well.
    fn contains(&self, record: &Record) -> io::Result<bool> {
        let Some(ix) = self.session.find(&record.id) else {
            return Ok(false);
        };
        let there = self.reader.stored(self.session.entry(ix).span)?;
        let removed = self.pruned.read_range(record.place.payload.range())?;
        let fields = match self.fields.get(&record.id) {
            Some(fields) => fields.as_slice(),
            None => &[],
        };
        Ok(without(&there, fields)? == without(&removed, fields)?)
    }

    /// Puts a value back, where its note is: in a line of the session or in one that was put back,
    /// or in a value of the same path that a later operation replaced.
    fn put_value_back(
        &mut self,
        record: &'a Record,
        field: &'a str,
        note: &[u8],
    ) -> io::Result<Fate> {
        let note = Raw::checked(note);
        let mut fate = Fate::Lost;
        for at in self.candidates(record) {
            let line = self.lines[at];
            let later_payload = self.last_payload(line, field);
            let bytes = match later_payload {
                Some(payload) => self.pruned.read_range(payload.range())?,
                None => self.bytes(line)?,
            };
            let root = Raw::parse(bytes.trim_ascii())?;
            let value = match later_payload {
                // All bytes are this value.
                Some(_) => Some(root),
                None if is_of(root, record) => at_path(root, field),
                None => None,
            };
            let Some(value) = value else {
                continue;
            };

            if is_placeholder(value, note) {
                let edits = self.edits.entry(line.place()).or_default();
                edits.push((field, record.place.payload));
                return Ok(Fate::Placed);
            }
            if self.is_payload(value, record)? {
                fate = Fate::There;
            }
        }
        Ok(fate)
    }

    /// Returns the bytes of the pruned file that were put last at a path of a line, if any were.
    fn last_payload(&self, line: Line, field: &str) -> Option<Span> {
        let edits = self.edits.get(&line.place())?;
        let (_, payload) = edits.iter().rfind(|(edited, _)| *edited == field)?;
        Some(*payload)
    }

    /// Whether a value is, byte for byte, what a record contains.
    fn is_payload(&self, value: Raw, record: &Record) -> io::Result<bool> {
        let payload = record.place.payload;
        Ok(value.bytes().len() as u64 == payload.len
            && value.bytes() == self.pruned.read_range(payload.range())?)
    }

    /// Returns the positions of the lines on which a value may be: the original line, and the one
    /// with the id, in case lines have moved.
    fn candidates(&self, record: &Record) -> Vec<usize> {
        let mut candidates = Vec::new();
        if let Some(at) = (record.line.0 as usize).checked_sub(1)
            && at < self.lines.len()
        {
            candidates.push(at);
        }
        if let Some(at) = self.line_of_entry(&record.id)
            && !candidates.contains(&at)
        {
            candidates.push(at);
        }
        candidates
    }

    /// Returns the position of the line of an entry of the session.
    fn line_of_entry(&self, id: &Text) -> Option<usize> {
        if id.is_empty() {
            return None;
        }
        let ix = self.session.find(id)?;
        let number = self.session.entry(ix).line.0;
        // Lines that were put back have the number of the line before them, so this is the first of
        // its number.
        let at = self.lines.partition_point(|line| line.number < number);
        let line = self.lines.get(at)?;
        if line.number == number && line.pruned.is_none() {
            Some(at)
        } else {
            None
        }
    }

    /// Returns the bytes of a line.
    fn bytes(&self, line: Line) -> io::Result<Vec<u8>> {
        match line.pruned {
            Some(_) => self.pruned.read_range(line.span.range()),
            None => self.reader.stored(line.span),
        }
    }

    /// Returns the session with what was pruned, and the number of each line in the session.
    fn finish(self) -> io::Result<(Pieces, Vec<Option<LineNo>>)> {
        let mut whole = Pieces::default();
        let mut numbers = Vec::with_capacity(self.lines.len());
        for (at, &line) in self.lines.iter().enumerate() {
            let (origin, _) = line.place();
            numbers.push(match line.pruned {
                Some(_) => None,
                None => Some(LineNo(line.number)),
            });

            let mut start = line.span.start;
            for (value, payload) in self.splices(line)? {
                whole.add(
                    origin,
                    Span {
                        start,
                        len: value.start - start,
                    },
                );
                whole.add(Origin::Beside, payload);
                start = value.end();
            }
            whole.add(
                origin,
                Span {
                    start,
                    len: line.span.end() - start,
                },
            );

            // Only the last line may lack a newline.
            let is_last = at + 1 == self.lines.len();
            if line.newline || !is_last {
                // The newline of a line of the session is the next byte, if it has one.
                if line.pruned.is_none() && line.span.end() < self.source.len() {
                    whole.keep(Span {
                        start: line.span.end(),
                        len: 1,
                    });
                } else {
                    whole.make(b"\n");
                }
            }
        }
        Ok((whole, numbers))
    }

    /// Returns where values of a line are in its file, and the bytes of the pruned file that
    /// replace each, in the order of the line. Of several edits of one path, the last counts.
    fn splices(&self, line: Line) -> io::Result<Vec<(Span, Span)>> {
        let Some(edits) = self.edits.get(&line.place()) else {
            return Ok(Vec::new());
        };
        let bytes = self.bytes(line)?;
        let root = Raw::parse(bytes.trim_ascii())?;
        let payloads: HashMap<&str, Span> = edits.iter().copied().collect();
        let mut splices = Vec::new();
        for (field, payload) in payloads {
            if let Some(value) = at_path(root, field) {
                splices.push((place_of(value.bytes(), &bytes, line.span), payload));
            }
        }
        splices.sort_by_key(|(value, _)| value.start);
        Ok(splices)
    }
}

/// Returns an entry as JSON, whatever its formatting, without the values of these fields.
fn without(stored: &[u8], fields: &[String]) -> io::Result<Text<'static>> {
    let line = stored.trim_ascii();
    let root = Raw::parse(line)?;
    let mut edit = Edit::new(line)?;
    for value in fields.iter().filter_map(|field| at_path(root, field)) {
        edit.replace(value, b"null");
    }
    Ok(js::stringify(Raw::checked(&edit.finish())).into_owned())
}

/// Whether a line may be that of a record: it has the same id, or none, as in older formats.
fn is_of(line: Raw, record: &Record) -> bool {
    record.id.is_empty() || line.get_text("id").is_none_or(|id| id == record.id)
}

/// Whether a value is the note, even if an agent has rewritten the file with another formatting. A
/// value of more than eight times the note's length is not compared.
fn is_placeholder(value: Raw, note: Raw) -> bool {
    value.bytes().len() <= 8 * note.bytes().len() && js::stringify(value) == js::stringify(note)
}
