//! A lasting move of the leaf.
//!
//! The agents keep the current position in memory and write nothing when it moves. pisess appends an entry,
//! the mark, at the new position: the last entry of the file is the leaf, and no model sees a `custom` entry
//! of an unknown type.

use super::{IdSource, label, parent_id};
use crate::ops::plan::{Change, NewEntry};
use crate::session::Session;
use crate::session::entry::{EntryIx, Kind};
use crate::session::labels::Labels;
use crate::session::read::entry_reader::EntryReader;
use crate::session::reference::Position;
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_json::write::Object;
use std::io;

/// The `customType` of a mark.
pub const MARK: &str = "pisess.switch";

/// The parameters of a move.
#[derive(Clone, Copy, Debug)]
pub struct Switch<'a> {
    /// The new position.
    pub place: Position,
    /// An entry to be labelled, and its label.
    pub label: Option<(EntryIx, &'a Text<'a>)>,
}

/// Returns a mark at the position, unless the leaf is there already, and the label, unless it is set already;
/// the change is empty if there is nothing to do.
///
/// # Errors
/// If a line cannot be read.
pub fn switch(
    session: &Session,
    bodies: &dyn EntryReader,
    switch: &Switch,
    fresh: &mut IdSource,
) -> io::Result<Change> {
    let mut change = Change::default();
    let mut leaf = parent_id(session, session.leaf).map(Text::into_owned);
    if !is_at(session, bodies, switch.place)? {
        let (id, to) = (fresh.entry_id(session), parent_id(session, switch.place));
        let mark = mark(leaf.as_ref(), to.as_ref(), id, &fresh.timestamp());
        leaf = Some(mark.id.clone());
        change.entries.push(mark);
    }
    if let Some((target, name)) =
        switch.label.filter(|&(ix, name)| Labels::new(session).name(ix).as_ref() != Some(name))
    {
        let (id, target) = (fresh.entry_id(session), session.id(target));
        change.entries.push(label::entry(id, leaf.as_ref(), &fresh.timestamp(), &target, Some(name)));
    }
    Ok(change)
}

/// Whether the position is the leaf, or only marks and labels lie between the two.
fn is_at(session: &Session, bodies: &dyn EntryReader, place: Position) -> io::Result<bool> {
    let mut at = session.leaf;
    while at != place {
        match at {
            Some(ix) if is_passing(session, bodies, ix)? => at = session.entry(ix).parent,
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// Returns the nearest entry at or above a position that is neither a mark nor a label.
///
/// # Errors
/// If a line cannot be read.
pub fn behind_notes(session: &Session, bodies: &dyn EntryReader, place: Position) -> io::Result<Position> {
    let mut at = place;
    while let Some(ix) = at
        && is_passing(session, bodies, ix)?
    {
        at = session.entry(ix).parent;
    }
    Ok(at)
}

fn is_passing(session: &Session, bodies: &dyn EntryReader, ix: EntryIx) -> io::Result<bool> {
    Ok(session.entry(ix).kind == Kind::Label || is_mark(session, bodies, ix)?)
}

/// Whether an entry is a mark.
///
/// # Errors
/// If its line cannot be read.
pub fn is_mark(session: &Session, bodies: &dyn EntryReader, ix: EntryIx) -> io::Result<bool> {
    if session.entry(ix).kind != Kind::Custom {
        return Ok(false);
    }
    let line = bodies.line(ix)?;
    Ok(Raw::checked(line.trim_ascii()).get("customType").is_some_and(|kind| kind.is(MARK)))
}

/// Returns a mark, in the agents' key order for a `custom` entry.
pub fn mark(from: Option<&Text>, to: Option<&Text>, id: String, timestamp: &str) -> NewEntry {
    let data = Object::new().text_or_null("from", from).text_or_null("to", to).finish();
    let line = Object::new()
        .str("type", "custom")
        .str("customType", MARK)
        .json("data", &data)
        .str("id", &id)
        .text_or_null("parentId", to)
        .str("timestamp", timestamp)
        .finish();
    NewEntry { id: Text::from(id), line }
}
