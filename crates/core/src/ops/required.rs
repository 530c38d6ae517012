//! Validates that a new entry has what an agent requires of it, by the tables of
//! [`crate::session::entry`].
//!
//! `append` refuses an entry that an agent would not have written. Fields outside of the tables are
//! not validated, nor are entries of a type that neither agent knows. What a stored entry lacks is
//! in [`super::check`].

use super::Refusal;
use crate::session::dialect::Dialect;
use crate::session::entry::{Kind, Role};
use crate::session::schema::{FieldSchema, Fields, Needed, Want, may, need};
use pisess_json::Raw;

/// The blocks of content.
const BLOCKS: &[(&str, Fields)] = &[
    ("text", Fields::both(&[need("text", Want::Text)])),
    ("thinking", Fields::both(&[need("thinking", Want::Text)])),
    (
        "toolCall",
        Fields::both(&[
            need("id", Want::Text),
            need("name", Want::Text),
            need("arguments", Want::Object),
        ]),
    ),
    // oh-my-pi may store the data of an image elsewhere.
    (
        "image",
        Fields::pi(&[need("data", Want::Text), need("mimeType", Want::Text)]),
    ),
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
    fields
        .and_then(|(_, fields)| fields.of(dialect))
        .unwrap_or_default()
}

/// Validates a new entry of type `kind`.
pub(super) fn check(dialect: Dialect, kind: Kind, entry: Raw) -> Result<(), Refusal> {
    let schema = &kind.schema().fields;
    match (schema.of(dialect), schema.writer()) {
        (Some(fields), _) => in_entry(dialect, kind, fields, entry),
        (None, Some(writer)) => {
            let (name, writer) = (
                kind.name().unwrap_or_default(),
                writer.agent().constants().name,
            );
            let agent = dialect.agent().constants().name;
            Err(Refusal::new(format!(
                "{name} is an entry of {writer}, but the session is one of {agent}"
            )))
        }
        (None, None) => Ok(()),
    }
}

/// Whether any agent writes entries of this type.
pub(super) fn is_known(kind: Kind) -> bool {
    Dialect::ALL
        .iter()
        .any(|&dialect| kind.schema().fields.of(dialect).is_some())
}

/// Validates a message of a context. It may lack fields that only entries require, but not those
/// that a model reads.
///
/// # Errors
/// If the agent could not handle it.
pub fn check_message(dialect: Dialect, message: Raw) -> Result<(), Refusal> {
    let (_, fields) = role_of(dialect, message, |_| true)?;
    let read = fields.iter().filter_map(|field| match *field {
        (name @ "content", ..) => Some(need(name, Want::Content)),
        (name @ "summary", ..) => Some(need(name, Want::Text)),
        _ => None,
    });
    filled(dialect, message, &read.collect::<Vec<_>>())
}

fn in_entry(
    dialect: Dialect,
    kind: Kind,
    fields: &[FieldSchema],
    entry: Raw,
) -> Result<(), Refusal> {
    let name = kind.name().unwrap_or_default();
    if kind != Kind::Message {
        return filled(dialect, entry, fields)
            .map_err(|refusal| explained(dialect, name, fields, refusal));
    }
    filled(dialect, entry, fields)?;
    match entry.get("message").filter(|message| message.is_object()) {
        Some(message) => in_message(dialect, message),
        None => Ok(()),
    }
}

fn in_message(dialect: Dialect, message: Raw) -> Result<(), Refusal> {
    filled(
        dialect,
        message,
        &[need("role", Want::Text), may("timestamp", Want::Number)],
    )?;
    let (role, fields) = role_of(dialect, message, |role| role.schema().is_stored)?;
    let name = format!("{role} message");
    filled(dialect, message, fields).map_err(|refusal| explained(dialect, &name, fields, refusal))
}

/// Returns the role of a message and its fields, if it is one that the agent knows and that
/// `may_be`.
fn role_of(
    dialect: Dialect,
    message: Raw,
    may_be: impl Fn(Role) -> bool,
) -> Result<(&'static str, &'static [FieldSchema]), Refusal> {
    let fields = |role: Role| role.schema().fields.of(dialect).filter(|_| may_be(role));
    let known = || {
        Role::NAMED
            .iter()
            .filter_map(|&role| Some((role.name()?, fields(role)?)))
    };
    let given = message.get_text("role").unwrap_or_default();
    known().find(|(name, _)| given == *name).ok_or_else(|| {
        let names = known().map(|(name, _)| name).collect::<Vec<_>>().join(", ");
        Refusal::with_hint(
            format!("unknown role {:?}", given.to_string()),
            format!(
                "the roles of {} are {names}",
                dialect.agent().constants().name
            ),
        )
    })
}

/// Returns the refusal of an entry with its name and, if it has no hint, one that lists the
/// required fields.
fn explained(dialect: Dialect, name: &str, fields: &[FieldSchema], refusal: Refusal) -> Refusal {
    match inside(name, refusal) {
        Refusal::Impossible { what, hint: None } => {
            let needed: Vec<_> = fields
                .iter()
                .filter(|field| field.2 != Needed::Never)
                .map(|field| field.0)
                .collect();
            let agent = dialect.agent().constants().name;
            Refusal::with_hint(
                what,
                format!("{agent}'s {name} requires {}", needed.join(", ")),
            )
        }
        explained => explained,
    }
}

/// Returns the refusal of a value because of this part of it.
fn inside(part: &str, refusal: Refusal) -> Refusal {
    match refusal {
        Refusal::Impossible { what, hint } => {
            let joint = if what.starts_with("is ") { " " } else { ": " };
            Refusal::Impossible {
                what: format!("{part}{joint}{what}"),
                hint,
            }
        }
        unreadable @ Refusal::Unreadable(_) => unreadable,
    }
}

/// Validates an object against these fields.
fn filled(dialect: Dialect, object: Raw, fields: &[FieldSchema]) -> Result<(), Refusal> {
    // A single walk, because an object may contain much text.
    let members: Vec<_> = object.members().collect();
    for &(name, want, needed) in fields {
        match members.iter().rfind(|(key, _)| key.is(name)) {
            Some(&(_, value)) => {
                fits(dialect, value, want)
                    .map_err(|refusal| inside(&format!("`{name}`"), refusal))?;
            }
            None if needed != Needed::Never => {
                return Err(Refusal::new(format!("`{name}` is missing")));
            }
            None => {}
        }
    }
    Ok(())
}

fn fits(dialect: Dialect, value: Raw, want: Want) -> Result<(), Refusal> {
    let is = |fits: bool, what: &str| {
        if fits {
            Ok(())
        } else {
            Err(Refusal::new(format!("is {what}")))
        }
    };
    match want {
        Want::Text => is(value.is_string(), "not a string"),
        Want::TextOrNull => is(
            value.is_string() || value.is_null(),
            "neither a string nor null",
        ),
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
            filled(dialect, cost, COST).map_err(|refusal| inside("`cost`", refusal))
        }
        Want::StopReason if STOP_REASONS.iter().any(|reason| value.is(reason)) => Ok(()),
        Want::StopReason => {
            let hint = format!("one of {}", STOP_REASONS.join(", "));
            Err(Refusal::with_hint("is not one that the agents write", hint))
        }
        Want::Replacement if value.is_null() => Ok(()),
        Want::Replacement if !value.is_object() => is(false, "neither null nor an object"),
        Want::Replacement => filled(dialect, value, &[need("content", Want::Content)]),
    }
}

fn in_blocks(dialect: Dialect, content: Raw) -> Result<(), Refusal> {
    for (at, block) in content.items().enumerate() {
        let in_block = |refusal| inside(&format!("block {}", at + 1), refusal);
        if !block.is_object() {
            return Err(in_block(Refusal::new("it is not an object")));
        }
        if !block.get("type").is_some_and(Raw::is_string) {
            filled(dialect, block, &[need("type", Want::Text)]).map_err(in_block)?;
        }
        let kind = block.get_text("type").unwrap_or_default();
        filled(dialect, block, block_fields(dialect, |name| kind == *name)).map_err(in_block)?;
    }
    Ok(())
}
