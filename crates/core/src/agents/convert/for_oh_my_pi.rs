//! Entries of pi, in the terms of oh-my-pi.

use super::Converted::{self, Entry, Kept};
use super::{blocks, typed};
use crate::agents::pi::edits::{Edit, LoadedEdit, replaced};
use crate::session::content::is_block;
use crate::session::entry::Role;
use pisess_json::Raw;
use pisess_json::edit::with;
use pisess_json::text::{Text, concat};
use pisess_json::write::Object;

pub(super) fn message(entry: Raw, edit: Option<&LoadedEdit>) -> Option<Converted> {
    let message = entry.get("message")?;
    let role = Role::of(message.get("role"));
    if role == Role::System {
        return Some(Kept("a system prompt: oh-my-pi builds its own"));
    }
    let edited = match edit {
        Some(Edit::Omit) => return Some(Kept("an edit omits it from the context")),
        Some(Edit::Replace(content)) => replaced(message, content.as_deref()),
        None => None,
    };
    let message = edited.as_deref().map_or(message, Raw::checked);
    let turned = if role == Role::Assistant {
        assistant(message)
    } else {
        None
    };
    let message = turned.or(edited)?;
    Some(Entry(with(entry, "message", &message)))
}

/// Returns an assistant message whose content and stop reason oh-my-pi accepts; `None` if it needs
/// no change.
fn assistant(message: Raw) -> Option<Vec<u8>> {
    let content = message.get("content").unwrap_or(Raw::NULL);
    let known = blocks(content, |block| {
        let is_redacted =
            is_block(block, "thinking") && block.get("redacted").is_some_and(Raw::is_truthy);
        Some(
            match block.get("thinkingSignature").filter(|_| is_redacted) {
                Some(data) => Object::new()
                    .str("type", "redactedThinking")
                    .raw("data", data)
                    .finish()
                    .into(),
                None => block.bytes().into(),
            },
        )
    });
    // oh-my-pi fails to open a session in which an assistant message has no content.
    let accepted = if content.is_null() {
        Some(b"[]".to_vec())
    } else {
        known
    };
    let changed = accepted.map(|content| with(message, "content", &content));
    let is_deferred = message
        .get("stopReason")
        .is_some_and(|reason| reason.is("deferred"));
    if !is_deferred {
        return changed;
    }
    let calls = content.items().any(|block| is_block(block, "toolCall"));
    let reason: &[u8] = if calls { b"\"toolUse\"" } else { b"\"stop\"" };
    Some(with(
        changed.as_deref().map_or(message, Raw::checked),
        "stopReason",
        reason,
    ))
}

pub(super) fn custom_message(entry: Raw, edit: Option<&LoadedEdit>) -> Option<Converted> {
    match edit? {
        Edit::Omit => Some(Kept("an edit omits it from the context")),
        Edit::Replace(content) => Some(Entry(with(
            entry,
            "content",
            content.as_deref().unwrap_or(b"[]"),
        ))),
    }
}

pub(super) fn model_change(entry: Raw) -> Option<Vec<u8>> {
    let (provider, model) = (entry.get_text("provider")?, entry.get_text("modelId")?);
    let line = typed("model_change", entry)
        .text("model", &concat(&[&provider, &"/", &model]))
        .str("role", "default")
        .bool("resolvedModelIsFallback", false);
    Some(line.finish())
}

pub(super) fn title_change(entry: Raw) -> Vec<u8> {
    let name = entry
        .get_text("name")
        .map(|name| name.trim().into_owned())
        .unwrap_or_default();
    typed("title_change", entry)
        .text("title", &name)
        .str("source", "user")
        .finish()
}

pub(super) fn usage(entry: Raw) -> Vec<u8> {
    let kind = entry
        .get_text("kind")
        .unwrap_or_else(|| Text::from("usage"));
    typed("model_usage", entry)
        .text("purpose", &kind)
        .copy(entry, &["provider", "model", "usage"])
        .finish()
}

/// In oh-my-pi, `fromId` is where the branch begins.
pub(super) fn branch_summary(entry: Raw) -> Option<Vec<u8>> {
    let parent = entry.get("parentId").filter(|parent| parent.is_string());
    let begins = parent.map_or(&b"\"root\""[..], Raw::bytes);
    let is_there = entry
        .get("fromId")
        .is_some_and(|from| from.bytes() == begins);
    (!is_there).then(|| with(entry, "fromId", begins))
}
