//! Converts entries of pi to those of oh-my-pi.

use super::Converted;
use super::start_entry;
use crate::agents::pi::edits::{ContextEdit, LoadedEdit, replace_content};
use crate::session::content::{ConvertedBlock, convert_blocks, has_truthy, is_block};
use crate::session::entry::Role;
use pisess_json::Raw;
use pisess_json::edit::with_member;
use pisess_json::text::{Text, concat_texts};
use pisess_json::write::Object;

/// Converts a message of pi; `None` if it is the same in oh-my-pi.
///
/// pi may edit messages for its context without changing them. oh-my-pi has no such edits, so
/// `edit` is applied to the message. A message that it omits is kept as a custom entry, which is
/// not sent.
pub(super) fn convert_message(entry: Raw, edit: Option<&LoadedEdit>) -> Option<Converted> {
    let message = entry.get("message")?;
    let role = Role::from_member(message.get("role"));
    if role == Role::System {
        return Some(Converted::Kept("a system prompt: oh-my-pi builds its own"));
    }
    let edited = match edit {
        Some(ContextEdit::Omit) => {
            return Some(Converted::Kept("an edit omits it from the context"));
        }
        Some(ContextEdit::Replace(content)) => replace_content(message, content.as_deref()),
        None => None,
    };

    let edited_message = edited.as_deref().map_or(message, Raw::from_checked);
    let adapted = if role == Role::Assistant {
        adapt_assistant(edited_message)
    } else {
        None
    };
    // The adapted message includes the edit.
    let changed_message = adapted.or(edited)?;
    let line = with_member(entry, "message", &changed_message);
    Some(Converted::Counterpart(line))
}

/// Returns an assistant message that oh-my-pi accepts; `None` if it needs no change.
///
/// Its content gets oh-my-pi's blocks. The stop reason `deferred`, which oh-my-pi does not know,
/// becomes the one of a turn with calls or, if there are none, of a normal end.
fn adapt_assistant(message: Raw) -> Option<Vec<u8>> {
    let content = message.get("content").unwrap_or(Raw::NULL);
    let accepted_content = if content.is_null() {
        // oh-my-pi fails to open a session in which an assistant message has no content.
        Some(b"[]".to_vec())
    } else {
        convert_blocks(content, convert_block)
    };
    let adapted = accepted_content.map(|content| with_member(message, "content", &content));

    let is_deferred = message
        .get("stopReason")
        .is_some_and(|reason| reason.is("deferred"));
    if !is_deferred {
        return adapted;
    }
    let has_calls = content.items().any(|block| is_block(block, "toolCall"));
    let accepted_reason: &[u8] = if has_calls {
        b"\"toolUse\""
    } else {
        b"\"stop\""
    };
    let current = adapted.as_deref().map_or(message, Raw::from_checked);
    Some(with_member(current, "stopReason", accepted_reason))
}

/// Converts a block. Redacted thinking has a type of its own in oh-my-pi. Any other block of pi is
/// the same there.
fn convert_block(block: Raw) -> ConvertedBlock {
    let is_redacted_thinking = is_block(block, "thinking") && has_truthy(block, "redacted");
    if !is_redacted_thinking {
        return ConvertedBlock::Same;
    }
    // In pi, the signature of redacted thinking is the encrypted thinking.
    let Some(data) = block.get("thinkingSignature") else {
        return ConvertedBlock::Same;
    };
    let redacted = Object::new()
        .str("type", "redactedThinking")
        .raw("data", data);
    ConvertedBlock::Changed(redacted.finish())
}

/// Converts a custom message by applying its edit, because oh-my-pi has no edits. `None` if the
/// message has no edit: then it is the same in both agents. If the edit has no new content, the
/// content becomes empty.
pub(super) fn convert_custom_message(entry: Raw, edit: Option<&LoadedEdit>) -> Option<Converted> {
    let edit = edit?;
    match edit {
        ContextEdit::Omit => Some(Converted::Kept("an edit omits it from the context")),
        ContextEdit::Replace(content) => {
            let content = content.as_deref().unwrap_or(b"[]");
            let line = with_member(entry, "content", content);
            Some(Converted::Counterpart(line))
        }
    }
}

/// Converts a change of the model to a change of the default model, written as `provider/model`.
/// `None` if the provider or the model is missing.
pub(super) fn convert_model_change(entry: Raw) -> Option<Vec<u8>> {
    let provider = entry.get_text("provider")?;
    let model = entry.get_text("modelId")?;
    let line = start_entry("model_change", entry)
        .text("model", &concat_texts(&[&provider, &"/", &model]))
        .str("role", "default")
        .bool("resolvedModelIsFallback", false);
    Some(line.finish())
}

/// Converts a name of the session to a title given by the user. An entry without a name becomes an
/// empty title, which clears the title.
pub(super) fn convert_session_info(entry: Raw) -> Vec<u8> {
    let name = entry
        .get_text("name")
        .map(|name| name.trim().into_owned())
        .unwrap_or_default();
    start_entry("title_change", entry)
        .text("title", &name)
        .str("source", "user")
        .finish()
}

/// Converts the usage of a request outside of the conversation. oh-my-pi calls the kind a purpose.
pub(super) fn convert_usage(entry: Raw) -> Vec<u8> {
    let kind = entry
        .get_text("kind")
        .unwrap_or_else(|| Text::from("usage"));
    start_entry("model_usage", entry)
        .text("purpose", &kind)
        .copy_members(entry, &["provider", "model", "usage"])
        .finish()
}

/// Converts the summary of a branch that the user left. In pi, its `fromId` is the end of that
/// branch. In oh-my-pi, it is where the branch begins: the parent of the summary, or `root`. `None`
/// if `fromId` is that already.
pub(super) fn convert_branch_summary(entry: Raw) -> Option<Vec<u8>> {
    let start = match entry.get("parentId") {
        Some(parent) if parent.is_string() => parent.bytes(),
        _ => b"\"root\"",
    };
    if entry
        .get("fromId")
        .is_some_and(|from| from.bytes() == start)
    {
        return None;
    }
    Some(with_member(entry, "fromId", start))
}
