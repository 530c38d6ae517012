//! The calls of tools in Codex's items and events, and their results. That a command failed is only
//! in its output.

use super::content::{convert_content_blocks, fingerprint, join_texts};
use super::{CodexLine, CodexReader};
use crate::parts::non_empty_text;
use pisess_core::session::content::text_content;
use pisess_json::text::Text;
use pisess_json::write::{Object, array};
use pisess_json::{Raw, js};
use regex::bytes::Regex;
use std::io;
use std::sync::LazyLock;

/// The lines before the output of a command, up to the one with its exit code.
const EXIT_CODE_REGEX: &str = "(?-u)^(?:(?:Chunk ID: |Wall time: |Total output lines: |Original token count: \
    |Process running with ).*\n)*(?:Exit code: |Process exited with code )(.*)";

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
    /// The blocks of the message, as JSON.
    pub content: &'a [u8],
    /// Whether the call failed. An exit code in the content is an error, too.
    pub is_error: bool,
}

impl CodexReader<'_> {
    /// Adds a call as a message of its own, held back until its tokens are known. `used` are the
    /// members of the payload that it has.
    pub(super) fn hold_tool_call(
        &mut self,
        line: &CodexLine,
        call: ToolCall,
        used: &[&str],
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
        let kind = line.payload.get("type");
        if kind.is_some_and(|kind| kind.is("custom_tool_call")) {
            // oh-my-pi sends a call of a custom tool as such if it has this name.
            block = block.text("customWireName", name);
        }
        self.hold_reply(
            line,
            &array([block.finish()]),
            line.unconverted_members(used),
        )
    }

    /// Adds the result of a call. `used` are the members of the payload that it has.
    pub(super) fn add_tool_result(
        &mut self,
        line: &CodexLine,
        result: ToolResult,
        used: &[&str],
    ) -> io::Result<()> {
        let ToolResult {
            id,
            name,
            content,
            is_error,
        } = result;
        self.answered_calls.insert(id.as_bytes().into());

        let output = join_texts(Raw::from_checked(content));
        let error_code = parse_exit_code(&output).filter(|code| *code != 0.0);
        let message = Object::new()
            .str("role", "toolResult")
            .text("toolCallId", id)
            .text("toolName", name)
            .json("content", content)
            .with(error_code, |message, code| {
                let details = Object::new().number("exitCode", code).finish();
                message.json("details", &details)
            })
            .bool("isError", is_error || error_code.is_some());
        self.add_message(line, message, used)
    }

    /// The name of the tool that a call was for; `fallback` if the call was not read.
    pub(super) fn tool_name(&self, call_id: &Text, fallback: &str) -> Text<'static> {
        match self.tool_names.get(call_id.as_bytes()) {
            Some(name) => name.clone(),
            None => Text::from(fallback).into_owned(),
        }
    }

    /// Adds an event about a tool call. Returns `false` if it is to be kept as a line: it has no
    /// counterpart, or items contain the same call.
    pub(super) fn add_tool_event(&mut self, kind: &str, line: &CodexLine) -> io::Result<bool> {
        let call_id = non_empty_text(line.payload, "call_id")
            .or_else(|| non_empty_text(line.payload, "callId"));
        let Some(id) = call_id else {
            return Ok(false);
        };

        let fingerprint = fingerprint("call", &id);
        let is_item = self.is_repeated_by_item(line, fingerprint);
        if !is_item {
            self.event_fingerprints.insert(fingerprint);
        }
        match kind {
            "dynamic_tool_call_request" if !is_item => self.add_dynamic_call(line, &id),
            "dynamic_tool_call_response" if !is_item => self.add_dynamic_result(line, &id),
            "web_search_end" if !self.answered_calls.contains(id.as_bytes()) => {
                self.add_web_search(line, &id, is_item)
            }
            "mcp_tool_call_end" if !is_item => self.add_mcp_call(line, &id),
            _ => Ok(false),
        }
    }

    /// Adds the call of a tool that a client of Codex offers.
    fn add_dynamic_call(&mut self, line: &CodexLine, id: &Text) -> io::Result<bool> {
        let Some(name) = non_empty_text(line.payload, "tool") else {
            return Ok(false);
        };
        let call = ToolCall {
            id,
            name: &name,
            arguments: &convert_arguments(line.payload.get("arguments")),
        };
        self.hold_tool_call(line, call, &["arguments"])?;
        Ok(true)
    }

    fn add_dynamic_result(&mut self, line: &CodexLine, id: &Text) -> io::Result<bool> {
        let event = line.payload;
        let own_name = non_empty_text(event, "tool").unwrap_or_else(|| Text::from("unknown"));
        let error = non_empty_text(event, "error");
        let content = match &error {
            Some(error) => text_content(error),
            None => convert_result(event.get("content_items")),
        };
        let failed = event.get("success").and_then(Raw::bool) == Some(false);
        let result = ToolResult {
            id,
            name: &self.tool_name(id, &own_name.to_string_lossy()),
            content: &content,
            is_error: failed || error.is_some(),
        };
        self.add_tool_result(line, result, &[])?;
        Ok(true)
    }

    /// Adds what a search found, and the search itself unless an item or event was it.
    fn add_web_search(&mut self, line: &CodexLine, id: &Text, is_item: bool) -> io::Result<bool> {
        let event = line.payload;
        let name = self.tool_name(id, "web_search");
        if !is_item && !self.tool_names.contains_key(id.as_bytes()) {
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
        };
        self.add_tool_result(line, result, &[])?;
        Ok(true)
    }

    /// Adds the call of a tool of an MCP server, and its result: both are in one event.
    fn add_mcp_call(&mut self, line: &CodexLine, id: &Text) -> io::Result<bool> {
        let event = line.payload;
        let invocation = event.get("invocation").unwrap_or(Raw::NULL);
        let Some(server) = non_empty_text(invocation, "server") else {
            return Ok(false);
        };
        let Some(tool) = non_empty_text(invocation, "tool") else {
            return Ok(false);
        };
        let name = Text::from(format!("{server}/{tool}"));
        let call = ToolCall {
            id,
            name: &name,
            arguments: &convert_arguments(invocation.get("arguments")),
        };
        self.hold_tool_call(line, call, &["result"])?;

        // A `Result` of Rust: `{"Ok": …}` or `{"Err": "…"}`.
        let outcome = event.get("result");
        let error = outcome.and_then(|outcome| outcome.get_text("Err"));
        let value = outcome
            .and_then(|outcome| outcome.get("Ok"))
            .filter(|value| value.is_object())
            .or(outcome);
        let content = match (&error, value) {
            (Some(error), _) => text_content(error),
            (None, Some(value)) if value.is_object() => convert_result(value.get("content")),
            (None, value) => convert_result(value),
        };
        let has_failed = value.and_then(|value| value.get("isError")?.bool()) == Some(true);
        let result = ToolResult {
            id,
            name: &name,
            content: &content,
            is_error: error.is_some() || has_failed,
        };
        self.add_tool_result(line, result, &[])?;
        Ok(true)
    }
}

/// Converts the arguments of a call to an object: they are one, or the text of one, or a text that
/// becomes its member `input`.
pub(super) fn convert_arguments(value: Option<Raw>) -> Vec<u8> {
    let Some(value) = value else {
        return b"{}".to_vec();
    };
    if value.is_object() {
        return value.bytes().to_vec();
    }
    let Some(text) = value.text() else {
        return b"{}".to_vec();
    };
    match Raw::parse(text.as_bytes()) {
        Ok(parsed) if parsed.is_object() => parsed.bytes().to_vec(),
        _ => Object::new().text("input", &text).finish(),
    }
}

/// Reads the exit code from the output of a command: it is in the lines before the output, or in
/// the metadata if the output is an object.
fn parse_exit_code(output: &Text) -> Option<f64> {
    static EXIT_CODE_PATTERN: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(EXIT_CODE_REGEX).expect("a constant"));

    let bytes = output.as_bytes();
    if bytes.first() == Some(&b'{') {
        let metadata = Raw::parse(bytes).ok()?.get("metadata")?;
        return metadata.get("exit_code")?.number();
    }

    let code = EXIT_CODE_PATTERN.captures(bytes)?.get(1)?;
    let code = std::str::from_utf8(code.as_bytes()).ok()?;
    code.trim_end().parse().ok()
}

/// Converts a result to content: its texts and images, or else its text, or else its JSON.
pub(super) fn convert_result(value: Option<Raw>) -> Vec<u8> {
    let Some(value) = value else {
        return b"[]".to_vec();
    };
    let blocks = convert_content_blocks(value);
    if !blocks.is_empty() {
        return array(blocks);
    }
    match value.text() {
        Some(text) => text_content(&text),
        None => text_content(&js::stringify(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_code_is_before_the_output_or_in_the_metadata() {
        let cases = [
            ("Exit code: 2\nOutput:\nno", Some(2.0)),
            ("Exit code: 137", Some(137.0)),
            (
                "Exit code: 1\r\nWall time: 0.2 seconds\nOutput:\n",
                Some(1.0),
            ),
            (
                "Wall time: 1 seconds\nExit code: -1\nTotal output lines: 9\nOutput:\n",
                Some(-1.0),
            ),
            (
                "Chunk ID: a\nWall time: 0.1 seconds\nProcess exited with code 3\nOutput:\n",
                Some(3.0),
            ),
            (
                "Chunk ID: a\nWall time: 9 seconds\nProcess running with session ID 7\nOutput:\n",
                None,
            ),
            (
                r#"{"output":"no\n","metadata":{"exit_code":2,"duration_seconds":0.1}}"#,
                Some(2.0),
            ),
            (r#"{"output":"Exit code: 2"}"#, None),
            ("Output:\nExit code: 2", None),
            ("The log says:\nExit code: 2", None),
            ("", None),
        ];
        for (output, expected) in cases {
            assert_eq!(parse_exit_code(&Text::from(output)), expected, "{output}");
        }
    }
}
