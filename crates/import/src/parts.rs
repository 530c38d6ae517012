//! What the readers of both agents build alike.

use pisess_core::session::content::members;
use pisess_core::session::usage::Usage;
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_json::time::js_date;
use pisess_json::write::Object;

/// Returns a `usage` object. `total` is the size of the context with the response; `reasoning` is
/// part of the output. Neither source records a cost, but pi reads `cost.total` without checking:
/// the zeros are marked as unknown.
pub fn usage_json(usage: &Usage, total: f64, reasoning: Option<f64>) -> Vec<u8> {
    let names = ["input", "output", "cacheRead", "cacheWrite", "total"];
    let cost = names
        .iter()
        .fold(Object::new(), |cost, name| cost.number(name, 0.0));
    Object::new()
        .number("input", usage.input)
        .number("output", usage.output)
        .number("cacheRead", usage.cache_read)
        .number("cacheWrite", usage.cache_write)
        .number("totalTokens", total)
        .with(reasoning, |usage, reasoning| {
            usage.number("reasoning", reasoning)
        })
        .json("cost", &cost.bool("unknown", true).finish())
        .finish()
}

/// Returns a string that is not empty.
pub fn text<'a>(object: Raw<'a>, key: &str) -> Option<Text<'a>> {
    object.get_text(key).filter(|text| !text.is_empty())
}

/// Returns the time of a line in milliseconds: a number, or a string that JavaScript reads as a
/// time.
pub fn time(value: Option<Raw>) -> Option<i64> {
    js_date(value.filter(|value| value.is_number() || value.is_string()))
}

/// Returns the members of a custom entry that keeps a line without a counterpart.
pub fn kept(agent: &str, kind: &str, data: &[u8]) -> Object {
    Object::new()
        .str("customType", &format!("{agent}.{kind}"))
        .json("data", data)
}

/// Returns the members of a custom message, which the model sees. `is_shown` is whether the user
/// sees it, too.
pub fn custom_message(agent: &str, kind: &str, content: &[u8], is_shown: bool) -> Object {
    Object::new()
        .str("customType", &format!("{agent}.{kind}"))
        .json("content", content)
        .bool("display", is_shown)
}

/// Returns the members of an object that are not among `without`.
pub fn rest_of(object: Raw, without: &[&str]) -> Object {
    object
        .members()
        .filter(|(key, _)| !without.iter().any(|name| key.is(name)))
        .fold(Object::new(), |rest, (key, value)| {
            rest.raw(&key.text().to_string_lossy(), value)
        })
}

/// Returns an image; `None` if a member is missing.
pub fn image(data: Option<Text>, mime: Option<Text>) -> Option<Vec<u8>> {
    let (data, mime) = (
        data.filter(|data| !data.is_empty())?,
        mime.filter(|mime| !mime.is_empty())?,
    );
    Some(
        Object::new()
            .str("type", "image")
            .text("data", &data)
            .text("mimeType", &mime)
            .finish(),
    )
}

/// Returns the type of a value and its text, if it is a block of text.
pub fn typed_text<'a>(block: Raw<'a>) -> (Option<Raw<'a>>, Option<Text<'a>>) {
    let [kind, text] = members(block, ["type", "text"]);
    (kind, text.and_then(Raw::text))
}
