//! Bodies for Anthropic's Messages API.

use super::blocks::{
    Block, Call, Content, Image, Part, Source, ToolResult, images, joined, rendered,
};
use super::replay::Writer;
use super::sink::{NO_REQUEST, Sink};
use super::tools::Tool;
use super::{Target, schema};
use crate::session::content;
use crate::session::entry::Role;
use pisess_json::text::{Text, concat, trim_end};
use pisess_json::write::{Object, array};
use pisess_json::{Raw, string};
use std::io;
use std::mem::take;

/// A body in progress.
pub struct Body<'a> {
    target: &'a Target,
    sink: Sink<'a>,
    /// The tools of all calls, in order.
    called: Vec<Text<'static>>,
    /// The blocks of the message that is not yet complete: the model's answer, or the results of a
    /// turn.
    held: Vec<Vec<u8>>,
    /// Whether they are the model's answer.
    is_answer: bool,
    /// The images of results that are errors.
    error_images: Vec<Vec<u8>>,
    has_signed_thinking: bool,
}

/// Makes the API drop thinking whose signature is bound to another prefix of the conversation, where
/// it would refuse the request. pi sends it, too.
const DROP_BOUND_BLOCKS: &[u8] = br#"{"type":"adaptive","display":"summarized","block_binding":{"prefix_mismatch_behavior":"drop_block"}}"#;

/// Replaces an image in a result that is an error, because such a result can only contain text.
const IMAGE_FOLLOWS: &str = "(image attached after the tool results)";

impl<'a> Body<'a> {
    pub fn new(target: &'a Target, mut sink: Sink<'a>) -> Self {
        sink.begin(Object::new().text("model", &target.model.id), "messages");
        Body {
            target,
            sink,
            called: Vec::new(),
            held: Vec::new(),
            is_answer: false,
            error_images: Vec::new(),
            has_signed_thinking: false,
        }
    }

    /// Writes the message that is held. If an answer is the last message, it cannot end with white
    /// space.
    fn release(&mut self, is_last: bool) -> io::Result<()> {
        let (mut blocks, images) = (take(&mut self.held), take(&mut self.error_images));
        if blocks.is_empty() {
            return Ok(());
        }
        if !self.is_answer {
            return self
                .sink
                .item(&message("user", &array(blocks.iter().chain(&images))));
        }
        if let (true, Some(last)) = (is_last, blocks.last_mut())
            && content::is_block(Raw::checked(last), "text")
        {
            let text = Raw::checked(last).get_text("text").unwrap_or_default();
            *last = content::text_block(&Text::from_wtf8(trim_end(text.as_bytes())));
        }
        if !self.sink.has_items() {
            self.sink
                .item(&message("user", &string::encoded(&Text::from(NO_REQUEST))))?;
        }
        self.sink.answer(&message("assistant", &array(blocks)))
    }

    fn call(&mut self, call: Call) -> Vec<u8> {
        self.called.push(call.name.clone());
        Object::new()
            .str("type", "tool_use")
            .text("id", &call.id)
            .text("name", &call.name)
            .json("input", &call.input())
            .finish()
    }

    /// Returns the definitions of the tools. The API refuses calls if no tool is defined, so in
    /// that case the tools that were called are defined.
    fn tools(&self) -> Vec<Vec<u8>> {
        let is_own = self.target.model.provider == "anthropic";
        let mut names = foldhash::HashSet::default();
        let called = self
            .called
            .iter()
            .filter(|name| names.insert(*name))
            .cloned()
            .map(Tool::named);
        if self.target.tools.is_empty() {
            called.map(|tool| definition(&tool, false)).collect()
        } else {
            self.target
                .tools
                .iter()
                .map(|tool| definition(tool, is_own))
                .collect()
        }
    }
}

impl Writer for Body<'_> {
    fn user(&mut self, _: Role, content: Content) -> io::Result<()> {
        self.release(false)?;
        match content {
            Content::Plain(text) if text.is_blank() => Ok(()),
            Content::Plain(text) => self.sink.item(&message("user", &string::encoded(&text))),
            Content::Parts(parts) => {
                let blocks = rendered(&parts, text_block, image);
                if blocks.is_empty() {
                    Ok(())
                } else {
                    self.sink.item(&message("user", &array(blocks)))
                }
            }
        }
    }

    fn turn(&mut self, _: Source, said: Vec<Block>) -> io::Result<()> {
        self.release(false)?;
        let mut blocks = Vec::new();
        for block in said {
            blocks.extend(match block {
                Block::Text { text, .. } => text_block(&text),
                Block::Thinking {
                    text,
                    signature,
                    redacted,
                } => thinking(&text, signature, redacted),
                Block::Call(call) => Some(self.call(call)),
            });
        }
        // An answer cannot end with thinking.
        while blocks
            .pop_if(|block| is_thinking(Raw::checked(block)))
            .is_some()
        {}
        self.has_signed_thinking |= blocks.iter().any(|block| is_thinking(Raw::checked(block)));
        (self.held, self.is_answer) = (blocks, true);
        Ok(())
    }

    fn result(&mut self, result: ToolResult) -> io::Result<()> {
        if self.is_answer {
            self.release(false)?;
            self.is_answer = false;
        }
        let is_error = result.is_error == Some(true);
        let parts = if is_error {
            without_images(&result.parts)
        } else {
            result.parts.clone()
        };
        if is_error && images(&result.parts).next().is_some() {
            let lead = "Images from the error result of tool call ";
            let lead = concat(&[&lead, result.id, &" (", &result.name, &"):"]);
            self.error_images.push(content::text_block(&lead));
            self.error_images.extend(images(&result.parts).map(image));
        }
        let json = Object::new()
            .str("type", "tool_result")
            .text("tool_use_id", result.id)
            .json("content", &result_content(&parts))
            .with(result.is_error, |object, is_error| {
                object.bool("is_error", is_error)
            });
        self.held.push(json.finish());
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> io::Result<Option<bool>> {
        self.release(true)?;
        let tools = self.tools();
        let system =
            (!self.target.system.is_empty()).then(|| content::text_content(&self.target.system));
        let binds_blocks = has_bound_blocks(&self.target.model.id) && self.has_signed_thinking;
        let rest = Object::new()
            .with(self.target.max_tokens, |object, max| {
                object.json("max_tokens", max.to_string().as_bytes())
            })
            .with(system, |object, system| object.json("system", &system))
            .list("tools", &tools);
        let rest = if binds_blocks {
            rest.json("thinking", DROP_BOUND_BLOCKS)
        } else {
            rest
        };
        self.sink.end(rest)
    }
}

/// Whether a model binds its thinking to what precedes it: Opus from 5, Fable from 5.1, Haiku and
/// Sonnet from 5.5.
fn has_bound_blocks(id: &Text) -> bool {
    let id = id.to_string_lossy();
    let name = id.rsplit('/').next().unwrap_or_default();
    let Some((family, version)) = name
        .strip_prefix("claude-")
        .and_then(|rest| rest.split_once('-'))
    else {
        return false;
    };
    // Whatever follows the version, such as a date, is longer than its numbers.
    let mut numbers = [0; 2];
    for (number, part) in numbers.iter_mut().zip(version.split(['-', '.'])) {
        match part.parse() {
            Ok(parsed) if part.len() <= 2 => *number = parsed,
            _ => break,
        }
    }
    let first_with_bound_blocks = match family {
        "opus" => [5, 0],
        "fable" => [5, 1],
        "haiku" | "sonnet" => [5, 5],
        _ => return false,
    };
    numbers >= first_with_bound_blocks
}

fn message(role: &str, content: &[u8]) -> Vec<u8> {
    Object::new()
        .str("role", role)
        .json("content", content)
        .finish()
}

/// Returns thinking, as text if it has no signature; `None` if it has no text either.
fn thinking(text: &Text, signature: Option<Text>, redacted: bool) -> Option<Vec<u8>> {
    let Some(signature) = signature.filter(|signature| !signature.is_blank()) else {
        return text_block(text);
    };
    let block = if redacted {
        Object::new()
            .str("type", "redacted_thinking")
            .text("data", &signature)
    } else {
        Object::new()
            .str("type", "thinking")
            .text("thinking", text)
            .text("signature", &signature)
    };
    Some(block.finish())
}

fn is_thinking(block: Raw) -> bool {
    content::is_block(block, "thinking") || content::is_block(block, "redacted_thinking")
}

/// Returns a text as a block, unless it is blank, which the API refuses.
fn text_block(text: &Text) -> Option<Vec<u8>> {
    (!text.is_blank()).then(|| content::text_block(text))
}

fn image(image: &Image) -> Vec<u8> {
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

/// Returns the parts of a result with each run of images replaced by one text.
fn without_images<'a>(parts: &[Part<'a>]) -> Vec<Part<'a>> {
    let mut out: Vec<Part> = Vec::new();
    for part in parts {
        match part {
            Part::Text(_) => out.push(part.clone()),
            Part::Image(_) if matches!(out.last(), Some(Part::Text(text)) if *text == IMAGE_FOLLOWS) =>
                {}
            Part::Image(_) => out.push(Part::Text(Text::from(IMAGE_FOLLOWS))),
        }
    }
    out
}

fn result_content(parts: &[Part]) -> Vec<u8> {
    if images(parts).next().is_none() {
        return string::encoded(&joined(parts));
    }
    let mut blocks = rendered(parts, text_block, image);
    if blocks.len() == images(parts).count() {
        blocks.insert(0, content::text_block(&Text::from("(see attached image)")));
    }
    array(blocks)
}

fn definition(tool: &Tool, is_eager: bool) -> Vec<u8> {
    tool.head(Object::new())
        .with(is_eager.then_some(true), |object, eager| {
            object.bool("eager_input_streaming", eager)
        })
        .with(tool.is_strict.then_some(true), |object, strict| {
            object.bool("strict", strict)
        })
        .json(
            "input_schema",
            &schema::input_schema(&tool.parameters, tool.is_strict),
        )
        .finish()
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
            assert!(has_bound_blocks(&Text::from(id)), "{id}");
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
            assert!(!has_bound_blocks(&Text::from(id)), "{id}");
        }
    }
}
