//! Removes messages that cannot be sent: calls without results, and turns that failed.

use super::message::{INTERRUPTED_THINKING, call_ids, is_empty_turn};
use crate::session::content;
use crate::session::read::entry_reader::{Body, EntryReader, Message};
use foldhash::{HashMap, HashSet};
use pisess_json::Raw;
use pisess_json::edit::{with, without};
use pisess_json::text::Text;
use pisess_json::write::array;
use std::io;

/// The kind of a message, for the repairs.
#[derive(Debug)]
pub enum MessageKind {
    Turn {
        /// The ids of its tool calls; `None` for one that is not a string.
        calls: Vec<Option<Text<'static>>>,
        /// Whether it ended in an error, or was aborted.
        failed: bool,
    },
    Result(Option<Text<'static>>),
    /// The note after a turn that was interrupted while thinking.
    InterruptedThinking,
    Other,
}

impl MessageKind {
    /// Returns the kind of a message; `None` for a turn that was retried, or that failed before any
    /// output.
    pub fn of(message: Raw) -> Option<Self> {
        let names = [
            "role",
            "content",
            "stopReason",
            "retryRecovery",
            "toolCallId",
            "customType",
        ];
        let [role, content, stop_reason, retried, call, custom_type] =
            content::members(message, names);
        let is = |value: Option<Raw>, text: &str| value.is_some_and(|value| value.is(text));
        if is(role, "assistant") {
            let blocks = content.unwrap_or(Raw::NULL);
            let error = is(stop_reason, "error");
            let skipped = retried.is_some_and(Raw::is_truthy) || (error && is_empty_turn(blocks));
            let failed = error || is(stop_reason, "aborted");
            return (!skipped).then(|| MessageKind::Turn {
                calls: call_ids(blocks),
                failed,
            });
        }
        if is(role, "toolResult") {
            return Some(MessageKind::Result(
                call.and_then(Raw::text).map(Text::into_owned),
            ));
        }
        let interrupted = is(role, "custom") && is(custom_type, INTERRUPTED_THINKING);
        Some(if interrupted {
            MessageKind::InterruptedThinking
        } else {
            MessageKind::Other
        })
    }
}

/// Removes the messages that cannot be sent, and returns the others, in order.
pub fn repaired(
    items: Vec<(Message, MessageKind)>,
    reader: &EntryReader,
) -> io::Result<Vec<Message>> {
    Ok(without_failed_turns(without_dangling_calls(items, reader)?))
}

/// Each call needs its result in the list. A turn that loses a call also loses the provider's
/// signatures, since they would no longer match.
fn without_dangling_calls(
    items: Vec<(Message, MessageKind)>,
    reader: &EntryReader,
) -> io::Result<Vec<(Message, MessageKind)>> {
    let results = items.iter().filter_map(|(_, kind)| match kind {
        MessageKind::Result(id) => Some(id.clone()),
        _ => None,
    });
    let answered: HashSet<Option<Text<'static>>> = results.collect();
    let mut kept = Vec::with_capacity(items.len());
    for (mut message, mut kind) in items {
        if let MessageKind::Turn { calls, .. } = &mut kind
            && calls.iter().any(|id| !answered.contains(id))
        {
            let Some(body) = message.with(reader, |raw| stripped(raw, &answered))? else {
                continue;
            };
            message.body = Body::built(body);
            calls.retain(|id| answered.contains(id));
        }
        kept.push((message, kind));
    }
    Ok(kept)
}

/// Returns the turn without its unanswered calls; `None` if nothing is left.
fn stripped(message: Raw, answered: &HashSet<Option<Text<'static>>>) -> Option<Vec<u8>> {
    let content = message.get("content").unwrap_or(Raw::NULL);
    let stays = |block: &Raw| {
        let dangling =
            content::is_block(*block, "toolCall") && !answered.contains(&block.get_text("id"));
        !dangling && !content::is_block(*block, "redactedThinking")
    };
    let is_signed = |block: Raw| {
        content::is_block(block, "thinking") && content::truthy(block, "thinkingSignature")
    };
    let unsigned = |block: Raw| {
        if is_signed(block) {
            without(block, "thinkingSignature")
        } else {
            block.bytes().to_vec()
        }
    };
    let blocks: Vec<_> = content.items().filter(stays).map(unsigned).collect();
    (!blocks.is_empty()).then(|| with(message, "content", &array(blocks)))
}

/// A failed turn is removed with its results, unless the note on its thinking follows.
fn without_failed_turns(items: Vec<(Message, MessageKind)>) -> Vec<Message> {
    let mut results: HashMap<&Option<Text<'static>>, Vec<usize>> = HashMap::default();
    for (at, (_, kind)) in items.iter().enumerate() {
        if let MessageKind::Result(id) = kind {
            results.entry(id).or_default().push(at);
        }
    }
    let mut gone = vec![false; items.len()];
    // From the end; `behind` is a stack of the messages after the current one that are left, the
    // nearest on top.
    let mut behind: Vec<usize> = Vec::new();
    for (at, (_, kind)) in items.iter().enumerate().rev() {
        while behind.last().is_some_and(|&next| gone[next]) {
            behind.pop();
        }
        let explained = behind
            .last()
            .is_some_and(|&next| matches!(items[next].1, MessageKind::InterruptedThinking));
        match kind {
            MessageKind::Turn {
                calls,
                failed: true,
            } if !explained => {
                gone[at] = true;
                for id in calls {
                    let places = results.entry(id).or_default();
                    while let Some(place) = places.pop_if(|&mut place| place > at) {
                        gone[place] = true;
                    }
                }
            }
            _ => behind.push(at),
        }
    }
    items
        .into_iter()
        .zip(gone)
        .filter(|(_, gone)| !gone)
        .map(|((message, _), _)| message)
        .collect()
}
