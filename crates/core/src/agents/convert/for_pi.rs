//! Entries of oh-my-pi, in the terms of pi.

use super::Converted::{self, Entry, Kept};
use super::{PLACE, blocks, typed};
use crate::agents::oh_my_pi::llm::alone;
use crate::agents::oh_my_pi::message::{is_transient, sendable};
use crate::session::content::{is_block, text_block, truthy};
use crate::session::entry::Role;
use pisess_json::Raw;
use pisess_json::edit::with;
use pisess_json::text::Text;
use pisess_json::write::{Object, array};
use std::borrow::Cow;

pub(super) fn message(entry: Raw) -> Option<Converted> {
    let message = entry.get("message")?;
    let role = Role::of(message.get("role"));
    match role {
        Role::HookMessage => {
            let message = with(message, "role", b"\"custom\"");
            Some(Entry(with(entry, "message", &message)))
        }
        Role::PythonExecution if truthy(message, "excludeFromContext") => Some(Kept(
            "Python that the user ran outside of the context; pi has no such message",
        )),
        Role::Developer | Role::FileMention | Role::PythonExecution => {
            Some(Entry(as_custom_message(entry, message, role)))
        }
        _ => {
            let content = blocks(message.get("content")?, block)?;
            Some(Entry(with(
                entry,
                "message",
                &with(message, "content", &content),
            )))
        }
    }
}

/// Returns a custom message with what oh-my-pi's model sees of a message.
fn as_custom_message(entry: Raw, message: Raw, role: Role) -> Vec<u8> {
    let mut content = Vec::new();
    for converted in alone(message) {
        let given = Raw::checked(&converted).get("content").unwrap_or(Raw::NULL);
        match given.text() {
            Some(text) => content.push(text_block(&text)),
            None => content.extend(
                given
                    .items()
                    .map(|item| block(item).map_or(item.bytes().to_vec(), Cow::into_owned)),
            ),
        }
    }
    Object::new()
        .str("type", "custom_message")
        .with(role.name(), |object, role| object.str("customType", role))
        .json("content", &array(content))
        .bool("display", true)
        .copy(entry, &PLACE)
        .finish()
}

/// Converts a block. pi cannot send an image that oh-my-pi keeps outside of the session, so text
/// replaces it.
fn block(block: Raw<'_>) -> Option<Cow<'_, [u8]>> {
    let is_kept_outside = |data: Text| data.as_bytes().starts_with(b"blob:");
    if is_block(block, "image") && block.get_text("data").is_some_and(is_kept_outside) {
        let mime = block.get_text("mimeType").unwrap_or_default().to_string();
        let note = format!("[image kept outside of the session by oh-my-pi: {mime}]");
        return Some(Cow::Owned(text_block(&Text::from(note))));
    }
    if is_block(block, "redactedThinking") {
        let data = block.get("data").unwrap_or(Raw::checked(b"\"\""));
        let thinking = Object::new()
            .str("type", "thinking")
            .str("thinking", "[Reasoning redacted]")
            .raw("thinkingSignature", data)
            .bool("redacted", true);
        return Some(Cow::Owned(thinking.finish()));
    }
    let is_dropped = is_block(block, "fallback") || is_block(block, "anthropicServerTool");
    (!is_dropped).then(|| Cow::Borrowed(block.bytes()))
}

pub(super) fn custom_message(entry: Raw) -> Option<Converted> {
    if is_transient(entry) {
        return Some(Kept(
            "a note that oh-my-pi leaves out when it opens the session again",
        ));
    }
    let Some(content) = sendable(entry) else {
        return Some(Kept("a custom message without content"));
    };
    Some(Entry(with(entry, "content", &blocks(content, block)?)))
}

/// Converts a change of the default model. oh-my-pi also has models for other roles; a change of
/// those is kept as a custom entry.
pub(super) fn model_change(entry: Raw) -> Option<Converted> {
    let model = entry.get_text("model")?.to_string();
    let is_default = entry.get("role").is_none_or(|role| role.is("default"));
    let Some((provider, id)) = model.split_once('/').filter(|_| is_default) else {
        return Some(Kept("a model for a role that pi does not have"));
    };
    let line = typed("model_change", entry)
        .str("provider", provider)
        .str("modelId", id);
    Some(Entry(line.finish()))
}

pub(super) fn thinking_level(entry: Raw) -> Option<Vec<u8>> {
    let has_level = entry.get("thinkingLevel").is_some_and(Raw::is_string);
    (!has_level).then(|| {
        typed("thinking_level_change", entry)
            .str("thinkingLevel", "off")
            .finish()
    })
}

pub(super) fn session_info(entry: Raw) -> Vec<u8> {
    typed("session_info", entry)
        .text("name", &entry.get_text("title").unwrap_or_default())
        .finish()
}

pub(super) fn usage(entry: Raw) -> Vec<u8> {
    let purpose = entry
        .get_text("purpose")
        .unwrap_or_else(|| Text::from("usage"));
    typed("usage", entry)
        .text("kind", &purpose)
        .copy(entry, &["provider", "model", "usage"])
        .finish()
}

/// Returns a compaction that keeps nothing, so that nothing before it is sent.
pub(super) fn cleared(entry: Raw) -> Vec<u8> {
    let line = typed("compaction", entry).str("summary", "The user cleared the conversation here.");
    line.with(entry.get("id"), |line, id| line.raw("firstKeptEntryId", id))
        .number("tokensBefore", 0.0)
        .finish()
}
