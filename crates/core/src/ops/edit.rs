//! Edits the content of an entry as the model sees it, without changing the entry: pi's
//! `context_edit`.
//!
//! An edit is appended under the leaf, and applies on the branch of the leaf. If an entry has
//! several edits, the last counts. The format has no way to remove an edit, so an undo is an edit
//! with the stored content of the entry. A tool call and its result are kept or omitted together,
//! because a model's API accepts neither alone.

use super::chain::Chain;
use super::{IdSource, Refusal, list_ids};
use crate::agents::pi::context::indexes_in_effect;
use crate::agents::pi::edits::{ContextEdit, collect_edits};
use crate::ops::plan::Change;
use crate::session::Session;
use crate::session::content::{member_is, text_content};
use crate::session::entry::{EntryIx, Kind, Role};
use crate::session::read::entry_reader::EntryReader;
use foldhash::{HashMap, HashSet};
use pisess_json::Raw;
use pisess_json::string::encode_to_vec;
use pisess_json::text::Text;
use pisess_json::write::Object;
use std::collections::BTreeSet;
use std::collections::hash_map::Entry;
use std::io;

/// The content of an entry that the model sees, as JSON; `None` if the entry is omitted from the
/// context.
type SeenContent = Option<Vec<u8>>;

/// How to edit an entry.
#[derive(Clone, Copy, Debug)]
pub enum EditAction<'a> {
    /// Omit the entry from the context.
    Omit,
    /// Show this text instead of the content.
    Replace(&'a Text<'a>),
    /// Show the stored content again.
    Undo,
}

/// Returns the edits (entries that change what the model sees of an earlier entry) that apply
/// `action` to the targets, in path order. A target that would not change gets no edit.
///
/// # Errors
/// If a target is not on the path to the leaf, is of a kind that pi cannot edit, or is not in the
/// context. Also if the edits would separate a tool call from its result.
pub fn edit_entries(
    reader: &EntryReader,
    targets: &[EntryIx],
    action: EditAction,
    id_source: &mut IdSource,
) -> Result<Change, Refusal> {
    let session = reader.session();
    let path = session.path(session.leaf);
    check_targets(session, &path, targets)?;
    // The entries of the path that no compaction has replaced.
    let context: Vec<_> = indexes_in_effect(&path, reader)?
        .into_iter()
        .map(|index| path[index as usize])
        .collect();
    check_in_context(session, &context, targets)?;

    let edits = collect_edits(context.iter().copied(), reader)?;
    // By target: its content as the model is to see it.
    let mut changes = HashMap::default();
    for &target in targets {
        changes.insert(target, content_after(reader, target, action)?);
    }
    if let Some(separated) = find_separated_calls(reader, &context, &edits, &changes)? {
        return Err(refuse_separation(session, &separated, action));
    }

    let mut chain = Chain::with_parent(session, session.leaf.into(), id_source);
    for ix in context {
        let Some(content) = changes.remove(&ix) else {
            continue;
        };
        // An edit without an effect is not written.
        if seen_content(reader, ix, &edits)? != content {
            add_edit(&mut chain, ix, content);
        }
    }
    Ok(chain.change)
}

/// Refuses targets that are not on the path to the leaf, because an edit has no effect on other
/// branches. Also refuses targets of a kind that pi cannot edit.
fn check_targets(session: &Session, path: &[EntryIx], targets: &[EntryIx]) -> Result<(), Refusal> {
    let on_path: HashSet<_> = path.iter().copied().collect();
    if let Some(&elsewhere) = targets.iter().find(|ix| !on_path.contains(ix)) {
        return Err(Refusal::with_hint(
            format!("{} is not on the path to the leaf", session.id(elsewhere)),
            "an edit applies to one branch; list its entries with `pisess path`",
        ));
    }
    if let Some(&uneditable) = targets.iter().find(|&&ix| !is_editable(session, ix)) {
        let kind = session
            .role_name(uneditable)
            .unwrap_or_else(|| session.kind_name(uneditable));
        return Err(Refusal::with_hint(
            format!(
                "{} cannot be edited: it is a {kind}",
                session.id(uneditable)
            ),
            "pi supports edits of user, assistant, toolResult and custom messages",
        ));
    }
    Ok(())
}

/// Refuses targets that are not in the context: no model would see the edit. The targets are on the
/// path to the leaf and of a kind that reaches a model, so a compaction has replaced them.
fn check_in_context(
    session: &Session,
    context: &[EntryIx],
    targets: &[EntryIx],
) -> Result<(), Refusal> {
    let in_context: HashSet<_> = context.iter().copied().collect();
    if let Some(&compacted) = targets.iter().find(|ix| !in_context.contains(ix)) {
        return Err(Refusal::with_hint(
            format!(
                "{} is not in the context: a compaction replaced it",
                session.id(compacted)
            ),
            "`pisess context` prints what the model sees",
        ));
    }
    Ok(())
}

/// Adds an edit that makes the model see `content` instead of the content of `target`. `None` omits
/// the entry.
pub(super) fn add_edit(chain: &mut Chain, target: EntryIx, content: Option<Vec<u8>>) {
    let replacement = content.map(|content| Object::new().json("content", &content).finish());
    let target = chain.session.id(target);
    let edit = Object::new()
        .str("type", "context_edit")
        .text("targetId", &target);
    chain.add_entry(edit.json("replacement", replacement.as_deref().unwrap_or(b"null")));
}

/// Whether pi can edit an entry, by its type and role. An entry without an id cannot be edited,
/// because the edit could not refer to it.
fn is_editable(session: &Session, ix: EntryIx) -> bool {
    let entry = session.entry(ix);
    let has_content = match entry.kind {
        Kind::CustomMessage => true,
        Kind::Message => matches!(entry.role, Role::User | Role::Assistant | Role::ToolResult),
        _ => false,
    };
    has_content && !entry.id.is_empty()
}

/// Returns the content of an entry as the model currently sees it; `None` if an edit omits the
/// entry. `edits` are the edits in effect, by the id of the edited entry.
fn seen_content(
    reader: &EntryReader,
    ix: EntryIx,
    edits: &HashMap<Vec<u8>, ContextEdit>,
) -> io::Result<SeenContent> {
    match edits.get(reader.session().id(ix).as_bytes()) {
        None => stored_content(reader, ix),
        Some(ContextEdit::Omit) => Ok(None),
        Some(ContextEdit::Replace(edit)) => replacement_content(reader, *edit),
    }
}

/// Returns the content that an edit gives to its target; `None` if it omits the target.
pub(super) fn replacement_content(reader: &EntryReader, edit: EntryIx) -> io::Result<SeenContent> {
    reader.with_entry(edit, |edit| match edit.get("replacement") {
        Some(replacement) if replacement.is_null() => None,
        replacement => content_json(replacement.and_then(|replacement| replacement.get("content"))),
    })
}

/// Returns the content of an entry as stored, without any edit.
pub(super) fn stored_content(reader: &EntryReader, ix: EntryIx) -> io::Result<SeenContent> {
    reader.with_entry(ix, |entry| {
        // A custom message has its content in the entry itself.
        content_json(entry.get("message").unwrap_or(entry).get("content"))
    })
}

/// Returns content as JSON. Missing content and `null` become an empty array, as which pi treats
/// them.
pub(super) fn content_json(content: Option<Raw>) -> SeenContent {
    match content {
        Some(content) if !content.is_null() => Some(content.bytes().to_vec()),
        _ => Some(b"[]".to_vec()),
    }
}

/// Returns the content of an entry as the model sees it after an action; `None` if the entry is
/// omitted.
fn content_after(reader: &EntryReader, ix: EntryIx, action: EditAction) -> io::Result<SeenContent> {
    match action {
        EditAction::Omit => Ok(None),
        EditAction::Undo => stored_content(reader, ix),
        EditAction::Replace(text) => {
            // The content of these messages is always an array of blocks. That of the others may
            // also be a string.
            let needs_blocks = matches!(
                reader.session().entry(ix).role,
                Role::Assistant | Role::ToolResult
            );
            if needs_blocks {
                Ok(Some(text_content(text)))
            } else {
                Ok(Some(encode_to_vec(text)))
            }
        }
    }
}

/// Messages with tool calls that a change would separate from their results, together with all
/// results of these messages.
struct SeparatedCalls {
    /// Those of these entries that the change edits, in file order.
    changed: Vec<EntryIx>,
    /// The other entries, in file order.
    unchanged: Vec<EntryIx>,
}

/// The ids of the tool calls that the model sees in a message, before and after a change.
struct SeenCalls {
    before: HashSet<Text<'static>>,
    after: HashSet<Text<'static>>,
}

impl SeenCalls {
    /// Returns the calls in the content that a message has before the change. `changed` is its
    /// content after it; `None` if it does not change.
    fn new(before: &SeenContent, changed: Option<&SeenContent>) -> SeenCalls {
        SeenCalls {
            before: seen_call_ids(before),
            after: seen_call_ids(changed.unwrap_or(before)),
        }
    }
}

/// A tool call and its result, which are both in the context.
struct CallPair {
    /// The message with the call.
    call: EntryIx,
    /// The result.
    result: EntryIx,
    /// The id that links them.
    id: Text<'static>,
}

/// Returns the messages whose calls a change would separate from their results; `None` if there are
/// none.
///
/// A call and its result are a pair. Providers refuse a request with only one half of a pair, so a
/// pair is whole if the model sees both halves or neither. A change separates a pair that is whole
/// before the change and not after it.
///
/// `edits` are the edits in effect before the change. `changes` has the content of each entry that
/// the change edits, as the model sees it afterwards.
fn find_separated_calls(
    reader: &EntryReader,
    context: &[EntryIx],
    edits: &HashMap<Vec<u8>, ContextEdit>,
    changes: &HashMap<EntryIx, SeenContent>,
) -> io::Result<Option<SeparatedCalls>> {
    let pairs = find_call_pairs(reader, context)?;
    let mut check = PairCheck {
        reader,
        edits,
        changes,
        seen_calls: HashMap::default(),
    };
    let mut separated: HashSet<EntryIx> = HashSet::default();
    for pair in &pairs {
        let is_changed = changes.contains_key(&pair.call) || changes.contains_key(&pair.result);
        if is_changed && check.is_separated(pair)? {
            separated.insert(pair.call);
        }
    }
    if separated.is_empty() {
        return Ok(None);
    }
    Ok(Some(collect_with_results(&pairs, &separated, changes)))
}

/// Compares pairs of calls and results before and after a change. For `edits` and `changes`, see
/// [`find_separated_calls`].
struct PairCheck<'c> {
    reader: &'c EntryReader<'c>,
    edits: &'c HashMap<Vec<u8>, ContextEdit>,
    changes: &'c HashMap<EntryIx, SeenContent>,
    /// By message with calls. Kept, so that a message with many results is read once.
    seen_calls: HashMap<EntryIx, SeenCalls>,
}

impl PairCheck<'_> {
    /// Whether a pair is whole before the change, and not after it.
    fn is_separated(&mut self, pair: &CallPair) -> io::Result<bool> {
        let calls = match self.seen_calls.entry(pair.call) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                let before = seen_content(self.reader, pair.call, self.edits)?;
                unknown.insert(SeenCalls::new(&before, self.changes.get(&pair.call)))
            }
        };
        let result_before = seen_content(self.reader, pair.result, self.edits)?;
        let result_after = self.changes.get(&pair.result).unwrap_or(&result_before);

        // The model sees both halves, or neither.
        let is_whole_before = calls.before.contains(&pair.id) == result_before.is_some();
        let is_whole_after = calls.after.contains(&pair.id) == result_after.is_some();
        Ok(is_whole_before && !is_whole_after)
    }
}

/// Returns `calling_messages`, and all results of their calls: they must be kept or omitted
/// together. Those that the change edits are listed apart from the others.
fn collect_with_results(
    pairs: &[CallPair],
    calling_messages: &HashSet<EntryIx>,
    changes: &HashMap<EntryIx, SeenContent>,
) -> SeparatedCalls {
    // A set, because a message with several calls is in several pairs.
    let mut entries = BTreeSet::new();
    for pair in pairs {
        if calling_messages.contains(&pair.call) {
            entries.insert(pair.call);
            entries.insert(pair.result);
        }
    }
    let mut changed = Vec::new();
    let mut unchanged = Vec::new();
    for ix in entries {
        if changes.contains_key(&ix) {
            changed.push(ix);
        } else {
            unchanged.push(ix);
        }
    }
    SeparatedCalls { changed, unchanged }
}

/// Returns the refusal of a change that would separate calls from their results. The hint lists all
/// entries that must be edited together.
fn refuse_separation(session: &Session, separated: &SeparatedCalls, action: EditAction) -> Refusal {
    let SeparatedCalls { changed, unchanged } = separated;
    let only_results = changed
        .iter()
        .all(|&ix| session.is_message(ix, Role::ToolResult));
    let separation = Separation::by_action(action, only_results);
    let mut all = [changed.as_slice(), unchanged.as_slice()].concat();
    all.sort();
    Refusal::with_hint(
        format!("{} would {}", list_ids(session, changed), separation.effect),
        format!("{}: {}", separation.remedy, list_ids(session, &all)),
    )
}

/// What is wrong with a change that separates calls from their results, in words.
struct Separation {
    /// What would happen to the changed entries, such as `be omitted without …`.
    effect: &'static str,
    /// What to do with all of the entries instead.
    remedy: &'static str,
}

impl Separation {
    /// `only_results` is whether the action changes tool results alone.
    fn by_action(action: EditAction, only_results: bool) -> Separation {
        match action {
            EditAction::Omit => Separation {
                effect: "be omitted without the other half of a tool call",
                remedy: "omit them together",
            },
            // The new content of a message is a text, so its calls are lost.
            EditAction::Replace(_) if !only_results => Separation {
                effect: "be replaced without losing tool calls that have results",
                remedy: "omit them together, and append the new text",
            },
            // A result with a new content is still a result. It separates a pair only if both
            // halves were omitted, and the model would now see the result again. This is like
            // restoring it.
            EditAction::Replace(_) | EditAction::Undo => Separation {
                effect: "be restored without the other half of a tool call",
                remedy: "restore both together",
            },
        }
    }
}

/// Returns the pairs of calls and results in the context, in the order of the results. A result
/// belongs to the last call before it with the same id. A result without such a call is in no pair.
fn find_call_pairs(reader: &EntryReader, context: &[EntryIx]) -> io::Result<Vec<CallPair>> {
    let session = reader.session();
    // By call id: the last message so far with such a call. Some models number their calls anew in
    // each reply, so ids recur.
    let mut messages_by_call: HashMap<Text<'static>, EntryIx> = HashMap::default();
    let mut pairs = Vec::new();
    for &ix in context {
        if session.is_message(ix, Role::Assistant) {
            for id in read_call_ids(reader, ix)? {
                messages_by_call.insert(id, ix);
            }
        }
        if session.is_message(ix, Role::ToolResult)
            && let Some(id) = read_answered_id(reader, ix)?
            && let Some(&call) = messages_by_call.get(&id)
        {
            pairs.push(CallPair {
                call,
                result: ix,
                id,
            });
        }
    }
    Ok(pairs)
}

/// Reads the ids of the tool calls in a reply.
fn read_call_ids(reader: &EntryReader, reply: EntryIx) -> io::Result<Vec<Text<'static>>> {
    reader.with_message(reply, |message| {
        let ids = call_ids(message.get("content"));
        ids.into_iter().map(Text::into_owned).collect()
    })
}

/// Reads the id of the call that a tool result answers; `None` if it names none.
fn read_answered_id(reader: &EntryReader, result: EntryIx) -> io::Result<Option<Text<'static>>> {
    reader.with_message(result, |message| {
        message.get_text("toolCallId").map(Text::into_owned)
    })
}

/// Returns the ids of the tool calls in a message's content.
pub(super) fn call_ids(content: Option<Raw<'_>>) -> Vec<Text<'_>> {
    let mut ids = Vec::new();
    for block in content.unwrap_or(Raw::NULL).items() {
        if member_is(block, "type", "toolCall") {
            ids.extend(block.get_text("id"));
        }
    }
    ids
}

/// Returns the ids of the tool calls in the content of a message as the model sees it.
fn seen_call_ids(content: &SeenContent) -> HashSet<Text<'static>> {
    let ids = call_ids(content.as_deref().map(Raw::from_checked));
    ids.into_iter().map(Text::into_owned).collect()
}
