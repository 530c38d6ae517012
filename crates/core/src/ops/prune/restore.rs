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
    /// What was put in its place, in the order of the pruned file.
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
    span: Span,
    newline: bool,
}

impl Line<'_> {
    /// Returns its file and its offset there, which no other line has.
    fn place(&self) -> (Origin, u64) {
        (
            if self.pruned.is_some() {
                Origin::Beside
            } else {
                Origin::Source
            },
            self.span.start,
        )
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
        let fates = operations
            .iter()
            .rev()
            .map(|(_, records)| lines.undo(records));
        let mut fates = fates.collect::<io::Result<Vec<_>>>()?;
        fates.reverse();
        let (whole, lines) = lines.finish()?;
        let (mut placed, mut lost, mut missing) = (Vec::new(), Vec::new(), Vec::new());
        for ((operation, records), fates) in operations.into_iter().zip(fates) {
            missing.extend(left(operation, &records, &fates));
            for (record, fate) in records.into_iter().zip(fates) {
                match fate {
                    _ if matches!(record.what, What::Mark) => {}
                    Fate::Placed if matches!(record.what, What::Value { is_link: true, .. }) => {}
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
        self.lines
            .get(line.0.checked_sub(1)? as usize)
            .copied()
            .flatten()
    }
}

/// Returns an operation with those of its records that are left, unless only its mark is.
fn left(
    operation: Operation,
    records: &[Record],
    fates: &[Fate],
) -> Option<(Operation, Vec<RecordPlace>)> {
    let left = records
        .iter()
        .zip(fates)
        .filter(|(_, fate)| **fate != Fate::There);
    let records: Vec<_> = left.map(|(record, _)| record).collect();
    let entries = records
        .iter()
        .filter(|record| matches!(record.what, What::Entry { .. }))
        .count();
    let branches = if entries > 0 { operation.branches } else { 0 };
    let operation = Operation {
        records: records.len(),
        entries,
        branches,
        ..operation
    };
    let is_needed = records
        .iter()
        .any(|record| !matches!(record.what, What::Mark));
    if !is_needed {
        return None;
    }
    let places = records.iter().map(|record| record.place).collect();
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
    fn read(
        session: &'a Session,
        source: &'a dyn ReadAt,
        operations: &'a [(Operation, Vec<Record>)],
        pruned: &'a dyn ReadAt,
    ) -> io::Result<Lines<'a>> {
        let mut lines = Vec::new();
        each_line(source, 0..source.len(), |line| {
            let number = lines.len() as u32 + 1;
            let (span, newline) = (line.span, line.newline);
            lines.push(Line {
                number,
                pruned: None,
                span,
                newline,
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

    /// Undoes an operation, and returns what became of its records.
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
        let last = self
            .lines
            .last()
            .copied()
            .filter(|last| !self.edits.contains_key(&last.place()));
        let Some(last) = last else {
            return Ok(Fate::Lost);
        };
        let is_mark = last.span.len == record.place.payload.len
            && self.bytes(last)? == self.pruned.read_range(record.place.payload.range())?;
        if is_mark {
            self.lines.pop();
            if let Some(before) = self.lines.last_mut().filter(|_| !record.newline) {
                before.newline = false;
            }
        }
        Ok(Fate::Placed)
    }

    /// Inserts the lines that were removed.
    fn put_entries_back(&mut self, records: &'a [Record], fates: &mut [Fate]) -> io::Result<()> {
        let mut waiting: HashMap<Option<Text>, Vec<(usize, u32)>> = HashMap::default();
        for (at, record) in records.iter().enumerate() {
            let What::Entry { after, distance } = &record.what else {
                continue;
            };
            if self.contains(record)? {
                fates[at] = Fate::There;
            } else {
                waiting
                    .entry(after.clone())
                    .or_default()
                    .push((at, *distance));
            }
        }
        if waiting.is_empty() {
            return Ok(());
        }
        let mut lines = Vec::with_capacity(self.lines.len() + records.len());
        let mut old = std::mem::take(&mut self.lines).into_iter().peekable();
        while let Some(line) = old.next() {
            let anchor = self.anchor(line);
            lines.push(line);
            let Some(run) = anchor.and_then(|anchor| waiting.remove(&anchor)) else {
                continue;
            };
            let (start, mut number) = (lines.len() - 1, line.number);
            for (at, distance) in run {
                // Lines between them that are not entries stayed.
                while lines.len() < start + distance as usize
                    && let Some(between) = old.next_if(|&next| self.anchor(next).is_none())
                {
                    number = between.number;
                    lines.push(between);
                }
                let record = &records[at];
                let (pruned, span, newline) = (Some(record), record.place.payload, record.newline);
                lines.push(Line {
                    number,
                    pruned,
                    span,
                    newline,
                });
                fates[at] = Fate::Placed;
            }
        }
        self.lines = lines;
        Ok(())
    }

    /// Returns the id of the entry on a line, `None` inside for the header; `None` for any other
    /// line.
    fn anchor(&self, line: Line) -> Option<Option<Text<'static>>> {
        if let Some(record) = line.pruned {
            return Some(Some(record.id.clone()));
        }
        if line.number == self.session.header.line.0 {
            return Some(None);
        }
        let ix = self.session.entry_on(LineNo(line.number))?;
        Some(Some(self.session.id(ix).into_owned()))
            .filter(|_| !self.session.entry(ix).id.is_empty())
    }

    /// Whether the session contains an entry that was removed, other than by values that were
    /// pruned as well.
    fn contains(&self, record: &Record) -> io::Result<bool> {
        let Some(ix) = self.session.find(&record.id) else {
            return Ok(false);
        };
        let there = self.reader.stored(self.session.entry(ix).span)?;
        let removed = self.pruned.read_range(record.place.payload.range())?;
        let fields = self
            .fields
            .get(&record.id)
            .map_or(&[][..], |fields| &fields[..]);
        Ok(without(&there, fields)? == without(&removed, fields)?)
    }

    /// Puts a value back, where its note is.
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
            let edits = self.edits.get(&line.place()).into_iter().flatten().rev();
            let earlier = { edits }
                .find(|(other, _)| *other == field)
                .map(|(_, span)| *span);
            let bytes = match earlier {
                Some(span) => self.pruned.read_range(span.range())?,
                None => self.bytes(line)?,
            };
            let root = Raw::parse(bytes.trim_ascii())?;
            let value = match earlier {
                Some(_) => Some(root),
                None => at_path(root, field).filter(|_| is_of(root, record)),
            };
            if value.is_some_and(|value| is_placeholder(value, note)) {
                self.edits
                    .entry(line.place())
                    .or_default()
                    .push((field, record.place.payload));
                return Ok(Fate::Placed);
            }
            let is_back = |value: Raw| -> io::Result<bool> {
                Ok(value.bytes().len() as u64 == record.place.payload.len
                    && value.bytes() == self.pruned.read_range(record.place.payload.range())?)
            };
            if value.map_or(Ok(false), is_back)? {
                fate = Fate::There;
            }
        }
        Ok(fate)
    }

    /// Returns the lines on which a value may be: the original line, and the one with the id, in
    /// case lines have moved.
    fn candidates(&self, record: &Record) -> impl Iterator<Item = usize> + use<> {
        let on_line = (record.line.0 as usize)
            .checked_sub(1)
            .filter(|&at| at < self.lines.len());
        let with_id = self
            .session
            .find(&record.id)
            .filter(|_| !record.id.is_empty())
            .and_then(|ix| {
                let number = self.session.entry(ix).line.0;
                let at = self.lines.partition_point(|line| line.number < number);
                self.lines
                    .get(at)
                    .filter(|line| line.number == number && line.pruned.is_none())
                    .map(|_| at)
            });
        on_line
            .into_iter()
            .chain(with_id.filter(|at| Some(*at) != on_line))
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
        let (mut whole, mut numbers) = (Pieces::default(), Vec::with_capacity(self.lines.len()));
        for (at, &line) in self.lines.iter().enumerate() {
            let (origin, _) = line.place();
            numbers.push(line.pruned.is_none().then_some(LineNo(line.number)));
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
            if line.newline || at + 1 < self.lines.len() {
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

    /// Returns where values of a line are replaced in its file, and by what, in order.
    fn splices(&self, line: Line) -> io::Result<Vec<(Span, Span)>> {
        let Some(edits) = self.edits.get(&line.place()) else {
            return Ok(Vec::new());
        };
        let bytes = self.bytes(line)?;
        let root = Raw::parse(bytes.trim_ascii())?;
        let last: HashMap<&str, Span> = edits.iter().copied().collect();
        let mut splices = Vec::new();
        for (field, payload) in last {
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

/// Whether a value is the note, even if an agent has rewritten the file with another formatting.
fn is_placeholder(value: Raw, note: Raw) -> bool {
    value.bytes().len() <= 8 * note.bytes().len() && js::stringify(value) == js::stringify(note)
}
