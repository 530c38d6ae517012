//! What the summary takes from one message.

use super::budget::{LONGEST_TEXT, POINT, READ};
use super::quote::{quoted, shortened};
use crate::agents::oh_my_pi::message::{skill_draft, starts_user_turn};
use crate::agents::readable::{self, Folders};
use crate::session::content::borrowed_text;
use crate::session::forwarded;
use crate::session::outcome::Outcome;
use crate::session::read::record::{Block, Content, Member, MessageFacts, message_facts};
use pisess_json::Raw;
use pisess_json::js::truthy;
use pisess_json::text::{Text, joined};
use regex::Regex;
use std::sync::LazyLock;

/// Matches files and skills as pi puts them into a request.
const BODIES: &str = r#"(?s)(<(?:file|skill) name="[^>]*>).*?(</(?:file|skill)>)"#;

#[derive(Debug)]
pub(super) enum Message {
    User(String),
    /// The assistant's reply.
    Reply {
        text: String,
        stop: Stop,
        calls: Vec<Call>,
    },
    /// The result of a call, as far as the result names it, or of a command or code that the user
    /// ran.
    Result {
        call: Call,
        outcome: Outcome,
        output: String,
    },
    /// An extension's message, with its custom type.
    Extension {
        kind: String,
        text: String,
    },
    CompactionSummary(String),
    BranchSummary(String),
    Other,
}

/// How far the assistant's reply to a request went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Stop {
    /// There is none, or its end is not known.
    #[default]
    NoReply,
    /// It is complete.
    Done,
    /// It waits for the results of calls.
    ToolUse,
    /// It was cut short: how, in words.
    Early(String),
}

#[derive(Clone, Debug, Default)]
pub(super) struct Call {
    /// Empty for what the user ran.
    pub id: String,
    pub tool: String,
    /// The command, if the tool is a shell.
    pub command: String,
    /// The arguments of any other tool, in short: a path as seen from the session's directory, a
    /// pattern.
    pub target: String,
    pub question: String,
    /// The list that a call gives to a tool that keeps one, as Claude Code's `TodoWrite`.
    pub todo: String,
}

/// Reads a message. Paths are given as they are seen from the `folders`.
pub(super) fn read(message: Raw, folders: Folders) -> Message {
    let mut blocks = Vec::new();
    let facts = message_facts(message, &mut blocks);
    let get = |key| message.get_some(key);
    let stored_role = facts.role.map(|role| role.text()).unwrap_or_default();
    let role = stored_role.to_string_lossy();
    let text = match &*role {
        "bashExecution" | "pythonExecution" => borrowed_text(get("output"), "\n"),
        "compactionSummary" | "branchSummary" => borrowed_text(get("summary"), "\n"),
        _ => said(&facts, &blocks),
    };
    let text = shortened(&text.to_string_lossy(), LONGEST_TEXT);
    match &*role {
        "user" if !truthy(get("synthetic")) => Message::User(words(text, &blocks)),
        "developer" if truthy(get("userInitiated")) => Message::User(words(text, &blocks)),
        "custom" if starts_user_turn(message) => {
            let typed = skill_draft(message).map(Text::into_string_lossy);
            Message::User(typed.unwrap_or_else(|| words(text, &blocks)))
        }
        "custom" if says_nothing_new(get("customType")) => Message::Other,
        "custom" | "hookMessage" => Message::Extension {
            kind: head(get("customType")),
            text,
        },
        "assistant" => {
            let calls: Vec<_> = blocks
                .iter()
                .filter(|block| block.is_call())
                .map(|block| call(block, folders))
                .collect();
            let stop = match &*head(facts.get(Member::StopReason)) {
                "aborted" => Stop::Early("interrupted by the user".to_owned()),
                "error" => {
                    let error = quoted(&head(facts.get(Member::ErrorMessage)), POINT);
                    Stop::Early(format!("the model's reply failed: {error}"))
                }
                "length" => Stop::Early("the model's reply reached its token limit".to_owned()),
                _ if calls.is_empty() => Stop::Done,
                _ => Stop::ToolUse,
            };
            Message::Reply { text, stop, calls }
        }
        "toolResult" => {
            let (id, tool) = (
                head(facts.get(Member::ToolCallId)),
                head(facts.get(Member::ToolName)),
            );
            let call = Call {
                id,
                tool,
                ..Call::default()
            };
            Message::Result {
                call,
                outcome: Outcome::of(message, &text),
                output: text,
            }
        }
        "bashExecution" | "pythonExecution" if !truthy(get("excludeFromContext")) => {
            let command = head(get("command").or(get("code")));
            let call = Call {
                command,
                ..Call::default()
            };
            Message::Result {
                call,
                outcome: Outcome::of(message, ""),
                output: text,
            }
        }
        "compactionSummary" => Message::CompactionSummary(text),
        "branchSummary" => Message::BranchSummary(text),
        _ => Message::Other,
    }
}

/// Returns the text of the content of a message, given its blocks: as [`borrowed_text`], without
/// another walk over the message.
fn said<'a>(facts: &MessageFacts<'a>, blocks: &[Block<'a>]) -> Text<'a> {
    if let Content::Text(text) = facts.content {
        return text.text();
    }
    let is_text = |block: &&Block| block.kind.is_some_and(|kind| kind.is("text"));
    let texts = blocks.iter().filter(is_text);
    joined(texts.filter_map(|block| block.text?.text()), "\n")
}

/// Whether an extension's message is what Claude Code or Codex said in the name of the user, as
/// `import` names it.
fn says_nothing_new(kind: Option<Raw>) -> bool {
    let kind = head(kind);
    kind.starts_with("claude.") || kind == "codex.context"
}

fn call(block: &Block, folders: Folders) -> Call {
    let arguments = block.arguments.unwrap_or(Raw::NULL);
    let first = arguments
        .get("questions")
        .and_then(|questions| questions.items().next());
    let question = first.unwrap_or(arguments).get("question");
    let name = block.name.and_then(Raw::text).unwrap_or_default();
    let command = arguments.get("command").or(arguments.get("cmd"));
    let list = command.filter(|command| command.is_array());
    let words = list
        .and_then(|words| readable::command_head(words, READ))
        .map(Text::into_string_lossy);
    Call {
        id: head(block.id),
        tool: head(block.name),
        command: words.unwrap_or_else(|| head(command)),
        target: readable::describe_call(&name, arguments, folders)
            .text
            .into_string_lossy(),
        question: head(question),
        todo: todo(arguments),
    }
}

/// Returns the list in `todos` as Markdown.
fn todo(arguments: Raw) -> String {
    let item = |todo: Raw<'_>| {
        let state = match todo.get("status") {
            Some(status) if status.is("completed") => "x",
            Some(status) if status.is("in_progress") => "~",
            _ => " ",
        };
        todo.get("content")
            .map(|content| format!("- [{state}] {}", head(Some(content))))
    };
    let items = arguments
        .get("todos")
        .into_iter()
        .flat_map(Raw::items)
        .filter_map(item);
    items.collect::<Vec<_>>().join("\n")
}

/// Returns a request without what a chat program put before it, and the bodies of the files and
/// skills that pi put into it; `[image]` for an image without a text.
pub(super) fn words(text: String, blocks: &[Block]) -> String {
    static ATTACHMENT: LazyLock<Regex> = LazyLock::new(|| Regex::new(BODIES).expect("a constant"));
    if text.is_empty()
        && blocks
            .iter()
            .any(|block| block.kind.is_some_and(|kind| kind.is("image")))
    {
        return "[image]".to_owned();
    }
    let own = forwarded::words(text.as_bytes()).map(String::from_utf8_lossy);
    ATTACHMENT
        .replace_all(&own.unwrap_or(text.as_str().into()), "$1[…]$2")
        .into_owned()
}

/// Returns the start of a string.
fn head(value: Option<Raw>) -> String {
    value
        .and_then(Raw::text)
        .unwrap_or_default()
        .head_whole(READ)
        .into_string_lossy()
}
