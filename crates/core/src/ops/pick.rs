//! Copies entries and chains them under another position.
//!
//! A copy has a new id and the current time; the message in it keeps its own time. If an entry that
//! a copy refers to is copied as well, the reference becomes one to the copy. An assistant message
//! with tool calls is copied with their results, and a result with the message that made the call,
//! because a model's API accepts neither alone.
//!
//! ```text
//!  a ── call ── r1 ── r2 ── b          pick r2, b onto y
//!   └── x ── y ── call' ── r1' ── r2' ── b'
//! ```

use super::edit::call_ids;
use super::{IdSource, Refusal, first_staying, nearest, parent_id};
use crate::agents::oh_my_pi::native;
use crate::ops::plan::{Change, NewEntry};
use crate::session::Session;
use crate::session::entry::{EntryIx, Kind, Role};
use crate::session::read::entry_reader::{EntryReader, named};
use crate::session::reference::Position;
use crate::session::tree::{Ancestry, Tree, active};
use foldhash::{HashMap, HashSet};
use pisess_json::Raw;
use pisess_json::edit::Edit;
use pisess_json::string::encoded;
use pisess_json::text::Text;
use std::collections::BTreeSet;
use std::io;

/// Returns the chosen entries and those that they need, in tree order. A label of a picked entry is
/// left out: labels are set anew by those who want them.
pub fn needed(reader: &EntryReader, chosen: &[EntryIx]) -> Result<Vec<EntryIx>, Refusal> {
    let session = reader.session();
    if let Some(&record) = chosen
        .iter()
        .find(|&&ix| session.entry(ix).kind == Kind::Leaf)
    {
        return Err(Refusal::new(format!(
            "{} is a leaf record, not an entry",
            session.id(record)
        )));
    }
    let tree = Tree::new(session);
    let chosen: BTreeSet<_> = chosen.iter().copied().collect();
    let mut picked = with_calls(reader, &tree, &chosen)?;
    let labels = picked
        .iter()
        .copied()
        .filter(|&ix| session.entry(ix).kind == Kind::Label);
    for label in labels.collect::<Vec<_>>() {
        let target = named(reader, label, "targetId")?;
        if !target.is_some_and(|target| picked.contains(&target)) {
            return Err(Refusal::with_hint(
                format!("{} labels an entry that is not picked", session.id(label)),
                "labels are not copied; label the copy with `pisess label`",
            ));
        }
        picked.remove(&label);
    }
    Ok(tree.walk(&[]).filter(|ix| picked.contains(ix)).collect())
}

/// Copies the entries, which are in tree order, under `onto`.
pub fn copied(
    reader: &EntryReader,
    picked: &[EntryIx],
    onto: Position,
    fresh: &mut IdSource,
) -> Result<Change, Refusal> {
    let session = reader.session();
    let mut graft = Graft {
        session,
        reader,
        ancestry: Ancestry::new(session),
        above: session.path(onto).into_iter().collect(),
        ids: HashMap::default(),
        parent: parent_id(session, onto).map(Text::into_owned),
    };
    for &ix in picked {
        graft.ids.insert(ix, Text::from(fresh.entry_id(session)));
    }
    let mut entries = Vec::new();
    for &ix in picked {
        entries.push(graft.copy(ix, &fresh.timestamp())?);
    }
    Ok(Change {
        entries,
        ..Change::default()
    })
}

/// Returns the chosen entries with the calls of chosen results and the results of chosen calls.
fn with_calls(
    reader: &EntryReader,
    tree: &Tree,
    chosen: &BTreeSet<EntryIx>,
) -> Result<BTreeSet<EntryIx>, Refusal> {
    let session = reader.session();
    let mut picked = chosen.clone();
    let is_turn = |ix| session.is_message(ix, Role::Assistant);
    let (mut calling, mut turns) = (BTreeSet::new(), HashMap::default());
    for &ix in chosen {
        if is_turn(ix) {
            calling.insert(ix);
        } else if session.is_message(ix, Role::ToolResult) {
            let turn = nearest(session, Some(ix), &mut turns, is_turn);
            calling.insert(turn.ok_or_else(|| without_call(session, ix))?);
        }
    }
    let is_active = active(session, session.leaf);
    let mut answering = HashSet::default();
    for &turn in &calling {
        for (_, results) in results_of(reader, tree, turn)? {
            let mut named = results.iter().copied().filter(|ix| chosen.contains(ix));
            let result = match (named.next(), named.next()) {
                (Some(one), Some(other)) => {
                    let [one, other] = [one, other].map(|ix| session.id(ix));
                    let what = format!("{one} and {other} answer the same tool call");
                    return Err(Refusal::with_hint(what, "pick one of them"));
                }
                (Some(one), None) => Some(one),
                // If a call was answered again on another branch, the result on the current path
                // counts.
                _ => results
                    .iter()
                    .copied()
                    .find(|ix| is_active[ix.at()])
                    .or(results.last().copied()),
            };
            answering.extend(result);
        }
    }
    let mut results = chosen
        .iter()
        .filter(|&&ix| session.is_message(ix, Role::ToolResult));
    if let Some(&alone) = results.find(|ix| !answering.contains(ix)) {
        return Err(without_call(session, alone));
    }
    picked.extend(calling);
    picked.extend(answering);
    Ok(picked)
}

fn without_call(session: &Session, result: EntryIx) -> Refusal {
    Refusal::new(format!(
        "{}: its tool call is not above it",
        session.id(result)
    ))
}

/// Returns the calls of an assistant message by id, each with its results before the next assistant
/// message, on all branches.
fn results_of(
    reader: &EntryReader,
    tree: &Tree,
    turn: EntryIx,
) -> io::Result<HashMap<Text<'static>, Vec<EntryIx>>> {
    let session = reader.session();
    let mut calls: HashMap<_, Vec<_>> = HashMap::default();
    reader.with_message(turn, |message| {
        calls.extend(call_ids(message.get("content")).map(|id| (id.into_owned(), Vec::new())));
    })?;
    let mut below = if calls.is_empty() {
        Vec::new()
    } else {
        tree.children(turn).to_vec()
    };
    while let Some(ix) = below.pop() {
        if session.is_message(ix, Role::Assistant) {
            continue;
        }
        if session.is_message(ix, Role::ToolResult) {
            reader.with_message(ix, |message| {
                let id = message
                    .get_text("toolCallId")
                    .unwrap_or_default()
                    .into_owned();
                calls.entry(id).and_modify(|results| results.push(ix));
            })?;
        }
        below.extend(tree.children(ix));
    }
    calls.values_mut().for_each(|results| results.sort());
    Ok(calls)
}

/// Copies in progress.
struct Graft<'a> {
    session: &'a Session,
    reader: &'a EntryReader<'a>,
    ancestry: Ancestry,
    /// Entries on the path to the target position.
    above: HashSet<EntryIx>,
    /// The copies' ids.
    ids: HashMap<EntryIx, Text<'static>>,
    /// The parent of the next copy.
    parent: Option<Text<'static>>,
}

impl Graft<'_> {
    /// Returns a copy of an entry, and makes it the parent of the next.
    fn copy(&mut self, ix: EntryIx, timestamp: &str) -> Result<NewEntry, Refusal> {
        let line = self.reader.line(ix)?;
        let entry = Raw::checked(line.trim_ascii());
        let mut edit = Edit::new(entry.bytes()).map_err(io::Error::from)?;
        let id = self.ids[&ix].clone();
        edit.set("id", &encoded(&id));
        edit.set(
            "parentId",
            &self
                .parent
                .as_ref()
                .map_or_else(|| b"null".to_vec(), encoded),
        );
        edit.set("timestamp", &encoded(&Text::from(timestamp)));
        for (key, name) in self.names(ix, entry)? {
            edit.set(key, &encoded(&name));
        }
        self.parent = Some(id.clone());
        Ok(NewEntry {
            id,
            line: edit.finish(),
        })
    }

    /// Returns the members of a copy that refer to other entries, with their new values.
    fn names(
        &self,
        ix: EntryIx,
        entry: Raw,
    ) -> Result<Vec<(&'static str, Text<'static>)>, Refusal> {
        let find = |key: &str| entry.get_text(key).and_then(|id| self.session.find(&id));
        let copy = |named: Position| named.and_then(|named| self.ids.get(&named)).cloned();
        let mut names = Vec::new();
        match self.session.entry(ix).kind {
            Kind::ContextEdit => match (find("targetId"), copy(find("targetId"))) {
                (_, Some(id)) => names.push(("targetId", id)),
                (Some(target), None) if self.above.contains(&target) => {}
                _ => {
                    return Err(Refusal::with_hint(
                        format!(
                            "{} edits an entry that is not above the target",
                            self.session.id(ix)
                        ),
                        "pick the entry that it edits, too",
                    ));
                }
            },
            Kind::BranchSummary => {
                let from = entry.get_text("fromId").unwrap_or_default();
                let begins = self
                    .session
                    .parent_id(ix)
                    .unwrap_or_else(|| Text::from("root"));
                if self.session.agent().summarizes_from_start && from == begins {
                    names.push((
                        "fromId",
                        self.parent.clone().unwrap_or_else(|| Text::from("root")),
                    ));
                } else {
                    names.extend(copy(find("fromId")).map(|id| ("fromId", id)));
                }
            }
            Kind::Compaction => {
                let kept = find("firstKeptEntryId")
                    .or_else(|| native::first_kept(self.session, ix, entry));
                names.extend(
                    self.first_kept(ix, kept)?
                        .map(|id| ("firstKeptEntryId", id)),
                );
                let through = "providerReplayThroughEntryId";
                names.extend(copy(find(through)).map(|id| (through, id)));
            }
            _ => {}
        }
        Ok(names)
    }

    /// Returns the new `firstKeptEntryId` of a copied compaction, or `None` if it stays the same. A
    /// compaction that keeps nothing refers to itself. If the first kept entry is a label, which is
    /// not copied, the next entry that is not a label replaces it.
    fn first_kept(
        &self,
        compaction: EntryIx,
        kept: Position,
    ) -> Result<Option<Text<'static>>, Refusal> {
        let nothing = Some(self.ids[&compaction].clone());
        let is_kept =
            |kept: EntryIx| kept != compaction && self.ancestry.is_above(kept, compaction);
        let Some(kept) = kept.filter(|&kept| is_kept(kept)) else {
            return Ok(nothing);
        };
        let mut first = kept;
        if self.session.entry(kept).kind == Kind::Label && !self.above.contains(&kept) {
            let stays = |ix: EntryIx| self.session.entry(ix).kind != Kind::Label;
            first = first_staying(self.session, compaction, kept, stays).unwrap_or(kept);
        }
        match self.ids.get(&first) {
            _ if first == compaction => Ok(nothing),
            Some(id) => Ok(Some(id.clone())),
            None if self.above.contains(&first) => Ok(None),
            None => {
                let [compaction, first] = [compaction, first].map(|ix| self.session.id(ix));
                Err(Refusal::with_hint(
                    format!(
                        "the compaction {compaction} keeps entries from {first} on, which is not picked"
                    ),
                    "pick the entries that it keeps, too, or merge the branch with `pisess merge`",
                ))
            }
        }
    }
}
