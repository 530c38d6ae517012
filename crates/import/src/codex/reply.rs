//! The message of a response, which is held back until the response has ended.
//!
//! A response has a line for each of its blocks, and a line with its tokens comes after them. So
//! its message is written only when it is clear that nothing more of the response follows.
//!
//! The message must also come after the results of the calls in the message before it: providers
//! refuse a message between a call and its result. So an ended reply waits for these results
//! (`open_calls` of the reader).

use super::content::ContentBlock;
use super::line::CodexLine;
use super::{CodexReader, PROVIDER};
use crate::parts::{SMALL_MEMBERS_LEN, add_thinking, usage_json};
use crate::writer::EntryDraft;
use foldhash::HashSet;
use pisess_core::session::usage::Usage;
use pisess_json::text::Text;
use pisess_json::write::Object;
use std::io;

/// The message of a response, held back until the response has ended.
pub(super) struct HeldReply {
    /// The offset of its first line.
    offset: u64,
    /// The time of its first line.
    started_ms: i64,
    /// The time of its last line.
    ended_ms: i64,
    model: Text<'static>,
    /// The id that OpenAI gave the response, if it is known.
    pub(super) response_id: Option<Text<'static>>,
    /// The blocks of all its lines.
    blocks: Vec<Object>,
    /// The members without a counterpart, an object for each of its lines.
    unconverted: Vec<Object>,
    /// The entries that came after its first line.
    pub(super) followers: Vec<EntryDraft>,
    /// Its lines as custom entries, if calls of the message before it have no result yet. If the
    /// import ends before the results, these entries are added in place of the reply.
    kept_lines: Vec<EntryDraft>,
    /// Whether a call is among its blocks.
    has_call: bool,
    /// The ids of the calls among its blocks whose result is not among `followers`.
    open_calls: HashSet<Box<[u8]>>,
    /// Whether it has ended, so that a further line begins another message: its tokens were read,
    /// or the result of one of its calls.
    has_ended: bool,
    /// The `usage` object of its request, once that was reported.
    usage: Option<Vec<u8>>,
}

impl HeldReply {
    /// Begins a reply without parts. `offset` and `time_ms` are those of its first line.
    fn begin(offset: u64, time_ms: i64, model: Text<'static>) -> HeldReply {
        HeldReply {
            offset,
            started_ms: time_ms,
            ended_ms: time_ms,
            model,
            response_id: None,
            blocks: Vec::new(),
            unconverted: Vec::new(),
            followers: Vec::new(),
            kept_lines: Vec::new(),
            has_call: false,
            open_calls: HashSet::default(),
            has_ended: false,
            usage: None,
        }
    }

    /// Adds the part from a line. `time_ms` is the time of the line.
    fn push_part(&mut self, part: ReplyPart, time_ms: i64) {
        self.ended_ms = time_ms;
        self.blocks.extend(part.blocks);
        self.unconverted.push(part.unconverted);
        if let Some(call_id) = part.call_id {
            self.has_call = true;
            self.open_calls.insert(call_id);
        }
    }

    /// Drafts the entry of the reply: a message of the assistant with the blocks of all its lines.
    /// If the usage of its request was not reported, the reply gets a usage of 0 tokens, because pi
    /// reads the usage of each reply.
    fn draft_entry(&self) -> EntryDraft {
        let stop_reason = if self.has_call { "toolUse" } else { "stop" };
        let usage = match &self.usage {
            Some(usage) => usage.clone(),
            None => usage_json(&Usage::default(), 0.0, None),
        };

        let mut message = Object::with_capacity(self.byte_count() + SMALL_MEMBERS_LEN)
            .open("message")
            .str("role", "assistant")
            .objects("content", &self.blocks, Object::append)
            .str("api", "openai-codex-responses")
            .str("provider", PROVIDER)
            .text("model", &self.model)
            .str("stopReason", stop_reason);
        if let Some(id) = &self.response_id {
            message = message.text("responseId", id);
        }
        let members = message
            .json("usage", &usage)
            .number("timestamp", self.started_ms as f64)
            .close();

        let mut in_codex = members.open("codex");
        if let Some((of_first_line, of_other_lines)) = self.unconverted.split_first() {
            in_codex = in_codex.append(of_first_line);
            if !of_other_lines.is_empty() {
                in_codex = in_codex.objects("parts", of_other_lines, Object::append);
            }
        }
        EntryDraft {
            offset: self.offset,
            // The message was complete at the time of its last line.
            time_ms: self.ended_ms,
            kind: "message",
            members: in_codex.close(),
        }
    }

    /// Returns the number of bytes of its blocks, and of what has no counterpart.
    fn byte_count(&self) -> usize {
        let objects = self.blocks.iter().chain(&self.unconverted);
        objects.map(Object::byte_count).sum()
    }
}

/// What a line adds to a reply.
struct ReplyPart {
    blocks: Vec<Object>,
    /// The id of the call, if its block is a call.
    call_id: Option<Box<[u8]>>,
    /// Its members without a counterpart.
    unconverted: Object,
}

impl CodexReader<'_> {
    /// Adds texts and images to the held reply. `unconverted` are the members of the line without a
    /// counterpart.
    pub(super) fn hold_content(
        &mut self,
        line: &CodexLine,
        content: &[ContentBlock],
        unconverted: Object,
    ) -> io::Result<()> {
        let mut blocks = Vec::new();
        for block in content {
            // There is space for a text that is as long as the line.
            let object = Object::with_capacity(line.value.bytes().len());
            blocks.push(block.add_to(object));
        }
        self.hold_blocks(line, blocks, unconverted)
    }

    /// Adds thinking to the held reply, a block for each thought. `unconverted` are the members of
    /// the line without a counterpart.
    pub(super) fn hold_thinking(
        &mut self,
        line: &CodexLine,
        thoughts: &[Text],
        unconverted: Object,
    ) -> io::Result<()> {
        let mut blocks = Vec::new();
        for thought in thoughts {
            blocks.push(add_thinking(Object::new(), thought));
        }
        self.hold_blocks(line, blocks, unconverted)
    }

    /// Adds blocks other than a call to the held reply.
    fn hold_blocks(
        &mut self,
        line: &CodexLine,
        blocks: Vec<Object>,
        unconverted: Object,
    ) -> io::Result<()> {
        self.hold_part(
            line,
            ReplyPart {
                blocks,
                call_id: None,
                unconverted,
            },
        )
    }

    /// Adds a call to the held reply. `block` is the call, and `id` its id.
    pub(super) fn hold_call(
        &mut self,
        line: &CodexLine,
        block: Object,
        id: &Text,
        unconverted: Object,
    ) -> io::Result<()> {
        self.hold_part(
            line,
            ReplyPart {
                blocks: vec![block],
                call_id: Some(id.as_bytes().into()),
                unconverted,
            },
        )
    }

    /// Adds a part to the held reply. Begins a reply with it if none is held, or if the held one
    /// has ended. The reply is held because its other parts and the number of its tokens may be in
    /// later lines.
    fn hold_part(&mut self, line: &CodexLine, part: ReplyPart) -> io::Result<()> {
        // An earlier version may have imported this line as a reply of its own. It stays one.
        if self.has_ended_reply() || !self.merges_lines_at(line.offset) {
            self.release_reply()?;
        }

        // While calls before the reply have no result, the reply cannot be added. If the import
        // ends so, its lines are added as custom entries (see `add_held_at_end`).
        let kept_line = if self.open_calls.is_empty() {
            None
        } else {
            Some(self.draft_kept_line(line))
        };
        let held = self
            .held_reply
            .get_or_insert_with(|| HeldReply::begin(line.offset, self.time_ms, self.model.clone()));
        held.push_part(part, self.time_ms);
        held.kept_lines.extend(kept_line);
        Ok(())
    }

    /// Whether the lines of a response at this offset become one message. They do not if an earlier
    /// version of pisess has imported them one by one.
    fn merges_lines_at(&self, offset: u64) -> bool {
        offset >= self.earlier.merged_from
    }

    /// Whether a reply is held, and nothing more of it follows.
    fn has_ended_reply(&self) -> bool {
        match &self.held_reply {
            Some(held) => held.has_ended,
            None => false,
        }
    }

    /// Whether a reply is held, and has to wait for the results of calls in the message before it.
    fn has_blocked_reply(&self) -> bool {
        match &self.held_reply {
            Some(held) => !self.open_calls.is_empty() && self.merges_lines_at(held.offset),
            None => false,
        }
    }

    /// Adds the result of a call, whose entry has these `members`. If the call is in the message
    /// that was added last, the result comes before the held reply. Any other result comes after
    /// the held reply, and ends it.
    pub(super) fn add_result_entry(
        &mut self,
        offset: u64,
        call_id: &[u8],
        members: Object,
    ) -> io::Result<()> {
        let was_open = self.open_calls.remove(call_id);
        if !was_open {
            if let Some(held) = &mut self.held_reply {
                held.open_calls.remove(call_id);
                held.has_ended = true;
            }
            // While a reply is held, this entry becomes one of its followers.
            return self.add_entry(offset, "message", members);
        }

        // Taken out for a moment, so that the entry is added at once instead of after the reply.
        let held_reply = self.held_reply.take();
        self.add_entry(offset, "message", members)?;
        self.held_reply = held_reply;

        // It may have waited only for this result.
        if self.has_ended_reply() && self.open_calls.is_empty() {
            self.release_reply()?;
        }
        Ok(())
    }

    /// Ends the held reply, and adds it, unless calls before it have no result yet. Does nothing if
    /// no reply is held. `usage` is the `usage` object of its request.
    pub(super) fn end_reply(&mut self, usage: Vec<u8>) -> io::Result<()> {
        let Some(held) = &mut self.held_reply else {
            return Ok(());
        };
        held.usage = Some(usage);
        held.has_ended = true;
        if !self.has_blocked_reply() {
            self.release_reply()?;
        }
        Ok(())
    }

    /// Adds the held reply, and the entries that were held back with it. Does nothing if no reply
    /// is held. Its calls without a result are the open calls from now on.
    pub(super) fn release_reply(&mut self) -> io::Result<()> {
        let Some(held) = self.held_reply.take() else {
            return Ok(());
        };
        let reply = held.draft_entry();
        // From now on, the next reply waits for the results of this one.
        self.open_calls = held.open_calls;
        self.leaf = Some(self.writer.add_child(self.leaf, reply)?);
        for draft in held.followers {
            self.leaf = Some(self.writer.add_child(self.leaf, draft)?);
        }
        Ok(())
    }

    /// Adds what is held when an import ends, so that the session has all that was read. If calls
    /// before the held reply have no result yet, its lines are added as custom entries, and the
    /// reply stays held: a later import adds it.
    pub(super) fn add_held_at_end(&mut self) -> io::Result<()> {
        if !self.has_blocked_reply() {
            return self.release_reply();
        }

        // Taken out for a moment, so that the entries are added at once instead of after the reply.
        let Some(mut held) = self.held_reply.take() else {
            return Ok(());
        };
        let kept_lines = std::mem::take(&mut held.kept_lines);
        let followers = std::mem::take(&mut held.followers);
        for draft in kept_lines.into_iter().chain(followers) {
            self.add_draft(draft)?;
        }
        self.held_reply = Some(held);
        Ok(())
    }
}
