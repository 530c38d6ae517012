//! Bodies for OpenAI's Chat Completions API, which many providers offer.

use super::Target;
use super::blocks::{
    Block, Call, Content, Image, Source, ToolResult, images, rendered, result_text,
};
use super::replay::Writer;
use super::sink::Sink;
use super::tools::Tool;
use crate::session::content;
use crate::session::entry::Role;
use pisess_json::text::{self, Text};
use pisess_json::write::{Object, array};
use pisess_json::{Raw, js, string};
use std::io;

/// A body in progress.
pub struct Body<'a> {
    target: &'a Target,
    sink: Sink<'a>,
    /// Whether the provider is OpenAI, rather than one that offers its API.
    is_openai: bool,
    /// The images in the results of a turn, which only a user message can contain.
    result_images: Vec<Vec<u8>>,
}

/// The providers that take the maximum output as `max_tokens`.
const OLDER_LIMIT: [&str; 9] = [
    "deepseek",
    "moonshotai",
    "moonshotai-cn",
    "cloudflare-ai-gateway",
    "together",
    "nvidia",
    "ant-ling",
    "zai",
    "zai-coding-cn",
];

impl<'a> Body<'a> {
    pub fn new(target: &'a Target, mut sink: Sink<'a>) -> Self {
        let is_openai = target.model.provider == "openai";
        sink.begin(Object::new().text("model", &target.model.id), "messages");
        if !target.system.is_empty() {
            let role = if is_openai { "developer" } else { "system" };
            let system = Object::new()
                .str("role", role)
                .text("content", &target.system);
            sink.lead(&system.finish());
        }
        Body {
            target,
            sink,
            is_openai,
            result_images: Vec::new(),
        }
    }

    fn release_images(&mut self) -> io::Result<()> {
        if self.result_images.is_empty() {
            return Ok(());
        }
        let lead = content::text_block(&Text::from("Attached image(s) from tool result:"));
        let content = array(std::iter::once(lead).chain(std::mem::take(&mut self.result_images)));
        self.sink.item(
            &Object::new()
                .str("role", "user")
                .json("content", &content)
                .finish(),
        )
    }

    fn call(&self, call: &Call) -> Vec<u8> {
        let object = Object::new().text("id", &call.id);
        if let Some(grammar) = self.target.grammars.get(&call.name) {
            let custom = Object::new()
                .text("name", &call.name)
                .text("input", &grammar.input_of(call.arguments));
            return object
                .str("type", "custom")
                .json("custom", &custom.finish())
                .finish();
        }
        let function = Object::new()
            .text("name", &call.name)
            .text("arguments", &arguments(call.arguments));
        object
            .str("type", "function")
            .json("function", &function.finish())
            .finish()
    }

    fn tool(&self, tool: &Tool) -> Vec<u8> {
        if let Some(grammar) = &tool.grammar {
            let format = Object::new()
                .str("type", "grammar")
                .json("grammar", &grammar.write(Object::new()).finish());
            let custom = tool.head(Object::new()).json("format", &format.finish());
            return Object::new()
                .str("type", "custom")
                .json("custom", &custom.finish())
                .finish();
        }
        let function = tool
            .head(Object::new())
            .json("parameters", &tool.parameters)
            .with(
                self.is_openai.then_some(tool.is_strict),
                |object, strict| object.bool("strict", strict),
            );
        Object::new()
            .str("type", "function")
            .json("function", &function.finish())
            .finish()
    }
}

/// Returns the JSON text of arguments.
pub fn arguments(arguments: Option<Raw>) -> Text<'static> {
    arguments.map_or(Text::from("{}"), js::stringify)
}

/// What is sent for a result without text.
pub const NO_OUTPUT: &str = "(no tool output)";

impl Writer for Body<'_> {
    fn user(&mut self, role: Role, content: Content) -> io::Result<()> {
        self.release_images()?;
        let content = match content {
            Content::Plain(text) => string::encoded(&text),
            Content::Parts(parts) => {
                let text = |text: &Text| (!text.is_empty()).then(|| content::text_block(text));
                let blocks = rendered(&parts, text, image_block);
                if blocks.is_empty() {
                    return Ok(());
                }
                array(blocks)
            }
        };
        let instructs = role == Role::Developer && self.is_openai;
        let role = if instructs { "developer" } else { "user" };
        self.sink.item(
            &Object::new()
                .str("role", role)
                .json("content", &content)
                .finish(),
        )
    }

    fn turn(&mut self, _: Source, blocks: Vec<Block>) -> io::Result<()> {
        self.release_images()?;
        let mut text = Text::default();
        let (mut calls, mut thinking) = (Vec::new(), Vec::new());
        let (mut details, mut older_details) = (None, Vec::new());
        for block in blocks {
            match block {
                Block::Text { text: part, .. } if !part.is_blank() => text.push(&part),
                Block::Text { .. } => {}
                Block::Call(call) => {
                    older_details.extend(call.signature.as_ref().and_then(encrypted_detail));
                    calls.push(self.call(&call));
                }
                Block::Thinking {
                    text, signature, ..
                } => {
                    details = details.or_else(|| reasoning_details(signature.as_ref()?));
                    thinking.extend((!text.is_blank()).then_some((text, signature)));
                }
            }
        }
        if text.is_empty() && calls.is_empty() {
            return Ok(());
        }
        let details = details.or((!older_details.is_empty()).then(|| array(older_details)));
        let field = thinking
            .first()
            .and_then(|(_, signature)| reasoning_field(signature.as_ref()?));
        let thoughts = thinking.iter().map(|(text, _)| text.borrowed());
        // DeepSeek requires reasoning in each assistant message.
        let needs = self.target.model.provider == "deepseek" && field != Some("reasoning_content");
        let whole = Object::new()
            .str("role", "assistant")
            .text_or_null("content", (!text.is_empty()).then_some(&text))
            .with(field.filter(|_| details.is_none()), |object, field| {
                object.text(field, &text::joined(thoughts, "\n"))
            })
            .list("tool_calls", &calls)
            .with(details, |object, details| {
                object.json("reasoning_details", &details)
            })
            .with(needs.then_some(""), |object, none| {
                object.str("reasoning_content", none)
            });
        self.sink.answer(&whole.finish())
    }

    fn result(&mut self, result: ToolResult) -> io::Result<()> {
        self.result_images
            .extend(images(&result.parts).map(image_block));
        let message = Object::new()
            .str("role", "tool")
            .text("content", &result_text(&result.parts, NO_OUTPUT));
        self.sink
            .item(&message.text("tool_call_id", result.id).finish())
    }

    fn finish(mut self: Box<Self>) -> io::Result<Option<bool>> {
        self.release_images()?;
        let tools: Vec<_> = self
            .target
            .tools
            .iter()
            .map(|tool| self.tool(tool))
            .collect();
        let is_older = OLDER_LIMIT
            .iter()
            .any(|provider| self.target.model.provider == *provider);
        let limit = if is_older {
            "max_tokens"
        } else {
            "max_completion_tokens"
        };
        let rest = Object::new()
            .with(self.target.max_tokens, |object, max| {
                object.json(limit, max.to_string().as_bytes())
            })
            .list("tools", &tools);
        self.sink.end(rest)
    }
}

fn image_block(image: &Image) -> Vec<u8> {
    let url = Object::new().text("url", &image.url()).finish();
    Object::new()
        .str("type", "image_url")
        .json("image_url", &url)
        .finish()
}

/// Returns the signature if it is the name of the message member that contained the reasoning.
fn reasoning_field(signature: &Text) -> Option<&'static str> {
    ["reasoning", "reasoning_content", "reasoning_text"]
        .into_iter()
        .find(|field| signature == field)
}

/// Returns a signature as a list of reasoning details, if it is one.
fn reasoning_details(signature: &Text) -> Option<Vec<u8>> {
    let parsed = Raw::parse(signature.as_bytes())
        .ok()
        .filter(|parsed| parsed.is_array())?;
    let mut details = parsed.items().peekable();
    details.peek()?;
    details
        .all(is_reasoning_detail)
        .then(|| js::stringify(parsed).into_bytes())
}

/// Returns the signature of a call as a reasoning detail, if it is one, as older versions of pi
/// stored it.
fn encrypted_detail(signature: &Text) -> Option<Vec<u8>> {
    let detail = Raw::parse(signature.as_bytes()).ok()?;
    let is_text = |key| detail.get_text(key).is_some_and(|text| !text.is_empty());
    let is_encrypted =
        content::is_block(detail, "reasoning.encrypted") && is_text("id") && is_text("data");
    is_encrypted.then(|| js::stringify(detail).into_bytes())
}

fn is_reasoning_detail(detail: Raw) -> bool {
    let is_text = |key| detail.get(key).is_some_and(Raw::is_string);
    match detail.get_text("type").unwrap_or_default().as_bytes() {
        b"reasoning.summary" => is_text("summary"),
        b"reasoning.encrypted" => is_text("data"),
        b"reasoning.text" => is_text("text"),
        _ => false,
    }
}
