//! Converts messages for a model (`convertToLlm`).
//!
//! A message may become none, one or two, and the form of an assistant message depends on the
//! message after it, so the whole list is converted. Instructions that steer a turn are not
//! changed: the agent wraps them later, on their way to the provider.

use super::message::{self, INTERRUPTED_THINKING};
use super::notice::notice;
use super::template;
use crate::agents::agent::Emit;
use crate::agents::pi::llm::push_ending;
use crate::session::content;
use crate::session::read::entry_reader::{EntryReader, Message};
use pisess_json::edit;
use pisess_json::js;
use pisess_json::text::{Text, concat, joined};
use pisess_json::write::{Object, array};
use pisess_json::{Raw, string as json_string};
use std::io;

/// Calls `emit` with each message for the model, in order, as a JSON object.
pub fn convert(messages: &[Message], reader: &EntryReader, emit: &mut Emit) -> io::Result<()> {
    for (at, message) in messages.iter().enumerate() {
        let next = messages.get(at + 1);
        let is_explained = || next.map_or(Ok(false), |next| next.with(reader, explains_thinking));
        message.with(reader, |message| match message.get_text("role") {
            Some(role) if role == "assistant" => turn(message, is_explained, emit),
            _ => alone(message).iter().try_for_each(|json| emit(json)),
        })??;
    }
    Ok(())
}

/// Whether a message is the note on the thinking of the turn before it.
fn explains_thinking(message: Raw) -> bool {
    content::is(message, "role", "custom")
        && content::is(message, "customType", INTERRUPTED_THINKING)
}

/// Emits a turn; if it ends in thinking, the message after it decides in which form.
fn turn(turn: Raw, is_explained: impl Fn() -> io::Result<bool>, emit: &mut Emit) -> io::Result<()> {
    let Some(kept) = breaks_off(turn) else {
        return emit(turn.bytes());
    };
    let is_explained = is_explained()?;
    let names = ["errorId", "errorMessage", "stopReason", "requestControls"];
    let [id, error, stop_reason, controls] = content::members(turn, names);
    let interrupted = stop_reason.is_some_and(|reason| reason.is("aborted"))
        && message::is_user_interrupt(id, error);
    // Later requests repeat the controls of a request, so its turn is kept even if it is empty.
    if !is_explained && interrupted && kept.is_empty() && controls.is_none() {
        return Ok(());
    }
    let is_empty = turn
        .get("content")
        .unwrap_or(Raw::NULL)
        .items()
        .next()
        .is_none();
    if is_empty || !is_explained && !interrupted {
        return emit(turn.bytes());
    }
    emit(&edit::with(
        turn,
        "content",
        &array(kept.iter().map(|block| block.bytes())),
    ))
}

/// Returns the blocks before the unsigned thinking in which a turn ends, or no blocks if it has no
/// content; `None` for any other turn.
fn breaks_off(turn: Raw<'_>) -> Option<Vec<Raw<'_>>> {
    let mut blocks: Vec<_> = turn.get("content").unwrap_or(Raw::NULL).items().collect();
    let whole = blocks.len();
    let blank =
        |block: &mut Raw| content::is_block(*block, "text") && content::is_blank(*block, "text");
    while blocks.pop_if(blank).is_some() {}
    let end = blocks.len();
    let unsigned = |block: &mut Raw| {
        content::is_block(*block, "thinking")
            && !content::is_blank(*block, "thinking")
            && !content::truthy(*block, "thinkingSignature")
    };
    while blocks.pop_if(unsigned).is_some() {}
    (whole == 0 || blocks.len() < end).then_some(blocks)
}

/// Returns the messages for any message but an assistant message: none, one or two.
pub fn alone(message: Raw) -> Vec<Vec<u8>> {
    match message.get_text("role").unwrap_or_default().as_bytes() {
        b"user" => vec![attributed(message, "user")],
        b"developer" => vec![attributed(message, "agent")],
        b"toolResult" => vec![tool_result(message)],
        b"bashExecution" | b"pythonExecution" if content::truthy(message, "excludeFromContext") => {
            Vec::new()
        }
        b"bashExecution" => vec![bash_execution(message)],
        b"pythonExecution" => vec![python_execution(message)],
        b"fileMention" => file_mention(message),
        b"custom" => custom(message),
        b"hookMessage" => injected(message),
        b"branchSummary" => vec![branch_summary(message)],
        b"compactionSummary" => vec![compaction_summary(message)],
        _ => Vec::new(),
    }
}

/// Returns the message with an attribution, if it has none.
fn attributed(message: Raw, default: &str) -> Vec<u8> {
    match message.get_some("attribution") {
        Some(_) => message.bytes().to_vec(),
        None => edit::with(
            message,
            "attribution",
            &json_string::encoded(&Text::from(default)),
        ),
    }
}

fn tool_result(message: Raw) -> Vec<u8> {
    let [pruned_at, content] = content::members(message, ["prunedAt", "content"]);
    let shortened = content
        .filter(|content| pruned_at.is_some() && content.is_array())
        .map(pruned);
    let changed = shortened.map(|content| edit::with(message, "content", &content));
    attributed(changed.as_deref().map_or(message, Raw::checked), "agent")
}

/// Returns the content of a pruned result: all its text in the first text block.
fn pruned(content: Raw) -> Vec<u8> {
    let mut text = content::joined_text(Some(content), "");
    if text.is_empty() {
        text = Text::from("[Output truncated]");
    }
    let has_text = content::blocks_of(content, "text").next().is_some();
    let mut text = Some(content::text_block(&text));
    let mut blocks: Vec<_> = text.take_if(|_| !has_text).into_iter().collect();
    for block in content.items() {
        let is_text = content::is_block(block, "text");
        blocks.extend(if is_text {
            text.take()
        } else {
            Some(block.bytes().to_vec())
        });
    }
    array(blocks)
}

fn bash_execution(message: Raw) -> Vec<u8> {
    let start = concat(&[&"Ran `", &js::template(message.get("command")), &"`\n"]);
    let words = ["", "command cancelled", "Command exited with code "];
    execution(message, start, words, message.get("images"))
}

fn python_execution(message: Raw) -> Vec<u8> {
    let start = concat(&[
        &"Ran Python:\n```python\n",
        &js::template(message.get("code")),
        &"\n```\n",
    ]);
    execution(
        message,
        start,
        [
            "Output:\n",
            "execution cancelled",
            "Execution failed with code ",
        ],
        None,
    )
}

/// Returns the message for a command run by the user, whose text begins with `text`; for the words,
/// see [`push_ending`].
fn execution(message: Raw, mut text: Text, words: [&str; 3], images: Option<Raw>) -> Vec<u8> {
    push_ending(&mut text, message, words);
    text.push(&notice(message.get("meta")));
    let content = text_with(&text, images.into_iter().flat_map(Raw::items));
    plain_message("user", &content, "user", message)
}

/// Returns mentioned files in separate messages: text, and files with an image.
fn file_mention(message: Raw) -> Vec<Vec<u8>> {
    let files: Vec<_> = message.get("files").unwrap_or(Raw::NULL).items().collect();
    let (images, texts): (Vec<Raw>, Vec<Raw>) = files
        .iter()
        .partition(|file| content::truthy(**file, "image"));
    let mut out = Vec::new();
    if !texts.is_empty() {
        out.push(plain_message(
            "developer",
            &content::text_content(&mentioned(&texts)),
            "user",
            message,
        ));
    }
    if !images.is_empty() {
        let content = text_with(
            &mentioned(&images),
            images.iter().filter_map(|file| file.get("image")),
        );
        out.push(plain_message("user", &content, "user", message));
    }
    out
}

fn mentioned(files: &[Raw]) -> Text<'static> {
    let file = |file: &Raw| {
        let [path, content] = content::members(*file, ["path", "content"]);
        let content = content.filter(|content| content.is_truthy());
        let lines = content
            .map(|content| concat(&[&js::string(content), &"\n"]))
            .unwrap_or_default();
        concat(&[
            &"<file path=\"",
            &js::template(path),
            &"\">\n",
            &lines,
            &"</file>",
        ])
    };
    joined(files.iter().map(file), "\n")
}

/// Returns an extension's message: a user message if it is a skill or a prompt attributed to the
/// user, otherwise a developer message.
fn custom(message: Raw) -> Vec<Vec<u8>> {
    match message::sendable(message) {
        Some(content) if message::is_user_collab(message) => {
            vec![plain_message(
                "user",
                &interjected(content),
                "user",
                message,
            )]
        }
        Some(content) if message::is_user_skill(message) => {
            vec![plain_message("user", &as_blocks(content), "user", message)]
        }
        _ => injected(message),
    }
}

/// Returns the content of a prompt that arrived while the model was working.
fn interjected(content: Raw) -> Vec<u8> {
    let text = content::joined_text(Some(content), "\n");
    if text.is_empty() {
        return content.bytes().to_vec();
    }
    let wrapped = template::interjection(&text);
    if content.is_string() {
        return json_string::encoded(&wrapped);
    }
    text_with(&wrapped, content::blocks_of(content, "image"))
}

/// Returns a developer message; images become a user message, since a model accepts them only
/// there.
fn injected(message: Raw) -> Vec<Vec<u8>> {
    let Some(content) = message::sendable(message) else {
        return Vec::new();
    };
    let say = |role: &str, content: &[u8]| {
        let said = Object::new().str("role", role).json("content", content);
        said.copy(message, &["attribution", "timestamp"]).finish()
    };
    let of = |kind| content::blocks_of(content, kind).map(Raw::bytes);
    if of("image").next().is_none() {
        return vec![say("developer", &as_blocks(content))];
    }
    let mut out = Vec::new();
    if of("text").next().is_some() {
        out.push(say("developer", &array(of("text"))));
    }
    let lead = concat(&[
        &"Images attached to ",
        &js::template(message.get("customType")),
        &".",
    ]);
    out.push(say(
        "user",
        &text_with(&lead, content::blocks_of(content, "image")),
    ));
    out
}

fn branch_summary(message: Raw) -> Vec<u8> {
    let text = template::branch_summary(&summary_of(message));
    summary(
        message,
        &content::text_content(&text),
        message.get("timestamp"),
        None,
    )
}

fn compaction_summary(message: Raw) -> Vec<u8> {
    let names = [
        "method",
        "blocks",
        "images",
        "providerPayload",
        "historyRewriteAt",
        "timestamp",
    ];
    let [method, blocks, images, payload, rewritten, timestamp] = content::members(message, names);
    let text = match (blocks, method) {
        (Some(_), _) => summary_of(message),
        (None, Some(method)) if method.is("handoff") => {
            template::handoff_summary(&summary_of(message))
        }
        _ => template::compaction_summary(&summary_of(message)),
    };
    let content = text_with(&text, blocks.or(images).into_iter().flat_map(Raw::items));
    summary(message, &content, rewritten.or(timestamp), payload)
}

/// Returns a summary's text for a template: empty if it is missing.
fn summary_of(message: Raw) -> Text<'static> {
    message
        .get_some("summary")
        .map(js::string)
        .unwrap_or_default()
        .into_owned()
}

fn summary(message: Raw, content: &[u8], rewritten: Option<Raw>, payload: Option<Raw>) -> Vec<u8> {
    Object::new()
        .str("role", "user")
        .json("content", content)
        .str("attribution", "agent")
        .with(rewritten, |object, time| {
            object.raw("historyRewriteAt", time)
        })
        .with(payload, |object, payload| {
            object.raw("providerPayload", payload)
        })
        .copy(message, &["timestamp"])
        .finish()
}

/// Returns content that is a text, followed by other blocks.
fn text_with<'a>(text: &Text, blocks: impl Iterator<Item = Raw<'a>>) -> Vec<u8> {
    array(
        std::iter::once(content::text_block(text))
            .chain(blocks.map(|block| block.bytes().to_vec())),
    )
}

/// Returns a message with the time of another.
fn plain_message(role: &str, content: &[u8], attribution: &str, message: Raw) -> Vec<u8> {
    Object::new()
        .str("role", role)
        .json("content", content)
        .str("attribution", attribution)
        .copy(message, &["timestamp"])
        .finish()
}

/// Returns a string as a text block, an array unchanged.
fn as_blocks(content: Raw) -> Vec<u8> {
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
            crate::agents::oh_my_pi::context::build(&made.path(), &made.reader()).unwrap();
        let mut out = Vec::new();
        let mut take = |json: &[u8]| {
            out.push(String::from_utf8(json.to_vec()).unwrap());
            Ok(())
        };
        convert(&context.messages, &made.reader(), &mut take).unwrap();
        out
    }

    fn one_of(role: &str, members: &str) -> String {
        let mut all = converted(&[says(role, members)]);
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    }

    fn text_of(json: &str) -> String {
        content::joined_text(Raw::checked(json.as_bytes()).get("content"), "").to_string()
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
        let is_emitted = |more: &str| {
            let message = format!(
                r#"{{"content":[],"stopReason":"aborted","errorMessage":"Interrupted by user"{more}}}"#
            );
            let mut emitted = Vec::new();
            let mut take = |json: &[u8]| {
                emitted.push(json.to_vec());
                Ok(())
            };
            turn(Raw::checked(message.as_bytes()), || Ok(false), &mut take).unwrap();
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
