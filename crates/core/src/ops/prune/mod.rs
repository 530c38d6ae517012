//! Moves parts of a session to a file beside it, and back: large payloads, the entries above
//! compactions, a branch, strings with secrets.
//!
//! ```text
//!   PrunePlan ── build_pruned_session ──> the session without them
//!             └─ write_pruned ──> SESSION.pruned (module `side`)
//!
//!   Restoration ── restored_file ──> the session with them
//! ```
//!
//! A payload is replaced by a placeholder. An entry is removed with its line, and its children
//! become children of the nearest ancestor that stays. Several prunes add to the same file. A
//! restore undoes them from the last to the first, even if entries were appended since. Only the
//! changed bytes of a line are replaced: older formats are not migrated.

mod branch;
mod checksum;
mod compacted;
mod digest;
mod payload;
mod removal;
mod restore;
mod secrets;
mod side;

pub use branch::{PrunableBranch, find_prunable_branch};
pub use compacted::find_compacted_entries;
pub use digest::{OriginalSession, SessionDigest};
pub use payload::{MIN_LENGTH_RATIO, ValueKind};
pub use removal::{PruneBlocker, complete_removal, mask_with_edits};
pub use restore::{Restoration, UnplacedRecord};
pub use secrets::{PrunableSecrets, SecretString};
pub use side::{
    Operation, OperationRecords, PrunedFileError, PrunedRecord, SECRET_KIND, SECRETS_OPERATION,
    read_operations, read_pruned_file,
};

use crate::ops::patched::PieceTable;
use crate::ops::plan::NewEntry;
use crate::session::Session;
use crate::session::entry::{EntryIx, LineNo, Span};
use crate::session::read::entry_reader::{Body, EntryReader, Replacement, read_in_order};
use pisess_json::range_in;
use pisess_json::text::Text;
use pisess_json::write::Object;
use pisess_store::{ReadAt, with_suffix};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Returns the path of the file beside a session to which its pruned content is moved:
/// `SESSION.pruned`.
pub fn pruned_file(session: &Path) -> PathBuf {
    with_suffix(session, ".pruned")
}

/// A plan to prune a session: the entries to remove, and the values to replace.
#[derive(Clone, Debug)]
pub struct PrunePlan {
    /// The name of the operation in the pruned file.
    name: &'static str,
    /// The entries to remove, in file order.
    pub entries: Vec<EntryIx>,
    /// The number of branches whose tips are removed.
    pub branch_count: usize,
    /// The values of other entries to replace, in file order.
    values: Vec<PrunableValue>,
    /// The secrets to move. If there are any, `entries` and `values` are empty.
    pub secrets: PrunableSecrets,
    /// The agent's estimates, in tokens, of messages in which values are replaced. In file order;
    /// only messages that were estimated when the values were found.
    pruned_message_tokens: Vec<MessageTokens>,
    /// The mark to append, if an agent would otherwise take another entry for the leaf.
    mark: Option<NewEntry>,
}

/// The agent's estimate, in tokens, of the message of an entry.
#[derive(Clone, Copy, Debug)]
struct MessageTokens {
    entry: EntryIx,
    tokens: u64,
}

/// The size of the context at the leaf, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextTokens {
    /// The size before the prune.
    pub before: u64,
    /// The size after the values of the plan are replaced.
    pub after: u64,
}

/// A value to replace.
#[derive(Clone, Debug)]
pub struct PrunableValue {
    /// The entry that contains the value.
    pub entry: EntryIx,
    /// The path of the value in the line, such as `message.content[1]`.
    pub field: String,
    /// The kind of the value.
    pub kind: ValueKind,
    /// The location of the value in the file.
    pub span: Span,
    /// The JSON that replaces the value: for a payload, a description of it; for a link, the new
    /// link.
    placeholder: Vec<u8>,
}

impl PrunableValue {
    /// Returns the members of the value's record in the pruned file, without the payload.
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
    /// Whether nothing is to be pruned.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.values.is_empty() && self.secrets.strings.is_empty()
    }

    /// Returns the values that are payloads, without the links.
    pub fn payloads(&self) -> impl Iterator<Item = &PrunableValue> {
        self.values
            .iter()
            .filter(|value| value.kind != ValueKind::Link)
    }

    /// Returns the values of an entry that are replaced. They are neighbours in `values`, which is
    /// in the order of the entries.
    fn values_of(&self, ix: EntryIx) -> &[PrunableValue] {
        let start = self.values.partition_point(|value| value.entry < ix);
        let of_later_entries = self.values.partition_point(|value| value.entry <= ix);
        &self.values[start..of_later_entries]
    }

    /// Returns the number of removed entries that are bookkeeping.
    pub fn note_count(&self, session: &Session) -> usize {
        self.entries
            .iter()
            .filter(|&&ix| session.entry(ix).kind.is_bookkeeping())
            .count()
    }

    /// Returns the number of bytes by which the session becomes shorter. The newlines of removed
    /// lines and of the appended mark are counted. The replaced links are not, because they have
    /// about the same length.
    pub fn saved_bytes(&self, session: &Session) -> usize {
        const NEWLINE_LEN: u64 = 1;

        let mut removed = 0;
        for payload in self.payloads() {
            // Only a payload that is longer than its placeholder is in a plan.
            removed += payload.span.len - payload.placeholder.len() as u64;
        }
        for &ix in &self.entries {
            removed += session.entry(ix).span.len + NEWLINE_LEN;
        }
        let mut added = match &self.mark {
            Some(mark) => mark.line.len() as u64 + NEWLINE_LEN,
            None => 0,
        };
        for string in &self.secrets.strings {
            let Replacement { span, json } = string.replacement();
            removed += span.len;
            added += json.len() as u64;
        }
        // With a mark, or a placeholder that is longer than the secret, the session may become
        // longer.
        removed.saturating_sub(added) as usize
    }

    /// Returns the operation as the first line of the pruned file lists it. `source` is the session
    /// before it.
    fn to_operation(&self, source: &dyn ReadAt) -> io::Result<Operation> {
        Ok(Operation {
            name: self.name.to_owned(),
            records: self.entries.len()
                + self.values.len()
                + self.secrets.strings.len()
                + usize::from(self.mark.is_some()),
            entries: self.entries.len(),
            branches: self.branch_count,
            before: Some(SessionDigest::of_start(source, source.len())?),
        })
    }

    /// Writes the pruned file, which has the content that was moved out of the session. The first
    /// line lists all operations. The records of `previous`, the earlier prunes, follow if they are
    /// still missing in the session, then the records of this prune.
    pub fn write_pruned(
        &self,
        session: &Session,
        source: &dyn ReadAt,
        previous: Option<&Restoration>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let mut operations = Vec::new();
        // The content that earlier prunes removed must stay restorable. Records are written below
        // in the order of the operations in this list.
        if let Some(previous) = previous {
            for missing in &previous.missing {
                operations.push(missing.operation.clone());
            }
        }
        if !self.is_empty() {
            operations.push(self.to_operation(source)?);
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

    /// Writes a record of each change of this prune, so that it can be undone. The records are in
    /// file order: of each removed entry, and of each replaced value in an entry that stays. The
    /// record of the appended mark is the last.
    fn write_records(
        &self,
        session: &Session,
        source: &dyn ReadAt,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let reader = EntryReader::new(session, source);
        // The last line so far that stays. A restore puts a removed entry back at its distance from
        // this line.
        let mut anchor = RecordAnchor {
            line: session.header.line,
            id: None,
        };
        for ix in session.entry_indexes() {
            let entry = session.entry(ix);
            let is_removed = self.entries.binary_search(&ix).is_ok();
            if is_removed {
                let has_newline = entry.span.end() < source.len();
                let members = entry_record(session, ix, &anchor, has_newline);
                side::write_record(members, &reader.read_stored(entry.span)?, out)?;
                continue;
            }

            for value in self.values_of(ix) {
                let members = value.to_record(session);
                side::write_record(members, &reader.read_stored(value.span)?, out)?;
            }
            let id = session.id(ix);
            anchor = RecordAnchor {
                line: entry.line,
                id: if id.is_empty() { None } else { Some(id) },
            };
        }

        for string in &self.secrets.strings {
            let payload = source.read_range(string.span.range())?;
            side::write_record(string.to_record(), &payload, out)?;
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

        // Reads the file as it would be after the prune, without writing it. The reader requires
        // file order, but the values of one entry may be in another.
        let mut replacements: Vec<_> = self.values.iter().map(PrunableValue::replacement).collect();
        replacements.sort_by_key(|replacement| replacement.span.start);
        let reader_after = || EntryReader::new(session, source).with_replacements(&replacements);
        let estimate_after = |ix: EntryIx| self.message_tokens_after(session, ix);
        let after = sum_context_tokens(session, reader_after, estimate_after, workers)?;
        Ok(ContextTokens { before, after })
    }

    /// Returns the agent's estimate, in tokens, of a message after its values are replaced; `None`
    /// if it is not known, because the session was loaded without estimates.
    fn message_tokens_after(&self, session: &Session, ix: EntryIx) -> Option<u64> {
        if self.values_of(ix).is_empty() {
            return session.message_tokens(ix);
        }
        // The estimates are in the order of their entries.
        let estimates = &self.pruned_message_tokens;
        let index = estimates
            .binary_search_by_key(&ix, |estimate| estimate.entry)
            .ok()?;
        Some(estimates[index].tokens)
    }

    /// Returns the session after the prune: lines of removed entries are left out with their
    /// newlines, values are replaced by their placeholders, and the mark is appended. Only new
    /// bytes are stored; all others are read from `source`.
    pub fn build_pruned_session(&self, session: &Session, source: &dyn ReadAt) -> PieceTable {
        let replacements = self.list_replacements(session, source);
        let last_replaced_end = replacements.last().map(|last| last.span.end());
        let mut pruned = apply_replacements(source, replacements.into_iter());

        if let Some(mark) = &self.mark {
            // If the last line was removed, the new last line ends with a newline.
            let ends_with_newline =
                session.ends_with_newline || last_replaced_end == Some(source.len());
            if !ends_with_newline {
                pruned.push_new_bytes(b"\n");
            }
            pruned.push_new_bytes(&mark.line);
            pruned.push_new_bytes(b"\n");
        }
        pruned
    }

    /// Returns the changes to the bytes of the session, in file order: a removed line is replaced
    /// by nothing, a value by its placeholder.
    fn list_replacements(&self, session: &Session, source: &dyn ReadAt) -> Vec<Replacement<'_>> {
        let mut replacements: Vec<Replacement> = Vec::new();
        for &ix in &self.entries {
            let Span { start, len } = session.entry(ix).span;
            // The line is removed with its newline, which the last line of the file may lack.
            let len_with_newline = (len + 1).min(source.len() - start);
            replacements.push(Replacement {
                span: Span {
                    start,
                    len: len_with_newline,
                },
                json: &[],
            });
        }
        // No value is in a removed entry, so the ranges do not overlap.
        replacements.extend(self.values.iter().map(PrunableValue::replacement));
        replacements.extend(self.secrets.strings.iter().map(SecretString::replacement));
        replacements.sort_by_key(|replacement| replacement.span.start);
        replacements
    }
}

/// Returns a file whose replacements, which are in file order, are applied. Only the new bytes are
/// stored; all others are read from `source`.
fn apply_replacements<'a>(
    source: &dyn ReadAt,
    replacements: impl Iterator<Item = Replacement<'a>>,
) -> PieceTable {
    let mut patched = PieceTable::default();
    // Up to this offset, the source was taken over or replaced.
    let mut kept_end = 0;
    for Replacement { span, json } in replacements {
        patched.push_source(Span {
            start: kept_end,
            len: span.start - kept_end,
        });
        patched.push_new_bytes(json);
        kept_end = span.end();
    }
    patched.push_source(Span {
        start: kept_end,
        len: source.len() - kept_end,
    });
    patched
}

/// The line behind which a removed entry is restored: the last line before it that stays, and is
/// the header or an entry.
struct RecordAnchor<'s> {
    line: LineNo,
    /// The id of the entry; `None` for the header, and for an entry without an id.
    id: Option<Text<'s>>,
}

/// Returns the members of the record of a removed entry, without the payload, which is its line.
/// The record contains the id of the anchor, the last entry before it that stays, and the number of
/// lines from there. `has_newline` is whether the line of the entry ends with a newline.
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
    // The anchor is above the entry in the file.
    let distance = entry.line.0 - anchor.line.0;
    members
        .text_or_null("after", anchor.id.as_ref())
        .number("distance", f64::from(distance))
}

/// Returns the members of the record of an appended mark, without the payload, which is the line of
/// the mark. That line comes after the last one of the session.
///
/// If the session did not end with a newline, one is added before the mark. The record then has
/// `"newline":false`, so that a restore removes that newline.
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

/// Returns the size of the context at the leaf, in tokens: the sum of the agent's estimates of its
/// messages.
///
/// `known_estimate` returns the estimate of a stored message, or `None` if it is not known.
/// Messages without a known estimate, and messages that the agent builds, are read and estimated
/// here, on up to `workers` threads.
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
            // The known estimate is that of the stored message, so it does not apply to a message
            // that the agent builds from the entry.
            Some(tokens) if matches!(message.body, Body::Stored) => sum += tokens,
            _ => not_estimated.push(message),
        }
    }

    let agent = session.agent();
    read_in_order(
        &not_estimated,
        workers,
        reader,
        |_, json| agent.estimate_message(json),
        |_, tokens: &mut u64| sum += *tokens,
    )?;
    Ok(sum)
}

/// Returns the location in the file of a part of a line. `part` must be a slice of `line`.
/// `line_span` is the location of `line`.
fn locate_part(part: &[u8], line: &[u8], line_span: Span) -> Span {
    Span {
        start: line_span.start + range_in(part, line).start as u64,
        len: part.len() as u64,
    }
}

#[cfg(test)]
mod tests;
