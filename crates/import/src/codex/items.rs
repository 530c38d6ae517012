//! Items: what Codex sent to the model, and what the model answered.

use super::content::{
    content_array, convert_result, find_item_type, item_fingerprints, list_reasoning_texts,
    read_content_blocks,
};
use super::history::begins_turn;
use super::line::CodexLine;
use super::outputs::CallOutput;
use super::tools::{ToolCall, ToolResult, convert_arguments};
use super::{CodexReader, Conversion};
use crate::Origin;
use crate::parts::{hidden_message_members, non_empty_text};
use pisess_json::Raw;
use pisess_json::outline::Outlined;
use pisess_json::text::Text;
use std::io;

impl CodexReader<'_> {
    /// Adds an item, which is what Codex sends to the model or gets from it, by its type. An item
    /// that repeats an event which became a message is not converted.
    pub(super) fn add_item(&mut self, line: &CodexLine) -> io::Result<Conversion> {
        let item = line.payload;
        let Some(item_type) = find_item_type(item) else {
            return Ok(Conversion::Unconverted);
        };
        let item_type = item_type.to_string_lossy();
        if self.forget_repeated_event(item, &item_type) {
            return Ok(Conversion::Unconverted);
        }

        match &*item_type {
            "message" => self.add_message_item(line),
            "reasoning" => self.add_reasoning_item(line),
            item_type => self.add_tool_item(line, item_type),
        }
    }

    /// Adds a call of a tool or the result of a call, by the type of the item. A type of item
    /// implies the tool, or names it, and has its own key for the arguments or the result. An item
    /// without an id is not converted: nothing could connect a call with its result.
    fn add_tool_item(&mut self, line: &CodexLine, item_type: &str) -> io::Result<Conversion> {
        let item = line.payload;
        let id = non_empty_text(item, "call_id").or_else(|| non_empty_text(item, "id"));
        let Some(id) = id else {
            return Ok(Conversion::Unconverted);
        };

        match item_type {
            "function_call" => self.add_named_call(line, &id, "arguments"),
            "custom_tool_call" => self.add_named_call(line, &id, "input"),
            "web_search_call" => self.add_typed_call(line, &id, "web_search", "action"),
            "local_shell_call" => self.add_typed_call(line, &id, "local_shell", "action"),
            "tool_search_call" => self.add_typed_call(line, &id, "tool_search", "arguments"),
            "function_call_output" | "custom_tool_call_output" => self.add_call_output(line, &id),
            "tool_search_output" => self.add_found_tools(line, &id),
            _ => Ok(Conversion::Unconverted),
        }
    }

    /// Adds the output of a call, whose item does not name the tool.
    fn add_call_output(&mut self, line: &CodexLine, id: &Text) -> io::Result<Conversion> {
        let output = CallOutput::read(line.payload.get("output"));
        let result = ToolResult {
            id,
            name: &self.tool_name(id, "unknown"),
            content: &output.content,
            // Only the output itself shows a failure: `add_tool_result` looks there.
            is_error: false,
            command: output.command,
        };
        self.add_tool_result(line, result, &["type", "call_id", "output"])?;
        Ok(Conversion::Converted)
    }

    /// Adds the tools that a search for tools has found.
    fn add_found_tools(&mut self, line: &CodexLine, id: &Text) -> io::Result<Conversion> {
        let status = line.payload.get("status");
        let result = ToolResult {
            id,
            name: &self.tool_name(id, "tool_search"),
            content: &convert_result(line.payload.get("tools")),
            is_error: status.is_some_and(|status| status.is("failed")),
            command: None,
        };
        self.add_tool_result(line, result, &["type", "call_id", "tools"])?;
        Ok(Conversion::Converted)
    }

    /// Returns whether an item repeats events that became messages in an earlier import. If so,
    /// forgets these events: a later item with the same text is not a repetition.
    ///
    /// The fingerprints of calls are not forgotten. Two items have the id of a call, the call and
    /// its result, and both repeat the event.
    fn forget_repeated_event(&mut self, item: Outlined, item_type: &str) -> bool {
        // In most sources, each event has an item, so no event has become a message.
        if self.event_fingerprints.is_empty() {
            return false;
        }
        // Reasoning has several texts, each of which an event may repeat. If only some of them
        // became messages, the item is added as a whole, so that no text is lost.
        let fingerprints = item_fingerprints(item);
        let all_are_messages = fingerprints
            .iter()
            .all(|fingerprint| self.event_fingerprints.contains(fingerprint));
        if fingerprints.is_empty() || !all_are_messages {
            return false;
        }

        if matches!(item_type, "message" | "reasoning") {
            for fingerprint in &fingerprints {
                self.event_fingerprints.remove(fingerprint);
            }
        }
        true
    }

    /// Adds a message item, by its role: the text of a reply, a message of the user, or context. It
    /// is not converted if nothing of its content has a counterpart.
    fn add_message_item(&mut self, line: &CodexLine) -> io::Result<Conversion> {
        let stored_content = line.payload.get("content").unwrap_or(Raw::NULL.into());
        let blocks = read_content_blocks(stored_content);
        if blocks.is_empty() {
            return Ok(Conversion::Unconverted);
        }
        let converted_keys = ["type", "role", "content"];
        let role = non_empty_text(line.payload, "role").unwrap_or_default();

        if role == *"assistant" {
            // Later lines may have more blocks of this reply, so it is not added yet.
            let unconverted = line.unconverted_members(&converted_keys);
            self.hold_content(line, &blocks, unconverted)?;
            return Ok(Conversion::Converted);
        }
        let content = content_array(&blocks);
        if role == *"user" {
            self.add_user_message(line, &content, &converted_keys)?;
        } else {
            // The developer or the system: instructions that are no part of the conversation.
            self.add_context(line, &role.to_string_lossy(), &content, &converted_keys)?;
        }
        Ok(Conversion::Converted)
    }

    /// Adds a reasoning item. It is not converted if it has only encrypted reasoning.
    fn add_reasoning_item(&mut self, line: &CodexLine) -> io::Result<Conversion> {
        let thoughts = list_reasoning_texts(line.payload);
        if thoughts.is_empty() {
            return Ok(Conversion::Unconverted);
        }
        let unconverted = line.unconverted_members(&["type", "summary", "content"]);
        self.hold_thinking(line, &thoughts, unconverted)?;
        Ok(Conversion::Converted)
    }

    /// Adds a call by an item that names the tool. `arguments_key` is the key of the arguments,
    /// which differs between types of items:
    ///
    /// ```text
    /// {"type":"function_call","name":"exec_command","arguments":"{…}","call_id":"…"}
    /// {"type":"custom_tool_call","name":"apply_patch","input":"…","call_id":"…"}
    /// ```
    ///
    /// An item without a name is not converted.
    fn add_named_call(
        &mut self,
        line: &CodexLine,
        id: &Text,
        arguments_key: &str,
    ) -> io::Result<Conversion> {
        let Some(name) = non_empty_text(line.payload, "name") else {
            return Ok(Conversion::Unconverted);
        };
        let call = ToolCall {
            id,
            name: &name,
            arguments: &convert_arguments(line.payload.get_raw(arguments_key)),
        };
        self.hold_tool_call(line, call, &["type", "name", "call_id", arguments_key])?;
        Ok(Conversion::Converted)
    }

    /// Adds a call by an item whose type implies the tool `name`, such as `local_shell_call`.
    /// `arguments_key` is the key of the arguments, which differs between types of items.
    fn add_typed_call(
        &mut self,
        line: &CodexLine,
        id: &Text,
        name: &str,
        arguments_key: &str,
    ) -> io::Result<Conversion> {
        let call = ToolCall {
            id,
            name: &Text::from(name),
            arguments: &convert_arguments(line.payload.get_raw(arguments_key)),
        };
        self.hold_tool_call(line, call, &["type", "call_id", arguments_key])?;
        Ok(Conversion::Converted)
    }

    /// Adds a message of the role `user`. If the user wrote it, it begins a turn. If Codex sent it
    /// in the name of the user, such as `<environment_context>…`, it becomes a custom message.
    /// `content` is JSON. `converted_keys` are the keys of the payload whose members are in it.
    pub(super) fn add_user_message(
        &mut self,
        line: &CodexLine,
        content: &[u8],
        converted_keys: &[&str],
    ) -> io::Result<()> {
        self.release_reply()?;
        let parsed_content = Raw::from_checked(content);
        if !begins_turn(parsed_content) {
            return self.add_context(line, "context", content, converted_keys);
        }

        self.begin_turn(parsed_content);
        let message = self
            .writer
            .begin_message(line.value)
            .str("role", "user")
            .json("content", content);
        let members = self.complete_message(line, message, converted_keys);
        self.add_entry(line.offset, "message", members)
    }

    /// Adds a message that Codex itself sent to the model, as the custom message `codex.KIND`. The
    /// user does not see it. `content` is its content in pi's form. `converted_keys` are the keys
    /// of the payload whose members are in the message; other members are kept as `codex`.
    fn add_context(
        &mut self,
        line: &CodexLine,
        kind: &str,
        content: &[u8],
        converted_keys: &[&str],
    ) -> io::Result<()> {
        self.release_reply()?;
        let is_before_first_turn = self.turns_on_path.is_empty();
        if is_before_first_turn {
            // After a compaction, Codex sends this context again.
            self.history.add_context_before_turns(content);
        }
        let unconverted = line.unconverted_members(converted_keys).finish();
        let members =
            hidden_message_members(Origin::Codex.name(), kind, content).json("codex", &unconverted);
        self.add_entry(line.offset, "custom_message", members)
    }
}
