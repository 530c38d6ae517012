//! Takes back the last operation, by appending. The file itself is the log.
//!
//! The last entry decides what the operation was. Labels, names and context edits are taken back by
//! others with the state before; everything else by moving the leaf to where it was. Entries of one
//! write have the same timestamp, and are one operation. A mark ([`super::switch`]) records which
//! entries are taken back, so that the next undo passes over them:
//!
//! ```text
//! a ─ b ─ label ─ compaction                              the file
//! a ─ b ─ label ─ compaction                              first undo: back to the leaf before
//!             └── mark: undid compaction
//!                      └── label (before) ─ mark: undid label      second undo
//! ```

use super::chain::Chain;
use super::edit::{replaced, show, stored};
use super::switch::{behind_marks, leaf_before, mark, moved};
use super::{IdSource, Refusal, parent_id};
use crate::ops::plan::Change;
use crate::session::Session;
use crate::session::entry::{Entry, EntryIx, Kind, Role, Slice};
use crate::session::read::entry_reader::{EntryReader, named};
use crate::session::reference::Position;
use foldhash::{HashMap, HashSet};
use pisess_json::Raw;
use pisess_json::text::Text;
use std::io;

/// Returns the entries that the last operation which was not taken back appended, in file order; at
/// least one.
pub fn last_operation(reader: &EntryReader) -> Result<Vec<EntryIx>, Refusal> {
    let session = reader.session();
    let (first, last) = last_write(reader)?.ok_or_else(|| {
        let hint = "what rewrites the file is not undone: see `pisess undo --help`";
        Refusal::with_hint("there is nothing to undo", hint)
    })?;
    let replies = [
        (Role::Assistant, "reply"),
        (Role::ToolResult, "tool result"),
    ];
    if let Some((_, what)) = replies
        .into_iter()
        .find(|&(role, _)| session.is_message(last, role))
        && !is_copy(reader, last)?
    {
        return Err(Refusal::with_hint(
            format!("the last operation is the {what} {}", session.id(last)),
            "`pisess pop` goes back to before the last user message",
        ));
    }
    let entries = (first.at()..=last.at()).map(EntryIx::new);
    Ok(entries
        .filter(|&ix| !session.entry(ix).id.is_empty())
        .collect())
}

/// Returns the leaf before an operation; `None` if it only annotated the session, so that the leaf
/// stays where it is.
pub fn back_to(reader: &EntryReader, entries: &[EntryIx]) -> io::Result<Option<Position>> {
    if entries
        .iter()
        .all(|&ix| step(reader.session(), ix) == Step::Annotation)
    {
        return Ok(None);
    }
    let recorded = moved(reader, entries[0])?.and_then(|mark| mark.from);
    let leaf = recorded.map_or_else(|| leaf_before(reader, entries[0]), Ok)?;
    behind_marks(reader, leaf).map(Some)
}

/// Takes back an operation, before which the leaf was where [`back_to`] returns.
pub fn undo(
    reader: &EntryReader,
    entries: &[EntryIx],
    back_to: Option<Position>,
    fresh: &mut IdSource,
) -> io::Result<Change> {
    let session = reader.session();
    let to = back_to.unwrap_or(session.leaf);
    let mut chain = Chain::under(session, to, fresh);
    restore_labels(entries, &mut chain);
    restore_name(reader, entries, &mut chain)?;
    if back_to.is_none() {
        restore_edits(reader, entries, &mut chain)?;
    }
    let undid: Vec<_> = entries.iter().map(|&ix| session.id(ix)).collect();
    let [from, to] = [session.leaf, to].map(|place| parent_id(session, place));
    chain.add(mark(from.as_ref(), to.as_ref(), &undid));
    Ok(chain.change)
}

/// Returns the entries that were taken back, except those from which the conversation went on.
pub fn undone(session: &Session, reader: &EntryReader) -> io::Result<HashSet<EntryIx>> {
    // The mark of an operation that moved the leaf is on another branch, perhaps below labels that
    // were restored.
    let may_be_mark = |ix: &EntryIx| {
        let (entry, before) = (session.entry(*ix), ix.before());
        let follows =
            entry.parent == before && before.is_none_or(|ix| session.entry(ix).kind != Kind::Label);
        entry.kind == Kind::Custom && !follows
    };
    let mut undone = HashSet::default();
    for mark in session.all().filter(may_be_mark) {
        let undid = moved(reader, mark)?
            .map(|mark| mark.undid)
            .unwrap_or_default();
        undone.extend(undid.iter().filter_map(|id| session.find(id)));
    }
    if undone.is_empty() {
        return Ok(undone);
    }
    let is_bookkeeping = |ix: EntryIx| session.entry(ix).kind.is_bookkeeping();
    let after: Vec<_> = session
        .all()
        .filter(|&ix| !is_bookkeeping(ix) && !undone.contains(&ix))
        .collect();
    let mut passed = HashSet::default();
    for ix in after {
        let above = session.upwards(session.entry(ix).parent);
        above
            .take_while(|&ix| undone.remove(&ix) || is_bookkeeping(ix) && passed.insert(ix))
            .for_each(drop);
    }
    Ok(undone)
}

/// Returns the first and the last entry of the last operation that was not taken back.
fn last_write(reader: &EntryReader) -> io::Result<Option<(EntryIx, EntryIx)>> {
    let session = reader.session();
    let mut undone: HashSet<Text<'static>> = HashSet::default();
    let mut at = session.all().next_back();
    while let Some(last) = at {
        at = last.before();
        if is_record(reader, last)? || undone.contains(&session.id(last)) {
            continue;
        }
        match moved(reader, last)? {
            Some(mark) if !mark.undid.is_empty() => {
                // With the labels, names and edits that were restored in the same write.
                let mut above = session.entry(last).parent;
                while let Some(ix) =
                    above.filter(|_| above == at && mark.to.is_some_and(|to| to != above))
                {
                    (at, above) = (ix.before(), session.entry(ix).parent);
                }
                undone.extend(mark.undid);
            }
            _ => return Ok(Some((start_of_write(reader, last)?, last))),
        }
    }
    Ok(None)
}

/// The `customType` of the entry that oh-my-pi appends when it exits.
const SESSION_EXIT: &str = "session_exit";

/// What an entry is to `undo`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// A record that an agent writes on its own, and not an operation.
    Record,
    /// It only annotates the session, so that the state before it can be restored where the leaf
    /// is.
    Annotation,
    /// It is taken back by moving the leaf, as all that a user or a model did.
    Move,
}

/// Returns what an entry of a type is, except for the records of an agent that are `custom`
/// entries.
fn step(session: &Session, ix: EntryIx) -> Step {
    match session.entry(ix).kind {
        Kind::Usage | Kind::ModelUsage | Kind::CredentialPin => Step::Record,
        Kind::Label => Step::Annotation,
        Kind::SessionInfo | Kind::TitleChange if is_name(session, ix) => Step::Annotation,
        Kind::ContextEdit if session.agent().follows_edits => Step::Annotation,
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
        | Kind::Missing => Step::Move,
    }
}

/// Whether an entry is a record that an agent keeps for itself, and not an operation.
fn is_record(reader: &EntryReader, ix: EntryIx) -> io::Result<bool> {
    let session = reader.session();
    if session.entry(ix).kind == Kind::Custom && !session.entry(ix).id.is_empty() {
        return reader.with_entry(ix, |entry| {
            entry
                .get("customType")
                .is_some_and(|kind| kind.is(SESSION_EXIT))
        });
    }
    Ok(session.entry(ix).id.is_empty() || step(session, ix) == Step::Record)
}

/// Returns the first entry of the write that ends with this one: those before it in the file and on
/// its path that have the same timestamp. A mark is the first of its write.
fn start_of_write(reader: &EntryReader, last: EntryIx) -> io::Result<EntryIx> {
    let session = reader.session();
    let time = |ix: EntryIx| session.entry(ix).time_ms;
    let mut first = last;
    while let Some(before) = first.before().filter(|&before| {
        session.entry(first).parent == Some(before)
            && time(before) == time(last)
            && time(last) != Entry::NO_TIME
    }) && moved(reader, first)?.is_none()
        && moved(reader, before)?.is_none_or(|mark| mark.undid.is_empty())
    {
        first = before;
    }
    Ok(first)
}

/// Whether a message is a copy of an earlier one, which `pisess pick` made: an agent never stores a
/// message, which includes its time, twice.
fn is_copy(reader: &EntryReader, ix: EntryIx) -> io::Result<bool> {
    /// By how much the lengths of ids and times differ at most.
    const ENVELOPE: u64 = 256;
    let session = reader.session();
    let message = reader.with_message(ix, |copy| copy.bytes().to_vec())?;
    let (role, len) = (session.entry(ix).role, session.entry(ix).span.len);
    let earlier = (0..ix.at()).rev().map(EntryIx::new);
    for other in earlier.filter(|&other| session.is_message(other, role)) {
        if session.entry(other).span.len.abs_diff(len) <= ENVELOPE
            && reader.with_message(other, |original| original.bytes() == message)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Restores the labels that the operation set or cleared: those that are cleared first, so that no
/// two entries have the same label.
fn restore_labels(entries: &[EntryIx], chain: &mut Chain) {
    let session = chain.session;
    let (mut before, mut now) = (HashMap::default(), HashMap::default());
    for change in &session.collected.labels {
        let target = session.bytes(change.target);
        if change.entry < entries[0] {
            before.insert(target, change.name);
        }
        now.insert(target, change.name);
    }
    let name = |names: &HashMap<_, Slice>, target| {
        names
            .get(target)
            .filter(|name| !name.is_empty())
            .map(|&name| session.text(name))
    };
    let changes = session
        .collected
        .labels
        .iter()
        .filter(|change| entries.binary_search(&change.entry).is_ok());
    let mut targets: Vec<_> = changes.map(|change| change.target).collect();
    targets.sort_by_key(|&target| name(&before, session.bytes(target)).is_some());
    let mut seen = HashSet::default();
    for target in targets
        .into_iter()
        .filter(|&target| seen.insert(session.bytes(target)))
    {
        let old = name(&before, session.bytes(target));
        if old != name(&now, session.bytes(target)) {
            chain.label(&session.text(target), old.as_ref(), None);
        }
    }
}

/// Whether an entry is where the agent records the name of the session.
fn is_name(session: &Session, ix: EntryIx) -> bool {
    session.entry(ix).kind
        == if session.agent().has_title_line {
            Kind::TitleChange
        } else {
            Kind::SessionInfo
        }
}

/// Restores the name that the operation replaced.
fn restore_name(reader: &EntryReader, entries: &[EntryIx], chain: &mut Chain) -> io::Result<()> {
    let session = chain.session;
    let Some(&renamed) = entries.iter().find(|&&ix| is_name(session, ix)) else {
        return Ok(());
    };
    let field = |ix: EntryIx, keys: [&str; 2]| {
        let found = |entry: Raw| {
            keys.into_iter()
                .find_map(|key| entry.get_text(key).map(Text::into_owned))
        };
        reader.with_entry(ix, found).map(Option::unwrap_or_default)
    };
    let earlier = (0..entries[0].at())
        .rev()
        .map(EntryIx::new)
        .find(|&ix| is_name(session, ix));
    let old = match earlier {
        Some(ix) => field(ix, ["name", "title"])?,
        None => field(renamed, ["previousTitle"; 2])?,
    };
    let now = session.name();
    if now.as_ref().map_or(old.is_empty(), |now| *now == old) {
        return Ok(());
    }
    chain.add((session.agent().name_entry)(&old, now.as_ref()));
    chain.change.title_line = (session.agent().title_line)(&old, &chain.fresh.timestamp());
    Ok(())
}

/// Shows the targets of edits as they were seen before.
fn restore_edits(reader: &EntryReader, entries: &[EntryIx], chain: &mut Chain) -> io::Result<()> {
    let session = chain.session;
    let target = |edit: EntryIx| named(reader, edit, "targetId");
    let is_edit = |ix: &EntryIx| session.entry(*ix).kind == Kind::ContextEdit;
    let mut earlier = HashMap::default();
    for edit in session
        .upwards(session.entry(entries[0]).parent)
        .filter(is_edit)
    {
        earlier.entry(target(edit)?).or_insert(edit);
    }
    let mut seen = HashSet::default();
    for edit in entries.iter().copied().filter(is_edit) {
        let Some(edited) = target(edit)?.filter(|&edited| seen.insert(edited)) else {
            continue;
        };
        let before = match earlier.get(&Some(edited)) {
            Some(&edit) => replaced(reader, edit)?,
            None => stored(reader, edited)?,
        };
        show(chain, edited, before);
    }
    Ok(())
}
