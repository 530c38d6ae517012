//! A lasting move of the leaf.
//!
//! The agents keep the current position in memory and write nothing when it moves. pisess appends
//! an entry, the mark, at the new position: the last entry of the file is the leaf, and no model
//! sees a `custom` entry of an unknown type.

use super::chain::Chain;
use super::{IdSource, parent_id};
use crate::ops::plan::Change;
use crate::session::Session;
use crate::session::entry::{EntryIx, Kind};
use crate::session::labels::Labels;
use crate::session::read::entry_reader::{EntryReader, resolve_member};
use crate::session::reference::Position;
use crate::session::tree::Ancestry;
use pisess_json::Raw;
use pisess_json::string::encode_to_vec;
use pisess_json::text::Text;
use pisess_json::write::Object;
use std::io;

/// The `customType` of a mark.
pub const MARK_TYPE: &str = "pisess.switch";

/// Returns a mark at the position, unless the leaf is there already, and a label of an entry,
/// unless it is set already; the change is empty if there is nothing to do.
pub fn switch(
    reader: &EntryReader,
    position: Position,
    label: Option<(EntryIx, &Text)>,
    id_source: &mut IdSource,
) -> io::Result<Change> {
    let session = reader.session();
    let moves = !is_leaf_at(reader, position)?;
    let parent = if moves { position } else { session.leaf };
    let mut chain = Chain::with_parent(session, parent, id_source);
    if moves {
        let from = parent_id(session, session.leaf);
        let to = parent_id(session, position);
        chain.add_entry(new_mark(from.as_ref(), to.as_ref(), &[]));
    }
    if let Some((target, name)) = label {
        let old_name = Labels::new(session).get(target);
        if old_name.as_ref() != Some(name) {
            chain.add_label(&session.id(target), Some(name), None);
        }
    }
    Ok(chain.change)
}

/// Whether the position is the leaf, or only marks and labels lie between the two.
fn is_leaf_at(reader: &EntryReader, position: Position) -> io::Result<bool> {
    let session = reader.session();
    let mut current = session.leaf;
    while let Some(ix) = current
        && current != position
        && is_mark_or_label(reader, ix)?
    {
        current = session.entry(ix).parent;
    }
    Ok(current == position)
}

/// A move of the leaf, as its mark records it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeafMove {
    /// The leaf before; `None` if the session has no such entry.
    pub from: Option<Position>,
    /// The new position; `None` if the session has no such entry.
    pub to: Option<Position>,
    /// The ids of the entries that the move takes back, if `pisess undo` made it.
    pub undone_ids: Vec<Text<'static>>,
}

/// Returns the move that an entry records; `None` if it is not a mark.
pub fn read_move(reader: &EntryReader, ix: EntryIx) -> io::Result<Option<LeafMove>> {
    let session = reader.session();
    if session.entry(ix).kind != Kind::Custom {
        return Ok(None);
    }
    reader.with_entry(ix, |entry| {
        entry.get("customType").filter(|kind| kind.is(MARK_TYPE))?;
        let data = entry.get("data").unwrap_or(Raw::NULL);
        let undid = data.get("undid").into_iter().flat_map(Raw::items);
        Some(LeafMove {
            from: recorded_position(session, data.get("from")),
            to: recorded_position(session, data.get("to")),
            undone_ids: undid.filter_map(Raw::text).map(Text::into_owned).collect(),
        })
    })
}

/// Returns the position in a mark: `null` is the root. `None` if the session has no such entry.
fn recorded_position(session: &Session, id: Option<Raw>) -> Option<Position> {
    let id = id?;
    if id.is_null() {
        return Some(None);
    }
    let ix = session.find_entry(&id.text()?)?;
    Some(Some(ix))
}

/// Whether an entry is a mark.
pub fn is_mark(reader: &EntryReader, ix: EntryIx) -> io::Result<bool> {
    read_move(reader, ix).map(|moved| moved.is_some())
}

/// Returns the nearest entry at or above a position that is not a mark.
pub fn skip_marks(reader: &EntryReader, position: Position) -> io::Result<Position> {
    skip_upwards(reader.session(), position, |ix| is_mark(reader, ix))
}

/// Returns the nearest entry at or above a position that is neither a mark nor a label.
pub fn skip_marks_and_labels(reader: &EntryReader, position: Position) -> io::Result<Position> {
    skip_upwards(reader.session(), position, |ix| {
        is_mark_or_label(reader, ix)
    })
}

/// Returns the nearest entry at or above a position for which `is_skipped` is false.
fn skip_upwards(
    session: &Session,
    position: Position,
    is_skipped: impl Fn(EntryIx) -> io::Result<bool>,
) -> io::Result<Position> {
    let mut current = position;
    while let Some(ix) = current
        && is_skipped(ix)?
    {
        current = session.entry(ix).parent;
    }
    Ok(current)
}

fn is_mark_or_label(reader: &EntryReader, ix: EntryIx) -> io::Result<bool> {
    Ok(reader.session().entry(ix).kind == Kind::Label || is_mark(reader, ix)?)
}

/// Returns the leaf as it was before an entry was appended.
pub fn leaf_before(reader: &EntryReader, ix: EntryIx) -> io::Result<Position> {
    let mut earlier = ix.previous();
    while let Some(last) = earlier {
        // An entry without an id is never the leaf.
        if !reader.session().entry(last).id.is_empty() {
            return leaf_after(reader, last);
        }
        earlier = last.previous();
    }
    Ok(None)
}

/// Returns the leaf as it was after an entry was appended: the entry itself, or the target of a
/// `leaf` record.
fn leaf_after(reader: &EntryReader, ix: EntryIx) -> io::Result<Position> {
    if reader.session().entry(ix).kind != Kind::Leaf {
        return Ok(Some(ix));
    }
    resolve_member(reader, ix, "targetId")
}

/// Returns the leaf before its last move to another branch, or to another entry of the same branch.
/// A mark records it; otherwise the order of the file shows it: an entry that does not follow the
/// leaf before it was appended after a move. Returns `None` if the leaf never moved.
pub fn previous_leaf(reader: &EntryReader) -> io::Result<Option<Position>> {
    let session = reader.session();
    let mut ancestry = None;
    for ix in session.entry_indexes().rev() {
        if session.entry(ix).id.is_empty() {
            continue;
        }
        if let Some(from) = leaf_before_move(reader, ix, &mut ancestry)? {
            return skip_marks(reader, from).map(Some);
        }
    }
    Ok(None)
}

/// Returns the leaf before a move that an entry records, or after which it was appended; `None` if
/// there was no move. `ancestry` is computed when it is needed first.
fn leaf_before_move(
    reader: &EntryReader,
    ix: EntryIx,
    ancestry: &mut Option<Ancestry>,
) -> io::Result<Option<Position>> {
    let session = reader.session();
    let before = leaf_before(reader, ix)?;
    let after = leaf_after(reader, ix)?;
    let mark = read_move(reader, ix)?;
    if let Some(mark) = &mark
        && let Some(from) = mark.from
    {
        // A mark of `undo` may only restore a label, a name or an edit.
        let stays = mark.to == Some(from);
        return Ok(if stays { None } else { Some(from) });
    }

    let place = if after == Some(ix) {
        session.entry(ix).parent
    } else {
        after
    };
    if before == place {
        return Ok(None);
    }
    if mark.is_some() {
        return Ok(Some(before));
    }

    // Another program may have appended a label or a mark below the leaf of a running agent.
    let (Some(above), Some(after)) = (skip_marks_and_labels(reader, before)?, after) else {
        return Ok(None);
    };
    let ancestry = ancestry.get_or_insert_with(|| Ancestry::new(session));
    if ancestry.is_ancestor_or_self(above, after) {
        return Ok(None);
    }
    Ok(Some(before))
}

/// Returns a mark of a move, which takes back the entries with the ids `undid`.
pub(super) fn new_mark(from: Option<&Text>, to: Option<&Text>, undid: &[Text]) -> Object {
    let undid: Vec<_> = undid.iter().map(encode_to_vec).collect();
    let data = Object::new()
        .text_or_null("from", from)
        .text_or_null("to", to)
        .json_array("undid", &undid);
    Object::new()
        .str("type", "custom")
        .str("customType", MARK_TYPE)
        .json("data", &data.finish())
}
