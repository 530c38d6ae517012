//! What Claude Code attaches to a conversation.
//!
//! The model sees three kinds of attachments:
//!
//! - What the user types while Claude Code works waits in a queue. If the current turn takes it up,
//!   it becomes an attachment of the type `queued_command`, and not a line of the type `user`.
//! - A file that the user mentions with `@` is an attachment of the type `file`.
//! - What a command of the user printed may be a line of the type `system` and the subtype
//!   `local_command`.

use super::blocks::convert_user_blocks;
use super::injected::{InjectedKind, META_MESSAGE, OUTPUT, classify_injected};
use crate::parts::non_empty_text;
use pisess_core::session::content::text_content;
use pisess_json::Raw;
use pisess_json::outline::Outlined;
use pisess_json::string::encode_to_vec;
use pisess_json::text::Text;

/// A file that the user mentioned, with its content.
pub const FILE: InjectedKind = InjectedKind {
    kind: "file",
    is_shown: false,
};

/// An attachment that the model sees.
pub struct Attachment {
    /// Who sent it: `None` if the user wrote it.
    pub injected: Option<InjectedKind>,
    /// Its content as JSON, as a message has it.
    pub content: Vec<u8>,
}

/// Reads what a line attaches to the conversation: the output of a local command, a prompt that has
/// waited, or a mentioned file. `None` if the line has none that the model sees.
pub fn read_attachment(line: Outlined) -> Option<Attachment> {
    let subtype = line.get("subtype");
    if subtype.is_some_and(|subtype| subtype.is("local_command")) {
        return read_local_command(line);
    }
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

/// Reads the text of a command that the user ran without the model, or the output of one:
///
/// ```text
/// {"type":"system","subtype":"local_command","content":"<command-name>/model</command-name>"}
/// {"type":"system","subtype":"local_command","content":"<local-command-stdout>Set</…>"}
/// ```
///
/// A text without such a tag counts as output.
fn read_local_command(line: Outlined) -> Option<Attachment> {
    let text = non_empty_text(line, "content")?;
    let content = encode_to_vec(&text);
    let kind = classify_injected(Raw::from_checked(&content)).unwrap_or(OUTPUT);
    Some(Attachment {
        injected: Some(kind),
        content,
    })
}

/// Reads a prompt that waited in the queue. The user wrote it, unless a member or the text itself
/// shows another origin, such as another session or a task that has ended.
fn read_queued_prompt(line: Outlined, attachment: Outlined) -> Option<Attachment> {
    let content = convert_prompt(attachment.get("prompt")?)?;
    // The text decides first: even a prompt that is marked as typed may be a task's report.
    if let Some(kind) = classify_injected(Raw::from_checked(&content)) {
        return Some(Attachment {
            injected: Some(kind),
            content,
        });
    }
    let is_by_user = !is_marked_meta(line) && is_marked_as_typed(attachment);
    let injected = if is_by_user { None } else { Some(META_MESSAGE) };
    Some(Attachment { injected, content })
}

/// Converts a prompt, a string or a list of blocks, to content as JSON. `None` if it is blank, or
/// has no block that the model sees.
fn convert_prompt(prompt: Outlined) -> Option<Vec<u8>> {
    if let Some(text) = prompt.text() {
        return if text.is_blank() {
            None
        } else {
            Some(encode_to_vec(&text))
        };
    }
    let blocks = convert_user_blocks(prompt);
    let has_no_blocks = blocks == b"[]";
    if has_no_blocks { None } else { Some(blocks) }
}

/// Whether no member of a queued prompt shows an origin other than the user. Prompts of old
/// versions have none of these members. A report of a task has, for example:
///
/// ```text
/// {"type":"queued_command","prompt":"…","commandMode":"task-notification"}
/// ```
fn is_marked_as_typed(attachment: Outlined) -> bool {
    if is_marked_meta(attachment) {
        return false;
    }
    if let Some(mode) = non_empty_text(attachment, "commandMode")
        && mode != *"prompt"
    {
        return false;
    }
    let origin = attachment.get("origin").unwrap_or(Raw::NULL.into());
    match non_empty_text(origin, "kind") {
        Some(kind) => kind == *"human",
        None => true,
    }
}

fn is_marked_meta(object: Outlined) -> bool {
    let mark = object.get("isMeta");
    mark.is_some_and(|mark| mark.bool() == Some(true))
}

/// Reads a text file that the user mentioned. The content of the message is the path of the file on
/// the first line, then its text: `src/main.rs\nfn main() …`.
fn read_mentioned_file(attachment: Outlined) -> Option<Attachment> {
    let file = attachment.get("content")?.get("file")?;
    let text = non_empty_text(file, "content")?;
    let path = non_empty_text(attachment, "displayPath")
        .or_else(|| non_empty_text(attachment, "filename"))
        .or_else(|| non_empty_text(file, "filePath"))?;
    let path_and_text = format!("{}\n{}", path.to_string_lossy(), text.to_string_lossy());
    Some(Attachment {
        injected: Some(FILE),
        content: text_content(&Text::from(path_and_text)),
    })
}
