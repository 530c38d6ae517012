//! Turns fragments into a session: ids of older formats, parents, cycles, the leaf.

use crate::load::LoadError;
use crate::load::fragment::{DraftLink, Fragment};
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

/// Returns the session made of all fragments, `unlinked` if nobody asks how its entries are linked.
pub fn link(
    preamble: Preamble,
    fragment: Fragment,
    dialect: Dialect,
    source: &dyn ReadAt,
    unlinked: bool,
) -> Result<Session, LoadError> {
    let format = match preamble.format {
        Format::V1 if fragment.draft => Format::Draft,
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
        len: source.len(),
        ends_with_newline: ends_with_newline(source)?,
        ids: IdIndex::default(),
        entries: fragment.entries,
        arena: fragment.arena,
        dangling: Vec::new(),
        lines: fragment.lines - 1,
        records: fragment.records,
    };
    let is_older = matches!(format, Format::V1 | Format::Draft);
    if is_older {
        give_ids(&mut session)?;
    }
    // In the older formats, linking also gives entries their times.
    if is_older || !unlinked {
        link_parents(&mut session, fragment.parent_ids, &fragment.draft_links);
        if format == Format::Draft {
            link_draft_labels(
                &mut session,
                &fragment.draft_links,
                &fragment.numbered_targets,
            );
        }
        session.leaf = leaf(&session, fragment.leaf_record);
    }
    remove_copies(&mut session.collected.billed);
    session.problems.sort_by_key(|problem| problem.line);
    Ok(session)
}

/// Links the entries from `from` on, which were appended to a linked session. Returns `false` if
/// that may change others.
pub fn link_appended(session: &mut Session, from: usize, parent_ids: &[EntryText]) -> bool {
    let Session {
        entries,
        arena,
        ids,
        dangling,
        ..
    } = &mut *session;
    let id_of = |ix: EntryIx| &arena[entries[ix.at()].id.range()];
    for at in from..entries.len() {
        let ix = EntryIx::new(at);
        let is_awaited = dangling
            .iter()
            .any(|parent| arena[parent.text.range()] == *id_of(ix));
        if is_awaited || ids.insert(ix, id_of).is_some_and(|earlier| earlier != ix) {
            return false;
        }
    }
    for parent in parent_ids {
        let found = session.find(&session.text(parent.text));
        if found.is_none_or(|found| found >= parent.entry) {
            return false;
        }
        session.entries[parent.entry.at()].parent = found;
    }
    true
}

/// Gives each entry its parent, so that there is no cycle.
fn link_parents(session: &mut Session, parent_ids: Vec<EntryText>, draft_links: &[DraftLink]) {
    index_ids(session);
    match session.format {
        Format::V1 => chain(session),
        Format::Draft => link_draft(session, draft_links),
        Format::V2 | Format::V3 => link_by_id(session, parent_ids),
    }
    cut_cycles(session);
}

pub fn ends_with_newline(source: &dyn ReadAt) -> io::Result<bool> {
    Ok(source.is_empty() || source.read_range(source.len() - 1..source.len())? == b"\n")
}

/// Assigns ids that are the same on every machine: the first 8 hex digits of the UUIDv5 of the
/// record's number in the namespace of the session's id; if taken, those of `number:1`, `number:2`,
/// …
fn give_ids(session: &mut Session) -> Result<(), LoadError> {
    let namespace = namespace_of(&session.header.id);
    let mut taken = HashSet::with_capacity_and_hasher(session.entries.len(), Default::default());
    for entry in &mut session.entries {
        let id = (0..)
            .map(|again: u32| short_id(&namespace, entry.record, again))
            .find(|id| taken.insert(*id))
            .unwrap_or_default();
        let start = u32::try_from(session.arena.len()).map_err(|_| LoadError::TooLarge)?;
        session
            .arena
            .extend_from_slice(format!("{id:08x}").as_bytes());
        entry.id = Slice { start, len: 8 };
    }
    Ok(())
}

/// Returns the namespace of a session's ids: its own id if that is a UUID, else one derived from
/// it.
fn namespace_of(id: &Text) -> Uuid {
    let id = id.to_string_lossy();
    Uuid::try_parse(&id).unwrap_or_else(|_| Uuid::new_v5(&Uuid::NAMESPACE_OID, id.as_bytes()))
}

fn short_id(namespace: &Uuid, record: u32, again: u32) -> u32 {
    let name = if again == 0 {
        record.to_string()
    } else {
        format!("{record}:{again}")
    };
    Uuid::new_v5(namespace, name.as_bytes()).as_fields().0
}

impl Session {
    /// Returns a new id for record `number`: the same on every machine, and not in use by another
    /// entry.
    pub(crate) fn deterministic_id(&self, number: u32, is_taken: impl Fn(&str) -> bool) -> String {
        let namespace = namespace_of(&self.header.id);
        let is_free = |id: &String| self.find(&Text::from(id.as_str())).is_none() && !is_taken(id);
        (0..)
            .map(|again| format!("{:08x}", short_id(&namespace, number, again)))
            .find(is_free)
            .unwrap_or_default()
    }
}

/// Builds the index, and marks entries with the id of a later entry.
fn index_ids(session: &mut Session) {
    let mut ids = IdIndex::with_capacity(session.entries.len());
    let Session {
        entries,
        arena,
        problems,
        ..
    } = session;
    for at in 0..entries.len() {
        if let Some(earlier) =
            ids.insert(EntryIx::new(at), |ix| &arena[entries[ix.at()].id.range()])
        {
            problems.push(Problem {
                line: entries[at].line,
                kind: FindingKind::DuplicateId,
            });
            entries[earlier.at()]
                .flags
                .insert_if(Flags::SUPERSEDED, true);
        }
    }
    session.ids = ids;
}

fn chain(session: &mut Session) {
    for at in 1..session.entries.len() {
        session.entries[at].parent = Some(EntryIx::new(at - 1));
    }
}

/// Finds the parents with these ids. All other parents are previous entries, and known already.
fn link_by_id(session: &mut Session, mut parent_ids: Vec<EntryText>) {
    if session
        .problems
        .iter()
        .any(|problem| problem.kind == FindingKind::DuplicateId)
    {
        link_to_latest(session);
    }
    parent_ids.retain(|&EntryText { entry, text }| {
        let parent = session.find(&session.text(text));
        session.entries[entry.at()].parent = parent;
        parent.is_none()
    });
    let missing = |parent: &EntryText| session.entry(parent.entry).line;
    let missing = parent_ids.iter().map(|parent| Problem {
        line: missing(parent),
        kind: FindingKind::MissingParent,
    });
    session.problems.extend(missing.collect::<Vec<_>>());
    session.dangling = parent_ids;
}

/// Makes the latest of several entries with the same id the parent, as in the agents.
fn link_to_latest(session: &mut Session) {
    for at in 0..session.entries.len() {
        let Some(parent) = session.entries[at].parent else {
            continue;
        };
        if session.entry(parent).flags.has(Flags::SUPERSEDED) {
            session.entries[at].parent = session.find(&session.id(parent));
        }
    }
}

/// In the draft tree, links are record numbers; 0 (the header) and below mean no parent. The parent
/// of an entry without a link is the previous entry.
fn link_draft(session: &mut Session, links: &[DraftLink]) {
    chain(session);
    carry_times(session);
    for link in links {
        let entry = session.entry(link.entry);
        if link.parent.is_nan() {
            continue;
        }
        let parent = session.record_entry(link.parent);
        if parent.is_none() && link.parent > 0.0 {
            session.problems.push(Problem {
                line: entry.line,
                kind: FindingKind::MissingParent,
            });
        }
        session.entries[link.entry.at()].parent = parent;
    }
    give_timestamps(session);
}

/// Converts the targets of draft-tree labels to their migrated form: the target of a named head is
/// the entry it points to, others are record numbers.
fn link_draft_labels(
    session: &mut Session,
    links: &[DraftLink],
    numbered_targets: &[(EntryIx, f64)],
) {
    let mut heads: HashSet<EntryIx> = HashSet::default();
    for link in links {
        if link.head {
            heads.insert(link.entry);
        }
    }

    for at in 0..session.collected.labels.len() {
        let label = session.collected.labels[at].entry;
        let target = if heads.contains(&label) {
            match session.entry(label).parent {
                Some(parent) => session.entry(parent).id,
                None => Slice::default(),
            }
        } else {
            let numbered = numbered_targets.binary_search_by_key(&label, |&(entry, _)| entry);
            let Ok(numbered) = numbered else { continue };
            let (_, record) = numbered_targets[numbered];
            match session.record_entry(record) {
                Some(target) => session.entry(target).id,
                None => Slice::append(b"root", &mut session.arena),
            }
        };
        session.collected.labels[at].target = target;
    }
}

/// In the draft tree, timestamps are optional: gives each entry without one that of the previous
/// entry.
fn carry_times(session: &mut Session) {
    let started = session.header.started_ms();
    let mut time = started.unwrap_or(Entry::NO_TIME);
    for entry in &mut session.entries {
        if entry.time_ms == Entry::NO_TIME {
            entry.time_ms = time;
        }
        time = entry.time_ms;
    }
}

/// If timestamps are kept as text, gives each entry without one the timestamp that migration would.
fn give_timestamps(session: &mut Session) {
    for ix in session.all() {
        if session
            .collected
            .timestamps
            .get(ix.at())
            .is_some_and(|slice| slice.is_empty())
        {
            session.collected.timestamps[ix.at()] = keep_timestamp(session, ix);
        }
    }
    for at in 0..session.collected.labels.len() {
        if session.collected.labels[at].timestamp.is_empty() {
            session.collected.labels[at].timestamp =
                keep_timestamp(session, session.collected.labels[at].entry);
        }
    }
}

fn keep_timestamp(session: &mut Session, ix: EntryIx) -> Slice {
    Slice::append(session.draft_timestamp(ix).as_bytes(), &mut session.arena)
}

/// Cuts each cycle of parents at its first entry in the file, which becomes a root, and marks its
/// members.
fn cut_cycles(session: &mut Session) {
    let entries = &mut session.entries;
    let forward =
        |(at, entry): (usize, &Entry)| entry.parent.is_some_and(|parent| parent.at() >= at);
    if !entries.iter().enumerate().any(forward) {
        return; // Each parent precedes its child: there can be no cycle.
    }
    // 0: not seen; n: seen in the walk that started at entry n - 1.
    let mut seen = vec![0_u32; entries.len()];
    for start in 0..entries.len() {
        let walk = start as u32 + 1;
        let mut at = EntryIx::new(start);
        while seen[at.at()] == 0 {
            seen[at.at()] = walk;
            match entries[at.at()].parent {
                Some(parent) => at = parent,
                None => break,
            }
        }
        if entries[at.at()].parent.is_some()
            && seen[at.at()] == walk
            && !entries[at.at()].flags.has(Flags::IN_CYCLE)
        {
            let cut = cut_cycle(entries, at, &mut session.problems);
            // The links of the draft tree are not ids.
            session
                .dangling
                .extend(cut.filter(|_| session.format != Format::Draft));
        }
    }
    session.dangling.sort_by_key(|parent| parent.entry);
}

/// Returns the link that was cut.
fn cut_cycle(
    entries: &mut [Entry],
    member: EntryIx,
    problems: &mut Vec<Problem>,
) -> Option<EntryText> {
    let mut first = member;
    let mut at = member;
    loop {
        let entry = &mut entries[at.at()];
        entry.flags.insert_if(Flags::IN_CYCLE, true);
        problems.push(Problem {
            line: entry.line,
            kind: FindingKind::ParentCycle,
        });
        first = first.min(at);
        match entry.parent {
            Some(parent) if parent != member => at = parent,
            _ => break,
        }
    }
    let parent = entries[first.at()].parent.take()?;
    Some(EntryText {
        entry: first,
        text: entries[parent.at()].id,
    })
}

/// Returns the leaf: the last entry with an id or, if that is a `leaf` record, the entry it refers
/// to. A `head` of a draft tree is a child of the entry it points to, so that at the end of a file
/// it moves the leaf there.
pub fn leaf(session: &Session, record: Option<(EntryIx, Slice)>) -> Option<EntryIx> {
    let last = session
        .all()
        .rev()
        .find(|&ix| !session.entry(ix).id.is_empty())?;
    match record {
        Some((entry, target)) if entry == last && session.entry(entry).kind == Kind::Leaf => {
            session.find(&session.text(target))
        }
        _ => Some(last),
    }
}
