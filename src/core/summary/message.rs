//! What the summary takes from one message.

use super::budget::{ARGUMENT, ATTACHED, RESULT};
use super::quote::units;
use crate::core::content::{is_block, members};
use crate::core::json::js::truthy;
use crate::core::json::{Raw, string};
use crate::core::text::Text;
use memchr::memchr;

/// How the agents' shell tools report that a command failed, and that the user stopped it.
const FAILED: [&str; 3] = ["Command exited with code ", "Command timed out", "Command failed: "];
const STOPPED: [&str; 3] = ["Command aborted", "Command cancelled", "Operation aborted"];

#[derive(Debug)]
pub(super) enum Message {
    /// The user's words.
    User(String),
    Assistant(Assistant),
    /// The result of a call, with the call's id; without one, of a command or code that the user ran.
    Result(String, Call, Outcome),
    /// An extension's message: its custom type and its words.
    Extension(String, String),
    CompactionSummary(String),
    BranchSummary(String),
    Other,
}

#[derive(Debug, Default)]
pub(super) struct Assistant {
    pub text: String,
    /// The calls with their ids.
    pub calls: Vec<(String, Call)>,
    pub stop: Stop,
}

/// Why the assistant stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Stop {
    /// Its reply is complete.
    #[default]
    Done,
    ToolUse,
    /// The limit of tokens was reached.
    Length,
    Aborted,
    Error(String),
}

#[derive(Clone, Debug, Default)]
pub(super) struct Call {
    pub tool: String,
    pub path: Option<String>,
    pub command: Option<String>,
    pub question: Option<String>,
    /// The start of what it writes.
    pub text: String,
}

/// How a tool call ended, with the end of its output.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    pub end: End,
    pub text: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum End {
    #[default]
    Passed,
    /// With the agent's line that reports how, if there is one.
    Failed(String),
    /// The user stopped it.
    Stopped,
}

/// Reads a message, in one walk over its members.
pub(super) fn read(message: Raw) -> Message {
    let names =
        ["role", "content", "details", "stopReason", "errorMessage", "toolCallId", "toolName", "isError"];
    let [role, content, details, stop, error, id, tool, is_error] = members(message, names);
    let get = |key| message.get_some(key);
    match &*role.and_then(Raw::text).unwrap_or_default().to_string_lossy() {
        "user" if !truthy(get("synthetic")) => Message::User(without_bodies(text(content))),
        "developer" if truthy(get("userInitiated")) => Message::User(without_bodies(text(content))),
        "custom" | "hookMessage" => {
            let kind = head(get("customType"), ARGUMENT);
            let is_prompt = ["skill-prompt", "collab-prompt"].contains(&&*kind);
            if is_prompt && get("attribution").is_some_and(|by| by.is("user")) {
                let typed = typed(details.unwrap_or(Raw::NULL));
                Message::User(typed.unwrap_or_else(|| without_bodies(text(content))))
            } else {
                Message::Extension(kind, text(content))
            }
        }
        "assistant" => Message::Assistant(assistant(content, stop, error)),
        "toolResult" => {
            let [code, timed_out] = members(details.unwrap_or(Raw::NULL), ["exitCode", "timedOut"]);
            let call = Call { tool: head(tool, ARGUMENT), ..Call::default() };
            let outcome = outcome(tail(content), truthy(is_error) || truthy(timed_out), code);
            Message::Result(head(id, ARGUMENT), call, outcome)
        }
        "bashExecution" | "pythonExecution" if !truthy(get("excludeFromContext")) => {
            let mut outcome = outcome(tail(get("output")), false, get("exitCode"));
            if truthy(get("cancelled")) {
                outcome.end = End::Stopped;
            }
            let command = Some(head(get("command").or(get("code")), ARGUMENT));
            Message::Result(String::new(), Call { command, ..Call::default() }, outcome)
        }
        "compactionSummary" => Message::CompactionSummary(text(get("summary"))),
        "branchSummary" => Message::BranchSummary(text(get("summary"))),
        _ => Message::Other,
    }
}

/// Returns what the user typed to call a skill: the message's content is the skill.
fn typed(details: Raw) -> Option<String> {
    let detail = |key| {
        let value = details.get_text(key)?.trim().to_string_lossy().into_owned();
        Some(value).filter(|value| !value.is_empty())
    };
    let called = || match (detail("name"), detail("args")) {
        (Some(name), arguments) => Some(format!("/skill:{name} {}", arguments.unwrap_or_default())),
        (None, arguments) => arguments,
    };
    detail("__queueChipText").or_else(|| detail("prompt")).or_else(called)
}

fn assistant(content: Option<Raw>, stop: Option<Raw>, error: Option<Raw>) -> Assistant {
    let blocks = content.unwrap_or(Raw::NULL).items();
    let calls: Vec<_> = blocks.filter(|block| is_block(*block, "toolCall")).map(call).collect();
    let stop = match &*head(stop, ARGUMENT) {
        "error" => Stop::Error(head(error, ARGUMENT)),
        "aborted" => Stop::Aborted,
        "length" => Stop::Length,
        "toolUse" => Stop::ToolUse,
        _ if !calls.is_empty() => Stop::ToolUse,
        _ => Stop::Done,
    };
    Assistant { text: text(content), calls, stop }
}

/// Returns how a call ended: by its flag, its exit code, or the line that the agent put at its end.
fn outcome(text: String, is_error: bool, code: Option<Raw>) -> Outcome {
    let starts = |line: &str, with: &[&str]| with.iter().any(|start| line.starts_with(start));
    let mut last = text.lines().rev().map(str::trim).filter(|line| !line.is_empty()).take(4);
    let end = match last.find(|line| starts(line, &FAILED) || starts(line, &STOPPED)) {
        Some(line) if starts(line, &STOPPED) => End::Stopped,
        Some(line) => End::Failed(line.to_owned()),
        None => match code.and_then(Raw::number).filter(|code| *code != 0.0) {
            Some(code) => End::Failed(format!("{}{code}", FAILED[0])),
            None if is_error => End::Failed(String::new()),
            None => End::Passed,
        },
    };
    Outcome { end, text }
}

/// Returns a call and its id.
fn call(block: Raw) -> (String, Call) {
    let [id, name, arguments] = members(block, ["id", "name", "arguments"]);
    let mut call = Call { tool: head(name, ARGUMENT), ..Call::default() };
    for (name, value) in arguments.unwrap_or(Raw::NULL).members() {
        let is = |keys: &[&str]| keys.iter().any(|key| name.is(key));
        let text = || Some(head(Some(value), ARGUMENT)).filter(|text| !text.is_empty());
        if is(&["path", "file_path", "filePath", "file", "notebook_path"]) {
            call.path = text();
        } else if is(&["command", "cmd"]) {
            call.command = text();
        } else if is(&["question"]) {
            call.question = text();
        } else if is(&["questions"]) {
            let questions = value.items().map(|item| head(item.get("question"), ARGUMENT));
            call.question = Some(questions.collect::<Vec<_>>().join(" "));
        } else if is(&["content", "newText", "new_string", "input", "patch"]) {
            call.text = head(Some(value), ARGUMENT);
        }
    }
    // A patch names its file.
    let named = |line: &str| Some(line.strip_prefix("*** ")?.split_once(" File: ")?.1.trim().to_owned());
    call.path = call.path.or_else(|| call.text.lines().find_map(named));
    (head(id, ARGUMENT), call)
}

/// Returns a request without the long bodies of the files and skills that pi put into it.
fn without_bodies(mut text: String) -> String {
    for (open, close) in [("<file name=\"", "</file>"), ("<skill name=\"", "</skill>")] {
        let mut from = 0;
        while let Some(at) = text[from..].find(open).map(|at| from + at) {
            from = at + open.len();
            let (body, end) = (text[at..].find('>').map(|body| at + body + 1), text[at..].find(close));
            let (Some(body), Some(end)) = (body, end.map(|end| at + end)) else { break };
            if end > body + ATTACHED {
                let size = units(&text[body..end]);
                text.replace_range(body..end, &format!("[… {size} characters …]"));
            }
        }
    }
    text
}

/// Returns the text of a content, which is a string or blocks. An image leaves a mark.
fn text(content: Option<Raw>) -> String {
    let content = content.unwrap_or(Raw::NULL);
    let block = |block: Raw| match block.get_text("text").filter(|_| is_block(block, "text")) {
        Some(text) => Some(text.to_string_lossy().into_owned()),
        None => is_block(block, "image").then(|| "[image]".to_owned()),
    };
    let blocks = || content.items().filter_map(block).collect::<Vec<_>>().join("\n");
    content.text().map_or_else(blocks, |text| text.to_string_lossy().into_owned())
}

/// Returns the end of a content's last text. It starts at a space, which is never inside an escape.
fn tail(content: Option<Raw>) -> String {
    let content = content.unwrap_or(Raw::NULL);
    let last = || content.items().filter_map(|block| block.get("text")?.raw_string()).last();
    let raw = content.raw_string().or_else(last).unwrap_or_default();
    let from = raw.len().saturating_sub(RESULT);
    let space = if from == 0 { Some(0) } else { memchr(b' ', &raw[from..]) };
    decoded(&raw[from + space.unwrap_or(raw.len() - from)..], RESULT)
}

fn head(value: Option<Raw>, units: usize) -> String {
    decoded(value.and_then(Raw::raw_string).unwrap_or_default(), units)
}

fn decoded(raw: &[u8], units: usize) -> String {
    let mut out = Vec::new();
    string::decode_head(raw, units, &mut out);
    Text::from_wtf8(out).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attached_bodies_leave_a_request() {
        let body = "x".repeat(500);
        let text =
            format!("<file name=\"a.md\">\n{body}\n</file>\n<file name=\"b\">short</file>\nSum it up.");
        assert_eq!(
            without_bodies(text),
            "<file name=\"a.md\">[… 502 characters …]</file>\n<file name=\"b\">short</file>\nSum it up."
        );
        let skill = format!("<skill name=\"s\" location=\"/s\">{body}</skill>\n\nfor the login page");
        let short = without_bodies(skill);
        assert!(short.ends_with("</skill>\n\nfor the login page") && short.len() < 120);
        for odd in ["<file name=\"", "<file name=\"a\">", "</file><file name=\"", "<file name=\"</file>"] {
            assert_eq!(without_bodies(odd.to_owned()), odd);
        }
    }

    #[test]
    fn an_end_is_known_by_flag_code_or_line() {
        let end = |json: &str| match read(Raw::parse(json.as_bytes()).unwrap()) {
            Message::Result(_, _, outcome) => outcome.end,
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
