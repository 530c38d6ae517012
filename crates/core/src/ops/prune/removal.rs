//! Plans the removal of entries: their lines are removed, and references to them are replaced.
//!
//! ```text
//! a ─ b ─ c ─ d      b and c are pruned:     a ─ d
//! ```
//!
//! If a removed entry was labelled by an entry that stays, the label is cleared, but the label
//! entry is kept: it may determine where the agent compacts next.

use super::{PrunableSecrets, PrunableValue, PrunePlan, ValueKind, locate_part};
use crate::ops::chain::Chain;
use crate::ops::pick::find_results_by_call;
use crate::ops::switch::new_mark;
use crate::ops::{IdSource, UpwardSearch, first_remaining_kept};
use crate::session::defect::FindingKind;
use crate::session::entry::{EntryIx, Kind, LineNo, Role};
use crate::session::read::entry_reader::{EntryReader, resolve_member};
use crate::session::tree::Tree;
use crate::session::{Format, Session};
use pisess_json::Raw;
use pisess_json::string::encode_to_vec;
use pisess_json::text::Text;
use pisess_store::ReadAt;
use std::collections::BTreeSet;
use std::io;

/// The reason why no entry of a session can be pruned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PruneBlocker {
    /// The session has an older format.
    #[error("it has an older format")]
    OldFormat,
    /// The tree of the session is damaged.
    #[error("its tree is damaged on line {}", line.0)]
    Tree {
        /// The first line with such a defect.
        line: LineNo,
    },
}

impl PruneBlocker {
    /// Checks that entries can be removed from a session. This requires:
    ///
    /// - version 3 of the format, in which entries have ids
    /// - unique ids, because children, labels and compactions refer to an entry by its id
    /// - parents without a cycle, so that each entry has a place in the tree
    pub fn require_removable_entries(session: &Session) -> Result<(), PruneBlocker> {
        if session.format != Format::V3 {
            return Err(PruneBlocker::OldFormat);
        }
        let damage = session.problems.iter().find(|problem| {
            matches!(
                problem.kind,
                FindingKind::MissingId | FindingKind::DuplicateId | FindingKind::ParentCycle
            )
        });
        match damage {
            Some(problem) => Err(PruneBlocker::Tree { line: problem.line }),
            None => Ok(()),
        }
    }
}

impl PrunePlan {
    /// Returns the plan to prune the entries for which `is_removed` is set. `name` is the name of
    /// the operation. If the leaf is removed, its nearest ancestor that stays becomes the leaf.
    ///
    /// In each entry that stays, references to removed entries are replaced:
    ///
    /// - the parent, by the nearest ancestor that stays,
    /// - the first kept entry of a compaction, by the next entry that stays,
    /// - a label, by `null`.
    ///
    /// If an agent would then take another entry for the leaf, a mark is appended.
    pub fn from_entries(
        name: &'static str,
        session: &Session,
        source: &dyn ReadAt,
        is_removed: Vec<bool>,
        id_source: &mut IdSource,
    ) -> io::Result<PrunePlan> {
        let reader = EntryReader::new(session, source);
        let entries: Vec<_> = session
            .entry_indexes()
            .filter(|ix| is_removed[ix.index()])
            .collect();
        let label_entries = find_labels_of_removed(session, &is_removed);
        let mut values = Vec::new();
        for ix in session.entry_indexes() {
            if is_removed[ix.index()] {
                continue;
            }
            values.extend(plan_parent(&reader, ix, &is_removed)?);
            if label_entries.binary_search(&ix).is_ok() {
                values.push(plan_link(&reader, ix, "label", b"null".to_vec())?);
            }
            if let Some(first_kept) = find_new_first_kept(&reader, ix, &is_removed)? {
                let new_value = encode_to_vec(&first_kept);
                values.push(plan_link(&reader, ix, "firstKeptEntryId", new_value)?);
            }
        }

        // Without a mark, the agents take the last remaining entry of the file for the leaf, even
        // if it is on another branch.
        let leaf = nearest_remaining(session, session.leaf, &is_removed);
        let leaf_without_mark = leaf_after_removal(&reader, &is_removed)?;
        let mut chain = Chain::with_parent(session, leaf.into(), id_source);
        if leaf != leaf_without_mark && !entries.is_empty() {
            let id = chain.parent.clone();
            chain.add_entry(new_mark(id.as_ref(), id.as_ref(), &[]));
        }
        Ok(PrunePlan {
            name,
            entries,
            branch_count: 0,
            values,
            secrets: PrunableSecrets::default(),
            pruned_message_tokens: Vec::new(),
            mark: chain.change.entries.pop(),
        })
    }
}

/// Returns the chosen entries, the replies with the calls of chosen results, and all results of the
/// calls in these replies and in chosen ones: a model's API accepts neither a call nor a result
/// without the other.
///
/// If a call was answered again, it has results on several branches: all are removed. A chosen
/// result that answers no call of the nearest reply above it is removed alone.
pub fn complete_removal(reader: &EntryReader, chosen: &[EntryIx]) -> io::Result<Vec<EntryIx>> {
    let session = reader.session();
    let tree = Tree::new(session);
    let mut removed: BTreeSet<_> = chosen.iter().copied().collect();
    for reply in find_nearest_replies(session, chosen) {
        let results_by_call = find_results_by_call(reader, &tree, reply)?;
        let results: Vec<_> = results_by_call.into_values().flatten().collect();
        // A chosen result below this reply may answer none of its calls: then the reply stays.
        let is_removed = |ix| removed.contains(ix);
        if is_removed(&reply) || results.iter().any(is_removed) {
            removed.insert(reply);
            removed.extend(results);
        }
    }
    Ok(removed.into_iter().collect())
}

/// Returns the chosen replies, and for each chosen result the nearest reply above it, whose call it
/// may answer.
fn find_nearest_replies(session: &Session, chosen: &[EntryIx]) -> BTreeSet<EntryIx> {
    let is_reply = |ix| session.is_message(ix, Role::Assistant);
    let mut nearest_replies = UpwardSearch::new(session, is_reply);
    let mut replies = BTreeSet::new();
    for &ix in chosen {
        // The search begins with the entry itself, so a reply finds itself.
        if is_reply(ix) || session.is_message(ix, Role::ToolResult) {
            replies.extend(nearest_replies.find(Some(ix)));
        }
    }
    replies
}

/// Returns, for each entry, whether it is one of `entries`, or a context edit of one: an edit
/// refers to its entry by id.
pub fn mask_with_edits(reader: &EntryReader, entries: &[EntryIx]) -> io::Result<Vec<bool>> {
    let session = reader.session();
    let mut is_removed = vec![false; session.entries.len()];
    for ix in entries {
        is_removed[ix.index()] = true;
    }
    for ix in session.entry_indexes() {
        if session.entry(ix).kind == Kind::ContextEdit
            && let Some(target) = resolve_member(reader, ix, "targetId")?
            && is_removed[target.index()]
        {
            is_removed[ix.index()] = true;
        }
    }
    Ok(is_removed)
}

/// Returns the entries that set a label of a removed entry, in file order. In the pruned session,
/// such an entry would label one that is missing, so its label has to be cleared.
fn find_labels_of_removed(session: &Session, is_removed: &[bool]) -> Vec<EntryIx> {
    let mut label_entries = Vec::new();
    for change in &session.collected.labels {
        let target = session.find_entry(&session.text(change.target));
        let is_target_removed = target.is_some_and(|target| is_removed[target.index()]);
        // A change with an empty name clears a label, and may stay.
        if is_target_removed && !change.name.is_empty() {
            label_entries.push(change.entry);
        }
    }
    label_entries
}

/// Plans the new `parentId` of an entry whose parent is removed: the id of the nearest ancestor
/// that stays, or `null`. Returns `None` if the parent stays.
fn plan_parent(
    reader: &EntryReader,
    ix: EntryIx,
    is_removed: &[bool],
) -> io::Result<Option<PrunableValue>> {
    let session = reader.session();
    let parent = session.entry(ix).parent;
    if !parent.is_some_and(|parent| is_removed[parent.index()]) {
        return Ok(None);
    }
    let parent_id = match nearest_remaining(session, parent, is_removed) {
        Some(ancestor) => encode_to_vec(&session.id(ancestor)),
        None => b"null".to_vec(),
    };
    plan_link(reader, ix, "parentId", parent_id).map(Some)
}

/// Returns the nearest entry at or above a position that is not removed.
fn nearest_remaining(
    session: &Session,
    position: Option<EntryIx>,
    is_removed: &[bool],
) -> Option<EntryIx> {
    session
        .ancestors(position)
        .find(|ix| !is_removed[ix.index()])
}

/// Plans the replacement of a link: a member `field` of an entry that refers to another entry or
/// labels it. `new_value` is JSON, and becomes the placeholder of the member.
///
/// # Errors
/// If the line cannot be read, or has no such member.
fn plan_link(
    reader: &EntryReader,
    entry: EntryIx,
    field: &str,
    new_value: Vec<u8>,
) -> io::Result<PrunableValue> {
    let line_span = reader.session().entry(entry).span;
    let member_span = reader.with_stored(line_span, |stored_line| {
        let value = Raw::from_checked(stored_line.trim_ascii()).get(field)?;
        Some(locate_part(value.bytes(), stored_line, line_span))
    })?;
    let span = member_span.ok_or(io::ErrorKind::InvalidData)?;
    Ok(PrunableValue {
        entry,
        field: field.to_owned(),
        kind: ValueKind::Link,
        span,
        placeholder: new_value,
    })
}

/// Returns the new `firstKeptEntryId` of a compaction if that entry is removed: the id of the next
/// entry on the path that stays, or else the compaction's own id. A compaction keeps the entries
/// from this one on, so it keeps those that remain.
///
/// `None` for any other entry, if the first kept entry stays, and if it is not above the
/// compaction. [`first_remaining_kept`] does the search.
fn find_new_first_kept(
    reader: &EntryReader,
    ix: EntryIx,
    is_removed: &[bool],
) -> io::Result<Option<Text<'static>>> {
    let session = reader.session();
    if session.entry(ix).kind != Kind::Compaction {
        return Ok(None);
    }
    let Some(kept) = resolve_member(reader, ix, "firstKeptEntryId")? else {
        return Ok(None);
    };
    if !is_removed[kept.index()] {
        return Ok(None);
    }
    let first = first_remaining_kept(session, ix, kept, |ix| !is_removed[ix.index()]);
    Ok(first.map(|first| session.id(first).into_owned()))
}

/// Returns the entry that an agent would take for the leaf, where the conversation goes on, after
/// the removal. This is the last entry with an id that is not removed or, if that is a leaf record,
/// its target. `None` if there is no such entry, or if the target is removed.
fn leaf_after_removal(reader: &EntryReader, is_removed: &[bool]) -> io::Result<Option<EntryIx>> {
    let session = reader.session();
    let last = session
        .entry_indexes()
        .rev()
        .find(|ix| !is_removed[ix.index()] && !session.entry(*ix).id.is_empty());
    let Some(last) = last else {
        return Ok(None);
    };
    if session.entry(last).kind != Kind::Leaf {
        return Ok(Some(last));
    }
    let target = resolve_member(reader, last, "targetId")?;
    Ok(target.filter(|ix| !is_removed[ix.index()]))
}
