//! Responses of the model, with their calls and tokens.

use super::blocks::{ResponseBlock, convert_stop_reason};
use super::line::ClaudeLine;
use super::{ClaudeReader, LineNodes};
use crate::parts::usage_json;
use crate::writer::{EntryDraft, NodeIx};
use pisess_core::session::content::{finite_or_zero, text_content};
use pisess_core::session::usage::Usage;
use pisess_json::Raw;
use pisess_json::outline::Outlined;
use pisess_json::string::decode;
use pisess_json::text::Text;
use pisess_json::write::Object;
use std::io;

/// The model of messages that Claude Code makes itself.
const SYNTHETIC_MODEL: &str = "<synthetic>";

/// The numbers of tokens in a usage of Anthropic.
#[derive(Clone, Copy, Default)]
struct TokenCounts {
    input: f64,
    output: f64,
    cache_read: f64,
    cache_write: f64,
    /// The part of `cache_write` that the cache keeps for an hour.
    cache_write_1h: f64,
}

impl TokenCounts {
    /// Reads the member `usage` of a message. Numbers that it lacks are 0.
    ///
    /// ```text
    /// {"input_tokens":3,"output_tokens":500,"cache_read_input_tokens":9000,
    ///     "cache_creation_input_tokens":70,
    ///     "cache_creation":{"ephemeral_5m_input_tokens":50,"ephemeral_1h_input_tokens":20}}
    /// ```
    ///
    /// `cache_creation` divides the 70 tokens by the time for which the cache keeps them.
    fn of_usage(usage: Outlined) -> TokenCounts {
        let names = [
            "input_tokens",
            "output_tokens",
            "cache_read_input_tokens",
            "cache_creation_input_tokens",
            "cache_creation",
        ];
        let [input, output, cache_read, cache_write, by_time_kept] = usage.get_all(names);
        let one_hour = by_time_kept.and_then(|times| times.get("ephemeral_1h_input_tokens"));
        let number_or_0 = |value: Option<Outlined>| finite_or_zero(value.map(Outlined::raw));
        TokenCounts {
            input: number_or_0(input),
            output: number_or_0(output),
            cache_read: number_or_0(cache_read),
            cache_write: number_or_0(cache_write),
            cache_write_1h: number_or_0(one_hour),
        }
    }

    /// Returns the larger of both for each number.
    fn max(self, other: TokenCounts) -> TokenCounts {
        TokenCounts {
            input: self.input.max(other.input),
            output: self.output.max(other.output),
            cache_read: self.cache_read.max(other.cache_read),
            cache_write: self.cache_write.max(other.cache_write),
            cache_write_1h: self.cache_write_1h.max(other.cache_write_1h),
        }
    }

    /// Returns, for each number, by how much it exceeds the number in `other`; 0 if it does not.
    fn excess_over(self, other: TokenCounts) -> TokenCounts {
        TokenCounts {
            input: (self.input - other.input).max(0.0),
            output: (self.output - other.output).max(0.0),
            cache_read: (self.cache_read - other.cache_read).max(0.0),
            cache_write: (self.cache_write - other.cache_write).max(0.0),
            cache_write_1h: (self.cache_write_1h - other.cache_write_1h).max(0.0),
        }
    }

    fn sum(self) -> f64 {
        self.input + self.output + self.cache_read + self.cache_write
    }
}

/// An index in [`ClaudeReader::responses`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct ResponseIx(pub(super) usize);

pub(super) struct ResponseState {
    /// The last entry with a part of the response.
    pub(super) last_node: NodeIx,
    /// The sum of the tokens in its entries.
    counted_tokens: TokenCounts,
    /// The number of its calls that are in the session and have no result. Calls in held lines do
    /// not count.
    pub(super) open_call_count: usize,
}

pub(super) struct ToolCallState {
    pub(super) name: Text<'static>,
    pub(super) response: ResponseIx,
    pub(super) place: CallPlace,
    /// Its last result.
    pub(super) last_result: Option<NodeIx>,
}

/// Where a call is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CallPlace {
    Session,
    /// In a line that is held back.
    HeldLine,
}

impl ToolCallState {
    /// Whether it is in the session, and has no result yet.
    pub(super) fn is_open(&self) -> bool {
        self.place == CallPlace::Session && self.last_result.is_none()
    }
}

impl ClaudeReader<'_> {
    /// Adds a response, or a part of one that comes too late to be merged with the rest. `line` is
    /// the first line, and `parts` are the other lines: Claude Code writes a line for each block.
    ///
    /// Returns `None`, and adds nothing, if there is neither a block with a counterpart nor an
    /// error.
    pub(super) fn add_response(
        &mut self,
        line: &ClaudeLine,
        parts: &[ClaudeLine],
    ) -> io::Result<Option<LineNodes>> {
        let content = line.content.unwrap_or(Raw::NULL.into());
        let only_text = text_as_blocks(content.raw());
        let content = match &only_text {
            Some(blocks) => Raw::from_checked(blocks).into(),
            None => content,
        };
        let blocks = ResponseBlocks::read(content, parts);
        let api_error = ApiError::read(line.value);
        if blocks.converted.is_empty() && api_error.text.is_none() {
            return Ok(None);
        }

        let attach_point = self.find_attach_point(line).parent;
        let continued = self.find_continued_response(line);
        let model = response_model(line);
        let model_change = self.add_model_change(line, &model, continued, attach_point)?;
        let parent = model_change.or(attach_point);

        let mut lines = vec![line];
        lines.extend(parts);
        let tokens = self.count_new_tokens(continued, &lines);
        let message = self
            .writer
            .begin_message(line.value)
            .str("role", "assistant")
            .objects("content", &blocks.converted, |object, block| {
                block.add_to(object)
            })
            .str("api", "anthropic-messages")
            .str("provider", "anthropic")
            .text("model", &model)
            .json("usage", &tokens.usage)
            .str("stopReason", blocks.find_stop_reason(&api_error, &lines))
            .with(line.response_id.as_ref(), |message, id| {
                message.text("responseId", id)
            });
        let message = api_error.add_to(message);
        let draft = line.draft_response(
            message,
            &["error", "apiErrorStatus"],
            &blocks.unconverted,
            parts,
        );
        let last = self.add_response_part(continued, parent, draft)?;

        let response = self.remember_response(continued, last, tokens.counted_tokens);
        self.remember_ids(response, line, &blocks);
        Ok(Some(LineNodes {
            first: model_change.unwrap_or(last),
            last,
            response: Some(response),
        }))
    }

    /// Records the id of a response that was added, by which late parts find it, and the ids of its
    /// calls, by which their results do.
    fn remember_ids(&mut self, response: ResponseIx, line: &ClaudeLine, blocks: &ResponseBlocks) {
        for call in blocks.calls() {
            self.remember_call(response, &call, CallPlace::Session);
        }
        if let Some(id) = &line.response_id {
            self.response_ids.insert(id.as_bytes().into(), response);
        }
    }

    /// Adds a change of the model before a response, if another model wrote the response before it.
    /// Returns the entry of the change; `None` if the model did not change.
    fn add_model_change(
        &mut self,
        line: &ClaudeLine,
        model: &Text<'static>,
        continued: Option<ResponseIx>,
        parent: Option<NodeIx>,
    ) -> io::Result<Option<NodeIx>> {
        // A sub-agent on a side chain may have a model of its own. No model wrote the messages that
        // Claude Code makes itself. Neither changes the model of the conversation.
        if line.is_sidechain || *model == SYNTHETIC_MODEL {
            return Ok(None);
        }
        let is_current_model = self.model.as_ref() == Some(model);
        if is_current_model {
            return Ok(None);
        }

        let members = Object::new()
            .str("provider", "anthropic")
            .text("modelId", model);
        let change = line.new_draft("model_change", members);
        let node = self.add_response_part(continued, parent, change)?;
        self.model = Some(model.clone());
        Ok(Some(node))
    }

    /// Returns the response that a line continues: the one with the same `message.id`, if the line
    /// is attached to that response. `None` if the line begins a response, or belongs to none.
    pub(super) fn find_continued_response(&self, line: &ClaudeLine) -> Option<ResponseIx> {
        let id = line.response_id.as_ref()?;
        let response = *self.response_ids.get(id.as_bytes())?;
        // A line with the same id that is attached elsewhere is on another branch.
        let is_attached_to_it = self.find_attach_point(line).response == Some(response);
        if is_attached_to_it {
            Some(response)
        } else {
            None
        }
    }

    /// Adds an entry of a response below `parent`. If the response is `continued`, it has entries
    /// already, and the new one belongs to them: later lines below `parent` follow it. Otherwise
    /// the response is a branch of its own.
    fn add_response_part(
        &mut self,
        continued: Option<ResponseIx>,
        parent: Option<NodeIx>,
        draft: EntryDraft,
    ) -> io::Result<NodeIx> {
        if continued.is_some() {
            self.writer.append(parent, draft)
        } else {
            self.writer.add_below_end(parent, draft)
        }
    }

    /// Records the calls in a line that is held back, whose results come later.
    pub(super) fn remember_held_calls(&mut self, response: ResponseIx, line: &ClaudeLine) {
        for block in line.blocks() {
            let block = ResponseBlock::read(block);
            if let Some(call) = block.as_ref().and_then(StoredCall::of_block) {
                self.remember_call(response, &call, CallPlace::HeldLine);
            }
        }
    }

    /// Records a call of a response under its id, in place of an earlier call with the same id.
    ///
    /// Keeps the invariant that `open_call_count` of a response is the number of its open calls.
    fn remember_call(&mut self, response: ResponseIx, call: &StoredCall, place: CallPlace) {
        let state = ToolCallState {
            name: decode(call.name).into_owned(),
            response,
            place,
            last_result: None,
        };
        if state.is_open() {
            self.responses[response.0].open_call_count += 1;
        }
        let replaced = self.calls.insert(decode(call.id).as_bytes().into(), state);
        if let Some(replaced) = replaced
            && replaced.is_open()
        {
            self.responses[replaced.response.0].open_call_count -= 1;
        }
    }

    /// Updates the state of the `continued` response, or stores the state of a new one. Returns the
    /// index of the response.
    fn remember_response(
        &mut self,
        continued: Option<ResponseIx>,
        last_node: NodeIx,
        counted_tokens: TokenCounts,
    ) -> ResponseIx {
        if let Some(ix) = continued {
            let response = &mut self.responses[ix.0];
            response.last_node = last_node;
            response.counted_tokens = counted_tokens;
            return ix;
        }
        self.responses.push(ResponseState {
            last_node,
            counted_tokens,
            open_call_count: 0,
        });
        ResponseIx(self.responses.len() - 1)
    }

    /// Returns the tokens that `lines`, parts of one response, add to its usage. `continued` is the
    /// response, if it has entries already.
    ///
    /// Each line repeats the usage of the whole response so far. So the largest numbers count, less
    /// what the existing entries have: otherwise a sum over the session would count tokens twice.
    fn count_new_tokens(
        &self,
        continued: Option<ResponseIx>,
        lines: &[&ClaudeLine],
    ) -> ResponseTokens {
        let already_counted = match continued {
            Some(response) => self.responses[response.0].counted_tokens,
            None => TokenCounts::default(),
        };
        let mut reported = TokenCounts::default();
        for line in lines {
            let usage = line.usage.unwrap_or(Raw::NULL.into());
            reported = reported.max(TokenCounts::of_usage(usage));
        }

        let added = reported.excess_over(already_counted);
        let usage = Usage {
            input: added.input,
            output: added.output,
            cache_read: added.cache_read,
            cache_write: added.cache_write,
            cache_write_1h: added.cache_write_1h,
            ..Usage::default()
        };
        // The context contains all that the request sent and got, not only what this entry adds.
        let context_tokens = reported.sum();
        ResponseTokens {
            counted_tokens: reported.max(already_counted),
            usage: usage_json(&usage, context_tokens, None),
        }
    }
}

/// The blocks of a response.
#[derive(Default)]
struct ResponseBlocks<'a> {
    /// The blocks of all its lines that have a counterpart.
    converted: Vec<ResponseBlock<'a>>,
    /// The blocks of the first line that have no counterpart.
    unconverted: Vec<Raw<'a>>,
}

/// A call in a block. The strings are the bytes between their quotes.
struct StoredCall<'a> {
    id: &'a [u8],
    name: &'a [u8],
}

impl<'a> StoredCall<'a> {
    /// Returns the call in a block. `None` if the block is not a call.
    fn of_block(block: &ResponseBlock<'a>) -> Option<StoredCall<'a>> {
        match block {
            ResponseBlock::Call { id, name, .. } => Some(StoredCall { id, name }),
            _ => None,
        }
    }
}

impl<'a> ResponseBlocks<'a> {
    /// Reads the blocks of a response. `content` are the blocks of its first line, and `parts` are
    /// its other lines. Of the blocks without a counterpart, only those of the first line are
    /// collected: [`part_members`](super::parts::part_members) keeps the others.
    fn read(content: Outlined<'a>, parts: &[ClaudeLine<'a>]) -> ResponseBlocks<'a> {
        let mut blocks = ResponseBlocks::default();
        for block in content.items() {
            match ResponseBlock::read(block) {
                Some(block) => blocks.converted.push(block),
                None => blocks.unconverted.push(block.raw()),
            }
        }
        for part in parts {
            let part_blocks = part.blocks().filter_map(ResponseBlock::read);
            blocks.converted.extend(part_blocks);
        }
        blocks
    }

    /// Iterates over the calls among the blocks.
    fn calls(&self) -> impl Iterator<Item = StoredCall<'a>> {
        self.converted.iter().filter_map(StoredCall::of_block)
    }

    /// Returns why the response ended, as pi names it. `lines` are all its lines, and `api_error`
    /// is the error in the first. The last reason counts, because earlier lines are written while
    /// the response goes on.
    fn find_stop_reason(&self, api_error: &ApiError, lines: &[&ClaudeLine]) -> &'static str {
        let mut last_reason = None;
        for line in lines {
            let reason = line.stop_reason.filter(|reason| !reason.is_null());
            last_reason = reason.or(last_reason);
        }
        let has_calls = self.calls().next().is_some();
        if last_reason.is_none() && has_calls {
            // The response was cut off while its calls ran: it stopped for these calls.
            return "toolUse";
        }
        convert_stop_reason(last_reason.map(Outlined::raw), api_error.is_flagged)
    }
}

/// What the API answered instead of a response, in the first line of the response.
struct ApiError<'a> {
    /// Whether the line is marked as an error.
    is_flagged: bool,
    text: Option<Text<'a>>,
    /// The status of HTTP: a number.
    status: Option<Raw<'a>>,
}

impl<'a> ApiError<'a> {
    /// Reads the error from a line, such as:
    ///
    /// ```text
    /// {"isApiErrorMessage":true,"error":"rate_limit","apiErrorStatus":429, …}
    /// ```
    ///
    /// Most lines have none of these members.
    fn read(line: Outlined<'a>) -> ApiError<'a> {
        let names = ["isApiErrorMessage", "error", "apiErrorStatus"];
        let [flag, error, status] = line.get_all(names);
        let is_flagged = flag.is_some_and(|flag| flag.bool() == Some(true));
        let text = error.and_then(|error| error.text());
        let status = status.map(Outlined::raw);
        ApiError {
            is_flagged,
            text: text.filter(|text| !text.is_empty()),
            status: status.filter(|status| status.is_number()),
        }
    }

    /// Adds the error to a message of pi.
    fn add_to(&self, message: Object) -> Object {
        message
            .with(self.text.as_ref(), |message, error| {
                message.text("errorMessage", error)
            })
            .with(self.status, |message, status| {
                message.raw("errorStatus", status)
            })
    }
}

/// Returns the model that wrote a response; `unknown` if the line does not name it.
fn response_model(line: &ClaudeLine) -> Text<'static> {
    let model = line.model.and_then(|model| model.text());
    match model {
        Some(model) if !model.is_empty() => model.into_owned(),
        _ => Text::from("unknown"),
    }
}

/// Returns the JSON of one text block if the content of a message is a string, as other programs
/// write it. Claude Code writes blocks, for which this is `None`.
fn text_as_blocks(content: Raw) -> Option<Vec<u8>> {
    let text = content.text()?;
    if text.is_empty() {
        return None;
    }
    Some(text_content(&text))
}

/// The tokens of a response after an entry was added.
struct ResponseTokens {
    /// The sum of the tokens in its entries, the new one included.
    counted_tokens: TokenCounts,
    /// The `usage` object of the new entry, as JSON.
    usage: Vec<u8>,
}
