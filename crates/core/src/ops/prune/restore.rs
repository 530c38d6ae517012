//! Restores pruned content: undoes the operations of a pruned file from the last to the first.
//!
//! `lines` undoes an operation: it removes the mark and puts entries back, which `merger` does in
//! one pass over all lines. `values` puts back values of entries. `build` makes a file of the
//! result.

mod build;
mod lines;
mod merger;
mod values;

use super::digest::{OriginalSession, SessionDigest};
use super::side::{Operation, OperationRecords, PrunedRecord, RecordKind, RecordSpans, WHOLE_LINE};
use crate::ops::patched::{PatchedFile, PieceTable};
use crate::session::Session;
use crate::session::entry::LineNo;
use foldhash::HashSet;
use lines::RestoredLines;
use pisess_json::text::Text;
use pisess_store::ReadAt;
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
