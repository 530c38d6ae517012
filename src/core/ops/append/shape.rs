//! Validates that an entry has what the file's agent needs.
//!
//! There is a table for each dialect of the fields that its agent reads without checking for them. Optional
//! fields are validated if another kind of value would break the agent; further fields are not. A type that
//! neither agent knows is accepted.

use crate::core::dialect::Dialect;
use crate::core::json::Raw;

/// What is wrong with an entry, and what to do about it.
pub(super) type Flaw = (String, Option<String>);

/// The kind of value of a field.
#[derive(Clone, Copy)]
enum Want {
    Text,
    /// A string, or `null`.
    TextOrNull,
    Number,
    Bool,
    Object,
    Array,
    /// A string, or an array of blocks.
    Content,
    /// An array of blocks.
    Blocks,
    /// The usage of a turn: tokens and cost.
    Usage,
    /// The stop reason of a turn.
    StopReason,
    /// `null`, or an object with new content.
    Replacement,
}

/// A field, its kind of value, and whether it is required.
type Field = (&'static str, Want, bool);

/// The fields of one type or role.
type Shape = (&'static str, &'static [Field]);

const fn need(name: &'static str, want: Want) -> Field {
    (name, want, true)
}

const fn may(name: &'static str, want: Want) -> Field {
    (name, want, false)
}

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

/// Entries of pi.
const PI: &[Shape] = &[
    ("model_change", &[need("provider", Want::Text), need("modelId", Want::Text)]),
    ("thinking_level_change", &[need("thinkingLevel", Want::Text)]),
    ("session_info", &[need("name", Want::Text)]),
    (
        "usage",
        &[
            need("kind", Want::Text),
            need("provider", Want::Text),
            need("model", Want::Text),
            need("usage", Want::Usage),
        ],
    ),
    ("context_edit", &[need("targetId", Want::Text), need("replacement", Want::Replacement)]),
];

/// Entries of oh-my-pi.
const OMP: &[Shape] = &[
    ("model_change", &[need("model", Want::Text), may("role", Want::Text)]),
    (
        "thinking_level_change",
        &[need("thinkingLevel", Want::TextOrNull), may("configured", Want::TextOrNull)],
    ),
    ("service_tier_change", &[]),
    ("mode_change", &[need("mode", Want::Text), may("data", Want::Object)]),
    ("title_change", &[need("title", Want::Text), may("source", Want::Text)]),
    (
        "model_usage",
        &[
            need("purpose", Want::Text),
            need("provider", Want::Text),
            need("model", Want::Text),
            need("usage", Want::Usage),
        ],
    ),
    ("ttsr_injection", &[need("injectedRules", Want::Array)]),
    (
        "session_init",
        &[need("systemPrompt", Want::Text), need("task", Want::Text), need("tools", Want::Array)],
    ),
    ("credential_pin", &[need("provider", Want::Text), need("hash", Want::Text)]),
    ("reset_boundary", &[]),
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

/// Messages of pi.
const PI_ROLES: &[Shape] = &[("system", &[need("content", Want::Content)])];

/// Messages of oh-my-pi.
const OMP_ROLES: &[Shape] = &[
    ("developer", &[need("content", Want::Content)]),
    ("fileMention", &[need("files", Want::Array)]),
    (
        "pythonExecution",
        &[
            need("code", Want::Text),
            need("output", Want::Text),
            need("cancelled", Want::Bool),
            need("truncated", Want::Bool),
        ],
    ),
];

/// Messages of both agents that occur in a context but not in entries.
const MADE_ROLES: &[Shape] = &[
    ("branchSummary", &[need("summary", Want::Text)]),
    ("compactionSummary", &[need("summary", Want::Text)]),
];

/// Those of oh-my-pi: the former name of `custom`.
const OMP_MADE_ROLES: &[Shape] = &[("hookMessage", &[need("content", Want::Content)])];

const BLOCKS: &[Shape] = &[
    ("text", &[need("text", Want::Text)]),
    ("thinking", &[need("thinking", Want::Text)]),
    ("image", &[need("data", Want::Text), need("mimeType", Want::Text)]),
    ("toolCall", &[need("id", Want::Text), need("name", Want::Text), need("arguments", Want::Object)]),
];

const USAGE: &[Field] = &[
    need("input", Want::Number),
    need("output", Want::Number),
    need("cacheRead", Want::Number),
    need("cacheWrite", Want::Number),
    need("cost", Want::Object),
];

const STOP_REASONS: &[&str] = &["stop", "length", "toolUse", "error", "aborted", "deferred"];

/// Returns the agent's name for messages.
fn agent(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Pi => "pi",
        Dialect::OhMyPi => "oh-my-pi",
    }
}

/// Validates an entry; `kind` is its type.
pub(super) fn check(dialect: Dialect, kind: &str, entry: Raw) -> Result<(), Flaw> {
    let (own, other, whose) = match dialect {
        Dialect::Pi => (PI, OMP, Dialect::OhMyPi),
        Dialect::OhMyPi => (OMP, PI, Dialect::Pi),
    };
    if kind == "message" {
        filled(dialect, entry, &[need("message", Want::Object)])?;
        return message(dialect, entry.get("message").unwrap_or(Raw::NULL));
    }
    if let Some(fields) = find(BOTH, kind).or(find(own, kind)) {
        return filled(dialect, entry, fields).map_err(|flaw| told(dialect, kind, fields, flaw));
    }
    match find(other, kind) {
        Some(_) => Err((
            format!("{kind} is an entry of {}, and the session is one of {}", agent(whose), agent(dialect)),
            None,
        )),
        None => Ok(()),
    }
}

/// Whether an agent writes entries of this type.
pub fn is_known(kind: &str) -> bool {
    kind == "message" || [BOTH, PI, OMP].into_iter().any(|shapes| find(shapes, kind).is_some())
}

/// Returns a flaw that names the agent, with what is expected.
fn told(dialect: Dialect, name: &str, fields: &[Field], (what, hint): Flaw) -> Flaw {
    let needed: Vec<_> = fields.iter().filter(|field| field.2).map(|field| field.0).collect();
    let hint = hint.unwrap_or_else(|| format!("{}'s {name} has {}", agent(dialect), needed.join(", ")));
    (format!("{name}: {what}"), Some(hint))
}

fn find(shapes: &[Shape], name: &str) -> Option<&'static [Field]> {
    shapes.iter().find(|(known, _)| *known == name).map(|(_, fields)| *fields)
}

/// Validates an object against these fields.
fn filled(dialect: Dialect, object: Raw, fields: &[Field]) -> Result<(), Flaw> {
    for &(name, want, needed) in fields {
        match object.get(name) {
            None if needed => return Err((format!("`{name}` is missing"), None)),
            None => {}
            Some(value) => fits(dialect, value, want)
                .map_err(|(what, hint)| (format!("`{name}`{}{what}", joint(&what)), hint))?,
        }
    }
    Ok(())
}

/// A flaw inside a value follows a colon, a flaw of the value itself does not.
fn joint(what: &str) -> &'static str {
    if what.starts_with("is ") { " " } else { ": " }
}

fn fits(dialect: Dialect, value: Raw, want: Want) -> Result<(), Flaw> {
    let is = |fits: bool, what: &str| if fits { Ok(()) } else { Err((format!("is {what}"), None)) };
    match want {
        Want::Text => is(value.is_string(), "not a string"),
        Want::TextOrNull => is(value.is_string() || value.is_null(), "neither a string nor null"),
        Want::Number => is(value.is_number(), "not a number"),
        Want::Bool => is(value.bool().is_some(), "neither true nor false"),
        Want::Object => is(value.is_object(), "not an object"),
        Want::Array => is(value.is_array(), "not an array"),
        Want::Blocks => blocks(dialect, value),
        Want::Content if value.is_string() => Ok(()),
        Want::Content if !value.is_array() => is(false, "neither a string nor an array of blocks"),
        Want::Content => blocks(dialect, value),
        Want::Usage if !value.is_object() => is(false, "not an object"),
        Want::Usage => {
            filled(dialect, value, USAGE)?;
            let cost = value.get("cost").unwrap_or(Raw::NULL);
            filled(dialect, cost, &[need("total", Want::Number)])
                .map_err(|(what, hint)| (format!("`cost`: {what}"), hint))
        }
        Want::StopReason => {
            let known = value.text().is_some_and(|text| STOP_REASONS.iter().any(|reason| text == *reason));
            let hint = Some(format!("one of {}", STOP_REASONS.join(", ")));
            if known { Ok(()) } else { Err(("is not one that the agents know".to_owned(), hint)) }
        }
        Want::Replacement if value.is_null() => Ok(()),
        Want::Replacement if !value.is_object() => is(false, "neither null nor an object"),
        Want::Replacement => filled(dialect, value, &[need("content", Want::Content)]),
    }
}

/// Returns the messages that only one agent knows.
fn own_roles(dialect: Dialect) -> &'static [Shape] {
    match dialect {
        Dialect::Pi => PI_ROLES,
        Dialect::OhMyPi => OMP_ROLES,
    }
}

/// Validates a message of a context: it may lack what only the agent's files need, but not what a model
/// reads.
pub(super) fn in_context(dialect: Dialect, message: Raw) -> Result<(), Flaw> {
    let made = match dialect {
        Dialect::Pi => &[],
        Dialect::OhMyPi => OMP_MADE_ROLES,
    };
    let role = message.get_text("role").unwrap_or_default().to_string();
    let shapes = [ROLES, own_roles(dialect), MADE_ROLES, made];
    let Some(fields) = shapes.iter().find_map(|shapes| find(shapes, &role)) else {
        return Err(unknown_role(dialect, &role, &shapes));
    };
    let said = fields.iter().filter_map(|field| match *field {
        (name @ "content", ..) => Some(need(name, Want::Content)),
        (name @ "summary", ..) => Some(need(name, Want::Text)),
        _ => None,
    });
    filled(dialect, message, &said.collect::<Vec<_>>())
}

fn unknown_role(dialect: Dialect, role: &str, shapes: &[&[Shape]]) -> Flaw {
    let known: Vec<_> = shapes.iter().flat_map(|shapes| shapes.iter()).map(|(role, _)| *role).collect();
    let hint = format!("{} knows {}", agent(dialect), known.join(", "));
    (format!("the role {role:?} is not known"), Some(hint))
}

fn message(dialect: Dialect, message: Raw) -> Result<(), Flaw> {
    let own = own_roles(dialect);
    filled(dialect, message, &[need("role", Want::Text), may("timestamp", Want::Number)])?;
    let role = message.get_text("role").unwrap_or_default().to_string();
    match find(ROLES, &role).or(find(own, &role)) {
        Some(fields) => {
            let name = format!("{role} message");
            filled(dialect, message, fields).map_err(|flaw| told(dialect, &name, fields, flaw))
        }
        None => Err(unknown_role(dialect, &role, &[ROLES, own])),
    }
}

fn blocks(dialect: Dialect, content: Raw) -> Result<(), Flaw> {
    if !content.is_array() {
        return Err(("is not an array of blocks".to_owned(), None));
    }
    for (at, block) in content.items().enumerate() {
        let in_block = |(what, hint)| (format!("block {}: {what}", at + 1), hint);
        if !block.is_object() {
            return Err(in_block(("it is not an object".to_owned(), None)));
        }
        filled(dialect, block, &[need("type", Want::Text)]).map_err(in_block)?;
        let kind = block.get_text("type").unwrap_or_default().to_string();
        // oh-my-pi may store a picture elsewhere.
        let fields = find(BLOCKS, &kind).filter(|_| !(kind == "image" && dialect == Dialect::OhMyPi));
        filled(dialect, block, fields.unwrap_or_default()).map_err(in_block)?;
    }
    Ok(())
}
