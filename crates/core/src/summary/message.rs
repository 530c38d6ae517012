//! What the summary takes from one message.

use super::budget::REMARK;
use super::call::SummaryCall;
use super::quote::{is_narrower, strip_transitions};
use crate::session::outcome::Outcome;

#[derive(Debug)]
pub(super) enum SummaryMessage {
    User(String),
    /// A request that Codex kept through a compaction, without its reply.
    KeptRequest(String),
    /// A command with a prompt that the user called in another agent, with its arguments.
    Command(String),
    /// What may be the prompt of the command before it.
    CommandPrompt(String),
    /// The instructions of a skill that was called.
    Skill {
        /// What the user wrote; empty if the call is another message.
        request: String,
        /// Where the instructions are, or the name of the skill.
        place: String,
        instructions: String,
    },
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
    /// The user cut the reply short.
    Interruption,
}

impl SummaryMessage {
    /// Returns the texts of the message in which secrets are looked for, in the order in which
    /// their placeholders are numbered.
    pub fn redacted_texts_mut(&mut self) -> Vec<&mut String> {
        let mut texts = Vec::new();
        match self {
            SummaryMessage::User(text)
            | SummaryMessage::KeptRequest(text)
            | SummaryMessage::Command(text)
            | SummaryMessage::CommandPrompt(text)
            | SummaryMessage::CompactionSummary(text)
            | SummaryMessage::BranchSummary(text) => texts.push(text),
            SummaryMessage::Skill {
                request,
                place,
                instructions,
            } => texts.extend([request, place, instructions]),
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
            SummaryMessage::Interruption | SummaryMessage::Other => {}
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
    /// It was complete, but the session does not have it.
    Missing,
    /// It waits for the results of calls.
    ToolUse,
    /// The user cut it short.
    Interrupted,
    /// It reached the token limit of the model.
    TokenLimit,
    /// The model failed, with this error.
    Failed(String),
}
