//! What a line determines about its entry: role, flags, and the agent that wrote it.

use crate::agents::Agent;
use crate::agents::row::is_silent;
use crate::session::Format;
use crate::session::dialect::Dialect;
use crate::session::entry::{Flags, Kind, Role};
use crate::session::read::record::{Content, MessageFacts, Record, Typed};
use pisess_json::Raw;

/// Returns the role of an entry's message; in older formats `hookMessage` is `custom`.
pub fn role_of(kind: Kind, record: &Record, format: Format) -> Role {
    let role = record.message.as_ref().filter(|_| kind == Kind::Message).and_then(|message| message.role);
    match Role::of_string(role) {
        Role::HookMessage if format != Format::V3 => Role::Custom,
        role => role,
    }
}

/// Returns the flags of an entry.
pub fn flags(typed: &Typed, agent: &Agent) -> Flags {
    let Typed { kind, role, record, blocks } = *typed;
    let mut flags = Flags::default();
    if (agent.is_user_request)(typed) {
        flags.insert(Flags::USER_REQUEST);
    }
    if let (Kind::Message, Some(message)) = (kind, &record.message) {
        if matches!(message.content, Content::None) {
            flags.insert(Flags::NO_CONTENT);
        }
        if role == Role::Assistant && is_silent(message, blocks, agent.says_something) {
            flags.insert(Flags::SILENT);
        }
        ended(role, message, &mut flags);
    }
    let is_skill =
        || Raw::checked(record.bytes).get("customType").is_some_and(|kind| kind.is("skill-prompt"));
    if kind == Kind::CustomMessage && is_skill() {
        flags.insert(Flags::SKILL_PROMPT);
    }
    if record.parent_id.is_none() {
        flags.insert(Flags::NO_PARENT_KEY);
    }
    if !record.has_id {
        flags.insert(Flags::NO_ID_KEY);
    }
    flags
}

/// Sets the flag for how a turn, a tool or a command ended, if not normally.
fn ended(role: Role, message: &MessageFacts, flags: &mut Flags) {
    let is_true = |value: Option<Raw>| value.is_some_and(Raw::is_truthy);
    let stopped = |reason: &str| message.stop_reason.is_some_and(|given| given.is(reason));
    let (failed, aborted) = match role {
        Role::Assistant => (stopped("error"), stopped("aborted")),
        Role::ToolResult => (is_true(message.is_error), false),
        Role::BashExecution | Role::PythonExecution => {
            (is_true(message.exit_code), is_true(message.cancelled))
        }
        _ => return,
    };
    if aborted {
        flags.insert(Flags::ABORTED);
    } else if failed {
        flags.insert(Flags::FAILED);
    }
}

/// Returns the agent, if only one of them writes such an entry.
pub fn evidence(kind: Kind, role: Role, record: &Record) -> Option<Dialect> {
    match kind {
        Kind::ModelChange if record.provider.is_some() => Some(Dialect::Pi),
        Kind::ModelChange if record.model.is_some() => Some(Dialect::OhMyPi),
        Kind::Message if role.schema().is_stored => role.schema().fields.writer(),
        _ => kind.schema().fields.writer(),
    }
}
