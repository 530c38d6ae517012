//! Bodies for Google's `generateContent`. The model is in the URL, not in the body.

use super::blocks::{
    Block, Call, Content, Image, Source, ToolResult, images, rendered, result_text,
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
    version: Option<u32>,
    /// The results that are not yet written: those of a turn are one content.
    results: Vec<Vec<u8>>,
}

/// The signature that is sent for a call that has none, because without one Gemini 3 refuses calls.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

impl<'a> Body<'a> {
    pub fn new(target: &'a Target, mut sink: Sink<'a>) -> Self {
        sink.begin(Object::new(), "contents");
        let (takes_ids, version) = (
            takes_ids(&target.model.id),
            gemini_version(&target.model.id),
        );
        Body {
            target,
            sink,
            takes_ids,
            version,
            results: Vec::new(),
        }
    }

    fn user_content(&mut self, parts: &[Vec<u8>]) -> io::Result<()> {
        self.release_results()?;
        self.sink.item(&content(parts, "user"))
    }

    fn release_results(&mut self) -> io::Result<()> {
        let results = std::mem::take(&mut self.results);
        if results.is_empty() {
            Ok(())
        } else {
            self.sink.item(&content(&results, "user"))
        }
    }

    fn block(&self, block: &Block, source: Source) -> Option<Vec<u8>> {
        let is_known = source.provider && source.id;
        match block {
            Block::Text { text, signature }
            | Block::Thinking {
                text, signature, ..
            } => {
                let signature = valid(signature.as_ref(), is_known);
                let is_nothing = text.is_blank() && signature.is_none();
                let is_thought = matches!(block, Block::Thinking { .. }).then_some(true);
                let part = Object::new().text("text", text);
                let part = part.with(is_thought, |part, thought| part.bool("thought", thought));
                (!is_nothing).then(|| signed(part, signature))
            }
            Block::Call(call) => Some(self.call(call, valid(call.signature.as_ref(), is_known))),
        }
    }

    fn call(&self, call: &Call, signature: Option<&Text>) -> Vec<u8> {
        let json = Object::new()
            .text("name", &call.name)
            .json("args", &call.input())
            .with(self.takes_ids.then_some(&call.id), |object, id| {
                object.text("id", id)
            });
        let is_needed = self.version.is_some_and(|version| version >= 3);
        let none = Text::from(NO_SIGNATURE);
        signed(
            Object::new().json("functionCall", &json.finish()),
            signature.or(is_needed.then_some(&none)),
        )
    }
}

impl Writer for Body<'_> {
    fn user(&mut self, _: Role, content: Content) -> io::Result<()> {
        let parts = rendered(&content.into_parts(), |text| Some(text_part(text)), inline);
        if parts.is_empty() {
            Ok(())
        } else {
            self.user_content(&parts)
        }
    }

    fn turn(&mut self, source: Source, blocks: Vec<Block>) -> io::Result<()> {
        let parts: Vec<_> = blocks
            .iter()
            .filter_map(|block| self.block(block, source))
            .collect();
        if parts.is_empty() {
            return Ok(());
        }
        self.release_results()?;
        if !self.sink.has_items() {
            self.sink
                .item(&content(&[text_part(&Text::from(NO_REQUEST))], "user"))?;
        }
        self.sink.answer(&content(&parts, "model"))
    }

    fn result(&mut self, result: ToolResult) -> io::Result<()> {
        let images: Vec<_> = images(&result.parts).map(inline).collect();
        let value = result_text(&result.parts, "");
        let key = if result.is_error == Some(true) {
            "error"
        } else {
            "output"
        };
        let takes_images = self.version.is_none_or(|version| version >= 3);
        let nested = (!images.is_empty() && takes_images).then(|| array(&images));
        let response = Object::new()
            .text("name", &result.name)
            .json("response", &Object::new().text(key, &value).finish())
            .with(nested.as_ref(), |object, parts| object.json("parts", parts))
            .with(self.takes_ids.then_some(result.id), |object, id| {
                object.text("id", id)
            });
        let part = Object::new()
            .json("functionResponse", &response.finish())
            .finish();
        self.results.push(part);
        if nested.is_some() || images.is_empty() {
            return Ok(());
        }
        let lead = text_part(&Text::from("Tool result image:"));
        self.user_content(&[vec![lead], images].concat())
    }

    fn finish(mut self: Box<Self>) -> io::Result<Option<bool>> {
        self.release_results()?;
        let Target { system, tools, .. } = self.target;
        let system = (!system.is_empty()).then(|| content(&[text_part(system)], "user"));
        let has_strict = tools.iter().any(|tool| tool.is_strict);
        let declarations = array(tools.iter().map(declaration));
        let tools = (!tools.is_empty()).then(|| {
            array([Object::new()
                .json("functionDeclarations", &declarations)
                .finish()])
        });
        let config =
            has_strict.then_some(&br#"{"functionCallingConfig":{"mode":"VALIDATED"}}"#[..]);
        let max = self
            .target
            .max_tokens
            .map(|max| format!("{{\"maxOutputTokens\":{max}}}"));
        let rest = Object::new()
            .with(system, |object, system| {
                object.json("systemInstruction", &system)
            })
            .with(tools, |object, tools| object.json("tools", &tools))
            .with(config, |object, config| object.json("toolConfig", config))
            .with(max, |object, max| {
                object.json("generationConfig", max.as_bytes())
            });
        self.sink.end(rest)
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

fn inline(image: &Image) -> Vec<u8> {
    let data = Object::new()
        .text("mimeType", &image.media_type)
        .text("data", &image.data)
        .finish();
    Object::new().json("inlineData", &data).finish()
}

fn declaration(tool: &Tool) -> Vec<u8> {
    let schema = schema::without_constants(&tool.parameters);
    tool.head(Object::new())
        .json("parametersJsonSchema", &schema)
        .finish()
}

fn signed(part: Object, signature: Option<&Text>) -> Vec<u8> {
    part.with(signature, |object, signature| {
        object.text("thoughtSignature", signature)
    })
    .finish()
}

/// Returns the signature if Google accepts it: if it is base64, and from the same model.
fn valid<'s, 'a>(signature: Option<&'s Text<'a>>, is_known: bool) -> Option<&'s Text<'a>> {
    signature.filter(|text| is_known && is_base64(text))
}

/// Whether a signature is base64, as Google's are.
fn is_base64(text: &Text) -> bool {
    let bytes = text.as_bytes();
    let padding = bytes.iter().rev().take_while(|&&byte| byte == b'=').count();
    let body = &bytes[..bytes.len() - padding];
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/".contains(byte);
    !body.is_empty() && padding <= 2 && bytes.len().is_multiple_of(4) && body.iter().all(is_digit)
}
