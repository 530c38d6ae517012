//! A new session file from a path of another (pi's `createBranchedSession`), with what hangs below its
//! end or without, or from all of it (`forkFrom`).
//!
//! Labels are entries of the tree, so others may hang under them. They are taken out and made anew
//! at the end; their children are re-chained and a `firstKeptEntryId` that names one moves to the
//! entry behind it. oh-my-pi does not re-chain and loses what hangs under a label; pisess follows pi
//! in both dialects.

use super::switch::mark;
use super::{IdSource, label};
use crate::core::bodies::Bodies;
use crate::core::entry::{EntryIx, Kind};
use crate::core::json::Raw;
use crate::core::json::write::Object;
use crate::core::labels::Labels;
use crate::core::omp::title::title_line;
use crate::core::plan::{Entries, NewSession, Piece};
use crate::core::reference::Position;
use crate::core::session::Session;
use crate::core::text::Text;
use crate::core::tree::Tree;
use std::collections::{HashMap, HashSet};
use std::io;

/// What a fork is made with.
#[derive(Clone, Debug)]
pub struct ForkOptions<'a> {
    /// The new session's id.
    pub session_id: String,
    /// The source as its `parentSession` will name it: an absolute path, unless it came by a pipe.
    pub source: Option<Text<'a>>,
    /// The folder of the new session; the source's where this is `None`.
    pub cwd: Option<Text<'a>>,
}

/// The path to `end`.
///
/// # Errors
/// Where the source cannot be read.
pub fn fork(
    session: &Session,
    bodies: &dyn Bodies,
    end: Position,
    options: &ForkOptions,
    fresh: &mut IdSource,
) -> io::Result<NewSession> {
    let path = session.path(end);
    let pieces = without_labels(session, bodies, &path)?;
    Ok(finished(session, pieces, end, options, fresh))
}

/// The path to `top` and all that hangs below it, in the order of the file. The leaf is the source's,
/// if it is in there, else the last entry of the file that is.
///
/// # Errors
/// Where the source cannot be read.
pub fn fork_subtree(
    session: &Session,
    bodies: &dyn Bodies,
    top: Position,
    options: &ForkOptions,
    fresh: &mut IdSource,
) -> io::Result<NewSession> {
    let subtree = subtree(&Tree::new(session), top);
    let in_subtree = session.leaf.filter(|leaf| subtree.contains(leaf));
    let last = || subtree.iter().copied().filter(|&ix| !is_left_out(session.entry(ix).kind)).max();
    let leaf = in_subtree.or_else(last).or(top);
    let above = top.and_then(|top| session.entry(top).parent);
    let entries: Vec<_> = session.path(above).into_iter().chain(subtree.iter().copied()).collect();
    let mut pieces = without_labels(session, bodies, &entries)?;
    pieces.sort_by_key(|&(ix, _)| ix);
    Ok(finished(session, pieces, leaf, options, fresh))
}

/// An entry and all below it, parents first; all entries for the root.
fn subtree(tree: &Tree, top: Position) -> Vec<EntryIx> {
    let mut waiting = top.map_or_else(|| tree.roots().to_vec(), |top| vec![top]);
    let mut entries = Vec::new();
    while let Some(ix) = waiting.pop() {
        entries.push(ix);
        waiting.extend_from_slice(tree.children(ix));
    }
    entries
}

/// The session of these entries, with the labels in effect on them made anew under its leaf: `leaf`,
/// or what is above it and not left out. Where nothing else does, a mark says that this is the leaf.
fn finished(
    session: &Session,
    copies: Vec<(EntryIx, Piece)>,
    leaf: Position,
    options: &ForkOptions,
    fresh: &mut IdSource,
) -> NewSession {
    let timestamp = fresh.timestamp();
    let leaf = session.upwards(leaf).find(|&ix| !is_left_out(session.entry(ix).kind));
    let leaf = leaf.map(|ix| session.id(ix).into_owned());
    let last = copies.last().map(|&(ix, _)| session.id(ix).into_owned());
    let kept: HashSet<_> = copies.iter().map(|&(ix, _)| ix).collect();
    let mut pieces: Vec<_> = copies.into_iter().map(|(_, piece)| piece).collect();
    let (mut end, mut has_labels) = (leaf.clone(), false);
    let labels = Labels::new(session);
    for (target, change) in labels.iter().filter(|(target, _)| kept.contains(target)) {
        let keeps_time = session.agent().keeps_label_times();
        let time = if keeps_time { session.text(change.timestamp).to_string() } else { timestamp.clone() };
        let (id, name) = (fresh.entry_id(session), session.text(change.name));
        let label = label::entry(id, end.as_ref(), &time, &session.id(target), Some(&name));
        end = Some(label.id.clone());
        has_labels = true;
        pieces.push(Piece::New(label));
    }
    if !has_labels && leaf != last {
        let mark = mark(last.as_ref(), leaf.as_ref(), fresh.entry_id(session), &timestamp);
        end = Some(mark.id.clone());
        pieces.push(Piece::New(mark));
    }
    NewSession {
        head: head(session, options, &timestamp),
        id: options.session_id.clone(),
        timestamp,
        leaf: end,
        entries: Entries::Some(pieces),
    }
}

/// Every entry and branch.
pub fn fork_all(session: &Session, options: &ForkOptions, fresh: &IdSource) -> NewSession {
    let timestamp = fresh.timestamp();
    NewSession {
        head: head(session, options, &timestamp),
        id: options.session_id.clone(),
        timestamp,
        leaf: session.leaf.map(|leaf| session.id(leaf).into_owned()),
        entries: Entries::All,
    }
}

/// Copies of the entries that are not left out, each under the nearest of them above it. Of `entries`
/// parents come before what hangs below them, and a whole branch before the next.
fn without_labels(
    session: &Session,
    bodies: &dyn Bodies,
    entries: &[EntryIx],
) -> io::Result<Vec<(EntryIx, Piece)>> {
    let mut copies = Vec::with_capacity(entries.len());
    let mut way = Way::default();
    for &ix in entries {
        let entry = session.entry(ix);
        way.go_to(ix, entry.parent);
        if is_left_out(entry.kind) {
            way.left_out.insert(ix, way.all.len() - 1);
            continue;
        }
        let parent = way.kept.last().copied();
        way.kept.push(ix);
        // A root may be written as `""`, or name a parent that is not in the file.
        let moved = entry.parent != parent || parent.is_none();
        let first_kept = match entry.kind {
            Kind::Compaction if !way.left_out.is_empty() => first_kept(session, bodies, ix, &way)?,
            _ => None,
        };
        let parent_id = parent.map(|parent| session.id(parent).into_owned());
        copies.push((ix, Piece::Copied { entry: ix, parent: moved.then_some(parent_id), first_kept }));
    }
    Ok(copies)
}

/// The way from the first of some entries to the one that is looked at.
#[derive(Default)]
struct Way {
    /// All entries on it, and how many of those above each are kept.
    all: Vec<(EntryIx, usize)>,
    /// Those that are kept.
    kept: Vec<EntryIx>,
    /// Where each that is left out stands in `all`, or stood when the way led there.
    left_out: HashMap<EntryIx, usize>,
}

impl Way {
    /// Back to the parent, and on to the entry.
    fn go_to(&mut self, ix: EntryIx, parent: Position) {
        while let Some(&(_, above)) = self.all.last().filter(|&&(last, _)| Some(last) != parent) {
            self.all.pop();
            self.kept.truncate(above);
        }
        self.all.push((ix, self.kept.len()));
    }

    /// The first entry behind one that is left out, where that is on the way.
    fn behind(&self, ix: EntryIx) -> Position {
        let &(found, above) = self.all.get(*self.left_out.get(&ix)?)?;
        self.kept.get(above).copied().filter(|_| found == ix)
    }
}

/// Labels are made anew; a record of the leaf would decide the leaf of the new file.
fn is_left_out(kind: Kind) -> bool {
    matches!(kind, Kind::Label | Kind::Leaf)
}

/// The entry behind the label that a compaction keeps from, where it keeps from one.
fn first_kept(
    session: &Session,
    bodies: &dyn Bodies,
    ix: EntryIx,
    way: &Way,
) -> io::Result<Option<Text<'static>>> {
    let line = bodies.line(ix)?;
    let kept = Raw::checked(line.trim_ascii()).get_text("firstKeptEntryId");
    let behind = kept.and_then(|kept| session.find(&kept)).and_then(|kept| way.behind(kept));
    Ok(behind.map(|ix| session.id(ix).into_owned()))
}

/// The header, in the agent's key order; in oh-my-pi's files behind the title line, which that agent
/// gives to every file it makes and by which its files are known.
fn head(session: &Session, options: &ForkOptions, timestamp: &str) -> Vec<Vec<u8>> {
    let old = Raw::checked(&session.header.bytes);
    let slot = session.title_slot.as_deref().map(|slot| Raw::checked(slot.trim_ascii()));
    // The title line wins over the header, an empty title too.
    let title = slot.map_or(old.get("title"), |slot| slot.get("title")).filter(|title| title.is_truthy());
    // The agent takes no title line with another source.
    let is_source = |source: &Raw| title.is_some() && (source.is("auto") || source.is("user"));
    let source = slot.map_or(old.get("titleSource"), |slot| slot.get("source")).filter(is_source);
    let cwd = options.cwd.as_ref().or(session.header.cwd.as_ref());
    let has_title = session.agent().has_title_line();
    let header = Object::new()
        .str("type", "session")
        .number("version", 3.0)
        .str("id", &options.session_id)
        .str("timestamp", timestamp)
        .with(cwd, |header, cwd| header.text("cwd", cwd))
        .with(title.filter(|_| has_title), |header, title| header.raw("title", title))
        .with(source.filter(|_| has_title), |header, source| header.raw("titleSource", source))
        .with(options.source.as_ref(), |header, source| header.text("parentSession", source))
        .with(old.get_some("additionalDirectories").filter(|_| has_title), |header, folders| {
            header.raw("additionalDirectories", folders)
        })
        .finish();
    let line = has_title.then(|| title_line(title, source, &Text::from(timestamp)));
    line.into_iter().chain([header]).collect()
}
