//! Lists of messages that replace the one so far, and messages that are removed.
//!
//! Gemini CLI writes its whole list when a session is resumed, with the same ids. After a
//! compaction, the list has a summary in place of the first messages, and copies of the others:
//!
//! ```text
//! before    context  question 1  answer 1  question 2  answer 2
//! after     context  summary  "Got it."  question 2'  answer 2'
//! ```
//!
//! If a request fails or is aborted, the list lacks its messages. When a session is resumed in the
//! minute in which it began, its file gets an empty list before the whole list.
//!
//! Lists are compared without results of calls and descriptions of the project, because a later
//! list may lack these, or have other ones.

use super::message::{Part, UserMessage, fingerprint, read_parts};
use super::{GeminiReader, NAME};
use crate::parts::non_empty_text;
use crate::writer::NodeIx;
use pisess_core::session::content::member_is;
use pisess_json::Raw;
use pisess_json::text::{Text, join_with};
use pisess_json::write::Object;
use std::io;

/// The text with which a summary begins. What the model considered may precede it.
const SUMMARY_MARK: &str = "<state_snapshot>";

/// A message in the list of Gemini CLI.
pub struct PathMessage {
    pub id: Box<[u8]>,
    /// Its [`fingerprint()`], which is the same for a copy of the message.
    pub fingerprint: u64,
    /// The leaf before its first entry was added.
    pub leaf_before: Option<NodeIx>,
    /// Its first entry.
    pub first_entry: Option<NodeIx>,
    /// Whether a later list may lack the message, so that it is not compared; see [`is_optional`].
    pub is_optional: bool,
}

/// The messages that the last list lacked. They are kept until another message is added, because
/// the next list may have them again.
#[derive(Default)]
pub struct RemovedMessages {
    messages: Vec<PathMessage>,
    /// The leaf before they were removed.
    leaf: Option<NodeIx>,
}

/// A message of a new list.
struct NewMessage<'a> {
    raw: Raw<'a>,
    id: Text<'a>,
    fingerprint: u64,
    is_optional: bool,
}

/// A new list, compared with the present one, which is the path of the reader. Messages that are
/// optional are skipped in both.
#[derive(Default)]
struct ComparedLists {
    /// The messages that both lists have at their start.
    common: Vec<MessagePair>,
    /// The indexes in the present list of the messages after the common ones.
    present_rest: Vec<usize>,
    /// The indexes in the new list of the messages after the common ones.
    new_rest: Vec<usize>,
}

/// A message that is in both lists.
#[derive(Clone, Copy)]
struct MessagePair {
    /// Its index in the present list.
    present: usize,
    /// Its index in the new list.
    new: usize,
}

/// The messages of a new list that replace older ones after a compaction.
struct CompactedMessages<'m, 'a> {
    summary: &'m NewMessage<'a>,
    /// The answer to the summary, which Gemini CLI writes in the name of the model.
    acknowledgement: Option<&'m NewMessage<'a>>,
    /// The messages after these two.
    tail: Vec<&'m NewMessage<'a>>,
}

impl PathMessage {
    /// Whether a message of a new list is this message, or a copy of it.
    fn is_same(&self, message: &NewMessage) -> bool {
        *self.id == *message.id.as_bytes() || self.fingerprint == message.fingerprint
    }
}

impl NewMessage<'_> {
    /// Returns the message as one on the path, whose first entry was added after `leaf_before`.
    fn on_path(&self, leaf_before: Option<NodeIx>, first_entry: Option<NodeIx>) -> PathMessage {
        PathMessage {
            id: self.id.as_bytes().into(),
            fingerprint: self.fingerprint,
            leaf_before,
            first_entry,
            is_optional: false,
        }
    }
}

impl<'m, 'a> CompactedMessages<'m, 'a> {
    /// Divides the messages of the list `new` after the common ones as after a compaction: the
    /// first one is the summary, an answer of the model may follow it, and the tail is the rest.
    /// The caller checks whether the first one is a summary. `None` if no messages follow.
    fn after_common(lists: &ComparedLists, new: &'m [NewMessage<'a>]) -> Option<Self> {
        let mut messages = Vec::new();
        for &index in &lists.new_rest {
            messages.push(&new[index]);
        }
        let (&summary, after_summary) = messages.split_first()?;
        match after_summary.split_first() {
            Some((&answer, tail)) if member_is(answer.raw, "type", "gemini") => {
                Some(CompactedMessages {
                    summary,
                    acknowledgement: Some(answer),
                    tail: tail.to_vec(),
                })
            }
            _ => Some(CompactedMessages {
                summary,
                acknowledgement: None,
                tail: after_summary.to_vec(),
            }),
        }
    }
}

/// Whether Gemini CLI may leave out a message when it resumes a session: a message of the user that
/// describes the project, is empty, or looks like a command (`/help`, `?`). Such a message is not
/// compared when a new list replaces the present one.
pub fn is_optional(message: Raw) -> bool {
    if !member_is(message, "type", "user") {
        return false;
    }
    let parts = read_parts(message.get("content").unwrap_or(Raw::NULL));
    match UserMessage::of_parts(&parts) {
        UserMessage::SessionContext | UserMessage::HookContext | UserMessage::Empty => true,
        UserMessage::Results => false,
        UserMessage::Prompt => {
            let text = join_part_texts(&parts);
            match text.trim().as_bytes().first() {
                Some(first_byte) => matches!(first_byte, b'/' | b'?'),
                None => true,
            }
        }
    }
}

/// Joins the texts among the parts of a message without a separator.
fn join_part_texts(parts: &[Part]) -> Text<'static> {
    let mut texts = Vec::new();
    for part in parts {
        if let Part::Text { text, .. } = part {
            texts.push(text.as_borrowed());
        }
    }
    join_with(texts, "")
}

/// Returns the messages of a list that are part of the conversation: prompts and responses. A
/// message that has only results of calls is left out, because a later list may lack it.
fn read_new_messages(messages: Raw<'_>) -> Vec<NewMessage<'_>> {
    let mut new = Vec::new();
    for raw in messages.items() {
        let Some(id) = non_empty_text(raw, "id") else {
            continue;
        };
        if !is_of_conversation(raw) {
            continue;
        }
        new.push(NewMessage {
            raw,
            id,
            fingerprint: fingerprint(raw),
            is_optional: is_optional(raw),
        });
    }
    new
}

/// Whether a message is a response, or a message of the user with more than results of calls.
fn is_of_conversation(message: Raw) -> bool {
    if member_is(message, "type", "gemini") {
        return true;
    }
    if !member_is(message, "type", "user") {
        return false;
    }
    let parts = read_parts(message.get("content").unwrap_or(Raw::NULL));
    !matches!(UserMessage::of_parts(&parts), UserMessage::Results)
}

impl GeminiReader<'_> {
    /// Removes a message from `path`, and all messages after it. If `path` has no such message,
    /// removes all messages, as Gemini CLI does.
    pub(super) fn rewind(&mut self, id: &Text) {
        let target = self
            .path
            .iter()
            .position(|message| *message.id == *id.as_bytes());
        self.truncate_path(target.unwrap_or(0));
    }

    /// Removes the messages of `path` from the index `len` on. The leaf is then the one before
    /// them.
    fn truncate_path(&mut self, len: usize) {
        if let Some(first_removed) = self.path.get(len) {
            self.leaf = first_removed.leaf_before;
            self.path.truncate(len);
        }
    }

    /// Replaces the present list of messages by `messages`, the list in the line at `offset`. Only
    /// messages that are not in the present list become entries.
    ///
    /// If the present list has messages after the start that both lists have, the new list is a
    /// compaction of these, or goes back to the last common message.
    pub(super) fn replace_messages(&mut self, offset: u64, messages: Raw) -> io::Result<()> {
        let new = read_new_messages(messages);
        // Before the comparison, which has to find the restored messages.
        self.restore_removed(&new);
        let lists = self.compare_lists(&new);
        self.adopt_new_ids(&lists.common, &new);

        // If the present list has no further messages, the new list only adds some.
        if let Some(&first_removed) = lists.present_rest.first() {
            if let Some(compacted) = CompactedMessages::after_common(&lists, &new)
                && self.is_summary(compacted.summary)
            {
                return self.compact(offset, compacted, &lists.present_rest);
            }
            self.remove_messages(first_removed);
        }
        // All messages after the last common one are new, or optional.
        let first_new = match lists.common.last() {
            Some(pair) => pair.new + 1,
            None => 0,
        };
        self.add_new_messages(offset, &new[first_new..])
    }

    /// Gives the messages that are in both lists the ids of the new list. A copy of a message may
    /// have another id, and later lines name the message by it.
    fn adopt_new_ids(&mut self, common: &[MessagePair], new: &[NewMessage]) {
        for pair in common {
            let id = new[pair.new].id.as_bytes();
            self.path[pair.present].id = id.into();
            self.known_messages.insert(id.into());
        }
    }

    /// Removes the messages of `path` from an index on, because a new list lacks them. They can be
    /// restored by [`restore_removed`](Self::restore_removed).
    fn remove_messages(&mut self, first: usize) {
        let leaf = self.leaf;
        let messages = self.path.split_off(first);
        self.leaf = messages.first().and_then(|message| message.leaf_before);
        self.removed = RemovedMessages { messages, leaf };
    }

    /// Restores the messages that the last list lacked, if the list `new` has them again: when
    /// Gemini CLI resumes a session, it may write a list before it has read the session.
    fn restore_removed(&mut self, new: &[NewMessage]) {
        let Some(first) = self.removed.messages.first() else {
            return;
        };
        let is_back = new
            .iter()
            .any(|message| *first.id == *message.id.as_bytes());
        // If the very next list does not have them again, they are gone for good.
        let removed = std::mem::take(&mut self.removed);
        if is_back {
            self.path.extend(removed.messages);
            self.leaf = removed.leaf;
        }
    }

    /// Compares a new list with `path`, the present one, message by message from the start, up to
    /// the first difference. Optional messages are skipped in both.
    fn compare_lists(&self, new: &[NewMessage]) -> ComparedLists {
        let mut lists = ComparedLists::default();
        // At first, all messages are in the rest of their list.
        for (index, message) in self.path.iter().enumerate() {
            if !message.is_optional {
                lists.present_rest.push(index);
            }
        }
        for (index, message) in new.iter().enumerate() {
            if !message.is_optional {
                lists.new_rest.push(index);
            }
        }

        for (&present_index, &new_index) in lists.present_rest.iter().zip(&lists.new_rest) {
            if !self.path[present_index].is_same(&new[new_index]) {
                break;
            }
            lists.common.push(MessagePair {
                present: present_index,
                new: new_index,
            });
        }
        // The common messages are at the start of both lists.
        let common_count = lists.common.len();
        lists.present_rest.drain(..common_count);
        lists.new_rest.drain(..common_count);
        lists
    }

    /// Adds messages of a new list.
    fn add_new_messages(&mut self, offset: u64, messages: &[NewMessage]) -> io::Result<()> {
        for message in messages {
            if message.is_optional {
                // The description of the project is added only once: later descriptions differ only
                // by the date and the files.
                let is_known = self.known_messages.contains(message.id.as_bytes());
                if is_known || self.is_later_context(message.raw) {
                    continue;
                }
            }
            self.add_message(offset, &message.id, message.raw)?;
        }
        Ok(())
    }

    /// Whether a message is a description of the project that is not at the start of the
    /// conversation.
    fn is_later_context(&self, message: Raw) -> bool {
        let parts = read_parts(message.get("content").unwrap_or(Raw::NULL));
        let is_context = matches!(UserMessage::of_parts(&parts), UserMessage::SessionContext);
        is_context && !self.path.is_empty()
    }

    /// Whether a message is the summary of a compaction: a new message of the user that contains
    /// [`SUMMARY_MARK`].
    fn is_summary(&self, message: &NewMessage) -> bool {
        let is_by_user = member_is(message.raw, "type", "user");
        let is_known = self.known_messages.contains(message.id.as_bytes());
        if !is_by_user || is_known {
            return false;
        }
        let parts = read_parts(message.raw.get("content").unwrap_or(Raw::NULL));
        let text = join_part_texts(&parts);
        text.to_string_lossy().contains(SUMMARY_MARK)
    }

    /// Adds a compaction. `removed` are the indexes in `path` of the messages that the summary
    /// replaces, and there is at least one.
    ///
    /// The messages after the summary are usually copies of the last messages of `path`: the
    /// compaction keeps these. If they are not copies, the compaction keeps nothing, and they are
    /// added after it.
    fn compact(
        &mut self,
        offset: u64,
        compacted: CompactedMessages,
        removed: &[usize],
    ) -> io::Result<()> {
        let kept = self.find_copied_messages(removed, &compacted.tail);
        let leaf_before = self.leaf;
        let first_kept = kept.and_then(|kept| kept.first().copied());
        self.add_summary(offset, compacted.summary, first_kept)?;

        let new_path = self.path_after_summary(&compacted, leaf_before, kept.unwrap_or_default());
        for message in &new_path {
            self.known_messages.insert(message.id.clone());
        }
        self.path.truncate(removed[0]);
        self.path.extend(new_path);

        if kept.is_none() {
            for message in compacted.tail {
                self.add_message(offset, &message.id, message.raw)?;
            }
        }
        Ok(())
    }

    /// Returns the messages that replace the removed ones on the path: the summary and its answer,
    /// which have one entry together, and the kept messages. `kept` are the indexes in `path` of
    /// the messages of which the tail has copies. Must be called after the summary was added.
    fn path_after_summary(
        &self,
        compacted: &CompactedMessages,
        leaf_before: Option<NodeIx>,
        kept: &[usize],
    ) -> Vec<PathMessage> {
        let summary_entry = self.leaf;
        let mut messages = vec![compacted.summary.on_path(leaf_before, summary_entry)];
        if let Some(acknowledgement) = compacted.acknowledgement {
            messages.push(acknowledgement.on_path(leaf_before, summary_entry));
        }
        for (&index, copy) in kept.iter().zip(&compacted.tail) {
            // The entry is that of the original message. Later lines name the id of the copy.
            messages.push(PathMessage {
                id: copy.id.as_bytes().into(),
                ..self.path[index]
            });
        }
        messages
    }

    /// Returns the indexes of the messages of which `tail` has copies: the last of the indexes
    /// `removed` in `path`, as many as `tail` has messages. `None` if a message of `tail` is not a
    /// copy of the message at its place.
    fn find_copied_messages<'r>(
        &self,
        removed: &'r [usize],
        tail: &[&NewMessage],
    ) -> Option<&'r [usize]> {
        // With more messages than `removed` has, the tail cannot consist of copies.
        let start = removed.len().checked_sub(tail.len())?;
        let copied = &removed[start..];
        for (&index, message) in copied.iter().zip(tail) {
            if !self.path[index].is_same(message) {
                return None;
            }
        }
        Some(copied)
    }

    /// Adds the entry of a compaction. `first_kept` is the index in `path` of the first message
    /// that it keeps. If it keeps nothing, the entry names itself as the first kept entry.
    fn add_summary(
        &mut self,
        offset: u64,
        summary: &NewMessage,
        first_kept: Option<usize>,
    ) -> io::Result<()> {
        let parts = read_parts(summary.raw.get("content").unwrap_or(Raw::NULL));
        let first_kept_entry = first_kept.and_then(|index| self.path[index].first_entry);
        let first_kept_id = match first_kept_entry {
            Some(entry) => self.writer.entry_id(entry),
            None => self.writer.next_id(offset),
        };
        let unconverted = Object::new().text("id", &summary.id);
        let members = Object::new()
            .text("summary", &join_part_texts(&parts))
            .str("firstKeptEntryId", &first_kept_id)
            .number("tokensBefore", self.context_tokens)
            .object(NAME, &unconverted);
        // Until the next response, the size of the context is unknown.
        self.context_tokens = 0.0;
        self.add_entry(offset, "compaction", members)
    }
}
