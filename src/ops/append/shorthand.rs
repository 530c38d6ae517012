//! Builds entries from a few values, as the file's agent would write them, except for id, parent and time.

use crate::agents::Agent;
use crate::session::content::text_content;
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_json::write::Object;

/// An entry described by a few values.
#[derive(Clone, Debug)]
pub enum Shorthand<'a> {
    /// The session's name; an empty one clears it. Then the name before.
    Name(Text<'a>, Option<Text<'a>>),
    /// A model: its provider, and its id there.
    Model(Text<'a>, Text<'a>),
    /// A thinking level.
    Thinking(Text<'a>),
    /// A custom entry with its type, and data as JSON.
    Custom(Text<'a>, Option<Raw<'a>>),
    /// A custom message with its type and text, and whether the user sees it.
    CustomMessage(Text<'a>, Text<'a>, bool),
    /// A user message.
    User(Text<'a>),
    /// An assistant message with its text, and another one, as JSON, of the same model.
    Assistant(Text<'a>, Vec<u8>),
}

impl Shorthand<'_> {
    /// Returns the line.
    pub fn line(&self, agent: &Agent) -> Vec<u8> {
        let entry = |kind| Object::new().str("type", kind);
        let message = |message: Vec<u8>| entry("message").json("message", &message);
        let line = match self {
            Shorthand::Name(name, previous) => (agent.name_entry)(name, previous.as_ref()),
            Shorthand::Model(provider, model) => (agent.model_entry)(provider, model),
            Shorthand::Thinking(level) => (agent.thinking_entry)(level),
            Shorthand::Custom(kind, data) => {
                entry("custom").text("customType", kind).with(*data, |entry, data| entry.raw("data", data))
            }
            Shorthand::CustomMessage(kind, text, display) => entry("custom_message")
                .text("customType", kind)
                .text("content", text)
                .bool("display", *display)
                .with(agent.attribution, |entry, who| entry.str("attribution", who)),
            Shorthand::User(text) => {
                message(Object::new().str("role", "user").json("content", &text_content(text)).finish())
            }
            Shorthand::Assistant(text, like) => message(assistant(text, Raw::checked(like))),
        };
        line.finish()
    }
}

/// Returns an assistant message of the same model as `like`, without cost.
fn assistant(text: &Text, like: Raw) -> Vec<u8> {
    let zeros = |names: &[&str]| names.iter().fold(Object::new(), |zeros, name| zeros.number(name, 0.0));
    let cost = zeros(&["input", "output", "cacheRead", "cacheWrite", "total"]).finish();
    let usage =
        zeros(&["input", "output", "cacheRead", "cacheWrite", "totalTokens"]).json("cost", &cost).finish();
    ["api", "provider", "model"]
        .iter()
        .fold(Object::new().str("role", "assistant").json("content", &text_content(text)), |message, name| {
            message.with(like.get(name), |message, value| message.raw(name, value))
        })
        .json("usage", &usage)
        .str("stopReason", "stop")
        .finish()
}
