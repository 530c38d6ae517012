//! Parts of entries that the readers of several agents build in the same way.

use pisess_core::session::usage::Usage;
use pisess_json::Raw;
use pisess_json::outline::Outlined;
use pisess_json::text::Text;
use pisess_json::time::date_from_value;
use pisess_json::write::Object;

/// Builds a `usage` object. `context_tokens` is the number of tokens in the context, including the
/// response. `reasoning` is the part of the output tokens that were spent on reasoning, if known.
///
/// Most sources record no cost. The cost is then 0 and marked as unknown, because pi reads
/// `cost.total` without checking that there is a cost. If a cost is recorded, only its total is
/// known.
pub fn usage_json(usage: &Usage, context_tokens: f64, reasoning: Option<f64>) -> Vec<u8> {
    let mut members = Object::new()
        .number("input", usage.input)
        .number("output", usage.output)
        .number("cacheRead", usage.cache_read)
        .number("cacheWrite", usage.cache_write)
        .number("totalTokens", context_tokens);
    if usage.cache_write_1h > 0.0 {
        members = members.number("cacheWrite1h", usage.cache_write_1h);
    }
    if let Some(reasoning) = reasoning {
        members = members.number("reasoning", reasoning);
    }

    let Some(total_cost) = usage.cost else {
        return members.json("cost", UNKNOWN_COST).finish();
    };
    let cost = Object::new()
        .number("input", 0.0)
        .number("output", 0.0)
        .number("cacheRead", 0.0)
        .number("cacheWrite", 0.0)
        .number("total", total_cost);
    members.object("cost", &cost).finish()
}

/// The cost of a response for which the source records none.
const UNKNOWN_COST: &[u8] =
    br#"{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0,"unknown":true}"#;

/// Returns the string at `key`; `None` if there is no string, or it is empty.
pub fn non_empty_text<'a>(object: impl Into<Outlined<'a>>, key: &str) -> Option<Text<'a>> {
    let value = object.into().get(key)?.raw();
    value.text().filter(|text| !text.is_empty())
}

/// Returns the string at `key` as it is stored: the bytes between its quotes. `None` if there is no
/// string, or it is empty.
pub fn non_empty_string<'a>(object: Outlined<'a>, key: &str) -> Option<&'a [u8]> {
    let string = object.get(key)?.raw_string()?;
    if string.is_empty() {
        return None;
    }
    Some(string)
}

/// Returns a time in milliseconds since 1970. `value` is a number of milliseconds, or a string that
/// JavaScript reads as a time. `None` for any other value.
pub fn parse_time_ms(value: Option<Raw>) -> Option<i64> {
    date_from_value(value.filter(|value| value.is_number() || value.is_string()))
}

/// Builds the members of the custom entry `AGENT.KIND`, which keeps a line without a counterpart.
/// `data` is JSON.
pub fn kept_line_members(agent: &str, kind: &str, data: &[u8]) -> Object {
    Object::with_capacity(data.len() + SMALL_MEMBERS_LEN)
        .str("customType", &format!("{agent}.{kind}"))
        .json("data", data)
}

/// Builds the members of the custom message `AGENT.KIND`, which the model sees. `content` is JSON.
/// `is_shown` is whether the user sees the message, too.
pub fn custom_message_members(agent: &str, kind: &str, content: &[u8], is_shown: bool) -> Object {
    Object::new()
        .str("customType", &format!("{agent}.{kind}"))
        .json("content", content)
        .bool("display", is_shown)
}

/// Builds the members of the custom message `AGENT.KIND`, which the model sees, but not the user.
/// `content` is JSON.
pub fn hidden_message_members(agent: &str, kind: &str, content: &[u8]) -> Object {
    let is_shown = false;
    custom_message_members(agent, kind, content, is_shown)
}

/// Copies the members of an object except those with `converted_keys`, which are converted to
/// members of the entry.
pub fn unconverted_members<'a>(object: impl Into<Outlined<'a>>, converted_keys: &[&str]) -> Object {
    add_unconverted_members(Object::new(), object, converted_keys)
}

/// Adds to `unconverted` the members that [`unconverted_members`] copies.
pub fn add_unconverted_members<'a>(
    mut unconverted: Object,
    object: impl Into<Outlined<'a>>,
    converted_keys: &[&str],
) -> Object {
    for member in object.into().stored_members() {
        if !converted_keys.iter().any(|name| member.key.is(name)) {
            unconverted = unconverted.stored_member(&member);
        }
    }
    unconverted
}

/// The maximum number of bytes of the members of an entry that are not from its line.
pub const SMALL_MEMBERS_LEN: usize = 768;

/// Adds the members of a text block of a stored string: the bytes between its quotes, which need
/// not be decoded (see [`Object::stored_text`]).
pub fn add_stored_text(block: Object, text: &[u8]) -> Object {
    block.str("type", "text").stored_text("text", text)
}

/// Builds a block of thinking.
pub fn thinking_block(thought: &Text) -> Vec<u8> {
    add_thinking(Object::new(), thought).finish()
}

/// Adds the members of a block of thinking.
pub fn add_thinking(block: Object, thought: &Text) -> Object {
    block.str("type", "thinking").text("thinking", thought)
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

/// Returns the members `type` and `text` of a block. The text is `None` if it is not a string.
pub fn type_and_text<'a>(block: impl Into<Outlined<'a>>) -> (Option<Raw<'a>>, Option<Text<'a>>) {
    let [kind, text] = block.into().get_all(["type", "text"]);
    let text = text.and_then(|text| text.raw().text());
    (kind.map(Outlined::raw), text)
}
