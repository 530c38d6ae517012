//! Messages of Gemini CLI, and what they become.

use crate::parts::{
    add_thinking, image_block, non_empty_text, parse_time_ms, thinking_block, unconverted_members,
    usage_json,
};
use foldhash::HashSet;
use foldhash::fast::FixedState;
use pisess_core::session::content::{find_members, finite_or_zero, text_block};
use pisess_core::session::usage::Usage;
use pisess_json::Raw;
use pisess_json::edit::with_member;
use pisess_json::string::encode_to_vec;
use pisess_json::text::{Text, join_with};
use pisess_json::write::{Object, array};
use std::hash::BuildHasher;

/// The provider and the API, as pi names them.
const PROVIDER: &str = "google";
const API: &str = "google-generative-ai";

/// The prefix of the message in which Gemini CLI describes the project to the model.
const CONTEXT_START: &str = "<session_context>";

/// The prefix of a message that a hook adds for the model.
const HOOK_START: &str = "<hook_context>";

/// The members of a response that have a counterpart.
const RESPONSE_KEYS: [&str; 7] = [
    "timestamp",
    "type",
    "content",
    "thoughts",
    "tokens",
    "model",
    "toolCalls",
];

/// The members of a call that have a counterpart in the call or in its result.
const CALL_KEYS: [&str; 5] = ["id", "name", "args", "result", "timestamp"];

/// A part of a message.
pub enum Part<'a> {
    Text {
        text: Text<'a>,
        signature: Option<Text<'a>>,
    },
    Thought {
        text: Text<'a>,
        signature: Option<Text<'a>>,
    },
    Call(Raw<'a>),
    Result(Raw<'a>),
    /// An image, as a block of pi.
    Image(Vec<u8>),
    /// A part without a counterpart.
    Other,
}

/// Returns the parts of content, which is a string, a part, or a list of strings and parts.
pub fn read_parts(content: Raw<'_>) -> Vec<Part<'_>> {
    if content.is_array() {
        return content.items().map(read_part).collect();
    }
    let is_empty = content.is_null() || content.is("");
    if is_empty {
        return Vec::new();
    }
    vec![read_part(content)]
}

/// Reads a part of content, which is a string or an object. The members of the object show its
/// kind:
///
/// ```text
/// {"text":"…"}                     a text, or with `"thought":true` a thought
/// {"functionCall":{…}}             a call
/// {"functionResponse":{…}}         the result of a call
/// {"inlineData":{…}}               an image, or another file
/// ```
fn read_part(part: Raw<'_>) -> Part<'_> {
    if let Some(text) = part.text() {
        return Part::Text {
            text,
            signature: None,
        };
    }
    let names = [
        "text",
        "thought",
        "functionCall",
        "functionResponse",
        "inlineData",
        "thoughtSignature",
    ];
    let [text, thought, call, result, media, signature] = find_members(part, names);
    if let Some(text) = text.and_then(Raw::text) {
        let signature = signature.and_then(Raw::text);
        let is_thought = thought.and_then(Raw::bool) == Some(true);
        return if is_thought {
            Part::Thought { text, signature }
        } else {
            Part::Text { text, signature }
        };
    }
    if call.is_some_and(Raw::is_object) {
        // The whole part, because the signature of the call is beside the call.
        return Part::Call(part);
    }
    if let Some(result) = result.filter(|result| result.is_object()) {
        return Part::Result(result);
    }
    match media.and_then(convert_image) {
        Some(image) => Part::Image(image),
        None => Part::Other,
    }
}

/// Converts media to an image block; `None` if they are not an image.
fn convert_image(media: Raw) -> Option<Vec<u8>> {
    let mime = non_empty_text(media, "mimeType")?;
    if !mime.to_string_lossy().starts_with("image/") {
        return None;
    }
    image_block(media.get_text("data"), Some(mime))
}

/// Whether a text is the description of the project for the model.
pub fn is_session_context(text: &Text) -> bool {
    text.as_bytes().starts_with(CONTEXT_START.as_bytes())
}

/// What a message of the type `user` is.
pub enum UserMessage {
    /// The user wrote it.
    Prompt,
    /// The description of the project.
    SessionContext,
    /// What a hook adds.
    HookContext,
    /// It has nothing but results of calls.
    Results,
    /// It has no content.
    Empty,
}

impl UserMessage {
    /// Returns what a message with these parts is. Context is recognized by its first text:
    /// `<session_context>…` or `<hook_context>…`.
    pub fn of_parts(parts: &[Part]) -> UserMessage {
        let Some(first) = parts.first() else {
            return UserMessage::Empty;
        };
        if let Part::Text { text, .. } = first {
            if is_session_context(text) {
                return UserMessage::SessionContext;
            }
            if text.as_bytes().starts_with(HOOK_START.as_bytes()) {
                return UserMessage::HookContext;
            }
        }
        // Beside results, a prompt may have an image that a tool has read.
        let has_only_results = parts.iter().all(|part| matches!(part, Part::Result(_)));
        if has_only_results {
            UserMessage::Results
        } else {
            UserMessage::Prompt
        }
    }
}

/// Returns the content of a message of the user as blocks of pi, without results of calls.
pub fn user_blocks(parts: &[Part]) -> Vec<Vec<u8>> {
    let mut blocks = Vec::new();
    for part in parts {
        match part {
            Part::Text { text, .. } | Part::Thought { text, .. } => blocks.push(text_block(text)),
            Part::Image(image) => blocks.push(image.clone()),
            Part::Call(_) | Part::Result(_) | Part::Other => {}
        }
    }
    blocks
}

/// Whether all parts of content have a counterpart.
pub fn is_converted_whole(parts: &[Part]) -> bool {
    !parts.iter().any(|part| matches!(part, Part::Other))
}

/// Returns a hash of the role, the texts, the images and the calls of a message. A copy of a
/// message, which Gemini CLI makes in a compaction, has another id, but the same hash. Thoughts and
/// results do not count, because a copy may lack them.
pub fn fingerprint(message: Raw) -> u64 {
    let [kind, content] = find_members(message, ["type", "content"]);
    let mut texts = Vec::new();
    let parts = read_parts(content.unwrap_or(Raw::NULL));
    for part in &parts {
        match part {
            Part::Text { text, .. } => texts.push(text.as_borrowed()),
            Part::Image(image) => texts.push(Text::from_wtf8(&image[..])),
            Part::Thought { .. } | Part::Call(_) | Part::Result(_) | Part::Other => {}
        }
    }
    for call in list_calls(message, &parts) {
        texts.push(call.name.into_owned());
        texts.push(Text::from_wtf8(call.arguments.bytes()).into_owned());
    }
    let joined = join_with(texts, "\n");
    let is_by_user = kind.is_some_and(|kind| kind.is("user"));
    FixedState::default().hash_one((is_by_user, joined.as_bytes()))
}

/// A call of a response.
pub struct Call<'a> {
    pub id: Text<'a>,
    name: Text<'a>,
    arguments: Raw<'a>,
    signature: Option<Text<'a>>,
    /// The record of the call in `toolCalls`, which has its result.
    record: Option<Raw<'a>>,
}

/// Returns the calls of a response: first the calls among its parts, then the calls that only have
/// a record. A call and its record, which has the result, have the same id:
///
/// ```text
/// {"content":[{"functionCall":{"id":"c1", …}}],"toolCalls":[{"id":"c1","result":[…]}]}
/// ```
pub fn list_calls<'a>(message: Raw<'a>, parts: &[Part<'a>]) -> Vec<Call<'a>> {
    let mut calls: Vec<Call> = Vec::new();
    for part in parts {
        let Part::Call(part) = part else { continue };
        let call = part.get("functionCall").unwrap_or(Raw::NULL);
        let signature = non_empty_text(*part, "thoughtSignature");
        calls.extend(read_call(call, signature));
    }

    for record in message.get("toolCalls").unwrap_or(Raw::NULL).items() {
        let id = non_empty_text(record, "id").unwrap_or_default();
        let call_of_record = calls.iter_mut().find(|call| call.id == id);
        if let Some(call) = call_of_record {
            call.record = Some(record);
        } else if let Some(mut call) = read_call(record, None) {
            call.record = Some(record);
            calls.push(call);
        }
    }
    calls
}

/// Reads a call; `None` if it has no id or no name. Arguments that are not an object become an
/// empty object.
fn read_call<'a>(call: Raw<'a>, signature: Option<Text<'a>>) -> Option<Call<'a>> {
    let arguments = call.get("args").filter(|arguments| arguments.is_object());
    Some(Call {
        id: non_empty_text(call, "id")?,
        name: non_empty_text(call, "name")?,
        arguments: arguments.unwrap_or(Raw::from_checked(b"{}")),
        signature,
        record: None,
    })
}

impl Call<'_> {
    fn to_block(&self) -> Vec<u8> {
        let mut block = Object::new()
            .str("type", "toolCall")
            .text("id", &self.id)
            .text("name", &self.name)
            .raw("arguments", self.arguments);
        if let Some(signature) = &self.signature {
            block = block.text("thoughtSignature", signature);
        }
        block.finish()
    }

    /// Returns the entry of the result, from the record of the call; `None` if it has no result. If
    /// the result has no time, the entry gets `time_ms`.
    pub fn result_entry(&self, time_ms: i64) -> Option<ResultEntry> {
        let record = self.record?;
        let names = ["result", "status", "resultDisplay", "timestamp", "agentId"];
        let [result, status, display, timestamp, agent_id] = find_members(record, names);
        let result = result.filter(|result| !result.is_null())?;
        let mut content = ResultContent::default();
        content.add_result(result, &self.id);
        let has_failed = status.is_some_and(|status| status.is("error") || status.is("cancelled"));
        if has_failed {
            content.is_error = true;
        }

        let details = result_details(display, agent_id.and_then(Raw::text));
        // Members that are not in the message are kept beside it.
        let mut converted_keys = CALL_KEYS.to_vec();
        if details.is_some() {
            converted_keys.push("resultDisplay");
        }
        if !content.is_whole {
            converted_keys.retain(|key| *key != "result");
        }
        let time_ms = parse_time_ms(timestamp).unwrap_or(time_ms);
        let message = content.to_message(&self.id, &self.name, details.as_deref(), time_ms);
        let unconverted = unconverted_members(record, &converted_keys);
        Some(ResultEntry {
            time_ms,
            members: Object::new()
                .json("message", &message)
                .json("gemini", &unconverted.finish()),
        })
    }
}

/// Returns the details of a result as JSON: its `display`, which the user saw, such as a diff. The
/// id of a sub-agent that ran becomes a member of it. `None` if the user saw nothing, or only a
/// text.
fn result_details(display: Option<Raw>, agent_id: Option<Text>) -> Option<Vec<u8>> {
    let display = display?;
    if display.is_object()
        && let Some(agent_id) = agent_id
    {
        return Some(with_member(display, "agentId", &encode_to_vec(&agent_id)));
    }
    if display.is_object() || display.is_array() {
        Some(display.bytes().to_vec())
    } else {
        None
    }
}

/// The result of a call, as an entry.
pub struct ResultEntry {
    pub time_ms: i64,
    pub members: Object,
}

/// Builds the members of the entry for a result that is only in a message of the user, and not in
/// the record of its call. `None` if the result has no id.
pub fn lone_result_members(result: Raw, time_ms: i64) -> Option<Object> {
    let id = non_empty_text(result, "id")?;
    let name = non_empty_text(result, "name").unwrap_or_else(|| Text::from("unknown"));
    let mut content = ResultContent::default();
    content.add_response(result);
    let message = content.to_message(&id, &name, None, time_ms);
    Some(Object::new().json("message", &message))
}

/// The content of a result so far.
struct ResultContent {
    blocks: Vec<Vec<u8>>,
    is_error: bool,
    /// Whether all parts so far have a counterpart.
    is_whole: bool,
}

impl Default for ResultContent {
    fn default() -> ResultContent {
        ResultContent {
            blocks: Vec::new(),
            is_error: false,
            is_whole: true,
        }
    }
}

impl ResultContent {
    /// Adds the result of a call: a string, or parts.
    fn add_result(&mut self, result: Raw, call_id: &Text) {
        for part in parts_of_call(result, call_id) {
            match part {
                Part::Result(response) => self.add_response(response),
                Part::Text { text, .. } | Part::Thought { text, .. } => {
                    self.blocks.push(text_block(&text));
                }
                Part::Image(image) => self.blocks.push(image),
                Part::Call(_) | Part::Other => self.is_whole = false,
            }
        }
    }

    /// Adds the answer of a tool, the value of `functionResponse`: its text, or any other
    /// `response` as JSON, and the images in its `parts`.
    ///
    /// ```text
    /// {"id":"c1","name":"read_file","response":{"output":"text"},"parts":[{"inlineData":{…}}]}
    /// {"id":"c1","name":"read_file","response":{"error":"text"}}
    /// ```
    fn add_response(&mut self, result: Raw) {
        let [response, parts] = find_members(result, ["response", "parts"]);
        let response = response.unwrap_or(Raw::NULL);
        let [output, error] = find_members(response, ["output", "error"]);
        if error.is_some() {
            self.is_error = true;
        }
        if let Some(text) = output.or(error).and_then(Raw::text) {
            self.blocks.push(text_block(&text));
        } else if !response.is_null() {
            let json = Text::from(String::from_utf8_lossy(response.bytes()).into_owned());
            self.blocks.push(text_block(&json));
        }
        for part in read_parts(parts.unwrap_or(Raw::NULL)) {
            match part {
                Part::Image(image) => self.blocks.push(image),
                _ => self.is_whole = false,
            }
        }
    }

    /// Builds the message of the result as JSON. `name` is the name of the tool. `details` is JSON
    /// that the model does not see.
    fn to_message(
        &self,
        call_id: &Text,
        name: &Text,
        details: Option<&[u8]>,
        time_ms: i64,
    ) -> Vec<u8> {
        let mut message = Object::new()
            .str("role", "toolResult")
            .text("toolCallId", call_id)
            .text("toolName", name)
            .json("content", &array(&self.blocks));
        if let Some(details) = details {
            message = message.json("details", details);
        }
        message
            .bool("isError", self.is_error)
            .number("timestamp", time_ms as f64)
            .finish()
    }
}

/// Returns the parts of a result that belong to a call. In a history that was rewritten, the record
/// of each call has the results of all calls of its response: for `c1`, the first two of these:
///
/// ```text
/// [{"functionResponse":{"id":"c1"}}, {"inlineData":{…}}, {"functionResponse":{"id":"c2"}}]
/// ```
fn parts_of_call<'a>(result: Raw<'a>, call_id: &Text) -> Vec<Part<'a>> {
    let mut parts = Vec::new();
    // A part that names no call, such as an image, belongs to the call that was named last.
    let mut is_of_call = true;
    for part in read_parts(result) {
        if let Part::Result(response) = part {
            is_of_call = match response.get_text("id") {
                Some(id) => id == *call_id,
                None => true,
            };
        }
        if is_of_call {
            parts.push(part);
        }
    }
    parts
}

/// A response, converted.
pub struct Response {
    /// Its blocks.
    pub blocks: Vec<Vec<u8>>,
    /// Whether it has a call among them.
    has_call: bool,
    /// The members without a counterpart.
    unconverted: Object,
}

impl Response {
    /// Converts a response. Its thoughts are among its parts, or else in the list `thoughts`.
    pub fn convert(message: Raw, parts: &[Part]) -> Response {
        let mut blocks = thoughts_beside_parts(message, parts);
        let calls = list_calls(message, parts);
        // Begins with the calls among the parts, in the same order.
        let mut unwritten_calls = calls.iter();
        let mut is_whole = true;
        for part in parts {
            match part {
                Part::Text { text, signature } => {
                    let block = Object::new().str("type", "text").text("text", text);
                    blocks.push(finish_signed(block, "textSignature", signature));
                }
                Part::Thought { text, signature } => {
                    let block = add_thinking(Object::new(), text);
                    blocks.push(finish_signed(block, "thinkingSignature", signature));
                }
                Part::Call(part) => {
                    let call = part.get("functionCall").unwrap_or(Raw::NULL);
                    // A call without an id or a name is not listed.
                    let is_listed = read_call(call, None).is_some();
                    if is_listed {
                        blocks.extend(unwritten_calls.next().map(Call::to_block));
                    } else {
                        is_whole = false;
                    }
                }
                Part::Result(_) | Part::Image(_) | Part::Other => is_whole = false,
            }
        }
        // The calls that only have a record.
        for call in unwritten_calls {
            blocks.push(call.to_block());
        }

        let mut converted_keys = RESPONSE_KEYS.to_vec();
        if !is_whole {
            converted_keys.retain(|key| *key != "content");
        }
        Response {
            blocks,
            has_call: !calls.is_empty(),
            unconverted: unconverted_members(message, &converted_keys),
        }
    }

    /// Converts only the calls of a response whose ids are not in `known`. The rest of the response
    /// is in the session already.
    pub fn convert_new_calls(message: Raw, parts: &[Part], known: &HashSet<Box<[u8]>>) -> Response {
        let mut blocks = Vec::new();
        for call in list_calls(message, parts) {
            if !known.contains(call.id.as_bytes()) {
                blocks.push(call.to_block());
            }
        }
        Response {
            has_call: !blocks.is_empty(),
            blocks,
            unconverted: Object::new(),
        }
    }

    /// Builds the members of its entry. `tokens` are the tokens of its request; `None` if they are
    /// not known, or are counted elsewhere.
    pub fn entry_members(&self, model: &Text, tokens: Option<Raw>, time_ms: i64) -> Object {
        let message = Object::new()
            .str("role", "assistant")
            .json("content", &array(&self.blocks))
            .str("api", API)
            .str("provider", PROVIDER)
            .text("model", model)
            .json("usage", &convert_tokens(tokens))
            .str("stopReason", if self.has_call { "toolUse" } else { "stop" })
            .number("timestamp", time_ms as f64)
            .finish();
        Object::new()
            .json("message", &message)
            .json("gemini", &self.unconverted.clone().finish())
    }
}

/// Returns the thoughts of a response that are in its list `thoughts`, as blocks; none if its parts
/// have the thoughts, which the list then repeats.
fn thoughts_beside_parts(message: Raw, parts: &[Part]) -> Vec<Vec<u8>> {
    let mut blocks = Vec::new();
    let parts_have_thoughts = parts
        .iter()
        .any(|part| matches!(part, Part::Thought { .. }));
    if !parts_have_thoughts {
        for thought in message.get("thoughts").unwrap_or(Raw::NULL).items() {
            blocks.extend(convert_thought(thought));
        }
    }
    blocks
}

/// Completes a block. If it has a signature, the signature becomes the member `key`.
fn finish_signed(mut block: Object, key: &str, signature: &Option<Text>) -> Vec<u8> {
    if let Some(signature) = signature {
        block = block.text(key, signature);
    }
    block.finish()
}

/// Converts a thought to a block of thinking, in the form in which Gemini CLI sends it again: the
/// subject in bold, then the description. `None` if it has neither.
fn convert_thought(thought: Raw) -> Option<Vec<u8>> {
    let [subject, description] = find_members(thought, ["subject", "description"]);
    let subject = subject.and_then(Raw::text).unwrap_or_default();
    let description = description.and_then(Raw::text).unwrap_or_default();
    if subject.is_empty() && description.is_empty() {
        return None;
    }
    if subject.is_empty() {
        return Some(thinking_block(&description));
    }
    let text = format!(
        "**{}** {}",
        subject.to_string_lossy(),
        description.to_string_lossy()
    );
    Some(thinking_block(&Text::from(text)))
}

/// Converts the tokens of a request to the `usage` object of pi.
///
/// Google's input includes the cached tokens, which pi counts apart. Google counts thoughts apart
/// from the output, and what its own tools added apart from the input; pi includes both.
fn convert_tokens(tokens: Option<Raw>) -> Vec<u8> {
    let tokens = tokens.unwrap_or(Raw::NULL);
    let names = ["input", "output", "cached", "thoughts", "tool", "total"];
    let [input, output, cached, thoughts, tool, total] = find_members(tokens, names);
    let cached = finite_or_zero(cached);
    let uncached_input = (finite_or_zero(input) - cached).max(0.0);
    let usage = Usage {
        input: uncached_input + finite_or_zero(tool),
        output: finite_or_zero(output) + finite_or_zero(thoughts),
        cache_read: cached,
        ..Usage::default()
    };
    // Without this member, it is not known how many tokens were spent on reasoning.
    let reasoning = thoughts.map(|thoughts| finite_or_zero(Some(thoughts)));
    usage_json(&usage, finite_or_zero(total), reasoning)
}
