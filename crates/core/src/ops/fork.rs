//! Builds a new session from another one: from a path (pi's `createBranchedSession`), from a
//! subtree, or from the whole file (`forkFrom`).
//!
//! Labels are entries of the tree, so they can have children. A fork leaves labels out, and writes
//! those in effect again at the end. The children of a label become children of the nearest copied
//! ancestor, and a `firstKeptEntryId` that refers to a label is changed to the entry after it.
//! oh-my-pi does not do this, and loses the entries after a label; pisess follows pi for both
//! agents.

use super::chain::Chain;
use super::switch::new_mark;
use super::{IdSource, UpwardSearch, first_remaining_kept};
use crate::agents::Agent;
use crate::agents::oh_my_pi::native;
use crate::agents::oh_my_pi::title::title_line;
use crate::ops::plan::{CopyParent, NewSession, NewSessionEntry};
use crate::session::blobs::BlobStore;
use crate::session::entry::{EntryIx, Kind, Role};
use crate::session::labels::Labels;
use crate::session::read::entry_reader::EntryReader;
use crate::session::reference::Position;
use crate::session::tree::Ancestry;
use crate::session::{Format, Session};
use foldhash::HashSet;
use pisess_json::Raw;
use pisess_json::string::encode_to_vec;
use pisess_json::text::Text;
use pisess_json::write::Object;
use std::io;

/// The parameters of a fork.
#[derive(Clone, Debug)]
pub struct ForkOptions<'a> {
    /// The new session's id.
    pub session_id: String,
    /// The absolute path of the source, which becomes `parentSession`; `None` if the source is a
    /// pipe.
    pub source: Option<Text<'a>>,
    /// The working directory of the new session. If `None`, that of the source is kept.
    pub cwd: Option<Text<'a>>,
    /// The name of the new session, as its agent stores names. If `None`, that of the source is
    /// kept.
    pub name: Option<Text<'a>>,
}

/// Whether a fork of a subtree includes the ancestors of its top.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ancestors {
    /// The ancestors are copied.
    Kept,
    /// The ancestors are left out, and the top of the subtree becomes a root.
    LeftOut,
}

/// Returns a new session with the entries on the path to `end`. Leaf records are left out, and so
/// are labels. The labels in effect for these entries are written again at the end.
pub fn fork(
    reader: &EntryReader,
    end: Position,
    options: &ForkOptions,
    id_source: &mut IdSource,
) -> io::Result<NewSession> {
    let session = reader.session();
    let path = session.path(end.entry());
    let copies = copy_without_labels(reader, &path, |_| true)?;
    Ok(finish_fork(
        session,
        copies,
        end.entry(),
        options,
        id_source,
    ))
}

/// Returns a new session with the entry `top` and its descendants, in file order. If `top` is the
/// root, it has all entries. `ancestors` decides whether the ancestors of `top` are copied, too.
///
/// The new leaf is the leaf of the source if this is in the subtree, or else the last copied entry
/// of the subtree. If the entry from which a compaction keeps the context is not copied, the
/// compaction keeps the copied part of its path.
pub fn fork_subtree(
    reader: &EntryReader,
    top: Position,
    ancestors: Ancestors,
    options: &ForkOptions,
    id_source: &mut IdSource,
) -> io::Result<NewSession> {
    let session = reader.session();
    let ancestry = Ancestry::new(session);
    let is_in_subtree = |ix: EntryIx| match top {
        Position::Root => true,
        Position::Entry(top) => ancestry.is_ancestor_or_self(top, ix),
    };
    let subtree: Vec<EntryIx> = session
        .entry_indexes()
        .filter(|&ix| is_in_subtree(ix))
        .collect();

    let new_leaf = match session.leaf {
        Some(leaf) if is_in_subtree(leaf) => Some(leaf),
        _ => last_copied_entry(session, &subtree).or(top.entry()),
    };

    let mut copies = match ancestors {
        Ancestors::Kept => {
            let above = top.entry().and_then(|top| session.entry(top).parent);
            let mut entries = session.path(above);
            entries.extend(&subtree);
            copy_without_labels(reader, &entries, |_| true)?
        }
        Ancestors::LeftOut => copy_without_labels(reader, &subtree, is_in_subtree)?,
    };
    // In file order: an ancestor may be after its descendants in the file.
    copies.sort_by_key(|copy| copy.entry);
    Ok(finish_fork(session, copies, new_leaf, options, id_source))
}

/// Returns the last of these entries that a fork copies.
fn last_copied_entry(session: &Session, entries: &[EntryIx]) -> Option<EntryIx> {
    let mut from_last = entries.iter().copied().rev();
    from_last.find(|&ix| !is_left_out(session.entry(ix).kind))
}

/// An entry, and its copy in the new session.
struct EntryCopy {
    entry: EntryIx,
    piece: NewSessionEntry,
}

/// Returns a new session that consists of these copies, the labels in effect for them, and the name
/// in `options`. Its leaf, where the conversation continues, is `leaf` or, if that is not copied,
/// the nearest copied ancestor.
///
/// The agents continue at the last entry of a file. So labels and name are appended below the leaf.
/// If there are none, and the leaf is not the last copy, a mark is: the entry with which `switch`
/// moves the leaf.
fn finish_fork(
    session: &Session,
    copies: Vec<EntryCopy>,
    leaf: Option<EntryIx>,
    options: &ForkOptions,
    id_source: &mut IdSource,
) -> NewSession {
    let timestamp = id_source.timestamp();
    let copied: HashSet<EntryIx> = copies.iter().map(|copy| copy.entry).collect();
    let new_leaf = session.ancestors(leaf).find(|ix| copied.contains(ix));

    // The entries to append below the new leaf.
    let mut chain = Chain::with_parent(session, new_leaf.into(), id_source);
    add_labels_of_copies(&mut chain, session, &copied);
    if let Some(name) = &options.name {
        let old_name = session.name();
        chain.add_entry(session.agent().new_name_entry(name, old_name.as_ref()));
    }
    // The agents continue at the last entry of the file. Compared by id, as the agents do.
    let last_id = copies.last().map(|copy| session.id(copy.entry));
    let leaf_id = new_leaf.map(|ix| session.id(ix));
    if chain.change.is_empty() && leaf_id != last_id {
        let undone_ids = [];
        chain.add_entry(new_mark(last_id.as_ref(), leaf_id.as_ref(), &undone_ids));
    }

    let mut entries: Vec<NewSessionEntry> = copies.into_iter().map(|copy| copy.piece).collect();
    entries.extend(chain.change.entries.into_iter().map(NewSessionEntry::New));
    NewSession {
        head_lines: build_head(session, options, &timestamp),
        id: options.session_id.clone(),
        timestamp,
        leaf: chain.parent,
        entries: Some(entries),
        appended: Vec::new(),
        blobs: BlobStore::default(),
    }
}

/// Adds the labels in effect for the copied entries. As in the agents, a label keeps its time in a
/// session of pi, and gets the current time in a session of oh-my-pi.
fn add_labels_of_copies(chain: &mut Chain, session: &Session, copied: &HashSet<EntryIx>) {
    for (target, change) in Labels::new(session).iter() {
        if !copied.contains(&target) {
            continue;
        }
        let timestamp = if session.agent().constants().keeps_label_times {
            Some(session.text(change.timestamp).to_string())
        } else {
            None
        };
        let name = session.text(change.name);
        chain.add_label(&session.id(target), Some(&name), timestamp.as_deref());
    }
}

/// Returns a new session with a header of its own, and with every line after the header of the
/// source, unchanged: all entries and branches, and also labels and leaf records. If `options` has
/// a name, an entry with it is appended below the leaf.
pub fn fork_all(session: &Session, options: &ForkOptions, id_source: &mut IdSource) -> NewSession {
    let timestamp = id_source.timestamp();
    let mut chain = Chain::with_parent(session, session.leaf.into(), id_source);
    if let Some(name) = &options.name {
        let old_name = session.name();
        let entry = session.agent().new_name_entry(name, old_name.as_ref());
        chain.add_entry(entry);
    }
    NewSession {
        head_lines: build_head(session, options, &timestamp),
        id: options.session_id.clone(),
        timestamp,
        leaf: chain.parent,
        // Without a list, the bytes after the header are copied as they are.
        entries: None,
        appended: chain.change.entries,
        blobs: BlobStore::default(),
    }
}

/// Returns a fork without the thinking of the model.
pub fn omit_thinking(
    reader: &EntryReader,
    new: NewSession,
    options: &ForkOptions,
    id_source: &mut IdSource,
) -> io::Result<NewSession> {
    let session = reader.session();
    let mut listed = list_entries(reader, new.entries, new.leaf, options, id_source)?;
    for new_entry in &mut listed.entries {
        if let NewSessionEntry::Copied {
            entry,
            omits_thinking,
            ..
        } = new_entry
        {
            *omits_thinking = session.is_message(*entry, Role::Assistant);
        }
    }
    Ok(NewSession {
        entries: Some(listed.entries),
        leaf: listed.leaf,
        ..new
    })
}

/// The entries of a fork, one by one.
pub(super) struct ListedFork {
    pub entries: Vec<NewSessionEntry>,
    /// The id of the leaf.
    pub leaf: Option<Text<'static>>,
}

/// Lists the entries of a fork one by one, so that each can be changed. `entries` and `leaf` are
/// the entries and the leaf of the fork. Without `entries`, the fork is a copy of the whole file,
/// byte for byte.
///
/// Such a copy does not suffice for a file in an older format, or with records that set the leaf.
/// Then the tree is forked as the subtree below the root: this migrates entries, head records among
/// them, and leaves leaf records out.
pub(super) fn list_entries(
    reader: &EntryReader,
    entries: Option<Vec<NewSessionEntry>>,
    leaf: Option<Text<'static>>,
    options: &ForkOptions,
    id_source: &mut IdSource,
) -> io::Result<ListedFork> {
    if let Some(entries) = entries {
        return Ok(ListedFork { entries, leaf });
    }
    let session = reader.session();
    if session.format != Format::V3 || has_position_records(session) {
        let whole_tree = fork_subtree(reader, Position::Root, Ancestors::Kept, options, id_source)?;
        return Ok(ListedFork {
            // A fork of a subtree always has a list.
            entries: whole_tree.entries.unwrap_or_default(),
            leaf: whole_tree.leaf,
        });
    }
    let copies = session.entry_indexes().map(NewSessionEntry::copy_of);
    Ok(ListedFork {
        entries: copies.collect(),
        leaf,
    })
}

/// Whether a session has records that set the leaf.
fn has_position_records(session: &Session) -> bool {
    session
        .entry_indexes()
        .any(|ix| matches!(session.entry(ix).kind, Kind::Leaf | Kind::Head))
}

/// Returns copies of these entries, without labels and leaf records. Each copy is a child of the
/// nearest copied ancestor. A compaction names the first entry that it keeps: if that is not
/// copied, the next copied entry on the path replaces it.
///
/// `is_wanted` is whether an entry belongs to the part of the session to copy. If it is true for an
/// ancestor of one of the `entries`, that ancestor must be among them, too.
fn copy_without_labels(
    reader: &EntryReader,
    entries: &[EntryIx],
    is_wanted: impl Fn(EntryIx) -> bool,
) -> io::Result<Vec<EntryCopy>> {
    let session = reader.session();
    let is_copied = |ix: EntryIx| is_wanted(ix) && !is_left_out(session.entry(ix).kind);
    // Reading the compactions takes long, and is not necessary if all that they keep is copied.
    let copies_all_ancestors = are_copied_with_parents(session, entries, is_copied, &is_wanted);
    let mut copies = Vec::with_capacity(entries.len());
    let mut copied_ancestors = UpwardSearch::new(session, is_copied);
    for &ix in entries {
        if !is_copied(ix) {
            continue;
        }
        let new_parent = copied_ancestors.find(session.entry(ix).parent);
        let mut new_first_kept = None;
        if !copies_all_ancestors {
            new_first_kept = new_first_kept_id(reader, ix, is_copied)?;
        }
        let piece = NewSessionEntry::Copied {
            entry: ix,
            parent: parent_of_copy(session, ix, new_parent),
            first_kept: new_first_kept,
            omits_thinking: false,
            target_dialect: None,
            edit: None,
        };
        copies.push(EntryCopy { entry: ix, piece });
    }
    Ok(copies)
}

/// Whether all `entries` are copied, and each of their parents is a wanted entry. As wanted
/// ancestors are among the `entries`, all ancestors are then copied, too.
fn are_copied_with_parents(
    session: &Session,
    entries: &[EntryIx],
    is_copied: impl Fn(EntryIx) -> bool,
    is_wanted: impl Fn(EntryIx) -> bool,
) -> bool {
    for &ix in entries {
        if !is_copied(ix) {
            return false;
        }
        if let Some(parent) = session.entry(ix).parent
            && !is_wanted(parent)
        {
            return false;
        }
    }
    true
}

/// Returns how the copy of `ix` refers to its parent. `new_parent` is the nearest copied ancestor
/// of `ix`; `None` makes the copy a root. Copies have the ids of their originals, so the reference
/// only changes if an ancestor in between is left out.
fn parent_of_copy(session: &Session, ix: EntryIx, new_parent: Option<EntryIx>) -> CopyParent {
    let Some(new_parent) = new_parent else {
        // Not `Unchanged`, even if `ix` is a root: its stored parent may be `""`, or an id that is
        // missing in the file.
        return CopyParent::Root;
    };
    if session.entry(ix).parent == Some(new_parent) {
        CopyParent::Unchanged
    } else {
        CopyParent::Id(session.id(new_parent).into_owned())
    }
}

/// Returns the new `firstKeptEntryId` of a compaction whose first kept entry is not copied: the id
/// of the next copied entry on its path. `None` if the stored id stays: for any other entry, and if
/// there is no such entry on the path.
fn new_first_kept_id(
    reader: &EntryReader,
    ix: EntryIx,
    is_copied: impl Fn(EntryIx) -> bool,
) -> io::Result<Option<Text<'static>>> {
    let session = reader.session();
    if session.entry(ix).kind != Kind::Compaction {
        return Ok(None);
    }
    let Some(kept) = find_first_kept(reader, ix)? else {
        return Ok(None);
    };
    if is_copied(kept) {
        return Ok(None);
    }
    let first = first_remaining_kept(session, ix, kept, is_copied);
    Ok(first.map(|first| session.id(first).into_owned()))
}

/// Whether entries of this kind are left out: labels are written again, and a leaf record would
/// determine the leaf of the new file.
fn is_left_out(kind: Kind) -> bool {
    matches!(kind, Kind::Label | Kind::Leaf)
}

/// Returns the entry that a compaction refers to: the first kept one or, for a native snapshot, the
/// last covered one. `None` if it names none, or one that is not in the file.
fn find_first_kept(reader: &EntryReader, ix: EntryIx) -> io::Result<Option<EntryIx>> {
    reader.with_entry(ix, |line| {
        let kept = native::last_covered_id(line).or_else(|| line.get_text("firstKeptEntryId"))?;
        reader.session().find_entry(&kept)
    })
}

/// The title of a session of oh-my-pi, as JSON.
#[derive(Clone, Copy, Default)]
pub struct StoredTitle<'a> {
    /// The title, a string. `None` if the session has none.
    text: Option<Raw<'a>>,
    /// Who set the title: `"auto"` or `"user"`.
    source: Option<Raw<'a>>,
}

impl<'a> StoredTitle<'a> {
    /// Returns a title that the user set, so that the agent does not replace it. `None` is no
    /// title.
    pub fn set_by_user(title: Option<Raw<'a>>) -> StoredTitle<'a> {
        StoredTitle {
            text: title,
            source: title.map(|_| Raw::from_checked(b"\"user\"")),
        }
    }

    /// Returns the title that a session has: the title in its title line if it has one, even if
    /// this title is empty, and otherwise the title in its header.
    fn of_session(session: &'a Session) -> StoredTitle<'a> {
        let stored = match &session.title_slot {
            Some(slot) => {
                let title_line = Raw::from_checked(slot.trim_ascii());
                StoredTitle {
                    text: title_line.get("title"),
                    source: title_line.get("source"),
                }
            }
            None => {
                let header = Raw::from_checked(&session.header.bytes);
                StoredTitle {
                    text: header.get("title"),
                    source: header.get("titleSource"),
                }
            }
        };
        if !stored.text.is_some_and(Raw::is_truthy) {
            return StoredTitle::default();
        }
        StoredTitle {
            text: stored.text,
            // The agent knows only these two sources, and rejects a title line with another.
            source: stored
                .source
                .filter(|source| source.is("auto") || source.is("user")),
        }
    }
}

/// Returns the first lines of a fork by the same agent: see [`build_head_for`]. The title is the
/// name in `options` or, without one, that of the source.
fn build_head(session: &Session, options: &ForkOptions, timestamp: &str) -> Vec<Vec<u8>> {
    let new_name = options.name.as_ref().map(encode_to_vec);
    let title = match &new_name {
        Some(name) => StoredTitle::set_by_user(Some(Raw::from_checked(name))),
        None => StoredTitle::of_session(session),
    };
    let source_header = Raw::from_checked(&session.header.bytes);
    build_head_for(session.agent(), title, source_header, options, timestamp)
}

/// Returns the first lines of a new session as an agent writes them: the header, with its members
/// in the order of that agent. For oh-my-pi, a title line precedes the header: every file of that
/// agent has one, by which it is recognized.
///
/// `source_header` is the header of the source session, or `null`. Its working directory is used if
/// `options` has none, and so are oh-my-pi's additional directories.
pub fn build_head_for(
    agent: &dyn Agent,
    title: StoredTitle,
    source_header: Raw,
    options: &ForkOptions,
    timestamp: &str,
) -> Vec<Vec<u8>> {
    let source_cwd = source_header.get_text("cwd");
    let cwd = options.cwd.as_ref().or(source_cwd.as_ref());
    let header = Object::new()
        .str("type", "session")
        .number("version", 3.0)
        .str("id", &options.session_id)
        .str("timestamp", timestamp)
        .with(cwd, |header, cwd| header.text("cwd", cwd));
    if !agent.constants().has_title_line {
        return vec![add_parent_session(header, options).finish()];
    }

    // oh-my-pi has the title in both lines, and its further members around the parent session.
    let title_line = title_line(title.text, title.source, &Text::from(timestamp));
    let header = header
        .with(title.text, |header, text| header.raw("title", text))
        .with(title.source, |header, source| {
            header.raw("titleSource", source)
        });
    let folders = source_header.get_some("additionalDirectories");
    let header = add_parent_session(header, options).with(folders, |header, folders| {
        header.raw("additionalDirectories", folders)
    });
    vec![title_line, header.finish()]
}

/// Adds the path of the source session to a header, if it is known.
fn add_parent_session(header: Object, options: &ForkOptions) -> Object {
    header.with(options.source.as_ref(), |header, source| {
        header.text("parentSession", source)
    })
}
