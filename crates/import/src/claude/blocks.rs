//! Blocks of Claude Code's messages, converted to those of pi.

use crate::parts::{image_block, non_empty_text, type_and_text};
use pisess_core::session::content::{is_block, text_block, text_content};
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_json::write::{Object, array};

/// Converts a text or an image that is sent to the model, by the user or as part of a result.
/// `None` for any other block.
pub fn convert_user_block(block: Raw) -> Option<Vec<u8>> {
    let (kind, text) = type_and_text(block);
    let kind = kind?;
    if let Some(text) = text
        && kind.is("text")
    {
        return Some(text_block(&text));
    }
    if kind.is("image") {
        let source = block.get("source")?;
        return image_block(source.get_text("data"), source.get_text("media_type"));
    }
    None
}

/// The id of the call that a block answers, if the block is the result of a call.
pub fn answered_call_id<'a>(block: Raw<'a>) -> Option<Text<'a>> {
    if is_block(block, "tool_result") {
        non_empty_text(block, "tool_use_id")
    } else {
        None
    }
}

/// Builds the message for the result of the call `id` of the tool `name`. `details` is the result
/// as Claude Code itself stores it, which has more than the model sees.
pub fn build_result_message(
    block: Raw,
    id: &Text,
    name: Option<Text>,
    details: Option<Raw>,
) -> Object {
    let content = block.get("content").unwrap_or(Raw::NULL);
    let converted_content = match content.text() {
        Some(text) => text_content(&text),
        None => array(content.items().filter_map(convert_user_block)),
    };

    // Blocks without a counterpart, such as references to tools, would be lost: in their place the
    // details have the whole content.
    let is_whole = content.is_string()
        || content
            .items()
            .all(|block| convert_user_block(block).is_some());
    let unconverted_content = if is_whole { None } else { Some(content) };
    let is_error = block.get("is_error").and_then(Raw::bool) == Some(true);

    Object::new()
        .str("role", "toolResult")
        .text("toolCallId", id)
        .text("toolName", &name.unwrap_or_else(|| Text::from("unknown")))
        .json("content", &converted_content)
        .with(details.or(unconverted_content), |message, details| {
            message.raw("details", details)
        })
        .bool("isError", is_error)
}

/// Converts a block of a response: a text, a thought or a call. `None` for any other block, and
/// for one that lacks a member.
pub fn convert_response_block(block: Raw) -> Option<Vec<u8>> {
    let (kind, text) = type_and_text(block);
    let kind = kind?;

    if kind.is("text") {
        return text.map(|text| text_block(&text));
    }

    if kind.is("thinking") {
        let thinking = block.get_text("thinking")?;
        let converted = Object::new()
            .str("type", "thinking")
            .text("thinking", &thinking)
            .with(block.get_text("signature"), |converted, signature| {
                converted.text("thinkingSignature", &signature)
            });
        return Some(converted.finish());
    }

    if kind.is("redacted_thinking") {
        let encrypted = non_empty_text(block, "data")?;
        let converted = Object::new()
            .str("type", "thinking")
            .str("thinking", "[Reasoning redacted]")
            .text("thinkingSignature", &encrypted)
            .bool("redacted", true);
        return Some(converted.finish());
    }

    if kind.is("tool_use") {
        let id = non_empty_text(block, "id")?;
        let name = non_empty_text(block, "name")?;
        let input = block.get("input").filter(|input| input.is_object());
        let converted = Object::new()
            .str("type", "toolCall")
            .text("id", &id)
            .text("name", &name)
            .raw("arguments", input.unwrap_or(Raw::from_checked(b"{}")));
        return Some(converted.finish());
    }

    None
}

/// Anthropic's reasons to end a response, and those of pi.
const STOP_REASONS: [(&str, &str); 5] = [
    ("tool_use", "toolUse"),
    ("max_tokens", "length"),
    ("end_turn", "stop"),
    ("stop_sequence", "stop"),
    ("pause_turn", "stop"),
];

/// Converts the reason to end a response. A reason without a counterpart, such as `refusal`, is an
/// error; a line that was written before the response ended has none, and is taken as `stop`.
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
