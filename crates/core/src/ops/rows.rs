//! The rows of the tree for people, in parts: role, outcome, text. Commands draw them on a
//! terminal, `export` on a page.

use super::branches::notes_at_leaf;
use super::edit::{content, stored};
use super::tree::Drawing;
use crate::agents::pi::edits::Edit;
use crate::session::Session;
use crate::session::entry::{Entry, EntryIx, Flags, Kind, Role};
use crate::session::read::entry_reader::EntryReader;
use crate::session::reference::Position;
use crate::session::tree::{Tree, active};
use foldhash::HashMap;
use pisess_json::Raw;
use pisess_json::text::Text;
use std::io;
use std::ops::Range;

/// The minimum number of consecutive tool rows that are folded.
const MANY: usize = 3;

/// The author of a row, which decides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tone {
    /// The user.
    User,
    /// The model.
    Assistant,
    /// A tool.
    Tool,
    /// A compaction or a branch summary.
    Summary,
    /// Settings, labels and all else.
    Note,
}

/// How a turn, a tool or a command ended, if not normally.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ending {
    /// It failed.
    Failed,
    /// The user aborted it.
    Aborted,
}

/// A row in parts.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// Its author.
    pub tone: Tone,
    /// Its role or kind: `user`, `bash`, `model`.
    pub role: Text<'a>,
    /// How it ended, if not normally.
    pub ending: Option<Ending>,
    /// Its text.
    pub body: Text<'a>,
    /// The byte range of a file path in the body, to truncate it in its middle; empty if there is
    /// none.
    pub path: Range<usize>,
}

impl Ending {
    /// Returns how an entry ended, if not normally.
    pub fn of(entry: &Entry) -> Option<Ending> {
        let endings = [
            (Flags::FAILED, Ending::Failed),
            (Flags::ABORTED, Ending::Aborted),
        ];
        endings
            .into_iter()
            .find(|(flag, _)| entry.flags.has(*flag))
            .map(|(_, ending)| ending)
    }
}

impl Drawing<'_> {
    /// Returns the row of an entry in parts.
    pub fn row(&self, ix: EntryIx) -> Row<'_> {
        let entry = self.session.entry(ix);
        let tone = tone(entry.kind, entry.role);
        let ending = Ending::of(entry);
        let (role, body) = self.session.row_parts(ix);
        if let Some(call) = self.call(ix) {
            let name = Some(self.session.text(call.name)).filter(|name| !name.is_empty());
            let (role, body) = (name.unwrap_or(role), self.session.text(call.row));
            let path = usize::from(call.path.0)..usize::from(call.path.1);
            return Row {
                tone,
                role,
                ending,
                body,
                path,
            };
        }
        if let Some(rendered) = self.rendered.get(&ix) {
            // The row of a custom entry contains only its type.
            let role = if entry.kind == Kind::Custom {
                body
            } else {
                role
            };
            return Row {
                tone,
                role,
                ending,
                body: rendered.borrowed(),
                path: 0..0,
            };
        }
        if entry.flags.has(Flags::SILENT) && body == "(no content)" {
            return Row {
                tone,
                role,
                ending,
                body: self.called(ix),
                path: 0..0,
            };
        }
        // The ending already shows that the message was aborted.
        let ended =
            ending == Some(Ending::Aborted) && (body == "(aborted)" || body == "Operation aborted");
        let body = if ended { Text::default() } else { body };
        Row {
            tone,
            role,
            ending,
            body,
            path: 0..0,
        }
    }

    /// Returns a text that lists the tools called by an assistant message without text.
    fn called(&self, ix: EntryIx) -> Text<'static> {
        let mut text = Text::default();
        for (at, call) in self.session.collected.calls_of(ix).iter().enumerate() {
            text.push_str(if at == 0 { "(calls " } else { ", " });
            text.push(&self.session.text(call.name));
        }
        text.push_str(if text.is_empty() { "(no content)" } else { ")" });
        text
    }
}

/// Returns the author of an entry's row.
pub fn tone(kind: Kind, role: Role) -> Tone {
    match (kind, role) {
        (Kind::Message, Role::User | Role::BashExecution | Role::PythonExecution) => Tone::User,
        (Kind::Message, Role::Assistant) => Tone::Assistant,
        (Kind::Message, Role::ToolResult) => Tone::Tool,
        (Kind::Compaction | Kind::BranchSummary, _) => Tone::Summary,
        _ => Tone::Note,
    }
}

/// Returns the positions that each row to draw represents, by the last of them. A run of at least
/// `MANY` tool results becomes one row; results that are labelled, edited or marked as the leaf
/// stay separate.
pub fn folds(drawing: &Drawing, edits: &HashMap<EntryIx, Edit>) -> Vec<Range<usize>> {
    let session = drawing.session;
    let marked = drawing.marked();
    let is_plain = |ix: EntryIx| {
        session.is_message(ix, Role::ToolResult)
            && marked != Some(ix)
            && drawing.label(ix).is_none()
            && !edits.contains_key(&ix)
    };
    let mut folds: Vec<Range<usize>> = Vec::with_capacity(drawing.places.len());
    let mut run = 0;
    for (at, place) in drawing.places.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| drawing.places[at].entry);
        let goes_on = run > 0
            && !place.connector
            && drawing.above(place.entry) == before
            && before
                .is_some_and(|before| drawing.is_active(before) == drawing.is_active(place.entry));
        run = match (is_plain(place.entry), goes_on) {
            (true, true) => run + 1,
            (true, false) => 1,
            (false, _) => 0,
        };
        match folds.last_mut() {
            Some(fold) if run > MANY => fold.end = at + 1,
            _ => folds.push(at..at + 1),
        }
        if run == MANY {
            folds.truncate(folds.len() - MANY);
            folds.push(at + 1 - MANY..at + 1);
        }
    }
    folds
}

/// Returns the tools of the rows of a fold, in the order of their first occurrence, each with the
/// number of its calls.
pub fn folded_tools<'a>(drawing: &'a Drawing, fold: &Range<usize>) -> Vec<(Text<'a>, usize)> {
    let mut tools: Vec<(Text, usize)> = Vec::new();
    for place in &drawing.places[fold.clone()] {
        let tool = drawing.row(place.entry).role;
        match tools.iter_mut().find(|(known, _)| *known == tool) {
            Some((_, count)) => *count += 1,
            None => tools.push((tool, 1)),
        }
    }
    tools
}

/// Returns the entries whose content is edited for the model (pi's `context_edit`). For an entry on
/// the path to `leaf`, the last edit on that path counts, for any other the last edit in the file.
pub fn edited(reader: &EntryReader, leaf: Position) -> io::Result<HashMap<EntryIx, Edit>> {
    let session = reader.session();
    let mut edits = HashMap::default();
    if !session.agent().follows_edits || !session.has(Kind::ContextEdit) {
        return Ok(edits);
    }
    let is_active = active(session, leaf);
    for ix in session
        .all()
        .filter(|&ix| session.entry(ix).kind == Kind::ContextEdit)
    {
        let line = reader.line(ix)?;
        let line = Raw::checked(line.trim_ascii());
        let Some(target) = line.get_text("targetId").and_then(|id| session.find(&id)) else {
            continue;
        };
        if is_active[target.at()] && !is_active[ix.at()] {
            continue;
        }
        match line.get("replacement") {
            Some(new) if new.is_null() => drop(edits.insert(target, Edit::Omit)),
            // The content that the entry itself has undoes earlier edits.
            Some(new) if content(new.get("content")) != stored(reader, target)? => {
                edits.insert(target, Edit::Replace(ix));
            }
            _ => drop(edits.remove(&target)),
        }
    }
    Ok(edits)
}

/// The size and the age of an entry's subtree, which includes the entry. Notes do not count, except
/// those that are a branch of their own: see `notes_at_leaf`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// The number of entries that are not notes.
    pub entries: u32,
    /// The time of the newest entry that counts; `None` if no time parses.
    pub newest_ms: Option<i64>,
}

/// Returns the extent of each entry.
pub fn extents(session: &Session) -> Vec<Extent> {
    let time = |entry: &Entry| Some(entry.time_ms).filter(|&time| time != Entry::NO_TIME);
    let own = |entry: &Entry| {
        if entry.kind.is_bookkeeping() {
            Extent::default()
        } else {
            Extent {
                entries: 1,
                newest_ms: time(entry),
            }
        }
    };
    let mut extents: Vec<_> = session.entries.iter().map(own).collect();
    let add_to_parent = |ix: EntryIx| {
        let Some(parent) = session.entry(ix).parent else {
            return;
        };
        let below = extents[ix.at()];
        let extent = &mut extents[parent.at()];
        extent.entries += below.entries;
        extent.newest_ms = extent.newest_ms.max(below.newest_ms);
    };
    // Children are added before their parents.
    let order: Vec<_> = Tree::new(session).walk(&[]).collect();
    order.into_iter().rev().for_each(add_to_parent);
    let has_more = |ix: EntryIx| extents[ix.at()].entries > own(session.entry(ix)).entries;
    let notes = notes_at_leaf(session, |ix| extents[ix.at()].entries > 0, has_more);
    if let Some(&leaf) = notes.first() {
        let newest = time(session.entry(leaf));
        for ix in session.upwards(Some(leaf)) {
            let extent = &mut extents[ix.at()];
            extent.newest_ms = extent.newest_ms.max(newest);
        }
    }
    extents
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{Options, load};

    #[test]
    fn extents_do_not_depend_on_the_order_of_lines() {
        let line = |id: &str, parent: &str, second: u32| {
            format!(
                r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-01-01T00:00:0{second}.000Z"}}"#
            )
        };
        let lines = [
            line("a", "null", 1),
            line("b", r#""a""#, 5),
            line("c", r#""b""#, 3),
            line("d", r#""a""#, 2),
        ];
        let header = r#"{"type":"session","version":3,"id":"s"}"#;
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]] {
            let text = order.iter().fold(header.to_owned(), |text, &at: &usize| {
                text + "\n" + &lines[at]
            });
            let session = load(&text.into_bytes(), &Options::default()).unwrap();
            let extents = extents(&session);
            let of = |id: &str| extents[session.find(&Text::from(id)).unwrap().at()];
            let newest = |id: &str| of(id).newest_ms.map(|ms| ms / 1000 % 60);
            assert_eq!(
                ["a", "b", "c", "d"].map(|id| of(id).entries),
                [4, 2, 1, 1],
                "{order:?}"
            );
            assert_eq!(
                ["a", "b", "c", "d"].map(newest),
                [Some(5), Some(5), Some(3), Some(2)],
                "{order:?}"
            );
        }
    }
}
