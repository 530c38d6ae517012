//! Converts messages to those that a model receives (`convertToLlm`).
//!
//! A message may become none, one or two. The form of an assistant message depends on the message
//! after it, so the whole list is converted. Instructions that steer a turn are not changed here:
//! the agent wraps them later, on their way to the provider.

use super::message::{self, INTERRUPTED_THINKING};
use super::notice::format_notice;
use super::template;
use crate::agents::agent::Emit;
use crate::agents::pi::llm::{COMMAND_WORDS, OutputWords, push_output};
use crate::session::content;
use crate::session::read::entry_reader::{ContextMessage, EntryReader};
use pisess_json::edit;
use pisess_json::js;
use pisess_json::text::{Text, concat_texts, join_with};
use pisess_json::write::{Object, array};
use pisess_json::{Raw, string as json_string};
use std::io;

/// Converts the messages of a context to the messages that the model receives, and calls `emit`
/// with the JSON of each, in order. A message may become none, one or two.
pub fn convert_messages(
    messages: &[ContextMessage],
    reader: &EntryReader,
    emit: &mut Emit,
) -> io::Result<()> {
    for (index, message) in messages.iter().enumerate() {
        let next = messages.get(index + 1);
        let emitted = message.with_json(reader, |message| {
            if content::member_is(message, "role", "assistant") {
                return emit_turn(message, next, reader, emit);
            }
            for json in convert_non_turn(message) {
                emit(&json)?;
            }
            Ok(())
        })?;
        emitted?;
    }
    Ok(())
}

/// Whether a message is the note that quotes the thinking of the turn before it.
fn quotes_thinking(message: Raw) -> bool {
    content::member_is(message, "role", "custom")
        && content::member_is(message, "customType", INTERRUPTED_THINKING)
}

/// Emits a turn (an assistant message) in the form in which the agent sends it. `next` is the
/// message after it.
///
/// If the user interrupted the model while it was thinking, the turn ends in thinking without a
/// signature. The agent removes such thinking if it knows of the interruption: the turn records it,
/// or `next` is a note that quotes the thinking. Any other turn is sent as it is.
fn emit_turn(
    turn: Raw,
    next: Option<&ContextMessage>,
    reader: &EntryReader,
    emit: &mut Emit,
) -> io::Result<()> {
    let Some(other_blocks) = blocks_before_unsigned_thinking(turn) else {
        // It does not end in unsigned thinking.
        return emit(turn.bytes());
    };
    let is_quoted_by_next = match next {
        Some(next) => next.with_json(reader, quotes_thinking)?,
        None => false,
    };
    let is_known_interruption = is_quoted_by_next || is_interrupted_by_user(turn);
    if !is_known_interruption {
        return emit(turn.bytes());
    }
    emit_with_blocks(turn, &other_blocks, is_quoted_by_next, emit)
}

/// Emits a turn with only these of its blocks, which are those before the interrupted thinking. A
/// turn without any block left is not sent, with two exceptions: if the next message quotes its
/// thinking, and if the turn has controls, which later requests repeat.
fn emit_with_blocks(
    turn: Raw,
    blocks: &[Raw],
    is_quoted_by_next: bool,
    emit: &mut Emit,
) -> io::Result<()> {
    let has_controls = turn.get("requestControls").is_some();
    if blocks.is_empty() && !is_quoted_by_next && !has_controls {
        return Ok(());
    }
    let content = turn.get("content").unwrap_or(Raw::NULL);
    let had_blocks = content.items().next().is_some();
    if !had_blocks {
        // The member stays as it is: it may also be missing, or no array.
        return emit(turn.bytes());
    }
    let remaining_content = array(blocks.iter().map(|block| block.bytes()));
    emit(&edit::with_member(turn, "content", &remaining_content))
}

/// Whether the user aborted a turn. The agent may also abort one for another reason.
fn is_interrupted_by_user(turn: Raw) -> bool {
    let [error_id, error, stop_reason] =
        content::find_members(turn, ["errorId", "errorMessage", "stopReason"]);
    stop_reason.is_some_and(|reason| reason.is("aborted"))
        && message::is_user_interrupt(error_id, error)
}

/// Returns the blocks of a turn without the thinking at its end that has no signature, as when the
/// user interrupted it. Blank text after that thinking is left out, too.
///
/// `None` if the turn does not end in such thinking. A turn without content counts as if it did,
/// with an empty list.
fn blocks_before_unsigned_thinking(turn: Raw<'_>) -> Option<Vec<Raw<'_>>> {
    let mut blocks: Vec<_> = turn.get("content").unwrap_or(Raw::NULL).items().collect();
    if blocks.is_empty() {
        return Some(blocks);
    }

    blocks.truncate(len_without_last(&blocks, is_blank_text));
    let thinking_end = blocks.len();
    blocks.truncate(len_without_last(&blocks, is_unsigned_thinking));
    let ends_in_thinking = blocks.len() < thinking_end;
    if ends_in_thinking { Some(blocks) } else { None }
}

/// Returns the number of blocks without those at the end for which `is_dropped` is true.
fn len_without_last(blocks: &[Raw], is_dropped: fn(Raw) -> bool) -> usize {
    let last_kept = blocks.iter().rposition(|&block| !is_dropped(block));
    last_kept.map_or(0, |last_kept| last_kept + 1)
}

fn is_blank_text(block: Raw) -> bool {
    content::is_block(block, "text") && content::is_blank_member(block, "text")
}

/// Whether a block is thinking that has a text but no signature.
fn is_unsigned_thinking(block: Raw) -> bool {
    content::is_block(block, "thinking")
        && !content::is_blank_member(block, "thinking")
        && !content::has_truthy(block, "thinkingSignature")
}

/// Converts a message other than a turn (an assistant message) to none, one or two messages for the
/// model. None is sent for what the user ran outside of the context, and for an unknown role.
pub fn convert_non_turn(message: Raw) -> Vec<Vec<u8>> {
    let role = message.get_text("role").unwrap_or_default();
    match role.as_bytes() {
        b"user" => vec![with_attribution(message, "user")],
        b"developer" => vec![with_attribution(message, "agent")],
        b"toolResult" => vec![convert_tool_result(message)],
        b"bashExecution" | b"pythonExecution"
            if content::has_truthy(message, "excludeFromContext") =>
        {
            Vec::new()
        }
        b"bashExecution" => vec![convert_bash_execution(message)],
        b"pythonExecution" => vec![convert_python_execution(message)],
        b"fileMention" => convert_file_mention(message),
        b"custom" => convert_custom(message),
        b"hookMessage" => convert_to_developer(message),
        b"branchSummary" => vec![convert_branch_summary(message)],
        b"compactionSummary" => vec![convert_compaction_summary(message)],
        _ => Vec::new(),
    }
}

/// Returns a message with an attribution: its own or, if it has none, `default`.
fn with_attribution(message: Raw, default: &str) -> Vec<u8> {
    match message.get_some("attribution") {
        Some(_) => message.bytes().to_vec(),
        None => edit::with_member(
            message,
            "attribution",
            &json_string::encode_to_vec(&Text::from(default)),
        ),
    }
}

/// Converts a tool result: adds the attribution, and joins the texts of a result that the agent has
/// pruned.
fn convert_tool_result(message: Raw) -> Vec<u8> {
    let [pruned_at, content] = content::find_members(message, ["prunedAt", "content"]);
    if let Some(content) = content
        && pruned_at.is_some()
        && content.is_array()
    {
        let shortened = edit::with_member(message, "content", &pruned_content(content));
        return with_attribution(Raw::from_checked(&shortened), "agent");
    }
    with_attribution(message, "agent")
}

/// Returns the content of a tool result whose output the agent has shortened, in the form in which
/// the agent sends it: all text is in one block, in the place of the first text block. Without
/// text, a note is the first block.
fn pruned_content(content: Raw) -> Vec<u8> {
    let mut text = content::join_text(Some(content), "");
    // Providers refuse an empty text.
    if text.is_empty() {
        text = Text::from("[Output truncated]");
    }
    let text_block = content::text_block(&text);

    let is_text = |block: &Raw| content::is_block(*block, "text");
    let others = content.items().filter(|block| !is_text(block));
    let mut blocks: Vec<&[u8]> = others.map(|block| block.bytes()).collect();
    // Only other blocks precede the first text block, so it has the same index among them.
    let text_index = content.items().position(|block| is_text(&block));
    blocks.insert(text_index.unwrap_or(0), &text_block);
    array(blocks)
}

fn convert_bash_execution(message: Raw) -> Vec<u8> {
    let start = concat_texts(&[&"Ran `", &js::interpolate(message.get("command")), &"`\n"]);
    build_execution_message(message, start, &COMMAND_WORDS, message.get("images"))
}

/// The words for the output of Python code.
const PYTHON_WORDS: OutputWords = OutputWords {
    before: "Output:\n",
    cancelled: "execution cancelled",
    failed: "Execution failed with code ",
};

fn convert_python_execution(message: Raw) -> Vec<u8> {
    let code = js::interpolate(message.get("code"));
    let start = concat_texts(&[&"Ran Python:\n```python\n", &code, &"\n```\n"]);
    build_execution_message(message, start, &PYTHON_WORDS, None)
}

/// Builds the user message for a command or code that the user ran. Its text is `quoted_command`,
/// then the stored output, introduced by `words`, then a notice if a part of the output was cut
/// off. The `images` of the output follow as blocks.
fn build_execution_message(
    execution: Raw,
    quoted_command: Text,
    words: &OutputWords,
    images: Option<Raw>,
) -> Vec<u8> {
    let mut text = quoted_command;
    push_output(&mut text, execution, words);
    text.push(&format_notice(execution.get("meta")));

    let content = text_and_blocks(&text, images.into_iter().flat_map(Raw::items));
    build_message_by_user("user", &content, execution)
}

/// Converts the files that the user mentioned to at most two messages: a developer message for text
/// files, and a user message for images, which a model accepts only from the user.
fn convert_file_mention(message: Raw) -> Vec<Vec<u8>> {
    let mut with_image = Vec::new();
    let mut text_only = Vec::new();
    for file in message.get("files").unwrap_or(Raw::NULL).items() {
        if content::has_truthy(file, "image") {
            with_image.push(file);
        } else {
            text_only.push(file);
        }
    }

    let mut out = Vec::new();
    if !text_only.is_empty() {
        let content = content::text_content(&quote_files(&text_only));
        out.push(build_message_by_user("developer", &content, message));
    }
    if !with_image.is_empty() {
        let images = with_image.iter().filter_map(|file| file.get("image"));
        let content = text_and_blocks(&quote_files(&with_image), images);
        out.push(build_message_by_user("user", &content, message));
    }
    out
}

fn quote_files(files: &[Raw]) -> Text<'static> {
    join_with(files.iter().map(|&file| quote_file(file)), "\n")
}

/// Returns a mentioned file in a tag with its path: `<file path="a.rs">`, its content, `</file>`.
fn quote_file(file: Raw) -> Text<'static> {
    let [path, content] = content::find_members(file, ["path", "content"]);
    let lines = match content {
        Some(content) if content.is_truthy() => concat_texts(&[&js::to_js_string(content), &"\n"]),
        _ => Text::default(),
    };
    let path = js::interpolate(path);
    concat_texts(&[&"<file path=\"", &path, &"\">\n", &lines, &"</file>"])
}

/// Converts a message of an extension. A user message is made of the prompt that another person
/// typed into the session, and of a skill that the user called. Any other becomes a developer
/// message.
fn convert_custom(message: Raw) -> Vec<Vec<u8>> {
    let Some(content) = message::sendable_content(message) else {
        return Vec::new();
    };
    let sent_content = if message::is_user_collab(message) {
        interjection_content(content)
    } else if message::is_user_skill(message) {
        to_blocks(content)
    } else {
        return convert_to_developer(message);
    };
    vec![build_message_by_user("user", &sent_content, message)]
}

/// Returns the content of a prompt that arrived while the model was working: its text with a
/// notice, then its images. A string remains a string. Content without text stays the same.
fn interjection_content(content: Raw) -> Vec<u8> {
    let text = content::join_text(Some(content), "\n");
    if text.is_empty() {
        return content.bytes().to_vec();
    }
    let wrapped = template::wrap_interjection(&text);
    if content.is_string() {
        return json_string::encode_to_vec(&wrapped);
    }
    text_and_blocks(&wrapped, content::blocks_of_type(content, "image"))
}

/// Converts a message to a developer message. Its images become a user message, because a model
/// accepts images only there.
fn convert_to_developer(message: Raw) -> Vec<Vec<u8>> {
    let Some(content) = message::sendable_content(message) else {
        return Vec::new();
    };
    let has_image = content::blocks_of_type(content, "image").next().is_some();
    if !has_image {
        return vec![rebuild_with_role("developer", &to_blocks(content), message)];
    }

    let mut out = Vec::new();
    let texts: Vec<_> = content::blocks_of_type(content, "text")
        .map(Raw::bytes)
        .collect();
    if !texts.is_empty() {
        out.push(rebuild_with_role("developer", &array(texts), message));
    }
    let custom_type = js::interpolate(message.get("customType"));
    let caption = concat_texts(&[&"Images attached to ", &custom_type, &"."]);
    let images = text_and_blocks(&caption, content::blocks_of_type(content, "image"));
    out.push(rebuild_with_role("user", &images, message));
    out
}

/// Builds a message in a role. Attribution and time are those of `message`.
fn rebuild_with_role(role: &str, content: &[u8], message: Raw) -> Vec<u8> {
    Object::new()
        .str("role", role)
        .json("content", content)
        .copy_members(message, &["attribution", "timestamp"])
        .finish()
}

fn convert_branch_summary(message: Raw) -> Vec<u8> {
    let text = template::wrap_branch_summary(&summary_text(message));
    let content = content::text_content(&text);
    build_summary_message(message, &content, message.get("timestamp"), None)
}

/// Converts the summary of a compaction to a user message: the summary in a template, then the
/// `images` of the message.
///
/// If the message has `blocks`, which are the archived history, these follow in place of the
/// images, and the summary has no template.
fn convert_compaction_summary(message: Raw) -> Vec<u8> {
    let names = [
        "method",
        "blocks",
        "images",
        "providerPayload",
        "historyRewriteAt",
        "timestamp",
    ];
    let [method, blocks, images, payload, rewritten_at, timestamp] =
        content::find_members(message, names);
    let summary = summary_text(message);
    let text = if blocks.is_some() {
        summary
    } else if method.is_some_and(|method| method.is("handoff")) {
        template::wrap_handoff_summary(&summary)
    } else {
        template::wrap_compaction_summary(&summary)
    };
    let archive = blocks.or(images).unwrap_or(Raw::NULL).items();
    let content = text_and_blocks(&text, archive);
    // Without a time of its own, the history was rewritten when the summary was written.
    build_summary_message(message, &content, rewritten_at.or(timestamp), payload)
}

/// Returns the text of a summary; empty if it is missing.
fn summary_text(message: Raw) -> Text<'static> {
    match message.get_some("summary") {
        Some(summary) => js::to_js_string(summary).into_owned(),
        None => Text::default(),
    }
}

/// Builds the user message of a summary. `rewritten_at` is the time at which the summary replaced
/// the history: older signatures are not valid any more. `provider_payload` is what the provider
/// replays in place of that history.
fn build_summary_message(
    message: Raw,
    content: &[u8],
    rewritten_at: Option<Raw>,
    provider_payload: Option<Raw>,
) -> Vec<u8> {
    Object::new()
        .str("role", "user")
        .json("content", content)
        .str("attribution", "agent")
        .with(rewritten_at, |object, time| {
            object.raw("historyRewriteAt", time)
        })
        .with(provider_payload, |object, payload| {
            object.raw("providerPayload", payload)
        })
        .copy_members(message, &["timestamp"])
        .finish()
}

/// Returns content that consists of a text block and other blocks after it.
fn text_and_blocks<'a>(text: &Text, blocks: impl Iterator<Item = Raw<'a>>) -> Vec<u8> {
    let mut all = vec![content::text_block(text)];
    for block in blocks {
        all.push(block.bytes().to_vec());
    }
    array(all)
}

/// Builds a message in a role, attributed to the user: it was written on the user's behalf. Its
/// time is that of `message`.
fn build_message_by_user(role: &str, content: &[u8], message: Raw) -> Vec<u8> {
    Object::new()
        .str("role", role)
        .json("content", content)
        .str("attribution", "user")
        .copy_members(message, &["timestamp"])
        .finish()
}

/// Returns content as an array of blocks: a string becomes a text block, an array stays the same.
fn to_blocks(content: Raw) -> Vec<u8> {
    match content.text() {
        Some(text) => content::text_content(&text),
        None => content.bytes().to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::pi::testing::{chain, says};

    fn converted(entries: &[String]) -> Vec<String> {
        let made = chain(entries);
        let context =
            crate::agents::oh_my_pi::context::build_context(&made.path(), &made.reader()).unwrap();
        let mut out = Vec::new();
        let mut take = |json: &[u8]| {
            out.push(String::from_utf8(json.to_vec()).unwrap());
            Ok(())
        };
        convert_messages(&context.messages, &made.reader(), &mut take).unwrap();
        out
    }

    fn one_of(role: &str, members: &str) -> String {
        let mut all = converted(&[says(role, members)]);
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    }

    fn text_of(json: &str) -> String {
        content::join_text(Raw::from_checked(json.as_bytes()).get("content"), "").to_string()
    }

    #[test]
    fn everyone_gets_an_attribution() {
        for (role, members, attributed) in [
            (
                "user",
                r#""content":"a","x":1"#,
                r#""content":"a","x":1,"attribution":"user""#,
            ),
            (
                "user",
                r#""attribution":"agent""#,
                r#""attribution":"agent""#,
            ),
            (
                "developer",
                r#""attribution":null"#,
                r#""attribution":"agent""#,
            ),
        ] {
            assert_eq!(
                one_of(role, members),
                format!(r#"{{"role":"{role}",{attributed}}}"#)
            );
        }
        assert!(converted(&[says("system", r#""content":"a""#)]).is_empty());
    }

    #[test]
    fn a_pruned_result_has_one_text() {
        let content = r#"[{"type":"image"},{"type":"text","text":"a"},{"type":"text","text":"b"}]"#;
        assert_eq!(
            one_of(
                "toolResult",
                &format!(r#""content":{content},"prunedAt":1"#)
            ),
            r#"{"role":"toolResult","content":[{"type":"image"},{"type":"text","text":"ab"}],"prunedAt":1,"attribution":"agent"}"#
        );
    }

    #[test]
    fn commands_tell_how_they_ended() {
        assert_eq!(
            text_of(&one_of("bashExecution", r#""command":"ls","output":"""#)),
            "Ran `ls`\n(no output)"
        );
        assert_eq!(
            text_of(&one_of(
                "pythonExecution",
                r#""code":"1","output":"1","exitCode":2"#
            )),
            "Ran Python:\n```python\n1\n```\nOutput:\n```\n1\n```\n\nExecution failed with code 2"
        );
        assert!(converted(&[says("bashExecution", r#""excludeFromContext":true"#)]).is_empty());
    }

    #[test]
    fn mentioned_files_with_images_are_the_users() {
        let files = r#""files":[{"path":"a","content":"A"},{"path":"b","content":"","image":{"type":"image"}}],"timestamp":5"#;
        assert_eq!(
            converted(&[says("fileMention", files)]),
            [
                r#"{"role":"developer","content":[{"type":"text","text":"<file path=\"a\">\nA\n</file>"}],"attribution":"user","timestamp":5}"#,
                r#"{"role":"user","content":[{"type":"text","text":"<file path=\"b\">\n</file>"},{"type":"image"}],"attribution":"user","timestamp":5}"#,
            ]
        );
    }

    #[test]
    fn custom_messages_by_who_sent_them() {
        let custom = |members: &str| one_of("custom", members);
        assert!(
            custom(r#""customType":"x","content":"a""#)
                .starts_with(r#"{"role":"developer","content":[{"#)
        );
        assert!(
            custom(r#""customType":"skill-prompt","attribution":"user","content":"a""#)
                .starts_with(r#"{"role":"user","content":[{"#)
        );
        let collab = custom(r#""customType":"collab-prompt","attribution":"user","content":"a""#);
        assert!(
            text_of(&collab).starts_with("<system-notice>\n"),
            "{collab}"
        );
        let split = converted(&[says(
            "custom",
            r#""customType":"x","content":[{"type":"image"},{"type":"text","text":"t"}]"#,
        )]);
        assert_eq!(
            split.iter().map(|json| text_of(json)).collect::<Vec<_>>(),
            ["t", "Images attached to x."]
        );
        assert!(converted(&[says("custom", r#""customType":"x","content":null"#)]).is_empty());
    }

    #[test]
    fn a_thought_that_was_cut_is_not_told() {
        let turn = |more: &str| {
            let content = r#"[{"type":"text","text":"a"},{"type":"thinking","thinking":"t"},{"type":"text","text":" "}]"#;
            says("assistant", &format!(r#""content":{content}{more}"#))
        };
        let note = r#""type":"custom_message","customType":"interrupted-thinking","content":"n""#
            .to_owned();
        assert!(converted(&[turn("")])[0].contains("thinking"));
        assert_eq!(
            converted(&[turn(r#","stopReason":"aborted""#), note])[0],
            r#"{"role":"assistant","content":[{"type":"text","text":"a"}],"stopReason":"aborted"}"#
        );
    }

    /// In a session that is opened again, no interrupted turn is left (`repair`).
    #[test]
    fn an_empty_interrupted_turn_is_kept_for_the_controls_of_its_request() {
        let made = chain(&[]);
        let is_emitted = |more: &str| {
            let message = format!(
                r#"{{"content":[],"stopReason":"aborted","errorMessage":"Interrupted by user"{more}}}"#
            );
            let mut emitted = Vec::new();
            let mut take = |json: &[u8]| {
                emitted.push(json.to_vec());
                Ok(())
            };
            emit_turn(
                Raw::from_checked(message.as_bytes()),
                None,
                &made.reader(),
                &mut take,
            )
            .unwrap();
            emitted == [message.into_bytes()]
        };
        assert!(!is_emitted(""));
        assert!(is_emitted(r#","requestControls":{"toolRemoval":["a"]}"#));
    }

    #[test]
    fn summaries_stand_in_their_frames() {
        let summary = |members: &str| text_of(&one_of("compactionSummary", members));
        assert!(summary(r#""summary":"S""#).ends_with("\n\n<summary>\nS\n</summary>"));
        assert!(
            summary(r#""summary":"S","method":"handoff""#)
                .ends_with("\n\n<handoff>\nS\n</handoff>")
        );
        assert_eq!(
            summary(r#""summary":"S","blocks":[{"type":"text","text":"T"}]"#),
            "ST"
        );
    }
}
