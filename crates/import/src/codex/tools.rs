//! The calls of tools in Codex's items and events, and their results.

use super::content::{ContentBlock, call_fingerprint, convert_result};
use super::line::CodexLine;
use super::outputs::{CommandFacts, failure_of, result_details};
use super::{CodexReader, Conversion};
use crate::parts::non_empty_text;
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_json::write::Object;
use std::io;

pub(super) struct ToolCall<'a> {
    pub id: &'a Text<'a>,
    pub name: &'a Text<'a>,
    /// A JSON object.
    pub arguments: &'a [u8],
}

pub(super) struct ToolResult<'a> {
    /// The id of the call.
    pub id: &'a Text<'a>,
    pub name: &'a Text<'a>,
    pub content: &'a [ContentBlock<'a>],
    /// Whether the call failed, by what Codex stores beside the content. A result is an error in
    /// any case if its output reports a failure (see [`failure_of`]).
    pub is_error: bool,
    /// What Codex stores beside the output of a command.
    pub command: Option<CommandFacts>,
}

impl CodexReader<'_> {
    /// Adds a call to the held reply, and remembers the name of the tool for the result.
    /// `converted_keys` are the keys of the payload whose members are in the call.
    pub(super) fn hold_tool_call(
        &mut self,
        line: &CodexLine,
        call: ToolCall,
        converted_keys: &[&str],
    ) -> io::Result<()> {
        let ToolCall {
            id,
            name,
            arguments,
        } = call;
        self.tool_names
            .insert(id.as_bytes().into(), name.clone().into_owned());

        let mut block = Object::new()
            .str("type", "toolCall")
            .text("id", id)
            .text("name", name)
            .json("arguments", arguments);
        let payload_type = line.payload.get("type");
        if payload_type.is_some_and(|payload_type| payload_type.is("custom_tool_call")) {
            // oh-my-pi sends a call of a custom tool as such if it has this name.
            block = block.text("customWireName", name);
        }
        let unconverted = line.unconverted_members(converted_keys);
        self.hold_call(line, block, id, unconverted)
    }

    /// Adds the result of a call, and remembers that the call has a result. `converted_keys` are
    /// the keys of the payload whose members are in the result.
    pub(super) fn add_tool_result(
        &mut self,
        line: &CodexLine,
        result: ToolResult,
        converted_keys: &[&str],
    ) -> io::Result<()> {
        let ToolResult {
            id,
            name,
            content,
            is_error,
            command,
        } = result;
        self.answered_calls.insert(id.as_bytes().into());

        let failure = failure_of(content, command);
        let message = self
            .writer
            .begin_message(line.value)
            .str("role", "toolResult")
            .text("toolCallId", id)
            .text("toolName", name)
            .objects("content", content, |object, block| block.add_to(object))
            .with(result_details(failure, command), |message, details| {
                message.json("details", &details)
            })
            .bool("isError", is_error || failure.is_some());
        let members = self.complete_message(line, message, converted_keys);
        self.add_result_entry(line.offset, id.as_bytes(), members)
    }

    /// Returns the name of the tool of a call; `fallback` if the call was not read.
    pub(super) fn tool_name(&self, call_id: &Text, fallback: &str) -> Text<'static> {
        match self.tool_names.get(call_id.as_bytes()) {
            Some(name) => name.clone(),
            None => Text::from(fallback).into_owned(),
        }
    }

    /// Adds an event about a tool call. If an item has the call, the event only repeats it, and is
    /// not converted.
    ///
    /// The end of a web search is an exception, because no item has its result. If a search has
    /// several such events, only the first is converted.
    pub(super) fn add_tool_event(
        &mut self,
        event_type: &str,
        line: &CodexLine,
    ) -> io::Result<Conversion> {
        // The request of a dynamic tool has `callId`; other events have `call_id`.
        let call_id = non_empty_text(line.payload, "call_id")
            .or_else(|| non_empty_text(line.payload, "callId"));
        let Some(id) = call_id else {
            return Ok(Conversion::Unconverted);
        };

        let fingerprint = call_fingerprint(&id);
        let has_item = self.is_repeated_by_item(line, fingerprint)?;
        if !has_item {
            // For a later import, which may read an item with the call.
            self.event_fingerprints.insert(fingerprint);
        }
        if event_type == "web_search_end" {
            let is_answered = self.answered_calls.contains(id.as_bytes());
            return if is_answered {
                Ok(Conversion::Unconverted)
            } else {
                self.add_web_search(line, &id, has_item)
            };
        }
        if has_item {
            return Ok(Conversion::Unconverted);
        }
        match event_type {
            "dynamic_tool_call_request" => self.add_dynamic_call(line, &id),
            "dynamic_tool_call_response" => self.add_dynamic_result(line, &id),
            "mcp_tool_call_end" => self.add_mcp_call(line, &id),
            _ => Ok(Conversion::Unconverted),
        }
    }

    /// Adds the call of a tool that a client of Codex offers.
    fn add_dynamic_call(&mut self, line: &CodexLine, id: &Text) -> io::Result<Conversion> {
        let Some(name) = non_empty_text(line.payload, "tool") else {
            return Ok(Conversion::Unconverted);
        };
        let call = ToolCall {
            id,
            name: &name,
            arguments: &convert_arguments(line.payload.get_raw("arguments")),
        };
        self.hold_tool_call(line, call, &["arguments"])?;
        Ok(Conversion::Converted)
    }

    /// Adds the result of a call of a tool that a client of Codex offers: its error, or else its
    /// content.
    fn add_dynamic_result(&mut self, line: &CodexLine, id: &Text) -> io::Result<Conversion> {
        let event = line.payload;
        let error = non_empty_text(event, "error");
        let content = match &error {
            Some(error) => vec![ContentBlock::Text(error.as_borrowed())],
            None => convert_result(event.get("content_items")),
        };
        let has_failed = event.get_raw("success").and_then(Raw::bool) == Some(false);
        // If the call was not read, the event itself names the tool.
        let named_tool = non_empty_text(event, "tool").unwrap_or_else(|| Text::from("unknown"));
        let result = ToolResult {
            id,
            name: &self.tool_name(id, &named_tool.to_string_lossy()),
            content: &content,
            is_error: has_failed || error.is_some(),
            command: None,
        };
        self.add_tool_result(line, result, &[])?;
        Ok(Conversion::Converted)
    }

    /// Adds the result of a web search, from the event with which the search ends:
    ///
    /// ```text
    /// {"type":"web_search_end","call_id":"…","query":"serde","action":{…},"results":[…]}
    /// ```
    ///
    /// Before the result, the call is added, unless an item (`has_item`) or an earlier event has
    /// it. If the event has no action or no results, its query takes their place.
    fn add_web_search(
        &mut self,
        line: &CodexLine,
        id: &Text,
        has_item: bool,
    ) -> io::Result<Conversion> {
        let event = line.payload.raw();
        let name = self.tool_name(id, "web_search");
        let has_call = has_item || self.tool_names.contains_key(id.as_bytes());
        if !has_call {
            let action = event.get_some("action").or_else(|| event.get("query"));
            let call = ToolCall {
                id,
                name: &name,
                arguments: &convert_arguments(action),
            };
            self.hold_tool_call(line, call, &["results"])?;
        }

        let results = event.get_some("results").or_else(|| event.get("query"));
        let result = ToolResult {
            id,
            name: &name,
            content: &convert_result(results),
            is_error: false,
            command: None,
        };
        self.add_tool_result(line, result, &[])?;
        Ok(Conversion::Converted)
    }

    /// Adds the call of a tool of an MCP server, and its result: both are in one event. The tool is
    /// named `SERVER/TOOL`. An event that lacks one of these names is not converted.
    fn add_mcp_call(&mut self, line: &CodexLine, id: &Text) -> io::Result<Conversion> {
        let event = line.payload.raw();
        let invocation = event.get("invocation").unwrap_or(Raw::NULL);
        let Some(server) = non_empty_text(invocation, "server") else {
            return Ok(Conversion::Unconverted);
        };
        let Some(tool) = non_empty_text(invocation, "tool") else {
            return Ok(Conversion::Unconverted);
        };
        let name = Text::from(format!("{server}/{tool}"));
        let call = ToolCall {
            id,
            name: &name,
            arguments: &convert_arguments(invocation.get("arguments")),
        };
        self.hold_tool_call(line, call, &["result"])?;

        let outcome = convert_mcp_outcome(event.get("result"));
        let result = ToolResult {
            id,
            name: &name,
            content: &outcome.content,
            is_error: outcome.is_error,
            command: None,
        };
        self.add_tool_result(line, result, &[])?;
        Ok(Conversion::Converted)
    }
}

/// How the call of a tool of an MCP server ended.
struct McpOutcome<'a> {
    /// The blocks of the message.
    content: Vec<ContentBlock<'a>>,
    is_error: bool,
}

/// Converts the outcome of a call of MCP, which Codex writes as a `Result` of Rust:
///
/// ```text
/// {"Ok":{"content":[{"type":"text","text":"…"}],"isError":false}}     a result of MCP
/// {"Err":"timed out"}                                                 an error of Codex
/// ```
///
/// An outcome with neither member is the result itself.
fn convert_mcp_outcome(outcome: Option<Raw<'_>>) -> McpOutcome<'_> {
    if let Some(error) = outcome.and_then(|outcome| outcome.get_text("Err")) {
        return McpOutcome {
            content: vec![ContentBlock::Text(error)],
            is_error: true,
        };
    }

    let ok_value = outcome
        .and_then(|outcome| outcome.get("Ok"))
        .filter(|value| value.is_object());
    let mcp_result = ok_value.or(outcome).filter(|value| value.is_object());
    let Some(mcp_result) = mcp_result else {
        // Not a result of MCP, such as a string: it is the content.
        return McpOutcome {
            content: convert_result(outcome),
            is_error: false,
        };
    };
    McpOutcome {
        content: convert_result(mcp_result.get("content")),
        is_error: mcp_result.get("isError").and_then(Raw::bool) == Some(true),
    }
}

/// Converts the arguments of a call to a JSON object, which pi requires:
///
/// ```text
/// {"cmd":"ls"}            {"cmd":"ls"}
/// "{\"cmd\":\"ls\"}"      {"cmd":"ls"}
/// "ls"                    {"input":"ls"}
/// anything else           {}
/// ```
pub(super) fn convert_arguments(value: Option<Raw>) -> Vec<u8> {
    let value = value.unwrap_or(Raw::NULL);
    if value.is_object() {
        return value.bytes().to_vec();
    }
    let Some(text) = value.text() else {
        return b"{}".to_vec();
    };
    if let Ok(parsed) = Raw::parse(text.as_bytes())
        && parsed.is_object()
    {
        return parsed.bytes().to_vec();
    }
    Object::new().text("input", &text).finish()
}
