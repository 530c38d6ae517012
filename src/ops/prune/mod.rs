//! Moves parts of a session to a file beside it, and back: large payloads, the entries above compactions, a branch.
//!
//! ```text
//!   Prune ── pruned ──> the session without them       Restore ── whole ──> the session with them
//!         └─ write_pruned ──> SESSION.pruned ([`side`])
//! ```
//!
//! A payload is replaced by a note. An entry is removed with its line; those that follow it get the nearest ancestor that
//! stays as their parent. Several runs add to the file; to restore, they are undone from the last to the first, whatever
//! was appended since. Lines are changed by splicing, as stored, without migrating older formats.

mod branch;
mod compacted;
mod payload;
mod removal;
mod restore;
mod side;

pub use branch::{BranchChoice, branch_at};
pub use compacted::above_compactions;
pub use payload::ValueKind;
pub use removal::Damaged;
pub use restore::Restore;
pub use side::{Operation, Record, SideError, operations, read};

use crate::ops::patched::Pieces;
use crate::ops::plan::NewEntry;
use crate::session::Session;
use crate::session::entry::{EntryIx, LineNo, Span};
use crate::session::read::entry_reader::EntryReader;
use crate::session::read::line_chunks::{Line, each_line};
use payload::at_path;
use pisess_json::Raw;
use pisess_store::{ReadAt, copy_range, with_suffix};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Returns the file beside a session that holds what was pruned from it.
pub fn pruned_file(session: &Path) -> PathBuf {
    with_suffix(session, ".pruned")
}

/// What to prune from a session.
#[derive(Clone, Debug)]
pub struct Prune {
    /// The name of the operation.
    name: &'static str,
    /// The entries to remove, in file order.
    pub entries: Vec<EntryIx>,
    /// The number of branches that end in them.
    pub branches: usize,
    /// The values of other entries to replace, in file order.
    values: Vec<Value>,
    /// The mark to append, if the leaf would not be where it should be.
    mark: Option<NewEntry>,
}

/// A value to replace.
#[derive(Clone, Debug)]
pub struct Value {
    /// The entry.
    pub entry: EntryIx,
    /// The path of the value in the line.
    pub field: String,
    /// Its kind.
    pub kind: ValueKind,
    /// The number of bytes that a payload takes in the line.
    pub bytes: usize,
    /// The JSON that replaces it.
    note: Vec<u8>,
}

impl Prune {
    /// Whether there is nothing to prune.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.values.is_empty()
    }

    /// Returns the payloads among the values.
    pub fn payloads(&self) -> impl Iterator<Item = &Value> {
        self.values.iter().filter(|value| value.kind != ValueKind::Link)
    }

    /// Returns the number of the entries that are bookkeeping.
    pub fn notes(&self, session: &Session) -> usize {
        self.entries.iter().filter(|&&ix| session.entry(ix).kind.is_bookkeeping()).count()
    }

    /// Returns the number of bytes by which the session becomes shorter, links aside.
    pub fn saved(&self, session: &Session) -> usize {
        let payloads: usize = self.payloads().map(|payload| payload.bytes - payload.note.len()).sum();
        let removed: u64 = self.entries.iter().map(|&ix| session.entry(ix).span.len + 1).sum();
        let added = self.mark.as_ref().map_or(0, |mark| mark.line.len() + 1);
        (payloads + removed as usize).saturating_sub(added)
    }

    /// Returns the operation that the pruned file will list.
    fn operation(&self) -> Operation {
        Operation {
            name: self.name.to_owned(),
            records: self.entries.len() + self.values.len() + usize::from(self.mark.is_some()),
            entries: self.entries.len(),
            branches: self.branches,
        }
    }

    /// Calls `see` with each line of the session, its number, the entry on it if that is removed, and the values to replace
    /// in it.
    fn each_line(
        &self,
        session: &Session,
        source: &dyn ReadAt,
        mut see: impl FnMut(LineNo, Line, Option<EntryIx>, &[Value]) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut leaving = self.entries.iter().copied().peekable();
        let mut values = &self.values[..];
        let mut number = 0;
        each_line(source, |line| {
            number += 1;
            let is_here = |ix: EntryIx| session.entry(ix).line.0 == number;
            let leaves = leaving.next_if(|&ix| is_here(ix));
            let count = values.iter().take_while(|value| is_here(value.entry)).count();
            let (here, rest) = values.split_at(count);
            values = rest;
            see(LineNo(number), line, leaves, here)
        })
    }

    /// Writes the pruned file: what is still needed of the old one, then what is pruned now.
    pub fn write_pruned(
        &self,
        session: &Session,
        source: &dyn ReadAt,
        old: Option<&Restore>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let own = Some(self.operation()).filter(|_| !self.is_empty());
        let before = old.map(Restore::missing).unwrap_or_default();
        let listed: Vec<_> = before.iter().map(|(operation, _)| operation.clone()).chain(own).collect();
        side::write_first(&session.header.id, &listed, out)?;
        if let Some(old) = old {
            for record in before.iter().flat_map(|(_, records)| records) {
                copy_range(&*old.pruned, record.whole.range(), out)?;
                out.write_all(b"\n")?;
            }
        }
        self.write_records(session, source, out)
    }

    /// Writes the records of the pruned file.
    fn write_records(&self, session: &Session, source: &dyn ReadAt, out: &mut dyn Write) -> io::Result<()> {
        let mut after = (session.header.line, None);
        let (mut last, mut ends) = (LineNo(0), true);
        self.each_line(session, source, |number, line, leaves, values| {
            (last, ends) = (number, line.newline);
            if let Some(ix) = leaves {
                removal::check_space(line.bytes)?;
                let members = side::record(&session.id(ix), number)
                    .str("kind", side::ENTRY)
                    .number("bytes", line.bytes.len() as f64)
                    .with((!line.newline).then_some(false), |object, newline| object.bool("newline", newline))
                    .text_or_null("after", after.1.as_ref())
                    .number("distance", f64::from(number.0 - after.0.0));
                return side::write_record(members, line.bytes, out);
            }
            if let Some(ix) = session.entry_on(number) {
                after = (number, Some(session.id(ix)).filter(|id| !id.is_empty()));
            }
            for (value, old) in values.iter().zip(found(session, &line, values)?) {
                let members = side::record(&session.id(value.entry), number)
                    .str("field", &value.field)
                    .str("kind", value.kind.name())
                    .number("bytes", old.len() as f64)
                    .json("note", &value.note);
                side::write_record(members, old, out)?;
            }
            Ok(())
        })?;
        let Some(mark) = &self.mark else { return Ok(()) };
        let members = side::record(&mark.id, LineNo(last.0 + 1))
            .str("kind", side::MARK)
            .number("bytes", mark.line.len() as f64)
            .with((!ends).then_some(false), |object, newline| object.bool("newline", newline));
        side::write_record(members, &mark.line, out)
    }

    /// Returns the session without what is pruned.
    pub fn pruned(&self, session: &Session, source: &dyn ReadAt) -> io::Result<Pieces> {
        let mut pruned = Pieces::default();
        let mut ends = true;
        self.each_line(session, source, |_, line, leaves, values| {
            if leaves.is_some() {
                return Ok(());
            }
            ends = line.newline;
            let places =
                found(session, &line, values)?.into_iter().map(|old| place_of(old, line.bytes, line.span));
            let mut replaced: Vec<_> = places.zip(values).collect();
            replaced.sort_by_key(|(place, _)| place.start);
            let mut at = line.span.start;
            for (place, value) in replaced {
                pruned.keep(Span { start: at, len: place.start - at });
                pruned.make(&value.note);
                at = place.end();
            }
            pruned.keep(Span { start: at, len: line.span.end() + u64::from(line.newline) - at });
            Ok(())
        })?;
        if let Some(mark) = &self.mark {
            pruned.make(if ends { b"" } else { b"\n" });
            pruned.make(&mark.line);
            pruned.make(b"\n");
        }
        Ok(pruned)
    }
}

/// Returns the values as they are in a line, in the same order.
fn found<'l>(session: &Session, line: &Line<'l>, values: &[Value]) -> io::Result<Vec<&'l [u8]>> {
    let gone = || io::Error::from(io::ErrorKind::InvalidData);
    let mut found = Vec::with_capacity(values.len());
    for values in values.chunk_by(|one, next| one.entry == next.entry) {
        let span = session.entry(values[0].entry).span;
        let start = span.start.checked_sub(line.span.start).ok_or_else(gone)? as usize;
        let entry = line.bytes.get(start..start + span.len as usize).ok_or_else(gone)?;
        let entry = Raw::parse(entry.trim_ascii())?;
        for value in values {
            found.push(at_path(entry, &value.field).ok_or_else(gone)?.bytes());
        }
    }
    Ok(found)
}

/// Returns where a part of a line is in the file, if the line has this place.
fn place_of(part: &[u8], line: &[u8], place: Span) -> Span {
    let offset = part.as_ptr() as usize - line.as_ptr() as usize;
    Span { start: place.start + offset as u64, len: part.len() as u64 }
}

/// Returns the size of the context at the leaf, as the sum of the agent's estimates for its messages.
///
/// # Errors
/// If a line cannot be read.
pub fn context_tokens(session: &Session, source: &dyn ReadAt) -> io::Result<u64> {
    let reader = EntryReader::new(session, source);
    let context = (session.agent().context)(&session.path(session.leaf), &reader)?;
    context.messages.iter().map(|message| message.with(&reader, session.agent().message_tokens)).sum()
}

#[cfg(test)]
mod tests;
