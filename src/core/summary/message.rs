//! What the summary takes from one message.

use super::budget::REQUEST;
use super::quote::{ends, units};
use crate::core::content::{is_block, members};
use crate::core::json::js::truthy;
use crate::core::json::{Raw, string};
use crate::core::text::Text;
use memchr::memchr;

/// Units of a call's argument, and bytes of a result's end.
const ARGUMENT: usize = 400;
const OUTPUT: usize = 2_000;
/// Bodies of attached files and skills longer than this are left out of a request.
const ATTACHED: usize = 400;

/// How the agents' shell tools say that a command failed, and that the user stopped it.
const FAILED: [&str; 3] = ["Command exited with code ", "Command timed out", "Command failed: "];
const STOPPED: [&str; 3] = ["Command aborted", "Command cancelled", "Operation aborted"];

#[derive(Debug)]
pub(super) enum Message {
    /// The user's words.
    User(String),
    Assistant(Assistant),
    Result(ToolResult),
    /// A command or code that the user ran.
    Ran(Call, ToolResult),
    /// An extension's message: its custom type and its words.
    Extension(String, String),
    CompactionSummary(String),
    BranchSummary(String),
    Other,
}

#[derive(Debug, Default)]
pub(super) struct Assistant {
    pub text: String,
    pub calls: Vec<Call>,
    pub stop: Stop,
    pub error: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stop {
    #[default]
    Done,
    ToolUse,
    Error,
    Aborted,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Call {
    pub id: String,
    pub tool: String,
    pub path: Option<String>,
    pub command: Option<String>,
    pub question: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct ToolResult {
    pub id: String,
    pub tool: String,
    pub end: End,
    /// The end of its output.
    pub text: String,
}

/// How a tool call ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum End {
    #[default]
    Passed,
    /// With the agent's line that says how, where it wrote one.
    Failed(String),
    /// The user stopped it.
    Stopped,
}

/// Reads a message in one walk over its members.
pub(super) fn read(message: Raw) -> Message {
    let [role, content, kind, by, details] =
        members(message, ["role", "content", "customType", "attribution", "details"]);
    let get = |key| message.get_some(key);
    match &*role.and_then(Raw::text).unwrap_or_default().to_string_lossy() {
        "user" if !truthy(get("synthetic")) => Message::User(without_bodies(text(content))),
        "developer" if truthy(get("userInitiated")) => Message::User(without_bodies(text(content))),
        "custom" | "hookMessage" => {
            let kind = head(kind, ARGUMENT);
            let by_user =
                by.is_some_and(|by| by.is("user")) && ["skill-prompt", "collab-prompt"].contains(&&*kind);
            let asked =
                || typed(details.unwrap_or(Raw::NULL)).unwrap_or_else(|| without_bodies(text(content)));
            if by_user {
                Message::User(asked())
            } else {
                Message::Extension(kind, ends(&text(content), REQUEST))
            }
        }
        "assistant" => Message::Assistant(assistant(content, get("stopReason"), get("errorMessage"))),
        "toolResult" => {
            let [id, tool, is_error] = members(message, ["toolCallId", "toolName", "isError"]);
            let [code, timed_out] = members(details.unwrap_or(Raw::NULL), ["exitCode", "timedOut"]);
            let text = tail(content);
            let end = end(&text, truthy(is_error) || truthy(timed_out), code);
            Message::Result(ToolResult { id: head(id, ARGUMENT), tool: head(tool, ARGUMENT), end, text })
        }
        "bashExecution" | "pythonExecution" if !truthy(get("excludeFromContext")) => {
            let text = tail(get("output"));
            let stopped = truthy(get("cancelled"));
            let end = if stopped { End::Stopped } else { end(&text, false, get("exitCode")) };
            let command = Some(head(get("command").or(get("code")), ARGUMENT));
            Message::Ran(
                Call { command, ..Call::default() },
                ToolResult { end, text, ..ToolResult::default() },
            )
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
    let calls: Vec<Call> = blocks.filter(|block| is_block(*block, "toolCall")).map(call).collect();
    let stop = match &*head(stop, ARGUMENT) {
        "error" => Stop::Error,
        "aborted" => Stop::Aborted,
        "toolUse" => Stop::ToolUse,
        _ if !calls.is_empty() => Stop::ToolUse,
        _ => Stop::Done,
    };
    Assistant { text: ends(&text(content), REQUEST), calls, stop, error: head(error, ARGUMENT) }
}

/// Returns how a call ended: by its flag, its exit code, or the line that the agent put at its end.
fn end(output: &str, is_error: bool, code: Option<Raw>) -> End {
    let starts = |line: &str, with: &[&str]| with.iter().any(|start| line.starts_with(start));
    let mut last = output.lines().rev().map(str::trim).filter(|line| !line.is_empty()).take(4);
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

fn call(block: Raw) -> Call {
    let [id, name, arguments] = members(block, ["id", "name", "arguments"]);
    let mut call = Call { id: head(id, ARGUMENT), tool: head(name, ARGUMENT), ..Call::default() };
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
            let questions: Vec<String> =
                value.items().map(|item| head(item.get("question"), ARGUMENT)).collect();
            call.question = Some(questions.join(" "));
        } else if is(&["input", "patch"]) && call.path.is_none() {
            let named =
                |line: &str| Some(line.strip_prefix("*** ")?.split_once(" File: ")?.1.trim().to_owned());
            call.path = text().and_then(|patch| patch.lines().find_map(named));
        }
    }
    call
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
    let from = raw.len().saturating_sub(OUTPUT);
    let space = if from == 0 { Some(0) } else { memchr(b' ', &raw[from..]) };
    decoded(&raw[from + space.unwrap_or(raw.len() - from)..], OUTPUT)
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
            Message::Result(result) => result.end,
            Message::Ran(_, result) => result.end,
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
