//! Entries to prune: their lines leave the session, and what refers to them is linked anew.
//!
//! ```text
//! a ─ b ─ c ─ d      b and c are pruned:     a ─ d
//! ```
//!
//! A label of an entry that leaves, set by an entry that stays, is cleared: the entry itself may determine where the agent
//! compacts next. What is not an entry alone on its line stays where it is.

use super::side::{self, Operation};
use super::{invalid, some_id};
use crate::ops::IdSource;
use crate::ops::plan::NewEntry;
use crate::ops::switch::mark;
use crate::session::collected::LabelChange;
use crate::session::entry::{EntryIx, Kind, LineNo};
use crate::session::read::entry_reader::{EntryReader, FileReader, named};
use crate::session::read::line_chunks::{Line, each_line};
use crate::session::reference::Position;
use crate::session::{Format, ProblemKind, Session};
use pisess_json::Raw;
use pisess_json::edit::Edit;
use pisess_json::string::encoded;
use pisess_json::text::Text;
use pisess_store::ReadAt;
use std::io::{self, Write};

/// The entries to prune from a session.
#[derive(Clone, Debug)]
pub struct Removal {
    /// The name of the operation.
    name: &'static str,
    /// The entries, in file order.
    pub entries: Vec<EntryIx>,
    /// The number of branches that end in them.
    pub branches: usize,
    /// The values of other entries that change, in file order.
    links: Vec<Link>,
    /// The mark to append, if the leaf would not be where it should be.
    pub mark: Option<NewEntry>,
}

/// A value that names another entry instead.
#[derive(Clone, Debug)]
struct Link {
    entry: EntryIx,
    field: &'static str,
    value: Vec<u8>,
}

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
    /// An entry shares its line with something else.
    #[error("the entry on line {} is not alone on it", line.0)]
    Fused {
        /// The line.
        line: LineNo,
    },
}

impl Damaged {
    /// Fails if entries cannot be removed from a session, because their ids are not certain.
    pub fn check(session: &Session) -> Result<(), Damaged> {
        let is_grave =
            |kind| matches!(kind, ProblemKind::NoId | ProblemKind::DuplicateId | ProblemKind::Cycle);
        match session.problems.iter().find(|problem| is_grave(problem.kind)) {
            _ if session.format != Format::V3 => Err(Damaged::OldFormat),
            Some(problem) => Err(Damaged::Tree { line: problem.line }),
            None => Ok(()),
        }
    }
}

/// Returns for each entry whether it is alone on its line.
pub(super) fn alone(session: &Session) -> Vec<bool> {
    let entries = &session.entries;
    let mut alone = vec![true; entries.len()];
    for at in 1..entries.len() {
        if entries[at].line == entries[at - 1].line {
            (alone[at - 1], alone[at]) = (false, false);
        }
    }
    for problem in &session.problems {
        let is_other = matches!(
            problem.kind,
            ProblemKind::Malformed
                | ProblemKind::TornTail
                | ProblemKind::Fused
                | ProblemKind::NotAnObject
                | ProblemKind::SecondHeader
                | ProblemKind::ByteOrderMark
        );
        if let Some(ix) = session.entry_on(problem.line).filter(|_| is_other) {
            alone[ix.at()] = false;
        }
    }
    alone
}

impl Removal {
    /// Returns the number of the entries that are bookkeeping.
    pub fn notes(&self, session: &Session) -> usize {
        self.entries.iter().filter(|&&ix| session.entry(ix).kind.is_bookkeeping()).count()
    }

    /// Returns the removal of the entries for which `leaves` is set, and of their labels. The leaf becomes the
    /// nearest ancestor that stays.
    pub fn new(
        name: &'static str,
        session: &Session,
        source: &dyn ReadAt,
        leaves: Vec<bool>,
        fresh: &mut IdSource,
    ) -> io::Result<Removal> {
        let bodies = FileReader::new(session, source);
        let entries: Vec<_> = session.all().filter(|ix| leaves[ix.at()]).collect();
        let stays = |ix: &EntryIx| !leaves[ix.at()];
        let above = |place: Position| session.upwards(place).find(stays);
        let leaves_with = |change: &&LabelChange| {
            let target = session.find(&session.text(change.target));
            !change.name.is_empty() && target.is_some_and(|target| leaves[target.at()])
        };
        let cleared: Vec<_> =
            session.collected.labels.iter().filter(leaves_with).map(|change| change.entry).collect();
        let mut links = Vec::new();
        for ix in session.all().filter(stays) {
            let entry = session.entry(ix);
            if entry.parent.is_some_and(|parent| leaves[parent.at()]) {
                let parent = above(entry.parent).map(|parent| session.id(parent));
                let value = parent.map_or_else(|| b"null".to_vec(), |parent| encoded(&parent));
                links.push(Link { entry: ix, field: "parentId", value });
            }
            if cleared.binary_search(&ix).is_ok() {
                links.push(Link { entry: ix, field: "label", value: b"null".to_vec() });
            }
            if let Some(first) = first_kept(&bodies, ix, &leaves)? {
                links.push(Link { entry: ix, field: "firstKeptEntryId", value: encoded(&first) });
            }
        }
        let leaf = above(session.leaf);
        let mark = (leaf != leaf_without(&bodies, &leaves)?).then(|| {
            let id = leaf.map(|leaf| session.id(leaf));
            mark(id.as_ref(), id.as_ref(), fresh.entry_id(session), &fresh.timestamp())
        });
        Ok(Removal { name, entries, branches: 0, links, mark: mark.filter(|_| leaves.contains(&true)) })
    }

    /// Returns the number of bytes by which the session becomes shorter.
    pub(super) fn saved(&self, session: &Session) -> usize {
        let removed: u64 = self.entries.iter().map(|&ix| session.entry(ix).span.len + 1).sum();
        let added = self.mark.as_ref().map_or(0, |mark| mark.line.len() + 1);
        (removed as usize).saturating_sub(added)
    }

    pub(super) fn operation(&self) -> Operation {
        Operation {
            name: self.name.to_owned(),
            records: self.entries.len() + self.links.len() + usize::from(self.mark.is_some()),
            entries: self.entries.len(),
            branches: self.branches,
        }
    }

    /// Calls `see` with each line of the session, its number, the entry on it if that leaves, and the links of the entry.
    fn each_line(
        &self,
        session: &Session,
        source: &dyn ReadAt,
        mut see: impl FnMut(LineNo, Line, Option<EntryIx>, &[Link]) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut leaving = self.entries.iter().copied().peekable();
        let mut links = &self.links[..];
        let mut number = 0;
        each_line(source, |line| {
            number += 1;
            let is_here = |ix: EntryIx| session.entry(ix).line.0 == number;
            let leaves = leaving.next_if(|&ix| is_here(ix));
            let count = links.iter().take_while(|link| is_here(link.entry)).count();
            let (here, rest) = links.split_at(count);
            links = rest;
            see(LineNo(number), line, leaves, here)
        })
    }

    /// Writes the records of the pruned file.
    pub(super) fn write_records(
        &self,
        session: &Session,
        source: &dyn ReadAt,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let mut after = (session.header.line, None);
        let (mut last, mut ends) = (LineNo(0), true);
        self.each_line(session, source, |number, line, leaves, links| {
            (last, ends) = (number, line.newline);
            if let Some(ix) = leaves {
                check_space(line.bytes)?;
                let members = side::record(&session.id(ix), number)
                    .str("kind", side::ENTRY)
                    .number("bytes", line.bytes.len() as f64)
                    .with((!line.newline).then_some(false), |object, newline| object.bool("newline", newline))
                    .text_or_null("after", after.1.as_ref())
                    .number("distance", f64::from(number.0 - after.0.0));
                return side::write_record(members, line.bytes, out);
            }
            if let Some(ix) = session.entry_on(number) {
                after = (number, some_id(session.id(ix)));
            }
            links.iter().try_for_each(|link| {
                let value = link.old(line.bytes)?;
                let members = side::record(&session.id(link.entry), number)
                    .str("field", link.field)
                    .str("kind", side::LINK)
                    .number("bytes", value.bytes().len() as f64)
                    .json("note", &link.value);
                side::write_record(members, value.bytes(), out)
            })
        })?;
        let Some(mark) = &self.mark else { return Ok(()) };
        let members = side::record(&mark.id, LineNo(last.0 + 1))
            .str("kind", side::MARK)
            .number("bytes", mark.line.len() as f64)
            .with((!ends).then_some(false), |object, newline| object.bool("newline", newline));
        side::write_record(members, &mark.line, out)
    }

    /// Writes the session without the entries.
    pub(super) fn write_session(
        &self,
        session: &Session,
        source: &dyn ReadAt,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let mut ends = true;
        self.each_line(session, source, |_, line, leaves, links| {
            if leaves.is_some() {
                return Ok(());
            }
            ends = line.newline;
            if links.is_empty() {
                out.write_all(line.bytes)?;
            } else {
                let mut edit = Edit::new(line.bytes).map_err(invalid)?;
                for link in links {
                    edit.replace(link.old(line.bytes)?, &link.value);
                }
                out.write_all(&edit.finish())?;
            }
            out.write_all(if line.newline { b"\n" } else { b"" })
        })?;
        let Some(mark) = &self.mark else { return Ok(()) };
        out.write_all(if ends { b"" } else { b"\n" })?;
        out.write_all(&mark.line)?;
        out.write_all(b"\n")
    }
}

impl Link {
    /// Returns the value that it changes in a line.
    fn old<'l>(&self, line: &'l [u8]) -> io::Result<Raw<'l>> {
        let root = Raw::parse(line.trim_ascii()).map_err(invalid)?;
        root.get(self.field).ok_or_else(|| invalid(pisess_json::Malformed { at: 0 }))
    }
}

/// Fails if there is white space around an entry that JSON does not allow: the record would not be JSON.
fn check_space(line: &[u8]) -> io::Result<()> {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r');
    let start = line.len() - line.trim_ascii_start().len();
    let end = line.trim_ascii_end().len();
    if line[..start].iter().chain(&line[end..]).all(is_space) {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidData, "an entry to be pruned is not alone on its line"))
}

/// If a compaction that stays names an entry that leaves as the first that it keeps, returns the id of the next one on
/// the path that stays: no longer in effect, it keeps what is left of that part.
fn first_kept(bodies: &dyn EntryReader, ix: EntryIx, leaves: &[bool]) -> io::Result<Option<Text<'static>>> {
    let session = bodies.session();
    if session.entry(ix).kind != Kind::Compaction {
        return Ok(None);
    }
    let kept = named(bodies, ix, "firstKeptEntryId")?;
    let Some(kept) = kept.filter(|kept| leaves[kept.at()]) else { return Ok(None) };
    let mut next = ix;
    for above in session.upwards(Some(ix)) {
        if above == kept {
            return Ok(Some(session.id(next).into_owned()));
        }
        next = if leaves[above.at()] { next } else { above };
    }
    Ok(None)
}

/// Returns the leaf of the session without the entries that leave.
fn leaf_without(bodies: &dyn EntryReader, leaves: &[bool]) -> io::Result<Position> {
    let session = bodies.session();
    let last = session.all().rev().find(|ix| !leaves[ix.at()] && !session.entry(*ix).id.is_empty());
    let Some(last) = last else { return Ok(None) };
    if session.entry(last).kind != Kind::Leaf {
        return Ok(Some(last));
    }
    Ok(named(bodies, last, "targetId")?.filter(|ix| !leaves[ix.at()]))
}
