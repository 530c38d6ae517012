//! Entries to prune: their lines leave the session, and what refers to them is linked anew.
//!
//! ```text
//! a ─ b ─ c ─ d      b and c are pruned:     a ─ d
//! ```
//!
//! A label of an entry that leaves, set by an entry that stays, is cleared: the entry itself may
//! determine where the agent compacts next.

use super::{Prune, Value, ValueKind, place_of};
use crate::ops::chain::Chain;
use crate::ops::switch::mark;
use crate::ops::{IdSource, first_staying};
use crate::session::defect::FindingKind;
use crate::session::entry::{EntryIx, Kind, LineNo};
use crate::session::read::entry_reader::{EntryReader, named};
use crate::session::reference::Position;
use crate::session::{Format, Session};
use pisess_json::Raw;
use pisess_json::string::encoded;
use pisess_json::text::Text;
use pisess_store::ReadAt;
use std::io;

/// Why no entry of a session can be pruned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damaged {
    /// It has an older format.
    #[error("it has an older format")]
    OldFormat,
    /// Its tree is damaged.
    #[error("its tree is damaged on line {}", line.0)]
    Tree {
        /// The first such line.
        line: LineNo,
    },
}

impl Damaged {
    /// Fails if entries cannot be removed from a session, because their ids are not certain.
    pub fn check(session: &Session) -> Result<(), Damaged> {
        if session.format != Format::V3 {
            return Err(Damaged::OldFormat);
        }
        let damage = session.problems.iter().find(|problem| {
            matches!(
                problem.kind,
                FindingKind::MissingId | FindingKind::DuplicateId | FindingKind::ParentCycle
            )
        });
        match damage {
            Some(problem) => Err(Damaged::Tree { line: problem.line }),
            None => Ok(()),
        }
    }
}

impl Prune {
    /// Returns the prune of the entries for which `leaves` is set, and of their labels. The leaf
    /// becomes the nearest ancestor that stays.
    ///
    /// In each entry that stays, three names of entries that leave are replaced: the parent by the
    /// nearest ancestor that stays, the first kept entry by the next one that stays, and a label by
    /// `null`. If the leaf would be another entry then, a mark is appended.
    pub fn entries_of(
        name: &'static str,
        session: &Session,
        source: &dyn ReadAt,
        leaves: Vec<bool>,
        fresh: &mut IdSource,
    ) -> io::Result<Prune> {
        let reader = EntryReader::new(session, source);
        let entries: Vec<_> = session.all().filter(|ix| leaves[ix.at()]).collect();
        // The entries that set a label of an entry that leaves, in file order.
        let mut label_entries = Vec::new();
        for change in &session.collected.labels {
            let target = session.find(&session.text(change.target));
            let target_leaves = target.is_some_and(|target| leaves[target.at()]);
            if target_leaves && !change.name.is_empty() {
                label_entries.push(change.entry);
            }
        }

        let mut values = Vec::new();
        for ix in session.all() {
            if leaves[ix.at()] {
                continue;
            }
            let entry = session.entry(ix);
            if entry.parent.is_some_and(|parent| leaves[parent.at()]) {
                let parent_id = match nearest_staying(session, entry.parent, &leaves) {
                    Some(parent) => encoded(&session.id(parent)),
                    None => b"null".to_vec(),
                };
                values.push(replace_link(&reader, ix, "parentId", parent_id)?);
            }
            if label_entries.binary_search(&ix).is_ok() {
                values.push(replace_link(&reader, ix, "label", b"null".to_vec())?);
            }
            if let Some(first) = new_first_kept(&reader, ix, &leaves)? {
                values.push(replace_link(
                    &reader,
                    ix,
                    "firstKeptEntryId",
                    encoded(&first),
                )?);
            }
        }

        let leaf = nearest_staying(session, session.leaf, &leaves);
        let leaf_by_default = leaf_without(&reader, &leaves)?;
        let mut chain = Chain::under(session, leaf, fresh);
        if leaf != leaf_by_default && !entries.is_empty() {
            let id = chain.parent.clone();
            chain.add(mark(id.as_ref(), id.as_ref(), &[]));
        }
        Ok(Prune {
            name,
            entries,
            branches: 0,
            values,
            mark: chain.change.entries.pop(),
        })
    }
}

/// Returns an entry or its nearest ancestor that stays.
fn nearest_staying(session: &Session, place: Position, leaves: &[bool]) -> Position {
    session.upwards(place).find(|ix| !leaves[ix.at()])
}

/// Returns the replacement of a member of an entry that names an entry, or is its label. `note` is
/// the JSON of its new value.
///
/// # Errors
/// If the line cannot be read, or has no such member.
fn replace_link(
    reader: &EntryReader,
    entry: EntryIx,
    field: &str,
    note: Vec<u8>,
) -> io::Result<Value> {
    let line = reader.session().entry(entry).span;
    let member = reader.with_stored(line, |stored| {
        let value = Raw::checked(stored.trim_ascii()).get(field)?;
        Some(place_of(value.bytes(), stored, line))
    })?;
    let span = member.ok_or(io::ErrorKind::InvalidData)?;
    Ok(Value {
        entry,
        field: field.to_owned(),
        kind: ValueKind::Link,
        span,
        note,
    })
}

/// If a compaction that stays names an entry that leaves as the first that it keeps, returns the id
/// of the next one on the path that stays: no longer in effect, it keeps what is left of that part.
fn new_first_kept(
    reader: &EntryReader,
    ix: EntryIx,
    leaves: &[bool],
) -> io::Result<Option<Text<'static>>> {
    let session = reader.session();
    if session.entry(ix).kind != Kind::Compaction {
        return Ok(None);
    }
    let Some(kept) = named(reader, ix, "firstKeptEntryId")? else {
        return Ok(None);
    };
    if !leaves[kept.at()] {
        return Ok(None);
    }
    let first = first_staying(session, ix, kept, |ix| !leaves[ix.at()]);
    Ok(first.map(|first| session.id(first).into_owned()))
}

/// Returns the leaf that an agent would find without the entries that leave: the last entry with an
/// id, or the target of a leaf record there. A target that leaves is none.
fn leaf_without(reader: &EntryReader, leaves: &[bool]) -> io::Result<Position> {
    let session = reader.session();
    let last = session
        .all()
        .rev()
        .find(|ix| !leaves[ix.at()] && !session.entry(*ix).id.is_empty());
    let Some(last) = last else {
        return Ok(None);
    };
    if session.entry(last).kind != Kind::Leaf {
        return Ok(Some(last));
    }
    let target = named(reader, last, "targetId")?;
    Ok(target.filter(|ix| !leaves[ix.at()]))
}
