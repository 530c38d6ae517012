//! Removes messages from a context that cannot be sent: calls without results, and turns that
//! failed.

use super::message::{INTERRUPTED_THINKING, call_ids, is_empty_turn};
use crate::session::content;
use crate::session::read::entry_reader::{Body, ContextMessage, EntryReader};
use foldhash::{HashMap, HashSet};
use pisess_json::Raw;
use pisess_json::edit::{with_member, without_member};
use pisess_json::text::Text;
use pisess_json::write::array;
use std::io;

/// A message of a context before the repairs.
#[derive(Debug)]
pub struct ContextItem {
    pub message: ContextMessage,
    pub kind: MessageKind,
}

/// What the repairs must know of a message.
#[derive(Debug)]
pub enum MessageKind {
    /// A turn that was retried, or that failed before any output. Contexts do not contain it.
    DiscardedTurn,
    Turn {
        /// The ids of its tool calls; `None` for one that is not a string.
        calls: Vec<Option<Text<'static>>>,
        /// Whether the turn ended in an error, or was aborted.
        has_failed: bool,
    },
    /// A tool result, with the id of its call.
    Result(Option<Text<'static>>),
    /// The note after a turn that was interrupted while thinking.
    InterruptedThinking,
    Other,
}

impl MessageKind {
    /// Returns what the repairs must know of a message, from its JSON.
    pub fn read(message: Raw) -> Self {
        let names = [
            "role",
            "content",
            "stopReason",
            "retryRecovery",
            "toolCallId",
            "customType",
        ];
        let [
            role,
            content,
            stop_reason,
            retry_recovery,
            call_id,
            custom_type,
        ] = content::find_members(message, names);

        let role = role.and_then(Raw::text).unwrap_or_default();
        match role.as_bytes() {
            b"assistant" => {
                let blocks = content.unwrap_or(Raw::NULL);
                MessageKind::from_turn(blocks, stop_reason, retry_recovery)
            }
            b"toolResult" => {
                let id = call_id.and_then(Raw::text).map(Text::into_owned);
                MessageKind::Result(id)
            }
            b"custom" if custom_type.is_some_and(|name| name.is(INTERRUPTED_THINKING)) => {
                MessageKind::InterruptedThinking
            }
            _ => MessageKind::Other,
        }
    }

    /// Returns the kind of a turn (an assistant message). It is discarded if it was retried, so
    /// that a later turn has the answer, or if it ended in an error before any output.
    fn from_turn(blocks: Raw, stop_reason: Option<Raw>, retry_recovery: Option<Raw>) -> Self {
        let is_error = stop_reason.is_some_and(|reason| reason.is("error"));
        let is_aborted = stop_reason.is_some_and(|reason| reason.is("aborted"));
        let is_retried = retry_recovery.is_some_and(Raw::is_truthy);
        if is_retried || (is_error && is_empty_turn(blocks)) {
            return MessageKind::DiscardedTurn;
        }
        MessageKind::Turn {
            calls: call_ids(blocks),
            has_failed: is_error || is_aborted,
        }
    }
}

/// Removes the messages that cannot be sent, and returns the others in order. Discarded turns are
/// removed first, then calls without results, then failed turns with the results of their calls.
pub fn remove_unsendable(
    mut items: Vec<ContextItem>,
    reader: &EntryReader,
) -> io::Result<Vec<ContextMessage>> {
    items.retain(|item| !matches!(item.kind, MessageKind::DiscardedTurn));
    Ok(remove_failed_turns(remove_dangling_calls(items, reader)?))
}

/// Removes tool calls whose result is not in the list, because providers refuse them. A turn that
/// loses a call also loses its signatures, which would no longer match. A turn of which nothing
/// remains is removed.
fn remove_dangling_calls(
    items: Vec<ContextItem>,
    reader: &EntryReader,
) -> io::Result<Vec<ContextItem>> {
    // `None` is the id of a result whose call has no id. Such a result answers every call without
    // an id.
    let mut answered: HashSet<Option<Text<'static>>> = HashSet::default();
    for item in &items {
        if let MessageKind::Result(id) = &item.kind {
            answered.insert(id.clone());
        }
    }

    let mut kept = Vec::with_capacity(items.len());
    for mut item in items {
        if let MessageKind::Turn { calls, .. } = &mut item.kind
            && calls.iter().any(|id| !answered.contains(id))
        {
            let remaining = item
                .message
                .with_json(reader, |turn| strip_unanswered_calls(turn, &answered))?;
            let Some(remaining) = remaining else {
                continue; // Nothing of the turn remains.
            };
            // The ids in the kind must be those of the calls in the message.
            item.message.body = Body::from_json(remaining);
            calls.retain(|id| answered.contains(id));
        }
        kept.push(item);
    }
    Ok(kept)
}

/// Returns a turn without the calls whose ids are not in `answered`. What the provider signed would
/// no longer match, so redacted thinking and the signatures of thinking are removed, too. `None` if
/// no block remains.
fn strip_unanswered_calls(turn: Raw, answered: &HashSet<Option<Text<'static>>>) -> Option<Vec<u8>> {
    let mut blocks = Vec::new();
    for block in turn.get("content").unwrap_or(Raw::NULL).items() {
        let is_unanswered =
            content::is_block(block, "toolCall") && !answered.contains(&block.get_text("id"));
        if is_unanswered || content::is_block(block, "redactedThinking") {
            continue;
        }
        let is_signed =
            content::is_block(block, "thinking") && content::has_truthy(block, "thinkingSignature");
        blocks.push(if is_signed {
            without_member(block, "thinkingSignature")
        } else {
            block.bytes().to_vec()
        });
    }
    if blocks.is_empty() {
        return None;
    }
    Some(with_member(turn, "content", &array(blocks)))
}

/// Removes each failed turn, and the results of its calls that come after it. A failed turn is kept
/// if the next message that remains is the note on its thinking.
fn remove_failed_turns(items: Vec<ContextItem>) -> Vec<ContextMessage> {
    // The indexes of results by the id of their call, in ascending order.
    let mut result_indexes: HashMap<&Option<Text<'static>>, Vec<usize>> = HashMap::default();
    for (index, item) in items.iter().enumerate() {
        if let MessageKind::Result(id) = &item.kind {
            result_indexes.entry(id).or_default().push(index);
        }
    }

    let mut is_removed = vec![false; items.len()];
    // The messages after the current one that remain, as a stack with the nearest on top.
    let mut remaining: Vec<usize> = Vec::new();
    // From the last message to the first, so that it is known which later messages remain.
    for (index, item) in items.iter().enumerate().rev() {
        // A failed turn may have removed results that were on the stack already.
        while remaining.last().is_some_and(|&next| is_removed[next]) {
            remaining.pop();
        }
        let is_explained = remaining
            .last()
            .is_some_and(|&next| matches!(items[next].kind, MessageKind::InterruptedThinking));

        if let MessageKind::Turn { calls, has_failed } = &item.kind
            && *has_failed
            && !is_explained
        {
            is_removed[index] = true;
            for id in calls {
                let indexes = result_indexes.entry(id).or_default();
                while let Some(result) = indexes.pop_if(|&mut result| result > index) {
                    is_removed[result] = true;
                }
            }
        } else {
            remaining.push(index);
        }
    }

    let mut kept = Vec::with_capacity(items.len());
    for (item, is_removed) in items.into_iter().zip(is_removed) {
        if !is_removed {
            kept.push(item.message);
        }
    }
    kept
}
