//! Moves the leaf permanently, by appending a mark.
//!
//! The agents keep the current position in memory, and write nothing when it moves. pisess appends
//! a mark below the new position: a `custom` entry of a type of its own, which is not sent to a
//! model. As the last entry of the file, the mark becomes the leaf.

use super::chain::Chain;
use super::{IdSource, parent_id};
use crate::ops::plan::Change;
use crate::session::Session;
use crate::session::entry::{EntryIx, Flags, Kind, MOVE_MARK_TYPE};
use crate::session::labels::Labels;
use crate::session::read::entry_reader::{EntryReader, resolve_member};
use crate::session::reference::Position;
use crate::session::tree::Ancestry;
use pisess_json::Raw;
use pisess_json::string::encode_to_vec;
use pisess_json::text::Text;
use pisess_json::write::Object;
use std::cell::OnceCell;
use std::io;

/// A label that is set together with a move of the leaf.
#[derive(Clone, Copy, Debug)]
pub struct LabelToSet<'t> {
    /// The entry to label.
    pub entry: EntryIx,
    /// The name of the label.
    pub name: &'t Text<'t>,
}

/// Plans a move of the leaf, where the conversation goes on, to a position. The move is recorded in
/// a mark: an entry that becomes the leaf itself, because the agents take the last entry of the
/// file for the leaf.
///
/// A mark is added unless the leaf is already at the position, and the label unless the entry
/// already has it. If there is nothing to do, the change is empty.
pub fn switch(
    reader: &EntryReader,
    position: Position,
    label: Option<LabelToSet>,
    id_source: &mut IdSource,
) -> io::Result<Change> {
    let session = reader.session();
    let needs_mark = !is_leaf_at(reader, position)?;
    let parent = if needs_mark {
        position
    } else {
        session.leaf.into()
    };
    let mut chain = Chain::with_parent(session, parent, id_source);
    if needs_mark {
        let from = parent_id(session, session.leaf.into());
        let to = parent_id(session, position);
        chain.add_entry(new_mark(from.as_ref(), to.as_ref(), &[]));
    }
    if let Some(LabelToSet { entry, name }) = label {
        let old_name = Labels::new(session).get(entry);
        if old_name.as_ref() != Some(name) {
            let current_time = None;
            chain.add_label(&session.id(entry), Some(name), current_time);
        }
    }
    Ok(chain.change)
}

/// Whether a position is the leaf, or only marks and labels, which a model does not see, are
/// between the position and the leaf. Then a switch to the position would change nothing for the
/// model.
fn is_leaf_at(reader: &EntryReader, position: Position) -> io::Result<bool> {
    let session = reader.session();
    // Walks upwards from the leaf, to the position or to the first entry that a model may see.
    let mut current = session.leaf;
    while let Some(ix) = current
        && Position::Entry(ix) != position
        && is_mark_or_label(reader, ix)?
    {
        current = session.entry(ix).parent;
    }
    Ok(Position::from(current) == position)
}

/// A move of the leaf, as recorded in a mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeafMove {
    /// The leaf before the move; `None` if the session has no entry with the recorded id.
    pub from: Option<Position>,
    /// The new position; `None` if the session has no entry with the recorded id.
    pub to: Option<Position>,
    /// The ids of the entries that the move undoes, if the mark is of `pisess undo`; otherwise
    /// empty.
    pub undone_ids: Vec<Text<'static>>,
}

/// Returns the move of the leaf that an entry records; `None` if it is not a mark, the entry in
/// which pisess records a move. Only lines of marks are read.
pub fn read_move(reader: &EntryReader, ix: EntryIx) -> io::Result<Option<LeafMove>> {
    let session = reader.session();
    if !session.entry(ix).flags.contains(Flags::MOVE_MARK) {
        return Ok(None);
    }
    reader
        .with_entry(ix, |entry| {
            let data = entry.get("data").unwrap_or(Raw::NULL);
            let mut undone_ids = Vec::new();
            for id in data.get("undid").unwrap_or(Raw::NULL).items() {
                undone_ids.extend(id.text().map(Text::into_owned));
            }
            LeafMove {
                from: recorded_position(session, data.get("from")),
                to: recorded_position(session, data.get("to")),
                undone_ids,
            }
        })
        .map(Some)
}

/// Returns the position with the id that a mark records; `null` is the root. Returns `None` if the
/// session has no entry with this id.
fn recorded_position(session: &Session, id: Option<Raw>) -> Option<Position> {
    let id = id?;
    if id.is_null() {
        return Some(Position::Root);
    }
    let ix = session.find_entry(&id.text()?)?;
    Some(Position::Entry(ix))
}

/// Whether an entry is a mark.
pub fn is_mark(reader: &EntryReader, ix: EntryIx) -> io::Result<bool> {
    read_move(reader, ix).map(|moved| moved.is_some())
}

/// Returns the nearest entry at or above a position that is not a mark; the root if there is none.
pub fn skip_marks(reader: &EntryReader, position: Position) -> io::Result<Position> {
    skip_upwards(reader.session(), position, |ix| is_mark(reader, ix))
}

/// Returns the nearest entry at or above a position that is neither a mark nor a label; the root if
/// there is none.
pub fn skip_marks_and_labels(reader: &EntryReader, position: Position) -> io::Result<Position> {
    skip_upwards(reader.session(), position, |ix| {
        is_mark_or_label(reader, ix)
    })
}

/// Returns the nearest entry at or above a position for which `is_skipped` is false; the root if
/// there is none.
fn skip_upwards(
    session: &Session,
    position: Position,
    is_skipped: impl Fn(EntryIx) -> io::Result<bool>,
) -> io::Result<Position> {
    let mut current = position;
    while let Position::Entry(ix) = current
        && is_skipped(ix)?
    {
        current = session.entry(ix).parent.into();
    }
    Ok(current)
}

fn is_mark_or_label(reader: &EntryReader, ix: EntryIx) -> io::Result<bool> {
    Ok(reader.session().entry(ix).kind == Kind::Label || is_mark(reader, ix)?)
}

/// Returns the leaf as it was just before an entry was appended. It is determined by the entries
/// before it in the file; before the first entry, the leaf was the root.
pub fn leaf_before(reader: &EntryReader, ix: EntryIx) -> io::Result<Position> {
    let mut previous = ix.previous();
    while let Some(earlier) = previous {
        // An entry without an id is never the leaf.
        if !reader.session().entry(earlier).id.is_empty() {
            return leaf_after(reader, earlier);
        }
        previous = earlier.previous();
    }
    Ok(Position::Root)
}

/// Returns the leaf as it was just after an entry was appended: the entry itself or, for a `leaf`
/// record, its target.
fn leaf_after(reader: &EntryReader, ix: EntryIx) -> io::Result<Position> {
    if reader.session().entry(ix).kind != Kind::Leaf {
        return Ok(Position::Entry(ix));
    }
    let target = resolve_member(reader, ix, "targetId")?;
    Ok(target.into())
}

/// Returns the leaf before its last move; `None` if it never moved. The leaf is the entry that the
/// conversation continues.
///
/// The leaf moves if the user goes to another entry of the tree. Either pisess has recorded this in
/// a mark, or the agent has then appended an entry elsewhere than below the leaf of that time. The
/// last such entry of the file shows the last move.
///
/// If the leaf before the move was itself a mark, the entry above the mark is returned.
pub fn previous_leaf(reader: &EntryReader) -> io::Result<Option<Position>> {
    let session = reader.session();
    // Computed when it is first needed, because it takes time and most searches do without it.
    let ancestry = OnceCell::new();
    for ix in session.entry_indexes().rev() {
        // An entry without an id is never the leaf, so it moves nothing.
        if session.entry(ix).id.is_empty() {
            continue;
        }
        let leaf_before_move = match read_move(reader, ix)? {
            Some(mark) => leaf_before_mark(reader, ix, &mark)?,
            None => leaf_before_jump(reader, ix, &ancestry)?,
        };
        if let Some(position) = leaf_before_move {
            return skip_marks(reader, position).map(Some);
        }
    }
    Ok(None)
}

/// Returns the leaf before the move that a mark records; `None` if the mark does not move the leaf.
/// `ix` is the entry of the mark.
fn leaf_before_mark(
    reader: &EntryReader,
    ix: EntryIx,
    mark: &LeafMove,
) -> io::Result<Option<Position>> {
    // A mark of `undo` does not move the leaf if it only undoes a label, a name or an edit.
    if let Some(old_leaf) = mark.from {
        let moves_leaf = mark.to != Some(old_leaf);
        return Ok(if moves_leaf { Some(old_leaf) } else { None });
    }

    // The session lacks the entry that was the leaf. So the leaf is taken from the lines before the
    // mark, and the new leaf from the parent of the mark.
    let old_leaf = leaf_before(reader, ix)?;
    let new_leaf = Position::from(reader.session().entry(ix).parent);
    let moves_leaf = new_leaf != old_leaf;
    Ok(if moves_leaf { Some(old_leaf) } else { None })
}

/// Returns the leaf that the user left by a move in an agent, right before the agent appended the
/// entry `ix`; `None` if the user did not move. The entry is not a mark of pisess.
///
/// An agent does not record where it moved. A move shows when the next entry is not a child of the
/// leaf of that time, or when the agent sets another leaf in a `leaf` record.
///
/// `ancestry` is a cache for all calls with the same session.
fn leaf_before_jump(
    reader: &EntryReader,
    ix: EntryIx,
    ancestry: &OnceCell<Ancestry>,
) -> io::Result<Option<Position>> {
    let session = reader.session();
    let old_leaf = leaf_before(reader, ix)?;
    let new_leaf = leaf_after(reader, ix)?;
    // A `leaf` record sets the leaf to its target. Any other entry continues from its parent.
    let continued_from = if session.entry(ix).kind == Kind::Leaf {
        new_leaf
    } else {
        session.entry(ix).parent.into()
    };
    // Without a move, an entry continues from the leaf.
    if continued_from == old_leaf {
        return Ok(None);
    }
    let Position::Entry(new_leaf) = new_leaf else {
        // The target of a `leaf` record is the root, or is not in the session: no entry to show.
        return Ok(None);
    };
    if continues_above_notes(reader, old_leaf, new_leaf, ancestry)? {
        return Ok(None);
    }
    Ok(Some(old_leaf))
}

/// Whether `new_leaf` is below the nearest entry at or above `old_leaf` that is neither a label nor
/// a mark. The agent has then not moved: another program has appended the labels and marks while
/// the agent was running, and the agent continued from its own leaf, which is above them.
///
/// ```text
/// a ── label (of another program)       a is the leaf of the agent
/// └─── b (new_leaf)                     the agent continues from it
/// ```
fn continues_above_notes(
    reader: &EntryReader,
    old_leaf: Position,
    new_leaf: EntryIx,
    ancestry: &OnceCell<Ancestry>,
) -> io::Result<bool> {
    let Position::Entry(agent_leaf) = skip_marks_and_labels(reader, old_leaf)? else {
        return Ok(true); // Every entry is below the root.
    };
    let ancestry = ancestry.get_or_init(|| Ancestry::new(reader.session()));
    Ok(ancestry.is_ancestor_or_self(agent_leaf, new_leaf))
}

/// Returns the mark of a move from one position to another, given by their ids; `None` is the root.
/// `undone_ids` are the ids of the entries that an `undo` undoes; empty for any other move.
pub(super) fn new_mark(from: Option<&Text>, to: Option<&Text>, undone_ids: &[Text]) -> Object {
    let undone_ids: Vec<_> = undone_ids.iter().map(encode_to_vec).collect();
    let data = Object::new()
        .text_or_null("from", from)
        .text_or_null("to", to)
        .json_array("undid", &undone_ids);
    Object::new()
        .str("type", "custom")
        .str("customType", MOVE_MARK_TYPE)
        .json("data", &data.finish())
}
