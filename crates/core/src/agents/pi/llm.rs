//! Converts messages for a model (pi's `convertToLlm`).

use crate::agents::agent::Emit;
use crate::session::content;
use crate::session::read::entry_reader::{EntryReader, Message};
use pisess_json::js;
use pisess_json::text::{Text, concat};
use pisess_json::{Raw, write};
use std::borrow::Cow;
use std::io;

const COMPACTION_BEFORE: &str = "The conversation history before this point was compacted into the following summary:\n\n<summary>\n";
const BRANCH_BEFORE: &str =
    "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n";

/// Calls `emit` with each message for the model, in order, as a JSON object.
pub fn convert_all(messages: &[Message], reader: &EntryReader, emit: &mut Emit) -> io::Result<()> {
    messages.iter().try_for_each(|message| {
        message.with(reader, |json| {
            convert(json).map_or(Ok(()), |json| emit(&json))
        })?
    })
}

/// Returns a message for a model: unchanged, converted if models do not have its role, or `None` if
/// it is not sent.
pub fn convert(message: Raw<'_>) -> Option<Cow<'_, [u8]>> {
    let role = message.get_text("role")?;
    let text = match role.as_bytes() {
        b"system" | b"user" | b"assistant" | b"toolResult" => {
            return Some(Cow::Borrowed(message.bytes()));
        }
        b"custom" => return Some(Cow::Owned(custom(message))),
        b"bashExecution" if content::truthy(message, "excludeFromContext") => return None,
        b"bashExecution" => bash_execution(message),
        b"branchSummary" => concat(&[
            &BRANCH_BEFORE,
            &js::template(message.get("summary")),
            &"</summary>",
        ]),
        b"compactionSummary" => concat(&[
            &COMPACTION_BEFORE,
            &js::template(message.get("summary")),
            &"\n</summary>",
        ]),
        _ => return None,
    };
    Some(Cow::Owned(user(
        Some(&content::text_content(&text)),
        message.get("timestamp"),
    )))
}

/// Returns the text for a command that the user ran.
fn bash_execution(message: Raw) -> Text<'static> {
    let names = ["command", "truncated", "fullOutputPath"];
    let [command, truncated, full_output] = content::members(message, names);
    let mut text = concat(&[&"Ran `", &js::template(command), &"`\n"]);
    push_output(&mut text, message, &COMMAND_WORDS);
    if js::truthy(truncated) && js::truthy(full_output) {
        text.push_all(&[
            &"\n\n[Output truncated. Full output: ",
            &js::template(full_output),
            &"]",
        ]);
    }
    text
}

/// The words around the output of what the user ran.
pub struct OutputWords {
    /// Before the output, if there is any.
    pub before: &'static str,
    /// For a run that was cancelled.
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

/// Appends the output of what the user ran, and how it ended.
pub fn push_output(text: &mut Text, message: Raw, words: &OutputWords) {
    let [output, cancelled, code] = content::members(message, ["output", "cancelled", "exitCode"]);
    match output.filter(|output| output.is_truthy()) {
        Some(output) => text.push_all(&[&words.before, &"```\n", &js::string(output), &"\n```"]),
        None => text.push_str("(no output)"),
    }
    if js::truthy(cancelled) {
        text.push_all(&[&"\n\n(", &words.cancelled, &")"]);
    } else if let Some(code) = code
        && !code.is_null()
        && code.number() != Some(0.0)
    {
        text.push_all(&[&"\n\n", &words.failed, &js::string(code)]);
    }
}

fn custom(message: Raw) -> Vec<u8> {
    let [content, timestamp] = content::members(message, ["content", "timestamp"]);
    let blocks = content
        .and_then(Raw::text)
        .map(|text| content::text_content(&text));
    user(blocks.as_deref().or(content.map(Raw::bytes)), timestamp)
}

fn user(content: Option<&[u8]>, timestamp: Option<Raw>) -> Vec<u8> {
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
        convert(message).map(|json| String::from_utf8(json.into_owned()).unwrap())
    }

    fn text_of(message: &str) -> String {
        let json = converted(message).unwrap();
        let content = Raw::checked(json.as_bytes()).get("content").unwrap();
        content
            .items()
            .next()
            .unwrap()
            .get_text("text")
            .unwrap()
            .to_string()
    }

    #[test]
    fn what_a_model_knows_passes_as_it_is() {
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
