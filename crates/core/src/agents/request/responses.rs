//! Bodies for OpenAI's Responses API.

use super::Target;
use super::blocks::{
    Block, Call, Content, Image, Part, Source, ToolResult, images, joined, rendered, result_text,
};
use super::ids::short_hash;
use super::openai::{NO_OUTPUT, arguments};
use super::replay::Writer;
use super::sink::Sink;
use super::tools::Tool;
use crate::session::content;
use crate::session::entry::Role;
use foldhash::HashSet;
use pisess_json::text::Text;
use pisess_json::write::{Object, array};
use pisess_json::{Raw, js};
use std::io;

/// A body in progress.
pub struct Body<'a> {
    target: &'a Target,
    sink: Sink<'a>,
    /// The calls of the last turn whose tool has a grammar, by their ids.
    custom_calls: HashSet<Text<'static>>,
    /// The ids of items used so far; each can occur only once.
    items: HashSet<Vec<u8>>,
    /// The number of messages so far, from which ids are made.
    messages: usize,
}

/// The smallest number of tokens that the API accepts for an answer.
const MIN_TOKENS: u64 = 16;

impl<'a> Body<'a> {
    pub fn new(target: &'a Target, mut sink: Sink<'a>) -> Self {
        sink.begin(Object::new().text("model", &target.model.id), "input");
        if !target.system.is_empty() {
            sink.lead(
                &Object::new()
                    .str("role", "developer")
                    .text("content", &target.system)
                    .finish(),
            );
        }
        Body {
            target,
            sink,
            custom_calls: HashSet::default(),
            items: HashSet::default(),
            messages: 0,
        }
    }

    /// Returns the items of an assistant message. The API requires an item of another kind after
    /// reasoning; reasoning without one is left out.
    fn items(&mut self, blocks: &[Block]) -> Vec<Vec<u8>> {
        let mut items = Vec::new();
        let mut reasoning = Vec::new();
        let mut texts = 0;
        for block in blocks {
            match block {
                Block::Thinking { signature, .. } => {
                    reasoning.extend(
                        signature
                            .as_ref()
                            .and_then(|signature| self.reasoning(signature)),
                    );
                }
                Block::Text { text, signature } => {
                    items.append(&mut reasoning);
                    items.push(self.text(text, signature.as_ref(), texts));
                    texts += 1;
                }
                Block::Call(call) => {
                    items.append(&mut reasoning);
                    items.push(self.call(call));
                }
            }
        }
        items
    }

    /// Returns a signature as a reasoning item, if it is one that was not sent before.
    fn reasoning(&mut self, signature: &Text) -> Option<Vec<u8>> {
        let item = Raw::parse(signature.as_bytes())
            .ok()
            .filter(|item| content::is_block(*item, "reasoning"))?;
        let is_new = item
            .get_text("id")
            .is_none_or(|id| self.items.insert(id.into_bytes()));
        is_new.then(|| js::stringify(item).into_bytes())
    }

    fn text(&mut self, text: &Text, signature: Option<&Text>, number: usize) -> Vec<u8> {
        let (id, phase) = signature.map_or((None, None), text_signature);
        let own = id
            .map(|id| {
                if id.utf16_len() > 64 {
                    format!("msg_{}", short_hash(&id))
                } else {
                    id.to_string()
                }
            })
            .filter(|id| !id.is_empty() && self.items.insert(id.as_bytes().to_vec()));
        let id = own.unwrap_or_else(|| self.message_id(number));
        let part = Object::new()
            .str("type", "output_text")
            .text("text", text)
            .json("annotations", b"[]");
        Object::new()
            .str("type", "message")
            .str("role", "assistant")
            .json("content", &array([part.finish()]))
            .str("status", "completed")
            .str("id", &id)
            .with(phase, |object, phase| object.str("phase", phase))
            .finish()
    }

    /// Returns an id for the text block with this number in its message.
    fn message_id(&mut self, number: usize) -> String {
        let base = match number {
            0 => format!("msg_pi_{}", self.messages),
            _ => format!("msg_pi_{}_{number}", self.messages),
        };
        let numbered = std::iter::once(base.clone()).chain((1..).map(|n| format!("{base}_{n}")));
        let unused = numbered
            .into_iter()
            .find(|id| self.items.insert(id.as_bytes().to_vec()));
        unused.unwrap_or(base)
    }

    fn call(&mut self, call: &Call) -> Vec<u8> {
        let grammar = self.target.grammars.get(&call.name);
        let own = call.item.as_ref().filter(|_| grammar.is_none());
        let item = own.filter(|item| self.items.insert(item.as_bytes().to_vec()));
        let kind = if grammar.is_some() {
            "custom_tool_call"
        } else {
            "function_call"
        };
        let object = Object::new()
            .str("type", kind)
            .with(item, |object, id| object.text("id", id))
            .text("call_id", &call.id)
            .text("name", &call.name);
        let object = match grammar {
            Some(grammar) => {
                self.custom_calls.insert(call.id.clone());
                object.text("input", &grammar.input_of(call.arguments))
            }
            None => object.text("arguments", &arguments(call.arguments)),
        };
        let namespace = call.namespace.filter(|namespace| namespace.is_string());
        object
            .with(namespace, |object, namespace| {
                object.raw("namespace", namespace)
            })
            .finish()
    }

    fn tool(tool: &Tool) -> Vec<u8> {
        if let Some(grammar) = &tool.grammar {
            let format = grammar.write(Object::new().str("type", "grammar")).finish();
            return tool
                .head(Object::new().str("type", "custom"))
                .json("format", &format)
                .finish();
        }
        tool.head(Object::new().str("type", "function"))
            .json("parameters", &tool.parameters)
            .bool("strict", tool.is_strict)
            .finish()
    }
}

impl Writer for Body<'_> {
    fn user(&mut self, _: Role, content: Content) -> io::Result<()> {
        let parts = content.into_parts();
        if parts.is_empty() {
            return Ok(());
        }
        let content = array(rendered(&parts, |text| Some(input_text(text)), input_image));
        self.messages += 1;
        self.sink.item(
            &Object::new()
                .str("role", "user")
                .json("content", &content)
                .finish(),
        )
    }

    fn turn(&mut self, _: Source, blocks: Vec<Block>) -> io::Result<()> {
        self.custom_calls.clear();
        let items = self.items(&blocks);
        if items.is_empty() {
            return Ok(());
        }
        self.messages += 1;
        items.iter().try_for_each(|item| self.sink.answer(item))
    }

    fn result(&mut self, result: ToolResult) -> io::Result<()> {
        let is_custom = self.custom_calls.contains(result.id);
        let kind = if is_custom {
            "custom_tool_call_output"
        } else {
            "function_call_output"
        };
        self.messages += 1;
        let item = Object::new().str("type", kind).text("call_id", result.id);
        self.sink.item(&output(item, &result.parts).finish())
    }

    fn finish(self: Box<Self>) -> io::Result<Option<bool>> {
        let tools: Vec<_> = self.target.tools.iter().map(Body::tool).collect();
        let max = self
            .target
            .max_tokens
            .map(|max| max.max(MIN_TOKENS).to_string());
        let rest = Object::new()
            .bool("store", false)
            .with(max, |object, max| {
                object.json("max_output_tokens", max.as_bytes())
            })
            .list("tools", &tools);
        self.sink.end(rest)
    }
}

fn input_text(text: &Text) -> Vec<u8> {
    Object::new()
        .str("type", "input_text")
        .text("text", text)
        .finish()
}

fn input_image(image: &Image) -> Vec<u8> {
    Object::new()
        .str("type", "input_image")
        .str("detail", "auto")
        .text("image_url", &image.url())
        .finish()
}

/// Adds the output of a call: text, or a list if there are images.
fn output(item: Object, parts: &[Part]) -> Object {
    if images(parts).next().is_none() {
        return item.text("output", &result_text(parts, NO_OUTPUT));
    }
    let text = Some(joined(parts)).filter(|text| !text.is_blank());
    item.json(
        "output",
        &array(
            text.iter()
                .map(input_text)
                .chain(images(parts).map(input_image)),
        ),
    )
}

/// Returns the id and the phase in the signature of a text.
fn text_signature(signature: &Text) -> (Option<Text<'static>>, Option<&'static str>) {
    let parsed = Raw::parse(signature.as_bytes()).unwrap_or(Raw::NULL);
    let [version, id, phase] = content::members(parsed, ["v", "id", "phase"]);
    let is_known = version.and_then(Raw::number) == Some(1.0);
    let Some(id) = id.and_then(Raw::text).filter(|_| is_known) else {
        return (Some(signature.clone().into_owned()), None);
    };
    let phases = ["commentary", "final_answer"];
    let phase = phases
        .into_iter()
        .find(|known| phase.is_some_and(|phase| phase.is(known)));
    (Some(id.into_owned()), phase)
}
