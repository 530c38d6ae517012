//! Messages of the assistant: responses of the model, and the summaries of compactions.

use super::OpenCodeReader;
use super::parts::{OpenCodeMessage, is_part, unconverted_message, unconverted_part};
use super::tools::ToolPart;
use super::usage::{ResponseUsage, convert_usage};
use crate::parts::{non_empty_text, parse_time_ms};
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

        let provider = non_empty_text(message.info, "providerID").unwrap_or_default();
        let model = non_empty_text(message.info, "modelID").unwrap_or_else(|| "unknown".into());
        let stop_reason = response.stop_reason(!calls.is_empty());
        let mut converted = Object::new()
            .str("role", "assistant")
            .json("content", &array(response.blocks()))
            .str("api", api_of_provider(&provider))
            .text("provider", &provider)
            .text("model", &model)
            .str("stopReason", stop_reason);
        if let Some(error) = response.find_error() {
            let data = error.get("data").unwrap_or(Raw::NULL);
            let text = data
                .get_text("message")
                .or_else(|| error.get_text("name"))
                .unwrap_or_default();
            converted = converted.text("errorMessage", &text);
        }
        if let Some(id) = response.stable_id() {
            converted = converted.str("responseId", &id);
        }
        let converted = converted
            .json("usage", &usage.json)
            .number("timestamp", self.time_ms as f64)
            .finish();
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

    /// Returns the request for the compaction whose summary this message is: the request is its
    /// parent. `None` if the message is not a summary, or if the summary is not complete.
    pub(super) fn completed_compaction(
        &self,
        message: &OpenCodeMessage,
    ) -> Option<CompactionRequest> {
        let info = message.info;
        let is_summary = info.get("summary").and_then(Raw::bool) == Some(true);
        let is_complete = non_empty_text(info, "finish").is_some() && info.get("error").is_none();
        if !is_summary || !is_complete || find_texts(message).is_empty() {
            return None;
        }
        let request = non_empty_text(info, "parentID")?;
        let first_kept = self.compaction_requests.get(&request)?.clone();
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
        // A compaction that keeps nothing names itself as the first kept entry.
        let first_kept_id = first_kept_entry.unwrap_or_else(|| self.writer.next_id(message.offset));
        let mut unconverted = Vec::new();
        for part in message.parts.items() {
            if !is_part(part, "text") {
                unconverted.extend(unconverted_part(part, &CONVERTED_FINISH_MEMBERS));
            }
        }
        let members = Object::new()
            .text("summary", &find_texts(message))
            .str("firstKeptEntryId", &first_kept_id)
            .number("tokensBefore", self.context_tokens)
            .json(
                "opencode",
                &unconverted_message(info, &CONVERTED_MEMBERS, &unconverted),
            );
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
        let members = Object::new()
            .str("kind", "opencode")
            .text(
                "provider",
                &non_empty_text(info, "providerID").unwrap_or_default(),
            )
            .text(
                "model",
                &non_empty_text(info, "modelID").unwrap_or_default(),
            )
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
            // An empty response is left out, but its parts are kept, in the next response.
            if !current.is_empty() {
                let next_index = current.index + 1;
                responses.push(current);
                current = Response::new(message, next_index);
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
        let first_call = calls.first().and_then(|call| call.time_ms("start"));
        let text_ends = self
            .parts
            .iter()
            .filter_map(|part| parse_time_ms(part.get("time")?.get("end")));
        text_ends.chain(first_call).max()
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
        let is_only = self.index == 0 && self.is_last;
        let counted = match self.finish {
            Some(finish) => finish,
            None if is_only => self.message.info,
            None => Raw::NULL,
        };
        let cost = finite_or_zero(counted.get("cost"));
        convert_usage(counted.get("tokens").unwrap_or(Raw::NULL), cost)
    }

    /// Returns why a response ended, as pi names it. A reason that pi does not have is `toolUse` if
    /// the response has calls, or else `stop`.
    fn stop_reason(&self, has_calls: bool) -> &'static str {
        if let Some(error) = self.find_error() {
            let is_abort = member_is(error, "name", "MessageAbortedError");
            return if is_abort { "aborted" } else { "error" };
        }
        // The part that ends the response has its reason; the message has that of its last one.
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
            if let Some(call) = ToolPart::read(*part) {
                // If the call has a result, its other members are kept with the result.
                if !call.has_result() {
                    parts.extend(unconverted_part(*part, &["callID", "tool"]));
                }
                continue;
            }
            let is_converted = convert_part(*part).is_some();
            let converted_keys: &[&str] = if is_converted { &["text"] } else { &[] };
            parts.extend(unconverted_part(*part, converted_keys));
        }
        if let Some(finish) = self.finish {
            parts.extend(unconverted_part(finish, &CONVERTED_FINISH_MEMBERS));
        }
        let info = if self.index == 0 {
            self.message.info
        } else {
            Raw::NULL
        };
        unconverted_message(info, &CONVERTED_MEMBERS, &parts)
    }
}

/// Converts a part of a response: a text, thinking or a call. `None` for any other part, or if it
/// has no text.
fn convert_part(part: Raw) -> Option<Vec<u8>> {
    if let Some(call) = ToolPart::read(part) {
        return Some(call.call_block());
    }
    let text = non_empty_text(part, "text")?;
    if is_part(part, "text") {
        return Some(text_block(&text));
    }
    if !is_part(part, "reasoning") {
        return None;
    }
    let mut thinking = Object::new()
        .str("type", "thinking")
        .text("thinking", &text);
    if let Some(signature) = find_signature(part) {
        thinking = thinking.text("thinkingSignature", &signature);
    }
    Some(thinking.finish())
}

/// Returns the signature by which Anthropic accepts thinking again; `None` if there is none.
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

/// Returns the API of a provider, as pi names it.
fn api_of_provider(provider: &Text) -> &'static str {
    for (name, api) in APIS {
        if *provider == *name {
            return api;
        }
    }
    "openai-completions"
}
