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
/// A fused line had several entries of version 1, which the repair has separated. In version 1,
/// entries have no ids, and each is the child of the one before. But the file was migrated before
/// the repair: the migration could not read the fused line, and linked the entries around it:
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
    // A run has the entries of one fused line, or of several adjacent ones: `b c` in the picture.
    for run in fused.chunk_by(|one, next| next.previous() == Some(*one)) {
        let before_run = run[0].previous();
        let last_of_run = run[run.len() - 1];
        let next = EntryIx::new(last_of_run.index() + 1);
        if was_linked_past_run(session, next, before_run) {
            continuations.insert(last_of_run, next);
        }
    }
    continuations
}

/// Whether migration made `next`, the entry after a run of separated entries, a child of the entry
/// before the run: `d` and `a` in the picture above. `None` as `before_run` is the root. False if
/// the file ends with the run.
fn was_linked_past_run(session: &Session, next: EntryIx, before_run: Option<EntryIx>) -> bool {
    let Some(entry) = session.entries.get(next.index()) else {
        return false;
    };
    if entry.parent != before_run {
        return false;
    }
    // Migration writes a `parentId`.
    let is_migrated = !entry.flags.contains(Flags::NO_PARENT_KEY);
    // An entry that lost its parent in one of these ways is repaired by other rules.
    let was_cut_off = entry.flags.contains(Flags::IN_CYCLE) || session.dangling_id(next).is_some();
    is_migrated && !was_cut_off
}

/// Maps the id of each lost entry (one whose line the repair removed) to the new parent of its
/// children. This is the parent of the lost entry or, if it is unknown or missing, the entry before
/// the lost one in the file.
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
        let next_entry = next_entry_after(session, lost);
        if let Some(id) = id_of_lost_entry(session, lost, next_entry, &lost_ids) {
            let parent = parent_of_lost_entry(session, lost, &replacements);
            let entry_before = Position::from(next_entry.previous());
            replacements.insert(id, parent.unwrap_or(entry_before));
        }
    }
    replacements
}

/// Returns the entry that follows a lost one in the repaired file. If there is none, this is the
/// index after the last entry.
fn next_entry_after(session: &Session, lost: &LostEntry) -> EntryIx {
    // Entries are in the order of their lines.
    let index = session
        .entries
        .partition_point(|entry| entry.line.0 <= lost.lines_before);
    EntryIx::new(index)
}

/// Returns the parent of a lost entry; `None` if it is unknown or missing. `replacements` has the
/// new parents for the lost entries before this one.
fn parent_of_lost_entry(
    session: &Session,
    lost: &LostEntry,
    replacements: &HashMap<Vec<u8>, Position>,
) -> Option<Position> {
    match &lost.parent {
        LostParent::Root => Some(Position::Root),
        LostParent::Unknown => None,
        LostParent::Id(parent_id) => match session.find_entry(parent_id) {
            Some(parent) => Some(Position::Entry(parent)),
            // If the parent is lost as well, it is earlier in the file, so its replacement is
            // known already.
            None => replacements.get(parent_id.as_bytes()).copied(),
        },
    }
}

/// Returns the id of a lost entry. If it could not be read from the line, it is inferred from the
/// next entry: that is usually a child of the lost one, so the lost entry has the id that the next
/// one names as its parent. `None` if that parent is in the file, or is another lost entry.
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
