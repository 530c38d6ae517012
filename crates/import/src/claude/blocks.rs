//! Converts blocks of Claude Code's messages to blocks of pi.

use crate::parts::{SMALL_MEMBERS_LEN, non_empty_text, stored_text_block};
use pisess_json::Raw;
use pisess_json::outline::Outlined;
use pisess_json::string::encode_to_vec;
use pisess_json::text::Text;
use pisess_json::write::{Object, array};

/// Converts a block that is sent to the model, by the user or as part of a result: a text or an
/// image. `None` for any other block.
pub fn convert_user_block<'a>(block: impl Into<Outlined<'a>>) -> Option<Vec<u8>> {
    Some(UserBlock::read(block.into())?.to_json())
}

/// A block that is sent to the model, and has a counterpart in pi. The values are the bytes of JSON
/// strings between their quotes.
pub enum UserBlock<'a> {
    Text(&'a [u8]),
    Image { data: &'a [u8], mime: &'a [u8] },
}

impl<'a> UserBlock<'a> {
    /// Reads a block by its type. `None` if the type has no counterpart, or a required member is
    /// missing.
    pub fn read(block: Outlined<'a>) -> Option<UserBlock<'a>> {
        let [block_type, text, source] = block.get_all(["type", "text", "source"]);
        let block_type = block_type?;
        if block_type.is("text") {
            return Some(UserBlock::Text(text?.raw_string()?));
        }
        if block_type.is("image") {
            let [data, mime] = source?.get_all(["data", "media_type"]);
            let data = data?.raw_string().filter(|data| !data.is_empty())?;
            let mime = mime?.raw_string().filter(|mime| !mime.is_empty())?;
            return Some(UserBlock::Image { data, mime });
        }
        None
    }

    /// Returns the JSON of the block as pi has it.
    pub fn to_json(&self) -> Vec<u8> {
        match self {
            UserBlock::Text(text) => stored_text_block(text),
            UserBlock::Image { data, mime } => Object::new()
                .str("type", "image")
                .stored_text("data", data)
                .stored_text("mimeType", mime)
                .finish(),
        }
    }
}

/// Whether the value is a block of the type `kind`, such as `tool_result`.
pub fn is_of_type(block: Outlined, kind: &str) -> bool {
    block
        .get("type")
        .is_some_and(|block_type| block_type.is(kind))
}

/// Returns the id of the call whose result a block is. `None` if the block is not a result.
pub fn answered_call_id<'a>(block: Outlined<'a>) -> Option<Text<'a>> {
    if is_of_type(block, "tool_result") {
        non_empty_text(block, "tool_use_id")
    } else {
        None
    }
}

/// Builds the message for a tool result. `block` is the result as the model sees it. `details` is
/// what Claude Code stores beside the block, and contains more than the model sees. `tool_name` is
/// `None` if the call was not read.
pub fn build_result_message(
    block: Outlined,
    call_id: &Text,
    tool_name: Option<Text>,
    details: Option<Raw>,
) -> Object {
    let [content, is_error] = block.get_all(["content", "is_error"]);
    let content = content.unwrap_or(Raw::NULL.into());
    let converted_content = convert_result_content(content);

    // Blocks without a counterpart, such as references to tools, would be lost. So if there are
    // any, and Claude Code stored no details, the whole content is kept as the details. (pi shows
    // details to the user, but does not send them.)
    let is_converted_whole = content.is_string()
        || content
            .items()
            .all(|block| UserBlock::read(block).is_some());
    let details = match details {
        Some(details) => Some(details),
        None if is_converted_whole => None,
        None => Some(content.raw()),
    };
    let tool_name = tool_name.unwrap_or_else(|| Text::from("unknown"));
    let is_error = is_error.is_some_and(|flag| flag.bool() == Some(true));

    let details_len = details.map_or(0, |details| details.bytes().len());
    Object::with_capacity(converted_content.len() + details_len + SMALL_MEMBERS_LEN)
        .str("role", "toolResult")
        .text("toolCallId", call_id)
        .text("toolName", &tool_name)
        .json("content", &converted_content)
        .with(details, |message, details| message.raw("details", details))
        .bool("isError", is_error)
}

/// Converts the content of a tool result.
fn convert_result_content(content: Outlined) -> Vec<u8> {
    match content.raw_string() {
        Some(text) => array([stored_text_block(text)]),
        None => array(content.items().filter_map(convert_user_block)),
    }
}

/// The text of thinking of which only an encrypted form exists.
pub const REDACTED_PLACEHOLDER: &str = "[Reasoning redacted]";

/// A block of a response that has a counterpart in pi. Strings are the bytes between their quotes.
pub enum ResponseBlock<'a> {
    Text(&'a [u8]),
    Thinking {
        thinking: &'a [u8],
        /// By it, the provider accepts the thinking again.
        signature: Option<&'a [u8]>,
    },
    /// Thinking of which only an encrypted form exists.
    RedactedThinking {
        encrypted: &'a [u8],
    },
    Call {
        id: &'a [u8],
        name: &'a [u8],
        /// An object, if the source has one.
        input: Option<Raw<'a>>,
    },
}

impl<'a> ResponseBlock<'a> {
    /// Reads a block by its type. `None` if the type has no counterpart, or a required member is
    /// missing.
    pub fn read(block: Outlined<'a>) -> Option<ResponseBlock<'a>> {
        let block_type = block.get("type")?;
        if block_type.is("text") {
            return string_member(block, "text").map(ResponseBlock::Text);
        }
        if block_type.is("thinking") {
            return Some(ResponseBlock::Thinking {
                thinking: string_member(block, "thinking")?,
                signature: string_member(block, "signature"),
            });
        }
        if block_type.is("redacted_thinking") {
            let encrypted = non_empty_member(block, "data")?;
            return Some(ResponseBlock::RedactedThinking { encrypted });
        }
        if block_type.is("tool_use") {
            return Some(ResponseBlock::Call {
                id: non_empty_member(block, "id")?,
                name: non_empty_member(block, "name")?,
                input: block
                    .get("input")
                    .map(Outlined::raw)
                    .filter(|input| input.is_object()),
            });
        }
        None
    }

    /// Returns the JSON of the block as pi has it. Encrypted thinking becomes the signature, where
    /// pi expects it. Arguments that are not an object become an empty object.
    pub fn to_json(&self) -> Vec<u8> {
        match self {
            ResponseBlock::Text(text) => stored_text_block(text),
            ResponseBlock::Thinking {
                thinking,
                signature,
            } => Object::new()
                .str("type", "thinking")
                .stored_text("thinking", thinking)
                .with(signature.as_ref(), |block, signature| {
                    block.stored_text("thinkingSignature", signature)
                })
                .finish(),
            ResponseBlock::RedactedThinking { encrypted } => Object::new()
                .str("type", "thinking")
                .str("thinking", REDACTED_PLACEHOLDER)
                .stored_text("thinkingSignature", encrypted)
                .bool("redacted", true)
                .finish(),
            ResponseBlock::Call { id, name, input } => Object::new()
                .str("type", "toolCall")
                .stored_text("id", id)
                .stored_text("name", name)
                .raw("arguments", input.unwrap_or(Raw::from_checked(b"{}")))
                .finish(),
        }
    }
}

/// Returns the member `key` if it is a string.
fn string_member<'a>(object: Outlined<'a>, key: &str) -> Option<&'a [u8]> {
    object.get(key)?.raw_string()
}

/// Returns the member `key` if it is a string that is not empty.
fn non_empty_member<'a>(object: Outlined<'a>, key: &str) -> Option<&'a [u8]> {
    string_member(object, key).filter(|string| !string.is_empty())
}

/// Converts a block of a response: a text, thinking or a call. `None` if it has no counterpart.
pub fn convert_response_block(block: Outlined) -> Option<Vec<u8>> {
    Some(ResponseBlock::read(block)?.to_json())
}

/// Returns the content that an import makes of a line, as JSON. `line_type` is `assistant` or
/// `user`. If the message has a tool result, this is the content of the first result. `None` if
/// there is no content.
pub fn line_content<'a>(line_type: &str, message: impl Into<Outlined<'a>>) -> Option<Vec<u8>> {
    let content = message.into().get("content")?;
    if line_type == "assistant" {
        return Some(array(content.items().filter_map(convert_response_block)));
    }
    let result = content
        .items()
        .find(|block| is_of_type(*block, "tool_result"));
    if let Some(result) = result {
        return Some(convert_result_content(result.get("content")?));
    }
    Some(match content.text() {
        Some(text) => encode_to_vec(&text),
        None => array(content.items().filter_map(convert_user_block)),
    })
}

/// Anthropic's reasons to end a response, each with pi's reason.
const STOP_REASONS: [(&str, &str); 5] = [
    ("tool_use", "toolUse"),
    ("max_tokens", "length"),
    ("end_turn", "stop"),
    ("stop_sequence", "stop"),
    ("pause_turn", "stop"),
];

/// Converts Anthropic's reason why a response ended to pi's. A reason without a counterpart, such
/// as `refusal`, becomes `error`. A line that was written before the response ended has no reason,
/// and gets `stop`.
///
/// If `is_error` is true, the response is an error of the API: the result is `error` in any case.
pub fn convert_stop_reason(reason: Option<Raw>, is_error: bool) -> &'static str {
    if is_error {
        return "error";
    }
    let Some(reason) = reason.filter(|reason| !reason.is_null()) else {
        return "stop";
    };
    for (anthropic, pi) in STOP_REASONS {
        if reason.is(anthropic) {
            return pi;
        }
    }
    "error"
}
