//! Blocks of Claude Code's messages, as pi has them.

use crate::parts::{image, text, typed_text};
use pisess_core::session::content::{is_block, text_block, text_content};
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_json::write::{Object, array};

/// Returns a text or an image that is sent to the model.
pub fn part(block: Raw) -> Option<Vec<u8>> {
    let (kind, text) = typed_text(block);
    match (kind?, text) {
        (kind, Some(text)) if kind.is("text") => Some(text_block(&text)),
        (kind, _) if kind.is("image") => {
            let source = block.get("source")?;
            image(source.get_text("data"), source.get_text("media_type"))
        }
        _ => None,
    }
}

/// Returns the id of the call that a block has the result of.
pub fn result_of<'a>(block: Raw<'a>) -> Option<Text<'a>> {
    text(block, "tool_use_id").filter(|_| is_block(block, "tool_result"))
}

/// Returns the message with the result of a call.
pub fn result(block: Raw, id: &Text, name: Option<Text>, details: Option<Raw>) -> Object {
    let content = block.get("content").unwrap_or(Raw::NULL);
    let parts = content.text().map_or_else(
        || array(content.items().filter_map(part)),
        |text| text_content(&text),
    );
    // Blocks without a counterpart, such as references to tools.
    let is_whole = content.is_string() || content.items().all(|block| part(block).is_some());
    Object::new()
        .str("role", "toolResult")
        .text("toolCallId", id)
        .text("toolName", &name.unwrap_or_else(|| Text::from("unknown")))
        .json("content", &parts)
        .with(details, |message, details| message.raw("details", details))
        .with(
            (details.is_none() && !is_whole).then_some(content),
            |message, content| message.raw("details", content),
        )
        .bool(
            "isError",
            block.get("is_error").and_then(Raw::bool) == Some(true),
        )
}

/// Returns a block of a response.
pub fn answer(block: Raw) -> Option<Vec<u8>> {
    let (kind, said) = typed_text(block);
    let kind = kind?;
    let block = match () {
        () if kind.is("text") => return Some(text_block(&said?)),
        () if kind.is("thinking") => Object::new()
            .str("type", "thinking")
            .text("thinking", &block.get_text("thinking")?)
            .with(block.get_text("signature"), |made, signature| {
                made.text("thinkingSignature", &signature)
            }),
        () if kind.is("redacted_thinking") => Object::new()
            .str("type", "thinking")
            .str("thinking", "[Reasoning redacted]")
            .text("thinkingSignature", &text(block, "data")?)
            .bool("redacted", true),
        () if kind.is("tool_use") => {
            let input = block.get("input").filter(|input| input.is_object());
            Object::new()
                .str("type", "toolCall")
                .text("id", &text(block, "id")?)
                .text("name", &text(block, "name")?)
                .raw("arguments", input.unwrap_or(Raw::checked(b"{}")))
        }
        () => return None,
    };
    Some(block.finish())
}

pub fn stop_reason(reason: Option<Raw>, is_error: bool) -> &'static str {
    let is = |names: &[&str]| reason.is_some_and(|reason| names.iter().any(|name| reason.is(name)));
    match reason {
        _ if is_error => "error",
        _ if is(&["tool_use"]) => "toolUse",
        _ if is(&["max_tokens"]) => "length",
        _ if is(&["end_turn", "stop_sequence", "pause_turn"]) => "stop",
        Some(reason) if !reason.is_null() => "error",
        _ => "stop",
    }
}
