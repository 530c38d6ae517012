//! What a line determines about its entry: role, flags, and the agent that wrote it.

use crate::agents::Agent;
use crate::agents::row::is_silent;
use crate::session::Format;
use crate::session::content::is;
use crate::session::dialect::Dialect;
use crate::session::entry::{Flags, Kind, Role};
use crate::session::read::record::{Content, Member, MessageFacts, Record, Typed};
use pisess_json::Raw;

/// Returns the role of an entry's message; in older formats `hookMessage` is `custom`.
pub fn role_of(kind: Kind, record: &Record, format: Format) -> Role {
    let role = record
        .message
        .as_ref()
        .filter(|_| kind == Kind::Message)
        .and_then(|message| message.role);
    match Role::of_string(role) {
        Role::HookMessage if format != Format::V3 => Role::Custom,
        role => role,
    }
}

/// Returns the flags of an entry.
pub fn flags(typed: &Typed, agent: &dyn Agent) -> Flags {
    let Typed {
        kind,
        role,
        record,
        blocks,
    } = *typed;
    let mut flags = Flags::default();
    flags.insert_if(Flags::USER_REQUEST, agent.is_user_request(typed));
    if let (Kind::Message, Some(message)) = (kind, &record.message) {
        let is_silent = || is_silent(message, blocks, |text| agent.says_something(text));
        flags.insert_if(Flags::NO_CONTENT, matches!(message.content, Content::None));
        flags.insert_if(Flags::SILENT, role == Role::Assistant && is_silent());
        let (failed, aborted) = ended(role, message);
        flags.insert_if(Flags::ABORTED, aborted);
        flags.insert_if(Flags::FAILED, failed && !aborted);
    }
    let is_skill = || is(Raw::checked(record.bytes), "customType", "skill-prompt");
    flags.insert_if(
        Flags::SKILL_PROMPT,
        kind == Kind::CustomMessage && is_skill(),
    );
    flags.insert_if(Flags::HIDDEN, is_hidden(typed));
    flags.insert_if(Flags::NO_PARENT_KEY, record.get(Member::ParentId).is_none());
    flags.insert_if(Flags::NO_ID_KEY, !record.has_id);
    flags
}

/// Whether an entry is a message of an extension that the agent does not show.
fn is_hidden(typed: &Typed) -> bool {
    let message = match (typed.kind, typed.role) {
        (Kind::CustomMessage, _) => typed.record.bytes,
        (Kind::Message, Role::Custom | Role::HookMessage) => match &typed.record.message {
            Some(message) => message.bytes,
            None => return false,
        },
        _ => return false,
    };
    let display = Raw::checked(message).get("display");
    display.and_then(Raw::bool) == Some(false)
}

/// Whether a turn, a tool or a command failed, and whether the user aborted it.
fn ended(role: Role, message: &MessageFacts) -> (bool, bool) {
    let is_true = |value: Option<Raw>| value.is_some_and(Raw::is_truthy);
    let stopped = |reason: &str| {
        message
            .get(Member::StopReason)
            .is_some_and(|given| given.is(reason))
    };
    match role {
        Role::Assistant => (stopped("error"), stopped("aborted")),
        Role::ToolResult => (is_true(message.get(Member::IsError)), false),
        Role::BashExecution | Role::PythonExecution => (
            is_true(message.get(Member::ExitCode)),
            is_true(message.get(Member::Cancelled)),
        ),
        _ => (false, false),
    }
}

/// Returns the agent, if only one of them writes such an entry.
pub fn evidence(kind: Kind, role: Role, record: &Record) -> Option<Dialect> {
    match kind {
        Kind::ModelChange if record.get(Member::Provider).is_some() => Some(Dialect::Pi),
        Kind::ModelChange if record.get(Member::Model).is_some() => Some(Dialect::OhMyPi),
        Kind::Message => {
            if role.schema().is_stored
                && let Some(writer) = role.schema().fields.writer()
            {
                return Some(writer);
            }
            let message = record.message.as_ref()?;
            message.get(Member::Attribution).map(|_| Dialect::OhMyPi)
        }
        Kind::CustomMessage if record.get(Member::Attribution).is_some() => Some(Dialect::OhMyPi),
        _ => kind.schema().fields.writer(),
    }
}
