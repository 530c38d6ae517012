//! Builds entries from a few values, as the file's agent would write them, except for id, parent
//! and time.

use crate::agents::Agent;
use crate::session::content::text_content;
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_json::write::Object;

/// Returns a `custom` entry with this `customType`, and with `data` if it is given.
pub fn custom_entry(kind: &Text, data: Option<Raw>) -> Object {
    let entry = Object::new().str("type", "custom").text("customType", kind);
    entry.with(data, |entry, data| entry.raw("data", data))
}

/// Returns a `custom_message` entry: a message of an extension to the model, with `kind` as its
/// `customType`. `display` decides whether the user sees it, too. oh-my-pi also records who caused
/// the message; here, this is the agent's default.
pub fn custom_message_entry(agent: &dyn Agent, kind: &Text, text: &Text, display: bool) -> Object {
    let entry = Object::new()
        .str("type", "custom_message")
        .text("customType", kind)
        .text("content", text)
        .bool("display", display);
    let default_attribution = agent.constants().attribution;
    entry.with(default_attribution, |entry, who| {
        entry.str("attribution", who)
    })
}

/// Returns the entry of a user message.
pub fn user_message(text: &Text) -> Object {
    message_entry(
        Object::new()
            .str("role", "user")
            .json("content", &text_content(text)),
    )
}

/// Returns the entry of an assistant message. Its tokens and costs are 0, because no model wrote
/// it. The agents require a model all the same: the members `api`, `provider` and `model` are
/// copied from `model_source`.
pub fn assistant_message(text: &Text, model_source: Raw) -> Object {
    let cost = zero_members(&["input", "output", "cacheRead", "cacheWrite", "total"]).finish();
    let usage = zero_members(&["input", "output", "cacheRead", "cacheWrite", "totalTokens"])
        .json("cost", &cost)
        .finish();
    let message = Object::new()
        .str("role", "assistant")
        .json("content", &text_content(text))
        .copy_members(model_source, &["api", "provider", "model"])
        .json("usage", &usage)
        .str("stopReason", "stop");
    message_entry(message)
}

/// Returns an object that maps each of these names to 0.
fn zero_members(names: &[&str]) -> Object {
    let mut object = Object::new();
    for name in names {
        object = object.number(name, 0.0);
    }
    object
}

/// Returns a `message` entry that contains this message.
fn message_entry(message: Object) -> Object {
    Object::new()
        .str("type", "message")
        .json("message", &message.finish())
}
