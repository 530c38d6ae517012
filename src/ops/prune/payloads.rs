//! Payloads to prune: each is replaced by a note. Lines are changed by splicing, as stored, without migrating older
//! formats.

use super::payload::{Payload, PayloadKind, Wanted, payloads};
use super::{invalid, side};
use crate::ops::plan::copy;
use crate::session::Session;
use crate::session::entry::{EntryIx, Span};
use crate::session::read::entry_reader::{EntryReader, FileReader};
use pisess_json::Raw;
use pisess_json::edit::Edit;
use pisess_store::ReadAt;
use std::borrow::Cow;
use std::io::{self, Write};

/// A payload to prune.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pruned {
    /// The entry.
    pub entry: EntryIx,
    /// The path of the payload in the line.
    pub field: String,
    /// Its kind.
    pub kind: PayloadKind,
    /// The number of bytes it takes in the line.
    pub bytes: usize,
    /// The number of bytes of its note.
    pub note: usize,
}

/// The payloads to prune from a session.
#[derive(Clone, Debug)]
pub struct Payloads {
    /// Which payloads to prune.
    pub wanted: Wanted,
    /// The payloads in file order.
    pub payloads: Vec<Pruned>,
}

impl Payloads {
    /// Finds the payloads of a session.
    pub fn new(session: &Session, source: &dyn ReadAt, wanted: Wanted) -> io::Result<Payloads> {
        let mut found = Vec::new();
        for entry in session.all().filter(|&ix| session.entry(ix).span.len > wanted.over) {
            with_payloads(session, source, entry, &wanted, &mut |_, payloads| {
                found.extend(payloads.iter().map(|payload| Pruned {
                    entry,
                    field: payload.field.clone(),
                    kind: payload.kind,
                    bytes: payload.value.bytes().len(),
                    note: payload.note.len(),
                }));
                Ok(())
            })?;
        }
        Ok(Payloads { wanted, payloads: found })
    }

    /// Returns the number of bytes by which the session becomes shorter.
    pub fn saved(&self) -> usize {
        self.payloads.iter().map(|payload| payload.bytes - payload.note).sum()
    }

    /// Returns the entries that change.
    fn entries(&self) -> impl Iterator<Item = EntryIx> {
        self.payloads.chunk_by(|one, next| one.entry == next.entry).map(|payloads| payloads[0].entry)
    }

    /// Writes the records of the pruned file.
    pub fn write_records(
        &self,
        session: &Session,
        source: &dyn ReadAt,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        for entry in self.entries() {
            with_payloads(session, source, entry, &self.wanted, &mut |_, payloads| {
                payloads.iter().try_for_each(|payload| {
                    let members = side::record(&session.id(entry), session.entry(entry).line)
                        .str("field", &payload.field)
                        .str("kind", payload.kind.name())
                        .number("bytes", payload.value.bytes().len() as f64)
                        .json("note", &payload.note);
                    side::write_record(members, payload.value.bytes(), out)
                })
            })?;
        }
        Ok(())
    }

    /// Writes the session with notes in place of the payloads.
    pub fn write_session(
        &self,
        session: &Session,
        source: &dyn ReadAt,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        write_changed(session, source, &mut self.entries(), out, &mut |entry, out| {
            with_payloads(session, source, entry, &self.wanted, &mut |line, payloads| {
                out.write_all(&noted(line, payloads)?)
            })
        })
    }

    /// Returns the size of the context at the leaf before and after pruning, as the sum of the agent's
    /// estimates for its messages.
    pub fn tokens(&self, session: &Session, source: &dyn ReadAt) -> io::Result<[u64; 2]> {
        let bodies = FileReader::new(session, source);
        let pruned = PrunedReader { bodies: &bodies, prune: self };
        Ok([estimate(&bodies)?, estimate(&pruned)?])
    }
}

fn estimate(bodies: &dyn EntryReader) -> io::Result<u64> {
    let session = bodies.session();
    let context = (session.agent().context)(&session.path(session.leaf), bodies)?;
    context.messages.iter().map(|message| message.with(bodies, session.agent().message_tokens)).sum()
}

/// The lines of the pruned session.
struct PrunedReader<'a> {
    bodies: &'a FileReader<'a>,
    prune: &'a Payloads,
}

impl EntryReader for PrunedReader<'_> {
    fn session(&self) -> &Session {
        self.bodies.session()
    }

    fn line(&self, ix: EntryIx) -> io::Result<Cow<'_, [u8]>> {
        let line = self.bodies.line(ix)?;
        if self.session().entry(ix).span.len <= self.prune.wanted.over {
            return Ok(line);
        }
        let payloads = payloads(Raw::checked(line.trim_ascii()), &self.prune.wanted);
        noted(&line, &payloads).map(Cow::Owned)
    }
}

/// Receives a line and its payloads.
type See<'a> = dyn FnMut(&[u8], &[Payload]) -> io::Result<()> + 'a;

fn with_payloads(
    session: &Session,
    source: &dyn ReadAt,
    entry: EntryIx,
    wanted: &Wanted,
    see: &mut See,
) -> io::Result<()> {
    let line = FileReader::new(session, source).stored(session.entry(entry).span)?;
    let payloads = payloads(Raw::parse(line.trim_ascii()).map_err(invalid)?, wanted);
    see(&line, &payloads)
}

/// Returns a line with notes in place of these payloads, which must be parts of it.
fn noted(line: &[u8], payloads: &[Payload]) -> io::Result<Vec<u8>> {
    let mut edit = Edit::new(line).map_err(invalid)?;
    payloads.iter().for_each(|payload| edit.replace(payload.value, &payload.note));
    Ok(edit.finish())
}

/// Writes a session with changes to these entries, which are in file order; all other bytes are unchanged.
fn write_changed(
    session: &Session,
    source: &dyn ReadAt,
    entries: &mut dyn Iterator<Item = EntryIx>,
    out: &mut dyn Write,
    change: &mut dyn FnMut(EntryIx, &mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut at = 0;
    for entry in entries {
        let span = session.entry(entry).span;
        copy(source, Span { start: at, len: span.start - at }, out)?;
        change(entry, out)?;
        at = span.end();
    }
    copy(source, Span { start: at, len: source.len() - at }, out)
}
