//! Messages of the assistant: responses of the model, and the summaries of compactions.

use super::OpenCodeReader;
use super::parts::{OpenCodeMessage, is_part, unconverted_message, unconverted_part};
use super::tools::ToolPart;
use super::usage::{ResponseUsage, convert_usage};
use crate::parts::{add_thinking, non_empty_text, parse_time_ms};
use pisess_core::session::content::{finite_or_zero, member_is, text_block};
use pisess_json::Raw;
use pisess_json::text::{Text, join_with};
use pisess_json::write::{Object, array};
use std::io;

/// The members of a message that are converted, so that they are in its entry.
const CONVERTED_MEMBERS: [&str; 5] = ["role", "modelID", "providerID", "cost", "tokens"];

/// The members of the part `step-finish` that are converted, so that they are in the entry.
const CONVERTED_FINISH_MEMBERS: [&str; 3] = ["reason", "tokens", "cost"];

/// Providers and their APIs, as pi names them. All other providers have the API of OpenAI's
/// completions.
const APIS: [(&str, &str); 4] = [
    ("anthropic", "anthropic-messages"),
    ("openai", "openai-responses"),
    ("google", "google-generative-ai"),
    ("amazon-bedrock", "bedrock-converse-stream"),
];

/// OpenCode's reasons to end a response, each with pi's reason.
const STOP_REASONS: [(&str, &str); 4] = [
    ("stop", "stop"),
    ("tool-calls", "toolUse"),
    ("length", "length"),
    ("content-filter", "error"),
];

/// A request for a compaction: the id of the first message that it keeps, if it keeps any.
pub(super) struct CompactionRequest {
    first_kept: Option<Text<'static>>,
}

/// A response of the model: a step of a message.
struct Response<'a> {
    message: &'a OpenCodeMessage<'a>,
    /// Its number among the responses of the message, from 0.
    index: usize,
    /// Whether it is the last response of the message.
    is_last: bool,
    /// Its parts, without the part that begins it and the part that ends it.
    parts: Vec<Raw<'a>>,
    /// The part that begins it.
    start: Option<Raw<'a>>,
    /// The part that ends it, with its tokens.
    finish: Option<Raw<'a>>,
}

impl OpenCodeReader<'_> {
    /// Adds the responses of a message, each with the results of its calls. One message may have
    /// several, as steps of a turn. A message without a response is kept as a custom entry.
    pub(super) fn add_responses(&mut self, message: &OpenCodeMessage) -> io::Result<()> {
        let responses = split_responses(message);
        if responses.is_empty() {
            return self.add_kept(message.offset, "message", message.line.bytes());
        }
        for response in &responses {
            self.add_response(response)?;
        }
        // For entries that follow and have no time of their own.
        let time = message.info.get("time").unwrap_or(Raw::NULL);
        self.time_ms = parse_time_ms(time.get("completed")).unwrap_or(self.time_ms);
        Ok(())
    }

    /// Adds a response, and the results of its calls.
    fn add_response(&mut self, response: &Response) -> io::Result<()> {
        let message = response.message;
        let calls: Vec<ToolPart> = response
            .parts
            .iter()
            .filter_map(|part| ToolPart::read(*part))
            .collect();
        let usage = response.find_usage();
        self.context_tokens = usage.context_tokens;
        let has_calls = !calls.is_empty();
        let converted = response.to_message(has_calls, &usage, self.time_ms);
        let members = Object::new()
            .json("message", &converted)
            .json("opencode", &response.unconverted_members());
        // The entry of the response has the time at which the model had finished.
        self.time_ms = response.end_ms(&calls).unwrap_or(self.time_ms);
        self.add_entry(message.offset, "message", members)?;

        for call in &calls {
            self.add_result(message, call)?;
        }
        Ok(())
    }

    /// Returns the request for a compaction if this message is the summary. The message names the
    /// request as its parent:
    ///
    /// ```text
    /// {"role":"assistant","summary":true,"finish":"stop","parentID":"msg_…", …}
    /// ```
    ///
    /// `None` if the message is not a summary, or if the summary is not complete.
    pub(super) fn find_summarized_request(
        &self,
        message: &OpenCodeMessage,
    ) -> Option<CompactionRequest> {
        let info = message.info;
        let is_summary = info.get("summary").and_then(Raw::bool) == Some(true);
        if !is_summary {
            return None;
        }
        let has_finished = non_empty_text(info, "finish").is_some();
        let has_failed = info.get("error").is_some();
        if !has_finished || has_failed || find_texts(message).is_empty() {
            return None;
        }
        let request_id = non_empty_text(info, "parentID")?;
        let first_kept = self.compaction_requests.get(&request_id)?.clone();
        Some(CompactionRequest { first_kept })
    }

    /// Adds a compaction, whose summary is the text of `message`, and after it the tokens that the
    /// summary has cost.
    pub(super) fn add_compaction(
        &mut self,
        message: &OpenCodeMessage,
        request: CompactionRequest,
    ) -> io::Result<()> {
        let info = message.info;
        let time = info.get("time").unwrap_or(Raw::NULL);
        self.time_ms = parse_time_ms(time.get("completed")).unwrap_or(self.time_ms);
        let first_kept_entry = request.first_kept.and_then(|id| self.first_entry_id(&id));
        let first_kept_id = match first_kept_entry {
            Some(id) => id,
            // A compaction that keeps nothing names itself as the first kept entry.
            None => self.writer.next_id(message.offset),
        };

        let mut unconverted_parts = Vec::new();
        for part in message.parts.items() {
            if !is_part(part, "text") {
                unconverted_parts.extend(unconverted_part(part, &CONVERTED_FINISH_MEMBERS));
            }
        }
        let unconverted = unconverted_message(info, &CONVERTED_MEMBERS, &unconverted_parts);
        let members = Object::new()
            .text("summary", &find_texts(message))
            .str("firstKeptEntryId", &first_kept_id)
            .number("tokensBefore", self.context_tokens)
            .json("opencode", &unconverted);
        self.add_entry(message.offset, "compaction", members)?;
        // Until the next response, the size of the context is unknown.
        self.context_tokens = 0.0;
        self.add_summary_usage(message)
    }

    /// Adds the tokens and the cost of the request for a summary. A compaction has no place for
    /// them, so they become an entry of their own.
    fn add_summary_usage(&mut self, message: &OpenCodeMessage) -> io::Result<()> {
        let info = message.info;
        let cost = finite_or_zero(info.get("cost"));
        let usage = convert_usage(info.get("tokens").unwrap_or(Raw::NULL), cost);
        let provider = non_empty_text(info, "providerID").unwrap_or_default();
        let model = non_empty_text(info, "modelID").unwrap_or_default();
        let members = Object::new()
            .str("kind", "opencode")
            .text("provider", &provider)
            .text("model", &model)
            .json("usage", &usage.json);
        self.add_entry(message.offset, "usage", members)
    }
}

/// Divides the parts of a message into its responses. Each begins with the part `step-start`; the
/// first one may lack this part. An empty response is left out, unless the message ended with an
/// error: the error belongs to the last response.
///
/// ```text
/// step-start  text  tool  step-finish    step-start  text  step-finish
/// └───────── first response ────────┘    └───── second response ─────┘
/// ```
fn split_responses<'a>(message: &'a OpenCodeMessage<'a>) -> Vec<Response<'a>> {
    let mut responses = Vec::new();
    let mut current = Response::new(message, 0);
    for part in message.parts.items() {
        if is_part(part, "step-start") {
            // Parts of an empty response are kept in the next one.
            if !current.is_empty() {
                responses.push(current);
                current = Response::new(message, responses.len());
            }
            current.start = Some(part);
        } else if is_part(part, "step-finish") {
            current.finish = Some(part);
        } else {
            current.parts.push(part);
        }
    }
    let has_error = message.info.get("error").is_some_and(Raw::is_object);
    if !current.is_empty() || has_error {
        responses.push(current);
    }
    if let Some(last) = responses.last_mut() {
        last.is_last = true;
    }
    responses
}

impl<'a> Response<'a> {
    /// Returns a response without parts.
    fn new(message: &'a OpenCodeMessage<'a>, index: usize) -> Response<'a> {
        Response {
            message,
            index,
            is_last: false,
            parts: Vec::new(),
            start: None,
            finish: None,
        }
    }

    /// Returns the message of pi as JSON. `started_ms` is the time at which the response began.
    fn to_message(&self, has_calls: bool, usage: &ResponseUsage, started_ms: i64) -> Vec<u8> {
        let info = self.message.info;
        let provider = non_empty_text(info, "providerID").unwrap_or_default();
        let model = non_empty_text(info, "modelID").unwrap_or_else(|| "unknown".into());
        let mut message = Object::new()
            .str("role", "assistant")
            .json("content", &array(self.blocks()))
            .str("api", api_of_provider(&provider))
            .text("provider", &provider)
            .text("model", &model)
            .str("stopReason", self.stop_reason(has_calls));
        if let Some(error) = self.find_error() {
            message = message.text("errorMessage", &error_message(error));
        }
        if let Some(id) = self.stable_id() {
            message = message.str("responseId", &id);
        }
        message
            .json("usage", &usage.json)
            .number("timestamp", started_ms as f64)
            .finish()
    }

    /// Whether the response has neither a block nor tokens.
    fn is_empty(&self) -> bool {
        self.finish.is_none() && self.parts.iter().all(|part| convert_part(*part).is_none())
    }

    /// Returns its blocks as JSON: its texts, its thinking and its calls.
    fn blocks(&self) -> Vec<Vec<u8>> {
        self.parts
            .iter()
            .filter_map(|part| convert_part(*part))
            .collect()
    }

    /// Returns the time at which the model had finished: the end of its last text, or the start of
    /// its first call if that is later. The results of the calls come after that time.
    fn end_ms(&self, calls: &[ToolPart]) -> Option<i64> {
        let mut end_ms = calls.first().and_then(|call| call.time_ms("start"));
        for part in &self.parts {
            let time = part.get("time").unwrap_or(Raw::NULL);
            // `None` is less than any time.
            end_ms = end_ms.max(parse_time_ms(time.get("end")));
        }
        end_ms
    }

    /// Returns the error with which the message ended. `None` if there is none, or if this is not
    /// its last response.
    fn find_error(&self) -> Option<Raw<'a>> {
        let error = self.message.info.get("error")?;
        if self.is_last && error.is_object() {
            Some(error)
        } else {
            None
        }
    }

    /// Returns the tokens and the cost of a response, from the part that ends it. If that part is
    /// missing, the numbers of the message are taken, but only if this is its only response: they
    /// are sums over all responses.
    fn find_usage(&self) -> ResponseUsage {
        let is_only_response = self.index == 0 && self.is_last;
        let source = if let Some(finish) = self.finish {
            finish
        } else if is_only_response {
            self.message.info
        } else {
            Raw::NULL
        };
        let cost = finite_or_zero(source.get("cost"));
        convert_usage(source.get("tokens").unwrap_or(Raw::NULL), cost)
    }

    /// Returns why a response ended, as pi names it. A reason that pi does not have is `toolUse` if
    /// the response has calls, or else `stop`.
    fn stop_reason(&self, has_calls: bool) -> &'static str {
        if let Some(error) = self.find_error() {
            let is_abort = member_is(error, "name", "MessageAbortedError");
            return if is_abort { "aborted" } else { "error" };
        }
        // The part that ends the response has its reason. The message has the reason of its last
        // response.
        let reason_in_part = self.finish.and_then(|finish| finish.get("reason"));
        let reason = reason_in_part
            .or_else(|| self.message.info.get("finish"))
            .unwrap_or(Raw::NULL);
        for (opencode_reason, pi_reason) in STOP_REASONS {
            if reason.is(opencode_reason) {
                return pi_reason;
            }
        }
        if has_calls { "toolUse" } else { "stop" }
    }

    /// Returns an id that is the same for all copies of a response. It is made of times: OpenCode
    /// does not keep the id that the provider gave, and a fork gives copies new ids.
    fn stable_id(&self) -> Option<String> {
        let created = self.message.created_ms?;
        let completed = parse_time_ms(self.message.info.get("time")?.get("completed"))?;
        Some(format!("opencode-{created}-{completed}-{}", self.index))
    }

    /// Returns the member `opencode` of the entry: members of the parts that have no place in the
    /// entry, and with the first response, the members of the message as a whole.
    fn unconverted_members(&self) -> Vec<u8> {
        let mut parts = Vec::new();
        if let Some(start) = self.start {
            parts.extend(unconverted_part(start, &[]));
        }
        for part in &self.parts {
            parts.extend(unconverted_response_part(*part));
        }
        if let Some(finish) = self.finish {
            parts.extend(unconverted_part(finish, &CONVERTED_FINISH_MEMBERS));
        }
        let is_first_response = self.index == 0;
        let info = if is_first_response {
            self.message.info
        } else {
            Raw::NULL
        };
        unconverted_message(info, &CONVERTED_MEMBERS, &parts)
    }
}

/// Returns the members of a part of a response that no entry has in pi's form. They are kept in the
/// member `opencode` of the response's entry, so that the import loses nothing. `None` if the part
/// has no such members, apart from its id and its type.
///
/// The text of this part becomes a block, and its times are kept:
///
/// ```text
/// {"id":"prt_1","type":"text","text":"Done.","time":{"start":1,"end":2}}     the part
/// {"type":"text","text":"Done."}                                             the block
/// {"id":"prt_1","type":"text","time":{"start":1,"end":2}}                    the result
/// ```
fn unconverted_response_part(part: Raw) -> Option<Vec<u8>> {
    match ResponsePart::read(part) {
        ResponsePart::Call(call) => {
            if call.has_result() {
                // The result of the call has an entry of its own, which keeps these members.
                return None;
            }
            // The call has no result, so its state is kept here: the status and the times. The
            // block has only the arguments of the state.
            unconverted_part(part, &["callID", "tool"])
        }
        ResponsePart::Text(_) | ResponsePart::Thinking(_) => unconverted_part(part, &["text"]),
        ResponsePart::Other => {
            let converted_keys = &[];
            unconverted_part(part, converted_keys)
        }
    }
}

/// A part of a response, by the block that pi has for it.
enum ResponsePart<'a> {
    /// A call of a tool. The same part has the result, if there is one.
    Call(ToolPart<'a>),
    /// A text that is not empty.
    Text(Text<'a>),
    /// Thinking that is not empty.
    Thinking(Text<'a>),
    /// Any other part. pi has no block for it.
    Other,
}

impl<'a> ResponsePart<'a> {
    fn read(part: Raw<'a>) -> ResponsePart<'a> {
        if let Some(call) = ToolPart::read(part) {
            return ResponsePart::Call(call);
        }
        let Some(text) = non_empty_text(part, "text") else {
            return ResponsePart::Other;
        };
        if is_part(part, "text") {
            ResponsePart::Text(text)
        } else if is_part(part, "reasoning") {
            ResponsePart::Thinking(text)
        } else {
            ResponsePart::Other
        }
    }
}

/// Converts a part of a response to a block. `None` if pi has no block for it.
fn convert_part(part: Raw) -> Option<Vec<u8>> {
    match ResponsePart::read(part) {
        ResponsePart::Call(call) => Some(call.call_block()),
        ResponsePart::Text(text) => Some(text_block(&text)),
        ResponsePart::Thinking(text) => Some(thinking_block(&text, find_signature(part))),
        ResponsePart::Other => None,
    }
}

/// Returns a block of thinking, with the signature by which the provider accepts it again.
fn thinking_block(text: &Text, signature: Option<Text>) -> Vec<u8> {
    let mut thinking = add_thinking(Object::new(), text);
    if let Some(signature) = signature {
        thinking = thinking.text("thinkingSignature", &signature);
    }
    thinking.finish()
}

/// Returns the signature of thinking, which only Anthropic requires. `None` if there is none.
fn find_signature(part: Raw<'_>) -> Option<Text<'_>> {
    non_empty_text(part.get("metadata")?.get("anthropic")?, "signature")
}

/// Joins the texts of a message with blank lines, as OpenCode does for a summary. Blank texts, and
/// white space around a text, are left out.
fn find_texts(message: &OpenCodeMessage) -> Text<'static> {
    let mut texts = Vec::new();
    for part in message.parts.items() {
        if is_part(part, "text")
            && let Some(text) = part.get_text("text").filter(|text| !text.is_blank())
        {
            texts.push(text.trim().into_owned());
        }
    }
    join_with(texts, "\n\n")
}

/// Returns the text of an error; the name of the error if it has no text:
///
/// ```text
/// {"name":"APIError","data":{"message":"Overloaded"}}     Overloaded
/// {"name":"MessageAbortedError"}                          MessageAbortedError
/// ```
fn error_message(error: Raw<'_>) -> Text<'_> {
    let data = error.get("data").unwrap_or(Raw::NULL);
    let message = data.get_text("message");
    message
        .or_else(|| error.get_text("name"))
        .unwrap_or_default()
}

/// Returns the API of a provider, as pi names it.
fn api_of_provider(provider: &Text) -> &'static str {
    for (name, api) in APIS {
        if *provider == *name {
            return api;
        }
    }
    "openai-completions"
}
