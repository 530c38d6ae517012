//! What can be derived from the line of an entry alone: its role, its flags, and the agent that
//! wrote it.

use crate::agents::Agent;
use crate::agents::row::{has_visible_text, is_silent_ending};
use crate::session::Format;
use crate::session::content::blocks_of_type;
use crate::session::dialect::Dialect;
use crate::session::entry::{Ending, Flags, Kind, MOVE_MARK_TYPE, Role};
use crate::session::read::record::{Content, Member, MessageFacts, ParsedEntry, Record};
use pisess_json::Raw;

/// Returns the role of an entry's message; [`Role::Missing`] if the entry is not a message. The
/// role `hookMessage` of older formats is returned as `custom`, its name in version 3.
pub fn message_role(kind: Kind, record: &Record, format: Format) -> Role {
    let role_name = match &record.message {
        Some(message) if kind == Kind::Message => message.role,
        _ => None,
    };
    match Role::from_string(role_name) {
        Role::HookMessage if format != Format::V3 => Role::Custom,
        role => role,
    }
}

/// Returns the flags of an entry that follow from its line, by the rules of an agent. The flags for
/// cycles and repeated ids depend on other entries, and are set when entries are linked.
pub fn entry_flags(parsed: &ParsedEntry, agent: &dyn Agent) -> Flags {
    let kind = parsed.kind;
    let record = parsed.record;
    let mut flags = match &record.message {
        Some(message) if kind == Kind::Message => message_flags(parsed, message, agent),
        _ => Flags::default(),
    };
    flags.insert_if(Flags::USER_REQUEST, agent.is_user_request(parsed));

    let has_custom_type = |name| record.custom_type.is_some_and(|own| own.is(name));
    let is_skill_prompt = kind == Kind::CustomMessage && has_custom_type("skill-prompt");
    flags.insert_if(Flags::SKILL_PROMPT, is_skill_prompt);
    let is_move_mark = kind == Kind::Custom && has_custom_type(MOVE_MARK_TYPE);
    flags.insert_if(Flags::MOVE_MARK, is_move_mark);
    flags.insert_if(Flags::HIDDEN, is_hidden(parsed));
    flags.insert_if(Flags::IMAGES, count_images(parsed) > 0);
    flags.insert_if(Flags::NO_PARENT_KEY, record.get(Member::ParentId).is_none());
    flags.insert_if(Flags::NO_ID_KEY, !record.has_id);
    flags
}

/// Returns the flags that follow from the message of a `message` entry: how the turn, tool or
/// command ended, and whether there is anything to see of it.
fn message_flags(parsed: &ParsedEntry, message: &MessageFacts, agent: &dyn Agent) -> Flags {
    let mut flags = Flags::default();
    if parsed.role == Role::Assistant {
        let has_text = has_visible_text(message, parsed.blocks, |text| agent.is_visible_text(text));
        // A `SILENT` reply has nothing to show, an `ANSWER` concludes a turn. Other replies are
        // neither, such as one that failed, or one with text before its tool calls.
        flags.insert_if(Flags::SILENT, !has_text && is_silent_ending(message));
        flags.insert_if(Flags::ANSWER, has_text && ended_normally(message));
    }

    let has_no_content = matches!(message.content, Content::None);
    flags.insert_if(Flags::NO_CONTENT, has_no_content);

    let ending = message_ending(parsed.role, message);
    flags.insert_if(Flags::ABORTED, ending == Some(Ending::Aborted));
    flags.insert_if(Flags::FAILED, ending == Some(Ending::Failed));
    flags
}

/// Whether an entry is a message of an extension that the agent does not show, because the message
/// has `"display":false`.
fn is_hidden(parsed: &ParsedEntry) -> bool {
    let Some(message) = extension_message(parsed) else {
        return false;
    };
    message.get("display").and_then(Raw::bool) == Some(false)
}

/// Returns the message of an extension in an entry; `None` for any other entry.
fn extension_message<'r>(parsed: &ParsedEntry<'r>) -> Option<Raw<'r>> {
    match (parsed.kind, parsed.role) {
        // The entry is the message itself.
        (Kind::CustomMessage, _) => Some(Raw::from_checked(parsed.record.bytes)),
        // The entry has the message as a member.
        (Kind::Message, Role::Custom | Role::HookMessage) => {
            let message = parsed.record.message.as_ref()?;
            Some(Raw::from_checked(message.bytes))
        }
        _ => None,
    }
}

/// Returns the number of images in the content of an entry. The blocks of a message were collected
/// when its line was scanned; the content of a `custom_message` entry is read here.
pub fn count_images(parsed: &ParsedEntry) -> usize {
    match parsed.kind {
        Kind::Message => {
            let images = parsed.blocks.iter().filter(|block| block.is("image"));
            images.count()
        }
        Kind::CustomMessage => {
            let content = Raw::from_checked(parsed.record.bytes).get("content");
            blocks_of_type(content.unwrap_or(Raw::NULL), "image").count()
        }
        _ => 0,
    }
}

/// Returns how a turn, a tool or a command ended; `None` if it ended normally.
pub fn ending(parsed: &ParsedEntry) -> Option<Ending> {
    let message = parsed.record.message.as_ref()?;
    if parsed.kind == Kind::Message {
        message_ending(parsed.role, message)
    } else {
        None
    }
}

/// Reads how a message ended. A reply records it as a stop reason, a tool result as `isError`, a
/// command as an exit code.
fn message_ending(role: Role, message: &MessageFacts) -> Option<Ending> {
    match role {
        Role::Assistant if has_stop_reason(message, "aborted") => Some(Ending::Aborted),
        Role::Assistant if has_stop_reason(message, "error") => Some(Ending::Failed),
        Role::ToolResult if is_truthy(message, Member::IsError) => Some(Ending::Failed),
        Role::BashExecution | Role::PythonExecution => execution_ending(message),
        _ => None,
    }
}

/// Reads how a command ended that the user ran. What the user aborted has not failed, whatever its
/// exit code.
fn execution_ending(message: &MessageFacts) -> Option<Ending> {
    if is_truthy(message, Member::Cancelled) {
        Some(Ending::Aborted)
    } else if is_truthy(message, Member::ExitCode) {
        // An exit code of 0 is success, and is not truthy.
        Some(Ending::Failed)
    } else {
        None
    }
}

fn has_stop_reason(message: &MessageFacts, reason: &str) -> bool {
    let given = message.get(Member::StopReason);
    given.is_some_and(|given| given.is(reason))
}

/// Whether a reply ended because the model had finished. Replies of early versions, which have no
/// stop reason, count as such.
fn ended_normally(message: &MessageFacts) -> bool {
    match message.get(Member::StopReason) {
        Some(reason) => reason.is("stop") || !reason.is_truthy(),
        None => true,
    }
}

/// Whether a message has the member, with a value that JavaScript treats as true.
pub fn is_truthy(message: &MessageFacts, member: Member) -> bool {
    message.get(member).is_some_and(Raw::is_truthy)
}

/// Returns the agent that wrote an entry; `None` if both agents write such entries.
///
/// Three facts show the agent:
///
/// - the members of a change of the model: `provider` and `modelId` in pi, `model` in oh-my-pi;
/// - the member `attribution`, which only oh-my-pi writes;
/// - a type or a role that only one agent has.
pub fn dialect_evidence(kind: Kind, role: Role, record: &Record) -> Option<Dialect> {
    match kind {
        Kind::ModelChange if record.get(Member::Provider).is_some() => Some(Dialect::Pi),
        Kind::ModelChange if record.get(Member::Model).is_some() => Some(Dialect::OhMyPi),
        Kind::CustomMessage if record.get(Member::Attribution).is_some() => Some(Dialect::OhMyPi),
        Kind::Message => {
            if let Some(writer) = writer_of_role(role) {
                return Some(writer);
            }
            let message = record.message.as_ref()?;
            let has_attribution = message.get(Member::Attribution).is_some();
            has_attribution.then_some(Dialect::OhMyPi)
        }
        _ => kind.schema().fields.only_writer(),
    }
}

/// Returns the agent that stores messages with this role, if only one agent does.
fn writer_of_role(role: Role) -> Option<Dialect> {
    let schema = role.schema();
    if schema.is_stored {
        schema.fields.only_writer()
    } else {
        None
    }
}
