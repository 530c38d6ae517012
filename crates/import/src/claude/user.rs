//! What the user, a tool or Claude Code itself sends to the model.

use super::attachments::read_attachment;
use super::blocks::{
    UserBlock, add_result_message, answered_call_id, convert_user_blocks, is_of_type,
};
use super::injected::META_MESSAGE;
use super::line::ClaudeLine;
use super::response::ResponseIx;
use super::{AttachPoint, ClaudeReader, LineNodes};
use crate::writer::{EntryDraft, NodeIx};
use pisess_core::session::content::join_text;
use pisess_json::Raw;
use pisess_json::outline::Outlined;
use pisess_json::string::encode_to_vec;
use pisess_json::text::Text;
use pisess_json::write::object_array;
use std::io;

impl ClaudeReader<'_> {
    /// Adds a line of the type `user`: what the user, a tool or Claude Code itself sent to the
    /// model. Returns `None`, and adds nothing, if nothing of it has a counterpart.
    pub(super) fn add_user_line(&mut self, line: &ClaudeLine) -> io::Result<Option<LineNodes>> {
        let content = line.content.unwrap_or(Raw::NULL.into());
        if line.is_compact_summary {
            let summary = join_text(Some(content.raw()), "\n");
            // Without a summary, the line is not a compaction, and is read below as any other.
            if !summary.is_blank() {
                let node = self.add_compaction(line, &summary)?;
                return Ok(Some(node.into()));
            }
        }

        let has_results = content
            .items()
            .any(|block| is_of_type(block, "tool_result"));
        if line.is_meta && !has_results {
            return self.add_meta_message(line, content);
        }

        // The content is a string or a list of blocks.
        let Some(text) = content.text() else {
            return self.add_user_blocks(line, content);
        };
        if text.is_empty() {
            return Ok(None);
        }
        let no_unconverted_blocks = [];
        let draft = self.draft_user_message(line, &encode_to_vec(&text), &no_unconverted_blocks);
        let parent = self.find_attach_point(line).parent;
        let node = self.writer.add_below_end(parent, draft)?;
        Ok(Some(node.into()))
    }

    /// Adds a list of blocks. Each tool result becomes a message. The texts and images before,
    /// between and after the results become one message for each such place:
    ///
    /// ```text
    /// blocks       text, text, result a, image, result b
    /// messages     user (two texts), result a, user (image), result b
    /// ```
    fn add_user_blocks(
        &mut self,
        line: &ClaudeLine,
        content: Outlined,
    ) -> io::Result<Option<LineNodes>> {
        let attach_point = self.find_attach_point(line);
        let mut user_blocks = UserBlocks::new(line, content, attach_point);
        let mut parts = Vec::new();
        for block in content.items() {
            if let Some(part) = UserBlock::read(block) {
                parts.push(part);
            } else if let Some(call_id) = answered_call_id(block) {
                self.add_user_parts(&mut user_blocks, &mut parts)?;
                self.add_result(&mut user_blocks, block, &call_id)?;
            }
            // Any other block does not divide the parts: those before and after it are one message.
        }
        self.add_user_parts(&mut user_blocks, &mut parts)?;

        let (Some(first), Some(last)) = (user_blocks.first, user_blocks.last) else {
            return Ok(None);
        };
        // Lines below a result still belong to the response with the call. Lines below words of the
        // user do not.
        let response = if user_blocks.has_result {
            attach_point.response
        } else {
            None
        };
        Ok(Some(LineNodes {
            first,
            last,
            response,
        }))
    }

    /// Adds the texts and images in `parts` as one message of the user. Empties the list, so that
    /// the next parts become another message. Adds nothing if it is empty.
    fn add_user_parts(
        &mut self,
        user_blocks: &mut UserBlocks,
        parts: &mut Vec<UserBlock>,
    ) -> io::Result<()> {
        if parts.is_empty() {
            return Ok(());
        }
        let content = object_array(std::mem::take(parts), |object, part| part.add_to(object));
        let unconverted_blocks = user_blocks.unconverted_for_next();
        let draft = self.draft_user_message(user_blocks.line, &content, unconverted_blocks);
        let node = self.writer.add_below_end(user_blocks.last, draft)?;
        user_blocks.record_added(node);
        Ok(())
    }

    /// Adds the result of a call, the `block` of a line, and records that the call has a result. If
    /// the call is held, it is released first, so that the result follows it.
    fn add_result(
        &mut self,
        user_blocks: &mut UserBlocks,
        block: Outlined,
        call_id: &Text,
    ) -> io::Result<()> {
        self.release_call(call_id.as_bytes())?;
        let call = self.calls.get(call_id.as_bytes());
        let tool_name = call.map(|call| call.name.clone());
        let message = self.writer.begin_message(user_blocks.line.value);
        let message = add_result_message(message, block, call_id, tool_name, user_blocks.details);
        let converted_keys: &[&str] = match user_blocks.details {
            Some(_) => &["toolUseResult"],
            None => &[],
        };
        let draft = user_blocks.line.draft_message(
            message,
            converted_keys,
            user_blocks.unconverted_for_next(),
        );
        let node = self.add_result_draft(user_blocks, call_id, draft)?;
        user_blocks.record_added(node);
        user_blocks.has_result = true;
        if let Some(call) = self.calls.get_mut(call_id.as_bytes()) {
            // The call is open until it has its first result.
            if call.is_open() {
                self.responses[call.response.0].open_call_count -= 1;
            }
            call.last_result = Some(node);
        }
        Ok(())
    }

    /// Adds the drafted entry of a result after the entries of its line so far, unless the call was
    /// run again: if it has an earlier result, the first result in the line begins another branch
    /// below the response.
    fn add_result_draft(
        &mut self,
        user_blocks: &UserBlocks,
        call_id: &Text,
        draft: EntryDraft,
    ) -> io::Result<NodeIx> {
        // The line is attached to no response, so the result is on a branch of its own.
        let Some(response) = user_blocks.response else {
            return self.writer.add_child(user_blocks.last, draft);
        };
        let call = self.calls.get(call_id.as_bytes());
        let has_earlier_result = call.is_some_and(|call| call.last_result.is_some());
        let is_first_of_line = !user_blocks.has_result;
        if has_earlier_result && is_first_of_line {
            let end = self.responses[response.0].last_node;
            return self.writer.add_child(Some(end), draft);
        }
        self.writer.append(user_blocks.last, draft)
    }

    /// Adds what Claude Code sends to the model without showing it to the user, such as the text of
    /// a skill, as a custom message. Returns `None`, and adds nothing, if it has neither a text nor
    /// an image.
    fn add_meta_message(
        &mut self,
        line: &ClaudeLine,
        content: Outlined,
    ) -> io::Result<Option<LineNodes>> {
        let converted_content = match content.text() {
            Some(text) if !text.is_empty() => content.bytes().to_vec(),
            // An empty text has no blocks, so it becomes an empty list.
            _ => convert_user_blocks(content),
        };
        if converted_content == b"[]" {
            return Ok(None);
        }
        let parent = self.find_attach_point(line).parent;
        let draft = line.draft_injected(META_MESSAGE, &converted_content);
        let node = self.writer.append(parent, draft)?;
        Ok(Some(node.into()))
    }

    /// Adds an attachment that the model sees: a message of the user if the user typed it, or else
    /// a custom message (see [`attachments`](super::attachments)). Returns `None`, and adds
    /// nothing, if the line has no attachment, or if a line of the queue has added its text before.
    pub(super) fn add_attachment(&mut self, line: &ClaudeLine) -> io::Result<Option<LineNodes>> {
        let Some(attachment) = read_attachment(line.value) else {
            return Ok(None);
        };
        if let Some(text) = Raw::from_checked(&attachment.content).text() {
            let is_added_already = self.prompt_queue.take_attached(&text);
            if is_added_already {
                return Ok(None);
            }
        }
        let no_unconverted_blocks = [];
        let draft = match attachment.injected {
            Some(injected) => line.draft_injected(injected, &attachment.content),
            None => self.draft_typed_message(line, &attachment.content, &no_unconverted_blocks),
        };
        let parent = self.find_attach_point(line).parent;
        let node = self.writer.append(parent, draft)?;
        Ok(Some(node.into()))
    }

    /// Adds a text that the user typed while Claude Code worked, if this line of the queue shows
    /// that the current turn takes the text up. Otherwise returns `None`, and adds nothing.
    pub(super) fn add_queued_prompt(&mut self, line: &ClaudeLine) -> io::Result<Option<LineNodes>> {
        // Providers refuse a message between a call and its result.
        let has_open_call = self
            .responses
            .iter()
            .any(|response| response.open_call_count > 0);
        let taken_up = self
            .prompt_queue
            .apply_operation(line.value.raw(), !has_open_call);
        let Some(text) = taken_up else {
            return Ok(None);
        };
        let no_unconverted_blocks = [];
        let draft = self.draft_user_message(line, &encode_to_vec(&text), &no_unconverted_blocks);
        let parent = self.find_attach_point(line).parent;
        let node = self.writer.append(parent, draft)?;
        Ok(Some(node.into()))
    }

    /// Drafts the entry for a message of the role `user`. What Claude Code sent in the name of the
    /// user becomes a custom message.
    fn draft_user_message(
        &mut self,
        line: &ClaudeLine,
        content: &[u8],
        unconverted_blocks: &[Raw],
    ) -> EntryDraft {
        match line.find_injected_kind(content, unconverted_blocks) {
            Some(injected) => line.draft_injected(injected, content),
            None => self.draft_typed_message(line, content, unconverted_blocks),
        }
    }

    /// Drafts the entry for a message that the user typed.
    fn draft_typed_message(
        &mut self,
        line: &ClaudeLine,
        content: &[u8],
        unconverted_blocks: &[Raw],
    ) -> EntryDraft {
        let message = self
            .writer
            .begin_message(line.value)
            .str("role", "user")
            .json("content", content);
        line.draft_message(message, &[], unconverted_blocks)
    }
}

/// The state of [`ClaudeReader::add_user_blocks`]: a line whose messages are being added.
struct UserBlocks<'a> {
    line: &'a ClaudeLine<'a>,
    /// The blocks without a counterpart.
    unconverted: Vec<Raw<'a>>,
    /// What Claude Code stored beside the only result of the line; `None` if it has several
    /// results.
    details: Option<Raw<'a>>,
    /// The response to which the line is attached.
    response: Option<ResponseIx>,
    /// The first message of the line.
    first: Option<NodeIx>,
    /// The last message of the line, or else the entry to which the line is attached.
    last: Option<NodeIx>,
    has_result: bool,
}

impl<'a> UserBlocks<'a> {
    /// Begins the messages of a line. `content` is the list of its blocks.
    fn new(line: &'a ClaudeLine<'a>, content: Outlined<'a>, attach_point: AttachPoint) -> Self {
        let mut unconverted = Vec::new();
        let mut result_count = 0;
        for block in content.items() {
            if answered_call_id(block).is_some() {
                result_count += 1;
            } else if UserBlock::read(block).is_none() {
                unconverted.push(block.raw());
            }
        }
        // The details of a line belong to its result. If it has several results, it is not known to
        // which one they belong.
        let details = if result_count == 1 {
            line.value.get("toolUseResult").map(Outlined::raw)
        } else {
            None
        };
        UserBlocks {
            line,
            unconverted,
            details,
            response: attach_point.response,
            first: None,
            last: attach_point.parent,
            has_result: false,
        }
    }

    /// Returns the blocks without a counterpart that the next message keeps. The first message of
    /// the line keeps all of them, and later ones keep none.
    fn unconverted_for_next(&self) -> &[Raw<'a>] {
        match self.first {
            None => &self.unconverted,
            Some(_) => &[],
        }
    }

    /// Records that a message of the line was added.
    fn record_added(&mut self, node: NodeIx) {
        self.first = self.first.or(Some(node));
        self.last = Some(node);
    }
}
