//! Calls of tools and their results, which are one part of a message.

use super::OpenCodeReader;
use super::parts::{OpenCodeMessage, convert_image, is_part};
use crate::parts::{non_empty_text, parse_time_ms, unconverted_members};
use pisess_core::session::content::{find_members, text_block};
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_json::write::{Object, array};
use std::io;

/// A call, from its part.
pub(super) struct ToolPart<'a> {
    part: Raw<'a>,
    id: Text<'a>,
    name: Text<'a>,
    /// Its arguments, its status, its result and their times.
    state: Raw<'a>,
}

impl<'a> ToolPart<'a> {
    /// Reads a call from a part; `None` if the part is not a call, or names no id or no tool.
    pub fn read(part: Raw<'a>) -> Option<ToolPart<'a>> {
        if !is_part(part, "tool") {
            return None;
        }
        Some(ToolPart {
            part,
            id: non_empty_text(part, "callID")?,
            name: non_empty_text(part, "tool")?,
            state: part.get("state").unwrap_or(Raw::NULL),
        })
    }

    /// Returns the block of the call. Arguments that are not an object become an empty object.
    pub fn call_block(&self) -> Vec<u8> {
        let input = self.state.get("input").filter(|input| input.is_object());
        Object::new()
            .str("type", "toolCall")
            .text("id", &self.id)
            .text("name", &self.name)
            .raw("arguments", input.unwrap_or(Raw::from_checked(b"{}")))
            .finish()
    }

    /// Returns a time of the call in milliseconds since 1970. `key` is `start` or `end`.
    pub fn time_ms(&self, key: &str) -> Option<i64> {
        parse_time_ms(self.state.get("time")?.get(key))
    }

    /// Whether the call has ended.
    pub fn has_result(&self) -> bool {
        let status = self.state.get("status");
        status.is_some_and(|status| status.is("completed") || status.is("error"))
    }

    /// Returns the content of the result as JSON: the error of a failed call, or else the output
    /// and the attached images:
    ///
    /// ```text
    /// {"status":"error","error":"No such file", …}
    /// {"status":"completed","output":"a.rs","attachments":[{"mime":"image/png","url":"data:…"}]}
    /// ```
    ///
    /// `None` if the call has no result, because the agent was stopped before.
    fn result_content(&self) -> Option<Vec<u8>> {
        if !self.has_result() {
            return None;
        }
        let names = ["status", "output", "error", "attachments"];
        let [status, output, error, attachments] = find_members(self.state, names);
        if status?.is("error") {
            let error = error.and_then(Raw::text).unwrap_or_default();
            return Some(array([text_block(&error)]));
        }

        let output = output.and_then(Raw::text).unwrap_or_default();
        let mut blocks = vec![text_block(&output)];
        for file in attachments.unwrap_or(Raw::NULL).items() {
            // Files other than images are kept beside the message.
            blocks.extend(convert_image(file));
        }
        Some(array(blocks))
    }

    /// Returns the members of the part that have no place in the message of the result. They are
    /// kept beside the message.
    fn unconverted_members(&self) -> Object {
        let converted_keys = ["status", "input", "output", "error", "attachments"];
        let mut state = unconverted_members(self.state, &converted_keys);
        if let Some(files) = self.unconverted_attachments() {
            state = state.json("attachments", &files);
        }
        Object::new()
            .copy_members(self.part, &["id", "metadata"])
            .object("state", &state)
    }

    /// Returns the attachments that [`result_content`](Self::result_content) leaves out, as an
    /// array: files other than images, and all files of a failed call. `None` if there are none.
    fn unconverted_attachments(&self) -> Option<Vec<u8>> {
        let [status, attachments] = find_members(self.state, ["status", "attachments"]);
        let has_failed = status.is_some_and(|status| status.is("error"));
        let mut files = Vec::new();
        for file in attachments?.items() {
            if has_failed || convert_image(file).is_none() {
                files.push(file.bytes().to_vec());
            }
        }
        if files.is_empty() {
            None
        } else {
            Some(array(files))
        }
    }

    /// Returns the exit code of a command that failed; `None` if it is 0 or not recorded.
    fn error_code(&self) -> Option<f64> {
        let code = self.state.get("metadata")?.get("exit")?.number()?;
        Some(code).filter(|code| *code != 0.0)
    }
}

impl OpenCodeReader<'_> {
    /// Adds the result of a call, if it has one, as a message. An exit code other than 0 makes it
    /// an error, although OpenCode treats the call as completed.
    pub(super) fn add_result(
        &mut self,
        message: &OpenCodeMessage,
        call: &ToolPart,
    ) -> io::Result<()> {
        let Some(content) = call.result_content() else {
            return Ok(());
        };
        self.time_ms = call.time_ms("end").unwrap_or(self.time_ms);
        let error_code = call.error_code();
        let has_failed = call.state.get("error").is_some() || error_code.is_some();
        let mut converted = Object::new()
            .str("role", "toolResult")
            .text("toolCallId", &call.id)
            .text("toolName", &call.name)
            .json("content", &content);
        if let Some(error_code) = error_code {
            let details = Object::new().number("exitCode", error_code);
            converted = converted.object("details", &details);
        }
        converted = converted
            .bool("isError", has_failed)
            .number("timestamp", self.time_ms as f64);

        let members = Object::new()
            .object("message", &converted)
            .object("opencode", &call.unconverted_members());
        self.add_entry(message.offset, "message", members)
    }
}
