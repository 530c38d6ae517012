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
use crate::session::collected::LabelChange;
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
        let is_grave = |kind| {
            matches!(
                kind,
                FindingKind::MissingId | FindingKind::DuplicateId | FindingKind::ParentCycle
            )
        };
        match session
            .problems
            .iter()
            .find(|problem| is_grave(problem.kind))
        {
            _ if session.format != Format::V3 => Err(Damaged::OldFormat),
            Some(problem) => Err(Damaged::Tree { line: problem.line }),
            None => Ok(()),
        }
    }
}

impl Prune {
    /// Returns the prune of the entries for which `leaves` is set, and of their labels. The leaf
    /// becomes the nearest ancestor that stays.
    pub fn entries_of(
        name: &'static str,
        session: &Session,
        source: &dyn ReadAt,
        leaves: Vec<bool>,
        fresh: &mut IdSource,
    ) -> io::Result<Prune> {
        let reader = EntryReader::new(session, source);
        let entries: Vec<_> = session.all().filter(|ix| leaves[ix.at()]).collect();
        let stays = |ix: &EntryIx| !leaves[ix.at()];
        let above = |place: Position| session.upwards(place).find(stays);
        let leaves_with = |change: &&LabelChange| {
            let target = session.find(&session.text(change.target));
            !change.name.is_empty() && target.is_some_and(|target| leaves[target.at()])
        };
        let cleared: Vec<_> = session
            .collected
            .labels
            .iter()
            .filter(leaves_with)
            .map(|change| change.entry)
            .collect();
        let mut values = Vec::new();
        let mut link = |entry, field: &str, note: Vec<u8>| -> io::Result<()> {
            let line = session.entry(entry).span;
            let place = |stored: &[u8]| {
                let value = Raw::checked(stored.trim_ascii()).get(field)?;
                Some(place_of(value.bytes(), stored, line))
            };
            let (kind, field) = (ValueKind::Link, field.to_owned());
            let span = reader
                .with_stored(line, place)?
                .ok_or(io::ErrorKind::InvalidData)?;
            values.push(Value {
                entry,
                field,
                kind,
                span,
                note,
            });
            Ok(())
        };
        for ix in session.all().filter(stays) {
            let entry = session.entry(ix);
            if entry.parent.is_some_and(|parent| leaves[parent.at()]) {
                let parent = above(entry.parent).map(|parent| session.id(parent));
                link(
                    ix,
                    "parentId",
                    parent.map_or_else(|| b"null".to_vec(), |parent| encoded(&parent)),
                )?;
            }
            if cleared.binary_search(&ix).is_ok() {
                link(ix, "label", b"null".to_vec())?;
            }
            if let Some(first) = first_kept(&reader, ix, &leaves)? {
                link(ix, "firstKeptEntryId", encoded(&first))?;
            }
        }
        let leaf = above(session.leaf);
        let mut chain = Chain::under(session, leaf, fresh);
        if leaf != leaf_without(&reader, &leaves)? && !entries.is_empty() {
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

/// If a compaction that stays names an entry that leaves as the first that it keeps, returns the id
/// of the next one on the path that stays: no longer in effect, it keeps what is left of that part.
fn first_kept(
    reader: &EntryReader,
    ix: EntryIx,
    leaves: &[bool],
) -> io::Result<Option<Text<'static>>> {
    let session = reader.session();
    if session.entry(ix).kind != Kind::Compaction {
        return Ok(None);
    }
    let stays = |ix: EntryIx| !leaves[ix.at()];
    let kept = named(reader, ix, "firstKeptEntryId")?.filter(|&kept| !stays(kept));
    let first = kept.and_then(|kept| first_staying(session, ix, kept, stays));
    Ok(first.map(|first| session.id(first).into_owned()))
}

/// Returns the leaf of the session without the entries that leave.
fn leaf_without(reader: &EntryReader, leaves: &[bool]) -> io::Result<Position> {
    let session = reader.session();
    let last = session
        .all()
        .rev()
        .find(|ix| !leaves[ix.at()] && !session.entry(*ix).id.is_empty());
    let Some(last) = last else { return Ok(None) };
    if session.entry(last).kind != Kind::Leaf {
        return Ok(Some(last));
    }
    Ok(named(reader, last, "targetId")?.filter(|ix| !leaves[ix.at()]))
}
