//! What the items of a Codex session say: their texts, thoughts and images.

use crate::parts::{image, text, typed_text};
use foldhash::fast::FixedState;
use pisess_core::session::content::{members, text_block};
use pisess_json::Raw;
use pisess_json::text::{Text, joined};
use pisess_json::write::Object;
use std::hash::BuildHasher;

/// Returns a hash of what a line of this kind says.
pub fn print(kind: &str, text: &Text) -> u64 {
    FixedState::default().hash_one((kind, text.as_bytes()))
}

/// Returns the prints of what an item says: events that say the same repeat it.
pub fn prints(item: Raw) -> Vec<u64> {
    let [kind, role, content, call, id] =
        members(item, ["type", "role", "content", "call_id", "id"]);
    let is = |value: Option<Raw>, name: &str| value.is_some_and(|value| value.is(name));
    if is(kind, "message") {
        let said = array_text(content.unwrap_or(Raw::NULL));
        let role = if is(role, "user") {
            "user"
        } else {
            "assistant"
        };
        return if said.is_empty() {
            Vec::new()
        } else {
            vec![print(role, &said)]
        };
    }
    if is(kind, "reasoning") {
        return reasoning(item)
            .iter()
            .map(|thought| print("assistant", thought))
            .collect();
    }
    let is_call = kind
        .and_then(Raw::text)
        .is_some_and(|kind| kind.to_string_lossy().contains("call"));
    let named = call.and_then(Raw::text).or_else(|| id.and_then(Raw::text));
    named
        .filter(|_| is_call)
        .iter()
        .map(|call| print("call", call))
        .collect()
}

/// Returns the texts of content, joined.
pub fn array_text(content: Raw) -> Text<'static> {
    joined(content.items().filter_map(said), "")
}

/// Returns the text of a block of content.
pub fn said<'a>(block: Raw<'a>) -> Option<Text<'a>> {
    let (kind, text) = typed_text(block);
    let is_text = |kind: Raw| {
        ["input_text", "output_text", "text"]
            .iter()
            .any(|name| kind.is(name))
    };
    text.filter(|_| kind.is_some_and(is_text))
}

/// Returns the texts of a reasoning item.
pub fn reasoning(item: Raw) -> Vec<Text<'static>> {
    let parts = ["summary", "content"]
        .into_iter()
        .filter_map(|key| item.get(key));
    let texts = parts
        .flat_map(|part| part.items())
        .filter_map(|part| text(part, "text"));
    texts.map(Text::into_owned).collect()
}

/// Returns a thought as a block.
pub fn thinking(thought: &Text) -> Vec<u8> {
    Object::new()
        .str("type", "thinking")
        .text("thinking", thought)
        .finish()
}

/// Returns the blocks of a message with this content: its texts and images.
pub fn blocks(content: Raw) -> Vec<Vec<u8>> {
    content
        .items()
        .filter_map(|block| match said(block) {
            Some(text) => Some(text_block(&text)),
            None => block
                .get("type")
                .filter(|kind| kind.is("input_image"))
                .and_then(|_| picture(block)),
        })
        .collect()
}

/// Returns an image from a `data:` URL.
pub fn picture(block: Raw) -> Option<Vec<u8>> {
    let url = block.get_text("image_url")?.to_string_lossy().into_owned();
    let (mime, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
    image(
        Some(Text::from(data)),
        Some(Text::from(mime.split(';').next().unwrap_or(mime))),
    )
}
