//! The message of a response, which is held back until the response has ended.
//!
//! A response has a line for each of its blocks, and its tokens come after them. So its message is
//! not written before it is clear that nothing of it follows.

use super::line::CodexLine;
use super::{CodexReader, PROVIDER};
use crate::parts::usage_json;
use crate::writer::EntryDraft;
use foldhash::HashSet;
use pisess_core::session::usage::Usage;
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_json::write::{Object, array};
use std::io;

/// The message of a response, held back until the response has ended.
pub(super) struct HeldReply {
    /// The offset of its first line.
    offset: u64,
    /// The times of its first line and of its last.
    started_ms: i64,
    ended_ms: i64,
    model: Text<'static>,
    /// The id that OpenAI gave the response, if it is known.
    pub(super) response_id: Option<Text<'static>>,
    /// The blocks of all its lines.
    blocks: Vec<Vec<u8>>,
    /// The members of its first line without a counterpart.
    unconverted: Object,
    /// Those of its other lines.
    unconverted_parts: Vec<Vec<u8>>,
    /// The entries that came after its first line.
    pub(super) followers: Vec<EntryDraft>,
    /// Its lines as custom entries, if calls before it have no result yet. They take its place if
    /// the import ends before these results.
    kept_lines: Vec<EntryDraft>,
    /// The calls among its blocks whose result is not among `followers`.
    open_calls: HashSet<Box<[u8]>>,
    /// Whether it has ended: what follows is another message.
    has_ended: bool,
    /// The `usage` object of its request, once that was reported.
    usage: Option<Vec<u8>>,
}

impl CodexReader<'_> {
    /// Holds back a part of a response, because other parts and the usage may come later. It
    /// becomes a part of the message that is held, unless a result or its tokens came after that. `blocks` are
    /// its blocks as JSON, and `unconverted` the members of the line without a counterpart.
    pub(super) fn hold_reply(
        &mut self,
        line: &CodexLine,
        blocks: Vec<Vec<u8>>,
        unconverted: Object,
    ) -> io::Result<()> {
        let has_ended = self.held_reply.as_ref().is_some_and(|held| held.has_ended);
        if has_ended || line.offset < self.earlier.merged_from {
            self.release_reply()?;
        }
        let calls: Vec<_> = list_call_ids(&blocks).collect();
        let kept_line = if self.open_calls.is_empty() {
            None
        } else {
            Some(self.draft_kept_line(line))
        };
        if let Some(held) = &mut self.held_reply {
            held.ended_ms = self.time_ms;
            held.kept_lines.extend(kept_line);
            held.open_calls.extend(calls);
            held.blocks.extend(blocks);
            held.unconverted_parts.push(unconverted.finish());
            return Ok(());
        }
        self.held_reply = Some(HeldReply {
            offset: line.offset,
            started_ms: self.time_ms,
            ended_ms: self.time_ms,
            model: self.model.clone(),
            response_id: None,
            blocks,
            unconverted,
            unconverted_parts: Vec::new(),
            followers: Vec::new(),
            kept_lines: kept_line.into_iter().collect(),
            open_calls: calls.into_iter().collect(),
            has_ended: false,
            usage: None,
        });
        Ok(())
    }

    /// Adds the result of a call: after the reply that is held, unless the call is in the reply
    /// before it.
    pub(super) fn add_result_entry(
        &mut self,
        offset: u64,
        call_id: &[u8],
        members: Object,
    ) -> io::Result<()> {
        if !self.open_calls.remove(call_id) {
            if let Some(held) = &mut self.held_reply {
                held.open_calls.remove(call_id);
                held.has_ended = true;
            }
            return self.add_entry(offset, "message", members);
        }

        let held_reply = self.held_reply.take();
        self.add_entry(offset, "message", members)?;
        self.held_reply = held_reply;
        let has_ended = self.held_reply.as_ref().is_some_and(|held| held.has_ended);
        if has_ended && self.open_calls.is_empty() {
            self.release_reply()?;
        }
        Ok(())
    }

    /// Ends the reply that is held, and adds it unless calls before it have no result yet. `usage`
    /// is the `usage` object of its request.
    pub(super) fn end_reply(&mut self, usage: Vec<u8>) -> io::Result<()> {
        let Some(held) = &mut self.held_reply else {
            return Ok(());
        };
        held.usage = Some(usage);
        held.has_ended = true;
        if self.open_calls.is_empty() || held.offset < self.earlier.merged_from {
            self.release_reply()?;
        }
        Ok(())
    }

    /// Adds the reply that is held, and the entries that were held back with it. Does nothing if no
    /// reply is held. Without a usage of its request, the reply gets one of 0 tokens.
    pub(super) fn release_reply(&mut self) -> io::Result<()> {
        let Some(held) = self.held_reply.take() else {
            return Ok(());
        };
        let HeldReply {
            offset,
            started_ms,
            ended_ms,
            model,
            response_id,
            blocks,
            unconverted,
            unconverted_parts,
            followers,
            kept_lines: _,
            open_calls,
            has_ended: _,
            usage,
        } = held;
        self.open_calls = open_calls;

        let has_call = list_call_ids(&blocks).next().is_some();
        let stop_reason = if has_call { "toolUse" } else { "stop" };
        let usage = usage.unwrap_or_else(|| usage_json(&Usage::default(), 0.0, None));
        let message = Object::new()
            .str("role", "assistant")
            .json("content", &array(blocks))
            .str("api", "openai-codex-responses")
            .str("provider", PROVIDER)
            .text("model", &model)
            .str("stopReason", stop_reason)
            .with(response_id.as_ref(), |message, id| {
                message.text("responseId", id)
            })
            .json("usage", &usage)
            .number("timestamp", started_ms as f64)
            .finish();
        let unconverted = unconverted.json_array("parts", &unconverted_parts).finish();
        let members = Object::new()
            .json("message", &message)
            .json("codex", &unconverted);
        let reply = EntryDraft {
            offset,
            time_ms: ended_ms,
            kind: "message",
            members,
        };
        self.leaf = Some(self.writer.add_child(self.leaf, reply)?);

        for draft in followers {
            self.leaf = Some(self.writer.add_child(self.leaf, draft)?);
        }
        Ok(())
    }

    /// Writes what is held when an import ends. If calls before the reply have no result yet, its
    /// lines become custom entries, and a later import adds the reply.
    pub(super) fn write_held(&mut self) -> io::Result<()> {
        let must_wait = |held: &HeldReply| held.offset >= self.earlier.merged_from;
        let is_blocked =
            !self.open_calls.is_empty() && self.held_reply.as_ref().is_some_and(must_wait);
        if !is_blocked {
            return self.release_reply();
        }
        let Some(mut held) = self.held_reply.take() else {
            return Ok(());
        };
        for draft in held.kept_lines.drain(..).chain(held.followers.drain(..)) {
            self.add_draft(draft)?;
        }
        self.held_reply = Some(held);
        Ok(())
    }
}

/// Returns the ids of the calls among these blocks. No other block has an id.
fn list_call_ids(blocks: &[Vec<u8>]) -> impl Iterator<Item = Box<[u8]>> {
    blocks.iter().filter_map(|block| {
        let id = Raw::from_checked(block).get_text("id")?;
        Some(id.as_bytes().into())
    })
}
