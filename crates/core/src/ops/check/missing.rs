//! Determines the fields that a stored entry lacks although an agent reads them without checking
//! that they exist.
//!
//! The walk over a line collects the members of its message, so that the text of a message is not
//! walked again.

use crate::ops::required::{COST, USAGE, block_fields};
use crate::session::dialect::Dialect;
use crate::session::entry::{Kind, Role};
use crate::session::read::record::{
    Block, Content, Member, MemberSet, MessageFacts, Record, scan_message_facts,
};
use crate::session::schema::{FieldSchema, FieldType, Requirement};
use pisess_json::Raw;

/// The fields whose absence is reported as a defect of its own.
const REPORTED: &[&str] = &["message", "role", "content", "summary", "firstKeptEntryId"];

/// Returns what an entry lacks, for each agent that writes such entries. An entry that is complete
/// for one of them is complete: it may be in a session that both agents wrote.
pub(super) fn find_missing_fields(record: &Record, blocks: &[Block]) -> Vec<(Dialect, String)> {
    let kind = Kind::of_string(record.kind);
    let message = match kind {
        Kind::Message => record.message.as_ref(),
        _ => None,
    };
    let role = message.map_or(Role::Missing, |message| Role::of_string(message.role));

    let mut missing = Vec::new();
    for dialect in Dialect::ALL {
        let fields = match message {
            Some(_) if !role.schema().is_stored => None,
            Some(_) => role.schema().fields.for_agent(dialect),
            None => kind.schema().fields.for_agent(dialect),
        };
        let Some(fields) = fields else {
            // This agent does not write such entries.
            continue;
        };

        let first_missing = match message {
            Some(message) => missing_in_message(dialect, fields, message, blocks),
            None => missing_in_entry(dialect, fields, Raw::from_checked(record.bytes)),
        };
        let Some(what) = first_missing else {
            return Vec::new();
        };
        let what = match message {
            Some(_) => format!("{} message: {what}", role.name().unwrap_or_default()),
            None => format!("{}: {what}", kind.name().unwrap_or_default()),
        };
        missing.push((dialect, what));
    }
    missing
}

/// Returns what a message lacks first, in the order of its fields.
fn missing_in_message(
    dialect: Dialect,
    fields: &[FieldSchema],
    message: &MessageFacts,
    blocks: &[Block],
) -> Option<String> {
    first_missing(
        fields,
        |name| has_member(message.members, name),
        |want| match want {
            FieldType::Usage => missing_in_usage(message.get(Member::Usage)?),
            FieldType::Content | FieldType::Blocks => missing_in_content(dialect, message, blocks),
            _ => None,
        },
    )
}

/// Returns what an entry other than a message lacks first, in the order of its fields.
fn missing_in_entry(dialect: Dialect, fields: &[FieldSchema], entry: Raw) -> Option<String> {
    first_missing(
        fields,
        |name| entry.get(name).is_some(),
        |want| match want {
            FieldType::Usage => missing_in_usage(entry.get("usage")?),
            FieldType::Content => missing_in_content_of(dialect, entry),
            FieldType::Replacement => {
                let replacement = entry.get("replacement")?;
                let what = missing_in_content_of(dialect, replacement)?;
                Some(format!("`content`: {what}"))
            }
            _ => None,
        },
    )
}

/// Returns what a block in the `content` of an object lacks. The walk over the line does not
/// collect the blocks of objects other than the message, so the object is walked again.
fn missing_in_content_of(dialect: Dialect, object: Raw) -> Option<String> {
    let mut blocks = Vec::new();
    let facts = scan_message_facts(object, &mut blocks);
    missing_in_content(dialect, &facts, &blocks)
}

/// Returns what the first incomplete block of a message lacks.
fn missing_in_content(
    dialect: Dialect,
    message: &MessageFacts,
    blocks: &[Block],
) -> Option<String> {
    let Content::Blocks = message.content else {
        return None;
    };
    for block in blocks {
        let missing = if has_member(block.members, "type") {
            let is_type = |name: &str| block.kind.is_some_and(|kind| kind.is(name));
            first_missing(
                block_fields(dialect, is_type),
                |name| has_member(block.members, name),
                |_| None,
            )
        } else {
            Some("`type` is missing".to_owned())
        };
        if let Some(what) = missing {
            return Some(format!("block {}: {what}", block.index + 1));
        }
    }
    None
}

/// Returns what the usage of a turn, or the cost in it, lacks first. A value that is not an object
/// is not examined.
fn missing_in_usage(usage: Raw) -> Option<String> {
    if !usage.is_object() {
        return None;
    }
    let members = MemberSet::from_object(usage);
    first_missing(
        USAGE,
        |name| has_member(members, name),
        |want| match want {
            // The only object in the table is the cost.
            FieldType::Object => missing_in_cost(usage.get("cost")?),
            _ => None,
        },
    )
}

fn missing_in_cost(cost: Raw) -> Option<String> {
    let members = MemberSet::from_object(cost);
    first_missing(COST, |name| has_member(members, name), |_| None)
}

fn has_member(members: MemberSet, name: &str) -> bool {
    members.contains(Member::named(name.as_bytes()))
}

/// Returns the first field of a table that an object lacks, or what is missing inside the field.
/// Optional fields may be missing, and those in [`REPORTED`] are defects of their own.
///
/// `has` tells whether the object has a field, and `find_inside` looks inside a field of this
/// shape.
fn first_missing(
    fields: &[FieldSchema],
    has_field: impl Fn(&str) -> bool,
    find_inside: impl Fn(FieldType) -> Option<String>,
) -> Option<String> {
    for &(name, want, needed) in fields {
        if has_field(name) {
            if let Some(what) = find_inside(want) {
                return Some(format!("`{name}`: {what}"));
            }
        } else if needed == Requirement::Always && !REPORTED.contains(&name) {
            return Some(format!("`{name}` is missing"));
        }
    }
    None
}
