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
use super::{IdSource, Refusal, find_upwards, first_staying, parent_id};
use crate::agents::oh_my_pi::native;
use crate::ops::plan::{Change, NewEntry};
use crate::session::Session;
use crate::session::entry::{EntryIx, Kind, Role};
use crate::session::read::entry_reader::{EntryReader, resolve_member};
use crate::session::reference::Position;
use crate::session::tree::{Ancestry, Tree, active_mask};
use foldhash::{HashMap, HashSet};
use pisess_json::Raw;
use pisess_json::edit::Edit;
use pisess_json::string::encode_to_vec;
use pisess_json::text::Text;
use std::collections::BTreeSet;
use std::io;

/// Returns the chosen entries and those that they need, in tree order. A label of a picked entry is
/// left out: labels are set anew by those who want them.
pub fn complete_selection(
    reader: &EntryReader,
    chosen: &[EntryIx],
) -> Result<Vec<EntryIx>, Refusal> {
    let session = reader.session();
    for &ix in chosen {
        if session.entry(ix).kind == Kind::Leaf {
            return Err(Refusal::new(format!(
                "{} is a leaf record, not an entry",
                session.id(ix)
            )));
        }
    }

    let tree = Tree::new(session);
    let chosen: BTreeSet<_> = chosen.iter().copied().collect();
    let mut picked = add_calls_and_results(reader, &tree, &chosen)?;
    for ix in chosen {
        if session.entry(ix).kind != Kind::Label {
            continue;
        }
        let target = resolve_member(reader, ix, "targetId")?;
        if !target.is_some_and(|target| picked.contains(&target)) {
            return Err(Refusal::with_hint(
                format!("{} labels an entry that is not picked", session.id(ix)),
                "labels are not copied; label the copy with `pisess label`",
            ));
        }
        picked.remove(&ix);
    }
    Ok(tree.walk(&[]).filter(|ix| picked.contains(ix)).collect())
}

/// Copies entries, which are in tree order, and chains the copies under `onto`.
pub fn copy_onto(
    reader: &EntryReader,
    picked: &[EntryIx],
    onto: Position,
    id_source: &mut IdSource,
) -> Result<Change, Refusal> {
    let session = reader.session();
    let mut graft = Graft {
        session,
        reader,
        ancestry: Ancestry::new(session),
        target_path: session.path(onto).into_iter().collect(),
        ids: HashMap::default(),
        parent: parent_id(session, onto).map(Text::into_owned),
    };
    for &ix in picked {
        graft
            .ids
            .insert(ix, Text::from(id_source.issue_entry_id(session)));
    }
    let mut entries = Vec::new();
    for &ix in picked {
        entries.push(graft.copy_entry(ix, &id_source.timestamp())?);
    }
    Ok(Change {
        entries,
        ..Change::default()
    })
}

/// Returns the chosen entries with the calls of chosen results and the results of chosen calls.
fn add_calls_and_results(
    reader: &EntryReader,
    tree: &Tree,
    chosen: &BTreeSet<EntryIx>,
) -> Result<BTreeSet<EntryIx>, Refusal> {
    let session = reader.session();
    let is_reply = |ix| session.is_message(ix, Role::Assistant);
    let mut calling_messages = BTreeSet::new();
    let mut nearest_replies = HashMap::default();
    for &ix in chosen {
        if is_reply(ix) {
            calling_messages.insert(ix);
        } else if session.is_message(ix, Role::ToolResult) {
            let Some(reply) = find_upwards(session, Some(ix), &mut nearest_replies, is_reply)
            else {
                return Err(refuse_lone_result(session, ix));
            };
            calling_messages.insert(reply);
        }
    }

    let is_active = active_mask(session, session.leaf);
    let mut answering_results = HashSet::default();
    for &reply in &calling_messages {
        for results in results_by_call(reader, tree, reply)?.into_values() {
            answering_results.extend(choose_result(session, &results, chosen, &is_active)?);
        }
    }
    for &ix in chosen {
        if session.is_message(ix, Role::ToolResult) && !answering_results.contains(&ix) {
            return Err(refuse_lone_result(session, ix));
        }
    }

    let mut picked = chosen.clone();
    picked.extend(calling_messages);
    picked.extend(answering_results);
    Ok(picked)
}

/// Returns the result to copy of those that answer a call, in file order: the chosen one, else the
/// one on the path to the leaf, else the last. `None` if nothing answers it.
fn choose_result(
    session: &Session,
    results: &[EntryIx],
    chosen: &BTreeSet<EntryIx>,
    is_active: &[bool],
) -> Result<Option<EntryIx>, Refusal> {
    let mut chosen_results = results.iter().filter(|ix| chosen.contains(ix));
    if let Some(&one) = chosen_results.next() {
        if let Some(&other) = chosen_results.next() {
            return Err(Refusal::with_hint(
                format!(
                    "{} and {} answer the same tool call",
                    session.id(one),
                    session.id(other)
                ),
                "pick one of them",
            ));
        }
        return Ok(Some(one));
    }

    // A call may have been answered again on another branch.
    let on_path = results.iter().find(|ix| is_active[ix.index()]);
    Ok(on_path.or(results.last()).copied())
}

fn refuse_lone_result(session: &Session, result: EntryIx) -> Refusal {
    Refusal::new(format!(
        "{}: its tool call is not above it",
        session.id(result)
    ))
}

/// Returns the calls of an assistant message by id, each with its results before the next assistant
/// message, on all branches, in file order.
fn results_by_call(
    reader: &EntryReader,
    tree: &Tree,
    reply: EntryIx,
) -> io::Result<HashMap<Text<'static>, Vec<EntryIx>>> {
    let session = reader.session();
    let mut calls: HashMap<Text, Vec<EntryIx>> = HashMap::default();
    reader.with_message(reply, |message| {
        for id in call_ids(message.get("content")) {
            calls.insert(id.into_owned(), Vec::new());
        }
    })?;
    if calls.is_empty() {
        return Ok(calls);
    }

    let mut pending = tree.children(reply).to_vec();
    while let Some(ix) = pending.pop() {
        if session.is_message(ix, Role::Assistant) {
            continue;
        }
        if session.is_message(ix, Role::ToolResult) {
            let id = reader.with_message(ix, |message| {
                message.get_text("toolCallId").map(Text::into_owned)
            })?;
            if let Some(results) = calls.get_mut(&id.unwrap_or_default()) {
                results.push(ix);
            }
        }
        pending.extend(tree.children(ix));
    }

    for results in calls.values_mut() {
        results.sort();
    }
    Ok(calls)
}

/// A member that refers to another entry.
struct Reference {
    key: &'static str,
    id: Text<'static>,
}

impl Reference {
    fn new(key: &'static str, id: Text<'static>) -> Reference {
        Reference { key, id }
    }
}

/// Copies in progress.
struct Graft<'a> {
    session: &'a Session,
    reader: &'a EntryReader<'a>,
    ancestry: Ancestry,
    /// Entries on the path to the target position.
    target_path: HashSet<EntryIx>,
    /// The copies' ids.
    ids: HashMap<EntryIx, Text<'static>>,
    /// The parent of the next copy.
    parent: Option<Text<'static>>,
}

impl Graft<'_> {
    /// Returns a copy of an entry, and makes it the parent of the next.
    fn copy_entry(&mut self, ix: EntryIx, timestamp: &str) -> Result<NewEntry, Refusal> {
        let line = self.reader.read_line(ix)?;
        let entry = Raw::from_checked(line.trim_ascii());
        let mut edit = Edit::new(entry.bytes()).map_err(io::Error::from)?;
        let id = self.ids[&ix].clone();
        let parent_id = match &self.parent {
            Some(parent) => encode_to_vec(parent),
            None => b"null".to_vec(),
        };
        edit.set("id", &encode_to_vec(&id));
        edit.set("parentId", &parent_id);
        edit.set("timestamp", &encode_to_vec(&Text::from(timestamp)));
        for reference in self.changed_references(ix, entry)? {
            edit.set(reference.key, &encode_to_vec(&reference.id));
        }
        self.parent = Some(id.clone());
        Ok(NewEntry {
            id,
            line: edit.finish(),
        })
    }

    /// Returns the members of a copy that refer to other entries, with their new values. Members
    /// that stay the same are not among them.
    fn changed_references(&self, ix: EntryIx, entry: Raw) -> Result<Vec<Reference>, Refusal> {
        match self.session.entry(ix).kind {
            Kind::ContextEdit => self.edit_references(ix, entry),
            Kind::BranchSummary => Ok(self.summary_references(ix, entry)),
            Kind::Compaction => self.compaction_references(ix, entry),
            _ => Ok(Vec::new()),
        }
    }

    /// An edit refers to the entry that it edits, which must be copied or be above the target.
    fn edit_references(&self, ix: EntryIx, entry: Raw) -> Result<Vec<Reference>, Refusal> {
        let target = self.find_referenced(entry, "targetId");
        if let Some(id) = self.copy_id(target) {
            return Ok(vec![Reference::new("targetId", id)]);
        }
        if target.is_some_and(|target| self.target_path.contains(&target)) {
            return Ok(Vec::new());
        }
        Err(Refusal::with_hint(
            format!(
                "{} edits an entry that is not above the target",
                self.session.id(ix)
            ),
            "pick the entry that it edits, too",
        ))
    }

    /// A summary of a branch refers to the end of the branch, or to where it begins
    /// (`AgentConstants::from_id_is_branch_start`).
    fn summary_references(&self, ix: EntryIx, entry: Raw) -> Vec<Reference> {
        let from = entry.get_text("fromId").unwrap_or_default();
        let start = self.session.parent_id(ix);
        let start = start.unwrap_or_else(|| Text::from("root"));
        if self.session.agent().constants().from_id_is_branch_start && from == start {
            let parent = self.parent.clone();
            let parent = parent.unwrap_or_else(|| Text::from("root"));
            return vec![Reference::new("fromId", parent)];
        }
        match self.copy_id(self.find_referenced(entry, "fromId")) {
            Some(id) => vec![Reference::new("fromId", id)],
            None => Vec::new(),
        }
    }

    /// A compaction refers to its first kept entry, and one of a native snapshot to the last entry
    /// that it covers.
    fn compaction_references(&self, ix: EntryIx, entry: Raw) -> Result<Vec<Reference>, Refusal> {
        let mut references = Vec::new();
        let kept = self
            .find_referenced(entry, "firstKeptEntryId")
            .or_else(|| native::first_kept_entry(self.session, ix, entry));
        if let Some(id) = self.new_first_kept(ix, kept)? {
            references.push(Reference::new("firstKeptEntryId", id));
        }

        const REPLAY_THROUGH: &str = "providerReplayThroughEntryId";
        if let Some(id) = self.copy_id(self.find_referenced(entry, REPLAY_THROUGH)) {
            references.push(Reference::new(REPLAY_THROUGH, id));
        }
        Ok(references)
    }

    /// Returns the entry whose id a member of an entry has.
    fn find_referenced(&self, entry: Raw, key: &str) -> Position {
        let id = entry.get_text(key)?;
        self.session.find_entry(&id)
    }

    /// Returns the id of the copy of an entry, if it is copied.
    fn copy_id(&self, original: Position) -> Option<Text<'static>> {
        self.ids.get(&original?).cloned()
    }

    /// Returns the new `firstKeptEntryId` of a copied compaction, or `None` if it stays the same. A
    /// compaction that keeps nothing refers to itself. If the first kept entry is a label, which is
    /// not copied, the next entry that is not a label replaces it.
    fn new_first_kept(
        &self,
        compaction: EntryIx,
        kept: Position,
    ) -> Result<Option<Text<'static>>, Refusal> {
        let nothing = Some(self.ids[&compaction].clone());
        let Some(kept) = kept else {
            return Ok(nothing);
        };
        if kept == compaction || !self.ancestry.is_ancestor_or_self(kept, compaction) {
            return Ok(nothing);
        }

        let mut first = kept;
        if self.session.entry(kept).kind == Kind::Label && !self.target_path.contains(&kept) {
            let stays = |ix: EntryIx| self.session.entry(ix).kind != Kind::Label;
            first = first_staying(self.session, compaction, kept, stays).unwrap_or(kept);
        }
        if first == compaction {
            return Ok(nothing);
        }
        if let Some(id) = self.ids.get(&first) {
            return Ok(Some(id.clone()));
        }
        if self.target_path.contains(&first) {
            return Ok(None);
        }
        Err(Refusal::with_hint(
            format!(
                "the compaction {} keeps entries from {} on, which is not picked",
                self.session.id(compaction),
                self.session.id(first)
            ),
            "pick the entries that it keeps, too, or merge the branch with `pisess merge`",
        ))
    }
}
