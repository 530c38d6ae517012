//! Copies entries and chains them under another position.
//!
//! A copy has a new id and the current time; the message in it keeps its own time. If a copy refers
//! to another copied entry, the reference is changed to the copy of that entry. An assistant
//! message with tool calls is copied with the results of the calls, and a result with the message
//! that made the call, because a model's API accepts neither alone.
//!
//! ```text
//!  a ── call ── r1 ── r2 ── b          pick r2, b onto y
//!   └── x ── y ── call' ── r1' ── r2' ── b'
//! ```
//!
//! The originals may be in another session. A copy then cannot refer to an entry that is not
//! copied.

use super::edit::call_ids;
use super::{IdSource, Refusal, UpwardSearch, first_remaining_kept, parent_id};
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

/// Returns the entries to copy, the picked ones, in tree order. These are the entries that the user
/// has chosen, and with them the messages with the tool calls of chosen results, and the results of
/// the calls in chosen messages. Labels are left out, because the user can label the copies.
///
/// # Errors
/// If a chosen entry is a leaf record (it only moves the leaf), a label of an entry that is not
/// copied, or a result without its call. If two results of the same call are chosen. If a line
/// cannot be read.
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
    let chosen_set: BTreeSet<_> = chosen.iter().copied().collect();
    let mut picked = add_calls_and_results(reader, &tree, &chosen_set)?;
    remove_labels(reader, &mut picked)?;
    Ok(tree
        .walk_oldest_first()
        .filter(|ix| picked.contains(ix))
        .collect())
}

/// The position under which the first copy is appended.
#[derive(Clone, Copy, Debug)]
pub enum Destination<'a> {
    /// In the session of the originals.
    SameSession(Position),
    /// In another session.
    OtherSession(&'a Session, Position),
}

impl<'a> Destination<'a> {
    fn position(self) -> Position {
        match self {
            Destination::SameSession(position) | Destination::OtherSession(_, position) => position,
        }
    }

    /// Returns the session that gets the copies. `source` is the session of the originals.
    fn session(self, source: &'a Session) -> &'a Session {
        match self {
            Destination::SameSession(_) => source,
            Destination::OtherSession(target, _) => target,
        }
    }
}

/// Returns the change that appends copies of the picked entries to the destination, each as a child
/// of the one before. `reader` reads the originals. `picked` must be the result of
/// [`complete_selection`]: in tree order, which is then the order of the copies.
///
/// # Errors
/// If a copy would refer to an entry that is not above it. If the other session is of another
/// agent. If a line cannot be read.
pub fn copy_onto(
    reader: &EntryReader,
    picked: &[EntryIx],
    destination: Destination,
    id_source: &mut IdSource,
) -> Result<Change, Refusal> {
    let session = reader.session();
    let target_session = destination.session(session);
    require_same_agent(session, target_session)?;

    let onto = destination.position();
    let is_for_other_session = matches!(destination, Destination::OtherSession(..));
    // A copy in another session cannot refer to an original.
    let target_path = if is_for_other_session {
        HashSet::default()
    } else {
        session.ancestors(onto.entry()).collect()
    };
    let mut graft = Graft {
        session,
        reader,
        ancestry: Ancestry::new(session),
        is_for_other_session,
        target_path,
        ids: HashMap::default(),
    };

    // The ids of all copies are issued before the first copy is made, because a copy may refer to
    // any other.
    let mut links = Vec::new();
    let mut parent = parent_id(target_session, onto).map(Text::into_owned);
    for &original in picked {
        let id = Text::from(id_source.issue_entry_id(target_session));
        graft.ids.insert(original, id.clone());
        links.push(CopyLinks {
            original,
            id: id.clone(),
            parent,
        });
        parent = Some(id);
    }
    let mut entries = Vec::new();
    for links in &links {
        entries.push(graft.copy_entry(links, &id_source.timestamp())?);
    }
    Ok(Change {
        entries,
        ..Change::default()
    })
}

/// Removes the labels from the picked entries. A label is left out silently if its entry is copied,
/// as in a chosen range.
///
/// # Errors
/// If a label was picked without its entry: nothing would be copied for it.
fn remove_labels(reader: &EntryReader, picked: &mut BTreeSet<EntryIx>) -> Result<(), Refusal> {
    let session = reader.session();
    let mut labels: Vec<EntryIx> = picked.iter().copied().collect();
    labels.retain(|&ix| session.entry(ix).kind == Kind::Label);
    for label in labels {
        let target = resolve_member(reader, label, "targetId")?;
        let labels_picked_entry = target.is_some_and(|target| picked.contains(&target));
        if !labels_picked_entry {
            return Err(Refusal::with_hint(
                format!("{} labels an entry that is not picked", session.id(label)),
                "labels are not copied; label the copy with `pisess label`",
            ));
        }
        picked.remove(&label);
    }
    Ok(())
}

/// Refuses to copy entries to a session of another agent, which stores some entries in another
/// form.
fn require_same_agent(source: &Session, target: &Session) -> Result<(), Refusal> {
    if source.dialect == target.dialect {
        return Ok(());
    }
    Err(Refusal::with_hint(
        format!(
            "the entries are of {}, the session is of {}",
            source.agent().constants().name,
            target.agent().constants().name
        ),
        "convert one of the sessions with `pisess fork --branches --for AGENT`",
    ))
}

/// Returns the chosen entries, the messages with the calls of chosen results, and one result for
/// each call in these messages, if there is one. A provider accepts neither a call nor a result
/// without the other.
///
/// # Errors
/// If a chosen result answers no call above it, or if two chosen results answer the same call.
fn add_calls_and_results(
    reader: &EntryReader,
    tree: &Tree,
    chosen: &BTreeSet<EntryIx>,
) -> Result<BTreeSet<EntryIx>, Refusal> {
    let session = reader.session();
    let calling_messages = find_calling_messages(session, chosen)?;

    let is_active = active_mask(session, session.leaf);
    let mut answering_results = HashSet::default();
    for &reply in &calling_messages {
        for results in find_results_by_call(reader, tree, reply)?.into_values() {
            answering_results.extend(choose_result(session, &results, chosen, &is_active)?);
        }
    }
    // A chosen result must answer a call of the message above it: it may have the id of another.
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

/// Returns the chosen assistant messages, and the messages whose calls the chosen results may
/// answer: for each result, the nearest assistant message above it.
///
/// # Errors
/// If no assistant message is above a chosen result.
fn find_calling_messages(
    session: &Session,
    chosen: &BTreeSet<EntryIx>,
) -> Result<BTreeSet<EntryIx>, Refusal> {
    let is_reply = |ix| session.is_message(ix, Role::Assistant);
    let mut calling_messages = BTreeSet::new();
    let mut nearest_replies = UpwardSearch::new(session, is_reply);
    for &ix in chosen {
        if is_reply(ix) {
            calling_messages.insert(ix);
        } else if session.is_message(ix, Role::ToolResult) {
            let Some(reply) = nearest_replies.find(Some(ix)) else {
                return Err(refuse_lone_result(session, ix));
            };
            calling_messages.insert(reply);
        }
    }
    Ok(calling_messages)
}

/// Returns the result that is copied with a call: the chosen one, or else the one on the path to
/// the leaf, or else the last in the file. `None` if the call has no result.
///
/// `results` are the results of the call, in file order. There are several if the call was answered
/// again on another branch.
///
/// # Errors
/// If several of the results are chosen.
fn choose_result(
    session: &Session,
    results: &[EntryIx],
    chosen: &BTreeSet<EntryIx>,
    is_active: &[bool],
) -> Result<Option<EntryIx>, Refusal> {
    let mut chosen_results = results.to_vec();
    chosen_results.retain(|result| chosen.contains(result));
    match chosen_results[..] {
        [] => {
            let on_path = results.iter().find(|ix| is_active[ix.index()]);
            Ok(on_path.or(results.last()).copied())
        }
        [only] => Ok(Some(only)),
        // A provider accepts only one result of a call.
        [one, other, ..] => Err(Refusal::with_hint(
            format!(
                "{} and {} answer the same tool call",
                session.id(one),
                session.id(other)
            ),
            "pick one of them",
        )),
    }
}

/// Returns the refusal of a chosen tool result without its call.
fn refuse_lone_result(session: &Session, result: EntryIx) -> Refusal {
    Refusal::new(format!(
        "{}: its tool call is not above it",
        session.id(result)
    ))
}

/// Maps the id of each tool call of an assistant message to its results, in file order. A call has
/// several results if it was answered again on another branch; without results, it has an empty
/// list.
///
/// Searches all branches below the message, each down to the next assistant message.
pub(super) fn find_results_by_call(
    reader: &EntryReader,
    tree: &Tree,
    reply: EntryIx,
) -> io::Result<HashMap<Text<'static>, Vec<EntryIx>>> {
    let session = reader.session();
    let mut results_by_id: HashMap<Text, Vec<EntryIx>> = HashMap::default();
    reader.with_message(reply, |message| {
        for call_id in call_ids(message.get("content")) {
            results_by_id.insert(call_id.into_owned(), Vec::new());
        }
    })?;
    if results_by_id.is_empty() {
        return Ok(results_by_id);
    }

    for result in results_below(session, tree, reply) {
        // A result without an id answers a call whose id is empty, if there is one.
        let call_id = reader.with_message(result, |message| {
            message.get_text("toolCallId").map(Text::into_owned)
        })?;
        let call_id = call_id.unwrap_or_default();
        if let Some(results) = results_by_id.get_mut(&call_id) {
            results.push(result);
        }
    }
    Ok(results_by_id)
}

/// Returns the tool results on all branches below an assistant message, each branch down to its
/// next assistant message, in file order.
fn results_below(session: &Session, tree: &Tree, reply: EntryIx) -> Vec<EntryIx> {
    let mut results = Vec::new();
    // The entries that are still to be visited.
    let mut pending = tree.children(reply).to_vec();
    while let Some(ix) = pending.pop() {
        // The results below the next assistant message answer its calls.
        if session.is_message(ix, Role::Assistant) {
            continue;
        }
        if session.is_message(ix, Role::ToolResult) {
            results.push(ix);
        }
        pending.extend(tree.children(ix));
    }
    // The walk does not visit branches in file order.
    results.sort();
    results
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

/// The state of copying picked entries.
struct Graft<'a> {
    session: &'a Session,
    reader: &'a EntryReader<'a>,
    ancestry: Ancestry,
    /// Whether the copies are for another session.
    is_for_other_session: bool,
    /// The originals on the path to the target position, to which copies may refer. Empty if the
    /// copies are for another session.
    target_path: HashSet<EntryIx>,
    /// The ids of the copies, by original.
    ids: HashMap<EntryIx, Text<'static>>,
}

/// The place of the copy of an entry.
struct CopyLinks {
    original: EntryIx,
    /// The id of the copy.
    id: Text<'static>,
    /// The id of its parent: the copy before it or, for the first copy, the target position. `None`
    /// at the root.
    parent: Option<Text<'static>>,
}

impl Graft<'_> {
    /// Returns a copy of a picked entry, with its new id, its new parent, this timestamp, and
    /// references to the copies of other picked entries. All other bytes stay the same.
    fn copy_entry(&self, links: &CopyLinks, timestamp: &str) -> Result<NewEntry, Refusal> {
        let line = self.reader.read_line(links.original)?;
        let entry = Raw::from_checked(line.trim_ascii());
        let mut edit = Edit::new(entry.bytes()).map_err(io::Error::from)?;
        let parent_id = match &links.parent {
            Some(parent) => encode_to_vec(parent),
            None => b"null".to_vec(),
        };
        edit.set("id", &encode_to_vec(&links.id));
        edit.set("parentId", &parent_id);
        edit.set("timestamp", &encode_to_vec(&Text::from(timestamp)));
        for reference in self.changed_references(links, entry)? {
            edit.set(reference.key, &encode_to_vec(&reference.id));
        }
        Ok(NewEntry {
            id: links.id.clone(),
            line: edit.finish(),
        })
    }

    /// Returns the members of a copy that refer to other entries and change, with their new values.
    fn changed_references(&self, links: &CopyLinks, entry: Raw) -> Result<Vec<Reference>, Refusal> {
        match self.session.entry(links.original).kind {
            Kind::ContextEdit => self.edit_references(links.original, entry),
            Kind::BranchSummary => Ok(self.summary_references(links, entry)),
            Kind::Compaction => self.compaction_references(links, entry),
            _ => Ok(Vec::new()),
        }
    }

    /// Returns the new reference of a copied context edit, which changes what a model sees of
    /// another entry (pi's `context_edit`): to the copy of that entry. If the entry is not copied,
    /// it must be on the path to the target position, and the reference stays.
    fn edit_references(&self, ix: EntryIx, entry: Raw) -> Result<Vec<Reference>, Refusal> {
        let edited = self.find_referenced(entry, "targetId");
        if let Some(id) = self.copy_id(edited) {
            return Ok(vec![Reference::new("targetId", id)]);
        }
        if edited.is_some_and(|edited| self.target_path.contains(&edited)) {
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

    /// Returns the new `fromId` of a branch summary, if it changes.
    ///
    /// The meaning of `fromId` depends on the agent (`AgentConstants::from_id_is_branch_start`):
    ///
    /// - oh-my-pi: the entry at which the branch begins, which is the parent of the summary. In the
    ///   copy, it is the parent of the copy.
    /// - pi: the end of the summarized branch. In the copy, it is the copy of that entry. If the
    ///   entry is not copied, it stays the same; but in another session, which does not have the
    ///   entry, it is the parent of the copy, too.
    fn summary_references(&self, links: &CopyLinks, entry: Raw) -> Vec<Reference> {
        let from_id = entry.get_text("fromId").unwrap_or_default();
        let old_parent = self.session.parent_id(links.original);
        let old_start = old_parent.unwrap_or_else(|| Text::from("root"));
        let new_parent = links.parent.clone();
        let new_start = new_parent.unwrap_or_else(|| Text::from("root"));

        let names_branch_start =
            self.session.agent().constants().from_id_is_branch_start && from_id == old_start;
        if names_branch_start {
            return vec![Reference::new("fromId", new_start)];
        }
        if let Some(id) = self.copy_id(self.find_referenced(entry, "fromId")) {
            return vec![Reference::new("fromId", id)];
        }
        if self.is_for_other_session {
            return vec![Reference::new("fromId", new_start)];
        }
        // It stays the same.
        Vec::new()
    }

    /// Returns the references of a compaction that differ in its copy:
    ///
    /// - to the first kept entry, from which on it keeps what is above it
    /// - to the last entry that a snapshot of the provider covers (oh-my-pi), if that entry is
    ///   copied
    ///
    /// # Errors
    /// See [`new_first_kept`](Self::new_first_kept).
    fn compaction_references(
        &self,
        links: &CopyLinks,
        entry: Raw,
    ) -> Result<Vec<Reference>, Refusal> {
        let compaction = links.original;
        let mut references = Vec::new();
        // A compaction with a snapshot may have no such member: what it keeps follows from the
        // snapshot.
        let first_kept = self
            .find_referenced(entry, "firstKeptEntryId")
            .or_else(|| native::first_kept_entry(self.session, compaction, entry));
        if let Some(new_id) = self.new_first_kept(links, first_kept)? {
            references.push(Reference::new("firstKeptEntryId", new_id));
        }

        const REPLAY_THROUGH: &str = "providerReplayThroughEntryId";
        let last_covered = self.find_referenced(entry, REPLAY_THROUGH);
        if let Some(new_id) = self.copy_id(last_covered) {
            references.push(Reference::new(REPLAY_THROUGH, new_id));
        }
        Ok(references)
    }

    /// Returns the entry that the member `key` of an entry refers to by id.
    fn find_referenced(&self, entry: Raw, key: &str) -> Option<EntryIx> {
        let id = entry.get_text(key)?;
        self.session.find_entry(&id)
    }

    /// Returns the id of the copy of an entry; `None` if the entry is not copied.
    fn copy_id(&self, original: Option<EntryIx>) -> Option<Text<'static>> {
        self.ids.get(&original?).cloned()
    }

    /// Returns the new `firstKeptEntryId` of a copied compaction, which keeps the messages from
    /// this entry on; `None` if it stays the same. `kept` is the entry in the original.
    ///
    /// - A compaction that keeps nothing refers to itself.
    /// - Labels are not copied. If the first kept entry is a label, the next entry below that is
    ///   not a label takes its place.
    /// - If the first kept entry is copied, the new id is the id of its copy.
    /// - If it is not copied, but on the path to the target position, the reference stays.
    ///
    /// # Errors
    /// If the first kept entry is neither copied nor on that path.
    fn new_first_kept(
        &self,
        links: &CopyLinks,
        kept: Option<EntryIx>,
    ) -> Result<Option<Text<'static>>, Refusal> {
        let compaction = links.original;
        let Some(first) = self.first_kept_message(compaction, kept) else {
            let own_id = links.id.clone();
            return Ok(Some(own_id));
        };
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

    /// Returns the first entry that a compaction keeps, given the entry that it names. In place of
    /// a label outside of the target path, returns the next entry that is not a label. `None` if
    /// the compaction keeps nothing but labels.
    fn first_kept_message(&self, compaction: EntryIx, named: Option<EntryIx>) -> Option<EntryIx> {
        let named = named?;
        // A compaction that keeps nothing names itself or, in a damaged file, no ancestor.
        if named == compaction || !self.ancestry.is_ancestor_or_self(named, compaction) {
            return None;
        }
        let is_label = |ix: EntryIx| self.session.entry(ix).kind == Kind::Label;
        if !is_label(named) || self.target_path.contains(&named) {
            return Some(named);
        }
        // If only labels were kept, this is the compaction itself.
        let first = first_remaining_kept(self.session, compaction, named, |ix| !is_label(ix))
            .unwrap_or(named);
        if first == compaction {
            None
        } else {
            Some(first)
        }
    }
}
