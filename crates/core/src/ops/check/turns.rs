//! Finds messages between a tool call and its result, and plans how a repair moves the result up
//! to its call.
//!
//! Providers refuse a conversation in which a call is not directly followed by its result. The
//! message between them is kept. Three kinds of entries get other parents: the results, the first
//! message, and what follows the last result.
//!
//! ```text
//!   before    calls a, b ── result a ── message ── result b ── reply
//!   after     calls a, b ── result a ── result b ── message ── reply
//! ```
//!
//! Some results would be moved by oh-my-pi when it builds the context. They are moved in the file
//! nevertheless, so that pi can continue the session.

use super::finding::{Finding, FindingKind, finding_in_entry};
use super::graph::{CheckedLinks, LinkRepair};
use crate::session::content;
use crate::session::entry::{EntryIx, Flags, Kind, Role};
use crate::session::read::entry_reader::EntryReader;
use crate::session::tree::{Ancestry, Tree};
use crate::session::{Format, Session};
use foldhash::{HashMap, HashSet};
use pisess_json::text::Text;
use std::io;

/// Finds messages between a tool call and its result (a gap), on all branches of a file with
/// repaired lines and links. `links` has the parents as repaired so far.
///
/// Returns a finding for each gap, and the links as repaired after that: a gap is closed if it is
/// certain which results belong above it.
pub(super) fn check_result_order(
    reader: &EntryReader,
    links: LinkRepair,
) -> io::Result<CheckedLinks> {
    let session = reader.session();
    let mut checked = CheckedLinks {
        links,
        findings: Vec::new(),
    };
    // Few files have separated results, so the function returns early where nothing is found.
    if session.collected.tool_results.is_empty() {
        return Ok(checked);
    }
    let messages = MessageTree::read(reader, &checked.links)?;
    let separated = find_separated_answers(session, &messages);
    if separated.is_empty() {
        return Ok(checked);
    }
    let gaps = find_gaps(session, &messages, &separated);
    if gaps.is_empty() {
        return Ok(checked);
    }

    let moves = plan_moves(session, &messages.parents, &gaps);
    checked.findings = report_gaps(reader, &gaps, &moves, &checked.links)?;
    checked.links = moves.added_to(checked.links);
    Ok(checked)
}

/// Plans to move the results below each gap to the place above it. Nothing is moved if it is not
/// certain which result belongs there, or if the entries of the file have no `parentId` to change.
fn plan_moves<'s, 'p>(
    session: &'s Session,
    parents: &'p [Option<EntryIx>],
    gaps: &[Gap],
) -> ResultMoves<'s, 'p> {
    let mut moves = ResultMoves::new(session, parents, gaps);
    if has_parent_ids(session) {
        for gap in gaps.iter().filter(|gap| gap.is_certain) {
            for &result in &gap.results {
                moves.move_up(result, gap.first_message);
            }
        }
    }
    moves
}

/// Whether entries name their parents by `parentId`, which a repair can change.
fn has_parent_ids(session: &Session) -> bool {
    matches!(session.format, Format::V2 | Format::V3)
}

/// Returns a finding for each gap (the messages between a call and its result), with the new
/// parents of the entries around it. `moves` must have the moves of all gaps, because a move for a
/// later gap may change the parent of an entry around an earlier one.
fn report_gaps(
    reader: &EntryReader,
    gaps: &[Gap],
    moves: &ResultMoves,
    links: &LinkRepair,
) -> io::Result<Vec<Finding>> {
    let session = reader.session();
    let sent_entries = find_sent_entries(reader)?;
    let mut findings = Vec::new();
    for gap in gaps {
        // Worst case: the gap is in the context that is sent to the model, so the next request
        // fails.
        let is_sent = gap
            .results
            .iter()
            .any(|result| sent_entries.contains(result));
        let mut finding = gap.to_finding(session).worst_case_if(is_sent);
        let changed = moves.changed_entries(gap);
        if !changed.is_empty() {
            finding = finding.with_fix(moves.describe_fix(gap, &changed, links));
        }
        findings.push(finding);
    }
    Ok(findings)
}

/// The tree after the repair of its links, reduced to the messages that the model sees.
struct MessageTree {
    /// The parent of each entry.
    parents: Vec<Option<EntryIx>>,
    /// For each entry, the nearest entry at or above it that must not be between a call and its
    /// result: see [`is_seen_by_model`]. Tool results do not count.
    nearest_messages: Vec<Option<EntryIx>>,
}

impl MessageTree {
    /// Reads the tree with the repaired parents. Few lines are read: the type of most entries
    /// already shows whether the model sees them.
    fn read(reader: &EntryReader, links: &LinkRepair) -> io::Result<MessageTree> {
        let session = reader.session();
        let parents: Vec<Option<EntryIx>> = session
            .entry_indexes()
            .map(|ix| links.repaired_parent(session, ix))
            .collect();

        let mut nearest_messages = vec![None; parents.len()];
        let tree = Tree::from_parents(&session.entries, |ix| parents[ix.index()]);
        // Each entry comes after its parent, so the nearest message of the parent is known.
        for ix in tree.walk_oldest_first() {
            nearest_messages[ix.index()] = if is_seen_by_model(reader, ix)? {
                Some(ix)
            } else {
                parents[ix.index()].and_then(|parent| nearest_messages[parent.index()])
            };
        }
        Ok(MessageTree {
            parents,
            nearest_messages,
        })
    }

    /// Returns the nearest message above an entry that the model sees, without tool results.
    fn message_above(&self, ix: EntryIx) -> Option<EntryIx> {
        let parent = self.parents[ix.index()]?;
        self.nearest_messages[parent.index()]
    }
}

/// Whether an entry is sent to the model as a message that must not be between a call and its
/// result: one of the user, of the model, or of an extension. Tool results do not count, and a
/// system message may be there, because pi sends it elsewhere.
fn is_seen_by_model(reader: &EntryReader, ix: EntryIx) -> io::Result<bool> {
    let entry = reader.session().entry(ix);
    match entry.kind {
        Kind::CustomMessage => return Ok(true),
        Kind::BranchSummary => {
            return reader.with_entry(ix, |line| content::has_truthy(line, "summary"));
        }
        Kind::Message => {}
        _ => return Ok(false),
    }
    match entry.role {
        Role::User | Role::Assistant | Role::Custom | Role::Developer | Role::FileMention => {
            Ok(true)
        }
        // The user can run a command whose output is not sent to the model.
        Role::BashExecution | Role::PythonExecution => reader.with_message(ix, |message| {
            !content::has_truthy(message, "excludeFromContext")
        }),
        _ => Ok(false),
    }
}

/// A tool result and the id of its call.
#[derive(Clone, Copy)]
struct Answer<'s> {
    result: EntryIx,
    call_id: &'s [u8],
}

/// A tool call.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Call<'s> {
    /// The message of the model that makes the call.
    message: EntryIx,
    id: &'s [u8],
}

/// Returns the results that do not directly follow their call: the nearest message above such a
/// result does not make its call, or there is none.
fn find_separated_answers<'s>(session: &'s Session, messages: &MessageTree) -> Vec<Answer<'s>> {
    // Not only the ids, because a call on another branch may have the same id.
    let mut calls: HashSet<Call> = HashSet::default();
    for call in &session.collected.tool_calls {
        calls.insert(Call {
            message: call.entry,
            id: session.bytes(call.id),
        });
    }

    let mut separated = Vec::new();
    for answer in all_answers(session) {
        let follows_its_call = match messages.message_above(answer.result) {
            Some(message) => calls.contains(&Call {
                message,
                id: answer.call_id,
            }),
            None => false,
        };
        if !follows_its_call {
            separated.push(answer);
        }
    }
    separated
}

/// Iterates over all tool results of the session, on all branches, with the ids of their calls.
fn all_answers(session: &Session) -> impl Iterator<Item = Answer<'_>> {
    let results = session.collected.tool_results.iter();
    results.map(|result| Answer {
        result: result.entry,
        call_id: session.bytes(result.text),
    })
}

/// The messages between the calls of one message and their late results.
struct Gap<'s> {
    /// The first message after the one with the calls.
    first_message: EntryIx,
    /// The results below `first_message`, in the order of the path.
    results: Vec<EntryIx>,
    /// The id of the first result's call.
    call_id: &'s [u8],
    /// Whether each of the calls has only one late result. If a call has several, it is not certain
    /// which is right, so nothing is moved.
    is_certain: bool,
}

/// Returns the gaps: the messages between tool calls and their late results. A result is late if
/// its call is above it, but does not directly precede it. Gaps nearer to a root come first.
///
/// A late result is in no gap if another result of the call is above it, directly after the call:
/// the call then has the result that it needs.
fn find_gaps<'s>(
    session: &'s Session,
    messages: &MessageTree,
    separated: &[Answer<'s>],
) -> Vec<Gap<'s>> {
    let parents = &messages.parents;
    let ancestry = Ancestry::from_parents(&session.entries, |ix| parents[ix.index()]);
    let late_results = find_late_results(session, separated, &ancestry);
    let direct_results = find_direct_results(session, messages, &late_results);
    let late_counts = count_by_call(&late_results);

    let mut gaps = GapList::default();
    for late in &late_results {
        // Empty for a call without direct results.
        let direct = direct_results.get(&late.call).map(Vec::as_slice);
        let is_answered_above =
            contains_ancestor(direct.unwrap_or_default(), late.result, &ancestry);
        if is_answered_above {
            continue;
        }
        // Of several late results of a call, it is not certain which is right.
        let is_certain = late_counts[&late.call] == 1;
        gaps.add_result(late, is_certain, messages, &ancestry);
    }
    gaps.gaps
}

/// Returns the number of late results of each call.
fn count_by_call<'s>(late_results: &[LateResult<'s>]) -> HashMap<Call<'s>, usize> {
    let mut counts = HashMap::default();
    for late in late_results {
        *counts.entry(late.call).or_default() += 1;
    }
    counts
}

/// Whether one of `entries` is above `ix`, or `ix` itself.
fn contains_ancestor(entries: &[EntryIx], ix: EntryIx, ancestry: &Ancestry) -> bool {
    entries
        .iter()
        .any(|&entry| ancestry.is_ancestor_or_self(entry, ix))
}

/// The gaps between calls and late results, while the results are added in drawing order.
#[derive(Default)]
struct GapList<'s> {
    gaps: Vec<Gap<'s>>,
    /// The last gap of each group, by its index in `gaps`.
    last_gaps: HashMap<GapGroup, usize>,
}

/// The gaps below a message with calls that are certain, or those that are not. There is one for
/// each branch below the message that has such results.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct GapGroup {
    /// The message with the calls.
    caller: EntryIx,
    /// See [`Gap::is_certain`].
    is_certain: bool,
}

impl<'s> GapList<'s> {
    /// Adds a late result to the gap of an earlier one, or else to a new gap. Two results share a
    /// gap if the same message makes their calls, and the same message comes first after it:
    ///
    /// ```text
    ///   calls a, b ── message ── result a ── reply ── result b
    ///                 └ the first message of the gap of both results
    /// ```
    ///
    /// A result that is not the only late one of its call (`is_certain` is false) never shares the
    /// gap of one that is.
    fn add_result(
        &mut self,
        late: &LateResult<'s>,
        is_certain: bool,
        messages: &MessageTree,
        ancestry: &Ancestry,
    ) {
        let group = GapGroup {
            caller: late.call.message,
            is_certain,
        };
        if let Some(gap) = self.find_gap_above(group, late.result, ancestry) {
            gap.results.push(late.result);
            return;
        }

        self.last_gaps.insert(group, self.gaps.len());
        self.gaps.push(Gap {
            first_message: find_first_message(late.call.message, late.result, messages),
            results: vec![late.result],
            call_id: late.call.id,
            is_certain,
        });
    }

    /// Returns the gap of a group whose first message is above a result; `None` if there is none.
    fn find_gap_above(
        &mut self,
        group: GapGroup,
        result: EntryIx,
        ancestry: &Ancestry,
    ) -> Option<&mut Gap<'s>> {
        // Results come in drawing order, which visits one branch after the other. So the earlier
        // gaps of the group are on branches that the result is not on.
        let index = *self.last_gaps.get(&group)?;
        let last_gap = &mut self.gaps[index];
        if ancestry.is_ancestor_or_self(last_gap.first_message, result) {
            Some(last_gap)
        } else {
            None
        }
    }
}

/// A separated result that has its call above it.
struct LateResult<'s> {
    call: Call<'s>,
    result: EntryIx,
}

/// Returns the late results: the results that are separated from their call, but have it above
/// them. Each comes with the nearest such call. They are in drawing order: ancestors come before
/// descendants.
fn find_late_results<'s>(
    session: &Session,
    separated: &[Answer<'s>],
    ancestry: &Ancestry,
) -> Vec<LateResult<'s>> {
    let caller_by_result = find_callers(session, separated, ancestry);
    let mut late_results = Vec::new();
    for answer in separated {
        if let Some(&caller) = caller_by_result.get(&answer.result) {
            let call = Call {
                message: caller,
                id: answer.call_id,
            };
            late_results.push(LateResult {
                call,
                result: answer.result,
            });
        }
    }
    late_results.sort_by_key(|late| ancestry.drawing_index(late.result));
    late_results
}

/// Returns, by call, the direct results of the calls that also have late ones. Between a direct
/// result and the message with its call, there are only other results; before a late one, there are
/// messages:
///
/// ```text
///   calls a, b ── result a (direct) ── message ── result b (late) ── result a (late)
/// ```
///
/// A direct result may also be on another branch than the late ones.
fn find_direct_results<'s>(
    session: &'s Session,
    messages: &MessageTree,
    late_results: &[LateResult],
) -> HashMap<Call<'s>, Vec<EntryIx>> {
    let mut calls_with_late_results: HashSet<Call> = HashSet::default();
    for late in late_results {
        calls_with_late_results.insert(late.call);
    }

    let mut direct_results: HashMap<Call, Vec<EntryIx>> = HashMap::default();
    for answer in all_answers(session) {
        // Results do not count as messages, so this is the message with the call of a direct
        // result.
        let Some(message) = messages.message_above(answer.result) else {
            continue;
        };
        let call_if_direct = Call {
            message,
            id: answer.call_id,
        };
        // If the message does not make this call, the result is not direct, and the set lacks it.
        if calls_with_late_results.contains(&call_if_direct) {
            let results = direct_results.entry(call_if_direct).or_default();
            results.push(answer.result);
        }
    }
    direct_results
}

/// Returns, for each separated result, the nearest message above it that makes its call: its
/// caller. A result whose call is not above it has none. Messages that the agents omit from the
/// context are ignored.
fn find_callers(
    session: &Session,
    separated: &[Answer],
    ancestry: &Ancestry,
) -> HashMap<EntryIx, EntryIx> {
    let callers_by_call_id = callers_by_call_id(session, separated);
    let mut caller_by_result = HashMap::default();
    for answer in separated {
        let Some(callers) = callers_by_call_id.get(answer.call_id) else {
            continue;
        };
        if let Some(caller) = nearest_above(callers, answer.result, ancestry) {
            caller_by_result.insert(answer.result, caller);
        }
    }
    caller_by_result
}

/// Returns, by call id, all messages that make a call with this id, on any branch. Only the calls
/// of separated results are listed, and no messages that the agents omit from the context.
fn callers_by_call_id<'s>(
    session: &'s Session,
    separated: &[Answer],
) -> HashMap<&'s [u8], Vec<EntryIx>> {
    let mut wanted_ids: HashSet<&[u8]> = HashSet::default();
    for answer in separated {
        wanted_ids.insert(answer.call_id);
    }
    let mut callers_by_call_id: HashMap<&[u8], Vec<EntryIx>> = HashMap::default();
    for call in &session.collected.tool_calls {
        let id = session.bytes(call.id);
        if wanted_ids.contains(id) && !is_omitted(session, call.entry) {
            callers_by_call_id.entry(id).or_default().push(call.entry);
        }
    }
    callers_by_call_id
}

/// Returns the nearest of `entries` that is above an entry, or the entry itself; `None` if none is.
fn nearest_above(entries: &[EntryIx], ix: EntryIx, ancestry: &Ancestry) -> Option<EntryIx> {
    let above = entries
        .iter()
        .copied()
        .filter(|&entry| ancestry.is_ancestor_or_self(entry, ix));
    // In drawing order, an entry comes after its ancestors. So the last of them is the nearest.
    above.max_by_key(|&entry| ancestry.drawing_index(entry))
}

/// Whether the agents leave a message of the model out of the context.
fn is_omitted(session: &Session, ix: EntryIx) -> bool {
    let flags = session.entry(ix).flags;
    flags.contains(Flags::FAILED) || flags.contains(Flags::ABORTED)
}

/// Returns the topmost message that the model sees between a result and `caller`, the message above
/// it that makes its call. The result has to move directly above this message. If there is no such
/// message, returns `result`.
fn find_first_message(caller: EntryIx, result: EntryIx, messages: &MessageTree) -> EntryIx {
    let mut first = result;
    let mut above = messages.message_above(result);
    while let Some(message) = above
        && message != caller
    {
        first = message;
        above = messages.message_above(message);
    }
    first
}

impl Gap<'_> {
    /// Returns the finding for a gap. It is in the first message of the gap, and its text names the
    /// line of the last result, so that a reader knows where the gap begins and ends.
    fn to_finding(&self, session: &Session) -> Finding {
        let call = Text::from_wtf8(self.call_id).to_string();
        let result_count = self.results.len();
        // A gap has at least one result.
        let last_result = self.results[result_count - 1];
        let line = session.shown_line(last_result).0;
        let mut message = if !self.is_certain {
            format!(
                "the message is between the tool call {call:?} and one of several results, \
                 on line {line}"
            )
        } else if result_count == 1 {
            format!("the message is between the tool call {call:?} and its result, on line {line}")
        } else {
            format!(
                "the message is between {result_count} tool calls and their results, \
                 the last on line {line}"
            )
        };
        if !has_parent_ids(session) {
            message += "; `pisess migrate` makes it repairable";
        }
        finding_in_entry(
            session,
            self.first_message,
            FindingKind::MessageBeforeResult,
            message,
        )
    }
}

/// Returns the entries that are in the context at the leaf.
fn find_sent_entries(reader: &EntryReader) -> io::Result<HashSet<EntryIx>> {
    let session = reader.session();
    let path = session.path(session.leaf);
    let context = session.agent().build_context(&path, reader)?;
    Ok(context
        .messages
        .iter()
        .map(|message| message.entry)
        .collect())
}

/// The parents of all entries while results are moved.
struct ResultMoves<'s, 'p> {
    session: &'s Session,
    old_parents: &'p [Option<EntryIx>],
    new_parents: Vec<Option<EntryIx>>,
    /// The children, before any move, of each result that may be moved.
    children: HashMap<EntryIx, Vec<EntryIx>>,
    moved_results: HashSet<EntryIx>,
}

impl<'s, 'p> ResultMoves<'s, 'p> {
    /// Returns a state in which nothing was moved yet. `gaps` has the results that may be moved.
    /// Their children are collected here, because they get another parent if the result is moved.
    fn new(session: &'s Session, old_parents: &'p [Option<EntryIx>], gaps: &[Gap]) -> Self {
        let mut children: HashMap<EntryIx, Vec<EntryIx>> = HashMap::default();
        for gap in gaps {
            for &result in &gap.results {
                children.insert(result, Vec::new());
            }
        }
        for ix in session.entry_indexes() {
            if let Some(parent) = old_parents[ix.index()]
                && let Some(siblings) = children.get_mut(&parent)
            {
                siblings.push(ix);
            }
        }
        ResultMoves {
            session,
            old_parents,
            new_parents: old_parents.to_vec(),
            children,
            moved_results: HashSet::default(),
        }
    }

    /// Moves a result up, between the message `first` and the parent of `first`. Where it was, its
    /// children take its place:
    ///
    /// ```text
    ///   before    calls ── first ── result ── child
    ///   after     calls ── result ── first ── child
    /// ```
    ///
    /// `result` must be one of the results that were passed to [`ResultMoves::new`].
    fn move_up(&mut self, result: EntryIx, first: EntryIx) {
        let left_parent = self.new_parents[result.index()];
        // The children before any move. One that is a result may have been moved away meanwhile,
        // and keeps its new parent.
        for &child in &self.children[&result] {
            let is_still_child = self.new_parents[child.index()] == Some(result);
            if is_still_child {
                self.new_parents[child.index()] = left_parent;
            }
        }
        self.new_parents[result.index()] = self.new_parents[first.index()];
        self.new_parents[first.index()] = Some(result);
        self.moved_results.insert(result);
    }

    /// Returns the entries around a gap whose parent has changed: first the results, then the
    /// message that they were moved above, then the entries that followed the results.
    ///
    /// `gap` must be one of the gaps that were passed to [`ResultMoves::new`].
    fn changed_entries(&self, gap: &Gap) -> Vec<EntryIx> {
        let mut around = gap.results.clone();
        around.push(gap.first_message);
        for result in &gap.results {
            for &child in &self.children[result] {
                // A result may follow another one of the gap, and is in the list already.
                if !gap.results.contains(&child) {
                    around.push(child);
                }
            }
        }
        around.retain(|&ix| self.has_moved(ix));
        around
    }

    /// Whether the parent of an entry has changed.
    fn has_moved(&self, ix: EntryIx) -> bool {
        self.new_parents[ix.index()] != self.old_parents[ix.index()]
    }

    /// Returns the text of the fix for a gap, with the new parents of the `changed` entries around
    /// it, such as `the result moves before it: r1 becomes a child of a1, …`. At most
    /// [`MOST_NAMED`] of these are listed.
    fn describe_fix(&self, gap: &Gap, changed: &[EntryIx], links: &LinkRepair) -> String {
        let id = |ix| links.repaired_id(self.session, ix).to_string();
        let mut new_links = Vec::new();
        for &ix in changed.iter().take(MOST_NAMED) {
            let parent = match self.new_parents[ix.index()] {
                Some(parent) => id(parent),
                None => "root".to_owned(),
            };
            new_links.push(format!("{} becomes a child of {parent}", id(ix)));
        }
        if changed.len() > MOST_NAMED {
            new_links.push(format!(
                "{} more change likewise",
                changed.len() - MOST_NAMED
            ));
        }
        let results = match gap.results.len() {
            1 => "the result moves before it",
            _ => "the results move before it",
        };
        format!("{results}: {}", new_links.join(", "))
    }

    /// Returns `links` with the new parents and, if the moves have changed it, the new leaf.
    fn added_to(self, mut links: LinkRepair) -> LinkRepair {
        for ix in self.session.entry_indexes() {
            if self.has_moved(ix) {
                let new_parent = self.new_parents[ix.index()];
                links.new_parents.insert(ix, new_parent.into());
            }
        }
        let new_leaf = self.leaf_after_moves();
        if new_leaf != self.session.leaf {
            links.new_leaf = new_leaf;
        }
        links
    }

    /// Returns the leaf, where the conversation ends. If the leaf was a result that has moved up,
    /// this is now the nearest entry above its old place that has not moved up as well.
    fn leaf_after_moves(&self) -> Option<EntryIx> {
        let mut leaf = self.session.leaf;
        while let Some(ix) = leaf
            && self.moved_results.contains(&ix)
        {
            leaf = self.old_parents[ix.index()];
        }
        leaf
    }
}

/// The maximum number of entries that a fix names with their new parents.
const MOST_NAMED: usize = 6;
