//! Makes a session of the joined fragments: assigns ids in older formats, links entries to their
//! parents, cuts cycles, and finds the leaf.

use crate::load::LoadError;
use crate::load::cycles::find_cycles;
use crate::load::fragment::{DraftLink, Fragment, LeafRecord, NumberedTarget};
use crate::session::collected::EntryText;
use crate::session::defect::FindingKind;
use crate::session::dialect::Dialect;
use crate::session::entry::{Entry, EntryIx, Flags, Kind, Slice};
use crate::session::index::IdIndex;
use crate::session::read::header::Preamble;
use crate::session::usage::remove_copies;
use crate::session::{Format, Problem, Session};
use foldhash::HashSet;
use pisess_json::text::Text;
use pisess_store::ReadAt;
use std::io;
use uuid::Uuid;

/// Makes a session of the preamble and of the joined fragments of a file, in these steps:
///
/// 1. In older formats, entries get ids.
/// 2. Each entry gets its parent. Cycles are cut, labels of the draft tree format get their
///    targets, and the leaf is found. With `skip_links`, this step is omitted for the newer
///    formats.
/// 3. Copies of requests are removed, and problems are sorted by line.
pub fn link_session(
    preamble: Preamble,
    fragment: Fragment,
    dialect: Dialect,
    source: &dyn ReadAt,
    skip_links: bool,
) -> Result<Session, LoadError> {
    let format = match preamble.format {
        Format::V1 if fragment.is_draft => Format::Draft,
        format => format,
    };
    let mut problems = preamble.problems;
    problems.extend(fragment.problems);
    let mut session = Session {
        header: preamble.header,
        title_slot: preamble.title_slot,
        format,
        dialect,
        leaf: None,
        problems,
        collected: fragment.collected,
        original_lines: source.original_lines().cloned(),
        file_len: source.len(),
        ends_with_newline: ends_with_newline(source)?,
        ids: IdIndex::default(),
        entries: fragment.entries,
        arena: fragment.arena,
        dangling: Vec::new(),
        // In a fragment, this is the number of the line that would come next.
        line_count: fragment.line_count - 1,
        record_count: fragment.record_count,
    };
    let is_older = matches!(format, Format::V1 | Format::Draft);
    if is_older {
        assign_ids(&mut session)?;
    }
    // Older formats are linked in any case: in the draft tree format, linking also gives entries
    // their times.
    if is_older || !skip_links {
        link_parents(&mut session, fragment.parent_ids, &fragment.draft_links);
        if format == Format::Draft {
            link_draft_labels(
                &mut session,
                &fragment.draft_links,
                &fragment.numbered_targets,
            );
        }
        session.leaf = find_leaf(&session, fragment.leaf_record);
    }
    remove_copies(&mut session.collected.billed);
    session.problems.sort_by_key(|problem| problem.line);
    Ok(session)
}

/// Links the entries from the index `first_new` on, which were appended to a linked session.
/// `parent_ids` has the id of each of their parents that is not the previous entry.
///
/// Returns `false` if the new entries may change how earlier entries are linked. The session is
/// then linked only in part, and must be loaded again. This is so in three cases:
///
/// - A new entry has the id of a parent that is missing for an earlier entry.
/// - A new entry has the id of another entry.
/// - The parent of a new entry is missing, or not before the entry in the file.
pub fn link_appended(session: &mut Session, first_new: usize, parent_ids: &[EntryText]) -> bool {
    // First, because a new entry may be the parent of another.
    let are_ids_new = index_new_ids(session, first_new);
    if !are_ids_new {
        return false;
    }
    for parent_id in parent_ids {
        let child = parent_id.entry;
        let parent = session.find_entry(&session.text(parent_id.text));
        if parent.is_none_or(|parent| parent >= child) {
            return false;
        }
        session.entries[child.index()].parent = parent;
    }
    true
}

/// Adds the ids of the entries from the index `first_new` on to the index of ids. Stops and returns
/// `false` at an id that another entry has, or that an earlier entry names as its missing parent.
fn index_new_ids(session: &mut Session, first_new: usize) -> bool {
    for index in first_new..session.entries.len() {
        let ix = EntryIx::new(index);
        let id = session.bytes(session.entry(ix).id);
        let mut missing_parents = session.dangling.iter();
        let is_missing_parent = missing_parents.any(|missing| session.bytes(missing.text) == id);
        if is_missing_parent {
            return false;
        }
        let earlier_with_same_id = index_id(session, ix);
        if earlier_with_same_id.is_some() {
            return false;
        }
    }
    true
}

/// Gives each entry its parent, by the rules of the format, and cuts cycles.
fn link_parents(session: &mut Session, parent_ids: Vec<EntryText>, draft_links: &[DraftLink]) {
    index_ids(session);
    match session.format {
        Format::V1 => link_in_file_order(session),
        Format::Draft => link_draft(session, draft_links),
        Format::V2 | Format::V3 => link_by_id(session, parent_ids),
    }
    cut_cycles(session);
}

/// Whether the last line has a newline at its end. True for an empty file.
pub fn ends_with_newline(source: &dyn ReadAt) -> io::Result<bool> {
    Ok(source.is_empty() || source.read_range(source.len() - 1..source.len())? == b"\n")
}

/// Gives the entries of an older format ids, which are the same on every machine.
///
/// An id is the first 8 hex digits of the UUIDv5 of the record's number, in the namespace of the
/// session's id. If the id is taken, `number:1` takes the place of the number, then `number:2`, and
/// so on.
///
/// # Errors
/// If the strings of all entries no longer fit into 4 GiB.
fn assign_ids(session: &mut Session) -> Result<(), LoadError> {
    let namespace = id_namespace(&session.header.id);
    let mut taken = HashSet::with_capacity_and_hasher(session.entries.len(), Default::default());
    for entry in &mut session.entries {
        let mut attempt = 0;
        let mut id = short_id(&namespace, entry.record, attempt);
        // `insert` is false if the id is taken.
        while !taken.insert(id) {
            attempt += 1;
            id = short_id(&namespace, entry.record, attempt);
        }
        let start = u32::try_from(session.arena.len()).map_err(|_| LoadError::TooLarge)?;
        session
            .arena
            .extend_from_slice(format!("{id:08x}").as_bytes());
        entry.id = Slice { start, len: 8 };
    }
    Ok(())
}

/// Returns the namespace of the ids in a session: the session's own id if that is a UUID, else a
/// UUID derived from it.
fn id_namespace(id: &Text) -> Uuid {
    let id = id.to_string_lossy();
    Uuid::try_parse(&id).unwrap_or_else(|_| Uuid::new_v5(&Uuid::NAMESPACE_OID, id.as_bytes()))
}

/// Returns the id of a record as a number, whose 8 hex digits are the id. `attempt` is 0 at first,
/// and grows by 1 each time that the id is taken.
fn short_id(namespace: &Uuid, record: u32, attempt: u32) -> u32 {
    let name = if attempt == 0 {
        record.to_string()
    } else {
        format!("{record}:{attempt}")
    };
    Uuid::new_v5(namespace, name.as_bytes()).as_fields().0
}

impl Session {
    /// Returns a new id for the record `number`, which is the same on every machine. No entry has
    /// the id, and `is_taken` is false for it.
    pub(crate) fn deterministic_id(&self, number: u32, is_taken: impl Fn(&str) -> bool) -> String {
        let namespace = id_namespace(&self.header.id);
        let mut attempt = 0;
        loop {
            let id = format!("{:08x}", short_id(&namespace, number, attempt));
            let has_entry = self.find_entry(&Text::from(id.as_str())).is_some();
            if !has_entry && !is_taken(&id) {
                return id;
            }
            attempt += 1;
        }
    }
}

/// Builds the index of ids, and marks entries whose id is repeated.
///
/// If several entries have an id, the index contains the last, as in the agents. The others are
/// marked as superseded. Each repetition is a problem on the line that repeats the id.
fn index_ids(session: &mut Session) {
    session.ids = IdIndex::with_capacity(session.entries.len());
    for ix in session.entry_indexes() {
        let earlier_with_same_id = index_id(session, ix);
        if let Some(superseded) = earlier_with_same_id {
            session.problems.push(Problem {
                line: session.entry(ix).line,
                kind: FindingKind::DuplicateId,
            });
            let flags = &mut session.entries[superseded.index()].flags;
            flags.insert_if(Flags::SUPERSEDED, true);
        }
    }
}

/// Adds the id of an entry to the index, and returns the entry to which the index mapped the id
/// before.
fn index_id(session: &mut Session, ix: EntryIx) -> Option<EntryIx> {
    // The fields are borrowed one by one: the index stores no ids, so it reads them while it
    // changes.
    let Session {
        entries,
        arena,
        ids,
        ..
    } = session;
    ids.insert(ix, |ix| &arena[entries[ix.index()].id.range()])
}

/// Makes each entry the child of the entry before it in the file.
fn link_in_file_order(session: &mut Session) {
    for index in 1..session.entries.len() {
        session.entries[index].parent = Some(EntryIx::new(index - 1));
    }
}

/// Links entries to the parents whose ids are in `parent_ids`. Of several entries with such an id,
/// the last in the file is the parent, as in the agents. If none has it, the entry becomes a root,
/// which is a problem.
///
/// All other entries were linked when they were read: their `parentId` is the id of the entry
/// before them, or they have none and are roots.
///
/// The index of ids must be complete: see [`index_ids`].
fn link_by_id(session: &mut Session, parent_ids: Vec<EntryText>) {
    // An entry was linked to the entry before it without a look at the lines after it. If one of
    // these repeats the id, that link is wrong.
    let has_duplicates = session
        .problems
        .iter()
        .any(|problem| problem.kind == FindingKind::DuplicateId);
    if has_duplicates {
        relink_from_superseded(session);
    }

    for parent_id in parent_ids {
        let child = parent_id.entry;
        // If several entries have the id, this is the last of them.
        let parent = session.find_entry(&session.text(parent_id.text));
        session.entries[child.index()].parent = parent;
        if parent.is_none() {
            add_missing_parent(session, parent_id);
        }
    }
}

/// Adds the problem of an entry whose parent is missing, and keeps the id of that parent: a repair
/// may find out which entry it was.
fn add_missing_parent(session: &mut Session, parent_id: EntryText) {
    session.problems.push(Problem {
        line: session.entry(parent_id.entry).line,
        kind: FindingKind::MissingParent,
    });
    session.dangling.push(parent_id);
}

/// Moves each child of a superseded entry to the last entry of the file with the same id, as in the
/// agents. An entry is superseded if a later one has its id, so it is never the last.
fn relink_from_superseded(session: &mut Session) {
    for index in 0..session.entries.len() {
        let Some(parent) = session.entries[index].parent else {
            continue;
        };
        if session.entry(parent).flags.contains(Flags::SUPERSEDED) {
            // `find_entry` returns the last entry with an id.
            session.entries[index].parent = session.find_entry(&session.id(parent));
        }
    }
}

/// Links the entries of the draft tree format, and gives them times, which are optional in this
/// format.
///
/// A link is a record number. The header is record 0: a link to it, or a negative one, makes the
/// entry a root. So does a link to a missing record, which is a problem. An entry without a link,
/// or whose link is not a number, follows the entry before it in the file.
///
/// The times follow the order of the file, and do not depend on the links.
fn link_draft(session: &mut Session, links: &[DraftLink]) {
    link_in_file_order(session);
    for link in links {
        // Heads without a link are listed, too. They follow the entry before them.
        let Some(record_number) = link.parent else {
            continue;
        };
        let parent = session.entry_of_record(record_number);
        let is_header_or_below = record_number <= 0.0;
        if parent.is_none() && !is_header_or_below {
            session.problems.push(Problem {
                line: session.entry(link.entry).line,
                kind: FindingKind::MissingParent,
            });
        }
        session.entries[link.entry.index()].parent = parent;
    }

    fill_missing_times(session);
    // A timestamp is the text of a time, so it comes after the times.
    store_missing_timestamps(session);
}

/// Gives the labels of the draft tree format the ids of the entries that they label.
///
/// - Migration makes a label of a `head` that has a name: see [`head_target_id`].
/// - Any other label gives the record number of the entry that it labels: see
///   [`numbered_target_id`].
///
/// `links` has all heads. `numbered_targets` has the record numbers, in file order. The parents
/// must be known: see [`link_draft`].
fn link_draft_labels(
    session: &mut Session,
    links: &[DraftLink],
    numbered_targets: &[NumberedTarget],
) {
    let mut heads: HashSet<EntryIx> = HashSet::default();
    for link in links.iter().filter(|link| link.is_head) {
        heads.insert(link.entry);
    }

    for index in 0..session.collected.labels.len() {
        let label = session.collected.labels[index].entry;
        let target_id = if heads.contains(&label) {
            head_target_id(session, label)
        } else if let Some(number) = target_number(numbered_targets, label) {
            numbered_target_id(session, number)
        } else {
            continue; // The target is an id already.
        };
        session.collected.labels[index].target = target_id;
    }
}

/// Returns the id of the entry that a head labels, which is the one that it points to: its parent.
/// Empty if it has no parent.
fn head_target_id(session: &Session, head: EntryIx) -> Slice {
    match session.entry(head).parent {
        Some(parent) => session.entry(parent).id,
        None => Slice::default(),
    }
}

/// Returns the record number of the entry that a label labels; `None` if the label gives no number.
fn target_number(numbered_targets: &[NumberedTarget], label: EntryIx) -> Option<f64> {
    // The numbers are in file order, and so sorted by label.
    let index = numbered_targets
        .binary_search_by_key(&label, |target| target.label)
        .ok()?;
    Some(numbered_targets[index].record)
}

/// Returns the id of the entry with a record number; `root`, which is added to the arena, if there
/// is no such entry.
fn numbered_target_id(session: &mut Session, number: f64) -> Slice {
    match session.entry_of_record(number) {
        Some(target) => session.entry(target).id,
        None => Slice::append(b"root", &mut session.arena),
    }
}

/// Gives each entry without a time the time of the entry before it in the file. The first entry
/// gets the time of the header.
fn fill_missing_times(session: &mut Session) {
    let started_ms = session.header.started_ms();
    let mut previous_ms = started_ms.unwrap_or(Entry::NO_TIME);
    for entry in &mut session.entries {
        if entry.time_ms == Entry::NO_TIME {
            entry.time_ms = previous_ms;
        }
        previous_ms = entry.time_ms;
    }
}

/// Stores a timestamp for each entry and label without one: the text that migration would write. If
/// the timestamps of entries were not requested, their table is empty and stays so.
fn store_missing_timestamps(session: &mut Session) {
    for ix in session.entry_indexes() {
        let timestamp = session.collected.timestamps.get(ix.index());
        if timestamp.is_some_and(|stored| stored.is_empty()) {
            session.collected.timestamps[ix.index()] = store_draft_timestamp(session, ix);
        }
    }
    for index in 0..session.collected.labels.len() {
        let label = session.collected.labels[index];
        if label.timestamp.is_empty() {
            session.collected.labels[index].timestamp = store_draft_timestamp(session, label.entry);
        }
    }
}

/// Stores the timestamp of an entry as migration would write it, and returns its place in the
/// arena.
fn store_draft_timestamp(session: &mut Session, ix: EntryIx) -> Slice {
    Slice::append(session.draft_timestamp(ix).as_bytes(), &mut session.arena)
}

/// Cuts each cycle of parents at the entry of it that is first in the file, which becomes a root.
/// Marks all entries of the cycle, each of which is a problem. The links that were cut are stored
/// as dangling.
fn cut_cycles(session: &mut Session) {
    for cycle in find_cycles(&session.entries) {
        mark_cycle(session, &cycle);
        // The entries of a cycle are not in file order. The least index is the first in the file.
        if let Some(&first) = cycle.iter().min() {
            cut_parent(session, first);
        }
    }
    // The links of missing parents were added first, and then the links that were cut, in the order
    // in which the cycles were found.
    session.dangling.sort_by_key(|parent_id| parent_id.entry);
}

/// Marks the entries of a cycle, and adds a problem for each.
fn mark_cycle(session: &mut Session, cycle: &[EntryIx]) {
    for ix in cycle {
        let entry = &mut session.entries[ix.index()];
        entry.flags.insert_if(Flags::IN_CYCLE, true);
        session.problems.push(Problem {
            line: entry.line,
            kind: FindingKind::ParentCycle,
        });
    }
}

/// Makes an entry a root, and stores the id of its parent as dangling.
fn cut_parent(session: &mut Session, ix: EntryIx) {
    let parent = session.entries[ix.index()].parent.take();
    // Links of the draft tree format are record numbers, so they cannot be dangling ids.
    if let Some(parent) = parent
        && session.format != Format::Draft
    {
        session.dangling.push(EntryText {
            entry: ix,
            text: session.entry(parent).id,
        });
    }
}

/// Returns the leaf: the last entry of the file that has an id. If that entry is a `leaf` record,
/// the leaf is the entry to which the record refers; `None` if there is no such entry.
///
/// `leaf_record` is the last `leaf` record of the file. A `head` of the draft tree format needs no
/// such rule. It is a child of the entry to which it points, so a `head` at the end of the file
/// moves the leaf there.
pub fn find_leaf(session: &Session, leaf_record: Option<LeafRecord>) -> Option<EntryIx> {
    let mut from_end = session.entry_indexes().rev();
    let last = from_end.find(|&ix| !session.entry(ix).id.is_empty())?;
    if let Some(record) = leaf_record
        && record.entry == last
        && session.entry(last).kind == Kind::Leaf
    {
        return session.find_entry(&session.text(record.target_id));
    }
    Some(last)
}
