//! Checks the content of entries: times, summaries, labels, tool calls.

use super::finding::{Finding, FindingKind as K, found};
use crate::agents::oh_my_pi::native;
use crate::session::entry::{Entry, EntryIx, Flags, Kind, Role};
use crate::session::read::entry_reader::EntryReader;
use crate::session::tree::Ancestry;
use crate::session::{Format, Session};
use foldhash::{HashMap, HashSet};
use pisess_json::Raw;
use pisess_json::text::Text;
use std::cell::LazyCell;
use std::io;

/// Checks all entries of a file with repaired lines.
pub(super) fn check(
    reader: &EntryReader,
    active: &[bool],
    findings: &mut Vec<Finding>,
) -> io::Result<()> {
    let session = reader.session();
    for ix in session.all() {
        envelope(session, ix, active, findings);
    }
    labels(session, findings);
    summaries(reader, active, findings)?;
    tools(session, findings);
    Ok(())
}

/// Whether an entry is an assistant message without content, to which a repair adds an empty one:
/// pi treats it as empty, oh-my-pi cannot build a context with it. Other messages without content
/// fail in both.
pub(super) fn stops_oh_my_pi(entry: &Entry) -> bool {
    entry.kind == Kind::Message
        && entry.role == Role::Assistant
        && entry.flags.has(Flags::NO_CONTENT)
}

/// Whether an entry has neither an id nor a parent, as in version 1. In a file of a later version,
/// a repair adds both, and migrates the rest of the entry.
pub(super) fn is_of_version_1(entry: &Entry) -> bool {
    entry.flags.has(Flags::NO_ID_KEY) && entry.flags.has(Flags::NO_PARENT_KEY)
}

fn envelope(session: &Session, ix: EntryIx, active: &[bool], findings: &mut Vec<Finding>) {
    let entry = session.entry(ix);
    let is_active = active[ix.at()];
    if entry.kind == Kind::Message
        && entry.flags.has(Flags::NO_CONTENT)
        && needs_content(entry.role)
    {
        let finding = found(session, ix, K::NoContent, "the message has no content");
        findings.push(if stops_oh_my_pi(entry) {
            finding
                .grave(is_active)
                .fix("it gets an empty one, which is how pi reads it")
        } else {
            finding
        });
    }
    let mut note = |kind, grave: bool, message: &str| {
        findings.push(found(session, ix, kind, message).grave(grave));
    };
    match entry.kind {
        // Of a leaf record without an id, only the missing id is reported.
        Kind::Leaf if entry.id.is_empty() => {}
        Kind::Leaf => {
            let is_last = ix.at() + 1 == session.entries.len();
            note(K::LeafRecord, is_last, "the record marks the leaf");
        }
        Kind::Missing => note(K::UnknownType, is_active, "the entry has no type"),
        Kind::Other => {
            let name = session.kind_name(ix).to_string();
            note(K::UnknownType, is_active, &format!("unknown type {name:?}"));
        }
        Kind::Message => match session.role_name(ix) {
            None => note(K::UnknownRole, is_active, "the message has no role"),
            Some(role) if entry.role == Role::Other => {
                note(
                    K::UnknownRole,
                    is_active,
                    &format!("the role {:?} is not known", role.to_string()),
                );
            }
            Some(_) => {}
        },
        _ => {}
    }
    let is_dated = session.format != Format::Draft;
    if is_dated && entry.time_ms == Entry::NO_TIME {
        note(
            K::BadTimestamp,
            is_active,
            "its timestamp is missing or invalid",
        );
    }
    let parent = entry.parent.map(|parent| session.entry(parent).time_ms);
    // A label in a fork has the time of the original.
    let may_be_older = entry.kind == Kind::Label || session.agent().may_predate_parent(entry.kind);
    let runs_back = parent.is_some_and(|parent| entry.time_ms < parent);
    if runs_back && entry.time_ms != Entry::NO_TIME && !may_be_older {
        note(
            K::TimeRunsBackwards,
            is_active,
            "it is older than its parent",
        );
    }
}

fn needs_content(role: Role) -> bool {
    matches!(
        role,
        Role::User | Role::Assistant | Role::ToolResult | Role::Custom | Role::Developer
    )
}

fn labels(session: &Session, findings: &mut Vec<Finding>) {
    for change in &session.collected.labels {
        let target = session.text(change.target);
        if session.find(&target).is_none() && !change.name.is_empty() {
            let message = format!(
                "the labelled entry {:?} is not in the file",
                target.to_string()
            );
            findings.push(found(session, change.entry, K::LabelOnNothing, message));
        }
    }
}

fn summaries(reader: &EntryReader, active: &[bool], findings: &mut Vec<Finding>) -> io::Result<()> {
    let session = reader.session();
    let is_summary = |ix: &EntryIx| {
        matches!(
            session.entry(*ix).kind,
            Kind::Compaction | Kind::BranchSummary
        )
    };
    let ancestry = LazyCell::new(|| Ancestry::new(session));
    for ix in session.all().filter(is_summary) {
        let line = reader.line(ix)?;
        let entry = Raw::checked(line.trim_ascii());
        let is_compaction = session.entry(ix).kind == Kind::Compaction;
        let is_blank = entry
            .get_text("summary")
            .is_none_or(|summary| summary.is_blank());
        if is_blank && !(is_compaction && has_other_form(entry)) && !is_discarding(entry) {
            let what = if is_compaction {
                "the compaction"
            } else {
                "the branch summary"
            };
            findings.push(
                found(session, ix, K::EmptySummary, format!("{what} has no text"))
                    .grave(active[ix.at()]),
            );
        }
        if is_compaction {
            kept(session, ix, entry, &ancestry, findings);
        }
    }
    Ok(())
}

/// Whether a compaction has the provider's version of the context, which oh-my-pi stores beside the
/// summary.
fn has_other_form(entry: Raw) -> bool {
    entry
        .get_some("preserveData")
        .is_some_and(|data| data.members().next().is_some())
}

/// Whether it is oh-my-pi's mark for a discarded branch, which has no text on purpose.
fn is_discarding(entry: Raw) -> bool {
    let kind = entry.get("details").and_then(|details| details.get("kind"));
    kind.is_some_and(|kind| kind.is("discarded-entry-branch"))
}

fn kept(
    session: &Session,
    ix: EntryIx,
    entry: Raw,
    ancestry: &Ancestry,
    findings: &mut Vec<Finding>,
) {
    if is_of_version_1(session.entry(ix)) && session.migrated_kept(ix, entry).is_some() {
        return;
    }
    // A native snapshot that names no entry at all covers everything before it.
    let (what, id) = if native::is_snapshot(entry) {
        match native::through(entry) {
            None => return,
            through => ("last covered", through),
        }
    } else {
        ("first kept", entry.get_text("firstKeptEntryId"))
    };
    let message = match id {
        None => "it has no first kept entry".to_owned(),
        Some(id) => match session.find(&id) {
            // A compaction that refers to itself keeps nothing.
            Some(kept) if kept == ix || ancestry.is_above(kept, ix) => return,
            Some(kept) => {
                format!(
                    "its {what} entry, on line {}, is not on its path",
                    session.entry(kept).line.0
                )
            }
            None => format!("its {what} entry {:?} is not in the file", id.to_string()),
        },
    };
    findings.push(found(session, ix, K::KeptEntryUnknown, message));
}

/// Returns the message with each call, by the id of the call.
fn callers(session: &Session) -> HashMap<Text<'_>, EntryIx> {
    let calls = session.collected.tool_calls.iter();
    calls
        .map(|call| (session.text(call.id), call.entry))
        .collect()
}

/// Checks calls and results on the active path.
fn tools(session: &Session, findings: &mut Vec<Finding>) {
    // The calls not answered yet, and whether the agents omit their message.
    let mut open: HashMap<Text, (EntryIx, bool)> = HashMap::default();
    let mut called: HashSet<Text> = HashSet::default();
    let callers = LazyCell::new(|| callers(session));
    for ix in session.path(session.leaf) {
        let entry = session.entry(ix);
        if session.is_message(ix, Role::ToolResult) {
            let result = session
                .collected
                .tool_results
                .binary_search_by_key(&ix, |result| result.entry);
            let id = result.map_or_else(
                |_| Text::default(),
                |at| session.text(session.collected.tool_results[at].text),
            );
            if open.remove(&id).is_none() && !called.contains(&id) {
                let call = id.to_string();
                let mut what = format!("no tool call on the path to it has the id {call:?}");
                what += &match callers.get(&id) {
                    Some(&caller) => {
                        let line = session.entry(caller).line.0;
                        format!(", only one on line {line}; there is no repair for it")
                    }
                    None => "; there is no repair for it".to_owned(),
                };
                findings.push(found(session, ix, K::ResultWithoutCall, what));
            }
        }
        // The agents omit such messages from the context.
        let is_left_out = entry.flags.has(Flags::FAILED) || entry.flags.has(Flags::ABORTED);
        for call in session.collected.calls_of(ix) {
            called.insert(session.text(call.id));
            open.insert(session.text(call.id), (ix, is_left_out));
        }
    }
    let mut unanswered: Vec<_> = open
        .into_iter()
        .filter(|(_, (_, left_out))| !left_out)
        .collect();
    unanswered
        .sort_by(|(a, (a_ix, _)), (b, (b_ix, _))| (a_ix, a.as_bytes()).cmp(&(b_ix, b.as_bytes())));
    for (id, (ix, _)) in unanswered {
        let what = format!(
            "the tool call {:?} has no result on the active path",
            id.to_string()
        );
        findings.push(found(session, ix, K::CallWithoutResult, what));
    }
}
