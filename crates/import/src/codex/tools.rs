//! The calls of tools in Codex's items and events, and their results. That a command failed is only
//! in its output.

use super::content::{array_text, blocks};
use super::{Codex, CodexLine};
use crate::parts::text;
use pisess_core::session::content::text_content;
use pisess_json::text::Text;
use pisess_json::write::{Object, array};
use pisess_json::{Raw, js};
use regex::bytes::Regex;
use std::io;
use std::sync::LazyLock;

/// The lines before the output of a command, up to the one with its exit code.
const BEFORE_OUTPUT: &str = "(?-u)^(?:(?:Chunk ID: |Wall time: |Total output lines: |Original token count: \
    |Process running with ).*\n)*(?:Exit code: |Process exited with code )(.*)";

impl Codex<'_> {
    pub(super) fn call(
        &mut self,
        line: &CodexLine,
        (id, name): (&Text, &Text),
        arguments: &[u8],
        used: &[&str],
    ) -> io::Result<()> {
        self.names
            .insert(id.as_bytes().into(), name.clone().into_owned());
        // oh-my-pi sends a call of a custom tool as such if it has this name.
        let is_custom = line
            .payload
            .get("type")
            .is_some_and(|kind| kind.is("custom_tool_call"));
        let call = Object::new()
            .str("type", "toolCall")
            .text("id", id)
            .text("name", name)
            .json("arguments", arguments)
            .with(is_custom.then_some(name), |call, name| {
                call.text("customWireName", name)
            });
        self.reply(line, &array([call.finish()]), Codex::rest(line, used))
    }

    pub(super) fn result(
        &mut self,
        line: &CodexLine,
        (id, name): (&Text, &Text),
        (content, is_error): (&[u8], bool),
        used: &[&str],
    ) -> io::Result<()> {
        self.answered.insert(id.as_bytes().into());
        let failed = exit_code(&array_text(Raw::checked(content))).filter(|code| *code != 0.0);
        let message = Object::new()
            .str("role", "toolResult")
            .text("toolCallId", id)
            .text("toolName", name)
            .json("content", content)
            .with(failed, |message, code| {
                message.json("details", &Object::new().number("exitCode", code).finish())
            })
            .bool("isError", is_error || failed.is_some());
        self.message(line, message, used)
    }

    pub(super) fn name_of(&self, id: &Text, otherwise: &str) -> Text<'static> {
        self.names
            .get(id.as_bytes())
            .cloned()
            .unwrap_or_else(|| Text::from(otherwise).into_owned())
    }

    /// Reads an event about a tool call. If items contain the same call, the event adds no message.
    pub(super) fn tool_event(&mut self, kind: &str, line: &CodexLine) -> io::Result<bool> {
        let event = line.payload;
        let Some(id) = text(event, "call_id").or_else(|| text(event, "callId")) else {
            return Ok(false);
        };
        let is_item = self.is_repeated(line, "call", &id);
        match kind {
            "dynamic_tool_call_request" if !is_item => {
                let Some(name) = text(event, "tool") else {
                    return Ok(false);
                };
                self.call(
                    line,
                    (&id, &name),
                    &arguments(event.get("arguments")),
                    &["arguments"],
                )?;
            }
            "dynamic_tool_call_response" if !is_item => {
                let name = text(event, "tool").unwrap_or_else(|| Text::from("unknown"));
                let name = self.name_of(&id, &name.to_string_lossy());
                let error = text(event, "error");
                let content = match &error {
                    Some(error) => text_content(error),
                    None => output(event.get("content_items")),
                };
                let failed =
                    error.is_some() || event.get("success").and_then(Raw::bool) == Some(false);
                self.result(line, (&id, &name), (&content, failed), &[])?;
            }
            "web_search_end" if !self.answered.contains(id.as_bytes()) => {
                let name = self.name_of(&id, "web_search");
                if !is_item && !self.names.contains_key(id.as_bytes()) {
                    let given = arguments(event.get_some("action").or_else(|| event.get("query")));
                    self.call(line, (&id, &name), &given, &["results"])?;
                }
                let found = event.get_some("results").or_else(|| event.get("query"));
                self.result(line, (&id, &name), (&output(found), false), &[])?;
            }
            "mcp_tool_call_end" if !is_item => {
                let invocation = event.get("invocation").unwrap_or(Raw::NULL);
                let names = text(invocation, "server").zip(text(invocation, "tool"));
                let Some((server, tool)) = names else {
                    return Ok(false);
                };
                let name = Text::from(format!("{server}/{tool}"));
                let given = arguments(invocation.get("arguments"));
                self.call(line, (&id, &name), &given, &["result"])?;
                let result = event.get("result");
                let error = result.and_then(|result| result.get_text("Err"));
                let result = result
                    .and_then(|result| result.get("Ok").filter(|ok| ok.is_object()))
                    .or(result);
                let content = match (&error, result) {
                    (Some(error), _) => text_content(error),
                    (None, Some(result)) if result.is_object() => output(result.get("content")),
                    (None, result) => output(result),
                };
                let is_error =
                    result.and_then(|result| result.get("isError")?.bool()) == Some(true);
                self.result(
                    line,
                    (&id, &name),
                    (&content, error.is_some() || is_error),
                    &[],
                )?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Returns the arguments of a call: an object, or one with the text.
pub fn arguments(value: Option<Raw>) -> Vec<u8> {
    let Some(value) = value.filter(|value| value.is_object() || value.is_string()) else {
        return b"{}".to_vec();
    };
    let Some(text) = value.text() else {
        return value.bytes().to_vec();
    };
    match Raw::parse(text.as_bytes()) {
        Ok(parsed) if parsed.is_object() => parsed.bytes().to_vec(),
        _ => Object::new().text("input", &text).finish(),
    }
}

/// Returns the exit code that the output of a command begins with, or has in its metadata.
fn exit_code(output: &Text) -> Option<f64> {
    static BEGINNING: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(BEFORE_OUTPUT).expect("a constant"));
    let bytes = output.as_bytes();
    if bytes.first() == Some(&b'{') {
        return Raw::parse(bytes)
            .ok()?
            .get("metadata")?
            .get("exit_code")?
            .number();
    }
    let code = BEGINNING.captures(bytes)?.get(1)?;
    std::str::from_utf8(code.as_bytes())
        .ok()?
        .trim_end()
        .parse()
        .ok()
}

/// Returns the content of a result: its blocks, its text, or its JSON.
pub fn output(value: Option<Raw>) -> Vec<u8> {
    let Some(value) = value else {
        return b"[]".to_vec();
    };
    match blocks(value) {
        blocks if !blocks.is_empty() => array(blocks),
        _ => text_content(&value.text().unwrap_or_else(|| js::stringify(value))),
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
            assert_eq!(exit_code(&Text::from(output)), expected, "{output}");
        }
    }
}
