//! Prepares the messages of a context as the agents do before they send it: drops failed turns,
//! filters thinking, and gives each tool call exactly one result, directly after its turn.
//!
//! ```text
//! context     turn: calls a, b     result b     user     result a
//! pi          turn: calls a, b     result b     result a = "No result provided"     user
//! oh-my-pi    turn: calls a, b     result b     result a     user
//! ```

use super::blocks::{
    Authorship, ContentPart, ToolResult, TurnBlock, TurnCall, UserContent, join_texts,
};
use super::example::without_thinking;
use super::ids::{UsedIds, WireId, assign_id, sanitize_tool_name};
use super::late_results::LateResults;
use super::sink::{LastMessage, replace_lone_surrogates};
use super::turn::{compare_author, is_turn_left_out, own_signature, read_block};
use super::{RequestTarget, WrittenBody};
use crate::session::content;
use crate::session::entry::Role;
use crate::session::read::entry_reader::{ContextMessage, EntryReader};
use foldhash::HashSet;
use pisess_json::text::{Text, concat_texts};
use pisess_json::{Raw, js};
use std::io;

/// Writes messages in the form of one API. The methods are called in the order of the messages in
/// the body.
pub trait BodyWriter {
    /// Writes a message of the user, or of a developer: one of oh-my-pi or its extensions.
    fn write_user(&mut self, role: Role, content: UserContent) -> io::Result<()>;
    /// Writes the blocks of an assistant message. The results of its calls follow.
    fn write_turn(&mut self, authorship: Authorship, blocks: Vec<TurnBlock>) -> io::Result<()>;
    /// Writes the result of a call of the last turn.
    fn write_result(&mut self, result: ToolResult) -> io::Result<()>;
    /// Writes the rest of the body, and returns whose the last message is. `None` if there is no
    /// message; then nothing was written.
    fn finish(self: Box<Self>) -> io::Result<Option<LastMessage>>;
}

/// The text of the result for a call that has none in the session.
const NO_RESULT: &str = "No result provided";

/// The id of a call in a session; `None` if the id is missing or not a string.
pub type SessionCallId = Option<Text<'static>>;

/// Passes the messages of a context to a writer, in the form that the API accepts.
pub struct Replay<'t> {
    target: &'t RequestTarget,
    writer: Box<dyn BodyWriter + 't>,
    /// The ids that the calls of this body, or of batches before it, have.
    used_ids: UsedIds,
    late_results: LateResults,
    /// The calls of the last turn that have no result yet, in their order.
    pending_calls: Vec<PendingCall>,
    /// The ids of the calls that got [`NO_RESULT`] as their result.
    unanswered: HashSet<SessionCallId>,
    skipped_results: SkippedResults,
    /// The number of the current message, from 1.
    message_number: usize,
    /// The number of the last turn among the messages.
    turn_number: usize,
}

/// The results that are not in a body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SkippedResults {
    /// The number of results that another message separates from their calls.
    pub separated: usize,
    /// The number of results whose call is not in the context, or has another result.
    pub stray: usize,
}

/// A call in the body, which waits for its result.
struct PendingCall {
    session_id: SessionCallId,
    /// The id in the body.
    wire_id: Text<'static>,
    /// The name of the tool in the body.
    tool: Text<'static>,
}

impl<'t> Replay<'t> {
    /// Begins a replay, which passes messages to `writer`. `late_results` become the results of
    /// calls that would otherwise lack one. `used_ids` are ids of calls in earlier batches, which
    /// no call may get.
    pub fn new(
        target: &'t RequestTarget,
        used_ids: UsedIds,
        late_results: LateResults,
        writer: Box<dyn BodyWriter + 't>,
    ) -> Self {
        Replay {
            target,
            writer,
            used_ids,
            late_results,
            pending_calls: Vec::new(),
            unanswered: HashSet::default(),
            skipped_results: SkippedResults::default(),
            message_number: 0,
            turn_number: 0,
        }
    }

    /// Writes messages of a context, in order. An example for fine-tuning has no thinking.
    pub fn replay_all(
        &mut self,
        messages: &[ContextMessage],
        reader: &EntryReader,
    ) -> io::Result<()> {
        let RequestTarget {
            agent, is_example, ..
        } = *self.target;
        agent.convert_for_model(messages, reader, &mut |json| {
            if is_example {
                self.replay_message(&without_thinking(json))
            } else {
                self.replay_message(json)
            }
        })
    }

    /// Writes the next message of the context, in the form that the agent sends to a model. What
    /// the API would refuse is left out, moved or quoted.
    fn replay_message(&mut self, json: &[u8]) -> io::Result<()> {
        let message = Raw::from_checked(json);
        let role = message.get_text("role").unwrap_or_default();
        self.message_number += 1;
        match role.as_bytes() {
            b"user" => self.replay_user(Role::User, message),
            b"developer" => self.replay_user(Role::Developer, message),
            b"assistant" => self.replay_turn(message),
            b"toolResult" => self.replay_result(message),
            // The system messages are in the target already.
            _ => Ok(()),
        }
    }

    /// Writes the results that are missing, and the rest of the body; `None` if the body has no
    /// message.
    pub fn finish(mut self) -> io::Result<Option<WrittenBody>> {
        self.close_calls()?;
        let Some(last_message) = self.writer.finish()? else {
            return Ok(None);
        };
        Ok(Some(WrittenBody {
            ends_with_answer: last_message == LastMessage::Answer,
            skipped_results: self.skipped_results,
        }))
    }

    /// Writes the results that are missing, and what the writer holds back. Returns the ids of all
    /// calls, which later batches must not use.
    pub fn finish_batch(mut self) -> io::Result<UsedIds> {
        self.close_calls()?;
        self.writer.finish()?;
        Ok(self.used_ids)
    }

    /// Writes a user message, after the results that the turn before lacks.
    fn replay_user(&mut self, role: Role, message: Raw) -> io::Result<()> {
        self.close_calls()?;
        let content = UserContent::read(
            message.get("content"),
            self.target.constants().surrogate_replacement,
        );
        self.writer.write_user(role, content)
    }

    /// Writes an assistant message, unless the agent leaves it out. Before it, the calls of the
    /// turn before get the results that they still lack, even if this message is left out. Its own
    /// calls then wait for their results.
    fn replay_turn(&mut self, message: Raw) -> io::Result<()> {
        self.close_calls()?;
        let [stop_reason, content] = content::find_members(message, ["stopReason", "content"]);
        let stop_reason = stop_reason.unwrap_or(Raw::NULL);
        let content = content.unwrap_or(Raw::NULL);
        if is_turn_left_out(stop_reason, content, self.target) {
            return Ok(());
        }

        // A late result answers a call of this turn only if its message comes after this one.
        self.turn_number = self.message_number;
        let authorship = compare_author(message, self.target);
        let blocks = self.read_turn_blocks(content, authorship);
        self.writer.write_turn(authorship, blocks)
    }

    /// Reads the content of an assistant message, a text or blocks, and adds its calls to those
    /// that wait for a result. Blocks that are not sent are left out.
    fn read_turn_blocks<'a>(
        &mut self,
        content: Raw<'a>,
        authorship: Authorship,
    ) -> Vec<TurnBlock<'a>> {
        if let Some(text) = content.text() {
            let surrogate_replacement = self.target.constants().surrogate_replacement;
            return vec![TurnBlock::Text {
                text: replace_lone_surrogates(text, surrogate_replacement),
                signature: None,
            }];
        }
        let mut blocks = Vec::new();
        for block in content.items() {
            if content::is_block(block, "toolCall") {
                if let Some(call) = self.add_pending_call(block, authorship) {
                    blocks.push(TurnBlock::Call(call));
                }
            } else {
                blocks.extend(read_block(block, authorship, self.target));
            }
        }
        blocks
    }

    /// Converts a call to a block of the body, with an id that no other call of the body has, and
    /// adds it to the calls that wait for a result.
    ///
    /// `None` if the name of the tool is missing: neither the call nor a result is sent then. As in
    /// the agents, only the model that wrote the call gets its signature and namespace.
    fn add_pending_call<'a>(
        &mut self,
        block: Raw<'a>,
        authorship: Authorship,
    ) -> Option<TurnCall<'a>> {
        let [session_id, name, arguments, namespace] =
            content::find_members(block, ["id", "name", "arguments", "namespace"]);
        let tool = name
            .and_then(Raw::text)
            .and_then(|name| sanitize_tool_name(&name, self.target.api))?;

        let session_id = session_id.and_then(Raw::text).map(Text::into_owned);
        let WireId { call_id, item_id } = assign_id(
            &mut self.used_ids,
            &session_id.clone().unwrap_or_default(),
            authorship,
            self.target,
        );
        self.pending_calls.push(PendingCall {
            session_id,
            wire_id: call_id.clone(),
            tool: tool.clone(),
        });
        Some(TurnCall {
            id: call_id,
            item_id,
            name: tool,
            arguments,
            signature: own_signature(block, "thoughtSignature", authorship),
            namespace: if authorship.is_same_model() {
                namespace
            } else {
                None
            },
        })
    }

    /// Writes a result if it answers a pending call: one of the last turn that has no result yet.
    /// The APIs refuse any other result, and the agents treat it differently:
    ///
    /// - oh-my-pi (`moves_late_results`) quotes it if no call in the context has its id. If one
    ///   has, [`close_calls`](Self::close_calls) gave the result to that call, and nothing is
    ///   written here.
    /// - pi leaves it out, and it is counted as skipped.
    fn replay_result(&mut self, message: Raw) -> io::Result<()> {
        let id = message.get_text("toolCallId");
        if let Some(index) = find_pending_call(&self.pending_calls, id.as_ref()) {
            let call = self.pending_calls.remove(index);
            return self.write_call_result(&call, message);
        }

        let id = id.map(Text::into_owned);
        if self.target.constants().moves_late_results {
            return self.replay_late_result(message, &id);
        }
        // A call that got `NO_RESULT` in place of this result was closed by a message between them.
        if self.unanswered.contains(&id) {
            self.skipped_results.separated += 1;
        } else {
            self.skipped_results.stray += 1;
        }
        Ok(())
    }

    /// Quotes a result that answers no pending call, as oh-my-pi does, if no call in the context
    /// has its `id`.
    fn replay_late_result(&mut self, message: Raw, id: &Option<Text<'static>>) -> io::Result<()> {
        let belongs_to_call = self.late_results.has_call(id);
        // A quotation is a user message. Between calls and their results, it is left out, as in the
        // agent, because it would separate them.
        let would_separate_results = !self.pending_calls.is_empty();
        if belongs_to_call || would_separate_results {
            return Ok(());
        }
        self.quote_result(message)
    }

    /// Writes the result of a call, with the id that the call has in the body. The tool's name is
    /// that in the result or, without one, that in the call.
    fn write_call_result(&mut self, call: &PendingCall, message: Raw) -> io::Result<()> {
        let [name, content, is_error] =
            content::find_members(message, ["toolName", "content", "isError"]);
        let name = name
            .and_then(Raw::text)
            .and_then(|name| sanitize_tool_name(&name, self.target.api));
        let surrogate_replacement = self.target.constants().surrogate_replacement;
        self.writer.write_result(ToolResult {
            id: &call.wire_id,
            name: name.unwrap_or_else(|| call.tool.clone()),
            parts: UserContent::read(content, surrogate_replacement).into_parts(),
            is_error: is_error.and_then(Raw::bool),
        })
    }

    /// Writes the text of a result that belongs to no call as a user message, as oh-my-pi does:
    /// `<stale-tool-result tool="read" id="c1">`, the text, and the closing tag. Images are left
    /// out. A result without text is left out as a whole.
    fn quote_result(&mut self, message: Raw) -> io::Result<()> {
        let names = ["toolCallId", "toolName", "content", "isError"];
        let [id, name, content, is_error] = content::find_members(message, names);
        let texts = content::blocks_of_type(content.unwrap_or(Raw::NULL), "text")
            .filter_map(|block| block.get_text("text"))
            .filter(|text| !text.is_blank());
        let parts: Vec<_> = texts.map(ContentPart::Text).collect();
        if parts.is_empty() {
            return Ok(());
        }

        let error_mark = if js::is_truthy(is_error) {
            " is-error=\"true\""
        } else {
            ""
        };
        let quoted = concat_texts(&[
            &"<stale-tool-result tool=\"",
            &js::interpolate(name),
            &"\" id=\"",
            &js::interpolate(id),
            &"\"",
            &error_mark,
            &">\n",
            &join_texts(&parts),
            &"\n</stale-tool-result>",
        ]);
        let text = replace_lone_surrogates(quoted, self.target.constants().surrogate_replacement);
        self.writer.write_user(Role::User, UserContent::Plain(text))
    }

    /// Writes a result for each call that still waits for one: a late result that comes after the
    /// turn with the call, else [`NO_RESULT`]. This comes before every message that is not a
    /// result, because the APIs require results directly after their calls.
    fn close_calls(&mut self) -> io::Result<()> {
        for call in std::mem::take(&mut self.pending_calls) {
            let late_result = self
                .late_results
                .remove_result(&call.session_id, self.turn_number);
            if let Some(json) = late_result {
                self.write_call_result(&call, Raw::from_checked(&json))?;
                continue;
            }
            self.writer.write_result(ToolResult {
                id: &call.wire_id,
                name: call.tool,
                parts: vec![ContentPart::Text(Text::from(NO_RESULT))],
                is_error: Some(true),
            })?;
            // If a result of this call comes later, it counts as separated from the call.
            self.unanswered.insert(call.session_id);
        }
        Ok(())
    }
}

/// Finds the first call that waits for a result with this id, and returns its index. If no call has
/// the whole id, the first half of an id of the Responses API (`CALL|ITEM`) suffices, because some
/// results have only that.
fn find_pending_call(calls: &[PendingCall], id: Option<&Text>) -> Option<usize> {
    let with_same_id = calls.iter().position(|call| call.session_id.as_ref() == id);
    if with_same_id.is_some() {
        return with_same_id;
    }
    let id = id?;
    calls.iter().position(|call| has_same_call_half(call, id))
}

/// Whether the id of a call and another id have the same first half. An empty half is the same as
/// no other.
fn has_same_call_half(call: &PendingCall, id: &Text) -> bool {
    let half = call_half(id);
    match &call.session_id {
        Some(session_id) => !half.is_empty() && call_half(session_id) == half,
        None => false,
    }
}

/// Returns the part of an id before `|`.
fn call_half<'i>(id: &'i Text) -> &'i [u8] {
    let bytes = id.as_bytes();
    let end = memchr::memchr(b'|', bytes).unwrap_or(bytes.len());
    &bytes[..end]
}
