//! Checks the content of entries: times, summaries, labels, tool calls.

use super::finding::{Finding, FindingKind, finding_in_entry};
use crate::agents::oh_my_pi::native;
use crate::session::entry::{Entry, EntryIx, Flags, Kind, Role};
use crate::session::read::entry_reader::EntryReader;
use crate::session::tree::Ancestry;
use crate::session::{Format, Session};
use foldhash::HashMap;
use pisess_json::Raw;
use pisess_json::text::Text;
use std::cell::LazyCell;
use std::collections::BTreeSet;
use std::io;

/// Returns a finding for each defect in the content of the entries. `reader` reads the file with
/// its lines repaired. `is_active` has an element per entry: whether the entry is on the path to
/// the leaf.
pub(super) fn check_content(reader: &EntryReader, is_active: &[bool]) -> io::Result<Vec<Finding>> {
    let session = reader.session();
    let mut findings = Vec::new();
    for ix in session.entry_indexes() {
        let is_active = is_active[ix.index()];
        findings.extend(check_message_content(session, ix, is_active));
        findings.extend(check_type(session, ix, is_active));
        findings.extend(check_time(session, ix, is_active));
    }
    findings.append(&mut check_labels(session));
    findings.append(&mut check_summaries(reader, is_active)?);
    findings.append(&mut check_tool_calls(session));
    Ok(findings)
}

/// Whether an entry is an assistant message without content. oh-my-pi cannot build a context with
/// it. pi treats the content as empty, so a repair adds empty content. Other messages without
/// content fail in both agents, and are not repaired.
pub(super) fn stops_oh_my_pi(entry: &Entry) -> bool {
    entry.kind == Kind::Message
        && entry.role == Role::Assistant
        && entry.flags.contains(Flags::NO_CONTENT)
}

/// Whether an entry has neither the member `id` nor `parentId`, as in version 1 of the format. In a
/// file of a later version, a repair adds both members, and migrates the rest of the entry.
pub(super) fn is_of_version_1(entry: &Entry) -> bool {
    entry.flags.contains(Flags::NO_ID_KEY) && entry.flags.contains(Flags::NO_PARENT_KEY)
}

/// Returns a finding if a message needs content, but has none. The flag was set when the session
/// was loaded, so no line is read. `is_active` is whether the entry is on the path to the leaf,
/// where a defect does the most harm.
fn check_message_content(session: &Session, ix: EntryIx, is_active: bool) -> Option<Finding> {
    let entry = session.entry(ix);
    let lacks_content = entry.kind == Kind::Message
        && entry.flags.contains(Flags::NO_CONTENT)
        && needs_content(entry.role);
    if !lacks_content {
        return None;
    }
    let message = "the message has no content";
    let finding = finding_in_entry(session, ix, FindingKind::NoContent, message);
    if !stops_oh_my_pi(entry) {
        // There is no content that both agents would accept for such a message.
        return Some(finding);
    }
    let fix = "it gets an empty one, which is how pi reads it";
    Some(finding.worst_case_if(is_active).with_fix(fix))
}

/// Returns a finding if the entry is a leaf record, or has no known type, or is a message without a
/// known role.
fn check_type(session: &Session, ix: EntryIx, is_active: bool) -> Option<Finding> {
    let finding = match session.entry(ix).kind {
        Kind::Leaf => return check_leaf_record(session, ix),
        Kind::Missing => {
            let message = "the entry has no type";
            finding_in_entry(session, ix, FindingKind::UnknownType, message)
        }
        Kind::Other => {
            let type_name = session.kind_name(ix).to_string();
            let message = format!("unknown type {type_name:?}");
            finding_in_entry(session, ix, FindingKind::UnknownType, message)
        }
        Kind::Message => {
            // `None` if the role is known.
            let message = describe_unknown_role(session, ix)?;
            finding_in_entry(session, ix, FindingKind::UnknownRole, message)
        }
        _ => return None,
    };
    Some(finding.worst_case_if(is_active))
}

/// Returns the message for a message entry whose role is missing or not known; `None` if it is
/// known.
fn describe_unknown_role(session: &Session, ix: EntryIx) -> Option<String> {
    let Some(name) = session.role_name(ix) else {
        return Some("the message has no role".to_owned());
    };
    if session.entry(ix).role != Role::Other {
        return None;
    }
    Some(format!("the role {:?} is not known", name.to_string()))
}

/// Returns the finding for a leaf record, which moves the leaf. `None` if the record has no id:
/// then only this is reported, with the other missing ids.
fn check_leaf_record(session: &Session, ix: EntryIx) -> Option<Finding> {
    if session.entry(ix).id.is_empty() {
        return None;
    }
    let is_last = ix.index() + 1 == session.entries.len();
    let finding = finding_in_entry(
        session,
        ix,
        FindingKind::LeafRecord,
        "the record marks the leaf",
    );
    Some(finding.worst_case_if(is_last))
}

/// Returns a finding if an entry has no valid time, or is older than its parent. Some types of
/// entries may be older, because an agent or a fork writes them with an earlier time.
fn check_time(session: &Session, ix: EntryIx, is_active: bool) -> Option<Finding> {
    let has_time = session.entry(ix).time_ms != Entry::NO_TIME;
    let finding = if has_time {
        if !is_wrongly_older_than_parent(session, ix) {
            return None;
        }
        let message = "it is older than its parent";
        finding_in_entry(session, ix, FindingKind::TimeRunsBackwards, message)
    } else {
        // Entries of the draft tree may lack a time.
        if session.format == Format::Draft {
            return None;
        }
        let message = "its timestamp is missing or invalid";
        finding_in_entry(session, ix, FindingKind::BadTimestamp, message)
    };
    Some(finding.worst_case_if(is_active))
}

/// Whether an entry that has a time is older than its parent, although its type does not allow it.
fn is_wrongly_older_than_parent(session: &Session, ix: EntryIx) -> bool {
    let entry = session.entry(ix);
    let Some(parent) = entry.parent else {
        return false;
    };
    // A parent without a time counts as older than any entry: see [`Entry::NO_TIME`].
    let is_older = entry.time_ms < session.entry(parent).time_ms;
    // A fork copies a label with the time of the original, below entries that may be newer.
    let may_be_older = entry.kind == Kind::Label || session.agent().may_predate_parent(entry.kind);
    is_older && !may_be_older
}

/// Whether messages with this role have content.
fn needs_content(role: Role) -> bool {
    matches!(
        role,
        Role::User | Role::Assistant | Role::ToolResult | Role::Custom | Role::Developer
    )
}

/// Returns a finding for each label of an entry that is not in the file. A change with an empty
/// name only clears a label, so it is not reported.
fn check_labels(session: &Session) -> Vec<Finding> {
    let mut findings = Vec::new();
    for change in &session.collected.labels {
        let target = session.text(change.target);
        let is_target_missing = session.find_entry(&target).is_none();
        let sets_label = !change.name.is_empty();
        if is_target_missing && sets_label {
            let target = target.to_string();
            let message = format!("the labelled entry {target:?} is not in the file");
            let kind = FindingKind::LabelOnNothing;
            findings.push(finding_in_entry(session, change.entry, kind, message));
        }
    }
    findings
}

/// Returns findings for compactions and branch summaries without text, and for compactions that
/// name an entry which is not on their path as the first that they keep. Reads the lines of these
/// entries.
fn check_summaries(reader: &EntryReader, is_active: &[bool]) -> io::Result<Vec<Finding>> {
    let session = reader.session();
    let mut findings = Vec::new();
    // Computed only if a compaction is checked: it takes time in proportion to all entries.
    let ancestry = LazyCell::new(|| Ancestry::new(session));
    for ix in session.entry_indexes() {
        let kind = session.entry(ix).kind;
        if !matches!(kind, Kind::Compaction | Kind::BranchSummary) {
            continue;
        }
        let line = reader.read_line(ix)?;
        let entry = Raw::from_checked(line.trim_ascii());

        if lacks_summary(kind, entry) {
            let finding = empty_summary_finding(session, ix);
            findings.push(finding.worst_case_if(is_active[ix.index()]));
        }
        if kind == Kind::Compaction
            && let Some(message) = find_kept_entry_defect(session, ix, entry, &ancestry)
        {
            let kind = FindingKind::KeptEntryUnknown;
            findings.push(finding_in_entry(session, ix, kind, message));
        }
    }
    Ok(findings)
}

/// Returns the finding for a compaction or a branch summary that lacks its text.
fn empty_summary_finding(session: &Session, ix: EntryIx) -> Finding {
    let message = match session.entry(ix).kind {
        Kind::Compaction => "the compaction has no text",
        _ => "the branch summary has no text",
    };
    finding_in_entry(session, ix, FindingKind::EmptySummary, message)
}

/// Whether a compaction or branch summary lacks its text. Two kinds of them need no text: a
/// compaction with the provider's own form of the context, and the mark of a discarded branch.
fn lacks_summary(kind: Kind, entry: Raw) -> bool {
    let has_text = entry
        .get_text("summary")
        .is_some_and(|summary| !summary.is_blank());
    let has_other_form = kind == Kind::Compaction && has_provider_context(entry);
    let needs_no_text = has_other_form || marks_discarded_branch(entry);
    !has_text && !needs_no_text
}

/// Whether oh-my-pi stored data in `preserveData` of a compaction, such as the provider's own form
/// of the context.
fn has_provider_context(entry: Raw) -> bool {
    entry
        .get_some("preserveData")
        .is_some_and(|data| data.members().next().is_some())
}

/// Whether an entry is oh-my-pi's mark for a discarded branch, which has no text on purpose.
fn marks_discarded_branch(entry: Raw) -> bool {
    let kind = entry.get("details").and_then(|details| details.get("kind"));
    kind.is_some_and(|kind| kind.is("discarded-entry-branch"))
}

/// Returns a message if a compaction names an entry that is not in the file, or not an ancestor.
///
/// A compaction must name the first entry that it keeps. One with a native snapshot of oh-my-pi
/// (the provider's own form of the summary) names the last entry that the snapshot covers instead,
/// or none.
fn find_kept_entry_defect(
    session: &Session,
    ix: EntryIx,
    entry: Raw,
    ancestry: &Ancestry,
) -> Option<String> {
    // A compaction of version 1 names the entry by its index, not by an id.
    if is_of_version_1(session.entry(ix)) && session.first_kept_entry(ix, entry).is_some() {
        return None;
    }
    if native::is_snapshot(entry) {
        // A snapshot that names no entry covers everything before it.
        let last_covered_id = native::last_covered_id(entry)?;
        return find_named_entry_defect(
            session,
            ix,
            &last_covered_id,
            "last covered entry",
            ancestry,
        );
    }
    let Some(first_kept_id) = entry.get_text("firstKeptEntryId") else {
        return Some("it has no first kept entry".to_owned());
    };
    find_named_entry_defect(session, ix, &first_kept_id, "first kept entry", ancestry)
}

/// Returns a message if the entry that the compaction `ix` names by `named_id` is not in the file,
/// or not on the path to the compaction. `description` is what the named entry is to it.
fn find_named_entry_defect(
    session: &Session,
    ix: EntryIx,
    named_id: &Text,
    description: &str,
    ancestry: &Ancestry,
) -> Option<String> {
    let Some(named_entry) = session.find_entry(named_id) else {
        let id = named_id.to_string();
        return Some(format!("its {description} {id:?} is not in the file"));
    };
    // A compaction that names itself keeps nothing.
    if named_entry == ix || ancestry.is_ancestor_or_self(named_entry, ix) {
        return None;
    }
    let line = session.shown_line(named_entry).0;
    Some(format!(
        "its {description}, on line {line}, is not on its path"
    ))
}

/// Maps the id of each tool call of the session to the message with the call; of several calls with
/// the same id, the last.
fn messages_by_call(session: &Session) -> HashMap<Text<'_>, EntryIx> {
    let calls = session.collected.tool_calls.iter();
    calls
        .map(|call| (session.text(call.id), call.entry))
        .collect()
}

/// A tool call on the active path.
struct CallOnPath {
    /// The message with the call.
    message: EntryIx,
    /// Whether a result has to follow, and has not done so yet.
    needs_result: bool,
}

impl CallOnPath {
    /// Returns a call that a message makes, and that no result has answered yet.
    fn in_message(session: &Session, message: EntryIx) -> CallOnPath {
        // The agents omit a message that failed or was aborted from the context. Its calls may have
        // results, but need none.
        let flags = session.entry(message).flags;
        let is_omitted = flags.contains(Flags::FAILED) || flags.contains(Flags::ABORTED);
        CallOnPath {
            message,
            needs_result: !is_omitted,
        }
    }
}

/// Returns findings for tool results on the active path without a call above, and for calls without
/// a result below. Calls of failed and aborted messages need no result.
fn check_tool_calls(session: &Session) -> Vec<Finding> {
    let mut findings = Vec::new();
    // The calls so far, by id. A later call replaces one with the same id.
    let mut calls: HashMap<Text, CallOnPath> = HashMap::default();
    // The map covers the whole session, so it is computed only for a result without a call.
    let messages_by_call = LazyCell::new(|| messages_by_call(session));
    for ix in session.path(session.leaf) {
        if session.is_message(ix, Role::ToolResult) {
            let id = answered_call_id(session, ix);
            // A call stays in the map after its result, because it may have several.
            if let Some(call) = calls.get_mut(&id) {
                call.needs_result = false;
            } else {
                let caller = messages_by_call.get(&id).copied();
                findings.push(result_without_call(session, ix, &id, caller));
            }
        }
        for call in session.collected.tool_calls_of(ix) {
            let id = session.text(call.id);
            calls.insert(id, CallOnPath::in_message(session, ix));
        }
    }
    findings.append(&mut calls_without_result(session, &calls));
    findings
}

/// Returns the finding for a tool result whose call is not on the path to it. `caller` is the
/// message with this call on another branch, if there is one.
fn result_without_call(
    session: &Session,
    result: EntryIx,
    call_id: &Text,
    caller: Option<EntryIx>,
) -> Finding {
    let mut message = format!(
        "no tool call on the path to it has the id {:?}",
        call_id.to_string()
    );
    if let Some(caller) = caller {
        let line = session.shown_line(caller).0;
        message += &format!(", only one on line {line}");
    }
    message += "; there is no repair for it";
    finding_in_entry(session, result, FindingKind::ResultWithoutCall, message)
}

/// Returns a finding for each of these calls that needs a result, in the order of the file.
fn calls_without_result(session: &Session, calls: &HashMap<Text, CallOnPath>) -> Vec<Finding> {
    // Sorted by message and id, because a hash map has no order.
    let mut unanswered = BTreeSet::new();
    for (id, call) in calls {
        if call.needs_result {
            unanswered.insert((call.message, id.as_bytes()));
        }
    }
    let mut findings = Vec::new();
    for (message, id) in unanswered {
        let id = Text::from_wtf8(id).to_string();
        let text = format!("the tool call {id:?} has no result on the active path");
        let kind = FindingKind::CallWithoutResult;
        findings.push(finding_in_entry(session, message, kind, text));
    }
    findings
}

/// Returns the id of the call that a tool result answers; empty if it names none.
fn answered_call_id(session: &Session, result: EntryIx) -> Text<'_> {
    let results = &session.collected.tool_results;
    match results.binary_search_by_key(&result, |result| result.entry) {
        Ok(index) => session.text(results[index].text),
        Err(_) => Text::default(),
    }
}
