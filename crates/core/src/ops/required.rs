//! Validates that a new entry has the fields that an agent requires, by the tables of
//! [`crate::session::entry`].
//!
//! `append` refuses an entry that an agent would not have written. Fields that are not in the
//! tables, and entries of a type that neither agent knows, are not validated. Missing fields of
//! stored entries are found by [`super::check`].

use super::Refusal;
use crate::session::dialect::Dialect;
use crate::session::entry::{Kind, Role};
use crate::session::schema::{FieldSchema, FieldType, Fields, Requirement, optional, required};
use pisess_json::Raw;

/// The fields of each type of block in content.
const BLOCKS: &[(&str, Fields)] = &[
    ("text", Fields::both(&[required("text", FieldType::Text)])),
    (
        "thinking",
        Fields::both(&[required("thinking", FieldType::Text)]),
    ),
    (
        "toolCall",
        Fields::both(&[
            required("id", FieldType::Text),
            required("name", FieldType::Text),
            required("arguments", FieldType::Object),
        ]),
    ),
    // oh-my-pi may store the data of an image elsewhere.
    (
        "image",
        Fields::pi(&[
            required("data", FieldType::Text),
            required("mimeType", FieldType::Text),
        ]),
    ),
];

/// The fields of `usage`, the tokens and cost of a turn.
pub(super) const USAGE: &[FieldSchema] = &[
    required("input", FieldType::Number),
    required("output", FieldType::Number),
    required("cacheRead", FieldType::Number),
    required("cacheWrite", FieldType::Number),
    required("cost", FieldType::Object),
];

/// The fields of `cost` in `usage`.
pub(super) const COST: &[FieldSchema] = &[required("total", FieldType::Number)];

/// The values of `stopReason` that the agents write.
const STOP_REASONS: &[&str] = &["stop", "length", "toolUse", "error", "aborted", "deferred"];

/// Returns the fields that an agent requires in a block; empty if there is no table for its type.
/// `is_type` returns whether the block has a type.
pub(super) fn block_fields(
    dialect: Dialect,
    is_type: impl Fn(&str) -> bool,
) -> &'static [FieldSchema] {
    for (name, fields) in BLOCKS {
        if is_type(name) {
            return fields.for_agent(dialect).unwrap_or_default();
        }
    }
    &[]
}

/// Validates a new entry of type `kind` for a session of an agent. A type that only the other agent
/// writes is refused. A type that neither writes, such as a type of a later version, is accepted
/// without validation.
pub(super) fn check_new_entry(dialect: Dialect, kind: Kind, entry: Raw) -> Result<(), Refusal> {
    let schema = &kind.schema().fields;
    if let Some(fields) = schema.for_agent(dialect) {
        return check_entry(dialect, kind, fields, entry);
    }
    let Some(writer) = schema.only_writer() else {
        return Ok(());
    };
    let name = kind.name().unwrap_or_default();
    let writer_name = writer.agent().constants().name;
    let agent_name = dialect.agent().constants().name;
    Err(Refusal::new(format!(
        "{name} is an entry of {writer_name}, but the session is one of {agent_name}"
    )))
}

/// Whether any agent writes entries of this type.
pub(super) fn is_known_kind(kind: Kind) -> bool {
    Dialect::ALL
        .iter()
        .any(|&dialect| kind.schema().fields.for_agent(dialect).is_some())
}

/// Validates a message of a context, which need not be stored in an entry. Only the field that an
/// agent gives to a model is required: `content` or `summary`, depending on the role.
///
/// # Errors
/// If the agent could not handle the message.
pub fn check_message(dialect: Dialect, message: Raw) -> Result<(), Refusal> {
    let role = find_role(message, dialect, list_agent_roles(dialect))?;
    let mut fields_for_model = Vec::new();
    for field in role.fields {
        match field.name {
            "content" => fields_for_model.push(required("content", FieldType::Content)),
            "summary" => fields_for_model.push(required("summary", FieldType::Text)),
            // An agent stores the other fields, but gives none of them to a model.
            _ => {}
        }
    }
    check_fields(dialect, message, &fields_for_model)
}

/// Validates an entry against `fields`, the fields of its type. For a message entry, also validates
/// the message. A refusal begins with the type of the entry or the role of the message.
fn check_entry(
    dialect: Dialect,
    kind: Kind,
    fields: &[FieldSchema],
    entry: Raw,
) -> Result<(), Refusal> {
    if kind != Kind::Message {
        let name = kind.name().unwrap_or_default();
        return check_fields(dialect, entry, fields)
            .map_err(|refusal| explain_refusal(dialect, name, fields, refusal));
    }
    check_fields(dialect, entry, fields)?;
    match entry.get("message").filter(|message| message.is_object()) {
        Some(message) => check_stored_message(dialect, message),
        None => Ok(()),
    }
}

/// Validates the message of an entry: first the members that every message has, then, by its role,
/// the others. The role must be one with which the agent stores messages.
///
/// A refusal that concerns the fields of the role also lists the required ones.
fn check_stored_message(dialect: Dialect, message: Raw) -> Result<(), Refusal> {
    check_fields(
        dialect,
        message,
        &[
            required("role", FieldType::Text),
            optional("timestamp", FieldType::Number),
        ],
    )?;
    let role = find_role(message, dialect, list_stored_roles(dialect))?;
    let name = format!("{} message", role.name);
    check_fields(dialect, message, role.fields)
        .map_err(|refusal| explain_refusal(dialect, &name, role.fields, refusal))
}

/// A role with which an agent writes messages.
struct AgentRole {
    name: &'static str,
    /// Whether the agent stores such messages. Others only occur in a context.
    is_stored: bool,
    /// The fields of such a message, as this agent writes it.
    fields: &'static [FieldSchema],
}

/// Returns the role of a message: one of `allowed_roles`. If the message has none of these roles,
/// the refusal lists them as the roles of the agent.
fn find_role(
    message: Raw,
    dialect: Dialect,
    allowed_roles: Vec<AgentRole>,
) -> Result<AgentRole, Refusal> {
    let role_name = message.get_text("role").unwrap_or_default();
    let mut allowed_names = Vec::new();
    for role in allowed_roles {
        if role_name == *role.name {
            return Ok(role);
        }
        allowed_names.push(role.name);
    }
    let agent = dialect.agent().constants().name;
    Err(Refusal::with_hint(
        format!("unknown role {:?}", role_name.to_string()),
        format!("the roles of {agent} are {}", allowed_names.join(", ")),
    ))
}

/// Returns the roles with which an agent writes messages, into a session or a context.
fn list_agent_roles(dialect: Dialect) -> Vec<AgentRole> {
    let mut roles = Vec::new();
    for &role in Role::NAMED {
        let schema = role.schema();
        // An agent that never writes a role has no fields for it.
        if let Some(name) = role.name()
            && let Some(fields) = schema.fields.for_agent(dialect)
        {
            roles.push(AgentRole {
                name,
                is_stored: schema.is_stored,
                fields,
            });
        }
    }
    roles
}

/// Returns the roles with which an agent stores messages in a session.
fn list_stored_roles(dialect: Dialect) -> Vec<AgentRole> {
    let mut roles = list_agent_roles(dialect);
    roles.retain(|role| role.is_stored);
    roles
}

/// Prefixes a refusal with `name`, the name of the entry or message. If the refusal has no hint,
/// adds one that lists the required `fields`: "`fromId` is missing" becomes "branch_summary:
/// `fromId` is missing", with the hint "pi's branch_summary requires fromId, summary".
fn explain_refusal(
    dialect: Dialect,
    name: &str,
    fields: &[FieldSchema],
    refusal: Refusal,
) -> Refusal {
    let (what, hint) = match prefix_refusal(name, refusal) {
        Refusal::Impossible { what, hint } => (what, hint),
        unreadable @ Refusal::Unreadable(_) => return unreadable,
    };
    // An existing hint is more precise, so it is kept.
    if hint.is_some() {
        return Refusal::Impossible { what, hint };
    }
    let mut required = Vec::new();
    for field in fields {
        if field.requirement != Requirement::Never {
            required.push(field.name);
        }
    }
    let agent = dialect.agent().constants().name;
    let hint = format!("{agent}'s {name} requires {}", required.join(", "));
    Refusal::with_hint(what, hint)
}

/// Prefixes a refusal with the name of the part that it is about, so that nested checks give a
/// path: "block 2: `text` is not a string".
///
/// A refusal that begins with "is" continues the name to a sentence: "`text` is not a string". Any
/// other follows after a colon.
fn prefix_refusal(part: &str, refusal: Refusal) -> Refusal {
    match refusal {
        Refusal::Impossible { what, hint } => {
            let separator = if what.starts_with("is ") { " " } else { ": " };
            Refusal::Impossible {
                what: format!("{part}{separator}{what}"),
                hint,
            }
        }
        unreadable @ Refusal::Unreadable(_) => unreadable,
    }
}

/// Validates a new object against these fields: each must have a value of its type, and may be
/// missing only if it is never required. If the object has several members with the same name, the
/// last counts, as for `JSON.parse`.
fn check_fields(dialect: Dialect, object: Raw, fields: &[FieldSchema]) -> Result<(), Refusal> {
    // The members are collected once, because an object may contain much text.
    let members: Vec<_> = object.members().collect();
    for &FieldSchema {
        name,
        field_type,
        requirement,
    } in fields
    {
        let member = members.iter().rfind(|(key, _)| key.is(name));
        if let Some(&(_, value)) = member {
            check_value(dialect, value, field_type)
                .map_err(|refusal| prefix_refusal(&format!("`{name}`"), refusal))?;
        } else if requirement != Requirement::Never {
            return Err(Refusal::new(format!("`{name}` is missing")));
        }
    }
    Ok(())
}

/// Validates the value of a field of this type. The refusal has no subject: it begins with "is", or
/// with the name of a part of the value. The caller puts the name of the field before it, with
/// [`prefix_refusal`].
fn check_value(dialect: Dialect, value: Raw, field_type: FieldType) -> Result<(), Refusal> {
    match field_type {
        FieldType::Text => require(value.is_string(), "not a string"),
        FieldType::TextOrNull => require(
            value.is_string() || value.is_null(),
            "neither a string nor null",
        ),
        FieldType::Number => require(value.is_number(), "not a number"),
        FieldType::Bool => require(value.bool().is_some(), "neither true nor false"),
        FieldType::Object => require(value.is_object(), "not an object"),
        FieldType::Array => require(value.is_array(), "not an array"),
        FieldType::Blocks => {
            require(value.is_array(), "not an array of blocks")?;
            check_blocks(dialect, value)
        }
        FieldType::Content => {
            if value.is_string() {
                return Ok(());
            }
            require(value.is_array(), "neither a string nor an array of blocks")?;
            check_blocks(dialect, value)
        }
        FieldType::Usage => {
            require(value.is_object(), "not an object")?;
            check_fields(dialect, value, USAGE)?;
            let cost = value.get("cost").unwrap_or(Raw::NULL);
            check_fields(dialect, cost, COST).map_err(|refusal| prefix_refusal("`cost`", refusal))
        }
        FieldType::StopReason => {
            if STOP_REASONS.iter().any(|reason| value.is(reason)) {
                return Ok(());
            }
            let hint = format!("one of {}", STOP_REASONS.join(", "));
            Err(Refusal::with_hint("is not one that the agents write", hint))
        }
        FieldType::Replacement => {
            if value.is_null() {
                return Ok(());
            }
            require(value.is_object(), "neither null nor an object")?;
            check_fields(dialect, value, &[required("content", FieldType::Content)])
        }
    }
}

/// If the condition is false, returns a refusal with the text "is `what`".
fn require(condition: bool, what: &str) -> Result<(), Refusal> {
    if condition {
        Ok(())
    } else {
        Err(Refusal::new(format!("is {what}")))
    }
}

/// Validates the blocks of content. A refusal names the number of the block, from 1.
fn check_blocks(dialect: Dialect, content: Raw) -> Result<(), Refusal> {
    for (index, block) in content.items().enumerate() {
        check_block(dialect, block)
            .map_err(|refusal| prefix_refusal(&format!("block {}", index + 1), refusal))?;
    }
    Ok(())
}

/// Validates a block of content. A type without a table requires no fields.
fn check_block(dialect: Dialect, block: Raw) -> Result<(), Refusal> {
    if !block.is_object() {
        return Err(Refusal::new("it is not an object"));
    }
    check_fields(dialect, block, &[required("type", FieldType::Text)])?;
    let kind = block.get_text("type").unwrap_or_default();
    let fields = block_fields(dialect, |name| kind == *name);
    check_fields(dialect, block, fields)
}
