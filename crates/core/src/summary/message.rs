//! What the summary takes from one message.

use super::budget::{MAX_TEXT_LEN, REMARK};
use super::call::{CallUse, SummaryCall, read_call};
use super::cut::{cut_message, string_head, string_words};
use super::host_text::{strip_host_text, strip_output_frame};
use super::pasted_terminal::fold_terminal_output;
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
    pub fn redacted_texts_mut(&mut self) -> Vec<&mut String> {
        let mut texts = Vec::new();
        match self {
            SummaryMessage::User(text)
            | SummaryMessage::CompactionSummary(text)
            | SummaryMessage::BranchSummary(text) => texts.push(text),
            SummaryMessage::Extension { kind, text } => {
                texts.push(text);
                texts.push(kind);
            }
            SummaryMessage::Reply {
                text, stop, calls, ..
            } => {
                texts.push(text);
                if let ReplyEnd::Failed(error) = stop {
                    texts.push(error);
                }
                for call in calls {
                    texts.extend(call.redacted_texts_mut());
                }
            }
            SummaryMessage::Result {
                call,
                outcome,
                output,
            } => {
                texts.push(output);
                // The line that reports a failure is a part of the output, and must stay equal to
                // that part.
                if let Outcome::Failed(line) = outcome {
                    texts.push(line);
                }
                texts.extend(call.redacted_texts_mut());
            }
            SummaryMessage::Other => {}
        }
        texts
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

/// Reads a message, by its role. Paths are given as they are seen from the `folders`.
pub(super) fn read_message(json: Raw, folders: Folders, call_use: CallUse) -> SummaryMessage {
    let message = ScannedMessage::scan(json);
    let stored_role = message.facts.role.map(|role| role.text());
    let stored_role = stored_role.unwrap_or_default();
    let role = stored_role.to_string_lossy();
    match &*role {
        // The agent itself writes messages of the user, too, and marks them as synthetic.
        "user" if !message.has_flag("synthetic") => SummaryMessage::User(message.request()),
        "developer" if message.has_flag("userInitiated") => SummaryMessage::User(message.request()),
        "custom" => message.read_custom(),
        "hookMessage" => message.read_extension(),
        "assistant" => message.read_reply(folders, call_use),
        "toolResult" => message.read_tool_result(),
        "bashExecution" | "pythonExecution" if !message.has_flag("excludeFromContext") => {
            message.read_user_command()
        }
        "compactionSummary" => SummaryMessage::CompactionSummary(message.text_of("summary")),
        "branchSummary" => SummaryMessage::BranchSummary(message.text_of("summary")),
        _ => SummaryMessage::Other,
    }
}

/// A message, and what one walk over it found.
struct ScannedMessage<'a> {
    json: Raw<'a>,
    facts: MessageFacts<'a>,
    /// The blocks of its content; empty if the content is one string.
    blocks: Vec<Block<'a>>,
}

impl<'a> ScannedMessage<'a> {
    fn scan(json: Raw<'a>) -> Self {
        let mut blocks = Vec::new();
        let facts = scan_message_facts(json, &mut blocks);
        ScannedMessage {
            json,
            facts,
            blocks,
        }
    }

    fn get(&self, key: &str) -> Option<Raw<'a>> {
        self.json.get_some(key)
    }

    fn has_flag(&self, key: &str) -> bool {
        is_truthy(self.get(key))
    }

    /// Returns the text of the content. A very long one is cut.
    fn content(&self) -> String {
        let text = content_text(&self.facts, &self.blocks);
        cut_message(text.into_string_lossy(), MAX_TEXT_LEN)
    }

    /// Returns the text of a member that is not the content. A very long one is cut.
    fn text_of(&self, key: &str) -> String {
        let text = join_text_borrowed(self.get(key), "\n");
        cut_message(text.into_string_lossy(), MAX_TEXT_LEN)
    }

    /// Returns what the user wrote, without what programs added to it.
    fn request(&self) -> String {
        request_words(&self.content(), &self.blocks)
    }

    /// Reads a message that an extension added. Some are requests: oh-my-pi stores a skill that the
    /// user called, and a prompt by another person who shares the session, in this way.
    fn read_custom(&self) -> SummaryMessage {
        if starts_user_turn(self.json) {
            let typed = skill_draft(self.json).map(Text::into_string_lossy);
            return SummaryMessage::User(typed.unwrap_or_else(|| self.request()));
        }
        if is_from_imported_agent(self.get("customType")) {
            return SummaryMessage::Other;
        }
        self.read_extension()
    }

    fn read_extension(&self) -> SummaryMessage {
        SummaryMessage::Extension {
            kind: string_words(self.get("customType")),
            text: self.content(),
        }
    }

    fn read_reply(&self, folders: Folders, call_use: CallUse) -> SummaryMessage {
        let mut calls = Vec::new();
        for block in &self.blocks {
            if block.is_call() {
                calls.push(read_call(block, folders, call_use));
            }
        }
        SummaryMessage::Reply {
            text: self.content(),
            stop: read_reply_end(&self.facts, !calls.is_empty()),
            call_count: calls.len(),
            calls,
        }
    }

    /// Reads the result of a call. A call that the user refused counts as stopped, not as failed.
    fn read_tool_result(&self) -> SummaryMessage {
        let output = self.content();
        let mut outcome = Outcome::from_result(self.json, &output);
        // With a status line, the output is that of a shell, and may be the text of any file.
        let has_no_status = matches!(&outcome, Outcome::Failed(line) if line.is_empty());
        if has_no_status && is_refusal(&output) {
            outcome = Outcome::Stopped;
        }
        SummaryMessage::Result {
            call: SummaryCall {
                id: string_head(self.facts.get(Member::ToolCallId)),
                tool: string_head(self.facts.get(Member::ToolName)),
                ..SummaryCall::default()
            },
            outcome,
            output: without_output_frame(output),
        }
    }

    /// Reads a command, or code, that the user ran in the agent, with its output.
    fn read_user_command(&self) -> SummaryMessage {
        let command = self.get("command").or(self.get("code"));
        SummaryMessage::Result {
            call: SummaryCall {
                command: string_words(command),
                ..SummaryCall::default()
            },
            outcome: Outcome::from_result(self.json, ""),
            output: self.text_of("output"),
        }
    }
}

/// Does the same as [`strip_output_frame`], and copies the output only if it has a frame.
fn without_output_frame(output: String) -> String {
    let bare = strip_output_frame(&output);
    if bare.len() == output.len() {
        return output;
    }
    bare.to_owned()
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
    let text_blocks = blocks.iter().filter(|block| block.is("text"));
    let texts = text_blocks.filter_map(|block| block.text?.text());
    join_with(texts, "\n")
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

/// Returns what the user wrote of a request, without what a chat program or an editor added. The
/// content of files and skills that pi put into it is shortened to `[…]`. An image without a text
/// becomes `[image]`.
pub(super) fn request_words(text: &str, blocks: &[Block]) -> String {
    let has_image = blocks.iter().any(|block| block.is("image"));
    if text.is_empty() && has_image {
        return "[image]".to_owned();
    }
    let words = match forwarded::user_words(text.as_bytes()) {
        Some(words_in_forward) => String::from_utf8_lossy(words_in_forward),
        None => Cow::Borrowed(strip_host_text(text)),
    };
    let words = fold_terminal_output(&words);
    shorten_attachments(&words).into_owned()
}

/// Replaces the content of each file and skill that pi put into a request: `<file
/// name="a.md">many lines</file>` becomes `<file name="a.md">[…]</file>`.
fn shorten_attachments(request: &str) -> Cow<'_, str> {
    static ATTACHMENT: LazyLock<Regex> = LazyLock::new(|| {
        compile_expression(
            r#"(?s)(?<opening_tag><(?:file|skill) name="[^>]*>).*?(?<closing_tag></(?:file|skill)>)"#,
        )
    });
    ATTACHMENT.replace_all(request, "${opening_tag}[…]${closing_tag}")
}
