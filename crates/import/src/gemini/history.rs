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
//! minute in which it began, its file gets a list without messages before the whole list. Results of calls and descriptions
//! of the project are left out of the comparison, because they come and go.

use super::message::{Part, UserMessage, fingerprint, read_parts};
use super::{GeminiReader, NAME};
use crate::parts::non_empty_text;
use crate::writer::NodeIx;
use pisess_core::session::content::member_is;
use pisess_json::Raw;
use pisess_json::text::{Text, join_with};
use pisess_json::write::Object;
use std::io;

/// How the text of a summary begins, after what the model considered.
const SUMMARY_MARK: &str = "<state_snapshot>";

/// A message in the list of Gemini CLI.
pub struct PathMessage {
    pub id: Box<[u8]>,
    /// Its fingerprint, which a copy has, too.
    pub fingerprint: u64,
    /// The leaf before its entry.
    pub leaf_before: Option<NodeIx>,
    /// Its first entry.
    pub first_entry: Option<NodeIx>,
    /// Whether a later list may lack it.
    pub is_optional: bool,
}

/// The messages that the last list lacked, until another message follows.
#[derive(Default)]
pub struct RemovedMessages {
    messages: Vec<PathMessage>,
    /// The leaf after them.
    leaf: Option<NodeIx>,
}

/// A message of a new list.
struct NewMessage<'a> {
    raw: Raw<'a>,
    id: Text<'a>,
    fingerprint: u64,
    is_optional: bool,
}

/// A new list, compared with the present one.
struct ComparedLists {
    /// The indexes of the messages of each list that are not optional.
    present: Vec<usize>,
    new: Vec<usize>,
    /// How many of these are the same, from the start.
    same_count: usize,
}

impl PathMessage {
    fn is_same(&self, message: &NewMessage) -> bool {
        *self.id == *message.id.as_bytes() || self.fingerprint == message.fingerprint
    }
}

/// Whether Gemini CLI leaves out a message of the user when it resumes a session: what describes
/// the project, and what looks like a command.
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
            let text = text.trim();
            text.is_empty() || matches!(text.as_bytes()[0], b'/' | b'?')
        }
    }
}

fn join_part_texts(parts: &[Part]) -> Text<'static> {
    let mut texts = Vec::new();
    for part in parts {
        if let Part::Text { text, .. } = part {
            texts.push(text.as_borrowed());
        }
    }
    join_with(texts, "")
}

/// Returns the messages of a list that are part of the conversation, without those that only have
/// results of calls.
fn read_new_messages(messages: Raw<'_>) -> Vec<NewMessage<'_>> {
    let mut new = Vec::new();
    for raw in messages.items() {
        let Some(id) = non_empty_text(raw, "id") else {
            continue;
        };
        let is_user = member_is(raw, "type", "user");
        if !is_user && !member_is(raw, "type", "gemini") {
            continue;
        }
        let parts = read_parts(raw.get("content").unwrap_or(Raw::NULL));
        if is_user && matches!(UserMessage::of_parts(&parts), UserMessage::Results) {
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

impl GeminiReader<'_> {
    /// Removes a message and all after it; all messages if it is not there.
    pub(super) fn rewind(&mut self, id: &Text) {
        let is_target = |message: &PathMessage| *message.id == *id.as_bytes();
        self.truncate_path(self.path.iter().position(is_target).unwrap_or(0));
    }

    /// Removes the messages from an index on, and goes back to before them.
    fn truncate_path(&mut self, len: usize) {
        if let Some(first_removed) = self.path.get(len) {
            self.leaf = first_removed.leaf_before;
            self.path.truncate(len);
        }
    }

    /// Replaces the list of messages. Only what is new becomes entries.
    pub(super) fn replace_messages(&mut self, offset: u64, messages: Raw) -> io::Result<()> {
        let new = read_new_messages(messages);
        self.take_back_removed(&new);
        let lists = self.compare_lists(&new);
        for at in 0..lists.same_count {
            let message = &new[lists.new[at]];
            self.path[lists.present[at]].id = message.id.as_bytes().into();
            self.known_messages.insert(message.id.as_bytes().into());
        }

        // After the last message that is the same.
        let first_new = match lists.same_count {
            0 => 0,
            count => lists.new[count - 1] + 1,
        };
        let first_removed = lists.present.get(lists.same_count).copied();
        if let Some(first_removed) = first_removed {
            let summary = lists.new.get(lists.same_count).map(|&index| &new[index]);
            if let Some(summary) = summary
                && self.is_summary(summary)
            {
                return self.compact(offset, &new, &lists);
            }
            let leaf = self.leaf;
            let messages = self.path.split_off(first_removed);
            self.leaf = messages.first().and_then(|message| message.leaf_before);
            self.removed = RemovedMessages { messages, leaf };
        }
        self.add_new_messages(offset, &new[first_new..])
    }

    /// Goes on where the conversation was, if a list has the messages again that the last list
    /// lacked: Gemini CLI begins a list when it resumes a session, before it has read the session.
    fn take_back_removed(&mut self, new: &[NewMessage]) {
        let Some(first) = self.removed.messages.first() else {
            return;
        };
        let is_back = new
            .iter()
            .any(|message| *first.id == *message.id.as_bytes());
        let removed = std::mem::take(&mut self.removed);
        if is_back {
            self.path.extend(removed.messages);
            self.leaf = removed.leaf;
        }
    }

    fn compare_lists(&self, new: &[NewMessage]) -> ComparedLists {
        let mut lists = ComparedLists {
            present: Vec::new(),
            new: Vec::new(),
            same_count: 0,
        };
        for (index, message) in self.path.iter().enumerate() {
            if !message.is_optional {
                lists.present.push(index);
            }
        }
        for (index, message) in new.iter().enumerate() {
            if !message.is_optional {
                lists.new.push(index);
            }
        }
        for (&present, &index) in lists.present.iter().zip(&lists.new) {
            if !self.path[present].is_same(&new[index]) {
                break;
            }
            lists.same_count += 1;
        }
        lists
    }

    /// Adds messages of a new list. The description of the project is added once: later ones differ
    /// by the date and the files.
    fn add_new_messages(&mut self, offset: u64, messages: &[NewMessage]) -> io::Result<()> {
        for message in messages {
            let is_known = self.known_messages.contains(message.id.as_bytes());
            if message.is_optional && (is_known || self.is_later_context(message.raw)) {
                continue;
            }
            self.add_message(offset, &message.id, message.raw)?;
        }
        Ok(())
    }

    fn is_later_context(&self, message: Raw) -> bool {
        let parts = read_parts(message.get("content").unwrap_or(Raw::NULL));
        let is_context = matches!(UserMessage::of_parts(&parts), UserMessage::SessionContext);
        is_context && !self.path.is_empty()
    }

    /// Whether a message is the summary of a compaction: it is new, and has its mark.
    fn is_summary(&self, message: &NewMessage) -> bool {
        let parts = read_parts(message.raw.get("content").unwrap_or(Raw::NULL));
        member_is(message.raw, "type", "user")
            && !self.known_messages.contains(message.id.as_bytes())
            && join_part_texts(&parts)
                .to_string_lossy()
                .contains(SUMMARY_MARK)
    }

    /// Adds a compaction. The messages after the summary are copies of the last ones, which it
    /// keeps; if they are others, they are added after it.
    fn compact(
        &mut self,
        offset: u64,
        new: &[NewMessage],
        lists: &ComparedLists,
    ) -> io::Result<()> {
        let removed = &lists.present[lists.same_count..];
        let mut replacing = lists.new[lists.same_count..]
            .iter()
            .map(|&index| &new[index]);
        let Some(summary) = replacing.next() else {
            return Ok(());
        };
        let mut tail: Vec<&NewMessage> = replacing.collect();
        // Gemini CLI answers the summary in the name of the model.
        let acknowledgement = match tail.first() {
            Some(first) if member_is(first.raw, "type", "gemini") => Some(tail.remove(0)),
            _ => None,
        };

        let kept_from = removed.len().saturating_sub(tail.len());
        let kept = &removed[kept_from..];
        let mut pairs = kept.iter().zip(&tail);
        let is_kept = kept.len() == tail.len()
            && pairs.all(|(&index, message)| self.path[index].is_same(message));

        let leaf_before = self.leaf;
        self.add_summary(offset, summary, kept.first().copied().filter(|_| is_kept))?;

        let mut kept_messages = Vec::new();
        let entry_of_summary = self.leaf;
        for message in [Some(summary), acknowledgement].into_iter().flatten() {
            self.known_messages.insert(message.id.as_bytes().into());
            kept_messages.push(PathMessage {
                id: message.id.as_bytes().into(),
                fingerprint: message.fingerprint,
                leaf_before,
                first_entry: entry_of_summary,
                is_optional: false,
            });
        }
        if is_kept {
            for (&index, message) in kept.iter().zip(&tail) {
                self.known_messages.insert(message.id.as_bytes().into());
                kept_messages.push(PathMessage {
                    id: message.id.as_bytes().into(),
                    ..self.path[index]
                });
            }
        }
        self.path.truncate(removed[0]);
        self.path.extend(kept_messages);
        if !is_kept {
            for message in tail {
                self.add_message(offset, &message.id, message.raw)?;
            }
        }
        Ok(())
    }

    /// Adds the entry of a compaction, which keeps the messages from an index on. One that keeps
    /// nothing names itself as the first kept entry.
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
        let kept = Object::new().text("id", &summary.id).finish();
        let members = Object::new()
            .text("summary", &join_part_texts(&parts))
            .str("firstKeptEntryId", &first_kept_id)
            .number("tokensBefore", self.context_tokens)
            .json(NAME, &kept);
        // Until the next response, the size of the context is unknown.
        self.context_tokens = 0.0;
        self.add_entry(offset, "compaction", members)
    }
}
