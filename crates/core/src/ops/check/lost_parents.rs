//! Finds parents for entries whose parent was lost with a broken line.

use super::line_repair::LineRepair;
use super::resync::{LostEntry, LostParent};
use crate::session::Session;
use crate::session::entry::{EntryIx, Flags};
use crate::session::reference::Position;
use foldhash::{HashMap, HashSet};
use std::collections::BTreeMap;

/// Finds the entries that are to become children of the last entry of a fused line. Returns them by
/// this last entry.
///
/// A fused line is one of a file of version 1 on which there were several entries; the repair has
/// separated them. In version 1, entries have no ids, and each is the child of the one before.
/// Migration could not read the fused line, and linked the entries around it:
///
/// ```text
/// file         a    b c (fused)    d
/// migrated     a ───────────────── d        d is the child of a
/// repaired     a ─ b ─ c ───────── d        d is to become the child of c
/// ```
pub(super) fn find_continuations(
    session: &Session,
    repair: &LineRepair,
) -> BTreeMap<EntryIx, EntryIx> {
    let mut fused = Vec::new();
    for &line in &repair.unlinked_lines {
        fused.extend(session.entry_on_line(line));
    }

    let mut continuations = BTreeMap::new();
    // A run has the entries of one fused line, or of several adjacent ones: each entry is directly
    // after the one before.
    for run in fused.chunk_by(|one, next| next.previous() == Some(*one)) {
        let entry_before_run = run[0].previous();
        let last = run[run.len() - 1];
        let next = EntryIx::new(last.index() + 1);
        let Some(next_entry) = session.entries.get(next.index()) else {
            continue;
        };

        let skips_run = next_entry.parent == entry_before_run;
        // A migrated entry has a `parentId`. Cycles and missing parents are repaired by other
        // rules.
        let has_other_defect = next_entry.flags.contains(Flags::NO_PARENT_KEY)
            || next_entry.flags.contains(Flags::IN_CYCLE)
            || session.dangling_id(next).is_some();
        if skips_run && !has_other_defect {
            continuations.insert(last, next);
        }
    }
    continuations
}

/// Maps the id of each lost entry to the new parent of its children. This is the parent of the lost
/// entry or, if it is unknown or missing, the entry before the lost one in the file.
pub(super) fn find_replacement_parents(
    session: &Session,
    repair: &LineRepair,
) -> HashMap<Vec<u8>, Position> {
    let mut lost_ids: HashSet<&[u8]> = HashSet::default();
    for lost in &repair.lost_entries {
        if let Some(id) = &lost.id {
            lost_ids.insert(id.as_bytes());
        }
    }

    let mut replacements: HashMap<Vec<u8>, Position> = HashMap::default();
    for lost in &repair.lost_entries {
        // Entries are in the order of their lines. If the lost entry was the last one, the next
        // index is that of no entry.
        let next_index = session
            .entries
            .partition_point(|entry| entry.line.0 <= lost.lines_before);
        let next_entry = EntryIx::new(next_index);
        let entry_before = next_entry.previous();
        let Some(id) = id_of_lost_entry(session, lost, next_entry, &lost_ids) else {
            continue;
        };
        let parent = match &lost.parent {
            LostParent::Root => Position::Root,
            LostParent::Unknown => entry_before.into(),
            LostParent::Id(parent_id) => {
                if let Some(parent) = session.find_entry(parent_id) {
                    Position::Entry(parent)
                } else if let Some(Position::Entry(replacement)) =
                    replacements.get(parent_id.as_bytes())
                {
                    // The parent is lost as well. It is earlier in the file, so its replacement is
                    // known already.
                    Position::Entry(*replacement)
                } else {
                    entry_before.into()
                }
            }
        };
        replacements.insert(id, parent);
    }
    replacements
}

/// Returns the id of a lost entry, read from its line or inferred from the entry after it; `None`
/// if both fail.
///
/// If the parent of the next entry is not in the file, and is not another lost entry, it must be
/// the lost entry: each entry is usually a child of the one before.
fn id_of_lost_entry(
    session: &Session,
    lost: &LostEntry,
    next_entry: EntryIx,
    lost_ids: &HashSet<&[u8]>,
) -> Option<Vec<u8>> {
    if let Some(id) = &lost.id {
        return Some(id.as_bytes().to_vec());
    }
    let missing_parent = session.dangling_id(next_entry)?;
    if lost_ids.contains(missing_parent.as_bytes()) {
        return None;
    }
    Some(missing_parent.into_bytes())
}
