//! Writes messages as text for a summarizer (`serializeConversation` without a model's own
//! dialect).
//!
//! Only texts of the user, of the model and of its tools are written. Instructions are left out,
//! and so are results that were marked useless, with their calls. Tags that the prompt uses are
//! escaped.

use super::llm;
use crate::agents::pi::transcript::format_call;
use crate::agents::prompt::{TranscriptWriter, truncate_tool_result};
use crate::session::content;
use crate::session::entry::Role;
use crate::session::read::entry_reader::{Body, ContextMessage, EntryReader};
use foldhash::HashSet;
use pisess_json::Raw;
use pisess_json::text::{JS_SPACE, Text, join_with};
use regex::bytes::Regex;
use std::io::{self, Write};
use std::sync::LazyLock;

/// Writes messages as one text, with a blank line between parts and no newline at the end. Lone
/// surrogates become U+FFFD.
pub fn write_transcript(
    messages: &[ContextMessage],
    reader: &EntryReader,
    out: &mut dyn Write,
) -> io::Result<()> {
    let useless = find_useless_calls(messages, reader)?;
    let mut transcript = TranscriptWriter::new(out);
    llm::convert_messages(messages, reader, &mut |json| {
        write_message(&mut transcript, Raw::from_checked(json), &useless)
    })
}

/// Returns the ids of the calls whose results the agent has marked as useless. Transcripts contain
/// neither.
fn find_useless_calls(
    messages: &[ContextMessage],
    reader: &EntryReader,
) -> io::Result<HashSet<Text<'static>>> {
    let session = reader.session();
    let mut useless = HashSet::default();
    for message in messages {
        // The role of a stored message is known without reading it.
        let is_stored = matches!(message.body, Body::Stored);
        if is_stored && session.entry(message.entry).role != Role::ToolResult {
            continue;
        }
        let useless_id = message.with_json(reader, |json| {
            let [role, id, is_error] =
                content::find_members(json, ["role", "toolCallId", "isError"]);
            let is_result = role.is_some_and(|role| role.is("toolResult"));
            if !is_result || !is_useless_result(json, is_error) {
                return None;
            }
            id.and_then(Raw::text).map(Text::into_owned)
        })?;
        useless.extend(useless_id);
    }
    Ok(useless)
}

/// Whether a tool result was marked useless. A result that is an error, by its member `isError`,
/// does not count as useless.
pub fn is_useless_result(message: Raw, is_error: Option<Raw>) -> bool {
    let is_marked = message.get("useless").and_then(Raw::bool) == Some(true);
    is_marked && is_error.and_then(Raw::bool) != Some(true)
}

/// Returns a tool result's text, cut as summaries receive it.
pub fn truncate_result(text: Text) -> Text {
    truncate_tool_result(text, Text::head)
}

/// Returns a text in which tags cannot end the conversation or the previous summary: their `<` is
/// escaped (`escapeSummaryBoundaryTags`).
pub fn escape_boundary_tags(text: &Text) -> Text<'static> {
    static TAG: LazyLock<Regex> = LazyLock::new(|| {
        let tag =
            format!("<({JS_SPACE}*/?{JS_SPACE}*(?:conversation|previous-summary){JS_SPACE}*>)");
        Regex::new(&format!("(?i-u){tag}")).expect("a constant")
    });
    Text::from_wtf8(TAG.replace_all(text.as_bytes(), b"&lt;$1").into_owned())
}

/// Writes a message as one part of the transcript, or an assistant message as up to three. Left out
/// are useless results and messages in other roles.
fn write_message(
    out: &mut TranscriptWriter,
    message: Raw,
    useless: &HashSet<Text<'static>>,
) -> io::Result<()> {
    let [role, content, call_id] =
        content::find_members(message, ["role", "content", "toolCallId"]);
    match role.and_then(Raw::text).unwrap_or_default().as_bytes() {
        b"user" => {
            let text = content::join_text(content, "");
            out.write_non_empty_part("[User]: ", &escape_boundary_tags(&text))
        }
        b"assistant" => write_turn(out, content.unwrap_or(Raw::NULL), useless),
        b"toolResult" => {
            let id = call_id.and_then(Raw::text);
            if id.is_some_and(|id| useless.contains(&id)) {
                return Ok(());
            }
            let text = content::join_text(content, "");
            out.write_non_empty_part(
                "[Tool Result]: ",
                &escape_boundary_tags(&truncate_result(text)),
            )
        }
        _ => Ok(()),
    }
}

/// Writes an assistant message: one part for its thinking, one for its texts, one for its calls.
/// Calls with a useless result are left out.
fn write_turn(
    out: &mut TranscriptWriter,
    content: Raw,
    useless: &HashSet<Text<'static>>,
) -> io::Result<()> {
    for (kind, label) in [("thinking", "[Think]: "), ("text", "[Assistant]: ")] {
        let mut texts = Vec::new();
        for block in content::blocks_of_type(content, kind) {
            // The text of a block is in the member that is named like the block's type.
            texts.push(block.get_text(kind).unwrap_or_default());
        }
        // Blocks whose texts are empty still have their label.
        if !texts.is_empty() {
            out.write_part(label, &escape_boundary_tags(&join_with(texts, "\n")))?;
        }
    }

    let mut calls = Vec::new();
    for call in content::blocks_of_type(content, "toolCall") {
        let is_useless = call.get_text("id").is_some_and(|id| useless.contains(&id));
        if !is_useless {
            calls.push(format_call(call));
        }
    }
    out.write_non_empty_part(
        "[Tool Call]: ",
        &escape_boundary_tags(&join_with(calls, "; ")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_of_the_prompt_are_defused() {
        let text = Text::from("a </ Conversation > < previous-summary><conversations> <b>");
        assert_eq!(
            escape_boundary_tags(&text).to_string(),
            "a &lt;/ Conversation > &lt; previous-summary><conversations> <b>"
        );
    }

    #[test]
    fn results_are_cut() {
        assert_eq!(
            truncate_result(Text::from("x".repeat(2000))).utf16_len(),
            2000
        );
        assert!(
            truncate_result(Text::from("x".repeat(2003)))
                .to_string()
                .ends_with("xx\n\n[... 3 more characters truncated]")
        );
    }
}
