//! Validates that a new entry has what an agent requires of it, by the tables of [`crate::session::entry`].
//!
//! `append` refuses an entry that an agent would not have written. Fields outside of the tables are not validated, nor are
//! entries of a type that neither agent knows. What a stored entry lacks is in [`super::check`].

use crate::session::dialect::Dialect;
use crate::session::entry::{Kind, Role};
use crate::session::schema::{FieldSchema, Fields, Needed, Want, may, need};
use pisess_json::Raw;

/// What is wrong with an entry, and what to try.
pub(super) type Flaw = (String, Option<String>);

/// The blocks of content.
const BLOCKS: &[(&str, Fields)] = &[
    ("text", Fields::both(&[need("text", Want::Text)])),
    ("thinking", Fields::both(&[need("thinking", Want::Text)])),
    (
        "toolCall",
        Fields::both(&[need("id", Want::Text), need("name", Want::Text), need("arguments", Want::Object)]),
    ),
    // oh-my-pi may store the data of an image elsewhere.
    ("image", Fields::pi(&[need("data", Want::Text), need("mimeType", Want::Text)])),
];

/// The tokens and cost of a turn.
pub(super) const USAGE: &[FieldSchema] = &[
    need("input", Want::Number),
    need("output", Want::Number),
    need("cacheRead", Want::Number),
    need("cacheWrite", Want::Number),
    need("cost", Want::Object),
];

/// What it cost.
pub(super) const COST: &[FieldSchema] = &[need("total", Want::Number)];

const STOP_REASONS: &[&str] = &["stop", "length", "toolUse", "error", "aborted", "deferred"];

/// Returns the fields that an agent requires in a block whose type `is` this.
pub(super) fn block_fields(dialect: Dialect, is: impl Fn(&str) -> bool) -> &'static [FieldSchema] {
    let fields = BLOCKS.iter().find(|(name, _)| is(name));
    fields.and_then(|(_, fields)| fields.of(dialect)).unwrap_or_default()
}

/// Validates a new entry of type `kind`.
pub(super) fn check(dialect: Dialect, kind: Kind, entry: Raw) -> Result<(), Flaw> {
    let schema = &kind.schema().fields;
    match (schema.of(dialect), schema.writer()) {
        (Some(fields), _) => in_entry(dialect, kind, fields, entry),
        (None, Some(writer)) => {
            let (name, writer) = (kind.name().unwrap_or_default(), writer.agent().name);
            let agent = dialect.agent().name;
            Err((format!("{name} is an entry of {writer}, but the session is one of {agent}"), None))
        }
        (None, None) => Ok(()),
    }
}

/// Whether any agent writes entries of this type.
pub(super) fn is_known(kind: Kind) -> bool {
    Dialect::ALL.iter().any(|&dialect| kind.schema().fields.of(dialect).is_some())
}

/// Validates a message of a context. It may lack fields that only entries require, but not those that a model
/// reads.
pub(super) fn in_context(dialect: Dialect, message: Raw) -> Result<(), Flaw> {
    let (_, fields) = role_of(dialect, message, |_| true)?;
    let read = fields.iter().filter_map(|field| match *field {
        (name @ "content", ..) => Some(need(name, Want::Content)),
        (name @ "summary", ..) => Some(need(name, Want::Text)),
        _ => None,
    });
    filled(dialect, message, &read.collect::<Vec<_>>())
}

/// At least the number of fields in any row of the tables.
const MOST: usize = 8;

fn in_entry(dialect: Dialect, kind: Kind, fields: &[FieldSchema], entry: Raw) -> Result<(), Flaw> {
    let name = kind.name().unwrap_or_default();
    if kind != Kind::Message {
        return filled(dialect, entry, fields).map_err(|flaw| explained(dialect, name, fields, flaw));
    }
    filled(dialect, entry, fields)?;
    match entry.get("message").filter(|message| message.is_object()) {
        Some(message) => in_message(dialect, message),
        None => Ok(()),
    }
}

fn in_message(dialect: Dialect, message: Raw) -> Result<(), Flaw> {
    filled(dialect, message, &[need("role", Want::Text), may("timestamp", Want::Number)])?;
    let (role, fields) = role_of(dialect, message, |role| role.schema().is_stored)?;
    let name = format!("{role} message");
    filled(dialect, message, fields).map_err(|flaw| explained(dialect, &name, fields, flaw))
}

/// Returns the role of a message and its fields, if it is one that the agent knows and that `may_be`.
fn role_of(
    dialect: Dialect,
    message: Raw,
    may_be: impl Fn(Role) -> bool,
) -> Result<(&'static str, &'static [FieldSchema]), Flaw> {
    let fields = |role: Role| role.schema().fields.of(dialect).filter(|_| may_be(role));
    let known = || Role::NAMED.iter().filter_map(|&role| Some((role.name()?, fields(role)?)));
    let given = message.get_text("role").unwrap_or_default();
    known().find(|(name, _)| given == *name).ok_or_else(|| {
        let known = known().map(|(name, _)| name).collect::<Vec<_>>().join(", ");
        let hint = format!("the roles of {} are {known}", dialect.agent().name);
        (format!("unknown role {:?}", given.to_string()), Some(hint))
    })
}

/// Adds a name to a flaw and, if it has no hint, one that lists the required fields.
fn explained(dialect: Dialect, name: &str, fields: &[FieldSchema], (what, hint): Flaw) -> Flaw {
    let needed: Vec<_> =
        fields.iter().filter(|field| field.2 != Needed::Never).map(|field| field.0).collect();
    let agent = dialect.agent().name;
    let hint = hint.unwrap_or_else(|| format!("{agent}'s {name} requires {}", needed.join(", ")));
    (format!("{name}: {what}"), Some(hint))
}

/// Validates an object against these fields.
fn filled(dialect: Dialect, object: Raw, fields: &[FieldSchema]) -> Result<(), Flaw> {
    // A single walk, because an object may contain much text.
    let mut given = [None; MOST];
    debug_assert!(fields.len() <= MOST);
    for (key, value) in object.members() {
        if let Some(at) = fields.iter().position(|(name, ..)| key.is(name)) {
            given[at] = Some(value);
        }
    }
    for (&(name, want, needed), value) in fields.iter().zip(given) {
        match value {
            None if needed != Needed::Never => return Err((format!("`{name}` is missing"), None)),
            None => {}
            Some(value) => fits(dialect, value, want)
                .map_err(|(what, hint)| (format!("`{name}`{}{what}", joint(&what)), hint))?,
        }
    }
    Ok(())
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
        Want::Blocks if !value.is_array() => is(false, "not an array of blocks"),
        Want::Blocks => in_blocks(dialect, value),
        Want::Content if value.is_string() => Ok(()),
        Want::Content if !value.is_array() => is(false, "neither a string nor an array of blocks"),
        Want::Content => in_blocks(dialect, value),
        Want::Usage if !value.is_object() => is(false, "not an object"),
        Want::Usage => {
            filled(dialect, value, USAGE)?;
            let cost = value.get("cost").unwrap_or(Raw::NULL);
            filled(dialect, cost, COST).map_err(|(what, hint)| (format!("`cost`: {what}"), hint))
        }
        Want::StopReason => {
            let is_known = STOP_REASONS.iter().any(|reason| value.is(reason));
            let hint = Some(format!("one of {}", STOP_REASONS.join(", ")));
            is(is_known, "not one that the agents write").map_err(|(what, _)| (what, hint))
        }
        Want::Replacement if value.is_null() => Ok(()),
        Want::Replacement if !value.is_object() => is(false, "neither null nor an object"),
        Want::Replacement => filled(dialect, value, &[need("content", Want::Content)]),
    }
}

fn in_blocks(dialect: Dialect, content: Raw) -> Result<(), Flaw> {
    for (at, block) in content.items().enumerate() {
        let in_block = |(what, hint)| (format!("block {}: {what}", at + 1), hint);
        if !block.is_object() {
            return Err(in_block(("it is not an object".to_owned(), None)));
        }
        let kind = block.get("type");
        if !kind.is_some_and(Raw::is_string) {
            filled(dialect, block, &[need("type", Want::Text)]).map_err(in_block)?;
        }
        let kind = kind.and_then(Raw::text).unwrap_or_default();
        filled(dialect, block, block_fields(dialect, |name| kind == *name)).map_err(in_block)?;
    }
    Ok(())
}

/// Returns what separates a name from its flaw: a colon if the flaw is inside the value, else a space.
fn joint(what: &str) -> &'static str {
    if what.starts_with("is ") { " " } else { ": " }
}
