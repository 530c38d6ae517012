//! Changes what the model sees of an entry without changing the entry: pi's `context_edit`.
//!
//! An edit is appended under the leaf and applies on its branch; the last edit of an entry counts.
//! The format has no way to remove an edit, so an undo is an edit with the entry's own content. A
//! tool call and its result are kept or omitted together, because a model's API accepts neither
//! alone.

use super::chain::Chain;
use super::{IdSource, Refusal, ids};
use crate::agents::pi::context::in_force;
use crate::agents::pi::edits::{Edit, edits_among};
use crate::ops::plan::Change;
use crate::session::Session;
use crate::session::content::text_content;
use crate::session::entry::{EntryIx, Kind, Role};
use crate::session::read::entry_reader::EntryReader;
use foldhash::{HashMap, HashSet};
use pisess_json::Raw;
use pisess_json::string::encoded;
use pisess_json::text::Text;
use pisess_json::write::Object;
use std::collections::BTreeSet;
use std::io;

/// How to edit an entry.
#[derive(Clone, Copy, Debug)]
pub enum Wanted<'a> {
    /// Omit it from the context.
    Omit,
    /// Show this text instead.
    Replace(&'a Text<'a>),
    /// Show the original.
    Undo,
}

/// Returns edits of the entries, in path order; none if nothing changes.
pub fn edit(
    reader: &EntryReader,
    targets: &[EntryIx],
    wanted: Wanted,
    fresh: &mut IdSource,
) -> Result<Change, Refusal> {
    let session = reader.session();
    let path = session.path(session.leaf);
    let on_path: HashSet<_> = path.iter().copied().collect();
    if let Some(&off) = targets.iter().find(|ix| !on_path.contains(ix)) {
        return Err(Refusal::with_hint(
            format!("{} is not on the path to the leaf", session.id(off)),
            "an edit applies to one branch; list its entries with `pisess path`",
        ));
    }
    if let Some(&fixed) = targets.iter().find(|&&ix| !is_editable(session, ix)) {
        let kind = session
            .role_name(fixed)
            .unwrap_or_else(|| session.kind_name(fixed));
        return Err(Refusal::with_hint(
            format!("{} cannot be edited: it is a {kind}", session.id(fixed)),
            "pi supports edits of user, assistant, toolResult and custom messages",
        ));
    }
    let context: Vec<_> = in_force(&path, reader)?
        .map(|place| path[place as usize])
        .collect();
    let speaking: HashSet<_> = context.iter().copied().collect();
    if let Some(&gone) = targets.iter().find(|ix| !speaking.contains(ix)) {
        return Err(Refusal::with_hint(
            format!(
                "{} is not in the context: a compaction replaced it",
                session.id(gone)
            ),
            "`pisess context` prints what the model sees",
        ));
    }
    let edits = edits_among(context.iter().copied(), reader)?;
    let mut changes = HashMap::default();
    for &target in targets {
        changes.insert(target, becomes(reader, target, wanted)?);
    }
    if let Some(named) = halves(reader, &context, &edits, &changes)? {
        return Err(half(session, named, wanted));
    }
    let mut chain = Chain::under(session, session.leaf, fresh);
    for ix in context {
        let Some(after) = changes.remove(&ix) else {
            continue;
        };
        if seen(reader, ix, &edits)? != after {
            show(&mut chain, ix, after);
        }
    }
    Ok(chain.change)
}

/// Adds an edit, after which the model sees this content of an entry, or nothing of it.
pub(super) fn show(chain: &mut Chain, target: EntryIx, content: Option<Vec<u8>>) {
    let replacement = content.map(|content| Object::new().json("content", &content).finish());
    let target = chain.session.id(target);
    let edit = Object::new()
        .str("type", "context_edit")
        .text("targetId", &target);
    chain.add(edit.json("replacement", replacement.as_deref().unwrap_or(b"null")));
}

/// Whether pi can edit the entry. An entry without an id cannot be referred to.
fn is_editable(session: &Session, ix: EntryIx) -> bool {
    let entry = session.entry(ix);
    let has_content = match entry.kind {
        Kind::CustomMessage => true,
        Kind::Message => matches!(entry.role, Role::User | Role::Assistant | Role::ToolResult),
        _ => false,
    };
    has_content && !entry.id.is_empty()
}

/// Returns the content that the model currently sees, as JSON; `None` if it sees nothing.
fn seen(
    reader: &EntryReader,
    ix: EntryIx,
    edits: &HashMap<Vec<u8>, Edit>,
) -> io::Result<Option<Vec<u8>>> {
    match edits.get(reader.session().id(ix).as_bytes()) {
        None => stored(reader, ix),
        Some(Edit::Omit) => Ok(None),
        Some(Edit::Replace(by)) => replaced(reader, *by),
    }
}

/// Returns the content that an edit shows instead of that of its target; `None` if it omits it.
pub(super) fn replaced(reader: &EntryReader, edit: EntryIx) -> io::Result<Option<Vec<u8>>> {
    reader.with_entry(edit, |edit| match edit.get("replacement") {
        Some(replacement) if replacement.is_null() => None,
        replacement => content(replacement.and_then(|replacement| replacement.get("content"))),
    })
}

/// Returns the content of the entry; pi treats missing content as an empty list.
pub(super) fn stored(reader: &EntryReader, ix: EntryIx) -> io::Result<Option<Vec<u8>>> {
    reader.with_entry(ix, |entry| {
        content(entry.get("message").unwrap_or(entry).get("content"))
    })
}

pub(super) fn content(content: Option<Raw>) -> Option<Vec<u8>> {
    let stored = content.filter(|content| !content.is_null());
    Some(stored.map_or_else(|| b"[]".to_vec(), |content| content.bytes().to_vec()))
}

/// Returns the new content, if it has any; text becomes a block if pi requires blocks.
fn becomes(reader: &EntryReader, ix: EntryIx, wanted: Wanted) -> io::Result<Option<Vec<u8>>> {
    let takes_blocks = matches!(
        reader.session().entry(ix).role,
        Role::Assistant | Role::ToolResult
    );
    match wanted {
        Wanted::Omit => Ok(None),
        Wanted::Undo => stored(reader, ix),
        Wanted::Replace(text) if takes_blocks => Ok(Some(text_content(text))),
        Wanted::Replace(text) => Ok(Some(encoded(text))),
    }
}

/// Returns the entries of calls that a change would separate from their results, unless they were
/// separate before: those that change, and their counterparts.
fn halves(
    reader: &EntryReader,
    context: &[EntryIx],
    edits: &HashMap<Vec<u8>, Edit>,
    changes: &HashMap<EntryIx, Option<Vec<u8>>>,
) -> io::Result<Option<[Vec<EntryIx>; 2]>> {
    let is_changed = |ix: &EntryIx| changes.contains_key(ix);
    let linked = pairs(reader, context)?;
    // The calls of a message before and after the edit, computed once for all of its results.
    let mut turns: HashMap<EntryIx, [HashSet<Text>; 2]> = HashMap::default();
    let mut parted = HashSet::default();
    for (call, result, id) in linked
        .iter()
        .filter(|(call, result, _)| is_changed(call) || is_changed(result))
    {
        if !turns.contains_key(call) {
            let before = seen(reader, *call, edits)?;
            let after = changes.get(call).unwrap_or(&before);
            turns.insert(*call, [calls_in(&before), calls_in(after)]);
        }
        let has_call = turns[call].each_ref().map(|calls| calls.contains(id));
        let before = seen(reader, *result, edits)?;
        let after = changes.get(result).unwrap_or(&before);
        if has_call[0] == before.is_some() && has_call[1] != after.is_some() {
            parted.insert(*call);
        }
    }
    if parted.is_empty() {
        return Ok(None);
    }
    // A message with calls is kept or omitted with all of their results.
    let group = linked.iter().filter(|(call, ..)| parted.contains(call));
    let group: BTreeSet<_> = group
        .flat_map(|&(call, result, _)| [call, result])
        .collect();
    let (named, others) = group.into_iter().partition(is_changed);
    Ok(Some([named, others]))
}

/// Returns the refusal of a change that would separate calls from their results.
fn half(session: &Session, [named, others]: [Vec<EntryIx>; 2], wanted: Wanted) -> Refusal {
    // Replacing a result whose call is omitted would make the model see the result again.
    let is_result = |&ix: &EntryIx| session.is_message(ix, Role::ToolResult);
    let (what, hint) = match wanted {
        Wanted::Replace(_) if !named.iter().all(is_result) => (
            "be replaced without losing tool calls that have results",
            "omit them together, and append the new text",
        ),
        Wanted::Omit => (
            "be omitted without the other half of a tool call",
            "omit them together",
        ),
        Wanted::Undo | Wanted::Replace(_) => (
            "be restored without the other half of a tool call",
            "restore both together",
        ),
    };
    let mut all = [&*named, &others].concat();
    all.sort();
    Refusal::with_hint(
        format!("{} would {what}", ids(session, &named)),
        format!("{hint}: {}", ids(session, &all)),
    )
}

/// Returns the calling messages and the results in the context, in pairs, with the ids that link
/// them.
fn pairs(
    reader: &EntryReader,
    context: &[EntryIx],
) -> io::Result<Vec<(EntryIx, EntryIx, Text<'static>)>> {
    let session = reader.session();
    let mut callers: HashMap<Text<'static>, EntryIx> = HashMap::default();
    let mut pairs = Vec::new();
    for &ix in context {
        if session.is_message(ix, Role::Assistant) {
            reader.with_message(ix, |message| {
                callers.extend(call_ids(message.get("content")).map(|id| (id.into_owned(), ix)));
            })?;
        } else if session.is_message(ix, Role::ToolResult) {
            reader.with_message(ix, |message| {
                let id = message.get_text("toolCallId").map(Text::into_owned);
                pairs.extend(id.and_then(|id| Some((*callers.get(&id)?, ix, id))));
            })?;
        }
    }
    Ok(pairs)
}

/// Returns the ids of the tool calls in a message's content.
pub(super) fn call_ids(content: Option<Raw<'_>>) -> impl Iterator<Item = Text<'_>> {
    let blocks = content.into_iter().flat_map(Raw::items);
    let calls = blocks.filter(|block| block.get("type").is_some_and(|kind| kind.is("toolCall")));
    calls.filter_map(|call| call.get_text("id"))
}

fn calls_in(content: &Option<Vec<u8>>) -> HashSet<Text<'static>> {
    call_ids(content.as_deref().map(Raw::checked))
        .map(Text::into_owned)
        .collect()
}
