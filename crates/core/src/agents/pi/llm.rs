//! Converts messages to those that a model receives (pi's `convertToLlm`).

use crate::agents::agent::Emit;
use crate::session::content;
use crate::session::read::entry_reader::{ContextMessage, EntryReader};
use pisess_json::js;
use pisess_json::text::{Text, concat_texts};
use pisess_json::{Raw, write};
use std::borrow::Cow;
use std::io;

const COMPACTION_INTRO: &str = "The conversation history before this point was compacted into the following summary:\n\n<summary>\n";
const BRANCH_INTRO: &str =
    "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n";

/// Converts the messages of a context to the messages that the model receives, and calls `emit`
/// with the JSON of each, in order.
pub fn convert_messages(
    messages: &[ContextMessage],
    reader: &EntryReader,
    emit: &mut Emit,
) -> io::Result<()> {
    for message in messages {
        let emitted = message.with_json(reader, |json| match convert_message(json) {
            Some(converted) => emit(&converted),
            None => Ok(()),
        })?;
        emitted?;
    }
    Ok(())
}

/// Converts a message for the model. A message in a role that models know stays the same. A command
/// of the user, a custom message or a summary becomes a user message.
///
/// `None` for a message that is not sent: a command that is excluded from the context, and a
/// message in any other role.
pub fn convert_message(message: Raw<'_>) -> Option<Cow<'_, [u8]>> {
    let role = message.get_text("role")?;
    let text = match role.as_bytes() {
        b"system" | b"user" | b"assistant" | b"toolResult" => {
            return Some(Cow::Borrowed(message.bytes()));
        }
        b"custom" => return Some(Cow::Owned(convert_custom(message))),
        b"bashExecution" => {
            if content::has_truthy(message, "excludeFromContext") {
                return None;
            }
            bash_execution_text(message)
        }
        b"branchSummary" => concat_texts(&[
            &BRANCH_INTRO,
            &js::interpolate(message.get("summary")),
            &"</summary>",
        ]),
        b"compactionSummary" => concat_texts(&[
            &COMPACTION_INTRO,
            &js::interpolate(message.get("summary")),
            &"\n</summary>",
        ]),
        _ => return None,
    };
    Some(Cow::Owned(build_user_message(
        Some(&content::text_content(&text)),
        message.get("timestamp"),
    )))
}

/// Returns the text for a command that the user ran: the command, its output and, if the output was
/// truncated, where all of it is.
fn bash_execution_text(message: Raw) -> Text<'static> {
    let names = ["command", "truncated", "fullOutputPath"];
    let [command, truncated, full_output] = content::find_members(message, names);
    let mut text = concat_texts(&[&"Ran `", &js::interpolate(command), &"`\n"]);
    push_output(&mut text, message, &COMMAND_WORDS);
    if js::is_truthy(truncated) && js::is_truthy(full_output) {
        text.push_all(&[
            &"\n\n[Output truncated. Full output: ",
            &js::interpolate(full_output),
            &"]",
        ]);
    }
    text
}

/// The words that an agent puts around the output of what the user ran.
pub struct OutputWords {
    /// Before the output. Unused if there is no output.
    pub before: &'static str,
    /// After the output of a run that was cancelled.
    pub cancelled: &'static str,
    /// Before an exit code other than 0.
    pub failed: &'static str,
}

/// The words for a shell command, the same in both agents.
pub const COMMAND_WORDS: OutputWords = OutputWords {
    before: "",
    cancelled: "command cancelled",
    failed: "Command exited with code ",
};

/// Appends the stored output of a command or code that the user ran, introduced by the agent's
/// `words`, and then how the run ended if it was cancelled or failed. A missing or `null` exit code
/// counts as success.
pub fn push_output(text: &mut Text, message: Raw, words: &OutputWords) {
    let [output, cancelled, code] =
        content::find_members(message, ["output", "cancelled", "exitCode"]);
    match output.filter(|output| output.is_truthy()) {
        Some(output) => {
            text.push_all(&[&words.before, &"```\n", &js::to_js_string(output), &"\n```"])
        }
        None => text.push_str("(no output)"),
    }
    if js::is_truthy(cancelled) {
        text.push_all(&[&"\n\n(", &words.cancelled, &")"]);
    } else if let Some(code) = code
        && !code.is_null()
        && code.number() != Some(0.0)
    {
        text.push_all(&[&"\n\n", &words.failed, &js::to_js_string(code)]);
    }
}

/// Converts a custom message to a user message. Content that is a string becomes a text block.
fn convert_custom(message: Raw) -> Vec<u8> {
    let [content, timestamp] = content::find_members(message, ["content", "timestamp"]);
    match content.and_then(Raw::text) {
        Some(text) => build_user_message(Some(&content::text_content(&text)), timestamp),
        None => build_user_message(content.map(Raw::bytes), timestamp),
    }
}

/// Builds a user message. `content` is JSON; a member that is `None` is left out.
fn build_user_message(content: Option<&[u8]>, timestamp: Option<Raw>) -> Vec<u8> {
    write::Object::new()
        .str("role", "user")
        .with(content, |object, value| object.json("content", value))
        .with(timestamp, |object, value| object.raw("timestamp", value))
        .finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(message: &str) -> Option<String> {
        let message = Raw::parse(message.as_bytes()).unwrap();
        convert_message(message).map(|json| String::from_utf8(json.into_owned()).unwrap())
    }

    fn text_of(message: &str) -> String {
        let json = converted(message).unwrap();
        let content = Raw::from_checked(json.as_bytes()).get("content").unwrap();
        content
            .items()
            .next()
            .unwrap()
            .get_text("text")
            .unwrap()
            .to_string()
    }

    #[test]
    fn llm_conversion_passes_known_roles_unchanged() {
        for role in ["system", "user", "assistant", "toolResult"] {
            let message = format!(r#"{{"role":"{role}", "x":1e5}}"#);
            assert_eq!(converted(&message).unwrap(), message);
        }
        assert_eq!(converted(r#"{"role":"hookMessage"}"#), None);
        assert_eq!(converted("{}"), None);
    }

    #[test]
    fn a_custom_message_is_the_users() {
        for (custom, user) in [
            (
                r#""content":"a\ud83d","timestamp":5"#,
                r#""content":[{"type":"text","text":"a\ud83d"}],"timestamp":5"#,
            ),
            (r#""content":[1]"#, r#""content":[1]"#),
        ] {
            let user = format!(r#"{{"role":"user",{user}}}"#);
            assert_eq!(
                converted(&format!(r#"{{"role":"custom",{custom}}}"#)).unwrap(),
                user
            );
        }
        assert_eq!(
            converted(r#"{"role":"custom"}"#).unwrap(),
            r#"{"role":"user"}"#
        );
    }

    #[test]
    fn commands_tell_how_they_ended() {
        for (members, text) in [
            (r#""output":"""#, "(no output)"),
            (r#""output":"a","exitCode":0"#, "```\na\n```"),
            (
                r#""output":"a","exitCode":2"#,
                "```\na\n```\n\nCommand exited with code 2",
            ),
            (
                r#""exitCode":2,"cancelled":true,"truncated":true,"fullOutputPath":"/x""#,
                "(no output)\n\n(command cancelled)\n\n[Output truncated. Full output: /x]",
            ),
        ] {
            let message = format!(r#"{{"role":"bashExecution","command":"ls",{members}}}"#);
            assert_eq!(text_of(&message), format!("Ran `ls`\n{text}"));
        }
        assert_eq!(
            converted(r#"{"role":"bashExecution","excludeFromContext":true}"#),
            None
        );
    }
}
