//! Writes bodies for Google's `generateContent`. The model is in the URL, not in the body.

use super::blocks::{
    Authorship, ImageData, ToolResult, TurnBlock, TurnCall, UserContent, images_in, render_parts,
    result_text,
};
use super::ids::{gemini_version, takes_ids};
use super::replay::BodyWriter;
use super::sink::{BodySink, LastMessage, NO_REQUEST};
use super::tools::Tool;
use super::{RequestTarget, schema};
use crate::session::entry::Role;
use pisess_json::text::Text;
use pisess_json::write::{Object, array};
use std::io;

/// A body in progress.
pub struct GoogleWriter<'a> {
    target: &'a RequestTarget,
    sink: BodySink<'a>,
    takes_ids: bool,
    /// The major version of the Gemini model; `None` for other models.
    gemini_major: Option<u32>,
    /// The results of a turn that are held back, because they become one content.
    results: Vec<Vec<u8>>,
}

/// The signature that is sent with a call that has none, such as a call of another model. Gemini 3
/// refuses a call without a signature, but accepts this one in its place.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

impl<'a> GoogleWriter<'a> {
    pub fn new(target: &'a RequestTarget, mut sink: BodySink<'a>) -> Self {
        sink.begin_list(Object::new(), "contents");
        GoogleWriter {
            target,
            sink,
            takes_ids: takes_ids(&target.model.id),
            gemini_major: gemini_version(&target.model.id),
            results: Vec::new(),
        }
    }

    /// Writes a user content with these parts, after the results that are held back.
    fn write_user_parts(&mut self, parts: &[Vec<u8>]) -> io::Result<()> {
        self.flush_results()?;
        self.sink.write_item(&build_content(parts, "user"))
    }

    /// Writes the results that are held back, if there are any.
    fn flush_results(&mut self) -> io::Result<()> {
        let results = std::mem::take(&mut self.results);
        if results.is_empty() {
            return Ok(());
        }
        self.sink.write_item(&build_content(&results, "user"))
    }

    /// Converts a block of an answer to a part. The signature of the block is only sent if Google
    /// accepts it. `None` if the block has neither text nor such a signature.
    fn answer_part(&self, block: &TurnBlock, authorship: Authorship) -> Option<Vec<u8>> {
        match block {
            TurnBlock::Text { text, signature } => {
                let signature = accepted_signature(signature.as_ref(), authorship);
                if text.is_blank() && signature.is_none() {
                    return None;
                }
                Some(finish_part(Object::new().text("text", text), signature))
            }
            TurnBlock::Thinking {
                text, signature, ..
            } => {
                let signature = accepted_signature(signature.as_ref(), authorship);
                if text.is_blank() && signature.is_none() {
                    return None;
                }
                let part = Object::new().text("text", text).bool("thought", true);
                Some(finish_part(part, signature))
            }
            TurnBlock::Call(call) => {
                let signature = accepted_signature(call.signature.as_ref(), authorship);
                Some(self.call_part(call, signature))
            }
        }
    }

    /// Converts a call to a part. It has the call's id if the model takes ids, and its signature,
    /// if Google accepts that. Gemini from 3 on refuses a call without a signature, but accepts
    /// [`NO_SIGNATURE`] in its place.
    fn call_part(&self, call: &TurnCall, signature: Option<&Text>) -> Vec<u8> {
        let mut function_call = Object::new()
            .text("name", &call.name)
            .json("args", &call.input_json());
        if self.takes_ids {
            function_call = function_call.text("id", &call.id);
        }
        let part = Object::new().json("functionCall", &function_call.finish());

        let needs_signature = self.gemini_major.is_some_and(|version| version >= 3);
        if signature.is_none() && needs_signature {
            return finish_part(part, Some(&Text::from(NO_SIGNATURE)));
        }
        finish_part(part, signature)
    }
}

impl BodyWriter for GoogleWriter<'_> {
    /// Writes a user message, unless it has no parts.
    fn write_user(&mut self, _: Role, content: UserContent) -> io::Result<()> {
        let render_text = |text: &Text| Some(text_part(text));
        let parts = render_parts(&content.into_parts(), render_text, image_part);
        if parts.is_empty() {
            return Ok(());
        }
        self.write_user_parts(&parts)
    }

    /// Writes an answer of the model, unless no part of it remains. If it would be the first
    /// content, a user message is written before it, because the conversation may not begin with
    /// the model.
    fn write_turn(&mut self, authorship: Authorship, blocks: Vec<TurnBlock>) -> io::Result<()> {
        let parts: Vec<_> = blocks
            .iter()
            .filter_map(|block| self.answer_part(block, authorship))
            .collect();
        if parts.is_empty() {
            // The results before it are still held back: those after it belong to the same content.
            return Ok(());
        }

        self.flush_results()?;
        if !self.sink.has_items() {
            let request = text_part(&Text::from(NO_REQUEST));
            self.sink.write_item(&build_content(&[request], "user"))?;
        }
        self.sink.write_answer(&build_content(&parts, "model"))
    }

    /// Holds a result back, because consecutive results become one content. Its images are a part
    /// of the result.
    ///
    /// Gemini before 3 does not accept images there. Then all results that are held back are
    /// written now, followed by a user message with the images.
    fn write_result(&mut self, result: ToolResult) -> io::Result<()> {
        let images: Vec<_> = images_in(&result.parts).map(image_part).collect();
        // A model that is not named like Gemini is assumed to be as capable as a new one.
        let takes_images = self.gemini_major.is_none_or(|version| version >= 3);

        let is_error = result.is_error == Some(true);
        let key = if is_error { "error" } else { "output" };
        let output = Object::new().text(key, &result_text(&result.parts, ""));
        let mut response = Object::new()
            .text("name", &result.name)
            .json("response", &output.finish());
        if takes_images {
            response = response.json_array("parts", &images);
        }
        if self.takes_ids {
            response = response.text("id", result.id);
        }
        let part = Object::new().json("functionResponse", &response.finish());
        self.results.push(part.finish());

        if takes_images || images.is_empty() {
            return Ok(());
        }
        let mut parts = vec![text_part(&Text::from("Tool result image:"))];
        parts.extend(images);
        // It first writes the results that are held back, this one included.
        self.write_user_parts(&parts)
    }

    /// Writes the results that are held back, and ends the list. Then come the system text, the
    /// tools, the strict mode of their schemas, and the limit of the answer.
    fn finish(mut self: Box<Self>) -> io::Result<Option<LastMessage>> {
        self.flush_results()?;

        let RequestTarget { system, tools, .. } = self.target;
        let mut trailing_members = Object::new();
        if !system.is_empty() {
            let instruction = build_content(&[text_part(system)], "user");
            trailing_members = trailing_members.json("systemInstruction", &instruction);
        }
        if !tools.is_empty() {
            let declarations = array(tools.iter().map(render_tool));
            let group = Object::new().json("functionDeclarations", &declarations);
            trailing_members = trailing_members.json("tools", &array([group.finish()]));
        }
        if tools.iter().any(|tool| tool.is_strict) {
            let config = br#"{"functionCallingConfig":{"mode":"VALIDATED"}}"#;
            trailing_members = trailing_members.json("toolConfig", config);
        }
        if let Some(max_tokens) = self.target.max_tokens {
            let config = format!("{{\"maxOutputTokens\":{max_tokens}}}");
            trailing_members = trailing_members.json("generationConfig", config.as_bytes());
        }
        self.sink.end_list(trailing_members)
    }
}

/// Returns a content, which is Google's form of a message.
fn build_content(parts: &[Vec<u8>], role: &str) -> Vec<u8> {
    Object::new()
        .json("parts", &array(parts))
        .str("role", role)
        .finish()
}

fn text_part(text: &Text) -> Vec<u8> {
    Object::new().text("text", text).finish()
}

fn image_part(image: &ImageData) -> Vec<u8> {
    let data = Object::new()
        .text("mimeType", &image.media_type)
        .text("data", &image.data)
        .finish();
    Object::new().json("inlineData", &data).finish()
}

/// Returns the declaration of a tool.
fn render_tool(tool: &Tool) -> Vec<u8> {
    let schema = schema::replace_constants(&tool.parameters);
    tool.add_description(Object::new())
        .json("parametersJsonSchema", &schema)
        .finish()
}

/// Returns a part as JSON, with its signature if it has one.
fn finish_part(part: Object, signature: Option<&Text>) -> Vec<u8> {
    match signature {
        Some(signature) => part.text("thoughtSignature", signature).finish(),
        None => part.finish(),
    }
}

/// Returns a signature if Google accepts it: it must be base64, and from the same model. It may
/// have been received through another API.
fn accepted_signature<'s, 'a>(
    signature: Option<&'s Text<'a>>,
    authorship: Authorship,
) -> Option<&'s Text<'a>> {
    let is_same_model = authorship.is_same_provider && authorship.is_same_id;
    signature.filter(|text| is_same_model && is_base64(text))
}

/// Whether a signature is base64, as Google's are.
fn is_base64(text: &Text) -> bool {
    let bytes = text.as_bytes();
    let padding = bytes.iter().rev().take_while(|&&byte| byte == b'=').count();
    let body = &bytes[..bytes.len() - padding];
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/".contains(byte);
    !body.is_empty() && padding <= 2 && bytes.len().is_multiple_of(4) && body.iter().all(is_digit)
}
