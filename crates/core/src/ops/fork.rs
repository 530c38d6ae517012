//! Creates a new session file from a path of another (pi's `createBranchedSession`), with or
//! without the descendants of its end, or from all of it (`forkFrom`).
//!
//! Labels are entries of the tree, so they can have children. They are left out and written again
//! at the end; their children become children of the nearest ancestor that is copied, and a
//! `firstKeptEntryId` that refers to a label moves to the entry after it. oh-my-pi does not do this
//! and loses the entries after a label; pisess follows pi in both dialects.

use super::chain::Chain;
use super::switch::mark;
use super::{IdSource, first_staying, nearest};
use crate::agents::Agent;
use crate::agents::oh_my_pi::native;
use crate::agents::oh_my_pi::title::title_line;
use crate::ops::plan::{NewSession, Piece};
use crate::session::Session;
use crate::session::entry::{EntryIx, Kind};
use crate::session::labels::Labels;
use crate::session::read::entry_reader::EntryReader;
use crate::session::reference::Position;
use crate::session::tree::Ancestry;
use foldhash::{HashMap, HashSet};
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_json::write::Object;
use std::io;

/// The parameters of a fork.
#[derive(Clone, Debug)]
pub struct ForkOptions<'a> {
    /// The new session's id.
    pub session_id: String,
    /// The absolute path of the source, for `parentSession`; `None` if it is a pipe.
    pub source: Option<Text<'a>>,
    /// The working directory of the new session; the source's if `None`.
    pub cwd: Option<Text<'a>>,
}

/// What becomes of the ancestors of a subtree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ancestors {
    /// They are copied.
    Kept,
    /// They are left out: the top of the subtree becomes the root.
    LeftOut,
}

/// Forks the path to `end`.
pub fn fork(
    reader: &EntryReader,
    end: Position,
    options: &ForkOptions,
    fresh: &mut IdSource,
) -> io::Result<NewSession> {
    let session = reader.session();
    let path = session.path(end);
    let pieces = without_labels(reader, &path, |_| true)?;
    Ok(finished(session, pieces, end, options, fresh))
}

/// Forks `top`, all its descendants and, unless they are left out, its ancestors, in file order.
/// The leaf is that of the source if it is `top` or a descendant, else the last of these in the
/// file. A compaction that keeps an ancestor that is left out keeps what is copied of its path.
pub fn fork_subtree(
    reader: &EntryReader,
    top: Position,
    ancestors: Ancestors,
    options: &ForkOptions,
    fresh: &mut IdSource,
) -> io::Result<NewSession> {
    let session = reader.session();
    let ancestry = Ancestry::new(session);
    let is_inside = |ix: EntryIx| top.is_none_or(|top| ancestry.is_above(top, ix));
    let inside: Vec<_> = session.all().filter(|&ix| is_inside(ix)).collect();
    let leaf_inside = session.leaf.filter(|&leaf| is_inside(leaf));
    let last = || {
        inside
            .iter()
            .copied()
            .rfind(|&ix| !is_left_out(session.entry(ix).kind))
    };
    let leaf = leaf_inside.or_else(last).or(top);
    let above = top.and_then(|top| session.entry(top).parent);
    let mut pieces = match ancestors {
        Ancestors::Kept => {
            let mut entries = session.path(above);
            entries.extend(&inside);
            without_labels(reader, &entries, |_| true)?
        }
        Ancestors::LeftOut => without_labels(reader, &inside, is_inside)?,
    };
    pieces.sort_by_key(|&(ix, _)| ix);
    Ok(finished(session, pieces, leaf, options, fresh))
}

/// Returns a session of these entries. The labels in effect are written again below `leaf`, or
/// below its nearest ancestor that is not left out. If there are no labels, and that entry is not
/// the last, a mark ([`super::switch`]) is appended below it.
fn finished(
    session: &Session,
    copies: Vec<(EntryIx, Piece)>,
    leaf: Position,
    options: &ForkOptions,
    fresh: &mut IdSource,
) -> NewSession {
    let timestamp = fresh.timestamp();
    let end = session
        .upwards(leaf)
        .find(|&ix| !is_left_out(session.entry(ix).kind));
    let end_id = end.map(|ix| session.id(ix));
    let last = copies.last().map(|&(ix, _)| session.id(ix));
    let kept: HashSet<_> = copies.iter().map(|&(ix, _)| ix).collect();
    let mut chain = Chain::under(session, end, fresh);
    let labels = Labels::new(session);
    for (target, change) in labels.iter().filter(|(target, _)| kept.contains(target)) {
        let time = session
            .agent()
            .keeps_label_times
            .then(|| session.text(change.timestamp).to_string());
        chain.label(
            &session.id(target),
            Some(&session.text(change.name)),
            time.as_deref(),
        );
    }
    if chain.change.is_empty() && end_id != last {
        chain.add(mark(last.as_ref(), end_id.as_ref(), &[]));
    }
    let copies = copies.into_iter().map(|(_, piece)| piece);
    NewSession {
        head: head(session, options, &timestamp),
        id: options.session_id.clone(),
        timestamp,
        leaf: chain.parent,
        entries: Some(
            copies
                .chain(chain.change.entries.into_iter().map(Piece::New))
                .collect(),
        ),
    }
}

/// Forks every entry and branch.
pub fn fork_all(session: &Session, options: &ForkOptions, fresh: &IdSource) -> NewSession {
    let timestamp = fresh.timestamp();
    NewSession {
        head: head(session, options, &timestamp),
        id: options.session_id.clone(),
        timestamp,
        leaf: session.leaf.map(|leaf| session.id(leaf).into_owned()),
        entries: None,
    }
}

/// Returns copies of the entries that are not left out, each under its nearest ancestor that is
/// copied. `is_copied` is false for ancestors of the entries that are not among them.
fn without_labels(
    reader: &EntryReader,
    entries: &[EntryIx],
    is_copied: impl Fn(EntryIx) -> bool,
) -> io::Result<Vec<(EntryIx, Piece)>> {
    let session = reader.session();
    let stays = |ix: EntryIx| is_copied(ix) && !is_left_out(session.entry(ix).kind);
    let id = |ix: EntryIx| session.id(ix).into_owned();
    let is_whole = |&ix: &EntryIx| stays(ix) && session.entry(ix).parent.is_none_or(&is_copied);
    let all_stay = entries.iter().all(is_whole);
    let (mut copies, mut parents) = (Vec::with_capacity(entries.len()), HashMap::default());
    for ix in entries.iter().copied().filter(|&ix| stays(ix)) {
        let entry = session.entry(ix);
        let parent = nearest(session, entry.parent, &mut parents, stays);
        // A root may be stored with the parent `""`, or with one that is not in the file.
        let moved = entry.parent != parent || parent.is_none();
        let is_read = entry.kind == Kind::Compaction && !all_stay;
        let kept = if is_read {
            first_kept(reader, ix)?
        } else {
            None
        };
        let left_out = kept.filter(|&kept| !stays(kept));
        let first_kept = left_out
            .and_then(|kept| first_staying(session, ix, kept, stays))
            .map(id);
        let parent = moved.then_some(parent.map(id));
        copies.push((
            ix,
            Piece::Copied {
                entry: ix,
                parent,
                first_kept,
                to: None,
                edit: None,
            },
        ));
    }
    Ok(copies)
}

/// Whether entries of this kind are left out: labels are written again, and a leaf record would
/// determine the leaf of the new file.
fn is_left_out(kind: Kind) -> bool {
    matches!(kind, Kind::Label | Kind::Leaf)
}

/// Returns the first kept entry of a compaction; of a native snapshot, the entry before it, which
/// it names.
fn first_kept(reader: &EntryReader, ix: EntryIx) -> io::Result<Position> {
    reader.with_entry(ix, |line| {
        let kept = native::through(line).or_else(|| line.get_text("firstKeptEntryId"));
        kept.and_then(|kept| reader.session().find(&kept))
    })
}

/// Returns the header, in the agent's key order. For oh-my-pi, a title line precedes it: every file
/// of that agent has one, and is recognized by it.
fn head(session: &Session, options: &ForkOptions, timestamp: &str) -> Vec<Vec<u8>> {
    let old = Raw::checked(&session.header.bytes);
    let slot = session
        .title_slot
        .as_deref()
        .map(|slot| Raw::checked(slot.trim_ascii()));
    // The title line takes precedence over the header, even if its title is empty.
    let title = slot
        .map_or(old.get("title"), |slot| slot.get("title"))
        .filter(|title| title.is_truthy());
    // The agent rejects a title line with another source.
    let is_source = |source: &Raw| title.is_some() && (source.is("auto") || source.is("user"));
    let source = slot
        .map_or(old.get("titleSource"), |slot| slot.get("source"))
        .filter(is_source);
    head_for(session.agent(), title, source, old, options, timestamp)
}

/// Returns the header as an agent writes it. `title_source` is who set the title: `auto` or `user`.
/// `old` is the header of the source, if it has one.
pub fn head_for(
    agent: &Agent,
    title: Option<Raw>,
    title_source: Option<Raw>,
    old: Raw,
    options: &ForkOptions,
    timestamp: &str,
) -> Vec<Vec<u8>> {
    let old_cwd = old.get_text("cwd");
    let cwd = options.cwd.as_ref().or(old_cwd.as_ref());
    let has_title = agent.has_title_line;
    let header = Object::new()
        .str("type", "session")
        .number("version", 3.0)
        .str("id", &options.session_id)
        .str("timestamp", timestamp)
        .with(cwd, |header, cwd| header.text("cwd", cwd))
        .with(title.filter(|_| has_title), |header, title| {
            header.raw("title", title)
        })
        .with(title_source.filter(|_| has_title), |header, source| {
            header.raw("titleSource", source)
        })
        .with(options.source.as_ref(), |header, source| {
            header.text("parentSession", source)
        })
        .with(
            old.get_some("additionalDirectories").filter(|_| has_title),
            |header, folders| header.raw("additionalDirectories", folders),
        )
        .finish();
    let line = has_title.then(|| title_line(title, title_source, &Text::from(timestamp)));
    line.into_iter().chain([header]).collect()
}
