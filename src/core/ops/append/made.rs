//! Entries that are told in a few words, as the file's agent would write them, but for id, parent and
//! time.

use crate::core::json::Raw;
use crate::core::json::write::{Object, array};
use crate::core::session::Dialect;
use crate::core::text::Text;

/// An entry in a few words.
#[derive(Clone, Debug)]
pub enum Made<'a> {
    /// The session's name; an empty one takes it off.
    Name(Text<'a>),
    /// Another model: its provider, and its name there.
    Model(Text<'a>, Text<'a>),
    /// Another thinking level.
    Thinking(Text<'a>),
    /// A note of a type of its own, with data as JSON.
    Custom(Text<'a>, Option<Raw<'a>>),
    /// A message of a type of its own to the model, and whether the person is shown it.
    CustomMessage(Text<'a>, Text<'a>, bool),
    /// What the person says.
    User(Text<'a>),
    /// What the model says: the same as in this message, which is JSON.
    Assistant(Text<'a>, Vec<u8>),
}

impl Made<'_> {
    /// The line; `None` for what the agent cannot be told by an entry.
    pub fn line(&self, dialect: Dialect) -> Option<Vec<u8>> {
        let entry = |kind| Object::new().str("type", kind);
        Some(match (self, dialect) {
            // The title stands in oh-my-pi's first line, and no entry changes that.
            (Made::Name(_), Dialect::OhMyPi) => return None,
            (Made::Name(name), Dialect::Pi) => entry("session_info").text("name", name).finish(),
            (Made::Model(provider, model), Dialect::Pi) => {
                entry("model_change").text("provider", provider).text("modelId", model).finish()
            }
            (Made::Model(provider, model), Dialect::OhMyPi) => {
                let mut whole = provider.clone().into_owned();
                whole.push_str("/");
                whole.push(model);
                entry("model_change")
                    .text("model", &whole)
                    .str("role", "default")
                    .bool("resolvedModelIsFallback", false)
                    .finish()
            }
            (Made::Thinking(level), Dialect::Pi) => {
                entry("thinking_level_change").text("thinkingLevel", level).finish()
            }
            (Made::Thinking(level), Dialect::OhMyPi) => {
                entry("thinking_level_change").text("thinkingLevel", level).text("configured", level).finish()
            }
            (Made::Custom(kind, data), _) => entry("custom")
                .text("customType", kind)
                .with(*data, |entry, data| entry.raw("data", data))
                .finish(),
            (Made::CustomMessage(kind, text, display), _) => entry("custom_message")
                .text("customType", kind)
                .text("content", text)
                .bool("display", *display)
                .with((dialect == Dialect::OhMyPi).then_some("agent"), |entry, who| {
                    entry.str("attribution", who)
                })
                .finish(),
            (Made::User(text), _) => {
                let message = Object::new().str("role", "user").json("content", &text_blocks(text)).finish();
                entry("message").json("message", &message).finish()
            }
            (Made::Assistant(text, like), _) => {
                entry("message").json("message", &assistant(text, Raw::checked(like))).finish()
            }
        })
    }
}

/// Text as content: one block.
pub fn text_blocks(text: &Text) -> Vec<u8> {
    array([Object::new().str("type", "text").text("text", text).finish()])
}

/// A turn of the model of another turn, that cost nothing.
fn assistant(text: &Text, like: Raw) -> Vec<u8> {
    let zeros = |names: &[&str]| names.iter().fold(Object::new(), |zeros, name| zeros.number(name, 0.0));
    let cost = zeros(&["input", "output", "cacheRead", "cacheWrite", "total"]).finish();
    let usage =
        zeros(&["input", "output", "cacheRead", "cacheWrite", "totalTokens"]).json("cost", &cost).finish();
    ["api", "provider", "model"]
        .iter()
        .fold(Object::new().str("role", "assistant").json("content", &text_blocks(text)), |message, name| {
            message.with(like.get(name), |message, value| message.raw(name, value))
        })
        .json("usage", &usage)
        .str("stopReason", "stop")
        .finish()
}
