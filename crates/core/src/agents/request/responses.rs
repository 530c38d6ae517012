//! Writes bodies for OpenAI's Responses API.

use super::RequestTarget;
use super::blocks::{
    Authorship, ContentPart, ImageData, ToolResult, TurnBlock, TurnCall, UserContent,
    build_message, images_in, join_texts, render_parts, result_text,
};
use super::ids::{MAX_ID_UNITS, short_hash};
use super::openai::{NO_OUTPUT, arguments_text};
use super::replay::BodyWriter;
use super::sink::{BodySink, LastMessage};
use super::tools::{Grammar, Tool};
use crate::session::content;
use crate::session::entry::Role;
use foldhash::HashSet;
use pisess_json::text::Text;
use pisess_json::write::{Object, array};
use pisess_json::{Raw, js};
use std::io;

/// A body in progress.
pub struct ResponsesWriter<'a> {
    target: &'a RequestTarget,
    sink: BodySink<'a>,
    /// The ids of those calls of the last turn whose tool has a grammar.
    custom_calls: HashSet<Text<'static>>,
    /// The ids of all items so far. Each id may occur only once.
    item_ids: HashSet<Vec<u8>>,
    /// The number of messages so far. New ids are made from it.
    message_count: usize,
}

/// The smallest limit for an answer, in tokens, that the API accepts.
const MIN_TOKENS: u64 = 16;

impl<'a> ResponsesWriter<'a> {
    /// Begins the body with the model and the list of items, of which the first is the system text.
    pub fn new(target: &'a RequestTarget, mut sink: BodySink<'a>) -> Self {
        sink.begin_list(Object::new().text("model", &target.model.id), "input");
        if !target.system.is_empty() {
            let system = Object::new()
                .str("role", "developer")
                .text("content", &target.system);
            sink.push_uncounted_item(&system.finish());
        }
        ResponsesWriter {
            target,
            sink,
            custom_calls: HashSet::default(),
            item_ids: HashSet::default(),
            message_count: 0,
        }
    }

    /// Reserves the id of an item, which may occur only once in a body. Returns `false` if an
    /// earlier item has it.
    fn reserve_id(&mut self, id: &[u8]) -> bool {
        self.item_ids.insert(id.to_vec())
    }

    /// Converts an assistant message to items of the body, and reserves their ids. The API requires
    /// an item of another kind after reasoning, so reasoning at the end of the message is left out.
    fn render_turn(&mut self, blocks: &[TurnBlock]) -> Vec<Vec<u8>> {
        let is_not_thinking = |block: &TurnBlock| !matches!(block, TurnBlock::Thinking { .. });
        let Some(last_sent) = blocks.iter().rposition(is_not_thinking) else {
            return Vec::new();
        };

        let mut items = Vec::new();
        let mut text_count = 0;
        for block in &blocks[..=last_sent] {
            match block {
                TurnBlock::Thinking { signature, .. } => {
                    if let Some(signature) = signature {
                        items.extend(self.render_reasoning(signature));
                    }
                }
                TurnBlock::Text { text, signature } => {
                    items.push(self.render_text(text, signature.as_ref(), text_count));
                    text_count += 1;
                }
                TurnBlock::Call(call) => items.push(self.render_call(call)),
            }
        }
        items
    }

    /// Returns the reasoning item that a signature of thinking contains, and reserves its id.
    /// `None` if the signature contains none, or an earlier item has the same id.
    fn render_reasoning(&mut self, signature: &Text) -> Option<Vec<u8>> {
        let item = Raw::parse(signature.as_bytes()).ok()?;
        if !content::is_block(item, "reasoning") {
            return None;
        }
        if let Some(id) = item.get_text("id") {
            let is_new = self.reserve_id(id.as_bytes());
            if !is_new {
                return None;
            }
        }
        Some(js::stringify(item).into_bytes())
    }

    /// Converts a text of the model to an item, and reserves the id of the item. The signature has
    /// the id and the phase with which the text was received. `text_index` is the index of the text
    /// among the texts of its message, for a new id.
    fn render_text(&mut self, text: &Text, signature: Option<&Text>, text_index: usize) -> Vec<u8> {
        let signature = signature.map(TextSignature::read).unwrap_or_default();
        let id = match signature.id {
            Some(stored_id) => self.reserve_text_id(&stored_id, text_index),
            None => self.reserve_new_text_id(text_index),
        };
        let part = Object::new()
            .str("type", "output_text")
            .text("text", text)
            .json("annotations", b"[]");
        let mut item = Object::new()
            .str("type", "message")
            .str("role", "assistant")
            .json("content", &array([part.finish()]))
            .str("status", "completed")
            .str("id", &id);
        if let Some(phase) = signature.phase {
            item = item.str("phase", phase);
        }
        item.finish()
    }

    /// Reserves an id for a text, and returns it: the id with which the text was received or, if
    /// that is too long for the API, a hash of it. If that is empty, or an earlier item has it, a
    /// new id is made.
    fn reserve_text_id(&mut self, stored_id: &Text, text_index: usize) -> String {
        let id = if stored_id.utf16_len() > MAX_ID_UNITS {
            format!("msg_{}", short_hash(stored_id))
        } else {
            stored_id.to_string()
        };
        if !id.is_empty() {
            let is_new = self.reserve_id(id.as_bytes());
            if is_new {
                return id;
            }
        }
        self.reserve_new_text_id(text_index)
    }

    /// Makes and reserves an id for a text: `msg_pi_3` for the first text of the fourth message,
    /// because messages are counted from 0, and `msg_pi_3_1` for its second text. If an earlier
    /// item has this id, a number is appended.
    fn reserve_new_text_id(&mut self, text_index: usize) -> String {
        let base = match text_index {
            0 => format!("msg_pi_{}", self.message_count),
            _ => format!("msg_pi_{}_{text_index}", self.message_count),
        };
        let mut id = base.clone();
        let mut suffix = 0;
        loop {
            let is_new = self.reserve_id(id.as_bytes());
            if is_new {
                return id;
            }
            suffix += 1;
            id = format!("{base}_{suffix}");
        }
    }

    /// Converts a call to an item: a call of a function or, if the tool has a grammar, of a custom
    /// tool.
    fn render_call(&mut self, call: &TurnCall) -> Vec<u8> {
        let target = self.target;
        let item = match target.grammars.get(&call.name) {
            Some(grammar) => self.render_custom_call(call, grammar),
            None => self.render_function_call(call),
        };
        match call.namespace {
            Some(namespace) if namespace.is_string() => item.raw("namespace", namespace),
            _ => item,
        }
        .finish()
    }

    /// Returns the item of a call of a custom tool, which has one text in place of arguments. Such
    /// an item has no id of its own. The caller can add further members.
    fn render_custom_call(&mut self, call: &TurnCall, grammar: &Grammar) -> Object {
        // The result of such a call has another type, too.
        self.custom_calls.insert(call.id.clone());
        Object::new()
            .str("type", "custom_tool_call")
            .text("call_id", &call.id)
            .text("name", &call.name)
            .text("input", &grammar.call_input(call.arguments))
    }

    /// Returns the item of a call of a function. The caller can add further members, such as the
    /// namespace of the tool.
    ///
    /// ```text
    /// {"type":"function_call","id":"fc_1","call_id":"call_1","name":"read","arguments":"{}"}
    /// ```
    ///
    /// The result refers to the call by `call_id`. The id of the item itself is optional.
    fn render_function_call(&mut self, call: &TurnCall) -> Object {
        let mut item = Object::new().str("type", "function_call");
        if let Some(item_id) = self.reserve_call_item_id(call) {
            item = item.text("id", item_id);
        }
        item.text("call_id", &call.id)
            .text("name", &call.name)
            .text("arguments", &arguments_text(call.arguments))
    }

    /// Reserves the id that the item of a call was received with, and returns it. `None` if the
    /// call has no such id, or if an earlier item has the same id: the id may occur only once in a
    /// body, and the item is valid without it.
    fn reserve_call_item_id<'c>(&mut self, call: &'c TurnCall) -> Option<&'c Text<'static>> {
        let item_id = call.item_id.as_ref()?;
        let is_new = self.reserve_id(item_id.as_bytes());
        if is_new { Some(item_id) } else { None }
    }
}

/// Returns the definition of a tool: a function or, if the tool has a grammar, a custom tool.
fn render_tool(tool: &Tool) -> Vec<u8> {
    if let Some(grammar) = &tool.grammar {
        let format = grammar.add_to(Object::new().str("type", "grammar"));
        return tool
            .add_description(Object::new().str("type", "custom"))
            .json("format", &format.finish())
            .finish();
    }
    tool.add_description(Object::new().str("type", "function"))
        .json("parameters", &tool.parameters)
        .bool("strict", tool.is_strict)
        .finish()
}

impl BodyWriter for ResponsesWriter<'_> {
    /// Writes a message of the user or of oh-my-pi, unless it has no parts.
    fn write_user(&mut self, _: Role, content: UserContent) -> io::Result<()> {
        let parts = content.into_parts();
        if parts.is_empty() {
            return Ok(());
        }
        let render_text = |text: &Text| Some(input_text(text));
        let items = render_parts(&parts, render_text, input_image);
        self.message_count += 1;
        self.sink.write_item(&build_message("user", &array(items)))
    }

    /// Writes an assistant message as several items, unless no item remains. Who wrote it does not
    /// matter here: the blocks only have signatures that the model accepts.
    fn write_turn(&mut self, _: Authorship, blocks: Vec<TurnBlock>) -> io::Result<()> {
        // Results come directly after their turn, so the calls of earlier turns have theirs.
        self.custom_calls.clear();
        let items = self.render_turn(&blocks);
        if items.is_empty() {
            return Ok(());
        }
        self.message_count += 1;
        for item in &items {
            self.sink.write_answer(item)?;
        }
        Ok(())
    }

    /// Writes the result of a call, in the type that matches the type of the call.
    fn write_result(&mut self, result: ToolResult) -> io::Result<()> {
        let is_custom = self.custom_calls.contains(result.id);
        let kind = if is_custom {
            "custom_tool_call_output"
        } else {
            "function_call_output"
        };
        // Results are messages, too: new ids are made from the number of all messages.
        self.message_count += 1;
        let item = Object::new().str("type", kind).text("call_id", result.id);
        let item = add_output(item, &result.parts);
        self.sink.write_item(&item.finish())
    }

    /// Writes what follows the list: that the response is not stored, the limit of the answer (at
    /// least [`MIN_TOKENS`]), and the tools.
    fn finish(self: Box<Self>) -> io::Result<Option<LastMessage>> {
        let mut trailing_members = Object::new().bool("store", false);
        if let Some(max_tokens) = self.target.max_tokens {
            let max_tokens = max_tokens.max(MIN_TOKENS).to_string();
            trailing_members = trailing_members.json("max_output_tokens", max_tokens.as_bytes());
        }
        let definitions: Vec<_> = self.target.tools.iter().map(render_tool).collect();
        self.sink
            .end_list(trailing_members.json_array("tools", &definitions))
    }
}

fn input_text(text: &Text) -> Vec<u8> {
    Object::new()
        .str("type", "input_text")
        .text("text", text)
        .finish()
}

fn input_image(image: &ImageData) -> Vec<u8> {
    Object::new()
        .str("type", "input_image")
        .str("detail", "auto")
        .text("image_url", &image.data_url())
        .finish()
}

/// Adds the output of a call to its item: a text or, if there are images, a list of the text and
/// the images. The API refuses a blank text: [`NO_OUTPUT`] replaces it, but in a list it is left
/// out.
fn add_output(item: Object, parts: &[ContentPart]) -> Object {
    if images_in(parts).next().is_none() {
        return item.text("output", &result_text(parts, NO_OUTPUT));
    }
    let mut items = Vec::new();
    let text = join_texts(parts);
    if !text.is_blank() {
        items.push(input_text(&text));
    }
    items.extend(images_in(parts).map(input_image));
    item.json("output", &array(items))
}

/// What the API recorded with a text.
#[derive(Default)]
struct TextSignature {
    /// The id with which the text was received.
    id: Option<Text<'static>>,
    /// Whether the text is a comment on the work, or the final answer.
    phase: Option<&'static str>,
}

impl TextSignature {
    /// Reads the signature that an agent stored with a text:
    /// `{"v":1,"id":"msg_1","phase":"commentary"}`, in which the phase may be missing, or only an
    /// id.
    fn read(signature: &Text) -> Self {
        const PHASES: [&str; 2] = ["commentary", "final_answer"];

        let parsed = Raw::parse(signature.as_bytes()).unwrap_or(Raw::NULL);
        let [version, id, phase] = content::find_members(parsed, ["v", "id", "phase"]);
        let is_version_1 = version.and_then(Raw::number) == Some(1.0);
        match id.and_then(Raw::text) {
            Some(id) if is_version_1 => TextSignature {
                id: Some(id.into_owned()),
                phase: phase.and_then(|phase| PHASES.into_iter().find(|name| phase.is(name))),
            },
            _ => TextSignature {
                id: Some(signature.clone().into_owned()),
                phase: None,
            },
        }
    }
}
