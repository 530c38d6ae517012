//! Reads a message of a session, by its role.

use super::budget::MAX_TEXT_LEN;
use super::call::{CallUse, SummaryCall, read_call};
use super::called_commands::read_called_command;
use super::cut::{cut_message, string_head, string_words};
use super::host_text::request_words;
use super::message::{ReplyEnd, SummaryMessage};
use super::skills::SkillText;
use super::tool_answers::is_refusal;
use crate::agents::oh_my_pi::message::{is_user_skill, skill_draft, starts_user_turn};
use crate::agents::readable::Folders;
use crate::session::codex_shell::strip_output_frame;
use crate::session::content::join_text_borrowed;
use crate::session::outcome::Outcome;
use crate::session::read::record::{Block, Content, Member, MessageFacts, scan_message_facts};
use pisess_json::Raw;
use pisess_json::js::is_truthy;
use pisess_json::text::{Text, join_with};

/// Reads a message, by its role. Paths are given as they are seen from the `folders`.
pub(super) fn read_message(json: Raw, folders: Folders, call_use: CallUse) -> SummaryMessage {
    let message = ScannedMessage::scan(json);
    let stored_role = message.facts.role.map(|role| role.text());
    let stored_role = stored_role.unwrap_or_default();
    let role = stored_role.to_string_lossy();
    match &*role {
        // The agent itself writes messages of the user, too, and marks them as synthetic.
        "user" if !message.has_flag("synthetic") => message.read_request(),
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

    /// Reads what the user sent: a request, with a skill if pi put one before it.
    fn read_request(&self) -> SummaryMessage {
        let content = self.content();
        let request = request_words(&content, &self.blocks);
        match SkillText::find_in_tag(&content) {
            Some(skill) => skill_message(request, &skill),
            None => SummaryMessage::User(request),
        }
    }

    /// Reads a message that an extension added. Some are requests: oh-my-pi stores a skill that the
    /// user called, and a prompt by another person who shares the session, in this way.
    fn read_custom(&self) -> SummaryMessage {
        if starts_user_turn(self.json) {
            return self.read_user_turn();
        }
        if self
            .get("customType")
            .is_some_and(|name| string_head(Some(name)) == INTERRUPTION)
        {
            return SummaryMessage::Interruption;
        }
        if is_from_imported_agent(self.get("customType")) {
            return self.read_imported();
        }
        if string_head(self.get("customType")) == COMPACTED {
            return self.read_kept_by_codex();
        }
        self.read_extension()
    }

    /// Reads a message that Codex sent again after a compaction: a request of the user, or what
    /// Codex itself wrote in the user's name.
    fn read_kept_by_codex(&self) -> SummaryMessage {
        let request = self.request().trim().to_owned();
        let is_of_host = HOST_STARTS.iter().any(|start| request.starts_with(start));
        if is_of_host || request.is_empty() {
            SummaryMessage::Other
        } else {
            SummaryMessage::KeptRequest(request)
        }
    }

    /// Reads a custom message of oh-my-pi that begins a turn of the user: a skill that the user
    /// called, or a prompt by another person.
    fn read_user_turn(&self) -> SummaryMessage {
        let typed = skill_draft(self.json).map(Text::into_string_lossy);
        let request = typed.unwrap_or_else(|| self.request());
        if !is_user_skill(self.json) {
            return SummaryMessage::User(request);
        }
        let details = self.get("details").unwrap_or(Raw::NULL);
        let name = string_head(details.get("name"));
        SummaryMessage::Skill {
            request,
            place: format!("/skill:{name}"),
            instructions: self.content(),
        }
    }

    /// Reads what another agent wrote in the name of the user: a command that the user called, its
    /// prompt, a skill, or nothing that counts.
    fn read_imported(&self) -> SummaryMessage {
        match &*string_head(self.get("customType")) {
            "claude.command" => match read_called_command(&self.content()) {
                Some(command) => SummaryMessage::Command(command),
                None => SummaryMessage::Other,
            },
            "claude.meta" => {
                let content = self.content();
                match SkillText::find_below_folder(&content) {
                    Some(skill) => skill_message(String::new(), &skill),
                    None => SummaryMessage::CommandPrompt(content),
                }
            }
            _ => SummaryMessage::Other,
        }
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
        let mut text = self.content();
        let mut stop = read_reply_end(&self.facts, !calls.is_empty());
        if self.is_of_no_model() {
            let ReplyEnd::Failed(error) = &mut stop else {
                return SummaryMessage::Other;
            };
            *error = std::mem::take(&mut text);
        }
        SummaryMessage::Reply {
            text,
            stop,
            call_count: calls.len(),
            calls,
        }
    }

    /// Whether the agent wrote the reply itself, as Claude Code does in place of a failed one (`API
    /// Error: Unable to connect`), and where the model was not asked (`No response requested.`).
    /// Such words are not the assistant's.
    fn is_of_no_model(&self) -> bool {
        string_head(self.facts.get(Member::Model)) == "<synthetic>"
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

fn skill_message(request: String, skill: &SkillText) -> SummaryMessage {
    SummaryMessage::Skill {
        request,
        place: skill.place.to_owned(),
        instructions: skill.instructions.to_owned(),
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

/// The type that `import` gives the note of Claude Code that the user cut a reply short. The reply
/// itself does not say so.
const INTERRUPTION: &str = "claude.interruption";

/// The type that `import` gives the messages that Codex keeps through a compaction.
const COMPACTED: &str = "codex.compacted";

/// What the messages begin with that Codex writes in the name of the user.
const HOST_STARTS: [&str; 8] = [
    "# AGENTS.md instructions",
    "<environment_context>",
    "<permissions instructions>",
    "<skill>",
    "<subagent_notification>",
    "<turn_aborted>",
    "<user_instructions>",
    "<user_shell_command>",
];

/// Whether an extension's message is what another agent wrote in the name of the user, under the
/// type that `import` gives it. Summaries leave such a message out, unless it is a skill, or a
/// command that the user called.
fn is_from_imported_agent(custom_type: Option<Raw>) -> bool {
    let name = string_head(custom_type);
    name.starts_with("claude.")
        || matches!(
            &*name,
            "codex.context" | "codex.developer" | "gemini.context" | "opencode.added"
        )
}
