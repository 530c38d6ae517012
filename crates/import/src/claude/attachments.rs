//! What Claude Code attaches to a conversation.
//!
//! What the user types while Claude Code works waits in a queue. If the turn takes it up, it is no
//! line of the user's, but an attachment of the type `queued_command`. A file that the user
//! mentions with `@` is an attachment of the type `file`. Both are seen by the model.

use super::blocks::convert_user_block;
use super::injected::{InjectedKind, META_MESSAGE, classify_injected};
use crate::parts::non_empty_text;
use pisess_core::session::content::text_content;
use pisess_json::Raw;
use pisess_json::string::encode_to_vec;
use pisess_json::text::Text;
use pisess_json::write::array;

/// A file that the user mentioned, with its content.
const FILE: InjectedKind = InjectedKind {
    kind: "file",
    is_shown: false,
};

/// An attachment that the model sees.
pub struct Attachment {
    /// Who sent it: `None` if the user wrote it.
    pub injected: Option<InjectedKind>,
    /// Its content, as a message has it.
    pub content: Vec<u8>,
}

/// Reads the attachment of a line, if it is one that the model sees as a message.
pub fn read_attachment(line: Raw) -> Option<Attachment> {
    let attachment = line.get("attachment")?;
    let kind = attachment.get("type")?;
    if kind.is("queued_command") {
        read_queued_prompt(line, attachment)
    } else if kind.is("file") {
        read_mentioned_file(attachment)
    } else {
        None
    }
}

/// Reads what waited in the queue: the words of the user, unless a member says that something else
/// sent them, such as another session or a task that has ended.
fn read_queued_prompt(line: Raw, attachment: Raw) -> Option<Attachment> {
    let prompt = attachment.get("prompt")?;
    let content = match prompt.text() {
        Some(text) if !text.is_blank() => encode_to_vec(&text),
        Some(_) => return None,
        None => array(prompt.items().filter_map(convert_user_block)),
    };
    if content == b"[]" {
        return None;
    }

    let is_meta = |object: Raw| object.get("isMeta").and_then(Raw::bool) == Some(true);
    let is_other_mode =
        non_empty_text(attachment, "commandMode").is_some_and(|mode| mode != *"prompt");
    let origin = attachment
        .get("origin")
        .and_then(|origin| non_empty_text(origin, "kind"));
    let is_other_origin = origin.is_some_and(|origin| origin != *"human");
    let by_prefix = classify_injected(Raw::from_checked(&content));
    let injected = if is_meta(line) || is_meta(attachment) || is_other_mode || is_other_origin {
        Some(by_prefix.unwrap_or(META_MESSAGE))
    } else {
        by_prefix
    };
    Some(Attachment { injected, content })
}

/// Reads a text file that the user mentioned. Its name comes first, on a line of its own.
fn read_mentioned_file(attachment: Raw) -> Option<Attachment> {
    let file = attachment.get("content")?.get("file")?;
    let text = non_empty_text(file, "content")?;
    let path = non_empty_text(attachment, "displayPath")
        .or_else(|| non_empty_text(attachment, "filename"))
        .or_else(|| non_empty_text(file, "filePath"))?;
    let named = Text::from(format!(
        "{}\n{}",
        path.to_string_lossy(),
        text.to_string_lossy()
    ));
    Some(Attachment {
        injected: Some(FILE),
        content: text_content(&named),
    })
}
