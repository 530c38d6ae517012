//! Puts payloads back into the session they were removed from.

use super::payload::at_path;
use super::{invalid, write_changed};
use crate::ops::plan::copy;
use crate::session::Session;
use crate::session::entry::{EntryIx, LineNo, Span};
use crate::session::read::entry_reader::FileReader;
use crate::session::read::line_chunks::each_line;
use pisess_json::edit::Edit;
use pisess_json::{Raw, js};
use pisess_store::ReadAt;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Payloads and their places in the session.
#[derive(Clone, Debug, Default)]
pub struct Restore {
    /// For each entry and field, the line of the pruned file that contains the payload.
    places: BTreeMap<(EntryIx, String), Span>,
    /// Payloads without a place in the session: the ids of their entries, and their fields.
    pub lost: Vec<(String, String)>,
    /// The lines of the pruned file whose payloads the session does not contain.
    missing: Vec<Span>,
}

/// Why a file is not a valid pruned file.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// It cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A line does not have the format that pruning writes.
    #[error("the line is not a pruned payload")]
    NotAPayload {
        /// Its number.
        line: LineNo,
    },
}

/// Finds the places of all payloads. A payload that the session contains needs none: pisess may have been
/// killed before the pruned file was removed, or right after it was written.
///
/// # Errors
/// If a file cannot be read, or the pruned file is not valid.
pub fn find_places(
    session: &Session,
    source: &dyn ReadAt,
    pruned: &dyn ReadAt,
) -> Result<Restore, RestoreError> {
    let bodies = FileReader::new(session, source);
    let mut restore = Restore::default();
    let mut number = 0;
    each_line(pruned, |line| {
        number += 1;
        if line.bytes.trim_ascii().is_empty() {
            return Ok(());
        }
        let not_a_payload = || RestoreError::NotAPayload { line: LineNo(number) };
        let record = Raw::parse(line.bytes.trim_ascii()).map_err(|_| not_a_payload())?;
        let record = Record::read(record).ok_or_else(not_a_payload)?;
        let mut is_back = false;
        let mut place = None;
        for entry in record.entries(session) {
            let stored = bodies.stored(session.entry(entry).span)?;
            let value = at_path(Raw::parse(stored.trim_ascii()).map_err(invalid)?, &record.field);
            if value.is_some_and(|value| record.is_note(value)) {
                place = Some(entry);
                break;
            }
            is_back |= value.is_some_and(|value| value.bytes() == record.payload.bytes());
        }
        if place.is_some() || !is_back {
            restore.missing.push(line.span);
        }
        match place {
            Some(entry) => drop(restore.places.insert((entry, record.field), line.span)),
            None if is_back => {}
            None => restore.lost.push((record.id, record.field)),
        }
        Ok::<(), RestoreError>(())
    })?;
    Ok(restore)
}

impl Restore {
    /// Returns the number of payloads to restore.
    pub fn count(&self) -> usize {
        self.places.len()
    }

    /// Returns the entries and fields to restore.
    pub fn places(&self) -> impl Iterator<Item = (EntryIx, &str)> {
        self.places.keys().map(|(entry, field)| (*entry, &**field))
    }

    /// Copies the lines of the pruned file whose payloads the session does not contain.
    ///
    /// # Errors
    /// If reading or writing fails.
    pub fn write_missing(&self, pruned: &dyn ReadAt, out: &mut dyn Write) -> io::Result<()> {
        self.missing.iter().try_for_each(|line| {
            copy(pruned, *line, out)?;
            out.write_all(b"\n")
        })
    }

    /// Writes the session with its payloads.
    ///
    /// # Errors
    /// If reading or writing fails.
    pub fn write_session(
        &self,
        session: &Session,
        source: &dyn ReadAt,
        pruned: &dyn ReadAt,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let mut entries: Vec<_> = self.places.keys().map(|(entry, _)| *entry).collect();
        entries.dedup();
        write_changed(session, source, &mut entries.into_iter(), out, &mut |entry, out| {
            let line = FileReader::new(session, source).stored(session.entry(entry).span)?;
            let root = Raw::parse(line.trim_ascii()).map_err(invalid)?;
            let mut edit = Edit::new(&line).map_err(invalid)?;
            let first = (entry, String::new());
            for ((_, field), span) in self.places.range(first..).take_while(|((of, _), _)| *of == entry) {
                let payload = pruned.read_range(span.range())?;
                let record = Raw::parse(payload.trim_ascii()).map_err(invalid)?;
                if let (Some(value), Some(payload)) = (at_path(root, field), record.get("payload")) {
                    edit.replace(value, payload.bytes());
                }
            }
            out.write_all(&edit.finish())
        })
    }
}

/// A line of the pruned file.
struct Record<'a> {
    id: String,
    line: u32,
    field: String,
    note: Raw<'a>,
    payload: Raw<'a>,
}

impl<'a> Record<'a> {
    fn read(record: Raw<'a>) -> Option<Record<'a>> {
        Some(Record {
            id: record.get_text("id").unwrap_or_default().to_string_lossy().into_owned(),
            line: record.get("line")?.index().and_then(|line| u32::try_from(line).ok())?,
            field: record.get_text("field")?.to_string_lossy().into_owned(),
            note: record.get("note")?,
            payload: record.get("payload")?,
        })
    }

    /// Returns the candidates for the entry: the one on the original line, and the one with the id in case
    /// lines have moved.
    fn entries(&self, session: &Session) -> impl Iterator<Item = EntryIx> {
        let on_line = session.entries.binary_search_by_key(&self.line, |entry| entry.line.0);
        let with_id = session.find(&pisess_json::text::Text::from(&*self.id)).filter(|_| !self.id.is_empty());
        on_line.ok().map(EntryIx::new).into_iter().chain(with_id)
    }

    /// Whether a value is the note, even if an agent has rewritten the file with another formatting.
    fn is_note(&self, value: Raw) -> bool {
        value.bytes().len() <= 8 * self.note.bytes().len() && js::stringify(value) == js::stringify(self.note)
    }
}
