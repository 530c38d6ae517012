//! Bodies for Google's `generateContent`. The model is in the URL, not in the body.

use super::blocks::{
    Authorship, Block, Call, Content, Image, ToolResult, images, render_parts, result_text,
};
use super::ids::{gemini_version, takes_ids};
use super::replay::Writer;
use super::sink::{NO_REQUEST, Sink};
use super::tools::Tool;
use super::{Target, schema};
use crate::session::entry::Role;
use pisess_json::text::Text;
use pisess_json::write::{Object, array};
use std::io;

/// A body in progress.
pub struct Body<'a> {
    target: &'a Target,
    sink: Sink<'a>,
    takes_ids: bool,
    /// The major version of the Gemini model; `None` for other models.
    version: Option<u32>,
    /// The results that are not yet written: those of a turn are one content.
    results: Vec<Vec<u8>>,
}

/// The signature that is sent for a call that has none, because without one Gemini 3 refuses calls.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

impl<'a> Body<'a> {
    pub fn new(target: &'a Target, mut sink: Sink<'a>) -> Self {
        sink.begin_list(Object::new(), "contents");
        Body {
            target,
            sink,
            takes_ids: takes_ids(&target.model.id),
            version: gemini_version(&target.model.id),
            results: Vec::new(),
        }
    }

    fn write_user_parts(&mut self, parts: &[Vec<u8>]) -> io::Result<()> {
        self.release_results()?;
        self.sink.write_item(&content(parts, "user"))
    }

    fn release_results(&mut self) -> io::Result<()> {
        let results = std::mem::take(&mut self.results);
        if results.is_empty() {
            return Ok(());
        }
        self.sink.write_item(&content(&results, "user"))
    }

    /// Returns a block of an answer as a part; `None` if it has neither text nor a signature.
    fn answer_part(&self, block: &Block, authorship: Authorship) -> Option<Vec<u8>> {
        match block {
            Block::Text { text, signature } => {
                let signature = accepted_signature(signature.as_ref(), authorship);
                if text.is_blank() && signature.is_none() {
                    return None;
                }
                Some(sign(Object::new().text("text", text), signature))
            }
            Block::Thinking {
                text, signature, ..
            } => {
                let signature = accepted_signature(signature.as_ref(), authorship);
                if text.is_blank() && signature.is_none() {
                    return None;
                }
                let part = Object::new().text("text", text).bool("thought", true);
                Some(sign(part, signature))
            }
            Block::Call(call) => {
                let signature = accepted_signature(call.signature.as_ref(), authorship);
                Some(self.call_part(call, signature))
            }
        }
    }

    fn call_part(&self, call: &Call, signature: Option<&Text>) -> Vec<u8> {
        let mut function_call = Object::new()
            .text("name", &call.name)
            .json("args", &call.input());
        if self.takes_ids {
            function_call = function_call.text("id", &call.id);
        }
        let part = Object::new().json("functionCall", &function_call.finish());

        let needs_signature = self.version.is_some_and(|version| version >= 3);
        if signature.is_none() && needs_signature {
            return sign(part, Some(&Text::from(NO_SIGNATURE)));
        }
        sign(part, signature)
    }
}

impl Writer for Body<'_> {
    fn write_user(&mut self, _: Role, content: Content) -> io::Result<()> {
        let render_text = |text: &Text| Some(text_part(text));
        let parts = render_parts(&content.into_parts(), render_text, image_part);
        if parts.is_empty() {
            return Ok(());
        }
        self.write_user_parts(&parts)
    }

    fn write_turn(&mut self, authorship: Authorship, blocks: Vec<Block>) -> io::Result<()> {
        let parts: Vec<_> = blocks
            .iter()
            .filter_map(|block| self.answer_part(block, authorship))
            .collect();
        if parts.is_empty() {
            return Ok(());
        }

        self.release_results()?;
        if !self.sink.has_items() {
            let request = text_part(&Text::from(NO_REQUEST));
            self.sink.write_item(&content(&[request], "user"))?;
        }
        self.sink.write_answer(&content(&parts, "model"))
    }

    fn write_result(&mut self, result: ToolResult) -> io::Result<()> {
        let images: Vec<_> = images(&result.parts).map(image_part).collect();
        let takes_images = self.version.is_none_or(|version| version >= 3);

        let is_error = result.is_error == Some(true);
        let key = if is_error { "error" } else { "output" };
        let value = result_text(&result.parts, "");
        let mut response = Object::new()
            .text("name", &result.name)
            .json("response", &Object::new().text(key, &value).finish());
        if takes_images {
            response = response.list("parts", &images);
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
        self.write_user_parts(&parts)
    }

    fn finish(mut self: Box<Self>) -> io::Result<Option<bool>> {
        self.release_results()?;

        let Target { system, tools, .. } = self.target;
        let mut rest = Object::new();
        if !system.is_empty() {
            let instruction = content(&[text_part(system)], "user");
            rest = rest.json("systemInstruction", &instruction);
        }
        if !tools.is_empty() {
            let declarations = array(tools.iter().map(declaration));
            let group = Object::new().json("functionDeclarations", &declarations);
            rest = rest.json("tools", &array([group.finish()]));
        }
        if tools.iter().any(|tool| tool.is_strict) {
            let config = br#"{"functionCallingConfig":{"mode":"VALIDATED"}}"#;
            rest = rest.json("toolConfig", config);
        }
        if let Some(max_tokens) = self.target.max_tokens {
            let config = format!("{{\"maxOutputTokens\":{max_tokens}}}");
            rest = rest.json("generationConfig", config.as_bytes());
        }
        self.sink.end_list(rest)
    }
}

fn content(parts: &[Vec<u8>], role: &str) -> Vec<u8> {
    Object::new()
        .json("parts", &array(parts))
        .str("role", role)
        .finish()
}

fn text_part(text: &Text) -> Vec<u8> {
    Object::new().text("text", text).finish()
}

fn image_part(image: &Image) -> Vec<u8> {
    let data = Object::new()
        .text("mimeType", &image.media_type)
        .text("data", &image.data)
        .finish();
    Object::new().json("inlineData", &data).finish()
}

fn declaration(tool: &Tool) -> Vec<u8> {
    let schema = schema::replace_constants(&tool.parameters);
    tool.describe(Object::new())
        .json("parametersJsonSchema", &schema)
        .finish()
}

/// Returns a part with its signature, if it has one.
fn sign(part: Object, signature: Option<&Text>) -> Vec<u8> {
    match signature {
        Some(signature) => part.text("thoughtSignature", signature).finish(),
        None => part.finish(),
    }
}

/// Returns the signature if Google accepts it: if it is base64, and from the same model, through
/// whatever API.
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
