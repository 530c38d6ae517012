//! Converts blocks of Claude Code's messages to blocks of pi.

use crate::parts::{image_block, non_empty_text, type_and_text};
use pisess_core::session::content::{is_block, text_block, text_content};
use pisess_json::Raw;
use pisess_json::string::encode_to_vec;
use pisess_json::text::Text;
use pisess_json::write::{Object, array};

/// Converts a block that is sent to the model, by the user or as part of a result: a text or an
/// image. `None` for any other block.
pub fn convert_user_block(block: Raw) -> Option<Vec<u8>> {
    let (block_type, text) = type_and_text(block);
    let block_type = block_type?;
    if let Some(text) = text
        && block_type.is("text")
    {
        return Some(text_block(&text));
    }
    if block_type.is("image") {
        let source = block.get("source")?;
        return image_block(source.get_text("data"), source.get_text("media_type"));
    }
    None
}

/// Returns the id of the call whose result a block is. `None` if the block is not a result.
pub fn answered_call_id<'a>(block: Raw<'a>) -> Option<Text<'a>> {
    if is_block(block, "tool_result") {
        non_empty_text(block, "tool_use_id")
    } else {
        None
    }
}

/// Builds the message for a tool result. `block` is the result as the model sees it. `details` is
/// what Claude Code stores beside the block, and contains more than the model sees. `tool_name` is
/// `None` if the call was not read.
pub fn build_result_message(
    block: Raw,
    call_id: &Text,
    tool_name: Option<Text>,
    details: Option<Raw>,
) -> Object {
    let content = block.get("content").unwrap_or(Raw::NULL);
    let converted_content = match content.text() {
        Some(text) => text_content(&text),
        None => array(content.items().filter_map(convert_user_block)),
    };

    // Blocks without a counterpart, such as references to tools, would be lost. So if there are
    // any, and Claude Code stored no details, the whole content is kept as the details.
    let is_converted_whole = content.is_string()
        || content
            .items()
            .all(|block| convert_user_block(block).is_some());
    let details = match details {
        Some(details) => Some(details),
        None if is_converted_whole => None,
        None => Some(content),
    };
    let tool_name = tool_name.unwrap_or_else(|| Text::from("unknown"));
    let is_error = block.get("is_error").and_then(Raw::bool) == Some(true);

    Object::new()
        .str("role", "toolResult")
        .text("toolCallId", call_id)
        .text("toolName", &tool_name)
        .json("content", &converted_content)
        .with(details, |message, details| message.raw("details", details))
        .bool("isError", is_error)
}

/// A block of a response that has a counterpart in pi. The values are JSON strings.
pub enum ResponseBlock<'a> {
    Text(Raw<'a>),
    Thinking {
        thinking: Raw<'a>,
        /// By it, the provider accepts the thinking again.
        signature: Option<Raw<'a>>,
    },
    /// Thinking of which only an encrypted form exists.
    RedactedThinking {
        encrypted: Raw<'a>,
    },
    Call {
        id: Raw<'a>,
        name: Raw<'a>,
        /// An object, if the source has one.
        input: Option<Raw<'a>>,
    },
}

impl<'a> ResponseBlock<'a> {
    /// Reads a block by its type. `None` if the type has no counterpart, or a required member is
    /// missing.
    pub fn read(block: Raw<'a>) -> Option<ResponseBlock<'a>> {
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
                input: block.get("input").filter(|input| input.is_object()),
            });
        }
        None
    }

    /// Returns the JSON of the block as pi has it. Encrypted thinking becomes the signature, where
    /// pi expects it. Arguments that are not an object become an empty object.
    pub fn to_json(&self) -> Vec<u8> {
        match self {
            ResponseBlock::Text(text) => text_block(&decode_member(text)),
            ResponseBlock::Thinking {
                thinking,
                signature,
            } => Object::new()
                .str("type", "thinking")
                .text("thinking", &decode_member(thinking))
                .with(signature.as_ref(), |block, signature| {
                    block.text("thinkingSignature", &decode_member(signature))
                })
                .finish(),
            ResponseBlock::RedactedThinking { encrypted } => Object::new()
                .str("type", "thinking")
                .str("thinking", "[Reasoning redacted]")
                .text("thinkingSignature", &decode_member(encrypted))
                .bool("redacted", true)
                .finish(),
            ResponseBlock::Call { id, name, input } => Object::new()
                .str("type", "toolCall")
                .text("id", &decode_member(id))
                .text("name", &decode_member(name))
                .raw("arguments", input.unwrap_or(Raw::from_checked(b"{}")))
                .finish(),
        }
    }
}

/// Returns the member `key` if it is a string.
fn string_member<'a>(object: Raw<'a>, key: &str) -> Option<Raw<'a>> {
    object.get(key).filter(|value| value.is_string())
}

/// Returns the member `key` if it is a string that is not empty.
fn non_empty_member<'a>(object: Raw<'a>, key: &str) -> Option<Raw<'a>> {
    string_member(object, key).filter(|value| !value.is(""))
}

/// Decodes a member that was read as a string.
fn decode_member<'a>(string: &Raw<'a>) -> Text<'a> {
    string.text().unwrap_or_default()
}

/// Converts a block of a response: a text, thinking or a call. `None` if it has no counterpart.
pub fn convert_response_block(block: Raw) -> Option<Vec<u8>> {
    Some(ResponseBlock::read(block)?.to_json())
}

/// Converts the content of the message of a line. If the message has a tool result, this is the
/// content of the first result. `None` if there is no content.
pub fn line_content(line_type: &str, message: Raw) -> Option<Vec<u8>> {
    let content = message.get("content")?;
    if line_type == "assistant" {
        return Some(array(content.items().filter_map(convert_response_block)));
    }
    let result = content
        .items()
        .find(|block| is_block(*block, "tool_result"));
    if let Some(result) = result {
        let content = result.get("content")?;
        return Some(match content.text() {
            Some(text) => text_content(&text),
            None => array(content.items().filter_map(convert_user_block)),
        });
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

/// Converts the reason why a response ended. A reason without a counterpart, such as `refusal`,
/// becomes `error`. A line that was written before the response ended has no reason, and gets
/// `stop`.
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
