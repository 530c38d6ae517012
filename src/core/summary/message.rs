//! What the summary takes from one message.

use super::budget::{ARGUMENT, POINT, RESULT};
use super::quote::{asks, breaks_off, last_prose, quoted};
use crate::core::content::{joined_text, members};
use crate::core::json::js::truthy;
use crate::core::json::{Raw, string};
use crate::core::omp::message::{skill_draft, starts_user_turn};
use crate::core::record::{Block, Content, MessageFacts, message_facts};
use crate::core::text::Text;
use regex::Regex;
use std::borrow::Cow;
use std::sync::LazyLock;

/// How the agents' shell tools report that a command failed, and that the user stopped it.
const FAILED: [&str; 3] = ["Command exited with code ", "Command timed out", "Command failed: "];
const STOPPED: [&str; 3] = ["Command aborted", "Command cancelled", "Operation aborted"];
/// Matches files and skills as pi puts them into a request.
const BODIES: &str = r#"(?s)(<(?:file|skill) name="[^>]*>).*?(</(?:file|skill)>)"#;

#[derive(Debug)]
pub(super) enum Message {
    /// The user's words.
    User(String),
    /// The assistant's words, its calls with their ids, and why it stopped.
    Assistant(String, Vec<(String, Call)>, Stop),
    /// The result of a call: the call's id, the call, how it ended, and the end of its output. For a command
    /// or code that the user ran, the id is empty.
    Result(String, Call, End, String),
    /// An extension's message: its custom type and its words.
    Extension(String, String),
    CompactionSummary(String),
    BranchSummary(String),
    Other,
}

/// Why the assistant stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Stop {
    /// Its reply is complete.
    #[default]
    Done,
    /// It is complete, and ends in a question.
    Asks,
    ToolUse,
    /// It was cut short: how, in words.
    Early(String),
}

#[derive(Clone, Debug, Default)]
pub(super) struct Call {
    pub tool: String,
    pub path: Option<String>,
    pub command: Option<String>,
    pub question: Option<String>,
}

/// How a tool call ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum End {
    #[default]
    Passed,
    /// The agent's line that reports the failure; empty if there is none.
    Failed(String),
    /// The user stopped it.
    Stopped,
}

/// Reads a message.
pub(super) fn read(message: Raw) -> Message {
    let mut blocks = Vec::new();
    let facts = message_facts(message, &mut blocks);
    let text = || text(facts.content, &blocks);
    let get = |key| message.get_some(key);
    match &*facts.role.map(|role| role.text()).unwrap_or_default().to_string_lossy() {
        "user" if !truthy(get("synthetic")) => Message::User(without_bodies(text())),
        "developer" if truthy(get("userInitiated")) => Message::User(without_bodies(text())),
        "custom" if starts_user_turn(message) => {
            let typed = skill_draft(message).map(Text::into_string_lossy);
            Message::User(typed.unwrap_or_else(|| without_bodies(text())))
        }
        "custom" | "hookMessage" => Message::Extension(head(get("customType"), ARGUMENT), text()),
        "assistant" => assistant(text(), &facts, &blocks),
        "toolResult" => {
            let [code, timed_out] = members(get("details").unwrap_or(Raw::NULL), ["exitCode", "timedOut"]);
            let call = Call { tool: head(facts.tool_name, ARGUMENT), ..Call::default() };
            let text = tail(text());
            let end = end(&text, truthy(facts.is_error) || truthy(timed_out), code);
            Message::Result(head(facts.tool_call_id, ARGUMENT), call, end, text)
        }
        "bashExecution" | "pythonExecution" if !truthy(get("excludeFromContext")) => {
            let text = tail(joined_text(get("output"), "\n").into_string_lossy());
            let end = match truthy(facts.cancelled) {
                true => End::Stopped,
                false => end(&text, false, facts.exit_code),
            };
            let command = Some(head(get("command").or(get("code")), ARGUMENT));
            Message::Result(String::new(), Call { command, ..Call::default() }, end, text)
        }
        "compactionSummary" => {
            Message::CompactionSummary(joined_text(get("summary"), "\n").into_string_lossy())
        }
        "branchSummary" => Message::BranchSummary(joined_text(get("summary"), "\n").into_string_lossy()),
        _ => Message::Other,
    }
}

fn assistant(text: String, facts: &MessageFacts, blocks: &[Block]) -> Message {
    let calls: Vec<_> = blocks.iter().filter(|block| is(block, "toolCall")).map(call).collect();
    let stop = match &*head(facts.stop_reason, ARGUMENT) {
        "error" => {
            let error = head(facts.error_message, ARGUMENT);
            Stop::Early(format!("the model's reply failed: {}", quoted(&error, POINT)))
        }
        "aborted" => Stop::Early("interrupted by the user".to_owned()),
        "length" => Stop::Early("the model's reply reached its token limit".to_owned()),
        "toolUse" => Stop::ToolUse,
        _ if !calls.is_empty() => Stop::ToolUse,
        _ => match last_prose(&text) {
            last if asks(last) => Stop::Asks,
            last if breaks_off(last) => {
                Stop::Early("the reply breaks off in the middle of a sentence".to_owned())
            }
            _ => Stop::Done,
        },
    };
    Message::Assistant(text, calls, stop)
}

/// Returns how a call ended, from its flag, its exit code, or the agent's line at the end of its output.
fn end(text: &str, is_error: bool, code: Option<Raw>) -> End {
    let starts = |line: &str, with: &[&str]| with.iter().any(|start| line.starts_with(start));
    let mut last = text.lines().rev().map(str::trim).filter(|line| !line.is_empty()).take(4);
    match last.find(|line| starts(line, &FAILED) || starts(line, &STOPPED)) {
        Some(line) if starts(line, &STOPPED) => End::Stopped,
        Some(line) => End::Failed(line.to_owned()),
        None => match code.and_then(Raw::number).filter(|code| *code != 0.0) {
            Some(code) => End::Failed(format!("{}{code}", FAILED[0])),
            None if is_error => End::Failed(String::new()),
            None => End::Passed,
        },
    }
}

/// Returns a call and its id.
fn call(block: &Block) -> (String, Call) {
    let arguments = block.arguments.unwrap_or(Raw::NULL);
    let argument = |keys: &[&str]| {
        keys.iter().map(|key| head(arguments.get(key), ARGUMENT)).find(|text| !text.is_empty())
    };
    // A patch names its file.
    let file = |line: &str| Some(line.strip_prefix("*** ")?.split_once(" File: ")?.1.trim().to_owned());
    let patched = || argument(&["input", "patch"])?.lines().find_map(file);
    let first = || Some(head(arguments.get("questions")?.items().next()?.get("question"), ARGUMENT));
    let call = Call {
        tool: head(block.name, ARGUMENT),
        path: argument(&["path", "file_path", "filePath", "file", "notebook_path"]).or_else(patched),
        command: argument(&["command", "cmd"]),
        question: argument(&["question"]).or_else(first),
    };
    (head(block.id, ARGUMENT), call)
}

/// Returns a request without the bodies of the files and skills that pi put into it.
fn without_bodies(text: String) -> String {
    static ATTACHMENT: LazyLock<Regex> = LazyLock::new(|| Regex::new(BODIES).expect("a constant"));
    match ATTACHMENT.replace_all(&text, "$1[…]$2") {
        Cow::Borrowed(_) => text,
        Cow::Owned(short) => short,
    }
}

/// Returns the text of a message's content; `[image]` if it has an image and no text.
fn text(content: Content, blocks: &[Block]) -> String {
    if let Content::Text(text) = content {
        return text.text().into_string_lossy();
    }
    let mut text = Text::default();
    let texts = blocks.iter().filter(|block| is(block, "text")).filter_map(|block| block.text?.text());
    for (at, part) in texts.enumerate() {
        text.push_str(if at > 0 { "\n" } else { "" });
        text.push(&part);
    }
    if text.is_empty() && blocks.iter().any(|block| is(block, "image")) {
        return "[image]".to_owned();
    }
    text.into_string_lossy()
}

fn is(block: &Block, kind: &str) -> bool {
    block.kind.is_some_and(|own| own.is(kind))
}

/// Returns the end of a text.
fn tail(text: String) -> String {
    let from = text.char_indices().rev().nth(RESULT).map_or(0, |(at, _)| at);
    text[from..].to_owned()
}

/// Returns the start of a string.
fn head(value: Option<Raw>, units: usize) -> String {
    let mut out = Vec::new();
    string::decode_head(value.and_then(Raw::raw_string).unwrap_or_default(), units, &mut out);
    Text::from_wtf8(out).into_string_lossy()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attached_bodies_leave_a_request() {
        let text = "<file name=\"a.md\">\nx\n</file>\n<file name=\"b\">y</file>\nSum it up.";
        let short = "<file name=\"a.md\">[…]</file>\n<file name=\"b\">[…]</file>\nSum it up.";
        assert_eq!(without_bodies(text.to_owned()), short);
        let skill = "<skill name=\"s\" location=\"/s\">x\ny</skill>\n\nfor the login page";
        assert!(without_bodies(skill.to_owned()).ends_with(">[…]</skill>\n\nfor the login page"));
        for odd in ["<file name=\"", "<file name=\"a\">", "</file><file name=\"", "<file name=\"</file>"] {
            assert_eq!(without_bodies(odd.to_owned()), odd);
        }
    }

    #[test]
    fn an_end_is_known_by_flag_code_or_line() {
        let end = |json: &str| match read(Raw::parse(json.as_bytes()).unwrap()) {
            Message::Result(_, _, end, _) => end,
            other => panic!("{other:?}"),
        };
        let failed = |line: &str| End::Failed(line.to_owned());
        let cases = [
            (r#""isError":true,"content":[{"type":"text","text":"no"}]"#, failed("")),
            (
                r#""isError":true,"content":[{"type":"text","text":"a\n\nCommand timed out after 120 seconds"}]"#,
                failed("Command timed out after 120 seconds"),
            ),
            (
                r#""content":[{"type":"text","text":"a\n\nCommand exited with code 2\n\n[Output truncated]"}]"#,
                failed("Command exited with code 2"),
            ),
            (r#""details":{"exitCode":137},"content":[]"#, failed("Command exited with code 137")),
            (r#""isError":true,"content":"x\n\nCommand aborted""#, End::Stopped),
            (r#""isError":false,"content":"Command line tools""#, End::Passed),
        ];
        for (fields, expected) in cases {
            assert_eq!(end(&format!(r#"{{"role":"toolResult",{fields}}}"#)), expected, "{fields}");
        }
        assert_eq!(
            end(r#"{"role":"bashExecution","command":"x","output":"","exitCode":3}"#),
            failed("Command exited with code 3")
        );
        assert_eq!(end(r#"{"role":"bashExecution","exitCode":3,"cancelled":true}"#), End::Stopped);
    }
}
