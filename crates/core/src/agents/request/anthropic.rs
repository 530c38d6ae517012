//! Writes bodies for Anthropic's Messages API.

use super::blocks::{
    Authorship, ContentPart, ImageData, ToolResult, TurnBlock, TurnCall, UserContent,
    build_message, images_in, join_texts, render_parts,
};
use super::replay::BodyWriter;
use super::sink::{BodySink, LastMessage, NO_REQUEST};
use super::tools::Tool;
use super::{RequestTarget, schema};
use crate::session::content;
use crate::session::entry::Role;
use foldhash::HashSet;
use pisess_json::text::{Text, concat_texts, trim_end};
use pisess_json::write::{Object, array};
use pisess_json::{Raw, string};
use std::io;
use std::mem::take;

/// A body in progress. One message is held back until it is complete: an answer of the model, or
/// the results of a turn.
pub struct AnthropicWriter<'a> {
    target: &'a RequestTarget,
    sink: BodySink<'a>,
    /// The names of the tools of all calls, in order.
    called_tools: Vec<Text<'static>>,
    /// The blocks of an answer that is held back, because its end changes if it is the last
    /// message.
    answer: Vec<Vec<u8>>,
    /// The results of a turn that are held back, because they become one message.
    results: Vec<Vec<u8>>,
    /// The images of results that are errors. They are written after the results.
    error_images: Vec<Vec<u8>>,
    has_signed_thinking: bool,
}

/// Thinking may be bound to the messages before it. If these are others, this makes the API drop
/// the thinking, rather than refuse the request. pi sends it, too.
const DROP_BOUND_THINKING: &[u8] = br#"{"type":"adaptive","display":"summarized","block_binding":{"prefix_mismatch_behavior":"drop_block"}}"#;

/// Shown in place of an image in a result that is an error. Such a result can contain only text.
const IMAGE_FOLLOWS: &str = "(image attached after the tool results)";

impl<'a> AnthropicWriter<'a> {
    /// Begins the body with the model and the list of messages. The system text and the tools come
    /// after the list: see `finish`.
    pub fn new(target: &'a RequestTarget, mut sink: BodySink<'a>) -> Self {
        sink.begin_list(Object::new().text("model", &target.model.id), "messages");
        AnthropicWriter {
            target,
            sink,
            called_tools: Vec::new(),
            answer: Vec::new(),
            results: Vec::new(),
            error_images: Vec::new(),
            has_signed_thinking: false,
        }
    }

    /// Removes the white space at the end of the answer that is held back, if there is one. The API
    /// refuses such white space in the last message of a body, and nowhere else.
    fn trim_answer_end(&mut self) {
        if let Some(last) = self.answer.last_mut()
            && content::is_block(Raw::from_checked(last), "text")
        {
            let text = Raw::from_checked(last).get_text("text").unwrap_or_default();
            *last = content::text_block(&Text::from_wtf8(trim_end(text.as_bytes())));
        }
    }

    /// Writes the message that is held back, if there is one: an answer or results, never both.
    fn flush_held_message(&mut self) -> io::Result<()> {
        self.flush_answer()?;
        self.flush_results()
    }

    /// Writes the answer of the model that is held back, if there is one. If it would be the first
    /// message, a user message is written before it, because the API refuses a body that begins
    /// with an answer.
    fn flush_answer(&mut self) -> io::Result<()> {
        let blocks = take(&mut self.answer);
        if blocks.is_empty() {
            return Ok(());
        }
        if !self.sink.has_items() {
            let request = string::encode_to_vec(&Text::from(NO_REQUEST));
            self.sink.write_item(&build_message("user", &request))?;
        }
        self.sink
            .write_answer(&build_message("assistant", &array(blocks)))
    }

    /// Writes the results that are held back, if there are any.
    fn flush_results(&mut self) -> io::Result<()> {
        let mut blocks = take(&mut self.results);
        if blocks.is_empty() {
            return Ok(());
        }
        blocks.append(&mut self.error_images);
        self.sink.write_item(&build_message("user", &array(blocks)))
    }

    /// Converts the blocks of an answer to blocks of the API, and adds the tools that it calls
    /// to `called_tools`. Blank text, and thinking without text or a signature, is left out.
    fn convert_answer(&mut self, blocks: Vec<TurnBlock>) -> Vec<Vec<u8>> {
        let mut answer = Vec::new();
        for block in blocks {
            match block {
                TurnBlock::Text { text, .. } => answer.extend(text_block(&text)),
                TurnBlock::Thinking {
                    text,
                    signature,
                    is_redacted,
                } => answer.extend(thinking_block(&text, signature, is_redacted)),
                TurnBlock::Call(call) => {
                    answer.push(call_block(&call));
                    self.called_tools.push(call.name);
                }
            }
        }
        answer
    }

    /// Returns the definitions of the session's tools. If there are none, defines the tools that
    /// were called, in the order of their first call, because the API refuses calls if no tool is
    /// defined.
    fn tool_definitions(&self) -> Vec<Vec<u8>> {
        let tools = &self.target.tools;
        if !tools.is_empty() {
            // As in the agents, only Anthropic itself is asked to stream inputs early.
            let is_eager = self.target.model.provider == "anthropic";
            return tools
                .iter()
                .map(|tool| render_tool(tool, is_eager))
                .collect();
        }

        let mut definitions = Vec::new();
        let mut names = HashSet::default();
        for name in &self.called_tools {
            let is_new = names.insert(name);
            if is_new {
                let is_eager = false;
                definitions.push(render_tool(&Tool::from_name(name.clone()), is_eager));
            }
        }
        definitions
    }

    /// Returns a result as a block. If it is an error, notes replace its images.
    fn render_result(&self, result: &ToolResult) -> Vec<u8> {
        let content = if result.is_error == Some(true) {
            let constants = self.target.constants();
            failure_content(&result.parts, constants.empty_failure_text)
        } else {
            result_content(&result.parts)
        };
        let mut block = Object::new()
            .str("type", "tool_result")
            .text("tool_use_id", result.id)
            .json("content", &content);
        // Left out if the session does not record it.
        if let Some(is_error) = result.is_error {
            block = block.bool("is_error", is_error);
        }
        block.finish()
    }
}

/// Returns the images of a result as blocks, after a caption that names the call: they will not be
/// in the result itself. Empty if there are no images.
fn captioned_images(result: &ToolResult) -> Vec<Vec<u8>> {
    if images_in(&result.parts).next().is_none() {
        return Vec::new();
    }
    let caption = concat_texts(&[
        &"Images from the error result of tool call ",
        result.id,
        &" (",
        &result.name,
        &"):",
    ]);
    let mut blocks = vec![content::text_block(&caption)];
    blocks.extend(images_in(&result.parts).map(image_block));
    blocks
}

impl BodyWriter for AnthropicWriter<'_> {
    /// Writes a user message, unless it is empty, which the API refuses.
    fn write_user(&mut self, _: Role, content: UserContent) -> io::Result<()> {
        let Some(json) = user_content(content) else {
            // The message ends a series of results, although it is left out. An answer that is held
            // back may still be the last message.
            return self.flush_results();
        };
        self.flush_held_message()?;
        self.sink.write_item(&build_message("user", &json))
    }

    /// Writes the message that was held back, and holds this answer back. The API refuses white
    /// space at the end of the last message, so whether this is the last must be known first: see
    /// `trim_answer_end`.
    ///
    /// An answer cannot end with thinking, so thinking at its end is left out. If nothing else
    /// remains, the whole answer is left out.
    fn write_turn(&mut self, _: Authorship, blocks: Vec<TurnBlock>) -> io::Result<()> {
        let mut answer = self.convert_answer(blocks);
        while answer.last().is_some_and(|block| is_thinking(block)) {
            answer.pop();
        }
        if answer.is_empty() {
            // The turn ends a series of results, although it is left out. An answer that is held
            // back may still be the last message.
            return self.flush_results();
        }
        // `thinking_block` has made text of thinking without a signature.
        let has_signed_thinking = answer.iter().any(|block| is_thinking(block));
        self.has_signed_thinking |= has_signed_thinking;

        self.flush_held_message()?;
        self.answer = answer;
        Ok(())
    }

    /// Holds a result back, because all results of a turn become one message. If the result is an
    /// error, it can contain only text, so its images come after all results.
    fn write_result(&mut self, result: ToolResult) -> io::Result<()> {
        // The answer with the calls comes before their results. It is not the last message, so its
        // end does not change.
        self.flush_answer()?;

        self.results.push(self.render_result(&result));
        if result.is_error == Some(true) {
            self.error_images.extend(captioned_images(&result));
        }
        Ok(())
    }

    /// Writes what is held back, and ends the list. Then come the limit of the answer, the system
    /// text, the tools, and how the API should treat signed thinking.
    fn finish(mut self: Box<Self>) -> io::Result<Option<LastMessage>> {
        // An answer that is still held back is the last message.
        self.trim_answer_end();
        self.flush_held_message()?;

        let mut trailing_members = Object::new();
        if let Some(max_tokens) = self.target.max_tokens {
            trailing_members =
                trailing_members.json("max_tokens", max_tokens.to_string().as_bytes());
        }
        if !self.target.system.is_empty() {
            trailing_members =
                trailing_members.json("system", &content::text_content(&self.target.system));
        }
        trailing_members = trailing_members.json_array("tools", &self.tool_definitions());
        if self.has_signed_thinking && binds_thinking(&self.target.model.id) {
            trailing_members = trailing_members.json("thinking", DROP_BOUND_THINKING);
        }
        self.sink.end_list(trailing_members)
    }
}

/// Whether a model accepts its own thinking only after the same messages as before. Opus requires
/// that from version 5 on, Fable from 5.1, Haiku and Sonnet from 5.5. `claude-opus-5-1-20260101`
/// has version 5.1.
fn binds_thinking(id: &Text) -> bool {
    let id = id.to_string_lossy();
    let name = id.rsplit('/').next().unwrap_or_default();
    let Some((family, version)) = name
        .strip_prefix("claude-")
        .and_then(|rest| rest.split_once('-'))
    else {
        return false;
    };

    let first_that_binds = match family {
        "opus" => [5, 0],
        "fable" => [5, 1],
        "haiku" | "sonnet" => [5, 5],
        _ => return false,
    };
    let mut parts = version.split(['-', '.']);
    let major = parts.next().and_then(parse_version_number);
    let minor = parts.next().and_then(parse_version_number);
    // A version without a minor number, as in `5-20260101`, has the minor number 0.
    let version = [major.unwrap_or(0), minor.unwrap_or(0)];
    version >= first_that_binds
}

/// Parses a part of a model's version. `None` for a date, which has more than two digits, and for a
/// part that is not a number.
fn parse_version_number(part: &str) -> Option<u32> {
    if part.len() <= 2 {
        part.parse().ok()
    } else {
        None
    }
}

/// Returns thinking as a block. Thinking without a signature becomes text; `None` if it has no
/// text, either.
fn thinking_block(text: &Text, signature: Option<Text>, is_redacted: bool) -> Option<Vec<u8>> {
    let Some(signature) = signature.filter(|signature| !signature.is_blank()) else {
        return text_block(text);
    };
    Some(signed_thinking_block(text, &signature, is_redacted))
}

/// Returns signed thinking as a block, in the form in which the API sent it. Redacted thinking has
/// no text: its signature is the encrypted thinking.
pub fn signed_thinking_block(text: &Text, signature: &Text, is_redacted: bool) -> Vec<u8> {
    let block = if is_redacted {
        Object::new()
            .str("type", "redacted_thinking")
            .text("data", signature)
    } else {
        Object::new()
            .str("type", "thinking")
            .text("thinking", text)
            .text("signature", signature)
    };
    block.finish()
}

fn is_thinking(block: &[u8]) -> bool {
    let block = Raw::from_checked(block);
    content::is_block(block, "thinking") || content::is_block(block, "redacted_thinking")
}

/// Returns a text as a block; `None` for a blank text, which the API refuses.
fn text_block(text: &Text) -> Option<Vec<u8>> {
    if text.is_blank() {
        return None;
    }
    Some(content::text_block(text))
}

fn call_block(call: &TurnCall) -> Vec<u8> {
    Object::new()
        .str("type", "tool_use")
        .text("id", &call.id)
        .text("name", &call.name)
        .json("input", &call.input_json())
        .finish()
}

/// Returns an image in the form of the API.
fn image_block(image: &ImageData) -> Vec<u8> {
    let source = Object::new()
        .str("type", "base64")
        .text("media_type", &image.media_type)
        .text("data", &image.data)
        .finish();
    Object::new()
        .str("type", "image")
        .json("source", &source)
        .finish()
}

/// Returns the content of a user message: a string, or a list of blocks without those whose text is
/// blank. `None` if nothing remains, because the API refuses empty content.
fn user_content(content: UserContent) -> Option<Vec<u8>> {
    match content {
        UserContent::Plain(text) if text.is_blank() => None,
        UserContent::Plain(text) => Some(string::encode_to_vec(&text)),
        UserContent::Parts(parts) => {
            let blocks = render_parts(&parts, text_block, image_block);
            if blocks.is_empty() {
                None
            } else {
                Some(array(blocks))
            }
        }
    }
}

/// Returns the content of a failed result, which cannot contain images in this API. `text_if_empty`
/// replaces a blank text, if it is given.
fn failure_content(parts: &[ContentPart], text_if_empty: Option<&'static str>) -> Vec<u8> {
    let text = join_texts(&replace_images(parts));
    match text_if_empty {
        Some(replacement) if text.is_blank() => string::encode_to_vec(&Text::from(replacement)),
        _ => string::encode_to_vec(&text),
    }
}

/// Returns the parts of a result that is an error, which can contain only text: each run of images
/// becomes the note [`IMAGE_FOLLOWS`].
fn replace_images<'a>(parts: &[ContentPart<'a>]) -> Vec<ContentPart<'a>> {
    let mut out: Vec<ContentPart> = Vec::new();
    for part in parts {
        match part {
            ContentPart::Text(_) => out.push(part.clone()),
            ContentPart::Image(_) => {
                let continues_run =
                    matches!(out.last(), Some(ContentPart::Text(text)) if *text == IMAGE_FOLLOWS);
                if !continues_run {
                    out.push(ContentPart::Text(Text::from(IMAGE_FOLLOWS)));
                }
            }
        }
    }
    out
}

/// Returns the content of a result: a string or, if there are images, blocks. If there are only
/// images, a note precedes them.
fn result_content(parts: &[ContentPart]) -> Vec<u8> {
    let image_count = images_in(parts).count();
    if image_count == 0 {
        return string::encode_to_vec(&join_texts(parts));
    }
    let mut blocks = render_parts(parts, text_block, image_block);
    let has_text = blocks.len() > image_count;
    if !has_text {
        blocks.insert(0, content::text_block(&Text::from("(see attached image)")));
    }
    array(blocks)
}

/// Returns the definition of a tool. With `is_eager`, it requests that the tool's input is streamed
/// early.
fn render_tool(tool: &Tool, is_eager: bool) -> Vec<u8> {
    let mut definition = tool.add_description(Object::new());
    if is_eager {
        definition = definition.bool("eager_input_streaming", true);
    }
    if tool.is_strict {
        definition = definition.bool("strict", true);
    }
    let schema = schema::anthropic_schema(&tool.parameters, tool.is_strict);
    definition.json("input_schema", &schema).finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_with_bound_blocks() {
        for id in [
            "claude-opus-5",
            "claude-opus-5-20260801",
            "claude-opus-5-5",
            "claude-sonnet-5-5",
            "claude-haiku-5-5-20261001",
            "claude-fable-5-1",
            "anthropic/claude-fable-5.2",
            "claude-sonnet-6",
        ] {
            assert!(binds_thinking(&Text::from(id)), "{id}");
        }
        for id in [
            "claude-sonnet-4-5",
            "claude-opus-4-8",
            "claude-sonnet-5",
            "claude-sonnet-5-20260301",
            "claude-fable-5",
            "claude-3-5-sonnet",
            "claude-3-7-sonnet",
            "gpt-6",
            "",
        ] {
            assert!(!binds_thinking(&Text::from(id)), "{id}");
        }
    }
}
