//! Creates a new session file from a path of another (pi's `createBranchedSession`), with or
//! without the descendants of its end, or from all of it (`forkFrom`).
//!
//! Labels are entries of the tree, so they can have children. They are left out and written again
//! at the end; their children become children of the nearest ancestor that is copied, and a
//! `firstKeptEntryId` that refers to a label moves to the entry after it. oh-my-pi does not do this
//! and loses the entries after a label; pisess follows pi in both dialects.

use super::chain::Chain;
use super::switch::new_mark;
use super::{IdSource, find_upwards, first_staying};
use crate::agents::Agent;
use crate::agents::oh_my_pi::native;
use crate::agents::oh_my_pi::title::title_line;
use crate::ops::plan::{NewSession, NewSessionEntry};
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
    id_source: &mut IdSource,
) -> io::Result<NewSession> {
    let session = reader.session();
    let path = session.path(end);
    let copies = copy_without_labels(reader, &path, |_| true)?;
    Ok(finish_fork(session, copies, end, options, id_source))
}

/// Forks `top`, all its descendants and, unless they are left out, its ancestors, in file order.
/// The leaf is that of the source if it is `top` or a descendant, else the last of these in the
/// file. A compaction that keeps an ancestor that is left out keeps what is copied of its path.
pub fn fork_subtree(
    reader: &EntryReader,
    top: Position,
    ancestors: Ancestors,
    options: &ForkOptions,
    id_source: &mut IdSource,
) -> io::Result<NewSession> {
    let session = reader.session();
    let ancestry = Ancestry::new(session);
    let is_inside = |ix: EntryIx| top.is_none_or(|top| ancestry.is_ancestor_or_self(top, ix));
    let subtree: Vec<EntryIx> = session
        .entry_indexes()
        .filter(|&ix| is_inside(ix))
        .collect();

    let leaf = match session.leaf {
        Some(leaf) if is_inside(leaf) => Some(leaf),
        _ => {
            let mut from_last = subtree.iter().copied().rev();
            let last = from_last.find(|&ix| !is_left_out(session.entry(ix).kind));
            last.or(top)
        }
    };

    let mut copies = match ancestors {
        Ancestors::Kept => {
            let above = top.and_then(|top| session.entry(top).parent);
            let mut entries = session.path(above);
            entries.extend(&subtree);
            copy_without_labels(reader, &entries, |_| true)?
        }
        Ancestors::LeftOut => copy_without_labels(reader, &subtree, is_inside)?,
    };
    copies.sort_by_key(|copy| copy.entry);
    Ok(finish_fork(session, copies, leaf, options, id_source))
}

/// An entry, and its copy in the new session.
struct EntryCopy {
    entry: EntryIx,
    piece: NewSessionEntry,
}

/// Returns a session of these copies. The labels in effect are written again below `leaf`, or
/// below its nearest ancestor that is not left out. If there are no labels, and that entry is not
/// the last, a mark ([`super::switch`]) is appended below it: the last entry of a file is its leaf.
fn finish_fork(
    session: &Session,
    copies: Vec<EntryCopy>,
    leaf: Position,
    options: &ForkOptions,
    id_source: &mut IdSource,
) -> NewSession {
    let timestamp = id_source.timestamp();
    let end = session
        .ancestors(leaf)
        .find(|&ix| !is_left_out(session.entry(ix).kind));
    let end_id = end.map(|ix| session.id(ix));
    let last_id = copies.last().map(|copy| session.id(copy.entry));

    let copied: HashSet<EntryIx> = copies.iter().map(|copy| copy.entry).collect();
    let mut chain = Chain::with_parent(session, end, id_source);
    let labels = Labels::new(session);
    for (target, change) in labels.iter() {
        if !copied.contains(&target) {
            continue;
        }
        let time = if session.agent().constants().keeps_label_times {
            Some(session.text(change.timestamp).to_string())
        } else {
            None
        };
        chain.add_label(
            &session.id(target),
            Some(&session.text(change.name)),
            time.as_deref(),
        );
    }
    if chain.change.is_empty() && end_id != last_id {
        chain.add_entry(new_mark(last_id.as_ref(), end_id.as_ref(), &[]));
    }

    let mut entries: Vec<NewSessionEntry> = copies.into_iter().map(|copy| copy.piece).collect();
    entries.extend(chain.change.entries.into_iter().map(NewSessionEntry::New));
    NewSession {
        head_lines: build_head(session, options, &timestamp),
        id: options.session_id.clone(),
        timestamp,
        leaf: chain.parent,
        entries: Some(entries),
    }
}

/// Forks every entry and branch.
pub fn fork_all(session: &Session, options: &ForkOptions, id_source: &IdSource) -> NewSession {
    let timestamp = id_source.timestamp();
    NewSession {
        head_lines: build_head(session, options, &timestamp),
        id: options.session_id.clone(),
        timestamp,
        leaf: session.leaf.map(|leaf| session.id(leaf).into_owned()),
        entries: None,
    }
}

/// Returns copies of the entries that are not left out, each under its nearest ancestor that is
/// copied. `is_copied` is false for ancestors of the entries that are not among them.
fn copy_without_labels(
    reader: &EntryReader,
    entries: &[EntryIx],
    is_copied: impl Fn(EntryIx) -> bool,
) -> io::Result<Vec<EntryCopy>> {
    let session = reader.session();
    let stays = |ix: EntryIx| is_copied(ix) && !is_left_out(session.entry(ix).kind);
    let all_stay = entries
        .iter()
        .all(|&ix| stays(ix) && session.entry(ix).parent.is_none_or(&is_copied));

    let mut copies = Vec::with_capacity(entries.len());
    let mut known_parents = HashMap::default();
    for &ix in entries {
        if !stays(ix) {
            continue;
        }
        let entry = session.entry(ix);
        let parent = find_upwards(session, entry.parent, &mut known_parents, stays);
        // A root may be stored with the parent `""`, or with one that is not in the file.
        let moves = entry.parent != parent || parent.is_none();
        let new_parent = if moves {
            Some(parent.map(|parent| session.id(parent).into_owned()))
        } else {
            None
        };

        let mut new_first_kept = None;
        // If all stay, the line need not be read.
        if entry.kind == Kind::Compaction
            && !all_stay
            && let Some(kept) = find_first_kept(reader, ix)?
            && !stays(kept)
            && let Some(first) = first_staying(session, ix, kept, stays)
        {
            new_first_kept = Some(session.id(first).into_owned());
        }

        let piece = NewSessionEntry::Copied {
            entry: ix,
            parent: new_parent,
            first_kept: new_first_kept,
            target_dialect: None,
            edit: None,
        };
        copies.push(EntryCopy { entry: ix, piece });
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
fn find_first_kept(reader: &EntryReader, ix: EntryIx) -> io::Result<Position> {
    reader.with_entry(ix, |line| {
        let kept = native::last_covered_id(line).or_else(|| line.get_text("firstKeptEntryId"))?;
        reader.session().find_entry(&kept)
    })
}

/// Returns the header, in the agent's key order. For oh-my-pi, a title line precedes it: every file
/// of that agent has one, and is recognized by it.
fn build_head(session: &Session, options: &ForkOptions, timestamp: &str) -> Vec<Vec<u8>> {
    let old = Raw::from_checked(&session.header.bytes);
    // The title line takes precedence over the header, even if its title is empty.
    let (title, source) = match &session.title_slot {
        Some(slot) => {
            let slot = Raw::from_checked(slot.trim_ascii());
            (slot.get("title"), slot.get("source"))
        }
        None => (old.get("title"), old.get("titleSource")),
    };
    let title = title.filter(|title| title.is_truthy());
    // The agent rejects a title line with another source.
    let is_known = |source: &Raw| source.is("auto") || source.is("user");
    let source = match title {
        Some(_) => source.filter(is_known),
        None => None,
    };
    build_head_for(session.agent(), title, source, old, options, timestamp)
}

/// Returns the header as an agent writes it. `title_source` is who set the title: `auto` or `user`.
/// `old` is the header of the source, if it has one.
pub fn build_head_for(
    agent: &dyn Agent,
    title: Option<Raw>,
    title_source: Option<Raw>,
    old: Raw,
    options: &ForkOptions,
    timestamp: &str,
) -> Vec<Vec<u8>> {
    let old_cwd = old.get_text("cwd");
    let cwd = options.cwd.as_ref().or(old_cwd.as_ref());
    let mut header = Object::new()
        .str("type", "session")
        .number("version", 3.0)
        .str("id", &options.session_id)
        .str("timestamp", timestamp)
        .with(cwd, |header, cwd| header.text("cwd", cwd));
    if agent.constants().has_title_line {
        header = header
            .with(title, |header, title| header.raw("title", title))
            .with(title_source, |header, source| {
                header.raw("titleSource", source)
            });
    }
    header = header.with(options.source.as_ref(), |header, source| {
        header.text("parentSession", source)
    });
    if !agent.constants().has_title_line {
        return vec![header.finish()];
    }

    header = header.with(old.get_some("additionalDirectories"), |header, folders| {
        header.raw("additionalDirectories", folders)
    });
    let title_line = title_line(title, title_source, &Text::from(timestamp));
    vec![title_line, header.finish()]
}
