//! Converts entries of oh-my-pi to those of pi.

use super::Converted;
use super::{POSITION_KEYS, start_entry};
use crate::agents::oh_my_pi::llm::convert_non_turn;
use crate::agents::oh_my_pi::message::{is_transient, sendable_content};
use crate::session::blobs::{BlobStore, inline_image};
use crate::session::content::{ConvertedBlock, convert_blocks, has_truthy, is_block, text_block};
use crate::session::entry::Role;
use pisess_json::Raw;
use pisess_json::edit::with_member;
use pisess_json::text::Text;
use pisess_json::write::{Object, array};

/// Converts a message of oh-my-pi; `None` if it is the same in pi. A message in a role that pi does
/// not have becomes a custom message. If it was outside of the context, it is kept as a custom
/// entry, which is not sent either.
pub(super) fn convert_message(entry: Raw, blobs: &BlobStore) -> Option<Converted> {
    let message = entry.get("message")?;
    let role = Role::from_member(message.get("role"));
    match role {
        Role::HookMessage => {
            let renamed = with_member(message, "role", b"\"custom\"");
            let line = with_member(entry, "message", &renamed);
            Some(Converted::Counterpart(line))
        }
        Role::PythonExecution if has_truthy(message, "excludeFromContext") => {
            let note = "Python that the user ran outside of the context; pi has no such message";
            Some(Converted::Kept(note))
        }
        Role::Developer | Role::FileMention | Role::PythonExecution => {
            let line = as_custom_message(entry, message, role, blobs);
            Some(Converted::Counterpart(line))
        }
        _ => {
            // The message is the same in pi if no block changes.
            let convert = |block| convert_block(block, blobs);
            let content = convert_blocks(message.get("content")?, convert)?;
            let converted = with_member(message, "content", &content);
            let line = with_member(entry, "message", &converted);
            Some(Converted::Counterpart(line))
        }
    }
}

/// Converts a message in a role that pi does not have to a custom message. Its `customType` is the
/// role. Its content is what oh-my-pi would send to the model, in blocks that pi has; a block
/// without counterpart stays the same. It has the position of `entry` in the tree.
fn as_custom_message(entry: Raw, message: Raw, role: Role, blobs: &BlobStore) -> Vec<u8> {
    let mut blocks = Vec::new();
    // oh-my-pi may send one such message as several, whose blocks are joined here.
    for sent_message in convert_non_turn(message) {
        let sent_message = Raw::from_checked(&sent_message);
        let content = sent_message.get("content").unwrap_or(Raw::NULL);
        // The content is a string or a list of blocks. A string has no items.
        if let Some(text) = content.text() {
            blocks.push(text_block(&text));
        }
        for block in content.items() {
            blocks.push(match convert_block(block, blobs) {
                ConvertedBlock::Changed(changed) => changed,
                ConvertedBlock::Same | ConvertedBlock::Dropped => block.bytes().to_vec(),
            });
        }
    }

    let mut custom_message = Object::new().str("type", "custom_message");
    if let Some(role) = role.name() {
        custom_message = custom_message.str("customType", role);
    }
    custom_message
        .json("content", &array(blocks))
        .bool("display", true)
        .copy_members(entry, &POSITION_KEYS)
        .finish()
}

/// Converts a block of content. Redacted thinking is a kind of thinking in pi.
///
/// An image in a blob of oh-my-pi, outside of the session, is put into the block, because pi has no
/// blobs. If the blob cannot be read, a text takes the place of the image.
fn convert_block(block: Raw, blobs: &BlobStore) -> ConvertedBlock {
    if let Some(inlined) = inline_image(block, blobs) {
        return ConvertedBlock::Changed(inlined);
    }
    let is_kept_outside = |data: Text| data.as_bytes().starts_with(b"blob:");
    if is_block(block, "image") && block.get_text("data").is_some_and(is_kept_outside) {
        let mime = block.get_text("mimeType").unwrap_or_default().to_string();
        let note = format!("[image kept outside of the session by oh-my-pi: {mime}]");
        return ConvertedBlock::Changed(text_block(&Text::from(note)));
    }
    if is_block(block, "redactedThinking") {
        let data = block.get("data").unwrap_or(Raw::from_checked(b"\"\""));
        let thinking = Object::new()
            .str("type", "thinking")
            .str("thinking", "[Reasoning redacted]")
            .raw("thinkingSignature", data)
            .bool("redacted", true);
        return ConvertedBlock::Changed(thinking.finish());
    }
    // pi has no blocks of these types.
    if is_block(block, "fallback") || is_block(block, "anthropicServerTool") {
        return ConvertedBlock::Dropped;
    }
    ConvertedBlock::Same
}

/// Converts a custom message; `None` if it is the same in pi. A message that oh-my-pi would not
/// send is kept as a custom entry, which pi does not send either.
pub(super) fn convert_custom_message(entry: Raw, blobs: &BlobStore) -> Option<Converted> {
    if is_transient(entry) {
        return Some(Converted::Kept(
            "a note that oh-my-pi leaves out when it opens the session again",
        ));
    }
    let Some(content) = sendable_content(entry) else {
        return Some(Converted::Kept("a custom message without content"));
    };
    let converted_content = convert_blocks(content, |block| convert_block(block, blobs))?;
    let line = with_member(entry, "content", &converted_content);
    Some(Converted::Counterpart(line))
}

/// Converts a change of the model, which oh-my-pi writes as `provider/model`. oh-my-pi has models
/// for several roles, but pi has only one. So only a change of the default model has a counterpart.
pub(super) fn convert_model_change(entry: Raw) -> Option<Converted> {
    let model = entry.get_text("model")?.to_string();
    let is_default = entry.get("role").is_none_or(|role| role.is("default"));
    let default_model = if is_default {
        model.split_once('/')
    } else {
        None
    };
    let Some((provider, id)) = default_model else {
        return Some(Converted::Kept("a model for a role that pi does not have"));
    };
    let line = start_entry("model_change", entry)
        .str("provider", provider)
        .str("modelId", id);
    Some(Converted::Counterpart(line.finish()))
}

/// Converts a change of the thinking level to no level (missing or `null`) to one to `off`. `None`
/// for any other level, which is the same in pi.
pub(super) fn convert_thinking_level(entry: Raw) -> Option<Vec<u8>> {
    let has_level = entry.get("thinkingLevel").is_some_and(Raw::is_string);
    if has_level {
        return None;
    }
    let line = start_entry("thinking_level_change", entry).str("thinkingLevel", "off");
    Some(line.finish())
}

/// Converts a title to a name of the session. An entry without a title clears the name.
pub(super) fn convert_title_change(entry: Raw) -> Vec<u8> {
    start_entry("session_info", entry)
        .text("name", &entry.get_text("title").unwrap_or_default())
        .finish()
}

/// Converts the usage of a request outside of the conversation. pi calls the purpose a kind.
pub(super) fn convert_model_usage(entry: Raw) -> Vec<u8> {
    let purpose = entry
        .get_text("purpose")
        .unwrap_or_else(|| Text::from("usage"));
    start_entry("usage", entry)
        .text("kind", &purpose)
        .copy_members(entry, &["provider", "model", "usage"])
        .finish()
}

/// Converts a reset to a compaction that keeps nothing, so that nothing before it is sent.
pub(super) fn convert_reset_boundary(entry: Raw) -> Vec<u8> {
    let mut line =
        start_entry("compaction", entry).str("summary", "The user cleared the conversation here.");
    if let Some(id) = entry.get("id") {
        line = line.raw("firstKeptEntryId", id);
    }
    line.number("tokensBefore", 0.0).finish()
}
