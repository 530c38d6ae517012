//! What the summary takes from one message.

use super::budget::{MAX_TEXT_LEN, REMARK};
use super::call::{CallUse, SummaryCall, read_call};
use super::cut::{cut_message, string_head, string_words};
use super::host_text::{strip_host_text, strip_output_frame};
use super::quote::{is_narrower, strip_transitions};
use super::tool_answers::is_refusal;
use super::words::compile_expression;
use crate::agents::oh_my_pi::message::{skill_draft, starts_user_turn};
use crate::agents::readable::Folders;
use crate::session::content::join_text_borrowed;
use crate::session::forwarded;
use crate::session::outcome::Outcome;
use crate::session::read::record::{Block, Content, Member, MessageFacts, scan_message_facts};
use pisess_json::Raw;
use pisess_json::js::is_truthy;
use pisess_json::text::{Text, join_with};
use regex::Regex;
use std::borrow::Cow;
use std::sync::LazyLock;

/// Matches files and skills as pi puts them into a request.
const ATTACHED_BODIES: &str = r#"(?s)(<(?:file|skill) name="[^>]*>).*?(</(?:file|skill)>)"#;

#[derive(Debug)]
pub(super) enum SummaryMessage {
    User(String),
    /// The assistant's reply.
    Reply {
        text: String,
        stop: ReplyEnd,
        /// The number of its calls.
        call_count: usize,
        /// Its calls, unless they are dropped.
        calls: Vec<SummaryCall>,
    },
    /// The result of a call, as far as the result names it, or of a command or code that the user
    /// ran.
    Result {
        call: SummaryCall,
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

impl SummaryMessage {
    /// Returns the texts of the message in which secrets are looked for, in the order in which
    /// their placeholders are numbered.
    pub fn redacted_texts_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let no_calls: &mut [SummaryCall] = &mut [];
        let ([first, second], calls) = match self {
            SummaryMessage::User(text)
            | SummaryMessage::CompactionSummary(text)
            | SummaryMessage::BranchSummary(text) => ([Some(text), None], no_calls),
            SummaryMessage::Extension { kind, text } => ([Some(text), Some(kind)], no_calls),
            SummaryMessage::Reply {
                text,
                stop: ReplyEnd::Failed(error),
                calls,
                ..
            } => ([Some(text), Some(error)], &mut **calls),
            SummaryMessage::Reply { text, calls, .. } => ([Some(text), None], &mut **calls),
            // The line that reports a failure is a part of the output, and must stay equal to it.
            SummaryMessage::Result {
                call,
                outcome: Outcome::Failed(line),
                output,
            } => ([Some(output), Some(line)], std::slice::from_mut(call)),
            SummaryMessage::Result { call, output, .. } => {
                ([Some(output), None], std::slice::from_mut(call))
            }
            SummaryMessage::Other => ([None, None], no_calls),
        };
        let call_texts = calls.iter_mut().flat_map(SummaryCall::redacted_texts_mut);
        first.into_iter().chain(second).chain(call_texts)
    }

    /// Drops the text of a reply that only leads over to the next call.
    pub fn drop_transition(&mut self) {
        if let SummaryMessage::Reply { text, stop, .. } = self
            && only_leads_over(text, stop)
        {
            *text = String::new();
        }
    }

    /// Drops the calls of a reply. Their number is kept.
    pub fn drop_calls(&mut self) {
        if let SummaryMessage::Reply { calls, .. } = self {
            *calls = Vec::new();
        }
    }
}

/// Whether the text of a reply only leads over to the next call. Summaries leave it out.
pub(super) fn only_leads_over(text: &str, stop: &ReplyEnd) -> bool {
    *stop == ReplyEnd::ToolUse && is_narrower(strip_transitions(text), REMARK)
}

/// Whether the user gave a command to the agent itself: the text is one word after a slash, and not
/// a path.
pub(super) fn is_agent_command(text: &str) -> bool {
    let Some(name) = text.strip_prefix('/') else {
        return false;
    };
    !name.contains(['/', ':']) && text.split_whitespace().count() == 1
}

/// How far the assistant's reply to a request went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum ReplyEnd {
    /// There is none, or its end is not known.
    #[default]
    NoReply,
    /// It is complete.
    Done,
    /// It waits for the results of calls.
    ToolUse,
    /// The user cut it short.
    Interrupted,
    /// It reached the token limit of the model.
    TokenLimit,
    /// The model failed, with this error.
    Failed(String),
}

/// Reads a message. Paths are given as they are seen from the `folders`.
pub(super) fn read_message(message: Raw, folders: Folders, call_use: CallUse) -> SummaryMessage {
    let mut blocks = Vec::new();
    let facts = scan_message_facts(message, &mut blocks);
    let get = |key| message.get_some(key);
    let stored_role = facts.role.map(|role| role.text()).unwrap_or_default();
    let role = stored_role.to_string_lossy();
    let text = match &*role {
        "bashExecution" | "pythonExecution" => join_text_borrowed(get("output"), "\n"),
        "compactionSummary" | "branchSummary" => join_text_borrowed(get("summary"), "\n"),
        _ => content_text(&facts, &blocks),
    };
    let text = cut_message(text.into_string_lossy(), MAX_TEXT_LEN);

    match &*role {
        "user" if !is_truthy(get("synthetic")) => {
            SummaryMessage::User(request_words(text, &blocks))
        }
        "developer" if is_truthy(get("userInitiated")) => {
            SummaryMessage::User(request_words(text, &blocks))
        }
        "custom" if starts_user_turn(message) => SummaryMessage::User(match skill_draft(message) {
            Some(parsed) => parsed.into_string_lossy(),
            None => request_words(text, &blocks),
        }),
        "custom" if is_from_imported_agent(get("customType")) => SummaryMessage::Other,
        "custom" | "hookMessage" => SummaryMessage::Extension {
            kind: string_words(get("customType")),
            text,
        },
        "assistant" => {
            let mut calls = Vec::new();
            for block in &blocks {
                if block.is_call() {
                    calls.push(read_call(block, folders, call_use));
                }
            }
            let stop = read_reply_end(&facts, !calls.is_empty());
            SummaryMessage::Reply {
                text,
                stop,
                call_count: calls.len(),
                calls,
            }
        }
        "toolResult" => SummaryMessage::Result {
            call: SummaryCall {
                id: string_head(facts.get(Member::ToolCallId)),
                tool: string_head(facts.get(Member::ToolName)),
                ..SummaryCall::default()
            },
            outcome: match Outcome::from_result(message, &text) {
                // Without a line of a shell, whose output may be the text of any file.
                Outcome::Failed(line) if line.is_empty() && is_refusal(&text) => Outcome::Stopped,
                outcome => outcome,
            },
            output: match strip_output_frame(&text) {
                bare if bare.len() < text.len() => bare.to_owned(),
                _ => text,
            },
        },
        "bashExecution" | "pythonExecution" if !is_truthy(get("excludeFromContext")) => {
            SummaryMessage::Result {
                call: SummaryCall {
                    command: string_words(get("command").or(get("code"))),
                    ..SummaryCall::default()
                },
                outcome: Outcome::from_result(message, ""),
                output: text,
            }
        }
        "compactionSummary" => SummaryMessage::CompactionSummary(text),
        "branchSummary" => SummaryMessage::BranchSummary(text),
        _ => SummaryMessage::Other,
    }
}

/// Returns how far an assistant message got, by its stop reason. A message with calls waits for
/// their results, unless it was cut short.
fn read_reply_end(facts: &MessageFacts, has_calls: bool) -> ReplyEnd {
    match &*string_head(facts.get(Member::StopReason)) {
        "aborted" => ReplyEnd::Interrupted,
        "error" => ReplyEnd::Failed(string_words(facts.get(Member::ErrorMessage))),
        "length" => ReplyEnd::TokenLimit,
        _ if has_calls => ReplyEnd::ToolUse,
        _ => ReplyEnd::Done,
    }
}

/// Returns the text of the content of a message, given its blocks: as [`join_text_borrowed`],
/// without another walk over the message.
fn content_text<'a>(facts: &MessageFacts<'a>, blocks: &[Block<'a>]) -> Text<'a> {
    if let Content::Text(text) = facts.content {
        return text.text();
    }
    let is_text = |block: &&Block| block.is("text");
    let texts = blocks.iter().filter(is_text);
    join_with(texts.filter_map(|block| block.text?.text()), "\n")
}

/// Whether an extension's message is what another agent wrote in the name of the user, under the
/// type that `import` gives it. Summaries leave such a message out.
fn is_from_imported_agent(custom_type: Option<Raw>) -> bool {
    let name = string_head(custom_type);
    name.starts_with("claude.")
        || matches!(
            &*name,
            "codex.context" | "codex.developer" | "gemini.context" | "opencode.added"
        )
}

/// Returns what the user wrote of a request. What a chat program or an editor added is left out,
/// and `[…]` replaces the content of files and skills that pi put into it. An image without a text
/// becomes `[image]`.
pub(super) fn request_words(text: String, blocks: &[Block]) -> String {
    static ATTACHMENT: LazyLock<Regex> = LazyLock::new(|| compile_expression(ATTACHED_BODIES));
    let is_image = |block: &Block| block.is("image");
    if text.is_empty() && blocks.iter().any(is_image) {
        return "[image]".to_owned();
    }
    let words = match forwarded::user_words(text.as_bytes()) {
        Some(forwarded) => String::from_utf8_lossy(forwarded).into_owned(),
        None => strip_host_text(&text).to_owned(),
    };
    match ATTACHMENT.replace_all(&words, "$1[…]$2") {
        // Nothing was replaced, so the text need not be copied.
        Cow::Borrowed(_) => words,
        Cow::Owned(shortened) => shortened,
    }
}
