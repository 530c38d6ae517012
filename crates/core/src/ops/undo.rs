//! Undoes the last operation by appending entries. The file itself is the log of operations.
//!
//! The entries of one write have the same timestamp, and are one operation. Labels, names and
//! context edits are undone by new entries that restore the state before. Everything else is undone
//! by moving the leaf back. A mark ([`super::switch`]) records which entries were undone, so that
//! the next undo skips them:
//!
//! ```text
//! a ─ b ─ label ─ compaction                              the file
//! a ─ b ─ label ─ compaction                              first undo: back to the leaf before
//!             └── mark: undid compaction
//!                      └── label (before) ─ mark: undid label      second undo
//! ```

use super::chain::Chain;
use super::edit::{add_edit, replacement_content, stored_content};
use super::switch::{LeafMove, leaf_before, new_mark, read_move, skip_marks};
use super::{IdSource, Refusal, parent_id};
use crate::ops::plan::Change;
use crate::session::Session;
use crate::session::entry::{Entry, EntryIx, Kind, Role};
use crate::session::read::entry_reader::{EntryReader, resolve_member};
use crate::session::reference::Position;
use crate::session::tree::Tree;
use foldhash::{HashMap, HashSet};
use pisess_json::text::Text;
use std::io;

/// Returns the entries of the last operation that is not undone yet, in file order; at least one.
///
/// An operation is the set of entries that one write appended. If the last one is a reply of the
/// model, it is refused, because it is not an operation of the user. A copy of a reply that `pisess
/// pick` made is an operation.
pub fn last_operation(reader: &EntryReader) -> Result<Vec<EntryIx>, Refusal> {
    let mut walk = BackwardWalk::new(reader.session());
    match next_operation(reader, &mut walk)? {
        NextOperation::Undoable(entries) => Ok(entries),
        NextOperation::Stop(reason) => Err(reason),
    }
}

/// The operations that can be undone.
#[derive(Debug)]
pub struct UndoableOperations {
    /// The entries of each operation, in file order. The operation that is undone first comes
    /// first.
    pub operations: Vec<Vec<EntryIx>>,
    /// The reason why no further operation can be undone.
    pub stop: Refusal,
}

/// Returns the operations that can be undone one after the other: those that [`last_operation`]
/// would return if each was undone before the next call.
pub fn find_undoable(reader: &EntryReader) -> io::Result<UndoableOperations> {
    let mut walk = BackwardWalk::new(reader.session());
    let mut operations = Vec::new();
    // Each step goes further back in the file. At the latest, the walk stops at its beginning.
    loop {
        match next_operation(reader, &mut walk)? {
            NextOperation::Undoable(entries) => operations.push(entries),
            NextOperation::Stop(stop) => return Ok(UndoableOperations { operations, stop }),
        }
    }
}

/// What a walk backwards through a file meets next.
enum NextOperation {
    /// An operation that can be undone: its entries that have an id, in file order; at least one.
    Undoable(Vec<EntryIx>),
    /// The reason why nothing further can be undone.
    Stop(Refusal),
}

/// Advances a walk backwards to the nearest operation that is not undone. An operation is what one
/// write appended to the file. The walk stops if none is left, or if the nearest one is a reply of
/// the model, which is not an operation of the user.
fn next_operation(reader: &EntryReader, walk: &mut BackwardWalk) -> io::Result<NextOperation> {
    let session = reader.session();
    let Some(write) = walk.next_write_backwards(reader)? else {
        return Ok(NextOperation::Stop(Refusal::with_hint(
            "there is nothing to undo",
            "`undo` cannot reverse commands that rewrite the file: see `pisess undo --help`",
        )));
    };

    // Only the last entry is examined, because nothing is written together with a reply and after
    // it. Copies of replies are operations of the user: `pick` makes them.
    let last = write.last;
    if let Some(reply) = reply_noun(session, last)
        && !is_copy(reader, last)?
    {
        return Ok(NextOperation::Stop(Refusal::with_hint(
            format!("the last operation is the {reply} {}", session.id(last)),
            "`pisess pop` goes back to before the last user message",
        )));
    }
    Ok(NextOperation::Undoable(entries_with_ids(session, write)))
}

/// Returns the entries of a write that have an id, in file order; at least one.
fn entries_with_ids(session: &Session, write: WriteRange) -> Vec<EntryIx> {
    let mut entries = Vec::new();
    for index in write.first.index()..=write.last.index() {
        let ix = EntryIx::new(index);
        if !session.entry(ix).id.is_empty() {
            entries.push(ix);
        }
    }
    debug_assert!(!entries.is_empty(), "the last entry of a write has an id");
    entries
}

/// Returns what a refusal calls a message of the model or of a tool; `None` for any other entry.
/// Such a message is not an operation of the user, so `undo` leaves it to `pop`.
fn reply_noun(session: &Session, ix: EntryIx) -> Option<&'static str> {
    if session.is_message(ix, Role::Assistant) {
        Some("reply")
    } else if session.is_message(ix, Role::ToolResult) {
        Some("tool result")
    } else {
        None
    }
}

/// Returns the leaf before an operation: the position to which the leaf must move to undo it.
/// `None` if the operation only annotated the session, as with a label, so that the leaf need not
/// move. `entries` are the entries that the operation appended; there is at least one.
///
/// A `switch` or another move of the leaf begins with a mark: an entry that records the leaf
/// before. If that leaf is itself a mark, the entry above the mark is returned.
pub fn leaf_before_operation(
    reader: &EntryReader,
    entries: &[EntryIx],
) -> io::Result<Option<Position>> {
    let session = reader.session();
    let only_annotates = entries
        .iter()
        .all(|&ix| undo_kind(session, ix) == UndoKind::Annotation);
    if only_annotates {
        return Ok(None);
    }

    let first = entries[0];
    let recorded_leaf = match read_move(reader, first)? {
        Some(mark) => mark.from,
        None => None,
    };
    let leaf = match recorded_leaf {
        Some(leaf) => leaf,
        None => leaf_before(reader, first)?,
    };
    skip_marks(reader, leaf).map(Some)
}

/// Returns the change that undoes an operation. It appends entries that restore what was changed,
/// and then a mark, which records the ids of the undone `entries`, so that the next undo skips
/// them. `leaf_before` is the result of [`leaf_before_operation`], below which the new entries are
/// placed. If it is `None`, they are below the current leaf.
///
/// Labels and the name are restored in both cases. Context edits are restored only if the leaf
/// stays: after a move, the edit is no longer on the path to the leaf, so it has no effect.
pub fn undo(
    reader: &EntryReader,
    entries: &[EntryIx],
    leaf_before: Option<Position>,
    id_source: &mut IdSource,
) -> io::Result<Change> {
    let session = reader.session();
    let new_leaf = leaf_before.unwrap_or(session.leaf.into());
    let mut chain = Chain::with_parent(session, new_leaf, id_source);
    restore_labels(entries, &mut chain);
    restore_name(reader, entries, &mut chain)?;
    if leaf_before.is_none() {
        restore_edits(reader, entries, &mut chain)?;
    }

    // The mark records the move of the leaf, from and to a position; the root has no id.
    let undone_ids: Vec<_> = entries.iter().map(|&ix| session.id(ix)).collect();
    let from = parent_id(session, session.leaf.into());
    let to = parent_id(session, new_leaf);
    chain.add_entry(new_mark(from.as_ref(), to.as_ref(), &undone_ids));
    Ok(chain.change)
}

/// Returns the entries that `undo` took back and that are not in use again.
///
/// An undone entry remains in the file. It is in use again if the user went back to it and
/// continued there: then it has a descendant that is neither undone nor bookkeeping, such as a
/// label.
pub fn find_undone(session: &Session, reader: &EntryReader) -> io::Result<HashSet<EntryIx>> {
    let mut undone = find_recorded_as_undone(reader)?;
    if undone.is_empty() {
        // Most sessions have no undo, and need no walk through the tree.
        return Ok(undone);
    }
    let is_used = find_used(session, &undone);
    undone.retain(|ix| !is_used[ix.index()]);
    Ok(undone)
}

/// Returns the entries that an undo has taken back, even if they are in use again. Each undo
/// appends a mark, an entry that records the ids of the undone entries.
fn find_recorded_as_undone(reader: &EntryReader) -> io::Result<HashSet<EntryIx>> {
    let session = reader.session();
    let mut undone = HashSet::default();
    for ix in session.entry_indexes() {
        // A mark of another command records a move of the leaf, too, but no undone ids.
        let Some(mark) = read_move(reader, ix)? else {
            continue;
        };
        for id in &mark.undone_ids {
            undone.extend(session.find_entry(id));
        }
    }
    Ok(undone)
}

/// Returns for each entry whether it, or a descendant, is in use: neither `undone` nor bookkeeping.
fn find_used(session: &Session, undone: &HashSet<EntryIx>) -> Vec<bool> {
    let mut is_used: Vec<bool> = Vec::with_capacity(session.entries.len());
    for ix in session.entry_indexes() {
        let is_bookkeeping = session.entry(ix).kind.is_bookkeeping();
        is_used.push(!is_bookkeeping && !undone.contains(&ix));
    }
    // Children come before their parents, so that the result for an entry is final before it is
    // passed on to its parent.
    let parents_first: Vec<EntryIx> = Tree::new(session).walk_oldest_first().collect();
    for &ix in parents_first.iter().rev() {
        if is_used[ix.index()]
            && let Some(parent) = session.entry(ix).parent
        {
            is_used[parent.index()] = true;
        }
    }
    is_used
}

/// The first and the last entry of one write. The last one has an id.
struct WriteRange {
    first: EntryIx,
    last: EntryIx,
}

/// A walk through the operations of a file, from its end.
struct BackwardWalk {
    /// The last entry of the file that was not visited yet; `None` at the end of the walk.
    last_unvisited: Option<EntryIx>,
    /// The ids of entries that the visited undos have undone.
    undone: HashSet<Text<'static>>,
}

impl BackwardWalk {
    fn new(session: &Session) -> BackwardWalk {
        BackwardWalk {
            last_unvisited: session.entry_indexes().next_back(),
            undone: HashSet::default(),
        }
    }

    /// Moves backwards over the next write, and returns its first and last entry; `None` if there
    /// is none. A write is what one command or agent appended at once. On the way, the walk skips:
    ///
    /// - entries that an agent writes by itself, or that have no id: see [`is_agent_record`]
    /// - each undo, and the entries that it has undone
    fn next_write_backwards(&mut self, reader: &EntryReader) -> io::Result<Option<WriteRange>> {
        let session = reader.session();
        while let Some(last) = self.last_unvisited {
            let is_skipped =
                is_agent_record(reader, last)? || self.undone.contains(&session.id(last));
            if is_skipped {
                self.last_unvisited = last.previous();
                continue;
            }

            if let Some(mark) = read_move(reader, last)?
                && !mark.undone_ids.is_empty()
            {
                // The mark of an undo. What it has undone is nearer to the start of the file, so
                // the walk gets there later, and then skips it.
                self.last_unvisited = entry_before_undo(session, last, &mark);
                self.undone.extend(mark.undone_ids);
                continue;
            }

            let first = find_start_of_write(reader, last)?;
            self.last_unvisited = first.previous();
            return Ok(Some(WriteRange { first, last }));
        }
        Ok(None)
    }
}

/// Returns the entry before the first entry of an undo, in the file. `mark_ix` is the last entry of
/// the undo: its mark.
///
/// The labels, names and edits that the undo restored are directly before the mark. They form a
/// chain of which each entry is the parent of the next. It begins below the position to which the
/// undo moved the leaf.
fn entry_before_undo(session: &Session, mark_ix: EntryIx, mark: &LeafMove) -> Option<EntryIx> {
    let Some(target) = mark.to else {
        // The position is unknown, so restored entries cannot be distinguished from others.
        return mark_ix.previous();
    };

    let mut first = mark_ix;
    while let Some(before) = first.previous() {
        let is_in_chain = session.entry(first).parent == Some(before);
        // The chain begins below the target, which may be directly before it in the file.
        let is_target = target.entry() == Some(before);
        if !is_in_chain || is_target {
            break;
        }
        first = before;
    }
    first.previous()
}

/// The `customType` of the entry that oh-my-pi appends when it exits.
const SESSION_EXIT: &str = "session_exit";

/// How `undo` treats an entry.
#[derive(Clone, Copy, PartialEq, Eq)]
enum UndoKind {
    /// A record that an agent writes by itself, which is not an operation.
    Record,
    /// It only annotates the session. The state before is restored by a new entry, and the leaf
    /// stays.
    Annotation,
    /// It is undone by moving the leaf back.
    Move,
}

/// Returns how `undo` treats an entry, by its type: it skips a record, restores what an annotation
/// changed, and undoes all else by moving the leaf back. Records of an agent that are `custom`
/// entries are not recognized here: see [`is_agent_record`].
fn undo_kind(session: &Session, ix: EntryIx) -> UndoKind {
    match session.entry(ix).kind {
        Kind::Usage | Kind::ModelUsage | Kind::CredentialPin => UndoKind::Record,
        Kind::Label => UndoKind::Annotation,
        Kind::SessionInfo | Kind::TitleChange if is_name_entry(session, ix) => UndoKind::Annotation,
        Kind::ContextEdit if session.agent().constants().applies_context_edits => {
            UndoKind::Annotation
        }
        // All other types are listed, so that a new one is not a move by accident.
        Kind::SessionInfo
        | Kind::TitleChange
        | Kind::ContextEdit
        | Kind::Custom
        | Kind::Message
        | Kind::Compaction
        | Kind::BranchSummary
        | Kind::CustomMessage
        | Kind::ModelChange
        | Kind::ThinkingLevelChange
        | Kind::ActiveToolsChange
        | Kind::Leaf
        | Kind::ServiceTierChange
        | Kind::TtsrInjection
        | Kind::SessionInit
        | Kind::ModeChange
        | Kind::ResetBoundary
        | Kind::Head
        | Kind::StackSummary
        | Kind::StackPop
        | Kind::Other
        | Kind::Missing => UndoKind::Move,
    }
}

/// Whether an entry is a record that an agent writes by itself, which is not an operation: an entry
/// without an id, oh-my-pi's note of an exit, or an entry of a type that only records usage.
fn is_agent_record(reader: &EntryReader, ix: EntryIx) -> io::Result<bool> {
    let session = reader.session();
    let entry = session.entry(ix);
    if entry.id.is_empty() {
        return Ok(true);
    }
    if entry.kind == Kind::Custom {
        return reader.with_entry(ix, |line| {
            let custom_type = line.get("customType");
            custom_type.is_some_and(|name| name.is(SESSION_EXIT))
        });
    }
    Ok(undo_kind(session, ix) == UndoKind::Record)
}

/// Returns the first entry of the write that ends with `last`. A write is recognized as a chain in
/// which each entry is directly after its parent in the file, and all have the same timestamp.
///
/// A mark that moves the leaf is the first entry of its write, so the walk upwards stops at a mark.
/// The mark of an undo is the last entry of its write, so the walk also stops below such a mark.
fn find_start_of_write(reader: &EntryReader, last: EntryIx) -> io::Result<EntryIx> {
    let session = reader.session();
    let written_at = session.entry(last).time_ms;
    // Without a time, it is not known which entries were written together with this one.
    if written_at == Entry::NO_TIME {
        return Ok(last);
    }

    let mut first = last;
    while let Some(before) = first.previous() {
        let is_parent = session.entry(first).parent == Some(before);
        if !is_parent || session.entry(before).time_ms != written_at {
            break;
        }
        // A mark begins a write, so `before` is of another.
        let is_mark = read_move(reader, first)?.is_some();
        if is_mark {
            break;
        }
        let ends_an_undo =
            read_move(reader, before)?.is_some_and(|mark| !mark.undone_ids.is_empty());
        if ends_an_undo {
            break;
        }
        first = before;
    }
    Ok(first)
}

/// Whether a message is a copy that `pisess pick` made: an earlier entry has the same message, byte
/// for byte. An agent never writes the same bytes twice, because they include the time of the
/// message.
fn is_copy(reader: &EntryReader, ix: EntryIx) -> io::Result<bool> {
    /// The largest difference in length, in bytes, of two lines with the same message, whose ids
    /// and times differ. A line with a larger difference is not read.
    const MAX_ENVELOPE_DIFFERENCE: u64 = 256;

    let session = reader.session();
    let message = reader.with_message(ix, |copy| copy.bytes().to_vec())?;
    let role = session.entry(ix).role;
    let line_len = session.entry(ix).span.len;

    for earlier in (0..ix.index()).rev().map(EntryIx::new) {
        let length_difference = session.entry(earlier).span.len.abs_diff(line_len);
        if !session.is_message(earlier, role) || length_difference > MAX_ENVELOPE_DIFFERENCE {
            continue;
        }
        let is_same = reader.with_message(earlier, |original| original.bytes() == message)?;
        if is_same {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Restores the labels that the operation set or cleared: adds an entry for each label that differs
/// from the one before the operation. `entries` are those of the operation, in file order.
fn restore_labels(entries: &[EntryIx], chain: &mut Chain) {
    let session = chain.session;
    let Some(&first) = entries.first() else {
        return;
    };
    let labels_before = labels_after(session, |change| change < first);
    let labels_now = labels_after(session, |_| true);

    let mut changed_ids = ids_labelled_by(entries, session);
    changed_ids.retain(|id| labels_before.get(id) != labels_now.get(id));
    // Labels are cleared before others are set, so that no two entries have the same label at any
    // time: `false` sorts first.
    changed_ids.sort_by_key(|id| labels_before.contains_key(id));
    for id in changed_ids {
        let current_time = None;
        chain.add_label(&Text::from_wtf8(id), labels_before.get(id), current_time);
    }
}

/// Returns the ids of the entries whose labels some of `entries` set or clear, each once, in the
/// order of the changes. `entries` are in file order.
fn ids_labelled_by<'s>(entries: &[EntryIx], session: &'s Session) -> Vec<&'s [u8]> {
    let mut ids = Vec::new();
    let mut known = HashSet::default();
    for change in &session.collected.labels {
        let id = session.bytes(change.target);
        // The search is possible because the entries ascend.
        let is_one_of_entries = entries.binary_search(&change.entry).is_ok();
        if is_one_of_entries && known.insert(id) {
            ids.push(id);
        }
    }
    ids
}

/// Returns the labels after some of the label changes of a session, by the id of the labelled
/// entry. `is_applied` returns whether a change is one of these, by its own entry.
fn labels_after(
    session: &Session,
    is_applied: impl Fn(EntryIx) -> bool,
) -> HashMap<&[u8], Text<'_>> {
    let mut labels = HashMap::default();
    // In file order, so that a later change replaces an earlier one.
    for change in &session.collected.labels {
        if !is_applied(change.entry) {
            continue;
        }
        let id = session.bytes(change.target);
        let is_cleared = change.name.is_empty();
        if is_cleared {
            labels.remove(id);
        } else {
            labels.insert(id, session.text(change.name));
        }
    }
    labels
}

/// Whether an entry is of the type in which the agent records the name of the session.
fn is_name_entry(session: &Session, ix: EntryIx) -> bool {
    let kind = if session.agent().constants().has_title_line {
        Kind::TitleChange
    } else {
        Kind::SessionInfo
    };
    session.entry(ix).kind == kind
}

/// Restores the name of the session, if the operation changed it: adds an entry with the name
/// before. If the agent also keeps the name in a title line, as oh-my-pi does, changes that line,
/// too. `entries` are those of the operation, in file order.
fn restore_name(reader: &EntryReader, entries: &[EntryIx], chain: &mut Chain) -> io::Result<()> {
    let session = chain.session;
    let name_entry = entries.iter().find(|&&ix| is_name_entry(session, ix));
    let Some(&first_name_entry) = name_entry else {
        return Ok(());
    };
    let old_name = name_before(reader, first_name_entry)?;

    let current_name = session.name();
    let is_unchanged = match &current_name {
        Some(current_name) => *current_name == old_name,
        None => old_name.is_empty(),
    };
    if is_unchanged {
        return Ok(());
    }
    chain.add_entry(
        session
            .agent()
            .new_name_entry(&old_name, current_name.as_ref()),
    );
    chain.change.title_line = session
        .agent()
        .title_line(&old_name, &chain.id_source.timestamp());
    Ok(())
}

/// Returns the name of the session before an entry that sets it; empty if there was none.
fn name_before(reader: &EntryReader, name_entry: EntryIx) -> io::Result<Text<'static>> {
    let session = reader.session();
    let mut nearest_first = (0..name_entry.index()).rev().map(EntryIx::new);
    match nearest_first.find(|&ix| is_name_entry(session, ix)) {
        Some(earlier) => first_text(reader, earlier, &["name", "title"]),
        // This is the first entry with a name. A `title_change` records the title before it, which
        // the agent set without such an entry.
        None => first_text(reader, name_entry, &["previousTitle"]),
    }
}

/// Returns the text of the first of these members that an entry has; empty if it has none.
fn first_text(reader: &EntryReader, ix: EntryIx, keys: &[&str]) -> io::Result<Text<'static>> {
    reader.with_entry(ix, |entry| {
        for key in keys {
            if let Some(text) = entry.get_text(key) {
                return text.into_owned();
            }
        }
        Text::default()
    })
}

/// For each entry whose content for the model the operation changed, adds an edit that restores the
/// content before. This is the content of the edit in effect before the operation or, without one,
/// the stored content. `entries` are the entries of the operation, in file order; there is at least
/// one.
fn restore_edits(reader: &EntryReader, entries: &[EntryIx], chain: &mut Chain) -> io::Result<()> {
    let session = chain.session;
    let edits_before = edits_in_effect(reader, session.entry(entries[0]).parent)?;

    // The operation may have edited an entry several times.
    let mut restored_targets = HashSet::default();
    for &ix in entries {
        let Some(target) = edited_entry(reader, ix)? else {
            continue;
        };
        let is_new = restored_targets.insert(target);
        if !is_new {
            continue;
        }
        let content_before = match edits_before.get(&target) {
            Some(&edit_before) => replacement_content(reader, edit_before)?,
            None => stored_content(reader, target)?,
        };
        add_edit(chain, target, content_before);
    }
    Ok(())
}

/// Returns the context edits in effect at an entry, by the entry that each of them edits: of the
/// edits at and above the entry, the nearest.
fn edits_in_effect(
    reader: &EntryReader,
    ix: Option<EntryIx>,
) -> io::Result<HashMap<EntryIx, EntryIx>> {
    let mut edits = HashMap::default();
    for above in reader.session().ancestors(ix) {
        if let Some(target) = edited_entry(reader, above)? {
            // The walk goes upwards, so the first edit of a target is the nearest.
            edits.entry(target).or_insert(above);
        }
    }
    Ok(edits)
}

/// Returns the entry that a context edit changes. `None` if the session has no such entry, and for
/// any entry that is not a context edit.
fn edited_entry(reader: &EntryReader, ix: EntryIx) -> io::Result<Option<EntryIx>> {
    if reader.session().entry(ix).kind != Kind::ContextEdit {
        return Ok(None);
    }
    resolve_member(reader, ix, "targetId")
}
