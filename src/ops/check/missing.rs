//! Determines the fields that a stored entry lacks although an agent reads them without checking that they exist.
//!
//! The walk over a line collects the members of its message, so that the text of a message is not walked again.

use crate::ops::required::{COST, USAGE, block_fields};
use crate::session::dialect::Dialect;
use crate::session::entry::{Kind, Role};
use crate::session::read::record::{Block, Content, Member, Members, MessageFacts, Record, message_facts};
use crate::session::schema::{FieldSchema, Needed, Want};
use pisess_json::Raw;

/// The fields whose absence is reported as a defect of its own.
const REPORTED: &[&str] = &["message", "role", "content", "summary", "firstKeptEntryId"];

/// Returns what an entry lacks, for each agent that writes such entries. An entry that is complete for one of them is
/// complete: it may be in a session that both agents wrote.
pub(super) fn missing(record: &Record, blocks: &[Block]) -> Vec<(Dialect, String)> {
    let kind = Kind::of_string(record.kind);
    match &record.message {
        Some(message) if kind == Kind::Message => {
            let role = Role::of_string(message.role);
            let fields = |dialect| role.schema().fields.of(dialect).filter(|_| role.schema().is_stored);
            let lacks = |dialect, fields| {
                Some(format!("{} message: {}", role.name()?, in_message(dialect, fields, message, blocks)?))
            };
            of_each(fields, lacks)
        }
        _ => {
            let entry = Raw::checked(record.bytes);
            let lacks =
                |dialect, fields| Some(format!("{}: {}", kind.name()?, in_entry(dialect, fields, entry)?));
            of_each(|dialect| kind.schema().fields.of(dialect), lacks)
        }
    }
}

/// Returns what is lacking for each agent that has fields for an entry; nothing if nothing is for one of them.
fn of_each(
    fields: impl Fn(Dialect) -> Option<&'static [FieldSchema]>,
    lacks: impl Fn(Dialect, &'static [FieldSchema]) -> Option<String>,
) -> Vec<(Dialect, String)> {
    let mut lacking = Vec::new();
    for dialect in Dialect::ALL {
        let Some(fields) = fields(dialect) else { continue };
        match lacks(dialect, fields) {
            None => return Vec::new(),
            Some(what) => lacking.push((dialect, what)),
        }
    }
    lacking
}

fn in_message(
    dialect: Dialect,
    fields: &[FieldSchema],
    message: &MessageFacts,
    blocks: &[Block],
) -> Option<String> {
    let has = |name: &str| message.members.has(Member::named(name.as_bytes()));
    first_lacking(fields, has, |want| match want {
        Want::Usage => in_usage(message.usage?),
        Want::Content | Want::Blocks => in_content(dialect, message, blocks),
        _ => None,
    })
}

/// Returns what an entry other than a message lacks.
fn in_entry(dialect: Dialect, fields: &[FieldSchema], entry: Raw) -> Option<String> {
    let content = |object| {
        let mut blocks = Vec::new();
        let facts = message_facts(object, &mut blocks);
        in_content(dialect, &facts, &blocks)
    };
    first_lacking(
        fields,
        |name| entry.get(name).is_some(),
        |want| match want {
            Want::Usage => in_usage(entry.get("usage")?),
            Want::Content => content(entry),
            Want::Replacement => Some(format!("`content`: {}", content(entry.get("replacement")?)?)),
            _ => None,
        },
    )
}

fn in_content(dialect: Dialect, message: &MessageFacts, blocks: &[Block]) -> Option<String> {
    let blocks = if let Content::Blocks = message.content { blocks } else { &[] };
    blocks.iter().find_map(|block| {
        let has = |name: &str| block.members.has(Member::named(name.as_bytes()));
        let what = if has("type") {
            first_lacking(
                block_fields(dialect, |name| block.kind.is_some_and(|kind| kind.is(name))),
                has,
                |_| None,
            )
        } else {
            Some("`type` is missing".to_owned())
        };
        Some(format!("block {}: {}", block.at + 1, what?))
    })
}

fn in_usage(usage: Raw) -> Option<String> {
    let lacks = |fields, object: Raw, inner: &dyn Fn() -> Option<String>| {
        let members = Members::of(object);
        first_lacking(
            fields,
            |name| members.has(Member::named(name.as_bytes())),
            |want| match want {
                Want::Object => inner(),
                _ => None,
            },
        )
    };
    let cost = || lacks(COST, usage.get("cost")?, &|| None);
    usage.is_object().then(|| lacks(USAGE, usage, &cost)).flatten()
}

/// Returns the first field of a table that an object lacks, or what is lacking inside it.
fn first_lacking(
    fields: &[FieldSchema],
    has: impl Fn(&str) -> bool,
    inside: impl Fn(Want) -> Option<String>,
) -> Option<String> {
    fields.iter().find_map(|&(name, want, needed)| {
        if has(name) {
            return inside(want).map(|what| format!("`{name}`: {what}"));
        }
        let is_reported = REPORTED.contains(&name);
        (needed == Needed::Always && !is_reported).then(|| format!("`{name}` is missing"))
    })
}
