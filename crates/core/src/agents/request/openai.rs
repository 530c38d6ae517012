//! Writes bodies for OpenAI's Chat Completions API, which many providers offer.

use super::RequestTarget;
use super::blocks::{
    Authorship, ImageData, ToolResult, TurnBlock, TurnCall, UserContent, build_message, images_in,
    render_parts, result_text,
};
use super::replay::BodyWriter;
use super::sink::{BodySink, LastMessage};
use super::tools::Tool;
use crate::session::content;
use crate::session::entry::Role;
use pisess_json::text::{self, Text};
use pisess_json::write::{Object, array};
use pisess_json::{Raw, js, string};
use std::io;

/// A body in progress.
pub struct OpenAiWriter<'a> {
    target: &'a RequestTarget,
    sink: BodySink<'a>,
    /// Whether the provider is OpenAI itself, rather than one that offers its API.
    is_openai: bool,
    /// The images in the results of a turn. They are held back, because only a user message can
    /// contain them.
    result_images: Vec<Vec<u8>>,
}

/// The providers that expect the maximum output under the key `max_tokens`.
const MAX_TOKENS_PROVIDERS: [&str; 9] = [
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

impl<'a> OpenAiWriter<'a> {
    /// Begins the body with the model and the list of messages, of which the first is the system
    /// text. An example for fine-tuning names no model.
    pub fn new(target: &'a RequestTarget, mut sink: BodySink<'a>) -> Self {
        let is_openai = target.model.provider == "openai";
        let mut members = Object::new();
        if !target.is_example {
            members = members.text("model", &target.model.id);
        }
        sink.begin_list(members, "messages");
        if !target.system.is_empty() {
            // OpenAI itself has renamed the role. Other providers with this API may know only the
            // earlier name.
            let role = if is_openai { "developer" } else { "system" };
            let system = Object::new()
                .str("role", role)
                .text("content", &target.system);
            // A body with nothing but the system text is not written.
            sink.push_uncounted_item(&system.finish());
        }
        OpenAiWriter {
            target,
            sink,
            is_openai,
            result_images: Vec::new(),
        }
    }

    /// Writes the items that another writer has written for a batch. There may be none.
    pub fn write_items(&mut self, items: &[u8]) -> io::Result<()> {
        if items.is_empty() {
            return Ok(());
        }
        self.sink.write_item(items)
    }

    /// Writes the images that are held back as a user message, because a result can contain only
    /// text in this API.
    fn flush_images(&mut self) -> io::Result<()> {
        let images = std::mem::take(&mut self.result_images);
        if images.is_empty() {
            return Ok(());
        }
        let mut blocks = vec![content::text_block(&Text::from(
            "Attached image(s) from tool result:",
        ))];
        blocks.extend(images);
        self.sink.write_item(&build_message("user", &array(blocks)))
    }

    /// Converts a call to the form of the API: a call of a function with JSON arguments or, if the
    /// tool has a grammar, of a custom tool with one text.
    fn render_call(&self, call: &TurnCall) -> Vec<u8> {
        let object = Object::new().text("id", &call.id);
        if let Some(grammar) = self.target.grammars.get(&call.name) {
            let custom = Object::new()
                .text("name", &call.name)
                .text("input", &grammar.call_input(call.arguments));
            return object
                .str("type", "custom")
                .json("custom", &custom.finish())
                .finish();
        }
        let function = Object::new()
            .text("name", &call.name)
            .text("arguments", &arguments_text(call.arguments));
        object
            .str("type", "function")
            .json("function", &function.finish())
            .finish()
    }

    /// Returns the definition of a tool: of a function or, if the tool has a grammar, of a custom
    /// tool. Only OpenAI itself gets the member `strict`, which other providers may not know.
    fn render_tool(&self, tool: &Tool) -> Vec<u8> {
        if let Some(grammar) = &tool.grammar {
            let format = Object::new()
                .str("type", "grammar")
                .json("grammar", &grammar.add_to(Object::new()).finish());
            let custom = tool
                .add_description(Object::new())
                .json("format", &format.finish());
            return Object::new()
                .str("type", "custom")
                .json("custom", &custom.finish())
                .finish();
        }
        let mut function = tool
            .add_description(Object::new())
            .json("parameters", &tool.parameters);
        if self.is_openai {
            function = function.bool("strict", tool.is_strict);
        }
        Object::new()
            .str("type", "function")
            .json("function", &function.finish())
            .finish()
    }
}

/// Returns the arguments of a call as a string of JSON, as OpenAI's APIs expect them.
pub fn arguments_text(arguments: Option<Raw>) -> Text<'static> {
    arguments.map_or(Text::from("{}"), js::stringify)
}

/// The text that is sent for a result without text.
pub const NO_OUTPUT: &str = "(no tool output)";

impl BodyWriter for OpenAiWriter<'_> {
    /// Writes a user message, unless it has no parts. The role `developer` is sent only to OpenAI
    /// itself; other providers get such a message as one of the user.
    fn write_user(&mut self, role: Role, content: UserContent) -> io::Result<()> {
        self.flush_images()?;
        let json = match content {
            UserContent::Plain(text) => string::encode_to_vec(&text),
            // A file of examples is read as a table, in whose columns texts and lists cannot be
            // mixed.
            UserContent::Parts(parts)
                if self.target.is_example && images_in(&parts).next().is_none() =>
            {
                string::encode_to_vec(&result_text(&parts, ""))
            }
            UserContent::Parts(parts) => {
                let blocks = render_parts(&parts, text_block, image_block);
                if blocks.is_empty() {
                    return Ok(());
                }
                array(blocks)
            }
        };
        let is_instruction = role == Role::Developer && self.is_openai;
        let role = if is_instruction { "developer" } else { "user" };
        self.sink.write_item(&build_message(role, &json))
    }

    /// Writes an assistant message: its texts as one, its calls, and its reasoning in the form in
    /// which the provider sent it. A message without text and calls is left out.
    ///
    /// The texts are joined without a separator, as in the agents.
    fn write_turn(&mut self, _: Authorship, blocks: Vec<TurnBlock>) -> io::Result<()> {
        self.flush_images()?;

        let mut text = Text::default();
        let mut calls = Vec::new();
        let mut reasoning = Reasoning::default();
        for block in blocks {
            match block {
                TurnBlock::Text { text: part, .. } if part.is_blank() => {}
                TurnBlock::Text { text: part, .. } => text.push(&part),
                TurnBlock::Call(call) => {
                    // Older versions of pi stored a part of the reasoning there.
                    reasoning.read_call(call.signature.as_ref());
                    calls.push(self.render_call(&call));
                }
                TurnBlock::Thinking {
                    text: thought,
                    signature,
                    ..
                } => reasoning.read_thinking(thought, signature.as_ref()),
            }
        }
        if text.is_empty() && calls.is_empty() {
            return Ok(());
        }

        let content = if text.is_empty() { None } else { Some(&text) };
        let answer = Object::new()
            .str("role", "assistant")
            .text_or_null("content", content);
        // DeepSeek requires reasoning in each assistant message.
        let needs_reasoning = self.target.model.provider == "deepseek";
        let answer = reasoning.add_to_answer(answer, &calls, needs_reasoning);
        self.sink.write_answer(&answer.finish())
    }

    /// Writes a result. Its images follow in a user message after all results of the turn.
    fn write_result(&mut self, result: ToolResult) -> io::Result<()> {
        self.result_images
            .extend(images_in(&result.parts).map(image_block));
        let message = Object::new()
            .str("role", "tool")
            .text("content", &result_text(&result.parts, NO_OUTPUT))
            .text("tool_call_id", result.id);
        self.sink.write_item(&message.finish())
    }

    /// Writes the images that are held back, and ends the list. Then come the limit of the answer
    /// in tokens, under the key that the provider expects, and the tools.
    ///
    /// A request without tools has no member `tools`. In an example, it is an empty list then: a
    /// file of examples is read as a table, in which all rows need the same columns.
    fn finish(mut self: Box<Self>) -> io::Result<Option<LastMessage>> {
        self.flush_images()?;

        let mut trailing_members = Object::new();
        if let Some(max_tokens) = self.target.max_tokens {
            let provider = &self.target.model.provider;
            let takes_max_tokens = MAX_TOKENS_PROVIDERS.iter().any(|name| *provider == *name);
            let limit_key = if takes_max_tokens {
                "max_tokens"
            } else {
                "max_completion_tokens"
            };
            trailing_members = trailing_members.json(limit_key, max_tokens.to_string().as_bytes());
        }

        let tools = self.target.tools.iter();
        let definitions: Vec<_> = tools.map(|tool| self.render_tool(tool)).collect();
        trailing_members = if self.target.is_example {
            trailing_members.json("tools", &array(&definitions))
        } else {
            // `json_array` leaves out an empty list.
            trailing_members.json_array("tools", &definitions)
        };
        self.sink.end_list(trailing_members)
    }
}

/// The reasoning in an answer, collected from its blocks, in the forms in which providers accept it
/// again.
#[derive(Default)]
struct Reasoning<'a> {
    /// The thoughts, without blank ones.
    thoughts: Vec<Text<'a>>,
    /// The name of the member in which the provider sent the first thought, and in which it expects
    /// all of them. `None` if that is not known: then they are not sent.
    thoughts_member: Option<&'static str>,
    /// A list of reasoning details (JSON), from the signature of a thought.
    details: Option<Vec<u8>>,
    /// Single reasoning details (JSON), from the signatures of calls, where older versions of pi
    /// stored them.
    call_details: Vec<Vec<u8>>,
}

impl<'a> Reasoning<'a> {
    /// Collects a block of thinking. Its signature is a list of reasoning details, or the name of
    /// the member in which the provider sent the thought. Of an assistant message, the first such
    /// list counts, and the member of the first thought that is not blank.
    fn read_thinking(&mut self, thought: Text<'a>, signature: Option<&Text>) {
        if self.details.is_none() {
            self.details = signature.and_then(reasoning_details);
        }
        if thought.is_blank() {
            return;
        }
        if self.thoughts.is_empty() {
            self.thoughts_member = signature.and_then(reasoning_field);
        }
        self.thoughts.push(thought);
    }

    /// Reads the signature of a call, in which older versions of pi stored a reasoning detail.
    fn read_call(&mut self, signature: Option<&Text>) {
        self.call_details
            .extend(signature.and_then(encrypted_detail));
    }

    /// Adds the calls and the reasoning to an answer. The reasoning is sent in one form, the first
    /// of these that it has:
    ///
    /// 1. the list of details from a thought, as `reasoning_details`;
    /// 2. the details from calls, as `reasoning_details`;
    /// 3. the thoughts, in the member in which they were received. As in the agents, this member
    ///    comes before the calls.
    ///
    /// If the provider requires reasoning in each answer, an empty `reasoning_content` is added,
    /// unless the thoughts are in this member.
    fn add_to_answer(self, mut answer: Object, calls: &[Vec<u8>], needs_reasoning: bool) -> Object {
        let details = if self.details.is_some() {
            self.details
        } else if !self.call_details.is_empty() {
            Some(array(&self.call_details))
        } else {
            None
        };

        if details.is_none()
            && let Some(member) = self.thoughts_member
        {
            answer = answer.text(member, &text::join_with(self.thoughts, "\n"));
        }
        answer = answer.json_array("tool_calls", calls);
        if let Some(details) = details {
            answer = answer.json("reasoning_details", &details);
        }
        if needs_reasoning && self.thoughts_member != Some("reasoning_content") {
            answer = answer.str("reasoning_content", "");
        }
        answer
    }
}

/// Returns a text as a block, unless it is empty.
fn text_block(text: &Text) -> Option<Vec<u8>> {
    if text.is_empty() {
        return None;
    }
    Some(content::text_block(text))
}

fn image_block(image: &ImageData) -> Vec<u8> {
    let url = Object::new().text("url", &image.data_url()).finish();
    Object::new()
        .str("type", "image_url")
        .json("image_url", &url)
        .finish()
}

/// Returns the name of the message member in which reasoning was received, if the signature is such
/// a name.
fn reasoning_field(signature: &Text) -> Option<&'static str> {
    ["reasoning", "reasoning_content", "reasoning_text"]
        .into_iter()
        .find(|field| signature == field)
}

/// Returns a list of reasoning details, if the signature is one.
fn reasoning_details(signature: &Text) -> Option<Vec<u8>> {
    let details = Raw::parse(signature.as_bytes()).ok()?;
    let is_empty = details.items().next().is_none();
    if is_empty || !details.items().all(is_reasoning_detail) {
        return None;
    }
    Some(js::stringify(details).into_bytes())
}

/// Returns the reasoning detail that an older version of pi stored as the signature of a call;
/// `None` if the signature is something else.
fn encrypted_detail(signature: &Text) -> Option<Vec<u8>> {
    let detail = Raw::parse(signature.as_bytes()).ok()?;
    let has_text = |key| detail.get_text(key).is_some_and(|text| !text.is_empty());
    let is_encrypted = content::is_block(detail, "reasoning.encrypted");
    if !is_encrypted || !has_text("id") || !has_text("data") {
        return None;
    }
    Some(js::stringify(detail).into_bytes())
}

/// Whether a value is a reasoning detail of a known type, with the member that this type requires.
fn is_reasoning_detail(detail: Raw) -> bool {
    let kind = detail.get_text("type").unwrap_or_default();
    let key = match kind.as_bytes() {
        b"reasoning.summary" => "summary",
        b"reasoning.encrypted" => "data",
        b"reasoning.text" => "text",
        _ => return false,
    };
    detail.get(key).is_some_and(Raw::is_string)
}
