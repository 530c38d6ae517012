//! Moves parts of a session to a file beside it, and back: large payloads, the entries above
//! compactions, a branch.
//!
//! ```text
//!   PrunePlan ── build_pruned_session ──> the session without them
//!             └─ write_pruned ──> SESSION.pruned (module `side`)
//!
//!   Restoration ── restored_file ──> the session with them
//! ```
//!
//! A payload is replaced by a placeholder. An entry is removed with its line; its children become
//! children of the nearest ancestor that stays. Several runs add to the file; to restore, they are
//! undone from the last to the first, whatever was appended since. Lines are changed by splicing,
//! as stored, without migrating older formats.

mod branch;
mod checksum;
mod compacted;
mod payload;
mod removal;
mod restore;
mod side;

pub use branch::{PrunableBranch, find_prunable_branch};
pub use compacted::find_compacted_entries;
pub use payload::ValueKind;
pub use removal::PruneBlocker;
pub use restore::{Restoration, UnplacedRecord};
pub use side::{
    Operation, OperationRecords, PrunedFileError, PrunedRecord, read_operations, read_pruned_file,
};

use crate::ops::patched::PieceTable;
use crate::ops::plan::NewEntry;
use crate::session::Session;
use crate::session::entry::{EntryIx, LineNo, Span};
use crate::session::read::entry_reader::{Body, EntryReader, Replacement, read_in_order};
use pisess_json::text::Text;
use pisess_json::write::Object;
use pisess_store::{ReadAt, with_suffix};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Returns the file beside a session that holds what was pruned from it.
pub fn pruned_file(session: &Path) -> PathBuf {
    with_suffix(session, ".pruned")
}

/// What to prune from a session.
#[derive(Clone, Debug)]
pub struct PrunePlan {
    /// The name of the operation.
    name: &'static str,
    /// The entries to remove, in file order.
    pub entries: Vec<EntryIx>,
    /// The number of branches that end in them.
    pub branch_count: usize,
    /// The values of other entries to replace, in file order.
    values: Vec<PrunableValue>,
    /// The agent's estimates of messages with these values replaced, in tokens, as far as they were
    /// made when the values were found; in file order.
    pruned_message_tokens: Vec<MessageTokens>,
    /// The mark to append, if an agent would otherwise find another leaf.
    mark: Option<NewEntry>,
}

/// The agent's estimate of the message of an entry.
#[derive(Clone, Copy, Debug)]
struct MessageTokens {
    entry: EntryIx,
    tokens: u64,
}

/// The size of the context at the leaf, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextTokens {
    /// As the session is.
    pub before: u64,
    /// With the values of a plan replaced.
    pub after: u64,
}

/// A value to replace.
#[derive(Clone, Debug)]
pub struct PrunableValue {
    /// The entry.
    pub entry: EntryIx,
    /// The path of the value in the line.
    pub field: String,
    /// Its kind.
    pub kind: ValueKind,
    /// Its location.
    pub span: Span,
    /// The JSON that replaces it: for a payload, a description of it; for a link, the new link.
    placeholder: Vec<u8>,
}

impl PrunableValue {
    /// Returns the members of its record, without the payload.
    fn to_record(&self, session: &Session) -> Object {
        side::begin_record(&session.id(self.entry), session.entry(self.entry).line)
            .str("field", &self.field)
            .str("kind", self.kind.name())
            .number("bytes", self.span.len as f64)
            .json("note", &self.placeholder)
    }

    fn replacement(&self) -> Replacement<'_> {
        Replacement {
            span: self.span,
            json: &self.placeholder,
        }
    }
}

impl PrunePlan {
    /// Whether there is nothing to prune.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.values.is_empty()
    }

    /// Returns the payloads among the values.
    pub fn payloads(&self) -> impl Iterator<Item = &PrunableValue> {
        self.values
            .iter()
            .filter(|value| value.kind != ValueKind::Link)
    }

    /// Returns the number of removed entries that are bookkeeping.
    pub fn note_count(&self, session: &Session) -> usize {
        self.entries
            .iter()
            .filter(|&&ix| session.entry(ix).kind.is_bookkeeping())
            .count()
    }

    /// Returns the number of bytes by which the session becomes shorter. Replaced links are not
    /// counted. The newlines of removed lines and of the mark are.
    pub fn saved_bytes(&self, session: &Session) -> usize {
        const NEWLINE_LEN: u64 = 1;

        let mut removed = 0;
        for payload in self.payloads() {
            removed += payload.span.len - payload.placeholder.len() as u64;
        }
        for &ix in &self.entries {
            removed += session.entry(ix).span.len + NEWLINE_LEN;
        }
        let added = match &self.mark {
            Some(mark) => mark.line.len() as u64 + NEWLINE_LEN,
            None => 0,
        };
        removed.saturating_sub(added) as usize
    }

    /// Returns the operation that the pruned file will list.
    fn to_operation(&self) -> Operation {
        Operation {
            name: self.name.to_owned(),
            records: self.entries.len() + self.values.len() + usize::from(self.mark.is_some()),
            entries: self.entries.len(),
            branches: self.branch_count,
        }
    }

    /// Writes the pruned file: the records of the `previous` one that the session does not contain,
    /// then those of this prune. The first line lists the operations of both.
    pub fn write_pruned(
        &self,
        session: &Session,
        source: &dyn ReadAt,
        previous: Option<&Restoration>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let mut operations = Vec::new();
        // What earlier prunes removed can still be restored.
        if let Some(previous) = previous {
            for missing in &previous.missing {
                operations.push(missing.operation.clone());
            }
        }
        if !self.is_empty() {
            operations.push(self.to_operation());
        }
        side::write_operations_line(&session.header.id, &operations, out)?;

        if let Some(previous) = previous {
            for missing in &previous.missing {
                for record in &missing.records {
                    record.copy_record(&*previous.pruned, out)?;
                }
            }
        }
        self.write_records(session, source, out)
    }

    /// Writes the records of this prune in file order: for each entry, the entry itself or its
    /// values. The record of the mark is last.
    fn write_records(
        &self,
        session: &Session,
        source: &dyn ReadAt,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let reader = EntryReader::new(session, source);
        let mut anchor = RecordAnchor {
            line: session.header.line,
            id: None,
        };
        // Both have the file order, so the next one is always at the front.
        let mut removed_entries = self.entries.iter().copied().peekable();
        let mut values = self.values.iter().peekable();
        for ix in session.entry_indexes() {
            let entry = session.entry(ix);
            let is_removed = removed_entries.next_if_eq(&ix).is_some();
            if is_removed {
                let has_newline = entry.span.end() < source.len();
                let members = entry_record(session, ix, &anchor, has_newline);
                side::write_record(members, &reader.read_stored(entry.span)?, out)?;
            } else {
                let id = session.id(ix);
                anchor = RecordAnchor {
                    line: entry.line,
                    id: if id.is_empty() { None } else { Some(id) },
                };
            }

            while let Some(value) = values.next_if(|value| value.entry == ix) {
                let members = value.to_record(session);
                side::write_record(members, &reader.read_stored(value.span)?, out)?;
            }
        }

        if let Some(mark) = &self.mark {
            side::write_record(mark_record(session, mark), &mark.line, out)?;
        }
        Ok(())
    }

    /// Returns the size of the context at the leaf, before and after this plan replaces its values.
    /// The session must have been loaded with estimates of its messages. Lines are read on up to
    /// `workers` threads.
    ///
    /// # Errors
    /// If a line cannot be read.
    pub fn context_tokens(
        &self,
        session: &Session,
        source: &dyn ReadAt,
        workers: usize,
    ) -> io::Result<ContextTokens> {
        let reader = || EntryReader::new(session, source);
        let estimate = |ix: EntryIx| session.message_tokens(ix);
        let before = sum_context_tokens(session, reader, estimate, workers)?;

        // The file as it will be, without writing it.
        let mut replacements: Vec<_> = self.values.iter().map(PrunableValue::replacement).collect();
        replacements.sort_by_key(|replacement| replacement.span.start);
        let reader_after = || EntryReader::new(session, source).with_replacements(&replacements);
        let estimate_after = |ix: EntryIx| self.message_tokens_after(session, ix);
        let after = sum_context_tokens(session, reader_after, estimate_after, workers)?;
        Ok(ContextTokens { before, after })
    }

    /// Returns the estimate of a message once the values are replaced; `None` if it is not known.
    fn message_tokens_after(&self, session: &Session, ix: EntryIx) -> Option<u64> {
        let is_changed = self
            .values
            .binary_search_by_key(&ix, |value| value.entry)
            .is_ok();
        if !is_changed {
            return session.message_tokens(ix);
        }
        let estimates = &self.pruned_message_tokens;
        let index = estimates
            .binary_search_by_key(&ix, |estimate| estimate.entry)
            .ok()?;
        Some(estimates[index].tokens)
    }

    /// Returns the session without what is pruned: lines are removed with their newlines, values
    /// are replaced by their placeholders, and the mark is appended.
    pub fn build_pruned_session(&self, session: &Session, source: &dyn ReadAt) -> PieceTable {
        let mut replacements: Vec<Replacement> = Vec::new();
        for &ix in &self.entries {
            let Span { start, len } = session.entry(ix).span;
            // The last line may have no newline.
            let len = (len + 1).min(source.len() - start);
            replacements.push(Replacement {
                span: Span { start, len },
                json: &[],
            });
        }
        replacements.extend(self.values.iter().map(PrunableValue::replacement));
        replacements.sort_by_key(|replacement| replacement.span.start);

        let mut pruned = PieceTable::default();
        let mut kept_end = 0;
        for Replacement { span, json } in replacements {
            pruned.push_source(Span {
                start: kept_end,
                len: span.start - kept_end,
            });
            pruned.push_new_bytes(json);
            kept_end = span.end();
        }
        pruned.push_source(Span {
            start: kept_end,
            len: source.len() - kept_end,
        });

        if let Some(mark) = &self.mark {
            // If the last line was removed, the line before it ends with a newline.
            let ends_with_newline = session.ends_with_newline || kept_end == source.len();
            if !ends_with_newline {
                pruned.push_new_bytes(b"\n");
            }
            pruned.push_new_bytes(&mark.line);
            pruned.push_new_bytes(b"\n");
        }
        pruned
    }
}

/// The last line before a removed entry that stays and is the header's or an entry's.
struct RecordAnchor<'s> {
    line: LineNo,
    /// The id of the entry; `None` for the header, and for an entry without an id.
    id: Option<Text<'s>>,
}

/// Returns the members of the record of a removed entry, without the payload. The record names the
/// anchor, and the number of lines from the anchor to the entry. `has_newline` is whether the line
/// of the entry ends with one.
fn entry_record(
    session: &Session,
    ix: EntryIx,
    anchor: &RecordAnchor,
    has_newline: bool,
) -> Object {
    let entry = session.entry(ix);
    let mut members = side::begin_record(&session.id(ix), entry.line)
        .str("kind", side::ENTRY_KIND)
        .number("bytes", entry.span.len as f64);
    if !has_newline {
        members = members.bool("newline", false);
    }
    let distance = entry.line.0 - anchor.line.0;
    members
        .text_or_null("after", anchor.id.as_ref())
        .number("distance", f64::from(distance))
}

/// Returns the members of the record of an appended mark, without the payload. The record has
/// `newline` if the session did not end with one, so that a restore removes the newline that was
/// added before the mark.
fn mark_record(session: &Session, mark: &NewEntry) -> Object {
    let members = side::begin_record(&mark.id, LineNo(session.line_count + 1))
        .str("kind", side::MARK_KIND)
        .number("bytes", mark.line.len() as f64);
    if session.ends_with_newline {
        members
    } else {
        members.bool("newline", false)
    }
}

/// Returns the size of the context at the leaf, as the sum of the agent's estimates of its
/// messages.
///
/// `known_estimate` returns the estimate of a stored message, as far as it is known. Other messages,
/// and those that the agent builds, are read and estimated here, on up to `workers` threads.
fn sum_context_tokens<'a>(
    session: &Session,
    reader: impl Fn() -> EntryReader<'a> + Sync,
    known_estimate: impl Fn(EntryIx) -> Option<u64>,
    workers: usize,
) -> io::Result<u64> {
    let context = session
        .agent()
        .build_context(&session.path(session.leaf), &reader())?;
    let mut sum = 0;
    let mut not_estimated = Vec::new();
    for message in &context.messages {
        match known_estimate(message.entry) {
            // An estimate is that of the stored message, not of one that the agent makes of it.
            Some(tokens) if matches!(message.body, Body::Stored) => sum += tokens,
            _ => not_estimated.push(message),
        }
    }

    let agent = session.agent();
    read_in_order(
        &not_estimated,
        workers,
        reader,
        |json| agent.estimate_message(json),
        |_, tokens: u64| sum += tokens,
    )?;
    Ok(sum)
}

/// Returns where a part of a line is in the file. `part` must be a slice of `line`, and `line_span`
/// the location of `line` in the file.
fn locate_part(part: &[u8], line: &[u8], line_span: Span) -> Span {
    let offset = part.as_ptr() as usize - line.as_ptr() as usize;
    Span {
        start: line_span.start + offset as u64,
        len: part.len() as u64,
    }
}

#[cfg(test)]
mod tests;
