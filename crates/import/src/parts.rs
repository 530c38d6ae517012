//! What the readers of several agents build alike.

use pisess_core::session::content::find_members;
use pisess_core::session::usage::Usage;
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_json::time::date_from_value;
use pisess_json::write::Object;

/// Builds a `usage` object. `context_tokens` is the number of tokens in the context, including the
/// response. `reasoning` is the part of the output tokens that were spent on reasoning, if known.
///
/// Most sources record no cost. It is zero then and marked as unknown, because pi reads
/// `cost.total` without checking that there is a cost. Of one that is recorded, only the total is
/// known.
pub fn usage_json(usage: &Usage, context_tokens: f64, reasoning: Option<f64>) -> Vec<u8> {
    let mut cost = Object::new();
    for name in ["input", "output", "cacheRead", "cacheWrite"] {
        cost = cost.number(name, 0.0);
    }
    cost = cost.number("total", usage.cost.unwrap_or(0.0));
    if usage.cost.is_none() {
        cost = cost.bool("unknown", true);
    }
    let cost = cost.finish();
    let write_1h = (usage.cache_write_1h > 0.0).then_some(usage.cache_write_1h);

    Object::new()
        .number("input", usage.input)
        .number("output", usage.output)
        .number("cacheRead", usage.cache_read)
        .number("cacheWrite", usage.cache_write)
        .number("totalTokens", context_tokens)
        .with(write_1h, |usage, write_1h| {
            usage.number("cacheWrite1h", write_1h)
        })
        .with(reasoning, |usage, reasoning| {
            usage.number("reasoning", reasoning)
        })
        .json("cost", &cost)
        .finish()
}

/// The string at `key`, unless it is empty.
pub fn non_empty_text<'a>(object: Raw<'a>, key: &str) -> Option<Text<'a>> {
    object.get_text(key).filter(|text| !text.is_empty())
}

/// The time of a line in milliseconds since 1970, from a number of them or a string that JavaScript
/// reads as a time.
pub fn parse_time_ms(value: Option<Raw>) -> Option<i64> {
    date_from_value(value.filter(|value| value.is_number() || value.is_string()))
}

/// The members of the custom entry `AGENT.KIND`, which keeps a line without a counterpart as
/// `data`.
pub fn kept_line_members(agent: &str, kind: &str, data: &[u8]) -> Object {
    Object::new()
        .str("customType", &format!("{agent}.{kind}"))
        .json("data", data)
}

/// The members of the custom message `AGENT.KIND`, which the model sees. `is_shown` is whether the
/// user sees it as well.
pub fn custom_message_members(agent: &str, kind: &str, content: &[u8], is_shown: bool) -> Object {
    Object::new()
        .str("customType", &format!("{agent}.{kind}"))
        .json("content", content)
        .bool("display", is_shown)
}

/// Copies the members of an object except those with `converted_keys`, which have a counterpart in
/// the entry.
pub fn unconverted_members(object: Raw, converted_keys: &[&str]) -> Object {
    let mut unconverted = Object::new();
    for (key, value) in object.members() {
        if !converted_keys.iter().any(|name| key.is(name)) {
            unconverted = unconverted.raw(&key.text().to_string_lossy(), value);
        }
    }
    unconverted
}

/// Builds a block of thinking.
pub fn thinking_block(thought: &Text) -> Vec<u8> {
    Object::new()
        .str("type", "thinking")
        .text("thinking", thought)
        .finish()
}

/// Builds an image block from base64 data and a MIME type; `None` if either is missing or empty.
pub fn image_block(data: Option<Text>, mime: Option<Text>) -> Option<Vec<u8>> {
    let data = data.filter(|data| !data.is_empty())?;
    let mime = mime.filter(|mime| !mime.is_empty())?;
    let image = Object::new()
        .str("type", "image")
        .text("data", &data)
        .text("mimeType", &mime);
    Some(image.finish())
}

/// The members `type` and `text` of a block.
pub fn type_and_text<'a>(block: Raw<'a>) -> (Option<Raw<'a>>, Option<Text<'a>>) {
    let [kind, text] = find_members(block, ["type", "text"]);
    (kind, text.and_then(Raw::text))
}
