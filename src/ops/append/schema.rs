//! Validates that an entry has what the file's agent needs.
//!
//! The tables (one for both agents, and one for each: [`Agent::shapes`]) list the fields that an agent reads
//! without checking that they exist, and optional fields in which a value of the wrong kind would break it.
//! Other fields are not validated, nor are entries of a type that neither agent knows.

use crate::agents::Agent;
use crate::agents::schema::{FieldShape, Shape, Want, may, need};
use crate::session::dialect::Dialect;
use pisess_json::Raw;

/// What is wrong with an entry, and what to try.
pub(super) type Flaw = (String, Option<String>);

/// Entries of both agents.
const BOTH: &[Shape] = &[
    ("custom", &[need("customType", Want::Text)]),
    (
        "custom_message",
        &[need("customType", Want::Text), need("content", Want::Content), need("display", Want::Bool)],
    ),
    ("label", &[need("targetId", Want::Text), may("label", Want::TextOrNull)]),
    (
        "compaction",
        &[
            need("summary", Want::Text),
            need("firstKeptEntryId", Want::Text),
            need("tokensBefore", Want::Number),
            may("details", Want::Object),
        ],
    ),
    (
        "branch_summary",
        &[need("fromId", Want::Text), need("summary", Want::Text), may("details", Want::Object)],
    ),
];

/// Messages of both agents.
const ROLES: &[Shape] = &[
    ("user", &[need("content", Want::Content)]),
    (
        "assistant",
        &[
            need("content", Want::Blocks),
            need("api", Want::Text),
            need("provider", Want::Text),
            need("model", Want::Text),
            need("usage", Want::Usage),
            need("stopReason", Want::StopReason),
        ],
    ),
    (
        "toolResult",
        &[
            need("toolCallId", Want::Text),
            need("toolName", Want::Text),
            need("content", Want::Blocks),
            need("isError", Want::Bool),
        ],
    ),
    (
        "bashExecution",
        &[
            need("command", Want::Text),
            need("output", Want::Text),
            need("cancelled", Want::Bool),
            need("truncated", Want::Bool),
        ],
    ),
    (
        "custom",
        &[need("customType", Want::Text), need("content", Want::Content), need("display", Want::Bool)],
    ),
];

/// Messages of both agents that occur in a context but not in entries.
const CONTEXT_ONLY: &[Shape] = &[
    ("branchSummary", &[need("summary", Want::Text)]),
    ("compactionSummary", &[need("summary", Want::Text)]),
];

const BLOCKS: &[Shape] = &[
    ("text", &[need("text", Want::Text)]),
    ("thinking", &[need("thinking", Want::Text)]),
    ("toolCall", &[need("id", Want::Text), need("name", Want::Text), need("arguments", Want::Object)]),
];

const USAGE: &[FieldShape] = &[
    need("input", Want::Number),
    need("output", Want::Number),
    need("cacheRead", Want::Number),
    need("cacheWrite", Want::Number),
    need("cost", Want::Object),
];

const STOP_REASONS: &[&str] = &["stop", "length", "toolUse", "error", "aborted", "deferred"];

/// Validates an entry of type `kind`.
pub(super) fn check(agent: &dyn Agent, kind: &str, entry: Raw) -> Result<(), Flaw> {
    if kind == "message" {
        filled(agent, entry, &[need("message", Want::Object)])?;
        return message(agent, entry.get("message").unwrap_or(Raw::NULL));
    }
    if let Some(fields) = find(BOTH, kind).or(find(agent.shapes().entries, kind)) {
        return filled(agent, entry, fields).map_err(|flaw| told(agent, kind, fields, flaw));
    }
    match owner(kind) {
        Some(other) => Err((
            format!("{kind} is an entry of {}, but the session is one of {}", other.name(), agent.name()),
            None,
        )),
        None => Ok(()),
    }
}

/// Whether any agent writes entries of this type.
pub fn is_known(kind: &str) -> bool {
    kind == "message" || find(BOTH, kind).is_some() || owner(kind).is_some()
}

/// Returns the agent that alone has entries of this type.
fn owner(kind: &str) -> Option<&'static dyn Agent> {
    Dialect::ALL.map(Dialect::agent).into_iter().find(|agent| find(agent.shapes().entries, kind).is_some())
}

/// Adds a name to a flaw and, if it has no hint, one that lists the required fields.
fn told(agent: &dyn Agent, name: &str, fields: &[FieldShape], (what, hint): Flaw) -> Flaw {
    let needed: Vec<_> = fields.iter().filter(|field| field.2).map(|field| field.0).collect();
    let hint = hint.unwrap_or_else(|| format!("{}'s {name} requires {}", agent.name(), needed.join(", ")));
    (format!("{name}: {what}"), Some(hint))
}

fn find(shapes: &[Shape], name: &str) -> Option<&'static [FieldShape]> {
    shapes.iter().find(|(known, _)| *known == name).map(|(_, fields)| *fields)
}

/// Validates an object against these fields.
fn filled(agent: &dyn Agent, object: Raw, fields: &[FieldShape]) -> Result<(), Flaw> {
    for &(name, want, needed) in fields {
        match object.get(name) {
            None if needed => return Err((format!("`{name}` is missing"), None)),
            None => {}
            Some(value) => fits(agent, value, want)
                .map_err(|(what, hint)| (format!("`{name}`{}{what}", joint(&what)), hint))?,
        }
    }
    Ok(())
}

/// Returns what separates a name from its flaw: a colon if the flaw is inside the value, else a space.
fn joint(what: &str) -> &'static str {
    if what.starts_with("is ") { " " } else { ": " }
}

fn fits(agent: &dyn Agent, value: Raw, want: Want) -> Result<(), Flaw> {
    let is = |fits: bool, what: &str| if fits { Ok(()) } else { Err((format!("is {what}"), None)) };
    match want {
        Want::Text => is(value.is_string(), "not a string"),
        Want::TextOrNull => is(value.is_string() || value.is_null(), "neither a string nor null"),
        Want::Number => is(value.is_number(), "not a number"),
        Want::Bool => is(value.bool().is_some(), "neither true nor false"),
        Want::Object => is(value.is_object(), "not an object"),
        Want::Array => is(value.is_array(), "not an array"),
        Want::Blocks => blocks(agent, value),
        Want::Content if value.is_string() => Ok(()),
        Want::Content if !value.is_array() => is(false, "neither a string nor an array of blocks"),
        Want::Content => blocks(agent, value),
        Want::Usage if !value.is_object() => is(false, "not an object"),
        Want::Usage => {
            filled(agent, value, USAGE)?;
            let cost = value.get("cost").unwrap_or(Raw::NULL);
            filled(agent, cost, &[need("total", Want::Number)])
                .map_err(|(what, hint)| (format!("`cost`: {what}"), hint))
        }
        Want::StopReason => {
            let known = value.text().is_some_and(|text| STOP_REASONS.iter().any(|reason| text == *reason));
            let hint = Some(format!("one of {}", STOP_REASONS.join(", ")));
            if known { Ok(()) } else { Err(("is not one that the agents write".to_owned(), hint)) }
        }
        Want::Replacement if value.is_null() => Ok(()),
        Want::Replacement if !value.is_object() => is(false, "neither null nor an object"),
        Want::Replacement => filled(agent, value, &[need("content", Want::Content)]),
    }
}

/// Validates a message of a context. It may lack fields that only entries require, but not those that a model
/// reads.
pub(super) fn in_context(agent: &dyn Agent, message: Raw) -> Result<(), Flaw> {
    let role = message.get_text("role").unwrap_or_default().to_string();
    let shapes = [ROLES, agent.shapes().messages, CONTEXT_ONLY, agent.shapes().context_only];
    let Some(fields) = shapes.iter().find_map(|shapes| find(shapes, &role)) else {
        return Err(unknown_role(agent, &role, &shapes));
    };
    let said = fields.iter().filter_map(|field| match *field {
        (name @ "content", ..) => Some(need(name, Want::Content)),
        (name @ "summary", ..) => Some(need(name, Want::Text)),
        _ => None,
    });
    filled(agent, message, &said.collect::<Vec<_>>())
}

fn unknown_role(agent: &dyn Agent, role: &str, shapes: &[&[Shape]]) -> Flaw {
    let known: Vec<_> = shapes.iter().flat_map(|shapes| shapes.iter()).map(|(role, _)| *role).collect();
    let hint = format!("the roles of {} are {}", agent.name(), known.join(", "));
    (format!("unknown role {role:?}"), Some(hint))
}

fn message(agent: &dyn Agent, message: Raw) -> Result<(), Flaw> {
    let own = agent.shapes().messages;
    filled(agent, message, &[need("role", Want::Text), may("timestamp", Want::Number)])?;
    let role = message.get_text("role").unwrap_or_default().to_string();
    match find(ROLES, &role).or(find(own, &role)) {
        Some(fields) => {
            let name = format!("{role} message");
            filled(agent, message, fields).map_err(|flaw| told(agent, &name, fields, flaw))
        }
        None => Err(unknown_role(agent, &role, &[ROLES, own])),
    }
}

fn blocks(agent: &dyn Agent, content: Raw) -> Result<(), Flaw> {
    if !content.is_array() {
        return Err(("is not an array of blocks".to_owned(), None));
    }
    for (at, block) in content.items().enumerate() {
        let in_block = |(what, hint)| (format!("block {}: {what}", at + 1), hint);
        if !block.is_object() {
            return Err(in_block(("it is not an object".to_owned(), None)));
        }
        filled(agent, block, &[need("type", Want::Text)]).map_err(in_block)?;
        let kind = block.get_text("type").unwrap_or_default().to_string();
        let fields = find(BLOCKS, &kind).or(find(agent.shapes().blocks, &kind));
        filled(agent, block, fields.unwrap_or_default()).map_err(in_block)?;
    }
    Ok(())
}
