//! Finds messages between a tool call and its result, and plans how a repair moves the result up
//! to its call.
//!
//! Providers refuse a conversation in which a call is not directly followed by its result. The
//! message between them is not removed. Three entries get other parents: the first result, the
//! first message, and what follows the last result.
//!
//! ```text
//!   before    turn: calls a, b ── result a ── message ── result b ── reply
//!   after     turn: calls a, b ── result a ── result b ── message ── reply
//! ```
//!
//! Results that oh-my-pi would move by itself are moved, too, so that pi can continue the session.

use super::finding::{Finding, FindingKind as K, finding_in_entry};
use super::graph::LinkRepair;
use crate::session::content;
use crate::session::entry::{EntryIx, Flags, Kind, Role};
use crate::session::read::entry_reader::EntryReader;
use crate::session::reference::Position;
use crate::session::tree::{Ancestry, Tree};
use crate::session::{Format, Session};
use foldhash::{HashMap, HashSet};
use pisess_json::text::Text;
use std::io;

/// Checks all branches of a file with repaired lines and links, and adds the moves to `links`.
pub(super) fn check_result_order(
    reader: &EntryReader,
    links: &mut LinkRepair,
    findings: &mut Vec<Finding>,
) -> io::Result<()> {
    let session = reader.session();
    if session.collected.tool_results.is_empty() {
        return Ok(());
    }
    let parents: Vec<Position> = session
        .entry_indexes()
        .map(|ix| links.repaired_parent(session, ix))
        .collect();
    let speakers = find_speakers(reader, &parents)?;
    let separated = find_separated_answers(session, &parents, &speakers);
    if separated.is_empty() {
        return Ok(());
    }
    let gaps = find_gaps(session, &parents, &speakers, &separated);
    if gaps.is_empty() {
        return Ok(());
    }

    let mut moves = Moves::new(session, &parents, &gaps);
    let is_tree = matches!(session.format, Format::V2 | Format::V3);
    for gap in gaps.iter().filter(|gap| is_tree && gap.is_certain) {
        for &result in &gap.results {
            moves.move_up(result, gap.first_message);
        }
    }
    let sent_entries = find_sent_entries(reader)?;
    for gap in &gaps {
        let is_sent = gap
            .results
            .iter()
            .any(|result| sent_entries.contains(result));
        let finding = gap.to_finding(session).with_grave(is_sent);
        let changed = moves.changed_entries(gap);
        if changed.is_empty() {
            findings.push(finding);
        } else {
            findings.push(finding.with_fix(moves.describe_fix(gap, &changed, links)));
        }
    }
    moves.apply_to(links);
    Ok(())
}

/// Returns, for each entry, itself if the model sees its message, else the nearest such entry above
/// it. Results count as entries that the model does not see.
fn find_speakers(reader: &EntryReader, parents: &[Position]) -> io::Result<Vec<Position>> {
    let entries = &reader.session().entries;
    let mut speakers = vec![None; entries.len()];
    let tree = Tree::from_parents(entries, |ix| parents[ix.index()]);
    for ix in tree.walk(&[]) {
        speakers[ix.index()] = if is_seen_by_model(reader, ix)? {
            Some(ix)
        } else {
            parents[ix.index()].and_then(|parent: EntryIx| speakers[parent.index()])
        };
    }
    Ok(speakers)
}

/// Whether an entry becomes a message of the user or of the model. A system message is no obstacle:
/// pi sends it elsewhere.
fn is_seen_by_model(reader: &EntryReader, ix: EntryIx) -> io::Result<bool> {
    let entry = reader.session().entry(ix);
    match entry.kind {
        Kind::CustomMessage => Ok(true),
        Kind::BranchSummary => reader.with_entry(ix, |line| content::has_truthy(line, "summary")),
        Kind::Message => match entry.role {
            Role::User | Role::Assistant | Role::Custom | Role::Developer | Role::FileMention => {
                Ok(true)
            }
            Role::BashExecution | Role::PythonExecution => reader.with_message(ix, |message| {
                !content::has_truthy(message, "excludeFromContext")
            }),
            _ => Ok(false),
        },
        _ => Ok(false),
    }
}

/// A tool result and the id of its call.
#[derive(Clone, Copy)]
struct Answer<'s> {
    result: EntryIx,
    call_id: &'s [u8],
}

/// Returns the results that do not follow the message with their call.
fn find_separated_answers<'s>(
    session: &'s Session,
    parents: &[Position],
    speakers: &[Position],
) -> Vec<Answer<'s>> {
    let calls = &session.collected.tool_calls;
    let calls: HashSet<_> = calls
        .iter()
        .map(|call| (call.entry, session.bytes(call.id)))
        .collect();
    let mut separated = Vec::new();
    for answer in all_answers(session) {
        let above = speaker_above(answer.result, parents, speakers);
        if above.is_none_or(|turn| !calls.contains(&(turn, answer.call_id))) {
            separated.push(answer);
        }
    }
    separated
}

fn all_answers(session: &Session) -> impl Iterator<Item = Answer<'_>> {
    let results = session.collected.tool_results.iter();
    results.map(|result| Answer {
        result: result.entry,
        call_id: session.bytes(result.text),
    })
}

/// Returns the nearest entry above a result that the model sees.
fn speaker_above(result: EntryIx, parents: &[Position], speakers: &[Position]) -> Position {
    speakers[parents[result.index()]?.index()]
}

/// The messages between a call and its results.
struct Gap<'s> {
    /// The first message after the one with the calls.
    first_message: EntryIx,
    /// The results after that, in the order of the path.
    results: Vec<EntryIx>,
    /// The id of the first result's call.
    call_id: &'s [u8],
    /// Whether each of the calls has only this result.
    is_certain: bool,
}

/// Returns the gaps in front of separated results, and passes over results whose call is not above
/// them, or has a result already. Gaps nearer to a root come first.
fn find_gaps<'s>(
    session: &'s Session,
    parents: &[Position],
    speakers: &[Position],
    separated: &[Answer<'s>],
) -> Vec<Gap<'s>> {
    let ancestry = Ancestry::from_parents(&session.entries, |ix| parents[ix.index()]);
    let caller_by_result = find_callers(session, separated, &ancestry);
    let mut late: Vec<_> = separated
        .iter()
        .filter_map(|&answer| Some((*caller_by_result.get(&answer.result)?, answer)))
        .collect();
    late.sort_by_key(|(_, answer)| ancestry.drawing_index(answer.result));

    let mut late_results: HashMap<_, Vec<EntryIx>> = HashMap::default();
    for &(turn, answer) in &late {
        let results = late_results.entry((turn, answer.call_id)).or_default();
        results.push(answer.result);
    }
    // The calls that have a result in its place on another branch, or on the same.
    let mut early_results: HashMap<_, Vec<EntryIx>> = HashMap::default();
    for answer in all_answers(session) {
        let Some(turn) = speaker_above(answer.result, parents, speakers) else {
            continue;
        };
        if late_results.contains_key(&(turn, answer.call_id)) {
            let results = early_results.entry((turn, answer.call_id)).or_default();
            results.push(answer.result);
        }
    }

    let mut gaps: Vec<Gap> = Vec::new();
    let mut gaps_by_turn: HashMap<(EntryIx, bool), Vec<usize>> = HashMap::default();
    for (turn, answer) in late {
        let early = early_results.get(&(turn, answer.call_id));
        let has_result = early.is_some_and(|early| {
            early
                .iter()
                .any(|&early| ancestry.is_ancestor_or_self(early, answer.result))
        });
        if has_result {
            continue;
        }
        let is_certain = late_results[&(turn, answer.call_id)].len() == 1;
        let known = gaps_by_turn.entry((turn, is_certain)).or_default();
        let gap = known
            .iter()
            .find(|&&gap| ancestry.is_ancestor_or_self(gaps[gap].first_message, answer.result));
        if let Some(&gap) = gap {
            gaps[gap].results.push(answer.result);
            continue;
        }
        known.push(gaps.len());
        gaps.push(Gap {
            first_message: find_first_message(turn, answer.result, parents, speakers),
            results: vec![answer.result],
            call_id: answer.call_id,
            is_certain,
        });
    }
    gaps
}

/// Returns, by result, the nearest message above it with its call.
fn find_callers(
    session: &Session,
    separated: &[Answer],
    ancestry: &Ancestry,
) -> HashMap<EntryIx, EntryIx> {
    let call_ids: HashSet<_> = separated.iter().map(|answer| answer.call_id).collect();
    let mut callers: HashMap<&[u8], Vec<EntryIx>> = HashMap::default();
    for call in &session.collected.tool_calls {
        let id = session.bytes(call.id);
        if call_ids.contains(id) && !is_omitted(session, call.entry) {
            callers.entry(id).or_default().push(call.entry);
        }
    }
    let mut turns = HashMap::default();
    for answer in separated {
        let callers = callers.get(answer.call_id).into_iter().flatten().copied();
        let above = callers.filter(|&caller| ancestry.is_ancestor_or_self(caller, answer.result));
        // Of several ancestors, the nearest comes last in drawing order.
        if let Some(turn) = above.max_by_key(|&caller| ancestry.drawing_index(caller)) {
            turns.insert(answer.result, turn);
        }
    }
    turns
}

/// Whether the agents leave a message of the model out of the context.
fn is_omitted(session: &Session, ix: EntryIx) -> bool {
    let flags = session.entry(ix).flags;
    flags.contains(Flags::FAILED) || flags.contains(Flags::ABORTED)
}

/// Returns the first message between a turn and a result below it.
fn find_first_message(
    turn: EntryIx,
    result: EntryIx,
    parents: &[Position],
    speakers: &[Position],
) -> EntryIx {
    let mut first = result;
    let mut speaker = speaker_above(result, parents, speakers);
    while let Some(message) = speaker
        && message != turn
    {
        first = message;
        speaker = speaker_above(message, parents, speakers);
    }
    first
}

impl Gap<'_> {
    fn to_finding(&self, session: &Session) -> Finding {
        let last = self.results[self.results.len() - 1];
        let line = session.entry(last).line.0;
        let what = match (self.results.len(), self.is_certain) {
            (1, true) => {
                let call = Text::from_wtf8(self.call_id).to_string();
                format!(
                    "the message is between the tool call {call:?} and its result, on line {line}"
                )
            }
            (results, true) => {
                format!(
                    "the message is between {results} tool calls and their results, the last on line {line}"
                )
            }
            (_, false) => {
                let call = Text::from_wtf8(self.call_id).to_string();
                format!(
                    "the message is between the tool call {call:?} and one of several results, on line {line}"
                )
            }
        };
        finding_in_entry(session, self.first_message, K::MessageBeforeResult, what)
    }
}

/// Returns the entries that are sent to the model at the leaf.
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
struct Moves<'s, 'p> {
    session: &'s Session,
    old_parents: &'p [Position],
    new_parents: Vec<Position>,
    /// The children of each result that may be moved, before anything is moved.
    children: HashMap<EntryIx, Vec<EntryIx>>,
    moved_results: HashSet<EntryIx>,
}

impl<'s, 'p> Moves<'s, 'p> {
    fn new(session: &'s Session, old_parents: &'p [Position], gaps: &[Gap]) -> Self {
        let results = gaps.iter().flat_map(|gap| &gap.results);
        let mut children: HashMap<EntryIx, Vec<EntryIx>> =
            results.map(|&result| (result, Vec::new())).collect();
        for ix in session.entry_indexes() {
            let parent = old_parents[ix.index()];
            if let Some(siblings) = parent.and_then(|parent| children.get_mut(&parent)) {
                siblings.push(ix);
            }
        }
        Moves {
            session,
            old_parents,
            new_parents: old_parents.to_vec(),
            children,
            moved_results: HashSet::default(),
        }
    }

    /// Moves a result from where it is to directly above the message `first`. Its children become
    /// children of its old parent.
    fn move_up(&mut self, result: EntryIx, first: EntryIx) {
        let old_parent = self.new_parents[result.index()];
        for &child in &self.children[&result] {
            if self.new_parents[child.index()] == Some(result) {
                self.new_parents[child.index()] = old_parent;
            }
        }
        self.new_parents[result.index()] = self.new_parents[first.index()];
        self.new_parents[first.index()] = Some(result);
        self.moved_results.insert(result);
    }

    /// Returns the entries around a gap that have another parent now: results first, then the
    /// message, then what followed the results.
    fn changed_entries(&self, gap: &Gap) -> Vec<EntryIx> {
        let mut around = gap.results.clone();
        around.push(gap.first_message);
        for result in &gap.results {
            let children = self.children[result].iter();
            around.extend(children.filter(|child| !gap.results.contains(child)));
        }
        around.retain(|ix| self.new_parents[ix.index()] != self.old_parents[ix.index()]);
        around
    }

    /// Describes the new parents.
    fn describe_fix(&self, gap: &Gap, changed: &[EntryIx], links: &LinkRepair) -> String {
        let id = |ix| links.repaired_id(self.session, ix).to_string();
        let mut links_now = Vec::new();
        for &ix in changed.iter().take(MOST_NAMED) {
            let parent = self.new_parents[ix.index()].map_or_else(|| "root".to_owned(), id);
            links_now.push(format!("{} becomes a child of {parent}", id(ix)));
        }
        if changed.len() > MOST_NAMED {
            links_now.push(format!(
                "{} more change likewise",
                changed.len() - MOST_NAMED
            ));
        }
        let results = match gap.results.len() {
            1 => "the result moves before it",
            _ => "the results move before it",
        };
        format!("{results}: {}", links_now.join(", "))
    }

    /// Adds the new parents to the links. If the leaf was moved, the conversation ends elsewhere.
    fn apply_to(self, links: &mut LinkRepair) {
        for ix in self.session.entry_indexes() {
            if self.new_parents[ix.index()] != self.old_parents[ix.index()] {
                links.new_parents.insert(ix, self.new_parents[ix.index()]);
            }
        }
        let mut end = self.session.leaf;
        while let Some(ix) = end
            && self.moved_results.contains(&ix)
        {
            end = self.old_parents[ix.index()];
        }
        if end != self.session.leaf {
            links.new_leaf = end;
        }
    }
}

/// The maximum number of new parents in a message.
const MOST_NAMED: usize = 6;
