//! What the summary takes from one message.

use super::budget::{ARGUMENT, POINT, RESULT};
use super::quote::{asks, quoted};
use crate::agents::oh_my_pi::message::{skill_draft, starts_user_turn};
use crate::session::content::{joined_text, members};
use crate::session::forwarded;
use crate::session::read::record::{Block, MessageFacts, message_facts};
use pisess_json::js::truthy;
use pisess_json::text::Text;
use pisess_json::{Raw, string};
use regex::Regex;
use std::sync::LazyLock;

/// How the agents' shell tools report that a command failed, and that the user stopped it.
const FAILED: [&str; 3] = ["Command exited with code ", "Command timed out", "Command failed: "];
const STOPPED: [&str; 3] = ["Command aborted", "Command cancelled", "Operation aborted"];
/// How the agents' edit tools report that the file has the new text already.
const NO_CHANGE: &str = "No changes made to ";
/// Matches files and skills as pi puts them into a request.
const BODIES: &str = r#"(?s)(<(?:file|skill) name="[^>]*>).*?(</(?:file|skill)>)"#;

#[derive(Debug, Default)]
pub(super) struct Message {
    pub kind: Kind,
    /// Its words; the end of the output of a call.
    pub text: String,
    /// The calls of a reply; the call of a result, as far as the result names it.
    pub calls: Vec<Call>,
}

#[derive(Debug, Default)]
pub(super) enum Kind {
    User,
    Assistant(Stop),
    /// The result of a call, or of a command or code that the user ran.
    Result(End),
    /// An extension's message, with its custom type.
    Extension(String),
    CompactionSummary,
    BranchSummary,
    /// The result of a call, not read.
    OldResult,
    #[default]
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
    /// The user interrupted it.
    Interrupted,
    /// It was cut short: how, in words.
    Early(String),
}

#[derive(Clone, Debug, Default)]
pub(super) struct Call {
    /// Empty for what the user ran.
    pub id: String,
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
    let get = |key| message.get_some(key);
    let role = facts.role.map(|role| role.text()).unwrap_or_default();
    let role = role.to_string_lossy();
    let key = match &*role {
        "bashExecution" | "pythonExecution" => "output",
        "compactionSummary" | "branchSummary" => "summary",
        _ => "content",
    };
    let text = joined_text(get(key), "\n").into_string_lossy();
    let (kind, text, calls) = match &*role {
        "user" if !truthy(get("synthetic")) => (Kind::User, words(text, &blocks), vec![]),
        "developer" if truthy(get("userInitiated")) => (Kind::User, words(text, &blocks), vec![]),
        "custom" if starts_user_turn(message) => {
            let typed = skill_draft(message).map(Text::into_string_lossy);
            (Kind::User, typed.unwrap_or_else(|| words(text, &blocks)), vec![])
        }
        "custom" | "hookMessage" => (Kind::Extension(head(get("customType"))), text, vec![]),
        "assistant" => {
            let calls: Vec<_> = blocks.iter().filter(|block| is(block, "toolCall")).map(call).collect();
            (Kind::Assistant(stop(&text, &facts, !calls.is_empty())), text, calls)
        }
        "toolResult" => {
            let [code, timed_out] = members(get("details").unwrap_or(Raw::NULL), ["exitCode", "timedOut"]);
            let text = tail(text);
            let end = end(&text, truthy(facts.is_error) || truthy(timed_out), code);
            let (id, tool) = (head(facts.tool_call_id), head(facts.tool_name));
            (Kind::Result(end), text, vec![Call { id, tool, ..Call::default() }])
        }
        "bashExecution" | "pythonExecution" if !truthy(get("excludeFromContext")) => {
            let text = tail(text);
            let is_stopped = truthy(facts.cancelled);
            let end = if is_stopped { End::Stopped } else { end(&text, false, facts.exit_code) };
            let command = Some(head(get("command").or(get("code"))));
            (Kind::Result(end), text, vec![Call { command, ..Call::default() }])
        }
        "compactionSummary" => (Kind::CompactionSummary, text, vec![]),
        "branchSummary" => (Kind::BranchSummary, text, vec![]),
        _ => (Kind::Other, String::new(), vec![]),
    };
    Message { kind, text, calls }
}

fn stop(text: &str, facts: &MessageFacts, has_calls: bool) -> Stop {
    match &*head(facts.stop_reason) {
        "error" => {
            let error = quoted(&head(facts.error_message), POINT);
            Stop::Early(format!("the model's reply failed: {error}"))
        }
        "aborted" => Stop::Interrupted,
        "length" => Stop::Early("the model's reply reached its token limit".to_owned()),
        "toolUse" => Stop::ToolUse,
        _ if has_calls => Stop::ToolUse,
        _ if asks(text) => Stop::Asks,
        _ => Stop::Done,
    }
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
            None if is_error && !text.starts_with(NO_CHANGE) => End::Failed(String::new()),
            None => End::Passed,
        },
    }
}

fn call(block: &Block) -> Call {
    let arguments = block.arguments.unwrap_or(Raw::NULL);
    let argument =
        |keys: &[&str]| keys.iter().map(|key| head(arguments.get(key))).find(|text| !text.is_empty());
    // A patch names its file.
    let file = |line: &str| Some(line.strip_prefix("*** ")?.split_once(" File: ")?.1.trim().to_owned());
    let patched = || argument(&["input", "patch"])?.lines().find_map(file);
    let first = || Some(head(arguments.get("questions")?.items().next()?.get("question")));
    Call {
        id: head(block.id),
        tool: head(block.name),
        path: argument(&["path", "file_path", "filePath", "file", "notebook_path"]).or_else(patched),
        command: argument(&["command", "cmd"]),
        question: argument(&["question"]).or_else(first),
    }
}

/// Returns a request without what a chat program put before it, and the bodies of the files and skills that pi put
/// into it; `[image]` for an image without a text.
pub(super) fn words(text: String, blocks: &[Block]) -> String {
    static ATTACHMENT: LazyLock<Regex> = LazyLock::new(|| Regex::new(BODIES).expect("a constant"));
    if text.is_empty() && blocks.iter().any(|block| is(block, "image")) {
        return "[image]".to_owned();
    }
    let own = forwarded::words(text.as_bytes()).map(String::from_utf8_lossy);
    ATTACHMENT.replace_all(&own.unwrap_or(text.as_str().into()), "$1[…]$2").into_owned()
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
fn head(value: Option<Raw>) -> String {
    let mut out = Vec::new();
    string::decode_head(value.and_then(Raw::raw_string).unwrap_or_default(), ARGUMENT, &mut out);
    Text::from_wtf8(out).into_string_lossy()
}
