//! Bodies for Anthropic's Messages API.

use super::blocks::{Block, Call, Content, Image, Part, Source, ToolResult, images, joined};
use super::replay::{Role, Writer};
use super::sink::Sink;
use super::survey::Survey;
use super::tools::Tool;
use super::{Api, Target, schema};
use crate::session::content;
use pisess_json::text::{Text, concat, trim_end};
use pisess_json::write::{Object, array};
use pisess_json::{js, string};
use std::io;

/// A body in progress.
pub struct Body<'a> {
    target: &'a Target,
    survey: &'a Survey,
    sink: Sink<'a>,
    /// The tools of all calls, in order.
    called: Vec<Text<'static>>,
    held: Held,
}

/// The message that is not yet complete.
#[derive(Default)]
enum Held {
    #[default]
    Nothing,
    /// The blocks of an assistant message.
    Turn(Vec<TurnBlock>),
    /// The results of a turn, and the images of those that are errors.
    Results { results: Vec<Vec<u8>>, error_images: Vec<Vec<u8>> },
}

enum TurnBlock {
    Text(Text<'static>),
    Thinking(Vec<u8>),
    Call(Vec<u8>),
}

/// The user message to insert if the first message is the assistant's, which the API refuses.
const NO_REQUEST: &str = "(no earlier message)";
/// Replaces an image in a result that is an error, because such a result can only contain text.
const IMAGE_FOLLOWS: &str = "(image attached after the tool results)";

impl<'a> Body<'a> {
    pub fn new(target: &'a Target, survey: &'a Survey, mut sink: Sink<'a>) -> Self {
        sink.begin(Object::new().text("model", &target.model.id), "messages");
        Body { target, survey, sink, called: Vec::new(), held: Held::Nothing }
    }

    fn message(&mut self, role: &str, content: &[u8]) -> io::Result<()> {
        if role == "assistant" && !self.sink.has_items() {
            self.sink.item(&message("user", &string::encoded(&Text::from(NO_REQUEST))))?;
        }
        self.sink.item(&message(role, content))
    }

    fn release(&mut self, is_last: bool) -> io::Result<bool> {
        match std::mem::take(&mut self.held) {
            Held::Nothing => Ok(false),
            Held::Turn(blocks) => {
                let blocks = finished(blocks, is_last);
                if blocks.is_empty() {
                    return Ok(false);
                }
                self.message("assistant", &array(blocks)).map(|()| true)
            }
            Held::Results { results, error_images } => {
                self.message("user", &array(results.iter().chain(&error_images))).map(|()| false)
            }
        }
    }

    fn call(&mut self, call: Call) -> Vec<u8> {
        self.called.push(call.name.clone());
        let input = call.arguments.filter(|arguments| arguments.is_object());
        let input = input.map_or(b"{}".to_vec(), |input| js::stringify(input).into_bytes());
        Object::new()
            .str("type", "tool_use")
            .text("id", &call.id)
            .text("name", &call.name)
            .json("input", &input)
            .finish()
    }

    /// Returns the definitions of the tools. The API refuses calls if no tool is defined, so in that case the
    /// tools that were called are defined.
    fn tools(&self) -> Vec<Vec<u8>> {
        let is_own = self.target.model.provider == "anthropic";
        let mut names = foldhash::HashSet::default();
        let called = self.called.iter().filter(|name| names.insert(*name)).cloned().map(Tool::named);
        if self.survey.tools.is_empty() {
            called.map(|tool| definition(&tool, false)).collect()
        } else {
            self.survey.tools.iter().map(|tool| definition(tool, is_own)).collect()
        }
    }
}

impl Writer for Body<'_> {
    fn user(&mut self, _: Role, content: Content) -> io::Result<()> {
        self.release(false)?;
        match content {
            Content::Plain(text) if text.is_blank() => Ok(()),
            Content::Plain(text) => self.message("user", &string::encoded(&text)),
            Content::Parts(parts) => {
                let blocks = blocks(&parts);
                if blocks.is_empty() { Ok(()) } else { self.message("user", &array(blocks)) }
            }
        }
    }

    fn turn(&mut self, _: Source, said: Vec<Block>) -> io::Result<()> {
        self.release(false)?;
        let mut blocks = Vec::new();
        for block in said {
            blocks.extend(match block {
                Block::Text { text, .. } => (!text.is_blank()).then(|| TurnBlock::Text(text.into_owned())),
                Block::Thinking { text, signature, redacted } => thinking(&text, signature, redacted),
                Block::Call(call) => Some(TurnBlock::Call(self.call(call))),
            });
        }
        self.held = Held::Turn(blocks);
        Ok(())
    }

    fn result(&mut self, result: ToolResult) -> io::Result<()> {
        if !matches!(self.held, Held::Results { .. }) {
            self.release(false)?;
            self.held = Held::Results { results: Vec::new(), error_images: Vec::new() };
        }
        let Held::Results { results, error_images } = &mut self.held else { return Ok(()) };
        let is_error = result.is_error == Some(true);
        let parts = if is_error { without_images(&result.parts) } else { result.parts.clone() };
        if is_error && images(&result.parts).next().is_some() {
            let lead = "Images from the error result of tool call ";
            let lead = concat(&[&lead, result.id, &" (", &result.name, &"):"]);
            error_images.push(content::text_block(&lead));
            error_images.extend(images(&result.parts).map(image));
        }
        let json = Object::new()
            .str("type", "tool_result")
            .text("tool_use_id", result.id)
            .json("content", &result_content(&parts))
            .with(result.is_error, |object, is_error| object.bool("is_error", is_error));
        results.push(json.finish());
        Ok(())
    }

    fn finish(mut self) -> io::Result<Option<bool>> {
        let ends_with_answer = self.release(true)?;
        let tools = self.tools();
        let system = (!self.survey.system.is_empty()).then(|| content::text_content(&self.survey.system));
        let rest = Object::new()
            .with(self.target.max_tokens, |object, max| object.json("max_tokens", max.to_string().as_bytes()))
            .with(system, |object, system| object.json("system", &system))
            .list("tools", &tools);
        self.sink.end(rest, ends_with_answer)
    }
}

fn message(role: &str, content: &[u8]) -> Vec<u8> {
    Object::new().str("role", role).json("content", content).finish()
}

/// Returns thinking, as text if it has no signature; `None` if it has no text either.
fn thinking(text: &Text, signature: Option<Text>, redacted: bool) -> Option<TurnBlock> {
    match signature.filter(|signature| !signature.is_blank()) {
        Some(data) if redacted => {
            let block = Object::new().str("type", "redacted_thinking").text("data", &data);
            Some(TurnBlock::Thinking(block.finish()))
        }
        Some(signature) => {
            let block = Object::new().str("type", "thinking").text("thinking", text);
            Some(TurnBlock::Thinking(block.text("signature", &signature).finish()))
        }
        None => (!text.is_blank()).then(|| TurnBlock::Text(text.borrowed().into_owned())),
    }
}

/// Returns the blocks of an assistant message. It cannot end with thinking, and if it is the body's last
/// message, not with white space.
fn finished(mut blocks: Vec<TurnBlock>, is_last: bool) -> Vec<Vec<u8>> {
    while blocks.pop_if(|block| matches!(block, TurnBlock::Thinking(_))).is_some() {}
    if let (true, Some(TurnBlock::Text(text))) = (is_last, blocks.last_mut()) {
        *text = Text::from_wtf8(trim_end(text.as_bytes()).to_vec());
    }
    let json = |block| match block {
        TurnBlock::Text(text) => content::text_block(&text),
        TurnBlock::Thinking(json) | TurnBlock::Call(json) => json,
    };
    blocks.into_iter().map(json).collect()
}

fn blocks(parts: &[Part]) -> Vec<Vec<u8>> {
    let block = |part: &Part| match part {
        Part::Text(text) => (!text.is_blank()).then(|| content::text_block(text)),
        Part::Image(part) => Some(image(part)),
    };
    parts.iter().filter_map(block).collect()
}

fn image(image: &Image) -> Vec<u8> {
    let source = Object::new()
        .str("type", "base64")
        .text("media_type", &image.media_type)
        .text("data", &image.data)
        .finish();
    Object::new().str("type", "image").json("source", &source).finish()
}

/// Returns the parts of a result with each run of images replaced by one text.
fn without_images<'a>(parts: &[Part<'a>]) -> Vec<Part<'a>> {
    let mut out: Vec<Part> = Vec::new();
    for part in parts {
        match part {
            Part::Text(_) => out.push(part.clone()),
            Part::Image(_) if matches!(out.last(), Some(Part::Text(text)) if *text == IMAGE_FOLLOWS) => {}
            Part::Image(_) => out.push(Part::Text(Text::from(IMAGE_FOLLOWS))),
        }
    }
    out
}

fn result_content(parts: &[Part]) -> Vec<u8> {
    if images(parts).next().is_none() {
        return string::encoded(&joined(parts));
    }
    let mut blocks = blocks(parts);
    if blocks.len() == images(parts).count() {
        blocks.insert(0, content::text_block(&Text::from("(see attached image)")));
    }
    array(blocks)
}

fn definition(tool: &Tool, is_own: bool) -> Vec<u8> {
    let strict = if is_own { tool.strict_parameters(Api::Anthropic) } else { None };
    let schema = schema::input_schema(strict.as_deref().unwrap_or(tool.parameters()), strict.is_some());
    tool.head(Object::new())
        .with(is_own.then_some(true), |object, eager| object.bool("eager_input_streaming", eager))
        .with(strict.is_some().then_some(true), |object, strict| object.bool("strict", strict))
        .json("input_schema", &schema)
        .finish()
}
