//! Writes messages as text for a summarizer (pi's `serializeConversation`).
//!
//! Thinking is left out, and tool results are cut. Lone surrogates become U+FFFD, as they do in
//! what a model receives from pi.

use super::llm;
use crate::agents::prompt::{TranscriptWriter, truncate_tool_result};
use crate::session::content;
use crate::session::entry::Role;
use crate::session::read::entry_reader::{ContextMessage, EntryReader};
use pisess_json::text::{Text, concat_texts, join_with, push_code_point};
use pisess_json::{Raw, js, string};
use std::io::{self, Write};

/// Writes messages as one text, with a blank line between parts and no newline at the end.
pub fn write_transcript(
    messages: &[ContextMessage],
    reader: &EntryReader,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut transcript = TranscriptWriter::new(out);
    llm::convert_messages(messages, reader, &mut |json| {
        write_message(&mut transcript, Raw::from_checked(json))
    })
}

/// Writes a message of the user or of a tool as one part of a transcript, such as
/// `[User]: fix the test`, unless its text is empty. An assistant message becomes up to two parts:
/// see [`write_turn`]. Messages in other roles are left out.
fn write_message(out: &mut TranscriptWriter, message: Raw) -> io::Result<()> {
    let [role, content] = content::find_members(message, ["role", "content"]);
    match Role::from_member(role) {
        Role::User => out.write_non_empty_part("[User]: ", &content::content_text(content, "")),
        Role::Assistant => write_turn(out, content.unwrap_or(Raw::NULL)),
        Role::ToolResult => {
            let text = truncate_tool_result(content::content_text(content, ""), Text::head_whole);
            out.write_non_empty_part("[Tool result]: ", &text)
        }
        _ => Ok(()),
    }
}

/// Writes the text of a turn as one part, and its calls as another. Each is left out if there is
/// none. As in pi, text blocks are written even if their texts are empty.
fn write_turn(out: &mut TranscriptWriter, content: Raw) -> io::Result<()> {
    if content.is_string() || content::blocks_of_type(content, "text").next().is_some() {
        out.write_part("[Assistant]: ", &content::content_text(Some(content), "\n"))?;
    }
    let calls = content::blocks_of_type(content, "toolCall").map(format_call);
    out.write_non_empty_part("[Assistant tool calls]: ", &join_with(calls, "; "))
}

/// Formats a call as `name(key=json, key=json)`, as in the transcripts of both agents.
pub fn format_call(block: Raw<'_>) -> Text<'static> {
    let [name, arguments] = content::find_members(block, ["name", "arguments"]);
    let properties = object_entries(arguments.unwrap_or(Raw::NULL));
    let pairs = properties
        .into_iter()
        .map(|(key, value)| concat_texts(&[&key, &"=", &value]));
    concat_texts(&[&js::interpolate(name), &"(", &join_with(pairs, ", "), &")"])
}

/// Returns the pairs of `Object.entries(value)`, with each value as `JSON.stringify` writes it.
/// These are the members of an object, the items of an array, or the UTF-16 units of a string.
fn object_entries(value: Raw<'_>) -> Vec<(Text<'_>, Text<'static>)> {
    if let Some(text) = value.text() {
        return with_indexes(unit_strings(&text));
    }
    if value.is_array() {
        return with_indexes(value.items().map(js::stringify));
    }
    js::object_entries(value)
        .into_iter()
        .map(|(key, value)| (key, js::stringify(value)))
        .collect()
}

/// Returns pairs of an index and a value. JavaScript uses the index as the key.
fn with_indexes<'a>(values: impl Iterator<Item = Text<'static>>) -> Vec<(Text<'a>, Text<'static>)> {
    values
        .enumerate()
        .map(|(index, value)| (Text::from(index.to_string()), value))
        .collect()
}

/// Returns each UTF-16 unit of a text as a JSON string.
fn unit_strings<'a>(text: &'a Text) -> impl Iterator<Item = Text<'static>> + 'a {
    text.utf16_units().map(|unit| {
        let mut bytes = Vec::new();
        push_code_point(&mut bytes, unit);
        Text::from_wtf8(string::encode_to_vec(&Text::from_wtf8(bytes)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::pi::context;
    use crate::agents::pi::testing::*;
    use crate::agents::prompt::TOOL_RESULT_UNITS;

    fn transcript(entries: &[String]) -> String {
        let made = chain(entries);
        let messages = context::build_context(&made.path(), &made.reader())
            .unwrap()
            .messages;
        let mut out = Vec::new();
        write_transcript(&messages, &made.reader(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn each_role_has_its_label() {
        let entries = [
            says("system", r#""content":"hidden""#),
            user("hi"),
            user(""),
            says(
                "assistant",
                r#""content":[{"type":"thinking","thinking":"hidden"},{"type":"text","text":"a"},
                {"type":"toolCall","name":"read","arguments":{"b":1.0,"1":["x"],"b":2}},{"type":"text","text":"b"},
                {"type":"toolCall","name":"ls","arguments":{}}]"#
                    .replace('\n', "")
                    .as_str(),
            ),
            result("ok"),
            says("bashExecution", r#""command":"ls","output":"""#),
        ];
        assert_eq!(
            transcript(&entries),
            "[User]: hi\n\n[Assistant]: a\nb\n\n[Assistant tool calls]: read(1=[\"x\"], b=2); ls()\n\n\
             [Tool result]: ok\n\n[User]: Ran `ls`\n(no output)"
        );
    }

    #[test]
    fn a_tool_result_is_cut_between_characters() {
        let text = format!("{}😀tail", "x".repeat(TOOL_RESULT_UNITS - 1));
        assert_eq!(
            transcript(&[result(&text)]),
            format!(
                "[Tool result]: {}\n\n[... 5 more characters truncated]",
                "x".repeat(TOOL_RESULT_UNITS - 1)
            )
        );
    }

    #[test]
    fn lone_surrogates_are_replaced_where_they_stay_alone() {
        let halves =
            r#""content":[{"type":"text","text":"\ud83d"},{"type":"text","text":"\ude00\ud83d"}]"#;
        assert_eq!(transcript(&[says("user", halves)]), "[User]: 😀\u{fffd}");
    }

    #[test]
    fn arguments_that_are_no_object_have_their_items() {
        let call = |arguments: &str| {
            let block = format!(r#"{{"type":"toolCall","name":"t","arguments":{arguments}}}"#);
            transcript(&[says("assistant", &format!(r#""content":[{block}]"#))])
        };
        assert_eq!(
            call(r#"["a",{}]"#),
            "[Assistant tool calls]: t(0=\"a\", 1={})"
        );
        assert_eq!(
            call(r#""a😀""#),
            "[Assistant tool calls]: t(0=\"a\", 1=\"\\ud83d\", 2=\"\\ude00\")"
        );
        assert_eq!(call("null"), "[Assistant tool calls]: t()");
    }
}
